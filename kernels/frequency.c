#include "kernels/frequency.h"

#include "kernels/carve.h"
#include "kernels/counted.h"
#include "kernels/fixed.h"
#include "kernels/offers.h"
#include "kernels/recent.h"
#include "kernels/tally.h"

enum { HEAD_SIZE = 32, CANDIDATES = 2 };

/* States and items put together in scratch: exact while there are few. */
struct sum {
    const struct sketch_params *params;
    struct counted_shape shape;
    struct counted_total total;
    bool is_table;
    enum counter_form form;
    struct tally tally;
    void *cells; /* of a table; read through bytes as a state's are */
    uint8_t *rest;
};

static int check_params(const struct sketch_params *params, bool has_heap, const char **reason)
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

int frequency_check_plain(const struct sketch_params *params, const char **reason)
{
    return check_params(params, false, reason);
}

int frequency_check_heap(const struct sketch_params *params, const char **reason)
{
    return check_params(params, true, reason);
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
           recent_room() + carve_size(k * sizeof(uint32_t)) + carve_size(k * sizeof(struct counters_table));
}

/* --- putting together --- */

static struct sum sum_new(bool is_signed, const struct sketch_params *params, void *scratch)
{
    return (struct sum){.params = params, .shape = counted_shape(params, is_signed), .rest = scratch};
}

static void sum_begin(struct sum *s)
{
    s->form = counters_form(&s->total.mass, s->shape.is_signed);
    s->tally = tally_new(&s->rest, list_most(s->params, s->total.n), s->form == COUNTERS_REAL);
}

static void table_add(const struct sum *s, const uint64_t *hashes, const uint64_t *words, size_t n)
{
    counters_add_items(s->cells, s->form, s->shape.is_signed, s->params->depth, s->params->width, hashes, words, n);
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
    uint64_t hashes[COUNTERS_BATCH];
    table_begin(s);
    for (uint32_t i = 0, run; i < s->tally.n; i += run) {
        run = s->tally.n - i < COUNTERS_BATCH ? s->tally.n - i : COUNTERS_BATCH;
        counters_ops.hashes(hashes, s->tally.items + i, run, s->total.seed);
        table_add(s, hashes, s->tally.words + i, run);
    }
}

/* Items, at most COUNTERS_BATCH: to the list while it may be one, else to the table. words NULL: a weight of 1 each. */
static void sum_add(struct sum *s, const uint64_t *items, const uint64_t *words, uint32_t n)
{
    uint64_t hashes[COUNTERS_BATCH];
    uint32_t i = 0;
    counters_ops.hashes(hashes, items, n, s->total.seed);
    for (; i < n && !s->is_table; i++)
        if (tally_add(&s->tally, hashes[i], items[i], words ? words[i] : 1) == TALLY_NONE) {
            spill(s);
            break;
        }
    if (i < n)
        table_add(s, hashes + i, words ? words + i : NULL, n - i);
}

/* k >= 1 states as one sum: tables first, then lists. */
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
        table_begin(s);
        counters_add_tables(s->cells, s->form, tables, tables_n, s->shape.is_signed, cells_of(s->params));
    }
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(fixed_at(src, order, i), &s->shape);
        if (v.is_table)
            continue;
        struct tally_list l = tally_open(v.body, v.body_size, s->shape.is_signed, v.is_real);
        uint64_t items[COUNTERS_BATCH], words[COUNTERS_BATCH];
        for (uint32_t n; (n = tally_next_many(&l, COUNTERS_BATCH, s->form == COUNTERS_REAL, items, words)) > 0;)
            sum_add(s, items, words, n);
    }
    return SKETCH_OK;
}

/* --- the heaviest --- */

static struct top heap_new(struct sum *s, uint32_t most)
{
    struct top t = {.most = most};
    t.items = carve(&s->rest, (uint64_t)t.most * 8);
    t.estimates = carve(&s->rest, (uint64_t)t.most * 8);
    return t;
}

static struct offers offers_to(struct top *t, const struct sum *s)
{
    return (struct offers){.top = t,
                           .cells = s->cells,
                           .form = s->form,
                           .is_signed = s->shape.is_signed,
                           .depth = s->params->depth,
                           .width = s->params->width};
}

