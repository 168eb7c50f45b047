/* What a query or a refresh reads: matching series, their head samples, windows with states, all from one moment. */
#include "base/alloc.h"
#include "ingest/ingest_internal.h"
#include "ingest/view_groups.h"

/* Early windows a snapshot keeps alive until its release. */
struct held_windows {
    struct shared_window **windows;
    size_t n, cap;
};

static void hold(struct held_windows *h, struct shared_window *w)
{
    h->windows = mem_grow(h->windows, &h->cap, h->n + 1, sizeof(struct shared_window *));
    h->windows[h->n++] = w;
    shared_window_ref(w);
}

static struct source_window window_status(const struct ingest *in, struct group_state *g, uint32_t view, int64_t end_ms,
                                          struct held_windows *h)
{
    struct source_window w = {.end_ms = end_ms, .status = WINDOW_MISSING};
    const struct view_state *v = &g->views[view];
    if (end_ms < in->first_event_ms) {
        w.status = WINDOW_EMPTY;
        return w;
    }
    if (end_ms > v->complete_from_ms && end_ms <= v->sealed_to_ms) {
        w.status = WINDOW_SEALED;
        return w;
    }
    struct early_window *early = end_ms > v->sealed_to_ms ? group_early(g, end_ms) : NULL;
    if (early && early->states) {
        hold(h, early->states);
        w.status = WINDOW_EARLY;
        w.early = &early->states->views[view];
    }
    return w;
}

/* Windows of the span in which some series' states are not to be trusted, ascending; borrowed while the lock is held.
 */
struct dirty_list {
    const struct dirty_window **windows;
    uint32_t n;
    const roaring_bitmap_t *ends_run; /* of a grouped request, its series: one of them dirty ends the run of windows */
};

static bool dirty_has(const struct dirty_window *d, uint32_t series)
{
    return roaring_bitmap_contains(d->series, series) ||
           (d->rebuilding && roaring_bitmap_contains(d->rebuilding, series));
}

static bool dirty_meets(const struct dirty_window *d, const roaring_bitmap_t *series)
{
    return roaring_bitmap_intersect(d->series, series) ||
           (d->rebuilding && roaring_bitmap_intersect(d->rebuilding, series));
}

static int list_view(struct ingest *in, const struct source_request *q, uint32_t i, int64_t first_ms, struct arena *a,
                     struct source_result *r, uint32_t *ret_store_view, struct dirty_list *dirty, struct err *e)
{
    struct group_state *g = NULL;
    uint32_t view = 0;
    bool known = windows_find(&in->windows, q->identities[i], &g, &view), unbroken = true;
    int64_t covered_ms = q->start_ms;
    *ret_store_view = known ? g->views[view].store_view : SOURCE_NO_VIEW;
    r->windows[i] = ARENA_ARRAY(a, struct source_window, r->windows_n + 1u);
    if (!r->windows[i])
        return arena_check(a, "query", e);
    dirty->n = 0;
    for (uint32_t j = 0; j < r->windows_n; j++) {
        int64_t end_ms = first_ms + j * q->width_ms;
        struct source_window w = {.end_ms = end_ms, .status = WINDOW_MISSING};
        if (known)
            w = window_status(in, g, view, end_ms, r->held);
        r->windows[i][j] = w;
        const struct dirty_window *d = known ? dirty_find(&g->dirty, end_ms) : NULL;
        unbroken = unbroken && w.status != WINDOW_MISSING && !(d && dirty->ends_run && dirty_meets(d, dirty->ends_run));
        if (!unbroken)
            continue;
        covered_ms = end_ms;
        if (d && !dirty->ends_run)
            dirty->windows[dirty->n++] = d;
    }
    r->covered_ms = covered_ms < r->covered_ms ? covered_ms : r->covered_ms;
    return 0;
}

