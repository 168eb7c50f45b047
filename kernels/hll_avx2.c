/* HLL with 32-byte vectors. */
#include <immintrin.h>

#include "kernels/hll_loops.h"

enum { LANES = 32, BEFORE_OVERFLOW = 255 * LANES };
enum { AHEAD = 512 }; /* bytes; few machines fetch several arrays ahead by themselves, and a hint may lie behind them */

/* 64-bit lanes times a constant, modulo 2^64. */
static inline __m256i multiply(__m256i h)
{
    const __m256i low = _mm256_set1_epi64x((int64_t)(HASH8_MULTIPLIER & UINT32_MAX));
    const __m256i high = _mm256_set1_epi64x((int64_t)(HASH8_MULTIPLIER >> 32));
    __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(h, high), _mm256_mul_epu32(_mm256_srli_epi64(h, 32), low));
    return _mm256_add_epi64(_mm256_mul_epu32(h, low), _mm256_slli_epi64(cross, 32));
}

/* hash8 of four items. */
static inline __m256i hash(__m256i bits, __m256i flip)
{
    const __m256i rotate_24 = _mm256_set_epi8(12, 11, 10, 9, 8, 15, 14, 13, 4, 3, 2, 1, 0, 7, 6, 5, 12, 11, 10, 9, 8,
                                              15, 14, 13, 4, 3, 2, 1, 0, 7, 6, 5);
    __m256i h = _mm256_xor_si256(_mm256_shuffle_epi32(bits, 0xb1), flip);
    __m256i by_49 = _mm256_or_si256(_mm256_slli_epi64(h, 49), _mm256_srli_epi64(h, 15));
    h = multiply(_mm256_xor_si256(h, _mm256_xor_si256(by_49, _mm256_shuffle_epi8(h, rotate_24))));
    h = multiply(_mm256_xor_si256(h, _mm256_add_epi64(_mm256_srli_epi64(h, 35), _mm256_set1_epi64x(8))));
    return _mm256_xor_si256(h, _mm256_srli_epi64(h, 28));
}

/* Which of four 32-bit lanes are kept, moved together. */
static const uint8_t kept[16][16] = {
#define A 0, 1, 2, 3
#define B 4, 5, 6, 7
#define C 8, 9, 10, 11
#define D 12, 13, 14, 15
    {0}, {A},    {B},    {A, B},    {C},    {A, C},    {B, C},    {A, B, C},
    {D}, {A, D}, {B, D}, {A, B, D}, {C, D}, {A, C, D}, {B, C, D}, {A, B, C, D},
#undef A
#undef B
#undef C
#undef D
};

/* The items of four values: -0 as +0, all NaNs as one. */
static inline __m256i items_of(__m256d v)
{
    const __m256i nan = _mm256_set1_epi64x((int64_t)BITS_NAN);
    __m256i bits = _mm256_castpd_si256(_mm256_andnot_pd(_mm256_cmp_pd(v, _mm256_setzero_pd(), _CMP_EQ_OQ), v));
    return _mm256_blendv_epi8(bits, nan, _mm256_castpd_si256(_mm256_cmp_pd(v, v, _CMP_UNORD_Q)));
}

/* Of values, or of items; what is not whole vectors is left: *ret_done were looked at. */
static inline __attribute__((always_inline)) size_t coupons_of(uint32_t *ret, const double *values,
                                                               const uint64_t *items, size_t n, uint32_t p,
                                                               uint64_t seed, uint32_t above, size_t *ret_done)
{
    const __m256i flip = _mm256_set1_epi64x((int64_t)hash8_flip(seed));
    const __m256i every_other = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);
    const __m256i magic = _mm256_set1_epi64x(INT64_C(0x4330000000000000)), rho_of = _mm256_set1_epi64x(1075);
    const __m128i to_index = _mm_cvtsi32_si128((int)(64 - p)), to_rho = _mm_cvtsi32_si128((int)p);
    const __m128i least = _mm_set1_epi32((int)above), rho_mask = _mm_set1_epi32(HLL_RHO_MASK);
    size_t some = 0, i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256i h = hash(values ? items_of(_mm256_loadu_pd(values + i))
                                : _mm256_loadu_si256((const __m256i *)(const void *)(items + i)),
                         flip);
        /* 52 bits behind the index as a double, whose exponent says where the first stands. */
        __m256i behind = _mm256_srli_epi64(_mm256_sll_epi64(h, to_rho), 12);
        __m256i none = _mm256_cmpeq_epi64(behind, _mm256_setzero_si256());
        if (__builtin_expect(!_mm256_testz_si256(none, none), 0)) {
            some += values ? hll_coupons_scalar(ret + some, values + i, 4, p, seed, above)
                           : hll_item_coupons_scalar(ret + some, items + i, 4, p, seed, above);
            continue;
        }
        __m256d number = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(behind, magic)), _mm256_castsi256_pd(magic));
        __m256i rho = _mm256_sub_epi64(rho_of, _mm256_srli_epi64(_mm256_castpd_si256(number), 52));
        __m256i index = _mm256_slli_epi64(_mm256_srl_epi64(h, to_index), HLL_RHO_BITS);
        __m128i coupon = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(_mm256_or_si256(index, rho), every_other));
        __m128i keep = _mm_cmpgt_epi32(_mm_and_si128(coupon, rho_mask), least);
        unsigned mask = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(keep));
        __m128i order;
        memcpy(&order, kept[mask], sizeof order);
        _mm_storeu_si128((__m128i *)(void *)(ret + some), _mm_shuffle_epi8(coupon, order));
        some += (unsigned)__builtin_popcount(mask);
    }
    *ret_done = i;
    return some;
}

