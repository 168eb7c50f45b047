/* plan/explain: the lines that people are promised. */
#include "sample.h"
#include "suite.h"

#include <string.h>

#include "plan/explain.h"

static const char *const explained[] = {
    "query 0 \"p99\": quantile_over_time(0.99, latency_ms[5m])\n"
    "  every 10s; wanted rank error 0.01 with probability 0.99; guaranteed rank error 0.01 with probability 0.99\n",
    "  chosen: G10\n"
    "    G10: quantile(0.99) <- G9\n"
    "    G9: panes  KLL k=269  30 x 10s  [view 0]\n",
    "  cost in CPU-ms a second: ingest 0.1, query 1e-09, memory 1.23457e+07\n",
    "  rejected: exact from \"raw\": dearer: 12 against 3\n",
    "  every 1m phase 30s, each over 1h by 1m; wanted exact; guaranteed exact\n",
    "    G15: panes  counter  5 x 1m  offset -1m  [view 3]\n",
    "    G18: vector  sum by (job) (rate(http_requests_total{job=~\"api|web\"}[5m] offset -1m)) / 2 <- G17\n",
    "refresh group 0: each 10s\n"
    "  view 0: KLL k=269  30 x 10s  of {__name__=\"latency_ms\"}  kept 5m10s  (ingestion)\n"
    "  view 1: DDSketch alpha=0.01  6 x 10s  of {__name__=\"latency_ms\"}  kept 2m  (ingestion)\n"
    "refresh group 1: each 1m\n"
    "  view 2: DDSketch alpha=0.01  60 x 1m  of {__name__=\"latency_ms\"}  from view 1  kept 1h1m  (ingestion)\n"
    "refresh group 2: each 1m phase 30s\n",
    "stored root 0: G8 each 1m phase 30s\n",
    "  at 2 times; wanted exact",
};

START_TEST(explain_says)
{
    struct sample s;
    struct err e;
    struct strbuf text = {0};
    sample_init(&s);
    ck_assert_int_eq(plan_groups(s.plan, &e), 0);
    plan_explain(s.plan, &text);
    for (size_t i = 0; i < sizeof explained / sizeof explained[0]; i++)
        ck_assert_msg(strstr(strbuf_z(&text), explained[i]), "missing:\n%s\nin:\n%s", explained[i], strbuf_z(&text));
    strbuf_done(&text);
    sample_done(&s);
}
END_TEST

static const char *const explained_groups[] = {
    "  every 1m; wanted no bound; guaranteed no bound\n",
    "    G25: panes  [by instance, job] sum  5 x 1m  [view 4]\n",
    "    G27: panes  [by job] cms_heap depth=7 width=272 heap=40 of series  5 x 1m  [view 5]\n",
    "    G31: panes  [by instance, job] HLL p=14 of label path  5 x 1m  [view 6]\n",
    "  view 7: [of all series] countsketch depth=5 width=2048 of label path  5 x 1m  of {__name__=",
};

START_TEST(explain_says_of_groups)
{
    struct sample s;
    struct err e;
    struct strbuf text = {0};
    sample_init(&s);
    sample_add_groups(&s);
    ck_assert_int_eq(plan_groups(s.plan, &e), 0);
    plan_explain(s.plan, &text);
    for (size_t i = 0; i < sizeof explained_groups / sizeof explained_groups[0]; i++)
        ck_assert_msg(strstr(strbuf_z(&text), explained_groups[i]), "missing:\n%s\nin:\n%s", explained_groups[i],
                      strbuf_z(&text));
    strbuf_done(&text);
    sample_done(&s);
}
END_TEST

/* What is true of nearly every query is said only where it is the whole reason; a solver that did not run, not at all.
 */
START_TEST(explain_leaves_out_noise)
{
    struct sample s;
    struct strbuf text = {0};
    struct plan_rejected noise[] = {{STR("kll whole"), STR("not_on_grid: windows overlap")},
                                    {STR("kll 5 x 1m"), STR("dearer: 2")}};
    sample_init(&s);
    s.queries[5].rejected = noise;
    s.queries[5].rejected_n = 1;
    s.queries[5].uses_n = 0;
    s.plan->solver = (struct plan_solver){.status = STR("per-query")};
    plan_explain(s.plan, &text);
    ck_assert_ptr_nonnull(strstr(strbuf_z(&text), "  rejected: kll whole: not_on_grid: windows overlap\n"));
    ck_assert_ptr_nonnull(strstr(strbuf_z(&text), "\nsolver: per-query\n"));
    strbuf_clear(&text);
    s.queries[5].rejected_n = 2;
    plan_explain(s.plan, &text);
    ck_assert_ptr_null(strstr(strbuf_z(&text), "not_on_grid"));
    ck_assert_ptr_nonnull(strstr(strbuf_z(&text), "  rejected: kll 5 x 1m: dearer: 2\n"));
    strbuf_done(&text);
    sample_done(&s);
}
END_TEST

START_TEST(dot_draws_both_halves)
{
    struct sample s;
    struct strbuf text = {0};
    sample_init(&s);
    plan_dot(s.plan, &text);
    const char *dot = strbuf_z(&text);
    ck_assert_ptr_eq(strstr(dot, "digraph plan {"), dot);
    ck_assert_ptr_nonnull(strstr(dot, "subgraph cluster_precompute {"));
    ck_assert_ptr_nonnull(strstr(dot, "subgraph cluster_query {"));
    ck_assert_ptr_nonnull(strstr(dot, "    n10 [label=\"G10: quantile(0.99)\"];\n"));
    ck_assert_ptr_nonnull(strstr(dot, "  n9 -> n10;\n"));
    ck_assert_ptr_nonnull(strstr(dot, "  n1 -> n9 [style=dashed];\n"));
    ck_assert_ptr_nonnull(strstr(dot, "  n8 -> n19 [style=dashed];\n"));
    ck_assert_ptr_nonnull(strstr(dot, "  q0 [shape=ellipse, label=\"p99\"];\n  n10 -> q0;\n"));
    strbuf_done(&text);
    sample_done(&s);
}
END_TEST

static const struct {
    enum family family;
    struct sketch_params params;
    struct accuracy guarantee;
    const char *text;
} guarantees[] = {
    {FAMILY_KLL, {.k = 269}, {ACCURACY_RANK, 0.01, 0.01}, "KLL k=269 (rank error 0.01 with probability 0.99)"},
    {FAMILY_DDSKETCH, {.alpha = 0.01}, {ACCURACY_RELATIVE, 0.01, 0}, "DDSketch alpha=0.01 (relative error 0.01)"},
    {FAMILY_HLL,
     {.p = 14},
     {ACCURACY_CARDINALITY, 0.008125, 0.317},
     "HLL p=14 (cardinality error 0.008125 with probability 0.683)"},
    {FAMILY_SUM, {0}, {ACCURACY_EXACT, 0, 0}, "sum (exact)"},
};

START_TEST(guarantees_in_words)
{
    struct strbuf text = {0};
    guarantee_text(guarantees[_i].family, &guarantees[_i].params, &guarantees[_i].guarantee, &text);
    ck_assert_str_eq(strbuf_z(&text), guarantees[_i].text);
    strbuf_done(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/explain");
    TCase *tcase = tcase_create("explain");
    tcase_add_test(tcase, explain_says);
    tcase_add_test(tcase, explain_says_of_groups);
    tcase_add_test(tcase, explain_leaves_out_noise);
    tcase_add_test(tcase, dot_draws_both_halves);
    tcase_add_loop_test(tcase, guarantees_in_words, 0, sizeof guarantees / sizeof guarantees[0]);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
