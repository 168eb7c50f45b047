/* DDSketch: alpha at every bucket edge, signs, merges, bounded bins, sizes and damaged states. */
#include <float.h>
#include <math.h>

#include "kernels/ddcontent.h"
#include "kernels/gamma.h"
#include "kernels/ops.h"
#include "states.h"
#include "suite.h"

static struct sketch_params accuracy(double alpha)
{
    return (struct sketch_params){.alpha = alpha};
}

static int32_t index_of(const struct gamma_map *map, double x)
{
    int32_t index;
    ddsketch_ops.indexes(map, &x, 1, &index);
    ck_assert_int_eq(index, gamma_index(map, x));
    return index;
}

/* The index against logarithms in extended precision, away from the edges; at the edges: 1 opens bucket 0, the value
 * below it closes bucket -1, and an index never falls as values rise by one ulp across gamma^i. */
START_TEST(indices)
{
    const double alphas[] = {1e-6, 0.001, 0.01, 0.02, 0.0133, 0.1, 0.5, 0.99};
    uint64_t random = suite_seed("ddsketch.indices");
    for (int a = 0; a < 8; a++) {
        struct gamma_map map;
        gamma_init(&map, alphas[a]);
        long double ln_gamma = logl((1 + (long double)alphas[a]) / (1 - (long double)alphas[a]));
        ck_assert_int_eq(index_of(&map, 1.0), 0);
        ck_assert_int_eq(index_of(&map, nextafter(1.0, 0)), -1);
        ck_assert_int_lt(index_of(&map, DBL_MAX), GAMMA_INDEX_MAX);
        ck_assert_int_gt(index_of(&map, 5e-324), -GAMMA_INDEX_MAX);
        for (int i = 0; i < 20000; i++) {
            double x = fabs(random_bits_f64(&random));
            if (i % 2)
                x = exp(random_normal(&random) * 3);
            if (!(x > 0) || x > DBL_MAX)
                continue;
            long double t = logl(x) / ln_gamma;
            if (fabsl(t - roundl(t)) > 1e-16L * fabsl(t) + 1e-9L)
                ck_assert_msg(index_of(&map, x) == (int32_t)floorl(t), "alpha %g x %.17g", alphas[a], x);
        }
        for (int i = -600; i < 600; i++) {
            double x = (double)powl((1 + (long double)alphas[a]) / (1 - (long double)alphas[a]), i);
            if (x > 1e300 || x < 1e-300)
                continue;
            x = nextafter(nextafter(x, 0), 0);
            int32_t last = index_of(&map, x);
            ck_assert_int_eq(last, i - 1);
            for (int step = 0; step < 4; step++, last = index_of(&map, x)) {
                x = nextafter(x, INFINITY);
                ck_assert_int_ge(index_of(&map, x), last);
            }
            ck_assert_int_eq(last, i);
        }
    }
}
END_TEST

/* For x = gamma^k and just above gamma^(k-1) the representative is within alpha (the midpoint misses by 1.00505 %). */
START_TEST(bucket_edges)
{
    const double alphas[] = {0.001, 0.01, 0.05, 0.3};
    for (int a = 0; a < 4; a++) {
        struct gamma_map map;
        gamma_init(&map, alphas[a]);
        double gamma = (1 + alphas[a]) / (1 - alphas[a]);
        for (int k = -300; k < 300; k++) {
            double edge = pow(gamma, k);
            const double xs[] = {nextafter(edge, 0), edge, nextafter(edge, INFINITY)};
            for (int i = 0; i < 3; i++) {
                double v = gamma_representative(&map, index_of(&map, xs[i]));
                ck_assert_double_le(fabs(v / xs[i] - 1), alphas[a] * (1 + 1e-11));
            }
        }
    }
}
END_TEST

static struct states *of(double alpha, const double *v, uint32_t n)
{
    struct states *s = states_new(&ddsketch_family, accuracy(alpha), 0);
    states_build(s, v, n);
    return s;
}

