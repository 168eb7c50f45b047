/*
 * Functions over ranges in series that have native histograms: sums, means, and the rate family. A window is either of
 * numbers, and then goes the way all numbers go, or of histograms; one of both has no value, and a warning says so.
 */
#include "executor/note_histogram.h"
#include "executor/raw.h"

enum { SAID_MIXED = 1u << 31 }; /* beside the bits of enum histogram_note */

static double absent(void)
{
    return float_stale();
}

/* Each note once a series. */
static void say(struct range_series *s, unsigned notes)
{
    note_histogram_bits(s->ev, notes & ~s->said, s->name, s->place);
    s->said |= notes;
}

static double mixed(struct range_series *s)
{
    if (!(s->said & SAID_MIXED))
        note_mixed_range(s->ev, s->name, s->place);
    s->said |= SAID_MIXED;
    return absent();
}

/* NULL: no value. */
static double made(struct range_series *s, const struct histogram *h, unsigned notes)
{
    say(s, notes);
    s->made = h;
    return h ? float_histogram() : absent();
}

enum window_kind { WINDOW_NUMBERS, WINDOW_HISTOGRAMS, WINDOW_MIXED };

static enum window_kind kind_of(const struct range_series *s, const struct range_window *w)
{
    uint32_t histograms = 0;
    for (uint32_t i = w->lo; i < w->hi; i++)
        histograms += s->histograms[i] != NULL;
    return histograms == 0 ? WINDOW_NUMBERS : histograms == w->hi - w->lo ? WINDOW_HISTOGRAMS : WINDOW_MIXED;
}

double range_keep(struct range_series *s, uint32_t i)
{
    const struct histogram *h = s->histograms[i];
    if (h != s->kept_from) {
        s->kept = histogram_copy(h, s->ev->arena);
        s->kept_from = h;
    }
    return made(s, s->kept, 0);
}

/* ---- sums and means ---- */
static double total(struct range_series *s, const struct range_window *w, bool mean)
{
    unsigned notes = 0;
    if (!s->total && !(s->total = histogram_total_new(s->ev->arena, mean)))
        return absent();
    histogram_total_clear(s->total);
    for (uint32_t i = w->lo; i < w->hi; i++)
        histogram_total_add(s->total, s->histograms[i]);
    const struct histogram *h = histogram_total_result(s->total, s->ev->arena, &notes);
    return made(s, h, notes);
}

double range_mixed_sum(struct range_series *s, const struct range_window *w)
{
    enum window_kind kind = kind_of(s, w);
    return kind == WINDOW_MIXED ? mixed(s) : kind == WINDOW_NUMBERS ? range_sum(s, w) : total(s, w, false);
}

double range_mixed_avg(struct range_series *s, const struct range_window *w)
{
    enum window_kind kind = kind_of(s, w);
    return kind == WINDOW_MIXED ? mixed(s) : kind == WINDOW_NUMBERS ? range_avg(s, w) : total(s, w, true);
}

/* ---- rates ---- */
static double extrapolated(struct range_series *s, const struct range_window *w, bool counter, bool per_second)
{
    unsigned notes = 0;
    uint32_t n = w->hi - w->lo;
    if (n < 2)
        return absent();
    const struct histogram *h = histogram_increase(s->histograms + w->lo, n, counter, s->ev->arena, &notes);
    if (h) {
        double stretch = range_stretch(s, w, counter, per_second, s->histograms[w->lo]->count, h->count);
        h = histogram_mul(h, stretch, s->ev->arena);
    }
    return made(s, h, notes);
}

const struct histogram *range_interpolate_histograms(const int64_t *times_ms, const struct histogram *const *histograms,
                                                     int64_t at_ms, bool counter, struct arena *to, unsigned *notes)
{
    double share = (double)(at_ms - times_ms[0]) / (double)(times_ms[1] - times_ms[0]);
    return histogram_interpolate(histograms[0], histograms[1], share, counter, to, notes);
}

/* Histograms at the edges of an extended window. */
struct edges {
    uint32_t first, last; /* the samples they are made of, see range_edges */
    const struct histogram *left, *right;
};

/* What all of an extended window's samples must be. */
static bool check_edges(const struct range_series *s, const struct edges *x, bool counter, unsigned *notes)
{
    for (uint32_t i = x->first; i <= x->last; i++) {
        if (histogram_is_custom(s->histograms[i]) != histogram_is_custom(s->histograms[x->first])) {
            *notes |= HISTOGRAM_INCOMPATIBLE;
            return false;
        }
        if (counter && s->histograms[i]->reset == HISTOGRAM_GAUGE)
            *notes |= HISTOGRAM_NOT_COUNTER;
    }
    return true;
}

