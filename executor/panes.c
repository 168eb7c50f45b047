#include "executor/panes.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "executor/kept.h"
#include "executor/op_build.h"
#include "executor/pane_shard.h"
#include "executor/scan.h"

/* A state of the series at hand, in order of time. States built here are offsets into `built` until all are. */
struct held {
    struct state_ref ref;
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
    const struct times *times;
    struct pane_shard shard;
    struct state_builder builder;
    struct strbuf built;         /* states built from raw for the series at hand */
    struct strbuf left;          /* states of the left edge, all series */
    struct left_state *left_of;  /* [left series]: where in `left`; NULL without a left edge */
    struct source_window *apart; /* [windows_n]: rewritten for each evaluation time; NULL: all share the windows */
    uint32_t left_at;            /* cursor in the left edge's series, which ascend like the others */
    struct held *held;           /* [windows_n] */
    struct state_ref *refs;      /* [windows_n]: held refs in a row, for estimate */
    void *scratch;
    size_t scratch_cap;
    uint64_t scratch_samples; /* most that scratch serves ... */
    uint32_t scratch_states;  /* ... over so many states */
    struct vec_series *out;   /* [series_n] */
    struct pane_counts *counts;
};

static int64_t window_end_ms(const struct site *site, const struct times *t, uint32_t i)
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
    int64_t w = panes->step_ms, end_ms = window_end_ms(site, t, 0);
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

void panes_request(const struct plan_view *view, const struct site *site, const struct times *t,
                   struct source_request *ret)
{
    *ret = (struct source_request){.matchers = site->selector->matchers,
                                   .matchers_n = site->selector->matchers_n,
                                   .start_ms = window_end_ms(site, t, 0) - site->range_ms,
                                   .end_ms = window_end_ms(site, t, t->n - 1)};
    if (view->when == WHEN_QUERY)
        return;
    ret->width_ms = view->panes.step_ms;
    ret->phase_ms = view->panes.phase_ms;
    if (view->when == WHEN_INGESTION) {
        ret->identities = &view->identity;
        ret->identities_n = 1;
    }
}

