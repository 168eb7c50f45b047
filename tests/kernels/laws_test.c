/*
 * The merge as a law, the same for every family of the table: any cut of a stream into panes, merged in any order and
 * in a tree of any shape, stands for the whole stream. (Invariants 1 and 2 of kernels/README.md.)
 */
#include <math.h>

#include "every.h"
#include "kernels/cpu.h"
#include "suite.h"

enum { N_MAX = 3000, CUTS_MAX = 24 };

/* How close a merge comes to the single build of all samples. */
enum law {
    LAW_NONE = 0,
    LAW_BYTES,    /* the same bytes, so the same answers, and so do the panes unmerged */
    LAW_LISTS,    /* the same bytes; panes unmerged may know more, by their exact lists of few items */
    LAW_BUT_HEAP, /* the same but for which items a heap holds */
    LAW_ROUNDING, /* answers to 1e-9 */
    LAW_RANK      /* quantiles within a rank error; count and extremes exact */
};
static const enum law laws[FAMILY_END] = {
    [FAMILY_SUM] = LAW_ROUNDING,
    [FAMILY_MIN] = LAW_BYTES,
    [FAMILY_MAX] = LAW_BYTES,
    [FAMILY_COUNT] = LAW_BYTES,
    [FAMILY_MOMENTS] = LAW_ROUNDING,
    [FAMILY_COUNTER] = LAW_ROUNDING,
    [FAMILY_KLL] = LAW_RANK,
    [FAMILY_DDSKETCH] = LAW_BYTES,
    [FAMILY_HLL] = LAW_BYTES,
    [FAMILY_VALUES] = LAW_BYTES,
    [FAMILY_CMS] = LAW_LISTS,
    [FAMILY_COUNTSKETCH] = LAW_LISTS,
    [FAMILY_CMS_HEAP] = LAW_BUT_HEAP,
    [FAMILY_COUNTSKETCH_HEAP] = LAW_BUT_HEAP,
    [FAMILY_KMV] = LAW_BYTES,
    [FAMILY_UNIVMON] = LAW_BUT_HEAP,
    [FAMILY_HYDRA_CMS] = LAW_LISTS,
    [FAMILY_HYDRA_COUNTSKETCH] = LAW_LISTS,
    [FAMILY_REGRESSION] = LAW_ROUNDING,
    [FAMILY_DISTINCT_SET] = LAW_BYTES,
};

static int64_t greatest_end(const struct states *s)
{
    int64_t end_ms = s->ref[0].end_ms;
    for (uint32_t i = 1; i < s->k; i++)
        end_ms = s->ref[i].end_ms > end_ms ? s->ref[i].end_ms : end_ms;
    return end_ms;
}

/* Appends the merge of `from` to `to`; its window ends with the last of them. */
static void merge_into(struct states *to, const struct states *from)
{
    uint64_t n = states_count(from);
    size_t size = 0, cap = from->f->size_bound(&from->params, n ? n : UINT32_MAX);
    uint8_t *dst = malloc(cap);
    void *scratch = malloc(from->f->scratch_bound(&from->params, n, from->k));
    int64_t end_ms = greatest_end(from);
    ck_assert_int_eq(from->f->merge_k(dst, cap, &size, &from->params, end_ms, from->ref, from->k, from->seed, scratch),
                     SKETCH_OK);
    states_push(to, dst, size, end_ms);
    states_check(to, dst, size);
    if (from->f->merge == MERGE_MAY_OVERLAP) /* of a set: its values */
        ck_assert_uint_le(from->f->count(dst, size), n);
    else
        ck_assert_uint_eq(from->f->count(dst, size), n);
    free(scratch);
    free(dst);
}

/* Appends to `to` the merge of from's states [at, at + k) by a random tree whose inner nodes have 2 to 4 branches. */
static void merge_tree(struct states *to, const struct states *from, uint32_t at, uint32_t k, uint64_t *random)
{
    if (k == 1) {
        states_push(to, from->ref[at].bytes, from->ref[at].size, from->ref[at].end_ms);
        return;
    }
    struct states *branches = states_new(from->f, from->params, from->seed);
    for (uint32_t left = k, ways = 2 + random_below(random, 3); left > 0; ways -= ways > 1) {
        uint32_t take = ways == 1 ? left : 1 + random_below(random, left);
        merge_tree(branches, from, at + k - left, take, random);
        left -= take;
    }
    states_shuffle(branches, random);
    merge_into(to, branches);
    states_free(branches);
}

