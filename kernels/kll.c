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
#include <math.h>

#include "kernels/carve.h"
#include "kernels/families.h"
#include "kernels/order.h"
#include "kernels/qpane.h"

enum {
    K_MIN = 8,
    K_MAX = 65535,
    LEVELS_MAX = 49,
    LEVEL_MIN_CAP = 8,
    HEAD_SIZE = 28,
    SORT_ALL = 4096, /* samples sorted as one block */
    BLOCK = 2048,    /* samples of a block of more */
    BLOCK_SHIFT = 3  /* log2 of what such a block is thinned by */
};
#define N_END (UINT64_C(1) << 48)

/* Items as keys, level by level. */
struct levels {
    uint64_t *key[LEVELS_MAX];
    uint32_t n[LEVELS_MAX];
};

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators) */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Capacity of each of `levels` levels into caps, level 0 first. Returns their sum. */
static uint64_t capacities(uint32_t k, uint32_t levels, uint32_t *caps)
{
    uint64_t sum = 0;
    uint32_t cap = k;
    for (uint32_t h = levels; h-- > 0;) {
        caps[h] = cap;
        sum += cap;
        cap = (2 * cap + 2) / 3;
        if (cap < LEVEL_MIN_CAP)
            cap = LEVEL_MIN_CAP;
    }
    return sum;
}

/* The least top level at which n > k samples fit. */
static uint32_t top_level(uint32_t k, uint64_t n)
{
    uint32_t top = 1, cap = k;
    uint64_t sum = k;
    for (;; top++) {
        cap = (2 * cap + 2) / 3;
        if (cap < LEVEL_MIN_CAP)
            cap = LEVEL_MIN_CAP;
        sum += cap;
        if ((n >> top) + top <= sum || top + 1 == LEVELS_MAX)
            return top;
    }
}

static int kll_check_params(const struct sketch_params *params, const char **reason)
{
    if (params->k < K_MIN || params->k > K_MAX) {
        *reason = "KLL's k must be from 8 to 65535";
        return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

static size_t items_bound(uint32_t k)
{
    uint32_t caps[LEVELS_MAX];
    return (size_t)capacities(k, LEVELS_MAX, caps);
}

static size_t kll_size_bound(const struct sketch_params *params, uint64_t n)
{
    if (n <= params->k)
        return 1 + (size_t)n * 8;
    uint64_t items = items_bound(params->k);
    return HEAD_SIZE + 4 * LEVELS_MAX + 8 * (size_t)(n < items ? n : items);
}

/* Most items that k states of n samples in all hold. */
static uint64_t held_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint64_t items = k * (uint64_t)items_bound(params->k);
    return n < items ? n : items;
}

/*
 * build: keys and the sort's other half, and what a level needs. merge_k: per input the exact pane's samples; all
 * items, twice; run ends. estimate: a run for each level of each input, exact panes' samples.
 */
static size_t kll_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint64_t held = k == 0 ? n : held_bound(params, n, k);
    uint64_t runs = k * (uint64_t)LEVELS_MAX;
    uint64_t exact = held < params->k ? held : params->k;
    return 3 * carve_size(held * 8) + carve_size(qpane_room(held) * 8) + carve_size(runs * sizeof(struct select_run)) +
           carve_size((k + 2) * sizeof(uint64_t)) + qpane_write_scratch(exact) + LEVELS_MAX * 16;
}

/*
 * Thins keys[0..n), sorted, each of weight 2^level, to weight 2^(level + shift), in place; what fills no whole group
 * leaves as one item for each lower level needed, appended to `out`. Returns the items kept in place.
 */
static uint32_t thin(uint64_t *keys, uint32_t n, uint32_t level, uint32_t shift, struct levels *out, uint64_t *random)
{
    uint32_t groups = n >> shift, rest = n & ((1u << shift) - 1);
    uint32_t at = (uint32_t)(next_random(random) >> 32) & ((1u << shift) - 1);
    for (uint32_t i = 0; i < groups; i++)
        keys[i] = keys[((size_t)i << shift) + at];
    uint32_t from = groups << shift;
    for (uint32_t s = shift; s-- > 0;)
        if (rest >> s & 1) {
            uint32_t pick = (uint32_t)(next_random(random) >> 32) & ((1u << s) - 1);
            out->key[level + s][out->n[level + s]++] = keys[from + pick];
            from += 1u << s;
        }
    return groups;
}

