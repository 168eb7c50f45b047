/* Plan to text: one source, node, view, stored root or query a line; keys in one order; the least text that reads back.
 */
#include <math.h>

#include "base/float_text.h"
#include "plan/file.h"
#include "plan/file_format.h"

/* A comma, unless this is the first item of its object or array. */
static void put_next(struct strbuf *b)
{
    char last = b->n > 0 ? b->p[b->n - 1] : '{';
    if (last != '{' && last != '[' && last != '\n')
        strbuf_add_char(b, ',');
}

static void put_key(struct strbuf *b, const char *key)
{
    put_next(b);
    strbuf_printf(b, "\"%s\":", key);
}

static void put_i64(struct strbuf *b, const char *key, int64_t v)
{
    put_key(b, key);
    strbuf_add_i64(b, v);
}

static void put_str(struct strbuf *b, const char *key, struct str v)
{
    put_key(b, key);
    strbuf_add_json_string(b, v);
}

static void put_name(struct strbuf *b, const char *key, const char *name)
{
    put_str(b, key, str_of(name));
}

/* plan_check refuses what JSON has no number for. A large whole number gets a fraction: it must not read as an integer,
 * which JSON readers bound to 64 bits. */
static void put_f64(struct strbuf *b, const char *key, double v)
{
    char text[FLOAT_TEXT_MAX];
    MUST(isfinite(v));
    size_t n = (size_t)float_format(v + 0.0, text);
    put_key(b, key);
    strbuf_add(b, text, n);
    if (fabs(v) >= 9007199254740992.0 && !memchr(text, '.', n) && !memchr(text, 'e', n))
        strbuf_add_z(b, ".0");
}

static void put_u32s(struct strbuf *b, const char *key, const uint32_t *v, uint32_t n)
{
    put_key(b, key);
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        put_next(b);
        strbuf_add_i64(b, v[i]);
    }
    strbuf_add_char(b, ']');
}

static void put_null(struct strbuf *b, const char *key)
{
    put_key(b, key);
    strbuf_add_z(b, "null");
}

static void put_source(const struct plan *p, uint32_t id, struct strbuf *b)
{
    const struct plan_source *s = &p->sources[id];
    put_i64(b, "id", id);
    put_key(b, "matchers");
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < s->matchers_n; i++) {
        const struct matcher *m = &s->matchers[i];
        put_next(b);
        strbuf_add_char(b, '{');
        put_str(b, "name", m->name);
        put_name(b, "op", matcher_op_text(m->op));
        put_str(b, "value", m->value);
        strbuf_add_char(b, '}');
    }
    strbuf_add_char(b, ']');
    put_i64(b, "lookback_ms", s->lookback_ms);
}

static void put_args(const struct plan_node *n, struct strbuf *b)
{
    uint32_t has = plan_op_args(n->op);
    put_key(b, "args");
    strbuf_add_char(b, '{');
    if (has & ARG_SOURCE)
        put_i64(b, "source", n->source);
    if (has & ARG_VIEW)
        put_i64(b, "view", n->view);
    if (has & ARG_TIME) {
        put_i64(b, "offset_ms", n->offset_ms);
        if (n->anchored)
            put_i64(b, "at_ms", n->at_ms);
        else
            put_null(b, "at_ms");
    }
    if (has & ARG_COUNT)
        put_i64(b, "count", n->count);
    if (has & ARG_STATISTIC) {
        put_name(b, "statistic", statistic_name(n->statistic));
        put_f64(b, "q", n->q);
    }
    if (has & ARG_ROOT)
        put_i64(b, "root", n->stored_root);
    if (has & ARG_EXPR)
        put_str(b, "expr", n->expr_text);
    strbuf_add_char(b, '}');
}

static void put_node(const struct plan *p, uint32_t id, struct strbuf *b)
{
    const struct plan_node *n = &p->nodes[id];
    put_i64(b, "id", id);
    put_name(b, "op", plan_op_name(n->op));
    put_u32s(b, "in", p->edges + n->in_first, n->in_n);
    put_name(b, "half", keyword_of(&half_keywords, (int)n->half));
    put_args(n, b);
    put_name(b, "out", keyword_of(&out_keywords, (int)n->out));
}

static void put_params(const struct sketch_params *params, struct strbuf *b)
{
    put_key(b, "params");
    strbuf_add_char(b, '{');
    if (params->alpha != 0)
        put_f64(b, "alpha", params->alpha);
    if (params->k != 0)
        put_i64(b, "k", params->k);
    if (params->max_bins != 0)
        put_i64(b, "max_bins", params->max_bins);
    if (params->p != 0)
        put_i64(b, "p", params->p);
    const struct {
        const char *key;
        uint32_t value;
    } counters[] = {{"depth", params->depth},
                    {"width", params->width},
                    {"heap", params->heap},
                    {"rows", params->rows},
                    {"columns", params->columns}};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (counters[i].value != 0)
            put_i64(b, counters[i].key, counters[i].value);
    strbuf_add_char(b, '}');
}

/* null: one state a series; else the labels that are kept. */
static void put_reduce(const struct plan_view *v, struct strbuf *b)
{
    if (v->per_series) {
        put_null(b, "reduce");
        return;
    }
    put_key(b, "reduce");
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < v->reduce_n; i++) {
        put_next(b);
        strbuf_add_json_string(b, v->reduce[i]);
    }
    strbuf_add_char(b, ']');
}

static void put_input(const struct view_input *in, struct strbuf *b)
{
    struct arena a;
    arena_init(&a, 0);
    put_str(b, "input", view_input_text(in, &a));
    arena_done(&a);
}