static bool find_edges(struct range_series *s, const struct range_window *w, bool counter, struct edges *x,
                       unsigned *notes)
{
    const struct histogram *const *h = s->histograms;
    struct arena *to = s->ev->arena;
    if (!range_edges(s, w, &x->first, &x->last) || (s->smoothed && s->times_ms[x->first] > w->end_ms) ||
        !check_edges(s, x, counter, notes))
        return false;
    uint32_t first = x->first, last = x->last;
    x->left = h[first];
    x->right = h[last];
    if (s->smoothed && s->times_ms[first] < w->start_ms)
        x->left = range_interpolate_histograms(s->times_ms + first, h + first, w->start_ms, counter, to, notes);
    if (s->smoothed && last > w->lo && s->times_ms[last] > w->end_ms)
        x->right = range_interpolate_histograms(s->times_ms + last - 1, h + last - 1, w->end_ms, counter, to, notes);
    return x->left && x->right;
}

/* What was lost at the resets between the edges is added to `increase`. */
static const struct histogram *add_resets(const struct range_series *s, const struct range_window *w,
                                          const struct edges *x, const struct histogram *increase, unsigned *notes)
{
    const struct histogram *const *h = s->histograms, *before = x->left;
    uint32_t from = x->first + 1;
    if (s->smoothed && s->times_ms[x->first] < w->start_ms && histogram_was_reset(h[x->first + 1], h[x->first]))
        before = h[from++]; /* the left edge grew from zero already */
    if (from > x->last)
        return increase;
    for (uint32_t i = from; i <= x->last && increase; i++) {
        const struct histogram *now = i == x->last ? x->right : h[i];
        if (histogram_was_reset(now, before))
            increase = histogram_add(increase, before, s->ev->arena, notes);
        before = now;
    }
    return increase;
}

static double between_edges(struct range_series *s, const struct range_window *w, bool counter, bool per_second)
{
    unsigned notes = 0;
    struct edges x;
    if (!find_edges(s, w, counter, &x, &notes))
        return made(s, NULL, notes);
    if (!counter && (x.left->reset != HISTOGRAM_GAUGE || x.right->reset != HISTOGRAM_GAUGE))
        notes |= HISTOGRAM_NOT_GAUGE;
    const struct histogram *h = histogram_sub(x.right, x.left, s->ev->arena, &notes);
    if (h && counter)
        h = add_resets(s, w, &x, h, &notes);
    if (h && per_second)
        h = histogram_div(h, range_seconds(s), s->ev->arena);
    if (h)
        h = histogram_with_reset(h, HISTOGRAM_GAUGE, s->ev->arena);
    /* Resets are made good here: that the sides say different things of them is no conflict. */
    return made(s, h, notes & ~(unsigned)(HISTOGRAM_RESETS_IN_ADD | HISTOGRAM_RESETS_IN_SUB));
}

static double rate_of(struct range_series *s, const struct range_window *w, bool counter, bool per_second,
                      range_fn *of_numbers)
{
    switch (kind_of(s, w)) {
    case WINDOW_NUMBERS:
        return of_numbers(s, w);
    case WINDOW_MIXED:
        return mixed(s);
    default:
        return s->anchored || s->smoothed ? between_edges(s, w, counter, per_second)
                                          : extrapolated(s, w, counter, per_second);
    }
}

double range_mixed_rate(struct range_series *s, const struct range_window *w)
{
    return rate_of(s, w, true, true, range_rate);
}

double range_mixed_increase(struct range_series *s, const struct range_window *w)
{
    return rate_of(s, w, true, false, range_increase);
}

double range_mixed_delta(struct range_series *s, const struct range_window *w)
{
    return rate_of(s, w, false, false, range_delta);
}

/* The last two samples alone. */
static double last_step(struct range_series *s, const struct range_window *w, bool counter, range_fn *of_numbers)
{
    uint32_t last = w->hi - 1;
    unsigned notes = 0;
    if (last == w->lo)
        return absent();
    const struct histogram *before = s->histograms[last - 1], *now = s->histograms[last];
    if (!before && !now)
        return of_numbers(s, w);
    if (!before || !now)
        return mixed(s);
    const struct histogram *h = histogram_last_step(before, now, counter, s->ev->arena, &notes);
    if (h && counter)
        h = histogram_div(h, (double)(s->times_ms[last] - s->times_ms[last - 1]) / 1000, s->ev->arena);
    return made(s, h, notes);
}

double range_mixed_irate(struct range_series *s, const struct range_window *w)
{
    return last_step(s, w, true, range_irate);
}

double range_mixed_idelta(struct range_series *s, const struct range_window *w)
{
    return last_step(s, w, false, range_idelta);
}
