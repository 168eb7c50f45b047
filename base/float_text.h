/*
 * Float text both ways.
 * Out: Prometheus' JSON form, i.e. Go's strconv.AppendFloat(f, 'f', -1, 64) except 'e' below 1e-6 and from 1e21
 * (exponent at least two digits: 1e-07, 1e+21); NaN, +Inf, -Inf. Shortest digits that read back to the same double.
 * In: Go's ParseFloat as PromQL uses it: decimal, exponent, hex (0x1F, 0x1p-2), underscores not allowed, inf/nan any
 * case.
 */
#ifndef BASE_FLOAT_TEXT_H
#define BASE_FLOAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { FLOAT_TEXT_MAX = 400 };

int float_format(double v, char ret[FLOAT_TEXT_MAX]); /* returns length; NUL-terminated */
void strbuf_add_float(struct strbuf *b, double v);
int float_format_e(double v, char ret[FLOAT_TEXT_MAX]); /* Go's 'g'/-1 form as PromQL prints number literals */
bool float_parse(struct str text,
                 double *ret); /* whole text or false; out of range gives +-Inf and true as Go's value */
/* Timestamp in ms as Prometheus prints it in JSON: seconds with up to 3 decimals, e.g. 1435781430.781, 60, -0.5. */
void strbuf_add_time_ms(struct strbuf *b, int64_t ms);

/* The one bit pattern that ends a series; every other NaN is data. Compare bits, never values. */
#define STALE_NAN_BITS UINT64_C(0x7ff0000000000002)
#define NORMAL_NAN_BITS UINT64_C(0x7ff8000000000001)
static inline bool float_is_stale(double v)
{
    uint64_t b;
    memcpy(&b, &v, 8);
    return b == STALE_NAN_BITS;
}
static inline double float_stale(void)
{
    double v;
    uint64_t b = STALE_NAN_BITS;
    memcpy(&v, &b, 8);
    return v;
}

#endif
