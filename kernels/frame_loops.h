/*
 * The frame's loops over values: plain C that is compiled once for each instruction set (frame_map.c, frame_avx2.c,
 * frame_avx512.c), so that each has one text and compilers make the vectors. Every operation is exact or correctly
 * rounded and contraction is off, so all give the same bits.
 *
 * Exactness rests on kernels/decimal.h, and on this: adding 1.5 * 2^52 to a double below 2^51 rounds it to an integer
 * that then stands in the low mantissa bits. So y is found by one
 * multiplication (a guess) and proved by one division (the definition). Contraction to fused multiply-add would guess
 * differently from machine to machine.
 */
#ifndef KERNELS_FRAME_LOOPS_H
#define KERNELS_FRAME_LOOPS_H

#include "kernels/bits.h"
#include "kernels/decimal.h"
#include "kernels/frame_internal.h"

#define FRAME_MAGIC 6755399441055744.0 /* 1.5 * 2^52 */
#define FRAME_MAGIC_BITS UINT64_C(0x4338000000000000)
#define FRAME_INTEGER_MAX 0x1p51

static inline double magic_to_f64(uint64_t y)
{
    return bits_to_f64(y + FRAME_MAGIC_BITS) - FRAME_MAGIC;
}

static inline bool integer_in_range(double r)
{
    return bits_to_f64(bits_of_f64(r) & INT64_MAX) < FRAME_INTEGER_MAX; /* false for NaN */
}

/* Units in the last place from the decimal y / scale to v, modulo 2^64. */
static inline uint64_t ulps_above(double v, double r, double scale)
{
    return bits_order_key(bits_of_f64(v)) - bits_order_key(bits_of_f64(r / scale));
}

static inline bool ulps_fit(uint64_t ulps, bool corrected)
{
    return corrected ? ulps + FRAME_CORRECTION_MAX <= 2 * FRAME_CORRECTION_MAX : ulps == 0;
}

static inline unsigned frame_loop_decimal(uint64_t *restrict y, const double *restrict v, unsigned n, unsigned e,
                                          unsigned misfits_max)
{
    enum { STRIDE = 32 };
    const double scale = decimal_pow10[e];
    uint64_t misfits = 0;
    for (unsigned i = 0; i < n && misfits <= misfits_max;) {
        unsigned stop = n - i > STRIDE ? i + STRIDE : n;
        for (; i < stop; i++) {
            double t = v[i] * scale + FRAME_MAGIC, r = t - FRAME_MAGIC;
            y[i] = bits_of_f64(t) - FRAME_MAGIC_BITS;
            uint64_t fits = bits_of_f64(r / scale) == bits_of_f64(v[i]);
            fits &= integer_in_range(r); /* no branch: misfits come at random */
            misfits += 1 - fits;
        }
    }
    return (unsigned)misfits;
}

static inline unsigned frame_loop_near_decimal(uint64_t *restrict y, int64_t *restrict correction,
                                               const double *restrict v, unsigned n, unsigned e, unsigned misfits_max)
{
    enum { STRIDE = 32 };
    const double scale = decimal_pow10[e];
    uint64_t misfits = 0;
    for (unsigned i = 0; i < n && misfits <= misfits_max;) {
        unsigned stop = n - i > STRIDE ? i + STRIDE : n;
        for (; i < stop; i++) {
            double t = v[i] * scale + FRAME_MAGIC, r = t - FRAME_MAGIC;
            uint64_t ulps = ulps_above(v[i], r, scale);
            y[i] = bits_of_f64(t) - FRAME_MAGIC_BITS;
            correction[i] = (int64_t)ulps;
            uint64_t fits = ulps_fit(ulps, true);
            fits &= integer_in_range(r);
            misfits += 1 - fits;
        }
    }
    return (unsigned)misfits;
}

static inline bool frame_loop_to_doubles(double *restrict out, const uint64_t *restrict y, unsigned n, unsigned e,
                                         unsigned shift)
{
    if (e == FRAME_E_ORDERED) {
        for (unsigned i = 0; i < n; i++) {
            uint64_t bits = bits_order_key(y[i] << shift);
            memcpy(&out[i], &bits, 8);
        }
        return true;
    }
    const double scale = decimal_pow10[e];
    uint64_t outside = 0;
    if (e == 0) {
        for (unsigned i = 0; i < n; i++) {
            uint64_t integer = y[i] << shift;
            outside |= integer + (UINT64_C(1) << 51);
            out[i] = magic_to_f64(integer);
        }
    } else {
        for (unsigned i = 0; i < n; i++) {
            uint64_t integer = y[i] << shift;
            outside |= integer + (UINT64_C(1) << 51);
            out[i] = magic_to_f64(integer) / scale;
        }
    }
    return outside >> 52 == 0;
}

static inline void frame_loop_correct(double *restrict v, const uint64_t *restrict correction, unsigned n, int base)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], 8);
        uint64_t key = bits_order_key(bits) + correction[i] + (uint64_t)(int64_t)base;
        bits = bits_order_key(key);
        memcpy(&v[i], &bits, 8);
    }
}

static inline void frame_loop_line(uint64_t *u, unsigned n, uint64_t base, uint64_t step)
{
    for (unsigned i = 0; i < n; i++)
        u[i] += base + i * step;
}

static inline void frame_loop_rows(uint64_t (*restrict rows)[FRAME_MAX_N], const uint64_t *restrict y, unsigned n,
                                   uint64_t slope)
{
    for (unsigned i = 0; i < n; i++) {
        rows[FRAME_CONSTANT][i] = y[i];
        rows[FRAME_LINE][i] = y[i] - i * slope;
    }
    for (unsigned i = 1; i < n; i++)
        rows[FRAME_DELTA][i - 1] = y[i] - y[i - 1];
    for (unsigned i = 2; i < n; i++)
        rows[FRAME_SECOND][i - 2] = y[i] - 2 * y[i - 1] + y[i - 2];
}

static inline unsigned frame_loop_widths(const uint64_t *restrict r, unsigned n, uint64_t middle)
{
    uint64_t leading_zeros = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t d = r[i] - middle;
        leading_zeros += (uint64_t)__builtin_clzll(((d << 1) ^ (uint64_t)((int64_t)d >> 63)) | 1);
    }
    return (unsigned)(63 * (uint64_t)n - leading_zeros);
}

#endif
