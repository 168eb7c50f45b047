/* ingest: the admission table row by row, early refresh and sealing counted, late samples, restarts. Values by
 * arithmetic. */
#include <math.h>
#include <snappy-c.h>
#include <stdlib.h>

#include "base/float_text.h"
#include "base/stats.h"
#include "ingest/rig.h"
#include "suite.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static struct rig rig;

static void setup(void)
{
    rig = (struct rig){0};
}

static double value_at(const char *query, int64_t time_ms)
{
    bool found;
    double v = rig_value(&rig, query, time_ms, false, &found);
    ck_assert_msg(found, "%s at %lld is empty", query, (long long)time_ms);
    return v;
}

static struct write_result send_one(const char *series, int64_t time_ms, double value, int64_t receive_ms)
{
    struct rig_sample s = {series, time_ms, value};
    struct write_result result;
    ck_assert_int_eq(rig_send(&rig, &s, 1, receive_ms, &result), 0);
    return result;
}

/* ---- the admission table ---- */

START_TEST(admission_rows)
{
    rig_open(&rig, NULL);
    const int64_t now = 10 * HOUR;
    ck_assert_uint_eq(send_one("m", now, 1, now).samples_applied, 1);
    /* more than 10 minutes ahead of the receive time */
    ck_assert_uint_eq(send_one("m", now + 11 * MINUTE, 1, now).samples_refused, 1);
    ck_assert_uint_eq(send_one("m", now + 9 * MINUTE, 2, now).samples_applied, 1);
    /* same time, same bits; same time, another value */
    ck_assert_uint_eq(send_one("m", now, 1, now).samples_duplicate, 1);
    struct write_result conflict = send_one("m", now, 7, now);
    ck_assert_uint_eq(conflict.samples_refused, 1);
    ck_assert_ptr_nonnull(strstr(conflict.refused, "duplicate sample for timestamp"));
    ck_assert_double_eq(value_at("m", now), 1);
    /* late, within the horizon: stored; behind the horizon and not newer than its series: refused */
    ck_assert_uint_eq(send_one("m", now - 1 * HOUR, 5, now).samples_applied, 1);
    ck_assert_uint_eq(send_one("m", now - 3 * HOUR, 5, now).samples_refused, 1);
    /* a sender catching up: old, but newer than its own series' last sample */
    ck_assert_uint_eq(send_one("slow", now - 4 * HOUR, 3, now).samples_applied, 1);
    ck_assert_uint_eq(send_one("slow", now - 3 * HOUR, 4, now).samples_applied, 1);
    ck_assert_uint_eq(send_one("slow", now - 3 * HOUR - 1, 4, now).samples_refused, 1);
    /* the oldest time that window arithmetic has room for, and one before it */
    ck_assert_uint_eq(send_one("ancient", INT64_MIN, 3, now).samples_refused, 1);
    ck_assert_uint_eq(send_one("ancient", -(INT64_C(1) << 60) - 1, 3, now).samples_refused, 1);
    ck_assert_uint_eq(send_one("ancient", -(INT64_C(1) << 60), 3, now).samples_applied, 1);
    rig_done(&rig);
}
END_TEST

START_TEST(number_wins_over_stale_marker)
{
    rig_open(&rig, NULL);
    const int64_t now = 10 * HOUR;
    send_one("a", now, float_stale(), now);
    ck_assert_uint_eq(send_one("a", now, 3, now).samples_applied, 1);
    ck_assert_double_eq(value_at("a", now), 3);
    send_one("b", now, 3, now);
    ck_assert_uint_eq(send_one("b", now, float_stale(), now).samples_duplicate, 1);
    ck_assert_double_eq(value_at("b", now), 3);
    /* the same after the samples moved to the store and back through the log */
    rig_reopen(&rig);
    ck_assert_double_eq(value_at("a", now), 3);
    ck_assert_double_eq(value_at("b", now), 3);
    rig_done(&rig);
}
END_TEST

