/*
 * Arrays of counters, and how items find theirs: what Count-Min, CountSketch, UnivMon and Hydra share.
 *
 * An item (a u64, kernels/sketch.h) is hashed once with the sketch seed; row r of a sketch multiplies that hash by its
 * own odd constant. The product's upper half, scaled to the width, is the counter; the bit below it is the sign. Both
 * are functions of (item, seed, row) alone, so sketches of one seed and shape add up counter by counter.
 *
 *     hash(item, seed) * odd[row] = | 32 bits: counter = bits * width >> 32 | 1 bit: sign | 31 bits |
 *
 * Counters come in three forms. Whole weights whose absolute sum (the *mass*) stays below 2^32 (below 2^31 where signs
 * exist) are counted in 4 bytes, up to 2^62 in 8: no counter can pass the mass, so none ever wraps or clamps, and any
 * order of adding gives the same bits. Weights that are not whole, or whose mass passes 2^62, are real: f64 sums, whose
 * rounding depends on the order of adding (merges therefore visit states in one order). Only signed sketches take them.
 *
 * A weight travels as a *word*: an int64 in two's complement, or the bits of a double where the form is real.
 */
#ifndef KERNELS_COUNTERS_H
#define KERNELS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/bits.h"
#include "kernels/hash8.h"
#include "kernels/ops.h"
#include "kernels/sketch.h"

enum {
    COUNTERS_DEPTH_MAX = 16,
    COUNTERS_WIDTH_MIN = 8,
    COUNTERS_CELLS_MAX = 1 << 22, /* of a whole state */
    COUNTERS_STRIP = 2048,        /* counters added from each input before the next strip: stays in L1 */
    COUNTERS_BATCH = 64           /* items whose places are computed together */
};
#define COUNTERS_MASS_END (UINT64_C(1) << 62)
#define COUNTERS_REAL_END 0x1p500          /* of a real mass: squares stay finite */
#define COUNTERS_N_END (UINT64_C(1) << 48) /* samples a state may claim */

enum counter_form { COUNTERS_NARROW = 1, COUNTERS_WIDE, COUNTERS_REAL };

/* The absolute sum of weights: `whole` unless `is_real`. */
struct mass {
    bool is_real;
    uint64_t whole;
    double real;
};

extern const uint64_t counters_odd[COUNTERS_DEPTH_MAX];

static inline uint64_t counters_hash(uint64_t item, uint64_t seed)
{
    return hash8(item, hash8_flip(seed));
}
static inline uint64_t counters_spread(uint64_t hash, uint32_t row)
{
    return hash * counters_odd[row];
}
static inline uint32_t counters_index(uint64_t spread, uint32_t width)
{
    return (uint32_t)((spread >> 32) * width >> 32);
}
static inline bool counters_is_minus(uint64_t spread)
{
    return spread >> 31 & 1;
}

/* Both in one: the counter in the low bits, the sign in the uppermost. */
#define COUNTERS_MINUS UINT32_C(0x80000000)
static inline uint32_t counters_place(uint64_t spread, uint32_t width)
{
    return counters_index(spread, width) | ((uint32_t)spread & COUNTERS_MINUS);
}

static inline uint64_t counters_word(double weight, bool is_real)
{
    return is_real ? bits_of_f64(weight) : (uint64_t)(int64_t)weight;
}
static inline double counters_of_word(uint64_t word, bool is_real)
{
    return is_real ? bits_to_f64(word) : (double)(int64_t)word;
}
static inline uint64_t counters_word_add(uint64_t a, uint64_t b, bool is_real)
{
    return is_real ? bits_of_f64(bits_to_f64(a) + bits_to_f64(b)) : a + b;
}

static inline size_t counters_cell_size(enum counter_form form)
{
    return form == COUNTERS_NARROW ? 4 : 8;
}

