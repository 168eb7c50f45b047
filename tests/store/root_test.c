/* store/root: row bytes against FORMATS.md, one row a time, labels by group, damage, and directories of before. */
#include "store/root.h"

#include <lmdb.h>
#include <math.h>

#include "base/bytes.h"
#include "store/group.h"
#include "store/store_env.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct err err;
static struct store *store;

static void open_store(void)
{
    struct store_options small = {.map_bytes = 64 << 20};
    ck_assert_msg(store_open(scratch, &small, &store, NULL, &err) == 0, "%s", err.message);
}
static void setup(void)
{
    scratch_make();
    open_store();
}
static void teardown(void)
{
    store_close(store);
    scratch_remove();
}

static struct store_txn *begin(void)
{
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    return t;
}

static void commit(struct store_txn *t)
{
    ck_assert_int_eq(store_write_commit(t, &err), 0);
}

static void put(struct store_txn *t, uint32_t root, int64_t time_ms, uint32_t flags, uint32_t n)
{
    uint32_t groups[8];
    double values[8];
    for (uint32_t i = 0; i < n; i++) {
        groups[i] = 7 * i + 1;
        values[i] = i == 2 ? NAN : (double)time_ms + i;
    }
    ck_assert_int_eq(root_result_put(t, root, time_ms, flags, groups, values, n, NULL, &err), 0);
}

static int keep_time(void *ctx, int64_t time_ms, struct str bytes, struct err *e)
{
    char part[40];
    (void)e;
    ck_assert_uint_ge(bytes.n, 32);
    snprintf(part, sizeof part, "%lld ", (long long)time_ms);
    strcat(ctx, part);
    return 0;
}

static const char *times_of(struct store_txn *t, uint32_t root, int64_t from_ms, int64_t upto_ms)
{
    static char text[400];
    text[0] = 0;
    ck_assert_int_eq(root_result_walk(t, root, from_ms, upto_ms, keep_time, text, &err), 0);
    return text;
}

