/*
 * UnivMon: L1, L2, distinct items, entropy and the heaviest items from one state (Liu, Manousis, Vorsanger, Sekar,
 * Braverman: One Sketch to Rule Them All, 2016). Level l sees the items whose hash draws at least l of a geometric law,
 * half of those of level l - 1. A level of many items is a CountSketch and its heaviest items; the first level of few,
 * at most depth * width / 4, lists them exactly, and deeper ones need nothing, being part of it.
 *
 *     level 0   | all items       | counters, heap |
 *     level 1   | 1/2 of them     | counters, heap |
 *     level 2=t | 1/4: few enough | exact list     |
 *
 *   | off | type | field                                                                       |
 *   |-----|------|-----------------------------------------------------------------------------|
 *   | 0   | u8   | form of the counters: 1 i32 (mass < 2^31), 2 i64 (mass < 2^62)              |
 *   | 1   | u8   | depth                                                                       |
 *   | 2   | u16  | heap                                                                        |
 *   | 4   | u32  | width                                                                       |
 *   | 8   | u64  | sketch seed                                                                 |
 *   | 16  | u64  | samples behind it, n                                                        |
 *   | 24  | u64  | mass: sum of the weights (L1)                                               |
 *   | 32  | u8   | levels of counters t; 0 = all items are listed                              |
 *   | 33  |      | t times: depth x width counters, then u64[heap] the heaviest items, rising  |
 *   |     |      | the list of level t (kernels/tally.h)                                       |
 *
 * So there are as many levels as the items need (log2 of distinct over listed, about), none of a fixed number that
 * could saturate. t depends on the set of items alone; counters and list are the same for any order or cut of the
 * samples. Heaps of a merge come from its inputs' heaps and lists. Weights are whole and not negative.
 *
 * Readouts. L1 is the mass. L2 comes from level 0's counters, never through heaps: merging adds counters, so its error
 * is that of one state. Distinct: 2^t times the items listed (adaptive sampling; Flajolet: On Adaptive Sampling, 1990:
 * relative standard error about 1.2 / sqrt(listed at most)). A sum of g(weight) over items, for the entropy: Y_t from
 * the list, then Y_l = 2 Y_(l+1) + the sum over level l's heap of (1 - 2 [item is in level l + 1]) g(estimate).
 *
 * A level count far beyond what n items draw (one in 2^SPARE of builds; or chosen by somebody who knows the seed) is
 * refused with SKETCH_BAD_DATA.
 */
#ifndef KERNELS_UNIVMON_H
#define KERNELS_UNIVMON_H

#include "kernels/counted.h"
#include "kernels/tally.h"
#include "kernels/top.h"

enum { UNIVMON_HEAD_SIZE = 33, UNIVMON_BATCH = 512 /* items that are added or offered together */ };

/* One state. */
struct univmon_view {
    enum counter_form form;
    uint64_t seed, n, mass;
    uint32_t levels;
    const uint8_t *tables, *list;
    size_t list_size;
};

/* States and items put together in scratch. */
struct univmon_sum {
    const struct sketch_params *params;
    struct counted_shape shape;
    struct counted_total total;
    enum counter_form form;
    uint32_t kept;   /* levels below it keep counters: a readout of less than everything asks for fewer */
    bool needs_list; /* though there are levels of counters */
    uint32_t levels, levels_most;
    struct tally tally; /* of the items of level `levels` and deeper */
    uint8_t *tables;    /* levels_most of table_size each */
    size_t table_size;
    struct top *heaps; /* one a level of counters */
    uint8_t *rest;
};

static inline size_t univmon_cells(const struct sketch_params *params)
{
    return (size_t)params->depth * params->width;
}
/* Most items that are listed, of n. */
static inline uint32_t univmon_list_most(const struct sketch_params *params, uint64_t n)
{
    uint64_t most = univmon_cells(params) / 4;
    return (uint32_t)(n < most ? n : most);
}
/* Most levels of counters that n items may take. */
uint32_t univmon_levels_most(const struct sketch_params *params, uint64_t n);
/* The deepest level of the item with this hash. */
static inline uint32_t univmon_level(uint64_t hash)
{
    uint64_t drawn = (hash ^ hash >> 29) * UINT64_C(0x9fb21c651e98df25); /* apart from what rows use */
    return drawn ? (uint32_t)__builtin_clzll(drawn) : 64;
}

struct univmon_view univmon_view(const struct state_ref *s, const struct sketch_params *params);
/* Level l's counters; its heap lies behind them. */
const uint8_t *univmon_table(const struct univmon_view *v, const struct sketch_params *params, uint32_t l);

/* A sum's level l, which is below `kept`. */
static inline uint8_t *univmon_counters(const struct univmon_sum *s, uint32_t l)
{
    return s->tables + l * s->table_size;
}
/* Scratch of a sum of n samples over k states. */
size_t univmon_sum_room(const struct sketch_params *params, uint64_t n, uint32_t k);
struct univmon_sum univmon_sum_new(const struct sketch_params *params, uint32_t kept, bool needs_list, void *scratch);
/* Once the total is known. */
void univmon_sum_begin(struct univmon_sum *s);
/* Items, at most UNIVMON_BATCH, that levels below `from` have already. SKETCH_BAD_DATA when no level is left. */
int univmon_sum_add(struct univmon_sum *s, const uint64_t *items, const uint64_t *words, uint32_t n, uint32_t from);
/* k >= 1 states as one sum: counters of the deepest state's levels, then what the lists know of them and of deeper. */
int univmon_sum_states(struct univmon_sum *s, const struct state_ref *src, uint32_t k);

/* The heaviest: heaps of the levels that are kept; then items, at most UNIVMON_BATCH, for the levels from..to that
 * they reach; or what the states know by name. */
void univmon_heaps_begin(struct univmon_sum *s);
void univmon_offer(struct univmon_sum *s, const uint64_t *items, uint32_t n, uint32_t from, uint32_t to);
void univmon_offer_states(struct univmon_sum *s, const struct state_ref *src, uint32_t k);

#endif
