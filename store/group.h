/*
 * Label sets by number, so that a block names one in four bytes: the groups of a stored root's results, and those whose
 * states a view by labels holds.
 *
 *     root_groups   (root, number) -> labels
 *     view_groups   (view, number) -> labels      slot number % 1024 of shard number / 1024, metric 0
 *
 * A row is committed with or before the first block that uses its number, and goes with or after the last. Bytes are
 * pinned in docs/FORMATS.md.
 */
#ifndef STORE_GROUP_H
#define STORE_GROUP_H

#include "base/labels.h"
#include "store/store.h"

enum group_of { GROUP_OF_ROOT = 1, GROUP_OF_VIEW };

/* Labels by their canonical bytes; drop_name (roots): the name is dropped when an operator or the answer looks at them.
 * `owner` is the root's or the view's number. */
int group_put(struct store_txn *t, enum group_of of, uint32_t owner, uint32_t number, struct str canonical,
              bool drop_name, struct err *e);
/* Labels in `a`, which also gets their strings. ERR_NOT_FOUND, ERR_CORRUPT. */
int group_get(struct store_txn *t, enum group_of of, uint32_t owner, uint32_t number, struct arena *a,
              struct labels *ret, bool *ret_drop_name, struct err *e);
/* By rising number; strings are the transaction's. */
int group_walk(struct store_txn *t, enum group_of of, uint32_t owner,
               int (*each)(void *ctx, uint32_t number, struct str canonical, bool drop_name, struct err *e), void *ctx,
               struct err *e);
int group_delete(struct store_txn *t, enum group_of of, uint32_t owner, uint32_t number, struct err *e);
int group_drop(struct store_txn *t, enum group_of of, uint32_t owner, struct err *e); /* all of the owner's */
/* Does every state in this window of a view by labels stand under one of numbers[n], rising? ERR_CORRUPT: the labels of
 * one are lost. Blocks that are damaged are not looked into. */
int group_window_check(struct store_txn *t, uint32_t view, int64_t end_ms, const uint32_t *numbers, uint32_t n,
                       struct err *e);

#endif
