#include "server/reload.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/log.h"

struct reload {
    int (*call)(void *ctx, struct err *e);
    void *ctx;
    pthread_mutex_t mutex; /* guards what follows */
    bool running;
    struct reload_status status;
};

struct reload *reload_new(int (*call)(void *ctx, struct err *e), void *ctx, int64_t start_ms)
{
    struct reload *r = mem_zalloc(sizeof *r);
    r->call = call;
    r->ctx = ctx;
    r->status = (struct reload_status){true, start_ms};
    pthread_mutex_init(&r->mutex, NULL);
    return r;
}

void reload_free(struct reload *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->mutex);
    mem_free(r);
}

static bool begin(struct reload *r)
{
    pthread_mutex_lock(&r->mutex);
    bool free_now = !r->running;
    r->running = true;
    pthread_mutex_unlock(&r->mutex);
    return free_now;
}

static void end(struct reload *r, bool successful, int64_t now_ms)
{
    pthread_mutex_lock(&r->mutex);
    r->running = false;
    r->status.successful = successful;
    if (successful)
        r->status.success_ms = now_ms;
    pthread_mutex_unlock(&r->mutex);
}

/* `e` is filled in full: it is logged too. */
int reload_run(struct reload *r, int64_t now_ms, struct err *e)
{
    int code;
    if (!r || !r->call) {
        code = err_set(e, ERR_BAD_DATA,
                       "there is nothing to reload: this server was started without --workload or --plan");
    } else if (!begin(r)) {
        code = err_set(e, ERR_OVERLOAD, "a reload is running; try again when it is done");
    } else {
        code = r->call(r->ctx, e);
        end(r, code == 0, now_ms);
    }
    if (code != 0)
        log_line(LOG_ERROR, "not reloaded; the plan in force stays", "err", e->message, NULL);
    return code;
}

struct reload_status reload_status(struct reload *r)
{
    struct reload_status status = {.successful = true};
    if (!r)
        return status;
    pthread_mutex_lock(&r->mutex);
    status = r->status;
    pthread_mutex_unlock(&r->mutex);
    return status;
}
