/* DDSketch's samples with 32-byte vectors. */
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

/* The scan of samples that are all positive and finite, as most series' are; false of others. */
static bool scan_positive(struct ddsketch_scan *ret, const double *values, size_t n)
{
    const __m256d end = _mm256_set1_pd(INFINITY);
    __m256d most[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()}, least[2] = {end, end}, odd = _mm256_setzero_pd();
    for (size_t i = 0; i < n; i += 2 * LANES)
        for (size_t j = 0; j < 2; j++) {
            size_t at = i + j * LANES < n - LANES ? i + j * LANES : n - LANES; /* the last ones may come twice */
            __m256d v = _mm256_loadu_pd(values + at);
            odd = _mm256_or_pd(odd, _mm256_cmp_pd(v, end, _CMP_NLT_UQ));
            most[j] = _mm256_max_pd(v, most[j]);
            least[j] = _mm256_min_pd(v, least[j]);
        }
    most[0] = _mm256_max_pd(most[0], most[1]);
    least[0] = _mm256_min_pd(least[0], least[1]);
    odd = _mm256_or_pd(odd, _mm256_cmp_pd(least[0], _mm256_setzero_pd(), _CMP_LE_OQ));
    if (_mm256_movemask_pd(odd) != 0)
        return false;
    *ret = (struct ddsketch_scan){.positive_n = n,
                                  .positive_greatest = greatest_of(most[0]),
                                  .positive_least = least_of(least[0]),
                                  .negative_least = INT64_MAX};
    return true;
}

static void scan(struct ddsketch_scan *ret, const double *values, size_t n)
{
    const __m256d sign = _mm256_set1_pd(-0.0), zero = _mm256_setzero_pd(), end = _mm256_set1_pd(INFINITY);
    __m256d p_most = zero, n_most = zero, p_least = end, n_least = end;
    uint64_t negative_n = 0, zero_n = 0, nonfinite_n = 0;
    if (n >= LANES && scan_positive(ret, values, n))
        return;
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

/*
 * Four buckets. The logarithm as gamma_loop_log has it, but two terms shorter and with fused operations: it is wrong by
 * up to 16 times as much. Lanes it does not decide become GAMMA_NONE and ones in *none.
 */
static inline __m128i four_indexes(const struct gamma_map *map, __m256d v, __m256d *none)
{
    const __m256d sign = _mm256_set1_pd(-0.0), one = _mm256_set1_pd(1);
    const __m256d magic = _mm256_set1_pd(0x1p52), bias = _mm256_set1_pd(0x1p52 + 1023);
    const __m256i mantissa_bits = _mm256_set1_epi64x(INT64_C(0x000fffffffffffff));
    const __m256i root_2 = _mm256_set1_epi64x(INT64_C(0x3ff6a09e667f3bcd)),
                  octave = _mm256_set1_epi64x(INT64_C(1) << 52);
    __m256d size = _mm256_andnot_pd(sign, v);
    __m256i bits = _mm256_castpd_si256(size);
    __m256i mantissa = _mm256_or_si256(_mm256_and_si256(bits, mantissa_bits), _mm256_castpd_si256(one));
    __m256i up = _mm256_and_si256(_mm256_cmpgt_epi64(mantissa, root_2), octave);
    __m256d m = _mm256_castsi256_pd(_mm256_sub_epi64(mantissa, up));
    __m256i exponent = _mm256_srli_epi64(_mm256_add_epi64(bits, up), 52);
    __m256d e = _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(exponent), magic), bias);
    __m256d s = _mm256_div_pd(_mm256_sub_pd(m, one), _mm256_add_pd(m, one)), z = _mm256_mul_pd(s, s);
    __m256d series = _mm256_set1_pd(0.2623081892525388);
    series = _mm256_fmadd_pd(series, z, _mm256_set1_pd(0.3205988979753252));
    series = _mm256_fmadd_pd(series, z, _mm256_set1_pd(0.4121985831111324));
    series = _mm256_fmadd_pd(series, z, _mm256_set1_pd(0.5770780163555853));
    series = _mm256_fmadd_pd(series, z, _mm256_set1_pd(0.9617966939259756));
    series = _mm256_fmadd_pd(series, z, _mm256_set1_pd(2.8853900817779268));
    __m256d log = _mm256_mul_pd(_mm256_fmadd_pd(s, series, e), _mm256_set1_pd(map->per_octave));
    __m256d nearest = _mm256_round_pd(log, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d off = _mm256_andnot_pd(sign, _mm256_sub_pd(log, nearest));
    __m256d unknown = _mm256_or_pd(_mm256_cmp_pd(size, _mm256_set1_pd(DBL_MIN), _CMP_NGE_UQ),
                                   _mm256_cmp_pd(size, _mm256_set1_pd(DBL_MAX), _CMP_GT_OQ));
    unknown = _mm256_or_pd(unknown, _mm256_cmp_pd(off, _mm256_set1_pd(map->slack * 16), _CMP_LE_OQ));
    *none = _mm256_or_pd(*none, unknown);
    return _mm256_cvttpd_epi32(_mm256_or_pd(_mm256_floor_pd(log), unknown)); /* a NaN becomes INT32_MIN */
}

