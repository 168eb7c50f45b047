/*
 * Property: an answer that is read from stored roots is bit for bit what the raw engine says of the same query at the
 * same moment, for random samples (gaps, stale markers, counter resets, NaN, late and repeated ones, series that come
 * and go), at times on and off the grid, instant and range, for planned queries and for ad-hoc ones around them;
 * through restarts, kills, damage, retention, and plans that change in between.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/duration.h"
#include "base/float_text.h"
#include "base/histogram_exact.h"
#include "base/stats.h"
#include "ingest/rig.h"
#include "plan/file.h"
#include "plan/root_expr.h"
#include "store/group.h"
#include "store/root.h"
#include "store/tables.h"
#include "suite.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, STEP = 15 * SECOND };

static struct rig rig;
static unsigned long long state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((state >> 33) % below);
}

/* ---- plans ---- */

struct root {
    const char *expr;
    int64_t step_ms, phase_ms;
};
static const struct root all_roots[] = {
    {"sum by (s) (rate(m[1m]))", STEP, 0},
    {"rate(m[1m])", STEP, 5 * SECOND},
    {"m", STEP, 0},
    {"avg(m)", MINUTE, 0},
    {"count(m > 0)", STEP, 0},
    {"max_over_time(avg(m)[2m:20s])", STEP, 0},
    {"absent(m{s=\"0\"})", STEP, 0},
    {"sum by (s) (increase(m[90s] offset 40s)) / count by (s) (m)", 2 * STEP, 0},
    {"quantile(0.5, m)", STEP, 0},
    {"sum(sum by (s) (rate(m[1m])))", STEP, 0},
    {"time() - timestamp(m)", STEP, 0},
    {"label_replace(m, \"s\", \"x\", \"\", \"\")", STEP, 0}, /* fails whenever two series have a value */
    {"quantile(2, m)", STEP, 0},                             /* warns */
    {"m == 1e9", STEP, 0},                                   /* empty */
    {"sum by (s) (increase(m[1m:] offset -1m))", STEP, 0},
    {"m offset -20s", STEP, 5 * SECOND},
    {"histogram_quantile(0.9, sum by (le) (rate(b_bucket[1m])))", STEP, 0},
};
enum { ROOTS = sizeof all_roots / sizeof all_roots[0], RETENTION = 20 * MINUTE };
static uint32_t planned; /* bitmap of all_roots */

static struct plan *make_plan(const struct rig *r)
{
    struct plan *made = plan_new(), *plan;
    struct plan_node *nodes = ARENA_ARRAY(made->arena, struct plan_node, 2 * ROOTS);
    struct plan_stored_root *roots = ARENA_ARRAY(made->arena, struct plan_stored_root, ROOTS);
    struct plan_query *queries = ARENA_ARRAY(made->arena, struct plan_query, ROOTS);
    struct strbuf text = {0};
    struct err e = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < ROOTS; i++) {
        if (!(planned >> i & 1))
            continue;
        struct plan_node *kept = &nodes[n], *stored = &nodes[n + (uint32_t)__builtin_popcount(planned)];
        *kept = (struct plan_node){.op = PLAN_OP_RAW, .half = HALF_PRECOMPUTE, .out = OUT_VECTOR};
        ck_assert_int_eq(plan_add_expr(made, str_of(all_roots[i].expr), &kept->expr, &kept->expr_text, &e), 0);
        *stored = *kept;
        stored->op = PLAN_OP_STORED;
        stored->half = HALF_QUERY;
        stored->stored_root = n;
        roots[n] = (struct plan_stored_root){n, {all_roots[i].step_ms, all_roots[i].phase_ms}, RETENTION};
        queries[n] = (struct plan_query){.text = kept->expr_text,
                                         .cadence = {.kind = CADENCE_EVERY,
                                                     .every_ms = all_roots[i].step_ms,
                                                     .phase_ms = all_roots[i].phase_ms,
                                                     .length_ms = RETENTION - RETENTION % all_roots[i].step_ms,
                                                     .step_ms = all_roots[i].step_ms},
                                         .target = {.kind = ACCURACY_EXACT},
                                         .guarantee = {.kind = ACCURACY_EXACT},
                                         .root = n + (uint32_t)__builtin_popcount(planned)};
        n++;
    }
    made->nodes = nodes;
    made->stored_roots = roots;
    made->queries = queries;
    made->nodes_n = 2 * n;
    made->stored_roots_n = made->queries_n = n;
    made->sketch_seed = store_sketch_seed(r->store);
    made->solver.status = STR("per-query");
    plan_write(made, &text);
    int code = plan_read((struct str){text.p, text.n}, &plan, &e);
    ck_assert_msg(code == 0, "%s", e.message);
    strbuf_done(&text);
    plan_free(made);
    return plan;
}

