#include "kernels/tally.h"

#include <math.h>
#include <string.h>

#include "kernels/carve.h"
#include "kernels/order.h"

enum { WORD_SIZE_MAX = 9 }; /* of a varint below 2^63 */

static uint64_t slots_for(uint64_t most)
{
    uint64_t slots = 16;
    while (slots < 2 * most)
        slots *= 2;
    return slots;
}

size_t tally_room(uint64_t most)
{
    return 4 * carve_size(most * 8) + carve_size(slots_for(most) * sizeof(uint32_t));
}

struct tally tally_new(uint8_t **scratch, uint32_t most, bool is_real)
{
    struct tally t = {.most = most, .mask = (uint32_t)slots_for(most) - 1, .is_real = is_real};
    t.items = carve(scratch, (uint64_t)most * 8);
    t.words = carve(scratch, (uint64_t)most * 8);
    t.slots = carve(scratch, slots_for(most) * sizeof *t.slots);
    tally_clear(&t);
    return t;
}

void tally_clear(struct tally *t)
{
    t->n = 0;
    memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
}

uint32_t tally_add(struct tally *t, uint64_t hash, uint64_t item, uint64_t word)
{
    uint32_t slot = tally_slot(t, hash, item), index = t->slots[slot] - 1;
    if (index != TALLY_NONE) {
        t->words[index] = counters_word_add(t->words[index], word, t->is_real);
        return index;
    }
    if (t->n == t->most)
        return TALLY_NONE;
    index = t->n++;
    t->slots[slot] = index + 1;
    t->items[index] = item;
    t->words[index] = word;
    return index;
}

size_t tally_list_bound(uint64_t n)
{
    return 4 + (size_t)n * (8 + WORD_SIZE_MAX);
}

uint8_t *tally_write(const struct tally *t, bool is_signed, uint64_t seed, uint8_t *dst, uint8_t *scratch)
{
    uint64_t *sorted = carve(&scratch, (uint64_t)t->n * 8);
    memcpy(sorted, t->items, (size_t)t->n * 8);
    order_sort(sorted, t->n, (uint64_t *)(void *)scratch);
    bits_store_u32(dst, t->n);
    memcpy(dst + 4, sorted, (size_t)t->n * 8);
    uint8_t *p = dst + 4 + (size_t)t->n * 8;
    for (uint32_t i = 0; i < t->n; i++) {
        uint64_t word = t->words[tally_find(t, counters_hash(sorted[i], seed), sorted[i])];
        if (t->is_real) {
            bits_store_u64(p, word);
            p += 8;
        } else {
            p = bits_put_varint(p, is_signed ? bits_zigzag((int64_t)word) : word);
        }
    }
    return p;
}

struct tally_list tally_open(const uint8_t *bytes, size_t size, bool is_signed, bool is_real)
{
    uint32_t n = bits_load_u32(bytes);
    return (struct tally_list){.items = bytes + 4,
                               .p = bytes + 4 + (size_t)n * 8,
                               .end = bytes + size,
                               .n = n,
                               .is_signed = is_signed,
                               .is_real = is_real};
}

/* The next word; false at a malformed one. */
static bool next_word(struct tally_list *l, uint64_t *ret)
{
    uint64_t word;
    if (l->is_real) {
        if (l->end - l->p < 8)
            return false;
        *ret = bits_load_u64(l->p);
        l->p += 8;
        return true;
    }
    const uint8_t *next = bits_get_varint(l->p, l->end, &word);
    if (!next || (next - l->p > 1 && next[-1] == 0)) /* no longer than it must be */
        return false;
    l->p = next;
    *ret = l->is_signed ? (uint64_t)bits_unzigzag(word) : word;
    return true;
}

bool tally_next(struct tally_list *l, uint64_t *ret_item, uint64_t *ret_word)
{
    if (l->at == l->n || !next_word(l, ret_word))
        return false;
    *ret_item = bits_load_u64(l->items + 8 * (size_t)l->at++);
    return true;
}

uint32_t tally_next_many(struct tally_list *l, uint32_t most, bool as_real, uint64_t *ret_items, uint64_t *ret_words)
{
    uint32_t n = 0, left = l->n - l->at;
    most = left < most ? left : most;
    memcpy(ret_items, l->items + 8 * (size_t)l->at, 8 * (size_t)most);
    while (n < most) {
        if (!l->is_real && n + 8 <= most && l->end - l->p >= 8 &&
            (bits_load_u64(l->p) & UINT64_C(0x8080808080808080)) == 0) { /* eight of one byte, as most are */
            for (uint32_t i = 0; i < 8; i++, n++)
                ret_words[n] = l->is_signed ? (uint64_t)bits_unzigzag(l->p[i]) : l->p[i];
            l->p += 8;
        } else if (next_word(l, &ret_words[n])) {
            n++;
        } else {
            break;
        }
    }
    for (uint32_t i = 0; as_real && !l->is_real && i < n; i++)
        ret_words[i] = bits_of_f64((double)(int64_t)ret_words[i]);
    l->at += n;
    return n;
}

/* Past the next n varints: each has one byte below 128, its last. */
static void skip_words(struct tally_list *l, uint32_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    while (l->end - l->p >= 8) {
        uint32_t ends = (uint32_t)((~bits_load_u64(l->p) >> 7 & ones) * ones >> 56);
        if (ends >= n)
            break;
        n -= ends;
        l->p += 8;
    }
    for (; n > 0 && l->p < l->end; l->p++)
        n -= *l->p < 128;
}

uint64_t tally_lookup(struct tally_list l, uint64_t item)
{
    uint32_t low = 0, high = l.n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (bits_load_u64(l.items + 8 * (size_t)middle) < item)
            low = middle + 1;
        else
            high = middle;
    }
    uint64_t word = 0;
    if (low == l.n || bits_load_u64(l.items + 8 * (size_t)low) != item)
        return 0;
    if (l.is_real)
        return bits_load_u64(l.p + 8 * (size_t)low);
    skip_words(&l, low);
    return next_word(&l, &word) ? word : 0;
}

const char *tally_validate(const uint8_t *bytes, size_t size, bool is_signed, bool is_real, uint64_t most_items,
                           struct mass *ret)
{
    *ret = (struct mass){.is_real = is_real};
    if (size < 4)
        return "a list of items is cut short";
    uint64_t n = bits_load_u32(bytes);
    if (n > most_items || n > (size - 4) / 8)
        return "a list of items holds more than it may";
    struct tally_list l = tally_open(bytes, size, is_signed, is_real);
    uint64_t item, word, last = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!tally_next(&l, &item, &word))
            return "a listed weight is malformed";
        if (i > 0 && item <= last)
            return "listed items do not rise";
        last = item;
        if (is_real) {
            ret->real += fabs(bits_to_f64(word));
            continue;
        }
        uint64_t magnitude = (int64_t)word < 0 ? 0 - word : word;
        if (magnitude >= COUNTERS_MASS_END - ret->whole)
            return "listed weights are out of range";
        ret->whole += magnitude;
    }
    return l.p == l.end ? NULL : "bytes follow a list of items";
}
