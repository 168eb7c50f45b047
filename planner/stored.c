/*
 * Stored roots on offer. A query that looks back over a grid of times, as a dashboard does, may read what its whole
 * expression, or a part of it, was at each of them, if that is the same whoever asks (plan/root_expr.h). Each such
 * expression is offered on its readers' own grids; a finer one of another reader serves too when it holds all their
 * times.
 */
#include "base/duration.h"
#include "plan/root_expr.h"
#include "planner/cost.h"
#include "planner/spots.h"

static const struct expr *expr_of(const struct planning *p, uint32_t node)
{
    return p->logical.nodes[node].expr;
}

static bool fits(const struct kept *k, const struct spot *s)
{
    return s->grid.step_ms % k->grid.step_ms == 0 &&
           floor_mod(s->grid.phase_ms - k->grid.phase_ms, k->grid.step_ms) == 0;
}

/* From the newest samples to the oldest that any of its times is made of, while late ones may come for it. */
static int64_t reach_of(const struct planning *p, const struct cadence *c, uint32_t node)
{
    return root_expr_ahead_ms(expr_of(p, node)) + root_expr_reach_ms(expr_of(p, node)) + c->length_ms;
}

bool stored_may(const struct planning *p, uint32_t query, uint32_t node)
{
    const struct cadence *c = &p->w->queries[query].cadence;
    return c->length_ms > 0 && cadence_grid(c).step_ms > 0 && !root_expr_refusal(expr_of(p, node)) &&
           reach_of(p, c, node) <= p->w->raw_retention_ms;
}

/* Each time is computed when it is asked for, since it is not sealed yet: keeping it would only add to that. */
static const char *newest_alone(const struct planning *p, const struct cadence *c, uint32_t node)
{
    struct kept k = {.node = node, .grid = cadence_grid(c)};
    cost_kept(p, expr_of(p, node), &k);
    double raw = cost_raw_expr(p, expr_of(p, node), 1, 0) * cost_runs_per_s(c);
    double memory = cost_kept_memory(p, &k, k.grid.step_ms);
    return arena_printf(p->arena,
                        "dearer: %.4g CPU-ms a second on its own (ingest %.4g, query %.4g, memory %.4g), raw samples "
                        "%.4g: it asks for its newest time alone, which is computed until it is sealed",
                        k.build_cost + raw + memory, k.build_cost, raw, memory, raw);
}

const char *stored_refusal(const struct planning *p, uint32_t query, uint32_t node)
{
    const struct cadence *c = &p->w->queries[query].cadence;
    const char *why = root_expr_refusal(expr_of(p, node));
    if (why)
        return arena_printf(p->arena, "not_eligible: %s", why);
    if (cadence_grid(c).step_ms == 0)
        return "no_cadence: its times are not of a grid";
    if (c->length_ms == 0)
        return newest_alone(p, c, node);
    int64_t kept_ms = p->w->raw_retention_ms, reach_ms = reach_of(p, c, node);
    if (kept_ms < reach_ms) {
        char kept[DURATION_TEXT_MAX], reach[DURATION_TEXT_MAX];
        duration_format(kept_ms, kept);
        duration_format(reach_ms, reach);
        return arena_printf(p->arena, "raw_retention: raw samples are there for %s, late ones may ask for %s", kept,
                            reach);
    }
    return NULL;
}

void stored_add(struct planning *p, uint32_t query, uint32_t node)
{
    struct grid grid = cadence_grid(&p->w->queries[query].cadence);
    strbuf_clear(&p->key);
    KEY_ADD(p, node);
    KEY_ADD(p, grid.step_ms);
    KEY_ADD(p, grid.phase_ms);
    bool added;
    intern(&p->kept_ids, p->key.p, p->key.n, &added);
    if (!added)
        return;
    p->kept = arena_grow(p->arena, p->kept, &p->kept_cap, (size_t)p->kept_n + 1, sizeof *p->kept);
    if (!p->kept)
        return;
    p->kept[p->kept_n] = (struct kept){.node = node, .grid = grid, .root = PLAN_NONE};
    cost_kept(p, expr_of(p, node), &p->kept[p->kept_n++]);
}

int stored_list(struct planning *p, struct stored_lists *ret, struct err *e)
{
    ret->first_of = ARENA_ARRAY(p->arena, uint32_t, p->logical.nodes_n);
    ret->next = ARENA_ARRAY(p->arena, uint32_t, (size_t)p->kept_n + 1);
    int rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < p->logical.nodes_n; i++)
        ret->first_of[i] = PLAN_NONE;
    for (uint32_t k = p->kept_n; k-- > 0;) {
        ret->next[k] = ret->first_of[p->kept[k].node];
        ret->first_of[p->kept[k].node] = k;
    }
    return 0;
}

void stored_offer(struct planning *p, const struct stored_lists *lists, struct spot *s)
{
    const struct workload_query *q = &p->w->queries[s->query];
    uint32_t n = 0;
    for (uint32_t k = lists->first_of[s->node]; k != PLAN_NONE && n < KEPT_PER_SPOT_MAX; k = lists->next[k]) {
        if (!fits(&p->kept[k], s)) {
            s->misfit = k;
            continue;
        }
        double run_cost = cost_kept_run(p, expr_of(p, s->node), &p->kept[k], &q->cadence);
        struct at_once made = {.form = AT_ONCE_STORED,
                               .kept = k,
                               .query_cost = run_cost * s->runs_per_s,
                               .reason = planning_too_slow(p, run_cost, q->latency_ms)};
        p->at_once = arena_grow(p->arena, p->at_once, &p->at_once_cap, (size_t)p->at_once_n + 1, sizeof *p->at_once);
        if (!p->at_once)
            return;
        p->at_once[p->at_once_n++] = made;
        n++;
    }
}

void stored_text(const struct planning *p, const struct spot *s, uint32_t kept, struct strbuf *out)
{
    char step[DURATION_TEXT_MAX];
    strbuf_add_z(out, "stored root");
    if (kept != PLAN_NONE) {
        duration_format(p->kept[kept].grid.step_ms, step);
        strbuf_printf(out, " each %s", step);
        duration_format(p->kept[kept].grid.phase_ms, step);
        if (p->kept[kept].grid.phase_ms)
            strbuf_printf(out, " phase %s", step);
    }
    strbuf_printf(out, " of " STR_FMT, STR_ARG(p->logical.nodes[s->node].text));
}
