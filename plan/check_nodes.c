/* What each operator demands of its inputs, its view and its tree. Every index is in range (check_shapes). */
#include "base/alloc.h"
#include "plan/check_internal.h"
#include "plan/coverage.h"
#include "plan/file_format.h"
#include "plan/logical.h"
#include "promql/print.h"

static int check_halves(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    for (uint32_t i = 0; i < n->in_n; i++)
        if (check_input(c->p, n, i)->half != n->half)
            return check_fail_node(c, id, "illegal_input_phase", "input %u is in the other half of the plan", i);
    return 0;
}

/* A tree of the wrong type would fail far away; an unwrapped, canonical text is what inputs and lookups go by. */
static int check_tree(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    strbuf_clear(&c->text);
    expr_print(n->expr, &c->text);
    if (!str_eq((struct str){c->text.p, c->text.n}, n->expr_text) || n->expr->kind == EXPR_PAREN)
        return check_fail_node(c, id, "text_not_canonical", "its text is not that of its tree");
    if (n->expr->type != VALUE_VECTOR && n->expr->type != VALUE_SCALAR)
        return check_fail_node(c, id, "bad_output", "its expression is a %s, not an instant vector or scalar",
                               value_type_name(n->expr->type));
    return 0;
}

static enum plan_out out_of(const struct plan_node *n)
{
    bool computes = n->op == PLAN_OP_RAW || n->op == PLAN_OP_VECTOR || n->op == PLAN_OP_STORED;
    return computes && n->expr->type == VALUE_SCALAR ? OUT_SCALAR : plan_op_out(n->op);
}

static int fail_unless_leaf(struct check *c, uint32_t id)
{
    if (c->p->nodes[id].in_n != 0)
        return check_fail_node(c, id, "bad_input", "it takes no inputs");
    return 0;
}

/* A pane's window is absolute, (end - width, end]: offsets live in the chain's phase and in pane_read. */
static int check_scan(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    if (n->offset_ms != 0 || n->anchored)
        return check_fail_node(c, id, "bad_node", "a scan for panes has no offset and no anchor");
    return fail_unless_leaf(c, id);
}

/* BUILD and MERGE make the states of one view, which names them. */
static int check_owner(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    const struct plan_view *v = &c->p->views[n->view];
    if (v->node != id)
        return check_fail_node(c, id, "bad_node", "view %u is made by node %u", n->view, v->node);
    if ((v->when == WHEN_INGESTION) != (n->half == HALF_PRECOMPUTE))
        return check_fail_node(c, id, "illegal_input_phase", "view %u is built in the other half of the plan", n->view);
    return 0;
}

static int check_build(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    if (n->in_n != 1 || check_input(c->p, n, 0)->op != PLAN_OP_SCAN)
        return check_fail_node(c, id, "bad_input", "it takes the samples of one scan");
    if (check_input(c->p, n, 0)->source != c->p->views[n->view].source)
        return check_fail_node(c, id, "definition_mismatch", "it scans another source than view %u", n->view);
    if (c->p->views[n->view].level_of != PLAN_NONE)
        return check_fail_node(c, id, "bad_node", "view %u is a roll-up and needs a merge", n->view);
    return check_owner(c, id);
}

/* The windows of the level below that fill one of this view's, merged. */
static int check_roll_up(struct check *c, uint32_t id, const struct plan_view *below)
{
    const struct plan_node *n = &c->p->nodes[id];
    const struct plan_view *v = &c->p->views[n->view];
    int64_t width_ms = v->panes.step_ms, below_ms = below->panes.step_ms;
    if (width_ms <= below_ms)
        return check_fail_node(c, id, "group_cycle", "a roll-up reads only narrower panes than its own");
    struct region region;
    struct coverage merged;
    struct view_definition definition = plan_view_definition(c->p, v->level_of);
    uint32_t count = width_ms / below_ms <= PLAN_PANES_MAX ? (uint32_t)(width_ms / below_ms) : PLAN_PANES_MAX;
    int rc =
        coverage_chain(coverage_definition(&definition), below->family, 0, below_ms, count, &region, &merged, c->e);
    if (rc != 0)
        return err_prefix(c->e, "node %u (merge)", id);
    struct grid fitted = grid_through(v->panes.phase_ms, below_ms);
    if (!coverage_is(&merged, -width_ms, 0, &(struct labels){0}) || fitted.phase_ms != below->panes.phase_ms)
        return check_fail_node(
            c, id, "chain_does_not_tile", "panes of %lld ms at phase %lld do not fill windows of %lld ms at phase %lld",
            (long long)below_ms, (long long)below->panes.phase_ms, (long long)width_ms, (long long)v->panes.phase_ms);
    return 0;
}

