/*
 * The blocks of one shard over a run of windows, parsed, checked once per process, and read state by state.
 */
#ifndef EXECUTOR_PANE_SHARD_H
#define EXECUTOR_PANE_SHARD_H

#include "plan/plan.h"
#include "store/source.h"

struct pane_shard {
    const struct plan_view *view;
    const struct family_info *family;
    const struct source_window *windows;
    uint32_t windows_n;
    uint32_t store_view;
    struct store_txn *txn;
    uint32_t metric, shard;    /* whose blocks are read; UINT32_MAX = none */
    struct pane_block *blocks; /* [windows_n]; present_n and flags 0 where there is none */
    uint32_t *loaded;          /* [windows_n]: the value of `turn` for which the block is loaded; 0 = for none */
    uint32_t turn;             /* counts shards */
};

/* Memory in `a`; reused for one shard after the other. */
int pane_shard_init(struct pane_shard *s, const struct plan_view *view, const struct source_window *windows,
                    uint32_t windows_n, uint32_t store_view, struct store_txn *txn, struct arena *a, struct err *e);
/* From now on the blocks of (metric, shard). */
void pane_shard_turn(struct pane_shard *s, uint32_t metric, uint32_t shard);
/* The block of window `w`, loaded unless it is. ERR_CORRUPT names the block; ERR_NOT_COVERED when a sealed window has
 * no manifest. */
int pane_shard_block(struct pane_shard *s, uint32_t w, const struct pane_block **ret, struct err *e);

#endif
