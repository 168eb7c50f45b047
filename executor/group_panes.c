#include "executor/group_panes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/samples.h"
#include "executor/group_states.h"
#include "executor/group_top.h"
#include "executor/ladder.h"
#include "executor/scan.h"

struct group_reader {
    struct eval *ev;
    const struct pane_site *site;
    const struct plan_view *view;
    const struct family_info *family;
    const struct times *times;
    uint32_t steps_n; /* 1 when all evaluation times have one window */
    struct ladder ladder;

    struct group_states built; /* of the left edge, and of the windows after those that blocks serve */
    int64_t *built_ends_ms;    /* [built_n], ascending */
    uint32_t built_n;
    uint32_t window; /* where samples go that are being scanned */

    struct label_index results;              /* the label sets of results */
    struct label_groups of_stored, of_built; /* the view's groups by result; those of `built` */

    struct state_ref *refs; /* of the window at hand, ascending by end; those before `low` are past */
    size_t refs_cap;
    uint32_t refs_n, low;
    uint64_t samples_n; /* behind refs[low..refs_n), as the family counts */
    void *scratch;
    size_t scratch_cap;
    struct group_top top; /* and how many it has of the last step */
    uint32_t top_n;
    size_t out_cap;
    struct pane_counts *counts;
};

/* ---- what is built from samples ---- */

static int build_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                        const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct group_reader *r = ctx;
    const struct source_result *from = r->window == 0 && r->site->left ? r->site->left : r->site->result;
    bool member = false;
    int rc = eval_check(r->ev, n, e);
    if (rc == 0 && n > 0)
        rc = group_states_series(&r->built, &from->series[series].labels, &member, e);
    uint32_t at = 0;
    for (uint32_t w = r->window; w < r->built_n && member && rc == 0; w++) {
        uint32_t first = at;
        while (at < n && times_ms[at] <= r->built_ends_ms[w])
            at++;
        if (at > first)
            rc = group_states_add(&r->built, w, times_ms + first, values + first, at - first, e);
    }
    return rc;
}

static int scan_into(struct group_reader *r, const struct source_result *result, int64_t start_ms, int64_t end_ms,
                     uint32_t *damaged_n, struct err *e)
{
    struct scan scan = {.result = result, .txn = r->ev->txn, .start_ms = start_ms, .end_ms = end_ms};
    int rc = start_ms < end_ms ? scan_run(&scan, build_series, r, e) : 0;
    *damaged_n += scan.damaged_n;
    return rc;
}

/* The ends of what is built: the left edge, windows after covered_ms, the right edge. */
static int list_built(struct group_reader *r, struct err *e)
{
    const struct source_result *result = r->site->result;
    int64_t last_ms = panes_end_ms(&r->site->site, r->times, r->times->n - 1), end_ms = result->covered_ms;
    enum { EDGES = 2 };
    r->built_ends_ms = ARENA_ARRAY(r->ev->arena, int64_t, result->windows_n + EDGES);
    int rc = arena_check(r->ev->arena, "query", e);
    if (rc != 0)
        return rc;
    if (r->site->left)
        r->built_ends_ms[r->built_n++] = panes_left_end_ms(r->site);
    for (uint32_t w = 0; w < result->windows_n; w++) {
        end_ms = result->windows[0][w].end_ms;
        if (end_ms > result->covered_ms)
            r->built_ends_ms[r->built_n++] = end_ms;
    }
    if (end_ms < last_ms)
        r->built_ends_ms[r->built_n++] = last_ms;
    return 0;
}

static int build(struct group_reader *r, struct err *e)
{
    const struct site *site = &r->site->site;
    const struct source_result *result = r->site->result;
    int64_t start_ms = panes_end_ms(site, r->times, 0) - site->range_ms;
    int64_t last_ms = panes_end_ms(site, r->times, r->times->n - 1);
    uint32_t damaged_n = 0;
    int rc = list_built(r, e);
    if (rc == 0)
        rc = group_states_init(&r->built, r->view, r->site->sketch_seed, r->built_ends_ms, r->built_n, r->ev->arena, e);
    if (rc == 0 && r->site->left)
        rc = scan_into(r, r->site->left, start_ms, panes_left_end_ms(r->site), &damaged_n, e);
    r->window = r->site->left != NULL;
    if (r->site->left)
        start_ms = panes_left_end_ms(r->site);
    if (rc == 0)
        rc =
            scan_into(r, result, start_ms > result->covered_ms ? start_ms : result->covered_ms, last_ms, &damaged_n, e);
    if (rc == 0 && damaged_n)
        notes_warn(r->ev->notes, "%u raw blocks failed their checksum and were left out", damaged_n);
    if (rc == 0)
        group_states_finish(&r->built);
    return rc;
}

