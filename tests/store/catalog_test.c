/* store/catalog: selection against a brute-force filter with another regex engine, numbering, and reload. */
#include <regex.h>

#include "base/bytes.h"
#include "base/map.h"
#include "store/catalog.h"
#include "store/catalog_internal.h"
#include "store/tables.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct arena arena;
static struct err err;

static void setup(void)
{
    arena_init(&arena, 0);
    scratch_make();
}
static void teardown(void)
{
    arena_done(&arena);
    scratch_remove();
}

/* Text "name=value,name=value" in sorted order. */
static struct labels labels_of(const char *text)
{
    char *copy = arena_strndup(&arena, text, strlen(text)), *save = NULL;
    struct label *v = ARENA_ARRAY(&arena, struct label, 64);
    struct labels l = {v, 0};
    for (char *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(part, '=');
        *equals = 0;
        v[l.n++] = (struct label){str_of(part), str_of(equals + 1)};
    }
    return l;
}

static uint32_t add(struct catalog *c, const char *text)
{
    struct labels l = labels_of(text);
    uint64_t hash = labels_hash(&l, map_seed());
    uint32_t id = catalog_find(c, &l, hash);
    if (id == SERIES_NONE)
        ck_assert_int_eq(catalog_add(c, &l, hash, &id, &err), 0);
    return id;
}

static struct matcher match(const char *name, enum matcher_op op, const char *value)
{
    struct matcher m;
    ck_assert_msg(matcher_init(&m, op, str_of(name), str_of(value), &err) == 0, "%s", err.message);
    return m;
}

static void expect_selected(const struct catalog *c, const struct matcher *m, size_t n, const char *want)
{
    uint32_t *ids, ids_n;
    ck_assert_int_eq(catalog_select(c, m, n, &arena, &ids, &ids_n, &err), 0);
    char text[256] = "";
    for (uint32_t i = 0; i < ids_n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i ? " " : "", ids[i]);
    ck_assert_str_eq(text, want);
}

