/* Canonical text. Expected forms are Prometheus 3's String() and format_query, from its printer's and prettier's tests
 * and from a running Prometheus 2.42 for syntax as old. Invariants P1, P2 and P5. */
#include "suite.h"

#include <string.h>

#include "expressions.h"
#include "promql/function.h"
#include "promql/parse.h"
#include "promql/print.h"

static struct parsed parse_good(const char *text, struct arena *a)
{
    struct parsed parsed;
    struct err e = {0};
    ck_assert_msg(promql_parse(str_of(text), a, &parsed, &e) == 0, "%s\n  %s", text, e.message);
    return parsed;
}

static const struct {
    const char *text, *printed;
} forms[] = {
    {"1", "1"},
    {"-1", "-1"},
    {"+1", "1"},
    {"--1", "1"},
    {"1e3", "1000"},
    {"1e6", "1000000"},
    {"5e-3", "0.005"},
    {"1e-7", "0.0000001"},
    {"1.5e21", "1500000000000000000000"},
    {"0x1f", "31"},
    {"0755", "493"},
    {"1_000", "1000"},
    {".5", "0.5"},
    {"5.", "5"},
    {"inf", "+Inf"},
    {"-INF", "-Inf"},
    {"nan", "NaN"},
    {"5m", "5m"},
    {"-90s", "-1m30s"},
    {"1h30m500ms", "1h30m500ms"},
    {"60s", "1m"},
    {"1d", "1d"},
    {"7d", "1w"},
    {"-1^2", "-1 ^ 2"},
    {"(-1)^2", "(-1) ^ 2"},
    {"-foo^2", "-foo ^ 2"},
    {"+foo", "foo"},
    {"2^3^4", "2 ^ 3 ^ 4"},
    {"\"it's\"", "\"it's\""},
    {"'say \"x\"'", "\"say \\\"x\\\"\""},
    {"`raw\\n`", "\"raw\\\\n\""},
    {"\"\\x41\\u00e9\\101\"", "\"A\xc3\xa9"
                              "A\""},
    {"\"\\xff\"", "\"\\xff\""},
    {"foo{a=\"f\\ufffdf\"}", "foo{a=\"f\\ufffdf\"}"}, /* ours: Prometheus prints the character and cannot read it */
    {"foo{}", "foo"},
    {"foo{b=\"y\",a!=\"x\"}", "foo{a!=\"x\",b=\"y\"}"},
    {"foo{a=\"1\",a!=\"2\",a=~\"3\",a!~\"4\",}", "foo{a!=\"2\",a!~\"4\",a=\"1\",a=~\"3\"}"},
    {"foo{a=\"x\",a1=\"x\"}", "foo{a1=\"x\",a=\"x\"}"},
    {"{__name__=\"foo\"}", "{__name__=\"foo\"}"},
    {"{\"foo\"}", "{__name__=\"foo\"}"},
    {"{\"my.metric\", \"a.b\"=\"c\"}", "{\"a.b\"=\"c\",__name__=\"my.metric\"}"},
    {"foo offset 5m", "foo offset 5m"},
    {"foo offset -5m", "foo offset -5m"},
    {"foo offset 300", "foo offset 5m"},
    {"foo offset 0s", "foo"},
    {"foo offset 17000000.0123", "foo offset 196d18h13m20s12ms"}, /* more ns than a double holds */
    {"foo offset -196d18h13m20s12ms", "foo offset -196d18h13m20s12ms"},
    {"foo[17000000.012]", "foo[196d18h13m20s12ms]"},
    {"foo offset 2.0129", "foo offset 2s12ms"},
    {"foo offset 5m @ 1.2345", "foo @ 1.235 offset 5m"},
    {"foo @ start() offset -1w", "foo @ start() offset -1w"},
    {"foo @ -10", "foo @ -10.000"},
    {"foo @ end()", "foo @ end()"},
    {"foo[300]", "foo[5m]"},
    {"foo [ 5m ] offset 1m @ 7", "foo[5m] @ 7.000 offset 1m"},
    {"foo[5m:]", "foo[5m:]"},
    {"foo[1h:60] @ end() offset 1d", "foo[1h:1m] @ end() offset 1d"},
    {"rate(foo[5m])[1h:1m]", "rate(foo[5m])[1h:1m]"},
    {"foo[5m] anchored @ 3", "foo[5m] anchored @ 3.000"},
    {"foo smoothed offset 1m", "foo smoothed offset 1m"},
    {"foo smoothed [5m]", "foo[5m] smoothed"},
    {"foo[5m*2]", "foo[5m * 2]"},
    {"foo[(5m)]", "foo[5m]"},
    {"foo[((5m+1)*2)]", "foo[((5m + 1) * 2)]"},
    {"foo[-5m+35m]", "foo[-5m + 35m]"},
    {"foo[STEP()+1]", "foo[step() + 1]"},
    {"foo[max(step(),1h):min_of(range(), 5)]", "foo[max_of(step(), 1h):min_of(range(), 5)]"},
    {"foo offset (1m+step())", "foo offset (1m + step())"},
    {"foo offset -step()", "foo offset -step()"},
    {"foo offset step()*0", "foo offset step() * 0"},
    {"foo offset -2 ^ 2", "foo offset -2s ^ 2"},
    {"foo offset 100 + 2", "foo offset 1m40s + 2"},
    {"sum(foo)by(job)", "sum by (job) (foo)"},
    {"sum by()(foo)", "sum(foo)"},
    {"sum without()(foo)", "sum without () (foo)"},
    {"SUM without(a,b,)(foo)", "sum without (a, b) (foo)"},
    {"sum by (\"my.label\", on, by) (foo)", "sum by (\"my.label\", on, by) (foo)"},
    {"topk by (a) (5, foo)", "topk by (a) (5, foo)"},
    {"count_values(\"v\", foo)", "count_values(\"v\", foo)"},
    {"limitk(3, foo)", "limitk(3, foo)"},
    {"a+b*c", "a + b * c"},
    {"(a+b)*c", "(a + b) * c"},
    {"a==bool b", "a == bool b"},
    {"a and on() b", "a and on () b"},
    {"a*ignoring()b", "a * b"},
    {"a*on(x)group_left b", "a * on (x) group_left () b"},
    {"a/ignoring(x)group_right(y)b", "a / ignoring (x) group_right (y) b"},
    {"a atan2 b", "a atan2 b"},
    {"a </ 1", "a </ 1"},
    {"a>/b", "a >/ b"},
    {"a + fill(0) b", "a + fill (0) b"},
    {"a + on(x) fill_right(-1) fill_left(NaN) b", "a + on (x) fill_left (NaN) fill_right (-1) b"},
    {"fill + fill(1e7) fill_left", "fill + fill (1e+07) fill_left"},
    {"a unless b or c and d", "a unless b or c and d"},
    {"time()-foo", "time() - foo"},
    {"info(foo, {a=\"b\"})", "info(foo, {a=\"b\"})"},
    {"info(foo, {})", "info(foo, {})"},
    {"sum and avg or by", "sum and avg or by"},
    {"start + end{a=\"b\"} * step", "start + end{a=\"b\"} * step"},
    {"min_of(step(), 1h)", "min_of(step(), 1h)"},
    {"quantiles_over_time('q',.5,.9,foo[1h])", "quantiles_over_time(\"q\", 0.5, 0.9, foo[1h])"},
    {"foo # c\n + # d\r bar", "foo + bar"},
    {":a:b + a:", ":a:b + a:"},
};