START_TEST(good_series_of_a_request_are_kept)
{
    rig_open(&rig, NULL);
    const struct rig_sample samples[] = {{"good{a=\"1\"}", HOUR, 1},
                                         {"bad{a=\"1\",a=\"2\"}", HOUR, 2},
                                         {"bad{x=\"\xff\"}", HOUR, 3},
                                         {"good{a=\"2\"}", HOUR, 4}};
    struct write_result result;
    uint32_t sources;
    ck_assert_int_eq(rig_send(&rig, samples, 4, HOUR, &result), 0);
    ck_assert_uint_eq(result.samples_applied, 2);
    ck_assert_uint_eq(result.samples_refused, 2);
    ck_assert_ptr_nonnull(strstr(result.refused, "stands twice"));
    ck_assert_uint_eq(rig_count(&rig, "good", HOUR, false, &sources), 2);
    ck_assert_uint_eq(rig_count(&rig, "bad", HOUR, false, &sources), 0);
    rig_crash(&rig);
    ck_assert_uint_eq(rig_count(&rig, "good", HOUR, false, &sources), 2);
    ck_assert_uint_eq(rig_count(&rig, "bad", HOUR, false, &sources), 0);
    rig_done(&rig);
}
END_TEST

START_TEST(equal_refusals_are_counted)
{
    enum { N = 50 };
    rig_open(&rig, NULL);
    struct rig_sample samples[2 * N + 2];
    for (int i = 0; i < N; i++) {
        samples[i] = (struct rig_sample){"ahead", 2 * HOUR + i, i};
        samples[N + i] = (struct rig_sample){"held", HOUR, i};
    }
    samples[2 * N] = (struct rig_sample){"other", 3 * HOUR, 1};
    samples[2 * N + 1] = (struct rig_sample){"twice{a=\"1\",a=\"2\"}", HOUR, 1};
    struct write_result r;
    ck_assert_int_eq(rig_send(&rig, samples, N, HOUR, &r), 0);
    ck_assert_str_eq(r.refused, "50 x sample too far in the future: ahead");
    ck_assert_int_eq(rig_send(&rig, samples, 1, HOUR, &r), 0);
    ck_assert_str_eq(r.refused, "sample too far in the future: ahead");
    ck_assert_int_eq(rig_send(&rig, samples, 2 * N + 2, HOUR, &r), 0);
    ck_assert_uint_eq(r.samples_refused, N + (N - 1) + 2);
    ck_assert_ptr_nonnull(strstr(r.refused, "51 x sample too far in the future: ahead and others; "
                                            "49 x duplicate sample for timestamp"));
    ck_assert_ptr_nonnull(strstr(r.refused, "stands twice"));
    rig_done(&rig);
}
END_TEST

START_TEST(malformed_bodies_store_nothing)
{
    rig_open(&rig, NULL);
    const struct rig_sample sample = {"m", HOUR, 1};
    struct strbuf body = {0};
    struct write_result result;
    struct err e = {0};
    rig_encode(&sample, 1, &body);
    char plain[256], cut[256];
    size_t plain_n = sizeof plain;
    ck_assert_int_eq(snappy_uncompress(body.p, body.n, plain, &plain_n), SNAPPY_OK);
    /* Every truncation of the protobuf is refused whole, but the one at its very start: an empty request is valid. */
    for (size_t n = 1; n < plain_n; n++) {
        size_t cut_n = sizeof cut;
        ck_assert_int_eq(snappy_compress(plain, n, cut, &cut_n), SNAPPY_OK);
        ck_assert_int_eq(ingest_write(rig.ingest, NULL, (struct str){cut, cut_n}, HOUR, &result, &e), ERR_BAD_DATA);
    }
    /* 100 bytes that declare 2 GiB; and a declaration within the limit that the bytes cannot hold */
    char bomb[100] = "\x80\x80\x80\x80\x08";
    ck_assert_int_eq(ingest_write(rig.ingest, NULL, (struct str){bomb, sizeof bomb}, HOUR, &result, &e), ERR_TOO_LARGE);
    char claim[100] = "\x80\x80\x80\x10";
    ck_assert_int_eq(ingest_write(rig.ingest, NULL, (struct str){claim, sizeof claim}, HOUR, &result, &e),
                     ERR_BAD_DATA);
    ck_assert_int_eq(ingest_write(rig.ingest, NULL, (struct str){"", 0}, HOUR, &result, &e), ERR_BAD_DATA);
    uint32_t sources;
    ck_assert_uint_eq(rig_count(&rig, "m", HOUR, false, &sources), 0);
    strbuf_done(&body);
    rig_done(&rig);
}
END_TEST

/* ---- panes ---- */

static const char workload[] = "queries:\n"
                               "  - query: sum_over_time(m[1m])\n"
                               "    every: 10s\n"
                               "  - query: quantile_over_time(0.9, m[1m])\n"
                               "    every: 10s\n"
                               "    accuracy: {rank: 0.01}\n"
                               "data:\n"
                               "  metrics:\n"
                               "    m: {type: gauge, series: 20, interval: 10s}\n"
                               "  raw_retention: 0\n";

