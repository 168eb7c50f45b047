/*
 * States of a view by labels, built from samples: in each of a few windows one state of every group of series that are
 * equal in the view's reduce[] labels. It is fed series by series, as a scan hands them out. Refresh feeds it one
 * window, a reader those that no block serves: the same code over the same series in the same order, so a state built
 * at a read is byte for byte the one that would have been stored.
 *
 *     value    the merge of its series' states; of the fixed-size families alone
 *     items    an item for each series, of the sum of its samples (view_input_item); equal ones are added up by the
 *              family
 *
 *     series a ─ window 0, 1, ..  ┐
 *     series b ─ window 0, 1, ..  ┴─> cells [group][window] ──> state
 *
 * Groups are numbered here in order of appearance; g->groups.sets[number] are their labels.
 */
#ifndef EXECUTOR_GROUP_STATES_H
#define EXECUTOR_GROUP_STATES_H

#include "executor/label_index.h"
#include "executor/op_build.h"
#include "plan/plan.h"

struct group_item {
    uint64_t key;
    double weight;
    uint32_t group, window;
};
struct group_cell {
    uint64_t samples_n; /* behind it; 0: there is no state */
    uint64_t items_end; /* after group_states_finish: items of the cell end here, in keys and weights */
    uint32_t items_n;
};
struct group_states {
    const struct plan_view *view;
    uint64_t sketch_seed;
    const int64_t *ends_ms; /* [windows_n] */
    uint32_t windows_n;
    struct label_key key;
    struct label_index groups;
    struct state_builder one, joined;
    struct group_cell *cells; /* [groups.n][windows_n] */
    uint8_t *states;          /* the same of fixed_size bytes, of values */
    struct group_item *items; /* in the order they came */
    uint64_t items_n;
    uint64_t *keys; /* [items_n] by cell */
    double *weights;
    size_t cells_cap, states_cap, items_cap;
    uint32_t cells_groups_n; /* how many groups have cells */
    uint32_t group;          /* of the series at hand */
    uint64_t item;
};

/* The view is by labels. `ends_ms` is borrowed; label sets go to `a`. Safe to give back after a failure. */
int group_states_init(struct group_states *g, const struct plan_view *view, uint64_t sketch_seed,
                      const int64_t *ends_ms, uint32_t windows_n, struct arena *a, struct err *e);
void group_states_done(struct group_states *g); /* safe on a zeroed one */

/* The series whose samples come next; its labels are borrowed until the end. *ret_member false: it is in no state. */
int group_states_series(struct group_states *g, const struct labels *labels, bool *ret_member, struct err *e);
/* All of its samples in one window, n >= 1, times rising, no stale markers. ERR_NOT_COVERED: too many cells. */
int group_states_add(struct group_states *g, uint32_t window, const int64_t *times_ms, const double *values, uint32_t n,
                     struct err *e);
/* After the last series, before the first state is asked for. */
void group_states_finish(struct group_states *g);
/*
 * The state of a group in a window and how many samples are behind it; empty when there are none. *ret is good until
 * the next one. ERR_NOT_COVERED: the family cannot hold these weights, so there is no state though there are samples
 * (a block without it must say so: PANE_INCOMPLETE).
 */
int group_states_get(struct group_states *g, uint32_t window, uint32_t group, struct str *ret, uint64_t *ret_samples_n,
                     struct err *e);

#endif
