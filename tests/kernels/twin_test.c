/*
 * Twins: every function of kernels/ops.h at every level of this machine against the scalar one. Sizes 0..300 and odd
 * tails, NaN payloads, infinities, subnormal numbers, 1e300 and -0, the ends of the integers' range, any alignment.
 * Inputs end where a page that cannot be read begins, or begin where one ends; bytes around outputs must stay.
 * twin_cover_test.py holds that no function of ops.h is missing here.
 */
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "kernels/bits.h"
#include "kernels/counters.h"
#include "kernels/cpu.h"
#include "kernels/ddwindow.h"
#include "kernels/frame_internal.h"
#include "kernels/gamma.h"
#include "kernels/hll_loops.h"
#include "kernels/ops.h"
#include "kernels/order.h"
#include "kernels/qdecimal.h"
#include "random.h"
#include "suite.h"

enum { N_MAX = 4097, LARGE_MAX = 1100, SMALL_MAX = 300, ROOM = 64 * 1024, GUARD = 64 };

/* --- memory with forbidden pages on both sides --- */

static uint8_t *fenced(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, ROOM + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(p != MAP_FAILED);
    ck_assert_int_eq(mprotect(p, page, PROT_NONE), 0);
    ck_assert_int_eq(mprotect(p + page + ROOM, page, PROT_NONE), 0);
    return p + page;
}

/* Where `bytes` touch the fence behind them, or the one before them. */
static void *against(uint8_t *fence, size_t bytes, bool end)
{
    return end ? fence + ROOM - bytes : fence;
}

/* `bytes` at any address: each eighth time against the fence behind them. */
static uint8_t *anywhere(uint8_t *fence, size_t bytes, unsigned round)
{
    return fence + ROOM - bytes - round % 8;
}

/* An output of `bytes` between guards, at an address that is only a multiple of 8; a second one beside it. */
static uint8_t output_rooms[2][ROOM + 2 * GUARD + 8];
static void *output_in(uint8_t *room)
{
    memset(room, 0xa5, sizeof output_rooms[0]);
    return room + GUARD + (8 - (uintptr_t)(room + GUARD) % 8) % 8;
}
static void *output_open(void)
{
    return output_in(output_rooms[0]);
}
static void *output_open_second(void)
{
    return output_in(output_rooms[1]);
}
static void output_check(const void *output, size_t bytes)
{
    const uint8_t *p = output;
    for (size_t i = 1; i <= GUARD / 2; i++)
        ck_assert_msg(p[-(ptrdiff_t)i] == 0xa5 && p[bytes + i - 1] == 0xa5, "a guard byte changed, %zu bytes", bytes);
}

/* --- inputs --- */

enum { KINDS = 6 };
static double odd_double(uint64_t *s)
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
static double kind_double(uint64_t *s, unsigned kind)
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
static void fill_doubles(uint8_t *at, size_t n, unsigned kind, uint64_t *s)
{
    for (size_t i = 0; i < n; i++)
        bits_store_f64(at + 8 * i, kind_double(s, kind));
}

/* Sizes 0..300 in turn, then those around what vectors and blocks hold, then any. */
static size_t size_of_round(unsigned round, uint64_t *s)
{
    static const size_t odd[] = {301, 302, 303,  304,  305,  306,  307,  308, 309,
                                 310, 311, 1023, 1024, 1025, 4095, 4096, 4097};
    if (round <= SMALL_MAX)
        return round;
    if (round - SMALL_MAX <= sizeof odd / sizeof odd[0])
        return odd[round - SMALL_MAX - 1];
    return SMALL_MAX + random_below(s, LARGE_MAX - SMALL_MAX);
}
static unsigned frame_size_of_round(unsigned round, uint64_t *s)
{
    return (unsigned)size_of_round(round, s) % (FRAME_MAX_N + 1);
}
enum { ROUNDS = SMALL_MAX + 60 };

/* Runs check(level, ...) for each level above scalar; a machine without them tests nothing. */
#define EACH_LEVEL(level)                                                                                              \
    for (enum cpu_level level = CPU_AVX2; level <= cpu_most() && cpu_force(level) == level; level++)

/* --- order --- */

