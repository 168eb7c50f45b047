/*
 * KMV: how many distinct items, by the k least of their hashes (Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan:
 * Counting Distinct Elements in a Data Stream, 2002). Fewer than k distinct items are counted exactly.
 *
 *   | off | type   | field                                                       |
 *   |-----|--------|-------------------------------------------------------------|
 *   | 0   | u8     | 1                                                           |
 *   | 1   | u32    | k                                                           |
 *   | 5   | u64    | sketch seed                                                 |
 *   | 13  | u32    | hashes m, 1..k                                              |
 *   | 17  | u64[m] | the least hashes, rising                                    |
 *
 * The state is a function of the set of items: any order, cut or overlap gives the same bytes. The estimate of m = k is
 * (k - 1) / U, U the k-th hash as a share of 2^64: right on average, relative standard error at most 1 / sqrt(k - 2)
 * (Beyer, Haas, Reinwald, Sismanis, Gemulla: On Synopses for Distinct-Value Estimation Under Multiset Operations,
 * 2007).
 */
#include "kernels/carve.h"
#include "kernels/counted.h"
#include "kernels/families.h"
#include "kernels/order.h"

enum { K_MIN = 16, K_MAX = 65536, FORM = 1, HEAD_SIZE = 17 };

/* The k least of the hashes that came, and some that may not be: sorted out when the room is full. */
struct least {
    uint64_t *v, *tmp;
    uint32_t n, settled, k; /* v[0..settled) are sorted, each once */
    uint64_t limit;         /* what is not below is none of them */
};

static int kmv_check_params(const struct sketch_params *params, const char **reason)
{
    if (params->k < K_MIN || params->k > K_MAX) {
        *reason = "KMV's k must be from 16 to 65536";
        return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

static size_t kmv_size_bound(const struct sketch_params *params, uint64_t n)
{
    return HEAD_SIZE + 8 * (size_t)(n < params->k ? n : params->k);
}

static size_t kmv_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    return 2 * carve_size(2 * (uint64_t)params->k * 8) + carve_size(k * sizeof(uint32_t));
}

static struct least least_new(uint32_t k, uint8_t **scratch)
{
    struct least l = {.k = k, .limit = UINT64_MAX};
    l.v = carve(scratch, 2 * (uint64_t)k * 8);
    l.tmp = carve(scratch, 2 * (uint64_t)k * 8);
    return l;
}

/* The least ones, sorted, each once. */
static void least_settle(struct least *l)
{
    uint64_t *fresh = l->v + l->settled, last = UINT64_MAX;
    if (l->n == l->settled)
        return;
    order_sort(fresh, l->n - l->settled, l->tmp);
    order_merge(l->tmp, l->v, l->settled, fresh, l->n - l->settled);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->n && kept < l->k; i++) {
        l->v[kept] = l->tmp[i];
        kept += kept == 0 || l->tmp[i] != last;
        last = l->tmp[i];
    }
    l->n = l->settled = kept;
    if (kept == l->k)
        l->limit = l->v[kept - 1];
}

static inline void least_add(struct least *l, uint64_t hash)
{
    if (hash >= l->limit)
        return;
    l->v[l->n++] = hash;
    if (l->n == 2 * l->k)
        least_settle(l);
}

/* Items, or values when there are none. */
static void least_add_all(struct least *l, const double *values, const struct sketch_items *items, uint32_t n,
                          uint64_t seed)
{
    uint64_t hashes[COUNTERS_BATCH];
    struct counted_batch b = counted_batch(values, items, n);
    for (const uint64_t *item; (item = counted_next(&b));) {
        counters_ops.hashes(hashes, item, b.run, seed);
        for (uint32_t i = 0; i < b.run; i++)
            least_add(l, hashes[i]);
    }
}

static int least_write(struct least *l, uint64_t seed, uint8_t *dst, size_t cap, size_t *ret_size)
{
    least_settle(l);
    size_t size = HEAD_SIZE + (size_t)l->n * 8;
    if (size > cap)
        return SKETCH_NO_ROOM;
    dst[0] = FORM;
    bits_store_u32(dst + 1, l->k);
    bits_store_u64(dst + 5, seed);
    bits_store_u32(dst + 13, l->n);
    memcpy(dst + HEAD_SIZE, l->v, (size_t)l->n * 8);
    *ret_size = size;
    return SKETCH_OK;
}

static int build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, const double *values,
                 const struct sketch_items *items, uint32_t n, uint64_t seed, uint8_t *scratch)
{
    struct least l = least_new(params->k, &scratch);
    if (n == 0)
        return SKETCH_BAD_DATA;
    least_add_all(&l, values, items, n, seed);
    return least_write(&l, seed, dst, cap, ret_size);
}

