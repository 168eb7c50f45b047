/*
 * Counter states against Prometheus' arithmetic over the samples themselves (promql/functions.go of Prometheus 3:
 * extrapolatedRate, instantValue, funcChanges, funcResets), for any cut into panes.
 */
#include <math.h>

#include "kernels/bits.h"
#include "kernels/families.h"
#include "panes.h"
#include "suite.h"

static const struct family_info *const counter = &counter_family;

struct stream {
    int64_t times_ms[PANES_SAMPLES_MAX];
    double values[PANES_SAMPLES_MAX];
    uint32_t n;
};

/* What Prometheus answers over all samples; false: no answer. */
static bool prometheus_extrapolated(const struct stream *s, const struct sketch_args *a, bool is_counter, bool is_rate,
                                    double *ret)
{
    if (s->n < 2)
        return false;
    double result = s->values[s->n - 1] - s->values[0], prev = s->values[0];
    for (uint32_t i = 1; is_counter && i < s->n; i++) {
        if (s->values[i] < prev)
            result += prev;
        prev = s->values[i];
    }
    double to_start = (double)(s->times_ms[0] - a->start_ms) / 1000;
    double to_end = (double)(a->end_ms - s->times_ms[s->n - 1]) / 1000;
    double sampled = (double)(s->times_ms[s->n - 1] - s->times_ms[0]) / 1000;
    double average = sampled / (double)(s->n - 1);
    double threshold = average * 1.1;
    if (to_start >= threshold)
        to_start = average / 2;
    if (is_counter) {
        double to_zero = to_start;
        if (result > 0 && s->values[0] >= 0)
            to_zero = sampled * (s->values[0] / result);
        if (to_zero < to_start)
            to_start = to_zero;
    }
    if (to_end >= threshold)
        to_end = average / 2;
    double factor = (sampled + to_start + to_end) / sampled;
    if (is_rate)
        factor /= (double)(a->end_ms - a->start_ms) / 1000;
    *ret = result * factor;
    return true;
}

static bool prometheus_instant(const struct stream *s, bool is_rate, double *ret)
{
    if (s->n < 2)
        return false;
    double last = s->values[s->n - 1], prev = s->values[s->n - 2];
    double seconds = (double)(s->times_ms[s->n - 1] - s->times_ms[s->n - 2]) / 1000;
    double step = is_rate && last < prev ? last : last - prev;
    *ret = is_rate ? step / seconds : step;
    return true;
}

static bool prometheus(const struct stream *s, enum statistic statistic, const struct sketch_args *a, double *ret)
{
    uint32_t changes = 0, resets = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        double v = s->values[i], prev = s->values[i - 1];
        changes += v != prev && !(isnan(v) && isnan(prev));
        resets += v < prev;
    }
    switch (statistic) {
    case STATISTIC_RATE:
        return prometheus_extrapolated(s, a, true, true, ret);
    case STATISTIC_INCREASE:
        return prometheus_extrapolated(s, a, true, false, ret);
    case STATISTIC_DELTA:
        return prometheus_extrapolated(s, a, false, false, ret);
    case STATISTIC_IRATE:
        return prometheus_instant(s, true, ret);
    case STATISTIC_IDELTA:
        return prometheus_instant(s, false, ret);
    case STATISTIC_CHANGES:
        *ret = changes;
        return true;
    case STATISTIC_RESETS:
        *ret = resets;
        return true;
    case STATISTIC_FIRST:
        *ret = s->values[0];
        return true;
    case STATISTIC_LAST:
        *ret = s->values[s->n - 1];
        return true;
    default:
        *ret = s->n;
        return true;
    }
}

/* Samples every 15 s from t = 15 s, in panes of pane_n samples that end on their last one. */
static void every_15_s(struct panes *p, const double *values, uint32_t n, uint32_t pane_n)
{
    int64_t times[64];
    p->k = 0;
    for (uint32_t i = 0; i < n; i++)
        times[i] = 15000 * (int64_t)(i + 1);
    for (uint32_t at = 0; at < n; at += pane_n)
        panes_add(p, counter, times[at + pane_n - 1], times + at, values + at, pane_n);
}

