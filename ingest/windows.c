#include "ingest/windows.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/duration.h"

void shared_window_ref(struct shared_window *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

void shared_window_unref(struct shared_window *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_done(&s->arena);
    mem_free(s);
}

/* ---- dirty sets ---- */

static uint32_t dirty_place(const struct dirty_set *d, int64_t end_ms)
{
    uint32_t low = 0, high = d->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->windows[middle].end_ms < end_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void dirty_add(struct dirty_set *d, int64_t end_ms, uint32_t series)
{
    uint32_t at = dirty_place(d, end_ms);
    if (at == d->n || d->windows[at].end_ms != end_ms) {
        d->windows = mem_grow(d->windows, &d->cap, d->n + 1u, sizeof *d->windows);
        memmove(d->windows + at + 1, d->windows + at, (d->n - at) * sizeof *d->windows);
        d->windows[at] = (struct dirty_window){end_ms, roaring_bitmap_create(), NULL};
        d->n++;
    }
    roaring_bitmap_add(d->windows[at].series, series);
}

static struct dirty_window *dirty_at(const struct dirty_set *d, int64_t end_ms)
{
    uint32_t at = dirty_place(d, end_ms);
    return at < d->n && d->windows[at].end_ms == end_ms ? &d->windows[at] : NULL;
}

const struct dirty_window *dirty_find(const struct dirty_set *d, int64_t end_ms)
{
    return dirty_at(d, end_ms);
}

const roaring_bitmap_t *dirty_rebuild(struct dirty_set *d, int64_t end_ms)
{
    struct dirty_window *w = dirty_at(d, end_ms);
    if (!w)
        return NULL;
    MUST(!w->rebuilding);
    w->rebuilding = w->series;
    w->series = roaring_bitmap_create();
    return w->rebuilding;
}

static void dirty_remove(struct dirty_set *d, struct dirty_window *w)
{
    roaring_bitmap_free(w->series);
    if (w->rebuilding)
        roaring_bitmap_free(w->rebuilding);
    memmove(w, w + 1, (size_t)(d->windows + d->n - (w + 1)) * sizeof *w);
    d->n--;
}

void dirty_rebuilt(struct dirty_set *d, int64_t end_ms, bool done)
{
    struct dirty_window *w = dirty_at(d, end_ms);
    if (!w || !w->rebuilding)
        return;
    if (!done)
        roaring_bitmap_or_inplace(w->series, w->rebuilding);
    roaring_bitmap_free(w->rebuilding);
    w->rebuilding = NULL;
    if (roaring_bitmap_is_empty(w->series))
        dirty_remove(d, w);
}

void dirty_drop(struct dirty_set *d, int64_t upto_ms)
{
    while (d->n && d->windows[0].end_ms <= upto_ms)
        dirty_remove(d, &d->windows[0]);
}

void dirty_cut(struct dirty_set *d, int64_t upto_ms)
{
    while (d->n && d->windows[d->n - 1].end_ms > upto_ms)
        dirty_remove(d, &d->windows[d->n - 1]);
}

void dirty_done(struct dirty_set *d)
{
    dirty_drop(d, INT64_MAX);
    mem_free(d->windows);
    *d = (struct dirty_set){0};
}

/* ---- groups ---- */

struct group_state *windows_group(struct windows *w, struct grid window)
{
    for (uint32_t i = 0; i < w->groups_n; i++)
        if (w->groups[i].window.step_ms == window.step_ms && w->groups[i].window.phase_ms == window.phase_ms)
            return &w->groups[i];
    return NULL;
}

void windows_done(struct windows *w)
{
    for (uint32_t i = 0; i < w->groups_n; i++) {
        struct group_state *g = &w->groups[i];
        group_early_drop(g, INT64_MAX);
        mem_free(g->early);
        dirty_done(&g->dirty);
        for (uint32_t j = 0; j < g->views_n; j++)
            label_sets_done(&g->views[j].groups);
        mem_free(g->views);
    }
    mem_free(w->groups);
    *w = (struct windows){0};
}

void windows_mark(struct windows *w, uint32_t series, int64_t time_ms)
{
    if (time_ms > w->newest_refreshed_ms)
        return;
    for (uint32_t i = 0; i < w->groups_n; i++) {
        struct group_state *g = &w->groups[i];
        int64_t end_ms = grid_ceil(g->window, time_ms);
        if (end_ms <= g->early_to_ms)
            dirty_add(&g->dirty, end_ms, series);
    }
}

bool windows_find(const struct windows *w, const uint8_t identity[IDENTITY_BYTES], struct group_state **group,
                  uint32_t *ret_view)
{
    for (uint32_t i = 0; i < w->groups_n; i++)
        for (uint32_t j = 0; j < w->groups[i].views_n; j++)
            if (memcmp(w->groups[i].views[j].identity, identity, IDENTITY_BYTES) == 0) {
                *group = &w->groups[i];
                *ret_view = j;
                return true;
            }
    return false;
}

struct early_window *group_early(struct group_state *g, int64_t end_ms)
{
    for (uint32_t i = 0; i < g->early_n; i++)
        if (g->early[i].end_ms == end_ms)
            return &g->early[i];
    return NULL;
}

/* Windows are refreshed in order of time, so a new one is the newest. */
struct early_window *group_early_add(struct group_state *g, int64_t end_ms)
{
    g->early = mem_grow(g->early, &g->early_cap, g->early_n + 1u, sizeof *g->early);
    struct early_window *w = &g->early[g->early_n++];
    *w = (struct early_window){.end_ms = end_ms};
    return w;
}

void group_early_drop(struct group_state *g, int64_t upto_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->early_n; i++) {
        if (g->early[i].end_ms <= upto_ms)
            shared_window_unref(g->early[i].states);
        else
            g->early[kept++] = g->early[i];
    }
    g->early_n = kept;
}