START_TEST(signs)
{
    const double v[] = {-20, -2, 0, 0, 2, 20};
    struct states *s = of(0.01, v, 6);
    ck_assert_double_eq(states_read(s, STATISTIC_COUNT, 0), 6);
    ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE, 0.5), 0);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0), -20, 0.2);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 1), 20, 0.2);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE_RANK, 0.2), -2, 0.02);
    states_free(s);
    const double a[] = {-5, -1}, b[] = {-0.001, -300, -7};
    s = of(0.01, a, 2);
    states_build(s, b, 3);
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_OK);
    states_clear(s);
    states_push(s, merged, size, 0);
    free(merged);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0), -300, 3);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 1), -0.001, 0.00001);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0.5), -5, 0.05);
    states_free(s);
}
END_TEST

START_TEST(mismatch)
{
    const double v[] = {100};
    const char *reason = NULL;
    struct states *s = of(0.01, v, 1);
    s->params = accuracy(0.02);
    states_build(s, v, 1);
    uint8_t *merged = NULL;
    size_t size = 0;
    double got;
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_MISMATCH);
    ck_assert_int_eq(states_estimate(s, STATISTIC_QUANTILE, 0.5, &got), SKETCH_MISMATCH);
    ck_assert_int_eq(ddsketch_family.validate(s->ref[0].bytes, s->ref[0].size, &s->params, &reason), SKETCH_CORRUPT);
    states_free(s);
    /* An alpha that has no short code is told apart too. */
    s = of(0.0123456, v, 1);
    s->params = accuracy(0.0123457);
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_MISMATCH);
    states_free(s);
}
END_TEST

START_TEST(params)
{
    const double bad[] = {1e-17, 0, 1, -0.1, NAN, INFINITY, 1e-9};
    const char *reason = NULL;
    for (int i = 0; i < 7; i++) {
        struct sketch_params p = accuracy(bad[i]);
        reason = NULL;
        ck_assert_int_eq(ddsketch_family.check_params(&p, &reason), SKETCH_BAD_DATA);
        ck_assert_ptr_nonnull(reason);
    }
    struct sketch_params p = accuracy(0.01);
    ck_assert_int_eq(ddsketch_family.check_params(&p, &reason), SKETCH_OK);
    p.max_bins = 15;
    ck_assert_int_eq(ddsketch_family.check_params(&p, &reason), SKETCH_BAD_DATA);
}
END_TEST

/* One 1e300 among 1..10 costs bytes, not gigabytes; so do subnormal numbers. */
START_TEST(outlier)
{
    double v[13] = {1e300, 5e-324, -1e-310};
    for (int i = 0; i < 10; i++)
        v[3 + i] = i + 1;
    struct states *s = of(0.01, v, 13);
    ck_assert_uint_le(s->ref[0].size, 64);
    ck_assert_uint_lt(ddsketch_family.scratch_bound(&s->params, 13, 1), 1000000);
    ck_assert_uint_eq(ddsketch_family.flags(s->ref[0].bytes, s->ref[0].size), 0);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 1) / 1e300, 1, 0.01);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE_RANK, 0.5), 5, 0.05);
    ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE_RANK, 0.15), 5e-324);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0) / -1e-310, 1, 0.01);
    states_free(s);
}
END_TEST

/* With 16 bins for a wide spread the lowest fold together, the state says so, and the high quantiles keep alpha. */
START_TEST(collapses)
{
    double v[1000];
    struct states *s = states_new(&ddsketch_family, (struct sketch_params){.alpha = 0.01, .max_bins = 16}, 0);
    for (int i = 0; i < 1000; i++)
        v[i] = i < 900 ? exp(i * 0.1) : -exp(i * 0.05);
    states_build(s, v, 1000);
    ck_assert_uint_eq(ddsketch_family.flags(s->ref[0].bytes, s->ref[0].size), STATE_COLLAPSED);
    ck_assert_uint_eq(states_count(s), 1000);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 1) / exp(89.9), 1, 0.01);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE_RANK, 0.995) / exp(89.4), 1, 0.01);
    states_build(s, v + 100, 300);
    uint64_t random = suite_seed("ddsketch.collapses");
    size_t size = 0;
    uint8_t *merged = states_check_order(s, &random, &size);
    ck_assert_uint_eq(ddsketch_family.flags(merged, size), STATE_COLLAPSED);
    ck_assert_uint_eq(ddsketch_family.count(merged, size), 1300);
    free(merged);
    states_free(s);
}
END_TEST

static double draw(uint64_t *random, uint32_t kind)
{
    switch (kind) {
    case 0:
        return states_latency(random);
    case 1:
        return random_normal(random);
    case 2:
        return (double)((int)random_below(random, 9) - 4);
    case 3:
        return exp(20 * random_normal(random)) * (random_below(random, 2) ? 1 : -1);
    default:
        return 1000;
    }
}

