/*
 * Native histograms from remote write to the scan: what was admitted is read back to the last bit, whatever came
 * between (late samples, checkpoints, a stop, a kill), and panes of floats never answer for a series that has any. The
 * reference is a plain table of what was sent.
 */
#include <check.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "base/histograms.h"
#include "base/stats.h"
#include "executor/scan.h"
#include "ingest/rig.h"
#include "store/raw.h"
#include "store/store.h"
#include "suite.h"

static const int64_t t0 = 400LL * 3600 * 1000;
enum { SECOND = 1000, MINUTE = 60 * SECOND };
static struct rig rig;

/* ---- a table of samples ---- */

enum { SERIES = 4, SLOTS = 3000 }; /* one a second */
static const char *const names[SERIES] = {"only", "mixed", "floats", "turned"};

struct slot {
    bool is;
    double value;
    struct made_histogram *histogram; /* NULL: a float */
    bool was_marker;                  /* before the histogram came; readers of floats alone still see it */
};
static struct slot table[SERIES][SLOTS];
static struct made_histogram changing[SERIES];

static void table_clear(void)
{
    for (int s = 0; s < SERIES; s++) {
        for (int i = 0; i < SLOTS; i++)
            free(table[s][i].histogram);
        made_make(&changing[s]);
    }
    memset(table, 0, sizeof table);
}

static bool slot_stale(const struct slot *s)
{
    return s->is && !s->histogram && float_is_stale(s->value);
}

/* Series 2 has floats alone, series 0 histograms alone, series 3 floats and then histograms. */
static struct slot some_sample(int series, int at)
{
    struct slot s = {.is = true, .value = draw_below(20) ? draw_below(1000) / 8.0 : float_stale()};
    bool histogram = series == 0 || (series == 1 && draw_below(2)) || (series == 3 && at > SLOTS / 3);
    if (!histogram || float_is_stale(s.value))
        return s;
    made_change(&changing[series]);
    s.histogram = malloc(sizeof *s.histogram);
    made_copy(s.histogram, &changing[series]);
    return s;
}

/* ---- reading ---- */

struct reading {
    struct scan scan;
    const struct slot *slots;
    uint32_t seen_n;
    bool newest_only;
};

static void same_histogram(const struct histogram *got, const struct histogram_exact *sent)
{
    struct arena a;
    arena_init(&a, 0);
    const struct histogram *want = histogram_of_exact(sent, &a);
    ck_assert_int_eq(got->schema, want->schema);
    ck_assert_int_eq(got->reset, want->reset);
    ck_assert_uint_eq(load_u64(&got->sum), load_u64(&want->sum));
    ck_assert_uint_eq(load_u64(&got->count), load_u64(&want->count));
    ck_assert_uint_eq(load_u64(&got->zero_count), load_u64(&want->zero_count));
    const struct histogram_side *g[] = {&got->negative, &got->positive}, *w[] = {&want->negative, &want->positive};
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(g[i]->spans_n, w[i]->spans_n);
        ck_assert_uint_eq(g[i]->counts_n, w[i]->counts_n);
        ck_assert(g[i]->spans_n == 0 || !memcmp(g[i]->spans, w[i]->spans, g[i]->spans_n * sizeof *g[i]->spans));
        ck_assert(g[i]->counts_n == 0 || !memcmp(g[i]->counts, w[i]->counts, g[i]->counts_n * sizeof(double)));
    }
    ck_assert_uint_eq(got->custom_n, want->custom_n);
    ck_assert(got->custom_n == 0 || !memcmp(got->custom, want->custom, got->custom_n * sizeof(double)));
    arena_done(&a);
}

static bool slot_wanted(const struct reading *r, int64_t i)
{
    const struct slot *s = &r->slots[i];
    int64_t t = t0 + i * SECOND;
    if (!s->is || t <= r->scan.start_ms || t > r->scan.end_ms)
        return false;
    if (s->histogram)
        return r->scan.want_histograms || (s->was_marker && r->scan.keep_stale);
    return !slot_stale(s) || r->scan.keep_stale;
}

