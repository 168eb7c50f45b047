#include "executor/query.h"

#include "base/duration.h"
#include "executor/bind.h"
#include "executor/function_info.h"
#include "executor/ladder.h"
#include "executor/panes.h"
#include "executor/raw.h"
#include "executor/result.h"
#include "executor/snapshot.h"
#include "executor/stored.h"
#include "executor/why_raw.h"
#include "plan/explain.h"
#include "promql/print.h"

void query_limits_default(struct query_limits *l)
{
    *l = (struct query_limits){
        .samples_max = 50000000, .series_max = 2000000, .memory_bytes = UINT64_C(2) << 30, .points_max = 11000};
}

/* One run over one snapshot. */
struct run {
    const struct executor *x;
    struct eval ev;
    struct query_limits limits;
    struct times t;
    bool range;
    const struct expr *root; /* resolved */
    struct bound bound;
    const struct expr **exprs; /* [bound.nodes_n]: the node's tree, resolved */
    uint32_t *requests;        /* [bound.nodes_n]: an ESTIMATE's request */
    uint32_t *lefts;           /* [bound.nodes_n]: and that of its left edge, or PLAN_NONE */
    struct stored_site *sites; /* [bound.nodes_n]: a STORED's; NULL when there is none */
    struct value *values;      /* [bound.nodes_n] */
    bool *done;                /* [bound.nodes_n] */
    struct snapshot snapshot;
    struct pane_counts counts;
    bool read_raw;
    bool moved; /* results that were kept changed while the snapshot was taken */
};

static int check_options(const struct query_options *o, struct run *r, struct err *e)
{
    query_limits_default(&r->limits);
    const struct query_limits *given = &o->limits;
    if (given->samples_max)
        r->limits.samples_max = given->samples_max;
    if (given->series_max)
        r->limits.series_max = given->series_max;
    if (given->memory_bytes)
        r->limits.memory_bytes = given->memory_bytes;
    if (given->points_max)
        r->limits.points_max = given->points_max;
    r->limits.deadline_ns = given->deadline_ns;
    r->range = o->step_ms != 0;
    if (!r->range && o->start_ms != o->end_ms)
        return err_set(e, ERR_BAD_DATA,
                       "zero or negative query resolution step widths are not accepted. Try a "
                       "positive integer");
    if (o->step_ms < 0)
        return err_set(e, ERR_BAD_DATA,
                       "zero or negative query resolution step widths are not accepted. Try a "
                       "positive integer");
    int64_t length_ms;
    if (__builtin_sub_overflow(o->end_ms, o->start_ms, &length_ms))
        return err_set(e, ERR_BAD_DATA, "the query's start and end are too far apart");
    if (length_ms < 0)
        return err_set(e, ERR_BAD_DATA, "end timestamp must not be before start time");
    int64_t steps = r->range ? length_ms / o->step_ms : 0;
    if (steps > r->limits.points_max)
        return err_set(e, ERR_BAD_DATA,
                       "exceeded maximum resolution of %u points per timeseries. Try decreasing the query resolution "
                       "(?step=XX)",
                       r->limits.points_max);
    r->t = (struct times){o->start_ms, o->step_ms, (uint32_t)steps + 1};
    return 0;
}

static int check_type(const struct run *r, const struct expr *root, struct err *e)
{
    if (!r->range || root->type == VALUE_SCALAR || root->type == VALUE_VECTOR)
        return 0;
    return err_set(e, ERR_BAD_DATA, "invalid expression type \"%s\" for range query, must be Scalar or instant Vector",
                   value_type_name(root->type));
}

/* ---- naming what will be read ---- */
static void site_views(struct run *r, const struct plan_node *estimate, struct pane_site *p)
{
    uint32_t view = r->bound.nodes[r->bound.edges[estimate->in_first]].view;
    p->view = &r->bound.plan->views[view];
    p->rollups = ladder_views(r->bound.plan, view, r->ev.arena, &p->rollups_n);
}

