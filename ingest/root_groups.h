/*
 * The label sets of a stored root's results, by number: rows in the store name a group by it. Kept whole in memory
 * beside the store's table, for the one thread that computes; a set that no kept result names any more is let go.
 */
#ifndef INGEST_ROOT_GROUPS_H
#define INGEST_ROOT_GROUPS_H

#include "base/map.h"
#include "store/root.h"

struct root_group {
    uint8_t *canonical; /* the labels' canonical bytes; NULL when there are none */
    uint32_t size, number;
    bool drop_name;
    bool written;         /* its row is in the store, as far as we know */
    int64_t last_used_ms; /* newest time whose result names it */
};
struct root_groups {
    struct root_group *v;
    uint32_t n, next;
    size_t cap;
    struct map index;
};

void root_groups_init(struct root_groups *g);
void root_groups_done(struct root_groups *g);
/* From the store; all count as used at `used_ms`. */
int root_groups_load(struct root_groups *g, struct store_txn *t, uint32_t root, int64_t used_ms, struct err *e);
/* The place in g->v of this set, new or known. ERR_LIMIT when numbers are used up. */
int root_groups_place(struct root_groups *g, const struct labels *labels, bool drop_name, uint32_t *ret, struct err *e);
/* Rows of those that are not written yet; root_groups_written after the commit. */
int root_groups_put(const struct root_groups *g, struct store_txn *t, uint32_t root, struct err *e);
void root_groups_written(struct root_groups *g, bool written);
/* Delete the rows of those last used at or before upto_ms; root_groups_forget after the commit. */
int root_groups_drop(const struct root_groups *g, struct store_txn *t, uint32_t root, int64_t upto_ms, struct err *e);
void root_groups_forget(struct root_groups *g, int64_t upto_ms);

#endif
