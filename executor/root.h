/*
 * The precompute half of stored roots: what an expression is at several times of its grid, from raw samples, in one
 * evaluation over their range. Results are what the raw engine answers at each of the times; a time whose result cannot
 * be kept (the expression fails there, warns, has two values of one label set, or yields a native histogram) is a hole.
 */
#ifndef EXECUTOR_ROOT_H
#define EXECUTOR_ROOT_H

#include "executor/value.h"
#include "store/source.h"

struct root_run {
    const struct source *source;
    const struct expr *expr; /* eligible (plan/root_expr.h) */
    struct times times;      /* step_ms > 0 */
    struct pool *pool;       /* may be NULL */
};
struct root_output {
    struct vec_series *series; /* in the order of evaluation; values VALUE_ABSENT where there is none */
    uint32_t series_n;
    bool *hole; /* [times.n] */
    uint64_t samples_n;
};
/* Everything in `a`. Fails only for what may pass: no memory, no disk. */
int root_evaluate(const struct root_run *r, struct arena *a, struct root_output *ret, struct err *e);

#endif
