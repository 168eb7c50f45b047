/* What is there: series, label names, label values, metadata of metrics. */
#include <stdlib.h>

#include "server/api.h"
#include "server/json.h"
#include "server/params.h"
#include "server/server_internal.h"

enum { WORK_MEMORY_MAX = 1 << 30 };

/* One call's arena, selectors and limit. Series that ended before `start` are left out of series lists; names and
 * values, and anything after `end`, come from the whole catalog, which does not know times: a superset. */
struct lookup {
    struct arena a;
    int64_t start_ms;
    struct selectors selectors;
    uint64_t limit;
    struct notes notes;
};

static int lookup_begin(struct lookup *l, const struct http_request *q, struct err *e)
{
    *l = (struct lookup){0};
    int64_t end_ms;
    arena_init(&l->a, WORK_MEMORY_MAX);
    l->notes.arena = &l->a;
    int code = params_limit(q, "limit", &l->limit, e);
    if (code == 0)
        code = params_time(q, "start", -PARAMS_TIME_MAX_MS, true, true, &l->start_ms, e);
    if (code == 0)
        code = params_time(q, "end", PARAMS_TIME_MAX_MS, true, true, &end_ms, e);
    if (code == 0 && end_ms < l->start_ms)
        code = err_set(e, ERR_BAD_DATA, "invalid parameter \"end\": end timestamp must not be before start time");
    if (code == 0)
        code = params_selectors(q, &l->a, &l->selectors, e);
    return code;
}

static void lookup_end(struct lookup *l, int code, struct http_response *r, const struct err *e)
{
    if (code != 0)
        http_error_json(r, e);
    else
        json_end(&r->body, &l->notes);
    selectors_done(&l->selectors);
    arena_done(&l->a);
}

static uint32_t cut(struct lookup *l, uint32_t n)
{
    if (l->limit == 0 || n <= l->limit)
        return n;
    notes_warn(&l->notes, "results truncated due to limit");
    return (uint32_t)l->limit;
}

/* ---- series ---- */

static int by_labels(const void *pa, const void *pb)
{
    return labels_cmp(pa, pb);
}

/* The label sets that any selector matches, each once, sorted. A snapshot of an empty span copies no samples, and lists
 * the series that have any after it. */
static int collect_series(struct server *s, struct lookup *l, struct labels **ret, uint32_t *ret_n, struct err *e)
{
    const struct source *source = s->executor.source;
    uint32_t selectors_n = l->selectors.n, n = 0;
    struct source_request *requests = ARENA_ARRAY(&l->a, struct source_request, selectors_n);
    struct source_result *results = arena_zalloc(&l->a, selectors_n * sizeof *results);
    int code = arena_check(&l->a, "request", e);
    if (code != 0)
        return code;
    int64_t at_ms = l->start_ms - 1;
    for (uint32_t i = 0; i < selectors_n; i++)
        requests[i] = (struct source_request){.matchers = l->selectors.v[i].matchers,
                                              .matchers_n = l->selectors.v[i].matchers_n,
                                              .start_ms = at_ms,
                                              .end_ms = at_ms};
    code = source->snapshot(source->ctx, requests, selectors_n, &l->a, results, e);
    uint64_t total = 0;
    for (uint32_t i = 0; code == 0 && i < selectors_n; i++)
        total += results[i].series_n;
    struct labels *all = code == 0 ? ARENA_ARRAY(&l->a, struct labels, total) : NULL;
    if (code == 0)
        code = arena_check(&l->a, "request", e);
    for (uint32_t i = 0; code == 0 && i < selectors_n; i++)
        for (uint32_t k = 0; k < results[i].series_n; k++)
            all[n++] = results[i].series[k].labels;
    source->release(source->ctx, results, selectors_n);
    if (code != 0)
        return code;
    qsort(all, n, sizeof *all, by_labels);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || labels_cmp(&all[i], &all[kept - 1]) != 0)
            all[kept++] = all[i];
    *ret = all;
    *ret_n = kept;
    return 0;
}

void api_series(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    struct lookup l;
    struct labels *series = NULL;
    uint32_t n = 0;
    int code = lookup_begin(&l, q, &e);
    if (code == 0 && l.selectors.n == 0)
        code = err_set(&e, ERR_BAD_DATA, "no match[] parameter provided");
    if (code == 0)
        code = collect_series(s, &l, &series, &n, &e);
    if (code == 0) {
        n = cut(&l, n);
        json_begin(&r->body);
        strbuf_add_char(&r->body, '[');
        for (uint32_t i = 0; i < n; i++) {
            if (i)
                strbuf_add_char(&r->body, ',');
            json_labels(&r->body, &series[i]);
        }
        strbuf_add_char(&r->body, ']');
    }
    lookup_end(&l, code, r, &e);
}

/* ---- names and values ---- */

