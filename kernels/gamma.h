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

struct gamma_map {
    double alpha;
    double per_octave; /* buckets of one doubling: 1 / log2(gamma) */
    double slack;      /* closer to an edge than this, in buckets, the logarithm does not decide */
};

enum { GAMMA_BATCH = 256, GAMMA_INDEX_MAX = 400000000 }; /* |index| stays below for alpha >= 1e-6 */
#define GAMMA_NONE INT32_MIN                             /* the bucket of what has none: zero, infinite, NaN */

/* 1e-6 <= alpha < 1. */
void gamma_init(struct gamma_map *map, double alpha);

/* The bucket of |x|, x finite and not 0. ddsketch_ops.indexes finds that of most numbers faster, many at once. */
int32_t gamma_index(const struct gamma_map *map, double x);
/* The same for any x[i] whose bucket is set to GAMMA_NONE; which it stays if there is none. */
void gamma_settle(const struct gamma_map *map, const double *x, size_t n, int32_t *index);
/* gamma_index, and how far up its bucket |x| lies, in 1/256 of it on the logarithmic scale. */
int32_t gamma_place(const struct gamma_map *map, double x, uint8_t *ret_share);

/* gamma^index (1 + alpha), DBL_MAX where it overflows. */
double gamma_representative(const struct gamma_map *map, int32_t index);
/* gamma^(index + (share + 1/2) / 256): the middle of a share. */
double gamma_at_share(const struct gamma_map *map, int32_t index, uint8_t share);

#endif
