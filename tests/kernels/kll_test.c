/* KLL: exact up to k, the rank error beyond and after merges, weights that add up, bytes that repeat. */
#include <math.h>

#include "kernels/qpane.h"
#include "states.h"
#include "suite.h"

static struct sketch_params size_k(uint32_t k)
{
    return (struct sketch_params){.k = k};
}

/* The 99 % single-sided bound of KLL at k (Apache DataSketches' fit). */
static double bound_of(uint32_t k)
{
    return 2.296 / pow(k, 0.9723);
}

/* How far q is from the share of samples below v or the share up to v. */
static double rank_miss(const double *sorted, uint32_t n, double q, double v)
{
    uint32_t below = 0, upto = 0, half;
    for (half = 1; half < n; half *= 2)
        ;
    for (uint32_t step = half; step > 0; step /= 2) {
        if (below + step <= n && sorted[below + step - 1] < v)
            below += step;
        if (upto + step <= n && sorted[upto + step - 1] <= v)
            upto += step;
    }
    double low = (double)below / n, high = (double)upto / n;
    return q < low ? low - q : q > high ? q - high : 0;
}

enum shape { SHUFFLED, RISING, FALLING, FEW_VALUES, LOGNORMAL, ZOOMING, SHAPES };

/* Zooming in: every sample lies between the two before it, which defeats sketches that keep the ends. */
static void draw(double *v, uint32_t n, enum shape shape, uint64_t *random)
{
    for (uint32_t i = 0; i < n; i++) {
        double place = shape == ZOOMING ? (i % 2 ? n - i : i) : i;
        v[i] = shape == FALLING      ? n - i
               : shape == FEW_VALUES ? random_below(random, 5)
               : shape == LOGNORMAL  ? exp(1.5 * random_normal(random))
                                     : place;
    }
    for (uint32_t i = n; shape == SHUFFLED && i > 1; i--) {
        uint32_t j = random_below(random, i);
        double keep = v[i - 1];
        v[i - 1] = v[j];
        v[j] = keep;
    }
}

struct misses {
    double worst, squares;
    uint32_t over, n;
};

static void measure(struct misses *m, const struct states *s, const double *sorted, uint32_t n)
{
    for (double q = 0.01; q < 1; q += 0.07) {
        double miss = rank_miss(sorted, n, q, states_read(s, STATISTIC_QUANTILE_RANK, q));
        m->worst = fmax(m->worst, miss);
        m->squares += miss * miss;
        m->over += miss > bound_of(s->params.k);
        m->n++;
        double between = states_read(s, STATISTIC_QUANTILE, q);
        ck_assert_double_le(rank_miss(sorted, n, q, between), 2 * bound_of(s->params.k) + 1.0 / n);
    }
}

static void report(const char *what, const struct misses *m, uint32_t k)
{
    double rms = sqrt(m->squares / m->n);
    printf("kll: %-22s k %5u: rank error rms %.5f worst %.5f, bound %.5f\n", what, k, rms, m->worst, bound_of(k));
    ck_assert_msg(m->over * 100 <= m->n, "%s: %u of %u over the bound", what, m->over, m->n);
    /* A normal error that meets the bound at 99 % has a third of it (1 / 2.33) as its root mean square. */
    ck_assert_double_le(rms, bound_of(k) / 2.33);
}

/* One build of each shape and size, many seeds. */
START_TEST(build_error)
{
    uint64_t random = suite_seed("kll.build_error");
    const uint32_t ks[] = {8, 50, 200, 800}, ns[] = {1000, 12000, 60000};
    double *v = malloc(60000 * sizeof *v), *sorted = malloc(60000 * sizeof *v);
    for (int i = 0; i < 4; i++) {
        struct misses m = {0};
        for (int j = 0; j < 3; j++)
            for (int shape = 0; shape < SHAPES; shape++) {
                draw(v, ns[j], (enum shape)shape, &random);
                memcpy(sorted, v, ns[j] * sizeof *v);
                qsort(sorted, ns[j], sizeof *sorted, states_rising);
                struct states *s = states_new(&kll_family, size_k(ks[i]), 0);
                for (int round = 0; round < 8; round++) {
                    s->seed = random_u64(&random);
                    states_build(s, v, ns[j]);
                    measure(&m, s, sorted, ns[j]);
                    states_clear(s);
                }
                states_free(s);
            }
        report("one build", &m, ks[i]);
    }
    free(v);
    free(sorted);
}
END_TEST

