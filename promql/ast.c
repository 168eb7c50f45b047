/* Names, and what makes two trees the same. */
#include "promql/ast.h"

#include <math.h>

#include <xxhash.h>

#include "base/err.h"
#include "promql/duration_expr.h"
#include "promql/function.h"
#include "promql/print_internal.h"

const char *value_type_name(enum value_type t)
{
    static const char *const names[] = {[VALUE_NONE] = "none",
                                        [VALUE_SCALAR] = "scalar",
                                        [VALUE_VECTOR] = "instant vector",
                                        [VALUE_MATRIX] = "range vector",
                                        [VALUE_STRING] = "string"};
    MUST(t >= VALUE_NONE && t <= VALUE_STRING);
    return names[t];
}

const char *aggregate_op_name(enum aggregate_op op)
{
    static const char *const names[] = {"",
#define X(name, text, param, exp) text,
                                        AGGREGATE_LIST(X)
#undef X
    };
    return names[op];
}

const char *binary_op_text(enum binary_op op)
{
    static const char *const names[] = {"",
#define X(name, text) text,
                                        BINARY_LIST(X)
#undef X
    };
    return names[op];
}

bool binary_op_is_comparison(enum binary_op op)
{
    return op >= BINARY_EQ && op <= BINARY_LE;
}

bool binary_op_is_set(enum binary_op op)
{
    return op == BINARY_AND || op == BINARY_OR || op == BINARY_UNLESS;
}

const struct expr *expr_unwrap(const struct expr *e)
{
    while (e->kind == EXPR_PAREN)
        e = e->args[0];
    return e;
}

static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static bool same_names(const struct str *a, uint32_t a_n, const struct str *b, uint32_t b_n)
{
    if (a_n != b_n)
        return false;
    for (uint32_t i = 0; i < a_n; i++)
        if (!str_eq(a[i], b[i]))
            return false;
    return true;
}

/* Durations agree when both are known and equal, or when they are the same expression of the query's times. */
static bool same_duration(int64_t a_ms, const struct duration_expr *a, int64_t b_ms, const struct duration_expr *b)
{
    bool a_open = duration_expr_needs_query(a), b_open = duration_expr_needs_query(b);
    if (a_open || b_open)
        return a_open && b_open && duration_expr_equal(a, b);
    return a_ms == b_ms;
}

static bool same_time(const struct expr *a, const struct expr *b)
{
    const struct time_modifier *s = &a->time, *t = &b->time;
    return same_duration(a->range_ms, a->range_expr, b->range_ms, b->range_expr) &&
           same_duration(a->step_ms, a->step_expr, b->step_ms, b->step_expr) &&
           same_duration(s->offset_ms, s->offset_expr, t->offset_ms, t->offset_expr) && s->at == t->at &&
           s->at_ms == t->at_ms;
}

static bool same_selector(const struct expr *a, const struct expr *b)
{
    if (a->type != b->type || a->matchers_n != b->matchers_n || a->anchored != b->anchored ||
        a->smoothed != b->smoothed || !same_time(a, b))
        return false;
    for (uint32_t i = 0; i < a->matchers_n; i++) {
        const struct matcher *m = &a->matchers[i], *n = &b->matchers[i];
        if (m->op != n->op || !str_eq(m->name, n->name) || !str_eq(m->value, n->value))
            return false;
    }
    return true;
}

static bool same_matching(const struct vector_matching *a, const struct vector_matching *b)
{
    if (!a || !b)
        return a == b;
    return a->card == b->card && a->on == b->on && same_names(a->labels, a->labels_n, b->labels, b->labels_n) &&
           same_names(a->include, a->include_n, b->include, b->include_n) && a->has_fill_left == b->has_fill_left &&
           a->has_fill_right == b->has_fill_right && (!a->has_fill_left || same_number(a->fill_left, b->fill_left)) &&
           (!a->has_fill_right || same_number(a->fill_right, b->fill_right));
}

/* Everything but the operands. */
static bool same_node(const struct expr *a, const struct expr *b)
{
    switch (a->kind) {
    case EXPR_NUMBER:
        return same_number(a->number, b->number);
    case EXPR_STRING:
        return str_eq(a->string, b->string);
    case EXPR_SELECTOR:
        return same_selector(a, b);
    case EXPR_SUBQUERY:
        return same_time(a, b);
    case EXPR_CALL:
        return a->function == b->function;
    case EXPR_AGGREGATE:
        return a->aggregate == b->aggregate && a->without == b->without &&
               same_names(a->grouping, a->grouping_n, b->grouping, b->grouping_n);
    case EXPR_BINARY:
        return a->binary == b->binary && a->return_bool == b->return_bool && same_matching(a->matching, b->matching);
    default:
        return true;
    }
}

bool expr_equal(const struct expr *a, const struct expr *b)
{
    a = expr_unwrap(a);
    b = expr_unwrap(b);
    if (a == b)
        return true;
    if (a->kind != b->kind || a->args_n != b->args_n || !same_node(a, b))
        return false;
    for (uint32_t i = 0; i < a->args_n; i++)
        if (!expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

uint64_t expr_hash(const struct expr *e)
{
    struct strbuf text = {0};
    expr_print_identity(e, &text);
    uint64_t hash = XXH3_64bits(text.p, text.n);
    strbuf_done(&text);
    return hash;
}
