#include "executor/panes.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "executor/group_panes.h"
#include "executor/kept.h"
#include "executor/ladder.h"
#include "executor/op_build.h"
#include "executor/scan.h"

/* A state of the series at hand, in order of time. States built here are offsets into `built` until all are. */
struct held {
    struct state_ref ref;
    uint64_t samples_n; /* as its family counts */
    bool is_built;
    size_t built_at;
};

/* A state of the left edge, in pane_reader.left; size 0 when the series has no sample there. */
struct left_state {
    size_t at;
    uint32_t size;
};

struct pane_reader {
    struct eval *ev;
    const struct pane_site *site;
    const struct plan_view *view;
    const struct family_info *family;
    const struct times *times;
    struct ladder ladder;
    struct state_builder builder;
    struct strbuf built;         /* states built from raw for the series at hand */
    struct strbuf left;          /* states of the left edge, all series */
    struct left_state *left_of;  /* [left series]: where in `left`; NULL without a left edge */
    struct source_window *apart; /* [windows_n]: rewritten for each evaluation time; NULL: all share the windows */
    uint32_t left_at;            /* cursor in the left edge's series, which ascend like the others */
    struct held *held;           /* [windows_n]: built here */
    struct state_ref *refs;      /* [windows_n]: those of one window in a row, for estimate */
    void *scratch;
    size_t scratch_cap;
    uint64_t scratch_samples; /* most that scratch serves ... */
    uint32_t scratch_states;  /* ... over so many states */
    struct vec_series *out;   /* [series_n] */
    struct pane_counts *counts;
};

int64_t panes_end_ms(const struct site *site, const struct times *t, uint32_t i)
{
    return (site->anchored ? site->at_ms : times_at(t, i)) - site->offset_ms;
}

/* Are there panes of this width that tile all windows, and that some have in common? */
static bool share_grid(const struct site *site, const struct times *t, int64_t width_ms)
{
    return site->anchored || t->n == 1 || t->step_ms % width_ms == 0;
}
static bool share_panes(const struct site *site, const struct times *t, int64_t width_ms)
{
    return share_grid(site, t, width_ms) && (site->anchored || t->n == 1 || t->step_ms < site->range_ms);
}

enum pane_fit panes_fit(const struct plan_view *view, const struct site *site, const struct times *t)
{
    const struct grid *panes = &view->panes;
    int64_t w = panes->step_ms, end_ms = panes_end_ms(site, t, 0);
    if (w <= 0)
        return PANES_UNFIT;
    if (view->when == WHEN_QUERY)
        return site->range_ms % w == 0 ? PANES_WHOLE : PANES_UNFIT;
    if (site->range_ms % w == 0 && share_grid(site, t, w) && floor_mod(end_ms - panes->phase_ms, w) == 0)
        return PANES_WHOLE;
    /* Edges are less than two panes; what they leave must be worth it. */
    bool one_window = site->anchored || t->n == 1;
    return view->when == WHEN_INGESTION && one_window && site->range_ms >= 4 * w ? PANES_RAGGED : PANES_UNFIT;
}

static int add_rollups(const struct pane_site *p, struct arena *a, struct source_request *r, struct err *e)
{
    struct source_rollup *rollups = ARENA_ARRAY(a, struct source_rollup, p->rollups_n);
    int rc = arena_check(a, "query", e);
    for (uint32_t i = 0; i < p->rollups_n && rc == 0; i++) {
        const struct plan_view *v = p->rollups[i];
        rollups[i] = (struct source_rollup){v->identity, v->panes.step_ms, v->panes.phase_ms};
    }
    r->rollups = rollups;
    r->rollups_n = p->rollups_n;
    return rc;
}

