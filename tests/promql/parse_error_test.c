/* What the parser refuses, with Prometheus' words and places (3.x parser, checked against its parse tests and a running
 * Prometheus 2.42 where the syntax is as old). Invariants P3 and P4. */
#include "suite.h"

#include <string.h>

#include "promql/parse.h"

struct refusal {
    const char *text, *message;
};

static const struct refusal syntax_refusals[] = {
    {"", "unknown position: parse error: no expression found in input"},
    {" ", "1:1: parse error: no expression found in input"},
    {"# only a comment\n\n", "1:1: parse error: no expression found in input"},
    {"1+", "1:3: parse error: unexpected end of input"},
    {".", "1:1: parse error: unexpected character: '.'"},
    {"2.5.", "1:1: parse error: bad number or duration syntax: \"2.5.\""},
    {"100..4", "1:1: parse error: bad number or duration syntax: \"100..\""},
    {"0deadbeef", "1:1: parse error: bad number or duration syntax: \"0de\""},
    {"1 /", "1:4: parse error: unexpected end of input"},
    {"*1", "1:1: parse error: unexpected <op:*>"},
    {"(1))", "1:5: parse error: unexpected right parenthesis ')'"},
    {"((1)", "1:5: parse error: unclosed left parenthesis"},
    {"(", "1:2: parse error: unclosed left parenthesis"},
    {"1 and 1", "1:1: parse error: set operator \"and\" not allowed in binary scalar expression"},
    {"1 == 1", "1:3: parse error: comparisons between scalars must use BOOL modifier"},
    {"1 or 1", "1:1: parse error: set operator \"or\" not allowed in binary scalar expression"},
    {"1 unless 1", "1:1: parse error: set operator \"unless\" not allowed in binary scalar expression"},
    {"1 !~ 1", "1:3: parse error: unexpected character after '!': '~'"},
    {"1 =~ 1", "1:3: parse error: unexpected character after '=': '~'"},
    {"-\"string\"",
     "1:1: parse error: unary expression only allowed on expressions of type scalar or instant vector, got "
     "\"string\""},
    {"+\"string\"",
     "1:1: parse error: unary expression only allowed on expressions of type scalar or instant vector, got "
     "\"string\""},
    {"-test[5m]",
     "1:1: parse error: unary expression only allowed on expressions of type scalar or instant vector, got "
     "\"range vector\""},
    {"*test", "1:1: parse error: unexpected <op:*>"},
    {"1 offset 1d", "1:1: parse error: offset modifier must be preceded by an instant vector selector or range vector "
                    "selector or a subquery"},
    {"foo offset 1s offset 2s", "1:1: parse error: offset may not be set multiple times"},
    {"a - on(b) ignoring(c) d", "1:11: parse error: unexpected <ignoring>"},
    {"foo bar", "1:5: parse error: unexpected identifier \"bar\""},
    {"foo\n+ bar baz", "2:7: parse error: unexpected identifier \"baz\""},
    {"sum foo", "1:5: parse error: unexpected identifier \"foo\""},
    {"sum some_metric by (test)", "1:5: parse error: unexpected identifier \"some_metric\""},
    {"sum (some_metric) by test", "1:22: parse error: unexpected identifier \"test\" in grouping opts, expected \"(\""},
    {"sum () by (test)", "1:1: parse error: no arguments for aggregate expression provided"},
    {"sum(foo bar)", "1:9: parse error: unexpected identifier \"bar\" in aggregation"},
    {"sum by (a) foo", "1:12: parse error: unexpected identifier \"foo\" in aggregation"},
    {"sum (some_metric) without (test) by (test)", "1:34: parse error: unexpected <by>"},
    {"sum by (a b) (c)", "1:11: parse error: unexpected identifier \"b\" in grouping opts, expected \",\" or \")\""},
    {"sum without(==)(m)", "1:13: parse error: unexpected <op:==> in grouping opts, expected label"},
    {"sum without(,)(m)", "1:13: parse error: unexpected \",\" in grouping opts, expected label"},
    {"topk(some_metric)",
     "1:1: parse error: wrong number of arguments for aggregate expression provided, expected 2, got "
     "1"},
    {"sum(1, m)", "1:1: parse error: wrong number of arguments for aggregate expression provided, expected 1, got 2"},
    {"sum by (\"\") (m)", "1:9: parse error: invalid label name for grouping: \"\""},
    {"sum by (\"a\\xff\") (m)", "1:9: parse error: invalid label name for grouping: \"a\\xff\""},
    {"floor(some_metric, )", "1:18: parse error: trailing commas not allowed in function call args"},
    {"rate(foo bar)", "1:10: parse error: unexpected identifier \"bar\""},
    {"a:b(1)", "1:4: parse error: unexpected \"(\""},
    {"abs a", "1:5: parse error: unexpected identifier \"a\""},
    {"start() foo", "1:9: parse error: unexpected identifier \"foo\""},
    {"foo @", "1:6: parse error: unexpected end of input in @, expected timestamp"},
    {"foo @ start", "1:12: parse error: unexpected end of input in @, expected timestamp"},
    {"1 @ 1",
     "1:1: parse error: @ modifier must be preceded by an instant vector selector or range vector selector or a "
     "subquery"},
    {"foo @ 1 @ start()", "1:1: parse error: @ <timestamp> may not be set multiple times"},
    {"foo @ -Inf", "1:1: parse error: timestamp out of bounds for @ modifier: -inf"},
    {"foo @ 1e20", "1:1: parse error: timestamp out of bounds for @ modifier: 100000000000000000000.000000"},
    {"foo fill(1)", "1:5: parse error: unexpected <fill>"},
    {"foo + fill(bar) baz", "1:12: parse error: unexpected identifier \"bar\""},
    {"foo + bool atan2 1", "1:12: parse error: unexpected <op:atan2>"},
    {"foo $ 1", "1:5: parse error: unexpected character: '$'"},
    {"\xc3\xa9", "1:1: parse error: unexpected character: '\xc3\xa9'"},
    {"foo == bar # c\n[", "2:2: parse error: unexpected end of input in duration expression"},
};