/* values cut into panes of random sizes; a window ends at its last sample or anywhere before the next one's. */
static void cut(struct states *s, const int64_t *times_ms, const double *values, uint32_t n, uint64_t *random)
{
    uint32_t most = 1 + 2 * n / (1 + random_below(random, CUTS_MAX - 1));
    for (uint32_t at = 0, run; at < n; at += run) {
        run = 1 + random_below(random, most);
        if (run > n - at || s->k + 1 == CUTS_MAX)
            run = n - at;
        int64_t last_ms = times_ms[at + run - 1];
        every_build(s, last_ms + random_below(random, 14000), times_ms, values, at, run);
    }
}

static bool close_to(double a, double b, double relative)
{
    if (a == b || (a != a && b != b))
        return true;
    return fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

struct answer {
    int rc;
    double v;
};
static struct answer ask(const struct states *s, enum statistic statistic, const struct sketch_args *args)
{
    struct answer a = {.v = 0};
    void *scratch = malloc(s->f->scratch_bound(&s->params, states_count(s), s->k));
    a.rc = s->f->estimate(s->ref, s->k, &s->params, statistic, args, scratch, &a.v);
    free(scratch);
    return a;
}
static void agree(struct answer a, struct answer b, double relative, const char *what, const struct family_info *f,
                  enum statistic statistic)
{
    ck_assert_msg(a.rc == b.rc && (a.rc != SKETCH_OK || close_to(a.v, b.v, relative)), "%s %s, %s: %d %.17g, %d %.17g",
                  f->name, statistic_name(statistic), what, a.rc, a.v, b.rc, b.v);
}

/* How many samples lie below v, and up to v, as a share of n; how far q is outside that. */
static double rank_miss(const double *values, uint32_t n, double q, double v)
{
    uint32_t below = 0, upto = 0;
    for (uint32_t i = 0; i < n; i++) {
        below += values[i] < v;
        upto += values[i] <= v;
    }
    return fmax(0, fmax((double)below / n - q, q - (double)upto / n));
}

/* Reads of rank families over all rounds; the published error holds for 99 % of them. */
static uint32_t rank_reads, rank_misses;

struct forms {
    const struct states *whole, *panes, *flat, *tree;
};
static void check_answers(const struct forms *f, const double *values, uint32_t n, bool finite,
                          const struct sketch_args *args, enum law law)
{
    const struct family_info *info = f->whole->f;
    for (uint32_t i = 0; i < info->readouts_n; i++) {
        enum statistic statistic = info->readouts[i].statistic;
        struct answer whole = ask(f->whole, statistic, args), panes = ask(f->panes, statistic, args),
                      flat = ask(f->flat, statistic, args), tree = ask(f->tree, statistic, args);
        bool is_rank = statistic == STATISTIC_QUANTILE || statistic == STATISTIC_QUANTILE_RANK;
        if (law == LAW_RANK && is_rank) {
            const struct answer all[] = {whole, panes, flat, tree};
            for (uint32_t a = 0; a < 4 && finite; a++) {
                rank_reads++;
                rank_misses += rank_miss(values, n, args->q, all[a].v) > kll_rank_error(f->whole->params.k) + 1.0 / n;
            }
            continue;
        }
        /* An entropy is of the items in the heaps. */
        double relative = law == LAW_ROUNDING ? 1e-9 : statistic == STATISTIC_ENTROPY ? INFINITY : 0;
        agree(flat, whole, relative, "merged and whole", info, statistic);
        agree(tree, whole, relative, "tree and whole", info, statistic);
        if (law == LAW_BYTES || info->readouts[i].merged == MERGED_EXACT)
            agree(panes, flat, relative, "panes and merged", info, statistic);
        if (statistic == STATISTIC_COUNT)
            ck_assert_double_eq(flat.v, n);
    }
}

static void check_bytes(const struct forms *f, enum law law)
{
    if (law != LAW_BYTES && law != LAW_LISTS)
        return;
    const struct states *merged[] = {f->flat, f->tree};
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(merged[i]->ref[0].size, f->whole->ref[0].size);
        ck_assert_mem_eq(merged[i]->ref[0].bytes, f->whole->ref[0].bytes, f->whole->ref[0].size);
    }
}