static const int64_t t0 = 100 * HOUR;

/* Round k: every series i has value 100 k + i at t0 + 10 k s, all in one request. */
static void send_round(int k, int series_n)
{
    char names[32][24];
    struct rig_sample samples[32];
    for (int i = 0; i < series_n; i++) {
        snprintf(names[i], sizeof names[i], "m{i=\"%d\"}", i);
        samples[i] = (struct rig_sample){names[i], t0 + k * 10 * SECOND, 100.0 * k + i};
    }
    ck_assert_int_eq(rig_send(&rig, samples, (size_t)series_n, t0 + k * 10 * SECOND, NULL), 0);
    rig_tick(&rig, t0 + k * 10 * SECOND + 300);
}

static double sum_of_rounds(int first, int last, int i)
{
    double sum = 0;
    for (int k = first; k <= last; k++)
        sum += 100.0 * k + i;
    return sum;
}

START_TEST(one_refresh_a_window)
{
    rig_open(&rig, workload);
    ck_assert_uint_eq(rig.plan->views_n, 2);
    ck_assert_uint_eq(rig.plan->groups_n, 1);
    int64_t reads = stats_value("mullion_raw_window_reads_total", ""),
            built = stats_value("mullion_states_built_total", "");
    for (int k = 0; k < 30; k++)
        send_round(k, 20);
    ck_assert_int_eq(stats_value("mullion_raw_window_reads_total", "") - reads, 30);
    ck_assert_int_eq(stats_value("mullion_states_built_total", "") - built, 30 * 2 * 20);
    /* Early and sealed windows answer alike: the six newest rounds. */
    uint32_t sources;
    for (int k = 10; k < 30; k++)
        ck_assert_double_eq(value_at("sum_over_time(m{i=\"3\"}[1m])", t0 + k * 10 * SECOND),
                            sum_of_rounds(k - 5, k, 3));
    ck_assert_uint_eq(rig_count(&rig, "sum_over_time(m[1m])", t0 + 290 * SECOND, false, &sources), 20);
    ck_assert_uint_eq(sources, SOURCE_PANES);
    rig_done(&rig);
}
END_TEST

START_TEST(late_sample_changes_the_next_answer)
{
    rig_open(&rig, workload);
    for (int k = 0; k < 30; k++)
        send_round(k, 20);
    /* One into an early window (newest but one), one into a sealed window. */
    const int64_t early = t0 + 275 * SECOND, sealed = t0 + 95 * SECOND;
    send_one("m{i=\"3\"}", early, 1e6, t0 + 290 * SECOND);
    send_one("m{i=\"3\"}", sealed, 1e6, t0 + 290 * SECOND);
    uint32_t sources;
    for (int pass = 0; pass < 3; pass++) {
        struct {
            int k;
            double more;
        } cases[] = {{29, 1e6}, {12, 1e6}, {20, 0}};
        for (size_t c = 0; c < 3; c++) {
            int64_t at = t0 + cases[c].k * 10 * SECOND;
            double want = sum_of_rounds(cases[c].k - 5, cases[c].k, 3) + cases[c].more;
            ck_assert_double_eq(value_at("sum(sum_over_time(m[1m])) - sum(sum_over_time(m{i!=\"3\"}[1m]))", at), want);
        }
        ck_assert_uint_eq(rig_count(&rig, "sum_over_time(m[1m])", t0 + 120 * SECOND, false, &sources), 20);
        /* Pass 1: the early window sealed with its dirty series rebuilt; pass 2: after a crash. */
        if (pass == 0)
            for (int k = 30; k < 36; k++)
                send_round(k, 20);
        else if (pass == 1)
            rig_crash(&rig);
    }
    rig_done(&rig);
}
END_TEST

