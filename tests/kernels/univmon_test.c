/* UnivMon: every readout over streams, over panes as over one state, no saturation, byte equality, damage. */
#include <math.h>

#include "kernels/bits.h"
#include "states.h"
#include "suite.h"

enum { N = 60000, KEYS = 30000 };

static struct sketch_params shape(uint32_t depth, uint32_t width, uint32_t heap)
{
    return (struct sketch_params){.depth = depth, .width = width, .heap = heap};
}

struct stream {
    double values[N], truth[KEYS];
    double l2, distinct, entropy;
};

/* Zipf-like by a power of a uniform number, uniform, constant, few values. */
static struct stream *stream_new(uint64_t *random, uint32_t kind)
{
    struct stream *s = calloc(1, sizeof *s);
    for (uint32_t i = 0; i < N; i++) {
        double u = random_unit(random);
        uint32_t key = kind == 0   ? (uint32_t)(KEYS * pow(u, 6))
                       : kind == 1 ? (uint32_t)(KEYS * u)
                       : kind == 2 ? 4
                                   : i % 40;
        s->values[i] = key;
        s->truth[key]++;
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        double share = s->truth[i] / N;
        s->l2 += s->truth[i] * s->truth[i];
        s->distinct += s->truth[i] > 0;
        s->entropy -= share > 0 ? share * log2(share) : 0;
    }
    s->l2 = sqrt(s->l2);
    return s;
}

/* Heap of 8, 1 to 20 panes: L1 exact; L2 within three of one build's standard errors, 1 / sqrt(2 width), as a build's;
 * distinct within three of adaptive sampling's, 1.2 / sqrt(listed); entropy by its own noise. Few values: all exact. */
START_TEST(readouts)
{
    uint64_t random = suite_seed("univmon.readouts");
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct stream *stream = stream_new(&random, kind);
        for (uint32_t panes = 1; panes <= 20; panes += 19) {
            struct states *s = states_new(&univmon_family, shape(5, 1024, 8), 11);
            for (uint32_t i = 0; i < panes; i++)
                states_build_same_seed(s, stream->values + i * (N / panes), N / panes);
            ck_assert_double_eq(states_read(s, STATISTIC_L1, 0), N);
            ck_assert_double_eq(states_read(s, STATISTIC_COUNT, 0), N);
            bool exact = kind >= 2;
            double l2 = states_read(s, STATISTIC_L2, 0), distinct = states_read(s, STATISTIC_DISTINCT, 0),
                   entropy = states_read(s, STATISTIC_ENTROPY, 0);
            printf("univmon: stream %u, %u panes: L2 %+.4f distinct %+.4f entropy %+.4f bits\n", kind, panes,
                   l2 / stream->l2 - 1, distinct / stream->distinct - 1, entropy - stream->entropy);
            ck_assert_double_eq_tol(l2, stream->l2, exact ? 1e-9 * stream->l2 : stream->l2 * 3 / sqrt(2 * 1024));
            ck_assert_double_eq_tol(distinct, stream->distinct,
                                    exact ? 1e-9 : stream->distinct * 3 * 1.2 / sqrt(5 * 1024 / 4.0));
            ck_assert_double_eq_tol(entropy, stream->entropy, exact ? 1e-9 : 0.15 * stream->entropy);
            states_free(s);
        }
        free(stream);
    }
}
END_TEST

/* What saturates a fixed eight levels with a heap of 32: many more than 4096 distinct. */
START_TEST(no_saturation)
{
    double *v = malloc(400000 * sizeof *v);
    struct states *s = states_new(&univmon_family, shape(3, 256, 32), 5);
    for (uint32_t i = 0; i < 400000; i++)
        v[i] = i;
    for (uint32_t n = 100; n <= 400000; n *= 8) {
        states_clear(s);
        states_build_same_seed(s, v, n);
        double limit = n <= 192 ? 1e-12 : 4 * 1.2 / sqrt(192);
        ck_assert_double_eq_tol(states_read(s, STATISTIC_DISTINCT, 0), n, n * limit);
    }
    free(v);
    states_free(s);
}
END_TEST

/* Zeroes the heaps, which alone may differ between a build and a merge. */
static void heaps_clear(uint8_t *bytes, const struct sketch_params *p)
{
    size_t cells = (size_t)p->depth * p->width * (bytes[0] == 1 ? 4 : 8), level = cells + 8 * (size_t)p->heap;
    for (uint32_t l = 0; l < bytes[32]; l++)
        memset(bytes + 33 + l * level + cells, 0, 8 * (size_t)p->heap);
}

