/* Count-Min and CountSketch: bounds over streams, exactness of few items, widening, merges byte by byte, heaps, damage.
 */
#include <math.h>

#include "kernels/bits.h"
#include "states.h"
#include "suite.h"

enum { N = 60000, KEYS = 20000 };

static struct sketch_params shape(uint32_t depth, uint32_t width, uint32_t heap)
{
    return (struct sketch_params){.depth = depth, .width = width, .heap = heap};
}

/* Item ranks of a Zipf law over KEYS items, by inversion of the cumulative sums. */
static uint32_t zipf(uint64_t *random, double exponent)
{
    static double sums[KEYS], of;
    if (of != exponent) {
        double sum = 0;
        for (uint32_t i = 0; i < KEYS; i++)
            sums[i] = sum += pow(i + 1, -exponent);
        of = exponent;
    }
    double at = random_unit(random) * sums[KEYS - 1];
    uint32_t low = 0, high = KEYS - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sums[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One of the streams: Zipf 1.1, Zipf 0.8, uniform, constant, lognormal latencies as whole ms. Below KEYS. */
static uint32_t draw(uint64_t *random, uint32_t stream)
{
    double latency;
    switch (stream) {
    case 0:
        return zipf(random, 1.1);
    case 1:
        return zipf(random, 0.8);
    case 2:
        return random_below(random, KEYS);
    case 3:
        return 5;
    default:
        latency = exp(random_normal(random) * 2 + 3);
        return latency < KEYS ? (uint32_t)latency : KEYS - 1;
    }
}

struct stream {
    double values[N];
    double truth[KEYS];
    double l1, l2;
};

static struct stream *stream_new(uint64_t *random, uint32_t kind)
{
    struct stream *s = calloc(1, sizeof *s);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t key = draw(random, kind);
        s->values[i] = key;
        s->truth[key]++;
    }
    s->l1 = N;
    for (uint32_t i = 0; i < KEYS; i++)
        s->l2 += s->truth[i] * s->truth[i];
    s->l2 = sqrt(s->l2);
    return s;
}

/* Share of all KEYS items whose count is off by more than `bound`; below[0] is set when one is too small. */
static double missing(const struct states *s, const struct stream *stream, double bound, bool *ret_below)
{
    uint32_t misses = 0;
    *ret_below = false;
    for (uint32_t i = 0; i < KEYS; i += 3) {
        double v = states_point(s, 0, sketch_key(i));
        misses += fabs(v - stream->truth[i]) > bound;
        *ret_below |= v < stream->truth[i];
    }
    return misses / (KEYS / 3.0);
}

/* The published bounds, for one state and for 1..40 panes; never below the truth with Count-Min; L1 exact; L2 of
 * CountSketch within three of its standard errors 1 / sqrt(2 w) each row (median of 5: less). */
START_TEST(bounds)
{
    uint64_t random = suite_seed("frequency.bounds");
    for (uint32_t kind = 0; kind < 5; kind++) {
        struct stream *stream = stream_new(&random, kind);
        for (uint32_t most = 3000; most <= N; most *= 20) {
            struct states *cms = states_new(&cms_family, shape(4, 512, 0), 11);
            struct states *cs = states_new(&countsketch_family, shape(5, 512, 0), 11);
            states_split(cms, stream->values, N, most, &random);
            states_split(cs, stream->values, N, most, &random);
            bool below;
            double share = missing(cms, stream, cms_error(512) * stream->l1, &below);
            ck_assert_msg(!below && share <= cms_failure(4), "cms: stream %u: %g", kind, share);
            ck_assert_double_eq(states_read(cms, STATISTIC_L1, 0), N);
            ck_assert_double_eq(states_read(cms, STATISTIC_COUNT, 0), N);
            share = missing(cs, stream, countsketch_error(512) * stream->l2, &below);
            ck_assert_msg(share <= countsketch_failure(5), "countsketch: stream %u: %g", kind, share);
            ck_assert_double_eq_tol(states_read(cs, STATISTIC_L2, 0), stream->l2, stream->l2 * 3 / sqrt(2 * 512));
            states_free(cms);
            states_free(cs);
        }
        free(stream);
    }
}
END_TEST

static const struct family_info *const families[] = {&cms_family, &countsketch_family, &cms_heap_family,
                                                     &countsketch_heap_family};
static const uint32_t heaps[] = {0, 0, 8, 8};

/* Bit-exact: the state of all samples is the merge of any cut, in any order. With a heap: all but the heap's items. */
START_TEST(any_split)
{
    uint64_t random = suite_seed("frequency.any_split");
    static double v[4000];
    for (uint32_t round = 0; round < 80; round++) {
        struct sketch_params p = shape(1 + round % 7, 16 + random_below(&random, 200), heaps[_i] ? 4 : 0);
        uint32_t n = 1 + random_below(&random, round % 3 ? 200 : 4000), keys = 1 + random_below(&random, 2000);
        for (uint32_t i = 0; i < n; i++)
            v[i] = random_below(&random, keys);
        struct states *s = states_new(families[_i], p, 11), *whole = states_new(families[_i], p, 11);
        states_split(s, v, n, 1 + n / 5, &random);
        states_build_same_seed(whole, v, n);
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size);
        ck_assert_uint_eq(size, whole->ref[0].size);
        size_t heap = whole->ref[0].bytes[0] >= 3 ? 8 * (size_t)p.heap : 0;
        ck_assert_mem_eq(merged, whole->ref[0].bytes, size - heap);
        ck_assert_uint_eq(families[_i]->count(merged, size), n);
        /* Panes that are listed know more than their merge does: never further from the truth. */
        uint64_t key = sketch_key(random_below(&random, keys));
        double truth = 0, apart = states_point(s, 0, key), joined = states_point(whole, 0, key);
        for (uint32_t i = 0; i < n; i++)
            truth += v[i] == bits_to_f64(key);
        if (_i % 2 == 0)
            ck_assert(truth <= apart && apart <= joined);
        for (uint32_t i = 0; i < 50 && i < n; i++) { /* any order of the samples: the very same bytes */
            uint32_t j = random_below(&random, n);
            double keep = v[i];
            v[i] = v[j];
            v[j] = keep;
        }
        states_build_same_seed(whole, v, n);
        ck_assert_uint_eq(whole->ref[1].size, size);
        ck_assert_mem_eq(whole->ref[1].bytes, whole->ref[0].bytes, size);
        free(merged);
        states_free(s);
        states_free(whole);
    }
}
END_TEST

