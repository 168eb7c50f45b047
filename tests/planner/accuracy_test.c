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

static struct site site_of_items(enum statistic statistic, const struct site_group *group)
{
    return (struct site){.statistic = statistic, .group = group};
}

static const struct site_group of_path = {.input = {.kind = INPUT_LABEL, .label = STR("path")}, .top = 10},
                               of_series = {.input = {.kind = INPUT_SERIES}, .top = 10},
                               of_values = {.input = {.kind = INPUT_VALUE}};
static const struct accuracy exact = {ACCURACY_EXACT, 0, 0}, nothing = {ACCURACY_NONE, 0, 0};

/* The heaviest items of a window may be heavy in none of its panes: no target is met by heaps that are merged. */
static const struct {
    enum family family;
    enum statistic statistic;
} unbounded[] = {{FAMILY_CMS_HEAP, STATISTIC_TOPK},
                 {FAMILY_COUNTSKETCH_HEAP, STATISTIC_TOPK},
                 {FAMILY_UNIVMON, STATISTIC_TOPK},
                 {FAMILY_UNIVMON, STATISTIC_ENTROPY},
                 {FAMILY_UNIVMON, STATISTIC_DISTINCT}};

START_TEST(what_has_no_bound_meets_no_target)
{
    static const struct accuracy targets[] = {{ACCURACY_FREQUENCY, 0.01, 0.01}, {ACCURACY_ANY, 0.1, 0.01}};
    struct site site = site_of_items(unbounded[_i].statistic, &of_path);
    struct sketch_params params;
    struct accuracy guarantee;
    const char *reason;
    for (size_t k = 0; k < sizeof targets / sizeof targets[0]; k++) {
        ck_assert(!accuracy_size(unbounded[_i].family, &site, &targets[k], &params, &guarantee, &reason));
        ck_assert_msg(reason && strncmp(reason, "approximate_merge: ", 19) == 0, "%s", reason);
    }
    ck_assert(!accuracy_size(unbounded[_i].family, &site, &exact, &params, &guarantee, &reason));
    ck_assert_msg(reason && strncmp(reason, "misses_accuracy: ", 17) == 0, "%s", reason);
    ck_assert(accuracy_size(unbounded[_i].family, &site, &nothing, &params, &guarantee, &reason));
    ck_assert_int_eq(guarantee.kind, ACCURACY_NONE);
    ck_assert_int_eq(family_get(unbounded[_i].family)->check_params(&params, &reason), 0);
    ck_assert_uint_eq(params.depth, 7);
    ck_assert_uint_eq(params.heap, 40);
}
END_TEST

/* The longest list that a site may ask for still fits: a heap is at most a fourth of the counters. */
START_TEST(the_longest_list_fits)
{
    struct site_group longest = of_path;
    longest.top = GROUP_SITE_TOP_MAX;
    struct site site = site_of_items(unbounded[_i].statistic, &longest);
    struct sketch_params params;
    struct accuracy guarantee;
    const char *reason;
    ck_assert(accuracy_size(unbounded[_i].family, &site, &nothing, &params, &guarantee, &reason));
    ck_assert_int_eq(family_get(unbounded[_i].family)->check_params(&params, &reason), 0);
    ck_assert_uint_eq(params.heap, 4096);
}
END_TEST

/* Every (input, statistic, target) with the families that answer it. */
static const struct {
    const struct site_group *group;
    enum statistic statistic;
    struct accuracy target;
    const char *families; /* by rising number */
} capabilities[] = {
    {&of_values, STATISTIC_SUM, {ACCURACY_EXACT, 0, 0}, " sum"},
    {&of_values, STATISTIC_SUM, {ACCURACY_RANK, 0.1, 0.01}, " sum"},
    {&of_values, STATISTIC_SUM, {ACCURACY_NONE, 0, 0}, " sum"},
    {&of_values, STATISTIC_COUNT, {ACCURACY_EXACT, 0, 0}, " sum count"},
    {&of_values, STATISTIC_PRESENT, {ACCURACY_EXACT, 0, 0}, " sum count"},
    {&of_values, STATISTIC_MIN, {ACCURACY_EXACT, 0, 0}, " min"},
    {&of_values, STATISTIC_MAX, {ACCURACY_EXACT, 0, 0}, " max"},
    {&of_path, STATISTIC_DISTINCT, {ACCURACY_EXACT, 0, 0}, ""},
    {&of_path, STATISTIC_DISTINCT, {ACCURACY_CARDINALITY, 0.02, 0.01}, " hll kmv"},
    {&of_path, STATISTIC_DISTINCT, {ACCURACY_ANY, 0.02, 0.05}, " hll kmv"},
    {&of_path, STATISTIC_DISTINCT, {ACCURACY_RELATIVE, 0.02, 0.01}, ""},
    {&of_path, STATISTIC_DISTINCT, {ACCURACY_CARDINALITY, 0.02, 0.001}, ""},
    {&of_path, STATISTIC_DISTINCT, {ACCURACY_NONE, 0, 0}, " hll univmon"},
    {&of_path, STATISTIC_L2, {ACCURACY_EXACT, 0, 0}, ""},
    {&of_path, STATISTIC_L2, {ACCURACY_RELATIVE, 0.05, 0.01}, " countsketch countsketch_heap univmon"},
    {&of_path, STATISTIC_L2, {ACCURACY_ANY, 0.05, 0.01}, " countsketch countsketch_heap univmon"},
    {&of_path, STATISTIC_L2, {ACCURACY_RELATIVE, 0.05, 0}, ""},
    {&of_path, STATISTIC_L2, {ACCURACY_FREQUENCY, 0.05, 0.01}, ""},
    {&of_path, STATISTIC_L2, {ACCURACY_RELATIVE, 0.0001, 0.01}, ""},
    {&of_path, STATISTIC_L2, {ACCURACY_RELATIVE, 0.01, 0.01}, " countsketch countsketch_heap univmon"},
    {&of_path, STATISTIC_L2, {ACCURACY_RELATIVE, 0.004, 0.01}, " countsketch countsketch_heap"},
    {&of_path, STATISTIC_ENTROPY, {ACCURACY_EXACT, 0, 0}, ""},
    {&of_path, STATISTIC_ENTROPY, {ACCURACY_ANY, 0.1, 0.01}, ""},
    {&of_path, STATISTIC_ENTROPY, {ACCURACY_NONE, 0, 0}, " univmon"},
    {&of_series, STATISTIC_TOPK, {ACCURACY_EXACT, 0, 0}, ""},
    {&of_series, STATISTIC_TOPK, {ACCURACY_FREQUENCY, 0.01, 0.01}, ""},
    {&of_series, STATISTIC_TOPK, {ACCURACY_NONE, 0, 0}, " cms_heap countsketch_heap univmon"},
};

