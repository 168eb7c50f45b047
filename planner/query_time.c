/*
 * Panes that are built when they are read.
 *
 * Not kept: the samples are scanned once and every pane is built once a run, so it is more work than raw samples but
 * where the windows of one run overlap, as a range query's do: then a pane is built once and read by many of them.
 *
 * Kept: a pane is built once and read by all runs and demands that share it. Where the windows follow each other
 * without a gap every pane is read, so each is built however it is done, and ingestion shares its scan with others:
 * that is never dearer. What is left are windows with gaps between, read by several demands, and those that @ holds
 * still.
 */
#include <math.h>

#include "base/duration.h"
#include "planner/accuracy.h"
#include "planner/candidates.h"
#include "planner/cost.h"
#include "planner/windows.h"

#define NONE UINT32_MAX

/* Found, or made: kept panes that are built at the same times are one, and so are all of one width that are not kept.
 */
static uint32_t add_chain(struct planning *p, uint32_t state, enum plan_when when, struct grid grid,
                          const struct demand *built_by)
{
    bool added;
    strbuf_clear(&p->key);
    KEY_ADD(p, state);
    KEY_ADD(p, when);
    KEY_ADD(p, grid.step_ms);
    KEY_ADD(p, grid.phase_ms);
    if (built_by) {
        KEY_ADD(p, built_by->grid);
        KEY_ADD(p, built_by->runs_per_s);
        KEY_ADD(p, built_by->length_ms);
        KEY_ADD(p, built_by->site->range_ms);
        KEY_ADD(p, built_by->site->offset_ms);
        KEY_ADD(p, built_by->site->anchored);
        KEY_ADD(p, built_by->site->at_ms);
    }
    uint32_t id = intern(&p->query_chain_ids, p->key.p, p->key.n, &added);
    p->query_chains = arena_grow(p->arena, p->query_chains, &p->query_chains_cap, (size_t)id + 1, sizeof(uint32_t));
    p->chains = arena_grow(p->arena, p->chains, &p->chains_cap, (size_t)p->chains_n + 1, sizeof *p->chains);
    if (!p->query_chains || !p->chains)
        return NONE;
    if (!added)
        return p->query_chains[id];
    struct chain *c = &p->chains[p->chains_n];
    *c = (struct chain){.state = state, .grid = grid, .when = when, .read = NONE, .view = PLAN_NONE};
    cost_chain(p, c);
    c->build_cost = 0;
    return p->query_chains[id] = p->chains_n++;
}

static struct candidate candidate_of(const struct planning *p, uint32_t demand, uint32_t chain)
{
    const struct demand *d = &p->demands[demand];
    struct candidate made = candidate_of_panes(p, demand, chain);
    made.reason = candidate_raw_misses(p, d);
    if (!made.reason)
        made.reason = window_limits(d, p->chains[chain].grid, p->arena);
    return made;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/*
 * Work that the cost model takes for that of every function, and is not: what raw samples say from the ends of a window
 * or from running counts, and sets of values, whose merging is no less than the samples. NULL: a window's samples are
 * gone through.
 */
static const char *raw_is_quick(enum statistic s)
{
    switch (s) {
    case STATISTIC_RATE:
    case STATISTIC_INCREASE:
    case STATISTIC_DELTA:
    case STATISTIC_IRATE:
    case STATISTIC_IDELTA:
    case STATISTIC_FIRST:
    case STATISTIC_LAST:
    case STATISTIC_COUNT:
    case STATISTIC_PRESENT:
    case STATISTIC_CHANGES:
    case STATISTIC_RESETS:
        return "dearer: raw samples answer it without going through each window";
    case STATISTIC_DISTINCT:
        return "dearer: sets of values take as long to merge as samples to count";
    default:
        return NULL;
    }
}

/* The widest panes that the windows of one run have in common; it does not matter when the runs are. */
static void offer_unkept(struct planning *p, uint32_t demand, uint32_t state)
{
    const struct demand *d = &p->demands[demand];
    const struct candidate *raw = &p->candidates[d->first];
    int64_t width_ms = d->site->range_ms;
    if (d->steps_n > 1 && !d->site->anchored)
        width_ms = gcd(width_ms, d->step_ms);
    uint32_t chain = add_chain(p, state, WHEN_QUERY, (struct grid){width_ms, 0}, NULL);
    if (chain == NONE)
        return;
    struct candidate c = candidate_of(p, demand, chain);
    c.run_cost = cost_query_build(p, d, &p->chains[chain]) + cost_query_read(p, d, &p->chains[chain], c.count);
    if (!c.reason && !raw->reason)
        c.reason = raw_is_quick(d->site->statistic);
    if (!c.reason && !raw->reason && c.run_cost >= raw->run_cost)
        c.reason = arena_printf(p->arena, "dearer: %.4g CPU-ms a run, as many as raw samples (%.4g) or more",
                                c.run_cost, raw->run_cost);
    candidate_add(p, c);
}

static void offer_kept(struct planning *p, uint32_t demand, uint32_t state)
{
    const struct demand *d = &p->demands[demand];
    const struct site *site = d->site;
    struct grid grid = {0, 0};
    if (site->anchored) {
        grid = grid_through(site->at_ms - site->offset_ms, site->range_ms);
    } else {
        struct pane_chain own = window_chain(d);
        if (own.count == 0) {
            const struct state *s = &p->states[state];
            grid.step_ms = site->range_ms;
            candidate_add(p, (struct candidate){.form = FORM_WHOLE,
                                                .demand = demand,
                                                .chain = NONE,
                                                .when = WHEN_QUERY_KEPT,
                                                .family = s->family,
                                                .params = s->params,
                                                .count = 1,
                                                .width_ms = grid.step_ms,
                                                .reason = window_misfit(d, grid, p->arena)});
            return;
        }
        grid = own.ends;
    }
    uint32_t chain = add_chain(p, state, WHEN_QUERY_KEPT, grid, d);
    if (chain == NONE)
        return;
    struct chain *made = &p->chains[chain];
    struct candidate c = candidate_of(p, demand, chain);
    double read_ms = (double)(site->range_ms + d->length_ms), per_s = d->runs_per_s;
    if (site->anchored)
        per_s = fmin(per_s, 1 / COST_HORIZON_S);
    else if (!c.reason && read_ms * per_s >= 1000)
        c.reason = "dearer: every pane is read, so building them as data arrives is no more work and shares its scan";
    made->build_cost = cost_query_build(p, d, made) * per_s;
    c.run_cost = cost_query_read(p, d, made, c.count) + cost_kept_open(p, d, made);
    candidate_add(p, c);
}

void offer_query_time(struct planning *p, uint32_t demand, uint32_t state)
{
    offer_unkept(p, demand, state);
    if (!arena_failed(p->arena))
        offer_kept(p, demand, state);
}
