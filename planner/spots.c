/*
 * Spots: where in a query something may be answered at once, and what each is made of otherwise.
 *
 *     a / max by (job) (rate(x[5m]))        spots: the quotient, a, the maximum; of rate(x[5m]) there is none:
 *     └─┬─┘                                 whoever keeps it may as well keep the maximum
 *
 * A node that may be kept is a spot unless it is an only operand: everyone who reads it is one operator with no operand
 * besides it, which may be kept itself and has no more series. Keeping that operator costs no more: it is computed once
 * a time of the grid instead of once a step of each run, and a kept root that is read less than once a time does not
 * pay, whichever of the two it is. With a second operand this does not hold: that may come from somewhere cheaper, such
 * as a root that another query keeps. So what is offered is a few spots a query, and none inside a chain of functions.
 */
#include "planner/spots.h"

#include "plan/series_order.h"
#include "planner/cost.h"

#define SEVERAL (PLAN_NONE - 1)

struct spots {
    struct planning *p;
    struct stored_lists stored;
    /* The query at hand. What is by node is valid where `seen` is `now`. */
    uint32_t query, now, *seen;
    uint32_t *nodes, nodes_n; /* operands first, the root last */
    bool *minded;             /* an operator above minds the order of its series */
    bool *may_keep;           /* it may be read from a stored root */
    uint32_t *spot, *demand;  /* PLAN_NONE: it is none */
    uint32_t *group;          /* the demand of its states by labels beside its operands; PLAN_NONE: none may be read */
    /* Of all queries, by node. */
    uint32_t *reader; /* the node that reads it; PLAN_NONE: none; SEVERAL */
    bool *wanted;     /* some query may read it from a stored root, and it is no only operand */
};

/* As deep as the tree, which the parser bounds; each node at most twice. */
static void look(struct spots *s, uint32_t node, bool minded)
{
    const struct logical *l = &s->p->logical;
    const struct logical_node *n = &l->nodes[node];
    bool again = s->seen[node] == s->now;
    if (again && (!minded || s->minded[node]))
        return;
    s->seen[node] = s->now;
    s->minded[node] = minded;
    for (uint32_t i = 0; i < n->in_n; i++)
        look(s, l->edges[n->in_first + i],
             series_order_minded(n->expr, l->nodes[l->edges[n->in_first + i]].expr, minded));
    if (!again)
        s->nodes[s->nodes_n++] = node;
}

/* Is anything but a query's root worth a look? What sites stand on may be asked: none is left to what is above. */
static bool has_inner(const struct planning *p, const struct cadence *c)
{
    return (!p->options || p->options->forced == 0) && c->length_ms > 0 && cadence_grid(c).step_ms > 0;
}

/* The demand of states by labels that may answer an operator at once; PLAN_NONE: the site is answered by itself, or by
 * no such states. */
static uint32_t group_of(const struct planning *p, const struct query_site *site)
{
    const struct demand *d = &p->demands[site->demand];
    bool may_be = false;
    for (uint32_t k = d->first; k < d->first + d->n && !planning_is_leaf(&p->logical.nodes[site->node]); k++)
        may_be |= !p->candidates[k].reason && choose_is_forced(p, &p->candidates[k]);
    return may_be ? site->demand : PLAN_NONE;
}

static bool has_groups(const struct planning *p, uint32_t q)
{
    for (uint32_t i = p->sites_first[q]; i < p->sites_first[q + 1]; i++)
        if (group_of(p, &p->sites[i]) != PLAN_NONE)
            return true;
    return false;
}

static void begin_query(struct spots *s, uint32_t q)
{
    const struct planning *p = s->p;
    s->query = q;
    s->now++;
    s->nodes_n = 0;
    if (has_inner(p, &p->w->queries[q].cadence) || has_groups(p, q)) {
        look(s, p->roots[q], false);
    } else {
        s->seen[p->roots[q]] = s->now;
        s->minded[p->roots[q]] = false;
        s->nodes[s->nodes_n++] = p->roots[q];
    }
    for (uint32_t i = 0; i < s->nodes_n; i++) {
        s->may_keep[s->nodes[i]] = !s->minded[s->nodes[i]] && stored_may(p, q, s->nodes[i]);
        s->spot[s->nodes[i]] = s->group[s->nodes[i]] = PLAN_NONE;
    }
    for (uint32_t i = p->sites_first[q]; i < p->sites_first[q + 1]; i++) {
        s->demand[p->sites[i].node] = p->sites[i].demand;
        if (s->seen[p->sites[i].node] == s->now && !s->minded[p->sites[i].node])
            s->group[p->sites[i].node] = group_of(p, &p->sites[i]);
    }
}