/* As long as items are few they are exact, however heavy. */
START_TEST(few_are_exact)
{
    struct states *s = states_new(families[_i], shape(4, 64, heaps[_i]), 1);
    double v[1000];
    for (uint32_t i = 0; i < 1000; i++)
        v[i] = (i * i) % 64;
    states_build_same_seed(s, v, 500);
    states_build_same_seed(s, v + 500, 500);
    for (uint32_t key = 0; key < 70; key++) {
        double truth = 0;
        for (uint32_t i = 0; i < 1000; i++)
            truth += v[i] == key;
        ck_assert_double_eq(states_point(s, 0, sketch_key(key)), truth);
    }
    ck_assert_uint_lt(s->ref[0].size, 4 * 64 * 4);
    states_free(s);
}
END_TEST

/* A weight of 35,000,000,000 is neither clamped to 2^31 nor wrapped at 2^32, in a list, in a table, over panes and
 * merged; nor is what only the sum of panes reaches. */
START_TEST(great_weights)
{
    enum { FILL = 2000 };
    uint64_t keys[FILL + 1];
    double weights[FILL + 1];
    for (uint32_t i = 0; i < FILL; i++) {
        keys[i] = i + 10;
        weights[i] = 1;
    }
    keys[FILL] = 5;
    weights[FILL] = 35e9;
    const struct sketch_items one = {.keys = keys + FILL, .weights = weights + FILL, .n = 1},
                              many = {.keys = keys, .weights = weights, .n = FILL + 1};
    struct states *s = states_new(families[_i], shape(5, 64, heaps[_i]), 1);
    ck_assert_int_eq(states_build_items(s, &one), SKETCH_OK);
    ck_assert_double_eq(states_point(s, 0, 5), 35e9);
    ck_assert_int_eq(states_build_items(s, &many), SKETCH_OK);
    ck_assert_double_eq_tol(states_point(s, 0, 5), 70e9, 2000);
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_OK);
    states_clear(s);
    states_push(s, merged, size, 0);
    free(merged);
    ck_assert_double_eq_tol(states_point(s, 0, 5), 70e9, 2000);
    if (_i % 2 == 0) {
        ck_assert_double_ge(states_point(s, 0, 5), 70e9);
        ck_assert_double_eq(states_read(s, STATISTIC_L1, 0), 70e9 + FILL);
    }
    /* Below the limit each, above it together. */
    states_clear(s);
    weights[FILL] = 0x1p31 - 5000;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(states_build_items(s, &many), SKETCH_OK);
    size_t narrow = s->ref[0].size;
    ck_assert_double_eq_tol(states_point(s, 0, 5), 5 * weights[FILL], 5 * FILL);
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_OK);
    ck_assert_uint_gt(size, narrow);
    states_clear(s);
    states_push(s, merged, size, 0);
    states_check(s, merged, size);
    free(merged);
    ck_assert_double_eq_tol(states_point(s, 0, 5), 5 * weights[FILL], 5 * FILL);
    states_free(s);
}
END_TEST

