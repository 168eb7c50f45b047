/*
 * Bytes from a damaged or hostile file, for every family of the table: what validate accepts may go through every
 * function, what it refuses is refused with a reason, and states of other parameters are never mixed. (Invariant 5 of
 * kernels/README.md; the address sanitizer sees a read outside the blocks, which have exactly the states' sizes.)
 */
#include <math.h>

#include "every.h"
#include "suite.h"

#ifdef __SANITIZE_ADDRESS__ /* ten times as slow, and run at each level */
enum { HEAD = 24, RANDOM_ROUNDS = 2000 };
#else
enum { HEAD = 64, RANDOM_ROUNDS = 8000 };
#endif
enum { N_MAX = 1500, TAIL = 16 };

/* States of every form a family has: few and many samples of each kind, heavy items, real weights, merges. */
static struct states *every_form(const struct family_info *info, struct sketch_params params, uint64_t *random)
{
    static const uint32_t sizes[] = {1, 3, 40, N_MAX};
    static int64_t times_ms[N_MAX];
    static double values[N_MAX];
    struct states *s = states_new(info, params, 11);
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t kind = 0; kind < EVERY_KINDS; kind++) {
            every_stream(random, kind, sizes[i], times_ms, values);
            every_build(s, times_ms[sizes[i] - 1], times_ms, values, 0, sizes[i]);
        }
    if (info->build_items) {
        static uint64_t groups[N_MAX], keys[N_MAX];
        static double weights[N_MAX];
        for (uint32_t form = 0; form < 8; form++) {
            bool heavy = form & 1, real = form & 2, many = form & 4;
            for (uint32_t i = 0; i < N_MAX; i++) {
                groups[i] = random_below(random, 4);
                keys[i] = random_below(random, many ? 2000 : 5);
                weights[i] = (heavy ? 1e10 : 3) * (real ? -0.25 : 1);
            }
            const struct sketch_items items = {groups, keys, weights, N_MAX};
            (void)states_build_items(s, &items); /* weights that the family does not take make no state */
        }
    }
    return s;
}

/* Is any other byte at `at`, and the same state without what is before or behind it, safe? Returns what was accepted.
 */
static uint32_t try_byte(const struct states *s, const struct state_ref *r, uint32_t at)
{
    uint8_t *bytes = malloc(r->size);
    memcpy(bytes, r->bytes, r->size);
    const uint8_t was = bytes[at], others[] = {0, 1, 127, 128, 255, was ^ 1, was ^ 8, was ^ 128, (uint8_t)(was + 1)};
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < sizeof others; i++) {
        bytes[at] = others[i];
        accepted += others[i] != was && states_try(s, bytes, r->size);
    }
    free(bytes);
    return accepted;
}

/* Each byte of small states, head and tail and a few more of large ones. */
START_TEST(each_byte_to_several_values)
{
    const struct family_info *info = family_get((enum family)_i);
    uint64_t random = suite_seed(info->name);
    uint32_t tried = 0, accepted = 0;
    for (uint32_t p = 0; p < every_params[_i].n; p++) {
        struct states *s = every_form(info, every_params[_i].params[p], &random);
        for (uint32_t i = 0; i < s->k; i++)
            for (uint32_t at = 0; at < s->ref[i].size; at++) {
                if (at == HEAD && s->ref[i].size > HEAD + TAIL)
                    for (uint32_t more = 0; more < 16; more++, tried++)
                        accepted += try_byte(s, &s->ref[i], random_below(&random, s->ref[i].size));
                if (at >= HEAD && at + TAIL < s->ref[i].size)
                    at = s->ref[i].size - TAIL;
                accepted += try_byte(s, &s->ref[i], at);
                tried++;
            }
        states_free(s);
    }
    printf("%s: %u bytes to 9 values, %u accepted\n", info->name, tried, accepted);
}
END_TEST

/* No state is another one cut short, or another with something behind it. */
START_TEST(each_length)
{
    const struct family_info *info = family_get((enum family)_i);
    uint64_t random = suite_seed(info->name);
    for (uint32_t p = 0; p < every_params[_i].n; p++) {
        struct states *s = every_form(info, every_params[_i].params[p], &random);
        for (uint32_t i = 0; i < s->k; i++) {
            const struct state_ref *r = &s->ref[i];
            for (uint32_t size = 0; size < r->size; size++) {
                if (size == HEAD && r->size > 2 * HEAD)
                    size = r->size - HEAD;
                (void)states_try(s, r->bytes, size);
            }
            uint8_t *longer = malloc(r->size + 9);
            memcpy(longer, r->bytes, r->size);
            for (uint32_t more = 1; more <= 9; more++) {
                longer[r->size + more - 1] = (uint8_t)(more & 1 ? 0 : random_below(&random, 256));
                (void)states_try(s, longer, r->size + more);
            }
            free(longer);
        }
        states_free(s);
    }
}
END_TEST

