/*
 * The physical plan of what was chosen. Views first: each used chain is a scan and a build (precompute half). Then each
 * query's half, from its leaves: a site on panes is pane_read -> estimate; an operator with such a site below it is a
 * `vector` over its operands; everything else is left whole to one `raw` node, the largest that holds no pane. Equal
 * nodes are one node, across queries.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "plan/check.h"
#include "planner/accuracy.h"
#include "planner/cost.h"
#include "planner/emit_query.h"

static struct plan_node *add_node(struct emitter *m, enum plan_op op, enum plan_half half, uint32_t id)
{
    struct plan *plan = m->plan;
    m->nodes = arena_grow(plan->arena, m->nodes, &m->nodes_cap, (size_t)id + 1, sizeof *m->nodes);
    if (!m->nodes)
        return NULL;
    plan->nodes = m->nodes;
    plan->nodes_n = id + 1;
    m->nodes[id] = (struct plan_node){.op = op,
                                      .half = half,
                                      .out = plan_op_out(op),
                                      .in_first = plan->edges_n,
                                      .source = PLAN_NONE,
                                      .view = PLAN_NONE,
                                      .stored_root = PLAN_NONE};
    return &m->nodes[id];
}

static bool add_edges(struct emitter *m, struct plan_node *n, const uint32_t *inputs, uint32_t inputs_n)
{
    struct plan *plan = m->plan;
    m->edges = arena_grow(plan->arena, m->edges, &m->edges_cap, (size_t)plan->edges_n + inputs_n, sizeof *m->edges);
    if (!m->edges && inputs_n)
        return false;
    for (uint32_t i = 0; i < inputs_n; i++)
        m->edges[plan->edges_n++] = inputs[i];
    plan->edges = m->edges;
    n->in_n = inputs_n;
    return true;
}

/* Everything below shares this shape: the key says what the node is; a new one is filled in. */
static uint32_t find_node(struct emitter *m, bool *ret_added)
{
    return intern(&m->node_ids, m->p->key.p, m->p->key.n, ret_added);
}

static void key_begin(struct planning *p, enum plan_op op)
{
    strbuf_clear(&p->key);
    KEY_ADD(p, op);
}

static int emit_source(struct emitter *m, uint32_t source, uint32_t *ret, struct err *e)
{
    struct plan *plan = m->plan;
    if (m->source_of[source] == PLAN_NONE) {
        struct plan_source *s = &m->sources[plan->sources_n];
        *s = (struct plan_source){.matchers_n = m->p->sources[source].matchers_n};
        int rc = plan_add_matchers(plan, m->p->sources[source].matchers, s->matchers_n, &s->matchers, e);
        if (rc != 0)
            return rc;
        m->source_of[source] = plan->sources_n++;
    }
    *ret = m->source_of[source];
    return 0;
}

static void emit_merge(struct emitter *m, uint32_t view)
{
    bool added;
    key_begin(m->p, PLAN_OP_MERGE);
    KEY_ADD(m->p, view);
    uint32_t below = m->views[m->views[view].level_of].node, merge = find_node(m, &added);
    struct plan_node *n = add_node(m, PLAN_OP_MERGE, HALF_PRECOMPUTE, merge);
    if (n && add_edges(m, n, &below, 1))
        n->view = view;
    m->views[view].node = merge;
}

static void emit_scan_and_build(struct emitter *m, uint32_t source, uint32_t view)
{
    enum plan_half half = m->views[view].when == WHEN_INGESTION ? HALF_PRECOMPUTE : HALF_QUERY;
    bool added;
    key_begin(m->p, PLAN_OP_SCAN);
    KEY_ADD(m->p, source);
    KEY_ADD(m->p, half);
    uint32_t scan = find_node(m, &added);
    struct plan_node *n = added ? add_node(m, PLAN_OP_SCAN, half, scan) : NULL;
    if (n)
        n->source = source;
    key_begin(m->p, PLAN_OP_BUILD);
    KEY_ADD(m->p, view);
    uint32_t build = find_node(m, &added);
    n = add_node(m, PLAN_OP_BUILD, half, build);
    if (n && add_edges(m, n, &scan, 1))
        n->view = view;
    m->views[view].node = build;
}