/* 60 compacted panes of 1,000: n exact, the error of their merge and of reading them apart within the bound. */
START_TEST(merge_error)
{
    enum { PANES = 60, EACH = 1000, N = PANES * EACH };
    uint64_t random = suite_seed("kll.merge_error");
    static double v[N], sorted[N];
    struct misses merged = {0}, apart = {0};
    for (int round = 0; round < 36; round++) {
        draw(v, N, (enum shape)(round % SHAPES), &random);
        memcpy(sorted, v, sizeof v);
        qsort(sorted, N, sizeof *sorted, states_rising);
        struct states *s = states_new(&kll_family, size_k(200), random_u64(&random));
        struct states *one = states_new(&kll_family, size_k(200), 0);
        for (int i = 0; i < PANES; i++)
            states_build(s, v + i * EACH, EACH);
        size_t size = 0;
        uint8_t *bytes = states_check_order(s, &random, &size);
        states_push(one, bytes, size, 0);
        ck_assert_uint_eq(states_count(one), N);
        ck_assert_double_eq(states_read(one, STATISTIC_COUNT, 0), N);
        ck_assert_double_eq(states_read(one, STATISTIC_MIN, 0), sorted[0]);
        ck_assert_double_eq(states_read(one, STATISTIC_MAX, 0), sorted[N - 1]);
        ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE, 0), sorted[0]);
        ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE, 1), sorted[N - 1]);
        measure(&merged, one, sorted, N);
        measure(&apart, s, sorted, N);
        free(bytes);
        states_free(s);
        states_free(one);
    }
    report("60 panes merged", &merged, 200);
    report("60 panes apart", &apart, 200);
}
END_TEST

/* Worst habit: one long state takes in small panes one after the other, as a late roll-up might. */
START_TEST(chain_error)
{
    enum { EACH = 40, N = 20000 };
    uint64_t random = suite_seed("kll.chain_error");
    static double v[N], sorted[N];
    struct misses m = {0};
    for (int round = 0; round < 12; round++) {
        draw(v, N, (enum shape)(round % SHAPES), &random);
        memcpy(sorted, v, sizeof v);
        qsort(sorted, N, sizeof *sorted, states_rising);
        struct states *s = states_new(&kll_family, size_k(200), 0);
        for (int at = 0; at < N; at += EACH) {
            uint8_t *bytes = NULL;
            size_t size = 0;
            s->seed = random_u64(&random);
            states_build(s, v + at, EACH);
            ck_assert_int_eq(states_merge(s, &bytes, &size), SKETCH_OK);
            states_clear(s);
            states_push(s, bytes, size, 0);
            states_check(s, bytes, size);
            free(bytes);
            ck_assert_uint_eq(states_count(s), at + EACH);
        }
        measure(&m, s, sorted, N);
        states_free(s);
    }
    report("500 merges in a chain", &m, 200);
}
END_TEST

/* k = 200, 1..1000, merged into nothing else: n and the median survive (lost weight gave n = 350, median 700). */
START_TEST(merge_keeps_weight)
{
    double v[1000];
    struct states *s = states_new(&kll_family, size_k(200), 9);
    for (int i = 0; i < 1000; i++)
        v[i] = i + 1;
    states_build(s, v, 1000);
    uint8_t *bytes = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(s, &bytes, &size), SKETCH_OK);
    states_clear(s);
    states_push(s, bytes, size, 0);
    free(bytes);
    ck_assert_uint_eq(states_count(s), 1000);
    ck_assert_double_eq_tol(states_read(s, STATISTIC_QUANTILE, 0.5), 500, 17);
    states_free(s);
}
END_TEST

/* While every pane is exact, so is the answer; and the bytes are VALUES' bytes. */
START_TEST(exact_up_to_k)
{
    uint64_t random = suite_seed("kll.exact_up_to_k");
    static double v[2000], sorted[2000];
    for (int round = 0; round < 100; round++) {
        uint32_t n = 1 + random_below(&random, 2000);
        struct states *s = states_new(&kll_family, size_k(60), 1), *exact = states_new(&values_family, size_k(0), 1);
        for (uint32_t i = 0; i < n; i++)
            sorted[i] = v[i] = states_latency(&random);
        qsort(sorted, n, sizeof *sorted, states_rising);
        states_split(s, v, n, 60, &random);
        for (int i = 0; i < 10; i++) {
            double q = random_unit(&random);
            ck_assert_double_eq(states_read(s, STATISTIC_QUANTILE, q), states_prometheus(sorted, n, q));
        }
        states_clear(s);
        uint32_t few = 1 + random_below(&random, 60), size = states_build(s, v, few);
        ck_assert_uint_eq(states_build(exact, v, few), size);
        ck_assert_mem_eq(s->ref[0].bytes, exact->ref[0].bytes, size);
        states_free(s);
        states_free(exact);
    }
}
END_TEST

