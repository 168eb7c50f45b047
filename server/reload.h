/*
 * Reloading: SIGHUP and POST /-/reload plan the workload anew. A reload that fails leaves everything as it was; queries
 * go on during one. One runs at a time.
 */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct reload;
struct reload_status {
    bool successful;    /* the last one; true before the first */
    int64_t success_ms; /* when a plan was put in force last; the server's start before the first */
};

/* `call` NULL: there is nothing to reload, and every reload says so. */
struct reload *reload_new(int (*call)(void *ctx, struct err *e), void *ctx, int64_t start_ms);
void reload_free(struct reload *r); /* NULL-safe; none may run */
/* Reload and log how it went. ERR_OVERLOAD while another one runs, ERR_BAD_DATA when there is nothing to reload or the
 * workload is wrong. NULL-safe: nothing to reload. */
int reload_run(struct reload *r, int64_t now_ms, struct err *e);
struct reload_status reload_status(struct reload *r); /* NULL-safe */

#endif
