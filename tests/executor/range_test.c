/* Functions over ranges: values by arithmetic or from known faults of systems like this one, and the property that a
 * range query slides to exactly what each of its instants computes from scratch. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "own_fixture.h"
#include "suite.h"

/* m: 0 15 30 45 60 75 s = 2 8 4 4 16 1; c: a counter that starts again once; k: constant; n: with NaN. */
static const char table_load[] = "load 15s\n"
                                 " m 2 8 4 4 16 1\n"
                                 " c_total 10 20 30 5 15 25\n"
                                 " k 7x5\n"
                                 " n NaN 3 NaN 1 5 NaN\n"
                                 " d 1 1 2 2 2 3\n";

static const struct {
    const char *query, *expected;
} table[] = {
    /* (15, 75]: 4 4 16 1 */
    {"sum_over_time(m[1m])", "{} 25"},
    {"avg_over_time(m[1m])", "{} 6.25"},
    {"count_over_time(m[1m])", "{} 4"},
    {"present_over_time(m[1m])", "{} 1"},
    {"min_over_time(m[1m])", "{} 1"},
    {"max_over_time(m[1m])", "{} 16"},
    {"ts_of_min_over_time(m[1m])", "{} 75"},
    {"ts_of_max_over_time(m[1m])", "{} 60"},
    {"ts_of_max_over_time(k[1m])", "{} 75"}, /* of equal ones the last */
    {"ts_of_min_over_time(k[1m])", "{} 75"},
    {"first_over_time(m[1m])", "m 4"},
    {"last_over_time(m[1m])", "m 1"},
    {"ts_of_first_over_time(m[1m])", "{} 30"},
    {"ts_of_last_over_time(m[1m])", "{} 75"},
    {"stdvar_over_time(m[1m])", "{} 33.1875"},
    {"stddev_over_time(m[1m])", "{} 5.760859310901476"},
    {"changes(m[1m])", "{} 2"},
    {"resets(m[1m])", "{} 1"},
    {"changes(k[1m])", "{} 0"},
    {"changes(n[90s])", "{} 5"}, /* NaN to number, both ways */
    {"resets(n[90s])", "{} 0"},
    {"idelta(m[1m])", "{} -15"},
    {"irate(m[1m])", "{} 0.06666666666666667"}, /* it fell: 1 / 15 s */
    {"irate(c_total[1m])", "{} 0.6666666666666666"},
    {"idelta(m[15s])", ""},
    {"irate(m[15s])", ""},
    {"rate(m[15s])", ""},
    {"deriv(m[15s])", ""},
    {"delta(k[1m])", "{} 0"},
    /* Samples at 30 .. 75, edges 15 s and 0 s away: last - first = -3 over 45 s, on 60 s. */
    {"delta(m[1m])", "{} -4"},
    /* 30 5 15 25: 25 - 30 + 30 = 25 on 45 s, stretched to 60 s. */
    {"increase(c_total[1m])", "{} 33.333333333333336"},
    {"rate(c_total[1m])", "{} 0.5555555555555556"},
    {"quantile_over_time(0.5, m[1m])", "{} 4"},
    {"quantile_over_time(0.75, m[1m])", "{} 7"}, /* rank 2.25 of 1 4 4 16 */
    {"quantile_over_time(0, m[1m])", "{} 1"},
    {"quantile_over_time(1, m[1m])", "{} 16"},
    {"mad_over_time(m[1m])", "{} 1.5"}, /* |1 4 4 16 - 4| = 3 0 0 12 */
    {"mad_over_time(n[1m])", "{} NaN"},
    {"max_over_time(n[90s])", "{} 5"},
    {"min_over_time(n[90s])", "{} 1"},
    {"sum_over_time(n[90s])", "{} NaN"},
    {"max_over_time(n[15s])", "{} NaN"},
    {"ts_of_max_over_time(n[90s])", "{} 60"},
    /* Least squares over x = 0 15 30 45 s, y = 4 4 16 1: co-moment 22.5, squares 1125. */
    {"deriv(m[1m])", "{} 0.02"},
    {"deriv(k[1m])", "{} 0"},
    {"predict_linear(k[1m], 3600)", "{} 7"},
    {"predict_linear(m[1m], 0)", "{} 6.7"},
    /* Level, trend: 4, 0; then 4, 0; 8 + 2 = 10, 0; trend 3, 0.5 + 6.5 = 7. */
    {"double_exponential_smoothing(m[1m], 0.5, 0.5)", "{} 7"},
    /* Our own: 1 2 2 2 3 without the first at (0, 75]: 1 2 2 2 3 */
    {"distinct_over_time(d[75s])", "{} 3"},
    {"l1_over_time(d[75s])", "{} 5"},
    {"l2_over_time(d[75s])", "{} 3.3166247903554"},         /* sqrt(1 + 9 + 1) */
    {"entropy_over_time(d[75s])", "{} 1.3709505944546687"}, /* 2/5 log2 5 + 3/5 log2 5/3 */
    {"entropy_over_time(k[75s])", "{} 0"},
    {"distinct_over_time(n[90s])", "{} 4"}, /* all NaNs are one value */
};

