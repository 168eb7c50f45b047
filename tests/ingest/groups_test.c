/* States by labels, from what is sent to what is kept: every input and family, whatever happens in between. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/stats.h"
#include "ingest/group_model.h"
#include "store/tables.h"
#include "suite.h"

enum { ALL_VIEWS = (1 << MODEL_VIEWS) - 1 };

static struct rig rig;
static unsigned long long state;
static uint32_t mask;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((state >> 33) % below);
}

static struct plan *plan_of(const struct rig *r)
{
    return model_plan(r, mask);
}

static void open_engine(uint32_t views)
{
    mask = views;
    rig.plan_of = plan_of;
    rig_open(&rig, NULL);
}

static void done(void)
{
    rig_done(&rig);
    model_reset();
    rig = (struct rig){0};
}

static const char *const names[] = {
    "m{g=\"1\",h=\"a\",l=\"x\"}",
    "m{g=\"1\",h=\"a\",l=\"y\"}",
    "m{g=\"1\",h=\"b\",l=\"x\"}",
    "m{g=\"2\",h=\"b\",l=\"z\"}",
    "m{g=\"2\",l=\"x\"}",
    "m{h=\"b\",l=\"y\"}",
    "m{g=\"3\",h=\"a\"}",
    "m{l=\"w\"}",
    "m",
    "m{g=\"2\",h=\"b\",l=\"w\"}",
    "n{g=\"1\"}",
    "n{g=\"7\"}",
};
enum { SERIES = sizeof names / sizeof *names };

/* A round of samples each 10 s or so; some are held back. Values are whole: every sum is exact. */
static struct rig_sample held[2000];
static int64_t held_until_ms[2000];
static int held_n;

static void send_span(int64_t from_ms, int64_t to_ms, bool late_after_sealing)
{
    for (int64_t t = from_ms; t <= to_ms; t += 10 * SECOND) {
        struct rig_sample batch[3 * SERIES + 200];
        size_t n = 0;
        for (int i = 0; i < held_n && n < 200; i++)
            if (held_until_ms[i] <= t) {
                batch[n++] = held[i];
                held[i] = held[--held_n];
                held_until_ms[i--] = held_until_ms[held_n];
            }
        for (int s = 0; s < SERIES; s++) {
            struct rig_sample sample = {names[s], t - draw(10 * SECOND), draw(1000)};
            if (draw(8) == 0 || (s == 3 && t / (5 * MINUTE) % 2))
                continue;
            bool very_late = late_after_sealing && draw(60) == 0;
            if (very_late || draw(12) == 0) {
                held[held_n] = sample;
                held_until_ms[held_n++] = t + (very_late ? 200 : 15) * SECOND;
            } else {
                batch[n++] = sample;
            }
        }
        if (n)
            model_send(&rig, batch, n, t);
        rig_tick(&rig, t);
    }
}

static int64_t sealed_to(enum model_view view)
{
    struct ingest_view_status status;
    model_status(&rig, view, &status);
    return status.sealed_to_ms;
}

static const int64_t begin_ms = INT64_C(1700000040000); /* a multiple of a minute */

static uint32_t check_all(int64_t from_ms, int64_t to_ms)
{
    uint32_t groups = 0;
    for (uint32_t view = 0; view < MODEL_VIEWS; view++)
        for (int64_t end_ms = from_ms + WIDTH; mask >> view & 1 && view != VIEW_ONE_BY_ONE && end_ms <= to_ms;
             end_ms += WIDTH)
            groups += model_check(&rig, view, end_ms);
    return groups;
}

