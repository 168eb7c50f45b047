/*
 * Functions of the sorted window: quantiles, the median absolute deviation, and those of value frequencies. The window
 * is kept as sorted keys (kernels/order.h: NaN below every number, as Prometheus sorts; largest first) and moves by
 * taking out and putting in single samples while few change; else it is sorted anew. Keys are a total order, so both
 * ways give the same window.
 */
#include <math.h>

#include "base/alloc.h"
#include "executor/raw.h"
#include "kernels/order.h"

void range_prepare_order(struct range_series *s)
{
    s->keys_lo = s->keys_hi = s->keys_n = 0;
}

static uint32_t key_place(const struct range_series *s, uint64_t key)
{
    uint32_t low = 0, high = s->keys_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void key_remove(struct range_series *s, uint64_t key)
{
    uint32_t i = key_place(s, key);
    s->keys_n--;
    memmove(s->keys + i, s->keys + i + 1, (s->keys_n - i) * sizeof *s->keys);
}

static void key_insert(struct range_series *s, uint64_t key)
{
    uint32_t i = key_place(s, key);
    memmove(s->keys + i + 1, s->keys + i, (s->keys_n - i) * sizeof *s->keys);
    s->keys[i] = key;
    s->keys_n++;
}

static void order_window(struct range_series *s, const struct range_window *w)
{
    uint32_t n = w->hi - w->lo;
    s->keys = mem_grow(s->keys, &s->keys_cap, n + (s->keys_hi - s->keys_lo) + 1, sizeof *s->keys);
    bool apart = w->lo >= s->keys_hi;
    uint32_t moved = apart ? n : (w->lo - s->keys_lo) + (w->hi - s->keys_hi);
    if (apart || moved > n / 8 + 1) {
        s->keys_spare = mem_grow(s->keys_spare, &s->keys_spare_cap, n, sizeof *s->keys_spare);
        for (uint32_t i = 0; i < n; i++)
            s->keys[i] = order_key(s->values[w->lo + i]);
        order_sort(s->keys, n, s->keys_spare);
        s->keys_n = n;
    } else {
        for (uint32_t i = s->keys_lo; i < w->lo; i++)
            key_remove(s, order_key(s->values[i]));
        for (uint32_t i = s->keys_hi; i < w->hi; i++)
            key_insert(s, order_key(s->values[i]));
    }
    s->keys_lo = w->lo;
    s->keys_hi = w->hi;
}

/* Rank q (n - 1) between its two neighbours; keys lie largest first. */
static double interpolated(const uint64_t *keys, uint32_t n, double q)
{
    double rank = q * (n - 1), low = floor(rank), weight = rank - low;
    uint32_t lower = (uint32_t)low, upper = lower + 1 < n ? lower + 1 : n - 1;
    return order_value(keys[n - 1 - lower]) * (1 - weight) + order_value(keys[n - 1 - upper]) * weight;
}

/* The same without sorting the window. */
static double selected(struct range_series *s, const struct range_window *w, double q)
{
    uint32_t n = w->hi - w->lo, lower = (uint32_t)floor(q * (n - 1));
    s->keys = mem_grow(s->keys, &s->keys_cap, n, sizeof *s->keys);
    s->keys_spare = mem_grow(s->keys_spare, &s->keys_spare_cap, n, sizeof *s->keys_spare);
    for (uint32_t i = 0; i < n; i++)
        s->keys[i] = order_key(s->values[w->lo + i]);
    /* The upper neighbour comes first. */
    order_select(s->keys, n, lower + 1 < n ? n - 2 - lower : 0, s->keys_spare);
    return interpolated(s->keys, n, q);
}

double range_quantile_at(struct range_series *s, const struct range_window *w, double q)
{
    if (isnan(q))
        return NAN;
    if (q < 0 || q > 1)
        return q < 0 ? -INFINITY : INFINITY;
    if (s->one_window)
        return selected(s, w, q);
    order_window(s, w);
    return interpolated(s->keys, s->keys_n, q);
}

double range_quantile(struct range_series *s, const struct range_window *w)
{
    return range_quantile_at(s, w, s->params[0][w->step]);
}

double range_mad(struct range_series *s, const struct range_window *w)
{
    uint32_t n = w->hi - w->lo;
    order_window(s, w);
    if (s->keys[n - 1] == ORDER_NAN) /* no median: Prometheus since 3.14, not the NaN-first order of quantiles */
        return NAN;
    double median = interpolated(s->keys, n, 0.5);
    /* Deviations are another multiset: two buffers of their own, behind each other. */
    s->keys_spare = mem_grow(s->keys_spare, &s->keys_spare_cap, 2 * (size_t)n, sizeof *s->keys_spare);
    for (uint32_t i = 0; i < n; i++)
        s->keys_spare[i] = order_key(fabs(s->values[w->lo + i] - median));
    order_sort(s->keys_spare, n, s->keys_spare + n);
    return interpolated(s->keys_spare, n, 0.5);
}

/* Length of the run of equal values at i; -0 and +0 are one value, all NaNs are one. */
static uint32_t run_length(const struct range_series *s, uint32_t i)
{
    const uint64_t plus_zero = order_key(0.0), minus_zero = order_key(-0.0);
    uint32_t end = i + 1;
    while (end < s->keys_n && (s->keys[end] == s->keys[i] || (s->keys[i] == plus_zero && s->keys[end] == minus_zero)))
        end++;
    return end - i;
}

double range_distinct(struct range_series *s, const struct range_window *w)
{
    uint32_t distinct = 0;
    order_window(s, w);
    for (uint32_t i = 0; i < s->keys_n; i += run_length(s, i))
        distinct++;
    return distinct;
}

/* Shannon's entropy of the value frequencies, in bits. */
double range_entropy(struct range_series *s, const struct range_window *w)
{
    double entropy = 0;
    order_window(s, w);
    for (uint32_t i = 0, n; i < s->keys_n; i += n) {
        n = run_length(s, i);
        double p = (double)n / s->keys_n;
        entropy -= p * log2(p);
    }
    return entropy + 0.0; /* one value: 0, not -0 */
}

double range_l2(struct range_series *s, const struct range_window *w)
{
    double squares = 0;
    order_window(s, w);
    for (uint32_t i = 0, n; i < s->keys_n; i += n) {
        n = run_length(s, i);
        squares += (double)n * n;
    }
    return sqrt(squares);
}
