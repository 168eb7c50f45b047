/*
 * The hash index: linear probing, at most three quarters full, backward-shift deletion (no tombstones, so a lookup's
 * length depends on what is in the table now and not on its past). The low half of a hash chooses the slot, the high
 * half is kept to reject strangers without asking `same`.
 */
#include "base/map.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <threads.h>

#include "base/alloc.h"
#include "base/err.h"

enum { SLOTS_FIRST = 16 };

void map_init(struct map *m)
{
    *m = (struct map){0};
}

void map_done(struct map *m)
{
    mem_free(m->slots);
    *m = (struct map){0};
}

int64_t map_find(const struct map *m, uint64_t hash, map_same_fn *same, const void *ctx)
{
    if (!m->slots)
        return -1;
    uint32_t high = (uint32_t)(hash >> 32);
    for (uint32_t i = (uint32_t)hash & m->mask; m->slots[i].value_plus_1; i = (i + 1) & m->mask) {
        uint32_t value = m->slots[i].value_plus_1 - 1;
        if (m->slots[i].hash_high == high && same(ctx, value))
            return value;
    }
    return -1;
}

static void slot_put(struct map *m, uint64_t hash, uint32_t value)
{
    uint32_t i = (uint32_t)hash & m->mask;
    while (m->slots[i].value_plus_1)
        i = (i + 1) & m->mask;
    m->slots[i] = (struct map_slot){(uint32_t)(hash >> 32), value + 1};
}

static void map_grow(struct map *m, map_hash_fn *hash_of, const void *ctx)
{
    struct map old = *m;
    uint64_t slots = old.slots ? ((uint64_t)old.mask + 1) * 2 : SLOTS_FIRST;
    MUST(slots <= UINT64_C(1) << 32);
    m->slots = mem_zalloc((size_t)slots * sizeof(*m->slots));
    m->mask = (uint32_t)(slots - 1);
    if (!old.slots)
        return;
    for (uint64_t i = 0; i <= old.mask; i++) {
        if (!old.slots[i].value_plus_1)
            continue;
        uint32_t value = old.slots[i].value_plus_1 - 1;
        slot_put(m, hash_of(ctx, value), value);
    }
    mem_free(old.slots);
}

void map_add(struct map *m, uint64_t hash, uint32_t value, map_hash_fn *hash_of, const void *ctx)
{
    MUST(value < UINT32_MAX);
    if (!m->slots || m->n >= ((uint64_t)m->mask + 1) / 4 * 3)
        map_grow(m, hash_of, ctx);
    slot_put(m, hash, value);
    m->n++;
}

bool map_remove(struct map *m, uint64_t hash, uint32_t value, map_hash_fn *hash_of, const void *ctx)
{
    if (!m->slots)
        return false;
    uint32_t hole = (uint32_t)hash & m->mask;
    while (m->slots[hole].value_plus_1 != value + 1) {
        if (!m->slots[hole].value_plus_1)
            return false;
        hole = (hole + 1) & m->mask;
    }
    /* Move each follower that the hole cuts off from its home slot into the hole. */
    for (uint32_t i = (hole + 1) & m->mask; m->slots[i].value_plus_1; i = (i + 1) & m->mask) {
        uint32_t home = (uint32_t)hash_of(ctx, m->slots[i].value_plus_1 - 1) & m->mask;
        if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0};
    m->n--;
    return true;
}

static uint64_t seed;
static once_flag seed_once = ONCE_FLAG_INIT;

static void seed_read(void)
{
    ssize_t n;
    do
        n = getrandom(&seed, sizeof(seed), 0);
    while (n < 0 && errno == EINTR);
    MUST(n == (ssize_t)sizeof(seed));
}

uint64_t map_seed(void)
{
    call_once(&seed_once, seed_read);
    return seed;
}
