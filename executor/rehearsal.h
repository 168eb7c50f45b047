/*
 * Rehearsal of a plan before it is put in force: every planned query is run once over panes of made-up samples, built
 * by the plan's own refresh, and once over the same samples raw. What fails there, reads no pane, or answers other
 * series or (where it promises exactness) other values would fail in service too; better to know it now.
 */
#ifndef EXECUTOR_REHEARSAL_H
#define EXECUTOR_REHEARSAL_H

#include "executor/query.h"

struct rehearsal_failure {
    uint32_t query;    /* of the plan */
    struct str reason; /* "view_not_executable{view, view}: ..." */
};

/* *ret in `a`: what failed, by query; the caller gives those up (plan_refuse). Touches no store; one query's memory at
 * a time. An error only when the rehearsal itself could not be held. */
int plan_rehearse(const struct plan *plan, struct arena *a, struct rehearsal_failure **ret, uint32_t *ret_n,
                  struct err *e);

#endif
