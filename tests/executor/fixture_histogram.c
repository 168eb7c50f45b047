#include "fixture_histogram.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/labels.h"

enum { LIST_MAX = 64 };

/* "[1 2 3]"; *ret_n numbers. */
static double *parse_list(const char *p, struct arena *a, uint32_t *ret_n, const char **rest)
{
    double *v = ARENA_ARRAY(a, double, LIST_MAX);
    uint32_t n = 0;
    ck_assert_msg(*p == '[', "a list is missing at: %s", p);
    for (p++; *p != ']';) {
        char *end;
        v[n++] = strtod(p, &end);
        ck_assert_msg(end > p && n < LIST_MAX, "bad list at: %s", p);
        for (p = end; *p == ' ';)
            p++;
    }
    *ret_n = n;
    *rest = p + 1;
    return v;
}

static void set_side(struct histogram_side *side, double *counts, uint32_t n, int32_t offset, struct arena *a)
{
    struct histogram_span *span = ARENA_NEW(a, struct histogram_span);
    *span = (struct histogram_span){offset, n};
    *side = (struct histogram_side){span, counts, n > 0, n};
}

static enum histogram_reset reset_of(const char *p, const char **rest)
{
    static const struct {
        const char *text;
        enum histogram_reset reset;
    } hints[] = {{"gauge", HISTOGRAM_GAUGE},
                 {"reset", HISTOGRAM_RESET_YES},
                 {"not_reset", HISTOGRAM_RESET_NO},
                 {"unknown", HISTOGRAM_RESET_UNKNOWN}};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        size_t n = strlen(hints[i].text);
        if (strncmp(p, hints[i].text, n) == 0) {
            *rest = p + n;
            return hints[i].reset;
        }
    }
    ck_abort_msg("unknown hint: %s", p);
}

const struct histogram *fixture_parse_histogram(const char *text, struct arena *a, const char **rest)
{
    struct histogram *h = ARENA_NEW(a, struct histogram);
    uint32_t positive_n = 0, negative_n = 0;
    double *positive = NULL, *negative = NULL;
    int32_t offset = 0, negative_offset = 0;
    const char *p = text + 2;
    ck_assert_msg(strncmp(text, "{{", 2) == 0, "no histogram: %s", text);
    h->zero_threshold = 0.001;
    while (*p == ' ')
        p++;
    while (strncmp(p, "}}", 2) != 0) {
        const char *name = p, *colon = strchr(p, ':');
        ck_assert_msg(colon != NULL, "no value at: %s", p);
        size_t n = (size_t)(colon - name);
        struct str key = {name, n};
        p = colon + 1;
        char *end = NULL;
        if (str_eq(key, STR("buckets")))
            positive = parse_list(p, a, &positive_n, &p);
        else if (str_eq(key, STR("n_buckets")))
            negative = parse_list(p, a, &negative_n, &p);
        else if (str_eq(key, STR("custom_values")))
            h->custom = parse_list(p, a, &h->custom_n, &p);
        else if (str_eq(key, STR("counter_reset_hint")))
            h->reset = reset_of(p, &p);
        else {
            double v = strtod(p, &end);
            ck_assert_msg(end > p, "bad number at: %s", p);
            p = end;
            if (str_eq(key, STR("schema")))
                h->schema = (int32_t)v;
            else if (str_eq(key, STR("sum")))
                h->sum = v;
            else if (str_eq(key, STR("count")))
                h->count = v;
            else if (str_eq(key, STR("z_bucket")))
                h->zero_count = v;
            else if (str_eq(key, STR("z_bucket_w")))
                h->zero_threshold = v;
            else if (str_eq(key, STR("offset")))
                offset = (int32_t)v;
            else if (str_eq(key, STR("n_offset")))
                negative_offset = (int32_t)v;
            else
                ck_abort_msg("unknown key: %s", name);
        }
        while (*p == ' ')
            p++;
    }
    if (histogram_is_custom(h))
        h->zero_threshold = 0;
    set_side(&h->positive, positive, positive_n, offset, a);
    set_side(&h->negative, negative, negative_n, negative_offset, a);
    *rest = p + 2;
    return h;
}
