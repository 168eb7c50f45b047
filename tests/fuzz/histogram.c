/* Chunks of histograms: any bytes are read inside their bounds, and what is read is sound and comes back when it is
 * written anew. */
#include "base/histogram_chunk.h"
#include "fuzz.h"

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
    arena_init(&a, 64 << 20);
    if (histogram_reader_open(&read, (struct str){(const char *)data, size}, &a, &e) == 0) {
        while (next(&read, &e)) {
            MUST(histogram_exact_fault(&read.decoder.now) == NULL);
            MUST(written.n == 0 || read.time_ms > written.last_ms);
            histogram_chunk_add(&written, read.time_ms, &read.decoder.now);
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
