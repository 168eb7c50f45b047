/* For suites whose tests have a fixture each: set up and torn down around every one; and queries in tables. */
#ifndef TESTS_EXECUTOR_OWN_FIXTURE_H
#define TESTS_EXECUTOR_OWN_FIXTURE_H

#include "expect.h"

static struct fixture f;

static inline void setup(void)
{
    fixture_init(&f);
}

static inline void teardown(void)
{
    fixture_done(&f);
}

struct row {
    const char *query, *expected;
};

static inline void check_rows(const struct row *rows, size_t n, double at_s)
{
    for (size_t i = 0; i < n; i++)
        expect(&f, rows[i].query, at_s, rows[i].expected);
}
#define CHECK_ROWS(rows, at_s) check_rows(rows, sizeof(rows) / sizeof(rows)[0], at_s)

#endif
