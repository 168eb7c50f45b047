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
    uint32_t metric, shard;    /* whose blocks are loaded; UINT32_MAX = none */
    struct pane_block *blocks; /* [windows_n]; present_n 0 where there is none */
};

/* Memory in `a`; reused for one shard after the other. ERR_NOT_COVERED when a sealed window has no manifest. */
int pane_shard_init(struct pane_shard *s, const struct plan_view *view, const struct source_result *result,
                    struct store_txn *txn, struct arena *a, struct err *e);
/* Load (metric, shard) unless it is loaded. ERR_CORRUPT names the block. */
int pane_shard_load(struct pane_shard *s, uint32_t metric, uint32_t shard, struct err *e);

#endif
