/*
 * The frame's maps between doubles and integers: the loops of frame_loops.h, exceptions and shifts.
 */
#include "kernels/frame_loops.h"

unsigned frame_decimal_scalar(uint64_t *y, const double *v, unsigned n, unsigned e, unsigned misfits_max)
{
    return frame_loop_decimal(y, v, n, e, misfits_max);
}

unsigned frame_near_decimal_scalar(uint64_t *y, int64_t *correction, const double *v, unsigned n, unsigned e,
                                   unsigned misfits_max)
{
    return frame_loop_near_decimal(y, correction, v, n, e, misfits_max);
}

bool frame_to_doubles_scalar(double *out, const uint64_t *y, unsigned n, unsigned e, unsigned shift)
{
    return frame_loop_to_doubles(out, y, n, e, shift);
}

void frame_correct_scalar(double *v, const uint64_t *correction, unsigned n, int base)
{
    frame_loop_correct(v, correction, n, base);
}

void frame_line_scalar(uint64_t *u, unsigned n, uint64_t base, uint64_t step)
{
    frame_loop_line(u, n, base, step);
}

void frame_rows_scalar(uint64_t (*rows)[FRAME_MAX_N], const uint64_t *y, unsigned n, uint64_t slope)
{
    frame_loop_rows(rows, y, n, slope);
}

unsigned frame_widths_scalar(const uint64_t *r, unsigned n, uint64_t middle)
{
    return frame_loop_widths(r, n, middle);
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
    const double scale = decimal_pow10[e];
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
