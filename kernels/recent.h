/*
 * Items that came a moment ago: a direct-mapped cache in front of counters. Streams repeat few items often; their
 * weights are added up here and reach the counters once for many. What is in the cache must be taken out at the end.
 * Adding up first changes no whole sum.
 */
#ifndef KERNELS_RECENT_H
#define KERNELS_RECENT_H

#include "kernels/carve.h"
#include "kernels/counters.h"

enum { RECENT_SLOTS = 1024 };
#define RECENT_FREE BITS_NAN /* the word of a free slot: neither a whole weight below 2^62 nor a finite one */

struct recent {
    uint64_t *items, *words;
};

static inline size_t recent_room(void)
{
    return 2 * carve_size(RECENT_SLOTS * 8);
}
static inline void recent_clear(struct recent *r)
{
    for (uint32_t i = 0; i < RECENT_SLOTS; i++)
        r->words[i] = RECENT_FREE;
}
/* To be cleared before it is used. */
static inline struct recent recent_new(uint8_t **scratch)
{
    struct recent r;
    r.items = carve(scratch, RECENT_SLOTS * 8);
    r.words = carve(scratch, RECENT_SLOTS * 8);
    return r;
}

/* Adds (item, word). True: another item has to leave for it. */
static inline bool recent_add(struct recent *r, uint64_t hash, uint64_t item, uint64_t word, bool is_real,
                              uint64_t *ret_item, uint64_t *ret_word)
{
    uint32_t slot = (uint32_t)hash & (RECENT_SLOTS - 1);
    uint64_t there = r->words[slot];
    if (r->items[slot] == item && there != RECENT_FREE) {
        r->words[slot] = counters_word_add(there, word, is_real);
        return false;
    }
    *ret_item = r->items[slot];
    *ret_word = there;
    r->items[slot] = item;
    r->words[slot] = word;
    return there != RECENT_FREE;
}

/* Has the item come a moment ago? It has now. */
static inline bool recent_saw(struct recent *r, uint64_t hash, uint64_t item)
{
    uint64_t other, word;
    uint32_t slot = (uint32_t)hash & (RECENT_SLOTS - 1);
    if (r->items[slot] == item && r->words[slot] != RECENT_FREE)
        return true;
    recent_add(r, hash, item, 0, false, &other, &word);
    return false;
}

#endif
