/*
 * The heaviest items of groups: a state knows their keys alone (view_input_item); here those get their names back, from
 * the series of the snapshot, and each becomes a series of the result.
 */
#ifndef EXECUTOR_GROUP_TOP_H
#define EXECUTOR_GROUP_TOP_H

#include "executor/panes.h"

struct group_name {
    uint64_t key;
    uint32_t series; /* the first that has it */
};
struct group_top {
    struct eval *ev;
    const struct view_input *input;
    const struct source_result *result;
    uint32_t steps_n;
    struct group_name *names; /* by key */
    uint32_t names_n;
    double **values; /* [names_n]: of the group at hand; NULL until the item is among its heaviest */
    uint32_t *found; /* [found_n]: whose are not NULL */
    uint32_t found_n;
    uint64_t *keys; /* [site's top] */
    double *weights;
};

/* Everything in the evaluation's arena. ERR_NOT_COVERED: two names have one key. */
int group_top_init(struct group_top *x, struct eval *ev, const struct pane_site *p, uint32_t steps_n, struct err *e);
/* The group's heaviest items at one step: keys[n] and weights[n], as the family's `top` left them. */
int group_top_take(struct group_top *x, uint32_t step, uint32_t n, struct err *e);
/* The items that were taken as series, after those there are: of a "label" group with these labels. The next group
 * starts with none. */
int group_top_give(struct group_top *x, const struct labels *by, struct value *ret, size_t *series_cap, struct err *e);

#endif
