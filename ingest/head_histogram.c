/*
 * Native histograms in the head. As floats are, they are in sealed chunks, an open chunk and a late list; but the open
 * chunk is already what it will be in the store, so it needs no tail, and a late one is a chunk of one.
 *
 * Packed for a reader: u32 chunks, then each u32 size and bytes.
 */
#include "base/alloc.h"
#include "ingest/head_internal.h"

static struct head_histograms *histograms_of(struct head_series *s, int64_t time_ms)
{
    struct head_histograms *x = s->histograms;
    if (!x) {
        x = s->histograms = mem_zalloc(sizeof *x);
        x->first_ms = x->last_ms = time_ms;
    }
    x->first_ms = time_ms < x->first_ms ? time_ms : x->first_ms;
    x->last_ms = time_ms > x->last_ms ? time_ms : x->last_ms;
    return x;
}

static struct str open_bytes(const struct head_histograms *x)
{
    return (struct str){x->open.bytes.p, x->open.bytes.n};
}

void head_append_histogram(struct head *h, struct head_series *s, int64_t time_ms, const struct histogram_exact *v)
{
    MUST(time_ms > s->last_ms);
    struct head_histograms *x = histograms_of(s, time_ms);
    if (x->open.n == HEAD_CHUNK_N || x->open.bytes.n >= HEAD_HISTOGRAMS_MAX_BYTES) {
        head_chunks_add(&x->chunks, head_chunk_of(open_bytes(x), x->open.first_ms, x->open.last_ms));
        histogram_chunk_clear(&x->open);
    }
    histogram_chunk_add(&x->open, time_ms, v);
    s->last_ms = time_ms;
    h->samples_n++;
}

/* ---- late ones ---- */

static void late_free(struct late_histograms *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        mem_free((void *)(uintptr_t)l->v[i].chunk.p);
    mem_free(l->v);
    *l = (struct late_histograms){0};
}

/* Takes `one` over; of two at the same time the newer decision stays. */
static bool late_put(struct late_histograms *l, struct late_histogram one)
{
    uint32_t at = l->n;
    while (at > 0 && l->v[at - 1].time_ms >= one.time_ms)
        at--;
    if (at < l->n && l->v[at].time_ms == one.time_ms) {
        mem_free((void *)(uintptr_t)l->v[at].chunk.p);
        l->v[at] = one;
        return false;
    }
    l->v = mem_grow(l->v, &l->cap, l->n + 1u, sizeof *l->v);
    memmove(l->v + at + 1, l->v + at, (l->n - at) * sizeof *l->v);
    l->v[at] = one;
    l->n++;
    return true;
}

void head_insert_late_histogram(struct head *h, struct head_series *s, int64_t time_ms, const struct histogram_exact *v)
{
    struct histogram_chunk one = {0};
    histogram_chunk_add(&one, time_ms, v);
    struct str bytes = {mem_dup(one.bytes.p, one.bytes.n), one.bytes.n};
    h->samples_n += late_put(&histograms_of(s, time_ms)->late, (struct late_histogram){time_ms, bytes});
    histogram_chunk_done(&one);
}

/* ---- reading ---- */

/* Chunks that are packed of one series. */
struct picked {
    struct str *v;
    uint32_t n, samples_n;
    size_t cap, bytes;
};

static void pick(struct picked *p, struct str chunk)
{
    p->v = mem_grow(p->v, &p->cap, p->n + 1u, sizeof *p->v);
    p->v[p->n++] = chunk;
    p->samples_n += histogram_chunk_n((const uint8_t *)chunk.p);
    p->bytes += sizeof(uint32_t) + chunk.n;
}

static struct str chunk_bytes(const struct head_chunk *c)
{
    return (struct str){(const char *)c->bytes, c->size};
}

static void pick_late(struct picked *p, const struct late_histograms *l, int64_t start_ms, int64_t end_ms)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->v[i].time_ms > start_ms && l->v[i].time_ms <= end_ms)
            pick(p, l->v[i].chunk);
}

static void pick_all(struct picked *p, const struct head_histograms *x, int64_t start_ms, int64_t end_ms)
{
    for (const struct head_chunk *c = x->chunks.first; c && c->first_ms <= end_ms; c = c->next)
        if (c->last_ms > start_ms)
            pick(p, chunk_bytes(c));
    if (x->open.n && x->open.first_ms <= end_ms && x->open.last_ms > start_ms)
        pick(p, open_bytes(x));
}

