/*
 * UnivMon: L1, L2, distinct items, entropy and the heaviest items from one state (Liu, Manousis, Vorsanger, Sekar,
 * Braverman: One Sketch to Rule Them All, 2016). Level l sees the items whose hash draws at least l of a geometric law,
 * half of those of level l - 1. A level of many items is a CountSketch and its heaviest items; the first level of few,
 * at most depth * width / 4, lists them exactly, and deeper ones need nothing, being part of it.
 *
 *     level 0   | all items       | counters, heap |
 *     level 1   | 1/2 of them     | counters, heap |
 *     level 2=t | 1/4: few enough | exact list     |
 *
 *   | off | type | field                                                                       |
 *   |-----|------|-----------------------------------------------------------------------------|
 *   | 0   | u8   | form of the counters: 1 i32 (mass < 2^31), 2 i64 (mass < 2^62)              |
 *   | 1   | u8   | depth                                                                       |
 *   | 2   | u16  | heap                                                                        |
 *   | 4   | u32  | width                                                                       |
 *   | 8   | u64  | sketch seed                                                                 |
 *   | 16  | u64  | samples behind it, n                                                        |
 *   | 24  | u64  | mass: sum of the weights (L1)                                               |
 *   | 32  | u8   | levels of counters t; 0 = all items are listed                              |
 *   | 33  |      | t times: depth x width counters, then u64[heap] the heaviest items, rising  |
 *   |     |      | the list of level t (kernels/tally.h)                                       |
 *
 * So there are as many levels as the items need (log2 of distinct over listed, about), none of a fixed number that
 * could saturate. t depends on the set of items alone; counters and list are the same for any order or cut of the
 * samples. Heaps of a merge come from its inputs' heaps and lists. Weights are whole and not negative.
 *
 * Readouts. L1 is the mass. L2 comes from level 0's counters, never through heaps: merging adds counters, so its error
 * is that of one state. Distinct: 2^t times the items listed (adaptive sampling; Flajolet: On Adaptive Sampling, 1990:
 * relative standard error about 1.2 / sqrt(listed at most)). A sum of g(weight) over items, for the entropy: Y_t from
 * the list, then Y_l = 2 Y_(l+1) + the sum over level l's heap of (1 - 2 [item is in level l + 1]) g(estimate).
 *
 * A level count far beyond what n items draw (one in 2^SPARE of builds; or chosen by somebody who knows the seed) is
 * refused with SKETCH_BAD_DATA.
 */
#include <math.h>

#include "kernels/carve.h"
#include "kernels/families.h"
#include "kernels/frequency.h"
#include "kernels/recent.h"
#include "kernels/tally.h"
#include "kernels/top.h"

enum { HEAD_SIZE = 33, SPARE = 8 /* levels beyond log2(n / listed) */, CELLS_MAX = 1 << 18 };

struct view {
    enum counter_form form;
    uint64_t seed, n, mass;
    uint32_t levels;
    const uint8_t *tables, *list;
    size_t list_size;
};

/* States and items put together in scratch. */
struct sum {
    const struct sketch_params *params;
    uint64_t seed, n;
    struct mass mass;
    enum counter_form form;
    uint32_t levels, levels_most;
    struct tally tally; /* of the items of level `levels` and deeper */
    uint8_t *tables;    /* levels_most of table_size each */
    size_t table_size;
    struct top *heaps; /* one a level of counters */
    uint8_t *rest;
};

static int univmon_check_params(const struct sketch_params *params, const char **reason)
{
    int rc = frequency_check_params(params, true, reason);
    if (rc == SKETCH_OK && (uint64_t)params->depth * params->width > CELLS_MAX) {
        *reason = "UnivMon's depth * width must be at most 262144 a level";
        rc = SKETCH_BAD_DATA;
    }
    return rc;
}

static size_t cells_of(const struct sketch_params *params)
{
    return (size_t)params->depth * params->width;
}

static uint32_t list_most(const struct sketch_params *params, uint64_t n)
{
    uint64_t most = cells_of(params) / 4;
    return (uint32_t)(n < most ? n : most);
}

/* Most levels of counters that n items may take. */
static uint32_t levels_most(const struct sketch_params *params, uint64_t n)
{
    uint64_t listed = cells_of(params) / 4;
    return n <= listed ? 0 : bits_width(n / listed) + SPARE;
}

static uint32_t level_of(uint64_t hash)
{
    uint64_t drawn = (hash ^ hash >> 29) * UINT64_C(0x9fb21c651e98df25); /* apart from what rows use */
    return drawn ? (uint32_t)__builtin_clzll(drawn) : 64;
}

