/*
 * Least squares: Prometheus' lines for any cut and order of panes, exact zeros, and refusal of damaged states.
 * Expected values are arithmetic, or the definition in long double.
 */
#include <float.h>
#include <math.h>

#include "kernels/bits.h"
#include "kernels/families.h"
#include "panes.h"
#include "suite.h"

static const struct family_info *const f = &regression_family;

static struct sketch_args ahead(int64_t end_ms, double seconds)
{
    return (struct sketch_args){.end_ms = end_ms, .ahead_s = seconds};
}

static bool same_bits(double a, double b)
{
    return bits_of_f64(a) == bits_of_f64(b);
}

/* A line through samples every 10 s: 3 at the window's end, 0.5 a second. */
START_TEST(lines_are_found)
{
    enum { N = 40 };
    int64_t times[N];
    double values[N];
    const int64_t end_ms = INT64_C(1700000000000);
    for (int i = 0; i < N; i++) {
        times[i] = end_ms - 10000 * (N - 1 - i);
        values[i] = 3 - 5 * (N - 1 - i);
    }
    uint64_t s = suite_seed("lines_are_found");
    for (int round = 0; round < 200; round++) {
        struct panes p;
        panes_split(&p, &s, f, times, values, N);
        panes_shuffle(&p, &s);
        struct sketch_args now = ahead(end_ms, 0), later = ahead(end_ms, 3600), before = ahead(end_ms - 60000, 60);
        ck_assert_double_eq_tol(panes_read(&p, f, STATISTIC_DERIV, &now), 0.5, 1e-13);
        ck_assert_double_eq_tol(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &now), 3, 1e-11);
        ck_assert_double_eq_tol(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &later), 1803, 1e-9);
        ck_assert_double_eq_tol(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &before), 3, 1e-11);
    }
}
END_TEST

/* 1e9 and a rise of 1/4 a second over a day, irregular: sums of products would lose nine digits of the slope. */
START_TEST(slopes_survive_large_values)
{
    enum { N = PANES_SAMPLES_MAX };
    static int64_t times[N];
    static double values[N];
    uint64_t s = suite_seed("slopes_survive_large_values");
    int64_t t = 0;
    for (int i = 0; i < N; i++) {
        times[i] = t += 1000 * (1 + (int64_t)random_below(&s, 288));
        values[i] = 1e9 + 0.25 * (double)(t / 1000); /* exact */
    }
    for (int round = 0; round < 50; round++) {
        struct panes p;
        panes_split(&p, &s, f, times, values, N);
        panes_shuffle(&p, &s);
        struct sketch_args now = ahead(t, 4000);
        ck_assert_double_eq_tol(panes_read(&p, f, STATISTIC_DERIV, &now), 0.25, 0.25 * 1e-14);
        ck_assert_double_eq_tol(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &now),
                                1e9 + 0.25 * (double)(t / 1000) + 1000, 1e-6);
    }
}
END_TEST

/* Prometheus: no slope but exactly 0, and that value at all times; an infinite constant has no line. */
START_TEST(constants_have_no_slope)
{
    enum { N = 60 };
    static const double constants[] = {0.1, -7, 1e308, -DBL_MAX, DBL_MIN, 5e-324, 0, 1.0 / 3};
    int64_t times[N];
    double values[N];
    uint64_t s = suite_seed("constants_have_no_slope");
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
        for (int round = 0; round < 30; round++) {
            int64_t t = 0;
            for (int i = 0; i < N; i++) {
                times[i] = t += 1 + random_below(&s, 20000);
                values[i] = constants[c] == 0 && random_below(&s, 2) ? -0.0 : constants[c];
            }
            struct panes p;
            panes_split(&p, &s, f, times, values, N);
            panes_shuffle(&p, &s);
            struct sketch_args later = ahead(t + 777, 86400);
            ck_assert(same_bits(panes_read(&p, f, STATISTIC_DERIV, &later), 0.0));
            ck_assert_double_eq(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &later), constants[c]);
            uint8_t merged[PANES_STATE_BYTES];
            panes_merge(&p, f, merged, t, 0, p.k);
            p.ref[0] = (struct state_ref){merged, f->fixed_size, t};
            p.k = 1;
            ck_assert(same_bits(panes_read(&p, f, STATISTIC_DERIV, &later), 0.0));
            ck_assert_double_eq(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &later), constants[c]);
        }
    }
    for (int i = 0; i < 4; i++) {
        times[i] = i;
        values[i] = -INFINITY;
    }
    struct panes p = {.k = 0};
    panes_add(&p, f, 3, times, values, 2);
    panes_add(&p, f, 3, times + 2, values + 2, 2);
    struct sketch_args now = ahead(3, 0);
    ck_assert_double_nan(panes_read(&p, f, STATISTIC_DERIV, &now));
    ck_assert_double_nan(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &now));
}
END_TEST

