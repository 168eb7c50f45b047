/*
 * Arenas: a chain of chunks, newest first. Chunks double from 4 KiB to 1 MiB, and a larger request gets a chunk of its
 * own size, so the bytes reserved stay within a small factor of the bytes handed out.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

enum { ARENA_ALIGN = 16, CHUNK_FIRST_BYTES = 4 << 10, CHUNK_MAX_BYTES = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *older;
    size_t bytes; /* of `data` */
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
    *a = (struct arena){.limit_bytes = limit_bytes};
}

static void chunks_free(struct arena_chunk *chunk)
{
    while (chunk) {
        struct arena_chunk *older = chunk->older;
        mem_free(chunk);
        chunk = older;
    }
}

static void arena_use_chunk(struct arena *a, struct arena_chunk *chunk)
{
    a->head = chunk;
    a->next = chunk->data;
    a->end = chunk->data + chunk->bytes;
}

void arena_reset(struct arena *a)
{
    if (a->head) {
        chunks_free(a->head->older);
        a->head->older = NULL;
        /* A chunk made for one huge request is not worth keeping for a life of small ones. */
        if (a->head->bytes > CHUNK_MAX_BYTES) {
            mem_free(a->head);
            a->head = NULL;
            a->next = a->end = NULL;
        } else {
            arena_use_chunk(a, a->head);
        }
    }
    a->used_bytes = 0;
    a->failed = false;
}

void arena_done(struct arena *a)
{
    chunks_free(a->head);
    *a = (struct arena){.limit_bytes = a->limit_bytes};
}

static void arena_add_chunk(struct arena *a, size_t need)
{
    size_t bytes = a->head ? a->head->bytes * 2 : CHUNK_FIRST_BYTES;
    if (bytes > CHUNK_MAX_BYTES)
        bytes = CHUNK_MAX_BYTES;
    if (bytes < need)
        bytes = need;
    struct arena_chunk *chunk = mem_alloc(sizeof(*chunk) + bytes);
    chunk->older = a->head;
    chunk->bytes = bytes;
    arena_use_chunk(a, chunk);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    size_t room = (bytes + (ARENA_ALIGN - 1)) & ~(size_t)(ARENA_ALIGN - 1);
    if (bytes == 0)
        room = ARENA_ALIGN;
    bool over = room < bytes || room > PTRDIFF_MAX / 2;
    if (!over && a->limit_bytes)
        over = room > a->limit_bytes || a->used_bytes > a->limit_bytes - room;
    if (over) {
        a->failed = true;
        return NULL;
    }
    if ((size_t)(a->end - a->next) < room)
        arena_add_chunk(a, room);
    void *p = a->next;
    a->next += room;
    a->used_bytes += room;
    return p;
}

void *arena_zalloc(struct arena *a, size_t bytes)
{
    void *p = arena_alloc(a, bytes);
    if (p)
        memset(p, 0, bytes);
    return p;
}

void *arena_dup(struct arena *a, const void *p, size_t bytes)
{
    void *copy = arena_alloc(a, bytes);
    if (copy && bytes)
        memcpy(copy, p, bytes);
    return copy;
}

char *arena_strndup(struct arena *a, const char *p, size_t n)
{
    if (n == SIZE_MAX) {
        a->failed = true;
        return NULL;
    }
    char *copy = arena_alloc(a, n + 1);
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, p, n);
    copy[n] = 0;
    return copy;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (!text) {
        a->failed = true;
        return NULL;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void *arena_alloc_n(struct arena *a, size_t n, size_t item_bytes)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, item_bytes, &bytes)) {
        a->failed = true;
        return NULL;
    }
    return arena_alloc(a, bytes);
}

void *arena_grow(struct arena *a, void *p, size_t *cap, size_t need, size_t item_bytes)
{
    if (need <= *cap)
        return p;
    size_t grown = *cap < 8 ? 8 : *cap;
    while (grown < need && grown <= SIZE_MAX / 2)
        grown *= 2;
    if (grown < need)
        grown = need;
    void *larger = arena_alloc_n(a, grown, item_bytes);
    if (!larger)
        return NULL;
    if (*cap)
        memcpy(larger, p, *cap * item_bytes);
    *cap = grown;
    return larger;
}

int arena_check(const struct arena *a, const char *what, struct err *e)
{
    if (!a->failed)
        return 0;
    if (!a->limit_bytes)
        return err_set(e, ERR_LIMIT, "%s asks for more memory than can be addressed; make it smaller", what);
    return err_set(e, ERR_LIMIT, "%s uses more than %.4g MiB of memory; make it smaller or raise the limit", what,
                   (double)a->limit_bytes / (1 << 20));
}