/* Any split and order gives the bytes of the single build, and every quantile lies within alpha of Prometheus'. */
START_TEST(any_split)
{
    uint64_t random = suite_seed("ddsketch.any_split");
    const double alphas[] = {0.01, 0.05, 0.0007, 1e-6, 0.3};
    static double v[3000], sorted[3000];
    for (uint32_t round = 0; round < 150; round++) {
        uint32_t n = 1 + random_below(&random, round % 10 == 0 ? 1900 : 200), kind = round % 5;
        double alpha = alphas[random_below(&random, 5)];
        for (uint32_t i = 0; i < n; i++)
            sorted[i] = v[i] = draw(&random, kind);
        qsort(sorted, n, sizeof *sorted, states_rising);
        struct states *s = states_new(&ddsketch_family, accuracy(alpha), 1), *whole = of(alpha, v, n);
        states_split(s, v, n, 1 + n / (1 + random_below(&random, 40)), &random);
        ck_assert_uint_eq(states_count(s), n);
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size);
        ck_assert_uint_eq(size, whole->ref[0].size);
        ck_assert_mem_eq(merged, whole->ref[0].bytes, size);
        free(merged);
        for (int i = 0; i < 12; i++) {
            double q = i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 0.99 : random_unit(&random);
            double rank = q * (n - 1), at = states_prometheus(sorted, n, q);
            double low = sorted[(uint32_t)rank], high = sorted[(uint32_t)fmin(n - 1, floor(rank) + 1)];
            double larger = fmax(fabs(low), fabs(high)), got = states_read(s, STATISTIC_QUANTILE, q);
            ck_assert_msg(fabs(got - at) <= alpha * larger * (1 + 1e-9), "n %u alpha %g q %g: %g for %g", n, alpha, q,
                          got, at);
            ck_assert(got == states_read(whole, STATISTIC_QUANTILE, q));
            double exact = sorted[(uint32_t)fmax(1, ceil(q * n)) - 1];
            ck_assert_double_le(fabs(states_read(s, STATISTIC_QUANTILE_RANK, q) - exact),
                                alpha * fabs(exact) * (1 + 1e-9));
        }
        states_free(s);
        states_free(whole);
    }
}
END_TEST

/* What is read of the uppermost bins alone is what the whole sum has there. */
START_TEST(uppermost)
{
    uint64_t random = suite_seed("ddsketch.uppermost");
    unsigned found = 0;
    for (unsigned round = 0; round < 400; round++) {
        struct states *s = states_new(family_get(FAMILY_DDSKETCH), accuracy(0.01), 1);
        uint32_t k = 1 + random_below(&random, 40), all = 0;
        for (uint32_t i = 0; i < k; i++) {
            static double v[300];
            uint32_t n = 1 + random_below(&random, round % 2 ? 300 : 30);
            double spread = round % 3 ? 1 : 0.05;
            for (uint32_t j = 0; j < n; j++) {
                v[j] = exp(spread * random_normal(&random));
                v[j] = round % 5 == 0 && random_below(&random, 3) == 0 ? -v[j] : round % 7 == 0 && j < 9 ? 0 : v[j];
            }
            states_build(s, v, n);
            all += n;
        }
        size_t room = s->f->scratch_bound(&s->params, all, k);
        void *scratch = malloc(room), *other = malloc(room);
        struct ddcontent whole, top;
        ck_assert_int_eq(ddcontent_sum(&whole, s->ref, k, &s->params, scratch), SKETCH_OK);
        ck_assert_int_eq(ddcontent_open(&top, s->ref, k, &s->params, other), SKETCH_OK);
        ck_assert(top.positive.n == whole.positive.n && top.negative.n == whole.negative.n);
        ck_assert(top.zero_n == whole.zero_n && top.nonfinite_n == whole.nonfinite_n);
        uint64_t place = random_below(&random, 70), passed = 0;
        if (ddcontent_top(&top, k, place, other)) {
            found++;
            ck_assert_uint_lt(top.positive.bins_n - 1, whole.positive.bins_n);
            ck_assert_uint_eq(top.positive.top_share, whole.positive.top_share);
            for (uint32_t i = 0; i + 1 < top.positive.bins_n; i++) {
                ck_assert_int_eq(top.positive.bins[i].index, whole.positive.bins[i].index);
                ck_assert_uint_eq(top.positive.bins[i].n, whole.positive.bins[i].n);
                passed += top.positive.bins[i].n;
            }
            ck_assert_uint_gt(passed, place);
        }
        free(scratch);
        free(other);
        states_free(s);
    }
    ck_assert_uint_gt(found, 150);
}
END_TEST

