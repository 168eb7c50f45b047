/*
 * Frames and raw chunks: bit-exact for every double, inside their bounds, as small as docs/FORMATS.md says, and safe on
 * hostile bytes (buffers are of the exact size, so that a sanitizer sees any byte read past the end).
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/frame.h"
#include "random.h"
#include "suite.h"

enum { ROOM = FRAME_MAX_N + FRAME_SLACK };

static uint8_t *scratch;
static int64_t times_in[FRAME_MAX_N], times_out[ROOM];
static double values_in[FRAME_MAX_N], values_out[ROOM];

static void setup(void)
{
    scratch = malloc(frame_scratch(FRAME_MAX_N));
    ck_assert_ptr_nonnull(scratch);
}

static void teardown(void)
{
    free(scratch);
}

static double from_bits(uint64_t u)
{
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static const uint64_t odd_bits[] = {
    0,                            /* 0 */
    UINT64_C(1) << 63,            /* -0 */
    UINT64_C(0x7ff0000000000000), /* Inf */
    UINT64_C(0xfff0000000000000), /* -Inf */
    UINT64_C(0x7ff0000000000002), /* the stale marker: a signalling NaN */
    UINT64_C(0x7ff8000000000001), /* Prometheus' NaN */
    UINT64_C(0x7ff4000000000000), /* signalling */
    UINT64_C(0xfff8dead0000beef), /* payload and sign */
    1,                            /* least denormal */
    UINT64_C(0x800fffffffffffff), /* greatest negative denormal */
    UINT64_C(0x7fefffffffffffff), /* greatest finite */
    UINT64_C(0x0010000000000000), /* least normal */
};
enum { ODD_N = sizeof odd_bits / sizeof *odd_bits };

enum { KINDS = 12 };

/* Streams of one kind each; `sum` is the stream's memory. */
static double next_value(uint64_t *s, unsigned kind, double *sum)
{
    uint64_t r = random_u64(s);
    switch (kind) {
    case 0:
        return from_bits(r);
    case 1:
        return from_bits(odd_bits[r % ODD_N]);
    case 2:
        return (double)(r % 100000) / 1000;
    case 3:
        return (double)(r >> 12);
    case 4:
        return (double)(r >> 11) * 0x1p-53;
    case 5:
        return r % 20 ? (double)(r % 1000) / 10 : from_bits(odd_bits[(r >> 32) % ODD_N]);
    case 6:
        return -(double)(r % 5000000000) / 100;
    case 7:
        return (double)(r % 5000000000) / 1000.0 / 1000.0;
    case 8:
        return r % 3 ? (double)(r % 3) : from_bits(random_u64(s));
    case 9:
        return *sum += (double)(r % 1000) / 100; /* sums of decimals drift by ulps */
    case 10:
        return *sum = r % 50 ? *sum + (double)(r % 100) : 0; /* a counter with resets */
    default:
        return (double)(int64_t)(r & ~UINT64_C(0xfff)); /* multiples of a page */
    }
}

static void fill_values(uint64_t *s, unsigned kind, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        double v = next_value(s, kind, &sum);
        memcpy(&values_in[i], &v, sizeof v);
    }
}

static void fill_times(uint64_t *s, uint32_t n)
{
    unsigned kind = random_below(s, 4);
    int64_t t = (int64_t)(random_u64(s) >> (20 + random_below(s, 40))) - (INT64_C(1) << 40);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t r = random_u64(s);
        t += kind == 0   ? 15000
             : kind == 1 ? 15000 + (int64_t)(r % 41) - 20
             : kind == 2 ? 1 + (int64_t)(r >> (30 + (r & 31)))
                         : (r % 30 ? 1000 : 7000);
        times_in[i] = t;
    }
}

