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
    tcase_add_test(tcase, quantiles_of_odd_values);
    tcase_add_test(tcase, a_damaged_pane_is_set_aside);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
