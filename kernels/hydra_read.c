/* Readouts of Hydra over k states, for one group. */
#include <math.h>

#include "kernels/carve.h"
#include "kernels/fixed.h"
#include "kernels/hydra.h"
#include "kernels/hydra_sum.h"

static double read_point(const struct hydra_sum *s, const struct state_ref *src, uint32_t k, uint64_t group,
                         uint64_t key)
{
    const struct sketch_params *p = s->params;
    struct counted_place place[COUNTED_PLACES_MAX];
    uint64_t group_hash = counters_hash(group, s->total.seed), id = hydra_id(group_hash, key);
    for (uint32_t j = 0; j < p->rows * p->depth; j++) {
        uint32_t row = j / p->depth, r = j % p->depth;
        uint64_t spread = counters_spread(hydra_hash_at(id, row), r);
        size_t at = hydra_sketch_at(p, group_hash, row) + (size_t)r * p->width + counters_index(spread, p->width);
        place[j] = (struct counted_place){at, s->shape.is_signed && counters_is_minus(spread)};
    }
    return counted_point(&s->total, src, k, &s->shape, id, place, p->rows * p->depth);
}

/* The group's L1: exact from lists; from tables, of each row the sum of its sketch over all of them, before one row is
 * chosen. No signs, so no reals. */
static double read_l1(const struct hydra_sum *s, const struct state_ref *src, uint32_t k, uint64_t group)
{
    const struct sketch_params *p = s->params;
    uint64_t rows[COUNTERS_DEPTH_MAX] = {0}, listed = 0, least = UINT64_MAX;
    uint64_t group_hash = counters_hash(group, s->total.seed);
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(&src[i], &s->shape);
        if (v.is_table) {
            for (uint32_t row = 0; row < p->rows; row++)
                for (size_t at = hydra_sketch_at(p, group_hash, row), end = at + p->width; at < end; at++)
                    rows[row] += (uint64_t)counters_whole(v.body, v.form, false, at);
            continue;
        }
        struct hydra_list r = hydra_list_open(&v, false);
        for (uint32_t n; (n = hydra_list_next(&r, false)) > 0;)
            for (uint32_t j = 0; j < n; j++)
                listed += r.group[j] == group ? r.word[j] : 0;
    }
    for (uint32_t row = 0; row < p->rows; row++)
        least = rows[row] < least ? rows[row] : least;
    return (double)(least + listed);
}

/* The group's listed items into its sketches alone, which lie one behind the other at s->cells. */
static void own_add(struct hydra_sum *s, const uint64_t *ids, const uint64_t *words, uint32_t n)
{
    uint32_t sketches[COUNTERS_BATCH];
    for (uint32_t row = 0; row < s->params->rows; row++) {
        for (uint32_t i = 0; i < n; i++)
            sketches[i] = (uint32_t)(row * hydra_sketch_cells(s->params));
        hydra_row_add(s, row, sketches, ids, words, n);
    }
}

static void own_begin(struct hydra_sum *s)
{
    hydra_table_begin(s, s->params->rows * hydra_sketch_cells(s->params));
    for (uint32_t at = 0, run; at < s->tally.n; at += run) {
        run = s->tally.n - at < COUNTERS_BATCH ? s->tally.n - at : COUNTERS_BATCH;
        own_add(s, s->tally.items + at, s->tally.words + at, run);
    }
}

/* The group's sketches over all tables, and what lists know of the group: exactly, while there are no tables and its
 * items are few. */
static int own_states(struct hydra_sum *s, const struct state_ref *src, uint32_t k, uint64_t group)
{
    const struct sketch_params *p = s->params;
    uint32_t *index = carve(&s->rest, k * sizeof *index);
    const uint32_t *order;
    uint64_t group_hash = counters_hash(group, s->total.seed);
    int rc = counted_order(&s->total, src, k, &s->shape, index, &order);
    if (rc != SKETCH_OK)
        return rc;
    hydra_sum_begin(s);
    struct counters_table *tables = carve(&s->rest, k * sizeof *tables);
    uint32_t tables_n = counted_tables(tables, src, order, k, &s->shape);
    if (tables_n > 0)
        own_begin(s);
    for (uint32_t row = 0; tables_n > 0 && row < p->rows; row++) {
        uint8_t *own = (uint8_t *)s->cells + row * hydra_sketch_cells(p) * counters_cell_size(s->form);
        for (uint32_t i = 0; i < tables_n; i++) {
            struct counters_table t = tables[i];
            t.cells += hydra_sketch_at(p, group_hash, row) * counters_cell_size(t.form);
            counters_add_tables(own, s->form, &t, 1, s->shape.is_signed, hydra_sketch_cells(p));
        }
    }
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(fixed_at(src, order, i), &s->shape);
        if (v.is_table)
            continue;
        struct hydra_list r = hydra_list_open(&v, s->shape.is_signed);
        for (uint32_t n; (n = hydra_list_next(&r, s->form == COUNTERS_REAL)) > 0;)
            for (uint32_t j = 0; j < n; j++) {
                if (r.group[j] != group)
                    continue;
                uint64_t hash = counters_hash(r.id[j], s->total.seed);
                if (!s->is_table && tally_add(&s->tally, hash, r.id[j], r.word[j]) != TALLY_NONE)
                    continue;
                if (!s->is_table)
                    own_begin(s);
                own_add(s, &r.id[j], &r.word[j], 1);
            }
    }
    return SKETCH_OK;
}

/* Of own_states: exact from a list, else the median over rows. */
static double read_l2(const struct hydra_sum *s)
{
    const struct sketch_params *p = s->params;
    double rows[COUNTERS_DEPTH_MAX], squares = 0;
    for (uint32_t i = 0; !s->is_table && i < s->tally.n; i++) {
        double w = counters_of_word(s->tally.words[i], s->tally.is_real);
        squares += w * w;
    }
    if (!s->is_table)
        return sqrt(squares);
    for (uint32_t row = 0; row < p->rows; row++)
        rows[row] = counters_norm((uint8_t *)s->cells + row * hydra_sketch_cells(p) * counters_cell_size(s->form),
                                  s->form, p->depth, p->width);
    return counters_median(rows, p->rows);
}

int hydra_estimate(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                   enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct hydra_sum s = hydra_sum_new(is_signed, params, scratch);
    if (!args || (statistic != (is_signed ? STATISTIC_L2 : STATISTIC_L1) && statistic != STATISTIC_POINT_COUNT))
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    int rc = counted_heads(&s.total, src, k, &s.shape);
    if (rc == SKETCH_OK && statistic == STATISTIC_L2)
        rc = own_states(&s, src, k, args->group);
    if (rc != SKETCH_OK)
        return rc;
    *ret = statistic == STATISTIC_L2   ? read_l2(&s)
           : statistic == STATISTIC_L1 ? read_l1(&s, src, k, args->group)
                                       : read_point(&s, src, k, args->group, args->key);
    return SKETCH_OK;
}