static size_t coupons(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed, uint32_t above)
{
    size_t done, some = coupons_of(ret, values, NULL, n, p, seed, above, &done);
    return some + hll_coupons_scalar(ret + some, values + done, n - done, p, seed, above);
}

static size_t item_coupons(uint32_t *ret, const uint64_t *items, size_t n, uint32_t p, uint64_t seed, uint32_t above)
{
    size_t done, some = coupons_of(ret, NULL, items, n, p, seed, above, &done);
    return some + hll_item_coupons_scalar(ret + some, items + done, n - done, p, seed, above);
}

static inline __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static void raise(uint8_t *registers, const uint8_t *const *src, uint32_t src_n, size_t m)
{
    size_t i = 0;
    for (; i + 4 * LANES <= m; i += 4 * LANES) {
        __m256i a = load(registers + i), b = load(registers + i + LANES);
        __m256i c = load(registers + i + 2 * LANES), d = load(registers + i + 3 * LANES);
        for (uint32_t j = 0; j < src_n; j++) {
            const uint8_t *p = src[j] + i;
            _mm_prefetch((const char *)p + AHEAD, _MM_HINT_T0);
            _mm_prefetch((const char *)p + AHEAD + 64, _MM_HINT_T0);
            a = _mm256_max_epu8(a, load(p));
            b = _mm256_max_epu8(b, load(p + LANES));
            c = _mm256_max_epu8(c, load(p + 2 * LANES));
            d = _mm256_max_epu8(d, load(p + 3 * LANES));
        }
        __m256i *to = (__m256i *)(void *)(registers + i);
        _mm256_storeu_si256(to, a);
        _mm256_storeu_si256(to + 1, b);
        _mm256_storeu_si256(to + 2, c);
        _mm256_storeu_si256(to + 3, d);
    }
    for (; i < m; i++)
        for (uint32_t j = 0; j < src_n; j++)
            registers[i] = src[j][i] > registers[i] ? src[j][i] : registers[i];
}

/* Registers that are r: each lane counts its own, up to 255 times. */
static uint32_t count(const uint8_t *registers, size_t m, uint8_t r)
{
    const __m256i value = _mm256_set1_epi8((char)r), zero = _mm256_setzero_si256();
    __m256i sum = zero;
    for (size_t from = 0; from < m; from += BEFORE_OVERFLOW) {
        size_t end = m - from < BEFORE_OVERFLOW ? m : from + BEFORE_OVERFLOW;
        __m256i many = zero;
        for (size_t i = from; i < end; i += LANES)
            many = _mm256_sub_epi8(many, _mm256_cmpeq_epi8(load(registers + i), value));
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(many, zero));
    }
    uint64_t lane[4];
    _mm256_storeu_si256((__m256i *)(void *)lane, sum);
    return (uint32_t)(lane[0] + lane[1] + lane[2] + lane[3]);
}

enum { FEW = 64 };

/* Registers above r, one by one. */
static void count_rest(const uint8_t *registers, size_t m, uint8_t r, uint32_t *ret_many)
{
    const __m256i value = _mm256_set1_epi8((char)r); /* all are below 64: signed comparison will do */
    for (size_t i = 0; i < m; i += LANES) {
        uint32_t above = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(load(registers + i), value));
        for (; above != 0; above &= above - 1)
            ret_many[registers[i + (unsigned)__builtin_ctz(above)]]++;
    }
}

/* One value after the other, from the least on; the last few registers, whose values are many, each for itself. */
static void histogram(const uint8_t *registers, size_t m, uint32_t *ret_many)
{
    size_t whole = m / LANES * LANES, left = whole;
    __m256i least = _mm256_set1_epi8(63);
    for (size_t i = 0; i < whole; i += LANES)
        least = _mm256_min_epu8(least, load(registers + i));
    uint8_t low[LANES], r = 63;
    _mm256_storeu_si256((__m256i *)(void *)low, least);
    for (unsigned i = 0; i < LANES; i++)
        r = low[i] < r ? low[i] : r;
    memset(ret_many, 0, 64 * sizeof *ret_many);
    for (; left > FEW; r++) {
        ret_many[r] = count(registers, whole, r);
        left -= ret_many[r];
    }
    if (left > 0)
        count_rest(registers, whole, (uint8_t)(r - 1), ret_many);
    for (size_t i = whole; i < m; i++)
        ret_many[registers[i]]++;
}

