/* Histograms taken apart: loading, adding, storing. See the header; what is added where is Prometheus' KahanAdd. */
#include "base/histogram_work.h"

#include <math.h>

#include "base/arena.h"

/* ---- Runs ---- */

static bool run_reserve(struct histogram_work *w, struct bucket_run *r, uint64_t need)
{
    if (need <= r->cap)
        return true;
    uint64_t cap = r->cap < 16 ? 16 : 2 * (uint64_t)r->cap;
    if (cap < need)
        cap = need;
    int32_t *index = cap > UINT32_MAX ? NULL : arena_alloc_n(w->arena, cap, sizeof(*index));
    struct compensated *count = index ? arena_alloc_n(w->arena, cap, sizeof(*count)) : NULL;
    bool *apart = count ? arena_alloc_n(w->arena, cap, sizeof(*apart)) : NULL;
    if (!apart) {
        w->failed = true;
        return false;
    }
    *r = (struct bucket_run){index, count, apart, 0, (uint32_t)cap}; /* what it held is not kept */
    return true;
}

static inline void run_put(struct bucket_run *r, int32_t index, struct compensated count, bool apart)
{
    r->index[r->n] = index;
    r->count[r->n] = count;
    r->apart[r->n++] = apart;
}

/* `r` becomes what was put into the spare run, and lends its memory for the next time. */
static void run_take_spare(struct histogram_work *w, struct bucket_run *r)
{
    struct bucket_run old = *r;
    *r = w->spare;
    w->spare = old;
    w->spare.n = 0;
}

bool feed_next(struct bucket_feed *f, int32_t *index, struct compensated *count)
{
    if (f->run) {
        if (f->at == f->run->n)
            return false;
        *index = f->run->index[f->at];
        *count = f->run->count[f->at++];
        return true;
    }
    count->rest = 0;
    if (!walk_next(&f->walk, index, &count->v))
        return false;
    count->v /= f->divisor;
    return true;
}

/* As feed_next, in the buckets of a schema `shift` lower. `ahead` is the bucket already read: zero it at first. */
struct feed_ahead {
    bool any;
    int32_t index;
    struct compensated count;
};
static bool feed_next_reduced(struct bucket_feed *f, struct feed_ahead *ahead, int shift, int32_t *index,
                              struct compensated *count)
{
    if (shift == 0)
        return feed_next(f, index, count);
    if (!ahead->any) {
        if (!feed_next(f, &ahead->index, &ahead->count))
            return false;
        ahead->index = index_reduced(ahead->index, shift);
    }
    *index = ahead->index;
    *count = ahead->count;
    while ((ahead->any = feed_next(f, &ahead->index, &ahead->count))) {
        ahead->index = index_reduced(ahead->index, shift);
        if (ahead->index != *index)
            break;
        compensated_add(count, ahead->count.v);
        compensated_add(count, ahead->count.rest);
    }
    return true;
}

/* ---- Loading, scaling ---- */

void work_init(struct histogram_work *w, struct arena *a, bool keep_rests)
{
    *w = (struct histogram_work){.arena = a, .keep_rests = keep_rests};
}

static void load_side(struct histogram_work *w, struct bucket_run *r, const struct histogram_side *side)
{
    r->n = 0;
    if (!run_reserve(w, r, side->counts_n))
        return;
    int32_t index;
    double count;
    uint32_t span = UINT32_MAX;
    struct histogram_walk walk = walk_begin(side);
    while (walk_next(&walk, &index, &count)) {
        run_put(r, index, (struct compensated){count, 0}, walk.span != span);
        span = walk.span;
    }
}

static void reduce_run(struct histogram_work *w, struct bucket_run *r, int shift)
{
    struct bucket_feed feed = feed_run(r);
    struct feed_ahead ahead = {0};
    int32_t index;
    struct compensated count;
    if (shift == 0 || !run_reserve(w, &w->spare, r->n))
        return;
    w->spare.n = 0;
    while (feed_next_reduced(&feed, &ahead, shift, &index, &count)) {
        if (!w->keep_rests)
            count.rest = 0;
        run_put(&w->spare, index, count, false);
    }
    run_take_spare(w, r);
}

static void work_reduce(struct histogram_work *w, int32_t schema)
{
    reduce_run(w, &w->positive, w->schema - schema);
    reduce_run(w, &w->negative, w->schema - schema);
    w->schema = schema;
}

