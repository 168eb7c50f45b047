/* HLL with 64-byte vectors. */
#include <immintrin.h>

#include "kernels/hll_loops.h"

enum { LANES = 8 };

static inline __m512i hash(__m512i bits, __m512i flip)
{
    const __m512i multiplier = _mm512_set1_epi64((int64_t)HASH8_MULTIPLIER);
    __m512i h = _mm512_xor_si512(_mm512_rol_epi64(bits, 32), flip);
    h = _mm512_ternarylogic_epi64(h, _mm512_rol_epi64(h, 49), _mm512_rol_epi64(h, 24), 0x96);
    h = _mm512_mullo_epi64(h, multiplier);
    h = _mm512_xor_si512(h, _mm512_add_epi64(_mm512_srli_epi64(h, 35), _mm512_set1_epi64(8)));
    h = _mm512_mullo_epi64(h, multiplier);
    return _mm512_xor_si512(h, _mm512_srli_epi64(h, 28));
}

static size_t coupons(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed, uint32_t above)
{
    const __m512i flip = _mm512_set1_epi64((int64_t)hash8_flip(seed));
    const __m512i bound = _mm512_set1_epi64((int64_t)(UINT64_C(1) << (p - 1)));
    const __m512i least = _mm512_set1_epi64(above);
    size_t some = 0;
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 lanes = n - i >= LANES ? 0xff : (__mmask8)((1u << (n - i)) - 1);
        __m512d v = _mm512_maskz_loadu_pd(lanes, values + i);
        __m512i bits = _mm512_castpd_si512(v);
        bits =
            _mm512_mask_mov_epi64(bits, _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_EQ_OQ), _mm512_setzero_si512());
        bits =
            _mm512_mask_mov_epi64(bits, _mm512_cmp_pd_mask(v, v, _CMP_UNORD_Q), _mm512_set1_epi64((int64_t)BITS_NAN));
        __m512i h = hash(bits, flip);
        __m512i zeros = _mm512_lzcnt_epi64(_mm512_or_si512(_mm512_sll_epi64(h, _mm_cvtsi32_si128((int)p)), bound));
        __m512i index = _mm512_slli_epi64(_mm512_srl_epi64(h, _mm_cvtsi32_si128((int)(64 - p))), HLL_RHO_BITS);
        __m512i coupon = _mm512_or_si512(index, _mm512_add_epi64(zeros, _mm512_set1_epi64(1)));
        __mmask8 keep = _mm512_mask_cmpge_epi64_mask(lanes, zeros, least);
        __m256i kept = _mm256_maskz_compress_epi32(keep, _mm512_cvtepi64_epi32(coupon));
        _mm256_storeu_si256((__m256i *)(void *)(ret + some), kept);
        some += (unsigned)__builtin_popcount(keep);
    }
    return some;
}

static void raise(uint8_t *registers, const uint8_t *src, size_t m)
{
    size_t i = 0;
    for (; i + 64 <= m; i += 64)
        _mm512_storeu_si512(registers + i,
                            _mm512_max_epu8(_mm512_loadu_si512(registers + i), _mm512_loadu_si512(src + i)));
    if (i < m)
        hll_loop_raise(registers + i, src + i, m - i);
}

/* One value after the other, from the least there is to the greatest: few have any registers. */
static void histogram(const uint8_t *registers, size_t m, uint32_t *ret_many)
{
    size_t whole = m / 64 * 64;
    memset(ret_many, 0, 64 * sizeof *ret_many);
    for (size_t i = whole; i < m; i++)
        ret_many[registers[i]]++;
    __m512i least = _mm512_set1_epi8(63), most = _mm512_setzero_si512();
    for (size_t i = 0; i < whole; i += 64) {
        __m512i v = _mm512_loadu_si512(registers + i);
        least = _mm512_min_epu8(least, v);
        most = _mm512_max_epu8(most, v);
    }
    uint8_t low[64], high[64], from = 63, to = 0;
    _mm512_storeu_si512(low, least);
    _mm512_storeu_si512(high, most);
    for (unsigned i = 0; i < 64; i++) {
        from = low[i] < from ? low[i] : from;
        to = high[i] > to ? high[i] : to;
    }
    for (unsigned r = from; whole > 0 && r <= to; r++) {
        const __m512i value = _mm512_set1_epi8((char)r);
        uint64_t many = 0;
        for (size_t i = 0; i < whole; i += 64)
            many += (uint64_t)__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(registers + i), value));
        ret_many[r] += (uint32_t)many;
    }
}

static size_t used(uint64_t *ret_used, const uint8_t *registers, size_t m)
{
    size_t many = 0;
    for (size_t i = 0; i < m; i += 64) {
        __mmask64 lanes = _bzhi_u64(UINT64_MAX, (unsigned)(m - i < 64 ? m - i : 64));
        __m512i v = _mm512_maskz_loadu_epi8(lanes, registers + i);
        ret_used[i / 64] = _mm512_test_epi8_mask(v, v);
        many += (size_t)__builtin_popcountll(ret_used[i / 64]);
    }
    return many;
}

