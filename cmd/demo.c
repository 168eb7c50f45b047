/*
 * mullion demo: a server over a new directory, a small fleet's workload planned for it, some minutes of history at once
 * and then live samples, sent to itself by remote write as any Prometheus would.
 */
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/fleet.h"
#include "cmd/serve.h"
#include "cmd/write_out.h"

static const char summary[] = "A server with a workload and live synthetic samples.\v"
                              "Without --data-dir it keeps everything in a temporary directory that goes away when it "
                              "ends. Point Grafana at the address it prints.";

enum { KEY_DATA_DIR = 256, KEY_LISTEN, KEY_SERIES, KEY_HISTORY };
static const struct argp_option option_list[] = {
    {"data-dir", KEY_DATA_DIR, "DIR", 0, "Keep everything here, and do not remove it", 0},
    {"listen", KEY_LISTEN, "ADDRESS", 0, "HOST:PORT to listen on (127.0.0.1:9095)", 0},
    {"series", KEY_SERIES, "N", 0, "Series of latency_ms, each with one sample a second (1000)", 0},
    {"history", KEY_HISTORY, "DURATION", 0, "How much history is sent at the start (12m)", 0},
    {0}};

enum { METRICS_N = 3, SLICE_MS = 10000 };

struct demo {
    struct serve_options serve;
    char scratch[4000]; /* goes away: the workload's file and, without --data-dir, the data */
    char directory[4096], workload[4096], url[256], write_url[300];
    uint32_t series_n;
    int64_t history_ms;
    struct fleet_metric metrics[METRICS_N];
    int64_t interval_ms[METRICS_N];
    struct arena arena;
    struct labels *labels[METRICS_N];
    struct wall_clock clock;
    pthread_t thread;
    bool started;
    _Atomic bool stop;
};

static const char workload_text[] =
    "# What the demo's dashboards and rules ask, and how often. mullion-plan decides from this what to keep.\n"
    "queries:\n"
    "  - name: latency p99 of each series\n"
    "    query: quantile_over_time(0.99, latency_ms[5m])\n"
    "    every: 10s\n"
    "    accuracy: {rank: 0.01}\n"
    "  - name: latency p50 of each series\n"
    "    query: quantile_over_time(0.5, latency_ms[5m])\n"
    "    every: 10s\n"
    "    accuracy: {rank: 0.01}\n"
    "  - name: requests a second of each job\n"
    "    query: sum by (job) (rate(http_requests_total[5m]))\n"
    "    every: 10s\n"
    "  - name: busiest instances\n"
    "    query: max_over_time(cpu_ratio[10m])\n"
    "    every: 30s\n"
    "  - name: mean load\n"
    "    query: avg_over_time(cpu_ratio[10m])\n"
    "    every: 30s\n"
    "data:\n"
    "  metrics:\n"
    "    latency_ms: {type: gauge, series: %u, interval: 1s, labels: {job: 10}, distribution: lognormal}\n"
    "    http_requests_total: {type: counter, series: %u, interval: 1s, labels: {job: 10}}\n"
    "    cpu_ratio: {type: gauge, series: %u, interval: 5s, labels: {job: 10}}\n";

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    struct demo *d = state->input;
    switch (key) {
    case KEY_DATA_DIR:
        snprintf(d->directory, sizeof d->directory, "%s", arg);
        return 0;
    case KEY_LISTEN:
        d->serve.server.listen = arg;
        return 0;
    case KEY_SERIES:
        d->series_n = (uint32_t)option_number(state, "--series", arg, 1, 1000000);
        return 0;
    case KEY_HISTORY:
        d->history_ms = option_duration_ms(state, "--history", arg, 0);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "demo takes options only; %s is none", arg);
        return 0;
    case ARGP_KEY_END:
        option_listen(state, d->serve.server.listen, d->serve.server.insecure);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void make_fleet(struct demo *d)
{
    uint32_t n = d->series_n, half = n > 1 ? n / 2 : 1, tenth = n > 10 ? n / 10 : 1;
    d->metrics[0] = (struct fleet_metric){"latency_ms", FLEET_LATENCY, n, {{"job", 10}, {"instance", (n + 9) / 10}}, 2};
    d->metrics[1] = (struct fleet_metric){
        "http_requests_total", FLEET_COUNTER, half, {{"job", 10}, {"instance", (half + 9) / 10}}, 2};
    d->metrics[2] =
        (struct fleet_metric){"cpu_ratio", FLEET_RATIO, tenth, {{"job", 10}, {"instance", (tenth + 9) / 10}}, 2};
    d->interval_ms[0] = d->interval_ms[1] = 1000;
    d->interval_ms[2] = 5000;
    arena_init(&d->arena, 0);
    for (int k = 0; k < METRICS_N; k++) {
        d->labels[k] = ARENA_ARRAY(&d->arena, struct labels, d->metrics[k].series_n);
        for (uint32_t i = 0; i < d->metrics[k].series_n; i++)
            fleet_labels(&d->metrics[k], i, &d->arena, &d->labels[k][i]);
    }
}

/* ---- sending ---- */

