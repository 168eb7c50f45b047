#include "executor/refresh.h"

#include "base/alloc.h"
#include "executor/op_build.h"
#include "executor/scan.h"

/* One view's block under construction and the blocks it has finished. */
struct target {
    const struct plan_view *view;
    struct state_builder states;
    struct pane_builder block;
    bool open; /* a block is begun */
    struct refresh_output *output;
    size_t blocks_cap;
};

/* The targets that read one source, fed by one scan. */
struct feed {
    const struct refresh_run *run;
    const struct source_result *result;
    struct arena *arena;
    struct target **targets;
    uint32_t targets_n;
    uint32_t metric, shard; /* of the open blocks */
};

static int target_finish(struct target *t, struct arena *a, struct err *e)
{
    if (!t->open)
        return 0;
    t->open = false;
    struct str bytes = pane_builder_finish(&t->block);
    struct refresh_output *o = t->output;
    o->blocks = arena_grow(a, o->blocks, &t->blocks_cap, o->blocks_n + 1u, sizeof *o->blocks);
    void *copy = arena_dup(a, bytes.p, bytes.n);
    if (!o->blocks || !copy)
        return arena_check(a, "refresh", e);
    o->blocks[o->blocks_n++] = (struct window_block){t->block.key, {copy, bytes.n}};
    return 0;
}

static int feed_finish_blocks(struct feed *f, struct err *e)
{
    for (uint32_t i = 0; i < f->targets_n; i++) {
        int rc = target_finish(f->targets[i], f->arena, e);
        if (rc)
            return rc;
    }
    return 0;
}

static int target_add(struct feed *f, struct target *t, const struct source_series *s, const int64_t *times_ms,
                      const double *values, uint32_t n, struct err *e)
{
    const struct refresh_run *run = f->run;
    uint64_t seed = run->plan->sketch_seed;
    /* Only a sketch that draws at random takes a seed of its own; the rest share the sketch seed. */
    if (t->view->family == FAMILY_KLL)
        seed = state_seed(seed, t->view->identity, &s->labels, run->end_ms);
    struct str state;
    int rc = state_builder_run(&t->states, run->end_ms, times_ms, values, n, seed, &state, e);
    if (rc)
        return rc;
    if (!t->open) {
        struct pane_key key = {t->output->store_view, run->end_ms, f->metric, f->shard};
        pane_builder_start(&t->block, &key, t->view->family, t->states.family->fixed_size,
                           (uint32_t)t->view->panes.step_ms, run->revision);
        t->open = true;
    }
    pane_builder_add(&t->block, s->ordinal % SHARD_SERIES, state,
                     t->states.family->flags((const uint8_t *)state.p, state.n), n);
    t->output->states_n++;
    t->output->samples_n += n;
    return 0;
}

static int feed_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values, uint32_t n,
                       struct err *e)
{
    struct feed *f = ctx;
    const struct source_series *s = &f->result->series[series];
    if (n == 0)
        return 0;
    if (s->metric != f->metric || s->ordinal / SHARD_SERIES != f->shard) {
        int rc = feed_finish_blocks(f, e);
        if (rc)
            return rc;
        f->metric = s->metric;
        f->shard = s->ordinal / SHARD_SERIES;
    }
    for (uint32_t i = 0; i < f->targets_n; i++) {
        int rc = target_add(f, f->targets[i], s, times_ms, values, n, e);
        if (rc)
            return rc;
    }
    return 0;
}

static bool listed(const uint32_t *ids, uint32_t n, uint32_t id)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ids[low] == id;
}

/* Bitmap of the series a partial run leaves out; NULL for a whole run. */
static int series_to_skip(const struct refresh_run *r, const struct source_result *result, struct arena *a,
                          const uint64_t **ret, struct err *e)
{
    *ret = NULL;
    if (!r->only_series)
        return 0;
    uint64_t *skip = arena_zalloc(a, (result->series_n / 64 + 1) * sizeof *skip);
    if (!skip)
        return arena_check(a, "refresh", e);
    for (uint32_t i = 0; i < result->series_n; i++)
        if (!listed(r->only_series, r->only_series_n, result->series[i].id))
            skip[i / 64] |= UINT64_C(1) << (i % 64);
    *ret = skip;
    return 0;
}

static int feed_run(struct feed *f, struct store_txn *txn, struct err *e)
{
    const uint64_t *skip;
    int rc = series_to_skip(f->run, f->result, f->arena, &skip, e);
    if (rc)
        return rc;
    f->metric = f->shard = UINT32_MAX;
    struct scan scan = {.result = f->result,
                        .txn = txn,
                        .start_ms = f->run->end_ms - f->targets[0]->view->panes.step_ms,
                        .end_ms = f->run->end_ms,
                        .skip_series = skip};
    rc = scan_run(&scan, feed_series, f, e);
    if (rc)
        return rc;
    /* A state over damaged raw would be a wrong answer kept for good. */
    if (scan.damaged_n)
        return err_set(e, ERR_CORRUPT, "%u raw blocks of the window ending at %lld ms fail their checksum",
                       scan.damaged_n, (long long)f->run->end_ms);
    return feed_finish_blocks(f, e);
}