START_TEST(increase_corrects_resets_and_extrapolates)
{
    double c[20];
    for (uint32_t i = 0; i < 20; i++)
        c[i] = i < 10 ? 10 * (i + 1) : 5 + 10 * (i - 10);
    const struct sketch_args window = {.start_ms = 0, .end_ms = 300000};
    for (uint32_t pane_n = 1; pane_n <= 20; pane_n++) {
        if (20 % pane_n)
            continue;
        struct panes p;
        every_15_s(&p, c, 20, pane_n);
        ck_assert_double_eq_tol(panes_read(&p, counter, STATISTIC_INCREASE, &window), 194.736842, 5e-7);
        ck_assert_double_eq_tol(panes_read(&p, counter, STATISTIC_RATE, &window), 0.649123, 5e-7);
    }
}
END_TEST

START_TEST(a_reset_between_two_panes_is_counted)
{
    const double c[] = {10, 20, 30, 40, 4, 14, 24, 34};
    struct panes p;
    every_15_s(&p, c, 8, 4);
    const struct sketch_args window = {.start_ms = 0, .end_ms = 120000};
    ck_assert_double_eq_tol(panes_read(&p, counter, STATISTIC_INCREASE, &window), 73.142857, 5e-7);
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_RESETS, &window), 1);
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_CHANGES, &window), 7);
}
END_TEST

/* Of one pane each, of the merge of all in every order, and of the merge of two with the third, the increase is that of
 * the whole: the first and the last sample decide, the values before each reset are added, and the window's edges are
 * reached as far as a counter can have come from zero. */
static void check_increase(const double *c, uint32_t n, uint32_t pane_n, uint32_t empty_pane, double want,
                           double resets)
{
    int64_t times[64];
    const struct sketch_args window = {.start_ms = 0, .end_ms = 180000};
    struct panes p = {.k = 0}, whole = {.k = 0};
    for (uint32_t i = 0; i < n; i++)
        times[i] = 15000 * (int64_t)(i + 1) + (i / pane_n >= empty_pane ? 60000 : 0);
    for (uint32_t at = 0; at < n; at += pane_n)
        panes_add(&p, counter, times[at + pane_n - 1], times + at, c + at, pane_n);
    panes_add(&whole, counter, 180000, times, c, n);
    ck_assert_double_eq_tol(panes_read(&whole, counter, STATISTIC_INCREASE, &window), want, 5e-7);
    static const uint32_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const struct panes in_time = p;
    for (uint32_t o = 0; o < 6; o++) {
        uint8_t merged[PANES_STATE_BYTES];
        for (uint32_t i = 0; i < p.k; i++)
            p.ref[i] = in_time.ref[p.k == 3 ? orders[o][i] : i];
        ck_assert_double_eq_tol(panes_read(&p, counter, STATISTIC_INCREASE, &window), want, 5e-7);
        ck_assert_double_eq(panes_read(&p, counter, STATISTIC_RESETS, &window), resets);
        panes_merge(&p, counter, merged, 180000, 0, p.k);
        ck_assert_mem_eq(merged, whole.bytes[0], counter->fixed_size);
    }
    for (uint32_t at = 1; at < p.k; at++) { /* neighbours first, then with the rest */
        uint8_t left[PANES_STATE_BYTES], right[PANES_STATE_BYTES], joined[PANES_STATE_BYTES];
        p = in_time;
        panes_merge(&p, counter, left, p.ref[at - 1].end_ms, 0, at);
        panes_merge(&p, counter, right, 180000, at, p.k);
        struct panes two = {
            .k = 2, .ref = {{right, counter->fixed_size, 180000}, {left, counter->fixed_size, p.ref[at - 1].end_ms}}};
        panes_merge(&two, counter, joined, 180000, 0, 2);
        ck_assert_mem_eq(joined, whole.bytes[0], counter->fixed_size);
    }
}

START_TEST(any_order_of_panes_with_resets)
{
    /* A reset inside the middle pane: 53 - 10 + 60 = 103 over 165 s, 15 s before the first sample and none behind. */
    check_increase((double[]){10, 20, 30, 40, 50, 60, 3, 13, 23, 33, 43, 53}, 12, 4, 9, 103 * 180 / 165.0, 1);
    /* Resets in every pane and on both edges: 8 - 5, and the values before each. */
    check_increase((double[]){5, 2, 7, 9, 6, 4, 4, 11, 3, 8, 1, 8}, 12, 4, 9,
                   (8 - 5 + 5 + 9 + 6 + 11 + 8) * 180 / 165.0, 5);
    /* Nothing in the middle pane; a reset hides in the gap. */
    check_increase((double[]){10, 20, 30, 40, 50, 60, 70, 80}, 8, 4, 1, 70 * 180 / 165.0, 0);
    check_increase((double[]){20, 30, 40, 50, 4, 14, 24, 34}, 8, 4, 1, (34 - 20 + 50) * 180 / 165.0, 1);
    /* A sample a pane. */
    check_increase((double[]){10, 20, 30, 40, 50, 60, 3, 13, 23, 33, 43, 53}, 12, 1, 99, 103 * 180 / 165.0, 1);
}
END_TEST