/* Another order of the same panes: the very same bytes, whatever the family. */
static void check_permutations(const struct states *panes, const struct states *flat, uint64_t *random)
{
    struct states *mixed = states_new(panes->f, panes->params, panes->seed),
                  *again = states_new(panes->f, panes->params, panes->seed);
    for (uint32_t i = 0; i < panes->k; i++)
        states_push(mixed, panes->ref[i].bytes, panes->ref[i].size, panes->ref[i].end_ms);
    for (uint32_t round = 0; round < 4; round++) {
        states_shuffle(mixed, random);
        merge_into(again, mixed);
        ck_assert_uint_eq(again->ref[round].size, flat->ref[0].size);
        ck_assert_mem_eq(again->ref[round].bytes, flat->ref[0].bytes, flat->ref[0].size);
    }
    states_free(mixed);
    states_free(again);
}

static void check_stream(const struct family_info *info, struct sketch_params params, uint32_t kind, uint32_t n,
                         uint64_t *random)
{
    static int64_t times_ms[N_MAX];
    static double values[N_MAX];
    every_stream(random, kind, n, times_ms, values);
    struct states *s[4];
    for (uint32_t i = 0; i < 4; i++)
        s[i] = states_new(info, params, 11);
    cut(s[1], times_ms, values, n, random);
    int64_t end_ms = greatest_end(s[1]);
    every_build(s[0], end_ms, times_ms, values, 0, n);
    merge_into(s[2], s[1]);
    check_permutations(s[1], s[2], random);
    if (info->merge != MERGE_DISJOINT_TIME) /* else the leaves below a branch are neighbours in time */
        states_shuffle(s[1], random);
    merge_tree(s[3], s[1], 0, s[1]->k, random);
    const struct forms forms = {s[0], s[1], s[2], s[3]};
    check_bytes(&forms, laws[info->family]);
    for (uint32_t i = 0; i < 6; i++) {
        struct sketch_args args = {.start_ms = times_ms[0] - 1 - random_below(random, 9000),
                                   .end_ms = end_ms,
                                   .q = i == 0   ? 0
                                        : i == 1 ? 1
                                                 : random_unit(random),
                                   .ahead_s = 3600 * random_unit(random),
                                   .key = sketch_key(values[random_below(random, n)])};
        check_answers(&forms, values, n, kind != EVERY_NOT_FINITE, &args, laws[info->family]);
    }
    for (uint32_t i = 0; i < 4; i++)
        states_free(s[i]);
}

START_TEST(any_cut_any_order_any_tree)
{
    const struct family_info *info = family_get((enum family)_i);
    uint64_t random = suite_seed(info->name);
    const char *reason = NULL;
    if (every_params[_i].n == 0) { /* a family nobody wrote down here has no states to merge */
        ck_assert_int_eq(info->merge, MERGE_NONE);
        ck_assert_int_eq(info->check_params(&every_params[_i].params[0], &reason), SKETCH_BAD_DATA);
        return;
    }
    ck_assert_int_ne(laws[_i], LAW_NONE);
    for (uint32_t round = 0; round < 20; round++)
        for (uint32_t p = 0; p < every_params[_i].n; p++)
            for (uint32_t kind = 0; kind < EVERY_KINDS; kind++) {
                uint32_t n = 1 + random_below(&random, round % 4 ? 120 : N_MAX);
                check_stream(info, every_params[_i].params[p], kind, n, &random);
            }
    if (laws[_i] == LAW_RANK) {
        printf("%s: %u of %u reads beyond the bound\n", info->name, rank_misses, rank_reads);
        ck_assert_uint_gt(rank_reads, 1000);
        ck_assert_uint_le(rank_misses, rank_reads / 100);
    }
}
END_TEST

