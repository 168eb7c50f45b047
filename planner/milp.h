/*
 * Mixed integer linear programs, behind which stands GLPK (the only file that includes it is milp.c). Columns lie in
 * [0, 1]; the objective is minimised. GLPK's own errors do not end the process: they come back as MILP_FAILED.
 * Deterministic but for the deadline. One call at a time in a thread.
 */
#ifndef PLANNER_MILP_H
#define PLANNER_MILP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct milp_term {
    uint32_t column;
    double factor;
};
/* low <= sum of factor * column <= high; either may be infinite. */
struct milp_row {
    double low, high;
    uint32_t first, n; /* run in terms, each column at most once */
};
struct milp {
    double *costs; /* by column */
    bool *whole;   /* by column: 0 or 1 only */
    struct milp_row *rows;
    struct milp_term *terms;
    uint32_t columns_n, rows_n;
    size_t terms_n, rows_cap, terms_cap;
    struct arena *arena;
};
/* Terms are of the row added last. */
void milp_add_row(struct milp *m, double low, double high);
void milp_add_term(struct milp *m, uint32_t column, double factor);

/* What a test may break, to see that it is survived. */
enum milp_fault {
    MILP_FAULT_NONE = 0,
    MILP_FAULT_CALL,       /* a call GLPK ends the process for */
    MILP_FAULT_INFEASIBLE, /* a row nothing satisfies */
    MILP_FAULT_ANSWER      /* an answer that breaks rows */
};
struct milp_options {
    int64_t time_ms; /* at most this long; negative: no limit */
    enum milp_fault fault;
};
enum milp_status {
    MILP_OPTIMAL = 1,
    MILP_STOPPED,    /* out of time; values may be there or not */
    MILP_INFEASIBLE, /* proved */
    MILP_FAILED
};
struct milp_answer {
    double *values; /* by column, the caller's; whole columns are exactly 0 or 1 */
    bool has_values;
    double objective, bound; /* bound: no solution costs less; -INFINITY when unknown */
    const char *reason;      /* of FAILED, static */
};
/* `start` (by column, NULL for none): a solution to begin with. */
enum milp_status milp_solve(const struct milp *m, const double *start, const struct milp_options *options,
                            struct milp_answer *answer);
/* The first row that the values break by more than `tolerance` of its terms' sizes and 1, or -1. */
int64_t milp_broken_row(const struct milp *m, const double *values, double tolerance);
/* What rounding errors come to; and what an answer of the solver may miss, whose columns are right to about 1e-7 of
 * what may stand in one row. */
#define MILP_ROUNDING 1e-9
#define MILP_SOLVED 1e-4
/* GLPK's version, as text. */
const char *milp_solver_version(void);

#endif
