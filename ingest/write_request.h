/*
 * Remote write 1.0 on the wire: snappy, then a walk over the protobuf WriteRequest in place. Nothing is copied: label
 * names and values point into the decompressed body. The declared size is checked against the limit before anything is
 * allocated.
 *
 * The walker is strict about structure (truncated or overlong fields, wrong wire types: the whole body is refused with
 * the byte offset) and skips unknown fields, as protobuf says. What a series or sample may be is admission's business
 * (ingest/admit.h).
 */
#ifndef INGEST_WRITE_REQUEST_H
#define INGEST_WRITE_REQUEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/labels.h"

enum { WRITE_BODY_MAX = 64 << 20, WRITE_LABELS_MAX = 256 };

/* Snappy block format -> bytes in *buffer (grown, reused between requests). ERR_TOO_LARGE if more than max_bytes are
 * declared. */
int write_body_decompress(struct str body, size_t max_bytes, struct strbuf *buffer, struct err *e);

struct wire_sample {
    double value;
    int64_t time_ms;
};
struct wire_series {
    struct label *labels; /* in wire order, borrowed strings; the walker's array, good until the next series */
    uint32_t labels_n;
    struct wire_sample *samples;
    uint32_t samples_n;
    uint32_t histograms_n, exemplars_n; /* seen; histograms are refused by admission until they are stored */
    uint32_t first_sample; /* ordinal of samples[0] over the whole request; histograms count too, after the floats */
};
struct wire_metadata {
    struct str name, help, unit;
    uint32_t type; /* MetricMetadata.MetricType */
};
struct write_walker {
    struct str body; /* decompressed */
    size_t at;
    uint32_t samples_seen;
    struct wire_series series;
    struct wire_metadata metadata;
    size_t labels_cap, samples_cap;
    bool too_many_labels; /* the series has more than WRITE_LABELS_MAX: labels_n is cut, admission refuses it */
};
void write_walker_init(struct write_walker *w, struct str body);
void write_walker_done(struct write_walker *w);
enum write_item { WRITE_END = 1, WRITE_SERIES, WRITE_METADATA };
/* Next item in wire order. ERR_BAD_DATA "remote write body: ... at byte N". */
int write_walker_next(struct write_walker *w, enum write_item *ret, struct err *e);

#endif
