/*
 * The order of a server's life:
 *
 *     plan, port -> store -> ingest (checkpoint, log) -> threads, HTTP -> ready ... signal -> HTTP, threads -> ingest
 * -> store
 *
 * What can be refused without the data directory is refused before it is made. A reload does the first step again,
 * beside the running server, and puts its plan in force.
 */
#include "cmd/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pool.h"
#include "cmd/planner_child.h"
#include "executor/pane_cache.h"
#include "executor/rehearsal.h"
#include "plan/file.h"

enum { POOL_QUEUE_MAX = 4096 };

struct serving {
    const struct serve_options *options;
    struct wall_clock clock;
    struct store *store;
    struct ingest *ingest;
    struct ingest_report report;
    struct plan *plan; /* read, not yet in force */
    struct plan_in_force plans;
    uint64_t seed;
    atomic_bool stopping;
    struct pool *pool;
    struct pane_cache *kept;
    struct server *server;
};

void serve_options_default(struct serve_options *o)
{
    *o = (struct serve_options){.data_dir = "mullion-data", .kept_panes_bytes = UINT64_C(256) << 20};
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

/* Planned into a file of its own, since there may be no data directory yet. */
static int plan_workload(struct serving *v, struct plan **ret, struct err *e)
{
    const char *base = getenv("TMPDIR");
    char made[PLANNER_PATH_MAX];
    if (snprintf(made, sizeof made, "%s/mullion-plan-XXXXXX", base && base[0] ? base : "/tmp") >= PLANNER_PATH_MAX)
        return err_set(e, ERR_BAD_DATA, "the path in TMPDIR is too long");
    int fd = mkstemp(made);
    if (fd < 0)
        return err_set_errno(e, errno, "%s cannot be made; TMPDIR names another place", made);
    close(fd);
    int code = planner_plan_file(v->options->workload, made, v->seed, &v->stopping, e);
    if (code == 0)
        code = plan_read_path(made, ret, e);
    unlink(made);
    return code;
}

/* The plan that the options ask for; *ret stays NULL when they ask for none. */
static int read_plan(struct serving *v, struct plan **ret, struct err *e)
{
    if (v->options->workload)
        return plan_workload(v, ret, e);
    return v->options->plan ? plan_read_path(v->options->plan, ret, e) : 0;
}

static int prepare(struct serving *v, struct err *e)
{
    int code = store_look(v->options->data_dir, &v->seed, e);
    if (code == 0)
        code = read_plan(v, &v->plan, e);
    if (code == 0)
        code = server_address_check(v->options->server.listen, v->options->server.insecure, true, e);
    return code;
}

/* The plan that was made, for people to look at: written beside, then renamed, so that it is whole. */
static int keep_plan(const struct plan *plan, const char *path, struct err *e)
{
    char fresh[PLANNER_PATH_MAX + 8];
    struct strbuf text = {0};
    snprintf(fresh, sizeof fresh, "%s.new", path);
    plan_write(plan, &text);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    bool written = f && fwrite(text.p, 1, text.n, f) == text.n;
    if (f)
        written = fclose(f) == 0 && written;
    strbuf_done(&text);
    if (written && rename(fresh, path) == 0)
        return 0;
    int failed = errno;
    unlink(fresh);
    return err_set_errno(e, failed, "%s cannot be written", path);
}

/* A workload's author expects panes; that raw samples are cheaper for some of its queries should not pass in silence.
 */
static void log_raw_queries(const struct plan *plan)
{
    enum { NAMED_MAX = 20, SHOWN_MAX = 100 };
    struct strbuf names = {0};
    uint32_t raw_n = 0;
    for (uint32_t i = 0; i < plan->queries_n; i++) {
        const struct plan_query *q = &plan->queries[i];
        struct str name = q->name.n ? q->name : q->text;
        if (plan_query_reads_kept(plan, i) || raw_n++ >= NAMED_MAX)
            continue;
        strbuf_add_z(&names, raw_n > 1 ? "; " : "");
        strbuf_add(&names, name.p, name.n > SHOWN_MAX ? SHOWN_MAX : name.n);
        strbuf_add_z(&names, name.n > SHOWN_MAX ? "..." : "");
    }
    if (raw_n) {
        char count[48];
        snprintf(count, sizeof count, "%u of %u", raw_n, plan->queries_n);
        strbuf_add_z(&names, raw_n > NAMED_MAX ? "; ..." : "");
        log_line(LOG_WARN, "planned queries that read raw samples; /api/v1/plan?format=text says why", "queries", count,
                 "names", strbuf_z(&names), NULL);
    }
    strbuf_done(&names);
}

/* What fails on a stage of made-up samples is given up; the rest of the plan serves. */
static int rehearse(struct plan *plan, struct err *e)
{
    struct arena a;
    struct rehearsal_failure *failures;
    uint32_t failures_n;
    arena_init(&a, 1 << 30);
    int code = plan_rehearse(plan, &a, &failures, &failures_n, e);
    for (uint32_t i = 0; code == 0 && i < failures_n; i++) {
        const struct plan_query *q = &plan->queries[failures[i].query];
        struct str query = q->text;
        char shown[200];
        snprintf(shown, sizeof shown, STR_FMT, STR_ARG(query));
        log_line(LOG_ERROR, "a planned query failed its rehearsal and is answered from raw samples", "query", shown,
                 "reason", failures[i].reason.p, NULL);
        code = plan_refuse(plan, failures[i].query, e);
    }
    arena_done(&a);
    return code;
}

/* Ingestion first: a query that still has the plan before reads what its views hold, or raw samples. Takes `plan`. */
static int put_in_force(struct serving *v, struct plan *plan, struct err *e)
{
    char made[PLANNER_PATH_MAX];
    const char *path = v->options->plan;
    int code = rehearse(plan, e);
    if (code == 0 && v->options->workload) {
        path = made;
        if (snprintf(made, sizeof made, "%s/plan.json", v->options->data_dir) >= PLANNER_PATH_MAX)
            code = err_set(e, ERR_BAD_DATA, "the data directory's path is too long");
        else
            code = keep_plan(plan, path, e);
    }
    if (code == 0)
        code = ingest_set_plan(v->ingest, plan, e);
    if (code != 0) {
        plan_free(plan);
        return code;
    }
    char queries[32], views[32];
    snprintf(queries, sizeof queries, "%u", plan->queries_n);
    snprintf(views, sizeof views, "%u", plan->views_n);
    log_line(LOG_INFO, "plan in force", "file", path, "queries", queries, "views", views, NULL);
    log_raw_queries(plan);
    plan_in_force_set(&v->plans, plan, wall_clock_now_ms(&v->clock));
    return 0;
}

static int open_plan(struct serving *v, struct err *e)
{
    struct plan *plan = v->plan;
    v->plan = NULL;
    return plan ? put_in_force(v, plan, e) : 0;
}

static int reload(void *ctx, struct err *e)
{
    struct serving *v = ctx;
    struct plan *plan = NULL;
    int code = read_plan(v, &plan, e);
    return code == 0 ? put_in_force(v, plan, e) : code;
}

static int open_server(struct serving *v, struct err *e)
{
    struct server_options options = v->options->server;
    options.clock = &v->clock;
    options.raw_retention_ms = v->options->ingest.raw_retention_ms;
    options.sync_by_timer = v->options->ingest.wal_fsync == WAL_FSYNC_INTERVAL;
    struct server_parts parts = {.store = v->store,
                                 .ingest = v->ingest,
                                 .plans = &v->plans,
                                 .pool = v->pool,
                                 .kept = v->kept,
                                 .series_n = v->report.series,
                                 .reload = v->options->workload || v->options->plan ? reload : NULL,
                                 .reload_ctx = v};
    return server_open(&options, &parts, &v->server, e);
}

static void close_all(struct serving *v)
{
    atomic_store(&v->stopping, true);
    server_close(v->server);
    pane_cache_free(v->kept);
    ingest_close(v->ingest);
    plan_in_force_done(&v->plans);
    plan_free(v->plan);
    store_close(v->store);
    pool_free(v->pool);
}

int serve_run(const struct serve_options *o, const struct serve_hooks *hooks, struct err *e)
{
    struct serving v = {.options = o, .clock = WALL_CLOCK_SYSTEM};
    plan_in_force_init(&v.plans);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    v.pool = pool_new(cpus > 1 ? (unsigned)cpus : 1, POOL_QUEUE_MAX);
    v.kept = pane_cache_new(o->kept_panes_bytes);
    int code = prepare(&v, e);
    if (code == 0)
        code = open_store(&v, e);
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
