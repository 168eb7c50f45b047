/* What number and string tokens mean. */
#ifndef PROMQL_LITERAL_H
#define PROMQL_LITERAL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* A NUMBER token as Prometheus reads it: an integer with Go's prefixes (0x1f, 0755 is octal, 1_000), else a float.
 * False with the reason in Go's words. */
bool literal_number(struct str text, double *ret, char reason[160]);
/* A STRING token without its quotes and with its escapes resolved; the lexer has checked them. In `a`; false when the
 * arena is full. */
bool literal_unquote(struct str text, struct arena *a, struct str *ret);

#endif