static void note_readers(struct spots *s)
{
    const struct logical *l = &s->p->logical;
    s->reader[s->p->roots[s->query]] = SEVERAL;
    if (!has_inner(s->p, &s->p->w->queries[s->query].cadence))
        return;
    for (uint32_t i = 0; i < s->nodes_n && s->nodes_n > 1; i++) {
        const struct logical_node *n = &l->nodes[s->nodes[i]];
        for (uint32_t k = 0; k < n->in_n; k++) {
            uint32_t *reader = &s->reader[l->edges[n->in_first + k]];
            *reader = *reader == PLAN_NONE || *reader == s->nodes[i] ? s->nodes[i] : SEVERAL;
        }
    }
}

static bool is_only_operand(const struct spots *s, uint32_t node)
{
    const struct logical_node *nodes = s->p->logical.nodes;
    uint32_t reader = s->reader[node];
    return reader != SEVERAL && s->may_keep[reader] && nodes[reader].in_n == 1 &&
           cost_rows(s->p, nodes[reader].expr) <= cost_rows(s->p, nodes[node].expr);
}

static void note_wanted(struct spots *s)
{
    for (uint32_t i = 0; i < s->nodes_n; i++)
        s->wanted[s->nodes[i]] |= s->may_keep[s->nodes[i]] && !is_only_operand(s, s->nodes[i]);
}

static bool is_kept(const struct spots *s, uint32_t node)
{
    return s->may_keep[node] && s->wanted[node];
}

static bool may_be_at_once(const struct spots *s, uint32_t node)
{
    return is_kept(s, node) || s->group[node] != PLAN_NONE;
}

static void add_kept(struct spots *s)
{
    for (uint32_t i = 0; i < s->nodes_n; i++)
        if (is_kept(s, s->nodes[i]))
            stored_add(s->p, s->query, s->nodes[i]);
}

/* ---- what a spot is made of ---- */

static void add_part(struct planning *p, const struct spot *of, struct part part)
{
    for (uint32_t i = of->parts_first; i < p->parts_n; i++)
        if (p->parts[i].demand == part.demand && p->parts[i].spot == part.spot)
            return;
    p->parts = arena_grow(p->arena, p->parts, &p->parts_cap, (size_t)p->parts_n + 1, sizeof *p->parts);
    if (p->parts)
        p->parts[p->parts_n++] = part;
}

/* The parts below a node, and what a run computes besides them: what stands twice in the tree is a part once, and is
 * computed twice. As deep as the tree. */
static double add_parts(struct spots *s, const struct spot *of, uint32_t node)
{
    struct planning *p = s->p;
    const struct logical_node *n = &p->logical.nodes[node];
    bool is_known = s->seen[node] == s->now && node != of->node;
    if (is_known && s->spot[node] != PLAN_NONE) {
        add_part(p, of, (struct part){PLAN_NONE, s->spot[node]});
        return 0;
    }
    if (planning_is_leaf(n)) {
        add_part(p, of, (struct part){s->demand[node], PLAN_NONE});
        return 0;
    }
    double cost = cost_own_rest(p, n, &p->w->queries[of->query].cadence);
    for (uint32_t i = 0; i < n->in_n && !arena_failed(p->arena); i++)
        cost += add_parts(s, of, p->logical.edges[n->in_first + i]);
    return cost;
}

static void offer_at_once(struct spots *s, struct spot *spot)
{
    struct planning *p = s->p;
    spot->first = p->at_once_n;
    if (is_kept(s, spot->node) && has_inner(p, &p->w->queries[s->query].cadence))
        stored_offer(p, &s->stored, spot);
    p->at_once = arena_grow(p->arena, p->at_once, &p->at_once_cap, (size_t)p->at_once_n + 1, sizeof *p->at_once);
    if (p->at_once && spot->group != PLAN_NONE)
        p->at_once[p->at_once_n++] = (struct at_once){.form = AT_ONCE_PANES, .kept = PLAN_NONE, .demand = spot->group};
    spot->n = p->at_once_n - spot->first;
}

