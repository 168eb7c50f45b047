/* plan/root_expr: which expressions may be kept, and how far back they look, from PromQL's own definitions. */
#include "plan/root_expr.h"

#include "suite.h"

#include "promql/parse.h"

static const struct expr *parse(struct arena *a, struct parsed *parsed, const char *text)
{
    struct err e;
    int rc = promql_parse(str_of(text), a, parsed, &e);
    ck_assert_msg(rc == 0, "%s: %s", text, e.message);
    return parsed->root;
}

static void expect_refusal(const char *text, const char *part)
{
    struct arena a;
    struct parsed parsed;
    arena_init(&a, 0);
    const char *why = root_expr_refusal(parse(&a, &parsed, text));
    if (part)
        ck_assert_msg(why && strstr(why, part), "%s: %s", text, why ? why : "may be kept");
    else
        ck_assert_msg(!why, "%s: %s", text, why);
    parsed_done(&parsed);
    arena_done(&a);
}

START_TEST(may_be_kept)
{
    static const char *const texts[] = {
        "m",
        "(m)",
        "sum by (job) (rate(m[5m]))",
        "sum(rate(a[5m])) / sum(rate(b[5m]))",
        "histogram_quantile(0.9, sum by (le) (rate(b_bucket[5m])))",
        "max(sum by (job) (rate(m[5m])))",
        "max_over_time(sum(rate(m[5m]))[1h:1m])",
        "sum by (x) (rate(a[5m]) * on (pod) group_left (x) kube_pod_info)",
        "sum(a - b)",
        "avg(m or n)",
        "time() - timestamp(m)",
        "absent(m)",
        "m offset 5m",
        "rate(m[5m] offset 1h)",
        "sum by (a) (increase(m[1m:] offset -1m))",
        "day_of_week() > 3 and on () m",
        "sum(sum by (a) (m))",
        "avg(1 + max by (a) (m))",
        "stddev(max_over_time(sum by (a) (m)[1h:1m]))",
        "sum(a * on (pod) b)",
        "sum(histogram_quantile(0.9, b_bucket))",
        "rate(m[5m] anchored)",
        "max_over_time(m[2 * 5m])",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_refusal(texts[i], NULL);
}
END_TEST

START_TEST(may_not_be_kept)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"m @ 100", "@"},
        {"rate(m[5m] @ start())", "@"},
        {"max_over_time(m[5m:1m] @ end())", "@"},
        {"rate(m[5m] smoothed)", "past its time"},
        {"m + start()", "request"},
        {"m * step()", "request"},
        {"rate(m[step()])", "request"},
        {"rate(m[5m] offset range())", "request"},
        {"sort(m)", "order"},
        {"topk(5, m)", "order"},
        {"count(bottomk(1, m))", "order"},
        {"sort_by_label(m, \"a\")", "order"},
        {"limitk(2, m)", "draws"},
        {"limit_ratio(0.5, m)", "draws"},
        {"info(m)", "info"},
        {"1 + 2", "no vector"},
        {"scalar(m)", "no vector"},
        {"m[5m]", "no vector"},
        {"vector(1)", "no samples"},
        {"vector(time())", "no samples"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(cases[i].text, cases[i].why);
}
END_TEST

/* An instant selector looks 5 m back, a range its range, a subquery its range and what is inside; offsets add. */
START_TEST(reach)
{
    static const struct {
        const char *text;
        int64_t reach_ms;
    } cases[] = {
        {"m", 300000},
        {"m offset 1m", 360000},
        {"rate(m[1m])", 60000},
        {"rate(m[1m] offset 10s)", 70000},
        {"rate(m[1m] offset -10s)", 60000},
        {"rate(m[1m] anchored)", 360000},
        {"rate(m[1h]) + n", 3600000},
        {"max_over_time(rate(m[1m])[1h:1m])", 3660000},
        {"max_over_time(max_over_time(m[1m:10s] offset 5s)[1h:1m] offset 1d)", 86400000 + 3600000 + 65000 + 300000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a;
        struct parsed parsed;
        arena_init(&a, 0);
        ck_assert_int_eq(root_expr_reach_ms(parse(&a, &parsed, cases[i].text)), cases[i].reach_ms);
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

/* Negative offsets of nested subqueries add; one that looks back does not take from one that looks ahead. */
START_TEST(looks_ahead)
{
    static const struct {
        const char *text;
        int64_t ahead_ms;
    } cases[] = {
        {"rate(m[1m])", 0},
        {"m offset 1h", 0},
        {"m offset -1m", 60000},
        {"m offset -1m + rate(n[5m] offset -10s)", 60000},
        {"increase(m[1m:] offset -1m)", 60000},
        {"max_over_time(max_over_time(m[1m:10s] offset -5s)[1h:1m] offset -1d)", 86405000},
        {"max_over_time(rate(m[1m] offset 1h)[1h:1m] offset -1m)", 60000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a;
        struct parsed parsed;
        arena_init(&a, 0);
        ck_assert_int_eq(root_expr_ahead_ms(parse(&a, &parsed, cases[i].text)), cases[i].ahead_ms);
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

START_TEST(other_look_backs)
{
    static const struct {
        const char *text;
        bool lookback, step; /* does another one count? */
    } cases[] = {
        {"m", true, false},
        {"rate(m[5m])", false, false},
        {"rate(m[5m] anchored)", true, false},
        {"max_over_time(rate(m[5m])[1h:])", false, true},
        {"max_over_time(m[1h:1m])", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a;
        struct parsed parsed;
        arena_init(&a, 0);
        const struct expr *e = parse(&a, &parsed, cases[i].text);
        ck_assert(root_expr_serves(e, 0, 0) && root_expr_serves(e, 300000, 60000));
        ck_assert_int_eq(root_expr_serves(e, 60000, 0), !cases[i].lookback);
        ck_assert_int_eq(root_expr_serves(e, 0, 15000), !cases[i].step);
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

START_TEST(times_of_a_grid)
{
    const struct grid g = {15000, 5000};
    ck_assert(root_grid_holds(&g, 5000, 0, 1) && root_grid_holds(&g, -10000, 0, 1));
    ck_assert(root_grid_holds(&g, 20000, 15000, 9) && root_grid_holds(&g, 20000, 45000, 9));
    ck_assert(root_grid_holds(&g, 20000, 7000, 1));
    ck_assert(!root_grid_holds(&g, 0, 15000, 9) && !root_grid_holds(&g, 20000, 10000, 9));
    ck_assert(!root_grid_holds(&(struct grid){0, 0}, 0, 0, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/root_expr");
    TCase *tcase = tcase_create("root_expr");
    tcase_add_test(tcase, may_be_kept);
    tcase_add_test(tcase, may_not_be_kept);
    tcase_add_test(tcase, reach);
    tcase_add_test(tcase, looks_ahead);
    tcase_add_test(tcase, other_look_backs);
    tcase_add_test(tcase, times_of_a_grid);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
