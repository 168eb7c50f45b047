/*
 * executor/group_panes and its binding: answers from views by labels. Small ones are written here as sums over the
 * samples; all others are those of an evaluation from the same raw samples, which other suites hold against Prometheus.
 */
#include <math.h>

#include "group_stage.h"
#include "suite.h"

static struct group_stage s;

static void setup(void)
{
    group_stage_init(&s);
}
static void teardown(void)
{
    group_stage_done(&s);
}

static bool close_to(double a, double b)
{
    if (value_absent(a) || value_absent(b) || isnan(a) || isnan(b))
        return value_absent(a) == value_absent(b) && isnan(a) == isnan(b);
    return a == b || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static const struct result_series *find(const struct result *r, const struct labels *l)
{
    for (uint32_t i = 0; i < r->series_n; i++)
        if (labels_eq(&r->series[i].labels, l))
            return &r->series[i];
    return NULL;
}

static struct result run(const char *query, double start_s, double end_s, double step_s, bool exact, struct arena *a)
{
    struct result r;
    struct err e;
    int rc = group_stage_query(&s, query, start_s, end_s, step_s, exact, NULL, a, &r, &e);
    ck_assert_msg(rc == 0, "%s: %s", query, e.message);
    return r;
}

/* The same series with the same values; from these sources (enum answer_source bits), or ANY_PANES: panes among them.
 */
enum { ANY_PANES = 0 };
static void expect_as_raw(const char *query, double start_s, double end_s, double step_s, uint32_t sources)
{
    struct arena a;
    arena_init(&a, 0);
    struct result got = run(query, start_s, end_s, step_s, false, &a),
                  raw = run(query, start_s, end_s, step_s, true, &a);
    ck_assert_msg(sources == ANY_PANES ? got.sources & SOURCE_PANES : got.sources == sources, "%s: answered from %s",
                  query, answer_source_text(got.sources));
    ck_assert_msg(got.series_n == raw.series_n, "%s: %u series, not %u", query, got.series_n, raw.series_n);
    for (uint32_t i = 0; i < raw.series_n; i++) {
        const struct result_series *g = find(&got, &raw.series[i].labels);
        ck_assert_msg(g, "%s: series %u is missing", query, i);
        for (uint32_t t = 0; t < raw.times.n; t++)
            ck_assert_msg(close_to(g->v[t], raw.series[i].v[t]), "%s: series %u, step %u: %.17g, not %.17g", query, i,
                          t, g->v[t], raw.series[i].v[t]);
    }
    /* Each step of a range is what an instant query answers there from the same source, to the bit. */
    for (uint32_t t = 0; step_s > 0 && t < got.times.n; t += got.times.n / 3 + 1) {
        double at_s = start_s + t * step_s;
        struct result one = run(query, at_s, at_s, 0, false, &a);
        for (uint32_t i = 0; i < one.series_n; i++) {
            const struct result_series *g = find(&got, &one.series[i].labels);
            bool same = g && (one.sources & SOURCE_PANES ? memcmp(&g->v[t], one.series[i].v, sizeof(double)) == 0
                                                         : close_to(g->v[t], one.series[i].v[0]));
            ck_assert_msg(same, "%s: %g s of a range", query, at_s);
        }
    }
    arena_done(&a);
}

static void expect_one(const char *query, double at_s, const char *labels, double value)
{
    struct arena a;
    struct labels l;
    arena_init(&a, 0);
    fixture_parse_labels(labels, &a, &l);
    struct result r = run(query, at_s, at_s, 0, false, &a);
    const struct result_series *g = find(&r, &l);
    ck_assert_msg(r.sources & SOURCE_PANES, "%s: answered from %s", query, answer_source_text(r.sources));
    ck_assert_msg(g && g->v[0] == value, "%s: %s is %.17g", query, labels, g ? g->v[0] : NAN);
    arena_done(&a);
}

/* Two minutes of samples each 30 s, at 30 s, 60 s, 90 s, 120 s. */
static void load_small(void)
{
    fixture_load(&s.f, "load 30s at 30s\n"
                       "m{job=\"a\", i=\"1\"} 1 2 3 4\n"
                       "m{job=\"a\", i=\"2\"} 10 _ _ 40\n"
                       "m{i=\"3\"} _ _ -7 stale\n"
                       "m{job=\"b\"} _ _ _ NaN\n");
}

static void views_of_values(const char *by)
{
    static const enum family families[] = {FAMILY_SUM, FAMILY_COUNT, FAMILY_MIN, FAMILY_MAX};
    for (int i = 0; i < 4; i++)
        group_stage_view(&s, "m", families[i], (struct sketch_params){0}, "value", by);
}

START_TEST(by_hand)
{
    load_small();
    views_of_values("job");
    expect_one("sum by (job) (sum_over_time(m[2m]))", 120, "{job=\"a\"}", 1 + 2 + 3 + 4 + 10 + 40);
    expect_one("sum by (job) (sum_over_time(m[1m]))", 120, "{job=\"a\"}", 3 + 4 + 40);
    expect_one("sum by (job) (sum_over_time(m[1m]))", 60, "{job=\"a\"}", 1 + 2 + 10);
    expect_one("sum by (job) (sum_over_time(m[2m]))", 120, "{}", -7);
    expect_one("sum by (job) (count_over_time(m[2m]))", 120, "{job=\"a\"}", 6);
    expect_one("sum by (job) (count_over_time(m[2m]))", 120, "{job=\"b\"}", 1);
    expect_one("min by (job) (min_over_time(m[2m]))", 120, "{job=\"a\"}", 1);
    expect_one("max by (job) (max_over_time(m[2m]))", 120, "{job=\"a\"}", 40);
    expect_one("group by (job) (present_over_time(m[2m]))", 120, "{job=\"b\"}", 1);
    expect_one("sum(count_over_time(m[2m]))", 120, "{}", 8);
    expect_one("max(max_over_time(m[2m]))", 120, "{}", 40);
    ck_assert_uint_eq(s.grouped_n, 11);
}
END_TEST

/* 45 series of three jobs, one of them nameless, and five paths; some begin late, end early, have holes. */
static void load_many(void)
{
    static const char *const jobs[] = {"job=\"a\", ", "job=\"b\", ", ""};
    for (int i = 0; i < 45; i++) {
        char name[100];
        snprintf(name, sizeof name, "m{%spath=\"/%d\", i=\"%d\"}", jobs[i % 3], i % 5, i);
        int64_t from_ms = i % 7 == 6 ? 1800000 : 5000 + 100 * i, to_ms = i % 11 == 10 ? 900000 : 3600000;
        for (int64_t t = from_ms, k = 0; t <= to_ms; t += 15000, k++)
            if (k % 17 < 15 || i % 2)
                fixture_add(&s.f, name, t, i * 10 + (double)(k * 7 % 31) + 0.1 * (double)k);
    }
    fixture_add(&s.f, "m{path=\"/x\", job=\"late\"}", 3599000, 5);
}

static const char *const queries[] = {
    "sum by (job) (sum_over_time(m[5m]))",
    "sum by (job) (count_over_time(m[5m]))",
    "min by (job) (min_over_time(m[5m]))",
    "max by (job) (max_over_time(m[5m]))",
    "group by (job) (present_over_time(m[5m]))",
    "sum(sum_over_time(m[10m]))",
    "sum by () (count_over_time(m[10m]))",
    "min(min_over_time(m[1m]))",
    "sum by (path, job) (sum_over_time(m[5m]))",
    "sum by (path) (sum_over_time(m[5m] offset 7m))",
    "max by (path) (max_over_time(m[5m] @ 1800))",
    "sum by (job) (sum_over_time(m[5m])) / sum by (job) (count_over_time(m[5m])) > 3",
    "max(sum by (job) (sum_over_time(m[5m])))",
    "sum(sum by (job) (sum_over_time(m[5m])))", /* groups are added up by their labels, whatever gives them */
    "topk(1, sum by (job) (sum_over_time(m[5m])))",
    "sum by (job, job) ((sum_over_time(m[30m])))",
};

/* Whatever is covered: all, up to the middle of a range, all but the last windows; coarser groups than the view's. */
START_TEST(as_raw)
{
    static const int64_t covered_ms[] = {INT64_MAX, 3000000, 3300000};
    load_many();
    views_of_values("job path");
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
            s.covered_ms = covered_ms[c];
            expect_as_raw(queries[i], 2400, 3600, 60, ANY_PANES);
            expect_as_raw(queries[i], 1200, 3600, 600, ANY_PANES);
            if (c == 0)
                expect_as_raw(queries[i], 3600, 3600, 0, SOURCE_PANES);
        }
}
END_TEST

