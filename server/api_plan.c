/* /api/v1/plan: the plan in force, as JSON, text or a graph. /api/v1/views: what each of its views and stored
 * roots holds. */
#include "base/float_text.h"
#include "plan/explain.h"
#include "plan/file.h"
#include "plan/root_expr.h"
#include "server/api.h"
#include "server/json.h"
#include "server/server_internal.h"

static void write_plan(const struct plan *plan, struct str format, struct http_response *r)
{
    if (str_eq(format, STR("text")) || str_eq(format, STR("dot"))) {
        r->content_type = "text/plain; charset=utf-8";
        if (str_eq(format, STR("text")))
            plan_explain(plan, &r->body);
        else
            plan_dot(plan, &r->body);
        return;
    }
    if (format.n && !str_eq(format, STR("json"))) {
        struct err e;
        err_set(&e, ERR_BAD_DATA, "invalid parameter \"format\": it is json, text or dot");
        http_error_json(r, &e);
        return;
    }
    json_begin(&r->body);
    plan_write(plan, &r->body);
    json_end(&r->body, NULL);
}

void api_plan(struct server *s, struct http_request *q, struct http_response *r)
{
    struct held_plan *held = plan_take(s->plans);
    if (held->plan)
        write_plan(held->plan, http_param(q, "format"), r);
    else
        http_error_json_as(
            r, 404, "not_found",
            "this server has no plan: every query is answered from raw samples. Start it with --workload");
    plan_give(s->plans, held);
}

static void add_time(struct strbuf *b, const char *key, int64_t ms)
{
    json_key(b, key);
    if (ms == INT64_MIN || ms == INT64_MAX)
        strbuf_add_z(b, "null");
    else
        strbuf_add_time_ms(b, ms);
}

static void add_view(struct server *s, const struct plan *plan, uint32_t id, struct strbuf *b)
{
    const struct plan_view *v = &plan->views[id];
    const char *when = v->when == WHEN_INGESTION ? "ingestion" : v->when == WHEN_QUERY_KEPT ? "query, kept" : "query";
    strbuf_printf(b, "{\"view\":%u,\"identity\":\"", id);
    for (int i = 0; i < IDENTITY_BYTES; i++)
        strbuf_printf(b, "%02x", v->identity[i]);
    strbuf_add_z(b, "\",");
    json_key_text(b, "family", family_get(v->family)->name);
    strbuf_add_char(b, ',');
    json_key_text(b, "when", when);
    strbuf_printf(b, ",\"widthMs\":%lld,\"phaseMs\":%lld,\"panesPerWindow\":%u,\"retentionMs\":%lld",
                  (long long)v->panes.step_ms, (long long)v->panes.phase_ms, v->panes_n, (long long)v->retention_ms);
    if (v->when == WHEN_INGESTION) {
        struct ingest_view_status status;
        int64_t watermark_ms = ingest_watermark(s->ingest);
        ingest_view_status(s->ingest, v->identity, &status);
        strbuf_printf(b, ",\"storeView\":%u,", status.store_view);
        add_time(b, "completeFrom", status.complete_from_ms);
        strbuf_add_char(b, ',');
        add_time(b, "sealedTo", status.sealed_to_ms);
        strbuf_add_char(b, ',');
        add_time(b, "watermark", watermark_ms);
        strbuf_printf(b, ",\"earlyWindows\":%u,\"dirtySeries\":%u", status.early_windows, status.dirty_series);
        if (!v->per_series)
            strbuf_printf(b, ",\"groups\":%u", status.groups);
    }
    strbuf_add_char(b, '}');
}

static void add_root(struct server *s, const struct plan *plan, uint32_t id, struct strbuf *b)
{
    const struct plan_stored_root *r = &plan->stored_roots[id];
    uint8_t identity[IDENTITY_BYTES];
    char text[2 * IDENTITY_BYTES + 1];
    struct ingest_root_status status;
    plan_root_identity(plan, id, identity);
    identity_text(identity, text);
    ingest_root_status(s->ingest, identity, &status);
    strbuf_printf(b, "{\"root\":%u,\"identity\":\"%s\",\"expr\":", id, text);
    strbuf_add_json_string(b, plan->nodes[r->node].expr_text);
    strbuf_printf(b, ",\"stepMs\":%lld,\"phaseMs\":%lld,\"retentionMs\":%lld,", (long long)r->grid.step_ms,
                  (long long)r->grid.phase_ms, (long long)r->retention_ms);
    add_time(b, "completeFrom", status.complete_from_ms);
    strbuf_add_char(b, ',');
    add_time(b, "sealedTo", status.sealed_to_ms);
    strbuf_add_char(b, ',');
    add_time(b, "watermark", ingest_watermark(s->ingest));
    strbuf_printf(b, ",\"dirtySpans\":%u,\"unkeptSpans\":%u}", status.dirty_spans, status.holes);
}

void api_views(struct server *s, struct http_request *q, struct http_response *r)
{
    struct held_plan *held = plan_take(s->plans);
    const struct plan *plan = held->plan;
    json_begin(&r->body);
    strbuf_add_char(&r->body, '[');
    for (uint32_t i = 0; plan && i < plan->views_n; i++) {
        if (i)
            strbuf_add_char(&r->body, ',');
        add_view(s, plan, i, &r->body);
    }
    for (uint32_t i = 0; plan && i < plan->stored_roots_n; i++) {
        if (i || plan->views_n)
            strbuf_add_char(&r->body, ',');
        add_root(s, plan, i, &r->body);
    }
    strbuf_add_char(&r->body, ']');
    json_end(&r->body, NULL);
    plan_give(s->plans, held);
}
