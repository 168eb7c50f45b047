/*
 * Group sites answered from states by labels, through the whole engine: planned by the planner, built and sealed with
 * the windows, read at any time; each answer against an evaluation of the same raw samples.
 */
#include <math.h>
#include <stdio.h>

#include "ingest/rig.h"
#include "suite.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
static const int64_t start_ms = 400LL * HOUR;
static struct rig rig;
static unsigned long long state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((state >> 33) % below);
}

#define DATA                                                                                                           \
    "data: {raw_retention: 0, metrics: {x: {type: gauge, series: 60000, interval: 15s,\n"                              \
    "       labels: {job: 3, path: 5, user: 20}}}}\n"

static const char *const planned[] = {
    "sum by (job) (sum_over_time(x[5m]))",
    "sum by (job) (count_over_time(x[5m]))",
    "min by (job) (min_over_time(x[5m]))",
    "max by (job) (max_over_time(x[5m]))",
    "group by (job) (present_over_time(x[5m]))",
    "sum by (path, job) (sum_over_time(x[5m]))",
    "sum(sum_over_time(x[10m]))",
    "sum by () (count_over_time(x[5m] offset 2m))",
};
/* Not in the workload, but of what is kept. */
static const char *const bound[] = {
    "sum by (path) (sum_over_time(x[5m]))",
    "max(max_over_time(x[3m]))",
    "sum by (job) (sum_over_time(x[5m])) / sum by (job) (count_over_time(x[5m]))",
    "min by (job) (min_over_time(x[5m] offset 3m)) > 20",
};
enum { PLANNED = sizeof planned / sizeof *planned, BOUND = sizeof bound / sizeof *bound };

static void open_engine(void)
{
    static char workload[4000];
    size_t at = (size_t)snprintf(workload, sizeof workload, "queries:\n");
    for (size_t i = 0; i < PLANNED; i++)
        at += (size_t)snprintf(workload + at, sizeof workload - at,
                               "- {query: '%s', every: 1m, range: {length: 9m, step: 1m}}\n", planned[i]);
    snprintf(workload + at, sizeof workload - at, DATA);
    rig = (struct rig){0};
    rig_open(&rig, workload);
    uint32_t grouped = 0;
    for (uint32_t i = 0; i < rig.plan->views_n; i++)
        grouped += !rig.plan->views[i].per_series;
    ck_assert_uint_ge(grouped, 3); /* sums with counts, least, greatest */
}

/* 60 series, of three jobs, one of them nameless, five paths; the last ones come and go. */
static const char *name_of(uint32_t i, char ret[100])
{
    static const char *const jobs[] = {"job=\"a\",", "job=\"b\",", ""};
    snprintf(ret, 100, "x{%spath=\"/%u\",user=\"u%u\"}", jobs[i % 3], i % 5, i % 20);
    return ret;
}

static void send_span(int64_t from_ms, int64_t to_ms, bool late)
{
    for (int64_t t = from_ms; t < to_ms; t += 15 * SECOND) {
        struct rig_sample batch[60];
        static char names[60][100];
        uint32_t n = 0;
        for (uint32_t i = 0; i < 60; i++) {
            int64_t at_ms = t + i * 100;
            if (draw(10) == 0 || (i > 50 && at_ms / (4 * MINUTE) % 2))
                continue;
            if (late && draw(30) == 0)
                at_ms -= 20 * SECOND;
            batch[n++] = (struct rig_sample){name_of(i, names[i]), at_ms, draw(10000) / 100.0};
        }
        ck_assert_int_eq(rig_send(&rig, batch, n, t + 6000, NULL), 0);
        rig_tick(&rig, t + 6000);
    }
}

static struct result run(const char *query, int64_t from_ms, int64_t to_ms, int64_t step_ms, bool exact,
                         const struct accuracy *want, struct arena *a)
{
    struct executor x = {.plan = rig.plan, .source = ingest_source(rig.ingest)};
    struct query_options o = {.start_ms = from_ms, .end_ms = to_ms, .step_ms = step_ms, .exact = exact};
    struct result r;
    struct err e = {0};
    if (want)
        o.default_accuracy = *want;
    ck_assert_msg(query_run(&x, str_of(query), &o, a, &r, &e) == 0, "%s: %s", query, e.message);
    return r;
}

static bool close_to(double a, double b, double within)
{
    if (value_absent(a) || value_absent(b))
        return value_absent(a) && value_absent(b);
    return a == b || fabs(a - b) <= within * fmax(fabs(a), fabs(b));
}

/* Returns the sources of the answer. */
static uint32_t expect(const char *query, int64_t from_ms, int64_t to_ms, int64_t step_ms, double within)
{
    struct arena a;
    arena_init(&a, 0);
    struct result got = run(query, from_ms, to_ms, step_ms, false, NULL, &a),
                  raw = run(query, from_ms, to_ms, step_ms, true, NULL, &a);
    ck_assert_msg(got.series_n == raw.series_n, "%s: %u series, not %u", query, got.series_n, raw.series_n);
    for (uint32_t i = 0; i < raw.series_n; i++) {
        ck_assert_msg(labels_eq(&got.series[i].labels, &raw.series[i].labels), "%s: series %u", query, i);
        for (uint32_t t = 0; t < raw.times.n; t++)
            ck_assert_msg(close_to(got.series[i].v[t], raw.series[i].v[t], within),
                          "%s: series %u, step %u of %lld ms: %.17g, not %.17g", query, i, t, (long long)from_ms,
                          got.series[i].v[t], raw.series[i].v[t]);
    }
    arena_done(&a);
    return got.sources;
}