static const struct refusal selector_refusals[] = {
    {"{", "1:2: parse error: unexpected end of input inside braces"},
    {"}", "1:1: parse error: unexpected character: '}'"},
    {"some{", "1:6: parse error: unexpected end of input inside braces"},
    {"some}", "1:5: parse error: unexpected character: '}'"},
    {"some_metric{a=b}", "1:15: parse error: unexpected identifier \"b\" in label matching, expected string"},
    {"some_metric{a:b=\"b\"}", "1:14: parse error: unexpected character inside braces: ':'"},
    {"foo{a*\"b\"}", "1:6: parse error: unexpected character inside braces: '*'"},
    {"foo{a>=\"b\"}", "1:6: parse error: unexpected character inside braces: '>'"},
    {"some_metric{a=\"\xff\"}", "1:15: parse error: invalid UTF-8 rune"},
    {"foo{gibberish}", "1:14: parse error: unexpected \"}\" in label matching, expected label matching operator"},
    {"foo{1}", "1:5: parse error: unexpected character inside braces: '1'"},
    {"{}", "1:1: parse error: vector selector must contain at least one non-empty matcher"},
    {"{x=\"\"}", "1:1: parse error: vector selector must contain at least one non-empty matcher"},
    {"{x=~\".*\"}", "1:1: parse error: vector selector must contain at least one non-empty matcher"},
    {"{x!~\".+\"}", "1:1: parse error: vector selector must contain at least one non-empty matcher"},
    {"{x!=\"a\"}", "1:1: parse error: vector selector must contain at least one non-empty matcher"},
    {"rate({x=\"\"}[5m])", "1:6: parse error: vector selector must contain at least one non-empty matcher"},
    {"foo{__name__=\"bar\"}", "1:1: parse error: metric name must not be set twice: \"foo\" or \"bar\""},
    {"foo{\"bar\"}", "1:1: parse error: metric name must not be set twice: \"foo\" or \"bar\""},
    {"foo{__name__= =\"bar\"}", "1:15: parse error: unexpected \"=\" in label matching, expected string"},
    {"foo{,}", "1:5: parse error: unexpected \",\" in label matching, expected identifier or \"}\""},
    {"foo{__name__ == \"bar\"}", "1:15: parse error: unexpected \"=\" in label matching, expected string"},
    {"foo{a=\"x\" b=\"y\"}",
     "1:11: parse error: unexpected identifier \"b\" in label matching, expected \",\" or \"}\""},
    {"foo{a!b}", "1:6: parse error: unexpected character after '!' inside braces: 'b'"},
    {"foo{{", "1:5: parse error: unexpected left brace '{'"},
    {"bool{a=\"x\"}", "1:1: parse error: unexpected <bool>"},
};