START_TEST(backfill_builds_what_readers_reach)
{
    rig_open(&rig, NULL);
    rig_done(&rig);
    rig = (struct rig){0};
    ingest_options_default(&rig.options);
    rig.options.lateness_ms = 0;
    rig_open(&rig, NULL);
    for (int k = 0; k < 60; k++)
        send_round(k, 20);
    rig.workload = workload;
    int64_t reads = stats_value("mullion_raw_window_reads_total", ""),
            built = stats_value("mullion_states_built_total", "");
    rig_reopen(&rig);
    rig_tick(&rig, t0 + 600 * SECOND);
    /* Both views reach 6 windows back, in one group. */
    ck_assert_int_eq(stats_value("mullion_raw_window_reads_total", "") - reads, 6);
    ck_assert_int_eq(stats_value("mullion_states_built_total", "") - built, 6 * 2 * 20);
    uint32_t sources;
    ck_assert_double_eq(value_at("sum_over_time(m{i=\"3\"}[1m])", t0 + 590 * SECOND), sum_of_rounds(54, 59, 3));
    ck_assert_uint_eq(rig_count(&rig, "sum_over_time(m[1m])", t0 + 590 * SECOND, false, &sources), 20);
    ck_assert_uint_eq(sources, SOURCE_PANES);
    /* Opened again, nothing is built twice. */
    reads = stats_value("mullion_raw_window_reads_total", "");
    rig_reopen(&rig);
    rig_tick(&rig, t0 + 600 * SECOND);
    ck_assert_int_eq(stats_value("mullion_raw_window_reads_total", "") - reads, 0);
    rig_done(&rig);
}
END_TEST

/* Samples came before the plan did, and go on coming: what was built up to now is no more than that, and the windows
 * that were open then are whole when they are sealed. Series of rounds 0 .. 62, of which 58 .. 62 came later. */
START_TEST(backfill_leaves_the_newest_windows_open)
{
    rig_open(&rig, NULL);
    for (int k = 0; k <= 57; k++)
        send_round(k, 20);
    rig.workload = workload;
    rig_reopen(&rig);
    rig_tick(&rig, t0 + 575 * SECOND);
    ck_assert_uint_eq(ingest_backfill_left(rig.ingest), 0);
    uint32_t sources;
    for (int last = 58; last <= 62; last++) {
        send_round(last, 20);
        for (int k = 55; k <= last; k++)
            ck_assert_double_eq(value_at("sum_over_time(m{i=\"3\"}[1m])", t0 + k * 10 * SECOND),
                                sum_of_rounds(k - 5, k, 3));
        /* The same time asked for again, with what has come for it since. */
        ck_assert_double_eq(value_at("sum_over_time(m{i=\"3\"}[1m])", t0 + 620 * SECOND), sum_of_rounds(57, last, 3));
    }
    for (int k = 63; k < 70; k++)
        send_round(k, 20);
    ck_assert_double_eq(value_at("sum_over_time(m{i=\"3\"}[1m])", t0 + 620 * SECOND), sum_of_rounds(57, 62, 3));
    ck_assert_uint_eq(rig_count(&rig, "sum_over_time(m[1m])", t0 + 620 * SECOND, false, &sources), 20);
    ck_assert_uint_eq(sources, SOURCE_PANES);
    rig_done(&rig);
}
END_TEST

/* ---- restart ---- */

START_TEST(samples_survive_stop_and_crash)
{
    rig_open(&rig, NULL);
    for (int k = 0; k < 700; k++) {
        send_one("c{job=\"x\"}", t0 + k * SECOND, k, t0 + k * SECOND);
        if (k == 300)
            rig_reopen(&rig);
        if (k == 500) {
            rig_crash(&rig);
            ck_assert_uint_ge(rig.report.replayed_records, 199);
        }
    }
    ck_assert_double_eq(value_at("count_over_time(c[1h])", t0 + 700 * SECOND), 700);
    ck_assert_double_eq(value_at("sum_over_time(c[1h])", t0 + 700 * SECOND), 699.0 * 700 / 2);
    rig_crash(&rig);
    ck_assert_double_eq(value_at("count_over_time(c[1h])", t0 + 700 * SECOND), 700);
    /* The same request again changes nothing: retried batches are not counted twice. */
    ck_assert_uint_eq(send_one("c{job=\"x\"}", t0 + 350 * SECOND, 350, t0 + 700 * SECOND).samples_duplicate, 1);
    ck_assert_double_eq(value_at("count_over_time(c[1h])", t0 + 700 * SECOND), 700);
    rig_done(&rig);
}
END_TEST

/* A killed process' directory, read only: open chunks of the checkpoint and the log's samples are in the answers, and
 * nothing in the directory changes. */
