/*
 * Readers: queries and stored roots, each with the grid of times it is evaluated at. What a reader reaches must serve
 * every one of those times: pane ends stand where its windows end, states are kept as long as it looks back.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "plan/check_internal.h"
#include "plan/root_expr.h"
#include "promql/print.h"

struct reader {
    const char *what; /* "query" or "stored root" */
    uint32_t id, root, mark;
    struct grid grid;
    int64_t length_ms;              /* it looks this far back besides its windows */
    const struct accuracy *promise; /* NULL: none */
};

/* Every time of `g` is one of grid `ends` shifted by -offset. */
static bool grid_is_within(const struct grid *g, int64_t offset_ms, const struct grid *ends)
{
    return g->step_ms > 0 && g->step_ms % ends->step_ms == 0 &&
           floor_mod(g->phase_ms - offset_ms, ends->step_ms) == ends->phase_ms;
}

static int check_alignment(struct check *c, const struct reader *r, const struct plan_node *n)
{
    const struct plan_view *v = &c->p->views[n->view];
    bool fits;
    if (v->when == WHEN_QUERY) /* built at each evaluation, from its own end */
        return 0;
    if (n->anchored && v->when == WHEN_INGESTION)
        return check_fail(c, r->what, r->id, "anchored_view",
                          "view %u is kept for a while, the time after @ recedes without end", n->view);
    if (n->anchored)
        fits = floor_mod(n->at_ms - n->offset_ms, v->panes.step_ms) == v->panes.phase_ms;
    else
        fits = grid_is_within(&r->grid, n->offset_ms, &v->panes);
    if (fits)
        return 0;
    return check_fail(c, r->what, r->id, "misaligned",
                      "view %u has panes of %lld ms at phase %lld, it is evaluated each %lld ms at phase %lld with "
                      "offset %lld",
                      n->view, (long long)v->panes.step_ms, (long long)v->panes.phase_ms, (long long)r->grid.step_ms,
                      (long long)r->grid.phase_ms, (long long)n->offset_ms);
}

static int check_pane_reader(struct check *c, const struct reader *r, const struct plan_node *n)
{
    const struct plan_view *v = &c->p->views[n->view];
    int rc = check_alignment(c, r, n);
    if (rc != 0)
        return rc;
    if (n->count > v->panes_n)
        return check_fail(c, r->what, r->id, "too_few_panes", "it reads %u panes of view %u, which has %u", n->count,
                          n->view, v->panes_n);
    int64_t width_ms = v->panes.step_ms;
    int64_t reach_ms = n->offset_ms + (int64_t)n->count * width_ms + r->length_ms;
    int64_t panes_ms = -floor_div(-reach_ms, width_ms) * width_ms;
    if (v->when == WHEN_INGESTION && v->retention_ms < panes_ms)
        return check_fail(c, r->what, r->id, "retention_too_short", "it looks %lld ms back, view %u is kept %lld ms",
                          (long long)panes_ms, n->view, (long long)v->retention_ms);
    c->views = mem_grow(c->views, &c->views_cap, c->views_n + 1, sizeof *c->views);
    c->views[c->views_n++] = n->view;
    return 0;
}

static int check_stored_reader(struct check *c, const struct reader *r, const struct plan_node *n)
{
    const struct plan_stored_root *s = &c->p->stored_roots[n->stored_root];
    if (!grid_is_within(&r->grid, 0, &s->grid))
        return check_fail(c, r->what, r->id, "misaligned", "stored root %u has results each %lld ms at phase %lld only",
                          n->stored_root, (long long)s->grid.step_ms, (long long)s->grid.phase_ms);
    if (s->retention_ms < r->length_ms)
        return check_fail(c, r->what, r->id, "retention_too_short",
                          "it looks %lld ms back, stored root %u is kept %lld ms", (long long)r->length_ms,
                          n->stored_root, (long long)s->retention_ms);
    return 0;
}

