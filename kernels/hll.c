/*
 * HLL: how many distinct values or items, by HyperLogLog with 2^p registers.
 *
 *   form 1, sparse: at most 2^p / 4 registers are not zero
 *     | 0 | u8     | 1 + 8 p                                                                     |
 *     | 1 | u8     | low byte of the hash seed's XXH3                                            |
 *     | 2 | varint | first coupon, then steps upward (each >= 1); a coupon is index << 6 | rho   |
 *   form 2, dense: more registers
 *     | 0 | u8     | 2 + 8 p                                                                     |
 *     | 1 | u8     | low byte of the hash seed's XXH3                                            |
 *     | 2 | u8[2^p]| registers                                                                   |
 *
 * An item's hash is XXH3-64 with the sketch seed over its 8 little-endian bytes; a value's item is sketch_key. The top
 * p bits are the index, rho is one more than the zeros that lead the rest (1..65-p). The registers are the maximum of
 * rho by index, and the form follows from the registers alone: any order and any split of the samples, and any merge of
 * overlapping states, give the same bytes. The estimator is Ertl's improved one (New cardinality estimation algorithms
 * for HyperLogLog sketches, 2017, section 4): one formula from 0 to billions, no bias table, no switch.
 */
#include <math.h>
#include <xxhash.h>

#include "kernels/bits.h"
#include "kernels/carve.h"
#include "kernels/families.h"
#include "kernels/hll_loops.h"
#include "kernels/hllsparse.h"

enum { P_MIN = 4, P_MAX = 18, SPARSE = 1, DENSE = 2, FORM_MASK = 7, HEAD_SIZE = 2, BATCH = 256 };
enum { RAISE_MOST = 6 }; /* arrays read side by side: as many as a machine prefetches well */