static const struct refusal time_refusals[] = {
    {"foo[5mm]", "1:5: parse error: bad number or duration syntax: \"5mm\""},
    {"foo[5m1]", "1:5: parse error: bad number or duration syntax: \"5m1\""},
    {"foo[]", "1:5: parse error: unexpected \"]\" in subquery or range selector, expected number, duration, step(), or "
              "range()"},
    {"foo[bar]", "1:5: parse error: unexpected character in duration expression: 'b'"},
    {"foo[5m", "1:7: parse error: unclosed left bracket"},
    {"foo[", "1:5: parse error: unexpected end of input in duration expression"},
    {"foo]", "1:4: parse error: unexpected right bracket ']'"},
    {"foo[5m[", "1:7: parse error: unexpected left bracket '['"},
    {"foo[\"5m\"]", "1:5: parse error: unexpected character in duration expression: '\"'"},
    {"foo[5m x]", "1:8: parse error: unexpected character: 'x', expected ':'"},
    {"foo[0m]", "1:5: parse error: duration must be greater than 0"},
    {"foo[0]", "1:5: parse error: duration must be greater than 0"},
    {"foo[-5m]", "1:5: parse error: duration must be greater than 0"},
    {"foo[5m-6m]", "1:5: parse error: duration must be greater than 0"},
    {"foo[5m:0s]", "1:8: parse error: duration must be greater than 0"},
    {"foo[0.0001]", "1:5: parse error: duration must be at least 1ms"},
    {"foo[5m/0]", "1:7: parse error: division by zero"},
    {"foo[5m%0s]", "1:7: parse error: modulo by zero"},
    {"foo[5m/(1-1)]", "1:5: parse error: division by zero"},
    {"foo[1e10]", "1:5: parse error: duration out of range"},
    {"foo[300y]", "1:5: parse error: duration out of range"},
    {"foo[5m:5m", "1:10: parse error: unclosed left bracket"},
    {"foo[:5m]", "1:6: parse error: unexpected colon before duration in duration expression"},
    {"foo[5m:5m:5m]", "1:10: parse error: unexpected colon ':'"},
    {"foo[5m 5m]", "1:8: parse error: unexpected duration \"5m\" in subquery or range, expected \":\" or \"]\""},
    {"foo[5m:5m 5m]", "1:11: parse error: unexpected duration \"5m\" in subquery selector, expected \"]\""},
    {"(foo)[5m]", "1:6: parse error: ranges only allowed for vector selectors"},
    {"rate(foo[5m])[5m]", "1:14: parse error: ranges only allowed for vector selectors"},
    {"foo[5m][5m]", "1:8: parse error: ranges only allowed for vector selectors"},
    {"foo offset 1m[5m]", "1:14: parse error: no offset modifiers allowed before range"},
    {"foo @ 1[5m]", "1:8: parse error: no @ modifiers allowed before range"},
    {"foo offset",
     "1:11: parse error: unexpected end of input in offset, expected number, duration, step(), or range()"},
    {"foo offset bar",
     "1:12: parse error: unexpected identifier \"bar\" in offset, expected number, duration, step(), or "
     "range()"},
    {"foo offset 1.5d", "1:12: parse error: unknown unit \".\" in duration \"1.5d\""},
    {"foo offset 1s1m", "1:12: parse error: not a valid duration string: \"1s1m\""},
    {"rate(foo)[5m:] > 1",
     "1:6: parse error: expected type range vector in call to function \"rate\", got instant vector"},
    {"foo[5m][5m:]", "1:1: parse error: subquery is only allowed on instant vector, got matrix instead"},
    {"1[5m:]", "1:1: parse error: subquery is only allowed on instant vector, got scalar instead"},
    {"foo[5m:] anchored", "1:1: parse error: anchored modifier is not supported for subqueries"},
    {"sum(foo) smoothed", "1:1: parse error: smoothed modifier not implemented"},
    {"foo[5m] anchored smoothed", "1:1: parse error: anchored and smoothed modifiers cannot be used together"},
};

