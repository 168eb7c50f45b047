/* Exact panes: Prometheus' own quantiles over any split, the forms and their sizes, and damaged bytes. */
#include <math.h>

#include "kernels/bits.h"
#include "kernels/qpane.h"
#include "states.h"
#include "suite.h"

static const struct sketch_params none;

static bool same(double a, double b)
{
    return a == b || (a != a && b != b);
}

/* 0..99 in five panes of 20, 1..20 in one (C-cases of the rank definitions). */
START_TEST(known_ranks)
{
    struct states *s = states_new(&values_family, none, 1);
    double v[100];
    for (int i = 0; i < 100; i++)
        v[i] = (i * 37) % 100;
    for (int i = 0; i < 5; i++)
        states_build(s, v + 20 * i, 20);
    ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE_RANK, 0.99), 98.0);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0.99), 98.01, 1e-12);
    states_clear(s);
    for (int i = 0; i < 20; i++)
        v[i] = 20 - i;
    states_build(s, v, 20);
    ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE_RANK, 0.99), 20.0);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0.99), 19.81, 1e-12);
    ck_assert_double_eq(states_read(s, STATISTIC_COUNT, 0), 20);
    ck_assert_double_eq(states_read(s, STATISTIC_MIN, 0), 1);
    ck_assert_double_eq(states_read(s, STATISTIC_MAX, 0), 20);
    for (int i = 0; i < 20; i++)
        v[i] = i;
    states_clear(s);
    states_build(s, v, 20);
    ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE_RANK, 0.99), 19.0);
    ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE_RANK, 0), 0.0);
    states_free(s);
}
END_TEST

/* NaN and infinite samples and odd phi, as Prometheus answers them: {NaN, 1, 2, 3, +Inf} in every split into two. */
START_TEST(not_finite)
{
    const double v[] = {3, INFINITY, NAN, 1, 2};
    const double q[] = {0, 0.25, 0.5, 0.75, 0.9, 1, -0.1, 1.1, NAN};
    const double expect[] = {NAN, 1, 2, NAN, INFINITY, NAN, -INFINITY, INFINITY, NAN};
    for (uint32_t cut = 1; cut <= 5; cut++) {
        struct states *s = states_new(&values_family, none, 1);
        states_build(s, v, cut);
        if (cut < 5)
            states_build(s, v + cut, 5 - cut);
        for (int i = 0; i < 9; i++) {
            double got = states_read(s, STATISTIC_QUANTILE, q[i]);
            ck_assert_msg(same(got, expect[i]), "cut %u q %g: %g instead of %g", cut, q[i], got, expect[i]);
        }
        ck_assert_double_eq(states_read(s, STATISTIC_MIN, 0), 1); /* min_over_time skips NaN */
        ck_assert(states_read(s, STATISTIC_MAX, 0) == INFINITY);
        states_free(s);
    }
}
END_TEST

static double draw(uint64_t *random, uint32_t kind)
{
    switch (kind) {
    case 0:
        return states_latency(random);
    case 1:
        return random_below(random, 7);
    case 2:
        return random_bits_f64(random);
    case 3:
        return random_normal(random) * 1e6;
    case 4:
        return random_below(random, 3) ? -0.0 : 0.0;
    case 5:
        return (double)random_u64(random);
    default:
        return (double)((int)random_below(random, 2000) - 1000) / 100;
    }
}

/* Any split reads as Prometheus over the whole, and merges to the bytes of the single build. */
START_TEST(any_split)
{
    uint64_t random = suite_seed("values.any_split");
    static double v[3000], sorted[3000];
    for (int round = 0; round < 200; round++) {
        uint32_t n = 1 + random_below(&random, round % 10 == 0 ? 3000 : 200), kind = (uint32_t)round % 7;
        struct states *s = states_new(&values_family, none, 1), *whole = states_new(&values_family, none, 1);
        double slope = round % 3 == 0 ? random_below(&random, 50) : 0; /* panes that lie apart: some lack nothing */
        double unit = kind == 6 && round % 2 ? 4096 : 1;               /* integers that end in zero bits */
        for (uint32_t i = 0; i < n; i++)
            sorted[i] = v[i] = draw(&random, kind) * unit + slope * i;
        qsort(sorted, n, sizeof *sorted, states_rising);
        states_split(s, v, n, 1 + n / (1 + random_below(&random, 40)), &random);
        states_build(whole, v, n);
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size);
        ck_assert_uint_eq(size, whole->ref[0].size);
        ck_assert_mem_eq(merged, whole->ref[0].bytes, size);
        free(merged);
        for (int i = 0; i < 12; i++) {
            double q = i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 0.99 : random_unit(&random);
            double got = states_read(s, STATISTIC_QUANTILE, q), expect = states_prometheus(sorted, n, q);
            ck_assert_msg(same(got, expect), "n %u kind %u q %.17g: %.17g instead of %.17g", n, kind, q, got, expect);
            double place = ceil(q * n);
            expect = sorted[place < 1 ? 0 : (uint32_t)place - 1];
            ck_assert(same(states_read(s, STATISTIC_QUANTILE_RANK, q), expect));
        }
        states_free(s);
        states_free(whole);
    }
}
END_TEST

