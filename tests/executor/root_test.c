/*
 * executor/root: what a stored root keeps of a range of times is, at each of them, what an instant query answers there;
 * times that fail or warn are holes, and only those. Expected values are those of instant queries, and Prometheus'
 * rules for which of them fail.
 */
#include "executor/root.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "executor/query.h"
#include "expect.h"
#include "promql/parse.h"
#include "suite.h"

static struct fixture f;
static struct arena arena;
static struct parsed parsed;

static void setup(void)
{
    fixture_init(&f);
    arena_init(&arena, 0);
}
static void teardown(void)
{
    parsed_done(&parsed);
    parsed = (struct parsed){0};
    arena_done(&arena);
    fixture_done(&f);
}

static struct root_output evaluate(const char *text, int64_t start_ms, int64_t step_ms, uint32_t n)
{
    struct err e = {0};
    struct root_output out;
    parsed_done(&parsed);
    ck_assert_int_eq(promql_parse(str_of(text), &arena, &parsed, &e), 0);
    struct root_run run = {&f.source, parsed.root, {start_ms, step_ms, n}, NULL};
    int code = root_evaluate(&run, &arena, &out, &e);
    ck_assert_msg(code == 0, "%s: %s", text, e.message);
    ck_assert_int_eq(f.snapshots_n, f.releases_n);
    return out;
}

/* What is kept of one time, names dropped as an answer drops them: as many series as the instant query, each the same
 * bits. */
static void expect_time(const char *text, const struct root_output *out, int64_t at_ms, uint32_t i)
{
    struct err e = {0};
    struct result result;
    struct arena a;
    uint32_t n = 0;
    arena_init(&a, 0);
    int code = fixture_query(&f, text, (double)at_ms / 1000, (double)at_ms / 1000, 0, &a, &result, &e);
    ck_assert_int_eq(out->hole[i], code != 0 || result.notes.warnings_n > 0);
    for (uint32_t k = 0; k < out->series_n && !out->hole[i]; k++) {
        struct labels labels = out->series[k].labels;
        if (value_absent(out->series[k].v[i]))
            continue;
        n++;
        if (out->series[k].drop_name)
            labels_drop_name(&labels, &a, &labels);
        bool found = false;
        for (uint32_t j = 0; j < result.series_n; j++)
            found |= labels_eq(&result.series[j].labels, &labels) &&
                     memcmp(&result.series[j].v[0], &out->series[k].v[i], 8) == 0;
        ck_assert_msg(found, "%s at %lld: series %u is not what the instant query says", text, (long long)at_ms, k);
    }
    if (!out->hole[i])
        ck_assert_uint_eq(n, result.series_n);
    arena_done(&a);
}

static uint32_t expect_all(const char *text, int64_t start_ms, int64_t step_ms, uint32_t n)
{
    struct root_output out = evaluate(text, start_ms, step_ms, n);
    uint32_t holes = 0;
    for (uint32_t i = 0; i < n; i++) {
        expect_time(text, &out, start_ms + i * step_ms, i);
        holes += out.hole[i];
    }
    return holes;
}

START_TEST(each_time_is_an_instant_query)
{
    static const char *const texts[] = {
        "m",
        "rate(m[1m])",
        "sum by (a) (rate(m[1m]))",
        "avg(m)",
        "m > 3",
        "m / 0",
        "max_over_time(sum(m)[3m:20s])",
        "absent(m{a=\"x\"})",
        "stddev(m)",
        "count_values(\"v\", m)",
        "m * on (a) group_left () n",
        "predict_linear(m[2m], 60)",
        "last_over_time(m[1m])",
        "-m",
    };
    srand(20240601);
    for (int round = 0; round < 4; round++) {
        for (int s = 0; s < 6; s++) {
            char name[60];
            snprintf(name, sizeof name, "m{a=\"%c\",i=\"%d%d\"}", "xyz"[s % 3], round, s);
            for (int64_t t = rand() % 9000; t < 900000; t += 3000 + rand() % 20000 + (rand() % 20 == 0 ? 400000 : 0)) {
                double value = rand() % 10 == 0 ? (rand() % 2 ? __builtin_nan("") : float_stale()) : rand() % 1000;
                fixture_add(&f, name, t, value);
            }
        }
        fixture_add(&f, round ? "n{a=\"y\"}" : "n{a=\"x\"}", 100000 + round, 3);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            ck_assert_uint_eq(expect_all(texts[i], -15000, 15000, 70), 0);
    }
}
END_TEST

/* Two series lose what tells them apart: an error at just the times when both have a value. */
START_TEST(failing_times_are_holes)
{
    fixture_load(&f, "load 10s\n m{a=\"x\"} 1x60\n m{a=\"y\"} _x20 2x10 stale _x20 3x9\n");
    uint32_t holes = expect_all("label_replace(m, \"a\", \"same\", \"\", \"\")", 0, 10000, 61);
    ck_assert_uint_eq(holes, 11 + 10 - 1);
    /* One to one, and two on a side at those times. */
    ck_assert_uint_eq(expect_all("m * on () m", 0, 10000, 61), holes);
    /* Everywhere, or nowhere. */
    ck_assert_uint_eq(expect_all("quantile(1.5, m)", 0, 10000, 61), 61);
    ck_assert_uint_eq(expect_all("quantile(0.5, m)", 0, 10000, 61), 0);
    /* Series that lose their names stay apart until an answer is made of them: it fails, and so must what is kept. */
    fixture_load(&f, "load 10s\n n{a=\"x\"} 1x60\n");
    struct root_output out = evaluate("rate({__name__=~\"m|n\"}[1m])", 60000, 10000, 5);
    ck_assert_uint_eq(out.series_n, 2 + 0u);
    ck_assert(out.series[0].drop_name && out.series[1].drop_name && !out.hole[0]);
}
END_TEST

START_TEST(what_is_empty_is_no_hole)
{
    fixture_load(&f, "load 10s\n m 1x10\n");
    struct root_output out = evaluate("m > 5", 0, 10000, 11);
    for (uint32_t i = 0; i < 11; i++)
        ck_assert(!out.hole[i]);
    expect_all("m > 5", 0, 10000, 11);
    expect_all("nothing", 0, 10000, 11);
    expect_all("m", 0, 10000, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor/root");
    TCase *tcase = tcase_create("root");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, each_time_is_an_instant_query);
    tcase_add_test(tcase, failing_times_are_holes);
    tcase_add_test(tcase, what_is_empty_is_no_hole);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
