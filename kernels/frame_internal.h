/*
 * What the frame's files share (frame.c has the byte table): the limits of the format, bit lanes, the two maps between
 * doubles and integers, and the plan of a lane. Inside kernels/frame*.c only.
 *
 *   doubles --frame_map--> integers --frame_plan--> residuals >= 0 --frame.c--> bit lane
 */
#ifndef KERNELS_FRAME_INTERNAL_H
#define KERNELS_FRAME_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/decimal.h"
#include "kernels/frame.h"
#include "kernels/ops.h"

enum {
    FRAME_E_MAX = DECIMAL_E_MAX, /* largest decimal scale */
    FRAME_E_ORDERED = 15,        /* the map by ordered bits */
    FRAME_WIDTH_PACKED = 57,     /* widest lane that one unaligned 8-byte load can serve; the next is 64 */
    FRAME_WIDTH_64 = 58,         /* the code of 64 in a header */
    FRAME_SPARSE_MAX = 255,      /* most patches, most exceptions */
    FRAME_CORRECTION_MAX = 31    /* units in the last place */
};

/* Bits of the first header byte; the low four are e. */
enum { FRAME_HAS_SHIFT = 16, FRAME_HAS_PATCHES = 32, FRAME_HAS_EXCEPTIONS = 64, FRAME_HAS_CORRECTIONS = 128 };

/* Predictors, as numbered in the second header byte. */
enum { FRAME_CONSTANT = 0, FRAME_DELTA = 1, FRAME_SECOND = 2, FRAME_LINE = 3, FRAME_PREDICTORS = 4 };

/* How integers become doubles. */
struct frame_map {
    unsigned e;            /* 0..14 decimal scale, 15 ordered bits */
    unsigned shift;        /* zero bits that all integers end in and that were dropped */
    unsigned exceptions_n; /* values that are stored verbatim */
    unsigned correction_w; /* bits of a correction; 0 = none */
    int correction_base;
};

/* How integers become a lane of residuals. */
struct frame_plan {
    unsigned predictor;
    unsigned n;          /* residuals: fewer than values by the predictor's first ones */
    unsigned w;          /* lane bits 0..57 or 64 */
    unsigned patches_n;  /* residuals that do not fit w bits */
    unsigned patch_w;    /* bits of their high parts 1..57 or 64 */
    bool patch_signed;   /* high parts are signed */
    int64_t first, step; /* DELTA: first; SECOND: first and step; LINE: step is the slope */
    int64_t base;        /* what every residual is above */
    size_t bytes;        /* of the lane, its patches and the numbers above */
    const uint64_t *residual;
};

/* The encoder's scratch. Two sets of residual rows, as the ordered-bits plan waits while corrections are tried. */
struct frame_work {
    uint64_t y[FRAME_MAX_N];
    uint64_t ordered[FRAME_MAX_N];
    int64_t correction[FRAME_MAX_N];
    uint64_t rows[2][FRAME_PREDICTORS][FRAME_MAX_N];
    uint16_t exception[FRAME_MAX_N];
};

/* Values the predictor stores before its residuals. */
static inline unsigned frame_lead_n(unsigned predictor)
{
    return predictor == FRAME_DELTA ? 1 : predictor == FRAME_SECOND ? 2 : 0;
}
static inline size_t frame_lane_bytes(unsigned n, unsigned w)
{
    return ((size_t)n * w + 7) / 8;
}
/* Positions among n are one byte each while they fit. */
static inline unsigned frame_position_bytes(unsigned n)
{
    return n > 256 ? 2 : 1;
}

/* frame.c: lanes of n values of w bits (0..57 or 64), little-endian. pack may write 8 bytes past what it returns; bits
 * above w are dropped. unpack reads no more than `size` bytes and may write FRAME_SLACK values past n. */
uint8_t *frame_pack(uint8_t *dst, const uint64_t *v, unsigned n, unsigned w);
static inline void frame_unpack(uint64_t *out, const uint8_t *src, size_t size, unsigned n, unsigned w)
{
    frame_ops.unpack(out, src, size, n, w);
}

/* frame_map.c: see there. */
void frame_map_ordered(uint64_t *y, const double *v, unsigned n);
unsigned frame_map_exceptions(uint16_t *position, uint64_t *y, int64_t *correction, const double *v, unsigned n,
                              unsigned e);
unsigned frame_map_shift(uint64_t *y, unsigned n);

/* frame_plan.c: the best predictor and lane for y[0..n); rows are its scratch and hold the residuals after. */
void frame_plan_integers(struct frame_plan *ret, const uint64_t *y, unsigned n, uint64_t (*rows)[FRAME_MAX_N]);

#endif