/* Sixteen steps, each spread over the four bytes of its lane; then the bytes that are there are moved together. */
static uint8_t *steps(uint8_t *p, const uint32_t *coupons, size_t n, uint32_t before)
{
    const __m512i byte_0 = _mm512_set1_epi32(0x7f), byte_1 = _mm512_set1_epi32(0x7f00);
    const __m512i byte_2 = _mm512_set1_epi32(0x7f0000), byte_3 = _mm512_set1_epi32(0x7f000000);
    const __m512i on = _mm512_set1_epi32(0x808080);
    __m512i last = _mm512_set1_epi32((int)before);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 lanes = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1);
        __m512i coupon = _mm512_maskz_loadu_epi32(lanes, coupons + i);
        __m512i step = _mm512_sub_epi32(coupon, _mm512_alignr_epi32(coupon, last, 15));
        __m512i there = _mm512_maskz_set1_epi32(lanes, 0xff);
        there = _mm512_mask_or_epi32(there, _mm512_mask_cmpgt_epu32_mask(lanes, step, byte_0), there,
                                     _mm512_set1_epi32(0xff00));
        there = _mm512_mask_or_epi32(there, _mm512_mask_cmpgt_epu32_mask(lanes, step, _mm512_set1_epi32(0x3fff)), there,
                                     _mm512_set1_epi32(0xff0000));
        there = _mm512_mask_or_epi32(there, _mm512_mask_cmpgt_epu32_mask(lanes, step, _mm512_set1_epi32(0x1fffff)),
                                     there, _mm512_set1_epi32((int)0xff000000));
        __m512i low =
            _mm512_or_si512(_mm512_and_si512(step, byte_0), _mm512_and_si512(_mm512_slli_epi32(step, 1), byte_1));
        __m512i high = _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi32(step, 2), byte_2),
                                       _mm512_and_si512(_mm512_slli_epi32(step, 3), byte_3));
        __m512i go_on = _mm512_and_si512(_mm512_srli_epi32(there, 8), on);
        uint64_t keep = _mm512_movepi8_mask(there);
        __m512i bytes = _mm512_maskz_compress_epi8(keep, _mm512_or_si512(_mm512_or_si512(low, high), go_on));
        if (n - i >= 16) /* 64 bytes, which are there */
            _mm512_storeu_si512(p, bytes);
        else
            _mm512_mask_storeu_epi8(p, _bzhi_u64(UINT64_MAX, (unsigned)__builtin_popcountll(keep)), bytes);
        p += __builtin_popcountll(keep);
        last = coupon;
    }
    return p;
}

/* Running sums of 16 lanes. */
static inline __m512i add_up(__m512i v)
{
    const __m512i zero = _mm512_setzero_si512();
    v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 15));
    v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 14));
    v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 12));
    return _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 8));
}

static inline __m128i load_16(const uint8_t *p)
{
    __m128i v;
    memcpy(&v, p, sizeof v);
    return v;
}

/*
 * Sixteen bytes at a time, each beside the one and the two before it: where a varint ends, its value is made of those
 * that belong to it, and the ends are compressed together. A varint of four bytes or more ends it.
 */
static size_t sparse(uint32_t *ret, const uint8_t *bytes, size_t size, uint32_t *coupon, size_t *ret_taken)
{
    const __m512i low_bits = _mm512_set1_epi32(0x7f);
    __m512i last = _mm512_set1_epi32((int)*coupon);
    size_t n = 0, taken = 0;
    unsigned before = 0; /* whether the two bytes before go on: bit 0 the first */
    for (size_t i = 0; i + 16 <= size && n + 16 <= HLL_SPARSE_ROOM; i += 16) {
        __m128i b = load_16(bytes + i);
        unsigned on = (unsigned)_mm_movemask_epi8(b) << 2 | before;
        if (on & on >> 1 & on >> 2)
            break;
        before = on >> 16;
        __mmask16 ends = (__mmask16) ~(on >> 2), second = (__mmask16)(on >> 1), third = (__mmask16)(on >> 1 & on);
        __m512i value = _mm512_cvtepu8_epi32(b);
        __m512i one = _mm512_and_si512(_mm512_cvtepu8_epi32(load_16(bytes + i - 1)), low_bits);
        __m512i two = _mm512_and_si512(_mm512_cvtepu8_epi32(load_16(bytes + i - 2)), low_bits);
        value = _mm512_mask_or_epi32(value, second, _mm512_slli_epi32(value, 7), one);
        value = _mm512_mask_or_epi32(value, third, _mm512_slli_epi32(value, 7), two);
        unsigned some = (unsigned)__builtin_popcount(ends);
        if (some == 0)
            continue;
        value = _mm512_add_epi32(add_up(_mm512_maskz_compress_epi32(ends, value)), last);
        _mm512_storeu_si512(ret + n, value);
        last = _mm512_permutexvar_epi32(_mm512_set1_epi32((int)some - 1), value);
        n += some;
        taken = i + 32 - (unsigned)__builtin_clz(ends); /* behind the last end */
    }
    *coupon = (uint32_t)_mm512_cvtsi512_si32(last);
    *ret_taken = taken;
    return n;
}

void hll_ops_avx512(struct hll_ops *ops)
{
    *ops = (struct hll_ops){
        .coupons = coupons, .raise = raise, .histogram = histogram, .used = used, .steps = steps, .sparse = sparse};
}
