/*
 * The counters' loops: plain C that is compiled once for each instruction set (counters.c, counters_avx2.c,
 * counters_avx512.c).
 */
#ifndef KERNELS_COUNTERS_LOOPS_H
#define KERNELS_COUNTERS_LOOPS_H

#include "kernels/counters.h"
#include "kernels/unroll.h"

enum { COUNTERS_LANES = 16, COUNTERS_TABLES = 4 /* read beside each other */ };

UNROLL_INLINE void counters_loop_hashes(uint64_t *restrict ret, const uint64_t *restrict items, size_t n, uint64_t seed)
{
    const uint64_t flip = hash8_flip(seed);
    for (size_t i = 0; i < n; i++)
        ret[i] = hash8(items[i], flip);
}

UNROLL_INLINE void counters_loop_places(uint32_t *restrict ret, size_t stride, const uint64_t *restrict hashes,
                                        size_t n, uint32_t depth, uint32_t width, bool is_signed)
{
    const uint32_t mask = is_signed ? UINT32_MAX : ~COUNTERS_MINUS;
    for (uint32_t r = 0; r < depth; r++)
        for (size_t i = 0; i < n; i++)
            ret[r * stride + i] = counters_place(hashes[i] * counters_odd[r], width) & mask;
}

UNROLL_INLINE void counters_loop_add_up(uint32_t *restrict dst, const uint8_t *const *src, size_t k, size_t n)
{
    for (; k >= COUNTERS_TABLES; k -= COUNTERS_TABLES, src += COUNTERS_TABLES) {
        const uint8_t *restrict a = src[0], *restrict b = src[1], *restrict c = src[2], *restrict d = src[3];
        for (size_t i = 0; i < n; i++)
            dst[i] += (bits_load_u32(a + 4 * i) + bits_load_u32(b + 4 * i)) +
                      (bits_load_u32(c + 4 * i) + bits_load_u32(d + 4 * i));
    }
    for (; k > 0; k--, src++) {
        const uint8_t *restrict a = src[0];
        for (size_t i = 0; i < n; i++)
            dst[i] += bits_load_u32(a + 4 * i);
    }
}

UNROLL_INLINE void counters_loop_least(double *restrict ret, const uint32_t *restrict cells,
                                       const uint32_t *restrict places, size_t stride, size_t n, uint32_t depth,
                                       uint32_t width)
{
    for (size_t at = 0; at < n; at += COUNTERS_LANES) {
        size_t run = n - at < COUNTERS_LANES ? n - at : COUNTERS_LANES;
        uint32_t least[COUNTERS_LANES];
        for (size_t i = 0; i < run; i++)
            least[i] = cells[places[at + i]];
        for (uint32_t r = 1; r < depth; r++) {
            const uint32_t *row = cells + (size_t)r * width, *place = places + r * stride + at;
            for (size_t i = 0; i < run; i++)
                least[i] = row[place[i]] < least[i] ? row[place[i]] : least[i];
        }
        for (size_t i = 0; i < run; i++)
            ret[at + i] = least[i];
    }
}

/* Lanes of rows are sorted by exchanging neighbours: `depth` rounds of them. */
UNROLL_INLINE void counters_loop_median(double *restrict ret, const uint32_t *restrict cells,
                                        const uint32_t *restrict places, size_t stride, size_t n, uint32_t depth,
                                        uint32_t width)
{
    int32_t v[COUNTERS_DEPTH_MAX][COUNTERS_LANES];
    memset(v, 0, sizeof v);
    for (size_t at = 0; at < n; at += COUNTERS_LANES) {
        size_t run = n - at < COUNTERS_LANES ? n - at : COUNTERS_LANES;
        for (uint32_t r = 0; r < depth; r++) {
            const uint32_t *row = cells + (size_t)r * width, *place = places + r * stride + at;
            for (size_t i = 0; i < run; i++) {
                uint32_t minus = 0 - (place[i] >> 31);
                v[r][i] = (int32_t)((row[place[i] & ~COUNTERS_MINUS] ^ minus) - minus);
            }
        }
        for (uint32_t round = 0; round < depth; round++)
            for (uint32_t r = round % 2; r + 1 < depth; r += 2)
                for (size_t i = 0; i < COUNTERS_LANES; i++) {
                    int32_t low = v[r][i] < v[r + 1][i] ? v[r][i] : v[r + 1][i];
                    v[r + 1][i] = v[r][i] < v[r + 1][i] ? v[r + 1][i] : v[r][i];
                    v[r][i] = low;
                }
        const int32_t *low = v[(depth - 1) / 2], *high = v[depth / 2];
        for (size_t i = 0; i < run; i++)
            ret[at + i] = ((double)low[i] + (double)high[i]) / 2;
    }
}

/* Functions of them for one instruction set, and their table. */
#define COUNTERS_VARIANT_SUMS                                                                                          \
    static void add_up(uint32_t *dst, const uint8_t *const *src, size_t k, size_t n)                                   \
    {                                                                                                                  \
        counters_loop_add_up(dst, src, k, n);                                                                          \
    }
#define COUNTERS_VARIANT_ITEMS                                                                                         \
    static void hashes(uint64_t *ret, const uint64_t *items, size_t n, uint64_t seed)                                  \
    {                                                                                                                  \
        counters_loop_hashes(ret, items, n, seed);                                                                     \
    }                                                                                                                  \
    static void places(uint32_t *ret, size_t stride, const uint64_t *hashes, size_t n, uint32_t depth, uint32_t width, \
                       bool is_signed)                                                                                 \
    {                                                                                                                  \
        counters_loop_places(ret, stride, hashes, n, depth, width, is_signed);                                         \
    }                                                                                                                  \
    static void least(double *ret, const uint32_t *cells, const uint32_t *places, size_t stride, size_t n,             \
                      uint32_t depth, uint32_t width)                                                                  \
    {                                                                                                                  \
        counters_loop_least(ret, cells, places, stride, n, depth, width);                                              \
    }                                                                                                                  \
    static void median(double *ret, const uint32_t *cells, const uint32_t *places, size_t stride, size_t n,            \
                       uint32_t depth, uint32_t width)                                                                 \
    {                                                                                                                  \
        counters_loop_median(ret, cells, places, stride, n, depth, width);                                             \
    }
#define COUNTERS_VARIANT_TABLE                                                                                         \
    {                                                                                                                  \
        hashes, places, add_up, least, median                                                                          \
    }

#endif
