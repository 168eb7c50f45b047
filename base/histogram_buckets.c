/* Walking over buckets, and a histogram's text. */
#include <math.h>

#include "base/float_text.h"
#include "base/histogram_parts.h"

struct histogram_walk walk_begin_last(const struct histogram_side *side)
{
    struct histogram_walk w = {.side = side, .span = side->spans_n, .bucket = side->counts_n};
    for (uint32_t i = 0; i < side->spans_n; i++)
        w.index += side->spans[i].offset + (int32_t)side->spans[i].length;
    return w;
}

bool walk_before(struct histogram_walk *w, int32_t *index, double *count)
{
    while (w->in_span == 0) {
        if (w->span == 0)
            return false;
        if (w->span < w->side->spans_n)
            w->index -= w->side->spans[w->span].offset;
        w->in_span = w->side->spans[--w->span].length;
    }
    w->in_span--;
    *index = --w->index;
    *count = w->side->counts[--w->bucket];
    return true;
}

struct histogram_bucket histogram_bucket_of(const struct histogram *h, bool positive, int32_t index, double count)
{
    struct histogram_bucket b = {.count = count};
    double outer = histogram_bound(h, index), inner = histogram_bound(h, index - 1);
    b.lower = positive ? inner : -outer;
    b.upper = positive ? outer : -inner;
    if (histogram_is_custom(h))
        b.rule = index == 0 ? HISTOGRAM_BOTH_IN : HISTOGRAM_UPPER_IN;
    else if (b.lower < 0)
        b.rule = b.upper > 0 ? HISTOGRAM_BOTH_IN : HISTOGRAM_LOWER_IN;
    else
        b.rule = b.upper > 0 ? HISTOGRAM_UPPER_IN : HISTOGRAM_NONE_IN;
    return b;
}

static struct histogram_bucket zero_bucket(const struct histogram *h)
{
    return (struct histogram_bucket){-h->zero_threshold, h->zero_threshold, h->zero_count, HISTOGRAM_BOTH_IN};
}

enum part { PART_TO_ZERO = 0, PART_ZERO, PART_FROM_ZERO, PART_END };

void histogram_buckets_begin(struct histogram_buckets *it, const struct histogram *h, bool falling)
{
    *it = (struct histogram_buckets){
        .h = h, .falling = falling, .walk = walk_begin_last(falling ? &h->positive : &h->negative)};
}

bool histogram_buckets_next(struct histogram_buckets *it, struct histogram_bucket *ret)
{
    const struct histogram *h = it->h;
    int32_t index = 0;
    double count = 0;
    bool positive = it->falling;
    if (it->part == PART_TO_ZERO && !walk_before(&it->walk, &index, &count))
        it->part = PART_ZERO;
    if (it->part == PART_ZERO) {
        it->part = PART_FROM_ZERO;
        it->walk = walk_begin(it->falling ? &h->negative : &h->positive);
        if (h->zero_count > 0) {
            *ret = zero_bucket(h);
            return true;
        }
    }
    if (it->part == PART_FROM_ZERO) {
        positive = !positive;
        if (!walk_next(&it->walk, &index, &count))
            it->part = PART_END;
    }
    if (it->part == PART_END)
        return false;
    *ret = histogram_bucket_of(h, positive, index, count);
    /* A bucket that the zero bucket reaches into begins where that ends. */
    if (ret->upper < 0 && ret->upper > -h->zero_threshold)
        ret->upper = -h->zero_threshold;
    else if (ret->lower > 0 && ret->lower < h->zero_threshold)
        ret->lower = h->zero_threshold;
    return true;
}

static void add_float(struct strbuf *out, const char *before, double v)
{
    char text[FLOAT_TEXT_MAX];
    int n = float_format_e(v, text);
    strbuf_add_z(out, before);
    strbuf_add(out, text, (size_t)n);
}

static void add_bucket(struct strbuf *out, const struct histogram_bucket *b)
{
    if (b->count == 0)
        return;
    add_float(out, b->rule & HISTOGRAM_LOWER_IN ? ", [" : ", (", b->lower);
    add_float(out, ",", b->upper);
    add_float(out, b->rule == HISTOGRAM_UPPER_IN || b->rule == HISTOGRAM_BOTH_IN ? "]:" : "):", b->count);
}

void histogram_text(const struct histogram *h, struct strbuf *out)
{
    int32_t index;
    double count;
    struct histogram_bucket b;
    add_float(out, "{count:", h->count);
    add_float(out, ", sum:", h->sum);
    struct histogram_walk w = walk_begin_last(&h->negative);
    while (walk_before(&w, &index, &count)) {
        b = histogram_bucket_of(h, false, index, count);
        add_bucket(out, &b);
    }
    b = zero_bucket(h);
    add_bucket(out, &b);
    w = walk_begin(&h->positive);
    while (walk_next(&w, &index, &count)) {
        b = histogram_bucket_of(h, true, index, count);
        add_bucket(out, &b);
    }
    strbuf_add_char(out, '}');
}
