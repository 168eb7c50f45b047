/*
 * Float text both ways.
 * Out: Prometheus' JSON form, i.e. Go's strconv.AppendFloat(f, 'f', -1, 64) except 'e' below 1e-6 and from 1e21
 * (exponent at least two digits: 1e-07, 1e+21); NaN, +Inf, -Inf. Shortest digits that read back to the same double.
 * In: Go's ParseFloat: decimal, exponent, hex (0x1F, 0x1p-2), underscores not allowed; nan and [sign] inf or infinity
 * in any case. PromQL's number literals are a little wider, see float_parse_literal. All pure and thread-safe.
 */
#ifndef BASE_FLOAT_TEXT_H
#define BASE_FLOAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/str.h"

enum { FLOAT_TEXT_MAX = 400 };

int float_format(double v, char ret[FLOAT_TEXT_MAX]); /* returns length; NUL-terminated */
void strbuf_add_float(struct strbuf *b, double v);
/* Go's 'f' with precision -1, never an exponent: the label values of count_values. */
int float_format_f(double v, char ret[FLOAT_TEXT_MAX]);
/* Go's 'g' with precision -1, as PromQL prints number literals: exponent form below 1e-4 and from 1e6. */
int float_format_e(double v, char ret[FLOAT_TEXT_MAX]);
bool float_parse(struct str text,
                 double *ret); /* whole text or false; out of range gives +-Inf and true as Go's value */
/* A PromQL number literal without sign, as Prometheus' parser reads it (ParseInt with base 0, then ParseFloat): as
 * float_parse, and 0x1F and 010 (octal!) are integers, and underscores may stand between digits. */
bool float_parse_literal(struct str text, double *ret);
/* Timestamp in ms as Prometheus prints it in JSON: whole seconds, or exactly 3 decimals: 1435781430.781, 60, -0.500. */
void strbuf_add_time_ms(struct strbuf *b, int64_t ms);

/* The one bit pattern that ends a series; every other NaN is data. Compare bits, never values. */
#define STALE_NAN_BITS UINT64_C(0x7ff0000000000002)
#define NORMAL_NAN_BITS UINT64_C(0x7ff8000000000001)
static inline bool float_is_stale(double v)
{
    return load_u64(&v) == STALE_NAN_BITS;
}
static inline double float_stale(void)
{
    const uint64_t bits = STALE_NAN_BITS;
    return load_f64(&bits);
}

#endif
