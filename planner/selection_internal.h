/*
 * Inside the selection problem: selection.c states and evaluates, selection_reduce.c drops what no optimum needs and
 * splits the rest, selection_search.c and selection_enumerate.c answer, selection_model.c asks milp.c,
 * selection_solve.c decides who does what.
 */
#ifndef PLANNER_SELECTION_INTERNAL_H
#define PLANNER_SELECTION_INTERNAL_H

#include "planner/milp.h"
#include "planner/selection.h"

/* Costs closer than this, relatively, are one cost: what sums in another order may differ by. */
#define SELECTION_CLOSE 1e-9

/* And what the solver's tolerances come to, in the objective. */
#define SELECTION_SOLVED 1e-5

static inline bool selection_is_lower(double a, double b)
{
    return a < b - SELECTION_CLOSE * (b < 0 ? -b : b);
}

/* Arrays of an answer in `a`; NULL members when it is full. */
void selection_answer_init(const struct selection *s, struct arena *a, struct selection_answer *answer);
static inline bool selection_fits(const struct selection *s, double bytes)
{
    return bytes <= s->limit_bytes * (1 + SELECTION_CLOSE);
}

/*
 * Search: from `choice` (by group, all groups, reached or not) to something no dearer that single moves, and moves of
 * all users of one item, do not improve. With a limit the result fits it if `choice` does; if it does not, the cheapest
 * that was met and fits, found with a price on bytes, is looked for, and false returned when there was none. `choice`
 * may hold SELECTION_NONE: the cheapest by itself is begun with. Scratch is in `a`.
 */
bool selection_search(const struct selection *s, uint32_t *choice, struct arena *a);

/* All combinations of choices of the groups they reach, at most about this many; a product over all groups. */
double selection_combinations(const struct selection *s);
/* The cheapest that fits and costs less than `choice` does, if there is one (else `choice` stays). Exact: branches that
 * already cost more are not followed. `choice` as above, but it may name an answer that does not fit. */
void selection_enumerate(const struct selection *s, uint32_t *choice, struct arena *a);

/* What presolve left of a problem. */
struct selection_reduced {
    struct selection s;  /* same groups by reduced id */
    uint32_t *group_of;  /* by reduced group: the original's */
    uint32_t *choice_of; /* by reduced choice: the original's */
    uint32_t *settled;   /* by original group: the choice every answer here takes when the group is reached, or NONE */
    uint32_t *component; /* by reduced group: 0..components_n, in order of their first group; by selection_split */
    uint32_t components_n;
    double settled_cost; /* of all items and choices that are no longer in s */
    double settled_bytes;
};
/* Drop what some optimum does without, fold what only one group uses into its choices. `s` lives in `a`. With
 * `limited` what is dropped is not needed by the optimum under any limit either. */
void selection_reduce(const struct selection *s, bool limited, struct arena *a, struct selection_reduced *ret);
/* The problem of one component. */
struct selection_part {
    struct selection s;
    uint32_t *group_of, *choice_of; /* by its own: the reduced one */
};
/* components_n of them, in `a`. */
struct selection_part *selection_split(struct selection_reduced *r, struct arena *a);

/* The MILP of a problem: rows in `a`. Columns are choices, then items, then reaches of items that have several. */
void selection_model(const struct selection *s, struct arena *a, struct milp *ret);
/*
 * Ask the solver, beginning with `choice`; the better of what it says, checked from the problem, and `choice` is left
 * there. *ret_bound: no answer costs less. *ret_reason: of UNPROVED.
 */
enum selection_status selection_milp(const struct selection *s, const struct milp_options *options, uint32_t *choice,
                                     struct arena *a, double *ret_bound, const char **ret_reason,
                                     struct selection_answer *counts);
/* A bound that needs no solver: every root group at its cheapest choice, all items free. */
double selection_floor(const struct selection *s);

#endif
