/* Chunks of histograms: any bytes are read inside their bounds, and what is read is sound and comes back when it is
 * written anew. And whatever is sound goes through every operation of evaluation, whose results are well formed. */
#include "base/histogram_chunk.h"
#include "fuzz.h"

static void check_side(const struct histogram_side *side)
{
    int64_t end = 0;
    uint64_t held = 0;
    for (uint32_t i = 0; i < side->spans_n; i++) {
        MUST(i == 0 || side->spans[i].offset >= 0);
        end += (int64_t)side->spans[i].offset + side->spans[i].length;
        held += side->spans[i].length;
        MUST(end <= HISTOGRAM_INDEX_MAX && end - side->spans[i].length >= -HISTOGRAM_INDEX_MAX);
    }
    MUST(held == side->counts_n);
}

static void check_made(const struct histogram *h)
{
    if (!h)
        return;
    check_side(&h->positive);
    check_side(&h->negative);
    MUST(h->zero_threshold >= 0 && histogram_is_custom(h) == (h->schema == HISTOGRAM_SCHEMA_CUSTOM));
    for (uint32_t i = 1; i < h->custom_n; i++)
        MUST(h->custom[i] > h->custom[i - 1]);
}

/* Two histograms in time order, with each other and each with numbers. */
static void evaluate(const struct histogram *before, const struct histogram *now)
{
    static const double numbers[] = {-3, 0, 0.5, 1e300};
    const struct histogram *const both[3] = {before, now, before};
    struct histogram_buckets it;
    struct histogram_bucket bucket;
    struct strbuf text = {0};
    struct arena a;
    unsigned notes = 0;
    arena_init(&a, 256 << 20);
    check_made(histogram_add(before, now, &a, &notes));
    check_made(histogram_sub(now, before, &a, &notes));
    check_made(histogram_increase(both, 3, true, &a, &notes));
    check_made(histogram_increase(both, 2, false, &a, &notes));
    check_made(histogram_last_step(before, now, true, &a, &notes));
    check_made(histogram_interpolate(before, now, 0.3, false, &a, &notes));
    for (int mean = 0; mean < 2; mean++) {
        struct histogram_total *t = histogram_total_new(&a, mean);
        for (int i = 0; t && i < 3; i++)
            histogram_total_add(t, both[i]);
        check_made(t ? histogram_total_result(t, &a, &notes) : NULL);
    }
    histogram_was_reset(before, now);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        check_made(histogram_mul(now, numbers[i], &a));
        check_made(histogram_div(now, numbers[i], &a));
        check_made(histogram_trim(now, numbers[i], i % 2, &a));
        histogram_quantile(now, numbers[i], &notes);
        histogram_fraction(now, -1, numbers[i], &notes);
    }
    check_made(histogram_compact(now, &a));
    histogram_stdvar(now);
    histogram_buckets_begin(&it, now, false);
    uint64_t seen = 0;
    while (histogram_buckets_next(&it, &bucket))
        seen++;
    MUST(seen - (now->zero_count > 0) == (uint64_t)now->positive.counts_n + now->negative.counts_n);
    histogram_text(now, &text);
    strbuf_done(&text);
    arena_done(&a);
}

static bool next(struct histogram_reader *r, struct err *e)
{
    bool more = false;
    return histogram_reader_next(r, &more, e) == 0 && more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct histogram_reader read, again;
    struct histogram_chunk written = {0};
    struct arena a;
    struct err e = {0};
    const struct histogram *before = NULL, *now;
    arena_init(&a, 64 << 20);
    if (histogram_reader_open(&read, (struct str){(const char *)data, size}, &a, &e) == 0) {
        while (next(&read, &e)) {
            MUST(histogram_exact_fault(&read.decoder.now) == NULL);
            MUST(written.n == 0 || read.time_ms > written.last_ms);
            histogram_chunk_add(&written, read.time_ms, &read.decoder.now);
            now = histogram_of_exact(&read.decoder.now, &a);
            if (now)
                evaluate(before ? before : now, now);
            before = now;
        }
        struct arena b;
        arena_init(&b, 0);
        if (written.n > 0) {
            MUST(histogram_reader_open(&again, (struct str){written.bytes.p, written.bytes.n}, &b, &e) == 0);
            MUST(histogram_reader_open(&read, (struct str){(const char *)data, size}, &b, &e) == 0);
            for (uint32_t i = 0; i < written.n; i++) {
                MUST(next(&read, &e) && next(&again, &e) && read.time_ms == again.time_ms);
                MUST(histogram_exact_eq(&read.decoder.now, &again.decoder.now));
                MUST(read.decoder.now.reset == again.decoder.now.reset);
            }
        }
        arena_done(&b);
    }
    histogram_chunk_done(&written);
    arena_done(&a);
    return 0;
}
