/*
 * The dictionaries of views by labels: which number a group's states stand under. A number is given when a window's
 * states are built, by the maintenance thread, under the lock, since snapshots list the groups; its row goes to the
 * store with the first window that is committed after that.
 */
#ifndef INGEST_VIEW_GROUPS_H
#define INGEST_VIEW_GROUPS_H

#include "executor/refresh.h"
#include "ingest/windows.h"

struct ingest;

enum { VIEW_GROUPS_MAX = 1 << 20 }; /* groups that one view keeps apart */

void view_groups_register(void);
/* From the store, in the transaction that brings the plan into force; v->sealed_to_ms and the number are set. A
 * dictionary that is damaged, or lacks labels of stored states, takes its windows with it: ERR_CORRUPT. */
int view_groups_load(struct view_state *v, uint32_t most, struct store_txn *t, struct err *e);
/* What refresh_run wants to know, for a window of the view. `numbers` is borrowed by *ret. */
struct view_numbers {
    struct ingest *in;
    struct view_state *view;
    int64_t end_ms;
};
void view_groups_numbers(struct view_numbers *numbers, struct refresh_groups *ret);
/* What a refresh found that has no state. */
void view_groups_count(const struct refresh_output *o);
/* All groups, ascending by number, in `a`. Needs the lock. */
int view_groups_list(const struct view_state *v, struct arena *a, const struct source_group **ret, uint32_t *ret_n,
                     struct err *e);

#endif
