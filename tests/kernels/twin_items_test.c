/* Twins of what hashes values and items: HLL's coupons and registers, arrays of counters. (How: twin.h.) */
#include <xxhash.h>

#include "kernels/counters.h"
#include "kernels/hll_loops.h"
#include "twin.h"

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
        uint64_t *items =
            against(fence, n * 8, ~round & 1); /* bits of any doubles: -0 and each NaN are items of their own */
        for (size_t i = 0; i < n; i++)
            items[i] = round % 3 ? items[i] : random_u64(&s);
        some = hll_item_coupons_scalar(expect, items, n, p, seed, above);
        for (size_t i = 0, at = 0; i < n; i++) {
            uint64_t hash = XXH3_64bits_withSeed(&items[i], 8, seed);
            uint32_t rho = 1;
            while (rho <= 64 - p && !(hash << p << (rho - 1) >> 63))
                rho++;
            if (rho > above)
                ck_assert_uint_eq(expect[at++], (uint32_t)(hash >> (64 - p)) << HLL_RHO_BITS | rho);
        }
        EACH_LEVEL(level)
        {
            uint32_t *out = output_open();
            ck_assert_uint_eq(hll_ops.item_coupons(out, items, n, p, seed, above), some);
            ck_assert_msg(n == 0 || memcmp(out, expect, some * 4) == 0, "item coupons %s n %zu", cpu_level_name(level),
                          n);
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

int main(void)
{
    Suite *suite = suite_create("twin_items");
    TCase *tc = tcase_create("twin_items");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, hll_twins);
    tcase_add_test(tc, hll_steps_twins);
    tcase_add_test(tc, hll_sparse_twins);
    tcase_add_test(tc, counters_item_twins);
    tcase_add_test(tc, counters_table_twins);
    tcase_add_test(tc, hash8_is_xxh3);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