/* Queries that read the same parts in the same way share it. */
static uint32_t add_spot(struct spots *s, uint32_t node)
{
    struct planning *p = s->p;
    const struct workload_query *q = &p->w->queries[s->query];
    struct spot made = {.node = node,
                        .query = s->query,
                        .grid = cadence_grid(&q->cadence),
                        .length_ms = q->cadence.length_ms,
                        .runs_per_s = cost_runs_per_s(&q->cadence),
                        .parts_first = p->parts_n,
                        .group = s->group[node],
                        .misfit = PLAN_NONE,
                        .chosen = PLAN_NONE};
    made.rest_cost = add_parts(s, &made, node) * made.runs_per_s;
    made.parts_n = p->parts_n - made.parts_first;
    strbuf_clear(&p->key);
    KEY_ADD(p, made.node);
    KEY_ADD(p, made.grid.step_ms);
    KEY_ADD(p, made.grid.phase_ms);
    KEY_ADD(p, made.runs_per_s);
    KEY_ADD(p, made.length_ms);
    KEY_ADD(p, q->cadence.step_ms);
    KEY_ADD(p, q->latency_ms);
    KEY_ADD(p, made.group);
    if (!arena_failed(p->arena) && made.parts_n > 0)
        strbuf_add(&p->key, p->parts + made.parts_first, made.parts_n * sizeof *p->parts);
    bool added;
    uint32_t id = intern(&p->spot_ids, p->key.p, p->key.n, &added);
    if (!added) {
        p->parts_n = made.parts_first;
        return id;
    }
    if (node == p->roots[s->query])
        made.reason = stored_refusal(p, s->query, node);
    offer_at_once(s, &made);
    p->spots = arena_grow(p->arena, p->spots, &p->spots_cap, (size_t)p->spots_n + 1, sizeof *p->spots);
    if (p->spots)
        p->spots[p->spots_n++] = made;
    return id;
}

/* A root with no way but its parts is no group of the selection problem: they are always read. */
static void mark_needed(struct planning *p, struct spot *root)
{
    root->needed = true;
    for (uint32_t i = root->parts_first; root->n == 0 && i < root->parts_first + root->parts_n; i++)
        *(p->parts[i].spot != PLAN_NONE ? &p->spots[p->parts[i].spot].needed : &p->demands[p->parts[i].demand].needed) =
            true;
}

static void add_spots(struct spots *s)
{
    struct planning *p = s->p;
    p->query_spots_first[s->query] = p->query_spots_n;
    for (uint32_t i = 0; i < s->nodes_n; i++) {
        uint32_t node = s->nodes[i];
        if (node != p->roots[s->query] && !may_be_at_once(s, node))
            continue;
        uint32_t id = add_spot(s, node);
        p->query_spots = arena_grow(p->arena, p->query_spots, &p->query_spots_cap, (size_t)p->query_spots_n + 1,
                                    sizeof *p->query_spots);
        if (arena_failed(p->arena))
            return;
        s->spot[node] = id;
        p->query_spots[p->query_spots_n++] = (struct query_spot){id, false};
    }
    p->query_spots_first[s->query + 1] = p->query_spots_n;
    mark_needed(p, query_root_spot(p, s->query));
}

static int each_query(struct spots *s, void (*pass)(struct spots *s), struct err *e)
{
    for (uint32_t q = 0; q < s->p->w->queries_n; q++) {
        begin_query(s, q);
        pass(s);
        int rc = arena_check(s->p->arena, "planning", e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int planner_offer_spots(struct planning *p, struct err *e)
{
    uint32_t n = p->logical.nodes_n;
    struct spots s = {.p = p,
                      .seen = arena_zalloc(p->arena, n * sizeof *s.seen),
                      .nodes = ARENA_ARRAY(p->arena, uint32_t, n),
                      .minded = ARENA_ARRAY(p->arena, bool, n),
                      .may_keep = ARENA_ARRAY(p->arena, bool, n),
                      .spot = ARENA_ARRAY(p->arena, uint32_t, n),
                      .demand = ARENA_ARRAY(p->arena, uint32_t, n),
                      .group = ARENA_ARRAY(p->arena, uint32_t, n),
                      .reader = ARENA_ARRAY(p->arena, uint32_t, n),
                      .wanted = arena_zalloc(p->arena, n * sizeof *s.wanted)};
    p->query_spots_first = arena_zalloc(p->arena, ((size_t)p->w->queries_n + 1) * sizeof(uint32_t));
    int rc = arena_check(p->arena, "planning", e);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        s.reader[i] = PLAN_NONE;
    rc = rc ? rc : each_query(&s, note_readers, e);
    rc = rc ? rc : each_query(&s, note_wanted, e);
    rc = rc ? rc : each_query(&s, add_kept, e);
    rc = rc ? rc : stored_list(p, &s.stored, e);
    return rc ? rc : each_query(&s, add_spots, e);
}
