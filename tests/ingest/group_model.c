#include "ingest/group_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/bytes.h"

const struct model_view_definition model_views[MODEL_VIEWS] = {
    [VIEW_SUM] = {"m", FAMILY_SUM, {0}, {INPUT_VALUE}, {STR("g")}, 1},
    [VIEW_COUNT] = {"m", FAMILY_COUNT, {0}, {INPUT_VALUE}, {{0}}, 0},
    [VIEW_MIN] = {"m", FAMILY_MIN, {0}, {INPUT_VALUE}, {STR("g")}, 1},
    [VIEW_MAX] = {"m", FAMILY_MAX, {0}, {INPUT_VALUE}, {STR("g"), STR("h")}, 2},
    [VIEW_HEAVY] =
        {"m", FAMILY_CMS_HEAP, {.depth = 4, .width = 256, .heap = 8}, {INPUT_LABEL, STR("l")}, {STR("g")}, 1},
    [VIEW_NORM] = {"m", FAMILY_COUNTSKETCH_HEAP, {.depth = 5, .width = 256, .heap = 8}, {INPUT_SERIES}, {STR("g")}, 1},
    [VIEW_KMV] = {"m", FAMILY_KMV, {.k = 64}, {INPUT_LABEL, STR("l")}, {{0}}, 0},
    [VIEW_HLL] = {"m", FAMILY_HLL, {.p = 10}, {INPUT_LABEL, STR("l")}, {STR("h")}, 1},
    [VIEW_UNIVMON] = {"m", FAMILY_UNIVMON, {.depth = 3, .width = 64, .heap = 8}, {INPUT_SERIES}, {STR("g")}, 1},
    [VIEW_OTHER] = {"n", FAMILY_SUM, {0}, {INPUT_VALUE}, {STR("g")}, 1},
    [VIEW_ONE_BY_ONE] = {"m", FAMILY_SUM, {0}, {INPUT_VALUE}, {{0}}, 0, true},
};

/* ---- the plan ---- */

static uint32_t add_source(struct plan *p, struct plan_source *sources, const char *metric)
{
    struct matcher name = {.name = STR("__name__"), .op = MATCH_EQ, .value = str_of(metric)};
    struct err e = {0};
    ck_assert_int_eq(plan_add_matchers(p, &name, 1, &sources[p->sources_n].matchers, &e), 0);
    sources[p->sources_n].matchers_n = 1;
    return p->sources_n++;
}

static struct plan_view view_of(enum model_view id)
{
    return (struct plan_view){.source = model_views[id].metric[0] == 'n',
                              .input = model_views[id].input,
                              .family = model_views[id].family,
                              .params = model_views[id].params,
                              .per_series = model_views[id].per_series,
                              .reduce = model_views[id].by,
                              .reduce_n = model_views[id].by_n,
                              .panes = {WIDTH, 0},
                              .panes_n = 5,
                              .retention_ms = RETENTION,
                              .backfill_ms = 20 * WIDTH,
                              .when = WHEN_INGESTION,
                              .level_of = PLAN_NONE};
}

struct plan *model_plan(const struct rig *r, uint32_t mask)
{
    struct plan *p = plan_new();
    struct plan_source *sources = arena_zalloc(p->arena, 2 * sizeof *sources);
    struct plan_view *made = ARENA_ARRAY(p->arena, struct plan_view, MODEL_VIEWS);
    struct err e = {0};
    p->sources = sources;
    p->views = made;
    p->sketch_seed = store_sketch_seed(r->store);
    ck_assert_uint_eq(add_source(p, sources, "m"), 0);
    ck_assert_uint_eq(add_source(p, sources, "n"), 1);
    for (uint32_t id = 0; id < MODEL_VIEWS; id++) {
        if (!(mask >> id & 1))
            continue;
        uint32_t at = p->views_n++;
        made[at] = view_of(id);
        struct view_definition definition = plan_view_definition(p, at);
        view_identity(&definition, made[at].identity);
    }
    ck_assert_int_eq(plan_groups(p, &e), 0);
    return p;
}

/* ---- what was sent ---- */

struct sent {
    struct rig_sample sample;
    bool late; /* came after its window was sealed */
};
static struct sent *all;
static size_t all_n, all_cap;

void model_reset(void)
{
    mem_free(all);
    all = NULL;
    all_n = all_cap = 0;
}

