/*
 * The ingest object, and which file does what with it:
 *
 *     ingest.c        open, replay, close          write.c       one request
 *     refresh.c       early refresh, sealing       backfill.c    a plan's views: store numbers, what is stored, what to
 * build checkpoint.c    head and log into the store  snapshot.c    what queries read metadata.c      names, types, help
 *     roots.c         stored roots: what is dirty  root_plan.c   a plan's roots     root_refresh.c  computing them
 *
 * `lock` guards catalog, head, windows, roots and the clocks. `maintenance` is held by whoever runs a tick: refresh,
 * sealing, checkpoints and retention never overlap. Order: maintenance, then lock.
 */
#ifndef INGEST_INGEST_INTERNAL_H
#define INGEST_INGEST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "ingest/admit.h"
#include "ingest/head.h"
#include "ingest/ingest.h"
#include "ingest/late.h"
#include "ingest/roots.h"
#include "ingest/series_cache.h"
#include "ingest/windows.h"
#include "store/raw.h"
#include "store/wal.h"

/* A sample the log brought back that may lie in a sealed window; marked dirty once the plan is known. */
struct replayed_late {
    uint32_t series;
    int64_t time_ms;
};

struct metadata_table;

struct ingest {
    struct store *store;
    struct ingest_options options;
    struct pool *pool;
    const struct plan *plan;

    pthread_rwlock_t lock;
    struct catalog *catalog;
    struct series_cache series_cache;
    struct head head;
    struct windows windows;
    struct late_marks late;
    struct roots roots;
    struct wal *wal;
    int64_t event_clock_ms; /* max over requests of min(largest event time, receive time); INT64_MIN before the first */
    int64_t clock_moved_ms; /* receive time of the request that moved it last */
    int64_t largest_event_ms;
    int64_t first_event_ms; /* oldest sample ever applied; INT64_MAX before it */
    /* Oldest sample that came while no plan was in force, so that no window was marked for it; INT64_MAX: none. Kept in
     * the store until a plan is set: windows it may lie in are then built anew. */
    int64_t unplanned_ms;
    uint64_t settings_hash;
    struct metadata_table *metadata;

    atomic_bool stopping; /* a tick returns at its next window */
    pthread_mutex_t maintenance;
    int64_t last_checkpoint_ms; /* by now_ms; INT64_MIN: at the next tick */
    uint64_t checkpoint_seq;
    /* A log write failed after its samples were applied: no write is acknowledged until a checkpoint holds them. */
    bool log_broken;
    struct replayed_late *replayed;
    size_t replayed_n, replayed_cap;
    struct source source;
};

int64_t ingest_watermark_locked(const struct ingest *in); /* INT64_MIN before the first sample */

/* Refused samples of one reason: "50 x sample too far in the future: up". */
struct refusal {
    char reason[200], metric[100]; /* of the first */
    bool metrics_differ;
    uint64_t n;
};
enum { REFUSALS_MAX = 4 };

/* Apply one whole request. Live: decide each sample and list what is not applied in *rejects. Replay: skip those
 * listed. Needs the lock for writing. */
struct apply {
    struct ingest *in;
    struct admission admission;
    struct write_request *request; /* labels may be sorted in place */
    bool replay;
    uint32_t *rejects; /* live: grown here, freed by the caller; replay: borrowed */
    uint32_t rejects_n;
    size_t rejects_cap;
    struct write_result *result;
    uint64_t verdicts[VERDICT_END]; /* live: samples by verdict */
    int64_t largest_ms, oldest_ms;  /* of applied samples */
    struct refusal refusals[REFUSALS_MAX];
    uint32_t refusals_n;
    uint64_t refused_otherwise;   /* samples of more reasons */
    struct arena arena;           /* histograms that are held at a sample's time */
    struct store_txn *lookup_txn; /* opened when a late sample must be compared with the store */
};
int apply_request(struct apply *a, struct err *e);
/* An admit_held_fn over a struct held_at (held.c). */
struct held_at {
    struct apply *apply;
    uint32_t series;
};
bool held_at(void *ctx, int64_t time_ms, struct sample *ret);
void apply_clock(struct ingest *in, const struct apply *a);

void refresh_register(void); /* statistics print as 0 from the start */
int refresh_due(struct ingest *in, int64_t now_ms, struct err *e);
int backfill_step(struct ingest *in, bool *ret_more, struct err *e);
int checkpoint_run(struct ingest *in, struct err *e);
int checkpoint_load(struct ingest *in, struct err *e);
/* ingest.unplanned_ms in the store. */
int unplanned_load(struct ingest *in, struct store_txn *t, struct err *e);
int unplanned_put(struct store_txn *t, int64_t oldest_ms, struct err *e);
/* Dirty sets of sealed windows, as the last checkpoint kept them, into the groups of the same grid. */
int dirty_load(struct store_txn *t, struct windows *w, struct err *e);
int retention_run(struct ingest *in, struct err *e);

/* One refresh of `views` (indices into the group) at end_ms; a whole run, or only the series given. Counts statistics.
 */
int group_refresh(struct ingest *in, struct group_state *g, int64_t end_ms, const uint32_t *views, uint32_t views_n,
                  const uint32_t *series, uint32_t series_n, struct shared_window **ret, struct err *e);
/* Write a window's states of one view: blocks and manifest. */
int window_put(struct store_txn *t, const struct view_state *v, int64_t end_ms, const struct window_states *states,
               struct err *e);

void snapshot_source_init(struct ingest *in);

struct metadata_table *metadata_new(void);
void metadata_free(struct metadata_table *t);
void metadata_set(struct metadata_table *t, const struct wire_metadata *m);

#endif