int panes_request(const struct pane_site *p, const struct times *t, struct arena *a, struct source_request *ret,
                  struct err *e)
{
    const struct plan_view *view = p->view;
    const struct site *site = &p->site;
    *ret = (struct source_request){.matchers = site->selector->matchers,
                                   .matchers_n = site->selector->matchers_n,
                                   .start_ms = panes_end_ms(site, t, 0) - site->range_ms,
                                   .end_ms = panes_end_ms(site, t, t->n - 1)};
    if (view->when == WHEN_QUERY)
        return 0;
    ret->width_ms = view->panes.step_ms;
    ret->phase_ms = view->panes.phase_ms;
    if (view->when != WHEN_INGESTION)
        return 0;
    ret->identities = &view->identity;
    ret->identities_n = 1;
    ret->grouped = !view->per_series;
    return add_rollups(p, a, ret, e);
}

bool panes_left_request(const struct plan_view *view, const struct site *site, const struct times *t,
                        struct source_request *ret)
{
    int64_t start_ms = panes_end_ms(site, t, 0) - site->range_ms;
    int64_t past_ms = floor_mod(start_ms - view->panes.phase_ms, view->panes.step_ms);
    if (past_ms == 0 || view->when != WHEN_INGESTION)
        return false;
    *ret = (struct source_request){.matchers = site->selector->matchers,
                                   .matchers_n = site->selector->matchers_n,
                                   .start_ms = start_ms,
                                   .end_ms = start_ms + view->panes.step_ms - past_ms};
    return true;
}

/* Do only states of finite samples answer as raw samples do? Those of quantiles; and a line is NaN behind an infinite
 * sample, where Prometheus may find an infinite one if the evaluation time lies before the window's end. */
static bool needs_finite(const struct pane_reader *r)
{
    const struct site *site = &r->site->site;
    switch (r->view->family) {
    case FAMILY_KLL:
    case FAMILY_DDSKETCH:
    case FAMILY_VALUES:
        return true;
    case FAMILY_REGRESSION:
        return site->statistic == STATISTIC_PREDICT_LINEAR && (site->offset_ms < 0 || site->anchored);
    default:
        return false;
    }
}

/* One state of the samples of (some start, end_ms]; *ret is good until the next. */
static int build_state(struct pane_reader *r, const struct labels *labels, int64_t end_ms, const int64_t *times_ms,
                       const double *values, uint32_t n, struct str *ret, struct err *e)
{
    const struct plan_view *view = r->view;
    uint64_t seed = r->site->sketch_seed;
    if (view->family == FAMILY_KLL)
        seed = state_seed(seed, view->identity, labels, end_ms);
    int rc = state_builder_run(&r->builder, end_ms, times_ms, values, n, seed, ret, e);
    if (rc == 0 && needs_finite(r) && r->family->flags((const uint8_t *)ret->p, ret->n))
        return err_set(e, ERR_NOT_COVERED, "a window holds non-finite samples or a collapsed sketch");
    return rc;
}

static void hold_bytes(struct pane_reader *r, struct str state, int64_t end_ms, uint32_t *held_n)
{
    r->held[(*held_n)++] = (struct held){.ref = {NULL, (uint32_t)state.n, end_ms},
                                         .samples_n = r->family->count((const uint8_t *)state.p, state.n),
                                         .is_built = true,
                                         .built_at = r->built.n};
    strbuf_add_str(&r->built, state);
}

/* States of the windows after raw_from_ms, and of the right edge, built from the samples at hand. */
static int hold_built(struct pane_reader *r, const struct source_series *s, const int64_t *times_ms,
                      const double *values, uint32_t n, uint32_t *held_n, struct err *e)
{
    int64_t last_ms = panes_end_ms(&r->site->site, r->times, r->times->n - 1);
    uint32_t at = 0;
    const struct source_result *result = r->site->result;
    for (uint32_t w = 0; w <= result->windows_n; w++) {
        int64_t end_ms = w < result->windows_n ? result->windows[0][w].end_ms : last_ms;
        if (end_ms <= s->raw_from_ms)
            continue;
        uint32_t first = at;
        while (at < n && times_ms[at] <= end_ms)
            at++;
        if (at == first)
            continue;
        struct str state;
        int rc = build_state(r, &s->labels, end_ms, times_ms + first, values + first, at - first, &state, e);
        if (rc)
            return rc;
        hold_bytes(r, state, end_ms, held_n);
    }
    return 0;
}

