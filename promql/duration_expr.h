/*
 * Values of duration expressions: seconds as doubles, as Prometheus computes them, then whole milliseconds toward zero.
 */
#ifndef PROMQL_DURATION_EXPR_H
#define PROMQL_DURATION_EXPR_H

#include "promql/ast.h"

/* What step() and range() stand for. */
struct duration_query {
    double step_s, range_s;
};

/* Whether step() or range() occurs in it. */
bool duration_expr_needs_query(const struct duration_expr *d);
/* Value in ms. With `positive` it must be greater than 0 (at least 1 ms). On failure returns false with the reason and
 * the part of the expression it is about. */
bool duration_expr_value_ms(const struct duration_expr *d, const struct duration_query *q, bool positive,
                            int64_t *ret_ms, const char **ret_reason, const struct duration_expr **ret_where);
/* Seconds of a literal to ms, by way of whole nanoseconds; false when out of range. */
bool duration_seconds_to_ms(double seconds, int64_t *ret_ms);
bool duration_expr_equal(const struct duration_expr *a, const struct duration_expr *b);

#endif