/* ---- samples ---- */

enum { SERIES = 5, HELD_MAX = 500 };
static const char *const names[SERIES] = {"m{s=\"0\"}", "m{s=\"1\",i=\"a\"}", "m{s=\"1\",i=\"b\"}", "m{s=\"2\"}",
                                          "other{s=\"0\"}"};
static double values[SERIES];
static struct rig_sample held[HELD_MAX];
static int held_n;

static double next_value(int s)
{
    if (draw(60) == 0)
        return NAN;
    if (s == 1)
        return values[s] = ((double)draw(2000000) - 1000000) / 1000;
    return values[s] = draw(30) == 0 ? draw(5) : values[s] + draw(100) / 4.0;
}

/* A round at t: most series most of the time; some samples are held back for up to two minutes, some come twice. Each
 * series is silent for one minute in four. */
static void send_round(int64_t t)
{
    struct rig_sample batch[4 * SERIES + HELD_MAX + 8];
    size_t n = 0;
    for (int s = 0; s < SERIES; s++) {
        if ((t / MINUTE + s) % 4 == 0 && s > 0)
            continue;
        struct rig_sample one = {names[s], t - draw(3000), draw(25) == 0 ? float_stale() : next_value(s)};
        if (draw(12) == 0 && held_n < HELD_MAX)
            held[held_n++] = one;
        else
            batch[n++] = one;
        if (draw(20) == 0)
            batch[n++] = one;
    }
    static const char *const buckets[] = {"b_bucket{le=\"1\"}", "b_bucket{le=\"2\"}", "b_bucket{le=\"+Inf\"}"};
    for (int i = 0; i < 3; i++)
        batch[n++] = (struct rig_sample){buckets[i], t, (double)(t / 1000 % 100000) * (i + 1)};
    for (int i = 0; i < held_n; i++)
        if (draw(10) == 0) {
            batch[n++] = held[i];
            held[i--] = held[--held_n];
        }
    ck_assert_int_eq(rig_send(&rig, batch, n, t, NULL), 0);
}

/* ---- answers ---- */

static uint32_t asked, from_roots, wholly;

static int run_query(const char *query, const struct query_options *o, struct arena *a, struct result *ret,
                     struct err *e)
{
    struct executor x = {.plan = rig.plan, .source = ingest_source(rig.ingest)};
    return query_run(&x, str_of(query), o, a, ret, e);
}

static void print_result(const struct result *r, struct strbuf *out)
{
    for (uint32_t i = 0; i < r->series_n; i++) {
        labels_print(&r->series[i].labels, out);
        for (uint32_t k = 0; k < r->times.n; k++) {
            uint64_t bits;
            memcpy(&bits, &r->series[i].v[k], 8);
            if (value_absent(r->series[i].v[k]))
                strbuf_add_z(out, " _");
            else
                strbuf_printf(out, " %.17g/%llx", r->series[i].v[k], (unsigned long long)bits);
        }
        strbuf_add_char(out, '\n');
    }
}

