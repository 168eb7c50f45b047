/*
 * Property: a query answered from panes equals the same query over its whole window, for random range, interval,
 * offset, phase, gaps, counter resets, stale markers, late and repeated samples. Bit-equal for count, min, max and
 * DDSketch, 1e-9 for the other exact families, exact for KLL while n <= k and within its rank bound above. The
 * reference is Prometheus' own definition over the samples the test sent (here, or by the raw engine, which has suites
 * of its own).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/float_text.h"
#include "ingest/rig.h"
#include "suite.h"

enum { SERIES = 3, SAMPLES_MAX = 4000 };

struct stream {
    int64_t times_ms[SAMPLES_MAX];
    double values[SAMPLES_MAX];
    int n;
};

static struct rig rig;
static struct stream streams[SERIES];
static unsigned long long state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((state >> 33) % below);
}

/* ---- streams ---- */

static double next_value(int series, double before)
{
    if (series == 0) /* a counter that sometimes starts anew */
        return draw(20) == 0 ? draw(5) : before + draw(100) / 4.0;
    if (series == 1) /* a gauge with three decimals, both signs */
        return ((double)draw(2000000) - 1000000) / 1000;
    return exp(draw(1000) / 100.0); /* heavy tail */
}

/* Irregular times with gaps; a stale marker now and then. */
static void make_stream(int series, struct stream *s, int64_t from_ms, int64_t to_ms, int64_t interval_ms)
{
    double value = 0;
    s->n = 0;
    for (int64_t t = from_ms; t <= to_ms && s->n < SAMPLES_MAX;) {
        bool stale = draw(25) == 0;
        if (!stale)
            value = next_value(series, value);
        s->times_ms[s->n] = t;
        s->values[s->n++] = stale ? float_stale() : value;
        t += 1 + interval_ms / 2 + draw((uint32_t)interval_ms) + (draw(30) == 0 ? 8 * interval_ms : 0);
    }
}

/* In order of time over all series; some samples are held back and come up to 20 s late, some come twice. */
static void send_streams(int64_t from_ms, int64_t to_ms)
{
    static const char *const names[SERIES] = {"m{s=\"0\"}", "m{s=\"1\"}", "m{s=\"2\"}"};
    static struct rig_sample held[SERIES * SAMPLES_MAX];
    int next[SERIES] = {0}, held_n = 0;
    for (int64_t t = from_ms; t <= to_ms + 30000; t += 5000) {
        static struct rig_sample batch[SERIES * SAMPLES_MAX];
        size_t n = 0;
        for (int i = 0; i < held_n; i++)
            if (held[i].time_ms <= t - 20000) {
                batch[n++] = held[i];
                held[i--] = held[--held_n];
            }
        for (int s = 0; s < SERIES; s++)
            for (; next[s] < streams[s].n && streams[s].times_ms[next[s]] <= t; next[s]++) {
                struct rig_sample sample = {names[s], streams[s].times_ms[next[s]], streams[s].values[next[s]]};
                if (draw(15) == 0) {
                    held[held_n++] = sample;
                    continue;
                }
                batch[n++] = sample;
                if (draw(20) == 0)
                    batch[n++] = sample;
            }
        if (n)
            ck_assert_int_eq(rig_send(&rig, batch, n, t, NULL), 0);
        rig_tick(&rig, t);
    }
}

/* ---- references ---- */

/* Samples of one series in (start, end], stale markers left out. */
static uint32_t window(const struct stream *s, int64_t start_ms, int64_t end_ms, int64_t *times_ms, double *values)
{
    uint32_t n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->times_ms[i] > start_ms && s->times_ms[i] <= end_ms && !float_is_stale(s->values[i])) {
            times_ms[n] = s->times_ms[i];
            values[n++] = s->values[i];
        }
    return n;
}

/* The whole-window plan of a sketch: one state over all samples, one readout. */
static double whole_window(enum family family, const struct sketch_params *params, enum statistic statistic, double q,
                           int64_t end_ms, const int64_t *times_ms, const double *values, uint32_t n)
{
    const struct family_info *f = family_get(family);
    size_t cap = f->size_bound(params, n), size;
    uint8_t *bytes = malloc(cap);
    void *scratch =
        aligned_alloc(64, (f->scratch_bound(params, n, 1) + f->scratch_bound(params, n, 0) + 127) & ~(size_t)63);
    ck_assert_int_eq(f->build(bytes, cap, &size, params, end_ms, times_ms, values, n, rig.plan->sketch_seed, scratch),
                     0);
    struct state_ref ref = {bytes, (uint32_t)size, end_ms};
    struct sketch_args args = {.q = q};
    double v = NAN;
    ck_assert_int_eq(f->estimate(&ref, 1, params, statistic, &args, scratch, &v), 0);
    free(bytes);
    free(scratch);
    return v;
}

