/*
 * Runs of samples: times that rise strictly, and as many values. Where a run is cut is found by bisection, never by a
 * walk: most spans take all of a run, or leave out all of it.
 */
#ifndef BASE_SAMPLES_H
#define BASE_SAMPLES_H

#include <stdint.h>
#include <string.h>

/* How many times of the run are at or before `t`. */
static inline uint32_t samples_upto(const int64_t *times_ms, uint32_t n, int64_t t)
{
    uint32_t low = 0;
    while (n > 0) {
        uint32_t half = n / 2;
        int right = times_ms[low + half] <= t;
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

/* Keeps the samples with start < t <= end, at the arrays' front. Returns how many. */
static inline uint32_t samples_trim(int64_t *times_ms, double *values, uint32_t n, int64_t start_ms, int64_t end_ms)
{
    uint32_t first = 0;
    if (n > 0 && times_ms[n - 1] > end_ms)
        n = samples_upto(times_ms, n, end_ms);
    if (n > 0 && times_ms[0] <= start_ms)
        first = samples_upto(times_ms, n, start_ms);
    if (first > 0) {
        memmove(times_ms, times_ms + first, (n - first) * sizeof *times_ms);
        memmove(values, values + first, (n - first) * sizeof *values);
    }
    return n - first;
}

#endif