/* Kept panes of one grid are one view, whichever of the demands' times they are built at. True when there is one. */
static bool find_view(struct emitter *m, const struct chain *c, int64_t panes_n, int64_t retention_ms, uint32_t *ret)
{
    bool added;
    strbuf_clear(&m->p->key);
    KEY_ADD(m->p, c->state);
    KEY_ADD(m->p, c->when);
    KEY_ADD(m->p, c->grid.step_ms);
    KEY_ADD(m->p, c->grid.phase_ms);
    *ret = intern(&m->view_ids, m->p->key.p, m->p->key.n, &added);
    if (added)
        return false;
    struct plan_view *v = &m->views[*ret];
    v->panes_n = panes_n > v->panes_n ? (uint32_t)panes_n : v->panes_n;
    v->retention_ms = retention_ms > v->retention_ms ? retention_ms : v->retention_ms;
    v->backfill_ms = c->reach_ms > v->backfill_ms ? c->reach_ms : v->backfill_ms;
    return true;
}

static struct str own_text(struct plan *plan, struct str text)
{
    return (struct str){arena_strndup(plan->arena, text.p, text.n), text.n};
}

static const struct str *own_texts(struct plan *plan, const struct str *texts, uint32_t n)
{
    struct str *own = ARENA_ARRAY(plan->arena, struct str, n);
    for (uint32_t i = 0; own && i < n; i++)
        own[i] = own_text(plan, texts[i]);
    return own;
}

