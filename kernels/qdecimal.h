/*
 * Decimal samples as integers: the forms 2 and 4 of a quantile pane (kernels/qpane.h). Samples are y[i] / 10^e, e =
 * 0..7, |y| < 2^51, no -0, and lie largest first, so that y falls by steps >= 0.
 *
 *   form 2  tiny    | 2 + 16 e + 128 (y[0] < 0) | varint |y[0]| | varint step of each further sample |     n = 1..24
 *   form 4  packed  | 4 + 16 e + 128 (y[0] < 0) | varint n | varint |y[0]| | u4 width code of each group | groups |
 *                   n = 2..1024
 *
 * A group is 8 steps (the last one the rest) of the same width, bit-packed from the lowest bit up, so 8 steps of w bits
 * take w bytes; the last group ends with zero bits to a full byte. Width codes 0..15 mean 0..8, 10, 12, 14, 16, 20, 26
 * and 52 bits; the low half of a byte comes first.
 */
#ifndef KERNELS_QDECIMAL_H
#define KERNELS_QDECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QDECIMAL_MAX_N = 1024, QDECIMAL_MAX_SIZE = 32 + QDECIMAL_MAX_N * 8 };
enum { QDECIMAL_E_MAX = 7, QDECIMAL_GROUP = 8, QDECIMAL_GROUP_MAX = 52 }; /* steps of a group, and its most bytes */
#define QDECIMAL_Y_END (INT64_C(1) << 51)
extern const uint8_t qdecimal_width[16]; /* bits by code */

/* The end of the group at p with `left` steps of `width` bits still to come from it on; NULL if it ends behind `end` or
 * has spare bits that are not zero. */
static inline const uint8_t *qdecimal_group_end(const uint8_t *p, const uint8_t *end, unsigned width, uint32_t left)
{
    unsigned bits = (left < QDECIMAL_GROUP ? left : QDECIMAL_GROUP) * width, size = (bits + 7) / 8;
    if ((size_t)(end - p) < size || (bits % 8 != 0 && p[size - 1] >> bits % 8 != 0))
        return NULL;
    return p + size;
}

/* The smaller of both forms (tiny when equal) in dst[0..QDECIMAL_MAX_SIZE), or 0: no such form holds v[0..n), which lie
 * largest first. *ret_even: the integers all end in three zero bits or more, or their steps differ little (even the
 * least one is at most two bits narrower than they are stored on average), so that a frame may need less. */
size_t qdecimal_write(uint8_t *dst, const double *v, uint64_t n, bool *ret_even);
/* Samples of a pane of form 2 or 4, as its bytes say; 0 if malformed. */
uint64_t qdecimal_count(const uint8_t *bytes, size_t size);
/* The scale e of a pane of form 2 or 4. */
static inline unsigned qdecimal_scale(const uint8_t *bytes)
{
    return bytes[0] >> 4 & QDECIMAL_E_MAX;
}
/* The first `head` of n = qdecimal_count samples to out[0..head), 1 <= head <= n; false if what was read is malformed
 * (all of it is only checked when head = n). out has room for n + QDECIMAL_SLACK. */
bool qdecimal_read(const uint8_t *bytes, size_t size, uint64_t n, uint64_t head, double *out);
/* The same, but the integers: samples times 10^e. They order as the samples do. */
bool qdecimal_read_scaled(const uint8_t *bytes, size_t size, uint64_t n, uint64_t head, double *y);

#endif
