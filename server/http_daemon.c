#include "server/http_daemon.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/stats.h"
#include "server/http.h"
#include "server/route.h"
#include "server/server_internal.h"

/* Statuses counted by themselves; the last stands for all others. */
static const int statuses[] = {200, 204, 400, 404, 405, 413, 415, 422, 429, 500, 501, 503, 0};
enum { STATUSES_N = sizeof statuses / sizeof *statuses, ROUTES_MOST = 64 };

struct http_daemon {
    struct server *server;
    struct MHD_Daemon *mhd;
    struct str prefix;
    struct gate writes;
    _Atomic int64_t body_bytes; /* held by bodies on their way */
    _Atomic int64_t running;    /* handlers */
    _Atomic int64_t connections;
    _Atomic uint64_t counts[ROUTES_MOST][STATUSES_N];
};

static struct stat connections_opened = STAT_COUNTER("mullion_http_connections_total", "", "Connections accepted");

/* One request between its first header and the end of its answer. */
struct exchange {
    struct http_daemon *daemon;
    struct http_request request;
    const struct route *route;
    struct strbuf body;
    size_t body_max;
    size_t drained;           /* bytes read and dropped after a refusal */
    struct err refusal;       /* code 0: none */
    bool bad_method, counted; /* counted: holds a place in `writes` */
};

static void count(struct http_daemon *d, const struct route *route, int status)
{
    uint32_t i = 0;
    while (i + 1 < STATUSES_N && statuses[i] != status)
        i++;
    atomic_fetch_add_explicit(&d->counts[route_index(route)][i], 1, memory_order_relaxed);
}

/* ---- the request line and headers ---- */

struct lengths {
    uint32_t lengths_n, encodings_n;
};

static enum MHD_Result count_length(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct lengths *l = cls;
    l->lengths_n += strcasecmp(key, "Content-Length") == 0;
    l->encodings_n += strcasecmp(key, "Transfer-Encoding") == 0;
    return MHD_YES;
}

static enum MHD_Result take_argument(void *cls, enum MHD_ValueKind kind, const char *key, size_t key_n,
                                     const char *value, size_t value_n)
{
    struct exchange *x = cls;
    struct str v = value ? (struct str){value, value_n} : (struct str){"", 0};
    if (!http_param_add(&x->request, (struct str){key, key_n}, v) && x->refusal.code == 0)
        err_set(&x->refusal, ERR_TOO_LARGE, "more than %d parameters, or they are too large", HTTP_PARAMS_MAX);
    return MHD_YES;
}

static struct str header_of(struct exchange *x, struct MHD_Connection *c, const char *name)
{
    const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
    if (!value)
        return (struct str){"", 0};
    size_t n = strlen(value);
    const char *copy = arena_strndup(&x->request.arena, value, n);
    return copy ? (struct str){copy, n} : (struct str){"", 0};
}

static enum http_method method_of(const char *method)
{
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return HTTP_GET;
    return strcmp(method, "POST") == 0 ? HTTP_POST : strcmp(method, "PUT") == 0 ? HTTP_PUT : HTTP_OTHER;
}

/* "/prefix/api" -> "/api"; a path without the prefix stays and finds no route. */
static struct str without_prefix(const struct http_daemon *d, struct str path)
{
    if (d->prefix.n == 0)
        return path;
    if (!str_has_prefix(path, d->prefix))
        return STR("");
    struct str rest = {path.p + d->prefix.n, path.n - d->prefix.n};
    return rest.n == 0 ? STR("/") : rest;
}

