/* Selectors and evaluation times: look-back, stale markers, window edges, offset, @, subqueries. Values by arithmetic
 * over the samples loaded, by Prometheus' documentation. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "own_fixture.h"
#include "suite.h"

START_TEST(windows_are_left_open_and_right_closed)
{
    fixture_load(&f, "load 60s\n m 0+1x10\n");
    expect(&f, "sum_over_time(m[5m])", 600, "{} 40");
    expect(&f, "count_over_time(m[5m])", 600, "{} 5");
    expect(&f, "m", 600, "m 10");
    expect(&f, "count_over_time(m[5m])", 599.999, "{} 5");
    expect(&f, "count_over_time(m[5m])", 0, "{} 1");
    expect(&f, "count_over_time(m[1ms])", 60, "{} 1");
    expect(&f, "count_over_time(m[1ms])", 60.001, "");
}
END_TEST

START_TEST(ranges_of_whole_milliseconds)
{
    fixture_load(&f, "load 1s\n m 0+1x20\n");
    expect(&f, "count_over_time(m[1001ms])", 10, "{} 2");
    expect(&f, "count_over_time(m[1s])", 10, "{} 1");
}
END_TEST

START_TEST(look_back_ends_at_five_minutes)
{
    fixture_load(&f, "load 1s at 100s\n m 7\n");
    expect(&f, "m", 99.999, "");
    expect(&f, "m", 100, "m 7");
    expect(&f, "m", 399.999, "m 7");
    expect(&f, "m", 400, "");
}
END_TEST

START_TEST(stale_marker_ends_a_series_at_once)
{
    fixture_load(&f, "load 15s\n st{pod=\"old\"} 1x3 stale\n st{pod=\"new\"} _x4 1x20\n");
    expect(&f, "st", 59.999, "st{pod=\"old\"} 1");
    expect(&f, "st", 60, "st{pod=\"new\"} 1");
    expect(&f, "st", 90, "st{pod=\"new\"} 1");
    expect(&f, "sum(st)", 90, "{} 1");
    expect(&f, "count_over_time(st{pod=\"old\"}[5m])", 90, "{pod=\"old\"} 4");
    expect(&f, "last_over_time(st{pod=\"old\"}[1m])", 90, "st{pod=\"old\"} 1");
    expect(&f, "absent_over_time(st{pod=\"old\"}[1m])", 300, "{pod=\"old\"} 1");
    expect(&f, "absent_over_time(st{pod=\"new\"}[1m])", 300, "");
}
END_TEST

/* Nobody says that the old one ended: it counts for as long as one looks back. */
START_TEST(without_a_marker_a_series_lingers)
{
    fixture_load(&f, "load 15s\n st{pod=\"old\"} 1x3\n st{pod=\"new\"} _x4 1x40\n");
    expect(&f, "sum(st)", 60, "{} 2");
    expect(&f, "sum(st)", 344.999, "{} 2");
    expect(&f, "sum(st)", 345, "{} 1");
}
END_TEST

START_TEST(a_series_comes_back_after_a_marker)
{
    fixture_load(&f, "load 15s\n m 1 stale _ 2\n");
    expect_range(&f, "m", 0, 60, 15, "m 1 _ _ 2 2");
    expect_range(&f, "count_over_time(m[30s])", 0, 60, 15, "{} 1 1 _ 1 1");
}
END_TEST

START_TEST(a_real_nan_is_data)
{
    fixture_load(&f, "load 15s\n m 1 NaN\n");
    expect(&f, "m", 15, "m NaN");
    expect(&f, "count_over_time(m[1m])", 15, "{} 2");
    /* Its neighbours among the bits are numbers, too: quiet ones, another payload, the sign. */
    static const uint64_t bits[] = {0x7ff8000000000001, 0x7ff8000000000002, 0x7ff0000000000001, 0x7ff0000000000003,
                                    0xfff0000000000002};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        double v;
        memcpy(&v, &bits[i], sizeof v);
        fixture_add(&f, "n", 1000 * (int64_t)i, v);
        expect(&f, "n", (double)i, "n NaN");
        expect(&f, "count_over_time(n[1m])", (double)i,
               (const char *const[]){"{} 1", "{} 2", "{} 3", "{} 4", "{} 5"}[i]);
    }
}
END_TEST

