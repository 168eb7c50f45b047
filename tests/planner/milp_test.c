/*
 * The solver's wrapper on programs whose optimum is known by hand or by trying every whole vector.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/milp.h"

enum { PROGRAMS_N = 300, COLUMNS_MAX = 8 };

static void new_program(struct milp *m, struct arena *a, uint32_t columns_n)
{
    *m = (struct milp){.arena = a,
                       .columns_n = columns_n,
                       .costs = arena_zalloc(a, columns_n * sizeof *m->costs),
                       .whole = arena_zalloc(a, columns_n * sizeof *m->whole)};
}

/* Four things of value 10, 13, 7, 8 and weight 5, 6, 3, 4, at most 10 together: the second and the last, 21. In
 * parts, the dearest by weight first: 7 + 13 fit, and of the last a quarter, worth 2: 22. */
static void knapsack(struct milp *m, struct arena *a, bool whole)
{
    static const double values[] = {10, 13, 7, 8}, weights[] = {5, 6, 3, 4};
    new_program(m, a, 4);
    milp_add_row(m, -INFINITY, 10);
    for (uint32_t c = 0; c < 4; c++) {
        m->costs[c] = -values[c];
        m->whole[c] = whole;
        milp_add_term(m, c, weights[c]);
    }
}

START_TEST(knapsacks)
{
    struct arena a;
    struct milp m;
    struct milp_options options = {.time_ms = -1};
    double values[4];
    struct milp_answer answer = {.values = values};
    arena_init(&a, 0);
    knapsack(&m, &a, true);
    ck_assert_int_eq(milp_solve(&m, NULL, &options, &answer), MILP_OPTIMAL);
    ck_assert_double_eq_tol(answer.objective, -21, 1e-9);
    ck_assert_double_eq_tol(answer.bound, -21, 1e-9);
    ck_assert(values[0] == 0 && values[1] == 1 && values[2] == 0 && values[3] == 1);
    ck_assert_int_eq(milp_broken_row(&m, values, MILP_ROUNDING), -1);
    /* Beginning with a worse solution, and with the best, ends alike. */
    double starts[2][4] = {{1, 0, 1, 0}, {0, 1, 0, 1}};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(milp_solve(&m, starts[i], &options, &answer), MILP_OPTIMAL);
        ck_assert_double_eq_tol(answer.objective, -21, 1e-9);
    }
    knapsack(&m, &a, false);
    ck_assert_int_eq(milp_solve(&m, NULL, &options, &answer), MILP_OPTIMAL);
    ck_assert_double_eq_tol(answer.objective, -22, 1e-9);
    arena_done(&a);
}
END_TEST

START_TEST(what_has_no_solution)
{
    struct arena a;
    struct milp m;
    struct milp_options options = {.time_ms = -1};
    double values[2];
    struct milp_answer answer = {.values = values};
    arena_init(&a, 0);
    /* x + y = 1.5 has fractions for a solution, whole numbers not. */
    new_program(&m, &a, 2);
    milp_add_row(&m, 1.5, 1.5);
    milp_add_term(&m, 0, 1);
    milp_add_term(&m, 1, 1);
    ck_assert_int_eq(milp_solve(&m, NULL, &options, &answer), MILP_OPTIMAL);
    m.whole[0] = m.whole[1] = true;
    ck_assert_int_eq(milp_solve(&m, NULL, &options, &answer), MILP_INFEASIBLE);
    ck_assert(!answer.has_values);
    m.rows[0].low = 3;
    m.rows[0].high = INFINITY;
    ck_assert_int_eq(milp_solve(&m, NULL, &options, &answer), MILP_INFEASIBLE);
    options.time_ms = 0;
    ck_assert_int_eq(milp_solve(&m, NULL, &options, &answer), MILP_STOPPED);
    ck_assert(!answer.has_values && isinf(answer.bound));
    new_program(&m, &a, 0);
    ck_assert_int_eq(milp_solve(&m, NULL, &options, &answer), MILP_FAILED);
    ck_assert_ptr_nonnull(answer.reason);
    arena_done(&a);
}
END_TEST

/* A call for which the library ends the process comes back as a failure, and the next program is solved. */
START_TEST(errors_of_the_library_come_back)
{
    struct arena a;
    struct milp m;
    double values[4];
    struct milp_answer answer = {.values = values};
    arena_init(&a, 0);
    knapsack(&m, &a, true);
    for (int i = 0; i < 3; i++) {
        struct milp_options broken = {.time_ms = -1, .fault = MILP_FAULT_CALL}, sound = {.time_ms = -1};
        ck_assert_int_eq(milp_solve(&m, NULL, &broken, &answer), MILP_FAILED);
        ck_assert_msg(strstr(answer.reason, "refused a call"), "%s", answer.reason);
        ck_assert(!answer.has_values);
        broken.fault = MILP_FAULT_INFEASIBLE;
        ck_assert_int_eq(milp_solve(&m, NULL, &broken, &answer), MILP_INFEASIBLE);
        ck_assert_int_eq(milp_solve(&m, NULL, &sound, &answer), MILP_OPTIMAL);
        ck_assert_double_eq_tol(answer.objective, -21, 1e-9);
    }
    arena_done(&a);
}
END_TEST

