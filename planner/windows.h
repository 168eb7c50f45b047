/*
 * Window composition: which pane grids serve which windows. Grids and their algebra are plan/grid; here is what a
 * reader may use and why not.
 */
#ifndef PLANNER_WINDOWS_H
#define PLANNER_WINDOWS_H

#include "planner/planning.h"

/* The widest panes for a demand's window; count 0: it has no grid. */
struct pane_chain window_chain(const struct demand *d);

/* Do panes ending on `panes` tile every window that the demand reads? */
bool window_aligned(const struct demand *d, struct grid panes);

/* NULL, or why such panes cannot be kept: pane_too_wide, pane_too_narrow, max_panes. `a` holds the sentence. */
const char *window_limits(const struct demand *d, struct grid panes, struct arena *a);

/* Why panes of this grid do not serve the demand (it is not aligned): misaligned, no_cadence, not_on_grid. */
const char *window_misfit(const struct demand *d, struct grid panes, struct arena *a);

/*
 * The grids to offer for readers with these own chains: the closure over pairs, widest first, in `a`, with room for
 * MAX_WIDTHS. When it would be larger than that, the distinct own grids alone and *ret_cut is true (at most grids_n).
 */
struct grid *window_offers(const struct grid *own, size_t own_n, struct arena *a, uint32_t *ret_n, bool *ret_cut);

#endif
