/*
 * Samples as integers that sort largest first, and the one sort of the quantile families.
 *
 * A quantile pane keeps its samples largest first, so that high quantiles touch only its head. `order_key` maps a
 * double to an unsigned integer whose rising order is that order: +Inf, ..., +0, -0, ..., -Inf, and NaN last, which is
 * where Prometheus' quantile puts it when it sorts upwards. The map is one to one but for NaNs, which all become the
 * one NaN. Integer keys make every comparison a total order, so equal multisets always give equal bytes.
 */
#ifndef KERNELS_ORDER_H
#define KERNELS_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/bits.h"
#include "kernels/ops.h"

#define ORDER_NAN UINT64_MAX /* the key of NaN */

static inline uint64_t order_key_of_bits(uint64_t b)
{
    uint64_t key = (uint64_t)((int64_t)~b >> 63) >> 1; /* ones below the sign for positive values */
    key ^= b;
    return (b << 1) > UINT64_C(0xffe0000000000000) ? ORDER_NAN : key;
}
static inline uint64_t order_key(double v)
{
    return order_key_of_bits(bits_of_f64(v));
}
/* The key of the double stored at p, any alignment. */
static inline uint64_t order_key_at(const uint8_t *p)
{
    return order_key_of_bits(bits_load_u64(p));
}
static inline double order_value(uint64_t key)
{
    if (key == ORDER_NAN)
        return bits_to_f64(BITS_NAN);
    return bits_to_f64(key ^ ((uint64_t)((int64_t)~key >> 63) >> 1));
}

/* Widens [*min, *max] (NaN both: nothing yet) by v, if it is not NaN; -0 lies below +0. */
static inline void order_widen(double *min, double *max, double v)
{
    uint64_t key = order_key(v), min_key = order_key(*min);
    if (key == ORDER_NAN)
        return;
    if (min_key == ORDER_NAN || key > min_key)
        *min = v;
    if (key < order_key(*max))
        *max = v;
}

/* keys[i] = order_key of the double at values + 8 i, any alignment; keys must not overlap them. */
static inline void order_keys(uint64_t *keys, const void *values, size_t n)
{
    order_ops.keys(keys, values, n);
}

/* values[i] = order_value(keys[i]); they must not overlap. */
static inline void order_values(double *values, const uint64_t *keys, size_t n)
{
    order_ops.values(values, keys, n);
}

/* Sorts v[0..n) upwards; tmp has room for n. The result is in v. */
static inline void order_sort(uint64_t *v, size_t n, uint64_t *tmp)
{
    order_ops.sort(v, n, tmp);
}

/* Reorders v[0..n) so that v[at], at < n, is what sorting would put there, and v[at + 1] too if there is one: for one
 * quantile of many samples. tmp has room for n. */
static inline void order_select(uint64_t *v, size_t n, size_t at, uint64_t *tmp)
{
    order_ops.select(v, n, at, tmp);
}

/* Merges sorted a[0..a_n) and b[0..b_n) into dst, which overlaps neither. */
void order_merge(uint64_t *dst, const uint64_t *a, size_t a_n, const uint64_t *b, size_t b_n);

/* Merges v[0..n), whose blocks of `run` keys (the last one the rest) are sorted; tmp has room for n. */
void order_merge_blocks(uint64_t *v, size_t n, size_t run, uint64_t *tmp);

/* Merges the k sorted runs that lie one after the other in v, run i ending before ends[i] (ends is used up); tmp has
 * room for ends[k-1]. The result is in v. */
void order_merge_runs(uint64_t *v, uint64_t *ends, uint32_t k, uint64_t *tmp);

#endif
