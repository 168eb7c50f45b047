/*
 * Sorting with 64-byte vectors: up to 256 keys by a bitonic network in registers (Batcher 1968), padded with the
 * largest key; more by quicksort whose partition compresses eight keys at a time (Bramas 2017). Equal keys are the same
 * bits, so that any sort gives the scalar one's bytes.
 */
#include <immintrin.h>

#include "kernels/ops.h"
#include "kernels/unroll.h"

enum { LANES = 8, NETWORK_MAX = 256 };

#include "kernels/order_loops.h"

/* The larger of two is their exclusive or with the smaller: a minimum and a maximum would wait for the same port. */
enum { XOR_3 = 0x96 };

static inline void exchange(__m512i *a, __m512i *b)
{
    __m512i low = _mm512_min_epu64(*a, *b);
    *b = _mm512_ternarylogic_epi64(*a, *b, low, XOR_3);
    *a = low;
}

static inline __m512i reverse(__m512i v)
{
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
}

/* Each lane against its partner in `other`: lanes of `high` keep the larger. */
static inline __m512i choose(__m512i v, __m512i other, __mmask8 high)
{
    return _mm512_mask_ternarylogic_epi64(_mm512_min_epu64(v, other), high, v, other, XOR_3);
}

static inline __m512i step_4(__m512i v, __mmask8 high)
{
    return choose(v, _mm512_shuffle_i64x2(v, v, 0x4e), high);
}
static inline __m512i step_2(__m512i v, __mmask8 high)
{
    return choose(v, _mm512_permutex_epi64(v, 0x4e), high);
}
static inline __m512i step_1(__m512i v, __mmask8 high)
{
    return choose(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), high);
}

/* Sorts a bitonic vector. */
static inline __m512i sort_bitonic(__m512i v)
{
    return step_1(step_2(step_4(v, 0xf0), 0xcc), 0xaa);
}

/* Sorts a vector. */
static inline __m512i sort_row(__m512i v)
{
    v = step_1(v, 0x66);               /* pairs, up and down in turn: four are bitonic */
    v = step_1(step_2(v, 0x3c), 0x5a); /* fours, up and down: eight are bitonic */
    return sort_bitonic(v);
}

/* Sorts 8 n keys that are bitonic as a whole; n is a power of two that the compiler knows. */
UNROLL_INLINE void sort_bitonic_rows(__m512i *r, int n)
{
    UNROLL_16
    for (int step = n / 2; step >= 1; step /= 2) {
        UNROLL_16
        for (int i = 0; i < n; i++)
            if (!(i & step))
                exchange(&r[i], &r[i + step]);
    }
    UNROLL_16
    for (int i = 0; i < n; i++)
        r[i] = sort_bitonic(r[i]);
}

/* Merges r[0..n) and r[n..2n), each sorted. */
UNROLL_INLINE void merge_rows(__m512i *r, int n)
{
    UNROLL_16
    for (int i = 0; i < n; i++) {
        __m512i low = r[i], high = reverse(r[2 * n - 1 - i]);
        exchange(&low, &high);
        r[i] = low;
        r[2 * n - 1 - i] = high;
    }
    /* The lower half is bitonic; the upper one too, read backwards by rows. */
    sort_bitonic_rows(r, n);
    UNROLL_16
    for (int i = 0; i < n / 2; i++) {
        __m512i swap = r[n + i];
        r[n + i] = r[2 * n - 1 - i];
        r[2 * n - 1 - i] = swap;
    }
    sort_bitonic_rows(r + n, n);
}

/* Columns of eight rows become rows. */
static inline void transpose(__m512i *r)
{
    const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    __m512i t[8], u[8];
    UNROLL_16
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1]);
    }
    UNROLL_16
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm512_permutex2var_epi64(t[i], low, t[i + 2]);
        u[i + 1] = _mm512_permutex2var_epi64(t[i + 1], low, t[i + 3]);
        u[i + 2] = _mm512_permutex2var_epi64(t[i], high, t[i + 2]);
        u[i + 3] = _mm512_permutex2var_epi64(t[i + 1], high, t[i + 3]);
    }
    UNROLL_16
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_i64x2(u[i], u[i + 4], 0x44);
        r[i + 4] = _mm512_shuffle_i64x2(u[i], u[i + 4], 0xee);
    }
}

