/* The exact distinct set: counts by definition, one state for any cut, order or overlap, and damaged bytes. */
#include <math.h>

#include "kernels/bits.h"
#include "kernels/qpane.h"
#include "states.h"
#include "suite.h"

static const struct sketch_params none;

/* Zeros of both signs are one value, and so are all NaNs; infinities are two. */
START_TEST(known_sets)
{
    const double v[] = {1, -0.0, INFINITY, NAN, 0.0, 1, -INFINITY, bits_to_f64(UINT64_C(0xfff8000000000123)), 2, 1};
    for (uint32_t cut = 1; cut <= 10; cut++) {
        struct states *s = states_new(&distinct_set_family, none, 1);
        states_build(s, v, cut);
        if (cut < 10)
            states_build(s, v + cut, 10 - cut);
        ck_assert_double_eq(states_read(s, STATISTIC_DISTINCT, 0), 6); /* +Inf, 2, 1, 0, -Inf, NaN */
        states_push(s, s->ref[0].bytes, s->ref[0].size, 0);
        ck_assert_double_eq(states_read(s, STATISTIC_DISTINCT, 0), 6);
        ck_assert_uint_eq(distinct_set_family.flags(s->ref[0].bytes, s->ref[0].size), 0);
        states_free(s);
    }
    struct states *s = states_new(&distinct_set_family, none, 1);
    double got = 7;
    ck_assert_int_eq(states_estimate(s, STATISTIC_DISTINCT, 0, &got), SKETCH_NONE);
    states_build(s, (const double[]){3, 3, 3}, 3);
    ck_assert_double_eq(states_read(s, STATISTIC_DISTINCT, 0), 1);
    ck_assert_uint_eq(distinct_set_family.count(s->ref[0].bytes, s->ref[0].size), 1);
    ck_assert_int_eq(states_estimate(s, STATISTIC_COUNT, 0, &got), SKETCH_BAD_DATA);
    states_free(s);
}
END_TEST

/* Written out by hand: 0.25, 0.2 and 0 at two decimals are 25, 20, 0 (kernels/qdecimal.h). */
START_TEST(tiny_bytes)
{
    const double v[] = {0.2, -0.0, 0.25, 0.2, 0.0, 0.25, 0.25};
    const uint8_t expect[] = {QPANE_TINY | 2 << 4, 25, 5, 20};
    struct states *s = states_new(&distinct_set_family, none, 1);
    ck_assert_uint_eq(states_build(s, v, 7), sizeof expect);
    ck_assert_mem_eq(s->ref[0].bytes, expect, sizeof expect);
    states_free(s);
}
END_TEST

static double draw(uint64_t *random, uint32_t kind, uint32_t n)
{
    static const double odd[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 5e-324, -1.7976931348623157e308};
    switch (kind) {
    case 0:
        return states_latency(random);
    case 1:
        return random_below(random, n);
    case 2:
        return random_bits_f64(random);
    case 3:
        return random_below(random, 3) ? odd[random_below(random, 7)] : random_normal(random);
    case 4:
        return random_below(random, 3) ? -0.0 : 0.0;
    default:
        return (double)((int)random_below(random, 2 * n) - (int)n) / 100;
    }
}

static int by_bits(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* By definition: sort what counts as one value together. */
static uint32_t definition(const double *v, uint32_t n)
{
    static uint64_t bits[3000];
    uint32_t distinct = n > 0;
    for (uint32_t i = 0; i < n; i++) {
        double value = v[i] == 0 ? 0.0 : v[i];
        memcpy(&bits[i], &value, 8);
        bits[i] = isnan(value) ? UINT64_MAX : bits[i];
    }
    qsort(bits, n, sizeof *bits, by_bits);
    for (uint32_t i = 1; i < n; i++)
        distinct += bits[i] != bits[i - 1];
    return distinct;
}

START_TEST(any_split)
{
    uint64_t random = suite_seed("distinct.any_split");
    static double v[3000];
    for (uint32_t round = 0; round < 240; round++) {
        uint32_t n = 1 + random_below(&random, round % 10 == 0 ? 3000 : 200), kind = round % 6;
        struct states *s = states_new(&distinct_set_family, none, 1);
        struct states *whole = states_new(&distinct_set_family, none, 1);
        for (uint32_t i = 0; i < n; i++)
            v[i] = draw(&random, kind, n);
        states_split(s, v, n, 1 + n / (1 + random_below(&random, 40)), &random);
        uint32_t size_whole = states_build(whole, v, n), expect = definition(v, n);
        ck_assert_uint_le(size_whole, 1 + 8 * expect);
        ck_assert_uint_eq(distinct_set_family.count(whole->ref[0].bytes, size_whole), expect);
        states_push(s, s->ref[0].bytes, s->ref[0].size, 0); /* overlapping inputs count once */
        if (s->k + 1 < STATES_MAX)
            states_build(s, v + n / 3, 1 + n / 3);
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size);
        ck_assert_uint_eq(size, size_whole);
        ck_assert_mem_eq(merged, whole->ref[0].bytes, size);
        ck_assert_double_eq(states_read(s, STATISTIC_DISTINCT, 0), expect);
        ck_assert_double_eq(states_read(whole, STATISTIC_DISTINCT, 0), expect);
        free(merged);
        states_free(s);
        states_free(whole);
    }
}
END_TEST

