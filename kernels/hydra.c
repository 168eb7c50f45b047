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
#include "kernels/fixed.h"
#include "kernels/frequency.h"
#include "kernels/tally.h"

enum { HEAD_SIZE = 36, LIST = 1, REAL_LIST = 2, TABLE_FIRST = 3, REAL_TABLE = 5, POINTS_MAX = 256 };

struct view {
    bool is_table, is_real;
    enum counter_form form;
    uint64_t seed, n;
    struct mass mass;
    const uint8_t *body;
    size_t body_size;
};

/* States and items put together in scratch. */
struct sum {
    const struct sketch_params *params;
    bool is_signed, is_table;
    uint64_t seed, n;
    struct mass mass;
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

static struct view view_of(const struct state_ref *s)
{
    uint8_t form = s->bytes[0];
    bool is_real = form == REAL_LIST || form == REAL_TABLE;
    return (struct view){.is_table = form >= TABLE_FIRST,
                         .is_real = is_real,
                         .form = (enum counter_form)(form - TABLE_FIRST + 1),
                         .seed = bits_load_u64(s->bytes + 12),
                         .n = bits_load_u64(s->bytes + 20),
                         .mass = counters_mass_load(s->bytes + 28, is_real),
                         .body = s->bytes + HEAD_SIZE,
                         .body_size = s->size - HEAD_SIZE};
}

/* A list's groups (its items lie behind them); the (id, weight) list before them ends there. */
static const uint8_t *groups_of(const struct view *v)
{
    return v->body + v->body_size - 16 * (size_t)bits_load_u32(v->body);
}

static struct tally_list list_of(const struct view *v, bool is_signed)
{
    return tally_open(v->body, (size_t)(groups_of(v) - v->body), is_signed, v->is_real);
}

static bool has_shape(const uint8_t *bytes, const struct sketch_params *params)
{
    return bytes[1] == params->depth && bytes[2] == params->rows && bytes[3] == 0 &&
           bits_load_u32(bytes + 4) == params->width && bits_load_u32(bytes + 8) == params->columns;
}

static uint64_t id_of(uint64_t group, uint64_t key, uint64_t seed)
{
    return counters_hash(key, counters_hash(group, seed));
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

static void table_add(const struct sum *s, uint64_t group, uint64_t id, uint64_t word)
{
    const struct sketch_params *p = s->params;
    uint64_t group_hash = counters_hash(group, s->seed);
    for (uint32_t i = 0; i < p->rows; i++) {
        uint8_t *sketch = (uint8_t *)s->cells + sketch_at(p, group_hash, i) * counters_cell_size(s->form);
        uint64_t hash = hash_at(id, i);
        counters_add_items(sketch, s->form, s->is_signed, p->depth, p->width, &hash, &word, 1);
    }
}

static void table_begin(struct sum *s)
{
    size_t size = cells_of(s->params) * counters_cell_size(s->form);
    s->is_table = true;
    s->cells = carve(&s->rest, size);
    memset(s->cells, 0, size);
}

static void sum_add(struct sum *s, uint64_t group, uint64_t key, uint64_t word)
{
    uint64_t id = id_of(group, key, s->seed);
    if (!s->is_table) {
        uint32_t at = tally_add(&s->tally, counters_hash(id, s->seed), id, word);
        if (at != TALLY_NONE) {
            s->groups[at] = group;
            s->keys[at] = key;
            return;
        }
        table_begin(s);
        for (uint32_t i = 0; i < s->tally.n; i++)
            table_add(s, s->groups[i], s->tally.items[i], s->tally.words[i]);
    }
    table_add(s, group, id, word);
}

static void sum_begin(struct sum *s)
{
    uint32_t most = list_most(s->params, s->n);
    s->form = counters_form(&s->mass, s->is_signed);
    s->tally = tally_new(&s->rest, most, s->form == COUNTERS_REAL);
    s->groups = carve(&s->rest, (uint64_t)most * 8);
    s->keys = carve(&s->rest, (uint64_t)most * 8);
}

static int sum_heads(struct sum *s, const struct state_ref *src, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i]);
        if (!has_shape(src[i].bytes, s->params) || v.seed != view_of(&src[0]).seed)
            return SKETCH_MISMATCH;
        s->n += v.n;
        if (s->n >= COUNTERS_N_END || counters_mass_add(&s->mass, &v.mass, s->is_signed) != SKETCH_OK)
            return SKETCH_BAD_DATA;
        s->seed = v.seed;
    }
    return SKETCH_OK;
}

