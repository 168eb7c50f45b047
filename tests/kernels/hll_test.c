/* Distinct counts: error at all sizes, unions, byte equality over splits, sparse sizes and damaged states. */
#include <math.h>

#include "states.h"
#include "suite.h"

static struct sketch_params precision(uint32_t p)
{
    return (struct sketch_params){.p = p};
}

static void fill(double *v, uint32_t from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = from + i;
}

/* Two panes of the same 2,000 values are 2,000 values, not 4,000; 2.5 % is three standard errors at p = 14. */
START_TEST(union_of_equals)
{
    static double v[2000];
    fill(v, 0, 2000);
    struct states *s = states_new(&hll_family, precision(14), 7);
    states_build_same_seed(s, v, 2000);
    states_build_same_seed(s, v, 2000);
    ck_assert_uint_eq(s->ref[0].size, s->ref[1].size);
    ck_assert_mem_eq(s->ref[0].bytes, s->ref[1].bytes, s->ref[0].size);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_DISTINCT, 0), 2000, 50);
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_OK);
    ck_assert_uint_eq(size, s->ref[0].size);
    ck_assert_mem_eq(merged, s->ref[0].bytes, size);
    free(merged);
    states_free(s);
}
END_TEST

/* Items are the same whether they come as values or as keys, and their weights do not matter; sparse and dense. */
START_TEST(keyed)
{
    enum { MOST = 3000 };
    static double v[MOST], weights[MOST];
    static uint64_t keys[MOST];
    const uint32_t ns[] = {1, 100, MOST};
    fill(v, 7, MOST);
    v[1] = -0.0;
    v[2] = NAN;
    for (uint32_t i = 0; i < MOST; i++) {
        keys[i] = sketch_key(v[i]);
        weights[i] = i % 2 ? -1.5 : 0;
    }
    for (int i = 0; i < 3; i++) {
        struct states *s = states_new(&hll_family, precision(10), 3);
        const struct sketch_items items = {.keys = keys, .weights = weights, .n = ns[i]};
        states_build_same_seed(s, v, ns[i]);
        ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
        ck_assert_uint_eq(s->ref[0].size, s->ref[1].size);
        ck_assert_mem_eq(s->ref[0].bytes, s->ref[1].bytes, s->ref[0].size);
        states_free(s);
    }
}
END_TEST

/* Any bits are an item of their own: no two of these are one, though as doubles they are zeros and NaNs. 10 items read
 * as 10 within four standard errors of p = 14. */
START_TEST(keys_as_they_are)
{
    uint64_t keys[10] = {0, UINT64_C(1) << 63};
    for (uint32_t i = 2; i < 10; i++)
        keys[i] = UINT64_C(0x7ff8000000000000) + i;
    struct states *s = states_new(&hll_family, precision(14), 3);
    const struct sketch_items items = {.keys = keys, .n = 10}, none = {.keys = keys, .n = 0};
    ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_DISTINCT, 0), 10, 0.33);
    ck_assert_int_eq(states_build_items(s, &none), SKETCH_BAD_DATA);
    states_free(s);
}
END_TEST

/* The root mean square error over seeds stays near 1.04 / sqrt(2^p) from 1 value to far beyond the registers. */
START_TEST(error)
{
    const uint32_t ps[] = {4, 10, 14}, ns[] = {1, 10, 100, 1000, 5000, 20000, 100000};
    uint64_t seed = suite_seed("hll.error");
    double *v = malloc(100000 * sizeof *v);
    fill(v, 0, 100000);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 7; j++) {
            double squares = 0;
            int rounds = ns[j] > 20000 ? 12 : 30;
            for (int round = 0; round < rounds; round++) {
                struct states *s = states_new(&hll_family, precision(ps[i]), seed++);
                states_build(s, v, ns[j]);
                double miss = states_read(s, STATISTIC_DISTINCT, 0) / ns[j] - 1;
                squares += miss * miss;
                states_free(s);
            }
            double limit = 1.04 / sqrt(1u << ps[i]), rms = sqrt(squares / rounds);
            ck_assert_msg(rms <= 1.6 * limit, "p %u n %u: %g against %g", ps[i], ns[j], rms, limit);
        }
    free(v);
}
END_TEST

/* Growing by 50 at a time, read after every step: the state never exceeds the dense one, and the end is within 2.5 %.
 */
