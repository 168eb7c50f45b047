/* scan: the store's chunks and the head's copy become one rising column, equal times once, only what was asked for. */
#include <check.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "executor/scan.h"
#include "kernels/frame.h"
#include "store/raw.h"
#include "store/scratch.h"
#include "suite.h"

static struct store *store;
static struct store_txn *txn;
static struct err e;

static void setup(void)
{
    struct store_open_report report;
    scratch_make();
    ck_assert_msg(
        store_open(scratch_path("data"), &(struct store_options){.map_bytes = 1 << 26}, &store, &report, &e) == 0, "%s",
        e.message);
}

static void teardown(void)
{
    store_read_end(txn);
    txn = NULL;
    store_close(store);
    scratch_remove();
}

/* One block with one chunk per call. */
static void put(uint32_t metric, uint32_t ordinal, const int64_t *times_ms, const double *values, uint32_t n)
{
    struct store_txn *w;
    uint8_t *bytes = mem_alloc(chunk_bound(n));
    void *room = mem_alloc(frame_scratch(n));
    size_t size = chunk_encode(bytes, chunk_bound(n), times_ms, values, n, room);
    ck_assert_uint_gt(size, 0);
    struct raw_chunk chunk = {ordinal % 1024, times_ms[0], times_ms[n - 1], bytes, (uint32_t)size};
    ck_assert_int_eq(store_write_begin(store, &w, &e), 0);
    ck_assert_msg(raw_put(w, metric, ordinal / 1024, &chunk, 1, &e) == 0, "%s", e.message);
    ck_assert_int_eq(store_write_commit(w, &e), 0);
    mem_free(room);
    mem_free(bytes);
}

/* What a head may pack. */
struct run {
    uint32_t n;
    int64_t times_ms[2];
    double values[2];
};
static uint32_t unpack(const void *packed, int64_t start_ms, int64_t end_ms, int64_t *times_ms, double *values)
{
    const struct run *r = packed;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->times_ms[i] > start_ms && r->times_ms[i] <= end_ms) {
            times_ms[n] = r->times_ms[i];
            values[n++] = r->values[i];
        }
    }
    return n;
}

struct seen {
    char text[2000]; /* "series: time=value ..." in call order */
    size_t n;
    int calls, stop_after;
};

static int note(void *ctx, uint32_t series, const int64_t *times_ms, const double *values,
                const struct histogram *const *histograms, uint32_t n, struct err *err)
{
    struct seen *s = ctx;
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%s%u:", s->calls ? "; " : "", series);
    for (uint32_t i = 0; i < n; i++) {
        bool stale = float_is_stale(values[i]), histogram = float_is_histogram(values[i]);
        ck_assert(histogram == (histograms && histograms[i]));
        if (histogram) {
            s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " %lld=h%g", (long long)times_ms[i],
                                     histograms[i]->count);
            continue;
        }
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, stale ? " %lld=stale" : " %lld=%g",
                                 (long long)times_ms[i], values[i]);
    }
    s->calls++;
    return s->calls == s->stop_after ? err_set(err, ERR_LIMIT, "enough") : 0;
}

static void check(struct scan *s, const char *want)
{
    struct seen seen = {0};
    if (!txn)
        ck_assert_int_eq(store_read_begin(store, &txn, &e), 0);
    s->txn = txn;
    ck_assert_msg(scan_run(s, note, &seen, &e) == 0, "%s", e.message);
    ck_assert_str_eq(seen.text, want);
}

