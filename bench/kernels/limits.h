/*
 * Loops that do the least any implementation must do: read the bytes, hash the keys, take the logarithms, touch the
 * counters. limits_loops.h is their one text, compiled once for each instruction set.
 */
#ifndef BENCH_KERNELS_LIMITS_H
#define BENCH_KERNELS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct limit_ops {
    uint64_t (*sum)(const uint64_t *v, size_t n);
    /* dst[i] = the greatest, or the sum, of src[j][i] over ten sources and dst[i] itself. */
    void (*max_10)(uint8_t *dst, const uint8_t *const *src, size_t n);
    void (*add_10)(uint32_t *dst, const uint32_t *const *src, size_t n);
    /* XXH3 of eight bytes each, exclusive-or of all. */
    uint64_t (*hash)(const uint64_t *keys, size_t n);
    /* index[i] = log2(v[i]) scale, rounded; v > 0, normal. */
    void (*index)(int32_t *index, const double *v, size_t n, double scale);
    /* One more in one counter of each of five, or ten, rows of 2048, for each hash. */
    void (*increment_5)(uint32_t *table, const uint64_t *hashes, size_t n);
    void (*increment_10)(uint32_t *table, const uint64_t *hashes, size_t n);
};

extern const struct limit_ops limit_ops_scalar, limit_ops_avx2, limit_ops_avx512;

#endif