/* What is exact is answered from the states as from samples, early windows, late samples and all. */
static uint32_t check_answers(int64_t from_ms, int64_t to_ms)
{
    static const char *const queries[] = {
        "sum by (g) (sum_over_time(m[5m]))", "sum(count_over_time(m[3m]))",
        "min by (g) (min_over_time(m[4m]))", "max by (g, h) (max_over_time(m[2m]))",
        "max by (h) (max_over_time(m[3m]))", "sum by (g) (sum_over_time(n[5m]))",
        "sum(sum_over_time(m[4m]))",
    };
    const struct executor x = {.plan = rig.plan, .source = ingest_source(rig.ingest)};
    struct query_options o = {.start_ms = from_ms, .end_ms = to_ms, .step_ms = MINUTE};
    uint32_t from_states = 0;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        struct result answers[2];
        struct arena a;
        struct err e = {0};
        arena_init(&a, 0);
        for (int exact = 0; exact < 2; exact++) {
            o.exact = exact;
            ck_assert_msg(query_run(&x, str_of(queries[i]), &o, &a, &answers[exact], &e) == 0, "%s", e.message);
        }
        from_states += answers[0].states_n > 0;
        ck_assert_uint_eq(answers[0].series_n, answers[1].series_n);
        for (uint32_t k = 0; k < answers[1].series_n; k++) {
            const struct result_series *have = &answers[0].series[k], *want = &answers[1].series[k];
            ck_assert_int_eq(labels_cmp(&have->labels, &want->labels), 0);
            for (uint32_t t = 0; t < answers[1].times.n; t++)
                ck_assert_msg(memcmp(&have->v[t], &want->v[t], sizeof *have->v) == 0, "%s, step %u: %g, not %g",
                              queries[i], t, have->v[t], want->v[t]);
        }
        arena_done(&a);
    }
    return from_states;
}

START_TEST(states_are_what_was_sent)
{
    state = suite_seed("ingest/groups") + (unsigned)_i;
    rig.options.refresh_per_view = false;
    open_engine(ALL_VIEWS);
    held_n = 0;
    int64_t at_ms = begin_ms;
    uint32_t from_states = 0;
    for (int round = 0; round < 5; round++) {
        int64_t to_ms = at_ms + (3 + draw(4)) * MINUTE + draw(6) * 10 * SECOND;
        send_span(at_ms, to_ms, _i % 2);
        at_ms = to_ms + 10 * SECOND;
        ck_assert_int_ge(sealed_to(VIEW_SUM), at_ms - 3 * MINUTE);
        ck_assert_uint_gt(check_all(begin_ms, sealed_to(VIEW_SUM)), 0);
        for (int64_t end_ms = begin_ms + WIDTH; end_ms <= sealed_to(VIEW_SUM); end_ms += WIDTH)
            model_check_merged(&rig, end_ms);
        from_states += check_answers(at_ms, at_ms);
        from_states += check_answers(grid_floor((struct grid){WIDTH, 0}, at_ms) - 7 * MINUTE, at_ms);
        switch (_i % 3) {
        case 1:
            rig_reopen(&rig);
            break;
        case 2:
            rig_crash(&rig);
        }
        ck_assert_uint_gt(check_all(begin_ms, sealed_to(VIEW_SUM)), 0);
        from_states += check_answers(at_ms, at_ms);
        from_states += check_answers(grid_floor((struct grid){WIDTH, 0}, at_ms) - 7 * MINUTE, at_ms);
    }
    printf("ingest/groups: %u of 140 answers read states\n", from_states);
    ck_assert_uint_gt(from_states, 0);
    done();
}
END_TEST

/* ---- late samples ---- */

/* m of two groups and n of one, each 10 s in (from, to]. */
static void send_even(int64_t from_ms, int64_t to_ms)
{
    for (int64_t t = from_ms + 10 * SECOND; t <= to_ms; t += 10 * SECOND) {
        struct rig_sample batch[] = {{names[0], t, 3}, {names[3], t, 4}, {names[10], t, 5}};
        model_send(&rig, batch, 3, t);
        rig_tick(&rig, t);
    }
}

static void send_one(const char *series, int64_t time_ms, double value, int64_t now_ms)
{
    struct rig_sample one = {series, time_ms, value};
    model_send(&rig, &one, 1, now_ms);
    rig_tick(&rig, now_ms);
}

static int64_t minute(int n)
{
    return begin_ms + n * (int64_t)MINUTE;
}

