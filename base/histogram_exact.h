/*
 * A native histogram as it was sent: integer counts stay integers, however large, and floats keep their bits. This is
 * what is stored; evaluation sees doubles (base/histogram.h, which says what spans and schemas mean).
 *
 * What it points to is the caller's. Pure functions; thread-safe.
 */
#ifndef BASE_HISTOGRAM_EXACT_H
#define BASE_HISTOGRAM_EXACT_H

#include "base/arena.h"
#include "base/histogram.h"

struct histogram_exact_side {
    const struct histogram_span *spans;
    const uint64_t *counts; /* absolute, of each bucket in the spans */
    uint32_t spans_n, counts_n;
};
struct histogram_exact {
    int32_t schema;
    enum histogram_reset reset;
    bool floats; /* counts (these and the buckets') are the bits of doubles, else integers */
    double zero_threshold, sum;
    uint64_t count, zero_count;
    struct histogram_exact_side positive, negative;
    const double *custom;
    uint32_t custom_n;
};

/*
 * NULL when the histogram is sound, else a sentence of why not, in static memory. The rules are those of Prometheus'
 * Validate: a known schema; spans that fit the buckets, with no negative gap; no negative count; integer counts that
 * add up (a sum that is NaN may leave some out); custom bounds that rise and have neither zero bucket nor negative
 * side. And our own: at most HISTOGRAM_BUCKETS_MAX a side, bucket indices within HISTOGRAM_INDEX_MAX, a zero threshold
 * of 0 or more.
 */
const char *histogram_exact_fault(const struct histogram_exact *h);

/* The same buckets with the same counts, sum, zero bucket and bounds, by their bits. Empty spans and what the sender
 * says of resets do not count: as Prometheus' Equals. */
bool histogram_exact_eq(const struct histogram_exact *a, const struct histogram_exact *b);

/* For evaluation, in `a`; spans and custom bounds are not copied. NULL at the arena's limit. */
struct histogram *histogram_of_exact(const struct histogram_exact *h, struct arena *a);

#endif