static void expect_all(int64_t at_ms)
{
    for (int i = 0; i < PLANNED + BOUND; i++) {
        const char *query = i < PLANNED ? planned[i] : bound[i - PLANNED];
        ck_assert_msg(expect(query, at_ms, at_ms, 0, 1e-9) & SOURCE_PANES, "%s", query);
        uint32_t sources = expect(query, at_ms - 9 * MINUTE, at_ms, MINUTE, 1e-9);
        ck_assert_msg(i >= PLANNED || sources & SOURCE_PANES, "%s", query); /* states of others may be gone already */
        expect(query, at_ms - 9 * MINUTE + 7000, at_ms, 30 * SECOND, 1e-9);
    }
}

/* At now, where the newest pane still grows; with samples that came late; after a restart or a kill. */
START_TEST(live)
{
    state = suite_seed("ingest/group_answers") + (unsigned)_i;
    open_engine();
    int64_t at_ms = start_ms;
    send_span(at_ms, at_ms + 20 * MINUTE, false);
    at_ms += 20 * MINUTE;
    expect_all(at_ms);
    for (int round = 0; round < 4; round++) {
        send_span(at_ms, at_ms + 3 * MINUTE, true);
        at_ms += 3 * MINUTE;
        expect_all(at_ms);
        if (_i == 1)
            rig_reopen(&rig);
        if (_i == 2)
            rig_crash(&rig);
        expect_all(at_ms);
    }
    rig_done(&rig);
}
END_TEST

/* Panes and nothing else, the newest still growing; a late sample sends its window to raw samples until it is sealed.
 */
START_TEST(what_is_read)
{
    state = 1;
    open_engine();
    int64_t at_ms = start_ms + 15 * MINUTE;
    send_span(start_ms, at_ms, false);
    for (int i = 0; i < PLANNED; i++) {
        ck_assert_uint_eq(expect(planned[i], at_ms - 3 * MINUTE, at_ms - 3 * MINUTE, 0, 1e-9), SOURCE_PANES);
        ck_assert_uint_eq(expect(planned[i], at_ms, at_ms, 0, 1e-9), SOURCE_PANES);
    }
    send_span(at_ms, at_ms + 15 * SECOND, false); /* refreshed, not sealed */
    ck_assert_uint_eq(expect(planned[0], at_ms + MINUTE, at_ms + MINUTE, 0, 1e-9), SOURCE_PANES);
    const struct rig_sample late = {"x{job=\"a\",path=\"/new\",user=\"u1\"}", at_ms - 5 * SECOND, 1000};
    ck_assert_int_eq(rig_send(&rig, &late, 1, at_ms + 15 * SECOND, NULL), 0);
    ck_assert_uint_eq(expect(planned[0], at_ms + MINUTE, at_ms + MINUTE, 0, 1e-9), SOURCE_PANES | SOURCE_RAW);
    ck_assert_uint_eq(expect(planned[5], at_ms, at_ms, 0, 1e-9), SOURCE_PANES); /* its newest is built anyway */
    send_span(at_ms + 15 * SECOND, at_ms + 75 * SECOND, false);
    ck_assert_uint_eq(expect(planned[0], at_ms + MINUTE, at_ms + MINUTE, 0, 1e-9), SOURCE_PANES);
    rig_done(&rig);
}
END_TEST

/* How many users a job had over a day of panes: 500 of one, 40 of the other, each only some of the time. Within what
 * was asked, on the hour and between; and the same after a kill. */
START_TEST(distinct_over_a_day)
{
    const char *query = "distinct_label_over_time(\"user\", x[1d], \"job\")";
    rig = (struct rig){0};
    rig_open(&rig, "queries: [{query: 'distinct_label_over_time(\"user\", x[1d], \"job\")', every: 1h,\n"
                   "          accuracy: {cardinality: 0.02}}]\n"
                   "data: {raw_retention: 0, metrics: {x: {type: gauge, series: 60000, interval: 15s,\n"
                   "       labels: {job: 2, user: 500}}}}\n");
    for (int64_t t = 0; t < 26 * HOUR; t += 10 * MINUTE) {
        struct rig_sample batch[60];
        static char names[60][60];
        for (uint32_t i = 0; i < 60; i++) {
            uint32_t user = (uint32_t)(t / (10 * MINUTE)) * 7 + i;
            snprintf(names[i], 60, "x{job=\"%s\",user=\"u%u\"}", i < 50 ? "a" : "b", user % (i < 50 ? 500 : 40));
            batch[i] = (struct rig_sample){names[i], start_ms + t + i, i};
        }
        ck_assert_int_eq(rig_send(&rig, batch, 60, start_ms + t + 1000, NULL), 0);
        rig_tick(&rig, start_ms + t + 1000);
    }
    for (int round = 0; round < 2; round++) {
        const int64_t at_ms = start_ms + 25 * HOUR;
        uint32_t sources = expect(query, at_ms, at_ms, 0, 0.02);
        ck_assert_uint_eq(sources, SOURCE_PANES);
        ck_assert(expect(query, at_ms - 2 * HOUR, at_ms, HOUR, 0.02) & SOURCE_PANES);
        ck_assert_uint_eq(expect(query, at_ms - 7 * MINUTE, at_ms - 7 * MINUTE, 0, 0.02), SOURCE_PANES | SOURCE_RAW);
        rig_crash(&rig);
    }
    rig_done(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/group_answers");
    TCase *tc = tcase_create("group_answers");
    tcase_add_loop_test(tc, live, 0, 3);
    tcase_add_test(tc, what_is_read);
    tcase_add_test(tc, distinct_over_a_day);
    tcase_set_timeout(tc, 200);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
