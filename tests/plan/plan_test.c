/* plan/plan and plan/groups: grids of demands, accuracies, refresh groups, lookup by text. */
#include "sample.h"
#include "suite.h"

static void expect_grid(struct grid g, int64_t step_ms, int64_t phase_ms)
{
    ck_assert_int_eq(g.step_ms, step_ms);
    ck_assert_int_eq(g.phase_ms, phase_ms);
}

START_TEST(grid_of_a_cadence)
{
    const int64_t times_ms[] = {250 * SECOND, 100 * SECOND, 190 * SECOND, 100 * SECOND};
    struct cadence every = {.kind = CADENCE_EVERY, .every_ms = MINUTE, .phase_ms = -15 * SECOND};
    struct cadence at = {.kind = CADENCE_AT, .at_ms = times_ms, .at_n = 4};
    struct cadence once = {.kind = CADENCE_ONCE}, rate = {.kind = CADENCE_RATE, .rate_per_s = 1};
    expect_grid(cadence_grid(&every), MINUTE, 45 * SECOND);
    expect_grid(cadence_grid(&at), 30 * SECOND, 10 * SECOND);
    expect_grid(cadence_grid(&once), 0, 0);
    expect_grid(cadence_grid(&rate), 0, 0);
    at.at_n = 1;
    expect_grid(cadence_grid(&at), 0, 0);
    /* T - length + k*step: gcd(60 s, 25 s) = 5 s, (0 - 62 s) mod 5 s = 3 s. */
    struct cadence range = {
        .kind = CADENCE_EVERY, .every_ms = MINUTE, .length_ms = 62 * SECOND, .step_ms = 25 * SECOND};
    expect_grid(cadence_grid(&range), 5 * SECOND, 3 * SECOND);
    /* gcd(60 s, 60 s) = 60 s, (0 - 90 s) mod 60 s = 30 s. */
    range.length_ms = 90 * SECOND;
    range.step_ms = 60 * SECOND;
    expect_grid(cadence_grid(&range), MINUTE, 30 * SECOND);
    every = (struct cadence){.kind = CADENCE_EVERY, .every_ms = 10 * SECOND};
    expect_grid(cadence_grid(&every), 10 * SECOND, 0);
    every.phase_ms = 3 * SECOND;
    expect_grid(cadence_grid(&every), 10 * SECOND, 3 * SECOND);
    range.kind = CADENCE_ONCE;
    expect_grid(cadence_grid(&range), 0, 0);
}
END_TEST

static int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? (a < 0 ? -a : a) : gcd(b, a % b);
}

/* Every step of every evaluation is on the grid, and no coarser grid holds them all. */
START_TEST(grid_holds_every_step)
{
    srand((unsigned)suite_seed("grid_holds_every_step"));
    for (int round = 0; round < 500; round++) {
        struct cadence c = {.kind = CADENCE_EVERY,
                            .every_ms = 1 + rand() % 60,
                            .phase_ms = rand() % 200 - 100,
                            .length_ms = 100 + rand() % 100,
                            .step_ms = 1 + rand() % 60};
        struct grid g = cadence_grid(&c);
        int64_t spread = 0, first = c.phase_ms - c.length_ms;
        for (int64_t n = -3; n <= 3; n++) {
            for (int64_t t = -c.length_ms; t <= 0; t += c.step_ms) {
                int64_t time_ms = c.phase_ms + n * c.every_ms + t;
                ck_assert_int_eq(grid_through(time_ms, g.step_ms).phase_ms, g.phase_ms);
                spread = gcd(spread, time_ms - first);
            }
        }
        ck_assert_int_eq(g.step_ms, spread);
    }
}
END_TEST

START_TEST(accuracies_are_never_mixed)
{
    const struct accuracy exact = {ACCURACY_EXACT, 0, 0}, rank = {ACCURACY_RANK, 0.01, 0.01},
                          finer = {ACCURACY_RANK, 0.005, 0.01}, surer = {ACCURACY_RANK, 0.01, 0.001},
                          relative = {ACCURACY_RELATIVE, 0.01, 0}, any = {ACCURACY_ANY, 0.01, 0.01};
    ck_assert(accuracy_meets(&exact, &exact) && accuracy_meets(&exact, &rank) && accuracy_meets(&exact, &any));
    ck_assert(!accuracy_meets(&rank, &exact) && !accuracy_meets(&any, &exact));
    ck_assert(accuracy_meets(&rank, &rank) && accuracy_meets(&finer, &rank) && accuracy_meets(&surer, &rank));
    ck_assert(!accuracy_meets(&rank, &finer) && !accuracy_meets(&rank, &surer) && !accuracy_meets(&surer, &finer));
    ck_assert(!accuracy_meets(&relative, &rank) && !accuracy_meets(&rank, &relative) && !accuracy_meets(&any, &rank));
    const struct accuracy none = {ACCURACY_NONE, 0, 0};
    ck_assert(accuracy_meets(&exact, &none) && accuracy_meets(&rank, &none) && accuracy_meets(&none, &none));
    ck_assert(!accuracy_meets(&none, &exact) && !accuracy_meets(&none, &rank) && !accuracy_meets(&none, &any));
    ck_assert(accuracy_meets(&rank, &any) && accuracy_meets(&relative, &any));
}
END_TEST

static struct plan_view view(int64_t width_ms, int64_t phase_ms)
{
    return (struct plan_view){
        .panes = {width_ms, phase_ms}, .panes_n = 1, .when = WHEN_INGESTION, .level_of = PLAN_NONE};
}