static int sum_states(struct sum *s, const struct state_ref *src, uint32_t k)
{
    int rc = sum_heads(s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    uint32_t *index = carve(&s->rest, k * sizeof *index);
    const uint32_t *order = NULL;
    sum_begin(s);
    if (s->form == COUNTERS_REAL) { /* the sums of doubles depend on their order */
        rc = fixed_order(src, k, 0, FIXED_BY_END, index, &order);
        if (rc != SKETCH_OK)
            return rc;
        s->mass.real = 0;
        for (uint32_t i = 0; i < k; i++)
            s->mass.real += view_of(fixed_at(src, order, i)).mass.real;
    }
    struct counters_table *tables = carve(&s->rest, k * sizeof *tables);
    uint32_t tables_n = 0;
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(fixed_at(src, order, i));
        if (v.is_table)
            tables[tables_n++] = (struct counters_table){v.body, v.form};
    }
    if (tables_n > 0) {
        table_begin(s);
        counters_add_tables(s->cells, s->form, tables, tables_n, s->is_signed, cells_of(s->params));
    }
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(fixed_at(src, order, i));
        if (v.is_table)
            continue;
        struct tally_list l = list_of(&v, s->is_signed);
        const uint8_t *groups = groups_of(&v), *keys = groups + 8 * (size_t)l.n;
        uint64_t id, word;
        for (size_t j = 0; tally_next(&l, &id, &word); j++) {
            if (s->form == COUNTERS_REAL && !v.is_real)
                word = bits_of_f64((double)(int64_t)word);
            sum_add(s, bits_load_u64(groups + 8 * j), bits_load_u64(keys + 8 * j), word);
        }
    }
    return SKETCH_OK;
}

/* --- bytes --- */

static int sum_write(struct sum *s, uint8_t *dst, size_t cap, size_t *ret_size)
{
    size_t table = cells_of(s->params) * counters_cell_size(s->form), n = s->tally.n;
    if (cap < HEAD_SIZE + (s->is_table ? table : tally_list_bound(n) + 16 * n))
        return SKETCH_NO_ROOM;
    dst[0] = s->is_table ? (uint8_t)(TABLE_FIRST + (uint8_t)s->form - 1) : s->tally.is_real ? REAL_LIST : LIST;
    dst[1] = (uint8_t)s->params->depth;
    dst[2] = (uint8_t)s->params->rows;
    dst[3] = 0;
    bits_store_u32(dst + 4, s->params->width);
    bits_store_u32(dst + 8, s->params->columns);
    bits_store_u64(dst + 12, s->seed);
    bits_store_u64(dst + 20, s->n);
    counters_mass_store(dst + 28, &s->mass);
    uint8_t *p = dst + HEAD_SIZE;
    if (s->is_table) {
        memcpy(p, s->cells, table);
        *ret_size = HEAD_SIZE + table;
        return SKETCH_OK;
    }
    const uint8_t *ids = p + 4;
    p = tally_write(&s->tally, s->is_signed, s->seed, p, s->rest);
    for (size_t i = 0; i < n; i++) {
        uint64_t id = bits_load_u64(ids + 8 * i);
        uint32_t at = tally_find(&s->tally, counters_hash(id, s->seed), id);
        bits_store_u64(p + 8 * i, s->groups[at]);
        bits_store_u64(p + 8 * (n + i), s->keys[at]);
    }
    *ret_size = (size_t)(p - dst) + 16 * n;
    return SKETCH_OK;
}

