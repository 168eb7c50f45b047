/*
 * Coverage: what part of the samples a state stands for, and whether a merge of states is sound.
 *
 * A coverage is a source and a union of regions: a time interval (start, end] relative to the evaluation time T, and a
 * conjunction of label = value. The family's merge rule says how inputs must relate. Errors name the rule broken:
 * inputs_overlap{required}, definition_mismatch, empty_merge, no_merge, chain_does_not_tile.
 * O(n log n); memory in the arena given.
 */
#ifndef PLAN_COVERAGE_H
#define PLAN_COVERAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/labels.h"
#include "kernels/sketch.h"
#include "plan/ids.h"

struct region {
    int64_t start_ms, end_ms; /* (start, end] relative to T */
    struct labels where;      /* label = value, sorted by name; n == 0: everything */
};
struct coverage {
    uint64_t definition; /* hash of source, input, family and parameters: only equal definitions merge */
    enum family family;
    const struct region *regions; /* sorted by start, where they touch with equal labels joined */
    uint32_t regions_n;
};

int coverage_merge(const struct coverage *inputs, uint32_t n, struct arena *a, struct coverage *ret, struct err *e);
/* Does `c` stand for exactly (start, end] with these labels? */
bool coverage_is(const struct coverage *c, int64_t start_ms, int64_t end_ms, const struct labels *where);

#endif
