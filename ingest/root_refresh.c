/*
 * Computing stored roots: the times that are due, those that late samples made dirty, and those behind that nobody has
 * computed yet. Every run is one evaluation over a range of times and one commit of their rows, the labels they name
 * and how far they reach: a run that is cut short leaves nothing, and one that is repeated writes the same rows.
 */
#include "base/alloc.h"
#include "base/stats.h"
#include "executor/root.h"
#include "ingest/ingest_internal.h"

static struct stat results =
    STAT_COUNTER("mullion_root_results_total", "", "Results of stored roots computed and kept");
static struct stat recomputed =
    STAT_COUNTER("mullion_root_results_recomputed_total", "", "Of them those computed again, late samples having come");
static struct stat holes = STAT_COUNTER("mullion_root_results_unkept_total", "",
                                        "Times of stored roots whose result cannot be kept: errors and warnings");
static struct stat damaged = STAT_COUNTER("mullion_root_results_damaged_total", "",
                                          "Results found lost or damaged by a query, which computed them itself");
static struct stat bytes_written =
    STAT_COUNTER("mullion_root_bytes_total", "", "Bytes of results of stored roots written");

void roots_register(void)
{
    stat_register(&results);
    stat_register(&recomputed);
    stat_register(&holes);
    stat_register(&damaged);
    stat_register(&bytes_written);
}

void roots_doubt(void *ctx, const uint8_t identity[16], int64_t time_ms)
{
    struct ingest *in = ctx;
    stat_add(&damaged, 1);
    pthread_rwlock_wrlock(&in->lock);
    struct root_state *r = root_of(in, identity);
    if (r && time_ms <= r->claimed_to_ms) {
        spans_add(&r->dirty, time_ms, time_ms + 1);
        r->doubted = true;
    }
    pthread_rwlock_unlock(&in->lock);
}

/* Times of one run. Memory of an evaluation grows with series and times: at most about 64 MiB of values. */
enum { RUN_TIMES_MAX = 240, RUN_VALUES_MAX = 8 << 20 };

static uint32_t run_most(struct ingest *in)
{
    pthread_rwlock_rdlock(&in->lock);
    uint32_t most = RUN_VALUES_MAX / (catalog_series_n(in->catalog) + 1u);
    pthread_rwlock_unlock(&in->lock);
    return most < 1 ? 1 : most > RUN_TIMES_MAX ? RUN_TIMES_MAX : most;
}

enum run_kind { RUN_DUE = 1, RUN_DIRTY, RUN_BACKFILL };
struct run {
    struct ingest *in;
    struct root_state *root;
    enum run_kind kind;
    struct times times; /* ascending grid times */
    struct root_output out;
    struct arena arena;
    uint32_t *places; /* [out.series_n]: in root->groups.v */
    uint64_t bytes, holes_n;
    bool rewrite; /* write all labels anew */
    int failed;   /* what its evaluation ended with */
};

static int64_t last_ms(const struct run *r)
{
    return times_at(&r->times, r->times.n - 1);
}

/* ---- under the lock ---- */

/* From here on what comes for these times makes them dirty; what was dirty is about to be computed. */
static void run_claim(struct run *r)
{
    struct root_state *s = r->root;
    int64_t from_ms = r->times.start_ms, to_ms = last_ms(r) + 1;
    pthread_rwlock_wrlock(&r->in->lock);
    if (r->kind == RUN_DUE) {
        s->claimed_to_ms = last_ms(r);
        if (r->in->roots.newest_read_ms < s->claimed_to_ms + s->ahead_ms)
            r->in->roots.newest_read_ms = s->claimed_to_ms + s->ahead_ms;
    }
    spans_remove(&s->dirty, from_ms, to_ms);
    spans_add(&s->rebuilding, from_ms, to_ms);
    r->rewrite = s->doubted;
    s->doubted = false;
    pthread_rwlock_unlock(&r->in->lock);
}

static void settle_holes(struct run *r)
{
    struct root_state *s = r->root;
    spans_remove(&s->holes, r->times.start_ms, last_ms(r) + 1);
    for (uint32_t i = 0; i < r->times.n; i++)
        if (r->out.hole[i])
            spans_add(&s->holes, times_at(&r->times, i), times_at(&r->times, i) + 1);
}

