/*
 * Queries as one logical DAG: equal expressions (expr_equal: parentheses aside) are one node, across queries. Each node
 * keeps its tree. Sites are the places a pane chain can stand: a range function with a statistic directly over a matrix
 * selector, no @ start()/end(), whole-ms range > 0; subqueries and anything between are not sites.
 *
 * Shared by planner (a workload's queries) and executor (one ad-hoc query): one lowering, so planned and ad-hoc agree.
 */
#ifndef PLAN_LOGICAL_H
#define PLAN_LOGICAL_H

#include "base/map.h"
#include "plan/plan.h"

struct site {
    const struct expr *call;     /* the range function */
    const struct expr *selector; /* its matrix selector */
    enum statistic statistic;
    double q; /* constant parameter: quantile_over_time's quantile, predict_linear's seconds; else 0 */
    int64_t range_ms, offset_ms;
    bool anchored;
    int64_t at_ms;
};
/* Is this expression a site? Its parameter, if it has one, must be constant (promql/constant.h) and finite. */
bool site_of(const struct expr *e, struct site *ret);
/* The argument that a range function with a statistic takes beside its range; NULL for any other expression. */
const struct expr *site_parameter(const struct expr *e);

/* The operands of an expression that a `vector` node takes as inputs: its vector- and scalar-valued children that are
 * not plain literals, in order, parentheses removed. Returns the number; at most max are written. */
uint32_t expr_operands(const struct expr *e, const struct expr **ret, uint32_t max);

struct logical_node {
    const struct expr *expr; /* unwrapped */
    struct str text;         /* of the first that came: an equal one may have other parentheses */
    uint64_t hash;           /* expr_hash */
    uint32_t in_first,
        in_n;      /* run in edges: nodes of expr_operands; none below a site or below a raw-only expression */
    bool is_site;  /* site is valid */
    bool has_site; /* it or a node below is a site */
    struct site site;
};
struct logical {
    struct logical_node *nodes; /* inputs have smaller ids */
    uint32_t *edges;
    uint32_t nodes_n, edges_n;
    size_t nodes_cap, edges_cap;
    struct map index;
    struct arena *arena;
};
void logical_init(struct logical *l, struct arena *a);
void logical_done(struct logical *l); /* the map; the rest is the arena's */
/* Add a parsed expression; returns its root node. The tree must outlive the logical DAG. */
int logical_add(struct logical *l, const struct expr *root, uint32_t *ret_node, struct err *e);

#endif
