/*
 * The plan in force and its successors: a reader keeps the plan it began with until it gives it back, so a plan is
 * freed once it is replaced and its last reader is done. Any thread.
 */
#ifndef PLAN_IN_FORCE_H
#define PLAN_IN_FORCE_H

#include <pthread.h>

#include "plan/usage.h"

struct held_plan {
    const struct plan *plan; /* NULL: none, everything is answered from raw samples */
    struct plan *owned;
    struct plan_usage *usage; /* NULL without a plan */
    uint32_t holders;         /* readers, and 1 while it is in force */
};
struct plan_in_force {
    pthread_mutex_t mutex;
    struct held_plan *now;
};

void plan_in_force_init(struct plan_in_force *f);
/* No reader may be left. */
void plan_in_force_done(struct plan_in_force *f);
/* `plan` (owned from here on; NULL: none) is what later readers take, from now_ms on. */
void plan_in_force_set(struct plan_in_force *f, struct plan *plan, int64_t now_ms);
struct held_plan *plan_take(struct plan_in_force *f);
void plan_give(struct plan_in_force *f, struct held_plan *held);

#endif
