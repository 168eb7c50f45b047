/*
 * Instant selectors: at each evaluation time the newest sample of (T - look-back, T]; a stale marker there ends the
 * series. `smoothed` ones interpolate between the samples on both sides.
 */
#include "executor/note_histogram.h"
#include "executor/raw.h"

struct selection {
    struct eval *ev;
    const struct source_result *result;
    const struct expr *selector;
    const struct times *t;
    bool want_time; /* the sample's time instead of its value: timestamp() */
    struct value *out;
    struct vec_series next; /* v: room for the next series, when the last one had no point */
    struct found_resets resets;
};

/* The samples of the series at hand; histograms may be NULL. */
struct series_samples {
    const struct labels *labels;
    const int64_t *times_ms;
    const double *values;
    const struct histogram *const *histograms;
    uint32_t n;
    /* The sample whose histogram was copied last (+ 1), and the copy: look-back gives it to many steps. */
    uint32_t copied;
    const struct histogram *copy;
};

/* Sample `k` becomes the value at step i. */
static void take(struct selection *s, struct series_samples *x, uint32_t k, uint32_t i)
{
    const struct histogram *h = x->histograms ? x->histograms[k] : NULL;
    if (!h) {
        s->next.v[i] = x->values[k];
        return;
    }
    if (x->copied != k + 1) {
        x->copied = k + 1;
        x->copy = histogram_copy(h, s->ev->arena);
    }
    if (x->copy)
        series_put_histogram(s->ev, &s->next, s->t->n, i, x->copy);
}

static bool newest(struct selection *s, struct series_samples *x)
{
    const int64_t *times_ms = x->times_ms;
    const double *values = x->values;
    uint32_t next = 0;
    bool any = false;
    for (uint32_t i = 0; i < s->t->n; i++) {
        int64_t at_ms = window_end_ms(s->selector, times_at(s->t, i));
        while (next < x->n && times_ms[next] <= at_ms)
            next++;
        if (next == 0 || times_ms[next - 1] <= at_ms - s->ev->lookback_ms || value_absent(values[next - 1]))
            continue;
        any = true;
        if (s->want_time) {
            s->next.v[i] = (double)times_ms[next - 1] / 1000;
            s->out->histogram_times |= float_is_histogram(values[next - 1]);
        } else if (x->histograms) {
            take(s, x, next - 1, i);
        } else {
            s->next.v[i] = values[next - 1];
        }
    }
    return any;
}

/* Between samples k and k + 1, which are on both sides of at_ms. Returns whether there is a value. */
static bool interpolate(struct selection *s, struct series_samples *x, uint32_t k, int64_t at_ms, uint32_t i)
{
    if (!x->histograms || (!x->histograms[k] && !x->histograms[k + 1])) {
        s->next.v[i] = range_interpolate(x->times_ms + k, x->values + k, at_ms, false);
        return true;
    }
    struct str name = labels_get(x->labels, STR(LABEL_NAME));
    const struct histogram *before = x->histograms[k], *after = x->histograms[k + 1];
    unsigned notes = 0;
    if (!before || !after) {
        note_mixed_range(s->ev, name, s->selector->start);
        return false;
    }
    bool counter = before->reset != HISTOGRAM_GAUGE || after->reset != HISTOGRAM_GAUGE;
    const struct histogram *h = NULL;
    if (histogram_is_custom(before) != histogram_is_custom(after))
        notes = HISTOGRAM_INCOMPATIBLE;
    else
        h = range_interpolate_histograms(x->times_ms + k, x->histograms + k, at_ms, counter, s->ev->arena, &notes);
    note_histogram_bits(s->ev, notes & ~(unsigned)(HISTOGRAM_RESETS_IN_ADD | HISTOGRAM_RESETS_IN_SUB), name,
                        s->selector->start);
    return h && series_put_histogram(s->ev, &s->next, s->t->n, i, h);
}

static bool smoothed(struct selection *s, struct series_samples *x)
{
    const int64_t *times_ms = x->times_ms;
    uint32_t next = 0, n = x->n;
    bool any = false;
    for (uint32_t i = 0; i < s->t->n; i++) {
        int64_t at_ms = window_end_ms(s->selector, times_at(s->t, i));
        while (next < n && times_ms[next] < at_ms)
            next++;
        bool before = next > 0 && times_ms[next - 1] > at_ms - s->ev->lookback_ms;
        bool after = next < n && times_ms[next] <= at_ms + s->ev->lookback_ms;
        if (after && times_ms[next] == at_ms)
            take(s, x, next, i);
        else if (before && after && !interpolate(s, x, next - 1, at_ms, i))
            continue;
        else if (before && !after)
            take(s, x, next - 1, i);
        else if (!before)
            continue;
        any = true;
    }
    return any;
}

static int select_series(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                         const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct selection *s = ctx;
    int code = eval_check(s->ev, n, e);
    if (code != 0 || n == 0)
        return code;
    if (!s->next.v && !(s->next.v = value_array_absent(s->ev, s->t->n)))
        return arena_check(s->ev->arena, "query", e);
    if (histograms && eval_finds_resets(s->ev))
        histograms = find_resets(&s->resets, histograms, n);
    struct series_samples x = {&s->result->series[series].labels, times_ms, values, histograms, n};
    if (s->selector->smoothed ? smoothed(s, &x) : newest(s, &x)) {
        struct vec_series *out = &s->out->series[s->out->series_n++];
        *out = s->next;
        out->labels = *x.labels;
        out->drop_name = s->want_time;
        s->next = (struct vec_series){0};
    }
    return histograms ? arena_check(s->ev->arena, "query", e) : 0;
}

int selector_eval(struct eval *ev, const struct expr *selector, const struct times *t, bool want_time,
                  struct value *ret, struct err *e)
{
    struct value out = {.type = VALUE_VECTOR};
    struct selection s = {ev, eval_selected(ev, selector), selector, t, want_time, &out, {.v = NULL}};
    if (!s.result)
        return err_set(e, ERR_INTERNAL, "a selector was not part of the query's snapshot");
    out.series = ARENA_ARRAY(ev->arena, struct vec_series, s.result->series_n);
    int code = out.series ? 0 : arena_check(ev->arena, "query", e);
    struct scan scan = {.result = s.result, .txn = ev->txn, .keep_stale = !selector->smoothed, .want_histograms = true};
    selector_span(ev, selector, t, &scan.start_ms, &scan.end_ms);
    if (code == 0)
        code = scan_run(&scan, select_series, &s, e);
    found_resets_done(&s.resets);
    if (code != 0)
        return code;
    note_damage(ev, &scan);
    *ret = out;
    return 0;
}
