/* Early refresh and sealing: every group's windows, in order of time, once each. */
#include "executor/refresh.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/stats.h"
#include "ingest/ingest_internal.h"
#include "ingest/view_groups.h"

static struct stat raw_window_reads =
    STAT_COUNTER("mullion_raw_window_reads_total", "", "Full refresh runs: reads of one window's raw samples");
static struct stat dirty_rebuilds =
    STAT_COUNTER("mullion_dirty_rebuilds_total", "", "Partial refresh runs over series with late samples");
static struct stat states_built = STAT_COUNTER("mullion_states_built_total", "", "Pane states built");
static struct stat windows_sealed = STAT_COUNTER("mullion_windows_sealed_total", "", "View windows committed");

void refresh_register(void)
{
    stat_register(&raw_window_reads);
    stat_register(&dirty_rebuilds);
    stat_register(&states_built);
    stat_register(&windows_sealed);
    view_groups_register();
}

static int refresh_views(struct ingest *in, struct group_state *g, int64_t end_ms, const uint32_t *views,
                         uint32_t views_n, const uint32_t *series, uint32_t series_n, struct shared_window *w,
                         struct err *e)
{
    struct refresh_output *outputs = arena_zalloc(&w->arena, views_n * sizeof *outputs);
    uint32_t *plan_views = ARENA_ARRAY(&w->arena, uint32_t, views_n);
    uint32_t *store_views = ARENA_ARRAY(&w->arena, uint32_t, views_n);
    struct view_numbers *numbers = ARENA_ARRAY(&w->arena, struct view_numbers, views_n);
    struct refresh_groups *groups = ARENA_ARRAY(&w->arena, struct refresh_groups, views_n);
    uint32_t reads_n = 0;
    for (uint32_t i = 0; i < views_n; i++) {
        struct view_state *v = &g->views[views[i]];
        plan_views[i] = v->plan_view;
        store_views[i] = v->store_view;
        numbers[i] = (struct view_numbers){in, v, end_ms};
        view_groups_numbers(&numbers[i], &groups[i]);
    }
    struct refresh_run run = {.plan = in->plan,
                              .source = &in->source,
                              .end_ms = end_ms,
                              .views = plan_views,
                              .store_views = store_views,
                              .groups = groups,
                              .views_n = views_n,
                              .only_series = series,
                              .only_series_n = series_n,
                              .pool = in->pool};
    int rc = refresh_window(&run, &w->arena, outputs, &reads_n, e);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < views_n; i++) {
        w->views[views[i]] = (struct window_states){outputs[i].blocks, outputs[i].blocks_n};
        stat_add(&states_built, (int64_t)outputs[i].states_n);
        view_groups_count(&outputs[i]);
    }
    stat_add(series ? &dirty_rebuilds : &raw_window_reads, reads_n);
    return 0;
}

int group_refresh(struct ingest *in, struct group_state *g, int64_t end_ms, const uint32_t *views, uint32_t views_n,
                  const uint32_t *series, uint32_t series_n, struct shared_window **ret, struct err *e)
{
    struct shared_window *w = mem_zalloc(sizeof *w);
    w->refs = 1;
    arena_init(&w->arena, 0);
    w->views = arena_zalloc(&w->arena, g->views_n * sizeof *w->views);
    int rc = 0;
    if (in->options.refresh_per_view)
        for (uint32_t i = 0; i < views_n && rc == 0; i++)
            rc = refresh_views(in, g, end_ms, views + i, 1, series, series_n, w, e);
    else
        rc = refresh_views(in, g, end_ms, views, views_n, series, series_n, w, e);
    if (rc) {
        shared_window_unref(w);
        return rc;
    }
    *ret = w;
    return 0;
}

static uint32_t *all_views(const struct group_state *g)
{
    uint32_t *views = mem_alloc(g->views_n * sizeof *views);
    for (uint32_t i = 0; i < g->views_n; i++)
        views[i] = i;
    return views;
}

/* ---- early ---- */

