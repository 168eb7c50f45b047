/* Adding a histogram to one taken apart: zero buckets, schemas, bounds. What is added where, and in which order, is as
 * in Prometheus' Add, Sub and KahanAdd. */
#include <math.h>

#include "base/arena.h"
#include "base/histogram_work.h"

/* ---- The zero bucket ---- */

void zero_count_at(int32_t schema, const struct bucket_feed *positive, const struct bucket_feed *negative,
                   double *threshold, struct compensated *zero)
{
    const double before = zero->v;
    const struct bucket_feed *const sides[2] = {positive, negative};
    for (int side = 0; side < 2;) {
        struct bucket_feed feed = *sides[side];
        int32_t index;
        struct compensated count;
        bool redo = false;
        while (feed_next(&feed, &index, &count) && histogram_bound_exponential(index - 1, schema) < *threshold) {
            double upper = histogram_bound_exponential(index, schema);
            compensated_add(zero, count.v);
            compensated_add(zero, count.rest);
            if (upper <= *threshold)
                continue;
            if (count.v != 0) {
                /* Wider than was asked: what the other side has inside is to be counted again. */
                redo = side == 1;
                *threshold = upper;
            }
            break;
        }
        if (redo)
            zero->v = before;
        side = redo ? 0 : side + 1;
    }
}

/* Takes away what is in the zero bucket now, and empty buckets with it. */
static void cut_run(struct bucket_run *r, int32_t schema, double threshold)
{
    uint32_t n = r->n;
    r->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (r->count[i] != 0 && histogram_bound_exponential(r->index[i] - 1, schema) >= threshold)
            run_put(r, r->index[i], (struct compensated){r->count[i], r->rest[i]}, false);
}

/* Makes the zero bucket of `w` as wide as it takes for both; returns the zero count of `h` in it. */
static double reconcile_zero(struct histogram_work *w, const struct histogram *h, double divisor)
{
    struct compensated zero = {h->zero_count / divisor, 0};
    double threshold = h->zero_threshold;
    while (threshold < w->zero_threshold || threshold > w->zero_threshold) {
        struct bucket_feed positive = feed_side(&h->positive, divisor, 0),
                           negative = feed_side(&h->negative, divisor, 0);
        if (w->zero_threshold > threshold) {
            threshold = w->zero_threshold;
            zero = (struct compensated){h->zero_count / divisor, 0};
            zero_count_at(h->schema, &positive, &negative, &threshold, &zero);
        }
        if (threshold > w->zero_threshold) {
            positive = feed_run(&w->positive, 0);
            negative = feed_run(&w->negative, 0);
            w->zero_threshold = threshold;
            zero_count_at(w->schema, &positive, &negative, &w->zero_threshold, &w->zero_count);
            if (!w->keep_rests)
                w->zero_count.rest = 0;
            cut_run(&w->positive, w->schema, w->zero_threshold);
            cut_run(&w->negative, w->schema, w->zero_threshold);
        }
    }
    return zero.v;
}

/* ---- Adding ---- */

struct addend {
    const struct histogram_side *side;
    double divisor;
    int shift; /* its schema less that of the work */
    bool negative;
};

/* One bucket that both have, or that the addend brings in. */
static inline void add_count(struct compensated *to, struct compensated count, bool keep_rests)
{
    compensated_add(to, count.v);
    if (!keep_rests)
        to->rest = 0;
    else if (count.rest != 0)
        compensated_add(to, count.rest);
}

/* The buckets of both are the same: the common case, for samples of one series and for series of one program. */
static bool same_places(const struct bucket_run *r, const struct histogram_side *side)
{
    int32_t index = 0;
    uint32_t at = 0;
    if (r->n != side->counts_n)
        return false;
    for (uint32_t i = 0; i < side->spans_n; i++) {
        uint32_t length = side->spans[i].length;
        index += side->spans[i].offset;
        /* Indices rise, so those between are the same when the first and the last are. */
        if (length > 0 && (r->index[at] != index || r->index[at + length - 1] != index + (int32_t)(length - 1)))
            return false;
        at += length;
        index += (int32_t)length;
    }
    return true;
}

