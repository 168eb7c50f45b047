/* The streams of the accuracy bench, and the truth about them. */
#ifndef BENCH_ACCURACY_STREAMS_H
#define BENCH_ACCURACY_STREAMS_H

#include <stdint.h>

enum { STREAM_N = 28800 /* 1440 panes of 20 */, STREAM_HEAVIEST = 32, STREAM_GROUPS = 64 };

/* X(NAME, "name") */
#define STREAM_LIST(X)                                                                                                 \
    X(LOGNORMAL, "lognormal")                                                                                          \
    X(ZIPF, "zipf 1.1")                                                                                                \
    X(CONSTANT, "constant")                                                                                            \
    X(INTEGERS, "integers")                                                                                            \
    X(HEAVY_TAIL, "heavy tail")                                                                                        \
    X(RISING, "rising")                                                                                                \
    X(FALLING, "falling")                                                                                              \
    X(ZOOM_IN, "zoom-in")       /* least, greatest, next to least, next to greatest, ...: KLL's levels interleave */   \
    X(RUNS, "runs")             /* rising runs of 1024, each below the last: as long as KLL's blocks */                \
    X(EDGES, "bucket edges")    /* DDSketch's bucket edges and the next doubles above, 2,000 buckets */                \
    X(WIDE_EDGES, "wide edges") /* 6,000 buckets: more than it keeps */                                                \
    X(SEQUENTIAL, "sequential") /* 0, 1, 2, ...: hashes must do what the keys do not */                                \
    X(MID_WEIGHT, "mid-weight") /* 600 items of equal weight: every counter holds several */                           \
    X(CANCELLING, "cancelling") /* sums of great numbers that leave small ones: sums */                                \
    X(GREAT_MEAN, "great mean") /* 1e9 and little beside it: variances */

enum stream_kind {
#define X(name, text) STREAM_##name,
    STREAM_LIST(X)
#undef X
        STREAMS_N
};

struct stream {
    double values[STREAM_N];
    double sorted[STREAM_N];
    double items[STREAM_N], counts[STREAM_N]; /* distinct values, rising, and how often each is there */
    uint32_t distinct;
    double l2, entropy; /* of the counts; entropy in bits */
    double heaviest;    /* count of the STREAM_HEAVIEST-th heaviest item; of the lightest, if there are fewer */
    double groups[STREAM_GROUPS]; /* samples of each group (stream_group) */
    double sum, abs_sum;          /* the exact sum, rounded; the sum of absolute values */
    double variance, mean;
    double slope; /* of the least-squares line, a second; sample i is at i ms */
};

extern const char *const stream_names[STREAMS_N];

/* Fills s with stream `kind` of this seed. */
void stream_fill(struct stream *s, enum stream_kind kind, uint64_t seed);

/* Prometheus' q-quantile: rank q (n - 1), interpolated. */
double stream_quantile(const struct stream *s, double q);
/* How far q lies from the ranks that v covers, as a share of n. */
double stream_rank_error(const struct stream *s, double v, double q);
/* The group an item belongs to, 0..STREAM_GROUPS-1. */
uint64_t stream_group(double item);
/* How often the item is there. */
double stream_count(const struct stream *s, double item);

#endif
