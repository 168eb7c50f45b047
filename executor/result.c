#include "executor/result.h"

#include <stdlib.h>

#include "executor/apply.h"
#include "executor/raw.h"

const char *answer_source_text(uint32_t bits)
{
    switch (bits) {
    case SOURCE_NONE:
        return "none";
    case SOURCE_PANES:
        return "panes";
    case SOURCE_RAW:
        return "raw";
    case SOURCE_ROOT:
        return "root";
    case SOURCE_UPSTREAM:
        return "upstream";
    default:
        return "mixed";
    }
}

static int assemble_series(struct eval *ev, struct value *v, const struct times *t, bool range, struct result *ret,
                           struct err *e)
{
    for (uint32_t i = 0; i < v->series_n; i++)
        series_settle_name(ev, &v->series[i]);
    bool sort = range || !v->ordered;
    int code = (sort ? value_sort_merge : value_merge_duplicates)(ev, v, t, e);
    if (code != 0)
        return code;
    struct result_series *out = ARENA_ARRAY(ev->arena, struct result_series, v->series_n);
    code = arena_check(ev->arena, "query", e);
    if (code != 0)
        return code;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->series_n; i++) {
        if (apply_any(v->series[i].v, t->n))
            out[n++] = (struct result_series){v->series[i].labels, v->series[i].v, v->series[i].h};
    }
    ret->type = range ? VALUE_MATRIX : VALUE_VECTOR;
    ret->series = out;
    ret->series_n = n;
    return 0;
}

int result_assemble(struct eval *ev, struct value *v, const struct times *t, bool range, struct result *ret,
                    struct err *e)
{
    ret->times = *t;
    if (v->type == VALUE_VECTOR)
        return assemble_series(ev, v, t, range, ret, e);
    ret->type = v->type;
    ret->v = v->v;
    ret->string = v->string;
    if (!range || v->type != VALUE_SCALAR)
        return 0;
    /* A scalar over a range is a series without labels. */
    ret->series = ARENA_NEW(ev->arena, struct result_series);
    int code = arena_check(ev->arena, "query", e);
    if (code != 0)
        return code;
    ret->type = VALUE_MATRIX;
    ret->series->v = v->v;
    ret->series_n = 1;
    return 0;
}

/* ---- range vectors at an instant ---- */
struct points {
    struct labels labels;
    int64_t *times_ms;
    double *values;
    const struct histogram **histograms; /* NULL: none */
    uint32_t n;
};
struct point_run {
    struct eval *ev;
    const struct expr *range;
    const struct times *t;
    struct points *v;
    uint32_t n, max;
};

/* What lies between two points on both sides of an edge. */
struct point {
    double value;
    const struct histogram *histogram;
};
static struct point point_at(const struct points *p, uint32_t i)
{
    return (struct point){p->values[i], p->histograms ? p->histograms[i] : NULL};
}

static struct point point_between(const struct points *p, uint32_t i, int64_t at_ms, struct arena *a)
{
    struct point before = point_at(p, i), after = point_at(p, i + 1);
    unsigned notes = 0;
    if (!before.histogram && !after.histogram)
        return (struct point){range_interpolate(p->times_ms + i, p->values + i, at_ms, false), NULL};
    if (!before.histogram || !after.histogram) /* nothing lies between a number and a histogram */
        return before;
    const struct histogram *h =
        range_interpolate_histograms(p->times_ms + i, p->histograms + i, at_ms, false, a, &notes);
    return h ? (struct point){float_histogram(), h} : before;
}

static void point_set(struct points *p, uint32_t i, int64_t time_ms, struct point at)
{
    p->times_ms[i] = time_ms;
    memcpy(&p->values[i], &at.value, sizeof at.value);
    if (p->histograms)
        p->histograms[i] = at.histogram;
}

