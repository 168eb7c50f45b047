/* What the parser makes of texts it accepts: kinds, values, spans, matching; robustness against any bytes (P4). */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "expressions.h"
#include "promql/function.h"
#include "promql/parse.h"

static struct arena arena;
static struct parsed parsed;

static void setup(void)
{
    arena_init(&arena, 16 << 20);
    parsed = (struct parsed){0};
}

static void teardown(void)
{
    parsed_done(&parsed);
    arena_done(&arena);
}

static const struct expr *parse(const char *text)
{
    struct err e = {0};
    parsed_done(&parsed);
    ck_assert_msg(promql_parse(str_of(text), &arena, &parsed, &e) == 0, "%s\n  %s", text, e.message);
    return parsed.root;
}

static bool is(struct str s, const char *z)
{
    return str_eq(s, str_of(z));
}

START_TEST(test_numbers)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"1", 1},
                 {"+1", 1},
                 {"-.5", -0.5},
                 {"5.", 5},
                 {"1e2", 100},
                 {"1E-2", 0.01},
                 {"0x8f", 143},
                 {"0Xff", 255},
                 {"0755", 493},
                 {"08", 8},
                 {"1_000_000", 1e6},
                 {"0x1_f", 31},
                 {"18446744073709551616", 18446744073709551616.0},
                 {"5m", 300},
                 {"1h1m1s1ms", 3661.001},
                 {"-1d", -86400},
                 {"Inf", INFINITY},
                 {"-inf", -INFINITY}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct expr *e = parse(cases[i].text);
        ck_assert_int_eq(e->kind, EXPR_NUMBER);
        ck_assert_int_eq(e->type, VALUE_SCALAR);
        ck_assert_msg(e->number == cases[i].value, "%s is %.17g", cases[i].text, e->number);
    }
    ck_assert(isnan(parse("NaN")->number));
    ck_assert(signbit(parse("-0")->number));
    ck_assert(parse("1m")->number_duration);
    ck_assert(!parse("60")->number_duration);
}
END_TEST

START_TEST(test_strings)
{
    ck_assert(is(parse("\"a\\tb\\x41\\102\\u00e9\\U0001F600\"")->string, "a\tbAB\xc3\xa9\xf0\x9f\x98\x80"));
    ck_assert(is(parse("'it\\'s \"x\"'")->string, "it's \"x\""));
    ck_assert(is(parse("`raw \\n \" '`")->string, "raw \\n \" '"));
    ck_assert(is(parse("`two\nlines`")->string, "two\nlines"));
    ck_assert(is(parse("'\\xfe\\377'")->string, "\xfe\xff"));
    ck_assert(str_eq(parse("'a\\x00b'")->string, STR("a\0b")));
}
END_TEST

START_TEST(test_selector)
{
    const struct expr *e = parse("foo{b!~\"x.*\", a=\"1\"}[5m] offset -1m @ 1.5");
    ck_assert_int_eq(e->kind, EXPR_SELECTOR);
    ck_assert_int_eq(e->type, VALUE_MATRIX);
    ck_assert(is(e->metric, "foo"));
    ck_assert_uint_eq(e->matchers_n, 3);
    ck_assert(is(e->matchers[0].name, "__name__") && is(e->matchers[0].value, "foo"));
    ck_assert(is(e->matchers[1].name, "a") && e->matchers[1].op == MATCH_EQ);
    ck_assert(is(e->matchers[2].name, "b") && e->matchers[2].op == MATCH_NRE);
    ck_assert(!matcher_accepts(&e->matchers[2], STR("xyz")));
    ck_assert_int_eq(e->range_ms, 300000);
    ck_assert_int_eq(e->time.offset_ms, -60000);
    ck_assert_int_eq(e->time.at, AT_TIME);
    ck_assert_int_eq(e->time.at_ms, 1500);

    e = parse("{\"foo.bar\", 'x y'=\"z\"}");
    ck_assert_uint_eq(e->metric.n, 0);
    ck_assert(is(e->matchers[0].name, "__name__") && is(e->matchers[0].value, "foo.bar"));
    ck_assert(is(e->matchers[1].name, "x y"));
}
END_TEST

START_TEST(test_subquery)
{
    const struct expr *e = parse("(foo)[1h:90] offset 1w @ end()");
    ck_assert_int_eq(e->kind, EXPR_SUBQUERY);
    ck_assert_int_eq(e->range_ms, 3600000);
    ck_assert_int_eq(e->step_ms, 90000);
    ck_assert_int_eq(e->time.offset_ms, 604800000);
    ck_assert_int_eq(e->time.at, AT_END);
    ck_assert_int_eq(e->args[0]->kind, EXPR_PAREN);
    ck_assert_int_eq(parse("foo[5m:]")->step_ms, 0);
}
END_TEST

