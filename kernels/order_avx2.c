/*
 * Sorting with 32-byte vectors: blocks of 64 keys by a bitonic network (Batcher 1968), then order.c's merges. AVX2
 * compares signed integers only, so the highest bit of keys is flipped on the way into vectors and out.
 */
#include <immintrin.h>

#include "kernels/ops.h"
#include "kernels/order.h"
#include "kernels/unroll.h"

enum { LANES = 4, BLOCK = 64 };

static inline __m256i load(const uint64_t *p)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN));
}
static inline void store(uint64_t *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN)));
}

static inline void exchange(__m256i *a, __m256i *b)
{
    __m256i differ = _mm256_and_si256(_mm256_xor_si256(*a, *b), _mm256_cmpgt_epi64(*a, *b));
    *a = _mm256_xor_si256(*a, differ);
    *b = _mm256_xor_si256(*b, differ);
}

static inline __m256i reverse(__m256i v)
{
    return _mm256_permute4x64_epi64(v, 0x1b);
}

/* Sorts a bitonic vector. */
static inline __m256i sort_bitonic(__m256i v)
{
    __m256i low = v, high = _mm256_permute4x64_epi64(v, 0x4e);
    exchange(&low, &high);
    v = _mm256_permute2x128_si256(low, high, 0x20); /* the two smaller, the two greater */
    low = v;
    high = _mm256_shuffle_epi32(v, 0x4e);
    exchange(&low, &high);
    return _mm256_unpacklo_epi64(low, high);
}

/* Sorts 4 n keys that are bitonic as a whole; n is a power of two that the compiler knows. */
UNROLL_INLINE void sort_bitonic_rows(__m256i *r, int n)
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
UNROLL_INLINE void merge_rows(__m256i *r, int n)
{
    UNROLL_16
    for (int i = 0; i < n / 2; i++) {
        __m256i swap = reverse(r[n + i]);
        r[n + i] = reverse(r[2 * n - 1 - i]);
        r[2 * n - 1 - i] = swap;
    }
    UNROLL_16
    for (int i = 0; i < n; i++)
        exchange(&r[i], &r[n + i]);
    sort_bitonic_rows(r, n);
    sort_bitonic_rows(r + n, n);
}

static inline void transpose(const __m256i *r, __m256i *out, int stride)
{
    __m256i a = _mm256_unpacklo_epi64(r[0], r[1]), b = _mm256_unpackhi_epi64(r[0], r[1]);
    __m256i c = _mm256_unpacklo_epi64(r[2], r[3]), d = _mm256_unpackhi_epi64(r[2], r[3]);
    out[0] = _mm256_permute2x128_si256(a, c, 0x20);
    out[stride] = _mm256_permute2x128_si256(b, d, 0x20);
    out[2 * stride] = _mm256_permute2x128_si256(a, c, 0x31);
    out[3 * stride] = _mm256_permute2x128_si256(b, d, 0x31);
}

/* 32 keys: the columns by the 19-comparator network (as order.c), then merges. */
static inline void sort_block(__m256i *r)
{
    exchange(&r[0], &r[2]), exchange(&r[1], &r[3]), exchange(&r[4], &r[6]), exchange(&r[5], &r[7]);
    exchange(&r[0], &r[4]), exchange(&r[1], &r[5]), exchange(&r[2], &r[6]), exchange(&r[3], &r[7]);
    exchange(&r[0], &r[1]), exchange(&r[2], &r[3]), exchange(&r[4], &r[5]), exchange(&r[6], &r[7]);
    exchange(&r[2], &r[4]), exchange(&r[3], &r[5]);
    exchange(&r[1], &r[4]), exchange(&r[3], &r[6]);
    exchange(&r[1], &r[2]), exchange(&r[3], &r[4]), exchange(&r[5], &r[6]);
    __m256i column[8];
    transpose(r, column, 2);
    transpose(r + 4, column + 1, 2);
    memcpy(r, column, sizeof column);
    merge_rows(r, 2), merge_rows(r + 4, 2);
    merge_rows(r, 4);
}

static void sort_32(uint64_t *v)
{
    __m256i r[8];
    UNROLL_16
    for (size_t i = 0; i < 8; i++)
        r[i] = load(v + LANES * i);
    sort_block(r);
    UNROLL_16
    for (size_t i = 0; i < 8; i++)
        store(v + LANES * i, r[i]);
}

static void sort_64(uint64_t *v)
{
    __m256i r[16];
    UNROLL_16
    for (size_t i = 0; i < 16; i++)
        r[i] = load(v + LANES * i);
    sort_block(r);
    sort_block(r + 8);
    merge_rows(r, 8);
    UNROLL_16
    for (size_t i = 0; i < 16; i++)
        store(v + LANES * i, r[i]);
}

/* Fewer keys than a block, by a copy with the largest key behind the end. */
static void sort_rest(uint64_t *v, size_t n)
{
    enum { SCALAR_MAX = 8 };
    uint64_t copy[BLOCK];
    if (n <= SCALAR_MAX) {
        order_sort_scalar(v, n, copy);
        return;
    }
    for (size_t i = n; i < BLOCK; i++)
        copy[i] = UINT64_MAX;
    memcpy(copy, v, n * sizeof *v);
    if (n <= BLOCK / 2)
        sort_32(copy);
    else
        sort_64(copy);
    memcpy(v, copy, n * sizeof *v);
}

static void sort(uint64_t *v, size_t n, uint64_t *tmp)
{
    size_t whole = n / BLOCK * BLOCK;
    for (size_t i = 0; i < whole; i += BLOCK)
        sort_64(v + i);
    sort_rest(v + whole, n - whole);
    order_merge_blocks(v, n, BLOCK, tmp);
}

static void keys(uint64_t *keys, const uint8_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = order_key_at(values + i * 8);
}

void order_ops_avx2(struct order_ops *ops)
{
    *ops =
        (struct order_ops){.keys = keys, .sort = sort, .select = order_select_scalar, .between = order_between_scalar};
}
