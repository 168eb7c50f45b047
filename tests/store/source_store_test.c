/* store/source_store: series, windows and where raw begins, over a data directory alone. */
#include "store/source_store.h"

#include "base/map.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct err err;
static struct store *store;
static struct source_store *source_store;
static const struct source *source;
static struct arena arena;
static const uint8_t identities[2][16] = {{0xaa}, {0xbb}};
static const uint8_t unknown[1][16] = {{0xcc}};

static void put_window(struct store_txn *t, uint32_t view, int64_t end_ms)
{
    struct pane_manifest m = {0};
    ck_assert_int_eq(pane_manifest_put(t, view, end_ms, &m, &err), 0);
}

/* Three series; view 0 has windows 1, 2, 3, 5 (minutes), view 1 has 1, 2. */
static void setup(void)
{
    static const char *const names[] = {"up", "down", "up"}, *const jobs[] = {"a", "b", "c"};
    struct store_options small = {.map_bytes = 64 << 20};
    struct store_txn *t;
    uint32_t id, n;
    arena_init(&arena, 0);
    scratch_make();
    ck_assert_int_eq(store_open(scratch, &small, &store, NULL, &err), 0);
    struct catalog *c = catalog_new();
    for (int i = 0; i < 3; i++) {
        struct label v[] = {{STR(LABEL_NAME), str_of(names[i])}, {STR("job"), str_of(jobs[i])}};
        struct labels l = {v, 2};
        ck_assert_int_eq(catalog_add(c, &l, labels_hash(&l, map_seed()), &id, &err), 0);
    }
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    ck_assert_int_eq(catalog_save(c, t, &n, &err), 0);
    for (uint32_t view = 0; view < 2; view++) {
        struct pane_view v;
        ck_assert_int_eq(pane_view_create(t, identities[view], &v, &err), 0);
        v.complete_from_ms = 0;
        v.sealed_to_ms = view ? 120000 : 300000;
        ck_assert_int_eq(pane_view_update(t, &v, &err), 0);
        put_window(t, view, 60000);
        put_window(t, view, 120000);
    }
    put_window(t, 0, 180000);
    put_window(t, 0, 300000);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    catalog_free(c);
    ck_assert_msg(source_store_new(store, &source_store, &err) == 0, "%s", err.message);
    source = source_store_source(source_store);
}
static void teardown(void)
{
    source_store_free(source_store);
    store_close(store);
    scratch_remove();
    arena_done(&arena);
}

static struct source_result snapshot(int64_t start_ms, int64_t end_ms, const uint8_t (*views)[16], uint32_t views_n)
{
    struct matcher up;
    ck_assert_int_eq(matcher_init(&up, MATCH_EQ, STR(LABEL_NAME), STR("up"), &err), 0);
    struct source_request q = {.matchers = &up,
                               .matchers_n = 1,
                               .start_ms = start_ms,
                               .end_ms = end_ms,
                               .identities = views,
                               .identities_n = views_n,
                               .width_ms = 60000};
    struct source_result r;
    ck_assert_msg(source->snapshot(source->ctx, &q, 1, &arena, &r, &err) == 0, "%s", err.message);
    matcher_done(&up);
    ck_assert_uint_eq(r.series_n, 2);
    ck_assert(r.series[0].id == 0 && r.series[1].id == 2 && r.series[1].metric == 0 && r.series[1].ordinal == 1);
    ck_assert(str_eq(labels_get(&r.series[1].labels, STR("job")), STR("c")));
    ck_assert_int_eq(r.series[0].store_to_ms, INT64_MAX);
    ck_assert_uint_eq(r.series[0].packed_n, 0);
    ck_assert_int_eq(r.watermark_ms, 300000);
    return r;
}

START_TEST(raw_readers)
{
    struct source_result r = snapshot(0, 300000, NULL, 0);
    ck_assert_uint_eq(r.windows_n, 0);
    ck_assert_int_eq(r.series[0].raw_from_ms, 0);
    source->release(source->ctx, &r, 1);
    ck_assert_uint_eq(r.series_n, 0);
}
END_TEST

START_TEST(windows_of_views)
{
    static const enum window_status want[] = {WINDOW_SEALED, WINDOW_SEALED, WINDOW_SEALED, WINDOW_MISSING,
                                              WINDOW_SEALED};
    struct source_result r = snapshot(0, 300000, identities, 1);
    ck_assert_uint_eq(r.windows_n, 5);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(r.windows[0][i].end_ms, 60000 * (int64_t)(i + 1));
        ck_assert_int_eq(r.windows[0][i].status, want[i]);
    }
    ck_assert_uint_eq(r.views[0], 0);
    ck_assert_int_eq(r.series[0].raw_from_ms, 180000); /* the run breaks at minute 4 */
    r = snapshot(0, 300000, identities, 2);
    ck_assert_uint_eq(r.views[1], 1);
    ck_assert_int_eq(r.series[0].raw_from_ms, 120000); /* the shorter run */
    r = snapshot(30000, 290000, identities, 1);
    ck_assert_uint_eq(r.windows_n, 4);                /* ends 1 to 4 */
    ck_assert_int_eq(r.series[0].raw_from_ms, 30000); /* off the grid */
    r = snapshot(0, 300000, unknown, 1);
    ck_assert_uint_eq(r.views[0], SOURCE_NO_VIEW);
    ck_assert_int_eq(r.windows[0][0].status, WINDOW_MISSING);
    ck_assert_int_eq(r.series[0].raw_from_ms, 0);
    r = snapshot(-120000, 60000, identities, 1);
    ck_assert_int_eq(r.windows[0][0].end_ms, -60000);
    ck_assert_uint_eq(r.windows_n, 3);
}
END_TEST

START_TEST(spans_are_bounded)
{
    struct source_request q = {
        .start_ms = INT64_MIN, .end_ms = INT64_MAX, .identities = identities, .identities_n = 1, .width_ms = 1};
    struct source_result r;
    ck_assert_int_eq(source->snapshot(source->ctx, &q, 1, &arena, &r, &err), ERR_LIMIT);
    ck_assert_uint_eq(r.series_n, 0);
    source->release(source->ctx, &r, 1);
}
END_TEST

START_TEST(metadata)
{
    struct str *v;
    uint32_t n;
    struct matcher down;
    ck_assert_int_eq(matcher_init(&down, MATCH_EQ, STR(LABEL_NAME), STR("down"), &err), 0);
    ck_assert_int_eq(source->label_names(source->ctx, NULL, 0, &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(source->label_values(source->ctx, STR("job"), NULL, 0, &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(source->label_values(source->ctx, STR("job"), &down, 1, &arena, &v, &n, &err), 0);
    ck_assert(n == 1 && str_eq(v[0], STR("b")));
    ck_assert_int_eq(source->label_names(source->ctx, &down, 1, &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 2);
    matcher_done(&down);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/source_store");
    TCase *tcase = tcase_create("source_store");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, raw_readers);
    tcase_add_test(tcase, windows_of_views);
    tcase_add_test(tcase, spans_are_bounded);
    tcase_add_test(tcase, metadata);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
