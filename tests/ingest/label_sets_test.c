/* Label sets by number: which number a set gets, when it is another's, and what the store has of it. */
#include "ingest/label_sets.h"

#include "store/store.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct err err;
static struct store *store;
static struct label_sets sets;

static void setup(void)
{
    struct store_open_report report;
    scratch_make();
    ck_assert_int_eq(store_open(scratch, NULL, &store, &report, &err), 0);
}

static void teardown(void)
{
    label_sets_done(&sets);
    store_close(store);
    scratch_remove();
}

static uint32_t place(const char *value, bool drop_name, int64_t used_ms)
{
    struct label pair = {STR("g"), str_of(value)};
    struct labels labels = {&pair, value[0] ? 1 : 0};
    uint32_t at = 0;
    ck_assert_int_eq(label_sets_place(&sets, &labels, drop_name, &at, &err), 0);
    ck_assert_int_eq(label_sets_find(&sets, &labels, drop_name), at);
    label_sets_use(&sets, at, used_ms);
    return sets.v[at].number;
}

static bool known(const char *value)
{
    struct label pair = {STR("g"), str_of(value)};
    struct labels labels = {&pair, 1};
    return label_sets_find(&sets, &labels, false) >= 0;
}

static void put(uint32_t owner)
{
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    ck_assert_int_eq(label_sets_put(&sets, t, owner, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    label_sets_written(&sets, true);
}

static void drop(uint32_t owner, int64_t upto_ms)
{
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    ck_assert_int_eq(label_sets_drop(&sets, t, owner, upto_ms, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    label_sets_forget(&sets, upto_ms);
}

static void load(uint32_t owner, int64_t used_ms, uint32_t want_n)
{
    struct store_txn *t;
    label_sets_done(&sets);
    label_sets_init(&sets, GROUP_OF_VIEW, 100);
    ck_assert_int_eq(store_read_begin(store, &t, &err), 0);
    ck_assert_int_eq(label_sets_load(&sets, t, owner, used_ms, &err), 0);
    store_read_end(t);
    ck_assert_uint_eq(sets.n, want_n);
}

START_TEST(a_number_is_one_set_s_while_it_is_used)
{
    label_sets_init(&sets, GROUP_OF_VIEW, 100);
    ck_assert_uint_eq(place("a", false, 10), 0);
    ck_assert_uint_eq(place("b", false, 10), 1);
    ck_assert_uint_eq(place("", false, 10), 2);
    ck_assert_uint_eq(place("a", true, 10), 3);
    ck_assert_uint_eq(place("c", false, 30), 4);
    ck_assert_uint_eq(place("b", false, 20), 1);
    ck_assert_uint_eq(place("b", false, 15), 1); /* used as late as 20 all the same */
    put(7);

    drop(7, 9);
    ck_assert_uint_eq(sets.n, 5);
    drop(7, 10); /* 0, 2 and 3 */
    ck_assert_uint_eq(sets.n, 2);
    ck_assert(known("b") && known("c") && !known("a"));
    ck_assert_uint_eq(place("d", false, 40), 0); /* the lowest first */
    ck_assert_uint_eq(place("e", false, 40), 2);
    ck_assert_uint_eq(place("b", false, 20), 1);
    ck_assert_uint_eq(place("f", false, 40), 3);
    ck_assert_uint_eq(place("g", false, 40), 5);
    put(7);

    load(7, 50, 6);
    ck_assert_uint_eq(place("d", false, 50), 0);
    ck_assert_uint_eq(place("b", false, 50), 1);
    ck_assert_uint_eq(place("h", false, 50), 6);
    load(8, 50, 0); /* another owner's */
}
END_TEST

START_TEST(gaps_that_a_store_was_left_with_are_filled)
{
    label_sets_init(&sets, GROUP_OF_VIEW, 100);
    place("a", false, 1);
    place("b", false, 2);
    place("c", false, 1);
    place("d", false, 2);
    put(3);
    drop(3, 1);
    load(3, 9, 2);
    ck_assert_uint_eq(place("b", false, 9), 1);
    ck_assert_uint_eq(place("d", false, 9), 3);
    ck_assert_uint_eq(place("x", false, 9), 0);
    ck_assert_uint_eq(place("y", false, 9), 2);
    ck_assert_uint_eq(place("z", false, 9), 4);

    /* A wide gap costs no more than a bounded list. */
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    ck_assert_int_eq(group_put(t, GROUP_OF_VIEW, 4, UINT32_MAX - 1, (struct str){0}, false, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    load(4, 9, 1);
    ck_assert_uint_eq(place("", false, 9), UINT32_MAX - 1);
    ck_assert_uint_eq(place("x", false, 9), 0);
}
END_TEST

START_TEST(only_so_many_sets)
{
    struct label pair = {STR("g"), STR("c")};
    const struct labels third = {&pair, 1};
    uint32_t at;
    label_sets_init(&sets, GROUP_OF_VIEW, 2);
    place("a", false, 1);
    place("b", false, 2);
    ck_assert_int_eq(label_sets_place(&sets, &third, false, &at, &err), ERR_LIMIT);
    ck_assert_uint_eq(place("b", false, 2), 1);
    label_sets_forget(&sets, 1);
    ck_assert_uint_eq(place("c", false, 3), 0);
    ck_assert_int_eq(label_sets_find(&sets, &third, false), 1);
}
END_TEST

/* What was never written, or not in a commit that was kept, is written with the next. */
START_TEST(rows_come_with_the_next_commit)
{
    struct store_txn *t;
    label_sets_init(&sets, GROUP_OF_VIEW, 100);
    place("a", false, 1);
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    ck_assert_int_eq(label_sets_put(&sets, t, 5, &err), 0);
    store_write_abort(t);
    place("b", false, 2);
    put(5);
    load(5, 3, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/label_sets");
    TCase *tcase = tcase_create("label_sets");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_number_is_one_set_s_while_it_is_used);
    tcase_add_test(tcase, gaps_that_a_store_was_left_with_are_filled);
    tcase_add_test(tcase, only_so_many_sets);
    tcase_add_test(tcase, rows_come_with_the_next_commit);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