/* Anchored and smoothed windows have a point at each edge, taken from the samples outside. */
static void extend(const struct expr *range, int64_t start_ms, int64_t end_ms, struct points *p, struct arena *a)
{
    uint32_t first = 0, last = p->n - 1;
    while (first < last && p->times_ms[first + 1] <= start_ms)
        first++;
    while (range->smoothed && last > 0 && p->times_ms[last - 1] >= end_ms)
        last--;
    if (p->times_ms[last] <= start_ms) {
        p->n = 0;
        return;
    }
    struct point left = point_at(p, first), right = point_at(p, last);
    if (range->smoothed && p->times_ms[first] < start_ms)
        left = point_between(p, first, start_ms, a);
    if (range->smoothed && last > 0 && p->times_ms[last] > end_ms)
        right = point_between(p, last - 1, end_ms, a);
    uint32_t lo = first + (p->times_ms[first] <= start_ms), hi = last + (p->times_ms[last] < end_ms);
    uint32_t inside = hi > lo ? hi - lo : 0;
    memmove(p->times_ms + 1, p->times_ms + lo, inside * sizeof *p->times_ms);
    memmove(p->values + 1, p->values + lo, inside * sizeof *p->values);
    if (p->histograms)
        memmove(p->histograms + 1, p->histograms + lo, inside * sizeof(const struct histogram *));
    point_set(p, 0, start_ms, left);
    point_set(p, inside + 1, end_ms, right);
    p->n = inside + 2;
}

static int copy_histograms(const struct range_samples *samples, struct points *p, struct arena *a)
{
    p->histograms = arena_zalloc(a, ((size_t)samples->n + 2) * sizeof(const struct histogram *));
    for (uint32_t i = 0; p->histograms && i < samples->n; i++) {
        if (samples->histograms[i])
            p->histograms[i] = histogram_copy(samples->histograms[i], a);
    }
    return arena_failed(a) ? ERR_LIMIT : 0;
}

static int point_series(void *ctx, const struct range_samples *samples, struct err *e)
{
    struct point_run *r = ctx;
    struct arena *a = r->ev->arena;
    uint32_t n = samples->n;
    if (!r->v)
        r->v = ARENA_ARRAY(a, struct points, r->max);
    struct vec_series named = {.labels = *samples->labels, .drop_name = samples->drop_name};
    series_settle_name(r->ev, &named);
    struct points p = {.labels = named.labels,
                       .times_ms = ARENA_ARRAY(a, int64_t, (size_t)n + 2),
                       .values = ARENA_ARRAY(a, double, (size_t)n + 2),
                       .n = n};
    if (arena_failed(a) || (samples->histograms && copy_histograms(samples, &p, a) != 0))
        return arena_check(a, "query", e);
    memcpy(p.times_ms, samples->times_ms, n * sizeof *p.times_ms);
    memcpy(p.values, samples->values, n * sizeof *p.values);
    int64_t end_ms = window_end_ms(r->range, r->t->start_ms);
    if (r->range->anchored || r->range->smoothed)
        extend(r->range, end_ms - r->range->range_ms, end_ms, &p, a);
    if (p.n > 0)
        r->v[r->n++] = p;
    return arena_check(a, "query", e);
}

static int points_by_labels(const void *pa, const void *pb)
{
    const struct points *a = pa, *b = pb;
    return labels_cmp(&a->labels, &b->labels);
}

int result_points(struct eval *ev, const struct expr *range, const struct times *t, struct result *ret, struct err *e)
{
    struct point_run r = {ev, range, t, NULL, 0, 0};
    int code = range_scan(ev, range, t, &r.max, point_series, &r, e);
    if (code != 0)
        return code;
    if (r.n > 1)
        qsort(r.v, r.n, sizeof *r.v, points_by_labels);
    ret->series = arena_zalloc(ev->arena, r.n * sizeof *ret->series);
    ret->point_times_ms = ARENA_ARRAY(ev->arena, int64_t *, r.n);
    ret->point_values = ARENA_ARRAY(ev->arena, double *, r.n);
    ret->point_histograms = ARENA_ARRAY(ev->arena, const struct histogram **, r.n);
    ret->points_n = ARENA_ARRAY(ev->arena, uint32_t, r.n);
    code = arena_check(ev->arena, "query", e);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < r.n; i++) {
        if (i > 0 && labels_eq(&r.v[i - 1].labels, &r.v[i].labels))
            return err_set(e, ERR_EXECUTION, "vector cannot contain metrics with the same labelset");
        ret->series[i].labels = r.v[i].labels;
        ret->point_times_ms[i] = r.v[i].times_ms;
        ret->point_values[i] = r.v[i].values;
        ret->point_histograms[i] = r.v[i].histograms;
        ret->points_n[i] = r.v[i].n;
    }
    ret->type = VALUE_MATRIX;
    ret->times = *t;
    ret->series_n = r.n;
    return 0;
}