static void run_settle(struct run *r, bool done)
{
    struct root_state *s = r->root;
    pthread_rwlock_wrlock(&r->in->lock);
    spans_remove(&s->rebuilding, r->times.start_ms, last_ms(r) + 1);
    if (done) {
        settle_holes(r);
        if (r->kind == RUN_DUE)
            s->sealed_to_ms = last_ms(r);
        else if (r->kind == RUN_BACKFILL)
            s->complete_from_ms = r->times.start_ms - s->grid.step_ms;
    } else {
        if (r->kind == RUN_DIRTY)
            spans_add(&s->dirty, r->times.start_ms, last_ms(r) + 1);
        s->doubted |= r->rewrite;
        s->claimed_to_ms = s->sealed_to_ms;
    }
    pthread_rwlock_unlock(&r->in->lock);
}

/* ---- the rows ---- */

static int run_places(struct run *r, struct err *e)
{
    r->places = ARENA_ARRAY(&r->arena, uint32_t, r->out.series_n + 1u);
    int rc = arena_check(&r->arena, "refresh", e);
    for (uint32_t i = 0; i < r->out.series_n && rc == 0; i++)
        rc = label_sets_place(&r->root->groups, &r->out.series[i].labels, r->out.series[i].drop_name, &r->places[i], e);
    return rc;
}

static int put_row(struct run *r, uint32_t i, uint32_t *groups, double *values, struct store_txn *t, struct err *e)
{
    struct label_sets *all = &r->root->groups;
    int64_t at_ms = times_at(&r->times, i);
    uint64_t size = 0;
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->out.series_n && !r->out.hole[i]; k++) {
        const struct label_set *g = &all->v[r->places[k]];
        if (value_absent(r->out.series[k].v[i]))
            continue;
        label_sets_use(all, r->places[k], at_ms);
        groups[n] = g->number;
        values[n++] = r->out.series[k].v[i];
    }
    if (n > ROOT_GROUPS_MAX) {
        r->out.hole[i] = true;
        n = 0;
    }
    r->holes_n += r->out.hole[i];
    int rc = root_result_put(t, r->root->number, at_ms, r->out.hole[i] ? ROOT_HOLE : 0, groups, values, n, &size, e);
    r->bytes += size;
    return rc;
}

static int put_rows(struct run *r, struct store_txn *t, struct err *e)
{
    uint32_t *groups = ARENA_ARRAY(&r->arena, uint32_t, r->out.series_n + 1u);
    double *values = ARENA_ARRAY(&r->arena, double, r->out.series_n + 1u);
    int rc = arena_check(&r->arena, "refresh", e);
    for (uint32_t i = 0; i < r->times.n && rc == 0; i++)
        rc = put_row(r, i, groups, values, t, e);
    return rc;
}

static int put_run(struct run *r, struct store_txn *t, struct err *e)
{
    struct root_state *s = r->root;
    struct root_record record = {
        .number = s->number, .complete_from_ms = s->complete_from_ms, .sealed_to_ms = s->sealed_to_ms};
    memcpy(record.identity, s->identity, IDENTITY_BYTES);
    if (r->kind == RUN_DUE)
        record.sealed_to_ms = last_ms(r);
    else if (r->kind == RUN_BACKFILL)
        record.complete_from_ms = r->times.start_ms - s->grid.step_ms;
    if (r->rewrite)
        label_sets_written(&s->groups, false);
    int rc = put_rows(r, t, e);
    if (rc == 0)
        rc = label_sets_put(&s->groups, t, s->number, e);
    return rc ? rc : root_update(t, &record, e);
}

static int runs_commit(struct ingest *in, struct run *runs, uint32_t n, struct err *e)
{
    struct store_txn *t;
    int rc = store_write_begin(in->store, &t, e);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (!runs[i].failed)
            rc = put_run(&runs[i], t, e);
    if (rc) {
        store_write_abort(t);
        return rc;
    }
    return store_write_commit(t, e);
}

static void run_evaluate(struct run *r, struct err *e)
{
    struct root_run evaluation = {
        .source = &r->in->source, .expr = r->root->expr, .times = r->times, .pool = r->in->pool};
    run_claim(r);
    r->failed = root_evaluate(&evaluation, &r->arena, &r->out, e);
    if (!r->failed)
        r->failed = run_places(r, e);
}

static void run_done(struct run *r, bool done)
{
    run_settle(r, done);
    if (done) {
        label_sets_written(&r->root->groups, true);
        stat_add(&results, r->times.n);
        stat_add(&holes, (int64_t)r->holes_n);
        stat_add(&recomputed, r->kind == RUN_DIRTY ? r->times.n : 0);
        stat_add(&bytes_written, (int64_t)r->bytes);
    }
    arena_done(&r->arena);
}

