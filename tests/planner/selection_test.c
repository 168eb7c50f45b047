/*
 * The selection problem against brute force: every combination of choices of all groups, reached or not, priced here
 * from the definition in selection.h. Presolve with components, the whole as one MILP, and enumeration must each find
 * the least; the search alone must find an answer that is one.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "planner/milp.h"
#include "planner/selection.h"

enum { PROBLEMS_N = 500, ITEMS_MAX = 7, GROUPS_MAX = 6, CHOICES_MAX = 4 };

/* Whole numbers, so that ties and zeros are met, or anything. */
static double amount(bool whole)
{
    return whole ? (double)(random() % 6) : (double)(random() % 100000) / 997;
}

static void random_problem(struct selection *s, struct arena *a)
{
    selection_init(s, a);
    bool whole = random() % 2;
    uint32_t items_n = (uint32_t)(random() % (ITEMS_MAX + 1)), groups_n = 1 + (uint32_t)(random() % GROUPS_MAX);
    for (uint32_t i = 0; i < items_n; i++) {
        selection_add_item(s, amount(whole), random() % 3 ? amount(whole) / 10 : 0, random() % 3 ? amount(whole) : 0,
                           amount(whole));
        for (uint32_t k = 0; k < i; k++) {
            if (random() % 4 == 0)
                selection_require(s, k, (double)(random() % 4) * 10);
        }
    }
    for (uint32_t g = 0; g < groups_n; g++) {
        selection_add_group(s, g == groups_n - 1 || random() % 3);
        uint32_t choices_n = 1 + (uint32_t)(random() % CHOICES_MAX);
        for (uint32_t c = 0; c < choices_n; c++) {
            selection_add_choice(s, 3 * amount(whole), random() % 3 ? 0 : 30 * amount(whole));
            for (uint32_t i = 0; i < items_n; i++) {
                if (random() % 3 == 0)
                    selection_need(s, i, (double)(random() % 5) * 10);
            }
            for (uint32_t h = 0; h < g; h++) {
                if (random() % 4 == 0)
                    selection_reach(s, h);
            }
        }
    }
}

static void ask_item(const struct selection *s, uint32_t i, double reach_ms, double *reach)
{
    bool fresh = reach[i] < 0;
    reach[i] = fmax(reach[i], reach_ms);
    for (uint32_t k = 0; fresh && k < s->items[i].n; k++) {
        const struct selection_need *need = &s->requires[s->items[i].first + k];
        ask_item(s, need->item, need->reach_ms, reach);
    }
}

static double ask_group(const struct selection *s, const uint32_t *choice, uint32_t g, bool *asked, double *reach,
                        double *bytes)
{
    if (asked[g])
        return 0;
    asked[g] = true;
    const struct selection_choice *c = &s->choices[choice[g]];
    double cost = c->cost;
    *bytes += c->bytes;
    for (uint32_t k = 0; k < c->needs_n; k++)
        ask_item(s, s->needs[c->needs_first + k].item, s->needs[c->needs_first + k].reach_ms, reach);
    for (uint32_t k = 0; k < c->reaches_n; k++)
        cost += ask_group(s, choice, s->reaches[c->reaches_first + k], asked, reach, bytes);
    return cost;
}

static double price_of(const struct selection *s, const uint32_t *choice, double *bytes)
{
    bool asked[GROUPS_MAX] = {false};
    double reach[ITEMS_MAX + 1], cost = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < s->items_n; i++)
        reach[i] = -1;
    for (uint32_t g = 0; g < s->groups_n; g++)
        cost += s->groups[g].root ? ask_group(s, choice, g, asked, reach, bytes) : 0;
    for (uint32_t i = 0; i < s->items_n; i++) {
        const struct selection_item *t = &s->items[i];
        cost += reach[i] < 0 ? 0 : t->open_cost + t->keep_cost_per_ms * (t->base_ms + reach[i]);
        *bytes += reach[i] < 0 ? 0 : t->bytes_per_ms * (t->base_ms + reach[i]);
    }
    return cost;
}

