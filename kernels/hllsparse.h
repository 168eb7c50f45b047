/*
 * HLL's coupons: a register in use as index << 6 | rho, and the steps a sparse state keeps of them (kernels/hll.c).
 */
#ifndef KERNELS_HLLSPARSE_H
#define KERNELS_HLLSPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/sketch.h"

enum { HLLSPARSE_STEP_MAX = 4 }; /* most bytes of a step: a coupon has at most 24 bits */

/* Words of one bit for each of m registers. */
static inline size_t hllsparse_words(size_t m)
{
    return (m + 63) / 64;
}
/* The coupons of the registers whose bits stand, rising; how many. ret has room for one more. */
uint32_t hllsparse_list(uint32_t *ret, const uint64_t *used, const uint8_t *registers, size_t m);
/* The steps of n rising coupons, the first from 0; returns their end. p has room for 4 bytes for each. */
uint8_t *hllsparse_write(uint8_t *p, const uint32_t *coupons, uint32_t n);

/* A sparse state's coupons one after the other. */
struct hllsparse_cursor {
    const uint8_t *p, *end;
    uint64_t coupon;
};
enum { HLLSPARSE_WAYS = 4 };
/* Raises m registers by all coupons of n <= HLLSPARSE_WAYS states; false if one is malformed. */
bool hllsparse_raise(uint8_t *registers, struct hllsparse_cursor *c, uint32_t n, size_t m);

#endif