/* The merge of the first and the last of three panes spans the middle one: joined with it, it could only be wrong. */
START_TEST(a_pane_inside_another_is_refused)
{
    struct panes p;
    every_15_s(&p, (double[]){10, 20, 30, 40, 50, 60, 3, 13, 23, 33, 43, 53}, 12, 4);
    struct panes outer = {.k = 2, .ref = {p.ref[0], p.ref[2]}};
    uint8_t spanning[PANES_STATE_BYTES], merged[PANES_STATE_BYTES];
    panes_merge(&outer, counter, spanning, 180000, 0, 2);
    outer = (struct panes){.k = 2, .ref = {{spanning, counter->fixed_size, 180000}, p.ref[1]}};
    const struct sketch_args window = {.start_ms = 0, .end_ms = 180000};
    double v = 42;
    size_t size;
    ck_assert_int_lt(panes_estimate(&outer, counter, STATISTIC_INCREASE, &window, &v), 0);
    ck_assert_double_eq(v, 42);
    ck_assert_int_lt(
        counter->merge_k(merged, PANES_STATE_BYTES, &size, &panes_no_params, 180000, outer.ref, 2, 0, outer.scratch),
        0);
}
END_TEST

START_TEST(increase_of_each_series_before_the_sum)
{
    struct panes a;
    every_15_s(&a, (double[]){10, 20, 30, 40, 50, 60, 70, 80}, 8, 4);
    struct panes b;
    every_15_s(&b, (double[]){1000, 1010, 1020, 1030, 5, 15, 25, 35}, 8, 4);
    const struct sketch_args window = {.start_ms = 0, .end_ms = 120000};
    ck_assert_double_eq_tol(panes_read(&a, counter, STATISTIC_INCREASE, &window) +
                                panes_read(&b, counter, STATISTIC_INCREASE, &window),
                            154.285714, 5e-7);
}
END_TEST

START_TEST(the_last_two_samples_may_lie_in_two_panes)
{
    const struct sketch_args window = {.start_ms = 0, .end_ms = 60000};
    struct panes rising;
    every_15_s(&rising, (double[]){10, 40}, 2, 1);
    ck_assert_double_eq(panes_read(&rising, counter, STATISTIC_IRATE, &window), 2);
    ck_assert_double_eq(panes_read(&rising, counter, STATISTIC_IDELTA, &window), 30);
    struct panes falling;
    every_15_s(&falling, (double[]){10, 40, 30}, 3, 1);
    ck_assert_double_eq(panes_read(&falling, counter, STATISTIC_IRATE, &window), 2);
    ck_assert_double_eq(panes_read(&falling, counter, STATISTIC_IDELTA, &window), -10);
    struct panes inside;
    every_15_s(&inside, (double[]){10, 40, 30, 36}, 4, 2);
    ck_assert_double_eq(panes_read(&inside, counter, STATISTIC_IRATE, &window), 0.4);
}
END_TEST

START_TEST(one_sample_has_no_rate)
{
    struct panes p;
    every_15_s(&p, (double[]){7}, 1, 1);
    const struct sketch_args window = {.start_ms = 0, .end_ms = 60000};
    static const enum statistic none[] = {STATISTIC_RATE, STATISTIC_INCREASE, STATISTIC_DELTA, STATISTIC_IRATE,
                                          STATISTIC_IDELTA};
    double v = 42;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_int_eq(panes_estimate(&p, counter, none[i], &window, &v), SKETCH_NONE);
        ck_assert_double_eq(v, 42);
    }
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_FIRST, &window), 7);
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_LAST, &window), 7);
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_COUNT, &window), 1);
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_CHANGES, &window), 0);
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_RESETS, &window), 0);
    p.k = 0;
    ck_assert_int_eq(panes_estimate(&p, counter, STATISTIC_COUNT, &window, &v), SKETCH_NONE);
}
END_TEST