/* The same query, planned and exact; returns the sources of the first. */
static uint32_t compare(const char *query, int64_t start_ms, int64_t end_ms, int64_t step_ms, const char *where)
{
    struct query_options o = {.start_ms = start_ms, .end_ms = end_ms, .step_ms = step_ms}, exact = o;
    struct arena a;
    struct result got = {0}, want = {0};
    struct strbuf got_text = {0}, want_text = {0};
    struct err e = {0}, f = {0};
    exact.exact = true;
    arena_init(&a, 0);
    int code = run_query(query, &o, &a, &got, &e), other = run_query(query, &exact, &a, &want, &f);
    ck_assert_msg(code == other, "%s: %s in [%lld, %lld] step %lld: %s; exact: %s", where, query, (long long)start_ms,
                  (long long)end_ms, (long long)step_ms, e.message, f.message);
    if (code == 0) {
        print_result(&got, &got_text);
        print_result(&want, &want_text);
        ck_assert_msg(
            got_text.n == want_text.n && (got_text.n == 0 || memcmp(got_text.p, want_text.p, got_text.n) == 0),
            "%s: %s in [%lld, %lld] step %lld\n%.*s\nexact:\n%.*s", where, query, (long long)start_ms,
            (long long)end_ms, (long long)step_ms, (int)got_text.n, got_text.p, (int)want_text.n, want_text.p);
        ck_assert_uint_eq(got.notes.warnings_n, want.notes.warnings_n);
    }
    uint32_t sources = got.sources;
    asked++;
    from_roots += (sources & SOURCE_ROOT) != 0;
    wholly += sources == SOURCE_ROOT;
    strbuf_done(&got_text);
    strbuf_done(&want_text);
    arena_done(&a);
    return sources;
}

static void compare_some(int64_t now_ms, const char *where)
{
    static const char *const around[] = {"%s",         "%s",
                                         "%s",         "abs(%s) + 1",
                                         "sort(%s)",   "topk(2, %s)",
                                         "sum(%s)",    "-(%s) > -5",
                                         "max(%s)",    "count(%s) or vector(7)",
                                         "stddev(%s)", "sum by (s) (bottomk(1, abs(%s)))"};
    for (int k = 0; k < 6; k++) {
        const struct root *r = &all_roots[draw(ROOTS)];
        char query[200];
        int64_t end_ms = now_ms + MINUTE - draw(15 * MINUTE), step_ms = 0, start_ms;
        if (draw(5))
            end_ms -= floor_mod(end_ms - r->phase_ms, r->step_ms);
        if (draw(3))
            step_ms = draw(6) ? r->step_ms * (1 + draw(3)) : 7 * SECOND;
        start_ms = end_ms - step_ms * draw(30);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(query, sizeof query, around[draw(sizeof around / sizeof around[0])], r->expr);
#pragma GCC diagnostic pop
        compare(query, start_ms, end_ms, step_ms, where);
    }
}

static void open_engine(uint32_t roots)
{
    planned = roots;
    held_n = 0;
    memset(values, 0, sizeof values);
    rig = (struct rig){.plan_of = make_plan};
    ingest_options_default(&rig.options);
    rig_open(&rig, NULL);
}

static const uint32_t every_root = (1u << ROOTS) - 1;

START_TEST(stored_roots_answer_as_raw)
{
    state = suite_seed("ingest/roots");
    for (int round = 0; round < 3; round++) {
        const int64_t from_ms = 400LL * 3600 * SECOND + draw(100000);
        open_engine(every_root);
        for (int64_t t = from_ms; t < from_ms + 25 * MINUTE; t += 5 * SECOND) {
            send_round(t);
            if (draw(3))
                rig_tick(&rig, t);
            if (draw(4) == 0)
                compare_some(t, "running");
            if (draw(60) == 0) {
                rig_reopen(&rig);
                compare_some(t, "reopened");
            }
            if (draw(60) == 0) {
                rig_crash(&rig);
                compare_some(t, "crashed");
            }
            if (draw(60) == 0) { /* some roots go, come back, and are backfilled */
                planned = draw(every_root + 1);
                rig_reopen(&rig);
                compare_some(t, "replanned");
                if (draw(2))
                    rig_tick(&rig, t);
                planned = every_root;
                rig_crash(&rig);
                compare_some(t, "planned again");
            }
        }
        rig_done(&rig);
    }
    printf("ingest/roots: %u of %u answers read stored roots, %u nothing else\n", from_roots, asked, wholly);
    ck_assert_msg(from_roots * 5 > asked, "%u of %u answers read stored roots", from_roots, asked);
    ck_assert_uint_gt(wholly, 0);
}
END_TEST

