/* States and items of UnivMon put together, and the heaviest of them. */
#include "kernels/carve.h"
#include "kernels/order.h"
#include "kernels/univmon.h"

enum { SPARE = 8 /* levels beyond log2(n / listed) */ };

uint32_t univmon_levels_most(const struct sketch_params *params, uint64_t n)
{
    uint64_t listed = univmon_cells(params) / 4;
    return n <= listed ? 0 : bits_width(n / listed) + SPARE;
}

static size_t level_size(const struct univmon_view *v, const struct sketch_params *params)
{
    return univmon_cells(params) * counters_cell_size(v->form) + (size_t)params->heap * 8;
}

struct univmon_view univmon_view(const struct state_ref *s, const struct sketch_params *params)
{
    const uint8_t *b = s->bytes;
    struct univmon_view v = {.form = (enum counter_form)b[0],
                             .seed = bits_load_u64(b + 8),
                             .n = bits_load_u64(b + 16),
                             .mass = bits_load_u64(b + 24),
                             .levels = b[32],
                             .tables = b + UNIVMON_HEAD_SIZE};
    v.list = v.tables + v.levels * level_size(&v, params);
    v.list_size = (size_t)(b + s->size - v.list);
    return v;
}

const uint8_t *univmon_table(const struct univmon_view *v, const struct sketch_params *params, uint32_t l)
{
    return v->tables + l * level_size(v, params);
}

size_t univmon_sum_room(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint32_t levels = univmon_levels_most(params, n);
    size_t level = carve_size(univmon_cells(params) * 8) + 2 * carve_size((uint64_t)params->heap * 8);
    return levels * level + carve_size(levels * sizeof(struct top)) + tally_room(univmon_list_most(params, n)) +
           carve_size(k * sizeof(struct counters_table));
}

struct univmon_sum univmon_sum_new(const struct sketch_params *params, uint32_t kept, bool needs_list, void *scratch)
{
    return (struct univmon_sum){.params = params,
                                .shape = counted_shape(params, false),
                                .kept = kept,
                                .needs_list = needs_list,
                                .rest = scratch};
}

void univmon_sum_begin(struct univmon_sum *s)
{
    const struct sketch_params *p = s->params;
    s->form = counters_form(&s->total.mass, true);
    s->levels_most = univmon_levels_most(p, s->total.n);
    s->table_size = univmon_cells(p) * counters_cell_size(s->form);
    s->tables = carve(&s->rest, s->levels_most * s->table_size);
    s->heaps = carve(&s->rest, s->levels_most * sizeof *s->heaps);
    s->tally = tally_new(&s->rest, univmon_list_most(p, s->total.n), false);
}

/* --- items --- */

/* Items on their way down the levels, so many that a level's counters come into the first cache for all of them. */
struct falling {
    uint32_t n;
    uint64_t items[UNIVMON_BATCH], words[UNIVMON_BATCH], hashes[UNIVMON_BATCH];
    uint8_t levels[UNIVMON_BATCH];
};

static void falling_begin(struct falling *f, const uint64_t *items, const uint64_t *words, uint32_t n, uint64_t seed)
{
    f->n = n;
    memcpy(f->items, items, n * sizeof *items);
    if (words)
        memcpy(f->words, words, n * sizeof *words);
    else
        memset(f->words, 0, n * sizeof *words);
    counters_ops.hashes(f->hashes, f->items, n, seed);
    for (uint32_t i = 0; i < n; i++)
        f->levels[i] = (uint8_t)univmon_level(f->hashes[i]);
}

/* Those from `from` on that reach beyond the level stay; no branch depends on which they are. */
static void falling_pass(struct falling *f, uint32_t from, uint32_t level)
{
    uint32_t kept = 0;
    for (uint32_t i = from; i < f->n; i++) {
        uint8_t deepest = f->levels[i];
        f->items[kept] = f->items[i];
        f->words[kept] = f->words[i];
        f->hashes[kept] = f->hashes[i];
        f->levels[kept] = deepest;
        kept += deepest > level;
    }
    f->n = kept;
}