START_TEST(order_twins)
{
    uint64_t s = suite_seed("twin.order");
    uint8_t *fence = fenced();
    static uint64_t keys[N_MAX], expect[N_MAX], tmp[N_MAX], got[N_MAX + ORDER_SLACK];
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t n = size_of_round(round, &s);
        unsigned kind = random_below(&s, KINDS);
        uint8_t *values = round & 1 ? anywhere(fence, n * 8, round / 2) : fence;
        fill_doubles(values, n, kind, &s);
        order_keys_scalar(keys, values, n);
        uint64_t low = n ? keys[random_below(&s, (uint32_t)n)] : 0, high = n ? keys[random_below(&s, (uint32_t)n)] : 9;
        size_t below_expect = 0, below = 0, kept = order_between_scalar(got, values, n, low, high, &below_expect);
        memcpy(expect, got, kept * 8);
        EACH_LEVEL(level)
        {
            uint64_t *out = output_open();
            order_ops.keys(out, values, n);
            ck_assert_msg(n == 0 || memcmp(out, keys, n * 8) == 0, "keys %s n %zu", cpu_level_name(level), n);
            output_check(out, n * 8);
            out = output_open();
            ck_assert_uint_eq(order_ops.between(out, values, n, low, high, &below), kept);
            ck_assert_uint_eq(below, below_expect);
            ck_assert(memcmp(out, expect, kept * 8) == 0);
            output_check(out, (n + ORDER_SLACK) * 8);
        }
        memcpy(expect, keys, n * 8);
        order_sort_scalar(expect, n, tmp);
        size_t at = n ? random_below(&s, (uint32_t)n) : 0;
        EACH_LEVEL(level)
        {
            uint64_t *out = output_open(), *spare = against(fence, n * 8, true);
            memcpy(out, keys, n * 8);
            order_ops.sort(out, n, spare);
            ck_assert_msg(n == 0 || memcmp(out, expect, n * 8) == 0, "sort %s n %zu", cpu_level_name(level), n);
            output_check(out, n * 8);
            if (n == 0)
                continue;
            memcpy(out, keys, n * 8);
            order_ops.select(out, n, at, spare);
            ck_assert_msg(out[at] == expect[at] && (at + 1 == n || out[at + 1] == expect[at + 1]), "select %s n %zu",
                          cpu_level_name(level), n);
            output_check(out, n * 8);
            order_sort_scalar(out, n, tmp);
            ck_assert(memcmp(out, expect, n * 8) == 0);
        }
    }
}
END_TEST

/* Sorting where pivots are bad ones: organ pipes, sawteeth, few distinct keys, already sorted. */
START_TEST(order_shapes)
{
    enum { N = 20000 };
    static uint64_t v[N], expect[N], tmp[N];
    uint64_t s = suite_seed("twin.order_shapes");
    for (unsigned shape = 0; shape < 7; shape++) {
        size_t n = N - random_below(&s, 300);
        EACH_LEVEL(level)
        {
            for (size_t i = 0; i < n; i++) {
                uint64_t shapes[] = {i, n - i, i < n / 2 ? i : n - i, i % 64, i * n / 64 % n, 7, random_below(&s, 3)};
                v[i] = expect[i] = shapes[shape];
            }
            order_sort_scalar(expect, n, tmp);
            order_ops.sort(v, n, tmp);
            ck_assert_msg(memcmp(v, expect, n * 8) == 0, "shape %u %s", shape, cpu_level_name(level));
        }
    }
}
END_TEST

/* --- frame --- */

/* `more` bytes behind the lane may be read too. */
static void check_unpack(uint8_t *fence, size_t n, unsigned w, size_t more, bool end, uint64_t *s)
{
    static uint64_t expect[N_MAX];
    size_t bytes = frame_lane_bytes((unsigned)n, w) + more;
    uint8_t *lane = against(fence, bytes, end);
    for (size_t i = 0; i < bytes; i++)
        lane[i] = (uint8_t)random_u64(s);
    for (size_t i = 0; i < n; i++) { /* bit by bit */
        expect[i] = 0;
        for (unsigned b = 0; b < w; b++)
            expect[i] |= (uint64_t)(lane[(i * w + b) / 8] >> (i * w + b) % 8 & 1) << b;
    }
    for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
        uint64_t *out = output_open();
        frame_ops.unpack(out, lane, bytes, (unsigned)n, w);
        ck_assert_msg(n == 0 || memcmp(out, expect, n * 8) == 0, "unpack %s n %zu w %u", cpu_level_name(level), n, w);
        output_check(out, (n + FRAME_SLACK) * 8);
    }
}

START_TEST(unpack_twins)
{
    uint64_t s = suite_seed("twin.unpack");
    uint8_t *fence = fenced();
    for (unsigned w = 0; w <= 64; w++) {
        if (w > FRAME_WIDTH_PACKED && w < 64)
            continue;
        for (size_t n = 0; n <= 70; n++)
            check_unpack(fence, n, w, random_below(&s, 2) * random_below(&s, 200), n & 1, &s);
        for (unsigned round = 0; round < 8; round++)
            check_unpack(fence, random_below(&s, FRAME_MAX_N + 1), w, random_below(&s, 100), round & 1, &s);
    }
}
END_TEST

