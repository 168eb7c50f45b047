#include "executor/refresh.h"

#include "base/alloc.h"
#include "base/sorted.h"
#include "executor/ladder.h"
#include "executor/op_build.h"
#include "executor/refresh_groups.h"
#include "executor/scan.h"

/* One view's block under construction and the blocks it has finished. */
struct target {
    const struct plan_view *view;
    struct state_builder states;
    struct window_groups groups; /* of a view by labels, in place of `states` */
    struct pane_builder block;
    bool open; /* a block is begun */
    struct refresh_output *output;
};

/* The panes a roll-up is merged from, one more state where raw samples stand in for some of them. */
struct roll_up {
    const struct plan_view *below;
    struct ladder panes;
    struct state_builder rest;
    struct state_ref *refs;
};

/* The targets that read one source, fed by one scan; or one roll-up. */
struct feed {
    const struct refresh_run *run;
    const struct source_result *result;
    struct arena *arena;
    struct target **targets;
    uint32_t targets_n;
    struct roll_up *roll_up; /* NULL: targets are built from samples */
    const uint64_t *skip;    /* bitmap of series that views of one state a series leave out; NULL: none */
    uint32_t metric, shard;  /* of the open blocks */
};

int refresh_output_add(struct refresh_output *o, struct pane_builder *b, struct arena *a, struct err *e)
{
    struct str bytes = pane_builder_finish(b);
    o->blocks = arena_grow(a, o->blocks, &o->blocks_cap, o->blocks_n + 1u, sizeof *o->blocks);
    void *copy = arena_dup(a, bytes.p, bytes.n);
    if (!o->blocks || !copy)
        return arena_check(a, "refresh", e);
    o->blocks[o->blocks_n++] = (struct window_block){b->key, {copy, bytes.n}};
    return 0;
}

static int target_finish(struct target *t, struct arena *a, struct err *e)
{
    if (!t->open)
        return 0;
    t->open = false;
    return refresh_output_add(t->output, &t->block, a, e);
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

/* Only a sketch that draws at random takes a seed of its own; the rest share the sketch seed. */
static uint64_t seed_of(const struct feed *f, const struct plan_view *v, const struct source_series *s)
{
    uint64_t seed = f->run->plan->sketch_seed;
    return v->family == FAMILY_KLL ? state_seed(seed, v->identity, &s->labels, f->run->end_ms) : seed;
}

static void target_put(struct feed *f, struct target *t, const struct source_series *s, struct str state, uint64_t n)
{
    const struct refresh_run *run = f->run;
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
}

static int target_add(struct feed *f, struct target *t, const struct source_series *s, const int64_t *times_ms,
                      const double *values, uint32_t n, struct err *e)
{
    struct str state;
    int rc = state_builder_run(&t->states, f->run->end_ms, times_ms, values, n, seed_of(f, t->view, s), &state, e);
    if (rc == 0)
        target_put(f, t, s, state, n);
    return rc;
}

/* The panes below up to where raw samples take over, and one state of those samples. */
static int target_merge(struct feed *f, struct target *t, const struct source_series *s, const int64_t *times_ms,
                        const double *values, uint32_t n, struct err *e)
{
    struct roll_up *u = f->roll_up;
    struct ladder_states states = {.refs = u->refs};
    const struct family_info *family = t->states.family;
    int64_t end_ms = f->run->end_ms;
    struct str state;
    ladder_series(&u->panes, s);
    int rc = ladder_cover(&u->panes, end_ms - t->view->panes.step_ms, s->raw_from_ms, &states, e);
    if (rc == 0 && n > 0) {
        rc = state_builder_run(&u->rest, end_ms, times_ms, values, n, seed_of(f, u->below, s), &state, e);
        if (rc == 0) {
            states.refs[states.n++] = (struct state_ref){(const uint8_t *)state.p, (uint32_t)state.n, end_ms};
            states.samples_n += family->count((const uint8_t *)state.p, state.n);
        }
    }
    if (rc != 0 || states.n == 0)
        return rc;
    rc = state_builder_merge(&t->states, end_ms, states.refs, states.n, states.samples_n, seed_of(f, t->view, s),
                             &state, e);
    if (rc == 0)
        target_put(f, t, s, state, family->count((const uint8_t *)state.p, state.n));
    return rc;
}

static int feed_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                       const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct feed *f = ctx;
    const struct source_series *s = &f->result->series[series];
    if (n == 0 && !f->roll_up)
        return 0;
    if (s->metric != f->metric || s->ordinal / SHARD_SERIES != f->shard) {
        int rc = feed_finish_blocks(f, e);
        if (rc)
            return rc;
        f->metric = s->metric;
        f->shard = s->ordinal / SHARD_SERIES;
    }
    bool skipped = f->skip && f->skip[series / 64] >> (series % 64) & 1;
    int rc = 0;
    for (uint32_t i = 0; i < f->targets_n && rc == 0; i++) {
        struct target *t = f->targets[i];
        if (!t->view->per_series)
            rc = window_groups_add(&t->groups, &s->labels, times_ms, values, n, e);
        else if (!skipped)
            rc = f->roll_up ? target_merge(f, t, s, times_ms, values, n, e)
                            : target_add(f, t, s, times_ms, values, n, e);
    }
    return rc;
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
        if (!sorted_has(r->only_series, r->only_series_n, result->series[i].id))
            skip[i / 64] |= UINT64_C(1) << (i % 64);
    *ret = skip;
    return 0;
}