START_TEST(late_samples_end_what_is_covered)
{
    open_engine(1 << VIEW_SUM | 1 << VIEW_HEAVY | 1 << VIEW_OTHER);
    int64_t now_ms = minute(5) + 20 * SECOND;
    send_even(begin_ms, now_ms);
    ck_assert_int_eq(sealed_to(VIEW_SUM), minute(4));
    ck_assert_uint_eq(model_check(&rig, VIEW_SUM, minute(5)), 2); /* early, in memory */
    ck_assert_int_eq(model_covered(&rig, VIEW_SUM, begin_ms, now_ms, "m"), minute(5));

    /* For an early window: raw until it is sealed, then it is in the states. */
    send_one("m{g=\"9\",l=\"late\"}", minute(4) + 55 * SECOND, 7, now_ms);
    ck_assert_int_eq(model_covered(&rig, VIEW_SUM, begin_ms, now_ms, "m"), minute(4));
    ck_assert_int_eq(model_covered(&rig, VIEW_HEAVY, begin_ms, now_ms, "m"), minute(4));
    ck_assert_int_eq(model_covered(&rig, VIEW_OTHER, begin_ms, now_ms, "n"), minute(5));
    send_even(now_ms, minute(6));
    now_ms = minute(6);
    ck_assert_int_eq(sealed_to(VIEW_SUM), minute(5));
    ck_assert_uint_eq(model_check(&rig, VIEW_SUM, minute(5)), 3);
    ck_assert_uint_eq(model_check(&rig, VIEW_HEAVY, minute(5)), 3);
    ck_assert_uint_eq(model_check(&rig, VIEW_OTHER, minute(5)), 1);
    ck_assert_int_eq(model_covered(&rig, VIEW_SUM, begin_ms, now_ms, "m"), minute(5));

    /* For a sealed one: its states stay, and nobody reads them, also after a restart. */
    send_one(names[0], minute(2) + 31 * SECOND, 8, now_ms);
    for (int k = 0; k < 3; k++) {
        ck_assert_uint_eq(model_check(&rig, VIEW_SUM, minute(3)), 2);
        ck_assert_int_eq(model_covered(&rig, VIEW_SUM, begin_ms, minute(5), "m"), minute(2));
        ck_assert_int_eq(model_covered(&rig, VIEW_SUM, minute(3), minute(5), "m"), minute(5));
        ck_assert_int_eq(model_covered(&rig, VIEW_OTHER, begin_ms, minute(5), "n"), minute(5));
        if (k == 0)
            rig_crash(&rig);
        else
            rig_reopen(&rig);
    }
    done();
}
END_TEST

/* ---- readers at work ---- */

static atomic_bool stop;
static atomic_uint reads_n;

/* Windows, groups and blocks are of one moment: every state is of a group that is listed. */
static void *read_on(void *ctx)
{
    while (!atomic_load(&stop)) {
        int64_t to_ms = sealed_to(VIEW_SUM);
        for (int64_t end_ms = (to_ms > begin_ms ? to_ms : begin_ms) - 3 * WIDTH; end_ms - WIDTH <= to_ms;
             end_ms += WIDTH) {
            struct model_states have;
            model_read(&rig, VIEW_SUM, end_ms, &have);
            for (uint32_t i = 0; i < have.n; i++) {
                ck_assert_ptr_nonnull(strstr(have.v[i].group, "g=\""));
                atomic_fetch_add(&reads_n, 1);
            }
            mem_free(have.v);
        }
    }
    return NULL;
}

START_TEST(readers_see_one_moment)
{
    static char texts[400][32];
    pthread_t readers[2];
    open_engine(1 << VIEW_SUM | 1 << VIEW_HEAVY);
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_on, NULL), 0);
    for (int m = 0; m < 60; m++)
        for (int64_t t = minute(m) + 10 * SECOND; t <= minute(m + 1); t += 10 * SECOND) {
            struct rig_sample batch[] = {
                {names[0], t, 1}, {texts[m * 3 + t % 3], t, 2}, {names[3], t - 45 * SECOND, 3}};
            if (texts[m * 3 + t % 3][0] == 0)
                snprintf(texts[m * 3 + t % 3], sizeof texts[0], "m{g=\"%d\"}", m * 3 + (int)(t % 3));
            ck_assert_int_eq(rig_send(&rig, batch, 3, t, NULL), 0);
            rig_tick(&rig, t);
        }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(readers[i], NULL), 0);
    ck_assert_uint_gt(atomic_load(&reads_n), 0);
    done();
}
END_TEST

