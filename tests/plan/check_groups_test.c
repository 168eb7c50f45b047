/* plan/check: states by labels, and each rule about them. */
#include "sample.h"
#include "suite.h"

#include "plan/check.h"

static struct sample s;
static struct err e;

static void setup(void)
{
    e = (struct err){0};
    sample_init(&s);
    sample_add_groups(&s);
}

static void teardown(void)
{
    sample_done(&s);
}

START_TEST(a_sound_plan_passes)
{
    ck_assert_msg(plan_check(s.plan, &e) == 0, "%s", e.message);
}
END_TEST

/* What a list out of merged heaps is called and by whom it is read is what the whole form's is. */
START_TEST(a_chain_has_the_schema_of_the_whole)
{
    const struct plan_node *n = &s.nodes[TOP];
    ck_assert_int_eq(n->out, OUT_VECTOR);
    ck_assert_int_eq(n->expr->type, VALUE_VECTOR);
    struct plan_node whole = *n;
    struct err unused;
    ck_assert_int_eq(plan_add_expr(s.plan, s.queries[7].text, &whole.expr, NULL, &unused), 0);
    ck_assert(expr_equal(whole.expr, n->expr));
}
END_TEST

static void set_family(uint32_t view, enum family family, struct sketch_params params)
{
    s.views[view].family = family;
    s.views[view].params = params;
    sample_sign(&s, view);
}

static void set_input(uint32_t view, struct view_input input)
{
    s.views[view].input = input;
    sample_sign(&s, view);
}

static void set_text(uint32_t node, uint32_t query, const char *text)
{
    sample_set_expr(&s, node, text);
    s.queries[query].text = s.nodes[node].expr_text;
}

static void promise(uint32_t query, enum accuracy_kind kind, double error, double failure)
{
    s.queries[query].target = s.queries[query].guarantee = (struct accuracy){kind, error, failure};
}

#define OF(range) "http_requests_total{job=~\"api|web\"}[" range "]"
static const struct str by_name[] = {STR("__name__"), STR("job")}, by_unsorted[] = {STR("job"), STR("instance")};

#define CHANGE(name, ...)                                                                                              \
    static void name(void)                                                                                             \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }
CHANGE(finer_than_its_states, set_text(GROUP_SUM, 6, "sum by (path) (sum_over_time(" OF("5m") "))"))
CHANGE(finer_in_part, set_text(GROUP_SUM, 6, "sum by (job, path) (sum_over_time(" OF("5m") "))"))
CHANGE(of_another_label, set_text(PATHS, 9, "distinct_label_over_time(\"code\", " OF("5m") ")"))
CHANGE(items_for_values, set_input(4, (struct view_input){.kind = INPUT_SERIES}))
CHANGE(values_for_items, set_input(5, (struct view_input){.kind = INPUT_VALUE}))
CHANGE(series_for_labels, set_input(6, (struct view_input){.kind = INPUT_SERIES}))
CHANGE(of_other_samples, set_text(GROUP_SUM, 6, "sum by (job) (sum_over_time(http_requests_total[5m]))"))
CHANGE(minimum_from_sums, set_text(GROUP_SUM, 6, "min by (job) (min_over_time(" OF("5m") "))");
       s.nodes[GROUP_SUM].statistic = STATISTIC_MIN)
CHANGE(without_labels, set_text(GROUP_SUM, 6, "sum without (job) (sum_over_time(" OF("5m") "))"))
CHANGE(below_a_counter, set_text(GROUP_SUM, 6, "sum by (job) (rate(" OF("5m") "))"))
CHANGE(average_of_averages, set_text(GROUP_SUM, 6, "avg by (job) (avg_over_time(" OF("5m") "))"))
CHANGE(top_of_a_variable, set_text(TOP, 7, "topk by (job) (scalar(up), sum_over_time(" OF("5m") "))"))
CHANGE(of_one_series, s.views[4].per_series = true; s.views[4].reduce_n = 0; sample_sign(&s, 4))
CHANGE(counters_by_labels, set_family(4, FAMILY_COUNTER, (struct sketch_params){0}))
CHANGE(quantiles_by_labels, set_family(4, FAMILY_KLL, (struct sketch_params){.k = 100});
       set_text(GROUP_SUM, 6, "sum by (job) (count_over_time(" OF("5m") "))");
       s.nodes[GROUP_SUM].statistic = STATISTIC_COUNT)
CHANGE(hydra_by_labels, set_family(7, FAMILY_HYDRA_COUNTSKETCH,
                                   (struct sketch_params){.depth = 5, .width = 64, .rows = 3, .columns = 16}))
