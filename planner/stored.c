/*
 * Stored roots on offer. A query that looks back over a grid of times, as a dashboard does, may read what its whole
 * expression was at each of them, if that is the same whoever asks (plan/root_expr.h). Each such expression is offered
 * on its readers' own grids; a finer one of another reader serves too when it holds all their times.
 */
#include "base/duration.h"
#include "plan/root_expr.h"
#include "planner/cost.h"

/* A whole's own grid comes first of those it is offered. */
enum { KEPT_PER_WHOLE_MAX = 8 };

static const struct expr *expr_of(const struct planning *p, uint32_t node)
{
    return p->logical.nodes[node].expr;
}

static bool fits(const struct kept *k, const struct whole *w)
{
    return k->node == w->node && w->grid.step_ms % k->grid.step_ms == 0 &&
           floor_mod(w->grid.phase_ms - k->grid.phase_ms, k->grid.step_ms) == 0;
}

/* Each time is computed when it is asked for, since it is not sealed yet: keeping it would only add to that. */
static const char *newest_alone(const struct planning *p, const struct whole *w)
{
    struct kept k = {.node = w->node, .grid = w->grid};
    cost_kept(p, expr_of(p, w->node), &k);
    double raw = cost_raw_expr(p, expr_of(p, w->node), 1, 0) * w->runs_per_s;
    double memory = cost_kept_memory(p, &k, k.grid.step_ms);
    return arena_printf(p->arena,
                        "dearer: %.4g CPU-ms a second on its own (ingest %.4g, query %.4g, memory %.4g), raw samples "
                        "%.4g: it asks for its newest time alone, which is computed until it is sealed",
                        k.build_cost + raw + memory, k.build_cost, raw, memory, raw);
}

static const char *refusal(const struct planning *p, const struct workload_query *q, const struct whole *w)
{
    const char *why = root_expr_refusal(expr_of(p, w->node));
    if (why)
        return arena_printf(p->arena, "not_eligible: %s", why);
    if (w->grid.step_ms == 0)
        return "no_cadence: its times are not of a grid";
    if (q->cadence.length_ms == 0)
        return newest_alone(p, w);
    int64_t kept_ms = p->w->raw_retention_ms, reach_ms = root_expr_reach_ms(expr_of(p, w->node)) + w->length_ms;
    if (kept_ms < reach_ms) {
        char kept[DURATION_TEXT_MAX], reach[DURATION_TEXT_MAX];
        duration_format(kept_ms, kept);
        duration_format(reach_ms, reach);
        return arena_printf(p->arena, "raw_retention: raw samples are there for %s, late ones may ask for %s", kept,
                            reach);
    }
    return NULL;
}

static uint32_t add_kept(struct planning *p, const struct whole *w)
{
    strbuf_clear(&p->key);
    KEY_ADD(p, w->node);
    KEY_ADD(p, w->grid.step_ms);
    KEY_ADD(p, w->grid.phase_ms);
    bool added;
    uint32_t id = intern(&p->kept_ids, p->key.p, p->key.n, &added);
    if (added) {
        p->kept = arena_grow(p->arena, p->kept, &p->kept_cap, (size_t)p->kept_n + 1, sizeof *p->kept);
        if (!p->kept)
            return id;
        p->kept[p->kept_n] = (struct kept){.node = w->node, .grid = w->grid, .root = PLAN_NONE};
        cost_kept(p, expr_of(p, w->node), &p->kept[p->kept_n++]);
    }
    return id;
}

