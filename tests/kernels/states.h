/*
 * Variable-size states for the quantile, distinct and frequency suites. Every state, destination and scratch lies in a
 * block of exactly the promised size, so that the address sanitizer sees a kernel that steps outside its bounds.
 */
#ifndef TESTS_KERNELS_STATES_H
#define TESTS_KERNELS_STATES_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/families.h"
#include "random.h"

enum { STATES_MAX = 1024 };

struct states {
    const struct family_info *f;
    struct sketch_params params;
    uint64_t seed; /* of builds and merges */
    uint32_t k;
    struct state_ref ref[STATES_MAX];
};

static inline struct states *states_new(const struct family_info *f, struct sketch_params params, uint64_t seed)
{
    struct states *s = calloc(1, sizeof *s);
    s->f = f;
    s->params = params;
    s->seed = seed;
    return s;
}

static inline void states_clear(struct states *s)
{
    for (uint32_t i = 0; i < s->k; i++)
        free((void *)(uintptr_t)s->ref[i].bytes);
    s->k = 0;
}

static inline void states_free(struct states *s)
{
    states_clear(s);
    free(s);
}

/* Appends a copy of the bytes, in a block of their size. */
static inline void states_push(struct states *s, const uint8_t *bytes, size_t size, int64_t end_ms)
{
    ck_assert_uint_lt(s->k, STATES_MAX);
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    s->ref[s->k++] = (struct state_ref){copy, (uint32_t)size, end_ms};
}

static inline void states_check(const struct states *s, const uint8_t *bytes, size_t size)
{
    const char *reason = "";
    ck_assert_msg(s->f->validate(bytes, size, &s->params, &reason) == SKETCH_OK, "%s: %s", s->f->name, reason);
}

/* Appends the state of the samples for window end end_ms; times may be NULL where the family does not look at them. */
static inline void states_build_at(struct states *s, int64_t end_ms, const int64_t *times_ms, const double *values,
                                   uint32_t n, uint64_t seed)
{
    size_t size = 0, cap = s->f->size_bound(&s->params, n);
    uint8_t *dst = malloc(cap);
    void *scratch = malloc(s->f->scratch_bound(&s->params, n, 0));
    double *copy = malloc(n * sizeof *copy);
    memcpy(copy, values, n * sizeof *copy);
    int rc = s->f->build(dst, cap, &size, &s->params, end_ms, times_ms, copy, n, seed, scratch);
    ck_assert_int_eq(rc, SKETCH_OK);
    states_push(s, dst, size, end_ms);
    states_check(s, s->ref[s->k - 1].bytes, size);
    free(copy);
    free(scratch);
    free(dst);
}

/* Appends the state of values[0..n), built with s->seed + the number of states so far. Returns its bytes. */
static inline uint32_t states_build(struct states *s, const double *values, uint32_t n)
{
    states_build_at(s, s->k, NULL, values, n, s->seed + s->k * UINT64_C(977));
    return s->ref[s->k - 1].size;
}

/* Families whose seed is one for all states: hashes only meet under one seed. */
static inline bool states_share_seed(const struct states *s)
{
    return s->f->family == FAMILY_HLL || (s->f->family >= FAMILY_CMS && s->f->family <= FAMILY_HYDRA_KLL);
}

static inline uint32_t states_build_same_seed(struct states *s, const double *values, uint32_t n)
{
    uint64_t seed = s->seed;
    s->seed -= s->k * UINT64_C(977);
    uint32_t size = states_build(s, values, n);
    s->seed = seed;
    return size;
}

/* Appends the state of keyed items. Returns the kernel's code; no state on failure. */
static inline int states_build_items(struct states *s, const struct sketch_items *items)
{
    size_t size = 0, cap = s->f->size_bound(&s->params, items->n);
    uint8_t *dst = malloc(cap);
    void *scratch = malloc(s->f->scratch_bound(&s->params, items->n, 0));
    int rc = s->f->build_items(dst, cap, &size, &s->params, items, s->seed, scratch);
    if (rc == SKETCH_OK) {
        states_push(s, dst, size, s->k);
        states_check(s, s->ref[s->k - 1].bytes, size);
    }
    free(scratch);
    free(dst);
    return rc;
}

