/*
 * Lowering: every query becomes a root in the shared logical DAG, its accuracy target is carried down to its sites, and
 * each (site, cadence, target) becomes one demand, however many queries make it.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "planner/accuracy.h"
#include "planner/cost.h"
#include "planner/planning.h"
#include "promql/print.h"

/* What one query asks of its sites; an expression that stands in it twice is one node with the stricter target. */
struct asked {
    uint32_t node;
    struct accuracy target;
    const char *strict;
};
struct walk {
    struct planning *p;
    const struct workload_query *q;
    struct asked *asked;
    uint32_t asked_n;
    size_t asked_cap;
    uint32_t *slot; /* by logical node: its number in asked + 1, valid when stamp is this query's */
    uint32_t *stamp;
    uint32_t stamp_now;
};

static void ask(struct walk *k, uint32_t node, const struct accuracy *target, const char *strict)
{
    if (k->stamp[node] != k->stamp_now) {
        k->stamp[node] = k->stamp_now;
        k->slot[node] = k->asked_n;
        k->asked = mem_grow(k->asked, &k->asked_cap, k->asked_n + 1, sizeof *k->asked);
        k->asked[k->asked_n++] = (struct asked){node, *target, strict};
        return;
    }
    struct asked *a = &k->asked[k->slot[node]];
    if (accuracy_meets(&a->target, target))
        return;
    if (accuracy_meets(target, &a->target)) {
        a->target = *target;
        a->strict = strict;
        return;
    }
    a->target = (struct accuracy){ACCURACY_EXACT, 0, 0};
    a->strict = "no_rule: the site stands in two places that ask for different kinds of accuracy";
}

/* As deep as the tree, which the parser bounds. */
static void ask_down(struct walk *k, uint32_t node, const struct accuracy *target, const char *strict)
{
    const struct logical *l = &k->p->logical;
    const struct logical_node *n = &l->nodes[node];
    if (!n->has_site)
        return;
    if (n->is_site || n->is_group_site)
        ask(k, node, target, strict);
    for (uint32_t i = 0; i < n->in_n; i++) {
        const char *why = strict;
        struct accuracy below = accuracy_down(l, node, i, target, &why);
        ask_down(k, l->edges[n->in_first + i], &below, why);
    }
}

static void selector_text(const struct matcher *matchers, uint32_t n, struct strbuf *out)
{
    strbuf_add_char(out, '{');
    for (uint32_t i = 0; i < n; i++) {
        strbuf_printf(out, "%s" STR_FMT "%s", i ? ", " : "", STR_ARG(matchers[i].name),
                      matcher_op_text(matchers[i].op));
        strbuf_add_go_quoted(out, matchers[i].value);
    }
    strbuf_add_char(out, '}');
}

static uint32_t add_source(struct planning *p, const struct expr *selector)
{
    strbuf_clear(&p->key);
    selector_text(selector->matchers, selector->matchers_n, &p->key);
    bool added;
    uint32_t id = intern(&p->source_ids, p->key.p, p->key.n, &added);
    if (added) {
        p->sources = arena_grow(p->arena, p->sources, &p->sources_cap, (size_t)p->sources_n + 1, sizeof *p->sources);
        if (!p->sources)
            return id;
        p->sources[p->sources_n++] = (struct source){
            .matchers = selector->matchers, .matchers_n = selector->matchers_n, .text = p->source_ids.keys[id]};
    }
    return id;
}

static void add_demand(struct planning *p, const struct workload_query *q, const struct asked *a, uint32_t *ret)
{
    struct demand d = {
        .node = a->node,
        .site = planning_site(&p->logical.nodes[a->node]),
        .grid = cadence_grid(&q->cadence),
        .runs_per_s = cost_runs_per_s(&q->cadence),
        .steps_n = cost_steps(&q->cadence),
        .length_ms = q->cadence.length_ms,
        .step_ms = q->cadence.step_ms,
        .latency_ms = q->latency_ms,
        .target = a->target,
        .strict = a->strict,
    };
    strbuf_clear(&p->key);
    KEY_ADD(p, d.node);
    KEY_ADD(p, d.grid.step_ms);
    KEY_ADD(p, d.grid.phase_ms);
    KEY_ADD(p, d.runs_per_s);
    KEY_ADD(p, d.steps_n);
    KEY_ADD(p, d.length_ms);
    KEY_ADD(p, d.step_ms);
    KEY_ADD(p, d.latency_ms);
    KEY_ADD(p, d.target.kind);
    KEY_ADD(p, d.target.error);
    KEY_ADD(p, d.target.failure);
    KEY_ADD(p, d.strict);
    bool added;
    *ret = intern(&p->demand_ids, p->key.p, p->key.n, &added);
    if (added) {
        d.source = add_source(p, d.site->selector);
        p->demands = arena_grow(p->arena, p->demands, &p->demands_cap, (size_t)p->demands_n + 1, sizeof *p->demands);
        if (p->demands)
            p->demands[p->demands_n++] = d;
    }
    if (p->demands)
        p->demands[*ret].queries_n++;
}

static int by_node(const void *pa, const void *pb)
{
    const struct asked *a = pa, *b = pb;
    return (a->node > b->node) - (a->node < b->node);
}

static int lower_sites(struct walk *k, uint32_t q, struct err *e)
{
    struct planning *p = k->p;
    k->q = &p->w->queries[q];
    k->stamp_now = q + 1;
    k->asked_n = 0;
    ask_down(k, p->roots[q], &k->q->target, NULL);
    if (k->asked_n > 1)
        qsort(k->asked, k->asked_n, sizeof *k->asked, by_node);
    p->sites_first[q] = p->sites_n;
    p->sites = arena_grow(p->arena, p->sites, &p->sites_cap, (size_t)p->sites_n + k->asked_n, sizeof *p->sites);
    int rc = arena_check(p->arena, "planning", e);
    for (uint32_t i = 0; rc == 0 && i < k->asked_n; i++) {
        struct query_site *s = &p->sites[p->sites_n++];
        s->node = k->asked[i].node;
        add_demand(p, k->q, &k->asked[i], &s->demand);
        rc = arena_check(p->arena, "planning", e);
    }
    return rc;
}

int planner_lower(struct planning *p, struct err *e)
{
    uint32_t n = p->w->queries_n;
    p->roots = ARENA_ARRAY(p->arena, uint32_t, n);
    p->sites_first = ARENA_ARRAY(p->arena, uint32_t, (size_t)n + 1);
    int rc = arena_check(p->arena, "planning", e);
    for (uint32_t q = 0; rc == 0 && q < n; q++)
        rc = logical_add(&p->logical, p->w->queries[q].expr, &p->roots[q], e);
    /* Sites are looked up by node only now: the DAG's arrays no longer move. */
    struct walk k = {.p = p};
    if (rc == 0) {
        k.slot = arena_zalloc(p->arena, p->logical.nodes_n * sizeof *k.slot);
        k.stamp = arena_zalloc(p->arena, p->logical.nodes_n * sizeof *k.stamp);
        rc = arena_check(p->arena, "planning", e);
    }
    for (uint32_t q = 0; rc == 0 && q < n; q++)
        rc = lower_sites(&k, q, e);
    if (rc == 0)
        p->sites_first[n] = p->sites_n;
    mem_free(k.asked);
    return rc;
}
