/*
 * Type checks after parsing, children before parents, so that the first mistake is the one Prometheus shows. A parsed
 * tree that passes is well-typed everywhere; evaluators rely on it.
 */
#include "promql/parse_internal.h"

static bool check(struct parser *p, struct expr *e, bool matchers_may_be_empty);

static bool check_aggregate(struct parser *p, struct expr *e)
{
    struct expr *vector = e->args[0];
    if (!check(p, vector, false))
        return false;
    if (vector->type != VALUE_VECTOR) {
        parse_fail(p, vector->start, "expected type instant vector in aggregation expression, got %s",
                   value_type_name(vector->type));
        return false;
    }
    if (e->args_n == 1)
        return true;
    struct expr *parameter = e->args[1];
    enum value_type want = e->aggregate == AGGREGATE_COUNT_VALUES ? VALUE_STRING : VALUE_SCALAR;
    if (!check(p, parameter, false))
        return false;
    if (parameter->type == want)
        return true;
    parse_fail(p, parameter->start, "expected type %s in aggregation parameter, got %s", value_type_name(want),
               value_type_name(parameter->type));
    return false;
}

static bool is_operand(enum value_type t)
{
    return t == VALUE_SCALAR || t == VALUE_VECTOR;
}

/* Where the operator stands: after the left side and blanks. */
static uint32_t operator_at(struct parser *p, const struct expr *e)
{
    uint32_t at = e->args[0]->end;
    while (at < p->text.n && memchr(" \t\r\n", p->text.p[at], 4))
        at++;
    return at;
}

static bool check_labels_apart(struct parser *p, const struct expr *e)
{
    const struct vector_matching *m = e->matching;
    for (uint32_t i = 0; m->on && i < m->labels_n; i++) {
        for (uint32_t j = 0; j < m->include_n; j++) {
            if (str_eq(m->labels[i], m->include[j])) {
                parse_fail(p, operator_at(p, e), "label %s must not occur in ON and GROUP clause at once",
                           parse_quoted(p, m->labels[i]));
                return false;
            }
        }
    }
    return true;
}

static void check_scalar_matching(struct parser *p, struct expr *e)
{
    const struct vector_matching *m = e->matching;
    if (m->labels_n)
        parse_fail(p, e->start, "vector matching only allowed between instant vectors");
    else if (m->has_fill_left || m->has_fill_right)
        parse_fail(p, e->start, "filling in missing series only allowed between instant vectors");
    else if (binary_op_is_set(e->binary))
        parse_fail(p, e->start, "set operator \"%s\" not allowed in binary scalar expression",
                   binary_op_text(e->binary));
    e->matching = NULL;
}

static void check_set_matching(struct parser *p, struct expr *e)
{
    struct vector_matching *m = e->matching;
    if (m->card != CARD_ONE_TO_ONE)
        parse_fail(p, e->start, "no grouping allowed for \"%s\" operation", binary_op_text(e->binary));
    else if (m->has_fill_left || m->has_fill_right)
        parse_fail(p, e->start, "filling in missing series not allowed for set operators");
    m->card = CARD_MANY_TO_MANY;
}

static bool check_binary(struct parser *p, struct expr *e)
{
    struct expr *left = e->args[0], *right = e->args[1];
    if (!check(p, left, false) || !check(p, right, false))
        return false;
    bool comparison = binary_op_is_comparison(e->binary);
    if (e->return_bool && !comparison)
        parse_fail(p, operator_at(p, e), "bool modifier can only be used on comparison operators");
    if (comparison && !e->return_bool && left->type == VALUE_SCALAR && right->type == VALUE_SCALAR)
        parse_fail(p, operator_at(p, e), "comparisons between scalars must use BOOL modifier");
    if (!check_labels_apart(p, e))
        return false;
    for (int i = 0; i < 2; i++)
        if (!is_operand(e->args[i]->type))
            parse_fail(p, e->args[i]->start, "binary expression must contain only scalar and instant vector types");
    if (p->code)
        return false;
    if (left->type != VALUE_VECTOR || right->type != VALUE_VECTOR)
        check_scalar_matching(p, e);
    else if (binary_op_is_set(e->binary))
        check_set_matching(p, e);
    return p->code == 0;
}

