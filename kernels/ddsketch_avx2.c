/* DDSketch's samples with 32-byte vectors; the compiler makes those of the indexes. */
#include <immintrin.h>
#include <math.h>

#include "kernels/ddsketch_loops.h"

enum { LANES = 4 };

/* Extremes of four magnitudes that are not negative. */
static int64_t greatest_of(__m256d v)
{
    double lane[LANES];
    _mm256_storeu_pd(lane, v);
    double a = lane[0] > lane[1] ? lane[0] : lane[1], b = lane[2] > lane[3] ? lane[2] : lane[3];
    return (int64_t)bits_of_f64(a > b ? a : b);
}
static int64_t least_of(__m256d v)
{
    double lane[LANES];
    _mm256_storeu_pd(lane, v);
    double a = lane[0] < lane[1] ? lane[0] : lane[1], b = lane[2] < lane[3] ? lane[2] : lane[3];
    return (int64_t)bits_of_f64(a < b ? a : b);
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void scan(struct ddsketch_scan *ret, const double *values, size_t n)
{
    const __m256d sign = _mm256_set1_pd(-0.0), zero = _mm256_setzero_pd(), end = _mm256_set1_pd(INFINITY);
    __m256d p_most = zero, n_most = zero, p_least = end, n_least = end;
    uint64_t negative_n = 0, zero_n = 0, nonfinite_n = 0;
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        __m256d v = _mm256_loadu_pd(values + i), size = _mm256_andnot_pd(sign, v);
        __m256d finite = _mm256_cmp_pd(size, end, _CMP_LT_OQ), none = _mm256_cmp_pd(size, zero, _CMP_EQ_OQ);
        __m256d some = _mm256_andnot_pd(none, finite);
        __m256d positive = _mm256_and_pd(some, _mm256_cmp_pd(v, zero, _CMP_GT_OQ)),
                negative = _mm256_andnot_pd(positive, some);
        nonfinite_n += LANES - (unsigned)__builtin_popcount((unsigned)_mm256_movemask_pd(finite));
        zero_n += (unsigned)__builtin_popcount((unsigned)_mm256_movemask_pd(none));
        negative_n += (unsigned)__builtin_popcount((unsigned)_mm256_movemask_pd(negative));
        p_most = _mm256_max_pd(p_most, _mm256_and_pd(size, positive));
        n_most = _mm256_max_pd(n_most, _mm256_and_pd(size, negative));
        p_least = _mm256_min_pd(p_least, _mm256_blendv_pd(end, size, positive));
        n_least = _mm256_min_pd(n_least, _mm256_blendv_pd(end, size, negative));
    }
    struct ddsketch_scan rest;
    ddsketch_scan_scalar(&rest, values + whole, n - whole);
    negative_n += rest.negative_n;
    zero_n += rest.zero_n;
    nonfinite_n += rest.nonfinite_n;
    uint64_t positive_n = n - negative_n - zero_n - nonfinite_n;
    *ret = (struct ddsketch_scan){
        .positive_n = positive_n,
        .negative_n = negative_n,
        .zero_n = zero_n,
        .nonfinite_n = nonfinite_n,
        .positive_greatest = greater(greatest_of(p_most), rest.positive_greatest),
        .positive_least = positive_n ? lesser(least_of(p_least), rest.positive_least) : INT64_MAX,
        .negative_greatest = greater(greatest_of(n_most), rest.negative_greatest),
        .negative_least = negative_n ? lesser(least_of(n_least), rest.negative_least) : INT64_MAX};
}

static void indexes(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index)
{
    gamma_loop_indexes(map, x, n, ret_index);
}

static bool count_small(const uint8_t *bytes, size_t size, uint64_t *ret_samples)
{
    const __m256i bit = _mm256_set1_epi64x((int64_t)UINT64_C(0x8040201008040201)), zero = _mm256_setzero_si256();
    const __m256i each = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
    uint64_t is_count = 0;
    __m256i sum = zero;
    for (size_t at = 0; at < size; at += 64) {
        size_t part = size - at < 64 ? size - at : 64;
        uint8_t padded[64] = {0};
        const uint8_t *p = bytes + at;
        if (part < 64) {
            memcpy(padded, p, part);
            p = padded;
        }
        __m256i v[2];
        memcpy(v, p, sizeof v);
        if (_mm256_movemask_epi8(_mm256_or_si256(v[0], v[1])) != 0)
            return false;
        uint64_t many = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(v[0], 7)) |
                        (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(v[1], 7)) << 32;
        uint64_t counts = ddstore_loop_counts(many, part, &is_count);
        for (unsigned i = 0; i < 2; i++) {
            __m256i bits = _mm256_shuffle_epi8(_mm256_set1_epi32((int)(uint32_t)(counts >> 32 * i)), each);
            __m256i mask = _mm256_cmpeq_epi8(_mm256_and_si256(bits, bit), bit);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_and_si256(v[i], mask), zero));
        }
    }
    uint64_t lane[LANES];
    _mm256_storeu_si256((__m256i *)(void *)lane, sum);
    *ret_samples = size + lane[0] + lane[1] + lane[2] + lane[3];
    return !is_count;
}

void ddsketch_ops_avx2(struct ddsketch_ops *ops)
{
    *ops = (struct ddsketch_ops){.scan = scan, .indexes = indexes, .count_small = count_small};
}
