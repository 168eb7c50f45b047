#include "planner/emit_query.h"

#include <stdlib.h>

#include "planner/accuracy.h"
#include "planner/cost.h"

/* A node of the query half; PLAN_NONE: nothing kept is read at or below, so it is left to a raw node further up. */
struct made {
    uint32_t node;
    struct accuracy guarantee;
};

int emit_costs(struct emitter *m, struct err *e)
{
    struct planning *p = m->p;
    m->chain_share = arena_zalloc(p->arena, p->chains_n * sizeof *m->chain_share);
    m->memory_share = arena_zalloc(p->arena, p->chains_n * sizeof *m->memory_share);
    int rc = price_parts(m, e);
    if (rc != 0)
        return rc;
    double *readers_n = m->chain_share; /* first the counts, then what is divided by them */
    for (uint32_t i = 0; i < p->demands_n; i++) {
        const struct demand *d = &p->demands[i];
        if (d->chosen == PLAN_NONE || p->candidates[d->chosen].form == FORM_RAW)
            continue;
        const struct candidate *c = &p->candidates[d->chosen];
        for (uint32_t k = candidate_top(c); k != PLAN_NONE; k = candidate_next(p, c, k))
            readers_n[k] += d->readers_n;
    }
    for (uint32_t i = 0; i < p->chains_n; i++) {
        const struct chain *c = &p->chains[i];
        if (c->users_n == 0)
            continue;
        m->memory_share[i] = cost_memory(p, c, cost_held_ms(c, c->reach_ms)) / readers_n[i];
        double read =
            c->when == WHEN_INGESTION && c->ratio == 0 ? p->reads[c->read].cost / p->reads[c->read].users_n : 0;
        m->chain_share[i] = (c->build_cost + read) / readers_n[i];
    }
    return 0;
}

/* A part left to raw because nothing in it could have stood on panes, or nothing that was taken does. */
static int emit_left_over(struct emitter *m, uint32_t logical, uint32_t *ret, struct err *e)
{
    int rc = reject_panes(m, logical, e);
    return rc == 0 ? emit_raw(m, logical, ret, e) : rc;
}

static int emit_at_once(struct emitter *m, uint32_t logical, const struct at_once *way, struct made *ret, struct err *e)
{
    switch (way->form) {
    case AT_ONCE_PANES: {
        const struct candidate *c = &m->p->candidates[m->p->demands[way->demand].chosen];
        ret->guarantee = c->guarantee;
        return emit_estimate(m, logical, c, &ret->node, e);
    }
    case AT_ONCE_STORED:
        ret->guarantee = (struct accuracy){ACCURACY_EXACT, 0, 0};
        return emit_stored(m, way->kept, &ret->node, e);
    }
    return 0;
}

/* As deep as the tree, which the parser bounds. */
static int emit_part(struct emitter *m, uint32_t logical, struct made *ret, struct err *e)
{
    const struct logical *l = &m->p->logical;
    const struct logical_node *n = &l->nodes[logical];
    *ret = (struct made){PLAN_NONE, {ACCURACY_EXACT, 0, 0}};
    if (m->at_once[logical])
        return emit_at_once(m, logical, &m->p->at_once[m->at_once[logical] - 1], ret, e);
    if (planning_is_leaf(n)) {
        const struct candidate *c = &m->p->candidates[m->chosen[logical] - 1];
        if (c->form == FORM_RAW)
            return 0;
        ret->guarantee = c->guarantee;
        return emit_estimate(m, logical, c, &ret->node, e);
    }
    uint32_t *inputs = ARENA_ARRAY(m->p->arena, uint32_t, n->in_n);
    struct accuracy *guarantees = ARENA_ARRAY(m->p->arena, struct accuracy, n->in_n);
    int rc = arena_check(m->p->arena, "planning", e);
    bool any = false;
    for (uint32_t i = 0; rc == 0 && i < n->in_n; i++) {
        struct made made;
        rc = emit_part(m, l->edges[n->in_first + i], &made, e);
        inputs[i] = made.node;
        guarantees[i] = made.guarantee;
        any |= made.node != PLAN_NONE;
    }
    if (rc != 0 || !any)
        return rc;
    for (uint32_t i = 0; rc == 0 && i < n->in_n; i++) {
        if (inputs[i] == PLAN_NONE)
            rc = emit_left_over(m, l->edges[n->in_first + i], &inputs[i], e);
    }
    if (rc == 0 && !accuracy_up(l, logical, guarantees, &ret->guarantee))
        ret->guarantee = (struct accuracy){ACCURACY_NONE, 0, 0}; /* which only a query that asks for nothing may have */
    return rc == 0 ? emit_vector(m, logical, inputs, n->in_n, &ret->node, e) : rc;
}

static int by_id(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return (a > b) - (a < b);
}