static const struct refusal string_refusals[] = {
    {"\"", "1:1: parse error: unterminated quoted string"},
    {"'abc\n'", "1:1: parse error: unterminated quoted string"},
    {"`abc", "1:1: parse error: unterminated raw string"},
    {"\"\\c\"", "1:1: parse error: unknown escape sequence U+0063 'c'"},
    {"\"\\x.\"", "1:1: parse error: illegal character U+002E '.' in escape sequence"},
    {"'\\u12", "1:1: parse error: escape sequence not terminated"},
    {"'\\ud800'", "1:1: parse error: escape sequence is an invalid Unicode code point"},
    {"'\\777'", "1:1: parse error: escape sequence is an invalid Unicode code point"},
    {"\"\\'\"", "1:1: parse error: unknown escape sequence U+0027 '\\''"},
    {"\"a\" \"0123456789abc\"", "1:5: parse error: unexpected string \"\\\"012345678\"..."},
};

static const struct refusal type_refusals[] = {
    {"sum(1)", "1:5: parse error: expected type instant vector in aggregation expression, got scalar"},
    {"sum(foo[5m])", "1:5: parse error: expected type instant vector in aggregation expression, got range vector"},
    {"topk(foo, foo)", "1:6: parse error: expected type scalar in aggregation parameter, got instant vector"},
    {"count_values(5, foo)", "1:14: parse error: expected type string in aggregation parameter, got scalar"},
    {"rate(foo)", "1:6: parse error: expected type range vector in call to function \"rate\", got instant vector"},
    {"rate(\"x\")", "1:6: parse error: expected type range vector in call to function \"rate\", got string"},
    {"floor()", "1:1: parse error: expected 1 argument(s) in call to \"floor\", got 0"},
    {"floor(foo, foo)", "1:1: parse error: expected 1 argument(s) in call to \"floor\", got 2"},
    {"floor(1)", "1:7: parse error: expected type instant vector in call to function \"floor\", got scalar"},
    {"hour(foo, foo)", "1:1: parse error: expected at most 1 argument(s) in call to \"hour\", got 2"},
    {"time(foo)", "1:1: parse error: expected 0 argument(s) in call to \"time\", got 1"},
    {"label_join(foo, \"a\")", "1:1: parse error: expected at least 3 argument(s) in call to \"label_join\", got 2"},
    {"label_join(foo, \"a\", \"b\", 1)",
     "1:27: parse error: expected type string in call to function \"label_join\", got "
     "scalar"},
    {"histogram_quantiles(foo, \"q\")", "1:1: parse error: expected at least 3 argument(s) in call to "
                                        "\"histogram_quantiles\", got 2"},
    {"non_existent(foo)", "1:1: parse error: unknown function with name \"non_existent\""},
    {"1 + RATE(foo[5m])", "1:5: parse error: unknown function with name \"RATE\""},
    {"foo + \"x\"", "1:7: parse error: binary expression must contain only scalar and instant vector types"},
    {"foo[5m] + 1", "1:1: parse error: binary expression must contain only scalar and instant vector types"},
    {"foo + bool bar", "1:5: parse error: bool modifier can only be used on comparison operators"},
    {"foo or bool bar", "1:5: parse error: bool modifier can only be used on comparison operators"},
    {"foo and 1", "1:1: parse error: set operator \"and\" not allowed in binary scalar expression"},
    {"foo + on(a) 1", "1:1: parse error: vector matching only allowed between instant vectors"},
    {"foo + fill(0) 1", "1:1: parse error: filling in missing series only allowed between instant vectors"},
    {"foo and fill(0) bar", "1:1: parse error: filling in missing series not allowed for set operators"},
    {"foo and on(a) group_left(b) bar", "1:1: parse error: no grouping allowed for \"and\" operation"},
    {"foo * on(a) group_left(a) bar", "1:5: parse error: label \"a\" must not occur in ON and GROUP clause at once"},
    {"info(foo, bar)", "1:11: parse error: expected label selectors only, got vector selector instead"},
    {"info(foo, abs(foo))", "1:11: parse error: expected label selectors only"},
    {"info(foo, 1)", "1:1: parse error: expected type instant vector in call to function \"info\", got scalar"},
    {"distinct_over_time(foo)", "1:20: parse error: expected type range vector in call to function "
                                "\"distinct_over_time\", got instant vector"},
    {"quantiles_over_time(\"q\", foo[5m])", "1:1: parse error: expected at least 3 argument(s) in call to "
                                            "\"quantiles_over_time\", got 2"},
    {"quantiles_over_time(\"q\", foo[5m], 0.5)", "1:26: parse error: expected type scalar in call to function "
                                                 "\"quantiles_over_time\", got range vector"},
    {"topk_label_over_time(3, \"a\", foo[5m], 1)", "1:39: parse error: expected type string in call to function "
                                                   "\"topk_label_over_time\", got scalar"},
    {"vector(1e309)",
     "1:8: parse error: error parsing number: strconv.ParseFloat: parsing \"1e309\": value out of range"},
};