/* `factor` is 1 or -1. */
static void add_in_place(double *restrict count, double *restrict rest, const double *restrict addend, uint32_t n,
                         double factor, double divisor, bool keep_rests)
{
    if (!keep_rests) {
        for (uint32_t i = 0; i < n; i++)
            count[i] += factor * (addend[i] / divisor);
        return;
    }
    /* compensated_add, without branches. */
    for (uint32_t i = 0; i < n; i++) {
        double a = count[i], b = factor * (addend[i] / divisor), sum = a + b;
        double of_b = (a - sum) + b, of_a = (b - sum) + a;
        double lost = rest[i] + (fabs(a) >= fabs(b) ? of_b : of_a);
        count[i] = sum;
        rest[i] = fabs(sum) == INFINITY ? 0 : lost;
    }
}

static void add_side(struct histogram_work *w, struct bucket_run *r, const struct addend *b)
{
    bool exponential = w->schema != HISTOGRAM_SCHEMA_CUSTOM, joined = false;
    if (b->shift == 0 && same_places(r, b->side)) {
        uint32_t i = 0;
        while (exponential && i < r->n && histogram_bound_exponential(r->index[i], w->schema) <= w->zero_threshold)
            i++;
        if (i < r->n) /* without buckets there are no arrays */
            add_in_place(r->count + i, r->rest + i, b->side->counts + i, r->n - i, b->negative ? -1 : 1, b->divisor,
                         w->keep_rests);
        return;
    }
    if (!run_reserve(w, &w->spare, (uint64_t)r->n + b->side->counts_n))
        return;
    struct bucket_run *to = &w->spare;
    to->n = 0;
    struct bucket_feed feed = feed_side(b->side, b->divisor, b->shift);
    int32_t index = 0;
    struct compensated count = {0};
    /* Buckets within the zero bucket are in its count already. */
    bool more = feed_next(&feed, &index, &count);
    while (exponential && more && histogram_bound_exponential(index, w->schema) <= w->zero_threshold)
        more = feed_next(&feed, &index, &count);
    for (uint32_t i = 0; i < r->n || more;) {
        if (b->negative) {
            count.v = -count.v;
            count.rest = -count.rest;
        }
        /* All of ours before the addend's bucket. */
        for (; i < r->n && (!more || r->index[i] < index); i++, joined = false)
            run_put(to, r->index[i], (struct compensated){r->count[i], r->rest[i]}, r->apart[i] && !joined);
        if (!more)
            break;
        if (i < r->n && r->index[i] == index) {
            struct compensated sum = {r->count[i], r->rest[i]};
            add_count(&sum, count, w->keep_rests);
            run_put(to, index, sum, r->apart[i] && !joined);
            i++;
            joined = false;
        } else {
            /* A new one makes the span before it longer, else the one after it, else a span of its own. */
            bool extends = to->n > 0 && to->index[to->n - 1] == index - 1;
            if (!w->keep_rests)
                count.rest = 0;
            run_put(to, index, count, !extends);
            joined = !extends && i < r->n && r->index[i] == index + 1;
        }
        more = feed_next(&feed, &index, &count);
    }
    run_take_spare(w, r);
}

/* Keeps the bounds that both have, in place. */
static uint32_t intersect(double *a, uint32_t a_n, const double *b, uint32_t b_n)
{
    uint32_t n = 0;
    for (uint32_t i = 0, j = 0; i < a_n && j < b_n;) {
        if (a[i] == b[j]) {
            a[n++] = a[i++];
            j++;
        } else if (a[i] < b[j]) {
            i++;
        } else {
            j++;
        }
    }
    return n;
}

/* Adds each bucket to the one of `bounds` that holds its upper bound. */
static void map_buckets(struct bucket_run *to, const double *bounds, uint32_t bounds_n, struct bucket_feed *feed,
                        const double *own, uint32_t own_n, bool negative)
{
    int32_t index;
    struct compensated count;
    uint32_t at = 0;
    while (feed_next(feed, &index, &count)) {
        uint32_t i = bounds_n; /* the one up to +Inf */
        if ((uint32_t)index < own_n) {
            while (at < bounds_n && bounds[at] < own[index])
                at++;
            i = at;
        }
        struct compensated sum = {to->count[i], to->rest[i]};
        compensated_add(&sum, negative ? -count.v : count.v);
        if (count.rest != 0)
            compensated_add(&sum, count.rest);
        to->count[i] = sum.v;
        to->rest[i] = sum.rest;
    }
}