static int compare(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                   const struct histogram *const *histograms, uint32_t n, struct err *e)
{
    struct reading *r = ctx;
    uint32_t at = n;
    /* From the newest on; for a reader of the newest alone that one counts. */
    for (int64_t i = SLOTS; i-- > 0;) {
        const struct slot *s = &r->slots[i];
        if (!slot_wanted(r, i))
            continue;
        if (at < n && r->newest_only) {
            r->seen_n++;
            return 0;
        }
        ck_assert_msg(at > 0 && times_ms[at - 1] == t0 + i * SECOND, "the sample at %lld s is missing", (long long)i);
        at--;
        bool histogram = s->histogram && r->scan.want_histograms;
        ck_assert_int_eq(float_is_histogram(values[at]), histogram);
        ck_assert(histogram ? histograms && histograms[at] : !histograms || !histograms[at]);
        if (s->histogram && !histogram)
            ck_assert(float_is_stale(values[at]));
        else if (histogram)
            same_histogram(histograms[at], &s->histogram->h);
        else
            ck_assert_int_eq(memcmp(&values[at], &s->value, sizeof s->value), 0);
    }
    ck_assert_uint_eq(at, 0);
    r->seen_n++;
    return 0;
}

static void read_span(int series, int64_t start_ms, int64_t end_ms, bool histograms, bool stale, bool newest_only)
{
    const struct source *source = ingest_source(rig.ingest);
    struct matcher m = {MATCH_EQ, STR("__name__"), str_of(names[series]), NULL};
    struct source_request q = {.matchers = &m,
                               .matchers_n = 1,
                               .start_ms = start_ms,
                               .end_ms = end_ms,
                               .newest_only = newest_only,
                               .want_histograms = histograms};
    struct source_result result;
    struct arena a;
    struct err e = {0};
    struct reading r = {.slots = table[series], .newest_only = newest_only};
    arena_init(&a, 0);
    ck_assert_int_eq(source->snapshot(source->ctx, &q, 1, &a, &result, &e), 0);
    r.scan = (struct scan){
        .result = &result, .start_ms = start_ms, .end_ms = end_ms, .keep_stale = stale, .want_histograms = histograms};
    ck_assert_int_eq(store_read_begin(rig.store, &r.scan.txn, &e), 0);
    ck_assert_msg(scan_run(&r.scan, compare, &r, &e) == 0, "%s", e.message);
    ck_assert_uint_eq(r.scan.damaged_n, 0);
    bool any = false;
    for (int64_t i = 0; i < SLOTS; i++)
        any |= slot_wanted(&r, i);
    ck_assert(!any || r.seen_n == 1);
    store_read_end(r.scan.txn);
    source->release(source->ctx, &result, 1);
    arena_done(&a);
}

static void read_some(void)
{
    for (int series = 0; series < SERIES; series++) {
        for (int i = 0; i < 6; i++) {
            int64_t start_ms = t0 + (int64_t)draw_below(SLOTS) * SECOND - 500 * (int64_t)draw_below(2);
            int64_t end_ms = start_ms + (int64_t)draw_below(i % 2 ? 60 : SLOTS) * SECOND;
            bool histograms = draw_below(3);
            read_span(series, start_ms, end_ms, histograms, draw_below(2), false);
            /* A look-back of a minute: the newest, if it is no marker that the reader does not see. */
            read_span(series, end_ms - MINUTE, end_ms, histograms, true, true);
        }
        read_span(series, t0 - SECOND, t0 + SLOTS * SECOND, true, true, false);
        read_span(series, t0 - SECOND, t0 + SLOTS * SECOND, false, false, false);
    }
}

/* ---- streams ---- */

/* What admission must do with it, and what the table then holds. `s` is the table's, or freed. */
static void send_slot(int series, int at, struct slot s, int now)
{
    struct slot *held = &table[series][at];
    struct rig_sample sample = {names[series], t0 + at * SECOND, s.value, s.histogram ? &s.histogram->h : NULL};
    struct write_result r;
    struct made_histogram marker;
    if (slot_stale(&s) && draw_below(2)) { /* a histogram may be one, too: only its sum says so */
        memset(&marker, 0, sizeof marker);
        marker.h.sum = float_stale();
        sample.histogram = &marker.h;
    }
    ck_assert_int_eq(rig_send(&rig, &sample, 1, t0 + now * SECOND, &r), 0);
    bool same = held->is && !held->histogram && !s.histogram && memcmp(&held->value, &s.value, sizeof s.value) == 0;
    if (!held->is || (slot_stale(held) && !slot_stale(&s))) {
        ck_assert_msg(r.samples_applied == 1, "%s", r.refused);
        s.was_marker = slot_stale(held);
        *held = s;
        return;
    }
    if (same || slot_stale(&s))
        ck_assert_uint_eq(r.samples_duplicate, 1);
    else
        ck_assert_uint_eq(r.samples_refused + (held->histogram && s.histogram ? r.samples_duplicate : 0), 1);
    free(s.histogram);
}