/* ---- groups that come and go ---- */

START_TEST(numbers_are_used_again_when_no_window_has_them)
{
    static char texts[40][40];
    open_engine(1 << VIEW_SUM | 1 << VIEW_HEAVY);
    uint32_t most = 0;
    for (int m = 0; m < 160; m++) {
        char *text = texts[m / 4];
        if (m % 4 == 0)
            snprintf(text, sizeof texts[0], "m{g=\"%d\",l=\"%d\"}", m / 4, m % 7);
        for (int64_t t = minute(m) + 20 * SECOND; t <= minute(m + 1); t += 20 * SECOND) {
            struct rig_sample batch[] = {{text, t, m}, {names[0], t, 1}};
            model_send(&rig, batch, 2, t);
            rig_tick(&rig, t);
        }
        if (m % 10 != 9)
            continue;
        int64_t sealed_ms = sealed_to(VIEW_SUM), from_ms = sealed_ms - RETENTION + WIDTH;
        check_all(from_ms < begin_ms ? begin_ms : from_ms, sealed_ms);
        struct model_states have;
        model_read(&rig, VIEW_SUM, sealed_ms, &have);
        for (uint32_t i = 0; i < have.n; i++)
            most = have.v[i].number > most ? have.v[i].number : most;
        mem_free(have.v);
        if (m == 79)
            rig_reopen(&rig);
        if (m == 119)
            rig_crash(&rig);
    }
    /* 30 m of windows each, a group each 4 m, at most one checkpoint's worth more; the reopening counts all that is
     * there as used a while longer. */
    ck_assert_uint_ge(model_rows(&rig, VIEW_SUM), 8);
    ck_assert_uint_le(model_rows(&rig, VIEW_SUM), 11);
    struct ingest_view_status status;
    model_status(&rig, VIEW_SUM, &status);
    ck_assert_uint_ge(status.groups, model_rows(&rig, VIEW_SUM)); /* those of windows that are not sealed yet */
    ck_assert_uint_le(status.groups, model_rows(&rig, VIEW_SUM) + 1);
    ck_assert_uint_le(most, 20);
    done();
}
END_TEST

START_TEST(thousands_of_groups_take_several_blocks)
{
    enum { GROUPS = 2100 };
    static char texts[GROUPS][32];
    static struct rig_sample batch[GROUPS];
    open_engine(1 << VIEW_SUM | 1 << VIEW_NORM);
    for (int i = 0; i < GROUPS; i++)
        snprintf(texts[i], sizeof texts[i], "m{g=\"%d\"}", i);
    for (int m = 0; m < 3; m++) {
        for (int i = 0; i < GROUPS; i++)
            batch[i] = (struct rig_sample){texts[i], minute(m) + 30 * SECOND, i + m};
        model_send(&rig, batch, GROUPS, minute(m) + 30 * SECOND);
        rig_tick(&rig, minute(m) + 30 * SECOND);
    }
    ck_assert_int_eq(sealed_to(VIEW_SUM), minute(2));
    for (int m = 1; m <= 2; m++) {
        ck_assert_uint_eq(model_check(&rig, VIEW_SUM, minute(m)), GROUPS);
        ck_assert_uint_eq(model_check(&rig, VIEW_NORM, minute(m)), GROUPS);
        struct model_states have;
        model_read(&rig, VIEW_SUM, minute(m), &have);
        ck_assert_uint_eq(have.blocks_n, 3);
        mem_free(have.v);
    }
    done();
}
END_TEST

/* ---- states that cannot be ---- */

static int64_t metric(const char *name)
{
    struct strbuf text = {0};
    char key[120];
    stats_print(&text);
    snprintf(key, sizeof key, "\n%s ", name);
    const char *at = strstr(strbuf_z(&text), key);
    ck_assert_msg(at != NULL, "%s is no metric", name);
    int64_t v = strtoll(at + strlen(key), NULL, 10);
    strbuf_done(&text);
    return v;
}