/* From the moment the window is listed, what arrives for it is dirty; so the run may read the head at its leisure. */
static int refresh_early(struct ingest *in, struct group_state *g, int64_t end_ms, struct err *e)
{
    int64_t before_ms = g->early_to_ms;
    struct shared_window *states = NULL;
    pthread_rwlock_wrlock(&in->lock);
    group_early_add(g, end_ms);
    g->early_to_ms = end_ms;
    if (in->windows.newest_refreshed_ms < end_ms)
        in->windows.newest_refreshed_ms = end_ms;
    pthread_rwlock_unlock(&in->lock);
    uint32_t *views = all_views(g);
    int rc = group_refresh(in, g, end_ms, views, g->views_n, NULL, 0, &states, e);
    mem_free(views);
    pthread_rwlock_wrlock(&in->lock);
    if (rc == 0) {
        group_early(g, end_ms)->states = states;
    } else {
        g->early_n--;
        g->early_to_ms = before_ms;
    }
    pthread_rwlock_unlock(&in->lock);
    return rc;
}

/* ---- sealing ---- */

static int block_place(const struct window_states *w, const struct pane_key *k)
{
    for (uint32_t i = 0; i < w->blocks_n; i++)
        if (w->blocks[i].key.metric == k->metric && w->blocks[i].key.shard == k->shard)
            return (int)i;
    return -1;
}

int window_put(struct store_txn *t, const struct view_state *v, int64_t end_ms, const struct window_states *states,
               struct err *e)
{
    int rc = v->by_labels ? label_sets_put(&v->groups, t, v->store_view, e) : 0;
    for (uint32_t i = 0; i < states->blocks_n && rc == 0; i++)
        rc = pane_block_put(t, &states->blocks[i].key, states->blocks[i].bytes, e);
    struct pane_manifest manifest;
    if (rc == 0)
        rc = pane_manifest_make(t, v->store_view, end_ms, 0, &manifest, e);
    if (rc)
        return rc;
    stat_add(&windows_sealed, 1);
    return pane_manifest_put(t, v->store_view, end_ms, &manifest, e);
}

/* Which of a block's slots belong to dirty series. */
static void dirty_slots(const struct pane_key *key, const struct series_place *dirty, uint32_t n, uint64_t slots[16])
{
    memset(slots, 0, 16 * sizeof *slots);
    for (uint32_t i = 0; i < n; i++)
        if (dirty[i].metric == key->metric && dirty[i].ordinal / SHARD_SERIES == key->shard)
            slots[dirty[i].ordinal % SHARD_SERIES / 64] |= UINT64_C(1) << (dirty[i].ordinal % 64);
}

/* The early states with the rebuilt ones in place of the dirty: a new window beside the old, which readers may still
 * hold. */
static int patch_view(const struct family_info *family, const struct window_states *early,
                      const struct window_states *rebuilt, const struct series_place *dirty, uint32_t n,
                      struct shared_window *out, struct window_states *to, struct err *e)
{
    struct window_block *blocks =
        ARENA_ARRAY(&out->arena, struct window_block, early->blocks_n + rebuilt->blocks_n + 1u);
    struct pane_builder builder = {0};
    int rc = 0;
    to->blocks = blocks;
    for (uint32_t i = 0; i < early->blocks_n + rebuilt->blocks_n && rc == 0; i++) {
        bool from_early = i < early->blocks_n;
        const struct window_block *b = from_early ? &early->blocks[i] : &rebuilt->blocks[i - early->blocks_n];
        if (!from_early && block_place(early, &b->key) >= 0)
            continue;
        int patch = from_early ? block_place(rebuilt, &b->key) : -1;
        struct str old = from_early ? b->bytes : (struct str){0};
        struct str fresh = from_early ? (patch < 0 ? (struct str){0} : rebuilt->blocks[patch].bytes) : b->bytes;
        uint64_t slots[16];
        struct str bytes;
        dirty_slots(&b->key, dirty, n, slots);
        rc = refresh_patch_block(family, old, fresh, slots, 0, &builder, &bytes, e);
        if (rc == 0)
            blocks[to->blocks_n++] = (struct window_block){b->key, {arena_dup(&out->arena, bytes.p, bytes.n), bytes.n}};
    }
    pane_builder_done(&builder);
    return rc;
}

static int compare_blocks(const void *pa, const void *pb)
{
    const struct window_block *a = pa, *b = pb;
    if (a->key.metric != b->key.metric)
        return a->key.metric < b->key.metric ? -1 : 1;
    return (a->key.shard > b->key.shard) - (a->key.shard < b->key.shard);
}

