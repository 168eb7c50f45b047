/* plan/logical: which expressions are sites, what the operands of each operator are, and what is one node. */
#include "sample.h"
#include "suite.h"

#include "plan/logical.h"

static struct plan *plan; /* owns the trees */

static void setup(void)
{
    plan = plan_new();
}

static void teardown(void)
{
    plan_free(plan);
}

static const struct expr *parse(const char *text)
{
    const struct expr *tree;
    struct err e;
    int rc = plan_add_expr(plan, str_of(text), &tree, NULL, &e);
    ck_assert_msg(rc == 0, "%s: %s", text, e.message);
    return tree;
}

static const struct {
    const char *text;
    enum statistic statistic; /* INVALID: not a site */
    double q;
    int64_t range_ms, offset_ms;
    bool anchored;
    int64_t at_ms;
} sites[] = {
    {"rate(x[5m])", STATISTIC_RATE, 0, 5 * MINUTE, 0, false, 0},
    {"(rate((x[5m])))", STATISTIC_RATE, 0, 5 * MINUTE, 0, false, 0},
    {"quantile_over_time(0.99, x{a=\"b\"}[90s])", STATISTIC_QUANTILE, 0.99, 90 * SECOND, 0, false, 0},
    {"quantile_over_time((-0), x[1m])", STATISTIC_QUANTILE, 0, MINUTE, 0, false, 0},
    {"max_over_time(x[1m] offset 7s)", STATISTIC_MAX, 0, MINUTE, 7 * SECOND, false, 0},
    {"max_over_time(x[1m] offset -7s)", STATISTIC_MAX, 0, MINUTE, -7 * SECOND, false, 0},
    {"sum_over_time(x[1m] @ 60 offset 1s)", STATISTIC_SUM, 0, MINUTE, SECOND, true, MINUTE},
    {"last_over_time({__name__=~\"a|b\"}[1ms])", STATISTIC_LAST, 0, 1, 0, false, 0},
    {"distinct_over_time(x[1h])", STATISTIC_DISTINCT, 0, HOUR, 0, false, 0},
    {"sum_over_time(x[2 * 30s])", STATISTIC_SUM, 0, MINUTE, 0, false, 0},
    {"x", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"sum(x)", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[5m:1m])", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[5m] @ start())", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[5m] @ end())", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[5m] anchored)", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[5m] smoothed)", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[step() * 5])", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[5m] offset range())", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"rate(x[5m] @ 9e15)", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"quantile_over_time(scalar(y), x[5m])", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"quantile_over_time(1 - 0.5, x[5m])", STATISTIC_QUANTILE, 0.5, 5 * MINUTE, 0, false, 0},
    {"quantile_over_time(0.5 > bool 0, x[5m])", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"deriv(x[5m] offset 1m)", STATISTIC_DERIV, 0, 5 * MINUTE, MINUTE, false, 0},
    {"predict_linear(x[5m], 60)", STATISTIC_PREDICT_LINEAR, 60, 5 * MINUTE, 0, false, 0},
    {"predict_linear(x[5m], -(4 * 3600) + 2 ^ 3 % 5 / 2)", STATISTIC_PREDICT_LINEAR, -14398.5, 5 * MINUTE, 0, false, 0},
    {"predict_linear(x[5m] offset -7s, 4h)", STATISTIC_PREDICT_LINEAR, 14400, 5 * MINUTE, -7 * SECOND, false, 0},
    {"predict_linear(x[5m], 1 / 0)", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"predict_linear(x[5m], scalar(y))", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"predict_linear(x[5m], time())", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"quantile_over_time(NaN, x[5m])", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"quantile_over_time(Inf, x[5m])", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"absent_over_time(x[5m])", STATISTIC_INVALID, 0, 0, 0, false, 0},
    {"max_over_time(x{a=\"\\xff\"}[1m])", STATISTIC_INVALID, 0, 0, 0, false, 0},
};

START_TEST(sites_are_found)
{
    struct site site;
    bool is_site = site_of(parse(sites[_i].text), &site);
    ck_assert_msg(is_site == (sites[_i].statistic != STATISTIC_INVALID), "%s", sites[_i].text);
    if (!is_site)
        return;
    ck_assert_int_eq(site.statistic, sites[_i].statistic);
    ck_assert(site.q == sites[_i].q && (site.q != 0 || !__builtin_signbit(site.q)));
    ck_assert_int_eq(site.range_ms, sites[_i].range_ms);
    ck_assert_int_eq(site.offset_ms, sites[_i].offset_ms);
    ck_assert_int_eq(site.anchored, sites[_i].anchored);
    ck_assert_int_eq(site.at_ms, sites[_i].at_ms);
    ck_assert(site.call->kind == EXPR_CALL && site.selector->kind == EXPR_SELECTOR);
}
END_TEST