int hydra_build(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                const double *values, const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch)
{
    struct sum s = {.params = params, .is_signed = is_signed, .seed = seed, .n = n, .rest = scratch};
    if (n == 0)
        return SKETCH_BAD_DATA;
    const double *weights = items ? items->weights : NULL;
    int rc = counters_weigh(weights, n, is_signed, &s.mass);
    if (rc != SKETCH_OK)
        return rc;
    sum_begin(&s);
    for (uint32_t i = 0; i < n; i++)
        sum_add(&s, items && items->groups ? items->groups[i] : 0, frequency_item(values, items, i),
                counters_word(weights ? weights[i] : 1, s.form == COUNTERS_REAL));
    return sum_write(&s, dst, cap, ret_size);
}

int hydra_merge(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                const struct state_ref *src, uint32_t k, void *scratch)
{
    struct sum s = {.params = params, .is_signed = is_signed, .rest = scratch};
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = sum_states(&s, src, k);
    return rc != SKETCH_OK ? rc : sum_write(&s, dst, cap, ret_size);
}

/* --- readouts --- */

/* Each of the item's counters over all states, before one is chosen; lists know it exactly. */
static double read_point(const struct sum *s, const struct state_ref *src, uint32_t k, uint64_t group, uint64_t key)
{
    const struct sketch_params *p = s->params;
    uint64_t id = id_of(group, key, s->seed), group_hash = counters_hash(group, s->seed);
    double points[POINTS_MAX], real[POINTS_MAX] = {0}, listed_real = 0, least = INFINITY;
    int64_t whole[POINTS_MAX] = {0}, listed = 0;
    bool is_real = s->mass.is_real;
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i]);
        if (!v.is_table) {
            uint64_t word = tally_lookup(list_of(&v, s->is_signed), id);
            listed_real += is_real ? counters_of_word(word, v.is_real) : 0;
            listed += is_real ? 0 : (int64_t)word;
            continue;
        }
        for (uint32_t j = 0; j < p->rows * p->depth; j++) {
            uint32_t row = j / p->depth, r = j % p->depth;
            size_t at = sketch_at(p, group_hash, row) + (size_t)r * p->width +
                        counters_index(counters_spread(hash_at(id, row), r), p->width);
            if (is_real)
                real[j] += counters_value(v.body, v.form, s->is_signed, at);
            else
                whole[j] += counters_whole(v.body, v.form, s->is_signed, at);
        }
    }
    for (uint32_t j = 0; j < p->rows * p->depth; j++) {
        bool minus = s->is_signed && counters_is_minus(counters_spread(hash_at(id, j / p->depth), j % p->depth));
        double v = is_real ? real[j] : (double)whole[j];
        points[j] = minus ? -v : v;
        least = v < least ? v : least;
    }
    double counted = s->is_signed ? counters_median(points, p->rows * p->depth) : least;
    return counted + (is_real ? listed_real : (double)listed);
}

/* The group's L1 (whole weights, no signs) or L2 (with signs), over what sum_states has put together. */
static double read_norm(const struct sum *s, uint64_t group)
{
    const struct sketch_params *p = s->params;
    double rows[COUNTERS_DEPTH_MAX], least = INFINITY, sum = 0;
    for (uint32_t i = 0; !s->is_table && i < s->tally.n; i++) {
        double w = s->groups[i] == group ? counters_of_word(s->tally.words[i], s->tally.is_real) : 0;
        sum += s->is_signed ? w * w : w;
    }
    if (!s->is_table)
        return s->is_signed ? sqrt(sum) : sum;
    for (uint32_t i = 0; i < p->rows; i++) {
        size_t at = sketch_at(p, counters_hash(group, s->seed), i);
        const uint8_t *sketch = (const uint8_t *)s->cells + at * counters_cell_size(s->form);
        uint64_t whole = 0;
        for (uint32_t j = 0; !s->is_signed && j < p->width; j++)
            whole += (uint64_t)counters_whole(sketch, s->form, false, j);
        rows[i] = s->is_signed ? counters_norm(sketch, s->form, p->depth, p->width) : (double)whole;
        least = rows[i] < least ? rows[i] : least;
    }
    return s->is_signed ? counters_median(rows, p->rows) : least;
}

