/* Classic histograms: quantiles and fractions by hand, repairs, what is noted; then the functions over queries. */
#include <math.h>

#include "executor/buckets.h"
#include "own_fixture.h"
#include "suite.h"

static double quantile(double q, const struct bucket *b, uint32_t n, struct bucket_repair *r)
{
    struct bucket copy[16];
    memcpy(copy, b, n * sizeof *b);
    return bucket_quantile(q, copy, n, r);
}

/* 10 observations up to 1, 30 up to 2, 40 in all. */
START_TEST(linear_within_a_bucket)
{
    static const struct bucket b[] = {{1, 10}, {2, 30}, {INFINITY, 40}};
    struct bucket_repair r;
    ck_assert_double_eq(quantile(0, b, 3, &r), 0);
    ck_assert_double_eq(quantile(0.125, b, 3, &r), 0.5);
    ck_assert_double_eq(quantile(0.25, b, 3, &r), 1);
    ck_assert_double_eq(quantile(0.5, b, 3, &r), 1.5);
    ck_assert_double_eq(quantile(0.75, b, 3, &r), 2);
    ck_assert_double_eq(quantile(0.76, b, 3, &r), 2); /* beyond the last bound */
    ck_assert_double_eq(quantile(1, b, 3, &r), 2);
    ck_assert_double_eq(quantile(-0.1, b, 3, &r), -INFINITY);
    ck_assert_double_eq(quantile(1.1, b, 3, &r), INFINITY);
    ck_assert_double_nan(quantile(NAN, b, 3, &r));
    ck_assert(!r.forced);
}
END_TEST

START_TEST(shapes_without_a_quantile)
{
    static const struct bucket open[] = {{1, 10}, {2, 30}}, alone[] = {{INFINITY, 40}},
                               idle[] = {{1, 0}, {INFINITY, 0}}, negative[] = {{-2, 5}, {-1, 10}, {INFINITY, 10}};
    struct bucket_repair r;
    ck_assert_double_nan(quantile(0.5, open, 2, &r));
    ck_assert_double_nan(quantile(0.5, alone, 1, &r));
    ck_assert_double_nan(quantile(0.5, idle, 2, &r));
    ck_assert_double_eq(quantile(0.25, negative, 3, &r), -2); /* no lower bound is known */
    ck_assert_double_eq(quantile(0.75, negative, 3, &r), -1.5);
}
END_TEST

START_TEST(repairs)
{
    static const struct bucket falling[] = {{0.1, 2}, {1, 1}, {10, 5}, {100, 4}, {1000, 9}, {INFINITY, 8}};
    static const struct bucket nearly[] = {{1, 1}, {2, 1 - 1e-14}, {INFINITY, 2}};
    static const struct bucket twice[] = {{1, 1}, {2, 1}, {2, 2}, {INFINITY, 6}}; /* two spellings of le="2" */
    struct bucket_repair r;
    ck_assert_double_eq_tol(quantile(0.01, falling, 6, &r), 0.0045, 1e-12);
    ck_assert(r.forced);
    ck_assert_double_eq(r.low_bound, 1);
    ck_assert_double_eq(r.high_bound, INFINITY);
    ck_assert_double_eq(r.difference, 1);
    ck_assert_double_eq_tol(quantile(0.5, falling, 6, &r), 8.5, 1e-12);
    ck_assert_double_eq_tol(quantile(0.99, falling, 6, &r), 979.75, 1e-9);
    ck_assert_double_eq(quantile(0.5, nearly, 3, &r), 1);
    ck_assert(!r.forced);
    ck_assert_double_eq(quantile(1. / 3, twice, 4, &r), 1.5);
    ck_assert(!r.forced);
}
END_TEST

START_TEST(fractions)
{
    static const struct bucket positive[] = {{1, 1}, {2, 3}, {3, 6}, {INFINITY, 100}};
    static const struct bucket both[] = {{-2, 5}, {-1, 10}, {0, 15}, {1, 20}, {INFINITY, 100}};
    static const struct {
        double lower, upper, want;
    } rows[] = {{1, 3, 0.05}, {2, 3.5, 0.03},    {400, INFINITY, 0.94}, {-INFINITY, INFINITY, 1},
                {2, 2, 0},    {3, 2, 0},         {0, 0.5, 0.005},       {-5, -1, 0},
                {4, 5, 0},    {1.5, 2.5, 0.025}, {NAN, 1, NAN},         {0, NAN, NAN}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bucket copy[4];
        memcpy(copy, positive, sizeof copy);
        double got = bucket_fraction(rows[i].lower, rows[i].upper, copy, 4);
        ck_assert_msg(isnan(rows[i].want) ? isnan(got) : fabs(got - rows[i].want) < 1e-12, "row %zu: %g", i, got);
    }
    struct bucket copy[5];
    memcpy(copy, both, sizeof copy);
    ck_assert_double_eq_tol(bucket_fraction(-1, 1, copy, 5), 0.1, 1e-12);
    ck_assert_double_nan(bucket_fraction(-1, 1, copy, 4));
}
END_TEST

