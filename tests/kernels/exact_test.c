/* Sum, min, max, count and moments: Prometheus' values, any split and order of panes, and refusal of damaged states. */
#include <float.h>
#include <math.h>

#include "kernels/bits.h"
#include "kernels/families.h"
#include "panes.h"
#include "suite.h"

static const struct family_info *const families[] = {&sum_family, &min_family, &max_family, &count_family,
                                                     &moments_family};
enum { FAMILIES_N = sizeof families / sizeof *families };

static const struct sketch_args all_time = {.start_ms = -1, .end_ms = 100000000};

/* Splits `values` into one pane for each run length in runs (0 ends them). */
static void cut(struct panes *p, const struct family_info *f, const double *values, const uint32_t *runs)
{
    int64_t times[64];
    for (int64_t i = 0; i < 64; i++)
        times[i] = i * 1000;
    p->k = 0;
    for (uint32_t at = 0; *runs; at += *runs, runs++)
        panes_add(p, f, times[at + *runs - 1], times + at, values + at, *runs);
}

static double read_cut(const struct family_info *f, enum statistic statistic, const double *values,
                       const uint32_t *runs)
{
    struct panes p;
    cut(&p, f, values, runs);
    return panes_read(&p, f, statistic, &all_time);
}
#define READ(f, statistic, runs, ...) read_cut(f, statistic, (const double[]){__VA_ARGS__}, (const uint32_t[])runs)
#define RUNS(...)                                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__, 0                                                                                                 \
    }

START_TEST(sums_are_compensated)
{
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(3), 1e16, 1, -1e16), 1);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(1, 1, 1), 1e16, 1, -1e16), 1);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(2, 1), 1e16, 1, -1e16), 1);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(1, 2), 1e16, 1, -1e16), 1);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(4, 4), 1, 1e100, 1, -1e100, 1, 1e100, 1, -1e100), 4);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(1, 3), 1, 1e100, 1, -1e100), 0.5);
}
END_TEST

START_TEST(averages_do_not_overflow)
{
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(2), 1e308, 1e308), 1e308);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(1, 1), 1e308, 1e308), 1e308);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(2, 2), 1e308, 1e308, 1e308, 1e308), 1e308);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(3, 1), -1e308, -1e308, -1e308, -1e308), -1e308);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(1, 3), 4e307, DBL_MAX, DBL_MAX, 4e307),
                        DBL_MAX / 2 + 2e307);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(2), 1e308, 1e308), INFINITY);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(1, 1), -1e308, -1e308), -INFINITY);
    struct panes p;
    cut(&p, &sum_family, (double[]){1e308, 1e308}, (uint32_t[]){2, 0});
    ck_assert_uint_eq(sum_family.flags(p.bytes[0], 24), STATE_NONFINITE);
    ck_assert_uint_eq(sum_family.count(p.bytes[0], 24), 2);
}
END_TEST

START_TEST(not_finite_samples_follow_prometheus)
{
    const double nan = NAN, inf = INFINITY;
    ck_assert_double_nan(READ(&sum_family, STATISTIC_SUM, RUNS(2, 3), nan, 1, 2, 3, inf));
    ck_assert_double_eq(READ(&sum_family, STATISTIC_SUM, RUNS(1, 2), 1, inf, 3), inf);
    ck_assert_double_nan(READ(&sum_family, STATISTIC_SUM, RUNS(1, 2), inf, -inf, 3));
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(3), 1, -inf, 3), -inf);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_AVG, RUNS(2, 1), 1e308, 1e308, inf), inf);
    ck_assert_double_eq(READ(&max_family, STATISTIC_MAX, RUNS(2, 3), nan, 1, 2, 3, inf), inf);
    ck_assert_double_eq(READ(&min_family, STATISTIC_MIN, RUNS(2, 3), nan, 1, 2, 3, inf), 1);
    ck_assert_double_eq(READ(&min_family, STATISTIC_MIN, RUNS(1, 1, 1), nan, 4, nan), 4);
    ck_assert_double_eq(READ(&max_family, STATISTIC_MAX, RUNS(3), 4, nan, 2), 4);
    ck_assert_double_nan(READ(&max_family, STATISTIC_MAX, RUNS(1, 2), nan, -nan, nan));
    ck_assert_double_nan(READ(&moments_family, STATISTIC_STDVAR, RUNS(1, 2), 1, inf, 3));
    ck_assert_double_nan(READ(&moments_family, STATISTIC_STDDEV, RUNS(2, 1), 1, nan, 3));
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDVAR, RUNS(1, 1), 1e200, -1e200), inf);
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDVAR, RUNS(2), 1e200, -1e200), inf);
}
END_TEST