START_TEST(matchers_choose_series)
{
    fixture_load(&f, "load 60s\n nz{zone=\"a\"} 1\n nz{other=\"b\"} 2\n other{zone=\"a\"} 3\n");
    expect(&f, "nz{zone=\"\"}", 0, "nz{other=\"b\"} 2");
    expect(&f, "{zone=\"a\"}", 0, "nz{zone=\"a\"} 1\n other{zone=\"a\"} 3");
    expect(&f, "nz{zone=\"a\",zone=\"b\"}", 0, "");
    expect(&f, "nz{zone=~\"(?i)A|x\"}", 0, "nz{zone=\"a\"} 1");
    expect(&f, "{__name__=~\"n.*\",zone!=\"a\"}", 0, "nz{other=\"b\"} 2");
    expect(&f, "nosuch", 0, "");
}
END_TEST

START_TEST(offset_shifts_and_at_fixes)
{
    fixture_load(&f, "load 10s\n m 0+1x100\n");
    expect(&f, "m offset 50s", 300, "m 25");
    expect(&f, "m offset -50s", 300, "m 35");
    expect(&f, "m @ 100", 300, "m 10");
    expect(&f, "m @ 100 offset 50s", 300, "m 5");
    expect(&f, "m offset -50s @ 100", 300, "m 15");
    expect(&f, "sum_over_time(m[30s] offset 100s)", 300, "{} 57"); /* 18 + 19 + 20 */
    expect(&f, "sum_over_time(m[30s] @ 100)", 900, "{} 27");       /* 8 + 9 + 10 */
    expect(&f, "sum_over_time(m[30s] @ 100 offset -10s)", 0, "{} 30");
    expect_range(&f, "sum_over_time(m[30s] @ 300)", 0, 600, 200, "{} 87 87 87 87");
    expect_range(&f, "m @ start()", 100, 200, 50, "m 10 10 10");
    expect_range(&f, "m @ end()", 100, 200, 50, "m 20 20 20");
    /* end() is what was asked for, not the last step before it. */
    expect_range(&f, "m @ end()", 100, 249, 50, "m 24 24 24");
}
END_TEST

START_TEST(prediction_reads_the_evaluation_time_under_at)
{
    /* The line is m = t / 10; at a fixed window the prediction still moves with the step. */
    fixture_load(&f, "load 10s\n m 0+1x100\n");
    expect_range(&f, "predict_linear(m[1m] @ 300, 100)", 300, 500, 100, "{} 40 50 60");
    expect(&f, "predict_linear(m[1m], 50)", 600, "{} 65");
}
END_TEST

START_TEST(timestamp_of_a_selector_is_the_samples_own)
{
    fixture_load(&f, "load 10s\n m 0+1x10\n");
    expect(&f, "timestamp(m)", 57, "{} 50");
    expect(&f, "timestamp((m))", 57, "{} 50");
    expect(&f, "timestamp(m offset 13s)", 57, "{} 40");
    expect(&f, "timestamp(m @ 25)", 57, "{} 20");
}
END_TEST

START_TEST(subquery_times_are_multiples_of_the_step)
{
    fixture_load(&f, "load 5s\n m 0+1x20\n");
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, 0);
    ck_assert_int_eq(fixture_query(&f, "m[20s:5s]", 30, 30, 0, &a, &r, &e), 0);
    ck_assert_int_eq(r.type, VALUE_MATRIX);
    ck_assert_uint_eq(r.series_n, 1);
    ck_assert_uint_eq(r.points_n[0], 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(r.point_times_ms[0][i], 15000 + 5000 * i);
        ck_assert_double_eq(r.point_values[0][i], 3 + i);
    }
    ck_assert_int_eq(fixture_query(&f, "m[20s:7s]", 30, 30, 0, &a, &r, &e), 0);
    ck_assert_uint_eq(r.points_n[0], 3); /* 14, 21, 28 */
    ck_assert_int_eq(r.point_times_ms[0][0], 14000);
    arena_done(&a);
}
END_TEST

