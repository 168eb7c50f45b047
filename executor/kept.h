/*
 * Panes kept on first read: of a site's windows those that are sealed are taken from the process's cache, and those
 * that are not there are built, all series of each, from one scan of the samples, and put there. What is not sealed is
 * left to the reader, which builds it for itself: it still grows.
 */
#ifndef EXECUTOR_KEPT_H
#define EXECUTOR_KEPT_H

#include "executor/pane_cache.h"
#include "executor/panes.h"

/* The windows that a read holds. */
struct kept_use {
    struct kept_window **windows; /* [n]; NULL where there is none */
    uint32_t n;
    uint32_t built_n;
};
/*
 * `served` is the site's result with all its windows listed as missing: those sealed become early windows whose states
 * `use` holds, and covered_ms and the series' raw_from_ms say so. `use` is zeroed before and done after, whatever is
 * returned.
 */
int kept_serve(struct eval *ev, const struct pane_site *p, const struct times *t, struct source_result *served,
               struct kept_use *use, struct err *e);
void kept_done(struct kept_use *use);

#endif
