/* The frame with 64-byte vectors. */
#include <immintrin.h>

#include "kernels/frame_loops.h"

enum { LANES = 8 };

static inline __mmask8 lanes_left(unsigned n)
{
    return n >= LANES ? 0xff : (__mmask8)((1u << n) - 1);
}

/* A group of eight values is w bytes, spread by one permutation of bytes. Loads are masked to the lane. */
static void unpack(uint64_t *out, const uint8_t *src, unsigned n, unsigned w)
{
    if (w == 0 || w == 64) {
        frame_unpack_scalar(out, src, n, w);
        return;
    }
    const __m512i bit = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(w));
    const __m512i shift = _mm512_and_si512(bit, _mm512_set1_epi64(7));
    const __m512i start =
        _mm512_shuffle_epi8(_mm512_srli_epi64(bit, 3), _mm512_set4_epi32(0x08080808, 0x08080808, 0, 0));
    const __m512i take = _mm512_add_epi8(start, _mm512_set1_epi64(0x0706050403020100));
    const __m512i mask = _mm512_set1_epi64((int64_t)((UINT64_C(1) << w) - 1));
    const __mmask64 group = _bzhi_u64(UINT64_MAX, w);
    unsigned i = 0;
    for (; i + LANES <= n; i += LANES, src += w) {
        __m512i v = _mm512_permutexvar_epi8(take, _mm512_maskz_loadu_epi8(group, src));
        _mm512_storeu_si512(out + i, _mm512_and_si512(_mm512_srlv_epi64(v, shift), mask));
    }
    if (i < n) {
        __mmask64 part = _bzhi_u64(UINT64_MAX, (unsigned)frame_lane_bytes(n - i, w));
        __m512i v = _mm512_permutexvar_epi8(take, _mm512_maskz_loadu_epi8(part, src));
        _mm512_mask_storeu_epi64(out + i, lanes_left(n - i), _mm512_and_si512(_mm512_srlv_epi64(v, shift), mask));
    }
}

static void add_up(uint64_t *y, unsigned n, uint64_t start, uint64_t base)
{
    const __m512i b = _mm512_set1_epi64((int64_t)base), zero = _mm512_setzero_si512(), last = _mm512_set1_epi64(7);
    __m512i carry = _mm512_set1_epi64((int64_t)start);
    for (unsigned i = 0; i < n; i += LANES) {
        __mmask8 lanes = lanes_left(n - i);
        __m512i v = _mm512_add_epi64(_mm512_maskz_loadu_epi64(lanes, y + i), b);
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
        __m512i total = _mm512_permutexvar_epi64(last, v); /* off the chain of carries */
        _mm512_mask_storeu_epi64(y + i, lanes, _mm512_add_epi64(v, carry));
        carry = _mm512_add_epi64(carry, total);
    }
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

void frame_ops_avx512(struct frame_ops *ops)
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
