#include "fixture.h"

#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "base/float_text.h"
#include "fixture_histogram.h"

enum { LABELS_MAX = 32, POINTS_MAX = 1 << 22 };

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

static const char *token_end(const char *p)
{
    while (*p && !isspace((unsigned char)*p)) {
        const char *close = strncmp(p, "{{", 2) == 0 ? strstr(p, "}}") : NULL;
        p = close ? close + 2 : p + 1;
    }
    return p;
}

/* The quoted string at p, with \" \\ and \n undone. */
static const char *parse_quoted(const char *p, struct arena *a, struct str *ret)
{
    ck_assert_msg(*p == '"', "a quoted string is missing at: %s", p);
    char *out = arena_alloc(a, strlen(p));
    size_t n = 0;
    for (p++; *p && *p != '"'; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            out[n++] = *p == 'n' ? '\n' : *p;
        } else {
            out[n++] = *p;
        }
    }
    ck_assert_msg(*p == '"', "a quoted string is not closed");
    *ret = (struct str){out, n};
    return p + 1;
}

const char *fixture_parse_labels(const char *text, struct arena *a, struct labels *ret)
{
    struct label *v = ARENA_ARRAY(a, struct label, LABELS_MAX);
    uint32_t n = 0;
    const char *p = skip_blanks(text), *name = p;
    while (isalnum((unsigned char)*p) || *p == '_' || *p == ':')
        p++;
    if (p > name) {
        v[n++] = (struct label){STR(LABEL_NAME), {arena_strndup(a, name, (size_t)(p - name)), (size_t)(p - name)}};
    }
    if (*p == '{') {
        for (p = skip_blanks(p + 1); *p != '}'; p = skip_blanks(p)) {
            ck_assert_msg(n < LABELS_MAX, "too many labels: %s", text);
            const char *label = p;
            while (*p && *p != '=')
                p++;
            v[n].name = (struct str){arena_strndup(a, label, (size_t)(p - label)), (size_t)(p - label)};
            p = parse_quoted(skip_blanks(p + (*p == '=')), a, &v[n].value);
            n += v[n].value.n > 0;
            p = skip_blanks(p);
            p += *p == ',';
        }
        p++;
    }
    ck_assert_msg(labels_sort(v, n), "a label is given twice: %s", text);
    *ret = (struct labels){v, n};
    return p;
}

static struct fixture_series *series_at(struct fixture *f, const char *text, const char **rest)
{
    struct labels l;
    *rest = fixture_parse_labels(text, &f->arena, &l);
    struct str name = labels_get(&l, STR(LABEL_NAME));
    uint32_t metric = f->metrics_n, ordinal = 0;
    for (size_t i = 0; i < f->series_n; i++) {
        struct fixture_series *s = &f->series[i];
        if (labels_eq(&s->labels, &l))
            return s;
        if (str_eq(labels_get(&s->labels, STR(LABEL_NAME)), name)) {
            metric = s->metric;
            ordinal++;
        }
    }
    f->metrics_n += metric == f->metrics_n;
    f->series = mem_grow(f->series, &f->series_cap, f->series_n + 1, sizeof *f->series);
    struct fixture_series *s = &f->series[f->series_n++];
    *s = (struct fixture_series){.labels = l, .metric = metric, .ordinal = ordinal};
    return s;
}

static void series_add(struct fixture_series *s, int64_t time_ms, double value, const struct histogram *h)
{
    ck_assert_msg(s->n < POINTS_MAX, "too many points in one series");
    s->times_ms = mem_grow(s->times_ms, &s->times_cap, s->n + 1, sizeof *s->times_ms);
    s->values = mem_grow(s->values, &s->values_cap, s->n + 1, sizeof *s->values);
    s->histograms = mem_grow(s->histograms, &s->histograms_cap, s->n + 1, sizeof(const struct histogram *));
    size_t i = s->n;
    while (i > 0 && s->times_ms[i - 1] > time_ms)
        i--;
    ck_assert_msg(i == 0 || s->times_ms[i - 1] != time_ms, "two samples at %lld ms", (long long)time_ms);
    memmove(s->times_ms + i + 1, s->times_ms + i, (s->n - i) * sizeof *s->times_ms);
    memmove(s->values + i + 1, s->values + i, (s->n - i) * sizeof *s->values);
    memmove(s->histograms + i + 1, s->histograms + i, (s->n - i) * sizeof(const struct histogram *));
    s->times_ms[i] = time_ms;
    memcpy(&s->values[i], &value, sizeof value);
    s->histograms[i] = h;
    s->n++;
}