/* What a quantile pane may hold and a set may not. */
START_TEST(refuses)
{
    const double twice[] = {2, 1, 1}, minus_zero[] = {1, -0.0}, zeros[] = {0.0, -0.0}, nans[] = {1, NAN, NAN};
    const double twice_many[] = {9.5, 8.25, 8.25, 7, 6, 5, 4, 3, 2, 1.125};
    const struct {
        const double *v;
        uint32_t n;
    } rows[] = {{twice, 3}, {minus_zero, 2}, {zeros, 2}, {nans, 3}, {twice_many, 10}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *reason = NULL;
        struct states *s = states_new(&values_family, none, 1);
        states_build(s, rows[i].v, rows[i].n);
        ck_assert_int_eq(distinct_set_family.validate(s->ref[0].bytes, s->ref[0].size, &none, &reason), SKETCH_CORRUPT);
        ck_assert_ptr_nonnull(reason);
        states_free(s);
    }
    const char *reason = NULL;
    uint8_t again[17] = {QPANE_DOUBLES};
    bits_store_f64(again + 1, 1.5);
    bits_store_f64(again + 9, 1.5);
    ck_assert_int_eq(distinct_set_family.validate(again, 17, &none, &reason), SKETCH_CORRUPT);
    bits_store_f64(again + 9, 0.5);
    ck_assert_int_eq(distinct_set_family.validate(again, 17, &none, &reason), SKETCH_OK);
    ck_assert_int_eq(distinct_set_family.validate(again, 16, &none, &reason), SKETCH_CORRUPT);
    ck_assert_int_eq(distinct_set_family.validate(again, 0, &none, &reason), SKETCH_CORRUPT);
    ck_assert_int_eq(distinct_set_family.check_params(&none, &reason), SKETCH_OK);
    ck_assert_int_eq(distinct_set_family.check_params(&(struct sketch_params){.p = 12}, &reason), SKETCH_BAD_DATA);
    uint64_t scratch[100];
    uint8_t dst[64];
    size_t size;
    ck_assert_int_eq(distinct_set_family.build(dst, 64, &size, &none, 0, NULL, NULL, 0, 1, scratch), SKETCH_BAD_DATA);
    ck_assert_int_eq(distinct_set_family.merge_k(dst, 64, &size, &none, 0, NULL, 0, 1, scratch), SKETCH_BAD_DATA);
    const struct state_ref one = {again, 17, 0};
    static uint64_t wide[8192];
    ck_assert_uint_le(distinct_set_family.scratch_bound(&none, 2, 1), sizeof wide);
    ck_assert_int_eq(distinct_set_family.merge_k(dst, 1, &size, &none, 0, &one, 1, 1, wide), SKETCH_NO_ROOM);
}
END_TEST

/* A frame of more than 512 samples is checked across its parts: the repeat may stand on the seam. */
START_TEST(repeats_on_a_frame_seam)
{
    static double v[600];
    const char *reason = NULL;
    for (int i = 0; i < 600; i++)
        v[i] = 1e6 * sin(600 - i) + 1e9 * (600 - i);
    struct states *s = states_new(&values_family, none, 1);
    states_build(s, v, 600);
    ck_assert_int_eq(s->ref[0].bytes[0] & QPANE_FORM_MASK, QPANE_FRAME);
    ck_assert_int_eq(distinct_set_family.validate(s->ref[0].bytes, s->ref[0].size, &none, &reason), SKETCH_OK);
    states_clear(s);
    v[512] = v[511];
    states_build(s, v, 600);
    ck_assert_int_eq(s->ref[0].bytes[0] & QPANE_FORM_MASK, QPANE_FRAME);
    ck_assert_int_eq(distinct_set_family.validate(s->ref[0].bytes, s->ref[0].size, &none, &reason), SKETCH_CORRUPT);
    states_free(s);
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("distinct.damaged");
    static double v[700];
    struct states *s = states_new(&distinct_set_family, none, 1);
    for (uint32_t kind = 0; kind < 6; kind++) {
        for (uint32_t n = 3; n < 700; n *= 3) {
            for (uint32_t i = 0; i < n; i++)
                v[i] = draw(&random, kind, n);
            states_build(s, v, n);
        }
    }
    ck_assert_uint_gt(states_flip(s, &random, 20000), 0);
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels/distinct");
    TCase *tc = tcase_create("distinct");
    tcase_add_test(tc, known_sets);
    tcase_add_test(tc, tiny_bytes);
    tcase_add_test(tc, any_split);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, repeats_on_a_frame_seam);
    tcase_add_test(tc, damaged);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
