/*
 * Hydra: how heavy is an item within its group, for very many groups in one state (Manousis, Cheng, Basat, Liu, Sekar:
 * Enabling Efficient and General Subpopulation Analytics in Multidimensional Data Streams, 2022). A grid of rows x
 * columns sketches, each Count-Min (whole weights, not negative) or CountSketch (any) of depth x width counters; a
 * group's items go to one sketch of each row, which its hash chooses and other groups may share.
 *
 *   | off | type | field                                                                              |
 *   |-----|------|------------------------------------------------------------------------------------|
 *   | 0   | u8   | form: 1 list, 2 real list, 3 narrow table, 4 wide table, 5 real table              |
 *   | 1   | u8   | depth                                                                              |
 *   | 2   | u8   | rows                                                                               |
 *   | 3   | u8   | 0                                                                                  |
 *   | 4   | u32  | width                                                                              |
 *   | 8   | u32  | columns                                                                            |
 *   | 12  | u64  | sketch seed                                                                        |
 *   | 20  | u64  | samples behind it, n                                                               |
 *   | 28  | u64  | mass: sum of the weights' absolute values; an f64 in the real forms                |
 *   | 36  |      | table: counters of the sketch of row 0, column 0; of column 1; ...; of row 1; ...  |
 *   | 36  |      | list: (id, weight) of every item (kernels/tally.h), u64 group[D], u64 item[D]      |
 *
 * An item's id is its hash with its group's as the seed. At most cells / 8 items are listed, exactly, cells = rows x
 * columns x depth x width; one more and the state is a table. As for CMS, the state of the whole is the merge of any
 * cut, bit for bit, where weights are whole, and tables of whole weights subtract.
 *
 * Readouts, all for one group: a point count is the least (Count-Min) or the median (CountSketch) over the item's
 * counters in all rows; L1 the least over rows of its sketch's sum; L2 the median over rows of its sketch's L2. With
 * Count-Min, a point count is too great by more than e / width times the L1 of its sketch, and that L1 by more than e /
 * columns times the mass, with probability e^-depth and e^-rows.
 */
#include "kernels/hydra.h"

#include "kernels/carve.h"
#include "kernels/fixed.h"
#include "kernels/hydra_sum.h"

enum { HEAD_SIZE = 36 };

int hydra_check_params(const struct sketch_params *params, const char **reason)
{
    uint64_t cells = (uint64_t)params->depth * params->width;
    if (params->depth < 1 || params->depth > COUNTERS_DEPTH_MAX || params->rows < 1 ||
        params->rows > COUNTERS_DEPTH_MAX)
        *reason = "depth (rows of counters) and rows (of sketches) must be from 1 to 16";
    else if (params->width < COUNTERS_WIDTH_MIN || cells > COUNTERS_CELLS_MAX || params->columns < 1 ||
             params->columns > COUNTERS_CELLS_MAX / (cells * params->rows))
        *reason = "width must be at least 8, columns at least 1, rows * columns * depth * width at most 4194304";
    else if (params->heap != 0)
        *reason = "Hydra keeps no heaviest items: leave heap at 0";
    else
        return SKETCH_OK;
    return SKETCH_BAD_DATA;
}

size_t hydra_size_bound(const struct sketch_params *params, uint64_t n)
{
    uint32_t listed = hydra_list_most(params, n);
    size_t list = tally_list_bound(listed) + 16 * (size_t)listed, table = n > listed ? hydra_cells(params) * 8 : 0;
    return HEAD_SIZE + (list > table ? list : table);
}

size_t hydra_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint32_t listed = hydra_list_most(params, n);
    size_t table = n > listed ? carve_size(hydra_cells(params) * 8) : 0;
    return tally_room(listed) + 2 * carve_size((uint64_t)listed * 8) + table + carve_size(k * sizeof(uint32_t)) +
           carve_size(k * sizeof(struct counters_table));
}

/* --- bytes --- */

static int sum_write(struct hydra_sum *s, uint8_t *dst, size_t cap, size_t *ret_size)
{
    size_t table = hydra_cells(s->params) * counters_cell_size(s->form), n = s->tally.n;
    if (cap < HEAD_SIZE + (s->is_table ? table : tally_list_bound(n) + 16 * n))
        return SKETCH_NO_ROOM;
    uint8_t *p = counted_store(dst, counted_form(s->is_table, s->form), &s->shape, &s->total);
    if (s->is_table) {
        memcpy(p, s->cells, table);
        *ret_size = HEAD_SIZE + table;
        return SKETCH_OK;
    }
    const uint8_t *ids = p + 4;
    p = tally_write(&s->tally, s->shape.is_signed, s->total.seed, p, s->rest);
    for (size_t i = 0; i < n; i++) {
        uint64_t id = bits_load_u64(ids + 8 * i);
        uint32_t at = tally_find(&s->tally, counters_hash(id, s->total.seed), id);
        bits_store_u64(p + 8 * i, s->groups[at]);
        bits_store_u64(p + 8 * (n + i), s->keys[at]);
    }
    *ret_size = (size_t)(p - dst) + 16 * n;
    return SKETCH_OK;
}

