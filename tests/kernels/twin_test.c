/* Twins of what sorts, decodes and indexes samples: order, frames, packed panes, DDSketch. (How: twin.h.) */
#include "kernels/ddwindow.h"
#include "kernels/frame_internal.h"
#include "kernels/gamma.h"
#include "kernels/order.h"
#include "kernels/qdecimal.h"
#include "twin.h"

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
            static double doubles[N_MAX];
            order_values_scalar(doubles, keys, n);
            order_ops.values((double *)(void *)out, keys, n);
            ck_assert_msg(n == 0 || memcmp(out, doubles, n * 8) == 0, "values %s n %zu", cpu_level_name(level), n);
            output_check(out, n * 8);
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
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
