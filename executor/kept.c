#include "executor/kept.h"

#include "base/alloc.h"
#include "executor/op_build.h"
#include "executor/scan.h"

/* Windows built by one scan: their builders are what memory it takes. */
enum { BATCH = 256 };

/* One window under construction. */
struct making {
    uint32_t window; /* index in the site's */
    struct kept_window *made;
    struct pane_builder block;
    size_t blocks_cap;
    bool open; /* a block is begun */
};

struct kept_build {
    struct eval *ev;
    const struct pane_site *site;
    struct source_result *served;
    struct kept_use *use;
    struct state_builder states;
    struct making *making; /* [BATCH], by time */
    uint32_t making_n;
    uint32_t metric, shard; /* of the open blocks */
    uint64_t bytes;         /* built by this read so far */
};

static int block_finish(struct kept_build *b, struct making *m, struct err *e)
{
    if (!m->open)
        return 0;
    m->open = false;
    struct kept_window *w = m->made;
    struct str bytes = pane_builder_finish(&m->block);
    struct window_block *blocks = arena_grow(&w->arena, (void *)(uintptr_t)w->states.blocks, &m->blocks_cap,
                                             w->states.blocks_n + 1u, sizeof *blocks);
    void *copy = arena_dup(&w->arena, bytes.p, bytes.n);
    b->bytes += bytes.n;
    if (!blocks || !copy || (b->ev->limits->memory_bytes && b->bytes > b->ev->limits->memory_bytes))
        return err_set(e, ERR_LIMIT, "panes of the query are over its limit of %llu MiB of memory",
                       (unsigned long long)(b->ev->limits->memory_bytes >> 20));
    blocks[w->states.blocks_n++] = (struct window_block){m->block.key, {copy, bytes.n}};
    w->states.blocks = blocks;
    return 0;
}

static int blocks_finish(struct kept_build *b, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < b->making_n; i++)
        rc = block_finish(b, &b->making[i], e);
    return rc;
}

static int make_state(struct kept_build *b, struct making *m, const struct source_series *s, const int64_t *times_ms,
                      const double *values, uint32_t n, struct err *e)
{
    const struct plan_view *view = b->site->view;
    int64_t end_ms = b->served->windows[0][m->window].end_ms;
    uint64_t seed = b->site->sketch_seed;
    struct str state;
    if (view->family == FAMILY_KLL)
        seed = state_seed(seed, view->identity, &s->labels, end_ms);
    int rc = state_builder_run(&b->states, end_ms, times_ms, values, n, seed, &state, e);
    if (rc)
        return rc;
    if (!m->open) {
        struct pane_key key = {SOURCE_NO_VIEW, end_ms, s->metric, s->ordinal / SHARD_SERIES};
        pane_builder_start(&m->block, &key, view->family, b->states.family->fixed_size, (uint32_t)view->panes.step_ms,
                           0);
        m->open = true;
    }
    pane_builder_add(&m->block, s->ordinal % SHARD_SERIES, state,
                     b->states.family->flags((const uint8_t *)state.p, state.n), n);
    return 0;
}

static int make_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                       const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct kept_build *b = ctx;
    const struct source_series *s = &b->served->series[series];
    int rc = eval_check(b->ev, n, e);
    if (rc == 0 && (s->metric != b->metric || s->ordinal / SHARD_SERIES != b->shard)) {
        rc = blocks_finish(b, e);
        b->metric = s->metric;
        b->shard = s->ordinal / SHARD_SERIES;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; rc == 0 && i < b->making_n; i++) {
        int64_t end_ms = b->served->windows[0][b->making[i].window].end_ms;
        while (at < n && times_ms[at] <= end_ms - b->site->view->panes.step_ms)
            at++;
        uint32_t first = at;
        while (at < n && times_ms[at] <= end_ms)
            at++;
        if (at > first)
            rc = make_state(b, &b->making[i], s, times_ms + first, values + first, at - first, e);
    }
    return rc;
}

/* Samples behind a damaged block may be missing: an answer says so, and nothing is kept of it. */
static void keep(struct kept_build *b, bool damaged)
{
    struct pane_cache_key key = {.seed = b->site->sketch_seed};
    memcpy(key.identity, b->site->view->identity, IDENTITY_BYTES);
    for (uint32_t i = 0; i < b->making_n; i++) {
        struct making *m = &b->making[i];
        key.end_ms = b->served->windows[0][m->window].end_ms;
        if (!damaged)
            pane_cache_put(b->site->cache, &key, m->made);
        b->use->windows[m->window] = m->made;
        m->made = NULL;
        b->use->built_n++;
    }
}

