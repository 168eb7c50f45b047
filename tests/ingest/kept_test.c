/*
 * Panes that no store holds: built at each read, or on first read and then kept. The same plan is run with its views
 * built at ingestion, at each read and on first read; the answers are those of arithmetic, and the same from each.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stats.h"
#include "executor/pane_cache.h"
#include "ingest/rig.h"
#include "plan/file.h"
#include "store/store.h"
#include "suite.h"

static const int64_t start_ms = 400LL * 3600 * 1000;
static const char *const ways[] = {"ingestion", "query", "query_kept"};
enum { STORED, REBUILT, KEPT, WAYS };

static struct rig rig;
static const char *workload_text;
static int way;
static bool by_rank; /* quantiles by inclusive rank: the operator's statistic, which PromQL has no words for */

static void replace_all(struct strbuf *text, const char *from, const char *to)
{
    struct strbuf out = {0};
    const char *p = strbuf_z(text);
    for (const char *hit; (hit = strstr(p, from)); p = hit + strlen(from)) {
        strbuf_add(&out, p, (size_t)(hit - p));
        strbuf_add_z(&out, to);
    }
    strbuf_add_z(&out, p);
    strbuf_done(text);
    *text = out;
}

/* The planner's own plan with all its panes built another way: as a plan file that was edited. */
static struct plan *make_plan(const struct rig *r)
{
    struct workload *w = NULL;
    struct problems problems = {0};
    struct err e = {0};
    struct plan *planned = NULL, *p = NULL;
    struct planner_options options = {.sketch_seed = store_sketch_seed(r->store)};
    struct strbuf text = {0};
    char when[40];
    int code = workload_read(str_of(workload_text), "workload.yaml", &w, &problems, &e);
    ck_assert_msg(code == 0, "%s %s", e.message, problems.text.n ? strbuf_z(&problems.text) : "");
    code = planner_plan(w, &options, &planned, &e);
    ck_assert_msg(code == 0, "%s", e.message);
    plan_write(planned, &text);
    snprintf(when, sizeof when, "\"when\":\"%s\"", ways[way]);
    ck_assert_ptr_nonnull(strstr(strbuf_z(&text), "\"when\":\"ingestion\""));
    replace_all(&text, "\"when\":\"ingestion\"", when);
    if (way != STORED)
        replace_all(&text, "\"half\":\"precompute\"", "\"half\":\"query\"");
    code = plan_read((struct str){text.p, text.n}, &p, &e);
    ck_assert_msg(code == 0, "%s", e.message);
    for (uint32_t i = 0; by_rank && i < p->nodes_n; i++)
        if (p->nodes[i].statistic == STATISTIC_QUANTILE)
            ((struct plan_node *)(uintptr_t)p->nodes)[i].statistic = STATISTIC_QUANTILE_RANK;
    strbuf_done(&text);
    strbuf_done(&problems.text);
    workload_free(w);
    plan_free(planned);
    return p;
}

static void open_rig(int w, const char *workload, uint64_t kept_bytes)
{
    way = w;
    workload_text = workload;
    rig = (struct rig){.plan_of = make_plan, .kept = w == KEPT ? pane_cache_new(kept_bytes) : NULL};
    rig_open(&rig, NULL);
}

static void close_rig(void)
{
    rig_done(&rig);
    pane_cache_free(rig.kept);
}

/* What is due by `receive_s` is done. */
static void send_one(const char *series, int at_s, double value, int receive_s)
{
    const struct rig_sample sample = {series, start_ms + at_s * 1000, value};
    ck_assert_int_eq(rig_send(&rig, &sample, 1, start_ms + receive_s * 1000, NULL), 0);
    rig_tick(&rig, start_ms + receive_s * 1000);
}

/* first, first + 1, ... every `step_s`. Another series begins before, and goes on until all windows are sealed. */
static void send_rising(const char *series, double first, int n, int step_s)
{
    for (int i = 0; i < n; i++)
        send_one(series, (i + 1) * step_s, first + i, (i + 1) * step_s);
}

