#include "kernels/hllsparse.h"

#include "kernels/bits.h"
#include "kernels/hll_loops.h"

/* --- writing --- */

uint32_t hllsparse_list(uint32_t *ret, const uint64_t *used, const uint8_t *registers, size_t m)
{
    uint32_t n = 0;
    size_t words = hllsparse_words(m);
    for (size_t from = 0; from < words; from += 64) {
        uint64_t some = 0; /* words that are not 0 */
        for (size_t i = from; i < from + 64 && i < words; i++)
            some |= (uint64_t)(used[i] != 0) << (i - from);
        for (; some != 0; some &= some - 1) {
            uint32_t word = (uint32_t)from + (uint32_t)__builtin_ctzll(some), base = word * 64;
            uint64_t rest = used[word];
            uint32_t at = base + (uint32_t)__builtin_ctzll(rest);
            ret[n++] = at << HLL_RHO_BITS | registers[at];
            rest &= rest - 1;
            at = base + (uint32_t)__builtin_ctzll(rest | UINT64_C(1) << 63); /* a second one, without a branch */
            ret[n] = at << HLL_RHO_BITS | registers[at];
            n += rest != 0;
            for (rest &= rest - 1; rest != 0; rest &= rest - 1) {
                at = base + (uint32_t)__builtin_ctzll(rest);
                ret[n++] = at << HLL_RHO_BITS | registers[at];
            }
        }
    }
    return n;
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

uint8_t *hll_steps_scalar(uint8_t *p, const uint32_t *coupons, size_t n, uint32_t before)
{
    for (size_t i = 0; i < n; i++) {
        p = put_step(p, coupons[i] - before);
        before = coupons[i];
    }
    return p;
}

uint8_t *hllsparse_write(uint8_t *p, const uint32_t *coupons, uint32_t n)
{
    return hll_ops.steps(p, coupons, n, 0);
}

/* --- reading --- */

size_t hll_sparse_scalar(uint32_t *ret, const uint8_t *bytes, size_t size, uint64_t *ret_sum, size_t *ret_taken)
{
    return 0; /* raise_together is this level's fast way */
}

/* All coupons of one; false if malformed. */
static bool raise_rest(uint8_t *registers, struct hllsparse_cursor *c, size_t m)
{
    uint64_t step;
    while (c->p < c->end) {
        c->p = bits_get_varint(c->p, c->end, &step);
        c->coupon += c->p ? step : 0;
        if (!c->p || c->coupon >> HLL_RHO_BITS >= m)
            return false;
        hll_raise_register(registers, (uint32_t)c->coupon);
    }
    return true;
}

/* Steps of up to three bytes of HLLSPARSE_WAYS states at once, as many as are certain to lie inside of all: where a
 * step begins depends on the one before, so one state's are read one after the other, but states do not wait for each
 * other. Without a branch on their length. */
static bool raise_together(uint8_t *registers, struct hllsparse_cursor *c, size_t m)
{
    const uint8_t *p[HLLSPARSE_WAYS];
    uint64_t coupon[HLLSPARSE_WAYS], most = 0; /* not in c, which registers might overlap for all a compiler knows */
    const uint64_t inside = ((uint64_t)m << HLL_RHO_BITS) - 1;
    uint32_t is_long = 0;
    for (unsigned j = 0; j < HLLSPARSE_WAYS; j++) {
        p[j] = c[j].p;
        coupon[j] = c[j].coupon;
    }
    for (;;) {
        size_t certain = SIZE_MAX;
        for (unsigned j = 0; j < HLLSPARSE_WAYS; j++) {
            size_t left = (size_t)(c[j].end - p[j]) / 4;
            certain = left < certain ? left : certain;
        }
        if (certain == 0 || is_long)
            break;
        for (; certain > 0 && !is_long; certain--)
            for (unsigned j = 0; j < HLLSPARSE_WAYS; j++) {
                uint32_t v = bits_load_u32(p[j]), second = v >> 7 & 1, third = second & v >> 15;
                is_long = third & v >> 23;
                if (__builtin_expect(is_long, 0))
                    break;
                coupon[j] += (v & 0x7f) + ((v >> 1 & 0x3f80) & (0 - second)) + ((v >> 2 & 0x1fc000) & (0 - third));
                p[j] += 1 + second + third;
                most |= coupon[j];
                hll_raise_register(registers, (uint32_t)(coupon[j] & inside));
            }
    }
    for (unsigned j = 0; j < HLLSPARSE_WAYS; j++) {
        c[j].p = p[j];
        c[j].coupon = coupon[j];
    }
    return most <= inside;
}

/* As many as vector code takes. */
static bool raise_some(uint8_t *registers, struct hllsparse_cursor *c, size_t m)
{
    uint32_t steps[HLL_SPARSE_ROOM];
    uint64_t sum;
    size_t n, taken;
    while (c->p < c->end && (n = hll_ops.sparse(steps, c->p, (size_t)(c->end - c->p), &sum, &taken)) > 0) {
        if ((c->coupon + sum) >> HLL_RHO_BITS >= m) /* the greatest: they never fall */
            return false;
        uint32_t coupon = (uint32_t)c->coupon;
        for (size_t i = 0; i < n; i++) {
            coupon += steps[i];
            hll_raise_register(registers, coupon);
        }
        c->coupon = coupon;
        c->p += taken;
    }
    return true;
}

bool hllsparse_raise(uint8_t *registers, struct hllsparse_cursor *c, uint32_t n, size_t m)
{
    for (uint32_t i = 0; i < n; i++)
        if (!raise_some(registers, &c[i], m))
            return false;
    if (n == HLLSPARSE_WAYS && !raise_together(registers, c, m))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!raise_rest(registers, &c[i], m))
            return false;
    return true;
}
