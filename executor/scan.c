#include "executor/scan.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "base/samples.h"
#include "executor/scan_histograms.h"
#include "kernels/frame.h"
#include "store/raw.h"

/* Columns of one series while they are put together. */
struct columns {
    int64_t *times_ms;
    double *values;
    size_t n, times_cap, values_cap;
    const struct histogram **histograms; /* beside them, when the series has any */
    size_t histograms_cap;
    struct scan_histograms own; /* those of the series, while they stand apart */
};

struct shard {
    struct raw_chunk *chunks; /* borrowed bytes: the store's pages, valid for the transaction */
    size_t n, cap;
};

/* Room for `more` samples and what decoders write past them. */
static void columns_reserve(struct columns *c, size_t more)
{
    size_t need = c->n + more + FRAME_SLACK;
    c->times_ms = mem_grow(c->times_ms, &c->times_cap, need, sizeof *c->times_ms);
    c->values = mem_grow(c->values, &c->values_cap, need, sizeof *c->values);
}

static void columns_done(struct columns *c)
{
    mem_free(c->times_ms);
    mem_free(c->values);
    mem_free(c->histograms);
    scan_histograms_done(&c->own);
}

static int keep_chunk(void *ctx, const struct raw_chunk *chunk, struct err *e)
{
    struct shard *s = ctx;
    s->chunks = mem_grow(s->chunks, &s->cap, s->n + 1, sizeof *s->chunks);
    s->chunks[s->n++] = *chunk;
    return 0;
}

static int by_slot_then_time(const void *pa, const void *pb)
{
    const struct raw_chunk *a = pa, *b = pb;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->first_ms != b->first_ms)
        return a->first_ms < b->first_ms ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* States serve the series up to raw_from_ms (pane readers); raw readers have it at or before the span. */
static int64_t series_from(const struct scan *s, const struct source_series *v)
{
    return v->raw_from_ms > s->start_ms ? v->raw_from_ms : s->start_ms;
}

static bool wanted(const struct scan *s, uint32_t series)
{
    return !s->skip_series || !(s->skip_series[series / 64] >> (series % 64) & 1);
}

/* Collect the chunks of series [first, end), which share one shard. Those the head holds in full are not looked for. */
static int shard_load(struct scan *s, uint32_t first, uint32_t end, struct shard *shard, struct err *e)
{
    const struct source_series *v = s->result->series;
    uint64_t want[SHARD_SERIES / 64] = {0};
    bool any = false;
    shard->n = 0;
    for (uint32_t i = first; s->txn && i < end; i++) {
        if (!wanted(s, i) || v[i].store_to_ms <= series_from(s, &v[i]))
            continue;
        uint32_t slot = v[i].ordinal % SHARD_SERIES;
        want[slot / 64] |= UINT64_C(1) << (slot % 64);
        any = true;
    }
    if (!any)
        return 0;
    int code = raw_walk(s->txn, v[first].metric, v[first].ordinal / SHARD_SERIES, s->start_ms, s->end_ms, want,
                        keep_chunk, shard, &s->damaged_n, e);
    if (code == 0 && shard->n > 1)
        qsort(shard->chunks, shard->n, sizeof *shard->chunks, by_slot_then_time);
    return code;
}

/* The n rising samples behind the columns become part of them. Returns whether times still rise. */
static bool columns_take(struct columns *c, uint32_t n)
{
    bool rising = n == 0 || c->n == 0 || c->times_ms[c->n - 1] < c->times_ms[c->n];
    c->n += n;
    return rising;
}

struct point {
    int64_t time_ms;
    size_t order;
    double value;
};

static int by_time_then_order(const void *pa, const void *pb)
{
    const struct point *a = pa, *b = pb;
    if (a->time_ms != b->time_ms)
        return a->time_ms < b->time_ms ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/*
 * Late samples and the head's copy overlap what came before: order by time, equal times once. The first of two is kept,
 * but a number beats a stale marker, as it does at admission.
 */
static void columns_merge(struct columns *c)
{
    struct point *v = mem_alloc(c->n * sizeof *v);
    for (size_t i = 0; i < c->n; i++)
        v[i] = (struct point){c->times_ms[i], i, c->values[i]};
    qsort(v, c->n, sizeof *v, by_time_then_order);
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (kept && c->times_ms[kept - 1] == v[i].time_ms) {
            if (float_is_stale(c->values[kept - 1]))
                c->values[kept - 1] = v[i].value;
            continue;
        }
        c->times_ms[kept] = v[i].time_ms;
        c->values[kept++] = v[i].value;
    }
    c->n = kept;
    mem_free(v);
}

