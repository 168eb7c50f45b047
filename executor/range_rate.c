/*
 * The rate family. Increase over the samples of a window, corrected where a counter fell, then extrapolated to the
 * window's edges as Prometheus 3 does: to an edge that is nearer than 1.1 mean intervals, else by half an interval; a
 * counter is never extrapolated below zero. `anchored` and `smoothed` selectors know the value at the edges instead,
 * from samples outside, and need no extrapolation.
 */
#include "base/alloc.h"
#include "executor/raw.h"

static double absent(void)
{
    return float_stale();
}

double range_interpolate(const int64_t *times_ms, const double *values, int64_t at_ms, bool counter)
{
    double from = counter && values[1] < values[0] ? 0 : values[0];
    return from + (values[1] - from) * (double)(at_ms - times_ms[0]) / (double)(times_ms[1] - times_ms[0]);
}

/* Positions where a counter fell: a window then adds up only what it lost, in the order of a scan from scratch. */
void range_prepare_falls(struct range_series *s)
{
    s->index = mem_grow(s->index, &s->index_cap, s->n, sizeof *s->index);
    s->index_first = s->index_n = 0;
    uint32_t *index = s->index, falls_n = 0;
    for (uint32_t i = 1; i < s->n; i++) { /* without a branch: what is no counter falls at every other sample */
        index[falls_n] = i;
        falls_n += s->values[i] < s->values[i - 1];
    }
    s->index_n = falls_n;
}

/* `increase` plus what was lost at each fall between samples of [lo, hi). */
static double add_falls(struct range_series *s, uint32_t lo, uint32_t hi, double increase)
{
    while (s->index_first < s->index_n && s->index[s->index_first] <= lo)
        s->index_first++;
    for (uint32_t i = s->index_first; i < s->index_n && s->index[i] < hi; i++)
        increase += s->values[s->index[i] - 1];
    return increase;
}

static inline double stretch(const struct range_series *s, const struct range_window *w, bool counter, bool per_second,
                             double first, double increase)
{
    uint32_t last = w->hi - 1;
    double to_start = (double)(s->times_ms[w->lo] - w->start_ms) / 1000;
    double to_end = (double)(w->end_ms - s->times_ms[last]) / 1000;
    double sampled = (double)(s->times_ms[last] - s->times_ms[w->lo]) / 1000;
    double mean = sampled / (double)(last - w->lo), near = mean * 1.1;
    if (to_start >= near)
        to_start = mean / 2;
    if (counter && increase > 0 && first >= 0) {
        double to_zero = sampled * (first / increase);
        if (to_zero < to_start)
            to_start = to_zero;
    }
    if (to_end >= near)
        to_end = mean / 2;
    double factor = (sampled + to_start + to_end) / sampled;
    if (per_second)
        factor /= range_seconds(s);
    return factor;
}

double range_stretch(const struct range_series *s, const struct range_window *w, bool counter, bool per_second,
                     double first, double increase)
{
    return stretch(s, w, counter, per_second, first, increase);
}

static double extrapolated(struct range_series *s, const struct range_window *w, bool counter, bool per_second)
{
    uint32_t last = w->hi - 1;
    if (last == w->lo)
        return absent();
    double increase = s->values[last] - s->values[w->lo];
    if (counter)
        increase = add_falls(s, w->lo, w->hi, increase);
    return increase * stretch(s, w, counter, per_second, s->values[w->lo], increase);
}

/* Falls along left, the samples [lo, hi) and right. */
static double falls_between(const struct range_series *s, double left, uint32_t lo, uint32_t hi, double right)
{
    double lost = 0, before = left;
    for (uint32_t i = lo; i < hi; i++) {
        if (s->values[i] < before)
            lost += before;
        before = s->values[i];
    }
    if (right < before)
        lost += before;
    return lost;
}

/* The window's samples reach outside (start, end]. */
bool range_edges(const struct range_series *s, const struct range_window *w, uint32_t *ret_first, uint32_t *ret_last)
{
    uint32_t first = w->lo, last = w->hi - 1;
    while (first < last && s->times_ms[first + 1] <= w->start_ms)
        first++;
    while (s->smoothed && last > w->lo && s->times_ms[last - 1] >= w->end_ms)
        last--;
    *ret_first = first;
    *ret_last = last;
    return s->times_ms[last] > w->start_ms;
}

static double between_edges(struct range_series *s, const struct range_window *w, bool counter, bool per_second)
{
    uint32_t first, last;
    if (!range_edges(s, w, &first, &last))
        return absent();
    double left = s->values[first], right = s->values[last];
    if (s->smoothed && s->times_ms[first] < w->start_ms)
        left = range_interpolate(s->times_ms + first, s->values + first, w->start_ms, counter);
    if (s->smoothed && last > w->lo && s->times_ms[last] > w->end_ms)
        right = range_interpolate(s->times_ms + last - 1, s->values + last - 1, w->end_ms, counter);
    double increase = right - left;
    if (counter) {
        uint32_t lo = first + (s->times_ms[first] <= w->start_ms), hi = last + (s->times_ms[last] < w->end_ms);
        increase += falls_between(s, left, lo, hi, right);
    }
    return per_second ? increase / range_seconds(s) : increase;
}

static double rate_of(struct range_series *s, const struct range_window *w, bool counter, bool per_second)
{
    return s->anchored || s->smoothed ? between_edges(s, w, counter, per_second)
                                      : extrapolated(s, w, counter, per_second);
}

double range_rate(struct range_series *s, const struct range_window *w)
{
    return rate_of(s, w, true, true);
}

double range_increase(struct range_series *s, const struct range_window *w)
{
    return rate_of(s, w, true, false);
}

double range_delta(struct range_series *s, const struct range_window *w)
{
    return rate_of(s, w, false, false);
}

double range_irate(struct range_series *s, const struct range_window *w)
{
    uint32_t last = w->hi - 1;
    if (last == w->lo)
        return absent();
    double before = s->values[last - 1], now = s->values[last];
    return (now < before ? now : now - before) / ((double)(s->times_ms[last] - s->times_ms[last - 1]) / 1000);
}

double range_idelta(struct range_series *s, const struct range_window *w)
{
    return w->hi - w->lo < 2 ? absent() : s->values[w->hi - 1] - s->values[w->hi - 2];
}