/* Of the plan's view of a family. */
static const struct sketch_params *planned_params(enum family family)
{
    for (uint32_t i = 0; i < rig.plan->views_n; i++)
        if (rig.plan->views[i].family == family)
            return &rig.plan->views[i].params;
    ck_abort_msg("the plan has no %s view", family_get(family)->name);
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, 8) == 0;
}

static bool near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= fmax(1e-12, 1e-9 * fmax(fabs(a), fabs(b)));
}

static void check_rank(double got, double q, double bound, const double *values, uint32_t n, const char *what)
{
    uint32_t below = 0, upto = 0;
    for (uint32_t i = 0; i < n; i++) {
        below += values[i] < got;
        upto += values[i] <= got;
    }
    double target = q * (n - 1), slack = bound * n + 1;
    ck_assert_msg(below <= target + slack && upto >= target - slack + 1, "%s: %.17g has ranks %u..%u of %u", what, got,
                  below, upto, n);
}

/* ---- one round ---- */

struct demand {
    int64_t range_ms, every_ms, phase_ms, offset_ms;
};

enum kind { BITS = 1, NEAR, KLL, DDSKETCH, HLL };
static const struct {
    const char *function;
    enum kind kind;
    const char *accuracy;
} queries[] = {
    {"count_over_time(m[%s]%s)", BITS, ""},
    {"min_over_time(m[%s]%s)", BITS, ""},
    {"max_over_time(m[%s]%s)", BITS, ""},
    {"present_over_time(m[%s]%s)", BITS, ""},
    {"last_over_time(m[%s]%s)", BITS, ""},
    {"changes(m[%s]%s)", BITS, ""},
    {"resets(m[%s]%s)", BITS, ""},
    {"sum_over_time(m[%s]%s)", NEAR, ""},
    {"avg_over_time(m[%s]%s)", NEAR, ""},
    {"stddev_over_time(m[%s]%s)", NEAR, ""},
    {"rate(m[%s]%s)", NEAR, ""},
    {"increase(m[%s]%s)", NEAR, ""},
    {"delta(m[%s]%s)", NEAR, ""},
    {"irate(m[%s]%s)", NEAR, ""},
    {"idelta(m[%s]%s)", NEAR, ""},
    {"quantile_over_time(0.25, m[%s]%s)", NEAR, ""},
    {"distinct_over_time(m[%s]%s) + 0", BITS, ""}, /* a text of its own beside HLL's: the stricter query answers one */
    {"deriv(m[%s]%s)", NEAR, ""},
    {"predict_linear(m[%s]%s, 3600)", NEAR, ""},
    {"predict_linear(m[%s]%s, -2 * 30)", NEAR, ""},
    {"quantile_over_time(0.9, m[%s]%s)", KLL, ", accuracy: {rank: 0.05}"},
    {"quantile_over_time(0.75, m[%s]%s)", DDSKETCH, ", accuracy: {relative: 0.02}"},
    {"distinct_over_time(m[%s]%s)", HLL, ", accuracy: {cardinality: 0.05}"},
};
enum { QUERIES = sizeof queries / sizeof queries[0] };

static void query_text(size_t i, const struct demand *d, char *ret, size_t cap)
{
    char range[DURATION_TEXT_MAX], offset[DURATION_TEXT_MAX], modifier[80] = "";
    duration_format(d->range_ms, range);
    duration_format(d->offset_ms, offset);
    if (d->offset_ms)
        snprintf(modifier, sizeof modifier, " offset %s", offset);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(ret, cap, queries[i].function, range, modifier);
#pragma GCC diagnostic pop
}

static void workload_text(const struct demand *d, char *ret, size_t cap)
{
    size_t n = (size_t)snprintf(ret, cap, "queries:\n");
    for (size_t i = 0; i < QUERIES; i++) {
        char text[200], every[DURATION_TEXT_MAX], phase[DURATION_TEXT_MAX];
        query_text(i, d, text, sizeof text);
        duration_format(d->every_ms, every);
        duration_format(d->phase_ms, phase);
        n += (size_t)snprintf(ret + n, cap - n, "  - {query: \"%s\", every: %s, phase: %s%s}\n", text, every, phase,
                              queries[i].accuracy);
    }
    snprintf(ret + n, cap - n, "data: {raw_retention: 0, metrics: {m: {type: gauge, series: 3, interval: 1s}}}\n");
}