/* ---- one thing at a time ---- */

static const int64_t begin_ms = 400LL * 3600 * SECOND;

/* Steady samples of two series to `to_ms`, each 5 s, and time goes on with them. */
static void steady(int64_t from_ms, int64_t to_ms)
{
    for (int64_t t = from_ms; t <= to_ms; t += 5 * SECOND) {
        struct rig_sample batch[] = {{names[0], t, (double)t / 1000}, {names[3], t, (double)(t % 77777)}};
        ck_assert_int_eq(rig_send(&rig, batch, 2, t, NULL), 0);
    }
    rig_tick(&rig, to_ms);
}

static const char *const sum_rate = "sum by (s) (rate(m[1m]))";

START_TEST(what_is_sealed_is_read_and_the_rest_computed)
{
    open_engine(3);
    steady(begin_ms, begin_ms + 10 * MINUTE);
    /* The watermark is 30 s behind. */
    int64_t sealed_ms = begin_ms + 10 * MINUTE - 30 * SECOND;
    ck_assert_int_eq(compare(sum_rate, sealed_ms, sealed_ms, 0, "sealed"), SOURCE_ROOT);
    ck_assert_int_eq(compare(sum_rate, sealed_ms + STEP, sealed_ms + STEP, 0, "above"), SOURCE_RAW);
    ck_assert_int_eq(compare(sum_rate, sealed_ms - 1, sealed_ms - 1, 0, "off the grid"), SOURCE_RAW);
    ck_assert_int_eq(compare(sum_rate, begin_ms + STEP, sealed_ms, STEP, "all sealed"), SOURCE_ROOT);
    ck_assert_int_eq(compare(sum_rate, begin_ms + STEP, sealed_ms, 3 * STEP, "each third"), SOURCE_ROOT);
    ck_assert_int_eq(compare(sum_rate, begin_ms + STEP, sealed_ms + STEP, STEP, "one more"), SOURCE_ROOT | SOURCE_RAW);
    ck_assert_int_eq(compare(sum_rate, begin_ms, sealed_ms, 10 * SECOND, "off the step"), SOURCE_RAW);
    ck_assert_int_eq(compare("2 * sum by(s) ((rate(m[60s])))", sealed_ms, sealed_ms, 0, "ad-hoc"), SOURCE_ROOT);
    /* The order of series counts in the last bits of a sum: it is the catalog's, or that of the labels. */
    int64_t other_ms = sealed_ms - 10 * SECOND;
    ck_assert_int_eq(compare("sum(rate(m[1m]))", other_ms, other_ms, 0, "a sum of series"), SOURCE_RAW);
    ck_assert_int_eq(compare("max(rate(m[1m]))", other_ms, other_ms, 0, "a maximum"), SOURCE_ROOT);
    ck_assert_int_eq(compare("sum(sum by (s) (rate(m[1m])))", sealed_ms, sealed_ms, 0, "a sum of groups"), SOURCE_ROOT);
    ck_assert_int_eq(compare("topk(1, sum by (s) (rate(m[1m])))", sealed_ms, sealed_ms, 0, "the best"), SOURCE_ROOT);
    rig_done(&rig);
}
END_TEST

