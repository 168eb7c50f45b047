/*
 * Panes kept on first read, in the memory of the process that read them: windows by (view identity, sketch seed, window
 * end), the states of all series of each, least recently used out first once they hold more bytes than the limit.
 *
 * A window is immutable and shared: a reader holds a reference, whatever becomes of the entry. It has the revision that
 * the source gave the window when its samples were read (store/source.h) and serves only those who see the same
 * revision; so nobody is ever told to forget: what came late gives the window another revision, and whoever reads it
 * next builds it again. Any number of threads.
 */
#ifndef EXECUTOR_PANE_CACHE_H
#define EXECUTOR_PANE_CACHE_H

#include "plan/ids.h"
#include "store/source.h"

struct pane_cache;

struct pane_cache_key {
    uint8_t identity[IDENTITY_BYTES]; /* of the view */
    uint64_t seed;                    /* the plan's sketch seed */
    int64_t end_ms;
};

struct kept_window {
    _Atomic uint32_t refs;
    uint64_t revision;
    struct arena arena; /* owns the states */
    struct window_states states;
};
/* One reference, the caller's; limit_bytes as an arena has it. */
struct kept_window *kept_window_new(uint64_t revision, size_t limit_bytes);
void kept_window_unref(struct kept_window *w); /* NULL-safe */

struct pane_cache *pane_cache_new(uint64_t limit_bytes);
void pane_cache_free(struct pane_cache *c); /* NULL-safe; nobody may be in it */
/* The window with a reference for the caller, or NULL when it is not there in this revision. */
struct kept_window *pane_cache_find(struct pane_cache *c, const struct pane_cache_key *key, uint64_t revision);
/* Keep it, in place of an older revision. Newer ones stay, and what is over the limit by itself is not kept. */
void pane_cache_put(struct pane_cache *c, const struct pane_cache_key *key, struct kept_window *w);

#endif
