/* For suites over histograms: an arena of its own for each test, literals in it, and how histograms are compared. */
#ifndef TESTS_BASE_HISTOGRAM_FIXTURE_H
#define TESTS_BASE_HISTOGRAM_FIXTURE_H

#include <math.h>

#include "base/histogram_literal.h"
#include "suite.h"

static struct arena arena;

static inline void arena_open(void)
{
    arena_init(&arena, 0);
}

static inline void arena_close(void)
{
    arena_done(&arena);
}

static inline const struct histogram *H(const char *text)
{
    return histogram_literal(text, 0, &arena);
}

static inline bool fixture_near(double a, double b)
{
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b) || a == b)
        return (isnan(a) && isnan(b)) || a == b;
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static inline const char *fixture_text(const struct histogram *h, struct arena *a)
{
    if (!h)
        return "no histogram";
    struct strbuf text = {0};
    histogram_text(h, &text);
    const char *ret =
        arena_printf(a, "schema %d hint %d zero %g %s", h->schema, h->reset, h->zero_threshold, strbuf_z(&text));
    strbuf_done(&text);
    return ret;
}

static inline bool fixture_same_side(const struct histogram_side *a, const struct histogram_side *b)
{
    bool same = a->counts_n == b->counts_n && a->spans_n == b->spans_n;
    for (uint32_t i = 0; same && i < a->spans_n; i++)
        same = a->spans[i].offset == b->spans[i].offset && a->spans[i].length == b->spans[i].length;
    for (uint32_t i = 0; same && i < a->counts_n; i++)
        same = fixture_near(a->counts[i], b->counts[i]);
    return same;
}

/* The same but for empty buckets and 1e-12 of rounding; the hint only where one is expected, as Prometheus' own test
 * files compare. */
static inline void check_histogram(const struct histogram *got, const char *expected_text, struct arena *a)
{
    const struct histogram *want = histogram_literal(expected_text, 0, a);
    bool same = got != NULL;
    if (same) {
        const struct histogram *g = histogram_compact(got, a), *w = histogram_compact(want, a);
        same = g->schema == w->schema && g->zero_threshold == w->zero_threshold && g->custom_n == w->custom_n &&
               (g->custom_n == 0 || memcmp(g->custom, w->custom, g->custom_n * sizeof(double)) == 0) &&
               fixture_near(g->count, w->count) && fixture_near(g->sum, w->sum) &&
               fixture_near(g->zero_count, w->zero_count) && fixture_same_side(&g->positive, &w->positive) &&
               fixture_same_side(&g->negative, &w->negative) &&
               (want->reset == HISTOGRAM_RESET_UNKNOWN || g->reset == w->reset);
    }
    if (!same)
        ck_abort_msg("got  %s\nwant %s", fixture_text(got, a), fixture_text(want, a));
}

#endif
