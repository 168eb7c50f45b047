/*
 * Candidates: for each demand the ways to answer it, those that may not be chosen with their reason.
 *
 * Pass 1 (offers.c) asks every family of the capability table for parameters that meet the demand's target; that is a
 * state. Pass 2 lets demands share: a state is read by every demand it was sized for and, if it is the strictest of its
 * source and family, by all others of them too; and its chains are the closure over the grids of all its readers. What
 * is shared always stands beside a demand's own. A demand of states by labels may also stand on those by more labels,
 * so it is offered the unions of its labels with those of others that could read the same states (groupings.c).
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "plan/explain.h"
#include "planner/accuracy.h"
#include "planner/candidates.h"
#include "planner/cost.h"
#include "planner/offers.h"
#include "planner/windows.h"

#define NONE UINT32_MAX
/* Chains of other readers that do not fit are worth a line each only while they are few. */
enum { MISFITS_LISTED = 8 };

static uint32_t add_read(struct planning *p, uint32_t source, struct grid window)
{
    strbuf_clear(&p->key);
    KEY_ADD(p, source);
    KEY_ADD(p, window.step_ms);
    KEY_ADD(p, window.phase_ms);
    bool added;
    uint32_t id = intern(&p->read_ids, p->key.p, p->key.n, &added);
    if (added) {
        p->reads = arena_grow(p->arena, p->reads, &p->reads_cap, (size_t)p->reads_n + 1, sizeof *p->reads);
        if (p->reads)
            p->reads[p->reads_n++] = (struct read){.source = source, .cost = cost_read(p, source)};
    }
    return id;
}

/* Does the demand read panes that are built as data arrives? */
static bool has_chain(const struct demand *d)
{
    struct pane_chain own = window_chain(d);
    return own.count > 0 && !d->site->anchored && own.ends.step_ms <= PLAN_PANE_MAX_MS;
}

/* Of state s behind those of `grids`; n with them. */
static uint32_t add_finer(const struct offers *o, uint32_t s, struct grid *grids, uint32_t n)
{
    for (uint32_t i = o->readers_first[s]; i < o->readers_first[s + 1] && n < MAX_WIDTHS; i++) {
        const struct demand *d = &o->p->demands[o->readers[i]];
        if (!has_chain(d))
            continue;
        struct grid finer = finer_grid(o->p, d, s);
        uint32_t k = 0;
        while (k < n && (grids[k].step_ms != finer.step_ms || grids[k].phase_ms != finer.phase_ms))
            k++;
        grids[k] = finer;
        n += k == n;
    }
    return n;
}

/* Pass 2: the chains of every state. */
static int offer_chains(struct offers *o, struct err *e)
{
    struct planning *p = o->p;
    for (uint32_t s = 0; s < p->states_n; s++) {
        struct state *state = &p->states[s];
        uint32_t first = o->readers_first[s], n = o->readers_first[s + 1] - first;
        struct grid *own = mem_alloc(n * sizeof *own);
        uint32_t own_n = 0, grids_n;
        for (uint32_t i = 0; i < n; i++) {
            const struct demand *d = &p->demands[o->readers[first + i]];
            if (has_chain(d))
                own[own_n++] = window_chain(d).ends;
        }
        struct grid *grids = window_offers(own, own_n, p->arena, &grids_n, &o->cut[s]);
        uint32_t needed_n = grids_n;
        if (grids && !o->cut[s])
            grids_n = add_finer(o, s, grids, grids_n);
        mem_free(own);
        state->first = p->chains_n;
        p->chains = arena_grow(p->arena, p->chains, &p->chains_cap, (size_t)p->chains_n + grids_n, sizeof *p->chains);
        int rc = arena_check(p->arena, "planning", e);
        if (rc != 0)
            return rc;
        for (uint32_t i = 0; i < grids_n; i++) {
            struct chain *c = &p->chains[p->chains_n++];
            *c = (struct chain){.state = s, .grid = grids[i], .when = WHEN_INGESTION, .view = PLAN_NONE};
            c->finer = i >= needed_n;
            c->read = add_read(p, state->source, c->grid);
            cost_chain(p, c);
        }
        state->n = grids_n;
    }
    return 0;
}

