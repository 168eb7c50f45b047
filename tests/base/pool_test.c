/* Worker threads: every item once, the bound, nesting, draining at the end. */
#include "base/pool.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "suite.h"

enum { ITEMS = 20000 };
static _Atomic int hits[ITEMS];

static void hit(void *arg, size_t i)
{
    atomic_fetch_add((_Atomic int *)arg + i, 1);
}

START_TEST(every_index_runs_once) /* invariant 8 */
{
    for (unsigned threads = 0; threads <= 4; threads++) {
        struct pool *p = threads ? pool_new(threads, 8) : NULL;
        for (size_t n = 0; n <= ITEMS; n = n * 3 + 1) {
            for (size_t i = 0; i < ITEMS; i++)
                hits[i] = 0;
            pool_for(p, n, hit, hits);
            for (size_t i = 0; i < ITEMS; i++)
                ck_assert_int_eq(hits[i], i < n);
        }
        if (p)
            ck_assert_uint_eq(pool_threads(p), threads);
        pool_free(p);
    }
}
END_TEST

struct nest {
    struct pool *pool;
    _Atomic int count;
};

static void nest_inner(void *arg, size_t i)
{
    atomic_fetch_add(&((struct nest *)arg)->count, 1);
}

static void nest_outer(void *arg, size_t i)
{
    pool_for(((struct nest *)arg)->pool, 50, nest_inner, arg);
}

START_TEST(loops_may_nest)
{
    struct nest nest = {.pool = pool_new(3, 4)};
    pool_for(nest.pool, 200, nest_outer, &nest);
    ck_assert_int_eq(nest.count, 200 * 50);
    pool_free(nest.pool);
}
END_TEST

struct gate {
    _Atomic bool open;
    _Atomic int started, done;
};

static void wait_at_gate(void *arg)
{
    struct gate *gate = arg;
    atomic_fetch_add(&gate->started, 1);
    while (!atomic_load(&gate->open))
        usleep(200);
    atomic_fetch_add(&gate->done, 1);
}

START_TEST(queue_is_bounded_and_drained) /* invariant 8 */
{
    struct gate gate = {0};
    struct pool *p = pool_new(2, 5);
    for (int i = 0; i < 2; i++)
        ck_assert(pool_submit(p, wait_at_gate, &gate));
    while (atomic_load(&gate.started) < 2)
        usleep(200);
    for (int i = 0; i < 5; i++)
        ck_assert(pool_submit(p, wait_at_gate, &gate));
    ck_assert(!pool_submit(p, wait_at_gate, &gate));
    /* All workers are busy and the queue is full: the caller does the loop alone and does not wait. */
    hits[0] = hits[1] = hits[2] = 0;
    pool_for(p, 3, hit, hits);
    ck_assert_int_eq(hits[0] + hits[1] + hits[2], 3);
    ck_assert_int_eq(gate.done, 0);
    atomic_store(&gate.open, true);
    pool_free(p);
    ck_assert_int_eq(gate.done, 7);
    pool_free(NULL);
}
END_TEST

START_TEST(clocks_go_forward)
{
    uint64_t start_ns = clock_monotonic_ns();
    usleep(2000);
    ck_assert_uint_ge(clock_monotonic_ns() - start_ns, 2000000);
    uint64_t cpu_ns = clock_cpu_ns();
    for (volatile int i = 0; i < 1000000; i++)
        continue;
    ck_assert_uint_gt(clock_cpu_ns(), cpu_ns);
    struct wall_clock clock = WALL_CLOCK_SYSTEM;
    ck_assert_int_gt(wall_clock_now_ms(&clock), INT64_C(1577836800000)); /* 2020-01-01 */
    wall_clock_set_ms(&clock, -5);
    ck_assert_int_eq(wall_clock_now_ms(&clock), -5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/pool");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 30);
    tcase_add_test(all, every_index_runs_once);
    tcase_add_test(all, loops_may_nest);
    tcase_add_test(all, queue_is_bounded_and_drained);
    tcase_add_test(all, clocks_go_forward);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
