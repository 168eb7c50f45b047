#include "base/alloc.h"
#include "base/stats.h"
#include "ingest/ingest_internal.h"
#include "ingest/view_groups.h"

void ingest_options_default(struct ingest_options *o)
{
    const int64_t minute_ms = 60000;
    *o = (struct ingest_options){
        .max_future_ms = 10 * minute_ms,
        .late_horizon_ms = 120 * minute_ms,
        .lateness_ms = minute_ms / 2,
        .raw_retention_ms = 15 * 24 * 60 * minute_ms,
        .checkpoint_ms = minute_ms,
        .wal_fsync = WAL_FSYNC_INTERVAL,
        .series_max = 10000000,
        .label_bytes_max = 64 << 10,
        .view_groups_max = VIEW_GROUPS_MAX,
        .body_max = WRITE_BODY_MAX,
    };
}

int64_t ingest_watermark_locked(const struct ingest *in)
{
    return in->event_clock_ms == INT64_MIN ? INT64_MIN : in->event_clock_ms - in->options.lateness_ms;
}

int64_t ingest_watermark(struct ingest *in)
{
    pthread_rwlock_rdlock(&in->lock);
    int64_t watermark_ms = ingest_watermark_locked(in);
    pthread_rwlock_unlock(&in->lock);
    return watermark_ms;
}

struct replay {
    struct ingest *in;
    struct ingest_report *report;
    struct strbuf plain;
    struct write_request request;
};

static int replay_record(void *ctx, const struct wal_record *r, struct err *e)
{
    struct replay *replay = ctx;
    struct ingest *in = replay->in;
    struct write_result result = {0};
    if (r->kind != WAL_KIND_WRITE)
        return err_set(e, ERR_VERSION, "log record %llu is of kind %u, which this version does not know",
                       (unsigned long long)r->seq, r->kind);
    int rc = write_body_decompress(r->body, WRITE_BODY_MAX, &replay->plain, e);
    if (rc == 0)
        rc = write_request_parse(&replay->request, (struct str){replay->plain.p, replay->plain.n}, e);
    if (rc)
        return err_prefix(e, "log record %llu", (unsigned long long)r->seq);
    struct apply a = {.in = in,
                      .admission = {.options = &in->options,
                                    .receive_ms = r->receive_ms,
                                    .watermark_ms = ingest_watermark_locked(in)},
                      .request = &replay->request,
                      .replay = true,
                      .rejects = (uint32_t *)(uintptr_t)r->rejects,
                      .rejects_n = r->rejects_n,
                      .result = &result};
    rc = apply_request(&a, e);
    if (rc)
        return err_prefix(e, "log record %llu", (unsigned long long)r->seq);
    apply_clock(in, &a);
    replay->report->replayed_records++;
    replay->report->replayed_samples += result.samples_applied;
    return 0;
}

static int open_parts(struct ingest *in, struct ingest_report *report, struct err *e)
{
    struct store_txn *txn;
    int rc = store_read_begin(in->store, &txn, e);
    if (rc)
        return rc;
    rc = catalog_load(in->catalog, txn, e);
    store_read_end(txn);
    if (rc == 0)
        rc = checkpoint_load(in, e);
    if (rc == 0)
        rc = in->options.read_only ? wal_open_read(store_dir(in->store), &in->wal, e)
                                   : wal_open(store_dir(in->store), &in->wal, e);
    if (rc)
        return rc;
    struct replay replay = {.in = in, .report = report};
    char damage[256] = "";
    rc = wal_replay(in->wal, in->checkpoint_seq, replay_record, &replay, damage, e);
    strbuf_done(&replay.plain);
    write_request_done(&replay.request);
    snprintf(report->damage, sizeof report->damage, "%s", damage);
    report->series = catalog_series_n(in->catalog);
    return rc;
}

static void options_complete(struct ingest_options *o)
{
    struct ingest_options defaults;
    ingest_options_default(&defaults);
    if (o->series_max == 0)
        o->series_max = defaults.series_max;
    if (o->label_bytes_max == 0)
        o->label_bytes_max = defaults.label_bytes_max;
    if (o->view_groups_max == 0)
        o->view_groups_max = defaults.view_groups_max;
    if (o->body_max == 0)
        o->body_max = defaults.body_max;
    if (o->raw_retention_ms < o->late_horizon_ms)
        o->raw_retention_ms = o->late_horizon_ms;
}