START_TEST(what_answers_groups)
{
    struct site site = site_of_items(capabilities[_i].statistic, capabilities[_i].group);
    struct strbuf found = {0};
    for (int f = FAMILY_INVALID + 1; f < FAMILY_END; f++) {
        struct sketch_params params;
        struct accuracy guarantee;
        const char *reason;
        if (!accuracy_size((enum family)f, &site, &capabilities[_i].target, &params, &guarantee, &reason))
            continue;
        strbuf_printf(&found, " %s", family_get((enum family)f)->name);
        ck_assert(accuracy_meets(&guarantee, &capabilities[_i].target));
        ck_assert_int_eq(family_get((enum family)f)->check_params(&params, &reason), 0);
    }
    ck_assert_msg(strcmp(strbuf_z(&found), capabilities[_i].families) == 0, "%d: wanted%s, got%s", _i,
                  capabilities[_i].families, strbuf_z(&found));
    strbuf_done(&found);
}
END_TEST

/* L2 within 5 % but once in a hundred: e^2 = 1 - 0.95^2 = 0.0975. The median of 5 rows misses with 10 p^3 (1 - p)^2 +
 * 5 p^4 (1 - p) + p^5 = 0.01 at p = 0.10564, so each has 2 / (0.0975^2 p) = 1,992 counters. KMV within 2 % with 99 %:
 * three standard errors of 1 / sqrt(k - 2), k = 22,502. */
START_TEST(parameters_of_groups)
{
    const struct accuracy l2 = {ACCURACY_RELATIVE, 0.05, 0.01}, cardinality = {ACCURACY_CARDINALITY, 0.02, 0.01};
    struct site site = site_of_items(STATISTIC_L2, &of_path);
    struct sketch_params params;
    struct accuracy guarantee;
    const char *reason;
    ck_assert(accuracy_size(FAMILY_COUNTSKETCH, &site, &l2, &params, &guarantee, &reason));
    ck_assert_uint_eq(params.depth, 5);
    ck_assert_uint_eq(params.width, 1992);
    ck_assert_uint_eq(params.heap, 0);
    ck_assert_double_eq_tol(guarantee.error, 0.05, 1e-5);
    site.statistic = STATISTIC_DISTINCT;
    ck_assert(accuracy_size(FAMILY_KMV, &site, &cardinality, &params, &guarantee, &reason));
    ck_assert_uint_eq(params.k, 22502);
}
END_TEST

START_TEST(joined_parameters_serve_both)
{
    const struct sketch_params norm = {.depth = 5, .width = 1992, .heap = 64},
                               list = {.depth = 7, .width = 272, .heap = 400}, fine = {.alpha = 0.01},
                               coarse = {.alpha = 0.05}, wide = {.depth = 1, .width = 1 << 18, .heap = 16};
    struct sketch_params joined;
    ck_assert(accuracy_join(FAMILY_UNIVMON, &norm, &list, &joined));
    ck_assert(joined.depth == 7 && joined.width == 1992 && joined.heap == 400);
    ck_assert_double_le(countsketch_l2_error(1992, 7, 0.01), countsketch_l2_error(1992, 5, 0.01));
    ck_assert(accuracy_join(FAMILY_DDSKETCH, &coarse, &fine, &joined));
    ck_assert_double_eq(joined.alpha, 0.01);
    ck_assert(!accuracy_join(FAMILY_UNIVMON, &norm, &wide, &joined));
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
    tcase_add_loop_test(tc, what_has_no_bound_meets_no_target, 0, sizeof unbounded / sizeof unbounded[0]);
    tcase_add_loop_test(tc, the_longest_list_fits, 0, sizeof unbounded / sizeof unbounded[0]);
    tcase_add_loop_test(tc, what_answers_groups, 0, sizeof capabilities / sizeof capabilities[0]);
    tcase_add_test(tc, parameters_of_groups);
    tcase_add_test(tc, joined_parameters_serve_both);
    tcase_add_test(tc, one_site_two_places);
    tcase_add_test(tc, distinct_values);
    tcase_add_loop_test(tc, extreme_targets, 0, 5);
    tcase_add_test(tc, tight_targets_have_a_price);
    tcase_add_test(tc, exact_families);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
