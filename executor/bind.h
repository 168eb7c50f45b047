/*
 * From a tree to plan nodes: the request's canonical text is a query of the plan -> that query's root; else the tree is
 * lowered (plan/logical) and each site bound to a stored view that can answer it: same matchers, a readout for the
 * statistic, a guarantee that meets the accuracy asked; what is left becomes `raw` nodes. One result either way: a
 * small node array.
 */
#ifndef EXECUTOR_BIND_H
#define EXECUTOR_BIND_H

#include "executor/query.h"

struct bound {
    const struct plan_node *nodes;
    const uint32_t *edges;
    uint32_t nodes_n, root;
    const struct plan *plan; /* whose views PANE_READ nodes name */
    uint32_t query;          /* index in plan->queries, or PLAN_NONE */
};
int bind_query(const struct plan *plan, const struct expr *resolved, const struct query_options *o, struct arena *a,
               struct bound *ret, struct err *e);

#endif
