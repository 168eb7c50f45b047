/*
 * Matchers and regexes. Expansion cases are from Go's regexp tests (TestExpand), error texts from regexp/syntax
 * (parse_test.go, regexp all_test.go badRe).
 */
#include <stdio.h>

#include "base/matcher.h"

#include "suite.h"

static struct regex *compile(const char *pattern)
{
    struct regex *r = NULL;
    struct err e = {0};
    ck_assert_msg(regex_new(str_of(pattern), &r, &e) == 0, "%s: %s", pattern, e.message);
    return r;
}

static bool matches(const char *pattern, struct str text)
{
    struct regex *r = compile(pattern);
    bool yes = regex_match(r, text);
    regex_free(r);
    return yes;
}

START_TEST(matching_is_anchored_at_both_ends)
{
    ck_assert(matches("foo", STR("foo")));
    ck_assert(!matches("foo", STR("xfoo")));
    ck_assert(!matches("foo", STR("foox")));
    ck_assert(!matches("foo", STR("foo\n")));
    ck_assert(matches("foo.*", STR("foo\nbar")));
    ck_assert(matches("a|ab", STR("ab")));
    ck_assert(!matches("a|b", STR("ab")));
    ck_assert(matches("(?i)foo", STR("FoO")));
    ck_assert(matches("", STR("")));
    ck_assert(!matches("", STR("a")));
    ck_assert(matches("^foo$", STR("foo")));
    ck_assert(matches(".*", STR("")));
    ck_assert(!matches(".+", STR("")));
    ck_assert(matches(".", STR("\xe6\x97\xa5")));
    ck_assert(matches("a{2,3}", STR("aaa")));
    ck_assert(matches("host\\.example", STR("host.example")));
    ck_assert(!matches("host\\.example", STR("hostxexample")));
    ck_assert(matches("[0-9]{3}", STR("404")));
    ck_assert(matches("fo?", STR("f")));
    ck_assert(matches("fo*bar|x", STR("fbar")));
}
END_TEST