/* Integers of up to `bits` bits, signed. */
static void fill_integers(uint64_t *v, size_t n, unsigned bits, uint64_t *s)
{
    for (size_t i = 0; i < n; i++)
        v[i] = bits == 0 ? 0 : (uint64_t)((int64_t)random_u64(s) >> (64 - bits));
    static const uint64_t ends[] = {0, 1, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 53, UINT32_MAX};
    for (size_t i = random_below(s, 20); bits == 64 && i < n; i += 1 + random_below(s, 20))
        v[i] = ends[random_below(s, sizeof ends / sizeof *ends)];
}

START_TEST(frame_integer_twins)
{
    uint64_t s = suite_seed("twin.frame_integers");
    uint8_t *fence = fenced();
    static uint64_t expect[N_MAX], rows_expect[FRAME_PREDICTORS][FRAME_MAX_N], rows[FRAME_PREDICTORS][FRAME_MAX_N];
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t n = frame_size_of_round(round, &s);
        uint64_t *v = against(fence, n * 8, round & 1), start = random_u64(&s), base = random_u64(&s);
        fill_integers(v, n, random_below(&s, 65), &s);
        EACH_LEVEL(level)
        {
            uint64_t *out = output_open();
            memcpy(out, v, n * 8);
            memcpy(expect, v, n * 8);
            frame_add_up_scalar(expect, (unsigned)n, start, base);
            frame_ops.add_up(out, (unsigned)n, start, base);
            ck_assert_msg(n == 0 || memcmp(out, expect, n * 8) == 0, "add_up %s n %zu", cpu_level_name(level), n);
            frame_line_scalar(expect, (unsigned)n, start, base);
            frame_ops.line(out, (unsigned)n, start, base);
            ck_assert_msg(n == 0 || memcmp(out, expect, n * 8) == 0, "line %s n %zu", cpu_level_name(level), n);
            output_check(out, (n + FRAME_SLACK) * 8);
            ck_assert_uint_eq(frame_ops.widths(v, (unsigned)n, start), frame_widths_scalar(v, (unsigned)n, start));
            memset(rows_expect, 1, sizeof rows);
            memset(rows, 1, sizeof rows);
            frame_rows_scalar(rows_expect, v, (unsigned)n, base);
            frame_ops.rows(rows, v, (unsigned)n, base);
            ck_assert_msg(memcmp(rows, rows_expect, sizeof rows) == 0, "rows %s n %zu", cpu_level_name(level), n);
        }
    }
}
END_TEST

START_TEST(frame_double_twins)
{
    uint64_t s = suite_seed("twin.frame_doubles");
    uint8_t *fence = fenced();
    static uint64_t y_expect[N_MAX], corrections[N_MAX];
    static int64_t c_expect[N_MAX];
    static double expect[N_MAX];
    for (unsigned round = 0; round < 3 * ROUNDS; round++) {
        size_t n = frame_size_of_round(round % ROUNDS, &s);
        unsigned e = random_below(&s, FRAME_E_MAX + 1), most = random_below(&s, 40), shift = random_below(&s, 64);
        double *v = against(fence, n * 8, round & 1);
        fill_doubles((uint8_t *)v, n, random_below(&s, KINDS), &s);
        unsigned misfits = frame_decimal_scalar(y_expect, v, (unsigned)n, e, most);
        EACH_LEVEL(level)
        {
            uint64_t *y = output_open();
            unsigned got = frame_ops.decimal(y, v, (unsigned)n, e, most);
            output_check(y, n * 8);
            ck_assert(got == misfits || (got > most && misfits > most));
            ck_assert(misfits > most || n == 0 || memcmp(y, y_expect, n * 8) == 0);
        }
        misfits = frame_near_decimal_scalar(y_expect, c_expect, v, (unsigned)n, e, most);
        EACH_LEVEL(level)
        {
            uint64_t *y = output_open();
            int64_t *c = output_open_second();
            unsigned got = frame_ops.near_decimal(y, c, v, (unsigned)n, e, most);
            output_check(y, n * 8);
            output_check(c, n * 8);
            ck_assert(got == misfits || (got > most && misfits > most));
            ck_assert(misfits > most || n == 0 || (memcmp(y, y_expect, n * 8) == 0 && memcmp(c, c_expect, n * 8) == 0));
        }
        uint64_t *integers = (uint64_t *)(void *)v;
        fill_integers(integers, n, random_below(&s, 65), &s);
        e = random_below(&s, FRAME_E_ORDERED + 1);
        shift = random_below(&s, 2) ? 0 : shift;
        bool inside = frame_to_doubles_scalar(expect, integers, (unsigned)n, e, shift);
        EACH_LEVEL(level)
        {
            double *out = output_open();
            ck_assert(frame_ops.to_doubles(out, integers, (unsigned)n, e, shift) == inside);
            ck_assert_msg(n == 0 || memcmp(out, expect, n * 8) == 0, "to_doubles %s n %zu e %u", cpu_level_name(level),
                          n, e);
            output_check(out, n * 8);
        }
        EACH_LEVEL(level)
        {
            double *out = output_open();
            fill_integers(corrections, n, 6, &s);
            memcpy(out, integers, n * 8);
            memcpy(expect, integers, n * 8);
            frame_correct_scalar(expect, corrections, (unsigned)n, -31);
            frame_ops.correct(out, corrections, (unsigned)n, -31);
            ck_assert_msg(n == 0 || memcmp(out, expect, n * 8) == 0, "correct %s n %zu", cpu_level_name(level), n);
            output_check(out, n * 8);
        }
    }
}
END_TEST