static void table_add(const struct univmon_sum *s, uint32_t l, const uint64_t *hashes, const uint64_t *words, size_t n)
{
    const struct sketch_params *p = s->params;
    for (size_t at = 0, run; l < s->kept && at < n; at += run) {
        run = n - at < COUNTERS_BATCH ? n - at : COUNTERS_BATCH;
        counters_add_items(univmon_counters(s, l), s->form, true, p->depth, p->width, hashes + at, words + at, run);
    }
}

/* The list's level gets counters; the items of the next one stay listed. False: no level is left. */
static bool promote(struct univmon_sum *s)
{
    struct tally *t = &s->tally;
    uint32_t items = t->n, level = s->levels;
    struct falling f;
    if (level == s->levels_most)
        return false;
    if (level < s->kept)
        memset(univmon_counters(s, level), 0, s->table_size);
    s->levels++;
    tally_clear(t);
    for (uint32_t at = 0, run; at < items; at += run) { /* what stays moves down in the same arrays, never past `at` */
        run = items - at < UNIVMON_BATCH ? items - at : UNIVMON_BATCH;
        falling_begin(&f, t->items + at, t->words + at, run, s->total.seed);
        table_add(s, level, f.hashes, f.words, run);
        falling_pass(&f, 0, level);
        for (uint32_t i = 0; i < f.n; i++)
            tally_add(t, f.hashes[i], f.items[i], f.words[i]);
    }
    return true;
}

int univmon_sum_add(struct univmon_sum *s, const uint64_t *items, const uint64_t *words, uint32_t n, uint32_t from)
{
    struct falling f;
    falling_begin(&f, items, words, n, s->total.seed);
    for (uint32_t l = from; f.n > 0 && (l < s->kept || s->needs_list); l++) {
        uint32_t listed = 0;
        if (l == s->levels) {
            while (listed < f.n &&
                   tally_add(&s->tally, f.hashes[listed], f.items[listed], f.words[listed]) != TALLY_NONE)
                listed++;
            if (listed == f.n)
                break;
            if (!promote(s))
                return SKETCH_BAD_DATA;
        }
        table_add(s, l, f.hashes + listed, f.words + listed, f.n - listed);
        falling_pass(&f, listed, l);
    }
    return SKETCH_OK;
}

int univmon_sum_states(struct univmon_sum *s, const struct state_ref *src, uint32_t k)
{
    int rc = counted_heads(&s->total, src, k, &s->shape);
    if (rc != SKETCH_OK)
        return rc;
    univmon_sum_begin(s);
    for (uint32_t i = 0; i < k; i++)
        s->levels = src[i].bytes[32] > s->levels ? src[i].bytes[32] : s->levels;
    struct counters_table *tables = carve(&s->rest, k * sizeof *tables);
    for (uint32_t l = 0; l < s->levels && l < s->kept; l++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < k; i++) {
            struct univmon_view v = univmon_view(&src[i], s->params);
            if (l < v.levels)
                tables[n++] = (struct counters_table){univmon_table(&v, s->params, l), v.form};
        }
        memset(univmon_counters(s, l), 0, s->table_size);
        counters_add_tables(univmon_counters(s, l), s->form, tables, n, true, univmon_cells(s->params));
    }
    for (uint32_t i = 0; i < k; i++) {
        struct univmon_view v = univmon_view(&src[i], s->params);
        struct tally_list list = tally_open(v.list, v.list_size, false, false);
        uint64_t items[UNIVMON_BATCH], words[UNIVMON_BATCH];
        if (v.levels >= s->kept && !s->needs_list)
            continue;
        for (uint32_t n; (n = tally_next_many(&list, UNIVMON_BATCH, false, items, words)) > 0;)
            if ((rc = univmon_sum_add(s, items, words, n, v.levels)) != SKETCH_OK)
                return rc;
    }
    return SKETCH_OK;
}

/* --- the heaviest --- */

void univmon_heaps_begin(struct univmon_sum *s)
{
    for (uint32_t l = 0; l < s->levels && l < s->kept; l++) {
        struct top *t = &s->heaps[l];
        *t = (struct top){.most = s->params->heap};
        t->items = carve(&s->rest, (uint64_t)t->most * 8);
        t->estimates = carve(&s->rest, (uint64_t)t->most * 8);
    }
}

