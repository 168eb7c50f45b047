#include "plan/logical.h"

#include <math.h>

#include "promql/constant.h"
#include "promql/duration_expr.h"
#include "promql/function.h"
#include "promql/print.h"

static bool is_open(const struct duration_expr *d)
{
    return d && duration_expr_needs_query(d);
}

static bool within(int64_t ms)
{
    return ms >= -PLAN_MS_MAX && ms <= PLAN_MS_MAX;
}

/* A plan file is UTF-8, and so are all labels: a matcher that is not can only be left to raw evaluation. */
static bool matchers_are_text(const struct expr *selector)
{
    for (uint32_t i = 0; i < selector->matchers_n; i++) {
        const struct matcher *m = &selector->matchers[i];
        if (!utf8_valid(m->name.p, m->name.n) || !utf8_valid(m->value.p, m->value.n))
            return false;
    }
    return selector->matchers_n <= PLAN_MATCHERS_MAX;
}

static bool selector_can_have_panes(const struct expr *s)
{
    if (s->kind != EXPR_SELECTOR || s->range_ms <= 0 || s->anchored || s->smoothed)
        return false;
    if (is_open(s->range_expr) || is_open(s->time.offset_expr))
        return false;
    if (s->time.at == AT_START || s->time.at == AT_END)
        return false;
    bool bounded = within(s->range_ms) && within(s->time.offset_ms) && (s->time.at == AT_NONE || within(s->time.at_ms));
    return bounded && matchers_are_text(s);
}

const struct expr *site_parameter(const struct expr *e)
{
    if (e->kind != EXPR_CALL || e->args_n != 2)
        return NULL;
    switch (statistic_by_function(e->function->name, strlen(e->function->name))) {
    case STATISTIC_QUANTILE:
        return e->args[0];
    case STATISTIC_PREDICT_LINEAR:
        return e->args[1];
    default:
        return NULL;
    }
}

bool site_of_selector(const struct expr *e, struct site *ret)
{
    const struct expr *selector = expr_unwrap(e);
    if (!selector_can_have_panes(selector))
        return false;
    *ret = (struct site){
        .selector = selector,
        .range_ms = selector->range_ms,
        .offset_ms = selector->time.offset_ms,
        .anchored = selector->time.at == AT_TIME,
        .at_ms = selector->time.at == AT_TIME ? selector->time.at_ms : 0,
    };
    return true;
}

bool site_of(const struct expr *e, struct site *ret)
{
    e = expr_unwrap(e);
    if (e->kind != EXPR_CALL)
        return false;
    enum statistic statistic = statistic_by_function(e->function->name, strlen(e->function->name));
    if (statistic == STATISTIC_INVALID)
        return false;
    const struct expr *parameter = site_parameter(e);
    double q = 0;
    if (e->args_n != (parameter ? 2u : 1u) || (parameter && (!expr_constant(parameter, &q) || !isfinite(q))))
        return false;
    if (!site_of_selector(e->args[parameter && parameter == e->args[0]], ret))
        return false;
    ret->call = e;
    ret->statistic = statistic;
    ret->q = q + 0.0; /* -0 is 0: JSON has one zero */
    return true;
}

/* Must this expression see samples, not its operands' results? */
static bool is_raw_only(const struct expr *e)
{
    for (uint32_t i = 0; i < e->args_n; i++)
        if (e->args[i]->type == VALUE_MATRIX)
            return true;
    if (e->kind != EXPR_CALL)
        return false;
    /* timestamp() of a selector is the sample's own time; info() looks its series up itself. */
    if (e->function->id == FUNCTION_timestamp)
        return expr_unwrap(e->args[0])->kind == EXPR_SELECTOR;
    return e->function->id == FUNCTION_info;
}

