/*
 * The frame's maps between doubles and integers. Exactness rests on three facts: 10^e is a double for e <= 22; a
 * division is correctly rounded; and adding 1.5 * 2^52 to a double below 2^51 rounds it to an integer that then stands
 * in the low mantissa bits. So y is found by one multiplication (a guess) and proved by one division (the definition).
 * Contraction to fused multiply-add must be off: it would guess differently from machine to machine.
 */
#include "kernels/bits.h"
#include "kernels/frame_internal.h"

static const double frame_pow10[FRAME_E_MAX + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};

#define FRAME_MAGIC 6755399441055744.0 /* 1.5 * 2^52 */
#define FRAME_MAGIC_BITS UINT64_C(0x4338000000000000)
#define FRAME_INTEGER_MAX 0x1p51

static inline double magic_to_f64(uint64_t y)
{
    return bits_to_f64(y + FRAME_MAGIC_BITS) - FRAME_MAGIC;
}

static inline bool integer_in_range(double r)
{
    return bits_to_f64(bits_of_f64(r) & INT64_MAX) < FRAME_INTEGER_MAX; /* false for NaN */
}

/* Units in the last place from the decimal y / scale to v, modulo 2^64. */
static inline uint64_t ulps_above(double v, double r, double scale)
{
    return bits_order_key(bits_of_f64(v)) - bits_order_key(bits_of_f64(r / scale));
}

static inline bool ulps_fit(uint64_t ulps, bool corrected)
{
    return corrected ? ulps + FRAME_CORRECTION_MAX <= 2 * FRAME_CORRECTION_MAX : ulps == 0;
}

/*
 * y[i] = the integer of v[i] at scale 10^e. Returns the misfits; it may stop counting once there are more than
 * misfits_max, and y is then unfinished.
 */
unsigned frame_map_decimal(uint64_t *y, const double *v, unsigned n, unsigned e, unsigned misfits_max)
{
    const double scale = frame_pow10[e];
    unsigned misfits = 0;
    for (unsigned i = 0; i < n && misfits <= misfits_max;) {
        unsigned stop = n - i > 16 ? i + 16 : n;
        for (; i < stop; i++) {
            double t = v[i] * scale + FRAME_MAGIC, r = t - FRAME_MAGIC;
            y[i] = bits_of_f64(t) - FRAME_MAGIC_BITS;
            unsigned fits = bits_of_f64(r / scale) == bits_of_f64(v[i]);
            fits &= integer_in_range(r); /* no branch: misfits come at random */
            misfits += 1 - fits;
        }
    }
    return misfits;
}

/* As frame_map_decimal, but a value within FRAME_CORRECTION_MAX units in the last place fits; correction[i] says how
 * many it is above. */
unsigned frame_map_near_decimal(uint64_t *y, int64_t *correction, const double *v, unsigned n, unsigned e,
                                unsigned misfits_max)
{
    const double scale = frame_pow10[e];
    unsigned misfits = 0;
    for (unsigned i = 0; i < n && misfits <= misfits_max; i++) {
        double t = v[i] * scale + FRAME_MAGIC, r = t - FRAME_MAGIC;
        uint64_t ulps = ulps_above(v[i], r, scale);
        y[i] = bits_of_f64(t) - FRAME_MAGIC_BITS;
        correction[i] = (int64_t)ulps;
        misfits += !ulps_fit(ulps, true) || !integer_in_range(r);
    }
    return misfits;
}

void frame_map_ordered(uint64_t *y, const double *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        y[i] = bits_order_key(bits_of_f64(v[i]));
}

/*
 * Lists what the map does not give back, and puts a neighbour's integer (and correction) there so that the predictor
 * sees no outlier. correction may be NULL: then only exact fits count. Returns how many.
 */
unsigned frame_map_exceptions(uint16_t *position, uint64_t *y, int64_t *correction, const double *v, unsigned n,
                              unsigned e)
{
    const double scale = frame_pow10[e];
    unsigned exceptions_n = 0, good_n = 0;
    for (unsigned i = 0; i < n; i++) {
        double r = magic_to_f64(y[i]);
        if (!ulps_fit(ulps_above(v[i], r, scale), correction != NULL) || !integer_in_range(r)) {
            position[exceptions_n++] = (uint16_t)i;
            y[i] = i ? y[i - 1] : 0;
            if (correction)
                correction[i] = i ? correction[i - 1] : 0;
        } else if (good_n++ == 0) {
            for (unsigned j = 0; j < i; j++) { /* exceptions before the first good one */
                y[j] = y[i];
                if (correction)
                    correction[j] = correction[i];
            }
        }
    }
    return exceptions_n;
}

/* Drops the zero bits that all integers end in, where that pays for the shift's byte. Returns how many. */
unsigned frame_map_shift(uint64_t *y, unsigned n)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < n; i++)
        all |= y[i];
    unsigned shift = all ? (unsigned)__builtin_ctzll(all) : 0;
    if (shift < 3)
        return 0;
    for (unsigned i = 0; i < n; i++)
        y[i] = (uint64_t)((int64_t)y[i] >> shift);
    return shift;
}

/* The map's definition, but for corrections and exceptions. False when an integer is out of a decimal's range. */
bool frame_map_to_doubles(double *out, const uint64_t *y, unsigned n, const struct frame_map *map)
{
    const unsigned shift = map->shift;
    if (map->e == FRAME_E_ORDERED) {
        for (unsigned i = 0; i < n; i++) {
            uint64_t bits = bits_order_key(y[i] << shift);
            memcpy(&out[i], &bits, 8);
        }
        return true;
    }
    const double scale = frame_pow10[map->e];
    uint64_t outside = 0;
    if (map->e == 0) {
        for (unsigned i = 0; i < n; i++) {
            uint64_t integer = y[i] << shift;
            outside |= integer + (UINT64_C(1) << 51);
            out[i] = magic_to_f64(integer);
        }
    } else {
        for (unsigned i = 0; i < n; i++) {
            uint64_t integer = y[i] << shift;
            outside |= integer + (UINT64_C(1) << 51);
            out[i] = magic_to_f64(integer) / scale;
        }
    }
    return outside >> 52 == 0;
}

void frame_map_correct(double *v, const uint64_t *correction, unsigned n, int base)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t key = bits_order_key(bits_of_f64(v[i])) + correction[i] + (uint64_t)(int64_t)base;
        uint64_t bits = bits_order_key(key);
        memcpy(&v[i], &bits, 8);
    }
}
