/*
 * A counter state in the open, with absolute times, and what is read out of it. Inside kernels/counter*.c only.
 */
#ifndef KERNELS_COUNTER_H
#define KERNELS_COUNTER_H

#include "kernels/sketch.h"

struct counter {
    int64_t first_ms, prev_ms, last_ms;
    uint64_t n; /* 0: nothing joined yet */
    double first, prev, last, reset_sum;
    uint64_t resets, changes;
};

/* One number over all samples behind c (n >= 1): Prometheus' float arithmetic. SKETCH_NONE when it has no answer there;
 * SKETCH_BAD_DATA for other statistics, and for a window that does not hold the samples. */
int counter_read(const struct counter *c, enum statistic statistic, const struct sketch_args *args, double *ret);

#endif
