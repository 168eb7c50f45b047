/*
 * The order of a server's life:
 *
 *     store -> ingest (checkpoint, log) -> plan -> threads, HTTP -> ready ... signal -> HTTP, threads -> ingest ->
 * store
 */
#include "cmd/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pool.h"
#include "cmd/planner_child.h"
#include "plan/file.h"

enum { POOL_QUEUE_MAX = 4096 };

struct serving {
    const struct serve_options *options;
    struct wall_clock clock;
    struct store *store;
    struct ingest *ingest;
    struct ingest_report report;
    struct plan *plan;
    struct pool *pool;
    struct server *server;
};

void serve_options_default(struct serve_options *o)
{
    *o = (struct serve_options){.data_dir = "mullion-data"};
    ingest_options_default(&o->ingest);
    server_options_default(&o->server);
    o->server.raw_retention_ms = o->ingest.raw_retention_ms;
}

static void log_number(const char *message, const char *key, uint64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, n);
    log_line(LOG_INFO, message, key, text, NULL);
}

static int open_store(struct serving *v, struct err *e)
{
    struct store_options options = {.map_bytes = v->options->map_bytes};
    struct store_open_report report = {0};
    int code = store_open(v->options->data_dir, &options, &v->store, &report, e);
    if (code != 0)
        return code;
    if (report.set_aside)
        log_line(LOG_ERROR, "the store was damaged and set aside; what the log holds is read again", "reason",
                 report.reason, "kept_as", report.set_aside_as, NULL);
    if (report.lost)
        log_line(LOG_WARN,
                 "a fresh store is begun in a data directory that was made before; restore its store.mdb if "
                 "you have it",
                 "reason", report.reason, "dir", v->options->data_dir, NULL);
    if (report.created)
        log_line(LOG_INFO, "new data directory", "dir", v->options->data_dir, NULL);
    return 0;
}

static int open_ingest(struct serving *v, struct err *e)
{
    int code = ingest_open(v->store, &v->options->ingest, v->pool, &v->ingest, &v->report, e);
    if (code != 0)
        return code;
    if (v->report.damage[0])
        log_line(LOG_ERROR, "records of the log were lost", "damage", v->report.damage, NULL);
    if (v->report.replayed_records) {
        char records[32], samples[32];
        snprintf(records, sizeof records, "%" PRIu64, v->report.replayed_records);
        snprintf(samples, sizeof samples, "%" PRIu64, v->report.replayed_samples);
        log_line(LOG_INFO, "log replayed", "requests", records, "samples", samples, NULL);
    }
    log_number("series known", "series", v->report.series);
    return 0;
}

static int open_plan(struct serving *v, struct err *e)
{
    char made[PLANNER_PATH_MAX];
    const char *path = v->options->plan;
    int code = 0;
    if (v->options->workload) {
        if (snprintf(made, sizeof made, "%s/plan.json", v->options->data_dir) >= PLANNER_PATH_MAX)
            return err_set(e, ERR_BAD_DATA, "the data directory's path is too long");
        code = planner_plan_file(v->options->workload, made, store_sketch_seed(v->store), e);
        path = made;
    }
    if (code != 0 || !path)
        return code;
    code = plan_read_path(path, &v->plan, e);
    if (code == 0)
        code = ingest_set_plan(v->ingest, v->plan, e);
    if (code != 0)
        return code;
    char queries[32], views[32];
    snprintf(queries, sizeof queries, "%u", v->plan->queries_n);
    snprintf(views, sizeof views, "%u", v->plan->views_n);
    log_line(LOG_INFO, "plan in force", "file", path, "queries", queries, "views", views, NULL);
    return 0;
}

static int open_server(struct serving *v, struct err *e)
{
    struct server_options options = v->options->server;
    options.clock = &v->clock;
    options.raw_retention_ms = v->options->ingest.raw_retention_ms;
    options.sync_by_timer = v->options->ingest.wal_fsync == WAL_FSYNC_INTERVAL;
    struct server_parts parts = {v->store, v->ingest, v->plan, v->pool, v->report.series};
    return server_open(&options, &parts, &v->server, e);
}

static void close_all(struct serving *v)
{
    server_close(v->server);
    ingest_close(v->ingest);
    plan_free(v->plan);
    store_close(v->store);
    pool_free(v->pool);
}

int serve_run(const struct serve_options *o, const struct serve_hooks *hooks, struct err *e)
{
    struct serving v = {.options = o, .clock = WALL_CLOCK_SYSTEM};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    v.pool = pool_new(cpus > 1 ? (unsigned)cpus : 1, POOL_QUEUE_MAX);
    int code = open_store(&v, e);
    if (code == 0)
        code = open_ingest(&v, e);
    if (code == 0)
        code = open_plan(&v, e);
    if (code == 0)
        code = open_server(&v, e);
    if (code == 0) {
        log_line(LOG_INFO, "listening", "addr", server_address(v.server), "version", MULLION_VERSION, NULL);
        if (hooks && hooks->ready)
            hooks->ready(hooks->ctx, v.server);
        server_run(v.server);
        if (hooks && hooks->stopping)
            hooks->stopping(hooks->ctx);
    }
    bool ran = v.server != NULL;
    close_all(&v);
    if (ran)
        log_line(LOG_INFO, "stopped", NULL);
    return code;
}