START_TEST(test_binary)
{
    /* Unary minus binds less than ^ only; ^ associates to the right. */
    const struct expr *e = parse("-a ^ 2");
    ck_assert(e->kind == EXPR_UNARY && e->args[0]->kind == EXPR_BINARY);
    e = parse("-a * 2");
    ck_assert(e->kind == EXPR_BINARY && e->args[0]->kind == EXPR_UNARY);
    e = parse("2 ^ 3 ^ a");
    ck_assert_int_eq(e->args[1]->kind, EXPR_BINARY);
    e = parse("2 - 3 - a");
    ck_assert_int_eq(e->args[0]->kind, EXPR_BINARY);
    e = parse("a or b and c unless d");
    ck_assert_int_eq(e->binary, BINARY_OR);
    ck_assert_int_eq(e->args[1]->binary, BINARY_UNLESS);
    ck_assert_int_eq(e->matching->card, CARD_MANY_TO_MANY);
    e = parse("1 + a == bool b");
    ck_assert(e->binary == BINARY_EQ && e->return_bool);
    ck_assert_ptr_null(parse("1 + on() a")->matching);
    ck_assert_int_eq(parse("1 + 2")->type, VALUE_SCALAR);
    ck_assert_int_eq(parse("1 + a")->type, VALUE_VECTOR);
}
END_TEST

START_TEST(test_matching)
{
    const struct vector_matching *m = parse("a * on(x, by) group_left(\"y.z\") fill_right(-2) b")->matching;
    ck_assert(m->on && m->card == CARD_MANY_TO_ONE);
    ck_assert(m->labels_n == 2 && is(m->labels[0], "x") && is(m->labels[1], "by"));
    ck_assert(m->include_n == 1 && is(m->include[0], "y.z"));
    ck_assert(!m->has_fill_left && m->has_fill_right && m->fill_right == -2);
    m = parse("a * ignoring(x) group_right fill(5m) b")->matching;
    ck_assert(!m->on && m->card == CARD_ONE_TO_MANY && m->include_n == 0);
    ck_assert(m->has_fill_left && m->has_fill_right && m->fill_left == 300 && m->fill_right == 300);
}
END_TEST

START_TEST(test_aggregates_and_calls)
{
    const struct expr *e = parse("topk without (a) (5, foo)");
    ck_assert(e->kind == EXPR_AGGREGATE && e->aggregate == AGGREGATE_TOPK && e->without);
    ck_assert(e->args_n == 2 && e->args[0]->kind == EXPR_SELECTOR && e->args[1]->kind == EXPR_NUMBER);
    e = parse("sum(foo) by (a, b)");
    ck_assert(!e->without && e->grouping_n == 2 && is(e->grouping[1], "b"));
    ck_assert_int_eq(parse("sum")->kind, EXPR_SELECTOR);
    ck_assert_int_eq(parse("sum{a=\"b\"}")->kind, EXPR_SELECTOR);
    e = parse("rate(foo[5m])");
    ck_assert(e->kind == EXPR_CALL && e->function->id == FUNCTION_rate && e->type == VALUE_VECTOR);
    ck_assert_int_eq(parse("scalar(foo)")->type, VALUE_SCALAR);
    ck_assert_int_eq(parse("time()")->args_n, 0);
}
END_TEST

START_TEST(test_spans)
{
    const char *text = " sum ( rate(foo[5m] offset 1m) ) + -2";
    const struct expr *e = parse(text);
    ck_assert_uint_eq(e->start, 1);
    ck_assert_uint_eq(e->end, strlen(text));
    const struct expr *sum = e->args[0], *rate = sum->args[0], *foo = rate->args[0], *two = e->args[1];
    ck_assert(sum->start == 1 && sum->end == 32);
    ck_assert(rate->start == 7 && rate->end == 30);
    ck_assert(foo->start == 12 && foo->end == 29);
    ck_assert(two->start == 35 && two->end == 37);
    ck_assert_uint_eq(e->height, 4);
}
END_TEST

START_TEST(test_function_table)
{
    for (int id = FUNCTION_INVALID + 1; id < FUNCTION_END; id++) {
        const struct function *f = function_by_id(id);
        ck_assert_int_eq(f->id, id);
        ck_assert_ptr_nonnull(f->name);
        ck_assert_ptr_eq(function_by_name(str_of(f->name)), f);
        ck_assert_uint_le(f->args_n, FUNCTION_ARGS_MAX);
        ck_assert_uint_le(function_args_min(f), function_args_max(f));
    }
    ck_assert_ptr_null(function_by_name(STR("rates")));
    const struct function *f = function_by_name(STR("quantiles_over_time"));
    ck_assert_int_eq(function_arg_type(f, 0, 5), VALUE_STRING);
    ck_assert_int_eq(function_arg_type(f, 1, 5), VALUE_SCALAR);
    ck_assert_int_eq(function_arg_type(f, 3, 5), VALUE_SCALAR);
    ck_assert_int_eq(function_arg_type(f, 4, 5), VALUE_MATRIX);
    f = function_by_name(STR("label_join"));
    ck_assert_uint_eq(function_args_min(f), 3);
    ck_assert_int_eq(function_arg_type(f, 9, 10), VALUE_STRING);
}
END_TEST

