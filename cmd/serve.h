/* `mullion serve` as a function, which `mullion demo` calls too. */
#ifndef CMD_SERVE_H
#define CMD_SERVE_H

#include "ingest/ingest.h"
#include "server/server.h"

struct serve_options {
    const char *data_dir;
    const char *workload, *plan; /* at most one; NULL: no plan */
    uint64_t map_bytes;          /* 0 = the store's default */
    uint64_t kept_panes_bytes;   /* most memory of panes kept on first read */
    struct ingest_options ingest;
    struct server_options server; /* clock and flags are filled in */
};
void serve_options_default(struct serve_options *o);

/* Called once the server answers; `server` lives until serve_run returns. May be NULL. */
typedef void serve_ready_fn(void *ctx, struct server *server);
/* Called before anything is closed, when the server was ready. May be NULL. */
typedef void serve_stopping_fn(void *ctx);
struct serve_hooks {
    serve_ready_fn *ready;
    serve_stopping_fn *stopping;
    void *ctx;
};
/* Open everything, answer until SIGTERM or SIGINT, close everything. */
int serve_run(const struct serve_options *o, const struct serve_hooks *hooks, struct err *e);

#endif
