#include "executor/bind.h"

#include "executor/panes.h"
#include "executor/stored.h"
#include "plan/coverage.h"
#include "plan/series_order.h"
#include "promql/print.h"

struct binder {
    const struct plan *plan;
    const struct times *times;
    const struct query_options *options;
    struct accuracy want;
    struct arena *arena;
    const struct logical *logical;
    uint32_t *view_of; /* [logical nodes]: the view bound to a site, or PLAN_NONE */
    uint32_t *root_of; /* [logical nodes]: the stored root that keeps it, or PLAN_NONE */
    bool *ordered;     /* [logical nodes]: an operator above it minds the order of series */
    bool *binds_below; /* [logical nodes]: it or a node below reads what is kept */
    uint32_t *made;    /* [logical nodes]: plan node, or PLAN_NONE */
    struct plan_node *nodes;
    uint32_t *edges;
    uint32_t nodes_n, edges_n;
    size_t nodes_cap, edges_cap;
};

bool estimate_site_of(const struct expr *e, struct arena *a, struct site *ret)
{
    return site_of(e, ret) || group_site_of(e, a, ret);
}

/* Are the states of what the site reads: of single series, or of groups that each lie within one of its own? */
static bool same_states(const struct plan_view *v, const struct site *site)
{
    const struct site_group *g = site->group;
    if (!g || v->per_series)
        return !g && v->per_series;
    return view_input_eq(&v->input, &g->input) &&
           coverage_groups(v->family, v->reduce, v->reduce_n, g->by, g->by_n, NULL) == 0 &&
           (site->statistic != STATISTIC_TOPK || v->params.heap >= g->top);
}

static bool view_serves(const struct binder *b, const struct plan_view *v, const struct site *site,
                        const struct accuracy *want)
{
    const struct plan_source *source = &b->plan->sources[v->source];
    /* A roll-up is read with the view it rolls up, which serves whatever it would. */
    if (v->when != WHEN_INGESTION || v->level_of != PLAN_NONE || !same_states(v, site))
        return false;
    if (!matchers_eq(source->matchers, source->matchers_n, site->selector->matchers, site->selector->matchers_n))
        return false;
    struct accuracy have = accuracy_of_states(v->family, &v->params, site->statistic, want->failure);
    return have.kind && accuracy_meets(&have, want) && panes_fit(v, site, b->times) != PANES_UNFIT;
}

/* Of the views that serve, one whose panes tile the window before one with ragged edges, then the one by the fewest
 * labels, then the widest: the fewest states to read; the first of equals. */
static uint32_t view_for(const struct binder *b, const struct site *site, const struct accuracy *want)
{
    uint32_t best = PLAN_NONE;
    enum pane_fit best_fit = PANES_UNFIT;
    for (uint32_t i = 0; i < b->plan->views_n; i++) {
        const struct plan_view *v = &b->plan->views[i];
        if (plan_view_refused(b->plan, i) || !view_serves(b, v, site, want))
            continue;
        enum pane_fit fit = panes_fit(v, site, b->times);
        const struct plan_view *than = best == PLAN_NONE ? NULL : &b->plan->views[best];
        if (fit > best_fit ||
            (fit == best_fit && (v->reduce_n < than->reduce_n ||
                                 (v->reduce_n == than->reduce_n && v->panes.step_ms > than->panes.step_ms)))) {
            best = i;
            best_fit = fit;
        }
    }
    return best;
}

static uint32_t add_node(struct binder *b, const struct plan_node *node)
{
    b->nodes = arena_grow(b->arena, b->nodes, &b->nodes_cap, b->nodes_n + 1u, sizeof *b->nodes);
    if (!b->nodes)
        return PLAN_NONE;
    b->nodes[b->nodes_n] = *node;
    return b->nodes_n++;
}

static uint32_t add_edges(struct binder *b, const uint32_t *in, uint32_t n)
{
    b->edges = arena_grow(b->arena, b->edges, &b->edges_cap, b->edges_n + n + 1u, sizeof *b->edges);
    if (!b->edges)
        return 0;
    uint32_t first = b->edges_n;
    for (uint32_t i = 0; i < n; i++)
        b->edges[b->edges_n++] = in[i];
    return first;
}