static void put_view(const struct plan *p, uint32_t id, struct strbuf *b)
{
    const struct plan_view *v = &p->views[id];
    const struct family_info *info = family_get(v->family);
    char identity[2 * IDENTITY_BYTES + 1];
    identity_text(v->identity, identity);
    put_i64(b, "id", id);
    put_name(b, "identity", identity);
    put_i64(b, "node", v->node);
    put_i64(b, "source", v->source);
    put_input(&v->input, b);
    put_name(b, "family", info ? info->name : "");
    put_params(&v->params, b);
    put_reduce(v, b);
    put_i64(b, "width_ms", v->panes.step_ms);
    put_i64(b, "phase_ms", v->panes.phase_ms);
    put_i64(b, "panes", v->panes_n);
    put_i64(b, "retention_ms", v->retention_ms);
    put_i64(b, "backfill_ms", v->backfill_ms);
    put_name(b, "when", keyword_of(&when_keywords, (int)v->when));
    if (v->level_of == PLAN_NONE)
        put_null(b, "level_of");
    else
        put_i64(b, "level_of", v->level_of);
}

static void put_stored_root(const struct plan *p, uint32_t id, struct strbuf *b)
{
    const struct plan_stored_root *r = &p->stored_roots[id];
    put_i64(b, "id", id);
    put_i64(b, "node", r->node);
    put_i64(b, "grid_ms", r->grid.step_ms);
    put_i64(b, "phase_ms", r->grid.phase_ms);
    put_i64(b, "retention_ms", r->retention_ms);
}

static void put_cadence(const struct cadence *c, struct strbuf *b)
{
    put_key(b, "cadence");
    strbuf_add_char(b, '{');
    switch (c->kind) {
    case CADENCE_EVERY:
        put_i64(b, "every_ms", c->every_ms);
        break;
    case CADENCE_AT:
        put_key(b, "at_ms");
        strbuf_add_char(b, '[');
        for (uint32_t i = 0; i < c->at_n; i++) {
            put_next(b);
            strbuf_add_i64(b, c->at_ms[i]);
        }
        strbuf_add_char(b, ']');
        break;
    case CADENCE_RATE:
        put_f64(b, "rate_per_s", c->rate_per_s);
        break;
    case CADENCE_ONCE:
        put_key(b, "once");
        strbuf_add_z(b, "true");
        break;
    }
    strbuf_add_char(b, '}');
    put_i64(b, "phase_ms", c->phase_ms);
    put_i64(b, "length_ms", c->length_ms);
    put_i64(b, "step_ms", c->step_ms);
}

static void put_accuracy(const char *key, const struct accuracy *a, struct strbuf *b)
{
    put_key(b, key);
    strbuf_add_char(b, '{');
    put_name(b, "kind", accuracy_kind_name(a->kind));
    put_f64(b, "error", a->error);
    put_f64(b, "failure", a->failure);
    strbuf_add_char(b, '}');
}

static void put_query(const struct plan *p, uint32_t id, struct strbuf *b)
{
    const struct plan_query *q = &p->queries[id];
    put_str(b, "name", q->name);
    put_str(b, "text", q->text);
    put_cadence(&q->cadence, b);
    put_accuracy("accuracy", &q->target, b);
    put_i64(b, "root", q->root);
    put_u32s(b, "uses", q->uses, q->uses_n);
    put_accuracy("guarantee", &q->guarantee, b);
    put_key(b, "cost");
    strbuf_add_char(b, '{');
    put_f64(b, "ingest", q->cost.ingest);
    put_f64(b, "query", q->cost.query);
    put_f64(b, "memory", q->cost.memory);
    strbuf_add_char(b, '}');
    put_key(b, "rejected");
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < q->rejected_n; i++) {
        put_next(b);
        strbuf_add_char(b, '{');
        put_str(b, "candidate", q->rejected[i].candidate);
        put_str(b, "reason", q->rejected[i].reason);
        strbuf_add_char(b, '}');
    }
    strbuf_add_char(b, ']');
}

static void put_lines(const struct plan *p, const char *key, uint32_t n,
                      void (*put)(const struct plan *, uint32_t, struct strbuf *), struct strbuf *b)
{
    strbuf_printf(b, ",\n\"%s\":[", key);
    for (uint32_t i = 0; i < n; i++) {
        strbuf_add_z(b, i ? ",\n{" : "\n{");
        put(p, i, b);
        strbuf_add_char(b, '}');
    }
    strbuf_add_z(b, n ? "\n]" : "]");
}

void plan_write(const struct plan *p, struct strbuf *out)
{
    strbuf_printf(out, "{\"format\":\"" PLAN_FORMAT_PREFIX "%d\",\"sketch_seed\":\"%016llx\"", PLAN_FORMAT_VERSION,
                  (unsigned long long)p->sketch_seed);
    put_lines(p, "sources", p->sources_n, put_source, out);
    put_lines(p, "nodes", p->nodes_n, put_node, out);
    put_lines(p, "views", p->views_n, put_view, out);
    put_lines(p, "stored_roots", p->stored_roots_n, put_stored_root, out);
    put_lines(p, "queries", p->queries_n, put_query, out);
    strbuf_add_z(out, ",\n\"solver\":{");
    put_str(out, "status", p->solver.status);
    put_f64(out, "bound", p->solver.bound);
    put_f64(out, "gap", p->solver.gap);
    put_i64(out, "variables", p->solver.variables);
    put_i64(out, "rows", p->solver.rows);
    strbuf_add_z(out, "}}\n");
}
