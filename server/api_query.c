/* /api/v1/query, /api/v1/query_range and /api/v1/explain: parameters, a place among the running queries, the run, JSON.
 */
#include <stdio.h>

#include "base/log.h"
#include "base/stats.h"
#include "server/api.h"
#include "server/json.h"
#include "server/metrics.h"
#include "server/params.h"
#include "server/server_internal.h"

enum { QUEUE_WAIT_MS = 5000 };

static struct stat queries_refused =
    STAT_COUNTER("mullion_queries_refused_total", "", "Queries turned away because too many were running");
static struct stat slow_queries = STAT_COUNTER("mullion_slow_queries_total", "", "Queries over the slow-query limit");
static struct stat query_samples = STAT_COUNTER("mullion_query_samples_total", "", "Raw samples queries looked at");
static struct stat query_states = STAT_COUNTER("mullion_query_states_total", "", "Pane states queries looked at");

struct query_call {
    struct str text;
    struct query_options options;
    uint64_t limit; /* series in the answer; 0 = all */
    bool stats;
    uint64_t start_ns, waited_ns;
};

static int64_t shorter(int64_t asked_ms, int64_t most_ms)
{
    return asked_ms > 0 && asked_ms < most_ms ? asked_ms : most_ms;
}

/* `exact`, or the header of the same meaning. */
static int read_exact(const struct http_request *q, bool *ret, struct err *e)
{
    struct str text = http_param(q, "exact");
    bool yes = str_eq(text, STR("1")) || str_eq(text, STR("true"));
    if (text.n && !yes && !str_eq(text, STR("0")) && !str_eq(text, STR("false")))
        return err_set(e, ERR_BAD_DATA, "invalid parameter \"exact\": it is 1, true, 0 or false");
    *ret = yes || q->exact;
    return 0;
}

/* What instant, range and explain calls share. Times are filled in by the caller. */
static int read_call(struct server *s, struct http_request *q, struct query_call *ret, struct err *e)
{
    struct query_call c = {.text = http_param(q, "query"), .start_ns = clock_monotonic_ns()};
    int64_t timeout_ms, lookback_ms;
    int code = params_limit(q, "limit", &c.limit, e);
    if (code == 0)
        code = params_duration(q, "timeout", 0, &timeout_ms, e);
    if (code == 0)
        code = params_duration(q, "lookback_delta", s->options.lookback_ms, &lookback_ms, e);
    if (code == 0)
        code = read_exact(q, &c.options.exact, e);
    if (code != 0)
        return code;
    if (lookback_ms <= 0 || lookback_ms > PARAMS_TIME_MAX_MS)
        return err_set(e, ERR_BAD_DATA, "invalid parameter \"lookback_delta\": it must be positive");
    c.options.lookback_ms = lookback_ms;
    c.options.default_accuracy = (struct accuracy){.kind = ACCURACY_EXACT};
    query_limits_default(&c.options.limits);
    if (s->options.query_samples_max)
        c.options.limits.samples_max = s->options.query_samples_max;
    if (s->options.query_series_max)
        c.options.limits.series_max = s->options.query_series_max;
    if (s->options.query_memory_max)
        c.options.limits.memory_bytes = s->options.query_memory_max;
    c.options.limits.deadline_ns = c.start_ns + (uint64_t)shorter(timeout_ms, s->options.query_timeout_ms) * 1000000;
    c.stats = http_param(q, "stats").n > 0;
    *ret = c;
    return 0;
}

static int read_instant(struct server *s, struct http_request *q, struct query_call *ret, struct err *e)
{
    int64_t at_ms;
    int code = params_time(q, "time", server_now_ms(s), true, false, &at_ms, e);
    if (code == 0)
        code = read_call(s, q, ret, e);
    if (code != 0)
        return code;
    ret->options.start_ms = ret->options.end_ms = at_ms;
    return 0;
}

