/* The main() of a Check suite: one TCase list, forkless under sanitizers (CK_FORK=no), exit status 1 on failure. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* A seed for property tests: the environment's MULLION_SEED, or a fixed one; printed, so that a failure can be
 * replayed. */
static inline unsigned long suite_seed(const char *what)
{
    const char *text = getenv("MULLION_SEED");
    unsigned long seed = text ? strtoul(text, NULL, 0) : 20240601UL;
    printf("%s: seed %lu\n", what, seed);
    return seed;
}

#endif
