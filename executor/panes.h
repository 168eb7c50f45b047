/*
 * Reading a site from panes: for each evaluation time the states of its window, states built on the spot for what no
 * pane serves (the still-growing pane, dirty series, ragged edges, missing windows), and one estimate over them,
 * without a merge.
 */
#ifndef EXECUTOR_PANES_H
#define EXECUTOR_PANES_H

#include "executor/bind.h"

/* Evaluate ESTIMATE node `node` of `b` at `t`. `result` is the snapshot answer to its selector's request (windows
 * listed). */
struct pane_site {
    const struct plan_view *view;
    struct site site;
    const struct source_result *result;
    uint32_t identity; /* index of the view in the request's identities */
};
int panes_estimate(struct eval *ev, const struct pane_site *p, const struct times *t, struct value *ret,
                   uint32_t *ret_sources, uint64_t *ret_states_n, struct err *e);

#endif