static int write_levels(uint8_t *dst, size_t cap, size_t *ret_size, uint32_t k, uint64_t n, double min, double max,
                        bool nonfinite, const struct levels *items, uint32_t levels)
{
    size_t size = HEAD_SIZE + 4 * (size_t)levels;
    for (uint32_t h = 0; h < levels; h++)
        size += (size_t)items->n[h] * 8;
    if (size > cap)
        return SKETCH_NO_ROOM;
    dst[0] = QPANE_LEVELS | (nonfinite ? QPANE_NONFINITE : 0);
    dst[1] = (uint8_t)levels;
    bits_store_u16(dst + 2, (uint16_t)k);
    bits_store_u64(dst + 4, n);
    bits_store_f64(dst + 12, min);
    bits_store_f64(dst + 20, max);
    uint8_t *p = dst + HEAD_SIZE + 4 * (size_t)levels;
    for (uint32_t h = 0; h < levels; h++) {
        bits_store_u32(dst + HEAD_SIZE + 4 * (size_t)h, items->n[h]);
        for (uint32_t i = 0; i < items->n[h]; i++, p += 8)
            bits_store_f64(p, order_value(items->key[h][i]));
    }
    *ret_size = size;
    return SKETCH_OK;
}

/* Sorts the keys, by blocks thinned to 1/8 while there are many, and thins them to level `top` of `out`. */
static void thin_to_top(uint64_t *keys, uint32_t n, uint64_t *tmp, uint32_t top, struct levels *out, uint64_t *random)
{
    uint32_t level = 0;
    for (; n > SORT_ALL && level + BLOCK_SHIFT <= top; level += BLOCK_SHIFT) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < n; i += BLOCK) {
            uint32_t block_n = n - i < BLOCK ? n - i : BLOCK;
            order_sort(keys + i, block_n, tmp);
            uint32_t groups = thin(keys + i, block_n, level, BLOCK_SHIFT, out, random);
            memmove(keys + kept, keys + i, groups * sizeof *keys);
            kept += groups;
        }
        n = kept;
    }
    order_sort(keys, n, tmp);
    out->n[top] = thin(keys, n, level, top - level, out, random);
    out->key[top] = keys;
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
    uint32_t top = top_level(params->k, n);
    struct levels items;
    uint64_t *single = carve(&rest, LEVELS_MAX * sizeof *single);
    for (uint32_t h = 0; h < LEVELS_MAX; h++) {
        items.key[h] = single + h; /* a build leaves at most one item on a level below the top */
        items.n[h] = 0;
    }
    uint64_t random = seed ^ n;
    thin_to_top(keys, n, tmp, top, &items, &random);
    return write_levels(dst, cap, ret_size, params->k, n, min, max, nonfinite, &items, top + 1);
}

/* --- reading states --- */

/* A validated form-3 state opened in place. */
struct view {
    uint32_t k, levels;
    uint64_t n;
    double min, max;
    const uint8_t *level_n, *items;
};

static bool has_levels(const uint8_t *bytes)
{
    return (bytes[0] & QPANE_FORM_MASK) == QPANE_LEVELS;
}

static struct view view_open(const uint8_t *bytes)
{
    uint32_t levels = bytes[1];
    return (struct view){.k = bits_load_u16(bytes + 2),
                         .levels = levels,
                         .n = bits_load_u64(bytes + 4),
                         .min = bits_load_f64(bytes + 12),
                         .max = bits_load_f64(bytes + 20),
                         .level_n = bytes + HEAD_SIZE,
                         .items = bytes + HEAD_SIZE + 4 * (size_t)levels};
}

static uint64_t kll_count(const uint8_t *bytes, size_t n)
{
    return has_levels(bytes) ? bits_load_u64(bytes + 4) : qpane_count(bytes, n);
}

static uint32_t kll_flags(const uint8_t *bytes, size_t n)
{
    return qpane_nonfinite(bytes) ? STATE_NONFINITE : 0;
}