/* Windows of the grid within the span; *ret_first_ms is the first one's end. */
static int64_t windows_in(const struct source_request *q, int64_t *ret_first_ms)
{
    struct grid grid = {q->width_ms, q->phase_ms};
    *ret_first_ms = grid_ceil(grid, q->start_ms + q->width_ms);
    return *ret_first_ms <= q->end_ms ? (q->end_ms - *ret_first_ms) / q->width_ms + 1 : 0;
}

static int list_revisions(const struct ingest *in, const struct source_request *q, int64_t first_ms, uint32_t n,
                          struct arena *a, struct source_result *r, struct err *e)
{
    uint64_t *revisions = ARENA_ARRAY(a, uint64_t, n + 1u);
    for (uint32_t i = 0; revisions && i < n; i++) {
        int64_t end_ms = first_ms + i * q->width_ms;
        revisions[i] = end_ms <= r->watermark_ms ? late_revision(&in->late, end_ms - q->width_ms, end_ms) : 0;
    }
    r->revisions = revisions;
    r->windows_n = n;
    return arena_check(a, "query", e);
}

/* The views of a request share one width and phase, so one group, and its dirty windows are the same for each. Too many
 * windows are no error of the query: raw samples answer. */
static int list_windows(struct ingest *in, const struct source_request *q, struct arena *a, struct source_result *r,
                        struct dirty_list *dirty, struct err *e)
{
    enum { WINDOWS_MAX = 1 << 22 };
    int64_t first_ms, n = windows_in(q, &first_ms);
    if (n > WINDOWS_MAX)
        return err_set(e, ERR_NOT_COVERED, "the query reads %lld windows of one view, more than the limit of %d",
                       (long long)n, WINDOWS_MAX);
    if (q->identities_n == 0)
        return list_revisions(in, q, first_ms, (uint32_t)n, a, r, e);
    uint32_t *views = ARENA_ARRAY(a, uint32_t, q->identities_n);
    r->windows = ARENA_ARRAY(a, struct source_window *, q->identities_n);
    dirty->windows = ARENA_ARRAY(a, const struct dirty_window *, (size_t)n + 1);
    int rc = arena_check(a, "query", e);
    r->views = views;
    r->windows_n = (uint32_t)n;
    r->covered_ms = q->end_ms;
    for (uint32_t i = 0; i < q->identities_n && rc == 0; i++)
        rc = list_view(in, q, i, first_ms, a, r, &views[i], dirty, e);
    return rc;
}

static int list_groups(struct ingest *in, const struct source_request *q, struct arena *a, struct source_result *r,
                       struct err *e)
{
    const struct source_group **groups = ARENA_ARRAY(a, const struct source_group *, q->identities_n);
    uint32_t *groups_n = arena_zalloc(a, q->identities_n * sizeof *groups_n);
    int rc = arena_check(a, "query", e);
    for (uint32_t i = 0; i < q->identities_n && rc == 0; i++) {
        struct group_state *g = NULL;
        uint32_t view = 0;
        groups[i] = NULL;
        if (windows_find(&in->windows, q->identities[i], &g, &view))
            rc = view_groups_list(&g->views[view], a, &groups[i], &groups_n[i], e);
    }
    r->groups = groups;
    r->groups_n = groups_n;
    return rc;
}

static int list_grouped(struct ingest *in, const struct source_request *q, const uint32_t *ids, uint32_t n,
                        struct arena *a, struct source_result *r, struct err *e)
{
    roaring_bitmap_t *series = roaring_bitmap_of_ptr(n, ids);
    struct dirty_list dirty = {.ends_run = series};
    int rc = list_windows(in, q, a, r, &dirty, e);
    roaring_bitmap_free(series);
    return rc ? rc : list_groups(in, q, a, r, e);
}

static int list_dirty(const struct dirty_window *d, struct arena *a, struct source_window *w, struct err *e)
{
    roaring_bitmap_t *both = d->rebuilding ? roaring_bitmap_or(d->series, d->rebuilding) : d->series;
    w->dirty_n = (uint32_t)roaring_bitmap_get_cardinality(both);
    uint32_t *ids = ARENA_ARRAY(a, uint32_t, w->dirty_n);
    if (ids)
        roaring_bitmap_to_uint32_array(both, ids);
    if (both != d->series)
        roaring_bitmap_free(both);
    w->dirty = ids;
    return arena_check(a, "query", e);
}