static void ask(const char *query, int at_s, double want, double slack, uint32_t sources_wanted)
{
    uint32_t sources;
    bool found;
    ck_assert_uint_eq(rig_count(&rig, query, start_ms + at_s * 1000, false, &sources), 1);
    ck_assert_msg(sources == sources_wanted, "%s, %s: read from %u, not %u", query, ways[way], sources, sources_wanted);
    double v = rig_value(&rig, query, start_ms + at_s * 1000, false, &found);
    ck_assert_msg(found && fabs(v - want) <= slack, "%s, %s: %.17g, not %.17g", query, ways[way], v, want);
}

/* Each way, twice: what is kept is built by the first read, and read by the second. */
static void ask_twice(const char *query, int at_s, double want, double slack)
{
    static const uint32_t first[] = {SOURCE_PANES, SOURCE_RAW, SOURCE_PANES | SOURCE_RAW},
                          second[] = {SOURCE_PANES, SOURCE_RAW, SOURCE_PANES};
    uint32_t sources;
    ck_assert_uint_eq(rig_count(&rig, query, start_ms + at_s * 1000, false, &sources), 1);
    ck_assert_msg(sources == first[way] || sources == second[way], "%s, %s: read from %u", query, ways[way], sources);
    ask(query, at_s, want, slack, second[way]);
}

#define DATA "data: {raw_retention: 0, metrics: {m: {type: gauge, series: 3, interval: 15s}}}\n"

/* 0..99 at five panes of 20: rank ceil(0.99 * 100) is the 99th smallest, 98; PromQL's own lies at rank 98.01 of 0..99.
 */
START_TEST(a_hundred_in_five_panes)
{
    static const char workload[] = "queries:\n  - {query: \"quantile_over_time(0.99, m[5m])\", every: 1m}\n" DATA;
    by_rank = _i / WAYS;
    open_rig(_i % WAYS, workload, 1 << 20);
    ck_assert_uint_eq(rig.plan->views[0].panes_n, 5);
    if (way != STORED) { /* nothing is left of the precompute half */
        ck_assert_uint_eq(rig.plan->groups_n, 0);
        for (uint32_t i = 0; i < rig.plan->nodes_n; i++)
            ck_assert_int_eq(rig.plan->nodes[i].half, HALF_QUERY);
    }
    send_one("other", -600, 0, -600);
    send_rising("m", 0, 100, 3);
    send_one("other", 345, 0, 345);
    ask_twice("quantile_over_time(0.99, m[5m])", 300, by_rank ? 98.0 : 98.01, by_rank ? 0 : 1e-12);
    close_rig();
    by_rank = false;
}
END_TEST

/* The same from one pane that is the window. */
START_TEST(a_hundred_in_one_pane)
{
    static const char workload[] = "queries:\n  - {query: \"quantile_over_time(0.99, m[5m])\", every: 5m}\n" DATA;
    by_rank = true;
    open_rig(_i, workload, 1 << 20);
    ck_assert_uint_eq(rig.plan->views[0].panes_n, 1);
    send_one("other", -600, 0, -600);
    send_rising("m", 0, 100, 3);
    send_one("other", 345, 0, 345);
    ask_twice("quantile_over_time(0.99, m[5m])", 300, 98.0, 0);
    close_rig();
    by_rank = false;
}
END_TEST

/*
 * Two series, 4 samples a minute, [5m] every 1m at 300 s: five panes, or every 5m: built as one. The window (0, 300 s]
 * holds all 20 samples of each. increase: last - first = 19 over 285 s between them; the window begins 15 s before the
 * first, under 1.1 intervals of 15 s, and no sooner than a counter from 0 would (285 s * 1 / 19 = 15 s for the first
 * series, longer for the other), so it is extrapolated over all 300 s: 19 * 300 / 285 = 20. Quantiles: rank 0.99 * 19
 * = 18.81 of 0..19, or ceil(0.99 * 20) = the 20th smallest.
 */
