/*
 * CountSketch: how heavy is an item, with weights of any sign (Charikar, Chen, Farach-Colton: Finding Frequent Items in
 * Data Streams, 2002): as Count-Min, but each row adds an item's weight with a sign that the item's hash chooses, and
 * the answer is the median over rows of the counter times that sign: right on average, its error a share of L2, not of
 * L1. The rows' sums of squares also give L2 itself. With a heap also the items with the greatest answers. Bytes:
 * kernels/frequency.h.
 *
 * Weights are any finite numbers. While all are whole, states add up bit for bit in any order.
 */
#include "kernels/families.h"
#include "kernels/frequency.h"

static int countsketch_check_params(const struct sketch_params *params, const char **reason)
{
    return frequency_check_params(params, false, reason);
}

static int countsketch_heap_check_params(const struct sketch_params *params, const char **reason)
{
    return frequency_check_params(params, true, reason);
}

static int countsketch_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                             int64_t end_ms, const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed,
                             void *scratch)
{
    return frequency_build(true, dst, cap, ret_size, params, values, NULL, n, seed, scratch);
}

static int countsketch_build_items(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                                   const struct sketch_items *items, uint64_t seed, void *scratch)
{
    return frequency_build(true, dst, cap, ret_size, params, NULL, items, items->n, seed, scratch);
}

static int countsketch_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                               int64_t end_ms, const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    return frequency_merge(true, dst, cap, ret_size, params, src, k, scratch);
}

static int countsketch_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                                enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    return frequency_estimate(true, src, k, params, statistic, args, scratch, ret);
}

static int countsketch_top(const struct state_ref *src, uint32_t k, const struct sketch_params *params, uint32_t most,
                           uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    return frequency_top(true, src, k, params, most, ret_items, ret_estimates, ret_n, scratch);
}

static int countsketch_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    return frequency_validate(true, bytes, n, params, reason);
}

static const struct family_readout readouts[] = {
    {STATISTIC_POINT_COUNT, MERGED_AS_UNION},
    {STATISTIC_L2, MERGED_AS_UNION},
    {STATISTIC_COUNT, MERGED_EXACT},
    {STATISTIC_TOPK, MERGED_APPROXIMATE}, /* the heap's alone; an item heavy over all may be heavy in no pane */
};

const struct family_info countsketch_family = {
    .family = FAMILY_COUNTSKETCH,
    .name = "countsketch",
    .merge = MERGE_DISJOINT,
    .subtracts = true,
    .readouts = readouts,
    .readouts_n = 3,
    .check_params = countsketch_check_params,
    .size_bound = frequency_size_bound,
    .scratch_bound = frequency_scratch_bound,
    .build = countsketch_build,
    .build_items = countsketch_build_items,
    .merge_k = countsketch_merge_k,
    .estimate = countsketch_estimate,
    .validate = countsketch_validate,
    .flags = frequency_flags,
    .count = frequency_count,
};

const struct family_info countsketch_heap_family = {
    .family = FAMILY_COUNTSKETCH_HEAP,
    .name = "countsketch_heap",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = 4,
    .check_params = countsketch_heap_check_params,
    .size_bound = frequency_size_bound,
    .scratch_bound = frequency_scratch_bound,
    .build = countsketch_build,
    .build_items = countsketch_build_items,
    .merge_k = countsketch_merge_k,
    .estimate = countsketch_estimate,
    .top = countsketch_top,
    .validate = countsketch_validate,
    .flags = frequency_flags,
    .count = frequency_count,
};
