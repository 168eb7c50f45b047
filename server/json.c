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

static void series_begin(struct strbuf *b, const struct labels *l, const char *key, bool first)
{
    strbuf_add_z(b, first ? "{\"metric\":" : ",{\"metric\":");
    json_labels(b, l);
    strbuf_add_char(b, ',');
    json_key(b, key);
}

static bool vector(struct strbuf *b, const struct result *r, uint64_t series_max)
{
    uint64_t written = 0;
    for (uint32_t i = 0; i < r->series_n; i++) {
        if (value_absent(r->series[i].v[0]))
            continue;
        if (series_max && written == series_max)
            return true;
        series_begin(b, &r->series[i].labels, "value", written++ == 0);
        point(b, r->times.start_ms, r->series[i].v[0]);
        strbuf_add_char(b, '}');
    }
    return false;
}

static bool matrix(struct strbuf *b, const struct result *r, uint64_t series_max)
{
    for (uint32_t i = 0; i < r->series_n; i++) {
        bool first = true;
        if (series_max && i == series_max)
            return true;
        series_begin(b, &r->series[i].labels, "values", i == 0);
        strbuf_add_char(b, '[');
        uint32_t n = r->points_n ? r->points_n[i] : r->times.n;
        for (uint32_t k = 0; k < n; k++) {
            double v = r->points_n ? r->point_values[i][k] : r->series[i].v[k];
            if (!r->points_n && value_absent(v))
                continue;
            if (!first)
                strbuf_add_char(b, ',');
            first = false;
            point(b, r->points_n ? r->point_times_ms[i][k] : times_at(&r->times, k), v);
        }
        strbuf_add_z(b, "]}");
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