/* Windows of a roll-up, of which any may be missing; readers then take those below. */
static int list_level(struct ingest *in, const struct source_request *q, const struct source_rollup *r,
                      struct held_windows *held, struct arena *a, struct source_level *ret, struct err *e)
{
    struct group_state *g = NULL;
    uint32_t view = 0;
    int64_t first_ms = grid_ceil((struct grid){r->width_ms, r->phase_ms}, q->start_ms + r->width_ms);
    *ret = (struct source_level){.view = SOURCE_NO_VIEW};
    if (first_ms > q->end_ms || !windows_find(&in->windows, r->identity, &g, &view))
        return 0;
    ret->view = g->views[view].store_view;
    ret->windows_n = (uint32_t)((q->end_ms - first_ms) / r->width_ms) + 1; /* fewer than of the view below */
    ret->windows = ARENA_ARRAY(a, struct source_window, ret->windows_n);
    int rc = arena_check(a, "query", e);
    for (uint32_t i = 0; i < ret->windows_n && rc == 0; i++) {
        struct source_window *w = &ret->windows[i];
        *w = window_status(in, g, view, first_ms + (int64_t)i * r->width_ms, held);
        const struct dirty_window *d = dirty_find(&g->dirty, w->end_ms);
        if (d && w->status != WINDOW_MISSING)
            rc = list_dirty(d, a, w, e);
    }
    return rc;
}

static int list_levels(struct ingest *in, const struct source_request *q, struct arena *a, struct source_result *r,
                       struct err *e)
{
    r->levels = ARENA_ARRAY(a, struct source_level, q->rollups_n);
    int rc = arena_check(a, "query", e);
    for (uint32_t i = 0; i < q->rollups_n && rc == 0; i++)
        rc = list_level(in, q, &q->rollups[i], r->held, a, &r->levels[i], e);
    return rc;
}

/* Series whose last sample is before the span have nothing in it, in head or store. */
static bool may_have_samples(const struct ingest *in, uint32_t id, const struct source_request *q)
{
    const struct head_series *s = head_find(&in->head, id);
    return s && s->last_ms > q->start_ms;
}

static int64_t raw_from(const struct source_request *q, const struct source_result *r, const struct dirty_list *dirty,
                        uint32_t series)
{
    for (uint32_t i = 0; i < dirty->n; i++)
        if (dirty_has(dirty->windows[i], series))
            return dirty->windows[i]->end_ms - q->width_ms;
    return r->covered_ms;
}

static bool copy_one(struct ingest *in, const struct source_request *q, uint32_t id, struct arena *a,
                     struct source_series *s)
{
    const struct head_series *h = head_find(&in->head, id);
    int64_t start_ms = s->raw_from_ms > q->start_ms ? s->raw_from_ms : q->start_ms;
    struct head_span span;
    catalog_labels(in->catalog, id, a, &s->labels);
    if (!head_pack(h, start_ms, q->end_ms, q->newest_only, a, &span))
        return false;
    s->packed = span.packed;
    s->packed_n = span.room_n;
    int64_t newest_from_ms = span.newest_from_ms;
    if (q->want_histograms) {
        if (!head_pack_histograms(h, start_ms, q->end_ms, q->newest_only, a, &span))
            return false;
        s->packed_histograms = span.packed;
        s->packed_histograms_n = span.room_n;
        newest_from_ms = span.newest_from_ms > newest_from_ms ? span.newest_from_ms : newest_from_ms;
    }
    /* The newest sample is here when it is newer than all that is in the store. */
    s->store_to_ms = newest_from_ms > h->store_to_ms ? INT64_MIN : h->store_to_ms;
    return true;
}

