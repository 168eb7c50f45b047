/*
 * The one snapshot of a query or a refresh: what matches, what the head holds, which windows have states, and which
 * series are dirty in them. Declared here so that the executor reads the head without knowing ingest;
 * ingest/snapshot.c implements it.
 *
 * Order (the snapshot rule): `snapshot` copies from the head under its lock; only then is the store transaction opened.
 * So every acknowledged sample is in one of the two (or in both: readers drop the second of two equal times).
 */
#ifndef STORE_SOURCE_H
#define STORE_SOURCE_H

#include "base/histogram.h"
#include "base/matcher.h"
#include "store/catalog.h"
#include "store/pane.h"

enum { SOURCE_NO_VIEW = UINT32_MAX };

/* A view that rolls up the one a request reads: panes of its own width and phase. */
struct source_rollup {
    const uint8_t *identity; /* 16 bytes */
    int64_t width_ms, phase_ms;
};

/* Samples of the matching series with start_ms < t <= end_ms. */
struct source_request {
    const struct matcher *matchers;
    uint32_t matchers_n;
    int64_t start_ms, end_ms;
    /*
     * A reader of panes names its views (all of one width and phase): windows with ends in (start_ms, end_ms] are
     * listed in the result, and head samples are copied only where states do not serve (see source_series.raw_from_ms).
     * Raw readers leave n 0.
     *
     * A reader that keeps panes itself names no view but a grid, (width_ms, phase_ms): the result then has the
     * revisions of its windows, and samples as a raw reader's has.
     */
    const uint8_t (*identities)[16];
    uint32_t identities_n;
    int64_t width_ms, phase_ms;
    /*
     * The views named hold states by labels. A window in which any matching series is dirty then serves nobody: the
     * run of windows that covered_ms ends stops before it, every series has raw_from_ms = covered_ms, and the result
     * lists the label sets behind the slots (groups).
     */
    bool grouped;
    const struct source_rollup *rollups; /* whose windows within the span are listed too */
    uint32_t rollups_n;
    /* Instant selectors at one time: of each series the newest of these samples is enough, and others may be left out.
     */
    bool newest_only;
    bool want_histograms; /* false: the head's are not copied, and nothing says which there are */
};

enum window_status {
    WINDOW_MISSING = 1, /* no states: read raw */
    WINDOW_EMPTY,       /* before the oldest sample there ever was: no samples, so no states */
    WINDOW_EARLY,       /* refreshed, not sealed: blocks in memory */
    WINDOW_SEALED       /* blocks and manifest in the store */
};

/* States of one (view, window) in memory; immutable, shared, freed at the last release. */
struct window_block {
    struct pane_key key;
    struct str bytes;
};
struct window_states {
    const struct window_block *blocks; /* by (metric, shard) */
    uint32_t blocks_n;
};

struct source_window {
    int64_t end_ms;
    enum window_status status;
    const struct window_states *early; /* WINDOW_EARLY */
    /* Of a roll-up: ids of the series whose states are not to be trusted, ascending. */
    const uint32_t *dirty;
    uint32_t dirty_n;
};
/* Windows of a roll-up that lie wholly in the span, ascending by end; any of them may be missing. */
struct source_level {
    struct source_window *windows;
    uint32_t windows_n;
    uint32_t view; /* store view number, SOURCE_NO_VIEW if the store has none yet */
};

struct source_series {
    uint32_t id, metric, ordinal;
    struct labels labels;
    int64_t store_to_ms; /* the head holds every sample newer than this; older ones are in the store */
    /* Samples at or before this need no raw: states serve them. start_ms for raw readers; for a pane reader covered_ms,
     * or where the first window begins in which the series is dirty. */
    int64_t raw_from_ms;
    const void *packed; /* the head's samples with t > max(start_ms, raw_from_ms): source_result.unpack reads them */
    uint32_t packed_n;  /* most samples in it; 0 without any */
    /* Native histograms of the same span: source_result.unpack_histograms reads them. NULL, 0 when they are not wanted.
     */
    const void *packed_histograms;
    uint32_t packed_histograms_n;
};

/* A slot of a view by labels: shard number / 1024, slot number % 1024, in blocks of metric 0. Where groups lack their
 * states blocks are PANE_INCOMPLETE: the group's own, or, of groups that are not listed, all of the window, that of
 * shard 0 among them. */
