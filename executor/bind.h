/*
 * From a tree to plan nodes. The request's canonical text is a query of the plan: that query's root. Else the tree is
 * lowered (plan/logical) and each site bound to a stored view that can answer it: same matchers, a readout for the
 * statistic, a guarantee that meets the accuracy asked, panes that fit the windows of every evaluation time; of a group
 * site also the same input, and states by all labels of its result, or more. Any part of the tree that a stored root
 * computes, at times of its grid, is read from that. What is left becomes `raw` nodes. One result either way: a small
 * node array of the query half.
 */
#ifndef EXECUTOR_BIND_H
#define EXECUTOR_BIND_H

#include "executor/query.h"

struct bound {
    const struct plan_node *nodes;
    const uint32_t *edges;
    uint32_t nodes_n, root;
    const struct plan *plan; /* whose views PANE_READ nodes name; may be NULL */
    uint32_t query;          /* index in plan->queries, or PLAN_NONE */
};

/* `resolved` must outlive `ret`. plan may be NULL. Everything in `a`. */
int bind_query(const struct plan *plan, const struct expr *resolved, const struct times *t,
               const struct query_options *o, struct arena *a, struct bound *ret, struct err *e);

/* The site an estimate's tree is: of one series, or a group site; ret->group lives in `a`. False: it is none. */
bool estimate_site_of(const struct expr *e, struct arena *a, struct site *ret);

#endif
