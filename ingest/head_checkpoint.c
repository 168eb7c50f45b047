/*
 * A head block in a checkpoint:
 *
 *     u8 version (3), then for each series that has anything, ascending:
 *     u16 slot, i64 last_ms, i64 store_to_ms, u16 open_n, u16 open bytes, u8 tail_n (+ 128: histograms follow),
 *     open bytes, tail times i64[tail_n], tail values f64[tail_n]; then of histograms: i64 time of the oldest, i64 of
 *     the newest that ever came, u32 bytes, their open chunk (base/histogram_chunk.h)
 *
 * Version 2 is the same without any histograms. Sealed chunks and late lists are not in it: the same checkpoint moves
 * them to the store.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "ingest/head_internal.h"
#include "kernels/frame.h"

enum { CHECKPOINT_VERSION = 3, CHECKPOINT_OLDEST = 2, HISTOGRAMS_FOLLOW = 128 };

bool head_block_touched(const struct head *h, uint32_t block)
{
    return block < h->blocks_n && h->blocks[block] && h->blocks[block]->touched;
}

/* Late lists may be longer than a chunk. */
static int late_write(const struct head *h, struct late_samples *l, uint32_t series, head_chunk_fn *each, void *ctx,
                      struct err *e)
{
    int rc = 0;
    for (uint32_t at = 0; at < l->n && rc == 0; at += HEAD_CHUNK_N) {
        uint32_t n = l->n - at < HEAD_CHUNK_N ? l->n - at : HEAD_CHUNK_N;
        struct head_chunk *c = head_chunk_make(h, l->times_ms + at, l->values + at, n);
        rc = each(ctx, series, c->first_ms, c->last_ms, (struct str){(const char *)c->bytes, c->size}, e);
        mem_free(c);
    }
    return rc;
}

static int series_write(struct head *h, struct head_series *s, uint32_t series, struct strbuf *out, head_chunk_fn *each,
                        void *ctx, struct err *e)
{
    int64_t store_to_ms = s->store_to_ms;
    int rc;
    for (struct head_chunk *c = s->chunks.first; c; c = c->next) {
        rc = each(ctx, series, c->first_ms, c->last_ms, (struct str){(const char *)c->bytes, c->size}, e);
        if (rc)
            return rc;
        c->to_store = true;
        store_to_ms = c->last_ms > store_to_ms ? c->last_ms : store_to_ms;
    }
    if (s->late) {
        MUST(!s->late_moving);
        s->late_moving = s->late;
        s->late = NULL;
        rc = late_write(h, s->late_moving, series, each, ctx, e);
        if (rc)
            return rc;
        int64_t newest_ms = s->late_moving->times_ms[s->late_moving->n - 1];
        store_to_ms = newest_ms > store_to_ms ? newest_ms : store_to_ms;
    }
    rc = s->histograms ? head_histograms_write(h, s, series, &store_to_ms, each, ctx, e) : 0;
    if (rc || s->last_ms == INT64_MIN)
        return rc;
    uint8_t head[2 + 8 + 8 + 2 + 2 + 1];
    struct byte_writer w = {head, head + sizeof head, false};
    write_u16(&w, (uint16_t)(series % SHARD_SERIES));
    write_i64(&w, s->last_ms);
    write_i64(&w, store_to_ms);
    write_u16(&w, s->open_n);
    write_u16(&w, s->open_size);
    write_u8(&w, (uint8_t)(s->tail_n | (s->histograms ? HISTOGRAMS_FOLLOW : 0)));
    strbuf_add(out, head, sizeof head);
    strbuf_add(out, s->open, s->open_size);
    strbuf_add(out, s->tail_times_ms, s->tail_n * sizeof s->tail_times_ms[0]);
    strbuf_add(out, s->tail_values, s->tail_n * sizeof s->tail_values[0]);
    if (s->histograms)
        head_histograms_write_open(s->histograms, out);
    return 0;
}

int head_block_write(struct head *h, uint32_t block, struct strbuf *out, head_chunk_fn *each, void *ctx, struct err *e)
{
    struct head_block *b = h->blocks[block];
    strbuf_add_char(out, CHECKPOINT_VERSION);
    for (uint32_t i = 0; i < SHARD_SERIES; i++) {
        int rc = series_write(h, &b->series[i], block * SHARD_SERIES + i, out, each, ctx, e);
        if (rc) {
            head_block_unwrite(h, block);
            return rc;
        }
    }
    b->touched = false;
    return 0;
}

static void series_written(struct head *h, struct head_series *s)
{
    int64_t n = 0;
    struct chunk_head peek;
    while (s->chunks.first && s->chunks.first->to_store) {
        struct head_chunk *c = s->chunks.first;
        if (chunk_peek(c->bytes, c->size, &peek) == 0)
            n += peek.n;
        s->store_to_ms = c->last_ms > s->store_to_ms ? c->last_ms : s->store_to_ms;
        s->chunks.first = c->next;
        mem_free(c);
    }
    if (!s->chunks.first)
        s->chunks.newest = NULL;
    struct late_samples *l = s->late_moving;
    if (l) {
        int64_t newest_ms = l->times_ms[l->n - 1];
        s->store_to_ms = newest_ms > s->store_to_ms ? newest_ms : s->store_to_ms;
        n += l->n;
        s->late_moving = NULL;
        mem_free(l->times_ms);
        mem_free(l->values);
        mem_free(l);
    }
    h->samples_n -= (uint64_t)n;
    if (s->histograms)
        head_histograms_written(h, s);
}

