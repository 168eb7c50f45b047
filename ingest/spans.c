#include "ingest/spans.h"

#include <string.h>

#include "base/alloc.h"

/* The first span that ends at or after at_ms. */
static uint32_t place(const struct spans *s, int64_t at_ms)
{
    uint32_t low = 0, high = s->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->v[middle].to_ms < at_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Spans [from, to) of the array become `n` others. */
static void replace(struct spans *s, uint32_t from, uint32_t to, const struct source_span *with, uint32_t n)
{
    uint32_t after = s->n - to;
    s->v = mem_grow(s->v, &s->cap, s->n + n, sizeof *s->v);
    if (after)
        memmove(s->v + from + n, s->v + to, after * sizeof *s->v);
    if (n)
        memcpy(s->v + from, with, n * sizeof *s->v);
    s->n = from + n + after;
}

void spans_add(struct spans *s, int64_t from_ms, int64_t to_ms)
{
    if (from_ms >= to_ms)
        return;
    uint32_t first = place(s, from_ms), end = first;
    struct source_span span = {from_ms, to_ms};
    for (; end < s->n && s->v[end].from_ms <= to_ms; end++) {
        span.from_ms = span.from_ms < s->v[end].from_ms ? span.from_ms : s->v[end].from_ms;
        span.to_ms = span.to_ms > s->v[end].to_ms ? span.to_ms : s->v[end].to_ms;
    }
    replace(s, first, end, &span, 1);
}

void spans_remove(struct spans *s, int64_t from_ms, int64_t to_ms)
{
    if (from_ms >= to_ms)
        return;
    uint32_t first = place(s, from_ms), end = first, n = 0;
    struct source_span left[2];
    for (; end < s->n && s->v[end].from_ms < to_ms; end++) {
        const struct source_span *v = &s->v[end];
        if (v->from_ms < from_ms)
            left[n++] = (struct source_span){v->from_ms, v->to_ms < from_ms ? v->to_ms : from_ms};
        if (v->to_ms > to_ms)
            left[n++] = (struct source_span){to_ms, v->to_ms};
    }
    replace(s, first, end, left, n);
}

void spans_add_all(struct spans *s, const struct spans *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        spans_add(s, from->v[i].from_ms, from->v[i].to_ms);
}

bool spans_hold(const struct spans *s, int64_t from_ms, int64_t to_ms)
{
    uint32_t at = place(s, to_ms);
    return from_ms >= to_ms || (at < s->n && s->v[at].from_ms <= from_ms);
}

void spans_done(struct spans *s)
{
    mem_free(s->v);
    *s = (struct spans){0};
}
