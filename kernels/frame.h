/*
 * The frame: the one lossless codec for samples. Raw chunks, exact quantile panes and timestamps all use it.
 *
 * A frame holds n integers or n doubles, 1 <= n <= FRAME_MAX_N; n is not in it. Doubles are mapped exactly to integers
 * (decimal or ordered bits), predicted by the best of four predictors, bit-packed, with patches, corrections and
 * verbatim exceptions (byte table at the head of frame.c and in docs/FORMATS.md). Every bit pattern survives, NaN
 * payloads, stale markers and -0 included. The encoder is a pure function of its input. Decoding never reads outside
 * [src, src + size) and refuses what the table does not allow; structure alone cannot find every bit flip, so files add
 * checksums. Caller owns memory; no allocation; thread-safe.
 */
#ifndef KERNELS_FRAME_H
#define KERNELS_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum { FRAME_MAX_N = 512, FRAME_SLACK = 16 }; /* decode outputs need room for n + FRAME_SLACK elements */

size_t frame_bound(uint32_t n);   /* most bytes of a frame of n values */
size_t frame_scratch(uint32_t n); /* scratch bytes for encode, 16-aligned */

/* Returns bytes written, or 0 if n is out of range or cap < frame_bound(n). */
size_t frame_encode_f64(uint8_t *dst, size_t cap, const double *v, uint32_t n, void *scratch);
/* As frame_encode_f64, but 0 too when the values are no decimals, exactly or nearly, and not all the same. */
size_t frame_encode_decimals(uint8_t *dst, size_t cap, const double *v, uint32_t n, void *scratch);
size_t frame_encode_i64(uint8_t *dst, size_t cap, const int64_t *v, uint32_t n, void *scratch);

/* Returns the bytes the frame took (<= size), or 0 if malformed; out[n..n+FRAME_SLACK) may be overwritten. */
size_t frame_decode_f64(const uint8_t *src, size_t size, uint32_t n, double *out);
size_t frame_decode_i64(const uint8_t *src, size_t size, uint32_t n, int64_t *out);
/* As frame_decode_f64, but only the first want_n <= n values, and only they are checked: sorted panes read from their
 * front. Negating every double (its sign bit alone) before encoding and after is lossless. */
size_t frame_decode_head_f64(const uint8_t *src, size_t size, uint32_t n, uint32_t want_n, double *out);
/* The scale e of a frame of doubles that are all decimals y / 10^e, or one above DECIMAL_E_MAX (kernels/decimal.h). */
unsigned frame_scale(const uint8_t *src, size_t size);
/* As frame_decode_head_f64 for such a frame, but the doubles are the integers y: they order as the samples do. */
size_t frame_decode_head_scaled(const uint8_t *src, size_t size, uint32_t n, uint32_t want_n, double *out);

/* A sealed raw chunk of float samples (docs/FORMATS.md): u8 version, u8 encoding 1, u16 n, i64 first ts, timestamp
 * frame relative to it, value frame. Encoding returns the bytes written, or 0 if cap < chunk_bound(n), n is out of
 * range or the times do not rise strictly; its scratch is frame_scratch(n). */
size_t chunk_bound(uint32_t n);
size_t chunk_encode(uint8_t *dst, size_t cap, const int64_t *times_ms, const double *values, uint32_t n, void *scratch);
struct chunk_head {
    uint32_t n;
    int64_t first_ms;
};
/* 0, or -1 if malformed. times/values need room for FRAME_MAX_N + FRAME_SLACK. Nothing may follow the value frame. */
int chunk_peek(const uint8_t *src, size_t size, struct chunk_head *ret);
int chunk_decode(const uint8_t *src, size_t size, int64_t *times_ms, double *values, uint32_t *ret_n);

#endif
