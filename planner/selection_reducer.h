/*
 * A problem while presolve works on it: what is left of its choices, items and groups. selection_reduce.c has the
 * rules, selection_reducer.c what they stand on.
 */
#ifndef PLANNER_SELECTION_REDUCER_H
#define PLANNER_SELECTION_REDUCER_H

#include "planner/selection_internal.h"

struct list {
    struct selection_need *v;
    uint32_t n;
};
struct reducer {
    const struct selection *s;
    struct arena *a;
    bool limited;
    /* of choices */
    bool *dead;
    double *cost, *bytes;
    struct list *needs;
    double *full, *full_bytes; /* with all it needs and reaches, alone */
    double *own_bytes;         /* with all it needs */
    /* of items */
    struct selection_item *items;
    struct list *requires;
    bool *gone;
    uint32_t *users_n; /* groups on with a live choice that needs it; 2 is many */
    uint32_t *user;    /* the last of them */
    bool *required, *used;
    double *mark_ms;   /* scratch: reach of a closure; -1 outside */
    uint32_t *closure; /* scratch: the items of it */
    uint32_t closure_n;
    /* of groups */
    bool *root, *on, *settled;
    double *least, *least_bytes;          /* cheapest full */
    uint32_t *first_user, *users;         /* by item: choices */
    uint32_t *first_requirer, *requirers; /* by item: items */
    double cost_sum, bytes_sum;
    bool changed;
};

/* A problem as it is stated. False when the arena is full. */
bool reducer_init(struct reducer *r, const struct selection *s, bool limited, struct arena *a);
/* The items of a list and all they require, marked with their reach in mark_ms, listed in closure; until cleared. */
void reducer_add_closure(struct reducer *r, const struct list *list);
void reducer_clear_closure(struct reducer *r);
/* What is left, as a problem of its own. `on`, `used` and `settled` are those of what is left. */
void reducer_state(struct reducer *r, struct selection_reduced *ret);

#endif