START_TEST(test_forms)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct arena a;
        arena_init(&a, 1 << 20);
        struct parsed parsed = parse_good(forms[i].text, &a);
        ck_assert_str_eq(expr_text(parsed.root, &a).p, forms[i].printed);
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

static void expect_fixpoint(const char *text)
{
    struct arena a;
    struct err e = {0};
    struct parsed again;
    arena_init(&a, 8 << 20);
    struct parsed parsed = parse_good(text, &a);
    struct str printed = expr_text(parsed.root, &a);
    ck_assert_msg(promql_parse(printed, &a, &again, &e) == 0, "%s\n  prints as %s\n  %s", text, printed.p, e.message);
    ck_assert_msg(expr_equal(parsed.root, again.root), "%s\n  prints as %s, which is another tree", text, printed.p);
    ck_assert_msg(str_eq(printed, expr_text(again.root, &a)), "%s\n  prints as %s, then as %s", text, printed.p,
                  expr_text(again.root, &a).p);
    ck_assert_uint_eq(expr_hash(parsed.root), expr_hash(again.root));
    parsed_done(&again);

    /* The indented form is the same expression too. */
    struct strbuf pretty = {0};
    expr_print_pretty(parsed.root, &pretty);
    ck_assert_msg(promql_parse((struct str){pretty.p, pretty.n}, &a, &again, &e) == 0, "%s\n%s", strbuf_z(&pretty),
                  e.message);
    ck_assert_msg(expr_equal(parsed.root, again.root), "%s", strbuf_z(&pretty));
    strbuf_done(&pretty);
    parsed_done(&again);
    parsed_done(&parsed);
    arena_done(&a);
}

