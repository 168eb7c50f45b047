/* The head's samples, packed and unpacked, against a plain sorted list: random streams with gaps, late samples, stale
 * markers and chunks on their way to the store; random spans. */
#include "ingest/head.h"

#include <stdlib.h>

#include "base/float_text.h"
#include "kernels/frame.h"
#include "suite.h"

enum { TIME_MAX = 8000 };

/* One slot for each millisecond there may be a sample at. */
struct model {
    bool is[TIME_MAX];
    double value[TIME_MAX];
    int64_t last_ms;
};
static struct head head;
static struct model model;
static unsigned random_state;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rand_r(&random_state) % n;
}

static double some_value(void)
{
    static double counter;
    uint32_t kind = below(40);
    if (kind == 0)
        return float_stale();
    return kind < 20 ? ++counter : kind < 39 ? (double)below(100000) / 1000 : (double)rand_r(&random_state) * 1e-17;
}

/* As at admission: a number takes the place of a stale marker, nothing else is replaced. */
static void add(int64_t t, double v)
{
    struct head_series *s = head_at(&head, 0);
    if (t > model.last_ms) {
        head_append(&head, s, t, v);
        model.last_ms = t;
    } else if (!model.is[t] || (float_is_stale(model.value[t]) && !float_is_stale(v))) {
        head_insert_late(&head, s, t, v);
    } else {
        return;
    }
    model.is[t] = true;
    model.value[t] = v;
}

static void check_span(int64_t start_ms, int64_t end_ms, int64_t within_start_ms, int64_t within_end_ms)
{
    struct arena a;
    struct head_span span;
    arena_init(&a, 0);
    ck_assert(head_pack(head_at(&head, 0), start_ms, end_ms, false, &a, &span));
    int64_t *times_ms = ARENA_ARRAY(&a, int64_t, span.room_n + FRAME_SLACK);
    double *values = ARENA_ARRAY(&a, double, span.room_n + FRAME_SLACK);
    uint32_t n = span.packed ? head_unpack(span.packed, within_start_ms, within_end_ms, times_ms, values) : 0, at = 0;
    for (int64_t t = within_start_ms + 1; t <= within_end_ms; t++) {
        if (t < 0 || t >= TIME_MAX || !model.is[t])
            continue;
        if (at == n || times_ms[at] != t || memcmp(&values[at], &model.value[t], sizeof *values) != 0)
            ck_abort_msg("the sample at %lld of (%lld, %lld] is missing or differs", (long long)t,
                         (long long)within_start_ms, (long long)within_end_ms);
        at++;
    }
    ck_assert_uint_eq(at, n);
    arena_done(&a);
}

static void check_newest(int64_t start_ms, int64_t end_ms)
{
    struct arena a;
    struct head_span span;
    int64_t want = end_ms < TIME_MAX ? end_ms : TIME_MAX - 1;
    while (want > start_ms && want >= 0 && !model.is[want])
        want--;
    arena_init(&a, 0);
    ck_assert(head_pack(head_at(&head, 0), start_ms, end_ms, true, &a, &span));
    int64_t *times_ms = ARENA_ARRAY(&a, int64_t, span.room_n + FRAME_SLACK);
    double *values = ARENA_ARRAY(&a, double, span.room_n + FRAME_SLACK);
    uint32_t n = span.packed ? head_unpack(span.packed, start_ms, end_ms, times_ms, values) : 0;
    if (want > start_ms && want >= 0) {
        ck_assert_uint_ge(n, 1);
        ck_assert_int_eq(times_ms[n - 1], want);
        ck_assert_int_eq(memcmp(&values[n - 1], &model.value[want], sizeof *values), 0);
        ck_assert_int_le(span.newest_from_ms, want);
    } else {
        ck_assert_uint_eq(n, 0);
    }
    arena_done(&a);
}

static void check_lookup(int64_t t)
{
    double v;
    bool found = head_lookup(head_at(&head, 0), t, &v);
    ck_assert_int_eq(found, t >= 0 && t < TIME_MAX && model.is[t]);
    if (found)
        ck_assert_int_eq(memcmp(&v, &model.value[t], sizeof v), 0);
}

static void check_some(void)
{
    for (int i = 0; i < 40; i++) {
        int64_t a = (int64_t)below((uint32_t)model.last_ms + 20) - 10;
        int64_t b = a + below(i % 2 ? 40 : (uint32_t)model.last_ms + 10);
        check_span(a, b, a, b);
        if (b > a)
            check_span(a, b, a + below((uint32_t)(b - a)), b - below(2));
        check_newest(a, b);
        check_lookup(a);
    }
    check_newest(model.last_ms - 3000, model.last_ms);
}

static int ignore_chunk(void *ctx, uint32_t series, int64_t first_ms, int64_t last_ms, struct str bytes, struct err *e)
{
    return 0;
}

/* A checkpoint that fails: its chunks and late samples were marked as moving, and stay. */
static void checkpoint_in_vain(void)
{
    struct strbuf out = {0};
    struct err e = {0};
    ck_assert_int_eq(head_block_write(&head, 0, &out, ignore_chunk, NULL, &e), 0);
    strbuf_done(&out);
}