const char *planning_too_slow(const struct planning *p, double run_cost, int64_t latency_ms)
{
    if (latency_ms == 0 || run_cost <= (double)latency_ms)
        return NULL;
    return arena_printf(p->arena, "latency: one evaluation costs %.3g ms, at most %lld are allowed", run_cost,
                        (long long)latency_ms);
}

void candidate_add(struct planning *p, struct candidate c)
{
    p->candidates =
        arena_grow(p->arena, p->candidates, &p->candidates_cap, (size_t)p->candidates_n + 1, sizeof *p->candidates);
    if (!p->candidates)
        return;
    const struct demand *d = &p->demands[c.demand];
    if (!c.reason)
        c.reason = planning_too_slow(p, c.run_cost, d->latency_ms);
    c.query_cost = c.run_cost * d->runs_per_s;
    p->candidates[p->candidates_n++] = c;
}

const char *candidate_raw_misses(const struct planning *p, const struct demand *d)
{
    int64_t kept_ms = p->w->raw_retention_ms, reach_ms = cost_reach_ms(d, 1);
    char kept[DURATION_TEXT_MAX], reach[DURATION_TEXT_MAX];
    if (kept_ms > 0 && (d->site->anchored || reach_ms <= kept_ms))
        return NULL;
    duration_format(kept_ms, kept);
    duration_format(reach_ms, reach);
    return arena_printf(p->arena, "raw_retention: raw samples are there for %s, the query reads back %s", kept, reach);
}

static void add_raw(struct planning *p, uint32_t demand)
{
    const struct demand *d = &p->demands[demand];
    struct candidate c = {.form = FORM_RAW,
                          .demand = demand,
                          .chain = NONE,
                          .guarantee = {ACCURACY_EXACT, 0, 0},
                          .run_cost = cost_raw_run(p, d)};
    c.reason = candidate_raw_misses(p, d);
    candidate_add(p, c);
}

struct candidate candidate_of_panes(const struct planning *p, uint32_t demand, uint32_t chain)
{
    const struct demand *d = &p->demands[demand];
    const struct chain *c = &p->chains[chain];
    const struct state *s = &p->states[c->state];
    struct candidate made = {.demand = demand,
                             .chain = chain,
                             .grouping = s->grouping,
                             .when = c->when,
                             .family = s->family,
                             .params = s->params,
                             .count = d->site->range_ms / c->grid.step_ms,
                             .width_ms = c->grid.step_ms,
                             .guarantee = accuracy_guarantee(s->family, d->site->statistic, &s->params, &d->target)};
    made.form = made.count == 1 ? FORM_WHOLE : FORM_CHAIN;
    return made;
}

static void add_panes(struct planning *p, const struct offer *offer, uint32_t chain, const char *reason)
{
    const struct demand *d = &p->demands[offer->demand];
    const struct chain *c = &p->chains[chain];
    struct candidate made = candidate_of_panes(p, offer->demand, chain);
    made.reason = reason ? reason : window_limits(d, c->grid, p->arena);
    made.run_cost = cost_chain_run(p, d, c, made.count);
    candidate_add(p, made);
    if (!made.reason && made.grouping == 0)
        offer_ladders(p, &made);
}

/* A form that has no chain to stand on; panes.step_ms 0: the family in any form. */
static void add_rejected(struct planning *p, const struct offer *offer, enum candidate_form form, struct grid panes,
                         const char *reason)
{
    const struct demand *d = &p->demands[offer->demand];
    candidate_add(p, (struct candidate){.form = form,
                                        .demand = offer->demand,
                                        .chain = NONE,
                                        .grouping = offer->grouping,
                                        .family = offer->family,
                                        .params = offer->params,
                                        .count = panes.step_ms ? d->site->range_ms / panes.step_ms : 0,
                                        .width_ms = panes.step_ms,
                                        .reason = reason});
}