/* A sample at t makes [t, t + reach) dirty, no more and no less, and only where it is read. */
START_TEST(late_samples_dirty_their_reach)
{
    open_engine(1);
    steady(begin_ms, begin_ms + 10 * MINUTE);
    int64_t t = begin_ms + 5 * MINUTE, now_ms = begin_ms + 10 * MINUTE;
    int64_t before = stats_value("mullion_root_results_recomputed_total", "");
    struct rig_sample other = {"other{s=\"0\"}", t, 1}, late = {names[0], t + 1, 7};
    ck_assert_int_eq(rig_send(&rig, &other, 1, now_ms, NULL), 0);
    ck_assert_int_eq(compare(sum_rate, t, t + 2 * MINUTE, STEP, "another series"), SOURCE_ROOT);
    ck_assert_int_eq(rig_send(&rig, &late, 1, now_ms, NULL), 0);
    ck_assert_int_eq(compare(sum_rate, t, t, 0, "before"), SOURCE_ROOT);
    for (int64_t at = t + STEP; at <= t + MINUTE; at += STEP)
        ck_assert_int_eq(compare(sum_rate, at, at, 0, "within"), SOURCE_RAW);
    ck_assert_int_eq(compare(sum_rate, t + MINUTE + STEP, t + MINUTE + STEP, 0, "after"), SOURCE_ROOT);
    ck_assert_int_eq(compare(sum_rate, t - MINUTE, t + 2 * MINUTE, STEP, "across"), SOURCE_ROOT | SOURCE_RAW);
    /* Dirty before a kill, with and without a checkpoint since: dirty after it. */
    rig_crash(&rig);
    ck_assert_int_eq(compare(sum_rate, t + STEP, t + STEP, 0, "crashed"), SOURCE_RAW);
    rig_reopen(&rig);
    ck_assert_int_eq(compare(sum_rate, t + STEP, t + STEP, 0, "reopened"), SOURCE_RAW);
    ck_assert_int_eq(compare(sum_rate, t, t, 0, "reopened, before"), SOURCE_ROOT);
    rig_tick(&rig, now_ms);
    ck_assert_int_eq(stats_value("mullion_root_results_recomputed_total", "") - before, 4);
    ck_assert_int_eq(compare(sum_rate, t - MINUTE, t + 2 * MINUTE, STEP, "recomputed"), SOURCE_ROOT);
    rig_crash(&rig);
    rig_tick(&rig, now_ms);
    ck_assert_int_eq(compare(sum_rate, t - MINUTE, t + 2 * MINUTE, STEP, "and kept"), SOURCE_ROOT);
    rig_done(&rig);
}
END_TEST

/* A result with a histogram in it is not kept, sealed or backfilled; those before and after it are. */
START_TEST(histograms_are_holes)
{
    static const struct histogram_span spans[] = {{0, 1}};
    static const uint64_t counts[] = {5};
    const struct histogram_exact h = {.sum = 4, .count = 5, .positive = {spans, counts, 1, 1}};
    struct ingest_root_status status;
    uint8_t identity[IDENTITY_BYTES];
    open_engine(1);
    steady(begin_ms, begin_ms + 3 * MINUTE - 5 * SECOND);
    for (int64_t t = begin_ms + 3 * MINUTE; t <= begin_ms + 5 * MINUTE; t += 5 * SECOND) {
        struct rig_sample sample = {"m{s=\"9\"}", t, 0, &h};
        ck_assert_int_eq(rig_send(&rig, &sample, 1, t, NULL), 0);
        steady(t, t);
    }
    steady(begin_ms + 5 * MINUTE + 5 * SECOND, begin_ms + 10 * MINUTE);
    for (int round = 0; round < 2; round++) {
        /* Two samples of it are in (T - 1m, T] from T = 3m 15s to 5m 45s. */
        for (int64_t at = 2 * MINUTE; at <= 8 * MINUTE; at += STEP) {
            bool met = at >= 3 * MINUTE + STEP && at < 6 * MINUTE;
            ck_assert_int_eq(compare(sum_rate, begin_ms + at, begin_ms + at, 0, "one time"),
                             met ? SOURCE_RAW : SOURCE_ROOT);
        }
        ck_assert_int_eq(compare(sum_rate, begin_ms + 2 * MINUTE, begin_ms + 8 * MINUTE, STEP, "all"),
                         SOURCE_ROOT | SOURCE_RAW);
        plan_root_identity(rig.plan, 0, identity);
        ingest_root_status(rig.ingest, identity, &status);
        ck_assert_uint_gt(status.holes, 0);
        if (round)
            break;
        planned = 0; /* another plan, and the same once more: all is built anew, from head and store */
        rig_reopen(&rig);
        planned = 1;
        rig_reopen(&rig);
        rig_tick(&rig, begin_ms + 10 * MINUTE);
    }
    rig_done(&rig);
}
END_TEST