/* Count-Min refuses what it cannot answer for; CountSketch takes it. */
START_TEST(weights_of_other_kinds)
{
    const uint64_t keys[] = {1, 2, 3, 1};
    const double cases[][4] = {{1, -1, 2, 3}, {0.5, 1, 1, 0.25}, {1e300, 1, 1, 1}, {0x1p61, 0x1p61, 0, 0}};
    for (uint32_t c = 0; c < 4; c++) {
        const struct sketch_items items = {.keys = keys, .weights = cases[c], .n = 4};
        struct states *cms = states_new(&cms_family, shape(4, 64, 0), 1);
        struct states *cs = states_new(&countsketch_family, shape(4, 64, 0), 1);
        ck_assert_int_eq(states_build_items(cms, &items), SKETCH_BAD_DATA);
        ck_assert_int_eq(states_build_items(cs, &items), c == 2 ? SKETCH_BAD_DATA : SKETCH_OK);
        if (c != 2)
            ck_assert_double_eq(states_point(cs, 0, 1), cases[c][0] + cases[c][3]);
        states_free(cms);
        states_free(cs);
    }
    for (uint32_t c = 0; c < 3; c++) {
        const double bad[] = {NAN, INFINITY, -INFINITY};
        const struct sketch_items items = {.keys = keys, .weights = bad + c, .n = 1};
        struct states *cs = states_new(&countsketch_family, shape(4, 64, 0), 1);
        ck_assert_int_eq(states_build_items(cs, &items), SKETCH_BAD_DATA);
        states_free(cs);
    }
    /* Two panes of 2^61 are too much together. */
    struct states *cms = states_new(&cms_family, shape(4, 64, 0), 1);
    const double half = 0x1p61;
    const struct sketch_items items = {.keys = keys, .weights = &half, .n = 1};
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(states_build_items(cms, &items), SKETCH_OK);
    double v;
    uint8_t *merged = NULL;
    size_t size = 0;
    ck_assert_int_eq(states_estimate(cms, STATISTIC_L1, 0, &v), SKETCH_BAD_DATA);
    ck_assert_int_eq(states_merge(cms, &merged, &size), SKETCH_BAD_DATA);
    states_free(cms);
}
END_TEST

/* Signed and fractional weights against sums in the test; merges in any order give the same bytes. */
START_TEST(real_weights)
{
    enum { ITEMS = 3000 };
    uint64_t random = suite_seed("frequency.real"), keys[ITEMS];
    static double weights[ITEMS], truth[400];
    struct states *s = states_new(&countsketch_heap_family, shape(7, 128, 8), 3);
    memset(truth, 0, sizeof truth);
    double squares = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        keys[i] = random_below(&random, 400);
        weights[i] = random_normal(&random) + (keys[i] == 7 ? 40 : 0);
        truth[keys[i]] += weights[i];
    }
    for (uint32_t i = 0; i < 400; i++)
        squares += truth[i] * truth[i];
    for (uint32_t at = 0, run; at < ITEMS; at += run) {
        run = at % 2 ? 701 : 50;
        run = run < ITEMS - at ? run : ITEMS - at;
        const struct sketch_items items = {.keys = keys + at, .weights = weights + at, .n = run};
        ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    }
    ck_assert_double_eq_tol(states_read(s, STATISTIC_L2, 0), sqrt(squares), 3 * sqrt(squares / 256));
    uint32_t misses = 0;
    for (uint32_t i = 0; i < 400; i++)
        misses += fabs(states_point(s, 0, i) - truth[i]) > countsketch_error(128) * sqrt(squares);
    ck_assert_double_le(misses / 400.0, countsketch_failure(7));
    uint64_t top[2];
    double estimate[2];
    ck_assert_uint_eq(states_top(s, 1, top, estimate), 1);
    ck_assert_uint_eq(top[0], 7);
    size_t size = 0;
    free(states_check_order(s, &random, &size));
    states_free(s);
}
END_TEST

/* All of the 32 heaviest of Zipf 1.1 are found (ties at the end are one as good as the other). Over panes an item can
 * only be lost to one that the counters' bound cannot tell from it. */
START_TEST(recall)
{
    uint64_t random = suite_seed("frequency.recall");
    struct stream *stream = stream_new(&random, 0);
    for (uint32_t panes = 0; panes < 2; panes++) {
        struct states *s = states_new(families[_i], shape(5, 2048, 32), 11);
        if (panes)
            states_split(s, stream->values, N, 9000, &random);
        else
            states_build_same_seed(s, stream->values, N);
        uint64_t keys[32];
        double estimates[32], least = INFINITY;
        ck_assert_uint_eq(states_top(s, 32, keys, estimates), 32);
        for (uint32_t i = 0; i < 32; i++)
            least = fmin(least, stream->truth[(uint32_t)bits_to_f64(keys[i])]);
        double noise = !panes ? 0 : _i == 2 ? cms_error(2048) * stream->l1 : countsketch_error(2048) * stream->l2;
        uint32_t heavier = 0;
        for (uint32_t i = 0; i < KEYS; i++)
            heavier += stream->truth[i] > least + noise;
        ck_assert_msg(heavier <= 31, "%u items are heavier than the lightest kept", heavier);
        states_free(s);
    }
    free(stream);
}
END_TEST

