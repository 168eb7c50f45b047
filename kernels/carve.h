/*
 * Cutting a caller's scratch into arrays. A kernel's scratch_bound adds carve_size of exactly the arrays it takes, so
 * bound and use stand side by side and cannot drift apart. Scratch is 16-aligned, and so is every array.
 */
#ifndef KERNELS_CARVE_H
#define KERNELS_CARVE_H

#include <stddef.h>
#include <stdint.h>

static inline size_t carve_size(uint64_t bytes)
{
    return (size_t)((bytes + 15) & ~UINT64_C(15));
}
/* The next array of `bytes` at *scratch, which moves behind it. */
static inline void *carve(uint8_t **scratch, uint64_t bytes)
{
    void *p = *scratch;
    *scratch += carve_size(bytes);
    return p;
}

#endif
