/* The hash index against a plain array of what should be in it, with good hashes and with hostile ones. */
#include "base/map.h"

#include <string.h>

#include "suite.h"

enum { THINGS = 4000 };

struct things {
    uint64_t hash[THINGS];
    uint32_t wanted;
};

static bool thing_same(const void *ctx, uint32_t value)
{
    return ((const struct things *)ctx)->wanted == value;
}

static uint64_t thing_hash(const void *ctx, uint32_t value)
{
    return ((const struct things *)ctx)->hash[value];
}

static int64_t find(const struct map *m, struct things *t, uint32_t thing)
{
    t->wanted = thing;
    return map_find(m, t->hash[thing], thing_same, t);
}

static void run_model(struct things *t, uint32_t things, int steps)
{
    static bool present[THINGS];
    memset(present, 0, sizeof(present));
    struct map m;
    map_init(&m);
    uint32_t n = 0;
    for (int step = 0; step < steps; step++) {
        uint32_t thing = (uint32_t)(lrand48() % things);
        /* Waves of mostly adding and mostly removing. */
        bool add = lrand48() % 10 < ((step / 2000) % 2 ? 3 : 7);
        if (add && !present[thing]) {
            map_add(&m, t->hash[thing], thing, thing_hash, t);
            present[thing] = true;
            n++;
        } else if (!add) {
            ck_assert(map_remove(&m, t->hash[thing], thing, thing_hash, t) == present[thing]);
            n -= present[thing];
            present[thing] = false;
        }
        ck_assert_uint_eq(m.n, n);
        if (step % 500 == 0)
            for (uint32_t i = 0; i < things; i++)
                ck_assert_int_eq(find(&m, t, i), present[i] ? (int64_t)i : -1);
    }
    map_done(&m);
}

START_TEST(finds_what_was_added_and_not_removed) /* invariant 10 */
{
    static struct things t;
    srand48((long)suite_seed("map"));
    for (uint32_t i = 0; i < THINGS; i++)
        t.hash[i] = (uint64_t)mrand48() << 32 ^ (uint32_t)mrand48();
    run_model(&t, THINGS, 40000);
    /* All in a few runs of neighbouring slots, wrapping over the end of the table. */
    for (uint32_t i = 0; i < 300; i++)
        t.hash[i] = (uint64_t)(lrand48() % 3) << 32 | (uint32_t)(-1 - (int)(lrand48() % 4));
    run_model(&t, 300, 20000);
    /* All equal. */
    for (uint32_t i = 0; i < 100; i++)
        t.hash[i] = 42;
    run_model(&t, 100, 10000);
}
END_TEST

START_TEST(empty_map_and_seed)
{
    static struct things t;
    struct map m;
    map_init(&m);
    ck_assert_int_eq(find(&m, &t, 0), -1);
    ck_assert(!map_remove(&m, 0, 0, thing_hash, &t));
    map_done(&m);
    ck_assert_uint_eq(map_seed(), map_seed());
    ck_assert_uint_ne(map_seed(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/map");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 20);
    tcase_add_test(all, finds_what_was_added_and_not_removed);
    tcase_add_test(all, empty_map_and_seed);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
