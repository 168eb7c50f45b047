/*
 * Fuzz targets: one function that takes any bytes. With -Dfuzz=true each is linked with libFuzzer
 * (build-fuzz/tests/fuzz/ fuzz_<target>); in every other build replay.c runs it over its corpus and over seeded
 * mutations of it.
 *
 * A target checks promises with MUST, so a broken one stops the run as a crash does. Targets behind a checksum or a
 * dense format read their input as choices (below) and make well-formed bytes from them first: a mutation then lands
 * deep inside instead of at the first check.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes read as choices; zeros once they are used up. */
struct choices {
    const uint8_t *p;
    size_t n;
};

static inline uint8_t choose_u8(struct choices *c)
{
    if (c->n == 0)
        return 0;
    c->n--;
    return *c->p++;
}

static inline uint32_t choose_below(struct choices *c, uint32_t n)
{
    uint32_t v = choose_u8(c);
    return (n > 256 ? v | (uint32_t)choose_u8(c) << 8 : v) % n;
}

static inline uint64_t choose_u64(struct choices *c)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v |= (uint64_t)choose_u8(c) << 8 * i;
    return v;
}

/* A sample value: extremes, small integers, decimals, or any bits. */
static inline double choose_value(struct choices *c)
{
    static const double extremes[] = {0.0,  -0.0,  NAN, INFINITY, -INFINITY, 5e-324, 1.7976931348623157e308,
                                      1e16, -1e300};
    uint8_t kind = choose_u8(c);
    if (kind < 16)
        return extremes[kind % (sizeof extremes / sizeof *extremes)];
    if (kind < 96)
        return (double)choose_u8(c) - 64;
    if (kind < 224)
        return (double)(choose_u8(c) | (uint32_t)choose_u8(c) << 8) / 1000;
    uint64_t bits = choose_u64(c);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A few bytes of `p` overwritten, at most as many as are chosen. */
static inline void choose_damage(struct choices *c, uint8_t *p, size_t n)
{
    for (uint32_t left = choose_u8(c) % 4; left && n; left--) {
        size_t at = (choose_u8(c) | (size_t)choose_u8(c) << 8) % n;
        p[at] = choose_u8(c);
    }
}

#endif
