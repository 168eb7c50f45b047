/*
 * HLL: how many distinct values, by HyperLogLog with 2^p registers.
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
 * A value's hash is XXH3-64 with the sketch seed over its 8 little-endian bytes, -0 as +0 and all NaNs as one; the top
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
#include "kernels/order.h"

enum { P_MIN = 4, P_MAX = 18, SPARSE = 1, DENSE = 2, FORM_MASK = 7, HEAD_SIZE = 2, BATCH = 256 };
enum { SORT_BELOW = 32 }; /* fewer samples than this share of the registers are sorted instead */

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

/* Registers, the coupons of a state that may stay sparse, and those of few samples to be sorted. */
static size_t hll_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    return carve_size(UINT64_C(1) << params->p) + carve_size((sparse_most(params->p) + 1) * sizeof(uint32_t)) +
           carve_size(2 * ((UINT64_C(1) << params->p) / SORT_BELOW) * sizeof(uint64_t));
}

static uint8_t seed_mark(uint64_t seed)
{
    return (uint8_t)XXH3_64bits(&seed, sizeof seed);
}

void hll_coupons_scalar(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed)
{
    hll_loop_coupons(ret, values, n, p, seed);
}

void hll_raise_scalar(uint8_t *registers, const uint8_t *src, size_t m)
{
    hll_loop_raise(registers, src, m);
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

static inline void raise_register(uint8_t *registers, uint32_t coupon)
{
    uint8_t *r = registers + (coupon >> HLL_RHO_BITS), rho = coupon & HLL_RHO_MASK;
    *r = rho > *r ? rho : *r;
}

/* The varint of a step, without a branch for steps of up to three bytes. Writes four bytes, which the bound allows. */
static inline uint8_t *put_step(uint8_t *out, uint32_t step)
{
    if (__builtin_expect(step >> 21 != 0, 0))
        return bits_put_varint(out, step);
    uint32_t second = step > 0x7f, third = step > 0x3fff;
    bits_store_u32(out, (step & 0x7f) | (step << 1 & 0x7f00) | (step << 2 & 0x7f0000) | second << 7 | third << 15);
    return out + 1 + second + third;
}

size_t hll_sparse_scalar(uint32_t *ret, const uint8_t *bytes, size_t size, uint32_t *coupon, size_t *ret_taken)
{
    return 0; /* raise_together is this level's fast way */
}

static int write_sparse(uint8_t *dst, size_t cap, size_t *ret_size, const uint32_t *coupons, uint32_t n, uint32_t p,
                        uint8_t mark)
{
    if (cap < HEAD_SIZE + (size_t)n * 4)
        return SKETCH_NO_ROOM;
    uint8_t *out = dst;
    *out++ = (uint8_t)(SPARSE | p << 3);
    *out++ = mark;
    uint32_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        out = put_step(out, coupons[i] - last);
        last = coupons[i];
    }
    *ret_size = (size_t)(out - dst);
    return SKETCH_OK;
}

/* The state of these registers. */
static int write_registers(uint8_t *dst, size_t cap, size_t *ret_size, const uint8_t *registers, uint32_t p,
                           uint8_t mark, uint32_t *coupons)
{
    uint32_t m = 1u << p, n = 0, most = sparse_most(p);
    for (uint32_t i = 0; i < m && n <= most; i += 8)
        if (bits_load_u64(registers + i) != 0)
            for (uint32_t j = i; j < i + 8 && n <= most; j++) {
                coupons[n] = j << HLL_RHO_BITS | registers[j]; /* no branch: any of the eight may be in use */
                n += registers[j] != 0;
            }
    if (n <= most)
        return write_sparse(dst, cap, ret_size, coupons, n, p, mark);
    if (cap < HEAD_SIZE + (size_t)m)
        return SKETCH_NO_ROOM;
    dst[0] = (uint8_t)(DENSE | p << 3);
    dst[1] = mark;
    memcpy(dst + HEAD_SIZE, registers, m);
    *ret_size = HEAD_SIZE + (size_t)m;
    return SKETCH_OK;
}

static int hll_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    uint32_t p = params->p, most = sparse_most(p);
    uint8_t *rest = scratch;
    uint8_t *registers = carve(&rest, UINT64_C(1) << p);
    uint32_t *coupons = carve(&rest, (most + 1) * sizeof *coupons);
    if (n >= (1u << p) / SORT_BELOW) {
        memset(registers, 0, (size_t)1 << p);
        uint32_t batch[BATCH];
        for (uint32_t done = 0; done < n; done += BATCH) {
            uint32_t part = n - done < BATCH ? n - done : BATCH;
            hll_ops.coupons(batch, values + done, part, p, seed);
            for (uint32_t i = 0; i < part; i++)
                raise_register(registers, batch[i]);
        }
        return write_registers(dst, cap, ret_size, registers, p, seed_mark(seed), coupons);
    }
    uint64_t *keys = (uint64_t *)(void *)rest, *tmp = keys + n;
    coupons = (uint32_t *)(void *)registers;
    uint32_t batch[BATCH];
    for (uint32_t done = 0; done < n; done += BATCH) {
        uint32_t part = n - done < BATCH ? n - done : BATCH;
        hll_ops.coupons(batch, values + done, part, p, seed);
        for (uint32_t i = 0; i < part; i++)
            keys[done + i] = batch[i];
    }
    order_sort(keys, n, tmp);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) { /* of one register's the last, which is the greatest */
        coupons[kept] = (uint32_t)keys[i];
        kept += i + 1 == n || keys[i] >> HLL_RHO_BITS != keys[i + 1] >> HLL_RHO_BITS;
    }
    return write_sparse(dst, cap, ret_size, coupons, kept, p, seed_mark(seed));
}