static int add_node(struct run *r, uint32_t id, struct err *e)
{
    const struct plan_node *node = &r->bound.nodes[id];
    if (r->exprs[id])
        return 0;
    struct expr *resolved;
    int code = expr_resolve(node->expr, r->t.start_ms, r->ev.query_end_ms, r->t.step_ms, r->ev.arena, &resolved, e);
    if (code != 0)
        return code;
    r->exprs[id] = expr_unwrap(resolved);
    if (node->op == PLAN_OP_RAW) {
        code = info_complete(r->exprs[id], r->ev.arena, &r->exprs[id], e);
        return code != 0 ? code : snapshot_add_expr(&r->snapshot, &r->ev, r->exprs[id], &r->t, e);
    }
    if (node->op == PLAN_OP_ESTIMATE) {
        struct source_request request;
        struct pane_site p = {0};
        if (!estimate_site_of(r->exprs[id], r->ev.arena, &p.site))
            return err_set(e, ERR_INTERNAL, "a plan's estimate is none of what panes can stand for");
        site_views(r, node, &p);
        code = panes_request(&p, &r->t, r->ev.arena, &request, e);
        if (code == 0)
            code = snapshot_add_request(&r->snapshot, &request, &r->requests[id], e);
        if (code == 0 && panes_left_request(p.view, &p.site, &r->t, &request))
            code = snapshot_add_request(&r->snapshot, &request, &r->lefts[id], e);
        return code;
    }
    if (node->op == PLAN_OP_STORED) {
        if (!r->sites)
            r->sites = arena_zalloc(r->ev.arena, r->bound.nodes_n * sizeof *r->sites);
        if (!r->sites)
            return arena_check(r->ev.arena, "query", e);
        return stored_open(r->x->source, r->bound.plan, node->stored_root, r->exprs[id], &r->t, &r->ev, &r->snapshot,
                           &r->sites[id], e);
    }
    if (node->op != PLAN_OP_VECTOR)
        return err_set(e, ERR_NOT_COVERED, "a plan node of kind %s is not read by queries", plan_op_name(node->op));
    for (uint32_t i = 0; code == 0 && i < node->in_n; i++)
        code = add_node(r, r->bound.edges[node->in_first + i], e);
    return code;
}

static int add_bound(struct run *r, struct err *e)
{
    uint32_t n = r->bound.nodes_n;
    r->exprs = arena_zalloc(r->ev.arena, n * sizeof *r->exprs);
    r->requests = ARENA_ARRAY(r->ev.arena, uint32_t, n);
    r->lefts = ARENA_ARRAY(r->ev.arena, uint32_t, n);
    r->values = arena_zalloc(r->ev.arena, n * sizeof *r->values);
    r->done = arena_zalloc(r->ev.arena, n * sizeof *r->done);
    int code = arena_check(r->ev.arena, "query", e);
    for (uint32_t i = 0; code == 0 && i < n; i++)
        r->lefts[i] = PLAN_NONE;
    return code != 0 ? code : add_node(r, r->bound.root, e);
}

/* ---- evaluating ---- */
static int eval_node(struct run *r, uint32_t id, struct value *ret, struct err *e);

/* An answer that may be off says by how much: family, parameters, guarantee. */
static void note_guarantee(struct run *r, const struct plan_view *view, const struct plan_node *node)
{
    const double failure = 0.01;
    struct accuracy guarantee = accuracy_of_states(view->family, &view->params, node->statistic, failure);
    struct strbuf text = {0};
    if (guarantee.kind == ACCURACY_EXACT)
        return;
    guarantee_text(view->family, &view->params, &guarantee, &text);
    notes_info(r->ev.notes, STR_FMT " is estimated from panes of %s", STR_ARG(node->expr_text), strbuf_z(&text));
    strbuf_done(&text);
}

static int estimate_node(struct run *r, uint32_t id, struct value *ret, struct err *e)
{
    const struct plan_node *node = &r->bound.nodes[id];
    struct pane_site p = {.result = &r->snapshot.results[r->requests[id]],
                          .sketch_seed = r->bound.plan->sketch_seed,
                          .cache = r->x->kept};
    site_views(r, node, &p);
    if (!estimate_site_of(r->exprs[id], r->ev.arena, &p.site))
        return arena_check(r->ev.arena, "query", e);
    p.site.statistic = node->statistic; /* the operator's: it knows some that PromQL has no words for */
    if (r->lefts[id] != PLAN_NONE)
        p.left = &r->snapshot.results[r->lefts[id]];
    note_guarantee(r, p.view, node);
    return panes_estimate(&r->ev, &p, &r->t, ret, &r->counts, e);
}

static int stored_node(struct run *r, uint32_t id, struct value *ret, struct err *e)
{
    const struct stored_site *s = &r->sites[id];
    int code = stored_eval(&r->ev, r->x->source, s, ret, e);
    r->read_raw |= s->runs_n > 0;
    if (s->kept_n > 0)
        r->counts.sources |= SOURCE_ROOT;
    return code;
}

