/*
 * The one snapshot of a query. First everything that will be read is named: the selectors of each tree, with the spans
 * they look at (look-back, ranges, offsets, @ and subqueries included), and the sites read from panes. Then the source
 * is asked once, and only after that the store's transaction is opened: so each acknowledged sample is in one of the
 * two (store/source.h). Selectors with equal matchers share one request over the union of their spans; those that need
 * but the newest sample share with their like over the same span.
 */
#ifndef EXECUTOR_SNAPSHOT_H
#define EXECUTOR_SNAPSHOT_H

#include "base/map.h"
#include "executor/eval.h"

struct snapshot {
    struct arena *arena;
    struct source_request *requests;
    struct source_result *results; /* [requests_n] once taken */
    uint32_t requests_n;
    size_t requests_cap;
    struct map by_matchers; /* requests of selectors */
    struct snapshot_use *uses;
    uint32_t uses_n;
    size_t uses_cap;
    const struct source *source; /* NULL: not taken */
    bool reads_store;            /* besides what requests read: the transaction is opened whatever is named */
};

void snapshot_init(struct snapshot *s, struct arena *a);
/* Name the selectors of a resolved tree evaluated at `t`. ERR_BAD_DATA for times out of bounds. */
int snapshot_add_expr(struct snapshot *s, const struct eval *ev, const struct expr *expr, const struct times *t,
                      struct err *e);
/* Name any other request; results[*ret_index] will answer it. */
int snapshot_add_request(struct snapshot *s, const struct source_request *r, uint32_t *ret_index, struct err *e);
/* Ask the source, open the transaction, and fill in what `ev` reads from. Nothing named: nothing is
 * asked. */
int snapshot_take(struct snapshot *s, const struct source *source, struct eval *ev, struct err *e);
/* Ends the transaction and gives the results back; safe whatever happened before. */
void snapshot_done(struct snapshot *s, struct eval *ev);

#endif
