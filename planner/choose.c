/*
 * Choice, query by query: each demand takes the cheapest allowed candidate given what all others took, until nothing
 * changes. What is shared is charged once: a chain's building and keeping to whoever opens it, a (source, window) read
 * to the first chain that needs it. Since no single demand would open a chain that pays only for several, whole groups
 * of readers are moved to a chain too when that lowers the sum.
 *
 * Every move lowers the total, ties keep what is there, and demands are visited in order: it ends, and always alike.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "planner/cost.h"

enum { PASSES_MAX = 32, MEMORY_ROUNDS_MAX = 16 };

static bool is_lower(double a, double b)
{
    return a < b - 1e-9 * fabs(b);
}

static double chain_upkeep(const struct chain *c, int64_t reach_ms)
{
    return cost_memory(c, cost_retention_ms(reach_ms, c->grid.step_ms));
}

/* What it costs more, over all, when a demand not reading the chain begins to. */
static double price_of_joining(const struct planning *p, const struct chain *c, int64_t reach_ms)
{
    if (c->users_n == 0) {
        const struct read *r = &p->reads[c->read];
        return c->build_cost + chain_upkeep(c, reach_ms) + (r->users_n == 0 ? r->cost : 0);
    }
    return reach_ms > c->reach_ms ? chain_upkeep(c, reach_ms) - chain_upkeep(c, c->reach_ms) : 0;
}

static double price(const struct planning *p, const struct candidate *c)
{
    if (c->form == FORM_RAW)
        return c->query_cost;
    const struct chain *chain = &p->chains[c->chain];
    return c->query_cost + price_of_joining(p, chain, cost_reach_ms(&p->demands[c->demand], chain->grid.step_ms));
}

static void join_chain(struct planning *p, const struct candidate *c)
{
    if (c->form == FORM_RAW)
        return;
    struct chain *chain = &p->chains[c->chain];
    int64_t reach_ms = cost_reach_ms(&p->demands[c->demand], chain->grid.step_ms);
    if (chain->users_n++ == 0)
        p->reads[chain->read].users_n++;
    if (chain->users_n == 1 || reach_ms > chain->reach_ms) {
        chain->reach_ms = reach_ms;
        chain->farthest_n = 1;
    } else if (reach_ms == chain->reach_ms) {
        chain->farthest_n++;
    }
}

/* Leave, the demand's own `chosen` still naming it: it is passed over when the farthest reader is looked for anew. */
static void leave_chain(struct planning *p, const struct candidate *c)
{
    if (c->form == FORM_RAW)
        return;
    struct chain *chain = &p->chains[c->chain];
    if (--chain->users_n == 0) {
        p->reads[chain->read].users_n--;
        chain->reach_ms = 0;
        return;
    }
    if (cost_reach_ms(&p->demands[c->demand], chain->grid.step_ms) < chain->reach_ms || --chain->farthest_n > 0)
        return;
    chain->reach_ms = 0;
    for (uint32_t i = chain->first; i < chain->first + chain->n; i++) {
        uint32_t reader = p->chain_readers[i];
        const struct demand *d = &p->demands[p->candidates[reader].demand];
        if (&p->candidates[reader] == c || d->chosen != reader)
            continue;
        int64_t reach_ms = cost_reach_ms(d, chain->grid.step_ms);
        chain->farthest_n = reach_ms > chain->reach_ms ? 1 : chain->farthest_n + (reach_ms == chain->reach_ms);
        if (reach_ms > chain->reach_ms)
            chain->reach_ms = reach_ms;
    }
}

static bool is_allowed(const struct planning *p, const struct candidate *c)
{
    return !c->reason && (c->form == FORM_RAW || !p->chains[c->chain].forbidden);
}

/* One demand to its cheapest candidate; did it move? */
static bool settle_demand(struct planning *p, struct demand *d)
{
    struct candidate *now = &p->candidates[d->chosen];
    leave_chain(p, now);
    uint32_t best = d->chosen;
    double best_price = is_allowed(p, now) ? price(p, now) : INFINITY;
    for (uint32_t i = d->first; i < d->first + d->n; i++) {
        const struct candidate *c = &p->candidates[i];
        if (i == d->chosen || !is_allowed(p, c))
            continue;
        double its_price = price(p, c);
        if (isinf(best_price) || is_lower(its_price, best_price)) {
            best = i;
            best_price = its_price;
        }
    }
    bool moved = best != d->chosen;
    d->chosen = best;
    join_chain(p, &p->candidates[best]);
    return moved;
}

static void move_demand(struct planning *p, uint32_t candidate)
{
    struct demand *d = &p->demands[p->candidates[candidate].demand];
    leave_chain(p, &p->candidates[d->chosen]);
    d->chosen = candidate;
    join_chain(p, &p->candidates[candidate]);
}