/* --- packed decimal panes --- */

/* Groups of every width at every size, whole, cut short, and with spare bits that are not zero. */
START_TEST(qdecimal_twins)
{
    uint64_t s = suite_seed("twin.qdecimal");
    uint8_t *fence = fenced();
    static double expect[QDECIMAL_MAX_N + QDECIMAL_SLACK];
    unsigned read = 0, refused = 0;
    for (unsigned round = 0; round < 6 * ROUNDS; round++) {
        uint32_t n = 2 + (round % ROUNDS <= SMALL_MAX ? round % ROUNDS : random_below(&s, QDECIMAL_MAX_N - 1));
        uint32_t groups = (n - 1 + 7) / 8, head = round % 3 ? n : 1 + random_below(&s, n);
        uint8_t codes[QDECIMAL_MAX_N / 16 + 1], bytes[QDECIMAL_MAX_N * 7];
        size_t size = 0;
        bool wide = random_below(&s, 8) == 0;
        for (uint32_t g = 0; g < groups; g++) {
            unsigned code = random_below(&s, wide ? 16 : 14), steps = g + 1 < groups ? 8 : (n - 2) % 8 + 1;
            codes[g / 2] = (uint8_t)(g % 2 ? codes[g / 2] | code << 4 : code);
            unsigned bits = steps * qdecimal_width[code];
            for (size_t end = size + (bits + 7) / 8; size < end; size++)
                bytes[size] = (uint8_t)random_u64(&s);
            if (bits % 8 && random_below(&s, 10))
                bytes[size - 1] &= (uint8_t)((1u << bits % 8) - 1);
        }
        if (random_below(&s, 10) == 0)
            size = random_below(&s, (uint32_t)size + 1);
        uint8_t *p = against(fence, size, round & 1);
        memcpy(p, bytes, size);
        double first = (double)((int64_t)random_u64(&s) >> (13 + random_below(&s, 40)));
        expect[0] = first;
        const uint8_t *end = qdecimal_groups_scalar(expect, codes, p, p + size, n, head);
        read += end != NULL;
        refused += end == NULL;
        EACH_LEVEL(level)
        {
            double *out = output_open();
            out[0] = first;
            ck_assert_msg(qdecimal_ops.groups(out, codes, p, p + size, n, head) == end, "groups %s n %u head %u",
                          cpu_level_name(level), n, head);
            output_check(out, (n + QDECIMAL_SLACK) * 8);
            ck_assert_msg(!end || memcmp(out, expect, head * 8) == 0, "groups %s n %u", cpu_level_name(level), n);
        }
    }
    ck_assert(read > ROUNDS && refused > ROUNDS / 4);
}
END_TEST

/* --- DDSketch, HLL --- */

START_TEST(ddsketch_twins)
{
    static const double alphas[] = {0.01, 0.05, 0.3, 1e-6, 0.99};
    uint64_t s = suite_seed("twin.ddsketch");
    uint8_t *fence = fenced();
    static int32_t expect[N_MAX];
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        size_t n = size_of_round(round % ROUNDS, &s);
        double *x = against(fence, n * 8, round & 1);
        struct gamma_map map;
        gamma_init(&map, alphas[round % 5]);
        fill_doubles((uint8_t *)x, n, random_below(&s, KINDS), &s);
        for (size_t i = 0; i < n; i += 7) /* edges, and the numbers beside them */
            x[i] = nextafter(gamma_representative(&map, (int32_t)random_below(&s, 400) - 200) / (1 + map.alpha),
                             (double)random_below(&s, 2) * 1e300);
        struct ddsketch_scan scan_expect, scan;
        ddsketch_scan_scalar(&scan_expect, x, n);
        ddsketch_indexes_scalar(&map, x, n, expect);
        EACH_LEVEL(level)
        {
            int32_t *out = output_open();
            ddsketch_ops.indexes(&map, x, n, out);
            ck_assert_msg(n == 0 || memcmp(out, expect, n * 4) == 0, "indexes %s n %zu", cpu_level_name(level), n);
            output_check(out, n * 4);
            memset(&scan, 0xff, sizeof scan);
            ddsketch_ops.scan(&scan, x, n);
            ck_assert_msg(memcmp(&scan, &scan_expect, sizeof scan) == 0, "scan %s n %zu", cpu_level_name(level), n);
        }
    }
}
END_TEST