static void check_series(size_t i, int s, const struct demand *d, int64_t at_ms, const char *where)
{
    static int64_t times_ms[SAMPLES_MAX];
    static double values[SAMPLES_MAX];
    char text[200], one[260];
    bool found, found_raw;
    query_text(i, d, text, sizeof text);
    /* One series of the whole answer; the planned text itself is what is bound. */
    double got = NAN;
    struct arena a;
    struct result result;
    struct err e = {0};
    struct executor x = {.plan = rig.plan, .source = ingest_source(rig.ingest)};
    struct query_options o = {.start_ms = at_ms, .end_ms = at_ms};
    arena_init(&a, 0);
    int code = query_run(&x, str_of(text), &o, &a, &result, &e);
    ck_assert_msg(code == 0, "%s: %s", text, e.message);
    found = false;
    bool sketched = result.sources & SOURCE_PANES; /* with no states yet the answer is raw's, and exact */
    for (uint32_t j = 0; j < result.series_n; j++)
        if (labels_get(&result.series[j].labels, STR("s")).p[0] == '0' + s) {
            got = result.series[j].v[0];
            found = true;
        }
    arena_done(&a);
    char *selector = strstr(text, "m[");
    snprintf(one, sizeof one, "%.*sm{s=\"%d\"}%s", (int)(selector - text), text, s, selector + 1);
    double raw = rig_value(&rig, one, at_ms, true, &found_raw);
    ck_assert_msg(found == found_raw, "%s %s at %lld: from panes %s, from raw %s", where, one, (long long)at_ms,
                  found ? "there" : "empty", found_raw ? "there" : "empty");
    if (!found)
        return;
    int64_t end_ms = at_ms - d->offset_ms;
    uint32_t n = window(&streams[s], end_ms - d->range_ms, end_ms, times_ms, values);
    struct sketch_params kll = {.k = kll_k_for_rank_error(0.05)}, dd = {.alpha = 0.02};
    if (queries[i].kind == BITS)
        ck_assert_msg(same_bits(got, raw), "%s %s at %lld: %.17g, raw %.17g", where, one, (long long)at_ms, got, raw);
    else if (!sketched || queries[i].kind == NEAR || (queries[i].kind == KLL && n <= kll.k))
        ck_assert_msg(near(got, raw), "%s %s at %lld: %.17g, raw %.17g", where, one, (long long)at_ms, got, raw);
    else if (queries[i].kind == KLL)
        check_rank(got, 0.9, 2 * kll_rank_error(kll.k), values, n, one);
    else {
        bool hll = queries[i].kind == HLL;
        double whole = hll ? whole_window(FAMILY_HLL, planned_params(FAMILY_HLL), STATISTIC_DISTINCT, 0, end_ms,
                                          times_ms, values, n)
                           : whole_window(FAMILY_DDSKETCH, &dd, STATISTIC_QUANTILE, 0.75, end_ms, times_ms, values, n);
        ck_assert_msg(same_bits(got, whole), "%s %s at %lld: %.17g is not the whole window's %.17g", where, one,
                      (long long)at_ms, got, whole);
    }
}

static void round_run(const struct demand *d, int64_t interval_ms, uint32_t *from_panes)
{
    static char workload[8000];
    char where[200];
    const int64_t from_ms = 400LL * 3600 * 1000 + draw(100000), to_ms = from_ms + 4 * d->range_ms;
    snprintf(where, sizeof where, "[range %lld every %lld phase %lld offset %lld ms]", (long long)d->range_ms,
             (long long)d->every_ms, (long long)d->phase_ms, (long long)d->offset_ms);
    workload_text(d, workload, sizeof workload);
    rig = (struct rig){0};
    rig_open(&rig, workload);
    for (int s = 0; s < SERIES; s++)
        make_stream(s, &streams[s], from_ms, to_ms, interval_ms);
    send_streams(from_ms, to_ms);
    for (int k = 0; k < 6; k++) {
        int64_t at_ms = to_ms + d->offset_ms - draw((uint32_t)(2 * d->range_ms));
        if (k % 3) /* every third time lies off the grid: whole panes inside, raw at both edges */
            at_ms -= floor_mod(at_ms - d->phase_ms, d->every_ms);
        for (size_t i = 0; i < QUERIES; i++) {
            char text[200];
            uint32_t sources;
            query_text(i, d, text, sizeof text);
            rig_count(&rig, text, at_ms, false, &sources);
            from_panes[i] += (sources & SOURCE_PANES) != 0;
            for (int s = 0; s < SERIES; s++)
                check_series(i, s, d, at_ms, where);
        }
    }
    rig_done(&rig);
}

