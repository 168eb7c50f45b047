/* plan/check: a sound plan passes, and each rule refuses the plan that breaks it, by name. */
#include "sample.h"
#include "suite.h"

#include "plan/check.h"

START_TEST(a_sound_plan_passes)
{
    struct sample s;
    struct err e = {0};
    sample_init(&s);
    ck_assert_msg(plan_check(s.plan, &e) == 0, "%s", e.message);
    sample_done(&s);
}
END_TEST

START_TEST(the_empty_plan_passes)
{
    struct err e = {0};
    struct plan *p = plan_new();
    ck_assert_msg(plan_check(p, &e) == 0, "%s", e.message);
    plan_free(p);
}
END_TEST

static void latency_views_at(struct sample *s, enum plan_when when)
{
    for (uint32_t n = SCAN_LATENCY; n <= MERGE_DDSKETCH; n++)
        s->nodes[n].half = HALF_QUERY;
    for (uint32_t v = 0; v < 3; v++)
        s->views[v].when = when;
}

static void anchor(struct sample *s, int64_t at_ms, const char *text)
{
    latency_views_at(s, WHEN_QUERY_KEPT);
    s->nodes[P99_PANES].anchored = true;
    s->nodes[P99_PANES].at_ms = at_ms;
    sample_set_expr(s, P99, text);
    s->queries[0].text = s->nodes[P99].expr_text;
}

/* Each changes one thing; what depends on it (a view's identity) is put right, so that the rule itself is met. */
#define BREAK(name, ...)                                                                                               \
    static void break_##name(struct sample *s)                                                                         \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }
BREAK(input_not_smaller, s->edges[0] = BUILD_KLL)
BREAK(edges_outside, s->nodes[BUSY_HALF].in_n = 1000)
BREAK(source_missing, s->nodes[SCAN_LATENCY].source = 9)
BREAK(view_missing, s->nodes[P99_PANES].view = 9)
BREAK(root_missing, s->nodes[STORED_SUM].stored_root = 9)
BREAK(view_node_missing, s->views[0].node = 999)
BREAK(level_missing, s->views[2].level_of = 77)
BREAK(query_root_missing, s->queries[0].root = 999)
BREAK(no_panes, s->nodes[P99_PANES].count = 0)
BREAK(too_many_panes, s->nodes[P99_PANES].count = PLAN_PANES_MAX + 1)
BREAK(offset_huge, s->nodes[P99_PANES].offset_ms = INT64_MIN)
BREAK(q_is_nan, s->nodes[P99].q = __builtin_nan(""))
BREAK(cost_is_infinite, s->queries[0].cost.query = __builtin_inf())
BREAK(gap_is_nan, s->plan->solver.gap = __builtin_nan(""))
BREAK(exact_with_error, s->queries[5].target.error = 0.1)
BREAK(cadence_of_zero, s->queries[0].cadence.every_ms = 0)
BREAK(length_without_step, s->queries[0].cadence.length_ms = HOUR)
BREAK(name_twice, s->queries[5].name = STR("p99"))
BREAK(name_not_utf8, s->queries[5].name = STR("\xff"))
BREAK(unknown_family, s->views[0].family = FAMILY_END)
BREAK(pane_too_wide, s->views[0].panes.step_ms = PLAN_PANE_MAX_MS + 1)
BREAK(width_zero, s->views[0].panes.step_ms = 0)
BREAK(phase_negative, s->views[0].panes.phase_ms = -1)
BREAK(phase_over_width, s->views[0].panes.phase_ms = 10 * SECOND)

BREAK(halves_mixed, s->nodes[BUSY_RATE].half = HALF_PRECOMPUTE)
BREAK(build_in_query_half, s->views[0].when = WHEN_QUERY)
BREAK(root_over_unkept, s->views[3].when = WHEN_QUERY_KEPT; s->nodes[SCAN_REQUESTS].half = HALF_QUERY;
      s->nodes[BUILD_COUNTER].half = HALF_QUERY)
