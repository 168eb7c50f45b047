/*
 * Hydra's items in a grid of sketches, and states and items put together. Inside kernels/hydra*.c; what a state is says
 * kernels/hydra.c.
 */
#ifndef KERNELS_HYDRA_SUM_H
#define KERNELS_HYDRA_SUM_H

#include "kernels/counted.h"
#include "kernels/tally.h"

/* States and items put together in scratch. */
struct hydra_sum {
    const struct sketch_params *params;
    struct counted_shape shape;
    struct counted_total total;
    bool is_table;
    enum counter_form form;
    struct tally tally; /* by id */
    uint64_t *groups, *keys;
    void *cells;
    uint8_t *rest;
};

static inline size_t hydra_sketch_cells(const struct sketch_params *params)
{
    return (size_t)params->depth * params->width;
}

static inline size_t hydra_cells(const struct sketch_params *params)
{
    return hydra_sketch_cells(params) * params->rows * params->columns;
}

static inline uint32_t hydra_list_most(const struct sketch_params *params, uint64_t n)
{
    uint64_t most = hydra_cells(params) / 8;
    return (uint32_t)(n < most ? n : most);
}

static inline uint64_t hydra_id(uint64_t group_hash, uint64_t key)
{
    return counters_hash(key, group_hash);
}

/* First counter of the group's sketch in a row of the grid. */
static inline size_t hydra_sketch_at(const struct sketch_params *p, uint64_t group_hash, uint32_t row)
{
    uint32_t column = counters_index(counters_spread(group_hash, row), p->columns);
    return ((size_t)row * p->columns + column) * hydra_sketch_cells(p);
}

/* An item's hash in a row of the grid: items that collide in one row do not in another. */
static inline uint64_t hydra_hash_at(uint64_t id, uint32_t row)
{
    uint64_t spread = counters_spread(id, row);
    return spread << 32 | spread >> 32;
}

/* A list's groups (its items lie behind them); the (id, weight) list before them ends there. */
static inline const uint8_t *hydra_groups(const struct counted_view *v)
{
    return v->body + v->body_size - 16 * (size_t)bits_load_u32(v->body);
}

struct counted_shape hydra_shape(const struct sketch_params *params, bool is_signed);
struct hydra_sum hydra_sum_new(bool is_signed, const struct sketch_params *params, void *scratch);
/* Once the total is known. */
void hydra_sum_begin(struct hydra_sum *s);
/* Items, at most COUNTERS_BATCH: to the list while it may be one, else to the table. words NULL: a weight of 1 each. */
void hydra_sum_add(struct hydra_sum *s, const uint64_t *groups, const uint64_t *keys, const uint64_t *words,
                   uint32_t n);
/* k >= 1 states as one sum. */
int hydra_sum_states(struct hydra_sum *s, const struct state_ref *src, uint32_t k);
/* Takes room for so many counters, all 0. */
void hydra_table_begin(struct hydra_sum *s, size_t cells);
/* Items, at most COUNTERS_BATCH, by their ids, into sketches that begin at `sketches[i]` in a row of the grid. */
void hydra_row_add(const struct hydra_sum *s, uint32_t row, const uint32_t *sketches, const uint64_t *ids,
                   const uint64_t *words, uint32_t n);

/* A list's items, a batch at a time. */
struct hydra_list {
    struct tally_list list;
    const uint8_t *groups;
    uint64_t group[COUNTERS_BATCH], key[COUNTERS_BATCH], id[COUNTERS_BATCH], word[COUNTERS_BATCH];
};

struct hydra_list hydra_list_open(const struct counted_view *v, bool is_signed);
/* The next ones, COUNTERS_BATCH at most; their words as doubles' where as_real. Returns how many; 0 at the end. */
uint32_t hydra_list_next(struct hydra_list *r, bool as_real);

#endif
