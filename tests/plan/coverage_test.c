/* plan/coverage: the worked examples of docs/PLANNER.md, and the closed form of chains against their expansion. */
#include "suite.h"

#include <string.h>

#include "plan/coverage.h"

#define MINUTE INT64_C(60000)

static struct arena arena;
static struct err e;

static void setup(void)
{
    arena_init(&arena, 0);
    e = (struct err){0};
}

static void teardown(void)
{
    arena_done(&arena);
}

static const struct label us[] = {{STR("region"), STR("us")}}, api[] = {{STR("job"), STR("api")}},
                          web[] = {{STR("job"), STR("web")}}, job_a[] = {{STR("j"), STR("a")}},
                          job_b[] = {{STR("j"), STR("b")}};
#define WHERE(pairs) ((struct labels){pairs, 1})
#define EVERYTHING ((struct labels){NULL, 0})

static struct coverage state(enum family family, const struct region *region)
{
    return (struct coverage){.definition = 1, .family = family, .regions = region, .regions_n = 1};
}

START_TEST(idempotent_states_are_covered_once)
{
    const struct region region = {-MINUTE, 0, WHERE(us)};
    const struct coverage inputs[] = {state(FAMILY_HLL, &region), state(FAMILY_HLL, &region)};
    struct coverage merged;
    ck_assert_int_eq(coverage_merge(inputs, 2, &arena, &merged, &e), 0);
    ck_assert(coverage_is(&merged, -MINUTE, 0, &WHERE(us)));
    ck_assert(!coverage_is(&merged, -MINUTE, 0, &EVERYTHING));
}
END_TEST

static void expect_refusal(const struct coverage *inputs, uint32_t n, const char *rule)
{
    struct coverage merged;
    ck_assert_int_eq(coverage_merge(inputs, n, &arena, &merged, &e), ERR_BAD_DATA);
    ck_assert_msg(strstr(e.message, rule) == e.message, "wanted %s, got: %s", rule, e.message);
}

START_TEST(samples_count_once)
{
    const struct region region = {-MINUTE, 0, WHERE(us)};
    const struct coverage inputs[] = {state(FAMILY_KLL, &region), state(FAMILY_KLL, &region)};
    expect_refusal(inputs, 2, "inputs_overlap{disjoint}");
}
END_TEST

START_TEST(counters_join_in_time_only)
{
    const struct region regions[] = {{-MINUTE, 0, WHERE(api)}, {-MINUTE, 0, WHERE(web)}};
    const struct coverage inputs[] = {state(FAMILY_COUNTER, &regions[0]), state(FAMILY_COUNTER, &regions[1])};
    expect_refusal(inputs, 2, "inputs_overlap{disjoint");
    /* A sum does not mind. */
    const struct coverage sums[] = {state(FAMILY_SUM, &regions[0]), state(FAMILY_SUM, &regions[1])};
    struct coverage merged;
    ck_assert_int_eq(coverage_merge(sums, 2, &arena, &merged, &e), 0);
    ck_assert_uint_eq(merged.regions_n, 2);
}
END_TEST

START_TEST(neighbours_in_time_become_one)
{
    const struct region regions[] = {{-MINUTE, 0, EVERYTHING}, {-2 * MINUTE, -MINUTE, EVERYTHING}};
    const struct coverage inputs[] = {state(FAMILY_COUNTER, &regions[0]), state(FAMILY_COUNTER, &regions[1])};
    struct coverage merged;
    ck_assert_int_eq(coverage_merge(inputs, 2, &arena, &merged, &e), 0);
    ck_assert(coverage_is(&merged, -2 * MINUTE, 0, &EVERYTHING));
}
END_TEST

/* (0,10]{j=a}, (1,2]{j=b}, (3,4]{j=a}: no two neighbours overlap, the first and the last do. */
START_TEST(overlap_across_a_neighbour)
{
    const struct region regions[] = {{0, 10, WHERE(job_a)}, {1, 2, WHERE(job_b)}, {3, 4, WHERE(job_a)}};
    const struct coverage inputs[] = {state(FAMILY_SUM, &regions[0]), state(FAMILY_SUM, &regions[1]),
                                      state(FAMILY_SUM, &regions[2])};
    expect_refusal(inputs, 3, "inputs_overlap{disjoint}");
    struct coverage merged;
    ck_assert_int_eq(coverage_merge(inputs, 2, &arena, &merged, &e), 0);
}
END_TEST