static int hll_check_params(const struct sketch_params *params, const char **reason)
{
    if (params->p < P_MIN || params->p > P_MAX) {
        *reason = "HLL's p must be from 4 to 18";
        return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

static uint32_t sparse_most(uint32_t p)
{
    return (1u << p) / 4;
}

static size_t hll_size_bound(const struct sketch_params *params, uint64_t n)
{
    uint64_t coupons = n < sparse_most(params->p) ? n : sparse_most(params->p);
    uint64_t sparse = coupons * 4, dense = UINT64_C(1) << params->p; /* a coupon has at most 24 bits: 4 bytes */
    return HEAD_SIZE + (size_t)(n > sparse_most(params->p) && dense > sparse ? dense : sparse);
}

static uint8_t seed_mark(uint64_t seed)
{
    return (uint8_t)XXH3_64bits(&seed, sizeof seed);
}

static inline uint32_t coupon_of(uint64_t item, uint64_t flip, uint32_t p)
{
    uint64_t hash = hash8(item, flip);
    uint32_t rho = (uint32_t)__builtin_clzll(hash << p | UINT64_C(1) << (p - 1)) + 1;
    return (uint32_t)(hash >> (64 - p)) << HLL_RHO_BITS | rho;
}

size_t hll_coupons_scalar(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed, uint32_t above)
{
    const uint64_t flip = hash8_flip(seed);
    size_t some = 0;
    for (size_t i = 0; i < n; i++) {
        ret[some] = coupon_of(bits_item(values[i]), flip, p);
        some += (ret[some] & HLL_RHO_MASK) > above;
    }
    return some;
}

size_t hll_item_coupons_scalar(uint32_t *ret, const uint64_t *items, size_t n, uint32_t p, uint64_t seed,
                               uint32_t above)
{
    const uint64_t flip = hash8_flip(seed);
    size_t some = 0;
    for (size_t i = 0; i < n; i++) {
        ret[some] = coupon_of(items[i], flip, p);
        some += (ret[some] & HLL_RHO_MASK) > above;
    }
    return some;
}

size_t hll_used_scalar(uint64_t *ret_used, const uint8_t *registers, size_t m)
{
    size_t many = 0;
    for (size_t i = 0; i < m; i += 64) {
        uint64_t used = 0;
        for (size_t j = 0; j < 64 && i + j < m; j += 8) { /* registers are below 128 */
            uint64_t some = (bits_load_u64(registers + i + j) + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7;
            some = (some & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56;
            used |= some << j;
        }
        ret_used[i / 64] = used;
        many += (size_t)__builtin_popcountll(used);
    }
    return many;
}

void hll_raise_scalar(uint8_t *registers, const uint8_t *const *src, uint32_t src_n, size_t m)
{
    for (uint32_t j = 0; j < src_n; j++) {
        uint8_t *restrict to = registers;
        const uint8_t *restrict from = src[j];
        for (size_t i = 0; i < m; i++)
            to[i] = from[i] > to[i] ? from[i] : to[i];
    }
}

void hll_histogram_scalar(const uint8_t *registers, size_t m, uint32_t *ret_many)
{
    uint32_t many[4][64] = {{0}}; /* four tables, so that equal neighbours do not wait for each other */
    for (size_t i = 0; i < m; i += 4)
        for (unsigned j = 0; j < 4; j++)
            many[j][registers[i + j] & HLL_RHO_MASK]++;
    for (unsigned r = 0; r < 64; r++)
        ret_many[r] = many[0][r] + many[1][r] + many[2][r] + many[3][r];
}

static int write_sparse(uint8_t *dst, size_t cap, size_t *ret_size, const uint32_t *coupons, uint32_t n, uint32_t p,
                        uint8_t mark)
{
    if (cap < HEAD_SIZE + (size_t)n * HLLSPARSE_STEP_MAX)
        return SKETCH_NO_ROOM;
    dst[0] = (uint8_t)(SPARSE | p << 3);
    dst[1] = mark;
    *ret_size = (size_t)(hllsparse_write(dst + HEAD_SIZE, coupons, n) - dst);
    return SKETCH_OK;
}

/* What a build or a merge works on, in scratch. */
struct room {
    uint8_t *registers;
    uint64_t *used;             /* a bit for each register */
    uint32_t *coupons, *sorted; /* of a state that may stay sparse, and some more */
};

static size_t room_coupons(uint32_t p)
{
    return (sparse_most(p) + HLL_COUPONS_SLACK) * sizeof(uint32_t);
}

static struct room room_of(void *scratch, uint32_t p)
{
    uint8_t *rest = scratch;
    struct room r;
    r.registers = carve(&rest, UINT64_C(1) << p);
    r.used = carve(&rest, hllsparse_words(UINT64_C(1) << p) * sizeof *r.used);
    r.coupons = carve(&rest, room_coupons(p));
    r.sorted = carve(&rest, room_coupons(p));
    return r;
}

static size_t hll_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    return carve_size(UINT64_C(1) << params->p) +
           carve_size(hllsparse_words(UINT64_C(1) << params->p) * sizeof(uint64_t)) +
           2 * carve_size(room_coupons(params->p));
}

/* The state of these registers. */
static int write_registers(uint8_t *dst, size_t cap, size_t *ret_size, const struct room *r, uint32_t p, uint8_t mark)
{
    size_t m = (size_t)1 << p;
    if (hll_ops.used(r->used, r->registers, m) <= sparse_most(p)) {
        uint32_t n = hllsparse_list(r->sorted, r->used, r->registers, m);
        return write_sparse(dst, cap, ret_size, r->sorted, n, p, mark);
    }
    if (cap < HEAD_SIZE + m)
        return SKETCH_NO_ROOM;
    dst[0] = (uint8_t)(DENSE | p << 3);
    dst[1] = mark;
    memcpy(dst + HEAD_SIZE, r->registers, m);
    *ret_size = HEAD_SIZE + m;
    return SKETCH_OK;
}

static uint8_t least_of(const uint8_t *registers, size_t m)
{
    uint8_t least = UINT8_MAX;
    for (size_t i = 0; i < m; i++)
        least = registers[i] < least ? registers[i] : least;
    return least;
}

/* What is counted: sample values, or items. */
struct counted_run {
    const double *values; /* NULL: items */
    const uint64_t *items;
    uint32_t n;
};

static size_t run_coupons(const struct counted_run *run, uint32_t from, uint32_t n, uint32_t p, uint64_t seed,
                          uint32_t above, uint32_t *ret)
{
    return run->values ? hll_ops.coupons(ret, run->values + from, n, p, seed, above)
                       : hll_ops.item_coupons(ret, run->items + from, n, p, seed, above);
}

/* Any number of samples. Once every register has been raised, most samples raise none: those whose rho is at most the
 * least register are left out before they touch memory. */
static void raise_run(uint8_t *registers, const struct counted_run *run, uint32_t p, uint64_t seed)
{
    const size_t m = (size_t)1 << p;
    uint32_t coupons[BATCH + HLL_COUPONS_SLACK], least = 0;
    size_t look_at = 8 * m;
    memset(registers, 0, m);
    for (uint32_t done = 0; done < run->n; done += BATCH) {
        uint32_t part = run->n - done < BATCH ? run->n - done : BATCH;
        if (done >= look_at) {
            least = least_of(registers, m);
            look_at += 4 * m;
        }
        size_t some = run_coupons(run, done, part, p, seed, least, coupons);
        for (size_t i = 0; i < some; i++)
            hll_raise_register(registers, coupons[i]);
    }
}

/* At most as many samples as a sparse state has coupons: of the registers only those in use are touched. */
static uint32_t list_run(const struct room *r, const struct counted_run *run, uint32_t p, uint64_t seed)
{
    const size_t m = (size_t)1 << p;
    run_coupons(run, 0, run->n, p, seed, 0, r->coupons);
    memset(r->used, 0, hllsparse_words(m) * sizeof *r->used);
    for (uint32_t i = 0; i < run->n; i++)
        r->registers[r->coupons[i] >> HLL_RHO_BITS] = 0;
    for (uint32_t i = 0; i < run->n; i++) {
        uint32_t index = r->coupons[i] >> HLL_RHO_BITS;
        hll_raise_register(r->registers, r->coupons[i]);
        r->used[index / 64] |= UINT64_C(1) << index % 64;
    }
    return hllsparse_list(r->sorted, r->used, r->registers, m);
}

static int build_run(uint8_t *dst, size_t cap, size_t *ret_size, uint32_t p, const struct counted_run *run,
                     uint64_t seed, void *scratch)
{
    if (run->n == 0)
        return SKETCH_BAD_DATA;
    struct room r = room_of(scratch, p);
    if (run->n <= sparse_most(p)) {
        uint32_t coupons_n = list_run(&r, run, p, seed);
        return write_sparse(dst, cap, ret_size, r.sorted, coupons_n, p, seed_mark(seed));
    }
    raise_run(r.registers, run, p, seed);
    return write_registers(dst, cap, ret_size, &r, p, seed_mark(seed));
}

static int hll_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    const struct counted_run run = {.values = values, .n = n};
    return build_run(dst, cap, ret_size, params->p, &run, seed, scratch);
}

/* Whatever they weigh: an item that came is there. */
static int hll_build_items(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                           const struct sketch_items *items, uint64_t seed, void *scratch)
{
    const struct counted_run run = {.items = items->keys, .n = items->n};
    return build_run(dst, cap, ret_size, params->p, &run, seed, scratch);
}

/* Raises the registers by all inputs. */
static int unite(uint8_t *registers, const struct state_ref *src, uint32_t k, uint32_t p)
{
    size_t m = (size_t)1 << p;
    struct hllsparse_cursor sparse[HLLSPARSE_WAYS];
    const uint8_t *dense[RAISE_MOST];
    uint32_t sparse_n = 0, dense_n = 0;
    memset(registers, 0, m);
    for (uint32_t i = 0; i < k; i++) {
        const uint8_t *s = src[i].bytes + HEAD_SIZE;
        if (src[i].bytes[0] >> 3 != p || src[i].bytes[1] != src[0].bytes[1])
            return SKETCH_MISMATCH;
        if ((src[i].bytes[0] & FORM_MASK) == DENSE) {
            dense[dense_n++] = s;
            if (dense_n == RAISE_MOST) {
                hll_ops.raise(registers, dense, dense_n, m);
                dense_n = 0;
            }
            continue;
        }
        sparse[sparse_n++] = (struct hllsparse_cursor){.p = s, .end = src[i].bytes + src[i].size};
        if (sparse_n < HLLSPARSE_WAYS)
            continue;
        if (!hllsparse_raise(registers, sparse, sparse_n, m))
            return SKETCH_CORRUPT;
        sparse_n = 0;
    }
    hll_ops.raise(registers, dense, dense_n, m);
    if (!hllsparse_raise(registers, sparse, sparse_n, m))
        return SKETCH_CORRUPT;
    return SKETCH_OK;
}

static int hll_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    struct room r = room_of(scratch, params->p);
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = unite(r.registers, src, k, params->p);
    if (rc != SKETCH_OK)
        return rc;
    return write_registers(dst, cap, ret_size, &r, params->p, src[0].bytes[1]);
}

/* x + sum over i >= 1 of x^(2^i) 2^(i-1), Ertl's sigma; 0 <= x < 1. */
static double sigma(double x)
{
    double sum = x, y = 1, last;
    do {
        x *= x;
        last = sum;
        sum += x * y;
        y += y;
    } while (sum != last);
    return sum;
}

/* (1 - x - sum over i >= 1 of (1 - x^(2^-i))^2 2^-i) / 3, Ertl's tau; 0 <= x <= 1. */
static double tau(double x)
{
    if (x == 0 || x == 1)
        return 0;
    double sum = 1 - x, y = 1, last;
    do {
        x = sqrt(x);
        last = sum;
        y *= 0.5;
        sum -= (1 - x) * (1 - x) * y;
    } while (sum != last);
    return sum / 3;
}

static double estimate_registers(const uint8_t *registers, uint32_t p)
{
    uint32_t m = 1u << p, q = 64 - p;
    uint32_t many[64];
    hll_ops.histogram(registers, m, many);
    double count[64];
    for (unsigned r = 0; r < 64; r++)
        count[r] = (double)many[r];
    if (count[0] == m)
        return 0;
    double z = m * tau(1 - count[q + 1] / m);
    for (uint32_t r = q; r >= 1; r--)
        z = 0.5 * (z + count[r]);
    z += m * sigma(count[0] / m);
    const double half_inverse_ln2 = 0.72134752044448170368;
    return half_inverse_ln2 * m * m / z;
}

static int hll_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    if (statistic != STATISTIC_DISTINCT)
        return SKETCH_BAD_DATA;
    if (k == 0)
        return SKETCH_NONE;
    uint8_t *registers = scratch;
    int rc = unite(registers, src, k, params->p);
    if (rc != SKETCH_OK)
        return rc;
    *ret = estimate_registers(registers, params->p);
    return SKETCH_OK;
}