START_TEST(two_series)
{
    static const char *const calls[] = {"quantile_over_time(0.99, m", "increase(m", "sum_over_time(m"};
    struct strbuf workload = {0};
    int from = _i / WAYS / 2 % 2, panes_n = _i / WAYS / 4 ? 1 : 5;
    strbuf_add_z(&workload, "queries:\n");
    for (int i = 0; i < 6; i++)
        strbuf_printf(&workload, "  - {query: \"%s{s=\\\"%c\\\"}[5m])\", every: %dm}\n", calls[i / 2], "ab"[i % 2],
                      5 / panes_n);
    strbuf_add_z(&workload, DATA);
    by_rank = _i / WAYS % 2;
    open_rig(_i % WAYS, strbuf_z(&workload), 1 << 20);
    ck_assert_uint_eq(rig.plan->views_n, 6);
    for (uint32_t v = 0; v < rig.plan->views_n; v++)
        ck_assert_int_eq(rig.plan->views[v].panes_n, panes_n);
    send_one("other", -600, 0, -600);
    for (int i = 0; i < 20; i++) {
        send_one("m{s=\"a\"}", 15 * (i + 1), from + i, 15 * (i + 1));
        send_one("m{s=\"b\"}", 15 * (i + 1), 100 + from + i, 15 * (i + 1));
    }
    send_one("other", 345, 0, 345);
    double a = from + (by_rank ? 19 : 18.81), slack = by_rank ? 0 : 1e-12;
    ask_twice("quantile_over_time(0.99, m{s=\"a\"}[5m])", 300, a, slack);
    ask_twice("quantile_over_time(0.99, m{s=\"b\"}[5m])", 300, 100 + a, 100 * slack);
    if (from == 1) {
        ask_twice("increase(m{s=\"a\"}[5m])", 300, 20, 1e-12);
        ask_twice("increase(m{s=\"b\"}[5m])", 300, 20, 1e-12);
        ask_twice("sum_over_time(m{s=\"a\"}[5m])", 300, 210, 0);
        ask_twice("sum_over_time(m{s=\"b\"}[5m])", 300, 2210, 0);
    }
    close_rig();
    strbuf_done(&workload);
    by_rank = false;
}
END_TEST

static int64_t counted(const char *what)
{
    char name[80];
    snprintf(name, sizeof name, "mullion_kept_panes_%s", what);
    return stats_value(name, "");
}

#define SUM "sum_over_time(m[5m])"
static const char sum_workload[] = "queries:\n  - {query: \"" SUM "\", every: 1m}\n" DATA;

/* Windows that are not sealed are never kept; at 310 s the watermark is at 280 s: four of the five panes are sealed. */
START_TEST(only_sealed_windows_are_kept)
{
    open_rig(KEPT, sum_workload, 1 << 20);
    int64_t builds = counted("builds_total"), hits = counted("hits_total");
    send_one("other", -600, 0, -600);
    send_rising("m", 1, 20, 15);
    send_one("other", 310, 0, 310);
    ask(SUM, 300, 210, 0, SOURCE_PANES | SOURCE_RAW);
    ck_assert_int_eq(counted("builds_total") - builds, 4);
    ck_assert_int_eq(counted("hits_total") - hits, 4); /* ask reads twice */
    send_one("m", 299, 1000, 310);                     /* the open one goes on growing */
    ask(SUM, 300, 1210, 0, SOURCE_PANES);
    send_one("other", 345, 0, 345);
    ask(SUM, 300, 1210, 0, SOURCE_PANES | SOURCE_RAW);
    ck_assert_int_eq(counted("builds_total") - builds, 5);
    close_rig();
    ck_assert_int_eq(counted("bytes"), 0);
}
END_TEST

