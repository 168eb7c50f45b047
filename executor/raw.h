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
 *
 * Native histograms stand among the samples of a series. Functions of numbers never see them: such series are read
 * without their histograms, and an info says so where a window has both. The others have a second form for series with
 * histograms, which gives a number, or float_histogram() with the histogram in `made`.
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

/* ---- selector_resets.c ---- */
/* Room for the histograms of one series after the other, with what is found about resets. */
struct found_resets {
    struct histogram *room;
    const struct histogram **histograms;
    size_t room_cap, histograms_cap;
};
void found_resets_done(struct found_resets *f);
/* The histograms of a series (NULL entries: numbers) where those that say nothing of a reset say what comparing them
 * with the one before shows. Valid until the next call, and as long as the series' own. */
const struct histogram *const *find_resets(struct found_resets *f, const struct histogram *const *histograms,
                                           uint32_t n);

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
    const struct histogram *const *histograms; /* NULL: the series has none; see executor/scan.h */
    uint32_t n;
    const double *params[RANGE_PARAMS_MAX]; /* scalar arguments, one value per step */
    int64_t range_ms;                       /* rates are per second of it */
    bool anchored, smoothed;
    bool one_window; /* no window follows: nothing need be kept for it */
    int code;        /* a window refused its parameters: *e is filled */
    struct err *e;

    /* range_histogram.c: of a series with histograms */
    struct eval *ev;
    struct str name;                   /* the metric's, for notes; and the place they point to */
    uint32_t place;                    /* of the call's first argument */
    unsigned said;                     /* notes of this series that are made already */
    const struct histogram *made;      /* the last window's */
    const struct histogram *kept_from; /* the sample that was copied last, and its copy */
    const struct histogram *kept;
    struct histogram_total *total; /* sum and mean */
    int64_t *number_times_ms;      /* the series without its histograms, for functions of numbers */
    double *numbers;
    size_t number_times_cap, numbers_cap;

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
/* Ready for the call's series, one after the other. */
void range_series_init(struct range_series *s, struct eval *ev, const struct expr *call, struct err *e);
void range_series_done(struct range_series *s);

/* VALUE_ABSENT: no value at this time. */
typedef double range_fn(struct range_series *s, const struct range_window *w);
typedef void range_prepare_fn(struct range_series *s);

struct range_function {
    enum function_id id;
    range_fn *window;
    range_prepare_fn *prepare; /* may be NULL */
    range_fn *mixed;           /* of a series with histograms; NULL: a function of numbers */
    bool keeps_name;
    bool uses_time; /* the evaluation time itself counts: a fixed window does not give a fixed value */
};
/* NULL: not a function of one series over a range with scalar parameters. */
const struct range_function *range_function_get(enum function_id id);
/* All windows of one series into out->v[t->n], absent before, and out->h. Returns whether any has a value; s->code
 * tells failure. */
bool range_windows(struct range_series *s, const struct range_function *f, const struct expr *range,
                   const struct times *t, struct vec_series *out);

/* One series of a range argument. The arrays are valid during the call it is handed to. */
struct range_samples {
    const struct labels *labels;
    bool drop_name;
    const int64_t *times_ms;
    const double *values;
    const struct histogram *const *histograms; /* NULL: none; valid during the call alone, too */
    uint32_t n;
};
/* Give the series the samples and selector flags of one series of `range`. */
void range_series_set(struct range_series *s, const struct expr *range, const struct range_samples *samples);

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
typedef int range_each_fn(void *ctx, const struct range_samples *samples, struct err *e);
/* *ret_series_n (may be NULL) is set before the first call: at most so many will come. */
int range_scan(struct eval *ev, const struct expr *range, const struct times *t, uint32_t *ret_series_n,
               range_each_fn *each, void *ctx, struct err *e);

/* range_rate.c */
range_fn range_rate, range_increase, range_delta, range_irate, range_idelta;
range_prepare_fn range_prepare_falls;
/* Value at `at_ms` on the line through points 0 and 1. A counter that fell started again at 0. */
double range_interpolate(const int64_t *times_ms, const double *values, int64_t at_ms, bool counter);
/* By how much an increase over the window's samples is stretched to its edges; `first` is the counter at the first. */
double range_stretch(const struct range_series *s, const struct range_window *w, bool counter, bool per_second,
                     double first, double increase);
/* The range in seconds, rounded as Go's Duration.Seconds: whole seconds and the rest apart. */
static inline double range_seconds(const struct range_series *s)
{
    return (double)(s->range_ms / 1000) + (double)(s->range_ms % 1000 * 1000000) / 1e9;
}
/* The samples that extended windows are between: the newest at or before the start, and (smoothed) the next at or after
 * the end. false: nothing was seen inside. */
bool range_edges(const struct range_series *s, const struct range_window *w, uint32_t *ret_first, uint32_t *ret_last);
/* range_histogram.c */
range_fn range_mixed_rate, range_mixed_increase, range_mixed_delta, range_mixed_irate, range_mixed_idelta;
range_fn range_mixed_sum, range_mixed_avg;
/* The value of sample i, a histogram; a copy is in `made`. */
double range_keep(struct range_series *s, uint32_t i);
/* The value of sample i. */
static inline double range_pick(struct range_series *s, uint32_t i)
{
    return s->histograms && s->histograms[i] ? range_keep(s, i) : s->values[i];
}
/* Values of smoothed selectors at `at_ms`, between samples 0 and 1 which are both histograms. NULL: none. */
const struct histogram *range_interpolate_histograms(const int64_t *times_ms, const struct histogram *const *histograms,
                                                     int64_t at_ms, bool counter, struct arena *to, unsigned *notes);
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
