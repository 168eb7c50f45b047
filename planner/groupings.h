/*
 * Groupings: by which labels states are kept. A state by (job, instance) serves a query by (job) too, its groups
 * merged, so demands that could read the same states by one set of labels are offered it beside their own.
 *
 *     sum by (job), sum by (instance)        offered to each: its own, and by (instance, job)
 *
 * What is offered to a demand: its own labels, their union with those of each other demand of the same (source, input,
 * family), and the union of all of them. Any other set holds a label that nobody asks for, or leaves out one that
 * somebody who reads it needs. With more than GROUPINGS_SHARED_MAX different sets each demand keeps its own. Statistics
 * that are approximate once merged are never offered a finer grouping.
 */
#ifndef PLANNER_GROUPINGS_H
#define PLANNER_GROUPINGS_H

#include "planner/planning.h"

enum { GROUPINGS_SHARED_MAX = 8, GROUPINGS_OFFERED_MAX = GROUPINGS_SHARED_MAX + 1 };

struct groupings {
    struct planning *p;
    struct intern classes; /* (source, input, family) */
    struct grouping_class *v;
    size_t cap;
};

void groupings_init(struct groupings *g, struct planning *p); /* makes number 0 */
void groupings_done(struct groupings *g);
/* A demand of states by labels could read this family. All are noted before any is asked for. */
int groupings_note(struct groupings *g, const struct demand *d, enum family family, struct err *e);
/* The groupings to offer it, its own first; that alone when `own_alone`. Returns how many. */
uint32_t groupings_offered(struct groupings *g, const struct demand *d, enum family family, bool own_alone,
                           uint32_t ret[GROUPINGS_OFFERED_MAX]);

#endif
