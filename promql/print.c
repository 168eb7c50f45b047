/* One line of canonical text; a second mode gives every spelling of one computation the same text, for hashing. */
#include "promql/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "base/float_text.h"
#include "promql/duration_expr.h"
#include "promql/function.h"
#include "promql/print_internal.h"

static void add(struct printer *p, const char *text)
{
    strbuf_add_z(p->out, text);
}

static bool enough(const struct printer *p)
{
    return p->enough_n && p->out->n > p->enough_n;
}

/* Go's quotes, but U+FFFD as its escape: the lexer, as Prometheus', refuses that character itself. */
static void print_quoted(struct strbuf *out, struct str s)
{
    static const char mark[] = "\xef\xbf\xbd";
    const size_t mark_n = sizeof(mark) - 1;
    struct strbuf quoted = {0};
    strbuf_add_go_quoted(&quoted, s);
    const char *at = quoted.p, *end = quoted.p + quoted.n, *found;
    while ((found = memmem(at, (size_t)(end - at), mark, mark_n))) {
        strbuf_add(out, at, (size_t)(found - at));
        strbuf_add_z(out, "\\ufffd");
        at = found + mark_n;
    }
    strbuf_add(out, at, (size_t)(end - at));
    strbuf_done(&quoted);
}

static void add_label(struct printer *p, struct str name)
{
    if (label_name_legacy(name))
        strbuf_add_str(p->out, name);
    else
        print_quoted(p->out, name);
}

static void add_labels(struct printer *p, const struct str *names, uint32_t n)
{
    add(p, "(");
    for (uint32_t i = 0; i < n && !enough(p); i++) {
        add(p, i ? ", " : "");
        add_label(p, names[i]);
    }
    add(p, ")");
}

static void add_number(struct printer *p, double v)
{
    char text[FLOAT_TEXT_MAX];
    strbuf_add(p->out, text, (size_t)float_format_f(v, text));
}

static void add_duration_ms(struct printer *p, int64_t ms)
{
    char text[DURATION_TEXT_MAX];
    strbuf_add(p->out, text, (size_t)duration_format(ms, text));
}

static void add_seconds(struct printer *p, double seconds)
{
    if (signbit(seconds))
        add(p, "-");
    add_duration_ms(p, (int64_t)llround(fabs(seconds) * 1000));
}

static const char *duration_op_text(enum duration_op op)
{
    static const char *const texts[] = {[DURATION_ADD] = " + ", [DURATION_SUB] = " - ", [DURATION_MUL] = " * ",
                                        [DURATION_DIV] = " / ", [DURATION_MOD] = " % ", [DURATION_POW] = " ^ "};
    return texts[op];
}

static void print_duration_expr(struct printer *p, const struct duration_expr *d)
{
    bool wrap = p->identity || d->wrapped;
    if (wrap)
        add(p, "(");
    switch (d->op) {
    case DURATION_LITERAL:
        if (d->is_number || p->identity)
            add_number(p, d->value_s);
        else
            add_seconds(p, d->value_s);
        break;
    case DURATION_STEP:
        add(p, "step()");
        break;
    case DURATION_RANGE:
        add(p, "range()");
        break;
    case DURATION_NEG:
        add(p, "-");
        print_duration_expr(p, d->left);
        break;
    case DURATION_MIN:
    case DURATION_MAX:
        add(p, d->op == DURATION_MIN ? "min_of(" : "max_of(");
        print_duration_expr(p, d->left);
        add(p, ", ");
        print_duration_expr(p, d->right);
        add(p, ")");
        break;
    default:
        print_duration_expr(p, d->left);
        add(p, duration_op_text(d->op));
        print_duration_expr(p, d->right);
        break;
    }
    if (wrap)
        add(p, ")");
}

static void add_duration(struct printer *p, int64_t ms, const struct duration_expr *d)
{
    if (d && (!p->identity || duration_expr_needs_query(d)))
        print_duration_expr(p, d);
    else
        add_duration_ms(p, ms);
}

static void add_at(struct printer *p, const struct time_modifier *t)
{
    if (t->at == AT_TIME)
        strbuf_printf(p->out, " @ %.3f", (double)t->at_ms / 1000.0);
    else if (t->at != AT_NONE)
        add(p, t->at == AT_START ? " @ start()" : " @ end()");
    if (p->identity && t->at != AT_NONE)
        strbuf_add_i64(p->out, t->at_ms);
}

static void add_offset(struct printer *p, const struct time_modifier *t)
{
    bool shown =
        p->identity && !duration_expr_needs_query(t->offset_expr) ? t->offset_ms != 0 : t->offset_ms || t->offset_expr;
    if (!shown)
        return;
    add(p, " offset ");
    add_duration(p, t->offset_ms, t->offset_expr);
}

static void print_matcher(struct strbuf *out, const struct matcher *m)
{
    if (label_name_legacy(m->name))
        strbuf_add_str(out, m->name);
    else
        print_quoted(out, m->name);
    strbuf_add_z(out, matcher_op_text(m->op));
    print_quoted(out, m->value);
}

/* Prometheus sorts the texts of the matchers, which is not quite the order of the names. */
static void print_matchers(struct printer *p, const struct expr *e)
{
    struct strbuf all = {0};
    struct str *texts = mem_alloc(e->matchers_n * sizeof *texts);
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->matchers_n; i++) {
        const struct matcher *m = &e->matchers[i];
        bool outside = e->metric.n && m->op == MATCH_EQ && str_eq(m->name, STR(LABEL_NAME));
        if (outside && !p->identity)
            continue;
        size_t start = all.n;
        print_matcher(&all, m);
        texts[n++] = (struct str){NULL, all.n - start};
    }
    const char *at = all.p;
    for (uint32_t i = 0; i < n; at += texts[i].n, i++)
        texts[i].p = at;
    qsort(texts, n, sizeof *texts, str_order);
    if (n)
        add(p, "{");
    for (uint32_t i = 0; i < n; i++) {
        add(p, i ? "," : "");
        strbuf_add_str(p->out, texts[i]);
    }
    if (n)
        add(p, "}");
    mem_free(texts);
    strbuf_done(&all);
}

