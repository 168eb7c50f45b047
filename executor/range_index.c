/*
 * Functions that pick samples or count pairs of them, and so slide exactly: a queue of candidates for the extremes, a
 * prefix count of changes and resets, and the ends of a window themselves.
 */
#include <math.h>

#include "base/alloc.h"
#include "executor/raw.h"

/*
 * Extremes: the queue index[index_first .. index_n) holds the samples no later one beats, best first. NaN is beaten by
 * every number, so it stands in no queue; a window without a number is NaN.
 */
void range_prepare_queue(struct range_series *s)
{
    s->index = mem_grow(s->index, &s->index_cap, s->n, sizeof *s->index);
    s->index_first = s->index_n = s->index_next = 0;
}

/* Position of the extreme of the window. Of equal ones the first, or the last when `last`. */
static uint32_t extreme(struct range_series *s, const struct range_window *w, bool max, bool last)
{
    for (uint32_t i = s->index_next < w->lo ? w->lo : s->index_next; i < w->hi; i++) {
        double v = s->values[i];
        if (isnan(v))
            continue;
        while (s->index_n > s->index_first) {
            double back = s->values[s->index[s->index_n - 1]];
            bool beaten = max ? back < v : back > v;
            if (!beaten && !(last && back == v))
                break;
            s->index_n--;
        }
        s->index[s->index_n++] = i;
    }
    s->index_next = w->hi;
    while (s->index_first < s->index_n && s->index[s->index_first] < w->lo)
        s->index_first++;
    return s->index_first < s->index_n ? s->index[s->index_first] : w->hi - 1;
}

double range_max(struct range_series *s, const struct range_window *w)
{
    return s->values[extreme(s, w, true, false)];
}

double range_min(struct range_series *s, const struct range_window *w)
{
    return s->values[extreme(s, w, false, false)];
}

double range_ts_of_max(struct range_series *s, const struct range_window *w)
{
    return (double)s->times_ms[extreme(s, w, true, true)] / 1000;
}

double range_ts_of_min(struct range_series *s, const struct range_window *w)
{
    return (double)s->times_ms[extreme(s, w, false, true)] / 1000;
}

/* Over: of a series with histograms. Between a number and a histogram there is a change and a reset. */
static void count_pairs(struct range_series *s, bool resets)
{
    for (uint32_t i = 1; i < s->n; i++) {
        const struct histogram *a = s->histograms[i - 1], *b = s->histograms[i];
        double x = s->values[i - 1], y = s->values[i];
        bool counts;
        if (a && b)
            counts = resets ? histogram_was_reset(b, a) : !histogram_equal(b, a);
        else if (a || b)
            counts = true;
        else
            counts = resets ? y < x : x != y && !(isnan(x) && isnan(y));
        s->index[i] = s->index[i - 1] + counts;
    }
}

/* index[i]: pairs (k - 1, k) with k <= i that count. */
void range_prepare_changes(struct range_series *s)
{
    s->index = mem_grow(s->index, &s->index_cap, s->n, sizeof *s->index);
    s->index[0] = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        double a = s->values[i - 1], b = s->values[i];
        s->index[i] = s->index[i - 1] + (a != b && !(isnan(a) && isnan(b)));
    }
    if (s->histograms)
        count_pairs(s, false);
}

void range_prepare_resets(struct range_series *s)
{
    s->index = mem_grow(s->index, &s->index_cap, s->n, sizeof *s->index);
    s->index[0] = 0;
    for (uint32_t i = 1; i < s->n; i++)
        s->index[i] = s->index[i - 1] + (s->values[i] < s->values[i - 1]);
    if (s->histograms)
        count_pairs(s, true);
}

/* An anchored window begins with the newest sample at or before its start. */
static double pairs(struct range_series *s, const struct range_window *w)
{
    uint32_t lo = w->lo;
    if (s->anchored) {
        if (s->times_ms[w->hi - 1] <= w->start_ms)
            return float_stale();
        while (lo + 1 < w->hi && s->times_ms[lo + 1] <= w->start_ms)
            lo++;
    }
    return s->index[w->hi - 1] - s->index[lo];
}

double range_changes(struct range_series *s, const struct range_window *w)
{
    return pairs(s, w);
}

double range_resets(struct range_series *s, const struct range_window *w)
{
    return pairs(s, w);
}

double range_first(struct range_series *s, const struct range_window *w)
{
    return range_pick(s, w->lo);
}

double range_last(struct range_series *s, const struct range_window *w)
{
    return range_pick(s, w->hi - 1);
}

double range_ts_of_first(struct range_series *s, const struct range_window *w)
{
    return (double)s->times_ms[w->lo] / 1000;
}

double range_ts_of_last(struct range_series *s, const struct range_window *w)
{
    return (double)s->times_ms[w->hi - 1] / 1000;
}