START_TEST(store_and_head_are_one_column)
{
    put(3, 5, (int64_t[]){10, 20, 30}, (double[]){1, 2, 3}, 3);
    put(3, 5, (int64_t[]){40, 50}, (double[]){4, 5}, 2);
    put(3, 6, (int64_t[]){10}, (double[]){100}, 1);
    put(3, 1024 + 5, (int64_t[]){10}, (double[]){77}, 1);
    /* The head holds what is newer than 40, and a copy of 50. */
    struct run head = {2, {50, 60}, {5, 6}};
    struct source_series series[] = {{.metric = 3, .ordinal = 5, .store_to_ms = 50, .packed = &head, .packed_n = 2},
                                     {.metric = 3, .ordinal = 6, .store_to_ms = 10},
                                     {.metric = 3, .ordinal = 1024 + 5, .store_to_ms = 10}};
    struct source_result result = {.series = series, .series_n = 3, .unpack = unpack};
    struct scan s = {.result = &result, .start_ms = 0, .end_ms = 100};
    check(&s, "0: 10=1 20=2 30=3 40=4 50=5 60=6; 1: 10=100; 2: 10=77");
    ck_assert_uint_eq(s.samples_n, 8);
    ck_assert_uint_eq(s.damaged_n, 0);
    s.start_ms = 20; /* left-open */
    s.end_ms = 50;
    check(&s, "0: 30=3 40=4 50=5; 1:; 2:");
    uint64_t skip = 1;
    s.skip_series = &skip;
    check(&s, "1:; 2:");
}
END_TEST

START_TEST(late_chunks_are_merged_by_time)
{
    put(1, 0, (int64_t[]){10, 30, 50}, (double[]){1, 3, 5}, 3);
    put(1, 0, (int64_t[]){20, 30, 40}, (double[]){2, 3, 4}, 3);
    struct source_series series = {.metric = 1, .store_to_ms = 50};
    struct source_result result = {.series = &series, .series_n = 1};
    struct scan s = {.result = &result, .start_ms = 0, .end_ms = 100};
    check(&s, "0: 10=1 20=2 30=3 40=4 50=5");
}
END_TEST

START_TEST(a_number_beats_a_stale_marker)
{
    double stale = float_stale();
    put(1, 0, (int64_t[]){10, 20, 30}, (double[]){1, stale, stale}, 3);
    struct run head = {1, {20}, {2}};
    struct source_series series = {.metric = 1, .store_to_ms = 30, .packed = &head, .packed_n = 1};
    struct source_result result = {.series = &series, .series_n = 1, .unpack = unpack};
    struct scan s = {.result = &result, .start_ms = 0, .end_ms = 100, .keep_stale = true};
    check(&s, "0: 10=1 20=2 30=stale");
    s.keep_stale = false;
    check(&s, "0: 10=1 20=2");
}
END_TEST

START_TEST(what_the_head_holds_is_not_looked_for)
{
    put(1, 0, (int64_t[]){10}, (double[]){99}, 1);
    struct run head = {2, {20, 30}, {2, float_stale()}};
    struct source_series series = {.metric = 1, .store_to_ms = INT64_MIN, .packed = &head, .packed_n = 2};
    struct source_result result = {.series = &series, .series_n = 1, .unpack = unpack};
    struct scan s = {.result = &result, .start_ms = 0, .end_ms = 100};
    check(&s, "0: 20=2");
    result.series_n = 0;
    check(&s, "");
}
END_TEST

/* Histograms a head may pack, with its number as count each. */
struct histogram_run {
    uint32_t n;
    int64_t times_ms[4];
    double counts[4];
};
static int unpack_histograms(const void *packed, int64_t start_ms, int64_t end_ms, struct arena *a, int64_t *times_ms,
                             const struct histogram **histograms, uint32_t *ret_n, struct err *err)
{
    const struct histogram_run *r = packed;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->times_ms[i] <= start_ms || r->times_ms[i] > end_ms)
            continue;
        struct histogram *h = ARENA_NEW(a, struct histogram);
        if (!h)
            return arena_check(a, "query", err);
        h->count = r->counts[i];
        times_ms[n] = r->times_ms[i];
        histograms[n++] = h;
    }
    *ret_n = n;
    return 0;
}

