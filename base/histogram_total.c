/*
 * Sums and means of histograms, compensated in every field. The mean is sum / n for as long as the sum is finite in
 * every field; from where it would overflow, the mean so far is carried on by weights.
 */
#include "base/arena.h"
#include "base/histogram_work.h"

struct histogram_total {
    bool mean, carried; /* carried: `work` holds the mean of the n so far, not their sum */
    bool resets_yes, resets_no;
    unsigned notes;
    double n;
    struct histogram_work work, trial;
};

struct histogram_total *histogram_total_new(struct arena *a, bool mean)
{
    struct histogram_total *t = ARENA_NEW(a, struct histogram_total);
    if (!t)
        return NULL;
    t->mean = mean;
    work_init(&t->work, a, true);
    work_init(&t->trial, a, true);
    return t;
}

void histogram_total_clear(struct histogram_total *t)
{
    t->carried = t->resets_yes = t->resets_no = false;
    t->notes = 0;
    t->n = 0;
}

static bool add_noted(struct histogram_total *t, struct histogram_work *w, const struct histogram *h, double divisor)
{
    unsigned met = work_add(w, h, divisor, false);
    if (met & WORK_INCOMPATIBLE)
        t->notes |= HISTOGRAM_INCOMPATIBLE;
    if (met & WORK_BOUNDS_RECONCILED)
        t->notes |= HISTOGRAM_BOUNDS_IN_AGG;
    return !(met & WORK_INCOMPATIBLE);
}

/* True when the sum took it in: it is tried on a copy, for what overflowed could not be got back. */
static bool try_sum(struct histogram_total *t, const struct histogram *h)
{
    work_copy(&t->trial, &t->work);
    if (!add_noted(t, &t->trial, h, 1))
        return true;
    if (work_overflows(&t->trial))
        return false;
    struct histogram_work old = t->work;
    t->work = t->trial;
    t->trial = old;
    return true;
}

void histogram_total_add(struct histogram_total *t, const struct histogram *h)
{
    if (t->notes & HISTOGRAM_INCOMPATIBLE || t->work.failed || t->trial.failed)
        return;
    t->resets_yes |= h->reset == HISTOGRAM_RESET_YES;
    t->resets_no |= h->reset == HISTOGRAM_RESET_NO;
    if (++t->n == 1) {
        work_load(&t->work, h, h->schema);
        return;
    }
    if (!t->mean) {
        add_noted(t, &t->work, h, 1);
        return;
    }
    if (!t->carried) {
        if (try_sum(t, h))
            return;
        t->carried = true;
        work_scale(&t->work, 1, t->n - 1);
    }
    work_scale(&t->work, (t->n - 1) / t->n, 1);
    add_noted(t, &t->work, h, t->n);
}

const struct histogram *histogram_total_result(const struct histogram_total *t, struct arena *to, unsigned *notes)
{
    *notes |= t->notes;
    if (t->resets_yes && t->resets_no)
        *notes |= HISTOGRAM_RESETS_IN_AGG;
    if (t->n == 0 || t->notes & HISTOGRAM_INCOMPATIBLE || t->trial.failed)
        return NULL;
    return work_store(&t->work, t->n > 1 ? WORK_ADD_RESTS : WORK_AS_IS, t->mean && !t->carried ? t->n : 1, to);
}
