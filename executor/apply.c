/* Dispatch: the outermost operator of an expression to the function that applies it, and the helpers they share. */
#include "executor/apply.h"

#include <string.h>

#include "plan/series_order.h"

bool apply_any(const double *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!value_absent(v[i]))
            return true;
    }
    return false;
}

int apply_make_vector(const struct apply *c, uint32_t series_cap, struct value *ret, struct err *e)
{
    struct vec_series *series = ARENA_ARRAY(c->ev->arena, struct vec_series, series_cap);
    if (!series)
        return apply_full(c, e);
    *ret = (struct value){.type = VALUE_VECTOR, .series = series};
    return 0;
}

int apply_make_alike(const struct apply *c, const struct value *vector, struct value *ret, struct err *e)
{
    struct value made;
    int code = apply_make_vector(c, vector->series_n, &made, e);
    for (uint32_t i = 0; i < vector->series_n && code == 0; i++) {
        double *v = value_array(c->ev, c->t->n);
        if (!v)
            return apply_full(c, e);
        made.series[i] = (struct vec_series){.labels = vector->series[i].labels, .drop_name = true, .v = v};
        code = eval_check(c->ev, 0, e);
    }
    if (code != 0)
        return code;
    made.series_n = vector->series_n;
    made.ordered = vector->ordered;
    *ret = made;
    return 0;
}

int apply_make_scalar(const struct apply *c, struct value *ret, struct err *e)
{
    double *v = value_array(c->ev, c->t->n);
    if (!v)
        return apply_full(c, e);
    *ret = (struct value){.type = VALUE_SCALAR, .v = v};
    return 0;
}

void apply_note_quantile(const struct apply *c, const struct expr *argument, double q)
{
    struct note_text text;
    if (q >= 0 && q <= 1)
        return;
    float_format_e(q, text.number);
    struct str place = eval_place(c->ev, argument->start, text.place);
    notes_warn(c->ev->notes, "PromQL warning: quantile value should be between 0 and 1, got %s" STR_FMT, text.number,
               STR_ARG(place));
}

static const struct {
    enum function_id id;
    apply_fn *apply;
} functions[] = {
    {FUNCTION_abs, math_apply},
    {FUNCTION_absent, absent_apply},
    {FUNCTION_acos, math_apply},
    {FUNCTION_acosh, math_apply},
    {FUNCTION_asin, math_apply},
    {FUNCTION_asinh, math_apply},
    {FUNCTION_atan, math_apply},
    {FUNCTION_atanh, math_apply},
    {FUNCTION_ceil, math_apply},
    {FUNCTION_clamp, clamp_apply},
    {FUNCTION_clamp_max, clamp_apply},
    {FUNCTION_clamp_min, clamp_apply},
    {FUNCTION_cos, math_apply},
    {FUNCTION_cosh, math_apply},
    {FUNCTION_day_of_month, date_apply},
    {FUNCTION_day_of_week, date_apply},
    {FUNCTION_day_of_year, date_apply},
    {FUNCTION_days_in_month, date_apply},
    {FUNCTION_deg, math_apply},
    {FUNCTION_end, query_time_apply},
    {FUNCTION_exp, math_apply},
    {FUNCTION_floor, math_apply},
    {FUNCTION_histogram_avg, native_apply},
    {FUNCTION_histogram_count, native_apply},
    {FUNCTION_histogram_fraction, histogram_fraction_apply},
    {FUNCTION_histogram_quantile, histogram_quantile_apply},
    {FUNCTION_histogram_quantiles, histogram_quantile_apply},
    {FUNCTION_histogram_stddev, native_apply},
    {FUNCTION_histogram_stdvar, native_apply},
    {FUNCTION_histogram_sum, native_apply},
    {FUNCTION_hour, date_apply},
    {FUNCTION_info, info_apply},
    {FUNCTION_label_join, label_join_apply},
    {FUNCTION_label_replace, label_replace_apply},
    {FUNCTION_ln, math_apply},
    {FUNCTION_log10, math_apply},
    {FUNCTION_log2, math_apply},
    {FUNCTION_max_of, scalars_apply},
    {FUNCTION_min_of, scalars_apply},
    {FUNCTION_minute, date_apply},
    {FUNCTION_month, date_apply},
    {FUNCTION_pi, scalars_apply},
    {FUNCTION_rad, math_apply},
    {FUNCTION_range, query_time_apply},
    {FUNCTION_round, round_apply},
    {FUNCTION_scalar, scalar_apply},
    {FUNCTION_sgn, math_apply},
    {FUNCTION_sin, math_apply},
    {FUNCTION_sinh, math_apply},
    {FUNCTION_sort, sort_apply},
    {FUNCTION_sort_by_label, sort_by_label_apply},
    {FUNCTION_sort_by_label_desc, sort_by_label_apply},
    {FUNCTION_sort_desc, sort_apply},
    {FUNCTION_sqrt, math_apply},
    {FUNCTION_start, query_time_apply},
    {FUNCTION_step, query_time_apply},
    {FUNCTION_tan, math_apply},
    {FUNCTION_tanh, math_apply},
    {FUNCTION_time, time_apply},
    {FUNCTION_timestamp, time_apply},
    {FUNCTION_vector, vector_apply},
    {FUNCTION_year, date_apply},
};

static int call_apply(const struct apply *c, struct value *ret, struct err *e)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (functions[i].id == c->expr->function->id)
            return functions[i].apply(c, ret, e);
    }
    return err_set(e, ERR_EXECUTION, "%s() cannot be evaluated here", c->expr->function->name);
}

/* An operator that minds the order of its first argument gets it in one that does not depend on how that was made. What
 * was sorted on purpose is left so. */
static int give_order(struct apply *c, struct err *e)
{
    uint32_t n = c->expr->args_n;
    struct value vector = n > 0 ? c->args[0] : (struct value){0};
    if (vector.type != VALUE_VECTOR || vector.ordered || !series_order_is_given(c->expr))
        return 0;
    struct value *args = ARENA_ARRAY(c->ev->arena, struct value, n), sorted;
    int code = apply_make_vector(c, vector.series_n, &sorted, e);
    if (code != 0 || !args)
        return apply_full(c, e);
    if (vector.series_n > 0)
        memcpy(sorted.series, vector.series, vector.series_n * sizeof *sorted.series);
    sorted.series_n = vector.series_n;
    series_sort(sorted.series, sorted.series_n);
    memcpy(args, c->args, n * sizeof *args);
    args[0] = sorted;
    c->args = args;
    return 0;
}

int apply_expr(struct eval *ev, const struct expr *expr, const struct times *t, const struct value *args,
               struct value *ret, struct err *e)
{
    struct apply c = {ev, expr, t, args};
    struct value made = {0};
    int code = eval_check(ev, 0, e);
    if (code == 0)
        code = give_order(&c, e);
    if (code != 0)
        return code;
    switch (expr->kind) {
    case EXPR_AGGREGATE:
        code = aggregate_apply(&c, &made, e);
        break;
    case EXPR_BINARY:
        code = binary_apply(&c, &made, e);
        break;
    case EXPR_UNARY:
        code = unary_apply(&c, &made, e);
        break;
    case EXPR_CALL:
        code = call_apply(&c, &made, e);
        break;
    case EXPR_PAREN:
        made = args[0];
        break;
    default:
        code = err_set(e, ERR_INTERNAL, "an expression without an operator was to be applied");
    }
    if (code == 0)
        *ret = made;
    return code;
}