/* {{...}}, {{...}}xn or {{...}}+{{...}}xn; returns the step after it. */
static int64_t add_histograms(struct fixture *f, struct fixture_series *s, const char *item, int64_t start_ms,
                              int64_t step_ms, int64_t step)
{
    const char *p;
    const struct histogram *h = fixture_parse_histogram(item, &f->arena, &p), *by = NULL;
    unsigned notes = 0;
    if (*p == '+')
        by = fixture_parse_histogram(p + 1, &f->arena, &p);
    int64_t more = *p == 'x' ? strtoll(p + 1, NULL, 10) : 0;
    for (int64_t i = 0; i <= more; i++) {
        series_add(s, start_ms + (step + i) * step_ms, float_histogram(), h);
        if (by)
            h = histogram_add(h, by, &f->arena, &notes);
    }
    return step + more + 1;
}

/* One item of a value list at step `step`; returns the step after it. */
static int64_t add_item(struct fixture *f, struct fixture_series *s, const char *item, size_t n, int64_t start_ms,
                        int64_t step_ms, int64_t step)
{
    char text[128];
    if (strncmp(item, "{{", 2) == 0)
        return add_histograms(f, s, item, start_ms, step_ms, step);
    ck_assert_msg(n < sizeof text, "a value is too long");
    memcpy(text, item, n);
    text[n] = 0;
    if (text[0] == '_') {
        return step + (text[1] == 'x' ? strtoll(text + 2, NULL, 10) : 1);
    }
    if (strcmp(text, "stale") == 0) {
        series_add(s, start_ms + step * step_ms, float_stale(), NULL);
        return step + 1;
    }
    int64_t more = 0;
    char *p, *times = strchr(text, 'x'); /* cut first: strtod would read 0x5 as a hexadecimal number */
    if (times) {
        *times = 0;
        more = strtoll(times + 1, &p, 10);
        ck_assert_msg(*p == 0 && more >= 0, "bad repetition: %s", item);
    }
    double value = strtod(text, &p), by = 0;
    if (p > text && (*p == '+' || *p == '-'))
        by = strtod(p, &p);
    ck_assert_msg(*p == 0 && p > text, "bad value: %s", text);
    for (int64_t i = 0; i <= more; i++, value += by)
        series_add(s, start_ms + (step + i) * step_ms, value, NULL);
    return step + more + 1;
}

static int64_t duration_at(const char *p, const char **rest)
{
    int64_t ms = 0;
    struct err e;
    *rest = token_end(p);
    ck_assert_msg(duration_parse((struct str){p, (size_t)(*rest - p)}, &ms, &e) == 0, "%s", e.message);
    return ms;
}

void fixture_load(struct fixture *f, const char *text)
{
    int64_t start_ms = 0, step_ms = 0;
    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n"), *p = skip_blanks(line);
        if (strncmp(p, "load ", 5) == 0) {
            step_ms = duration_at(skip_blanks(p + 5), &p);
            p = skip_blanks(p);
            start_ms = strncmp(p, "at ", 3) == 0 ? duration_at(skip_blanks(p + 3), &p) : 0;
        } else if (p < end) {
            ck_assert_msg(step_ms > 0, "a series stands before `load`: %s", p);
            struct fixture_series *s = series_at(f, p, &p);
            int64_t step = 0;
            for (p = skip_blanks(p); p < end; p = skip_blanks(token_end(p)))
                step = add_item(f, s, p, (size_t)(token_end(p) - p), start_ms, step_ms, step);
        }
        line = end + (*end == '\n');
    }
}

