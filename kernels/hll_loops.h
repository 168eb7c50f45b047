/*
 * HLL's loops: plain C that is compiled once for each instruction set (hll.c, hll_avx2.c).
 */
#ifndef KERNELS_HLL_LOOPS_H
#define KERNELS_HLL_LOOPS_H

#include "kernels/bits.h"
#include "kernels/hash8.h"
#include "kernels/ops.h"

enum { HLL_RHO_BITS = 6, HLL_RHO_MASK = 63 };

static inline void hll_loop_coupons(uint32_t *restrict ret, const double *restrict values, size_t n, uint32_t p,
                                    uint64_t seed)
{
    const uint64_t flip = hash8_flip(seed);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = values[i] == 0 ? 0 : values[i] != values[i] ? BITS_NAN : bits_of_f64(values[i]);
        uint64_t hash = hash8(bits, flip);
        uint32_t rho = (uint32_t)__builtin_clzll(hash << p | UINT64_C(1) << (p - 1)) + 1;
        ret[i] = (uint32_t)(hash >> (64 - p)) << HLL_RHO_BITS | rho;
    }
}

static inline void hll_loop_raise(uint8_t *restrict registers, const uint8_t *restrict src, size_t m)
{
    for (size_t i = 0; i < m; i++)
        registers[i] = src[i] > registers[i] ? src[i] : registers[i];
}

#endif
