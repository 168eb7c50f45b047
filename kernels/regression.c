/*
 * Least squares: the line through a window's samples, for deriv and predict_linear. A state keeps centred co-moments,
 * joined by the pairwise formulas of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for computing
 * sample variances", 1979; the same for products: Bennett, Grout, Pebay, Roe, Thompson: "Numerically stable,
 * single-pass, parallel statistics algorithms", 2009). Prometheus (promql/functions.go, linearRegression) subtracts
 * products of sums; centred, nothing cancels, and no time has to be chosen as zero.
 *
 *   off  type  field
 *     0  u64   n >= 1
 *     8  f64   mean time of the samples, ms from the window's end, -2^31..0
 *    16  f64   sum of squared distances from it, ms^2
 *    24  f64   mean value, 32 f64 its compensation
 *    40  f64   sum of the products of both distances, ms x value, 48 f64 its compensation
 *
 * Exact: n; a slope of +0 and that value at every time for samples that are all equal, however they were cut (-0 equals
 * +0). No result below two samples. Within rounding: everything else. A sample that is not finite makes every answer
 * NaN, and so does a mean value or a product out of the range of doubles; the mean value is then the one NaN of
 * kernels/bits.h and the three fields behind it are 0. Prometheus differs from that in one case: with an infinite
 * sample and an evaluation time inside the window (a negative offset, or @) its predict_linear may be infinite; `flags`
 * lets a reader see that such a sample may be there.
 *
 * Source of the semantics: an infinite constant has no line (NaN); predict_linear is the line's value so many seconds
 * after the evaluation time, whatever the window's offset.
 */
#include "kernels/families.h"
#include "kernels/fixed.h"

enum { REGRESSION_BYTES = 56 };
#define REACH_MS 0x1p31 /* a state's samples lie at most so far before its window's end */

struct regression {
    uint64_t n;
    double time, time_m2;
    double mean, mean_rest;
    double product, product_rest;
};

static bool is_defined(const struct regression *r)
{
    return bits_is_finite(r->mean) && bits_is_finite(r->mean_rest) && bits_is_finite(r->product) &&
           bits_is_finite(r->product_rest);
}

static struct regression regression_load(const uint8_t *bytes)
{
    return (struct regression){bits_load_u64(bytes),      bits_load_f64(bytes + 8),  bits_load_f64(bytes + 16),
                               bits_load_f64(bytes + 24), bits_load_f64(bytes + 32), bits_load_f64(bytes + 40),
                               bits_load_f64(bytes + 48)};
}

/* Why this is no state, or NULL. */
static const char *fault_of(const struct regression *r)
{
    if (r->n == 0 || r->n > FIXED_COUNT_MAX)
        return "a regression state's count is out of range";
    if (!(r->time >= -REACH_MS && r->time <= 0))
        return "a regression state's mean time is out of its window";
    if (!(r->time_m2 >= 0 && r->time_m2 <= (double)r->n * REACH_MS * REACH_MS))
        return "a regression state's spread of times is out of range";
    if (bits_of_f64(r->mean) == BITS_NAN) {
        if (bits_of_f64(r->mean_rest) || bits_of_f64(r->product) || bits_of_f64(r->product_rest))
            return "a regression state without a mean has other moments";
        return NULL;
    }
    if (!is_defined(r))
        return "a regression state's moments are not finite";
    if (r->n == 1 && (r->time_m2 != 0 || r->product != 0 || r->product_rest != 0))
        return "a regression state of one sample has a spread";
    return NULL;
}

/* SKETCH_BAD_DATA: times or counts that no state holds. */
static int regression_store(uint8_t *dst, size_t *ret_size, const struct regression *r)
{
    struct regression kept = *r;
    if (!is_defined(r)) {
        kept.mean = bits_to_f64(BITS_NAN);
        kept.mean_rest = kept.product = kept.product_rest = 0;
    }
    if (fault_of(&kept))
        return SKETCH_BAD_DATA;
    bits_store_u64(dst, kept.n);
    bits_store_f64(dst + 8, kept.time);
    bits_store_f64(dst + 16, kept.time_m2);
    bits_store_f64(dst + 24, kept.mean);
    bits_store_f64(dst + 32, kept.mean_rest);
    bits_store_f64(dst + 40, kept.product);
    bits_store_f64(dst + 48, kept.product_rest);
    *ret_size = REGRESSION_BYTES;
    return SKETCH_OK;
}

static size_t regression_size_bound(const struct sketch_params *params, uint64_t n)
{
    return REGRESSION_BYTES;
}

/*
 * Two passes, as all samples are there: means first, then distances from them. What the rounding of the mean value
 * left out is the mean distance; that of the mean time is far below a millisecond's rounding and changes nothing in
 * first order, as the other distances add up to nothing.
 */
static void regression_scan(struct regression *r, int64_t end_ms, const int64_t *times_ms, const double *values)
{
    const uint64_t n = r->n;
    int64_t times = 0;
    double sum = 0, sum_rest = 0;
    bool constant = true;
    for (uint64_t i = 0; i < n; i++) {
        times += times_ms[i] - end_ms;
        fixed_kahan_add(values[i], &sum, &sum_rest);
        constant &= values[i] == values[0];
    }
    r->time = (double)times / (double)n;
    r->mean = constant ? values[0] : (sum + sum_rest) / (double)n;
    double rest = 0, rest_rest = 0, m2_rest = 0;
    for (uint64_t i = 0; i < n; i++) {
        double time = (double)(times_ms[i] - end_ms) - r->time, value = values[i] - r->mean;
        fixed_kahan_add(time * time, &r->time_m2, &m2_rest);
        fixed_kahan_add(value, &rest, &rest_rest);
        fixed_kahan_add(time * value, &r->product, &r->product_rest);
    }
    r->time_m2 += m2_rest;
    r->mean_rest = (rest + rest_rest) / (double)n;
}