/* The operator's arguments: operands are the node's inputs, in order; literals are evaluated here. */
static int vector_node(struct run *r, uint32_t id, struct value *ret, struct err *e)
{
    enum { OPERANDS_MAX = 64 };
    const struct plan_node *node = &r->bound.nodes[id];
    const struct expr *expr = r->exprs[id], *operands[OPERANDS_MAX];
    uint32_t operands_n = expr_operands(expr, operands, OPERANDS_MAX), next = 0;
    if (operands_n != node->in_n || operands_n > OPERANDS_MAX)
        return err_set(e, ERR_INTERNAL, "a plan node's inputs do not fit its operator");
    struct value *args = ARENA_ARRAY(r->ev.arena, struct value, expr->args_n);
    int code = arena_check(r->ev.arena, "query", e);
    for (uint32_t i = 0; code == 0 && i < expr->args_n; i++) {
        if (next < operands_n && operands[next] == expr_unwrap(expr->args[i]))
            code = eval_node(r, r->bound.edges[node->in_first + next++], &args[i], e);
        else
            code = eval_expr(&r->ev, expr->args[i], &r->t, &args[i], e);
    }
    return code != 0 ? code : apply_expr(&r->ev, expr, &r->t, args, ret, e);
}

static int eval_node(struct run *r, uint32_t id, struct value *ret, struct err *e)
{
    int code = 0;
    if (!r->done[id]) {
        switch (r->bound.nodes[id].op) {
        case PLAN_OP_RAW:
            code = eval_expr(&r->ev, r->exprs[id], &r->t, &r->values[id], e);
            r->read_raw |= r->ev.selectors_n > 0;
            break;
        case PLAN_OP_ESTIMATE:
            code = estimate_node(r, id, &r->values[id], e);
            break;
        case PLAN_OP_STORED:
            code = stored_node(r, id, &r->values[id], e);
            break;
        default:
            code = vector_node(r, id, &r->values[id], e);
            break;
        }
        if (code != 0)
            return code;
        r->done[id] = true;
    }
    *ret = r->values[id];
    return 0;
}

static int run_evaluate(struct run *r, struct result *ret, struct err *e)
{
    struct value v;
    if (r->root->type == VALUE_MATRIX) {
        r->read_raw = true;
        return result_points(&r->ev, r->root, &r->t, ret, e);
    }
    int code = eval_node(r, r->bound.root, &v, e);
    return code != 0 ? code : result_assemble(&r->ev, &v, &r->t, r->range, ret, e);
}

static int check_sites(struct run *r, struct err *e)
{
    int code = 0;
    for (uint32_t i = 0; r->sites && i < r->bound.nodes_n && code == 0; i++) {
        bool still = true;
        if (r->sites[i].kept_n > 0)
            code = stored_still(r->x->source, &r->sites[i], r->ev.arena, &still, e);
        r->moved |= !still;
    }
    return code == 0 && r->moved ? err_set(e, ERR_NOT_COVERED, "late samples came in between") : code;
}

static int run_once(struct run *r, const struct query_options *o, struct result *ret, struct err *e)
{
    struct arena *a = r->ev.arena;
    int code;
    snapshot_init(&r->snapshot, a);
    if (r->root->type == VALUE_MATRIX) {
        code = snapshot_add_expr(&r->snapshot, &r->ev, r->root, &r->t, e);
    } else {
        code = bind_query(r->x->plan, r->root, &r->t, o, a, &r->bound, e);
        if (code == 0)
            code = add_bound(r, e);
    }
    if (code == 0)
        code = snapshot_take(&r->snapshot, r->x->source, &r->ev, e);
    if (code == 0)
        code = check_sites(r, e);
    if (code == 0)
        code = run_evaluate(r, ret, e);
    snapshot_done(&r->snapshot, &r->ev);
    return code;
}

static int query_parsed(const struct executor *x, struct str text, const struct expr *tree,
                        const struct query_options *o, struct run *r, struct result *ret, struct err *e)
{
    struct expr *resolved;
    struct arena *a = r->ev.arena;
    struct query_options options = *o;
    int code = check_type(r, tree, e);
    if (code == 0)
        code = expr_resolve(tree, o->start_ms, o->end_ms, o->step_ms, a, &resolved, e);
    if (code != 0)
        return code;
    r->x = x;
    r->root = expr_unwrap(resolved);
    r->ev.text = arena_strndup(a, text.p, text.n);
    ret->notes = (struct notes){.arena = a};
    r->ev.notes = &ret->notes;
    struct run first = *r;
    code = run_once(r, &options, ret, e);
    ret->query = r->root->type == VALUE_MATRIX ? PLAN_NONE : r->bound.query;
    for (int again = 2; code == ERR_NOT_COVERED && !options.exact && x->plan; again--) {
        /* What is kept cannot say it within its guarantee; raw samples can. A run of its own: it needs a snapshot of
         * its own. */
        options.exact = !r->moved || again == 0;
        *r = first;
        *e = (struct err){0};
        ret->notes = (struct notes){.arena = a};
        code = run_once(r, &options, ret, e);
    }
    return code;
}