static const struct site *site_at(const struct logical_node *l)
{
    return l->is_site ? &l->site : l->is_group_site ? &l->group_site : NULL;
}

static uint32_t add_query_node(struct binder *b, enum plan_op op, const struct logical_node *l, const uint32_t *in,
                               uint32_t n)
{
    struct plan_node node = {.op = op,
                             .half = HALF_QUERY,
                             .out = plan_op_out(op),
                             .in_first = add_edges(b, in, n),
                             .in_n = n,
                             .source = PLAN_NONE,
                             .view = PLAN_NONE,
                             .stored_root = PLAN_NONE,
                             .expr_text = l->text,
                             .expr = l->expr};
    if (op == PLAN_OP_ESTIMATE) {
        node.statistic = site_at(l)->statistic;
        node.q = site_at(l)->q;
    }
    return add_node(b, &node);
}

static uint32_t add_site(struct binder *b, uint32_t id)
{
    const struct logical_node *l = &b->logical->nodes[id];
    const struct plan_view *v = &b->plan->views[b->view_of[id]];
    const struct site *site = site_at(l);
    struct plan_node read = {.op = PLAN_OP_PANE_READ,
                             .half = HALF_QUERY,
                             .out = OUT_STATE,
                             .source = PLAN_NONE,
                             .view = b->view_of[id],
                             .count = (uint32_t)(site->range_ms / v->panes.step_ms),
                             .offset_ms = site->offset_ms,
                             .anchored = site->anchored,
                             .at_ms = site->at_ms,
                             .stored_root = PLAN_NONE};
    uint32_t in = add_node(b, &read);
    return in == PLAN_NONE ? PLAN_NONE : add_query_node(b, PLAN_OP_ESTIMATE, l, &in, 1);
}

static void mark_order(struct binder *b)
{
    for (uint32_t i = b->logical->nodes_n; i-- > 0;) {
        const struct logical_node *l = &b->logical->nodes[i];
        for (uint32_t j = 0; j < l->in_n; j++) {
            uint32_t in = b->logical->edges[l->in_first + j];
            b->ordered[in] |= series_order_minded(l->expr, b->logical->nodes[in].expr, b->ordered[i]);
        }
    }
}

static uint32_t root_for(const struct binder *b, uint32_t id)
{
    const struct expr *expr = b->logical->nodes[id].expr;
    for (uint32_t i = 0; !b->ordered[id] && i < b->plan->stored_roots_n; i++)
        if (expr_equal(b->plan->nodes[b->plan->stored_roots[i].node].expr, expr) &&
            stored_fits(b->plan, i, b->times, b->options->lookback_ms, b->options->default_step_ms))
            return i;
    return PLAN_NONE;
}

/*
 * Logical ids are topological, so one pass upward is enough. A sketch's error is a promise about its own readout; what
 * an operator above makes of it is the planner's business, so here only a site that is the whole query may be
 * approximate.
 */
static void mark_binds(struct binder *b, uint32_t root)
{
    const struct accuracy exact = {.kind = ACCURACY_EXACT};
    for (uint32_t i = 0; i < b->logical->nodes_n; i++) {
        const struct logical_node *l = &b->logical->nodes[i];
        b->made[i] = PLAN_NONE;
        const struct site *site = l->is_group_site && b->ordered[i] ? NULL : site_at(l);
        b->view_of[i] = site && b->plan ? view_for(b, site, i == root ? &b->want : &exact) : PLAN_NONE;
        b->root_of[i] = b->plan ? root_for(b, i) : PLAN_NONE;
        b->binds_below[i] = b->view_of[i] != PLAN_NONE || b->root_of[i] != PLAN_NONE;
        for (uint32_t j = 0; j < l->in_n && !l->is_site; j++)
            b->binds_below[i] |= b->binds_below[b->logical->edges[l->in_first + j]];
    }
}

