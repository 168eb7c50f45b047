#include "executor/rehearsal.h"

#include <math.h>
#include <stdlib.h>

#include "base/duration.h"
#include "executor/bind.h"
#include "executor/refresh.h"

/*
 * The stage: two series, of which every selector sees both, with samples dense in the newest panes that each offset
 * leads to and sparse as far back as the query reaches. All of it is a head; windows are refreshed when they are asked
 * for. Where states by labels are read there are four series, in two groups of two items each.
 */
enum {
    SERIES_MAX = 4,
    GROUPS_MAX = 64,
    LABELS_MAX = 64,
    DENSE = 24,
    SPARSE = 40,
    OFFSETS_MAX = 4,
    SAMPLES_MAX = OFFSETS_MAX * DENSE + SPARSE,
    PER_PANE = 3
};
/* 2023-11-14, in ms; queries play at the first time of their grid after it. */
static const int64_t STAGE_MS = INT64_C(1700000000000);

struct stage {
    const struct plan *plan;
    struct source source;
    int64_t times_ms[SAMPLES_MAX]; /* ascending */
    uint32_t n;
    const struct plan_query *query;               /* the one that plays */
    struct str by[LABELS_MAX], items[LABELS_MAX]; /* labels that tell its groups apart; that items are values of */
    uint32_t by_n, items_n;
    bool grouped;                           /* it reads states by labels: */
    struct source_group groups[GROUPS_MAX]; /* their label sets so far, over all its views */
    uint32_t groups_n;
};

struct packed {
    const struct stage *stage;
    uint32_t ordinal;
};

/* Rising with small falls, so that every counter function has something to say; no two series alike. */
static double sample(uint32_t ordinal, uint32_t i)
{
    return 100.0 * (ordinal + 1) + 3.0 * i - (i % 7 == 6 ? 5.0 : 0);
}

static uint32_t unpack(const void *p, int64_t start_ms, int64_t end_ms, int64_t *times_ms, double *values)
{
    const struct packed *packed = p;
    const struct stage *s = packed->stage;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->times_ms[i] <= start_ms || s->times_ms[i] > end_ms)
            continue;
        times_ms[n] = s->times_ms[i];
        values[n++] = sample(packed->ordinal, i);
    }
    return n;
}

/* Sorted and unique all the time: matchers of a plan are sorted by name, those of a query are not. The first of a name
 * stays. */
static void put_label(struct label *labels, uint32_t *n, struct str name, struct str value)
{
    uint32_t at = *n;
    while (at > 0 && str_cmp(labels[at - 1].name, name) >= 0) {
        if (str_eq(labels[--at].name, name))
            return;
    }
    memmove(&labels[at + 1], &labels[at], (*n - at) * sizeof *labels);
    labels[at] = (struct label){name, value};
    (*n)++;
}

/* __name__ and whatever else the selector pins down, a label that tells the series apart, and those by which states
 * are grouped and items named. */
static int series_labels(const struct stage *s, const struct source_request *q, uint32_t ordinal, struct arena *a,
                         struct labels *ret, struct err *e)
{
    static const char *const values[SERIES_MAX] = {"a", "b", "c", "d"};
    uint32_t n = 0;
    struct label *labels = ARENA_ARRAY(a, struct label, q->matchers_n + 1u + s->by_n + s->items_n);
    int rc = arena_check(a, "rehearsal", e);
    if (rc != 0)
        return rc;
    put_label(labels, &n, STR("rehearsal"), str_of(values[ordinal]));
    for (uint32_t i = 0; i < q->matchers_n; i++)
        if (q->matchers[i].op == MATCH_EQ && q->matchers[i].value.n > 0)
            put_label(labels, &n, q->matchers[i].name, q->matchers[i].value);
    for (uint32_t i = 0; i < s->by_n; i++)
        put_label(labels, &n, s->by[i], str_of(values[ordinal / 2]));
    for (uint32_t i = 0; i < s->items_n; i++)
        put_label(labels, &n, s->items[i], str_of(values[ordinal % 2]));
    *ret = (struct labels){labels, n};
    return 0;
}

