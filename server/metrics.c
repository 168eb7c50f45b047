/* GET /metrics: base/stats, requests by path and status, durations, and the process as client libraries report it. */
#include "server/metrics.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "base/stats.h"
#include "server/api.h"
#include "server/reload.h"
#include "server/server_internal.h"

static _Atomic uint64_t queries_n, queries_ns;

void metrics_query(uint64_t took_ns)
{
    atomic_fetch_add_explicit(&queries_n, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&queries_ns, took_ns, memory_order_relaxed);
}

static int64_t series_created(void)
{
    int64_t n = stats_value("mullion_series_created_total", "");
    return n > 0 ? n : 0;
}

void server_series_start(struct server *s, uint64_t series_n)
{
    s->series_base = (int64_t)series_n - series_created();
}

uint64_t server_series_n(const struct server *s)
{
    return (uint64_t)(s->series_base + series_created());
}

static void add(struct strbuf *b, const char *name, const char *type, const char *help, double value)
{
    strbuf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s ", name, help, name, type, name);
    strbuf_add_float(b, value);
    strbuf_add_char(b, '\n');
}

/* Pages of the process from /proc/self/statm: all, resident. */
static void add_memory(struct strbuf *b)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f) {
        if (fscanf(f, "%llu %llu", &size, &resident) != 2)
            size = resident = 0;
        fclose(f);
    }
    double page = (double)sysconf(_SC_PAGESIZE);
    add(b, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes", (double)resident * page);
    add(b, "process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes", (double)size * page);
    struct mem_stats heap;
    mem_stats_read(&heap);
    add(b, "mullion_heap_allocated_bytes", "gauge", "Bytes in use on the heap", (double)heap.allocated_bytes);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add_process(const struct server *s, struct strbuf *b)
{
    struct rusage use;
    struct rlimit files = {0};
    int open_files = 0;
    getrusage(RUSAGE_SELF, &use);
    getrlimit(RLIMIT_NOFILE, &files);
    add(b, "process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds",
        seconds(use.ru_utime) + seconds(use.ru_stime));
    add(b, "process_start_time_seconds", "gauge", "Start time of the process since the epoch in seconds",
        (double)s->start_ms / 1000);
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        open_files++;
    if (d)
        closedir(d);
    add(b, "process_open_fds", "gauge", "Number of open file descriptors", open_files > 3 ? open_files - 3 : 0);
    add(b, "process_max_fds", "gauge", "Maximum number of open file descriptors", (double)files.rlim_cur);
    add_memory(b);
}

static uint32_t unasked_n(const struct held_plan *held, int64_t now_ms)
{
    struct arena a;
    struct plan_unasked *unasked;
    uint32_t n;
    struct err e = {0};
    arena_init(&a, 16 << 20);
    if (plan_usage_unasked(held->usage, now_ms, false, &a, &unasked, &n, &e) != 0)
        n = 0;
    arena_done(&a);
    return n;
}

void api_metrics(struct server *s, struct http_request *q, struct http_response *r)
{
    struct strbuf *b = &r->body;
    struct store_size size;
    r->content_type = "text/plain; version=0.0.4; charset=utf-8";
    stats_print(b);
    if (s->http)
        http_daemon_print_counts(s->http, b);
    strbuf_add_z(b, "# HELP mullion_build_info A constant 1, labelled with the version\n"
                    "# TYPE mullion_build_info gauge\nmullion_build_info{version=\"" MULLION_VERSION "\"} 1\n");
    strbuf_printf(b,
                  "# HELP mullion_query_duration_seconds Time queries took, waiting for a place included\n"
                  "# TYPE mullion_query_duration_seconds summary\n"
                  "mullion_query_duration_seconds_sum %.9f\nmullion_query_duration_seconds_count %llu\n",
                  (double)atomic_load(&queries_ns) / 1e9, (unsigned long long)atomic_load(&queries_n));
    add(b, "mullion_queries_running", "gauge", "Queries running now", gate_inside(&s->queries));
    add(b, "mullion_series", "gauge", "Series known", (double)server_series_n(s));
    struct reload_status reloaded = reload_status(s->reload);
    add(b, "mullion_config_last_reload_successful", "gauge",
        "Whether the last reload of the workload put a plan in force", reloaded.successful);
    add(b, "mullion_config_last_reload_success_timestamp_seconds", "gauge", "When a plan was put in force last",
        (double)reloaded.success_ms / 1000);
    struct held_plan *held = plan_take(s->plans);
    if (held->usage)
        add(b, "mullion_planned_queries_unasked", "gauge",
            "Planned queries that were not asked once in three of their intervals", unasked_n(held, server_now_ms(s)));
    plan_give(s->plans, held);
    add(b, "mullion_backfill_windows", "gauge", "Windows of the plan that wait to be built from raw samples",
        ingest_backfill_left(s->ingest));
    int64_t watermark_ms = ingest_watermark(s->ingest);
    if (watermark_ms != INT64_MIN)
        add(b, "mullion_watermark_seconds", "gauge", "Windows that end at or before this are sealed",
            (double)watermark_ms / 1000);
    store_size_read(s->store, &size);
    add(b, "mullion_store_file_bytes", "gauge", "Size of store.mdb", (double)size.file_bytes);
    add(b, "mullion_store_used_bytes", "gauge", "Bytes of store.mdb in use", (double)size.used_bytes);
    add_process(s, b);
}
