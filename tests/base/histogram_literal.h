/*
 * Histograms for tests, written as Prometheus' test files write them: "schema:0 count:4 sum:5 z_bucket:1
 * z_bucket_w:0.001 offset:-1 buckets:[1 2 0] n_offset:1 n_buckets:[1] custom_values:[5 10]
 * counter_reset_hint:gauge"; and within the brackets of buckets "|3" begins a further span, 3 after the last one.
 */
#ifndef TESTS_BASE_HISTOGRAM_LITERAL_H
#define TESTS_BASE_HISTOGRAM_LITERAL_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/histogram.h"
#include "base/str.h"

static inline const char *literal_list(const char *at, struct arena *a, struct histogram_span *spans, uint32_t *spans_n,
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

/* In the arena. A broken literal fails the test; `zero_threshold` holds where it says none. */
static inline struct histogram *histogram_literal(const char *text, double zero_threshold, struct arena *a)
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
    h->zero_threshold = zero_threshold;
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
            at = literal_list(colon + 1, a, spans[negative], &sides[negative]->spans_n, counts[negative],
                              &sides[negative]->counts_n);
            continue;
        }
        if (str_eq(key, STR("custom_values"))) {
            at = literal_list(colon + 1, a, NULL, &none, custom, &h->custom_n);
            continue;
        }
        if (str_eq(key, STR("counter_reset_hint"))) {
            static const char *const hints[] = {"unknown", "reset", "not_reset", "gauge"};
            size_t n = strcspn(colon + 1, " ");
            int hint = 0;
            while (hint < 4 && (strlen(hints[hint]) != n || strncmp(colon + 1, hints[hint], n) != 0))
                hint++;
            ck_assert_msg(hint < 4, "unknown hint in \"%s\"", at);
            h->reset = (enum histogram_reset)hint;
            at = colon + 1 + n;
            continue;
        }
        double v = strtod(colon + 1, &end);
        ck_assert_msg(end > colon + 1, "a number is missing in \"%s\"", at);
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

#endif
