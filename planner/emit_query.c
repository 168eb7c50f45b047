#include "planner/emit_query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "planner/accuracy.h"
#include "planner/cost.h"
#include "promql/constant.h"

enum { DEARER_TEXT_MAX = 240 };

/* A node of the query half; PLAN_NONE: no pane is read at or below, so it is left to a raw node further up. */
struct made {
    uint32_t node;
    struct accuracy guarantee;
};

int emit_costs(struct emitter *m, struct err *e)
{
    struct planning *p = m->p;
    m->chain_share = arena_zalloc(p->arena, p->chains_n * sizeof *m->chain_share);
    m->memory_share = arena_zalloc(p->arena, p->chains_n * sizeof *m->memory_share);
    int rc = arena_check(p->arena, "planning", e);
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

static int reject(struct emitter *m, struct strbuf *candidate, const char *reason, struct err *e)
{
    struct plan *plan = m->plan;
    const char *text = arena_strndup(plan->arena, candidate->p, candidate->n);
    const char *why = arena_strndup(plan->arena, reason, strlen(reason));
    int rc = arena_check(plan->arena, "plan", e);
    if (rc == 0) {
        m->rejected = mem_grow(m->rejected, &m->rejected_cap, m->rejected_n + 1, sizeof *m->rejected);
        m->rejected[m->rejected_n++] = (struct plan_rejected){{text, candidate->n}, str_of(why)};
    }
    return rc;
}

/* Why an expression without a site is read from raw samples; NULL when it reads none. */
static const char *no_site_reason(const struct expr *e)
{
    if (e->kind == EXPR_SELECTOR && e->type == VALUE_VECTOR)
        return "no_site: an instant selector has no window that panes could tile";
    if (e->kind == EXPR_SUBQUERY)
        return "no_site: the steps of a subquery are not windows of samples";
    for (uint32_t i = 0; i < e->args_n; i++) {
        const struct expr *arg = expr_unwrap(e->args[i]), *parameter = site_parameter(e);
        double constant;
        if (arg->kind != EXPR_SELECTOR || arg->type != VALUE_MATRIX)
            continue;
        if (parameter && (!expr_constant(parameter, &constant) || !isfinite(constant)))
            return "not_constant: the function's parameter is no finite number that the plan can know";
        return "no_family: no pane family answers this function of this selector";
    }
    for (uint32_t i = 0; i < e->args_n; i++) {
        const char *reason = no_site_reason(expr_unwrap(e->args[i]));
        if (reason)
            return reason;
    }
    return NULL;
}

/* A part left to raw because nothing in it could have stood on panes. */
static int emit_left_over(struct emitter *m, uint32_t logical, uint32_t *ret, struct err *e)
{
    const struct logical_node *n = &m->p->logical.nodes[logical];
    const char *reason = n->has_site ? NULL : no_site_reason(n->expr);
    int rc = 0;
    if (reason) {
        struct strbuf text = {0};
        strbuf_printf(&text, "panes of " STR_FMT, STR_ARG(n->text));
        rc = reject(m, &text, reason, e);
        strbuf_done(&text);
    }
    return rc == 0 ? emit_raw(m, logical, ret, e) : rc;
}

/* As deep as the tree, which the parser bounds. */
static int emit_panes(struct emitter *m, uint32_t logical, struct made *ret, struct err *e)
{
    const struct logical *l = &m->p->logical;
    const struct logical_node *n = &l->nodes[logical];
    *ret = (struct made){PLAN_NONE, {ACCURACY_EXACT, 0, 0}};
    if (!n->has_site)
        return 0;
    if (n->is_site) {
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
        rc = emit_panes(m, l->edges[n->in_first + i], &made, e);
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
        rc = err_set(e, ERR_INTERNAL, "no accuracy rule for " STR_FMT, STR_ARG(n->text));
    return rc == 0 ? emit_vector(m, logical, inputs, n->in_n, &ret->node, e) : rc;
}

/* What a candidate that may be chosen would cost with nobody to share with, split as a query's own cost is. */
static struct plan_cost cost_alone(const struct planning *p, const struct demand *d, const struct candidate *c)
{
    struct plan_cost cost = {.query = c->query_cost};
    for (uint32_t k = candidate_top(c); k != PLAN_NONE; k = candidate_next(p, c, k)) {
        const struct chain *chain = &p->chains[k];
        int64_t reach_ms = cost_reach_ms(d, chain->grid.step_ms);
        if (c->when == WHEN_INGESTION)
            cost.ingest += chain->build_cost + (chain->ratio ? 0 : p->reads[chain->read].cost);
        else
            cost.query += chain->build_cost;
        cost.memory += cost_memory(p, chain, cost_held_ms(chain, reach_ms));
    }
    return cost;
}

static double total(struct plan_cost c)
{
    return c.ingest + c.query + c.memory;
}

static void dearer_text(struct plan_cost c, double taken_cost, const char *taken, const char *note,
                        char ret[DEARER_TEXT_MAX])
{
    snprintf(ret, DEARER_TEXT_MAX,
             "dearer: %.4g CPU-ms a second on its own (ingest %.4g, query %.4g, memory %.4g), %s %.4g%s", total(c),
             c.ingest, c.query, c.memory, taken, taken_cost, note);
}

static const char *taken_name(const struct planning *p, const struct candidate *c)
{
    if (c->form == FORM_RAW)
        return "raw samples";
    return p->chains[c->chain].finer ? "the finer panes taken" : "the panes taken";
}

/* Why a candidate that may be chosen was not: what it costs alone, or that the limit keeps out what would be better. */
static const char *choice_reason(const struct planning *p, const struct demand *d, uint32_t candidate,
                                 char ret[DEARER_TEXT_MAX])
{
    const struct candidate *c = &p->candidates[candidate], *taken = &p->candidates[d->chosen];
    struct plan_cost cost = cost_alone(p, d, c);
    bool limited = p->answer.free_cost < p->answer.cost;
    double taken_cost = total(cost_alone(p, d, taken));
    bool better = candidate == d->free_choice || total(cost) < taken_cost;
    if (limited && better && c->form != FORM_RAW)
        snprintf(ret, DEARER_TEXT_MAX,
                 "memory_limit: its states do not fit beside the others (%.4g CPU-ms a second on its own)",
                 total(cost));
    else
        dearer_text(cost, taken_cost, taken_name(p, taken), better ? ", which others share" : "", ret);
    return ret;
}

/* All candidates of one site that were not taken, with why. */
static int reject_others(struct emitter *m, const struct demand *d, struct err *e)
{
    struct planning *p = m->p;
    const struct candidate *taken = &p->candidates[d->chosen];
    struct strbuf text = {0};
    int rc = 0;
    for (uint32_t i = d->first; rc == 0 && i < d->first + d->n; i++) {
        const struct candidate *c = &p->candidates[i];
        char dearer[DEARER_TEXT_MAX];
        const char *reason = c->reason;
        strbuf_clear(&text);
        candidate_text(p, c, &text);
        if (c == taken) {
            if (!d->raw_note)
                continue;
            char note[400];
            snprintf(note, sizeof note, "%s; chosen all the same: nothing else can answer, and raw is kept for refresh",
                     d->raw_note);
            rc = reject(m, &text, note, e);
            continue;
        }
        if (!reason)
            reason = choice_reason(p, d, i, dearer);
        rc = reject(m, &text, reason, e);
    }
    strbuf_done(&text);
    return rc;
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
        rc = reject_others(m, d, e);
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

/* What its parts would cost with nobody to share with: the cheapest of each. */
static double parts_alone(const struct planning *p, const struct whole *w)
{
    double cost = w->rest_cost;
    for (uint32_t i = p->sites_first[w->query]; i < p->sites_first[w->query + 1]; i++) {
        const struct demand *d = &p->demands[p->sites[i].demand];
        double least = INFINITY;
        for (uint32_t k = d->first; k < d->first + d->n; k++)
            if (!p->candidates[k].reason)
                least = fmin(least, total(cost_alone(p, d, &p->candidates[k])));
        cost += least;
    }
    return cost;
}

static struct plan_cost root_alone(const struct planning *p, const struct whole *w, const struct kept *k,
                                   double query_cost)
{
    return (struct plan_cost){k->build_cost, query_cost, cost_kept_memory(p, k, w->length_ms + k->grid.step_ms)};
}

/* What the query took would cost with nobody to share with. */
static double taken_alone(const struct planning *p, const struct whole *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (p->fits[w->first + i] == w->chosen)
            return total(root_alone(p, w, &p->kept[w->chosen], w->query_cost[i]));
    return parts_alone(p, w);
}

/* The stored roots that the query does not read, and its parts when it reads one, with why. */
static int reject_roots(struct emitter *m, const struct whole *w, struct err *e)
{
    const struct planning *p = m->p;
    struct strbuf text = {0};
    char dearer[DEARER_TEXT_MAX];
    double taken = taken_alone(p, w);
    int rc = 0;
    if (w->reason) {
        stored_text(p, w, PLAN_NONE, &text);
        rc = reject(m, &text, w->reason, e);
    }
    for (uint32_t i = 0; rc == 0 && i < w->n; i++) {
        const struct kept *k = &p->kept[p->fits[w->first + i]];
        if (p->fits[w->first + i] == w->chosen)
            continue;
        struct plan_cost cost = root_alone(p, w, k, w->query_cost[i]);
        dearer_text(cost, taken, w->chosen == PLAN_NONE ? "its parts" : "the one taken",
                    total(cost) < taken ? ", which others share" : "", dearer);
        strbuf_clear(&text);
        stored_text(p, w, p->fits[w->first + i], &text);
        rc = reject(m, &text, dearer, e);
    }
    if (rc == 0 && w->misfit != PLAN_NONE) {
        strbuf_clear(&text);
        stored_text(p, w, w->misfit, &text);
        rc = reject(m, &text, "misaligned: not all times of the query are of its grid", e);
    }
    if (rc == 0 && w->chosen != PLAN_NONE) {
        snprintf(dearer, sizeof dearer, "dearer: %.4g CPU-ms a second on its own, the stored root %.4g",
                 parts_alone(p, w), taken);
        strbuf_clear(&text);
        strbuf_printf(&text, "panes and raw samples of " STR_FMT, STR_ARG(p->logical.nodes[w->node].text));
        rc = reject(m, &text, dearer, e);
    }
    strbuf_done(&text);
    return rc;
}

/* The query's root, and what it costs, when it is read from a stored root. */
static int emit_from_root(struct emitter *m, const struct whole *w, struct plan_query *out, struct made *ret,
                          struct err *e)
{
    const struct kept *k = &m->p->kept[w->chosen];
    for (uint32_t i = 0; i < w->n; i++)
        if (m->p->fits[w->first + i] == w->chosen)
            out->cost.query = w->query_cost[i] / w->queries_n;
    out->cost.ingest = k->build_cost / k->users_n;
    out->cost.memory = cost_kept_memory(m->p, k, k->length_ms + k->grid.step_ms) / k->users_n;
    ret->guarantee = (struct accuracy){ACCURACY_EXACT, 0, 0};
    return emit_stored(m, w->chosen, &ret->node, e);
}

static int emit_from_parts(struct emitter *m, uint32_t q, struct plan_query *out, struct made *ret, struct err *e)
{
    const struct workload_query *in = &m->p->w->queries[q];
    out->cost.query = cost_raw_rest(m->p, in->expr, &in->cadence) * cost_runs_per_s(&in->cadence);
    int rc = emit_sites(m, q, out, e);
    if (rc == 0)
        rc = emit_panes(m, m->p->roots[q], ret, e);
    if (rc == 0 && ret->node == PLAN_NONE)
        rc = emit_left_over(m, m->p->roots[q], &ret->node, e);
    return rc;
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
    const struct whole *whole = &p->wholes[p->whole_of[q]];
    m->rejected_n = 0;
    struct made made;
    int rc =
        whole->chosen == PLAN_NONE ? emit_from_parts(m, q, out, &made, e) : emit_from_root(m, whole, out, &made, e);
    if (rc == 0)
        rc = reject_roots(m, whole, e);
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
