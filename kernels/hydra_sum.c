#include "kernels/hydra_sum.h"

#include "kernels/carve.h"
#include "kernels/fixed.h"

struct counted_shape hydra_shape(const struct sketch_params *params, bool is_signed)
{
    struct counted_shape shape = {.tail = 12, .is_signed = is_signed};
    shape.bytes[1] = (uint8_t)params->depth;
    shape.bytes[2] = (uint8_t)params->rows;
    bits_store_u32(shape.bytes + 4, params->width);
    bits_store_u32(shape.bytes + 8, params->columns);
    return shape;
}

static struct tally_list list_of(const struct counted_view *v, bool is_signed)
{
    return tally_open(v->body, (size_t)(hydra_groups(v) - v->body), is_signed, v->is_real);
}

struct hydra_sum hydra_sum_new(bool is_signed, const struct sketch_params *params, void *scratch)
{
    return (struct hydra_sum){.params = params, .shape = hydra_shape(params, is_signed), .rest = scratch};
}

void hydra_sum_begin(struct hydra_sum *s)
{
    uint32_t most = hydra_list_most(s->params, s->total.n);
    s->form = counters_form(&s->total.mass, s->shape.is_signed);
    s->tally = tally_new(&s->rest, most, s->form == COUNTERS_REAL);
    s->groups = carve(&s->rest, (uint64_t)most * 8);
    s->keys = carve(&s->rest, (uint64_t)most * 8);
}

void hydra_table_begin(struct hydra_sum *s, size_t cells)
{
    size_t size = cells * counters_cell_size(s->form);
    s->is_table = true;
    s->cells = carve(&s->rest, size);
    memset(s->cells, 0, size);
}

void hydra_row_add(const struct hydra_sum *s, uint32_t row, const uint32_t *sketches, const uint64_t *ids,
                   const uint64_t *words, uint32_t n)
{
    const struct sketch_params *p = s->params;
    uint64_t hashes[COUNTERS_BATCH];
    uint32_t places[COUNTERS_DEPTH_MAX * COUNTERS_BATCH];
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = hydra_hash_at(ids[i], row);
    counters_ops.places(places, COUNTERS_BATCH, hashes, n, p->depth, p->width, s->shape.is_signed);
    for (uint32_t r = 0; r < p->depth; r++) {
        uint32_t *place = places + (size_t)r * COUNTERS_BATCH;
        for (uint32_t i = 0; i < n; i++) /* below 2^22, so the sign stays */
            place[i] += sketches[i] + r * p->width;
        counters_add_places(s->cells, s->form, s->shape.is_signed, place, words, n);
    }
}

static void table_add(const struct hydra_sum *s, const uint64_t *group_hashes, const uint64_t *ids,
                      const uint64_t *words, uint32_t n)
{
    uint32_t sketches[COUNTERS_BATCH];
    for (uint32_t row = 0; row < s->params->rows; row++) {
        for (uint32_t i = 0; i < n; i++)
            sketches[i] = (uint32_t)hydra_sketch_at(s->params, group_hashes[i], row);
        hydra_row_add(s, row, sketches, ids, words, n);
    }
}

/* The exact list becomes counters. */
static void spill(struct hydra_sum *s)
{
    uint64_t group_hashes[COUNTERS_BATCH];
    hydra_table_begin(s, hydra_cells(s->params));
    for (uint32_t at = 0, run; at < s->tally.n; at += run) {
        run = s->tally.n - at < COUNTERS_BATCH ? s->tally.n - at : COUNTERS_BATCH;
        counters_ops.hashes(group_hashes, s->groups + at, run, s->total.seed);
        table_add(s, group_hashes, s->tally.items + at, s->tally.words + at, run);
    }
}

void hydra_sum_add(struct hydra_sum *s, const uint64_t *groups, const uint64_t *keys, const uint64_t *words, uint32_t n)
{
    uint64_t group_hashes[COUNTERS_BATCH], ids[COUNTERS_BATCH], hashes[COUNTERS_BATCH];
    uint32_t i = 0;
    counters_ops.hashes(group_hashes, groups, n, s->total.seed);
    for (uint32_t j = 0; j < n; j++)
        ids[j] = hydra_id(group_hashes[j], keys[j]);
    if (!s->is_table)
        counters_ops.hashes(hashes, ids, n, s->total.seed);
    for (; i < n && !s->is_table; i++) {
        uint32_t at = tally_add(&s->tally, hashes[i], ids[i], words ? words[i] : 1);
        if (at == TALLY_NONE) {
            spill(s);
            break;
        }
        s->groups[at] = groups[i];
        s->keys[at] = keys[i];
    }
    if (i < n)
        table_add(s, group_hashes + i, ids + i, words ? words + i : NULL, n - i);
}

struct hydra_list hydra_list_open(const struct counted_view *v, bool is_signed)
{
    return (struct hydra_list){.list = list_of(v, is_signed), .groups = hydra_groups(v)};
}

uint32_t hydra_list_next(struct hydra_list *r, bool as_real)
{
    const uint8_t *groups = r->groups + 8 * (size_t)r->list.at, *keys = groups + 8 * (size_t)r->list.n;
    uint32_t n = tally_next_many(&r->list, COUNTERS_BATCH, as_real, r->id, r->word);
    memcpy(r->group, groups, 8 * (size_t)n);
    memcpy(r->key, keys, 8 * (size_t)n);
    return n;
}

int hydra_sum_states(struct hydra_sum *s, const struct state_ref *src, uint32_t k)
{
    uint32_t *index = carve(&s->rest, k * sizeof *index);
    const uint32_t *order;
    int rc = counted_heads(&s->total, src, k, &s->shape);
    if (rc == SKETCH_OK)
        rc = counted_order(&s->total, src, k, &s->shape, index, &order);
    if (rc != SKETCH_OK)
        return rc;
    hydra_sum_begin(s);
    struct counters_table *tables = carve(&s->rest, k * sizeof *tables);
    uint32_t tables_n = counted_tables(tables, src, order, k, &s->shape);
    if (tables_n > 0) {
        hydra_table_begin(s, hydra_cells(s->params));
        counters_add_tables(s->cells, s->form, tables, tables_n, s->shape.is_signed, hydra_cells(s->params));
    }
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(fixed_at(src, order, i), &s->shape);
        if (v.is_table)
            continue;
        struct hydra_list r = hydra_list_open(&v, s->shape.is_signed);
        for (uint32_t n; (n = hydra_list_next(&r, s->form == COUNTERS_REAL)) > 0;)
            hydra_sum_add(s, r.group, r.key, r.word, n);
    }
    return SKETCH_OK;
}