START_TEST(one_function)
{
    fixture_load(&f, table_load);
    expect(&f, table[_i].query, 75, table[_i].expected);
}
END_TEST

START_TEST(panes_shorter_than_the_scrape_interval)
{
    fixture_load(&f, "load 30s\n c_total _ 60+60x9\n");
    expect(&f, "rate(c_total[2m])", 300, "{} 2");
    expect(&f, "increase(c_total[2m])", 300, "{} 240");
}
END_TEST

START_TEST(reset_is_corrected_and_the_edge_extrapolated)
{
    /* 10 .. 100 at 15 .. 150 s, then 5 .. 95 at 165 .. 300 s: 95 - 10 + 100 = 185 over 285 s, to 300 s. */
    fixture_load(&f, "load 15s\n c _ 10+10x9 5+10x9\n");
    expect(&f, "increase(c[5m])", 300, "{} 194.73684210526315");
    expect(&f, "rate(c[5m])", 300, "{} 0.64912280701754");
    expect_range(&f, "increase(c[5m])", 300, 300, 15, "{} 194.73684210526315");
    expect(&f, "(increase(c[5m]))", 300, "{} 194.73684210526315");
    expect(&f, "increase(c[5m]) * 1", 300, "{} 194.73684210526315");
    expect_range(&f, "increase(c[5m]) * 1", 300, 300, 15, "{} 194.73684210526315");
}
END_TEST

START_TEST(reset_where_two_panes_would_meet)
{
    fixture_load(&f, "load 15s\n c _ 10+10x3 4+10x3\n");
    expect(&f, "increase(c[2m])", 120, "{} 73.14285714285714");
}
END_TEST

START_TEST(integer_counter_as_prometheus)
{
    fixture_load(&f, "load 15s\n c 0 1 2 3 4\n one 5\n");
    expect(&f, "increase(c[1m])", 60, "{} 4");
    expect(&f, "increase(one[1m])", 0, "");
    /* Never below zero: the first sample is worth as much as the counter had. */
    fixture_load(&f, "load 15s\n z _ 1 2 3 4\n");
    expect(&f, "increase(z[1m])", 60, "{} 4");
    fixture_load(&f, "load 15s\n y _ _ 1 3 5\n");
    expect(&f, "increase(y[1m])", 60, "{} 5"); /* zero 7.5 s before its first sample */
}
END_TEST

START_TEST(aggregates_of_their_own_values)
{
    fixture_load(&f, "load 15s\n m _ 10x19\n");
    expect(&f, "count_over_time(m[5m])", 300, "{} 20");
    expect(&f, "avg_over_time(m[5m])", 300, "{} 10");
    fixture_load(&f, "load 15s\n nine _ 1x8 11\n");
    expect(&f, "avg_over_time(nine[150s])", 150, "{} 2");
}
END_TEST