static size_t used(uint64_t *ret_used, const uint8_t *registers, size_t m)
{
    size_t many = 0, whole = m / 64 * 64;
    for (size_t i = 0; i < whole; i += 64) {
        const __m256i zero = _mm256_setzero_si256();
        uint64_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(registers + i), zero));
        uint64_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(registers + i + 32), zero));
        ret_used[i / 64] = ~(low | high << 32);
        many += (size_t)__builtin_popcountll(ret_used[i / 64]);
    }
    return whole < m ? hll_used_scalar(ret_used, registers, m) : many; /* none is whole then */
}

/* What bytes i .. i + 7 would be if a varint of up to three bytes ended at each; `within` has ones where the byte one
 * and two before belong to the bytes that are read. */
static inline __m256i values_ending(const uint8_t *bytes, const __m256i *within)
{
    const __m256i low_bits = _mm256_set1_epi32(0x7f);
    __m256i value = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bits_load_u64(bytes)));
    __m256i b_1 = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bits_load_u64(bytes - 1)));
    __m256i b_2 = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bits_load_u64(bytes - 2)));
    __m256i second = _mm256_and_si256(_mm256_cmpgt_epi32(b_1, low_bits), within[0]);
    __m256i third = _mm256_and_si256(_mm256_and_si256(_mm256_cmpgt_epi32(b_2, low_bits), within[1]), second);
    __m256i longer = _mm256_or_si256(_mm256_slli_epi32(value, 7), _mm256_and_si256(b_1, low_bits));
    value = _mm256_blendv_epi8(value, longer, second);
    longer = _mm256_or_si256(_mm256_slli_epi32(value, 7), _mm256_and_si256(b_2, low_bits));
    return _mm256_blendv_epi8(value, longer, third);
}

enum { BLOCK = 64 };

/* A block at a time: what would end at each byte, of which those that end a varint are taken. A varint of four bytes or
 * more ends it. */
static size_t sparse(uint32_t *ret, const uint8_t *bytes, size_t size, uint64_t *ret_sum, size_t *ret_taken)
{
    uint8_t padded[2 + BLOCK + 8] = {0}; /* the last block, and the two bytes before it */
    uint32_t value[BLOCK];
    uint64_t sum = 0, before = 0; /* whether the two bytes before go on: bit 0 the first */
    size_t n = 0, taken = 0;
    for (size_t i = 0; i < size && n + BLOCK <= HLL_SPARSE_ROOM; i += BLOCK) {
        const uint8_t *p = bytes + i;
        uint64_t lanes = UINT64_MAX;
        if (size - i < BLOCK) {
            memcpy(padded, p - 2, size - i + 2);
            p = padded + 2;
            lanes = (UINT64_C(1) << (size - i)) - 1;
        }
        uint64_t on = (uint32_t)_mm256_movemask_epi8(load(p));
        on |= (uint64_t)(uint32_t)_mm256_movemask_epi8(load(p + 32)) << 32;
        on &= lanes;
        if (on & (on << 1 | before >> 1) & (on << 2 | before))
            break;
        before = on >> 62;
        __m256i within[2] = {_mm256_set1_epi32(-1), _mm256_set1_epi32(-1)};
        if (i == 0) {
            within[0] = _mm256_set_epi32(-1, -1, -1, -1, -1, -1, -1, 0);
            within[1] = _mm256_set_epi32(-1, -1, -1, -1, -1, -1, 0, 0);
        }
        for (unsigned j = 0; j < BLOCK; j += 8) {
            _mm256_storeu_si256((__m256i *)(void *)(value + j), values_ending(p + j, within));
            within[0] = within[1] = _mm256_set1_epi32(-1);
        }
        uint64_t ends = lanes & ~on;
        taken = ends ? i + BLOCK - (unsigned)__builtin_clzll(ends) : taken; /* behind the last end */
        for (; ends != 0; ends &= ends - 1) {
            uint32_t v = value[__builtin_ctzll(ends)];
            ret[n++] = v;
            sum += v;
        }
    }
    *ret_sum = sum;
    *ret_taken = taken;
    return n;
}

void hll_ops_avx2(struct hll_ops *ops)
{
    *ops = (struct hll_ops){.coupons = coupons,
                            .item_coupons = item_coupons,
                            .raise = raise,
                            .histogram = histogram,
                            .used = used,
                            .steps = hll_steps_scalar,
                            .sparse = sparse};
}