/* Items, at most COUNTERS_BATCH, by their hashes into the `depth` rows of `width` counters of a sketch: with signs
 * where is_signed. words NULL: a weight of 1 each, and the form is not real. */
void counters_add_items(void *cells, enum counter_form form, bool is_signed, uint32_t depth, uint32_t width,
                        const uint64_t *hashes, const uint64_t *words, size_t n);

/* The same with the places known (kernels/ops.h): each of a batch into the row at `row`. */
void counters_add_places(void *row, enum counter_form form, bool is_signed, const uint32_t *place,
                         const uint64_t *words, size_t n);

/* Counter `at` of a state's bytes (any alignment) as an integer; the form is not real. */
static inline int64_t counters_whole(const uint8_t *cells, enum counter_form form, bool is_signed, size_t at)
{
    if (form == COUNTERS_WIDE)
        return (int64_t)bits_load_u64(cells + 8 * at);
    uint32_t v = bits_load_u32(cells + 4 * at);
    return is_signed ? (int32_t)v : (int64_t)v;
}
static inline double counters_value(const uint8_t *cells, enum counter_form form, bool is_signed, size_t at)
{
    return form == COUNTERS_REAL ? bits_load_f64(cells + 8 * at) : (double)counters_whole(cells, form, is_signed, at);
}

/* The mass of a batch's weights (NULL: 1 each). SKETCH_BAD_DATA for what cannot be counted: weights or sums that are
 * not finite; without signs also what is negative, not whole or reaches 2^62. */
int counters_weigh(const double *weights, uint32_t n, bool is_signed, struct mass *ret);
/* *mass += other, with the same rules. */
int counters_mass_add(struct mass *mass, const struct mass *other, bool is_signed);
/* The form of counters that hold such a mass; it only grows as mass does. */
enum counter_form counters_form(const struct mass *mass, bool is_signed);
bool counters_mass_possible(const struct mass *mass); /* of a state that may be damaged */

/* Whole masses are stored as u64, real ones as f64. */
void counters_mass_store(uint8_t *p, const struct mass *mass);
struct mass counters_mass_load(const uint8_t *p, bool is_real);

/* One state's counters: bytes of any alignment. */
struct counters_table {
    const uint8_t *cells;
    enum counter_form form;
};
/* dst[i] += src[0][i] + ... + src[k - 1][i], i < n, in this order: no form of src is above dst's. */
void counters_add_tables(void *dst, enum counter_form form, const struct counters_table *src, uint32_t k,
                         bool is_signed, size_t n);

/* Can n counters that each item enters once hold these weights? Unsigned: they sum to the mass; signed: their absolute
 * sum is at most the mass and of its parity, unless !is_all (only some items enter); real: none passes twice the
 * mass. */
bool counters_row_possible(const uint8_t *cells, enum counter_form form, bool is_signed, size_t n,
                           const struct mass *mass, bool is_all);

/* One item's weight by the `depth` rows of a sketch: the least without signs, else the median. */
double counters_read_item(const uint8_t *cells, enum counter_form form, bool is_signed, uint32_t depth, uint32_t width,
                          uint64_t hash);

/* The same of many at once, at most COUNTERS_BATCH; cells is aligned memory of the caller. */
void counters_read_items(const void *cells, enum counter_form form, bool is_signed, uint32_t depth, uint32_t width,
                         const uint64_t *hashes, size_t n, double *ret);

/* Root of the median row's sum of squares, of a sketch with signs: each row's is the second moment on average (Alon,
 * Matias, Szegedy: The Space Complexity of Approximating the Frequency Moments, 1996; Thorup, Zhang: Tabulation Based
 * 4-Universal Hashing with Applications to Second Moment Estimation, 2004). */
double counters_norm(const uint8_t *cells, enum counter_form form, uint32_t depth, uint32_t width);

/* The median of v[0..n), which is reordered; the mean of the middle two for even n. n >= 1. */
double counters_median(double *v, uint32_t n);

#endif
