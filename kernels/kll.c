/*
 * KLL: quantiles within a rank error. Exact while n <= k; beyond, samples stand for 2, 4, 8, ... others.
 *
 * n <= k: a quantile pane of any other form, the bytes of VALUES (kernels/qpane.h). n > k, form 3, levels:
 *
 *   | off     | type | field                                                                      |
 *   |---------|------|----------------------------------------------------------------------------|
 *   | 0       | u8   | 3, + 8 if a sample was NaN or infinite                                     |
 *   | 1       | u8   | levels H, 1..49                                                            |
 *   | 2       | u16  | k                                                                          |
 *   | 4       | u64  | n, k < n < 2^48                                                            |
 *   | 12      | f64  | least sample that is not NaN (NaN if none)                                 |
 *   | 20      | f64  | greatest sample that is not NaN                                            |
 *   | 28      | u32  | items of level h, h = 0..H-1; an item of level h weighs 2^h; sum = n        |
 *   | 28 + 4H | f64  | items of level 0, level 1, ...; in each level largest first                |
 *
 * The top level is not empty. Level capacities are KLL's (Karnin, Lang, Liberty: Optimal Quantile Approximation in
 * Streams): k at the top, 2/3 of the level above at each level below, at least 8; a state never holds more items than
 * their sum over max(H, the levels n needs).
 *
 * A build knows n, so it needs no stream of small compactions. The top level is the least one at which n / 2^top items
 * fit the capacity; samples are thinned straight to it. `thin`: of sorted items, each group of 2^s neighbours keeps the
 * one at a random offset, the same for all groups (systematic sampling: the rank error of a cut stays below 2^s and has
 * variance 4^s / 12); a rest that fills no group is cut into groups of smaller powers of two. Up to SORT_ALL samples
 * are sorted as a whole; more go by sorted blocks thinned to 1/8 first, again and again. A merge puts levels together
 * and, while there are more items than the capacity, halves the lowest level that is over its own.
 *
 * Offsets come from `seed` and n alone and every level is a sorted multiset, so a rebuild is byte-equal and a merge is
 * the same for any order of its inputs.
 */
#include "kernels/kll_levels.h"

#include "kernels/bits.h"
#include "kernels/carve.h"
#include "kernels/families.h"
#include "kernels/order.h"
#include "kernels/qpane.h"

enum { K_MIN = 8, K_MAX = 65535 };

static int kll_check_params(const struct sketch_params *params, const char **reason)
{
    if (params->k < K_MIN || params->k > K_MAX) {
        *reason = "KLL's k must be from 8 to 65535";
        return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

static size_t kll_size_bound(const struct sketch_params *params, uint64_t n)
{
    if (n <= params->k)
        return 1 + (size_t)n * 8;
    uint64_t items = kll_items_bound(params->k);
    return KLL_HEAD_SIZE + 4 * KLL_LEVELS_MAX + 8 * (size_t)(n < items ? n : items);
}

/* Most items that k states of n samples in all hold. */
static uint64_t held_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint64_t items = k * (uint64_t)kll_items_bound(params->k);
    return n < items ? n : items;
}

/*
 * build: keys and the sort's other half, and what a level needs. merge_k: per input the exact pane's samples; all
 * items, twice; run ends. estimate: a run for each level of each input, exact panes' samples.
 */
static size_t kll_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint64_t held = k == 0 ? n : held_bound(params, n, k);
    uint64_t runs = k * (uint64_t)KLL_LEVELS_MAX;
    uint64_t exact = held < params->k ? held : params->k;
    return 3 * carve_size(held * 8) + carve_size(qpane_room(held) * 8) + carve_size(runs * sizeof(struct select_run)) +
           carve_size((k + 2) * sizeof(uint64_t)) + qpane_write_scratch(exact) + KLL_LEVELS_MAX * 16;
}