/* Offers what the states know by name: lists' items, tables' heaps. The sum is a table. */
static void offer_states(const struct sum *s, struct top *t, const struct state_ref *src, uint32_t k)
{
    struct offers o = offers_to(t, s);
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(&src[i], &s->shape);
        const uint8_t *named = v.body + 4;
        uint32_t n = v.is_table ? s->params->heap : bits_load_u32(v.body);
        if (v.is_table)
            named = v.body + cells_of(s->params) * counters_cell_size(v.form);
        for (uint32_t j = 0; j < n; j++) {
            uint64_t item = bits_load_u64(named + 8 * (size_t)j);
            offers_add(&o, item, counters_hash(item, s->total.seed));
        }
    }
    offers_flush(&o);
}

/* The items of a batch that are not repeats of a moment ago. */
static void offer_batch(struct sum *s, struct top *t, struct counted_batch b)
{
    struct offers o = offers_to(t, s);
    struct recent recent = recent_new(&s->rest);
    uint64_t hashes[COUNTERS_BATCH];
    const uint64_t *items;
    recent_clear(&recent);
    while ((items = counted_next(&b))) {
        counters_ops.hashes(hashes, items, b.run, s->total.seed);
        for (uint32_t i = 0; i < b.run; i++)
            if (!recent_saw(&recent, hashes[i], items[i]))
                offers_add(&o, items[i], hashes[i]);
    }
    offers_flush(&o);
}

/* The heaviest of a batch: twice as many as are kept by the counters' estimates, of these the heaviest by an exact
 * count, so that noise between near equals loses none. */
static void heap_batch(struct sum *s, struct top *heap, struct counted_batch b)
{
    bool is_real = s->form == COUNTERS_REAL;
    uint64_t hashes[COUNTERS_BATCH];
    const uint64_t *items;
    struct top near = heap_new(s, CANDIDATES * heap->most);
    offer_batch(s, &near, b);
    struct tally exact = tally_new(&s->rest, near.n, is_real);
    for (uint32_t i = 0; i < near.n; i++)
        tally_add(&exact, counters_hash(near.items[i], s->total.seed), near.items[i], 0);
    while ((items = counted_next(&b))) {
        counters_ops.hashes(hashes, items, b.run, s->total.seed);
        const uint64_t *words = counted_words(&b, is_real);
        for (uint32_t i = 0; i < b.run; i++) {
            uint32_t at = tally_find(&exact, hashes[i], items[i]);
            if (at != TALLY_NONE)
                exact.words[at] = counters_word_add(exact.words[at], words ? words[i] : 1, is_real);
        }
    }
    for (uint32_t i = 0; i < exact.n; i++)
        top_offer(heap, exact.items[i], counters_of_word(exact.words[i], is_real));
}

/* --- bytes --- */

static int sum_write(struct sum *s, uint8_t *dst, size_t cap, size_t *ret_size, struct top *heap)
{
    size_t table = cells_of(s->params) * counters_cell_size(s->form), heap_size = (size_t)heap->n * 8;
    if (cap < HEAD_SIZE + (s->is_table ? table + heap_size : tally_list_bound(s->tally.n)))
        return SKETCH_NO_ROOM;
    uint8_t *p = counted_store(dst, counted_form(s->is_table, s->form), &s->shape, &s->total);
    if (s->is_table) {
        memcpy(p, s->cells, table);
        top_sort_items(heap);
        memcpy(p + table, heap->items, heap_size);
        p += table + heap_size;
    } else {
        p = tally_write(&s->tally, s->shape.is_signed, s->total.seed, p, s->rest);
    }
    *ret_size = (size_t)(p - dst);
    return SKETCH_OK;
}

int frequency_build(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                    const double *values, const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch)
{
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
    struct top heap = heap_new(&s, params->heap);
    for (const uint64_t *item; (item = counted_next(&b));)
        sum_add(&s, item, counted_words(&b, s.form == COUNTERS_REAL), b.run);
    if (s.is_table && params->heap > 0)
        heap_batch(&s, &heap, counted_batch(values, items, n));
    return sum_write(&s, dst, cap, ret_size, &heap);
}

