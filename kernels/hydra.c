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

#include <math.h>

#include "kernels/carve.h"
#include "kernels/counted.h"
#include "kernels/fixed.h"
#include "kernels/tally.h"

enum { HEAD_SIZE = 36 };

/* States and items put together in scratch. */
struct sum {
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

static size_t sketch_cells(const struct sketch_params *params)
{
    return (size_t)params->depth * params->width;
}

static size_t cells_of(const struct sketch_params *params)
{
    return sketch_cells(params) * params->rows * params->columns;
}

static uint32_t list_most(const struct sketch_params *params, uint64_t n)
{
    uint64_t most = cells_of(params) / 8;
    return (uint32_t)(n < most ? n : most);
}

size_t hydra_size_bound(const struct sketch_params *params, uint64_t n)
{
    uint32_t listed = list_most(params, n);
    size_t list = tally_list_bound(listed) + 16 * (size_t)listed, table = n > listed ? cells_of(params) * 8 : 0;
    return HEAD_SIZE + (list > table ? list : table);
}

size_t hydra_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint32_t listed = list_most(params, n);
    size_t table = n > listed ? carve_size(cells_of(params) * 8) : 0;
    return tally_room(listed) + 2 * carve_size((uint64_t)listed * 8) + table + carve_size(k * sizeof(uint32_t)) +
           carve_size(k * sizeof(struct counters_table));
}

static struct counted_shape shape_of(const struct sketch_params *params, bool is_signed)
{
    struct counted_shape shape = {.tail = 12, .is_signed = is_signed};
    shape.bytes[1] = (uint8_t)params->depth;
    shape.bytes[2] = (uint8_t)params->rows;
    bits_store_u32(shape.bytes + 4, params->width);
    bits_store_u32(shape.bytes + 8, params->columns);
    return shape;
}

/* A list's groups (its items lie behind them); the (id, weight) list before them ends there. */
static const uint8_t *groups_of(const struct counted_view *v)
{
    return v->body + v->body_size - 16 * (size_t)bits_load_u32(v->body);
}

static struct tally_list list_of(const struct counted_view *v, bool is_signed)
{
    return tally_open(v->body, (size_t)(groups_of(v) - v->body), is_signed, v->is_real);
}

static uint64_t id_of(uint64_t group_hash, uint64_t key)
{
    return counters_hash(key, group_hash);
}

/* First counter of the group's sketch in a row of the grid. */
static size_t sketch_at(const struct sketch_params *p, uint64_t group_hash, uint32_t row)
{
    uint32_t column = counters_index(counters_spread(group_hash, row), p->columns);
    return ((size_t)row * p->columns + column) * sketch_cells(p);
}

/* An item's hash in a row of the grid: items that collide in one row do not in another. */
static uint64_t hash_at(uint64_t id, uint32_t row)
{
    uint64_t spread = counters_spread(id, row);
    return spread << 32 | spread >> 32;
}

/* --- putting together --- */

static struct sum sum_new(bool is_signed, const struct sketch_params *params, void *scratch)
{
    return (struct sum){.params = params, .shape = shape_of(params, is_signed), .rest = scratch};
}

static void sum_begin(struct sum *s)
{
    uint32_t most = list_most(s->params, s->total.n);
    s->form = counters_form(&s->total.mass, s->shape.is_signed);
    s->tally = tally_new(&s->rest, most, s->form == COUNTERS_REAL);
    s->groups = carve(&s->rest, (uint64_t)most * 8);
    s->keys = carve(&s->rest, (uint64_t)most * 8);
}

static void table_begin(struct sum *s, size_t cells)
{
    size_t size = cells * counters_cell_size(s->form);
    s->is_table = true;
    s->cells = carve(&s->rest, size);
    memset(s->cells, 0, size);
}

