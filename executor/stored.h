/*
 * Reading a stored root: at each evaluation time the result kept for exactly that time, if there is one that is fit;
 * else the root's own expression, evaluated from raw samples at just those times.
 *
 *     T0    T1    T2    T3    T4    T5        the query's times, all of the root's grid
 *     kept  kept  late  kept  kept  above sealed_to
 *     ─────────── raw ─────────────  raw
 *
 * What is kept is known before the snapshot, since raw samples of the other times must be part of it, and looked at
 * again afterwards (store/source.h).
 */
#ifndef EXECUTOR_STORED_H
#define EXECUTOR_STORED_H

#include "executor/snapshot.h"
#include "plan/plan.h"

/* Times that are next to one another and computed. */
struct stored_run {
    uint32_t first;
    struct times times;
    const struct expr *expr; /* a tree of its own: the snapshot finds selectors by their addresses */
};
struct stored_site {
    uint8_t identity[IDENTITY_BYTES];
    uint32_t number;         /* the root's in the store */
    const struct times *all; /* the query's */
    uint64_t *kept;          /* bitmap over all->n */
    uint32_t kept_n;
    struct stored_run *runs;
    uint32_t runs_n;
};

/* Can the root answer at these times, under these options (lookback 0, default step 0: the defaults)? */
bool stored_fits(const struct plan *p, uint32_t root, const struct times *t, int64_t lookback_ms,
                 int64_t default_step_ms);
/* Find out what is kept, and name the rest in the snapshot. `ret` points to `t`. */
int stored_open(const struct source *source, const struct plan *p, uint32_t root, const struct expr *expr,
                const struct times *t, const struct eval *ev, struct snapshot *s, struct stored_site *ret,
                struct err *e);
/* After the snapshot: is all that was kept still so? */
int stored_still(const struct source *source, const struct stored_site *s, struct arena *a, bool *ret, struct err *e);
/* ERR_NOT_COVERED: a result is lost or damaged (the source is told), or dropped meanwhile; ask raw. */
int stored_eval(struct eval *ev, const struct source *source, const struct stored_site *s, struct value *ret,
                struct err *e);

#endif