int frequency_merge(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                    const struct state_ref *src, uint32_t k, void *scratch)
{
    struct sum s = sum_new(is_signed, params, scratch);
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

static double read_point(const struct sum *s, const struct state_ref *src, uint32_t k, uint64_t item)
{
    struct counted_place place[COUNTERS_DEPTH_MAX];
    uint64_t hash = counters_hash(item, s->total.seed);
    uint32_t width = s->params->width;
    for (uint32_t r = 0; r < s->params->depth; r++) {
        uint64_t spread = counters_spread(hash, r);
        bool minus = s->shape.is_signed && counters_is_minus(spread);
        place[r] = (struct counted_place){(size_t)r * width + counters_index(spread, width), minus};
    }
    return counted_point(&s->total, src, k, &s->shape, item, place, s->params->depth);
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
    struct sum s = sum_new(is_signed, params, scratch);
    bool is_norm = statistic == STATISTIC_L2 && is_signed, is_point = statistic == STATISTIC_POINT_COUNT;
    if (!is_norm && statistic != STATISTIC_COUNT && (!is_point || !args) && (statistic != STATISTIC_L1 || is_signed))
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    int rc = is_norm ? sum_states(&s, src, k) : counted_heads(&s.total, src, k, &s.shape);
    if (rc != SKETCH_OK)
        return rc;
    *ret = is_point                       ? read_point(&s, src, k, args->key)
           : is_norm                      ? read_norm(&s)
           : statistic == STATISTIC_COUNT ? (double)s.total.n
                                          : (double)s.total.mass.whole;
    return SKETCH_OK;
}

int frequency_top(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                  uint32_t most, uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    struct sum s = sum_new(is_signed, params, scratch);
    struct top t = {.items = ret_items, .estimates = ret_estimates, .most = most};
    if (k > 0) {
        int rc = sum_states(&s, src, k);
        if (rc != SKETCH_OK)
            return rc;
        if (s.is_table)
            offer_states(&s, &t, src, k);
        for (uint32_t i = 0; !s.is_table && i < s.tally.n; i++)
            top_offer(&t, s.tally.items[i], counters_of_word(s.tally.words[i], s.form == COUNTERS_REAL));
        top_sort(&t);
    }
    *ret_n = t.n;
    return SKETCH_OK;
}

/* --- validation --- */

static const char *table_fault(const struct counted_view *v, const struct sum *s)
{
    const struct sketch_params *p = s->params;
    size_t row_size = p->width * counters_cell_size(v->form), table = p->depth * row_size;
    const char *fault = counted_table_fault(v, &s->shape, cells_of(p), (size_t)p->heap * 8, list_most(p, UINT64_MAX));
    for (uint32_t r = 0; !fault && r < p->depth; r++)
        if (!counters_row_possible(v->body + r * row_size, v->form, s->shape.is_signed, p->width, &v->total.mass, true))
            fault = "a row of counters does not add up to the mass";
    for (uint32_t i = 1; !fault && i < p->heap; i++)
        if (bits_load_u64(v->body + table + 8 * (size_t)(i - 1)) >= bits_load_u64(v->body + table + 8 * (size_t)i))
            fault = "the heaviest items do not rise";
    return fault;
}

static const char *list_fault(const struct counted_view *v, const struct sum *s)
{
    struct mass listed;
    const char *fault = tally_validate(v->body, v->body_size, s->shape.is_signed, v->is_real,
                                       list_most(s->params, v->total.n), &listed);
    if (!fault && bits_load_u32(v->body) == 0)
        fault = "a list holds no item";
    return fault ? fault : counted_list_fault(v, &s->shape, &listed);
}

int frequency_validate(bool is_signed, const uint8_t *bytes, size_t n, const struct sketch_params *params,
                       const char **reason)
{
    struct sum s = sum_new(is_signed, params, NULL);
    const char *fault = counted_head_fault(bytes, n, &s.shape, COUNTED_REAL);
    if (!fault) {
        struct counted_view v = counted_view(&(struct state_ref){bytes, (uint32_t)n, 0}, &s.shape);
        fault = v.is_table ? table_fault(&v, &s) : list_fault(&v, &s);
    }
    return fault ? fixed_corrupt(reason, fault) : SKETCH_OK;
}

uint32_t frequency_flags(const uint8_t *bytes, size_t n)
{
    return 0;
}

uint64_t frequency_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u64(bytes + 16);
}