void fixture_add(struct fixture *f, const char *series, int64_t time_ms, double value)
{
    const char *rest;
    series_add(series_at(f, series, &rest), time_ms, value, NULL);
}

static int by_place(const void *pa, const void *pb)
{
    const struct source_series *a = pa, *b = pb;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

/* What a source may pack: here the series itself. */
static uint32_t fixture_unpack(const void *packed, int64_t start_ms, int64_t end_ms, int64_t *times_ms, double *values)
{
    const struct fixture_series *s = packed;
    uint32_t n = 0;
    for (size_t k = 0; k < s->n; k++) {
        if (s->times_ms[k] > start_ms && s->times_ms[k] <= end_ms && !s->histograms[k]) {
            times_ms[n] = s->times_ms[k];
            values[n++] = s->values[k];
        }
    }
    return n;
}

/* Copies, which are gone with the scan, as those of a head. */
static int fixture_unpack_histograms(const void *packed, int64_t start_ms, int64_t end_ms, struct arena *a,
                                     int64_t *times_ms, const struct histogram **histograms, uint32_t *ret_n,
                                     struct err *e)
{
    const struct fixture_series *s = packed;
    uint32_t n = 0;
    for (size_t k = 0; k < s->n; k++) {
        if (s->times_ms[k] > start_ms && s->times_ms[k] <= end_ms && s->histograms[k]) {
            times_ms[n] = s->times_ms[k];
            histograms[n++] = histogram_copy(s->histograms[k], a);
        }
    }
    *ret_n = n;
    return arena_check(a, "query", e);
}

static uint32_t histograms_n(const struct fixture_series *s)
{
    uint32_t n = 0;
    for (size_t k = 0; k < s->n; k++)
        n += s->histograms[k] != NULL;
    return n;
}

static int answer(const struct fixture *f, const struct source_request *r, struct arena *a, struct source_result *ret)
{
    struct source_series *series = ARENA_ARRAY(a, struct source_series, f->series_n + 1);
    if (arena_failed(a))
        return ERR_LIMIT;
    uint32_t n = 0;
    for (size_t i = 0; i < f->series_n; i++) {
        const struct fixture_series *s = &f->series[i];
        if (!matchers_accept(r->matchers, r->matchers_n, &s->labels))
            continue;
        series[n++] = (struct source_series){.id = (uint32_t)i,
                                             .metric = s->metric,
                                             .ordinal = s->ordinal,
                                             .labels = s->labels,
                                             .store_to_ms = INT64_MIN,
                                             .raw_from_ms = r->start_ms,
                                             .packed = s,
                                             .packed_n = (uint32_t)s->n,
                                             .packed_histograms = s,
                                             .packed_histograms_n = histograms_n(s)};
    }
    qsort(series, n, sizeof *series, by_place);
    *ret = (struct source_result){.series = series,
                                  .series_n = n,
                                  .unpack = fixture_unpack,
                                  .unpack_histograms = fixture_unpack_histograms,
                                  .histograms_wanted = r->want_histograms,
                                  .watermark_ms = INT64_MAX};
    return 0;
}

static int fixture_snapshot(void *ctx, const struct source_request *requests, uint32_t n, struct arena *a,
                            struct source_result *ret, struct err *e)
{
    struct fixture *f = ctx;
    f->snapshots_n++;
    for (uint32_t i = 0; i < n; i++) {
        if (answer(f, &requests[i], a, &ret[i]) != 0)
            return arena_check(a, "query", e);
    }
    return 0;
}

static void fixture_release(void *ctx, struct source_result *results, uint32_t n)
{
    struct fixture *f = ctx;
    (void)results;
    (void)n;
    f->releases_n++;
}

void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.source = {.ctx = f, .snapshot = fixture_snapshot, .release = fixture_release}};
    arena_init(&f->arena, 0);
}

void fixture_done(struct fixture *f)
{
    for (size_t i = 0; i < f->series_n; i++) {
        mem_free(f->series[i].times_ms);
        mem_free(f->series[i].values);
        mem_free(f->series[i].histograms);
    }
    mem_free(f->series);
    arena_done(&f->arena);
    *f = (struct fixture){0};
}
