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

/* Groups of eight values are w bytes; the last ones, whose 16-byte loads would leave what may be read, go by a padded
 * copy. */
static void unpack(uint64_t *out, const uint8_t *src, size_t size, unsigned n, unsigned w)
{
    if (w == 0 || w == 64) {
        frame_unpack_scalar(out, src, size, n, w);
        return;
    }
    const __m256i mask = _mm256_set1_epi64x((int64_t)((UINT64_C(1) << w) - 1));
    const struct half h0 = plan_half(0, w), h1 = plan_half(4, w);
    const unsigned reach = h1.high_at + 16; /* bytes from a group's first that its loads touch */
    uint8_t rest[256];
    for (unsigned i = 0; i < n; i += 8, src += w, size -= w) {
        if (size < reach) { /* at most eight groups of few bits, or two of many */
            memset(rest, 0, sizeof rest);
            src = memcpy(rest, src, size);
            size = sizeof rest;
        }
        _mm256_storeu_si256((__m256i *)(void *)(out + i), unpack_half(src, &h0, mask));
        _mm256_storeu_si256((__m256i *)(void *)(out + i + 4), unpack_half(src, &h1, mask));
    }
}

static void add_up(uint64_t *y, unsigned n, uint64_t start, uint64_t base)
{
    __m256i carry = _mm256_set1_epi64x((int64_t)start), b = _mm256_set1_epi64x((int64_t)base);
    for (unsigned i = 0; i < n; i += LANES) {
        __m256i v = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(y + i)), b);
        v = _mm256_add_epi64(v, _mm256_slli_si256(v, 8));
        __m256i low_half = _mm256_permute4x64_epi64(v, 0x55); /* the sum of the first two */
        v = _mm256_add_epi64(v, _mm256_blend_epi32(_mm256_setzero_si256(), low_half, 0xf0));
        __m256i total = _mm256_permute4x64_epi64(v, 0xff); /* off the chain of carries */
        _mm256_storeu_si256((__m256i *)(void *)(y + i), _mm256_add_epi64(v, carry));
        carry = _mm256_add_epi64(carry, total);
    }
}

void frame_ops_avx2(struct frame_ops *ops)
{
    *ops = (struct frame_ops){.unpack = unpack,
                              .add_up = add_up,
                              .line = frame_loop_line,
                              .to_doubles = frame_loop_to_doubles,
                              .correct = frame_loop_correct,
                              .decimal = frame_loop_decimal,
                              .near_decimal = frame_loop_near_decimal,
                              .rows = frame_loop_rows,
                              .widths = frame_loop_widths};
}
