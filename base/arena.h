/*
 * Arenas: memory by lifetime. A plan, a refresh run, a query and a request each have one; nothing in an arena is freed
 * singly, and nothing of a longer life points into a shorter one.
 *
 * An arena has a byte limit, so that input can never choose how much memory is used. At the limit arena_alloc returns
 * NULL and remembers it (arena_failed), so a caller may allocate several things and look once. One thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct arena_chunk;
struct arena {
    struct arena_chunk *head; /* newest chunk */
    uint8_t *next, *end;      /* free room in it */
    size_t used_bytes;        /* handed out, with alignment */
    size_t limit_bytes;       /* 0 = none */
    bool failed;
};

void arena_init(struct arena *a, size_t limit_bytes); /* allocates nothing yet */
void arena_reset(struct arena *a);                    /* frees all but one chunk; `failed` is cleared */
void arena_done(struct arena *a);                     /* frees everything; the arena may be used again after init */

/* 16-aligned, uninitialised; NULL at the limit or when bytes overflows. bytes == 0 gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t bytes);
void *arena_zalloc(struct arena *a, size_t bytes);
void *arena_dup(struct arena *a, const void *p, size_t bytes);
char *arena_strndup(struct arena *a, const char *p, size_t n); /* NUL-terminated copy */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* n * item_bytes with an overflow check. */
void *arena_alloc_n(struct arena *a, size_t n, size_t item_bytes);
/* Grow an array that lives in the arena: when *cap < need a larger copy is made (the old one stays until reset). */
void *arena_grow(struct arena *a, void *p, size_t *cap, size_t need, size_t item_bytes);

#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc_n((a), (n), sizeof(type)))

static inline bool arena_failed(const struct arena *a)
{
    return a->failed;
}
/* ERR_LIMIT with "query/request uses more than N MiB of memory ..." when the arena failed, else 0. */
int arena_check(const struct arena *a, const char *what, struct err *e);

#endif