static int roll_up_init(struct feed *f, struct store_txn *txn, struct err *e)
{
    struct roll_up *u = f->roll_up;
    const struct plan_view *v = u->below;
    u->refs = ARENA_ARRAY(f->arena, struct state_ref, f->result->windows_n + 1u);
    int rc = arena_check(f->arena, "refresh", e);
    if (rc == 0)
        rc = ladder_init(&u->panes, v, NULL, 0, f->result, txn, f->arena, e);
    return rc != 0 ? rc : state_builder_init(&u->rest, v->family, &v->params, e);
}

static bool has_groups(const struct feed *f)
{
    for (uint32_t i = 0; i < f->targets_n; i++)
        if (!f->targets[i]->view->per_series)
            return true;
    return false;
}

static int feed_finish_groups(struct feed *f, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < f->targets_n && rc == 0; i++) {
        struct target *t = f->targets[i];
        if (!t->view->per_series)
            rc = window_groups_finish(&t->groups, &t->block, f->run->revision, f->arena, t->output, e);
    }
    return rc;
}

static int feed_run(struct feed *f, struct store_txn *txn, struct err *e)
{
    int rc = series_to_skip(f->run, f->result, f->arena, &f->skip, e);
    if (rc == 0 && f->roll_up)
        rc = roll_up_init(f, txn, e);
    if (rc)
        return rc;
    f->metric = f->shard = UINT32_MAX;
    struct scan scan = {.result = f->result,
                        .txn = txn,
                        .start_ms = f->run->end_ms - f->targets[0]->view->panes.step_ms,
                        .end_ms = f->run->end_ms,
                        .skip_series = has_groups(f) ? NULL : f->skip};
    rc = scan_run(&scan, feed_series, f, e);
    if (rc)
        return rc;
    /* A state over damaged raw would be a wrong answer kept for good. */
    if (scan.damaged_n)
        return err_set(e, ERR_CORRUPT, "%u raw blocks of the window ending at %lld ms fail their checksum",
                       scan.damaged_n, (long long)f->run->end_ms);
    rc = feed_finish_blocks(f, e);
    return rc != 0 ? rc : feed_finish_groups(f, e);
}