static int check_merge(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    const struct plan_view *v = &c->p->views[n->view];
    if (n->in_n == 0)
        return check_fail_node(c, id, "empty_merge", "a merge needs at least one input");
    for (uint32_t i = 0; i < n->in_n; i++) {
        enum plan_op op = check_input(c->p, n, i)->op;
        if (op != PLAN_OP_BUILD && op != PLAN_OP_MERGE)
            return check_fail_node(c, id, "not_summary", "input %u is no state", i);
        if (check_input(c->p, n, i)->view != v->level_of)
            return check_fail_node(c, id, "definition_mismatch", "input %u is not the view that view %u rolls up", i,
                                   n->view);
    }
    if (n->in_n > 1)
        return check_fail_node(c, id, "inputs_overlap", "the level below is there more than once");
    struct view_definition ours = plan_view_definition(c->p, n->view);
    struct view_definition theirs = plan_view_definition(c->p, v->level_of);
    if (coverage_definition(&ours) != coverage_definition(&theirs))
        return check_fail_node(c, id, "definition_mismatch", "views %u and %u are different states", n->view,
                               v->level_of);
    if (c->p->views[v->level_of].when != v->when)
        return check_fail_node(c, id, "illegal_input_phase", "views %u and %u are not built at the same time", n->view,
                               v->level_of);
    int rc = check_roll_up(c, id, &c->p->views[v->level_of]);
    return rc != 0 ? rc : check_owner(c, id);
}

static int check_pane_read(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    if (n->half == HALF_PRECOMPUTE && c->p->views[n->view].when != WHEN_INGESTION)
        return check_fail_node(c, id, "illegal_input_phase", "view %u is not kept at ingestion", n->view);
    return fail_unless_leaf(c, id);
}

bool check_site_of(struct check *c, const struct plan_node *n, struct site *ret)
{
    arena_reset(&c->site);
    return site_of(n->expr, ret) || group_site_of(n->expr, &c->site, ret);
}

bool check_is_unbounded(struct check *c, const struct plan_node *n)
{
    struct site site;
    const struct plan_node *read = check_input(c->p, n, 0);
    const struct plan_view *v = &c->p->views[read->view];
    if (family_readout(family_get(v->family), n->statistic)->merged != MERGED_APPROXIMATE)
        return false;
    return read->count > 1 || (check_site_of(c, n, &site) && site.group && v->reduce_n > site.group->by_n);
}

/* Do the states hold the samples of the site, in groups no coarser than its own? */
static int check_held_samples(struct check *c, uint32_t id, const struct site *site, uint32_t view)
{
    const struct plan_view *v = &c->p->views[view];
    const struct site_group *g = site->group;
    bool fits = g ? !v->per_series && view_input_eq(&v->input, &g->input) : v->per_series;
    const struct plan_source *source = &c->p->sources[v->source];
    const struct expr *selector = site->selector;
    if (!fits || !matchers_eq(source->matchers, source->matchers_n, selector->matchers, selector->matchers_n))
        return check_fail_node(c, id, "definition_mismatch", "view %u holds other samples than its expression reads",
                               view);
    int rc = g ? coverage_groups(v->family, v->reduce, v->reduce_n, g->by, g->by_n, c->e) : 0;
    return rc != 0 ? err_prefix(c->e, "node %u (estimate)", id) : 0;
}

/* Do the panes hold what the tree asks for? */
static int check_estimated_view(struct check *c, uint32_t id, const struct site *site, const struct plan_node *read)
{
    const struct plan_view *v = &c->p->views[read->view];
    const struct plan_node *n = &c->p->nodes[id];
    if (n->statistic != site->statistic || n->q != site->q)
        return check_fail_node(c, id, "definition_mismatch", "its statistic is not that of its expression");
    if (!family_readout(family_get(v->family), site->statistic))
        return check_fail_node(c, id, "no_readout", "%s has no %s", family_get(v->family)->name,
                               statistic_name(site->statistic));
    if (read->offset_ms != site->offset_ms || read->anchored != site->anchored ||
        (site->anchored && read->at_ms != site->at_ms))
        return check_fail_node(c, id, "definition_mismatch", "it reads panes at another time than its expression");
    return check_held_samples(c, id, site, read->view);
}