/* Windows of few and of many bins, with counts around those that take two bytes. */
START_TEST(window_twins)
{
    enum { BLOCKS = DDWINDOW_BLOCKS_MAX };
    uint64_t s = suite_seed("twin.window");
    uint8_t *fence = fenced();
    for (unsigned round = 0; round < 4 * ROUNDS; round++) {
        size_t blocks = random_below(&s, BLOCKS + 1), bytes = blocks * DDWINDOW_BLOCK;
        uint8_t *samples = against(fence, bytes, round & 1), expect_bytes[2 * BLOCKS * DDWINDOW_BLOCK + 1];
        uint32_t share = 1 + random_below(&s, 64), most = 1 + random_below(&s, round % 5 ? 129 : 255);
        for (size_t i = 0; i < bytes; i++)
            samples[i] = random_below(&s, share) && i % DDWINDOW_BLOCK ? 0 : (uint8_t)(1 + random_below(&s, most));
        struct ddwindow_scan expect = {0}, scan;
        uint64_t used[BLOCKS], used_expect[BLOCKS] = {0};
        uint8_t *end = expect_bytes;
        size_t last = 0;
        for (size_t i = 0; i < bytes; i++) { /* as the byte table says */
            bool in_use = samples[i] != 0, many = samples[i] > 1;
            used_expect[i / DDWINDOW_BLOCK] |= (uint64_t)in_use << i % DDWINDOW_BLOCK;
            expect.bins_n += in_use;
            expect.many_n += many;
            expect.large |= samples[i] >= 130;
            if (!in_use || i == 0)
                continue;
            end = bits_put_varint(end, (i - last - 1) << 1 | many);
            if (many)
                *end++ = (uint8_t)(samples[i] - 2);
            last = i;
        }
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            ddsketch_ops.window_scan(&scan, samples, blocks, used);
            ck_assert_msg(memcmp(used, used_expect, blocks * 8) == 0, "used %s", cpu_level_name(level));
            ck_assert(scan.large == expect.large);
            ck_assert(expect.bins_n > 255 || (scan.bins_n == expect.bins_n && scan.many_n == expect.many_n));
            if (expect.large || blocks == 0)
                continue;
            used[0] &= ~UINT64_C(1);
            uint8_t *out = output_open();
            ck_assert_int_eq(ddsketch_ops.window_entries(out, samples, blocks, used) - out, end - expect_bytes);
            ck_assert_msg(memcmp(out, expect_bytes, (size_t)(end - expect_bytes)) == 0, "%s", cpu_level_name(level));
            output_check(out, (size_t)(end - expect_bytes) + 1);
        }
    }
}
END_TEST

START_TEST(add_bytes_twins)
{
    uint64_t s = suite_seed("twin.add_bytes");
    uint8_t *fence = fenced();
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t n = size_of_round(round, &s);
        uint8_t *bytes = against(fence, n, round & 1);
        uint64_t before[N_MAX];
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (uint8_t)random_u64(&s);
            before[i] = random_u64(&s);
        }
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            uint64_t *out = output_open();
            memcpy(out, before, n * 8);
            ddsketch_ops.add_bytes(out, bytes, n);
            for (size_t i = 0; i < n; i++)
                ck_assert_uint_eq(out[i], before[i] + bytes[i]);
            output_check(out, n * 8);
        }
    }
}
END_TEST

START_TEST(count_small_twins)
{
    uint64_t s = suite_seed("twin.count_small");
    uint8_t *fence = fenced();
    unsigned counted = 0;
    for (unsigned round = 0; round < 4 * ROUNDS; round++) {
        size_t size = round % ROUNDS;
        uint8_t *p = against(fence, size, round & 1);
        unsigned kind = random_below(&s, 4);
        for (size_t i = 0; i < size; i++) /* rows of counts short and long; now and then a long varint */
            p[i] = (uint8_t)(random_below(&s, 128) | (kind == 1 ? 1 : 0)) & (kind == 2 && i % 9 ? 0xfe : 0xff);
        if (kind == 3 && size > 0)
            p[random_below(&s, (uint32_t)size)] |= 128;
        bool is_count = random_below(&s, 4) == 0, count_at_start = is_count;
        uint64_t expect = 0;
        size_t some = 0;
        for (; some < size && p[some] < 128; some++) { /* as the byte table says */
            expect += is_count ? 1u + p[some] : 1;
            is_count = !is_count && (p[some] & 1);
        }
        counted += some > 64;
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            uint64_t got = 0, state = count_at_start;
            ck_assert_uint_eq(ddsketch_ops.count_small(p, size, &state, &got), some);
            ck_assert_uint_eq(got, expect);
            ck_assert_uint_eq(state, is_count);
        }
    }
    ck_assert(counted > ROUNDS);
}
END_TEST