static int kll_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    uint8_t *rest = scratch;
    uint64_t *keys = carve(&rest, (uint64_t)n * 8), *tmp = carve(&rest, (uint64_t)n * 8);
    uint64_t least = ORDER_NAN, greatest = 0; /* keys of the extremes; they rise as samples fall */
    bool nan = false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = order_key(values[i]);
        keys[i] = key;
        nan |= key == ORDER_NAN;
        least = key < least ? key : least;
        greatest = key > greatest && key != ORDER_NAN ? key : greatest;
    }
    if (n <= params->k) {
        order_sort(keys, n, tmp);
        return qpane_write(dst, cap, ret_size, keys, n, rest);
    }
    double max = order_value(least), min = max != max ? max : order_value(greatest);
    bool nonfinite = nan || !bits_is_finite(min) || !bits_is_finite(max);
    uint32_t top = kll_top_level(params->k, n);
    struct kll_levels items;
    uint64_t *single = carve(&rest, KLL_LEVELS_MAX * sizeof *single);
    for (uint32_t h = 0; h < KLL_LEVELS_MAX; h++) {
        items.key[h] = single + h; /* a build leaves at most one item on a level below the top */
        items.n[h] = 0;
    }
    uint64_t random = seed ^ n;
    kll_levels_thin(keys, n, tmp, top, &items, &random);
    return kll_levels_write(dst, cap, ret_size, params->k, n, min, max, nonfinite, &items, top + 1);
}

static bool has_levels(const uint8_t *bytes)
{
    return (bytes[0] & QPANE_FORM_MASK) == QPANE_LEVELS;
}

static uint64_t kll_count(const uint8_t *bytes, size_t n)
{
    return has_levels(bytes) ? bits_load_u64(bytes + 4) : qpane_count(bytes, n);
}

static uint32_t kll_flags(const uint8_t *bytes, size_t n)
{
    return qpane_nonfinite(bytes) ? STATE_NONFINITE : 0;
}

/* All inputs as runs; the union's n, extremes and flag. */
struct opened {
    struct select_run *runs;
    uint32_t runs_n;
    bool nonfinite;
    uint64_t n;
    double min, max; /* only of inputs with levels, unless all_extremes was asked for */
};

