/*
 * The counter's readouts: Prometheus 3, promql/functions.go, extrapolatedRate and instantValue over floats, kept in
 * its order of operations. Only the reset correction is summed apart, as panes bring it.
 */
#include "kernels/bits.h"
#include "kernels/counter.h"

/* How far from an edge of the window, in average sample distances, a series is taken to reach it. */
#define REACHES_EDGE 1.1

struct extrapolation {
    bool counter;  /* correct resets, and do not extrapolate below zero */
    bool a_second; /* divide by the window */
};

static double seconds_between(int64_t from_ms, int64_t to_ms)
{
    return (double)(to_ms - from_ms) / 1000;
}

static int counter_extrapolate(const struct counter *c, const struct sketch_args *args, struct extrapolation how,
                               double *ret)
{
    /* The samples are inside (start, end], so no difference below can overflow. */
    if (args->start_ms >= c->first_ms || args->end_ms < c->last_ms ||
        (uint64_t)args->end_ms - (uint64_t)args->start_ms > INT64_MAX)
        return SKETCH_BAD_DATA;
    if (c->n < 2)
        return SKETCH_NONE;
    double result = c->last - c->first;
    if (how.counter && c->resets)
        result += c->reset_sum;
    double to_start = seconds_between(args->start_ms, c->first_ms), to_end = seconds_between(c->last_ms, args->end_ms);
    const double sampled = seconds_between(c->first_ms, c->last_ms);
    const double average = sampled / (double)(c->n - 1);
    const double threshold = average * REACHES_EDGE;
    if (to_start >= threshold)
        to_start = average / 2;
    if (how.counter && result > 0 && c->first >= 0) {
        double to_zero = sampled * (c->first / result);
        if (to_zero < to_start)
            to_start = to_zero;
    }
    if (to_end >= threshold)
        to_end = average / 2;
    double factor = (sampled + to_start + to_end) / sampled;
    if (how.a_second)
        factor /= seconds_between(args->start_ms, args->end_ms);
    *ret = bits_one_nan(result * factor);
    return SKETCH_OK;
}

/* The step from the sample before the last; a rate takes a fall for a reset to zero. Times rise, so it has a length. */
static int counter_last_step(const struct counter *c, bool rate, double *ret)
{
    if (c->n < 2)
        return SKETCH_NONE;
    double step = rate && c->last < c->prev ? c->last : c->last - c->prev;
    if (rate)
        step /= seconds_between(c->prev_ms, c->last_ms);
    *ret = bits_one_nan(step);
    return SKETCH_OK;
}

int counter_read(const struct counter *c, enum statistic statistic, const struct sketch_args *args, double *ret)
{
    switch (statistic) {
    case STATISTIC_RATE:
        return counter_extrapolate(c, args, (struct extrapolation){.counter = true, .a_second = true}, ret);
    case STATISTIC_INCREASE:
        return counter_extrapolate(c, args, (struct extrapolation){.counter = true}, ret);
    case STATISTIC_DELTA:
        return counter_extrapolate(c, args, (struct extrapolation){.counter = false}, ret);
    case STATISTIC_IRATE:
        return counter_last_step(c, true, ret);
    case STATISTIC_IDELTA:
        return counter_last_step(c, false, ret);
    case STATISTIC_CHANGES:
        *ret = (double)c->changes;
        return SKETCH_OK;
    case STATISTIC_RESETS:
        *ret = (double)c->resets;
        return SKETCH_OK;
    case STATISTIC_FIRST:
        *ret = c->first;
        return SKETCH_OK;
    case STATISTIC_LAST:
        *ret = c->last;
        return SKETCH_OK;
    case STATISTIC_COUNT:
        *ret = (double)c->n;
        return SKETCH_OK;
    default:
        return SKETCH_BAD_DATA;
    }
}
