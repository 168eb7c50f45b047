/*
 * DDSketch's logarithmic mapping: bucket i = [gamma^i, gamma^(i+1)), gamma = (1 + alpha) / (1 - alpha), and every value
 * of a bucket is within alpha of gamma^i (1 + alpha) (not of the midpoint: at the lower edge that misses by more).
 * Paper: Masson, Rim, Lee, DDSketch, 2019.
 *
 * The index must be the same on every machine, so no libm function that may differ is used. gamma^i is *defined* as a
 * power by squaring in double-double arithmetic with a separate exponent (about 2^-75 from the real number at the
 * largest i). A base-2 logarithm from an odd polynomial (within 4e-12) decides the index everywhere but close to an
 * edge; there the value is compared with gamma^i itself. Only + - * / and sqrt are used, with contraction off.
 */
#ifndef KERNELS_GAMMA_H
#define KERNELS_GAMMA_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

/* A positive number (hi + lo) 2^exponent, 1 <= hi < 2. */
struct gamma_number {
    double hi, lo;
    int64_t exponent;
};

struct gamma_map {
    double alpha;
    struct gamma_number gamma, inverse;
    double per_octave; /* buckets of one doubling: 1 / log2(gamma) */
    double slack;      /* closer to an edge than this, in buckets, the logarithm does not decide */
};

enum { GAMMA_BATCH = 256, GAMMA_INDEX_MAX = 400000000 }; /* |index| stays below for alpha >= 1e-6 */

/* 1e-6 <= alpha < 1. */
void gamma_init(struct gamma_map *map, double alpha);

/* Logarithms to base gamma of the magnitudes of x[0..n), n <= GAMMA_BATCH, within map->slack; anything for zeros,
 * subnormal numbers, infinities and NaNs. */
void gamma_logs(const struct gamma_map *map, const double *x, size_t n, double *ret_logs);
/* The bucket of |x|, x finite and not 0, when `log`, its entry of gamma_logs, does not decide: close to an edge, or x
 * subnormal. */
int32_t gamma_index_slow(const struct gamma_map *map, double x, double log);
/* How far up its bucket |x| lies, in 1/256 of it on the logarithmic scale. */
uint8_t gamma_share(const struct gamma_map *map, double x, int32_t index);

/* The bucket of |x|, x finite and not 0; `log` is its entry of gamma_logs. */
static inline int32_t gamma_index(const struct gamma_map *map, double x, double log)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it leaves an integer */
    double nearest = (log + round) - round, off = log - nearest;
    if (__builtin_expect(__builtin_fabs(off) > map->slack && __builtin_fabs(x) >= DBL_MIN, 1))
        return (int32_t)nearest - (off < 0);
    return gamma_index_slow(map, x, log);
}

/* gamma^index (1 + alpha), DBL_MAX where it overflows. */
double gamma_representative(const struct gamma_map *map, int32_t index);
/* gamma^(index + (share + 1/2) / 256): the middle of a share. */
double gamma_at_share(const struct gamma_map *map, int32_t index, uint8_t share);

#endif
