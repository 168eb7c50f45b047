/*
 * Instant selectors: at each evaluation time the newest sample of (T - look-back, T]; a stale marker there ends the
 * series. `smoothed` ones interpolate between the samples on both sides.
 */
#include "executor/raw.h"

struct selection {
    struct eval *ev;
    const struct source_result *result;
    const struct expr *selector;
    const struct times *t;
    bool want_time; /* the sample's time instead of its value: timestamp() */
    struct value *out;
    double *v; /* room for the next series, when the last one had no point */
};

static bool newest(const struct selection *s, const int64_t *times_ms, const double *values, uint32_t n)
{
    uint32_t next = 0;
    bool any = false;
    for (uint32_t i = 0; i < s->t->n; i++) {
        int64_t at_ms = window_end_ms(s->selector, times_at(s->t, i));
        while (next < n && times_ms[next] <= at_ms)
            next++;
        if (next == 0 || times_ms[next - 1] <= at_ms - s->ev->lookback_ms || value_absent(values[next - 1]))
            continue;
        s->v[i] = s->want_time ? (double)times_ms[next - 1] / 1000 : values[next - 1];
        any = true;
    }
    return any;
}

static bool smoothed(const struct selection *s, const int64_t *times_ms, const double *values, uint32_t n)
{
    uint32_t next = 0;
    bool any = false;
    for (uint32_t i = 0; i < s->t->n; i++) {
        int64_t at_ms = window_end_ms(s->selector, times_at(s->t, i));
        while (next < n && times_ms[next] < at_ms)
            next++;
        bool before = next > 0 && times_ms[next - 1] > at_ms - s->ev->lookback_ms;
        bool after = next < n && times_ms[next] <= at_ms + s->ev->lookback_ms;
        if (after && times_ms[next] == at_ms)
            s->v[i] = values[next];
        else if (before && after)
            s->v[i] = range_interpolate(times_ms + next - 1, values + next - 1, at_ms, false);
        else if (before)
            s->v[i] = values[next - 1];
        else
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
    if (!s->v && !(s->v = value_array_absent(s->ev, s->t->n)))
        return arena_check(s->ev->arena, "query", e);
    bool any = s->selector->smoothed ? smoothed(s, times_ms, values, n) : newest(s, times_ms, values, n);
    if (any) {
        s->out->series[s->out->series_n++] =
            (struct vec_series){.labels = s->result->series[series].labels, .drop_name = s->want_time, .v = s->v};
        s->v = NULL;
    }
    return 0;
}

int selector_eval(struct eval *ev, const struct expr *selector, const struct times *t, bool want_time,
                  struct value *ret, struct err *e)
{
    struct value out = {.type = VALUE_VECTOR};
    struct selection s = {ev, eval_selected(ev, selector), selector, t, want_time, &out, NULL};
    if (!s.result)
        return err_set(e, ERR_INTERNAL, "a selector was not part of the query's snapshot");
    out.series = ARENA_ARRAY(ev->arena, struct vec_series, s.result->series_n);
    int code = out.series ? 0 : arena_check(ev->arena, "query", e);
    struct scan scan = {.result = s.result, .txn = ev->txn, .keep_stale = !selector->smoothed};
    selector_span(ev, selector, t, &scan.start_ms, &scan.end_ms);
    if (code == 0)
        code = scan_run(&scan, select_series, &s, e);
    if (code != 0)
        return code;
    note_damage(ev, &scan);
    *ret = out;
    return 0;
}
