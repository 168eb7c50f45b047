/*
 * Sum and average, compensated as Prometheus' are (promql/functions.go, sum_over_time and avg_over_time).
 *
 *   off  type  field
 *     0  f64   total   running sum
 *     8  f64   rest    its compensation: the sum is total + rest
 *    16  u64   bits 0-62 n >= 1; bit 63 scaled
 *
 * When finite samples drive the running sum out of the range of doubles, total and rest go on as 2^-64 times their
 * value and `scaled` is set: the sum is then infinite, as in Prometheus, and the average still right (that of 1e308
 * and 1e308 is 1e308). A total that is not finite has rest 0 and is not scaled; NaN is the one NaN of kernels/bits.h.
 * |rest| is at most fixed_rest_most.
 */
#include "kernels/families.h"
#include "kernels/fixed.h"

enum { SUM_BYTES = 24 };

#define SUM_SCALED (UINT64_C(1) << 63)
#define SUM_DOWN 0x1p-64
#define SUM_UP 0x1p64

struct sum {
    double total, rest;
    uint64_t n;
    bool scaled;
};

static void sum_scale_down(struct sum *s)
{
    s->total *= SUM_DOWN;
    s->rest *= SUM_DOWN;
    s->scaled = true;
}

/* v in the scale of s. */
static inline void sum_add(struct sum *s, double v)
{
    if (__builtin_expect(bits_is_inf(s->total + v), 0) && bits_is_finite(s->total) && bits_is_finite(v)) {
        sum_scale_down(s);
        v *= SUM_DOWN;
    }
    fixed_kahan_add(v, &s->total, &s->rest);
}

static void sum_join(struct sum *s, struct sum other)
{
    if (other.scaled && !s->scaled)
        sum_scale_down(s);
    else if (s->scaled && !other.scaled)
        sum_scale_down(&other);
    bool scaled = s->scaled;
    sum_add(s, other.total);
    s->rest += s->scaled == scaled ? other.rest : other.rest * SUM_DOWN;
    s->n += other.n;
}

static struct sum sum_load(const uint8_t *bytes)
{
    uint64_t n = bits_load_u64(bytes + 16);
    return (struct sum){bits_load_f64(bytes), bits_load_f64(bytes + 8), n & ~SUM_SCALED, n >> 63};
}

static void sum_store(uint8_t *dst, const struct sum *s)
{
    bool finite = bits_is_finite(s->total);
    bits_store_f64(dst, bits_one_nan(s->total));
    bits_store_f64(dst + 8, finite ? s->rest : 0);
    bits_store_u64(dst + 16, s->n | (finite && s->scaled ? SUM_SCALED : 0));
}

static size_t sum_size_bound(const struct sketch_params *params, uint64_t n)
{
    return SUM_BYTES;
}

static int sum_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    if (cap < SUM_BYTES)
        return SKETCH_NO_ROOM;
    struct sum s = {.n = n};
    for (uint32_t i = 0; i < n; i++)
        sum_add(&s, s.scaled ? values[i] * SUM_DOWN : values[i]);
    sum_store(dst, &s);
    *ret_size = SUM_BYTES;
    return SKETCH_OK;
}

static int sum_join_all(const struct state_ref *src, uint32_t k, void *scratch, struct sum *ret)
{
    const uint32_t *order;
    int rc = fixed_order(src, k, SUM_BYTES, FIXED_BY_END, scratch, &order);
    if (rc != SKETCH_OK)
        return rc;
    *ret = (struct sum){.n = 0};
    for (uint32_t i = 0; i < k; i++)
        sum_join(ret, sum_load(fixed_at(src, order, i)->bytes));
    return SKETCH_OK;
}

static int sum_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    if (k == 0)
        return SKETCH_BAD_DATA;
    if (cap < SUM_BYTES)
        return SKETCH_NO_ROOM;
    struct sum s;
    int rc = sum_join_all(src, k, scratch, &s);
    if (rc != SKETCH_OK)
        return rc;
    if (s.n > FIXED_COUNT_MAX)
        return SKETCH_BAD_DATA;
    sum_store(dst, &s);
    *ret_size = SUM_BYTES;
    return SKETCH_OK;
}

static double sum_total(const struct sum *s)
{
    if (!bits_is_finite(s->total))
        return bits_one_nan(s->total);
    return s->scaled ? copysign(INFINITY, s->total) : s->total + s->rest;
}

static double sum_average(const struct sum *s)
{
    double n = (double)s->n;
    if (!bits_is_finite(s->total))
        return bits_one_nan(s->total);
    double average = s->total / n + s->rest / n;
    return s->scaled ? average * SUM_UP : average;
}

static int sum_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (k == 0)
        return SKETCH_NONE;
    struct sum s;
    int rc = sum_join_all(src, k, scratch, &s);
    if (rc != SKETCH_OK)
        return rc;
    switch (statistic) {
    case STATISTIC_SUM:
        *ret = sum_total(&s);
        return SKETCH_OK;
    case STATISTIC_AVG:
        *ret = sum_average(&s);
        return SKETCH_OK;
    case STATISTIC_COUNT:
        *ret = (double)s.n;
        return SKETCH_OK;
    case STATISTIC_PRESENT:
        *ret = 1;
        return SKETCH_OK;
    default:
        return SKETCH_BAD_DATA;
    }
}

static int sum_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n != SUM_BYTES)
        return fixed_corrupt(reason, "a sum state has 24 bytes");
    struct sum s = sum_load(bytes);
    if (s.n == 0 || s.n > FIXED_COUNT_MAX)
        return fixed_corrupt(reason, "a sum state's count is out of range");
    if (bits_is_finite(s.total))
        return fabs(s.rest) <= fixed_rest_most(s.n)
                   ? SKETCH_OK
                   : fixed_corrupt(reason, "a finite sum's compensation is out of range");
    if (s.scaled || bits_load_u64(bytes + 8) != 0)
        return fixed_corrupt(reason, "a sum that is not finite has a compensation or is scaled");
    if (s.total != s.total && bits_load_u64(bytes) != BITS_NAN)
        return fixed_corrupt(reason, "a sum state's NaN is not the one NaN");
    return SKETCH_OK;
}

static uint32_t sum_flags(const uint8_t *bytes, size_t n)
{
    struct sum s = sum_load(bytes);
    return s.scaled || !bits_is_finite(s.total) ? STATE_NONFINITE : 0;
}

static uint64_t sum_count(const uint8_t *bytes, size_t n)
{
    return sum_load(bytes).n;
}

static const struct family_readout sum_readouts[] = {
    {STATISTIC_SUM, MERGED_EXACT},
    {STATISTIC_COUNT, MERGED_EXACT},
    {STATISTIC_AVG, MERGED_EXACT},
    {STATISTIC_PRESENT, MERGED_EXACT},
};

const struct family_info sum_family = {
    .family = FAMILY_SUM,
    .name = "sum",
    .merge = MERGE_DISJOINT,
    .fixed_size = SUM_BYTES,
    .readouts = sum_readouts,
    .readouts_n = sizeof sum_readouts / sizeof *sum_readouts,
    .check_params = fixed_check_params,
    .size_bound = sum_size_bound,
    .scratch_bound = fixed_scratch_bound,
    .build = sum_build,
    .merge_k = sum_merge,
    .estimate = sum_estimate,
    .validate = sum_validate,
    .flags = sum_flags,
    .count = sum_count,
};