/* ---- which groups make up a result ---- */

/* Series first: results stand in the order in which an evaluation from samples would come upon them. */
static int number_results(struct group_reader *r, struct err *e)
{
    const struct source_result *result = r->site->result;
    const struct site_group *g = r->site->site.group;
    const struct label_key key = {LABEL_KEY_ONLY, g->by, g->by_n};
    uint32_t stored_n = result->groups ? result->groups_n[0] : 0, number;
    uint32_t *stored = ARENA_ARRAY(r->ev->arena, uint32_t, stored_n + 1u);
    uint32_t *built = ARENA_ARRAY(r->ev->arena, uint32_t, r->built.groups.n + 1u);
    int rc = arena_check(r->ev->arena, "query", e);
    for (uint32_t i = 0; i < result->series_n && rc == 0; i++) {
        uint64_t item;
        if (g->input.kind == INPUT_VALUE || view_input_item(&g->input, &result->series[i].labels, &item))
            rc = label_index_number(&r->results, &key, &result->series[i].labels, &number, e);
        rc = rc == 0 ? eval_check(r->ev, 0, e) : rc;
    }
    for (uint32_t i = 0; i < stored_n && rc == 0; i++)
        rc = label_index_number(&r->results, &key, &result->groups[0][i].labels, &stored[i], e);
    for (uint32_t i = 0; i < r->built.groups.n && rc == 0; i++)
        rc = label_index_number(&r->results, &key, &r->built.groups.sets[i], &built[i], e);
    if (rc == 0)
        rc = label_groups_lay_out(r->ev, stored, stored_n, r->results.n, &r->of_stored, e);
    if (rc == 0)
        rc = label_groups_lay_out(r->ev, built, r->built.groups.n, r->results.n, &r->of_built, e);
    return rc;
}

/* ---- one result ---- */

static void refs_reserve(struct group_reader *r, uint64_t more)
{
    r->refs = mem_grow(r->refs, &r->refs_cap, r->refs_n + more, sizeof *r->refs);
}

/* A group's blocks stand where those of series `number` of metric 0 would. */
static int take_stored(struct group_reader *r, uint32_t number, int64_t from_ms, int64_t to_ms, struct err *e)
{
    const struct source_series place = {.metric = 0, .ordinal = number};
    int64_t covered_ms = r->site->result->covered_ms;
    to_ms = to_ms < covered_ms ? to_ms : covered_ms;
    if (from_ms >= to_ms)
        return 0;
    refs_reserve(r, (uint64_t)((to_ms - from_ms) / r->view->panes.step_ms) + 2);
    struct ladder_states states = {.refs = r->refs + r->refs_n};
    ladder_series(&r->ladder, &place);
    int rc = ladder_cover(&r->ladder, from_ms, to_ms, &states, e);
    r->refs_n += states.n;
    r->samples_n += states.samples_n;
    return rc;
}

static int take_built(struct group_reader *r, uint32_t group, int64_t from_ms, int64_t to_ms, struct err *e)
{
    for (uint32_t w = samples_upto(r->built_ends_ms, r->built_n, from_ms);
         w < r->built_n && r->built_ends_ms[w] <= to_ms; w++) {
        struct str state;
        uint64_t samples_n;
        int rc = group_states_get(&r->built, w, group, &state, &samples_n, e);
        if (rc != 0)
            return rc;
        if (state.n == 0)
            continue;
        const uint8_t *bytes = arena_dup(r->ev->arena, state.p, state.n);
        if (!bytes)
            return arena_check(r->ev->arena, "query", e);
        refs_reserve(r, 1);
        r->refs[r->refs_n++] = (struct state_ref){bytes, (uint32_t)state.n, r->built_ends_ms[w]};
        r->samples_n += r->family->count(bytes, state.n);
    }
    return 0;
}

static int by_end(const void *pa, const void *pb)
{
    const struct state_ref *a = pa, *b = pb;
    return (a->end_ms > b->end_ms) - (a->end_ms < b->end_ms);
}