CHANGE(items_one_a_series, s.views[0].input.kind = INPUT_SERIES; sample_sign(&s, 0))
CHANGE(by_a_metric_name, s.views[4].reduce = by_name; sample_sign(&s, 4))
CHANGE(not_sorted, s.views[4].reduce = by_unsorted; sample_sign(&s, 4))
CHANGE(built_when_read, s.views[4].when = WHEN_QUERY; s.nodes[BUILD_GROUP_SUM].half = HALF_QUERY;
       s.nodes[RAW_UP] = (struct plan_node){.op = PLAN_OP_SCAN, .half = HALF_QUERY, .out = OUT_SAMPLES, .source = 1};
       s.edges[s.nodes[BUILD_GROUP_SUM].in_first] = RAW_UP; s.queries[5].root = STORED_SUM;
       s.queries[5].text = s.queries[4].text; s.queries[5].cadence = s.queries[4].cadence)
CHANGE(off_the_grid, s.queries[6].cadence.phase_ms = 30 * SECOND)
CHANGE(too_short_a_window, s.nodes[GROUP_SUM_PANES].count = 4)
CHANGE(merged_panes_of_lists, promise(7, ACCURACY_FREQUENCY, 0.5, 0.01))
CHANGE(merged_panes_taken_for_exact, promise(7, ACCURACY_EXACT, 0, 0))
CHANGE(merged_groups_of_lists, s.views[5].reduce = s.views[4].reduce; s.views[5].reduce_n = 2; sample_sign(&s, 5);
       s.plan->queries_n = 9; promise(8, ACCURACY_FREQUENCY, 0.5, 0.01))
CHANGE(one_pane_without_a_rule, promise(8, ACCURACY_FREQUENCY, 0.5, 0.01))
CHANGE(norm_too_good, promise(10, ACCURACY_RELATIVE, 0.03, 0.01))
CHANGE(norm_of_another_kind, promise(10, ACCURACY_FREQUENCY, 0.05, 0.01))
CHANGE(norm_too_sure, promise(10, ACCURACY_RELATIVE, 0.05, 0.0001))
/* Three standard errors are promised 99 times of 100, two 95 times: 1.04 / 2^7 each of HLL p = 14. */
CHANGE(distinct_too_good, promise(9, ACCURACY_CARDINALITY, 0.0243, 0.01))
CHANGE(distinct_too_sure, promise(9, ACCURACY_CARDINALITY, 0.03, 0.001))
CHANGE(distinct_too_good_for_fewer, promise(9, ACCURACY_CARDINALITY, 0.0162, 0.05))
CHANGE(too_few_least_hashes, set_family(6, FAMILY_KMV, (struct sketch_params){.k = 10001}))
CHANGE(sketch_taken_for_exact, promise(9, ACCURACY_EXACT, 0, 0))

static const struct {
    void (*change)(void);
    const char *rule;
} broken[] = {
    {finer_than_its_states,
     "node 26 (estimate): definition_mismatch: its states are not of one value of the label path"},
    {finer_in_part, "definition_mismatch: its states are not of one value of the label path"},
    {of_another_label, "definition_mismatch"},
    {items_for_values, "definition_mismatch"},
    {values_for_items, "definition_mismatch"},
    {series_for_labels, "definition_mismatch"},
    {of_other_samples, "definition_mismatch"},
    {minimum_from_sums, "no_readout"},
    {without_labels, "not_a_site"},
    {below_a_counter, "not_a_site"},
    {average_of_averages, "not_a_site"},
    {top_of_a_variable, "not_a_site"},
    {of_one_series, "definition_mismatch"},
    {counters_by_labels, "no_readout"},
    {quantiles_by_labels, "view 4: bad_view: kll states are not made of its input, by labels"},
    {hydra_by_labels, "view 7: bad_view"},
    {items_one_a_series, "view 0: bad_view"},
    {by_a_metric_name, "view 4: bad_view: it is by __name__"},
    {not_sorted, "view 4: bad_view: the labels of its reduction are not sorted"},
    {built_when_read, "bad_view: states by labels are built at ingestion only"},
    {off_the_grid, "query 6: misaligned"},
    {too_short_a_window, "chain_does_not_tile"},
    {merged_panes_of_lists, "query 7: approximate_merge"},
    {merged_panes_taken_for_exact, "query 7: approximate_merge"},
    {merged_groups_of_lists, "query 8: approximate_merge"},
    {one_pane_without_a_rule, "query 8: guarantee_unfounded"},
    {norm_too_good, "query 10: guarantee_unfounded"},
    {norm_of_another_kind, "query 10: guarantee_unfounded"},
    {norm_too_sure, "query 10: guarantee_unfounded"},
    {distinct_too_good, "query 9: guarantee_unfounded"},
    {distinct_too_sure, "query 9: guarantee_unfounded"},
    {distinct_too_good_for_fewer, "query 9: guarantee_unfounded"},
    {too_few_least_hashes, "query 9: guarantee_unfounded"},
    {sketch_taken_for_exact, "query 9: guarantee_unfounded"},
};

