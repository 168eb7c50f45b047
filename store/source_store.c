#include "store/source_store.h"

#include "base/alloc.h"

struct source_store {
    struct source source;
    struct catalog *catalog;
};

/* ---- windows ---- */

/* The grid time at or before t_ms. Wide, since a query may name any time. */
static __int128 floor_to_grid(int64_t t_ms, int64_t width_ms, int64_t phase_ms)
{
    __int128 rest = ((__int128)t_ms - phase_ms) % width_ms;
    return t_ms - (rest < 0 ? rest + width_ms : rest);
}

struct windows_fill {
    struct source_window *windows;
    uint32_t n;
    int64_t first_end_ms, width_ms;
};

static int window_sealed(void *ctx, int64_t end_ms, const struct pane_manifest *m, struct err *e)
{
    struct windows_fill *fill = ctx;
    int64_t at = (end_ms - fill->first_end_ms) / fill->width_ms;
    if (end_ms >= fill->first_end_ms && at < fill->n && fill->windows[at].end_ms == end_ms)
        fill->windows[at].status = WINDOW_SEALED;
    return 0;
}

/* How many windows of the unbroken run from the first one have states. */
static uint32_t run_length(const struct source_window *windows, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && windows[i].status != WINDOW_MISSING)
        i++;
    return i;
}

static int view_windows(struct store_txn *t, const struct source_request *q, const uint8_t identity[16],
                        struct windows_fill *fill, uint32_t *ret_view, struct err *e)
{
    struct pane_view view;
    for (uint32_t i = 0; i < fill->n; i++)
        fill->windows[i] =
            (struct source_window){.end_ms = fill->first_end_ms + i * fill->width_ms, .status = WINDOW_MISSING};
    *ret_view = SOURCE_NO_VIEW;
    int code = pane_view_find(t, identity, &view, e);
    if (code)
        return code == ERR_NOT_FOUND ? 0 : code;
    *ret_view = view.number;
    return pane_manifest_walk(t, view.number, q->start_ms, q->end_ms, window_sealed, fill, e);
}

/* Lists the windows of every asked view; *ret_served_ms: how far states of all of them reach from start_ms. */
static int list_windows(struct store_txn *t, const struct source_request *q, struct arena *a, struct source_result *r,
                        int64_t *ret_served_ms, struct err *e)
{
    *ret_served_ms = q->start_ms;
    if (q->identities_n == 0 || q->start_ms >= q->end_ms)
        return 0;
    MUST(q->width_ms > 0);
    __int128 floor_ms = floor_to_grid(q->start_ms, q->width_ms, q->phase_ms);
    __int128 n = (q->end_ms - floor_ms) / q->width_ms;
    if (n * q->identities_n > SOURCE_WINDOWS_MAX)
        return err_set(e, ERR_LIMIT, "a query reads more than %d windows; shorten its span", SOURCE_WINDOWS_MAX);
    if (floor_ms < INT64_MIN || floor_ms > INT64_MAX - q->width_ms)
        return err_set(e, ERR_BAD_DATA, "a query's span begins at a time that has no window");
    int64_t before_ms = (int64_t)floor_ms;
    struct windows_fill fill = {.first_end_ms = before_ms + q->width_ms, .width_ms = q->width_ms};
    fill.n = (uint32_t)n;
    r->windows = ARENA_ARRAY(a, struct source_window *, q->identities_n);
    uint32_t *views = ARENA_ARRAY(a, uint32_t, q->identities_n);
    if (!r->windows || !views)
        return arena_check(a, "listing windows", e);
    uint32_t run = fill.n;
    for (uint32_t i = 0; i < q->identities_n; i++) {
        fill.windows = r->windows[i] = ARENA_ARRAY(a, struct source_window, fill.n);
        if (!fill.windows)
            return arena_check(a, "listing windows", e);
        int code = view_windows(t, q, q->identities[i], &fill, &views[i], e);
        if (code)
            return code;
        uint32_t own = run_length(fill.windows, fill.n);
        run = own < run ? own : run;
    }
    r->windows_n = fill.n;
    r->views = views;
    /* Off the grid the first window begins before the span, so its states do not serve the span's beginning. */
    if (before_ms == q->start_ms)
        *ret_served_ms = q->start_ms + run * q->width_ms;
    return 0;
}

