/*
 * Sorting with 32-byte vectors: up to 256 keys by networks in registers, more by quicksort whose partition moves four
 * keys at a time by a table of permutations.
 *
 * AVX2 has minimum and maximum for doubles alone, so the networks sort the doubles that keys stand for, largest first.
 * Among doubles without NaN and -0 equal ones are the same bits; what holds others goes the scalar way. A block of 64
 * keys stands in 16 rows of 4: each column is sorted by Green's 60-comparator network (Knuth, The Art of Computer
 * Programming 3, 5.3.4), then columns are merged by bitonic networks (Batcher 1968) whose comparators lie between rows,
 * so that almost nothing moves across lanes.
 */
#include <immintrin.h>

#include "kernels/ops.h"
#include "kernels/unroll.h"

enum { LANES = 4, NETWORK_MAX = 256, SCALAR_MAX = 8 };

#include "kernels/order_loops.h"

static inline __m256i load_keys(const uint64_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static inline void store_keys(uint64_t *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, v);
}

static inline void exchange(__m256d *a, __m256d *b)
{
    __m256d greater = _mm256_max_pd(*a, *b);
    *b = _mm256_min_pd(*a, *b);
    *a = greater;
}

static inline __m256d reverse(__m256d v)
{
    return _mm256_permute4x64_pd(v, 0x1b);
}

/* --- columns --- */

