/*
 * One native histogram as few bytes, given the one before it in its series; lossless. Used by chunks
 * (base/histogram_chunk.h), which add times.
 *
 * A sample, little-endian:
 *
 *     u8      bit 0: a layout follows; bits 1-2: how integer counts are written (0 for doubles); bits 4-5: reset hint;
 *             bit 6: the count of integers follows; the others 0
 *     layout  varint bytes of it, then u8 1 = counts are doubles; varint zigzag(schema); zero threshold as a word after
 *             0; negative, then positive side: varint spans, each varint zigzag(offset), varint length; varint custom
 *             bounds, each as a word after the bound before (the first after 0)
 *     sum     as a word after the sum before
 *     counts  of doubles: the count as a word; of integers, with bit 6: varint count - (zero bucket + all buckets)
 *     buckets zero bucket, negative buckets, positive buckets, in groups of 8:
 *             doubles: u8 which of the group changed, a word for each that did
 *             integers: for each group a u4 width code (low half first), then each group's 8 steps (the last group's
 *             rest) at that width, least significant bits first, padded to whole bytes
 *
 * A word after another one is their XOR without its zero bytes: u8 zero bytes at the top << 4 | bytes that follow; 0
 * where they are equal. A step is count - count before (0 after a layout): 0 = as it is (none is negative), 1 = zigzag,
 * 2 = zigzag of step - step before. The layout stands only where it differs from the one before; then sum, counts and
 * steps before are 0. Width codes: 0..8, 10, 12, 16, 20, 28, 40, 64 bits.
 */
#ifndef BASE_HISTOGRAM_CODE_H
#define BASE_HISTOGRAM_CODE_H

#include "base/bytes.h"
#include "base/histogram_exact.h"
#include "base/str.h"

/* Zero bucket, negative and positive buckets of the sample before, and their steps. */
struct histogram_before {
    uint64_t *counts, *steps; /* [n] */
    uint32_t n;
    uint64_t sum, count; /* bits; the count of doubles */
};

/* Zero-initialise; one per series that is written. */
struct histogram_encoder {
    struct histogram_before before;
    size_t room; /* of before.counts and .steps, in one allocation */
    struct strbuf layout;
};
/* `h` is sound (histogram_exact_fault). */
void histogram_encode(struct histogram_encoder *enc, const struct histogram_exact *h, struct strbuf *out);
/* The next sample is written as the first one is. */
void histogram_encoder_reset(struct histogram_encoder *enc);
void histogram_encoder_done(struct histogram_encoder *enc);

/* All memory is the arena's; samples of equal layout share it. */
struct histogram_decoder {
    struct arena *arena;
    struct histogram_before before;
    struct histogram_exact now; /* the sample decoded last */
    struct str layout;          /* its bytes, borrowed */
};
void histogram_decoder_init(struct histogram_decoder *d, struct arena *a);
/* The next sample into d->now, whose counts are valid until the next one (all else as long as the arena). ERR_CORRUPT
 * for malformed bytes and for a histogram that is not sound; ERR_LIMIT when the arena is full. */
int histogram_decode(struct histogram_decoder *d, struct byte_reader *r, struct err *e);
/* Write on where the decoder stands. */
void histogram_encoder_follow(struct histogram_encoder *enc, const struct histogram_decoder *d);

#endif
