/*
 * Offers, inside the planner: which families answer each demand, in which states. A state is read by every demand it
 * was sized for and, if it is the strictest of its source, grouping and family, by all others of them too.
 */
#ifndef PLANNER_OFFERS_H
#define PLANNER_OFFERS_H

#include "planner/groupings.h"
#include "planner/planning.h"

/* A family that has the demand's statistic, in one grouping. */
struct offer {
    uint32_t demand, grouping;
    enum family family;
    bool is_shared;     /* the grouping is finer than its own, for the sake of others */
    const char *reason; /* not offered */
    struct sketch_params params;
    uint32_t own, strictest; /* states; the same when there is no stricter one */
};
struct offers {
    struct planning *p;
    struct offer *v;
    uint32_t n;
    size_t cap;
    uint32_t *of_demand; /* demands_n + 1: first of each */
    struct groupings groupings;
    struct intern pairs;             /* (source, grouping, family) */
    struct sketch_params *strictest; /* by pair: what serves all readers of it */
    size_t strictest_cap;
    uint32_t *readers_first; /* states_n + 1: first of each in readers */
    uint32_t *readers;       /* demands, by state */
    bool *cut;               /* by state: its closure is over MAX_WIDTHS */
};

/* Scratch of listing candidates; done frees it. */
void offers_init(struct offers *o, struct planning *p);
void offers_done(struct offers *o);
/* Ask every family for parameters that meet each demand's target: states, offers and the states' readers. */
int offers_make(struct offers *o, struct err *e);

#endif
