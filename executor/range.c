/*
 * Calls over range vectors: the table of functions, the windows of one series, and where its samples come from (a
 * matrix selector's scan or a subquery's points).
 */
#include "base/alloc.h"
#include "executor/raw.h"

static const struct range_function functions[] = {
    {FUNCTION_rate, range_rate, range_prepare_falls},
    {FUNCTION_increase, range_increase, range_prepare_falls},
    {FUNCTION_delta, range_delta, NULL},
    {FUNCTION_irate, range_irate, NULL},
    {FUNCTION_idelta, range_idelta, NULL},
    {FUNCTION_sum_over_time, range_sum, range_prepare_sums},
    {FUNCTION_avg_over_time, range_avg, range_prepare_sums},
    {FUNCTION_count_over_time, range_count, NULL},
    {FUNCTION_present_over_time, range_present, NULL},
    {FUNCTION_l1_over_time, range_count, NULL}, /* frequencies add up to the number of samples */
    {FUNCTION_stddev_over_time, range_stddev, NULL},
    {FUNCTION_stdvar_over_time, range_stdvar, NULL},
    {FUNCTION_min_over_time, range_min, range_prepare_queue},
    {FUNCTION_max_over_time, range_max, range_prepare_queue},
    {FUNCTION_ts_of_min_over_time, range_ts_of_min, range_prepare_queue},
    {FUNCTION_ts_of_max_over_time, range_ts_of_max, range_prepare_queue},
    {FUNCTION_first_over_time, range_first, NULL, .keeps_name = true},
    {FUNCTION_last_over_time, range_last, NULL, .keeps_name = true},
    {FUNCTION_ts_of_first_over_time, range_ts_of_first, NULL},
    {FUNCTION_ts_of_last_over_time, range_ts_of_last, NULL},
    {FUNCTION_changes, range_changes, range_prepare_changes},
    {FUNCTION_resets, range_resets, range_prepare_resets},
    {FUNCTION_quantile_over_time, range_quantile, range_prepare_order},
    {FUNCTION_mad_over_time, range_mad, range_prepare_order},
    {FUNCTION_distinct_over_time, range_distinct, range_prepare_order},
    {FUNCTION_entropy_over_time, range_entropy, range_prepare_order},
    {FUNCTION_l2_over_time, range_l2, range_prepare_order},
    {FUNCTION_deriv, range_deriv, NULL},
    {FUNCTION_predict_linear, range_predict, NULL, .uses_time = true},
    {FUNCTION_double_exponential_smoothing, range_smooth, NULL},
    {FUNCTION_holt_winters, range_smooth, NULL},
};

const struct range_function *range_function_get(enum function_id id)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].id == id)
            return &functions[i];
    }
    return NULL;
}

void range_series_set(struct range_series *s, const struct expr *range, const int64_t *times_ms, const double *values,
                      uint32_t n)
{
    s->times_ms = times_ms;
    s->values = values;
    s->n = n;
    s->range_ms = range->range_ms;
    s->anchored = range->anchored;
    s->smoothed = range->smoothed;
}

void range_series_done(struct range_series *s)
{
    mem_free(s->index);
    mem_free(s->sums);
    mem_free(s->keys);
    mem_free(s->keys_spare);
}

static bool same_params(const struct range_series *s, uint32_t a, uint32_t b)
{
    for (int i = 0; i < RANGE_PARAMS_MAX; i++) {
        if (s->params[i] && memcmp(&s->params[i][a], &s->params[i][b], sizeof(double)) != 0)
            return false;
    }
    return true;
}

