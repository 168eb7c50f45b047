/*
 * The catalog: series id <-> label set, the postings that answer matchers, and the append-only numbers of metrics.
 *
 * In memory it is whole: label strings are interned once with stable addresses, a series is a run of (name, value)
 * symbol pairs, postings are roaring bitmaps by (name, value). On disk (store.mdb) it is appended to: a series is
 * committed with or before the first block or checkpoint that names it. Ids are never reused.
 *
 *     series id u32      -> metric number u32, ordinal u32 within its metric (shard = ordinal >> 10, slot = ordinal &
 * 1023)
 *
 * Not locked inside: the owner (ingest) holds its lock for writing around catalog_add and for reading around the rest.
 * Strings handed out stay valid for the catalog's life.
 */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H

#include "base/labels.h"
#include "base/matcher.h"
#include "store/store.h"

enum { SERIES_NONE = UINT32_MAX, SHARD_SERIES = 1024 };

struct catalog;

struct catalog *catalog_new(void);
void catalog_free(struct catalog *c);
/* Read every series from the store into an empty catalog. */
int catalog_load(struct catalog *c, struct store_txn *t, struct err *e); /* after a failure only catalog_free is left */
/* Write all series with id >= the persisted count; call catalog_saved(n) after the commit succeeded. */
int catalog_save(const struct catalog *c, struct store_txn *t, uint32_t *ret_saved_n, struct err *e);
void catalog_saved(struct catalog *c, uint32_t n);

uint32_t catalog_series_n(const struct catalog *c);
uint32_t catalog_persisted_n(const struct catalog *c);
size_t catalog_memory_bytes(const struct catalog *c);

/* `hash` = labels_hash(l, map_seed()). */
uint32_t catalog_find(const struct catalog *c, const struct labels *l, uint64_t hash); /* SERIES_NONE if absent */
/* The caller has looked first. Sets are validated before (sorted, unique, UTF-8, __name__ present or not). */
int catalog_add(struct catalog *c, const struct labels *l, uint64_t hash, uint32_t *ret_id, struct err *e);
/* Do these labels equal those of series `id`, in its order? Proves a guess without hashing; what is equal is valid. */
bool catalog_same(const struct catalog *c, uint32_t id, const struct labels *l);

struct series_place {
    uint32_t metric, ordinal;
};
struct series_place catalog_place(const struct catalog *c, uint32_t id);
/* The pairs array is made in `a`; strings are the catalog's. */
void catalog_labels(const struct catalog *c, uint32_t id, struct arena *a, struct labels *ret);
/* Metric number of a name, or SERIES_NONE; name of a number. */
uint32_t catalog_metric(const struct catalog *c, struct str name);
struct str catalog_metric_name(const struct catalog *c, uint32_t metric);
uint32_t catalog_metrics_n(const struct catalog *c);
/* The series with this place, or SERIES_NONE. */
uint32_t catalog_at(const struct catalog *c, uint32_t metric, uint32_t ordinal);

/* Ids of all series that every matcher accepts, ascending by (metric, ordinal) and so dense per shard; in `a`. */
int catalog_select(const struct catalog *c, const struct matcher *m, size_t n, struct arena *a, uint32_t **ret_ids,
                   uint32_t *ret_n, struct err *e);
/* All label names / all values of a name, sorted bytewise; strings are the catalog's, the array is in `a`. */
int catalog_label_names(const struct catalog *c, struct arena *a, struct str **ret, uint32_t *ret_n, struct err *e);
int catalog_label_values(const struct catalog *c, struct str name, struct arena *a, struct str **ret, uint32_t *ret_n,
                         struct err *e);
/* The same of the series that all matchers accept. */
int catalog_select_names(const struct catalog *c, const struct matcher *m, size_t n, struct arena *a, struct str **ret,
                         uint32_t *ret_n, struct err *e);
int catalog_select_values(const struct catalog *c, struct str name, const struct matcher *m, size_t n, struct arena *a,
                          struct str **ret, uint32_t *ret_n, struct err *e);

#endif