static size_t univmon_size_bound(const struct sketch_params *params, uint64_t n)
{
    size_t level = cells_of(params) * 8 + (size_t)params->heap * 8;
    return HEAD_SIZE + levels_most(params, n) * level + tally_list_bound(list_most(params, n));
}

static size_t univmon_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    uint32_t levels = levels_most(params, n);
    size_t level = carve_size(cells_of(params) * 8) + 2 * carve_size((uint64_t)params->heap * 8);
    return levels * level + carve_size(levels * sizeof(struct top)) + tally_room(list_most(params, n)) + recent_room() +
           carve_size(k * sizeof(struct counters_table));
}

static struct view view_of(const struct state_ref *s, const struct sketch_params *params)
{
    const uint8_t *b = s->bytes;
    struct view v = {.form = (enum counter_form)b[0],
                     .seed = bits_load_u64(b + 8),
                     .n = bits_load_u64(b + 16),
                     .mass = bits_load_u64(b + 24),
                     .levels = b[32],
                     .tables = b + HEAD_SIZE};
    size_t level = cells_of(params) * counters_cell_size(v.form) + (size_t)params->heap * 8;
    v.list = v.tables + v.levels * level;
    v.list_size = s->size - HEAD_SIZE - v.levels * level;
    return v;
}

/* Level l's counters; its heap lies behind them. */
static const uint8_t *table_of(const struct view *v, const struct sketch_params *params, uint32_t l)
{
    return v->tables + l * (cells_of(params) * counters_cell_size(v->form) + (size_t)params->heap * 8);
}

static bool has_shape(const uint8_t *bytes, const struct sketch_params *params)
{
    return bytes[1] == params->depth && bits_load_u16(bytes + 2) == params->heap &&
           bits_load_u32(bytes + 4) == params->width;
}

/* --- putting together --- */

static void sum_begin(struct sum *s)
{
    const struct sketch_params *p = s->params;
    s->form = counters_form(&s->mass, true);
    s->levels_most = levels_most(p, s->n);
    s->table_size = cells_of(p) * counters_cell_size(s->form);
    s->tables = carve(&s->rest, s->levels_most * s->table_size);
    s->heaps = carve(&s->rest, s->levels_most * sizeof *s->heaps);
    s->tally = tally_new(&s->rest, list_most(p, s->n), false);
}

static uint8_t *table_at(const struct sum *s, uint32_t l)
{
    return s->tables + l * s->table_size;
}

static void table_add(const struct sum *s, uint32_t l, const uint64_t *hashes, const uint64_t *words, size_t n)
{
    counters_add_items(table_at(s, l), s->form, true, s->params->depth, s->params->width, hashes, words, n);
}

/* The list's level gets counters; the items of the next one stay listed. False: no level is left. */
static bool promote(struct sum *s)
{
    struct tally *t = &s->tally;
    uint32_t items = t->n, level = s->levels;
    if (level == s->levels_most)
        return false;
    memset(table_at(s, level), 0, s->table_size);
    s->levels++;
    tally_clear(t);
    for (uint32_t i = 0; i < items; i++) { /* what stays moves down in the same arrays, never past i */
        uint64_t item = t->items[i], word = t->words[i], hash = counters_hash(item, s->seed);
        table_add(s, level, &hash, &word, 1);
        if (level_of(hash) > level)
            tally_add(t, hash, item, word);
    }
    return true;
}

/* An item that levels below `from` have already. */
static bool sum_add(struct sum *s, uint64_t item, uint64_t word, uint32_t from)
{
    uint64_t hash = counters_hash(item, s->seed);
    uint32_t deepest = level_of(hash);
    for (uint32_t l = from; l < s->levels && l <= deepest; l++)
        table_add(s, l, &hash, &word, 1);
    while (deepest >= s->levels && tally_add(&s->tally, hash, item, word) == TALLY_NONE) {
        if (!promote(s))
            return false;
        table_add(s, s->levels - 1, &hash, &word, 1);
    }
    return true;
}

static int sum_heads(struct sum *s, const struct state_ref *src, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        if (!has_shape(src[i].bytes, s->params) || bits_load_u64(src[i].bytes + 8) != bits_load_u64(src[0].bytes + 8))
            return SKETCH_MISMATCH;
        struct mass mass = counters_mass_load(src[i].bytes + 24, false);
        s->n += bits_load_u64(src[i].bytes + 16);
        if (s->n >= COUNTERS_N_END || counters_mass_add(&s->mass, &mass, false) != SKETCH_OK)
            return SKETCH_BAD_DATA;
        s->seed = bits_load_u64(src[i].bytes + 8);
    }
    return SKETCH_OK;
}

