/*
 * From a value to a result: names that were only marked for removal are dropped, series that became equal are joined or
 * refused, and matrices are sorted by labels, as Prometheus does at the very end.
 */
#ifndef EXECUTOR_RESULT_H
#define EXECUTOR_RESULT_H

#include "executor/query.h"

/* `v` was evaluated at `t`; `range` = the query is a range query. Fills type, times, v, string and series. */
int result_assemble(struct eval *ev, struct value *v, const struct times *t, bool range, struct result *ret,
                    struct err *e);
/* The raw points of a range vector (matrix selector or subquery) at the one time of `t`. */
int result_points(struct eval *ev, const struct expr *range, const struct times *t, struct result *ret, struct err *e);

#endif