/* 64 keys: the columns by the 19-comparator network (as order.c), then merges. */
static inline void sort_block(__m512i *r)
{
    exchange(&r[0], &r[2]), exchange(&r[1], &r[3]), exchange(&r[4], &r[6]), exchange(&r[5], &r[7]);
    exchange(&r[0], &r[4]), exchange(&r[1], &r[5]), exchange(&r[2], &r[6]), exchange(&r[3], &r[7]);
    exchange(&r[0], &r[1]), exchange(&r[2], &r[3]), exchange(&r[4], &r[5]), exchange(&r[6], &r[7]);
    exchange(&r[2], &r[4]), exchange(&r[3], &r[5]);
    exchange(&r[1], &r[4]), exchange(&r[3], &r[6]);
    exchange(&r[1], &r[2]), exchange(&r[3], &r[4]), exchange(&r[5], &r[6]);
    transpose(r);
    merge_rows(r, 1), merge_rows(r + 2, 1), merge_rows(r + 4, 1), merge_rows(r + 6, 1);
    merge_rows(r, 2), merge_rows(r + 4, 2);
    merge_rows(r, 4);
}

static inline __mmask8 lanes_left(size_t n)
{
    return n >= LANES ? 0xff : (__mmask8)((1u << n) - 1);
}

/* Row i of v[0..n), lanes behind the end as the largest key. */
static inline __m512i load_row(const uint64_t *v, size_t n, size_t i)
{
    size_t at = i * LANES;
    return at < n ? _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), lanes_left(n - at), v + at) : _mm512_set1_epi64(-1);
}

static inline void store_row(uint64_t *v, size_t n, size_t i, __m512i row)
{
    size_t at = i * LANES;
    if (at < n)
        _mm512_mask_storeu_epi64(v + at, lanes_left(n - at), row);
}

static void sort_32(uint64_t *v, size_t n)
{
    __m512i r[4];
    UNROLL_16
    for (size_t i = 0; i < 4; i++)
        r[i] = sort_row(load_row(v, n, i));
    merge_rows(r, 1), merge_rows(r + 2, 1);
    merge_rows(r, 2);
    UNROLL_16
    for (size_t i = 0; i < 4; i++)
        store_row(v, n, i, r[i]);
}

static void sort_64(uint64_t *v, size_t n)
{
    __m512i r[8];
    UNROLL_16
    for (size_t i = 0; i < 8; i++)
        r[i] = load_row(v, n, i);
    sort_block(r);
    UNROLL_16
    for (size_t i = 0; i < 8; i++)
        store_row(v, n, i, r[i]);
}

/* 64 < n <= 128 */
static void sort_128(uint64_t *v, size_t n)
{
    __m512i r[16];
    UNROLL_16
    for (size_t i = 0; i < 16; i++)
        r[i] = load_row(v, n, i);
    sort_block(r);
    sort_block(r + 8);
    merge_rows(r, 8);
    UNROLL_16
    for (size_t i = 0; i < 16; i++)
        store_row(v, n, i, r[i]);
}

/* 128 < n <= 256, its last merge through memory. */
static void sort_256(uint64_t *v, size_t n)
{
    sort_128(v, 128);
    uint64_t *upper = v + 128;
    if (n - 128 > 64)
        sort_128(upper, n - 128);
    else
        sort_64(upper, n - 128);
    __m512i high[16], r[16];
    UNROLL_16
    for (size_t i = 0; i < 16; i++) {
        __m512i low = _mm512_loadu_si512(v + i * LANES), other = reverse(load_row(upper, n - 128, 15 - i));
        exchange(&low, &other);
        r[i] = low;
        high[i] = other;
    }
    sort_bitonic_rows(r, 16);
    UNROLL_16
    for (size_t i = 0; i < 16; i++)
        _mm512_storeu_si512(v + i * LANES, r[i]);
    sort_bitonic_rows(high, 16);
    UNROLL_16
    for (size_t i = 0; i < 16; i++)
        store_row(upper, n - 128, i, high[i]);
}

