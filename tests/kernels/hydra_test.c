/* Hydra: points and norms of many groups against sums in the test, merges byte by byte, damage, the row that refuses.
 */
#include <math.h>

#include "states.h"
#include "suite.h"

enum { N = 40000, GROUPS = 200, KEYS = 50 };

static const struct family_info *const families[] = {&hydra_cms_family, &hydra_countsketch_family};

static struct sketch_params grid(uint32_t rows, uint32_t columns, uint32_t depth, uint32_t width)
{
    return (struct sketch_params){.rows = rows, .columns = columns, .depth = depth, .width = width};
}

struct stream {
    uint64_t groups[N], keys[N];
    double weights[N], truth[GROUPS][KEYS], l1[GROUPS], l2[GROUPS], mass;
};

static struct stream *stream_new(uint64_t *random, uint32_t n, bool is_real)
{
    struct stream *s = calloc(1, sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t g = (uint32_t)(GROUPS * pow(random_unit(random), 2)),
                 k = (uint32_t)(KEYS * pow(random_unit(random), 3));
        s->groups[i] = g;
        s->keys[i] = k;
        s->weights[i] = is_real ? random_normal(random) : 1 + random_below(random, 9);
        s->truth[g][k] += s->weights[i];
        s->mass += fabs(s->weights[i]);
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        for (uint32_t k = 0; k < KEYS; k++) {
            s->l1[g] += s->truth[g][k];
            s->l2[g] += s->truth[g][k] * s->truth[g][k];
        }
        s->l2[g] = sqrt(s->l2[g]);
    }
    return s;
}

static void build_panes(struct states *s, const struct stream *stream, uint32_t n, uint32_t panes)
{
    for (uint32_t i = 0; i < panes; i++) {
        uint32_t from = (uint32_t)((uint64_t)n * i / panes), to = (uint32_t)((uint64_t)n * (i + 1) / panes);
        const struct sketch_items items = {stream->groups + from, stream->keys + from, stream->weights + from,
                                           to - from};
        ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    }
}

static double norm(const struct states *s, uint64_t group)
{
    struct sketch_args args = {.group = group};
    void *scratch = malloc(s->f->scratch_bound(&s->params, states_count(s), s->k));
    double v = -1;
    enum statistic which = s->f == &hydra_cms_family ? STATISTIC_L1 : STATISTIC_L2;
    ck_assert_int_eq(s->f->estimate(s->ref, s->k, &s->params, which, &args, scratch, &v), SKETCH_OK);
    free(scratch);
    return v;
}

/* Count-Min: never too small; a group's L1 within e / columns of the mass but for e^-rows of groups; a point within e /
 * width of its sketch's L1, itself within that bound, but for e^-depth + e^-rows. CountSketch: within the same shares
 * of L2, with sqrt(3) for e and a third of the mass's L2 for what other groups add. */
START_TEST(bounds)
{
    uint64_t random = suite_seed("hydra.bounds");
    struct stream *stream = stream_new(&random, N, false);
    double all_l2 = 0;
    for (uint32_t g = 0; g < GROUPS; g++)
        all_l2 += stream->l2[g] * stream->l2[g];
    all_l2 = sqrt(all_l2);
    for (uint32_t panes = 1; panes <= 12; panes += 11) {
        struct states *s = states_new(families[_i], grid(5, 128, 3, 32), 7);
        build_panes(s, stream, N, panes);
        uint32_t norm_misses = 0, point_misses = 0;
        for (uint32_t g = 0; g < GROUPS; g++) {
            double n = norm(s, g), added = _i == 0 ? M_E / 128 * stream->mass : all_l2 * sqrt(3 / 128.0);
            double l = _i == 0 ? stream->l1[g] : stream->l2[g], share = _i == 0 ? M_E / 32 : sqrt(3 / 32.0);
            norm_misses += fabs(n - l) > (_i == 0 ? added : added + l * 3 / sqrt(2 * 32));
            if (_i == 0)
                ck_assert_double_ge(n, l);
            for (uint32_t k = 0; k < KEYS; k++) {
                double v = states_point(s, g, k);
                point_misses += fabs(v - stream->truth[g][k]) > share * (l + added);
                if (_i == 0)
                    ck_assert_double_ge(v, stream->truth[g][k]);
            }
        }
        ck_assert_double_le(norm_misses / (double)GROUPS, 0.05);
        ck_assert_double_le(point_misses / (double)(GROUPS * KEYS), exp(-3) + exp(-5));
        states_free(s);
    }
    free(stream);
}
END_TEST

