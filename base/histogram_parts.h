/*
 * What the histogram files share: walking over the buckets of a side, putting a side together, compensated sums.
 * For base/histogram*.c only.
 */
#ifndef BASE_HISTOGRAM_PARTS_H
#define BASE_HISTOGRAM_PARTS_H

#include <math.h>

#include "base/histogram.h"

double histogram_bound_exponential(int32_t index, int32_t schema);

/* The bucket of one side as it stands, its bounds not yet cut at the zero bucket. */
struct histogram_bucket histogram_bucket_of(const struct histogram *h, bool positive, int32_t index, double count);

/* From the first bucket up: false at the end. */
static inline struct histogram_walk walk_begin(const struct histogram_side *side)
{
    return (struct histogram_walk){.side = side};
}
static inline bool walk_next(struct histogram_walk *w, int32_t *index, double *count)
{
    for (; w->span < w->side->spans_n; w->span++, w->in_span = 0) {
        const struct histogram_span *s = &w->side->spans[w->span];
        if (w->in_span == 0)
            w->index += s->offset;
        if (w->in_span == s->length)
            continue;
        w->in_span++;
        *index = w->index++;
        *count = w->side->counts[w->bucket++];
        return true;
    }
    return false;
}
/* From the last bucket down. */
struct histogram_walk walk_begin_last(const struct histogram_side *side);
bool walk_before(struct histogram_walk *w, int32_t *index, double *count);

/* The bucket that holds bucket `index` in a schema `shift` lower; a shift of 31 and more is that of 31. */
static inline int32_t index_reduced(int32_t index, int shift)
{
    return ((index - 1) >> (shift > 31 ? 31 : shift)) + 1;
}

/* A side in the making. With `spans` and `counts` NULL only what it will need is counted, so that every side is gone
 * over twice and takes no more memory than it has buckets. */
struct side_builder {
    struct histogram_span *spans;
    double *counts;
    uint32_t spans_n, counts_n;
    int32_t end; /* index after the last bucket */
};
/* In rising order of index; `apart`: a new span even where the last one could be extended. Best on a builder that is
 * the caller's own variable: its fields then stay in registers. */
static inline void side_add(struct side_builder *b, int32_t index, double count, bool apart)
{
    if (b->counts_n == 0 || index != b->end || apart) {
        if (b->spans)
            b->spans[b->spans_n] = (struct histogram_span){b->counts_n == 0 ? index : (int32_t)(index - b->end), 0};
        b->spans_n++;
    }
    if (b->spans) {
        b->spans[b->spans_n - 1].length++;
        b->counts[b->counts_n] = count;
    }
    b->counts_n++;
    b->end = index + 1;
}
/* A histogram with room for the two sides counted so far and a copy of `shape`'s scalars and custom bounds; the
 * builders are ready for the second round. NULL when the arena is at its limit. */
struct histogram *histogram_make(const struct histogram *shape, struct side_builder *positive,
                                 struct side_builder *negative, struct arena *to);

/* A sum and what was lost by rounding it (Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher
 * Summen", 1974): v + rest is the sum. An infinite sum has no rest. */
struct compensated {
    double v, rest;
};
static inline void compensated_add(struct compensated *s, double v)
{
    double sum = s->v + v;
    if (isinf(sum))
        s->rest = 0;
    else
        s->rest += fabs(s->v) >= fabs(v) ? (s->v - sum) + v : (v - sum) + s->v;
    s->v = sum;
}

/* Same custom bounds. */
bool custom_equal(const double *a, uint32_t a_n, const double *b, uint32_t b_n);

#endif