START_TEST(growing)
{
    enum { STEP = 50, N = 200000 };
    struct states *s = states_new(&hll_family, precision(14), 3);
    double v[STEP];
    for (uint32_t at = 0; at < N; at += STEP) {
        fill(v, at, STEP);
        states_build_same_seed(s, v, STEP);
        if (s->k == 2) {
            uint8_t *merged = NULL;
            size_t size = 0;
            ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_OK);
            ck_assert_uint_le(size, (1u << 14) + 2);
            states_clear(s);
            states_push(s, merged, size, 0);
            free(merged);
        }
        if (at % 10000 == 0)
            ck_assert_double_eq_tol(states_read(s, STATISTIC_DISTINCT, 0), at + STEP, 0.025 * (at + STEP) + 1);
    }
    ck_assert_double_eq_tol(states_read(s, STATISTIC_DISTINCT, 0), N, 0.025 * N);
    states_free(s);
}
END_TEST

START_TEST(any_split)
{
    uint64_t random = suite_seed("hll.any_split");
    static double v[20000];
    for (uint32_t round = 0; round < 60; round++) {
        struct sketch_params p = precision(4 + round % 15);
        uint32_t n = 1 + random_below(&random, round % 4 ? 300 : 20000);
        for (uint32_t i = 0; i < n; i++)
            v[i] = random_below(&random, n);
        struct states *s = states_new(&hll_family, p, 11), *whole = states_new(&hll_family, p, 11);
        states_split(s, v, n, 1 + n / 5, &random);
        states_build_same_seed(whole, v, n);
        double apart = states_read(s, STATISTIC_DISTINCT, 0);
        states_push(s, s->ref[0].bytes, s->ref[0].size, 0); /* overlapping inputs count once */
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size);
        ck_assert_uint_eq(size, whole->ref[0].size);
        ck_assert_mem_eq(merged, whole->ref[0].bytes, size);
        ck_assert_double_eq(apart, states_read(whole, STATISTIC_DISTINCT, 0));
        free(merged);
        states_free(s);
        states_free(whole);
    }
}
END_TEST

START_TEST(equal_values)
{
    const double v[] = {0.0, -0.0, NAN, -NAN, 1, 1};
    struct states *s = states_new(&hll_family, precision(14), 3);
    states_build(s, v, 6);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_DISTINCT, 0), 3, 0.01);
    states_free(s);
}
END_TEST

/* Sparse bytes at p = 14 (KERNELS.md: 32, 148, 407). */
START_TEST(sizes)
{
    const uint32_t n[] = {10, 60, 200}, limit[] = {32, 148, 407};
    double v[200];
    for (int j = 0; j < 3; j++) {
        double sum = 0;
        for (uint32_t round = 0; round < 100; round++) {
            struct states *s = states_new(&hll_family, precision(14), round);
            fill(v, round * 1000, n[j]);
            sum += states_build(s, v, n[j]);
            states_free(s);
        }
        printf("hll: %u values take %.1f bytes\n", n[j], sum / 100);
        ck_assert_double_le(sum / 100, limit[j] + 0.5);
    }
}
END_TEST

START_TEST(refuses)
{
    const char *reason = NULL;
    struct sketch_params low = precision(3), high = precision(19), good = precision(14);
    ck_assert_int_eq(hll_family.check_params(&low, &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(hll_family.check_params(&high, &reason), SKETCH_BAD_DATA);
    ck_assert_ptr_nonnull(reason);
    ck_assert_int_eq(hll_family.check_params(&good, &reason), SKETCH_OK);
    /* Another p and another seed do not merge. */
    const double v[] = {1, 2, 3};
    struct states *s = states_new(&hll_family, precision(12), 1), *other = states_new(&hll_family, good, 1);
    states_build(s, v, 3);
    states_build(other, v, 3);
    ck_assert_int_eq(hll_family.validate(s->ref[0].bytes, s->ref[0].size, &good, &reason), SKETCH_CORRUPT);
    states_push(other, s->ref[0].bytes, s->ref[0].size, 0);
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(other, &merged, &size), SKETCH_MISMATCH);
    states_clear(other);
    states_build(other, v, 3);
    other->seed = 2 - UINT64_C(977);
    states_build(other, v, 3);
    ck_assert_int_eq(states_merge(other, &merged, &size), SKETCH_MISMATCH);
    states_free(s);
    states_free(other);
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("hll.damaged");
    static double v[4000];
    struct states *s = states_new(&hll_family, precision(10), 1);
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
    Suite *suite = suite_create("hll");
    TCase *tc = tcase_create("hll");
    tcase_add_test(tc, union_of_equals);
    tcase_add_test(tc, keyed);
    tcase_add_test(tc, keys_as_they_are);
    tcase_add_test(tc, error);
    tcase_add_test(tc, growing);
    tcase_add_test(tc, any_split);
    tcase_add_test(tc, equal_values);
    tcase_add_test(tc, sizes);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, damaged);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