static void expect_refusals(const struct refusal *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena a;
        struct parsed parsed;
        struct err e = {0};
        arena_init(&a, 1 << 20);
        ck_assert_msg(promql_parse(str_of(v[i].text), &a, &parsed, &e) == ERR_BAD_DATA, "accepted: %s", v[i].text);
        ck_assert_msg(strcmp(e.message, v[i].message) == 0, "%s\n  got:  %s\n  want: %s", v[i].text, e.message,
                      v[i].message);
        arena_done(&a);
    }
}

#define REFUSALS(name)                                                                                                 \
    START_TEST(test_p3_##name)                                                                                         \
    {                                                                                                                  \
        expect_refusals(name##_refusals, sizeof name##_refusals / sizeof *name##_refusals);                            \
    }                                                                                                                  \
    END_TEST
REFUSALS(syntax)
REFUSALS(selector)
REFUSALS(time)
REFUSALS(string)
REFUSALS(type)

START_TEST(test_p3_place_in_err)
{
    struct arena a;
    struct parsed parsed;
    struct err e = {0};
    arena_init(&a, 1 << 20);
    ck_assert_int_eq(promql_parse(STR("foo\n  + \xc3\xa9"), &a, &parsed, &e), ERR_BAD_DATA);
    ck_assert_uint_eq(e.line, 2);
    ck_assert_uint_eq(e.column, 5);
    arena_done(&a);
}
END_TEST

static char *repeated(const char *head, const char *part, size_t n, const char *tail)
{
    size_t part_n = strlen(part), head_n = strlen(head);
    char *text = malloc(head_n + n * part_n + strlen(tail) + 1);
    ck_assert_ptr_nonnull(text);
    strcpy(text, head);
    for (size_t i = 0; i < n; i++)
        memcpy(text + head_n + i * part_n, part, part_n);
    strcpy(text + head_n + n * part_n, tail);
    return text;
}

static int parse_code(const char *text, struct err *e)
{
    struct arena a;
    struct parsed parsed;
    arena_init(&a, 256u << 20);
    int code = promql_parse(str_of(text), &a, &parsed, e);
    if (code == 0) {
        ck_assert_uint_le(parsed.root->height, PARSE_DEPTH_MAX);
        parsed_done(&parsed);
    }
    arena_done(&a);
    return code;
}

START_TEST(test_p4_depth)
{
    static const struct {
        const char *part, *middle, *tail;
    } shapes[] = {{"(", "x", ")"},    {"-", "x", ""},     {"abs(", "x", ")"}, {"1^", "1", ""},   {"1+", "1", ""},
                  {"x or ", "x", ""}, {"sum(", "x", ")"}, {"x[", "(", ""},    {"(", "x", "[1:]"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t n = 100; n <= 100000; n *= 1000) {
            struct err e = {0};
            char *tail = repeated(shapes[i].middle, shapes[i].tail, n, "");
            char *text = repeated("", shapes[i].part, n, tail);
            int code = parse_code(text, &e);
            bool well_formed = i < 7;
            if (well_formed)
                ck_assert_msg(n == 100 ? code == 0 : code == ERR_BAD_DATA, "shape %zu, n %zu: %s", i, n, e.message);
            if (well_formed && n > 100)
                ck_assert_msg(strstr(e.message, "nested more than 250 levels deep") != NULL, "%s", e.message);
            free(text);
            free(tail);
        }
    }
}
END_TEST

START_TEST(test_p4_depth_limit_is_exact)
{
    struct err e = {0};
    for (size_t n = PARSE_DEPTH_MAX - 3; n < PARSE_DEPTH_MAX + 3; n++) {
        char *close = repeated("x", ")", n, ""), *text = repeated("", "(", n, close);
        /* n parentheses and the selector. */
        ck_assert_int_eq(parse_code(text, &e), n + 1 <= PARSE_DEPTH_MAX ? 0 : ERR_BAD_DATA);
        free(text);
        free(close);
        text = repeated("x[1", "+1", n, "]");
        ck_assert_int_eq(parse_code(text, &e), n + 1 <= PARSE_DEPTH_MAX ? 0 : ERR_BAD_DATA);
        free(text);
    }
}
END_TEST

START_TEST(test_p4_long_texts)
{
    struct err e = {0};
    char *text = repeated("x{", "a=\"b\",", 100000, "}");
    ck_assert_int_eq(parse_code(text, &e), 0);
    free(text);
    text = repeated("x{a=\"", "0123456789", 100000, "\"}");
    ck_assert_int_eq(parse_code(text, &e), 0);
    free(text);
    text = repeated("label_join(x, \"a\", \"b\"", ", \"c\"", 100000, ")");
    ck_assert_int_eq(parse_code(text, &e), 0);
    free(text);
    text = repeated("label_join(x, \"a\", \"b\"", ",\"c\"", 200000, ")");
    ck_assert_int_eq(parse_code(text, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "more than 131072 parts"));
    free(text);
    text = repeated("", " ", PARSE_TEXT_MAX, "1");
    ck_assert_int_eq(parse_code(text, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "1048577 bytes long; at most 1048576"));
    free(text);
    text = repeated("", "a", 1000000, " b");
    ck_assert_int_eq(parse_code(text, &e), ERR_BAD_DATA);
    free(text);
}
END_TEST

START_TEST(test_p4_regexes_together)
{
    struct err e = {0};
    char *text = repeated("x{a=~\"b.*\"", ",a=~\"[a-z]{500}\"", 20, "}");
    ck_assert_int_eq(parse_code(text, &e), 0);
    free(text);
    text = repeated("x{a=~\"b.*\"", ",a=~\"[a-z]{500}\"", 1000, "}");
    ck_assert_int_eq(parse_code(text, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "the regular expressions of the query are too large together"));
    free(text);
    text = repeated("x{a=~\"b.*\"", ",a=~\"b\"", 5000, "}");
    ck_assert_int_eq(parse_code(text, &e), ERR_BAD_DATA);
    free(text);
}
END_TEST

START_TEST(test_p4_small_arena)
{
    char *text = repeated("sum by (a,b) (sum_over_time(x{a=~\"b.*\"", ",c!~\"d|e\"", 200,
                          "}[5m:step()*2] offset (1m+range())))");
    int code = ERR_LIMIT;
    for (size_t limit = 256; limit <= 1 << 20; limit += limit / 2) {
        struct arena a;
        struct parsed parsed;
        struct err e = {0};
        arena_init(&a, limit);
        code = promql_parse(str_of(text), &a, &parsed, &e);
        ck_assert_msg(code == 0 || code == ERR_LIMIT, "%s", e.message);
        if (code == 0)
            parsed_done(&parsed);
        arena_done(&a);
    }
    ck_assert_int_eq(code, 0);
    free(text);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("promql parse errors");
    TCase *t = tcase_create("errors");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_p3_syntax);
    tcase_add_test(t, test_p3_selector);
    tcase_add_test(t, test_p3_time);
    tcase_add_test(t, test_p3_string);
    tcase_add_test(t, test_p3_type);
    tcase_add_test(t, test_p3_place_in_err);
    tcase_add_test(t, test_p4_depth);
    tcase_add_test(t, test_p4_depth_limit_is_exact);
    tcase_add_test(t, test_p4_long_texts);
    tcase_add_test(t, test_p4_regexes_together);
    tcase_add_test(t, test_p4_small_arena);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return suite_run(make_suite());
}