static bool has_stale(const double *v, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) /* to the end: so it takes several at once */
        any |= float_is_stale(v[i]);
    return any;
}

static void columns_drop_stale(struct columns *c)
{
    size_t kept = 0;
    if (!has_stale(c->values, c->n))
        return;
    for (size_t i = 0; i < c->n; i++) {
        if (float_is_stale(c->values[i]))
            continue;
        c->times_ms[kept] = c->times_ms[i];
        c->values[kept++] = c->values[i];
    }
    c->n = kept;
}

/* The series' histograms take their places in the columns. */
static const struct histogram *const *columns_weave(struct columns *c)
{
    if (c->own.n == 0)
        return NULL;
    scan_histograms_order(&c->own);
    columns_reserve(c, c->own.n);
    c->histograms = mem_grow(c->histograms, &c->histograms_cap, c->n + c->own.n, sizeof(const struct histogram *));
    c->n = scan_histograms_weave(&c->own, c->times_ms, c->values, c->histograms, c->n);
    return c->histograms;
}

/* One series: its chunks [chunks, chunks + chunks_n) and what the head has. */
static int series_emit(struct scan *s, uint32_t series, const struct raw_chunk *chunks, size_t chunks_n,
                       struct columns *c, scan_fn *each, void *ctx, struct err *e)
{
    const struct source_series *v = &s->result->series[series];
    int64_t from_ms = series_from(s, v);
    bool rising = true;
    c->n = 0;
    scan_histograms_clear(&c->own);
    for (size_t i = 0; i < chunks_n; i++) {
        uint32_t n;
        if (histogram_chunk_is(chunks[i].bytes, chunks[i].size)) {
            struct str chunk = {(const char *)chunks[i].bytes, chunks[i].size};
            int code = s->want_histograms ? scan_histograms_chunk(&c->own, chunk, from_ms, s->end_ms, e) : 0;
            if (code && code != ERR_CORRUPT)
                return code;
            s->damaged_n += code != 0;
            continue;
        }
        columns_reserve(c, FRAME_MAX_N);
        if (chunk_decode(chunks[i].bytes, chunks[i].size, c->times_ms + c->n, c->values + c->n, &n) != 0) {
            s->damaged_n++;
            continue;
        }
        rising &= columns_take(c, samples_trim(c->times_ms + c->n, c->values + c->n, n, from_ms, s->end_ms));
    }
    if (v->packed_n > 0) {
        columns_reserve(c, v->packed_n);
        rising &=
            columns_take(c, s->result->unpack(v->packed, from_ms, s->end_ms, c->times_ms + c->n, c->values + c->n));
    }
    if (!rising)
        columns_merge(c);
    if (!s->keep_stale)
        columns_drop_stale(c);
    const struct histogram *const *histograms = NULL;
    if (s->want_histograms) {
        int code = scan_histograms_unpack(&c->own, s->result, v, from_ms, s->end_ms, e);
        if (code)
            return code;
        histograms = columns_weave(c);
    }
    s->samples_n += c->n;
    return each(ctx, series, c->times_ms, c->values, histograms, (uint32_t)c->n, e);
}

int scan_run(struct scan *s, scan_fn *each, void *ctx, struct err *e)
{
    const struct source_series *v = s->result->series;
    struct columns columns = {0};
    MUST(!s->want_histograms || s->result->histograms_wanted);
    scan_histograms_init(&columns.own);
    struct shard shard = {0};
    int code = 0;
    s->samples_n = 0;
    s->damaged_n = 0;
    for (uint32_t i = 0, end; code == 0 && i < s->result->series_n; i = end) {
        for (end = i + 1; end < s->result->series_n && v[end].metric == v[i].metric &&
                          v[end].ordinal / SHARD_SERIES == v[i].ordinal / SHARD_SERIES;)
            end++;
        code = shard_load(s, i, end, &shard, e);
        size_t next = 0;
        for (uint32_t k = i; code == 0 && k < end; k++) {
            uint32_t slot = v[k].ordinal % SHARD_SERIES;
            while (next < shard.n && shard.chunks[next].slot < slot)
                next++;
            size_t first = next;
            while (next < shard.n && shard.chunks[next].slot == slot)
                next++;
            if (wanted(s, k))
                code = series_emit(s, k, shard.n ? shard.chunks + first : NULL, next - first, &columns, each, ctx, e);
        }
    }
    columns_done(&columns);
    mem_free(shard.chunks);
    return code;
}