START_TEST(quantiles_of_odd_values)
{
    fixture_load(&f, "load 15s\n v NaN 3 1 Inf 2\n");
    expect(&f, "quantile_over_time(0, v[2m])", 60, "{} NaN");
    expect(&f, "quantile_over_time(0.25, v[2m])", 60, "{} 1");
    expect(&f, "quantile_over_time(0.5, v[2m])", 60, "{} 2");
    expect(&f, "quantile_over_time(0.75, v[2m])", 60, "{} NaN"); /* 3 * 1 + Inf * 0 */
    expect(&f, "quantile_over_time(0.9, v[2m])", 60, "{} Inf");
    expect(&f, "quantile_over_time(1, v[2m])", 60, "{} NaN");
    expect(&f, "quantile_over_time(-0.1, v[2m])", 60, "{} -Inf");
    expect(&f, "quantile_over_time(1.1, v[2m])", 60, "{} Inf");
    expect(&f, "quantile_over_time(NaN, v[2m])", 60, "{} NaN");
    expect_warning(&f, "quantile_over_time(1.1, v[2m])", 60,
                   "PromQL warning: quantile value should be between 0 and 1, got 1.1 (1:20)");
    expect_warning(&f, "quantile_over_time(1, v[2m])", 60, NULL);
    expect_warning(&f, "quantile_over_time(2, nosuch[2m])", 60, NULL);
}
END_TEST

START_TEST(sums_keep_what_rounding_loses)
{
    fixture_load(&f, "load 15s\n s 1e16 1 -1e16\n h 1e308 1e308\n g 1000000004 1000000007 1000000013 1000000016\n"
                     " i Inf -Inf\n");
    expect(&f, "sum_over_time(s[1m])", 45, "{} 1");
    expect(&f, "avg_over_time(h[1m])", 45, "{} 1e308");
    expect(&f, "sum_over_time(h[1m])", 45, "{} Inf");
    expect(&f, "stddev_over_time(g[1m])", 45, "{} 4.7434164902525691");
    expect(&f, "sum_over_time(i[1m])", 45, "{} NaN");
    /* Integers beyond 2^53 are not summed by prefix sums. */
    fixture_load(&f, "load 15s\n b 9007199254740993 1 1 1\n");
    expect(&f, "sum_over_time(b[1m])", 45, "{} 9007199254740995");
}
END_TEST

START_TEST(smoothing_refuses_its_parameters)
{
    fixture_load(&f, "load 15s\n m 1 2 3\n");
    expect_error(&f, "double_exponential_smoothing(m[1m], 0, 0.5)", 30, ERR_EXECUTION,
                 "invalid smoothing factor. Expected: 0 < sf < 1, got: 0.000000");
    expect_error(&f, "double_exponential_smoothing(m[1m], 0.5, 1)", 30, ERR_EXECUTION, "invalid trend factor");
    expect(&f, "double_exponential_smoothing(nosuch[1m], 0, 0.5)", 30, "");
}
END_TEST

START_TEST(absence_has_the_labels_of_equality)
{
    fixture_load(&f, "load 10s\n m{a=\"x\"} 1 _x5 1\n m{a=\"y\"} _ 1\n");
    expect_range(&f, "absent_over_time(m[10s])", 0, 60, 10, "{} _ _ 1 1 1 1 _");
    expect(&f, "absent_over_time(nosuch{job=\"x\",inst=~\"a.*\",env!=\"b\"}[5m])", 60, "{job=\"x\"} 1");
    expect(&f, "absent_over_time(nosuch{job=\"x\",job=~\"x\"}[5m])", 60, "{} 1");
    expect(&f, "absent_over_time(nosuch{job=\"x\"}[5m:1m])", 60, "{} 1");
    expect(&f, "absent_over_time(m[5m])", 60, "");
}
END_TEST