/* A view by labels is made whole again, or stays as it is. */
static int copy_view(const struct window_states *from, struct shared_window *out, struct window_states *to,
                     struct err *e)
{
    struct window_block *blocks = ARENA_ARRAY(&out->arena, struct window_block, from->blocks_n + 1u);
    for (uint32_t i = 0; i < from->blocks_n && blocks; i++) {
        struct str bytes = from->blocks[i].bytes;
        blocks[i] = (struct window_block){from->blocks[i].key, {arena_dup(&out->arena, bytes.p, bytes.n), bytes.n}};
    }
    *to = (struct window_states){blocks, from->blocks_n};
    return arena_check(&out->arena, "refresh", e);
}

static bool reads_any(struct ingest *in, const struct view_state *v, const uint32_t *series, uint32_t n)
{
    const struct plan_source *source = &in->plan->sources[in->plan->views[v->plan_view].source];
    struct arena a;
    bool found = false;
    arena_init(&a, 0);
    pthread_rwlock_rdlock(&in->lock);
    for (uint32_t i = 0; i < n && !found; i++) {
        struct labels labels;
        arena_reset(&a);
        catalog_labels(in->catalog, series[i], &a, &labels);
        found = matchers_accept(source->matchers, source->matchers_n, &labels);
    }
    pthread_rwlock_unlock(&in->lock);
    arena_done(&a);
    return found;
}

/* All but views by labels that read none of the series. */
static uint32_t views_to_rebuild(struct ingest *in, const struct group_state *g, const uint32_t *series, uint32_t n,
                                 uint32_t *views)
{
    uint32_t views_n = 0;
    for (uint32_t i = 0; i < g->views_n; i++)
        if (!g->views[i].by_labels || reads_any(in, &g->views[i], series, n))
            views[views_n++] = i;
    return views_n;
}

static struct series_place *places_of(struct ingest *in, const uint32_t *series, uint32_t n)
{
    struct series_place *places = mem_alloc(n * sizeof *places);
    pthread_rwlock_rdlock(&in->lock);
    for (uint32_t i = 0; i < n; i++)
        places[i] = catalog_place(in->catalog, series[i]);
    pthread_rwlock_unlock(&in->lock);
    return places;
}

static int rebuild_dirty(struct ingest *in, struct group_state *g, int64_t end_ms, const struct shared_window *early,
                         const uint32_t *series, uint32_t n, struct shared_window **ret, struct err *e)
{
    struct shared_window *rebuilt = NULL;
    uint32_t *views = mem_alloc((g->views_n + 1u) * sizeof *views);
    uint32_t views_n = views_to_rebuild(in, g, series, n, views);
    int rc = group_refresh(in, g, end_ms, views, views_n, series, n, &rebuilt, e);
    if (rc) {
        mem_free(views);
        return rc;
    }
    struct shared_window *out = mem_zalloc(sizeof *out);
    out->refs = 1;
    arena_init(&out->arena, 0);
    out->views = arena_zalloc(&out->arena, g->views_n * sizeof *out->views);
    struct series_place *dirty = places_of(in, series, n);
    for (uint32_t i = 0, at = 0; i < g->views_n && rc == 0; i++) {
        const struct plan_view *v = &in->plan->views[g->views[i].plan_view];
        bool is_rebuilt = at < views_n && views[at] == i;
        at += is_rebuilt;
        if (g->views[i].by_labels)
            rc = copy_view(is_rebuilt ? &rebuilt->views[i] : &early->views[i], out, &out->views[i], e);
        else
            rc = patch_view(family_get(v->family), &early->views[i], &rebuilt->views[i], dirty, n, out, &out->views[i],
                            e);
        if (out->views[i].blocks_n)
            qsort((void *)(uintptr_t)out->views[i].blocks, out->views[i].blocks_n, sizeof(struct window_block),
                  compare_blocks);
    }
    mem_free(dirty);
    mem_free(views);
    shared_window_unref(rebuilt);
    if (rc) {
        shared_window_unref(out);
        return rc;
    }
    *ret = out;
    return 0;
}

