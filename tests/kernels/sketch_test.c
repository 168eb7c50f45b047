/* The family table: complete, consistent with itself and with base/err.h, and its formulas against published figures.
 */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "kernels/sketch.h"
#include "suite.h"

START_TEST(error_numbers_are_those_of_base)
{
    ck_assert_int_eq(SKETCH_OK, ERR_OK);
    ck_assert_int_eq(SKETCH_BAD_DATA, ERR_BAD_DATA);
    ck_assert_int_eq(SKETCH_CORRUPT, ERR_CORRUPT);
    ck_assert_int_eq(SKETCH_NO_ROOM, ERR_NO_ROOM);
    ck_assert_int_eq(SKETCH_MISMATCH, ERR_MISMATCH);
}
END_TEST

START_TEST(family_numbers_are_stable)
{
    static const char *const names[] = {"sum",         "min",
                                        "max",         "count",
                                        "moments",     "counter",
                                        "kll",         "ddsketch",
                                        "hll",         "values",
                                        "cms",         "countsketch",
                                        "cms_heap",    "countsketch_heap",
                                        "kmv",         "univmon",
                                        "hydra_cms",   "hydra_countsketch",
                                        "hydra_kll",   "regression",
                                        "distinct_set"};
    ck_assert_int_eq(FAMILY_END - 1, sizeof names / sizeof *names);
    for (int i = 1; i < FAMILY_END; i++) {
        const struct family_info *f = family_get((enum family)i);
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(f->family, i);
        ck_assert_str_eq(f->name, names[i - 1]);
        ck_assert_ptr_eq(family_by_name(f->name, strlen(f->name)), f);
    }
    ck_assert_ptr_null(family_get(FAMILY_INVALID));
    ck_assert_ptr_null(family_get(FAMILY_END));
    ck_assert_ptr_null(family_get((enum family) - 1));
    ck_assert_ptr_null(family_by_name("sumo", 4));
    ck_assert_ptr_null(family_by_name("su", 2));
    ck_assert_ptr_null(family_by_name("", 0));
}
END_TEST

START_TEST(every_row_is_complete)
{
    for (int i = 1; i < FAMILY_END; i++) {
        const struct family_info *f = family_get((enum family)i);
        ck_assert(f->check_params && f->size_bound && f->scratch_bound && f->build && f->merge_k && f->estimate &&
                  f->validate && f->flags && f->count);
        ck_assert(*merge_rule_name(f->merge));
        ck_assert_uint_eq(f->fixed_size % 8, 0);
        ck_assert_uint_gt(f->readouts_n, 0);
        for (uint32_t r = 0; r < f->readouts_n; r++) {
            ck_assert(*statistic_name(f->readouts[r].statistic));
            ck_assert(*merged_error_name(f->readouts[r].merged));
            ck_assert_ptr_eq(family_readout(f, f->readouts[r].statistic), &f->readouts[r]); /* listed once */
        }
        ck_assert_ptr_null(family_readout(f, STATISTIC_INVALID));
    }
    ck_assert_ptr_null(family_readout(family_get(FAMILY_COUNTER), STATISTIC_QUANTILE));
}
END_TEST

START_TEST(statistics_are_found_by_both_names)
{
    for (int i = 1; i < STATISTIC_END; i++) {
        enum statistic s = (enum statistic)i;
        const char *name = statistic_name(s), *function = statistic_function(s);
        ck_assert_int_eq(statistic_by_name(name, strlen(name)), s);
        if (*function)
            ck_assert_int_eq(statistic_by_function(function, strlen(function)), s);
    }
    ck_assert_int_eq(statistic_by_function("avg_over_time", 13), STATISTIC_AVG);
    ck_assert_int_eq(statistic_by_function("rate", 4), STATISTIC_RATE);
    ck_assert_int_eq(statistic_by_function("rates", 5), STATISTIC_INVALID);
    ck_assert_int_eq(statistic_by_function("", 0), STATISTIC_INVALID); /* quantile_rank has none */
    ck_assert_int_eq(statistic_by_name("", 0), STATISTIC_INVALID);
    ck_assert_str_eq(statistic_name(STATISTIC_INVALID), "");
    ck_assert_str_eq(statistic_name(STATISTIC_END), "");
    ck_assert_str_eq(statistic_function(STATISTIC_END), "");
}
END_TEST

