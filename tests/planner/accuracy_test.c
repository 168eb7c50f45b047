/* Accuracy rules: what a target asks of sites, what is promised in the end. Expected numbers are arithmetic. */
#include "plan_of.h"

#include <math.h>
#include <string.h>

#include "planner/accuracy.h"

/* All samples at a rate where panes are the only candidate: no raw, so what is chosen is what the rules allow. */
static struct plan *plan_without_raw(const char *query, const char *accuracy)
{
    struct strbuf yaml = {0};
    strbuf_printf(&yaml, "queries: [{query: '%s', every: 10s, accuracy: {%s}}]\ndata: {raw_retention: 0}\n", query,
                  accuracy);
    struct plan *p = plan_of(strbuf_z(&yaml));
    strbuf_done(&yaml);
    return p;
}

#define P "quantile_over_time(0.9, x[1m])"
#define P2 "quantile_over_time(0.5, y[1m])"

/* query, accuracy, family of the views ("": exact ones), and the error of each state. */
static const struct {
    const char *query, *accuracy;
    enum family family;
    double alpha; /* DDSketch's; KLL: its rank target */
} rules[] = {
    {P, "rank: 0.05", FAMILY_KLL, 0.05},
    {P, "relative: 0.05", FAMILY_DDSKETCH, 0.05},
    {"-" P " * 1000", "rank: 0.05", FAMILY_KLL, 0.05},
    {P " / 1000", "relative: 0.05", FAMILY_DDSKETCH, 0.05},
    {"1 / " P, "relative: 0.05", FAMILY_DDSKETCH, 0.05 / 1.05},
    {"1 / " P, "rank: 0.05", FAMILY_VALUES, 0},
    {P " + 1", "rank: 0.05", FAMILY_KLL, 0.05},
    {P " + 1", "relative: 0.05", FAMILY_VALUES, 0},
    {P " * " P2, "relative: 0.05", FAMILY_DDSKETCH, 0.024695076595959842}, /* sqrt(1.05) - 1 */
    {P " / " P2, "relative: 0.05", FAMILY_DDSKETCH, 0.05 / 2.05},
    {P " * " P2, "rank: 0.05", FAMILY_VALUES, 0},
    {P " + " P2, "relative: 0.05", FAMILY_VALUES, 0},
    {P " or " P2, "rank: 0.05", FAMILY_KLL, 0.05},
    {"max(" P ")", "relative: 0.05", FAMILY_DDSKETCH, 0.05},
    {"min by (job) (" P ")", "error: 0.05", FAMILY_DDSKETCH, 0.05},
    {"max(" P ")", "rank: 0.05", FAMILY_VALUES, 0},
    {"sum(" P ")", "rank: 0.05", FAMILY_VALUES, 0},
    {"sum(" P ")", "relative: 0.05", FAMILY_VALUES, 0},
    {"topk(3, " P ")", "relative: 0.05", FAMILY_VALUES, 0},
    {P " > 0.5", "relative: 0.05", FAMILY_VALUES, 0},
    {"abs(" P ")", "relative: 0.05", FAMILY_DDSKETCH, 0.05},
    {"abs(" P ")", "rank: 0.05", FAMILY_VALUES, 0},
    {"clamp_max(" P ", 3)", "rank: 0.05", FAMILY_KLL, 0.05},
    {"round(" P ")", "relative: 0.05", FAMILY_VALUES, 0},
    {"label_replace(" P ", \"a\", \"$1\", \"b\", \"(.*)\")", "rank: 0.05", FAMILY_KLL, 0.05},
    {P, "rank: 0.05, failure: 0.001", FAMILY_VALUES, 0}, /* KLL's figure is for 99 % */
    {P, "relative: 0.05, failure: 0", FAMILY_DDSKETCH, 0.05},
    {P, "rank: 1e-17", FAMILY_VALUES, 0},
    {P, "cardinality: 0.05", FAMILY_VALUES, 0},
};

