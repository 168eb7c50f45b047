/* Operators on histograms, and the differences that rate, increase, delta and their kind begin with. */
#include "base/arena.h"
#include "base/err.h"
#include "base/histogram_work.h"

/* ---- Two histograms ---- */

/* Notes for each of the operations that can meet a conflict. */
static const struct add_notes {
    unsigned resets, bounds;
} notes_of_add = {HISTOGRAM_RESETS_IN_ADD, HISTOGRAM_BOUNDS_IN_ADD},
  notes_of_sub = {HISTOGRAM_RESETS_IN_SUB, HISTOGRAM_BOUNDS_IN_SUB};

/* False when they are incompatible. */
static bool add_noted(struct histogram_work *w, const struct histogram *h, bool negative, unsigned *notes)
{
    const struct add_notes *of = negative ? &notes_of_sub : &notes_of_add;
    unsigned met = work_add(w, h, 1, negative);
    if (met & WORK_INCOMPATIBLE)
        *notes |= HISTOGRAM_INCOMPATIBLE;
    if (met & WORK_RESETS_CONFLICT)
        *notes |= of->resets;
    if (met & WORK_BOUNDS_RECONCILED)
        *notes |= of->bounds;
    return !(met & WORK_INCOMPATIBLE);
}

static const struct histogram *combine(const struct histogram *a, const struct histogram *b, bool negative,
                                       struct arena *to, unsigned *notes)
{
    struct arena scratch;
    struct histogram_work w;
    const struct histogram *ret = NULL;
    arena_init(&scratch, 0);
    work_init(&w, &scratch, false);
    work_load(&w, a, a->schema);
    if (add_noted(&w, b, negative, notes)) {
        if (negative)
            w.reset = HISTOGRAM_GAUGE;
        ret = work_store(&w, WORK_COMPACT, 1, to);
    }
    arena_done(&scratch);
    return ret;
}

const struct histogram *histogram_add(const struct histogram *a, const struct histogram *b, struct arena *to,
                                      unsigned *notes)
{
    return combine(a, b, false, to, notes);
}

const struct histogram *histogram_sub(const struct histogram *a, const struct histogram *b, struct arena *to,
                                      unsigned *notes)
{
    return combine(a, b, true, to, notes);
}

/* ---- A histogram and a float ---- */

struct scaling {
    double factor, divisor;
    bool compact;
};

static double scaled(double v, const struct scaling *by)
{
    return v * by->factor / by->divisor;
}

static void scale_side(const struct histogram_side *side, const struct scaling *by, struct side_builder *to)
{
    struct side_builder b = *to;
    int32_t index;
    double count;
    uint32_t span = UINT32_MAX;
    struct histogram_walk w = walk_begin(side);
    while (walk_next(&w, &index, &count)) {
        count = scaled(count, by);
        if (count != 0 || !by->compact)
            side_add(&b, index, count, !by->compact && w.span != span);
        span = w.span;
    }
    *to = b;
}

static const struct histogram *scale_histogram(const struct histogram *h, const struct scaling *by, bool buckets,
                                               struct arena *to)
{
    struct side_builder positive = {0}, negative = {0};
    if (buckets) {
        scale_side(&h->positive, by, &positive);
        scale_side(&h->negative, by, &negative);
    }
    struct histogram *ret = histogram_make(h, &positive, &negative, to);
    if (!ret)
        return NULL;
    ret->zero_count = scaled(h->zero_count, by);
    ret->count = scaled(h->count, by);
    ret->sum = scaled(h->sum, by);
    if (by->factor < 0 || by->divisor < 0)
        ret->reset = HISTOGRAM_GAUGE;
    if (buckets) {
        scale_side(&h->positive, by, &positive);
        scale_side(&h->negative, by, &negative);
    }
    return ret;
}

const struct histogram *histogram_mul(const struct histogram *h, double factor, struct arena *to)
{
    return scale_histogram(h, &(struct scaling){factor, 1, true}, true, to);
}

const struct histogram *histogram_div(const struct histogram *h, double divisor, struct arena *to)
{
    return scale_histogram(h, &(struct scaling){1, divisor, true}, divisor != 0, to);
}

const struct histogram *histogram_negate(const struct histogram *h, struct arena *to)
{
    return scale_histogram(h, &(struct scaling){-1, 1, false}, true, to);
}

/* ---- Counters ---- */

