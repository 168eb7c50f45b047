#include "executor/why_raw.h"

#include "base/duration.h"
#include "executor/panes.h"
#include "executor/stored.h"

/* Nothing to add where the plan itself is raw: the planner's reasons stand in the plan. */
static bool reads_panes(const struct bound *b, uint32_t node)
{
    const struct plan_node *n = &b->nodes[node];
    bool any = n->op == PLAN_OP_ESTIMATE || n->op == PLAN_OP_STORED;
    for (uint32_t i = 0; i < n->in_n && !any; i++)
        any = reads_panes(b, b->edges[n->in_first + i]);
    return any;
}

static void say_misfit(const struct plan_node *estimate, uint32_t view, const struct grid *panes,
                       const struct site *site, const struct times *t, struct strbuf *out)
{
    char width[DURATION_TEXT_MAX], phase[DURATION_TEXT_MAX], other[DURATION_TEXT_MAX];
    duration_format(panes->step_ms, width);
    duration_format(panes->phase_ms, phase);
    strbuf_printf(out, "why raw: " STR_FMT ": ", STR_ARG(estimate->expr_text));
    if (site->range_ms % panes->step_ms != 0) {
        duration_format(site->range_ms, other);
        strbuf_printf(out, "its window of %s is not whole panes of view %u, %s each\n", other, view, width);
    } else if (t->n > 1 && t->step_ms % panes->step_ms != 0) {
        duration_format(t->step_ms, other);
        strbuf_printf(out, "the step of %s is no multiple of view %u's panes of %s\n", other, view, width);
    } else {
        strbuf_printf(out, "%s on view %u's grid of %s", t->n > 1 ? "the times are not" : "the time is not", view,
                      width);
        if (panes->phase_ms != 0)
            strbuf_printf(out, " phase %s", phase);
        strbuf_add_char(out, '\n');
    }
}

static void say_off_grid(const struct plan_node *stored, const struct grid *g, const struct times *t,
                         struct strbuf *out)
{
    char step[DURATION_TEXT_MAX], other[DURATION_TEXT_MAX];
    duration_format(g->step_ms, step);
    duration_format(t->step_ms, other);
    strbuf_printf(out, "why raw: " STR_FMT ": ", STR_ARG(stored->expr_text));
    if (t->n > 1 && t->step_ms % g->step_ms != 0)
        strbuf_printf(out, "the step of %s is no multiple of stored root %u's %s\n", other, stored->stored_root, step);
    else if (floor_mod(t->start_ms - g->phase_ms, g->step_ms) != 0)
        strbuf_printf(out, "%s on stored root %u's grid of %s\n", t->n > 1 ? "the times are not" : "the time is not",
                      stored->stored_root, step);
    else
        strbuf_printf(out, "stored root %u has another look-back\n", stored->stored_root);
}

/* The sites and stored parts of a planned query that do not fit the times asked. */
static void say_misfits(const struct plan *plan, uint32_t node, const struct times *t, const struct query_options *o,
                        struct arena *a, struct strbuf *out)
{
    const struct plan_node *n = &plan->nodes[node];
    struct site site;
    if (n->op == PLAN_OP_ESTIMATE) {
        uint32_t view = plan->nodes[plan->edges[n->in_first]].view;
        const struct plan_view *v = &plan->views[view];
        if (estimate_site_of(n->expr, a, &site) && panes_fit(v, &site, t) == PANES_UNFIT)
            say_misfit(n, view, &v->panes, &site, t, out);
        return;
    }
    if (n->op == PLAN_OP_STORED) {
        if (!stored_fits(plan, n->stored_root, t, o->lookback_ms, o->default_step_ms))
            say_off_grid(n, &plan->stored_roots[n->stored_root].grid, t, out);
        return;
    }
    for (uint32_t i = 0; i < n->in_n; i++)
        say_misfits(plan, plan->edges[n->in_first + i], t, o, a, out);
}

void why_raw(const struct plan *plan, const struct bound *b, const struct times *t, const struct query_options *o,
             struct arena *a, struct strbuf *out)
{
    if (!plan)
        return;
    if (o->exact) {
        strbuf_add_z(out, "why raw: exact asks for raw samples\n");
    } else if (b->query == PLAN_NONE) {
        if (!reads_panes(b, b->root))
            strbuf_add_z(out, "why raw: it is no query of the workload, and no view answers it at these times\n");
    } else if (!plan_query_reads_kept(plan, b->query)) {
        strbuf_printf(out, "why raw: query %u of the plan is planned so; /api/v1/plan?format=text says why\n",
                      b->query);
    } else if (plan_query_refused(plan, b->query)) {
        strbuf_printf(out, "why raw: query %u of the plan failed its rehearsal; the log says how\n", b->query);
    } else if (b->nodes != plan->nodes) {
        say_misfits(plan, plan->queries[b->query].root, t, o, a, out);
    }
}
