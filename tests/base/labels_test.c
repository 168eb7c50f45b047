/* Label sets: identity, order, derived sets, text. */
#include "base/labels.h"

#include "base/err.h"
#include "suite.h"

static struct arena arena;

static void setup(void)
{
    arena_init(&arena, 16 << 20);
}

static void teardown(void)
{
    arena_done(&arena);
}

#define SET(...)                                                                                                       \
    (struct labels)                                                                                                    \
    {                                                                                                                  \
        (const struct label[]){__VA_ARGS__}, sizeof((const struct label[]){__VA_ARGS__}) / sizeof(struct label)        \
    }
#define PAIR(name, value)                                                                                              \
    {                                                                                                                  \
        STR(name), STR(value)                                                                                          \
    }

START_TEST(canonical_bytes_are_as_documented) /* invariant 3 */
{
    struct labels l = SET(PAIR("a", "x"), PAIR("bc", "yz"));
    static const uint8_t expected[] = {1, 0, 0, 0, 'a', 1, 0, 0, 0, 'x', 2, 0, 0, 0, 'b', 'c', 2, 0, 0, 0, 'y', 'z'};
    uint8_t bytes[64];
    ck_assert_uint_eq(labels_canonical_bytes(&l), sizeof(expected));
    labels_canonical_write(&l, bytes);
    ck_assert_mem_eq(bytes, expected, sizeof(expected));
    struct labels back;
    struct err e = {0};
    ck_assert_int_eq(labels_canonical_read(bytes, sizeof(expected), &arena, &back, &e), 0);
    ck_assert(labels_eq(&l, &back));
    for (size_t n = 1; n < sizeof(expected); n++) {
        int code = labels_canonical_read(bytes, n, &arena, &back, &e);
        ck_assert_int_eq(code, n == 10 ? 0 : ERR_CORRUPT);
    }
    ck_assert_int_eq(labels_canonical_read(NULL, 0, &arena, &back, &e), 0);
    ck_assert_uint_eq(back.n, 0);
}
END_TEST

START_TEST(malformed_bytes_are_corrupt)
{
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 'a'};
    static const uint8_t unsorted[] = {1, 0, 0, 0, 'b', 1, 0, 0, 0, 'x', 1, 0, 0, 0, 'a', 1, 0, 0, 0, 'x'};
    static const uint8_t repeated[] = {1, 0, 0, 0, 'a', 1, 0, 0, 0, 'x', 1, 0, 0, 0, 'a', 1, 0, 0, 0, 'y'};
    static const uint8_t no_value[] = {1, 0, 0, 0, 'a', 0, 0, 0, 0};
    struct labels ret = {NULL, 77};
    struct err e;
    ck_assert_int_eq(labels_canonical_read(huge, sizeof(huge), &arena, &ret, &e), ERR_CORRUPT);
    ck_assert_int_eq(labels_canonical_read(unsorted, sizeof(unsorted), &arena, &ret, &e), ERR_CORRUPT);
    ck_assert_int_eq(labels_canonical_read(repeated, sizeof(repeated), &arena, &ret, &e), ERR_CORRUPT);
    ck_assert_int_eq(labels_canonical_read(no_value, sizeof(no_value), &arena, &ret, &e), ERR_CORRUPT);
    ck_assert_uint_eq(ret.n, 77); /* invariant 1 */
}
END_TEST

START_TEST(hash_is_of_the_canonical_bytes)
{
    struct labels a = SET(PAIR("a", "xb"), PAIR("c", "d")), b = SET(PAIR("a", "x"), PAIR("bc", "d"));
    ck_assert_uint_ne(labels_hash(&a, 1), labels_hash(&b, 1));
    ck_assert_uint_ne(labels_hash(&a, 1), labels_hash(&a, 2));
    /* XXH3-64 of no bytes with seed 0, from the xxHash documentation. */
    struct labels none = {NULL, 0};
    ck_assert_uint_eq(labels_hash(&none, 0), UINT64_C(0x2d06800538d394c2));
    /* Sets around the size where hashing changes from one pass to streaming: equal sets, equal hashes. */
    static char text[3000];
    memset(text, 'v', sizeof(text));
    uint64_t last = 0;
    for (size_t n = 990; n < 1050; n++) {
        struct label one[] = {{STR("name"), {text, n}}};
        struct labels l = {one, 1};
        char *copy = arena_strndup(&arena, text, n);
        struct label two[] = {{STR("name"), {copy, n}}};
        struct labels m = {two, 1};
        ck_assert_uint_eq(labels_hash(&l, 5), labels_hash(&m, 5));
        ck_assert_uint_ne(labels_hash(&l, 5), last);
        last = labels_hash(&l, 5);
    }
}
END_TEST