struct source_group {
    uint32_t number;
    struct labels labels;
};

struct source_result {
    struct source_series *series; /* ascending by (metric, ordinal) */
    uint32_t series_n;
    /* Samples packed in a series with start < t <= end: ascending, unique times, stale markers included, as bits. The
     * arrays have room for packed_n + FRAME_SLACK. Returns how many. Needs no lock: the packed bytes are the result's.
     */
    uint32_t (*unpack)(const void *packed, int64_t start_ms, int64_t end_ms, int64_t *times_ms, double *values);
    /* Native histograms packed in a series with start < t <= end, in any order; two of one time are the same. The
     * arrays have room for packed_histograms_n; what `histograms` points to is in `a`. Stale markers among them are
     * with the floats. Needs no lock. ERR_LIMIT when the arena is full. May be NULL when no series has any. */
    int (*unpack_histograms)(const void *packed, int64_t start_ms, int64_t end_ms, struct arena *a, int64_t *times_ms,
                             const struct histogram **histograms, uint32_t *ret_n, struct err *e);
    bool histograms_wanted; /* as the request said */
    /* Some series may have histograms in the span. States are of numbers alone: where their readers meet it, raw
     * samples must answer. */
    bool histograms_met;
    struct source_window **windows; /* [identities_n] arrays, ascending by end */
    uint32_t windows_n;
    /* [windows_n] for a grid without views, else NULL. 0: the window is not sealed. Otherwise the samples in it are
     * those of every snapshot, of this source in this process, that gives it the same number; what comes later raises
     * it. */
    const uint64_t *revisions;
    const uint32_t *views;       /* [identities_n] store view numbers, SOURCE_NO_VIEW if the store has none yet */
    struct source_level *levels; /* [rollups_n] */
    /* Of a grouped request: for each identity all groups there may be states of, ascending by number. */
    const struct source_group **groups;
    const uint32_t *groups_n;
    int64_t covered_ms; /* end of the unbroken run of windows with states from start_ms; start_ms without views */
    int64_t watermark_ms;
    void *held; /* the source's own: what release lets go */
};

/* A stored root as it stands: results at the times of its grid in (complete_from_ms, sealed_to_ms], but for `unfit`. */
struct source_span {
    int64_t from_ms, to_ms; /* [from, to) */
};
struct source_root {
    uint32_t number; /* in the store; SOURCE_NO_VIEW: unknown */
    int64_t complete_from_ms, sealed_to_ms;
    /* Late samples came for them, or they could not be kept: to be computed. In any order; those that meet the span
     * asked. */
    const struct source_span *unfit;
    uint32_t unfit_n;
};

struct source {
    void *ctx;
    struct store *store;
    /* Fill ret[n], memory in `a`, all n from one moment. Pair with release (also after failure: zeroed then). */
    int (*snapshot)(void *ctx, const struct source_request *requests, uint32_t n, struct arena *a,
                    struct source_result *ret, struct err *e);
    void (*release)(void *ctx, struct source_result *results, uint32_t n);
    /*
     * The stored root of this identity, for times in [start_ms, end_ms]; memory in `a`. Ask before `snapshot`, since
     * what is to be computed must be known by then, and again afterwards: results that are fit both times were so in
     * between. NULL: there are no stored roots. `root_doubt` tells the source that the result at a time is lost or
     * damaged: it counts that, and mends it.
     */
    int (*root)(void *ctx, const uint8_t identity[16], int64_t start_ms, int64_t end_ms, struct arena *a,
                struct source_root *ret, struct err *e);
    void (*root_doubt)(void *ctx, const uint8_t identity[16], int64_t time_ms);
    /* Metadata calls: names, values, series (all matched, whatever their time, or with samples in the span when the
     * source knows). */
    int (*label_names)(void *ctx, const struct matcher *m, uint32_t n, struct arena *a, struct str **ret,
                       uint32_t *ret_n, struct err *e);
    int (*label_values)(void *ctx, struct str name, const struct matcher *m, uint32_t n, struct arena *a,
                        struct str **ret, uint32_t *ret_n, struct err *e);
};

#endif