static double random_value(uint64_t *s, unsigned kind, double prev)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
    switch (kind) {
    case 0: /* a counter with resets */
        return random_below(s, 20) ? prev + random_below(s, 50) : random_below(s, 5);
    case 1: /* a gauge */
        return 100 * random_normal(s);
    case 2: /* mostly still */
        return random_below(s, 5) ? prev : random_below(s, 3);
    default:
        return random_below(s, 4) ? prev + 1 : odd[random_below(s, 5)];
    }
}

static void fill_stream(struct stream *stream, uint64_t *s)
{
    unsigned kind = random_below(s, 4);
    int64_t t = random_below(s, 20000);
    double v = random_below(s, 2) ? 0 : random_below(s, 100000);
    stream->n = 1 + random_below(s, random_below(s, 2) ? 5 : PANES_SAMPLES_MAX);
    for (uint32_t i = 0; i < stream->n; i++) {
        stream->times_ms[i] = t += kind == 1 ? 1 + random_below(s, 60000) : 14900 + random_below(s, 200);
        stream->values[i] = v = random_value(s, kind, v);
    }
}

START_TEST(any_cut_answers_as_prometheus)
{
    uint64_t s = suite_seed("any_cut_answers_as_prometheus");
    static struct stream stream;
    for (unsigned round = 0; round < 3000; round++) {
        fill_stream(&stream, &s);
        struct panes p;
        panes_split(&p, &s, counter, stream.times_ms, stream.values, stream.n);
        struct sketch_args window = {.start_ms = stream.times_ms[0] - 1 - random_below(&s, 40000),
                                     .end_ms = p.ref[p.k - 1].end_ms + random_below(&s, 40000)};
        panes_check_merge(&p, &s, counter, &window, 1e-9);
        for (uint32_t i = 0; i < counter->readouts_n; i++) {
            enum statistic statistic = counter->readouts[i].statistic;
            double want = 0, got = 0;
            bool some = prometheus(&stream, statistic, &window, &want);
            ck_assert_int_eq(panes_estimate(&p, counter, statistic, &window, &got), some ? SKETCH_OK : SKETCH_NONE);
            ck_assert_msg(!some || panes_near(got, want, 1e-9), "statistic %u of %u samples: %.17g, not %.17g",
                          statistic, stream.n, got, want);
        }
    }
}
END_TEST