/* KLL 6 x 10 s and DDSketch 30 x 10 s share a group; a shifted chain, a chain with a negative offset (its phase is
 * (0 - -7 s) mod 10 s) and a coarser one have their own; what is kept on first read has none. */
START_TEST(groups_by_refresh_window)
{
    struct plan_view views[] = {view(MINUTE, 0),      view(10 * SECOND, 0), view(10 * SECOND, 3 * SECOND),
                                view(10 * SECOND, 0), view(10 * SECOND, 0), view(10 * SECOND, 0)};
    views[4].panes = grid_chain((struct grid){10 * SECOND, 0}, MINUTE, -7 * SECOND).ends;
    views[5].when = WHEN_QUERY_KEPT;
    views[0].level_of = 1;
    struct plan *p = plan_new();
    struct err e = {0};
    p->views = views;
    p->views_n = 6;
    ck_assert_msg(plan_groups(p, &e) == 0, "%s", e.message);
    ck_assert_uint_eq(p->groups_n, 4);
    expect_grid(p->groups[0].window, 10 * SECOND, 0);
    ck_assert_uint_eq(p->groups[0].views_n, 2);
    ck_assert_uint_eq(p->groups[0].views[0], 1);
    ck_assert_uint_eq(p->groups[0].views[1], 3);
    expect_grid(p->groups[1].window, 10 * SECOND, 3 * SECOND);
    ck_assert_uint_eq(p->groups[1].views_n, 1);
    expect_grid(p->groups[2].window, 10 * SECOND, 7 * SECOND);
    /* The roll-up follows what it reads. */
    expect_grid(p->groups[3].window, MINUTE, 0);
    ck_assert_int_eq(plan_widest_window_ms(p), MINUTE);

    views[0].level_of = 0;
    ck_assert_int_eq(plan_groups(p, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "group_cycle"));
    plan_free(p);
}
END_TEST

static void expect_query(const struct plan *p, const char *text, uint32_t query)
{
    ck_assert_msg(plan_query_by_text(p, str_of(text)) == query, "%s", text);
}

START_TEST(lookup_by_text_takes_the_strictest)
{
    static const struct {
        const char *text;
        struct accuracy target;
    } wanted[] = {{"b", {ACCURACY_RANK, 0.05, 0.01}},
                  {"b", {ACCURACY_RANK, 0.01, 0.01}},
                  {"a", {ACCURACY_RANK, 0.01, 0.01}},
                  {"a", {ACCURACY_EXACT, 0, 0}},
                  {"c + 1", {ACCURACY_EXACT, 0, 0}},
                  {"1 - c @ end()", {ACCURACY_EXACT, 0, 0}},
                  {"rate(c[5 * step()])", {ACCURACY_EXACT, 0, 0}},
                  {"c offset (2 * 30s)", {ACCURACY_EXACT, 0, 0}}};
    enum { N = sizeof wanted / sizeof wanted[0] };
    struct plan_node nodes[N] = {0};
    struct plan_query queries[N] = {0};
    struct plan *p = plan_new();
    struct err e;
    ck_assert_int_eq(plan_groups(p, &e), 0);
    expect_query(p, "a", PLAN_NONE);
    for (uint32_t i = 0; i < N; i++) {
        ck_assert_int_eq(plan_add_expr(p, str_of(wanted[i].text), &nodes[i].expr, &nodes[i].expr_text, &e), 0);
        queries[i] = (struct plan_query){.root = i, .text = nodes[i].expr_text, .target = wanted[i].target};
    }
    p->nodes = nodes;
    p->queries = queries;
    p->nodes_n = p->queries_n = N;
    ck_assert_int_eq(plan_groups(p, &e), 0);
    expect_query(p, "a", 3);
    expect_query(p, "b", 1);
    expect_query(p, "c + 1", 4);
    expect_query(p, "bb", PLAN_NONE);
    expect_query(p, "", PLAN_NONE);
    /* What depends on the request's own times would be answered with another request's tree. */
    ck_assert_uint_eq(plan_query_by_text(p, nodes[5].expr_text), PLAN_NONE);
    ck_assert_uint_eq(plan_query_by_text(p, nodes[6].expr_text), PLAN_NONE);
    ck_assert_uint_eq(plan_query_by_text(p, nodes[7].expr_text), 7);
    plan_free(p);
}
END_TEST

START_TEST(operators_by_name)
{
    for (int op = PLAN_OP_INVALID + 1; op < PLAN_OP_END; op++)
        ck_assert_int_eq(plan_op_by_name(str_of(plan_op_name((enum plan_op)op))), op);
    ck_assert_int_eq(plan_op_by_name(STR("pane_read")), PLAN_OP_PANE_READ);
    ck_assert_int_eq(plan_op_by_name(STR("panes")), PLAN_OP_INVALID);
    ck_assert_int_eq(plan_op_by_name(STR("")), PLAN_OP_INVALID);
    ck_assert_str_eq(plan_op_name(PLAN_OP_END), "");
    plan_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/plan");
    TCase *tcase = tcase_create("plan");
    tcase_add_test(tcase, grid_of_a_cadence);
    tcase_add_test(tcase, grid_holds_every_step);
    tcase_add_test(tcase, accuracies_are_never_mixed);
    tcase_add_test(tcase, groups_by_refresh_window);
    tcase_add_test(tcase, lookup_by_text_takes_the_strictest);
    tcase_add_test(tcase, operators_by_name);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
