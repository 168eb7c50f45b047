/*
 * VALUES: every sample of the window, for quantiles without error. A state is a quantile pane of form 0, 1, 2 or 4
 * (kernels/qpane.h), of 1 to UINT32_MAX samples, largest first, NaN last:
 *
 *   form 0  0x00, f64 sample[n]
 *   form 1  0x01, varint n, frames of 512 samples
 *   form 2  0x02 + 16 e + sign, varint |y0|, varint steps downward                        n <= 24
 *   form 4  0x04 + 16 e + sign, varint n, varint |y0|, width codes, bit-packed steps      n <= 1024
 *
 * (bit 3 of the first byte: a sample is NaN or infinite). Never above 1 + 8n bytes. The state of a union is the sorted
 * concatenation, so any merge order and any split give the bytes of the single build. NaN and infinite samples are
 * answered as Prometheus answers them, so `flags` reports nothing: bit 3 is for KLL, which shares these bytes.
 */
#include "kernels/families.h"
#include "kernels/fixed.h"
#include "kernels/qpane.h"

static size_t values_size_bound(const struct sketch_params *params, uint64_t n)
{
    return 1 + (size_t)(n < UINT32_MAX ? n : UINT32_MAX) * 8;
}

static size_t values_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    return qpane_keys_scratch(n, k) + qpane_estimate_scratch(n, k) + qpane_write_scratch(n);
}

static int values_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                        const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    uint8_t *rest = scratch;
    uint64_t *keys = qpane_sort(values, n, &rest);
    return qpane_write(dst, cap, ret_size, keys, n, rest);
}

static int values_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                          int64_t end_ms, const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    uint8_t *rest = scratch;
    uint64_t *keys, n;
    int rc = qpane_unite(src, k, &rest, &keys, &n);
    return rc != SKETCH_OK ? rc : qpane_write(dst, cap, ret_size, keys, n, rest);
}

static int values_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                           enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_MIN && statistic != STATISTIC_MAX)
        return qpane_estimate(src, k, statistic, args ? args->q : 0, scratch, ret);
    double *samples = scratch, min = bits_to_f64(BITS_NAN), max = min;
    struct select_run run;
    for (uint32_t i = 0; i < k; i++) {
        if (qpane_open(src[i].bytes, src[i].size, samples, &run) == 0)
            return SKETCH_CORRUPT;
        qpane_extremes(&run, &min, &max);
    }
    *ret = statistic == STATISTIC_MIN ? min : max;
    return k == 0 ? SKETCH_NONE : SKETCH_OK;
}

static int values_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    return qpane_validate(bytes, n, UINT32_MAX, reason);
}

static uint32_t values_flags(const uint8_t *bytes, size_t n)
{
    return 0;
}

static const struct family_readout readouts[] = {
    {STATISTIC_QUANTILE, MERGED_EXACT}, {STATISTIC_QUANTILE_RANK, MERGED_EXACT}, {STATISTIC_COUNT, MERGED_EXACT},
    {STATISTIC_MIN, MERGED_EXACT},      {STATISTIC_MAX, MERGED_EXACT},
};

const struct family_info values_family = {
    .family = FAMILY_VALUES,
    .name = "values",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = sizeof readouts / sizeof readouts[0],
    .check_params = fixed_check_params,
    .size_bound = values_size_bound,
    .scratch_bound = values_scratch_bound,
    .build = values_build,
    .merge_k = values_merge_k,
    .estimate = values_estimate,
    .validate = values_validate,
    .flags = values_flags,
    .count = qpane_count,
};