static void sort_network(uint64_t *v, size_t n)
{
    if (n <= 32)
        sort_32(v, n);
    else if (n <= 64)
        sort_64(v, n);
    else if (n <= 128)
        sort_128(v, n);
    else
        sort_256(v, n);
}

/* Smaller keys are written where keys have been read already, greater ones wait in tmp. */
static void partition(uint64_t *v, size_t n, uint64_t pivot, uint64_t *tmp, size_t *equal, size_t *greater)
{
    const __m512i p = _mm512_set1_epi64((int64_t)pivot);
    size_t less = 0, more = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m512i x = _mm512_loadu_si512(v + i);
        __mmask8 below = _mm512_cmplt_epu64_mask(x, p), above = _mm512_cmpgt_epu64_mask(x, p);
        _mm512_storeu_si512(v + less, _mm512_maskz_compress_epi64(below, x));
        _mm512_storeu_si512(tmp + more, _mm512_maskz_compress_epi64(above, x));
        less += (size_t)__builtin_popcount(below);
        more += (size_t)__builtin_popcount(above);
    }
    for (; i < n; i++) {
        uint64_t x = v[i];
        v[less] = x;
        tmp[more] = x;
        less += x < pivot;
        more += x > pivot;
    }
    *equal = less;
    *greater = n - more;
    for (i = less; i < n - more; i++)
        v[i] = pivot;
    memcpy(v + n - more, tmp, more * sizeof *v);
}

/* order_key of each lane. */
static inline __m512i key_of(__m512i b)
{
    /* ones below the sign for positive values */
    __m512i flip = _mm512_srli_epi64(_mm512_srai_epi64(_mm512_xor_si512(b, _mm512_set1_epi64(-1)), 63), 1);
    __mmask8 nan =
        _mm512_cmpgt_epu64_mask(_mm512_slli_epi64(b, 1), _mm512_set1_epi64((int64_t)UINT64_C(0xffe0000000000000)));
    return _mm512_mask_blend_epi64(nan, _mm512_xor_si512(b, flip), _mm512_set1_epi64(-1));
}

static void keys(uint64_t *keys, const uint8_t *values, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 lanes = lanes_left(n - i);
        _mm512_mask_storeu_epi64(keys + i, lanes, key_of(_mm512_maskz_loadu_epi64(lanes, values + i * 8)));
    }
}

static void values(double *values, const uint64_t *keys, size_t n)
{
    const __m512i nan = _mm512_set1_epi64((int64_t)BITS_NAN), ones = _mm512_set1_epi64(-1);
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 lanes = lanes_left(n - i);
        __m512i key = _mm512_maskz_loadu_epi64(lanes, keys + i);
        __m512i mask = _mm512_srli_epi64(_mm512_srai_epi64(_mm512_xor_si512(key, ones), 63), 1);
        __m512i bits = _mm512_mask_mov_epi64(_mm512_xor_si512(key, mask), _mm512_cmpeq_epi64_mask(key, ones), nan);
        _mm512_mask_storeu_epi64(values + i, lanes, bits);
    }
}

static size_t between(uint64_t *out, const uint8_t *values, size_t n, uint64_t low, uint64_t high, size_t *ret_below)
{
    const __m512i l = _mm512_set1_epi64((int64_t)low), h = _mm512_set1_epi64((int64_t)high);
    size_t kept = 0, below = 0;
    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 lanes = lanes_left(n - i);
        __m512i key = key_of(_mm512_maskz_loadu_epi64(lanes, values + i * 8));
        __mmask8 less = _mm512_mask_cmplt_epu64_mask(lanes, key, l);
        __mmask8 in = _mm512_mask_cmple_epu64_mask((__mmask8)(lanes & ~less), key, h);
        _mm512_storeu_si512(out + kept, _mm512_maskz_compress_epi64(in, key));
        kept += (size_t)__builtin_popcount(in);
        below += (size_t)__builtin_popcount(less);
    }
    *ret_below = below;
    return kept;
}

void order_ops_avx512(struct order_ops *ops)
{
    *ops = (struct order_ops){.keys = keys, .values = values, .sort = sort, .select = select_at, .between = between};
}
