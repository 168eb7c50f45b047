/*
 * What the suites over all families of the table go by: parameters of each, and streams of samples of each kind. A
 * family without parameters here must be one that has no states.
 */
#ifndef TESTS_KERNELS_EVERY_H
#define TESTS_KERNELS_EVERY_H

#include "states.h"

enum { EVERY_PARAMS = 3 };

static const struct {
    uint32_t n;
    struct sketch_params params[EVERY_PARAMS];
} every_params[FAMILY_END] = {
    [FAMILY_SUM] = {1, {{0}}},
    [FAMILY_MIN] = {1, {{0}}},
    [FAMILY_MAX] = {1, {{0}}},
    [FAMILY_COUNT] = {1, {{0}}},
    [FAMILY_MOMENTS] = {1, {{0}}},
    [FAMILY_COUNTER] = {1, {{0}}},
    [FAMILY_KLL] = {2, {{.k = 200}, {.k = 8}}},
    [FAMILY_DDSKETCH] = {3, {{.alpha = 0.01}, {.alpha = 0.05, .max_bins = 65536}, {.alpha = 0.3}}},
    [FAMILY_HLL] = {2, {{.p = 10}, {.p = 4}}},
    [FAMILY_VALUES] = {1, {{0}}},
    [FAMILY_REGRESSION] = {1, {{0}}},
    [FAMILY_DISTINCT_SET] = {1, {{0}}},
    [FAMILY_CMS] = {2, {{.depth = 4, .width = 64}, {.depth = 3, .width = 100}}},
    [FAMILY_COUNTSKETCH] = {2, {{.depth = 5, .width = 64}, {.depth = 2, .width = 100}}},
    [FAMILY_CMS_HEAP] = {2, {{.depth = 4, .width = 64, .heap = 8}, {.depth = 3, .width = 100, .heap = 1}}},
    [FAMILY_COUNTSKETCH_HEAP] = {2, {{.depth = 5, .width = 64, .heap = 8}, {.depth = 3, .width = 100, .heap = 1}}},
    [FAMILY_KMV] = {2, {{.k = 128}, {.k = 16}}},
    [FAMILY_UNIVMON] = {2, {{.depth = 3, .width = 64, .heap = 8}, {.depth = 5, .width = 16, .heap = 1}}},
    [FAMILY_HYDRA_CMS] = {2,
                          {{.rows = 2, .columns = 3, .depth = 2, .width = 16},
                           {.rows = 3, .columns = 2, .depth = 1, .width = 8}}},
    [FAMILY_HYDRA_COUNTSKETCH] = {2,
                                  {{.rows = 2, .columns = 3, .depth = 3, .width = 16},
                                   {.rows = 3, .columns = 2, .depth = 1, .width = 8}}},
};

/* A counter with resets, latencies of three decimals, few small integers, full mantissas of both signs and all sizes, a
 * constant, and last what is not finite among numbers. */
enum { EVERY_KINDS = 6, EVERY_NOT_FINITE = 5 };

static inline double every_value(uint64_t *random, uint32_t kind, double before)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, 1e300, 5e-324};
    switch (kind) {
    case 0:
        return random_below(random, 40) ? before + random_below(random, 50) : random_below(random, 5);
    case 1:
        return states_latency(random);
    case 2:
        return random_below(random, 60) - 20.0;
    case 3:
        return random_normal(random) * exp(4 * random_normal(random));
    case 4:
        return 7.25;
    default:
        return random_below(random, 10) ? random_normal(random) : odd[random_below(random, 6)];
    }
}

/* n samples, 15 s apart and some ms. */
static inline void every_stream(uint64_t *random, uint32_t kind, uint32_t n, int64_t *times_ms, double *values)
{
    double v = 0;
    int64_t t = 1000;
    for (uint32_t i = 0; i < n; i++) {
        times_ms[i] = t += 14900 + random_below(random, 200);
        values[i] = v = every_value(random, kind, v);
    }
}

/* Appends the state of samples [from, from + n), its window ending at end_ms. */
static inline void every_build(struct states *s, int64_t end_ms, const int64_t *times_ms, const double *values,
                               uint32_t from, uint32_t n)
{
    uint64_t seed = s->seed + (states_share_seed(s) ? 0 : s->k * UINT64_C(977));
    states_build_at(s, end_ms, times_ms + from, values + from, n, seed);
}

#endif