/* The chunk with the newest at or before end_ms. Returns a time it is not older than. */
static int64_t pick_newest(struct picked *p, const struct head_histograms *x, int64_t end_ms)
{
    const struct head_chunk *newest = NULL;
    if (x->open.n && x->open.first_ms <= end_ms) {
        pick(p, open_bytes(x));
        return x->open.first_ms;
    }
    for (const struct head_chunk *c = x->chunks.first; c && c->first_ms <= end_ms; c = c->next)
        newest = c;
    if (!newest)
        return INT64_MIN;
    pick(p, chunk_bytes(newest));
    return newest->first_ms;
}

bool head_pack_histograms(const struct head_series *s, int64_t start_ms, int64_t end_ms, bool newest_only,
                          struct arena *a, struct head_span *ret)
{
    const struct head_histograms *x = s->histograms;
    struct picked p = {0};
    *ret = (struct head_span){.newest_from_ms = INT64_MIN};
    if (start_ms >= end_ms || !head_met_histogram(s, start_ms, end_ms))
        return true;
    if (newest_only)
        ret->newest_from_ms = pick_newest(&p, x, end_ms);
    else
        pick_all(&p, x, start_ms, end_ms);
    pick_late(&p, &x->late_moving, start_ms, end_ms);
    pick_late(&p, &x->late, start_ms, end_ms);
    uint8_t *at = p.n ? arena_alloc(a, sizeof(uint32_t) + p.bytes) : NULL;
    bool done = p.n == 0 || at;
    if (at) {
        ret->packed = at;
        ret->room_n = p.samples_n;
        store_u32(at, p.n);
        at += sizeof(uint32_t);
        for (uint32_t i = 0; i < p.n; i++) {
            store_u32(at, (uint32_t)p.v[i].n);
            memcpy(at + sizeof(uint32_t), p.v[i].p, p.v[i].n);
            at += sizeof(uint32_t) + p.v[i].n;
        }
    }
    mem_free(p.v);
    return done;
}

int head_unpack_histograms(const void *packed, int64_t start_ms, int64_t end_ms, struct arena *a, int64_t *times_ms,
                           const struct histogram **histograms, uint32_t *ret_n, struct err *e)
{
    const uint8_t *at = packed;
    uint32_t chunks_n = load_u32(at), n = 0, got = 0;
    int rc = 0;
    at += sizeof chunks_n;
    for (uint32_t i = 0; i < chunks_n && rc == 0; i++) {
        struct str chunk = {(const char *)at + sizeof(uint32_t), load_u32(at)};
        rc = histogram_chunk_decode(chunk, start_ms, end_ms, a, times_ms + n, histograms + n, &got, e);
        n += rc == 0 ? got : 0;
        at += sizeof(uint32_t) + chunk.n;
    }
    if (rc == 0)
        *ret_n = n;
    return rc;
}

/* In memory nothing is damaged: what cannot be read is not there. */
static bool find_in(struct str chunk, int64_t time_ms, struct arena *a, struct histogram_exact *ret)
{
    struct histogram_reader r;
    struct err ignored;
    bool more = true;
    MUST(histogram_reader_open(&r, chunk, a, &ignored) == 0);
    while (histogram_reader_next(&r, &more, &ignored) == 0 && more && r.time_ms < time_ms)
        ;
    if (!more || r.time_ms != time_ms)
        return false;
    *ret = r.decoder.now;
    return true;
}

bool head_lookup_histogram(const struct head_series *s, int64_t time_ms, struct arena *a, struct histogram_exact *ret)
{
    const struct head_histograms *x = s->histograms;
    struct picked p = {0};
    bool found = false;
    if (!head_met_histogram(s, time_ms - 1, time_ms))
        return false;
    pick_all(&p, x, time_ms - 1, time_ms);
    pick_late(&p, &x->late_moving, time_ms - 1, time_ms);
    pick_late(&p, &x->late, time_ms - 1, time_ms);
    for (uint32_t i = 0; i < p.n && !found; i++)
        found = find_in(p.v[i], time_ms, a, ret);
    mem_free(p.v);
    return found;
}

/* ---- checkpoint ---- */

/* A run of late ones as chunks. */
static int late_write(const struct late_histograms *l, uint32_t series, head_chunk_fn *each, void *ctx, struct err *e)
{
    struct histogram_chunk c = {0};
    struct arena a;
    int rc = 0;
    arena_init(&a, 0);
    for (uint32_t i = 0; i < l->n && rc == 0; i++) {
        struct histogram_exact v;
        MUST(find_in(l->v[i].chunk, l->v[i].time_ms, &a, &v));
        histogram_chunk_add(&c, l->v[i].time_ms, &v);
        arena_reset(&a);
        if (i + 1 < l->n && c.n < HEAD_CHUNK_N && c.bytes.n < HEAD_HISTOGRAMS_MAX_BYTES)
            continue;
        rc = each(ctx, series, c.first_ms, c.last_ms, (struct str){c.bytes.p, c.bytes.n}, e);
        histogram_chunk_clear(&c);
    }
    histogram_chunk_done(&c);
    arena_done(&a);
    return rc;
}