/* An evaluation time between pane ends: whole panes inside, samples at both ends. */
START_TEST(ragged)
{
    load_many();
    views_of_values("job");
    s.covered_ms = 3540000;
    for (int i = 0; i < 5; i++)
        expect_as_raw(queries[i], 3333.7, 3333.7, 0, SOURCE_PANES | SOURCE_RAW);
    expect_as_raw(queries[0], 3599.9, 3599.9, 0, SOURCE_PANES | SOURCE_RAW);
}
END_TEST

/* The growing pane alone is no reason to say raw. */
START_TEST(at_now)
{
    load_many();
    views_of_values("job");
    s.covered_ms = 3540000;
    expect_as_raw(queries[0], 3600, 3600, 0, SOURCE_PANES);
    s.covered_ms = 3480000;
    expect_as_raw(queries[0], 3600, 3600, 0, SOURCE_PANES | SOURCE_RAW);
    s.covered_ms = 0; /* nothing is kept: samples are less */
    expect_as_raw(queries[0], 3600, 3600, 0, SOURCE_RAW);
}
END_TEST

/* What a view cannot answer, or what is not there whole, comes from samples. */
START_TEST(not_bound)
{
    static const char *const others[] = {
        "sum without (job) (sum_over_time(m[5m]))",
        "sum by (i) (sum_over_time(m[5m]))",
        "avg by (job) (sum_over_time(m[5m]))",
        "sum by (job) (sum_over_time(m{path=\"/1\"}[5m]))",
        "sum by (job) (rate(m[5m]))",
        "sum by (job) (sum_over_time(m[90s]))",
    };
    load_many();
    views_of_values("job path");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_as_raw(others[i], 3600, 3600, 0, SOURCE_RAW);
    ck_assert_uint_eq(s.grouped_n, 0);
    s.unnumbered_ms = 3480000;
    expect_as_raw(queries[0], 3600, 3600, 0, SOURCE_RAW);
    expect_as_raw(queries[0], 3780, 3780, 0, SOURCE_PANES); /* the window is past */
    s.unnumbered_ms = 0;
    s.damaged_ms = 3480000;
    expect_as_raw(queries[0], 3600, 3600, 0, SOURCE_RAW);
}
END_TEST

