/*
 * A view by labels while one of its windows is refreshed: the states of its groups, and the blocks they go to under the
 * numbers of the view's dictionary.
 *
 * Not every group may have its state: the family may not be able to hold a group's weights, and a view keeps only so
 * many groups apart. Blocks with such a gap say PANE_INCOMPLETE, and their readers take raw samples:
 *
 *     a group's weights are refused     its slot is absent, its block is marked
 *     a group has no number             all blocks of the window are marked, that of shard 0 among them, which is there
 *     too many cells at once            the same, and no state is made
 */
#ifndef EXECUTOR_REFRESH_GROUPS_H
#define EXECUTOR_REFRESH_GROUPS_H

#include "executor/group_states.h"
#include "executor/refresh.h"

struct window_groups {
    struct group_states states;
    const struct refresh_groups *numbers;
    int64_t end_ms;
    bool too_many;
};

/* In place: `g` must not move until done. */
int window_groups_init(struct window_groups *g, const struct plan_view *view, uint64_t sketch_seed, int64_t end_ms,
                       const struct refresh_groups *numbers, struct arena *a, struct err *e);
void window_groups_done(struct window_groups *g); /* safe on a zeroed one */
/* All samples of a series in the window, n >= 1; series as a scan hands them out. */
int window_groups_add(struct window_groups *g, const struct labels *labels, const int64_t *times_ms,
                      const double *values, uint32_t n, struct err *e);
/* After the last series: blocks and counts into `o`, whose view numbers are set; `b` is any builder. */
int window_groups_finish(struct window_groups *g, struct pane_builder *b, uint32_t revision, struct arena *a,
                         struct refresh_output *o, struct err *e);

/* refresh.c: the block under construction, finished, at the end of `o`'s. */
int refresh_output_add(struct refresh_output *o, struct pane_builder *b, struct arena *a, struct err *e);

#endif