/* Nothing is lost or counted twice: 60 panes of 1,000 samples are 60,000, whatever the tree. */
START_TEST(merges_keep_count)
{
    enum { PANES = 60, EACH = 1000 };
    const struct family_info *info = family_get((enum family)_i);
    static int64_t times_ms[PANES * EACH];
    static double values[PANES * EACH];
    uint64_t random = suite_seed(info->name);
    for (uint32_t p = 0; p < every_params[_i].n; p++) {
        every_stream(&random, 1, PANES * EACH, times_ms, values);
        struct states *panes = states_new(info, every_params[_i].params[p], 11),
                      *merged = states_new(info, every_params[_i].params[p], 11);
        for (uint32_t i = 0; i < PANES; i++)
            every_build(panes, times_ms[(i + 1) * EACH - 1], times_ms, values, i * EACH, EACH);
        for (uint32_t round = 0; round < 3; round++)
            merge_tree(merged, panes, 0, PANES, &random);
        merge_into(merged, panes);
        bool counts = family_readout(info, STATISTIC_COUNT) != NULL;
        for (uint32_t i = 0; i < merged->k; i++) {
            struct states one = {.f = info, .params = panes->params, .k = 1, .ref = {merged->ref[i]}};
            uint64_t n = states_count(&one);
            ck_assert(n == PANES * EACH || (n < PANES * EACH && info->merge == MERGE_MAY_OVERLAP && !counts));
            if (counts) {
                struct answer count = ask(&one, STATISTIC_COUNT, &(struct sketch_args){.end_ms = times_ms[59999]});
                ck_assert(count.rc == SKETCH_OK && count.v == PANES * EACH);
            }
        }
        states_free(panes);
        states_free(merged);
    }
}
END_TEST

/* Items with weights, cut anywhere: whole ones to the bit (signed where the family takes them), real ones to 1e-9. */
START_TEST(weighted_items)
{
    enum { ITEMS = 2000 };
    const struct family_info *info = family_get((enum family)_i);
    if (!info->build_items || every_params[_i].n == 0)
        return;
    uint64_t random = suite_seed(info->name);
    static uint64_t groups[ITEMS], keys[ITEMS];
    static double weights[ITEMS];
    bool is_signed = family_readout(info, STATISTIC_L2) && !family_readout(info, STATISTIC_L1);
    for (uint32_t round = 0; round < 60; round++) {
        struct sketch_params params = every_params[_i].params[round % every_params[_i].n];
        uint32_t n = 1 + random_below(&random, round % 3 ? 60 : ITEMS);
        uint64_t scale = round % 5 == 4 ? UINT64_C(40000000000) : 1000;
        bool real = is_signed && round % 4 == 3;
        for (uint32_t i = 0; i < n; i++) {
            groups[i] = random_below(&random, 5);
            keys[i] = random_below(&random, 300);
            weights[i] = (double)(random_u64(&random) % scale) * (real ? 0.37 : 1);
            weights[i] = is_signed && random_below(&random, 2) ? -weights[i] : weights[i];
        }
        struct states *s[4];
        for (uint32_t i = 0; i < 4; i++)
            s[i] = states_new(info, params, 11);
        for (uint32_t at = 0, run; at < n; at += run) {
            run = s[1]->k + 1 == CUTS_MAX ? n - at : 1 + random_below(&random, n - at);
            const struct sketch_items items = {groups + at, keys + at, weights + at, run};
            ck_assert_int_eq(states_build_items(s[1], &items), SKETCH_OK);
        }
        const struct sketch_items all = {groups, keys, weights, n};
        ck_assert_int_eq(states_build_items(s[0], &all), SKETCH_OK);
        merge_into(s[2], s[1]);
        check_permutations(s[1], s[2], &random);
        merge_tree(s[3], s[1], 0, s[1]->k, &random);
        const struct forms forms = {s[0], s[1], s[2], s[3]};
        if (!real)
            check_bytes(&forms, laws[_i]);
        for (uint32_t i = 0; i < 5; i++) {
            const struct sketch_args args = {.key = keys[random_below(&random, n)], .group = i};
            for (uint32_t r = 0; r < info->readouts_n; r++) {
                enum statistic statistic = info->readouts[r].statistic;
                if (statistic == STATISTIC_ENTROPY)
                    continue;
                struct answer whole = ask(s[0], statistic, &args);
                double scale_of = real ? 1e-9 * fmax(1, fabs(whole.v)) + 1e-9 * 400 * n : 0;
                ck_assert_double_le(fabs(ask(s[2], statistic, &args).v - whole.v), scale_of);
                ck_assert_double_le(fabs(ask(s[3], statistic, &args).v - whole.v), scale_of);
            }
        }
        for (uint32_t i = 0; i < 4; i++)
            states_free(s[i]);
    }
}
END_TEST

static void *filled(size_t n, uint8_t with)
{
    return memset(malloc(n + 1), with, n + 1);
}

