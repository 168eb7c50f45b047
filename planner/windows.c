#include "planner/windows.h"

#include <stdlib.h>

#include "base/duration.h"

/* Every window is a refresh and a commit of its own, whatever it holds: ten a second, for one grid, is the most. */
enum { PANE_MIN_MS = 100 };

struct pane_chain window_chain(const struct demand *d)
{
    return grid_chain(d->grid, d->site->range_ms, d->site->offset_ms);
}

bool window_aligned(const struct demand *d, struct grid panes)
{
    struct pane_chain own = window_chain(d);
    return own.count > 0 && own.ends.step_ms % panes.step_ms == 0 &&
           floor_mod(own.ends.phase_ms, panes.step_ms) == panes.phase_ms;
}

const char *window_limits(const struct demand *d, struct grid panes, struct arena *a)
{
    char width[DURATION_TEXT_MAX], range[DURATION_TEXT_MAX];
    duration_format(panes.step_ms, width);
    duration_format(d->site->range_ms, range);
    if (panes.step_ms > PLAN_PANE_MAX_MS)
        return arena_printf(a, "pane_too_wide: panes of %s, at most 24d are kept", width);
    if (panes.step_ms < PANE_MIN_MS)
        return arena_printf(a, "pane_too_narrow: panes of %s, the narrowest kept are %dms", width, PANE_MIN_MS);
    if (d->site->range_ms / panes.step_ms > PLAN_PANES_MAX)
        return arena_printf(a, "max_panes: a window of %s is more than %d panes of %s", range, PLAN_PANES_MAX, width);
    return NULL;
}

const char *window_misfit(const struct demand *d, struct grid panes, struct arena *a)
{
    char width[DURATION_TEXT_MAX], range[DURATION_TEXT_MAX], step[DURATION_TEXT_MAX];
    if (d->grid.step_ms == 0)
        return "no_cadence: without a fixed interval no pane ends where the windows do";
    duration_format(panes.step_ms, width);
    duration_format(d->site->range_ms, range);
    duration_format(d->grid.step_ms, step);
    if (panes.step_ms == d->site->range_ms)
        return arena_printf(a, "not_on_grid: windows of %s every %s overlap; one pane cannot be each of them", range,
                            step);
    return arena_printf(a, "misaligned: panes of %s do not tile windows of %s every %s", width, range, step);
}

static int widest_first(const void *pa, const void *pb)
{
    const struct grid *a = pa, *b = pb;
    if (a->step_ms != b->step_ms)
        return a->step_ms > b->step_ms ? -1 : 1;
    return (a->phase_ms > b->phase_ms) - (a->phase_ms < b->phase_ms);
}

struct grid *window_offers(const struct grid *own, size_t own_n, struct arena *a, uint32_t *ret_n, bool *ret_cut)
{
    struct grid *sorted = ARENA_ARRAY(a, struct grid, own_n);
    *ret_n = 0;
    *ret_cut = false;
    if (!sorted || own_n == 0)
        return sorted;
    memcpy(sorted, own, own_n * sizeof *own);
    qsort(sorted, own_n, sizeof *sorted, widest_first);
    size_t distinct_n = 1;
    for (size_t i = 1; i < own_n; i++) {
        if (widest_first(&sorted[i], &sorted[distinct_n - 1]) != 0)
            sorted[distinct_n++] = sorted[i];
    }
    *ret_n = (uint32_t)distinct_n;
    if (distinct_n > MAX_WIDTHS) {
        *ret_cut = true;
        return sorted;
    }
    struct grid *closed = ARENA_ARRAY(a, struct grid, MAX_WIDTHS);
    if (!closed)
        return sorted;
    memcpy(closed, sorted, distinct_n * sizeof *sorted);
    size_t closed_n = grid_close(closed, distinct_n, MAX_WIDTHS);
    if (closed_n == 0) {
        *ret_cut = true;
        return sorted;
    }
    *ret_n = (uint32_t)closed_n;
    return closed;
}