UNROLL_INLINE void sort_columns_8(__m256d *r)
{
    static const uint8_t pair[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
                                        {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
    UNROLL_64
    for (int i = 0; i < 19; i++)
        exchange(&r[pair[i][0]], &r[pair[i][1]]);
}

UNROLL_INLINE void sort_columns_16(__m256d *r)
{
    static const uint8_t pair[28][2] = {{5, 10},  {6, 9},  {3, 12}, {13, 14}, {4, 8},   {7, 11}, {1, 2},
                                        {1, 4},   {7, 13}, {2, 8},  {11, 14}, {2, 4},   {5, 6},  {9, 10},
                                        {11, 13}, {3, 8},  {7, 12}, {6, 8},   {10, 12}, {3, 5},  {7, 9},
                                        {3, 4},   {5, 6},  {7, 8},  {9, 10},  {11, 12}, {6, 7},  {8, 9}};
    UNROLL_16
    for (int step = 1; step < 16; step *= 2) {
        UNROLL_16
        for (int i = 0; i < 16; i++)
            if (!(i & step))
                exchange(&r[i], &r[i + step]);
    }
    UNROLL_64
    for (int i = 0; i < 28; i++)
        exchange(&r[pair[i][0]], &r[pair[i][1]]);
}

/* Sorts bitonic columns of n rows. */
UNROLL_INLINE void clean_columns(__m256d *r, int n)
{
    UNROLL_16
    for (int step = n / 2; step >= 1; step /= 2) {
        UNROLL_16
        for (int i = 0; i < n; i++)
            if (!(i & step))
                exchange(&r[i], &r[i + step]);
    }
}

/* n rows whose columns are sorted: afterwards all keys are, down the first column, the second, ... */
UNROLL_INLINE void merge_columns(__m256d *r, int n)
{
    UNROLL_16
    for (int i = 0; i < n / 2; i++) { /* column 0 with column 1 read upwards, 2 with 3 */
        __m256d a = r[i], b = _mm256_permute_pd(r[n - 1 - i], 0x5);
        exchange(&a, &b);
        r[i] = _mm256_blend_pd(a, b, 0xa);
        r[n - 1 - i] = _mm256_permute_pd(_mm256_blend_pd(b, a, 0xa), 0x5);
    }
    clean_columns(r, n);
    UNROLL_16
    for (int i = 0; i < n / 2; i++) { /* columns 0 and 1 with 3 and 2 read upwards */
        __m256d a = r[i], b = reverse(r[n - 1 - i]);
        exchange(&a, &b);
        r[i] = _mm256_blend_pd(a, b, 0xc);
        r[n - 1 - i] = reverse(_mm256_blend_pd(b, a, 0xc));
    }
    UNROLL_16
    for (int i = 0; i < n; i += 2) { /* column 0 with 1, 2 with 3 */
        __m256d a = _mm256_unpacklo_pd(r[i], r[i + 1]), b = _mm256_unpackhi_pd(r[i], r[i + 1]);
        exchange(&a, &b);
        r[i] = _mm256_unpacklo_pd(a, b);
        r[i + 1] = _mm256_unpackhi_pd(a, b);
    }
    clean_columns(r, n);
}

/* Stores n rows column by column. */
UNROLL_INLINE void store_columns(double *v, const __m256d *r, int n)
{
    UNROLL_16
    for (int i = 0; i < n; i += LANES) {
        __m256d a = _mm256_unpacklo_pd(r[i], r[i + 1]), b = _mm256_unpackhi_pd(r[i], r[i + 1]);
        __m256d c = _mm256_unpacklo_pd(r[i + 2], r[i + 3]), d = _mm256_unpackhi_pd(r[i + 2], r[i + 3]);
        _mm256_storeu_pd(v + i, _mm256_permute2f128_pd(a, c, 0x20));
        _mm256_storeu_pd(v + n + i, _mm256_permute2f128_pd(b, d, 0x20));
        _mm256_storeu_pd(v + 2 * n + i, _mm256_permute2f128_pd(a, c, 0x31));
        _mm256_storeu_pd(v + 3 * n + i, _mm256_permute2f128_pd(b, d, 0x31));
    }
}

static void sort_32(double *v)
{
    __m256d r[8];
    UNROLL_16
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_loadu_pd(v + LANES * i);
    sort_columns_8(r);
    merge_columns(r, 8);
    store_columns(v, r, 8);
}

static void sort_64(double *v)
{
    __m256d r[16];
    UNROLL_16
    for (int i = 0; i < 16; i++)
        r[i] = _mm256_loadu_pd(v + LANES * i);
    sort_columns_16(r);
    merge_columns(r, 16);
    store_columns(v, r, 16);
}

/* --- merges of blocks, which lie row by row --- */

/* Sorts 64 keys that are bitonic as a whole. */
static void clean_64(double *v)
{
    __m256d r[16];
    UNROLL_16
    for (int i = 0; i < 16; i++)
        r[i] = _mm256_loadu_pd(v + LANES * i);
    clean_columns(r, 16); /* comparators at distances 32, 16, 8, 4 */
    UNROLL_16
    for (int i = 0; i < 16; i += 2) { /* 2 and 1, two rows at once */
        __m256d a = _mm256_permute2f128_pd(r[i], r[i + 1], 0x20), b = _mm256_permute2f128_pd(r[i], r[i + 1], 0x31);
        exchange(&a, &b);
        __m256d c = _mm256_unpacklo_pd(a, b), d = _mm256_unpackhi_pd(a, b);
        exchange(&c, &d);
        a = _mm256_unpacklo_pd(c, d), b = _mm256_unpackhi_pd(c, d);
        _mm256_storeu_pd(v + LANES * i, _mm256_permute2f128_pd(a, b, 0x20));
        _mm256_storeu_pd(v + LANES * (i + 1), _mm256_permute2f128_pd(a, b, 0x31));
    }
}

/* Merges v[0..n) and v[n..2n), both sorted; n is 64 or 128. */
static void merge_halves(double *v, size_t n)
{
    for (size_t i = 0, j = n - LANES; i < j; i += LANES, j -= LANES) {
        __m256d a = _mm256_loadu_pd(v + i), b = reverse(_mm256_loadu_pd(v + n + j));
        __m256d c = _mm256_loadu_pd(v + j), d = reverse(_mm256_loadu_pd(v + n + i));
        exchange(&a, &b);
        exchange(&c, &d);
        _mm256_storeu_pd(v + i, a);
        _mm256_storeu_pd(v + j, c);
        _mm256_storeu_pd(v + n + i, b);
        _mm256_storeu_pd(v + n + j, d);
    }
    for (size_t from = 0; from < 2 * n; from += n) { /* both halves are bitonic */
        for (size_t i = from; n == 128 && i < from + 64; i += LANES) {
            __m256d a = _mm256_loadu_pd(v + i), b = _mm256_loadu_pd(v + i + 64);
            exchange(&a, &b);
            _mm256_storeu_pd(v + i, a);
            _mm256_storeu_pd(v + i + 64, b);
        }
        for (size_t i = from; i < from + n; i += 64)
            clean_64(v + i);
    }
}

/* --- keys --- */

/* Doubles from keys and back (kernels/order.h). */
static inline __m256d flip(__m256i key)
{
    __m256d v = _mm256_castsi256_pd(key);
    return _mm256_blendv_pd(_mm256_xor_pd(v, _mm256_castsi256_pd(_mm256_set1_epi64x(INT64_MAX))), v, v);
}

/* Ones in lanes that are NaN or -0. */
static inline __m256i odd_lanes(__m256d v)
{
    __m256i negative_zero = _mm256_cmpeq_epi64(_mm256_castpd_si256(v), _mm256_set1_epi64x(INT64_MIN));
    return _mm256_or_si256(negative_zero, _mm256_castpd_si256(_mm256_cmp_pd(v, v, _CMP_UNORD_Q)));
}

/* Ones in the first n lanes. */
static inline __m256i first_lanes(size_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((int64_t)n), _mm256_set_epi64x(3, 2, 1, 0));
}

static void sort_network(uint64_t *v, size_t n)
{
    _Alignas(32) double block[NETWORK_MAX];
    uint64_t spare[NETWORK_MAX];
    if (n <= SCALAR_MAX) {
        order_sort_scalar(v, n, spare);
        return;
    }
    const __m256d last = _mm256_set1_pd(-__builtin_inf());
    const __m256i rest = first_lanes(n % LANES);
    const size_t whole = n / LANES * LANES, room = n <= 32 ? 32 : (n + 63) / 64 * 64;
    __m256i odd = _mm256_setzero_si256();
    size_t i = 0;
    for (; i < whole; i += LANES) {
        __m256d x = flip(load_keys(v + i));
        odd = _mm256_or_si256(odd, odd_lanes(x));
        _mm256_store_pd(block + i, x);
    }
    if (i < n) {
        __m256d x = flip(_mm256_maskload_epi64((const long long *)(const void *)(v + i), rest));
        x = _mm256_blendv_pd(last, x, _mm256_castsi256_pd(rest));
        odd = _mm256_or_si256(odd, odd_lanes(x));
        _mm256_store_pd(block + i, x);
        i += LANES;
    }
    if (!_mm256_testz_si256(odd, odd)) {
        order_sort_scalar(v, n, spare);
        return;
    }
    for (; i < room; i += LANES)
        _mm256_store_pd(block + i, last);
    if (room == 32) {
        sort_32(block);
    } else {
        for (i = 0; i < room; i += 64)
            sort_64(block + i);
        if (room > 64)
            merge_halves(block, 64);
        if (room == 256)
            merge_halves(block + 128, 64);
        if (room == 192) /* the last two blocks of a merge of four, one of them empty */
            for (; i < 256; i += LANES)
                _mm256_store_pd(block + i, last);
        if (room > 128)
            merge_halves(block, 128);
    }
    for (i = 0; i < whole; i += LANES)
        store_keys(v + i, _mm256_castpd_si256(flip(_mm256_castpd_si256(_mm256_load_pd(block + i)))));
    if (i < n)
        _mm256_maskstore_epi64((long long *)(void *)(v + i), rest,
                               _mm256_castpd_si256(flip(_mm256_castpd_si256(_mm256_load_pd(block + i)))));
}

/* By mask: 32-bit halves of the lanes that are kept, in order. */
static const uint32_t kept_lanes[16][8] = {
#define LANE(l) 2 * (l), 2 * (l) + 1
#define KEEP(a, b, c, d)                                                                                               \
    {                                                                                                                  \
        LANE(a), LANE(b), LANE(c), LANE(d)                                                                             \
    }
    KEEP(0, 0, 0, 0), KEEP(0, 0, 0, 0), KEEP(1, 0, 0, 0), KEEP(0, 1, 0, 0), KEEP(2, 0, 0, 0), KEEP(0, 2, 0, 0),
    KEEP(1, 2, 0, 0), KEEP(0, 1, 2, 0), KEEP(3, 0, 0, 0), KEEP(0, 3, 0, 0), KEEP(1, 3, 0, 0), KEEP(0, 1, 3, 0),
    KEEP(2, 3, 0, 0), KEEP(0, 2, 3, 0), KEEP(1, 2, 3, 0), KEEP(0, 1, 2, 3)
#undef KEEP
#undef LANE
};

static inline __m256i compress(__m256i x, unsigned mask)
{
    return _mm256_permutevar8x32_epi32(x, _mm256_loadu_si256((const __m256i *)(const void *)kept_lanes[mask]));
}

static inline unsigned mask_of(__m256i lanes)
{
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(lanes));
}