static int kmv_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    return build(dst, cap, ret_size, params, values, NULL, n, seed, scratch);
}

/* Whatever they weigh: an item that came is there. */
static int kmv_build_items(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                           const struct sketch_items *items, uint64_t seed, void *scratch)
{
    return build(dst, cap, ret_size, params, NULL, items, items->n, seed, scratch);
}

static uint32_t hashes_of(const struct state_ref *s)
{
    return bits_load_u32(s->bytes + 13);
}
static uint64_t hash_of(const struct state_ref *s, uint32_t i)
{
    return bits_load_u64(s->bytes + HEAD_SIZE + 8 * (size_t)i);
}

/* All states' hashes by ranges, upward, until k are found: as hashes are uniform, few but the least are looked at. */
static int unite(struct least *l, const struct state_ref *src, uint32_t k, uint8_t *scratch)
{
    uint32_t *at = carve(&scratch, k * sizeof *at);
    uint64_t greatest = 0;
    for (uint32_t i = 0; i < k; i++) {
        const uint8_t *s = src[i].bytes;
        if (bits_load_u32(s + 1) != l->k || bits_load_u64(s + 5) != bits_load_u64(src[0].bytes + 5))
            return SKETCH_MISMATCH;
        uint64_t last = hash_of(&src[i], hashes_of(&src[i]) - 1);
        greatest = last > greatest ? last : greatest;
        at[i] = 0;
    }
    for (uint32_t range = 1; range <= k && l->n < l->k; range++) {
        uint64_t end = range == k ? greatest : greatest / k * range; /* the last of the range */
        for (uint32_t i = 0; i < k; i++)
            for (uint32_t n = hashes_of(&src[i]); at[i] < n && hash_of(&src[i], at[i]) <= end; at[i]++)
                least_add(l, hash_of(&src[i], at[i]));
        least_settle(l);
    }
    return SKETCH_OK;
}

static int kmv_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    uint8_t *rest = scratch;
    struct least l = least_new(params->k, &rest);
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = unite(&l, src, k, rest);
    return rc != SKETCH_OK ? rc : least_write(&l, bits_load_u64(src[0].bytes + 5), dst, cap, ret_size);
}

static int kmv_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    uint8_t *rest = scratch;
    struct least l = least_new(params->k, &rest);
    if (statistic != STATISTIC_DISTINCT)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    int rc = unite(&l, src, k, rest);
    if (rc != SKETCH_OK)
        return rc;
    *ret = l.n < l.k ? l.n : (l.k - 1) / (((double)l.v[l.k - 1] + 1) * 0x1p-64);
    return SKETCH_OK;
}

static int kmv_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    const char *fault = NULL;
    if (n < HEAD_SIZE || bytes[0] != FORM) {
        fault = "a KMV state is cut short or of unknown form";
    } else if (bits_load_u32(bytes + 1) != params->k) {
        fault = "a KMV state was built with another k";
    } else {
        uint32_t m = bits_load_u32(bytes + 13);
        if (m < 1 || m > params->k || n != HEAD_SIZE + (size_t)m * 8)
            fault = "a KMV state's size does not fit its number of hashes";
        for (uint32_t i = 1; !fault && i < m; i++)
            if (bits_load_u64(bytes + HEAD_SIZE + 8 * (size_t)(i - 1)) >=
                bits_load_u64(bytes + HEAD_SIZE + 8 * (size_t)i))
                fault = "a KMV state's hashes do not rise";
    }
    if (!fault)
        return SKETCH_OK;
    *reason = fault;
    return SKETCH_CORRUPT;
}

static uint32_t kmv_flags(const uint8_t *bytes, size_t n)
{
    return 0;
}

static uint64_t kmv_count(const uint8_t *bytes, size_t n)
{
    return 0;
}

static const struct family_readout readouts[] = {{STATISTIC_DISTINCT, MERGED_AS_UNION}};

const struct family_info kmv_family = {
    .family = FAMILY_KMV,
    .name = "kmv",
    .merge = MERGE_MAY_OVERLAP,
    .readouts = readouts,
    .readouts_n = sizeof readouts / sizeof readouts[0],
    .check_params = kmv_check_params,
    .size_bound = kmv_size_bound,
    .scratch_bound = kmv_scratch_bound,
    .build = kmv_build,
    .build_items = kmv_build_items,
    .merge_k = kmv_merge_k,
    .estimate = kmv_estimate,
    .validate = kmv_validate,
    .flags = kmv_flags,
    .count = kmv_count,
};
