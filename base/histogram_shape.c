/* The shape of histograms: copies, compacting, equality. */
#include "base/arena.h"
#include "base/histogram_parts.h"

/* ---- Copies ---- */

static void *take(uint8_t **at, size_t bytes)
{
    void *p = *at;
    *at += bytes;
    return p;
}

struct histogram *histogram_make(const struct histogram *shape, struct side_builder *positive,
                                 struct side_builder *negative, struct arena *to)
{
    struct side_builder *const sides[2] = {positive, negative};
    uint32_t custom_n = histogram_is_custom(shape) ? shape->custom_n : 0;
    size_t bytes = sizeof(struct histogram) + custom_n * sizeof(double);
    for (int i = 0; i < 2; i++)
        bytes += sides[i]->spans_n * sizeof(struct histogram_span) + sides[i]->counts_n * sizeof(double);
    uint8_t *at = arena_alloc(to, bytes);
    if (!at)
        return NULL;
    struct histogram *h = take(&at, sizeof(*h));
    *h = *shape;
    double *custom = take(&at, custom_n * sizeof(double));
    if (custom_n > 0)
        memcpy(custom, shape->custom, custom_n * sizeof(double));
    h->custom = custom_n > 0 ? custom : NULL;
    h->custom_n = custom_n;
    for (int i = 0; i < 2; i++) {
        struct histogram_side *side = i == 0 ? &h->positive : &h->negative;
        struct side_builder *b = sides[i];
        struct histogram_span *spans = take(&at, b->spans_n * sizeof(*spans));
        double *counts = take(&at, b->counts_n * sizeof(double));
        *side = (struct histogram_side){spans, counts, b->spans_n, b->counts_n};
        *b = (struct side_builder){.spans = spans, .counts = counts};
    }
    return h;
}

struct histogram *histogram_copy(const struct histogram *h, struct arena *a)
{
    struct side_builder positive = {.spans_n = h->positive.spans_n, .counts_n = h->positive.counts_n};
    struct side_builder negative = {.spans_n = h->negative.spans_n, .counts_n = h->negative.counts_n};
    struct histogram *copy = histogram_make(h, &positive, &negative, a);
    if (!copy)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const struct histogram_side *from = i == 0 ? &h->positive : &h->negative;
        struct side_builder *to = i == 0 ? &positive : &negative;
        if (from->spans_n > 0)
            memcpy(to->spans, from->spans, from->spans_n * sizeof(*from->spans));
        if (from->counts_n > 0)
            memcpy(to->counts, from->counts, from->counts_n * sizeof(*from->counts));
    }
    return copy;
}

const struct histogram *histogram_with_reset(const struct histogram *h, enum histogram_reset reset, struct arena *a)
{
    struct histogram *copy = arena_dup(a, h, sizeof(*h));
    if (copy)
        copy->reset = reset;
    return copy;
}

/* ---- Fewer buckets ---- */

static bool side_is_compact(const struct histogram_side *side)
{
    for (uint32_t i = 0; i < side->spans_n; i++)
        if (side->spans[i].length == 0 || (i > 0 && side->spans[i].offset == 0))
            return false;
    for (uint32_t i = 0; i < side->counts_n; i++)
        if (side->counts[i] == 0)
            return false;
    return true;
}

static void compact_side(const struct histogram_side *side, struct side_builder *to)
{
    struct side_builder b = *to;
    int32_t index;
    double count;
    struct histogram_walk w = walk_begin(side);
    while (walk_next(&w, &index, &count))
        if (count != 0)
            side_add(&b, index, count, false);
    *to = b;
}

const struct histogram *histogram_compact(const struct histogram *h, struct arena *a)
{
    if (side_is_compact(&h->positive) && side_is_compact(&h->negative))
        return h;
    struct side_builder positive = {0}, negative = {0};
    compact_side(&h->positive, &positive);
    compact_side(&h->negative, &negative);
    struct histogram *ret = histogram_make(h, &positive, &negative, a);
    if (ret) {
        compact_side(&h->positive, &positive);
        compact_side(&h->negative, &negative);
    }
    return ret;
}

/* ---- Comparing ---- */

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* The next span that holds buckets, with the offsets of the empty ones before it; length 0 at the end. */
static struct histogram_span next_span(const struct histogram_side *side, uint32_t *i)
{
    struct histogram_span ret = {0, 0};
    while (*i < side->spans_n && ret.length == 0) {
        ret.offset += side->spans[*i].offset;
        ret.length = side->spans[(*i)++].length;
    }
    return ret;
}

static bool side_equal(const struct histogram_side *a, const struct histogram_side *b)
{
    if (a->counts_n != b->counts_n)
        return false;
    for (uint32_t i = 0, j = 0;;) {
        struct histogram_span s = next_span(a, &i), t = next_span(b, &j);
        if (s.length == 0 && t.length == 0)
            break;
        if (s.offset != t.offset || s.length != t.length)
            return false;
    }
    return a->counts_n == 0 || memcmp(a->counts, b->counts, a->counts_n * sizeof(*a->counts)) == 0;
}

bool custom_equal(const double *a, uint32_t a_n, const double *b, uint32_t b_n)
{
    if (a_n != b_n)
        return false;
    for (uint32_t i = 0; i < a_n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

bool histogram_equal(const struct histogram *a, const struct histogram *b)
{
    return a->schema == b->schema && same_bits(a->count, b->count) && same_bits(a->sum, b->sum) &&
           (!histogram_is_custom(a) || custom_equal(a->custom, a->custom_n, b->custom, b->custom_n)) &&
           a->zero_threshold == b->zero_threshold && same_bits(a->zero_count, b->zero_count) &&
           side_equal(&a->negative, &b->negative) && side_equal(&a->positive, &b->positive);
}