static bool has_samples(const struct stage *s, int64_t start_ms, int64_t end_ms)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->times_ms[i] > start_ms && s->times_ms[i] <= end_ms)
            return true;
    return false;
}

static uint32_t view_of(const struct plan *p, const uint8_t identity[IDENTITY_BYTES])
{
    for (uint32_t v = 0; v < p->views_n; v++)
        if (memcmp(p->views[v].identity, identity, IDENTITY_BYTES) == 0)
            return v;
    return PLAN_NONE;
}

/* One dictionary for the views of a query: to each the others' sets are groups of which it has no states. */
static int place(void *ctx, const struct labels *labels, uint32_t *ret_number, struct err *e)
{
    struct stage *s = ctx;
    uint32_t i = 0;
    while (i < s->groups_n && !labels_eq(&s->groups[i].labels, labels))
        i++;
    if (i == GROUPS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d groups of series", GROUPS_MAX);
    if (i == s->groups_n)
        s->groups[s->groups_n++] = (struct source_group){i, *labels};
    *ret_number = i;
    return 0;
}

/* A window's states as early refresh leaves them. */
static int window_states(struct stage *s, uint32_t view, int64_t end_ms, struct arena *a, struct window_states *ret,
                         struct err *e)
{
    const struct refresh_groups groups = {s, place};
    struct refresh_run run = {.plan = s->plan,
                              .source = &s->source,
                              .end_ms = end_ms,
                              .views = &view,
                              .store_views = &view,
                              .groups = &groups,
                              .views_n = 1};
    struct refresh_output output = {0};
    uint32_t reads;
    *ret = (struct window_states){0};
    if (!has_samples(s, end_ms - s->plan->views[view].panes.step_ms, end_ms))
        return 0;
    int rc = refresh_window(&run, a, &output, &reads, e);
    *ret = (struct window_states){output.blocks, output.blocks_n};
    return rc;
}

/* Windows of a view within the span, all refreshed early. */
static int list_view(struct stage *s, const uint8_t identity[IDENTITY_BYTES], struct grid panes,
                     const struct source_request *q, struct arena *a, struct source_level *ret, struct err *e)
{
    int64_t first_ms = grid_ceil(panes, q->start_ms + panes.step_ms);
    ret->view = view_of(s->plan, identity);
    ret->windows_n = first_ms <= q->end_ms ? (uint32_t)((q->end_ms - first_ms) / panes.step_ms) + 1 : 0;
    ret->windows = ARENA_ARRAY(a, struct source_window, ret->windows_n + 1u);
    struct window_states *states = ARENA_ARRAY(a, struct window_states, ret->windows_n + 1u);
    int rc = arena_check(a, "rehearsal", e);
    for (uint32_t w = 0; rc == 0 && w < ret->windows_n; w++) {
        ret->windows[w] = (struct source_window){
            .end_ms = first_ms + (int64_t)w * panes.step_ms, .status = WINDOW_EARLY, .early = &states[w]};
        rc = window_states(s, ret->view, ret->windows[w].end_ms, a, &states[w], e);
    }
    return rc;
}

static int list_windows(struct stage *s, const struct source_request *q, struct arena *a, struct source_result *r,
                        struct err *e)
{
    struct source_level own = {0};
    r->windows = ARENA_ARRAY(a, struct source_window *, q->identities_n);
    r->levels = ARENA_ARRAY(a, struct source_level, q->rollups_n);
    uint32_t *views = ARENA_ARRAY(a, uint32_t, q->identities_n);
    int rc = arena_check(a, "rehearsal", e);
    r->views = views;
    for (uint32_t i = 0; rc == 0 && i < q->identities_n; i++) {
        rc = list_view(s, q->identities[i], (struct grid){q->width_ms, q->phase_ms}, q, a, &own, e);
        views[i] = own.view;
        r->windows[i] = own.windows;
    }
    for (uint32_t i = 0; rc == 0 && i < q->rollups_n; i++) {
        const struct source_rollup *level = &q->rollups[i];
        rc = list_view(s, level->identity, (struct grid){level->width_ms, level->phase_ms}, q, a, &r->levels[i], e);
    }
    r->windows_n = own.windows_n;
    r->covered_ms = own.windows_n ? own.windows[own.windows_n - 1].end_ms : q->start_ms;
    return rc;
}

/* The query's arena holds their labels, as do the series that the windows were built from. */
static int list_groups(struct stage *s, const struct source_request *q, struct arena *a, struct source_result *r,
                       struct err *e)
{
    const struct source_group **groups = ARENA_ARRAY(a, const struct source_group *, q->identities_n);
    uint32_t *groups_n = ARENA_ARRAY(a, uint32_t, q->identities_n);
    struct source_group *kept = arena_dup(a, s->groups, s->groups_n * sizeof *kept);
    int rc = arena_check(a, "rehearsal", e);
    for (uint32_t i = 0; rc == 0 && i < q->identities_n; i++) {
        groups[i] = kept;
        groups_n[i] = s->groups_n;
    }
    r->groups = groups;
    r->groups_n = groups_n;
    return rc;
}

static int snapshot_one(struct stage *s, const struct source_request *q, struct arena *a, struct source_result *r,
                        struct err *e)
{
    int rc = 0;
    *r = (struct source_result){.unpack = unpack,
                                .histograms_wanted = q->want_histograms,
                                .covered_ms = q->start_ms,
                                .watermark_ms = q->end_ms};
    if (q->identities_n)
        rc = list_windows(s, q, a, r, e);
    if (rc == 0 && q->grouped)
        rc = list_groups(s, q, a, r, e);
    uint32_t series_n = s->grouped ? SERIES_MAX : SERIES_MAX / 2;
    r->series = ARENA_ARRAY(a, struct source_series, series_n);
    struct packed *packed = ARENA_ARRAY(a, struct packed, series_n);
    rc = rc ? rc : arena_check(a, "rehearsal", e);
    for (uint32_t i = 0; rc == 0 && i < series_n; i++) {
        packed[i] = (struct packed){s, i};
        r->series[i] = (struct source_series){.id = i,
                                              .ordinal = i,
                                              .store_to_ms = INT64_MIN,
                                              .raw_from_ms = r->covered_ms,
                                              .packed = &packed[i],
                                              .packed_n = s->n};
        rc = series_labels(s, q, i, a, &r->series[i].labels, e);
    }
    r->series_n = series_n;
    return rc;
}

static int snapshot(void *ctx, const struct source_request *requests, uint32_t n, struct arena *a,
                    struct source_result *ret, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = snapshot_one(ctx, &requests[i], a, &ret[i], e);
    return rc;
}

static void release(void *ctx, struct source_result *results, uint32_t n)
{
}

/* The first few offsets at which the query reads panes. */
static void collect_offsets(const struct plan *p, uint32_t node, int64_t offsets_ms[OFFSETS_MAX], uint32_t *n)
{
    const struct plan_node *at = &p->nodes[node];
    for (uint32_t i = 0; i < at->in_n; i++)
        collect_offsets(p, p->edges[at->in_first + i], offsets_ms, n);
    if (at->op != PLAN_OP_PANE_READ || *n == OFFSETS_MAX)
        return;
    for (uint32_t i = 0; i < *n; i++)
        if (offsets_ms[i] == at->offset_ms)
            return;
    offsets_ms[(*n)++] = at->offset_ms;
}

static int by_time(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

static void add_names(struct str *names, uint32_t *n, const struct str *more, uint32_t more_n)
{
    for (uint32_t i = 0; i < more_n && *n < LABELS_MAX; i++)
        names[(*n)++] = more[i];
}

/* Labels by which states are kept and by which they are asked for: groups of either are to differ. */
static void collect_labels(struct stage *s, uint32_t node, struct arena *a)
{
    const struct plan_node *at = &s->plan->nodes[node];
    struct site site;
    for (uint32_t i = 0; i < at->in_n; i++)
        collect_labels(s, s->plan->edges[at->in_first + i], a);
    if (at->op != PLAN_OP_ESTIMATE || !estimate_site_of(at->expr, a, &site) || !site.group)
        return;
    const struct plan_view *v = &s->plan->views[s->plan->nodes[s->plan->edges[at->in_first]].view];
    s->grouped = true;
    add_names(s->by, &s->by_n, site.group->by, site.group->by_n);
    add_names(s->by, &s->by_n, v->reduce, v->reduce_n);
    add_names(s->items, &s->items_n, &site.group->input.label, site.group->input.kind == INPUT_LABEL);
}

/* Samples at the end of each third of a pane of the narrowest view, and far ones over all that the query reaches. */
static void stage_set(struct stage *s, const struct plan_query *q, int64_t now_ms)
{
    int64_t width_ms = INT64_MAX, reach_ms = 0, offsets_ms[OFFSETS_MAX];
    uint32_t offsets_n = 0, n = 0, unique_n = 0;
    for (uint32_t i = 0; i < q->uses_n; i++) {
        const struct plan_view *v = &s->plan->views[q->uses[i]];
        width_ms = v->panes.step_ms < width_ms ? v->panes.step_ms : width_ms;
        reach_ms = v->backfill_ms > reach_ms ? v->backfill_ms : reach_ms;
    }
    collect_offsets(s->plan, q->root, offsets_ms, &offsets_n);
    int64_t near_ms = width_ms / PER_PANE > 0 ? width_ms / PER_PANE : 1, far_ms = reach_ms / SPARSE;
    for (int64_t i = 1; far_ms > 0 && i <= SPARSE; i++)
        s->times_ms[n++] = now_ms - i * far_ms;
    for (uint32_t k = 0; k < offsets_n; k++)
        for (int64_t i = 0; i < DENSE; i++)
            s->times_ms[n++] = now_ms - offsets_ms[k] - i * near_ms;
    qsort(s->times_ms, n, sizeof *s->times_ms, by_time);
    for (uint32_t i = 0; i < n; i++)
        if (unique_n == 0 || s->times_ms[unique_n - 1] != s->times_ms[i])
            s->times_ms[unique_n++] = s->times_ms[i];
    s->n = unique_n;
}

/* ---- one query ---- */

/* How far values of a query may be from those of raw samples; negative: nobody says. */
static double tolerance(const struct stage *s)
{
    const struct accuracy *guarantee = &s->query->guarantee;
    bool is_estimate = s->plan->nodes[s->query->root].op == PLAN_OP_ESTIMATE;
    if (guarantee->kind == ACCURACY_EXACT)
        return s->grouped && is_estimate ? 1e-9 : 1e-6;
    /* So few items are within one standard error, whose multiple is promised. Of quantiles and of what operators make
     * of an estimate, how near the values are is not what the guarantee bounds. */
    bool bounds = guarantee->kind == ACCURACY_CARDINALITY || guarantee->kind == ACCURACY_RELATIVE;
    return s->grouped && is_estimate && bounds ? guarantee->error : -1;
}

static bool same_value(double a, double b, double within)
{
    return value_absent(a) == value_absent(b) && (a == b || isnan(a) == isnan(b)) &&
           (isnan(a) || isinf(a) || fabs(a - b) <= within * (1 + fmax(fabs(a), fabs(b))));
}

static const char *difference(const struct stage *s, const struct result *planned, const struct result *raw)
{
    double within = tolerance(s);
    if (!(planned->sources & SOURCE_PANES))
        return "it reads no pane";
    if (s->query->guarantee.kind == ACCURACY_NONE)
        return NULL; /* a list without a bound may name others: that it is one is all there is to see */
    if (planned->type != raw->type || planned->series_n != raw->series_n)
        return "it answers other series than raw samples do";
    for (uint32_t i = 0; within >= 0 && i < raw->series_n; i++) {
        /* A matrix is sorted by labels; the order of an instant vector is no promise. */
        uint32_t k = 0;
        while (k < raw->series_n && labels_cmp(&planned->series[k].labels, &raw->series[i].labels) != 0)
            k++;
        if (k == raw->series_n)
            return "it answers other series than raw samples do";
        for (uint32_t t = 0; t < raw->times.n; t++)
            if (!same_value(planned->series[k].v[t], raw->series[i].v[t], within))
                return "it answers other values than raw samples do";
    }
    return NULL;
}

static void add_failure(const struct plan *p, uint32_t query, const char *why, struct arena *a,
                        struct rehearsal_failure *ret)
{
    const struct plan_query *q = &p->queries[query];
    struct strbuf text = {0};
    strbuf_add_z(&text, "view_not_executable{");
    for (uint32_t i = 0; i < q->uses_n; i++)
        strbuf_printf(&text, "%s%u", i ? ", " : "", q->uses[i]);
    strbuf_printf(&text, "}: %s", why);
    *ret = (struct rehearsal_failure){query, {arena_strndup(a, text.p, text.n), text.n}};
    strbuf_done(&text);
}

/* True when it failed: *ret says how. */
static bool rehearse_query(struct stage *s, uint32_t query, struct arena *a, struct rehearsal_failure *ret)
{
    const struct plan_query *q = s->query = &s->plan->queries[query];
    struct grid grid = cadence_grid(&q->cadence);
    int64_t now_ms = STAGE_MS;
    if (grid.step_ms > 0)
        now_ms += floor_mod(grid.phase_ms - now_ms, grid.step_ms);
    stage_set(s, q, now_ms);
    struct executor x = {.plan = s->plan, .source = &s->source};
    struct query_options o = {.start_ms = now_ms, .end_ms = now_ms};
    if (q->cadence.step_ms > 0 && q->cadence.length_ms >= q->cadence.step_ms)
        o = (struct query_options){
            .start_ms = now_ms - q->cadence.step_ms, .end_ms = now_ms, .step_ms = q->cadence.step_ms};
    struct arena memory;
    struct result planned = {0}, raw = {0};
    struct err e = {0}, raw_e = {0};
    arena_init(&memory, 0);
    s->groups_n = s->by_n = s->items_n = 0;
    s->grouped = false;
    collect_labels(s, q->root, &memory);
    int rc = query_run(&x, q->text, &o, &memory, &planned, &e);
    o.exact = true;
    int raw_rc = query_run(&x, q->text, &o, &memory, &raw, &raw_e);
    const char *why = NULL;
    if (rc == 0 && raw_rc == 0)
        why = difference(s, &planned, &raw);
    else if (rc != raw_rc)
        why = rc ? e.message : "it answers where raw samples give an error";
    /* The same error from both is the query's own on this stage: labels that two series do not have. */
    if (why)
        add_failure(s->plan, query, why, a, ret);
    arena_done(&memory);
    return why != NULL;
}

int plan_rehearse(const struct plan *plan, struct arena *a, struct rehearsal_failure **ret, uint32_t *ret_n,
                  struct err *e)
{
    struct stage stage = {.plan = plan};
    stage.source = (struct source){.ctx = &stage, .snapshot = snapshot, .release = release};
    size_t cap = 0;
    *ret = NULL;
    *ret_n = 0;
    for (uint32_t i = 0; i < plan->queries_n; i++) {
        struct rehearsal_failure failure;
        if (plan->queries[i].uses_n == 0 || !rehearse_query(&stage, i, a, &failure))
            continue;
        *ret = arena_grow(a, *ret, &cap, *ret_n + 1u, sizeof **ret);
        if (*ret)
            (*ret)[(*ret_n)++] = failure;
        int rc = arena_check(a, "rehearsal", e);
        if (rc != 0)
            return rc;
    }
    return 0;
}
