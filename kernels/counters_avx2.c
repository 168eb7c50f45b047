/* Counters with 32-byte vectors: the same loops, compiled for them. */
#include "kernels/counters_loops.h"

COUNTERS_VARIANT_SUMS
COUNTERS_VARIANT_ITEMS

void counters_ops_avx2(struct counters_ops *ops)
{
    *ops = (struct counters_ops)COUNTERS_VARIANT_TABLE;
}
