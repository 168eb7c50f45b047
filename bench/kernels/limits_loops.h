/* The text of limits.h's loops; LIMITS names the table. Plain C: the compiler makes vector code of it. */
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "bench/kernels/limits.h"

static uint64_t sum(const uint64_t *v, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum;
}

static void max_10(uint8_t *restrict dst, const uint8_t *const *src, size_t n)
{
    const uint8_t *a = src[0], *b = src[1], *c = src[2], *d = src[3], *e = src[4], *f = src[5], *g = src[6],
                  *h = src[7], *k = src[8], *l = src[9];
#define MORE(x, y) ((x) > (y) ? (x) : (y))
    for (size_t i = 0; i < n; i++) {
        uint8_t ab = MORE(a[i], b[i]), cd = MORE(c[i], d[i]), ef = MORE(e[i], f[i]), gh = MORE(g[i], h[i]),
                kl = MORE(k[i], l[i]), abcd = MORE(ab, cd), efgh = MORE(ef, gh), all = MORE(abcd, efgh),
                with = MORE(kl, dst[i]);
        dst[i] = MORE(all, with);
    }
}

static void add_10(uint32_t *restrict dst, const uint32_t *const *src, size_t n)
{
    const uint32_t *a = src[0], *b = src[1], *c = src[2], *d = src[3], *e = src[4], *f = src[5], *g = src[6],
                   *h = src[7], *k = src[8], *l = src[9];
    for (size_t i = 0; i < n; i++)
        dst[i] += a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i] + k[i] + l[i];
}

static uint64_t hash(const uint64_t *keys, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all ^= XXH3_64bits_withSeed(&keys[i], 8, 7);
    return all;
}

static double as_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

/* log2(2^e m) = e + 2 / ln 2 (z + z^3 / 3 + ...), z = (m - 1) / (m + 1), m in [sqrt 1/2, sqrt 2). */
static void index_of(int32_t *restrict index, const double *restrict v, size_t n, double scale)
{
    const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd);
    const double magic = 0x1.8p52, k = 2.885390081777926814; /* 2 / ln 2 */
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], 8);
        uint64_t above = bits - root_half; /* the exponent's field counts from sqrt 1/2 */
        double e = as_double((above >> 52) + UINT64_C(0x4338000000000000)) - magic;
        e = e > 1023 ? e - 4096 : e; /* a negative exponent borrowed */
        double m = as_double((above & UINT64_C(0xfffffffffffff)) + root_half), z = (m - 1) / (m + 1), zz = z * z;
        double p = ((((((zz * (1.0 / 15) + 1.0 / 13) * zz + 1.0 / 11) * zz + 1.0 / 9) * zz + 1.0 / 7) * zz + 0.2) * zz +
                    1.0 / 3) *
                       zz +
                   1;
        double at = (e + k * z * p) * scale + magic;
        uint64_t whole;
        memcpy(&whole, &at, 8);
        index[i] = (int32_t)whole;
    }
}

#define ROW(r) table[(r)*2048 + (h * (UINT64_C(0x9e3779b97f4a7c15) + 2 * (r)) >> 53)]++
#define ROWS_5(r) ROW(r), ROW((r) + 1), ROW((r) + 2), ROW((r) + 3), ROW((r) + 4)

static void increment_5(uint32_t *restrict table, const uint64_t *restrict hashes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t h = hashes[i];
        ROWS_5(0);
    }
}

static void increment_10(uint32_t *restrict table, const uint64_t *restrict hashes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t h = hashes[i];
        ROWS_5(0);
        ROWS_5(5);
    }
}

const struct limit_ops LIMITS = {.sum = sum,
                                 .max_10 = max_10,
                                 .add_10 = add_10,
                                 .hash = hash,
                                 .index = index_of,
                                 .increment_5 = increment_5,
                                 .increment_10 = increment_10};