int64_t panes_left_end_ms(const struct pane_site *p)
{
    return p->result->windows[0][0].end_ms - p->view->panes.step_ms;
}

static bool before(const struct source_series *a, const struct source_series *b)
{
    return a->metric != b->metric ? a->metric < b->metric : a->ordinal < b->ordinal;
}

static void hold_left(struct pane_reader *r, const struct source_series *s, uint32_t *held_n)
{
    const struct source_result *left = r->site->left;
    while (r->left_at < left->series_n && before(&left->series[r->left_at], s))
        r->left_at++;
    if (r->left_at == left->series_n || left->series[r->left_at].id != s->id)
        return;
    struct left_state at = r->left_of[r->left_at];
    if (at.size)
        hold_bytes(r, (struct str){r->left.p + at.at, at.size}, panes_left_end_ms(r->site), held_n);
}

static int left_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                       const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct pane_reader *r = ctx;
    struct str state = {0};
    int rc = eval_check(r->ev, n, e);
    if (rc == 0 && n)
        rc = build_state(r, &r->site->left->series[series].labels, panes_left_end_ms(r->site), times_ms, values, n,
                         &state, e);
    r->left_of[series] = (struct left_state){r->left.n, (uint32_t)state.n};
    strbuf_add_str(&r->left, state);
    return rc;
}

static void scratch_reserve(struct pane_reader *r, const struct ladder_states *states)
{
    if (states->samples_n <= r->scratch_samples && states->n <= r->scratch_states)
        return;
    r->scratch_samples = states->samples_n > r->scratch_samples ? states->samples_n : r->scratch_samples;
    r->scratch_states = states->n > r->scratch_states ? states->n : r->scratch_states;
    size_t need = r->family->scratch_bound(&r->view->params, r->scratch_samples, r->scratch_states);
    r->scratch = mem_grow(r->scratch, &r->scratch_cap, need, 1);
}

static int estimate(struct pane_reader *r, uint32_t step, const struct state_ref *refs, uint32_t n, double *ret,
                    struct err *e)
{
    const struct site *site = &r->site->site;
    int64_t end_ms = panes_end_ms(site, r->times, step);
    *ret = float_stale();
    if (n == 0)
        return 0;
    struct sketch_args args = {.start_ms = end_ms - site->range_ms, .end_ms = end_ms, .q = site->q};
    if (site->statistic == STATISTIC_PREDICT_LINEAR) /* from the evaluation time, whatever the window's */
        args.ahead_s = (double)(times_at(r->times, step) - end_ms) / 1e3 + site->q;
    double value;
    int rc = r->family->estimate(refs, n, &r->view->params, site->statistic, &args, r->scratch, &value);
    r->counts->states_n += n;
    if (rc == SKETCH_OK)
        *ret = value;
    else if (rc != SKETCH_NONE)
        return err_set(e, ERR_NOT_COVERED, "reading %s from %s states failed with %d", statistic_name(site->statistic),
                       r->family->name, rc);
    return 0;
}

/* States built here that end in (*at's, to] follow what there is. */
static void take_held(struct pane_reader *r, uint32_t held_n, int64_t to_ms, uint32_t *at, struct ladder_states *states)
{
    for (; *at < held_n && r->held[*at].ref.end_ms <= to_ms; (*at)++) {
        const struct held *h = &r->held[*at];
        states->refs[states->n] = h->ref;
        states->refs[states->n++].bytes = (const uint8_t *)r->built.p + h->built_at;
        states->samples_n += h->samples_n;
    }
}