START_TEST(subqueries_by_arithmetic)
{
    fixture_load(&f, "load 10s\n m 0+1x100\n c 0+5x100\n");
    expect(&f, "sum_over_time(m[1m:10s])", 600, "{} 345"); /* 55 .. 60 */
    expect(&f, "count_over_time(m[5m:])", 600, "{} 5");    /* default step: 1 m */
    expect(&f, "max_over_time(rate(c[1m])[5m:30s])", 600, "{} 0.5");
    expect(&f, "sum_over_time(m[30s:10s] offset 5m)", 600, "{} 87"); /* 28 + 29 + 30 */
    expect(&f, "sum_over_time(m[30s:10s] @ 300)", 600, "{} 87");
    expect(&f, "sum_over_time(m[30s:10s] @ 300 offset 10s)", 600, "{} 84");
    expect(&f, "sum_over_time((m @ 50)[30s:10s])", 600, "{} 15");
    expect(&f, "sum_over_time(sum_over_time(m[20s:10s])[30s:10s])", 600, "{} 351"); /* 115 + 117 + 119 */
    expect(&f, "count_over_time(m[20s:10s] offset -1000s)", 0, "{} 2");
    expect(&f, "count_over_time(m[20s:1000s])", 600, "");
    expect(&f, "last_over_time(m[1m:10s])", 600, "m 60");
    /* A name that the inner function gave up does not come back. */
    expect(&f, "last_over_time(rate(c[1m])[1m:10s])", 600, "{} 0.5");
}
END_TEST

START_TEST(matrix_selector_at_an_instant)
{
    fixture_load(&f, "load 10s\n m{b=\"2\"} 1 2 stale 4\n m{b=\"1\"} 5 _ 6\n");
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, 0);
    ck_assert_int_eq(fixture_query(&f, "(m[20s])", 30, 30, 0, &a, &r, &e), 0);
    ck_assert_uint_eq(r.series_n, 2);
    ck_assert(str_eq(labels_get(&r.series[0].labels, STR("b")), STR("1")));
    ck_assert_uint_eq(r.points_n[0], 1);
    ck_assert_int_eq(r.point_times_ms[0][0], 20000);
    ck_assert_uint_eq(r.points_n[1], 1); /* the marker at 20 s is no point */
    ck_assert_double_eq(r.point_values[1][0], 4);
    ck_assert_int_eq(fixture_query(&f, "m[20s]", 0, 30, 10, &a, &r, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "invalid expression type \"range vector\" for range query"));
    arena_done(&a);
}
END_TEST

START_TEST(results_are_sorted_and_bare_of_empty_series)
{
    fixture_load(&f, "load 10s\n m{a=\"2\"} 1x9\n m{a=\"1\"} _x5 1x2\n m{a=\"3\"} _x50 1\n");
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, 0);
    ck_assert_int_eq(fixture_query(&f, "count_over_time(m[10s])", 0, 100, 10, &a, &r, &e), 0);
    ck_assert_uint_eq(r.series_n, 2);
    ck_assert(str_eq(labels_get(&r.series[0].labels, STR("a")), STR("1")));
    ck_assert_uint_eq(r.sources, SOURCE_RAW);
    ck_assert_int_eq(fixture_query(&f, "1", 0, 0, 0, &a, &r, &e), 0);
    ck_assert_uint_eq(r.sources, SOURCE_NONE);
    arena_done(&a);
}
END_TEST

START_TEST(equal_labels_meet_at_the_end)
{
    fixture_load(&f, "load 10s\n a 1x5\n b 2x5\n x 1x2\n y _x10 1x2\n");
    expect_error(&f, "count_over_time({__name__=~\"a|b\"}[1m])", 50, ERR_EXECUTION,
                 "vector cannot contain metrics with the same labelset");
    /* Never at the same time: one series. */
    expect_range(&f, "count_over_time({__name__=~\"x|y\"}[10s])", 0, 130, 50, "{} 1 _ 1");
    expect(&f, "last_over_time({__name__=~\"a|b\"}[1m])", 50, "a 1\n b 2");
}
END_TEST