START_TEST(hll_twins)
{
    uint64_t s = suite_seed("twin.hll");
    uint8_t *fence = fenced();
    static uint32_t expect[N_MAX];
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t n = size_of_round(round, &s);
        uint32_t p = 4 + random_below(&s, 15);
        uint64_t seed = random_u64(&s);
        double *values = against(fence, n * 8, round & 1);
        fill_doubles((uint8_t *)values, n, random_below(&s, KINDS), &s);
        uint32_t above = round % 3 ? random_below(&s, 5) : 0;
        size_t some = hll_coupons_scalar(expect, values, n, p, seed, above);
        ck_assert(above > 0 || some == n);
        EACH_LEVEL(level)
        {
            uint32_t *out = output_open();
            ck_assert_uint_eq(hll_ops.coupons(out, values, n, p, seed, above), some);
            ck_assert_msg(n == 0 || memcmp(out, expect, some * 4) == 0, "coupons %s n %zu", cpu_level_name(level), n);
            output_check(out, (n + HLL_COUPONS_SLACK) * 4);
        }
        size_t m = (size_t)16 << random_below(&s, 9);
        uint8_t *src = round & 1 ? anywhere(fence, m, round / 2) : fence;
        static uint8_t before[8192], united[8192], others[6][8192];
        const uint8_t *srcs[7] = {src};
        uint32_t src_n = random_below(&s, 8);
        unsigned below = 1 + random_below(&s, 62);
        for (size_t i = 0; i < m; i++) {
            src[i] = (uint8_t)random_below(&s, below);
            united[i] = before[i] = (uint8_t)random_below(&s, 62);
        }
        uint64_t used_expect[128] = {0}, used[128];
        size_t used_n = 0;
        for (size_t i = 0; i < m; i++) {
            src[i] = random_below(&s, 3) ? src[i] : 0;
            used_n += src[i] != 0;
            used_expect[i / 64] |= (uint64_t)(src[i] != 0) << i % 64;
        }
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            ck_assert_uint_eq(hll_ops.used(used, src, m), used_n);
            ck_assert_msg(memcmp(used, used_expect, (m + 63) / 64 * 8) == 0, "used %s m %zu", cpu_level_name(level), m);
        }
        uint32_t many_expect[64], *many;
        for (uint32_t j = 1; j < 7; j++) {
            srcs[j] = others[j - 1];
            for (size_t i = 0; i < m; i++)
                others[j - 1][i] = (uint8_t)random_below(&s, below);
        }
        for (uint32_t j = 0; j < src_n; j++)
            for (size_t i = 0; i < m; i++)
                united[i] = srcs[j][i] > united[i] ? srcs[j][i] : united[i];
        hll_histogram_scalar(src, m, many_expect);
        EACH_LEVEL(level)
        {
            uint8_t *out = output_open();
            memcpy(out, before, m);
            hll_ops.raise(out, srcs, src_n, m);
            ck_assert_msg(memcmp(out, united, m) == 0, "raise %s m %zu", cpu_level_name(level), m);
            output_check(out, m);
            many = output_open();
            hll_ops.histogram(src, m, many);
            output_check(many, sizeof many_expect);
            ck_assert_msg(memcmp(many, many_expect, sizeof many_expect) == 0, "histogram %s m %zu",
                          cpu_level_name(level), m);
        }
    }
}
END_TEST

/* Steps of every length, their varints put one after the other. */
START_TEST(hll_steps_twins)
{
    uint64_t s = suite_seed("twin.hll_steps");
    uint8_t *fence = fenced();
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        uint32_t n = (uint32_t)size_of_round(round % ROUNDS, &s), before = random_below(&s, 100), coupon = before;
        uint32_t *coupons = against(fence, n * 4, round & 1);
        uint8_t expect[4 * N_MAX], *end = expect;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t most = (UINT32_C(1) << 28) - 1 - coupon;
            uint32_t step = (uint32_t)(random_u64(&s) >> (36 + random_below(&s, 28)));
            step = step > most ? most : step;
            coupons[i] = coupon += step;
            end = bits_put_varint(end, step);
        }
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            uint8_t *out = output_open();
            ck_assert_int_eq(hll_ops.steps(out, coupons, n, before) - out, end - expect);
            ck_assert_msg(memcmp(out, expect, (size_t)(end - expect)) == 0, "steps %s n %u", cpu_level_name(level), n);
            output_check(out, 4 * (size_t)n);
        }
    }
}
END_TEST

