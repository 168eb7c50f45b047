/*
 * Evaluation of a tree from raw samples: a walk downwards that meets either a selector, a function over a range, or an
 * operator, whose arguments are evaluated first and then handed to apply_expr.
 */
#include "executor/eval.h"

#include "executor/raw.h"

static int eval_number(struct eval *ev, double number, const struct times *t, struct value *ret, struct err *e)
{
    double *v = value_array(ev, t->n);
    if (!v)
        return arena_check(ev->arena, "query", e);
    for (uint32_t i = 0; i < t->n; i++)
        v[i] = number;
    *ret = (struct value){.type = VALUE_SCALAR, .v = v};
    return 0;
}

static int eval_operator(struct eval *ev, const struct expr *expr, const struct times *t, struct value *ret,
                         struct err *e)
{
    struct value *args = ARENA_ARRAY(ev->arena, struct value, expr->args_n);
    int code = args ? 0 : arena_check(ev->arena, "query", e);
    for (uint32_t i = 0; code == 0 && i < expr->args_n; i++)
        code = eval_expr(ev, expr->args[i], t, &args[i], e);
    return code != 0 ? code : apply_expr(ev, expr, t, args, ret, e);
}

static int eval_function(struct eval *ev, const struct expr *expr, const struct times *t, struct value *ret,
                         struct err *e)
{
    if (range_argument(expr))
        return range_call(ev, expr, t, ret, e);
    /* timestamp() of a selector is the sample's own time, which the selector's value no longer knows. */
    if (expr->function->id == FUNCTION_timestamp) {
        const struct expr *arg = expr_unwrap(expr->args[0]);
        if (arg->kind == EXPR_SELECTOR && !arg->smoothed)
            return selector_eval(ev, arg, t, true, ret, e);
    }
    eval_enter(ev, expr, 1);
    int code = eval_operator(ev, expr, t, ret, e);
    eval_enter(ev, expr, -1);
    return code;
}

int eval_expr(struct eval *ev, const struct expr *expr, const struct times *t, struct value *ret, struct err *e)
{
    expr = expr_unwrap(expr);
    int code = eval_check(ev, 0, e);
    if (code != 0)
        return code;
    if (expr->type == VALUE_MATRIX)
        return err_set(e, ERR_EXECUTION, "a range vector can only be the argument of a function");
    switch (expr->kind) {
    case EXPR_NUMBER:
        return eval_number(ev, expr->number, t, ret, e);
    case EXPR_STRING:
        *ret = (struct value){.type = VALUE_STRING, .string = expr->string};
        return 0;
    case EXPR_SELECTOR:
        return selector_eval(ev, expr, t, false, ret, e);
    case EXPR_CALL:
        return eval_function(ev, expr, t, ret, e);
    case EXPR_AGGREGATE:
    case EXPR_BINARY:
    case EXPR_UNARY:
        return eval_operator(ev, expr, t, ret, e);
    default:
        return err_set(e, ERR_INTERNAL, "an expression of an unknown kind cannot be evaluated");
    }
}