static void print_selector(struct printer *p, const struct expr *e)
{
    const char *extended = e->anchored ? " anchored" : e->smoothed ? " smoothed" : "";
    bool range = e->type == VALUE_MATRIX;
    if (!p->identity)
        strbuf_add_str(p->out, e->metric);
    print_matchers(p, e);
    /* {} alone is what info() may be given. */
    if (!e->metric.n && !e->matchers_n)
        add(p, "{}");
    if (range) {
        add(p, "[");
        add_duration(p, e->range_ms, e->range_expr);
        add(p, "]");
        add(p, extended);
    }
    add_at(p, &e->time);
    if (!range)
        add(p, extended);
    add_offset(p, &e->time);
}

void print_subquery_tail(struct printer *p, const struct expr *e)
{
    add(p, "[");
    add_duration(p, e->range_ms, e->range_expr);
    add(p, ":");
    if (e->step_ms || e->step_expr)
        add_duration(p, e->step_ms, e->step_expr);
    add(p, "]");
    add_at(p, &e->time);
    add_offset(p, &e->time);
}

void print_aggregate_head(struct printer *p, const struct expr *e)
{
    add(p, aggregate_op_name(e->aggregate));
    if (!e->without && e->grouping_n == 0)
        return;
    add(p, e->without ? " without " : " by ");
    add_labels(p, e->grouping, e->grouping_n);
    add(p, " ");
}

static void add_fill(struct printer *p, const char *word, double v)
{
    char text[FLOAT_TEXT_MAX];
    float_format_e(v, text);
    strbuf_printf(p->out, " %s (%s)", word, text);
}

static bool same_fill(const struct vector_matching *m)
{
    return m->has_fill_left && m->has_fill_right &&
           (m->fill_left == m->fill_right ? signbit(m->fill_left) == signbit(m->fill_right)
                                          : isnan(m->fill_left) && isnan(m->fill_right));
}

void print_operator(struct printer *p, const struct expr *e)
{
    const struct vector_matching *m = e->matching;
    add(p, binary_op_text(e->binary));
    if (e->return_bool)
        add(p, " bool");
    if (!m)
        return;
    bool grouped = m->card == CARD_MANY_TO_ONE || m->card == CARD_ONE_TO_MANY;
    if (m->labels_n || m->on || grouped) {
        add(p, m->on ? " on " : " ignoring ");
        add_labels(p, m->labels, m->labels_n);
    }
    if (grouped) {
        add(p, m->card == CARD_MANY_TO_ONE ? " group_left " : " group_right ");
        add_labels(p, m->include, m->include_n);
    }
    if (same_fill(m)) {
        add_fill(p, "fill", m->fill_left);
        return;
    }
    if (m->has_fill_left)
        add_fill(p, "fill_left", m->fill_left);
    if (m->has_fill_right)
        add_fill(p, "fill_right", m->fill_right);
}

static void print_args(struct printer *p, const struct expr *e)
{
    add(p, "(");
    for (uint32_t i = 0; i < e->args_n && !enough(p); i++) {
        add(p, i ? ", " : "");
        print_expr(p, e->args[i]);
    }
    add(p, ")");
}

static void print_binary(struct printer *p, const struct expr *e)
{
    add(p, p->identity ? "(" : "");
    print_expr(p, e->args[0]);
    add(p, " ");
    print_operator(p, e);
    add(p, " ");
    print_expr(p, e->args[1]);
    add(p, p->identity ? ")" : "");
}

void print_expr(struct printer *p, const struct expr *e)
{
    if (p->identity)
        e = expr_unwrap(e);
    if (enough(p))
        return;
    switch (e->kind) {
    case EXPR_NUMBER:
        if (e->number_duration && !p->identity)
            add_seconds(p, e->number);
        else
            add_number(p, e->number);
        break;
    case EXPR_STRING:
        print_quoted(p->out, e->string);
        break;
    case EXPR_SELECTOR:
        print_selector(p, e);
        break;
    case EXPR_SUBQUERY:
        print_expr(p, e->args[0]);
        print_subquery_tail(p, e);
        break;
    case EXPR_CALL:
        add(p, e->function->name);
        print_args(p, e);
        break;
    case EXPR_AGGREGATE:
        print_aggregate_head(p, e);
        add(p, "(");
        if (e->args_n == 2) {
            print_expr(p, e->args[1]);
            add(p, ", ");
        }
        print_expr(p, e->args[0]);
        add(p, ")");
        break;
    case EXPR_BINARY:
        print_binary(p, e);
        break;
    case EXPR_UNARY:
        add(p, "-");
        print_expr(p, e->args[0]);
        break;
    case EXPR_PAREN:
        print_args(p, e);
        break;
    }
}

void expr_print(const struct expr *e, struct strbuf *out)
{
    print_expr(&(struct printer){.out = out}, e);
}

void expr_print_identity(const struct expr *e, struct strbuf *out)
{
    print_expr(&(struct printer){.out = out, .identity = true}, e);
}

struct str expr_text(const struct expr *e, struct arena *a)
{
    struct strbuf text = {0};
    expr_print(e, &text);
    char *copy = arena_strndup(a, text.n ? text.p : "", text.n);
    struct str ret = {copy ? copy : "", copy ? text.n : 0};
    strbuf_done(&text);
    return ret;
}
