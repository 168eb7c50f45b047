#include "planner/planner.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "planner/cost_model.h"
#include "planner/planning.h"

int planning_run(struct planning *p, const struct workload *w, const struct planner_options *options,
                 struct arena *arena, struct err *e)
{
    *p = (struct planning){.w = w,
                           .options = options,
                           .model = options && options->costs ? options->costs : &cost_defaults,
                           .begun_ns = clock_monotonic_ns(),
                           .arena = arena};
    logical_init(&p->logical, arena);
    intern_init(&p->source_ids, arena);
    intern_init(&p->demand_ids, arena);
    intern_init(&p->grouping_ids, arena);
    intern_init(&p->state_ids, arena);
    intern_init(&p->read_ids, arena);
    intern_init(&p->level_ids, arena);
    intern_init(&p->query_chain_ids, arena);
    intern_init(&p->spot_ids, arena);
    intern_init(&p->kept_ids, arena);
    int rc = planner_lower(p, e);
    if (rc == 0)
        rc = planner_offer(p, e);
    if (rc == 0)
        rc = planner_offer_spots(p, e);
    if (rc == 0)
        rc = planner_choose(p, e);
    return rc;
}

void planning_done(struct planning *p)
{
    logical_done(&p->logical);
    intern_done(&p->source_ids);
    intern_done(&p->demand_ids);
    intern_done(&p->grouping_ids);
    intern_done(&p->state_ids);
    intern_done(&p->read_ids);
    intern_done(&p->level_ids);
    intern_done(&p->query_chain_ids);
    intern_done(&p->spot_ids);
    intern_done(&p->kept_ids);
    strbuf_done(&p->key);
}

int planner_plan(const struct workload *w, const struct planner_options *options, struct plan **ret, struct err *e)
{
    struct arena arena;
    struct planning p;
    arena_init(&arena, PLANNING_ARENA_BYTES);
    struct plan *plan = plan_new();
    int rc = planning_run(&p, w, options, &arena, e);
    if (rc == 0)
        rc = planner_emit(&p, options, plan, e);
    planning_done(&p);
    arena_done(&arena);
    if (rc != 0)
        plan_free(plan);
    else
        *ret = plan;
    return rc;
}
