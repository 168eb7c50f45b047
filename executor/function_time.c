/* Time: the evaluation time, the query's own times, and the parts of a date. */
#include <math.h>

#include "executor/apply.h"

enum { DAY_S = 86400, DAYS_400_YEARS = 146097 };

/* time(), and timestamp() of anything but a selector: the evaluation time. */
int time_apply(const struct apply *c, struct value *ret, struct err *e)
{
    if (c->expr->function->id == FUNCTION_timestamp) {
        int code = apply_make_alike(c, &c->args[0], ret, e);
        for (uint32_t s = 0; code == 0 && s < ret->series_n; s++) {
            for (uint32_t i = 0; i < c->t->n; i++) {
                double v = c->args[0].series[s].v[i];
                ret->series[s].v[i] = value_absent(v) ? v : (double)times_at(c->t, i) / 1000;
            }
        }
        return code;
    }
    int code = apply_make_scalar(c, ret, e);
    for (uint32_t i = 0; code == 0 && i < c->t->n; i++)
        ret->v[i] = (double)times_at(c->t, i) / 1000;
    return code;
}

/* start(), end(), step(), range(): of the whole query, also inside a subquery; seconds. */
int query_time_apply(const struct apply *c, struct value *ret, struct err *e)
{
    const struct times *query = &c->ev->query;
    int64_t ms;
    switch (c->expr->function->id) {
    case FUNCTION_start:
        ms = query->start_ms;
        break;
    case FUNCTION_end:
        ms = c->ev->query_end_ms;
        break;
    case FUNCTION_step:
        ms = query->step_ms;
        break;
    default:
        ms = c->ev->query_end_ms - query->start_ms;
    }
    int code = apply_make_scalar(c, ret, e);
    for (uint32_t i = 0; code == 0 && i < c->t->n; i++)
        ret->v[i] = (double)ms / 1000;
    return code;
}

struct date {
    uint64_t seconds_of_day, weekday, year_day; /* year_day from 0 */
    int64_t year;
    uint32_t month, day, month_days; /* month and day from 1 */
};

/*
 * The Gregorian calendar, as Go reckons it: unsigned seconds since 1 January of the year -292277022399, which begins a
 * cycle of 400 years on a Monday. Seconds that no date belongs to wrap around the same way.
 */
static struct date date_of(int64_t unix_s)
{
    static const uint8_t month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint64_t s = (uint64_t)unix_s + UINT64_C(9223372028715321600);
    uint64_t days = s / DAY_S;
    struct date d = {.seconds_of_day = s % DAY_S, .weekday = (days + 1) % 7};
    uint64_t year = 400 * (days / DAYS_400_YEARS), rest = days % DAYS_400_YEARS;
    uint64_t centuries = rest / 36524 < 4 ? rest / 36524 : 3; /* the last one has a day more */
    rest -= centuries * 36524;
    uint64_t fours = rest / 1461;
    rest -= fours * 1461;
    uint64_t years = rest / 365 < 4 ? rest / 365 : 3;
    rest -= years * 365;
    year += 100 * centuries + 4 * fours + years;
    d.year = (int64_t)year - INT64_C(292277022399);
    d.year_day = rest;
    bool leap = d.year % 4 == 0 && (d.year % 100 != 0 || d.year % 400 == 0);
    while (d.month < 12) {
        d.month_days = month_days[d.month] + (d.month == 1 && leap);
        d.month++;
        if (rest < d.month_days)
            break;
        rest -= d.month_days;
    }
    d.day = (uint32_t)rest + 1;
    return d;
}

static double date_part(enum function_id id, int64_t unix_s)
{
    struct date d = date_of(unix_s);
    switch (id) {
    case FUNCTION_minute:
        return (double)(d.seconds_of_day / 60 % 60);
    case FUNCTION_hour:
        return (double)(d.seconds_of_day / 3600);
    case FUNCTION_day_of_week:
        return (double)d.weekday;
    case FUNCTION_day_of_month:
        return d.day;
    case FUNCTION_day_of_year:
        return (double)d.year_day + 1;
    case FUNCTION_days_in_month:
        return d.month_days;
    case FUNCTION_month:
        return d.month;
    default:
        return (double)d.year;
    }
}

/* As the conversion of amd64 goes: toward zero, and the least integer for what does not fit. */
static int64_t whole_seconds(double v)
{
    return v > -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

int date_apply(const struct apply *c, struct value *ret, struct err *e)
{
    enum function_id id = c->expr->function->id;
    if (c->expr->args_n == 0) {
        double *v = value_array(c->ev, c->t->n);
        int code = apply_make_vector(c, 1, ret, e);
        if (code != 0 || !v)
            return apply_full(c, e);
        for (uint32_t i = 0; i < c->t->n; i++)
            v[i] = date_part(id, times_at(c->t, i) / 1000);
        ret->series[0] = (struct vec_series){.v = v};
        ret->series_n = 1;
        return 0;
    }
    int code = apply_make_alike(c, &c->args[0], ret, e);
    for (uint32_t s = 0; code == 0 && s < ret->series_n; s++) {
        const double *v = series_numbers(c->ev, &c->args[0].series[s], c->t->n);
        if (!v)
            return apply_full(c, e);
        for (uint32_t i = 0; i < c->t->n; i++)
            ret->series[s].v[i] = value_absent(v[i]) ? v[i] : date_part(id, whole_seconds(v[i]));
    }
    return code;
}