START_TEST(merging_in_steps_gives_the_same_bytes)
{
    uint64_t s = suite_seed("merging_in_steps_gives_the_same_bytes");
    static struct stream stream;
    for (unsigned round = 0; round < 1000; round++) {
        fill_stream(&stream, &s);
        for (uint32_t i = 0; i < stream.n; i++) /* integers, so that reset sums do not round */
            stream.values[i] = isfinite(stream.values[i]) ? floor(stream.values[i]) : stream.values[i];
        struct panes p;
        panes_split(&p, &s, counter, stream.times_ms, stream.values, stream.n);
        int64_t end_ms = p.ref[p.k - 1].end_ms;
        uint8_t whole[PANES_STATE_BYTES], left[PANES_STATE_BYTES], right[PANES_STATE_BYTES];
        panes_merge(&p, counter, whole, end_ms, 0, p.k);
        uint32_t at = random_below(&s, p.k);
        if (at == 0)
            continue;
        panes_merge(&p, counter, left, p.ref[at - 1].end_ms, 0, at);
        panes_merge(&p, counter, right, end_ms, at, p.k);
        struct panes two = {
            .k = 2, .ref = {{right, counter->fixed_size, end_ms}, {left, counter->fixed_size, p.ref[at - 1].end_ms}}};
        uint8_t joined[PANES_STATE_BYTES];
        panes_merge(&two, counter, joined, end_ms, 0, 2);
        ck_assert_mem_eq(joined, whole, counter->fixed_size);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    const int64_t day_ms = 86400000, times[] = {1000, 2000, 3000};
    const double values[] = {1, 2, 3};
    uint8_t dst[56];
    size_t size;
    static const struct {
        const char *what;
        int64_t end_ms;
        uint32_t n;
        int rc;
    } builds[] = {{"a sample after the end", 2999, 3, SKETCH_BAD_DATA},
                  {"the widest window", 1000 + 24 * INT64_C(86400000) - 1, 3, SKETCH_OK},
                  {"a wider window", 1000 + 24 * INT64_C(86400000), 3, SKETCH_BAD_DATA},
                  {"an impossible time", INT64_MAX, 3, SKETCH_BAD_DATA},
                  {"nothing", 3000, 0, SKETCH_BAD_DATA}};
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        ck_assert_msg(counter->build(dst, 56, &size, &panes_no_params, builds[i].end_ms, times, values, builds[i].n, 0,
                                     NULL) == builds[i].rc,
                      "%s", builds[i].what);
    ck_assert_int_eq(counter->build(dst, 55, &size, &panes_no_params, 3000, times, values, 3, 0, NULL), SKETCH_NO_ROOM);
    const int64_t still[] = {1000, 1000};
    ck_assert_int_eq(counter->build(dst, 56, &size, &panes_no_params, 3000, still, values, 2, 0, NULL),
                     SKETCH_BAD_DATA);

    struct panes p = {.k = 0};
    double v;
    const struct sketch_args window = {.start_ms = 0, .end_ms = 60 * day_ms};
    panes_add(&p, counter, 3000, times, values, 3);
    panes_add(&p, counter, 2500, times + 1, values + 1, 1);
    ck_assert_int_eq(panes_estimate(&p, counter, STATISTIC_COUNT, &window, &v), SKETCH_BAD_DATA); /* they overlap */
    ck_assert_int_eq(counter->merge_k(dst, 56, &size, &panes_no_params, 3000, p.ref, 2, 0, p.scratch), SKETCH_BAD_DATA);
    p.k = 1;
    panes_add(&p, counter, 30 * day_ms, (int64_t[]){30 * day_ms}, values, 1);
    ck_assert_double_eq(panes_read(&p, counter, STATISTIC_COUNT, &window), 4);
    ck_assert_int_eq(counter->merge_k(dst, 56, &size, &panes_no_params, 30 * day_ms, p.ref, 2, 0, p.scratch),
                     SKETCH_BAD_DATA); /* wider than a state can say */
    p.k = 1;
    ck_assert_int_eq(panes_estimate(&p, counter, STATISTIC_RATE, &(struct sketch_args){1000, 3000, 0}, &v),
                     SKETCH_BAD_DATA); /* (1000, 3000] does not hold the sample at 1000 */
    ck_assert_int_eq(panes_estimate(&p, counter, STATISTIC_RATE, &(struct sketch_args){0, 2999, 0}, &v),
                     SKETCH_BAD_DATA);
    ck_assert_int_eq(panes_estimate(&p, counter, STATISTIC_RATE, &(struct sketch_args){999, 3000, 0}, &v), SKETCH_OK);
    ck_assert_int_eq(panes_estimate(&p, counter, STATISTIC_SUM, &window, &v), SKETCH_BAD_DATA);
    p.ref[0].end_ms = INT64_MIN;
    ck_assert_int_eq(panes_estimate(&p, counter, STATISTIC_COUNT, &window, &v), SKETCH_BAD_DATA);
}
END_TEST

struct image {
    int32_t first_dt, prev_dt, last_dt;
    uint32_t n;
    double first, prev, last, reset_sum;
    uint32_t resets, changes;
};

START_TEST(damaged_states_are_refused)
{
    static const struct {
        const char *what;
        struct image image;
        int rc;
    } rows[] = {
        {"three samples", {-30, -20, -10, 3, 5, 7, 2, 7, 1, 2}, SKETCH_OK},
        {"no samples", {-30, -20, -10, 0, 5, 7, 2, 7, 1, 2}, SKETCH_CORRUPT},
        {"after the end", {-30, -20, 1, 3, 5, 7, 2, 7, 1, 2}, SKETCH_CORRUPT},
        {"before the window", {-2073600000, -20, -10, 3, 5, 7, 2, 7, 1, 2}, SKETCH_CORRUPT},
        {"the window's first", {-2073599999, -20, -10, 3, 5, 7, 2, 7, 1, 2}, SKETCH_OK},
        {"prev before first", {-30, -40, -10, 3, 5, 7, 2, 7, 1, 2}, SKETCH_CORRUPT},
        {"last at prev", {-30, -20, -20, 3, 5, 7, 2, 7, 1, 2}, SKETCH_CORRUPT},
        {"prev at first of three", {-30, -30, -20, 3, 5, 7, 2, 7, 1, 2}, SKETCH_CORRUPT},
        {"more samples than ms", {-30, -20, -10, 13, 5, 7, 2, 7, 1, 2}, SKETCH_CORRUPT},
        {"as many samples as ms", {-30, -20, -10, 12, 5, 7, 2, 7, 1, 2}, SKETCH_OK},
        {"more resets than changes", {-30, -20, -10, 3, 5, 7, 2, 7, 2, 1}, SKETCH_CORRUPT},
        {"more changes than steps", {-30, -20, -10, 3, 5, 7, 2, 7, 1, 3}, SKETCH_CORRUPT},
        {"reset sum without resets", {-30, -20, -10, 3, 5, 7, 9, 7, 0, 2}, SKETCH_CORRUPT},
        {"reset sum -0", {-30, -20, -10, 3, 5, 7, 9, -0.0, 0, 2}, SKETCH_CORRUPT},
        {"two samples", {-30, -30, -10, 2, 5, 5, 2, 5, 1, 1}, SKETCH_OK},
        {"two samples, prev is not first", {-30, -30, -10, 2, 5, 6, 2, 5, 1, 1}, SKETCH_CORRUPT},
        {"two samples, prev apart", {-30, -20, -10, 2, 5, 5, 2, 5, 1, 1}, SKETCH_CORRUPT},
        {"two samples, a missed reset", {-30, -30, -10, 2, 5, 5, 2, 0, 0, 1}, SKETCH_CORRUPT},
        {"two samples, a wrong reset sum", {-30, -30, -10, 2, 5, 5, 2, 6, 1, 1}, SKETCH_CORRUPT},
        {"one sample", {-10, -10, -10, 1, 5, 5, 5, 0, 0, 0}, SKETCH_OK},
        {"one sample, two values", {-10, -10, -10, 1, 5, 5, 6, 0, 0, 0}, SKETCH_CORRUPT},
        {"one sample, two times", {-20, -20, -10, 1, 5, 5, 5, 0, 0, 0}, SKETCH_CORRUPT},
    };
    ck_assert_uint_eq(sizeof(struct image), counter->fixed_size);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *reason = NULL;
        uint8_t bytes[56];
        memcpy(bytes, &rows[i].image, 56);
        ck_assert_msg(counter->validate(bytes, 56, &panes_no_params, &reason) == rows[i].rc, "%s", rows[i].what);
        ck_assert_int_eq(reason != NULL, rows[i].rc != SKETCH_OK);
        ck_assert_int_eq(counter->validate(bytes, 55, &panes_no_params, &reason), SKETCH_CORRUPT);
    }
}
END_TEST