/* A declared length over the limit; *ret_n is 0 for none (chunked, or no body). */
static int declared_length(struct MHD_Connection *c, const struct exchange *x, uint64_t *ret_n, struct err *e)
{
    struct lengths l = {0};
    MHD_get_connection_values(c, MHD_HEADER_KIND, count_length, &l);
    if (l.lengths_n > 1 || (l.lengths_n && l.encodings_n))
        return err_set(e, ERR_BAD_DATA, "the request gives its length twice (Content-Length and Transfer-Encoding)");
    const char *text = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    uint64_t n = 0;
    for (const char *p = text; p && char_is_digit(*p); p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
            n = UINT64_MAX / 16;
    if (n > x->body_max)
        return err_set(e, ERR_TOO_LARGE, "the body has %llu bytes; %s takes at most %zu", (unsigned long long)n,
                       x->route ? x->route->path : "this path", x->body_max);
    *ret_n = n;
    return 0;
}

static void check_write(struct exchange *x)
{
    struct http_request *q = &x->request;
    if (q->content_type.n && !http_media_is(q->content_type, "application/x-protobuf")) {
        err_set(&x->refusal, ERR_UNSUPPORTED,
                "remote write takes Content-Type: application/x-protobuf, not %.*s; nothing was stored",
                (int)(q->content_type.n > 100 ? 100 : q->content_type.n), q->content_type.p);
        return;
    }
    struct str proto = http_media_param(q->content_type, "proto");
    if (proto.n && !str_eq(proto, STR("prometheus.WriteRequest"))) {
        err_set(&x->refusal, ERR_UNSUPPORTED,
                "remote write message %.*s is not supported; send prometheus.WriteRequest (remote write 1.0). Nothing "
                "was stored",
                (int)(proto.n > 100 ? 100 : proto.n), proto.p);
        return;
    }
    if (q->content_encoding.n && !str_eq(q->content_encoding, STR("snappy"))) {
        err_set(&x->refusal, ERR_UNSUPPORTED,
                "remote write takes Content-Encoding: snappy, not %.*s; nothing was stored",
                (int)(q->content_encoding.n > 100 ? 100 : q->content_encoding.n), q->content_encoding.p);
        return;
    }
    x->counted = gate_enter(&x->daemon->writes, 0);
    if (!x->counted)
        err_set(&x->refusal, ERR_OVERLOAD, "more than %d write requests at once; nothing was stored, send it again",
                HTTP_WRITES_MAX);
}

static bool is_write(const struct exchange *x)
{
    return x->route && x->route->body_max == HTTP_WRITE_BODY_MAX;
}

static struct exchange *exchange_begin(struct http_daemon *d, struct MHD_Connection *c, const char *url,
                                       const char *method)
{
    struct exchange *x = mem_zalloc(sizeof *x);
    struct http_request *q = &x->request;
    x->daemon = d;
    http_request_init(q);
    q->method = method_of(method);
    const char *path = arena_strndup(&q->arena, url, strlen(url));
    q->path = without_prefix(d, str_of(path));
    x->route = route_find(q->path, &q->capture);
    x->body_max = x->route && x->route->body_max ? x->route->body_max : HTTP_FORM_BODY_MAX;
    x->bad_method = x->route && !(x->route->methods & q->method);
    q->content_type = header_of(x, c, "Content-Type");
    q->content_encoding = header_of(x, c, "Content-Encoding");
    q->accept_encoding = header_of(x, c, "Accept-Encoding");
    q->exact = str_eq(header_of(x, c, "X-Mullion-Exact"), STR("1"));
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    q->sender = info ? info->socket_context : NULL;
    if (is_write(x) && !x->bad_method)
        check_write(x);
    return x;
}

static void exchange_free(struct exchange *x)
{
    if (x->counted)
        gate_leave(&x->daemon->writes);
    atomic_fetch_sub_explicit(&x->daemon->body_bytes, (int64_t)x->body.n, memory_order_relaxed);
    http_request_done(&x->request);
    strbuf_done(&x->body);
    mem_free(x);
}

/* ---- the body ---- */

/* False: more was sent after a refusal than is worth reading; the connection is dropped. */
static bool exchange_take(struct exchange *x, const char *data, size_t n)
{
    if (x->refusal.code == 0 && x->body.n + n > x->body_max)
        err_set(&x->refusal, ERR_TOO_LARGE, "the body is larger than %zu bytes", x->body_max);
    if (x->refusal.code == 0 &&
        atomic_load_explicit(&x->daemon->body_bytes, memory_order_relaxed) + (int64_t)n > HTTP_BODIES_BYTES_MAX)
        err_set(&x->refusal, ERR_OVERLOAD, "too many large requests at once; nothing was stored, send it again");
    if (x->refusal.code != 0) {
        x->drained += n;
        return x->drained <= HTTP_WRITE_BODY_MAX;
    }
    atomic_fetch_add_explicit(&x->daemon->body_bytes, (int64_t)n, memory_order_relaxed);
    strbuf_add(&x->body, data, n);
    return true;
}

/* ---- the answer ---- */

static enum MHD_Result send_response(struct exchange *x, struct MHD_Connection *c, struct http_response *r, bool close)
{
    bool zipped = http_accepts_gzip(x->request.accept_encoding) && http_gzip(r);
    count(x->daemon, x->route, r->status);
    struct MHD_Response *m = MHD_create_response_from_buffer_with_free_callback(r->body.n, r->body.p, mem_free);
    if (!m) {
        http_response_done(r);
        return MHD_NO;
    }
    r->body = (struct strbuf){0}; /* the response's now */
    if (r->status != 204)
        MHD_add_response_header(m, "Content-Type", r->content_type);
    if (zipped) {
        MHD_add_response_header(m, "Content-Encoding", "gzip");
        MHD_add_response_header(m, "Vary", "Accept-Encoding");
    }
    for (uint32_t i = 0; i < r->headers_n; i++)
        MHD_add_response_header(m, r->headers[i].name, r->headers[i].value);
    if (close)
        MHD_add_response_header(m, "Connection", "close");
    enum MHD_Result sent = MHD_queue_response(c, (unsigned)r->status, m);
    MHD_destroy_response(m);
    return sent;
}

static enum MHD_Result send_refusal(struct exchange *x, struct MHD_Connection *c, bool close)
{
    struct http_response r;
    http_response_init(&r);
    if (is_write(x))
        http_error_text(&r, &x->refusal);
    else
        http_error_json(&r, &x->refusal);
    return send_response(x, c, &r, close);
}

static void answer(struct exchange *x, struct http_response *r)
{
    struct http_request *q = &x->request;
    if (!x->route) {
        route_not_found(q, r);
        return;
    }
    if (x->bad_method) {
        route_bad_method(x->route, r);
        return;
    }
    atomic_fetch_add_explicit(&x->daemon->running, 1, memory_order_relaxed);
    x->route->answer(x->daemon->server, q, r);
    atomic_fetch_sub_explicit(&x->daemon->running, 1, memory_order_relaxed);
}

static enum MHD_Result exchange_finish(struct exchange *x, struct MHD_Connection *c)
{
    struct http_request *q = &x->request;
    q->body = (struct str){x->body.p ? x->body.p : "", x->body.n};
    if (x->refusal.code == 0 && q->method == HTTP_POST &&
        http_media_is(q->content_type, "application/x-www-form-urlencoded"))
        http_form_parse(q, q->body, &x->refusal);
    if (x->refusal.code == 0)
        MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, take_argument, x);
    if (x->refusal.code != 0)
        return send_refusal(x, c, x->drained > 0);
    struct http_response r;
    http_response_init(&r);
    answer(x, &r);
    return send_response(x, c, &r, false);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *data, size_t *data_n, void **con)
{
    struct exchange *x = *con;
    if (!x) {
        struct err e = {0};
        uint64_t declared_n = 0;
        *con = x = exchange_begin(cls, c, url, method);
        if (declared_length(c, x, &declared_n, &e) != 0) {
            x->refusal = e;
            return send_refusal(x, c, true);
        }
        return MHD_YES;
    }
    if (*data_n > 0) {
        bool go_on = exchange_take(x, data, *data_n);
        *data_n = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    return exchange_finish(x, c);
}

static void on_completed(void *cls, struct MHD_Connection *c, void **con, enum MHD_RequestTerminationCode why)
{
    if (*con)
        exchange_free(*con);
    *con = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *c, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_daemon *d = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = ingest_sender_new();
        stat_add(&connections_opened, 1);
        atomic_fetch_add_explicit(&d->connections, 1, memory_order_relaxed);
    } else {
        ingest_sender_free(*socket_context);
        *socket_context = NULL;
        atomic_fetch_sub_explicit(&d->connections, 1, memory_order_relaxed);
    }
}

