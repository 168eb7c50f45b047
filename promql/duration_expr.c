#include "promql/duration_expr.h"

#include <math.h>

/* 2^63 ns in seconds: what a duration may at most be. */
#define DURATION_SECONDS_MAX (9223372036854775808.0 / 1e9)

bool duration_expr_needs_query(const struct duration_expr *d)
{
    if (!d)
        return false;
    return d->op == DURATION_STEP || d->op == DURATION_RANGE || duration_expr_needs_query(d->left) ||
           duration_expr_needs_query(d->right);
}

bool duration_seconds_to_ms(double seconds, int64_t *ret_ms)
{
    if (!(fabs(seconds) < DURATION_SECONDS_MAX))
        return false;
    int64_t ms = (int64_t)(round(seconds * 1e9) / 1e6), further = seconds < 0 ? ms - 1 : ms + 1;
    /* Beyond 2^53 ns the product is off by a few ns: what was written as whole ms stays that. */
    *ret_ms = (double)further / 1e3 == seconds ? further : ms;
    return true;
}

struct evaluation {
    const struct duration_query *query;
    const char *reason;
    const struct duration_expr *where;
};

static double apply(struct evaluation *v, const struct duration_expr *d, double left, double right)
{
    switch (d->op) {
    case DURATION_NEG:
        return -left;
    case DURATION_ADD:
        return left + right;
    case DURATION_SUB:
        return left - right;
    case DURATION_MUL:
        return left * right;
    case DURATION_POW:
        return pow(left, right);
    case DURATION_MIN:
        return fmin(left, right);
    case DURATION_MAX:
        return fmax(left, right);
    case DURATION_DIV:
    case DURATION_MOD:
        if (right == 0 && !v->reason) {
            v->reason = d->op == DURATION_DIV ? "division by zero" : "modulo by zero";
            v->where = d;
        }
        return d->op == DURATION_DIV ? left / right : fmod(left, right);
    default:
        return 0;
    }
}

static double evaluate(struct evaluation *v, const struct duration_expr *d)
{
    switch (d->op) {
    case DURATION_LITERAL:
        return d->value_s;
    case DURATION_STEP:
        return v->query->step_s;
    case DURATION_RANGE:
        return v->query->range_s;
    default: {
        double left = evaluate(v, d->left);
        return apply(v, d, left, d->right ? evaluate(v, d->right) : 0);
    }
    }
}

bool duration_expr_value_ms(const struct duration_expr *d, const struct duration_query *q, bool positive,
                            int64_t *ret_ms, const char **ret_reason, const struct duration_expr **ret_where)
{
    struct evaluation v = {.query = q};
    double seconds = evaluate(&v, d);
    *ret_where = v.where ? v.where : d;
    if (!v.reason && positive && seconds <= 0)
        v.reason = "duration must be greater than 0";
    if (!v.reason && !(fabs(seconds) < DURATION_SECONDS_MAX))
        v.reason = "duration is out of range";
    if (!v.reason && positive && seconds < 1e-3)
        v.reason = "duration must be at least 1ms";
    *ret_reason = v.reason;
    if (v.reason)
        return false;
    *ret_ms = (int64_t)(seconds * 1000);
    return true;
}

bool duration_expr_equal(const struct duration_expr *a, const struct duration_expr *b)
{
    if (!a || !b)
        return a == b;
    return a->op == b->op && (a->op != DURATION_LITERAL || a->value_s == b->value_s) &&
           duration_expr_equal(a->left, b->left) && duration_expr_equal(a->right, b->right);
}
