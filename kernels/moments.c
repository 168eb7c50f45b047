/*
 * Variance: Welford's running moments, compensated as Prometheus' are (promql/functions.go, varianceOverTime), joined
 * by Chan, Golub and LeVeque's formula ("Updating formulae and a pairwise algorithm", 1979). A sum of squares would
 * lose everything: the variance of 1e9 + {4, 7, 13, 16} comes out as -128.
 *
 *   off  type  field
 *     0  u64   n >= 1
 *     8  f64   mean, 16 f64 its compensation
 *    24  f64   m2 = sum of squared distances from the mean, 32 f64 its compensation
 *
 * An m2 out of the range of doubles is +Inf with compensation 0. A sample that is not finite, or a mean out of range,
 * makes every answer NaN: the mean is then the one NaN of kernels/bits.h and the other three are 0. No compensation is
 * beyond fixed_rest_most.
 */
#include "kernels/families.h"
#include "kernels/fixed.h"

enum { MOMENTS_BYTES = 40 };

struct moments {
    uint64_t n;
    double mean, mean_rest, m2, m2_rest;
};

static void moments_store(uint8_t *dst, const struct moments *m)
{
    bool poisoned = !bits_is_finite(m->mean) || m->m2 != m->m2 || m->m2 == -INFINITY;
    bits_store_u64(dst, m->n);
    bits_store_f64(dst + 8, poisoned ? bits_to_f64(BITS_NAN) : m->mean);
    bits_store_f64(dst + 16, poisoned ? 0 : m->mean_rest);
    bits_store_f64(dst + 24, poisoned ? 0 : m->m2);
    bits_store_f64(dst + 32, poisoned ? 0 : m->m2_rest);
}

static struct moments moments_load(const uint8_t *bytes)
{
    return (struct moments){bits_load_u64(bytes), bits_load_f64(bytes + 8), bits_load_f64(bytes + 16),
                            bits_load_f64(bytes + 24), bits_load_f64(bytes + 32)};
}

static inline void moments_add(struct moments *m, double v)
{
    double delta = v - (m->mean + m->mean_rest);
    fixed_kahan_add(delta / (double)++m->n, &m->mean, &m->mean_rest);
    fixed_kahan_add(delta * (v - (m->mean + m->mean_rest)), &m->m2, &m->m2_rest);
}

static void moments_join(struct moments *m, const struct moments *other)
{
    if (m->n == 0) {
        *m = *other;
        return;
    }
    const double share = (double)other->n / (double)(m->n + other->n);
    const double delta = (other->mean - m->mean) + (other->mean_rest - m->mean_rest);
    fixed_kahan_add(delta * share, &m->mean, &m->mean_rest);
    fixed_kahan_add(other->m2, &m->m2, &m->m2_rest);
    fixed_kahan_add(delta * delta * ((double)m->n * share), &m->m2, &m->m2_rest);
    if (bits_is_finite(m->m2))
        m->m2_rest += other->m2_rest;
    m->n += other->n;
}

static size_t moments_size_bound(const struct sketch_params *params, uint64_t n)
{
    return MOMENTS_BYTES;
}

static int moments_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                         const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    if (cap < MOMENTS_BYTES)
        return SKETCH_NO_ROOM;
    struct moments m = {.n = 0};
    for (uint32_t i = 0; i < n; i++)
        moments_add(&m, values[i]);
    moments_store(dst, &m);
    *ret_size = MOMENTS_BYTES;
    return SKETCH_OK;
}

static int moments_join_all(const struct state_ref *src, uint32_t k, void *scratch, struct moments *ret)
{
    const uint32_t *order;
    int rc = fixed_order(src, k, MOMENTS_BYTES, FIXED_BY_END, scratch, &order);
    if (rc != SKETCH_OK)
        return rc;
    *ret = (struct moments){.n = 0};
    for (uint32_t i = 0; i < k; i++) {
        struct moments other = moments_load(fixed_at(src, order, i)->bytes);
        moments_join(ret, &other);
    }
    return ret->n == 0 ? SKETCH_CORRUPT : SKETCH_OK;
}

static int moments_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                         const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    if (k == 0)
        return SKETCH_BAD_DATA;
    if (cap < MOMENTS_BYTES)
        return SKETCH_NO_ROOM;
    struct moments m;
    int rc = moments_join_all(src, k, scratch, &m);
    if (rc != SKETCH_OK)
        return rc;
    if (m.n > FIXED_COUNT_MAX)
        return SKETCH_BAD_DATA;
    moments_store(dst, &m);
    *ret_size = MOMENTS_BYTES;
    return SKETCH_OK;
}

static int moments_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                            enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_STDVAR && statistic != STATISTIC_STDDEV)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    struct moments m;
    int rc = moments_join_all(src, k, scratch, &m);
    if (rc != SKETCH_OK)
        return rc;
    double variance = bits_is_finite(m.mean) ? (m.m2 + m.m2_rest) / (double)m.n : bits_to_f64(BITS_NAN);
    *ret = bits_one_nan(statistic == STATISTIC_STDDEV ? sqrt(variance) : variance);
    return SKETCH_OK;
}

static int moments_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n != MOMENTS_BYTES)
        return fixed_corrupt(reason, "a moments state has 40 bytes");
    struct moments m = moments_load(bytes);
    if (m.n == 0 || m.n > FIXED_COUNT_MAX)
        return fixed_corrupt(reason, "a moments state's count is out of range");
    if (bits_load_u64(bytes + 8) == BITS_NAN) {
        if (bits_load_u64(bytes + 16) || bits_load_u64(bytes + 24) || bits_load_u64(bytes + 32))
            return fixed_corrupt(reason, "a moments state without a mean has other moments");
        return SKETCH_OK;
    }
    const double rest_most = fixed_rest_most(m.n);
    if (!bits_is_finite(m.mean) || !(fabs(m.mean_rest) <= rest_most) || !(fabs(m.m2_rest) <= rest_most))
        return fixed_corrupt(reason, "a moments state's mean or compensation is out of range");
    if (m.m2 != m.m2 || m.m2 == -INFINITY || (m.m2 == INFINITY && bits_load_u64(bytes + 32)))
        return fixed_corrupt(reason, "a moments state's sum of squares is out of range");
    return SKETCH_OK;
}

static uint32_t moments_flags(const uint8_t *bytes, size_t n)
{
    struct moments m = moments_load(bytes);
    return bits_is_finite(m.mean) && bits_is_finite(m.m2) ? 0 : STATE_NONFINITE;
}

static uint64_t moments_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u64(bytes);
}

static const struct family_readout moments_readouts[] = {
    {STATISTIC_STDDEV, MERGED_EXACT},
    {STATISTIC_STDVAR, MERGED_EXACT},
};

const struct family_info moments_family = {
    .family = FAMILY_MOMENTS,
    .name = "moments",
    .merge = MERGE_DISJOINT,
    .fixed_size = MOMENTS_BYTES,
    .readouts = moments_readouts,
    .readouts_n = sizeof moments_readouts / sizeof *moments_readouts,
    .check_params = fixed_check_params,
    .size_bound = moments_size_bound,
    .scratch_bound = fixed_scratch_bound,
    .build = moments_build,
    .merge_k = moments_merge,
    .estimate = moments_estimate,
    .validate = moments_validate,
    .flags = moments_flags,
    .count = moments_count,
};
