/* DDSketch's samples with 64-byte vectors. */
#include <immintrin.h>

#include "kernels/ddsketch_loops.h"

enum { LANES = 8 };

/* The scan of samples that are all positive and finite, as most series' are; false of others. */
static bool scan_positive(struct ddsketch_scan *ret, const double *values, size_t n)
{
    __m512i most[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    __m512i least[2] = {_mm512_set1_epi64(INT64_MAX), _mm512_set1_epi64(INT64_MAX)};
    for (size_t i = 0; i < n; i += 2 * LANES)
        for (size_t j = 0; j < 2; j++) {
            size_t at = i + j * LANES < n - LANES ? i + j * LANES : n - LANES; /* the last ones may come twice */
            __m512i v = _mm512_loadu_si512(values + at);
            most[j] = _mm512_max_epi64(v, most[j]);
            least[j] = _mm512_min_epi64(v, least[j]);
        }
    int64_t greatest = _mm512_reduce_max_epi64(_mm512_max_epi64(most[0], most[1]));
    int64_t smallest = _mm512_reduce_min_epi64(_mm512_min_epi64(least[0], least[1]));
    if (smallest <= 0 || greatest >= INT64_C(2047) << 52)
        return false;
    *ret = (struct ddsketch_scan){
        .positive_n = n, .positive_greatest = greatest, .positive_least = smallest, .negative_least = INT64_MAX};
    return true;
}

static void scan(struct ddsketch_scan *ret, const double *values, size_t n)
{
    const __m512i magnitude_bits = _mm512_set1_epi64(INT64_MAX), zero = _mm512_setzero_si512();
    const __m512i end = _mm512_set1_epi64(INT64_C(2047) << 52);
    __m512i p_most = zero, n_most = zero, p_least = magnitude_bits, n_least = magnitude_bits;
    uint64_t negative_n = 0, zero_n = 0, nonfinite_n = 0;
    if (n >= LANES && scan_positive(ret, values, n))
        return;
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

/* The logarithm of ddsketch_indexes_scalar, eight at a time and with fused operations. */
static void indexes(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index)
{
    const __m512d r_low = _mm512_loadu_pd(gamma_reciprocal), r_high = _mm512_loadu_pd(gamma_reciprocal + 8);
    const __m512d l_low = _mm512_loadu_pd(gamma_logarithm), l_high = _mm512_loadu_pd(gamma_logarithm + 8);
    const __m512d per_octave = _mm512_set1_pd(map->per_octave), slack = _mm512_set1_pd(map->slack * 4);
    enum { NONE_OR_SMALL = 0xbf }; /* vfpclass: NaNs, zeros, infinities, subnormal numbers */
    const double inverse_ln2 = 1.4426950408889634074;
    unsigned some = 0;
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 lanes = n - i >= LANES ? 0xff : (__mmask8)((1u << (n - i)) - 1);
        __m512d v = _mm512_abs_pd(_mm512_maskz_loadu_pd(lanes, x + i));
        __m512i sixteenth = _mm512_srli_epi64(_mm512_castpd_si512(v), 48);
        __m512d m = _mm512_getmant_pd(v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
        __m512d e = _mm512_add_pd(_mm512_getexp_pd(v), _mm512_permutex2var_pd(l_low, sixteenth, l_high));
        __m512d t = _mm512_fmsub_pd(m, _mm512_permutex2var_pd(r_low, sixteenth, r_high), _mm512_set1_pd(1));
        __m512d series = _mm512_set1_pd(-inverse_ln2 / 6);
        series = _mm512_fmadd_pd(series, t, _mm512_set1_pd(inverse_ln2 / 5));
        series = _mm512_fmadd_pd(series, t, _mm512_set1_pd(-inverse_ln2 / 4));
        series = _mm512_fmadd_pd(series, t, _mm512_set1_pd(inverse_ln2 / 3));
        series = _mm512_fmadd_pd(series, t, _mm512_set1_pd(-inverse_ln2 / 2));
        series = _mm512_fmadd_pd(series, t, _mm512_set1_pd(inverse_ln2));
        __m512d log = _mm512_mul_pd(_mm512_fmadd_pd(series, t, e), per_octave);
        __m512d off = _mm512_abs_pd(_mm512_reduce_pd(log, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        __mmask8 known =
            (__mmask8)(_mm512_cmp_pd_mask(off, slack, _CMP_GT_OQ) & ~_mm512_fpclass_pd_mask(v, NONE_OR_SMALL));
        __m256i index = _mm512_mask_cvt_roundpd_epi32(_mm256_set1_epi32(GAMMA_NONE), known, log,
                                                      _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        some |= (unsigned)(lanes & ~known);
        _mm256_mask_storeu_epi32(ret_index + i, lanes, index);
    }
    if (some != 0)
        gamma_settle(map, x, n, ret_index);
}

static void add_bytes(uint64_t *window, const uint8_t *bytes, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m512i more = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128((int64_t)bits_load_u64(bytes + i)));
        _mm512_storeu_si512(window + i, _mm512_add_epi64(more, _mm512_loadu_si512(window + i)));
    }
    if (i < n) {
        __mmask8 lanes = (__mmask8)((1u << (n - i)) - 1);
        __m512i more = _mm512_cvtepu8_epi64(_mm_maskz_loadu_epi8(lanes, bytes + i));
        more = _mm512_add_epi64(more, _mm512_maskz_loadu_epi64(lanes, window + i));
        _mm512_mask_storeu_epi64(window + i, lanes, more);
    }
}

static void window_scan(struct ddwindow_scan *ret, const uint8_t *samples, size_t blocks, uint64_t *ret_used)
{
    uint64_t large = 0;
    uint32_t bins_n = 0, many_n = 0;
    for (size_t b = 0; b < blocks; b++) {
        __m512i v = _mm512_loadu_si512(samples + b * DDWINDOW_BLOCK);
        uint64_t used = _mm512_test_epi8_mask(v, v), many = _mm512_cmpgt_epu8_mask(v, _mm512_set1_epi8(1));
        large |= _mm512_cmpgt_epu8_mask(v, _mm512_set1_epi8((char)129));
        ret_used[b] = used;
        bins_n += (uint32_t)__builtin_popcountll(used);
        many_n += (uint32_t)__builtin_popcountll(many);
    }
    *ret = (struct ddwindow_scan){.bins_n = bins_n, .many_n = many_n, .large = large != 0};
}

/* Entries and counts side by side, compressed to those there are; `many` has a bit for each entry with a count. */
static inline uint8_t *put_entries(uint8_t *p, __m256i entry, __m256i count, unsigned entries, uint32_t many)
{
    __m512i pair = _mm512_or_si512(_mm512_cvtepu8_epi16(entry), _mm512_slli_epi16(_mm512_cvtepu8_epi16(count), 8));
    uint64_t keep =
        _bzhi_u64(UINT64_C(0x5555555555555555), 2 * entries) | _pdep_u64(many, UINT64_C(0xaaaaaaaaaaaaaaaa));
    unsigned bytes = (unsigned)__builtin_popcountll(keep);
    _mm512_mask_storeu_epi8(p, _bzhi_u64(UINT64_MAX, bytes), _mm512_maskz_compress_epi8(keep, pair));
    return p + bytes;
}

static uint8_t *window_entries(uint8_t *p, const uint8_t *samples, size_t blocks, const uint64_t *used)
{
    static const uint8_t places[DDWINDOW_BLOCK] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                                   48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i place = _mm512_loadu_si512(places), one = _mm512_set1_epi8(1), two = _mm512_set1_epi8(2);
    const __m512i before = _mm512_sub_epi8(place, one); /* of lane 0 any: it is replaced */
    int last = 0;                                       /* relative to the block */
    for (size_t b = 0; b < blocks; b++, last -= DDWINDOW_BLOCK) {
        if (used[b] == 0)
            continue;
        unsigned entries = (unsigned)__builtin_popcountll(used[b]);
        __m512i at = _mm512_maskz_compress_epi8(used[b], place);
        __m512i n = _mm512_maskz_compress_epi8(used[b], _mm512_loadu_si512(samples + b * DDWINDOW_BLOCK));
        __m512i from = _mm512_mask_mov_epi8(_mm512_permutexvar_epi8(before, at), 1, _mm512_set1_epi8((char)last));
        __m512i step = _mm512_sub_epi8(_mm512_sub_epi8(at, from), one);
        uint64_t many = _mm512_cmpgt_epu8_mask(n, one);
        __m512i entry = _mm512_mask_add_epi8(_mm512_add_epi8(step, step), many, _mm512_add_epi8(step, step), one);
        __m512i count = _mm512_sub_epi8(n, two);
        unsigned some = entries < 32 ? entries : 32;
        p = put_entries(p, _mm512_castsi512_si256(entry), _mm512_castsi512_si256(count), some, (uint32_t)many);
        if (entries > 32)
            p = put_entries(p, _mm512_extracti64x4_epi64(entry, 1), _mm512_extracti64x4_epi64(count, 1), entries - 32,
                            (uint32_t)(many >> 32));
        last = 63 - __builtin_clzll(used[b]);
    }
    return p;
}

static size_t count_small(const uint8_t *bytes, size_t size, uint64_t *is_count, uint64_t *ret_samples)
{
    __m512i sum = _mm512_setzero_si512();
    size_t taken = 0;
    for (bool go_on = true; go_on && taken < size;) {
        size_t part = size - taken < 64 ? size - taken : 64;
        __m512i v = _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, (unsigned)part), bytes + taken);
        uint64_t many = _mm512_movepi8_mask(_mm512_slli_epi16(v, 7)), large = _mm512_movepi8_mask(v);
        if (large) {
            part = (unsigned)__builtin_ctzll(large);
            many = _bzhi_u64(many, (unsigned)part);
            go_on = false;
        }
        uint64_t counts = ddstore_loop_counts(many, part, is_count);
        sum = _mm512_add_epi64(sum, _mm512_sad_epu8(_mm512_maskz_mov_epi8(counts, v), _mm512_setzero_si512()));
        taken += part;
    }
    *ret_samples = taken + (uint64_t)_mm512_reduce_add_epi64(sum);
    return taken;
}

void ddsketch_ops_avx512(struct ddsketch_ops *ops)
{
    *ops = (struct ddsketch_ops){.scan = scan,
                                 .indexes = indexes,
                                 .count_small = count_small,
                                 .add_bytes = add_bytes,
                                 .window_scan = window_scan,
                                 .window_entries = window_entries};
}