START_TEST(anchored_and_smoothed)
{
    /* 1 2 3 4 5 at 0 .. 60 s, then 9 .. 13 to 135 s. */
    fixture_load(&f, "load 15s\n m 1+1x4 9+1x4\n");
    expect(&f, "increase(m[1m] anchored)", 95, "{} 7"); /* 3 (30 s) to 10 (90 s) */
    expect(&f, "increase(m[1m] anchored)", 5, "{} 0");
    expect(&f, "increase(m[1m] smoothed)", 5, "{} 0.33333333333333326");
    expect(&f, "rate(m[1m] smoothed)", 80, "{} 0.11666666666666667"); /* (9 1/3 - 2 1/3) / 60 s */
    expect(&f, "changes(m[1m] anchored)", 60, "{} 4");
    expect(&f, "changes(m[1m])", 60, "{} 3");
    expect(&f, "m smoothed", 5, "m 1.3333333333333333");
    expect_error(&f, "deriv(m[1m] anchored)", 60, ERR_EXECUTION, "anchored modifier can only be used with:");
    expect_error(&f, "changes(m[1m] smoothed)", 60, ERR_EXECUTION, "smoothed modifier can only be used with:");
    /* 10 after 100 is a start from 0: at 2 s it was not yet, at 12 s it is 8. */
    fixture_load(&f, "load 15s\n r 100 10\n");
    expect(&f, "rate(r[10s] smoothed)", 12, "{} 0.6666666666666667");
}
END_TEST

START_TEST(quantiles_as_one_vector)
{
    fixture_load(&f, "load 15s\n m{i=\"1\"} 1 2 3 4 5\n");
    expect(&f, "quantiles_over_time(\"phi\", 0, 0.5, 1, m[2m])", 60,
           "{i=\"1\",phi=\"0\"} 1\n {i=\"1\",phi=\"0.5\"} 3\n {i=\"1\",phi=\"1\"} 5");
    expect_error(&f, "quantiles_over_time(\"\", 0.5, m[2m])", 60, ERR_EXECUTION, "invalid label name");
    expect_error(&f, "quantiles_over_time(\"phi\", 0.5, 0.5, m[2m])", 60, ERR_EXECUTION, "same labelset");
}
END_TEST

START_TEST(values_of_a_label)
{
    fixture_load(&f, "load 15s\n"
                     " q{user=\"a\",host=\"1\"} 1x4\n q{user=\"a\",host=\"2\"} 2x4\n"
                     " q{user=\"b\",host=\"1\"} 4x4\n q{user=\"c\",host=\"1\"} _x3 8 8\n q{host=\"1\"} 100x4\n");
    /* (0, 60]: sums a 4 + 8, b 16, c 16 */
    expect(&f, "distinct_label_over_time(\"user\", q[1m])", 60, "{} 3");
    expect(&f, "distinct_label_over_time(\"user\", q[1m], \"host\")", 60, "{host=\"1\"} 3\n {host=\"2\"} 1");
    expect(&f, "distinct_label_over_time(\"user\", q[15s])", 30, "{} 2");
    expect(&f, "topk_label_over_time(1, \"user\", q[1m], \"host\")", 60,
           "{host=\"1\",user=\"b\"} 16\n {host=\"2\",user=\"a\"} 8");
    expect(&f, "topk_label_over_time(2, \"user\", q[1m])", 60, "{user=\"b\"} 16\n {user=\"c\"} 16");
    expect(&f, "topk_label_over_time(0, \"user\", q[1m])", 60, "");
    expect(&f, "l2_label_over_time(\"user\", q[1m])", 60, "{} 25.612496949731394"); /* sqrt(144 + 256 + 256) */
    expect(&f, "entropy_label_over_time(\"user\", q[1m], \"host\")", 60,
           "{host=\"1\"} 1.3921472236645345\n {host=\"2\"} 0"); /* 4 16 16 of 36 */
    expect(&f, "distinct_label_over_time(\"nosuch\", q[1m])", 60, "");
}
END_TEST

