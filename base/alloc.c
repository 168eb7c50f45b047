/* The heap: jemalloc under its standard names, or libc's when the build says so. */
#include "base/alloc.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef MULLION_JEMALLOC
#include <jemalloc/jemalloc.h>

/*
 * Refreshes and queries take megabytes for some milliseconds and give them back, again every few seconds. By default
 * jemalloc returns blocks of 8 MiB and more to the kernel at once and the rest within ten seconds, and the kernel then
 * clears the same pages again and again. So free pages are kept for half a minute, large ones too (six of seven page
 * faults of a query of 10,000 series go), and a thread of jemalloc's own returns them.
 */
const char *malloc_conf = "oversize_threshold:0,dirty_decay_ms:30000,background_thread:true";
#endif

_Noreturn static void out_of_memory(size_t bytes)
{
    fprintf(stderr, "out of memory: %zu bytes cannot be allocated\n", bytes);
    abort();
}

void *mem_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        out_of_memory(bytes);
    return p;
}

void *mem_zalloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        out_of_memory(bytes);
    return p;
}

void *mem_realloc(void *p, size_t bytes)
{
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q)
        out_of_memory(bytes);
    return q;
}

void *mem_grow(void *p, size_t *cap, size_t need, size_t item_bytes)
{
    if (need <= *cap)
        return p;
    size_t grown = *cap < 8 ? 8 : *cap, bytes;
    while (grown < need) {
        if (grown > SIZE_MAX / 2)
            out_of_memory(SIZE_MAX);
        grown *= 2;
    }
    if (__builtin_mul_overflow(grown, item_bytes, &bytes))
        out_of_memory(SIZE_MAX);
    p = mem_realloc(p, bytes);
    *cap = grown;
    return p;
}

void mem_free(void *p)
{
    free(p);
}

void *mem_dup(const void *p, size_t bytes)
{
    void *copy = mem_alloc(bytes);
    if (bytes)
        memcpy(copy, p, bytes);
    return copy;
}

#ifdef MULLION_JEMALLOC
void mem_stats_read(struct mem_stats *ret)
{
    /* jemalloc's statistics are a snapshot; advancing the epoch takes a new one. */
    uint64_t epoch = 1;
    size_t allocated = 0, resident = 0, n = sizeof(epoch);
    mallctl("epoch", &epoch, &n, &epoch, n);
    n = sizeof(allocated);
    mallctl("stats.allocated", &allocated, &n, NULL, 0);
    n = sizeof(resident);
    mallctl("stats.resident", &resident, &n, NULL, 0);
    *ret = (struct mem_stats){allocated, resident};
}
#else
void mem_stats_read(struct mem_stats *ret)
{
    struct mallinfo2 info = mallinfo2();
    *ret = (struct mem_stats){info.uordblks + info.hblkhd, info.arena + info.hblkhd};
}
#endif
