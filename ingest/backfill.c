/*
 * A plan comes into force, at the start or in place of another: each view gets its store number, what the store has of
 * it is found by its manifests, and what its readers reach beyond that is built from raw, window by window, newest
 * first, so that the unbroken run always grows. Views of the store that are not in the plan are freed: nobody would
 * mark what arrives late for them.
 */
#include "base/alloc.h"
#include "base/stats.h"
#include "ingest/ingest_internal.h"
#include "ingest/view_groups.h"

static struct stat manifests_missing =
    STAT_COUNTER("mullion_pane_windows_missing_total", "", "Windows that should be stored but have no manifest");
static struct stat groups_damaged =
    STAT_COUNTER("mullion_view_groups_damaged_total", "",
                 "Views by labels whose windows were let go, the labels of their groups being damaged");

/* As they were when the plan came. */
struct clocks {
    int64_t watermark_ms, first_event_ms, unplanned_ms;
};

/* ---- store numbers ---- */

/* All windows gone, and the label sets of a view by labels; the number stays its identity's. */
static int view_empty(struct store_txn *t, struct pane_view *v, struct err *e)
{
    uint32_t dropped;
    int rc = pane_drop(t, v->number, INT64_MAX, &dropped, e);
    if (rc == 0)
        rc = group_drop(t, GROUP_OF_VIEW, v->number, e);
    v->complete_from_ms = INT64_MAX;
    v->sealed_to_ms = INT64_MIN;
    return rc ? rc : pane_view_update(t, v, e);
}

/* The view's number and spans; empty when a sample came, while no plan was in force, that may lie in its windows. */
static int view_number(struct store_txn *t, const struct plan_view *v, int64_t unplanned_ms, struct pane_view *ret,
                       struct err *e)
{
    int rc = pane_view_find(t, v->identity, ret, e);
    if (rc == ERR_NOT_FOUND)
        return pane_view_create(t, v->identity, ret, e);
    if (rc == 0 && ret->sealed_to_ms != INT64_MIN && unplanned_ms <= ret->sealed_to_ms)
        rc = view_empty(t, ret, e);
    return rc;
}

struct unplanned {
    const struct plan *plan;
    struct pane_view *views;
    size_t n, cap;
};

static int note_unplanned(void *ctx, const struct pane_view *v, struct err *e)
{
    struct unplanned *u = ctx;
    for (uint32_t i = 0; i < u->plan->views_n; i++)
        if (u->plan->views[i].when == WHEN_INGESTION &&
            memcmp(u->plan->views[i].identity, v->identity, IDENTITY_BYTES) == 0)
            return 0;
    if (v->sealed_to_ms == INT64_MIN && v->complete_from_ms == INT64_MAX)
        return 0;
    u->views = mem_grow(u->views, &u->cap, u->n + 1, sizeof *u->views);
    u->views[u->n++] = *v;
    return 0;
}

static int free_unplanned(struct store_txn *t, const struct plan *plan, struct err *e)
{
    struct unplanned u = {.plan = plan};
    int rc = pane_view_walk(t, note_unplanned, &u, e);
    for (size_t i = 0; i < u.n && rc == 0; i++)
        rc = view_empty(t, &u.views[i], e);
    mem_free(u.views);
    return rc;
}

static int view_groups_restore(struct view_state *v, uint32_t most, struct pane_view *stored, struct store_txn *t,
                               struct err *e)
{
    int rc = view_groups_load(v, most, t, e);
    if (rc != ERR_CORRUPT)
        return rc;
    stat_add(&groups_damaged, 1);
    label_sets_done(&v->groups);
    label_sets_init(&v->groups, GROUP_OF_VIEW, most);
    rc = view_empty(t, stored, e);
    v->complete_from_ms = v->backfill_from_ms = stored->complete_from_ms;
    v->sealed_to_ms = stored->sealed_to_ms;
    return rc;
}

