#include "executor/pane_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/stats.h"

static struct stat bytes_held = STAT_GAUGE("mullion_kept_panes_bytes", "", "Memory of panes kept on first read"),
                   hits =
                       STAT_COUNTER("mullion_kept_panes_hits_total", "", "Windows read from panes kept on first read"),
                   builds = STAT_COUNTER("mullion_kept_panes_builds_total", "", "Windows built on first read"),
                   evictions = STAT_COUNTER("mullion_kept_panes_evictions_total", "",
                                            "Windows kept on first read and dropped for their memory");

#define NONE UINT32_MAX
enum { ENTRY_BYTES = sizeof(struct kept_window) + 128 /* its place in the cache */ };

/* In use, it is in the list by time of use; free, in the list of free ones by `older`. */
struct entry {
    struct pane_cache_key key;
    struct kept_window *window;
    uint64_t bytes;
    uint32_t newer, older;
};

struct pane_cache {
    pthread_mutex_t lock;
    struct map by_key;
    struct entry *entries;
    size_t cap;
    uint32_t n, free; /* entries made; first free one */
    uint32_t newest, oldest;
    uint64_t bytes, limit_bytes;
};

struct kept_window *kept_window_new(uint64_t revision, size_t limit_bytes)
{
    struct kept_window *w = mem_zalloc(sizeof *w);
    atomic_init(&w->refs, 1);
    w->revision = revision;
    arena_init(&w->arena, limit_bytes);
    return w;
}

void kept_window_unref(struct kept_window *w)
{
    if (!w || atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_done(&w->arena);
    mem_free(w);
}

struct pane_cache *pane_cache_new(uint64_t limit_bytes)
{
    struct pane_cache *c = mem_zalloc(sizeof *c);
    struct stat *const all[] = {&bytes_held, &hits, &builds, &evictions};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        stat_register(all[i]);
    pthread_mutex_init(&c->lock, NULL);
    map_init(&c->by_key);
    c->limit_bytes = limit_bytes;
    c->free = c->newest = c->oldest = NONE;
    return c;
}

static uint64_t key_hash(const struct pane_cache_key *key)
{
    uint64_t h; /* identities are hashes already */
    memcpy(&h, key->identity, sizeof h);
    h = (h ^ key->seed ^ (uint64_t)key->end_ms) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

struct wanted {
    const struct pane_cache *cache;
    const struct pane_cache_key *key;
};

static bool same_key(const void *ctx, uint32_t entry)
{
    const struct wanted *w = ctx;
    const struct pane_cache_key *a = &w->cache->entries[entry].key, *b = w->key;
    return a->end_ms == b->end_ms && a->seed == b->seed && memcmp(a->identity, b->identity, IDENTITY_BYTES) == 0;
}

static uint64_t hash_of(const void *ctx, uint32_t entry)
{
    const struct wanted *w = ctx;
    return key_hash(&w->cache->entries[entry].key);
}

static uint32_t find(const struct pane_cache *c, const struct pane_cache_key *key)
{
    struct wanted w = {c, key};
    int64_t found = map_find(&c->by_key, key_hash(key), same_key, &w);
    return found < 0 ? NONE : (uint32_t)found;
}

static void unlink_entry(struct pane_cache *c, uint32_t id)
{
    struct entry *v = &c->entries[id];
    *(v->newer == NONE ? &c->newest : &c->entries[v->newer].older) = v->older;
    *(v->older == NONE ? &c->oldest : &c->entries[v->older].newer) = v->newer;
}

static void link_newest(struct pane_cache *c, uint32_t id)
{
    struct entry *v = &c->entries[id];
    v->newer = NONE;
    v->older = c->newest;
    *(c->newest == NONE ? &c->oldest : &c->entries[c->newest].newer) = id;
    c->newest = id;
}

static void drop(struct pane_cache *c, uint32_t id)
{
    struct entry *v = &c->entries[id];
    struct wanted w = {c, &v->key};
    map_remove(&c->by_key, key_hash(&v->key), id, hash_of, &w);
    unlink_entry(c, id);
    c->bytes -= v->bytes;
    stat_add(&bytes_held, -(int64_t)v->bytes);
    kept_window_unref(v->window);
    v->window = NULL;
    v->older = c->free;
    c->free = id;
}

void pane_cache_free(struct pane_cache *c)
{
    if (!c)
        return;
    while (c->newest != NONE)
        drop(c, c->newest);
    map_done(&c->by_key);
    mem_free(c->entries);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

struct kept_window *pane_cache_find(struct pane_cache *c, const struct pane_cache_key *key, uint64_t revision)
{
    struct kept_window *ret = NULL;
    pthread_mutex_lock(&c->lock);
    uint32_t id = find(c, key);
    if (id != NONE && c->entries[id].window->revision == revision) {
        ret = c->entries[id].window;
        atomic_fetch_add_explicit(&ret->refs, 1, memory_order_relaxed);
        unlink_entry(c, id);
        link_newest(c, id);
        stat_add(&hits, 1);
    }
    pthread_mutex_unlock(&c->lock);
    return ret;
}

static uint32_t take_entry(struct pane_cache *c)
{
    uint32_t id = c->free;
    if (id != NONE) {
        c->free = c->entries[id].older;
        return id;
    }
    c->entries = mem_grow(c->entries, &c->cap, c->n + (size_t)1, sizeof *c->entries);
    return c->n++;
}

void pane_cache_put(struct pane_cache *c, const struct pane_cache_key *key, struct kept_window *w)
{
    uint64_t bytes = ENTRY_BYTES + w->arena.used_bytes;
    stat_add(&builds, 1);
    pthread_mutex_lock(&c->lock);
    uint32_t id = find(c, key);
    bool newer = id != NONE && c->entries[id].window->revision >= w->revision;
    if (id != NONE && !newer)
        drop(c, id);
    if (!newer && bytes <= c->limit_bytes) {
        for (; c->bytes + bytes > c->limit_bytes; stat_add(&evictions, 1))
            drop(c, c->oldest);
        id = take_entry(c);
        c->entries[id] = (struct entry){.key = *key, .window = w, .bytes = bytes};
        atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
        struct wanted wanted = {c, key};
        map_add(&c->by_key, key_hash(key), id, hash_of, &wanted);
        link_newest(c, id);
        c->bytes += bytes;
        stat_add(&bytes_held, (int64_t)bytes);
    }
    pthread_mutex_unlock(&c->lock);
}