START_TEST(absent_label_is_the_empty_value)
{
    struct catalog *c = catalog_new();
    add(c, "__name__=up,env=prod");         /* 0 */
    add(c, "__name__=down,env=test,job=a"); /* 1 */
    add(c, "__name__=up");                  /* 2 */
    add(c, "__name__=down,job=b");          /* 3 */
    add(c, "__name__=up,env=prod,job=a");   /* 4 */
    static const struct {
        const char *name;
        enum matcher_op op;
        const char *value, *want; /* ids by (metric, ordinal): up is metric 0 */
    } cases[] = {
        {"env", MATCH_EQ, "", "2 3"},          {"env", MATCH_NE, "", "0 4 1"},
        {"env", MATCH_EQ, "prod", "0 4"},      {"env", MATCH_NE, "prod", "2 1 3"},
        {"env", MATCH_RE, ".*", "0 2 4 1 3"},  {"env", MATCH_RE, ".+", "0 4 1"},
        {"env", MATCH_NRE, ".+", "2 3"},       {"env", MATCH_NRE, ".*", ""},
        {"env", MATCH_RE, "prod|", "0 2 4 3"}, {"env", MATCH_RE, "", "2 3"},
        {"env", MATCH_NRE, "", "0 4 1"},       {"env", MATCH_RE, "prod|test", "0 4 1"},
        {"env", MATCH_RE, "te.*", "1"},        {"env", MATCH_NRE, "te.*", "0 2 4 3"},
        {"none", MATCH_EQ, "", "0 2 4 1 3"},   {"none", MATCH_NE, "", ""},
        {"none", MATCH_NE, "x", "0 2 4 1 3"},  {"none", MATCH_EQ, "x", ""},
        {"__name__", MATCH_NE, "up", "1 3"},   {"env", MATCH_EQ, "absent", ""},
        {"env", MATCH_NRE, "prod|", "1"},      {"env", MATCH_RE, "pro", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct matcher m = match(cases[i].name, cases[i].op, cases[i].value);
        expect_selected(c, &m, 1, cases[i].want);
        matcher_done(&m);
    }
    struct matcher both[] = {match("env", MATCH_EQ, "prod"), match("env", MATCH_EQ, "test")};
    expect_selected(c, both, 2, "");
    matcher_done(&both[1]);
    both[1] = match("job", MATCH_EQ, "");
    expect_selected(c, both, 2, "0");
    matcher_done(&both[0]);
    matcher_done(&both[1]);
    expect_selected(c, NULL, 0, "0 2 4 1 3");
    catalog_free(c);
}
END_TEST

START_TEST(places_are_dense_per_metric)
{
    struct catalog *c = catalog_new();
    ck_assert_uint_eq(add(c, "__name__=up,i=0"), 0);
    ck_assert_uint_eq(add(c, "i=0"), 1); /* no metric name */
    ck_assert_uint_eq(add(c, "__name__=up,i=1"), 2);
    ck_assert_uint_eq(add(c, "__name__=up,i=0"), 0);
    ck_assert_uint_eq(catalog_metrics_n(c), 2);
    uint32_t up = catalog_metric(c, STR("up")), none = catalog_metric(c, STR(""));
    ck_assert_uint_eq(up, 0);
    ck_assert_uint_eq(none, 1);
    ck_assert_uint_eq(catalog_metric(c, STR("i")), SERIES_NONE);
    ck_assert(str_eq(catalog_metric_name(c, up), STR("up")));
    ck_assert_uint_eq(catalog_at(c, up, 1), 2);
    ck_assert_uint_eq(catalog_at(c, up, 2), SERIES_NONE);
    ck_assert_uint_eq(catalog_at(c, 7, 0), SERIES_NONE);
    struct series_place place = catalog_place(c, 2);
    ck_assert(place.metric == up && place.ordinal == 1);
    struct labels l = labels_of("__name__=up,i=1"), near = labels_of("__name__=up,i=2"), got;
    ck_assert(catalog_same(c, 2, &l));
    ck_assert(!catalog_same(c, 2, &near));
    ck_assert(!catalog_same(c, 99, &l));
    catalog_labels(c, 2, &arena, &got);
    ck_assert(labels_eq(&got, &l));
    catalog_free(c);
}
END_TEST

START_TEST(names_and_values_sorted)
{
    struct catalog *c = catalog_new();
    add(c, "__name__=up,zone=b");
    add(c, "__name__=up,zone=a");
    add(c, "__name__=down,env=prod,zone=aa");
    struct str *v;
    uint32_t n;
    ck_assert_int_eq(catalog_label_names(c, &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert(str_eq(v[0], STR("__name__")) && str_eq(v[1], STR("env")) && str_eq(v[2], STR("zone")));
    ck_assert_int_eq(catalog_label_values(c, STR("zone"), &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert(str_eq(v[0], STR("a")) && str_eq(v[1], STR("aa")) && str_eq(v[2], STR("b")));
    ck_assert_int_eq(catalog_label_values(c, STR("absent"), &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 0);
    struct matcher up = match("__name__", MATCH_EQ, "up");
    ck_assert_int_eq(catalog_select_names(c, &up, 1, &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert(str_eq(v[0], STR("__name__")) && str_eq(v[1], STR("zone")));
    ck_assert_int_eq(catalog_select_values(c, STR("zone"), &up, 1, &arena, &v, &n, &err), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert(str_eq(v[0], STR("a")) && str_eq(v[1], STR("b")));
    matcher_done(&up);
    catalog_free(c);
}
END_TEST

/* ---- the property ---- */

enum { LABELS = 4, VALUES = 7, PATTERNS = 14, SETS = 400 };
static const char *const label_names[LABELS] = {"__name__", "env", "job", "zone"};
static const char *const values[VALUES] = {"", "a", "b", "ab", "abc", "xa", "\xc3\xa9"};
/* Written so that POSIX extended and RE2 syntax mean the same. */
static const char *const patterns[PATTERNS] = {"a|b", "a.*", ".*",      ".+",  "",        "a|",        "[ab]+",
                                               "x?a", "abc", "(a|x)a?", ".*b", "a(b|bc)", "xa|ab|abc", "q.*"};

static bool brute_accepts(enum matcher_op op, const char *pattern, const char *value)
{
    if (op == MATCH_EQ || op == MATCH_NE)
        return (strcmp(pattern, value) == 0) == (op == MATCH_EQ);
    /* glibc refuses an empty alternative only in some places; "" and "a|" are spelled out. */
    bool accepts;
    if (!*pattern) {
        accepts = !*value;
    } else if (strcmp(pattern, "a|") == 0) {
        accepts = !*value || strcmp(value, "a") == 0;
    } else {
        char anchored[64];
        regex_t re;
        snprintf(anchored, sizeof(anchored), "^(%s)$", pattern);
        ck_assert_int_eq(regcomp(&re, anchored, REG_EXTENDED | REG_NOSUB), 0);
        accepts = regexec(&re, value, 0, NULL, 0) == 0;
        regfree(&re);
    }
    return accepts == (op == MATCH_RE);
}

struct random_series {
    uint8_t value[LABELS];
};

static uint32_t random_catalog(struct catalog *c, struct random_series *made, uint64_t *state)
{
    for (int i = 0; i < SETS; i++) {
        struct random_series s;
        char text[128] = "";
        for (int k = 0; k < LABELS; k++) {
            s.value[k] = (uint8_t)roll(state, VALUES);
            if (s.value[k])
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s=%s", *text ? "," : "", label_names[k],
                         values[s.value[k]]);
        }
        made[add(c, text)] = s;
    }
    return catalog_series_n(c);
}

START_TEST(select_equals_brute_force)
{
    uint64_t state = suite_seed("select_equals_brute_force") | 1;
    struct random_series made[SETS];
    for (int round = 0; round < 6; round++) {
        struct catalog *c = catalog_new();
        uint32_t n = random_catalog(c, made, &state);
        for (int query = 0; query < 300; query++) {
            struct matcher m[3];
            int label[3];
            const char *text[3];
            size_t matchers = roll(&state, 4);
            for (size_t i = 0; i < matchers; i++) {
                enum matcher_op op = (enum matcher_op)(1 + roll(&state, 4));
                label[i] = (int)roll(&state, LABELS);
                text[i] = op >= MATCH_RE ? patterns[roll(&state, PATTERNS)] : values[roll(&state, VALUES)];
                m[i] = match(label_names[label[i]], op, text[i]);
            }
            uint32_t *ids, ids_n, want_n = 0;
            ck_assert_int_eq(catalog_select(c, m, matchers, &arena, &ids, &ids_n, &err), 0);
            bool got[SETS] = {false};
            for (uint32_t i = 0; i < ids_n; i++) {
                ck_assert(ids[i] < n && !got[ids[i]]);
                got[ids[i]] = true;
                struct series_place a = i ? catalog_place(c, ids[i - 1]) : (struct series_place){0},
                                    b = catalog_place(c, ids[i]);
                ck_assert(i == 0 || a.metric < b.metric || (a.metric == b.metric && a.ordinal < b.ordinal));
            }
            for (uint32_t id = 0; id < n; id++) {
                bool want = true;
                for (size_t i = 0; i < matchers; i++)
                    want = want && brute_accepts(m[i].op, text[i], values[made[id].value[label[i]]]);
                want_n += want;
                ck_assert_msg(got[id] == want, "round %d query %d: series %u, %zu matchers, first %s%s%s", round, query,
                              id, matchers, matchers ? label_names[label[0]] : "",
                              matchers ? matcher_op_text(m[0].op) : "", matchers ? text[0] : "");
            }
            ck_assert_uint_eq(ids_n, want_n);
            for (size_t i = 0; i < matchers; i++)
                matcher_done(&m[i]);
        }
        catalog_free(c);
    }
}
END_TEST

START_TEST(postings_of_every_length)
{
    static const uint32_t lengths[] = {0, 1, 2, 3, 4, 63, 64, 65, 66, 5000, 70000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct posting p = {0};
        for (uint32_t k = 0; k < lengths[i]; k++)
            posting_add(&p, k * 3 + 1);
        roaring_bitmap_t *set = roaring_bitmap_create();
        posting_union(&p, set);
        ck_assert_uint_eq(roaring_bitmap_get_cardinality(set), lengths[i]);
        for (uint32_t k = 0; k < lengths[i]; k++)
            ck_assert(roaring_bitmap_contains(set, k * 3 + 1));
        ck_assert_uint_eq(p.n, lengths[i]);
        roaring_bitmap_free(set);
        posting_done(&p);
    }
}
END_TEST

/* RUNTIME.md: labels and index of one series take at most 220 B. */
START_TEST(memory_per_series)
{
    enum { SERIES = 200000 };
    struct catalog *c = catalog_new();
    char text[8][32];
    static const char *const names[8] = {"__name__", "cluster", "container", "endpoint",
                                         "instance", "job",     "namespace", "pod"};
    for (uint32_t i = 0; i < SERIES; i++) {
        static const uint32_t distinct[8] = {200, 2, 20, 3, 1000, 20, 50, 1000};
        struct label v[8];
        uint32_t target = i / 200;
        for (int k = 0; k < 8; k++) {
            uint32_t of = k == 0 ? i % 200 : target % distinct[k];
            v[k] =
                (struct label){str_of(names[k]), {text[k], (size_t)snprintf(text[k], 32, "%s-value-%u", names[k], of)}};
        }
        struct labels l = {v, 8};
        uint32_t id;
        ck_assert_int_eq(catalog_add(c, &l, labels_hash(&l, map_seed()), &id, &err), 0);
    }
    size_t each = catalog_memory_bytes(c) / SERIES;
    printf("catalog: %zu B a series at %d series of 8 labels\n", each, SERIES);
    ck_assert_uint_le(each, 220);
    catalog_free(c);
}
END_TEST

/* ---- disk ---- */

static void save(struct store *s, struct catalog *c)
{
    struct store_txn *t;
    uint32_t n;
    ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
    ck_assert_int_eq(catalog_save(c, t, &n, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    catalog_saved(c, n);
}

static int load(struct store *s, struct catalog **ret)
{
    struct store_txn *t;
    ck_assert_int_eq(store_read_begin(s, &t, &err), 0);
    *ret = catalog_new();
    int code = catalog_load(*ret, t, &err);
    store_read_end(t);
    return code;
}

START_TEST(reload_gives_the_same_ids)
{
    struct store *s;
    ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), 0);
    struct catalog *c = catalog_new(), *back;
    char text[64];
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 1500; i++) {
            snprintf(text, sizeof(text), "__name__=m%d,i=%d,s=%d", i % 7, i, step);
            add(c, text);
        }
        /* An aborted save leaves nothing behind. */
        struct store_txn *t;
        uint32_t n;
        ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
        ck_assert_int_eq(catalog_save(c, t, &n, &err), 0);
        store_write_abort(t);
        ck_assert_uint_eq(catalog_persisted_n(c), 1500u * (unsigned)step);
        save(s, c);
    }
    store_close(s);
    ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), 0);
    ck_assert_msg(load(s, &back) == 0, "%s", err.message);
    ck_assert_uint_eq(catalog_series_n(back), 4500);
    ck_assert_uint_eq(catalog_persisted_n(back), 4500);
    for (uint32_t id = 0; id < 4500; id++) {
        struct labels a, b;
        catalog_labels(c, id, &arena, &a);
        catalog_labels(back, id, &arena, &b);
        ck_assert(labels_eq(&a, &b));
        struct series_place p = catalog_place(c, id), q = catalog_place(back, id);
        ck_assert(p.metric == q.metric && p.ordinal == q.ordinal);
    }
    /* No id is given out twice. */
    ck_assert_uint_eq(add(back, "__name__=new"), 4500);
    catalog_free(back);
    catalog_free(c);
    store_close(s);
}
END_TEST

START_TEST(damaged_catalog_is_refused)
{
    struct store *s;
    struct catalog *c = catalog_new(), *back;
    ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), 0);
    for (int i = 0; i < 2000; i++) {
        char text[64];
        snprintf(text, sizeof(text), "__name__=m,i=%d", i);
        add(c, text);
    }
    save(s, c);
    struct store_txn *t;
    uint8_t key[4];
    struct str value;
    store_be32(key, 1024);
    /* The last batch is gone: the ids in it must not be given out again. */
    ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
    ck_assert_int_eq(store_get(t, TABLE_SERIES, key, 4, &value, &err), 0);
    char *bytes = arena_strndup(&arena, value.p, value.n);
    ck_assert_int_eq(store_delete(t, TABLE_SERIES, key, 4, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    ck_assert_int_eq(load(s, &back), ERR_CORRUPT);
    catalog_free(back);
    /* A flipped bit in it. */
    bytes[value.n / 2] ^= 4;
    ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
    ck_assert_int_eq(store_put(t, TABLE_SERIES, key, 4, (struct str){bytes, value.n}, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    ck_assert_int_eq(load(s, &back), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.message, "checksum"));
    catalog_free(back);
    catalog_free(c);
    store_close(s);
    /* And the check at opening sees it too. */
    struct store_open_report report;
    ck_assert_int_eq(store_open(scratch, NULL, &s, &report, &err), 0);
    ck_assert(report.set_aside);
    store_close(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/catalog");
    TCase *tcase = tcase_create("catalog");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, absent_label_is_the_empty_value);
    tcase_add_test(tcase, places_are_dense_per_metric);
    tcase_add_test(tcase, names_and_values_sorted);
    tcase_add_test(tcase, select_equals_brute_force);
    tcase_add_test(tcase, postings_of_every_length);
    tcase_add_test(tcase, memory_per_series);
    tcase_add_test(tcase, reload_gives_the_same_ids);
    tcase_add_test(tcase, damaged_catalog_is_refused);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
