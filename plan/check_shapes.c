/* Ids, ranges and numbers, each by itself: after this every index of the plan may be followed. */
#include <math.h>

#include "plan/check_internal.h"
#include "plan/file.h"
#include "plan/file_format.h"

static bool is_amount(double v)
{
    return isfinite(v) && v >= 0;
}

static int check_counts(struct check *c)
{
    const struct plan *p = c->p;
    if (p->nodes_n > PLAN_NODES_MAX || p->sources_n > PLAN_NODES_MAX || p->views_n > PLAN_VIEWS_MAX ||
        p->stored_roots_n > PLAN_VIEWS_MAX)
        return err_set(c->e, ERR_LIMIT, "the plan has %u nodes, %u sources, %u views; the most are %d, %d, %d",
                       p->nodes_n, p->sources_n, p->views_n, PLAN_NODES_MAX, PLAN_NODES_MAX, PLAN_VIEWS_MAX);
    if (!isfinite(p->solver.bound) || !isfinite(p->solver.gap))
        return err_set(c->e, ERR_BAD_DATA, "solver: bad_solver: bound and gap must be finite numbers");
    return 0;
}

static int check_source(struct check *c, uint32_t id)
{
    const struct plan_source *s = &c->p->sources[id];
    if (s->matchers_n == 0 || s->matchers_n > PLAN_MATCHERS_MAX)
        return check_fail(c, "source", id, "bad_source", "it has %u matchers, 1 to %d are possible", s->matchers_n,
                          PLAN_MATCHERS_MAX);
    if (s->lookback_ms < 0 || !check_is_ms(s->lookback_ms))
        return check_fail(c, "source", id, "bad_source", "its look-back is out of range");
    for (uint32_t i = 0; i < s->matchers_n; i++) {
        const struct matcher *m = &s->matchers[i];
        if (m->op < MATCH_EQ || m->op > MATCH_NRE)
            return check_fail(c, "source", id, "bad_source", "matcher %u has no operator", i);
        if (!utf8_valid(m->name.p, m->name.n) || !utf8_valid(m->value.p, m->value.n))
            return check_fail(c, "source", id, "bad_source", "matcher %u is not UTF-8", i);
        if (i > 0 && matcher_cmp(&s->matchers[i - 1], m) > 0)
            return check_fail(c, "source", id, "bad_source", "its matchers are not sorted by name, op, value");
    }
    return 0;
}

static int check_node_edges(struct check *c, uint32_t id)
{
    const struct plan *p = c->p;
    const struct plan_node *n = &p->nodes[id];
    if (n->in_first > p->edges_n || n->in_n > p->edges_n - n->in_first)
        return check_fail_node(c, id, "bad_input", "its inputs are outside the plan's edges");
    for (uint32_t i = 0; i < n->in_n; i++)
        if (p->edges[n->in_first + i] >= id)
            return check_fail_node(c, id, "bad_input", "input %u is node %u, inputs have smaller ids", i,
                                   p->edges[n->in_first + i]);
    return 0;
}

static int check_node(struct check *c, uint32_t id)
{
    const struct plan *p = c->p;
    const struct plan_node *n = &p->nodes[id];
    if (n->op <= PLAN_OP_INVALID || n->op >= PLAN_OP_END)
        return check_fail(c, "node", id, "bad_node", "unknown operator");
    if (n->half != HALF_PRECOMPUTE && n->half != HALF_QUERY)
        return check_fail_node(c, id, "bad_node", "it is in neither half of the plan");
    int rc = check_node_edges(c, id);
    if (rc != 0)
        return rc;
    uint32_t has = plan_op_args(n->op);
    if ((has & ARG_SOURCE) && n->source >= p->sources_n)
        return check_fail_node(c, id, "bad_node", "there is no source %u", n->source);
    if ((has & ARG_VIEW) && n->view >= p->views_n)
        return check_fail_node(c, id, "bad_node", "there is no view %u", n->view);
    if ((has & ARG_ROOT) && n->stored_root >= p->stored_roots_n)
        return check_fail_node(c, id, "bad_node", "there is no stored root %u", n->stored_root);
    if ((has & ARG_TIME) && (!check_is_ms(n->offset_ms) || (n->anchored && !check_is_ms(n->at_ms))))
        return check_fail_node(c, id, "bad_node", "its offset or anchor is out of range");
    if ((has & ARG_COUNT) && n->count == 0)
        return check_fail_node(c, id, "empty_merge", "a chain needs at least one pane");
    if ((has & ARG_COUNT) && n->count > PLAN_PANES_MAX)
        return check_fail_node(c, id, "bad_node", "a chain of %u panes, the most are %d", n->count, PLAN_PANES_MAX);
    if ((has & ARG_STATISTIC) && !isfinite(n->q))
        return check_fail_node(c, id, "bad_node", "q is not a finite number");
    if ((has & ARG_EXPR) && (!n->expr || !n->expr_text.p))
        return check_fail_node(c, id, "bad_node", "it has no expression");
    return 0;
}