/* Runs of different roots, one commit for all: a commit waits for the disk. Those that fail leave the others be;
 * returns the first failure. runs[i].failed tells whose. */
static int runs_do(struct ingest *in, struct run *runs, uint32_t n, struct err *e)
{
    struct err mine;
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        run_evaluate(&runs[i], &mine);
        if (runs[i].failed && rc == 0) {
            *e = mine;
            rc = runs[i].failed;
        }
    }
    int committed = n ? runs_commit(in, runs, n, &mine) : 0;
    if (committed && rc == 0) {
        *e = mine;
        rc = committed;
    }
    for (uint32_t i = 0; i < n; i++) {
        runs[i].failed = runs[i].failed ? runs[i].failed : committed;
        run_done(&runs[i], !runs[i].failed);
    }
    return rc;
}

static void run_add(struct run *runs, uint32_t *n, struct ingest *in, struct root_state *s, enum run_kind kind,
                    struct times times)
{
    struct run *r = &runs[(*n)++];
    *r = (struct run){.in = in, .root = s, .kind = kind, .times = times};
    arena_init(&r->arena, 0);
}

/* ---- what is due ---- */

/* Where a root begins: at the first sample ever; or, after a long silence, where its readers' reach begins. */
static void root_begin(struct ingest *in, struct root_state *s, int64_t watermark_ms)
{
    int64_t from_ms = s->sealed_to_ms,
            oldest_ms = grid_floor(s->grid, watermark_ms - s->retention_ms) - s->grid.step_ms;
    if (from_ms == INT64_MIN)
        from_ms = grid_floor(s->grid, in->first_event_ms - 1);
    if (from_ms < oldest_ms)
        from_ms = oldest_ms;
    if (from_ms == s->sealed_to_ms)
        return;
    pthread_rwlock_wrlock(&in->lock);
    s->complete_from_ms = s->sealed_to_ms = s->claimed_to_ms = s->backfill_from_ms = from_ms;
    pthread_rwlock_unlock(&in->lock);
}

static bool next_due(struct ingest *in, const struct root_state *s, int64_t watermark_ms, struct times *ret)
{
    int64_t first_ms = s->sealed_to_ms + s->grid.step_ms, most = run_most(in);
    if (first_ms > watermark_ms)
        return false;
    int64_t n = (watermark_ms - first_ms) / s->grid.step_ms + 1;
    *ret = (struct times){first_ms, s->grid.step_ms, (uint32_t)(n < most ? n : most)};
    return true;
}

/* The first dirty times that have rows and whose look-back raw samples still cover; spans without any are forgotten,
 * and what raw samples no longer cover stays dirty. False when there are none. */
static bool next_dirty(struct ingest *in, struct root_state *s, int64_t watermark_ms, struct times *ret)
{
    int64_t most = run_most(in);
    pthread_rwlock_wrlock(&in->lock);
    int64_t raw_ms = watermark_ms - in->options.raw_retention_ms + s->reach_ms;
    bool found = false;
    spans_remove(&s->dirty, INT64_MIN, s->complete_from_ms + 1);
    for (uint32_t i = 0; i < s->dirty.n && !found;) {
        struct source_span span = s->dirty.v[i];
        int64_t first_ms = grid_ceil(s->grid, span.from_ms > raw_ms ? span.from_ms : raw_ms);
        int64_t end_ms = span.to_ms <= s->sealed_to_ms ? span.to_ms : s->sealed_to_ms + 1;
        if (first_ms < end_ms) {
            int64_t n = (end_ms - 1 - first_ms) / s->grid.step_ms + 1;
            *ret = (struct times){first_ms, s->grid.step_ms, (uint32_t)(n < most ? n : most)};
            found = true;
        } else if (span.from_ms >= raw_ms) {
            spans_remove(&s->dirty, span.from_ms, span.to_ms);
        } else {
            i++;
        }
    }
    pthread_rwlock_unlock(&in->lock);
    return found;
}

/* Late samples rarely come alone: dirty times get a moment to gather. */
enum { GATHER_MS = 5000 };

/* In turn, as groups are: each root its next times, then its dirty ones. What one commit takes is held at once, so it
 * is bounded as one run is. */