void univmon_offer(struct univmon_sum *s, const uint64_t *items, uint32_t n, uint32_t from, uint32_t to)
{
    const struct sketch_params *p = s->params;
    struct falling f;
    double estimates[COUNTERS_BATCH];
    falling_begin(&f, items, NULL, n, s->total.seed);
    for (uint32_t l = from; f.n > 0 && l < s->levels && l < s->kept && l <= to; l++) {
        struct top *t = &s->heaps[l];
        for (uint32_t at = 0, run; at < f.n; at += run) {
            run = f.n - at < COUNTERS_BATCH ? f.n - at : COUNTERS_BATCH;
            counters_read_items(univmon_counters(s, l), s->form, true, p->depth, p->width, f.hashes + at, run,
                                estimates);
            for (uint32_t i = 0; i < run; i++)
                top_offer(t, f.items[at + i], estimates[i]);
        }
        falling_pass(&f, 0, l);
    }
}

/* A state's heap of level l. */
static void offer_heap(struct univmon_sum *s, const uint8_t *heap, uint32_t l)
{
    uint64_t items[UNIVMON_BATCH];
    for (uint32_t at = 0, run; at < s->params->heap; at += run) {
        run = s->params->heap - at < UNIVMON_BATCH ? s->params->heap - at : UNIVMON_BATCH;
        memcpy(items, heap + 8 * (size_t)at, 8 * (size_t)run);
        univmon_offer(s, items, run, l, l);
    }
}

/* The items of a list that weigh at least that much, for levels from v's on. */
static void offer_listed(struct univmon_sum *s, const struct univmon_view *v, uint64_t least)
{
    struct tally_list list = tally_open(v->list, v->list_size, false, false);
    uint64_t items[UNIVMON_BATCH], words[UNIVMON_BATCH], heavy[UNIVMON_BATCH];
    uint32_t heavy_n = 0;
    for (uint32_t n; (n = tally_next_many(&list, UNIVMON_BATCH, false, items, words)) > 0;) {
        if (heavy_n + n > UNIVMON_BATCH) {
            univmon_offer(s, heavy, heavy_n, v->levels, s->levels);
            heavy_n = 0;
        }
        for (uint32_t i = 0; i < n; i++) {
            heavy[heavy_n] = items[i];
            heavy_n += words[i] >= least;
        }
    }
    univmon_offer(s, heavy, heavy_n, v->levels, s->levels);
}

/* The weight of the `heap`-th heaviest of the sum's list, 0 when it has fewer: no full heap's least is below it, but
 * for noise, since what is listed is in every level. */
static uint64_t listed_heavy(struct univmon_sum *s)
{
    uint8_t *rest = s->rest;
    const struct tally *t = &s->tally;
    uint64_t *words = carve(&rest, (uint64_t)t->n * 8), *tmp = carve(&rest, (uint64_t)t->n * 8);
    if (t->n < s->params->heap)
        return 0;
    memcpy(words, t->words, (uint64_t)t->n * 8);
    order_select(words, t->n, t->n - s->params->heap, tmp);
    return words[t->n - s->params->heap];
}

/*
 * To each level its heaps, and the lists of states that have no counters for it (what is listed and heavy in a lower
 * level is in that one's heap). Most listed items need no look at counters: with T the weight that listed_heavy says,
 * and k lists, whatever weighs T in all of them weighs T / k in one. So what is offered depends on the set of states
 * alone, not on their order.
 */
void univmon_offer_states(struct univmon_sum *s, const struct state_ref *src, uint32_t k)
{
    uint64_t least = s->needs_list ? listed_heavy(s) / k : 0;
    univmon_heaps_begin(s);
    for (uint32_t i = 0; i < k; i++) {
        struct univmon_view v = univmon_view(&src[i], s->params);
        size_t cells = univmon_cells(s->params) * counters_cell_size(v.form);
        for (uint32_t l = 0; l < v.levels && l < s->kept; l++)
            offer_heap(s, univmon_table(&v, s->params, l) + cells, l);
        if (v.levels < s->levels && v.levels < s->kept)
            offer_listed(s, &v, least);
    }
}
