#include "server/maintenance.h"

#include <pthread.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/stats.h"

enum { TICK_LEAST_MS = 20, TICK_MOST_MS = 200, SYNC_MS = 100, LOG_EVERY_MS = 10000 };

static struct stat tick_failures =
    STAT_COUNTER("mullion_maintenance_failures_total", "work=\"tick\"", "Failed maintenance runs, by kind");
static struct stat sync_failures =
    STAT_COUNTER("mullion_maintenance_failures_total", "work=\"sync\"", "Failed maintenance runs, by kind");

struct maintenance {
    struct ingest *ingest;
    const struct wall_clock *clock;
    bool sync;
    pthread_t tick_thread, sync_thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* woken, or stopping */
    bool woken, stopping;
};

static struct timespec in_ms(int64_t ms)
{
    uint64_t at_ns = clock_monotonic_ns() + (uint64_t)ms * 1000000;
    return (struct timespec){.tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000)};
}

/* Wait `ms`, or until stopping, or, when `wakeable`, until woken. False when stopping. */
static bool pause_ms(struct maintenance *m, int64_t ms, bool wakeable)
{
    struct timespec until = in_ms(ms);
    pthread_mutex_lock(&m->mutex);
    while (!m->stopping && !(wakeable && m->woken) && pthread_cond_timedwait(&m->changed, &m->mutex, &until) == 0)
        continue;
    if (wakeable)
        m->woken = false;
    bool go_on = !m->stopping;
    pthread_mutex_unlock(&m->mutex);
    return go_on;
}

static void report(const char *what, const struct err *e, struct stat *failures, uint64_t *last_ns)
{
    stat_add(failures, 1);
    uint64_t now_ns = clock_monotonic_ns();
    if (*last_ns && now_ns - *last_ns < UINT64_C(1000000) * LOG_EVERY_MS)
        return;
    *last_ns = now_ns;
    log_line(LOG_ERROR, what, "err", e->message, NULL);
}

static void *tick_loop(void *arg)
{
    struct maintenance *m = arg;
    uint64_t logged_ns = 0;
    do {
        struct err e = {0};
        if (ingest_tick(m->ingest, wall_clock_now_ms(m->clock), &e) != 0)
            report("maintenance failed; it is tried again", &e, &tick_failures, &logged_ns);
        /* A backfill goes on window by window; nothing else would wake for it. */
    } while (pause_ms(m, TICK_LEAST_MS, false) &&
             (ingest_backfill_left(m->ingest) || pause_ms(m, TICK_MOST_MS - TICK_LEAST_MS, true)));
    return NULL;
}

static void *sync_loop(void *arg)
{
    struct maintenance *m = arg;
    uint64_t logged_ns = 0;
    while (pause_ms(m, SYNC_MS, false)) {
        struct err e = {0};
        if (ingest_sync(m->ingest, &e) != 0)
            report("the log could not be synced", &e, &sync_failures, &logged_ns);
    }
    return NULL;
}

struct maintenance *maintenance_start(struct ingest *in, const struct wall_clock *clock, bool sync)
{
    struct maintenance *m = mem_zalloc(sizeof *m);
    *m = (struct maintenance){.ingest = in, .clock = clock, .sync = sync};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    stat_register(&tick_failures);
    stat_register(&sync_failures);
    MUST(pthread_create(&m->tick_thread, NULL, tick_loop, m) == 0);
    if (sync)
        MUST(pthread_create(&m->sync_thread, NULL, sync_loop, m) == 0);
    return m;
}

void maintenance_wake(struct maintenance *m)
{
    pthread_mutex_lock(&m->mutex);
    m->woken = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
}

void maintenance_stop(struct maintenance *m)
{
    if (!m)
        return;
    ingest_stop(m->ingest);
    pthread_mutex_lock(&m->mutex);
    m->stopping = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
    pthread_join(m->tick_thread, NULL);
    if (m->sync)
        pthread_join(m->sync_thread, NULL);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->mutex);
    mem_free(m);
}
