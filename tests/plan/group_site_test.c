/* plan/group_site, plan/input: which expressions states by labels can answer, what such states are made of. */
#include "sample.h"
#include "suite.h"

#include "plan/logical.h"

static struct plan *plan; /* owns the trees */
static struct arena arena;

static void setup(void)
{
    plan = plan_new();
    arena_init(&arena, 0);
}

static void teardown(void)
{
    plan_free(plan);
    arena_done(&arena);
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
    const char *text, *input; /* NULL: not a group site */
    enum statistic statistic;
    const char *by; /* joined by commas */
    uint32_t top;
} sites[] = {
    {"sum by (job) (sum_over_time(x[5m]))", "value", STATISTIC_SUM, "job", 0},
    {"sum(sum_over_time(x[5m]))", "value", STATISTIC_SUM, "", 0},
    {"(sum by (b, a, b) ((sum_over_time((x[5m])))))", "value", STATISTIC_SUM, "a,b", 0},
    {"sum by (job) (count_over_time(x[5m]))", "value", STATISTIC_COUNT, "job", 0},
    {"min by (job) (min_over_time(x[5m]))", "value", STATISTIC_MIN, "job", 0},
    {"max by (job) (max_over_time(x[5m]))", "value", STATISTIC_MAX, "job", 0},
    {"group by (job) (present_over_time(x[5m]))", "value", STATISTIC_PRESENT, "job", 0},
    {"topk by (job) (10, sum_over_time(x[5m]))", "series", STATISTIC_TOPK, "job", 10},
    {"topk(2 + 1, sum_over_time(x[5m]))", "series", STATISTIC_TOPK, "", 3},
    {"topk(1024, sum_over_time(x[5m]))", "series", STATISTIC_TOPK, "", 1024},
    {"distinct_label_over_time(\"path\", x[5m], \"job\")", "label path", STATISTIC_DISTINCT, "job", 0},
    {"topk_label_over_time(5, \"path\", x[5m], \"b\", \"a\")", "label path", STATISTIC_TOPK, "a,b", 5},
    {"entropy_label_over_time(\"path\", x[5m])", "label path", STATISTIC_ENTROPY, "", 0},
    {"l2_label_over_time(\"path\", x[5m])", "label path", STATISTIC_L2, "", 0},
    /* Labels are never pushed below what is of one series, nor through another operator. */
    {"sum by (job) (rate(x[5m]))", NULL, 0, "", 0},
    {"sum by (job) (increase(x[5m]))", NULL, 0, "", 0},
    {"sum by (job) (max_over_time(x[5m]))", NULL, 0, "", 0},
    {"max by (job) (min_over_time(x[5m]))", NULL, 0, "", 0},
    {"avg by (job) (avg_over_time(x[5m]))", NULL, 0, "", 0},
    {"count by (job) (count_over_time(x[5m]))", NULL, 0, "", 0},
    {"sum without (job) (sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"sum by (__name__) (sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"sum by (job) (-sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"sum by (job) (sum_over_time(x[5m:1m]))", NULL, 0, "", 0},
    {"sum by (job) (sum_over_time(x[5m] @ end()))", NULL, 0, "", 0},
    {"sum by (job) (x)", NULL, 0, "", 0},
    {"sum_over_time(x[5m])", NULL, 0, "", 0},
    {"bottomk(10, sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"topk(10, count_over_time(x[5m]))", NULL, 0, "", 0},
    {"topk(0, sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"topk(1.5, sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"topk(1025, sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"topk(scalar(y), sum_over_time(x[5m]))", NULL, 0, "", 0},
    {"distinct_label_over_time(\"\", x[5m])", NULL, 0, "", 0},
    {"distinct_label_over_time(\"path\", x[5m], \"\")", NULL, 0, "", 0},
    {"distinct_label_over_time(\"path\", x[5m:1m])", NULL, 0, "", 0},
    {"topk_label_over_time(0, \"path\", x[5m])", NULL, 0, "", 0},
};

START_TEST(group_sites)
{
    struct site site = {0};
    bool is_one = group_site_of(parse(sites[_i].text), &arena, &site);
    ck_assert_msg(is_one == (sites[_i].input != NULL), "%s", sites[_i].text);
    if (!is_one)
        return;
    struct strbuf by = {0};
    for (uint32_t i = 0; i < site.group->by_n; i++)
        strbuf_printf(&by, "%s" STR_FMT, i ? "," : "", STR_ARG(site.group->by[i]));
    ck_assert_str_eq(strbuf_z(&by), sites[_i].by);
    strbuf_done(&by);
    ck_assert(str_eq(view_input_text(&site.group->input, &arena), str_of(sites[_i].input)));
    ck_assert_int_eq(site.statistic, sites[_i].statistic);
    ck_assert_uint_eq(site.group->top, sites[_i].top);
    ck_assert_int_eq(site.range_ms, 5 * MINUTE);
    ck_assert_double_eq(site.q, 0);
}
END_TEST

START_TEST(its_time)
{
    struct site site;
    ck_assert(group_site_of(parse("sum(sum_over_time(x[1m] @ 60 offset 7s))"), &arena, &site));
    ck_assert(site.anchored);
    ck_assert_int_eq(site.at_ms, MINUTE);
    ck_assert_int_eq(site.offset_ms, 7 * SECOND);
    ck_assert_uint_eq(site.selector->matchers_n, 1);
}
END_TEST

/* The operand stays below it: it may be answered by itself. */
START_TEST(in_the_logical_dag)
{
    struct logical l;
    uint32_t root;
    struct err e;
    logical_init(&l, &arena);
    ck_assert_int_eq(logical_add(&l, parse("sum by (job) (sum_over_time(x[5m]))"), &root, &e), 0);
    ck_assert(l.nodes[root].is_group_site && !l.nodes[root].is_site && l.nodes[root].has_site);
    ck_assert_uint_eq(l.nodes[root].in_n, 1);
    ck_assert(l.nodes[l.edges[l.nodes[root].in_first]].is_site);
    logical_done(&l);
}
END_TEST

START_TEST(inputs_and_families)
{
    const struct view_input value = {.kind = INPUT_VALUE}, series = {.kind = INPUT_SERIES},
                            path = {.kind = INPUT_LABEL, .label = STR("path")};
    static const enum family of_values[] = {FAMILY_SUM, FAMILY_COUNT, FAMILY_MIN, FAMILY_MAX};
    static const enum family of_items[] = {FAMILY_HLL,         FAMILY_KMV,      FAMILY_CMS,
                                           FAMILY_COUNTSKETCH, FAMILY_CMS_HEAP, FAMILY_COUNTSKETCH_HEAP,
                                           FAMILY_UNIVMON};
    uint32_t values_n = 0, items_n = 0;
    for (int f = FAMILY_INVALID + 1; f < FAMILY_END; f++) {
        ck_assert(view_input_fits(&value, (enum family)f, true));
        ck_assert(!view_input_fits(&series, (enum family)f, true) && !view_input_fits(&path, (enum family)f, true));
        values_n += view_input_fits(&value, (enum family)f, false);
        items_n += view_input_fits(&path, (enum family)f, false);
        ck_assert(view_input_fits(&series, (enum family)f, false) == view_input_fits(&path, (enum family)f, false));
    }
    ck_assert_uint_eq(values_n, 4);
    ck_assert_uint_eq(items_n, 7);
    for (size_t i = 0; i < sizeof of_values / sizeof of_values[0]; i++)
        ck_assert(view_input_fits(&value, of_values[i], false));
    for (size_t i = 0; i < sizeof of_items / sizeof of_items[0]; i++)
        ck_assert(view_input_fits(&path, of_items[i], false));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/group_site");
    TCase *tcase = tcase_create("group_site");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, group_sites, 0, sizeof sites / sizeof sites[0]);
    tcase_add_test(tcase, its_time);
    tcase_add_test(tcase, in_the_logical_dag);
    tcase_add_test(tcase, inputs_and_families);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
