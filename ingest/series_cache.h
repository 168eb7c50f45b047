/*
 * The fast way from a wire series to its id: senders write a series' labels as the same bytes every time, so the hash
 * of those bytes (wire_series.wire_hash) leads to the series that they meant last time.
 *
 *     bucket = low bits of the hash, one cache line:  [tag id] [tag id] ... eight        tag = high half of the hash
 *
 * A cache, not an index: an answer is a guess that the caller must verify against the labels themselves, and a miss
 * means "look properly". Hence it may forget: growing starts it empty, and a full bucket overwrites. At most 64 MiB,
 * for eight million series. Not locked inside: ingest's lock for writing.
 */
#ifndef INGEST_SERIES_CACHE_H
#define INGEST_SERIES_CACHE_H

#include <stdint.h>

struct series_bucket;
struct series_cache { /* zero-initialise */
    struct series_bucket *buckets;
    uint32_t buckets_n; /* a power of two; 0 before the first put */
    uint32_t used;      /* slots */
};

/* A series that these bytes may mean, or SERIES_NONE. */
uint32_t series_cache_find(const struct series_cache *c, uint64_t wire_hash);
/* Tell the processor that this hash will be asked for soon: at a million series each bucket is a cache miss. */
void series_cache_prefetch(const struct series_cache *c, uint64_t wire_hash);
void series_cache_put(struct series_cache *c, uint64_t wire_hash, uint32_t id);
void series_cache_done(struct series_cache *c);

#endif