/* ---- life ---- */

int http_daemon_start(struct server *s, int listener, const char *prefix, struct http_daemon **ret, struct err *e)
{
    struct http_daemon *d = mem_zalloc(sizeof *d);
    MUST(routes_n() < ROUTES_MOST);
    d->server = s;
    d->prefix = str_of(prefix);
    gate_init(&d->writes, HTTP_WRITES_MAX, 0);
    *ret = d; /* handlers may run before MHD_start_daemon returns */
    d->mhd =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC,
                         0, NULL, NULL, on_request, d,                                       /* handler */
                         MHD_OPTION_LISTEN_SOCKET, listener,                                 /* ours */
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS_MAX,        /* threads */
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,               /* seconds */
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_MEMORY, /* bytes */
                         MHD_OPTION_NOTIFY_COMPLETED, on_completed, d,                       /* request */
                         MHD_OPTION_NOTIFY_CONNECTION, on_connection, d, MHD_OPTION_END);
    if (!d->mhd) {
        close(listener);
        gate_done(&d->writes);
        mem_free(d);
        *ret = NULL;
        return err_set(e, ERR_IO, "the HTTP server could not be started");
    }
    return 0;
}

void http_daemon_stop(struct http_daemon *d, int64_t wait_ms)
{
    if (!d)
        return;
    int quiesced = MHD_quiesce_daemon(d->mhd);
    while (wait_ms > 0 && atomic_load_explicit(&d->running, memory_order_relaxed) > 0) {
        usleep(10000);
        wait_ms -= 10;
    }
    MHD_stop_daemon(d->mhd);
    if (quiesced >= 0)
        close(quiesced);
    gate_done(&d->writes);
    mem_free(d);
}

void http_daemon_print_counts(const struct http_daemon *d, struct strbuf *out)
{
    strbuf_add_z(out, "# HELP mullion_http_requests_total Requests answered, by path and status\n"
                      "# TYPE mullion_http_requests_total counter\n");
    for (uint32_t i = 0; i <= routes_n(); i++)
        for (uint32_t k = 0; k < STATUSES_N; k++) {
            uint64_t n = atomic_load_explicit(&d->counts[i][k], memory_order_relaxed);
            if (n == 0)
                continue;
            strbuf_printf(out, "mullion_http_requests_total{path=\"%s\",code=\"",
                          i < routes_n() ? route_at(i)->path : "");
            if (statuses[k])
                strbuf_add_i64(out, statuses[k]);
            else
                strbuf_add_z(out, "other");
            strbuf_printf(out, "\"} %llu\n", (unsigned long long)n);
        }
    strbuf_printf(out,
                  "# HELP mullion_http_connections Open connections\n# TYPE mullion_http_connections gauge\n"
                  "mullion_http_connections %lld\n",
                  (long long)atomic_load_explicit(&d->connections, memory_order_relaxed));
}
