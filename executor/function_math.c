/* Functions of single values: arithmetic, logarithms, trigonometry, rounding, clamping. */
#include <math.h>

#include "executor/apply.h"

typedef void math_loop(const double *v, uint32_t n, double *out);

static inline double sgn(double x)
{
    return x < 0 ? -1 : x > 0 ? 1 : x;
}

/* X(function, value of x): the loops, one for each so that the compiler sees what is inside. */
#define MATH_LIST(X)                                                                                                   \
    X(abs, fabs(x))                                                                                                    \
    X(acos, acos(x))                                                                                                   \
    X(acosh, acosh(x))                                                                                                 \
    X(asin, asin(x))                                                                                                   \
    X(asinh, asinh(x))                                                                                                 \
    X(atan, atan(x))                                                                                                   \
    X(atanh, atanh(x))                                                                                                 \
    X(ceil, ceil(x))                                                                                                   \
    X(cos, cos(x))                                                                                                     \
    X(cosh, cosh(x))                                                                                                   \
    X(deg, x * 180 / M_PI)                                                                                             \
    X(exp, exp(x))                                                                                                     \
    X(floor, floor(x))                                                                                                 \
    X(ln, log(x))                                                                                                      \
    X(log10, log10(x))                                                                                                 \
    X(log2, log2(x))                                                                                                   \
    X(rad, x *M_PI / 180)                                                                                              \
    X(sgn, sgn(x))                                                                                                     \
    X(sin, sin(x))                                                                                                     \
    X(sinh, sinh(x))                                                                                                   \
    X(sqrt, sqrt(x))                                                                                                   \
    X(tan, tan(x))                                                                                                     \
    X(tanh, tanh(x))

#define X(name, value)                                                                                                 \
    static void loop_##name(const double *v, uint32_t n, double *out)                                                  \
    {                                                                                                                  \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            double x = v[i];                                                                                           \
            out[i] = value_absent(x) ? x : (value);                                                                    \
        }                                                                                                              \
    }
MATH_LIST(X)
#undef X

static math_loop *const loops[FUNCTION_END] = {
#define X(name, value) [FUNCTION_##name] = loop_##name,
    MATH_LIST(X)
#undef X
};

static int numbers_apply(const struct apply *c, uint32_t s, math_loop *loop, double *out, struct err *e)
{
    const double *v = series_numbers(c->ev, &c->args[0].series[s], c->t->n);
    if (!v)
        return apply_full(c, e);
    loop(v, c->t->n, out);
    return 0;
}

int math_apply(const struct apply *c, struct value *ret, struct err *e)
{
    math_loop *loop = loops[c->expr->function->id];
    int code = apply_make_alike(c, &c->args[0], ret, e);
    for (uint32_t s = 0; code == 0 && s < ret->series_n; s++)
        code = numbers_apply(c, s, loop, ret->series[s].v, e);
    return code;
}

/* Ties go up. The inverse has fewer rounding errors for 0.1 and the like. */
int round_apply(const struct apply *c, struct value *ret, struct err *e)
{
    int code = apply_make_alike(c, &c->args[0], ret, e);
    for (uint32_t s = 0; code == 0 && s < ret->series_n; s++) {
        const double *v = series_numbers(c->ev, &c->args[0].series[s], c->t->n);
        if (!v)
            return apply_full(c, e);
        for (uint32_t i = 0; i < c->t->n; i++) {
            double inverse = 1.0 / (c->expr->args_n > 1 ? c->args[1].v[i] : 1.0);
            ret->series[s].v[i] = value_absent(v[i]) ? v[i] : floor(v[i] * inverse + 0.5) / inverse;
        }
    }
    return code;
}

/* Go's math.Min and math.Max: an infinity of the right sign wins over NaN, NaN over the rest; -0 is below +0. */
static double lesser(double a, double b)
{
    if (a == -INFINITY || b == -INFINITY)
        return -INFINITY;
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return -lesser(-a, -b);
}

int clamp_apply(const struct apply *c, struct value *ret, struct err *e)
{
    enum function_id id = c->expr->function->id;
    const double *low = id == FUNCTION_clamp_max ? NULL : c->args[1].v;
    const double *high = id == FUNCTION_clamp_min ? NULL : c->args[id == FUNCTION_clamp ? 2 : 1].v;
    double absent = float_stale();
    int code = apply_make_alike(c, &c->args[0], ret, e);
    uint32_t kept = 0;
    for (uint32_t s = 0; code == 0 && s < ret->series_n; s++) {
        const double *v = series_numbers(c->ev, &c->args[0].series[s], c->t->n);
        double *out = ret->series[s].v;
        if (!v)
            return apply_full(c, e);
        for (uint32_t i = 0; i < c->t->n; i++) {
            double min = low ? low[i] : -INFINITY, max = high ? high[i] : INFINITY;
            out[i] = value_absent(v[i]) || max < min ? absent : greater(min, lesser(max, v[i]));
        }
        if (apply_any(out, c->t->n))
            ret->series[kept++] = ret->series[s];
    }
    if (code == 0)
        ret->series_n = kept;
    return code;
}

/* pi(), min_of() and max_of(): scalars from scalars. */
int scalars_apply(const struct apply *c, struct value *ret, struct err *e)
{
    enum function_id id = c->expr->function->id;
    int code = apply_make_scalar(c, ret, e);
    for (uint32_t i = 0; code == 0 && i < c->t->n; i++) {
        if (id == FUNCTION_pi)
            ret->v[i] = M_PI;
        else if (id == FUNCTION_min_of)
            ret->v[i] = lesser(c->args[0].v[i], c->args[1].v[i]);
        else
            ret->v[i] = greater(c->args[0].v[i], c->args[1].v[i]);
    }
    return code;
}