/* Everything shared that is in use, by the chains and reads that a group move can touch, plus its readers' own costs.
 */
static double move_and_weigh(struct planning *p, uint32_t candidate)
{
    const struct demand *d = &p->demands[p->candidates[candidate].demand];
    const struct candidate *from = &p->candidates[d->chosen], *to = &p->candidates[candidate];
    leave_chain(p, from);
    double saved = price(p, from); /* exactly what leaving it freed */
    double paid = price(p, to);
    p->demands[to->demand].chosen = candidate;
    join_chain(p, to);
    return paid - saved;
}

/* All readers of a chain to it, then those back for whom it is dearer; kept if the sum is lower. */
static bool settle_chain(struct planning *p, struct chain *c, uint32_t *before)
{
    if (c->forbidden || c->n < 2)
        return false;
    double change = 0;
    uint32_t moved_n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t reader = p->chain_readers[c->first + i];
        before[i] = p->demands[p->candidates[reader].demand].chosen;
        if (before[i] == reader)
            continue;
        change += move_and_weigh(p, reader);
        moved_n++;
    }
    for (uint32_t i = 0; moved_n > 0 && i < c->n; i++) {
        uint32_t reader = p->chain_readers[c->first + i];
        const struct candidate *was = &p->candidates[before[i]];
        if (before[i] == reader || !is_allowed(p, was))
            continue;
        double back = move_and_weigh(p, before[i]);
        if (back < 0) {
            change += back;
            moved_n--;
        } else {
            move_demand(p, reader);
        }
    }
    if (moved_n == 0)
        return false;
    if (change < -1e-15 && fabs(change) > 1e-9 * c->build_cost)
        return true;
    for (uint32_t i = 0; i < c->n; i++) {
        if (p->demands[p->candidates[p->chain_readers[c->first + i]].demand].chosen != before[i])
            move_demand(p, before[i]);
    }
    return false;
}

static void settle_all(struct planning *p, uint32_t *before)
{
    bool moved = true;
    for (int pass = 0; moved && pass < PASSES_MAX; pass++) {
        moved = false;
        for (uint32_t i = 0; i < p->demands_n; i++)
            moved |= settle_demand(p, &p->demands[i]);
        for (uint32_t c = 0; c < p->chains_n; c++)
            moved |= settle_chain(p, &p->chains[c], before);
    }
}

static double kept_bytes(const struct chain *c)
{
    if (c->users_n == 0)
        return 0;
    return c->memory_bytes_s * (double)cost_retention_ms(c->reach_ms, c->grid.step_ms) / 1000;
}

static int largest_first(const void *pa, const void *pb, void *ctx)
{
    const struct planning *p = ctx;
    uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
    double a = kept_bytes(&p->chains[ia]), b = kept_bytes(&p->chains[ib]);
    if (a != b)
        return a > b ? -1 : 1;
    return (ia > ib) - (ia < ib);
}

/* Forbid the largest chains until the rest fits; true when all fit as they are. */
static bool fits_memory(struct planning *p, uint32_t *order, bool forbid_all)
{
    double limit = (double)p->w->memory_limit_bytes, sum = 0;
    for (uint32_t i = 0; i < p->chains_n; i++) {
        order[i] = i;
        sum += kept_bytes(&p->chains[i]);
    }
    if (limit == 0 || sum <= limit)
        return true;
    qsort_r(order, p->chains_n, sizeof *order, largest_first, p);
    for (uint32_t i = 0; i < p->chains_n && (forbid_all || sum > limit); i++) {
        sum -= kept_bytes(&p->chains[order[i]]);
        p->chains[order[i]].forbidden = true;
    }
    return false;
}

/* Where forbidding chains left a demand nothing, raw answers all the same. */
static void fall_back_to_raw(struct planning *p)
{
    for (uint32_t i = 0; i < p->demands_n; i++) {
        struct demand *d = &p->demands[i];
        uint32_t allowed_n = 0;
        for (uint32_t c = d->first; c < d->first + d->n; c++)
            allowed_n += is_allowed(p, &p->candidates[c]);
        if (allowed_n > 0)
            continue;
        d->raw_note = p->candidates[d->first].reason;
        p->candidates[d->first].reason = NULL;
    }
}

int planner_choose(struct planning *p, struct err *e)
{
    uint32_t readers_max = 0;
    for (uint32_t c = 0; c < p->chains_n; c++)
        readers_max = p->chains[c].n > readers_max ? p->chains[c].n : readers_max;
    uint32_t *before = ARENA_ARRAY(p->arena, uint32_t, readers_max);
    uint32_t *order = ARENA_ARRAY(p->arena, uint32_t, p->chains_n);
    int rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    settle_all(p, before);
    for (int round = 1; !fits_memory(p, order, round == MEMORY_ROUNDS_MAX); round++) {
        fall_back_to_raw(p);
        settle_all(p, before);
    }
    return 0;
}
