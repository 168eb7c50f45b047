/*
 * What if: a workload changed in one thing, and what plans cost, without making them. For the command line.
 */
#ifndef PLANNER_WHAT_IF_H
#define PLANNER_WHAT_IF_H

#include "planner/planner.h"
#include "planner/selection.h"

struct planner_summary {
    struct plan_cost cost; /* CPU-ms a second, of all queries together */
    double bytes;          /* that all panes and stored roots hold */
    uint32_t views_n, roots_n, sites_n, on_panes_n;
    uint32_t otherwise_n; /* sites that options->forced has no form for: they took what is cheapest */
    enum selection_status status;
    bool offered[FAMILY_END]; /* families that some site could stand on */
    bool stored_offered;      /* some query could read stored roots */
};
/* As planner_plan up to the choice. Errors as there. */
int planner_summarize(const struct workload *w, const struct planner_options *options, struct planner_summary *ret,
                      struct err *e);

/*
 * One query otherwise than the file has it. `setting` is QUERY=VALUE; QUERY is a name, or the number --explain gives.
 * Accuracy: exact, none, or KIND:ERROR[,failure:F] with KIND as in a workload file. Interval: a duration; it replaces
 * every, at, rate and once, and leaves the rest. ERR_BAD_DATA says what is wrong; the workload is then untouched.
 */
int workload_set_accuracy(struct workload *w, struct str setting, struct err *e);
int workload_set_interval(struct workload *w, struct str setting, struct err *e);
/* The number of the query that the setting names, or -1. */
int64_t workload_query_of(const struct workload *w, struct str setting);

#endif