/* Items, at most COUNTERS_BATCH, by their ids, into sketches that begin at `sketches[i]` in a row of the grid. */
static void row_add(const struct sum *s, uint32_t row, const uint32_t *sketches, const uint64_t *ids,
                    const uint64_t *words, uint32_t n)
{
    const struct sketch_params *p = s->params;
    uint64_t hashes[COUNTERS_BATCH];
    uint32_t places[COUNTERS_DEPTH_MAX * COUNTERS_BATCH];
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = hash_at(ids[i], row);
    counters_ops.places(places, COUNTERS_BATCH, hashes, n, p->depth, p->width, s->shape.is_signed);
    for (uint32_t r = 0; r < p->depth; r++) {
        uint32_t *place = places + (size_t)r * COUNTERS_BATCH;
        for (uint32_t i = 0; i < n; i++) /* below 2^22, so the sign stays */
            place[i] += sketches[i] + r * p->width;
        counters_add_places(s->cells, s->form, s->shape.is_signed, place, words, n);
    }
}

static void table_add(const struct sum *s, const uint64_t *group_hashes, const uint64_t *ids, const uint64_t *words,
                      uint32_t n)
{
    uint32_t sketches[COUNTERS_BATCH];
    for (uint32_t row = 0; row < s->params->rows; row++) {
        for (uint32_t i = 0; i < n; i++)
            sketches[i] = (uint32_t)sketch_at(s->params, group_hashes[i], row);
        row_add(s, row, sketches, ids, words, n);
    }
}

/* The exact list becomes counters. */
static void spill(struct sum *s)
{
    uint64_t group_hashes[COUNTERS_BATCH];
    table_begin(s, cells_of(s->params));
    for (uint32_t at = 0, run; at < s->tally.n; at += run) {
        run = s->tally.n - at < COUNTERS_BATCH ? s->tally.n - at : COUNTERS_BATCH;
        counters_ops.hashes(group_hashes, s->groups + at, run, s->total.seed);
        table_add(s, group_hashes, s->tally.items + at, s->tally.words + at, run);
    }
}

/* Items, at most COUNTERS_BATCH: to the list while it may be one, else to the table. words NULL: a weight of 1 each. */
static void sum_add(struct sum *s, const uint64_t *groups, const uint64_t *keys, const uint64_t *words, uint32_t n)
{
    uint64_t group_hashes[COUNTERS_BATCH], ids[COUNTERS_BATCH], hashes[COUNTERS_BATCH];
    uint32_t i = 0;
    counters_ops.hashes(group_hashes, groups, n, s->total.seed);
    for (uint32_t j = 0; j < n; j++)
        ids[j] = id_of(group_hashes[j], keys[j]);
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

/* A list's items, a batch at a time. */
struct reader {
    struct tally_list list;
    const uint8_t *groups;
    uint64_t group[COUNTERS_BATCH], key[COUNTERS_BATCH], id[COUNTERS_BATCH], word[COUNTERS_BATCH];
};

static struct reader reader_new(const struct counted_view *v, bool is_signed)
{
    return (struct reader){.list = list_of(v, is_signed), .groups = groups_of(v)};
}

static uint32_t reader_next(struct reader *r, bool as_real)
{
    const uint8_t *groups = r->groups + 8 * (size_t)r->list.at, *keys = groups + 8 * (size_t)r->list.n;
    uint32_t n = tally_next_many(&r->list, COUNTERS_BATCH, as_real, r->id, r->word);
    memcpy(r->group, groups, 8 * (size_t)n);
    memcpy(r->key, keys, 8 * (size_t)n);
    return n;
}

/* k >= 1 states as one sum. */
static int sum_states(struct sum *s, const struct state_ref *src, uint32_t k)
{
    uint32_t *index = carve(&s->rest, k * sizeof *index);
    const uint32_t *order;
    int rc = counted_heads(&s->total, src, k, &s->shape);
    if (rc == SKETCH_OK)
        rc = counted_order(&s->total, src, k, &s->shape, index, &order);
    if (rc != SKETCH_OK)
        return rc;
    sum_begin(s);
    struct counters_table *tables = carve(&s->rest, k * sizeof *tables);
    uint32_t tables_n = counted_tables(tables, src, order, k, &s->shape);
    if (tables_n > 0) {
        table_begin(s, cells_of(s->params));
        counters_add_tables(s->cells, s->form, tables, tables_n, s->shape.is_signed, cells_of(s->params));
    }
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(fixed_at(src, order, i), &s->shape);
        if (v.is_table)
            continue;
        struct reader r = reader_new(&v, s->shape.is_signed);
        for (uint32_t n; (n = reader_next(&r, s->form == COUNTERS_REAL)) > 0;)
            sum_add(s, r.group, r.key, r.word, n);
    }
    return SKETCH_OK;
}