/* Level l's counters of all states; `room` is of k. */
static void add_tables(struct sum *s, uint32_t l, const struct state_ref *src, uint32_t k, struct counters_table *room)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i], s->params);
        if (l < v.levels)
            room[n++] = (struct counters_table){table_of(&v, s->params, l), v.form};
    }
    memset(table_at(s, l), 0, s->table_size);
    counters_add_tables(table_at(s, l), s->form, room, n, true, cells_of(s->params));
}

/* k >= 1 states as one sum: counters of the deepest state's levels, then what the lists know of them and of deeper. */
static int sum_states(struct sum *s, const struct state_ref *src, uint32_t k)
{
    int rc = sum_heads(s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    sum_begin(s);
    for (uint32_t i = 0; i < k; i++)
        s->levels = src[i].bytes[32] > s->levels ? src[i].bytes[32] : s->levels;
    struct counters_table *room = carve(&s->rest, k * sizeof *room);
    for (uint32_t l = 0; l < s->levels; l++)
        add_tables(s, l, src, k, room);
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i], s->params);
        struct tally_list list = tally_open(v.list, v.list_size, false, false);
        uint64_t item, word;
        while (tally_next(&list, &item, &word))
            if (!sum_add(s, item, word, v.levels))
                return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

/* --- the heaviest --- */

static double read_item(const struct sum *s, uint32_t l, uint64_t item)
{
    return counters_read_item(table_at(s, l), s->form, true, s->params->depth, s->params->width,
                              counters_hash(item, s->seed));
}

static void heaps_begin(struct sum *s)
{
    for (uint32_t l = 0; l < s->levels; l++) {
        struct top *t = &s->heaps[l];
        *t = (struct top){.most = s->params->heap};
        t->items = carve(&s->rest, (uint64_t)t->most * 8);
        t->estimates = carve(&s->rest, (uint64_t)t->most * 8);
    }
}

static void offer(struct sum *s, uint64_t item, uint32_t from, uint32_t to)
{
    uint32_t deepest = level_of(counters_hash(item, s->seed));
    for (uint32_t l = from; l < s->levels && l <= deepest && l <= to; l++)
        top_offer(&s->heaps[l], item, read_item(s, l, item));
}

/* Offers what the states know by name: to each level its heaps, and the lists of states that have no counters for it
 * (what is listed and heavy in a lower level is in that one's heap). */
static void offer_states(struct sum *s, const struct state_ref *src, uint32_t k)
{
    heaps_begin(s);
    for (uint32_t i = 0; i < k; i++) {
        struct view v = view_of(&src[i], s->params);
        size_t cells = cells_of(s->params) * counters_cell_size(v.form);
        for (uint32_t l = 0; l < v.levels; l++)
            for (uint32_t j = 0; j < s->params->heap; j++)
                offer(s, bits_load_u64(table_of(&v, s->params, l) + cells + 8 * (size_t)j), l, l);
        uint32_t listed = bits_load_u32(v.list);
        for (uint32_t j = 0; j < listed; j++)
            offer(s, bits_load_u64(v.list + 4 + 8 * (size_t)j), v.levels, s->levels);
    }
}

/* --- bytes --- */

static int sum_write(struct sum *s, uint8_t *dst, size_t cap, size_t *ret_size)
{
    size_t heap = (size_t)s->params->heap * 8;
    if (cap < HEAD_SIZE + s->levels * (s->table_size + heap) + tally_list_bound(s->tally.n))
        return SKETCH_NO_ROOM;
    dst[0] = (uint8_t)s->form;
    dst[1] = (uint8_t)s->params->depth;
    bits_store_u16(dst + 2, (uint16_t)s->params->heap);
    bits_store_u32(dst + 4, s->params->width);
    bits_store_u64(dst + 8, s->seed);
    bits_store_u64(dst + 16, s->n);
    counters_mass_store(dst + 24, &s->mass);
    dst[32] = (uint8_t)s->levels;
    uint8_t *p = dst + HEAD_SIZE;
    for (uint32_t l = 0; l < s->levels; l++) {
        memcpy(p, table_at(s, l), s->table_size);
        p += s->table_size;
        top_sort_items(&s->heaps[l]);
        memcpy(p, s->heaps[l].items, heap);
        p += heap;
    }
    *ret_size = (size_t)(tally_write(&s->tally, false, s->seed, p, s->rest) - dst);
    return SKETCH_OK;
}