/* A build of `values`, a merge with `other` and every answer, in memory that was full of `with`. The bytes of both
 * states and the answers, one after the other. */
static size_t run_in(uint8_t with, const struct states *other, int64_t end_ms, const int64_t *times_ms,
                     const double *values, uint32_t n, uint8_t **ret)
{
    const struct family_info *info = other->f;
    const struct sketch_params *params = &other->params;
    const uint32_t both_n = n + (uint32_t)states_count(other);
    size_t cap = info->size_bound(params, n), built_n = 0, merged_n = 0;
    size_t merged_cap = info->size_bound(params, both_n > n ? both_n : UINT32_MAX); /* n: the family does not know */
    uint8_t *built = filled(cap, with), *merged = filled(merged_cap, with);
    void *scratch = filled(info->scratch_bound(params, n, 0), with);
    ck_assert_int_eq(info->build(built, cap, &built_n, params, end_ms, times_ms, values, n, 11, scratch), SKETCH_OK);
    free(scratch);
    const struct state_ref refs[] = {other->ref[0], {built, (uint32_t)built_n, end_ms}};
    scratch = filled(info->scratch_bound(params, both_n, 2), with);
    ck_assert_int_eq(info->merge_k(merged, merged_cap, &merged_n, params, end_ms, refs, 2, 11, scratch), SKETCH_OK);
    free(scratch);
    size_t answers_n = info->readouts_n * 4 * sizeof(double), top_n = info->top ? 16 * sizeof(double) : 0;
    uint8_t *all = calloc(1, built_n + merged_n + answers_n + top_n), *at = all;
    memcpy(at, built, built_n);
    memcpy(at += built_n, merged, merged_n);
    at += merged_n;
    scratch = filled(info->scratch_bound(params, both_n, 2), with);
    for (uint32_t i = 0; i < info->readouts_n * 4; i++, at += sizeof(double)) {
        struct sketch_args args = {
            .end_ms = end_ms, .q = i % 4 / 3.0, .key = sketch_key(values[i % n]), .group = i % 2};
        double v = 0;
        if (info->estimate(refs, 2, params, info->readouts[i / 4].statistic, &args, scratch, &v) == SKETCH_OK)
            memcpy(at, &v, sizeof v);
        memset(scratch, with, info->scratch_bound(params, both_n, 2));
    }
    uint32_t found = 0;
    uint64_t keys[8] = {0};
    double estimates[8] = {0};
    if (info->top)
        ck_assert_int_eq(info->top(refs, 2, params, 8, keys, estimates, &found, scratch), SKETCH_OK);
    memcpy(at, keys, top_n / 2);
    memcpy(at + top_n / 2, estimates, top_n / 2);
    free(scratch);
    free(built);
    free(merged);
    *ret = all;
    return built_n + merged_n + answers_n + top_n;
}

/* What lay before in the destination and in the scratch never shows: nothing is read before it is written, and a place
 * that is used again is as good as a new one. */
START_TEST(memory_before_does_not_matter)
{
    const struct family_info *info = family_get((enum family)_i);
    uint64_t random = suite_seed(info->name);
    static int64_t times_ms[N_MAX];
    static double values[N_MAX];
    for (uint32_t round = 0; every_params[_i].n > 0 && round < 90; round++) {
        uint32_t n = 2 + random_below(&random, round % 4 ? 100 : N_MAX - 2), at = 1 + random_below(&random, n - 1);
        every_stream(&random, round % EVERY_KINDS, n, times_ms, values);
        struct states *other = states_new(info, every_params[_i].params[round % every_params[_i].n], 11);
        states_build_at(other, times_ms[at - 1], times_ms, values, at, 11);
        uint8_t *zeros, *ones;
        size_t zeros_n = run_in(0, other, times_ms[n - 1], times_ms + at, values + at, n - at, &zeros);
        size_t ones_n = run_in(0xff, other, times_ms[n - 1], times_ms + at, values + at, n - at, &ones);
        ck_assert_uint_eq(zeros_n, ones_n);
        ck_assert_mem_eq(zeros, ones, zeros_n);
        free(zeros);
        free(ones);
        states_free(other);
    }
}
END_TEST

/* Vector code changes nothing that can be seen: the states of panes, their merge, every answer and the heaviest items,
 * bit for bit, at each level of this machine. */
