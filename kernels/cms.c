/*
 * CMS: how heavy is an item, by Count-Min (Cormode, Muthukrishnan: An Improved Data Stream Summary: The Count-Min
 * Sketch, 2005): depth rows of width counters; an item's weight goes to one counter of each row, and the least of its
 * counters is the answer, never too small, too great by more than (e / width) L1 with probability at most e^-depth.
 * With a heap also the items with the greatest answers. Bytes: kernels/frequency.h.
 *
 * Weights are whole and not negative: an answer that is never too small needs that. Anything else is refused.
 */
#include "kernels/counted.h"
#include "kernels/families.h"
#include "kernels/frequency.h"

COUNTED_ENTRIES(cms, frequency, false)

static int cms_top(const struct state_ref *src, uint32_t k, const struct sketch_params *params, uint32_t most,
                   uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    return frequency_top(false, src, k, params, most, ret_items, ret_estimates, ret_n, scratch);
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
    .check_params = frequency_check_plain,
    COUNTED_ROW(cms, frequency),
};

const struct family_info cms_heap_family = {
    .family = FAMILY_CMS_HEAP,
    .name = "cms_heap",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = 4,
    .check_params = frequency_check_heap,
    .top = cms_top,
    COUNTED_ROW(cms, frequency),
};
