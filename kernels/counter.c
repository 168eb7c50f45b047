/*
 * The counter state: what rate(), increase(), delta(), irate(), idelta(), changes(), resets(), first and last need of a
 * window's samples, joined over panes with nothing lost on the seams.
 *
 *   off  type  field (times in ms from the window's end, in (-24 days, 0])
 *     0  i32   first_dt     16  f64  first      48  u32  resets   samples below the one before
 *     4  i32   prev_dt      24  f64  prev       52  u32  changes  samples unlike the one before
 *     8  i32   last_dt      32  f64  last
 *    12  u32   n >= 1       40  f64  reset_sum  of the samples just before each reset
 *
 * prev is the sample before the last; of one sample it is that sample. Two NaNs are alike, as in Prometheus' changes(),
 * and a NaN is neither below nor above anything: the same arithmetic here and there, so NaNs among the samples need no
 * special case. The values keep their bits; reset_sum's NaN is the one NaN of kernels/bits.h, and without resets it
 * is +0.
 *
 * States are joined by their first samples' times. A sample of the next pane below the last of this one is a reset, and
 * unlike it is a change. Panes that overlap in time are refused: they would count samples twice.
 */
#include "kernels/counter.h"
#include "kernels/families.h"
#include "kernels/fixed.h"

enum { COUNTER_BYTES = 56 };

/* A window is at most this wide, so that times fit an i32. */
#define COUNTER_SPAN_MS (INT64_C(24) * 86400 * 1000)

static inline bool counter_unlike(double a, double b)
{
    return (a != b) & !((a != a) & (b != b));
}

/* False unless the times fit a state of the window that ends at end_ms. */
static bool counter_store(uint8_t *dst, const struct counter *c, int64_t end_ms)
{
    if (c->last_ms > end_ms || end_ms - c->first_ms >= COUNTER_SPAN_MS || c->n > UINT32_MAX)
        return false;
    bits_store_i32(dst, (int32_t)(c->first_ms - end_ms));
    bits_store_i32(dst + 4, (int32_t)(c->prev_ms - end_ms));
    bits_store_i32(dst + 8, (int32_t)(c->last_ms - end_ms));
    bits_store_u32(dst + 12, (uint32_t)c->n);
    bits_store_f64(dst + 16, c->first);
    bits_store_f64(dst + 24, c->prev);
    bits_store_f64(dst + 32, c->last);
    bits_store_f64(dst + 40, bits_one_nan(c->reset_sum));
    bits_store_u32(dst + 48, (uint32_t)c->resets);
    bits_store_u32(dst + 52, (uint32_t)c->changes);
    return true;
}

static struct counter counter_load(const uint8_t *bytes, int64_t end_ms)
{
    return (struct counter){
        .first_ms = end_ms + bits_load_i32(bytes),
        .prev_ms = end_ms + bits_load_i32(bytes + 4),
        .last_ms = end_ms + bits_load_i32(bytes + 8),
        .n = bits_load_u32(bytes + 12),
        .first = bits_load_f64(bytes + 16),
        .prev = bits_load_f64(bytes + 24),
        .last = bits_load_f64(bytes + 32),
        .reset_sum = bits_load_f64(bytes + 40),
        .resets = bits_load_u32(bytes + 48),
        .changes = bits_load_u32(bytes + 52),
    };
}

static size_t counter_size_bound(const struct sketch_params *params, uint64_t n)
{
    return COUNTER_BYTES;
}

static void counter_scan(struct counter *c, const double *values, uint32_t n)
{
    uint32_t resets = 0, changes = 0;
    double reset_sum = 0, prev = values[0];
    for (uint32_t i = 1; i < n; i++) {
        double v = values[i];
        changes += counter_unlike(v, prev);
        if (v < prev) {
            resets++;
            reset_sum += prev;
        }
        prev = v;
    }
    c->resets = resets;
    c->changes = changes;
    c->reset_sum = reset_sum;
}

static int counter_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                         const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    if (cap < COUNTER_BYTES)
        return SKETCH_NO_ROOM;
    const uint32_t prev = n == 1 ? 0 : n - 2;
    struct counter c = {.first_ms = times_ms[0],
                        .prev_ms = times_ms[prev],
                        .last_ms = times_ms[n - 1],
                        .n = n,
                        .first = values[0],
                        .prev = values[prev],
                        .last = values[n - 1]};
    if (!fixed_time_possible(end_ms) || !fixed_time_possible(c.first_ms))
        return SKETCH_BAD_DATA;
    /* The contract is times that rise at every sample; this much keeps any state that is built valid. */
    if (c.last_ms > end_ms || c.prev_ms > c.last_ms - (n > 1) || c.first_ms > c.prev_ms ||
        c.prev_ms - c.first_ms < (int64_t)n - 2)
        return SKETCH_BAD_DATA;
    counter_scan(&c, values, n);
    if (!counter_store(dst, &c, end_ms))
        return SKETCH_BAD_DATA;
    *ret_size = COUNTER_BYTES;
    return SKETCH_OK;
}

/* Appends the samples behind `next`; false when they do not all come later. */
static bool counter_join(struct counter *c, const struct counter *next)
{
    if (c->n == 0) {
        *c = *next;
        return true;
    }
    if (next->first_ms <= c->last_ms)
        return false;
    c->changes += next->changes + counter_unlike(next->first, c->last);
    c->resets += next->resets;
    if (next->first < c->last) {
        c->resets++;
        c->reset_sum += c->last;
    }
    if (next->resets)
        c->reset_sum += next->reset_sum;
    c->prev_ms = next->n > 1 ? next->prev_ms : c->last_ms;
    c->prev = next->n > 1 ? next->prev : c->last;
    c->last_ms = next->last_ms;
    c->last = next->last;
    c->n += next->n;
    return true;
}