int ingest_open(struct store *store, const struct ingest_options *o, struct pool *pool, struct ingest **ret,
                struct ingest_report *report, struct err *e)
{
    struct ingest *in = mem_zalloc(sizeof *in);
    *report = (struct ingest_report){0};
    in->store = store;
    in->options = *o;
    options_complete(&in->options);
    in->pool = pool;
    in->event_clock_ms = in->largest_event_ms = in->last_checkpoint_ms = INT64_MIN;
    in->first_event_ms = in->unplanned_ms = INT64_MAX;
    in->windows.newest_refreshed_ms = in->roots.newest_read_ms = INT64_MIN;
    in->settings_hash = admission_settings_hash(&in->options);
    in->catalog = catalog_new();
    in->metadata = metadata_new();
    head_init(&in->head);
    /* A stream of queries must not keep writers out. */
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&in->lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    pthread_mutex_init(&in->maintenance, NULL);
    verdict_register();
    refresh_register();
    roots_register();
    snapshot_source_init(in);
    int rc = open_parts(in, report, e);
    if (rc) {
        wal_close(in->wal);
        in->wal = NULL;
        ingest_close(in);
        return rc;
    }
    *ret = in;
    return 0;
}

void ingest_close(struct ingest *in)
{
    if (!in)
        return;
    struct err ignored;
    /* The log has everything already: a checkpoint that fails here only makes the next start slower. */
    if (in->wal && !in->options.read_only && checkpoint_run(in, &ignored) == 0)
        wal_sync(in->wal, &ignored);
    wal_close(in->wal);
    windows_done(&in->windows);
    roots_done(&in->roots);
    head_done(&in->head);
    catalog_free(in->catalog);
    series_cache_done(&in->series_cache);
    metadata_free(in->metadata);
    mem_free(in->replayed);
    pthread_rwlock_destroy(&in->lock);
    pthread_mutex_destroy(&in->maintenance);
    mem_free(in);
}

int ingest_sync(struct ingest *in, struct err *e)
{
    int rc = wal_sync(in->wal, e);
    if (rc) {
        pthread_rwlock_wrlock(&in->lock);
        in->log_broken = true;
        pthread_rwlock_unlock(&in->lock);
    }
    return rc;
}

const struct source *ingest_source(struct ingest *in)
{
    return &in->source;
}

static bool ingest_log_broken(struct ingest *in)
{
    pthread_rwlock_rdlock(&in->lock);
    bool broken = in->log_broken;
    pthread_rwlock_unlock(&in->lock);
    return broken;
}

static int tick_locked(struct ingest *in, int64_t now_ms, struct err *e)
{
    int rc = refresh_due(in, now_ms, e);
    bool more = false;
    if (rc == 0)
        rc = backfill_step(in, &more, e);
    if (rc == 0 && !more)
        rc = roots_backfill_step(in, &more, e);
    if (in->last_checkpoint_ms == INT64_MIN)
        in->last_checkpoint_ms = now_ms;
    if (now_ms - in->last_checkpoint_ms < in->options.checkpoint_ms && !ingest_log_broken(in))
        return rc;
    in->last_checkpoint_ms = now_ms;
    struct err second;
    int after = checkpoint_run(in, &second);
    if (after == 0)
        after = retention_run(in, &second);
    store_reap_readers(in->store);
    if (rc == 0 && after) {
        *e = second;
        rc = after;
    }
    return rc;
}

void ingest_stop(struct ingest *in)
{
    atomic_store_explicit(&in->stopping, true, memory_order_relaxed);
}

int ingest_tick(struct ingest *in, int64_t now_ms, struct err *e)
{
    MUST(!in->options.read_only);
    pthread_mutex_lock(&in->maintenance);
    int rc = tick_locked(in, now_ms, e);
    pthread_mutex_unlock(&in->maintenance);
    return rc;
}