static void raise_to(int64_t *to_ms, int64_t t)
{
    *to_ms = t > *to_ms ? t : *to_ms;
}

int head_histograms_write(struct head *h, struct head_series *s, uint32_t series, int64_t *store_to_ms,
                          head_chunk_fn *each, void *ctx, struct err *e)
{
    struct head_histograms *x = s->histograms;
    int rc = 0;
    for (struct head_chunk *c = x->chunks.first; c && rc == 0; c = c->next) {
        rc = each(ctx, series, c->first_ms, c->last_ms, chunk_bytes(c), e);
        c->to_store = true;
        raise_to(store_to_ms, c->last_ms);
    }
    if (rc || x->late.n == 0)
        return rc;
    MUST(x->late_moving.n == 0);
    x->late_moving = x->late;
    x->late = (struct late_histograms){0};
    raise_to(store_to_ms, x->late_moving.v[x->late_moving.n - 1].time_ms);
    return late_write(&x->late_moving, series, each, ctx, e);
}

void head_histograms_written(struct head *h, struct head_series *s)
{
    struct head_histograms *x = s->histograms;
    while (x->chunks.first && x->chunks.first->to_store) {
        struct head_chunk *c = x->chunks.first;
        h->samples_n -= histogram_chunk_n(c->bytes);
        raise_to(&s->store_to_ms, c->last_ms);
        x->chunks.first = c->next;
        mem_free(c);
    }
    if (!x->chunks.first)
        x->chunks.newest = NULL;
    if (x->late_moving.n) {
        raise_to(&s->store_to_ms, x->late_moving.v[x->late_moving.n - 1].time_ms);
        h->samples_n -= x->late_moving.n;
    }
    late_free(&x->late_moving);
}

void head_histograms_unwrite(struct head *h, struct head_series *s)
{
    struct head_histograms *x = s->histograms;
    for (struct head_chunk *c = x->chunks.first; c; c = c->next)
        c->to_store = false;
    struct late_histograms newer = x->late;
    if (x->late_moving.n == 0)
        return;
    x->late = x->late_moving;
    x->late_moving = (struct late_histograms){0};
    for (uint32_t i = 0; i < newer.n; i++)
        h->samples_n -= !late_put(&x->late, newer.v[i]);
    mem_free(newer.v);
}

/* i64 oldest, i64 newest that ever came, u32 bytes, the open chunk */
void head_histograms_write_open(const struct head_histograms *x, struct strbuf *out)
{
    uint8_t head[8 + 8 + 4];
    store_i64(head, x->first_ms);
    store_i64(head + 8, x->last_ms);
    store_u32(head + 16, (uint32_t)x->open.bytes.n);
    strbuf_add(out, head, sizeof head);
    strbuf_add(out, x->open.bytes.p, x->open.bytes.n);
}

int head_histograms_read(struct byte_reader *r, struct head_series *s, struct err *e)
{
    struct head_histograms *x = s->histograms = mem_zalloc(sizeof *x);
    x->first_ms = read_i64(r);
    x->last_ms = read_i64(r);
    uint32_t size = read_u32(r);
    const uint8_t *bytes = read_bytes(r, size);
    if (r->failed || x->first_ms > x->last_ms || x->last_ms > s->last_ms)
        return err_set(e, ERR_CORRUPT, "head checkpoint: histograms of a series are cut short or out of order");
    int rc = size ? histogram_chunk_resume(&x->open, (struct str){(const char *)bytes, size}, e) : 0;
    if (rc)
        return err_prefix(e, "head checkpoint");
    if (x->open.n && (x->open.first_ms < x->first_ms || x->open.last_ms > x->last_ms || x->open.n > HEAD_CHUNK_N))
        return err_set(e, ERR_CORRUPT, "head checkpoint: an open chunk of histograms lies outside its series");
    return 0;
}

void head_histograms_free(struct head_histograms *x)
{
    if (!x)
        return;
    head_chunks_free(&x->chunks);
    histogram_chunk_done(&x->open);
    late_free(&x->late);
    late_free(&x->late_moving);
    mem_free(x);
}
