/*
 * Minimum, maximum and count.
 *
 *   min, max   f64 the value           count   u64 n >= 1
 *
 * Minimum and maximum are Prometheus' (promql/functions.go, min_over_time): a NaN gives way to any value after it, so
 * only all NaN is NaN (the one NaN of kernels/bits.h); of -0 and +0 the earlier one stays. States are visited by window
 * end, so the same holds over panes.
 */
#include "kernels/families.h"
#include "kernels/fixed.h"

enum { EXTREME_BYTES = 8, COUNT_BYTES = 8 };

static size_t eight_size_bound(const struct sketch_params *params, uint64_t n)
{
    return EXTREME_BYTES;
}

static inline double extreme_of_two(double best, double v, bool greatest)
{
    bool better = greatest ? v > best : v < best;
    return better ? v : best;
}

static inline double extreme_of(const double *values, uint32_t n, bool greatest)
{
    uint32_t i = 0;
    while (i + 1 < n && values[i] != values[i])
        i++;
    double best = values[i];
    for (i++; i < n; i++)
        best = extreme_of_two(best, values[i], greatest); /* a later NaN is never better */
    return bits_one_nan(best);
}

static int extreme_over(const struct state_ref *src, uint32_t k, bool greatest, void *scratch, double *ret)
{
    const uint32_t *order;
    int rc = fixed_order(src, k, EXTREME_BYTES, FIXED_BY_END, scratch, &order);
    if (rc != SKETCH_OK)
        return rc;
    double best = bits_to_f64(BITS_NAN);
    for (uint32_t i = 0; i < k; i++) {
        double v = bits_load_f64(fixed_at(src, order, i)->bytes);
        best = best != best ? v : extreme_of_two(best, v, greatest);
    }
    *ret = best;
    return SKETCH_OK;
}

static int min_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    if (cap < EXTREME_BYTES)
        return SKETCH_NO_ROOM;
    bits_store_f64(dst, extreme_of(values, n, false));
    *ret_size = EXTREME_BYTES;
    return SKETCH_OK;
}

static int max_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    if (cap < EXTREME_BYTES)
        return SKETCH_NO_ROOM;
    bits_store_f64(dst, extreme_of(values, n, true));
    *ret_size = EXTREME_BYTES;
    return SKETCH_OK;
}

static int extreme_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct state_ref *src, uint32_t k,
                         bool greatest, void *scratch)
{
    if (k == 0)
        return SKETCH_BAD_DATA;
    if (cap < EXTREME_BYTES)
        return SKETCH_NO_ROOM;
    double best;
    int rc = extreme_over(src, k, greatest, scratch, &best);
    if (rc != SKETCH_OK)
        return rc;
    bits_store_f64(dst, best);
    *ret_size = EXTREME_BYTES;
    return SKETCH_OK;
}

static int min_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    return extreme_merge(dst, cap, ret_size, src, k, false, scratch);
}

static int max_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    return extreme_merge(dst, cap, ret_size, src, k, true, scratch);
}

static int min_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_MIN)
        return SKETCH_BAD_DATA;
    return k == 0 ? SKETCH_NONE : extreme_over(src, k, false, scratch, ret);
}

static int max_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_MAX)
        return SKETCH_BAD_DATA;
    return k == 0 ? SKETCH_NONE : extreme_over(src, k, true, scratch, ret);
}

static int extreme_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n != EXTREME_BYTES)
        return fixed_corrupt(reason, "a min or max state has 8 bytes");
    double v = bits_load_f64(bytes);
    if (v != v && bits_load_u64(bytes) != BITS_NAN)
        return fixed_corrupt(reason, "a min or max state's NaN is not the one NaN");
    return SKETCH_OK;
}

static uint32_t extreme_flags(const uint8_t *bytes, size_t n)
{
    return bits_is_finite(bits_load_f64(bytes)) ? 0 : STATE_NONFINITE;
}

static uint64_t extreme_count(const uint8_t *bytes, size_t n)
{
    return 0; /* not kept */
}

