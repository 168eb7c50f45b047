#include "ingest/series_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "store/catalog.h"

enum { SLOTS = 8, BUCKETS_FIRST = 64, BUCKETS_MAX = 1 << 20 };

struct series_bucket {
    struct {
        uint32_t tag, id; /* id SERIES_NONE: free */
    } slot[SLOTS];
};

static struct series_bucket *bucket_of(const struct series_cache *c, uint64_t wire_hash)
{
    return &c->buckets[(uint32_t)wire_hash & (c->buckets_n - 1)];
}

static uint32_t tag_of(uint64_t wire_hash)
{
    return (uint32_t)(wire_hash >> 32);
}

uint32_t series_cache_find(const struct series_cache *c, uint64_t wire_hash)
{
    if (!c->buckets_n)
        return SERIES_NONE;
    const struct series_bucket *b = bucket_of(c, wire_hash);
    for (unsigned i = 0; i < SLOTS; i++)
        if (b->slot[i].tag == tag_of(wire_hash) && b->slot[i].id != SERIES_NONE)
            return b->slot[i].id;
    return SERIES_NONE;
}

void series_cache_prefetch(const struct series_cache *c, uint64_t wire_hash)
{
    if (c->buckets_n)
        __builtin_prefetch(bucket_of(c, wire_hash));
}

static void cache_grow(struct series_cache *c)
{
    uint32_t n = c->buckets_n ? 2 * c->buckets_n : BUCKETS_FIRST;
    mem_free(c->buckets);
    c->buckets = mem_alloc(n * sizeof *c->buckets);
    memset(c->buckets, 0xff, n * sizeof *c->buckets); /* every id SERIES_NONE */
    c->buckets_n = n;
    c->used = 0;
}

void series_cache_put(struct series_cache *c, uint64_t wire_hash, uint32_t id)
{
    /* Half full: of eight slots, few buckets then overflow. */
    if (c->used >= c->buckets_n * (SLOTS / 2) && c->buckets_n < BUCKETS_MAX)
        cache_grow(c);
    struct series_bucket *b = bucket_of(c, wire_hash);
    unsigned at = tag_of(wire_hash) % SLOTS;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (b->slot[i].id == SERIES_NONE)
            at = i;
        if (b->slot[i].tag == tag_of(wire_hash) && b->slot[i].id != SERIES_NONE) {
            at = i;
            break;
        }
    }
    c->used += b->slot[at].id == SERIES_NONE;
    b->slot[at].tag = tag_of(wire_hash);
    b->slot[at].id = id;
}

void series_cache_done(struct series_cache *c)
{
    mem_free(c->buckets);
    *c = (struct series_cache){0};
}
