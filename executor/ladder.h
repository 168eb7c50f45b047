/*
 * The states of one series that cover a span of time: panes of a view, and of the levels that roll it up.
 *
 *     level 0    |           |===========|===========|           |     coarse: as many as fit inside
 *     level 1    |      |====|           |           |====|==    |     finer ones at both ends
 *     the view   |    |=|    |           |           |    |  |=| |
 *
 * A coarse pane is taken where one begins, ends within the span, is there, and is clean for the series; else the next
 * finer one. Levels whose ends are ends of all finer ones give the fewest states so; any others are right all the same.
 */
#ifndef EXECUTOR_LADDER_H
#define EXECUTOR_LADDER_H

#include "executor/pane_shard.h"

struct ladder_cell {
    struct state_ref ref; /* size 0: no samples */
    uint64_t samples_n;   /* as its family counts */
    uint32_t series;      /* whose it is: the ladder's `series_at`; 0 = nobody's */
    bool usable;
};
/* Windows of one view; those of the view itself come last. */
struct ladder_level {
    struct pane_shard shard;
    struct ladder_cell *cells; /* [windows_n] */
    uint32_t *starting;        /* [base windows]: 1 + the window that begins where the base window does; 0 = none */
    uint32_t base_n;           /* base windows in one of its own */
};
struct ladder {
    struct ladder_level *levels; /* [levels_n] coarsest first */
    uint32_t levels_n;
    bool finite_only; /* states of non-finite samples and collapsed sketches are refused */
    int64_t base_ms, start_ms;
    uint32_t windows_n; /* of the view itself */
    const struct source_series *series;
    uint32_t series_at;
};

/* Is `view` made of panes of `below`, over however many levels? */
bool ladder_rolls_up(const struct plan *plan, uint32_t view, uint32_t below);
/* All views that roll up `view`, coarsest first, where its panes are stored: in `a`, *ret_n of them. */
const struct plan_view *const *ladder_views(const struct plan *plan, uint32_t view, struct arena *a, uint32_t *ret_n);

/* `rollups` and the result's levels in one order, coarsest first. Memory in `a`. */
int ladder_init(struct ladder *l, const struct plan_view *view, const struct plan_view *const *rollups,
                uint32_t rollups_n, const struct source_result *result, struct store_txn *txn, struct arena *a,
                struct err *e);
void ladder_series(struct ladder *l, const struct source_series *s);

/* States in order of time, appended: room for one a window of the view. */
struct ladder_states {
    struct state_ref *refs;
    uint32_t n;
    uint64_t samples_n;
};
/*
 * Cover (from, to] for the series at hand; both are ends of the view's windows, as far as it has any, and all of those
 * between have states. ERR_NOT_COVERED: damage, or a state that is refused.
 */
int ladder_cover(struct ladder *l, int64_t from_ms, int64_t to_ms, struct ladder_states *ret, struct err *e);

#endif