void model_send(struct rig *r, const struct rig_sample *samples, size_t n, int64_t receive_ms)
{
    struct ingest_view_status status;
    model_status(r, VIEW_SUM, &status);
    for (size_t i = 0; i < n; i++) {
        all = mem_grow(all, &all_cap, all_n + 1, sizeof *all);
        all[all_n++] = (struct sent){samples[i], samples[i].time_ms <= status.sealed_to_ms};
    }
    ck_assert_int_eq(rig_send(r, samples, n, receive_ms, NULL), 0);
}

/* ---- labels, from the text ---- */

/* Value of a label; *n 0: it has none. */
static const char *label_value(const char *series, struct str name, size_t *n)
{
    *n = 0;
    for (const char *p = strchr(series, '{'); p && *p && p[1]; p = strchr(p + 1, ',')) {
        const char *equals = strchr(p, '=');
        if ((size_t)(equals - p - 1) == name.n && memcmp(p + 1, name.p, name.n) == 0) {
            *n = strcspn(equals + 2, "\"");
            return equals + 2;
        }
    }
    return NULL;
}

static void group_of(enum model_view view, const char *series, char *ret, size_t size)
{
    ret[0] = 0;
    for (uint32_t i = 0; i < model_views[view].by_n; i++) {
        size_t n, used = strlen(ret);
        const char *value = label_value(series, model_views[view].by[i], &n);
        if (value)
            snprintf(ret + used, size - used, "%s%s=\"%.*s\"", used ? "," : "", model_views[view].by[i].p, (int)n,
                     value);
    }
}

/* Canonical bytes as base/labels.h has them: u32 length and bytes of each name and value. */
static uint64_t series_hash(const char *series)
{
    uint8_t bytes[1000];
    size_t n = 0, name_n = strcspn(series, "{");
    const char *parts[20] = {"__name__", series};
    size_t sizes[20] = {8, name_n}, parts_n = 2;
    for (const char *p = series[name_n] ? series + name_n : NULL; p && p[1] && p[1] != '}'; p = strchr(p + 1, ',')) {
        const char *equals = strchr(p, '=');
        parts[parts_n] = p + 1, sizes[parts_n++] = (size_t)(equals - p - 1);
        parts[parts_n] = equals + 2, sizes[parts_n++] = strcspn(equals + 2, "\"");
    }
    for (size_t i = 0; i < parts_n; i++) {
        store_u32(bytes + n, (uint32_t)sizes[i]);
        memcpy(bytes + n + 4, parts[i], sizes[i]);
        n += 4 + sizes[i];
    }
    return XXH3_64bits(bytes, n);
}

static bool item_of(enum model_view view, const char *series, uint64_t *ret)
{
    if (model_views[view].input.kind == INPUT_SERIES) {
        *ret = series_hash(series);
        return true;
    }
    size_t n = 0;
    const char *value = model_views[view].input.kind == INPUT_LABEL ? label_value(series, STR("l"), &n) : NULL;
    *ret = value ? XXH3_64bits(value, n) : 0;
    return value || model_views[view].input.kind == INPUT_VALUE;
}

/* ---- what is expected ---- */

struct series_part {
    const char *series;
    uint64_t item;
    double sum, least, greatest;
    uint32_t n;
    int64_t times_ms[200];
    double values[200];
};
struct expected {
    char group[200];
    struct series_part *parts;
    uint32_t parts_n;
    size_t parts_cap;
    uint64_t samples_n;
};
struct expectation {
    struct expected *v;
    uint32_t n;
    size_t cap;
};

static struct series_part *part_of(struct expectation *x, const char *group, const char *series, uint64_t item)
{
    uint32_t at = 0, k = 0;
    while (at < x->n && strcmp(x->v[at].group, group) != 0)
        at++;
    if (at == x->n) {
        x->v = mem_grow(x->v, &x->cap, x->n + 1, sizeof *x->v);
        memset(&x->v[x->n], 0, sizeof *x->v);
        snprintf(x->v[x->n++].group, sizeof x->v->group, "%s", group);
    }
    struct expected *g = &x->v[at];
    while (k < g->parts_n && strcmp(g->parts[k].series, series) != 0)
        k++;
    if (k == g->parts_n) {
        g->parts = mem_grow(g->parts, &g->parts_cap, g->parts_n + 1, sizeof *g->parts);
        g->parts[g->parts_n++] =
            (struct series_part){.series = series, .item = item, .least = INFINITY, .greatest = -INFINITY};
    }
    g->samples_n++;
    return &g->parts[k];
}