static int check_view(struct check *c, uint32_t id)
{
    const struct plan *p = c->p;
    const struct plan_view *v = &p->views[id];
    if (v->node >= p->nodes_n)
        return check_fail(c, "view", id, "bad_view", "there is no node %u", v->node);
    if (v->source >= p->sources_n)
        return check_fail(c, "view", id, "bad_view", "there is no source %u", v->source);
    if (v->level_of != PLAN_NONE && v->level_of >= p->views_n)
        return check_fail(c, "view", id, "bad_view", "it rolls up view %u, which there is not", v->level_of);
    if (v->when < WHEN_INGESTION || v->when > WHEN_QUERY)
        return check_fail(c, "view", id, "bad_view", "it is not said when it is built");
    if (!family_get(v->family))
        return check_fail(c, "view", id, "bad_view", "unknown family");
    if (v->panes.step_ms > PLAN_PANE_MAX_MS)
        return check_fail(c, "view", id, "pane_too_wide", "panes of %lld ms, the widest are 24 days",
                          (long long)v->panes.step_ms);
    if (!check_is_grid(&v->panes))
        return check_fail(c, "view", id, "bad_view", "width %lld ms and phase %lld ms: 0 <= phase < width is needed",
                          (long long)v->panes.step_ms, (long long)v->panes.phase_ms);
    if (v->panes_n == 0 || v->panes_n > PLAN_PANES_MAX)
        return check_fail(c, "view", id, "bad_view", "%u panes a window, 1 to %d are possible", v->panes_n,
                          PLAN_PANES_MAX);
    if (v->retention_ms < 0 || v->retention_ms > PLAN_MS_MAX || v->backfill_ms < 0 || v->backfill_ms > PLAN_MS_MAX)
        return check_fail(c, "view", id, "bad_view", "its retention or backfill is out of range");
    return 0;
}

static int check_stored_root(struct check *c, uint32_t id)
{
    const struct plan_stored_root *r = &c->p->stored_roots[id];
    if (r->node >= c->p->nodes_n)
        return check_fail(c, "stored root", id, "bad_root", "there is no node %u", r->node);
    if (!check_is_grid(&r->grid))
        return check_fail(c, "stored root", id, "bad_root", "its grid must have 0 <= phase < step");
    if (r->retention_ms < 0 || r->retention_ms > PLAN_MS_MAX)
        return check_fail(c, "stored root", id, "bad_root", "its retention is out of range");
    return 0;
}

static bool accuracy_is_valid(const struct accuracy *a)
{
    if (a->kind < ACCURACY_EXACT || a->kind > ACCURACY_NONE || !is_amount(a->error) || !is_amount(a->failure))
        return false;
    bool has_error = a->kind != ACCURACY_EXACT && a->kind != ACCURACY_NONE;
    return a->failure < 1 && (has_error || a->error == 0);
}

static bool cadence_is_valid(const struct cadence *cadence)
{
    if (!check_is_ms(cadence->phase_ms) || cadence->length_ms < 0 || cadence->length_ms > PLAN_MS_MAX ||
        cadence->step_ms < 0 || cadence->step_ms > PLAN_MS_MAX)
        return false;
    if (cadence->length_ms > 0 && cadence->step_ms == 0)
        return false;
    switch (cadence->kind) {
    case CADENCE_EVERY:
        return cadence->every_ms > 0 && cadence->every_ms <= PLAN_MS_MAX;
    case CADENCE_AT:
        for (uint32_t i = 0; i < cadence->at_n; i++)
            if (!check_is_ms(cadence->at_ms[i]))
                return false;
        return cadence->at_n > 0;
    case CADENCE_RATE:
        return is_amount(cadence->rate_per_s);
    case CADENCE_ONCE:
        return true;
    }
    return false;
}

static int check_query(struct check *c, uint32_t id)
{
    const struct plan_query *q = &c->p->queries[id];
    if (!utf8_valid(q->name.p, q->name.n) || !utf8_valid(q->text.p, q->text.n))
        return check_fail(c, "query", id, "bad_query", "its name or text is not UTF-8");
    if (q->root >= c->p->nodes_n)
        return check_fail(c, "query", id, "bad_query", "there is no node %u", q->root);
    if (!cadence_is_valid(&q->cadence))
        return check_fail(c, "query", id, "bad_query",
                          "its cadence is not one: intervals are above 0, times given, "
                          "and a range query has a step");
    if (!accuracy_is_valid(&q->target) || !accuracy_is_valid(&q->guarantee))
        return check_fail(c, "query", id, "bad_query",
                          "its accuracy or guarantee is not one: error >= 0 (0 for exact), "
                          "0 <= failure < 1");
    if (!is_amount(q->cost.ingest) || !is_amount(q->cost.query) || !is_amount(q->cost.memory))
        return check_fail(c, "query", id, "bad_query", "its costs must be finite numbers >= 0");
    return 0;
}

int check_shapes(struct check *c)
{
    const struct plan *p = c->p;
    int rc = check_counts(c);
    for (uint32_t i = 0; i < p->sources_n && rc == 0; i++)
        rc = check_source(c, i);
    for (uint32_t i = 0; i < p->nodes_n && rc == 0; i++)
        rc = check_node(c, i);
    for (uint32_t i = 0; i < p->views_n && rc == 0; i++)
        rc = check_view(c, i);
    for (uint32_t i = 0; i < p->stored_roots_n && rc == 0; i++)
        rc = check_stored_root(c, i);
    for (uint32_t i = 0; i < p->queries_n && rc == 0; i++)
        rc = check_query(c, i);
    return rc;
}