/* --- bytes --- */

static int sum_write(struct sum *s, uint8_t *dst, size_t cap, size_t *ret_size)
{
    size_t table = cells_of(s->params) * counters_cell_size(s->form), n = s->tally.n;
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
    struct sum s = sum_new(is_signed, params, scratch);
    struct counted_batch b = counted_batch(values, items, n);
    if (n == 0)
        return SKETCH_BAD_DATA;
    int rc = counters_weigh(b.weights, n, is_signed, &s.total.mass);
    if (rc != SKETCH_OK)
        return rc;
    s.total.n = n;
    s.total.seed = seed;
    sum_begin(&s);
    for (const uint64_t *keys; (keys = counted_next(&b));)
        sum_add(&s, items && items->groups ? items->groups + b.at : no_groups, keys,
                counted_words(&b, s.form == COUNTERS_REAL), b.run);
    return sum_write(&s, dst, cap, ret_size);
}

int hydra_merge(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                const struct state_ref *src, uint32_t k, void *scratch)
{
    struct sum s = sum_new(is_signed, params, scratch);
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = sum_states(&s, src, k);
    return rc != SKETCH_OK ? rc : sum_write(&s, dst, cap, ret_size);
}

/* --- readouts --- */

static double read_point(const struct sum *s, const struct state_ref *src, uint32_t k, uint64_t group, uint64_t key)
{
    const struct sketch_params *p = s->params;
    struct counted_place place[COUNTED_PLACES_MAX];
    uint64_t group_hash = counters_hash(group, s->total.seed), id = id_of(group_hash, key);
    for (uint32_t j = 0; j < p->rows * p->depth; j++) {
        uint32_t row = j / p->depth, r = j % p->depth;
        uint64_t spread = counters_spread(hash_at(id, row), r);
        size_t at = sketch_at(p, group_hash, row) + (size_t)r * p->width + counters_index(spread, p->width);
        place[j] = (struct counted_place){at, s->shape.is_signed && counters_is_minus(spread)};
    }
    return counted_point(&s->total, src, k, &s->shape, id, place, p->rows * p->depth);
}

/* The group's L1: exact from lists; from tables, of each row the sum of its sketch over all of them, before one row is
 * chosen. No signs, so no reals. */
static double read_l1(const struct sum *s, const struct state_ref *src, uint32_t k, uint64_t group)
{
    const struct sketch_params *p = s->params;
    uint64_t rows[COUNTERS_DEPTH_MAX] = {0}, listed = 0, least = UINT64_MAX;
    uint64_t group_hash = counters_hash(group, s->total.seed);
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(&src[i], &s->shape);
        if (v.is_table) {
            for (uint32_t row = 0; row < p->rows; row++)
                for (size_t at = sketch_at(p, group_hash, row), end = at + p->width; at < end; at++)
                    rows[row] += (uint64_t)counters_whole(v.body, v.form, false, at);
            continue;
        }
        struct reader r = reader_new(&v, false);
        for (uint32_t n; (n = reader_next(&r, false)) > 0;)
            for (uint32_t j = 0; j < n; j++)
                listed += r.group[j] == group ? r.word[j] : 0;
    }
    for (uint32_t row = 0; row < p->rows; row++)
        least = rows[row] < least ? rows[row] : least;
    return (double)(least + listed);
}

/* The group's listed items into its sketches alone, which lie one behind the other at s->cells. */
static void own_add(struct sum *s, const uint64_t *ids, const uint64_t *words, uint32_t n)
{
    uint32_t sketches[COUNTERS_BATCH];
    for (uint32_t row = 0; row < s->params->rows; row++) {
        for (uint32_t i = 0; i < n; i++)
            sketches[i] = (uint32_t)(row * sketch_cells(s->params));
        row_add(s, row, sketches, ids, words, n);
    }
}

