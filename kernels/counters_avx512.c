/* Counters with 64-byte vectors. Items by masked lanes: batches get short as items fall through UnivMon's levels. */
#include <immintrin.h>

#include "kernels/counters_loops.h"

static inline __mmask16 lanes_of(size_t left)
{
    return left >= COUNTERS_LANES ? 0xffff : (__mmask16)((1u << left) - 1);
}

static void hashes(uint64_t *ret, const uint64_t *items, size_t n, uint64_t seed)
{
    const __m512i flip = _mm512_set1_epi64((int64_t)hash8_flip(seed));
    const __m512i multiplier = _mm512_set1_epi64((int64_t)HASH8_MULTIPLIER);
    for (size_t i = 0; i < n; i += 8) {
        __mmask8 lanes = (__mmask8)lanes_of(n - i);
        __m512i h = _mm512_xor_si512(_mm512_rol_epi64(_mm512_maskz_loadu_epi64(lanes, items + i), 32), flip);
        h = _mm512_ternarylogic_epi64(h, _mm512_rol_epi64(h, 49), _mm512_rol_epi64(h, 24), 0x96);
        h = _mm512_mullo_epi64(h, multiplier);
        h = _mm512_xor_si512(h, _mm512_add_epi64(_mm512_srli_epi64(h, 35), _mm512_set1_epi64(8)));
        h = _mm512_mullo_epi64(h, multiplier);
        _mm512_mask_storeu_epi64(ret + i, lanes, _mm512_xor_si512(h, _mm512_srli_epi64(h, 28)));
    }
}

static void places(uint32_t *ret, size_t stride, const uint64_t *hashes, size_t n, uint32_t depth, uint32_t width,
                   bool is_signed)
{
    const __m512i by_width = _mm512_set1_epi64(width), sign = _mm512_set1_epi64(is_signed ? COUNTERS_MINUS : 0);
    for (size_t i = 0; i < n; i += 8) {
        __mmask8 lanes = (__mmask8)lanes_of(n - i);
        __m512i hash = _mm512_maskz_loadu_epi64(lanes, hashes + i);
        for (uint32_t r = 0; r < depth; r++) {
            __m512i spread = _mm512_mullo_epi64(hash, _mm512_set1_epi64((int64_t)counters_odd[r]));
            __m512i at = _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(spread, 32), by_width), 32);
            at = _mm512_or_si512(at, _mm512_and_si512(spread, sign));
            _mm256_mask_storeu_epi32(ret + r * stride + i, lanes, _mm512_cvtepi64_epi32(at));
        }
    }
}

static void least(double *ret, const uint32_t *cells, const uint32_t *places, size_t stride, size_t n, uint32_t depth,
                  uint32_t width)
{
    const __m512i zero = _mm512_setzero_si512();
    for (size_t at = 0; at < n; at += COUNTERS_LANES) {
        __mmask16 lanes = lanes_of(n - at);
        __m512i v = _mm512_set1_epi32(-1);
        for (uint32_t r = 0; r < depth; r++) {
            __m512i place = _mm512_maskz_loadu_epi32(lanes, places + r * stride + at);
            v = _mm512_min_epu32(
                v, _mm512_mask_i32gather_epi32(zero, lanes, place, (const void *)(cells + (size_t)r * width), 4));
        }
        _mm512_mask_storeu_pd(ret + at, (__mmask8)lanes, _mm512_cvtepu32_pd(_mm512_castsi512_si256(v)));
        _mm512_mask_storeu_pd(ret + at + 8, (__mmask8)(lanes >> 8),
                              _mm512_cvtepu32_pd(_mm512_extracti64x4_epi64(v, 1)));
    }
}

/* A constant depth keeps the rows in registers. */
UNROLL_INLINE void median_of(double *ret, const uint32_t *cells, const uint32_t *places, size_t stride, size_t n,
                             uint32_t depth, uint32_t width)
{
    const __m512i zero = _mm512_setzero_si512(), index = _mm512_set1_epi32((int)~COUNTERS_MINUS);
    const __m512d half = _mm512_set1_pd(0.5);
    for (size_t at = 0; at < n; at += COUNTERS_LANES) {
        __mmask16 lanes = lanes_of(n - at);
        __m512i v[COUNTERS_DEPTH_MAX];
        UNROLL_16 for (uint32_t r = 0; r < depth; r++)
        {
            __m512i place = _mm512_maskz_loadu_epi32(lanes, places + r * stride + at);
            v[r] = _mm512_mask_i32gather_epi32(zero, lanes, _mm512_and_si512(place, index),
                                               (const void *)(cells + (size_t)r * width), 4);
            v[r] = _mm512_mask_sub_epi32(v[r], _mm512_movepi32_mask(place), zero, v[r]);
        }
        UNROLL_16 for (uint32_t round = 0; round < depth; round++)
            UNROLL_16 for (uint32_t r = round % 2; r + 1 < depth; r += 2)
        {
            __m512i low = _mm512_min_epi32(v[r], v[r + 1]);
            v[r + 1] = _mm512_max_epi32(v[r], v[r + 1]);
            v[r] = low;
        }
        __m512i low = v[(depth - 1) / 2], high = v[depth / 2];
        __m512d first = _mm512_add_pd(_mm512_cvtepi32_pd(_mm512_castsi512_si256(low)),
                                      _mm512_cvtepi32_pd(_mm512_castsi512_si256(high)));
        __m512d second = _mm512_add_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(low, 1)),
                                       _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(high, 1)));
        _mm512_mask_storeu_pd(ret + at, (__mmask8)lanes, _mm512_mul_pd(first, half));
        _mm512_mask_storeu_pd(ret + at + 8, (__mmask8)(lanes >> 8), _mm512_mul_pd(second, half));
    }
}

static void median(double *ret, const uint32_t *cells, const uint32_t *places, size_t stride, size_t n, uint32_t depth,
                   uint32_t width)
{
    switch (depth) {
    case 3:
        median_of(ret, cells, places, stride, n, 3, width);
        break;
    case 5:
        median_of(ret, cells, places, stride, n, 5, width);
        break;
    case 7:
        median_of(ret, cells, places, stride, n, 7, width);
        break;
    default:
        counters_loop_median(ret, cells, places, stride, n, depth, width);
    }
}

COUNTERS_VARIANT_SUMS

void counters_ops_avx512(struct counters_ops *ops)
{
    *ops = (struct counters_ops)COUNTERS_VARIANT_TABLE;
}
