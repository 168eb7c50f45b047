#include "ingest/head.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "ingest/head_internal.h"
#include "kernels/frame.h"

/* An open block: u8 its bytes in all, i64 time of its first sample, timestamp frame, value frame. */
enum { BLOCK_HEAD_BYTES = 1 + 8 };

void head_init(struct head *h)
{
    *h = (struct head){.scratch = mem_alloc(frame_scratch(FRAME_MAX_N))};
}

struct head_chunk *head_chunk_of(struct str bytes, int64_t first_ms, int64_t last_ms)
{
    struct head_chunk *c = mem_alloc(sizeof *c + bytes.n);
    *c = (struct head_chunk){.first_ms = first_ms, .last_ms = last_ms, .size = (uint32_t)bytes.n};
    memcpy(c->bytes, bytes.p, bytes.n);
    return c;
}

void head_chunks_add(struct head_chunks *list, struct head_chunk *c)
{
    if (list->newest)
        list->newest->next = c;
    else
        list->first = c;
    list->newest = c;
}

void head_chunks_free(struct head_chunks *list)
{
    for (struct head_chunk *c = list->first, *next; c; c = next) {
        next = c->next;
        mem_free(c);
    }
    *list = (struct head_chunks){0};
}

static void late_free(struct late_samples *l)
{
    if (!l)
        return;
    mem_free(l->times_ms);
    mem_free(l->values);
    mem_free(l);
}

void head_series_clear(struct head_series *s)
{
    head_chunks_free(&s->chunks);
    head_histograms_free(s->histograms);
    late_free(s->late);
    late_free(s->late_moving);
    mem_free(s->open);
    *s = (struct head_series){.last_ms = INT64_MIN, .store_to_ms = INT64_MIN};
}

void head_done(struct head *h)
{
    for (uint32_t b = 0; b < h->blocks_n; b++) {
        for (uint32_t i = 0; h->blocks[b] && i < SHARD_SERIES; i++)
            head_series_clear(&h->blocks[b]->series[i]);
        mem_free(h->blocks[b]);
    }
    mem_free(h->blocks);
    mem_free(h->scratch);
    *h = (struct head){0};
}

struct head_block *head_block_at(struct head *h, uint32_t block)
{
    if (block >= h->blocks_n) {
        if (block >= h->blocks_cap)
            h->blocks = mem_grow(h->blocks, &h->blocks_cap, block + 1u, sizeof(struct head_block *));
        while (h->blocks_n <= block)
            h->blocks[h->blocks_n++] = NULL;
    }
    if (!h->blocks[block]) {
        struct head_block *made = mem_zalloc(sizeof *made);
        for (uint32_t i = 0; i < SHARD_SERIES; i++)
            made->series[i].last_ms = made->series[i].store_to_ms = INT64_MIN;
        h->blocks[block] = made;
    }
    return h->blocks[block];
}

struct head_series *head_at(struct head *h, uint32_t series)
{
    struct head_block *block = head_block_at(h, series / SHARD_SERIES);
    block->touched = true;
    return &block->series[series % SHARD_SERIES];
}

const struct head_series *head_find(const struct head *h, uint32_t series)
{
    uint32_t block = series / SHARD_SERIES;
    return block < h->blocks_n && h->blocks[block] ? &h->blocks[block]->series[series % SHARD_SERIES] : NULL;
}

/* ---- the open chunk ---- */

static size_t block_encode(const struct head *h, uint8_t *dst, size_t cap, const int64_t *times_ms,
                           const double *values)
{
    int64_t relative[HEAD_TAIL];
    for (uint32_t i = 0; i < HEAD_TAIL; i++)
        relative[i] = times_ms[i] - times_ms[0];
    store_i64(dst + 1, times_ms[0]);
    size_t at = BLOCK_HEAD_BYTES;
    size_t times_size = frame_encode_i64(dst + at, cap - at, relative, HEAD_TAIL, h->scratch);
    at += times_size;
    size_t values_size = frame_encode_f64(dst + at, cap - at, values, HEAD_TAIL, h->scratch);
    at += values_size;
    MUST(times_size && values_size && at <= UINT8_MAX);
    dst[0] = (uint8_t)at;
    return at;
}

/* All samples of the open blocks; room for HEAD_CHUNK_N + HEAD_TAIL + FRAME_SLACK. Returns the number; 0 with malformed
 * bytes. */