START_TEST(test_p1_fixpoint_forms)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        expect_fixpoint(forms[i].text);
}
END_TEST

START_TEST(test_p1_fixpoint_list)
{
    ck_assert_uint_ge(expressions_n, 150);
    for (size_t i = 0; i < expressions_n; i++)
        expect_fixpoint(expressions[i]);
}
END_TEST

START_TEST(test_p1_fixpoint_generated)
{
    uint64_t seed = suite_seed("generated expressions");
    struct strbuf text = {0};
    for (int i = 0; i < 4000; i++) {
        strbuf_clear(&text);
        generate_expression(&seed, &text);
        expect_fixpoint(strbuf_z(&text));
    }
    strbuf_done(&text);
}
END_TEST

static void check_types(const struct expr *e)
{
    for (uint32_t i = 0; i < e->args_n; i++)
        check_types(e->args[i]);
    switch (e->kind) {
    case EXPR_CALL:
        ck_assert_uint_ge(e->args_n, function_args_min(e->function));
        ck_assert_uint_le(e->args_n, function_args_max(e->function));
        for (uint32_t i = 0; i < e->args_n; i++)
            ck_assert_int_eq(e->args[i]->type, function_arg_type(e->function, i, e->args_n));
        break;
    case EXPR_AGGREGATE:
        ck_assert_int_eq(e->args[0]->type, VALUE_VECTOR);
        break;
    case EXPR_BINARY:
        ck_assert(e->args[0]->type == VALUE_SCALAR || e->args[0]->type == VALUE_VECTOR);
        ck_assert(e->args[1]->type == VALUE_SCALAR || e->args[1]->type == VALUE_VECTOR);
        ck_assert_int_eq(e->matching != NULL, e->args[0]->type == VALUE_VECTOR && e->args[1]->type == VALUE_VECTOR);
        break;
    case EXPR_SUBQUERY:
        ck_assert_int_eq(e->args[0]->type, VALUE_VECTOR);
        ck_assert_int_eq(e->type, VALUE_MATRIX);
        break;
    case EXPR_SELECTOR:
        ck_assert(e->type == VALUE_VECTOR || e->range_ms > 0 || e->range_expr);
        break;
    default:
        break;
    }
}

