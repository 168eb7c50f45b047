/*
 * Trends: least squares (deriv, predict_linear) and Holt's double exponential smoothing. Both read the whole window at
 * every step: neither has an exact sliding form.
 */
#include <math.h>

#include "executor/raw.h"

struct line {
    double slope, intercept;
};

/* Least squares over the window with x in seconds from `zero_ms`; the intercept is the value there. */
static struct line fit(const struct range_series *s, const struct range_window *w, int64_t zero_ms)
{
    double n = w->hi - w->lo, first = s->values[w->lo];
    double x_sum = 0, x_c = 0, y_sum = 0, y_c = 0, xy_sum = 0, xy_c = 0, xx_sum = 0, xx_c = 0;
    bool constant = true;
    for (uint32_t i = w->lo; i < w->hi; i++) {
        double x = (double)(s->times_ms[i] - zero_ms) / 1e3, y = s->values[i];
        constant &= i == w->lo || y == first;
        kahan_add(x, &x_sum, &x_c);
        kahan_add(y, &y_sum, &y_c);
        kahan_add(x * y, &xy_sum, &xy_c);
        kahan_add(x * x, &xx_sum, &xx_c);
    }
    if (constant) /* no rounding noise as a slope */
        return isinf(first) ? (struct line){NAN, NAN} : (struct line){0, first};
    x_sum += x_c;
    y_sum += y_c;
    xy_sum += xy_c;
    xx_sum += xx_c;
    double covariance = xy_sum - x_sum * y_sum / n, variance = xx_sum - x_sum * x_sum / n;
    double slope = covariance / variance;
    return (struct line){slope, y_sum / n - slope * x_sum / n};
}

double range_deriv(struct range_series *s, const struct range_window *w)
{
    /* Zero near the samples: small x, small rounding errors. */
    return w->hi - w->lo < 2 ? float_stale() : fit(s, w, s->times_ms[w->lo]).slope;
}

double range_predict(struct range_series *s, const struct range_window *w)
{
    if (w->hi - w->lo < 2)
        return float_stale();
    struct line line = fit(s, w, w->at_ms);
    return line.slope * s->params[0][w->step] + line.intercept;
}

double range_smooth(struct range_series *s, const struct range_window *w)
{
    double level_factor = s->params[0][w->step], trend_factor = s->params[1][w->step];
    if (level_factor <= 0 || level_factor >= 1) {
        s->code = err_set(s->e, ERR_EXECUTION, "invalid smoothing factor. Expected: 0 < sf < 1, got: %f", level_factor);
        return float_stale();
    }
    if (trend_factor <= 0 || trend_factor >= 1) {
        s->code = err_set(s->e, ERR_EXECUTION, "invalid trend factor. Expected: 0 < tf < 1, got: %f", trend_factor);
        return float_stale();
    }
    if (w->hi - w->lo < 2)
        return float_stale();
    const double *v = s->values + w->lo;
    double before = 0, level = v[0], trend = v[1] - v[0];
    for (uint32_t i = 1; i < w->hi - w->lo; i++) {
        if (i > 1)
            trend = trend_factor * (level - before) + (1 - trend_factor) * trend;
        double next = level_factor * v[i] + (1 - level_factor) * (level + trend);
        before = level;
        level = next;
    }
    return level;
}