/* A sparse state's coupons one after the other. */
struct coupon_cursor {
    const uint8_t *p, *end;
    uint64_t coupon;
};

/* All coupons of one; false if malformed. */
static bool raise_rest(uint8_t *registers, struct coupon_cursor *c, size_t m)
{
    uint64_t step;
    while (c->p < c->end) {
        c->p = bits_get_varint(c->p, c->end, &step);
        c->coupon += c->p ? step : 0;
        if (!c->p || c->coupon >> HLL_RHO_BITS >= m)
            return false;
        raise_register(registers, (uint32_t)c->coupon);
    }
    return true;
}

/* As many as are certain to lie inside of WAYS states at once: where a coupon begins depends on the one before, so one
 * state's are read one after the other, but states do not wait for each other. Steps of up to three bytes, without a
 * branch on their length. */
enum { WAYS = 4 };
static bool raise_together(uint8_t *registers, struct coupon_cursor *c, size_t m)
{
    const uint8_t *p[WAYS];
    uint64_t coupon[WAYS], most = 0; /* not in c, which registers might overlap for all a compiler knows */
    const uint64_t inside = ((uint64_t)m << HLL_RHO_BITS) - 1;
    bool whole = true;
    for (unsigned j = 0; j < WAYS; j++) {
        p[j] = c[j].p;
        coupon[j] = c[j].coupon;
    }
    while (whole) {
        for (unsigned j = 0; j < WAYS; j++)
            whole &= c[j].end - p[j] >= 4;
        for (unsigned j = 0; j < WAYS && whole; j++) {
            uint32_t v = bits_load_u32(p[j]), second = v >> 7 & 1, third = second & v >> 15;
            if (__builtin_expect(third & v >> 23, 0)) {
                whole = false;
                break;
            }
            coupon[j] += (v & 0x7f) + ((v >> 1 & 0x3f80) & (0 - second)) + ((v >> 2 & 0x1fc000) & (0 - third));
            p[j] += 1 + second + third;
            most |= coupon[j];
            raise_register(registers, (uint32_t)(coupon[j] & inside));
        }
    }
    for (unsigned j = 0; j < WAYS; j++) {
        c[j].p = p[j];
        c[j].coupon = coupon[j];
    }
    return most <= inside;
}

/* As many as vector code takes. */
static bool raise_some(uint8_t *registers, struct coupon_cursor *c, size_t m)
{
    uint32_t coupons[HLL_SPARSE_ROOM], last = 0;
    size_t n, taken;
    while ((n = hll_ops.sparse(coupons, c->p, (size_t)(c->end - c->p), &last, &taken)) > 0) {
        if (last >> HLL_RHO_BITS >= m) /* the greatest: they never fall, and so few cannot wrap */
            return false;
        for (size_t i = 0; i < n; i++)
            raise_register(registers, coupons[i]);
        c->p += taken;
    }
    c->coupon = last;
    return true;
}

/* Raises the registers by all inputs. */
static int unite(uint8_t *registers, const struct state_ref *src, uint32_t k, uint32_t p)
{
    size_t m = (size_t)1 << p;
    struct coupon_cursor sparse[WAYS];
    uint32_t sparse_n = 0;
    memset(registers, 0, m);
    for (uint32_t i = 0; i < k; i++) {
        const uint8_t *s = src[i].bytes + HEAD_SIZE;
        if (src[i].bytes[0] >> 3 != p || src[i].bytes[1] != src[0].bytes[1])
            return SKETCH_MISMATCH;
        if ((src[i].bytes[0] & FORM_MASK) == DENSE) {
            hll_ops.raise(registers, s, m);
            continue;
        }
        sparse[sparse_n++] = (struct coupon_cursor){.p = s, .end = src[i].bytes + src[i].size};
        if (!raise_some(registers, &sparse[sparse_n - 1], m))
            return SKETCH_CORRUPT;
        if (sparse_n < WAYS)
            continue;
        if (!raise_together(registers, sparse, m))
            return SKETCH_CORRUPT;
        while (sparse_n > 0)
            if (!raise_rest(registers, &sparse[--sparse_n], m))
                return SKETCH_CORRUPT;
    }
    while (sparse_n > 0)
        if (!raise_rest(registers, &sparse[--sparse_n], m))
            return SKETCH_CORRUPT;
    return SKETCH_OK;
}

static int hll_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    uint8_t *rest = scratch;
    uint8_t *registers = carve(&rest, UINT64_C(1) << params->p);
    if (k == 0)
        return SKETCH_BAD_DATA;
    int rc = unite(registers, src, k, params->p);
    if (rc != SKETCH_OK)
        return rc;
    return write_registers(dst, cap, ret_size, registers, params->p, src[0].bytes[1], (uint32_t *)(void *)rest);
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
    .merge_k = hll_merge_k,
    .estimate = hll_estimate,
    .validate = hll_validate,
    .flags = hll_flags,
    .count = hll_count,
};
