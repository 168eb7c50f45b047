#include "plan/explain.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/float_text.h"
#include "plan/file_format.h"

static void add_duration(struct strbuf *out, int64_t ms)
{
    char text[DURATION_TEXT_MAX];
    strbuf_add(out, text, (size_t)duration_format(ms, text));
}

/* Six digits are enough for people; the plan file has them all. */
static void add_number(struct strbuf *out, double v)
{
    strbuf_printf(out, "%.6g", v);
}

static void add_family(struct strbuf *out, enum family family, const struct sketch_params *params)
{
    const struct family_info *info = family_get(family);
    switch (family) {
    case FAMILY_KLL:
        strbuf_printf(out, "KLL k=%u", params->k);
        return;
    case FAMILY_DDSKETCH:
        strbuf_add_z(out, "DDSketch alpha=");
        add_number(out, params->alpha);
        return;
    case FAMILY_HLL:
        strbuf_printf(out, "HLL p=%u", params->p);
        return;
    default:
        strbuf_add_z(out, info ? info->name : "unknown family");
    }
    const struct {
        const char *name;
        uint32_t value;
    } sizes[] = {{"k", params->k}, {"depth", params->depth}, {"width", params->width}, {"heap", params->heap}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value)
            strbuf_printf(out, " %s=%u", sizes[i].name, sizes[i].value);
}

void reduction_text(const struct str *reduce, uint32_t reduce_n, struct strbuf *out)
{
    strbuf_add_z(out, reduce_n > 0 ? "[by " : "[of all series");
    for (uint32_t i = 0; i < reduce_n; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(reduce[i]));
    strbuf_add_z(out, "] ");
}

/* "[by job] KLL k=52": which states. */
static void add_states(struct strbuf *out, const struct plan_view *v)
{
    if (!v->per_series)
        reduction_text(v->reduce, v->reduce_n, out);
    add_family(out, v->family, &v->params);
    if (v->input.kind == INPUT_SERIES)
        strbuf_add_z(out, " of series");
    else if (v->input.kind == INPUT_LABEL)
        strbuf_printf(out, " of label " STR_FMT, STR_ARG(v->input.label));
}

static void add_accuracy(struct strbuf *out, const struct accuracy *a)
{
    if (a->kind == ACCURACY_EXACT || a->kind == ACCURACY_NONE) {
        strbuf_add_z(out, a->kind == ACCURACY_EXACT ? "exact" : "no bound");
        return;
    }
    strbuf_add_z(out, accuracy_kind_name(a->kind));
    strbuf_add_z(out, a->kind == ACCURACY_ANY ? " " : " error ");
    add_number(out, a->error);
    if (a->failure > 0) {
        strbuf_add_z(out, " with probability ");
        add_number(out, 1 - a->failure);
    }
}

void guarantee_text(enum family family, const struct sketch_params *params, const struct accuracy *guarantee,
                    struct strbuf *out)
{
    add_family(out, family, params);
    strbuf_add_z(out, " (");
    add_accuracy(out, guarantee);
    strbuf_add_char(out, ')');
}

static void add_grid(struct strbuf *out, const struct grid *g)
{
    add_duration(out, g->step_ms);
    if (g->phase_ms != 0) {
        strbuf_add_z(out, " phase ");
        add_duration(out, g->phase_ms);
    }
}

static void add_cadence(struct strbuf *out, const struct cadence *c)
{
    switch (c->kind) {
    case CADENCE_EVERY: {
        struct grid every = {c->every_ms, c->phase_ms};
        strbuf_add_z(out, "every ");
        add_grid(out, &every);
        break;
    }
    case CADENCE_AT:
        strbuf_printf(out, "at %u times", c->at_n);
        break;
    case CADENCE_RATE:
        add_number(out, c->rate_per_s);
        strbuf_add_z(out, " times a second");
        break;
    case CADENCE_ONCE:
        strbuf_add_z(out, "once");
        break;
    }
    if (c->step_ms == 0)
        return;
    strbuf_add_z(out, ", each over ");
    add_duration(out, c->length_ms);
    strbuf_add_z(out, " by ");
    add_duration(out, c->step_ms);
}

/* "KLL k=52  30 x 10s  [view 0]": the panes of one window. */
static void add_panes(struct strbuf *out, const struct plan *p, const struct plan_node *n)
{
    const struct plan_view *v = &p->views[n->view];
    add_states(out, v);
    strbuf_printf(out, "  %u x ", n->count);
    add_duration(out, v->panes.step_ms);
    if (n->offset_ms != 0) {
        strbuf_add_z(out, "  offset ");
        add_duration(out, n->offset_ms);
    }
    if (n->anchored) {
        strbuf_add_z(out, "  @ ");
        strbuf_add_time_ms(out, n->at_ms);
    }
    strbuf_printf(out, "  [view %u]", n->view);
}

