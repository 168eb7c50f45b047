/*
 * Reading a site from panes: for each evaluation time the states of its window and one estimate over them, without a
 * merge. States come from the store or from early windows in memory; what no pane serves (the still-growing pane,
 * missing windows, series with late samples) is built on the spot from raw, by the same kernel.
 * A long window is covered by roll-ups inside and by the view's own panes at both ends.
 *
 * Panes serve when they tile the window of every evaluation time; or, when there is one window only, when they fill
 * most of it: whole panes inside, raw samples at the two ragged edges.
 *
 *     (start ... a](a, pane](pane](pane, b](b ... end]
 *      left edge    whole panes            right edge
 *
 * Panes that are not stored are built from the samples of one scan, each once for all evaluation times they serve:
 * those of sealed windows are kept (kept.h), if the plan says so, and are then read as early windows are.
 */
#ifndef EXECUTOR_PANES_H
#define EXECUTOR_PANES_H

#include "executor/bind.h"

struct pane_site {
    const struct plan_view *view;
    const struct plan_view *const *rollups; /* ladder_views */
    uint32_t rollups_n;
    struct site site;
    const struct source_result *result; /* answer to panes_request */
    const struct source_result *left;   /* answer to panes_left_request; NULL without a left edge */
    uint64_t sketch_seed;               /* the plan's */
    struct pane_cache *cache;           /* of the process, for kept panes; NULL: they are built at each read */
};

/* The end of the site's window at evaluation time i. */
int64_t panes_end_ms(const struct site *site, const struct times *t, uint32_t i);
/* The end of the left edge: where the first whole pane begins. */
int64_t panes_left_end_ms(const struct pane_site *p);

enum pane_fit { PANES_UNFIT = 1, PANES_RAGGED, PANES_WHOLE };
/* How this view's panes fit the site's windows at the times `t`. Those built at each read end where the windows do;
 * kept ones serve whole windows only. */
enum pane_fit panes_fit(const struct plan_view *view, const struct site *site, const struct times *t);
/* What the snapshot must hold for the site, of which view, roll-ups and site are given: its selector's series, and
 * windows of them: their states where panes are stored, their revisions where they are kept by the process that reads
 * them. Panes by labels are asked for as such. */
int panes_request(const struct pane_site *p, const struct times *t, struct arena *a, struct source_request *ret,
                  struct err *e);
/* And the raw samples of the left edge, from the same moment; false when there is none. */
bool panes_left_request(const struct plan_view *view, const struct site *site, const struct times *t,
                        struct source_request *ret);

struct pane_counts {
    uint32_t sources; /* enum answer_source bits */
    uint64_t states_n;
};
/*
 * The site's vector at `t`; a group site's is group_panes.h's. ERR_NOT_COVERED when these states cannot answer and raw
 * must: no states yet, non-finite samples or a collapsed sketch behind a quantile, or damage in a block (then also
 * counted as mullion_pane_blocks_damaged_total).
 */
int panes_estimate(struct eval *ev, const struct pane_site *p, const struct times *t, struct value *ret,
                   struct pane_counts *counts, struct err *e);

#endif