START_TEST(order_is_prometheus_order)
{
    struct labels a = SET(PAIR("a", "1")), a2 = SET(PAIR("a", "2")), ab = SET(PAIR("a", "1"), PAIR("b", "1"));
    struct labels b = SET(PAIR("b", "0"));
    ck_assert_int_lt(labels_cmp(&a, &a2), 0);
    ck_assert_int_lt(labels_cmp(&a, &ab), 0);
    ck_assert_int_lt(labels_cmp(&ab, &a2), 0);
    ck_assert_int_lt(labels_cmp(&a2, &b), 0);
    ck_assert_int_eq(labels_cmp(&a, &a), 0);
    ck_assert(!labels_eq(&a, &ab));
    struct label v[] = {PAIR("c", "1"), PAIR("a", "2"), PAIR("b", "3")};
    ck_assert(labels_sort(v, 3));
    ck_assert(str_eq(v[0].name, STR("a")) && str_eq(v[2].name, STR("c")));
    struct label twice[] = {PAIR("c", "1"), PAIR("a", "2"), PAIR("c", "3")};
    ck_assert(!labels_sort(twice, 3));
}
END_TEST

static void expect_text(const struct labels *l, const char *expected)
{
    struct strbuf b = {0};
    labels_print(l, &b);
    ck_assert_str_eq(strbuf_z(&b), expected);
    strbuf_done(&b);
}

START_TEST(derived_sets)
{
    struct labels l = SET(PAIR("__name__", "up"), PAIR("instance", "h:1"), PAIR("job", "j")), got;
    struct str names[] = {STR("job"), STR("absent")};
    labels_keep(&l, names, 2, &arena, &got);
    expect_text(&got, "{job=\"j\"}");
    labels_drop(&l, names, 2, &arena, &got);
    expect_text(&got, "up{instance=\"h:1\"}");
    size_t used = arena.used_bytes;
    labels_drop_name(&l, &arena, &got);
    expect_text(&got, "{instance=\"h:1\", job=\"j\"}");
    ck_assert_uint_eq(arena.used_bytes, used); /* shared */
    struct labels upper = SET(PAIR("A", "1"), PAIR("__name__", "up"), PAIR("b", "2"));
    labels_drop_name(&upper, &arena, &got);
    expect_text(&got, "{A=\"1\", b=\"2\"}");
    labels_with(&l, STR("job"), STR("k"), &arena, &got);
    expect_text(&got, "up{instance=\"h:1\", job=\"k\"}");
    labels_with(&l, STR("j"), STR("k"), &arena, &got);
    expect_text(&got, "up{instance=\"h:1\", j=\"k\", job=\"j\"}");
    labels_with(&l, STR("zone"), STR("z"), &arena, &got);
    expect_text(&got, "up{instance=\"h:1\", job=\"j\", zone=\"z\"}");
    labels_with(&l, STR("instance"), STR(""), &arena, &got);
    expect_text(&got, "up{job=\"j\"}");
    ck_assert_uint_eq(labels_get(&l, STR("absent")).n, 0);
    ck_assert(str_eq(labels_get(&l, STR("job")), STR("j")));
}
END_TEST

START_TEST(text_quotes_what_needs_it)
{
    struct labels none = {NULL, 0}, only_name = SET(PAIR("__name__", "up"));
    struct labels utf8 = SET(PAIR("__name__", "my.metric"), PAIR("a b", "x\"y\n"));
    expect_text(&none, "{}");
    expect_text(&only_name, "up");
    expect_text(&utf8, "{__name__=\"my.metric\", \"a b\"=\"x\\\"y\\n\"}");
    ck_assert(metric_name_legacy(STR("job:rate5m")));
    ck_assert(!label_name_legacy(STR("job:rate5m")));
    ck_assert(!label_name_legacy(STR("5m")));
    ck_assert(!label_name_legacy(STR("")));
    ck_assert(label_name_legacy(STR("_a9")));
}
END_TEST

START_TEST(arena_failure_gives_an_empty_set)
{
    struct arena tiny;
    arena_init(&tiny, 16);
    struct labels l = SET(PAIR("a", "1"), PAIR("b", "2")), got = l;
    labels_with(&l, STR("c"), STR("3"), &tiny, &got);
    ck_assert_uint_eq(got.n, 0);
    ck_assert(arena_failed(&tiny));
    arena_done(&tiny);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/labels");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, canonical_bytes_are_as_documented);
    tcase_add_test(all, malformed_bytes_are_corrupt);
    tcase_add_test(all, hash_is_of_the_canonical_bytes);
    tcase_add_test(all, order_is_prometheus_order);
    tcase_add_test(all, derived_sets);
    tcase_add_test(all, text_quotes_what_needs_it);
    tcase_add_test(all, arena_failure_gives_an_empty_set);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