static const struct {
    const char *text;
    const char *operands[3];
} operands[] = {
    {"sum by (a) ((x))", {"x"}},
    {"topk(3, x)", {"x"}},
    {"topk(scalar(y), x)", {"x", "scalar(y)"}},
    {"count_values(\"v\", x)", {"x"}},
    {"x + y", {"x", "y"}},
    {"(x) * 2", {"x"}},
    {"2 - (x + y)", {"x + y"}},
    {"1 + 2", {NULL}},
    {"-x", {"x"}},
    {"clamp_max(x, scalar(y))", {"x", "scalar(y)"}},
    {"histogram_quantile(0.9, rate(x[5m]))", {"rate(x[5m])"}},
    {"label_replace(x, \"a\", \"$1\", \"b\", \"(.*)\")", {"x"}},
    {"vector(1)", {NULL}},
    {"time()", {NULL}},
    {"x", {NULL}},
    {"3", {NULL}},
    {"rate(x[5m])", {NULL}},
    {"rate(sum(x)[5m:1m])", {NULL}},
    {"quantile_over_time(scalar(y), x[5m])", {NULL}},
    {"timestamp((x))", {NULL}},
    {"timestamp(x + 1)", {"x + 1"}},
    {"info(x, {a=\"b\"})", {NULL}},
    {"x[5m:1m]", {NULL}},
};

START_TEST(operands_in_order)
{
    const struct expr *found[4];
    uint32_t wanted = 0;
    uint32_t n = expr_operands(parse(operands[_i].text), found, 4);
    while (wanted < 3 && operands[_i].operands[wanted])
        wanted++;
    ck_assert_msg(n == wanted, "%s: %u operands", operands[_i].text, n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_msg(expr_equal(found[i], parse(operands[_i].operands[i])), "%s: operand %u", operands[_i].text, i);
}
END_TEST

START_TEST(operands_are_counted_past_the_room)
{
    const struct expr *found[1] = {NULL};
    ck_assert_uint_eq(expr_operands(parse("x + y"), found, 1), 2);
    ck_assert_ptr_nonnull(found[0]);
    ck_assert_uint_eq(expr_operands(parse("x + y"), NULL, 0), 2);
}
END_TEST

static uint32_t add(struct logical *l, const char *text)
{
    uint32_t node = PLAN_NONE;
    struct err e;
    ck_assert_int_eq(logical_add(l, parse(text), &node, &e), 0);
    return node;
}

START_TEST(equal_expressions_are_one_node)
{
    struct logical l;
    logical_init(&l, plan->arena);
    uint32_t rate = add(&l, "rate(x[5m])");
    uint32_t sum = add(&l, "sum by (a) (rate(x[5m]))");
    ck_assert_uint_eq(l.nodes_n, 2);
    uint32_t ratio = add(&l, "(sum by (a) ((rate(x[300s])))) / sum by (b) (rate(x[5m]))");
    ck_assert_uint_eq(l.nodes_n, 4);
    ck_assert_uint_eq(l.nodes[ratio].in_n, 2);
    ck_assert_uint_eq(l.edges[l.nodes[ratio].in_first], sum);
    ck_assert_uint_eq(add(&l, "((sum by (a) (rate(x[5m]))))"), sum);
    ck_assert_uint_eq(add(&l, "(rate(x[5m]))"), rate);
    ck_assert_uint_ne(add(&l, "rate(x[5m] offset 1m)"), rate);
    ck_assert_uint_eq(add(&l, "x - (y - z)"), add(&l, "((x) - ((y - z)))"));
    ck_assert_uint_ne(add(&l, "x - (y - z)"), add(&l, "(x - y) - z"));
    for (uint32_t n = 0; n < l.nodes_n; n++)
        for (uint32_t i = 0; i < l.nodes[n].in_n; i++)
            ck_assert_uint_lt(l.edges[l.nodes[n].in_first + i], n);
    logical_done(&l);
}
END_TEST

START_TEST(sites_are_seen_from_above)
{
    struct logical l;
    logical_init(&l, plan->arena);
    uint32_t root = add(&l, "sum(rate(x[5m])) / sum(y)");
    ck_assert(l.nodes[root].has_site && !l.nodes[root].is_site);
    uint32_t left = l.edges[l.nodes[root].in_first], right = l.edges[l.nodes[root].in_first + 1];
    ck_assert(l.nodes[left].has_site && !l.nodes[right].has_site);
    uint32_t site = l.edges[l.nodes[left].in_first];
    ck_assert(l.nodes[site].is_site && l.nodes[site].in_n == 0);
    ck_assert_int_eq(l.nodes[site].site.range_ms, 5 * MINUTE);
    /* A site inside a subquery is none. */
    ck_assert(!l.nodes[add(&l, "max_over_time(rate(x[5m])[1h:1m])")].has_site);
    logical_done(&l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/logical");
    TCase *tcase = tcase_create("logical");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, sites_are_found, 0, sizeof sites / sizeof sites[0]);
    tcase_add_loop_test(tcase, operands_in_order, 0, sizeof operands / sizeof operands[0]);
    tcase_add_test(tcase, operands_are_counted_past_the_room);
    tcase_add_test(tcase, equal_expressions_are_one_node);
    tcase_add_test(tcase, sites_are_seen_from_above);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