static int group_views(const struct ingest *in, const struct clocks *clocks, const struct plan *plan,
                       const struct plan_group *from, struct group_state *g, struct store_txn *t, struct err *e)
{
    *g = (struct group_state){.window = from->window,
                              .views = mem_zalloc(from->views_n * sizeof *g->views),
                              .views_n = from->views_n,
                              .early_to_ms = INT64_MIN,
                              .sealed_to_ms = INT64_MIN};
    for (uint32_t i = 0; i < from->views_n; i++) {
        const struct plan_view *v = &plan->views[from->views[i]];
        struct pane_view stored;
        int rc = view_number(t, v, clocks->unplanned_ms, &stored, e);
        if (rc)
            return rc;
        g->views[i] = (struct view_state){.plan_view = from->views[i],
                                          .store_view = stored.number,
                                          .by_labels = !v->per_series,
                                          .retention_ms = v->retention_ms,
                                          .complete_from_ms = stored.complete_from_ms,
                                          .sealed_to_ms = stored.sealed_to_ms,
                                          .backfill_from_ms = stored.complete_from_ms};
        memcpy(g->views[i].identity, v->identity, IDENTITY_BYTES);
        if (g->views[i].by_labels)
            rc = view_groups_restore(&g->views[i], in->options.view_groups_max, &stored, t, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- what is stored ---- */

/* Walk down from sealed_to while manifests are there: complete_from is what was seen, not what was noted. */
static int view_verify(struct store_txn *t, const struct group_state *g, struct view_state *v, int64_t anchor_ms,
                       int64_t oldest_ms, struct err *e)
{
    int64_t noted_ms = v->sealed_to_ms == anchor_ms ? v->complete_from_ms : anchor_ms, end_ms = anchor_ms;
    while (end_ms > oldest_ms) {
        struct pane_manifest m;
        int rc = pane_manifest_get(t, v->store_view, end_ms, &m, e);
        if (rc == ERR_NOT_FOUND)
            break;
        if (rc)
            return rc;
        end_ms -= g->window.step_ms;
    }
    if (end_ms > noted_ms && noted_ms > oldest_ms)
        stat_add(&manifests_missing, 1);
    v->complete_from_ms = end_ms;
    v->sealed_to_ms = anchor_ms;
    return 0;
}

static int group_restore(const struct clocks *clocks, const struct plan *plan, struct group_state *g,
                         struct store_txn *t, struct err *e)
{
    int64_t watermark_ms = clocks->watermark_ms, anchor_ms = INT64_MIN, reach_ms = 0;
    if (watermark_ms == INT64_MIN)
        return 0;
    for (uint32_t i = 0; i < g->views_n; i++) {
        if (anchor_ms < g->views[i].sealed_to_ms)
            anchor_ms = g->views[i].sealed_to_ms;
        if (reach_ms < g->views[i].retention_ms)
            reach_ms = g->views[i].retention_ms;
    }
    /* Nothing stored, or all of it out of reach: begin at the watermark. */
    if (anchor_ms < watermark_ms - reach_ms)
        anchor_ms = grid_floor(g->window, watermark_ms);
    g->early_to_ms = g->sealed_to_ms = anchor_ms;
    for (uint32_t i = 0; i < g->views_n; i++) {
        struct view_state *v = &g->views[i];
        int64_t oldest_ms = grid_floor(g->window, anchor_ms - plan->views[v->plan_view].backfill_ms);
        int64_t first_ms = grid_floor(g->window, clocks->first_event_ms - 1);
        int rc = view_verify(t, g, v, anchor_ms, anchor_ms - v->retention_ms, e);
        if (rc)
            return rc;
        if (oldest_ms < first_ms)
            oldest_ms = first_ms;
        v->backfill_from_ms = oldest_ms < v->complete_from_ms ? oldest_ms : v->complete_from_ms;
    }
    return 0;
}

static int plan_install(struct ingest *in, const struct clocks *clocks, const struct plan *plan, struct windows *w,
                        struct roots *roots, struct err *e)
{
    struct store_txn *t;
    int rc = store_write_begin(in->store, &t, e);
    if (rc)
        return rc;
    w->groups = mem_zalloc((plan->groups_n + 1) * sizeof *w->groups);
    rc = free_unplanned(t, plan, e);
    for (uint32_t i = 0; i < plan->groups_n && rc == 0; i++) {
        w->groups_n = i + 1;
        rc = group_views(in, clocks, plan, &plan->groups[i], &w->groups[i], t, e);
        if (rc == 0)
            rc = group_restore(clocks, plan, &w->groups[i], t, e);
        if (w->newest_refreshed_ms < w->groups[i].early_to_ms)
            w->newest_refreshed_ms = w->groups[i].early_to_ms;
    }
    /* What is dirty is what the last checkpoint kept, or, of a plan in force, what is known now (dirty_move). */
    if (rc == 0 && !in->plan)
        rc = dirty_load(t, w, e);
    if (rc == 0)
        rc = roots_install(in, plan, t, roots, e);
    if (rc == 0 && clocks->unplanned_ms != INT64_MAX)
        rc = unplanned_put(t, INT64_MAX, e);
    if (rc) {
        store_write_abort(t);
        return rc;
    }
    return store_write_commit(t, e);
}

/* Late samples of windows that stay stored. Windows refreshed early are not taken over: they are refreshed again. */
static void dirty_move(struct windows *from, struct windows *to)
{
    for (uint32_t i = 0; i < to->groups_n; i++) {
        struct group_state *g = &to->groups[i];
        struct group_state *old = windows_group(from, g->window);
        if (!old)
            continue;
        struct dirty_set none = g->dirty;
        g->dirty = old->dirty;
        old->dirty = none;
        dirty_cut(&g->dirty, g->sealed_to_ms);
    }
}

int ingest_set_plan(struct ingest *in, const struct plan *plan, struct err *e)
{
    struct windows w = {.newest_refreshed_ms = INT64_MIN};
    struct roots roots = {.newest_read_ms = INT64_MIN};
    stat_register(&manifests_missing);
    stat_register(&groups_damaged);
    pthread_mutex_lock(&in->maintenance);
    pthread_rwlock_rdlock(&in->lock);
    struct clocks clocks = {ingest_watermark_locked(in), in->first_event_ms, in->unplanned_ms};
    pthread_rwlock_unlock(&in->lock);
    int rc = plan_install(in, &clocks, plan, &w, &roots, e);
    if (rc == 0) {
        pthread_rwlock_wrlock(&in->lock);
        if (in->plan)
            dirty_move(&in->windows, &w);
        windows_done(&in->windows);
        in->windows = w;
        roots_move(&in->roots, &roots);
        roots_done(&in->roots);
        in->roots = roots;
        in->plan = plan;
        in->unplanned_ms = INT64_MAX;
        for (size_t i = 0; i < in->replayed_n; i++) {
            windows_mark(&in->windows, in->replayed[i].series, in->replayed[i].time_ms);
            roots_mark(in, in->replayed[i].series, in->replayed[i].time_ms);
        }
        mem_free(in->replayed);
        in->replayed = NULL;
        in->replayed_n = in->replayed_cap = 0;
        if (plan_widest_window_ms(plan) + in->options.late_horizon_ms > in->options.raw_retention_ms)
            in->options.raw_retention_ms = plan_widest_window_ms(plan) + in->options.late_horizon_ms;
        pthread_rwlock_unlock(&in->lock);
    } else {
        windows_done(&w);
        roots_done(&roots);
    }
    pthread_mutex_unlock(&in->maintenance);
    return rc;
}

/* ---- building what is missing ---- */

/* The newest window that any view of the group still lacks; INT64_MIN when none does. */
static int64_t backfill_next(const struct group_state *g)
{
    int64_t newest_ms = INT64_MIN;
    for (uint32_t i = 0; i < g->views_n; i++)
        if (g->views[i].backfill_from_ms < g->views[i].complete_from_ms && newest_ms < g->views[i].complete_from_ms)
            newest_ms = g->views[i].complete_from_ms;
    return newest_ms;
}

static int backfill_commit(struct ingest *in, struct group_state *g, int64_t end_ms, const uint32_t *views,
                           uint32_t views_n, const struct shared_window *built, struct err *e)
{
    struct store_txn *t;
    int rc = store_write_begin(in->store, &t, e);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < views_n && rc == 0; i++) {
        struct view_state *v = &g->views[views[i]];
        struct pane_view stored = {
            .number = v->store_view, .complete_from_ms = end_ms - g->window.step_ms, .sealed_to_ms = v->sealed_to_ms};
        memcpy(stored.identity, v->identity, IDENTITY_BYTES);
        struct pane_manifest m;
        rc = pane_manifest_get(t, v->store_view, end_ms, &m, e);
        if (rc == ERR_NOT_FOUND)
            rc = window_put(t, v, end_ms, &built->views[views[i]], e);
        if (rc == 0)
            rc = pane_view_update(t, &stored, e);
    }
    if (rc) {
        store_write_abort(t);
        return rc;
    }
    return store_write_commit(t, e);
}

/* Views that lack end_ms and have no manifest for it: those are built; the rest only extend over what is there. */
static uint32_t backfill_targets(struct ingest *in, const struct group_state *g, int64_t end_ms, uint32_t *lacking,
                                 uint32_t *build, uint32_t *ret_build_n)
{
    uint32_t n = 0, build_n = 0;
    struct store_txn *t = NULL;
    struct err ignored;
    if (store_read_begin(in->store, &t, &ignored))
        t = NULL;
    for (uint32_t i = 0; i < g->views_n; i++) {
        struct pane_manifest m;
        if (g->views[i].complete_from_ms != end_ms || g->views[i].backfill_from_ms >= end_ms)
            continue;
        lacking[n++] = i;
        if (!t || pane_manifest_get(t, g->views[i].store_view, end_ms, &m, &ignored))
            build[build_n++] = i;
    }
    store_read_end(t);
    *ret_build_n = build_n;
    return n;
}

static int backfill_window(struct ingest *in, struct group_state *g, int64_t end_ms, struct err *e)
{
    uint32_t *lacking = mem_alloc(2 * g->views_n * sizeof *lacking), *build = lacking + g->views_n, build_n;
    uint32_t n = backfill_targets(in, g, end_ms, lacking, build, &build_n);
    struct shared_window *built = NULL;
    int rc = build_n ? group_refresh(in, g, end_ms, build, build_n, NULL, 0, &built, e) : 0;
    if (rc == 0)
        rc = backfill_commit(in, g, end_ms, lacking, n, built, e);
    if (rc == 0) {
        pthread_rwlock_wrlock(&in->lock);
        for (uint32_t i = 0; i < n; i++)
            g->views[lacking[i]].complete_from_ms = end_ms - g->window.step_ms;
        pthread_rwlock_unlock(&in->lock);
        for (uint32_t i = 0; i < build_n; i++)
            label_sets_written(&g->views[build[i]].groups, true);
    }
    shared_window_unref(built);
    mem_free(lacking);
    return rc;
}

int backfill_step(struct ingest *in, bool *ret_more, struct err *e)
{
    *ret_more = false;
    for (uint32_t i = 0; i < in->windows.groups_n; i++) {
        struct group_state *g = &in->windows.groups[i];
        int64_t end_ms = backfill_next(g);
        if (end_ms == INT64_MIN)
            continue;
        *ret_more = true;
        return backfill_window(in, g, end_ms, e);
    }
    return 0;
}

uint32_t ingest_backfill_left(struct ingest *in)
{
    int64_t left = 0;
    pthread_rwlock_rdlock(&in->lock);
    for (uint32_t i = 0; i < in->windows.groups_n; i++) {
        const struct group_state *g = &in->windows.groups[i];
        for (uint32_t j = 0; j < g->views_n; j++)
            if (g->views[j].backfill_from_ms < g->views[j].complete_from_ms)
                left += (g->views[j].complete_from_ms - g->views[j].backfill_from_ms) / g->window.step_ms;
    }
    for (uint32_t i = 0; i < in->roots.n; i++) {
        const struct root_state *r = &in->roots.v[i];
        if (r->backfill_from_ms < r->complete_from_ms)
            left += (r->complete_from_ms - r->backfill_from_ms) / r->grid.step_ms;
    }
    pthread_rwlock_unlock(&in->lock);
    return left > UINT32_MAX ? UINT32_MAX : (uint32_t)left;
}

void ingest_view_status(struct ingest *in, const uint8_t identity[IDENTITY_BYTES], struct ingest_view_status *ret)
{
    *ret = (struct ingest_view_status){
        .store_view = SOURCE_NO_VIEW, .complete_from_ms = INT64_MAX, .sealed_to_ms = INT64_MIN};
    struct group_state *g;
    uint32_t view;
    pthread_rwlock_rdlock(&in->lock);
    if (windows_find(&in->windows, identity, &g, &view)) {
        uint64_t dirty_n = 0;
        for (uint32_t k = 0; k < g->dirty.n; k++)
            dirty_n += roaring_bitmap_get_cardinality(g->dirty.windows[k].series);
        *ret = (struct ingest_view_status){.store_view = g->views[view].store_view,
                                           .complete_from_ms = g->views[view].complete_from_ms,
                                           .sealed_to_ms = g->views[view].sealed_to_ms,
                                           .early_windows = g->early_n,
                                           .groups = g->views[view].groups.n,
                                           .dirty_series = (uint32_t)dirty_n};
    }
    pthread_rwlock_unlock(&in->lock);
}