static bool check_arg_count(struct parser *p, const struct expr *e)
{
    const struct function *f = e->function;
    uint32_t least = function_args_min(f), most = function_args_max(f);
    if (least == most && e->args_n != least)
        parse_fail(p, e->start, "expected %u argument(s) in call to \"%s\", got %u", least, f->name, e->args_n);
    else if (e->args_n < least)
        parse_fail(p, e->start, "expected at least %u argument(s) in call to \"%s\", got %u", least, f->name,
                   e->args_n);
    else if (e->args_n > most)
        parse_fail(p, e->start, "expected at most %u argument(s) in call to \"%s\", got %u", most, f->name, e->args_n);
    return p->code == 0;
}

/* info's second argument is a list of matchers for the info series, not a selection. */
static bool check_info(struct parser *p, const struct expr *e)
{
    const struct expr *data = e->args[1];
    if (data->type != VALUE_VECTOR)
        parse_fail(p, e->start, "expected type instant vector in call to function \"info\", got %s",
                   value_type_name(data->type));
    else if (data->kind != EXPR_SELECTOR)
        parse_fail(p, data->start, "expected label selectors only");
    else if (data->metric.n)
        parse_fail(p, data->start, "expected label selectors only, got vector selector instead");
    return p->code == 0;
}

static bool check_call(struct parser *p, struct expr *e)
{
    const struct function *f = e->function;
    bool info = f->id == FUNCTION_info && e->args_n > 1;
    if (!check_arg_count(p, e) || (info && !check_info(p, e)))
        return false;
    for (uint32_t i = 0; i < e->args_n; i++) {
        enum value_type want = function_arg_type(f, i, e->args_n);
        if (!check(p, e->args[i], info && i == 1))
            return false;
        if (e->args[i]->type != want) {
            parse_fail(p, e->args[i]->start, "expected type %s in call to function \"%s\", got %s",
                       value_type_name(want), f->name, value_type_name(e->args[i]->type));
            return false;
        }
    }
    return true;
}

static bool check_unary(struct parser *p, struct expr *e)
{
    if (!check(p, e->args[0], false))
        return false;
    if (is_operand(e->type))
        return true;
    parse_fail(p, e->start, "unary expression only allowed on expressions of type scalar or instant vector, got \"%s\"",
               value_type_name(e->type));
    return false;
}

static bool check_subquery(struct parser *p, struct expr *e)
{
    /* Prometheus shows its short type names here. */
    static const char *const names[] = {
        [VALUE_NONE] = "none", [VALUE_SCALAR] = "scalar", [VALUE_MATRIX] = "matrix", [VALUE_STRING] = "string"};
    if (!check(p, e->args[0], false))
        return false;
    if (e->args[0]->type == VALUE_VECTOR)
        return true;
    parse_fail(p, e->start, "subquery is only allowed on instant vector, got %s instead", names[e->args[0]->type]);
    return false;
}

static bool check_selector(struct parser *p, struct expr *e, bool matchers_may_be_empty)
{
    for (uint32_t i = 0; i < e->matchers_n && !matchers_may_be_empty; i++)
        matchers_may_be_empty = !matcher_accepts(&e->matchers[i], (struct str){"", 0});
    if (matchers_may_be_empty)
        return true;
    parse_fail(p, e->start, "vector selector must contain at least one non-empty matcher");
    return false;
}

static bool check(struct parser *p, struct expr *e, bool matchers_may_be_empty)
{
    switch (e->kind) {
    case EXPR_AGGREGATE:
        return check_aggregate(p, e);
    case EXPR_BINARY:
        return check_binary(p, e);
    case EXPR_CALL:
        return check_call(p, e);
    case EXPR_UNARY:
        return check_unary(p, e);
    case EXPR_PAREN:
        return check(p, e->args[0], false);
    case EXPR_SUBQUERY:
        return check_subquery(p, e);
    case EXPR_SELECTOR:
        return check_selector(p, e, matchers_may_be_empty);
    default:
        return true;
    }
}

bool parse_check(struct parser *p, struct expr *root)
{
    return check(p, root, false);
}