static int target_init(struct target *t, const struct refresh_run *r, uint32_t i, struct refresh_output *output,
                       struct err *e)
{
    const struct plan_view *v = &r->plan->views[r->views[i]];
    *output = (struct refresh_output){.view = r->views[i], .store_view = r->store_views[i]};
    *t = (struct target){.view = v, .output = output};
    return state_builder_init(&t->states, v->family, &v->params, e);
}

/* One request per distinct source; feeds_n of them. */
static uint32_t feeds_make(const struct refresh_run *r, struct target *targets, struct target **grouped,
                           struct feed *feeds, struct source_request *requests, struct arena *a)
{
    uint32_t feeds_n = 0, used = 0;
    for (uint32_t i = 0; i < r->views_n; i++) {
        uint32_t source = targets[i].view->source;
        bool seen = false;
        for (uint32_t j = 0; j < i && !seen; j++)
            seen = targets[j].view->source == source;
        if (seen)
            continue;
        struct feed *f = &feeds[feeds_n];
        *f = (struct feed){.run = r, .arena = a, .targets = grouped + used};
        for (uint32_t j = i; j < r->views_n; j++)
            if (targets[j].view->source == source)
                f->targets[f->targets_n++] = &targets[j];
        used += f->targets_n;
        const struct plan_source *s = &r->plan->sources[source];
        requests[feeds_n++] = (struct source_request){.matchers = s->matchers,
                                                      .matchers_n = s->matchers_n,
                                                      .start_ms = r->end_ms - targets[i].view->panes.step_ms,
                                                      .end_ms = r->end_ms};
    }
    return feeds_n;
}

static int feeds_run(const struct refresh_run *r, struct feed *feeds, const struct source_request *requests,
                     uint32_t feeds_n, struct arena *a, struct err *e)
{
    struct source_result *results = arena_zalloc(a, feeds_n * sizeof *results);
    if (!results)
        return arena_check(a, "refresh", e);
    int rc = r->source->snapshot(r->source->ctx, requests, feeds_n, a, results, e);
    if (rc)
        return rc;
    struct store_txn *txn = NULL;
    rc = r->source->store ? store_read_begin(r->source->store, &txn, e) : 0;
    for (uint32_t i = 0; i < feeds_n && rc == 0; i++) {
        feeds[i].result = &results[i];
        rc = feed_run(&feeds[i], txn, e);
    }
    store_read_end(txn);
    r->source->release(r->source->ctx, results, feeds_n);
    return rc;
}

int refresh_window(const struct refresh_run *r, struct arena *a, struct refresh_output *outputs,
                   uint32_t *ret_raw_reads, struct err *e)
{
    struct target *targets = arena_zalloc(a, r->views_n * sizeof *targets);
    struct target **grouped = arena_zalloc(a, r->views_n * sizeof *grouped);
    struct feed *feeds = arena_zalloc(a, r->views_n * sizeof *feeds);
    struct source_request *requests = arena_zalloc(a, r->views_n * sizeof *requests);
    if (!targets || !grouped || !feeds || !requests)
        return arena_check(a, "refresh", e);
    int rc = 0;
    for (uint32_t i = 0; i < r->views_n && rc == 0; i++)
        rc = target_init(&targets[i], r, i, &outputs[i], e);
    uint32_t feeds_n = 0;
    if (rc == 0) {
        feeds_n = feeds_make(r, targets, grouped, feeds, requests, a);
        rc = feeds_run(r, feeds, requests, feeds_n, a, e);
    }
    for (uint32_t i = 0; i < r->views_n; i++) {
        state_builder_done(&targets[i].states);
        pane_builder_done(&targets[i].block);
    }
    if (rc == 0)
        *ret_raw_reads = feeds_n;
    return rc;
}

/* A block may name no state at all (every rebuilt slot became empty); its key comes from whichever side there is. */
int refresh_patch_block(const struct family_info *family, struct str old, struct str rebuilt, const uint64_t slots[16],
                        uint32_t revision, struct pane_builder *b, struct str *ret, struct err *e)
{
    struct pane_block before = {0}, after = {0};
    int rc = old.n ? pane_block_parse(old, NULL, false, &before, e) : 0;
    if (rc == 0 && rebuilt.n)
        rc = pane_block_parse(rebuilt, NULL, false, &after, e);
    if (rc)
        return rc;
    const struct pane_block *named = old.n ? &before : &after;
    pane_builder_start(b, &named->key, family->family, family->fixed_size, named->width_ms, revision);
    for (uint32_t slot = 0; slot < PANE_SLOTS; slot++) {
        bool replaced = slots[slot / 64] >> (slot % 64) & 1;
        const struct pane_block *from = replaced ? &after : &before;
        struct str state = from->present_n ? pane_block_state(from, slot) : (struct str){0};
        if (state.n)
            pane_builder_add(b, slot, state, family->flags((const uint8_t *)state.p, state.n),
                             family->count((const uint8_t *)state.p, state.n));
    }
    *ret = pane_builder_finish(b);
    return 0;
}
