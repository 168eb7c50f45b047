/*
 * Where each refresh group stands: which windows have states, which wait in memory, which series are dirty in them.
 *
 *     ... sealed_to_ms          early_to_ms             newest
 *     [stored][stored]|[early: in memory][early]|[still growing]
 *
 * A window is refreshed early when event time passes its end, kept in memory, and sealed (dirty states rebuilt, all
 * committed) when the watermark passes it. A sample that arrives for a window at or before early_to_ms makes its series
 * dirty in it.
 *
 * Not locked inside: ingest's lock for writing around changes, for reading around reads.
 */
#ifndef INGEST_WINDOWS_H
#define INGEST_WINDOWS_H

#include <roaring/roaring.h>

#include "ingest/label_sets.h"
#include "plan/plan.h"
#include "store/source.h"

/* States of one refreshed window in memory, one entry a view of the group; immutable, shared with queries. */
struct shared_window {
    _Atomic uint32_t refs;
    struct arena arena; /* owns everything below */
    struct window_states *views;
};
void shared_window_ref(struct shared_window *s);
void shared_window_unref(struct shared_window *s); /* NULL-safe */

/* Series whose states of one window are not to be trusted: read from raw. */
struct dirty_window {
    int64_t end_ms;
    roaring_bitmap_t *series;     /* touched since the states were read */
    roaring_bitmap_t *rebuilding; /* touched before the rebuild that runs now; NULL when none does */
};
struct dirty_set {
    struct dirty_window *windows; /* ascending by end */
    uint32_t n;
    size_t cap;
};
void dirty_add(struct dirty_set *d, int64_t end_ms, uint32_t series);
const struct dirty_window *dirty_find(const struct dirty_set *d, int64_t end_ms); /* NULL when clean */
/* Begin a rebuild: what is dirty now becomes `rebuilding` (readers still see it) and is returned; NULL when clean. */
const roaring_bitmap_t *dirty_rebuild(struct dirty_set *d, int64_t end_ms);
/* The rebuild is over: done, or failed (then its series are dirty as before). */
void dirty_rebuilt(struct dirty_set *d, int64_t end_ms, bool done);
void dirty_drop(struct dirty_set *d, int64_t upto_ms); /* forget ends <= upto_ms */
void dirty_cut(struct dirty_set *d, int64_t upto_ms);  /* forget ends > upto_ms */
void dirty_done(struct dirty_set *d);

struct early_window {
    int64_t end_ms;
    struct shared_window *states; /* NULL while the refresh runs; its samples are dirty from the start of it */
};

struct view_state {
    uint32_t plan_view, store_view;
    bool by_labels;
    struct label_sets groups; /* of a view by labels (view_groups.h) */
    uint8_t identity[IDENTITY_BYTES];
    int64_t retention_ms;
    int64_t complete_from_ms; /* INT64_MAX: nothing */
    int64_t sealed_to_ms;     /* of what is in the store */
    int64_t backfill_from_ms; /* windows with ends in (this, complete_from_ms] are still to be built; equal when done */
};

struct group_state {
    struct grid window;
    struct view_state *views;
    uint32_t views_n;
    int64_t early_to_ms, sealed_to_ms; /* INT64_MIN before the first sample */
    struct early_window *early;        /* ascending; ends in (sealed_to_ms, early_to_ms] */
    uint32_t early_n;
    size_t early_cap;
    struct dirty_set dirty;
};

struct windows {
    struct group_state *groups;
    uint32_t groups_n;
    int64_t newest_refreshed_ms; /* max of all early_to_ms: samples newer than this are clean everywhere */
};

void windows_done(struct windows *w);
struct group_state *windows_group(struct windows *w, struct grid window); /* NULL when there is none */
/* A sample was stored at time_ms: dirty wherever its window was refreshed already. */
void windows_mark(struct windows *w, uint32_t series, int64_t time_ms);
/* The group and view of an identity, or false. */
bool windows_find(const struct windows *w, const uint8_t identity[IDENTITY_BYTES], struct group_state **group,
                  uint32_t *ret_view);
struct early_window *group_early(struct group_state *g, int64_t end_ms); /* NULL when there is none */
struct early_window *group_early_add(struct group_state *g, int64_t end_ms);
void group_early_drop(struct group_state *g, int64_t upto_ms);

#endif
