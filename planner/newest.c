/*
 * Instant selectors: the newest sample of a series within the look-back. Panes of `last` states could hold it, and no
 * operator reads any, since raw samples are the cheaper: of each window they are read in one place, and each pane holds
 * at most what is read again. What panes would cost is worked out all the same, so that a plan can say so.
 */
#include "plan/root_expr.h"
#include "planner/cost.h"

static bool one_cost(const struct planning *p, const struct expr *e, const struct cadence *c, struct plan_cost *panes)
{
    struct pane_chain own = grid_chain(cadence_grid(c), ROOT_LOOKBACK_MS, e->time.offset_ms);
    if (own.count == 0 || own.count > PLAN_PANES_MAX || e->time.at != AT_NONE)
        return false;
    struct source source = {0};
    struct state state = {.family = FAMILY_COUNTER};
    struct site site = {.call = e,
                        .selector = e,
                        .statistic = STATISTIC_LAST,
                        .range_ms = ROOT_LOOKBACK_MS,
                        .offset_ms = e->time.offset_ms};
    struct demand d = {.site = &site,
                       .grid = cadence_grid(c),
                       .runs_per_s = cost_runs_per_s(c),
                       .steps_n = cost_steps(c),
                       .length_ms = c->length_ms,
                       .step_ms = c->step_ms};
    struct grouping of_series = {.input = {.kind = INPUT_VALUE}};
    struct planning alone = {
        .w = p->w, .model = p->model, .sources = &source, .states = &state, .groupings = &of_series};
    struct chain chain = {.grid = own.ends, .when = WHEN_INGESTION};
    cost_load(p, e, &source.series_n, &source.interval_ms);
    cost_chain(&alone, &chain);
    panes->ingest += chain.build_cost + cost_read(&alone, 0);
    panes->query += d.runs_per_s * cost_chain_run(&alone, &d, &chain, own.count);
    int64_t reach_ms = cost_reach_ms(&d, own.ends.step_ms);
    panes->memory += cost_memory(&alone, &chain, cost_retention_ms(reach_ms, own.ends.step_ms));
    return true;
}

/* As deep as the tree, which the parser bounds. */
bool cost_newest(const struct planning *p, const struct expr *e, const struct cadence *c, struct plan_cost *panes,
                 double *raw)
{
    e = expr_unwrap(e);
    if (e->kind == EXPR_SUBQUERY || e->type == VALUE_MATRIX)
        return false;
    if (e->kind == EXPR_SELECTOR) {
        *raw += cost_raw_rest(p, e, c) * cost_runs_per_s(c);
        return one_cost(p, e, c, panes);
    }
    for (uint32_t i = 0; i < e->args_n; i++)
        if (!cost_newest(p, e->args[i], c, panes, raw))
            return false;
    return true;
}
