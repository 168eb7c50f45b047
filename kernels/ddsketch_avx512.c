/* DDSketch's samples with 64-byte vectors; the compiler makes those of the indexes. */
#include <immintrin.h>

#include "kernels/ddsketch_loops.h"

enum { LANES = 8 };

static void scan(struct ddsketch_scan *ret, const double *values, size_t n)
{
    const __m512i magnitude_bits = _mm512_set1_epi64(INT64_MAX), zero = _mm512_setzero_si512();
    const __m512i end = _mm512_set1_epi64(INT64_C(2047) << 52);
    __m512i p_most = zero, n_most = zero, p_least = magnitude_bits, n_least = magnitude_bits;
    uint64_t negative_n = 0, zero_n = 0, nonfinite_n = 0;
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 lanes = n - i >= LANES ? 0xff : (__mmask8)((1u << (n - i)) - 1);
        __m512i v = _mm512_maskz_loadu_epi64(lanes, values + i), size = _mm512_and_si512(v, magnitude_bits);
        __mmask8 finite = _mm512_mask_cmplt_epi64_mask(lanes, size, end);
        __mmask8 some = _mm512_mask_cmpgt_epi64_mask(finite, size, zero);
        __mmask8 positive = _mm512_mask_cmpgt_epi64_mask(some, v, zero), negative = (__mmask8)(some & ~positive);
        nonfinite_n += (unsigned)__builtin_popcount((unsigned)(lanes & ~finite));
        zero_n += (unsigned)__builtin_popcount((unsigned)(finite & ~some));
        negative_n += (unsigned)__builtin_popcount(negative);
        p_most = _mm512_mask_max_epi64(p_most, positive, p_most, size);
        n_most = _mm512_mask_max_epi64(n_most, negative, n_most, size);
        p_least = _mm512_mask_min_epi64(p_least, positive, p_least, size);
        n_least = _mm512_mask_min_epi64(n_least, negative, n_least, size);
    }
    *ret = (struct ddsketch_scan){.positive_n = n - negative_n - zero_n - nonfinite_n,
                                  .negative_n = negative_n,
                                  .zero_n = zero_n,
                                  .nonfinite_n = nonfinite_n,
                                  .positive_greatest = _mm512_reduce_max_epi64(p_most),
                                  .positive_least = _mm512_reduce_min_epi64(p_least),
                                  .negative_greatest = _mm512_reduce_max_epi64(n_most),
                                  .negative_least = _mm512_reduce_min_epi64(n_least)};
}

static void indexes(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index)
{
    gamma_loop_indexes(map, x, n, ret_index);
}

static bool count_small(const uint8_t *bytes, size_t size, uint64_t *ret_samples)
{
    __m512i sum = _mm512_setzero_si512();
    uint64_t is_count = 0;
    for (size_t at = 0; at < size; at += 64) {
        size_t part = size - at < 64 ? size - at : 64;
        __m512i v = _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, (unsigned)part), bytes + at);
        if (_mm512_movepi8_mask(v) != 0)
            return false;
        uint64_t many = _mm512_movepi8_mask(_mm512_slli_epi16(v, 7));
        uint64_t counts = ddstore_loop_counts(many, part, &is_count);
        sum = _mm512_add_epi64(sum, _mm512_sad_epu8(_mm512_maskz_mov_epi8(counts, v), _mm512_setzero_si512()));
    }
    *ret_samples = size + (uint64_t)_mm512_reduce_add_epi64(sum);
    return !is_count;
}

void ddsketch_ops_avx512(struct ddsketch_ops *ops)
{
    *ops = (struct ddsketch_ops){.scan = scan, .indexes = indexes, .count_small = count_small};
}