/* The states of windows that end in (from, to], of all the result's groups, follow those there are. */
static int take(struct group_reader *r, uint32_t result, int64_t from_ms, int64_t to_ms, struct err *e)
{
    int rc = 0;
    if (r->low > r->refs_n / 2) {
        r->refs_n -= r->low;
        memmove(r->refs, r->refs + r->low, r->refs_n * sizeof *r->refs);
        r->low = 0;
    }
    uint32_t first = r->refs_n;
    for (uint32_t i = r->of_stored.starts[result]; i < r->of_stored.starts[result + 1] && rc == 0; i++) {
        rc = take_stored(r, r->site->result->groups[0][r->of_stored.members[i]].number, from_ms, to_ms, e);
        rc = rc == 0 ? eval_check(r->ev, 0, e) : rc;
    }
    for (uint32_t i = r->of_built.starts[result]; i < r->of_built.starts[result + 1] && rc == 0; i++)
        rc = take_built(r, r->of_built.members[i], from_ms, to_ms, e);
    if (r->refs_n - first > 1)
        qsort(r->refs + first, r->refs_n - first, sizeof *r->refs, by_end);
    return rc;
}

static int estimate(struct group_reader *r, uint32_t step, double *v, struct err *e)
{
    const struct site *site = &r->site->site;
    const struct state_ref *refs = r->refs + r->low;
    uint32_t n = r->refs_n - r->low;
    int64_t end_ms = panes_end_ms(site, r->times, step);
    r->top_n = 0;
    if (n == 0)
        return 0;
    struct sketch_args args = {.start_ms = end_ms - site->range_ms, .end_ms = end_ms};
    size_t need = r->family->scratch_bound(&r->view->params, r->samples_n, n);
    r->scratch = mem_grow(r->scratch, &r->scratch_cap, need, 1);
    r->counts->states_n += n;
    int rc = eval_check(r->ev, n, e);
    if (rc != 0)
        return rc;
    double value = 0;
    if (site->statistic == STATISTIC_TOPK)
        rc = r->family->top(refs, n, &r->view->params, site->group->top, r->top.keys, r->top.weights, &r->top_n,
                            r->scratch);
    else
        rc = r->family->estimate(refs, n, &r->view->params, site->statistic, &args, r->scratch, &value);
    if (rc == SKETCH_NONE)
        return 0;
    if (rc != SKETCH_OK)
        return err_set(e, ERR_NOT_COVERED, "reading %s from %s states failed with %d", statistic_name(site->statistic),
                       r->family->name, rc);
    if (site->statistic == STATISTIC_TOPK)
        return group_top_take(&r->top, step, r->top_n, e);
    v[step] = value;
    return 0;
}

/* All evaluation times in order: each window's new states are taken, those it has left behind are let go. */
static int read_result(struct group_reader *r, uint32_t result, double *v, struct err *e)
{
    const struct site *site = &r->site->site;
    int64_t have_ms = INT64_MIN;
    int rc = 0;
    r->refs_n = r->low = 0;
    r->samples_n = 0;
    for (uint32_t i = 0; i < r->steps_n && rc == 0; i++) {
        int64_t end_ms = panes_end_ms(site, r->times, i), start_ms = end_ms - site->range_ms;
        rc = take(r, result, have_ms > start_ms ? have_ms : start_ms, end_ms, e);
        have_ms = end_ms;
        for (; r->low < r->refs_n && r->refs[r->low].end_ms <= start_ms; r->low++)
            r->samples_n -= r->family->count(r->refs[r->low].bytes, r->refs[r->low].size);
        if (rc == 0)
            rc = estimate(r, i, v, e);
    }
    for (uint32_t i = r->steps_n; i < r->times->n && rc == 0; i++) {
        v[i] = v[0];
        rc = group_top_take(&r->top, i, r->top_n, e);
    }
    return rc;
}

/* ---- all of them ---- */

static uint32_t source_bits(const struct group_reader *r)
{
    const struct source_result *result = r->site->result;
    int64_t growing_ms = result->windows_n ? result->windows[0][result->windows_n - 1].end_ms - r->view->panes.step_ms
                                           : result->covered_ms;
    return result->covered_ms >= growing_ms && !r->site->left ? SOURCE_PANES : SOURCE_PANES | SOURCE_RAW;
}