static int emit_views(struct emitter *m, struct err *e)
{
    struct planning *p = m->p;
    struct plan *plan = m->plan;
    for (uint32_t i = 0; i < p->chains_n; i++) {
        struct chain *c = &p->chains[i];
        if (c->users_n == 0)
            continue;
        const struct state *s = &p->states[c->state];
        const struct grouping *g = &p->groupings[s->grouping];
        uint32_t source;
        int rc = emit_source(m, s->source, &source, e);
        if (rc != 0)
            return rc;
        int64_t panes_n = 0;
        for (uint32_t k = c->first; k < c->first + c->n; k++) {
            const struct candidate *reader = &p->candidates[p->chain_readers[k]];
            int64_t count = c->ratio ? reader->count * reader->width_ms / c->grid.step_ms : reader->count;
            if (p->demands[reader->demand].chosen == p->chain_readers[k] && count > panes_n)
                panes_n = count;
        }
        int64_t retention_ms = cost_retention_ms(c->reach_ms, c->grid.step_ms);
        if (find_view(m, c, panes_n, retention_ms, &c->view))
            continue;
        plan->views_n++;
        m->views[c->view] = (struct plan_view){
            .source = source,
            .family = s->family,
            .params = s->params,
            .input = {.kind = g->input.kind, .label = own_text(plan, g->input.label)},
            .per_series = s->grouping == 0,
            .reduce = own_texts(plan, g->by, g->by_n),
            .reduce_n = g->by_n,
            .panes = c->grid,
            .panes_n = (uint32_t)panes_n,
            .retention_ms = retention_ms,
            .backfill_ms = c->reach_ms,
            .when = c->when,
            .level_of = c->ratio ? p->chains[c->below].view : PLAN_NONE,
        };
        if (c->ratio)
            emit_merge(m, c->view);
        else
            emit_scan_and_build(m, source, c->view);
        struct view_definition definition = plan_view_definition(plan, c->view);
        view_identity(&definition, m->views[c->view].identity);
        rc = arena_check(plan->arena, "plan", e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Tree and canonical text of a logical node, as the plan's own. */
static int set_expr(struct emitter *m, struct plan_node *n, uint32_t logical, struct err *e)
{
    int rc = plan_add_expr(m->plan, m->p->logical.nodes[logical].text, &n->expr, &n->expr_text, e);
    if (rc == 0 && n->expr->type == VALUE_SCALAR)
        n->out = OUT_SCALAR;
    return rc;
}

int emit_raw(struct emitter *m, uint32_t logical, uint32_t *ret, struct err *e)
{
    bool added;
    key_begin(m->p, PLAN_OP_RAW);
    KEY_ADD(m->p, logical);
    *ret = find_node(m, &added);
    if (!added)
        return 0;
    struct plan_node *n = add_node(m, PLAN_OP_RAW, HALF_QUERY, *ret);
    return n ? set_expr(m, n, logical, e) : arena_check(m->plan->arena, "plan", e);
}

static uint32_t emit_pane_read(struct emitter *m, const struct candidate *c, const struct site *site)
{
    uint32_t view = m->p->chains[c->chain].view;
    bool added;
    key_begin(m->p, PLAN_OP_PANE_READ);
    KEY_ADD(m->p, view);
    KEY_ADD(m->p, site->offset_ms);
    KEY_ADD(m->p, site->anchored);
    KEY_ADD(m->p, site->at_ms);
    KEY_ADD(m->p, c->count);
    uint32_t id = find_node(m, &added);
    struct plan_node *n = added ? add_node(m, PLAN_OP_PANE_READ, HALF_QUERY, id) : NULL;
    if (n) {
        n->view = view;
        n->offset_ms = site->offset_ms;
        n->anchored = site->anchored;
        n->at_ms = site->at_ms;
        n->count = (uint32_t)c->count;
    }
    return id;
}

int emit_estimate(struct emitter *m, uint32_t logical, const struct candidate *c, uint32_t *ret, struct err *e)
{
    const struct site *site = planning_site(&m->p->logical.nodes[logical]);
    uint32_t panes = emit_pane_read(m, c, site);
    bool added;
    key_begin(m->p, PLAN_OP_ESTIMATE);
    KEY_ADD(m->p, logical);
    KEY_ADD(m->p, panes);
    *ret = find_node(m, &added);
    if (!added)
        return 0;
    struct plan_node *n = add_node(m, PLAN_OP_ESTIMATE, HALF_QUERY, *ret);
    if (!n || !add_edges(m, n, &panes, 1))
        return arena_check(m->plan->arena, "plan", e);
    n->statistic = site->statistic;
    n->q = site->q;
    return set_expr(m, n, logical, e);
}

int emit_vector(struct emitter *m, uint32_t logical, const uint32_t *inputs, uint32_t inputs_n, uint32_t *ret,
                struct err *e)
{
    bool added;
    key_begin(m->p, PLAN_OP_VECTOR);
    KEY_ADD(m->p, logical);
    strbuf_add(&m->p->key, inputs, inputs_n * sizeof *inputs);
    *ret = find_node(m, &added);
    if (!added)
        return 0;
    struct plan_node *n = add_node(m, PLAN_OP_VECTOR, HALF_QUERY, *ret);
    if (!n || !add_edges(m, n, inputs, inputs_n))
        return arena_check(m->plan->arena, "plan", e);
    return set_expr(m, n, logical, e);
}

int emit_stored(struct emitter *m, uint32_t kept, uint32_t *ret, struct err *e)
{
    struct kept *k = &m->p->kept[kept];
    struct plan *plan = m->plan;
    bool added;
    int rc = 0;
    key_begin(m->p, PLAN_OP_STORED);
    KEY_ADD(m->p, kept);
    strbuf_add_char(&m->p->key, 'k');
    uint32_t expr = find_node(m, &added);
    if (added) {
        struct plan_node *n = add_node(m, PLAN_OP_RAW, HALF_PRECOMPUTE, expr);
        rc = n ? set_expr(m, n, k->node, e) : arena_check(plan->arena, "plan", e);
        k->root = plan->stored_roots_n;
        /* Nodes are numbered as they are made, so roots are listed by rising node. */
        m->roots[plan->stored_roots_n++] =
            (struct plan_stored_root){.node = expr, .grid = k->grid, .retention_ms = k->length_ms};
    }
    key_begin(m->p, PLAN_OP_STORED);
    KEY_ADD(m->p, kept);
    *ret = rc == 0 ? find_node(m, &added) : 0;
    if (rc != 0 || !added)
        return rc;
    struct plan_node *n = add_node(m, PLAN_OP_STORED, HALF_QUERY, *ret);
    if (!n)
        return arena_check(plan->arena, "plan", e);
    n->stored_root = k->root;
    return set_expr(m, n, k->node, e);
}

static int emit_all(struct emitter *m, struct err *e)
{
    struct planning *p = m->p;
    struct plan *plan = m->plan;
    uint32_t chains_used_n = 0;
    for (uint32_t i = 0; i < p->chains_n; i++)
        chains_used_n += p->chains[i].users_n > 0;
    m->sources = ARENA_ARRAY(plan->arena, struct plan_source, p->sources_n);
    m->views = ARENA_ARRAY(plan->arena, struct plan_view, chains_used_n);
    m->queries = ARENA_ARRAY(plan->arena, struct plan_query, p->w->queries_n);
    m->roots = ARENA_ARRAY(plan->arena, struct plan_stored_root, p->kept_n);
    m->edges = arena_grow(plan->arena, m->edges, &m->edges_cap, 1, sizeof *m->edges); /* a place to stand, even empty */
    m->source_of = ARENA_ARRAY(p->arena, uint32_t, p->sources_n);
    m->chosen = arena_zalloc(p->arena, p->logical.nodes_n * sizeof *m->chosen);
    m->at_once = arena_zalloc(p->arena, p->logical.nodes_n * sizeof *m->at_once);
    int rc = arena_check(plan->arena, "plan", e);
    if (rc == 0)
        rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    plan->edges = m->edges;
    plan->sources = m->sources;
    plan->views = m->views;
    plan->queries = m->queries;
    plan->stored_roots = m->roots;
    for (uint32_t i = 0; i < p->sources_n; i++)
        m->source_of[i] = PLAN_NONE;
    rc = emit_views(m, e);
    for (uint32_t q = 0; rc == 0 && q < p->w->queries_n; q++)
        rc = emit_query(m, q, e);
    return rc;
}

static void emit_solver(struct emitter *m)
{
    const struct selection_answer *a = &m->p->answer;
    struct plan *plan = m->plan;
    const char *status = selection_status_name(a->status);
    if (a->reason)
        status = arena_printf(plan->arena, "%s: %s", status, a->reason);
    plan->solver = (struct plan_solver){.bound = a->bound, .gap = a->gap, .variables = a->variables, .rows = a->rows};
    if (status) /* if not, the arena says so in the end */
        plan->solver.status = str_of(status);
}

int planner_emit(struct planning *p, const struct planner_options *options, struct plan *plan, struct err *e)
{
    struct emitter m = {.p = p, .plan = plan};
    intern_init(&m.node_ids, p->arena);
    intern_init(&m.view_ids, p->arena);
    plan->sketch_seed = options->sketch_seed;
    emit_solver(&m);
    int rc = emit_costs(&m, e);
    if (rc == 0)
        rc = emit_all(&m, e);
    intern_done(&m.node_ids);
    intern_done(&m.view_ids);
    mem_free(m.rejected);
    if (rc == 0)
        rc = arena_check(plan->arena, "plan", e);
    if (rc == 0)
        rc = plan_groups(plan, e);
    if (rc == 0 && plan_check(plan, e) != 0) {
        err_prefix(e, "the plan made breaks a rule of its own");
        rc = e ? (e->code = ERR_INTERNAL) : ERR_INTERNAL;
    }
    return rc;
}