/* The promise of one estimate, as far as its parameters can tell; what lies between it and the root is not judged. */
static int check_promise(struct check *c, const struct reader *r, uint32_t node)
{
    const struct plan_node *n = &c->p->nodes[node];
    const struct plan_view *v = &c->p->views[check_input(c->p, n, 0)->view];
    const struct accuracy *promise = r->promise;
    if (promise && promise->kind == ACCURACY_NONE)
        return 0;
    if (check_is_unbounded(c, n))
        return check_fail(c, r->what, r->id, "approximate_merge", "%s of merged %s states in view %u has no bound",
                          statistic_name(n->statistic), family_get(v->family)->name, check_input(c->p, n, 0)->view);
    struct accuracy best = accuracy_of_states(v->family, &v->params, n->statistic, promise ? promise->failure : 0);
    if (!promise || best.kind == ACCURACY_EXACT)
        return 0;
    bool sound = best.kind != ACCURACY_NONE && promise->kind != ACCURACY_EXACT;
    if (sound && node == r->root)
        sound = promise->kind == best.kind && promise->error >= best.error * (1 - 1e-9) &&
                promise->failure >= best.failure * (1 - 1e-9);
    if (!sound)
        return check_fail(c, r->what, r->id, "guarantee_unfounded", "%s in view %u cannot give %s error %g",
                          family_get(v->family)->name, check_input(c->p, n, 0)->view, accuracy_kind_name(promise->kind),
                          promise->error);
    return 0;
}

static int visit(struct check *c, const struct reader *r, uint32_t node)
{
    const struct plan_node *n = &c->p->nodes[node];
    if (n->op == PLAN_OP_PANE_READ)
        return check_pane_reader(c, r, n);
    if (n->op == PLAN_OP_STORED)
        return check_stored_reader(c, r, n);
    return n->op == PLAN_OP_ESTIMATE ? check_promise(c, r, node) : 0;
}

/* Each node below the root once; c->views gathers what is read. */
static int walk(struct check *c, const struct reader *r)
{
    const struct plan *p = c->p;
    size_t todo_n = 0;
    int rc = 0;
    c->views_n = 0;
    c->todo = mem_grow(c->todo, &c->todo_cap, 1, sizeof *c->todo);
    c->todo[todo_n++] = r->root;
    c->seen[r->root] = r->mark;
    while (todo_n > 0 && rc == 0) {
        uint32_t node = c->todo[--todo_n];
        const struct plan_node *n = &p->nodes[node];
        rc = visit(c, r, node);
        c->todo = mem_grow(c->todo, &c->todo_cap, todo_n + n->in_n, sizeof *c->todo);
        for (uint32_t i = 0; i < n->in_n; i++) {
            uint32_t input = p->edges[n->in_first + i];
            if (c->seen[input] == r->mark)
                continue;
            c->seen[input] = r->mark;
            c->todo[todo_n++] = input;
        }
    }
    return rc;
}

static int by_number(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return (a > b) - (a < b);
}

static int check_uses(struct check *c, uint32_t id)
{
    const struct plan_query *q = &c->p->queries[id];
    uint32_t n = 0;
    if (c->views_n > 1)
        qsort(c->views, c->views_n, sizeof *c->views, by_number);
    for (size_t i = 0; i < c->views_n; i++)
        if (n == 0 || c->views[i] != c->views[n - 1])
            c->views[n++] = c->views[i];
    if (n != q->uses_n || (n > 0 && memcmp(c->views, q->uses, n * sizeof *q->uses) != 0))
        return check_fail(c, "query", id, "uses_differ", "uses must be the %u views that its root reads, ascending", n);
    return 0;
}

/* The text a query is looked up by computes what its root does. */
static int check_text(struct check *c, uint32_t id)
{
    const struct plan_query *q = &c->p->queries[id];
    const struct expr *root = c->p->nodes[q->root].expr;
    if (str_eq(q->text, c->p->nodes[q->root].expr_text))
        return 0;
    struct arena arena;
    struct parsed parsed;
    arena_init(&arena, (size_t)1 << 30);
    int rc = promql_parse(q->text, &arena, &parsed, c->e);
    if (rc != 0) {
        arena_done(&arena);
        return err_prefix(c->e, "query %u: bad_query", id);
    }
    strbuf_clear(&c->text);
    expr_print(parsed.root, &c->text);
    if (!str_eq((struct str){c->text.p, c->text.n}, q->text))
        rc = check_fail(c, "query", id, "text_not_canonical", "the canonical text is %.200s", strbuf_z(&c->text));
    else if (!expr_equal(parsed.root, root))
        rc = check_fail(c, "query", id, "definition_mismatch", "its root computes %.200s",
                        c->p->nodes[q->root].expr_text.p);
    parsed_done(&parsed);
    arena_done(&arena);
    return rc;
}