START_TEST(few_samples_and_those_not_finite)
{
    const int64_t times[] = {1000, 2000, 3000};
    struct panes p = {.k = 0};
    struct sketch_args now = ahead(3000, 1);
    double v = 42;
    ck_assert_int_eq(panes_estimate(&p, f, STATISTIC_DERIV, &now, &v), SKETCH_NONE);
    panes_add(&p, f, 1500, times, (const double[]){NAN}, 1);
    ck_assert_int_eq(panes_estimate(&p, f, STATISTIC_DERIV, &now, &v), SKETCH_NONE);
    ck_assert_int_eq(panes_estimate(&p, f, STATISTIC_PREDICT_LINEAR, &now, &v), SKETCH_NONE);
    ck_assert_double_eq(v, 42);
    ck_assert_uint_eq(f->flags(p.bytes[0], f->fixed_size), STATE_NONFINITE);
    panes_add(&p, f, 2500, times + 1, (const double[]){1}, 1);
    ck_assert_double_nan(panes_read(&p, f, STATISTIC_DERIV, &now));
    ck_assert_uint_eq(f->flags(p.bytes[1], f->fixed_size), 0);
    ck_assert_uint_eq(f->count(p.bytes[1], f->fixed_size), 1);
    p.k = 0;
    panes_add(&p, f, 3000, times, (const double[]){1, INFINITY, 2}, 3);
    ck_assert_double_nan(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &now));
    ck_assert_uint_eq(f->count(p.bytes[0], f->fixed_size), 3);
    p.k = 0;
    panes_add(&p, f, 1000, times, (const double[]){5}, 1);
    panes_add(&p, f, 2000, times + 1, (const double[]){7}, 1);
    ck_assert_double_eq(panes_read(&p, f, STATISTIC_DERIV, &now), 2);
    ck_assert_double_eq(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &now), 11);
}
END_TEST

struct line {
    long double slope, at_end, mean_size, slope_size; /* sizes: what rounding is relative to */
};

/* Straight from the definition: distances from the means, in long double. */
static struct line definition(const int64_t *times_ms, const double *v, uint32_t n, int64_t end_ms)
{
    long double t_mean = 0, v_mean = 0, products = 0, squares = 0, size = 0, v_size = 0;
    for (uint32_t i = 0; i < n; i++) {
        t_mean += (times_ms[i] - end_ms) / 1000.0L / n;
        v_mean += (long double)v[i] / n;
        v_size += fabsl(v[i]) / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        long double t = (times_ms[i] - end_ms) / 1000.0L - t_mean;
        products += t * (v[i] - v_mean);
        size += fabsl(t * (v[i] - v_mean));
        squares += t * t;
    }
    long double slope = products / squares;
    return (struct line){slope, v_mean - slope * t_mean, v_size, size / squares};
}

