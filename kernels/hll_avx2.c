/* HLL with 32-byte vectors. */
#include "kernels/hll_loops.h"

static void coupons(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed)
{
    hll_loop_coupons(ret, values, n, p, seed);
}

static void raise(uint8_t *registers, const uint8_t *src, size_t m)
{
    hll_loop_raise(registers, src, m);
}

void hll_ops_avx2(struct hll_ops *ops)
{
    *ops = (struct hll_ops){.coupons = coupons, .raise = raise, .histogram = hll_histogram_scalar};
}