/* The rows as they are read: 1 <= x + 2y <= 2. */
START_TEST(broken_rows_are_found)
{
    struct arena a;
    struct milp m;
    arena_init(&a, 0);
    new_program(&m, &a, 2);
    milp_add_row(&m, -INFINITY, INFINITY);
    milp_add_term(&m, 0, 1);
    milp_add_row(&m, 1, 2);
    milp_add_term(&m, 0, 1);
    milp_add_term(&m, 1, 2);
    static const struct {
        double values[2];
        int row;
    } cases[] = {{{0, 0}, 1}, {{1, 0}, -1}, {{0, 1}, -1}, {{1, 1}, 1}, {{0.5, 0.25}, -1}, {{0.9, 0}, 1}, {{NAN, 0}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(milp_broken_row(&m, cases[i].values, MILP_ROUNDING), cases[i].row);
    /* 2.01 of at most 2, by terms of 3.01 in all with the 1. */
    double over[2] = {0.01, 1};
    ck_assert_int_eq(milp_broken_row(&m, over, 0.003), 1);
    ck_assert_int_eq(milp_broken_row(&m, over, 0.004), -1);
    arena_done(&a);
}
END_TEST

static void random_program(struct milp *m, struct arena *a)
{
    new_program(m, a, 1 + (uint32_t)(random() % COLUMNS_MAX));
    for (uint32_t c = 0; c < m->columns_n; c++) {
        m->costs[c] = (double)(random() % 41) - 20;
        m->whole[c] = true;
    }
    for (long r = random() % 5; r > 0; r--) {
        double low = (double)(random() % 9) - 6;
        milp_add_row(m, random() % 3 ? low : -INFINITY, random() % 3 ? low + (double)(random() % 6) : INFINITY);
        for (uint32_t c = 0; c < m->columns_n; c++) {
            if (random() % 2)
                milp_add_term(m, c, (double)(random() % 9) - 4);
        }
    }
}

START_TEST(random_programs_against_all_vectors)
{
    srandom((unsigned)suite_seed("random_programs_against_all_vectors"));
    int infeasible_n = 0;
    for (int n = 0; n < PROGRAMS_N; n++) {
        struct arena a;
        struct milp m;
        struct milp_options options = {.time_ms = -1};
        double values[COLUMNS_MAX], best = INFINITY, found[COLUMNS_MAX];
        struct milp_answer answer = {.values = found};
        arena_init(&a, 0);
        random_program(&m, &a);
        for (uint32_t bits = 0; bits < UINT32_C(1) << m.columns_n; bits++) {
            double cost = 0;
            bool fits = true;
            for (uint32_t c = 0; c < m.columns_n; c++) {
                values[c] = bits >> c & 1;
                cost += values[c] * m.costs[c];
            }
            for (uint32_t r = 0; r < m.rows_n; r++) {
                double sum = 0;
                for (uint32_t k = 0; k < m.rows[r].n; k++)
                    sum += m.terms[m.rows[r].first + k].factor * values[m.terms[m.rows[r].first + k].column];
                fits &= sum >= m.rows[r].low && sum <= m.rows[r].high;
            }
            ck_assert(fits == (milp_broken_row(&m, values, MILP_ROUNDING) < 0));
            best = fits ? fmin(best, cost) : best;
        }
        enum milp_status status = milp_solve(&m, NULL, &options, &answer);
        ck_assert_msg(status == (isinf(best) ? MILP_INFEASIBLE : MILP_OPTIMAL), "program %d: status %d", n, status);
        infeasible_n += isinf(best);
        if (!isinf(best))
            ck_assert_msg(fabs(answer.objective - best) <= 1e-6, "program %d: %g, not %g", n, answer.objective, best);
        arena_done(&a);
    }
    printf("random_programs_against_all_vectors: %d programs, %d without a solution; GLPK %s\n", PROGRAMS_N,
           infeasible_n, milp_solver_version());
    ck_assert_int_gt(infeasible_n, 20);
    ck_assert_int_lt(infeasible_n, PROGRAMS_N / 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/milp");
    TCase *tc = tcase_create("milp");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, knapsacks);
    tcase_add_test(tc, what_has_no_solution);
    tcase_add_test(tc, errors_of_the_library_come_back);
    tcase_add_test(tc, broken_rows_are_found);
    tcase_add_test(tc, random_programs_against_all_vectors);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
