/*
 * DDSketch's loops over samples: plain C that is compiled once for each instruction set (gamma.c, ddsketch_avx2.c,
 * ddsketch_avx512.c). The operations and their order are the definition of the logarithm; contraction is off.
 */
#ifndef KERNELS_DDSKETCH_LOOPS_H
#define KERNELS_DDSKETCH_LOOPS_H

#include "kernels/bits.h"
#include "kernels/gamma.h"
#include "kernels/ops.h"

/* log2 of |x|: exponent, plus 2 atanh((m - 1) / (m + 1)) / ln 2 with m in [sqrt 1/2, sqrt 2), in buckets. */
static inline double gamma_loop_log(uint64_t magnitude, double per_octave)
{
    static const double c[] = {2.8853900817779268, 0.9617966939259756, 0.5770780163555853,  0.4121985831111324,
                               0.3205988979753252, 0.2623081892525388, 0.22195308321368669, 0.19235933878519512};
    const uint64_t root_2 = UINT64_C(0x3ff6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    uint64_t mantissa = (magnitude & UINT64_C(0x000fffffffffffff)) | one;
    uint64_t up = (root_2 - mantissa) >> 63; /* 1 above the root of 2: half the mantissa, one octave more */
    double e = bits_to_f64(((magnitude >> 52) + up) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    double m = bits_to_f64(mantissa - (up << 52));
    double s = (m - 1) / (m + 1), z = s * s;
    double series = c[0] + z * (c[1] + z * (c[2] + z * (c[3] + z * (c[4] + z * (c[5] + z * (c[6] + z * c[7]))))));
    return (e + s * series) * per_octave;
}

/* No branches, and only operations that every instruction set has for two or more numbers at once. */
static inline void gamma_loop_indexes(const struct gamma_map *map, const double *restrict x, size_t n,
                                      int32_t *restrict ret_index)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it leaves an integer, in the low mantissa bits */
    const double per_octave = map->per_octave, slack = map->slack;
    for (size_t i = 0; i < n; i++) {
        uint64_t magnitude = bits_of_f64(x[i]) & INT64_MAX;
        double log = gamma_loop_log(magnitude, per_octave);
        double rounded = log + round, off = log - (rounded - round);
        uint64_t index = bits_of_f64(rounded) - bits_of_f64(round) - (bits_of_f64(off) >> 63);
        uint64_t clear = bits_of_f64(slack - bits_to_f64(bits_of_f64(off) & INT64_MAX)) >> 63;
        uint64_t small = (magnitude - (UINT64_C(1) << 52)) >> 63,
                 large = ((UINT64_C(2047) << 52) - 1 - magnitude) >> 63;
        uint64_t decided = 0 - (clear & ~small & ~large);
        ret_index[i] = (int32_t)(uint32_t)((index & decided) | ((uint64_t)(int64_t)GAMMA_UNDECIDED & ~decided));
    }
}

/*
 * Which of up to 64 bytes of form 2 are counts, given the lowest bit of each. A byte is one if the byte before is an
 * entry whose low bit stands, so where such bits stand in a row every other byte is a count. Which, is found for all
 * bytes at once by letting a carry run through each row (Langdale, Lemire, Parsing Gigabytes of JSON per Second,
 * section 3.1.1, where the rows are backslashes). *is_count: whether the first byte is one, and then whether the one
 * after the last is.
 */
static inline uint64_t ddstore_loop_counts(uint64_t many, size_t size, uint64_t *is_count)
{
    const uint64_t odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
    uint64_t starts = many & ~*is_count, next = ((starts << 1 | odd) - starts) ^ odd;
    uint64_t counts = next ^ (many | *is_count);
    *is_count = (next & many) >> (size - 1) & 1;
    return size == 64 ? counts : counts & ((UINT64_C(1) << size) - 1);
}

#endif