/* What one node does, without its inputs. */
static void add_node(struct strbuf *out, const struct plan *p, const struct plan_node *n)
{
    switch (n->op) {
    case PLAN_OP_SCAN:
        strbuf_printf(out, "scan  source %u", n->source);
        return;
    case PLAN_OP_BUILD:
        strbuf_printf(out, "build  view %u", n->view);
        return;
    case PLAN_OP_MERGE:
        strbuf_printf(out, "merge  view %u", n->view);
        return;
    case PLAN_OP_PANE_READ:
        strbuf_add_z(out, "panes  ");
        add_panes(out, p, n);
        return;
    case PLAN_OP_ESTIMATE:
        strbuf_add_z(out, statistic_name(n->statistic));
        if (n->statistic == STATISTIC_QUANTILE || n->statistic == STATISTIC_QUANTILE_RANK ||
            n->statistic == STATISTIC_PREDICT_LINEAR) {
            strbuf_add_char(out, '(');
            strbuf_add_float(out, n->q);
            strbuf_add_char(out, ')');
        }
        return;
    case PLAN_OP_STORED:
        strbuf_printf(out, "stored root %u  ", n->stored_root);
        break;
    case PLAN_OP_RAW:
    case PLAN_OP_VECTOR:
        strbuf_printf(out, "%s  ", plan_op_name(n->op));
        break;
    case PLAN_OP_INVALID:
    case PLAN_OP_END:
        return;
    }
    strbuf_add_str(out, n->expr_text);
}

/* "G2: quantile(0.99) <- G1". */
static void add_node_line(struct strbuf *out, const struct plan *p, uint32_t id)
{
    const struct plan_node *n = &p->nodes[id];
    strbuf_printf(out, "    G%u: ", id);
    add_node(out, p, n);
    for (uint32_t i = 0; i < n->in_n; i++)
        strbuf_printf(out, "%sG%u", i ? ", " : " <- ", p->edges[n->in_first + i]);
    strbuf_add_char(out, '\n');
}

/* The nodes at and below `root`, largest id first: a node before what it reads. A plan that was checked is a DAG of
 * smaller ids, so one falling pass over marks is enough. `marks` has a zeroed byte a node and is left so. */
static void add_tree(struct strbuf *out, const struct plan *p, uint32_t root, uint8_t *marks)
{
    uint32_t lowest = root;
    marks[root] = 1;
    for (uint32_t id = root + 1; id-- > lowest;) {
        const struct plan_node *n = &p->nodes[id];
        if (!marks[id])
            continue;
        marks[id] = 0;
        add_node_line(out, p, id);
        for (uint32_t i = 0; i < n->in_n; i++) {
            uint32_t input = p->edges[n->in_first + i];
            marks[input] = 1;
            lowest = input < lowest ? input : lowest;
        }
    }
}

static void add_cost(struct strbuf *out, const struct plan_cost *cost)
{
    strbuf_add_z(out, "  cost in CPU-ms a second: ingest ");
    add_number(out, cost->ingest);
    strbuf_add_z(out, ", query ");
    add_number(out, cost->query);
    strbuf_add_z(out, ", memory ");
    add_number(out, cost->memory);
    strbuf_add_char(out, '\n');
}

/* That overlapping windows are not one pane each is true of nearly every query: it is worth a line only when there is
 * no other reason. */
static bool is_noise(const struct plan_rejected *r)
{
    return str_has_prefix(r->reason, STR("not_on_grid:"));
}

static void add_rejected(struct strbuf *out, const struct plan_query *q)
{
    bool all = q->uses_n == 0;
    for (uint32_t i = 0; i < q->rejected_n; i++)
        all &= is_noise(&q->rejected[i]);
    for (uint32_t i = 0; i < q->rejected_n; i++) {
        if (!all && is_noise(&q->rejected[i]))
            continue;
        strbuf_add_z(out, "  rejected: ");
        strbuf_add_str(out, q->rejected[i].candidate);
        strbuf_add_z(out, ": ");
        strbuf_add_str(out, q->rejected[i].reason);
        strbuf_add_char(out, '\n');
    }
}

static void add_query(struct strbuf *out, const struct plan *p, uint32_t id, uint8_t *marks)
{
    const struct plan_query *q = &p->queries[id];
    strbuf_printf(out, "query %u", id);
    if (q->name.n > 0)
        strbuf_printf(out, " \"" STR_FMT "\"", STR_ARG(q->name));
    strbuf_add_z(out, ": ");
    strbuf_add_str(out, q->text);
    strbuf_add_z(out, "\n  ");
    add_cadence(out, &q->cadence);
    strbuf_add_z(out, "; wanted ");
    add_accuracy(out, &q->target);
    strbuf_add_z(out, "; guaranteed ");
    add_accuracy(out, &q->guarantee);
    strbuf_add_char(out, '\n');
    add_cost(out, &q->cost);
    strbuf_printf(out, "  chosen: G%u\n", q->root);
    add_tree(out, p, q->root, marks);
    add_rejected(out, q);
}

