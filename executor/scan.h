/*
 * Raw samples of one selector, series by series: the store's chunks and the head's copy merged by time, equal times
 * once. Streaming: a callback's columns are valid during the call, so memory stays at one shard's worth.
 *
 * Native histograms stand in the same columns, for readers that want them:
 *
 *     times_ms      10    20                 30                 40
 *     values        1.5   float_histogram()  float_histogram()  2.5
 *     histograms    NULL  -> 20's            -> 30's            NULL     the array is NULL in a series without any
 *
 * Other readers see the series as if its histograms had never come.
 */
#ifndef EXECUTOR_SCAN_H
#define EXECUTOR_SCAN_H

#include "base/err.h"
#include "base/histogram.h"
#include "store/source.h"

struct scan {
    const struct source_result *result;
    struct store_txn *txn;       /* NULL: head only */
    int64_t start_ms, end_ms;    /* samples with start < t <= end, and newer than the series' raw_from_ms */
    const uint64_t *skip_series; /* bitmap by series index: not wanted; NULL = all wanted */
    bool keep_stale;             /* hand stale markers on too (instant selectors need them); false: dropped */
    bool want_histograms;        /* false: dropped. Needs a result whose request wanted them too */
    uint64_t samples_n;          /* out: handed on */
    uint32_t damaged_n;          /* out: blocks that failed their check and were skipped */
};
/* Histograms of one series in one scan: ERR_LIMIT above. */
enum { SCAN_HISTOGRAM_BYTES_MAX = 256 << 20 };
/* series = index in result->series. n may be 0 (then the arrays may be NULL). Non-zero stops with that code. Called in
 * series order, on the calling thread. Histograms, too, are valid during the call alone. */
typedef int scan_fn(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                    const struct histogram *const *histograms, uint32_t n, struct err *e);
int scan_run(struct scan *s, scan_fn *each, void *ctx, struct err *e);

#endif
