/*
 * Worker threads over one bounded ring. pool_for lends work only to workers that are idle at that moment and not yet
 * promised to a queued item, so its helpers start at once and a caller never waits behind the queue. That also makes
 * pool_for safe to call from a worker.
 */
#include "base/pool.h"

#include <stdatomic.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/err.h"

struct pool_item {
    pool_fn *fn;
    void *arg;
};

struct pool {
    uv_mutex_t lock;
    uv_cond_t work; /* an item was queued, or stopping */
    struct pool_item *ring;
    size_t ring_cap, first, queued; /* ring_cap = queue_max + threads: helpers of pool_for have room of their own */
    size_t queue_max;
    unsigned idle; /* workers waiting for `work` */
    bool stopping;
    unsigned threads_n;
    uv_thread_t threads[];
};

static void pool_worker(void *arg)
{
    struct pool *p = arg;
    uv_mutex_lock(&p->lock);
    for (;;) {
        p->idle++;
        while (p->queued == 0 && !p->stopping)
            uv_cond_wait(&p->work, &p->lock);
        p->idle--;
        if (p->queued == 0)
            break;
        struct pool_item item = p->ring[p->first];
        p->first = (p->first + 1) % p->ring_cap;
        p->queued--;
        uv_mutex_unlock(&p->lock);
        item.fn(item.arg);
        uv_mutex_lock(&p->lock);
    }
    uv_mutex_unlock(&p->lock);
}

struct pool *pool_new(unsigned threads, size_t queue_max)
{
    MUST(threads >= 1);
    struct pool *p = mem_zalloc(sizeof(*p) + threads * sizeof(p->threads[0]));
    MUST(uv_mutex_init(&p->lock) == 0);
    MUST(uv_cond_init(&p->work) == 0);
    p->queue_max = queue_max;
    p->ring_cap = queue_max + threads;
    p->ring = mem_alloc(p->ring_cap * sizeof(*p->ring));
    for (; p->threads_n < threads; p->threads_n++)
        MUST(uv_thread_create(&p->threads[p->threads_n], pool_worker, p) == 0);
    return p;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    uv_mutex_lock(&p->lock);
    p->stopping = true;
    uv_cond_broadcast(&p->work);
    uv_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->threads_n; i++)
        uv_thread_join(&p->threads[i]);
    uv_cond_destroy(&p->work);
    uv_mutex_destroy(&p->lock);
    mem_free(p->ring);
    mem_free(p);
}

/* Under the lock, with room in the ring. */
static void ring_put(struct pool *p, pool_fn *fn, void *arg)
{
    p->ring[(p->first + p->queued) % p->ring_cap] = (struct pool_item){fn, arg};
    p->queued++;
    uv_cond_signal(&p->work);
}

bool pool_submit(struct pool *p, pool_fn *fn, void *arg)
{
    uv_mutex_lock(&p->lock);
    bool room = p->queued < p->queue_max && !p->stopping;
    if (room)
        ring_put(p, fn, arg);
    uv_mutex_unlock(&p->lock);
    return room;
}

/* One pool_for, on its caller's stack: the caller leaves only when `helpers` is 0. */
struct pool_loop {
    void (*fn)(void *arg, size_t i);
    void *arg;
    size_t n;
    _Atomic size_t next;
    uv_mutex_t lock;
    uv_cond_t left;
    unsigned helpers; /* queued or running */
};

static void loop_run(struct pool_loop *loop)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
        if (i >= loop->n)
            return;
        loop->fn(loop->arg, i);
    }
}

static void loop_help(void *arg)
{
    struct pool_loop *loop = arg;
    loop_run(loop);
    uv_mutex_lock(&loop->lock);
    if (--loop->helpers == 0)
        uv_cond_signal(&loop->left);
    uv_mutex_unlock(&loop->lock);
}

void pool_for(struct pool *p, size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
    if (!p || n <= 1) {
        for (size_t i = 0; i < n; i++)
            fn(arg, i);
        return;
    }
    struct pool_loop loop = {.fn = fn, .arg = arg, .n = n};
    MUST(uv_mutex_init(&loop.lock) == 0);
    MUST(uv_cond_init(&loop.left) == 0);
    uv_mutex_lock(&p->lock);
    size_t free_workers = p->idle > p->queued ? p->idle - p->queued : 0;
    size_t helpers = free_workers < n - 1 ? free_workers : n - 1;
    loop.helpers = (unsigned)helpers;
    for (size_t i = 0; i < helpers; i++)
        ring_put(p, loop_help, &loop);
    uv_mutex_unlock(&p->lock);
    loop_run(&loop);
    uv_mutex_lock(&loop.lock);
    while (loop.helpers)
        uv_cond_wait(&loop.left, &loop.lock);
    uv_mutex_unlock(&loop.lock);
    uv_cond_destroy(&loop.left);
    uv_mutex_destroy(&loop.lock);
}

unsigned pool_threads(const struct pool *p)
{
    return p->threads_n;
}