/* Random splits, small and large panes mixed: valid, same bytes in any order, and a rebuild repeats itself. */
START_TEST(any_split)
{
    uint64_t random = suite_seed("kll.any_split");
    static double v[8000];
    for (int round = 0; round < 60; round++) {
        uint32_t n = 1 + random_below(&random, 8000), k = 8 + random_below(&random, 300);
        struct states *s = states_new(&kll_family, size_k(k), random_u64(&random));
        draw(v, n, (enum shape)(round % SHAPES), &random);
        states_split(s, v, n, 1 + n / (1 + random_below(&random, 30)), &random);
        ck_assert_uint_eq(states_count(s), n);
        size_t size = 0;
        uint8_t *once = states_check_order(s, &random, &size);
        ck_assert_uint_eq(kll_family.count(once, size), n);
        ck_assert_uint_le(size, kll_family.size_bound(&s->params, n));
        free(once);
        struct states *again = states_new(&kll_family, s->params, s->seed);
        states_build(again, v, n);
        again->seed -= 977;
        states_build(again, v, n);
        ck_assert_uint_eq(again->ref[0].size, again->ref[1].size);
        ck_assert_mem_eq(again->ref[0].bytes, again->ref[1].bytes, again->ref[0].size);
        states_free(again);
        states_free(s);
    }
}
END_TEST

START_TEST(not_finite)
{
    double v[100];
    for (int i = 0; i < 100; i++)
        v[i] = i;
    struct states *s = states_new(&kll_family, size_k(20), 1);
    states_build(s, v, 100);
    ck_assert_uint_eq(kll_family.flags(s->ref[0].bytes, s->ref[0].size), 0);
    const double odd[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        v[40] = odd[i];
        states_build(s, v, 100);
        states_build(s, v + 30, 15);
    }
    for (uint32_t i = 1; i < s->k; i++)
        ck_assert_uint_eq(kll_family.flags(s->ref[i].bytes, s->ref[i].size), STATE_NONFINITE);
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_OK);
    states_check(s, merged, size);
    ck_assert_uint_eq(kll_family.flags(merged, size), STATE_NONFINITE);
    free(merged);
    ck_assert(isnan(states_read(s, STATISTIC_QUANTILE, NAN)));
    ck_assert(states_read(s, STATISTIC_QUANTILE, -0.1) == -INFINITY);
    ck_assert(states_read(s, STATISTIC_QUANTILE, 1.1) == INFINITY);
    states_free(s);
}
END_TEST

START_TEST(refuses)
{
    const char *reason = NULL;
    for (uint32_t k = 0; k < 8; k++) {
        struct sketch_params p = size_k(k);
        ck_assert_int_eq(kll_family.check_params(&p, &reason), SKETCH_BAD_DATA);
        ck_assert_ptr_nonnull(reason);
    }
    struct sketch_params large = size_k(65536), most = size_k(65535), fifty = size_k(50);
    ck_assert_int_eq(kll_family.check_params(&large, &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(kll_family.check_params(&most, &reason), SKETCH_OK);
    double v[300];
    for (int i = 0; i < 300; i++)
        v[i] = i;
    struct states *s = states_new(&kll_family, size_k(40), 1);
    states_build(s, v, 300);
    ck_assert_int_eq(kll_family.validate(s->ref[0].bytes, s->ref[0].size, &fifty, &reason), SKETCH_CORRUPT);
    s->params = fifty;
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_MISMATCH);
    ck_assert_int_eq(states_estimate(s, STATISTIC_QUANTILE, 0.5, v), SKETCH_MISMATCH);
    states_free(s);
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("kll.damaged");
    static double v[5000];
    struct states *s = states_new(&kll_family, size_k(16), 1);
    for (uint32_t n = 1; n < 5000; n *= 3) {
        draw(v, n, LOGNORMAL, &random);
        states_build(s, v, n);
    }
    ck_assert_uint_gt(states_flip(s, &random, 20000), 0);
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kll");
    TCase *tc = tcase_create("kll");
    tcase_add_test(tc, build_error);
    tcase_add_test(tc, merge_error);
    tcase_add_test(tc, chain_error);
    tcase_add_test(tc, merge_keeps_weight);
    tcase_add_test(tc, exact_up_to_k);
    tcase_add_test(tc, any_split);
    tcase_add_test(tc, not_finite);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, damaged);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