/* Comparisons are of signed integers, so highest bits are flipped first. */
static inline __m256i signed_of(__m256i key)
{
    return _mm256_xor_si256(key, _mm256_set1_epi64x(INT64_MIN));
}

/* Smaller keys are written where keys have been read already, greater ones wait in tmp. */
static void partition(uint64_t *v, size_t n, uint64_t pivot, uint64_t *tmp, size_t *equal, size_t *greater)
{
    const __m256i p = signed_of(_mm256_set1_epi64x((int64_t)pivot));
    size_t less = 0, more = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256i x = load_keys(v + i), s = signed_of(x);
        unsigned below = mask_of(_mm256_cmpgt_epi64(p, s)), above = mask_of(_mm256_cmpgt_epi64(s, p));
        store_keys(v + less, compress(x, below));
        store_keys(tmp + more, compress(x, above));
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
static inline __m256i key_of(__m256i bits)
{
    __m256d v = _mm256_castsi256_pd(bits), nan = _mm256_cmp_pd(v, v, _CMP_UNORD_Q);
    return _mm256_or_si256(_mm256_castpd_si256(flip(bits)), _mm256_castpd_si256(nan));
}

static void keys(uint64_t *keys, const uint8_t *values, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_keys(keys + i, key_of(_mm256_loadu_si256((const __m256i *)(const void *)(values + i * 8))));
    for (; i < n; i++)
        keys[i] = order_key_at(values + i * 8);
}

static void values(double *values, const uint64_t *keys, size_t n)
{
    const __m256i nan_key = _mm256_set1_epi64x(-1);
    const __m256d nan = _mm256_castsi256_pd(_mm256_set1_epi64x((int64_t)BITS_NAN));
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256i key = load_keys(keys + i);
        __m256d is_nan = _mm256_castsi256_pd(_mm256_cmpeq_epi64(key, nan_key));
        _mm256_storeu_pd(values + i, _mm256_blendv_pd(flip(key), nan, is_nan));
    }
    for (; i < n; i++)
        values[i] = order_value(keys[i]);
}

static size_t between(uint64_t *out, const uint8_t *values, size_t n, uint64_t low, uint64_t high, size_t *ret_below)
{
    const __m256i l = signed_of(_mm256_set1_epi64x((int64_t)low)), h = signed_of(_mm256_set1_epi64x((int64_t)high));
    size_t kept = 0, below = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256i key = key_of(_mm256_loadu_si256((const __m256i *)(const void *)(values + i * 8)));
        __m256i s = signed_of(key), less = _mm256_cmpgt_epi64(l, s), more = _mm256_cmpgt_epi64(s, h);
        unsigned in = 15 & ~mask_of(_mm256_or_si256(less, more));
        store_keys(out + kept, compress(key, in));
        kept += (size_t)__builtin_popcount(in);
        below += (size_t)__builtin_popcount(mask_of(less));
    }
    for (; i < n; i++) {
        uint64_t key = order_key_at(values + i * 8);
        out[kept] = key;
        kept += key >= low && key <= high;
        below += key < low;
    }
    *ret_below = below;
    return kept;
}

void order_ops_avx2(struct order_ops *ops)
{
    *ops = (struct order_ops){.keys = keys, .values = values, .sort = sort, .select = select_at, .between = between};
}
