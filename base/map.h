/*
 * Hash index: 64-bit hash -> u32 value, open addressing. It keeps hashes and values only; the caller keeps the things
 * themselves and says whether the thing numbered `value` is the one looked for. Hashes come from the caller (XXH3 with
 * the process's random map seed where peers choose the keys, so that they cannot choose collisions). One thread at a
 * time for changes; any number of threads may look up while none changes.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint32_t hash_high;
    uint32_t value_plus_1; /* 0 = empty */
};
struct map {
    struct map_slot *slots;
    uint32_t mask; /* slots - 1; 0 and slots NULL when empty */
    uint32_t n;
};
typedef bool map_same_fn(const void *ctx, uint32_t value);

void map_init(struct map *m);
void map_done(struct map *m);
/* The value whose thing is the same, or -1. */
int64_t map_find(const struct map *m, uint64_t hash, map_same_fn *same, const void *ctx);
/* Add without looking for an equal one. value < UINT32_MAX. `hash_of(ctx, value)` is asked again when the table grows.
 */
typedef uint64_t map_hash_fn(const void *ctx, uint32_t value);
void map_add(struct map *m, uint64_t hash, uint32_t value, map_hash_fn *hash_of, const void *ctx);
bool map_remove(struct map *m, uint64_t hash, uint32_t value, map_hash_fn *hash_of, const void *ctx);

/* Process-wide random seed, read once from the kernel. Never stored. */
uint64_t map_seed(void);

#endif
