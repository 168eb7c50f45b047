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

void ddsketch_ops_avx512(struct ddsketch_ops *ops)
{
    *ops = (struct ddsketch_ops){.scan = scan, .indexes = indexes};
}
