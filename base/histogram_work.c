/* Histograms taken apart: loading, reducing, scaling, storing. */
#include "base/histogram_work.h"

#include <math.h>

#include "base/arena.h"

/* ---- Runs ---- */

bool run_reserve(struct histogram_work *w, struct bucket_run *r, uint64_t need)
{
    if (need <= r->cap)
        return true;
    uint64_t cap = r->cap < 16 ? 16 : 2 * (uint64_t)r->cap;
    if (cap < need)
        cap = need;
    int32_t *index = cap > UINT32_MAX ? NULL : arena_alloc_n(w->arena, cap, sizeof(*index));
    double *count = index ? arena_alloc_n(w->arena, cap, sizeof(*count)) : NULL;
    double *rest = count ? arena_alloc_n(w->arena, cap, sizeof(*rest)) : NULL;
    bool *apart = rest ? arena_alloc_n(w->arena, cap, sizeof(*apart)) : NULL;
    if (!apart) {
        w->failed = true;
        return false;
    }
    *r = (struct bucket_run){index, count, rest, apart, 0, (uint32_t)cap};
    return true;
}

void run_take_spare(struct histogram_work *w, struct bucket_run *r)
{
    struct bucket_run old = *r;
    *r = w->spare;
    w->spare = old;
    w->spare.n = 0;
}

static bool feed_read(struct bucket_feed *f, int32_t *index, struct compensated *count)
{
    if (f->run) {
        if (f->at == f->run->n)
            return false;
        *index = f->run->index[f->at];
        *count = (struct compensated){f->run->count[f->at], f->run->rest[f->at]};
        f->at++;
        return true;
    }
    count->rest = 0;
    if (!walk_next(&f->walk, index, &count->v))
        return false;
    count->v /= f->divisor;
    return true;
}

bool feed_next(struct bucket_feed *f, int32_t *index, struct compensated *count)
{
    if (f->shift == 0)
        return feed_read(f, index, count);
    if (!f->ahead && !feed_read(f, &f->next_index, &f->next))
        return false;
    *index = index_reduced(f->next_index, f->shift);
    *count = f->next;
    while ((f->ahead = feed_read(f, &f->next_index, &f->next)) && index_reduced(f->next_index, f->shift) == *index) {
        compensated_add(count, f->next.v);
        compensated_add(count, f->next.rest);
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
    int32_t index = 0;
    for (uint32_t i = 0; i < side->spans_n; i++) {
        index += side->spans[i].offset;
        for (uint32_t j = 0; j < side->spans[i].length; j++) {
            r->index[r->n] = index++;
            r->apart[r->n++] = j == 0;
        }
    }
    if (r->n > 0) {
        memcpy(r->count, side->counts, r->n * sizeof(*r->count));
        memset(r->rest, 0, r->n * sizeof(*r->rest));
    }
}

static void reduce_run(struct histogram_work *w, struct bucket_run *r, int shift)
{
    struct bucket_feed feed = feed_run(r, shift);
    int32_t index;
    struct compensated count;
    if (shift == 0 || !run_reserve(w, &w->spare, r->n))
        return;
    w->spare.n = 0;
    while (feed_next(&feed, &index, &count)) {
        if (!w->keep_rests)
            count.rest = 0;
        run_put(&w->spare, index, count, false);
    }
    run_take_spare(w, r);
}

void work_reduce(struct histogram_work *w, int32_t schema)
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
    memcpy(r->rest, from->rest, from->n * sizeof(*r->rest));
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

static void scale(double *count, double *rest, uint32_t n, double factor, double divisor)
{
    for (uint32_t i = 0; i < n; i++) {
        count[i] = count[i] * factor / divisor;
        rest[i] = rest[i] * factor / divisor;
    }
}

void work_scale(struct histogram_work *w, double factor, double divisor)
{
    scale(&w->zero_count.v, &w->zero_count.rest, 1, factor, divisor);
    scale(&w->count.v, &w->count.rest, 1, factor, divisor);
    scale(&w->sum.v, &w->sum.rest, 1, factor, divisor);
    scale(w->positive.count, w->positive.rest, w->positive.n, factor, divisor);
    scale(w->negative.count, w->negative.rest, w->negative.n, factor, divisor);
}

bool work_overflows(const struct histogram_work *w)
{
    bool over = isinf(w->zero_count.v) || isinf(w->count.v) || isinf(w->sum.v);
    for (uint32_t i = 0; i < w->positive.n && !over; i++)
        over = isinf(w->positive.count[i]);
    for (uint32_t i = 0; i < w->negative.n && !over; i++)
        over = isinf(w->negative.count[i]);
    return over;
}

/* ---- Storing ---- */

static inline double final_count(double count, double rest, int finish, double divisor)
{
    if (divisor != 1) {
        count /= divisor;
        rest /= divisor;
    }
    return finish & WORK_ADD_RESTS ? count + rest : count;
}

static void store_side(const struct histogram_work *w, const struct bucket_run *r, int finish, double divisor,
                       struct side_builder *to)
{
    struct side_builder b = *to;
    /* Buckets within the zero bucket have no rest added, as sums add none of the addend's there. */
    bool exponential = w->schema != HISTOGRAM_SCHEMA_CUSTOM, inside = exponential && (finish & WORK_ADD_RESTS);
    for (uint32_t i = 0; i < r->n; i++) {
        inside = inside && histogram_bound_exponential(r->index[i], w->schema) <= w->zero_threshold;
        double count = final_count(r->count[i], r->rest[i], inside ? finish & ~WORK_ADD_RESTS : finish, divisor);
        if (count != 0 || !(finish & WORK_COMPACT))
            side_add(&b, r->index[i], count, r->apart[i] && !(finish & WORK_COMPACT));
    }
    *to = b;
}

const struct histogram *work_store(const struct histogram_work *w, int finish, double divisor, struct arena *to)
{
    if (w->failed)
        return NULL;
    struct histogram shape = {
        .schema = w->schema,
        .reset = w->reset,
        .zero_threshold = w->zero_threshold,
        .zero_count = final_count(w->zero_count.v, w->zero_count.rest, finish, divisor),
        .count = final_count(w->count.v, w->count.rest, finish, divisor),
        .sum = final_count(w->sum.v, w->sum.rest, finish, divisor),
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