START_TEST(any_split)
{
    uint64_t random = suite_seed("univmon.any_split");
    static double v[6000];
    uint32_t deep = 0;
    for (uint32_t round = 0; round < 80; round++) {
        struct sketch_params p = shape(1 + round % 5, 16 + random_below(&random, 60), 1 + random_below(&random, 4));
        uint32_t n = 1 + random_below(&random, round % 3 ? 200 : 6000), keys = 1 + random_below(&random, 4000);
        for (uint32_t i = 0; i < n; i++)
            v[i] = random_below(&random, keys);
        struct states *s = states_new(&univmon_family, p, 11), *whole = states_new(&univmon_family, p, 11);
        states_split(s, v, n, 1 + n / 5, &random);
        states_build_same_seed(whole, v, n);
        deep += whole->ref[0].bytes[32] > 2;
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size), *built = malloc(size);
        ck_assert_uint_eq(size, whole->ref[0].size);
        memcpy(built, whole->ref[0].bytes, size);
        const enum statistic same[] = {STATISTIC_L1, STATISTIC_L2, STATISTIC_DISTINCT};
        for (uint32_t i = 0; i < 3; i++)
            ck_assert_double_eq(states_read(s, same[i], 0), states_read(whole, same[i], 0));
        heaps_clear(merged, &p);
        heaps_clear(built, &p);
        ck_assert_mem_eq(merged, built, size);
        free(merged);
        free(built);
        states_free(s);
        states_free(whole);
    }
    ck_assert_uint_gt(deep, 5);
}
END_TEST

/* The heaviest, by weights that need 8-byte counters, among thousands of light ones. */
START_TEST(heaviest)
{
    enum { ITEMS = 5000 };
    uint64_t keys[ITEMS], found[4];
    double weights[ITEMS], estimates[4];
    for (uint32_t i = 0; i < ITEMS; i++) {
        keys[i] = i;
        weights[i] = i < 4 ? 1e10 * (i + 1) : 3;
    }
    struct states *s = states_new(&univmon_family, shape(5, 128, 8), 2);
    for (uint32_t i = 0; i < ITEMS; i += 1000) {
        const struct sketch_items items = {.keys = keys + i, .weights = weights + i, .n = 1000};
        ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    }
    ck_assert_double_eq(states_read(s, STATISTIC_L1, 0), 1e11 + 3 * (ITEMS - 4));
    ck_assert_uint_eq(states_top(s, 4, found, estimates), 4);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(found[i], 3 - i);
        ck_assert_double_eq_tol(estimates[i], 1e10 * (4 - i), 1e5);
    }
    const double negative = -1;
    const struct sketch_items items = {.keys = keys, .weights = &negative, .n = 1};
    ck_assert_int_eq(states_build_items(s, &items), SKETCH_BAD_DATA);
    states_free(s);
}
END_TEST

START_TEST(refuses)
{
    const char *reason = NULL;
    const struct sketch_params good = shape(3, 64, 4), others[] = {shape(4, 64, 4), shape(3, 65, 4), shape(3, 64, 5)},
                               bad[] = {shape(0, 64, 4), shape(3, 7, 1), shape(3, 64, 0), shape(3, 64, 49),
                                        shape(4, 1 << 17, 4)};
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_int_eq(univmon_family.check_params(&bad[i], &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(univmon_family.check_params(&good, &reason), SKETCH_OK);
    double v[900];
    for (uint32_t i = 0; i < 900; i++)
        v[i] = i;
    for (uint32_t n = 3; n <= 900; n += 897) {
        struct states *s = states_new(&univmon_family, good, 1);
        states_build_same_seed(s, v, n);
        uint8_t *merged = NULL;
        size_t size;
        for (uint32_t i = 0; i < 3; i++) {
            struct states *other = states_new(&univmon_family, others[i], 1);
            ck_assert_int_eq(univmon_family.validate(s->ref[0].bytes, s->ref[0].size, &others[i], &reason),
                             SKETCH_CORRUPT);
            states_build_same_seed(other, v, n);
            states_push(other, s->ref[0].bytes, s->ref[0].size, 0);
            ck_assert_int_eq(states_merge(other, &merged, &size), SKETCH_MISMATCH);
            states_free(other);
        }
        s->seed = 2;
        states_build(s, v, n);
        ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_MISMATCH);
        states_free(s);
    }
}
END_TEST

START_TEST(damaged)
{
    uint64_t random = suite_seed("univmon.damaged");
    double v[900];
    struct states *s = states_new(&univmon_family, shape(3, 24, 2), 1);
    for (uint32_t n = 1; n < 900; n *= 3) {
        for (uint32_t i = 0; i < n; i++)
            v[i] = random_below(&random, n);
        states_build_same_seed(s, v, n);
    }
    states_flip(s, &random, 20000);
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("univmon");
    TCase *tc = tcase_create("univmon");
    tcase_add_test(tc, readouts);
    tcase_add_test(tc, no_saturation);
    tcase_add_test(tc, any_split);
    tcase_add_test(tc, heaviest);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, damaged);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
