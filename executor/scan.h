/*
 * Raw samples of one selector, series by series: the store's chunks and the head's copy merged by time, equal times
 * once. Streaming: a callback's columns are valid during the call, so memory stays at one shard's worth.
 */
#ifndef EXECUTOR_SCAN_H
#define EXECUTOR_SCAN_H

#include "base/err.h"
#include "store/source.h"

struct scan {
    const struct source_result *result;
    struct store_txn *txn;       /* NULL: head only */
    int64_t start_ms, end_ms;    /* samples with start < t <= end, and newer than the series' raw_from_ms */
    const uint64_t *skip_series; /* bitmap by series index: not wanted; NULL = all wanted */
    bool keep_stale;             /* hand stale markers on too (instant selectors need them); false: dropped */
    uint64_t samples_n;          /* out: handed on */
    uint32_t damaged_n;          /* out: blocks that failed their check and were skipped */
};
/* series = index in result->series. n may be 0 (then the arrays may be NULL). Non-zero stops with that code. Called in
 * series order, on the calling thread. */
typedef int scan_fn(void *ctx, uint32_t series, const int64_t *times_ms, const double *values, uint32_t n,
                    struct err *e);
int scan_run(struct scan *s, scan_fn *each, void *ctx, struct err *e);

#endif