static int count_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    if (cap < COUNT_BYTES)
        return SKETCH_NO_ROOM;
    bits_store_u64(dst, n);
    *ret_size = COUNT_BYTES;
    return SKETCH_OK;
}

static int count_over(const struct state_ref *src, uint32_t k, uint64_t *ret)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < k; i++) {
        if (src[i].size != COUNT_BYTES)
            return SKETCH_CORRUPT;
        n += bits_load_u64(src[i].bytes);
    }
    *ret = n;
    return SKETCH_OK;
}

static int count_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    if (k == 0)
        return SKETCH_BAD_DATA;
    if (cap < COUNT_BYTES)
        return SKETCH_NO_ROOM;
    uint64_t n;
    int rc = count_over(src, k, &n);
    if (rc != SKETCH_OK)
        return rc;
    if (n > FIXED_COUNT_MAX)
        return SKETCH_BAD_DATA;
    bits_store_u64(dst, n);
    *ret_size = COUNT_BYTES;
    return SKETCH_OK;
}

static int count_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                          enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_COUNT && statistic != STATISTIC_PRESENT)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    uint64_t n;
    int rc = count_over(src, k, &n);
    if (rc == SKETCH_OK)
        *ret = statistic == STATISTIC_COUNT ? (double)n : 1;
    return rc;
}

static int count_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n != COUNT_BYTES)
        return fixed_corrupt(reason, "a count state has 8 bytes");
    uint64_t count = bits_load_u64(bytes);
    if (count == 0 || count > FIXED_COUNT_MAX)
        return fixed_corrupt(reason, "a count state's count is out of range");
    return SKETCH_OK;
}

static uint32_t count_flags(const uint8_t *bytes, size_t n)
{
    return 0;
}

static uint64_t count_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u64(bytes);
}

static const struct family_readout min_readouts[] = {{STATISTIC_MIN, MERGED_EXACT}};
static const struct family_readout max_readouts[] = {{STATISTIC_MAX, MERGED_EXACT}};
static const struct family_readout count_readouts[] = {
    {STATISTIC_COUNT, MERGED_EXACT},
    {STATISTIC_PRESENT, MERGED_EXACT},
};

const struct family_info min_family = {
    .family = FAMILY_MIN,
    .name = "min",
    .merge = MERGE_MAY_OVERLAP,
    .fixed_size = EXTREME_BYTES,
    .readouts = min_readouts,
    .readouts_n = sizeof min_readouts / sizeof *min_readouts,
    .check_params = fixed_check_params,
    .size_bound = eight_size_bound,
    .scratch_bound = fixed_scratch_bound,
    .build = min_build,
    .merge_k = min_merge,
    .estimate = min_estimate,
    .validate = extreme_validate,
    .flags = extreme_flags,
    .count = extreme_count,
};

const struct family_info max_family = {
    .family = FAMILY_MAX,
    .name = "max",
    .merge = MERGE_MAY_OVERLAP,
    .fixed_size = EXTREME_BYTES,
    .readouts = max_readouts,
    .readouts_n = sizeof max_readouts / sizeof *max_readouts,
    .check_params = fixed_check_params,
    .size_bound = eight_size_bound,
    .scratch_bound = fixed_scratch_bound,
    .build = max_build,
    .merge_k = max_merge,
    .estimate = max_estimate,
    .validate = extreme_validate,
    .flags = extreme_flags,
    .count = extreme_count,
};

const struct family_info count_family = {
    .family = FAMILY_COUNT,
    .name = "count",
    .merge = MERGE_DISJOINT,
    .subtracts = true,
    .fixed_size = COUNT_BYTES,
    .readouts = count_readouts,
    .readouts_n = sizeof count_readouts / sizeof *count_readouts,
    .check_params = fixed_check_params,
    .size_bound = eight_size_bound,
    .scratch_bound = fixed_scratch_bound,
    .build = count_build,
    .merge_k = count_merge,
    .estimate = count_estimate,
    .validate = count_validate,
    .flags = count_flags,
    .count = count_count,
};
