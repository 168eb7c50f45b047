/* Packed decimal panes with 64-byte vectors: a group of eight steps is one vector. */
#include <immintrin.h>

#include "kernels/ops.h"
#include "kernels/qdecimal.h"

/* How the steps of a group of w bits each become lanes: which bytes of the group each lane takes, how far they are
 * shifted, and what is kept of them. */
struct spread {
    uint8_t take[64];
    uint64_t shift[8], kept;
};
#define BYTES(at) (at), (at) + 1, (at) + 2, (at) + 3, (at) + 4, (at) + 5, (at) + 6, (at) + 7
#define SPREAD(w)                                                                                                      \
    {                                                                                                                  \
        {BYTES(0),           BYTES((w) / 8),     BYTES(2 * (w) / 8), BYTES(3 * (w) / 8),                               \
         BYTES(4 * (w) / 8), BYTES(5 * (w) / 8), BYTES(6 * (w) / 8), BYTES(7 * (w) / 8)},                              \
            {0, (w) % 8, 2 * (w) % 8, 3 * (w) % 8, 4 * (w) % 8, 5 * (w) % 8, 6 * (w) % 8, 7 * (w) % 8},                \
            (UINT64_C(1) << (w)) - 1                                                                                   \
    }
static const struct spread spread_of[16] = {SPREAD(0),  SPREAD(1),  SPREAD(2),  SPREAD(3),  SPREAD(4),  SPREAD(5),
                                            SPREAD(6),  SPREAD(7),  SPREAD(8),  SPREAD(10), SPREAD(12), SPREAD(14),
                                            SPREAD(16), SPREAD(20), SPREAD(26), SPREAD(52)};

static const uint8_t *groups(double *y, const uint8_t *codes, const uint8_t *p, const uint8_t *end, uint32_t n,
                             uint32_t head)
{
    const __m512i zero = _mm512_setzero_si512(), last_lane = _mm512_set1_epi64(7);
    const uint32_t needed = (head - 1 + 7) / 8;
    __m512i carry = _mm512_set1_epi64((int64_t)y[0]);
    for (uint32_t g = 0; g < needed; g++) {
        unsigned code = codes[g / 2] >> (g % 2 * 4) & 15, size = qdecimal_width[code];
        const struct spread *s = &spread_of[code];
        __m512i group;
        if (g < (n - 1) / 8 && end - p >= 64) {
            group = _mm512_loadu_si512(p);
        } else {
            const uint8_t *behind = qdecimal_group_end(p, end, size, n - 1 - 8 * g);
            if (!behind)
                return NULL;
            size = (unsigned)(behind - p);
            group = _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, size), p);
        }
        __m512i v = _mm512_permutexvar_epi8(_mm512_loadu_si512(s->take), group);
        v = _mm512_and_si512(_mm512_srlv_epi64(v, _mm512_loadu_si512(s->shift)), _mm512_set1_epi64((int64_t)s->kept));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
        _mm512_storeu_pd(y + 1 + 8 * g, _mm512_cvtepi64_pd(_mm512_sub_epi64(carry, v)));
        carry = _mm512_sub_epi64(carry, _mm512_permutexvar_epi64(last_lane, v));
        p += size;
    }
    return _mm_cvtsi128_si64(_mm512_castsi512_si128(carry)) > -QDECIMAL_Y_END ? p : NULL;
}

void qdecimal_ops_avx512(struct qdecimal_ops *ops)
{
    ops->groups = groups;
}
