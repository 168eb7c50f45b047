/* Aggregations: each operator against arithmetic, groupings, and the numbers that go wrong easily. */
#include "own_fixture.h"
#include "suite.h"

START_TEST(tallies)
{
    static const struct row rows[] = {
        {"sum(m)", "{} 20"},
        {"sum by (job) (m)", "{job=\"a\"} 6\n{job=\"b\"} 14"},
        {"sum by (job, nope) (m)", "{job=\"a\"} 6\n{job=\"b\"} 14"},
        {"sum by () (m)", "{} 20"},
        {"sum without (inst) (m)", "{job=\"a\"} 6\n{job=\"b\"} 14"},
        {"sum without (job, inst, nope) (m)", "{} 20"},
        {"sum without () (m{job=\"a\"})", "{job=\"a\", inst=\"0\"} 2\n{job=\"a\", inst=\"1\"} 4"},
        {"avg by (job) (m)", "{job=\"a\"} 3\n{job=\"b\"} 7"},
        {"count by (inst) (m)", "{inst=\"0\"} 2\n{inst=\"1\"} 2"},
        {"min(m)", "{} 2"},
        {"max by (inst) (m)", "{inst=\"0\"} 5\n{inst=\"1\"} 9"},
        {"group by (job) (m)", "{job=\"a\"} 1\n{job=\"b\"} 1"},
        {"stdvar(m)", "{} 6.5"}, /* mean 5: 9 + 1 + 0 + 16 over 4 */
        {"stddev by (job) (m)", "{job=\"a\"} 1\n{job=\"b\"} 2"},
        {"sum(nosuch)", ""},
        {"count(nosuch)", ""},
        {"sum(m > 100)", ""},
        {"sum by (__name__) (m)", "m 20"},
        {"sum by (__name__, job) ({job=\"a\"})", "m{job=\"a\"} 6\nother{job=\"a\"} 100"},
    };
    fixture_load(&f, "load 1m\n m{job=\"a\",inst=\"0\"} 2\n m{job=\"a\",inst=\"1\"} 4\n m{job=\"b\",inst=\"0\"} 5\n"
                     " m{job=\"b\",inst=\"1\"} 9\n other{job=\"a\"} 100\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

/* Series that lack a label are one group, apart from those that have it; keys are not glued together. */
START_TEST(groups_are_label_sets)
{
    fixture_load(&f,
                 "load 1m\n nz{zone=\"a\"} 1\n nz{other=\"b\"} 2\n hh{a=\"1\",b=\"23\"} 1\n hh{a=\"12\",b=\"3\"} 10\n"
                 " gg{a=\"x\",b=\"\"} 1\n gg{a=\"\",b=\"x\"} 2\n");
    expect(&f, "sum by (zone) (nz)", 0, "{zone=\"a\"} 1\n{} 2");
    expect(&f, "sum(nz{zone=\"\"})", 0, "{} 2");
    expect(&f, "sum by (a, b) (hh)", 0, "{a=\"1\", b=\"23\"} 1\n{a=\"12\", b=\"3\"} 10");
    expect(&f, "sum without (c) (hh)", 0, "{a=\"1\", b=\"23\"} 1\n{a=\"12\", b=\"3\"} 10");
    expect(&f, "sum by (a, b) (gg)", 0, "{a=\"x\"} 1\n{b=\"x\"} 2");
}
END_TEST

/* NaN and infinities are data: they poison sums and lose to numbers in min and max. */
START_TEST(odd_values)
{
    static const struct row rows[] = {
        {"sum(v)", "{} NaN"},
        {"avg(v)", "{} NaN"},
        {"max(v)", "{} +Inf"},
        {"min(v)", "{} 1"},
        {"count(v)", "{} 5"},
        {"stddev(v)", "{} NaN"},
        {"min(v{i=\"0\"})", "{} NaN"},
        {"stddev(v{i=\"4\"})", "{} NaN"},
        {"stdvar(v{i=\"1\"})", "{} 0"},
        {"avg(endless)", "{} +Inf"},
        {"quantile(0, v)", "{} NaN"},
        {"quantile(0.25, v)", "{} 1"},
        {"quantile(0.5, v)", "{} 2"},
        {"quantile(0.75, v)", "{} NaN"}, /* 3 * 1 + Inf * 0 */
        {"quantile(0.9, v)", "{} +Inf"},
        {"quantile(1, v)", "{} NaN"},
        {"quantile(-0.1, v)", "{} -Inf"},
        {"quantile(1.1, v)", "{} +Inf"},
        {"quantile(NaN, v)", "{} NaN"},
        {"topk(2, v)", "ordered v{i=\"4\"} +Inf\n v{i=\"3\"} 3"},
        {"bottomk(2, v)", "ordered v{i=\"1\"} 1\n v{i=\"2\"} 2"},
    };
    fixture_load(&f, "load 1m\n v{i=\"0\"} NaN\n v{i=\"1\"} 1\n v{i=\"2\"} 2\n v{i=\"3\"} 3\n v{i=\"4\"} +Inf\n"
                     " endless{i=\"0\"} 0\n endless{i=\"1\"} +Inf\n endless{i=\"2\"} +Inf\n endless{i=\"3\"} 0\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

/* Sums are compensated, averages do not overflow, deviations do not cancel. */
START_TEST(numerics)
{
    fixture_load(
        &f, "load 1m\n big{i=\"0\"} 1e16\n big{i=\"1\"} 1\n big{i=\"2\"} -1e16\n"
            " huge{i=\"0\"} 1e308\n huge{i=\"1\"} 1e308\n huge{i=\"2\"} -1e308\n"
            " far{i=\"0\"} 1000000004\n far{i=\"1\"} 1000000007\n far{i=\"2\"} 1000000013\n far{i=\"3\"} 1000000016\n"
            " same{i=\"0\"} 52\n same{i=\"1\"} 52\n same{i=\"2\"} 52\n same{i=\"3\"} 52\n same{i=\"4\"} 52\n");
    expect(&f, "sum(big)", 0, "{} 1");
    expect(&f, "avg(huge{i!=\"2\"})", 0, "{} 1e308");
    expect(&f, "avg(huge{i!=\"1\"})", 0, "{} 0");
    expect(&f, "sum(huge{i!=\"2\"})", 0, "{} +Inf");
    expect(&f, "stddev(far)", 0, "{} 4.7434164902525691");
    expect(&f, "stdvar(far)", 0, "{} 22.5");
    expect(&f, "avg(same) == 52", 0, "{} 52");
    for (int i = 0; i < 9; i++) {
        char series[64];
        snprintf(series, sizeof series, "nine{i=\"%d\"}", i);
        fixture_add(&f, series, 0, 1);
    }
    fixture_add(&f, "nine{i=\"9\"}", 0, 11);
    expect(&f, "avg(nine)", 0, "{} 2");
}
END_TEST

START_TEST(best_of_groups)
{
    static const struct row rows[] = {
        {"topk(1, r)", "ordered r{g=\"b\", i=\"1\"} 40"},
        {"topk(3, r)", "ordered r{g=\"b\", i=\"1\"} 40\n r{g=\"b\", i=\"0\"} 30\n r{g=\"a\", i=\"1\"} 20"},
        {"bottomk(2, r)", "ordered r{g=\"a\", i=\"0\"} 10\n r{g=\"a\", i=\"1\"} 20"},
        {"topk by (g) (1, r)", "r{g=\"a\", i=\"1\"} 20\nr{g=\"b\", i=\"1\"} 40"},
        {"bottomk without (i) (1, r)", "r{g=\"a\", i=\"0\"} 10\nr{g=\"b\", i=\"0\"} 30"},
        {"topk(0, r)", ""},
        {"topk(-1e300, r)", ""},
        {"topk(1.9, r)", "r{g=\"b\", i=\"1\"} 40"},
        {"topk(1, -r)", "{g=\"a\", i=\"0\"} -10"},
        {"count(topk(1e9, r))", "{} 4"},
        {"count(limitk(3, r))", "{} 3"},
        {"count by (g) (limitk by (g) (1, r))", "{g=\"a\"} 1\n{g=\"b\"} 1"},
        {"count(limit_ratio(0.4, r) or limit_ratio(-0.6, r))", "{} 4"},
        {"limit_ratio(0.4, r) and limit_ratio(-0.6, r)", ""},
        {"count(limit_ratio(1, r))", "{} 4"},
        {"limit_ratio(0, r)", ""},
    };
    fixture_load(
        &f,
        "load 1m\n r{g=\"a\",i=\"0\"} 10\n r{g=\"a\",i=\"1\"} 20\n r{g=\"b\",i=\"0\"} 30\n r{g=\"b\",i=\"1\"} 40\n");
    CHECK_ROWS(rows, 0);
    expect_error(&f, "topk(NaN, r)", 0, ERR_EXECUTION, "Parameter value is NaN");
    expect_error(&f, "topk(1e300, r)", 0, ERR_EXECUTION, "Scalar value 1e+300 overflows int64");
    expect_error(&f, "limit_ratio(NaN, r)", 0, ERR_EXECUTION, "Ratio value is NaN");
}
END_TEST

/* The choice is made anew at each step, with the step's k. */
START_TEST(best_over_a_range)
{
    fixture_load(&f, "load 1m\n r{i=\"0\"} 1 5 _ 4\n r{i=\"1\"} 2 4 NaN 3\n r{i=\"2\"} 3 3 1 NaN\n k 1 2 1 0\n");
    expect_range(&f, "topk(1, r)", 0, 180, 60, "r{i=\"0\"} _ 5 5 4\nr{i=\"2\"} 3 _ _ _");
    expect_range(&f, "bottomk(1, r)", 0, 180, 60, "r{i=\"0\"} 1 _ _ _\nr{i=\"1\"} _ _ _ 3\nr{i=\"2\"} _ 3 1 _");
    expect_range(&f, "topk(scalar(k), r)", 0, 180, 60, "r{i=\"0\"} _ 5 5 _\nr{i=\"1\"} _ 4 _ _\nr{i=\"2\"} 3 _ _ _");
    expect_range(&f, "quantile(scalar(k) - 1, r)", 0, 180, 60, "{} 1 5 NaN -Inf");
}
END_TEST

/* Which group comes first depends on the span: b does where its first series still has a value. Which of equals is
 * taken does not. What was sorted on purpose stays so. */
START_TEST(equals_go_by_labels)
{
    fixture_load(&f, "load 1m\n r{g=\"b\",i=\"0\"} 5 5 stale\n r{g=\"a\",i=\"0\"} 5x10\n r{g=\"b\",i=\"1\"} 5x10\n");
    expect_range(&f, "topk(1, max by (g) (r))", 0, 240, 60, "{g=\"a\"} 5 5 5 5 5");
    expect_range(&f, "topk(1, max by (g) (r))", 120, 240, 60, "{g=\"a\"} 5 5 5");
    expect_range(&f, "bottomk(1, -max by (g) (r))", 0, 240, 60, "{g=\"a\"} -5 -5 -5 -5 -5");
    expect_range(&f, "limitk(1, max by (g) (r))", 0, 240, 60, "{g=\"a\"} 5 5 5 5 5");
    expect(&f, "sort(max by (g) (r))", 60, "ordered {g=\"a\"} 5\n {g=\"b\"} 5");
    expect(&f, "topk(2, max by (g) (r))", 60, "ordered {g=\"a\"} 5\n {g=\"b\"} 5");
    struct arena a;
    struct result result;
    struct err e;
    arena_init(&a, 0);
    ck_assert_int_eq(fixture_query(&f, "limitk(1, sort_desc(count by (g) (r)))", 60, 60, 0, &a, &result, &e), 0);
    ck_assert_uint_eq(result.series_n, 1);
    ck_assert_double_eq(result.series[0].v[0], 2);
    arena_done(&a);
}
END_TEST

/* One best series per group, of a function's results. */
START_TEST(best_of_groups_of_sums)
{
    fixture_load(
        &f, "load 1m\n data{instance=\"i-1\",job=\"backend\"} 560x5\n data{instance=\"i-2\",job=\"backend\"} 1120x5\n"
            " data{instance=\"i-1\",job=\"frontend\"} 280x5\n data{instance=\"i-2\",job=\"frontend\"} 560x5\n"
            " data{instance=\"i-1\",job=\"worker\"} 840x5\n data{instance=\"i-2\",job=\"worker\"} 1680x5\n");
    expect(&f, "topk by (job) (1, sum_over_time(data[5m]))", 300,
           "{instance=\"i-2\", job=\"backend\"} 5600\n{instance=\"i-2\", job=\"frontend\"} 2800\n"
           "{instance=\"i-2\", job=\"worker\"} 8400");
}
END_TEST

/* Each counter's reset is corrected before they are added up: 80 and 65 * 120 / 105. The increase of the sum, which
 * falls by 955 once, would be 200. */
START_TEST(sums_of_increases)
{
    fixture_load(&f, "load 15s\n x{i=\"a\"} _ 10+10x7\n x{i=\"b\"} _ 1000+10x3 5+10x3\n");
    expect(&f, "sum(increase(x[2m]))", 120, "{} 154.28571428571428");
    expect(&f, "sum(rate(x[2m])) * 120", 120, "{} 154.28571428571428");
}
END_TEST

/* Every aggregation over every function of ranges has its own labels and no others: three series that grow with 1, 2
 * and 3 times the time, two of one host. Values of the three functions are 1, 2 and 3 times `unit`. */
START_TEST(functions_under_aggregations)
{
    static const struct {
        const char *function;
        double unit;
    } functions[] = {{"rate", 1},           {"increase", 300},      {"sum_over_time", 3150}, {"avg_over_time", 157.5},
                     {"min_over_time", 15}, {"max_over_time", 300}, {"last_over_time", 300}};
    static const struct {
        const char *op;
        double a, b; /* of 1 and 2; of 3 */
    } ops[] = {{"sum", 3, 3}, {"avg", 1.5, 3}, {"min", 1, 3}, {"max", 2, 3}, {"quantile", 1.5, 3}};
    char query[120], expected[120];
    fixture_load(&f, "load 15s\n http{host=\"a\",path=\"/x\"} 0+15x30\n http{host=\"a\",path=\"/y\"} 0+30x30\n"
                     " http{host=\"b\",path=\"/x\"} 0+45x30\n");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
            snprintf(query, sizeof query, "%s by (host) (%s%s(http[5m]))", ops[k].op,
                     strcmp(ops[k].op, "quantile") == 0 ? "0.5, " : "", functions[i].function);
            snprintf(expected, sizeof expected, "{host=\"a\"} %.17g\n{host=\"b\"} %.17g", ops[k].a * functions[i].unit,
                     ops[k].b * functions[i].unit);
            expect(&f, query, 300, expected);
        }
        snprintf(query, sizeof query, "count by (host) (%s(http[5m]))", functions[i].function);
        expect(&f, query, 300, "{host=\"a\"} 2\n{host=\"b\"} 1");
    }
    expect(&f, "sum by (host) (count_over_time(http[5m]))", 300, "{host=\"a\"} 40\n{host=\"b\"} 20");
    expect(&f, "sum by (host) (rate(http[5m]))", 310, "{host=\"a\"} 3\n{host=\"b\"} 3");
}
END_TEST

/* Which series a ratio takes is Prometheus 3's choice: hashes of these sets over 2^64 are 0.237, 0.335, 0.506, 0.025.
 */
START_TEST(ratio_takes_prometheus_series)
{
    fixture_load(&f, "load 1m\n lr{a=\"x\"} 1\n lr{a=\"y\"} 1\n lr{a=\"z\"} 1\n lr{a=\"w\",b=\"q\"} 1\n");
    expect(&f, "limit_ratio(0.1, lr)", 0, "lr{a=\"w\", b=\"q\"} 1");
    expect(&f, "limit_ratio(0.3, lr)", 0, "lr{a=\"w\", b=\"q\"} 1\nlr{a=\"x\"} 1");
    expect(&f, "limit_ratio(-0.6, lr)", 0, "lr{a=\"z\"} 1");
    /* Without the name, as Prometheus answers: x below 0.7, y and z below 0.75, w below 0.8. */
    expect(&f, "limit_ratio(0.65, -lr)", 0, "");
    expect(&f, "limit_ratio(0.7, -lr)", 0, "{a=\"x\"} -1");
    expect(&f, "limit_ratio(-0.25, -lr)", 0, "{a=\"w\", b=\"q\"} -1");
    expect_warning(&f, "limit_ratio(2.5, lr)", 0,
                   "PromQL warning: ratio value should be between -1 and 1, got 2.5, capping to 1 (1:13)");
}
END_TEST

START_TEST(values_are_counted)
{
    static const struct row rows[] = {
        {"count_values(\"v\", c)", "{v=\"1\"} 2\n{v=\"1.5\"} 1\n{v=\"NaN\"} 1\n{v=\"1000000000000000000000\"} 1"},
        {"count_values by (g) (\"v\", c)", "{g=\"a\", v=\"1\"} 2\n{g=\"a\", v=\"1.5\"} 1\n{g=\"b\", v=\"NaN\"} "
                                           "1\n{g=\"b\", v=\"1000000000000000000000\"} 1"},
        {"count_values(\"g\", c{g=\"a\"})", "{g=\"1\"} 2\n{g=\"1.5\"} 1"},
        {"count_values without (g) (\"g\", c{g=\"a\"})", "{i=\"0\"} 1\n{i=\"1\"} 1\n{i=\"2\"} 1"},
        {"count_values without (i) (\"v\", c{g=\"a\"})", "{g=\"a\", v=\"1\"} 2\n{g=\"a\", v=\"1.5\"} 1"},
        {"count_values by (__name__) (\"v\", c{g=\"a\"})", "c{v=\"1\"} 2\nc{v=\"1.5\"} 1"},
    };
    fixture_load(
        &f, "load 1m\n c{g=\"a\",i=\"0\"} 1\n c{g=\"a\",i=\"1\"} 1\n c{g=\"a\",i=\"2\"} 1.5\n c{g=\"b\",i=\"0\"} NaN\n"
            " c{g=\"b\",i=\"1\"} 1e21\n w 1 2 1\n");
    CHECK_ROWS(rows, 0);
    expect_range(&f, "count_values(\"v\", w)", 0, 120, 60, "{v=\"1\"} 1 _ 1\n{v=\"2\"} _ 1 _");
    expect_error(&f, "count_values(\"a\\xff\", w)", 0, ERR_EXECUTION, "invalid label name \"a\\xff\"");
}
END_TEST

START_TEST(quantiles_interpolate)
{
    fixture_load(&f, "load 1m\n q{i=\"0\"} 0\n q{i=\"1\"} 1\n q{i=\"2\"} 4\n");
    expect(&f, "quantile(0.8, q)", 0, "{} 2.8");
    expect(&f, "quantile(0.2, q)", 0, "{} 0.4");
    expect(&f, "quantile without (i) (1, q)", 0, "{} 4");
    expect_warning(&f, "quantile(1.5, nosuch)", 0,
                   "PromQL warning: quantile value should be between 0 and 1, got 1.5 (1:10)");
    expect_warning(&f, "quantile(0.5, q)", 0, NULL);
}
END_TEST

/* A gap is no sample: groups have what is there at each step. */
START_TEST(gaps)
{
    fixture_load(&f, "load 6m\n g{i=\"0\"} 1 _ 3 _\n g{i=\"1\"} 10 20 _ _\n");
    expect_range(&f, "sum(g)", 0, 1080, 360, "{} 11 20 3 _");
    expect_range(&f, "count(g)", 0, 1080, 360, "{} 2 1 1 _");
    expect_range(&f, "avg(g)", 0, 1080, 360, "{} 5.5 20 3 _");
    expect_range(&f, "min(g)", 0, 1080, 360, "{} 1 20 3 _");
    expect_range(&f, "stdvar(g)", 0, 1080, 360, "{} 20.25 0 0 _");
    expect_range(&f, "quantile(1, g)", 0, 1080, 360, "{} 10 20 3 _");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor aggregate");
    TCase *tc = tcase_create("aggregate");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, tallies);
    tcase_add_test(tc, groups_are_label_sets);
    tcase_add_test(tc, odd_values);
    tcase_add_test(tc, numerics);
    tcase_add_test(tc, best_of_groups);
    tcase_add_test(tc, best_of_groups_of_sums);
    tcase_add_test(tc, best_over_a_range);
    tcase_add_test(tc, equals_go_by_labels);
    tcase_add_test(tc, sums_of_increases);
    tcase_add_test(tc, functions_under_aggregations);
    tcase_add_test(tc, ratio_takes_prometheus_series);
    tcase_add_test(tc, values_are_counted);
    tcase_add_test(tc, quantiles_interpolate);
    tcase_add_test(tc, gaps);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