/* 3,000 values of a label, named as they sort: they rise from 1 at first, fall from 3,000 then, three NaN and three
 * ties among them. The work is of so many values, not of so many pairs. */
START_TEST(the_heaviest_of_many_values_of_a_label)
{
    char *load = malloc(3000 * 40 + 20), *p = load;
    ck_assert_ptr_nonnull(load);
    p += sprintf(p, "load 15s\n");
    for (int i = 1; i <= 3000; i++) {
        if (i % 1000 == 500)
            p += sprintf(p, " q{u=\"%04d\"} NaN 5000\n", i);
        else
            p += sprintf(p, " q{u=\"%04d\"} %d %d\n", i, i, 3001 - i);
    }
    fixture_load(&f, load);
    free(load);
    expect_range(&f, "topk_label_over_time(2, \"u\", q[15s])", 0, 15, 15,
                 "{u=\"0500\"} _ 5000\n {u=\"1500\"} _ 5000\n {u=\"2999\"} 2999 _\n {u=\"3000\"} 3000 _");
    expect_range(&f, "topk_label_over_time(4.9, \"u\", q[15s])", 15, 15, 15,
                 "{u=\"0001\"} 3000\n {u=\"0500\"} 5000\n {u=\"1500\"} 5000\n {u=\"2500\"} 5000");
    expect(&f, "count(topk_label_over_time(2998, \"u\", q[15s]) > 0)", 0, "{} 2997"); /* and a NaN, which is no more */
    expect(&f, "count(topk_label_over_time(1e300, \"u\", q[15s]))", 0, "{} 3000");
    expect(&f, "topk_label_over_time(-1, \"u\", q[15s]) or topk_label_over_time(NaN, \"u\", q[15s])", 0, "");
    struct executor x = {.source = &f.source};
    struct query_options o = {.start_ms = 15000, .end_ms = 15000, .limits.samples_max = 100000};
    struct arena a;
    struct result r;
    struct err e = {0};
    arena_init(&a, 0);
    ck_assert_int_eq(query_run(&x, STR("topk_label_over_time(5, \"u\", q[1m])"), &o, &a, &r, &e), 0);
    arena_done(&a);
}
END_TEST

START_TEST(rates_of_gauges_are_noted)
{
    fixture_load(&f, "load 15s\n gauge 1+1x9\n c_total 1+1x9\n h_bucket 1+1x9\n");
    expect_info(&f, "rate(gauge[1m])", 60,
                "PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "
                "\"gauge\" (1:6)");
    expect_info(&f, "rate(c_total[1m])", 60, NULL);
    expect_info(&f, "increase(h_bucket[1m])", 60, NULL);
    expect_info(&f, "rate(gauge[1m])", 900, NULL); /* no answer, no note */
    expect_info(&f, "delta(gauge[1m])", 60, NULL);
}
END_TEST

/* ---- sliding ---- */
static unsigned random_state;

static double random_unit(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) / 16777216.0;
}

static double random_value(int kind)
{
    static const double odd[] = {0, -0.0, 1, 2, 1e308, -1e308, 1e16, 1, INFINITY, -INFINITY};
    double u = random_unit();
    if (kind == 0)
        return floor(u * 20) - 5;
    if (kind == 1)
        return u * 1000;
    return u < 0.1 ? NAN : odd[(int)(random_unit() * 10)];
}

static const char *const sliding[] = {
    "rate(x[#])",
    "increase(x[#])",
    "delta(x[#])",
    "irate(x[#])",
    "sum_over_time(x[#])",
    "avg_over_time(x[#])",
    "count_over_time(x[#])",
    "stddev_over_time(x[#])",
    "min_over_time(x[#])",
    "max_over_time(x[#])",
    "ts_of_min_over_time(x[#])",
    "ts_of_max_over_time(x[#])",
    "changes(x[#])",
    "resets(x[#])",
    "quantile_over_time(0.3, x[#])",
    "mad_over_time(x[#])",
    "distinct_over_time(x[#])",
    "entropy_over_time(x[#])",
    "deriv(x[#])",
    "last_over_time(x[#])",
    "increase(x[#] anchored)",
    "rate(x[#] smoothed)",
    "changes(x[#] anchored)",
    "x",
    "x smoothed",
};

