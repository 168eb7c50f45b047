/* HLL with 32-byte vectors. */
#include <immintrin.h>

#include "kernels/hll_loops.h"

enum { LANES = 32, BEFORE_OVERFLOW = 255 * LANES };

static void coupons(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed)
{
    hll_loop_coupons(ret, values, n, p, seed);
}

static void raise(uint8_t *registers, const uint8_t *src, size_t m)
{
    hll_loop_raise(registers, src, m);
}

static inline __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
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

/* One value after the other, up to the greatest: few have any registers. */
static void histogram(const uint8_t *registers, size_t m, uint32_t *ret_many)
{
    size_t whole = m / LANES * LANES;
    __m256i most = _mm256_setzero_si256();
    for (size_t i = 0; i < whole; i += LANES)
        most = _mm256_max_epu8(most, load(registers + i));
    uint8_t high[LANES], to = 0;
    _mm256_storeu_si256((__m256i *)(void *)high, most);
    for (unsigned i = 0; i < LANES; i++)
        to = high[i] > to ? high[i] : to;
    memset(ret_many, 0, 64 * sizeof *ret_many);
    for (unsigned r = 0; whole > 0 && r <= to; r++)
        ret_many[r] = count(registers, whole, (uint8_t)r);
    for (size_t i = whole; i < m; i++)
        ret_many[registers[i]]++;
}

void hll_ops_avx2(struct hll_ops *ops)
{
    *ops = (struct hll_ops){.coupons = coupons, .raise = raise, .histogram = histogram, .sparse = hll_sparse_scalar};
}
