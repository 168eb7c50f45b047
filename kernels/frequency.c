#include "kernels/frequency.h"

#include "kernels/carve.h"
#include "kernels/fixed.h"
#include "kernels/recent.h"
#include "kernels/tally.h"
#include "kernels/top.h"

enum {
    HEAD_SIZE = 32,
    LIST = 1,
    REAL_LIST = 2,
    TABLE_FIRST = 3 /* + counter form - 1 */,
    REAL_TABLE = 5,
    CANDIDATES = 2,
    BLOCK = 256
};

/* One state's head. */
struct view {
    bool is_table, is_real;
    enum counter_form form; /* of a table's counters */
    uint64_t seed, n;
    struct mass mass;
    const uint8_t *body;
    size_t body_size;
};

/* States and items put together in scratch: exact while there are few. */
struct sum {
    const struct sketch_params *params;
    bool is_signed, is_table;
    uint64_t seed, n;
    struct mass mass;
    enum counter_form form;
    struct tally tally;
    void *cells; /* of a table; read through bytes as a state's are */
    uint8_t *rest;
};

int frequency_check_params(const struct sketch_params *params, bool has_heap, const char **reason)
{
    uint64_t cells = (uint64_t)params->depth * params->width;
    if (params->depth < 1 || params->depth > COUNTERS_DEPTH_MAX)
        *reason = "depth (rows of counters) must be from 1 to 16";
    else if (params->width < COUNTERS_WIDTH_MIN || cells > COUNTERS_CELLS_MAX)
        *reason = "width (counters a row) must be at least 8, depth * width at most 4194304";
    else if (!has_heap && params->heap != 0)
        *reason = "this family keeps no heaviest items: leave heap at 0";
    else if (has_heap && (params->heap < 1 || params->heap > FREQUENCY_HEAP_MAX || params->heap > cells / 4))
        *reason = "heap (heaviest items kept) must be from 1 to 4096 and at most depth * width / 4";
    else
        return SKETCH_OK;
    return SKETCH_BAD_DATA;
}

static size_t cells_of(const struct sketch_params *params)
{
    return (size_t)params->depth * params->width;
}

static uint32_t list_most(const struct sketch_params *params, uint64_t n)
{
    uint64_t most = cells_of(params) / 4;
    return (uint32_t)(n < most ? n : most);
}

size_t frequency_size_bound(const struct sketch_params *params, uint64_t n)
{
    uint32_t listed = list_most(params, n);
    size_t list = tally_list_bound(listed);
    size_t table = n > listed ? cells_of(params) * 8 + (size_t)params->heap * 8 : 0;
    return HEAD_SIZE + (list > table ? list : table);
}

/* A tally; a table; a heap, its candidates and their tally; recent items; the order of inputs. */
size_t frequency_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint32_t listed = list_most(params, n);
    size_t table = n > listed ? carve_size(cells_of(params) * 8) : 0;
    uint64_t heap = params->heap, near = n > listed ? CANDIDATES * heap : 0;
    return tally_room(listed) + table + 2 * carve_size(heap * 8) + 2 * carve_size(near * 8) + tally_room(near) +
           recent_room() + carve_size(k * sizeof(uint32_t));
}

static struct view view_of(const struct state_ref *s)
{
    uint8_t form = s->bytes[0];
    bool is_real = form == REAL_LIST || form == REAL_TABLE;
    return (struct view){.is_table = form >= TABLE_FIRST,
                         .is_real = is_real,
                         .form = (enum counter_form)(form - TABLE_FIRST + 1),
                         .seed = bits_load_u64(s->bytes + 8),
                         .n = bits_load_u64(s->bytes + 16),
                         .mass = counters_mass_load(s->bytes + 24, is_real),
                         .body = s->bytes + HEAD_SIZE,
                         .body_size = s->size - HEAD_SIZE};
}

static bool has_shape(const uint8_t *bytes, const struct sketch_params *params)
{
    return bytes[1] == params->depth && bits_load_u16(bytes + 2) == params->heap &&
           bits_load_u32(bytes + 4) == params->width;
}

/* --- putting together --- */

static inline __attribute__((always_inline)) void table_add(const struct sum *s, enum counter_form form, uint64_t hash,
                                                            uint64_t word)
{
    counters_add_item(s->cells, form, s->is_signed, s->params->depth, s->params->width, hash, word);
}