static int target_init(struct target *t, const struct refresh_run *r, uint32_t i, struct refresh_output *output,
                       struct arena *a, struct err *e)
{
    const struct plan_view *v = &r->plan->views[r->views[i]];
    *output = (struct refresh_output){.view = r->views[i], .store_view = r->store_views[i]};
    *t = (struct target){.view = v, .output = output};
    if (!v->per_series)
        return window_groups_init(&t->groups, v, r->plan->sketch_seed, r->end_ms, &r->groups[i], a, e);
    return state_builder_init(&t->states, v->family, &v->params, e);
}

static void request_of(const struct refresh_run *r, const struct target *t, struct source_request *ret)
{
    const struct plan_source *s = &r->plan->sources[t->view->source];
    *ret = (struct source_request){.matchers = s->matchers,
                                   .matchers_n = s->matchers_n,
                                   .start_ms = r->end_ms - t->view->panes.step_ms,
                                   .end_ms = r->end_ms};
}

/* A roll-up has a request of its own: for the panes below. */
static void roll_up_make(const struct refresh_run *r, const struct target *t, struct feed *f,
                         struct source_request *request, struct roll_up *u)
{
    const struct plan_view *below = u->below = &r->plan->views[t->view->level_of];
    f->roll_up = u;
    request_of(r, t, request);
    request->identities = &below->identity;
    request->identities_n = 1;
    request->width_ms = below->panes.step_ms;
    request->phase_ms = below->panes.phase_ms;
}

/* One request per distinct source, and one per roll-up; feeds_n of them. */
static uint32_t feeds_make(const struct refresh_run *r, struct target *targets, struct target **grouped,
                           struct feed *feeds, struct source_request *requests, struct roll_up *roll_ups,
                           struct arena *a)
{
    uint32_t feeds_n = 0, used = 0;
    for (uint32_t i = 0; i < r->views_n; i++) {
        uint32_t source = targets[i].view->source;
        bool merges = targets[i].view->level_of != PLAN_NONE, seen = false;
        for (uint32_t j = 0; j < i && !seen && !merges; j++)
            seen = targets[j].view->source == source && targets[j].view->level_of == PLAN_NONE;
        if (seen)
            continue;
        struct feed *f = &feeds[feeds_n];
        *f = (struct feed){.run = r, .arena = a, .targets = grouped + used};
        for (uint32_t j = i; j < (merges ? i + 1 : r->views_n); j++)
            if (merges || (targets[j].view->source == source && targets[j].view->level_of == PLAN_NONE))
                f->targets[f->targets_n++] = &targets[j];
        used += f->targets_n;
        if (merges)
            roll_up_make(r, &targets[i], f, &requests[feeds_n], &roll_ups[i]);
        else
            request_of(r, &targets[i], &requests[feeds_n]);
        feeds_n++;
    }
    return feeds_n;
}

static int feeds_run(const struct refresh_run *r, struct feed *feeds, const struct source_request *requests,
                     uint32_t feeds_n, struct arena *a, uint32_t *ret_raw_reads, struct err *e)
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
        *ret_raw_reads += !feeds[i].roll_up || results[i].covered_ms < r->end_ms;
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
    struct roll_up *roll_ups = arena_zalloc(a, r->views_n * sizeof *roll_ups);
    *ret_raw_reads = 0;
    if (!targets || !grouped || !feeds || !requests || !roll_ups)
        return arena_check(a, "refresh", e);
    int rc = 0;
    for (uint32_t i = 0; i < r->views_n && rc == 0; i++)
        rc = target_init(&targets[i], r, i, &outputs[i], a, e);
    if (rc == 0) {
        uint32_t feeds_n = feeds_make(r, targets, grouped, feeds, requests, roll_ups, a);
        rc = feeds_run(r, feeds, requests, feeds_n, a, ret_raw_reads, e);
    }
    for (uint32_t i = 0; i < r->views_n; i++) {
        state_builder_done(&targets[i].states);
        window_groups_done(&targets[i].groups);
        pane_builder_done(&targets[i].block);
        state_builder_done(&roll_ups[i].rest);
    }
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