START_TEST(errors_speak_go)
{
    static const char *const cases[][2] = {
        {"*", "error parsing regexp: missing argument to repetition operator: `*`"},
        {"(abc", "error parsing regexp: missing closing ): `(abc`"},
        {"abc)", "error parsing regexp: unexpected ): `abc)`"},
        {"a)(b", "error parsing regexp: unexpected ): `a)(b`"},
        {"x[a-z", "error parsing regexp: missing closing ]: `[a-z`"},
        {"[z-a]", "error parsing regexp: invalid character class range: `z-a`"},
        {"a**", "error parsing regexp: invalid nested repetition operator: `**`"},
        {"\\x", "error parsing regexp: invalid escape sequence: `\\x`"},
        {"a\\C", "error parsing regexp: invalid escape sequence: `\\C`"},
        {"abc\\", "error parsing regexp: trailing backslash at end of expression: ``"},
        {"(?P<name", "error parsing regexp: invalid named capture: `(?P<name`"},
        {"a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct regex *r = NULL;
        struct err e = {0};
        ck_assert_int_eq(regex_new(str_of(cases[i][0]), &r, &e), ERR_BAD_DATA);
        ck_assert_str_eq(e.message, cases[i][1]);
        ck_assert_ptr_null(r);
    }
}
END_TEST

START_TEST(programs_and_patterns_are_bounded) /* invariant 7 */
{
    struct regex *r = NULL;
    struct err e;
    struct strbuf big = {0};
    while (big.n <= 64 << 10)
        strbuf_add_z(&big, "abcdefgh");
    ck_assert_int_eq(regex_new((struct str){big.p, big.n}, &r, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "expression too large"));
    ck_assert_int_eq(regex_new(STR("((((a{100}){100}){100}){100}){100}"), &r, &e), ERR_BAD_DATA);
    /* A short pattern with a large program, and one whose match would report 5,000 groups for each of its steps. */
    ck_assert_int_eq(regex_new(STR("\\pL{300}"), &r, &e), ERR_BAD_DATA);
    strbuf_clear(&big);
    for (int i = 0; i < 5000; i++)
        strbuf_add_z(&big, "()");
    ck_assert_int_eq(regex_new((struct str){big.p, big.n}, &r, &e), ERR_BAD_DATA);
    ck_assert_str_eq(e.message, "error parsing regexp: expression too large: too many groups");
    /* A list as long as a pattern may be, and the classes of a usual host name, are within the bounds. */
    strbuf_clear(&big);
    for (int i = 0; big.n < (64 << 10) - 16; i++) {
        char host[16];
        snprintf(host, sizeof host, "%d-host|", i * 7919 % 100000);
        strbuf_add_z(&big, host);
    }
    strbuf_add_z(&big, "e+");
    ck_assert_int_eq(regex_new((struct str){big.p, big.n}, &r, &e), 0);
    ck_assert(regex_size(r) > 10000);
    regex_free(r);
    ck_assert(matches("(?i)[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63}){0,8}", STR("a.b-c.D")));
    ck_assert_int_eq(regex_new(STR("\xff"), &r, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "invalid UTF-8"));
    /* Exponential for a backtracker. */
    strbuf_clear(&big);
    for (int i = 0; i < 30000; i++)
        strbuf_add_char(&big, 'a');
    strbuf_add_char(&big, 'b');
    ck_assert(!matches("(a*)*c", (struct str){big.p, big.n}));
    strbuf_done(&big);
}
END_TEST

static void expect_literals(const char *pattern, const char *joined)
{
    struct regex *r = compile(pattern);
    const struct str *v;
    size_t n = regex_literals(r, &v);
    struct strbuf got = {0};
    for (size_t i = 0; i < n; i++) {
        strbuf_add_str(&got, v[i]);
        strbuf_add_char(&got, ',');
        ck_assert(regex_match(r, v[i]));
    }
    ck_assert_str_eq(strbuf_z(&got), joined);
    strbuf_done(&got);
    regex_free(r);
}

START_TEST(literals_are_the_whole_language) /* invariant 6 */
{
    expect_literals("foo", "foo,");
    expect_literals("a|b|c", "a,b,c,");
    expect_literals("(?:a|b|c)", "a,b,c,");
    expect_literals("(a|b)", "a,b,");
    expect_literals("a|", "a,,");
    expect_literals("", ",");
    expect_literals("10\\.0\\.0\\.1:80|10\\.0\\.0\\.2:80", "10.0.0.1:80,10.0.0.2:80,");
    expect_literals("\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9,");
    expect_literals("(a|b)(c)", "");
    expect_literals("(?i)a|b", "");
    expect_literals("(?i:a|b)", "");
    expect_literals("a.b", "");
    expect_literals("a|b*", "");
    expect_literals("\\d", "");
    expect_literals("a(b|c)", "");
    expect_literals("^a$", "");
    struct strbuf many = {0};
    for (int i = 0; i < 256; i++)
        strbuf_printf(&many, "%sv%d", i ? "|" : "", i);
    struct regex *r = compile(strbuf_z(&many));
    const struct str *v;
    ck_assert_uint_eq(regex_literals(r, &v), 256);
    ck_assert(regex_match(r, STR("v255")));
    ck_assert(!regex_match(r, STR("v256")));
    regex_free(r);
    strbuf_add_z(&many, "|v256");
    r = compile(strbuf_z(&many));
    ck_assert_uint_eq(regex_literals(r, &v), 0);
    ck_assert(regex_match(r, STR("v256")));
    ck_assert(!regex_match(r, STR("v257")));
    regex_free(r);
    strbuf_done(&many);
}
END_TEST

START_TEST(prefix_begins_every_match) /* invariant 6 */
{
    static const char *const cases[][2] = {
        {"foo.*", "foo"},  {"foo", "foo"},      {"foo*", "fo"},          {"foo?bar", "fo"}, {"foo{2}", "fo"},
        {"foo+", "foo"},   {"foo(a|b)", "foo"}, {"foo|bar.*", ""},       {".*foo", ""},     {"a|b", ""},
        {"(?i)foo.*", ""}, {"a\\.b.*", "a.b"},  {"caf\xc3\xa9*", "caf"}, {"foo[|]x", ""},   {"foo\\|bar.*", "foo|bar"},
        {"^foo.*", ""},    {"foo\\d", "foo"},   {"a\\Q|\\Eb.*", ""},     {"(foo).*", ""},   {"a**?", NULL},
    };
    for (size_t i = 0; cases[i][1]; i++) {
        struct regex *r = compile(cases[i][0]);
        struct str prefix = regex_prefix(r);
        ck_assert_msg(str_eq(prefix, str_of(cases[i][1])), "%s gave " STR_FMT, cases[i][0], STR_ARG(prefix));
        regex_free(r);
    }
}
END_TEST

static void expect_replaced(const char *pattern, const char *text, const char *template, const char *expected)
{
    struct regex *r = compile(pattern);
    struct strbuf out = {0};
    strbuf_add_char(&out, '>');
    bool matched = regex_replace(r, str_of(text), str_of(template), &out);
    ck_assert_int_eq(matched, expected != NULL);
    ck_assert_msg(strcmp(strbuf_z(&out) + 1, expected ? expected : "") == 0, "%s gave %s", template, strbuf_z(&out));
    strbuf_done(&out);
    regex_free(r);
}

START_TEST(expansion_follows_go)
{
    expect_replaced("source-value-(.*)", "source-value-10", "destination-value-$1", "destination-value-10");
    expect_replaced("source-value-(.*)", "other", "$1", NULL);
    expect_replaced("(.*)", "abc", "$1x", "");
    expect_replaced("(.*)", "abc", "${1}x", "abcx");
    expect_replaced("(.*)", "abc", "$1-$1", "abc-abc");
    expect_replaced("(.*)", "abc", "$0", "abc");
    expect_replaced("(.*)", "abc", "$$1", "$1");
    expect_replaced("(.*)", "abc", "a$", "a$");
    expect_replaced("(.*)", "abc", "${1", "${1");
    expect_replaced("(.*)", "abc", "${}", "${}");
    expect_replaced("(.*)", "abc", "$-", "$-");
    expect_replaced("(.*)", "abc", "$2", "");
    expect_replaced("(.*)", "abc", "$01", "");
    expect_replaced("(?P<x>hi)|(?P<y>bye)", "hi", "$x$y", "hi");
    expect_replaced("(?P<k>[a-z]+)=(?P<v>[0-9]+)", "ab=12", "${v}:${k} $k_", "12:ab ");
    expect_replaced("(a)?b", "b", "[$1]", "[]");
    expect_replaced("(.*)", "abc", "$1\xc3\xa9", "");                    /* e acute is a letter: the name is 1e' */
    expect_replaced("(.*)", "abc", "$1\xe2\x80\x94", "abc\xe2\x80\x94"); /* a dash is not */
    expect_replaced("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)(m)(n)(o)(p)(q)", "abcdefghijklmnopq", "$17$1", "qa");
    expect_replaced("foo", "foo", "bar", "bar");
    expect_replaced("", "", "x", "x");
}
END_TEST

START_TEST(matchers_see_absent_as_empty)
{
    const struct label v[] = {{STR("__name__"), STR("up")}, {STR("job"), STR("api")}};
    const struct labels l = {v, 2};
    static const struct {
        enum matcher_op op;
        const char *name, *value;
        bool accepted;
    } cases[] = {
        {MATCH_EQ, "job", "api", true},   {MATCH_EQ, "job", "ap", false},   {MATCH_EQ, "zone", "", true},
        {MATCH_NE, "job", "api", false},  {MATCH_NE, "job", "x", true},     {MATCH_NE, "zone", "", false},
        {MATCH_RE, "job", "a.*", true},   {MATCH_RE, "job", "p", false},    {MATCH_RE, "zone", ".*", true},
        {MATCH_RE, "zone", ".+", false},  {MATCH_NRE, "job", "a.*", false}, {MATCH_NRE, "job", "b", true},
        {MATCH_NRE, "zone", "x|y", true}, {MATCH_NRE, "zone", "x|", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct matcher m;
        struct err e;
        ck_assert_int_eq(matcher_init(&m, cases[i].op, str_of(cases[i].name), str_of(cases[i].value), &e), 0);
        ck_assert_msg(matchers_accept(&m, 1, &l) == cases[i].accepted, "case %zu", i);
        ck_assert((m.regex != NULL) == (cases[i].op >= MATCH_RE)); /* invariant 7 */
        matcher_done(&m);
    }
    struct matcher m = {.op = MATCH_EQ};
    struct err e;
    ck_assert_int_eq(matcher_init(&m, MATCH_RE, STR("a"), STR("("), &e), ERR_BAD_DATA);
    ck_assert_int_eq(m.op, MATCH_EQ);
    ck_assert_str_eq(matcher_op_text(MATCH_NRE), "!~");
    ck_assert_int_eq(matcher_init(&m, MATCH_EQ, STR("a"), STR("("), &e), 0);
    matcher_done(&m);
    regex_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/matcher");
    TCase *all = tcase_create("all");
    tcase_add_test(all, matching_is_anchored_at_both_ends);
    tcase_add_test(all, errors_speak_go);
    tcase_add_test(all, programs_and_patterns_are_bounded);
    tcase_add_test(all, literals_are_the_whole_language);
    tcase_add_test(all, prefix_begins_every_match);
    tcase_add_test(all, expansion_follows_go);
    tcase_add_test(all, matchers_see_absent_as_empty);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