START_TEST(boxes_of_different_labels_meet)
{
    const struct region regions[] = {{0, 10, WHERE(us)}, {5, 15, WHERE(api)}};
    const struct coverage inputs[] = {state(FAMILY_SUM, &regions[0]), state(FAMILY_SUM, &regions[1])};
    expect_refusal(inputs, 2, "inputs_overlap{disjoint}");
}
END_TEST

START_TEST(other_rules)
{
    const struct region regions[] = {{0, 10, EVERYTHING}, {10, 20, EVERYTHING}};
    struct coverage inputs[] = {state(FAMILY_SUM, &regions[0]), state(FAMILY_SUM, &regions[1])};
    expect_refusal(inputs, 0, "empty_merge");
    inputs[1].definition = 2;
    expect_refusal(inputs, 2, "definition_mismatch");
    inputs[0].family = FAMILY_END;
    expect_refusal(inputs, 1, "no_merge");
}
END_TEST

START_TEST(a_gap_is_not_the_window)
{
    const struct region regions[] = {{0, 10, EVERYTHING}, {11, 20, EVERYTHING}};
    const struct coverage inputs[] = {state(FAMILY_SUM, &regions[0]), state(FAMILY_SUM, &regions[1])};
    struct coverage merged;
    ck_assert_int_eq(coverage_merge(inputs, 2, &arena, &merged, &e), 0);
    ck_assert(!coverage_is(&merged, 0, 20, &EVERYTHING));
}
END_TEST

/* Groups by (instance, job) that agree in job: each its own box, also the one whose series have no instance, which is
 * an empty one, not any. Over two panes of a minute. */
START_TEST(groups_are_boxes_of_their_own)
{
    static const struct label first[] = {{STR("instance"), STR("1")}, {STR("job"), STR("api")}},
                              none[] = {{STR("instance"), STR("")}, {STR("job"), STR("api")}};
    const struct region regions[] = {{-MINUTE, 0, {first, 2}},
                                     {-MINUTE, 0, {none, 2}},
                                     {-2 * MINUTE, -MINUTE, {first, 2}},
                                     {-2 * MINUTE, -MINUTE, {none, 2}}};
    struct coverage inputs[4], merged;
    for (uint32_t i = 0; i < 4; i++)
        inputs[i] = state(FAMILY_SUM, &regions[i]);
    ck_assert_msg(coverage_merge(inputs, 4, &arena, &merged, &e) == 0, "%s", e.message);
    ck_assert_uint_eq(merged.regions_n, 2);
    for (uint32_t i = 0; i < 2; i++)
        ck_assert(merged.regions[i].start_ms == -2 * MINUTE && merged.regions[i].end_ms == 0);
    /* One group's state twice counts its samples twice; all of the job besides one of its instances, too. */
    inputs[3] = inputs[2];
    expect_refusal(inputs, 4, "inputs_overlap{disjoint}");
    const struct region job = {-MINUTE, 0, WHERE(api)};
    inputs[1] = state(FAMILY_SUM, &job);
    expect_refusal(inputs, 2, "inputs_overlap{disjoint}");
}
END_TEST

static const struct str ij[] = {STR("instance"), STR("job")}, j[] = {STR("job")}, path[] = {STR("path")};
static const struct {
    enum family family;
    const struct str *reduce;
    uint32_t reduce_n;
    const struct str *by;
    uint32_t by_n;
    const char *rule; /* NULL: sound */
} groupings[] = {
    {FAMILY_SUM, ij, 2, ij, 2, NULL},
    {FAMILY_SUM, ij, 2, j, 1, NULL},
    {FAMILY_SUM, ij, 2, NULL, 0, NULL},
    {FAMILY_SUM, NULL, 0, NULL, 0, NULL},
    {FAMILY_HLL, ij, 2, j, 1, NULL},
    {FAMILY_SUM, j, 1, ij, 2, "definition_mismatch: its states are not of one value of the label instance"},
    {FAMILY_SUM, ij, 2, path, 1, "definition_mismatch"},
    {FAMILY_SUM, NULL, 0, j, 1, "definition_mismatch"},
    {FAMILY_COUNTER, ij, 2, j, 1, "inputs_overlap{disjoint"},
    {FAMILY_COUNTER, ij, 2, ij, 2, NULL},
    {FAMILY_HYDRA_KLL, ij, 2, j, 1, "no_merge"},
};

