/*
 * DISTINCT_SET: each value of the window once, for how many there are, without error. A state is a quantile pane
 * (kernels/qpane.h; forms 0, 1, 2 and 4 as in kernels/values.c) of the set of samples, largest first, NaN last; -0 is
 * +0 and all NaNs are one (sketch_key). So the bytes are a function of the set alone: any order, cut or overlap of the
 * samples gives the same ones, never more than 1 + 8n.
 *
 * NaN and infinite samples are values like others, so `flags` reports nothing. The number of samples is not kept:
 * `count` is that of the values. No build_items: a pane holds doubles, and an item may be any bits.
 */
#include "kernels/carve.h"
#include "kernels/families.h"
#include "kernels/fixed.h"
#include "kernels/order.h"
#include "kernels/qpane.h"

static size_t distinct_size_bound(const struct sketch_params *params, uint64_t n)
{
    return 1 + (size_t)(n < UINT32_MAX ? n : UINT32_MAX) * 8;
}

static size_t distinct_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    return qpane_keys_scratch(n, k) + qpane_write_scratch(n);
}

/* The key of -0 stands just behind that of +0, so sorted keys stay sorted. */
static inline uint64_t key_of_value(uint64_t key)
{
    const uint64_t plus_zero = order_key_of_bits(0);
    return key - (key == plus_zero + 1);
}

/* Sorted keys of samples become those of their values, each once. Returns how many. */
static uint64_t keep_values(uint64_t *keys, uint64_t n)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = key_of_value(keys[i]);
        keys[kept] = key; /* no branch: repeats are unforeseeable */
        kept += i + 1 == n || key_of_value(keys[i + 1]) != key;
    }
    return kept;
}

static int distinct_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                          int64_t end_ms, const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed,
                          void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    uint8_t *rest = scratch;
    uint64_t *keys = qpane_sort(values, n, &rest);
    return qpane_write(dst, cap, ret_size, keys, keep_values(keys, n), rest);
}

static int distinct_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                            int64_t end_ms, const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    uint8_t *rest = scratch;
    uint64_t *keys, n;
    int rc = qpane_unite(src, k, &rest, &keys, &n);
    return rc != SKETCH_OK ? rc : qpane_write(dst, cap, ret_size, keys, keep_values(keys, n), rest);
}

static int distinct_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                             enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_DISTINCT)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    if (k == 1) {
        *ret = (double)qpane_count(src[0].bytes, src[0].size);
        return SKETCH_OK;
    }
    uint8_t *rest = scratch;
    uint64_t *keys, n;
    int rc = qpane_unite(src, k, &rest, &keys, &n);
    if (rc == SKETCH_OK)
        *ret = (double)keep_values(keys, n);
    return rc;
}

static int distinct_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    return qpane_validate_set(bytes, n, reason);
}

static uint32_t distinct_flags(const uint8_t *bytes, size_t n)
{
    return 0;
}

static const struct family_readout readouts[] = {{STATISTIC_DISTINCT, MERGED_EXACT}};

const struct family_info distinct_set_family = {
    .family = FAMILY_DISTINCT_SET,
    .name = "distinct_set",
    .merge = MERGE_MAY_OVERLAP,
    .readouts = readouts,
    .readouts_n = sizeof readouts / sizeof readouts[0],
    .check_params = fixed_check_params,
    .size_bound = distinct_size_bound,
    .scratch_bound = distinct_scratch_bound,
    .build = distinct_build,
    .merge_k = distinct_merge_k,
    .estimate = distinct_estimate,
    .validate = distinct_validate,
    .flags = distinct_flags,
    .count = qpane_count,
};