static void expect_short(enum model_view view, int64_t end_ms, uint32_t groups_n, uint32_t blocks_n)
{
    struct model_states have;
    model_read(&rig, view, end_ms, &have);
    ck_assert_int_eq(have.status, WINDOW_SEALED);
    ck_assert_uint_eq(have.n, groups_n);
    ck_assert_uint_eq(have.blocks_n, blocks_n);
    ck_assert_uint_ne(have.flags & PANE_INCOMPLETE, 0);
    mem_free(have.v);
}

START_TEST(groups_over_the_limit_leave_windows_incomplete)
{
    ingest_options_default(&rig.options);
    rig.options.view_groups_max = 2;
    open_engine(1 << VIEW_SUM | 1 << VIEW_COUNT);
    int64_t before = metric("mullion_group_states_over_limit_total");
    send_even(begin_ms, minute(1)); /* g 1 and 2 */
    for (int m = 1; m < 36; m++) {
        /* From the second minute on others: without a number as long as windows hold the first two. */
        struct rig_sample batch[] = {{"m{g=\"8\"}", minute(m) + 30 * SECOND, 1}};
        model_send(&rig, batch, 1, minute(m) + 30 * SECOND);
        rig_tick(&rig, minute(m) + 30 * SECOND);
        if (m == 4) {
            ck_assert_uint_eq(model_check(&rig, VIEW_SUM, minute(1)), 2);
            expect_short(VIEW_SUM, minute(2), 0, 1);
            ck_assert_uint_eq(model_check(&rig, VIEW_COUNT, minute(2)), 1);
            ck_assert_int_gt(metric("mullion_group_states_over_limit_total"), before);
            rig_reopen(&rig);
            expect_short(VIEW_SUM, minute(2), 0, 1);
        }
    }
    ck_assert_uint_eq(model_check(&rig, VIEW_SUM, sealed_to(VIEW_SUM)), 1);
    done();
}
END_TEST

START_TEST(weights_that_a_family_refuses_are_no_state)
{
    open_engine(1 << VIEW_SUM | 1 << VIEW_HEAVY | 1 << VIEW_NORM | 1 << VIEW_KMV);
    int64_t before = metric("mullion_group_states_refused_total");
    for (int m = 0; m < 4; m++) {
        int64_t t = minute(m) + 30 * SECOND;
        double odd = m == 0 ? 2.5 : m == 1 ? (double)NAN : 2;
        struct rig_sample batch[] = {{names[0], t, odd}, {names[1], t, 6}, {names[3], t, 4}};
        model_send(&rig, batch, 3, t);
        rig_tick(&rig, t);
    }
    ck_assert_int_eq(sealed_to(VIEW_SUM), minute(3));
    /* Count-Min counts whole weights; CountSketch takes any number; what is distinct has no weight. */
    expect_short(VIEW_HEAVY, minute(1), 1, 1);
    ck_assert_uint_eq(model_check(&rig, VIEW_NORM, minute(1)), 2);
    expect_short(VIEW_HEAVY, minute(2), 1, 1);
    expect_short(VIEW_NORM, minute(2), 1, 1);
    ck_assert_uint_eq(model_check(&rig, VIEW_KMV, minute(1)), 1);
    ck_assert_uint_eq(model_check(&rig, VIEW_KMV, minute(2)), 1);
    ck_assert_uint_eq(model_check(&rig, VIEW_HEAVY, minute(3)), 2);
    ck_assert_int_eq(metric("mullion_group_states_refused_total") - before, 3);
    done();
}
END_TEST

/* ---- plans that change ---- */

static void replan(uint32_t views)
{
    struct plan *old = rig.plan;
    struct err e = {0};
    mask = views;
    rig.plan = plan_of(&rig);
    ck_assert_int_eq(ingest_set_plan(rig.ingest, rig.plan, &e), 0);
    plan_free(old);
}