/* ---- snapshot ---- */

static int watermark_of(void *ctx, const struct pane_view *v, struct err *e)
{
    int64_t *watermark_ms = ctx;
    if (v->sealed_to_ms > *watermark_ms)
        *watermark_ms = v->sealed_to_ms;
    return 0;
}

static int snapshot_one(const struct source_store *ss, struct store_txn *t, const struct source_request *q,
                        struct arena *a, struct source_result *r, struct err *e)
{
    uint32_t *ids, n;
    int64_t served_ms;
    int code = list_windows(t, q, a, r, &served_ms, e);
    if (!code)
        code = catalog_select(ss->catalog, q->matchers, q->matchers_n, a, &ids, &n, e);
    if (code)
        return code;
    r->series = ARENA_ARRAY(a, struct source_series, n);
    if (!r->series)
        return arena_check(a, "a query's series", e);
    for (uint32_t i = 0; i < n; i++) {
        struct series_place place = catalog_place(ss->catalog, ids[i]);
        struct source_series *s = &r->series[i];
        *s = (struct source_series){.id = ids[i],
                                    .metric = place.metric,
                                    .ordinal = place.ordinal,
                                    .store_to_ms = INT64_MAX,
                                    .raw_from_ms = served_ms};
        catalog_labels(ss->catalog, ids[i], a, &s->labels);
    }
    r->series_n = n;
    r->covered_ms = served_ms;
    return arena_check(a, "a query's series", e);
}

static int source_store_snapshot(void *ctx, const struct source_request *requests, uint32_t n, struct arena *a,
                                 struct source_result *ret, struct err *e)
{
    const struct source_store *ss = ctx;
    struct store_txn *t;
    memset(ret, 0, n * sizeof(*ret));
    int code = store_read_begin(ss->source.store, &t, e);
    if (code)
        return code;
    int64_t watermark_ms = INT64_MIN;
    code = pane_view_walk(t, watermark_of, &watermark_ms, e);
    for (uint32_t i = 0; i < n && !code; i++) {
        ret[i].watermark_ms = watermark_ms;
        code = snapshot_one(ss, t, &requests[i], a, &ret[i], e);
    }
    store_read_end(t);
    if (code)
        memset(ret, 0, n * sizeof(*ret));
    return code;
}

static void source_store_release(void *ctx, struct source_result *results, uint32_t n)
{
    memset(results, 0, n * sizeof(*results)); /* all of it was the arena's */
}

static int source_store_names(void *ctx, const struct matcher *m, uint32_t n, struct arena *a, struct str **ret,
                              uint32_t *ret_n, struct err *e)
{
    const struct source_store *ss = ctx;
    if (n == 0)
        return catalog_label_names(ss->catalog, a, ret, ret_n, e);
    return catalog_select_names(ss->catalog, m, n, a, ret, ret_n, e);
}

static int source_store_values(void *ctx, struct str name, const struct matcher *m, uint32_t n, struct arena *a,
                               struct str **ret, uint32_t *ret_n, struct err *e)
{
    const struct source_store *ss = ctx;
    if (n == 0)
        return catalog_label_values(ss->catalog, name, a, ret, ret_n, e);
    return catalog_select_values(ss->catalog, name, m, n, a, ret, ret_n, e);
}

/* ---- life ---- */

int source_store_new(struct store *s, struct source_store **ret, struct err *e)
{
    struct store_txn *t;
    int code = store_read_begin(s, &t, e);
    if (code)
        return code;
    struct source_store *ss = mem_zalloc(sizeof(*ss));
    ss->catalog = catalog_new();
    ss->source = (struct source){.ctx = ss,
                                 .store = s,
                                 .snapshot = source_store_snapshot,
                                 .release = source_store_release,
                                 .label_names = source_store_names,
                                 .label_values = source_store_values};
    code = catalog_load(ss->catalog, t, e);
    store_read_end(t);
    if (code) {
        source_store_free(ss);
        return code;
    }
    *ret = ss;
    return 0;
}

void source_store_free(struct source_store *ss)
{
    if (!ss)
        return;
    catalog_free(ss->catalog);
    mem_free(ss);
}

const struct source *source_store_source(const struct source_store *ss)
{
    return &ss->source;
}

const struct catalog *source_store_catalog(const struct source_store *ss)
{
    return ss->catalog;
}
