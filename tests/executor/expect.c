#include "expect.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "fixture_histogram.h"

enum { VALUES_MAX = 4096, LINES_MAX = 4096 };

static int64_t ms_of(double s)
{
    return llround(s * 1000);
}

int fixture_query(struct fixture *f, const char *query, double start_s, double end_s, double step_s, struct arena *a,
                  struct result *ret, struct err *e)
{
    struct executor x = {.source = &f->source};
    struct query_options o = {.start_ms = ms_of(start_s), .end_ms = ms_of(end_s), .step_ms = ms_of(step_s)};
    *e = (struct err){0};
    int snapshots_n = f->snapshots_n, releases_n = f->releases_n;
    int code = query_run(&x, str_of(query), &o, a, ret, e);
    ck_assert_msg(code == e->code, "%s: returned %d, but the err says %d", query, code, e->code);
    ck_assert_msg(f->snapshots_n <= snapshots_n + 1, "%s: more than one snapshot", query);
    ck_assert_msg(f->releases_n - releases_n == f->snapshots_n - snapshots_n, "%s: snapshot not released", query);
    return code;
}

static bool close_to(double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want))
        return got == want;
    return fabs(got - want) <= 1e-9 * fmax(fabs(got), fabs(want)) || fabs(got - want) < 1e-300;
}

struct want_line {
    struct labels labels;
    double *v; /* VALUE_ABSENT for `_` */
    const struct histogram **h;
};

/* The next bucket that has observations. */
static bool next_bucket(struct histogram_buckets *it, struct histogram_bucket *ret)
{
    while (histogram_buckets_next(it, ret)) {
        if (ret->count != 0)
            return true;
    }
    return false;
}

static bool same_histogram(const struct histogram *got, const struct histogram *want)
{
    struct histogram_buckets a, b;
    struct histogram_bucket x = {0}, y = {0};
    bool more_a, more_b;
    if (!close_to(got->count, want->count) || !close_to(got->sum, want->sum))
        return false;
    histogram_buckets_begin(&a, got, false);
    histogram_buckets_begin(&b, want, false);
    do {
        more_a = next_bucket(&a, &x);
        more_b = next_bucket(&b, &y);
        if (more_a != more_b)
            return false;
        if (more_a && !(close_to(x.lower, y.lower) && close_to(x.upper, y.upper) && close_to(x.count, y.count) &&
                        x.rule == y.rule))
            return false;
    } while (more_a);
    return true;
}

static const struct histogram *result_histogram(const struct result_series *s, uint32_t k)
{
    return s->h && float_is_histogram(s->v[k]) ? s->h[k] : NULL;
}

/* Lines into want[]; `steps` values each. */
static size_t parse_lines(const char *text, uint32_t steps, struct arena *a, struct want_line *want)
{
    size_t n = 0;
    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n"), *p = line + strspn(line, " \t");
        if (p < end) {
            ck_assert(n < LINES_MAX);
            p = fixture_parse_labels(p, a, &want[n].labels);
            want[n].v = ARENA_ARRAY(a, double, steps);
            want[n].h = arena_zalloc(a, steps * sizeof(const struct histogram *));
            for (uint32_t i = 0; i < steps; i++) {
                p += strspn(p, " \t");
                if (strncmp(p, "{{", 2) == 0) {
                    want[n].h[i] = fixture_parse_histogram(p, a, &p);
                    continue;
                }
                char *rest = (char *)(uintptr_t)p + 1;
                want[n].v[i] = *p == '_' ? float_stale() : strtod(p, &rest);
                ck_assert_msg(rest > p && rest <= end, "%u values are wanted in: %.*s", steps, (int)(end - line), line);
                p = rest;
            }
            n++;
        }
        line = end + (*end == '\n');
    }
    return n;
}

static void print_result(const struct result *r, struct strbuf *out)
{
    for (uint32_t i = 0; i < r->series_n; i++) {
        labels_print(&r->series[i].labels, out);
        for (uint32_t k = 0; k < r->times.n; k++) {
            strbuf_add_char(out, ' ');
            const struct histogram *h = result_histogram(&r->series[i], k);
            if (value_absent(r->series[i].v[k]))
                strbuf_add_char(out, '_');
            else if (h)
                histogram_text(h, out);
            else
                strbuf_add_float(out, r->series[i].v[k]);
        }
        strbuf_add_char(out, '\n');
    }
}

static bool same_series(const struct result_series *got, const struct want_line *want, uint32_t steps)
{
    if (!labels_eq(&got->labels, &want->labels))
        return false;
    for (uint32_t k = 0; k < steps; k++) {
        const struct histogram *h = result_histogram(got, k);
        if (!h != !want->h[k] || (h && !same_histogram(h, want->h[k])))
            return false;
        if (h)
            continue;
        if (value_absent(got->v[k]) != value_absent(want->v[k]))
            return false;
        if (!value_absent(got->v[k]) && !close_to(got->v[k], want->v[k]))
            return false;
    }
    return true;
}

static void compare_series(const char *query, const struct result *r, const char *expected, struct arena *a)
{
    bool ordered = strncmp(expected, "ordered", 7) == 0;
    struct want_line *want = ARENA_ARRAY(a, struct want_line, LINES_MAX);
    size_t want_n = parse_lines(expected + (ordered ? 7 : 0), r->times.n, a, want);
    bool ok = want_n == r->series_n;
    for (size_t i = 0; ok && i < want_n; i++) {
        if (ordered) {
            ok = same_series(&r->series[i], &want[i], r->times.n);
            continue;
        }
        ok = false;
        for (uint32_t k = 0; !ok && k < r->series_n; k++)
            ok = same_series(&r->series[k], &want[i], r->times.n);
    }
    if (!ok) {
        struct strbuf out = {0};
        print_result(r, &out);
        ck_abort_msg("%s\n  want:\n%s\n  got:\n%s", query, expected, strbuf_z(&out));
    }
}