/* Samples of a series come in any order and are built in that of time. */
static void part_add(struct series_part *p, int64_t time_ms, double v)
{
    uint32_t at = p->n++;
    ck_assert_uint_lt(at, 200);
    for (; at > 0 && p->times_ms[at - 1] > time_ms; at--) {
        p->times_ms[at] = p->times_ms[at - 1];
        p->values[at] = p->values[at - 1];
    }
    p->times_ms[at] = time_ms;
    p->values[at] = v;
    p->sum += v; /* whole numbers: exact in any order */
    p->least = fmin(p->least, v);
    p->greatest = fmax(p->greatest, v);
}

static void expect(enum model_view view, int64_t end_ms, struct expectation *x)
{
    for (size_t i = 0; i < all_n; i++) {
        const struct rig_sample *s = &all[i].sample;
        char group[200];
        uint64_t item;
        bool ours = strcspn(s->series, "{") == 1 && s->series[0] == model_views[view].metric[0];
        if (all[i].late || !ours || s->time_ms <= end_ms - WIDTH || s->time_ms > end_ms ||
            !item_of(view, s->series, &item))
            continue;
        group_of(view, s->series, group, sizeof group);
        part_add(part_of(x, group, s->series, item), s->time_ms, s->value);
    }
}

static void expectation_done(struct expectation *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        mem_free(x->v[i].parts);
    mem_free(x->v);
}

/* The state by the family alone: over the states of each series, or over its items. */
static void build(enum model_view view, const struct expected *g, int64_t end_ms, uint64_t seed, uint8_t *ret,
                  size_t cap, size_t *ret_size)
{
    const struct family_info *f = family_get(model_views[view].family);
    const struct sketch_params *params = &model_views[view].params;
    void *scratch =
        mem_alloc(f->scratch_bound(params, g->samples_n, g->parts_n) + f->scratch_bound(params, g->samples_n, 0) + 64);
    struct state_ref *refs = mem_alloc(g->parts_n * sizeof *refs);
    uint8_t *parts = mem_alloc(g->parts_n * (f->fixed_size + 1u));
    uint64_t *keys = mem_alloc(g->parts_n * sizeof *keys);
    double *weights = mem_alloc(g->parts_n * sizeof *weights);
    for (uint32_t i = 0; i < g->parts_n; i++) {
        const struct series_part *p = &g->parts[i];
        size_t size = 0;
        keys[i] = p->item;
        weights[i] = p->sum;
        if (model_views[view].input.kind != INPUT_VALUE)
            continue;
        uint8_t *to = parts + i * f->fixed_size;
        ck_assert_int_eq(
            f->build(to, f->fixed_size, &size, params, end_ms, p->times_ms, p->values, p->n, seed, scratch), 0);
        refs[i] = (struct state_ref){to, (uint32_t)size, end_ms};
    }
    struct sketch_items items = {.keys = keys, .weights = weights, .n = g->parts_n};
    int rc = model_views[view].input.kind == INPUT_VALUE
                 ? f->merge_k(ret, cap, ret_size, params, end_ms, refs, g->parts_n, seed, scratch)
                 : f->build_items(ret, cap, ret_size, params, &items, seed, scratch);
    ck_assert_int_eq(rc, 0);
    mem_free(scratch);
    mem_free(refs);
    mem_free(parts);
    mem_free(keys);
    mem_free(weights);
}

/* ---- arithmetic ---- */

static double estimate(enum model_view view, const struct model_state *s, enum statistic statistic)
{
    const struct family_info *f = family_get(model_views[view].family);
    struct state_ref ref = {s->bytes, s->size, 0};
    struct sketch_args args = {0};
    void *scratch = mem_alloc(f->scratch_bound(&model_views[view].params, 100000, 1) + 64);
    double v = NAN;
    ck_assert_int_eq(f->estimate(&ref, 1, &model_views[view].params, statistic, &args, scratch, &v), 0);
    mem_free(scratch);
    return v;
}

/* Weights by item, heaviest first; returns how many. */
struct weighed {
    uint64_t key;
    double weight;
};