static inline uint64_t states_count(const struct states *s)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->k; i++)
        n += s->f->count(s->ref[i].bytes, s->ref[i].size);
    return n;
}

/* Merges s into a block of *ret_size bytes, which the caller frees. Returns the kernel's code; no block on failure. */
static inline int states_merge(const struct states *s, uint8_t **ret, size_t *ret_size)
{
    uint64_t n = states_count(s);
    size_t cap = s->f->size_bound(&s->params, n > 0 ? n : UINT32_MAX), size = 0; /* 0: the family does not know */
    uint8_t *dst = malloc(cap);
    void *scratch = malloc(s->f->scratch_bound(&s->params, n, s->k));
    int rc = s->f->merge_k(dst, cap, &size, &s->params, 99, s->ref, s->k, s->seed, scratch);
    free(scratch);
    if (rc == SKETCH_OK) {
        *ret = malloc(size);
        memcpy(*ret, dst, size);
        *ret_size = size;
    }
    free(dst);
    return rc;
}

static inline int states_estimate(const struct states *s, enum statistic statistic, double q, double *ret)
{
    struct sketch_args args = {.q = q};
    void *scratch = malloc(s->f->scratch_bound(&s->params, states_count(s), s->k));
    int rc = s->f->estimate(s->ref, s->k, &s->params, statistic, &args, scratch, ret);
    free(scratch);
    return rc;
}

static inline double states_point(const struct states *s, uint64_t group, uint64_t key)
{
    struct sketch_args args = {.key = key, .group = group};
    void *scratch = malloc(s->f->scratch_bound(&s->params, states_count(s), s->k));
    double v = -12345;
    ck_assert_int_eq(s->f->estimate(s->ref, s->k, &s->params, STATISTIC_POINT_COUNT, &args, scratch, &v), SKETCH_OK);
    free(scratch);
    return v;
}

/* The heaviest items; returns how many. */
static inline uint32_t states_top(const struct states *s, uint32_t most, uint64_t *keys, double *estimates)
{
    void *scratch = malloc(s->f->scratch_bound(&s->params, states_count(s), s->k));
    uint32_t n = 0;
    ck_assert_int_eq(s->f->top(s->ref, s->k, &s->params, most, keys, estimates, &n, scratch), SKETCH_OK);
    free(scratch);
    for (uint32_t i = 1; i < n; i++)
        ck_assert(estimates[i - 1] > estimates[i] || (estimates[i - 1] == estimates[i] && keys[i - 1] < keys[i]));
    return n;
}

/* The estimate, which must exist. */
static inline double states_read(const struct states *s, enum statistic statistic, double q)
{
    double v = -12345;
    ck_assert_int_eq(states_estimate(s, statistic, q, &v), SKETCH_OK);
    return v;
}

static inline void states_shuffle(struct states *s, uint64_t *random)
{
    for (uint32_t i = s->k; i > 1; i--) {
        uint32_t j = random_below(random, i);
        struct state_ref keep = s->ref[i - 1];
        s->ref[i - 1] = s->ref[j];
        s->ref[j] = keep;
    }
}

/* Merging all states of s gives the same bytes in any order. The merge is returned in a block to free. */
static inline uint8_t *states_check_order(struct states *s, uint64_t *random, size_t *ret_size)
{
    uint8_t *once = NULL, *again = NULL;
    size_t again_size = 0;
    ck_assert_int_eq(states_merge(s, &once, ret_size), SKETCH_OK);
    states_check(s, once, *ret_size);
    for (unsigned round = 0; round < 3; round++) {
        states_shuffle(s, random);
        ck_assert_int_eq(states_merge(s, &again, &again_size), SKETCH_OK);
        ck_assert_uint_eq(again_size, *ret_size);
        ck_assert_mem_eq(once, again, *ret_size);
        free(again);
    }
    return once;
}

/* values[0..n) as states of random size, at most `most` samples each. */
static inline void states_split(struct states *s, const double *values, uint32_t n, uint32_t most, uint64_t *random)
{
    states_clear(s);
    for (uint32_t at = 0, run; at < n; at += run) {
        run = 1 + random_below(random, most);
        run = run < n - at && s->k + 1 < STATES_MAX ? run : n - at;
        if (states_share_seed(s))
            states_build_same_seed(s, values + at, run);
        else
            states_build(s, values + at, run);
    }
}

