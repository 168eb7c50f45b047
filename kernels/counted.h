/*
 * States of counters: what CMS, CountSketch, UnivMon and Hydra say of themselves in the same bytes, and what is done to
 * k states of one of these families before its own part begins.
 *
 *   | off      | type | field                                                              |
 *   |----------|------|--------------------------------------------------------------------|
 *   | 0        | u8   | form                                                               |
 *   | 1        |      | the shape (depth, width, ...), up to `tail`                        |
 *   | tail     | u64  | sketch seed                                                        |
 *   | tail + 8 | u64  | samples behind it, n                                               |
 *   | tail +16 | u64  | mass: sum of the weights' absolute values; an f64 in the real forms |
 *
 * CMS, CountSketch and Hydra have the forms below: all items exactly in a list while they are few, or a table of
 * counters.
 */
#ifndef KERNELS_COUNTED_H
#define KERNELS_COUNTED_H

#include "kernels/counters.h"

enum counted_form { COUNTED_LIST = 1, COUNTED_REAL_LIST, COUNTED_NARROW, COUNTED_WIDE, COUNTED_REAL };
enum { COUNTED_TAIL_MAX = 16, COUNTED_TAIL_SIZE = 24 };

/* What bytes 1..tail of every state of these parameters are. */
struct counted_shape {
    uint8_t bytes[COUNTED_TAIL_MAX];
    uint32_t tail;
    bool is_signed; /* real forms exist */
};
/* That of depth, heap, width: CMS, CountSketch, UnivMon. */
struct counted_shape counted_shape(const struct sketch_params *params, bool is_signed);

/* Of one state, or of all of a merge. */
struct counted_total {
    uint64_t seed, n;
    struct mass mass;
};

/* A state that is a list or a table. */
struct counted_view {
    bool is_table, is_real;
    enum counter_form form; /* of a table's counters */
    struct counted_total total;
    const uint8_t *body; /* behind the mass */
    size_t body_size;
};
struct counted_view counted_view(const struct state_ref *s, const struct counted_shape *shape);

/* The k >= 1 states' n and mass together. SKETCH_MISMATCH when shapes or seeds differ, SKETCH_BAD_DATA when a sum
 * passes what states may hold. */
int counted_heads(struct counted_total *ret, const struct state_ref *src, uint32_t k,
                  const struct counted_shape *shape);
/* The order to visit them in (kernels/fixed.h), where one is due: sums of doubles depend on it, that of their masses
 * included. `index` has room for k. */
int counted_order(struct counted_total *total, const struct state_ref *src, uint32_t k,
                  const struct counted_shape *shape, uint32_t *index, const uint32_t **ret_order);
/* The tables among them; ret has room for k. */
uint32_t counted_tables(struct counters_table *ret, const struct state_ref *src, const uint32_t *order, uint32_t k,
                        const struct counted_shape *shape);
/* A counter in every table. */
struct counted_place {
    size_t at;
    bool minus;
};
enum { COUNTED_PLACES_MAX = COUNTERS_DEPTH_MAX * COUNTERS_DEPTH_MAX };
/* What the states of this total weigh the item at `place` (n of them, 1..COUNTED_PLACES_MAX), which lists hold as
 * `key`: each of its counters over all tables, of these the least or, with signs, the median; and lists know it
 * exactly. */
double counted_point(const struct counted_total *total, const struct state_ref *src, uint32_t k,
                     const struct counted_shape *shape, uint64_t key, const struct counted_place *place, uint32_t n);
/* A batch of samples to build of, COUNTERS_BATCH at a time. One of values (weight 1 each) and items is NULL. */
struct counted_batch {
    const double *values, *weights; /* weights NULL: 1 each */
    const struct sketch_items *items;
    uint32_t n, at, run; /* the current ones: run of them from `at` on */
    uint64_t room[COUNTERS_BATCH], words[COUNTERS_BATCH];
};
struct counted_batch counted_batch(const double *values, const struct sketch_items *items, uint32_t n);
/* The next items, or NULL at the end; their words, or NULL for 1 each. Both until the next call. */
const uint64_t *counted_next(struct counted_batch *b);
const uint64_t *counted_words(struct counted_batch *b, bool is_real);

/* The form byte of a list or table whose counters are, or would be, of that form. */
uint8_t counted_form(bool is_table, enum counter_form form);
/* The bytes up to the mass. Returns the byte behind it. */
uint8_t *counted_store(uint8_t *dst, uint8_t form, const struct counted_shape *shape,
                       const struct counted_total *total);

/* Why bytes[0..n) cannot be a state of this shape, or NULL: it has a known form (1..form_most), the shape, possible n
 * and mass, and at least four bytes behind them. */
const char *counted_head_fault(const uint8_t *bytes, size_t n, const struct counted_shape *shape, uint8_t form_most);
/* Why listed weights of that absolute sum cannot be a list of the state's mass, or NULL. */
const char *counted_list_fault(const struct counted_view *v, const struct counted_shape *shape,
                               const struct mass *listed);
/* Why a table cannot be a state's, or NULL: `cells` of it are due, and `behind` bytes; more items than `listed` are. */
const char *counted_table_fault(const struct counted_view *v, const struct counted_shape *shape, size_t cells,
                                size_t behind, uint64_t listed);

/*
 * The entry points of a family (kernels/sketch.h) with and without signs, NAME_build and so on, by the functions of
 * COUNTED, which take that choice in front and a build's samples either way.
 */
#define COUNTED_ENTRIES(NAME, COUNTED, IS_SIGNED)                                                                      \
    static int NAME##_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,            \
                            int64_t end_ms, const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed,  \
                            void *scratch)                                                                             \
    {                                                                                                                  \
        return COUNTED##_build(IS_SIGNED, dst, cap, ret_size, params, values, NULL, n, seed, scratch);                 \
    }                                                                                                                  \
    static int NAME##_build_items(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,      \
                                  const struct sketch_items *items, uint64_t seed, void *scratch)                      \
    {                                                                                                                  \
        return COUNTED##_build(IS_SIGNED, dst, cap, ret_size, params, NULL, items, items->n, seed, scratch);           \
    }                                                                                                                  \
    static int NAME##_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,          \
                              int64_t end_ms, const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)   \
    {                                                                                                                  \
        return COUNTED##_merge(IS_SIGNED, dst, cap, ret_size, params, src, k, scratch);                                \
    }                                                                                                                  \
    static int NAME##_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,            \
                               enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)   \
    {                                                                                                                  \
        return COUNTED##_estimate(IS_SIGNED, src, k, params, statistic, args, scratch, ret);                           \
    }                                                                                                                  \
    static int NAME##_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params,                     \
                               const char **reason)                                                                    \
    {                                                                                                                  \
        return COUNTED##_validate(IS_SIGNED, bytes, n, params, reason);                                                \
    }
/* And to a row of the family table. */
#define COUNTED_ROW(NAME, COUNTED)                                                                                     \
    .size_bound = COUNTED##_size_bound, .scratch_bound = COUNTED##_scratch_bound, .build = NAME##_build,               \
    .build_items = NAME##_build_items, .merge_k = NAME##_merge_k, .estimate = NAME##_estimate,                         \
    .validate = NAME##_validate, .flags = frequency_flags, .count = COUNTED##_count

#endif
