#include "cmd/query_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <time.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "base/histogram.h"
#include "base/labels.h"

/* {job="a", x="b"}, with the name before it. */
static void add_metric(json_t *metric, struct arena *a, struct strbuf *out)
{
    struct label *pairs = ARENA_ARRAY(a, struct label, json_object_size(metric));
    uint32_t n = 0;
    const char *name;
    json_t *value;
    if (!pairs)
        return;
    json_object_foreach(metric, name, value)
    {
        if (json_is_string(value))
            pairs[n++] = (struct label){str_of(name), {json_string_value(value), json_string_length(value)}};
    }
    labels_sort(pairs, n);
    struct labels l = {pairs, n};
    labels_print(&l, out);
}

static void time_text(json_t *t, char ret[40])
{
    int64_t ms = llround(json_number_value(t) * 1000);
    time_t seconds = (time_t)floor_div(ms, 1000);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc)) {
        snprintf(ret, 40, "%.3f", json_number_value(t));
        return;
    }
    size_t n = strftime(ret, 40, "%Y-%m-%dT%H:%M:%S", &utc);
    if (floor_mod(ms, 1000))
        n += (size_t)snprintf(ret + n, 40 - n, ".%03d", (int)floor_mod(ms, 1000));
    snprintf(ret + n, 40 - n, "Z");
}

struct printer {
    enum query_format format;
    FILE *out;
    int width; /* of the series column */
};

static void csv_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* {count:6, sum:-2.5, [-2,-1):3, (0.5,1]:2}, of a histogram's JSON. */
static void add_histogram(json_t *h, struct strbuf *out)
{
    json_t *buckets = json_object_get(h, "buckets");
    const char *count = json_string_value(json_object_get(h, "count")),
               *sum = json_string_value(json_object_get(h, "sum"));
    strbuf_printf(out, "{count:%s, sum:%s", count ? count : "", sum ? sum : "");
    for (size_t i = 0; i < json_array_size(buckets); i++) {
        json_t *bucket = json_array_get(buckets, i);
        json_int_t rule = json_integer_value(json_array_get(bucket, 0));
        const char *part[3];
        for (size_t k = 0; k < 3; k++) {
            const char *text = json_string_value(json_array_get(bucket, k + 1));
            part[k] = text ? text : "";
        }
        strbuf_printf(out, ", %c%s,%s%c:%s", rule == HISTOGRAM_LOWER_IN || rule == HISTOGRAM_BOTH_IN ? '[' : '(',
                      part[0], part[1], rule == HISTOGRAM_UPPER_IN || rule == HISTOGRAM_BOTH_IN ? ']' : ')', part[2]);
    }
    strbuf_add_char(out, '}');
}

static void print_point(const struct printer *p, const char *series, json_t *point)
{
    char at[40];
    json_t *what = json_array_get(point, 1);
    struct strbuf histogram = {0};
    const char *value = json_string_value(what);
    time_text(json_array_get(point, 0), at);
    if (json_is_object(what))
        add_histogram(what, &histogram);
    if (p->format == QUERY_CSV) {
        csv_text(p->out, series);
        fprintf(p->out, ",%s,", at);
        if (json_is_object(what))
            csv_text(p->out, strbuf_z(&histogram));
        fprintf(p->out, "%s\n", value ? value : "");
    } else {
        fprintf(p->out, "%-*s  %s  %s\n", p->width, series, at,
                json_is_object(what) ? strbuf_z(&histogram)
                : value              ? value
                                     : "");
    }
    strbuf_done(&histogram);
}

static void print_points(const struct printer *p, const char *series, json_t *points)
{
    for (size_t k = 0; k < json_array_size(points); k++)
        print_point(p, series, json_array_get(points, k));
}

/* Two walks for a table: the first finds the width of its first column. */
static void print_series(struct printer *p, json_t *result, struct arena *a)
{
    enum { WIDTH_MAX = 100 };
    size_t n = json_array_size(result);
    struct strbuf text = {0};
    for (int walk = p->format == QUERY_CSV ? 1 : 0; walk < 2; walk++) {
        for (size_t i = 0; i < n; i++) {
            json_t *series = json_array_get(result, i);
            static const char *const one[] = {"value", "histogram"};
            strbuf_clear(&text);
            add_metric(json_object_get(series, "metric"), a, &text);
            if (text.n == 0)
                strbuf_add_z(&text, "{}");
            if (walk == 0) {
                int width = text.n > WIDTH_MAX ? WIDTH_MAX : (int)text.n;
                p->width = width > p->width ? width : p->width;
                continue;
            }
            print_points(p, strbuf_z(&text), json_object_get(series, "values"));
            print_points(p, strbuf_z(&text), json_object_get(series, "histograms"));
            for (size_t k = 0; k < 2; k++) {
                json_t *point = json_object_get(series, one[k]);
                if (point)
                    print_point(p, strbuf_z(&text), point);
            }
        }
    }
    strbuf_done(&text);
}

static void print_notes(json_t *answer, const char *key)
{
    json_t *notes = json_object_get(answer, key);
    for (size_t i = 0; i < json_array_size(notes); i++)
        fprintf(stderr, "%.*s: %s\n", (int)strlen(key) - 1, key, json_string_value(json_array_get(notes, i)));
}

static int print_answer(json_t *answer, enum query_format format, FILE *out, struct err *e)
{
    json_t *data = json_object_get(answer, "data"), *result = json_object_get(data, "result");
    const char *type = json_string_value(json_object_get(data, "resultType"));
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (error)
        return err_set(e, ERR_EXECUTION, "%s", error);
    if (!type || !json_is_array(result))
        return err_set(e, ERR_BAD_DATA, "the answer is no query result");
    struct printer p = {.format = format, .out = out};
    struct arena a;
    arena_init(&a, 0);
    if (format == QUERY_CSV)
        fputs("series,time,value\n", out);
    if (strcmp(type, "scalar") == 0 || strcmp(type, "string") == 0)
        print_point(&p, type, result);
    else
        print_series(&p, result, &a);
    if (format == QUERY_TABLE && json_array_size(result) == 0)
        fputs("no series\n", stderr);
    arena_done(&a);
    print_notes(answer, "warnings");
    print_notes(answer, "infos");
    return 0;
}

int query_print(struct str body, enum query_format format, FILE *out, struct err *e)
{
    json_error_t where;
    json_t *answer = json_loadb(body.p ? body.p : "", body.n, JSON_ALLOW_NUL, &where);
    if (!answer)
        return err_set(e, ERR_BAD_DATA, "the answer is no JSON: %.*s", (int)(body.n > 200 ? 200 : body.n), body.p);
    int code = 0;
    if (format == QUERY_JSON && !json_object_get(answer, "error")) {
        fwrite(body.p, 1, body.n, out);
        fputc('\n', out);
    } else {
        code = print_answer(answer, format, out, e);
    }
    json_decref(answer);
    return code;
}