/* Names (name empty) or values of a label, over all selectors, each once, sorted. */
static int collect_texts(struct server *s, struct lookup *l, struct str name, struct str **ret, uint32_t *ret_n,
                         struct err *e)
{
    const struct source *source = s->executor.source;
    uint32_t calls = l->selectors.n ? l->selectors.n : 1, n = 0;
    struct str *all = NULL;
    size_t cap = 0;
    for (uint32_t i = 0; i < calls; i++) {
        struct selector any = {0}, sel = l->selectors.n ? l->selectors.v[i] : any;
        struct str *part = NULL;
        uint32_t part_n = 0;
        int code = name.n
                       ? source->label_values(source->ctx, name, sel.matchers, sel.matchers_n, &l->a, &part, &part_n, e)
                       : source->label_names(source->ctx, sel.matchers, sel.matchers_n, &l->a, &part, &part_n, e);
        if (code != 0)
            return code;
        if (calls == 1) {
            *ret = part;
            *ret_n = part_n;
            return 0;
        }
        all = arena_grow(&l->a, all, &cap, n + part_n, sizeof *all);
        code = arena_check(&l->a, "request", e);
        if (code != 0)
            return code;
        memcpy(all + n, part, part_n * sizeof *part);
        n += part_n;
    }
    qsort(all, n, sizeof *all, str_order);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || !str_eq(all[i], all[kept - 1]))
            all[kept++] = all[i];
    *ret = all;
    *ret_n = kept;
    return 0;
}

static void answer_texts(struct server *s, struct http_request *q, struct http_response *r, struct str name)
{
    struct err e = {0};
    struct lookup l;
    struct str *texts = NULL;
    uint32_t n = 0;
    int code = lookup_begin(&l, q, &e);
    if (code == 0)
        code = collect_texts(s, &l, name, &texts, &n, &e);
    if (code == 0) {
        json_begin(&r->body);
        json_strings(&r->body, texts, cut(&l, n));
    }
    lookup_end(&l, code, r, &e);
}

void api_labels(struct server *s, struct http_request *q, struct http_response *r)
{
    answer_texts(s, q, r, (struct str){"", 0});
}

/* Prometheus' escaping of names that are no legacy ones: U__ first, then __ for _ and _HEX_ for any other character. */
static bool unescape_name(struct str name, struct strbuf *out)
{
    for (size_t i = 3; i < name.n; i++) {
        if (name.p[i] != '_') {
            strbuf_add_char(out, name.p[i]);
            continue;
        }
        if (i + 1 < name.n && name.p[i + 1] == '_') {
            strbuf_add_char(out, '_');
            i++;
            continue;
        }
        uint32_t point = 0, digits = 0;
        for (i++; i < name.n && name.p[i] != '_' && digits < 7; i++, digits++) {
            char c = name.p[i];
            uint32_t digit = char_is_digit(c) ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10);
            if (digit > 15)
                return false;
            point = point << 4 | digit;
        }
        char utf8[4];
        size_t n = digits && i < name.n && name.p[i] == '_' ? utf8_encode(point, utf8) : 0;
        if (n == 0)
            return false;
        strbuf_add(out, utf8, n);
    }
    return true;
}

void api_label_values(struct server *s, struct http_request *q, struct http_response *r)
{
    struct strbuf plain = {0};
    struct str name = q->capture;
    if (str_has_prefix(name, STR("U__")) && unescape_name(name, &plain))
        name = (struct str){plain.p, plain.n};
    if (name.n == 0 || !utf8_valid(name.p, name.n)) {
        struct strbuf quoted = {0};
        struct err e;
        strbuf_add_go_quoted(&quoted, name);
        err_set(&e, ERR_BAD_DATA, "invalid label name: %s", strbuf_z(&quoted));
        strbuf_done(&quoted);
        http_error_json(r, &e);
    } else {
        answer_texts(s, q, r, name);
    }
    strbuf_done(&plain);
}

/* ---- metadata ---- */

static void write_metadata(struct strbuf *b, const struct metadata_entry *m, uint32_t n, struct str metric,
                           uint64_t limit, uint64_t per_metric)
{
    uint64_t metrics_n = 0, of_metric = 0;
    strbuf_add_char(b, '{');
    for (uint32_t i = 0; i < n; i++) {
        if (metric.n && !str_eq(metric, m[i].metric))
            continue;
        bool again = metrics_n && of_metric && str_eq(m[i].metric, m[i - 1].metric);
        if (!again && limit && metrics_n == limit)
            break;
        if (again && per_metric && of_metric == per_metric)
            continue;
        if (again) {
            strbuf_add_char(b, ',');
            of_metric++;
        } else {
            strbuf_add_z(b, metrics_n++ ? "]," : "");
            strbuf_add_json_string(b, m[i].metric);
            strbuf_add_z(b, ":[");
            of_metric = 1;
        }
        strbuf_add_z(b, "{\"type\":");
        strbuf_add_json_string(b, m[i].type);
        strbuf_add_z(b, ",\"help\":");
        strbuf_add_json_string(b, m[i].help);
        strbuf_add_z(b, ",\"unit\":");
        strbuf_add_json_string(b, m[i].unit);
        strbuf_add_char(b, '}');
    }
    strbuf_add_z(b, metrics_n ? "]}" : "}");
}

void api_metadata(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    struct metadata_entry *entries = NULL;
    struct arena a;
    uint32_t n = 0;
    uint64_t limit = 0, per_metric = 0;
    arena_init(&a, WORK_MEMORY_MAX);
    int code = params_limit(q, "limit", &limit, &e);
    if (code == 0)
        code = params_limit(q, "limit_per_metric", &per_metric, &e);
    if (code == 0)
        code = ingest_metadata(s->ingest, &a, &entries, &n, &e);
    if (code == 0) {
        json_begin(&r->body);
        write_metadata(&r->body, entries, n, http_param(q, "metric"), limit, per_metric);
        json_end(&r->body, NULL);
    } else {
        http_error_json(r, &e);
    }
    arena_done(&a);
}