static void table_begin(struct sum *s)
{
    size_t size = cells_of(s->params) * counters_cell_size(s->form);
    s->is_table = true;
    s->cells = carve(&s->rest, size);
    memset(s->cells, 0, size);
}

/* The exact list becomes counters. */
static void spill(struct sum *s)
{
    table_begin(s);
    for (uint32_t i = 0; i < s->tally.n; i++)
        table_add(s, s->form, counters_hash(s->tally.items[i], s->seed), s->tally.words[i]);
}

static void sum_add(struct sum *s, uint64_t item, uint64_t word)
{
    uint64_t hash = counters_hash(item, s->seed);
    if (!s->is_table && tally_add(&s->tally, hash, item, word) != TALLY_NONE)
        return;
    if (!s->is_table)
        spill(s);
    table_add(s, s->form, hash, word);
}

static double sum_read(const struct sum *s, uint64_t item)
{
    uint64_t hash = counters_hash(item, s->seed);
    bool is_real = s->form == COUNTERS_REAL;
    if (!s->is_table) {
        uint32_t at = tally_find(&s->tally, hash, item);
        return at == TALLY_NONE ? 0 : counters_of_word(s->tally.words[at], is_real);
    }
    return counters_read_item(s->cells, s->form, s->is_signed, s->params->depth, s->params->width, hash);
}

static void sum_begin(struct sum *s, uint64_t n)
{
    s->form = counters_form(&s->mass, s->is_signed);
    s->tally = tally_new(&s->rest, list_most(s->params, n), s->form == COUNTERS_REAL);
}

/* Items into the table by blocks, row by row: a row's constants stay in registers. */
static inline __attribute__((always_inline)) void table_batch(const struct sum *s, enum counter_form form,
                                                              bool is_signed, const double *values,
                                                              const struct sketch_items *items, uint32_t from,
                                                              uint32_t n)
{
    const double *weights = items ? items->weights : NULL;
    uint32_t width = s->params->width;
    uint64_t hash[BLOCK], word[BLOCK];
    for (uint32_t run; from < n; from += run) {
        run = n - from < BLOCK ? n - from : BLOCK;
        for (uint32_t i = 0; i < run; i++) {
            hash[i] = counters_hash(frequency_item(values, items, from + i), s->seed);
            word[i] = counters_word(weights ? weights[from + i] : 1, form == COUNTERS_REAL);
        }
        for (uint32_t r = 0; r < s->params->depth; r++)
            for (uint32_t i = 0; i < run; i++) {
                uint64_t spread = counters_spread(hash[i], r);
                counters_add(s->cells, form, (size_t)r * width + counters_index(spread, width),
                             is_signed && counters_is_minus(spread), word[i]);
            }
    }
}

/* A batch's counters: the list while it may be one, then straight to the table. */
static void sum_batch(struct sum *s, const double *values, const struct sketch_items *items, uint32_t n)
{
    const double *weights = items ? items->weights : NULL;
    uint32_t i = 0;
    for (; i < n && !s->is_table; i++)
        sum_add(s, frequency_item(values, items, i), counters_word(weights ? weights[i] : 1, s->form == COUNTERS_REAL));
    if (i == n)
        return;
    if (s->form == COUNTERS_REAL)
        table_batch(s, COUNTERS_REAL, true, values, items, i, n);
    else if (s->form == COUNTERS_WIDE)
        table_batch(s, COUNTERS_WIDE, s->is_signed, values, items, i, n);
    else if (s->is_signed)
        table_batch(s, COUNTERS_NARROW, true, values, items, i, n);
    else
        table_batch(s, COUNTERS_NARROW, false, values, items, i, n);
}

/* Heads agree, and n and mass of the whole. */
static int sum_heads(struct sum *s, const struct state_ref *src, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i]);
        if (!has_shape(src[i].bytes, s->params) || v.seed != bits_load_u64(src[0].bytes + 8))
            return SKETCH_MISMATCH;
        s->n += v.n;
        if (s->n >= COUNTERS_N_END || counters_mass_add(&s->mass, &v.mass, s->is_signed) != SKETCH_OK)
            return SKETCH_BAD_DATA;
        s->seed = v.seed;
    }
    return SKETCH_OK;
}

