#include "plan/in_force.h"

#include "base/alloc.h"

static struct held_plan *held_new(struct plan *plan, int64_t now_ms)
{
    struct held_plan *held = mem_alloc(sizeof *held);
    *held = (struct held_plan){plan, plan, plan ? plan_usage_new(plan, now_ms) : NULL, 1};
    return held;
}

static void held_free(struct held_plan *held)
{
    plan_usage_free(held->usage);
    plan_free(held->owned);
    mem_free(held);
}

void plan_in_force_init(struct plan_in_force *f)
{
    pthread_mutex_init(&f->mutex, NULL);
    f->now = held_new(NULL, 0);
}

void plan_in_force_done(struct plan_in_force *f)
{
    held_free(f->now);
    pthread_mutex_destroy(&f->mutex);
}

void plan_in_force_set(struct plan_in_force *f, struct plan *plan, int64_t now_ms)
{
    struct held_plan *fresh = held_new(plan, now_ms);
    pthread_mutex_lock(&f->mutex);
    struct held_plan *old = f->now;
    f->now = fresh;
    pthread_mutex_unlock(&f->mutex);
    plan_give(f, old);
}

struct held_plan *plan_take(struct plan_in_force *f)
{
    pthread_mutex_lock(&f->mutex);
    struct held_plan *held = f->now;
    held->holders++;
    pthread_mutex_unlock(&f->mutex);
    return held;
}

void plan_give(struct plan_in_force *f, struct held_plan *held)
{
    pthread_mutex_lock(&f->mutex);
    bool last = --held->holders == 0;
    pthread_mutex_unlock(&f->mutex);
    if (last)
        held_free(held);
}