static const struct histogram *increase(struct histogram_work *w, const struct histogram *const *samples, uint32_t n,
                                        bool counter, struct arena *to, unsigned *notes)
{
    const struct histogram *before = samples[0], *last = samples[n - 1];
    const unsigned given = *notes;
    struct histogram nothing = {0};
    if (counter && (before->reset == HISTOGRAM_GAUGE || last->reset == HISTOGRAM_GAUGE))
        *notes |= HISTOGRAM_NOT_COUNTER;
    /* A reset after the first sample takes it out of the sum, whatever its buckets are. */
    if (counter && histogram_was_reset(samples[1], before)) {
        nothing.schema = samples[1]->schema;
        nothing.custom = samples[1]->custom;
        nothing.custom_n = samples[1]->custom_n;
        before = &nothing;
    }
    bool custom = histogram_is_custom(before);
    if (histogram_is_custom(last) != custom) {
        *notes |= HISTOGRAM_INCOMPATIBLE;
        return NULL;
    }
    int32_t schema = last->schema < before->schema ? last->schema : before->schema;
    for (uint32_t i = 1; counter && i + 1 < n; i++) {
        if (histogram_is_custom(samples[i]) != custom) {
            *notes = given | HISTOGRAM_INCOMPATIBLE;
            return NULL;
        }
        if (samples[i]->reset == HISTOGRAM_GAUGE)
            *notes |= HISTOGRAM_NOT_COUNTER;
        if (samples[i]->schema < schema)
            schema = samples[i]->schema;
    }
    unsigned met = 0; /* conflicting resets are what is dealt with here, so they are not told */
    work_load(w, last, schema);
    add_noted(w, before, true, &met);
    for (uint32_t i = 1; counter && i < n; i++) {
        if (histogram_was_reset(samples[i], before))
            add_noted(w, before, false, &met);
        before = samples[i];
    }
    if (!counter && (samples[0]->reset != HISTOGRAM_GAUGE || last->reset != HISTOGRAM_GAUGE))
        *notes |= HISTOGRAM_NOT_GAUGE;
    *notes |= met & (HISTOGRAM_BOUNDS_IN_ADD | HISTOGRAM_BOUNDS_IN_SUB);
    w->reset = HISTOGRAM_GAUGE;
    return work_store(w, WORK_COMPACT, 1, to);
}

const struct histogram *histogram_increase(const struct histogram *const *samples, uint32_t n, bool counter,
                                           struct arena *to, unsigned *notes)
{
    struct arena scratch;
    struct histogram_work w;
    MUST(n >= 2);
    arena_init(&scratch, 0);
    work_init(&w, &scratch, false);
    const struct histogram *ret = increase(&w, samples, n, counter, to, notes);
    arena_done(&scratch);
    return ret;
}

const struct histogram *histogram_last_step(const struct histogram *before, const struct histogram *now, bool counter,
                                            struct arena *to, unsigned *notes)
{
    struct arena scratch;
    struct histogram_work w;
    const struct histogram *ret = NULL;
    unsigned met = 0;
    if (counter && (now->reset == HISTOGRAM_GAUGE || before->reset == HISTOGRAM_GAUGE))
        *notes |= HISTOGRAM_NOT_COUNTER;
    if (!counter && (now->reset != HISTOGRAM_GAUGE || before->reset != HISTOGRAM_GAUGE))
        *notes |= HISTOGRAM_NOT_GAUGE;
    arena_init(&scratch, 0);
    work_init(&w, &scratch, false);
    work_load(&w, now, now->schema);
    if ((counter && histogram_was_reset(now, before)) || add_noted(&w, before, true, &met)) {
        w.reset = HISTOGRAM_GAUGE;
        ret = work_store(&w, WORK_COMPACT, 1, to);
    }
    *notes |= met & ~(unsigned)HISTOGRAM_RESETS_IN_SUB;
    arena_done(&scratch);
    return ret;
}

const struct histogram *histogram_interpolate(const struct histogram *before, const struct histogram *now, double at,
                                              bool counter, struct arena *to, unsigned *notes)
{
    if (at <= 0)
        return before;
    if (at >= 1)
        return now;
    if (counter && histogram_was_reset(now, before))
        return scale_histogram(now, &(struct scaling){at, 1, false}, true, to);
    struct arena scratch;
    struct histogram_work w;
    const struct histogram *ret = NULL;
    unsigned met = 0;
    arena_init(&scratch, 0);
    work_init(&w, &scratch, false);
    work_load(&w, now, now->schema);
    if (add_noted(&w, before, true, &met)) {
        work_scale(&w, at, 1);
        add_noted(&w, before, false, &met);
        ret = work_store(&w, WORK_AS_IS, 1, to);
    }
    *notes |= met & (HISTOGRAM_INCOMPATIBLE | HISTOGRAM_BOUNDS_IN_ADD | HISTOGRAM_BOUNDS_IN_SUB);
    arena_done(&scratch);
    return ret;
}
