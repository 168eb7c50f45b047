#include "server/json.h"

#include "base/float_text.h"

void json_begin(struct strbuf *b)
{
    strbuf_add_z(b, "{\"status\":\"success\",\"data\":");
}

void json_strings(struct strbuf *b, const struct str *v, uint32_t n)
{
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            strbuf_add_char(b, ',');
        strbuf_add_json_string(b, v[i]);
    }
    strbuf_add_char(b, ']');
}

void json_end(struct strbuf *b, const struct notes *notes)
{
    if (notes && notes->warnings_n) {
        strbuf_add_z(b, ",\"warnings\":");
        json_strings(b, notes->warnings, notes->warnings_n);
    }
    if (notes && notes->infos_n) {
        strbuf_add_z(b, ",\"infos\":");
        json_strings(b, notes->infos, notes->infos_n);
    }
    strbuf_add_char(b, '}');
}

void json_key(struct strbuf *b, const char *key)
{
    strbuf_add_json_string(b, str_of(key));
    strbuf_add_char(b, ':');
}

void json_key_text(struct strbuf *b, const char *key, const char *value)
{
    json_key(b, key);
    strbuf_add_json_string(b, str_of(value));
}

void json_labels(struct strbuf *b, const struct labels *l)
{
    strbuf_add_char(b, '{');
    for (uint32_t i = 0; i < l->n; i++) {
        if (i)
            strbuf_add_char(b, ',');
        strbuf_add_json_string(b, l->v[i].name);
        strbuf_add_char(b, ':');
        strbuf_add_json_string(b, l->v[i].value);
    }
    strbuf_add_char(b, '}');
}

/* [1435781451.781,"0.5"] */
static void point(struct strbuf *b, int64_t t_ms, double v)
{
    strbuf_add_char(b, '[');
    strbuf_add_time_ms(b, t_ms);
    strbuf_add_z(b, ",\"");
    strbuf_add_float(b, v);
    strbuf_add_z(b, "\"]");
}

/* [1435781451.781,{"count":"2","sum":"3","buckets":[[3,"-0.1","0.1","2"]]}]; buckets without observations are left out.
 * A bucket's first number says which bounds are its own: enum histogram_rule. */
static void histogram_point(struct strbuf *b, int64_t t_ms, const struct histogram *h)
{
    struct histogram_buckets it;
    struct histogram_bucket bucket;
    bool any = false;
    strbuf_add_char(b, '[');
    strbuf_add_time_ms(b, t_ms);
    strbuf_add_z(b, ",{\"count\":\"");
    strbuf_add_float(b, h->count);
    strbuf_add_z(b, "\",\"sum\":\"");
    strbuf_add_float(b, h->sum);
    strbuf_add_char(b, '"');
    histogram_buckets_begin(&it, h, false);
    while (histogram_buckets_next(&it, &bucket)) {
        if (bucket.count == 0)
            continue;
        strbuf_printf(b, "%s[%d,\"", any ? "," : ",\"buckets\":[", (int)bucket.rule);
        any = true;
        strbuf_add_float(b, bucket.lower);
        strbuf_add_z(b, "\",\"");
        strbuf_add_float(b, bucket.upper);
        strbuf_add_z(b, "\",\"");
        strbuf_add_float(b, bucket.count);
        strbuf_add_z(b, "\"]");
    }
    strbuf_add_z(b, any ? "]}]" : "}]");
}

static void series_begin(struct strbuf *b, const struct labels *l, bool first)
{
    strbuf_add_z(b, first ? "{\"metric\":" : ",{\"metric\":");
    json_labels(b, l);
}

static bool vector(struct strbuf *b, const struct result *r, uint64_t series_max)
{
    uint64_t written = 0;
    for (uint32_t i = 0; i < r->series_n; i++) {
        if (value_absent(r->series[i].v[0]))
            continue;
        if (series_max && written == series_max)
            return true;
        const struct result_series *s = &r->series[i];
        bool histogram = s->h && float_is_histogram(s->v[0]);
        series_begin(b, &s->labels, written++ == 0);
        strbuf_add_char(b, ',');
        json_key(b, histogram ? "histogram" : "value");
        if (histogram)
            histogram_point(b, r->times.start_ms, s->h[0]);
        else
            point(b, r->times.start_ms, s->v[0]);
        strbuf_add_char(b, '}');
    }
    return false;
}

/* The points of one series of a matrix: one per evaluation time, or as many as it has. */
struct points {
    const struct times *times; /* NULL: times_ms */
    const int64_t *times_ms;
    const double *values; /* VALUE_ABSENT: none */
    const struct histogram *const *histograms;
    uint32_t n;
};

static struct points points_of(const struct result *r, uint32_t series)
{
    if (r->points_n)
        return (struct points){NULL, r->point_times_ms[series], r->point_values[series],
                               r->point_histograms ? r->point_histograms[series] : NULL, r->points_n[series]};
    return (struct points){&r->times, NULL, r->series[series].v, r->series[series].h, r->times.n};
}

/* ,"values":[...] or ,"histograms":[...], if there are any. */
static void points_list(struct strbuf *b, const struct points *p, bool histograms)
{
    bool any = false;
    for (uint32_t k = 0; k < p->n; k++) {
        bool histogram = p->histograms && float_is_histogram(p->values[k]);
        if (value_absent(p->values[k]) || histogram != histograms)
            continue;
        strbuf_add_char(b, ',');
        if (!any) {
            json_key(b, histograms ? "histograms" : "values");
            strbuf_add_char(b, '[');
        }
        any = true;
        int64_t t_ms = p->times ? times_at(p->times, k) : p->times_ms[k];
        if (histogram)
            histogram_point(b, t_ms, p->histograms[k]);
        else
            point(b, t_ms, p->values[k]);
    }
    if (any)
        strbuf_add_char(b, ']');
}

static bool matrix(struct strbuf *b, const struct result *r, uint64_t series_max)
{
    for (uint32_t i = 0; i < r->series_n; i++) {
        struct points p = points_of(r, i);
        if (series_max && i == series_max)
            return true;
        series_begin(b, &r->series[i].labels, i == 0);
        points_list(b, &p, false);
        if (p.histograms)
            points_list(b, &p, true);
        strbuf_add_char(b, '}');
    }
    return false;
}

/* A scalar of a range query is a matrix of one series without labels; the executor says MATRIX then. */
bool json_result(struct strbuf *b, const struct result *r, uint64_t series_max)
{
    bool cut = false;
    strbuf_add_char(b, '{');
    switch (r->type) {
    case VALUE_SCALAR:
        strbuf_add_z(b, "\"resultType\":\"scalar\",\"result\":");
        point(b, r->times.start_ms, r->v[0]);
        break;
    case VALUE_STRING:
        strbuf_add_z(b, "\"resultType\":\"string\",\"result\":[");
        strbuf_add_time_ms(b, r->times.start_ms);
        strbuf_add_char(b, ',');
        strbuf_add_json_string(b, r->string);
        strbuf_add_char(b, ']');
        break;
    case VALUE_MATRIX:
        strbuf_add_z(b, "\"resultType\":\"matrix\",\"result\":[");
        cut = matrix(b, r, series_max);
        strbuf_add_char(b, ']');
        break;
    default:
        strbuf_add_z(b, "\"resultType\":\"vector\",\"result\":[");
        cut = vector(b, r, series_max);
        strbuf_add_char(b, ']');
        break;
    }
    return cut;
}