/* What comes late for a sealed window is in the next answer, and only the window it came for is built again. */
START_TEST(late_samples)
{
    open_rig(KEPT, sum_workload, 1 << 20);
    send_one("other", -600, 0, -600);
    send_rising("m", 1, 20, 15);
    send_one("other", 345, 0, 345);
    ask_twice(SUM, 300, 210, 0);
    int64_t builds = counted("builds_total");
    send_one("m", 100, 5000, 345);
    ask(SUM, 300, 5210, 0, SOURCE_PANES | SOURCE_RAW);
    ck_assert_int_eq(counted("builds_total") - builds, 1);
    send_one("m{new=\"1\"}", 301, 7, 345); /* of no window that was read */
    ask(SUM, 300, 5210, 0, SOURCE_PANES);
    ck_assert_int_eq(counted("builds_total") - builds, 1);
    send_one("m{new=\"1\"}", 240, 7, 345); /* a new series, at a window's very end */
    uint32_t sources;
    ck_assert_uint_eq(rig_count(&rig, SUM, start_ms + 300000, false, &sources), 2);
    ck_assert_int_eq(counted("builds_total") - builds, 2);
    close_rig();
}
END_TEST

/* A limit of one window or of none changes what is built, never what is answered. */
START_TEST(limits)
{
    static const uint64_t bytes[] = {0, 3000, 1 << 20};
    open_rig(KEPT, sum_workload, bytes[_i]);
    int64_t evictions = counted("evictions_total");
    send_one("other", -600, 0, -600);
    send_rising("m", 1, 20, 15);
    send_one("other", 345, 0, 345);
    for (int i = 0; i < 3; i++) {
        bool found;
        ck_assert_double_eq(rig_value(&rig, SUM, start_ms + 300000, false, &found), 210);
        ck_assert_double_eq(rig_value(&rig, SUM, start_ms + 240000, false, &found), 136); /* 1..16 */
        ck_assert_int_le(counted("bytes"), (int64_t)bytes[_i]);
    }
    ck_assert(_i != 1 || counted("evictions_total") > evictions);
    ck_assert(_i == 1 || counted("evictions_total") == evictions);
    close_rig();
}
END_TEST

static void range_equals_raw(const char *query, int from_s, int to_s, int step_s, uint32_t sources_wanted)
{
    struct result got, raw;
    struct arena a, b;
    struct err e = {0};
    struct executor x = {.plan = rig.plan, .source = ingest_source(rig.ingest), .kept = rig.kept};
    struct query_options o = {
        .start_ms = start_ms + from_s * 1000, .end_ms = start_ms + to_s * 1000, .step_ms = step_s * 1000};
    arena_init(&a, 0);
    arena_init(&b, 0);
    ck_assert_msg(query_run(&x, str_of(query), &o, &a, &got, &e) == 0, "%s", e.message);
    o.exact = true;
    ck_assert_msg(query_run(&x, str_of(query), &o, &b, &raw, &e) == 0, "%s", e.message);
    ck_assert_uint_eq(got.series_n, raw.series_n);
    ck_assert_uint_eq(got.sources, sources_wanted);
    for (uint32_t s = 0; s < got.series_n; s++) {
        ck_assert(labels_eq(&got.series[s].labels, &raw.series[s].labels));
        for (uint32_t i = 0; i < got.times.n; i++)
            ck_assert_msg(memcmp(&got.series[s].v[i], &raw.series[s].v[i], sizeof(double)) == 0,
                          "%s, %s, step %d, time %u: %g, raw %g", query, ways[way], step_s, i, got.series[s].v[i],
                          raw.series[s].v[i]);
    }
    arena_done(&a);
    arena_done(&b);
}

/* (Stored panes have no such reach: the plan's retention is that of an instant query.) Steps that are whole panes, that
 * are none, and that are longer than the window; the values are whole, so sums are exact however they are cut. */
START_TEST(ranges)
{
    open_rig(_i, sum_workload, 1 << 20);
    send_one("other", -600, 0, -600);
    send_rising("m", 1, 100, 15);
    send_one("other", 1545, 0, 1545);
    uint32_t panes = _i == KEPT ? SOURCE_PANES : SOURCE_RAW;
    for (int again = 0; again < 2; again++) {
        bool fresh = _i == KEPT && !again;
        range_equals_raw(SUM, 300, 1500, 600, fresh ? SOURCE_PANES | SOURCE_RAW : panes);
        range_equals_raw(SUM, 300, 1500, 60, fresh ? SOURCE_PANES | SOURCE_RAW : panes);
        range_equals_raw(SUM, 300, 1500, 37, SOURCE_RAW); /* stored and kept panes do not fit */
        range_equals_raw(SUM, 307, 1507, 400, SOURCE_RAW);
    }
    close_rig();
}
END_TEST

