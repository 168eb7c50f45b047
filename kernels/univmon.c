#include "kernels/univmon.h"

#include <math.h>

#include "kernels/carve.h"
#include "kernels/families.h"
#include "kernels/fixed.h"
#include "kernels/frequency.h"
#include "kernels/recent.h"

enum { CELLS_MAX = 1 << 18, ALL = UINT16_MAX /* levels */ };

static int univmon_check_params(const struct sketch_params *params, const char **reason)
{
    int rc = frequency_check_heap(params, reason);
    if (rc == SKETCH_OK && (uint64_t)params->depth * params->width > CELLS_MAX) {
        *reason = "UnivMon's depth * width must be at most 262144 a level";
        rc = SKETCH_BAD_DATA;
    }
    return rc;
}

static size_t univmon_size_bound(const struct sketch_params *params, uint64_t n)
{
    size_t level = univmon_cells(params) * 8 + (size_t)params->heap * 8;
    return UNIVMON_HEAD_SIZE + univmon_levels_most(params, n) * level + tally_list_bound(univmon_list_most(params, n));
}

static size_t univmon_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    return univmon_sum_room(params, n, k) + recent_room();
}

/* --- bytes --- */

static int sum_write(struct univmon_sum *s, uint8_t *dst, size_t cap, size_t *ret_size)
{
    size_t heap = (size_t)s->params->heap * 8;
    if (cap < UNIVMON_HEAD_SIZE + s->levels * (s->table_size + heap) + tally_list_bound(s->tally.n))
        return SKETCH_NO_ROOM;
    uint8_t *p = counted_store(dst, (uint8_t)s->form, &s->shape, &s->total);
    *p++ = (uint8_t)s->levels;
    for (uint32_t l = 0; l < s->levels; l++) {
        memcpy(p, univmon_counters(s, l), s->table_size);
        p += s->table_size;
        top_sort_items(&s->heaps[l]);
        memcpy(p, s->heaps[l].items, heap);
        p += heap;
    }
    *ret_size = (size_t)(tally_write(&s->tally, false, s->total.seed, p, s->rest) - dst);
    return SKETCH_OK;
}

/* Repeats of a moment ago are added up before they reach the sum. */
static int add_samples(struct univmon_sum *s, struct recent *recent, const double *values,
                       const struct sketch_items *items, uint32_t n)
{
    const double *weights = items ? items->weights : NULL;
    uint64_t run[UNIVMON_BATCH], words[UNIVMON_BATCH];
    uint32_t run_n = 0;
    int rc = SKETCH_OK;
    recent_clear(recent);
    for (uint32_t i = 0; i < n && rc == SKETCH_OK; i++) {
        uint64_t item = frequency_item(values, items, i), word = counters_word(weights ? weights[i] : 1, false);
        if (!recent_add(recent, counters_hash(item, s->total.seed), item, word, false, &run[run_n], &words[run_n]))
            continue;
        if (++run_n == UNIVMON_BATCH) {
            rc = univmon_sum_add(s, run, words, run_n, 0);
            run_n = 0;
        }
    }
    for (uint32_t i = 0; i < RECENT_SLOTS && rc == SKETCH_OK; i++) {
        if (recent->words[i] == RECENT_FREE)
            continue;
        run[run_n] = recent->items[i];
        words[run_n] = recent->words[i];
        if (++run_n == UNIVMON_BATCH) {
            rc = univmon_sum_add(s, run, words, run_n, 0);
            run_n = 0;
        }
    }
    return rc == SKETCH_OK ? univmon_sum_add(s, run, words, run_n, 0) : rc;
}

static void offer_samples(struct univmon_sum *s, struct recent *recent, const double *values,
                          const struct sketch_items *items, uint32_t n)
{
    uint64_t run[UNIVMON_BATCH];
    uint32_t run_n = 0;
    recent_clear(recent);
    univmon_heaps_begin(s);
    for (uint32_t i = 0; i < n && s->levels > 0; i++) {
        uint64_t item = frequency_item(values, items, i);
        if (recent_saw(recent, counters_hash(item, s->total.seed), item))
            continue;
        run[run_n] = item;
        if (++run_n == UNIVMON_BATCH) {
            univmon_offer(s, run, run_n, 0, s->levels);
            run_n = 0;
        }
    }
    univmon_offer(s, run, run_n, 0, s->levels);
}