/* Encodes values_in into a buffer of the exact size; the caller frees it. */
static uint8_t *encode_exact(uint32_t n, size_t *ret_size)
{
    size_t cap = frame_bound(n);
    uint8_t *wide = malloc(cap);
    *ret_size = frame_encode_f64(wide, cap, values_in, n, scratch);
    ck_assert_uint_gt(*ret_size, 0);
    ck_assert_uint_le(*ret_size, cap);
    uint8_t *exact = malloc(*ret_size);
    memcpy(exact, wide, *ret_size);
    free(wide);
    return exact;
}

static void check_round_trip(uint32_t n)
{
    size_t size;
    uint8_t *bytes = encode_exact(n, &size);
    memset(values_out, 0xa5, sizeof values_out);
    ck_assert_uint_eq(frame_decode_f64(bytes, size, n, values_out), size);
    ck_assert_mem_eq(values_out, values_in, n * 8);
    for (uint32_t want = 0; want <= n; want += 1 + want) {
        memset(values_out, 0xa5, sizeof values_out);
        ck_assert_uint_eq(frame_decode_head_f64(bytes, size, n, want, values_out), size);
        ck_assert_mem_eq(values_out, values_in, want * 8);
    }
    ck_assert_uint_eq(frame_decode_f64(bytes, size - 1, n, values_out), 0);
    free(bytes);
}

START_TEST(every_size_and_kind_comes_back)
{
    uint64_t s = suite_seed("every_size_and_kind_comes_back");
    for (uint32_t n = 1; n <= FRAME_MAX_N; n++) {
        fill_values(&s, n % KINDS, n);
        check_round_trip(n);
    }
    for (unsigned round = 0; round < 4000; round++) {
        uint32_t n = 1 + random_below(&s, round % 4 ? 130 : FRAME_MAX_N);
        fill_values(&s, random_below(&s, KINDS), n);
        check_round_trip(n);
    }
}
END_TEST

START_TEST(every_odd_double_comes_back)
{
    for (unsigned a = 0; a < ODD_N; a++) {
        for (unsigned b = 0; b < ODD_N; b++) {
            for (uint32_t i = 0; i < 40; i++) {
                uint64_t bits = odd_bits[i % 13 == 5 ? b : a];
                memcpy(&values_in[i], &bits, 8);
            }
            check_round_trip(40);
            check_round_trip(1);
            for (uint32_t i = 0; i < 40; i++)
                values_in[i] = i == 17 ? from_bits(odd_bits[a]) : (double)i / 10;
            memcpy(&values_in[17], &odd_bits[a], 8);
            check_round_trip(40);
        }
    }
}
END_TEST

START_TEST(every_bit_pattern_width_comes_back)
{
    uint64_t s = suite_seed("every_bit_pattern_width_comes_back");
    for (unsigned bit = 0; bit < 64; bit++) {
        for (uint32_t n = 1; n <= 65; n += 8) {
            for (uint32_t i = 0; i < n; i++) {
                uint64_t u = random_u64(&s) >> bit;
                memcpy(&values_in[i], &u, 8);
            }
            check_round_trip(n);
            for (uint32_t i = 0; i < n; i++) {
                uint64_t u = i % 9 == 8 ? random_u64(&s) : random_u64(&s) << bit;
                memcpy(&values_in[i], &u, 8);
            }
            check_round_trip(n);
        }
    }
}
END_TEST

static void check_integers(const int64_t *v, uint32_t n)
{
    uint8_t bytes[56 + 8 * FRAME_MAX_N];
    size_t size = frame_encode_i64(bytes, sizeof bytes, v, n, scratch);
    ck_assert_uint_gt(size, 0);
    ck_assert_uint_le(size, frame_bound(n));
    ck_assert_uint_eq(frame_decode_i64(bytes, size, n, times_out), size);
    ck_assert_mem_eq(times_out, v, n * 8);
    ck_assert_uint_eq(frame_decode_i64(bytes, size - 1, n, times_out), 0);
}

