/*
 * The server: HTTP over one data directory, and the clockwork around it.
 *
 *     main thread          libuv loop: SIGTERM and SIGINT end it, SIGHUP reloads (on a thread of libuv's pool)
 *     HTTP threads         one a connection (libmicrohttpd): read a body, call the route's handler, send the answer
 *     maintenance thread   ingest_tick as soon as a write may have moved time, and at least every 200 ms
 *     sync thread          ingest_sync every 100 ms, unless every write syncs by itself
 *
 * This room alone has sockets and the wall clock; what it reads of the clock travels as an argument. The parts (store,
 * ingest, plan, pool) are opened and closed by the caller.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/clock.h"
#include "base/pool.h"
#include "ingest/ingest.h"
#include "plan/in_force.h"
#include "store/store.h"

#define MULLION_VERSION "0.1.0"

struct server_flag { /* what /api/v1/status/flags shows */
    const char *name, *value;
};

struct server_options {
    const char *listen;         /* "127.0.0.1:9095", "[::1]:9095", ":9095" */
    bool insecure;              /* allows an address other machines can reach: there is no authentication yet */
    const char *path_prefix;    /* "" or "/mullion": stands before every path */
    struct wall_clock *clock;   /* outlives the server */
    int64_t lookback_ms;        /* 0 = 5 m */
    int64_t query_timeout_ms;   /* 0 = 2 m */
    int64_t slow_query_ms;      /* log queries that took as long; 0 = none */
    uint64_t query_samples_max; /* this and the next two: 0 = as query_limits_default says */
    uint32_t query_series_max;  /* of one selector */
    uint64_t query_memory_max;  /* bytes */
    uint32_t query_concurrency; /* 0 = 20 */
    int64_t raw_retention_ms;   /* shown in runtimeinfo */
    bool sync_by_timer;         /* wal_fsync: interval */
    const struct server_flag *flags;
    uint32_t flags_n;
};
void server_options_default(struct server_options *o);

struct server_parts {
    struct store *store;
    struct ingest *ingest;
    struct plan_in_force *plans;
    struct pool *pool;       /* may be NULL */
    struct pane_cache *kept; /* panes kept on first read; may be NULL */
    uint64_t series_n;       /* known at the start: ingest_report.series */
    /* Plan anew and put the plan in force, or leave all as it is and say why. Any thread, one call at a time. NULL:
     * there is nothing to plan. */
    int (*reload)(void *ctx, struct err *e);
    void *reload_ctx;
};

/* What server_open would say of an address; with `probe` also whether it can be bound now. Nothing stays bound.
 * ERR_BAD_DATA, ERR_IO as there. */
int server_address_check(const char *listen, bool insecure, bool probe, struct err *e);

struct server;
/* Bind and begin to answer. ERR_BAD_DATA for an address that is none or not allowed, ERR_IO when it cannot be bound;
 * both say what to do. Everything in `o` and `parts` outlives the server. */
int server_open(const struct server_options *o, const struct server_parts *parts, struct server **ret, struct err *e);
/* "127.0.0.1:9095": where it listens, the port filled in when 0 was asked for. */
const char *server_address(const struct server *s);
/* Until SIGTERM, SIGINT or server_stop. Call it on the thread that opened the server. */
void server_run(struct server *s);
void server_stop(struct server *s); /* from any thread */
/* No new connections, let running requests end (10 s at most), stop every thread. NULL-safe. */
void server_close(struct server *s);

#endif