static void own_begin(struct sum *s)
{
    table_begin(s, s->params->rows * sketch_cells(s->params));
    for (uint32_t at = 0, run; at < s->tally.n; at += run) {
        run = s->tally.n - at < COUNTERS_BATCH ? s->tally.n - at : COUNTERS_BATCH;
        own_add(s, s->tally.items + at, s->tally.words + at, run);
    }
}

/* The group's sketches over all tables, and what lists know of the group: exactly, while there are no tables and its
 * items are few. */
static int own_states(struct sum *s, const struct state_ref *src, uint32_t k, uint64_t group)
{
    const struct sketch_params *p = s->params;
    uint32_t *index = carve(&s->rest, k * sizeof *index);
    const uint32_t *order;
    uint64_t group_hash = counters_hash(group, s->total.seed);
    int rc = counted_order(&s->total, src, k, &s->shape, index, &order);
    if (rc != SKETCH_OK)
        return rc;
    sum_begin(s);
    struct counters_table *tables = carve(&s->rest, k * sizeof *tables);
    uint32_t tables_n = counted_tables(tables, src, order, k, &s->shape);
    if (tables_n > 0)
        own_begin(s);
    for (uint32_t row = 0; tables_n > 0 && row < p->rows; row++) {
        uint8_t *own = (uint8_t *)s->cells + row * sketch_cells(p) * counters_cell_size(s->form);
        for (uint32_t i = 0; i < tables_n; i++) {
            struct counters_table t = tables[i];
            t.cells += sketch_at(p, group_hash, row) * counters_cell_size(t.form);
            counters_add_tables(own, s->form, &t, 1, s->shape.is_signed, sketch_cells(p));
        }
    }
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(fixed_at(src, order, i), &s->shape);
        if (v.is_table)
            continue;
        struct reader r = reader_new(&v, s->shape.is_signed);
        for (uint32_t n; (n = reader_next(&r, s->form == COUNTERS_REAL)) > 0;)
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
static double read_l2(const struct sum *s)
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
        rows[row] = counters_norm((uint8_t *)s->cells + row * sketch_cells(p) * counters_cell_size(s->form), s->form,
                                  p->depth, p->width);
    return counters_median(rows, p->rows);
}

int hydra_estimate(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                   enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct sum s = sum_new(is_signed, params, scratch);
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

/* --- validation --- */

static const char *table_fault(const struct counted_view *v, const struct counted_shape *shape,
                               const struct sketch_params *p)
{
    bool is_signed = shape->is_signed;
    uint64_t whole = v->total.mass.whole;
    size_t size = counters_cell_size(v->form), row = cells_of(p) / p->rows;
    const char *fault = counted_table_fault(v, shape, cells_of(p), 0, list_most(p, UINT64_MAX));
    if (fault)
        return fault;
    for (uint32_t i = 0; i < p->rows; i++) {
        uint64_t sum = 0; /* of the row's sketches: an item is in one of them, once in each of its rows of counters */
        for (size_t c = 0; c < p->columns; c++) {
            uint64_t sketch_sum = 0;
            for (uint32_t r = 0; r < p->depth; r++) {
                const uint8_t *cells = v->body + (i * row + c * sketch_cells(p) + (size_t)r * p->width) * size;
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
    if (n == 0 || n > list_most(params, v->total.n) || v->body_size < 4 + 16 * n)
        return "a list holds no item or more than it may";
    const uint8_t *groups = groups_of(v);
    const char *fault = tally_validate(v->body, (size_t)(groups - v->body), shape->is_signed, v->is_real, n, &listed);
    fault = fault ? fault : counted_list_fault(v, shape, &listed);
    for (size_t i = 0; !fault && i < n; i++)
        if (bits_load_u64(v->body + 4 + 8 * i) !=
            id_of(counters_hash(bits_load_u64(groups + 8 * i), seed), bits_load_u64(groups + 8 * (n + i))))
            fault = "a listed id is not that of its group and item";
    return fault;
}

int hydra_validate(bool is_signed, const uint8_t *bytes, size_t n, const struct sketch_params *params,
                   const char **reason)
{
    struct counted_shape shape = shape_of(params, is_signed);
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
