/*
 * Measured: means over states of log-normal samples (mu 3, sigma 1) of three decimals, as latencies in ms are; random
 * full mantissas need up to 4 times the bytes of exact states, small whole numbers half or less. A test builds such
 * states and compares.
 *
 * Items by labels have whole weights of any size: a counter takes 8 bytes.
 *
 *   exact multiset,  4 bytes for 1 sample, 5.8 a row at 10 rows down to 0.7 at 20,000: sorted decimals in small
 *   exact set        steps; between the sizes measured, a line in log rows
 *   KLL              exact up to k samples; then 4 bytes a row until its levels are full, 15 k bytes
 *   DDSketch         a byte a row, and a few, until its bins are taken: sigma 1 spreads over about 3 / alpha of them,
 *                    1.3 bytes each
 *   HLL              3 bytes and 2 a row (sparse coupons), until the registers are written out: 2^p and 2
 *   counters         each item listed, 8 bytes and its weight, up to a fourth of the counters; then all of them, of
 *                    UnivMon as many times as halving leaves more items than are listed (kernels/frequency.h,
 *                    kernels/univmon.h)
 *   all others       their bound: of one size, or of as many hashes as items
 */
#include "planner/state_size.h"

#include <math.h>

enum { OFFSET_BYTES = 4 }; /* where a state of variable size begins in its block (docs/FORMATS.md) */

static double exact_size(double rows)
{
    static const double sizes[][2] = {{1, 4},     {4, 11},    {10, 23},     {30, 58},     {60, 104},
                                      {200, 295}, {600, 737}, {2000, 2275}, {6000, 5445}, {20000, 13365}};
    enum { SIZES_N = sizeof sizes / sizeof *sizes };
    if (rows >= sizes[SIZES_N - 1][0])
        return rows * sizes[SIZES_N - 1][1] / sizes[SIZES_N - 1][0];
    int i = 1;
    while (rows > sizes[i][0])
        i++;
    double from = log(sizes[i - 1][1]), to = log(sizes[i][1]);
    double part = log(fmax(1, rows) / sizes[i - 1][0]) / log(sizes[i][0] / sizes[i - 1][0]);
    return exp(from + part * (to - from));
}

enum { COUNTED_HEAD_BYTES = 32, LISTED_BYTES = 8 + 4, COUNTER_BYTES = 8 };

static double counters_size(const struct sketch_params *params, double items, bool has_levels)
{
    double cells = (double)params->depth * params->width, most = floor(cells / 4);
    double table = cells * COUNTER_BYTES + params->heap * 8.0;
    double levels = items <= most ? 0 : has_levels ? ceil(log2(items / most)) : 1;
    double listed = levels == 0 ? items : has_levels ? items / exp2(levels) : 0;
    return COUNTED_HEAD_BYTES + 4 + levels * table + listed * LISTED_BYTES;
}

static double expected(enum family family, const struct sketch_params *params, double rows, double bound)
{
    switch (family) {
    case FAMILY_VALUES:
    case FAMILY_DISTINCT_SET:
        return exact_size(rows);
    case FAMILY_KLL:
        return rows <= params->k ? exact_size(rows) : fmin(4 * rows, 15.0 * params->k);
    case FAMILY_DDSKETCH:
        return 5 + fmin(rows, 3.9 / params->alpha);
    case FAMILY_HLL:
        return fmin(3 + 2 * rows, ldexp(1, (int)params->p) + 2);
    case FAMILY_CMS:
    case FAMILY_COUNTSKETCH:
    case FAMILY_CMS_HEAP:
    case FAMILY_COUNTSKETCH_HEAP:
    case FAMILY_UNIVMON:
        return counters_size(params, rows, family == FAMILY_UNIVMON);
    default:
        return bound;
    }
}

double state_size_expected(enum family family, const struct sketch_params *params, double rows)
{
    const struct family_info *f = family_get(family);
    double bound = (double)f->size_bound(params, (uint64_t)fmin(ceil(fmax(1, rows)), 4e9));
    return fmin(bound, expected(family, params, fmax(1, rows), bound)) + (f->fixed_size ? 0 : OFFSET_BYTES);
}