/* The parser bounds depth (PARSE_DEPTH_MAX), so this recursion is bounded. */
static uint32_t make(struct binder *b, uint32_t id)
{
    enum { INPUTS_MAX = 16 };
    const struct logical_node *l = &b->logical->nodes[id];
    if (b->made[id] != PLAN_NONE)
        return b->made[id];
    if (b->root_of[id] != PLAN_NONE) {
        b->made[id] = add_query_node(b, PLAN_OP_STORED, l, NULL, 0);
        if (b->made[id] != PLAN_NONE)
            b->nodes[b->made[id]].stored_root = b->root_of[id];
        return b->made[id];
    }
    if (b->view_of[id] != PLAN_NONE)
        return b->made[id] = add_site(b, id);
    if (!b->binds_below[id] || l->in_n > INPUTS_MAX)
        return b->made[id] = add_query_node(b, PLAN_OP_RAW, l, NULL, 0);
    uint32_t in[INPUTS_MAX];
    for (uint32_t i = 0; i < l->in_n; i++) {
        in[i] = make(b, b->logical->edges[l->in_first + i]);
        if (in[i] == PLAN_NONE)
            return PLAN_NONE;
    }
    return b->made[id] = add_query_node(b, PLAN_OP_VECTOR, l, in, l->in_n);
}

static int bind_by_structure(struct binder *b, const struct expr *resolved, struct bound *ret, struct err *e)
{
    struct logical logical;
    uint32_t root;
    logical_init(&logical, b->arena);
    int rc = logical_add(&logical, resolved, &root, e);
    if (rc == 0) {
        b->logical = &logical;
        b->view_of = ARENA_ARRAY(b->arena, uint32_t, logical.nodes_n + 1u);
        b->root_of = ARENA_ARRAY(b->arena, uint32_t, logical.nodes_n + 1u);
        b->ordered = arena_zalloc(b->arena, (logical.nodes_n + 1u) * sizeof *b->ordered);
        b->made = ARENA_ARRAY(b->arena, uint32_t, logical.nodes_n + 1u);
        b->binds_below = ARENA_ARRAY(b->arena, bool, logical.nodes_n + 1u);
        rc = arena_check(b->arena, "query", e);
    }
    if (rc == 0) {
        mark_order(b);
        mark_binds(b, root);
        ret->root = make(b, root);
        rc = arena_check(b->arena, "query", e);
    }
    logical_done(&logical);
    if (rc)
        return rc;
    ret->nodes = b->nodes;
    ret->edges = b->edges;
    ret->nodes_n = b->nodes_n;
    return 0;
}

/* A planned root whose panes do not fit the times asked is answered as an ad-hoc query, within its own accuracy. */
static bool root_fits(const struct plan *plan, uint32_t node, const struct times *t, const struct query_options *o,
                      struct arena *a)
{
    const struct plan_node *n = &plan->nodes[node];
    struct site site;
    if (n->op == PLAN_OP_ESTIMATE)
        return estimate_site_of(n->expr, a, &site) &&
               panes_fit(&plan->views[plan->nodes[plan->edges[n->in_first]].view], &site, t) != PANES_UNFIT;
    if (n->op == PLAN_OP_STORED)
        return stored_fits(plan, n->stored_root, t, o->lookback_ms, o->default_step_ms);
    for (uint32_t i = 0; i < n->in_n; i++)
        if (!root_fits(plan, plan->edges[n->in_first + i], t, o, a))
            return false;
    return true;
}

int bind_query(const struct plan *plan, const struct expr *resolved, const struct times *t,
               const struct query_options *o, struct arena *a, struct bound *ret, struct err *e)
{
    *ret = (struct bound){.plan = o->exact ? NULL : plan, .query = PLAN_NONE};
    struct binder b = {.plan = ret->plan, .times = t, .options = o, .want = o->default_accuracy, .arena = a};
    if (b.want.kind == 0)
        b.want = (struct accuracy){.kind = ACCURACY_EXACT};
    if (ret->plan) {
        struct str text = expr_text(resolved, a);
        int rc = arena_check(a, "query", e);
        if (rc)
            return rc;
        ret->query = plan_query_by_text(ret->plan, text);
    }
    if (ret->query != PLAN_NONE) {
        const struct plan_query *q = &plan->queries[ret->query];
        if (!plan_query_refused(plan, ret->query) && root_fits(plan, q->root, t, o, a)) {
            ret->nodes = plan->nodes;
            ret->edges = plan->edges;
            ret->nodes_n = plan->nodes_n;
            ret->root = q->root;
            return 0;
        }
        b.want = q->target;
    }
    return bind_by_structure(&b, resolved, ret, e);
}