bool panes_left_request(const struct plan_view *view, const struct site *site, const struct times *t,
                        struct source_request *ret)
{
    int64_t start_ms = window_end_ms(site, t, 0) - site->range_ms;
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
    switch (r->shard.view->family) {
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

/* Stored states of the windows that need no raw are held after the *ret_n there are. */
static int hold_stored(struct pane_reader *r, const struct source_series *s, uint32_t *ret_n, struct err *e)
{
    const struct source_result *result = r->site->result;
    uint32_t n = *ret_n, slot = s->ordinal % SHARD_SERIES;
    bool careful = needs_finite(r);
    int rc = pane_shard_load(&r->shard, s->metric, s->ordinal / SHARD_SERIES, e);
    if (rc)
        return rc == ERR_CORRUPT ? (e->code = ERR_NOT_COVERED) : rc;
    for (uint32_t w = 0; w < result->windows_n && r->shard.windows[w].end_ms <= s->raw_from_ms; w++) {
        const struct pane_block *b = &r->shard.blocks[w];
        if (b->present_n == 0)
            continue;
        struct str state = pane_block_state(b, slot);
        if (state.n == 0)
            continue;
        if (careful && b->flags & (PANE_NONFINITE | PANE_COLLAPSED) &&
            r->shard.family->flags((const uint8_t *)state.p, state.n))
            return err_set(e, ERR_NOT_COVERED, "a state holds non-finite samples or a collapsed sketch");
        r->held[n++] = (struct held){.ref = {(const uint8_t *)state.p, (uint32_t)state.n, r->shard.windows[w].end_ms}};
    }
    *ret_n = n;
    return 0;
}

/* One state of the samples of (some start, end_ms]; *ret is good until the next. */
static int build_state(struct pane_reader *r, const struct labels *labels, int64_t end_ms, const int64_t *times_ms,
                       const double *values, uint32_t n, struct str *ret, struct err *e)
{
    const struct plan_view *view = r->shard.view;
    uint64_t seed = r->site->sketch_seed;
    if (view->family == FAMILY_KLL)
        seed = state_seed(seed, view->identity, labels, end_ms);
    int rc = state_builder_run(&r->builder, end_ms, times_ms, values, n, seed, ret, e);
    if (rc == 0 && needs_finite(r) && r->shard.family->flags((const uint8_t *)ret->p, ret->n))
        return err_set(e, ERR_NOT_COVERED, "a window holds non-finite samples or a collapsed sketch");
    return rc;
}

static void hold_bytes(struct pane_reader *r, struct str state, int64_t end_ms, uint32_t *held_n)
{
    r->held[(*held_n)++] =
        (struct held){.ref = {NULL, (uint32_t)state.n, end_ms}, .is_built = true, .built_at = r->built.n};
    strbuf_add_str(&r->built, state);
}

/* States of the windows after raw_from_ms, and of the right edge, built from the samples at hand. */
static int hold_built(struct pane_reader *r, const struct source_series *s, const int64_t *times_ms,
                      const double *values, uint32_t n, uint32_t *held_n, struct err *e)
{
    int64_t last_ms = window_end_ms(&r->site->site, r->times, r->times->n - 1);
    uint32_t at = 0;
    for (uint32_t w = 0; w <= r->shard.windows_n; w++) {
        int64_t end_ms = w < r->shard.windows_n ? r->shard.windows[w].end_ms : last_ms;
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

static int64_t left_end_ms(const struct pane_reader *r)
{
    return r->shard.windows[0].end_ms - r->shard.view->panes.step_ms;
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
        hold_bytes(r, (struct str){r->left.p + at.at, at.size}, left_end_ms(r), held_n);
}

static int left_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values, uint32_t n,
                       struct err *e)
{
    struct pane_reader *r = ctx;
    struct str state = {0};
    int rc = eval_check(r->ev, n, e);
    if (rc == 0 && n)
        rc = build_state(r, &r->site->left->series[series].labels, left_end_ms(r), times_ms, values, n, &state, e);
    r->left_of[series] = (struct left_state){r->left.n, (uint32_t)state.n};
    strbuf_add_str(&r->left, state);
    return rc;
}

static void refs_make(struct pane_reader *r, uint32_t held_n)
{
    for (uint32_t i = 0; i < held_n; i++) {
        r->refs[i] = r->held[i].ref;
        if (r->held[i].is_built)
            r->refs[i].bytes = (const uint8_t *)r->built.p + r->held[i].built_at;
    }
}

static void scratch_reserve(struct pane_reader *r, uint32_t held_n)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < held_n; i++)
        n += r->shard.family->count(r->refs[i].bytes, r->refs[i].size);
    if (n <= r->scratch_samples && held_n <= r->scratch_states)
        return;
    r->scratch_samples = n > r->scratch_samples ? n : r->scratch_samples;
    r->scratch_states = held_n > r->scratch_states ? held_n : r->scratch_states;
    size_t need = r->shard.family->scratch_bound(&r->shard.view->params, r->scratch_samples, r->scratch_states);
    r->scratch = mem_grow(r->scratch, &r->scratch_cap, need, 1);
}

/* One number per evaluation time; the run of refs slides with the window. */
static int estimate_series(struct pane_reader *r, uint32_t held_n, double *v, struct err *e)
{
    const struct site *site = &r->site->site;
    uint32_t low = 0, high = 0;
    for (uint32_t i = 0; i < r->times->n; i++) {
        int64_t end_ms = window_end_ms(site, r->times, i), start_ms = end_ms - site->range_ms;
        while (high < held_n && r->refs[high].end_ms <= end_ms)
            high++;
        while (low < high && r->refs[low].end_ms <= start_ms)
            low++;
        v[i] = float_stale();
        if (low == high)
            continue;
        struct sketch_args args = {.start_ms = start_ms, .end_ms = end_ms, .q = site->q};
        if (site->statistic == STATISTIC_PREDICT_LINEAR) /* from the evaluation time, whatever the window's */
            args.ahead_s = (double)(times_at(r->times, i) - end_ms) / 1e3 + site->q;
        double value;
        int rc = r->shard.family->estimate(r->refs + low, high - low, &r->shard.view->params, site->statistic, &args,
                                           r->scratch, &value);
        r->counts->states_n += high - low;
        if (rc == SKETCH_OK)
            v[i] = value;
        else if (rc != SKETCH_NONE)
            return err_set(e, ERR_NOT_COVERED, "reading %s from %s states failed with %d",
                           statistic_name(site->statistic), r->shard.family->name, rc);
    }
    return 0;
}

/* The newest pane is the head's while it grows and counts as a pane; other windows without states were read from raw.
 */
static uint32_t series_source(const struct pane_reader *r, const struct source_series *s)
{
    const struct source_result *result = r->site->result;
    if (r->shard.view->when != WHEN_INGESTION && result->covered_ms < r->shard.windows[0].end_ms)
        return SOURCE_RAW;
    int64_t growing_ms = result->windows_n
                             ? result->windows[0][result->windows_n - 1].end_ms - r->shard.view->panes.step_ms
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
    refs_make(r, held_n);
    scratch_reserve(r, held_n);
    return estimate_series(r, held_n, v, e);
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
        int64_t end_ms = window_end_ms(site, &one, 0);
        while (from < n && times_ms[from] <= end_ms - site->range_ms)
            from++;
        while (to < n && times_ms[to] <= end_ms)
            to++;
        for (uint32_t w = 0; w < r->shard.windows_n; w++)
            r->apart[w].end_ms = end_ms - (int64_t)(r->shard.windows_n - 1 - w) * r->shard.view->panes.step_ms;
        strbuf_clear(&r->built);
        r->times = &one;
        rc = read_times(r, s, times_ms + from, values + from, to - from, 0, v + i, e);
        r->times = all;
        if (rc == 0)
            rc = eval_check(r->ev, to - from, e);
    }
    return rc;
}

