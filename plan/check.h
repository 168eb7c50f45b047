/*
 * What must hold of every plan before it runs: ids and edges (inputs smaller, halves, output types), every expr parses
 * and its operands are its inputs' trees, views (identity recomputed, parameters in range, width > 0 and at most 24
 * days, phase in [0, width)), alignment of every (view, query) pair (width divides range and grid; phase matches the
 * query's phase minus offset), coverage (a chain tiles its window), retention covers every reader, refresh groups
 * acyclic, operators the executor has. Structural: nothing is executed. Returns 0 or ERR_BAD_DATA naming node, view or
 * query and the rule.
 */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/plan.h"

int plan_check(const struct plan *p, struct err *e);

#endif