/* The same of one state that is a table beside many that are lists, whose items are known apart from the table's: the
 * bounds hold with what the table holds alone, and the lists' share of every answer is exact. */
START_TEST(tables_and_lists)
{
    enum { TABLE = 30000, STEP = 200, COLUMNS = 64, WIDTH = 32 };
    uint64_t random = suite_seed("hydra.tables_and_lists");
    struct stream *stream = stream_new(&random, N, false);
    struct states *s = states_new(families[_i], grid(5, COLUMNS, 3, WIDTH), 7);
    double in_table = 0, square = 0, group_table[GROUPS] = {0};
    static double table[GROUPS][KEYS];
    memset(table, 0, sizeof table);
    for (uint32_t at = 0, run; at < N; at += run) {
        run = at == 0 ? TABLE : STEP;
        const struct sketch_items items = {stream->groups + at, stream->keys + at, stream->weights + at, run};
        ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
        ck_assert_uint_eq(s->ref[s->k - 1].bytes[0], at == 0 ? 3 : 1);
    }
    for (uint32_t i = 0; i < TABLE; i++) {
        in_table += stream->weights[i];
        table[stream->groups[i]][stream->keys[i]] += stream->weights[i];
    }
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t k = 0; k < KEYS; k++) {
            group_table[g] += _i == 0 ? table[g][k] : table[g][k] * table[g][k];
            square += table[g][k] * table[g][k];
        }
    uint32_t norm_misses = 0, point_misses = 0;
    double added = _i == 0 ? M_E / COLUMNS * in_table : sqrt(square * 3 / COLUMNS);
    for (uint32_t g = 0; g < GROUPS; g++) {
        double n = norm(s, g), l = _i == 0 ? stream->l1[g] : stream->l2[g];
        double inside = _i == 0 ? group_table[g] : sqrt(group_table[g]);
        norm_misses += fabs(n - l) > (_i == 0 ? added : added + l * 3 / sqrt(2 * WIDTH));
        ck_assert(_i != 0 || n >= l);
        for (uint32_t k = 0; k < KEYS; k++) {
            double v = states_point(s, g, k), share = _i == 0 ? M_E / WIDTH : sqrt(3.0 / WIDTH);
            point_misses += fabs(v - stream->truth[g][k]) > share * (inside + added);
            ck_assert(_i != 0 || v >= stream->truth[g][k]);
        }
    }
    ck_assert_double_le(norm_misses / (double)GROUPS, 0.05);
    ck_assert_double_le(point_misses / (double)(GROUPS * KEYS), exp(-3) + exp(-5));
    states_free(s);
    free(stream);
}
END_TEST

/* While no state is a table, a group's norm is exact, however many states and whatever their merge would be. */
START_TEST(norms_of_lists)
{
    uint64_t random = suite_seed("hydra.norms_of_lists");
    struct stream *stream = stream_new(&random, 4000, _i == 1);
    struct states *s = states_new(families[_i], grid(2, 16, 2, 64), 7);
    build_panes(s, stream, 4000, 20);
    size_t size;
    uint8_t *merged = NULL;
    ck_assert_int_eq(states_merge(s, &merged, &size), SKETCH_OK);
    ck_assert_uint_ge(merged[0], 3);
    free(merged);
    for (uint32_t i = 0; i < s->k; i++)
        ck_assert_uint_lt(s->ref[i].bytes[0], 3);
    for (uint32_t g = 0; g < GROUPS; g++)
        ck_assert_double_eq_tol(norm(s, g), _i == 0 ? stream->l1[g] : stream->l2[g], 1e-9 * stream->mass);
    states_free(s);
    free(stream);
}
END_TEST

START_TEST(any_split)
{
    uint64_t random = suite_seed("hydra.any_split");
    for (uint32_t round = 0; round < 30; round++) {
        uint32_t n = 1 + random_below(&random, round % 2 ? 100 : 3000);
        struct stream *stream = stream_new(&random, n, _i == 1 && round % 5 == 4);
        struct sketch_params p = grid(1 + round % 3, 1 + random_below(&random, 9), 1 + round % 4, 8 + round);
        struct states *s = states_new(families[_i], p, 11), *whole = states_new(families[_i], p, 11);
        build_panes(s, stream, n, 1 + (n > 9 ? random_below(&random, 9) : 0));
        build_panes(whole, stream, n, 1);
        size_t size = 0;
        uint8_t *merged = states_check_order(s, &random, &size);
        ck_assert_uint_eq(size, whole->ref[0].size);
        if (!(_i == 1 && round % 5 == 4)) /* real sums round */
            ck_assert_mem_eq(merged, whole->ref[0].bytes, size);
        ck_assert_uint_eq(s->f->count(merged, size), n);
        free(merged);
        states_free(s);
        states_free(whole);
        free(stream);
    }
}
END_TEST