bool range_windows(struct range_series *s, const struct range_function *f, const struct eval *ev,
                   const struct expr *range, const struct times *t, double *v)
{
    int64_t before_ms = s->anchored || s->smoothed ? ev->lookback_ms : 0, after_ms = s->smoothed ? ev->lookback_ms : 0;
    struct range_window w = {0}, last = {0};
    double value = 0;
    bool any = false, known = false;
    s->one_window = t->n == 1;
    if (f->prepare)
        f->prepare(s);
    for (w.step = 0; w.step < t->n; w.step++) {
        w.at_ms = times_at(t, w.step);
        w.end_ms = window_end_ms(range, w.at_ms);
        w.start_ms = w.end_ms - range->range_ms;
        if (s->n > 0 && s->times_ms[s->n - 1] <= w.end_ms + after_ms) /* most often, when there is one window */
            w.hi = s->n;
        while (w.hi < s->n && s->times_ms[w.hi] <= w.end_ms + after_ms)
            w.hi++;
        while (w.lo < w.hi && s->times_ms[w.lo] <= w.start_ms - before_ms)
            w.lo++;
        if (w.lo == w.hi)
            continue;
        /* `@` fixes the window: one value for all steps. */
        if (!known || f->uses_time || w.end_ms != last.end_ms || !same_params(s, w.step, last.step))
            value = f->window(s, &w);
        if (s->code != 0)
            return false;
        known = true;
        last = w;
        if (!value_absent(value)) {
            v[w.step] = value;
            any = true;
        }
    }
    return any;
}

const struct expr *range_argument(const struct expr *call)
{
    for (uint32_t i = 0; i < call->args_n; i++) {
        const struct expr *arg = expr_unwrap(call->args[i]);
        if (arg->type == VALUE_MATRIX)
            return arg;
    }
    return NULL;
}

/* ---- where the samples come from ---- */
struct matrix_scan {
    struct eval *ev;
    const struct source_result *result;
    range_each_fn *each;
    void *ctx;
};

static int matrix_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                         const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct matrix_scan *m = ctx;
    int code = eval_check(m->ev, n, e);
    if (code != 0 || n == 0)
        return code;
    return m->each(m->ctx, &m->result->series[series].labels, false, times_ms, values, n, e);
}

static int matrix_scan(struct eval *ev, const struct expr *selector, const struct times *t, uint32_t *ret_series_n,
                       range_each_fn *each, void *ctx, struct err *e)
{
    struct matrix_scan m = {ev, eval_selected(ev, selector), each, ctx};
    if (!m.result)
        return err_set(e, ERR_INTERNAL, "a selector was not part of the query's snapshot");
    if (ret_series_n)
        *ret_series_n = m.result->series_n;
    struct scan scan = {.result = m.result, .txn = ev->txn};
    selector_span(ev, selector, t, &scan.start_ms, &scan.end_ms);
    int code = scan_run(&scan, matrix_series, &m, e);
    if (code == 0)
        note_damage(ev, &scan);
    return code;
}

static int subquery_scan(struct eval *ev, const struct expr *subquery, const struct times *t, uint32_t *ret_series_n,
                         range_each_fn *each, void *ctx, struct err *e)
{
    struct times inner;
    struct value v = {0};
    int code = subquery_times(ev, subquery, t, &inner, e);
    if (code == 0 && inner.n > 0)
        code = eval_expr(ev, subquery->args[0], &inner, &v, e);
    if (code != 0)
        return code;
    if (ret_series_n)
        *ret_series_n = v.series_n;
    int64_t *times_ms = ARENA_ARRAY(ev->arena, int64_t, inner.n);
    for (uint32_t i = 0; times_ms && i < v.series_n && code == 0; i++) {
        struct vec_series *s = &v.series[i];
        uint32_t n = 0;
        for (uint32_t k = 0; k < inner.n; k++) {
            if (value_absent(s->v[k]))
                continue;
            times_ms[n] = times_at(&inner, k);
            s->v[n++] = s->v[k]; /* the array is this subquery's own */
        }
        code = eval_check(ev, n, e);
        if (code == 0 && n > 0)
            code = each(ctx, &s->labels, s->drop_name, times_ms, s->v, n, e);
    }
    return code != 0 ? code : arena_check(ev->arena, "query", e);
}

int range_scan(struct eval *ev, const struct expr *range, const struct times *t, uint32_t *ret_series_n,
               range_each_fn *each, void *ctx, struct err *e)
{
    return (range->kind == EXPR_SUBQUERY ? subquery_scan : matrix_scan)(ev, range, t, ret_series_n, each, ctx, e);
}
