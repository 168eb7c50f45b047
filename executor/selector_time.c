#include "executor/raw.h"

#include "base/duration.h"

int64_t window_end_ms(const struct expr *selector, int64_t at_ms)
{
    return (selector->time.at == AT_NONE ? at_ms : selector->time.at_ms) - selector->time.offset_ms;
}

void selector_span(const struct eval *ev, const struct expr *selector, const struct times *t, int64_t *ret_start_ms,
                   int64_t *ret_end_ms)
{
    int64_t first_ms = window_end_ms(selector, t->start_ms), last_ms = window_end_ms(selector, times_at(t, t->n - 1));
    bool instant = selector->range_ms == 0;
    bool before = instant || selector->anchored || selector->smoothed;
    *ret_start_ms = first_ms - selector->range_ms - (before ? ev->lookback_ms : 0);
    *ret_end_ms = last_ms + (selector->smoothed ? ev->lookback_ms : 0);
}

bool selector_newest_only(const struct expr *selector, const struct times *t)
{
    bool one_time = t->n == 1 || selector->time.at != AT_NONE;
    return one_time && selector->range_ms == 0 && !selector->smoothed && !selector->anchored;
}

int subquery_times(const struct eval *ev, const struct expr *subquery, const struct times *t, struct times *ret,
                   struct err *e)
{
    int64_t step_ms = subquery->step_ms ? subquery->step_ms : ev->default_step_ms;
    int64_t after_ms = window_end_ms(subquery, t->start_ms) - subquery->range_ms;
    int64_t end_ms = window_end_ms(subquery, times_at(t, t->n - 1));
    /* Times are multiples of the step, so that neighbouring evaluations see the same points. */
    int64_t start_ms = (floor_div(after_ms, step_ms) + 1) * step_ms;
    int64_t n = start_ms > end_ms ? 0 : (end_ms - start_ms) / step_ms + 1;
    if (n > UINT32_MAX || (ev->limits->samples_max && (uint64_t)n > ev->limits->samples_max)) {
        char step[DURATION_TEXT_MAX];
        duration_format(step_ms, step);
        return err_set(e, ERR_LIMIT, "a subquery evaluates its expression at %lld times; use a longer step than %s",
                       (long long)n, step);
    }
    *ret = (struct times){start_ms, step_ms, (uint32_t)n};
    return 0;
}

void note_damage(struct eval *ev, const struct scan *scan)
{
    if (scan->damaged_n > 0)
        notes_warn(ev->notes, "%u damaged blocks of raw samples were left out; the answer may lack samples",
                   scan->damaged_n);
}