START_TEST(read_only_sees_all_and_changes_nothing)
{
    rig_open(&rig, NULL);
    for (int k = 0; k < 700; k++) {
        send_one("c{job=\"x\"}", t0 + k * SECOND, k, t0 + k * SECOND);
        if (k == 300)
            rig_reopen(&rig);
        if (k == 500)
            rig_tick(&rig, t0 + k * SECOND);
    }
    char before[64], command[256];
    rig_crash_read_only(&rig, before, sizeof before);
    ck_assert_double_eq(value_at("count_over_time(c[1h])", t0 + 700 * SECOND), 700);
    ck_assert_double_eq(value_at("sum_over_time(c[1h])", t0 + 700 * SECOND), 699.0 * 700 / 2);
    ck_assert_double_eq(value_at("c", t0 + 700 * SECOND), 699);
    rig_reopen(&rig);
    ck_assert_double_eq(value_at("count_over_time(c[1h])", t0 + 700 * SECOND), 700);
    snprintf(command, sizeof command, "diff -r --exclude=store.mdb-lock %s %s", before, rig.dir);
    ck_assert_msg(system(command) == 0, "the directory changed");
    snprintf(command, sizeof command, "rm -rf %s", before);
    ck_assert_int_eq(system(command), 0);
    rig_done(&rig);
}
END_TEST

START_TEST(checkpoints_keep_what_is_read)
{
    rig_open(&rig, NULL);
    int64_t now = t0;
    for (int k = 0; k < 2000; k++, now += SECOND) {
        send_one("c", now, k, now);
        if (k % 7 == 3)
            send_one("c", now - 500, k - 0.5, now);
        rig_tick(&rig, now);
    }
    ck_assert_double_eq(value_at("count_over_time(c[1h])", now), 2000 + 2000 / 7 + 1);
    /* An instant selector asks for the newest sample alone; the same from all samples, wherever they lie. */
    for (int64_t t = t0 + 250; t < now + 298 * SECOND; t += t < now - 60 * SECOND ? 7750 : 250) {
        ck_assert_double_eq(value_at("c", t), value_at("last_over_time(c[5m])", t));
        ck_assert_double_eq(value_at("timestamp(c)", t), value_at("ts_of_last_over_time(c[5m])", t));
    }
    ck_assert_double_eq(value_at("max_over_time(c[10m] offset 10m)", now), 1999 - 600 + 1);
    rig_done(&rig);
}
END_TEST

/* What is behind when the server ends is built after the next start; until then raw samples answer. */
START_TEST(a_stop_leaves_the_backlog)
{
    rig_open(&rig, "queries:\n  - query: sum_over_time(m[10s])\n    every: 1s\ndata: {raw_retention: 0}\n");
    for (int64_t t = HOUR; t <= HOUR + MINUTE; t += SECOND)
        send_one("m", t, 1, t);
    ingest_stop(rig.ingest);
    rig_tick(&rig, HOUR + MINUTE);
    uint32_t sources;
    ck_assert_uint_eq(rig_count(&rig, "sum_over_time(m[10s])", HOUR + MINUTE, false, &sources), 1);
    ck_assert_uint_eq(sources & SOURCE_PANES, 0);
    ck_assert_double_eq(value_at("sum_over_time(m[10s])", HOUR + MINUTE), 10);
    rig_reopen(&rig);
    rig_tick(&rig, HOUR + 2 * MINUTE);
    ck_assert_uint_eq(rig_count(&rig, "sum_over_time(m[10s])", HOUR + MINUTE, false, &sources), 1);
    ck_assert_uint_eq(sources & SOURCE_PANES, SOURCE_PANES);
    ck_assert_double_eq(value_at("sum_over_time(m[10s])", HOUR + MINUTE), 10);
    rig_done(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/ingest");
    TCase *tcase = tcase_create("ingest");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, admission_rows);
    tcase_add_test(tcase, number_wins_over_stale_marker);
    tcase_add_test(tcase, good_series_of_a_request_are_kept);
    tcase_add_test(tcase, equal_refusals_are_counted);
    tcase_add_test(tcase, malformed_bodies_store_nothing);
    tcase_add_test(tcase, one_refresh_a_window);
    tcase_add_test(tcase, late_sample_changes_the_next_answer);
    tcase_add_test(tcase, backfill_builds_what_readers_reach);
    tcase_add_test(tcase, backfill_leaves_the_newest_windows_open);
    tcase_add_test(tcase, samples_survive_stop_and_crash);
    tcase_add_test(tcase, read_only_sees_all_and_changes_nothing);
    tcase_add_test(tcase, checkpoints_keep_what_is_read);
    tcase_add_test(tcase, a_stop_leaves_the_backlog);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
