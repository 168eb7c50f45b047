#include "base/histogram_chunk.h"

#include "base/alloc.h"
#include "base/err.h"

void histogram_chunk_add(struct histogram_chunk *c, int64_t time_ms, const struct histogram_exact *h)
{
    MUST(c->n < HISTOGRAM_CHUNK_MAX_N && (c->n == 0 || time_ms > c->last_ms));
    if (c->n == 0) {
        uint8_t head[HISTOGRAM_CHUNK_HEAD_BYTES] = {1, 2};
        store_i64(head + 4, time_ms);
        strbuf_add(&c->bytes, head, sizeof head);
        c->first_ms = time_ms;
        c->step_ms = 0;
    } else {
        int64_t step_ms = (int64_t)((uint64_t)time_ms - (uint64_t)c->last_ms);
        strbuf_add_varint(&c->bytes, zigzag((int64_t)((uint64_t)step_ms - (uint64_t)c->step_ms)));
        c->step_ms = step_ms;
    }
    histogram_encode(&c->encoder, h, &c->bytes);
    c->last_ms = time_ms;
    c->n++;
    store_u16(c->bytes.p + 2, (uint16_t)c->n);
}

void histogram_chunk_clear(struct histogram_chunk *c)
{
    strbuf_clear(&c->bytes);
    histogram_encoder_reset(&c->encoder);
    c->n = 0;
}

void histogram_chunk_done(struct histogram_chunk *c)
{
    strbuf_done(&c->bytes);
    histogram_encoder_done(&c->encoder);
    *c = (struct histogram_chunk){0};
}

int histogram_reader_open(struct histogram_reader *r, struct str chunk, struct arena *a, struct err *e)
{
    const uint8_t *p = (const uint8_t *)chunk.p;
    uint32_t n = histogram_chunk_is(p, chunk.n) ? histogram_chunk_n(p) : 0;
    if (n == 0 || n > HISTOGRAM_CHUNK_MAX_N)
        return err_set(e, ERR_CORRUPT, "the head of a chunk of histograms is malformed");
    *r = (struct histogram_reader){
        .bytes = {p + HISTOGRAM_CHUNK_HEAD_BYTES, p + chunk.n, false}, .n = n, .time_ms = load_i64(p + 4)};
    histogram_decoder_init(&r->decoder, a);
    return 0;
}

int histogram_reader_next(struct histogram_reader *r, bool *ret_more, struct err *e)
{
    *ret_more = r->next < r->n;
    if (!*ret_more)
        return r->bytes.p == r->bytes.end ? 0 : err_set(e, ERR_CORRUPT, "bytes follow a chunk of histograms");
    if (r->next > 0) {
        r->step_ms = (int64_t)((uint64_t)r->step_ms + (uint64_t)unzigzag(read_varint(&r->bytes)));
        if (r->bytes.failed || r->step_ms <= 0 || __builtin_add_overflow(r->time_ms, r->step_ms, &r->time_ms))
            return err_set(e, ERR_CORRUPT, "times of a chunk of histograms do not rise");
    }
    r->next++;
    return histogram_decode(&r->decoder, &r->bytes, e);
}

int histogram_chunk_decode(struct str chunk, int64_t start_ms, int64_t end_ms, struct arena *a, int64_t *times_ms,
                           const struct histogram **histograms, uint32_t *ret_n, struct err *e)
{
    struct histogram_reader r;
    bool more = true;
    uint32_t n = 0;
    int rc = histogram_reader_open(&r, chunk, a, e);
    while (rc == 0 && more) {
        rc = histogram_reader_next(&r, &more, e);
        if (rc || !more || r.time_ms <= start_ms || r.time_ms > end_ms)
            continue;
        times_ms[n] = r.time_ms;
        histograms[n] = histogram_of_exact(&r.decoder.now, a);
        if (!histograms[n++])
            rc = arena_check(a, "query", e);
    }
    if (rc == 0)
        *ret_n = n;
    return rc;
}

int histogram_chunk_resume(struct histogram_chunk *c, struct str bytes, struct err *e)
{
    struct histogram_reader r;
    struct arena a;
    bool more = true;
    arena_init(&a, 0);
    histogram_chunk_clear(c);
    int rc = histogram_reader_open(&r, bytes, &a, e);
    int64_t first_ms = rc ? 0 : r.time_ms;
    while (rc == 0 && more)
        rc = histogram_reader_next(&r, &more, e);
    if (rc == 0) {
        strbuf_add_str(&c->bytes, bytes);
        histogram_encoder_follow(&c->encoder, &r.decoder);
        c->n = r.n;
        c->first_ms = first_ms;
        c->last_ms = r.time_ms;
        c->step_ms = r.step_ms;
    }
    arena_done(&a);
    return rc;
}