START_TEST(not_finite)
{
    const double v[] = {NAN, 1, 2, 3, INFINITY};
    struct states *s = of(0.01, v, 5);
    ck_assert_uint_eq(ddsketch_family.flags(s->ref[0].bytes, s->ref[0].size), STATE_NONFINITE);
    ck_assert_uint_eq(states_count(s), 5);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0.5), 2, 0.02);
    ck_assert(isnan(states_read(s, STATISTIC_QUANTILE, NAN)));
    ck_assert(states_read(s, STATISTIC_QUANTILE, -0.1) == -INFINITY);
    ck_assert(states_read(s, STATISTIC_QUANTILE, 1.1) == INFINITY);
    states_clear(s);
    states_build(s, v, 1);
    double got;
    ck_assert_int_eq(states_estimate(s, STATISTIC_QUANTILE, 0.5, &got), SKETCH_NONE);
    states_clear(s);
    ck_assert_int_eq(states_estimate(s, STATISTIC_QUANTILE, 0.5, &got), SKETCH_NONE);
    states_free(s);
}
END_TEST

/* Bytes of panes of three-decimal latencies at 1 % (KERNELS.md). */
START_TEST(sizes)
{
    const uint32_t n[] = {4, 10, 60, 200}, limit[] = {9, 15, 64, 190};
    uint64_t random = suite_seed("ddsketch.sizes");
    double v[200];
    for (int j = 0; j < 4; j++) {
        double sum = 0;
        struct states *s = states_new(&ddsketch_family, accuracy(0.01), 0);
        for (int round = 0; round < 400; round++) {
            for (uint32_t i = 0; i < n[j]; i++)
                v[i] = states_latency(&random);
            sum += states_build(s, v, n[j]);
        }
        printf("ddsketch: %u latencies take %.1f bytes\n", n[j], sum / 400);
        ck_assert_double_le(sum / 400, limit[j]);
        states_free(s);
    }
}
END_TEST

/* Written out by hand: gamma = 3 at alpha 0.5, so 1 and 2 are bucket 0 and 10 is bucket 2; 4 zeros. */
START_TEST(bytes_by_hand)
{
    const double v[] = {0, 1, 10, -0.0, 2, 0, 0};
    struct states *s = of(0.5, v, 7);
    const uint8_t expect[] = {1 | 64, 1 << 4 | 5, 4, 24, 0, 4, 2, 0}; /* 256 (log3 10 - 2) = 24.6 */
    ck_assert_uint_eq(s->ref[0].size, sizeof expect);
    ck_assert_mem_eq(s->ref[0].bytes, expect, sizeof expect);
    states_free(s);
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("ddsketch.damaged");
    static double v[5000];
    struct states *s = states_new(&ddsketch_family, accuracy(0.01), 1);
    for (uint32_t kind = 0; kind < 5; kind++)
        for (uint32_t n = 2; n < 5000; n *= 5) {
            for (uint32_t i = 0; i < n; i++)
                v[i] = draw(&random, kind);
            v[n / 2] = n % 3 ? 0 : NAN;
            states_build(s, v, n);
        }
    ck_assert_uint_gt(states_flip(s, &random, 20000), 0);
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ddsketch");
    TCase *tc = tcase_create("ddsketch");
    tcase_add_test(tc, indices);
    tcase_add_test(tc, bucket_edges);
    tcase_add_test(tc, signs);
    tcase_add_test(tc, mismatch);
    tcase_add_test(tc, params);
    tcase_add_test(tc, outlier);
    tcase_add_test(tc, collapses);
    tcase_add_test(tc, any_split);
    tcase_add_test(tc, uppermost);
    tcase_add_test(tc, not_finite);
    tcase_add_test(tc, sizes);
    tcase_add_test(tc, bytes_by_hand);
    tcase_add_test(tc, damaged);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