static int regression_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                            int64_t end_ms, const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed,
                            void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    if (cap < REGRESSION_BYTES)
        return SKETCH_NO_ROOM;
    if (!fixed_time_possible(end_ms) || !fixed_time_possible(times_ms[0]) || times_ms[n - 1] > end_ms ||
        end_ms - times_ms[0] > (int64_t)REACH_MS)
        return SKETCH_BAD_DATA;
    struct regression r = {.n = n};
    regression_scan(&r, end_ms, times_ms, values);
    return regression_store(dst, ret_size, &r);
}

/* Both with times from the same end. */
static void regression_join(struct regression *r, const struct regression *other)
{
    if (r->n == 0) {
        *r = *other;
        return;
    }
    const double share = (double)other->n / (double)(r->n + other->n), weight = (double)r->n * share;
    const double time = other->time - r->time;
    const double value = (other->mean - r->mean) + (other->mean_rest - r->mean_rest);
    r->time += time * share;
    r->time_m2 += other->time_m2 + time * time * weight;
    fixed_kahan_add(value * share, &r->mean, &r->mean_rest);
    fixed_kahan_add(other->product, &r->product, &r->product_rest);
    fixed_kahan_add(time * value * weight, &r->product, &r->product_rest);
    r->product_rest += other->product_rest;
    r->n += other->n;
}

static int regression_join_all(const struct state_ref *src, uint32_t k, int64_t end_ms, void *scratch,
                               struct regression *ret)
{
    const uint32_t *order;
    if (!fixed_time_possible(end_ms))
        return SKETCH_BAD_DATA;
    int rc = fixed_order(src, k, REGRESSION_BYTES, FIXED_BY_END, scratch, &order);
    if (rc != SKETCH_OK)
        return rc;
    *ret = (struct regression){.n = 0};
    for (uint32_t i = 0; i < k; i++) {
        const struct state_ref *s = fixed_at(src, order, i);
        struct regression other = regression_load(s->bytes);
        other.time += (double)(s->end_ms - end_ms);
        regression_join(ret, &other);
    }
    return ret->n == 0 ? SKETCH_CORRUPT : SKETCH_OK;
}

static int regression_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                            int64_t end_ms, const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    if (k == 0)
        return SKETCH_BAD_DATA;
    if (cap < REGRESSION_BYTES)
        return SKETCH_NO_ROOM;
    struct regression r;
    int rc = regression_join_all(src, k, end_ms, scratch, &r);
    return rc != SKETCH_OK ? rc : regression_store(dst, ret_size, &r);
}

static int regression_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                               enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_DERIV && statistic != STATISTIC_PREDICT_LINEAR)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    struct regression r;
    int64_t end_ms = src[0].end_ms; /* the newest one's: its distance to the samples is what rounds least */
    for (uint32_t i = 1; i < k; i++)
        end_ms = src[i].end_ms > end_ms ? src[i].end_ms : end_ms;
    int rc = regression_join_all(src, k, end_ms, scratch, &r);
    if (rc != SKETCH_OK)
        return rc;
    if (r.n < 2)
        return SKETCH_NONE;
    double slope = (r.product + r.product_rest) / r.time_m2 * 1e3, value = r.mean + r.mean_rest;
    if (!is_defined(&r)) {
        *ret = bits_to_f64(BITS_NAN);
    } else if (statistic == STATISTIC_DERIV) {
        *ret = bits_one_nan(slope);
    } else if (!fixed_time_possible(args->end_ms)) {
        return SKETCH_BAD_DATA;
    } else {
        double at_end = value + slope * (((double)(args->end_ms - end_ms) - r.time) / 1e3);
        *ret = bits_one_nan(slope * args->ahead_s + at_end);
    }
    return SKETCH_OK;
}

static int regression_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n != REGRESSION_BYTES)
        return fixed_corrupt(reason, "a regression state has 56 bytes");
    struct regression r = regression_load(bytes);
    const char *fault = fault_of(&r);
    return fault ? fixed_corrupt(reason, fault) : SKETCH_OK;
}

static uint32_t regression_flags(const uint8_t *bytes, size_t n)
{
    return bits_is_finite(bits_load_f64(bytes + 24)) ? 0 : STATE_NONFINITE;
}

static uint64_t regression_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u64(bytes);
}

static const struct family_readout regression_readouts[] = {
    {STATISTIC_DERIV, MERGED_EXACT},
    {STATISTIC_PREDICT_LINEAR, MERGED_EXACT},
};

const struct family_info regression_family = {
    .family = FAMILY_REGRESSION,
    .name = "regression",
    .merge = MERGE_DISJOINT,
    .fixed_size = REGRESSION_BYTES,
    .readouts = regression_readouts,
    .readouts_n = sizeof regression_readouts / sizeof *regression_readouts,
    .check_params = fixed_check_params,
    .size_bound = regression_size_bound,
    .scratch_bound = fixed_scratch_bound,
    .build = regression_build,
    .merge_k = regression_merge,
    .estimate = regression_estimate,
    .validate = regression_validate,
    .flags = regression_flags,
    .count = regression_count,
};
