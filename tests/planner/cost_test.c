/*
 * The cost model: expected sizes against states that the kernels build, the documented example by hand, calibration
 * files and what they change.
 */
#include "plan_of.h"

#include <math.h>

#include "kernels/sketch.h"
#include "planner/cost.h"
#include "planner/state_size.h"

enum { ROWS_MAX = 6000 };

static double uniform(void)
{
    return ((double)random() + 0.5) / 2147483648.0;
}

/* Log-normal, mu 3, sigma 1, three decimals. */
static double latency(void)
{
    double normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
    return round(exp(3 + normal) * 1000) / 1000;
}

static double mean_size(const struct family_info *f, const struct sketch_params *params, uint32_t n)
{
    enum { STATES_N = 20 };
    static double values[ROWS_MAX];
    static int64_t times_ms[ROWS_MAX];
    size_t cap = f->size_bound(params, n), scratch_n = f->scratch_bound(params, n, 0);
    uint8_t *state = aligned_alloc(64, (cap + 127) & ~(size_t)63);
    uint8_t *scratch = aligned_alloc(64, (scratch_n + 127) & ~(size_t)63);
    double sum = 0;
    for (int s = 0; s < STATES_N; s++) {
        size_t size = 0;
        for (uint32_t i = 0; i < n; i++) {
            values[i] = latency();
            times_ms[i] = i + 1;
        }
        ck_assert_int_eq(f->build(state, cap, &size, params, 1000000, times_ms, values, n, 7, scratch), 0);
        sum += (double)size;
    }
    free(state);
    free(scratch);
    return sum / STATES_N;
}

static const struct {
    enum family family;
    struct sketch_params params;
} sized[] = {{FAMILY_VALUES, {0}},
             {FAMILY_DISTINCT_SET, {0}},
             {FAMILY_KLL, {.k = 52}},
             {FAMILY_KLL, {.k = 269}},
             {FAMILY_DDSKETCH, {.alpha = 0.05}},
             {FAMILY_DDSKETCH, {.alpha = 0.01}},
             {FAMILY_DDSKETCH, {.alpha = 0.001}},
             {FAMILY_HLL, {.p = 8}},
             {FAMILY_HLL, {.p = 11}},
             {FAMILY_HLL, {.p = 14}},
             {FAMILY_SUM, {0}},
             {FAMILY_COUNTER, {0}}};

/* Within a factor of two of what is built, and no more than the bound. */
START_TEST(sizes_are_as_expected)
{
    const struct family_info *f = family_get(sized[_i].family);
    srandom(7);
    for (uint32_t n = 1; n <= ROWS_MAX; n = n < 10 ? n + 3 : n * 2) {
        double built = mean_size(f, &sized[_i].params, n), ours = state_size_expected(f->family, &sized[_i].params, n);
        double own = ours - (f->fixed_size ? 0 : 4);
        ck_assert_msg(own <= 2 * built && built <= 2 * own, "%s of %u rows: %.0f bytes, %.0f expected", f->name, n,
                      built, own);
        ck_assert_double_le(own, (double)f->size_bound(&sized[_i].params, n));
    }
}
END_TEST

START_TEST(sizes_grow_with_rows)
{
    double before = 0;
    for (double rows = 0.1; rows < 1e9; rows *= 1.7) {
        double now = state_size_expected(sized[_i].family, &sized[_i].params, rows);
        ck_assert_msg(isfinite(now) && now >= before, "%g rows: %g bytes after %g", rows, now, before);
        before = now;
    }
}
END_TEST

/* sum by (job) (rate(http_requests_total[1m])) every 10 s over 1,000,000 series each 15 s: 4,000,000 rows of 48 bytes
 * are scanned (4e6 * 1e-6 + 4e6 * 48 * 1e-7 = 23.2), pass the range (4.0) and the rate (4.0), and give 1e6 results
 * (1.0), which the sum takes (1.0) to 100 (0.0001). */