static int read_range(struct server *s, struct http_request *q, struct query_call *ret, struct err *e)
{
    struct range_params p;
    int code = params_range(q, &p, e);
    if (code == 0)
        code = read_call(s, q, ret, e);
    if (code != 0)
        return code;
    ret->options.start_ms = p.start_ms;
    ret->options.end_ms = p.end_ms;
    ret->options.step_ms = p.step_ms;
    return 0;
}

static void write_stats(struct strbuf *b, const struct query_call *c, const struct result *result)
{
    double total_s = (double)(clock_monotonic_ns() - c->start_ns) / 1e9, waited_s = (double)c->waited_ns / 1e9;
    strbuf_printf(b,
                  ",\"stats\":{\"timings\":{\"evalTotalTime\":%.9f,\"resultSortTime\":0,\"queryPreparationTime\":0,"
                  "\"innerEvalTime\":%.9f,\"execQueueTime\":%.9f,\"execTotalTime\":%.9f},"
                  "\"samples\":{\"totalQueryableSamples\":%llu,\"peakSamples\":%llu,\"panesRead\":%llu}}",
                  total_s - waited_s, total_s - waited_s, waited_s, total_s, (unsigned long long)result->samples_n,
                  (unsigned long long)result->samples_n, (unsigned long long)result->states_n);
}

static void write_result(struct http_response *r, const struct query_call *c, struct result *result)
{
    json_begin(&r->body);
    bool cut = json_result(&r->body, result, c->limit);
    if (cut)
        notes_warn(&result->notes, "results truncated due to limit");
    if (c->stats)
        write_stats(&r->body, c, result);
    strbuf_add_char(&r->body, '}');
    json_end(&r->body, &result->notes);
    http_header(r, "X-Mullion-Source", "%s", answer_source_text(result->sources));
}

/* The text is cut: a log line is for finding the query, not for keeping a megabyte of it. */
static void note_duration(struct server *s, const struct query_call *c, int code, const char *kind)
{
    enum { SHOWN_MAX = 2000 };
    uint64_t took_ns = clock_monotonic_ns() - c->start_ns;
    metrics_query(took_ns);
    if (s->options.slow_query_ms == 0 || took_ns / 1000000 < (uint64_t)s->options.slow_query_ms)
        return;
    char took[32], text[SHOWN_MAX + 1], span[96];
    snprintf(took, sizeof took, "%.3fs", (double)took_ns / 1e9);
    snprintf(text, sizeof text, "%.*s", (int)(c->text.n > SHOWN_MAX ? SHOWN_MAX : c->text.n), c->text.p);
    snprintf(span, sizeof span, "%lld..%lld/%lld", (long long)c->options.start_ms, (long long)c->options.end_ms,
             (long long)c->options.step_ms);
    stat_add(&slow_queries, 1);
    log_line(LOG_WARN, "slow query", "kind", kind, "took", took, "span_ms", span, "outcome",
             code == 0 ? "ok" : err_name(code), "query", text, NULL);
}

/* What is planned and never asked is said once, with what is asked instead. */
static void log_unasked(const struct held_plan *held, int64_t now_ms)
{
    struct arena a;
    struct plan_unasked *unasked;
    uint32_t n;
    struct err e = {0};
    arena_init(&a, 16 << 20);
    if (plan_usage_unasked(held->usage, now_ms, true, &a, &unasked, &n, &e) != 0)
        n = 0;
    for (uint32_t i = 0; i < n; i++) {
        char planned[501], difference[204];
        struct str text = held->plan->queries[unasked[i].query].text, other = unasked[i].nearest;
        if (other.n == 0)
            continue;
        snprintf(planned, sizeof planned, "%.*s", (int)(text.n < 500 ? text.n : 500), text.p);
        plan_text_difference(&text, &other);
        snprintf(difference, sizeof difference, "%.*s, %.*s", (int)(text.n < 100 ? text.n : 100), text.p,
                 (int)(other.n < 100 ? other.n : 100), other.p);
        log_line(LOG_WARN, "a planned query was not asked in three of its intervals; one much like it was", "planned",
                 planned, "asked", unasked[i].nearest.p, "difference", difference, NULL);
    }
    arena_done(&a);
}

