/* The streams of the accuracy bench, and the truth about them. */
#ifndef BENCH_ACCURACY_STREAMS_H
#define BENCH_ACCURACY_STREAMS_H

#include <stdint.h>

enum { STREAM_N = 28800 /* 1440 panes of 20 */, STREAMS_N = 7 };

struct stream {
    double values[STREAM_N];
    double sorted[STREAM_N];
    double items[STREAM_N], counts[STREAM_N]; /* distinct values, rising, and how often each is there */
    uint32_t distinct;
    double l2, entropy; /* of the counts; entropy in bits */
};

extern const char *const stream_names[STREAMS_N];

/* Fills s with stream `kind` of this seed. */
void stream_fill(struct stream *s, uint32_t kind, uint64_t seed);

/* Prometheus' q-quantile: rank q (n - 1), interpolated. */
double stream_quantile(const struct stream *s, double q);
/* How far q lies from the ranks that v covers, as a share of n. */
double stream_rank_error(const struct stream *s, double v, double q);

#endif
