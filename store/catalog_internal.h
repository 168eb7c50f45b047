/*
 * How the catalog lies in memory; shared by the catalog_*.c files.
 *
 *     symbol   a string kept once, at a stable address
 *     pair     (name symbol, value symbol), numbered; holds the postings of the series that carry it
 *     name     a label name: its pairs, and the postings of all series that have the label at all
 *     series   a run of pair numbers in a pool, its hash, and its place (metric, ordinal)
 *
 *     series 7 --> pool [ 12  3  40 ] --> pairs[12] = (__name__, up)  postings {0, 7, 9}
 *
 * One million series with eight labels: 32 B of pair numbers, 24 B of record, ~16 B of hash index, 4-8 B of ordinals
 * and 2 B of postings per label that is not shared widely, plus the distinct strings.
 */
#ifndef STORE_CATALOG_INTERNAL_H
#define STORE_CATALOG_INTERNAL_H

#include <roaring/roaring.h>

#include "base/arena.h"
#include "base/map.h"
#include "store/catalog.h"

/* Labels of one series; far over what ingest admits. */
enum { CATALOG_LABELS_MAX = 4096 };
enum { SERIES_BLOCK_BITS = 12, POOL_BLOCK_BITS = 16 };

struct symbol {
    uint32_t n, number;
    uint32_t name_plus_1;   /* index in names, when it is a label name */
    uint32_t metric_plus_1; /* metric number, when it is a metric name */
    char text[];
};

/* Ascending series ids: two inline, then a short list, then a roaring bitmap. */
struct posting {
    uint32_t n;
    uint32_t cap; /* 0 inline, else room of `list`, POSTING_BITMAP for `bitmap` */
    union {
        uint32_t few[2];
        uint32_t *list;
        roaring_bitmap_t *bitmap;
    };
};
enum { POSTING_FEW = 2, POSTING_LIST_MAX = 64 };
#define POSTING_BITMAP UINT32_MAX

struct pair {
    const struct symbol *name, *value;
    struct posting posting;
};
struct catalog_name {
    struct symbol *text;
    struct posting all;
    uint32_t *pairs;
    size_t pairs_n, pairs_cap;
};
struct series {
    uint64_t hash;
    uint32_t pool_at;
    uint32_t metric, ordinal;
    uint32_t labels_n;
};
struct metric {
    const struct symbol *name;
    uint32_t *ids; /* by ordinal */
    size_t n, cap;
};

struct catalog {
    uint64_t seed; /* of the hashes: peers choose the strings */
    struct arena strings;
    struct symbol **symbols;
    size_t symbols_n, symbols_cap;
    struct map symbol_map; /* XXH3 of the text */

    struct pair *pairs;
    size_t pairs_n, pairs_cap;
    struct map pair_map; /* XXH3 of the two symbol numbers */

    struct catalog_name *names;
    size_t names_n, names_cap;
    struct metric *metrics;
    size_t metrics_n, metrics_cap;

    /* Blocks, so that growing neither copies nor doubles a large array. */
    struct series **series;
    size_t series_blocks_n, series_blocks_cap;
    uint32_t **pool;
    size_t pool_blocks_n, pool_blocks_cap;
    uint64_t pool_n;
    struct map series_map;
    uint32_t series_n, persisted_n;
};

static inline struct str symbol_str(const struct symbol *s)
{
    return (struct str){s->text, s->n};
}
static inline struct series *catalog_series(const struct catalog *c, uint32_t id)
{
    return &c->series[id >> SERIES_BLOCK_BITS][id & ((1u << SERIES_BLOCK_BITS) - 1)];
}
/* Its pair numbers, labels_n of them: a run never crosses a pool block. */
static inline const uint32_t *catalog_run(const struct catalog *c, const struct series *s)
{
    return &c->pool[s->pool_at >> POOL_BLOCK_BITS][s->pool_at & ((1u << POOL_BLOCK_BITS) - 1)];
}
const struct symbol *catalog_symbol(const struct catalog *c, struct str text); /* NULL when unknown */
const struct catalog_name *catalog_name_of(const struct catalog *c, struct str name);
/* The pair with this name and value, or NULL. */
const struct pair *catalog_pair(const struct catalog *c, const struct symbol *name, const struct symbol *value);
/* The value symbol of a label in a series, or NULL when absent. */
const struct symbol *catalog_value_of(const struct catalog *c, uint32_t id, const struct symbol *name);

void posting_add(struct posting *p, uint32_t id); /* id above all in it */
void posting_done(struct posting *p);
size_t posting_memory_bytes(const struct posting *p); /* beside the struct itself */
void posting_union(const struct posting *p, roaring_bitmap_t *into);

#endif