/* The least cost within `limit`; INFINITY: nothing fits. *ret_bytes: the fewest of anything. */
static double brute_force(const struct selection *s, double limit, double *ret_bytes)
{
    uint32_t choice[GROUPS_MAX];
    double least = INFINITY;
    *ret_bytes = INFINITY;
    for (uint32_t g = 0; g < s->groups_n; g++)
        choice[g] = s->groups[g].first;
    for (;;) {
        double bytes, cost = price_of(s, choice, &bytes);
        if (bytes <= limit)
            least = fmin(least, cost);
        *ret_bytes = fmin(*ret_bytes, bytes);
        uint32_t g = 0;
        while (g < s->groups_n && ++choice[g] == s->groups[g].first + s->groups[g].n) {
            choice[g] = s->groups[g].first;
            g++;
        }
        if (g == s->groups_n)
            return least;
    }
}

static const char *const method_names[] = {"auto", "search", "enumerate", "milp"};

static void check_method(const struct selection *s, int n, enum selection_method method, double least, double fewest)
{
    struct selection_options options = {.method = method, .deadline_ms = -1};
    struct selection_answer answer;
    struct err e = {0};
    int rc = selection_solve(s, &options, &answer, &e);
    const char *name = method_names[method];
    bool may_miss = method == SELECTION_SEARCH;
    if (may_miss && rc == ERR_TIMEOUT)
        return;
    if (isinf(least)) {
        ck_assert_msg(rc == ERR_LIMIT, "problem %d, %s: nothing fits, and it says %d", n, name, rc);
        if (method == SELECTION_AUTO)
            ck_assert_msg(fabs(answer.bytes - fewest) <= 1e-9 * fewest, "problem %d: %g bytes at least, not %g", n,
                          fewest, answer.bytes);
        return;
    }
    ck_assert_msg(rc == 0, "problem %d, %s: %s", n, name, e.message);
    double bytes, cost = price_of(s, answer.choice, &bytes);
    ck_assert_msg(fabs(cost - answer.cost) <= 1e-9 * cost, "problem %d, %s: costs %g, not %g", n, name, cost,
                  answer.cost);
    ck_assert_msg(bytes <= s->limit_bytes * (1 + 1e-9), "problem %d, %s: holds %g, over %g", n, name, bytes,
                  s->limit_bytes);
    ck_assert_msg(answer.bound <= least * (1 + 1e-9), "problem %d, %s: bound %g over %g", n, name, answer.bound, least);
    if (may_miss) {
        ck_assert(cost >= least * (1 - 1e-9));
        ck_assert_int_eq(answer.status, SELECTION_DEADLINE);
        return;
    }
    ck_assert_msg(answer.status == SELECTION_OPTIMAL, "problem %d, %s: %s %s", n, name,
                  selection_status_name(answer.status), answer.reason ? answer.reason : "-");
    ck_assert_msg(fabs(cost - least) <= 1e-8 * least, "problem %d, %s: %.12g, the least is %.12g", n, name, cost,
                  least);
    ck_assert(answer.gap == 0);
}

/* price_of takes a choice for every group; groups not reached are passed over. */
static void check_problem(const struct selection *s, int n)
{
    double fewest, least = brute_force(s, s->limit_bytes, &fewest);
    for (enum selection_method m = SELECTION_AUTO; m <= SELECTION_MILP; m++)
        check_method(s, n, m, least, fewest);
}

