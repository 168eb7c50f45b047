/*
 * How large a state is likely to be. A size bound is what a buffer needs; most states are far smaller, and a plan that
 * priced bounds would keep raw samples where panes are the cheaper.
 */
#ifndef PLANNER_STATE_SIZE_H
#define PLANNER_STATE_SIZE_H

#include "kernels/sketch.h"

/* Mean bytes that a state of `rows` >= 1 samples is expected to take in a block: its own, never more than the family's
 * size_bound, and its offset where sizes vary. Thread-safe. */
double state_size_expected(enum family family, const struct sketch_params *params, double rows);

#endif
