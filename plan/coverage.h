/*
 * Coverage: what part of the samples a state stands for, and whether a merge of states is sound.
 *
 * A coverage is a source and a union of regions: a time interval (start, end] relative to the evaluation time T, and a
 * conjunction of label = value. The family's merge rule says how inputs must relate:
 *
 *     HLL(us) + HLL(us)                              idempotent: covered once
 *     KLL(us) + KLL(us)                              inputs_overlap: each sample may count once only
 *     increase(api) + increase(web), same window     inputs_overlap: counters join one after the other in time
 *     increase (-2m,-1m] + increase (-1m,0]          (-2m, 0]
 *
 * Errors name the rule broken: inputs_overlap{required}, definition_mismatch, empty_merge, no_merge. An unknown family
 * merges with nothing.
 *
 * For `disjoint` a sweep in time order compares each region with those still open; comparing neighbours alone would
 * miss (0,10]{j=a}, (1,2]{j=b}, (3,4]{j=a}. The cost is O(n log n) and one comparison per pair open at once.
 */
#ifndef PLAN_COVERAGE_H
#define PLAN_COVERAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/labels.h"
#include "kernels/sketch.h"
#include "plan/ids.h"

struct region {
    int64_t start_ms, end_ms; /* (start, end] relative to T; start < end */
    struct labels where;      /* label = value, sorted by name; n == 0: everything */
};
struct coverage {
    uint64_t definition; /* hash of source, input, family and parameters: only equal definitions merge */
    enum family family;
    const struct region *regions; /* sorted by start, where they touch with equal labels joined */
    uint32_t regions_n;
    uint64_t compared; /* pairs of regions that its merge looked at */
};

/* What the merge of inputs[n] stands for; regions live in `a`. ERR_BAD_DATA names the rule broken. */
int coverage_merge(const struct coverage *inputs, uint32_t n, struct arena *a, struct coverage *ret, struct err *e);
/* The same for a chain of `count` panes of width_ms, the newest ending at end_ms, in closed form: back-to-back panes
 * satisfy every merge rule, so this fails only for count 0 (empty_merge), a family without one (no_merge) and spans
 * over int64. *ret borrows *region. */
int coverage_chain(uint64_t definition, enum family family, int64_t end_ms, int64_t width_ms, uint32_t count,
                   struct region *region, struct coverage *ret, struct err *e);
/* May the states of all groups by `reduce` that agree in `by` be merged into one of a group by `by`, window by window?
 * Each series is in one group by `reduce` (a label that it has not is one that is empty), so the groups are disjoint
 * and, together, everything; what they are not is one after the other in time. Both sorted and distinct.
 * definition_mismatch: a state holds more than a group by `by`; inputs_overlap: the family joins in time only. */
int coverage_groups(enum family family, const struct str *reduce, uint32_t reduce_n, const struct str *by,
                    uint32_t by_n, struct err *e);
/* Does `c` stand for exactly (start, end] with these labels? */
bool coverage_is(const struct coverage *c, int64_t start_ms, int64_t end_ms, const struct labels *where);
/* Hash of what a state is apart from its window: source, input, family, parameters, reduction, seed. */
uint64_t coverage_definition(const struct view_definition *d);

#endif
