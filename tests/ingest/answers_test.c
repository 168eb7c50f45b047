/*
 * Known answers from panes: faults that systems of this kind have had, each with the value that is right (Prometheus'
 * own, or arithmetic). A planner plans the queries, samples come in by remote write, windows are sealed, and what is
 * asked must have been read from panes unless said otherwise.
 */
#include <math.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/stats.h"
#include "ingest/rig.h"
#include "store/pane.h"
#include "store/store.h"
#include "store/tables.h"
#include "suite.h"

static const int64_t start_ms = 400LL * 3600 * 1000;
static struct rig rig;

/* Queries planned every minute over panes, with whatever accuracy follows a '|'. */
static void open_with(const char *const *queries, size_t n)
{
    static char workload[8000];
    size_t at = (size_t)snprintf(workload, sizeof workload, "queries:\n");
    for (size_t i = 0; i < n; i++) {
        const char *bar = strchr(queries[i], '|');
        int text_n = bar ? (int)(bar - queries[i]) : (int)strlen(queries[i]);
        at += (size_t)snprintf(workload + at, sizeof workload - at, "  - {query: \"%.*s\", every: 1m%s%s}\n", text_n,
                               queries[i], bar ? ", accuracy: " : "", bar ? bar + 1 : "");
    }
    snprintf(workload + at, sizeof workload - at,
             "data: {raw_retention: 0, metrics: {m: {type: gauge, series: 3, interval: 15s}}}\n");
    rig = (struct rig){0};
    rig_open(&rig, workload);
}
#define OPEN(...)                                                                                                      \
    open_with((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* One sample; what is due by then is done. */
static void send_one(const char *series, int64_t time_ms, double value)
{
    const struct rig_sample sample = {series, time_ms, value};
    ck_assert_int_eq(rig_send(&rig, &sample, 1, time_ms, NULL), 0);
    rig_tick(&rig, time_ms);
}

/* values[i] at start + times_s[i]: another series begins before, so that windows are whole, and goes on until all are
 * sealed. */
static void send_at(const double *values, const int *times_s, size_t n)
{
    send_one("other", start_ms - 600000, 0);
    for (size_t i = 0; i < n; i++)
        send_one("m{s=\"0\"}", start_ms + times_s[i] * 1000, values[i]);
    send_one("other", start_ms + (times_s[n - 1] + 59) / 60 * 60000 + 45000, 0); /* lateness is 30 s */
}
/* Every 15 s from start + 15 s. */
static void send_each_15_s(const double *values, size_t n)
{
    int times_s[64];
    for (size_t i = 0; i < n; i++)
        times_s[i] = 15 * (int)(i + 1);
    send_at(values, times_s, n);
}

static double ask(const char *query, int at_s, uint32_t sources_wanted)
{
    uint32_t sources;
    bool found;
    ck_assert_uint_eq(rig_count(&rig, query, start_ms + at_s * 1000, false, &sources), 1);
    ck_assert_msg(sources == sources_wanted, "%s was read from sources %u, not %u", query, sources, sources_wanted);
    return rig_value(&rig, query, start_ms + at_s * 1000, false, &found);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The step from 40 to 4 lies between two panes. Panes that each kept an increase would give 60, extrapolated 68.571;
 * a counter that was not corrected at all, 27.4. */
START_TEST(reset_on_a_pane_edge)
{
    const double c[] = {10, 20, 30, 40, 4, 14, 24, 34};
    OPEN("increase(m[2m])", "rate(m[2m])", "resets(m[2m])");
    send_each_15_s(c, 8);
    ck_assert_double_eq_tol(ask("increase(m[2m])", 120, SOURCE_PANES), 73.142857, 5e-7);
    ck_assert_double_eq_tol(ask("rate(m[2m])", 120, SOURCE_PANES), 73.142857 / 120, 5e-9);
    ck_assert_double_eq(ask("resets(m[2m])", 120, SOURCE_PANES), 1);
    rig_done(&rig);
}
END_TEST

/* Without the reset's correction the increase of these is 85; without the extrapolation to the edges, 185. */
START_TEST(reset_inside_a_pane)
{
    double c[20];
    for (int i = 0; i < 20; i++)
        c[i] = i < 10 ? 10 * (i + 1) : 5 + 10 * (i - 10);
    OPEN("increase(m[5m])", "rate(m[5m])");
    send_each_15_s(c, 20);
    ck_assert_double_eq_tol(ask("increase(m[5m])", 300, SOURCE_PANES), 194.736842, 5e-7);
    ck_assert_double_eq_tol(ask("rate(m[5m])", 300, SOURCE_PANES), 0.649123, 5e-7);
    rig_done(&rig);
}
END_TEST

/* A sum of squares less n times the square of the mean is -128 here, and its root NaN. */
START_TEST(deviation_around_a_large_mean)
{
    const double v[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
    OPEN("stddev_over_time(m[2m])", "stdvar_over_time(m[2m])");
    send_at(v, (int[]){15, 30, 75, 90}, 4);
    ck_assert_double_eq(ask("stddev_over_time(m[2m])", 120, SOURCE_PANES), 4.7434164902525691);
    ck_assert_double_eq(ask("stdvar_over_time(m[2m])", 120, SOURCE_PANES), 22.5);
    rig_done(&rig);
}
END_TEST

/* A plain sum loses the 1, wherever the windows are cut. */
START_TEST(sum_of_far_apart)
{
    for (int cut = 0; cut < 3; cut++) {
        OPEN("sum_over_time(m[2m])", "avg_over_time(m[2m])");
        send_at((double[]){1e16, 1, -1e16}, (int[]){15, cut ? 75 : 30, cut == 2 ? 50 + 40 : 105}, 3);
        ck_assert_double_eq(ask("sum_over_time(m[2m])", 120, SOURCE_PANES), 1);
        ck_assert_double_eq_tol(ask("avg_over_time(m[2m])", 120, SOURCE_PANES), 1 / 3.0, 1e-15);
        rig_done(&rig);
    }
}
END_TEST

/* The sum of two of 1e308 is infinite; their average is not. */
START_TEST(average_of_the_greatest)
{
    OPEN("sum_over_time(m[2m])", "avg_over_time(m[2m])");
    send_at((double[]){1e308, 1e308}, (int[]){15, 75}, 2);
    ck_assert_double_eq(ask("avg_over_time(m[2m])", 120, SOURCE_PANES), 1e308);
    ck_assert(ask("sum_over_time(m[2m])", 120, SOURCE_PANES) == INFINITY);
    rig_done(&rig);
}
END_TEST

/* Nine samples of 1 in a pane, one of 11 in the next: the average of the panes' averages is 6. */
START_TEST(average_of_averages)
{
    OPEN("avg_over_time(m[2m])");
    send_at((double[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 11}, (int[]){5, 10, 15, 20, 25, 30, 35, 40, 45, 90}, 10);
    ck_assert_double_eq(ask("avg_over_time(m[2m])", 120, SOURCE_PANES), 2);
    rig_done(&rig);
}
END_TEST

/* Twenty samples of 10: a count that adds values up gives 200, an average of counts 1. */
START_TEST(counts_are_no_sums)
{
    double v[20];
    for (int i = 0; i < 20; i++)
        v[i] = 10;
    OPEN("count_over_time(m[5m])", "avg_over_time(m[5m])");
    send_each_15_s(v, 20);
    ck_assert_double_eq(ask("count_over_time(m[5m])", 300, SOURCE_PANES), 20);
    ck_assert_double_eq(ask("avg_over_time(m[5m])", 300, SOURCE_PANES), 10);
    rig_done(&rig);
}
END_TEST

/* A sample on each edge of a pane: (300, 600] has 6 .. 10. With its left edge it is 45 of 6, without its right one 35.
 */
START_TEST(edges_of_windows)
{
    double v[11];
    int times_s[11];
    for (int i = 0; i < 11; i++) {
        v[i] = i;
        times_s[i] = 60 * i;
    }
    OPEN("sum_over_time(m[5m])", "count_over_time(m[5m])", "last_over_time(m[1m])");
    send_at(v, times_s, 11);
    ck_assert_double_eq(ask("sum_over_time(m[5m])", 600, SOURCE_PANES), 40);
    ck_assert_double_eq(ask("count_over_time(m[5m])", 600, SOURCE_PANES), 5);
    ck_assert_double_eq(ask("last_over_time(m[1m])", 600, SOURCE_PANES), 10);
    rig_done(&rig);
}
END_TEST

/* A window of the future is what there is of it: asked before its samples came, and the same again after each. */
START_TEST(windows_of_the_future)
{
    static const char *const query = "sum_over_time(m[1m] offset -1m)";
    OPEN(query);
    send_one("other", start_ms - 600000, 0);
    double sum = 0;
    for (int i = 1; i <= 12; i++) {
        send_one("m{s=\"0\"}", start_ms + 15000 * i, i);
        sum += i > 4 && i <= 8 ? i : 0;
        bool found;
        double v = rig_value(&rig, query, start_ms + 60000, false, &found);
        ck_assert_msg(found == (i > 4) && (!found || v == sum), "%d samples: %g, not %g", i, v, sum);
    }
    send_one("other", start_ms + 225000, 0);
    ck_assert_double_eq(ask(query, 60, SOURCE_PANES), 5 + 6 + 7 + 8);
    rig_done(&rig);
}
END_TEST

/* NaN and +Inf among the samples, phi outside [0, 1]. A sketch knows no NaN; where its state says that there was one
 * the answer is raw's, and so is each answer the same whatever the accuracy. */
START_TEST(quantiles_of_odd_values)
{
    static const char *const phi[] = {"0", "0.25", "0.5", "0.75", "0.9", "1", "-0.1", "1.1", "NaN"};
    const double expect[] = {NAN, 1, 2, NAN, INFINITY, NAN, -INFINITY, INFINITY, NAN};
    const char *const accuracy[] = {"", "|{rank: 0.05}", "|{relative: 0.02}"};
    for (int a = 0; a < 3; a++) {
        char texts[9][80];
        const char *queries[9];
        for (int i = 0; i < 9; i++) {
            snprintf(texts[i], sizeof texts[i], "quantile_over_time(%s, m[2m])%s", phi[i], accuracy[a]);
            queries[i] = texts[i];
        }
        open_with(queries, 9);
        send_at((double[]){3, INFINITY, NAN, 1, 2}, (int[]){15, 30, 45, 75, 90}, 5);
        for (int i = 0; i < 9; i++) {
            uint32_t sources;
            bool found;
            *strchrnul(texts[i], '|') = 0;
            double v = rig_value(&rig, texts[i], start_ms + 120000, false, &found);
            ck_assert_msg(found && same(v, expect[i]), "%s %s: %g, not %g", texts[i], accuracy[a], v, expect[i]);
            ck_assert_uint_eq(rig_count(&rig, texts[i], start_ms + 120000, false, &sources), 1);
            ck_assert_uint_ne(sources, SOURCE_NONE);
        }
        rig_done(&rig);
    }
}
END_TEST

/* ---- several series ---- */

/* Every series each 15 s from start + 15 s, n times; then time goes on until all windows are sealed. */
static void send_all(const char *const *series, size_t series_n, double (*value)(size_t series, int k), int n)
{
    send_one("other", start_ms - 600000, 0);
    for (int k = 1; k <= n; k++) {
        for (size_t s = 0; s < series_n; s++)
            send_one(series[s], start_ms + 15000 * k, value(s, k));
    }
    send_one("other", start_ms + (15 * n + 59) / 60 * 60000 + 45000, 0);
}

/* The answer from panes has this many series; label = group has the value. */
static void expect(const char *query, int at_s, uint32_t series_n, const char *label, const char *group, double value)
{
    struct executor x = {.plan = rig.plan, .source = ingest_source(rig.ingest)};
    struct query_options o = {.start_ms = start_ms + at_s * 1000, .end_ms = start_ms + at_s * 1000};
    struct arena a;
    struct result r;
    struct err e = {0};
    arena_init(&a, 0);
    ck_assert_msg(query_run(&x, str_of(query), &o, &a, &r, &e) == 0, "%s: %s", query, e.message);
    ck_assert_msg(r.sources == SOURCE_PANES, "%s was read from sources %u", query, r.sources);
    ck_assert_msg(r.series_n == series_n, "%s: %u series, not %u", query, r.series_n, series_n);
    bool found = false;
    for (uint32_t i = 0; i < r.series_n; i++) {
        if (!str_eq(labels_get(&r.series[i].labels, str_of(label)), str_of(group)))
            continue;
        ck_assert_double_eq_tol(r.series[i].v[0], value, 1e-9 * value);
        found = true;
    }
    ck_assert_msg(found, "%s: no series with %s=\"%s\"", query, label, group);
    arena_done(&a);
}

/* 1, 2 and 3 times the time, in seconds. */
static double steady(size_t series, int k)
{
    return 15.0 * k * (double)(series + 1);
}

START_TEST(functions_under_aggregations)
{
    static const char *const series[] = {"m{host=\"a\",path=\"/x\"}", "m{host=\"a\",path=\"/y\"}",
                                         "m{host=\"b\",path=\"/x\"}"};
    static const struct {
        const char *function;
        double unit; /* the value of the first series */
    } functions[] = {{"rate", 1},           {"increase", 300},      {"sum_over_time", 3150}, {"avg_over_time", 157.5},
                     {"min_over_time", 15}, {"max_over_time", 300}, {"last_over_time", 300}};
    static const struct {
        const char *op;
        double a, b; /* of 1 and 2; of 3 */
    } ops[] = {{"sum by (host) (", 3, 3},
               {"avg by (host) (", 1.5, 3},
               {"min by (host) (", 1, 3},
               {"max by (host) (", 2, 3},
               {"quantile by (host) (0.5, ", 1.5, 3}};
    enum { FUNCTIONS = sizeof functions / sizeof *functions, OPS = sizeof ops / sizeof *ops, N = FUNCTIONS * OPS };
    static char text[N][100];
    const char *queries[N];
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "%s%s(m[5m]))", ops[i % OPS].op, functions[i / OPS].function);
        queries[i] = text[i];
    }
    open_with(queries, N);
    send_all(series, 3, steady, 20);
    for (int i = 0; i < N; i++) {
        expect(queries[i], 300, 2, "host", "a", ops[i % OPS].a * functions[i / OPS].unit);
        expect(queries[i], 300, 2, "host", "b", ops[i % OPS].b * functions[i / OPS].unit);
    }
    rig_done(&rig);
}
END_TEST

/* 10, 20 .. 80; 1000 .. 1030, then 5 .. 35. */
static double with_reset(size_t series, int k)
{
    return series == 0 ? 10 * k : k <= 4 ? 990 + 10 * k : 10 * k - 45;
}

/* 80, and 65 * 120 / 105 of the one that starts again. The increase of their sum would be 200. */
START_TEST(sums_of_increases)
{
    static const char *const series[] = {"m{s=\"a\"}", "m{s=\"b\"}"};
    static const char *const queries[] = {"sum(increase(m[2m]))", "sum(rate(m[2m]))"};
    open_with(queries, 2);
    send_all(series, 2, with_reset, 8);
    expect(queries[0], 120, 1, "s", "", 80 + 65 * 120 / 105.0);
    expect(queries[1], 120, 1, "s", "", (80 + 65 * 120 / 105.0) / 120);
    rig_done(&rig);
}
END_TEST

static double constant(size_t series, int k)
{
    static const double values[] = {140, 280, 70, 140, 210, 420};
    (void)k;
    return values[series];
}

/* Each job has a first one. */
START_TEST(best_of_groups)
{
    static const char *const series[] = {"m{instance=\"i-1\",job=\"backend\"}",  "m{instance=\"i-2\",job=\"backend\"}",
                                         "m{instance=\"i-1\",job=\"frontend\"}", "m{instance=\"i-2\",job=\"frontend\"}",
                                         "m{instance=\"i-1\",job=\"worker\"}",   "m{instance=\"i-2\",job=\"worker\"}"};
    static const char *const queries[] = {"topk by (job) (1, sum_over_time(m[5m]))",
                                          "bottomk by (job) (1, sum_over_time(m[5m]))"};
    open_with(queries, 2);
    send_all(series, 6, constant, 20);
    expect(queries[0], 300, 3, "job", "backend", 5600);
    expect(queries[0], 300, 3, "job", "frontend", 2800);
    expect(queries[0], 300, 3, "job", "worker", 8400);
    expect(queries[1], 300, 3, "job", "backend", 2800);
    expect(queries[1], 300, 3, "job", "frontend", 1400);
    expect(queries[1], 300, 3, "job", "worker", 4200);
    rig_done(&rig);
}
END_TEST

/* ---- damage ---- */

struct found_block {
    struct pane_key key;
    uint8_t bytes[8192];
    size_t n;
    uint32_t blocks;
};

static int take_block(void *ctx, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct found_block *found = ctx;
    ck_assert_uint_le(bytes.n, sizeof found->bytes);
    found->key = *key;
    memcpy(found->bytes, bytes.p, bytes.n);
    found->n = bytes.n;
    found->blocks++;
    return 0;
}

static void put_block(const struct found_block *b)
{
    struct store_txn *txn;
    struct err e = {0};
    uint8_t key[20];
    store_be32(key, b->key.view);
    store_be_i64(key + 4, b->key.end_ms);
    store_be32(key + 12, b->key.metric);
    store_be32(key + 16, b->key.shard);
    ck_assert_int_eq(store_write_begin(rig.store, &txn, &e), 0);
    ck_assert_int_eq(store_put(txn, TABLE_PANES, key, sizeof key, (struct str){(const char *)b->bytes, b->n}, &e), 0);
    ck_assert_int_eq(store_write_commit(txn, &e), 0);
}

/* A flipped byte anywhere in a stored block: its checksum says so, that one pane is set aside and counted, and what
 * reads it is answered, rightly, from raw; the panes of other windows serve on. Whole again, it serves too. */
START_TEST(a_damaged_pane_is_set_aside)
{
    enum { N = 20, HURT_END_S = 180, HEAD_BYTES = 64 + 128 };
    static const char *const query = "sum_over_time(m[1m])", *const wide = "sum_over_time(m[5m])",
                             *const counter = "mullion_pane_blocks_damaged_total";
    static struct found_block whole, hurt;
    double v[N];
    for (int i = 0; i < N; i++)
        v[i] = 1 << i;
    OPEN(query, wide);
    send_each_15_s(v, N);
    struct store_txn *txn;
    struct pane_view view;
    struct err e = {0};
    ck_assert_uint_eq(rig.plan->views_n, 1);
    ck_assert_int_eq(store_read_begin(rig.store, &txn, &e), 0);
    ck_assert_int_eq(pane_view_find(txn, rig.plan->views[0].identity, &view, &e), 0);
    ck_assert_int_eq(pane_window_walk(txn, view.number, start_ms + HURT_END_S * 1000, take_block, &whole, &e), 0);
    ck_assert_uint_eq(whole.blocks, 1);
    store_read_end(txn);
    unsigned tried = 0;
    for (size_t at = 0; at < whole.n; at += at < HEAD_BYTES || at + 40 > whole.n ? 3 : 61) {
        hurt = whole;
        hurt.bytes[at] ^= (uint8_t)(1u << at % 8);
        put_block(&hurt);
        int64_t before = stats_value(counter, "");
        ck_assert_double_eq(ask(query, HURT_END_S, SOURCE_RAW), 0xf << 8); /* four samples a minute */
        ck_assert_double_eq(ask(wide, 300, SOURCE_RAW), (1 << N) - 1);
        int64_t after = stats_value(counter, "");
        ck_assert_msg(after > before, "byte %zu is not counted", at);
        ck_assert_double_eq(ask(query, HURT_END_S - 60, SOURCE_PANES), 0xf << 4);
        ck_assert_double_eq(ask(query, HURT_END_S + 60, SOURCE_PANES), 0xf << 12);
        ck_assert_int_eq(stats_value(counter, ""), after);
        tried++;
    }
    printf("%u of %zu bytes flipped\n", tried, whole.n);
    put_block(&whole);
    ck_assert_double_eq(ask(query, HURT_END_S, SOURCE_PANES), 0xf << 8);
    ck_assert_double_eq(ask(wide, 300, SOURCE_PANES), (1 << N) - 1);
    rig_done(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/answers");
    TCase *tcase = tcase_create("answers");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, reset_on_a_pane_edge);
    tcase_add_test(tcase, reset_inside_a_pane);
    tcase_add_test(tcase, deviation_around_a_large_mean);
    tcase_add_test(tcase, sum_of_far_apart);
    tcase_add_test(tcase, average_of_the_greatest);
    tcase_add_test(tcase, average_of_averages);
    tcase_add_test(tcase, counts_are_no_sums);
    tcase_add_test(tcase, edges_of_windows);
    tcase_add_test(tcase, windows_of_the_future);
    tcase_add_test(tcase, quantiles_of_odd_values);
    tcase_add_test(tcase, functions_under_aggregations);
    tcase_add_test(tcase, sums_of_increases);
    tcase_add_test(tcase, best_of_groups);
    tcase_add_test(tcase, a_damaged_pane_is_set_aside);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
