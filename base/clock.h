/*
 * Two clocks. The monotonic clock (deadlines, statistics) is free to all rooms but kernels. The wall clock is an object
 * that only server/ and cmd/ read; everything below is told the time as an argument, so a replay is exact and tests set
 * the time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_cpu_ns(void); /* CPU time of this thread */

struct wall_clock {
    int64_t fixed_ms; /* INT64_MIN = follow the system clock */
};
#define WALL_CLOCK_SYSTEM ((struct wall_clock){INT64_MIN})
int64_t wall_clock_now_ms(const struct wall_clock *c); /* ms since the epoch; thread-safe */
void wall_clock_set_ms(struct wall_clock *c, int64_t ms);

#endif