START_TEST(merges_across_groups)
{
    int rc = coverage_groups(groupings[_i].family, groupings[_i].reduce, groupings[_i].reduce_n, groupings[_i].by,
                             groupings[_i].by_n, &e);
    ck_assert_int_eq(rc, groupings[_i].rule ? ERR_BAD_DATA : 0);
    if (groupings[_i].rule)
        ck_assert_msg(strstr(e.message, groupings[_i].rule) == e.message, "%s", e.message);
}
END_TEST

/* The expansion of a chain, in a scrambled order, covers what its closed form says. */
START_TEST(chain_equals_its_expansion)
{
    static const enum family families[] = {FAMILY_SUM, FAMILY_COUNTER, FAMILY_HLL, FAMILY_KLL};
    srand((unsigned)suite_seed("chain_equals_its_expansion"));
    for (int round = 0; round < 300; round++) {
        enum family family = families[rand() % 4];
        int64_t end_ms = rand() % 2000 - 1000, width_ms = 1 + rand() % 50;
        uint32_t count = 1 + (uint32_t)rand() % 40;
        struct region regions[40], whole;
        struct coverage inputs[40], chain, merged;
        uint32_t turn = (uint32_t)rand() % count;
        for (uint32_t k = 0; k < count; k++) {
            int64_t i = (k + turn) % count;
            regions[k] = (struct region){end_ms - (i + 1) * width_ms, end_ms - i * width_ms, EVERYTHING};
            inputs[k] = state(family, &regions[k]);
        }
        ck_assert_int_eq(coverage_chain(1, family, end_ms, width_ms, count, &whole, &chain, &e), 0);
        ck_assert_int_eq(coverage_merge(inputs, count, &arena, &merged, &e), 0);
        ck_assert(coverage_is(&merged, chain.regions[0].start_ms, chain.regions[0].end_ms, &EVERYTHING));
        ck_assert(coverage_is(&chain, end_ms - count * width_ms, end_ms, &EVERYTHING));
    }
}
END_TEST

START_TEST(chains_that_are_none)
{
    struct region region;
    struct coverage chain;
    ck_assert_int_eq(coverage_chain(1, FAMILY_SUM, 0, 10, 0, &region, &chain, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "empty_merge"));
    ck_assert_int_eq(coverage_chain(1, FAMILY_SUM, 0, INT64_MAX, 2, &region, &chain, &e), ERR_BAD_DATA);
    ck_assert_int_eq(coverage_chain(1, FAMILY_SUM, INT64_MIN, 1, 1, &region, &chain, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "chain_does_not_tile"));
}
END_TEST

/* A day by the minute: neighbours are compared, or nothing at all, since no two are open at once; never all pairs. */
START_TEST(a_day_of_panes)
{
    enum { PANES = 1440 };
    static struct region regions[PANES];
    static struct coverage inputs[PANES];
    static const enum family families[] = {FAMILY_COUNTER, FAMILY_KLL};
    for (int i = 0; i < PANES; i++) {
        regions[i] = (struct region){-(i + 1) * MINUTE, -i * MINUTE, EVERYTHING};
        inputs[i] = state(families[_i], &regions[i]);
    }
    struct coverage merged;
    ck_assert_int_eq(coverage_merge(inputs, PANES, &arena, &merged, &e), 0);
    ck_assert(coverage_is(&merged, -PANES * MINUTE, 0, &EVERYTHING));
    ck_assert_uint_eq(merged.compared, _i == 0 ? PANES - 1 : 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/coverage");
    TCase *tcase = tcase_create("coverage");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, idempotent_states_are_covered_once);
    tcase_add_test(tcase, samples_count_once);
    tcase_add_test(tcase, counters_join_in_time_only);
    tcase_add_test(tcase, neighbours_in_time_become_one);
    tcase_add_test(tcase, overlap_across_a_neighbour);
    tcase_add_test(tcase, boxes_of_different_labels_meet);
    tcase_add_test(tcase, other_rules);
    tcase_add_test(tcase, a_gap_is_not_the_window);
    tcase_add_test(tcase, groups_are_boxes_of_their_own);
    tcase_add_loop_test(tcase, merges_across_groups, 0, sizeof groupings / sizeof groupings[0]);
    tcase_add_test(tcase, chain_equals_its_expansion);
    tcase_add_test(tcase, chains_that_are_none);
    tcase_add_loop_test(tcase, a_day_of_panes, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