static int chain_to_grid(const void *pkey, const void *pchain)
{
    const struct grid *key = pkey, *grid = &((const struct chain *)pchain)->grid;
    if (key->step_ms != grid->step_ms)
        return key->step_ms > grid->step_ms ? -1 : 1;
    return (key->phase_ms > grid->phase_ms) - (key->phase_ms < grid->phase_ms);
}

static void add_state_chains(const struct offers *o, const struct offer *offer, uint32_t s)
{
    struct planning *p = o->p;
    const struct demand *d = &p->demands[offer->demand];
    const struct state *state = &p->states[s];
    uint32_t first = state->first, n = state->n;
    if (o->cut[s]) { /* its own grid alone */
        struct grid own = window_chain(d).ends;
        const struct chain *c = bsearch(&own, p->chains + first, n, sizeof *c, chain_to_grid);
        first = c ? (uint32_t)(c - p->chains) : first;
        n = c != NULL;
    }
    for (uint32_t c = first; c < first + n; c++) {
        struct grid panes = p->chains[c].grid;
        if (window_aligned(d, panes))
            add_panes(p, offer, c, NULL);
        else if (n <= MISFITS_LISTED && !offer->is_shared)
            add_panes(p, offer, c, window_misfit(d, panes, p->arena));
    }
}

static void add_stored(const struct offers *o, const struct offer *offer)
{
    struct planning *p = o->p;
    const struct demand *d = &p->demands[offer->demand];
    struct grid none = {0, 0};
    struct grid whole = grid_through(d->grid.phase_ms - d->site->offset_ms, d->site->range_ms);
    struct pane_chain own = window_chain(d);
    if (offer->is_shared && (d->site->anchored || own.count == 0))
        return; /* said of its own grouping */
    if (d->site->anchored) {
        add_rejected(p, offer, FORM_WHOLE, whole,
                     "anchored: the window under @ never moves, what arrives is not in it");
        return;
    }
    if (own.count != 1 && !offer->is_shared)
        add_rejected(p, offer, FORM_WHOLE, whole, window_misfit(d, whole, p->arena));
    if (own.count == 0)
        return;
    const char *too_wide = window_limits(d, own.ends, p->arena);
    if (too_wide && own.ends.step_ms > PLAN_PANE_MAX_MS)
        add_rejected(p, offer, own.count == 1 ? FORM_WHOLE : FORM_CHAIN, own.ends, too_wide);
    if (o->cut[offer->own])
        add_rejected(p, offer, FORM_CHAIN, none,
                     "max_widths: the widths that its readers could share are too many; each keeps its own");
    add_state_chains(o, offer, offer->own);
    if (offer->strictest != offer->own)
        add_state_chains(o, offer, offer->strictest);
}

static void add_offer(const struct offers *o, const struct offer *offer)
{
    const struct demand *d = &o->p->demands[offer->demand];
    if (offer->reason) {
        add_rejected(o->p, offer, FORM_WHOLE, (struct grid){0, 0}, d->strict ? d->strict : offer->reason);
        return;
    }
    add_stored(o, offer);
    if (!d->site->group) /* states by labels are built at ingestion only */
        offer_query_time(o->p, offer->demand, offer->own);
}

static int list_candidates(const struct offers *o, struct err *e)
{
    struct planning *p = o->p;
    for (uint32_t i = 0; i < p->demands_n; i++) {
        struct demand *d = &p->demands[i];
        d->first = p->candidates_n;
        if (planning_is_leaf(&p->logical.nodes[d->node]))
            add_raw(p, i);
        for (uint32_t k = o->of_demand[i]; k < o->of_demand[i + 1]; k++)
            add_offer(o, &o->v[k]);
        int rc = arena_check(p->arena, "planning", e);
        if (rc != 0)
            return rc;
        d->n = p->candidates_n - d->first;
        d->allowed_n = 0;
        for (uint32_t c = d->first; c < p->candidates_n; c++)
            d->allowed_n += !p->candidates[c].reason;
        if (d->allowed_n == 0 && planning_is_leaf(&p->logical.nodes[d->node])) {
            d->allowed_n = 1;
            d->raw_note = p->candidates[d->first].reason;
            p->candidates[d->first].reason = NULL;
        }
        d->chosen = d->first;
    }
    return 0;
}