START_TEST(the_worked_example_adds_up)
{
    struct workload *w = workload_of("queries: [{query: 'sum by (job) (rate(http_requests_total[1m]))', every: 10s}]\n"
                                     "data: {metrics: {http_requests_total: {type: counter, series: 1000000,\n"
                                     "       interval: 15s, labels: {job: 100}}}}");
    struct arena arena;
    struct planning p;
    struct err e = {0};
    arena_init(&arena, 0);
    ck_assert_int_eq(planning_run(&p, w, NULL, &arena, &e), 0);
    ck_assert_uint_eq(p.demands_n, 1);
    const struct candidate *raw = &p.candidates[p.demands[0].first];
    ck_assert_int_eq(raw->form, FORM_RAW);
    ck_assert_double_eq_tol(raw->run_cost, 23.2 + 4.0 + 4.0 + 1.0, 1e-9);
    ck_assert_double_eq_tol(raw->query_cost, raw->run_cost / 10, 1e-9);
    ck_assert_double_eq_tol(cost_raw_rest(&p, w->queries[0].expr, &w->queries[0].cadence), 1.0 + 0.0001, 1e-9);
    planning_done(&p);
    arena_done(&arena);
    workload_free(w);
}
END_TEST

/* Rows of what is above sites, by hand: 1,000 series of a (10 jobs, 50 instances), 1,000 of b, of which nothing is
 * known. A selector that is no site scans 1 row a series (1e-6 + 48e-7) and gives a window of 1 and a result. */
static const struct {
    const char *query;
    double rows, scanned;
} rests[] = {
    {"rate(a[5m])", 0, 0},
    {"sum(rate(a[5m]))", 1000 + 1, 0},
    {"sum by (job) (rate(a[5m]))", 1000 + 10, 0},
    {"sum by (job, instance) (rate(a[5m]))", 1000 + 500, 0},
    {"sum by (unknown) (rate(a[5m]))", 1000 + 30, 0},
    {"sum by (job, instance, unknown) (rate(a[5m]))", 1000 + 1000, 0},
    {"sum without (instance) (rate(a[5m]))", 1000 + 20, 0},
    {"sum by (job) (rate(a{job='x'}[5m]))", 100 + 10, 0},
    {"(rate(a[5m]))", 0, 0},
    {"-rate(a[5m])", 1000, 0},
    {"abs(rate(a[5m])) * 2", 1000 + 1000, 0},
    {"rate(a[5m]) / rate(b[5m])", 2000, 0},
    {"sum by (job) (rate(a[5m])) / sum(rate(b[5m]))", 1000 + 10 + 1000 + 1 + 10 + 1, 0},
    {"sum(b)", 1000 + 1, 1000},
};

START_TEST(operators_over_series_are_priced)
{
    struct strbuf yaml = {0};
    strbuf_printf(&yaml,
                  "queries: [{query: \"%s\", every: 1m}]\n"
                  "data: {metrics: {a: {series: 1000, labels: {job: 10, instance: 50}}, b: {series: 1000}}}",
                  rests[_i].query);
    struct workload *w = workload_of(strbuf_z(&yaml));
    struct arena arena;
    struct planning p;
    struct err e = {0};
    arena_init(&arena, 0);
    ck_assert_int_eq(planning_run(&p, w, NULL, &arena, &e), 0);
    double rest = cost_raw_rest(&p, w->queries[0].expr, &w->queries[0].cadence);
    double want = rests[_i].rows * 1e-6 + rests[_i].scanned * (1e-6 + 48e-7 + 2e-6);
    ck_assert_msg(fabs(rest - want) < 1e-12, "%s: %g, by hand %g", rests[_i].query, rest, want);
    planning_done(&p);
    arena_done(&arena);
    workload_free(w);
    strbuf_done(&yaml);
}
END_TEST

static int read_calibration(const char *text, struct cost_model *m, struct strbuf *said)
{
    struct problems problems = {0};
    struct err e = {0};
    int rc = calibration_read(str_of(text), "c.json", m, &problems, &e);
    strbuf_clear(said);
    strbuf_printf(said, "%s%s", strbuf_z(&problems.text), rc ? e.message : "");
    strbuf_done(&problems.text);
    return rc;
}