START_TEST(any_bytes_are_safe_once_valid)
{
    uint64_t s = suite_seed("any_bytes_are_safe_once_valid");
    static struct stream stream;
    uint32_t accepted = 0;
    for (unsigned round = 0; round < 20000; round++) {
        fill_stream(&stream, &s);
        stream.n = stream.n < 4 ? stream.n : 4;
        struct panes p = {.k = 0};
        panes_add(&p, counter, stream.times_ms[stream.n - 1], stream.times_ms, stream.values, stream.n);
        p.bytes[0][random_below(&s, 56)] ^= (uint8_t)(1u << random_below(&s, 8));
        const char *reason = NULL;
        if (counter->validate(p.bytes[0], 56, &panes_no_params, &reason) != SKETCH_OK)
            continue;
        accepted++;
        for (uint32_t i = 0; i < counter->readouts_n; i++) {
            double v;
            panes_estimate(&p, counter, counter->readouts[i].statistic, &(struct sketch_args){-1, 100000000, 0}, &v);
        }
    }
    ck_assert_uint_gt(accepted, 0);
}
END_TEST

START_TEST(flags_tell_what_is_not_finite)
{
    struct panes p;
    every_15_s(&p, (double[]){1, 2, 3, NAN}, 4, 1);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(counter->flags(p.bytes[i], 56), i == 3 ? STATE_NONFINITE : 0);
    ck_assert_uint_eq(counter->count(p.bytes[0], 56), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels/counter");
    TCase *c = tcase_create("counter");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, increase_corrects_resets_and_extrapolates);
    tcase_add_test(c, a_reset_between_two_panes_is_counted);
    tcase_add_test(c, any_order_of_panes_with_resets);
    tcase_add_test(c, a_pane_inside_another_is_refused);
    tcase_add_test(c, increase_of_each_series_before_the_sum);
    tcase_add_test(c, the_last_two_samples_may_lie_in_two_panes);
    tcase_add_test(c, one_sample_has_no_rate);
    tcase_add_test(c, any_cut_answers_as_prometheus);
    tcase_add_test(c, merging_in_steps_gives_the_same_bytes);
    tcase_add_test(c, what_does_not_fit_is_refused);
    tcase_add_test(c, damaged_states_are_refused);
    tcase_add_test(c, any_bytes_are_safe_once_valid);
    tcase_add_test(c, flags_tell_what_is_not_finite);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