/* Queries of one expression, cadence and accuracy share it, as they share their demands. */
static void add_whole(struct planning *p, uint32_t query)
{
    const struct workload_query *q = &p->w->queries[query];
    struct whole w = {.node = p->roots[query],
                      .query = query,
                      .grid = cadence_grid(&q->cadence),
                      .runs_per_s = cost_runs_per_s(&q->cadence),
                      .length_ms = q->cadence.length_ms,
                      .misfit = PLAN_NONE,
                      .chosen = PLAN_NONE};
    strbuf_clear(&p->key);
    KEY_ADD(p, w.node);
    KEY_ADD(p, w.grid.step_ms);
    KEY_ADD(p, w.grid.phase_ms);
    KEY_ADD(p, w.runs_per_s);
    KEY_ADD(p, w.length_ms);
    KEY_ADD(p, q->cadence.step_ms);
    KEY_ADD(p, q->latency_ms);
    KEY_ADD(p, q->target.kind);
    KEY_ADD(p, q->target.error);
    KEY_ADD(p, q->target.failure);
    bool added;
    uint32_t id = intern(&p->whole_ids, p->key.p, p->key.n, &added);
    p->whole_of[query] = id;
    if (added) {
        w.rest_cost = cost_raw_rest(p, q->expr, &q->cadence) * w.runs_per_s;
        w.reason = refusal(p, q, &w);
        p->wholes = arena_grow(p->arena, p->wholes, &p->wholes_cap, (size_t)p->wholes_n + 1, sizeof *p->wholes);
        if (!p->wholes)
            return;
        p->wholes[p->wholes_n++] = w;
        if (!w.reason)
            add_kept(p, &w);
    }
    if (p->wholes)
        p->wholes[id].queries_n++;
}

/* Those of one node are a list: first_of by node, next by kept. */
static void list_fits(struct planning *p, struct whole *w, const uint32_t *first_of, const uint32_t *next)
{
    const struct workload_query *q = &p->w->queries[w->query];
    double costs[KEPT_PER_WHOLE_MAX];
    uint32_t n = 0;
    bool forced = p->options && p->options->forced; /* what sites stand on is asked: none is left to a stored root */
    w->first = p->fits_n;
    for (uint32_t k = first_of[w->node]; k != PLAN_NONE && !w->reason && !forced && n < KEPT_PER_WHOLE_MAX;
         k = next[k]) {
        if (!fits(&p->kept[k], w)) {
            w->misfit = k;
            continue;
        }
        double run_cost = cost_kept_run(p, expr_of(p, w->node), &p->kept[k], &q->cadence);
        if (q->latency_ms > 0 && run_cost > (double)q->latency_ms)
            w->reason = arena_printf(p->arena, "latency: one evaluation costs %.3g ms, at most %lld are allowed",
                                     run_cost, (long long)q->latency_ms);
        p->fits = arena_grow(p->arena, p->fits, &p->fits_cap, (size_t)p->fits_n + 1, sizeof *p->fits);
        if (!p->fits)
            return;
        p->fits[p->fits_n++] = k;
        costs[n++] = run_cost * w->runs_per_s;
    }
    w->n = w->reason ? 0 : n;
    w->query_cost = arena_dup(p->arena, costs, n * sizeof *costs);
}

/* A site of a query that has no stored root on offer must be answered whatever is chosen. */
static void mark_needed(struct planning *p)
{
    for (uint32_t q = 0; q < p->w->queries_n; q++) {
        if (p->wholes[p->whole_of[q]].n > 0)
            continue;
        for (uint32_t i = p->sites_first[q]; i < p->sites_first[q + 1]; i++)
            p->demands[p->sites[i].demand].needed = true;
    }
}

int planner_offer_stored(struct planning *p, struct err *e)
{
    p->whole_of = ARENA_ARRAY(p->arena, uint32_t, p->w->queries_n);
    int rc = arena_check(p->arena, "planning", e);
    for (uint32_t q = 0; rc == 0 && q < p->w->queries_n; q++) {
        add_whole(p, q);
        rc = arena_check(p->arena, "planning", e);
    }
    uint32_t *first_of = ARENA_ARRAY(p->arena, uint32_t, p->logical.nodes_n);
    uint32_t *next = ARENA_ARRAY(p->arena, uint32_t, (size_t)p->kept_n + 1);
    rc = rc ? rc : arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < p->logical.nodes_n; i++)
        first_of[i] = PLAN_NONE;
    for (uint32_t k = p->kept_n; k-- > 0;) {
        next[k] = first_of[p->kept[k].node];
        first_of[p->kept[k].node] = k;
    }
    for (uint32_t i = 0; i < p->wholes_n; i++)
        list_fits(p, &p->wholes[i], first_of, next);
    rc = arena_check(p->arena, "planning", e);
    if (rc == 0)
        mark_needed(p);
    return rc;
}

void stored_text(const struct planning *p, const struct whole *w, uint32_t kept, struct strbuf *out)
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
    strbuf_printf(out, " of " STR_FMT, STR_ARG(p->logical.nodes[w->node].text));
}