int hydra_estimate(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                   enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct sum s = {.params = params, .is_signed = is_signed, .rest = scratch};
    bool is_norm = statistic == (is_signed ? STATISTIC_L2 : STATISTIC_L1);
    if (!args || (!is_norm && statistic != STATISTIC_POINT_COUNT))
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    int rc = is_norm ? sum_states(&s, src, k) : sum_heads(&s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    *ret = is_norm ? read_norm(&s, args->group) : read_point(&s, src, k, args->group, args->key);
    return SKETCH_OK;
}

/* --- validation --- */

static const char *table_fault(const struct view *v, bool is_signed, const struct sketch_params *p)
{
    size_t size = counters_cell_size(v->form), row = cells_of(p) / p->rows;
    if (v->form != counters_form(&v->mass, is_signed))
        return "counters are wider or narrower than their mass";
    if (v->n <= cells_of(p) / 8)
        return "a table stands where a list is due";
    if (v->body_size != cells_of(p) * size)
        return "a table's size does not fit its shape";
    for (uint32_t i = 0; i < p->rows; i++) {
        uint64_t sum = 0; /* of the row's sketches: an item is in one of them, once in each of its rows of counters */
        for (size_t c = 0; c < p->columns; c++) {
            uint64_t sketch_sum = 0;
            for (uint32_t r = 0; r < p->depth; r++) {
                const uint8_t *cells = v->body + (i * row + c * sketch_cells(p) + (size_t)r * p->width) * size;
                if (!counters_row_possible(cells, v->form, is_signed, p->width, &v->mass, false))
                    return "a row of counters passes the mass";
                uint64_t part = 0;
                for (uint32_t j = 0; !is_signed && j < p->width; j++)
                    part += (uint64_t)counters_whole(cells, v->form, false, j);
                if (r > 0 && part != sketch_sum)
                    return "rows of counters of one sketch differ in their sums";
                sketch_sum = part;
            }
            if (sketch_sum > v->mass.whole - sum && !is_signed)
                return "sketches of one row pass the mass";
            sum += sketch_sum;
        }
        if (!is_signed && sum != v->mass.whole)
            return "sketches of one row do not add up to the mass";
    }
    return NULL;
}

static const char *list_fault(const struct view *v, bool is_signed, const struct sketch_params *params)
{
    struct mass listed;
    uint64_t n = bits_load_u32(v->body), whole = v->mass.whole;
    if (n == 0 || n > list_most(params, v->n) || v->body_size < 4 + 16 * n)
        return "a list holds no item or more than it may";
    const uint8_t *groups = groups_of(v);
    const char *fault = tally_validate(v->body, (size_t)(groups - v->body), is_signed, v->is_real, n, &listed);
    if (fault)
        return fault;
    if (v->is_real  ? !(listed.real <= 2 * v->mass.real) /* rounding is far from that */
        : is_signed ? listed.whole > whole || (whole - listed.whole) % 2 != 0
                    : listed.whole != whole)
        return "listed weights do not add up to the mass";
    for (size_t i = 0; i < n; i++)
        if (bits_load_u64(v->body + 4 + 8 * i) !=
            id_of(bits_load_u64(groups + 8 * i), bits_load_u64(groups + 8 * (n + i)), v->seed))
            return "a listed id is not that of its group and item";
    return NULL;
}

int hydra_validate(bool is_signed, const uint8_t *bytes, size_t n, const struct sketch_params *params,
                   const char **reason)
{
    const char *fault = NULL;
    if (n < HEAD_SIZE + 4) {
        fault = "a Hydra state is cut short";
    } else if (bytes[0] < LIST || bytes[0] > REAL_TABLE ||
               (!is_signed && (bytes[0] == REAL_LIST || bytes[0] == REAL_TABLE))) {
        fault = "the form of a Hydra state is unknown";
    } else if (!has_shape(bytes, params)) {
        fault = "a Hydra state was built with another grid, depth or width";
    } else {
        struct view v = view_of(&(struct state_ref){bytes, (uint32_t)n, 0});
        if (v.n == 0 || v.n >= COUNTERS_N_END || !counters_mass_possible(&v.mass))
            fault = "a sample count or mass is out of range";
        else
            fault = v.is_table ? table_fault(&v, is_signed, params) : list_fault(&v, is_signed, params);
    }
    if (!fault)
        return SKETCH_OK;
    *reason = fault;
    return SKETCH_CORRUPT;
}

uint64_t hydra_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u64(bytes + 20);
}
