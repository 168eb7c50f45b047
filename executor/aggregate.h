/*
 * Aggregation in parts: groups, made once from the labels; the operators that tally a group into one series; those that
 * choose among its series; count_values.
 */
#ifndef EXECUTOR_AGGREGATE_H
#define EXECUTOR_AGGREGATE_H

#include "executor/apply.h"
#include "executor/label_index.h"

struct groups {
    struct label_groups by;
    const struct labels *labels; /* [by.n]: of the results */
};
/* What the expression groups by. */
struct label_key aggregate_key(const struct expr *aggregate);
int groups_make(const struct apply *c, struct groups *ret, struct err *e);

apply_fn aggregate_quantile_apply;
apply_fn aggregate_choose_apply; /* topk, bottomk, limitk, limit_ratio */
apply_fn aggregate_count_values_apply;

/* Sums and means of the histograms of one group after the other; zeroed before the first (aggregate_histogram.c). */
struct histogram_tally {
    struct histogram_total **totals; /* [steps]: made when first needed, kept for the next group */
    bool *here;                      /* [steps]: the group has a histogram */
    bool any;
    struct str name; /* of the last metric added */
};
int histogram_tally_add(struct histogram_tally *t, const struct apply *c, const struct vec_series *s, struct err *e);
/* Into the group's series, whose numbers are there already; a step with both has neither. */
int histogram_tally_end(struct histogram_tally *t, const struct apply *c, struct vec_series *group, struct err *e);
/* The numbers of a series, for an aggregation that leaves histograms out and says so. NULL at the limit. */
const double *aggregate_numbers(const struct apply *c, const struct vec_series *s);

/* The range of a scalar argument over the steps, NaN aside; min > max when all are NaN. */
struct param_range {
    double min, max;
    bool any_nan;
};
struct param_range param_range_of(const struct apply *c, const double *v);

#endif
