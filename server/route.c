#include "server/route.h"

#include <stdio.h>

#include "server/api.h"

#define READ (HTTP_GET | HTTP_POST)

static const struct route routes[] = {
    {"/api/v1/write", HTTP_POST, HTTP_WRITE_BODY_MAX, api_write},
    {"/api/v1/query", READ, 0, api_query},
    {"/api/v1/query_range", READ, 0, api_query_range},
    {"/api/v1/series", READ, 0, api_series},
    {"/api/v1/labels", READ, 0, api_labels},
    {"/api/v1/label/*/values", HTTP_GET, 0, api_label_values},
    {"/api/v1/metadata", HTTP_GET, 0, api_metadata},
    {"/api/v1/format_query", READ, 0, api_format_query},
    {"/api/v1/parse_query", READ, 0, api_parse_query},
    {"/api/v1/query_exemplars", READ, 0, api_query_exemplars},
    {"/api/v1/rules", HTTP_GET, 0, api_rules},
    {"/api/v1/alerts", HTTP_GET, 0, api_alerts},
    {"/api/v1/targets", HTTP_GET, 0, api_targets},
    {"/api/v1/alertmanagers", HTTP_GET, 0, api_alertmanagers},
    {"/api/v1/status/buildinfo", HTTP_GET, 0, api_buildinfo},
    {"/api/v1/status/runtimeinfo", HTTP_GET, 0, api_runtimeinfo},
    {"/api/v1/status/config", HTTP_GET, 0, api_config},
    {"/api/v1/status/flags", HTTP_GET, 0, api_flags},
    {"/api/v1/status/tsdb", HTTP_GET, 0, api_tsdb},
    {"/api/v1/plan", HTTP_GET, 0, api_plan},
    {"/api/v1/explain", READ, 0, api_explain},
    {"/api/v1/views", HTTP_GET, 0, api_views},
    {"/-/healthy", HTTP_GET, 0, api_healthy},
    {"/-/ready", HTTP_GET, 0, api_ready},
    {"/-/reload", HTTP_POST | HTTP_PUT, 0, api_reload},
    {"/metrics", HTTP_GET, 0, api_metrics},
    {"/", HTTP_GET, 0, api_root},
};

uint32_t routes_n(void)
{
    return sizeof routes / sizeof *routes;
}

const struct route *route_at(uint32_t i)
{
    return &routes[i];
}

uint32_t route_index(const struct route *route)
{
    return route ? (uint32_t)(route - routes) : routes_n();
}

static bool path_matches(const char *pattern, struct str path, struct str *ret_capture)
{
    const char *star = strchr(pattern, '*');
    *ret_capture = (struct str){"", 0};
    if (!star)
        return str_eq(str_of(pattern), path);
    struct str head = {pattern, (size_t)(star - pattern)}, tail = str_of(star + 1);
    if (path.n < head.n + tail.n || !str_has_prefix(path, head) ||
        memcmp(path.p + path.n - tail.n, tail.p, tail.n) != 0)
        return false;
    *ret_capture = (struct str){path.p + head.n, path.n - head.n - tail.n};
    return true;
}

const struct route *route_find(struct str path, struct str *ret_capture)
{
    for (uint32_t i = 0; i < routes_n(); i++)
        if (path_matches(routes[i].path, path, ret_capture))
            return &routes[i];
    return NULL;
}

void route_allow(const struct route *route, char ret[32])
{
    static const struct {
        enum http_method method;
        const char *name;
    } names[] = {{HTTP_GET, "GET"}, {HTTP_POST, "POST"}, {HTTP_PUT, "PUT"}};
    int n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (route->methods & names[i].method)
            n += snprintf(ret + n, 32 - (size_t)n, "%s%s", n ? ", " : "", names[i].name);
}

void route_not_found(const struct http_request *q, struct http_response *r)
{
    struct err e;
    int shown = (int)(q->path.n > 200 ? 200 : q->path.n);
    err_set(&e, ERR_NOT_FOUND, "there is no endpoint %.*s", shown, q->path.p);
    if (str_has_prefix(q->path, STR("/api/")))
        http_error_json(r, &e);
    else
        http_error_text(r, &e);
}

void route_bad_method(const struct route *route, struct http_response *r)
{
    char allow[32], message[200];
    route_allow(route, allow);
    snprintf(message, sizeof message, "method not allowed: %s takes %s", route->path, allow);
    http_error_json_as(r, 405, "bad_data", message);
    http_header(r, "Allow", "%s", allow);
}