/* Groups that have no number are in no list: the first block of their window says that there are such. */
static int check_whole(struct group_reader *r, struct err *e)
{
    const struct site *site = &r->site->site;
    int64_t have_ms = INT64_MIN;
    int rc = 0;
    for (uint32_t i = 0; i < r->steps_n && rc == 0; i++) {
        int64_t end_ms = panes_end_ms(site, r->times, i), start_ms = end_ms - site->range_ms;
        r->refs_n = 0;
        rc = take_stored(r, 0, have_ms > start_ms ? have_ms : start_ms, end_ms, e);
        have_ms = end_ms;
    }
    return rc;
}

struct placed {
    const struct labels *labels;
    uint32_t result;
};

static int by_labels(const void *pa, const void *pb)
{
    const struct placed *a = pa, *b = pb;
    return labels_cmp(a->labels, b->labels);
}

/* In the order of an evaluation from samples: aggregations go by their series, label functions by labels. */
static struct placed *place_results(struct group_reader *r)
{
    struct placed *placed = ARENA_ARRAY(r->ev->arena, struct placed, r->results.n + 1u);
    for (uint32_t i = 0; placed && i < r->results.n; i++)
        placed[i] = (struct placed){&r->results.sets[i], i};
    if (placed && r->results.n > 1 && r->site->site.group->input.kind == INPUT_LABEL)
        qsort(placed, r->results.n, sizeof *placed, by_labels);
    return placed;
}

static int read_all(struct group_reader *r, struct value *ret, struct err *e)
{
    bool lists = r->site->site.statistic == STATISTIC_TOPK;
    const struct placed *placed = place_results(r);
    int rc = placed ? check_whole(r, e) : 0;
    for (uint32_t i = 0; i < r->results.n && rc == 0; i++) {
        double *v = value_array_absent(r->ev, r->times->n);
        uint64_t before = r->counts->states_n;
        ret->series = arena_grow(r->ev->arena, ret->series, &r->out_cap, ret->series_n + 1u, sizeof *ret->series);
        rc = arena_check(r->ev->arena, "query", e);
        if (rc == 0)
            rc = read_result(r, placed[i].result, v, e);
        if (rc != 0 || r->counts->states_n == before)
            continue;
        r->counts->sources |= source_bits(r);
        if (lists)
            rc = group_top_give(&r->top, placed[i].labels, ret, &r->out_cap, e);
        else
            ret->series[ret->series_n++] = (struct vec_series){.labels = *placed[i].labels, .v = v};
    }
    ret->ordered = lists && r->site->site.group->input.kind == INPUT_SERIES && r->times->n == 1;
    return rc != 0 ? rc : arena_check(r->ev->arena, "query", e);
}

static int reader_init(struct group_reader *r, struct err *e)
{
    const struct pane_site *p = r->site;
    const struct site_group *g = p->site.group;
    int rc = ladder_init(&r->ladder, p->view, NULL, 0, p->result, r->ev->txn, r->ev->arena, e);
    if (rc != 0 || p->site.statistic != STATISTIC_TOPK)
        return rc;
    if (!r->family->top || p->view->params.heap < g->top)
        return err_set(e, ERR_NOT_COVERED, "states of the %u heaviest items are asked for %u", p->view->params.heap,
                       g->top);
    return group_top_init(&r->top, r->ev, p, r->times->n, e);
}

int group_panes_estimate(struct eval *ev, const struct pane_site *p, const struct times *t, struct value *ret,
                         struct pane_counts *counts, struct err *e)
{
    struct group_reader r = {.ev = ev,
                             .site = p,
                             .view = p->view,
                             .family = family_get(p->view->family),
                             .times = t,
                             .steps_n = p->site.anchored ? 1 : t->n,
                             .counts = counts};
    struct value out = {.type = VALUE_VECTOR};
    label_index_init(&r.results, ev->arena);
    int rc = reader_init(&r, e);
    if (rc == 0)
        rc = build(&r, e);
    if (rc == 0)
        rc = number_results(&r, e);
    if (rc == 0)
        rc = read_all(&r, &out, e);
    group_states_done(&r.built);
    label_index_done(&r.results);
    mem_free(r.refs);
    mem_free(r.scratch);
    if (rc == 0)
        *ret = out;
    return rc;
}