/* The planner's own choice: panes at each read for a run over many windows, kept ones where @ holds the window still.
 */
START_TEST(as_planned)
{
    char anchored[80], workload[400];
    snprintf(anchored, sizeof anchored, "sum_over_time(m[5m] @ %lld)", (long long)(start_ms / 1000 + 310));
    snprintf(workload, sizeof workload,
             "queries:\n  - {query: \"" SUM "\", rate: 0.01/s, range: {length: 20m, step: 40s}}\n"
             "  - {query: \"%s\", every: 10s}\n"
             "data: {metrics: {m: {series: 1, interval: 1s}}}\n",
             anchored);
    rig = (struct rig){.kept = pane_cache_new(1 << 20)};
    rig_open(&rig, workload);
    ck_assert_uint_eq(rig.plan->views_n, 2);
    ck_assert_int_eq(rig.plan->views[0].when, WHEN_QUERY);
    ck_assert_int_eq(rig.plan->views[1].when, WHEN_QUERY_KEPT);
    send_one("other", -600, 0, -600);
    send_rising("m", 1, 100, 15);
    send_one("other", 1545, 0, 1545);
    range_equals_raw(SUM, 307, 1507, 40, SOURCE_RAW);
    way = KEPT;
    ask_twice(anchored, 1500, 210, 0); /* (10 s, 310 s]: 1..20 */
    close_rig();
}
END_TEST

/* Panes that were stored, while a plan is in force that builds them on first read: what comes late meanwhile is in the
 * answers of both plans, and of the first when it returns. */
START_TEST(from_stored_to_kept_and_back)
{
    struct err e = {0};
    struct plan *stored, *kept;
    bool found;
    open_rig(STORED, sum_workload, 0);
    rig.kept = pane_cache_new(1 << 20);
    stored = rig.plan;
    send_one("other", -600, 0, -600);
    send_rising("m", 1, 20, 15);
    send_one("other", 345, 0, 345);
    way = KEPT;
    kept = rig.plan = make_plan(&rig);
    ck_assert_int_eq(ingest_set_plan(rig.ingest, kept, &e), 0);
    ck_assert_double_eq(rig_value(&rig, SUM, start_ms + 300000, false, &found), 210);
    send_one("m", 100, 5000, 345);
    ck_assert_double_eq(rig_value(&rig, SUM, start_ms + 300000, false, &found), 5210);
    rig.plan = stored;
    ck_assert_int_eq(ingest_set_plan(rig.ingest, stored, &e), 0);
    rig_tick(&rig, start_ms + 346000);
    ck_assert_double_eq(rig_value(&rig, SUM, start_ms + 300000, false, &found), 5210);
    way = STORED;
    close_rig();
    plan_free(kept);
}
END_TEST

/* Samples in and out of order, queries in between, a cache that is now and then too small: always what raw samples
 * say. */
