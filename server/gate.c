#include "server/gate.h"

#include <time.h>

#include "base/clock.h"

void gate_init(struct gate *g, uint32_t in_max, uint32_t waiting_max)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->freed, &attributes);
    pthread_condattr_destroy(&attributes);
    g->in_n = g->waiting_n = 0;
    g->in_max = in_max;
    g->waiting_max = waiting_max;
}

void gate_done(struct gate *g)
{
    pthread_cond_destroy(&g->freed);
    pthread_mutex_destroy(&g->mutex);
}

bool gate_enter(struct gate *g, int64_t wait_ms)
{
    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)wait_ms * 1000000;
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
    pthread_mutex_lock(&g->mutex);
    if (g->in_n >= g->in_max && wait_ms > 0 && g->waiting_n < g->waiting_max) {
        g->waiting_n++;
        while (g->in_n >= g->in_max && pthread_cond_timedwait(&g->freed, &g->mutex, &until) == 0)
            continue;
        g->waiting_n--;
    }
    bool entered = g->in_n < g->in_max;
    g->in_n += entered;
    pthread_mutex_unlock(&g->mutex);
    return entered;
}

void gate_leave(struct gate *g)
{
    pthread_mutex_lock(&g->mutex);
    g->in_n--;
    pthread_cond_signal(&g->freed);
    pthread_mutex_unlock(&g->mutex);
}

uint32_t gate_inside(struct gate *g)
{
    pthread_mutex_lock(&g->mutex);
    uint32_t n = g->in_n;
    pthread_mutex_unlock(&g->mutex);
    return n;
}
