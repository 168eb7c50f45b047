/* Candidates, inside the planner: candidates.c lists them, query_time.c those whose panes no store holds. */
#ifndef PLANNER_CANDIDATES_H
#define PLANNER_CANDIDATES_H

#include "planner/planning.h"

/* To the demand being listed; one over the demand's latency gets that as its reason. */
void candidate_add(struct planning *p, struct candidate c);

/* A demand answered from panes of a chain: all but its reason and cost. */
struct candidate candidate_of_panes(const struct planning *p, uint32_t demand, uint32_t chain);

/* Why raw samples do not reach over the demand's windows; NULL when they do. */
const char *candidate_raw_misses(const struct planning *p, const struct demand *d);

/*
 * The panes of `state`, built when the demand reads them: at each read ("query, not kept"), and on first read, then
 * kept in the process ("query, kept"). Raw is the demand's first candidate. One that cannot be cheaper than another,
 * whatever else is chosen, is rejected as dearer here and is no choice of the selection problem.
 */
void offer_query_time(struct planning *p, uint32_t demand, uint32_t state);

/* finer.c: panes narrower than the demand's own that cost clearly less; its own when there are none. */
struct grid finer_grid(const struct planning *p, const struct demand *d, uint32_t state);

/* ladder.c: the ladders over a chain that may be chosen, when its panes are many. */
void offer_ladders(struct planning *p, const struct candidate *flat);

#endif