/* All tables into one, a strip of counters at a time, so that a strip stays in the first cache over all inputs. */
static void add_tables(struct sum *s, const struct state_ref *src, const uint32_t *order, uint32_t k)
{
    size_t cells = cells_of(s->params), size = counters_cell_size(s->form);
    for (size_t at = 0; at < cells; at += COUNTERS_STRIP) {
        size_t run = cells - at < COUNTERS_STRIP ? cells - at : COUNTERS_STRIP;
        for (uint32_t i = 0; i < k; i++) {
            struct view v = view_of(fixed_at(src, order, i));
            if (v.is_table)
                counters_add_run((uint8_t *)s->cells + at * size, s->form, v.body + at * counters_cell_size(v.form),
                                 v.form, s->is_signed, run);
        }
    }
}

/* k >= 1 states as one sum. */
static int sum_states(struct sum *s, const struct state_ref *src, uint32_t k)
{
    int rc = sum_heads(s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    uint32_t *index = carve(&s->rest, k * sizeof *index);
    const uint32_t *order = NULL;
    sum_begin(s, s->n);
    if (s->form == COUNTERS_REAL) { /* the sums of doubles depend on their order */
        rc = fixed_order(src, k, 0, FIXED_BY_END, index, &order);
        if (rc != SKETCH_OK)
            return rc;
        s->mass.real = 0;
        for (uint32_t i = 0; i < k; i++)
            s->mass.real += view_of(fixed_at(src, order, i)).mass.real;
    }
    bool any_table = false;
    for (uint32_t i = 0; i < k; i++)
        any_table |= view_of(&src[i]).is_table;
    if (any_table) {
        table_begin(s);
        add_tables(s, src, order, k);
    }
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(fixed_at(src, order, i));
        if (v.is_table)
            continue;
        struct tally_list l = tally_open(v.body, v.body_size, s->is_signed, v.is_real);
        uint64_t item, word;
        while (tally_next(&l, &item, &word)) {
            if (s->form == COUNTERS_REAL && !v.is_real)
                word = bits_of_f64((double)(int64_t)word);
            sum_add(s, item, word);
        }
    }
    return SKETCH_OK;
}

/* --- the heaviest --- */

/* Offers what the states know by name: lists' items, tables' heaps. */
static void offer_states(const struct sum *s, struct top *t, const struct state_ref *src, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i]);
        const uint8_t *named = v.body + 4;
        uint32_t n = v.is_table ? s->params->heap : bits_load_u32(v.body);
        if (v.is_table)
            named = v.body + cells_of(s->params) * counters_cell_size(v.form);
        for (uint32_t j = 0; j < n; j++) {
            uint64_t item = bits_load_u64(named + 8 * (size_t)j);
            top_offer(t, item, sum_read(s, item));
        }
    }
}

static struct top heap_new(struct sum *s, uint32_t most)
{
    struct top t = {.most = most};
    t.items = carve(&s->rest, (uint64_t)t.most * 8);
    t.estimates = carve(&s->rest, (uint64_t)t.most * 8);
    return t;
}

/* The heaviest of a batch: twice as many as are kept by the counters' estimates, of these the heaviest by an exact
 * count, so that noise between near equals loses none. */
static void offer_batch(struct sum *s, struct top *heap, const double *values, const struct sketch_items *items,
                        uint32_t n)
{
    const double *weights = items ? items->weights : NULL;
    bool is_real = s->form == COUNTERS_REAL;
    struct top near = heap_new(s, CANDIDATES * heap->most);
    struct recent recent = recent_new(&s->rest);
    recent_clear(&recent);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t item = frequency_item(values, items, i);
        if (!recent_saw(&recent, counters_hash(item, s->seed), item))
            top_offer(&near, item, sum_read(s, item));
    }
    struct tally exact = tally_new(&s->rest, near.n, is_real);
    for (uint32_t i = 0; i < near.n; i++)
        tally_add(&exact, counters_hash(near.items[i], s->seed), near.items[i], 0);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t item = frequency_item(values, items, i);
        uint32_t at = tally_find(&exact, counters_hash(item, s->seed), item);
        if (at != TALLY_NONE)
            exact.words[at] =
                counters_word_add(exact.words[at], counters_word(weights ? weights[i] : 1, is_real), is_real);
    }
    for (uint32_t i = 0; i < exact.n; i++)
        top_offer(heap, exact.items[i], counters_of_word(exact.words[i], is_real));
}