/* As long as they are few, exact: items of the same key in two groups stay apart. */
START_TEST(few_are_exact)
{
    const uint64_t groups[] = {1, 2, 1, 3}, keys[] = {5, 5, 6, 5};
    const double weights[] = {35e9, 2, 3, 4};
    const struct sketch_items items = {groups, keys, weights, 4};
    struct states *s = states_new(families[_i], grid(2, 4, 2, 16), 1);
    ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    ck_assert_int_eq(states_build_items(s, &items), SKETCH_OK);
    ck_assert_double_eq(states_point(s, 1, 5), 70e9);
    ck_assert_double_eq(states_point(s, 2, 5), 4);
    ck_assert_double_eq(states_point(s, 1, 6), 6);
    ck_assert_double_eq(states_point(s, 4, 5), 0);
    ck_assert_double_eq_tol(norm(s, 1), _i == 0 ? 70e9 + 6 : sqrt(70e9 * 70e9 + 36), 1e-4);
    const double other[] = {1, -1, 0.5, 1};
    const struct sketch_items signed_items = {groups, keys, other, 4};
    ck_assert_int_eq(states_build_items(s, &signed_items), _i == 0 ? SKETCH_BAD_DATA : SKETCH_OK);
    states_free(s);
}
END_TEST

START_TEST(refuses)
{
    const char *reason = NULL;
    const struct sketch_params good = grid(2, 4, 2, 16), none = {0},
                               bad[] = {grid(0, 4, 2, 16),      grid(17, 4, 2, 16), grid(2, 0, 2, 16),
                                        grid(2, 4, 0, 16),      grid(2, 4, 2, 7),   grid(16, UINT32_MAX, 16, 16),
                                        grid(2, 1 << 20, 2, 16)},
                               others[] = {grid(3, 4, 2, 16), grid(2, 5, 2, 16), grid(2, 4, 3, 16), grid(2, 4, 2, 17)};
    for (uint32_t i = 0; i < 7; i++)
        ck_assert_int_eq(families[_i]->check_params(&bad[i], &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(families[_i]->check_params(&good, &reason), SKETCH_OK);
    ck_assert_int_eq(hydra_kll_family.check_params(&good, &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(hydra_kll_family.check_params(&none, &reason), SKETCH_BAD_DATA);
    ck_assert_int_eq(hydra_kll_family.merge, MERGE_NONE);
    double v[300];
    for (uint32_t i = 0; i < 300; i++)
        v[i] = i;
    for (uint32_t n = 3; n <= 300; n += 297) {
        struct states *s = states_new(families[_i], good, 1);
        states_build_same_seed(s, v, n);
        uint8_t *merged = NULL;
        size_t size;
        for (uint32_t i = 0; i < 4; i++) {
            struct states *other = states_new(families[_i], others[i], 1);
            ck_assert_int_eq(families[_i]->validate(s->ref[0].bytes, s->ref[0].size, &others[i], &reason),
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
    uint64_t random = suite_seed("hydra.damaged");
    struct stream *whole = stream_new(&random, 400, false), *real = stream_new(&random, 400, _i == 1);
    struct states *s = states_new(families[_i], grid(2, 3, 2, 16), 1);
    build_panes(s, whole, 20, 2);
    build_panes(s, whole, 400, 1);
    build_panes(s, real, 20, 1);
    build_panes(s, real, 400, 1);
    states_flip(s, &random, 20000);
    states_free(s);
    free(whole);
    free(real);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hydra");
    TCase *tc = tcase_create("hydra");
    tcase_add_loop_test(tc, bounds, 0, 2);
    tcase_add_loop_test(tc, tables_and_lists, 0, 2);
    tcase_add_loop_test(tc, norms_of_lists, 0, 2);
    tcase_add_loop_test(tc, any_split, 0, 2);
    tcase_add_loop_test(tc, few_are_exact, 0, 2);
    tcase_add_loop_test(tc, refuses, 0, 2);
    tcase_add_loop_test(tc, damaged, 0, 2);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
