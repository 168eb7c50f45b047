/*
 * executor/group_states: which series go into which state, and what each state then says. Expected values are sums over
 * the samples written here.
 */
#include "executor/group_states.h"

#include <math.h>

#include "fixture.h"
#include "suite.h"

static struct arena arena;
static struct group_states g;
static struct plan_view view;
static struct str reduce[2];
static const int64_t ends_ms[] = {1000, 2000};

static void setup(void)
{
    arena_init(&arena, 0);
}
static void teardown(void)
{
    group_states_done(&g);
    arena_done(&arena);
}

static void begin(enum family family, struct sketch_params params, struct view_input input, const char *by)
{
    struct err e = {0};
    group_states_done(&g);
    reduce[0] = str_of(by);
    view = (struct plan_view){
        .family = family, .params = params, .input = input, .reduce = reduce, .reduce_n = by[0] != 0};
    ck_assert_msg(group_states_init(&g, &view, 7, ends_ms, 2, &arena, &e) == 0, "%s", e.message);
}

/* n samples from `from` upward by 1, a ms apart, in the window; true when the series is in a state. */
static bool add(const char *series, uint32_t window, double from, uint32_t n)
{
    struct err e = {0};
    struct labels *labels = ARENA_ARRAY(&arena, struct labels, 1);
    int64_t times_ms[100];
    double values[100];
    bool member;
    fixture_parse_labels(series, &arena, labels);
    for (uint32_t i = 0; i < n; i++) {
        times_ms[i] = ends_ms[window] - 500 + i;
        values[i] = from + i;
    }
    ck_assert_int_eq(group_states_series(&g, labels, &member, &e), 0);
    if (member)
        ck_assert_msg(group_states_add(&g, window, times_ms, values, n, &e) == 0, "%s", e.message);
    return member;
}

static struct str state_of(const char *group, uint32_t window, uint64_t *ret_samples_n, int code)
{
    struct labels want;
    struct err e = {0};
    struct str state = {0};
    fixture_parse_labels(group, &arena, &want);
    for (uint32_t i = 0; i < g.groups.n; i++) {
        if (labels_eq(&g.groups.sets[i], &want)) {
            ck_assert_int_eq(group_states_get(&g, window, i, &state, ret_samples_n, &e), code);
            return state;
        }
    }
    ck_abort_msg("no group %s", group);
}

static double read_one(struct str state, uint32_t window, enum statistic statistic)
{
    const struct family_info *f = family_get(view.family);
    struct state_ref ref = {(const uint8_t *)state.p, (uint32_t)state.n, ends_ms[window]};
    const struct sketch_args args = {.end_ms = ends_ms[window]};
    double v;
    const char *reason = "";
    void *scratch = arena_alloc(&arena, f->scratch_bound(&view.params, 1000, 1));
    ck_assert_msg(f->validate(ref.bytes, ref.size, &view.params, &reason) == 0, "%s", reason);
    ck_assert_int_eq(f->estimate(&ref, 1, &view.params, statistic, &args, scratch, &v), SKETCH_OK);
    return v;
}

static void expect(const char *group, uint32_t window, enum statistic statistic, double value, uint64_t samples_n)
{
    uint64_t n;
    struct str state = state_of(group, window, &n, 0);
    ck_assert_uint_eq(n, samples_n);
    if (samples_n > 0)
        ck_assert_double_eq(read_one(state, window, statistic), value);
    else
        ck_assert_uint_eq(state.n, 0);
}

START_TEST(values_by_a_label)
{
    static const struct {
        enum family family;
        enum statistic statistic;
        double a0, none0, a1;
    } rows[] = {{FAMILY_SUM, STATISTIC_SUM, 1 + 2 + 10 + 11 + 12, -5, 100},
                {FAMILY_SUM, STATISTIC_COUNT, 5, 1, 1},
                {FAMILY_SUM, STATISTIC_PRESENT, 1, 1, 1},
                {FAMILY_COUNT, STATISTIC_COUNT, 5, 1, 1},
                {FAMILY_MIN, STATISTIC_MIN, 1, -5, 100},
                {FAMILY_MAX, STATISTIC_MAX, 12, -5, 100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].family, (struct sketch_params){0}, (struct view_input){.kind = INPUT_VALUE}, "job");
        add("m{job=\"a\", i=\"1\"}", 0, 1, 2);
        add("m{job=\"a\", i=\"1\"}", 1, 100, 1);
        add("m{i=\"2\"}", 0, -5, 1);
        add("m{job=\"a\", i=\"3\"}", 0, 10, 3);
        group_states_finish(&g);
        ck_assert_uint_eq(g.groups.n, 2);
        expect("{job=\"a\"}", 0, rows[i].statistic, rows[i].a0, 5);
        expect("{job=\"a\"}", 1, rows[i].statistic, rows[i].a1, 1);
        expect("{}", 0, rows[i].statistic, rows[i].none0, 1);
        expect("{}", 1, rows[i].statistic, 0, 0);
    }
}
END_TEST