/* --- bytes --- */

static int sum_write(struct sum *s, uint8_t *dst, size_t cap, size_t *ret_size, struct top *heap)
{
    size_t table = cells_of(s->params) * counters_cell_size(s->form);
    if (cap < HEAD_SIZE + (s->is_table ? table + (size_t)heap->n * 8 : tally_list_bound(s->tally.n)))
        return SKETCH_NO_ROOM;
    dst[0] = s->is_table ? (uint8_t)(TABLE_FIRST + (uint8_t)s->form - 1) : s->form == COUNTERS_REAL ? REAL_LIST : LIST;
    dst[1] = (uint8_t)s->params->depth;
    bits_store_u16(dst + 2, (uint16_t)s->params->heap);
    bits_store_u32(dst + 4, s->params->width);
    bits_store_u64(dst + 8, s->seed);
    bits_store_u64(dst + 16, s->n);
    counters_mass_store(dst + 24, &s->mass);
    uint8_t *p = dst + HEAD_SIZE;
    if (!s->is_table) {
        *ret_size = (size_t)(tally_write(&s->tally, s->is_signed, s->seed, p, s->rest) - dst);
        return SKETCH_OK;
    }
    memcpy(p, s->cells, table);
    top_sort_items(heap);
    memcpy(p + table, heap->items, (size_t)heap->n * 8);
    *ret_size = HEAD_SIZE + table + (size_t)heap->n * 8;
    return SKETCH_OK;
}

int frequency_build(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                    const double *values, const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch)
{
    struct sum s = {.params = params, .is_signed = is_signed, .seed = seed, .n = n, .rest = scratch};
    if (n == 0)
        return SKETCH_BAD_DATA;
    int rc = counters_weigh(items ? items->weights : NULL, n, is_signed, &s.mass);
    if (rc != SKETCH_OK)
        return rc;
    sum_begin(&s, n);
    struct top heap = heap_new(&s, params->heap);
    sum_batch(&s, values, items, n);
    if (s.is_table && params->heap > 0)
        offer_batch(&s, &heap, values, items, n);
    return sum_write(&s, dst, cap, ret_size, &heap);
}

int frequency_merge(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                    const struct state_ref *src, uint32_t k, void *scratch)
{
    struct sum s = {.params = params, .is_signed = is_signed, .rest = scratch};
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = sum_states(&s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    struct top heap = heap_new(&s, params->heap);
    if (s.is_table && params->heap > 0)
        offer_states(&s, &heap, src, k);
    return sum_write(&s, dst, cap, ret_size, &heap);
}

/* --- readouts --- */

/* One item's weight: of each row the counter over all states, before one row is chosen; lists know it exactly. */
static int read_point(const struct sum *s, const struct state_ref *src, uint32_t k, uint64_t item, double *ret)
{
    uint32_t depth = s->params->depth, width = s->params->width;
    uint64_t hash = counters_hash(item, s->seed);
    int64_t whole[COUNTERS_DEPTH_MAX] = {0}; /* below the masses' sum, which sum_heads has seen to be below 2^62 */
    double real[COUNTERS_DEPTH_MAX] = {0}, rows[COUNTERS_DEPTH_MAX], listed_real = 0, least = INFINITY;
    int64_t listed = 0;
    bool is_real = s->mass.is_real;
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i]);
        if (!v.is_table) {
            uint64_t word = tally_lookup(tally_open(v.body, v.body_size, s->is_signed, v.is_real), item);
            if (is_real)
                listed_real += counters_of_word(word, v.is_real);
            else
                listed += (int64_t)word;
            continue;
        }
        for (uint32_t r = 0; r < depth; r++) {
            size_t at = (size_t)r * width + counters_index(counters_spread(hash, r), width);
            if (is_real)
                real[r] += counters_value(v.body, v.form, s->is_signed, at);
            else
                whole[r] += counters_whole(v.body, v.form, s->is_signed, at);
        }
    }
    for (uint32_t r = 0; r < depth; r++) {
        double row = is_real ? real[r] : (double)whole[r];
        rows[r] = s->is_signed && counters_is_minus(counters_spread(hash, r)) ? -row : row;
        least = rows[r] < least ? rows[r] : least;
    }
    *ret = (s->is_signed ? counters_median(rows, depth) : least) + (is_real ? listed_real : (double)listed);
    return SKETCH_OK;
}