START_TEST(test_selector_alone)
{
    struct err e = {0};
    struct parsed one;
    ck_assert_int_eq(promql_parse_selector(STR("up{a=\"b\"}"), &arena, &one, &e), 0);
    ck_assert_uint_eq(one.root->matchers_n, 2);
    parsed_done(&one);
    ck_assert_int_eq(promql_parse_selector(STR("{\"a.b\"}"), &arena, &one, &e), 0);
    parsed_done(&one);
    static const struct {
        const char *text, *message;
    } refused[] = {{"up[5m]", "1:3: parse error: unexpected \"[\""},
                   {"up offset 5m", "1:4: parse error: unexpected <offset>"},
                   {"sum(up)", "1:4: parse error: unexpected \"(\""},
                   {"", "unknown position: parse error: unexpected end of input"},
                   {"{}", "1:1: parse error: vector selector must contain at least one non-empty matcher"},
                   {"{a=~\"(\"}", "1:2: parse error: error parsing regexp: missing closing ): `(`"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ck_assert_int_eq(promql_parse_selector(str_of(refused[i].text), &arena, &one, &e), ERR_BAD_DATA);
        ck_assert_str_eq(e.message, refused[i].message);
    }
}
END_TEST

/* Whatever the bytes, parsing ends, in bounds, with a tree or a message. */
static void try(const char *p, size_t n)
{
    struct arena a;
    struct parsed one;
    struct err e = {0};
    arena_init(&a, 4 << 20);
    int code = promql_parse((struct str){p, n}, &a, &one, &e);
    if (code == 0)
        parsed_done(&one);
    else
        ck_assert(code == ERR_BAD_DATA && strstr(e.message, "parse error: "));
    if (promql_parse_selector((struct str){p, n}, &a, &one, &e) == 0)
        parsed_done(&one);
    arena_done(&a);
}

START_TEST(test_p4_random_bytes)
{
    uint64_t seed = suite_seed("random bytes");
    char text[64];
    for (int i = 0; i < 20000; i++) {
        size_t n = random_next(&seed) % sizeof text;
        /* Half of the texts are of characters the language knows. */
        static const char known[] = "()[]{},=!~<>+-*/%^@:\"'`\\.#_ \n015smhdxeaby\xc3\xa9";
        for (size_t j = 0; j < n; j++)
            text[j] = (char)(i % 2 ? random_next(&seed) : (uint8_t)known[random_next(&seed) % (sizeof known - 1)]);
        /* An exact heap copy, so that a sanitizer sees a read past the end. */
        char *copy = malloc(n ? n : 1);
        memcpy(copy, text, n);
        try(copy, n);
        free(copy);
    }
}
END_TEST

START_TEST(test_p4_mutated)
{
    uint64_t seed = suite_seed("mutated expressions");
    for (int i = 0; i < 20000; i++) {
        const char *from = expressions[random_next(&seed) % expressions_n];
        const char *other = expressions[random_next(&seed) % expressions_n];
        size_t n = strlen(from), at = random_next(&seed) % (n + 1), other_n = strlen(other);
        size_t skip = random_next(&seed) % 4, cut = random_next(&seed) % (other_n + 1);
        size_t take = random_next(&seed) % (other_n - cut + 1);
        struct strbuf text = {0};
        strbuf_add(&text, from, at);
        strbuf_add(&text, other + cut, take);
        if (at + skip < n)
            strbuf_add(&text, from + at + skip, n - at - skip);
        try(text.p, text.n);
        strbuf_done(&text);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("promql parse");
    TCase *t = tcase_create("parse");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_numbers);
    tcase_add_test(t, test_strings);
    tcase_add_test(t, test_selector);
    tcase_add_test(t, test_subquery);
    tcase_add_test(t, test_binary);
    tcase_add_test(t, test_matching);
    tcase_add_test(t, test_aggregates_and_calls);
    tcase_add_test(t, test_spans);
    tcase_add_test(t, test_function_table);
    tcase_add_test(t, test_selector_alone);
    tcase_add_test(t, test_p4_random_bytes);
    tcase_add_test(t, test_p4_mutated);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return suite_run(make_suite());
}