static void indexes(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index)
{
    const struct gamma_map m = *map; /* which nothing written here can change */
    __m256d none = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm_storeu_si128((__m128i *)(void *)(ret_index + i), four_indexes(&m, _mm256_loadu_pd(x + i), &none));
    if (i < n) {
        double rest[LANES] = {1.5, 1.5, 1.5, 1.5};
        int32_t index[LANES];
        memcpy(rest, x + i, (n - i) * sizeof *x);
        _mm_storeu_si128((__m128i *)(void *)index, four_indexes(&m, _mm256_loadu_pd(rest), &none));
        memcpy(ret_index + i, index, (n - i) * sizeof *index);
    }
    if (_mm256_movemask_pd(none) != 0)
        gamma_settle(map, x, n, ret_index);
}

static void add_bytes(uint64_t *window, const uint8_t *bytes, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256i *at = (__m256i *)(void *)(window + i);
        __m256i more = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(bits_load_i32(bytes + i)));
        _mm256_storeu_si256(at, _mm256_add_epi64(_mm256_loadu_si256(at), more));
    }
    for (; i < n; i++)
        window[i] += bytes[i];
}

static void window_scan(struct ddwindow_scan *ret, const uint8_t *samples, size_t blocks, uint64_t *ret_used)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi8(1), large = _mm256_set1_epi8((char)129);
    __m256i most = zero;
    uint32_t bins_n = 0, many_n = 0;
    for (size_t b = 0; b < blocks; b++) {
        __m256i v[2];
        memcpy(v, samples + b * DDWINDOW_BLOCK, sizeof v);
        uint64_t none = 0, few = 0;
        for (unsigned i = 0; i < 2; i++) {
            none |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v[i], zero)) << 32 * i;
            few |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v[i], one), v[i]))
                   << 32 * i;
            most = _mm256_max_epu8(most, v[i]);
        }
        ret_used[b] = ~none;
        bins_n += (uint32_t)__builtin_popcountll(~none);
        many_n += (uint32_t)__builtin_popcountll(~few);
    }
    *ret = (struct ddwindow_scan){
        .bins_n = bins_n,
        .many_n = many_n,
        .large = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(most, large), large)) != -1};
}

static uint8_t *window_entries(uint8_t *p, const uint8_t *samples, size_t blocks, const uint64_t *used)
{
    return ddwindow_loop_entries(p, samples, blocks, used);
}

/* Up to 32 bytes from `at` on, in the upper lanes: *shift lanes before them are others. */
static inline __m256i load_last(const uint8_t *bytes, size_t size, size_t at, unsigned *shift)
{
    size_t left = at < size ? size - at : 0;
    __m256i v = _mm256_setzero_si256();
    *shift = 0;
    if (left >= 32) {
        memcpy(&v, bytes + at, 32);
    } else if (left > 0 && size >= 32) {
        memcpy(&v, bytes + size - 32, 32);
        *shift = (unsigned)(32 - left);
    } else if (left > 0) {
        uint8_t padded[32] = {0};
        memcpy(padded, bytes + at, left);
        memcpy(&v, padded, 32);
    }
    return v;
}

static size_t count_small(const uint8_t *bytes, size_t size, uint64_t *is_count, uint64_t *ret_samples)
{
    const __m256i bit = _mm256_set1_epi64x((int64_t)UINT64_C(0x8040201008040201)), zero = _mm256_setzero_si256();
    const __m256i each = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
    __m256i sum = zero;
    size_t taken = 0;
    for (bool go_on = true; go_on && taken < size;) {
        __m256i v[2];
        unsigned shift[2];
        uint64_t many = 0, large = 0;
        for (unsigned i = 0; i < 2; i++) {
            v[i] = load_last(bytes, size, taken + 32 * i, &shift[i]);
            many |= (uint64_t)((uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(v[i], 7)) >> shift[i]) << 32 * i;
            large |= (uint64_t)((uint32_t)_mm256_movemask_epi8(v[i]) >> shift[i]) << 32 * i;
        }
        size_t part = size - taken < 64 ? size - taken : 64;
        if (large) {
            part = (unsigned)__builtin_ctzll(large);
            go_on = false;
        }
        uint64_t counts = ddstore_loop_counts(_bzhi_u64(many, (unsigned)part), part, is_count);
        for (unsigned i = 0; i < 2; i++) {
            __m256i bits =
                _mm256_shuffle_epi8(_mm256_set1_epi32((int)((uint32_t)(counts >> 32 * i) << shift[i])), each);
            __m256i mask = _mm256_cmpeq_epi8(_mm256_and_si256(bits, bit), bit);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_and_si256(v[i], mask), zero));
        }
        taken += part;
    }
    uint64_t lane[LANES];
    _mm256_storeu_si256((__m256i *)(void *)lane, sum);
    *ret_samples = taken + lane[0] + lane[1] + lane[2] + lane[3];
    return taken;
}

void ddsketch_ops_avx2(struct ddsketch_ops *ops)
{
    *ops = (struct ddsketch_ops){.scan = scan,
                                 .indexes = indexes,
                                 .count_small = count_small,
                                 .add_bytes = add_bytes,
                                 .window_scan = window_scan,
                                 .window_entries = window_entries};
}