/* Series first, then states, then the view's new reach: one transaction. */
static int seal_commit(struct ingest *in, struct group_state *g, int64_t end_ms, const struct shared_window *states,
                       struct err *e)
{
    struct store_txn *t;
    uint32_t saved_n = 0;
    int rc = store_write_begin(in->store, &t, e);
    if (rc)
        return rc;
    pthread_rwlock_rdlock(&in->lock);
    rc = catalog_save(in->catalog, t, &saved_n, e);
    pthread_rwlock_unlock(&in->lock);
    for (uint32_t i = 0; i < g->views_n && rc == 0; i++) {
        struct view_state *v = &g->views[i];
        struct pane_view stored = {
            .number = v->store_view, .complete_from_ms = v->complete_from_ms, .sealed_to_ms = end_ms};
        memcpy(stored.identity, v->identity, IDENTITY_BYTES);
        rc = window_put(t, v, end_ms, &states->views[i], e);
        if (rc == 0)
            rc = pane_view_update(t, &stored, e);
    }
    if (rc) {
        store_write_abort(t);
        return rc;
    }
    rc = store_write_commit(t, e);
    if (rc == 0) {
        pthread_rwlock_wrlock(&in->lock);
        catalog_saved(in->catalog, saved_n);
        pthread_rwlock_unlock(&in->lock);
        for (uint32_t i = 0; i < g->views_n; i++)
            label_sets_written(&g->views[i].groups, true);
    }
    return rc;
}

static int seal_window(struct ingest *in, struct group_state *g, int64_t end_ms, struct err *e)
{
    pthread_rwlock_wrlock(&in->lock);
    struct shared_window *states = group_early(g, end_ms)->states;
    const roaring_bitmap_t *dirty = dirty_rebuild(&g->dirty, end_ms);
    uint32_t n = dirty ? (uint32_t)roaring_bitmap_get_cardinality(dirty) : 0;
    uint32_t *series = NULL;
    if (n) {
        series = mem_alloc(n * sizeof *series);
        roaring_bitmap_to_uint32_array(dirty, series);
    }
    pthread_rwlock_unlock(&in->lock);
    struct shared_window *patched = NULL;
    int rc = n ? rebuild_dirty(in, g, end_ms, states, series, n, &patched, e) : 0;
    if (rc == 0)
        rc = seal_commit(in, g, end_ms, patched ? patched : states, e);
    pthread_rwlock_wrlock(&in->lock);
    dirty_rebuilt(&g->dirty, end_ms, rc == 0);
    if (rc == 0) {
        g->sealed_to_ms = end_ms;
        for (uint32_t i = 0; i < g->views_n; i++)
            g->views[i].sealed_to_ms = end_ms;
        group_early_drop(g, end_ms);
    }
    pthread_rwlock_unlock(&in->lock);
    shared_window_unref(patched);
    mem_free(series);
    return rc;
}

/* ---- what is due ---- */

/* Where a group begins: at the window that holds the first sample ever; or, after a long silence, where its oldest
 * reader's reach begins, since nothing older will be asked of its panes. */
static void group_begin(struct ingest *in, struct group_state *g)
{
    int64_t reach_ms = 0;
    for (uint32_t i = 0; i < g->views_n; i++)
        if (reach_ms < g->views[i].retention_ms)
            reach_ms = g->views[i].retention_ms;
    int64_t oldest_ms = grid_floor(g->window, in->event_clock_ms - reach_ms);
    int64_t from_ms = g->early_to_ms;
    if (from_ms == INT64_MIN)
        from_ms = grid_floor(g->window, in->first_event_ms - 1);
    if (from_ms < oldest_ms)
        from_ms = oldest_ms;
    if (from_ms == g->early_to_ms)
        return;
    pthread_rwlock_wrlock(&in->lock);
    group_early_drop(g, INT64_MAX);
    g->early_to_ms = g->sealed_to_ms = from_ms;
    for (uint32_t i = 0; i < g->views_n; i++)
        g->views[i].complete_from_ms = g->views[i].sealed_to_ms = g->views[i].backfill_from_ms = from_ms;
    pthread_rwlock_unlock(&in->lock);
}

/*
 * A window is refreshed early once event time is past its end. Samples at the very end belong to it, and a round of
 * samples may come in several requests, so at the end itself the rest of the round gets a moment: states built before
 * it would be dirty.
 */
enum { SETTLE_MS = 250 };

/* Are windows of the view behind `from` still to be backfilled? */
static bool is_filling(const struct group_state *g, uint32_t plan_view, int64_t from_ms)
{
    for (uint32_t i = 0; i < g->views_n; i++) {
        const struct view_state *v = &g->views[i];
        if (v->plan_view == plan_view)
            return v->backfill_from_ms < v->complete_from_ms && v->complete_from_ms > from_ms;
    }
    return false;
}

