/*
 * Histograms as bytes: whatever is sound comes back bit for bit, alone and in chunks, and whatever is not a chunk is
 * refused. Soundness itself: Prometheus' rules, one broken at a time.
 */
#include <math.h>

#include "base/err.h"
#include "base/histogram_chunk.h"
#include "base/histograms.h"
#include "suite.h"

static struct err e;
static struct arena arena;

static void setup(void)
{
    arena_init(&arena, 0);
}

static void teardown(void)
{
    arena_done(&arena);
}

/* ---- soundness ---- */

/* count 10 = zero 1 + negative 2 + positive 3 + 4 */
static struct histogram_exact sound(void)
{
    static const struct histogram_span negative[] = {{-3, 1}}, positive[] = {{2, 1}, {0, 0}, {4, 1}};
    static const uint64_t two[] = {2}, three_four[] = {3, 4};
    return (struct histogram_exact){.schema = 3,
                                    .zero_threshold = 0.001,
                                    .sum = 12.5,
                                    .count = 10,
                                    .zero_count = 1,
                                    .negative = {negative, two, 1, 1},
                                    .positive = {positive, three_four, 3, 2}};
}

static struct histogram_exact sound_custom(void)
{
    static const struct histogram_span spans[] = {{0, 2}, {1, 1}};
    static const uint64_t counts[] = {1, 2, 3};
    static const double bounds[] = {-1, 0.5, 10};
    return (struct histogram_exact){.schema = HISTOGRAM_SCHEMA_CUSTOM,
                                    .sum = 3,
                                    .count = 6,
                                    .positive = {spans, counts, 2, 3},
                                    .custom = bounds,
                                    .custom_n = 3};
}

static void refused(const struct histogram_exact *h, const char *part)
{
    const char *fault = histogram_exact_fault(h);
    ck_assert_msg(fault && strstr(fault, part), "%s instead of: %s", fault ? fault : "sound", part);
}

START_TEST(soundness_of_integers)
{
    struct histogram_exact h = sound();
    ck_assert_ptr_null(histogram_exact_fault(&h));
    for (int schema = -60; schema < 60; schema++) {
        h.schema = schema;
        if (schema >= -4 && schema <= 8)
            ck_assert_ptr_null(histogram_exact_fault(&h));
        else if (schema != -53)
            refused(&h, "unknown schema");
    }
    h = sound();
    h.count = 11;
    refused(&h, "add up");
    h.sum = (double)NAN; /* observations of NaN are in no bucket */
    ck_assert_ptr_null(histogram_exact_fault(&h));
    h.count = 9;
    refused(&h, "add up");
    h = sound();
    h.zero_count = UINT64_MAX; /* overflows to 8 */
    h.count = 8;
    refused(&h, "add up");
    h = sound();
    h.positive.counts_n = 1;
    refused(&h, "differ in number");
    h = sound();
    h.negative.spans_n = 0;
    refused(&h, "differ in number");
    h = sound();
    const struct histogram_span back[] = {{2, 1}, {-1, 1}}, far[] = {{INT32_MAX, 1}, {INT32_MAX, 1}};
    h.positive.spans = back;
    h.positive.spans_n = 2;
    refused(&h, "negative offset");
    h.positive.spans = far;
    refused(&h, "out of range");
    /* the farthest bucket there may be, and the next */
    const struct histogram_span ends[] = {{-HISTOGRAM_INDEX_MAX, 2}, {HISTOGRAM_INDEX_MAX - 2, 2}};
    const struct histogram_span past[] = {{-HISTOGRAM_INDEX_MAX - 1, 2}, {HISTOGRAM_INDEX_MAX - 1, 2}};
    for (int i = 0; i < 2; i++) {
        h = sound();
        h.positive.spans = &ends[i];
        h.positive.spans_n = 1;
        ck_assert_ptr_null(histogram_exact_fault(&h));
        h.positive.spans = &past[i];
        refused(&h, "out of range");
    }
    h = sound();
    h.zero_threshold = -0.5;
    refused(&h, "threshold");
    h = sound();
    h.custom = (const double[]){1};
    h.custom_n = 1;
    refused(&h, "no custom bounds");
}
END_TEST

