/*
 * The selection problem: what to keep and how to answer, chosen for all at once at the least cost. It knows nothing of
 * PromQL; choose.c states a workload as one and reads the answer back.
 *
 *     root group ──> exactly one choice ──needs──> item (shared, paid once)  ──requires──> item
 *                          └──reaches──> group     reach_ms: how far back        reach_ms
 *                                        (then it too has exactly one choice)
 *
 * *Items* are what is shared: the building and keeping of a pane chain, one raw read of a refresh window, a ladder
 * level, a stored root. An item is open when a choice taken needs it or an open item requires it. Open, it costs
 *
 *     open_cost + keep_cost_per_ms * retention_ms        retention_ms = base_ms + the greatest reach asked of it
 *
 * and holds bytes_per_ms * retention_ms bytes. *Groups* are what must be answered. A root group is always reached, any
 * other when a choice taken reaches it, and a group that several choices reach is answered once for all of them.
 *
 * Costs are of one unit (CPU-ms a second); they and bytes are finite and >= 0, times are ms >= 0. A group reaches
 * groups of smaller ids only and an item requires items of smaller ids only, so both are DAGs by their numbers.
 *
 * The same problem gives the same answer: ties go to the choice added first as far as the solvers can tell. Only a
 * deadline that is hit makes the answer depend on the machine.
 */
#ifndef PLANNER_SELECTION_H
#define PLANNER_SELECTION_H

#include "base/arena.h"
#include "base/err.h"

#define SELECTION_NONE UINT32_MAX

struct selection_need {
    uint32_t item;
    double reach_ms;
};
struct selection_item {
    double open_cost, keep_cost_per_ms, bytes_per_ms, base_ms;
    uint32_t first, n; /* run in requires */
};
struct selection_choice {
    uint32_t group;
    double cost, bytes;            /* that only it has; bytes count against the limit */
    uint32_t needs_first, needs_n; /* run in needs, each item at most once */
    uint32_t reaches_first, reaches_n;
};
struct selection_group {
    bool root;
    uint32_t first, n; /* run in choices */
};

struct selection {
    struct selection_item *items;
    struct selection_group *groups;
    struct selection_choice *choices;
    struct selection_need *needs, *requires;
    uint32_t *reaches; /* groups */
    uint32_t items_n, groups_n, choices_n, needs_n, requires_n, reaches_n;
    size_t items_cap, groups_cap, choices_cap, needs_cap, requires_cap, reaches_cap;
    double limit_bytes; /* of all that is held; INFINITY: none */
    struct arena *arena;
};

/* Stating a problem. Everything lives in `a`; what did not fit is seen by arena_check, ids returned stay usable. */
void selection_init(struct selection *s, struct arena *a);
uint32_t selection_add_item(struct selection *s, double open_cost, double keep_cost_per_ms, double bytes_per_ms,
                            double base_ms);
void selection_require(struct selection *s, uint32_t item, double reach_ms); /* by the item added last */
uint32_t selection_add_group(struct selection *s, bool root);
uint32_t selection_add_choice(struct selection *s, double cost, double bytes); /* to the group added last */
void selection_need(struct selection *s, uint32_t item, double reach_ms);      /* by the choice added last */
void selection_reach(struct selection *s, uint32_t group);                     /* by the choice added last */
/* ERR_INTERNAL with the place when the problem breaks a rule above; a root group without a choice is one. */
int selection_check(const struct selection *s, struct err *e);

enum selection_status {
    SELECTION_OPTIMAL = 1, /* proved: bound = cost but for rounding, the solver's to 1e-5 */
    SELECTION_DEADLINE,    /* the best found in the time given */
    SELECTION_UNPROVED     /* the solver failed; the best of our own, `reason` says why */
};
const char *selection_status_name(enum selection_status s);

struct selection_answer {
    uint32_t *choice; /* by group: id of the choice taken; SELECTION_NONE: not reached */
    bool *open;       /* by item */
    double *reach_ms; /* by item, 0 when closed */
    double cost, bytes;
    enum selection_status status;
    const char *reason; /* of UNPROVED; NULL otherwise */
    double bound, gap;  /* no answer costs less than bound; gap = (cost - bound) / cost, 0 when cost is 0 */
    /* Without the limit; the answer's own choices when the limit does not bind. */
    uint32_t *free_choice;
    double free_cost;
    /* The model as stated, before anything is dropped, and what of it was left to the solver. */
    uint32_t variables, rows, solved_variables, solved_rows;
    uint32_t components; /* of sharing, after presolve; what presolve settled is none */
};

/* For tests and comparisons; SELECTION_SEARCH is the plan that is made greedily. */
enum selection_method {
    SELECTION_AUTO = 0, /* presolve, components, enumeration of small ones, MILP of the others */
    SELECTION_SEARCH,   /* own search alone, nothing proved */
    SELECTION_ENUMERATE,
    SELECTION_MILP /* the whole problem as stated, one model, no presolve */
};
struct selection_options {
    enum selection_method method;
    int64_t deadline_ms; /* from now, of the whole; 0: own search only; negative: none */
    int milp_fault;      /* enum milp_fault, for tests */
};

/*
 * Solve. The answer lives in s->arena. ERR_LIMIT when no answer fits limit_bytes: proved, and answer->choice and
 * answer->bytes are then those of an answer that holds the fewest bytes, for the caller's message. ERR_TIMEOUT when
 * none was found that fits before the deadline.
 */
int selection_solve(const struct selection *s, const struct selection_options *options, struct selection_answer *answer,
                    struct err *e);

/* What these choices come to: fills open, reach_ms, cost and bytes, and makes choice SELECTION_NONE where a group is
 * not reached. All arrays are the caller's. */
void selection_evaluate(const struct selection *s, struct selection_answer *answer);

#endif
