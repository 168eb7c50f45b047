/*
 * Classic histograms: cumulative counts by upper bound. Quantiles and fractions as Prometheus computes them, linear
 * within a bucket; pure functions over one histogram at one time.
 */
#ifndef EXECUTOR_BUCKETS_H
#define EXECUTOR_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    double bound; /* the upper one, inclusive */
    double count; /* of all observations up to it */
};
/* Counts that fell from one bound to the next, which no histogram does: what had to be lifted. */
struct bucket_repair {
    bool forced;
    double low_bound, high_bound; /* the range of bounds */
    double difference;            /* the largest one */
};

/* Buckets sorted upwards by bound (several may have one bound: they are added up); n >= 1; changed in place. NaN
 * without a +Inf bucket, below two buckets, or without observations; q < 0: -Inf, q > 1: +Inf. */
double bucket_quantile(double q, struct bucket *b, uint32_t n, struct bucket_repair *ret_repair);
/* The part of the observations between two values. */
double bucket_fraction(double lower, double upper, struct bucket *b, uint32_t n);

#endif