static void usage_note(struct server *s, const struct held_plan *held, const struct query_call *c, uint32_t query)
{
    enum { LOOK_EVERY_MS = 1000 };
    if (!held->usage || c->options.exact)
        return;
    plan_usage_note(held->usage, query, c->text);
    int64_t now_ms = server_now_ms(s), looked_ms = atomic_load(&s->usage_looked_ms);
    if (now_ms - looked_ms >= LOOK_EVERY_MS && atomic_compare_exchange_strong(&s->usage_looked_ms, &looked_ms, now_ms))
        log_unasked(held, now_ms);
}

/* Prometheus names the parameter for what it finds before it runs a query, and not for what happens while it runs. */
static void write_error(struct http_response *r, struct err *e)
{
    if (e->code == ERR_BAD_DATA)
        err_prefix(e, "invalid parameter \"query\"");
    http_error_json(r, e);
}

static void run(struct server *s, struct query_call *c, const char *kind, struct http_response *r)
{
    struct err e = {0};
    if (!gate_enter(&s->queries, shorter(s->options.query_timeout_ms, QUEUE_WAIT_MS))) {
        stat_add(&queries_refused, 1);
        http_error_json_as(r, 429, "too_many_requests",
                           "too many queries at once; try again, or raise --query-max-concurrency");
        http_header(r, "Retry-After", "1");
        return;
    }
    c->waited_ns = clock_monotonic_ns() - c->start_ns;
    struct arena a;
    struct result result = {0};
    arena_init(&a, c->options.limits.memory_bytes);
    struct held_plan *held;
    struct executor x = server_executor(s, &held);
    int code = query_run(&x, c->text, &c->options, &a, &result, &e);
    if (code == 0) {
        usage_note(s, held, c, result.query);
        stat_add(&query_samples, (int64_t)result.samples_n);
        stat_add(&query_states, (int64_t)result.states_n);
        write_result(r, c, &result);
    } else {
        write_error(r, &e);
    }
    arena_done(&a);
    plan_give(s->plans, held);
    gate_leave(&s->queries);
    note_duration(s, c, code, kind);
}

void api_query(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    struct query_call c;
    if (read_instant(s, q, &c, &e) != 0)
        http_error_json(r, &e);
    else
        run(s, &c, "instant", r);
}

void api_query_range(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    struct query_call c;
    if (read_range(s, q, &c, &e) != 0)
        http_error_json(r, &e);
    else
        run(s, &c, "range", r);
}

/* How the query would be answered, one line a node. With start, end and step: as a range query. */
void api_explain(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    struct query_call c;
    int code = http_param(q, "step").n ? read_range(s, q, &c, &e) : read_instant(s, q, &c, &e);
    if (code != 0) {
        http_error_json(r, &e);
        return;
    }
    struct arena a;
    struct strbuf text = {0};
    arena_init(&a, 64 << 20);
    struct held_plan *held;
    struct executor x = server_executor(s, &held);
    code = query_explain(&x, c.text, &c.options, &a, &text, &e);
    if (code != 0) {
        write_error(r, &e);
    } else {
        json_begin(&r->body);
        strbuf_add_z(&r->body, "{\"query\":");
        strbuf_add_json_string(&r->body, c.text);
        strbuf_add_z(&r->body, ",\"explain\":");
        strbuf_add_json_string(&r->body, (struct str){text.p, text.n});
        strbuf_add_char(&r->body, '}');
        json_end(&r->body, NULL);
    }
    strbuf_done(&text);
    arena_done(&a);
    plan_give(s->plans, held);
}