static int build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, const double *values,
                 const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch)
{
    struct sum s = {.params = params, .seed = seed, .n = n, .rest = scratch};
    const double *weights = items ? items->weights : NULL;
    if (n == 0)
        return SKETCH_BAD_DATA;
    int rc = counters_weigh(weights, n, false, &s.mass);
    if (rc != SKETCH_OK)
        return rc;
    sum_begin(&s);
    struct recent recent = recent_new(&s.rest);
    recent_clear(&recent);
    bool fits = true;
    uint64_t old, word;
    for (uint32_t i = 0; i < n && fits; i++) {
        uint64_t item = frequency_item(values, items, i);
        word = counters_word(weights ? weights[i] : 1, false);
        if (recent_add(&recent, counters_hash(item, seed), item, word, false, &old, &word))
            fits = sum_add(&s, old, word, 0);
    }
    for (uint32_t i = 0; i < RECENT_SLOTS && fits; i++)
        fits = recent.words[i] == RECENT_FREE || sum_add(&s, recent.items[i], recent.words[i], 0);
    if (!fits)
        return SKETCH_BAD_DATA;
    heaps_begin(&s);
    recent_clear(&recent);
    for (uint32_t i = 0; i < n && s.levels > 0; i++) {
        uint64_t item = frequency_item(values, items, i);
        if (!recent_saw(&recent, counters_hash(item, seed), item))
            offer(&s, item, 0, s.levels);
    }
    return sum_write(&s, dst, cap, ret_size);
}

static int univmon_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                         const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    return build(dst, cap, ret_size, params, values, NULL, n, seed, scratch);
}

static int univmon_build_items(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                               const struct sketch_items *items, uint64_t seed, void *scratch)
{
    return build(dst, cap, ret_size, params, NULL, items, items->n, seed, scratch);
}

static int univmon_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                           int64_t end_ms, const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    struct sum s = {.params = params, .rest = scratch};
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = sum_states(&s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    offer_states(&s, src, k);
    return sum_write(&s, dst, cap, ret_size);
}

/* --- readouts --- */

static double read_norm(const struct sum *s)
{
    if (s->levels > 0)
        return counters_norm(table_at(s, 0), s->form, s->params->depth, s->params->width);
    double squares = 0;
    for (uint32_t i = 0; i < s->tally.n; i++)
        squares += (double)s->tally.words[i] * (double)s->tally.words[i];
    return sqrt(squares);
}

static double times_log2(double weight)
{
    return weight > 1 ? weight * log2(weight) : 0;
}

/* Bits: log2 L1 - (sum of w log2 w) / L1. */
static double read_entropy(const struct sum *s)
{
    double sum = 0, l1 = (double)s->mass.whole;
    for (uint32_t i = 0; i < s->tally.n; i++)
        sum += times_log2((double)s->tally.words[i]);
    for (uint32_t l = s->levels; l-- > 0;) {
        const struct top *t = &s->heaps[l];
        sum *= 2;
        for (uint32_t i = 0; i < t->n; i++) {
            bool deeper = level_of(counters_hash(t->items[i], s->seed)) > l;
            sum += (deeper ? -1 : 1) * times_log2(t->estimates[i]);
        }
    }
    double bits = log2(l1) - sum / l1;
    return bits < 0 ? 0 : bits > log2(l1) ? log2(l1) : bits;
}

static int univmon_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                            enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct sum s = {.params = params, .rest = scratch};
    bool is_head = statistic == STATISTIC_L1 || statistic == STATISTIC_COUNT;
    if (!is_head && statistic != STATISTIC_L2 && statistic != STATISTIC_DISTINCT && statistic != STATISTIC_ENTROPY)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    int rc = is_head ? sum_heads(&s, src, k) : sum_states(&s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    if (is_head) {
        *ret = statistic == STATISTIC_L1 ? (double)s.mass.whole : (double)s.n;
    } else if (statistic == STATISTIC_L2) {
        *ret = read_norm(&s);
    } else if (statistic == STATISTIC_DISTINCT) {
        *ret = ldexp(s.tally.n, (int)s.levels);
    } else if (s.mass.whole == 0) {
        return SKETCH_NONE; /* there are no shares of nothing */
    } else {
        offer_states(&s, src, k);
        *ret = read_entropy(&s);
    }
    return SKETCH_OK;
}