static int heavier(const void *pa, const void *pb)
{
    const struct weighed *a = pa, *b = pb;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

static uint32_t weigh(const struct expected *g, struct weighed *ret)
{
    uint32_t n = 0, k;
    for (uint32_t i = 0; i < g->parts_n; i++) {
        for (k = 0; k < n && ret[k].key != g->parts[i].item; k++)
            ;
        if (k == n)
            ret[n++] = (struct weighed){.key = g->parts[i].item};
        ret[k].weight += g->parts[i].sum;
    }
    qsort(ret, n, sizeof *ret, heavier);
    return n;
}

static void check_top(enum model_view view, const struct model_state *s, const struct weighed *items, uint32_t items_n)
{
    const struct family_info *f = family_get(model_views[view].family);
    struct state_ref ref = {s->bytes, s->size, 0};
    void *scratch = mem_alloc(f->scratch_bound(&model_views[view].params, 100000, 1) + 64);
    uint64_t keys[8];
    double estimates[8];
    uint32_t n = 0, want = items_n < 8 ? items_n : 8;
    ck_assert_int_eq(f->top(&ref, 1, &model_views[view].params, 8, keys, estimates, &n, scratch), 0);
    ck_assert_uint_eq(n, want);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_msg(keys[i] == items[i].key && estimates[i] == items[i].weight, "%s: item %u weighs %g, not %g",
                      s->group, i, estimates[i], items[i].weight);
    mem_free(scratch);
}

/* Few enough items that the sketches still list them all: exact. */
static void check_arithmetic(enum model_view view, const struct expected *g, const struct model_state *s)
{
    double sum = 0, least = INFINITY, greatest = -INFINITY, squares = 0;
    struct weighed *items = mem_alloc(g->parts_n * sizeof *items);
    uint32_t items_n = weigh(g, items);
    for (uint32_t i = 0; i < g->parts_n; i++) {
        sum += g->parts[i].sum;
        least = fmin(least, g->parts[i].least);
        greatest = fmax(greatest, g->parts[i].greatest);
    }
    for (uint32_t i = 0; i < items_n; i++)
        squares += items[i].weight * items[i].weight;
    switch (view) {
    case VIEW_SUM:
    case VIEW_OTHER:
        ck_assert_double_eq(estimate(view, s, STATISTIC_SUM), sum);
        ck_assert_double_eq(estimate(view, s, STATISTIC_COUNT), (double)g->samples_n);
        break;
    case VIEW_COUNT:
        ck_assert_double_eq(estimate(view, s, STATISTIC_COUNT), (double)g->samples_n);
        break;
    case VIEW_MIN:
        ck_assert_double_eq(estimate(view, s, STATISTIC_MIN), least);
        break;
    case VIEW_MAX:
        ck_assert_double_eq(estimate(view, s, STATISTIC_MAX), greatest);
        break;
    case VIEW_HEAVY:
        ck_assert_double_eq(estimate(view, s, STATISTIC_L1), sum);
        check_top(view, s, items, items_n);
        break;
    case VIEW_NORM:
        ck_assert_double_eq_tol(estimate(view, s, STATISTIC_L2), sqrt(squares), 1e-9 * sqrt(squares) + 1e-12);
        check_top(view, s, items, items_n);
        break;
    case VIEW_UNIVMON:
        ck_assert_double_eq(estimate(view, s, STATISTIC_L1), sum);
        break;
    case VIEW_KMV:
        ck_assert_double_eq(estimate(view, s, STATISTIC_DISTINCT), items_n);
        break;
    default:
        ck_assert_double_eq_tol(estimate(view, s, STATISTIC_DISTINCT), items_n, 0.2 + 0.13 * items_n);
    }
    mem_free(items);
}

/* ---- both ---- */

uint32_t model_check(struct rig *r, enum model_view view, int64_t end_ms)
{
    static uint8_t bytes[1 << 16];
    struct model_states have;
    struct expectation want = {0};
    uint64_t samples_n = 0;
    model_read(r, view, end_ms, &have);
    ck_assert_msg(have.status == WINDOW_SEALED || have.status == WINDOW_EARLY, "view %d, %lld: no states", view,
                  (long long)end_ms);
    expect(view, end_ms, &want);
    ck_assert_msg(have.n == want.n, "view %d, %lld: %u groups, not %u", view, (long long)end_ms, have.n, want.n);
    for (uint32_t i = 0; i < want.n; i++) {
        const struct model_state *s = NULL;
        for (uint32_t k = 0; k < have.n; k++)
            if (strcmp(have.v[k].group, want.v[i].group) == 0)
                s = &have.v[k];
        ck_assert_msg(s != NULL, "view %d, %lld: no group {%s}", view, (long long)end_ms, want.v[i].group);
        size_t size = 0;
        check_arithmetic(view, &want.v[i], s);
        build(view, &want.v[i], end_ms, r->plan->sketch_seed, bytes, sizeof bytes, &size);
        ck_assert_msg(size == s->size && memcmp(bytes, s->bytes, size) == 0, "view %d, %lld, {%s}: other bytes", view,
                      (long long)end_ms, s->group);
        samples_n += want.v[i].samples_n;
    }
    ck_assert_uint_eq(have.samples_n, samples_n);
    ck_assert_uint_eq(have.flags & PANE_INCOMPLETE, 0);
    mem_free(have.v);
    uint32_t n = want.n;
    expectation_done(&want);
    return n;
}
