/*
 * Histograms for tests, written as Prometheus' test files write them: "schema:0 count:4 sum:5 z_bucket:1
 * z_bucket_w:0.001 offset:-1 buckets:[1 2 0] n_offset:1 n_buckets:[1] custom_values:[5 10]
 * counter_reset_hint:gauge"; and within the brackets of buckets "|3" begins a further span, 3 after the last one.
 */
#ifndef TESTS_BASE_HISTOGRAM_FIXTURE_H
#define TESTS_BASE_HISTOGRAM_FIXTURE_H

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/histogram.h"
#include "base/str.h"
#include "suite.h"

static const char *fixture_list(const char *at, struct arena *a, struct histogram_span *spans, uint32_t *spans_n,
                                double *counts, uint32_t *counts_n)
{
    char *end;
    ck_assert_int_eq(*at++, '[');
    while (*at != ']') {
        if (*at == ' ') {
            at++;
        } else if (*at == '|') {
            spans[(*spans_n)++] = (struct histogram_span){(int32_t)strtol(at + 1, &end, 10), 0};
            at = end;
        } else {
            counts[(*counts_n)++] = strtod(at, &end);
            ck_assert_ptr_ne(at, end);
            at = end;
            if (*spans_n > 0)
                spans[*spans_n - 1].length++;
        }
    }
    return at + 1;
}

static inline const struct histogram *fixture(struct arena *a, const char *text)
{
    struct histogram *h = ARENA_NEW(a, struct histogram);
    size_t room = strlen(text) + 1;
    struct histogram_side *const sides[2] = {&h->positive, &h->negative};
    int32_t offsets[2] = {0, 0};
    struct histogram_span *spans[2];
    double *counts[2], *custom = ARENA_ARRAY(a, double, room);
    for (int i = 0; i < 2; i++) {
        spans[i] = ARENA_ARRAY(a, struct histogram_span, room);
        counts[i] = ARENA_ARRAY(a, double, room);
        *sides[i] = (struct histogram_side){spans[i], counts[i], 0, 0};
    }
    h->custom = custom;
    for (const char *at = text; *at;) {
        if (*at == ' ') {
            at++;
            continue;
        }
        const char *colon = strchr(at, ':');
        ck_assert_ptr_nonnull(colon);
        struct str key = {at, (size_t)(colon - at)};
        char *end;
        uint32_t none = 0;
        int negative = key.n > 1 && key.p[0] == 'n' && key.p[1] == '_';
        if (str_eq(key, STR("buckets")) || str_eq(key, STR("n_buckets"))) {
            spans[negative][sides[negative]->spans_n++] = (struct histogram_span){0, 0};
            at = fixture_list(colon + 1, a, spans[negative], &sides[negative]->spans_n, counts[negative],
                              &sides[negative]->counts_n);
            continue;
        }
        if (str_eq(key, STR("custom_values"))) {
            at = fixture_list(colon + 1, a, NULL, &none, custom, &h->custom_n);
            continue;
        }
        if (str_eq(key, STR("counter_reset_hint"))) {
            static const char *const hints[] = {"unknown", "reset", "not_reset", "gauge"};
            for (int i = 0; i < 4; i++)
                if (strncmp(colon + 1, hints[i], strlen(hints[i])) == 0)
                    h->reset = (enum histogram_reset)i;
            at = colon + 1 + strcspn(colon + 1, " ");
            continue;
        }
        double v = strtod(colon + 1, &end);
        if (str_eq(key, STR("schema")))
            h->schema = (int32_t)v;
        else if (str_eq(key, STR("count")))
            h->count = v;
        else if (str_eq(key, STR("sum")))
            h->sum = v;
        else if (str_eq(key, STR("z_bucket")))
            h->zero_count = v;
        else if (str_eq(key, STR("z_bucket_w")))
            h->zero_threshold = v;
        else if (str_eq(key, STR("offset")) || str_eq(key, STR("n_offset")))
            offsets[negative] = (int32_t)v;
        else
            ck_abort_msg("unknown key in \"%s\"", at);
        at = end;
    }
    for (int i = 0; i < 2; i++)
        if (sides[i]->spans_n > 0)
            spans[i][0].offset = offsets[i];
    return h;
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
    const struct histogram *want = fixture(a, expected_text);
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