START_TEST(accuracy_formulas)
{
    /* Apache DataSketches publishes 1.33 % for KLL of k = 200; Flajolet et al. 0.81 % for HyperLogLog of 2^14. */
    ck_assert_double_eq_tol(kll_rank_error(200), 0.0133, 5e-5);
    ck_assert_double_eq_tol(hll_standard_error(14), 0.008125, 1e-12);
    for (uint32_t k = 8; k <= 65535; k += 1 + k / 3) {
        ck_assert_uint_eq(kll_k_for_rank_error(kll_rank_error(k)), k);
        if (k > 8)
            ck_assert_double_gt(kll_rank_error(k - 1), kll_rank_error(k));
    }
    for (uint32_t p = 4; p <= 18; p++)
        ck_assert_uint_eq(hll_p_for_standard_error(hll_standard_error(p)), p);
    ck_assert_uint_eq(kll_k_for_rank_error(1), 8);
    ck_assert_uint_eq(kll_k_for_rank_error(1e-9), 0);
    ck_assert_uint_eq(kll_k_for_rank_error(NAN), 0);
    ck_assert_uint_eq(hll_p_for_standard_error(1), 4);
    ck_assert_uint_eq(hll_p_for_standard_error(1e-4), 0);
    ck_assert_uint_eq(hll_p_for_standard_error(-1), 0);
    /* Count-Min: e/w with probability 1 - e^-d; 0.01 and 0.01 need 272 x 5. CountSketch: 3 rows fail with 3 (1/3)^2
     * (2/3) + (1/3)^3 = 7/27. */
    ck_assert_uint_eq(cms_width_for_error(0.01), 272);
    ck_assert_uint_eq(cms_depth_for_failure(0.01), 5);
    ck_assert_double_eq_tol(cms_error(272), 0.00999368, 1e-8);
    ck_assert_uint_eq(countsketch_width_for_error(0.1), 300);
    ck_assert_double_eq_tol(countsketch_failure(3), 7 / 27.0, 1e-15);
    ck_assert_double_eq_tol(countsketch_failure(1), 1 / 3.0, 1e-15);
    /* L2, one row: (2 / (800 * 0.01))^(1/2) = 0.5 of its square, 1 - 0.5^(1/2) of it. Three rows miss with 3 p^2 - 2
     * p^3, 0.028 for p = 0.1: (2 / (8000 * 0.1))^(1/2) = 0.05. One row would need 28,572 counters, five 5 * 5,143. */
    ck_assert_double_eq_tol(countsketch_l2_error(800, 1, 0.01), 1 - sqrt(0.5), 1e-9);
    ck_assert_double_eq_tol(countsketch_l2_error(8000, 3, 0.028), 1 - sqrt(0.95), 1e-9);
    ck_assert_double_nan(countsketch_l2_error(8, 1, 0.01));
    ck_assert_double_nan(countsketch_l2_error(800, 1, 0));
    ck_assert_double_nan(countsketch_l2_error(7, 1, 0.5));
    uint32_t width = 0, depth = 0;
    ck_assert(countsketch_l2_shape(1 - sqrt(0.95), 0.028, 1 << 22, &width, &depth));
    ck_assert_uint_eq(depth, 3);
    ck_assert(width >= 8000 && width <= 8001);
    ck_assert(countsketch_l2_error(width, depth, 0.028) <= (1 - sqrt(0.95)) * (1 + 1e-9));
    ck_assert(!countsketch_l2_shape(1 - sqrt(0.95), 0.028, 23999, &width, &depth));
    ck_assert(!countsketch_l2_shape(0, 0.01, 1 << 22, &width, &depth));
    ck_assert_uint_eq(countsketch_depth_for_failure(7 / 27.0 + 1e-9), 3);
    ck_assert_uint_eq(countsketch_depth_for_failure(1e-9), 0);
    ck_assert_double_eq_tol(kmv_standard_error(102), 0.1, 1e-15);
    ck_assert_uint_eq(kmv_k_for_standard_error(0.02), 2502);
    ck_assert_double_nan(cms_error(7));
    ck_assert_double_nan(cms_failure(0));
    ck_assert_double_nan(countsketch_failure(17));
    ck_assert_double_nan(kll_rank_error(7));
    ck_assert_double_nan(kll_rank_error(65536));
    ck_assert_double_nan(hll_standard_error(3));
    ck_assert_double_nan(hll_standard_error(40));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels/sketch");
    TCase *c = tcase_create("sketch");
    tcase_add_test(c, error_numbers_are_those_of_base);
    tcase_add_test(c, family_numbers_are_stable);
    tcase_add_test(c, every_row_is_complete);
    tcase_add_test(c, statistics_are_found_by_both_names);
    tcase_add_test(c, accuracy_formulas);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
