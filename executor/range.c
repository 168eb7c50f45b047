/*
 * Calls over range vectors: the table of functions, the windows of one series, and where its samples come from (a
 * matrix selector's scan or a subquery's points).
 */
#include "base/alloc.h"
#include "executor/note_histogram.h"
#include "executor/raw.h"

static const struct range_function functions[] = {
    {FUNCTION_rate, range_rate, range_prepare_falls, range_mixed_rate},
    {FUNCTION_increase, range_increase, range_prepare_falls, range_mixed_increase},
    {FUNCTION_delta, range_delta, NULL, range_mixed_delta},
    {FUNCTION_irate, range_irate, NULL, range_mixed_irate},
    {FUNCTION_idelta, range_idelta, NULL, range_mixed_idelta},
    {FUNCTION_sum_over_time, range_sum, range_prepare_sums, range_mixed_sum},
    {FUNCTION_avg_over_time, range_avg, range_prepare_sums, range_mixed_avg},
    {FUNCTION_count_over_time, range_count, NULL, range_count},
    {FUNCTION_present_over_time, range_present, NULL, range_present},
    {FUNCTION_l1_over_time, range_count, NULL}, /* frequencies add up to the number of samples */
    {FUNCTION_stddev_over_time, range_stddev, NULL},
    {FUNCTION_stdvar_over_time, range_stdvar, NULL},
    {FUNCTION_min_over_time, range_min, range_prepare_queue},
    {FUNCTION_max_over_time, range_max, range_prepare_queue},
    {FUNCTION_ts_of_min_over_time, range_ts_of_min, range_prepare_queue},
    {FUNCTION_ts_of_max_over_time, range_ts_of_max, range_prepare_queue},
    {FUNCTION_first_over_time, range_first, NULL, range_first, .keeps_name = true},
    {FUNCTION_last_over_time, range_last, NULL, range_last, .keeps_name = true},
    {FUNCTION_ts_of_first_over_time, range_ts_of_first, NULL, range_ts_of_first},
    {FUNCTION_ts_of_last_over_time, range_ts_of_last, NULL, range_ts_of_last},
    {FUNCTION_changes, range_changes, range_prepare_changes, range_changes},
    {FUNCTION_resets, range_resets, range_prepare_resets, range_resets},
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

void range_series_init(struct range_series *s, struct eval *ev, const struct expr *call, struct err *e)
{
    const struct expr *first = expr_unwrap(call->args[0]);
    *s = (struct range_series){.ev = ev, .e = e};
    /* A subquery's place is lost in Prometheus: its points stand in for it. */
    s->place = first->kind == EXPR_SUBQUERY ? 0 : first->start;
}

void range_series_set(struct range_series *s, const struct expr *range, const struct range_samples *samples)
{
    s->times_ms = samples->times_ms;
    s->values = samples->values;
    s->histograms = samples->histograms;
    s->n = samples->n;
    s->range_ms = range->range_ms;
    s->anchored = range->anchored;
    s->smoothed = range->smoothed;
    if (!s->histograms)
        return;
    s->name = labels_get(samples->labels, STR(LABEL_NAME));
    s->said = 0;
    s->kept_from = NULL;
}

void range_series_done(struct range_series *s)
{
    mem_free(s->index);
    mem_free(s->sums);
    mem_free(s->keys);
    mem_free(s->keys_spare);
    mem_free(s->number_times_ms);
    mem_free(s->numbers);
}

static bool same_params(const struct range_series *s, uint32_t a, uint32_t b)
{
    for (int i = 0; i < RANGE_PARAMS_MAX; i++) {
        if (s->params[i] && memcmp(&s->params[i][a], &s->params[i][b], sizeof(double)) != 0)
            return false;
    }
    return true;
}

/* The window of step w->step; its samples only move forward. Returns whether it has any. */
static inline bool move_window(const struct range_series *s, const struct expr *range, const struct times *t,
                               struct range_window *w)
{
    const int64_t lookback_ms = s->anchored || s->smoothed ? s->ev->lookback_ms : 0;
    w->at_ms = times_at(t, w->step);
    w->end_ms = window_end_ms(range, w->at_ms);
    w->start_ms = w->end_ms - range->range_ms;
    const int64_t last_ms = w->end_ms + (s->smoothed ? lookback_ms : 0);
    if (s->n > 0 && s->times_ms[s->n - 1] <= last_ms) /* most often, when there is one window */
        w->hi = s->n;
    while (w->hi < s->n && s->times_ms[w->hi] <= last_ms)
        w->hi++;
    while (w->lo < w->hi && s->times_ms[w->lo] <= w->start_ms - lookback_ms)
        w->lo++;
    return w->lo < w->hi;
}

/* The series as a function of numbers sees it; an info when a window has both. */
static void leave_out_histograms(struct range_series *s, const struct expr *range, const struct times *t)
{
    struct range_window w = {0};
    uint32_t n = 0;
    bool mixed = false;
    for (; !mixed && w.step < t->n; w.step++) {
        bool number = false, histogram = false;
        if (!move_window(s, range, t, &w))
            continue;
        for (uint32_t i = w.lo; i < w.hi && !(number && histogram); i++) {
            histogram |= s->histograms[i] != NULL;
            number |= s->histograms[i] == NULL;
        }
        mixed = number && histogram;
    }
    if (mixed)
        note_ignored_in_range(s->ev, s->name, s->place);
    s->number_times_ms = mem_grow(s->number_times_ms, &s->number_times_cap, s->n, sizeof *s->number_times_ms);
    s->numbers = mem_grow(s->numbers, &s->numbers_cap, s->n, sizeof *s->numbers);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->histograms[i])
            continue;
        s->number_times_ms[n] = s->times_ms[i];
        s->numbers[n++] = s->values[i];
    }
    s->times_ms = s->number_times_ms;
    s->values = s->numbers;
    s->histograms = NULL;
    s->n = n;
}