START_TEST(any_span_is_read_as_written)
{
    random_state = (unsigned)suite_seed("head");
    for (int round = 0; round < 12; round++) {
        head_init(&head);
        model = (struct model){.last_ms = 0};
        uint32_t gap = round % 3 == 0 ? 1 : 2 + below(8), late_1_in = round % 4 == 0 ? UINT32_MAX : 5 + below(60);
        while (model.last_ms + gap < TIME_MAX) {
            add(model.last_ms + 1 + below(gap), some_value());
            if (below(late_1_in) == 0)
                add(1 + below((uint32_t)model.last_ms), some_value());
            if (below(150) == 0)
                check_some();
            if (below(900) == 0) {
                checkpoint_in_vain();
                for (int i = 0; i < 20; i++) {
                    add(model.last_ms + 1, some_value());
                    add(1 + below((uint32_t)model.last_ms), some_value());
                }
                check_some();
                head_block_unwrite(&head, 0);
                check_some();
            }
        }
        check_some();
        check_span(-1, TIME_MAX, -1, TIME_MAX);
        head_done(&head);
    }
}
END_TEST

START_TEST(nothing_gives_nothing)
{
    struct arena a;
    struct head_span span;
    double v;
    head_init(&head);
    arena_init(&a, 0);
    ck_assert(head_pack(head_at(&head, 7), 0, 100, false, &a, &span));
    ck_assert_ptr_null(span.packed);
    ck_assert_uint_eq(span.room_n, 0);
    ck_assert(head_pack(head_at(&head, 7), 0, 100, true, &a, &span));
    ck_assert_ptr_null(span.packed);
    ck_assert(!head_lookup(head_at(&head, 7), 5, &v));
    arena_done(&a);
    head_done(&head);
}
END_TEST

/* Bytes of a checkpoint of one series: 20 floats, then as many histograms if asked for. */
static void checkpoint_bytes(bool histograms, struct strbuf *out)
{
    static const struct histogram_span spans[] = {{0, 1}};
    struct err e = {0};
    head_init(&head);
    for (int64_t t = 1; t <= 20; t++)
        head_append(&head, head_at(&head, 5), t, (double)t);
    for (uint64_t t = 21; histograms && t <= 40; t++) {
        const uint64_t counts[] = {t};
        const struct histogram_exact h = {.sum = 1, .count = t, .positive = {spans, counts, 1, 1}};
        head_append_histogram(&head, head_at(&head, 5), (int64_t)t, &h);
    }
    ck_assert_int_eq(head_block_write(&head, 0, out, ignore_chunk, NULL, &e), 0);
    head_done(&head);
}

static int read_checkpoint(const char *p, size_t n)
{
    struct err e = {0};
    char *copy = malloc(n ? n : 1); /* what is read past its end is found by a sanitizer */
    memcpy(copy, p, n);
    head_init(&head);
    int code = head_block_read(&head, 0, (struct str){copy, n}, &e);
    free(copy);
    return code;
}

START_TEST(checkpoints_of_before_are_read)
{
    struct strbuf bytes = {0};
    double v;
    checkpoint_bytes(false, &bytes);
    ck_assert_int_eq(bytes.p[0], 3);
    bytes.p[0] = 2; /* as it was before there were histograms */
    ck_assert_int_eq(read_checkpoint(bytes.p, bytes.n), 0);
    ck_assert(head_lookup(head_find(&head, 5), 20, &v) && v == 20);
    head_done(&head);
    for (int version = 0; version < 6; version++) {
        bytes.p[0] = (char)version;
        ck_assert_int_eq(read_checkpoint(bytes.p, bytes.n), version == 2 || version == 3 ? 0 : ERR_VERSION);
        head_done(&head);
    }
    strbuf_done(&bytes);
}
END_TEST

START_TEST(damaged_checkpoints_are_refused)
{
    struct strbuf bytes = {0};
    struct arena a;
    struct histogram_exact h;
    checkpoint_bytes(true, &bytes);
    arena_init(&a, 0);
    ck_assert_int_eq(read_checkpoint(bytes.p, bytes.n), 0);
    ck_assert(head_lookup_histogram(head_find(&head, 5), 40, &a, &h));
    ck_assert_uint_eq(h.count, 40);
    head_done(&head);
    for (size_t n = 2; n < bytes.n; n++) {
        ck_assert_int_eq(read_checkpoint(bytes.p, n), ERR_CORRUPT);
        head_done(&head);
    }
    for (size_t i = 0; i < bytes.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes.p[i] = (char)(bytes.p[i] ^ 1 << bit);
            int code = read_checkpoint(bytes.p, bytes.n);
            ck_assert(code == 0 || code == ERR_CORRUPT || code == ERR_VERSION);
            head_done(&head);
            bytes.p[i] = (char)(bytes.p[i] ^ 1 << bit);
        }
    arena_done(&a);
    strbuf_done(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/head");
    TCase *tcase = tcase_create("head");
    tcase_add_test(tcase, any_span_is_read_as_written);
    tcase_add_test(tcase, nothing_gives_nothing);
    tcase_add_test(tcase, checkpoints_of_before_are_read);
    tcase_add_test(tcase, damaged_checkpoints_are_refused);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
