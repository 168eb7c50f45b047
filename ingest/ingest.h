/*
 * Ingestion: one object that owns the catalog, the head, the log and the panes' life over one data directory.
 *
 *     ingest_write:  decompress, walk (no lock), admit, log, append  any thread; one request at a time inside the lock
 *     ingest_tick:   early refresh, sealing, commit, checkpoint, retention    one maintenance thread
 *     ingest_source: what queries read                               any thread
 *
 * Time is told: every call that needs it takes now_ms. Locks: one rwlock over catalog, head, dirty sets and window
 * table; held for reading while a snapshot copies, for writing while one request is applied; never across a disk read
 * or sync.
 */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

#include "base/pool.h"
#include "plan/plan.h"
#include "store/source.h"

enum wal_fsync { WAL_FSYNC_INTERVAL = 1, WAL_FSYNC_ALWAYS };

struct ingest_options {
    int64_t max_future_ms;    /* 10 m */
    int64_t late_horizon_ms;  /* 2 h */
    int64_t lateness_ms;      /* 30 s */
    int64_t raw_retention_ms; /* 15 d; raised to late_horizon + the widest refresh window */
    int64_t checkpoint_ms;    /* 60 s */
    enum wal_fsync wal_fsync; /* interval: the caller's tick syncs every 100 ms */
    uint32_t series_max;      /* 0 = 10,000,000 */
    uint32_t label_bytes_max; /* of one label set; 0 = 64 KiB */
    uint32_t view_groups_max; /* groups that a view by labels keeps apart; 0 = 2^20 */
    size_t body_max;          /* decompressed; 0 = WRITE_BODY_MAX */
    bool refresh_per_view;    /* tests only: one run per view instead of per group */
    bool read_only;           /* over a store opened read-only and alone: for queries; no writes, ticks or checkpoint */
};
void ingest_options_default(struct ingest_options *o);

struct ingest;
struct ingest_report { /* what opening found and did */
    uint64_t replayed_records, replayed_samples;
    uint32_t series;
    char damage[512]; /* "" or a sentence to log */
};
/* Open over an open store: load catalog and checkpoint, replay the log. `plan` may be NULL and is set later by
 * ingest_set_plan. */
int ingest_open(struct store *store, const struct ingest_options *o, struct pool *pool, struct ingest **ret,
                struct ingest_report *report, struct err *e);
/* Final checkpoint unless read-only; no pane is published early. NULL-safe. */
void ingest_close(struct ingest *in);

/*
 * The plan in force; kept by the caller until another is set or ingest_close. Finds or makes the store numbers of its
 * views and plans backfill; views that were in force before go on where they are, others in the store are freed. On an
 * error the plan before stays. Any thread; waits for the window that is being refreshed.
 */
int ingest_set_plan(struct ingest *in, const struct plan *plan, struct err *e);

struct write_result {
    uint64_t samples_applied, samples_duplicate, samples_refused;
    uint32_t series_new;
    char refused[512]; /* first few reasons, equal ones counted; "" if none: the body of the 400 */
};
/*
 * `body` as received. `sender` keeps the buffers of one connection. Returns 0 (204), or with
 * nothing stored ERR_BAD_DATA / ERR_TOO_LARGE (malformed), ERR_DISK_FULL, ERR_OVERLOAD. When some samples are refused
 * and the rest stored it returns 0 and samples_refused > 0: the answer is 400 with `refused`.
 */
struct sender; /* ingest_sender_new per connection, one request at a time; NULL works, slower */
struct sender *ingest_sender_new(void);
void ingest_sender_free(struct sender *s);
int ingest_write(struct ingest *in, struct sender *sender, struct str body, int64_t receive_ms,
                 struct write_result *ret, struct err *e);

/* Work that is due at now_ms, for checkpoint_ms of real time at most; returns soon when none is. */
int ingest_tick(struct ingest *in, int64_t now_ms, struct err *e);
/* A tick that runs, and every later one, returns after the window it is at. Any thread, for good. */
void ingest_stop(struct ingest *in);
/* fdatasync the log now (the 100 ms timer, or before exit). */
int ingest_sync(struct ingest *in, struct err *e);
/* Windows of the plan, and results of its stored roots, that still wait for backfill. */
uint32_t ingest_backfill_left(struct ingest *in);

const struct source *ingest_source(struct ingest *in);

struct ingest_view_status {
    uint32_t store_view;
    int64_t complete_from_ms, sealed_to_ms;
    uint32_t early_windows, dirty_series;
    uint32_t groups; /* of a view by labels: those that some window has a state of */
};
void ingest_view_status(struct ingest *in, const uint8_t identity[IDENTITY_BYTES], struct ingest_view_status *ret);

/* complete_from INT64_MAX, sealed_to INT64_MIN: no results yet. */
struct ingest_root_status {
    int64_t complete_from_ms, sealed_to_ms;
    uint32_t dirty_spans; /* of times with late samples, to be computed again */
    uint32_t holes;       /* spans of times whose result cannot be kept */
};
void ingest_root_status(struct ingest *in, const uint8_t identity[IDENTITY_BYTES], struct ingest_root_status *ret);

struct metadata_entry {
    struct str metric, type, help, unit;
};
/* Metadata sent by remote write, sorted by metric; in `a`. */
int ingest_metadata(struct ingest *in, struct arena *a, struct metadata_entry **ret, uint32_t *ret_n, struct err *e);
int64_t ingest_watermark(struct ingest *in);

#endif