START_TEST(panes_equal_whole_windows)
{
    state = suite_seed("ingest/panes");
    uint32_t from_panes[QUERIES] = {0}, total = 0;
    const uint32_t rounds = 24, each = rounds * 6;
    for (uint32_t round = 0; round < rounds; round++) {
        static const int64_t everies_ms[] = {5000, 10000, 15000, 60000, 7000};
        struct demand d = {.every_ms = everies_ms[draw(5)]};
        d.range_ms = d.every_ms * (2 + draw(6)) + (draw(3) == 0 ? d.every_ms / 2 / 500 * 500 : 0);
        d.phase_ms = draw(4) == 0 ? draw((uint32_t)d.every_ms) : 0;
        d.offset_ms = draw(3) == 0 ? (int64_t)draw(40000) - 20000 : 0;
        round_run(&d, 300 + draw(3000), from_panes);
    }
    /* Late samples make some series raw; most answers must have come from panes all the same. */
    for (size_t i = 0; i < QUERIES; i++) {
        ck_assert_msg(from_panes[i] * 3 > each, "%s: %u of %u answers read panes", queries[i].function, from_panes[i],
                      each);
        total += from_panes[i];
    }
    ck_assert_msg(total * 2 > each * QUERIES, "%u of %u answers read panes", total, each * QUERIES);
    printf("ingest/panes: %u of %u answers read panes\n", total, each * (uint32_t)QUERIES);
}
END_TEST

/* A line behind samples that are not finite, the evaluation time before and behind them: as raw, infinities too. */
START_TEST(lines_of_samples_that_are_not_finite)
{
    static const char *const lines[] = {"deriv(m[1m])", "predict_linear(m[1m], 60)",
                                        "predict_linear(m[1m] offset -20s, 60)"};
    state = suite_seed("ingest/panes lines");
    rig = (struct rig){0};
    rig_open(&rig, "queries:\n- {query: 'deriv(m[1m])', every: 10s}\n"
                   "- {query: 'predict_linear(m[1m], 60)', every: 10s}\n"
                   "- {query: 'predict_linear(m[1m] offset -20s, 60)', every: 10s}\n"
                   "data: {raw_retention: 0, metrics: {m: {type: gauge, series: 1, interval: 1s}}}\n");
    const int64_t from_ms = 400LL * 3600 * 1000;
    int n = 0, infinite = 0, none = 0;
    for (int64_t t = from_ms, asked_ms = from_ms + 120000; t < from_ms + 1200000; t += 1000 + draw(2000)) {
        const double odd[] = {INFINITY, -INFINITY, NAN};
        struct rig_sample sample = {"m{s=\"0\"}", t, draw(40) ? draw(1000) / 8.0 : odd[draw(3)]};
        ck_assert_int_eq(rig_send(&rig, &sample, 1, t, NULL), 0);
        rig_tick(&rig, t);
        for (; asked_ms + 30000 <= t; asked_ms += 10000) {
            for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
                bool found, found_raw;
                uint32_t sources;
                double got = rig_value(&rig, lines[i], asked_ms, false, &found);
                double raw = rig_value(&rig, lines[i], asked_ms, true, &found_raw);
                ck_assert_msg(found && found_raw && near(got, raw), "%s at %lld: %.17g, raw %.17g", lines[i],
                              (long long)asked_ms, got, raw);
                rig_count(&rig, lines[i], asked_ms, false, &sources);
                n += (sources & SOURCE_PANES) != 0;
                infinite += isinf(raw) != 0;
                none += isnan(raw) != 0;
            }
        }
    }
    ck_assert_msg(n > 200 && infinite > 0 && none > 50, "%d from panes, %d infinite, %d NaN", n, infinite, none);
    rig_done(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/panes");
    TCase *tcase = tcase_create("panes");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, panes_equal_whole_windows);
    tcase_add_test(tcase, lines_of_samples_that_are_not_finite);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
