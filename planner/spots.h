/* Spots, inside the planner: spots.c finds them and lists the ways to answer them at once; stored.c is one such way. */
#ifndef PLANNER_SPOTS_H
#define PLANNER_SPOTS_H

#include "planner/planning.h"

/* A reader is offered at most so many. */
enum { KEPT_PER_SPOT_MAX = 8 };

/* May this node of a query be read from a stored root, as far as its cadence and the expression say? Whether an
 * operator above minds the order of its series is not looked at. Why not: the text; NULL: it may. */
bool stored_may(const struct planning *p, uint32_t query, uint32_t node);
const char *stored_refusal(const struct planning *p, uint32_t query, uint32_t node);
/* Offer a stored root of the node on the query's own grid. */
void stored_add(struct planning *p, uint32_t query, uint32_t node);

/* All that are offered, by node, once none is added any more. */
struct stored_lists {
    uint32_t *first_of, *next; /* by logical node, by kept; PLAN_NONE ends */
};
int stored_list(struct planning *p, struct stored_lists *ret, struct err *e);
/* Append those that hold all times of the spot to p->at_once. */
void stored_offer(struct planning *p, const struct stored_lists *lists, struct spot *s);
/* "stored root each 15s of sum(...)"; kept PLAN_NONE: of any grid. */
void stored_text(const struct planning *p, const struct spot *s, uint32_t kept, struct strbuf *out);

#endif
