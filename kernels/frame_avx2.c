/* The frame with 32-byte vectors. */
#include <immintrin.h>

#include "kernels/frame_loops.h"

enum { LANES = 4 };

/* Per half group of four values: which bytes of two 16-byte loads to take, and how far to shift them. */
struct half {
    unsigned low_at, high_at; /* byte offsets of the loads of values 0-1 and 2-3 */
    __m256i take, shift;
};

static inline struct half plan_half(unsigned first, unsigned w)
{
    unsigned b0 = first * w, b1 = b0 + w, b2 = b1 + w, b3 = b2 + w;
    const uint64_t each = UINT64_C(0x0101010101010101);
    const __m256i rising = _mm256_set1_epi64x(0x0706050403020100);
    struct half h = {.low_at = b0 / 8, .high_at = b2 / 8};
    __m256i start =
        _mm256_set_epi64x((int64_t)(each * (b3 / 8 - h.high_at)), 0, (int64_t)(each * (b1 / 8 - h.low_at)), 0);
    h.take = _mm256_add_epi8(start, rising);
    h.shift = _mm256_set_epi64x(b3 % 8, b2 % 8, b1 % 8, b0 % 8);
    return h;
}

static inline __m256i unpack_half(const uint8_t *p, const struct half *h, __m256i mask)
{
    __m128i low, high;
    memcpy(&low, p + h->low_at, sizeof low);
    memcpy(&high, p + h->high_at, sizeof high);
    __m256i v = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), h->take);
    return _mm256_and_si256(_mm256_srlv_epi64(v, h->shift), mask);
}

/* Groups of eight values are w bytes; the last ones, whose 16-byte loads would leave the lane, go by a padded copy. */
static void unpack(uint64_t *out, const uint8_t *src, unsigned n, unsigned w)
{
    if (w == 0 || w == 64) {
        frame_unpack_scalar(out, src, n, w);
        return;
    }
    const __m256i mask = _mm256_set1_epi64x((int64_t)((UINT64_C(1) << w) - 1));
    const struct half h0 = plan_half(0, w), h1 = plan_half(4, w);
    const unsigned reach = h1.high_at + 16; /* bytes from a group's first that its loads touch */
    size_t left = frame_lane_bytes(n, w);
    unsigned i = 0;
    for (; i + 8 <= n && left >= reach; i += 8, src += w, left -= w) {
        _mm256_storeu_si256((__m256i *)(void *)(out + i), unpack_half(src, &h0, mask));
        _mm256_storeu_si256((__m256i *)(void *)(out + i + 4), unpack_half(src, &h1, mask));
    }
    if (i < n)
        frame_unpack_scalar(out + i, src, n - i, w);
}

static void add_up(uint64_t *y, unsigned n, uint64_t start, uint64_t base)
{
    __m256i carry = _mm256_set1_epi64x((int64_t)start), b = _mm256_set1_epi64x((int64_t)base);
    unsigned i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256i v = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(y + i)), b);
        v = _mm256_add_epi64(v, _mm256_slli_si256(v, 8));
        __m256i low_half = _mm256_permute4x64_epi64(v, 0x55); /* the sum of the first two */
        v = _mm256_add_epi64(v, _mm256_blend_epi32(_mm256_setzero_si256(), low_half, 0xf0));
        __m256i total = _mm256_permute4x64_epi64(v, 0xff); /* off the chain of carries */
        _mm256_storeu_si256((__m256i *)(void *)(y + i), _mm256_add_epi64(v, carry));
        carry = _mm256_add_epi64(carry, total);
    }
    uint64_t last = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(carry));
    for (; i < n; i++)
        y[i] = last += base + y[i];
}

static void line(uint64_t *u, unsigned n, uint64_t base, uint64_t step)
{
    frame_loop_line(u, n, base, step);
}

static bool to_doubles(double *out, const uint64_t *y, unsigned n, unsigned e, unsigned shift)
{
    return frame_loop_to_doubles(out, y, n, e, shift);
}

static void correct(double *v, const uint64_t *correction, unsigned n, int base)
{
    frame_loop_correct(v, correction, n, base);
}

static unsigned decimal(uint64_t *y, const double *v, unsigned n, unsigned e, unsigned misfits_max)
{
    return frame_loop_decimal(y, v, n, e, misfits_max);
}

static unsigned near_decimal(uint64_t *y, int64_t *correction, const double *v, unsigned n, unsigned e,
                             unsigned misfits_max)
{
    return frame_loop_near_decimal(y, correction, v, n, e, misfits_max);
}

static void rows(uint64_t (*rows)[FRAME_MAX_N], const uint64_t *y, unsigned n, uint64_t slope)
{
    frame_loop_rows(rows, y, n, slope);
}

static unsigned widths(const uint64_t *r, unsigned n, uint64_t middle)
{
    return frame_loop_widths(r, n, middle);
}

void frame_ops_avx2(struct frame_ops *ops)
{
    *ops = (struct frame_ops){.unpack = unpack,
                              .add_up = add_up,
                              .line = line,
                              .to_doubles = to_doubles,
                              .correct = correct,
                              .decimal = decimal,
                              .near_decimal = near_decimal,
                              .rows = rows,
                              .widths = widths};
}
