/* executor/rehearsal: plans of the real planner pass on the stage; a plan that would answer wrongly, or not at all,
 * does not, and is answered from raw samples then. */
#include "expect.h"
#include "planner/plan_of.h"
#include "suite.h"

#include "executor/bind.h"
#include "executor/rehearsal.h"

#define METRICS "metrics: {m: {series: 1000, interval: 100ms}, n: {series: 1000, interval: 100ms}}"
#define DATA "\ndata: {" METRICS "}\n"
/* Raw samples, and stored roots, which need them, are out of the question. */
#define PANES_ALONE "\ndata: {raw_retention: 0, " METRICS "}\n"

/* Every function that panes answer, alone and under operators; windows near and far, offsets, ranges, phases. */
static const char *const queries[] = {
    "sum_over_time(m[5m])",
    "count_over_time(m[5m])",
    "avg_over_time(m[1h])",
    "min_over_time(m[5m] offset 1w)",
    "max_over_time(m{job=\"x\"}[5m] offset -7s)",
    "present_over_time(m[5m])",
    "stddev_over_time(m[5m])",
    "stdvar_over_time(m[5m])",
    "rate(m[5m])",
    "increase(m[1d])",
    "delta(m[5m])",
    "irate(m[5m])",
    "idelta(m[5m])",
    "changes(m[5m])",
    "resets(m[5m])",
    "first_over_time(m[5m])",
    "last_over_time(m[5m])",
    "sum by (job) (rate(m[5m]))",
    "topk(1, sum_over_time(m[5m]))",
    "rate(m[5m]) / on (rehearsal) rate(n{a=~\"x.*\"}[5m])",
    "histogram_quantile(0.9, sum by (le) (rate(m[5m])))",
    "label_replace(rate(m[5m]), \"x\", \"$1\", \"job\", \"(.*)\")",
    "rate(m[5m]) + on (job) rate(n[5m])", /* an error on the stage, and from raw samples too */
};

static struct plan *plan_for(const char *query, const char *more)
{
    char yaml[600];
    snprintf(yaml, sizeof yaml, "queries: [{query: '%s', every: 10s, phase: 3s%s}]" PANES_ALONE, query, more);
    return plan_of(yaml);
}

static uint32_t failures_of(const struct plan *p, struct arena *a, struct rehearsal_failure **ret)
{
    uint32_t n;
    struct err e = {0};
    int rc = plan_rehearse(p, a, ret, &n, &e);
    ck_assert_msg(rc == 0, "%s", e.message);
    return n;
}

START_TEST(real_plans_pass)
{
    static const char *const more[] = {"", ", range: {length: 1h, step: 10s}"};
    struct arena a;
    struct rehearsal_failure *failures;
    arena_init(&a, 0);
    struct plan *p = plan_for(queries[_i / 2], more[_i % 2]);
    ck_assert_msg(p->queries[0].uses_n > 0, "%s: nothing is rehearsed", queries[_i / 2]);
    uint32_t n = failures_of(p, &a, &failures);
    ck_assert_msg(n == 0, "%s: %s", queries[_i / 2], n ? failures[0].reason.p : "");
    plan_free(p);
    arena_done(&a);
}
END_TEST

/* What states by labels answer: exactly, within a bound, without one; grouped as they are read, and finer. */
static const struct {
    const char *query, *accuracy;
} by_labels[] = {
    {"sum by (job) (sum_over_time(m[5m]))", ""},
    {"sum by (job) (count_over_time(m[5m]))", ""},
    {"min by (job) (min_over_time(m{path=\"/\"}[5m] offset 1h))", ""},
    {"max(max_over_time(m[5m]))", ""},
    {"group by (job, path) (present_over_time(m[5m]))", ""},
    {"sum by (job) (sum_over_time(m{job=\"j\"}[5m])) / 2", ""},
    {"distinct_label_over_time(\"path\", m[1h], \"job\")", ", accuracy: {cardinality: 0.02, failure: 0.35}"},
    {"distinct_label_over_time(\"job\", m{job=\"j\"}[1h])", ", accuracy: {cardinality: 0.02, failure: 0.35}"},
    {"l2_label_over_time(\"path\", m[1h], \"job\")", ", accuracy: {relative: 0.1, failure: 0.1}"},
    {"topk by (job) (2, sum_over_time(m[5m]))", ", accuracy: none"},
    {"topk_label_over_time(1, \"path\", m[5m], \"job\")", ", accuracy: none"},
};
#define LABELLED                                                                                                       \
    "\ndata: {raw_retention: 0, metrics: {m: {series: 100000, interval: 100ms, labels: {job: 10, path: 50}}}}\n"

