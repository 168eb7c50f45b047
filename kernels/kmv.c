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
#include "kernels/counters.h"
#include "kernels/families.h"
#include "kernels/order.h"

enum { K_MIN = 16, K_MAX = 65536, FORM = 1, HEAD_SIZE = 17 };

/* The k least of the hashes that came, and some that may not be: sorted out when the room is full. */
struct least {
    uint64_t *v, *tmp;
    uint32_t n, k;
    uint64_t limit; /* what is not below is none of them */
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
    return 2 * carve_size(2 * (uint64_t)params->k * 8);
}

static struct least least_new(uint32_t k, void *scratch)
{
    uint8_t *rest = scratch;
    struct least l = {.k = k, .limit = UINT64_MAX};
    l.v = carve(&rest, 2 * (uint64_t)k * 8);
    l.tmp = carve(&rest, 2 * (uint64_t)k * 8);
    return l;
}

/* The least ones, sorted, each once. */
static void least_settle(struct least *l)
{
    order_sort(l->v, l->n, l->tmp);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->n && kept < l->k; i++)
        if (kept == 0 || l->v[i] != l->v[kept - 1])
            l->v[kept++] = l->v[i];
    l->n = kept;
    if (kept == l->k)
        l->limit = l->v[kept - 1];
}

/* False: neither this hash nor a greater one is among them. */
static inline bool least_add(struct least *l, uint64_t hash)
{
    if (hash >= l->limit)
        return false;
    l->v[l->n++] = hash;
    if (l->n == 2 * l->k)
        least_settle(l);
    return true;
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

static int kmv_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    struct least l = least_new(params->k, scratch);
    if (n == 0)
        return SKETCH_BAD_DATA;
    for (uint32_t i = 0; i < n; i++)
        least_add(&l, counters_hash(bits_item(values[i]), seed));
    return least_write(&l, seed, dst, cap, ret_size);
}

/* Whatever they weigh: an item that came is there. */
static int kmv_build_items(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                           const struct sketch_items *items, uint64_t seed, void *scratch)
{
    struct least l = least_new(params->k, scratch);
    if (items->n == 0)
        return SKETCH_BAD_DATA;
    for (uint32_t i = 0; i < items->n; i++)
        least_add(&l, counters_hash(items->keys[i], seed));
    return least_write(&l, seed, dst, cap, ret_size);
}

static int unite(struct least *l, const struct state_ref *src, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        const uint8_t *s = src[i].bytes;
        if (bits_load_u32(s + 1) != l->k || bits_load_u64(s + 5) != bits_load_u64(src[0].bytes + 5))
            return SKETCH_MISMATCH;
        uint32_t m = bits_load_u32(s + 13);
        for (uint32_t j = 0; j < m && least_add(l, bits_load_u64(s + HEAD_SIZE + 8 * (size_t)j)); j++)
            ;
    }
    return SKETCH_OK;
}

static int kmv_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    struct least l = least_new(params->k, scratch);
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = unite(&l, src, k);
    return rc != SKETCH_OK ? rc : least_write(&l, bits_load_u64(src[0].bytes + 5), dst, cap, ret_size);
}

static int kmv_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct least l = least_new(params->k, scratch);
    if (statistic != STATISTIC_DISTINCT)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    int rc = unite(&l, src, k);
    if (rc != SKETCH_OK)
        return rc;
    least_settle(&l);
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
