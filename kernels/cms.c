/*
 * CMS: how heavy is an item, by Count-Min (Cormode, Muthukrishnan: An Improved Data Stream Summary: The Count-Min
 * Sketch, 2005): depth rows of width counters; an item's weight goes to one counter of each row, and the least of its
 * counters is the answer, never too small, too great by more than (e / width) L1 with probability at most e^-depth.
 * With a heap also the items with the greatest answers. Bytes: kernels/frequency.h.
 *
 * Weights are whole and not negative: an answer that is never too small needs that. Anything else is refused.
 */
#include "kernels/families.h"
#include "kernels/frequency.h"

static int cms_check_params(const struct sketch_params *params, const char **reason)
{
    return frequency_check_params(params, false, reason);
}

static int cms_heap_check_params(const struct sketch_params *params, const char **reason)
{
    return frequency_check_params(params, true, reason);
}

static int cms_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    return frequency_build(false, dst, cap, ret_size, params, values, NULL, n, seed, scratch);
}

static int cms_build_items(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                           const struct sketch_items *items, uint64_t seed, void *scratch)
{
    return frequency_build(false, dst, cap, ret_size, params, NULL, items, items->n, seed, scratch);
}

static int cms_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    return frequency_merge(false, dst, cap, ret_size, params, src, k, scratch);
}

static int cms_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    return frequency_estimate(false, src, k, params, statistic, args, scratch, ret);
}

static int cms_top(const struct state_ref *src, uint32_t k, const struct sketch_params *params, uint32_t most,
                   uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    return frequency_top(false, src, k, params, most, ret_items, ret_estimates, ret_n, scratch);
}

static int cms_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    return frequency_validate(false, bytes, n, params, reason);
}

static const struct family_readout readouts[] = {
    {STATISTIC_POINT_COUNT, MERGED_AS_UNION},
    {STATISTIC_L1, MERGED_EXACT},
    {STATISTIC_COUNT, MERGED_EXACT},
    {STATISTIC_TOPK, MERGED_APPROXIMATE}, /* the heap's alone; an item heavy over all may be heavy in no pane */
};

const struct family_info cms_family = {
    .family = FAMILY_CMS,
    .name = "cms",
    .merge = MERGE_DISJOINT,
    .subtracts = true,
    .readouts = readouts,
    .readouts_n = 3,
    .check_params = cms_check_params,
    .size_bound = frequency_size_bound,
    .scratch_bound = frequency_scratch_bound,
    .build = cms_build,
    .build_items = cms_build_items,
    .merge_k = cms_merge_k,
    .estimate = cms_estimate,
    .validate = cms_validate,
    .flags = frequency_flags,
    .count = frequency_count,
};

const struct family_info cms_heap_family = {
    .family = FAMILY_CMS_HEAP,
    .name = "cms_heap",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = 4,
    .check_params = cms_heap_check_params,
    .size_bound = frequency_size_bound,
    .scratch_bound = frequency_scratch_bound,
    .build = cms_build,
    .build_items = cms_build_items,
    .merge_k = cms_merge_k,
    .estimate = cms_estimate,
    .top = cms_top,
    .validate = cms_validate,
    .flags = frequency_flags,
    .count = frequency_count,
};