/* What is taken of a sparse state's bytes is what its varints say. */
START_TEST(hll_sparse_twins)
{
    uint64_t s = suite_seed("twin.hll_sparse");
    uint8_t *fence = fenced();
    uint64_t taken_most = 0;
    for (unsigned round = 0; round < 4 * ROUNDS; round++) {
        uint8_t bytes[2000 + 10], *end = bytes + 2;
        uint32_t n = random_below(&s, SMALL_MAX), long_ones = round % 4 == 3;
        bytes[0] = bytes[1] = 0xff;
        for (uint32_t i = 0; i < n; i++)
            end = bits_put_varint(end, random_u64(&s) >> (43 + random_below(&s, 20) - long_ones * random_below(&s, 7)));
        size_t size = (size_t)(end - bytes) - 2;
        uint8_t *p = against(fence, size + 2, round & 1);
        memcpy(p, bytes, size + 2);
        p += 2;
        EACH_LEVEL(level)
        {
            uint32_t *out = output_open();
            uint64_t sum = 0;
            size_t taken = 0, got = hll_ops.sparse(out, p, size, &sum, &taken);
            output_check(out, HLL_SPARSE_ROOM * 4);
            const uint8_t *at = p;
            uint64_t step, sum_expect = 0;
            for (size_t i = 0; i < got; i++) {
                at = bits_get_varint(at, p + size, &step);
                ck_assert_ptr_nonnull(at);
                sum_expect += step;
                ck_assert_uint_eq(out[i], step);
            }
            ck_assert(got == 0 || sum == sum_expect);
            ck_assert(got == 0 || at == p + taken);
            taken_most = taken > taken_most ? taken : taken_most;
        }
    }
    ck_assert(cpu_most() < CPU_AVX2 || taken_most > 200);
}
END_TEST

START_TEST(counters_item_twins)
{
    uint64_t s = suite_seed("twin.counters_item");
    uint8_t *fence = fenced(), *behind = fenced();
    static uint64_t hashes[N_MAX];
    static uint32_t places[5 * (N_MAX + 2)];
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t n = size_of_round(round, &s);
        uint32_t width = 8 + random_below(&s, round % 3 ? 3000 : 1 << 22);
        uint64_t seed = random_u64(&s);
        uint32_t depth = 1 + round % 5; /* of rows with room between them */
        size_t stride = n + round % 3;
        bool is_signed = round & 2;
        uint64_t *items = against(fence, n * 8, round & 1), *hash = against(behind, n * 8, round & 1);
        for (size_t i = 0; i < n; i++)
            items[i] = random_below(&s, 3) ? random_u64(&s) : random_below(&s, 9);
        for (size_t i = 0; i < n; i++)
            hashes[i] = counters_hash(items[i], seed);
        memcpy(hash, hashes, n * 8);
        for (uint32_t r = 0; r < depth; r++)
            for (size_t i = 0; i < n; i++)
                places[r * stride + i] =
                    counters_index(hashes[i] * counters_odd[r], width) |
                    (is_signed && counters_is_minus(hashes[i] * counters_odd[r]) ? COUNTERS_MINUS : 0);
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            uint64_t *out = output_open();
            counters_ops.hashes(out, items, n, seed);
            ck_assert_msg(memcmp(out, hashes, n * 8) == 0, "hashes %s n %zu", cpu_level_name(level), n);
            output_check(out, n * 8);
            uint32_t *at = output_open();
            counters_ops.places(at, stride, hash, n, depth, width, is_signed);
            for (uint32_t r = 0; r < depth; r++) {
                ck_assert_msg(memcmp(at + r * stride, places + r * stride, n * 4) == 0, "places %s n %zu",
                              cpu_level_name(level), n);
                for (size_t i = n; i < stride; i++)
                    ck_assert_uint_eq(at[r * stride + i], UINT32_C(0xa5a5a5a5));
            }
            output_check(at, depth * stride * 4);
        }
    }
}
END_TEST