START_TEST(soundness_of_doubles)
{
    uint64_t one[] = {double_bits(1.5)};
    struct histogram_exact h = sound();
    h.floats = true;
    h.count = double_bits(100); /* is not compared with the buckets: rounding */
    h.zero_count = double_bits(0.25);
    h.negative.counts = one;
    h.positive.counts_n = 0;
    h.positive.spans_n = 0;
    ck_assert_ptr_null(histogram_exact_fault(&h));
    h.count = double_bits(-1);
    refused(&h, "negative");
    h.count = double_bits(1);
    h.zero_count = double_bits(-1);
    refused(&h, "negative");
    h.zero_count = 0;
    one[0] = double_bits(-0.1);
    refused(&h, "negative");
}
END_TEST

START_TEST(soundness_of_custom_buckets)
{
    struct histogram_exact h = sound_custom();
    ck_assert_ptr_null(histogram_exact_fault(&h));
    h.custom_n = 2; /* 4 buckets need 3 bounds: the last is up to +Inf */
    refused(&h, "more custom buckets");
    h = sound_custom();
    h.custom = (const double[]){1, 1, 2};
    refused(&h, "rise");
    h.custom = (const double[]){1, (double)NAN, 2};
    refused(&h, "rise");
    h.custom = (const double[]){1, 2, (double)INFINITY};
    refused(&h, "+Inf");
    h = sound_custom();
    h.zero_count = 1;
    h.count = 7;
    refused(&h, "zero bucket");
    h = sound_custom();
    h.zero_threshold = 1;
    refused(&h, "zero bucket");
    h = sound_custom();
    h.negative = sound().negative;
    h.count = 8;
    refused(&h, "negative side");
    h = sound_custom();
    h.positive.spans = (const struct histogram_span[]){{-1, 2}, {1, 1}};
    refused(&h, "negative offset");
}
END_TEST

START_TEST(equality_is_of_buckets)
{
    struct histogram_exact a = sound(), b = sound();
    ck_assert(histogram_exact_eq(&a, &b));
    b.reset = HISTOGRAM_GAUGE; /* what the sender says of resets */
    ck_assert(histogram_exact_eq(&a, &b));
    const struct histogram_span same[] = {{2, 1}, {4, 1}}, other[] = {{2, 1}, {5, 1}}, joined[] = {{2, 2}};
    b.positive.spans = same;
    b.positive.spans_n = 2;
    ck_assert(histogram_exact_eq(&a, &b));
    b.positive.spans = other;
    ck_assert(!histogram_exact_eq(&a, &b));
    b.positive.spans = joined;
    b.positive.spans_n = 1;
    ck_assert(!histogram_exact_eq(&a, &b));
    b = sound();
    b.positive.counts = (const uint64_t[]){4, 3};
    ck_assert(!histogram_exact_eq(&a, &b));
    b = sound();
    b.sum = 12.25;
    ck_assert(!histogram_exact_eq(&a, &b));
    b = sound();
    b.zero_count = 2;
    ck_assert(!histogram_exact_eq(&a, &b));
    a = b = sound_custom();
    b.custom = (const double[]){-1, 0.5, 11};
    ck_assert(!histogram_exact_eq(&a, &b));
}
END_TEST

START_TEST(evaluation_sees_doubles)
{
    struct histogram_exact h = sound();
    const struct histogram *v = histogram_of_exact(&h, &arena);
    ck_assert_int_eq(v->schema, 3);
    ck_assert_double_eq(v->count, 10);
    ck_assert_double_eq(v->zero_count, 1);
    ck_assert_double_eq(v->negative.counts[0], 2);
    ck_assert_double_eq(v->positive.counts[0], 3);
    ck_assert_double_eq(v->positive.counts[1], 4);
    ck_assert_int_eq(v->positive.spans[2].offset, 4);
    h.floats = true;
    h.count = double_bits(0.5);
    ck_assert_double_eq(histogram_of_exact(&h, &arena)->count, 0.5);
}
END_TEST