/* Bytes of no state at all; the first one often a form's. */
START_TEST(random_bytes)
{
    const struct family_info *info = family_get((enum family)_i);
    uint64_t random = suite_seed(info->name);
    for (uint32_t p = 0; p < every_params[_i].n; p++) {
        struct states *s = every_form(info, every_params[_i].params[p], &random);
        for (uint32_t round = 0; round < RANDOM_ROUNDS; round++) {
            uint8_t bytes[300];
            size_t size = random_below(&random, round % 2 ? 24 : sizeof bytes);
            for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)(random_below(&random, 3) ? random_u64(&random) : random_below(&random, 4));
            const struct state_ref *r = &s->ref[random_below(&random, s->k)];
            size_t head = random_below(&random, 3) ? random_below(&random, 40) : 0;
            head = head < size ? head : size;
            memcpy(bytes, r->bytes, head < r->size ? head : r->size);
            (void)states_try(s, bytes, size);
        }
        states_free(s);
    }
}
END_TEST

static int merge_as(const struct states *s, struct sketch_params params)
{
    struct states as = *s;
    as.params = params;
    uint8_t *merged = NULL;
    size_t size = 0;
    int rc = states_merge(&as, &merged, &size);
    if (rc == SKETCH_OK)
        free(merged);
    return rc;
}

static bool refused(int rc)
{
    return rc == SKETCH_MISMATCH || rc == SKETCH_CORRUPT;
}

/*
 * States of different parameters are told apart in every build, also in one without assertions: not averaged, not read
 * as each other (alpha 0.01 with 0.02 gave 10.07 for a value of 100). Exact panes of few samples are the same bytes for
 * every k of KLL, and a bound on bins is no property of a state; so those two are compared where they show.
 */
START_TEST(other_parameters_are_refused)
{
    const struct family_info *info = family_get((enum family)_i);
    uint64_t random = suite_seed(info->name);
    static int64_t times_ms[N_MAX];
    static double values[N_MAX];
    uint32_t compared = 0;
    for (uint32_t a = 0; a < every_params[_i].n; a++)
        for (uint32_t b = 0; b < every_params[_i].n; b++)
            for (uint32_t n = info->family == FAMILY_KLL ? 201 : 1; a != b && n <= N_MAX; n = n * 3 + 1) {
                struct sketch_params pa = every_params[_i].params[a], pb = every_params[_i].params[b];
                struct states *one = states_new(info, pa, 11), *two = states_new(info, pb, 11);
                every_stream(&random, 3, n, times_ms, values);
                every_build(one, times_ms[n - 1], times_ms, values, 0, n);
                every_build(two, times_ms[n - 1], times_ms, values, 0, n);
                const char *reason = NULL;
                ck_assert_int_eq(info->validate(one->ref[0].bytes, one->ref[0].size, &pb, &reason), SKETCH_CORRUPT);
                ck_assert(reason && *reason);
                ck_assert(refused(merge_as(one, pb)));
                states_push(two, one->ref[0].bytes, one->ref[0].size, 0);
                for (uint32_t order = 0; order < 2; order++) {
                    ck_assert(refused(merge_as(two, pa)) && refused(merge_as(two, pb)));
                    for (uint32_t i = 0; i < info->readouts_n; i++) {
                        double v = -1;
                        const struct sketch_args args = {.q = 0.5, .key = sketch_key(values[0])};
                        void *scratch = malloc(info->scratch_bound(&pb, 2 * n, 2));
                        uint64_t keys[4];
                        double estimates[4];
                        uint32_t top_n = 0;
                        int rc =
                            info->readouts[i].statistic == STATISTIC_TOPK
                                ? info->top(two->ref, 2, &pb, 4, keys, estimates, &top_n, scratch)
                                : info->estimate(two->ref, 2, &pb, info->readouts[i].statistic, &args, scratch, &v);
                        free(scratch);
                        ck_assert_msg(refused(rc), "%s %s: %d, %g", info->name,
                                      statistic_name(info->readouts[i].statistic), rc, v);
                    }
                    states_shuffle(two, &random);
                }
                compared++;
                states_free(one);
                states_free(two);
            }
    ck_assert(compared > 0 || every_params[_i].n < 2);
}
END_TEST

/* Hashes of another seed are never put together with these. */
START_TEST(other_seeds_are_refused)
{
    const struct family_info *info = family_get((enum family)_i);
    if (every_params[_i].n == 0)
        return;
    struct states *s = states_new(info, every_params[_i].params[0], 11);
    if (states_share_seed(s))
        for (uint32_t n = 1; n <= N_MAX; n = n * 3 + 1) {
            static double values[N_MAX];
            for (uint32_t i = 0; i < n; i++)
                values[i] = i;
            states_clear(s);
            states_build_at(s, 0, NULL, values, n, 11);
            states_build_at(s, 0, NULL, values, n, 12);
            ck_assert(refused(merge_as(s, s->params)));
            double v;
            ck_assert(refused(states_estimate(s, info->readouts[0].statistic, 0.5, &v)));
        }
    states_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile");
    TCase *tc = tcase_create("hostile");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, each_byte_to_several_values, 1, FAMILY_END);
    tcase_add_loop_test(tc, each_length, 1, FAMILY_END);
    tcase_add_loop_test(tc, random_bytes, 1, FAMILY_END);
    tcase_add_loop_test(tc, other_parameters_are_refused, 1, FAMILY_END);
    tcase_add_loop_test(tc, other_seeds_are_refused, 1, FAMILY_END);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
