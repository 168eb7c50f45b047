/*
 * Remote write 1.0 on the wire: snappy, then one walk over the protobuf WriteRequest. Strings are not copied: label
 * names and values point into the decompressed body. The walk needs no lock, and once it is through the body is known
 * to be well formed, so that what is applied then is applied whole.
 *
 *     series:   [0: labels_at 0, samples_at 0] [1: labels_at 8, samples_at 1] ...
 *     labels:   [eight of series 0            ][eight of series 1           ] ...
 *     samples:  [one of series 0              ][one of series 1             ] ...
 *
 * It is strict about structure (truncated or overlong fields, wrong wire types: the whole body is refused with the byte
 * offset) and skips unknown fields, as protobuf says. What a series or sample may be is admission's business
 * (ingest/admit.h).
 */
#ifndef INGEST_WRITE_REQUEST_H
#define INGEST_WRITE_REQUEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/labels.h"
#include "ingest/write_histogram.h"

/* WRITE_ITEMS_MAX: samples, labels, metadata entries, histograms' buckets and spans of one request, each: two bytes of
 * a body may become 64 in memory. */
enum { WRITE_BODY_MAX = 64 << 20, WRITE_LABELS_MAX = 256, WRITE_ITEMS_MAX = 4 << 20 };

/* Snappy block format -> bytes in *buffer (grown, reused between requests). ERR_TOO_LARGE if more than max_bytes are
 * declared. */
int write_body_decompress(struct str body, size_t max_bytes, struct strbuf *buffer, struct err *e);

struct wire_sample {
    double value;
    int64_t time_ms;
};
struct wire_series {
    uint64_t
        wire_hash; /* XXH3 with the map seed of the label fields as they came (of the first run, if there are more) */
    uint32_t labels_at, labels_n;   /* in wire order */
    uint32_t samples_at, samples_n; /* in wire order */
    uint32_t histograms_at, histograms_n;
    uint32_t first_ordinal; /* of its samples over the whole request; histograms count too, after the floats */
    bool too_many_labels;   /* over WRITE_LABELS_MAX: labels_n is cut, admission refuses it */
};
struct wire_metadata {
    struct str name, help, unit;
    uint32_t type; /* MetricMetadata.MetricType */
};
/* Zero-initialise; reused from request to request. Series without samples say nothing and are left out. */
struct write_request {
    struct wire_series *series;
    struct label *labels;
    struct wire_sample *samples;
    struct wire_histogram *histograms;
    struct wire_metadata *metadata;
    struct arena arena; /* what histograms point to */
    size_t series_cap, labels_cap, samples_cap, histograms_cap, metadata_cap;
    uint32_t series_n, labels_n, samples_n, histograms_n, metadata_n;
    uint32_t histogram_items_n; /* buckets and the like */
    uint32_t ordinals_n;        /* samples and histograms */
};
/*
 * Replaces what was in *r; the strings borrow from `body`. ERR_BAD_DATA "remote write body: ... at byte N",
 * ERR_TOO_LARGE over WRITE_ITEMS_MAX; after either *r holds nothing that may be used.
 */
int write_request_parse(struct write_request *r, struct str body, struct err *e);
size_t write_request_memory_bytes(const struct write_request *r);
void write_request_done(struct write_request *r);

#endif
