/*
 * Where each stored root stands: which times have results in the store, which of those are not to be trusted.
 *
 *     ... complete_from_ms                 sealed_to_ms    claimed_to_ms
 *     -- to backfill --|-- results, but for dirty --|-- being computed --|
 *
 * Every grid time in (complete_from, sealed_to] has its row. A sample that comes for t <= claimed_to + ahead makes the
 * times [t - ahead, t + reach) dirty, if it is of a series that the root reads: dirty times are computed by whoever
 * asks, and again for the store within seconds. `claimed_to` moves before the snapshot of a run, so nothing slips
 * between.
 *
 * Ingest's lock around all but `groups`, which is of the maintenance thread alone.
 */
#ifndef INGEST_ROOTS_H
#define INGEST_ROOTS_H

#include "ingest/label_sets.h"
#include "ingest/spans.h"
#include "plan/root_expr.h"
#include "store/root.h"

struct ingest;

struct root_selector {
    const struct matcher *matchers;
    uint32_t n;
};
struct root_state {
    uint32_t number; /* in the store */
    uint8_t identity[IDENTITY_BYTES];
    const struct expr *expr;
    struct root_selector *selectors;
    uint32_t selectors_n;
    size_t selectors_cap;
    struct grid grid;
    int64_t reach_ms, ahead_ms, retention_ms; /* samples before and after a time that its result is made of */
    int64_t complete_from_ms, sealed_to_ms;   /* equal: nothing; INT64_MIN before the first sample */
    int64_t claimed_to_ms;                    /* sealed_to, or the end of the run at work */
    int64_t backfill_from_ms; /* times in (this, complete_from_ms] are still to be computed; equal when done */
    struct spans dirty;       /* late samples came for them since they were read */
    struct spans rebuilding;  /* dirty before the run that computes them now */
    struct spans holes;       /* rows without a result */
    bool doubted;             /* a row was found lost or damaged: labels are written anew with the next */
    int64_t recomputed_ms;    /* when dirty times were last looked at */
    struct label_sets groups;
};
struct roots {
    struct root_state *v;
    uint32_t n;
    int64_t newest_read_ms; /* samples newer than this leave all results as they are */
};

void roots_done(struct roots *r);
struct root_state *root_of(struct ingest *in, const uint8_t identity[16]); /* or NULL */
/* The newest of its times that samples up to the watermark decide; INT64_MIN before the first sample. */
static inline int64_t root_watermark_ms(const struct root_state *r, int64_t watermark_ms)
{
    return watermark_ms == INT64_MIN ? watermark_ms : watermark_ms - r->ahead_ms;
}
/* A sample of a series was stored at time_ms. Needs the lock for writing. */
void roots_mark(struct ingest *in, uint32_t series, int64_t time_ms);
/* store/source.h's view of it. */
int roots_source(void *ctx, const uint8_t identity[16], int64_t start_ms, int64_t end_ms, struct arena *a,
                 struct source_root *ret, struct err *e);
void roots_doubt(void *ctx, const uint8_t identity[16], int64_t time_ms);

/* root_plan.c: the roots of a plan, as the store has them; those it has of other plans are let go. In the transaction
 * that brings a plan into force. */
int roots_install(struct ingest *in, const struct plan *plan, struct store_txn *t, struct roots *ret, struct err *e);
/* What was dirty in the roots of the plan before, into those of the plan that comes. No run is at work. */
void roots_move(const struct roots *from, struct roots *to);
/* Which times are dirty, for a checkpoint. */
int roots_save(const struct roots *r, struct store_txn *t, struct err *e);

/* root_refresh.c */
void roots_register(void);
/* Results that are due, then dirty ones; `go_on` is asked before each run. */
int roots_due(struct ingest *in, int64_t watermark_ms, int64_t now_ms, bool (*go_on)(void *ctx), void *ctx,
              struct err *e);
int roots_backfill_step(struct ingest *in, bool *ret_more, struct err *e);
/* Let go what no reader may ask for any more, in the transaction that drops old windows; settle after its commit. */
int roots_drop(struct ingest *in, struct store_txn *t, struct err *e);
void roots_dropped(struct ingest *in);

#endif