static int make_batch(struct kept_build *b, struct err *e)
{
    const struct source_window *windows = b->served->windows[0];
    struct scan scan = {.result = b->served,
                        .txn = b->ev->txn,
                        .start_ms = windows[b->making[0].window].end_ms - b->site->view->panes.step_ms,
                        .end_ms = windows[b->making[b->making_n - 1].window].end_ms};
    b->metric = b->shard = UINT32_MAX;
    int rc = scan_run(&scan, make_series, b, e);
    if (rc == 0)
        rc = blocks_finish(b, e);
    if (rc == 0 && scan.damaged_n)
        notes_warn(b->ev->notes, "%u raw blocks failed their checksum and were left out", scan.damaged_n);
    if (rc == 0)
        keep(b, scan.damaged_n > 0);
    for (uint32_t i = 0; i < b->making_n; i++) {
        kept_window_unref(b->making[i].made);
        b->making[i].made = NULL;
        b->making[i].blocks_cap = 0;
        b->making[i].open = false;
    }
    b->making_n = 0;
    return rc;
}

/* Is the window part of any evaluation time's? Those between the windows of a range query are not read. */
static bool is_read(const struct pane_site *p, const struct times *t, int64_t first_start_ms, int64_t end_ms)
{
    int64_t past_ms = end_ms - first_start_ms;
    if (p->site.anchored || t->n == 1)
        return true;
    int64_t i = (past_ms - 1) / t->step_ms;
    i = i < t->n ? i : t->n - 1;
    return past_ms <= i * t->step_ms + p->site.range_ms;
}

static int take_windows(struct kept_build *b, const struct times *t, uint32_t sealed_n, struct err *e)
{
    const struct pane_site *p = b->site;
    const struct source_window *windows = b->served->windows[0];
    struct pane_cache_key key = {.seed = p->sketch_seed};
    int64_t start_ms = b->served->covered_ms;
    int rc = 0;
    memcpy(key.identity, p->view->identity, IDENTITY_BYTES);
    for (uint32_t i = 0; rc == 0 && i < sealed_n; i++) {
        key.end_ms = windows[i].end_ms;
        if (!is_read(p, t, start_ms, key.end_ms))
            continue;
        b->use->windows[i] = pane_cache_find(p->cache, &key, p->result->revisions[i]);
        if (b->use->windows[i])
            continue;
        struct making *m = &b->making[b->making_n++];
        m->window = i;
        m->made = kept_window_new(p->result->revisions[i], 0);
        if (b->making_n == BATCH)
            rc = make_batch(b, e);
    }
    return rc == 0 && b->making_n ? make_batch(b, e) : rc;
}

int kept_serve(struct eval *ev, const struct pane_site *p, const struct times *t, struct source_result *served,
               struct kept_use *use, struct err *e)
{
    struct kept_build b = {.ev = ev, .site = p, .served = served, .use = use};
    uint32_t sealed_n = 0;
    while (sealed_n < served->windows_n && sealed_n < p->result->windows_n && p->result->revisions[sealed_n])
        sealed_n++;
    if (sealed_n == 0)
        return 0;
    struct source_series *series = arena_dup(ev->arena, served->series, served->series_n * sizeof *series);
    use->windows = arena_zalloc(ev->arena, sealed_n * sizeof(struct kept_window *));
    b.making = arena_zalloc(ev->arena, BATCH * sizeof *b.making);
    int rc = arena_check(ev->arena, "query", e);
    if (rc)
        return rc;
    use->n = sealed_n;
    rc = state_builder_init(&b.states, p->view->family, &p->view->params, e);
    if (rc == 0)
        rc = take_windows(&b, t, sealed_n, e);
    for (uint32_t i = 0; i < BATCH; i++) {
        kept_window_unref(b.making[i].made);
        pane_builder_done(&b.making[i].block);
    }
    state_builder_done(&b.states);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < sealed_n; i++) {
        if (!use->windows[i])
            continue;
        served->windows[0][i].status = WINDOW_EARLY;
        served->windows[0][i].early = &use->windows[i]->states;
    }
    served->covered_ms = served->windows[0][sealed_n - 1].end_ms;
    for (uint32_t i = 0; i < served->series_n; i++)
        series[i].raw_from_ms = served->covered_ms;
    served->series = series;
    return 0;
}

void kept_done(struct kept_use *use)
{
    for (uint32_t i = 0; i < use->n; i++)
        kept_window_unref(use->windows[i]);
    *use = (struct kept_use){0};
}
