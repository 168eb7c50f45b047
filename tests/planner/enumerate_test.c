/* planner/enumerate: the forms of one query. Expected panes are docs/PLANNER.md's window table. */
#include "suite.h"

#include "planner/enumerate.h"

enum { S = 1000, MIN = 60 * S };

static const struct {
    const char *query;
    int64_t every_ms; /* 0: once */
    uint32_t limit;
    uint32_t forms; /* 0: an error, no list */
    const char *says;
    uint32_t sites;
    int64_t width_ms, count; /* of the first site */
} cases[] = {
    {"sum_over_time(x[5m])", MIN, 16, 2, "", 1, MIN, 5},
    {"sum_over_time(x[5m])", MIN, 5, 2, "", 1, MIN, 5},
    {"sum_over_time(x[5m])", MIN, 4, 0, "5 panes, over the budget of 4", 0, 0, 0},
    {"sum_over_time(x[5m])", MIN, 1, 0, "5 panes, over the budget of 1", 0, 0, 0},
    {"sum_over_time(x[5m])", MIN, 0, 0, "a budget of 0", 0, 0, 0},
    {"sum_over_time(x[5m])", 0, 0, 0, "a budget of 0", 0, 0, 0}, /* before the cadence is looked at */
    {"sum_over_time(x[5m])", 0, 4, 1, "", 0, 0, 0},
    {"sum_over_time(x[1m])", MIN, 1, 1, "", 0, 0, 0},
    {"sum_over_time(x[1m])", 5 * MIN, 16, 1, "", 0, 0, 0},
    {"sum_over_time(x[90s])", MIN, 16, 2, "", 1, 30 * S, 3},
    {"sum_over_time(x[5m] @ 600)", MIN, 16, 1, "", 0, 0, 0},
    {"sum_over_time(x[10m]) / rate(y[10m])", 5 * MIN, 16, 4, "", 2, 5 * MIN, 2},
    {"sum_over_time(x[10m]) / rate(y[10m])", 5 * MIN, 3, 0, "2 sites have more forms than the budget of 3", 0, 0, 0},
    /* The same site in two places is one node and one decision. */
    {"sum_over_time(x[10m]) / (1 + sum_over_time(x[10m]))", 5 * MIN, 16, 2, "", 1, 5 * MIN, 2},
};

START_TEST(forms_of_a_query)
{
    struct plan *plan = plan_new();
    struct arena a;
    arena_init(&a, 0);
    struct logical l;
    logical_init(&l, &a);
    const struct expr *tree, *other;
    struct err e = {0};
    uint32_t root, unrelated;
    ck_assert_int_eq(plan_add_expr(plan, STR("max_over_time(z[30m])"), &other, NULL, &e), 0);
    ck_assert_int_eq(plan_add_expr(plan, str_of(cases[_i].query), &tree, NULL, &e), 0);
    ck_assert_int_eq(logical_add(&l, other, &unrelated, &e), 0); /* another query's site in the same DAG */
    ck_assert_int_eq(logical_add(&l, tree, &root, &e), 0);
    struct cadence cadence = {.kind = cases[_i].every_ms ? CADENCE_EVERY : CADENCE_ONCE,
                              .every_ms = cases[_i].every_ms};
    struct plan_forms forms;
    int rc = plan_enumerate(&l, root, &cadence, cases[_i].limit, &a, &forms, &e);
    ck_assert_int_eq(rc, cases[_i].forms ? 0 : ERR_BAD_DATA);
    ck_assert_uint_eq(forms.forms_n, cases[_i].forms);
    ck_assert_uint_eq(forms.sites_n, cases[_i].sites);
    ck_assert_msg(rc == 0 || strstr(e.message, cases[_i].says), "%s", e.message);
    if (forms.sites_n > 0) {
        ck_assert_int_eq(forms.sites[0].chain.ends.step_ms, cases[_i].width_ms);
        ck_assert_int_eq(forms.sites[0].chain.count, cases[_i].count);
    }
    logical_done(&l);
    arena_done(&a);
    plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/enumerate");
    TCase *tc = tcase_create("enumerate");
    tcase_add_loop_test(tc, forms_of_a_query, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