START_TEST(mismatches)
{
    static double v[600];
    for (uint32_t i = 0; i < 600; i++)
        v[i] = i;
    for (uint32_t n = 3; n <= 600; n += 597) {
        struct states *s = states_new(families[_i], shape(3, 64, heaps[_i]), 1);
        states_build_same_seed(s, v, n);
        const struct sketch_params others[] = {shape(4, 64, heaps[_i]), shape(3, 65, heaps[_i]),
                                               shape(3, 64, heaps[_i] + (heaps[_i] > 0))};
        for (uint32_t i = 0; i < (heaps[_i] ? 3 : 2); i++) {
            struct states *other = states_new(families[_i], others[i], 1);
            const char *reason = NULL;
            ck_assert_int_eq(families[_i]->validate(s->ref[0].bytes, s->ref[0].size, &others[i], &reason),
                             SKETCH_CORRUPT);
            ck_assert_ptr_nonnull(reason);
            states_build_same_seed(other, v, n);
            states_push(other, s->ref[0].bytes, s->ref[0].size, 0);
            uint8_t *merged = NULL;
            size_t size;
            double value;
            ck_assert_int_eq(states_merge(other, &merged, &size), SKETCH_MISMATCH);
            ck_assert_int_eq(states_estimate(other, STATISTIC_COUNT, 0, &value), SKETCH_MISMATCH);
            states_free(other);
        }
        s->seed = 2;
        states_build(s, v, n);
        uint8_t *merged = NULL;
        size_t size;
        ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_MISMATCH);
        states_free(s);
    }
}
END_TEST

START_TEST(parameters)
{
    const struct sketch_params bad[] = {shape(0, 64, heaps[_i]),         shape(17, 64, heaps[_i]),
                                        shape(4, 7, heaps[_i]),          shape(4, (1 << 20) + 1, heaps[_i]),
                                        shape(4, UINT32_MAX, heaps[_i]), shape(4, 64, heaps[_i] ? 65 : 1),
                                        shape(4, 64, heaps[_i] ? 0 : 7)};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *reason = NULL;
        ck_assert_int_eq(families[_i]->check_params(&bad[i], &reason), SKETCH_BAD_DATA);
        ck_assert_ptr_nonnull(reason);
    }
    const char *reason = NULL;
    const struct sketch_params good = shape(4, 1 << 20, heaps[_i]);
    ck_assert_int_eq(families[_i]->check_params(&good, &reason), SKETCH_OK);
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("frequency.damaged"), keys[300];
    double v[300], weights[300];
    struct states *s = states_new(families[_i], shape(3, 24, heaps[_i]), 1);
    for (uint32_t i = 0; i < 300; i++) {
        v[i] = random_below(&random, 200);
        keys[i] = i;
        weights[i] = _i % 2 ? random_normal(&random) : 1e9;
    }
    states_build_same_seed(s, v, 10);
    states_build_same_seed(s, v, 300);
    for (uint32_t n = 10; n <= 300; n += 290) {
        const struct sketch_items items = {.keys = keys, .weights = weights, .n = n};
        ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    }
    states_flip(s, &random, 20000);
    /* One flipped bit in a whole counter breaks its row's sum (parity where counters have signs). */
    uint8_t *bytes = malloc(s->ref[1].size);
    for (uint32_t bit = 0; bit < 3 * 24 * 32; bit++) {
        const char *reason = NULL;
        memcpy(bytes, s->ref[1].bytes, s->ref[1].size);
        bytes[32 + bit / 8] ^= (uint8_t)(1u << bit % 8);
        int rc = s->f->validate(bytes, s->ref[1].size, &s->params, &reason);
        if (_i % 2 == 0 || bit % 32 == 0)
            ck_assert_int_eq(rc, SKETCH_CORRUPT);
    }
    free(bytes);
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frequency");
    TCase *tc = tcase_create("frequency");
    tcase_add_test(tc, bounds);
    tcase_add_loop_test(tc, any_split, 0, 4);
    tcase_add_loop_test(tc, few_are_exact, 0, 4);
    tcase_add_loop_test(tc, great_weights, 0, 4);
    tcase_add_test(tc, weights_of_other_kinds);
    tcase_add_test(tc, real_weights);
    tcase_add_loop_test(tc, recall, 2, 4);
    tcase_add_loop_test(tc, mismatches, 0, 4);
    tcase_add_loop_test(tc, parameters, 0, 4);
    tcase_add_loop_test(tc, damaged, 0, 4);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
