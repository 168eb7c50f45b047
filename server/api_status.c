/*
 * What clients ask of any Prometheus: build, runtime, flags, and the things mullion has none of (rules, alerts,
 * targets, exemplars), empty but in shape. Also the paths of operators: healthy, ready, reload, and "/".
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "promql/parse.h"
#include "server/api.h"
#include "server/json.h"
#include "server/params.h"
#include "server/reload.h"
#include "server/server_internal.h"

static void constant(struct http_response *r, const char *data)
{
    json_begin(&r->body);
    strbuf_add_z(&r->body, data);
    json_end(&r->body, NULL);
}

void api_rules(struct server *s, struct http_request *q, struct http_response *r)
{
    constant(r, "{\"groups\":[]}");
}

void api_alerts(struct server *s, struct http_request *q, struct http_response *r)
{
    constant(r, "{\"alerts\":[]}");
}

void api_targets(struct server *s, struct http_request *q, struct http_response *r)
{
    constant(r, "{\"activeTargets\":[],\"droppedTargets\":[],\"droppedTargetCounts\":{}}");
}

void api_alertmanagers(struct server *s, struct http_request *q, struct http_response *r)
{
    constant(r, "{\"activeAlertmanagers\":[],\"droppedAlertmanagers\":[]}");
}

/* No exemplars are kept; the parameters are checked all the same, as Prometheus does. */
void api_query_exemplars(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    struct arena a;
    struct parsed parsed;
    int64_t start_ms, end_ms;
    arena_init(&a, 64 << 20);
    int code = params_time(q, "start", -PARAMS_TIME_MAX_MS, true, true, &start_ms, &e);
    if (code == 0)
        code = params_time(q, "end", PARAMS_TIME_MAX_MS, true, true, &end_ms, &e);
    if (code == 0 && end_ms < start_ms)
        code = err_set(&e, ERR_BAD_DATA, "end timestamp must not be before start timestamp");
    if (code == 0) {
        code = promql_parse(http_param(q, "query"), &a, &parsed, &e);
        if (code == 0)
            parsed_done(&parsed);
    }
    if (code == 0)
        constant(r, "[]");
    else
        http_error_json(r, &e);
    arena_done(&a);
}

void api_buildinfo(struct server *s, struct http_request *q, struct http_response *r)
{
    constant(r, "{\"version\":\"" MULLION_VERSION "\",\"revision\":\"\",\"branch\":\"\",\"buildUser\":\"\","
                "\"buildDate\":\"\",\"goVersion\":\"\",\"application\":\"mullion\"}");
}