START_TEST(test_p2_well_typed)
{
    for (size_t i = 0; i < expressions_n; i++) {
        struct arena a;
        arena_init(&a, 1 << 20);
        struct parsed parsed = parse_good(expressions[i], &a);
        check_types(parsed.root);
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

static const struct {
    const char *a, *b;
    bool equal;
} pairs[] = {
    {"foo", "{__name__=\"foo\"}", true},
    {"foo{a=\"1\",b=\"2\"}", "foo{b='2',a=`1`,}", true},
    {"((a)) + (b)", "a + b", true},
    {"a + (b + c)", "a + b + c", false},
    {"(a * b) + c", "a * b + c", true},
    {"rate(x[300])", "rate(x[5m])", true},
    {"rate(x[2m+3m])", "rate(x[5m])", true},
    {"x offset (1m-1m)", "x", true},
    {"rate(x[step()])", "rate(x[step()+0])", false},
    {"vector(300)", "vector(5m)", true},
    {"vector(0)", "vector(-0)", false},
    {"vector(NaN)", "vector(-nan)", true},
    {"sum(x) by (a)", "sum by (a) (x)", true},
    {"sum by (a) (x)", "sum without (a) (x)", false},
    {"sum by (a, b) (x)", "sum by (b, a) (x)", false},
    {"x @ 1", "x @ 1.0001", true},
    {"x @ 1", "x @ start()", false},
    {"x[5m] offset 1m", "x[5m:] offset 1m", false},
    {"a / on(x) b", "a / ignoring(x) b", false},
    {"a + fill(0) b", "a + fill_left(0) fill_right(0) b", true},
    {"a + fill(0) b", "a + b", false},
    {"a > bool b", "a > b", false},
    {"x[5m] anchored", "x[5m] smoothed", false},
    {"min(x)", "max(x)", false},
    {"\"a\"", "'a'", true},
    {"+x", "x", true},
    {"-x", "x", false},
};

START_TEST(test_p5_equality)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct arena arena;
        arena_init(&arena, 1 << 20);
        struct parsed a = parse_good(pairs[i].a, &arena), b = parse_good(pairs[i].b, &arena);
        ck_assert_msg(expr_equal(a.root, b.root) == pairs[i].equal, "%s and %s", pairs[i].a, pairs[i].b);
        ck_assert_msg((expr_hash(a.root) == expr_hash(b.root)) == pairs[i].equal, "hash of %s and %s", pairs[i].a,
                      pairs[i].b);
        parsed_done(&a);
        parsed_done(&b);
        arena_done(&arena);
    }
}
END_TEST

#define LONG_NAME "a_metric_of_a_rather_long_name_which_alone_fills_more_than_half_of_the_line"
static const struct {
    const char *text, *pretty;
} layouts[] = {
    {"sum(foo)", "sum(foo)"},
    {"sum by (job) (rate(" LONG_NAME "[5m]) / rate(" LONG_NAME "[5m]))",
     "sum by (job) (\n    rate(" LONG_NAME "[5m])\n  /\n    rate(" LONG_NAME "[5m])\n)"},
    {"topk(5, abs(" LONG_NAME ") + abs(" LONG_NAME "))",
     "topk(\n  5,\n    abs(" LONG_NAME ")\n  +\n    abs(" LONG_NAME ")\n)"},
    {"(" LONG_NAME " + on(a) " LONG_NAME ")", "(\n    " LONG_NAME "\n  + on (a)\n    " LONG_NAME "\n)"},
    {"-(" LONG_NAME " > bool " LONG_NAME ")", "-(\n    " LONG_NAME "\n  > bool\n    " LONG_NAME "\n)"},
    {"label_replace(" LONG_NAME ", \"destination\", \"$1\", \"source\", \"(.*)\")",
     "label_replace(\n  " LONG_NAME ",\n  \"destination\",\n  \"$1\",\n  \"source\",\n  \"(.*)\"\n)"},
    {"max_over_time((" LONG_NAME " - " LONG_NAME ")[1h:5m])",
     "max_over_time(\n  (\n      " LONG_NAME "\n    -\n      " LONG_NAME "\n  )[1h:5m]\n)"},
};

START_TEST(test_pretty)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct arena a;
        struct strbuf out = {0};
        arena_init(&a, 1 << 20);
        struct parsed parsed = parse_good(layouts[i].text, &a);
        expr_print_pretty(parsed.root, &out);
        ck_assert_str_eq(strbuf_z(&out), layouts[i].pretty);
        strbuf_done(&out);
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("promql print");
    TCase *t = tcase_create("print");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_forms);
    tcase_add_test(t, test_p1_fixpoint_forms);
    tcase_add_test(t, test_p1_fixpoint_list);
    tcase_add_test(t, test_p1_fixpoint_generated);
    tcase_add_test(t, test_p2_well_typed);
    tcase_add_test(t, test_p5_equality);
    tcase_add_test(t, test_pretty);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return suite_run(make_suite());
}
