/*
 * Reading the head in two steps. head_pack copies what holds the samples of a span, still encoded, while ingest's lock
 * is held: a few hundred bytes a series, where the samples themselves would be kilobytes of fresh memory. head_unpack
 * makes columns of it later, without the lock, one series after the other into the same room.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/float_text.h"
#include "base/samples.h"
#include "ingest/head_internal.h"
#include "kernels/frame.h"

/* Behind it: tail times, tail values; per late run its times and values; open blocks; per chunk u32 size and bytes. */
struct head_packed {
    uint32_t chunks_n, open_size;
    uint16_t open_n, tail_n;
    uint32_t late_n[2]; /* the run on its way to the store, the current one */
};

/* What is packed of one series. */
struct cut {
    const struct head_chunk *chunk; /* the first of chunks_n neighbours */
    uint32_t chunks_n, chunks_samples_n;
    size_t chunks_bytes;
    const uint8_t *open;
    uint32_t open_size, open_n;
    uint32_t tail_first, tail_n;
    const struct late_samples *late[2];
    uint32_t late_first[2], late_n[2];
};

static void cut_chunk(struct cut *cut, const struct head_chunk *c)
{
    struct chunk_head head;
    MUST(chunk_peek(c->bytes, c->size, &head) == 0);
    if (cut->chunks_n++ == 0)
        cut->chunk = c;
    cut->chunks_bytes += sizeof(uint32_t) + c->size;
    cut->chunks_samples_n += head.n;
}

static void cut_chunks(struct cut *cut, const struct head_series *s, int64_t start_ms, int64_t end_ms)
{
    for (const struct head_chunk *c = s->chunks.first; c && c->first_ms <= end_ms; c = c->next)
        if (c->last_ms > start_ms)
            cut_chunk(cut, c);
}

/* Blocks of the open chunk that may hold samples of the span. Most spans begin before the first. */
static void cut_open(struct cut *cut, const struct head_series *s, int64_t start_ms, int64_t end_ms)
{
    uint32_t at = 0, first = 0, n = 0;
    if (s->open_n && head_open_block_first_ms(s->open) > start_ms && s->last_ms <= end_ms) {
        at = s->open_size;
        n = s->open_n;
    }
    while (at < s->open_size) {
        int64_t first_ms = head_open_block_first_ms(s->open + at);
        if (first_ms > end_ms)
            break;
        if (first_ms <= start_ms) { /* the blocks before this one end before the span */
            first = at;
            n = 0;
        }
        at += head_open_block_bytes(s->open + at);
        n += HEAD_TAIL;
    }
    cut->open = n ? s->open + first : NULL;
    cut->open_size = at - first;
    cut->open_n = n;
}

static void cut_late(struct cut *cut, const struct head_series *s, int64_t start_ms, int64_t end_ms)
{
    cut->late[0] = s->late_moving;
    cut->late[1] = s->late;
    for (int i = 0; i < 2; i++) {
        const struct late_samples *l = cut->late[i];
        if (!l)
            continue;
        cut->late_first[i] = samples_upto(l->times_ms, l->n, start_ms);
        cut->late_n[i] = samples_upto(l->times_ms, l->n, end_ms) - cut->late_first[i];
    }
}

static void cut_all(struct cut *cut, const struct head_series *s, int64_t start_ms, int64_t end_ms)
{
    cut->tail_first = samples_upto(s->tail_times_ms, s->tail_n, start_ms);
    cut->tail_n = samples_upto(s->tail_times_ms, s->tail_n, end_ms) - cut->tail_first;
    if (cut->tail_first > 0) /* all else is older */
        return;
    cut_open(cut, s, start_ms, end_ms);
    if (s->open_n == 0 || head_open_block_first_ms(s->open) > start_ms)
        cut_chunks(cut, s, start_ms, end_ms);
}

/* Whatever holds the newest sample at or before end_ms. Returns a time it is not older than. */
static int64_t cut_newest(struct cut *cut, const struct head_series *s, int64_t end_ms)
{
    uint32_t tail_n = samples_upto(s->tail_times_ms, s->tail_n, end_ms);
    if (tail_n > 0) {
        cut->tail_first = tail_n - 1;
        cut->tail_n = 1;
        return s->tail_times_ms[tail_n - 1];
    }
    if (s->open_n && head_open_block_first_ms(s->open) <= end_ms) {
        cut_open(cut, s, end_ms, end_ms);
        return head_open_block_first_ms(cut->open);
    }
    const struct head_chunk *newest = NULL;
    for (const struct head_chunk *c = s->chunks.first; c && c->first_ms <= end_ms; c = c->next)
        newest = c;
    if (!newest)
        return INT64_MIN;
    cut_chunk(cut, newest);
    return newest->first_ms;
}

static uint8_t *put(uint8_t *at, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(at, from, bytes);
    return at + bytes;
}