void head_block_written(struct head *h, uint32_t block)
{
    for (uint32_t i = 0; i < SHARD_SERIES; i++)
        series_written(h, &h->blocks[block]->series[i]);
}

void head_block_unwrite(struct head *h, uint32_t block)
{
    for (uint32_t i = 0; i < SHARD_SERIES; i++) {
        struct head_series *s = &h->blocks[block]->series[i];
        for (struct head_chunk *c = s->chunks.first; c; c = c->next)
            c->to_store = false;
        if (s->histograms)
            head_histograms_unwrite(h, s);
        struct late_samples *back = s->late_moving;
        s->late_moving = NULL;
        if (!back)
            continue;
        /* What came meanwhile goes in among the old ones; equal times keep the newer decision. */
        struct late_samples *newer = s->late;
        s->late = back;
        for (uint32_t j = 0; newer && j < newer->n; j++) {
            h->samples_n--;
            head_insert_late(h, s, newer->times_ms[j], newer->values[j]);
        }
        if (newer) {
            mem_free(newer->times_ms);
            mem_free(newer->values);
            mem_free(newer);
        }
    }
    h->blocks[block]->touched = true;
}

static int series_read(struct byte_reader *r, unsigned version, struct head_series *ret, struct err *e)
{
    ret->last_ms = read_i64(r);
    ret->store_to_ms = read_i64(r);
    uint16_t open_n = read_u16(r), open_size = read_u16(r);
    uint8_t tail_n = read_u8(r);
    bool histograms = version >= 3 && (tail_n & HISTOGRAMS_FOLLOW);
    tail_n = histograms ? tail_n & ~HISTOGRAMS_FOLLOW : tail_n;
    if (r->failed || tail_n > HEAD_TAIL || open_n > HEAD_CHUNK_N || open_n % HEAD_TAIL ||
        (open_n == 0) != (open_size == 0))
        return err_set(e, ERR_CORRUPT, "head checkpoint: impossible sizes of a series");
    const uint8_t *open = read_bytes(r, open_size);
    for (uint32_t i = 0; i < tail_n; i++)
        ret->tail_times_ms[i] = read_i64(r);
    for (uint32_t i = 0; i < tail_n; i++)
        ret->tail_values[i] = read_f64(r);
    if (r->failed)
        return err_set(e, ERR_CORRUPT, "head checkpoint: cut short");
    int64_t times_ms[HEAD_CHUNK_N + HEAD_TAIL + FRAME_SLACK], previous = INT64_MIN;
    double values[HEAD_CHUNK_N + HEAD_TAIL + FRAME_SLACK];
    if (open_n && head_open_decode(open, open_size, open_n, times_ms, values) != open_n)
        return err_set(e, ERR_CORRUPT, "head checkpoint: an open chunk does not decode");
    for (uint32_t i = 0; i < (uint32_t)open_n + tail_n; i++) {
        int64_t t = i < open_n ? times_ms[i] : ret->tail_times_ms[i - open_n];
        if (t <= previous || t > ret->last_ms)
            return err_set(e, ERR_CORRUPT, "head checkpoint: times out of order");
        previous = t;
    }
    ret->open = open_size ? mem_dup(open, open_size) : NULL;
    ret->open_size = ret->open_cap = open_size;
    ret->open_n = open_n;
    ret->tail_n = tail_n;
    return histograms ? head_histograms_read(r, ret, e) : 0;
}

int head_block_read(struct head *h, uint32_t block, struct str bytes, struct err *e)
{
    struct byte_reader r = {(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n, false};
    struct head_block *made = mem_zalloc(sizeof *made);
    for (uint32_t i = 0; i < SHARD_SERIES; i++)
        made->series[i].last_ms = made->series[i].store_to_ms = INT64_MIN;
    unsigned version = read_u8(&r);
    int rc = r.failed || (version >= CHECKPOINT_OLDEST && version <= CHECKPOINT_VERSION)
                 ? 0
                 : err_set(e, ERR_VERSION,
                           "the head checkpoint has version %u and this program reads up to %d; use the mullion "
                           "that wrote it, or begin with a new data directory",
                           version, CHECKPOINT_VERSION);
    int32_t before = -1;
    uint64_t samples_n = 0;
    while (rc == 0 && reader_left(&r)) {
        uint16_t slot = read_u16(&r);
        if (r.failed || slot >= SHARD_SERIES || slot <= before) {
            rc = err_set(e, ERR_CORRUPT, "head checkpoint: series out of order");
            break;
        }
        before = slot;
        const struct head_series *s = &made->series[slot];
        rc = series_read(&r, version, &made->series[slot], e);
        samples_n += s->open_n + s->tail_n + (s->histograms ? s->histograms->open.n : 0);
    }
    struct head_block *target = rc == 0 ? head_block_at(h, block) : NULL;
    if (target) {
        for (uint32_t i = 0; i < SHARD_SERIES; i++)
            head_series_clear(&target->series[i]);
        *target = *made;
        h->samples_n += samples_n;
    } else {
        for (uint32_t i = 0; i < SHARD_SERIES; i++)
            head_series_clear(&made->series[i]);
    }
    mem_free(made);
    return rc;
}
