/*
 * What must hold of every plan before it runs. Structural: nothing is executed. ERR_BAD_DATA names source, node, view,
 * stored root or query, and the rule; the rules' names are part of the contract (tests/plan/check_test.c breaks each):
 *
 *   shapes    bad_source, bad_node, bad_view, bad_root, bad_query: ids, ranges, keywords, numbers that are none
 *   edges     bad_input (not a smaller id), illegal_input_phase (edges across halves; a precompute node that reads
 *             states which are not kept at ingestion), not_summary (a state is needed), bad_output
 *   meaning   text_not_canonical, operands_differ (a vector's inputs are not its tree's operands), not_a_site,
 *             definition_mismatch (a view is another state than the tree asks for), no_readout, approximate_merge
 *             (approximate_merge is of its readers: only one that promises nothing may read such an estimate)
 *   order     order_minded (series in an order of their own, where the catalog's shows)
 *   views     pane_too_wide, bad_parameters, identity_mismatch, identity_repeated, reduces_time_ordered
 *   coverage  empty_merge, no_merge, inputs_overlap, chain_does_not_tile
 *   readers   misaligned (the one wrong answer nobody would see: width must divide range and grid, and the phase be
 *             the query's minus the offset), anchored_view, too_few_panes, retention_too_short, uses_differ,
 *             guarantee_missed, guarantee_unfounded
 *   roots     not_eligible (what it is at T is not the same for all who ask), identity_repeated
 *   groups    group_cycle (a roll-up reads only narrower panes)
 *
 * Time is linear in the plan's size: what a query reaches is bounded by its own text once the nodes are checked.
 */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/plan.h"

int plan_check(const struct plan *p, struct err *e);

#endif