START_TEST(rules_hold)
{
    /* The exact multiset is a state only of exact demands; where the target itself is missed, raw answers. */
    struct plan *p = plan_without_raw(rules[_i].query, rules[_i].accuracy);
    const struct plan_query *q = &p->queries[0];
    if (rules[_i].family == FAMILY_VALUES) {
        ck_assert_int_eq(q->guarantee.kind, ACCURACY_EXACT);
        for (uint32_t v = 0; v < p->views_n; v++)
            ck_assert_int_eq(p->views[v].family, FAMILY_VALUES);
        ck_assert(is_rejected(p, 0, "ddsketch", "") && is_rejected(p, 0, "kll", ""));
    } else {
        ck_assert_uint_ge(p->views_n, 1);
        for (uint32_t v = 0; v < p->views_n; v++) {
            const struct plan_view *view = &p->views[v];
            ck_assert_int_eq(view->family, rules[_i].family);
            if (view->family == FAMILY_KLL)
                ck_assert_uint_eq(view->params.k, kll_k_for_rank_error(rules[_i].alpha));
            else
                ck_assert_double_eq_tol(view->params.alpha, rules[_i].alpha, 1e-9);
        }
        ck_assert_double_le(q->guarantee.error, 0.05);
        ck_assert_double_ge(q->guarantee.error, 0.05 * 0.98);
        ck_assert_double_le(q->guarantee.failure, q->target.failure);
    }
    plan_free(p);
}
END_TEST

/* Exact statistics meet any target, through any operator. */
START_TEST(exact_needs_no_rule)
{
    struct plan *p = plan_without_raw("sum(rate(x[1m])) > 2", "rank: 0.01, failure: 0");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_eq(p->views[0].family, FAMILY_COUNTER);
    ck_assert_int_eq(p->queries[0].guarantee.kind, ACCURACY_EXACT);
    plan_free(p);
}
END_TEST

/* The heaviest items of a window may be heavy in none of its panes: no target is met by heaps that are merged. */
START_TEST(heaps_are_not_merged)
{
    static const struct {
        enum family family;
        enum statistic statistic;
    } cases[] = {{FAMILY_CMS_HEAP, STATISTIC_TOPK},
                 {FAMILY_COUNTSKETCH_HEAP, STATISTIC_TOPK},
                 {FAMILY_UNIVMON, STATISTIC_TOPK},
                 {FAMILY_UNIVMON, STATISTIC_DISTINCT}};
    static const struct accuracy targets[] = {{ACCURACY_FREQUENCY, 0.01, 0.01}, {ACCURACY_ANY, 0.1, 0.01}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < sizeof targets / sizeof targets[0]; k++) {
            struct sketch_params params;
            struct accuracy guarantee;
            const char *reason;
            ck_assert(!accuracy_size(cases[i].family, cases[i].statistic, &targets[k], &params, &guarantee, &reason));
            ck_assert_ptr_nonnull(reason);
            ck_assert_msg(strncmp(reason, "approximate_merge: ", 19) == 0, "%s", reason);
        }
    }
}
END_TEST

/* One site in two places that ask for different kinds of exactness is one node: the stricter holds for both. */
START_TEST(one_site_two_places)
{
    struct plan *p = plan_without_raw("sum(" P ") or " P, "relative: 0.05");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_eq(p->views[0].family, FAMILY_VALUES);
    plan_free(p);
}
END_TEST

/* Distinct values: three standard errors hold in 99 % of cases, so p is the least with 3 * 1.04 / sqrt(2^p) <=
 * 0.05: 12. */
START_TEST(distinct_values)
{
    struct plan *p = plan_without_raw("distinct_over_time(x[1m])", "cardinality: 0.05");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_eq(p->views[0].family, FAMILY_HLL);
    ck_assert_uint_eq(p->views[0].params.p, 12);
    ck_assert_double_eq_tol(p->queries[0].guarantee.error, 3 * 1.04 / 64, 1e-12);
    plan_free(p);
}
END_TEST

/* Targets that no sketch has: 0, 1, negative ones, NaN and what is no finite number are errors that name the place;
 * ones too small for any sketch are met exactly (a sketch built for 1e-17 answered 1 to every quantile). */