/* Many small panes that lie apart, so that the first ones read lack samples the answer needs, at every q: series that
 * fall, rise, and close in from both ends. */
START_TEST(panes_apart)
{
    enum { K = 400, N = 20, ALL = K * N };
    static double v[ALL], sorted[ALL];
    for (uint32_t kind = 0; kind < 3; kind++) {
        struct states *s = states_new(&values_family, none, 1);
        for (uint32_t i = 0; i < ALL; i++)
            sorted[i] = v[i] = kind == 0 ? ALL - i : kind == 1 ? i : i % 2 ? 2 * ALL - i : i;
        qsort(sorted, ALL, sizeof *sorted, states_rising);
        for (uint32_t i = 0; i < K; i++)
            states_build(s, v + (size_t)i * N, N);
        for (uint32_t i = 0; i <= 1000; i++) {
            double q = i / 1000.0, got = states_read(s, STATISTIC_QUANTILE, q),
                   expect = states_prometheus(sorted, ALL, q);
            ck_assert_msg(same(got, expect), "kind %u q %g: %.17g instead of %.17g", kind, q, got, expect);
        }
        states_free(s);
    }
}
END_TEST

/* Bytes of panes of three-decimal latencies (KERNELS.md), and never above 1 + 8n. */
START_TEST(sizes)
{
    const uint32_t n[] = {4, 10, 60, 200}, limit[] = {8, 16, 68, 174};
    uint64_t random = suite_seed("values.sizes");
    double v[200];
    for (int j = 0; j < 4; j++) {
        struct states *s = states_new(&values_family, none, 1);
        double sum = 0;
        for (int round = 0; round < 200; round++) {
            for (uint32_t i = 0; i < n[j]; i++)
                v[i] = states_latency(&random);
            sum += states_build(s, v, n[j]);
            for (uint32_t i = 0; i < n[j]; i++)
                v[i] = random_bits_f64(&random);
            ck_assert_uint_le(states_build(s, v, n[j]), 1 + 8 * n[j]);
        }
        printf("values: %u latencies take %.1f bytes\n", n[j], sum / 200);
        ck_assert_double_le(sum / 200, limit[j]);
        states_free(s);
    }
}
END_TEST

/* Each kind of samples takes its form: the first byte, and the most bytes that it may need. */
START_TEST(forms)
{
    uint64_t random = suite_seed("values.forms");
    enum { N = 200 };
    double v[N];
    struct states *s = states_new(&values_family, none, 1);
    for (int kind = 0; kind < 8; kind++) {
        for (int i = 0; i < N; i++) {
            double noise = random_below(&random, 16), latency = states_latency(&random);
            const double kinds[] = {latency,                            /* decimals */
                                    exp(random_normal(&random)),        /* full mantissas far apart */
                                    1 + random_unit(&random) * 0x1p-16, /* and close together: 36 bits differ */
                                    (float)exp(random_normal(&random)), /* floats: 29 zero bits */
                                    i * 1000.0 + noise,                 /* even steps: 5 bits, not 10 */
                                    i * 1000.0 + noise + (i > 9) * 1e6, /* one of them large */
                                    latency / 1000,                     /* decimals but for the last bits */
                                    floor(latency) * 65536};            /* integers of 16 zero bits */
            v[i] = kinds[kind];
        }
        const int form[] = {QPANE_PACKED, QPANE_DOUBLES, QPANE_FRAME, QPANE_FRAME,
                            QPANE_FRAME,  QPANE_FRAME,   QPANE_FRAME, QPANE_FRAME};
        const size_t most[] = {320, 1 + 8 * N, 1 + 8 * N * 3 / 4, 1 + 8 * N / 2, 150, 160, 1 + 8 * N / 2, 200};
        size_t size = states_build(s, v, N);
        ck_assert_msg((s->ref[kind].bytes[0] & QPANE_FORM_MASK) == form[kind], "kind %d: form %d", kind,
                      s->ref[kind].bytes[0]);
        ck_assert_msg(size <= most[kind], "kind %d: %zu bytes", kind, size);
    }
    states_free(s);
}
END_TEST

