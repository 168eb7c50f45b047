#include "promql/constant.h"

#define X(name, value)                                                                                                 \
    case BINARY_##name:                                                                                                \
        *ret = (value);                                                                                                \
        return true;
static bool arithmetic(enum binary_op op, double a, double b, double *ret)
{
    switch (op) {
        BINARY_ARITHMETIC_LIST(X)
    default:
        return false;
    }
}
#undef X

/* As deep as the tree, which the parser bounds. */
bool expr_constant(const struct expr *e, double *ret)
{
    double a, b;
    e = expr_unwrap(e);
    switch (e->kind) {
    case EXPR_NUMBER:
        *ret = e->number;
        return true;
    case EXPR_UNARY:
        if (!expr_constant(e->args[0], &a))
            return false;
        *ret = -a;
        return true;
    case EXPR_BINARY:
        return expr_constant(e->args[0], &a) && expr_constant(e->args[1], &b) && arithmetic(e->binary, a, b, ret);
    default:
        return false;
    }
}