/* The states of (from, to], in order of time: the left edge's, stored ones, those built here. */
static int collect(struct pane_reader *r, const struct source_series *s, uint32_t held_n, int64_t from_ms,
                   int64_t to_ms, uint32_t *held_at, struct ladder_states *states, struct err *e)
{
    while (*held_at < held_n && r->held[*held_at].ref.end_ms <= from_ms)
        (*held_at)++;
    uint32_t at = *held_at;
    if (r->left_of)
        take_held(r, held_n, panes_left_end_ms(r->site), &at, states);
    int rc = ladder_cover(&r->ladder, from_ms, to_ms < s->raw_from_ms ? to_ms : s->raw_from_ms, states, e);
    if (rc == 0)
        take_held(r, held_n, to_ms, &at, states);
    return rc;
}

/* Without roll-ups one run of states is made for all evaluation times, over which the window slides. */
static int estimate_sliding(struct pane_reader *r, const struct source_series *s, uint32_t held_n, double *v,
                            struct err *e)
{
    const struct site *site = &r->site->site;
    struct ladder_states all = {.refs = r->refs};
    uint32_t low = 0, high = 0, at = 0;
    int64_t last_ms = panes_end_ms(site, r->times, r->times->n - 1);
    int rc = collect(r, s, held_n, panes_end_ms(site, r->times, 0) - site->range_ms, last_ms, &at, &all, e);
    scratch_reserve(r, &all);
    for (uint32_t i = 0; i < r->times->n && rc == 0; i++) {
        int64_t end_ms = panes_end_ms(site, r->times, i);
        while (high < all.n && all.refs[high].end_ms <= end_ms)
            high++;
        while (low < high && all.refs[low].end_ms <= end_ms - site->range_ms)
            low++;
        rc = estimate(r, i, all.refs + low, high - low, &v[i], e);
    }
    return rc;
}

static int estimate_series(struct pane_reader *r, const struct source_series *s, uint32_t held_n, double *v,
                           struct err *e)
{
    if (r->ladder.levels_n == 1)
        return estimate_sliding(r, s, held_n, v, e);
    int rc = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->times->n && rc == 0; i++) {
        struct ladder_states states = {.refs = r->refs};
        int64_t end_ms = panes_end_ms(&r->site->site, r->times, i);
        rc = collect(r, s, held_n, end_ms - r->site->site.range_ms, end_ms, &at, &states, e);
        scratch_reserve(r, &states);
        if (rc == 0)
            rc = estimate(r, i, states.refs, states.n, &v[i], e);
    }
    return rc;
}

/* The newest pane is the head's while it grows and counts as a pane; other windows without states were read from raw.
 */
static uint32_t series_source(const struct pane_reader *r, const struct source_series *s)
{
    const struct source_result *result = r->site->result;
    if (r->view->when != WHEN_INGESTION && result->covered_ms < result->windows[0][0].end_ms)
        return SOURCE_RAW;
    int64_t growing_ms = result->windows_n ? result->windows[0][result->windows_n - 1].end_ms - r->view->panes.step_ms
                                           : result->covered_ms;
    if (s->raw_from_ms >= result->covered_ms && s->raw_from_ms >= growing_ms && !r->left_of)
        return SOURCE_PANES;
    return SOURCE_PANES | SOURCE_RAW;
}

/* A state a window of one evaluation time, and its estimate; held_n of them are there already. */
static int read_times(struct pane_reader *r, const struct source_series *s, const int64_t *times_ms,
                      const double *values, uint32_t n, uint32_t held_n, double *v, struct err *e)
{
    int rc = hold_built(r, s, times_ms, values, n, &held_n, e);
    if (rc)
        return rc;
    return estimate_series(r, s, held_n, v, e);
}