/* ---- round trips ---- */

enum { SAMPLES_MAX = 40 };

static void same(const struct histogram_exact *got, const struct histogram_exact *want)
{
    ck_assert(histogram_exact_eq(got, want) && histogram_exact_eq(want, got));
    ck_assert_int_eq(got->reset, want->reset);
    ck_assert_uint_eq(got->positive.spans_n, want->positive.spans_n); /* empty spans too */
    ck_assert_uint_eq(got->negative.spans_n, want->negative.spans_n);
}

/* A chunk of changing histograms; at a random place it is taken up again from its bytes. */
static void random_chunk(void)
{
    static struct made_histogram made, wanted[SAMPLES_MAX];
    static int64_t times_ms[SAMPLES_MAX];
    struct histogram_chunk c = {0};
    uint32_t n = 1 + draw_below(SAMPLES_MAX), resume = draw_below(SAMPLES_MAX);
    int64_t t = draw_below(3) ? (int64_t)draw_below(1000000) : draw_below(2) ? -(INT64_C(1) << 60) : INT64_MAX / 2;
    made_make(&made);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            made_change(&made);
        ck_assert_msg(!histogram_exact_fault(&made.h), "%s", histogram_exact_fault(&made.h));
        struct made_histogram *w = &wanted[i];
        made_copy(w, &made);
        times_ms[i] = t += 1 + (draw_below(4) ? 15000 + (int64_t)draw_below(10) : (int64_t)(draw_u64() >> 4));
        histogram_chunk_add(&c, t, &w->h);
        if (i == resume) {
            struct histogram_chunk again = {0};
            ck_assert_int_eq(histogram_chunk_resume(&again, (struct str){c.bytes.p, c.bytes.n}, &e), 0);
            histogram_chunk_done(&c);
            c = again;
        }
    }
    ck_assert_uint_eq(c.n, n);
    ck_assert_int_eq(c.first_ms, times_ms[0]);
    struct histogram_reader r;
    struct str bytes = {c.bytes.p, c.bytes.n};
    ck_assert_int_eq(histogram_reader_open(&r, bytes, &arena, &e), 0);
    bool more;
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_msg(histogram_reader_next(&r, &more, &e) == 0, "%s", e.message);
        ck_assert(more);
        ck_assert_int_eq(r.time_ms, times_ms[i]);
        same(&r.decoder.now, &wanted[i].h);
    }
    ck_assert_int_eq(histogram_reader_next(&r, &more, &e), 0);
    ck_assert(!more);
    /* All but the ends, for evaluation. */
    int64_t got_ms[SAMPLES_MAX];
    const struct histogram *got[SAMPLES_MAX];
    uint32_t got_n = 0;
    ck_assert_int_eq(histogram_chunk_decode(bytes, times_ms[0], times_ms[n - 1] - 1, &arena, got_ms, got, &got_n, &e),
                     0);
    ck_assert_uint_eq(got_n, n > 2 ? n - 2 : 0);
    for (uint32_t i = 0; i < got_n; i++) {
        const struct histogram *want = histogram_of_exact(&wanted[i + 1].h, &arena);
        ck_assert_int_eq(got_ms[i], times_ms[i + 1]);
        ck_assert_uint_eq(double_bits(got[i]->count), double_bits(want->count));
        ck_assert_mem_eq(got[i]->positive.counts, want->positive.counts, want->positive.counts_n * sizeof(double));
    }
    histogram_chunk_done(&c);
    arena_reset(&arena);
}

START_TEST(whatever_is_sound_comes_back)
{
    srand48((long)suite_seed("base/histogram_code"));
    for (int i = 0; i < 3000; i++)
        random_chunk();
}
END_TEST

