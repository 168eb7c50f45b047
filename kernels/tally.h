/*
 * Few items counted exactly: a hash table while a state is built or joined, and the list of (item, weight) as bytes.
 *
 *   | off    | type    | field                                                           |
 *   |--------|---------|-----------------------------------------------------------------|
 *   | 0      | u32     | items D                                                         |
 *   | 4      | u64[D]  | items, rising                                                   |
 *   | 4 + 8D | varint  | D weights; zigzag where they may be negative; real ones as f64  |
 *
 * An item stays in the list when its weights cancel to 0, so which items are listed never depends on their order. The
 * list is a function of the multiset of (item, weight).
 */
#ifndef KERNELS_TALLY_H
#define KERNELS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/counters.h"

struct tally {
    uint64_t *items, *words; /* in the order they came */
    uint32_t *slots;         /* index + 1 of an item, 0 = free; found from the item's hash */
    uint32_t n, most, mask;
    bool is_real;
};

#define TALLY_NONE UINT32_MAX

/* Scratch of a tally of at most `most` items, with what writing it takes. */
size_t tally_room(uint64_t most);
struct tally tally_new(uint8_t **scratch, uint32_t most, bool is_real);

/* The item's slot, or the free one where it belongs. */
static inline uint32_t tally_slot(const struct tally *t, uint64_t hash, uint64_t item)
{
    uint32_t at = (uint32_t)(hash >> 32) & t->mask;
    while (t->slots[at] != 0 && t->items[t->slots[at] - 1] != item)
        at = (at + 1) & t->mask;
    return at;
}
/* Index of the item, TALLY_NONE if it is not there. `hash` is one function of the item throughout. */
static inline uint32_t tally_find(const struct tally *t, uint64_t hash, uint64_t item)
{
    return t->slots[tally_slot(t, hash, item)] - 1; /* 0 - 1 is TALLY_NONE */
}
/* Adds word to the item's weight. Its index, or TALLY_NONE when it is a new one and there are `most` already. */
uint32_t tally_add(struct tally *t, uint64_t hash, uint64_t item, uint64_t word);
/* Forgets all items. */
void tally_clear(struct tally *t);

/* Most bytes of a list of n items. */
size_t tally_list_bound(uint64_t n);
/* The list's bytes; room for tally_list_bound(t->n) is there. Items are found again by their hash with `seed`. Returns
 * the byte after it. `scratch` has 16 bytes an item. */
uint8_t *tally_write(const struct tally *t, bool is_signed, uint64_t seed, uint8_t *dst, uint8_t *scratch);

/* A walk over a list. */
struct tally_list {
    const uint8_t *items, *p, *end;
    uint32_t n, at;
    bool is_signed, is_real;
};
/* The list at bytes[0..size), which tally_validate has accepted. */
struct tally_list tally_open(const uint8_t *bytes, size_t size, bool is_signed, bool is_real);
bool tally_next(struct tally_list *l, uint64_t *ret_item, uint64_t *ret_word);
/* The next of them, at most `most`; their words as doubles' where as_real. Returns how many; 0 at the end. */
uint32_t tally_next_many(struct tally_list *l, uint32_t most, bool as_real, uint64_t *ret_items, uint64_t *ret_words);
/* The word of one item; 0 (which is 0.0 as well) when it is not listed. */
uint64_t tally_lookup(struct tally_list l, uint64_t item);

/* Is this a list of most_items at most, nothing behind it? NULL, or why not. *ret: the absolute sum of its weights.
 */
const char *tally_validate(const uint8_t *bytes, size_t size, bool is_signed, bool is_real, uint64_t most_items,
                           struct mass *ret);

#endif
