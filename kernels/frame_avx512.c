/* The frame with 64-byte vectors. */
#include <immintrin.h>

#include "kernels/frame_loops.h"

enum { LANES = 8 };

/* A group of eight values is w bytes, spread by one permutation of bytes. */
static void unpack(uint64_t *out, const uint8_t *src, size_t size, unsigned n, unsigned w)
{
    if (w == 0 || w == 64) {
        frame_unpack_scalar(out, src, size, n, w);
        return;
    }
    const __m512i bit = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(w));
    const __m512i shift = _mm512_and_si512(bit, _mm512_set1_epi64(7));
    const __m512i start =
        _mm512_shuffle_epi8(_mm512_srli_epi64(bit, 3), _mm512_set4_epi32(0x08080808, 0x08080808, 0, 0));
    const __m512i take = _mm512_add_epi8(start, _mm512_set1_epi64(0x0706050403020100));
    const __m512i mask = _mm512_set1_epi64((int64_t)((UINT64_C(1) << w) - 1));
    for (unsigned i = 0; i < n; i += LANES, src += w, size -= w) {
        __m512i group = size >= sizeof group ? _mm512_loadu_si512(src)
                                             : _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, (unsigned)size), src);
        __m512i v = _mm512_permutexvar_epi8(take, group);
        _mm512_storeu_si512(out + i, _mm512_and_si512(_mm512_srlv_epi64(v, shift), mask));
    }
}

static void add_up(uint64_t *y, unsigned n, uint64_t start, uint64_t base)
{
    const __m512i b = _mm512_set1_epi64((int64_t)base), zero = _mm512_setzero_si512(), last = _mm512_set1_epi64(7);
    __m512i carry = _mm512_set1_epi64((int64_t)start);
    for (unsigned i = 0; i < n; i += LANES) {
        __m512i v = _mm512_add_epi64(_mm512_loadu_si512(y + i), b);
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
        __m512i total = _mm512_permutexvar_epi64(last, v); /* off the chain of carries */
        _mm512_storeu_si512(y + i, _mm512_add_epi64(v, carry));
        carry = _mm512_add_epi64(carry, total);
    }
}

void frame_ops_avx512(struct frame_ops *ops)
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