/* How far every group that this one's views roll up has come: its windows follow theirs. Where there is nothing but
 * roll-ups they also wait for panes below that a backfill is about to bring, which would else be read from raw. */
static void inputs_reach(struct ingest *in, const struct group_state *g, int64_t from_ms, int64_t *ret_early_ms,
                         int64_t *ret_sealed_ms)
{
    bool only_roll_ups = true, filling = false;
    *ret_early_ms = *ret_sealed_ms = INT64_MAX;
    for (uint32_t i = 0; i < g->views_n; i++) {
        uint32_t below = in->plan->views[g->views[i].plan_view].level_of;
        const struct group_state *from =
            below == PLAN_NONE ? NULL : windows_group(&in->windows, in->plan->views[below].panes);
        only_roll_ups &= from != NULL;
        if (!from)
            continue;
        filling |= is_filling(from, below, from_ms);
        *ret_early_ms = from->early_to_ms < *ret_early_ms ? from->early_to_ms : *ret_early_ms;
        *ret_sealed_ms = from->sealed_to_ms < *ret_sealed_ms ? from->sealed_to_ms : *ret_sealed_ms;
    }
    if (only_roll_ups && filling)
        *ret_early_ms = INT64_MIN;
}

/* One step of a group: its next seal or early refresh. *ret_more is false when nothing is due. */
static int group_step(struct ingest *in, struct group_state *g, int64_t clock_ms, bool settled, bool *ret_more,
                      struct err *e)
{
    int64_t watermark_ms = clock_ms - in->options.lateness_ms;
    int64_t early_ms = g->early_to_ms + g->window.step_ms, seal_ms = g->sealed_to_ms + g->window.step_ms;
    int64_t inputs_early_ms, inputs_sealed_ms;
    inputs_reach(in, g, g->early_to_ms, &inputs_early_ms, &inputs_sealed_ms);
    *ret_more = true;
    if (g->sealed_to_ms < g->early_to_ms && seal_ms <= watermark_ms && seal_ms <= inputs_sealed_ms)
        return seal_window(in, g, seal_ms, e);
    if ((early_ms < clock_ms || (early_ms == clock_ms && settled)) && early_ms <= inputs_early_ms)
        return refresh_early(in, g, early_ms, e);
    *ret_more = false;
    return 0;
}

/* A long backlog must neither keep checkpoints waiting nor the end of the server. */
static bool may_go_on(struct ingest *in, uint64_t begun_ns)
{
    return !atomic_load_explicit(&in->stopping, memory_order_relaxed) &&
           clock_monotonic_ns() - begun_ns < (uint64_t)in->options.checkpoint_ms * 1000000u;
}

struct time_left {
    struct ingest *ingest;
    uint64_t begun_ns;
};

static bool root_may_go_on(void *ctx)
{
    const struct time_left *l = ctx;
    return may_go_on(l->ingest, l->begun_ns);
}

int refresh_due(struct ingest *in, int64_t now_ms, struct err *e)
{
    uint64_t begun_ns = clock_monotonic_ns();
    pthread_rwlock_rdlock(&in->lock);
    int64_t clock_ms = in->event_clock_ms;
    bool settled = now_ms - in->clock_moved_ms >= SETTLE_MS;
    pthread_rwlock_unlock(&in->lock);
    uint32_t groups_n = clock_ms == INT64_MIN ? 0 : in->windows.groups_n;
    bool *failed = mem_zalloc(groups_n + 1u);
    for (uint32_t i = 0; i < groups_n; i++)
        group_begin(in, &in->windows.groups[i]);
    int rc = 0;
    /* In turn, so that a group with many windows behind does not keep the others. */
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t i = 0; i < groups_n && may_go_on(in, begun_ns); i++) {
            struct err mine;
            bool more = false;
            int one = failed[i] ? 0 : group_step(in, &in->windows.groups[i], clock_ms, settled, &more, &mine);
            failed[i] |= one != 0;
            progress |= more && one == 0;
            if (one && rc == 0) {
                *e = mine;
                rc = one;
            }
        }
    }
    mem_free(failed);
    struct time_left left = {in, begun_ns};
    struct err second;
    int after = clock_ms == INT64_MIN
                    ? 0
                    : roots_due(in, clock_ms - in->options.lateness_ms, now_ms, root_may_go_on, &left, &second);
    if (rc == 0 && after) {
        *e = second;
        rc = after;
    }
    return rc;
}
