#include "executor/scan_histograms.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "executor/scan.h"

void scan_histograms_init(struct scan_histograms *h)
{
    *h = (struct scan_histograms){.rising = true};
    arena_init(&h->arena, SCAN_HISTOGRAM_BYTES_MAX);
}

void scan_histograms_done(struct scan_histograms *h)
{
    arena_done(&h->arena);
    mem_free(h->times_ms);
    mem_free(h->v);
}

void scan_histograms_clear(struct scan_histograms *h)
{
    if (h->arena.used_bytes) /* chunks without samples in the span take some, too */
        arena_reset(&h->arena);
    h->n = 0;
    h->rising = true;
}

static void reserve(struct scan_histograms *h, size_t more)
{
    h->times_ms = mem_grow(h->times_ms, &h->times_cap, h->n + more, sizeof *h->times_ms);
    h->v = mem_grow(h->v, &h->v_cap, h->n + more, sizeof(const struct histogram *));
}

/* The n behind the others become part of them. */
static void take(struct scan_histograms *h, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, h->n++)
        h->rising = h->rising && (h->n == 0 || h->times_ms[h->n - 1] < h->times_ms[h->n]);
}

int scan_histograms_chunk(struct scan_histograms *h, struct str chunk, int64_t start_ms, int64_t end_ms, struct err *e)
{
    uint32_t n = 0;
    reserve(h, histogram_chunk_n((const uint8_t *)chunk.p));
    int code = histogram_chunk_decode(chunk, start_ms, end_ms, &h->arena, h->times_ms + h->n, h->v + h->n, &n, e);
    if (code == 0)
        take(h, n);
    return code;
}

int scan_histograms_unpack(struct scan_histograms *h, const struct source_result *result, const struct source_series *s,
                           int64_t start_ms, int64_t end_ms, struct err *e)
{
    uint32_t n = 0;
    if (s->packed_histograms_n == 0)
        return 0;
    reserve(h, s->packed_histograms_n);
    int code = result->unpack_histograms(s->packed_histograms, start_ms, end_ms, &h->arena, h->times_ms + h->n,
                                         h->v + h->n, &n, e);
    if (code == 0)
        take(h, n);
    return code;
}

struct point {
    int64_t time_ms;
    size_t order;
    const struct histogram *v;
};

static int by_time_then_order(const void *pa, const void *pb)
{
    const struct point *a = pa, *b = pb;
    if (a->time_ms != b->time_ms)
        return a->time_ms < b->time_ms ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

void scan_histograms_order(struct scan_histograms *h)
{
    if (h->rising)
        return;
    struct point *all = mem_alloc(h->n * sizeof *all);
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++)
        all[i] = (struct point){h->times_ms[i], i, h->v[i]};
    qsort(all, h->n, sizeof *all, by_time_then_order);
    for (size_t i = 0; i < h->n; i++) {
        if (kept && h->times_ms[kept - 1] == all[i].time_ms)
            continue;
        h->times_ms[kept] = all[i].time_ms;
        h->v[kept++] = all[i].v;
    }
    h->n = kept;
    h->rising = true;
    mem_free(all);
}

size_t scan_histograms_weave(const struct scan_histograms *h, int64_t *times_ms, double *values,
                             const struct histogram **column, size_t n)
{
    const double mark = float_histogram();
    size_t end = n + h->n, at = end, left = h->n;
    /* From behind, so that what has not been read is not written over. */
    while (left > 0) {
        int64_t t = h->times_ms[left - 1];
        at--;
        if (n > 0 && times_ms[n - 1] >= t) {
            bool both = times_ms[n - 1] == t, marker = both && float_is_stale(values[n - 1]);
            column[at] = marker ? h->v[left - 1] : NULL;
            t = times_ms[n - 1];
            memmove(&values[at], marker ? &mark : &values[n - 1], sizeof *values);
            left -= both;
            n--;
        } else {
            column[at] = h->v[--left];
            memcpy(&values[at], &mark, sizeof mark);
        }
        times_ms[at] = t;
    }
    for (size_t i = 0; i < n; i++)
        column[i] = NULL;
    memmove(times_ms + n, times_ms + at, (end - at) * sizeof *times_ms);
    memmove(values + n, values + at, (end - at) * sizeof *values);
    memmove(column + n, column + at, (end - at) * sizeof(const struct histogram *));
    return n + end - at;
}
