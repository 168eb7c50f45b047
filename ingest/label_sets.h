/*
 * Label sets by number: those of a stored root's results, or of a view by labels. Blocks in the store name a set by its
 * number. Kept whole in memory beside the store's table (store/group.h). A set that nothing kept names any more is let
 * go, and its number is then another's: so blocks stay dense however sets come and go.
 *
 * One thread changes them; whoever reads from another thread, or changes what others read, sees to the lock.
 */
#ifndef INGEST_LABEL_SETS_H
#define INGEST_LABEL_SETS_H

#include "base/map.h"
#include "store/group.h"

struct label_set {
    uint8_t *canonical; /* the labels' canonical bytes; NULL when there are none */
    uint32_t size, number;
    bool drop_name;
    bool written;         /* its row is in the store, as far as we know */
    int64_t last_used_ms; /* newest time whose result, or end of the window whose states, name it */
};
struct label_sets {
    enum group_of of;
    uint32_t most; /* sets at one time */
    struct label_set *v;
    uint32_t n, next; /* numbers from `next` on were never given */
    size_t cap;
    struct map index;
    uint32_t *free; /* numbers below `next` that no set has, falling */
    uint32_t free_n;
    size_t free_cap;
};

void label_sets_init(struct label_sets *s, enum group_of of, uint32_t most);
void label_sets_done(struct label_sets *s);
/* From the store; all count as used at `used_ms`. */
int label_sets_load(struct label_sets *s, struct store_txn *t, uint32_t owner, int64_t used_ms, struct err *e);
/* The place in s->v of this set; -1 when it has none. Places change with label_sets_forget. */
int64_t label_sets_find(const struct label_sets *s, const struct labels *labels, bool drop_name);
/* The place of this set, new or known. ERR_LIMIT above `most`. */
int label_sets_place(struct label_sets *s, const struct labels *labels, bool drop_name, uint32_t *ret, struct err *e);
/* Something of this time names it. */
void label_sets_use(struct label_sets *s, uint32_t place, int64_t time_ms);
/* Rows of those that are not written yet; label_sets_written after the commit. */
int label_sets_put(const struct label_sets *s, struct store_txn *t, uint32_t owner, struct err *e);
void label_sets_written(struct label_sets *s, bool written);
/* Delete the rows of those last used at or before upto_ms; label_sets_forget after the commit. */
int label_sets_drop(const struct label_sets *s, struct store_txn *t, uint32_t owner, int64_t upto_ms, struct err *e);
void label_sets_forget(struct label_sets *s, int64_t upto_ms);

#endif