int hydra_build(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                const double *values, const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch)
{
    const uint64_t no_groups[COUNTERS_BATCH] = {0};
    struct hydra_sum s = hydra_sum_new(is_signed, params, scratch);
    struct counted_batch b = counted_batch(values, items, n);
    if (n == 0)
        return SKETCH_BAD_DATA;
    int rc = counters_weigh(b.weights, n, is_signed, &s.total.mass);
    if (rc != SKETCH_OK)
        return rc;
    s.total.n = n;
    s.total.seed = seed;
    hydra_sum_begin(&s);
    for (const uint64_t *keys; (keys = counted_next(&b));)
        hydra_sum_add(&s, items && items->groups ? items->groups + b.at : no_groups, keys,
                      counted_words(&b, s.form == COUNTERS_REAL), b.run);
    return sum_write(&s, dst, cap, ret_size);
}

int hydra_merge(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                const struct state_ref *src, uint32_t k, void *scratch)
{
    struct hydra_sum s = hydra_sum_new(is_signed, params, scratch);
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = hydra_sum_states(&s, src, k);
    return rc != SKETCH_OK ? rc : sum_write(&s, dst, cap, ret_size);
}

/* --- validation --- */

static const char *table_fault(const struct counted_view *v, const struct counted_shape *shape,
                               const struct sketch_params *p)
{
    bool is_signed = shape->is_signed;
    uint64_t whole = v->total.mass.whole;
    size_t size = counters_cell_size(v->form), row = hydra_cells(p) / p->rows;
    const char *fault = counted_table_fault(v, shape, hydra_cells(p), 0, hydra_list_most(p, UINT64_MAX));
    if (fault)
        return fault;
    for (uint32_t i = 0; i < p->rows; i++) {
        uint64_t sum = 0; /* of the row's sketches: an item is in one of them, once in each of its rows of counters */
        for (size_t c = 0; c < p->columns; c++) {
            uint64_t sketch_sum = 0;
            for (uint32_t r = 0; r < p->depth; r++) {
                const uint8_t *cells = v->body + (i * row + c * hydra_sketch_cells(p) + (size_t)r * p->width) * size;
                if (!counters_row_possible(cells, v->form, is_signed, p->width, &v->total.mass, false))
                    return "a row of counters passes the mass";
                uint64_t part = 0;
                for (uint32_t j = 0; !is_signed && j < p->width; j++)
                    part += (uint64_t)counters_whole(cells, v->form, false, j);
                if (r > 0 && part != sketch_sum)
                    return "rows of counters of one sketch differ in their sums";
                sketch_sum = part;
            }
            if (sketch_sum > whole - sum && !is_signed)
                return "sketches of one row pass the mass";
            sum += sketch_sum;
        }
        if (!is_signed && sum != whole)
            return "sketches of one row do not add up to the mass";
    }
    return NULL;
}

static const char *list_fault(const struct counted_view *v, const struct counted_shape *shape,
                              const struct sketch_params *params)
{
    struct mass listed;
    uint64_t n = bits_load_u32(v->body), seed = v->total.seed;
    if (n == 0 || n > hydra_list_most(params, v->total.n) || v->body_size < 4 + 16 * n)
        return "a list holds no item or more than it may";
    const uint8_t *groups = hydra_groups(v);
    const char *fault = tally_validate(v->body, (size_t)(groups - v->body), shape->is_signed, v->is_real, n, &listed);
    fault = fault ? fault : counted_list_fault(v, shape, &listed);
    for (size_t i = 0; !fault && i < n; i++)
        if (bits_load_u64(v->body + 4 + 8 * i) !=
            hydra_id(counters_hash(bits_load_u64(groups + 8 * i), seed), bits_load_u64(groups + 8 * (n + i))))
            fault = "a listed id is not that of its group and item";
    return fault;
}

int hydra_validate(bool is_signed, const uint8_t *bytes, size_t n, const struct sketch_params *params,
                   const char **reason)
{
    struct counted_shape shape = hydra_shape(params, is_signed);
    const char *fault = counted_head_fault(bytes, n, &shape, COUNTED_REAL);
    if (!fault) {
        struct counted_view v = counted_view(&(struct state_ref){bytes, (uint32_t)n, 0}, &shape);
        fault = v.is_table ? table_fault(&v, &shape, params) : list_fault(&v, &shape, params);
    }
    return fault ? fixed_corrupt(reason, fault) : SKETCH_OK;
}

uint64_t hydra_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u64(bytes + 20);
}