START_TEST(limits_have_names)
{
    fixture_load(&f, "load 1s\n m{i=\"1\"} 1x1000\n m{i=\"2\"} 1x1000\n");
    struct executor x = {.source = &f.source};
    struct query_options o = {.start_ms = 0, .end_ms = 11001000, .step_ms = 1000};
    struct arena a;
    struct result r;
    struct err e = {0};
    arena_init(&a, 0);
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "exceeded maximum resolution of 11000 points per timeseries"));
    o.end_ms = 11000000;
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), 0);
    o = (struct query_options){.start_ms = 1000000, .end_ms = 1000000, .limits.samples_max = 1500};
    ck_assert_int_eq(query_run(&x, STR("count_over_time(m[1h])"), &o, &a, &r, &e), ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(e.message, "too many samples"));
    ck_assert_int_eq(query_run(&x, STR("sum_over_time(m[200y:1s])"), &o, &a, &r, &e), ERR_LIMIT);
    o.limits = (struct query_limits){.series_max = 1};
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), ERR_LIMIT);
    o.limits = (struct query_limits){.deadline_ns = 1};
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), ERR_TIMEOUT);
    _Atomic bool canceled = true;
    o.limits.deadline_ns = 0;
    o.canceled = &canceled;
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), ERR_CANCELED);
    ck_assert_int_eq(f.snapshots_n, f.releases_n);
    arena_done(&a);
    arena_init(&a, 0);
    o = (struct query_options){.end_ms = 1000000, .step_ms = 1000, .limits.memory_bytes = 8000};
    ck_assert_int_lt(query_run(&x, STR("m"), &o, &a, &r, &e), 0);
    ck_assert_ptr_nonnull(strstr(e.message, "memory"));
    arena_done(&a);
}
END_TEST

START_TEST(bad_requests_are_told)
{
    struct executor x = {.source = &f.source};
    struct arena a;
    struct result r;
    struct err e = {0};
    arena_init(&a, 0);
    struct query_options o = {.start_ms = 10, .end_ms = 0, .step_ms = 1};
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "end timestamp must not be before start time"));
    o = (struct query_options){.start_ms = 0, .end_ms = 10};
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), ERR_BAD_DATA);
    o = (struct query_options){.start_ms = INT64_MIN, .end_ms = INT64_MAX, .step_ms = 1};
    ck_assert_int_eq(query_run(&x, STR("m"), &o, &a, &r, &e), ERR_BAD_DATA);
    o = (struct query_options){.start_ms = INT64_MAX - 5, .end_ms = INT64_MAX - 5};
    ck_assert_int_eq(query_run(&x, STR("rate(m[5m])"), &o, &a, &r, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "out of range"));
    arena_done(&a);
    expect_error(&f, "rate(m)", 0, ERR_BAD_DATA, "parse error");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor/selector");
    TCase *tcase = tcase_create("selector");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, windows_are_left_open_and_right_closed);
    tcase_add_test(tcase, ranges_of_whole_milliseconds);
    tcase_add_test(tcase, look_back_ends_at_five_minutes);
    tcase_add_test(tcase, stale_marker_ends_a_series_at_once);
    tcase_add_test(tcase, without_a_marker_a_series_lingers);
    tcase_add_test(tcase, a_series_comes_back_after_a_marker);
    tcase_add_test(tcase, a_real_nan_is_data);
    tcase_add_test(tcase, matchers_choose_series);
    tcase_add_test(tcase, offset_shifts_and_at_fixes);
    tcase_add_test(tcase, prediction_reads_the_evaluation_time_under_at);
    tcase_add_test(tcase, timestamp_of_a_selector_is_the_samples_own);
    tcase_add_test(tcase, subquery_times_are_multiples_of_the_step);
    tcase_add_test(tcase, subqueries_by_arithmetic);
    tcase_add_test(tcase, matrix_selector_at_an_instant);
    tcase_add_test(tcase, results_are_sorted_and_bare_of_empty_series);
    tcase_add_test(tcase, equal_labels_meet_at_the_end);
    tcase_add_test(tcase, limits_have_names);
    tcase_add_test(tcase, bad_requests_are_told);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