/* A run for each level with items; how many. */
static uint32_t level_runs(const struct view *v, struct select_run *runs)
{
    const uint8_t *items = v->items;
    uint32_t runs_n = 0;
    for (uint32_t h = 0; h < v->levels; h++) {
        uint32_t n = bits_load_u32(v->level_n + 4 * (size_t)h);
        if (n > 0)
            runs[runs_n++] = (struct select_run){.bytes = items, .weight = UINT64_C(1) << h, .n = n};
        items += (size_t)n * 8;
    }
    return runs_n;
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
            struct view v = view_open(src[i].bytes);
            order_widen(&o->min, &o->max, v.min);
            order_widen(&o->min, &o->max, v.max);
            o->runs_n += level_runs(&v, o->runs + o->runs_n);
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
        if (o->n >= N_END)
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

/* --- merging --- */

/* Halves level h into h + 1: every other item from a random one of the first two; an odd last one stays. */
static void halve(struct levels *items, uint32_t h, uint64_t *tmp, uint64_t *random)
{
    uint32_t half = items->n[h] / 2, odd = items->n[h] & 1, at = (uint32_t)(next_random(random) >> 63);
    uint64_t *low = items->key[h], stays = low[items->n[h] - 1];
    for (uint32_t i = 0; i < half; i++)
        low[i] = low[2 * (size_t)i + at];
    order_merge(tmp, low, half, items->key[h + 1], items->n[h + 1]);
    low[0] = stays;
    items->n[h] = odd;
    /* The upper level lies right behind the lower one and the lower one's room was twice what moves up: the merged
     * items fit before the upper level's end. */
    items->key[h + 1] -= half;
    items->n[h + 1] += half;
    memcpy(items->key[h + 1], tmp, items->n[h + 1] * sizeof *tmp);
}

/* Sets items->key[h][...] to all inputs' level h, sorted; level h + 1 lies right behind level h. */
static void gather_levels(struct levels *items, const struct opened *o, uint32_t levels, uint64_t *keys, uint64_t *tmp,
                          uint64_t *ends)
{
    uint64_t start = 0;
    for (uint32_t h = 0; h < LEVELS_MAX; h++) {
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

static uint32_t compact(struct levels *items, uint32_t levels, uint32_t k, uint64_t *tmp, uint64_t *random)
{
    uint32_t caps[LEVELS_MAX];
    for (;;) {
        uint64_t most = capacities(k, levels, caps), held = 0;
        for (uint32_t h = 0; h < levels; h++)
            held += items->n[h];
        if (held <= most)
            return levels;
        uint32_t h = 0;
        while (items->n[h] <= caps[h])
            h++;
        halve(items, h, tmp, random);
        if (h + 1 == levels)
            levels++;
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
    struct levels items;
    gather_levels(&items, &o, levels, keys, tmp, ends);
    if (o.n <= params->k)
        return qpane_write(dst, cap, ret_size, keys, o.n, rest);
    uint32_t fitting = top_level(params->k, o.n) + 1;
    uint64_t random = seed ^ o.n;
    levels = compact(&items, levels < fitting ? fitting : levels, params->k, tmp, &random);
    while (items.n[levels - 1] == 0)
        levels--;
    return write_levels(dst, cap, ret_size, params->k, o.n, o.min, o.max, o.nonfinite, &items, levels);
}

/* --- validation --- */

static int refuse(const char **reason, const char *text)
{
    *reason = text;
    return SKETCH_CORRUPT;
}

static int validate_items(const struct view *v, bool nonfinite, const char **reason)
{
    uint64_t min_key = order_key(v->min), max_key = order_key(v->max);
    bool none = min_key == ORDER_NAN && max_key == ORDER_NAN;
    const uint8_t *p = v->items;
    for (uint32_t h = 0; h < v->levels; h++) {
        uint64_t last = 0;
        for (uint32_t i = bits_load_u32(v->level_n + 4 * (size_t)h); i > 0; i--, p += 8) {
            uint64_t bits = bits_load_u64(p), key = order_key_of_bits(bits);
            if (key < last || (key == ORDER_NAN && bits != BITS_NAN))
                return refuse(reason, "a KLL level is not sorted largest first");
            if (key == ORDER_NAN ? !nonfinite : none || key < max_key || key > min_key)
                return refuse(reason, "a KLL item lies outside the state's extremes");
            last = key;
        }
    }
    return SKETCH_OK;
}

static int validate_levels(const uint8_t *bytes, size_t size, uint32_t k, const char **reason)
{
    uint32_t caps[LEVELS_MAX];
    if (size < HEAD_SIZE || bytes[0] >> 4 != 0 || bytes[1] < 1 || bytes[1] > LEVELS_MAX ||
        size < HEAD_SIZE + 4 * (size_t)bytes[1])
        return refuse(reason, "a KLL state is cut short or has an impossible number of levels");
    struct view v = view_open(bytes);
    if (v.k != k)
        return refuse(reason, "a KLL state was built with another k");
    if (v.n <= k || v.n >= N_END)
        return refuse(reason, "a KLL state's sample count is out of range");
    uint32_t fitting = top_level(k, v.n) + 1;
    uint64_t most = capacities(k, v.levels > fitting ? v.levels : fitting, caps), held = 0, weight = 0;
    for (uint32_t h = 0; h < v.levels; h++) {
        uint64_t n = bits_load_u32(v.level_n + 4 * (size_t)h);
        held += n;
        if (n > most || n > v.n >> h)
            return refuse(reason, "a KLL level holds too many items");
        weight += n << h;
    }
    if (weight != v.n || held > most || bits_load_u32(v.level_n + 4 * (size_t)(v.levels - 1)) == 0)
        return refuse(reason, "a KLL state's items do not add up to its sample count");
    if (size != HEAD_SIZE + 4 * (size_t)v.levels + held * 8)
        return refuse(reason, "a KLL state's size does not fit its levels");
    bool no_min = v.min != v.min, no_max = v.max != v.max, nonfinite = qpane_nonfinite(bytes);
    if (no_min != no_max || (!no_min && order_key(v.min) < order_key(v.max)))
        return refuse(reason, "a KLL state's extremes contradict each other");
    if (!nonfinite && !(bits_is_finite(v.min) && bits_is_finite(v.max)))
        return refuse(reason, "a KLL state's flag of non-finite samples is wrong");
    return validate_items(&v, nonfinite, reason);
}

static int kll_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n > 0 && has_levels(bytes))
        return validate_levels(bytes, n, params->k, reason);
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