BREAK(query_root_in_precompute, s->queries[4].root = KEPT_SUM)
BREAK(stored_root_in_query_half,
      s->nodes[KEPT_PANES].half = s->nodes[KEPT_RATE].half = s->nodes[KEPT_SUM].half = HALF_QUERY)
BREAK(wrong_out, s->nodes[P99].out = OUT_SCALAR)
BREAK(query_of_states, s->queries[0].root = P99_PANES)
BREAK(raw_of_a_matrix, sample_set_expr(s, RAW_UP, "up[5m]"))
BREAK(text_not_of_tree, s->nodes[RAW_UP].expr_text = STR("up"))
BREAK(scan_with_offset, s->nodes[SCAN_LATENCY].offset_ms = 1)
BREAK(raw_with_input, s->nodes[RAW_UP].in_n = 1)

BREAK(estimate_of_vector, s->edges[s->nodes[BUSY_RATE].in_first] = P99)
BREAK(merge_of_samples, s->edges[s->nodes[MERGE_DDSKETCH].in_first] = SCAN_LATENCY)
BREAK(merge_of_nothing, s->nodes[MERGE_DDSKETCH].in_n = 0)
BREAK(merge_twice, s->nodes[MERGE_DDSKETCH].in_first = s->plan->edges_n; s->nodes[MERGE_DDSKETCH].in_n = 2;
      s->edges[s->plan->edges_n++] = BUILD_DDSKETCH; s->edges[s->plan->edges_n++] = BUILD_DDSKETCH)
BREAK(merge_of_another_view, s->edges[s->nodes[MERGE_DDSKETCH].in_first] = BUILD_KLL)
BREAK(merge_of_another_alpha, s->views[2].params.alpha = 0.02; sample_sign(s, 2))
BREAK(roll_up_of_wider, s->views[2].panes = (struct grid){5 * SECOND, 0}; sample_sign(s, 2))
BREAK(roll_up_does_not_divide, s->views[2].panes = (struct grid){65 * SECOND, 0}; sample_sign(s, 2))
BREAK(roll_up_off_phase, s->views[2].panes.phase_ms = 5 * SECOND; sample_sign(s, 2))
BREAK(roll_up_kept_otherwise, latency_views_at(s, WHEN_QUERY_KEPT); s->views[1].when = WHEN_QUERY)
BREAK(view_not_made_by_its_node, s->views[0].node = BUILD_DDSKETCH)
BREAK(view_made_by_a_scan, s->views[3].node = SCAN_REQUESTS)

BREAK(operand_missing, s->nodes[BUSY_SUM].in_n = 0)
BREAK(operand_of_another, s->edges[s->nodes[BUSY_SUM].in_first] = P90)
BREAK(estimate_without_site, sample_set_expr(s, P99, "latency_ms"))
BREAK(other_q, s->nodes[P99].q = 0.98)
BREAK(other_statistic, s->nodes[P99].statistic = STATISTIC_SUM)
BREAK(other_selector, sample_set_expr(s, P99, "quantile_over_time(0.99, latency_ms{a=\"b\"}[5m])"))
BREAK(other_metric, sample_set_expr(s, P99, "quantile_over_time(0.99, latency_s[5m])"))
BREAK(other_offset, s->nodes[BUSY_PANES].offset_ms = 0)
BREAK(other_anchor, s->nodes[P99_PANES].anchored = true)
BREAK(grouped_panes, s->views[0].per_series = false; sample_sign(s, 0))
BREAK(no_readout, s->views[0].family = FAMILY_SUM; s->views[0].params = (struct sketch_params){0}; sample_sign(s, 0))
BREAK(range_not_tiled, sample_set_expr(s, P99, "quantile_over_time(0.99, latency_ms[301s])"))
BREAK(one_pane_short, s->nodes[P99_PANES].count = 29)
BREAK(one_pane_more, s->nodes[P99_PANES].count = 31)
/* 2 m panes over 5 m: two leave a minute out, three hold one too many. */
BREAK(two_minutes_over_five, s->views[0].panes.step_ms = 2 * MINUTE; s->nodes[P99_PANES].count = 2; sample_sign(s, 0))
BREAK(two_minutes_over_five_and_more, s->views[0].panes.step_ms = 2 * MINUTE; s->nodes[P99_PANES].count = 3;
      sample_sign(s, 0))
