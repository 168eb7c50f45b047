/*
 * The order in which an expression's series come. It shows in the last bits of a sum over them, and in which of equals
 * topk takes. So it must not depend on how, or over which span, the expression is evaluated:
 *
 *   fixed      Series that have a value at some time stand in the same order whatever span is evaluated: those of a
 *              selector in the catalog's, and what keeps that order. It stays.
 *   not fixed  Groups come in the order of the first series with a value in the span. An operator that minds is given
 *              them by their labels.
 *
 * A stored root, and states by labels, give their series in an order of their own. By the above they stand in for an
 * expression unless its order is fixed and an operator above minds.
 *
 * Shared by planner, checks and executor, so that they cannot differ. Pure; time is linear in the tree.
 */
#ifndef PLAN_SERIES_ORDER_H
#define PLAN_SERIES_ORDER_H

#include "promql/ast.h"

bool series_order_is_fixed(const struct expr *e);
/* Does this operator mind the order of its first argument's series, which is not fixed? It is given them by labels. */
bool series_order_is_given(const struct expr *e);
/*
 * Must the series of `operand`, of `e`, come in their fixed order? `minded`: those of e must (those of a query's root
 * need not). A query is walked down with this; where it says so, neither a stored root nor states by labels stand in.
 */
bool series_order_minded(const struct expr *e, const struct expr *operand, bool minded);

#endif
