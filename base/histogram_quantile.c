/* What is read out of a histogram: quantiles, fractions, mean and variance. */
#include <math.h>

#include "base/histogram_parts.h"

/* Only one side has buckets: then observations in the zero bucket are taken to be of its sign. */
static void cut_at_zero(const struct histogram *h, struct histogram_bucket *b)
{
    if (h->negative.counts_n == 0 && h->positive.counts_n > 0)
        b->lower = 0;
    else if (h->positive.counts_n == 0 && h->negative.counts_n > 0)
        b->upper = 0;
}

/* The value `share` of the way through the bucket: linear in custom buckets and around zero; in exponential buckets
 * linear in the logarithm, in which all of them are as wide. */
static double interpolate(const struct histogram *h, const struct histogram_bucket *b, double share)
{
    if (histogram_is_custom(h) || (b->lower <= 0 && b->upper >= 0))
        return b->lower + (b->upper - b->lower) * share;
    double lower = log2(fabs(b->lower)), upper = log2(fabs(b->upper));
    if (b->lower > 0)
        return exp2(lower + (upper - lower) * share);
    return -exp2(upper + (lower - upper) * (1 - share));
}

double histogram_quantile(const struct histogram *h, double q, unsigned *notes)
{
    if (q < 0 || q > 1)
        return q < 0 ? -INFINITY : INFINITY;
    if (h->count == 0 || isnan(q))
        return NAN;
    /* NaN observations are counted, but are in no bucket; they make the sum NaN. Then only the way up is right, for
     * they rank above everything; else the shorter way is the more exact one. */
    bool rising = isnan(h->sum) || q < 0.5;
    double rank = (rising ? q : 1 - q) * h->count, count = 0;
    struct histogram_buckets it;
    struct histogram_bucket b = {0};
    histogram_buckets_begin(&it, h, !rising);
    while (histogram_buckets_next(&it, &b)) {
        if (b.count == 0)
            continue;
        count += b.count;
        if (count >= rank)
            break;
    }
    if (!histogram_is_custom(h)) {
        if (b.lower < 0 && b.upper > 0)
            cut_at_zero(h, &b);
    } else if (b.lower == -INFINITY) {
        if (b.upper <= 0)
            return b.upper;
        b.lower = 0;
    } else if (b.upper == INFINITY) {
        return b.lower;
    }
    if (count > h->count)
        count = h->count; /* rounding */
    if (count < rank) {
        if (!isnan(h->sum))
            return b.upper; /* rounding, or counts that do not add up */
        *notes |= HISTOGRAM_NAN_RESULT;
        return NAN;
    }
    rank = rising ? rank - (count - b.count) : count - rank;
    if (isnan(h->sum)) {
        /* Without NaN observations a NaN sum is that of both infinities. Prometheus interpolates in the last bucket it
         * sees while it looks for them; its answer is kept to. */
        while (histogram_buckets_next(&it, &b))
            count += b.count;
        if (count < h->count)
            *notes |= HISTOGRAM_NAN_SKEW;
    }
    return interpolate(h, &b, rank / b.count);
}

/* How many observations of the bucket are at or below `v`, which is within it; `rank` is that of the bucket. */
static double rank_within(const struct histogram *h, const struct histogram_bucket *b, double rank, double v)
{
    if (histogram_is_custom(h) || (b->lower <= 0 && b->upper >= 0)) {
        if (b->lower == -INFINITY)
            return b->count;
        return rank + b->count * (v - b->lower) / (b->upper - b->lower);
    }
    double lower = log2(fabs(b->lower)), upper = log2(fabs(b->upper)), at = log2(fabs(v));
    double share = v > 0 ? (at - lower) / (upper - lower) : 1 - (at - upper) / (lower - upper);
    return rank + b->count * share;
}

/* One limit of a fraction: true once its rank is known. */
struct limit {
    double at, rank;
    bool set;
};
static void limit_meet(struct limit *l, const struct histogram *h, const struct histogram_bucket *b, double rank)
{
    if (l->set)
        return;
    if (b->lower >= l->at)
        l->rank = rank;
    else if (b->upper > l->at)
        l->rank = rank_within(h, b, rank, l->at);
    else
        return;
    l->set = true;
}

double histogram_fraction(const struct histogram *h, double lower, double upper, unsigned *notes)
{
    if (h->count == 0 || isnan(lower) || isnan(upper))
        return NAN;
    if (lower >= upper)
        return 0;
    struct limit low = {.at = lower}, high = {.at = upper};
    double rank = 0, count = 0;
    struct histogram_buckets it;
    struct histogram_bucket b;
    histogram_buckets_begin(&it, h, false);
    while (!(low.set && high.set) && histogram_buckets_next(&it, &b)) {
        count += b.count;
        if (b.lower <= 0 && b.upper >= 0)
            cut_at_zero(h, &b);
        limit_meet(&low, h, &b, rank);
        limit_meet(&high, h, &b, rank);
        rank += b.count;
    }
    if (!isnan(h->sum)) {
        count = h->count;
    } else {
        while (histogram_buckets_next(&it, &b))
            count += b.count;
        if (count < h->count)
            *notes |= HISTOGRAM_NAN_FRACTION;
    }
    if (!low.set || low.rank > count)
        low.rank = count;
    if (!high.set || high.rank > count)
        high.rank = count;
    return (high.rank - low.rank) / h->count;
}

double histogram_avg(const struct histogram *h)
{
    return h->sum / h->count;
}

/* Each observation is taken to be at the middle of its bucket: the geometric one of exponential buckets, 0 in the zero
 * bucket. */
double histogram_stdvar(const struct histogram *h)
{
    double mean = histogram_avg(h);
    struct compensated squares = {0, 0};
    struct histogram_buckets it;
    struct histogram_bucket b;
    histogram_buckets_begin(&it, h, false);
    while (histogram_buckets_next(&it, &b)) {
        if (b.count == 0)
            continue;
        double middle = 0;
        if (histogram_is_custom(h))
            middle = (b.upper + b.lower) / 2;
        else if (b.lower > 0 || b.upper < 0)
            middle = copysign(sqrt(b.upper * b.lower), b.upper);
        double off = middle - mean;
        compensated_add(&squares, b.count * off * off);
    }
    return (squares.v + squares.rest) / h->count;
}

double histogram_stddev(const struct histogram *h)
{
    return sqrt(histogram_stdvar(h));
}