START_TEST(integers_come_back)
{
    uint64_t s = suite_seed("integers_come_back");
    for (unsigned round = 0; round < 4000; round++) {
        uint32_t n = 1 + random_below(&s, FRAME_MAX_N);
        unsigned narrow = random_below(&s, 64), outlier = 2 + random_below(&s, 200);
        int64_t slope = (int64_t)random_u64(&s) >> random_below(&s, 64);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t noise = random_u64(&s) >> (i % outlier == outlier - 1 ? 0 : narrow);
            times_in[i] = (int64_t)((uint64_t)slope * i + noise);
        }
        check_integers(times_in, n);
    }
    int64_t extremes[] = {INT64_MIN, INT64_MAX, INT64_MIN, 0, -1, INT64_MAX};
    for (uint32_t n = 1; n <= 6; n++)
        check_integers(extremes, n);
}
END_TEST

START_TEST(sizes_out_of_range_are_refused)
{
    uint8_t bytes[56 + 8 * FRAME_MAX_N];
    ck_assert_uint_eq(frame_encode_f64(bytes, sizeof bytes, values_in, 0, scratch), 0);
    ck_assert_uint_eq(frame_encode_f64(bytes, sizeof bytes, values_in, FRAME_MAX_N + 1, scratch), 0);
    ck_assert_uint_eq(frame_encode_f64(bytes, frame_bound(4) - 1, values_in, 4, scratch), 0);
    ck_assert_uint_eq(frame_encode_i64(bytes, frame_bound(4) - 1, times_in, 4, scratch), 0);
    ck_assert_uint_eq(frame_decode_f64(bytes, sizeof bytes, 0, values_out), 0);
    ck_assert_uint_eq(frame_decode_f64(bytes, sizeof bytes, FRAME_MAX_N + 1, values_out), 0);
}
END_TEST

