#include "server/server.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/listen.h"
#include "server/reload.h"
#include "server/server_internal.h"

enum { QUERIES_WAITING_MAX = 256, WRITES_APPLIED_MAX = 8, DRAIN_MS = 10000 };

struct server_loop {
    uv_loop_t loop;
    uv_signal_t terminate, interrupt, hangup;
    uv_async_t stop;
};

void server_options_default(struct server_options *o)
{
    *o = (struct server_options){.listen = "127.0.0.1:9095",
                                 .path_prefix = "",
                                 .lookback_ms = 300000,
                                 .query_timeout_ms = 120000,
                                 .query_concurrency = 20,
                                 .sync_by_timer = true};
}

static void options_complete(struct server_options *o)
{
    struct server_options defaults;
    server_options_default(&defaults);
    if (o->lookback_ms == 0)
        o->lookback_ms = defaults.lookback_ms;
    if (o->query_timeout_ms == 0)
        o->query_timeout_ms = defaults.query_timeout_ms;
    if (o->query_concurrency == 0)
        o->query_concurrency = defaults.query_concurrency;
    if (!o->path_prefix || strcmp(o->path_prefix, "/") == 0)
        o->path_prefix = "";
}

/* ---- the loop ---- */

static void on_stop(uv_async_t *handle)
{
    uv_stop(handle->loop);
}

static void reload_work(uv_work_t *w)
{
    struct server *s = w->data;
    struct err e = {0};
    reload_run(s->reload, server_now_ms(s), &e);
}

static void reload_done(uv_work_t *w, int status)
{
    mem_free(w);
}

/* On another thread: planning takes a while, and this loop has a signal to end to answer. */
static void reload_queue(struct server *s)
{
    uv_work_t *w = mem_zalloc(sizeof *w);
    w->data = s;
    MUST(uv_queue_work(&s->loop->loop, w, reload_work, reload_done) == 0);
}

static void on_signal(uv_signal_t *handle, int number)
{
    if (number == SIGHUP) {
        reload_queue(handle->data);
        return;
    }
    log_line(LOG_INFO, "stopping", "signal", number == SIGINT ? "SIGINT" : "SIGTERM", NULL);
    uv_stop(handle->loop);
}

static void loop_open(struct server *s)
{
    struct server_loop *l = s->loop = mem_zalloc(sizeof *l);
    MUST(uv_loop_init(&l->loop) == 0);
    struct {
        uv_signal_t *handle;
        int number;
    } signals[] = {{&l->terminate, SIGTERM}, {&l->interrupt, SIGINT}, {&l->hangup, SIGHUP}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        MUST(uv_signal_init(&l->loop, signals[i].handle) == 0);
        signals[i].handle->data = s;
        MUST(uv_signal_start(signals[i].handle, on_signal, signals[i].number) == 0);
    }
    MUST(uv_async_init(&l->loop, &l->stop, on_stop) == 0);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void loop_close(struct server *s)
{
    uv_walk(&s->loop->loop, close_handle, NULL);
    uv_run(&s->loop->loop, UV_RUN_DEFAULT);
    MUST(uv_loop_close(&s->loop->loop) == 0);
    mem_free(s->loop);
}

/* ---- life ---- */

/* Every connection needs a descriptor, and every reader of the store a few. */
static void raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= files.rlim_max)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int server_address_check(const char *listen, bool insecure, bool probe, struct err *e)
{
    return listen_check(listen, insecure, probe, e);
}

int server_open(const struct server_options *o, const struct server_parts *parts, struct server **ret, struct err *e)
{
    struct server *s = mem_zalloc(sizeof *s);
    s->options = *o;
    options_complete(&s->options);
    s->store = parts->store;
    s->ingest = parts->ingest;
    s->executor = (struct executor){.source = ingest_source(parts->ingest), .pool = parts->pool, .kept = parts->kept};
    s->plans = parts->plans;
    s->start_ms = server_now_ms(s);
    server_series_start(s, parts->series_n);
    raise_file_limit();
    signal(SIGPIPE, SIG_IGN);
    int listener;
    int code = listen_open(s->options.listen, s->options.insecure, &listener, s->address, e);
    if (code != 0) {
        mem_free(s);
        return code;
    }
    gate_init(&s->queries, s->options.query_concurrency, QUERIES_WAITING_MAX);
    gate_init(&s->writes, WRITES_APPLIED_MAX, HTTP_WRITES_MAX);
    loop_open(s);
    s->reload = reload_new(parts->reload, parts->reload_ctx, s->start_ms);
    s->maintenance = maintenance_start(s->ingest, s->options.clock, s->options.sync_by_timer);
    code = http_daemon_start(s, listener, s->options.path_prefix, &s->http, e);
    if (code != 0) {
        server_close(s);
        return code;
    }
    *ret = s;
    return 0;
}

const char *server_address(const struct server *s)
{
    return s->address;
}

void server_run(struct server *s)
{
    uv_run(&s->loop->loop, UV_RUN_DEFAULT);
}

void server_stop(struct server *s)
{
    uv_async_send(&s->loop->stop);
}

void server_close(struct server *s)
{
    if (!s)
        return;
    http_daemon_stop(s->http, DRAIN_MS);
    maintenance_stop(s->maintenance);
    loop_close(s);
    reload_free(s->reload);
    gate_done(&s->queries);
    gate_done(&s->writes);
    mem_free(s);
}