START_TEST(any_split_in_any_order_is_the_whole)
{
    uint64_t s = suite_seed("any_split_in_any_order_is_the_whole");
    static double values[PANES_SAMPLES_MAX];
    static int64_t times[PANES_SAMPLES_MAX];
    for (unsigned round = 0; round < 600; round++) {
        uint32_t n = 2 + random_below(&s, PANES_SAMPLES_MAX - 2);
        double scale = pow(10, (int)random_below(&s, 16) - 4), offset = random_below(&s, 3) * 1e6 * random_unit(&s);
        double rise = scale * random_normal(&s) * 1e-6 * random_below(&s, 3);
        uint32_t step = round % 7 == 0 ? 3000000 : 30000; /* up to 20 days */
        int64_t t = INT64_C(1700000000000);
        for (uint32_t i = 0; i < n; i++) {
            times[i] = t += 1 + random_below(&s, step);
            values[i] = offset + rise * (double)(t - times[0]) + scale * random_normal(&s);
        }
        struct panes p;
        panes_split(&p, &s, f, times, values, n);
        struct sketch_args args = ahead(t + random_below(&s, 100000), 60 * (random_unit(&s) - 0.5));
        struct line line = definition(times, values, n, args.end_ms);
        /* Of a cancelling sum only what it was summed from bounds the rounding. */
        double slope = panes_read(&p, f, STATISTIC_DERIV, &args), want = (double)line.slope;
        ck_assert_msg(panes_near(slope, want, 1e-9) || fabs(slope - want) <= 1e-13 * (double)line.slope_size,
                      "slope of %u samples: %.17g, not %.17g", n, slope, want);
        double value = panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &args);
        want = (double)(line.at_end + line.slope * args.ahead_s);
        double reach = (double)(args.end_ms - times[0]) / 1e3 + 30;
        double loss = 1e-13 * ((double)line.mean_size + (double)line.slope_size * reach);
        ck_assert_msg(panes_near(value, want, 1e-9) || fabs(value - want) <= loss,
                      "prediction of %u samples: %.17g, not %.17g", n, value, want);
        /* What is near 0 by cancelling differs from merge to merge: the order of bytes is all that is asked then. */
        uint8_t once[PANES_STATE_BYTES], again[PANES_STATE_BYTES];
        panes_merge(&p, f, once, args.end_ms, 0, p.k);
        for (unsigned order = 0; order < 4; order++) {
            panes_shuffle(&p, &s);
            panes_merge(&p, f, again, args.end_ms, 0, p.k);
            ck_assert_mem_eq(once, again, f->fixed_size);
            ck_assert(same_bits(panes_read(&p, f, STATISTIC_DERIV, &args), slope));
            ck_assert(same_bits(panes_read(&p, f, STATISTIC_PREDICT_LINEAR, &args), value));
        }
        struct panes merged = {.k = 1, .ref = {{once, f->fixed_size, args.end_ms}}};
        double from_merge = panes_read(&merged, f, STATISTIC_DERIV, &args);
        ck_assert(panes_near(from_merge, slope, 1e-12) || fabs(from_merge - slope) <= 1e-13 * (double)line.slope_size);
        from_merge = panes_read(&merged, f, STATISTIC_PREDICT_LINEAR, &args);
        ck_assert(panes_near(from_merge, value, 1e-12) || fabs(from_merge - value) <= loss);
    }
}
END_TEST

