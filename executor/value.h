/*
 * Values of an evaluation: whole ranges at once. A vector is a list of series, each with one double per evaluation
 * time; a time without a sample holds VALUE_ABSENT (the stale-marker bits, which no computation yields and no sample
 * here can be). Where a native histogram stands it holds float_histogram(), and the histogram is in the parallel array.
 * Everything lives in the query's arena.
 */
#ifndef EXECUTOR_VALUE_H
#define EXECUTOR_VALUE_H

#include "base/float_text.h"
#include "base/histogram.h"
#include "base/labels.h"
#include "promql/ast.h"

/* Evaluation times start + i * step, i < n. step_ms is 0 when n == 1 and the query is an instant one. */
struct times {
    int64_t start_ms, step_ms;
    uint32_t n;
};
static inline int64_t times_at(const struct times *t, uint32_t i)
{
    return t->start_ms + (int64_t)i * t->step_ms;
}

static inline bool value_absent(double v)
{
    return float_is_stale(v);
}

struct vec_series {
    struct labels labels;
    bool drop_name; /* delayed name removal: __name__ is dropped at the end, or when an operator looks at labels */
    double *v;      /* [times.n] */
    /* [times.n], or NULL: no histogram at any time. An entry counts where v has float_histogram() alone. */
    const struct histogram **h;
};
/* The histogram at time i, or NULL. */
static inline const struct histogram *vec_histogram(const struct vec_series *s, uint32_t i)
{
    return s->h && float_is_histogram(s->v[i]) ? s->h[i] : NULL;
}

struct value {
    enum value_type type; /* SCALAR: v; VECTOR: series; STRING: string */
    double *v;
    struct vec_series *series;
    uint32_t series_n;
    bool ordered;         /* the order of series means something (sort, topk at an instant) */
    bool histogram_times; /* of timestamp(selector): some of the times are those of histograms */
    struct str string;
};

#endif