START_TEST(new_roots_are_backfilled)
{
    open_engine(0);
    steady(begin_ms, begin_ms + 30 * MINUTE);
    int64_t now_ms = begin_ms + 30 * MINUTE, sealed_ms = now_ms - 30 * SECOND;
    int64_t before = stats_value("mullion_root_results_total", "");
    planned = 1;
    rig_reopen(&rig);
    ck_assert_uint_eq(ingest_backfill_left(rig.ingest), RETENTION / STEP + 1);
    ck_assert_int_eq(compare(sum_rate, sealed_ms - RETENTION, sealed_ms, STEP, "before"), SOURCE_RAW);
    rig_tick(&rig, now_ms);
    ck_assert_uint_eq(ingest_backfill_left(rig.ingest), 0);
    ck_assert_int_eq(compare(sum_rate, sealed_ms - RETENTION, sealed_ms, STEP, "after"), SOURCE_ROOT);
    ck_assert_int_eq(stats_value("mullion_root_results_total", "") - before, RETENTION / STEP + 1);
    /* The same plan again computes nothing again. */
    rig_reopen(&rig);
    rig_tick(&rig, now_ms);
    ck_assert_int_eq(stats_value("mullion_root_results_total", "") - before, RETENTION / STEP + 1);
    rig_done(&rig);
}
END_TEST

/* Without a plan late samples are marked by nobody: results from the oldest of them on are not trusted. */
START_TEST(samples_that_came_without_a_plan_count)
{
    open_engine(1);
    steady(begin_ms, begin_ms + 10 * MINUTE);
    int64_t t = begin_ms + 5 * MINUTE, now_ms = begin_ms + 10 * MINUTE;
    rig.plan_of = NULL;
    rig_reopen(&rig);
    struct rig_sample late = {names[0], t + 1, 7};
    ck_assert_int_eq(rig_send(&rig, &late, 1, now_ms, NULL), 0);
    rig_reopen(&rig);
    rig.plan_of = make_plan;
    rig_reopen(&rig);
    ck_assert_int_eq(compare(sum_rate, t + STEP, t + STEP, 0, "planned again"), SOURCE_RAW);
    ck_assert_int_eq(compare(sum_rate, t, t, 0, "before it"), SOURCE_ROOT);
    rig_tick(&rig, now_ms);
    ck_assert_int_eq(compare(sum_rate, t - MINUTE, t + 2 * MINUTE, STEP, "backfilled"), SOURCE_ROOT);
    rig_done(&rig);
}
END_TEST

/* What was dirty stays so, what was kept is kept, what is new is backfilled, what is gone is gone for good. */
START_TEST(plans_change_while_running)
{
    open_engine(1);
    steady(begin_ms, begin_ms + 10 * MINUTE);
    int64_t t = begin_ms + 5 * MINUTE, now_ms = begin_ms + 10 * MINUTE, sealed_ms = now_ms - 30 * SECOND;
    struct rig_sample late = {names[0], t + 1, 7};
    struct err e = {0};
    const char *const other = all_roots[4].expr;
    ck_assert_int_eq(rig_send(&rig, &late, 1, now_ms, NULL), 0);
    for (int with = 1; with >= 0; with--) {
        struct plan *before = rig.plan;
        planned = with ? 1 | 1 << 4 : 1 << 4;
        rig.plan = make_plan(&rig);
        ck_assert_int_eq(ingest_set_plan(rig.ingest, rig.plan, &e), 0);
        plan_free(before);
        ck_assert_int_eq(compare(sum_rate, t + STEP, t + STEP, 0, "dirty"), SOURCE_RAW);
        ck_assert_int_eq(compare(sum_rate, t, t, 0, "clean"), with ? SOURCE_ROOT : SOURCE_RAW);
        ck_assert_int_eq(compare(other, t, sealed_ms, STEP, "the other"), with ? SOURCE_RAW : SOURCE_ROOT);
        if (with) /* killed before any checkpoint: the log knows what is dirty */
            rig_crash(&rig);
        ck_assert_int_eq(compare(sum_rate, t + STEP, t + STEP, 0, "crashed"), SOURCE_RAW);
        rig_tick(&rig, now_ms);
        ck_assert_int_eq(compare(other, begin_ms + STEP, sealed_ms, STEP, "backfilled"), SOURCE_ROOT);
        ck_assert_int_eq(compare(sum_rate, t, sealed_ms, STEP, "all"), with ? SOURCE_ROOT : SOURCE_RAW);
    }
    planned = 1;
    rig_reopen(&rig);
    ck_assert_int_eq(compare(sum_rate, t, t, 0, "back"), SOURCE_RAW);
    rig_tick(&rig, now_ms);
    ck_assert_int_eq(compare(sum_rate, t, sealed_ms, STEP, "back and backfilled"), SOURCE_ROOT);
    rig_done(&rig);
}
END_TEST

