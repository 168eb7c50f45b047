/*
 * Accuracy: what a query's target asks of each of its sites, what parameters meet it, and what is guaranteed in the
 * end.
 *
 * Down the tree: a target at a node becomes a target at each operand, such that operands that meet theirs make the node
 * meet its own. An operator without a rule asks its operands for exact results. Up the tree: the guarantee of a node
 * from those of its operands, with the same rules; it is what the plan promises, and it is checked against the target.
 *
 * Rules (docs/PLANNER.md, "Accuracy"). v is the operand with an error, c a number literal, x an exact operand.
 *
 *   -v                              rank, relative and cardinality errors pass
 *   v * c, v / c                    pass (a monotone map of the samples, of either direction)
 *   v * x, v / x                    relative and cardinality pass
 *   c / v, x / v                    relative: 1 / (1 - a) - 1
 *   v + c, v - c, c - v             rank passes; relative has no rule (the sum may be near zero)
 *   v * v'                          relative: (1 + a)(1 + b) - 1; failures add
 *   v / v'                          relative: (1 + a) / (1 - b) - 1; failures add
 *   v or v'                         the larger of two errors of one kind: an element comes from one side
 *   v and x, v unless x             pass
 *   max(v), min(v)                  a relative error that never fails passes: x - a|x| and x + a|x| rise with x;
 *                                   one that holds with a probability per series has no rule, as series are not bounded
 *   abs(v)                          relative and cardinality pass
 *   clamp*(v, c)                    rank and relative pass (monotone)
 *   label_replace, label_join, sort*, scalar, vector
 *                                   pass
 *
 * No rule, on purpose: comparisons (an error near the threshold makes a series appear or vanish), topk, bottomk, sum,
 * avg, stddev, quantile (signs may be mixed; ranks do not add), v + v' and everything else.
 */
#ifndef PLANNER_ACCURACY_H
#define PLANNER_ACCURACY_H

#include "plan/logical.h"

/* Could a sketch answer a site at or below this node? Without one, results are exact and need no rule. */
bool accuracy_may_sketch(const struct logical *l, uint32_t node);

/*
 * The target of operand `i` (of expr_operands) under `node`'s target. When an exact result is asked for although
 * `target` is not exact, *ret_strict is the reason, a static sentence; else it is left alone.
 */
struct accuracy accuracy_down(const struct logical *l, uint32_t node, uint32_t i, const struct accuracy *target,
                              const char **ret_strict);

/* The guarantee of a node that is no site from those of its operands. False: no rule. */
bool accuracy_up(const struct logical *l, uint32_t node, const struct accuracy *operands, struct accuracy *ret);

/* Does this statistic have an answer by sketches at all? */
bool accuracy_statistic_may_sketch(enum statistic s);

/* accuracy_size.c
 *
 * Parameters of `family` for a site under a target, and the guarantee derived back from them. False: the family is no
 * candidate; *ret_reason says why, or is NULL when the family does not have the statistic, or not of what the site's
 * states are made of.
 *
 * Nothing asked (ACCURACY_NONE) is sized as 1 % of any kind that fails once in a hundred times, and what has no bound
 * is allowed: lists of the heaviest items, entropies.
 */
bool accuracy_size(enum family family, const struct site *site, const struct accuracy *target,
                   struct sketch_params *ret_params, struct accuracy *ret_guarantee, const char **ret_reason);

/* What states of these parameters guarantee of a statistic to a demand with this target (its failure probability
 * chooses the bound). */
struct accuracy accuracy_guarantee(enum family family, enum statistic statistic, const struct sketch_params *params,
                                   const struct accuracy *target);

/* The least parameters that do what either set does: a state of them serves the readers of both. False: the family has
 * none so large. */
bool accuracy_join(enum family family, const struct sketch_params *a, const struct sketch_params *b,
                   struct sketch_params *ret);

#endif
