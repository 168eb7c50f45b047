/*
 * Queries as one logical DAG: equal expressions (expr_equal: parentheses aside) are one node, across queries. Each node
 * keeps its tree. Sites are the places a pane chain can stand: a range function with a statistic directly over a matrix
 * selector, no @ start()/end(), whole-ms range > 0; subqueries and anything between are not sites.
 *
 * A *group site* is a place where a chain of states by labels can stand: each state is of all series that agree in some
 * labels. It is answered at once, from those states alone; an aggregation that is one still has its operand below it,
 * which may be a site of its own.
 *
 *     sum by (..) (sum_over_time(m[R])), of count_over_time, min of min_over_time, max of max_over_time, group of
 *     present_over_time                          labels pushed below the sum: never below a counter function
 *     topk by (..) (k, sum_over_time(m[R]))      items are series
 *     *_label_over_time("X", m[R], "by", ...)    items are values of label X
 *
 * Shared by planner (a workload's queries) and executor (one ad-hoc query): one lowering, so planned and ad-hoc agree.
 */
#ifndef PLAN_LOGICAL_H
#define PLAN_LOGICAL_H

#include "base/map.h"
#include "plan/input.h"
#include "plan/plan.h"

struct site_group {
    struct view_input input;
    const struct str *by; /* labels of the result; sorted, distinct */
    uint32_t by_n;
    uint32_t top; /* TOPK: most items of a group */
};
struct site {
    const struct expr *call;     /* the range function; of a group site the aggregation or the label function */
    const struct expr *selector; /* its matrix selector */
    enum statistic statistic;
    double q; /* constant parameter: quantile_over_time's quantile, predict_linear's seconds; else 0 */
    int64_t range_ms, offset_ms;
    bool anchored;
    int64_t at_ms;
    const struct site_group *group; /* NULL: one state a series */
};
/* Is this expression a site? Its parameter, if it has one, must be constant (promql/constant.h) and finite. */
bool site_of(const struct expr *e, struct site *ret);
/* Could panes stand for this matrix selector? Then *ret is a site but for call, statistic and group. */
bool site_of_selector(const struct expr *e, struct site *ret);
/* Is this expression a group site? ret->group lives in `a` (ret untouched and false when that fails: arena_check). Not
 * with `without`, nor by __name__, nor with a k that is not a whole constant of 1..GROUP_SITE_TOP_MAX. */
enum { GROUP_SITE_TOP_MAX = 1024 };
bool group_site_of(const struct expr *e, struct arena *a, struct site *ret);
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
        in_n;           /* run in edges: nodes of expr_operands; none below a site or below a raw-only expression */
    bool is_site;       /* site is valid */
    bool has_site;      /* it or a node below is a site, or a group site without operands */
    bool is_group_site; /* group_site is valid; `in` is as of any other node */
    struct site site, group_site;
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