static void expect_explained(const char *query, double start_s, double step_s, const char *part)
{
    struct arena a;
    struct err e = {0};
    struct strbuf text = {0};
    struct executor x = {.plan = &s.plan, .source = &s.source};
    struct query_options o = {
        .start_ms = (int64_t)(start_s * 1000), .end_ms = 3600000, .step_ms = (int64_t)(step_s * 1000)};
    arena_init(&a, 0);
    ck_assert_int_eq(query_explain(&x, str_of(query), &o, &a, &text, &e), 0);
    ck_assert_msg(strstr(strbuf_z(&text), part), "%s", strbuf_z(&text));
    strbuf_done(&text);
    arena_done(&a);
}

START_TEST(explained)
{
    group_stage_view(&s, "m", FAMILY_SUM, (struct sketch_params){0}, "value", "job path");
    group_stage_view(&s, "m", FAMILY_MAX, (struct sketch_params){0}, "value", "");
    expect_explained("sum by (job) (sum_over_time(m[5m]))", 3600, 0,
                     "pane_read view 0 sum by (job, path), 5 panes of 1m\n"
                     "estimate sum by (job) (sum_over_time(m[5m]))\n");
    expect_explained("max(max_over_time(m[5m])) + 1", 3000, 60,
                     "pane_read view 1 max of all series, 5 panes of 1m\n"
                     "estimate max(max_over_time(m[5m]))\nvector max(max_over_time(m[5m])) + 1\n");
    expect_explained("max(max_over_time(m[5m]))", 3000, 50, "why raw: it is no query of the workload, and no view");
}
END_TEST

/* Of two views the one by fewer labels is read: 5 windows of 3 groups (and a late one) against 16. */
START_TEST(fewest_states)
{
    struct arena a;
    load_many();
    group_stage_view(&s, "m", FAMILY_SUM, (struct sketch_params){0}, "value", "job path");
    group_stage_view(&s, "m", FAMILY_SUM, (struct sketch_params){0}, "value", "job");
    arena_init(&a, 0);
    ck_assert_uint_eq(run(queries[0], 3600, 3600, 0, false, &a).states_n, 5 * 3 + 1);
    ck_assert_uint_eq(run("sum by (path) (sum_over_time(m[5m]))", 3600, 3600, 0, false, &a).states_n, 5 * 15 + 1);
    arena_done(&a);
}
END_TEST