static int open_all(struct opened *o, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                    bool all_extremes, uint8_t **scratch)
{
    *o = (struct opened){.min = bits_to_f64(BITS_NAN), .max = bits_to_f64(BITS_NAN)};
    uint64_t exact_n = 0, runs_bound = 0;
    for (uint32_t i = 0; i < k; i++) {
        bool levels = has_levels(src[i].bytes);
        if (levels && bits_load_u16(src[i].bytes + 2) != params->k)
            return SKETCH_MISMATCH;
        exact_n += levels ? 0 : qpane_count(src[i].bytes, src[i].size);
        runs_bound += levels ? src[i].bytes[1] : 1;
    }
    o->runs = carve(scratch, runs_bound * sizeof *o->runs);
    double *samples = carve(scratch, qpane_room(exact_n) * 8);
    for (uint32_t i = 0; i < k; i++) {
        o->nonfinite |= qpane_nonfinite(src[i].bytes);
        if (has_levels(src[i].bytes)) {
            struct kll_view v = kll_view_open(src[i].bytes);
            order_widen(&o->min, &o->max, v.min);
            order_widen(&o->min, &o->max, v.max);
            o->runs_n += kll_view_runs(&v, o->runs + o->runs_n);
            o->n += v.n;
        } else {
            struct select_run *run = &o->runs[o->runs_n++];
            if (qpane_open(src[i].bytes, src[i].size, samples, run) == 0)
                return SKETCH_CORRUPT;
            if (run->bytes == (const uint8_t *)samples)
                samples += run->n;
            if (all_extremes)
                qpane_extremes(run, &o->min, &o->max);
            o->n += run->n;
        }
        if (o->n >= KLL_N_END)
            return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

static int kll_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct opened o;
    uint8_t *rest = scratch;
    double q = args ? args->q : 0;
    /* The extremes matter where a compaction may have dropped them. */
    bool all_extremes = statistic == STATISTIC_MIN || statistic == STATISTIC_MAX || q == 0 || q == 1;
    bool compacted = false;
    for (uint32_t i = 0; i < k; i++)
        compacted |= has_levels(src[i].bytes);
    if (!compacted && statistic != STATISTIC_MIN && statistic != STATISTIC_MAX)
        return qpane_estimate(src, k, statistic, q, scratch, ret);
    int rc = open_all(&o, src, k, params, all_extremes, &rest);
    if (rc != SKETCH_OK)
        return rc;
    if (k == 0)
        return SKETCH_NONE;
    if (statistic == STATISTIC_MIN || statistic == STATISTIC_MAX) {
        *ret = statistic == STATISTIC_MIN ? o.min : o.max;
        return SKETCH_OK;
    }
    bool quantile = statistic == STATISTIC_QUANTILE || statistic == STATISTIC_QUANTILE_RANK;
    if (quantile && !o.nonfinite && (q == 0 || q == 1)) {
        *ret = q == 0 ? o.min : o.max;
        return SKETCH_OK;
    }
    return qpane_read(o.runs, o.runs_n, statistic, q, ret);
}

/* Sets items->key[h][...] to all inputs' level h, sorted; level h + 1 lies right behind level h. */
static void gather_levels(struct kll_levels *items, const struct opened *o, uint32_t levels, uint64_t *keys,
                          uint64_t *tmp, uint64_t *ends)
{
    uint64_t start = 0;
    for (uint32_t h = 0; h < KLL_LEVELS_MAX; h++) {
        items->key[h] = keys + start;
        items->n[h] = 0;
        uint32_t found = 0;
        for (uint32_t i = 0; h < levels && i < o->runs_n; i++) {
            const struct select_run *run = &o->runs[i];
            if (run->weight != UINT64_C(1) << h)
                continue;
            for (uint32_t j = 0; j < run->n; j++)
                items->key[h][items->n[h]++] = order_key_at(run->bytes + (size_t)j * 8);
            ends[found++] = items->n[h];
        }
        order_merge_runs(items->key[h], ends, found, tmp);
        start += items->n[h];
    }
}

static int kll_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    struct opened o;
    uint8_t *rest = scratch;
    int rc = open_all(&o, src, k, params, true, &rest);
    if (rc != SKETCH_OK)
        return rc;
    uint64_t held = 0;
    for (uint32_t i = 0; i < o.runs_n; i++)
        held += o.runs[i].n;
    if (held == 0 || held > UINT32_MAX)
        return SKETCH_BAD_DATA;
    uint64_t *keys = carve(&rest, held * 8), *tmp = carve(&rest, held * 8);
    uint64_t *ends = carve(&rest, (k + 2) * sizeof *ends);
    uint32_t levels = 1;
    for (uint32_t i = 0; i < o.runs_n; i++)
        while (o.runs[i].weight >> levels)
            levels++;
    struct kll_levels items;
    gather_levels(&items, &o, levels, keys, tmp, ends);
    if (o.n <= params->k)
        return qpane_write(dst, cap, ret_size, keys, o.n, rest);
    uint32_t fitting = kll_top_level(params->k, o.n) + 1;
    uint64_t random = seed ^ o.n;
    levels = kll_levels_compact(&items, levels < fitting ? fitting : levels, params->k, tmp, &random);
    while (items.n[levels - 1] == 0)
        levels--;
    return kll_levels_write(dst, cap, ret_size, params->k, o.n, o.min, o.max, o.nonfinite, &items, levels);
}

static int kll_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n > 0 && has_levels(bytes))
        return kll_levels_validate(bytes, n, params->k, reason);
    return qpane_validate(bytes, n, params->k, reason);
}

/*
 * Quantiles over panes are as over one state of the union: the panes' rank errors are independent with mean 0, so that
 * of the whole is at most the root of the sum of (e n_i)^2, which is at most e n.
 */
static const struct family_readout readouts[] = {
    {STATISTIC_QUANTILE, MERGED_AS_UNION}, {STATISTIC_QUANTILE_RANK, MERGED_AS_UNION},
    {STATISTIC_COUNT, MERGED_EXACT},       {STATISTIC_MIN, MERGED_EXACT},
    {STATISTIC_MAX, MERGED_EXACT},
};

const struct family_info kll_family = {
    .family = FAMILY_KLL,
    .name = "kll",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = sizeof readouts / sizeof readouts[0],
    .check_params = kll_check_params,
    .size_bound = kll_size_bound,
    .scratch_bound = kll_scratch_bound,
    .build = kll_build,
    .merge_k = kll_merge_k,
    .estimate = kll_estimate,
    .validate = kll_validate,
    .flags = kll_flags,
    .count = kll_count,
};