/* The packed form's bytes, written out by hand: 40 samples 4.0, 3.9, ..., 0.1 at one decimal fall by 1 each. */
START_TEST(packed_bytes)
{
    double v[40];
    for (int i = 0; i < 40; i++)
        v[i] = (i + 1) / 10.0;
    const uint8_t expect[] = {QPANE_PACKED | 1 << 4, 40, 40, 0x11, 0x11, 0x01, 255, 255, 255, 255, 127};
    struct states *s = states_new(&values_family, none, 1);
    uint32_t size = states_build(s, v, 40);
    ck_assert_uint_le(size, sizeof expect);
    if (size == sizeof expect) /* a frame may be smaller */
        ck_assert_mem_eq(s->ref[0].bytes, expect, size);
    states_clear(s);
    states_push(s, expect, sizeof expect, 0);
    states_check(s, expect, sizeof expect);
    for (int i = 0; i < 40; i++)
        ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE_RANK, (i + 1) / 40.0), v[i]);
    states_free(s);
}
END_TEST

/* The tiny form's bytes, written out by hand: 0.25, 0.2 and -0.05 at two decimals are 25, 20, -5. */
START_TEST(tiny_bytes)
{
    const double v[] = {0.2, -0.05, 0.25};
    const uint8_t expect[] = {QPANE_TINY | 2 << 4, 25, 5, 25};
    const double below[] = {-0.5, -2};
    const uint8_t expect_below[] = {QPANE_TINY | 1 << 4 | 0x80, 5, 15};
    const double infinite[] = {INFINITY};
    const uint8_t expect_infinite[] = {QPANE_DOUBLES | QPANE_NONFINITE, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f};
    struct states *s = states_new(&values_family, none, 1);
    ck_assert_uint_eq(states_build(s, v, 3), sizeof expect);
    ck_assert_mem_eq(s->ref[0].bytes, expect, sizeof expect);
    ck_assert_uint_eq(states_build(s, below, 2), sizeof expect_below);
    ck_assert_mem_eq(s->ref[1].bytes, expect_below, sizeof expect_below);
    if (states_build(s, infinite, 1) == sizeof expect_infinite)
        ck_assert_mem_eq(s->ref[2].bytes, expect_infinite, sizeof expect_infinite);
    ck_assert(s->ref[2].bytes[0] & QPANE_NONFINITE);
    states_free(s);
}
END_TEST

START_TEST(refuses)
{
    const char *reason = NULL;
    const uint8_t unsorted[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    const uint8_t cut[] = {0, 1, 2, 3}, levels[] = {3, 1, 8, 0}, tiny_negative_zero[] = {2 | 0x80, 0};
    const uint8_t unflagged[] = {0, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f};
    ck_assert_int_eq(values_family.validate(unsorted, sizeof unsorted, &none, &reason), SKETCH_CORRUPT);
    ck_assert_int_eq(values_family.validate(cut, sizeof cut, &none, &reason), SKETCH_CORRUPT);
    ck_assert_int_eq(values_family.validate(levels, sizeof levels, &none, &reason), SKETCH_CORRUPT);
    ck_assert_int_eq(values_family.validate(tiny_negative_zero, 2, &none, &reason), SKETCH_CORRUPT);
    ck_assert_int_eq(values_family.validate(unflagged, sizeof unflagged, &none, &reason), SKETCH_CORRUPT);
    ck_assert_int_eq(values_family.validate(cut, 0, &none, &reason), SKETCH_CORRUPT);
    struct states *s = states_new(&values_family, none, 1);
    double v;
    ck_assert_int_eq(states_estimate(s, STATISTIC_QUANTILE, 0.5, &v), SKETCH_NONE);
    states_free(s);
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("values.damaged");
    static double v[700];
    struct states *s = states_new(&values_family, none, 1);
    for (uint32_t kind = 0; kind < 7; kind++) {
        for (uint32_t n = 3; n < 700; n *= 3) {
            for (uint32_t i = 0; i < n; i++)
                v[i] = draw(&random, kind);
            states_build(s, v, n);
        }
    }
    ck_assert_uint_gt(states_flip(s, &random, 20000), 0);
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("values");
    TCase *tc = tcase_create("values");
    tcase_add_test(tc, known_ranks);
    tcase_add_test(tc, not_finite);
    tcase_add_test(tc, any_split);
    tcase_add_test(tc, panes_apart);
    tcase_add_test(tc, sizes);
    tcase_add_test(tc, forms);
    tcase_add_test(tc, packed_bytes);
    tcase_add_test(tc, tiny_bytes);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, damaged);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
