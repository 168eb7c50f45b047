/*
 * How many may do one thing at once: queries (who is over the number waits a moment, in a bounded queue) and write
 * requests (who is over it is turned away at once).
 */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    uint32_t in_n, in_max, waiting_n, waiting_max;
};
void gate_init(struct gate *g, uint32_t in_max, uint32_t waiting_max);
void gate_done(struct gate *g);
/* False: `in_max` are inside and none left within wait_ms, or too many wait already. */
bool gate_enter(struct gate *g, int64_t wait_ms);
void gate_leave(struct gate *g);
uint32_t gate_inside(struct gate *g);

#endif