static int check_estimate(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    struct site site;
    if (n->in_n != 1 || check_input(c->p, n, 0)->op != PLAN_OP_PANE_READ)
        return check_fail_node(c, id, "not_summary", "it takes the panes of one pane_read");
    if (!check_site_of(c, n, &site))
        return check_fail_node(c, id, "not_a_site", "no panes hold what its expression is made of");
    const struct plan_node *read = check_input(c->p, n, 0);
    const struct plan_view *v = &c->p->views[read->view];
    int rc = check_estimated_view(c, id, &site, read);
    if (rc != 0)
        return rc;
    struct region region;
    struct coverage merged;
    struct view_definition definition = plan_view_definition(c->p, read->view);
    rc = coverage_chain(coverage_definition(&definition), v->family, -site.offset_ms, v->panes.step_ms, read->count,
                        &region, &merged, c->e);
    if (rc != 0)
        return err_prefix(c->e, "node %u (estimate)", id);
    if (!coverage_is(&merged, -site.offset_ms - site.range_ms, -site.offset_ms, &(struct labels){0}))
        return check_fail_node(c, id, "chain_does_not_tile", "%u panes of %lld ms are not a window of %lld ms",
                               read->count, (long long)v->panes.step_ms, (long long)site.range_ms);
    return 0;
}

static int check_stored(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    const struct plan_stored_root *r = &c->p->stored_roots[n->stored_root];
    const struct plan_node *kept = &c->p->nodes[r->node];
    if (r->node >= id || !kept->expr)
        return check_fail_node(c, id, "bad_input", "its stored root must be a smaller node with an expression");
    if (!expr_equal(kept->expr, n->expr))
        return check_fail_node(c, id, "definition_mismatch", "stored root %u keeps another expression", n->stored_root);
    return fail_unless_leaf(c, id);
}

static int check_vector(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    uint32_t operands_n = expr_operands(n->expr, NULL, 0);
    if (operands_n != n->in_n || operands_n == 0)
        return check_fail_node(c, id, "operands_differ", "it has %u inputs, its expression %u operands", n->in_n,
                               operands_n);
    if (operands_n > c->operands_cap)
        c->operands = mem_grow((void *)(uintptr_t)c->operands, &c->operands_cap, operands_n, sizeof *c->operands);
    expr_operands(n->expr, c->operands, operands_n);
    for (uint32_t i = 0; i < operands_n; i++) {
        const struct plan_node *input = check_input(c->p, n, i);
        if (!(plan_op_args(input->op) & ARG_EXPR) || !expr_equal(input->expr, c->operands[i]))
            return check_fail_node(c, id, "operands_differ", "input %u is not operand %u of its expression", i, i);
    }
    return 0;
}

static int check_node(struct check *c, uint32_t id)
{
    const struct plan_node *n = &c->p->nodes[id];
    int rc = check_halves(c, id);
    if (rc == 0 && (plan_op_args(n->op) & ARG_EXPR))
        rc = check_tree(c, id);
    if (rc == 0 && n->out != out_of(n))
        rc = check_fail_node(c, id, "bad_output", "it gives something else than it says");
    if (rc != 0)
        return rc;
    switch (n->op) {
    case PLAN_OP_SCAN:
        return check_scan(c, id);
    case PLAN_OP_BUILD:
        return check_build(c, id);
    case PLAN_OP_MERGE:
        return check_merge(c, id);
    case PLAN_OP_PANE_READ:
        return check_pane_read(c, id);
    case PLAN_OP_ESTIMATE:
        return check_estimate(c, id);
    case PLAN_OP_STORED:
        return check_stored(c, id);
    case PLAN_OP_RAW:
        return fail_unless_leaf(c, id);
    case PLAN_OP_VECTOR:
        return check_vector(c, id);
    case PLAN_OP_INVALID:
    case PLAN_OP_END:
        break;
    }
    return check_fail(c, "node", id, "bad_node", "unknown operator");
}

int check_nodes(struct check *c)
{
    int rc = 0;
    for (uint32_t i = 0; i < c->p->nodes_n && rc == 0; i++)
        rc = check_node(c, i);
    return rc;
}
