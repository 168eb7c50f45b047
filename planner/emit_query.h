/* Emission, inside the planner: emit.c makes nodes and views, emit_query.c a query's root, guarantee and cost,
 * emit_reasons.c says why it is not another. */
#ifndef PLANNER_EMIT_QUERY_H
#define PLANNER_EMIT_QUERY_H

#include "planner/planning.h"

struct emitter {
    struct planning *p;
    struct plan *plan;
    struct plan_node *nodes; /* the plan's arrays while they grow */
    uint32_t *edges;
    struct plan_source *sources;
    struct plan_view *views;
    struct plan_query *queries;
    size_t nodes_cap, edges_cap;
    struct intern node_ids, view_ids;
    uint32_t *source_of; /* by planner's source: the plan's, or PLAN_NONE */
    uint32_t *chosen;    /* by logical node: the candidate of the query at hand + 1; 0 = none */
    uint32_t *at_once;   /* by logical node: how it answers it at once + 1; 0 = it does not */
    double *parts_alone; /* by spot: its parts' cost with nobody to share with, the cheapest of each */
    double *chain_share; /* by chain: ingest cost of one (query, demand) that reads it */
    double *memory_share;
    struct plan_stored_root *roots;
    uint32_t query;                 /* at hand */
    struct plan_rejected *rejected; /* of the query at hand */
    uint32_t rejected_n;
    size_t rejected_cap;
};

/* Each finds or makes a node; inputs are made before. Returns its id in *ret. */
int emit_raw(struct emitter *m, uint32_t logical, uint32_t *ret, struct err *e);
int emit_estimate(struct emitter *m, uint32_t logical, const struct candidate *c, uint32_t *ret, struct err *e);
int emit_vector(struct emitter *m, uint32_t logical, const uint32_t *inputs, uint32_t inputs_n, uint32_t *ret,
                struct err *e);

/* The query-half node that reads a stored root, which is made with its expression when it is the first. */
int emit_stored(struct emitter *m, uint32_t kept, uint32_t *ret, struct err *e);

/* Split what is shared evenly over those who share it, so that the queries' costs add up to the plan's. */
int emit_costs(struct emitter *m, struct err *e);
int emit_query(struct emitter *m, uint32_t q, struct err *e);

/* Fill in parts_alone. */
int price_parts(struct emitter *m, struct err *e);
/* Of the query at hand, what was not taken: panes of what has no site; candidates of a demand; ways to answer a spot.
 */
int reject_panes(struct emitter *m, uint32_t logical, struct err *e);
int reject_candidates(struct emitter *m, const struct demand *d, struct err *e);
int reject_of_spot(struct emitter *m, uint32_t spot, struct err *e);

#endif
