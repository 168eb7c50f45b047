#include "executor/panes.h"

#include "base/alloc.h"
#include "base/duration.h"
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
    struct strbuf built;        /* states built from raw for the series at hand */
    struct strbuf left;         /* states of the left edge, all series */
    struct left_state *left_of; /* [left series]: where in `left`; NULL without a left edge */
    uint32_t left_at;           /* cursor in the left edge's series, which ascend like the others */
    struct held *held;          /* [windows_n] */
    struct state_ref *refs;     /* [windows_n]: held refs in a row, for estimate */
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

enum pane_fit panes_fit(const struct grid *panes, const struct site *site, const struct times *t)
{
    int64_t w = panes->step_ms, end_ms = window_end_ms(site, t, 0);
    if (w <= 0)
        return PANES_UNFIT;
    bool one_window = site->anchored || t->n == 1;
    if (site->range_ms % w == 0 && (one_window || t->step_ms % w == 0) && floor_mod(end_ms - panes->phase_ms, w) == 0)
        return PANES_WHOLE;
    /* Edges are less than two panes; what they leave must be worth it. */
    return one_window && site->range_ms >= 4 * w ? PANES_RAGGED : PANES_UNFIT;
}

void panes_request(const struct plan_view *view, const struct site *site, const struct times *t,
                   struct source_request *ret)
{
    *ret = (struct source_request){.matchers = site->selector->matchers,
                                   .matchers_n = site->selector->matchers_n,
                                   .start_ms = window_end_ms(site, t, 0) - site->range_ms,
                                   .end_ms = window_end_ms(site, t, t->n - 1),
                                   .identities = &view->identity,
                                   .identities_n = 1,
                                   .width_ms = view->panes.step_ms,
                                   .phase_ms = view->panes.phase_ms};
}

bool panes_left_request(const struct plan_view *view, const struct site *site, const struct times *t,
                        struct source_request *ret)
{
    int64_t start_ms = window_end_ms(site, t, 0) - site->range_ms;
    int64_t past_ms = floor_mod(start_ms - view->panes.phase_ms, view->panes.step_ms);
    if (past_ms == 0)
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
    int64_t growing_ms = result->windows_n
                             ? result->windows[0][result->windows_n - 1].end_ms - r->shard.view->panes.step_ms
                             : result->covered_ms;
    if (s->raw_from_ms >= result->covered_ms && s->raw_from_ms >= growing_ms && !r->left_of)
        return SOURCE_PANES;
    return SOURCE_PANES | SOURCE_RAW;
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
    if (rc == 0)
        rc = hold_built(r, s, times_ms, values, n, &held_n, e);
    if (rc || held_n == 0)
        return rc;
    r->counts->sources |= series_source(r, s);
    refs_make(r, held_n);
    scratch_reserve(r, held_n);
    struct vec_series *out = &r->out[series];
    out->v = value_array(r->ev, r->times->n);
    if (!out->v)
        return arena_check(r->ev->arena, "query", e);
    out->labels = s->labels;
    enum statistic statistic = r->site->site.statistic;
    out->drop_name = statistic != STATISTIC_LAST && statistic != STATISTIC_FIRST;
    return estimate_series(r, held_n, out->v, e);
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

int panes_estimate(struct eval *ev, const struct pane_site *p, const struct times *t, struct value *ret,
                   struct pane_counts *counts, struct err *e)
{
    struct pane_reader r = {.ev = ev, .site = p, .times = t, .counts = counts};
    const struct source_result *result = p->result;
    /* Nothing is kept yet: states built here only to be read once would be dearer than the samples, and no more exact.
     */
    bool ragged = panes_fit(&p->view->panes, &p->site, t) == PANES_RAGGED;
    if ((result->windows_n > 1 || ragged) &&
        (result->windows_n == 0 || result->covered_ms < result->windows[0][0].end_ms))
        return err_set(e, ERR_NOT_COVERED, "no window of the view has states yet");
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