START_TEST(every_method_finds_the_least)
{
    srandom((unsigned)suite_seed("every_method_finds_the_least"));
    int limited_n = 0, impossible_n = 0;
    for (int n = 0; n < PROBLEMS_N; n++) {
        struct arena a;
        struct selection s;
        struct err e = {0};
        arena_init(&a, 0);
        random_problem(&s, &a);
        ck_assert_msg(selection_check(&s, &e) == 0, "problem %d: %s", n, e.message);
        check_problem(&s, n);
        /* Limits between nothing and all that the free optimum holds, and a little over. */
        struct selection_options options = {.deadline_ms = -1};
        struct selection_answer answer;
        ck_assert_int_eq(selection_solve(&s, &options, &answer, &e), 0);
        double held = answer.bytes, fewest;
        for (int part = 0; part <= 4 && held > 0; part++) {
            s.limit_bytes = held * (0.05 + 0.25 * part);
            impossible_n += isinf(brute_force(&s, s.limit_bytes, &fewest));
            limited_n++;
            check_problem(&s, n);
        }
        arena_done(&a);
    }
    printf("every_method_finds_the_least: %d problems, %d with a limit, %d of them impossible\n", PROBLEMS_N, limited_n,
           impossible_n);
    ck_assert_int_gt(limited_n, PROBLEMS_N);
    ck_assert_int_gt(impossible_n, 50);
}
END_TEST

/* Two readers of one chain: 3 to open, 0.01 a ms kept of 10 + the farther reach, and what it requires for 2. Alone they
 * pay 7 each. By hand: 3 + 2 + 0.01 * (10 + 300) + 1 + 1 = 10.1 shared, 14 apart. */
static void two_readers(struct selection *s, struct arena *a)
{
    selection_init(s, a);
    uint32_t scan = selection_add_item(s, 2, 0, 0, 0);
    uint32_t chain = selection_add_item(s, 3, 0.01, 5, 10);
    selection_require(s, scan, 0);
    for (int g = 0; g < 2; g++) {
        selection_add_group(s, true);
        selection_add_choice(s, 7, 0);
        selection_add_choice(s, 1, 0);
        selection_need(s, chain, g ? 300 : 100);
    }
}

START_TEST(shared_items_are_paid_once)
{
    struct arena a;
    struct selection s;
    struct selection_answer answer;
    struct selection_options options = {.deadline_ms = -1};
    struct err e = {0};
    arena_init(&a, 0);
    two_readers(&s, &a);
    ck_assert_int_eq(selection_solve(&s, &options, &answer, &e), 0);
    ck_assert_double_eq_tol(answer.cost, 10.1, 1e-12);
    ck_assert_double_eq_tol(answer.bytes, 5 * 310, 1e-9);
    ck_assert_double_eq(answer.reach_ms[1], 300);
    ck_assert(answer.open[0] && answer.open[1]);
    ck_assert_uint_eq(answer.choice[0], 1);
    ck_assert_uint_eq(answer.choice[1], 3);
    ck_assert_str_eq(selection_status_name(answer.status), "optimal");
    /* 600 bytes hold the chain for the nearer reader only, which is not worth it: 3 + 2 + 1.1 + 1 > 7. */
    s.limit_bytes = 600;
    ck_assert_int_eq(selection_solve(&s, &options, &answer, &e), 0);
    ck_assert_double_eq_tol(answer.cost, 14, 1e-12);
    ck_assert_double_eq(answer.bytes, 0);
    ck_assert_uint_eq(answer.free_choice[0], 1);
    ck_assert_double_eq_tol(answer.free_cost, 10.1, 1e-12);
    arena_done(&a);
}
END_TEST

/* A group that two choices reach is answered once; one that none reaches, not at all. */
START_TEST(reached_groups_are_answered_once)
{
    struct arena a;
    struct selection s;
    struct selection_answer answer;
    struct selection_options options = {.deadline_ms = -1};
    struct err e = {0};
    arena_init(&a, 0);
    for (int dear = 0; dear < 2; dear++) {
        selection_init(&s, &a);
        uint32_t site = selection_add_group(&s, false);
        selection_add_choice(&s, dear ? 10 : 5, 0);
        for (int g = 0; g < 2; g++) {
            selection_add_group(&s, true);
            selection_add_choice(&s, 4, 0);
            selection_add_choice(&s, 1, 0);
            selection_reach(&s, site);
        }
        ck_assert_int_eq(selection_solve(&s, &options, &answer, &e), 0);
        ck_assert_double_eq_tol(answer.cost, dear ? 8 : 7, 1e-12);
        ck_assert_uint_eq(answer.choice[site], dear ? SELECTION_NONE : 0);
    }
    arena_done(&a);
}
END_TEST