static void resend(int series, int at, int now)
{
    const struct slot *held = &table[series][at];
    struct rig_sample sample = {names[series], t0 + at * SECOND, held->value,
                                held->histogram ? &held->histogram->h : NULL};
    struct write_result r;
    if (!held->is)
        return;
    ck_assert_int_eq(rig_send(&rig, &sample, 1, t0 + now * SECOND, &r), 0);
    ck_assert_msg(r.samples_duplicate == 1, "%s", r.refused);
}

START_TEST(what_is_sent_is_read)
{
    srand48((long)suite_seed("ingest/histograms"));
    rig = (struct rig){0};
    rig_open(&rig, NULL);
    table_clear();
    for (int now = 1; now < SLOTS; now++) {
        for (int series = 0; series < SERIES; series++) {
            if (draw_below(3))
                send_slot(series, now, some_sample(series, now), now);
            if (draw_below(25) == 0) {
                int late = (int)draw_below((unsigned)now);
                send_slot(series, late, some_sample(series, late), now);
            }
            if (draw_below(60) == 0)
                resend(series, (int)draw_below((unsigned)now), now);
        }
        if (draw_below(80) == 0)
            rig_tick(&rig, t0 + now * SECOND); /* a checkpoint each minute */
        if (draw_below(400) == 0)
            rig_crash(&rig);
        if (draw_below(700) == 0)
            rig_reopen(&rig);
        if (draw_below(150) == 0)
            read_some();
    }
    read_some();
    char before[64], command[256];
    rig_crash_read_only(&rig, before, sizeof before);
    read_some();
    snprintf(command, sizeof command, "diff -r --exclude=store.mdb-lock %s %s && rm -rf %s", before, rig.dir, before);
    ck_assert_msg(system(command) == 0, "the directory changed");
    rig_done(&rig);
    table_clear();
}
END_TEST

/* ---- admission ---- */

static struct write_result send_at(const char *series, int64_t time_ms, double value,
                                   const struct histogram_exact *histogram, int64_t now_ms)
{
    struct rig_sample sample = {series, time_ms, value, histogram};
    struct write_result r;
    ck_assert_int_eq(rig_send(&rig, &sample, 1, now_ms, &r), 0);
    return r;
}

/* count 6 = zero 1 + 2 + 3 */
static struct histogram_exact plain(void)
{
    static const struct histogram_span spans[] = {{0, 2}};
    static const uint64_t counts[] = {2, 3};
    return (struct histogram_exact){.zero_threshold = 0.001,
                                    .sum = 10,
                                    .count = 6,
                                    .zero_count = 1,
                                    .positive = {.spans = spans, .counts = counts, .spans_n = 1, .counts_n = 2}};
}

static void refused(const char *series, int64_t time_ms, double value, const struct histogram_exact *h, int64_t now_ms,
                    const char *sentence, const char *reason)
{
    char label[64];
    snprintf(label, sizeof label, "reason=\"%s\"", reason);
    int64_t before = stats_value("mullion_samples_refused_total", label);
    struct write_result r = send_at(series, time_ms, value, h, now_ms);
    ck_assert_uint_eq(r.samples_refused, 1);
    ck_assert_msg(strstr(r.refused, sentence) && strstr(r.refused, series), "%s", r.refused);
    ck_assert_int_eq(stats_value("mullion_samples_refused_total", label), before + 1);
}

