/* An answer of the query API as a table, as CSV, or as it is. */
#ifndef CMD_QUERY_PRINT_H
#define CMD_QUERY_PRINT_H

#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

enum query_format { QUERY_TABLE = 1, QUERY_JSON, QUERY_CSV };

/* `body` is the API's JSON. Notes go to stderr. ERR_* of the answer's own error, ERR_BAD_DATA when it is no answer. */
int query_print(struct str body, enum query_format format, FILE *out, struct err *e);

#endif