static void add_source(struct strbuf *out, const struct plan *p, uint32_t id)
{
    const struct plan_source *s = &p->sources[id];
    strbuf_add_char(out, '{');
    for (uint32_t i = 0; i < s->matchers_n; i++) {
        strbuf_add_z(out, i ? "," : "");
        strbuf_add_str(out, s->matchers[i].name);
        strbuf_add_z(out, matcher_op_text(s->matchers[i].op));
        strbuf_add_go_quoted(out, s->matchers[i].value);
    }
    strbuf_add_char(out, '}');
}

static void add_view(struct strbuf *out, const struct plan *p, uint32_t id)
{
    const struct plan_view *v = &p->views[id];
    strbuf_printf(out, "  view %u: ", id);
    add_states(out, v);
    strbuf_printf(out, "  %u x ", v->panes_n);
    add_grid(out, &v->panes);
    strbuf_add_z(out, "  of ");
    add_source(out, p, v->source);
    if (v->level_of != PLAN_NONE)
        strbuf_printf(out, "  from view %u", v->level_of);
    if (v->when == WHEN_INGESTION) {
        strbuf_add_z(out, "  kept ");
        add_duration(out, v->retention_ms);
    } else {
        strbuf_add_z(out, v->when == WHEN_QUERY ? "  built at each read" : "  kept on first read");
    }
    strbuf_printf(out, "  (%s)\n", keyword_of(&when_keywords, (int)v->when));
}

/* What a solver did not look at it does not report. */
static void add_solver(struct strbuf *out, const struct plan_solver *s)
{
    strbuf_add_z(out, "solver: ");
    strbuf_add_str(out, s->status);
    if (s->variables || s->rows)
        strbuf_printf(out, ", bound %.6g, gap %.6g, %u variables, %u rows", s->bound, s->gap, s->variables, s->rows);
    strbuf_add_char(out, '\n');
}

void plan_explain(const struct plan *p, struct strbuf *out)
{
    uint8_t *marks = mem_zalloc(p->nodes_n);
    for (uint32_t i = 0; i < p->queries_n; i++)
        add_query(out, p, i, marks);
    mem_free(marks);
    for (uint32_t g = 0; g < p->groups_n; g++) {
        const struct plan_group *group = &p->groups[g];
        strbuf_printf(out, "refresh group %u: each ", g);
        add_grid(out, &group->window);
        strbuf_add_char(out, '\n');
        for (uint32_t i = 0; i < group->views_n; i++)
            add_view(out, p, group->views[i]);
    }
    for (uint32_t v = 0; v < p->views_n; v++)
        if (p->views[v].when != WHEN_INGESTION)
            add_view(out, p, v);
    for (uint32_t r = 0; r < p->stored_roots_n; r++) {
        strbuf_printf(out, "stored root %u: G%u each ", r, p->stored_roots[r].node);
        add_grid(out, &p->stored_roots[r].grid);
        strbuf_add_char(out, '\n');
    }
    add_solver(out, &p->solver);
}

/* Graphviz: the two halves as clusters; dashed edges are what is kept between them. */
void plan_dot(const struct plan *p, struct strbuf *out)
{
    struct strbuf label = {0};
    strbuf_add_z(out, "digraph plan {\n  rankdir=LR;\n  node [shape=box];\n");
    for (int half = HALF_PRECOMPUTE; half <= HALF_QUERY; half++) {
        const char *name = keyword_of(&half_keywords, half);
        strbuf_printf(out, "  subgraph cluster_%s {\n    label=\"%s\";\n", name, name);
        for (uint32_t id = 0; id < p->nodes_n; id++) {
            if ((int)p->nodes[id].half != half)
                continue;
            strbuf_clear(&label);
            strbuf_printf(&label, "G%u: ", id);
            add_node(&label, p, &p->nodes[id]);
            strbuf_printf(out, "    n%u [label=", id);
            strbuf_add_go_quoted(out, (struct str){label.p, label.n});
            strbuf_add_z(out, "];\n");
        }
        strbuf_add_z(out, "  }\n");
    }
    for (uint32_t id = 0; id < p->nodes_n; id++) {
        const struct plan_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->in_n; i++)
            strbuf_printf(out, "  n%u -> n%u;\n", p->edges[n->in_first + i], id);
        if (n->op == PLAN_OP_PANE_READ)
            strbuf_printf(out, "  n%u -> n%u [style=dashed];\n", p->views[n->view].node, id);
        if (n->op == PLAN_OP_STORED)
            strbuf_printf(out, "  n%u -> n%u [style=dashed];\n", p->stored_roots[n->stored_root].node, id);
    }
    for (uint32_t q = 0; q < p->queries_n; q++) {
        struct str name = p->queries[q].name.n > 0 ? p->queries[q].name : p->queries[q].text;
        strbuf_printf(out, "  q%u [shape=ellipse, label=", q);
        strbuf_add_go_quoted(out, name);
        strbuf_printf(out, "];\n  n%u -> q%u;\n", p->queries[q].root, q);
    }
    strbuf_add_z(out, "}\n");
    strbuf_done(&label);
}
