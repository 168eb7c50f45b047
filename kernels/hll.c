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

enum { P_MIN = 4, P_MAX = 18, SPARSE = 1, DENSE = 2, FORM_MASK = 7, HEAD_SIZE = 2, RHO_BITS = 6, RHO_MASK = 63 };

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

/* Registers, and the coupons of a build that may stay sparse. */
static size_t hll_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    return carve_size(UINT64_C(1) << params->p) + 2 * carve_size(sparse_most(params->p) * sizeof(uint32_t));
}

static uint8_t seed_mark(uint64_t seed)
{
    return (uint8_t)XXH3_64bits(&seed, sizeof seed);
}

static inline uint32_t coupon_of(double value, uint32_t p, uint64_t seed)
{
    uint64_t bits = value == 0 ? 0 : value != value ? BITS_NAN : bits_of_f64(value);
    uint64_t hash = XXH3_64bits_withSeed(&bits, sizeof bits, seed);
    uint32_t rho = (uint32_t)__builtin_clzll(hash << p | UINT64_C(1) << (p - 1)) + 1;
    return (uint32_t)(hash >> (64 - p)) << RHO_BITS | rho;
}

static inline void raise_register(uint8_t *registers, uint32_t coupon)
{
    uint8_t *r = registers + (coupon >> RHO_BITS), rho = coupon & RHO_MASK;
    *r = rho > *r ? rho : *r;
}

/* Upwards by insertion for few, else one counting pass per byte. */
static void sort_coupons(uint32_t *v, uint32_t n, uint32_t *tmp)
{
    if (n <= 32) {
        for (uint32_t i = 1; i < n; i++) {
            uint32_t x = v[i], j = i;
            for (; j > 0 && v[j - 1] > x; j--)
                v[j] = v[j - 1];
            v[j] = x;
        }
        return;
    }
    for (unsigned shift = 0; shift < 24; shift += 8) {
        uint32_t at[257] = {0};
        for (uint32_t i = 0; i < n; i++)
            at[(v[i] >> shift & 255) + 1]++;
        for (unsigned b = 0; b < 256; b++)
            at[b + 1] += at[b];
        for (uint32_t i = 0; i < n; i++)
            tmp[at[v[i] >> shift & 255]++] = v[i];
        uint32_t *swap = v;
        v = tmp;
        tmp = swap;
    }
    memcpy(tmp, v, n * sizeof *v); /* three passes end in the other array */
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
        out = bits_put_varint(out, coupons[i] - last);
        last = coupons[i];
    }
    *ret_size = (size_t)(out - dst);
    return SKETCH_OK;
}

/* The state of these registers. */
static int write_registers(uint8_t *dst, size_t cap, size_t *ret_size, const uint8_t *registers, uint32_t p,
                           uint8_t mark, uint32_t *coupons)
{
    uint32_t m = 1u << p, used = 0, n = 0;
    for (uint32_t i = 0; i < m; i++)
        used += registers[i] != 0;
    if (used <= sparse_most(p)) {
        for (uint32_t i = 0; i < m; i++)
            if (registers[i] != 0)
                coupons[n++] = i << RHO_BITS | registers[i];
        return write_sparse(dst, cap, ret_size, coupons, n, p, mark);
    }
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
    uint32_t *coupons = carve(&rest, most * sizeof *coupons), *tmp = carve(&rest, most * sizeof *tmp);
    if (n > most) {
        memset(registers, 0, (size_t)1 << p);
        for (uint32_t i = 0; i < n; i++)
            raise_register(registers, coupon_of(values[i], p, seed));
        return write_registers(dst, cap, ret_size, registers, p, seed_mark(seed), coupons);
    }
    for (uint32_t i = 0; i < n; i++)
        coupons[i] = coupon_of(values[i], p, seed);
    sort_coupons(coupons, n, tmp);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i + 1 == n || coupons[i] >> RHO_BITS != coupons[i + 1] >> RHO_BITS)
            coupons[kept++] = coupons[i];
    return write_sparse(dst, cap, ret_size, coupons, kept, p, seed_mark(seed));
}

/* Raises the registers by all inputs. */
static int unite(uint8_t *registers, const struct state_ref *src, uint32_t k, uint32_t p)
{
    size_t m = (size_t)1 << p;
    memset(registers, 0, m);
    for (uint32_t i = 0; i < k; i++) {
        const uint8_t *s = src[i].bytes + HEAD_SIZE, *end = src[i].bytes + src[i].size;
        if (src[i].bytes[0] >> 3 != p || src[i].bytes[1] != src[0].bytes[1])
            return SKETCH_MISMATCH;
        if ((src[i].bytes[0] & FORM_MASK) == DENSE) {
            for (size_t j = 0; j < m; j++)
                registers[j] = s[j] > registers[j] ? s[j] : registers[j];
            continue;
        }
        uint64_t coupon = 0, step;
        while (s < end) {
            s = bits_get_varint(s, end, &step);
            coupon += s ? step : 0;
            if (!s || coupon >> RHO_BITS >= m)
                return SKETCH_CORRUPT;
            raise_register(registers, (uint32_t)coupon);
        }
    }
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
    uint32_t many[4][64] = {{0}}; /* four tables, so that equal neighbours do not wait for each other */
    for (uint32_t i = 0; i < m; i += 4)
        for (unsigned j = 0; j < 4; j++)
            many[j][registers[i + j] & RHO_MASK]++;
    double count[64];
    for (unsigned r = 0; r < 64; r++)
        count[r] = (double)(many[0][r] + many[1][r] + many[2][r] + many[3][r]);
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
        uint64_t last_index = coupon >> RHO_BITS;
        s = bits_get_varint(s, end, &step);
        if (!s || step == 0 || step >> (p + RHO_BITS) != 0)
            return refuse(reason, "an HLL coupon is malformed");
        coupon += step;
        uint32_t rho = coupon & RHO_MASK;
        if (coupon >> RHO_BITS >> p != 0 || rho == 0 || rho > 65 - p ||
            (coupons > 0 && coupon >> RHO_BITS == last_index))
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