/* Exact from a list. */
static double read_norm(const struct sum *s)
{
    if (s->is_table)
        return counters_norm(s->cells, s->form, s->params->depth, s->params->width);
    double squares = 0;
    for (uint32_t i = 0; i < s->tally.n; i++) {
        double v = counters_of_word(s->tally.words[i], s->form == COUNTERS_REAL);
        squares += v * v;
    }
    return sqrt(squares);
}

int frequency_estimate(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                       enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct sum s = {.params = params, .is_signed = is_signed, .rest = scratch};
    bool is_norm = statistic == STATISTIC_L2 && is_signed;
    if (!is_norm && statistic != STATISTIC_COUNT && statistic != STATISTIC_POINT_COUNT &&
        (statistic != STATISTIC_L1 || is_signed))
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    int rc = is_norm ? sum_states(&s, src, k) : sum_heads(&s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    if (statistic == STATISTIC_POINT_COUNT)
        return args ? read_point(&s, src, k, args->key, ret) : SKETCH_BAD_DATA;
    *ret = statistic == STATISTIC_COUNT ? (double)s.n : is_norm ? read_norm(&s) : (double)s.mass.whole;
    return SKETCH_OK;
}

int frequency_top(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                  uint32_t most, uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    struct sum s = {.params = params, .is_signed = is_signed, .rest = scratch};
    struct top t = {.items = ret_items, .estimates = ret_estimates, .most = most};
    if (k > 0) {
        int rc = sum_states(&s, src, k);
        if (rc != SKETCH_OK)
            return rc;
        offer_states(&s, &t, src, k);
        top_sort(&t);
    }
    *ret_n = t.n;
    return SKETCH_OK;
}

/* --- validation --- */

static const char *table_fault(const struct view *v, bool is_signed, const struct sketch_params *params)
{
    size_t row_size = params->width * counters_cell_size(v->form), table = params->depth * row_size;
    if (v->form != counters_form(&v->mass, is_signed))
        return "counters are wider or narrower than their mass";
    if (v->n <= cells_of(params) / 4)
        return "a table stands where a list is due";
    if (v->body_size != table + (size_t)params->heap * 8)
        return "a table's size does not fit its shape";
    for (uint32_t r = 0; r < params->depth; r++)
        if (!counters_row_possible(v->body + r * row_size, v->form, is_signed, params->width, &v->mass, true))
            return "a row of counters does not add up to the mass";
    for (uint32_t i = 1; i < params->heap; i++)
        if (bits_load_u64(v->body + table + 8 * (size_t)(i - 1)) >= bits_load_u64(v->body + table + 8 * (size_t)i))
            return "the heaviest items do not rise";
    return NULL;
}

static const char *list_fault(const struct view *v, bool is_signed, const struct sketch_params *params)
{
    struct mass listed;
    const char *fault = tally_validate(v->body, v->body_size, is_signed, v->is_real, list_most(params, v->n), &listed);
    if (fault)
        return fault;
    if (bits_load_u32(v->body) == 0)
        return "a list holds no item";
    uint64_t whole = v->mass.whole;
    if (v->is_real  ? !(listed.real <= 2 * v->mass.real) /* rounding is far from that */
        : is_signed ? listed.whole > whole || (whole - listed.whole) % 2 != 0
                    : listed.whole != whole)
        return "listed weights do not add up to the mass";
    return NULL;
}

int frequency_validate(bool is_signed, const uint8_t *bytes, size_t n, const struct sketch_params *params,
                       const char **reason)
{
    const char *fault = NULL;
    if (n < HEAD_SIZE + 4) {
        fault = "a state of counters is cut short";
    } else if (bytes[0] < LIST || bytes[0] > REAL_TABLE ||
               (!is_signed && (bytes[0] == REAL_LIST || bytes[0] == REAL_TABLE))) {
        fault = "the form of a state of counters is unknown";
    } else if (!has_shape(bytes, params)) {
        fault = "a state of counters was built with another depth, width or heap";
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

uint32_t frequency_flags(const uint8_t *bytes, size_t n)
{
    return 0;
}

uint64_t frequency_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u64(bytes + 16);
}
