#include "executor/buckets.h"

#include <float.h>
#include <math.h>

/* Differences this small, against the sum of both counts, are rounding errors of rates and sums. */
#define TOLERANCE 1e-12

static uint32_t join_equal_bounds(struct bucket *b, uint32_t n)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (b[i].bound == b[last].bound)
            b[last].count += b[i].count;
        else
            b[++last] = b[i];
    }
    return last + 1;
}

static bool nearly_equal(double a, double b)
{
    double sum = fabs(a) + fabs(b), difference = fabs(a - b);
    if (isnan(a) && isnan(b))
        return true;
    if (a == 0 || b == 0 || sum < DBL_MIN)
        return difference < TOLERANCE * DBL_MIN;
    return difference / fmin(sum, DBL_MAX) < TOLERANCE;
}

/* Counts must rise with their bounds: what is nearly equal is made equal, what falls is lifted. */
static void repair(struct bucket *b, uint32_t n, struct bucket_repair *r)
{
    double before = b[0].count;
    for (uint32_t i = 1; i < n; i++) {
        double count = b[i].count;
        if (count == before)
            continue;
        if (nearly_equal(before, count)) {
            b[i].count = before;
        } else if (count < before) {
            b[i].count = before;
            r->low_bound = !r->forced || b[i].bound < r->low_bound ? b[i].bound : r->low_bound;
            r->high_bound = !r->forced || b[i].bound > r->high_bound ? b[i].bound : r->high_bound;
            r->difference = fmax(r->difference, before - count);
            r->forced = true;
        } else {
            before = count;
        }
    }
}

double bucket_quantile(double q, struct bucket *b, uint32_t n, struct bucket_repair *ret_repair)
{
    *ret_repair = (struct bucket_repair){0};
    if (isnan(q))
        return NAN;
    if (q < 0 || q > 1)
        return q < 0 ? -INFINITY : INFINITY;
    if (b[n - 1].bound != INFINITY)
        return NAN;
    n = join_equal_bounds(b, n);
    repair(b, n, ret_repair);
    double observations = b[n - 1].count;
    if (n < 2 || observations == 0)
        return NAN;
    double rank = q * observations;
    uint32_t low = 0, high = n - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b[middle].count >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == n - 1) /* beyond the last finite bound nothing is known */
        return b[n - 2].bound;
    if (low == 0 && b[0].bound <= 0)
        return b[0].bound;
    double start = 0, count = b[low].count;
    if (low > 0) {
        start = b[low - 1].bound;
        count -= b[low - 1].count;
        rank -= b[low - 1].count;
    }
    return start + (b[low].bound - start) * (rank / count);
}

/* Observations up to v, which lies in the bucket (start, b.bound] with `before` observations below it. */
static double rank_within(double v, double start, struct bucket b, double before)
{
    if (start == -INFINITY)
        return b.count;
    return before + (b.count - before) * (v - start) / (b.bound - start);
}

double bucket_fraction(double lower, double upper, struct bucket *b, uint32_t n)
{
    if (b[n - 1].bound != INFINITY)
        return NAN;
    n = join_equal_bounds(b, n);
    double observations = b[n - 1].count;
    if (observations == 0 || isnan(lower) || isnan(upper))
        return NAN;
    if (lower >= upper)
        return 0;
    double rank = 0, lower_rank = 0, upper_rank = 0, start = b[0].bound <= 0 ? -INFINITY : 0;
    bool lower_set = false, upper_set = false;
    for (uint32_t i = 0; i < n && !(lower_set && upper_set); i++) {
        if (i > 0)
            start = b[i - 1].bound;
        if (!lower_set && start >= lower) {
            lower_rank = rank;
            lower_set = true;
        }
        if (!upper_set && start >= upper) {
            upper_rank = rank;
            upper_set = true;
        }
        if (!lower_set && start < lower && b[i].bound > lower) {
            lower_rank = rank_within(lower, start, b[i], rank);
            lower_set = true;
        }
        if (!upper_set && start < upper && b[i].bound > upper) {
            upper_rank = rank_within(upper, start, b[i], rank);
            upper_set = true;
        }
        rank = b[i].count;
    }
    if (!lower_set || lower_rank > observations)
        lower_rank = observations;
    if (!upper_set || upper_rank > observations)
        upper_rank = observations;
    return (upper_rank - lower_rank) / observations;
}
