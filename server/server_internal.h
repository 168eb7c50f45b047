/* What handlers see of the server. */
#ifndef SERVER_SERVER_INTERNAL_H
#define SERVER_SERVER_INTERNAL_H

#include <stdatomic.h>

#include "executor/query.h"
#include "server/gate.h"
#include "server/http_daemon.h"
#include "server/maintenance.h"
#include "server/server.h"

struct server_loop; /* server.c: libuv's handles */
struct reload;      /* reload.c */

struct server {
    struct server_options options;
    struct store *store;
    struct ingest *ingest;
    struct executor executor; /* its plan: server_executor */
    struct plan_in_force *plans;
    struct reload *reload;
    _Atomic int64_t usage_looked_ms; /* when unasked queries were looked for last */
    struct gate queries, writes;     /* writes: being decompressed and applied, so that memory is bounded */
    struct maintenance *maintenance; /* NULL in tests of handlers: nothing to wake */
    struct http_daemon *http;
    struct server_loop *loop;
    int64_t start_ms;    /* wall clock */
    int64_t series_base; /* series known when the server began, less those counted as created until then */
    char address[128];
};

static inline int64_t server_now_ms(const struct server *s)
{
    return wall_clock_now_ms(s->options.clock);
}

/* The executor with the plan now in force, which stays until plan_give. */
static inline struct executor server_executor(struct server *s, struct held_plan **ret)
{
    struct executor x = s->executor;
    *ret = plan_take(s->plans);
    x.plan = (*ret)->plan;
    return x;
}

/* Series known now: what the log brought back, and those created since (metrics.c). */
void server_series_start(struct server *s, uint64_t series_n);
uint64_t server_series_n(const struct server *s);

#endif
