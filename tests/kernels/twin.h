/*
 * What the twin suites share. Every function of kernels/ops.h runs at every level of this machine against the scalar
 * one: sizes 0..300 and odd tails, NaN payloads, infinities, subnormal numbers, 1e300 and -0, the ends of the integers'
 * range, any alignment. Inputs end where a page that cannot be read begins, or begin where one ends; bytes around
 * outputs must stay. twin_cover_test.py holds that no function of ops.h is missing.
 */
#ifndef TESTS_KERNELS_TWIN_H
#define TESTS_KERNELS_TWIN_H

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/bits.h"
#include "kernels/cpu.h"
#include "kernels/ops.h"
#include "random.h"
#include "suite.h"

enum { N_MAX = 4097, LARGE_MAX = 1100, SMALL_MAX = 300, ROOM = 64 * 1024, GUARD = 64 };

/* --- memory with forbidden pages on both sides --- */

static inline uint8_t *fenced(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, ROOM + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(p != MAP_FAILED);
    ck_assert_int_eq(mprotect(p, page, PROT_NONE), 0);
    ck_assert_int_eq(mprotect(p + page + ROOM, page, PROT_NONE), 0);
    return p + page;
}

/* Where `bytes` touch the fence behind them, or the one before them. */
static inline void *against(uint8_t *fence, size_t bytes, bool end)
{
    return end ? fence + ROOM - bytes : fence;
}

/* `bytes` at any address: each eighth time against the fence behind them. */
static inline uint8_t *anywhere(uint8_t *fence, size_t bytes, unsigned round)
{
    return fence + ROOM - bytes - round % 8;
}

/* An output of `bytes` between guards, at an address that is only a multiple of 8; a second one beside it. */
static uint8_t output_rooms[2][ROOM + 2 * GUARD + 8];
static inline void *output_in(uint8_t *room)
{
    memset(room, 0xa5, sizeof output_rooms[0]);
    return room + GUARD + (8 - (uintptr_t)(room + GUARD) % 8) % 8;
}
static inline void *output_open(void)
{
    return output_in(output_rooms[0]);
}
static inline void *output_open_second(void)
{
    return output_in(output_rooms[1]);
}
static inline void output_check(const void *output, size_t bytes)
{
    const uint8_t *p = output;
    for (size_t i = 1; i <= GUARD / 2; i++)
        ck_assert_msg(p[-(ptrdiff_t)i] == 0xa5 && p[bytes + i - 1] == 0xa5, "a guard byte changed, %zu bytes", bytes);
}

/* --- inputs --- */

enum { KINDS = 6 };
static inline double odd_double(uint64_t *s)
{
    static const uint64_t odd[] = {0,
                                   UINT64_C(0x8000000000000000),
                                   UINT64_C(0x7ff0000000000000),
                                   UINT64_C(0xfff0000000000000),
                                   UINT64_C(0x7ff0000000000002), /* the stale marker, signalling */
                                   UINT64_C(0x7ff8000000000001),
                                   UINT64_C(0xffffffffffffffff),
                                   1,
                                   UINT64_C(0x000fffffffffffff),
                                   UINT64_C(0x0010000000000000),
                                   UINT64_C(0x7fefffffffffffff),
                                   UINT64_C(0xffefffffffffffff),
                                   UINT64_C(0x7e37e43c8800759c) /* 1e300 */};
    return bits_to_f64(odd[random_below(s, sizeof odd / sizeof odd[0])]);
}
static inline double kind_double(uint64_t *s, unsigned kind)
{
    switch (kind) {
    case 0:
        return random_bits_f64(s);
    case 1:
        return odd_double(s);
    case 2:
        return round(exp(3 + random_normal(s)) * 1000) / 1000;
    case 3:
        return random_below(s, 4) - 1.5;
    case 4:
        return random_below(s, 20) ? random_normal(s) * 1e5 : odd_double(s);
    default:
        return exp(random_normal(s) * 100);
    }
}
static inline void fill_doubles(uint8_t *at, size_t n, unsigned kind, uint64_t *s)
{
    for (size_t i = 0; i < n; i++)
        bits_store_f64(at + 8 * i, kind_double(s, kind));
}

/* Sizes 0..300 in turn, then those around what vectors and blocks hold, then any. */
static inline size_t size_of_round(unsigned round, uint64_t *s)
{
    static const size_t odd[] = {301, 302, 303,  304,  305,  306,  307,  308, 309,
                                 310, 311, 1023, 1024, 1025, 4095, 4096, 4097};
    if (round <= SMALL_MAX)
        return round;
    if (round - SMALL_MAX <= sizeof odd / sizeof odd[0])
        return odd[round - SMALL_MAX - 1];
    return SMALL_MAX + random_below(s, LARGE_MAX - SMALL_MAX);
}
static inline unsigned frame_size_of_round(unsigned round, uint64_t *s)
{
    return (unsigned)size_of_round(round, s) % (FRAME_MAX_N + 1);
}
enum { ROUNDS = SMALL_MAX + 60 };

/* Runs check(level, ...) for each level above scalar; a machine without them tests nothing. */
#define EACH_LEVEL(level)                                                                                              \
    for (enum cpu_level level = CPU_AVX2; level <= cpu_most() && cpu_force(level) == level; level++)

#endif
