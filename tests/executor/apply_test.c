/* What holds for every operator: it ends with ERR_LIMIT wherever its memory ends, and stops when it is told to. */
#include "expect.h"
#include "suite.h"

static struct fixture f;

static const char *const queries[] = {
    "sum by (l) (m)",
    "avg(m)",
    "stddev without (l) (m)",
    "quantile(0.5, m)",
    "topk(2, m)",
    "bottomk by (k) (1, m)",
    "limitk(2, m)",
    "limit_ratio(0.5, m)",
    "count_values by (k) (\"v\", m)",
    "m + 1",
    "m > bool 1",
    "m * on (k, l) n",
    "m * on (k) group_left (x) label_replace(n{l=\"a\"}, \"x\", \"y\", \"\", \"\")",
    "n{l=\"a\"} - ignoring (l) group_right m",
    "m + on (k, l) fill(0) n",
    "m and n",
    "m or n",
    "m unless n",
    "-m",
    "abs(m)",
    "round(m, 2)",
    "clamp(m, 1, 2)",
    "timestamp(m + 0)",
    "hour(m)",
    "year()",
    "vector(scalar(m))",
    "absent(nosuch{a=\"b\"})",
    "label_replace(m, \"x\", \"$1\", \"l\", \"(.*)\")",
    "label_join(m, \"x\", \"-\", \"l\", \"k\")",
    "label_replace(gaps, \"l\", \"\", \"l\", \".*\")",
    "sort(m)",
    "sort_by_label_desc(m, \"l\")",
    "histogram_quantile(0.5, h_bucket)",
    "histogram_quantiles(h_bucket, \"q\", 0.1, 0.9)",
    "histogram_fraction(0, 1, h_bucket)",
    "info(m)",
    "sum(nh)",
    "avg by (l) (nh)",
    "count(nh)",
    "max(nh or m)",
    "topk(2, nh or m)",
    "limitk(2, nh)",
    "count_values(\"v\", nh)",
    "nh + nh",
    "nh - on (l) nh",
    "nh * on () group_left () vector(2)",
    "nh == nh",
    "nh / 2",
    "nh </ 1",
    "nh and m",
    "-nh",
    "abs(nh or m)",
    "histogram_count(nh)",
    "histogram_stddev(nh)",
    "histogram_quantile(0.5, nh or h_bucket)",
    "histogram_quantiles(nh, \"q\", 0.1, 0.9)",
    "histogram_fraction(0, 1, nh)",
    "label_replace(nh, \"l\", \"$1\", \"l\", \"(.*)\")",
    "sort(nh or m)",
    "rate(nh[3m])",
    "increase(nh[2m] anchored)",
    "delta(nh[2m] smoothed)",
    "irate(nh[3m])",
    "idelta(nh[3m])",
    "sum_over_time(nh[3m])",
    "avg_over_time(nh[3m])",
    "last_over_time(nh[3m])",
    "changes(nh[3m])",
    "max_over_time(nh[3m])",
    "nh smoothed",
    "rate(nh[3m:30s])",
    "histogram_count(sum(nh))",
};
enum { QUERIES_N = sizeof queries / sizeof queries[0] };

static void setup(void)
{
    fixture_init(&f);
    fixture_load(&f, "load 1m\n m{l=\"a\",k=\"1\"} 1 2 3 4\n m{l=\"b\",k=\"1\"} 2 3 4 5\n m{l=\"c\",k=\"1\"} 3 4 5 6\n"
                     " n{l=\"a\",k=\"1\"} 1 1 1 1\n n{l=\"d\",k=\"1\"} 1 1 1 1\n gaps{l=\"a\"} 1 stale 1 stale\n"
                     " gaps{l=\"b\"} _ 2 stale 2\n h_bucket{le=\"1\"} 3 3 3 3\n h_bucket{le=\"2\"} 2 3 4 5\n"
                     " h_bucket{le=\"+Inf\"} 8 8 8 8\n target_info{k=\"1\"} 1 1 1 1\n"
                     " nh{l=\"a\",k=\"1\"} {{count:3 sum:5 buckets:[1 2]}}+{{count:2 sum:3 buckets:[1 0 1]}}x3\n"
                     " nh{l=\"b\",k=\"1\"} {{count:2 sum:4 n_buckets:[1 1] n_offset:3}}x3\n"
                     " nh{l=\"c\",k=\"1\"} 1 {{count:1 sum:1 buckets:[1]}} 2 3\n");
}

static void teardown(void)
{
    fixture_done(&f);
}

static int run_limited(const char *query, size_t limit_bytes, double step_s)
{
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, limit_bytes);
    int code = fixture_query(&f, query, step_s > 0 ? 0 : 120, step_s > 0 ? 180 : 120, step_s, &a, &r, &e);
    ck_assert_msg(code == 0 || code == ERR_LIMIT, "%s with %zu bytes: %s", query, limit_bytes, e.message);
    arena_done(&a);
    return code;
}

START_TEST(memory_ends_anywhere)
{
    for (int i = 0; i < QUERIES_N; i++) {
        for (int range = 0; range < 2; range++) {
            size_t limit = 512;
            while (limit < 1 << 20 && run_limited(queries[i], limit, range * 60) != 0)
                limit += 48;
            ck_assert_msg(limit < 1 << 20, "%s needs more than a MiB", queries[i]);
        }
    }
}
END_TEST

START_TEST(a_canceled_query_stops)
{
    static const _Atomic bool canceled = true;
    struct executor x = {.source = &f.source};
    for (int i = 0; i < QUERIES_N; i++) {
        struct query_options o = {.start_ms = 0, .end_ms = 180000, .step_ms = 60000, .canceled = &canceled};
        struct arena a;
        struct result r;
        struct err e = {0};
        arena_init(&a, 0);
        ck_assert_int_eq(query_run(&x, str_of(queries[i]), &o, &a, &r, &e), ERR_CANCELED);
        arena_done(&a);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor apply");
    TCase *tc = tcase_create("apply");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, memory_ends_anywhere);
    tcase_add_test(tc, a_canceled_query_stops);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