static int read_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values, uint32_t n,
                       struct err *e)
{
    struct pane_reader *r = ctx;
    const struct source_series *s = &r->site->result->series[series];
    uint32_t held_n = 0;
    int rc = eval_check(r->ev, n, e);
    strbuf_clear(&r->built);
    if (rc == 0 && r->left_of)
        hold_left(r, s, &held_n);
    if (rc == 0)
        rc = hold_stored(r, s, &held_n, e);
    if (rc || (held_n == 0 && n == 0))
        return rc;
    r->counts->sources |= series_source(r, s);
    struct vec_series *out = &r->out[series];
    out->v = value_array(r->ev, r->times->n);
    if (!out->v)
        return arena_check(r->ev->arena, "query", e);
    out->labels = s->labels;
    enum statistic statistic = r->site->site.statistic;
    out->drop_name = statistic != STATISTIC_LAST && statistic != STATISTIC_FIRST;
    return r->apart ? read_apart(r, s, times_ms, values, n, out->v, e)
                    : read_times(r, s, times_ms, values, n, held_n, out->v, e);
}

static int read_all(struct pane_reader *r, struct err *e)
{
    const struct site *site = &r->site->site;
    struct scan scan = {.result = r->site->result,
                        .txn = r->ev->txn,
                        .start_ms = window_end_ms(site, r->times, 0) - site->range_ms,
                        .end_ms = window_end_ms(site, r->times, r->times->n - 1)};
    int rc = 0;
    if (r->left_of) {
        struct scan edge = scan;
        edge.result = r->site->left;
        edge.end_ms = left_end_ms(r);
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
    int rc = pane_shard_init(&r->shard, r->site->view, result, r->ev->txn, a, e);
    if (rc == 0)
        rc = state_builder_init(&r->builder, r->site->view->family, &r->site->view->params, e);
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
    struct pane_reader r = {.ev = ev, .site = p, .times = t, .apart = apart, .counts = counts};
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
    int64_t width_ms = p->view->panes.step_ms, start_ms = window_end_ms(&p->site, t, 0) - p->site.range_ms;
    bool keeps = p->view->when == WHEN_QUERY_KEPT && p->cache, apart = !keeps && !share_panes(&p->site, t, width_ms);
    int64_t n = (apart ? p->site.range_ms : window_end_ms(&p->site, t, t->n - 1) - start_ms) / width_ms;
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
    if (p->view->when != WHEN_INGESTION)
        return estimate_unstored(ev, p, t, ret, counts, e);
    /* Nothing is kept yet: states built here only to be read once would be dearer than the samples, and no more exact.
     */
    bool ragged = panes_fit(p->view, &p->site, t) == PANES_RAGGED;
    if ((result->windows_n > 1 || ragged) &&
        (result->windows_n == 0 || result->covered_ms < result->windows[0][0].end_ms))
        return err_set(e, ERR_NOT_COVERED, "no window of the view has states yet");
    return estimate_from(ev, p, t, NULL, ret, counts, e);
}