int query_run(const struct executor *x, struct str text, const struct query_options *o, struct arena *a,
              struct result *ret, struct err *e)
{
    struct run r = {0};
    struct result out = {0};
    int code = check_options(o, &r, e);
    if (code != 0)
        return code;
    if (a->limit_bytes == 0 || a->limit_bytes > r.limits.memory_bytes)
        a->limit_bytes = r.limits.memory_bytes;
    r.ev = (struct eval){.arena = a,
                         .limits = &r.limits,
                         .canceled = o->canceled,
                         .lookback_ms = o->lookback_ms ? o->lookback_ms : 300000,
                         .default_step_ms = o->default_step_ms ? o->default_step_ms : 60000,
                         .query = r.t,
                         .query_end_ms = o->end_ms,
                         .pool = x->pool};
    struct parsed parsed;
    code = promql_parse(text, a, &parsed, e);
    if (code != 0)
        return code;
    code = query_parsed(x, text, parsed.root, o, &r, &out, e);
    parsed_done(&parsed);
    if (code != 0)
        return code;
    out.sources = r.counts.sources | (r.read_raw ? SOURCE_RAW : 0);
    out.states_n = r.counts.states_n;
    out.samples_n = r.ev.samples_n;
    *ret = out;
    return 0;
}

/* One line per node, inputs before what reads them. */
static void explain_node(const struct bound *b, uint32_t id, struct strbuf *out)
{
    const struct plan_node *n = &b->nodes[id];
    char width[DURATION_TEXT_MAX];
    if (n->op == PLAN_OP_PANE_READ) {
        const struct plan_view *v = &b->plan->views[n->view];
        duration_format(v->panes.step_ms, width);
        strbuf_printf(out, "%s view %u %s", plan_op_name(n->op), n->view, family_get(v->family)->name);
        for (uint32_t i = 0; i < v->reduce_n && !v->per_series; i++)
            strbuf_printf(out, "%s" STR_FMT, i ? ", " : " by (", STR_ARG(v->reduce[i]));
        strbuf_add_z(out, v->per_series ? "" : v->reduce_n ? ")" : " of all series");
        strbuf_printf(out, ", %u panes of %s", n->count, width);
        for (uint32_t i = 0, said_n = 0; i < b->plan->views_n; i++)
            if (ladder_rolls_up(b->plan, i, n->view))
                strbuf_printf(out, "%s %u", said_n++ ? "," : ", rolled up by views", i);
        strbuf_add_z(out, "\n");
        return;
    }
    if (n->op == PLAN_OP_STORED) {
        duration_format(b->plan->stored_roots[n->stored_root].grid.step_ms, width);
        strbuf_printf(out, "stored root %u each %s  " STR_FMT "\n", n->stored_root, width, STR_ARG(n->expr_text));
        return;
    }
    for (uint32_t i = 0; i < n->in_n; i++)
        explain_node(b, b->edges[n->in_first + i], out);
    strbuf_printf(out, "%s " STR_FMT "\n", plan_op_name(n->op), STR_ARG(n->expr_text));
}

int query_explain(const struct executor *x, struct str text, const struct query_options *o, struct arena *a,
                  struct strbuf *out, struct err *e)
{
    struct run r = {0};
    struct parsed parsed;
    struct expr *resolved;
    int code = check_options(o, &r, e);
    if (code == 0)
        code = promql_parse(text, a, &parsed, e);
    if (code != 0)
        return code;
    code = check_type(&r, parsed.root, e);
    if (code == 0)
        code = expr_resolve(parsed.root, o->start_ms, o->end_ms, o->step_ms, a, &resolved, e);
    if (code == 0 && parsed.root->type == VALUE_MATRIX) {
        struct str canonical = expr_text(resolved, a);
        strbuf_printf(out, "raw " STR_FMT "\n", STR_ARG(canonical));
    } else if (code == 0) {
        code = bind_query(x->plan, resolved, &r.t, o, a, &r.bound, e);
        if (code == 0) {
            explain_node(&r.bound, r.bound.root, out);
            why_raw(x->plan, &r.bound, &r.t, o, a, out);
        }
    }
    parsed_done(&parsed);
    return code;
}
