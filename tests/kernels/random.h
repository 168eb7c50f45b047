/* Random numbers for the kernels' property tests: splitmix64, so that a printed seed replays anywhere. */
#ifndef TESTS_KERNELS_RANDOM_H
#define TESTS_KERNELS_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t random_u64(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(random_u64(state) % n);
}
/* In [0, 1). */
static inline double random_unit(uint64_t *state)
{
    return (double)(random_u64(state) >> 11) * 0x1p-53;
}
static inline double random_normal(uint64_t *state)
{
    return sqrt(-2 * log(1 - random_unit(state))) * cos(6.283185307179586 * random_unit(state));
}
static inline double random_bits_f64(uint64_t *state)
{
    uint64_t u = random_u64(state);
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}

#endif
