#include "cmd/load_read.h"

#include <jansson.h>
#include <math.h>

#include "base/duration.h"
#include "base/float_text.h"
#include "promql/parse.h"

enum load_format load_format_of(const char *path)
{
    static const struct {
        const char *end;
        enum load_format format;
    } ends[] = {{".jsonl", LOAD_JSONL},     {".json", LOAD_JSONL},     {".csv", LOAD_CSV},
                {".txt", LOAD_OPENMETRICS}, {".om", LOAD_OPENMETRICS}, {".prom", LOAD_OPENMETRICS}};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i].end);
        if (n > m && strcmp(path + n - m, ends[i].end) == 0)
            return ends[i].format;
    }
    return 0;
}

static struct str trim(struct str s)
{
    while (s.n && strchr(" \t\r", s.p[0]))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n && strchr(" \t\r", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* name{a="b"} is a selector of equalities: the parser of queries reads it, quoted names included. */
static int series_labels(struct str text, struct arena *a, struct labels *ret, struct err *e)
{
    struct parsed parsed;
    int code = promql_parse_selector(text, a, &parsed, e);
    if (code != 0)
        return code;
    const struct expr *s = parsed.root;
    struct label *pairs = ARENA_ARRAY(a, struct label, s->matchers_n);
    uint32_t n = 0;
    code = arena_check(a, "a line", e);
    for (uint32_t i = 0; code == 0 && i < s->matchers_n; i++) {
        if (s->matchers[i].op != MATCH_EQ)
            code = err_set(e, ERR_BAD_DATA, "a label is written name=\"value\"");
        else if (s->matchers[i].value.n)
            pairs[n++] = (struct label){s->matchers[i].name, s->matchers[i].value};
    }
    if (code == 0 && !labels_sort(pairs, n))
        code = err_set(e, ERR_BAD_DATA, "a label stands twice");
    parsed_done(&parsed);
    if (code == 0)
        *ret = (struct labels){pairs, n};
    return code;
}

static int one_sample(struct str series, double value, int64_t time_ms, struct arena *a, struct load_series *ret,
                      struct err *e)
{
    struct load_series s = {.n = 1};
    int code = series_labels(series, a, &s.labels, e);
    s.times_ms = arena_dup(a, &time_ms, sizeof time_ms);
    s.values = arena_dup(a, &value, sizeof value);
    if (code == 0)
        code = arena_check(a, "a line", e);
    if (code == 0)
        *ret = s;
    return code;
}

/* The last word of a line, taken off it. */
static struct str last_word(struct str *line)
{
    size_t at = line->n;
    while (at > 0 && line->p[at - 1] != ' ' && line->p[at - 1] != '\t')
        at--;
    struct str word = {line->p + at, line->n - at};
    *line = trim((struct str){line->p, at});
    return word;
}

static int read_openmetrics(struct str line, struct arena *a, struct load_series *ret, struct err *e)
{
    double seconds, value;
    const char *exemplar = line.n ? memmem(line.p, line.n, " # {", 4) : NULL;
    if (exemplar)
        line = trim((struct str){line.p, (size_t)(exemplar - line.p)});
    struct str time = last_word(&line), number = last_word(&line);
    if (line.n == 0 || !float_parse(number, &value) || !float_parse(time, &seconds) || !(fabs(seconds) < 1e12))
        return err_set(e, ERR_BAD_DATA, "a sample is written name{labels} value timestamp, the timestamp in seconds");
    /* Prometheus' own text format counts milliseconds: no sample is that far ahead in seconds. */
    if (fabs(seconds) > 1e11)
        seconds /= 1000;
    return one_sample(line, value, llround(seconds * 1000), a, ret, e);
}

/* "name{a=""b""}",2026-01-02T03:04:05Z,1.5 */
static int read_csv(struct str line, struct arena *a, struct load_series *ret, struct err *e)
{
    int64_t time_ms;
    double value;
    struct strbuf series = {0};
    size_t i = 0;
    bool quoted = line.n && line.p[0] == '"', closed = !quoted;
    for (i = quoted; i < line.n; i++) {
        if (quoted && line.p[i] == '"') {
            if (i + 1 >= line.n || line.p[i + 1] != '"') {
                closed = true;
                i++;
                break;
            }
            i++;
        } else if (!quoted && line.p[i] == ',') {
            break;
        }
        strbuf_add_char(&series, line.p[i]);
    }
    const char *comma = i + 1 < line.n ? memchr(line.p + i + 1, ',', line.n - i - 1) : NULL;
    int code = err_set(e, ERR_BAD_DATA, "a line is written series,time,value");
    if (closed && comma && line.p[i] == ',') {
        struct str time = {line.p + i + 1, (size_t)(comma - line.p) - i - 1};
        struct str number = {comma + 1, (size_t)(line.p + line.n - comma) - 1};
        if (time_parse(trim(time), &time_ms, e) == 0 && float_parse(trim(number), &value))
            code = one_sample((struct str){series.p, series.n}, value, time_ms, a, ret, e);
        else
            err_set(e, ERR_BAD_DATA, "a line is written series,time,value: the time or the value is none");
    }
    strbuf_done(&series);
    return code;
}

static int json_labels_of(json_t *metric, struct arena *a, struct labels *ret, struct err *e)
{
    struct label *pairs = ARENA_ARRAY(a, struct label, json_object_size(metric));
    uint32_t n = 0;
    const char *name;
    json_t *value;
    int code = arena_check(a, "a line", e);
    if (code != 0)
        return code;
    json_object_foreach(metric, name, value)
    {
        size_t value_n = json_string_length(value), name_n = strlen(name);
        if (!json_is_string(value))
            return err_set(e, ERR_BAD_DATA, "metric: the value of label %s is no string", name);
        const char *v = arena_strndup(a, json_string_value(value), value_n), *k = arena_strndup(a, name, name_n);
        if (value_n && v && k)
            pairs[n++] = (struct label){{k, name_n}, {v, value_n}};
    }
    labels_sort(pairs, n);
    *ret = (struct labels){pairs, n};
    return arena_check(a, "a line", e);
}

/* null and the strings NaN, Inf, -Inf are how exports write what JSON has no number for. */
static bool json_value(json_t *v, double *ret)
{
    if (json_is_number(v)) {
        *ret = json_number_value(v);
        return true;
    }
    if (json_is_null(v)) {
        *ret = NAN;
        return true;
    }
    return json_is_string(v) && float_parse((struct str){json_string_value(v), json_string_length(v)}, ret);
}

static int read_json_root(json_t *root, struct arena *a, struct load_series *ret, struct err *e)
{
    json_t *metric = json_object_get(root, "metric"), *values = json_object_get(root, "values");
    json_t *times = json_object_get(root, "timestamps");
    size_t n = json_array_size(values);
    if (!json_is_object(metric) || !json_is_array(values) || json_array_size(times) != n || n > UINT32_MAX)
        return err_set(e, ERR_BAD_DATA,
                       "a line is {\"metric\":{..},\"values\":[..],\"timestamps\":[..]}, both lists of one length");
    struct load_series s = {.n = (uint32_t)n};
    int64_t *t = ARENA_ARRAY(a, int64_t, n);
    double *v = ARENA_ARRAY(a, double, n);
    int code = json_labels_of(metric, a, &s.labels, e);
    if (code != 0)
        return code;
    for (size_t i = 0; i < n; i++) {
        json_t *time = json_array_get(times, i);
        if (!json_is_integer(time) || !json_value(json_array_get(values, i), &v[i]))
            return err_set(e, ERR_BAD_DATA, "sample %zu: a timestamp is whole milliseconds, a value a number", i + 1);
        t[i] = json_integer_value(time);
    }
    s.times_ms = t;
    s.values = v;
    *ret = s;
    return 0;
}

static int read_jsonl(struct str line, struct arena *a, struct load_series *ret, struct err *e)
{
    json_error_t where;
    json_t *root = json_loadb(line.p, line.n, JSON_DECODE_ANY, &where);
    if (!root)
        return err_set(e, ERR_BAD_DATA, "no JSON: %s (column %d)", where.text, where.column);
    int code = read_json_root(root, a, ret, e);
    json_decref(root);
    return code;
}

int load_line(enum load_format format, struct str line, struct arena *a, struct load_series *ret, struct err *e)
{
    line = trim(line);
    *ret = (struct load_series){0};
    if (line.n == 0 || (format != LOAD_JSONL && line.p[0] == '#'))
        return 0;
    if (format == LOAD_CSV && str_eq(line, STR("series,time,value")))
        return 0;
    return format == LOAD_JSONL ? read_jsonl(line, a, ret, e)
           : format == LOAD_CSV ? read_csv(line, a, ret, e)
                                : read_openmetrics(line, a, ret, e);
}
