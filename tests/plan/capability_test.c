/* The capability table, row by row as docs/PLANNER.md has it: what inputs a merge takes, and what is left of a
 * readout's error after it. Planner, checks and executor ask nothing else. */
#include "suite.h"

#include "kernels/sketch.h"
#include "plan/coverage.h"

#define ROW(f, rule, ...)                                                                                              \
    {                                                                                                                  \
        FAMILY_##f, rule,                                                                                              \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define EXACT(s)                                                                                                       \
    {                                                                                                                  \
        STATISTIC_##s, MERGED_EXACT                                                                                    \
    }
#define AS_UNION(s)                                                                                                    \
    {                                                                                                                  \
        STATISTIC_##s, MERGED_AS_UNION                                                                                 \
    }
#define APPROXIMATE(s)                                                                                                 \
    {                                                                                                                  \
        STATISTIC_##s, MERGED_APPROXIMATE                                                                              \
    }

static const struct {
    enum family family;
    enum merge_rule rule;
    struct {
        enum statistic statistic;
        enum merged_error merged;
    } readouts[10];
} rows[] = {
    ROW(SUM, MERGE_DISJOINT, EXACT(SUM), EXACT(COUNT), EXACT(AVG), EXACT(PRESENT)),
    ROW(COUNT, MERGE_DISJOINT, EXACT(COUNT), EXACT(PRESENT)),
    ROW(MOMENTS, MERGE_DISJOINT, EXACT(STDDEV), EXACT(STDVAR)),
    ROW(REGRESSION, MERGE_DISJOINT, EXACT(DERIV), EXACT(PREDICT_LINEAR)),
    ROW(MIN, MERGE_MAY_OVERLAP, EXACT(MIN)),
    ROW(MAX, MERGE_MAY_OVERLAP, EXACT(MAX)),
    ROW(COUNTER, MERGE_DISJOINT_TIME, EXACT(FIRST), EXACT(LAST), EXACT(CHANGES), EXACT(RESETS), EXACT(RATE),
        EXACT(INCREASE), EXACT(DELTA), EXACT(IDELTA), EXACT(IRATE), EXACT(COUNT)),
    ROW(VALUES, MERGE_DISJOINT, EXACT(QUANTILE)),
    ROW(DISTINCT_SET, MERGE_MAY_OVERLAP, EXACT(DISTINCT)),
    ROW(KLL, MERGE_DISJOINT, AS_UNION(QUANTILE)),
    ROW(DDSKETCH, MERGE_DISJOINT, AS_UNION(QUANTILE)),
    ROW(HLL, MERGE_MAY_OVERLAP, AS_UNION(DISTINCT)),
    ROW(KMV, MERGE_MAY_OVERLAP, AS_UNION(DISTINCT)),
    ROW(CMS, MERGE_DISJOINT, AS_UNION(POINT_COUNT)),
    ROW(COUNTSKETCH, MERGE_DISJOINT, AS_UNION(POINT_COUNT)),
    ROW(CMS_HEAP, MERGE_DISJOINT, AS_UNION(POINT_COUNT), APPROXIMATE(TOPK)),
    ROW(COUNTSKETCH_HEAP, MERGE_DISJOINT, AS_UNION(POINT_COUNT), APPROXIMATE(TOPK)),
    ROW(UNIVMON, MERGE_DISJOINT, EXACT(L1), AS_UNION(L2), APPROXIMATE(DISTINCT), APPROXIMATE(ENTROPY),
        APPROXIMATE(TOPK)),
    ROW(HYDRA_CMS, MERGE_DISJOINT, AS_UNION(POINT_COUNT)),
    ROW(HYDRA_COUNTSKETCH, MERGE_DISJOINT, AS_UNION(POINT_COUNT)),
    ROW(HYDRA_KLL, MERGE_NONE),
};

START_TEST(rows_are_as_documented)
{
    bool seen[FAMILY_END] = {false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct family_info *f = family_get(rows[i].family);
        ck_assert_ptr_nonnull(f);
        seen[f->family] = true;
        ck_assert_msg(f->merge == rows[i].rule, "%s: %s", f->name, merge_rule_name(f->merge));
        for (int k = 0; k < 10 && rows[i].readouts[k].statistic; k++) {
            const struct family_readout *r = family_readout(f, rows[i].readouts[k].statistic);
            const char *name = statistic_name(rows[i].readouts[k].statistic);
            ck_assert_msg(r, "%s has no %s", f->name, name);
            ck_assert_msg(r->merged == rows[i].readouts[k].merged, "%s of %s: %s", name, f->name,
                          merged_error_name(r->merged));
        }
    }
    for (int f = FAMILY_INVALID + 1; f < FAMILY_END; f++)
        ck_assert_msg(seen[f], "%s is in no row", family_get((enum family)f)->name);
}
END_TEST

/* Whole counts cancel; float sums do not: 1e16 + 1 - 1e16. */
START_TEST(what_subtracts)
{
    static const enum family subtracting[] = {FAMILY_COUNT, FAMILY_CMS, FAMILY_COUNTSKETCH, FAMILY_HYDRA_CMS,
                                              FAMILY_HYDRA_COUNTSKETCH};
    for (int f = FAMILY_INVALID + 1; f < FAMILY_END; f++) {
        bool wanted = false;
        for (size_t i = 0; i < sizeof subtracting / sizeof *subtracting; i++)
            wanted |= subtracting[i] == (enum family)f;
        ck_assert_msg(family_get((enum family)f)->subtracts == wanted, "%s", family_get((enum family)f)->name);
    }
}
END_TEST

START_TEST(unknown_families_fail_closed)
{
    struct err e = {0};
    struct region region;
    struct coverage chain;
    ck_assert_ptr_null(family_get(FAMILY_INVALID));
    ck_assert_ptr_null(family_get(FAMILY_END));
    ck_assert_int_eq(coverage_chain(1, FAMILY_END, 0, 10, 2, &region, &chain, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "no_merge"));
    ck_assert_int_eq(coverage_chain(1, FAMILY_HYDRA_KLL, 0, 10, 2, &region, &chain, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "no_merge"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/capability");
    TCase *tcase = tcase_create("capability");
    tcase_add_test(tcase, rows_are_as_documented);
    tcase_add_test(tcase, what_subtracts);
    tcase_add_test(tcase, unknown_families_fail_closed);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
