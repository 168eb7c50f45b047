/* ingest: a plan replaced while samples arrive. Views that stay go on, new ones are built from raw, dropped ones are
 * freed; and no answer ever misses a sample that came late. Values by arithmetic. */
#include <math.h>

#include "base/stats.h"
#include "ingest/rig.h"
#include "store/pane.h"
#include "suite.h"

enum { SECOND = 1000, SERIES = 5 };

static const int64_t t0 = 1700000000000;
static struct rig rig;

/* 100 samples a pane: panes are cheaper than raw samples. */
#define DATA "\ndata: {metrics: {m: {series: 1000, interval: 100ms}}}\n"
static const char sums[] = "queries: [{query: 'sum_over_time(m[1m])', every: 10s}]" DATA;
static const char sums_and_peaks[] = "queries: [{query: 'sum_over_time(m[1m])', every: 10s}, "
                                     "{query: 'max_over_time(m[2m])', every: 10s}]" DATA;
static const char peaks[] = "queries: [{query: 'max_over_time(m[2m])', every: 10s}]" DATA;

static void setup(void)
{
    rig = (struct rig){0};
}

/* Sample k of each series at t0 + k x 10 s. */
static void send_rounds(int first, int last)
{
    for (int k = first; k <= last; k++) {
        char names[SERIES][24];
        struct rig_sample samples[SERIES];
        for (int i = 0; i < SERIES; i++) {
            snprintf(names[i], sizeof names[i], "m{i=\"%d\"}", i);
            samples[i] = (struct rig_sample){names[i], t0 + k * 10 * SECOND, 100.0 * k + i};
        }
        ck_assert_int_eq(rig_send(&rig, samples, SERIES, t0 + k * 10 * SECOND, NULL), 0);
        rig_tick(&rig, t0 + k * 10 * SECOND + 300);
    }
}

static void send_late(int series, int64_t time_ms, double value, int64_t receive_ms)
{
    char name[24];
    snprintf(name, sizeof name, "m{i=\"%d\"}", series);
    struct rig_sample s = {name, time_ms, value};
    struct write_result result;
    ck_assert_int_eq(rig_send(&rig, &s, 1, receive_ms, &result), 0);
    ck_assert_uint_eq(result.samples_applied, 1);
}

static double value_at(const char *query, int k)
{
    bool found;
    double v = rig_value(&rig, query, t0 + k * 10 * SECOND, false, &found);
    ck_assert_msg(found, "%s at round %d is empty", query, k);
    return v;
}

/* Of all series. */
static double sum_of_rounds(int first, int last)
{
    double sum = 0;
    for (int k = first; k <= last; k++)
        for (int i = 0; i < SERIES; i++)
            sum += 100.0 * k + i;
    return sum;
}

/* What stored panes, where there are any, say at round k; all selectors are the views' own, or raw would answer. */
#define SUM_AT(k) value_at("sum(sum_over_time(m[1m]))", k)
#define PEAK_AT(k) value_at("max(max_over_time(m[2m]))", k)

static uint32_t sources_at(const char *query, int k)
{
    uint32_t sources;
    ck_assert_uint_eq(rig_count(&rig, query, t0 + k * 10 * SECOND, false, &sources), SERIES);
    return sources;
}

static struct ingest_view_status status_of(enum statistic statistic)
{
    struct ingest_view_status status = {0};
    for (uint32_t v = 0; v < rig.plan->views_n; v++)
        if (family_readout(family_get(rig.plan->views[v].family), statistic))
            ingest_view_status(rig.ingest, rig.plan->views[v].identity, &status);
    return status;
}

START_TEST(views_that_stay_go_on)
{
    rig_open(&rig, sums);
    send_rounds(0, 40);
    struct ingest_view_status before = status_of(STATISTIC_SUM);
    int64_t reads = stats_value("mullion_raw_window_reads_total", "");
    rig_replan(&rig, sums_and_peaks);
    struct ingest_view_status after = status_of(STATISTIC_SUM);
    ck_assert_uint_eq(after.store_view, before.store_view);
    ck_assert_int_eq(after.sealed_to_ms, before.sealed_to_ms);
    ck_assert_int_le(after.complete_from_ms, after.sealed_to_ms - 60 * SECOND); /* not more than retention may go */
    /* At once, before anything is built, and after: the same numbers. */
    ck_assert_double_eq(SUM_AT(40), sum_of_rounds(35, 40));
    ck_assert_double_eq(PEAK_AT(40), 4004);
    rig_tick(&rig, t0 + 400 * SECOND + 300);
    /* The 12 windows that the new view reaches and the 3 that are still open; none for the old view alone. */
    ck_assert_int_eq(stats_value("mullion_raw_window_reads_total", "") - reads, 15);
    send_rounds(41, 50);
    for (int k = 41; k <= 50; k++) {
        ck_assert_double_eq(SUM_AT(k), sum_of_rounds(k - 5, k));
        ck_assert_double_eq(PEAK_AT(k), 100.0 * k + SERIES - 1);
    }
    ck_assert_uint_eq(sources_at("sum_over_time(m[1m])", 50), SOURCE_PANES);
    ck_assert_uint_eq(sources_at("max_over_time(m[2m])", 50), SOURCE_PANES);
    rig_done(&rig);
}
END_TEST