/* A family whose states cannot be merged: read by a query, and rolled up as data arrives. */
BREAK(no_merge_at_query, s->views[0].family = FAMILY_HYDRA_KLL; sample_sign(s, 0))
BREAK(no_merge_at_ingestion, s->views[1].family = s->views[2].family = FAMILY_HYDRA_KLL;
      s->views[1].params = s->views[2].params = s->views[0].params; sample_sign(s, 1); sample_sign(s, 2))
BREAK(stored_of_another, sample_set_expr(s, STORED_SUM, "sum(rate(http_requests_total[5m]))"))
BREAK(stored_root_looks_ahead, sample_set_expr(s, RAW_UP, "rate(up[5m] smoothed)");
      s->nodes[RAW_UP].half = HALF_PRECOMPUTE; s->plan->queries_n--;
      s->stored_roots[1] = (struct plan_stored_root){RAW_UP, {MINUTE, 0}, HOUR}; s->plan->stored_roots_n = 2)
BREAK(stored_root_of_best, s->stored_roots[1] = s->stored_roots[0]; s->plan->stored_roots_n = 2;
      s->stored_roots[1].node = RAW_UP; sample_set_expr(s, RAW_UP, "sum(topk(2, up))");
      s->nodes[RAW_UP].half = HALF_PRECOMPUTE; s->plan->queries_n--)
BREAK(order_minded, s->nodes[RAW_UP].op = PLAN_OP_VECTOR; s->nodes[RAW_UP].in_first = s->plan->edges_n;
      s->nodes[RAW_UP].in_n = 1; s->edges[s->plan->edges_n++] = STORED_SUM;
      sample_set_expr(s, KEPT_SUM, "-rate(http_requests_total{job=~\"api|web\"}[5m])");
      sample_set_expr(s, STORED_SUM, "-rate(http_requests_total{job=~\"api|web\"}[5m])");
      sample_set_expr(s, RAW_UP, "avg(-rate(http_requests_total{job=~\"api|web\"}[5m]))"))
BREAK(stored_root_again, s->stored_roots[1] = s->stored_roots[0]; s->plan->stored_roots_n = 2;
      s->stored_roots[1].node = RAW_UP; s->nodes[RAW_UP].expr = s->nodes[KEPT_SUM].expr;
      s->nodes[RAW_UP].expr_text = s->nodes[KEPT_SUM].expr_text; s->nodes[RAW_UP].half = HALF_PRECOMPUTE;
      s->plan->queries_n--)
BREAK(stored_root_twice, s->stored_roots[1] = s->stored_roots[0]; s->plan->stored_roots_n = 2)

BREAK(bad_k, s->views[0].params.k = 7; sample_sign(s, 0))
BREAK(bad_alpha, s->views[1].params.alpha = s->views[2].params.alpha = 1; sample_sign(s, 1); sample_sign(s, 2))
BREAK(identity_flipped, s->views[0].identity[15] ^= 1)
BREAK(identity_of_another_seed, s->plan->sketch_seed++)
BREAK(identity_repeated, s->views[4] = s->views[3]; s->plan->views_n = 5;
      s->nodes[SAMPLE_NODES] = s->nodes[BUILD_COUNTER]; s->nodes[SAMPLE_NODES].view = 4;
      s->views[4].node = SAMPLE_NODES; s->plan->nodes_n++)
BREAK(counter_by_labels, s->views[4] = s->views[3]; s->plan->views_n = 5;
      s->nodes[SAMPLE_NODES] = s->nodes[BUILD_COUNTER]; s->nodes[SAMPLE_NODES].view = 4;
      s->views[4].node = SAMPLE_NODES; s->plan->nodes_n++; s->views[4].per_series = false; sample_sign(s, 4))
