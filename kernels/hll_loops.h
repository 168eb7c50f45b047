/*
 * HLL's loops: plain C that is compiled once for each instruction set (hll.c, hll_avx2.c).
 */
#ifndef KERNELS_HLL_LOOPS_H
#define KERNELS_HLL_LOOPS_H

#include "kernels/bits.h"
#include "kernels/hash8.h"
#include "kernels/ops.h"

enum { HLL_RHO_BITS = 6, HLL_RHO_MASK = 63 };

static inline void hll_raise_register(uint8_t *registers, uint32_t coupon)
{
    uint8_t *r = registers + (coupon >> HLL_RHO_BITS), rho = coupon & HLL_RHO_MASK;
    *r = rho > *r ? rho : *r;
}

#endif