START_TEST(views_are_let_go_and_built_again)
{
    state = 5;
    open_engine(1 << VIEW_SUM | 1 << VIEW_HEAVY);
    held_n = 0;
    send_span(begin_ms, minute(6), false);
    ck_assert_uint_gt(model_rows(&rig, VIEW_HEAVY), 0);
    replan(1 << VIEW_SUM);
    ck_assert_uint_eq(model_rows(&rig, VIEW_HEAVY), 0);
    check_all(begin_ms, sealed_to(VIEW_SUM));
    send_span(minute(6) + 10 * SECOND, minute(8), false);
    replan(ALL_VIEWS);
    rig_tick(&rig, minute(8));
    ck_assert_int_eq(sealed_to(VIEW_HEAVY), sealed_to(VIEW_SUM));
    ck_assert_uint_gt(check_all(begin_ms, sealed_to(VIEW_SUM)), 0);
    send_span(minute(8) + 10 * SECOND, minute(10), false);
    ck_assert_uint_gt(check_all(begin_ms, sealed_to(VIEW_SUM)), 0);
    done();
}
END_TEST

START_TEST(samples_that_came_without_a_plan_are_in_the_states)
{
    open_engine(1 << VIEW_SUM | 1 << VIEW_HEAVY);
    send_even(begin_ms, minute(6));
    rig.plan_of = NULL;
    rig_reopen(&rig);
    send_one("m{g=\"5\",l=\"v\"}", minute(2) + 15 * SECOND, 9, minute(6));
    rig.plan_of = plan_of;
    rig_reopen(&rig);
    rig_tick(&rig, minute(6) + 20 * SECOND);
    ck_assert_int_ge(sealed_to(VIEW_SUM), minute(5));
    ck_assert_uint_eq(model_check(&rig, VIEW_SUM, minute(3)), 3);
    check_all(begin_ms, minute(5));
    done();
}
END_TEST

/* Labels that are damaged, or gone, take the view's windows with them: they are built again, with numbers of their own.
 */
START_TEST(damaged_labels_are_built_anew)
{
    open_engine(1 << VIEW_SUM | 1 << VIEW_MIN);
    send_even(begin_ms, minute(6));
    struct ingest_view_status status;
    struct store_txn *t;
    struct err e = {0};
    uint8_t key[8];
    model_status(&rig, VIEW_SUM, &status);
    store_be32(key, status.store_view);
    store_be32(key + 4, 1);
    int64_t before = metric("mullion_view_groups_damaged_total");
    ck_assert_int_eq(store_write_begin(rig.store, &t, &e), 0);
    if (_i == 0)
        ck_assert_int_eq(store_put(t, TABLE_VIEW_GROUPS, key, 8, STR("not what was put"), &e), 0);
    else
        ck_assert_int_eq(group_delete(t, GROUP_OF_VIEW, status.store_view, 1, &e), 0);
    ck_assert_int_eq(store_write_commit(t, &e), 0);
    rig_reopen(&rig);
    ck_assert_int_eq(metric("mullion_view_groups_damaged_total") - before, 1);
    /* Labels that were not there before would be given the number of those that are gone. */
    send_one("m{g=\"new\",l=\"v\"}", minute(6), 7, minute(6));
    rig_tick(&rig, minute(6));
    check_all(begin_ms, minute(5));
    done();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/groups");
    TCase *tcase = tcase_create("groups");
    tcase_set_timeout(tcase, 200);
    tcase_add_loop_test(tcase, states_are_what_was_sent, 0, 6);
    tcase_add_test(tcase, late_samples_end_what_is_covered);
    tcase_add_test(tcase, readers_see_one_moment);
    tcase_add_test(tcase, numbers_are_used_again_when_no_window_has_them);
    tcase_add_test(tcase, thousands_of_groups_take_several_blocks);
    tcase_add_test(tcase, groups_over_the_limit_leave_windows_incomplete);
    tcase_add_test(tcase, weights_that_a_family_refuses_are_no_state);
    tcase_add_test(tcase, views_are_let_go_and_built_again);
    tcase_add_test(tcase, samples_that_came_without_a_plan_are_in_the_states);
    tcase_add_loop_test(tcase, damaged_labels_are_built_anew, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
