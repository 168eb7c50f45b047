/*
 * XXH3-64 with a seed of inputs of exactly 8 bytes, as the XXH3 specification gives it for 4 to 8 bytes: the one hash
 * of values and items. Written out, so that a loop over many becomes vector code and what depends on the seed alone is
 * computed once.
 */
#ifndef KERNELS_HASH8_H
#define KERNELS_HASH8_H

#include <stdint.h>

#define HASH8_MULTIPLIER UINT64_C(0x9fb21c651e98df25)

/* What hash8 takes for a seed. */
static inline uint64_t hash8_flip(uint64_t seed)
{
    const uint64_t secret = UINT64_C(0x1cad21f72c81017c) ^ UINT64_C(0xdb979083e96dd4de); /* its bytes 8-15, 16-23 */
    seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    return secret - seed;
}
static inline uint64_t hash8(uint64_t bits, uint64_t flip)
{
    uint64_t h = (bits << 32 | bits >> 32) ^ flip;
    h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
    h *= HASH8_MULTIPLIER;
    h ^= (h >> 35) + 8;
    h *= HASH8_MULTIPLIER;
    return h ^ h >> 28;
}

#endif
