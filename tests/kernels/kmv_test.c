/* KMV: exact below k, the published error beyond, unions of overlapping states byte by byte, damage. */
#include <math.h>

#include "states.h"
#include "suite.h"

static struct sketch_params least(uint32_t k)
{
    return (struct sketch_params){.k = k};
}

static void fill(double *v, uint32_t from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = from + i;
}

START_TEST(exact_below_k)
{
    double v[1000] = {0.0, -0.0, NAN, -NAN, INFINITY};
    struct states *s = states_new(&kmv_family, least(1024), 5);
    states_build_same_seed(s, v, 5);
    ck_assert_double_eq(states_read(s, STATISTIC_DISTINCT, 0), 3);
    for (uint32_t n = 1; n < 1000; n += 37) {
        states_clear(s);
        fill(v, 0, n);
        states_build_same_seed(s, v, n);
        states_build_same_seed(s, v, n / 2 + 1); /* overlaps */
        ck_assert_double_eq(states_read(s, STATISTIC_DISTINCT, 0), n);
    }
    states_free(s);
}
END_TEST

/* The root mean square error over seeds against 1 / sqrt(k - 2). */
START_TEST(error)
{
    const uint32_t ks[] = {64, 256, 4096};
    uint64_t seed = suite_seed("kmv.error");
    double *v = malloc(50000 * sizeof *v);
    fill(v, 0, 50000);
    for (int i = 0; i < 3; i++)
        for (uint32_t n = 5000; n <= 50000; n *= 10) {
            double squares = 0, sum = 0;
            enum { ROUNDS = 100 };
            for (int round = 0; round < ROUNDS; round++) {
                struct states *s = states_new(&kmv_family, least(ks[i]), seed++);
                states_build(s, v, n);
                double miss = states_read(s, STATISTIC_DISTINCT, 0) / n - 1;
                squares += miss * miss;
                sum += miss;
                states_free(s);
            }
            double limit = kmv_standard_error(ks[i]), rms = sqrt(squares / ROUNDS);
            ck_assert_msg(rms <= 1.3 * limit, "k %u n %u: %g against %g", ks[i], n, rms, limit);
            ck_assert_double_le(fabs(sum / ROUNDS), 4 * limit / sqrt(ROUNDS)); /* right on average */
        }
    free(v);
}
END_TEST

START_TEST(any_split)
{
    uint64_t random = suite_seed("kmv.any_split");
    static double v[20000];
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t n = 1 + random_below(&random, round % 4 ? 300 : 20000);
        for (uint32_t i = 0; i < n; i++)
            v[i] = random_below(&random, n);
        struct sketch_params p = least(16 + random_below(&random, 2000));
        struct states *s = states_new(&kmv_family, p, 11), *whole = states_new(&kmv_family, p, 11);
        states_split(s, v, n, 1 + n / 5, &random);
        states_build_same_seed(whole, v, n);
        states_push(s, s->ref[0].bytes, s->ref[0].size, 0); /* overlapping inputs count once */
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size);
        ck_assert_uint_eq(size, whole->ref[0].size);
        ck_assert_mem_eq(merged, whole->ref[0].bytes, size);
        ck_assert_double_eq(states_read(s, STATISTIC_DISTINCT, 0), states_read(whole, STATISTIC_DISTINCT, 0));
        free(merged);
        states_free(s);
        states_free(whole);
    }
}
END_TEST

/* Items are the same whether they come as values or as keys, and their weights do not matter. */
START_TEST(keyed)
{
    double v[100], weights[100];
    uint64_t keys[100];
    struct states *s = states_new(&kmv_family, least(64), 3);
    fill(v, 7, 100);
    for (uint32_t i = 0; i < 100; i++) {
        keys[i] = sketch_key(v[i]);
        weights[i] = i % 2 ? -1.5 : 0;
    }
    const struct sketch_items items = {.keys = keys, .weights = weights, .n = 100};
    states_build_same_seed(s, v, 100);
    ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    ck_assert_uint_eq(s->ref[0].size, s->ref[1].size);
    ck_assert_mem_eq(s->ref[0].bytes, s->ref[1].bytes, s->ref[0].size);
    states_free(s);
}
END_TEST

START_TEST(refuses)
{
    const char *reason = NULL;
    struct sketch_params low = least(15), high = least(65537), good = least(64), other = least(65);
    ck_assert_int_eq(kmv_family.check_params(&low, &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(kmv_family.check_params(&high, &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(kmv_family.check_params(&good, &reason), SKETCH_OK);
    const double v[] = {1, 2, 3};
    struct states *s = states_new(&kmv_family, good, 1), *t = states_new(&kmv_family, other, 1);
    states_build_same_seed(s, v, 3);
    states_build_same_seed(t, v, 3);
    ck_assert_int_eq(kmv_family.validate(s->ref[0].bytes, s->ref[0].size, &other, &reason), SKETCH_CORRUPT);
    states_push(t, s->ref[0].bytes, s->ref[0].size, 0);
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(t, &merged, &size), SKETCH_MISMATCH);
    s->seed = 9;
    states_build(s, v, 3);
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_MISMATCH);
    states_free(s);
    states_free(t);
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("kmv.damaged");
    static double v[4000];
    struct states *s = states_new(&kmv_family, least(64), 1);
    for (uint32_t n = 1; n < 4000; n *= 3) {
        fill(v, n, n);
        states_build_same_seed(s, v, n);
    }
    ck_assert_uint_gt(states_flip(s, &random, 10000), 0);
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kmv");
    TCase *tc = tcase_create("kmv");
    tcase_add_test(tc, exact_below_k);
    tcase_add_test(tc, error);
    tcase_add_test(tc, any_split);
    tcase_add_test(tc, keyed);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, damaged);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