START_TEST(admission_rows)
{
    rig = (struct rig){0};
    rig_open(&rig, NULL);
    struct histogram_exact h = plain(), other = plain(), marker = {.sum = float_stale()}, bad = plain();
    const int64_t now = t0 + 10 * 3600 * SECOND;
    other.sum = 11;
    bad.count = 7;
    ck_assert_uint_eq(send_at("h", now, 0, &h, now).samples_applied, 1);
    ck_assert_uint_eq(send_at("h", now, 0, &h, now).samples_duplicate, 1);
    refused("h", now, 0, &other, now, "duplicate sample for timestamp", "conflict");
    refused("h", now, 6, NULL, now, "duplicate sample for timestamp", "conflict");
    ck_assert_uint_eq(send_at("h", now, 0, &marker, now).samples_duplicate, 1); /* a marker never replaces */
    refused("h", now + 11 * MINUTE, 0, &h, now, "too far in the future", "future");
    refused("h", now - 3 * 3600 * SECOND, 0, &h, now, "too old", "too_old");
    ck_assert_uint_eq(send_at("h", now - 3600 * SECOND, 0, &other, now).samples_applied, 1);
    ck_assert_uint_eq(send_at("behind", now - 3 * 3600 * SECOND, 0, &h, now).samples_applied, 1); /* its newest */
    ck_assert_uint_eq(send_at("h", now + 1, 0, &marker, now).samples_applied, 1);
    ck_assert_uint_eq(send_at("h", now + 1, 0, &marker, now).samples_duplicate, 1);
    ck_assert_uint_eq(send_at("h", now + 1, float_stale(), NULL, now).samples_duplicate, 1);
    ck_assert_uint_eq(send_at("h", now + 1, 0, &h, now).samples_applied, 1); /* takes the marker's place */
    refused("h", now + 1, 0, &other, now, "duplicate sample for timestamp", "conflict");
    ck_assert_uint_eq(send_at("f", now, 1, NULL, now).samples_applied, 1);
    refused("f", now, 0, &h, now, "duplicate sample for timestamp", "conflict");
    ck_assert_uint_eq(send_at("f", now + 1, 0, &h, now).samples_applied, 1);
    /* Not sound: refused by name, whether the series is known or not; one that has nothing else is not made. */
    refused("h", now + 2, 0, &bad, now, "do not add up", "histogram");
    refused("new", now, 0, &bad, now, "do not add up", "histogram");
    uint32_t sources;
    ck_assert_uint_eq(rig_count(&rig, "count({__name__=\"new\"})", now, false, &sources), 0);
    rig_done(&rig);
}
END_TEST

START_TEST(the_rest_of_a_request_is_kept)
{
    rig = (struct rig){0};
    rig_open(&rig, NULL);
    struct histogram_exact h = plain(), bad = plain();
    struct write_result r;
    bad.schema = 99;
    const struct rig_sample samples[] = {{"a", t0, 1, NULL}, {"b", t0, 0, &bad}, {"c", t0, 0, &h}, {"d", t0, 0, &bad}};
    ck_assert_int_eq(rig_send(&rig, samples, 4, t0, &r), 0);
    ck_assert_uint_eq(r.samples_applied, 2);
    ck_assert_uint_eq(r.samples_refused, 2);
    ck_assert_uint_eq(r.series_new, 2);
    ck_assert_str_eq(r.refused, "2 x invalid histogram: unknown schema: b and others");
    rig_crash(&rig); /* the log applies what was applied */
    ck_assert_uint_eq(rig.report.replayed_samples, 2);
    rig_done(&rig);
}
END_TEST

/* ---- panes ---- */

/* A gauge, then its histograms for a while, then a gauge again: states are of the floats alone, so while the span
 * meets histograms they are not asked, and before and after it they are. */