/* Distinct values of a label, within four standard errors of what was asked; only where the query is all of it. */
START_TEST(distinct)
{
    const struct accuracy within = {ACCURACY_CARDINALITY, 0.01, 0.35};
    static const double covered_s[] = {1e9, 3540, 3300};
    struct arena a;
    struct err e;
    load_many();
    group_stage_view(&s, "m", FAMILY_HLL, (struct sketch_params){.p = 14}, "label i", "job path");
    arena_init(&a, 0);
    for (int c = 0; c < 3; c++) {
        struct result got, raw = run("distinct_label_over_time(\"i\", m[30m], \"job\")", 1900, 3600, 100, true, &a);
        s.covered_ms = (int64_t)(covered_s[c] * 1000);
        ck_assert_int_eq(group_stage_query(&s, "distinct_label_over_time(\"i\", m[30m], \"job\")", 1920, 3600, 120,
                                           false, &within, &a, &got, &e),
                         0);
        raw = run("distinct_label_over_time(\"i\", m[30m], \"job\")", 1920, 3600, 120, true, &a);
        ck_assert_uint_eq(got.sources, c == 2 ? SOURCE_PANES | SOURCE_RAW : SOURCE_PANES);
        ck_assert_uint_eq(got.series_n, raw.series_n);
        for (uint32_t i = 0; i < raw.series_n; i++) {
            ck_assert(labels_eq(&got.series[i].labels, &raw.series[i].labels));
            for (uint32_t t = 0; t < raw.times.n; t++) {
                ck_assert(value_absent(got.series[i].v[t]) == value_absent(raw.series[i].v[t]));
                if (!value_absent(raw.series[i].v[t]))
                    ck_assert_double_le(fabs(got.series[i].v[t] / raw.series[i].v[t] - 1), 4 * 1.04 / 128);
            }
        }
    }
    struct result above;
    ck_assert_int_eq(group_stage_query(&s, "1 + distinct_label_over_time(\"i\", m[30m], \"job\")", 3600, 3600, 0, false,
                                       &within, &a, &above, &e),
                     0);
    ck_assert_uint_eq(above.sources, SOURCE_RAW);
    arena_done(&a);
}
END_TEST

/* The heaviest items, whose names come back from the series; asked for without a bound, as lists have none. 15 series
 * and 5 paths a job are so few that the counters hold each exactly. */
static const struct accuracy no_bound = {.kind = ACCURACY_NONE};

static void expect_list(const char *query, double start_s, double end_s, double step_s, bool ordered)
{
    struct arena a;
    struct err e;
    struct result got;
    arena_init(&a, 0);
    struct result raw = run(query, start_s, end_s, step_s, true, &a);
    ck_assert_int_eq(group_stage_query(&s, query, start_s, end_s, step_s, false, &no_bound, &a, &got, &e), 0);
    ck_assert_msg(got.sources & SOURCE_PANES, "%s: answered from %s", query, answer_source_text(got.sources));
    ck_assert_msg(got.series_n == raw.series_n, "%s: %u series, not %u", query, got.series_n, raw.series_n);
    for (uint32_t i = 0; i < raw.series_n; i++) {
        const struct result_series *g = ordered ? &got.series[i] : find(&got, &raw.series[i].labels);
        ck_assert_msg(g && labels_eq(&g->labels, &raw.series[i].labels), "%s: series %u", query, i);
        for (uint32_t t = 0; t < raw.times.n; t++)
            ck_assert_msg(close_to(g->v[t], raw.series[i].v[t]), "%s: series %u, step %u: %.17g, not %.17g", query, i,
                          t, g->v[t], raw.series[i].v[t]);
    }
    arena_done(&a);
}