static uint32_t grouped_views(const struct plan *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->views_n; i++)
        n += !p->views[i].per_series;
    return n;
}

START_TEST(states_by_labels_pass)
{
    static const char *const more[] = {"", ", range: {length: 1h, step: 10s}"};
    char yaml[800];
    struct arena a;
    struct rehearsal_failure *failures;
    const char *query = by_labels[_i / 2].query;
    snprintf(yaml, sizeof yaml, "queries: [{query: '%s', every: 10s, phase: 3s%s%s}]" LABELLED, query,
             by_labels[_i / 2].accuracy, more[_i % 2]);
    arena_init(&a, 0);
    struct plan *p = plan_of(yaml);
    ck_assert_msg(grouped_views(p) > 0, "%s: no states by labels", query);
    uint32_t n = failures_of(p, &a, &failures);
    ck_assert_msg(n == 0, "%s: %s", query, n ? failures[0].reason.p : "");
    plan_free(p);
    arena_done(&a);
}
END_TEST

/* A planned query by labels asked at times its panes do not fit. */
START_TEST(states_by_labels_that_do_not_fit)
{
    struct arena a;
    struct err e = {0};
    struct strbuf text = {0};
    struct fixture f;
    struct plan *p = plan_of("queries: [{query: 'sum by (job) (sum_over_time(m[5m]))', every: 10s}]" LABELLED);
    arena_init(&a, 0);
    fixture_init(&f);
    struct executor x = {.plan = p, .source = &f.source};
    struct query_options o = {.start_ms = 1000000, .end_ms = 1001000, .step_ms = 1};
    ck_assert_int_eq(query_explain(&x, p->queries[0].text, &o, &a, &text, &e), 0);
    ck_assert_msg(strstr(strbuf_z(&text),
                         "why raw: sum by (job) (sum_over_time(m[5m])): the step of 1ms is no multiple "
                         "of view 0's panes of 10s"),
                  "%s", strbuf_z(&text));
    strbuf_done(&text);
    fixture_done(&f);
    arena_done(&a);
    plan_free(p);
}
END_TEST

/* Two views by labels, each read for the other. */
START_TEST(wrong_states_by_labels_are_found)
{
    struct arena a;
    struct rehearsal_failure *failures;
    arena_init(&a, 0);
    struct plan *p = plan_of("queries: [{query: 'max by (job) (max_over_time(m[5m]))', every: 10s}, "
                             "{query: 'min by (job) (min_over_time(m[5m]))', every: 10s}]" LABELLED);
    ck_assert_uint_eq(grouped_views(p), 2);
    ck_assert_uint_eq(failures_of(p, &a, &failures), 0);
    struct plan_node *nodes = (struct plan_node *)(uintptr_t)p->nodes;
    for (uint32_t i = 0; i < p->nodes_n; i++)
        if (nodes[i].op == PLAN_OP_PANE_READ)
            nodes[i].view = 1 - nodes[i].view;
    ck_assert_uint_eq(failures_of(p, &a, &failures), 2);
    plan_free(p);

    /* Series of two jobs in one state: one sum where there are two. */
    p = plan_of("queries: [{query: 'sum by (job) (sum_over_time(m[5m]))', every: 10s}]" LABELLED);
    ck_assert_uint_eq(failures_of(p, &a, &failures), 0);
    struct plan_view *view = (struct plan_view *)(uintptr_t)p->views;
    view->reduce_n = 0;
    ck_assert_uint_eq(failures_of(p, &a, &failures), 1);
    ck_assert(strstr(failures[0].reason.p, "other series"));
    plan_free(p);
    arena_done(&a);
}
END_TEST

