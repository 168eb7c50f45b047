/* Native histograms of one series while a scan puts them together (executor/scan.h). */
#ifndef EXECUTOR_SCAN_HISTOGRAMS_H
#define EXECUTOR_SCAN_HISTOGRAMS_H

#include "base/histogram_chunk.h"
#include "store/source.h"

struct scan_histograms {
    struct arena arena; /* what they point to, of the series at hand */
    int64_t *times_ms;
    const struct histogram **v;
    size_t n, times_cap, v_cap;
    bool rising; /* so far */
};
void scan_histograms_init(struct scan_histograms *h);
void scan_histograms_done(struct scan_histograms *h);
void scan_histograms_clear(struct scan_histograms *h); /* for the next series */
/* Add those of a chunk of the store (histogram_chunk_is) with start < t <= end. ERR_CORRUPT; ERR_LIMIT as below. */
int scan_histograms_chunk(struct scan_histograms *h, struct str chunk, int64_t start_ms, int64_t end_ms, struct err *e);
/* Add those of the head with start < t <= end. ERR_LIMIT when they take too much memory. */
int scan_histograms_unpack(struct scan_histograms *h, const struct source_result *result, const struct source_series *s,
                           int64_t start_ms, int64_t end_ms, struct err *e);
/* Order by time, equal times once. */
void scan_histograms_order(struct scan_histograms *h);

/*
 * Put them among the n numbers of times_ms and values, which rise as they do; all three arrays have room for
 * n + h->n. At equal times a number wins, but not a stale marker. Returns how many there are then; `column` gets a
 * pointer for each, NULL for a number.
 */
size_t scan_histograms_weave(const struct scan_histograms *h, int64_t *times_ms, double *values,
                             const struct histogram **column, size_t n);

#endif
