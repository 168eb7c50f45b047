/*
 * CountSketch: how heavy is an item, with weights of any sign (Charikar, Chen, Farach-Colton: Finding Frequent Items in
 * Data Streams, 2002): as Count-Min, but each row adds an item's weight with a sign that the item's hash chooses, and
 * the answer is the median over rows of the counter times that sign: right on average, its error a share of L2, not of
 * L1. The rows' sums of squares also give L2 itself. With a heap also the items with the greatest answers. Bytes:
 * kernels/frequency.h.
 *
 * Weights are any finite numbers. While all are whole, states add up bit for bit in any order.
 */
#include "kernels/counted.h"
#include "kernels/families.h"
#include "kernels/frequency.h"

COUNTED_ENTRIES(countsketch, frequency, true)

static int countsketch_top(const struct state_ref *src, uint32_t k, const struct sketch_params *params, uint32_t most,
                           uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    return frequency_top(true, src, k, params, most, ret_items, ret_estimates, ret_n, scratch);
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
    .check_params = frequency_check_plain,
    COUNTED_ROW(countsketch, frequency),
};

const struct family_info countsketch_heap_family = {
    .family = FAMILY_COUNTSKETCH_HEAP,
    .name = "countsketch_heap",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = 4,
    .check_params = frequency_check_heap,
    .top = countsketch_top,
    COUNTED_ROW(countsketch, frequency),
};
