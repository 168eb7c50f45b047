/* Packed decimal panes with 32-byte vectors: half a group of eight steps is a vector. */
#include <immintrin.h>
#include <string.h>

#include "kernels/ops.h"
#include "kernels/qdecimal.h"

/* How four steps of w bits become lanes: two loads of 16 bytes, which of their bytes each lane takes, and how far they
 * are shifted. Offsets count from the group's first byte. */
struct half {
    uint8_t take[32];
    uint64_t shift[4];
    uint32_t low_at, high_at;
};
struct spread {
    struct half half[2];
    uint64_t kept;
};
#define BYTES(at) (at), (at) + 1, (at) + 2, (at) + 3, (at) + 4, (at) + 5, (at) + 6, (at) + 7
#define HALF(w, i)                                                                                                     \
    {                                                                                                                  \
        {BYTES(0), BYTES(((i) + 1) * (w) / 8 - (i) * (w) / 8), BYTES(0),                                               \
         BYTES(((i) + 3) * (w) / 8 - ((i) + 2) * (w) / 8)},                                                            \
            {(i) * (w) % 8, ((i) + 1) * (w) % 8, ((i) + 2) * (w) % 8, ((i) + 3) * (w) % 8}, (i) * (w) / 8,             \
            ((i) + 2) * (w) / 8                                                                                        \
    }
#define SPREAD(w)                                                                                                      \
    {                                                                                                                  \
        {HALF(w, 0), HALF(w, 4)}, (UINT64_C(1) << (w)) - 1                                                             \
    }
static const struct spread spread_of[16] = {SPREAD(0),  SPREAD(1),  SPREAD(2),  SPREAD(3),  SPREAD(4),  SPREAD(5),
                                            SPREAD(6),  SPREAD(7),  SPREAD(8),  SPREAD(10), SPREAD(12), SPREAD(14),
                                            SPREAD(16), SPREAD(20), SPREAD(26), SPREAD(52)};

/* Sums of one to four steps. */
static inline __m256i sums(const uint8_t *group, const struct half *h, __m256i kept)
{
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(group + h->low_at));
    __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(group + h->high_at));
    __m256i take = _mm256_loadu_si256((const __m256i *)(const void *)h->take);
    __m256i shift = _mm256_loadu_si256((const __m256i *)(const void *)h->shift);
    __m256i v = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), take);
    v = _mm256_and_si256(_mm256_srlv_epi64(v, shift), kept);
    v = _mm256_add_epi64(v, _mm256_slli_si256(v, 8));
    return _mm256_add_epi64(v, _mm256_blend_epi32(_mm256_setzero_si256(), _mm256_permute4x64_epi64(v, 0x55), 0xf0));
}

enum { LAST_LANE = 0xff, READ_MAX = 64 }; /* bytes from a group's first that its loads may touch */

static const uint8_t *groups(double *y, const uint8_t *codes, const uint8_t *p, const uint8_t *end, uint32_t n,
                             uint32_t head)
{
    const __m256d magic = _mm256_set1_pd(6755399441055744.0); /* 1.5 * 2^52; integers stand in its low mantissa bits */
    const uint32_t needed = (head - 1 + 7) / 8;
    const uint8_t *group = p; /* where the group at p is read */
    uint8_t rest[2 * READ_MAX];
    __m256i carry = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)y[0]), _mm256_castpd_si256(magic));
    for (uint32_t g = 0; g < needed; g++) {
        unsigned code = codes[g / 2] >> (g % 2 * 4) & 15, size = qdecimal_width[code];
        const struct spread *s = &spread_of[code];
        if (g == (n - 1) / 8 || end - p < READ_MAX) {
            const uint8_t *behind = qdecimal_group_end(p, end, size, n - 1 - 8 * g);
            if (!behind)
                return NULL;
            size = (unsigned)(behind - p);
            if (group == p && end - p < READ_MAX) { /* loads would leave the state: its end by a padded copy */
                memset(rest, 0, sizeof rest);
                memcpy(rest, p, (size_t)(end - p));
                group = rest;
            }
        }
        __m256i kept = _mm256_set1_epi64x((int64_t)s->kept);
        __m256i a = sums(group, &s->half[0], kept), b = sums(group, &s->half[1], kept);
        __m256i middle = _mm256_sub_epi64(carry, _mm256_permute4x64_epi64(a, LAST_LANE));
        _mm256_storeu_pd(y + 1 + 8 * g, _mm256_sub_pd(_mm256_castsi256_pd(_mm256_sub_epi64(carry, a)), magic));
        _mm256_storeu_pd(y + 5 + 8 * g, _mm256_sub_pd(_mm256_castsi256_pd(_mm256_sub_epi64(middle, b)), magic));
        carry = _mm256_sub_epi64(middle, _mm256_permute4x64_epi64(b, LAST_LANE));
        p += size;
        group += size;
    }
    carry = _mm256_sub_epi64(carry, _mm256_castpd_si256(magic));
    return _mm_cvtsi128_si64(_mm256_castsi256_si128(carry)) > -QDECIMAL_Y_END ? p : NULL;
}

void qdecimal_ops_avx2(struct qdecimal_ops *ops)
{
    ops->groups = groups;
}