static int refuse(const char **reason, const char *text)
{
    *reason = text;
    return SKETCH_CORRUPT;
}

static int validate_sparse(const uint8_t *bytes, size_t n, uint32_t p, const char **reason)
{
    const uint8_t *s = bytes + HEAD_SIZE, *end = bytes + n;
    uint64_t coupon = 0, step;
    uint32_t coupons = 0;
    for (; s < end; coupons++) {
        uint64_t last_index = coupon >> HLL_RHO_BITS;
        s = bits_get_varint(s, end, &step);
        if (!s || step == 0 || step >> (p + HLL_RHO_BITS) != 0)
            return refuse(reason, "an HLL coupon is malformed");
        coupon += step;
        uint32_t rho = coupon & HLL_RHO_MASK;
        if (coupon >> HLL_RHO_BITS >> p != 0 || rho == 0 || rho > 65 - p ||
            (coupons > 0 && coupon >> HLL_RHO_BITS == last_index))
            return refuse(reason, "an HLL coupon is out of range or its register stands twice");
    }
    if (coupons == 0 || coupons > sparse_most(p))
        return refuse(reason, "a sparse HLL state holds no coupon or too many");
    return SKETCH_OK;
}

static int hll_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    uint32_t p = params->p, m = 1u << p, used = 0;
    if (n <= HEAD_SIZE)
        return refuse(reason, "an HLL state is cut short");
    if (bytes[0] >> 3 != p)
        return refuse(reason, "an HLL state was built with another p");
    if ((bytes[0] & FORM_MASK) == SPARSE)
        return validate_sparse(bytes, n, p, reason);
    if ((bytes[0] & FORM_MASK) != DENSE || n != HEAD_SIZE + (size_t)m)
        return refuse(reason, "an HLL state's form is unknown or its size does not fit");
    for (uint32_t i = 0; i < m; i++) {
        if (bytes[HEAD_SIZE + i] > 65 - p)
            return refuse(reason, "an HLL register is out of range");
        used += bytes[HEAD_SIZE + i] != 0;
    }
    if (used <= sparse_most(p))
        return refuse(reason, "a dense HLL state has too few registers in use");
    return SKETCH_OK;
}

static uint32_t hll_flags(const uint8_t *bytes, size_t n)
{
    return 0;
}

static uint64_t hll_count(const uint8_t *bytes, size_t n)
{
    return 0;
}

static const struct family_readout readouts[] = {{STATISTIC_DISTINCT, MERGED_AS_UNION}};

const struct family_info hll_family = {
    .family = FAMILY_HLL,
    .name = "hll",
    .merge = MERGE_MAY_OVERLAP,
    .readouts = readouts,
    .readouts_n = sizeof readouts / sizeof readouts[0],
    .check_params = hll_check_params,
    .size_bound = hll_size_bound,
    .scratch_bound = hll_scratch_bound,
    .build = hll_build,
    .build_items = hll_build_items,
    .merge_k = hll_merge_k,
    .estimate = hll_estimate,
    .validate = hll_validate,
    .flags = hll_flags,
    .count = hll_count,
};
