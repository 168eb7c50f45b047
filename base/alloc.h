/*
 * Heap memory: the one place that knows jemalloc. Everything that outlives an arena is allocated here.
 * Sizes that input can choose are checked against a named limit by the caller first; a failed allocation of a bounded
 * size leaves nothing sensible to do, so these abort with a message instead of returning NULL.
 * Thread-safe.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes);            /* uninitialised; never NULL; 0 bytes gives a unique pointer */
void *mem_zalloc(size_t bytes);           /* zeroed */
void *mem_realloc(void *p, size_t bytes); /* p may be NULL */
void *mem_grow(void *p, size_t *cap, size_t need,
               size_t item_bytes); /* doubles *cap until >= need; aborts on overflow */
void mem_free(void *p);            /* NULL-safe */
void *mem_dup(const void *p, size_t bytes);

struct mem_stats {
    uint64_t allocated_bytes, resident_bytes;
};
void mem_stats_read(struct mem_stats *ret);

#endif