START_TEST(panes_step_aside)
{
    rig = (struct rig){0};
    rig_open(&rig, "queries:\n  - {query: \"sum_over_time(m[5m])\", every: 1m}\n"
                   "  - {query: \"sum by (job) (count_over_time(m[5m]))\", every: 1m}\n"
                   "data: {raw_retention: 0, metrics: {m: {type: gauge, series: 2, interval: 15s}}}\n");
    struct histogram_exact h = plain();
    const int64_t begin = t0 - t0 % MINUTE;
    uint32_t sources, raw_n = 0, panes_n = 0;
    for (int k = 0; k < 4 * 60; k++) {
        int64_t t = begin + k * 15 * SECOND;
        bool turned = k >= 80 && k < 120;
        send_at("m{job=\"a\"}", t, k, turned ? &h : NULL, t);
        send_at("m{job=\"b\"}", t, k, NULL, t);
        if (k == 200) /* late, where there were only floats */
            send_at("m{job=\"a\"}", begin + 30 * 15 * SECOND + 1, 0, &h, t);
        if (k == 120)
            rig_crash(&rig);
        rig_tick(&rig, t);
        if (k % 4 || k < 24)
            continue;
        /* (t - 5m, t] meets a histogram */
        int64_t late = begin + 30 * 15 * SECOND + 1, from = t - 5 * MINUTE;
        bool met = begin + 119 * 15 * SECOND > from && begin + 80 * 15 * SECOND <= t;
        bool found, found_exact;
        double got = rig_value(&rig, "sum(sum_over_time(m[5m]))", t, false, &found);
        double want = rig_value(&rig, "sum(sum_over_time(m[5m]))", t, true, &found_exact);
        ck_assert_msg(found == found_exact, "sample %d: found %d, exactly %d", k, found, found_exact);
        ck_assert(!found || float_is_histogram(want) || got == want);
        ck_assert(found || met); /* floats and histograms have no sum */
        /* Samples of both kinds count: 20 of each series in five minutes. States would lack the histograms. */
        ck_assert_double_eq(rig_value(&rig, "sum(sum by (job) (count_over_time(m[5m])))", t, false, &found), 40);
        rig_count(&rig, "sum_over_time(m[5m])", t, false, &sources);
        if (met)
            ck_assert_msg(sources == SOURCE_RAW, "at sample %d from sources %u", k, sources);
        else if (t < late || k > 200)
            ck_assert_msg(sources & SOURCE_PANES, "at sample %d from sources %u", k, sources);
        raw_n += sources == SOURCE_RAW;
        panes_n += (sources & SOURCE_PANES) != 0;
    }
    ck_assert_uint_gt(raw_n, 0);
    ck_assert_uint_gt(panes_n, 0);
    /* The histogram that came late, for a window sealed long ago. */
    rig_count(&rig, "sum_over_time(m[5m])", begin + 36 * 15 * SECOND, false, &sources);
    ck_assert_uint_eq(sources, SOURCE_RAW);
    bool found;
    ck_assert_double_eq(
        rig_value(&rig, "sum(sum by (job) (count_over_time(m[5m])))", begin + 36 * 15 * SECOND, false, &found), 41);
    rig_done(&rig);
}
END_TEST

/* ---- retention ---- */

START_TEST(retention_drops_them)
{
    rig = (struct rig){0};
    ingest_options_default(&rig.options);
    rig.options.late_horizon_ms = MINUTE;
    rig.options.raw_retention_ms = 10 * MINUTE;
    rig_open(&rig, NULL);
    table_clear();
    int oldest = SLOTS;
    for (int now = 1; now < SLOTS; now++) {
        send_slot(0, now, (struct slot){.is = true, .histogram = some_sample(0, now).histogram}, now);
        rig_tick(&rig, t0 + now * SECOND);
    }
    /* Whole blocks go: what is older than the retention and a block's span is gone. */
    struct store_txn *txn;
    struct err e = {0};
    int64_t oldest_ms = 0;
    ck_assert_int_eq(store_read_begin(rig.store, &txn, &e), 0);
    ck_assert_int_eq(raw_oldest(txn, &oldest_ms, &e), 0);
    store_read_end(txn);
    ck_assert_int_gt(oldest_ms, t0 + (SLOTS - 20 * 60) * SECOND);
    for (int i = 0; i < SLOTS; i++) {
        if (t0 + i * SECOND >= oldest_ms)
            oldest = i < oldest ? i : oldest;
        else
            table[0][i].is = false;
    }
    read_span(0, t0 + (oldest - 1) * SECOND, t0 + SLOTS * SECOND, true, true, false);
    rig_done(&rig);
    table_clear();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/histograms");
    TCase *tcase = tcase_create("histograms");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, what_is_sent_is_read);
    tcase_add_test(tcase, admission_rows);
    tcase_add_test(tcase, the_rest_of_a_request_is_kept);
    tcase_add_test(tcase, panes_step_aside);
    tcase_add_test(tcase, retention_drops_them);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