int roots_due(struct ingest *in, int64_t watermark_ms, int64_t now_ms, bool (*go_on)(void *ctx), void *ctx,
              struct err *e)
{
    enum { RUNS_MAX = 32 };
    struct run *runs = mem_alloc(RUNS_MAX * sizeof *runs);
    bool *failed = mem_zalloc(in->roots.n + 1u), *gathered = mem_zalloc(in->roots.n + 1u);
    int rc = 0;
    for (uint32_t i = 0; i < in->roots.n; i++) {
        struct root_state *s = &in->roots.v[i];
        root_begin(in, s, root_watermark_ms(s, watermark_ms));
        gathered[i] = s->recomputed_ms == INT64_MIN || now_ms - s->recomputed_ms >= GATHER_MS;
    }
    for (bool progress = true; progress;) {
        progress = false;
        uint32_t most = run_most(in), times_n = 0;
        for (uint32_t i = 0, n = 0; i < in->roots.n && (n > 0 || go_on(ctx)); i++) {
            struct root_state *s = &in->roots.v[i];
            struct times t = {0};
            if (!failed[i] && next_due(in, s, root_watermark_ms(s, watermark_ms), &t)) {
                run_add(runs, &n, in, s, RUN_DUE, t);
            } else if (!failed[i] && gathered[i] && next_dirty(in, s, watermark_ms, &t)) {
                s->recomputed_ms = now_ms;
                run_add(runs, &n, in, s, RUN_DIRTY, t);
            }
            times_n += t.n;
            if (n < RUNS_MAX && times_n < most && i + 1 < in->roots.n)
                continue;
            struct err mine;
            int some = runs_do(in, runs, n, &mine);
            for (uint32_t k = 0; k < n; k++) {
                failed[runs[k].root - in->roots.v] |= runs[k].failed != 0;
                progress |= !runs[k].failed;
            }
            n = times_n = 0;
            if (some && rc == 0) {
                *e = mine;
                rc = some;
            }
        }
    }
    mem_free(runs);
    mem_free(failed);
    mem_free(gathered);
    return rc;
}

int roots_backfill_step(struct ingest *in, bool *ret_more, struct err *e)
{
    *ret_more = false;
    for (uint32_t i = 0; i < in->roots.n; i++) {
        struct root_state *s = &in->roots.v[i];
        if (s->backfill_from_ms >= s->complete_from_ms)
            continue;
        int64_t n = (s->complete_from_ms - s->backfill_from_ms) / s->grid.step_ms, most = run_most(in);
        n = n < most ? n : most;
        struct times t = {s->complete_from_ms - (n - 1) * s->grid.step_ms, s->grid.step_ms, (uint32_t)n};
        struct run run;
        uint32_t runs_n = 0;
        run_add(&run, &runs_n, in, s, RUN_BACKFILL, t);
        *ret_more = true;
        return runs_do(in, &run, 1, e);
    }
    return 0;
}

/* ---- retention ---- */

static int64_t kept_from(const struct root_state *s)
{
    int64_t from_ms = grid_floor(s->grid, s->sealed_to_ms - s->retention_ms) - s->grid.step_ms;
    return from_ms > s->complete_from_ms ? from_ms : s->complete_from_ms;
}

/* Readers are told before the rows go; the record in the store goes with them. */
int roots_drop(struct ingest *in, struct store_txn *t, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < in->roots.n && rc == 0; i++) {
        struct root_state *s = &in->roots.v[i];
        if (s->sealed_to_ms == INT64_MIN)
            continue;
        pthread_rwlock_wrlock(&in->lock);
        s->complete_from_ms = kept_from(s);
        if (s->backfill_from_ms < s->complete_from_ms)
            s->backfill_from_ms = s->complete_from_ms;
        spans_remove(&s->dirty, INT64_MIN, s->complete_from_ms + 1);
        spans_remove(&s->holes, INT64_MIN, s->complete_from_ms + 1);
        pthread_rwlock_unlock(&in->lock);
        struct root_record record = {
            .number = s->number, .complete_from_ms = s->complete_from_ms, .sealed_to_ms = s->sealed_to_ms};
        uint32_t dropped = 0;
        memcpy(record.identity, s->identity, IDENTITY_BYTES);
        rc = root_result_drop(t, s->number, s->complete_from_ms, &dropped, e);
        if (rc == 0)
            rc = label_sets_drop(&s->groups, t, s->number, s->complete_from_ms, e);
        if (rc == 0)
            rc = root_update(t, &record, e);
    }
    return rc;
}

void roots_dropped(struct ingest *in)
{
    for (uint32_t i = 0; i < in->roots.n; i++)
        if (in->roots.v[i].sealed_to_ms != INT64_MIN)
            label_sets_forget(&in->roots.v[i].groups, in->roots.v[i].complete_from_ms);
}