static int index_chain_readers(struct planning *p, struct err *e)
{
    size_t readers_n = 0;
    for (uint32_t i = 0; i < p->candidates_n; i++) {
        const struct candidate *c = &p->candidates[i];
        for (uint32_t k = c->reason ? NONE : candidate_top(c); k != NONE; k = candidate_next(p, c, k), readers_n++)
            p->chains[k].n++;
    }
    p->chain_readers = ARENA_ARRAY(p->arena, uint32_t, readers_n);
    int rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    uint32_t first = 0;
    for (uint32_t c = 0; c < p->chains_n; c++) {
        p->chains[c].first = first;
        first += p->chains[c].n;
        p->chains[c].n = 0;
    }
    for (uint32_t i = 0; i < p->candidates_n; i++) {
        const struct candidate *c = &p->candidates[i];
        for (uint32_t k = c->reason ? NONE : candidate_top(c); k != NONE; k = candidate_next(p, c, k))
            p->chain_readers[p->chains[k].first + p->chains[k].n++] = i;
    }
    return 0;
}

int planner_offer(struct planning *p, struct err *e)
{
    struct offers o;
    offers_init(&o, p);
    int rc = cost_load_sources(p, e);
    if (rc == 0)
        rc = offers_make(&o, e);
    if (rc == 0)
        rc = offer_chains(&o, e);
    if (rc == 0)
        rc = list_candidates(&o, e);
    if (rc == 0)
        rc = index_chain_readers(p, e);
    offers_done(&o);
    return rc;
}

void candidate_text(const struct planning *p, const struct candidate *c, struct strbuf *out)
{
    const struct demand *d = &p->demands[c->demand];
    const struct logical_node *site = &p->logical.nodes[d->node];
    char width[DURATION_TEXT_MAX];
    if (c->form == FORM_RAW) {
        strbuf_add_z(out, "raw");
    } else {
        const struct grouping *g = &p->groupings[c->grouping];
        if (c->grouping != 0)
            reduction_text(g->by, g->by_n, out);
        strbuf_add_z(out, family_get(c->family)->name);
        if (c->params.k)
            strbuf_printf(out, " k=%u", c->params.k);
        if (c->params.alpha > 0)
            strbuf_printf(out, " alpha=%.6g", c->params.alpha);
        if (c->params.p)
            strbuf_printf(out, " p=%u", c->params.p);
        if (c->params.depth)
            strbuf_printf(out, " depth=%u width=%u", c->params.depth, c->params.width);
        if (c->params.heap)
            strbuf_printf(out, " heap=%u", c->params.heap);
        duration_format(c->width_ms, width);
        if (c->form == FORM_WHOLE && c->width_ms > 0)
            strbuf_printf(out, " whole");
        else if (c->width_ms > 0)
            strbuf_printf(out, " %lld x %s", (long long)c->count, width);
        if (c->chain != NONE && p->chains[c->chain].finer)
            strbuf_add_z(out, ", finer,");
    }
    if (c->form == FORM_LADDER) {
        for (uint32_t k = c->top; k != c->chain; k = p->chains[k].below) {
            duration_format(p->chains[k].grid.step_ms, width);
            strbuf_printf(out, "%s%s", k == c->top ? " rolled up to " : ", ", width);
        }
        strbuf_add_z(out, c->top == c->chain ? " rolled up" : "");
    }
    if (c->when == WHEN_QUERY || c->when == WHEN_QUERY_KEPT)
        strbuf_add_z(out, c->when == WHEN_QUERY ? ", query, not kept," : ", query, kept,");
    strbuf_printf(out, " of " STR_FMT, STR_ARG(site->text));
}