static void add_rfc3339(struct strbuf *b, int64_t ms)
{
    time_t seconds = (time_t)floor_div(ms, 1000);
    struct tm utc;
    char text[40];
    gmtime_r(&seconds, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    strbuf_printf(b, "\"%s.%03dZ\"", text, (int)floor_mod(ms, 1000));
}

void api_runtimeinfo(struct server *s, struct http_request *q, struct http_response *r)
{
    struct strbuf *b = &r->body;
    char directory[4096], host[256], retention[DURATION_TEXT_MAX];
    if (!getcwd(directory, sizeof directory))
        directory[0] = 0;
    if (gethostname(host, sizeof host) != 0)
        host[0] = 0;
    host[sizeof host - 1] = 0;
    duration_format(s->options.raw_retention_ms, retention);
    json_begin(b);
    strbuf_add_z(b, "{\"startTime\":");
    add_rfc3339(b, s->start_ms);
    strbuf_add_char(b, ',');
    json_key_text(b, "CWD", directory);
    strbuf_add_char(b, ',');
    json_key_text(b, "hostname", host);
    strbuf_add_z(b, ",\"serverTime\":");
    add_rfc3339(b, server_now_ms(s));
    strbuf_add_z(b, ",\"reloadConfigSuccess\":");
    struct reload_status reloaded = reload_status(s->reload);
    strbuf_add_z(b, reloaded.successful ? "true" : "false");
    strbuf_add_z(b, ",\"lastConfigTime\":");
    add_rfc3339(b, reloaded.success_ms);
    strbuf_printf(b,
                  ",\"corruptionCount\":0,\"goroutineCount\":0,\"GOMAXPROCS\":%ld,\"GOMEMLIMIT\":0,\"GOGC\":\"\","
                  "\"GODEBUG\":\"\",",
                  sysconf(_SC_NPROCESSORS_ONLN));
    json_key_text(b, "storageRetention", retention);
    strbuf_add_char(b, '}');
    json_end(b, NULL);
}

/* mullion scrapes nothing and evaluates no rules: its configuration is its flags and its workload. */
void api_config(struct server *s, struct http_request *q, struct http_response *r)
{
    struct strbuf yaml = {0};
    for (uint32_t i = 0; i < s->options.flags_n; i++) {
        strbuf_printf(&yaml, "%s: ", s->options.flags[i].name);
        strbuf_add_json_string(&yaml, str_of(s->options.flags[i].value));
        strbuf_add_char(&yaml, '\n');
    }
    json_begin(&r->body);
    strbuf_add_z(&r->body, "{\"yaml\":");
    strbuf_add_json_string(&r->body, (struct str){yaml.p, yaml.n});
    strbuf_add_char(&r->body, '}');
    json_end(&r->body, NULL);
    strbuf_done(&yaml);
}

void api_flags(struct server *s, struct http_request *q, struct http_response *r)
{
    json_begin(&r->body);
    strbuf_add_char(&r->body, '{');
    for (uint32_t i = 0; i < s->options.flags_n; i++) {
        if (i)
            strbuf_add_char(&r->body, ',');
        json_key_text(&r->body, s->options.flags[i].name, s->options.flags[i].value);
    }
    strbuf_add_char(&r->body, '}');
    json_end(&r->body, NULL);
}

/* Only what is known without a walk over all series; the rest is empty, in shape. */
void api_tsdb(struct server *s, struct http_request *q, struct http_response *r)
{
    json_begin(&r->body);
    strbuf_printf(
        &r->body,
        "{\"headStats\":{\"numSeries\":%llu},\"seriesCountByMetricName\":[],\"labelValueCountByLabelName\":[],"
        "\"memoryInBytesByLabelName\":[],\"seriesCountByLabelValuePair\":[]}",
        (unsigned long long)server_series_n(s));
    json_end(&r->body, NULL);
}

static void text(struct http_response *r, const char *content_type, const char *body)
{
    r->content_type = content_type;
    strbuf_add_z(&r->body, body);
}

void api_healthy(struct server *s, struct http_request *q, struct http_response *r)
{
    text(r, "text/plain; charset=utf-8", "mullion is healthy.\n");
}

/* The server listens only once the log is replayed and the plan is in force. */
void api_ready(struct server *s, struct http_request *q, struct http_response *r)
{
    text(r, "text/plain; charset=utf-8", "mullion is ready.\n");
}

void api_reload(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    if (reload_run(s->reload, server_now_ms(s), &e) != 0)
        http_error_json(r, &e);
}

void api_root(struct server *s, struct http_request *q, struct http_response *r)
{
    text(r, "text/plain; charset=utf-8",
         "mullion " MULLION_VERSION "\n\n"
         "POST /api/v1/write          Prometheus remote write 1.0\n"
         "/api/v1/query?query=        PromQL at one time\n"
         "/api/v1/query_range?query=  PromQL over a range\n"
         "/api/v1/explain?query=      how a query would be answered\n"
         "/api/v1/plan?format=text    what is kept, for which queries, and why\n"
         "/api/v1/views               panes and stored roots kept: how far they reach\n"
         "/metrics                    figures of this server\n\n"
         "Point a Grafana data source of type Prometheus here.\n");
}
