/*
 * HLL's loops: plain C that is compiled once for each instruction set (hll.c, hll_avx2.c), and the hash they begin
 * with.
 */
#ifndef KERNELS_HLL_LOOPS_H
#define KERNELS_HLL_LOOPS_H

#include "kernels/bits.h"
#include "kernels/ops.h"

enum { HLL_RHO_BITS = 6, HLL_RHO_MASK = 63 };

/* XXH3-64 with a seed of inputs of exactly 8 bytes, as the XXH3 specification gives it for 4 to 8 bytes. */
#define HLL_MULTIPLIER UINT64_C(0x9fb21c651e98df25)
static inline uint64_t hll_hash_flip(uint64_t seed)
{
    const uint64_t secret = UINT64_C(0x1cad21f72c81017c) ^ UINT64_C(0xdb979083e96dd4de); /* its bytes 8-15, 16-23 */
    seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    return secret - seed;
}
static inline uint64_t hll_hash(uint64_t bits, uint64_t flip)
{
    uint64_t h = (bits << 32 | bits >> 32) ^ flip;
    h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
    h *= HLL_MULTIPLIER;
    h ^= (h >> 35) + 8;
    h *= HLL_MULTIPLIER;
    return h ^ h >> 28;
}

static inline void hll_loop_coupons(uint32_t *restrict ret, const double *restrict values, size_t n, uint32_t p,
                                    uint64_t seed)
{
    const uint64_t flip = hll_hash_flip(seed);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = values[i] == 0 ? 0 : values[i] != values[i] ? BITS_NAN : bits_of_f64(values[i]);
        uint64_t hash = hll_hash(bits, flip);
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
