/*
 * Sums and moments over a window. Prometheus adds up a window from its first sample with a compensation, and so do we:
 * a sliding sum would round differently. The exception are series of integers whose sums no double rounds: there every
 * order gives the same bits, and prefix sums answer a window with one subtraction.
 */
#include <math.h>

#include "base/alloc.h"
#include "executor/raw.h"

void range_prepare_sums(struct range_series *s)
{
    const double limit = 0x1p53;
    double total = 0, magnitude = 0;
    s->sums = mem_grow(s->sums, &s->sums_cap, s->n + 1, sizeof *s->sums);
    s->sums[0] = 0;
    s->sums_exact = false;
    for (uint32_t i = 0; i < s->n; i++) {
        double v = s->values[i];
        magnitude += fabs(v);
        if (!(magnitude <= limit) || v != trunc(v))
            return;
        total += v;
        s->sums[i + 1] = total;
    }
    s->sums_exact = true;
}

double range_sum(struct range_series *s, const struct range_window *w)
{
    if (s->sums_exact)
        return s->sums[w->hi] - s->sums[w->lo];
    double sum = 0, c = 0;
    for (uint32_t i = w->lo; i < w->hi; i++)
        kahan_add(s->values[i], &sum, &c);
    return isinf(sum) ? sum : sum + c;
}

/* The mean of all samples is the sum by their number, until the sum would overflow: from there it is carried on sample
 * by sample. */
double range_avg(struct range_series *s, const struct range_window *w)
{
    double n = w->hi - w->lo;
    if (s->sums_exact)
        return (s->sums[w->hi] - s->sums[w->lo]) / n;
    double sum = s->values[w->lo], mean = 0, c = 0, count = 1;
    bool incremental = false;
    for (uint32_t i = w->lo + 1; i < w->hi; i++) {
        count = i - w->lo + 1;
        if (!incremental) {
            double next = sum, next_c = c;
            kahan_add(s->values[i], &next, &next_c);
            if (!isinf(next)) {
                sum = next;
                c = next_c;
                continue;
            }
            incremental = true;
            mean = sum / (count - 1);
            c /= count - 1;
        }
        double kept = (count - 1) / count;
        mean *= kept;
        c *= kept;
        kahan_add(s->values[i] / count, &mean, &c);
    }
    return incremental ? mean + c : sum / count + c / count;
}

/* Welford's recurrence with both its sums compensated. */
double range_stdvar(struct range_series *s, const struct range_window *w)
{
    double count = 0, mean = 0, c_mean = 0, squares = 0, c_squares = 0;
    for (uint32_t i = w->lo; i < w->hi; i++) {
        count++;
        double delta = s->values[i] - (mean + c_mean);
        kahan_add(delta / count, &mean, &c_mean);
        kahan_add(delta * (s->values[i] - (mean + c_mean)), &squares, &c_squares);
    }
    return (squares + c_squares) / count;
}

double range_stddev(struct range_series *s, const struct range_window *w)
{
    return sqrt(range_stdvar(s, w));
}

double range_count(struct range_series *s, const struct range_window *w)
{
    return w->hi - w->lo;
}

double range_present(struct range_series *s, const struct range_window *w)
{
    return 1;
}
