/*
 * Worker threads for CPU work: a fixed number, one FIFO queue with a bound. (uv threads; the only place outside server/
 * that names libuv.) Work items must not wait for other items of the same pool.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct pool;
typedef void pool_fn(void *arg);

struct pool *pool_new(unsigned threads, size_t queue_max); /* threads >= 1 */
void pool_free(struct pool *p);                            /* waits for queued work; NULL-safe */
bool pool_submit(struct pool *p, pool_fn *fn, void *arg);  /* false: queue full, nothing queued */
/* Call fn(arg, i) for every i in [0, n), on the caller's thread and idle workers; returns when all are done. p may be
 * NULL. */
void pool_for(struct pool *p, size_t n, void (*fn)(void *arg, size_t i), void *arg);
unsigned pool_threads(const struct pool *p);

#endif