START_TEST(the_earlier_zero_stays)
{
    ck_assert(signbit(READ(&min_family, STATISTIC_MIN, RUNS(2), -0.0, 0.0)));
    ck_assert(!signbit(READ(&min_family, STATISTIC_MIN, RUNS(1, 1), 0.0, -0.0)));
    ck_assert(signbit(READ(&max_family, STATISTIC_MAX, RUNS(1, 1), -0.0, 0.0)));
    ck_assert(!signbit(READ(&max_family, STATISTIC_MAX, RUNS(2), 0.0, -0.0)));
    ck_assert(!signbit(READ(&sum_family, STATISTIC_SUM, RUNS(1), -0.0)));
}
END_TEST

START_TEST(variance_survives_large_means)
{
    const double want = 4.7434164902525691; /* sqrt(22.5) */
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDDEV, RUNS(4), 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16), want);
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDDEV, RUNS(2, 2), 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16),
                        want);
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDDEV, RUNS(1, 3), 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16),
                        want);
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDVAR, RUNS(1, 1, 1, 1), 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16),
                        22.5);
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDVAR, RUNS(1), 5), 0);
    ck_assert_double_eq(READ(&moments_family, STATISTIC_STDDEV, RUNS(3, 2), 0.1, 0.1, 0.1, 0.1, 0.1), 0);
}
END_TEST

START_TEST(counts_and_presence)
{
    ck_assert_double_eq(READ(&count_family, STATISTIC_COUNT, RUNS(3, 2), 10, 10, NAN, 10, 10), 5);
    ck_assert_double_eq(READ(&count_family, STATISTIC_PRESENT, RUNS(3, 2), 7, 7, 7, 7, 7), 1);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_COUNT, RUNS(3, 2), 10, 10, NAN, 10, 10), 5);
    ck_assert_double_eq(READ(&sum_family, STATISTIC_PRESENT, RUNS(1), 0), 1);
    for (unsigned i = 0; i < FAMILIES_N; i++) {
        double v = 42;
        struct panes none = {.k = 0};
        enum statistic first = families[i]->readouts[0].statistic;
        ck_assert_int_eq(panes_estimate(&none, families[i], first, &all_time, &v), SKETCH_NONE);
        ck_assert_double_eq(v, 42);
        size_t size = 0;
        ck_assert_int_eq(families[i]->build(none.bytes[0], 64, &size, &panes_no_params, 0, NULL, NULL, 0, 0, NULL),
                         SKETCH_BAD_DATA);
        ck_assert_int_eq(families[i]->merge_k(none.bytes[0], 64, &size, &panes_no_params, 0, NULL, 0, 0, NULL),
                         SKETCH_BAD_DATA);
    }
}
END_TEST