START_TEST(heaviest)
{
    const struct sketch_params params = {.depth = 5, .width = 4096, .heap = 16};
    load_many();
    group_stage_view(&s, "m", FAMILY_COUNTSKETCH_HEAP, params, "series", "job");
    group_stage_view(&s, "m", FAMILY_COUNTSKETCH_HEAP, params, "label path", "job");
    for (int c = 0; c < 2; c++) {
        s.covered_ms = c ? 3420000 : INT64_MAX;
        expect_list("topk by (job) (3, sum_over_time(m[5m]))", 3600, 3600, 0, true);
        expect_list("topk(4, sum_over_time(m[5m]))", 3600, 3600, 0, true);
        expect_list("topk by (job) (3, sum_over_time(m[5m]))", 3000, 3600, 60, false);
        expect_list("topk_label_over_time(2, \"path\", m[5m], \"job\")", 3600, 3600, 0, true);
        expect_list("topk_label_over_time(2, \"path\", m[5m])", 2400, 3600, 300, true);
        expect_list("topk by (job) (2, sum_over_time(m[5m] @ 3000))", 3000, 3300, 60, false);
    }
    ck_assert_uint_eq(s.grouped_n, 12);
    expect_as_raw("topk by (job) (3, sum_over_time(m[5m]))", 3600, 3600, 0, SOURCE_RAW); /* exact was asked */
    s.forget_series = true; /* nobody knows what the keys stand for */
    s.covered_ms = INT64_MAX;
    struct arena a;
    struct err e;
    struct result got;
    arena_init(&a, 0);
    ck_assert_int_eq(
        group_stage_query(&s, "topk by (job) (3, sum_over_time(m[5m]))", 3600, 3600, 0, false, &no_bound, &a, &got, &e),
        0);
    ck_assert_uint_eq(got.sources, SOURCE_RAW);
    ck_assert_uint_eq(got.series_n, 3 * 3 + 1);
    arena_done(&a);
}
END_TEST

/* More than the states keep is asked of samples; so is what a family cannot hold: Count-Min takes whole weights. */
START_TEST(heaviest_refused)
{
    struct arena a;
    struct err e;
    struct result got;
    static const char *const texts[] = {"topk by (job) (5, sum_over_time(m[5m]))",
                                        "topk by (job) (2, sum_over_time(m[5m]))"};
    load_many();
    group_stage_view(&s, "m", FAMILY_CMS_HEAP, (struct sketch_params){.depth = 5, .width = 64, .heap = 4}, "series",
                     "job");
    arena_init(&a, 0);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_int_eq(group_stage_query(&s, texts[i], 3600, 3600, 0, false, &no_bound, &a, &got, &e), 0);
        ck_assert_uint_eq(got.sources, SOURCE_RAW);
        ck_assert_uint_eq(s.grouped_n, i);
    }
    arena_done(&a);
}
END_TEST

/* The root of the sum of squares, within what the shape promises (here the counters hold each item exactly). */
START_TEST(l2)
{
    struct arena a;
    struct err e;
    struct result got;
    const char *query = "l2_label_over_time(\"path\", m[5m], \"job\")";
    const struct sketch_params params = {.depth = 5, .width = 16384};
    const struct accuracy within = {ACCURACY_RELATIVE, countsketch_l2_error(16384, 5, 0.05), 0.05},
                          closer = {ACCURACY_RELATIVE, within.error / 2, 0.05};
    load_many();
    group_stage_view(&s, "m", FAMILY_COUNTSKETCH, params, "label path", "job");
    arena_init(&a, 0);
    struct result raw = run(query, 3000, 3600, 60, true, &a);
    ck_assert_int_eq(group_stage_query(&s, query, 3000, 3600, 60, false, &within, &a, &got, &e), 0);
    ck_assert_uint_eq(got.sources, SOURCE_PANES);
    ck_assert_uint_eq(got.series_n, raw.series_n);
    for (uint32_t i = 0; i < raw.series_n; i++)
        for (uint32_t t = 0; t < raw.times.n; t++)
            if (!value_absent(raw.series[i].v[t]))
                ck_assert_double_le(fabs(got.series[i].v[t] / raw.series[i].v[t] - 1), within.error);
    ck_assert_int_eq(group_stage_query(&s, query, 3000, 3600, 60, false, &closer, &a, &got, &e), 0);
    ck_assert_uint_eq(got.sources, SOURCE_RAW);
    arena_done(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("group_panes");
    TCase *tc = tcase_create("group_panes");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, by_hand);
    tcase_add_test(tc, as_raw);
    tcase_add_test(tc, ragged);
    tcase_add_test(tc, at_now);
    tcase_add_test(tc, not_bound);
    tcase_add_test(tc, explained);
    tcase_add_test(tc, fewest_states);
    tcase_add_test(tc, distinct);
    tcase_add_test(tc, heaviest);
    tcase_add_test(tc, heaviest_refused);
    tcase_add_test(tc, l2);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
