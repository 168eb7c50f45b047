#include "kernels/kll_levels.h"

#include "kernels/bits.h"
#include "kernels/order.h"
#include "kernels/qpane.h"

enum {
    LEVEL_MIN_CAP = 8,
    SORT_ALL = 4096, /* samples sorted as one block */
    BLOCK = 2048,    /* samples of a block of more */
    BLOCK_SHIFT = 3  /* log2 of what such a block is thinned by */
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

uint32_t kll_top_level(uint32_t k, uint64_t n)
{
    uint32_t top = 1, cap = k;
    uint64_t sum = k;
    for (;; top++) {
        cap = (2 * cap + 2) / 3;
        if (cap < LEVEL_MIN_CAP)
            cap = LEVEL_MIN_CAP;
        sum += cap;
        if ((n >> top) + top <= sum || top + 1 == KLL_LEVELS_MAX)
            return top;
    }
}

size_t kll_items_bound(uint32_t k)
{
    uint32_t caps[KLL_LEVELS_MAX];
    return (size_t)capacities(k, KLL_LEVELS_MAX, caps);
}

/*
 * Thins keys[0..n), sorted, each of weight 2^level, to weight 2^(level + shift), in place; what fills no whole group
 * leaves as one item for each lower level needed, appended to `out`. Returns the items kept in place.
 */
static uint32_t thin(uint64_t *keys, uint32_t n, uint32_t level, uint32_t shift, struct kll_levels *out,
                     uint64_t *random)
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

/* By blocks thinned to 1/8 while there are many. */
void kll_levels_thin(uint64_t *keys, uint32_t n, uint64_t *tmp, uint32_t top, struct kll_levels *out, uint64_t *random)
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

/* --- merging --- */

/* Halves level h into h + 1: every other item from a random one of the first two; an odd last one stays. */
static void halve(struct kll_levels *items, uint32_t h, uint64_t *tmp, uint64_t *random)
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

uint32_t kll_levels_compact(struct kll_levels *items, uint32_t levels, uint32_t k, uint64_t *tmp, uint64_t *random)
{
    uint32_t caps[KLL_LEVELS_MAX];
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

/* --- bytes --- */

int kll_levels_write(uint8_t *dst, size_t cap, size_t *ret_size, uint32_t k, uint64_t n, double min, double max,
                     bool nonfinite, const struct kll_levels *items, uint32_t levels)
{
    size_t size = KLL_HEAD_SIZE + 4 * (size_t)levels;
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
    uint8_t *p = dst + KLL_HEAD_SIZE + 4 * (size_t)levels;
    for (uint32_t h = 0; h < levels; h++) {
        bits_store_u32(dst + KLL_HEAD_SIZE + 4 * (size_t)h, items->n[h]);
        for (uint32_t i = 0; i < items->n[h]; i++, p += 8)
            bits_store_f64(p, order_value(items->key[h][i]));
    }
    *ret_size = size;
    return SKETCH_OK;
}

struct kll_view kll_view_open(const uint8_t *bytes)
{
    uint32_t levels = bytes[1];
    return (struct kll_view){.k = bits_load_u16(bytes + 2),
                             .levels = levels,
                             .n = bits_load_u64(bytes + 4),
                             .min = bits_load_f64(bytes + 12),
                             .max = bits_load_f64(bytes + 20),
                             .level_n = bytes + KLL_HEAD_SIZE,
                             .items = bytes + KLL_HEAD_SIZE + 4 * (size_t)levels};
}

uint32_t kll_view_runs(const struct kll_view *v, struct select_run *runs)
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

static int refuse(const char **reason, const char *text)
{
    *reason = text;
    return SKETCH_CORRUPT;
}

static int validate_items(const struct kll_view *v, bool nonfinite, const char **reason)
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

int kll_levels_validate(const uint8_t *bytes, size_t size, uint32_t k, const char **reason)
{
    uint32_t caps[KLL_LEVELS_MAX];
    if (size < KLL_HEAD_SIZE || bytes[0] >> 4 != 0 || bytes[1] < 1 || bytes[1] > KLL_LEVELS_MAX ||
        size < KLL_HEAD_SIZE + 4 * (size_t)bytes[1])
        return refuse(reason, "a KLL state is cut short or has an impossible number of levels");
    struct kll_view v = kll_view_open(bytes);
    if (v.k != k)
        return refuse(reason, "a KLL state was built with another k");
    if (v.n <= k || v.n >= KLL_N_END)
        return refuse(reason, "a KLL state's sample count is out of range");
    uint32_t fitting = kll_top_level(k, v.n) + 1;
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
    if (size != KLL_HEAD_SIZE + 4 * (size_t)v.levels + held * 8)
        return refuse(reason, "a KLL state's size does not fit its levels");
    bool no_min = v.min != v.min, no_max = v.max != v.max, nonfinite = qpane_nonfinite(bytes);
    if (no_min != no_max || (!no_min && order_key(v.min) < order_key(v.max)))
        return refuse(reason, "a KLL state's extremes contradict each other");
    if (!nonfinite && !(bits_is_finite(v.min) && bits_is_finite(v.max)))
        return refuse(reason, "a KLL state's flag of non-finite samples is wrong");
    return validate_items(&v, nonfinite, reason);
}