static void work_set_custom(struct histogram_work *w, const double *custom, uint32_t n)
{
    w->custom_n = 0;
    if (n == 0)
        return;
    double *grown = arena_grow(w->arena, w->custom, &w->custom_cap, n, sizeof(double));
    if (!grown) {
        w->failed = true;
        return;
    }
    memcpy(grown, custom, n * sizeof(double));
    w->custom = grown;
    w->custom_n = n;
}

void work_load(struct histogram_work *w, const struct histogram *h, int32_t schema)
{
    w->schema = h->schema;
    w->reset = h->reset;
    w->zero_threshold = h->zero_threshold;
    w->zero_count = (struct compensated){h->zero_count, 0};
    w->count = (struct compensated){h->count, 0};
    w->sum = (struct compensated){h->sum, 0};
    load_side(w, &w->positive, &h->positive);
    load_side(w, &w->negative, &h->negative);
    work_set_custom(w, h->custom, h->custom_n);
    if (schema != h->schema)
        work_reduce(w, schema);
}

static void copy_run(struct histogram_work *w, struct bucket_run *r, const struct bucket_run *from)
{
    r->n = 0;
    if (from->n == 0 || !run_reserve(w, r, from->n))
        return;
    memcpy(r->index, from->index, from->n * sizeof(*r->index));
    memcpy(r->count, from->count, from->n * sizeof(*r->count));
    memcpy(r->apart, from->apart, from->n * sizeof(*r->apart));
    r->n = from->n;
}

void work_copy(struct histogram_work *w, const struct histogram_work *from)
{
    w->schema = from->schema;
    w->reset = from->reset;
    w->zero_threshold = from->zero_threshold;
    w->zero_count = from->zero_count;
    w->count = from->count;
    w->sum = from->sum;
    copy_run(w, &w->positive, &from->positive);
    copy_run(w, &w->negative, &from->negative);
    work_set_custom(w, from->custom, from->custom_n);
}

static void scale(struct compensated *s, double factor, double divisor)
{
    s->v = s->v * factor / divisor;
    s->rest = s->rest * factor / divisor;
}

void work_scale(struct histogram_work *w, double factor, double divisor)
{
    scale(&w->zero_count, factor, divisor);
    scale(&w->count, factor, divisor);
    scale(&w->sum, factor, divisor);
    for (uint32_t i = 0; i < w->positive.n; i++)
        scale(&w->positive.count[i], factor, divisor);
    for (uint32_t i = 0; i < w->negative.n; i++)
        scale(&w->negative.count[i], factor, divisor);
}

bool work_overflows(const struct histogram_work *w)
{
    bool over = isinf(w->zero_count.v) || isinf(w->count.v) || isinf(w->sum.v);
    for (uint32_t i = 0; i < w->positive.n && !over; i++)
        over = isinf(w->positive.count[i].v);
    for (uint32_t i = 0; i < w->negative.n && !over; i++)
        over = isinf(w->negative.count[i].v);
    return over;
}

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
        if (r->count[i].v != 0 && histogram_bound_exponential(r->index[i] - 1, schema) >= threshold)
            run_put(r, r->index[i], r->count[i], false);
}