/* ---- damage ---- */

static void change_row(enum store_table table, const void *key, size_t key_bytes, bool lose)
{
    struct store_txn *t;
    struct err e = {0};
    struct str value;
    ck_assert_int_eq(store_write_begin(rig.store, &t, &e), 0);
    ck_assert_int_eq(store_get(t, table, key, key_bytes, &value, &e), 0);
    char copy[4096];
    ck_assert_uint_le(value.n, sizeof copy);
    memcpy(copy, value.p, value.n);
    copy[value.n - 1] ^= 1;
    if (lose)
        ck_assert_int_eq(store_delete(t, table, key, key_bytes, &e), 0);
    else
        ck_assert_int_eq(store_put(t, table, key, key_bytes, (struct str){copy, value.n}, &e), 0);
    ck_assert_int_eq(store_write_commit(t, &e), 0);
}

/* Lost or damaged rows are computed, counted, and then mended. */
START_TEST(damage_is_seen_and_mended)
{
    for (int lose = 0; lose < 2; lose++)
        for (int labels = 0; labels < 2; labels++) {
            open_engine(1);
            steady(begin_ms, begin_ms + 10 * MINUTE);
            int64_t t = begin_ms + 5 * MINUTE, now_ms = begin_ms + 10 * MINUTE;
            int64_t before = stats_value("mullion_root_results_damaged_total", "");
            uint8_t key[12] = {0}; /* root 0 */
            store_be_i64(key + 4, t);
            if (labels) {
                memset(key, 0, sizeof key);
                change_row(TABLE_ROOT_GROUPS, key, 8, lose);
            } else {
                change_row(TABLE_ROOT_RESULTS, key, 12, lose);
            }
            ck_assert_int_eq(compare(sum_rate, t, t, 0, "damaged"), SOURCE_RAW);
            ck_assert_int_eq(stats_value("mullion_root_results_damaged_total", "") - before, 1);
            rig_tick(&rig, now_ms + 10 * SECOND);
            ck_assert_int_eq(compare(sum_rate, t, t, 0, "mended"), SOURCE_ROOT);
            /* Lost rows are also found at the next start. */
            if (!labels)
                change_row(TABLE_ROOT_RESULTS, key, 12, lose);
            rig_reopen(&rig);
            ck_assert_int_eq(compare(sum_rate, t, t, 0, "reopened"), labels ? SOURCE_ROOT : SOURCE_RAW);
            rig_tick(&rig, now_ms + 20 * SECOND);
            ck_assert_int_eq(compare(sum_rate, t - MINUTE, t + MINUTE, STEP, "mended again"), SOURCE_ROOT);
            rig_done(&rig);
        }
}
END_TEST

static void send_alone(const char *name, int64_t from_ms, int64_t to_ms)
{
    for (int64_t t = from_ms; t <= to_ms; t += 5 * SECOND) {
        struct rig_sample one = {name, t, (double)t};
        ck_assert_int_eq(rig_send(&rig, &one, 1, t, NULL), 0);
        rig_tick(&rig, t);
    }
}

