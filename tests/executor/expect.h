/*
 * Query checks over a fixture. Every instant check is repeated as a step in the middle of a range query, and the two
 * must agree bit by bit: instant == range at each step is not one suite's test but everybody's.
 *
 * Expected vectors are lines `metric{a="b"} value`, in any order (in this order when the text begins with "ordered");
 * a scalar is a bare number, a string a line in double quotes, nothing at all the empty text. Values agree within a
 * relative 1e-9, NaN with NaN. A value may be a native histogram, {{...}} (fixture_histogram.h): count, sum and the
 * buckets that have observations are compared. In ranges there is one value per step, `_` for none.
 */
#ifndef TESTS_EXECUTOR_EXPECT_H
#define TESTS_EXECUTOR_EXPECT_H

#include "executor/query.h"
#include "fixture.h"

void expect(struct fixture *f, const char *query, double at_s, const char *expected);
void expect_range(struct fixture *f, const char *query, double start_s, double end_s, double step_s,
                  const char *expected);
/* The query fails with this code and this text somewhere in its message. */
void expect_error(struct fixture *f, const char *query, double at_s, int code, const char *part);
/* A warning (or info) of the instant query contains `part`; NULL: there is none at all. */
void expect_warning(struct fixture *f, const char *query, double at_s, const char *part);
void expect_info(struct fixture *f, const char *query, double at_s, const char *part);
/* Run with the default options; step_s 0 is an instant query at start_s. Returns query_run's code. */
int fixture_query(struct fixture *f, const char *query, double start_s, double end_s, double step_s, struct arena *a,
                  struct result *ret, struct err *e);

#endif