START_TEST(extreme_targets)
{
    static const char *const kinds[] = {"rank", "relative", "error", "cardinality", "frequency"};
    static const char *const refused[] = {"0",    "-0.0", "1",     "1.5",   "-0.1", "nan",
                                          ".nan", "inf",  "-.inf", "1e400", "''"};
    static const char *const tiny[] = {"1e-9", "1e-17", "5e-324", "1e-7"};
    const char *kind = kinds[_i], *query = strcmp(kind, "cardinality") == 0 ? "distinct_over_time(x[1m])" : P;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct strbuf yaml = {0};
        struct problems problems = {0};
        struct workload *w = NULL;
        struct err e = {0};
        strbuf_printf(&yaml, "queries:\n  - {query: '%s', every: 10s, accuracy: {%s: %s}}\n", query, kind, refused[i]);
        ck_assert_msg(workload_read(str_of(strbuf_z(&yaml)), "w.yaml", &w, &problems, &e) != 0, "%s", strbuf_z(&yaml));
        ck_assert_ptr_null(w);
        ck_assert_msg(strstr(strbuf_z(&problems.text), "w.yaml:2:") && strstr(strbuf_z(&problems.text), kind), "%s: %s",
                      strbuf_z(&yaml), strbuf_z(&problems.text));
        strbuf_done(&problems.text);
        strbuf_done(&yaml);
    }
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        char accuracy[80];
        snprintf(accuracy, sizeof accuracy, "%s: %s", kind, tiny[i]);
        struct plan *p = plan_without_raw(query, accuracy);
        ck_assert_int_eq(p->queries[0].guarantee.kind, ACCURACY_EXACT);
        ck_assert_double_eq(p->queries[0].guarantee.error, 0);
        for (uint32_t v = 0; v < p->views_n; v++)
            ck_assert_int_eq(p->views[v].family, FAMILY_VALUES);
        if (_i < 2)
            ck_assert(is_rejected(p, 0, _i == 0 ? "kll" : "ddsketch", ""));
        plan_free(p);
    }
}
END_TEST

/* A tight target that a sketch can meet is bought at its price: over a limit it is refused by name. */
START_TEST(tight_targets_have_a_price)
{
    struct workload *w =
        workload_of("queries: [{name: tight, query: '" P "', every: 10s, accuracy: {relative: 1e-4}}]\n"
                    "data: {raw_retention: 0, metrics: {x: {interval: 1ms}}}\nmodels: {memory_limit: 10MiB}\n");
    struct planner_options options = {.sketch_seed = 7};
    struct plan *plan = NULL;
    struct err e = {0};
    int rc = planner_plan(w, &options, &plan, &e);
    ck_assert_int_eq(rc, ERR_LIMIT);
    ck_assert_ptr_null(plan);
    ck_assert_msg(strstr(e.message, "memory_limit: 10 MiB") && strstr(e.message, "(tight)"), "%s", e.message);
    workload_free(w);
}
END_TEST

/* Without a target each value is kept once; deriv and predict_linear of one window share a state. */
START_TEST(exact_families)
{
    struct plan *p = plan_of("queries:\n- {query: 'distinct_over_time(x[1m])', every: 10s}\n"
                             "- {query: 'deriv(x[1m])', every: 10s}\n"
                             "- {query: 'sum(predict_linear(x[1m], 4 * 3600)) < 0', every: 10s}\n"
                             "data: {raw_retention: 0}\n");
    static const enum family families[] = {FAMILY_DISTINCT_SET, FAMILY_REGRESSION, FAMILY_REGRESSION};
    ck_assert_uint_eq(p->views_n, 2);
    for (uint32_t q = 0; q < 3; q++) {
        ck_assert_uint_eq(p->queries[q].uses_n, 1);
        ck_assert_int_eq(p->views[p->queries[q].uses[0]].family, families[q]);
        ck_assert_int_eq(p->queries[q].guarantee.kind, ACCURACY_EXACT);
    }
    ck_assert(is_rejected(p, 0, "hll", "misses_accuracy"));
    plan_free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/accuracy");
    TCase *tc = tcase_create("accuracy");
    tcase_add_loop_test(tc, rules_hold, 0, sizeof rules / sizeof *rules);
    tcase_add_test(tc, exact_needs_no_rule);
    tcase_add_test(tc, heaps_are_not_merged);
    tcase_add_test(tc, one_site_two_places);
    tcase_add_test(tc, distinct_values);
    tcase_add_loop_test(tc, extreme_targets, 0, 5);
    tcase_add_test(tc, tight_targets_have_a_price);
    tcase_add_test(tc, exact_families);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