/* What the query's sites took: views, costs, and the reasons against the rest. */
static int emit_sites(struct emitter *m, uint32_t q, struct plan_query *out, struct err *e)
{
    struct planning *p = m->p;
    uint32_t first = p->sites_first[q], n = p->sites_first[q + 1] - first;
    uint32_t *uses = ARENA_ARRAY(m->plan->arena, uint32_t, n);
    int rc = arena_check(m->plan->arena, "plan", e);
    uint32_t uses_n = 0;
    for (uint32_t i = first; rc == 0 && i < first + n; i++) {
        const struct demand *d = &p->demands[p->sites[i].demand];
        bool has_spot = d->allowed_n > 0; /* whose reasons say why it is not read */
        if (!p->sites[i].read && !has_spot)
            rc = reject_candidates(m, d, e);
        if (!p->sites[i].read)
            continue;
        const struct candidate *c = &p->candidates[d->chosen];
        m->chosen[p->sites[i].node] = d->chosen + 1;
        out->cost.query += c->query_cost / d->readers_n;
        if (c->form != FORM_RAW) {
            for (uint32_t k = candidate_top(c); k != PLAN_NONE; k = candidate_next(p, c, k)) {
                *(c->when == WHEN_INGESTION ? &out->cost.ingest : &out->cost.query) += m->chain_share[k];
                out->cost.memory += m->memory_share[k];
            }
            uses[uses_n++] = p->chains[c->chain].view;
        }
        rc = reject_candidates(m, d, e);
    }
    if (rc != 0)
        return rc;
    if (uses_n > 1)
        qsort(uses, uses_n, sizeof *uses, by_id);
    for (uint32_t i = 0; i < uses_n; i++) {
        if (i == 0 || uses[i] != uses[i - 1])
            uses[out->uses_n++] = uses[i];
    }
    out->uses = uses;
    return 0;
}

/* One reader's share of what a way costs. */
static void add_share(const struct planning *p, const struct spot *s, const struct at_once *way, struct plan_cost *cost)
{
    cost->query += way->query_cost / s->readers_n;
    switch (way->form) {
    case AT_ONCE_PANES:
        break; /* its demand's */
    case AT_ONCE_STORED: {
        const struct kept *k = &p->kept[way->kept];
        cost->ingest += k->build_cost / k->users_n;
        cost->memory += cost_kept_memory(p, k, k->length_ms + k->grid.step_ms) / k->users_n;
        break;
    }
    }
}

/* What the query's spots took, the root first: costs, and the reasons against the rest. */
static int emit_spots(struct emitter *m, uint32_t q, struct plan_query *out, struct err *e)
{
    struct planning *p = m->p;
    int rc = 0;
    for (uint32_t i = p->query_spots_first[q + 1]; rc == 0 && i-- > p->query_spots_first[q];) {
        const struct query_spot *mine = &p->query_spots[i];
        const struct spot *s = &p->spots[mine->spot];
        if (!mine->read)
            continue;
        if (s->chosen == PLAN_NONE) {
            out->cost.query += s->rest_cost / s->readers_n;
        } else {
            m->at_once[s->node] = s->chosen + 1;
            add_share(p, s, &p->at_once[s->chosen], &out->cost);
        }
        rc = reject_of_spot(m, mine->spot, e);
    }
    return rc;
}

static void end_spots(struct emitter *m, uint32_t q)
{
    const struct planning *p = m->p;
    for (uint32_t i = p->query_spots_first[q]; i < p->query_spots_first[q + 1]; i++)
        m->at_once[p->spots[p->query_spots[i].spot].node] = 0;
}

int emit_query(struct emitter *m, uint32_t q, struct err *e)
{
    struct planning *p = m->p;
    struct plan *plan = m->plan;
    const struct workload_query *in = &p->w->queries[q];
    const struct logical_node *root = &p->logical.nodes[p->roots[q]];
    struct plan_query *out = &m->queries[q];
    *out = (struct plan_query){.cadence = in->cadence, .target = in->target};
    out->name = (struct str){arena_strndup(plan->arena, in->name.p, in->name.n), in->name.n};
    out->text = (struct str){arena_strndup(plan->arena, root->text.p, root->text.n), root->text.n};
    if (in->cadence.at_n)
        out->cadence.at_ms = arena_dup(plan->arena, in->cadence.at_ms, in->cadence.at_n * sizeof *in->cadence.at_ms);
    m->query = q;
    m->rejected_n = 0;
    struct made made;
    int rc = emit_sites(m, q, out, e);
    rc = rc ? rc : emit_spots(m, q, out, e);
    rc = rc ? rc : emit_part(m, p->roots[q], &made, e);
    if (rc == 0 && made.node == PLAN_NONE)
        rc = emit_left_over(m, p->roots[q], &made.node, e);
    end_spots(m, q);
    if (rc != 0)
        return rc;
    if (!accuracy_meets(&made.guarantee, &in->target))
        return err_set(e, ERR_INTERNAL, "query " STR_FMT ": the plan made does not meet its accuracy target",
                       STR_ARG(root->text));
    out->root = made.node;
    out->guarantee = made.guarantee;
    out->rejected = arena_dup(plan->arena, m->rejected, m->rejected_n * sizeof *m->rejected);
    out->rejected_n = m->rejected_n;
    plan->queries_n = q + 1;
    return arena_check(plan->arena, "plan", e);
}
