/* Between scalars and vectors: scalar(), vector(), absent(). */
#include <math.h>

#include "executor/apply.h"

/* The number of the one series that has one; NaN when there is none, or more than one. Histograms are no numbers. */
int scalar_apply(const struct apply *c, struct value *ret, struct err *e)
{
    const struct value *vector = &c->args[0];
    uint8_t *seen = arena_zalloc(c->ev->arena, c->t->n);
    int code = apply_make_scalar(c, ret, e);
    if (code != 0 || !seen)
        return apply_full(c, e);
    for (uint32_t i = 0; i < c->t->n; i++)
        ret->v[i] = NAN;
    for (uint32_t s = 0; s < vector->series_n; s++) {
        for (uint32_t i = 0; i < c->t->n; i++) {
            double v = vector->series[s].v[i];
            if (value_absent(v) || float_is_histogram(v))
                continue;
            ret->v[i] = seen[i] ? NAN : v;
            seen[i] = 1;
        }
    }
    return 0;
}

static int one_series(const struct apply *c, struct value *ret, struct err *e)
{
    int code = apply_make_vector(c, 1, ret, e);
    if (code != 0)
        return code;
    ret->series[0] = (struct vec_series){.v = value_array(c->ev, c->t->n)};
    ret->series_n = 1;
    return apply_full(c, e);
}

int vector_apply(const struct apply *c, struct value *ret, struct err *e)
{
    int code = one_series(c, ret, e);
    if (code == 0)
        memcpy(ret->series[0].v, c->args[0].v, c->t->n * sizeof(double));
    return code;
}

/* 1 where no series has a value. */
int absent_apply(const struct apply *c, struct value *ret, struct err *e)
{
    const struct value *vector = &c->args[0];
    int code = one_series(c, ret, e);
    if (code != 0)
        return code;
    double *out = ret->series[0].v, none = float_stale();
    for (uint32_t i = 0; i < c->t->n; i++)
        out[i] = 1;
    for (uint32_t s = 0; s < vector->series_n; s++) {
        for (uint32_t i = 0; i < c->t->n; i++) {
            if (!value_absent(vector->series[s].v[i]))
                out[i] = none;
        }
    }
    absent_labels(c->ev, c->expr->args[0], &ret->series[0].labels);
    ret->series_n = apply_any(out, c->t->n);
    return apply_full(c, e);
}
