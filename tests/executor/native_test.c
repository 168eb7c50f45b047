/* Native histograms through every kind of operator: values by arithmetic, notes in Prometheus' words. */
#include <check.h>

#include "own_fixture.h"
#include "suite.h"

/* h: buckets (0.5, 1] and (1, 2]; f: a number under other labels; x: custom buckets up to 5, 10 and beyond. */
static const char load[] = "load 1m\n"
                           " h{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}x10\n"
                           " h{l=\"b\"} {{count:5 sum:9 buckets:[0 5]}}x10\n"
                           " f{l=\"a\"} 2x10\n"
                           " g{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}x10\n"
                           " x{l=\"a\"} {{schema:-53 count:6 sum:30 custom_values:[5 10] buckets:[3 2 1]}}x10\n"
                           " y{l=\"a\"} {{schema:-53 count:2 sum:8 custom_values:[5 20] buckets:[1 1]}}x10\n";

START_TEST(operators)
{
    static const struct row rows[] = {
        {"h{l=\"a\"}", "h{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"-h{l=\"a\"}", "{l=\"a\"} {{count:-3 sum:-4 buckets:[-1 -2]}}"},
        {"h{l=\"a\"} * 3", "{l=\"a\"} {{count:9 sum:12 buckets:[3 6]}}"},
        {"3 * h{l=\"a\"}", "{l=\"a\"} {{count:9 sum:12 buckets:[3 6]}}"},
        {"h{l=\"b\"} / 2", "{l=\"b\"} {{count:2.5 sum:4.5 buckets:[0 2.5]}}"},
        {"h * on (l) f", "{l=\"a\"} {{count:6 sum:8 buckets:[2 4]}}"},
        {"h + on (l) g", "{l=\"a\"} {{count:6 sum:8 buckets:[2 4]}}"},
        {"h - on (l) g", "{l=\"a\"} {{count:0 sum:0}}"},
        {"h == on (l) g", "{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"h == bool on (l) g", "{l=\"a\"} 1"},
        {"h != on (l) g", ""},
        {"h != bool on (l) g", "{l=\"a\"} 0"},
        /* The bounds that both have are 5: up to it 3 and 1, above it 3 and 1. */
        {"x + on (l) y", "{l=\"a\"} {{schema:-53 count:8 sum:38 custom_values:[5] buckets:[4 4]}}"},
        /* What has no meaning gives nothing. */
        {"h + 1", ""},
        {"1 / h", ""},
        {"h > 1", ""},
        {"h * on (l) g", ""},
        {"f + on (l) g", ""},
        {"h + on (l) x", ""},
        /* Set operators look at labels alone; a series may be either. */
        {"h and on (l) f", "h{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"h unless on (l) f", "h{l=\"b\"} {{count:5 sum:9 buckets:[0 5]}}"},
        {"f or on (l) h", "f{l=\"a\"} 2\nh{l=\"b\"} {{count:5 sum:9 buckets:[0 5]}}"},
        /* A pair without meaning is no match, so that h{l="a"} is the only one for g. */
        {"{__name__=~\"f|h\"} + on (l) g", "{l=\"a\"} {{count:6 sum:8 buckets:[2 4]}}"},
        /* Trimming: the bucket (1, 2] is cut at sqrt(2), the middle of it on a log scale. The sum is estimated from
         * what is left, one at sqrt(0.5) and one at sqrt(sqrt(2)). */
        {"h{l=\"a\"} </ 1.4142135623730951", "h{l=\"a\"} {{count:2 sum:1.8963138961892687 buckets:[1 1]}}"},
        {"h{l=\"a\"} </ 2", "h{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"h{l=\"a\"} >/ 2", "h{l=\"a\"} {{count:0 sum:0}}"},
        {"f </ 1", ""},
        {"1 </ h", ""},
    };
    fixture_load(&f, load);
    CHECK_ROWS(rows, 300);
    expect_info(
        &f, "h + 1", 300,
        "PromQL info: incompatible sample types encountered for binary operator \"+\": histogram + float (1:1)");
    expect_info(&f, "1 / h", 300, "\"/\": float / histogram (1:1)");
    expect_info(&f, "h * on (l) g", 300, "\"*\": histogram * histogram (1:1)");
    expect_info(&f, "f </ 1", 300, "\"</\": float </ float (1:1)");
    expect_warning(&f, "h + on (l) x", 300,
                   "PromQL warning: incompatible bucket layout encountered for binary operator + (1:1)");
    expect_info(&f, "x + on (l) y", 300,
                "PromQL info: mismatched custom buckets were reconciled during addition (1:1)");
    expect_info(&f, "h == on (l) g", 300, NULL);
}
END_TEST

START_TEST(aggregations)
{
    static const struct row rows[] = {
        {"sum(h)", "{} {{count:8 sum:13 buckets:[1 7]}}"},
        {"avg(h)", "{} {{count:4 sum:6.5 buckets:[0.5 3.5]}}"},
        {"sum by (l) (h)", "{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}\n{l=\"b\"} {{count:5 sum:9 buckets:[0 5]}}"},
        {"sum({__name__=~\"f|h\"})", ""},
        {"sum by (l) ({__name__=~\"f|h\"})", "{l=\"b\"} {{count:5 sum:9 buckets:[0 5]}}"},
        {"sum({__name__=~\"h|x\"})", ""},
        {"count({__name__=~\"f|h\"})", "{} 3"},
        {"group(h)", "{} 1"},
        {"max({__name__=~\"f|h\"})", "{} 2"},
        {"stddev({__name__=~\"f|h\"})", "{} 0"},
        {"quantile(0.5, {__name__=~\"f|h\"})", "{} 2"},
        {"min(h)", ""},
        {"topk(5, {__name__=~\"f|h\"})", "f{l=\"a\"} 2"},
        {"count(limitk(5, {__name__=~\"f|h\"}))", "{} 3"},
        {"limit_ratio(1, h{l=\"a\"})", "h{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"count_values(\"v\", {__name__=~\"f|g|h\"})",
         "{v=\"2\"} 1\n{v=\"{count:3, sum:4, (0.5,1]:1, (1,2]:2}\"} 2\n{v=\"{count:5, sum:9, (1,2]:5}\"} 1"},
    };
    fixture_load(&f, load);
    CHECK_ROWS(rows, 300);
    expect_warning(&f, "sum({__name__=~\"f|h\"})", 300,
                   "PromQL warning: encountered a mix of histograms and floats for aggregation (1:5)");
    expect_warning(
        &f, "avg({__name__=~\"h|x\"})", 300,
        "PromQL warning: vector contains a mix of histograms with exponential and custom buckets schemas for "
        "metric name \"");
    expect_info(&f, "max({__name__=~\"f|h\"})", 300, "PromQL info: ignored histogram in max aggregation (1:5)");
    expect_info(&f, "topk(5, {__name__=~\"f|h\"})", 300, "PromQL info: ignored histogram in topk aggregation (1:1)");
    expect_info(&f, "quantile(0.5, h)", 300, "PromQL info: ignored histogram in quantile aggregation (1:15)");
    expect_info(&f, "count(h)", 300, NULL);
}
END_TEST

START_TEST(functions)
{
    static const struct row rows[] = {
        {"histogram_count(h)", "{l=\"a\"} 3\n{l=\"b\"} 5"},
        {"histogram_sum(h)", "{l=\"a\"} 4\n{l=\"b\"} 9"},
        {"histogram_avg(h{l=\"b\"})", "{l=\"b\"} 1.8"},
        /* All five in (1, 2], whose middle is sqrt(2): (sqrt(2) - 1.8)^2. */
        {"histogram_stdvar(h{l=\"b\"})", "{l=\"b\"} 0.14883117545685792"},
        {"histogram_stddev(h{l=\"b\"})", "{l=\"b\"} 0.3857864376269049"},
        {"histogram_count(f)", ""},
        /* Rank 2.5 of 5 in (1, 2]: half way on a log scale. */
        {"histogram_quantile(0.5, h{l=\"b\"})", "{l=\"b\"} 1.4142135623730951"},
        {"histogram_quantiles(h{l=\"b\"}, \"q\", 0, 0.5)",
         "{l=\"b\",q=\"0.0\"} 1\n{l=\"b\",q=\"0.5\"} 1.4142135623730951"},
        {"histogram_quantile(0.25, x)", "{l=\"a\"} 2.5"},
        {"histogram_fraction(0, 1, h)", "{l=\"a\"} 0.3333333333333333\n{l=\"b\"} 0"},
        {"histogram_fraction(5, 10, x)", "{l=\"a\"} 0.3333333333333333"},
        {"abs(h)", ""},
        {"round(f or h)", "{l=\"a\"} 2"},
        {"clamp(h, 1, 2)", ""},
        {"hour(h)", ""},
        {"scalar(h{l=\"a\"})", "NaN"},
        {"scalar(f or h)", "2"},
        {"absent(h)", ""},
        {"timestamp(h{l=\"a\"})", "{l=\"a\"} 300"},
        {"label_replace(h{l=\"a\"}, \"l\", \"z\", \"\", \"\")", "h{l=\"z\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"label_join(h{l=\"a\"}, \"k\", \"-\", \"l\", \"l\")", "h{l=\"a\",k=\"a-a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"sort(f or h)", "ordered\nf{l=\"a\"} 2"},
        {"sort_by_label_desc(h, \"l\")",
         "ordered\nh{l=\"b\"} {{count:5 sum:9 buckets:[0 5]}}\nh{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"h{l=\"a\"} offset 1m", "h{l=\"a\"} {{count:3 sum:4 buckets:[1 2]}}"},
        {"histogram_count(h{l=\"a\"} @ 60)", "{l=\"a\"} 3"},
    };
    fixture_load(&f, load);
    CHECK_ROWS(rows, 300);
    fixture_load(&f, "load 1m\n c{le=\"1\"} 1x10\n c{le=\"+Inf\"} 4x10\n c {{count:1 sum:1 buckets:[1]}} _x9 _\n"
                     " i{instance=\"i\"} 1x10\n target_info{instance=\"i\"} {{count:1 sum:1 buckets:[1]}}x10\n");
    /* A classic and a native histogram of the same labels at the same time: neither. */
    expect(&f, "histogram_quantile(0.5, c)", 0, "");
    expect_warning(
        &f, "histogram_quantile(0.5, c)", 0,
        "PromQL warning: vector contains a mix of classic and native histograms for metric name \"c\" (1:25)");
    expect(&f, "histogram_quantile(0.5, c)", 360, "{} 1");
    expect_error(&f, "info(i)", 300, ERR_EXECUTION, "native histograms");
}
END_TEST

/* A counter of one observation a minute in each of two buckets, that starts again at 4 m; a gauge; one of both kinds.
 */
static const char ranges_load[] =
    "load 1m\n"
    " c {{count:2 sum:3 buckets:[1 1]}}+{{count:2 sum:3 buckets:[1 1]}}x3 {{count:2 sum:3 buckets:[1 1]}}+{{count:2 "
    "sum:3 buckets:[1 1]}}x5\n"
    " g {{count:2 sum:2 buckets:[2] counter_reset_hint:gauge}} {{count:6 sum:6 buckets:[6] counter_reset_hint:gauge}} "
    "{{count:4 sum:4 buckets:[4] counter_reset_hint:gauge}}\n"
    " mixed 1 2 {{count:2 sum:2 buckets:[2]}} {{count:2 sum:2 buckets:[2]}} {{count:3 sum:3 buckets:[3]}} 5\n"
    " stale {{count:2 sum:2 buckets:[2]}} stale\n";

START_TEST(ranges)
{
    static const struct row rows[] = {
        /* (1 m, 3 m]: 6 and 8 on one minute, stretched to two. */
        {"increase(c[2m] @ 180)", "{} {{count:4 sum:6 buckets:[2 2]}}"},
        {"rate(c[2m] @ 180)", "{} {{count:0.03333333333333333 sum:0.05 buckets:[0.016666666666666666 "
                              "0.016666666666666666]}}"},
        {"irate(c[2m] @ 180)", "{} {{count:0.03333333333333333 sum:0.05 buckets:[0.016666666666666666 "
                               "0.016666666666666666]}}"},
        /* Over the reset at 4 m: 8 at 3 m, 2, 4: an increase of 4 on two minutes; 3 m wide. */
        {"increase(c[3m] @ 300)", "{} {{count:6 sum:9 buckets:[3 3]}}"},
        {"resets(c[5m] @ 300)", "{} 1"},
        {"changes(c[5m] @ 300)", "{} 4"},
        {"delta(g[2m] @ 120)", "{} {{count:-4 sum:-4 buckets:[-4]}}"},
        {"idelta(g[3m] @ 120)", "{} {{count:-2 sum:-2 buckets:[-2]}}"},
        {"sum_over_time(g[3m] @ 120)", "{} {{count:12 sum:12 buckets:[12]}}"},
        {"avg_over_time(g[3m] @ 120)", "{} {{count:4 sum:4 buckets:[4]}}"},
        {"last_over_time(g[3m] @ 120)", "g {{count:4 sum:4 buckets:[4]}}"},
        {"first_over_time(g[3m] @ 120)", "g {{count:2 sum:2 buckets:[2]}}"},
        {"count_over_time(g[3m] @ 120)", "{} 3"},
        {"present_over_time(g[3m] @ 120)", "{} 1"},
        {"absent_over_time(g[3m] @ 120)", ""},
        {"ts_of_last_over_time(g[3m] @ 120)", "{} 120"},
        {"max_over_time(g[3m] @ 120)", ""},
        /* Both kinds in one window. */
        {"sum_over_time(mixed[6m] @ 300)", ""},
        {"rate(mixed[6m] @ 300)", ""},
        {"sum_over_time(mixed[2m] @ 60)", "{} 3"},
        {"sum_over_time(mixed[3m] @ 240)", "{} {{count:7 sum:7 buckets:[7]}}"},
        {"max_over_time(mixed[6m] @ 300)", "{} 5"},
        {"count_over_time(mixed[6m] @ 300)", "{} 6"},
        {"changes(mixed[6m] @ 300)", "{} 4"}, /* 1 2, to a histogram, 2 3, to a number */
        {"idelta(mixed[6m] @ 240)", "{} {{count:1 sum:1 buckets:[1]}}"},
        {"irate(mixed[6m] @ 300)", ""},
        /* Edges that are known need no stretching. */
        {"increase(c[2m] anchored @ 190)", "{} {{count:4 sum:6 buckets:[2 2]}}"},
        {"increase(c[2m] smoothed @ 150)", "{} {{count:4 sum:6 buckets:[2 2]}}"},
        /* A subquery sees the reset that lies between its points. */
        /* 6 at 2 m, 2 at 4 m, 6 at 6 m: an increase of 6 on four minutes, 6 m wide. */
        {"increase(c[6m:2m] @ 360)", "{} {{count:9 sum:13.5 buckets:[4.5 4.5]}}"},
        {"sum_over_time(histogram_count(c)[2m:1m] @ 180)", "{} 14"},
        {"stale @ 0", "stale {{count:2 sum:2 buckets:[2]}}"},
        {"stale @ 60", ""},
    };
    fixture_load(&f, ranges_load);
    CHECK_ROWS(rows, 300);
    expect(&f, "c smoothed", 30, "c {{count:3 sum:4.5 buckets:[1.5 1.5]}}");
}
END_TEST

START_TEST(notes_of_ranges)
{
    fixture_load(&f, ranges_load);
    expect_warning(&f, "rate(mixed[6m])", 300,
                   "PromQL warning: encountered a mix of histograms and floats for metric name \"mixed\" (1:6)");
    expect_warning(&f, "rate(g[3m])", 120,
                   "PromQL warning: this native histogram metric is not a counter: \"g\" (1:6)");
    expect_warning(&f, "delta(c[3m])", 180, "PromQL warning: this native histogram metric is not a gauge: \"c\" (1:7)");
    expect_info(&f, "max_over_time(mixed[6m])", 300,
                "PromQL info: ignored histograms in a range containing both floats and histograms for metric name "
                "\"mixed\" (1:15)");
    expect_info(&f, "max_over_time(mixed[2m])", 60, NULL);
    expect_info(&f, "rate(c[3m])", 180, NULL); /* a histogram needs no _total */
}
END_TEST

START_TEST(steps)
{
    fixture_load(&f, "load 1m\n s 1 {{count:2 sum:2 buckets:[2]}} _ stale 3\n");
    expect_range(&f, "s", 0, 240, 60, "s 1 {{count:2 sum:2 buckets:[2]}} {{count:2 sum:2 buckets:[2]}} _ 3");
    expect_range(&f, "s * 2", 0, 240, 60, "{} 2 {{count:4 sum:4 buckets:[4]}} {{count:4 sum:4 buckets:[4]}} _ 6");
    expect_range(&f, "sum(s)", 0, 240, 60, "{} 1 {{count:2 sum:2 buckets:[2]}} {{count:2 sum:2 buckets:[2]}} _ 3");
    expect_range(&f, "histogram_count(s)", 0, 240, 60, "{} _ 2 2 _ _");
    expect_range(&f, "count(s)", 0, 240, 60, "{} 1 1 1 _ 1");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("executor native histograms");
    TCase *c = tcase_create("native");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, operators);
    tcase_add_test(c, aggregations);
    tcase_add_test(c, functions);
    tcase_add_test(c, ranges);
    tcase_add_test(c, notes_of_ranges);
    tcase_add_test(c, steps);
    suite_add_tcase(s, c);
    return suite_run(s);
}