/* What goes wrong in the solver leaves our own plan, with a reason, and the next problem is solved as ever. */
START_TEST(solver_faults_are_survived)
{
    static const char *const reasons[] = {
        [MILP_FAULT_CALL] = "refused a call",
        [MILP_FAULT_INFEASIBLE] = "says that nothing answers",
        [MILP_FAULT_ANSWER] = "breaks a row",
    };
    for (enum milp_fault fault = MILP_FAULT_NONE; fault <= MILP_FAULT_ANSWER; fault++) {
        struct arena a;
        struct selection s;
        struct selection_answer answer;
        struct selection_options options = {.method = SELECTION_MILP, .deadline_ms = -1, .milp_fault = fault};
        struct err e = {0};
        arena_init(&a, 0);
        two_readers(&s, &a);
        ck_assert_int_eq(selection_solve(&s, &options, &answer, &e), 0);
        ck_assert_double_eq_tol(answer.cost, 10.1, 1e-12);
        ck_assert_int_eq(answer.status, fault ? SELECTION_UNPROVED : SELECTION_OPTIMAL);
        if (fault)
            ck_assert_msg(strstr(answer.reason, reasons[fault]), "%s", answer.reason);
        options.milp_fault = MILP_FAULT_NONE;
        ck_assert_int_eq(selection_solve(&s, &options, &answer, &e), 0);
        ck_assert_int_eq(answer.status, SELECTION_OPTIMAL);
        arena_done(&a);
    }
}
END_TEST

/* No time: an answer, a bound under it and the gap between. */
START_TEST(no_time_gives_our_own)
{
    struct arena a;
    struct selection s;
    struct selection_answer answer;
    struct selection_options options = {.deadline_ms = 0};
    struct err e = {0};
    arena_init(&a, 0);
    two_readers(&s, &a);
    ck_assert_int_eq(selection_solve(&s, &options, &answer, &e), 0);
    ck_assert_str_eq(selection_status_name(answer.status), "deadline");
    ck_assert_double_eq_tol(answer.cost, 10.1, 1e-12);
    ck_assert_double_le(answer.bound, 10.1);
    ck_assert_double_eq_tol(answer.gap, (10.1 - answer.bound) / 10.1, 1e-12);
    ck_assert_double_gt(answer.gap, 0);
    arena_done(&a);
}
END_TEST

START_TEST(broken_problems_are_refused)
{
    struct arena a;
    struct selection s;
    struct err e = {0};
    arena_init(&a, 0);
    selection_init(&s, &a);
    selection_add_group(&s, true);
    ck_assert_int_eq(selection_check(&s, &e), ERR_INTERNAL);
    selection_add_choice(&s, 1, 0);
    ck_assert_int_eq(selection_check(&s, &e), 0);
    selection_need(&s, 0, 0); /* there is no item */
    ck_assert_int_eq(selection_check(&s, &e), ERR_INTERNAL);
    selection_add_item(&s, 1, 0, 0, 0);
    ck_assert_int_eq(selection_check(&s, &e), 0);
    selection_require(&s, 0, 0); /* itself */
    ck_assert_int_eq(selection_check(&s, &e), ERR_INTERNAL);
    s.items[0].n = 0;
    selection_reach(&s, 0); /* its own group */
    ck_assert_int_eq(selection_check(&s, &e), ERR_INTERNAL);
    s.choices[0].reaches_n = 0;
    s.choices[0].cost = NAN;
    ck_assert_int_eq(selection_check(&s, &e), ERR_INTERNAL);
    s.choices[0].cost = -1;
    ck_assert_int_eq(selection_check(&s, &e), ERR_INTERNAL);
    arena_done(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/selection");
    TCase *tc = tcase_create("selection");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, every_method_finds_the_least);
    tcase_add_test(tc, shared_items_are_paid_once);
    tcase_add_test(tc, reached_groups_are_answered_once);
    tcase_add_test(tc, solver_faults_are_survived);
    tcase_add_test(tc, no_time_gives_our_own);
    tcase_add_test(tc, broken_problems_are_refused);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