uint32_t expr_operands(const struct expr *e, const struct expr **ret, uint32_t max)
{
    e = expr_unwrap(e);
    bool has_operands =
        e->kind == EXPR_CALL || e->kind == EXPR_AGGREGATE || e->kind == EXPR_BINARY || e->kind == EXPR_UNARY;
    if (!has_operands || is_raw_only(e))
        return 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->args_n; i++) {
        const struct expr *arg = expr_unwrap(e->args[i]);
        if ((arg->type != VALUE_VECTOR && arg->type != VALUE_SCALAR) || arg->kind == EXPR_NUMBER)
            continue;
        if (n < max)
            ret[n] = arg;
        n++;
    }
    return n;
}

void logical_init(struct logical *l, struct arena *a)
{
    *l = (struct logical){.arena = a};
    map_init(&l->index);
}

void logical_done(struct logical *l)
{
    map_done(&l->index);
}

struct node_key {
    const struct logical *logical;
    const struct expr *expr;
};

static bool is_same_node(const void *ctx, uint32_t node)
{
    const struct node_key *key = ctx;
    return expr_equal(key->logical->nodes[node].expr, key->expr);
}

static uint64_t hash_of_node(const void *ctx, uint32_t node)
{
    return ((const struct logical *)ctx)->nodes[node].hash;
}

static int add_node(struct logical *l, const struct expr *e, uint32_t *ret_node, struct err *err);

/* The operands' nodes first, then their run of edges, so that a node's edges are contiguous. */
static int add_operands(struct logical *l, const struct expr *e, struct logical_node *node, struct err *err)
{
    uint32_t n = expr_operands(e, NULL, 0);
    const struct expr **operands = ARENA_ARRAY(l->arena, const struct expr *, n);
    uint32_t *ids = ARENA_ARRAY(l->arena, uint32_t, n);
    int rc = arena_check(l->arena, "query", err);
    if (rc != 0)
        return rc;
    expr_operands(e, operands, n);
    for (uint32_t i = 0; i < n; i++) {
        rc = add_node(l, operands[i], &ids[i], err);
        if (rc != 0)
            return rc;
        node->has_site |= l->nodes[ids[i]].has_site;
    }
    l->edges = arena_grow(l->arena, l->edges, &l->edges_cap, (size_t)l->edges_n + n, sizeof *l->edges);
    rc = arena_check(l->arena, "query", err);
    if (rc != 0)
        return rc;
    if (n > 0)
        memcpy(l->edges + l->edges_n, ids, n * sizeof *ids);
    node->in_first = l->edges_n;
    node->in_n = n;
    l->edges_n += n;
    return 0;
}

/* Recursion is as deep as the tree, which the parser bounds. */
static int add_node(struct logical *l, const struct expr *e, uint32_t *ret_node, struct err *err)
{
    e = expr_unwrap(e);
    struct logical_node node = {.expr = e, .text = expr_text(e, l->arena), .hash = expr_hash(e)};
    int rc = arena_check(l->arena, "query", err);
    if (rc != 0)
        return rc;
    struct node_key key = {l, e};
    int64_t known = map_find(&l->index, node.hash, is_same_node, &key);
    if (known >= 0) {
        *ret_node = (uint32_t)known;
        return 0;
    }
    node.in_first = l->edges_n;
    node.is_site = node.has_site = site_of(e, &node.site);
    node.is_group_site = !node.is_site && group_site_of(e, l->arena, &node.group_site);
    node.has_site |= node.is_group_site;
    if (!node.is_site) {
        rc = add_operands(l, e, &node, err);
        if (rc != 0)
            return rc;
    }
    l->nodes = arena_grow(l->arena, l->nodes, &l->nodes_cap, (size_t)l->nodes_n + 1, sizeof *l->nodes);
    rc = arena_check(l->arena, "query", err);
    if (rc != 0)
        return rc;
    l->nodes[l->nodes_n] = node;
    map_add(&l->index, node.hash, l->nodes_n, hash_of_node, l);
    *ret_node = l->nodes_n++;
    return 0;
}

int logical_add(struct logical *l, const struct expr *root, uint32_t *ret_node, struct err *e)
{
    return add_node(l, root, ret_node, e);
}