START_TEST(random_traffic)
{
    unsigned long seed = suite_seed("random_traffic");
    uint32_t x = (uint32_t)seed + (uint32_t)_i * 7919;
    open_rig(KEPT, sum_workload, _i % 2 ? 8000 : 1 << 20);
    int64_t hits = counted("hits_total");
    int now_s = 0;
    for (int step = 0; step < 400; step++) {
        x = x * 1664525 + 1013904223;
        uint32_t r = x >> 8;
        if (r % 3) {
            char series[20];
            int late_s = r / 3 % 4 == 0 ? (int)(r / 12 % 600) : 0;
            now_s += (int)(r / 7200 % 20);
            snprintf(series, sizeof series, "m{s=\"%u\"}", r / 5 % 3);
            const struct rig_sample sample = {series, start_ms + (now_s - late_s) * 1000, r / 9 % 50};
            rig_send(&rig, &sample, 1, start_ms + now_s * 1000, NULL); /* some times are there with another value */
            continue;
        }
        int at_s = (now_s / 60 - (int)(r / 3 % 8)) * 60;
        struct result got, raw;
        struct arena a, b;
        struct err e = {0};
        struct executor exec = {.plan = rig.plan, .source = ingest_source(rig.ingest), .kept = rig.kept};
        struct query_options o = {.start_ms = start_ms + at_s * 1000, .end_ms = start_ms + at_s * 1000};
        arena_init(&a, 0);
        arena_init(&b, 0);
        ck_assert_msg(query_run(&exec, STR(SUM), &o, &a, &got, &e) == 0, "%s", e.message);
        o.exact = true;
        ck_assert_msg(query_run(&exec, STR(SUM), &o, &b, &raw, &e) == 0, "%s", e.message);
        ck_assert_msg(got.series_n == raw.series_n, "step %d: %u series, raw %u", step, got.series_n, raw.series_n);
        for (uint32_t i = 0; i < got.series_n; i++) {
            bool equal = labels_eq(&got.series[i].labels, &raw.series[i].labels);
            ck_assert_msg(equal && got.series[i].v[0] == raw.series[i].v[0], "step %d: %g, raw %g", step,
                          got.series[i].v[0], raw.series[i].v[0]);
        }
        arena_done(&a);
        arena_done(&b);
    }
    ck_assert_int_gt(counted("hits_total"), hits);
    close_rig();
}
END_TEST

/* topk over panes gives the series that topk over samples gives, with their labels. */
START_TEST(heap_over_sums)
{
    static const char query[] = "topk(2, sum_over_time(m[5m]))";
    open_rig(_i, "queries:\n  - {query: \"topk(2, sum_over_time(m[5m]))\", every: 1m}\n" DATA, 1 << 20);
    send_one("other", -600, 0, -600);
    for (int i = 0; i < 20; i++)
        for (int s = 0; s < 3; s++) {
            char series[40];
            snprintf(series, sizeof series, "m{host=\"h\",s=\"%d\"}", s);
            send_one(series, 15 * (i + 1), i + 10 * (s % 2), 15 * (i + 1));
        }
    send_one("other", 345, 0, 345);
    uint32_t sources;
    ck_assert_uint_eq(rig_count(&rig, query, start_ms + 300000, false, &sources), 2);
    range_equals_raw(query, 300, 300, 60, _i == REBUILT ? SOURCE_RAW : SOURCE_PANES);
    close_rig();
}
END_TEST

static void *read_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        bool found;
        int minute = 5 + i % 20;
        double first = 4 * (minute - 5) + 1;
        double v = rig_value(&rig, SUM, start_ms + minute * 60000, false, &found);
        if (v != 20 * first + 190)
            return "a wrong sum";
    }
    return NULL;
}

/* Readers on several threads share windows that come and go under them. */
START_TEST(threads)
{
    pthread_t t[4];
    open_rig(KEPT, sum_workload, 6000);
    send_one("other", -600, 0, -600);
    send_rising("m", 1, 100, 15);
    send_one("other", 1545, 0, 1545);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, read_many, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(t[i], &wrong);
        ck_assert_ptr_null(wrong);
    }
    close_rig();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kept");
    TCase *t = tcase_create("kept");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_hundred_in_five_panes, 0, 2 * WAYS);
    tcase_add_loop_test(t, a_hundred_in_one_pane, 0, WAYS);
    tcase_add_loop_test(t, two_series, 0, 8 * WAYS);
    tcase_add_test(t, only_sealed_windows_are_kept);
    tcase_add_test(t, late_samples);
    tcase_add_loop_test(t, limits, 0, 3);
    tcase_add_loop_test(t, ranges, REBUILT, WAYS);
    tcase_add_test(t, as_planned);
    tcase_add_test(t, from_stored_to_kept_and_back);
    tcase_add_loop_test(t, heap_over_sums, 0, WAYS);
    tcase_add_loop_test(t, random_traffic, 0, 6);
    tcase_add_test(t, threads);
    suite_add_tcase(s, t);
    return suite_run(s);
}