BREAK(retention_under_a_window, s->views[0].retention_ms = 5 * MINUTE - 1)
BREAK(level_below_kept_too_short, s->views[1].retention_ms = 59 * SECOND; s->views[1].panes_n = 5)

BREAK(query_off_the_grid, s->queries[0].cadence.every_ms = 15 * SECOND)
BREAK(query_off_the_phase, s->queries[0].cadence.phase_ms = 3 * SECOND)
BREAK(offset_off_the_phase, s->views[3].panes.phase_ms = 20 * SECOND; sample_sign(s, 3))
BREAK(query_without_grid, s->queries[0].cadence = (struct cadence){.kind = CADENCE_ONCE})
BREAK(query_by_rate, s->queries[0].cadence = (struct cadence){.kind = CADENCE_RATE, .rate_per_s = 1})
BREAK(steps_off_the_grid, s->queries[3].cadence.step_ms = 7 * SECOND)
BREAK(length_off_the_grid, s->queries[3].cadence.length_ms = HOUR - SECOND)
BREAK(stored_root_off_the_grid, s->queries[4].cadence.kind = CADENCE_EVERY; s->queries[4].cadence.every_ms = MINUTE)
BREAK(root_itself_off_the_grid, s->stored_roots[0].grid = (struct grid){MINUTE, 0})
BREAK(range_over_retention, s->queries[3].cadence.length_ms = 2 * HOUR)
BREAK(too_few_panes, s->views[0].panes_n = 29)
BREAK(anchored, anchor(s, 20 * SECOND, "quantile_over_time(0.99, latency_ms[5m] @ 20)");
      latency_views_at(s, WHEN_INGESTION);
      s->nodes[SCAN_LATENCY].half = s->nodes[BUILD_KLL].half = s->nodes[BUILD_DDSKETCH].half =
          s->nodes[MERGE_DDSKETCH].half = HALF_PRECOMPUTE)
BREAK(kept_off_the_grid, latency_views_at(s, WHEN_QUERY_KEPT); s->queries[0].cadence.every_ms = 7 * SECOND)
BREAK(anchor_off_the_phase, anchor(s, 23 * SECOND, "quantile_over_time(0.99, latency_ms[5m] @ 23)"))
BREAK(uses_too_few, s->queries[0].uses_n = 0)
BREAK(uses_another, s->queries[0].uses = s->queries[1].uses)
BREAK(guarantee_missed, s->queries[0].guarantee.error = 0.02)
BREAK(guarantee_of_another_metric, s->queries[0].guarantee.kind = ACCURACY_RELATIVE)
BREAK(exact_from_a_sketch, s->queries[0].guarantee = (struct accuracy){ACCURACY_EXACT, 0, 0})
BREAK(better_than_its_k, s->queries[0].guarantee.error = 0.0099; s->views[0].params.k = 200; sample_sign(s, 0))
/* That an answer may miss more often makes no bound smaller that is not known to be. */
BREAK(better_when_it_may_miss,
      s->queries[0].target = s->queries[0].guarantee = ((struct accuracy){ACCURACY_RANK, 0.005, 0.05}))
BREAK(better_than_its_alpha,
      s->queries[1].target = s->queries[1].guarantee = ((struct accuracy){ACCURACY_RELATIVE, 0.001, 0.01}))
BREAK(surer_than_known,
      s->queries[0].target = s->queries[0].guarantee = ((struct accuracy){ACCURACY_RANK, 0.01, 0.001}))
BREAK(text_of_another, s->queries[0].text = STR("up"))
BREAK(text_not_canonical, s->queries[0].text = STR("quantile_over_time(0.990, latency_ms[5m])"))
BREAK(text_does_not_parse, s->queries[0].text = STR("sum("))