START_TEST(same_bits_at_every_level)
{
    const struct family_info *info = family_get((enum family)_i);
    uint64_t random = suite_seed(info->name);
    static int64_t times_ms[N_MAX];
    static double values[N_MAX];
    enum cpu_level before = cpu_level();
    for (uint32_t round = 0; every_params[_i].n > 0 && round < 60; round++) {
        uint32_t n = 1 + random_below(&random, round % 4 ? 150 : N_MAX);
        uint64_t cuts = random_u64(&random);
        every_stream(&random, round % EVERY_KINDS, n, times_ms, values);
        struct states *s[2];
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            uint64_t same_cuts = cuts;
            bool first = level == CPU_SCALAR;
            struct states *here = s[!first] = states_new(info, every_params[_i].params[round % every_params[_i].n], 11);
            cut(here, times_ms, values, n, &same_cuts);
            merge_into(here, here);
            for (uint32_t i = 0; i < here->k; i++) {
                ck_assert_uint_eq(here->ref[i].size, s[0]->ref[i].size);
                ck_assert_mem_eq(here->ref[i].bytes, s[0]->ref[i].bytes, here->ref[i].size);
            }
            if (first)
                continue;
            here->k = --s[0]->k; /* the panes without their merge */
            for (uint32_t r = 0; r < 8 * info->readouts_n; r++) {
                struct sketch_args args = {
                    .end_ms = greatest_end(here), .q = r % 8 / 7.0, .key = sketch_key(values[0])};
                enum statistic statistic = info->readouts[r / 8].statistic;
                struct answer vector = ask(here, statistic, &args);
                cpu_force(CPU_SCALAR);
                struct answer scalar = ask(s[0], statistic, &args);
                cpu_force(level);
                ck_assert_int_eq(vector.rc, scalar.rc);
                ck_assert_mem_eq(&vector.v, &scalar.v, sizeof vector.v);
            }
            here->k = ++s[0]->k;
            states_free(here);
        }
        states_free(s[0]);
    }
    cpu_force(before);
}
END_TEST

/* A heap of 8 over 20 panes: the merge's L2 is as good as a single build's, three of its standard errors
 * 1 / sqrt(2 width) (merges that kept each pane's heap alone lost the middling items, and with them the norm). */
START_TEST(norm_of_many_panes)
{
    enum { PANES = 20, EACH = 3000, KEYS = 30000 };
    const struct sketch_params params = {.depth = 5, .width = 1024, .heap = 8};
    uint64_t random = suite_seed("laws.norm_of_many_panes");
    static double values[PANES * EACH], truth[KEYS];
    for (uint32_t round = 0; round < 4; round++) {
        memset(truth, 0, sizeof truth);
        for (uint32_t i = 0; i < PANES * EACH; i++) {
            values[i] = floor(KEYS * pow(random_unit(&random), 1 + round * 2));
            truth[(uint32_t)values[i]]++;
        }
        double l2 = 0;
        for (uint32_t i = 0; i < KEYS; i++)
            l2 += truth[i] * truth[i];
        l2 = sqrt(l2);
        struct states *panes = states_new(family_get(FAMILY_UNIVMON), params, 11),
                      *merged = states_new(family_get(FAMILY_UNIVMON), params, 11);
        for (uint32_t i = 0; i < PANES; i++)
            states_build_same_seed(panes, values + i * EACH, EACH);
        merge_tree(merged, panes, 0, PANES, &random);
        double got = states_read(merged, STATISTIC_L2, 0);
        printf("20 panes merged, round %u: L2 %+.4f\n", round, got / l2 - 1);
        ck_assert_double_le(fabs(got / l2 - 1), 3 / sqrt(2 * 1024));
        states_free(panes);
        states_free(merged);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("laws");
    TCase *tc = tcase_create("laws");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, any_cut_any_order_any_tree, 1, FAMILY_END);
    tcase_add_loop_test(tc, merges_keep_count, 1, FAMILY_END);
    tcase_add_loop_test(tc, weighted_items, 1, FAMILY_END);
    tcase_add_loop_test(tc, memory_before_does_not_matter, 1, FAMILY_END);
    tcase_add_loop_test(tc, same_bits_at_every_level, 1, FAMILY_END);
    tcase_add_test(tc, norm_of_many_panes);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