static int counter_join_all(const struct state_ref *src, uint32_t k, void *scratch, struct counter *ret)
{
    const uint32_t *order;
    int rc = fixed_order(src, k, COUNTER_BYTES, FIXED_BY_FIRST, scratch, &order);
    if (rc != SKETCH_OK)
        return rc;
    *ret = (struct counter){.n = 0};
    for (uint32_t i = 0; i < k; i++) {
        const struct state_ref *s = fixed_at(src, order, i);
        struct counter next = counter_load(s->bytes, s->end_ms);
        if (next.n == 0)
            return SKETCH_CORRUPT;
        if (!counter_join(ret, &next))
            return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

static int counter_merge(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                         const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    if (k == 0 || !fixed_time_possible(end_ms))
        return SKETCH_BAD_DATA;
    if (cap < COUNTER_BYTES)
        return SKETCH_NO_ROOM;
    struct counter c;
    int rc = counter_join_all(src, k, scratch, &c);
    if (rc != SKETCH_OK)
        return rc;
    if (!counter_store(dst, &c, end_ms))
        return SKETCH_BAD_DATA;
    *ret_size = COUNTER_BYTES;
    return SKETCH_OK;
}

static int counter_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                            enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (k == 0)
        return SKETCH_NONE;
    struct counter c;
    int rc = counter_join_all(src, k, scratch, &c);
    return rc == SKETCH_OK ? counter_read(&c, statistic, args, ret) : rc;
}

static bool same_bits(const uint8_t *a, const uint8_t *b)
{
    return bits_load_u64(a) == bits_load_u64(b);
}

/* What one or two samples leave no freedom in. */
static bool few_samples_agree(const uint8_t *bytes, const struct counter *c)
{
    if (c->n > 2)
        return true;
    if (c->prev_ms != c->first_ms || !same_bits(bytes + 16, bytes + 24))
        return false;
    if (c->n == 1)
        return c->last_ms == c->first_ms && same_bits(bytes + 16, bytes + 32) && c->changes == 0;
    bool reset = c->last < c->first;
    return c->changes == counter_unlike(c->first, c->last) && c->resets == reset &&
           (!reset || c->reset_sum == c->first);
}

static int counter_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    if (n != COUNTER_BYTES)
        return fixed_corrupt(reason, "a counter state has 56 bytes");
    struct counter c = counter_load(bytes, 0);
    if (c.n == 0)
        return fixed_corrupt(reason, "a counter state has no samples");
    if (c.last_ms > 0 || c.first_ms <= -COUNTER_SPAN_MS)
        return fixed_corrupt(reason, "a counter state's times are outside its window");
    if (c.first_ms > c.prev_ms || c.prev_ms > c.last_ms - (c.n > 1) || c.prev_ms - c.first_ms < (int64_t)c.n - 2)
        return fixed_corrupt(reason, "a counter state's times do not rise");
    if (c.resets > c.changes || c.changes > c.n - 1)
        return fixed_corrupt(reason, "a counter state has more resets or changes than steps");
    if (c.resets == 0 && bits_load_u64(bytes + 40) != 0)
        return fixed_corrupt(reason, "a counter state without resets has a reset sum");
    if (c.reset_sum != c.reset_sum && bits_load_u64(bytes + 40) != BITS_NAN)
        return fixed_corrupt(reason, "a counter state's reset sum is not the one NaN");
    if (!few_samples_agree(bytes, &c))
        return fixed_corrupt(reason, "a counter state's fields contradict each other");
    return SKETCH_OK;
}

static uint32_t counter_flags(const uint8_t *bytes, size_t n)
{
    struct counter c = counter_load(bytes, 0);
    bool finite =
        bits_is_finite(c.first) && bits_is_finite(c.prev) && bits_is_finite(c.last) && bits_is_finite(c.reset_sum);
    return finite ? 0 : STATE_NONFINITE;
}

static uint64_t counter_count(const uint8_t *bytes, size_t n)
{
    return bits_load_u32(bytes + 12);
}

static const struct family_readout counter_readouts[] = {
    {STATISTIC_RATE, MERGED_EXACT},   {STATISTIC_INCREASE, MERGED_EXACT}, {STATISTIC_DELTA, MERGED_EXACT},
    {STATISTIC_IRATE, MERGED_EXACT},  {STATISTIC_IDELTA, MERGED_EXACT},   {STATISTIC_CHANGES, MERGED_EXACT},
    {STATISTIC_RESETS, MERGED_EXACT}, {STATISTIC_FIRST, MERGED_EXACT},    {STATISTIC_LAST, MERGED_EXACT},
    {STATISTIC_COUNT, MERGED_EXACT},
};

const struct family_info counter_family = {
    .family = FAMILY_COUNTER,
    .name = "counter",
    .merge = MERGE_DISJOINT_TIME,
    .time_ordered = true,
    .fixed_size = COUNTER_BYTES,
    .readouts = counter_readouts,
    .readouts_n = sizeof counter_readouts / sizeof *counter_readouts,
    .check_params = fixed_check_params,
    .size_bound = counter_size_bound,
    .scratch_bound = fixed_scratch_bound,
    .build = counter_build,
    .merge_k = counter_merge,
    .estimate = counter_estimate,
    .validate = counter_validate,
    .flags = counter_flags,
    .count = counter_count,
};