/* Answers in long double, straight from the definitions. */
static long double definition(enum statistic statistic, const double *v, uint32_t n)
{
    long double sum = 0, squares = 0, low = v[0], high = v[0];
    for (uint32_t i = 0; i < n; i++) {
        sum += v[i];
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    for (uint32_t i = 0; i < n; i++)
        squares += (v[i] - sum / n) * (v[i] - sum / n);
    switch (statistic) {
    case STATISTIC_SUM:
        return sum;
    case STATISTIC_AVG:
        return sum / n;
    case STATISTIC_MIN:
        return low;
    case STATISTIC_MAX:
        return high;
    case STATISTIC_COUNT:
        return n;
    case STATISTIC_STDVAR:
        return squares / n;
    case STATISTIC_STDDEV:
        return sqrtl(squares / n);
    default:
        return 1;
    }
}

static bool bit_exact(enum statistic statistic)
{
    return statistic == STATISTIC_MIN || statistic == STATISTIC_MAX || statistic == STATISTIC_COUNT ||
           statistic == STATISTIC_PRESENT;
}

START_TEST(any_split_in_any_order_is_the_whole)
{
    uint64_t s = suite_seed("any_split_in_any_order_is_the_whole");
    static double values[PANES_SAMPLES_MAX];
    static int64_t times[PANES_SAMPLES_MAX];
    for (unsigned round = 0; round < 1500; round++) {
        const struct family_info *f = families[round % FAMILIES_N];
        uint32_t n = 1 + random_below(&s, PANES_SAMPLES_MAX);
        double scale = pow(10, (int)random_below(&s, 16) - 4), offset = random_below(&s, 3) * 1e6 * random_unit(&s);
        int64_t t = 0;
        for (uint32_t i = 0; i < n; i++) {
            times[i] = t += 1 + random_below(&s, 30000);
            values[i] = offset + scale * random_normal(&s);
        }
        struct panes p;
        panes_split(&p, &s, f, times, values, n);
        panes_check_merge(&p, &s, f, &(struct sketch_args){.end_ms = t}, 1e-12);
        for (uint32_t i = 0; i < f->readouts_n; i++) {
            enum statistic statistic = f->readouts[i].statistic;
            double got = panes_read(&p, f, statistic, &all_time), want = (double)definition(statistic, values, n);
            /* Sums may cancel; a distance from the mean carries the mean's rounding. */
            double loss = f == &sum_family ? 1e-9 * scale : f == &moments_family ? want * 1e-15 * offset / scale : 0;
            ck_assert_msg(bit_exact(statistic) ? got == want : panes_near(got, want, 1e-9) || fabs(got - want) <= loss,
                          "%s statistic %u of %u samples: %.17g, not %.17g", f->name, statistic, n, got, want);
        }
    }
}
END_TEST

START_TEST(any_bits_give_valid_states_and_one_order)
{
    uint64_t s = suite_seed("any_bits_give_valid_states_and_one_order");
    static double values[PANES_SAMPLES_MAX];
    static int64_t times[PANES_SAMPLES_MAX];
    for (unsigned round = 0; round < 1500; round++) {
        const struct family_info *f = families[round % FAMILIES_N];
        uint32_t n = 1 + random_below(&s, 200), rare = 1 + random_below(&s, 300);
        for (uint32_t i = 0; i < n; i++) {
            times[i] = 1000 * (int64_t)i;
            double v = random_below(&s, rare) ? (double)(random_u64(&s) >> 40) : random_bits_f64(&s);
            memcpy(&values[i], &v, 8);
        }
        struct panes p;
        panes_split(&p, &s, f, times, values, n);
        /* States of other series end at the same time. */
        for (uint32_t i = 0; i < p.k; i++)
            p.ref[i].end_ms -= p.ref[i].end_ms % 7000;
        uint8_t once[PANES_STATE_BYTES], again[PANES_STATE_BYTES];
        panes_merge(&p, f, once, 1000000, 0, p.k);
        for (unsigned order = 0; order < 4; order++) {
            panes_shuffle(&p, &s);
            panes_merge(&p, f, again, 1000000, 0, p.k);
            ck_assert_mem_eq(once, again, f->fixed_size);
        }
    }
}
END_TEST

static int validate(const struct family_info *f, const void *bytes, size_t n)
{
    const char *reason = NULL;
    int rc = f->validate(bytes, n, &panes_no_params, &reason);
    ck_assert_int_eq(rc != SKETCH_OK, reason != NULL);
    return rc;
}

START_TEST(damaged_states_are_refused)
{
    const double one_nan = bits_to_f64(BITS_NAN), other_nan = bits_to_f64(UINT64_C(0xfff8000000000000));
    const uint64_t scaled = UINT64_C(1) << 63;
    struct {
        double total, rest;
        uint64_t n;
        int rc;
    } sums[] = {{1, 0, 1, SKETCH_OK},
                {1, 0, 0, SKETCH_CORRUPT},
                {1, 0, scaled, SKETCH_CORRUPT},
                {1, 0, scaled | 2, SKETCH_OK},
                {1, 0, UINT64_C(1) << 62, SKETCH_CORRUPT},
                {1, INFINITY, 3, SKETCH_CORRUPT},
                {1, NAN, 3, SKETCH_CORRUPT},
                {1, 0x1p972, 1, SKETCH_OK},
                {1, -0x1.8p973, 2, SKETCH_CORRUPT}, /* two of 1e308 were a merge with an infinite compensation */
                {INFINITY, 0, 3, SKETCH_OK},
                {INFINITY, 1, 3, SKETCH_CORRUPT},
                {INFINITY, 0, scaled | 3, SKETCH_CORRUPT},
                {one_nan, 0, 3, SKETCH_OK},
                {other_nan, 0, 3, SKETCH_CORRUPT}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        ck_assert_msg(validate(&sum_family, &sums[i], 24) == sums[i].rc, "sum row %zu", i);
    struct {
        uint64_t n;
        double mean, mean_rest, m2, m2_rest;
        int rc;
    } moments[] = {{3, 1, 0, 2, 0, SKETCH_OK},
                   {0, 1, 0, 2, 0, SKETCH_CORRUPT},
                   {3, INFINITY, 0, 2, 0, SKETCH_CORRUPT},
                   {3, one_nan, 0, 0, 0, SKETCH_OK},
                   {3, one_nan, 0, 2, 0, SKETCH_CORRUPT},
                   {3, other_nan, 0, 0, 0, SKETCH_CORRUPT},
                   {3, 1, 0, INFINITY, 0, SKETCH_OK},
                   {3, 1, 0, INFINITY, 1, SKETCH_CORRUPT},
                   {3, 1, 0, -INFINITY, 0, SKETCH_CORRUPT},
                   {3, 1, 0, NAN, 0, SKETCH_CORRUPT},
                   {4, 1, -0x1p974, 2, 0x1p974, SKETCH_OK},
                   {4, 1, 1e308, 2, 0, SKETCH_CORRUPT},
                   {4, 1, 0, 2, -1e308, SKETCH_CORRUPT}};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        ck_assert_msg(validate(&moments_family, &moments[i], 40) == moments[i].rc, "moments row %zu", i);
    ck_assert_int_eq(validate(&min_family, &other_nan, 8), SKETCH_CORRUPT);
    ck_assert_int_eq(validate(&max_family, &one_nan, 8), SKETCH_OK);
    ck_assert_int_eq(validate(&count_family, &(uint64_t){0}, 8), SKETCH_CORRUPT);
    for (unsigned i = 0; i < FAMILIES_N; i++) {
        const struct family_info *f = families[i];
        struct panes p;
        cut(&p, f, (double[]){1, 2}, (uint32_t[]){2, 0});
        ck_assert_int_eq(validate(f, p.bytes[0], f->fixed_size - 1), SKETCH_CORRUPT);
        ck_assert_int_eq(validate(f, p.bytes[0], f->fixed_size + 1), SKETCH_CORRUPT);
        p.ref[0].size--;
        double v;
        ck_assert_int_eq(panes_estimate(&p, f, f->readouts[0].statistic, &all_time, &v), SKETCH_CORRUPT);
        p.ref[0].size++;
        ck_assert_int_eq(panes_estimate(&p, f, STATISTIC_QUANTILE, &all_time, &v), SKETCH_BAD_DATA);
        size_t size;
        ck_assert_int_eq(f->merge_k(p.bytes[1], f->fixed_size - 1, &size, &panes_no_params, 0, p.ref, 1, 0, NULL),
                         SKETCH_NO_ROOM);
        const char *reason = NULL;
        ck_assert_int_eq(f->check_params(&panes_no_params, &reason), SKETCH_OK);
        ck_assert_int_eq(f->check_params(&(struct sketch_params){.alpha = 0.01}, &reason), SKETCH_BAD_DATA);
        ck_assert_ptr_nonnull(reason);
    }
}
END_TEST

/* Counts that no state may claim, though each of two may. */
START_TEST(counts_do_not_leave_their_range)
{
    const struct {
        const struct family_info *f;
        unsigned at;
    } rows[] = {{&sum_family, 16}, {&count_family, 0}, {&moments_family, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct panes p;
        size_t size;
        cut(&p, rows[i].f, (double[]){1, 2}, (uint32_t[]){1, 1, 0});
        for (unsigned k = 0; k < 2; k++) {
            bits_store_u64(p.bytes[k] + rows[i].at, (UINT64_C(1) << 39) + k);
            ck_assert_int_eq(validate(rows[i].f, p.bytes[k], rows[i].f->fixed_size), SKETCH_OK);
        }
        ck_assert_int_eq(rows[i].f->merge_k(p.bytes[2], 64, &size, &panes_no_params, 1000, p.ref, 2, 0, p.scratch),
                         SKETCH_BAD_DATA);
        bits_store_u64(p.bytes[1] + rows[i].at, UINT64_C(1) << 39);
        ck_assert_int_eq(rows[i].f->merge_k(p.bytes[2], 64, &size, &panes_no_params, 1000, p.ref, 2, 0, p.scratch),
                         SKETCH_OK);
        ck_assert_int_eq(validate(rows[i].f, p.bytes[2], size), SKETCH_OK);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels/exact");
    TCase *c = tcase_create("exact");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, sums_are_compensated);
    tcase_add_test(c, averages_do_not_overflow);
    tcase_add_test(c, not_finite_samples_follow_prometheus);
    tcase_add_test(c, the_earlier_zero_stays);
    tcase_add_test(c, variance_survives_large_means);
    tcase_add_test(c, counts_and_presence);
    tcase_add_test(c, any_split_in_any_order_is_the_whole);
    tcase_add_test(c, any_bits_give_valid_states_and_one_order);
    tcase_add_test(c, damaged_states_are_refused);
    tcase_add_test(c, counts_do_not_leave_their_range);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