/* Makes the zero bucket of `w` as wide as it takes for both; returns the zero count of `h` in it. */
static double reconcile_zero(struct histogram_work *w, const struct histogram *h, double divisor)
{
    struct compensated zero = {h->zero_count / divisor, 0};
    double threshold = h->zero_threshold;
    while (threshold < w->zero_threshold || threshold > w->zero_threshold) {
        struct bucket_feed positive = feed_side(&h->positive, divisor), negative = feed_side(&h->negative, divisor);
        if (w->zero_threshold > threshold) {
            threshold = w->zero_threshold;
            zero = (struct compensated){h->zero_count / divisor, 0};
            zero_count_at(h->schema, &positive, &negative, &threshold, &zero);
        }
        if (threshold > w->zero_threshold) {
            positive = feed_run(&w->positive);
            negative = feed_run(&w->negative);
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

static void add_side(struct histogram_work *w, struct bucket_run *r, const struct addend *b)
{
    if (!run_reserve(w, &w->spare, (uint64_t)r->n + b->side->counts_n))
        return;
    struct bucket_run *to = &w->spare;
    to->n = 0;
    struct bucket_feed feed = feed_side(b->side, b->divisor);
    struct feed_ahead ahead = {0};
    int32_t index = 0;
    struct compensated count = {0};
    bool exponential = w->schema != HISTOGRAM_SCHEMA_CUSTOM, joined = false;
    /* Buckets within the zero bucket are in its count already. */
    bool more = feed_next_reduced(&feed, &ahead, b->shift, &index, &count);
    while (exponential && more && histogram_bound_exponential(index, w->schema) <= w->zero_threshold)
        more = feed_next_reduced(&feed, &ahead, b->shift, &index, &count);
    for (uint32_t i = 0; i < r->n || more;) {
        if (b->negative) {
            count.v = -count.v;
            count.rest = -count.rest;
        }
        /* All of ours before the addend's bucket. */
        for (; i < r->n && (!more || r->index[i] < index); i++, joined = false)
            run_put(to, r->index[i], r->count[i], r->apart[i] && !joined);
        if (!more)
            break;
        if (i < r->n && r->index[i] == index) {
            struct compensated sum = r->count[i];
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
        more = feed_next_reduced(&feed, &ahead, b->shift, &index, &count);
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
        compensated_add(&to->count[i], negative ? -count.v : count.v);
        if (count.rest != 0)
            compensated_add(&to->count[i], count.rest);
    }
}

static void add_remapped(struct histogram_work *w, const struct histogram *h, double divisor, bool negative)
{
    double *common = NULL;
    size_t cap = 0;
    /* The bounds so far are wanted until the buckets are mapped, so the common ones begin as a copy behind them. */
    double *grown = arena_grow(w->arena, w->custom, &w->custom_cap, (size_t)w->custom_n * 2 + 1, sizeof(double));
    if (!grown || !run_reserve(w, &w->spare, (uint64_t)w->custom_n + 1)) {
        w->failed = true;
        return;
    }
    w->custom = grown;
    common = w->custom + w->custom_n;
    cap = w->custom_n;
    if (cap > 0)
        memcpy(common, w->custom, cap * sizeof(double));
    uint32_t n = intersect(common, w->custom_n, h->custom, h->custom_n);
    struct bucket_run *to = &w->spare;
    for (uint32_t i = 0; i <= n; i++)
        to->count[i] = (struct compensated){0, 0};
    struct bucket_feed ours = feed_run(&w->positive), theirs = feed_side(&h->positive, divisor);
    map_buckets(to, common, n, &ours, w->custom, w->custom_n, false);
    map_buckets(to, common, n, &theirs, h->custom, h->custom_n, negative);
    to->n = 0;
    for (uint32_t i = 0; i <= n; i++) {
        struct compensated count = to->count[i];
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

/* ---- Storing ---- */

static inline double final_count(const struct histogram_work *w, struct compensated s, int finish, double divisor)
{
    return finish & WORK_ADD_RESTS ? s.v / divisor + s.rest / divisor : s.v / divisor;
}

static void store_side(const struct histogram_work *w, const struct bucket_run *r, int finish, double divisor,
                       struct side_builder *to)
{
    /* Buckets within the zero bucket have no rest added, as sums add none of the addend's there. */
    bool exponential = w->schema != HISTOGRAM_SCHEMA_CUSTOM, inside = exponential && (finish & WORK_ADD_RESTS);
    for (uint32_t i = 0; i < r->n; i++) {
        inside = inside && histogram_bound_exponential(r->index[i], w->schema) <= w->zero_threshold;
        double count = final_count(w, r->count[i], inside ? finish & ~WORK_ADD_RESTS : finish, divisor);
        if (count != 0 || !(finish & WORK_COMPACT))
            side_add(to, r->index[i], count, r->apart[i] && !(finish & WORK_COMPACT));
    }
}

const struct histogram *work_store(const struct histogram_work *w, int finish, double divisor, struct arena *to)
{
    if (w->failed)
        return NULL;
    struct histogram shape = {
        .schema = w->schema,
        .reset = w->reset,
        .zero_threshold = w->zero_threshold,
        .zero_count = final_count(w, w->zero_count, finish, divisor),
        .count = final_count(w, w->count, finish, divisor),
        .sum = final_count(w, w->sum, finish, divisor),
        .custom = w->custom,
        .custom_n = w->custom_n,
    };
    struct side_builder positive = {0}, negative = {0};
    store_side(w, &w->positive, finish, divisor, &positive);
    store_side(w, &w->negative, finish, divisor, &negative);
    struct histogram *ret = histogram_make(&shape, &positive, &negative, to);
    if (ret) {
        store_side(w, &w->positive, finish, divisor, &positive);
        store_side(w, &w->negative, finish, divisor, &negative);
    }
    return ret;
}
