/* plan/usage: which planned queries nobody asks, and what is asked instead. */
#include "planner/plan_of.h"
#include "suite.h"

#include "plan/usage.h"

static struct plan *plan;
static struct plan_usage *usage;
static struct arena arena;
static struct plan_unasked *unasked;
static uint32_t unasked_n;

static void setup(void)
{
    plan = plan_of("queries: [{query: 'count(http_requests_total_1)', every: 10s}, {query: 'sum(up)', every: 60s}, "
                   "{query: 'max(up)', rate: 1/s}]");
    usage = plan_usage_new(plan, 1000000);
    arena_init(&arena, 0);
}

static void teardown(void)
{
    plan_usage_free(usage);
    arena_done(&arena);
    plan_free(plan);
}

static void look(int64_t now_ms, bool fresh)
{
    struct err e = {0};
    ck_assert_int_eq(plan_usage_unasked(usage, now_ms, fresh, &arena, &unasked, &unasked_n, &e), 0);
}

START_TEST(three_intervals_without_a_question)
{
    look(1029999, false);
    ck_assert_uint_eq(unasked_n, 0);
    look(1030000, false);
    ck_assert_uint_eq(unasked_n, 1);
    ck_assert_uint_eq(unasked[0].query, 0);
    ck_assert_uint_eq(unasked[0].nearest.n, 0);
    look(1180000, false); /* the one without a fixed interval is never missed */
    ck_assert_uint_eq(unasked_n, 2);
    plan_usage_note(usage, 1, STR("sum(up)"));
    look(1180000, false);
    ck_assert_uint_eq(unasked_n, 1);
    ck_assert_uint_eq(plan_usage_asked(usage, 1), 1);
}
END_TEST

START_TEST(the_nearest_text_is_named)
{
    static const char *const asked[] = {"sum(rate(x[5m]))", "count(http_requests_total)", "count(http_errors_total)"};
    for (int i = 0; i < 3; i++)
        plan_usage_note(usage, PLAN_NONE, str_of(asked[i]));
    look(1030000, true);
    ck_assert_uint_eq(unasked_n, 1);
    ck_assert_str_eq(unasked[0].nearest.p, asked[1]);
    look(1040000, true); /* said once */
    ck_assert_uint_eq(unasked_n, 0);
    look(1040000, false);
    ck_assert_uint_eq(unasked_n, 1);
}
END_TEST

START_TEST(the_difference_is_named)
{
    static const struct {
        const char *a, *b, *only_a, *only_b;
    } cases[] = {
        {"count(http_requests_total_2)", "count(http_requests_total)", "http_requests_total_2", "http_requests_total"},
        {"rate(x[5m])", "rate(x[1m])", "5m", "1m"},
        {"sum(rate(x[5m]))", "sum by (job) (rate(x[5m]))", "", " by (job) "},
        {"up", "up", "", ""},
        {"a", "b", "a", "b"},
        {"x", "x + x", "", " + x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str a = str_of(cases[i].a), b = str_of(cases[i].b);
        plan_text_difference(&a, &b);
        ck_assert_msg(str_eq(a, str_of(cases[i].only_a)) && str_eq(b, str_of(cases[i].only_b)),
                      "%s and %s: '" STR_FMT "' and '" STR_FMT "'", cases[i].a, cases[i].b, STR_ARG(a), STR_ARG(b));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan/usage");
    TCase *tc = tcase_create("usage");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, three_intervals_without_a_question);
    tcase_add_test(tc, the_nearest_text_is_named);
    tcase_add_test(tc, the_difference_is_named);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
