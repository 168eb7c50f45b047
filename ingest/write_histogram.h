/* Native histograms of a write request: prometheus.Histogram on the wire, as ingest/write_request.c meets it. */
#ifndef INGEST_WRITE_HISTOGRAM_H
#define INGEST_WRITE_HISTOGRAM_H

#include "base/arena.h"
#include "base/histogram_exact.h"
#include "base/str.h"

struct wire_histogram {
    int64_t time_ms;
    struct histogram_exact v;
    const char *fault; /* why it is refused, or NULL; then `v` is sound */
};
/* What one takes of a request's WRITE_ITEMS_MAX, besides its buckets, spans and bounds. */
enum { WIRE_HISTOGRAM_ITEMS = 8 };
/*
 * One message, whose arrays go to `a`. ERR_BAD_DATA: it is malformed, ERR_TOO_LARGE: *items_n would pass
 * WRITE_ITEMS_MAX; either way the request is refused. What is well-formed but no sound histogram gets a `fault`.
 */
int wire_histogram_read(struct str bytes, struct arena *a, uint32_t *items_n, struct wire_histogram *ret);

#endif