START_TEST(late_samples_are_not_forgotten)
{
    rig_open(&rig, sums);
    send_rounds(0, 40);
    /* Into a sealed window and into an early one, before the change; and once more after it. */
    send_late(3, t0 + 305 * SECOND, 1e6, t0 + 400 * SECOND);
    send_late(3, t0 + 395 * SECOND, 1e7, t0 + 400 * SECOND);
    rig_replan(&rig, sums_and_peaks);
    send_late(2, t0 + 306 * SECOND, 2e6, t0 + 400 * SECOND);
    for (int pass = 0; pass < 3; pass++) {
        ck_assert_double_eq(SUM_AT(35), sum_of_rounds(30, 35) + 3e6);
        ck_assert_double_eq(SUM_AT(40), sum_of_rounds(35, 40) + 1e7);
        ck_assert_double_eq(PEAK_AT(39), 2e6);
        ck_assert_double_eq(PEAK_AT(40), 1e7);
        if (pass == 0)
            ck_assert_uint_ne(sources_at("sum_over_time(m[1m])", 35) & SOURCE_PANES, 0);
        if (pass == 0)
            send_rounds(41, 50); /* the early windows seal */
        else if (pass == 1)
            rig_crash(&rig);
    }
    rig_done(&rig);
}
END_TEST

/* A view leaves the plan and comes back: what came late meanwhile is in its panes. */
START_TEST(a_dropped_view_is_freed)
{
    rig_open(&rig, sums_and_peaks);
    send_rounds(0, 40);
    uint32_t number = status_of(STATISTIC_SUM).store_view;
    ck_assert_int_ne(status_of(STATISTIC_SUM).sealed_to_ms, INT64_MIN);
    rig_replan(&rig, peaks);
    struct store_txn *t;
    struct err e = {0};
    struct pane_manifest m;
    ck_assert_int_eq(store_read_begin(rig.store, &t, &e), 0);
    for (int k = 0; k <= 40; k++)
        ck_assert_int_eq(pane_manifest_get(t, number, t0 + k * 10 * SECOND, &m, &e), ERR_NOT_FOUND);
    store_read_end(t);
    send_rounds(41, 42);
    send_late(3, t0 + 305 * SECOND, 1e6, t0 + 420 * SECOND);
    ck_assert_double_eq(SUM_AT(35), sum_of_rounds(30, 35) + 1e6);
    rig_replan(&rig, sums_and_peaks);
    rig_tick(&rig, t0 + 420 * SECOND + 300);
    ck_assert_double_eq(SUM_AT(35), sum_of_rounds(30, 35) + 1e6);
    send_rounds(43, 50);
    ck_assert_uint_eq(sources_at("sum_over_time(m[1m])", 50), SOURCE_PANES);
    ck_assert_uint_eq(status_of(STATISTIC_SUM).store_view, number);
    rig_done(&rig);
}
END_TEST

/* Started without its plan for a while, as by a forgotten flag; stopped in good order or not. */
START_TEST(samples_without_a_plan_are_not_forgotten)
{
    rig_open(&rig, sums);
    send_rounds(0, 40);
    rig.workload = NULL;
    rig_reopen(&rig);
    send_late(3, t0 + 345 * SECOND, 1e6, t0 + 400 * SECOND); /* into a sealed window */
    if (_i & 1)
        rig_crash(&rig);
    if (_i & 2)
        rig_reopen(&rig);
    rig.workload = sums;
    rig_reopen(&rig);
    rig_tick(&rig, t0 + 400 * SECOND + 300);
    ck_assert_double_eq(SUM_AT(36), sum_of_rounds(31, 36) + 1e6);
    send_rounds(41, 50);
    ck_assert_double_eq(SUM_AT(36), sum_of_rounds(31, 36) + 1e6);
    ck_assert_uint_eq(sources_at("sum_over_time(m[1m])", 50), SOURCE_PANES);
    rig_done(&rig);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ingest/plan_change");
    TCase *tc = tcase_create("plan_change");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, views_that_stay_go_on);
    tcase_add_test(tc, late_samples_are_not_forgotten);
    tcase_add_test(tc, a_dropped_view_is_freed);
    tcase_add_loop_test(tc, samples_without_a_plan_are_not_forgotten, 0, 4);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