START_TEST(extremes_come_back)
{
    uint64_t big[] = {UINT64_MAX / 2, UINT64_MAX / 2};
    struct histogram_exact h = sound(), none = {.schema = 8, .sum = -0.0};
    struct histogram_chunk c = {0};
    struct histogram_reader r;
    bool more;
    h.positive.counts = big;
    h.negative.counts = (const uint64_t[]){0};
    h.zero_count = 1;
    h.count = UINT64_MAX;
    histogram_chunk_add(&c, INT64_MIN, &h);
    histogram_chunk_add(&c, 0, &none);
    histogram_chunk_add(&c, INT64_MAX, &h);
    ck_assert_int_eq(histogram_reader_open(&r, (struct str){c.bytes.p, c.bytes.n}, &arena, &e), 0);
    ck_assert_int_eq(histogram_reader_next(&r, &more, &e), 0);
    same(&r.decoder.now, &h);
    /* 2^63 ms from the sample before: no chunk says that, and such times are not admitted. */
    ck_assert_int_eq(histogram_reader_next(&r, &more, &e), ERR_CORRUPT);
    histogram_chunk_done(&c);
}
END_TEST

/* ---- hostile bytes ---- */

/* Whether it is refused or not: no read outside (sanitizers), and what is let through is sound. */
static void read_hostile(const uint8_t *p, size_t n)
{
    struct histogram_reader r;
    bool more = true;
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, p, n);
    if (histogram_reader_open(&r, (struct str){(const char *)copy, n}, &arena, &e) == 0)
        while (more && histogram_reader_next(&r, &more, &e) == 0)
            ck_assert(!more || !histogram_exact_fault(&r.decoder.now));
    free(copy);
    arena_reset(&arena);
}

START_TEST(hostile_bytes_are_refused)
{
    static struct made_histogram made;
    struct histogram_chunk c = {0};
    srand48(5);
    for (int round = 0; round < 60; round++) {
        histogram_chunk_clear(&c);
        made_make(&made);
        for (int i = 0; i < 5; i++) {
            histogram_chunk_add(&c, i * 15000, &made.h);
            made_change(&made);
        }
        uint8_t *p = (uint8_t *)c.bytes.p;
        for (size_t n = 0; n < c.bytes.n; n++) {
            struct histogram_chunk cut = {0};
            ck_assert_int_eq(histogram_chunk_resume(&cut, (struct str){c.bytes.p, n}, &e), ERR_CORRUPT);
            histogram_chunk_done(&cut);
        }
        for (size_t i = 0; i < c.bytes.n; i++) {
            uint8_t was = p[i];
            p[i] = (uint8_t)(p[i] ^ 1 << draw_below(8));
            read_hostile(p, c.bytes.n);
            p[i] = draw_below(2) ? 255 : 0;
            read_hostile(p, c.bytes.n);
            p[i] = was;
        }
        strbuf_add_char(&c.bytes, 0);
        struct histogram_chunk longer = {0};
        ck_assert_int_eq(histogram_chunk_resume(&longer, (struct str){c.bytes.p, c.bytes.n}, &e), ERR_CORRUPT);
        histogram_chunk_done(&longer);
    }
    histogram_chunk_done(&c);
}
END_TEST

START_TEST(memory_is_bounded_by_the_arena)
{
    struct histogram_chunk c = {0};
    struct arena small;
    struct histogram_exact h = sound();
    int64_t times_ms[100];
    const struct histogram *v[100];
    uint32_t n;
    arena_init(&small, 4096);
    for (int i = 0; i < 100; i++)
        histogram_chunk_add(&c, i, &h);
    ck_assert_int_eq(histogram_chunk_decode((struct str){c.bytes.p, c.bytes.n}, -1, 100, &small, times_ms, v, &n, &e),
                     ERR_LIMIT);
    arena_done(&small);
    histogram_chunk_done(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/histogram_code");
    TCase *tcase = tcase_create("code");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, soundness_of_integers);
    tcase_add_test(tcase, soundness_of_doubles);
    tcase_add_test(tcase, soundness_of_custom_buckets);
    tcase_add_test(tcase, equality_is_of_buckets);
    tcase_add_test(tcase, evaluation_sees_doubles);
    tcase_add_test(tcase, whatever_is_sound_comes_back);
    tcase_add_test(tcase, extremes_come_back);
    tcase_add_test(tcase, hostile_bytes_are_refused);
    tcase_add_test(tcase, memory_is_bounded_by_the_arena);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
