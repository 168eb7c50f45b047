/*
 * Reading a group site from panes of a view by labels. A result is of the series equal in the site's `by` labels; its
 * states at one time are those of all windows of its range and of all the view's groups that fall into it:
 *
 *     view by (job, path)     windows  1    2    3  ..  covered │ still growing, late, ragged
 *       {job="a", path="/"}           [s]  [s]  [s]             │ [built]  ┐
 *       {job="a", path="/x"}          [s]  [ ]  [s]             │ [built]  ┴─ by (job) ──> {job="a"}
 *
 * and one estimate is made over them, without a merge. Windows that no block serves are built from raw samples by the
 * code that refresh uses (group_states.h), so an answer does not depend on what is stored.
 */
#ifndef EXECUTOR_GROUP_PANES_H
#define EXECUTOR_GROUP_PANES_H

#include "executor/panes.h"

/*
 * The vector of p->site, which has a group, at `t`: as panes_estimate, which calls it once it is clear that panes can
 * serve. Series come in the order in which their first series stand in the snapshot, those of label functions by
 * labels. ERR_NOT_COVERED also when the state of a group is known to be missing (PANE_INCOMPLETE) or a heaviest item
 * is that of no series of the snapshot.
 */
int group_panes_estimate(struct eval *ev, const struct pane_site *p, const struct times *t, struct value *ret,
                         struct pane_counts *counts, struct err *e);

#endif
