/*
 * `</` and `>/`: the observations on one side of a value. Buckets on that side stay, those on the other go, of the one
 * around it a part stays by interpolation; count and sum are then those of what stayed, each bucket's observations
 * taken at its middle.
 */
#include <math.h>

#include "base/histogram_parts.h"

struct cut {
    double at;
    bool below;  /* keep what is below `at` */
    bool custom; /* linear buckets */
};

/* What stays of a bucket. */
struct kept {
    double count, middle;
    bool all;
};

static double middle_of(double lower, double upper, bool positive, bool linear)
{
    if (isinf(lower)) {
        if (isinf(upper))
            return 0;
        return upper > 0 ? upper / 2 : upper;
    }
    if (isinf(upper))
        return lower;
    if (linear)
        return (lower + upper) / 2;
    double geometric = sqrt(fabs(lower * upper));
    return positive ? geometric : -geometric;
}

static double zero_if_infinite(double v)
{
    return isinf(v) ? 0 : v;
}

/* Of a bucket that reaches to an infinity nothing is known of where in it the observations are. */
static struct kept cut_infinite(const struct histogram_bucket *b, const struct cut *c)
{
    if (b->lower != -INFINITY) {
        if (!c->below && c->at >= b->lower)
            return (struct kept){b->count, c->at};
        return (struct kept){0, zero_if_infinite(b->lower)};
    }
    bool from_zero = b->upper > 0 && b->upper != INFINITY; /* then it is taken to begin at 0 */
    if (c->below) {
        if (c->at >= b->upper)
            return (struct kept){b->count, 0};
        if (c->at > 0 && from_zero)
            return (struct kept){b->count * c->at / b->upper, c->at / 2};
        if (b->upper <= 0)
            return (struct kept){b->count, c->at};
    } else {
        if (c->at <= b->lower)
            return (struct kept){b->count, 0};
        if (c->at >= 0 && from_zero && b->upper > c->at)
            return (struct kept){b->count * (1 - c->at / b->upper), (c->at + b->upper) / 2};
    }
    return (struct kept){0, zero_if_infinite(b->upper)};
}

/* Of a bucket with `at` within. */
static struct kept cut_bucket(const struct histogram_bucket *b, const struct cut *c, bool positive)
{
    if (b->lower == -INFINITY || b->upper == INFINITY)
        return cut_infinite(b, c);
    double share;
    if (c->custom) {
        share = (c->at - b->lower) / (b->upper - b->lower);
    } else {
        double lower = log2(fabs(b->lower)), upper = log2(fabs(b->upper)), at = log2(fabs(c->at));
        share = positive ? (at - lower) / (upper - lower) : 1 - (at - upper) / (lower - upper);
    }
    double under = b->count * share;
    if (c->below)
        return (struct kept){under, middle_of(b->lower, c->at, positive, c->custom)};
    return (struct kept){b->count - under, middle_of(c->at, b->upper, positive, c->custom)};
}

static struct kept keep_of(const struct histogram_bucket *b, const struct cut *c, bool positive)
{
    bool all = c->below ? b->upper <= c->at : b->lower >= c->at;
    if (all)
        return (struct kept){b->count, middle_of(b->lower, b->upper, positive, c->custom), true};
    bool some = c->below ? b->lower < c->at : b->upper > c->at;
    return some ? cut_bucket(b, c, positive) : (struct kept){0, 0};
}

/* Of the zero bucket, which is on one side of zero when only that side has observations; linear. */
static struct kept keep_of_zero(const struct histogram *h, const struct cut *c, bool any_negative, bool any_positive)
{
    double lower = any_positive && !any_negative ? 0 : -h->zero_threshold;
    double upper = any_negative && !any_positive ? 0 : h->zero_threshold;
    bool all = c->below ? c->at >= upper : c->at <= lower, none = c->below ? c->at <= lower : c->at >= upper;
    if (c->below && none)
        return (struct kept){0, 0};
    if (all)
        return (struct kept){h->zero_count, (lower + upper) / 2};
    if (none)
        return (struct kept){0, 0};
    if (c->below)
        return (struct kept){h->zero_count * ((c->at - lower) / (upper - lower)), (lower + c->at) / 2};
    return (struct kept){h->zero_count * ((upper - c->at) / (upper - lower)), (c->at + upper) / 2};
}

/* Counts and sums what stays of both sides. */
struct tally {
    double count, sum;
    bool cut, any;
};

static void cut_side(const struct histogram *h, const struct cut *c, bool positive, struct tally *t,
                     struct side_builder *to)
{
    struct side_builder b = *to;
    int32_t index;
    double count;
    struct histogram_walk w = walk_begin(positive ? &h->positive : &h->negative);
    t->any = false;
    while (walk_next(&w, &index, &count)) {
        if (count == 0)
            continue;
        struct histogram_bucket whole = histogram_bucket_of(h, positive, index, count);
        struct kept k = keep_of(&whole, c, positive);
        t->any = true;
        t->cut |= !k.all && k.count != count;
        t->count += k.count;
        t->sum += k.middle * k.count;
        if (k.count != 0)
            side_add(&b, index, k.count, false);
    }
    *to = b;
}

const struct histogram *histogram_trim(const struct histogram *h, double at, bool keep_below, struct arena *to)
{
    const struct cut c = {.at = at, .below = keep_below, .custom = histogram_is_custom(h)};
    struct side_builder positive = {0}, negative = {0};
    struct tally t = {0};
    struct kept zero = {0, 0};
    cut_side(h, &c, true, &t, &positive);
    bool any_positive = t.any;
    cut_side(h, &c, false, &t, &negative);
    if (h->zero_count > 0) {
        zero = keep_of_zero(h, &c, t.any, any_positive);
        if (zero.count != h->zero_count)
            t.cut = true;
        t.sum += zero.middle * zero.count;
        t.count += zero.count;
    }
    if (!t.cut)
        return h;
    struct histogram *ret = histogram_make(h, &positive, &negative, to);
    if (!ret)
        return NULL;
    ret->count = t.count;
    ret->sum = t.sum;
    ret->zero_count = zero.count;
    cut_side(h, &c, true, &t, &positive);
    cut_side(h, &c, false, &t, &negative);
    return ret;
}
