/* The only reads of the system's clocks. */
#include "base/clock.h"

#include <time.h>

#include "base/err.h"

static uint64_t clock_read_ns(clockid_t which)
{
    struct timespec t;
    MUST(clock_gettime(which, &t) == 0);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_cpu_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t wall_clock_now_ms(const struct wall_clock *c)
{
    int64_t fixed_ms = __atomic_load_n(&c->fixed_ms, __ATOMIC_RELAXED);
    if (fixed_ms != INT64_MIN)
        return fixed_ms;
    return (int64_t)(clock_read_ns(CLOCK_REALTIME) / 1000000);
}

void wall_clock_set_ms(struct wall_clock *c, int64_t ms)
{
    __atomic_store_n(&c->fixed_ms, ms, __ATOMIC_RELAXED);
}