/* No two evaluation times share panes: those of each window are built by themselves. */
static int read_apart(struct pane_reader *r, const struct source_series *s, const int64_t *times_ms,
                      const double *values, uint32_t n, double *v, struct err *e)
{
    const struct times *all = r->times;
    const struct site *site = &r->site->site;
    uint32_t from = 0, to = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < all->n; i++) {
        struct times one = {times_at(all, i), 0, 1};
        int64_t end_ms = panes_end_ms(site, &one, 0);
        while (from < n && times_ms[from] <= end_ms - site->range_ms)
            from++;
        while (to < n && times_ms[to] <= end_ms)
            to++;
        uint32_t windows_n = r->site->result->windows_n;
        for (uint32_t w = 0; w < windows_n; w++)
            r->apart[w].end_ms = end_ms - (int64_t)(windows_n - 1 - w) * r->view->panes.step_ms;
        strbuf_clear(&r->built);
        r->times = &one;
        rc = read_times(r, s, times_ms + from, values + from, to - from, 0, v + i, e);
        r->times = all;
        if (rc == 0)
            rc = eval_check(r->ev, to - from, e);
    }
    return rc;
}

static int read_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                       const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct pane_reader *r = ctx;
    const struct source_series *s = &r->site->result->series[series];
    uint32_t held_n = 0;
    int rc = eval_check(r->ev, n, e);
    strbuf_clear(&r->built);
    if (rc == 0 && r->left_of)
        hold_left(r, s, &held_n);
    if (rc == 0)
        ladder_series(&r->ladder, s);
    if (rc)
        return rc;
    struct vec_series *out = &r->out[series];
    uint64_t before = r->counts->states_n;
    out->v = value_array(r->ev, r->times->n);
    if (!out->v)
        return arena_check(r->ev->arena, "query", e);
    ladder_series(&r->ladder, s);
    out->labels = s->labels;
    enum statistic statistic = r->site->site.statistic;
    out->drop_name = statistic != STATISTIC_LAST && statistic != STATISTIC_FIRST;
    rc = r->apart ? read_apart(r, s, times_ms, values, n, out->v, e)
                  : read_times(r, s, times_ms, values, n, held_n, out->v, e);
    if (r->counts->states_n == before)
        out->v = NULL; /* no window of it holds a sample */
    else
        r->counts->sources |= series_source(r, s);
    return rc;
}

static int read_all(struct pane_reader *r, struct err *e)
{
    const struct site *site = &r->site->site;
    struct scan scan = {.result = r->site->result,
                        .txn = r->ev->txn,
                        .start_ms = panes_end_ms(site, r->times, 0) - site->range_ms,
                        .end_ms = panes_end_ms(site, r->times, r->times->n - 1)};
    int rc = 0;
    if (r->left_of) {
        struct scan edge = scan;
        edge.result = r->site->left;
        edge.end_ms = panes_left_end_ms(r->site);
        rc = scan_run(&edge, left_series, r, e);
        scan.damaged_n += edge.damaged_n;
    }
    uint32_t damaged_n = scan.damaged_n;
    if (rc == 0)
        rc = scan_run(&scan, read_series, r, e);
    scan.damaged_n += damaged_n;
    if (rc == 0 && scan.damaged_n)
        notes_warn(r->ev->notes, "%u raw blocks failed their checksum and were left out", scan.damaged_n);
    return rc;
}

static int reader_init(struct pane_reader *r, struct err *e)
{
    const struct source_result *result = r->site->result;
    struct arena *a = r->ev->arena;
    const struct pane_site *p = r->site;
    int rc = ladder_init(&r->ladder, p->view, p->rollups, p->rollups_n, result, r->ev->txn, a, e);
    r->ladder.finite_only = needs_finite(r);
    if (rc == 0)
        rc = state_builder_init(&r->builder, r->view->family, &r->view->params, e);
    if (rc)
        return rc;
    enum { EDGES = 2 };
    r->held = ARENA_ARRAY(a, struct held, result->windows_n + EDGES);
    r->refs = ARENA_ARRAY(a, struct state_ref, result->windows_n + EDGES);
    if (r->site->left)
        r->left_of = arena_zalloc(a, (r->site->left->series_n + 1) * sizeof *r->left_of);
    r->out = arena_zalloc(a, (result->series_n + 1) * sizeof *r->out);
    return arena_check(a, "query", e);
}

