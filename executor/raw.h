/*
 * What the files of the raw half share: which times a selector looks at, and the shape of a range function.
 *
 * A range function sees one series at a time, with all its samples of the whole span, and one window after the other:
 *
 *     samples   t0  t1  t2  t3  t4  t5  t6
 *     step i          (start          end]      window: samples [lo, hi)
 *     step i+1             (start          end]
 *
 * Both ends only move forward, so a function may slide: prepare what a series has once (`prepare`), then answer each
 * window from it. It slides only where the answer has the same bits as one computed over the window from scratch.
 */
#ifndef EXECUTOR_RAW_H
#define EXECUTOR_RAW_H

#include "executor/eval.h"
#include "executor/scan.h"
#include "promql/function.h"

/* ---- selectors and their times (selector_time.c) ---- */
/* The time a selector or subquery is read at, for evaluation time `at_ms`: @ replaces it, offset is taken off. */
int64_t window_end_ms(const struct expr *selector, int64_t at_ms);
/* The samples (start, end] that evaluating `selector` at `t` looks at. */
void selector_span(const struct eval *ev, const struct expr *selector, const struct times *t, int64_t *ret_start_ms,
                   int64_t *ret_end_ms);
/* Is the newest sample of that span all that it looks at? */
bool selector_newest_only(const struct expr *selector, const struct times *t);
/* The times a subquery evaluates its expression at, for evaluation at `t`; n may be 0. ERR_LIMIT when too many. */
int subquery_times(const struct eval *ev, const struct expr *subquery, const struct times *t, struct times *ret,
                   struct err *e);
/* A warning when the scan had to leave out damaged blocks. */
void note_damage(struct eval *ev, const struct scan *scan);

int selector_eval(struct eval *ev, const struct expr *selector, const struct times *t, bool want_time,
                  struct value *ret, struct err *e);

/* ---- range functions ---- */
struct range_window {
    uint32_t lo, hi; /* samples [lo, hi) of the series; never empty */
    uint32_t step;   /* index of the evaluation time: parameters are per step */
    int64_t start_ms, end_ms;
    int64_t at_ms; /* the evaluation time itself */
};

enum { RANGE_PARAMS_MAX = 2 };

/* The series at hand, the call's parameters, and room that lives over series and windows. */
struct range_series {
    const int64_t *times_ms;
    const double *values;
    uint32_t n;
    const double *params[RANGE_PARAMS_MAX]; /* scalar arguments, one value per step */
    int64_t range_ms;                       /* rates are per second of it */
    bool anchored, smoothed;
    bool one_window; /* no window follows: nothing need be kept for it */
    int code;        /* a window refused its parameters: *e is filled */
    struct err *e;

    /* range_index.c: positions or counts, [n] */
    uint32_t *index;
    uint32_t index_first, index_n, index_next;
    size_t index_cap;
    /* range_sum.c: exact prefix sums, [n], if there are any */
    double *sums;
    size_t sums_cap;
    bool sums_exact;
    /* range_order.c: the window's samples as sorted keys (kernels/order.h) */
    uint64_t *keys, *keys_spare;
    uint32_t keys_lo, keys_hi, keys_n;
    size_t keys_cap, keys_spare_cap;
};
void range_series_done(struct range_series *s);

/* VALUE_ABSENT: no value at this time. */
typedef double range_fn(struct range_series *s, const struct range_window *w);
typedef void range_prepare_fn(struct range_series *s);

struct range_function {
    enum function_id id;
    range_fn *window;
    range_prepare_fn *prepare; /* may be NULL */
    bool keeps_name;
    bool uses_time; /* the evaluation time itself counts: a fixed window does not give a fixed value */
};
/* NULL: not a function of one series over a range with scalar parameters. */
const struct range_function *range_function_get(enum function_id id);
/* All windows of one series into v[t->n], absent before. Returns whether any has a value; s->code tells failure. */
bool range_windows(struct range_series *s, const struct range_function *f, const struct eval *ev,
                   const struct expr *range, const struct times *t, double *v);

/* Give the series the times, values and selector flags of one series of `range`. */
void range_series_set(struct range_series *s, const struct expr *range, const int64_t *times_ms, const double *values,
                      uint32_t n);

/* A call whose argument is a range vector: every function of the raw half. */
int range_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret, struct err *e);
/* Those that are more than one function of one series. */
int absent_over_time_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret,
                          struct err *e);
int quantiles_over_time_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret,
                             struct err *e);
int label_over_time_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret,
                         struct err *e);

/* The range argument of a call, unwrapped, or NULL. */
const struct expr *range_argument(const struct expr *call);
/* Series of a range argument (matrix selector or subquery), one after the other; stale markers dropped. */
typedef int range_each_fn(void *ctx, const struct labels *labels, bool drop_name, const int64_t *times_ms,
                          const double *values, uint32_t n, struct err *e);
/* *ret_series_n (may be NULL) is set before the first call: at most so many will come. */
int range_scan(struct eval *ev, const struct expr *range, const struct times *t, uint32_t *ret_series_n,
               range_each_fn *each, void *ctx, struct err *e);

/* range_rate.c */
range_fn range_rate, range_increase, range_delta, range_irate, range_idelta;
range_prepare_fn range_prepare_falls;
/* Value at `at_ms` on the line through points 0 and 1. A counter that fell started again at 0. */
double range_interpolate(const int64_t *times_ms, const double *values, int64_t at_ms, bool counter);
/* range_sum.c */
range_fn range_sum, range_avg, range_stddev, range_stdvar, range_count, range_present;
range_prepare_fn range_prepare_sums;
/* range_index.c */
range_fn range_min, range_max, range_ts_of_min, range_ts_of_max, range_changes, range_resets;
range_fn range_first, range_last, range_ts_of_first, range_ts_of_last;
range_prepare_fn range_prepare_queue, range_prepare_changes, range_prepare_resets;
/* range_order.c */
range_fn range_quantile, range_mad, range_distinct, range_entropy, range_l2;
range_prepare_fn range_prepare_order;
/* Prometheus' quantile of the window's samples, for any q. */
double range_quantile_at(struct range_series *s, const struct range_window *w, double q);
/* range_trend.c */
range_fn range_deriv, range_predict, range_smooth;

/* Kahan-Babuska summation by Neumaier: the sum is *sum + *c. An infinite sum has no compensation. */
static inline void kahan_add(double x, double *sum, double *c)
{
    double t = *sum + x;
    if (__builtin_isinf(t))
        *c = 0;
    else if (__builtin_fabs(*sum) >= __builtin_fabs(x))
        *c += (*sum - t) + x;
    else
        *c += (x - t) + *sum;
    *sum = t;
}

#endif