/* Every sample with from_ms < t <= to_ms. */
static int send_span(struct demo *d, struct write_out *w, int64_t from_ms, int64_t to_ms, struct err *e)
{
    int code = 0;
    for (int k = 0; k < METRICS_N; k++) {
        const struct fleet_metric *m = &d->metrics[k];
        int64_t first_ms = (from_ms / d->interval_ms[k] + 1) * d->interval_ms[k];
        for (uint32_t i = 0; code == 0 && first_ms <= to_ms && i < m->series_n; i++) {
            write_out_begin(w, &d->labels[k][i]);
            for (int64_t t = first_ms; t <= to_ms; t += d->interval_ms[k])
                write_out_sample(w, t, fleet_value(m, i, t));
            write_out_end(w);
            if (write_out_full(w))
                code = write_out_flush(w, e);
        }
    }
    return code == 0 ? write_out_flush(w, e) : code;
}

static void print_welcome(const struct demo *d, uint64_t samples_n)
{
    printf("\n%llu samples of the last minutes are in; live ones follow each second.\n\n"
           "  Grafana     add a Prometheus data source: %s\n"
           "  plan        %s/api/v1/plan?format=text\n"
           "  figures     %s/metrics\n"
           "  data        %s\n\n"
           "A planned quantile, from panes (see X-Mullion-Source, and the guarantee in infos):\n\n"
           "  curl -sD - '%s/api/v1/query' --data-urlencode 'query=quantile_over_time(0.99, latency_ms[5m])' \\\n"
           "    -d limit=3 -d time=$(($(date +%%s) / 10 * 10))\n\n"
           "Ctrl-C ends it.\n",
           (unsigned long long)samples_n, d->url, d->url, d->url, d->directory, d->url);
    fflush(stdout);
}

static void report(const struct err *e)
{
    log_line(LOG_WARN, "the demo's samples were not all taken", "err", e->message, NULL);
}

static void *send_forever(void *arg)
{
    struct demo *d = arg;
    struct write_out *w = write_out_new(d->write_url, &d->stop);
    struct err e;
    int64_t now_ms = wall_clock_now_ms(&d->clock), sent_ms = now_ms - d->history_ms;
    while (!d->stop && sent_ms < now_ms) {
        int64_t to_ms = sent_ms + SLICE_MS < now_ms ? sent_ms + SLICE_MS : now_ms;
        if (send_span(d, w, sent_ms, to_ms, &e) != 0 && !d->stop)
            report(&e);
        sent_ms = to_ms;
        now_ms = wall_clock_now_ms(&d->clock);
    }
    if (!d->stop)
        print_welcome(d, write_out_sent(w));
    while (!d->stop) {
        usleep(100000);
        now_ms = wall_clock_now_ms(&d->clock);
        if (now_ms - sent_ms < 1000)
            continue;
        if (send_span(d, w, sent_ms, now_ms, &e) != 0 && !d->stop)
            report(&e);
        sent_ms = now_ms;
    }
    write_out_free(w);
    return NULL;
}

static void on_ready(void *ctx, struct server *server)
{
    struct demo *d = ctx;
    snprintf(d->url, sizeof d->url, "http://%s", server_address(server));
    snprintf(d->write_url, sizeof d->write_url, "%s/api/v1/write", d->url);
    d->started = pthread_create(&d->thread, NULL, send_forever, d) == 0;
    if (!d->started)
        log_line(LOG_ERROR, "the demo's sender could not be started", NULL);
}

static void on_stopping(void *ctx)
{
    struct demo *d = ctx;
    d->stop = true;
    if (d->started)
        pthread_join(d->thread, NULL);
}

/* ---- the directory ---- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    return remove(path);
}

static int make_scratch(struct demo *d, struct err *e)
{
    const char *base = getenv("TMPDIR");
    char path[sizeof d->scratch];
    snprintf(path, sizeof path, "%s/mullion-demo-XXXXXX", base && base[0] ? base : "/tmp");
    if (!mkdtemp(path))
        return err_set_errno(e, errno, "%s cannot be made", path);
    memcpy(d->scratch, path, sizeof path);
    if (!d->directory[0])
        snprintf(d->directory, sizeof d->directory, "%s/data", d->scratch);
    snprintf(d->workload, sizeof d->workload, "%s/workload.yaml", d->scratch);
    FILE *f = fopen(d->workload, "we");
    if (!f)
        return err_set_errno(e, errno, "%s cannot be written", d->workload);
    fprintf(f, workload_text, d->metrics[0].series_n, d->metrics[1].series_n, d->metrics[2].series_n);
    if (fclose(f) != 0)
        return err_set_errno(e, errno, "%s cannot be written", d->workload);
    return 0;
}

int command_demo(int argc, char **argv)
{
    struct demo d = {.series_n = 1000, .history_ms = 720000, .clock = WALL_CLOCK_SYSTEM};
    struct argp argp = {option_list, take_option, NULL, summary, NULL, NULL, NULL};
    struct err e = {0};
    serve_options_default(&d.serve);
    argp_parse(&argp, argc, argv, 0, NULL, &d);
    make_fleet(&d);
    int code = make_scratch(&d, &e);
    if (code == 0) {
        struct serve_hooks hooks = {on_ready, on_stopping, &d};
        d.serve.data_dir = d.directory;
        d.serve.workload = d.workload;
        code = serve_run(&d.serve, &hooks, &e);
    }
    if (d.scratch[0])
        nftw(d.scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    arena_done(&d.arena);
    return code == 0 ? 0 : command_failed(&e);
}
