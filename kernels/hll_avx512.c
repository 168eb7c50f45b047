/* HLL with 64-byte vectors. */
#include <immintrin.h>

#include "kernels/hll_loops.h"

enum { LANES = 8 };
enum { AHEAD = 512 }; /* bytes; few machines fetch several arrays ahead by themselves, and a hint may lie behind them */

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

/* The items of eight values: -0 as +0, all NaNs as one. */
static inline __m512i items_of(__m512d v)
{
    __m512i bits = _mm512_castpd_si512(v);
    bits = _mm512_mask_mov_epi64(bits, _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_EQ_OQ), _mm512_setzero_si512());
    return _mm512_mask_mov_epi64(bits, _mm512_cmp_pd_mask(v, v, _CMP_UNORD_Q), _mm512_set1_epi64((int64_t)BITS_NAN));
}

/* Of values, or of items. */
static inline __attribute__((always_inline)) size_t coupons_of(uint32_t *ret, const double *values,
                                                               const uint64_t *items, size_t n, uint32_t p,
                                                               uint64_t seed, uint32_t above)
{
    const __m512i flip = _mm512_set1_epi64((int64_t)hash8_flip(seed));
    const __m512i bound = _mm512_set1_epi64((int64_t)(UINT64_C(1) << (p - 1)));
    const __m512i least = _mm512_set1_epi64(above);
    size_t some = 0;
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 lanes = n - i >= LANES ? 0xff : (__mmask8)((1u << (n - i)) - 1);
        __m512i bits =
            values ? items_of(_mm512_maskz_loadu_pd(lanes, values + i)) : _mm512_maskz_loadu_epi64(lanes, items + i);
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

static size_t coupons(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed, uint32_t above)
{
    return coupons_of(ret, values, NULL, n, p, seed, above);
}

static size_t item_coupons(uint32_t *ret, const uint64_t *items, size_t n, uint32_t p, uint64_t seed, uint32_t above)
{
    return coupons_of(ret, NULL, items, n, p, seed, above);
}

static void raise(uint8_t *registers, const uint8_t *const *src, uint32_t src_n, size_t m)
{
    size_t i = 0;
    for (; i + 128 <= m; i += 128) {
        __m512i a = _mm512_loadu_si512(registers + i), b = _mm512_loadu_si512(registers + i + 64);
        for (uint32_t j = 0; j < src_n; j++) {
            const uint8_t *p = src[j] + i;
            _mm_prefetch((const char *)p + AHEAD, _MM_HINT_T0);
            _mm_prefetch((const char *)p + AHEAD + 64, _MM_HINT_T0);
            a = _mm512_max_epu8(a, _mm512_loadu_si512(p));
            b = _mm512_max_epu8(b, _mm512_loadu_si512(p + 64));
        }
        _mm512_storeu_si512(registers + i, a);
        _mm512_storeu_si512(registers + i + 64, b);
    }
    for (; i < m; i++)
        for (uint32_t j = 0; j < src_n; j++)
            registers[i] = src[j][i] > registers[i] ? src[j][i] : registers[i];
}

/* One step of a transposition of bits: those of `mask` from a and, moved up, from b; the others from a, moved down, and
 * from b. */
#define EXCHANGE_BITS(a, b, mask, by)                                                                                  \
    do {                                                                                                               \
        const __m512i m_ = _mm512_set1_epi8((char)(mask));                                                             \
        __m512i low_ = _mm512_ternarylogic_epi64(m_, (a), _mm512_slli_epi16((b), (by)), CHOOSE);                       \
        (b) = _mm512_ternarylogic_epi64(m_, _mm512_srli_epi16((a), (by)), (b), CHOOSE);                                \
        (a) = low_;                                                                                                    \
    } while (0)

/* v[i] becomes bit i of all 512 bytes, eight of them to a byte. */
static inline void transpose_bits(__m512i *v)
{
    enum { CHOOSE = 0xca };
    EXCHANGE_BITS(v[0], v[4], 0x0f, 4);
    EXCHANGE_BITS(v[1], v[5], 0x0f, 4);
    EXCHANGE_BITS(v[2], v[6], 0x0f, 4);
    EXCHANGE_BITS(v[3], v[7], 0x0f, 4);
    EXCHANGE_BITS(v[0], v[2], 0x33, 2);
    EXCHANGE_BITS(v[1], v[3], 0x33, 2);
    EXCHANGE_BITS(v[4], v[6], 0x33, 2);
    EXCHANGE_BITS(v[5], v[7], 0x33, 2);
    EXCHANGE_BITS(v[0], v[1], 0x55, 1);
    EXCHANGE_BITS(v[2], v[3], 0x55, 1);
    EXCHANGE_BITS(v[4], v[5], 0x55, 1);
    EXCHANGE_BITS(v[6], v[7], 0x55, 1);
}
#undef EXCHANGE_BITS

/* Where three bits are each of 0..7, bit 2 being c. */
static inline void each_of_8(__m512i *ret, __m512i a, __m512i b, __m512i c)
{
    ret[0] = _mm512_ternarylogic_epi64(c, b, a, 0x01);
    ret[1] = _mm512_ternarylogic_epi64(c, b, a, 0x02);
    ret[2] = _mm512_ternarylogic_epi64(c, b, a, 0x04);
    ret[3] = _mm512_ternarylogic_epi64(c, b, a, 0x08);
    ret[4] = _mm512_ternarylogic_epi64(c, b, a, 0x10);
    ret[5] = _mm512_ternarylogic_epi64(c, b, a, 0x20);
    ret[6] = _mm512_ternarylogic_epi64(c, b, a, 0x40);
    ret[7] = _mm512_ternarylogic_epi64(c, b, a, 0x80);
}

/* Registers bit by bit, 512 at a time: a value's are those whose lower and upper three bits are its own. */
static void histogram(const uint8_t *registers, size_t m, uint32_t *ret_many)
{
    __m512i many[64];
    unsigned eights = 0; /* bit i: some register is in 8 i .. 8 i + 7 */
    size_t i = 0;
    memset(ret_many, 0, 64 * sizeof *ret_many);
    for (; i + 512 <= m; i += 512) {
        __m512i v[8], low[8], high[8];
        for (unsigned j = 0; j < 8; j++)
            v[j] = _mm512_loadu_si512(registers + i + 64 * j);
        transpose_bits(v);
        each_of_8(low, v[0], v[1], v[2]);
        each_of_8(high, v[3], v[4], v[5]);
        for (unsigned h = 0; h < 8; h++) {
            if (_mm512_test_epi64_mask(high[h], high[h]) == 0)
                continue;
            __m512i *sum = many + 8 * h;
            if (!(eights >> h & 1))
                for (unsigned l = 0; l < 8; l++)
                    sum[l] = _mm512_setzero_si512();
            eights |= 1u << h;
            for (unsigned l = 0; l < 8; l++)
                sum[l] = _mm512_add_epi64(sum[l], _mm512_popcnt_epi64(_mm512_and_si512(high[h], low[l])));
        }
    }
    for (; i < m; i++)
        ret_many[registers[i]]++;
    for (; eights != 0; eights &= eights - 1)
        for (unsigned h = (unsigned)__builtin_ctz(eights), l = 0; l < 8; l++)
            ret_many[8 * h + l] += (uint32_t)_mm512_reduce_add_epi64(many[8 * h + l]);
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

/*
 * Sixteen bytes at a time, each beside the one and the two before it: where a varint ends, its value is made of those
 * that belong to it, and the ends are compressed together. A varint of four bytes or more ends it.
 */
static size_t sparse(uint32_t *ret, const uint8_t *bytes, size_t size, uint64_t *ret_sum, size_t *ret_taken)
{
    const __m512i low_bits = _mm512_set1_epi32(0x7f);
    __m512i sum = _mm512_setzero_si512();
    __mmask16 first_1 = 0xfffe, first_2 = 0xfffc; /* what lies before the first byte is not of it */
    size_t n = 0, taken = 0;
    for (size_t i = 0; i < size && n + 16 <= HLL_SPARSE_ROOM; i += 16, first_1 = first_2 = 0xffff) {
        __mmask16 lanes = size - i >= 16 ? 0xffff : (__mmask16)((1u << (size - i)) - 1);
        __m128i b = _mm_maskz_loadu_epi8(lanes, bytes + i), b_1 = _mm_maskz_loadu_epi8(lanes & first_1, bytes + i - 1);
        __m128i b_2 = _mm_maskz_loadu_epi8(lanes & first_2, bytes + i - 2);
        __mmask16 on = _mm_movepi8_mask(b), second = _mm_movepi8_mask(b_1), third = second & _mm_movepi8_mask(b_2);
        if (on & third)
            break;
        __mmask16 ends = (__mmask16)(lanes & ~on);
        __m512i value = _mm512_cvtepu8_epi32(b);
        value = _mm512_mask_or_epi32(value, second, _mm512_slli_epi32(value, 7),
                                     _mm512_and_si512(_mm512_cvtepu8_epi32(b_1), low_bits));
        value = _mm512_mask_or_epi32(value, third, _mm512_slli_epi32(value, 7),
                                     _mm512_and_si512(_mm512_cvtepu8_epi32(b_2), low_bits));
        value = _mm512_maskz_compress_epi32(ends, value);
        sum = _mm512_add_epi32(sum, value); /* at most 16 of 2^21 in a lane */
        _mm512_storeu_si512(ret + n, value);
        n += (unsigned)__builtin_popcount(ends);
        taken = ends ? i + 32 - (unsigned)__builtin_clz(ends) : taken; /* behind the last end */
    }
    *ret_sum = (uint32_t)_mm512_reduce_add_epi32(sum);
    *ret_taken = taken;
    return n;
}

void hll_ops_avx512(struct hll_ops *ops)
{
    *ops = (struct hll_ops){.coupons = coupons,
                            .item_coupons = item_coupons,
                            .raise = raise,
                            .histogram = histogram,
                            .used = used,
                            .steps = steps,
                            .sparse = sparse};
}