/* The panes read are those of another view: their grids agree, what they hold does not. */
START_TEST(a_wrong_view_is_found)
{
    struct arena a;
    struct rehearsal_failure *failures;
    struct err e = {0};
    arena_init(&a, 0);
    struct plan *p = plan_of("queries: [{query: 'max_over_time(m[5m])', every: 10s}, "
                             "{query: 'min_over_time(m[5m])', every: 10s}, {query: 'rate(n[5m])', every: 10s}]" DATA);
    ck_assert_uint_eq(failures_of(p, &a, &failures), 0);
    uint32_t max = view_of(p, FAMILY_MAX, 10000), min = view_of(p, FAMILY_MIN, 10000);
    struct plan_node *nodes = (struct plan_node *)(uintptr_t)p->nodes;
    for (uint32_t i = 0; i < p->nodes_n; i++)
        if (nodes[i].op == PLAN_OP_PANE_READ && nodes[i].view == max)
            nodes[i].view = min;
    ck_assert_uint_eq(failures_of(p, &a, &failures), 1);
    ck_assert_uint_eq(failures[0].query, 0);
    char named[60];
    snprintf(named, sizeof named, "view_not_executable{%u}", max);
    ck_assert_msg(strstr(failures[0].reason.p, named), "%s", failures[0].reason.p);
    ck_assert_int_eq(plan_refuse(p, 0, &e), 0);
    ck_assert(plan_query_refused(p, 0) && plan_view_refused(p, max));
    ck_assert(!plan_query_refused(p, 1) && !plan_query_refused(p, 2) && !plan_view_refused(p, min));
    /* Explain says which way each query goes now. */
    static const char *const ways[] = {"raw max_over_time(m[5m])", "estimate min_over_time(m[5m])",
                                       "estimate rate(n[5m])"};
    for (uint32_t i = 0; i < 3; i++) {
        struct strbuf text = {0};
        struct fixture f;
        fixture_init(&f);
        struct executor x = {.plan = p, .source = &f.source};
        struct query_options o = {.start_ms = 1000000, .end_ms = 1000000};
        ck_assert_int_eq(query_explain(&x, p->queries[i].text, &o, &a, &text, &e), 0);
        ck_assert_msg(strstr(strbuf_z(&text), ways[i]), "%s", strbuf_z(&text));
        ck_assert_msg((strstr(strbuf_z(&text), "failed its rehearsal") != NULL) == (i == 0), "%s", strbuf_z(&text));
        strbuf_done(&text);
        fixture_done(&f);
    }
    plan_free(p);
    arena_done(&a);
}
END_TEST

/* What a run over 300 panes goes through: a reader binds, and a refresh builds, the nodes of the plan, not of its
 * panes. */
START_TEST(binding_does_not_grow_with_panes)
{
    static const char *const asked[] = {"quantile_over_time(0.99, m[50m])",
                                        "max(quantile_over_time(0.99, m[50m])) > 1"};
    struct arena a;
    struct err e = {0};
    arena_init(&a, 0);
    struct plan *p = plan_of("queries: [{query: 'quantile_over_time(0.99, m[50m])', every: 10s}]" PANES_ALONE);
    ck_assert_uint_eq(p->views[0].panes_n, 300);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const struct expr *tree;
        struct bound bound;
        struct times t = {.start_ms = 1000000, .n = 1};
        struct query_options o = {.start_ms = t.start_ms, .end_ms = t.start_ms};
        ck_assert_int_eq(plan_add_expr(p, str_of(asked[i]), &tree, NULL, &e), 0);
        ck_assert_int_eq(bind_query(p, tree, &t, &o, &a, &bound, &e), 0);
        ck_assert_uint_le(bound.nodes_n, 6 * p->nodes_n);
        uint32_t panes_read = 0;
        for (uint32_t n = 0; n < bound.nodes_n; n++)
            panes_read += bound.nodes[n].op == PLAN_OP_PANE_READ && bound.nodes[n].count == 300;
        ck_assert_uint_eq(panes_read, 1);
    }
    ck_assert_uint_eq(p->groups_n, 1);
    uint32_t built_n = 0;
    for (uint32_t i = 0; i < p->groups[0].views_n; i++)
        for (uint32_t n = p->views[p->groups[0].views[i]].node;; n = p->edges[p->nodes[n].in_first]) {
            built_n++;
            if (p->nodes[n].in_n == 0)
                break;
        }
    ck_assert_uint_le(built_n, 6 * p->nodes_n);
    plan_free(p);
    arena_done(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("executor/rehearsal");
    TCase *tc = tcase_create("rehearsal");
    tcase_add_loop_test(tc, real_plans_pass, 0, 2 * sizeof queries / sizeof *queries);
    tcase_add_loop_test(tc, states_by_labels_pass, 0, 2 * sizeof by_labels / sizeof *by_labels);
    tcase_add_test(tc, a_wrong_view_is_found);
    tcase_add_test(tc, wrong_states_by_labels_are_found);
    tcase_add_test(tc, states_by_labels_that_do_not_fit);
    tcase_add_test(tc, binding_does_not_grow_with_panes);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