static const struct {
    void (*change)(struct sample *);
    const char *rule;
} broken[] = {
    {break_input_not_smaller, "node 1 (build): bad_input"},
    {break_edges_outside, "bad_input"},
    {break_source_missing, "node 0 (scan): bad_node"},
    {break_view_missing, "bad_node"},
    {break_root_missing, "bad_node"},
    {break_view_node_missing, "view 0: bad_view"},
    {break_level_missing, "view 2: bad_view"},
    {break_query_root_missing, "query 0: bad_query"},
    {break_no_panes, "empty_merge"},
    {break_too_many_panes, "bad_node"},
    {break_offset_huge, "bad_node"},
    {break_q_is_nan, "bad_node"},
    {break_cost_is_infinite, "bad_query"},
    {break_gap_is_nan, "bad_solver"},
    {break_exact_with_error, "bad_query"},
    {break_cadence_of_zero, "bad_query"},
    {break_length_without_step, "bad_query"},
    {break_name_twice, "bad_query"},
    {break_name_not_utf8, "bad_query"},
    {break_unknown_family, "bad_view"},
    {break_pane_too_wide, "pane_too_wide"},
    {break_width_zero, "bad_view"},
    {break_phase_negative, "bad_view"},
    {break_phase_over_width, "bad_view"},
    {break_halves_mixed, "illegal_input_phase"},
    {break_build_in_query_half, "illegal_input_phase"},
    {break_root_over_unkept, "illegal_input_phase"},
    {break_query_root_in_precompute, "illegal_input_phase"},
    {break_stored_root_in_query_half, "illegal_input_phase"},
    {break_wrong_out, "bad_output"},
    {break_query_of_states, "bad_output"},
    {break_raw_of_a_matrix, "bad_output"},
    {break_text_not_of_tree, "text_not_canonical"},
    {break_scan_with_offset, "bad_node"},
    {break_raw_with_input, "bad_input"},
    {break_estimate_of_vector, "not_summary"},
    {break_merge_of_samples, "not_summary"},
    {break_merge_of_nothing, "empty_merge"},
    {break_merge_twice, "inputs_overlap"},
    {break_merge_of_another_view, "definition_mismatch"},
    {break_merge_of_another_alpha, "definition_mismatch"},
    {break_roll_up_of_wider, "group_cycle"},
    {break_roll_up_does_not_divide, "chain_does_not_tile"},
    {break_roll_up_off_phase, "chain_does_not_tile"},
    {break_roll_up_kept_otherwise, "illegal_input_phase"},
    {break_view_not_made_by_its_node, "bad_node"},
    {break_view_made_by_a_scan, "bad_node"},
    {break_operand_missing, "operands_differ"},
    {break_operand_of_another, "operands_differ"},
    {break_estimate_without_site, "not_a_site"},
    {break_other_q, "definition_mismatch"},
    {break_other_statistic, "definition_mismatch"},
    {break_other_selector, "definition_mismatch"},
    {break_other_metric, "definition_mismatch"},
    {break_other_offset, "definition_mismatch"},
    {break_other_anchor, "definition_mismatch"},
    {break_grouped_panes, "definition_mismatch"},
    {break_no_readout, "no_readout"},
    {break_range_not_tiled, "chain_does_not_tile"},
    {break_one_pane_short, "chain_does_not_tile"},
    {break_one_pane_more, "chain_does_not_tile"},
    {break_two_minutes_over_five, "2 panes of 120000 ms are not a window of 300000 ms"},
    {break_two_minutes_over_five_and_more, "3 panes of 120000 ms are not a window of 300000 ms"},
    {break_no_merge_at_query, "(estimate): no_merge"},
    {break_no_merge_at_ingestion, "(merge): no_merge"},
    {break_stored_of_another, "definition_mismatch"},
    {break_stored_root_looks_ahead, "stored root 1: not_eligible: it looks past its time"},
    {break_stored_root_of_best, "not_eligible"},
    {break_order_minded, "order_minded"},
    {break_stored_root_again, "stored root 1: identity_repeated"},
    {break_stored_root_twice, "bad_root"},
    {break_bad_k, "bad_parameters"},
    {break_bad_alpha, "bad_parameters"},
    {break_identity_flipped, "view 0: identity_mismatch"},
    {break_identity_of_another_seed, "identity_mismatch"},
    {break_identity_repeated, "identity_repeated"},
    {break_counter_by_labels, "reduces_time_ordered"},
    {break_retention_under_a_window, "retention_too_short"},
    {break_level_below_kept_too_short, "view 1: retention_too_short"},
    {break_query_off_the_grid, "query 0: misaligned"},
    {break_query_off_the_phase, "query 0: misaligned"},
    {break_offset_off_the_phase, "misaligned"},
    {break_query_without_grid, "misaligned"},
    {break_query_by_rate, "misaligned"},
    {break_steps_off_the_grid, "query 3: misaligned"},
    {break_length_off_the_grid, "query 3: misaligned"},
    {break_stored_root_off_the_grid, "query 4: misaligned"},
    {break_root_itself_off_the_grid, "stored root 0: misaligned"},
    {break_range_over_retention, "query 3: retention_too_short"},
    {break_too_few_panes, "too_few_panes"},
    {break_anchored, "anchored_view"},
    {break_kept_off_the_grid, "query 0: misaligned"},
    {break_anchor_off_the_phase, "query 0: misaligned"},
    {break_uses_too_few, "uses_differ"},
    {break_uses_another, "uses_differ"},
    {break_guarantee_missed, "guarantee_missed"},
    {break_guarantee_of_another_metric, "guarantee_missed"},
    {break_exact_from_a_sketch, "guarantee_unfounded"},
    {break_better_than_its_k, "guarantee_unfounded"},
    {break_better_when_it_may_miss, "query 0: guarantee_unfounded"},
    {break_better_than_its_alpha, "query 1: guarantee_unfounded"},
    {break_surer_than_known, "query 0: guarantee_unfounded"},
    {break_text_of_another, "definition_mismatch"},
    {break_text_not_canonical, "text_not_canonical"},
    {break_text_does_not_parse, "bad_query"},
};