/* Labels that are gone are seen before their number is another's: the results that name it are computed again. */
START_TEST(lost_labels_are_not_others)
{
    open_engine(1);
    steady(begin_ms, begin_ms + 10 * MINUTE);
    int64_t silent_ms = begin_ms + 10 * MINUTE, lost_ms = silent_ms + 4 * MINUTE, end_ms = lost_ms + 4 * MINUTE;
    send_alone("m{s=\"1\",i=\"a\"}", silent_ms + 5 * SECOND, lost_ms); /* group 0 is s="0": no time to come has it */
    uint8_t key[8] = {0};
    change_row(TABLE_ROOT_GROUPS, key, sizeof key, true);
    rig_reopen(&rig);
    send_alone("m{s=\"new\"}", lost_ms + 5 * SECOND, end_ms);
    ck_assert_int_eq(compare(sum_rate, begin_ms + 2 * MINUTE, end_ms - MINUTE, STEP, "new labels"), SOURCE_ROOT);
    rig_done(&rig);
}
END_TEST

static int count_rows(void *ctx, int64_t time_ms, struct str bytes, struct err *e)
{
    (void)time_ms, (void)bytes, (void)e;
    ++*(uint32_t *)ctx;
    return 0;
}
static int count_groups(void *ctx, uint32_t group, struct str canonical, bool drop_name, struct err *e)
{
    (void)group, (void)canonical, (void)drop_name, (void)e;
    ++*(uint32_t *)ctx;
    return 0;
}

/* Rows past their retention go, and the labels that only they named. */
START_TEST(retention_lets_rows_and_labels_go)
{
    open_engine(1);
    for (int64_t t = begin_ms; t <= begin_ms + 60 * MINUTE; t += 5 * SECOND) {
        char name[40];
        snprintf(name, sizeof name, "m{s=\"%lld\"}", (long long)(t / (4 * MINUTE)));
        struct rig_sample one = {name, t, (double)t};
        ck_assert_int_eq(rig_send(&rig, &one, 1, t, NULL), 0);
        rig_tick(&rig, t);
    }
    struct store_txn *t;
    struct err e = {0};
    uint32_t rows = 0, groups = 0;
    ck_assert_int_eq(store_read_begin(rig.store, &t, &e), 0);
    ck_assert_int_eq(root_result_walk(t, 0, INT64_MIN, INT64_MAX, count_rows, &rows, &e), 0);
    ck_assert_int_eq(group_walk(t, GROUP_OF_ROOT, 0, count_groups, &groups, &e), 0);
    store_read_end(t);
    /* 20 m of rows each 15 s, at most one checkpoint's worth more; one label set each 4 m. */
    ck_assert_uint_ge(rows, RETENTION / STEP + 1);
    ck_assert_uint_le(rows, RETENTION / STEP + 1 + MINUTE / STEP + 1);
    ck_assert_uint_ge(groups, 5);
    ck_assert_uint_le(groups, 7);
    int64_t sealed_ms = begin_ms + 60 * MINUTE - 30 * SECOND;
    ck_assert_int_eq(compare(sum_rate, sealed_ms - RETENTION, sealed_ms, STEP, "kept"), SOURCE_ROOT);
    rig_done(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/roots");
    TCase *tcase = tcase_create("roots");
    tcase_set_timeout(tcase, 200);
    tcase_add_test(tcase, stored_roots_answer_as_raw);
    tcase_add_test(tcase, what_is_sealed_is_read_and_the_rest_computed);
    tcase_add_test(tcase, late_samples_dirty_their_reach);
    tcase_add_test(tcase, histograms_are_holes);
    tcase_add_test(tcase, new_roots_are_backfilled);
    tcase_add_test(tcase, samples_that_came_without_a_plan_count);
    tcase_add_test(tcase, plans_change_while_running);
    tcase_add_test(tcase, damage_is_seen_and_mended);
    tcase_add_test(tcase, lost_labels_are_not_others);
    tcase_add_test(tcase, retention_lets_rows_and_labels_go);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