START_TEST(roots_have_numbers_and_spans)
{
    struct root_record a, b, again;
    struct store_txn *t = begin();
    const uint8_t one[16] = {1}, two[16] = {2};
    ck_assert_int_eq(root_find(t, one, &a, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(root_create(t, two, &a, &err), 0);
    ck_assert_int_eq(root_create(t, one, &b, &err), 0);
    ck_assert_uint_eq(a.number, 0);
    ck_assert_uint_eq(b.number, 1);
    ck_assert(b.complete_from_ms == INT64_MAX && b.sealed_to_ms == INT64_MIN);
    b.complete_from_ms = -15000;
    b.sealed_to_ms = 45000;
    ck_assert_int_eq(root_update(t, &b, &err), 0);
    commit(t);
    t = begin();
    ck_assert_int_eq(root_create(t, one, &again, &err), 0);
    ck_assert_mem_eq(again.identity, one, sizeof one);
    ck_assert_uint_eq(again.number, 1);
    ck_assert(again.complete_from_ms == -15000 && again.sealed_to_ms == 45000);
    store_write_abort(t);
}
END_TEST

START_TEST(results_are_read_at_their_times)
{
    struct store_txn *t = begin();
    for (int64_t at = -30000; at <= 45000; at += 15000)
        put(t, 3, at, 0, (uint32_t)(at / 15000 + 2));
    put(t, 2, 0, 0, 1);
    put(t, 4, 0, ROOT_HOLE, 0);
    commit(t);

    t = begin();
    ck_assert_str_eq(times_of(t, 3, -30000, 45000), "-30000 -15000 0 15000 30000 45000 ");
    ck_assert_str_eq(times_of(t, 3, -29999, 15000), "-15000 0 15000 ");
    ck_assert_str_eq(times_of(t, 5, INT64_MIN, INT64_MAX), "");
    struct root_reader reader = {0};
    static const int64_t asked[] = {-30000, -15000, 0, 1, 30000, 60000};
    static const bool there[] = {true, true, true, false, true, false};
    for (size_t i = 0; i < 6; i++) {
        struct str bytes;
        struct root_block b;
        ck_assert_int_eq(root_reader_at(&reader, t, 3, asked[i], i > 0 && i < 3, &bytes, &err), 0);
        ck_assert_int_eq(bytes.n > 0, there[i]);
        if (!there[i])
            continue;
        ck_assert_int_eq(root_block_parse(bytes, 3, asked[i], &b, &err), 0);
        ck_assert_uint_eq(b.n, (uint32_t)(asked[i] / 15000 + 2));
        for (uint32_t k = 0; k < b.n; k++) {
            ck_assert_uint_eq(root_block_group(&b, k), 7 * k + 1);
            ck_assert(k == 2 ? isnan(root_block_value(&b, k)) : root_block_value(&b, k) == (double)asked[i] + k);
        }
    }
    root_reader_done(&reader);
    uint32_t dropped;
    ck_assert_int_eq(root_result_drop(t, 3, 0, &dropped, &err), 0);
    ck_assert_uint_eq(dropped, 3);
    ck_assert_str_eq(times_of(t, 3, INT64_MIN, INT64_MAX), "15000 30000 45000 ");
    ck_assert_str_eq(times_of(t, 2, INT64_MIN, INT64_MAX), "0 ");
    ck_assert_str_eq(times_of(t, 4, INT64_MIN, INT64_MAX), "0 ");
    store_write_abort(t);
}
END_TEST

static int keep_bytes(void *ctx, int64_t time_ms, struct str bytes, struct err *e)
{
    (void)time_ms, (void)e;
    *(struct str *)ctx = bytes;
    return 0;
}

/* The bytes that docs/FORMATS.md pins, and every flip of one of them is seen. */
START_TEST(result_bytes)
{
    struct store_txn *t = begin();
    struct str bytes;
    struct root_block b;
    put(t, 9, -15000, ROOT_HOLE, 2);
    ck_assert_int_eq(root_result_walk(t, 9, INT64_MIN, INT64_MAX, keep_bytes, &bytes, &err), 0);
    uint8_t copy[64];
    ck_assert_uint_eq(bytes.n, 32 + 2 * 12);
    memcpy(copy, bytes.p, bytes.n);
    ck_assert_mem_eq(copy, "root", 4);
    ck_assert_uint_eq(load_u16(copy + 4), 1);
    ck_assert_uint_eq(load_u16(copy + 6), ROOT_HOLE);
    ck_assert_uint_eq(load_u32(copy + 8), 9);
    ck_assert_uint_eq(load_u32(copy + 12), 2);
    ck_assert_int_eq(load_i64(copy + 16), -15000);
    ck_assert_uint_eq(load_u32(copy + 36), 8);
    ck_assert(load_f64(copy + 48) == -14999);
    struct str whole = {(const char *)copy, bytes.n};
    ck_assert_int_eq(root_block_parse(whole, 9, -15000, &b, &err), 0);
    ck_assert_int_eq(root_block_parse(whole, 9, -14999, &b, &err), ERR_CORRUPT);
    ck_assert_int_eq(root_block_parse(whole, 8, -15000, &b, &err), ERR_CORRUPT);
    for (size_t n = 0; n < whole.n; n++)
        ck_assert_int_eq(root_block_parse((struct str){whole.p, n}, 9, -15000, &b, &err), ERR_CORRUPT);
    for (size_t bit = 0; bit < whole.n * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(root_block_parse(whole, 9, -15000, &b, &err), ERR_CORRUPT);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    store_write_abort(t);
}
END_TEST

static int keep_group(void *ctx, uint32_t group, struct str canonical, bool drop_name, struct err *e)
{
    char part[60];
    (void)e;
    snprintf(part, sizeof part, "%u:%zu:%d ", group, canonical.n, drop_name);
    strcat(ctx, part);
    return 0;
}

static int put_group(struct store_txn *t, enum group_of of, uint32_t owner, uint32_t number,
                     const struct labels *labels, bool drop_name)
{
    uint8_t canonical[64];
    size_t n = labels_canonical_bytes(labels);
    ck_assert_uint_le(n, sizeof canonical);
    labels_canonical_write(labels, canonical);
    return group_put(t, of, owner, number, (struct str){(const char *)canonical, n}, drop_name, &err);
}

START_TEST(groups_keep_their_labels)
{
    static const struct label pairs[] = {{STR("__name__"), STR("up")}, {STR("job"), STR("a\"b")}};
    const struct labels two = {pairs, 2}, none = {0};
    struct labels got;
    struct arena a;
    bool drop_name;
    char text[200] = "";
    arena_init(&a, 0);
    struct store_txn *t = begin();
    ck_assert_int_eq(put_group(t, GROUP_OF_ROOT, 1, 5, &two, true), 0);
    ck_assert_int_eq(put_group(t, GROUP_OF_ROOT, 1, 2, &none, false), 0);
    ck_assert_int_eq(put_group(t, GROUP_OF_ROOT, 2, 0, &two, false), 0);
    commit(t);
    t = begin();
    ck_assert_int_eq(group_get(t, GROUP_OF_ROOT, 1, 5, &a, &got, &drop_name, &err), 0);
    ck_assert(labels_eq(&got, &two) && drop_name);
    ck_assert_int_eq(group_get(t, GROUP_OF_ROOT, 1, 2, &a, &got, &drop_name, &err), 0);
    ck_assert(labels_eq(&got, &none) && !drop_name);
    ck_assert_int_eq(group_get(t, GROUP_OF_ROOT, 1, 3, &a, &got, &drop_name, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(group_walk(t, GROUP_OF_ROOT, 1, keep_group, text, &err), 0);
    ck_assert_str_eq(text, "2:0:0 5:32:1 ");
    /* Another group's row, or a flipped bit, is not taken for it. */
    uint8_t key[8], other[8];
    struct str value;
    store_be32(key, 1), store_be32(key + 4, 5);
    memcpy(other, key, 8);
    store_be32(other + 4, 6);
    ck_assert_int_eq(store_get(t, TABLE_ROOT_GROUPS, key, 8, &value, &err), 0);
    char copy[64];
    memcpy(copy, value.p, value.n);
    ck_assert_int_eq(store_put(t, TABLE_ROOT_GROUPS, other, 8, (struct str){copy, value.n}, &err), 0);
    ck_assert_int_eq(group_get(t, GROUP_OF_ROOT, 1, 6, &a, &got, &drop_name, &err), ERR_CORRUPT);
    copy[20] ^= 1;
    ck_assert_int_eq(store_put(t, TABLE_ROOT_GROUPS, key, 8, (struct str){copy, value.n}, &err), 0);
    ck_assert_int_eq(group_get(t, GROUP_OF_ROOT, 1, 5, &a, &got, &drop_name, &err), ERR_CORRUPT);
    ck_assert_int_eq(group_delete(t, GROUP_OF_ROOT, 1, 2, &err), 0);
    ck_assert_int_eq(group_drop(t, GROUP_OF_ROOT, 1, &err), 0);
    text[0] = 0;
    ck_assert_int_eq(group_walk(t, GROUP_OF_ROOT, 1, keep_group, text, &err), 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(group_get(t, GROUP_OF_ROOT, 2, 0, &a, &got, &drop_name, &err), 0);
    store_write_abort(t);
    arena_done(&a);
}
END_TEST

/* A result that stands under another one's key hides both: the check at opening sees it. */
START_TEST(misplaced_rows_are_seen_at_opening)
{
    uint8_t key[12];
    struct str bytes;
    struct store_open_report report;
    struct store_txn *t = begin();
    put(t, 1, 15000, 0, 2);
    ck_assert_int_eq(root_result_walk(t, 1, INT64_MIN, INT64_MAX, keep_bytes, &bytes, &err), 0);
    char copy[64];
    memcpy(copy, bytes.p, bytes.n);
    store_be32(key, 1);
    store_be_i64(key + 4, 30000);
    ck_assert_int_eq(store_put(t, TABLE_ROOT_RESULTS, key, 12, (struct str){copy, bytes.n}, &err), 0);
    commit(t);
    store_close(store);
    ck_assert_int_eq(store_open(scratch, NULL, &store, &report, &err), 0);
    ck_assert(report.set_aside);
    ck_assert_ptr_nonnull(strstr(report.reason, "another one's key"));
}
END_TEST

/* What a version before left: the same directory without the tables that came after it. */
static void make_old(char version)
{
    static const char *const names[] = {"view_groups", "roots", "root_results", "root_groups"};
    size_t n;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    store_close(store);
    store = NULL;
    ck_assert_int_eq(store_env_open(scratch_path("store.mdb"), 64 << 20, false, &env, &err), 0);
    ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
    for (size_t i = 0; i < (version == '2' ? 4 : 1); i++) {
        ck_assert_int_eq(mdb_dbi_open(txn, names[i], 0, &dbi), 0);
        ck_assert_int_eq(mdb_drop(txn, dbi, 1), 0);
    }
    ck_assert_int_eq(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    char *format = (char *)file_read("FORMAT", &n);
    format[strlen("mullion-data/")] = version;
    file_write("FORMAT", format, n);
    free(format);
}

static char format_number(void)
{
    size_t n;
    char *format = (char *)file_read("FORMAT", &n), number = format[strlen("mullion-data/")];
    free(format);
    return number;
}

START_TEST(directories_of_before_are_taken_over)
{
    struct store_open_report report;
    struct store_options read_only = {.read_only = true};
    struct root_record r;
    struct str value;
    const uint8_t one[16] = {1};
    const struct labels none = {0};
    char text[100] = "";
    struct store_txn *t = begin();
    ck_assert_int_eq(store_meta_put(t, "mine", STR("kept"), &err), 0);
    commit(t);
    const char version = (char)('2' + _i);
    make_old(version);

    ck_assert_msg(store_open(scratch, &read_only, &store, &report, &err) == 0, "%s", err.message);
    ck_assert_int_eq(store_read_begin(store, &t, &err), 0);
    ck_assert_int_eq(root_find(t, one, &r, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(group_walk(t, GROUP_OF_VIEW, 0, keep_group, text, &err), 0);
    ck_assert_str_eq(text, "");
    ck_assert_str_eq(times_of(t, 0, INT64_MIN, INT64_MAX), "");
    ck_assert_int_eq(store_meta_get(t, "mine", &value, &err), 0);
    store_read_end(t);
    store_close(store);
    ck_assert_int_eq(format_number(), version);

    ck_assert_int_eq(store_open(scratch, NULL, &store, &report, &err), 0);
    ck_assert(!report.set_aside && !report.lost && !report.created);
    ck_assert_int_eq(format_number(), '4');
    t = begin();
    ck_assert_int_eq(store_meta_get(t, "mine", &value, &err), 0);
    ck_assert_int_eq(root_create(t, one, &r, &err), 0);
    put(t, r.number, 0, 0, 1);
    ck_assert_int_eq(put_group(t, GROUP_OF_VIEW, 7, 3, &none, false), 0);
    commit(t);
    t = begin();
    ck_assert_int_eq(group_walk(t, GROUP_OF_VIEW, 7, keep_group, text, &err), 0);
    ck_assert_str_eq(text, "3:0:0 ");
    ck_assert_int_eq(group_walk(t, GROUP_OF_ROOT, 7, keep_group, text, &err), 0);
    ck_assert_str_eq(text, "3:0:0 ");
    store_write_abort(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/root");
    TCase *tcase = tcase_create("root");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, roots_have_numbers_and_spans);
    tcase_add_test(tcase, results_are_read_at_their_times);
    tcase_add_test(tcase, result_bytes);
    tcase_add_test(tcase, groups_keep_their_labels);
    tcase_add_test(tcase, misplaced_rows_are_seen_at_opening);
    tcase_add_loop_test(tcase, directories_of_before_are_taken_over, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