START_TEST(any_bits_give_valid_states_and_one_order)
{
    uint64_t s = suite_seed("any_bits_give_valid_states_and_one_order");
    static double values[PANES_SAMPLES_MAX];
    static int64_t times[PANES_SAMPLES_MAX];
    for (unsigned round = 0; round < 600; round++) {
        uint32_t n = 1 + random_below(&s, 200), rare = 1 + random_below(&s, 300);
        for (uint32_t i = 0; i < n; i++) {
            times[i] = 1000 * (int64_t)i;
            double v = random_below(&s, rare) ? (double)(random_u64(&s) >> 40) : random_bits_f64(&s);
            values[i] = random_below(&s, 4 * rare) ? v : copysign(DBL_MAX, v);
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

static int validate(const void *bytes, size_t n)
{
    const char *reason = NULL;
    int rc = f->validate(bytes, n, &panes_no_params, &reason);
    ck_assert_int_eq(rc != SKETCH_OK, reason != NULL);
    return rc;
}

START_TEST(damaged_states_are_refused)
{
    const double one_nan = bits_to_f64(BITS_NAN), other_nan = bits_to_f64(UINT64_C(0xfff8000000000000));
    const struct {
        uint64_t n;
        double time, time_m2, mean, mean_rest, product, product_rest;
        int rc;
    } rows[] = {{3, -5, 9, 1, 0, 2, 0, SKETCH_OK},
                {0, -5, 9, 1, 0, 2, 0, SKETCH_CORRUPT},
                {UINT64_C(1) << 41, -5, 9, 1, 0, 2, 0, SKETCH_CORRUPT},
                {3, 1, 9, 1, 0, 2, 0, SKETCH_CORRUPT},
                {3, -0x1p32, 9, 1, 0, 2, 0, SKETCH_CORRUPT},
                {3, one_nan, 9, 1, 0, 2, 0, SKETCH_CORRUPT},
                {3, -5, -1, 1, 0, 2, 0, SKETCH_CORRUPT},
                {3, -5, 0x1p65, 1, 0, 2, 0, SKETCH_CORRUPT},
                {3, -5, one_nan, 1, 0, 2, 0, SKETCH_CORRUPT},
                {3, -5, 9, INFINITY, 0, 2, 0, SKETCH_CORRUPT},
                {3, -5, 9, one_nan, 0, 0, 0, SKETCH_OK},
                {3, -5, 9, one_nan, 1, 0, 0, SKETCH_CORRUPT},
                {3, -5, 9, one_nan, 0, 2, 0, SKETCH_CORRUPT},
                {3, -5, 9, other_nan, 0, 0, 0, SKETCH_CORRUPT},
                {3, -5, 9, 1, INFINITY, 2, 0, SKETCH_CORRUPT},
                {3, -5, 9, 1, 0, INFINITY, 0, SKETCH_CORRUPT},
                {3, -5, 9, 1, 0, 2, NAN, SKETCH_CORRUPT},
                {1, -5, 0, 1, 0, 0, 0, SKETCH_OK},
                {1, -5, 9, 1, 0, 0, 0, SKETCH_CORRUPT},
                {1, -5, 0, 1, 0, 2, 0, SKETCH_CORRUPT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(validate(&rows[i], 56) == rows[i].rc, "row %zu", i);
    struct panes p = {.k = 0};
    const int64_t times[] = {1000, 2000};
    const double values[] = {1, 2};
    panes_add(&p, f, 2000, times, values, 2);
    ck_assert_int_eq(validate(p.bytes[0], 55), SKETCH_CORRUPT);
    ck_assert_int_eq(validate(p.bytes[0], 57), SKETCH_CORRUPT);
    struct sketch_args now = ahead(2000, 0), never = ahead(INT64_MAX, 0);
    double v;
    size_t size;
    ck_assert_int_eq(panes_estimate(&p, f, STATISTIC_PREDICT_LINEAR, &never, &v), SKETCH_BAD_DATA);
    ck_assert_int_eq(panes_estimate(&p, f, STATISTIC_STDDEV, &now, &v), SKETCH_BAD_DATA);
    p.ref[0].size--;
    ck_assert_int_eq(panes_estimate(&p, f, STATISTIC_DERIV, &now, &v), SKETCH_CORRUPT);
    p.ref[0].size++;
    ck_assert_int_eq(f->merge_k(p.bytes[1], 55, &size, &panes_no_params, 2000, p.ref, 1, 0, p.scratch), SKETCH_NO_ROOM);
    ck_assert_int_eq(f->build(p.bytes[1], 55, &size, &panes_no_params, 2000, times, values, 2, 0, NULL),
                     SKETCH_NO_ROOM);
    /* Samples after the end, or further before it than a state reaches. */
    ck_assert_int_eq(f->build(p.bytes[1], 56, &size, &panes_no_params, 1999, times, values, 2, 0, NULL),
                     SKETCH_BAD_DATA);
    ck_assert_int_eq(f->build(p.bytes[1], 56, &size, &panes_no_params, INT64_C(1) << 32, times, values, 2, 0, NULL),
                     SKETCH_BAD_DATA);
    ck_assert_int_eq(f->merge_k(p.bytes[1], 56, &size, &panes_no_params, 1000, p.ref, 1, 0, p.scratch),
                     SKETCH_BAD_DATA);
    ck_assert_int_eq(f->merge_k(p.bytes[1], 56, &size, &panes_no_params, INT64_C(1) << 32, p.ref, 1, 0, p.scratch),
                     SKETCH_BAD_DATA);
    /* Counts that no state may claim together. */
    bits_store_u64(p.bytes[0], (UINT64_C(1) << 39) + 1);
    struct state_ref twice[] = {p.ref[0], p.ref[0]};
    ck_assert_int_eq(validate(p.bytes[0], 56), SKETCH_OK);
    ck_assert_int_eq(f->merge_k(p.bytes[1], 56, &size, &panes_no_params, 2000, twice, 2, 0, p.scratch),
                     SKETCH_BAD_DATA);
    const char *reason = NULL;
    ck_assert_int_eq(f->check_params(&panes_no_params, &reason), SKETCH_OK);
    ck_assert_int_eq(f->check_params(&(struct sketch_params){.k = 8}, &reason), SKETCH_BAD_DATA);
}
END_TEST

/* Any damage: what validate lets through is counted, read and merged, to a state again or to a refusal. */
START_TEST(flipped_states_are_safe)
{
    uint64_t s = suite_seed("flipped_states_are_safe");
    uint32_t accepted = 0;
    for (unsigned round = 0; round < 20000; round++) {
        int64_t times[8];
        double values[8];
        for (int i = 0; i < 8; i++) {
            times[i] = 100 * (int64_t)i;
            values[i] = random_normal(&s);
        }
        struct panes p = {.k = 0};
        panes_add(&p, f, 400, times, values, 1 + random_below(&s, 4));
        panes_add(&p, f, 800, times + 4, values + 4, 4);
        for (uint32_t flips = 1 + random_below(&s, 4); flips > 0; flips--)
            p.bytes[random_below(&s, 2)][random_below(&s, f->fixed_size)] ^= (uint8_t)(1u << random_below(&s, 8));
        if (validate(p.bytes[0], 56) != SKETCH_OK || validate(p.bytes[1], 56) != SKETCH_OK)
            continue;
        accepted++;
        struct sketch_args args = ahead(1000, 1e300);
        double v;
        ck_assert_int_ge(panes_estimate(&p, f, STATISTIC_DERIV, &args, &v), SKETCH_OK);
        ck_assert_int_ge(panes_estimate(&p, f, STATISTIC_PREDICT_LINEAR, &args, &v), SKETCH_OK);
        uint8_t merged[PANES_STATE_BYTES];
        size_t size;
        if (f->merge_k(merged, sizeof merged, &size, &panes_no_params, 800, p.ref, 2, 0, p.scratch) == SKETCH_OK)
            ck_assert_int_eq(validate(merged, size), SKETCH_OK);
    }
    ck_assert_uint_gt(accepted, 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels/regression");
    TCase *c = tcase_create("regression");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, lines_are_found);
    tcase_add_test(c, slopes_survive_large_values);
    tcase_add_test(c, constants_have_no_slope);
    tcase_add_test(c, few_samples_and_those_not_finite);
    tcase_add_test(c, any_split_in_any_order_is_the_whole);
    tcase_add_test(c, any_bits_give_valid_states_and_one_order);
    tcase_add_test(c, damaged_states_are_refused);
    tcase_add_test(c, flipped_states_are_safe);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