/* By no label all series are one group, whatever their number. */
START_TEST(values_of_all)
{
    begin(FAMILY_SUM, (struct sketch_params){0}, (struct view_input){.kind = INPUT_VALUE}, "");
    for (int i = 0; i < 1000; i++) {
        char name[40];
        snprintf(name, sizeof name, "m%d{i=\"%d\"}", i % 3, i);
        add(name, 1, i, 1);
    }
    group_states_finish(&g);
    ck_assert_uint_eq(g.groups.n, 1);
    expect("{}", 1, STATISTIC_SUM, 999 * 1000 / 2.0, 1000);
    expect("{}", 0, STATISTIC_SUM, 0, 0);
}
END_TEST

/* Items are values of a label: 40 of them in 80 series, 1 in another window; a series without it is nowhere. 40 reads
 * as 40 within four standard errors of p = 14. */
START_TEST(items_of_a_label)
{
    const struct view_input user = {INPUT_LABEL, STR("user")};
    begin(FAMILY_HLL, (struct sketch_params){.p = 14}, user, "job");
    uint64_t n;
    for (int i = 0; i < 80; i++) {
        char name[60];
        snprintf(name, sizeof name, "m{job=\"a\", i=\"%d\", user=\"u%d\"}", i, i / 2);
        ck_assert(add(name, 0, 0, 2));
    }
    ck_assert(!add("m{job=\"b\"}", 0, 0, 2));
    ck_assert(add("m{job=\"a\", user=\"u1\"}", 1, 0, 3));
    group_states_finish(&g);
    ck_assert_uint_eq(g.groups.n, 1);
    struct str state = state_of("{job=\"a\"}", 0, &n, 0);
    ck_assert_uint_eq(n, 160);
    ck_assert_double_eq_tol(read_one(state, 0, STATISTIC_DISTINCT), 40, 40 * 4 * 1.04 / 128);
    state = state_of("{job=\"a\"}", 1, &n, 0);
    ck_assert_double_eq_tol(read_one(state, 1, STATISTIC_DISTINCT), 1, 0.01);
}
END_TEST

/* The weight of an item is the sum over its series: 3-4-5. */
START_TEST(items_weigh_sums)
{
    const struct view_input user = {INPUT_LABEL, STR("user")};
    begin(FAMILY_COUNTSKETCH, (struct sketch_params){.depth = 3, .width = 64}, user, "job");
    add("m{user=\"u\", i=\"1\"}", 0, 1, 1);
    add("m{user=\"v\", i=\"1\"}", 0, 4, 1);
    add("m{user=\"u\", i=\"2\"}", 0, 2, 1);
    group_states_finish(&g);
    uint64_t n;
    struct str state = state_of("{}", 0, &n, 0);
    ck_assert_double_eq(read_one(state, 0, STATISTIC_L2), 5);
}
END_TEST

/* Count-Min takes whole weights that are not negative. One group's do not spoil another's. */
START_TEST(weights_refused)
{
    const struct view_input series = {.kind = INPUT_SERIES};
    begin(FAMILY_CMS, (struct sketch_params){.depth = 3, .width = 64}, series, "job");
    add("m{job=\"a\"}", 0, 0.5, 1);
    add("m{job=\"b\"}", 0, 3, 1);
    group_states_finish(&g);
    uint64_t n;
    state_of("{job=\"a\"}", 0, &n, ERR_NOT_COVERED);
    ck_assert_uint_eq(n, 1);
    expect("{job=\"b\"}", 0, STATISTIC_L1, 3, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("group_states");
    TCase *tc = tcase_create("group_states");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, values_by_a_label);
    tcase_add_test(tc, values_of_all);
    tcase_add_test(tc, items_of_a_label);
    tcase_add_test(tc, items_weigh_sums);
    tcase_add_test(tc, weights_refused);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