START_TEST(each_rule_refuses)
{
    struct sample s;
    struct err e = {0};
    sample_init(&s);
    broken[_i].change(&s);
    int rc = plan_check(s.plan, &e);
    ck_assert_msg(rc == ERR_BAD_DATA && strstr(e.message, broken[_i].rule), "wanted %s, got %d: %s", broken[_i].rule,
                  rc, e.message);
    sample_done(&s);
}
END_TEST

/* What looks wrong but is right. */
BREAK(unkept_at_any_time, latency_views_at(s, WHEN_QUERY); s->queries[0].cadence.every_ms = 7 * SECOND)
BREAK(anchored_kept, anchor(s, 20 * SECOND, "quantile_over_time(0.99, latency_ms[5m] @ 20)"))
BREAK(coarser_query, s->queries[0].cadence.every_ms = 30 * SECOND)
BREAK(parentheses_around, s->queries[0].text = STR("((quantile_over_time(0.99, latency_ms[5m])))"))
BREAK(any_metric, s->queries[0].target.kind = ACCURACY_ANY)
BREAK(no_target_met_by_exact, s->queries[5].target = ((struct accuracy){ACCURACY_RANK, 0.1, 0.01}))
static void (*const sound[])(struct sample *) = {break_coarser_query,      break_parentheses_around,
                                                 break_any_metric,         break_no_target_met_by_exact,
                                                 break_unkept_at_any_time, break_anchored_kept};

START_TEST(sound_variants_pass)
{
    struct sample s;
    struct err e = {0};
    sample_init(&s);
    sound[_i](&s);
    ck_assert_msg(plan_check(s.plan, &e) == 0, "%s", e.message);
    sample_done(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/check");
    TCase *tcase = tcase_create("check");
    tcase_add_test(tcase, a_sound_plan_passes);
    tcase_add_test(tcase, the_empty_plan_passes);
    tcase_add_loop_test(tcase, each_rule_refuses, 0, sizeof broken / sizeof broken[0]);
    tcase_add_loop_test(tcase, sound_variants_pass, 0, sizeof sound / sizeof sound[0]);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