START_TEST(each_rule_refuses)
{
    broken[_i].change();
    int rc = plan_check(s.plan, &e);
    ck_assert_msg(rc == ERR_BAD_DATA && strstr(e.message, broken[_i].rule), "%d: wanted %s, got %d: %s", _i,
                  broken[_i].rule, rc, e.message);
}
END_TEST

CHANGE(groups_of_all_merged, set_text(GROUP_SUM, 6, "sum(sum_over_time(" OF("5m") "))"))
CHANGE(of_its_own_labels, set_text(GROUP_SUM, 6, "sum by (job, instance, job) (sum_over_time(" OF("5m") "))"))
CHANGE(count_out_of_sums, set_text(GROUP_SUM, 6, "sum by (job) (count_over_time(" OF("5m") "))");
       s.nodes[GROUP_SUM].statistic = STATISTIC_COUNT)
CHANGE(groups_that_are_there, set_text(GROUP_SUM, 6, "group by (job) (present_over_time(" OF("5m") "))");
       s.nodes[GROUP_SUM].statistic = STATISTIC_PRESENT)
CHANGE(greatest, set_family(4, FAMILY_MAX, (struct sketch_params){0});
       set_text(GROUP_SUM, 6, "max(max_over_time(" OF("5m") "))"); s.nodes[GROUP_SUM].statistic = STATISTIC_MAX)
CHANGE(distinct_by_least_hashes, set_family(6, FAMILY_KMV, (struct sketch_params){.k = 10002}))
CHANGE(distinct_of_three_errors, promise(9, ACCURACY_CARDINALITY, 0.024376, 0.01))
CHANGE(distinct_of_two_errors, promise(9, ACCURACY_CARDINALITY, 0.016251, 0.05))
CHANGE(norm_out_of_univmon,
       set_family(7, FAMILY_UNIVMON, (struct sketch_params){.depth = 5, .width = 2048, .heap = 64}))
CHANGE(norm_with_a_heap,
       set_family(7, FAMILY_COUNTSKETCH_HEAP, (struct sketch_params){.depth = 5, .width = 2048, .heap = 64}))
CHANGE(lists_without_a_promise, s.views[5].reduce = s.views[4].reduce; s.views[5].reduce_n = 2; sample_sign(&s, 5))
static void (*const sound[])(void) = {
    groups_of_all_merged,     of_its_own_labels,        count_out_of_sums,      groups_that_are_there, greatest,
    distinct_by_least_hashes, distinct_of_three_errors, distinct_of_two_errors, norm_out_of_univmon,   norm_with_a_heap,
    lists_without_a_promise};

START_TEST(sound_variants_pass)
{
    sound[_i]();
    ck_assert_msg(plan_check(s.plan, &e) == 0, "%d: %s", _i, e.message);
}
END_TEST

/* A roll-up of states by labels, whole in every other way. */
START_TEST(no_roll_ups)
{
    uint32_t v = s.plan->views_n++, n = s.plan->nodes_n++;
    s.views[v] = s.views[4];
    s.views[v].node = n;
    s.views[v].level_of = 4;
    s.views[v].panes = (struct grid){5 * MINUTE, 0};
    s.views[v].panes_n = 1;
    sample_sign(&s, v);
    s.nodes[n] = (struct plan_node){.op = PLAN_OP_MERGE,
                                    .half = HALF_PRECOMPUTE,
                                    .out = OUT_STATE,
                                    .view = v,
                                    .in_first = s.plan->edges_n,
                                    .in_n = 1};
    s.edges[s.plan->edges_n++] = BUILD_GROUP_SUM;
    ck_assert_int_eq(plan_check(s.plan, &e), ERR_BAD_DATA);
    ck_assert_msg(strstr(e.message, "view 8: bad_view: states by labels have no roll-ups"), "%s", e.message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/check, states by labels");
    TCase *tcase = tcase_create("check");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_sound_plan_passes);
    tcase_add_test(tcase, a_chain_has_the_schema_of_the_whole);
    tcase_add_loop_test(tcase, each_rule_refuses, 0, sizeof broken / sizeof broken[0]);
    tcase_add_loop_test(tcase, sound_variants_pass, 0, sizeof sound / sizeof sound[0]);
    tcase_add_test(tcase, no_roll_ups);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
