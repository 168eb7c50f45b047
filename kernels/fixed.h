/*
 * What the families with fixed-size states share (sum, min, max, count, moments, counter, regression): they take no
 * parameters, and a readout or merge visits its states in one order whatever order they came in, so that rounding, and
 * with it every byte, is a function of the set of states alone.
 *
 * The order is by time, then by the states' bytes (states of different series share a window end). States usually come
 * in order; then nothing is sorted and the scratch is not touched.
 */
#ifndef KERNELS_FIXED_H
#define KERNELS_FIXED_H

#include <math.h>

#include "kernels/bits.h"
#include "kernels/sketch.h"

/* Times of states beyond this are no times: keeps every difference of two inside i64. */
#define FIXED_TIME_MAX_MS (INT64_C(1) << 61)
/* Samples a state may claim: sums of counts over any k states stay inside u64 and below bit 63. */
#define FIXED_COUNT_MAX (UINT64_C(1) << 40)

static inline bool fixed_time_possible(int64_t time_ms)
{
    return time_ms <= FIXED_TIME_MAX_MS && time_ms >= -FIXED_TIME_MAX_MS;
}

enum fixed_time {
    FIXED_BY_END = 1, /* window ends */
    FIXED_BY_FIRST    /* first samples: end_ms + the i32 at byte 0 */
};

/* Refuses any parameter that is set: two views that differ in one would otherwise hold the same states. */
int fixed_check_params(const struct sketch_params *params, const char **reason);

/* build needs no scratch; merge_k and estimate need an index of k states. */
size_t fixed_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k);

/*
 * Checks that every state has `size` bytes (0: any) and a possible window end (SKETCH_CORRUPT, SKETCH_BAD_DATA) and
 * gives the order to visit them in: (*ret_order)[i], or plain i when *ret_order is NULL. The order lives in scratch.
 */
int fixed_order(const struct state_ref *src, uint32_t k, uint32_t size, enum fixed_time time, void *scratch,
                const uint32_t **ret_order);

static inline const struct state_ref *fixed_at(const struct state_ref *src, const uint32_t *order, uint32_t i)
{
    return &src[order ? order[i] : i];
}

/* One step of Neumaier's sum as Prometheus takes it (promql/functions.go, kahanSumInc): once a sum is infinite there is
 * nothing to compensate. The result is *sum + *rest. */
static inline void fixed_kahan_add(double v, double *sum, double *rest)
{
    double t = *sum + v;
    if (bits_is_inf(t))
        *rest = 0;
    else if (fabs(*sum) >= fabs(v))
        *rest += (*sum - t) + v;
    else
        *rest += (v - t) + *sum;
    *sum = t;
}

/* Most that compensations add up to over n samples and the merges of their states: a step's error is at most half a
 * unit in the last place, 2^970 for the greatest doubles, and a sample takes at most three steps. Beyond it they would
 * overflow in a merge. */
static inline double fixed_rest_most(uint64_t n)
{
    return (double)n * 0x1p972;
}

/* What a validate answers to a state that it refuses. */
static inline int fixed_corrupt(const char **reason, const char *why)
{
    *reason = why;
    return SKETCH_CORRUPT;
}

#endif