static int copy_series(struct ingest *in, const struct source_request *q, const uint32_t *ids, uint32_t n,
                       const struct dirty_list *dirty, struct arena *a, struct source_result *r, struct err *e)
{
    r->series = ARENA_ARRAY(a, struct source_series, n + 1u);
    r->unpack = head_unpack;
    r->unpack_histograms = head_unpack_histograms;
    for (uint32_t i = 0; i < n && r->series; i++) {
        if (!may_have_samples(in, ids[i], q))
            continue;
        struct series_place p = catalog_place(in->catalog, ids[i]);
        struct source_series *s = &r->series[r->series_n++];
        *s = (struct source_series){
            .id = ids[i], .metric = p.metric, .ordinal = p.ordinal, .raw_from_ms = raw_from(q, r, dirty, ids[i])};
        if (!copy_one(in, q, ids[i], a, s))
            break;
        r->histograms_met |= head_met_histogram(head_find(&in->head, ids[i]), q->start_ms, q->end_ms);
    }
    return arena_check(a, "query", e);
}

static int snapshot_one(struct ingest *in, const struct source_request *q, struct arena *a, struct source_result *r,
                        struct err *e)
{
    uint32_t *ids, n;
    struct dirty_list dirty = {0};
    r->held = mem_zalloc(sizeof(struct held_windows));
    r->watermark_ms = ingest_watermark_locked(in);
    r->histograms_wanted = q->want_histograms;
    r->covered_ms = q->start_ms;
    int rc = catalog_select(in->catalog, q->matchers, q->matchers_n, a, &ids, &n, e);
    if (rc == 0 && q->grouped)
        rc = list_grouped(in, q, ids, n, a, r, e);
    else if (rc == 0 && q->width_ms > 0)
        rc = list_windows(in, q, a, r, &dirty, e);
    if (rc == 0 && q->rollups_n)
        rc = list_levels(in, q, a, r, e);
    return rc ? rc : copy_series(in, q, ids, n, &dirty, a, r, e);
}

static void snapshot_release(void *ctx, struct source_result *results, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct held_windows *h = results[i].held;
        for (size_t j = 0; h && j < h->n; j++)
            shared_window_unref(h->windows[j]);
        if (h)
            mem_free(h->windows);
        mem_free(h);
        results[i] = (struct source_result){0};
    }
}

static int snapshot_take(void *ctx, const struct source_request *requests, uint32_t n, struct arena *a,
                         struct source_result *ret, struct err *e)
{
    struct ingest *in = ctx;
    int rc = 0;
    memset(ret, 0, n * sizeof *ret);
    pthread_rwlock_rdlock(&in->lock);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = snapshot_one(in, &requests[i], a, &ret[i], e);
    pthread_rwlock_unlock(&in->lock);
    if (rc)
        snapshot_release(ctx, ret, n);
    return rc;
}

static int source_label_names(void *ctx, const struct matcher *m, uint32_t n, struct arena *a, struct str **ret,
                              uint32_t *ret_n, struct err *e)
{
    struct ingest *in = ctx;
    pthread_rwlock_rdlock(&in->lock);
    int rc = n ? catalog_select_names(in->catalog, m, n, a, ret, ret_n, e)
               : catalog_label_names(in->catalog, a, ret, ret_n, e);
    pthread_rwlock_unlock(&in->lock);
    return rc;
}

static int source_label_values(void *ctx, struct str name, const struct matcher *m, uint32_t n, struct arena *a,
                               struct str **ret, uint32_t *ret_n, struct err *e)
{
    struct ingest *in = ctx;
    pthread_rwlock_rdlock(&in->lock);
    int rc = n ? catalog_select_values(in->catalog, name, m, n, a, ret, ret_n, e)
               : catalog_label_values(in->catalog, name, a, ret, ret_n, e);
    pthread_rwlock_unlock(&in->lock);
    return rc;
}

void snapshot_source_init(struct ingest *in)
{
    in->source = (struct source){.ctx = in,
                                 .store = in->store,
                                 .snapshot = snapshot_take,
                                 .release = snapshot_release,
                                 .root = roots_source,
                                 .root_doubt = roots_doubt,
                                 .label_names = source_label_names,
                                 .label_values = source_label_values};
}