static int build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, const double *values,
                 const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch)
{
    struct univmon_sum s = univmon_sum_new(params, ALL, true, scratch);
    if (n == 0)
        return SKETCH_BAD_DATA;
    int rc = counters_weigh(items ? items->weights : NULL, n, false, &s.total.mass);
    if (rc != SKETCH_OK)
        return rc;
    s.total.n = n;
    s.total.seed = seed;
    univmon_sum_begin(&s);
    struct recent recent = recent_new(&s.rest);
    rc = add_samples(&s, &recent, values, items, n);
    if (rc != SKETCH_OK)
        return rc;
    offer_samples(&s, &recent, values, items, n);
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
    struct univmon_sum s = univmon_sum_new(params, ALL, true, scratch);
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = univmon_sum_states(&s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    univmon_offer_states(&s, src, k);
    return sum_write(&s, dst, cap, ret_size);
}

/* --- readouts --- */

static double read_norm(const struct univmon_sum *s)
{
    if (s->levels > 0)
        return counters_norm(univmon_counters(s, 0), s->form, s->params->depth, s->params->width);
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
static double read_entropy(const struct univmon_sum *s)
{
    double sum = 0, l1 = (double)s->total.mass.whole;
    for (uint32_t i = 0; i < s->tally.n; i++)
        sum += times_log2((double)s->tally.words[i]);
    for (uint32_t l = s->levels; l-- > 0;) {
        const struct top *t = &s->heaps[l];
        sum *= 2;
        for (uint32_t i = 0; i < t->n; i++) {
            bool deeper = univmon_level(counters_hash(t->items[i], s->total.seed)) > l;
            sum += (deeper ? -1 : 1) * times_log2(t->estimates[i]);
        }
    }
    double bits = log2(l1) - sum / l1;
    return bits < 0 ? 0 : bits > log2(l1) ? log2(l1) : bits;
}

/* Each touches only what it reads: heads; the first level's counters; lists; everything. */
static int univmon_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                            enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    bool is_head = statistic == STATISTIC_L1 || statistic == STATISTIC_COUNT, is_norm = statistic == STATISTIC_L2;
    if (!is_head && !is_norm && statistic != STATISTIC_DISTINCT && statistic != STATISTIC_ENTROPY)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    uint32_t kept = is_norm ? 1 : statistic == STATISTIC_ENTROPY ? ALL : 0;
    struct univmon_sum s = univmon_sum_new(params, kept, !is_norm, scratch);
    int rc = is_head ? counted_heads(&s.total, src, k, &s.shape) : univmon_sum_states(&s, src, k);
    if (rc != SKETCH_OK)
        return rc;
    if (is_head) {
        *ret = statistic == STATISTIC_L1 ? (double)s.total.mass.whole : (double)s.total.n;
    } else if (is_norm) {
        *ret = read_norm(&s);
    } else if (statistic == STATISTIC_DISTINCT) {
        *ret = ldexp(s.tally.n, (int)s.levels);
    } else if (s.total.mass.whole == 0) {
        return SKETCH_NONE; /* there are no shares of nothing */
    } else {
        univmon_offer_states(&s, src, k);
        *ret = read_entropy(&s);
    }
    return SKETCH_OK;
}

static int univmon_top(const struct state_ref *src, uint32_t k, const struct sketch_params *params, uint32_t most,
                       uint64_t *ret_items, double *ret_estimates, uint32_t *ret_n, void *scratch)
{
    struct univmon_sum s = univmon_sum_new(params, 1, false, scratch);
    struct top t = {.items = ret_items, .estimates = ret_estimates, .most = most};
    if (k > 0) {
        int rc = univmon_sum_states(&s, src, k);
        if (rc != SKETCH_OK)
            return rc;
        if (s.levels > 0)
            univmon_offer_states(&s, src, k);
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

static const char *level_fault(const struct univmon_view *v, const struct sketch_params *params, uint32_t l)
{
    const uint8_t *table = univmon_table(v, params, l);
    size_t row_size = params->width * counters_cell_size(v->form);
    struct mass mass = {.whole = v->mass};
    for (uint32_t r = 0; r < params->depth; r++)
        if (!counters_row_possible(table + r * row_size, v->form, true, params->width, &mass, l == 0))
            return "a row of counters does not add up to the mass";
    const uint8_t *heap = table + params->depth * row_size;
    for (uint32_t i = 0; i < params->heap; i++) {
        uint64_t item = bits_load_u64(heap + 8 * (size_t)i);
        if ((i > 0 && item <= bits_load_u64(heap + 8 * (size_t)i - 8)) ||
            univmon_level(counters_hash(item, v->seed)) < l)
            return "a level's heaviest items do not rise or belong to a lower level";
    }
    return NULL;
}

static const char *list_fault(const struct univmon_view *v, const struct sketch_params *params)
{
    struct mass listed;
    const char *fault = tally_validate(v->list, v->list_size, false, false, univmon_list_most(params, v->n), &listed);
    if (fault)
        return fault;
    uint32_t n = bits_load_u32(v->list);
    if (v->levels == 0 ? n == 0 || listed.whole != v->mass : listed.whole > v->mass)
        return "listed weights do not fit the mass";
    for (uint32_t i = 0; i < n && v->levels > 0; i++)
        if (univmon_level(counters_hash(bits_load_u64(v->list + 4 + 8 * (size_t)i), v->seed)) < v->levels)
            return "a listed item belongs to a lower level";
    return NULL;
}

static int univmon_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    struct counted_shape shape = counted_shape(params, false);
    const char *fault = counted_head_fault(bytes, n, &shape, COUNTERS_WIDE);
    if (!fault) {
        uint64_t samples = bits_load_u64(bytes + 16);
        struct mass mass = counters_mass_load(bytes + 24, false);
        size_t level =
            univmon_cells(params) * counters_cell_size((enum counter_form)bytes[0]) + (size_t)params->heap * 8;
        if (bytes[0] != counters_form(&mass, true))
            fault = "counters are wider or narrower than their mass";
        else if (n < UNIVMON_HEAD_SIZE + 4 || bytes[32] > univmon_levels_most(params, samples) ||
                 (n - UNIVMON_HEAD_SIZE - 4) / level < bytes[32])
            fault = "a UnivMon state has more levels than fit";
    }
    if (!fault) {
        struct univmon_view v = univmon_view(&(struct state_ref){bytes, (uint32_t)n, 0}, params);
        for (uint32_t l = 0; l < v.levels && !fault; l++)
            fault = level_fault(&v, params, l);
        fault = fault ? fault : list_fault(&v, params);
    }
    return fault ? fixed_corrupt(reason, fault) : SKETCH_OK;
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
