/*
 * Why a query's half is not another: of each site and spot that the query reads what was not taken, with its reason, or
 * with what it would cost with nobody to share with.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "planner/cost.h"
#include "planner/emit_query.h"
#include "planner/spots.h"
#include "promql/constant.h"

enum { DEARER_TEXT_MAX = 240 };

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

/* Selectors of the newest samples, where panes of them would be dearer: no part of them has a site. */
static bool newest_reason(const struct emitter *m, const struct expr *e, char ret[DEARER_TEXT_MAX])
{
    struct plan_cost panes = {0};
    double raw = 0;
    if (!cost_newest(m->p, e, &m->p->w->queries[m->query].cadence, &panes, &raw) || total(panes) < raw)
        return false;
    dearer_text(panes, raw, "raw samples", ": of each window one sample is read", ret);
    return true;
}

int reject_panes(struct emitter *m, uint32_t logical, struct err *e)
{
    const struct logical_node *n = &m->p->logical.nodes[logical];
    const char *reason = n->has_site ? NULL : no_site_reason(n->expr);
    struct strbuf text = {0};
    char dearer[DEARER_TEXT_MAX];
    if (!reason)
        return 0;
    strbuf_printf(&text, "panes of " STR_FMT, STR_ARG(n->text));
    int rc = reject(m, &text, newest_reason(m, n->expr, dearer) ? dearer : reason, e);
    strbuf_done(&text);
    return rc;
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

/* All candidates of one site that were not taken, with why. None may be when no states by labels may answer it. */
int reject_candidates(struct emitter *m, const struct demand *d, struct err *e)
{
    struct planning *p = m->p;
    const struct candidate *taken = d->chosen == PLAN_NONE ? NULL : &p->candidates[d->chosen];
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

/* ---- spots ---- */

static double demand_alone(const struct planning *p, const struct demand *d, struct plan_cost *ret)
{
    double least = INFINITY;
    for (uint32_t k = d->first; k < d->first + d->n; k++) {
        struct plan_cost cost = p->candidates[k].reason ? (struct plan_cost){0} : cost_alone(p, d, &p->candidates[k]);
        if (p->candidates[k].reason || total(cost) >= least)
            continue;
        least = total(cost);
        *ret = cost;
    }
    return least;
}

static struct plan_cost way_alone(const struct planning *p, const struct spot *s, const struct at_once *way)
{
    struct plan_cost cost = {.query = way->query_cost};
    switch (way->form) {
    case AT_ONCE_PANES:
        demand_alone(p, &p->demands[way->demand], &cost);
        break;
    case AT_ONCE_STORED: {
        const struct kept *k = &p->kept[way->kept];
        cost.ingest = k->build_cost;
        cost.memory = cost_kept_memory(p, k, s->length_ms + k->grid.step_ms);
        break;
    }
    }
    return cost;
}

static double spot_alone(const struct emitter *m, uint32_t spot)
{
    const struct planning *p = m->p;
    const struct spot *s = &p->spots[spot];
    double least = m->parts_alone[spot];
    for (uint32_t i = s->first; i < s->first + s->n; i++)
        if (!p->at_once[i].reason)
            least = fmin(least, total(way_alone(p, s, &p->at_once[i])));
    return least;
}

int price_parts(struct emitter *m, struct err *e)
{
    const struct planning *p = m->p;
    m->parts_alone = ARENA_ARRAY(p->arena, double, p->spots_n);
    struct plan_cost unused;
    int rc = arena_check(p->arena, "planning", e);
    for (uint32_t i = 0; rc == 0 && i < p->spots_n; i++) { /* what is below comes first */
        const struct spot *s = &p->spots[i];
        m->parts_alone[i] = s->rest_cost;
        for (uint32_t k = s->parts_first; k < s->parts_first + s->parts_n; k++)
            m->parts_alone[i] += p->parts[k].spot != PLAN_NONE
                                     ? spot_alone(m, p->parts[k].spot)
                                     : demand_alone(p, &p->demands[p->parts[k].demand], &unused);
    }
    return rc;
}

/* Candidates of states by labels, of which none was taken. */
static int reject_groups(struct emitter *m, const struct demand *d, double taken, const char *what, struct err *e)
{
    const struct planning *p = m->p;
    struct strbuf text = {0};
    char dearer[DEARER_TEXT_MAX];
    int rc = 0;
    for (uint32_t i = d->first; rc == 0 && i < d->first + d->n; i++) {
        const struct candidate *c = &p->candidates[i];
        if (!c->reason) {
            struct plan_cost cost = cost_alone(p, d, c);
            dearer_text(cost, taken, what, total(cost) < taken ? ", which others share" : "", dearer);
        }
        strbuf_clear(&text);
        candidate_text(p, c, &text);
        rc = reject(m, &text, c->reason ? c->reason : dearer, e);
    }
    strbuf_done(&text);
    return rc;
}

/* Ways to answer it at once that were not taken. */
static int reject_ways(struct emitter *m, const struct spot *s, double taken, struct strbuf *text, struct err *e)
{
    const struct planning *p = m->p;
    const char *what = s->chosen == PLAN_NONE ? "its parts" : "the one taken";
    char dearer[DEARER_TEXT_MAX];
    int rc = 0;
    for (uint32_t i = s->first; rc == 0 && i < s->first + s->n; i++) {
        const struct at_once *way = &p->at_once[i];
        if (i == s->chosen)
            continue;
        if (way->form == AT_ONCE_PANES) {
            rc = reject_groups(m, &p->demands[way->demand], taken, what, e);
            continue;
        }
        struct plan_cost cost = way_alone(p, s, way);
        dearer_text(cost, taken, what, total(cost) < taken ? ", which others share" : "", dearer);
        strbuf_clear(text);
        stored_text(p, s, way->kept, text);
        rc = reject(m, text, way->reason ? way->reason : dearer, e);
    }
    return rc;
}

int reject_of_spot(struct emitter *m, uint32_t spot, struct err *e)
{
    const struct planning *p = m->p;
    const struct spot *s = &p->spots[spot];
    bool at_once = s->chosen != PLAN_NONE;
    double taken = at_once ? total(way_alone(p, s, &p->at_once[s->chosen])) : m->parts_alone[spot];
    struct strbuf text = {0};
    int rc = 0;
    if (s->reason) {
        stored_text(p, s, PLAN_NONE, &text);
        rc = reject(m, &text, s->reason, e);
    }
    rc = rc ? rc : reject_ways(m, s, taken, &text, e);
    if (rc == 0 && s->misfit != PLAN_NONE) {
        strbuf_clear(&text);
        stored_text(p, s, s->misfit, &text);
        rc = reject(m, &text, "misaligned: not all times of the query are of its grid", e);
    }
    if (rc == 0 && at_once) {
        char dearer[DEARER_TEXT_MAX];
        bool is_stored = p->at_once[s->chosen].form == AT_ONCE_STORED;
        snprintf(dearer, sizeof dearer, "dearer: %.4g CPU-ms a second on its own, the %s %.4g", m->parts_alone[spot],
                 is_stored ? "stored root" : "states by labels", taken);
        strbuf_clear(&text);
        strbuf_printf(&text, "panes and raw samples of " STR_FMT, STR_ARG(p->logical.nodes[s->node].text));
        rc = reject(m, &text, dearer, e);
    }
    strbuf_done(&text);
    return rc;
}