static void compare_instant(const char *query, const struct result *r, const char *expected, struct arena *a)
{
    if (r->type == VALUE_SCALAR) {
        ck_assert_msg(close_to(r->v[0], strtod(expected, NULL)), "%s: want %s, got %.17g", query, expected, r->v[0]);
    } else if (r->type == VALUE_STRING) {
        size_t n = strlen(expected);
        ck_assert_msg(n >= 2 && str_eq(r->string, (struct str){expected + 1, n - 2}),
                      "%s: want %s, got \"" STR_FMT "\"", query, expected, STR_ARG(r->string));
    } else {
        ck_assert_msg(r->type == VALUE_VECTOR, "%s: a %s", query, value_type_name(r->type));
        compare_series(query, r, expected, a);
    }
}

/* The vector at the instant must stand in the middle step of a range query, bit by bit. */
static void compare_range_step(struct fixture *f, const char *query, double at_s, const struct result *instant,
                               struct arena *a)
{
    struct result r;
    struct err e;
    int code = fixture_query(f, query, at_s - 45, at_s + 45, 45, a, &r, &e);
    /* What is refused at a neighbouring step says nothing about this one. */
    if (code != 0)
        return;
    if (instant->type == VALUE_SCALAR) {
        ck_assert_msg(r.series_n == 1 && memcmp(&r.series[0].v[1], &instant->v[0], 8) == 0,
                      "%s: instant %.17g, range differs", query, instant->v[0]);
        return;
    }
    uint32_t found = 0;
    for (uint32_t i = 0; i < r.series_n; i++) {
        if (value_absent(r.series[i].v[1]))
            continue;
        found++;
        bool same = false;
        for (uint32_t k = 0; k < instant->series_n; k++) {
            const struct histogram *h = result_histogram(&instant->series[k], 0),
                                   *other = result_histogram(&r.series[i], 1);
            same |= labels_eq(&instant->series[k].labels, &r.series[i].labels) &&
                    memcmp(&instant->series[k].v[0], &r.series[i].v[1], 8) == 0 && !h == !other &&
                    (!h || histogram_equal(h, other));
        }
        ck_assert_msg(same, "%s: the range query's step at %g s differs from the instant query", query, at_s);
    }
    ck_assert_msg(found == instant->series_n, "%s: instant has %u series, the range query's step %u", query,
                  instant->series_n, found);
}

void expect(struct fixture *f, const char *query, double at_s, const char *expected)
{
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, 0);
    ck_assert_msg(fixture_query(f, query, at_s, at_s, 0, &a, &r, &e) == 0, "%s: %s", query, e.message);
    compare_instant(query, &r, expected, &a);
    /* start(), end(), step() and range() make a query another one when it is asked as a range. */
    bool depends = strstr(query, "start()") || strstr(query, "end()") || strstr(query, "step()") ||
                   strstr(query, "range()") || strstr(query, "limitk") || strstr(query, "limit_ratio");
    if (r.type != VALUE_STRING && !depends)
        compare_range_step(f, query, at_s, &r, &a);
    arena_done(&a);
}

void expect_range(struct fixture *f, const char *query, double start_s, double end_s, double step_s,
                  const char *expected)
{
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, 0);
    ck_assert_msg(fixture_query(f, query, start_s, end_s, step_s, &a, &r, &e) == 0, "%s: %s", query, e.message);
    ck_assert_msg(r.type == VALUE_MATRIX, "%s: a %s", query, value_type_name(r.type));
    compare_series(query, &r, expected, &a);
    arena_done(&a);
}

void expect_error(struct fixture *f, const char *query, double at_s, int code, const char *part)
{
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, 0);
    int got = fixture_query(f, query, at_s, at_s, 0, &a, &r, &e);
    ck_assert_msg(got == code, "%s: want %s, got %s (%s)", query, err_name(code), err_name(got), e.message);
    ck_assert_msg(strstr(e.message, part) != NULL, "%s: want \"%s\" in: %s", query, part, e.message);
    arena_done(&a);
}

static void expect_note(struct fixture *f, const char *query, double at_s, const char *part, bool warning)
{
    struct arena a;
    struct result r;
    struct err e;
    arena_init(&a, 0);
    ck_assert_msg(fixture_query(f, query, at_s, at_s, 0, &a, &r, &e) == 0, "%s: %s", query, e.message);
    const struct str *texts = warning ? r.notes.warnings : r.notes.infos;
    uint32_t n = warning ? r.notes.warnings_n : r.notes.infos_n;
    bool found = false;
    for (uint32_t i = 0; part && i < n; i++)
        found |= memmem(texts[i].p, texts[i].n, part, strlen(part)) != NULL;
    if (part)
        ck_assert_msg(found, "%s: no note with \"%s\" among %u", query, part, n);
    else
        ck_assert_msg(n == 0, "%s: no note is wanted, got: " STR_FMT, query, STR_ARG(texts[0]));
    arena_done(&a);
}

void expect_warning(struct fixture *f, const char *query, double at_s, const char *part)
{
    expect_note(f, query, at_s, part, true);
}

void expect_info(struct fixture *f, const char *query, double at_s, const char *part)
{
    expect_note(f, query, at_s, part, false);
}