uint32_t head_open_decode(const uint8_t *open, size_t size, uint32_t n, int64_t *times_ms, double *values)
{
    size_t at = 0;
    for (uint32_t done = 0; done < n; done += HEAD_TAIL) {
        if (size - at < BLOCK_HEAD_BYTES || head_open_block_bytes(open + at) > size - at)
            return 0;
        const uint8_t *frames = open + at + BLOCK_HEAD_BYTES, *end = open + at + head_open_block_bytes(open + at);
        size_t left = (size_t)(end - frames), times_size = 0, values_size = 0;
        if (end > frames)
            times_size = frame_decode_i64(frames, left, HEAD_TAIL, times_ms + done);
        if (times_size)
            values_size = frame_decode_f64(frames + times_size, left - times_size, HEAD_TAIL, values + done);
        if (!values_size || times_size + values_size != left)
            return 0;
        for (uint32_t i = 0; i < HEAD_TAIL; i++)
            times_ms[done + i] += head_open_block_first_ms(open + at);
        at += head_open_block_bytes(open + at);
    }
    return at == size ? n : 0;
}

struct head_chunk *head_chunk_make(const struct head *h, const int64_t *times_ms, const double *values, uint32_t n)
{
    size_t bound = chunk_bound(n);
    struct head_chunk *c = mem_alloc(sizeof *c + bound);
    *c = (struct head_chunk){.first_ms = times_ms[0], .last_ms = times_ms[n - 1]};
    c->size = (uint32_t)chunk_encode(c->bytes, bound, times_ms, values, n, h->scratch);
    MUST(c->size > 0);
    return mem_realloc(c, sizeof *c + c->size);
}

static void open_seal(const struct head *h, struct head_series *s)
{
    int64_t times_ms[HEAD_CHUNK_N + HEAD_TAIL + FRAME_SLACK];
    double values[HEAD_CHUNK_N + HEAD_TAIL + FRAME_SLACK];
    uint32_t n = head_open_decode(s->open, s->open_size, s->open_n, times_ms, values);
    MUST(n > 0);
    head_chunks_add(&s->chunks, head_chunk_make(h, times_ms, values, n));
    s->open_n = s->open_size = 0;
}

static void tail_pack(const struct head *h, struct head_series *s)
{
    uint8_t block[HEAD_BLOCK_MAX];
    size_t size = block_encode(h, block, sizeof block, s->tail_times_ms, s->tail_values);
    if (s->open_size + size > HEAD_OPEN_MAX_BYTES || s->open_n == HEAD_CHUNK_N)
        open_seal(h, s);
    if (s->open_size + size > s->open_cap) {
        /* Grow by what a chunk of such blocks will likely need, not by doubling: this is most of the head's memory. */
        size_t cap = s->open_size + size + 64;
        s->open = mem_realloc(s->open, cap);
        s->open_cap = (uint16_t)cap;
    }
    memcpy(s->open + s->open_size, block, size);
    s->open_size = (uint16_t)(s->open_size + size);
    s->open_n += HEAD_TAIL;
    s->tail_n = 0;
}

void head_append(struct head *h, struct head_series *s, int64_t time_ms, double value)
{
    MUST(time_ms > s->last_ms);
    if (s->tail_n == HEAD_TAIL)
        tail_pack(h, s);
    s->tail_times_ms[s->tail_n] = time_ms;
    s->tail_values[s->tail_n++] = value;
    s->last_ms = time_ms;
    h->samples_n++;
}

void head_insert_late(struct head *h, struct head_series *s, int64_t time_ms, double value)
{
    if (!s->late)
        s->late = mem_zalloc(sizeof *s->late);
    struct late_samples *l = s->late;
    uint32_t at = l->n;
    while (at > 0 && l->times_ms[at - 1] >= time_ms)
        at--;
    if (at < l->n && l->times_ms[at] == time_ms) {
        l->values[at] = value;
        return;
    }
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 4;
        l->times_ms = mem_realloc(l->times_ms, l->cap * sizeof *l->times_ms);
        l->values = mem_realloc(l->values, l->cap * sizeof *l->values);
    }
    memmove(l->times_ms + at + 1, l->times_ms + at, (l->n - at) * sizeof *l->times_ms);
    memmove(l->values + at + 1, l->values + at, (l->n - at) * sizeof *l->values);
    l->times_ms[at] = time_ms;
    l->values[at] = value;
    l->n++;
    h->samples_n++;
    if (s->last_ms < time_ms)
        s->last_ms = time_ms;
}
