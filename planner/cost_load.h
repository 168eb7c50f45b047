/*
 * How much there is, before anything is done with it: series of a selector, the time between their samples, values of
 * labels. It comes from `data` of the workload: series over the scrape interval; an equality on a label with n values
 * keeps one n-th; a metric that is not there is 1,000 series each 15 s.
 */
#ifndef PLANNER_COST_LOAD_H
#define PLANNER_COST_LOAD_H

#include "planner/planning.h"

/* Fill in series_n and interval_ms of every source. */
int cost_load_sources(struct planning *p, struct err *e);
/* Groups by these labels among a source's series: the product of their values, as `data` counts them (30 of a label
 * that it does not have, one of a label that the selector holds still), no more than series. */
double cost_groups(const struct planning *p, uint32_t source, const struct str *by, uint32_t by_n);
/* Series of a selector and the time between their samples. */
void cost_load(const struct planning *p, const struct expr *selector, double *ret_series_n, double *ret_interval_ms);
/* The same of matchers; returns their metric, NULL: `data` does not have it. */
const struct workload_metric *cost_load_of(const struct planning *p, const struct matcher *matchers,
                                           uint32_t matchers_n, double *ret_series_n, double *ret_interval_ms);
/* Values of a label as `data` counts them; `otherwise` where it does not. */
double cost_counted_values(const struct source *s, struct str label, double otherwise);
/* Values that a label has among the series of a source. */
double cost_values(const struct source *s, struct str label);
/* As cost_groups, of a source that need not be one of the planning's. */
double cost_groups_in(const struct source *s, const struct str *by, uint32_t by_n);

#endif
