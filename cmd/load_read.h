/*
 * Recorded samples from a file, one after the other, as they stand:
 *
 *     openmetrics   name{labels} value timestamp(seconds)      Prometheus' text with its timestamps
 *     jsonl         {"metric":{"__name__":..},"values":[..],"timestamps":[ms..]}   one series a line
 *     csv           series,time,value                           as `mullion query --format csv` writes it
 */
#ifndef CMD_LOAD_READ_H
#define CMD_LOAD_READ_H

#include "base/err.h"
#include "base/labels.h"

enum load_format { LOAD_OPENMETRICS = 1, LOAD_JSONL, LOAD_CSV };
enum { LOAD_LINE_MAX = 64 << 20 };

/* The format a file's name says, or 0. */
enum load_format load_format_of(const char *path);

struct load_series {
    struct labels labels;
    const int64_t *times_ms;
    const double *values;
    uint32_t n;
};
/* One line. Blank lines and comments give n == 0. Memory in `a`. ERR_BAD_DATA says what is wrong with the line. */
int load_line(enum load_format format, struct str line, struct arena *a, struct load_series *ret, struct err *e);

#endif
