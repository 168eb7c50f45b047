/* Binary and unary operators with at least one scalar, and the dispatch of the rest. */
#include "executor/binary.h"

/* The scalar's value, of a comparison that filters, is never the result: that is the vector's. */
static int vector_scalar(const struct apply *c, bool vector_left, struct value *ret, struct err *e)
{
    const struct expr *expr = c->expr;
    const struct value *vector = &c->args[vector_left ? 0 : 1];
    const struct vec_series scalar = {.v = c->args[vector_left ? 1 : 0].v};
    bool drop_name = binary_changes_metric(expr->binary) || expr->return_bool;
    int code = apply_make_vector(c, vector->series_n, ret, e);
    struct vec_series out = {0};
    for (uint32_t s = 0; s < vector->series_n && code == 0; s++) {
        const struct vec_series *in = &vector->series[s];
        uint32_t n = 0;
        if (!out.v && !(out.v = value_array(c->ev, c->t->n)))
            return apply_full(c, e);
        code = binary_pair(c, vector_left ? in : &scalar, vector_left ? &scalar : in, in, &out, &n, e);
        if (code == 0 && n > 0) {
            ret->series[ret->series_n++] = (struct vec_series){in->labels, in->drop_name || drop_name, out.v, out.h};
            out.v = NULL;
        }
        if (code == 0)
            code = eval_check(c->ev, 0, e);
    }
    ret->ordered = vector->ordered;
    return code;
}

int binary_apply(const struct apply *c, struct value *ret, struct err *e)
{
    bool left = c->args[0].type == VALUE_VECTOR, right = c->args[1].type == VALUE_VECTOR;
    enum binary_op op = c->expr->binary;
    if (left && right)
        return binary_op_is_set(op) ? binary_set_apply(c, ret, e) : binary_match_apply(c, ret, e);
    if (left || right)
        return vector_scalar(c, left, ret, e);
    struct expr scalars = *c->expr; /* between scalars a comparison is 1 or 0 */
    scalars.return_bool = true;
    if (op == BINARY_TRIM_UPPER || op == BINARY_TRIM_LOWER)
        return err_set(e, ERR_EXECUTION, "operator \"%s\" not allowed for Scalar operations", binary_op_text(op));
    int code = apply_make_scalar(c, ret, e);
    if (code == 0)
        binary_values(&scalars, c->args[0].v, c->args[1].v, c->args[0].v, c->t->n, ret->v);
    return code;
}

static void negate(const double *v, uint32_t n, double *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = value_absent(v[i]) ? v[i] : -v[i];
}

static int negate_histograms(const struct apply *c, const struct vec_series *from, struct vec_series *to, struct err *e)
{
    for (uint32_t i = 0; i < c->t->n; i++) {
        const struct histogram *h = vec_histogram(from, i), *negated = h ? histogram_negate(h, c->ev->arena) : NULL;
        if (negated)
            series_put_histogram(c->ev, to, c->t->n, i, negated);
    }
    return apply_full(c, e);
}

int unary_apply(const struct apply *c, struct value *ret, struct err *e)
{
    const struct value *arg = &c->args[0];
    if (arg->type == VALUE_SCALAR) {
        int code = apply_make_scalar(c, ret, e);
        if (code == 0)
            negate(arg->v, c->t->n, ret->v);
        return code;
    }
    int code = apply_make_alike(c, arg, ret, e);
    for (uint32_t s = 0; s < ret->series_n && code == 0; s++) {
        negate(arg->series[s].v, c->t->n, ret->series[s].v);
        if (arg->series[s].h)
            code = negate_histograms(c, &arg->series[s], &ret->series[s], e);
    }
    return code;
}
