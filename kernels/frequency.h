/*
 * What the Count-Min and CountSketch families share: one state layout, one build, one merge. The families differ in
 * whether counters have signs, and with it in how a row set is read: the least (never too small) or the median.
 *
 *   | off | type | field                                                                       |
 *   |-----|------|-----------------------------------------------------------------------------|
 *   | 0   | u8   | form: 1 list, 2 real list, 3 narrow table, 4 wide table, 5 real table       |
 *   | 1   | u8   | depth                                                                       |
 *   | 2   | u16  | heap, 0 = none                                                              |
 *   | 4   | u32  | width                                                                       |
 *   | 8   | u64  | sketch seed                                                                 |
 *   | 16  | u64  | samples behind it, n                                                        |
 *   | 24  | u64  | mass: sum of the weights' absolute values; an f64 in the real forms         |
 *   | 32  |      | list: (item, weight) of every item (kernels/tally.h)                        |
 *   | 32  |      | table: depth x width counters, row by row: u32 or i32 / u64 or i64 / f64    |
 *   |     |      | (kernels/counters.h); then u64[heap] the heaviest items, rising             |
 *
 * At most depth * width / 4 distinct items are listed, exactly; one more and the state is a table. That rule, like the
 * counters' form, depends on the set of items and their mass only, both of which grow under merges, so the state of the
 * whole is the merge of any cut, bit for bit, where weights are whole. The heap of a build is the heaviest items,
 * chosen by the finished counters and then counted exactly; that of a merge comes from its inputs' heaps and lists
 * only.
 */
#ifndef KERNELS_FREQUENCY_H
#define KERNELS_FREQUENCY_H

#include "kernels/counters.h"
#include "kernels/sketch.h"

enum { FREQUENCY_HEAP_MAX = 4096 };

/* depth 1..16, width 8..2^22, depth * width <= 2^22; heap 0, or 1..min(4096, depth * width / 4). */
int frequency_check_plain(const struct sketch_params *params, const char **reason); /* without a heap */
int frequency_check_heap(const struct sketch_params *params, const char **reason);
size_t frequency_size_bound(const struct sketch_params *params, uint64_t n);
size_t frequency_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k);
/* One of `values` (n of them, weight 1 each) and `items` is NULL. */
int frequency_build(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                    const double *values, const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch);
int frequency_merge(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                    const struct state_ref *src, uint32_t k, void *scratch);
/* COUNT, POINT_COUNT; L1 without signs, L2 with them. */
int frequency_estimate(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                       enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret);
int frequency_top(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                  uint32_t most, uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch);
int frequency_validate(bool is_signed, const uint8_t *bytes, size_t n, const struct sketch_params *params,
                       const char **reason);
uint32_t frequency_flags(const uint8_t *bytes, size_t n);
uint64_t frequency_count(const uint8_t *bytes, size_t n);

/* The item at i of a batch given either way. */
static inline uint64_t frequency_item(const double *values, const struct sketch_items *items, uint32_t i)
{
    return items ? items->keys[i] : bits_item(values[i]);
}

#endif