START_TEST(histograms_take_their_places)
{
    struct run head = {2, {20, 60}, {float_stale(), 6}};
    struct histogram_run before = {3, {10, 20, 30}, {1, 2, 3}}, around = {2, {30, 70}, {3, 7}};
    put(1, 0, (int64_t[]){40, 50}, (double[]){4, 5}, 2);
    struct source_series series[] = {
        {.metric = 1,
         .store_to_ms = 50,
         .packed = &head,
         .packed_n = 2,
         .packed_histograms = &before,
         .packed_histograms_n = 3},
        {.metric = 1, .ordinal = 1, .packed = &head, .packed_n = 2},
        {.metric = 1, .ordinal = 2, .packed_histograms = &around, .packed_histograms_n = 2}};
    struct source_result result = {.series = series,
                                   .series_n = 3,
                                   .unpack = unpack,
                                   .unpack_histograms = unpack_histograms,
                                   .histograms_wanted = true};
    struct scan s = {.result = &result, .start_ms = 0, .end_ms = 100, .want_histograms = true};
    check(&s, "0: 10=h1 20=h2 30=h3 40=4 50=5 60=6; 1: 60=6; 2: 30=h3 70=h7");
    ck_assert_uint_eq(s.samples_n, 9);
    s.keep_stale = true; /* a histogram at its time beats the marker */
    check(&s, "0: 10=h1 20=h2 30=h3 40=4 50=5 60=6; 1: 20=stale 60=6; 2: 30=h3 70=h7");
    s.start_ms = 10;
    s.end_ms = 30;
    check(&s, "0: 20=h2 30=h3; 1: 20=stale; 2: 30=h3");
    s.want_histograms = false; /* as if they had never come */
    s.end_ms = 100;
    check(&s, "0: 20=stale 40=4 50=5 60=6; 1: 20=stale 60=6; 2:");
}
END_TEST

START_TEST(many_series_over_shards)
{
    enum { SERIES = 2500 };
    static struct source_series series[SERIES];
    static struct run heads[SERIES];
    for (uint32_t i = 0; i < SERIES; i++) {
        heads[i] = (struct run){1, {20}, {i}};
        series[i] =
            (struct source_series){.metric = 9, .ordinal = i, .store_to_ms = 10, .packed = &heads[i], .packed_n = 1};
    }
    for (uint32_t i = 0; i < SERIES; i += 500)
        put(9, i, (int64_t[]){10}, (double[]){-1}, 1);
    struct source_result result = {.series = series, .series_n = SERIES, .unpack = unpack};
    struct scan s = {.result = &result, .start_ms = 0, .end_ms = 100};
    struct seen seen = {.stop_after = 3};
    ck_assert_int_eq(store_read_begin(store, &txn, &e), 0);
    s.txn = txn;
    ck_assert_int_eq(scan_run(&s, note, &seen, &e), ERR_LIMIT);
    ck_assert_str_eq(seen.text, "0: 10=-1 20=0; 1: 20=1; 2: 20=2");
    /* One bit per series: all but the first of a shard and one more. */
    uint64_t skip[SERIES / 64 + 1];
    memset(skip, 0xff, sizeof skip);
    for (uint32_t i = 0; i < SERIES; i += 500)
        skip[i / 64] &= ~(UINT64_C(1) << (i % 64));
    s.skip_series = skip;
    check(&s, "0: 10=-1 20=0; 500: 10=-1 20=500; 1000: 10=-1 20=1000; 1500: 10=-1 20=1500; 2000: 10=-1 20=2000");
    ck_assert_uint_eq(s.samples_n, 10);
}
END_TEST

START_TEST(a_malformed_chunk_is_left_out_and_counted)
{
    struct store_txn *w;
    struct raw_chunk chunk = {0, 10, 10, (const uint8_t *)"\x7fnot a chunk", 12};
    ck_assert_int_eq(store_write_begin(store, &w, &e), 0);
    ck_assert_int_eq(raw_put(w, 1, 0, &chunk, 1, &e), 0);
    ck_assert_int_eq(store_write_commit(w, &e), 0);
    put(1, 0, (int64_t[]){20}, (double[]){2}, 1);
    struct source_series series = {.metric = 1, .store_to_ms = 20};
    struct source_result result = {.series = &series, .series_n = 1};
    struct scan s = {.result = &result, .start_ms = 0, .end_ms = 100};
    check(&s, "0: 20=2");
    ck_assert_uint_eq(s.damaged_n, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor/scan");
    TCase *tcase = tcase_create("scan");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, store_and_head_are_one_column);
    tcase_add_test(tcase, late_chunks_are_merged_by_time);
    tcase_add_test(tcase, a_number_beats_a_stale_marker);
    tcase_add_test(tcase, what_the_head_holds_is_not_looked_for);
    tcase_add_test(tcase, histograms_take_their_places);
    tcase_add_test(tcase, many_series_over_shards);
    tcase_add_test(tcase, a_malformed_chunk_is_left_out_and_counted);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
