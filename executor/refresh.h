/*
 * The precompute half: one run per refresh group and window. Raw samples of the window are read once per source,
 * however many views the group has; a roll-up is merged from the panes of the view below, raw samples standing in for
 * panes that are not there or not clean. Each target view's states come back as pane blocks, the same bytes that go to
 * the store.
 */
#ifndef EXECUTOR_REFRESH_H
#define EXECUTOR_REFRESH_H

#include "executor/query.h"

struct refresh_output {
    uint32_t view;               /* plan view index */
    uint32_t store_view;         /* store view number, as given */
    struct window_block *blocks; /* by (metric, shard); bytes in the arena */
    uint32_t blocks_n;
    size_t blocks_cap;
    uint64_t states_n, samples_n;
    /* Of a view by labels: groups whose state is missing (refresh_groups.h): the family cannot hold their weights;
     * there are more groups than are kept apart. */
    uint32_t groups_refused_n, groups_unnumbered_n;
};
/* Numbers for the label sets of a view by labels: the same one for the same set, for as long as any window names it.
 * The caller keeps it, makes it survive with the blocks that use it, and is called by one thread. ERR_LIMIT: there are
 * as many sets as a view keeps apart. */
struct refresh_groups {
    void *ctx;
    int (*place)(void *ctx, const struct labels *labels, uint32_t *ret_number, struct err *e);
};
struct refresh_run {
    const struct plan *plan;
    const struct source *source;
    int64_t end_ms;                      /* the window is (end - width, end], one width for all targets */
    const uint32_t *views;               /* targets: plan view indices of one group, in its order */
    const uint32_t *store_views;         /* their store numbers, for block keys */
    const struct refresh_groups *groups; /* [views_n]; used for views by labels; NULL when there are none */
    uint32_t views_n;
    /* Only these series (sorted catalog ids), for dirty rebuilds; NULL = all. Views by labels are always
     * made whole. */
    const uint32_t *only_series;
    uint32_t only_series_n;
    uint32_t revision;
    struct pool *pool; /* may be NULL */
};
/* outputs[views_n] in `a`. *ret_raw_reads: raw window reads done (1 per source, and per roll-up that lacks panes). */
int refresh_window(const struct refresh_run *r, struct arena *a, struct refresh_output *outputs,
                   uint32_t *ret_raw_reads, struct err *e);

/* Copy of block `old` with the states of `rebuilt` in place of its own for `series` slots (dirty rebuild at sealing).
 */
int refresh_patch_block(const struct family_info *family, struct str old, struct str rebuilt, const uint64_t slots[16],
                        uint32_t revision, struct pane_builder *b, struct str *ret, struct err *e);

#endif