/* Arrays of any address, counters up to the ends of their range. */
START_TEST(counters_table_twins)
{
    enum { TABLES = 21, WIDTH_MAX = 300 };
    uint64_t s = suite_seed("twin.counters_table");
    uint8_t *fence = fenced(), *behind = fenced(), *front = fenced();
    static uint8_t bytes[TABLES][N_MAX * 4 + 3];
    static uint32_t before[N_MAX], expect[N_MAX];
    static double read_expect[N_MAX];
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t n = size_of_round(round, &s), k = random_below(&s, TABLES + 1);
        const uint8_t *src[TABLES];
        for (size_t j = 0; j < k; j++) {
            for (size_t i = 0; i < sizeof bytes[j]; i++)
                bytes[j][i] = (uint8_t)random_u64(&s);
            src[j] = bytes[j] + j % 4;
        }
        if (k > 0) /* one of them ends, or begins, at a fence */
            src[round % k] = memcpy(against(fence, n * 4, round & 1), src[round % k], n * 4);
        for (size_t i = 0; i < n; i++)
            expect[i] = before[i] = (uint32_t)random_u64(&s);
        for (size_t j = 0; j < k; j++)
            for (size_t i = 0; i < n; i++)
                expect[i] += bits_load_u32(src[j] + 4 * i);
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            uint32_t *out = output_open();
            memcpy(out, before, n * 4);
            counters_ops.add_up(out, src, k, n);
            ck_assert_msg(memcmp(out, expect, n * 4) == 0, "add_up %s n %zu k %zu", cpu_level_name(level), n, k);
            output_check(out, n * 4);
        }
        uint32_t depth = 1 + random_below(&s, COUNTERS_DEPTH_MAX), width = 8 + random_below(&s, WIDTH_MAX);
        size_t items = n < 70 ? n : n % 70, stride = items + random_below(&s, 3);
        uint32_t *cells = against(behind, (size_t)depth * width * 4, round & 1);
        uint32_t *places = against(front, depth * stride * 4, round & 1);
        bool is_signed = round & 2;
        for (size_t i = 0; i < (size_t)depth * width; i++)
            cells[i] = (uint32_t)(random_below(&s, 9) ? random_u64(&s) >> random_below(&s, 64) : UINT32_C(0x80000001));
        for (size_t i = 0; i < depth * stride; i++)
            places[i] = random_below(&s, width) | (is_signed && random_below(&s, 2) ? COUNTERS_MINUS : 0);
        for (size_t i = 0; i < items; i++) {
            double rows[COUNTERS_DEPTH_MAX], least = INFINITY;
            for (uint32_t r = 0; r < depth; r++) {
                uint32_t place = places[r * stride + i], cell = cells[r * width + (place & ~COUNTERS_MINUS)];
                rows[r] = !is_signed ? (double)cell : (place & COUNTERS_MINUS ? -1.0 : 1.0) * (double)(int32_t)cell;
                least = fmin(least, rows[r]);
            }
            read_expect[i] = is_signed ? counters_median(rows, depth) : least;
        }
        for (enum cpu_level level = CPU_SCALAR; level <= cpu_most() && cpu_force(level) == level; level++) {
            double *out = output_open();
            (is_signed ? counters_ops.median : counters_ops.least)(out, cells, places, stride, items, depth, width);
            for (size_t i = 0; i < items; i++)
                ck_assert_msg(out[i] == read_expect[i], "%s item %zu: %.17g, not %.17g", cpu_level_name(level), i,
                              out[i], read_expect[i]);
            output_check(out, items * 8);
        }
    }
}
END_TEST

/* The hash of eight bytes is the library's. */
START_TEST(hash8_is_xxh3)
{
    uint64_t s = suite_seed("twin.hash8");
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t bits = random_u64(&s), seed = round % 3 ? random_u64(&s) : round;
        ck_assert_uint_eq(hash8(bits, hash8_flip(seed)), XXH3_64bits_withSeed(&bits, sizeof bits, seed));
    }
}
END_TEST

/* The environment lowers the level, cpu_force never raises it above the machine's. */
START_TEST(levels)
{
    const char *mask = getenv("MULLION_CPU");
    printf("twin: this machine has %s, MULLION_CPU is %s\n", cpu_level_name(cpu_most()), mask ? mask : "not set");
    for (enum cpu_level level = CPU_SCALAR; level <= CPU_AVX512; level++) {
        if (mask && strcmp(mask, cpu_level_name(level)) == 0)
            ck_assert_int_eq(cpu_level(), level < cpu_most() ? level : cpu_most());
    }
    ck_assert(cpu_level() <= cpu_most());
    ck_assert_int_eq(cpu_force(CPU_AVX512), cpu_most());
    ck_assert_int_eq(cpu_force(CPU_SCALAR), CPU_SCALAR);
    ck_assert(order_ops.sort == order_sort_scalar && frame_ops.unpack == frame_unpack_scalar);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("twin");
    TCase *tc = tcase_create("twin");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, levels);
    tcase_add_test(tc, order_twins);
    tcase_add_test(tc, order_shapes);
    tcase_add_test(tc, unpack_twins);
    tcase_add_test(tc, frame_integer_twins);
    tcase_add_test(tc, frame_double_twins);
    tcase_add_test(tc, qdecimal_twins);
    tcase_add_test(tc, ddsketch_twins);
    tcase_add_test(tc, window_twins);
    tcase_add_test(tc, add_bytes_twins);
    tcase_add_test(tc, count_small_twins);
    tcase_add_test(tc, hll_twins);
    tcase_add_test(tc, hll_steps_twins);
    tcase_add_test(tc, hll_sparse_twins);
    tcase_add_test(tc, counters_item_twins);
    tcase_add_test(tc, counters_table_twins);
    tcase_add_test(tc, hash8_is_xxh3);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