static int estimate_from(struct eval *ev, const struct pane_site *p, const struct times *t, struct source_window *apart,
                         struct value *ret, struct pane_counts *counts, struct err *e)
{
    struct pane_reader r = {.ev = ev,
                            .site = p,
                            .view = p->view,
                            .family = family_get(p->view->family),
                            .times = t,
                            .apart = apart,
                            .counts = counts};
    const struct source_result *result = p->result;
    int rc = reader_init(&r, e);
    if (rc == 0)
        rc = read_all(&r, e);
    state_builder_done(&r.builder);
    strbuf_done(&r.built);
    strbuf_done(&r.left);
    mem_free(r.scratch);
    if (rc)
        return rc;
    *ret = (struct value){.type = VALUE_VECTOR, .series = r.out};
    for (uint32_t i = 0; i < result->series_n; i++)
        if (r.out[i].v)
            r.out[ret->series_n++] = r.out[i];
    return 0;
}

/* Panes that no store holds: windows to be built from the samples of the snapshot, but for those that are kept. */
static int estimate_unstored(struct eval *ev, const struct pane_site *p, const struct times *t, struct value *ret,
                             struct pane_counts *counts, struct err *e)
{
    enum { WINDOWS_MAX = 1 << 22 };
    int64_t width_ms = p->view->panes.step_ms, start_ms = panes_end_ms(&p->site, t, 0) - p->site.range_ms;
    bool keeps = p->view->when == WHEN_QUERY_KEPT && p->cache, apart = !keeps && !share_panes(&p->site, t, width_ms);
    int64_t n = (apart ? p->site.range_ms : panes_end_ms(&p->site, t, t->n - 1) - start_ms) / width_ms;
    if (n > WINDOWS_MAX)
        return err_set(e, ERR_NOT_COVERED, "the query reads %lld panes of one view, more than the limit of %d",
                       (long long)n, WINDOWS_MAX);
    struct source_window *windows = ARENA_ARRAY(ev->arena, struct source_window, (size_t)n);
    int rc = arena_check(ev->arena, "query", e);
    if (rc)
        return rc;
    for (int64_t i = 0; i < n; i++)
        windows[i] = (struct source_window){.end_ms = start_ms + (i + 1) * width_ms, .status = WINDOW_MISSING};
    struct source_result served = *p->result;
    struct pane_site site = *p;
    struct kept_use kept = {0};
    site.result = &served;
    served.windows = &windows;
    served.windows_n = (uint32_t)n;
    served.views = (const uint32_t[]){SOURCE_NO_VIEW};
    served.covered_ms = start_ms;
    if (keeps)
        rc = kept_serve(ev, p, t, &served, &kept, e);
    if (rc == 0)
        rc = estimate_from(ev, &site, t, apart ? windows : NULL, ret, counts, e);
    if (kept.built_n)
        counts->sources |= SOURCE_RAW;
    kept_done(&kept);
    return rc;
}

int panes_estimate(struct eval *ev, const struct pane_site *p, const struct times *t, struct value *ret,
                   struct pane_counts *counts, struct err *e)
{
    const struct source_result *result = p->result;
    if (result->histograms_met || (p->left && p->left->histograms_met))
        return err_set(e, ERR_NOT_COVERED, "a series of the span has native histograms");
    if (p->view->when != WHEN_INGESTION)
        return estimate_unstored(ev, p, t, ret, counts, e);
    /* Nothing is kept yet: states built here only to be read once would be dearer than the samples, and no more exact.
     */
    bool ragged = panes_fit(p->view, &p->site, t) == PANES_RAGGED;
    if ((result->windows_n > 1 || ragged) &&
        (result->windows_n == 0 || result->covered_ms < result->windows[0][0].end_ms))
        return err_set(e, ERR_NOT_COVERED, "no window of the view has states yet");
    if (p->site.group)
        return group_panes_estimate(ev, p, t, ret, counts, e);
    return estimate_from(ev, p, t, NULL, ret, counts, e);
}