static int check_query(struct check *c, uint32_t id)
{
    const struct plan_query *q = &c->p->queries[id];
    const struct plan_node *root = &c->p->nodes[q->root];
    if (!root->expr || (root->out != OUT_VECTOR && root->out != OUT_SCALAR))
        return check_fail(c, "query", id, "bad_output", "its root gives no answer");
    if (root->half != HALF_QUERY)
        return check_fail(c, "query", id, "illegal_input_phase", "its root is in the precompute half");
    if (!accuracy_meets(&q->guarantee, &q->target))
        return check_fail(c, "query", id, "guarantee_missed", "%s error %g (failure %g) does not meet %s error %g (%g)",
                          accuracy_kind_name(q->guarantee.kind), q->guarantee.error, q->guarantee.failure,
                          accuracy_kind_name(q->target.kind), q->target.error, q->target.failure);
    int rc = check_text(c, id);
    struct reader reader = {"query",      id, q->root, id + 1, cadence_grid(&q->cadence), q->cadence.length_ms,
                            &q->guarantee};
    if (rc == 0)
        rc = walk(c, &reader);
    return rc != 0 ? rc : check_uses(c, id);
}

static int by_name(const void *pa, const void *pb, void *ctx)
{
    const struct plan_query *queries = ctx;
    return str_cmp(queries[*(const uint32_t *)pa].name, queries[*(const uint32_t *)pb].name);
}

static int check_names(struct check *c)
{
    const struct plan_query *queries = c->p->queries;
    uint32_t n = c->p->queries_n;
    int rc = 0;
    uint32_t *order = mem_alloc((size_t)n * sizeof *order);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (n > 1)
        qsort_r(order, n, sizeof *order, by_name, (void *)(uintptr_t)queries);
    for (uint32_t i = 1; i < n && rc == 0; i++)
        if (queries[order[i]].name.n > 0 && str_eq(queries[order[i]].name, queries[order[i - 1]].name))
            rc = check_fail(c, "query", order[i], "bad_query", "its name \"" STR_FMT "\" is there twice",
                            STR_ARG(queries[order[i]].name));
    mem_free(order);
    return rc;
}

int check_queries(struct check *c)
{
    int rc = check_names(c);
    for (uint32_t i = 0; i < c->p->queries_n && rc == 0; i++)
        rc = check_query(c, i);
    return rc;
}

struct keyed_root {
    uint8_t identity[IDENTITY_BYTES];
    uint32_t id;
};

static int by_root_identity(const void *pa, const void *pb)
{
    const struct keyed_root *a = pa, *b = pb;
    int order = memcmp(a->identity, b->identity, IDENTITY_BYTES);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

/* Two roots of one identity would write one another's results. */
static int check_roots_differ(struct check *c)
{
    struct keyed_root *keys = mem_alloc((c->p->stored_roots_n + 1u) * sizeof *keys);
    uint32_t n = c->p->stored_roots_n;
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        plan_root_identity(c->p, i, keys[i].identity);
        keys[i].id = i;
    }
    if (n > 1)
        qsort(keys, n, sizeof *keys, by_root_identity);
    for (uint32_t i = 1; i < n && rc == 0; i++)
        if (memcmp(keys[i - 1].identity, keys[i].identity, IDENTITY_BYTES) == 0)
            rc = check_fail(c, "stored root", keys[i].id, "identity_repeated", "it is stored root %u again",
                            keys[i - 1].id);
    mem_free(keys);
    return rc;
}

int check_stored_roots(struct check *c)
{
    int rc = 0;
    for (uint32_t i = 0; i < c->p->stored_roots_n && rc == 0; i++) {
        const struct plan_stored_root *s = &c->p->stored_roots[i];
        const struct plan_node *n = &c->p->nodes[s->node];
        if (i > 0 && s->node <= c->p->stored_roots[i - 1].node)
            return check_fail(c, "stored root", i, "bad_root", "stored roots are listed by node, each once");
        if (!n->expr || n->half != HALF_PRECOMPUTE)
            return check_fail(c, "stored root", i, "illegal_input_phase",
                              "node %u is no expression of the precompute half", s->node);
        const char *why = root_expr_refusal(n->expr);
        if (why)
            return check_fail(c, "stored root", i, "not_eligible", "%s: %.200s", why, n->expr_text.p);
        /* Marks follow those of the queries. */
        struct reader reader = {"stored root", i, s->node, UINT32_MAX - i, s->grid, 0, NULL};
        rc = walk(c, &reader);
    }
    return rc != 0 ? rc : check_roots_differ(c);
}
