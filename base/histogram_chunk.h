/*
 * Chunks of native histograms, beside those of floats (kernels/frame.h) in head and store:
 *
 *     u8 version = 1, u8 encoding = 2 (histograms), u16 n = 1..512, i64 first time in ms,
 *     then n samples: for all but the first, varint zigzag(step - step before) of the time, in ms, where the step
 * before the second sample is 0; then the histogram (base/histogram_code.h); nothing after the last
 *
 * Times rise strictly. A chunk that grows is at every moment what it will be when it is sealed, but for n.
 */
#ifndef BASE_HISTOGRAM_CHUNK_H
#define BASE_HISTOGRAM_CHUNK_H

#include "base/histogram_code.h"

enum { HISTOGRAM_CHUNK_MAX_N = 512, HISTOGRAM_CHUNK_HEAD_BYTES = 12 };

/* A chunk that grows. Zero-initialise. */
struct histogram_chunk {
    struct strbuf bytes; /* empty without samples */
    uint32_t n;
    int64_t first_ms, last_ms, step_ms;
    struct histogram_encoder encoder;
};
/* time_ms > last_ms, n < HISTOGRAM_CHUNK_MAX_N; `h` is sound. */
void histogram_chunk_add(struct histogram_chunk *c, int64_t time_ms, const struct histogram_exact *h);
/* Empty; keeps its memory. */
void histogram_chunk_clear(struct histogram_chunk *c);
void histogram_chunk_done(struct histogram_chunk *c);
/* Grow on from the bytes of a chunk. ERR_CORRUPT leaves c empty. */
int histogram_chunk_resume(struct histogram_chunk *c, struct str bytes, struct err *e);

/* Is it a chunk of histograms, by its head? */
static inline bool histogram_chunk_is(const uint8_t *bytes, size_t size)
{
    return size > HISTOGRAM_CHUNK_HEAD_BYTES && bytes[0] == 1 && bytes[1] == 2;
}
static inline uint32_t histogram_chunk_n(const uint8_t *bytes)
{
    return load_u16(bytes + 2);
}

/* Reading, one sample after the other. */
struct histogram_reader {
    struct histogram_decoder decoder; /* .now: the sample at time_ms */
    struct byte_reader bytes;
    uint32_t n, next;
    int64_t time_ms, step_ms;
};
/* ERR_CORRUPT when it is no chunk of histograms. Memory in `a`. */
int histogram_reader_open(struct histogram_reader *r, struct str chunk, struct arena *a, struct err *e);
/* *ret_more is false behind the last; ERR_CORRUPT, ERR_LIMIT as histogram_decode. */
int histogram_reader_next(struct histogram_reader *r, bool *ret_more, struct err *e);

/*
 * The samples with start < t <= end, for evaluation: rising times, and histograms in `a`. Both arrays have room for
 * histogram_chunk_n. Errors as above; then nothing of the outputs counts.
 */
int histogram_chunk_decode(struct str chunk, int64_t start_ms, int64_t end_ms, struct arena *a, int64_t *times_ms,
                           const struct histogram **histograms, uint32_t *ret_n, struct err *e);

#endif