static void *cut_copy(const struct cut *cut, const struct head_series *s, struct arena *a)
{
    uint32_t plain_n = cut->tail_n + cut->late_n[0] + cut->late_n[1];
    struct head_packed *p =
        arena_alloc(a, sizeof *p + plain_n * (sizeof(int64_t) + sizeof(double)) + cut->open_size + cut->chunks_bytes);
    if (!p)
        return NULL;
    *p = (struct head_packed){.chunks_n = cut->chunks_n,
                              .open_size = cut->open_size,
                              .open_n = (uint16_t)cut->open_n,
                              .tail_n = (uint16_t)cut->tail_n,
                              .late_n = {cut->late_n[0], cut->late_n[1]}};
    uint8_t *at = (uint8_t *)(p + 1);
    at = put(at, s->tail_times_ms + cut->tail_first, cut->tail_n * sizeof *s->tail_times_ms);
    at = put(at, s->tail_values + cut->tail_first, cut->tail_n * sizeof *s->tail_values);
    for (int i = 0; i < 2; i++) {
        if (cut->late_n[i] == 0)
            continue;
        at = put(at, cut->late[i]->times_ms + cut->late_first[i], cut->late_n[i] * sizeof(int64_t));
        at = put(at, cut->late[i]->values + cut->late_first[i], cut->late_n[i] * sizeof(double));
    }
    at = put(at, cut->open, cut->open_size);
    const struct head_chunk *c = cut->chunk;
    for (uint32_t i = 0; i < cut->chunks_n; i++, c = c->next) {
        at = put(at, &c->size, sizeof c->size);
        at = put(at, c->bytes, c->size);
    }
    return p;
}

bool head_pack(const struct head_series *s, int64_t start_ms, int64_t end_ms, bool newest_only, struct arena *a,
               struct head_span *ret)
{
    struct cut cut = {0};
    *ret = (struct head_span){.newest_from_ms = INT64_MIN};
    if (s->last_ms <= start_ms || start_ms >= end_ms)
        return true;
    cut_late(&cut, s, start_ms, end_ms);
    if (newest_only) /* and late samples of the span with it, which may be newer */
        ret->newest_from_ms = cut_newest(&cut, s, end_ms);
    else
        cut_all(&cut, s, start_ms, end_ms);
    ret->room_n = cut.chunks_samples_n + cut.open_n + cut.tail_n + cut.late_n[0] + cut.late_n[1];
    if (ret->room_n == 0)
        return true;
    ret->packed = cut_copy(&cut, s, a);
    return ret->packed != NULL;
}

/* ---- unpacking ---- */

/* A rising run of late samples into the rising n before it, from behind. At equal times the first stays, but a number
 * beats a stale marker. Returns how many there are now. */
static uint32_t merge_late(int64_t *times_ms, double *values, uint32_t n, const uint8_t *late, uint32_t late_n)
{
    const uint8_t *late_values = late + late_n * sizeof(int64_t);
    uint32_t end = n + late_n, at = end;
    while (late_n > 0) {
        int64_t t = load_i64(late + (late_n - 1) * sizeof(int64_t));
        const void *from = late_values + (late_n - 1) * sizeof(double);
        at--;
        if (n > 0 && times_ms[n - 1] >= t) {
            bool both = times_ms[n - 1] == t;
            if (!both || !float_is_stale(values[n - 1]))
                from = &values[n - 1];
            t = times_ms[--n];
            late_n -= both;
        } else {
            late_n--;
        }
        times_ms[at] = t;
        memmove(&values[at], from, sizeof *values);
    }
    memmove(times_ms + n, times_ms + at, (end - at) * sizeof *times_ms);
    memmove(values + n, values + at, (end - at) * sizeof *values);
    return n + end - at;
}

uint32_t head_unpack(const void *packed, int64_t start_ms, int64_t end_ms, int64_t *times_ms, double *values)
{
    const struct head_packed *p = packed;
    const uint8_t *tail = (const uint8_t *)(p + 1), *late = tail + p->tail_n * (sizeof(int64_t) + sizeof(double));
    const uint8_t *open = late + (p->late_n[0] + p->late_n[1]) * (sizeof(int64_t) + sizeof(double));
    const uint8_t *chunk = open + p->open_size;
    uint32_t n = 0, chunk_n;
    for (uint32_t i = 0; i < p->chunks_n; i++) {
        uint32_t size = load_u32(chunk);
        MUST(chunk_decode(chunk + sizeof size, size, times_ms + n, values + n, &chunk_n) == 0);
        chunk += sizeof size + size;
        n += chunk_n;
    }
    if (p->open_n) {
        MUST(head_open_decode(open, p->open_size, p->open_n, times_ms + n, values + n) > 0);
        n += p->open_n;
    }
    memcpy(times_ms + n, tail, p->tail_n * sizeof *times_ms);
    memcpy(values + n, tail + p->tail_n * sizeof *times_ms, p->tail_n * sizeof *values);
    n += p->tail_n;
    for (int i = 0; i < 2; i++) {
        n = merge_late(times_ms, values, n, late, p->late_n[i]);
        late += p->late_n[i] * (sizeof(int64_t) + sizeof(double));
    }
    return samples_trim(times_ms, values, n, start_ms, end_ms);
}

bool head_lookup(const struct head_series *s, int64_t time_ms, double *ret)
{
    if (s->tail_n && s->tail_times_ms[0] <= time_ms && !s->late && !s->late_moving) {
        uint32_t n = samples_upto(s->tail_times_ms, s->tail_n, time_ms);
        if (s->tail_times_ms[n - 1] != time_ms)
            return false;
        memcpy(ret, &s->tail_values[n - 1], sizeof *ret);
        return true;
    }
    struct arena a;
    struct head_span span;
    arena_init(&a, 0);
    MUST(head_pack(s, time_ms - 1, time_ms, false, &a, &span));
    int64_t *times_ms = ARENA_ARRAY(&a, int64_t, span.room_n + FRAME_SLACK);
    double *values = ARENA_ARRAY(&a, double, span.room_n + FRAME_SLACK);
    bool found = span.room_n && head_unpack(span.packed, time_ms - 1, time_ms, times_ms, values) == 1;
    if (found)
        memcpy(ret, &values[0], sizeof *ret);
    arena_done(&a);
    return found;
}