/* `#` stands for the range. */
static void write_query(const char *form, int range_ms, char *ret, size_t cap)
{
    int head = (int)strcspn(form, "#");
    if (form[head])
        snprintf(ret, cap, "%.*s%dms%s", head, form, range_ms, form + head + 1);
    else
        snprintf(ret, cap, "%s", form);
}

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b) && value_absent(a) == value_absent(b)) || memcmp(&a, &b, sizeof a) == 0;
}

START_TEST(a_range_is_its_instants)
{
    random_state = (unsigned)suite_seed("a_range_is_its_instants") + (unsigned)_i;
    for (int kind = 0; kind < 3; kind++) {
        fixture_done(&f);
        fixture_init(&f);
        int64_t t = 0;
        for (int i = 0; i < 150; i++, t += 1 + (int64_t)(random_unit() * (random_unit() < 0.05 ? 400000 : 9000)))
            fixture_add(&f, "x", t, random_unit() < 0.03 ? float_stale() : random_value(kind));
        char query[100];
        int range_ms = 1 + (int)(random_unit() * 120000), step_ms = 1 + (int)(random_unit() * 30000), steps = 40;
        write_query(sliding[_i], range_ms, query, sizeof query);
        double start_s = random_unit() * (double)t / 1000;
        struct arena a;
        struct result range, one;
        struct err e;
        arena_init(&a, 0);
        int64_t start_ms = llround(start_s * 1000);
        ck_assert_int_eq(fixture_query(&f, query, (double)start_ms / 1000, (double)(start_ms + steps * step_ms) / 1000,
                                       step_ms / 1000.0, &a, &range, &e),
                         0);
        for (uint32_t i = 0; i < range.times.n; i++) {
            double at_s = (double)times_at(&range.times, i) / 1000;
            ck_assert_int_eq(fixture_query(&f, query, at_s, at_s, 0, &a, &one, &e), 0);
            double want = one.series_n ? one.series[0].v[0] : float_stale();
            double got = range.series_n ? range.series[0].v[i] : float_stale();
            ck_assert_msg(same_number(got, want), "%s at %.3f s, kind %d: range %.17g, instant %.17g", query, at_s,
                          kind, got, want);
        }
        arena_done(&a);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor/range");
    TCase *tcase = tcase_create("range");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, one_function, 0, sizeof table / sizeof table[0]);
    tcase_add_test(tcase, panes_shorter_than_the_scrape_interval);
    tcase_add_test(tcase, reset_is_corrected_and_the_edge_extrapolated);
    tcase_add_test(tcase, reset_where_two_panes_would_meet);
    tcase_add_test(tcase, integer_counter_as_prometheus);
    tcase_add_test(tcase, aggregates_of_their_own_values);
    tcase_add_test(tcase, quantiles_of_odd_values);
    tcase_add_test(tcase, sums_keep_what_rounding_loses);
    tcase_add_test(tcase, smoothing_refuses_its_parameters);
    tcase_add_test(tcase, absence_has_the_labels_of_equality);
    tcase_add_test(tcase, anchored_and_smoothed);
    tcase_add_test(tcase, quantiles_as_one_vector);
    tcase_add_test(tcase, values_of_a_label);
    tcase_add_test(tcase, the_heaviest_of_many_values_of_a_label);
    tcase_add_test(tcase, rates_of_gauges_are_noted);
    tcase_add_loop_test(tcase, a_range_is_its_instants, 0, sizeof sliding / sizeof sliding[0]);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
