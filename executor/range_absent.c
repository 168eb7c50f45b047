/* absent_over_time: 1 at each time at which no series of its argument has a sample in the window. */
#include "executor/raw.h"

struct presence {
    const struct expr *range;
    const struct times *t;
    struct range_series series;
    double *seen; /* 1 where some series has a sample */
};

static int presence_series(void *ctx, const struct range_samples *samples, struct err *e)
{
    struct presence *p = ctx;
    struct vec_series seen = {.v = p->seen};
    range_series_set(&p->series, p->range, samples);
    range_windows(&p->series, range_function_get(FUNCTION_present_over_time), p->range, p->t, &seen);
    return p->series.code;
}

int absent_over_time_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret,
                          struct err *e)
{
    struct presence p = {.range = range_argument(call), .t = t, .seen = value_array_absent(ev, t->n)};
    range_series_init(&p.series, ev, call, e);
    struct value out = {.type = VALUE_VECTOR, .series = ARENA_NEW(ev->arena, struct vec_series)};
    int code = arena_check(ev->arena, "query", e);
    if (code == 0)
        code = range_scan(ev, p.range, t, NULL, presence_series, &p, e);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < t->n; i++) {
        bool seen = !value_absent(p.seen[i]);
        p.seen[i] = seen ? float_stale() : 1;
        out.series_n |= !seen;
    }
    out.series[0].v = p.seen;
    absent_labels(ev, p.range, &out.series[0].labels);
    *ret = out;
    return arena_check(ev->arena, "query", e);
}
