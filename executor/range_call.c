/*
 * A call of a range function: its parameters, its series one after the other, and the notes Prometheus attaches.
 */
#include <math.h>

#include "base/float_text.h"
#include "executor/raw.h"

struct call_run {
    struct eval *ev;
    const struct expr *call, *range;
    const struct times *t;
    const struct range_function *function;
    struct range_series series;
    struct value out;
    uint32_t series_max;
    double *v;        /* room for the next series, when the last one had no value */
    struct str noted; /* metric that note_not_counter looked at last */
};

static bool ends_with(struct str s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* rate and increase of something that does not look like a counter. */
static void note_not_counter(struct call_run *r, const struct labels *labels)
{
    struct str name = labels_get(labels, STR(LABEL_NAME));
    if (str_eq(name, r->noted))
        return;
    r->noted = name;
    if (name.n == 0 || ends_with(name, "_total") || ends_with(name, "_sum") || ends_with(name, "_count") ||
        ends_with(name, "_bucket"))
        return;
    char place[EVAL_PLACE_MAX];
    /* A subquery's place is lost in Prometheus: its points stand in for it. */
    struct str where = eval_place(r->ev, r->range->kind == EXPR_SUBQUERY ? 0 : r->range->start, place);
    struct strbuf quoted = {0};
    strbuf_add_go_quoted(&quoted, name);
    notes_info(
        r->ev->notes,
        "PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: %s" STR_FMT,
        strbuf_z(&quoted), STR_ARG(where));
    strbuf_done(&quoted);
}

static int call_series(void *ctx, const struct range_samples *samples, struct err *e)
{
    struct call_run *r = ctx;
    if (!r->out.series && !(r->out.series = ARENA_ARRAY(r->ev->arena, struct vec_series, r->series_max)))
        return arena_check(r->ev->arena, "query", e);
    if (!r->v && !(r->v = value_array_absent(r->ev, r->t->n)))
        return arena_check(r->ev->arena, "query", e);
    struct vec_series out = {*samples->labels, samples->drop_name || !r->function->keeps_name, r->v};
    range_series_set(&r->series, r->range, samples);
    bool any = range_windows(&r->series, r->function, r->range, r->t, &out);
    if (r->series.code != 0 || !any)
        return r->series.code != 0 ? r->series.code : arena_check(r->ev->arena, "query", e);
    r->out.series[r->out.series_n++] = out;
    r->v = NULL;
    if ((r->function->id == FUNCTION_rate || r->function->id == FUNCTION_increase) && series_any_number(&out, r->t->n))
        note_not_counter(r, samples->labels);
    return 0;
}

/* A quantile outside [0, 1] is answered, with a warning where there was something to answer. */
static void note_bad_quantiles(struct call_run *r)
{
    for (uint32_t i = 0; i < r->t->n; i++) {
        double q = r->series.params[0][i];
        bool seen = false;
        if (q >= 0 && q <= 1)
            continue;
        for (uint32_t k = 0; k < r->out.series_n && !seen; k++)
            seen = !value_absent(r->out.series[k].v[i]);
        if (!seen)
            continue;
        char place[EVAL_PLACE_MAX], text[FLOAT_TEXT_MAX];
        float_format_e(q, text);
        struct str where = eval_place(r->ev, r->call->args[0]->start, place);
        notes_warn(r->ev->notes, "PromQL warning: quantile value should be between 0 and 1, got %s" STR_FMT, text,
                   STR_ARG(where));
    }
}

/* Extended windows hold samples outside the range: only some functions know how to read them. */
static int check_extended(const struct expr *call, const struct expr *range, struct err *e)
{
    enum function_id id = call->function->id;
    bool smoothed = id == FUNCTION_rate || id == FUNCTION_increase || id == FUNCTION_delta;
    bool anchored = smoothed || id == FUNCTION_changes || id == FUNCTION_resets;
    if (range->anchored && !anchored)
        return err_set(e, ERR_EXECUTION,
                       "anchored modifier can only be used with: changes, delta, increase, rate, resets - not with %s",
                       call->function->name);
    if (range->smoothed && !smoothed)
        return err_set(e, ERR_EXECUTION, "smoothed modifier can only be used with: delta, increase, rate - not with %s",
                       call->function->name);
    return 0;
}

/* Scalar arguments, in order, as one value per step. */
static int eval_params(struct call_run *r, struct err *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->call->args_n; i++) {
        if (r->call->args[i]->type != VALUE_SCALAR)
            continue;
        struct value v;
        if (n == RANGE_PARAMS_MAX)
            return err_set(e, ERR_INTERNAL, "%s has too many parameters", r->call->function->name);
        int code = eval_expr(r->ev, r->call->args[i], r->t, &v, e);
        if (code != 0)
            return code;
        r->series.params[n++] = v.v;
    }
    return 0;
}

int range_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret, struct err *e)
{
    struct call_run r = {.ev = ev,
                         .call = call,
                         .range = range_argument(call),
                         .t = t,
                         .function = range_function_get(call->function->id),
                         .out = {.type = VALUE_VECTOR}};
    range_series_init(&r.series, ev, call, e);
    int code = check_extended(call, r.range, e);
    if (code != 0)
        return code;
    switch (call->function->id) {
    case FUNCTION_absent_over_time:
        return absent_over_time_call(ev, call, t, ret, e);
    case FUNCTION_quantiles_over_time:
        return quantiles_over_time_call(ev, call, t, ret, e);
    case FUNCTION_distinct_label_over_time:
    case FUNCTION_topk_label_over_time:
    case FUNCTION_entropy_label_over_time:
    case FUNCTION_l2_label_over_time:
        return label_over_time_call(ev, call, t, ret, e);
    default:
        break;
    }
    if (!r.function)
        return err_set(e, ERR_EXECUTION, "%s over a range of samples is not supported", call->function->name);
    code = eval_params(&r, e);
    if (code == 0)
        code = range_scan(ev, r.range, t, &r.series_max, call_series, &r, e);
    range_series_done(&r.series);
    if (code != 0)
        return code;
    if (call->function->id == FUNCTION_quantile_over_time)
        note_bad_quantiles(&r);
    *ret = r.out;
    return 0;
}
