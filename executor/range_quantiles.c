/* quantiles_over_time("label", q1, q2, ..., m[R]): quantile_over_time for each q, one series each, q as a label. */
#include "base/float_text.h"
#include "executor/raw.h"

enum { QUANTILES_MAX = 64 };

struct quantiles {
    struct eval *ev;
    const struct expr *range;
    const struct times *t;
    struct range_series series;
    struct str label;
    const double *q[QUANTILES_MAX];
    struct str text[QUANTILES_MAX];
    uint32_t q_n, series_max;
    struct value out;
};

static int quantiles_series(void *ctx, const struct range_samples *samples, struct err *e)
{
    struct quantiles *r = ctx;
    if (!r->out.series &&
        !(r->out.series = ARENA_ARRAY(r->ev->arena, struct vec_series, (size_t)r->series_max * r->q_n)))
        return arena_check(r->ev->arena, "query", e);
    range_series_set(&r->series, r->range, samples);
    for (uint32_t i = 0; i < r->q_n; i++) {
        struct vec_series *out = &r->out.series[r->out.series_n];
        *out = (struct vec_series){.drop_name = true, .v = value_array_absent(r->ev, r->t->n)};
        if (!out->v)
            break;
        r->series.params[0] = r->q[i];
        if (!range_windows(&r->series, range_function_get(FUNCTION_quantile_over_time), r->range, r->t, out))
            break;
        labels_with(samples->labels, r->label, r->text[i], r->ev->arena, &out->labels);
        r->out.series_n++;
    }
    return arena_check(r->ev->arena, "query", e);
}

/* The quantile as a label needs one value for the whole query. */
static int quantiles_param(struct quantiles *r, const struct expr *arg, struct err *e)
{
    struct value v;
    char text[FLOAT_TEXT_MAX];
    if (r->q_n == QUANTILES_MAX)
        return err_set(e, ERR_EXECUTION, "quantiles_over_time takes at most %d quantiles", QUANTILES_MAX);
    int code = eval_expr(r->ev, arg, r->t, &v, e);
    if (code != 0)
        return code;
    for (uint32_t i = 1; i < r->t->n; i++) {
        if (memcmp(&v.v[i], &v.v[0], sizeof v.v[0]) != 0)
            return err_set(e, ERR_EXECUTION, "quantiles_over_time needs quantiles that do not change over the query");
    }
    int n = float_format(v.v[0], text);
    r->text[r->q_n] = (struct str){arena_strndup(r->ev->arena, text, (size_t)n), (size_t)n};
    r->q[r->q_n++] = v.v;
    return arena_check(r->ev->arena, "query", e);
}

int quantiles_over_time_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret,
                             struct err *e)
{
    struct quantiles r = {.ev = ev, .range = range_argument(call), .t = t, .out.type = VALUE_VECTOR};
    range_series_init(&r.series, ev, call, e);
    r.label = expr_unwrap(call->args[0])->string;
    if (r.label.n == 0 || !utf8_valid(r.label.p, r.label.n))
        return err_set(e, ERR_EXECUTION, "invalid label name in quantiles_over_time(): \"" STR_FMT "\"",
                       STR_ARG(r.label));
    int code = 0;
    for (uint32_t i = 1; code == 0 && i < call->args_n; i++) {
        if (call->args[i]->type == VALUE_SCALAR)
            code = quantiles_param(&r, call->args[i], e);
    }
    if (code == 0)
        code = range_scan(ev, r.range, t, &r.series_max, quantiles_series, &r, e);
    range_series_done(&r.series);
    if (code == 0)
        *ret = r.out;
    return code;
}