/* One malformed field each, over 4 values; a good frame of 4 is h0 0, h1 0, base. */
START_TEST(malformed_fields_are_refused)
{
    static const struct {
        const char *what;
        uint8_t bytes[40];
    } rows[] = {
        {"lane code 59", {0, 59, 0}},
        {"shift 0", {16, 0, 0, 0}},
        {"shift 64", {16, 0, 64, 0}},
        {"no patches", {32, 1, 0, 1, 0}},
        {"patch width 0", {32, 1, 1, 0, 0}},
        {"patch width code 59", {32, 1, 1, 59, 0}},
        {"patch bit 7", {32, 1, 1, 129, 0}},
        {"patches over a full lane", {32, 58, 1, 1, 0}},
        {"more patches than residuals", {32, 1, 5, 1, 0, 0, 0, 1, 2, 3, 4, 0}},
        {"patch position too high", {32, 1, 1, 1, 0, 0, 4, 0}},
        {"patch positions do not rise", {32, 1, 2, 1, 0, 0, 1, 1, 0}},
        {"no exceptions", {64, 0, 0, 0}},
        {"more exceptions than values", {64, 0, 5, 0, 0, 1, 2, 3, 4}},
        {"exception position too high", {64, 0, 1, 0, 4}},
        {"exceptions of ordered bits", {64 + 15, 0, 1, 0, 0}},
        {"correction width 0", {128, 0, 0, 0, 0}},
        {"correction width 7", {128, 0, 7, 0, 0}},
        {"corrections of ordered bits", {128 + 15, 0, 1, 0, 0}},
        {"varint over 64 bits", {0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2}},
        {"decimal out of range", {3, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(frame_decode_f64(rows[i].bytes, sizeof rows[i].bytes, 4, values_out) == 0, "%s", rows[i].what);
    const uint8_t good[] = {0, 0, 14}, second_of_one[] = {0, 2 << 6, 0, 0, 0}, scaled[] = {1, 0, 14};
    ck_assert_uint_eq(frame_decode_f64(good, 3, 4, values_out), 3);
    ck_assert_double_eq(values_out[3], 7);
    ck_assert_uint_eq(frame_decode_f64(second_of_one, 5, 1, values_out), 0);
    ck_assert_uint_eq(frame_decode_i64(scaled, 3, 4, times_out), 0);
}
END_TEST

/* A chunk of values_in and times_in in a buffer of the exact size. */
static uint8_t *chunk_exact(uint32_t n, size_t *ret_size)
{
    uint8_t *wide = malloc(chunk_bound(n));
    *ret_size = chunk_encode(wide, chunk_bound(n), times_in, values_in, n, scratch);
    ck_assert_uint_gt(*ret_size, 0);
    ck_assert_uint_le(*ret_size, chunk_bound(n));
    uint8_t *exact = malloc(*ret_size);
    memcpy(exact, wide, *ret_size);
    free(wide);
    return exact;
}

START_TEST(chunks_come_back)
{
    uint64_t s = suite_seed("chunks_come_back");
    for (unsigned round = 0; round < 2000; round++) {
        uint32_t n = 1 + random_below(&s, FRAME_MAX_N), got = 0;
        size_t size;
        fill_values(&s, random_below(&s, KINDS), n);
        fill_times(&s, n);
        uint8_t *bytes = chunk_exact(n, &size);
        struct chunk_head head;
        ck_assert_int_eq(chunk_peek(bytes, size, &head), 0);
        ck_assert_uint_eq(head.n, n);
        ck_assert_int_eq(head.first_ms, times_in[0]);
        ck_assert_int_eq(chunk_decode(bytes, size, times_out, values_out, &got), 0);
        ck_assert_uint_eq(got, n);
        ck_assert_mem_eq(times_out, times_in, n * 8);
        ck_assert_mem_eq(values_out, values_in, n * 8);
        ck_assert_int_eq(chunk_decode(bytes, size - 1, times_out, values_out, &got), -1);
        free(bytes);
    }
}
END_TEST

START_TEST(chunks_refuse_what_the_table_does_not_allow)
{
    uint8_t bytes[12 + 2 * (56 + 8 * 4) + 1];
    uint32_t n = 0;
    memcpy(times_in, (int64_t[]){1000, 2000, 2500}, 24);
    memcpy(values_in, (double[]){1, 2.5, 4}, 24);
    size_t size = chunk_encode(bytes, sizeof bytes, times_in, values_in, 3, scratch);
    ck_assert_int_eq(chunk_decode(bytes, size, times_out, values_out, &n), 0);
    ck_assert_int_eq(chunk_decode(bytes, size + 1, times_out, values_out, &n), -1);
    static const struct {
        uint8_t at, value;
    } flips[] = {{0, 2}, {1, 2}, {2, 0}, {2, 4}, {3, 2}};
    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        uint8_t keep = bytes[flips[i].at];
        bytes[flips[i].at] = flips[i].value;
        ck_assert_int_eq(chunk_decode(bytes, size, times_out, values_out, &n), -1);
        bytes[flips[i].at] = keep;
    }
    memset(bytes + 4, 0xff, 7); /* first time INT64_MAX: the next one would overflow */
    bytes[11] = 0x7f;
    ck_assert_int_eq(chunk_decode(bytes, size, times_out, values_out, &n), -1);
    memcpy(times_in, (int64_t[]){1000, 1000, 2500}, 24);
    ck_assert_uint_eq(chunk_encode(bytes, sizeof bytes, times_in, values_in, 3, scratch), 0);
}
END_TEST

START_TEST(hostile_bytes_are_safe)
{
    uint64_t s = suite_seed("hostile_bytes_are_safe");
    for (unsigned round = 0; round < 3000; round++) {
        uint32_t n = 1 + random_below(&s, round % 4 ? 60 : FRAME_MAX_N), got = 0;
        size_t size;
        fill_values(&s, random_below(&s, KINDS), n);
        fill_times(&s, n);
        uint8_t *bytes = chunk_exact(n, &size);
        for (unsigned flips = 0; flips < 8; flips++) {
            size_t cut = flips % 4 == 3 ? random_below(&s, (uint32_t)size) : size;
            uint8_t *bad = malloc(cut ? cut : 1);
            memcpy(bad, bytes, cut);
            for (unsigned f = 0; f <= flips && cut; f++)
                bad[random_below(&s, (uint32_t)(f % 2 || cut < 40 ? cut : 40))] ^= (uint8_t)(1u << random_below(&s, 8));
            if (chunk_decode(bad, cut, times_out, values_out, &got) == 0) {
                ck_assert_uint_ge(got, 1);
                ck_assert_uint_le(got, FRAME_MAX_N);
                for (uint32_t i = 1; i < got; i++)
                    ck_assert_int_gt(times_out[i], times_out[i - 1]);
            }
            free(bad);
        }
        uint8_t *noise = malloc(size);
        for (size_t i = 0; i < size; i++)
            noise[i] = (uint8_t)random_u64(&s);
        ck_assert_uint_le(frame_decode_f64(noise, size, n, values_out), size);
        ck_assert_uint_le(frame_decode_i64(noise, size, n, times_out), size);
        free(noise);
        free(bytes);
    }
}
END_TEST

enum { SIZED_N = 120, SIZED_CHUNKS = 200 };

/* Bytes a sample, all in, of 120 samples every 15 s: the measure of docs/FORMATS.md. */
static double bytes_a_sample(uint64_t *s, double (*next)(uint64_t *s, double *memory))
{
    size_t total = 0;
    double memory = 0;
    for (unsigned c = 0; c < SIZED_CHUNKS; c++) {
        for (uint32_t i = 0; i < SIZED_N; i++) {
            times_in[i] = 1700000000000 + 15000 * (int64_t)i;
            values_in[i] = next(s, &memory);
        }
        size_t size;
        free(chunk_exact(SIZED_N, &size));
        total += size;
    }
    return (double)total / (SIZED_N * SIZED_CHUNKS);
}

static double lognormal_3(uint64_t *s, double *memory)
{
    return round(exp(4 + 0.5 * random_normal(s)) * 1000) / 1000;
}
static double requests(uint64_t *s, double *memory)
{
    return *memory += 20 + random_below(s, 60);
}
static double cpu_seconds(uint64_t *s, double *memory)
{
    return (*memory += 1480 + random_below(s, 20)) / 100; /* clock ticks */
}
static double full_mantissa(uint64_t *s, double *memory)
{
    return random_unit(s);
}
static double constant(uint64_t *s, double *memory)
{
    return 1.5;
}

START_TEST(sizes_are_as_documented)
{
    uint64_t s = suite_seed("sizes_are_as_documented");
    static const struct {
        const char *what;
        double (*next)(uint64_t *s, double *memory);
        double documented;
    } rows[] = {{"three-decimal lognormal", lognormal_3, 2.30},
                {"counters", requests, 1.2},
                {"cpu seconds", cpu_seconds, 0.82},
                {"full mantissa", full_mantissa, 7.2},
                {"constants", constant, 0.20}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = bytes_a_sample(&s, rows[i].next);
        printf("%s: %.3f bytes a sample (%.2f)\n", rows[i].what, got, rows[i].documented);
        ck_assert_msg(got <= rows[i].documented * 1.05, "%s: %.3f bytes a sample", rows[i].what, got);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels/frame");
    TCase *c = tcase_create("frame");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, every_size_and_kind_comes_back);
    tcase_add_test(c, every_odd_double_comes_back);
    tcase_add_test(c, every_bit_pattern_width_comes_back);
    tcase_add_test(c, integers_come_back);
    tcase_add_test(c, sizes_out_of_range_are_refused);
    tcase_add_test(c, malformed_fields_are_refused);
    tcase_add_test(c, chunks_come_back);
    tcase_add_test(c, chunks_refuse_what_the_table_does_not_allow);
    tcase_add_test(c, hostile_bytes_are_safe);
    tcase_add_test(c, sizes_are_as_documented);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