static int univmon_top(const struct state_ref *src, uint32_t k, const struct sketch_params *params, uint32_t most,
                       uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    struct sum s = {.params = params, .rest = scratch};
    struct top t = {.items = ret_items, .estimates = ret_estimates, .most = most};
    if (k > 0) {
        int rc = sum_states(&s, src, k);
        if (rc != SKETCH_OK)
            return rc;
        if (s.levels > 0)
            offer_states(&s, src, k);
        for (uint32_t i = 0; s.levels > 0 && i < s.heaps[0].n; i++)
            top_offer(&t, s.heaps[0].items[i], s.heaps[0].estimates[i]);
        for (uint32_t i = 0; s.levels == 0 && i < s.tally.n; i++)
            top_offer(&t, s.tally.items[i], (double)s.tally.words[i]);
        top_sort(&t);
    }
    *ret_n = t.n;
    return SKETCH_OK;
}

/* --- validation --- */

static const char *level_fault(const struct view *v, const struct sketch_params *params, uint32_t l)
{
    const uint8_t *table = table_of(v, params, l);
    size_t row_size = params->width * counters_cell_size(v->form);
    struct mass mass = {.whole = v->mass};
    for (uint32_t r = 0; r < params->depth; r++)
        if (!counters_row_possible(table + r * row_size, v->form, true, params->width, &mass, l == 0))
            return "a row of counters does not add up to the mass";
    const uint8_t *heap = table + params->depth * row_size;
    for (uint32_t i = 0; i < params->heap; i++) {
        uint64_t item = bits_load_u64(heap + 8 * (size_t)i);
        if ((i > 0 && item <= bits_load_u64(heap + 8 * (size_t)i - 8)) || level_of(counters_hash(item, v->seed)) < l)
            return "a level's heaviest items do not rise or belong to a lower level";
    }
    return NULL;
}

static const char *list_fault(const struct view *v, const struct sketch_params *params)
{
    struct mass listed;
    const char *fault = tally_validate(v->list, v->list_size, false, false, list_most(params, v->n), &listed);
    if (fault)
        return fault;
    uint32_t n = bits_load_u32(v->list);
    if (v->levels == 0 ? n == 0 || listed.whole != v->mass : listed.whole > v->mass)
        return "listed weights do not fit the mass";
    for (uint32_t i = 0; i < n && v->levels > 0; i++)
        if (level_of(counters_hash(bits_load_u64(v->list + 4 + 8 * (size_t)i), v->seed)) < v->levels)
            return "a listed item belongs to a lower level";
    return NULL;
}

static int univmon_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    const char *fault = NULL;
    if (n < HEAD_SIZE + 4 || (bytes[0] != COUNTERS_NARROW && bytes[0] != COUNTERS_WIDE))
        fault = "a UnivMon state is cut short or of unknown form";
    else if (!has_shape(bytes, params))
        fault = "a UnivMon state was built with another depth, width or heap";
    else {
        uint64_t samples = bits_load_u64(bytes + 16);
        struct mass mass = counters_mass_load(bytes + 24, false);
        size_t level = cells_of(params) * counters_cell_size((enum counter_form)bytes[0]) + (size_t)params->heap * 8;
        if (samples == 0 || samples >= COUNTERS_N_END || !counters_mass_possible(&mass) ||
            bytes[0] != counters_form(&mass, true)) {
            fault = "a UnivMon state's sample count, mass or form is out of range";
        } else if (bytes[32] > levels_most(params, samples) || (n - HEAD_SIZE - 4) / level < bytes[32]) {
            fault = "a UnivMon state has more levels than fit";
        } else {
            struct view v = view_of(&(struct state_ref){bytes, (uint32_t)n, 0}, params);
            for (uint32_t l = 0; l < v.levels && !fault; l++)
                fault = level_fault(&v, params, l);
            fault = fault ? fault : list_fault(&v, params);
        }
    }
    if (!fault)
        return SKETCH_OK;
    *reason = fault;
    return SKETCH_CORRUPT;
}

static const struct family_readout readouts[] = {
    {STATISTIC_L1, MERGED_EXACT},
    {STATISTIC_L2, MERGED_AS_UNION},
    {STATISTIC_COUNT, MERGED_EXACT},
    {STATISTIC_DISTINCT, MERGED_APPROXIMATE},
    {STATISTIC_ENTROPY, MERGED_APPROXIMATE},
    {STATISTIC_TOPK, MERGED_APPROXIMATE},
};

const struct family_info univmon_family = {
    .family = FAMILY_UNIVMON,
    .name = "univmon",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = sizeof readouts / sizeof readouts[0],
    .check_params = univmon_check_params,
    .size_bound = univmon_size_bound,
    .scratch_bound = univmon_scratch_bound,
    .build = univmon_build,
    .build_items = univmon_build_items,
    .merge_k = univmon_merge_k,
    .estimate = univmon_estimate,
    .top = univmon_top,
    .validate = univmon_validate,
    .flags = frequency_flags,
    .count = frequency_count,
};