START_TEST(over_series)
{
    fixture_load(&f, "load 5m\n h_bucket{le=\"0.1\",job=\"a\"} 1 2\n h_bucket{le=\"0.2\",job=\"a\"} 3 6\n"
                     " h_bucket{le=\"+Inf\",job=\"a\"} 4 8\n h_bucket{le=\"1e-1\",job=\"b\"} 2 _\n"
                     " h_bucket{le=\"+Inf\",job=\"b\"} 2 _\n");
    expect(&f, "histogram_quantile(0.5, h_bucket)", 0, "{job=\"a\"} 0.15\n{job=\"b\"} 0.05");
    expect(&f, "histogram_quantile(0.5, sum by (le) (h_bucket{job=\"a\"}))", 0, "{} 0.15");
    expect(&f, "histogram_fraction(0, 0.1, h_bucket)", 0, "{job=\"a\"} 0.25\n{job=\"b\"} 1");
    expect_range(&f, "histogram_quantile(0.5, h_bucket)", 0, 300, 300, "{job=\"a\"} 0.15 0.15\n{job=\"b\"} 0.05 _");
    expect_range(&f, "histogram_quantile(time() / 600, h_bucket{job=\"a\"})", 0, 300, 300, "{job=\"a\"} 0 0.15");
    expect(&f, "histogram_quantiles(h_bucket{job=\"a\"}, \"q\", 0.5, 1, 0.25)", 0,
           "{job=\"a\", q=\"0.5\"} 0.15\n{job=\"a\", q=\"1.0\"} 0.2\n{job=\"a\", q=\"0.25\"} 0.1");
    expect_range(&f, "histogram_quantiles(h_bucket{job=\"a\"}, \"q\", time() / 600)", 0, 300, 300,
                 "{job=\"a\", q=\"0.0\"} 0 _\n{job=\"a\", q=\"0.5\"} _ 0.15");
    expect_error(&f, "histogram_quantiles(h_bucket, \"job\", 0.5)", 0, ERR_EXECUTION,
                 "vector cannot contain metrics with the same labelset");
    fixture_load(&f, "load 5m\n i_bucket{le=\"0.1\",job=\"a\"} 1\n i_bucket{le=\"+Inf\",job=\"a\"} 4\n");
    expect_error(&f, "histogram_quantile(0.5, {__name__=~\"[hi]_bucket\"})", 0, ERR_EXECUTION,
                 "vector cannot contain metrics with the same labelset");
}
END_TEST

START_TEST(notes)
{
    fixture_load(&f, "load 1m\n s{ale=\"0.1\"} 2\n d_bucket{le=\"1\"} 5 5\n d_bucket{le=\"2\"} 3 4\n"
                     " d_bucket{le=\"+Inf\"} 8 8\n");
    const char *bad = "PromQL warning: bucket label \"le\" is missing or has a malformed value of \"\" for metric name "
                      "\"s\" (1:25)";
    expect_warning(&f, "histogram_quantile(0.8, s)", 0, bad);
    expect(&f, "histogram_quantile(0.8, s)", 0, "");
    expect_warning(&f, "histogram_quantile(7, nosuch)", 0,
                   "PromQL warning: quantile value should be between 0 and 1, got 7 (1:20)");
    expect_warning(&f, "histogram_quantile(0.5, d_bucket)", 0, NULL);
    expect_info(&f, "histogram_quantile(0.5, d_bucket)", 0,
                "PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see "
                "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile) for metric name "
                "\"d_bucket\", from buckets 2 to 2, with a max diff of 2, over 1 samples from 1970-01-01T00:00:00Z to "
                "1970-01-01T00:00:00Z (1:25)");
    expect_info(&f, "histogram_fraction(0, 1, d_bucket)", 0, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor histogram");
    TCase *tc = tcase_create("histogram");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, linear_within_a_bucket);
    tcase_add_test(tc, shapes_without_a_quantile);
    tcase_add_test(tc, repairs);
    tcase_add_test(tc, fractions);
    tcase_add_test(tc, over_series);
    tcase_add_test(tc, notes);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
