/* What head or store hold at one time of a series: what admission asks of late samples. */
#include "ingest/ingest_internal.h"
#include "kernels/frame.h"

/* Of the samples at one time the first, but a number or histogram rather than a stale marker. */
struct chunk_search {
    struct arena *arena;
    bool found;
    struct sample sample;
    struct histogram_exact histogram;
};

static void search_histograms(struct chunk_search *s, struct str chunk)
{
    struct histogram_reader r;
    struct err ignored;
    bool more = true;
    if (histogram_reader_open(&r, chunk, s->arena, &ignored))
        return;
    while (histogram_reader_next(&r, &more, &ignored) == 0 && more)
        if (r.time_ms == s->sample.time_ms) {
            s->histogram = r.decoder.now;
            s->sample.histogram = &s->histogram;
            s->found = true;
            return;
        }
}

static int search_chunk(void *ctx, const struct raw_chunk *chunk, struct err *e)
{
    struct chunk_search *s = ctx;
    int64_t times_ms[FRAME_MAX_N + FRAME_SLACK];
    double values[FRAME_MAX_N + FRAME_SLACK];
    uint32_t n;
    if (s->found && !sample_is_stale(&s->sample))
        return 0;
    if (histogram_chunk_is(chunk->bytes, chunk->size)) {
        search_histograms(s, (struct str){(const char *)chunk->bytes, chunk->size});
        return 0;
    }
    if (chunk_decode(chunk->bytes, chunk->size, times_ms, values, &n))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (times_ms[i] == s->sample.time_ms && (!s->found || sample_is_stale(&s->sample))) {
            s->found = true;
            memcpy(&s->sample.value, &values[i], sizeof values[i]);
        }
    return 0;
}

/* As readers would see it: a histogram beats a marker at its time. */
static bool held_in_head(struct apply *a, const struct head_series *s, struct sample *ret)
{
    struct histogram_exact histogram;
    if (head_lookup_histogram(s, ret->time_ms, &a->arena, &histogram)) {
        ret->histogram = arena_dup(&a->arena, &histogram, sizeof histogram);
        return true;
    }
    return head_lookup(s, ret->time_ms, &ret->value);
}

/* A sample in head or store, valid until the next call: a request may repeat any number of histograms. The store is
 * asked only for times it may hold: late samples are few. */
bool held_at(void *ctx, int64_t time_ms, struct sample *ret)
{
    struct held_at *h = ctx;
    struct ingest *in = h->apply->in;
    const struct head_series *s = head_find(&in->head, h->series);
    arena_reset(&h->apply->arena);
    *ret = (struct sample){.time_ms = time_ms};
    bool found = s && held_in_head(h->apply, s, ret);
    if (!s || time_ms > s->store_to_ms || (found && !sample_is_stale(ret)))
        return found;
    struct err ignored;
    if (!h->apply->lookup_txn && store_read_begin(in->store, &h->apply->lookup_txn, &ignored))
        return found;
    struct series_place place = catalog_place(in->catalog, h->series);
    uint64_t want[16] = {0};
    uint32_t slot = place.ordinal % SHARD_SERIES;
    want[slot / 64] = UINT64_C(1) << (slot % 64);
    struct chunk_search search = {.arena = &h->apply->arena, .found = found, .sample = *ret};
    if (raw_walk(h->apply->lookup_txn, place.metric, place.ordinal / SHARD_SERIES, time_ms - 1, time_ms, want,
                 search_chunk, &search, NULL, &ignored))
        return found;
    *ret = search.sample;
    if (ret->histogram)
        ret->histogram = arena_dup(&h->apply->arena, ret->histogram, sizeof *ret->histogram);
    return search.found;
}