START_TEST(calibrations_are_read)
{
    struct cost_model m = {0};
    struct strbuf said = {0};
    ck_assert_int_eq(
        read_calibration("{\"format\": \"mullion-calibration/1\", \"machine\": \"a test\", \"op_ms\": 2e-6,\n"
                         " \"families\": {\"kll\": {\"build_row_ms\": 0.5, \"read_state_ms\": 0}}}",
                         &m, &said),
        0);
    ck_assert_double_eq(m.op_ms, 2e-6);
    ck_assert_double_eq(m.byte_ms, 1e-7); /* what is left out is the defaults' */
    ck_assert_double_eq(m.byte_s_ms, 1.25e-7);
    ck_assert_double_eq(m.families[FAMILY_KLL].build_row_ms, 0.5);
    ck_assert_double_eq(m.families[FAMILY_KLL].read_state_ms, 0);
    ck_assert_double_eq(m.families[FAMILY_KLL].build_state_ms, 1e-6);
    ck_assert_double_eq(m.families[FAMILY_SUM].build_row_ms, 1e-6);
    strbuf_done(&said);
}
END_TEST

static const struct {
    const char *text, *said;
} broken[] = {
    {"{}", "c.json:1:1: `format` is missing"},
    {"{\"format\": \"mullion-calibration/2\", \"speed\": 3}",
     "c.json:1:12: format \"mullion-calibration/2\" is not one this version reads"},
    {"{\"format\": \"mullion-calibration/1\",\n \"op_ms\": -1}", "c.json:2:11: op_ms must be at least 0"},
    {"{\"format\": \"mullion-calibration/1\",\n \"byte_ms\": \"x\"}", "c.json:2:13: byte_ms must be a finite number"},
    {"{\"format\": \"mullion-calibration/1\",\n \"speed\": 1}", "c.json:2:2: "},
    {"{\"format\": \"mullion-calibration/1\",\n \"families\": {\"foo\": {}}}", "c.json:2:15: families: there is no"},
    {"{\"format\": \"mullion-calibration/1\",\n \"families\": {\"kll\": 3}}", "c.json:2:22: a family must be"},
    {"[1]", "c.json:1:1: a calibration must be"},
    {"{\"format\": ", "c.json:"},
};

START_TEST(broken_calibrations_are_refused)
{
    struct cost_model m = {.op_ms = 5};
    struct strbuf said = {0};
    ck_assert_int_eq(read_calibration(broken[_i].text, &m, &said), ERR_BAD_DATA);
    ck_assert_msg(strncmp(strbuf_z(&said), broken[_i].said, strlen(broken[_i].said)) == 0, "%s", strbuf_z(&said));
    ck_assert_double_eq(m.op_ms, 5);
    strbuf_done(&said);
}
END_TEST

/* 10 s and 15 s readers: building rows for nothing, two chains are the cheaper (fewer panes are kept and read); rows
 * dear to insert, one of 5 s, into which each goes once. In between it turns once. */
START_TEST(coefficients_turn_the_choice)
{
    struct workload *w =
        workload_of("queries: [{query: 'rate(x[1m])', every: 10s}, {query: 'rate(x[1m])', every: 15s}]\n"
                    "data: {raw_retention: 0, metrics: {x: {interval: 1s}}}");
    uint32_t views_n = 0;
    int turns_n = 0;
    for (double row_ms = 1e-9; row_ms < 1; row_ms *= 1.5) {
        struct cost_model m = cost_defaults;
        m.families[FAMILY_COUNTER].build_row_ms = row_ms;
        struct planner_options options = {.costs = &m};
        struct plan *plan = NULL;
        struct err e = {0};
        ck_assert_msg(planner_plan(w, &options, &plan, &e) == 0, "%s", e.message);
        ck_assert(plan->views_n == 2 || plan->views[0].panes.step_ms == 5000);
        turns_n += views_n != 0 && views_n != plan->views_n;
        views_n = plan->views_n;
        plan_free(plan);
    }
    ck_assert_int_eq(turns_n, 1);
    ck_assert_uint_eq(views_n, 1);
    workload_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/cost");
    TCase *tc = tcase_create("cost");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, sizes_are_as_expected, 0, sizeof sized / sizeof *sized);
    tcase_add_loop_test(tc, sizes_grow_with_rows, 0, sizeof sized / sizeof *sized);
    tcase_add_test(tc, the_worked_example_adds_up);
    tcase_add_loop_test(tc, operators_over_series_are_priced, 0, sizeof rests / sizeof *rests);
    tcase_add_test(tc, calibrations_are_read);
    tcase_add_loop_test(tc, broken_calibrations_are_refused, 0, sizeof broken / sizeof *broken);
    tcase_add_test(tc, coefficients_turn_the_choice);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
