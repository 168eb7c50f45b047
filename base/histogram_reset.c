/* Whether a counter was reset between two histograms (Prometheus' DetectReset): no allocation, one pass over both. */
#include "base/histogram_work.h"

/* The buckets of a side from where its bound passes `from` (all of them when that is 0). */
struct outer_walk {
    struct bucket_feed feed;
    int32_t schema; /* of what it gives */
    double from;
    bool any;
    int32_t index;
    struct compensated count;
};

static bool outer_next(struct outer_walk *w)
{
    w->any = feed_next(&w->feed, &w->index, &w->count);
    while (w->any && w->from != 0 && histogram_bound_exponential(w->index, w->schema) <= w->from)
        w->any = feed_next(&w->feed, &w->index, &w->count);
    w->from = 0; /* bounds rise: passed once, passed for good */
    return w->any;
}

/* The same buckets in both, and none within the zero bucket: then counts are compared as they stand. */
static bool same_layout(const struct histogram *now, const struct histogram_side *n, const struct histogram_side *b)
{
    if (n->counts_n == 0 || n->spans_n != b->spans_n || n->counts_n != b->counts_n ||
        memcmp(n->spans, b->spans, n->spans_n * sizeof(*n->spans)) != 0)
        return false;
    return now->zero_threshold == 0 ||
           (n->spans[0].length > 0 &&
            histogram_bound_exponential(n->spans[0].offset, now->schema) > now->zero_threshold);
}

/* A populated bucket is missing now, or holds fewer. */
static bool side_fell(const struct histogram *now, const struct histogram *before, bool positive)
{
    const struct histogram_side *ours = positive ? &now->positive : &now->negative;
    const struct histogram_side *theirs = positive ? &before->positive : &before->negative;
    int shift = before->schema - now->schema;
    if (shift == 0 && same_layout(now, ours, theirs)) {
        bool fell = false;
        for (uint32_t i = 0; i < ours->counts_n; i++)
            fell |= ours->counts[i] < theirs->counts[i];
        return fell;
    }
    struct outer_walk n = {.feed = feed_side(ours, 1, 0), .schema = now->schema, .from = now->zero_threshold};
    struct outer_walk b = {.feed = feed_side(theirs, 1, shift), .schema = now->schema, .from = now->zero_threshold};
    outer_next(&n);
    while (outer_next(&b)) {
        while (n.any && n.index < b.index)
            outer_next(&n);
        if (n.any && n.index == b.index ? n.count.v < b.count.v : b.count.v != 0)
            return true;
    }
    return false;
}

/* The sum of the buckets from where the walk is whose upper bound is at most `bound`. */
static double sum_up_to(const struct histogram *h, struct outer_walk *w, double bound)
{
    double sum = 0;
    for (; w->any && histogram_bound(h, w->index) <= bound; outer_next(w))
        sum += w->count.v;
    return sum;
}

/* Custom buckets of different bounds: compared between the bounds that both have. */
static bool custom_fell(const struct histogram *now, const struct histogram *before)
{
    struct outer_walk n = {.feed = feed_side(&now->positive, 1, 0)}, b = {.feed = feed_side(&before->positive, 1, 0)};
    outer_next(&n);
    outer_next(&b);
    for (uint32_t i = 0, j = 0; i <= now->custom_n && j <= before->custom_n;) {
        double x = histogram_bound(now, (int32_t)i), y = histogram_bound(before, (int32_t)j);
        if (x == y && sum_up_to(now, &n, x) < sum_up_to(before, &b, x))
            return true;
        i += x <= y;
        j += y <= x;
    }
    return false;
}

bool histogram_was_reset(const struct histogram *now, const struct histogram *before)
{
    if (now->reset == HISTOGRAM_RESET_YES || now->reset == HISTOGRAM_RESET_NO)
        return now->reset == HISTOGRAM_RESET_YES;
    if (now->count < before->count)
        return true;
    if (histogram_is_custom(now)) {
        if (!histogram_is_custom(before))
            return true;
        if (!custom_equal(now->custom, now->custom_n, before->custom, before->custom_n))
            return custom_fell(now, before);
    } else {
        /* Neither the resolution nor the zero bucket's sharpness grows without a new start. */
        if (now->schema > before->schema || now->zero_threshold < before->zero_threshold)
            return true;
        double threshold = now->zero_threshold;
        struct compensated zero = {before->zero_count, 0};
        if (threshold != before->zero_threshold) {
            struct bucket_feed positive = feed_side(&before->positive, 1, 0),
                               negative = feed_side(&before->negative, 1, 0);
            zero_count_at(before->schema, &positive, &negative, &threshold, &zero);
        }
        if (threshold != now->zero_threshold || now->zero_count < zero.v)
            return true;
    }
    return side_fell(now, before, true) || side_fell(now, before, false);
}