static void add_remapped(struct histogram_work *w, const struct histogram *h, double divisor, bool negative)
{
    /* The bounds so far are wanted until the buckets are mapped, so the common ones begin as a copy behind them. */
    double *grown = arena_grow(w->arena, w->custom, &w->custom_cap, (size_t)w->custom_n * 2 + 1, sizeof(double));
    if (!grown || !run_reserve(w, &w->spare, (uint64_t)w->custom_n + 1)) {
        w->failed = true;
        return;
    }
    w->custom = grown;
    double *common = grown + w->custom_n;
    if (w->custom_n > 0)
        memcpy(common, grown, w->custom_n * sizeof(double));
    uint32_t n = intersect(common, w->custom_n, h->custom, h->custom_n);
    struct bucket_run *to = &w->spare;
    for (uint32_t i = 0; i <= n; i++)
        to->count[i] = to->rest[i] = 0;
    struct bucket_feed ours = feed_run(&w->positive, 0), theirs = feed_side(&h->positive, divisor, 0);
    map_buckets(to, common, n, &ours, w->custom, w->custom_n, false);
    map_buckets(to, common, n, &theirs, h->custom, h->custom_n, negative);
    to->n = 0;
    for (uint32_t i = 0; i <= n; i++) {
        struct compensated count = {to->count[i], to->rest[i]};
        if (count.v == 0 && count.rest == 0)
            continue;
        if (!w->keep_rests)
            count.rest = 0;
        run_put(to, (int32_t)i, count, false);
    }
    run_take_spare(w, &w->positive);
    memmove(w->custom, common, n * sizeof(double));
    w->custom_n = n;
}

/* The hint of a sum: gauge wins, then unknown; a reset that meets none is unknown and said. */
static bool reset_of_sum(enum histogram_reset *a, enum histogram_reset b)
{
    bool conflict = false;
    if (*a == b || *a == HISTOGRAM_GAUGE)
        return false;
    if (b == HISTOGRAM_GAUGE) {
        *a = HISTOGRAM_GAUGE;
        return false;
    }
    conflict = *a != HISTOGRAM_RESET_UNKNOWN && b != HISTOGRAM_RESET_UNKNOWN;
    *a = HISTOGRAM_RESET_UNKNOWN;
    return conflict;
}

unsigned work_add(struct histogram_work *w, const struct histogram *h, double divisor, bool negative)
{
    bool custom = w->schema == HISTOGRAM_SCHEMA_CUSTOM;
    if (custom != histogram_is_custom(h))
        return WORK_INCOMPATIBLE;
    unsigned met = reset_of_sum(&w->reset, h->reset) ? WORK_RESETS_CONFLICT : 0;
    double sign = negative ? -1 : 1;
    if (!custom) {
        double zero = reconcile_zero(w, h, divisor);
        add_count(&w->zero_count, (struct compensated){sign * zero, 0}, w->keep_rests);
    }
    add_count(&w->count, (struct compensated){sign * (h->count / divisor), 0}, w->keep_rests);
    add_count(&w->sum, (struct compensated){sign * (h->sum / divisor), 0}, w->keep_rests);
    if (custom && !custom_equal(w->custom, w->custom_n, h->custom, h->custom_n)) {
        add_remapped(w, h, divisor, negative);
        return met | WORK_BOUNDS_RECONCILED;
    }
    if (h->schema < w->schema)
        work_reduce(w, h->schema);
    struct addend b = {.divisor = divisor, .shift = h->schema - w->schema, .negative = negative};
    b.side = &h->positive;
    add_side(w, &w->positive, &b);
    b.side = &h->negative;
    add_side(w, &w->negative, &b);
    return met;
}