bool range_windows(struct range_series *s, const struct range_function *f, const struct expr *range,
                   const struct times *t, struct vec_series *out)
{
    struct range_window w = {0}, last = {0};
    double value = 0;
    bool any = false, known = false;
    if (s->histograms && !f->mixed)
        leave_out_histograms(s, range, t);
    range_fn *window = s->histograms ? f->mixed : f->window;
    s->one_window = t->n == 1;
    if (f->prepare && s->n > 0)
        f->prepare(s);
    for (w.step = 0; w.step < t->n; w.step++) {
        if (!move_window(s, range, t, &w))
            continue;
        /* `@` fixes the window: one value for all steps. */
        if (!known || f->uses_time || w.end_ms != last.end_ms || !same_params(s, w.step, last.step))
            value = window(s, &w);
        if (s->histograms && s->code == 0) /* a window of them may take long */
            s->code = eval_check(s->ev, 0, s->e);
        if (s->code != 0)
            return false;
        known = true;
        last = w;
        if (value_absent(value))
            continue;
        out->v[w.step] = value;
        any = true;
        if (float_is_histogram(value) && !series_put_histogram(s->ev, out, t->n, w.step, s->made)) {
            s->code = arena_check(s->ev->arena, "query", s->e);
            return false;
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
    struct found_resets resets;
};

static int matrix_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                         const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct matrix_scan *m = ctx;
    int code = eval_check(m->ev, n, e);
    if (code != 0 || n == 0)
        return code;
    if (histograms && eval_finds_resets(m->ev))
        histograms = find_resets(&m->resets, histograms, n);
    struct range_samples samples = {&m->result->series[series].labels, false, times_ms, values, histograms, n};
    return m->each(m->ctx, &samples, e);
}

static int matrix_scan(struct eval *ev, const struct expr *selector, const struct times *t, uint32_t *ret_series_n,
                       range_each_fn *each, void *ctx, struct err *e)
{
    struct matrix_scan m = {ev, eval_selected(ev, selector), each, ctx, {0}};
    if (!m.result)
        return err_set(e, ERR_INTERNAL, "a selector was not part of the query's snapshot");
    if (ret_series_n)
        *ret_series_n = m.result->series_n;
    struct scan scan = {.result = m.result, .txn = ev->txn, .want_histograms = true};
    selector_span(ev, selector, t, &scan.start_ms, &scan.end_ms);
    int code = scan_run(&scan, matrix_series, &m, e);
    found_resets_done(&m.resets);
    if (code == 0)
        note_damage(ev, &scan);
    return code;
}

/* What a sender said of resets holds from one of its samples to the next. A subquery's points may leave some out and
 * repeat others, so that nothing is known from one to the next. */
static const struct histogram *subquery_histogram(struct eval *ev, const struct histogram *h)
{
    bool said = h->reset == HISTOGRAM_RESET_YES || h->reset == HISTOGRAM_RESET_NO;
    return said ? histogram_with_reset(h, HISTOGRAM_RESET_UNKNOWN, ev->arena) : h;
}

/* The points of one series, packed to the front of its arrays, which are the subquery's own. */
static uint32_t subquery_points(struct eval *ev, struct vec_series *s, const struct times *inner, int64_t *times_ms)
{
    const struct histogram **h = s->h, *before = NULL, *made = NULL;
    uint32_t n = 0;
    if (h && !(h = arena_zalloc(ev->arena, inner->n * sizeof(const struct histogram *))))
        return 0;
    for (uint32_t k = 0; k < inner->n; k++) {
        if (value_absent(s->v[k]))
            continue;
        const struct histogram *here = vec_histogram(s, k);
        if (here && here != before) {
            before = here;
            made = subquery_histogram(ev, here);
        }
        if (here)
            h[n] = made;
        times_ms[n] = times_at(inner, k);
        memmove(&s->v[n++], &s->v[k], sizeof *s->v);
    }
    s->h = h;
    return n;
}

static int subquery_scan(struct eval *ev, const struct expr *subquery, const struct times *t, uint32_t *ret_series_n,
                         range_each_fn *each, void *ctx, struct err *e)
{
    struct times inner;
    struct value v = {0};
    int code = subquery_times(ev, subquery, t, &inner, e);
    eval_enter(ev, subquery, 1);
    if (code == 0 && inner.n > 0)
        code = eval_expr(ev, subquery->args[0], &inner, &v, e);
    eval_enter(ev, subquery, -1);
    if (code != 0)
        return code;
    if (ret_series_n)
        *ret_series_n = v.series_n;
    int64_t *times_ms = ARENA_ARRAY(ev->arena, int64_t, inner.n);
    for (uint32_t i = 0; times_ms && i < v.series_n && code == 0; i++) {
        struct vec_series *s = &v.series[i];
        uint32_t n = subquery_points(ev, s, &inner, times_ms);
        code = eval_check(ev, n, e);
        struct range_samples samples = {&s->labels, s->drop_name, times_ms, s->v, s->h, n};
        if (code == 0 && n > 0)
            code = each(ctx, &samples, e);
    }
    return code != 0 ? code : arena_check(ev->arena, "query", e);
}

int range_scan(struct eval *ev, const struct expr *range, const struct times *t, uint32_t *ret_series_n,
               range_each_fn *each, void *ctx, struct err *e)
{
    return (range->kind == EXPR_SUBQUERY ? subquery_scan : matrix_scan)(ev, range, t, ret_series_n, each, ctx, e);
}