/* Bytes that validate accepts go through every function of the family: alone, twice, and with a state that is good. */
static inline void states_use(const struct states *s, const uint8_t *bytes, size_t size)
{
    static const double quantiles[] = {0, 0.5, 0.99, 1, -1, NAN};
    struct states *both = states_new(s->f, s->params, s->seed);
    states_push(both, bytes, size, 5);
    states_push(both, s->ref[0].bytes, s->ref[0].size, 6);
    states_push(both, bytes, size, 7);
    (void)s->f->flags(bytes, size);
    uint64_t n = states_count(both), keys[8];
    double estimates[8], v;
    uint32_t top_n = 0, k = both->k;
    for (both->k = 1; both->k <= k; both->k++) {
        void *scratch = malloc(s->f->scratch_bound(&s->params, n, both->k));
        for (uint32_t i = 0; i < s->f->readouts_n; i++)
            for (uint32_t q = 0; q < sizeof quantiles / sizeof *quantiles; q++) {
                struct sketch_args args = {.start_ms = -40, .end_ms = 60, .q = quantiles[q], .key = q, .group = q};
                (void)s->f->estimate(both->ref, both->k, &s->params, s->f->readouts[i].statistic, &args, scratch, &v);
            }
        if (s->f->top && s->f->top(both->ref, both->k, &s->params, 8, keys, estimates, &top_n, scratch) == SKETCH_OK)
            ck_assert_uint_le(top_n, 8);
        free(scratch);
        uint8_t *merged = NULL;
        size_t merged_size = 0;
        if (n < 100000 && states_merge(both, &merged, &merged_size) == SKETCH_OK) {
            states_check(both, merged, merged_size);
            free(merged);
        }
    }
    both->k = k;
    states_free(both);
}

/* Is a block of exactly these bytes refused with a reason, or else used? */
static inline bool states_try(const struct states *s, const uint8_t *bytes, size_t size)
{
    uint8_t *block = malloc(size);
    const char *reason = NULL;
    memcpy(block, bytes, size);
    bool accepted = s->f->validate(block, size, &s->params, &reason) == SKETCH_OK;
    if (accepted)
        states_use(s, block, size);
    else
        ck_assert(reason && *reason);
    free(block);
    return accepted;
}

/* Damages each state in many ways. What validate still accepts must go through every function. Returns how many. */
static inline uint32_t states_flip(const struct states *s, uint64_t *random, uint32_t rounds)
{
    uint32_t accepted = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        const struct state_ref *r = &s->ref[round % s->k];
        size_t size = r->size;
        if (random_below(random, 4) == 0)
            size = random_below(random, (uint32_t)size + 1);
        uint8_t *bytes = malloc(size);
        memcpy(bytes, r->bytes, size);
        for (uint32_t flips = 1 + random_below(random, 3); size > 0 && flips > 0; flips--) {
            uint32_t near_head = size < 40 || random_below(random, 2) ? (uint32_t)size : 40;
            bytes[random_below(random, near_head)] ^= (uint8_t)(1u << random_below(random, 8));
        }
        accepted += states_try(s, bytes, size);
        free(bytes);
    }
    return accepted;
}

static inline int states_rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (x != x || y != y)
        return (y != y) - (x != x);
    return (x > y) - (x < y);
}

/* Prometheus' quantile of values[0..n), sorted upwards with NaN first. */
static inline double states_prometheus(const double *sorted, uint32_t n, double q)
{
    if (n == 0 || q != q)
        return NAN;
    if (q < 0 || q > 1)
        return q < 0 ? -INFINITY : INFINITY;
    double rank = q * (n - 1), low = fmax(0, floor(rank)), high = fmin(n - 1, low + 1), weight = rank - floor(rank);
    return sorted[(uint32_t)low] * (1 - weight) + sorted[(uint32_t)high] * weight;
}

/* A latency with three decimals, lognormal around 0.37. */
static inline double states_latency(uint64_t *random)
{
    return round(exp(random_normal(random) - 1) * 1000) / 1000;
}

#endif
