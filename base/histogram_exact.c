#include "base/histogram_exact.h"

#include <math.h>

#include "base/bytes.h"

/* ---- soundness ---- */

/* Bounds on what spans describe; gaps before and between are never negative, but the first offset of exponential
 * buckets may be. */
static const char *spans_fault(const struct histogram_exact_side *s, bool custom, int64_t *ret_end)
{
    uint64_t buckets_n = 0;
    int64_t index = 0;
    if (s->counts_n > HISTOGRAM_BUCKETS_MAX || s->spans_n > HISTOGRAM_BUCKETS_MAX)
        return "invalid histogram: more buckets or spans than the limit";
    for (uint32_t i = 0; i < s->spans_n; i++) {
        if (s->spans[i].offset < 0 && (i > 0 || custom))
            return "invalid histogram: a span has a negative offset";
        index += (int64_t)s->spans[i].offset + s->spans[i].length;
        buckets_n += s->spans[i].length;
        if (index > HISTOGRAM_INDEX_MAX || index - s->spans[i].length < -HISTOGRAM_INDEX_MAX)
            return "invalid histogram: a bucket's index is out of range";
    }
    *ret_end = index;
    return buckets_n == s->counts_n ? NULL : "invalid histogram: spans and buckets differ in number";
}

static double as_double(uint64_t bits)
{
    return load_f64(&bits);
}

static bool any_negative(const struct histogram_exact_side *s)
{
    for (uint32_t i = 0; i < s->counts_n; i++)
        if (as_double(s->counts[i]) < 0)
            return true;
    return false;
}

static bool add_counts(const struct histogram_exact_side *s, uint64_t *total)
{
    for (uint32_t i = 0; i < s->counts_n; i++)
        if (__builtin_add_overflow(*total, s->counts[i], total))
            return false;
    return true;
}

static const char *counts_fault(const struct histogram_exact *h)
{
    if (h->floats) {
        bool negative = as_double(h->count) < 0 || as_double(h->zero_count) < 0 || any_negative(&h->positive) ||
                        any_negative(&h->negative);
        return negative ? "invalid histogram: a count is negative" : NULL;
    }
    uint64_t total = h->zero_count;
    bool fits = add_counts(&h->negative, &total) && add_counts(&h->positive, &total);
    if (isnan(h->sum) ? fits && total <= h->count : fits && total == h->count)
        return NULL;
    return "invalid histogram: the buckets' counts do not add up to the count";
}

static const char *custom_fault(const struct histogram_exact *h, int64_t end)
{
    double before = -INFINITY;
    if (h->custom_n > HISTOGRAM_BUCKETS_MAX)
        return "invalid histogram: more custom bounds than the limit";
    for (uint32_t i = 0; i < h->custom_n; i++) {
        if (!(h->custom[i] > before))
            return "invalid histogram: custom bounds do not rise";
        before = h->custom[i];
    }
    if (h->custom_n && isinf(before))
        return "invalid histogram: the last custom bound, +Inf, is not to be given";
    if (end > (int64_t)h->custom_n + 1)
        return "invalid histogram: more custom buckets than bounds";
    bool zero = h->floats ? as_double(h->zero_count) == 0 : h->zero_count == 0;
    if (!zero || h->zero_threshold != 0)
        return "invalid histogram: custom buckets have no zero bucket";
    return h->negative.spans_n || h->negative.counts_n ? "invalid histogram: custom buckets have no negative side"
                                                       : NULL;
}

const char *histogram_exact_fault(const struct histogram_exact *h)
{
    bool custom = h->schema == HISTOGRAM_SCHEMA_CUSTOM;
    int64_t end = 0, ignored;
    if (!custom && (h->schema < HISTOGRAM_SCHEMA_MIN || h->schema > HISTOGRAM_SCHEMA_MAX))
        return "invalid histogram: unknown schema";
    const char *fault = spans_fault(&h->positive, custom, &end);
    if (!fault)
        fault = spans_fault(&h->negative, false, &ignored);
    if (!fault && custom)
        fault = custom_fault(h, end);
    else if (!fault && h->custom_n)
        fault = "invalid histogram: exponential buckets have no custom bounds";
    if (!fault && !(h->zero_threshold >= 0))
        fault = "invalid histogram: the zero threshold is negative or no number";
    return fault ? fault : counts_fault(h);
}

/* ---- equality ---- */

/* The next bucket of a side: its index, and its place among the counts. */
struct bucket_walk {
    const struct histogram_exact_side *side;
    uint32_t span, in_span, at;
    int64_t index;
};

static bool next_bucket(struct bucket_walk *w)
{
    const struct histogram_exact_side *s = w->side;
    while (w->span < s->spans_n && w->in_span == s->spans[w->span].length) {
        w->span++;
        w->in_span = 0;
        if (w->span < s->spans_n)
            w->index += s->spans[w->span].offset;
    }
    return w->span < s->spans_n && w->at < s->counts_n;
}

static struct bucket_walk walk_over(const struct histogram_exact_side *s)
{
    return (struct bucket_walk){.side = s, .index = s->spans_n ? s->spans[0].offset : 0};
}

static bool sides_eq(const struct histogram_exact_side *a, const struct histogram_exact_side *b)
{
    struct bucket_walk x = walk_over(a), y = walk_over(b);
    if (a->counts_n != b->counts_n)
        return false;
    while (next_bucket(&x)) {
        if (!next_bucket(&y) || x.index != y.index || a->counts[x.at] != b->counts[y.at])
            return false;
        x.in_span++, x.at++, x.index++;
        y.in_span++, y.at++, y.index++;
    }
    return !next_bucket(&y);
}

static bool same_bits(double a, double b)
{
    return load_u64(&a) == load_u64(&b);
}

bool histogram_exact_eq(const struct histogram_exact *a, const struct histogram_exact *b)
{
    if (a->schema != b->schema || a->floats != b->floats || a->count != b->count || a->zero_count != b->zero_count ||
        a->custom_n != b->custom_n || !same_bits(a->sum, b->sum) || a->zero_threshold != b->zero_threshold)
        return false;
    for (uint32_t i = 0; i < a->custom_n; i++)
        if (!same_bits(a->custom[i], b->custom[i]))
            return false;
    return sides_eq(&a->negative, &b->negative) && sides_eq(&a->positive, &b->positive);
}

/* ---- for evaluation ---- */

static double count_of(const struct histogram_exact *h, uint64_t count)
{
    return h->floats ? as_double(count) : (double)count;
}

static const double *counts_of(const struct histogram_exact *h, const struct histogram_exact_side *s, double *room)
{
    for (uint32_t i = 0; i < s->counts_n; i++)
        room[i] = count_of(h, s->counts[i]);
    return room;
}

struct histogram *histogram_of_exact(const struct histogram_exact *h, struct arena *a)
{
    const struct histogram_exact_side *n = &h->negative, *p = &h->positive;
    struct histogram *ret = arena_alloc(a, sizeof *ret + ((size_t)n->counts_n + p->counts_n) * sizeof(double));
    if (!ret)
        return NULL;
    double *counts = (double *)(ret + 1);
    *ret = (struct histogram){.schema = h->schema,
                              .reset = h->reset,
                              .zero_threshold = h->zero_threshold,
                              .zero_count = count_of(h, h->zero_count),
                              .count = count_of(h, h->count),
                              .sum = h->sum,
                              .negative = {n->spans, counts_of(h, n, counts), n->spans_n, n->counts_n},
                              .positive = {p->spans, counts_of(h, p, counts + n->counts_n), p->spans_n, p->counts_n},
                              .custom = h->custom,
                              .custom_n = h->custom_n};
    return ret;
}
