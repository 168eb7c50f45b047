/*
 * ingest/write_request: what an encoder by the protobuf documentation (wire.h) wrote comes back, and nothing that is
 * malformed gets through.
 */
#include "ingest/write_request.h"

#include "base/alloc.h"
#include "base/histograms.h"
#include "ingest/wire.h"
#include "suite.h"

static int parse(struct write_request *r, const struct strbuf *body, struct err *e)
{
    return write_request_parse(r, (struct str){body->p, body->n}, e);
}

static void must_parse(struct write_request *r, const struct strbuf *body)
{
    struct err e = {0};
    int code = parse(r, body, &e);
    ck_assert_msg(code == 0, "%s", e.message);
}

static int code_of(const struct strbuf *body)
{
    struct write_request r = {0};
    struct err e = {0};
    int code = parse(&r, body, &e);
    write_request_done(&r);
    return code;
}

/* ---- round trips ---- */

enum { SERIES_MAX = 20, LABELS_MAX = 300, SAMPLES_MAX = 5, HISTOGRAMS_MAX = 3, TEXT_MAX = 400 };

struct made_series {
    uint32_t labels_n, samples_n, histograms_n;
    struct strbuf names[LABELS_MAX], values[LABELS_MAX];
    struct wire_sample samples[SAMPLES_MAX];
    struct made_histogram histograms[HISTOGRAMS_MAX];
    int64_t histogram_times_ms[HISTOGRAMS_MAX];
};

static unsigned below(unsigned n)
{
    return (unsigned)rand() % n;
}

static uint64_t random_bits(void)
{
    uint64_t v = 0;
    for (int i = 0; i < 5; i++)
        v = v << 15 ^ (uint64_t)rand();
    return v >> below(64);
}

/* Any bytes; mostly short, some on either side of the one-byte length. */
static void random_text(struct strbuf *b)
{
    size_t n = below(4) ? below(12) : below(8) ? 120 + below(16) : below(TEXT_MAX);
    for (size_t i = 0; i < n; i++)
        strbuf_add_char(b, (char)rand());
}

/* A field this message does not know, of any wire type that has a length of its own. */
static void maybe_unknown(struct strbuf *b)
{
    if (below(8))
        return;
    uint64_t field = below(2) ? 15 + below(3) : 16 + random_bits() % ((1u << 29) - 17);
    static const unsigned types[] = {0, 1, 2, 5};
    unsigned type = types[below(4)];
    wire_key(b, field, type);
    if (type == 0)
        wire_varint(b, random_bits());
    else if (type == 2)
        wire_varint(b, 9);
    if (type != 0)
        strbuf_add(b, "unknown!!", type == 1 ? 8 : type == 5 ? 4 : 9);
}

static void add_text(struct strbuf *b, uint64_t field, struct str text)
{
    if (below(10)) {
        wire_bytes(b, field, text.p, text.n);
        return;
    }
    wire_varint_wide(b, field << 3 | 2, 1 + below(3));
    wire_varint_wide(b, text.n, 3 + below(8));
    strbuf_add_str(b, text);
}

static struct str view(const struct strbuf *b)
{
    return (struct str){b->p, b->n};
}

static void add_label(struct strbuf *series, struct made_series *m)
{
    struct strbuf *name = &m->names[m->labels_n], *value = &m->values[m->labels_n], label = {0};
    m->labels_n++;
    random_text(name);
    random_text(value);
    bool swapped = !below(8);
    maybe_unknown(&label);
    if (!below(8)) /* overwritten by what comes */
        add_text(&label, 2, STR("earlier"));
    add_text(&label, swapped ? 2 : 1, view(swapped ? value : name));
    maybe_unknown(&label);
    add_text(&label, swapped ? 1 : 2, view(swapped ? name : value));
    maybe_unknown(&label);
    add_text(series, 1, view(&label));
    strbuf_done(&label);
}

/* Zero fields may be left out, as proto3 encoders do. */
static void add_sample(struct strbuf *series, struct made_series *m)
{
    struct wire_sample *s = &m->samples[m->samples_n++];
    uint64_t bits = below(6) ? random_bits() : 0;
    memcpy(&s->value, &bits, 8);
    s->time_ms = below(6) ? (int64_t)random_bits() : 0;
    if (bits && s->time_ms && below(2)) {
        wire_sample(series, s->time_ms, s->value);
        return;
    }
    struct strbuf sample = {0};
    maybe_unknown(&sample);
    if (s->time_ms) {
        wire_key(&sample, 2, 0);
        wire_varint(&sample, (uint64_t)s->time_ms);
    }
    maybe_unknown(&sample);
    if (bits) {
        wire_key(&sample, 1, 1);
        strbuf_add(&sample, &bits, 8);
    }
    wire_bytes(series, 2, sample.p, sample.n);
    strbuf_done(&sample);
}

static void add_histogram(struct strbuf *series, struct made_series *m)
{
    struct made_histogram *h = &m->histograms[m->histograms_n];
    int64_t *time_ms = &m->histogram_times_ms[m->histograms_n++];
    struct strbuf field = {0}, message = {0};
    made_make(h);
    *time_ms = below(6) ? (int64_t)random_bits() : 0;
    wire_histogram(&field, *time_ms, &h->h, below(2));
    /* With fields that are not known among its own: they follow the key of the field and its length. */
    struct byte_reader r = {(const uint8_t *)field.p + 1, (const uint8_t *)field.p + field.n, false};
    read_varint(&r);
    wire_bytes(&message, 17, "unknown", below(8));
    strbuf_add(&message, r.p, reader_left(&r));
    wire_bytes(&message, 17 + random_bits() % 1000000, "unknown", below(8));
    add_text(series, 4, view(&message));
    strbuf_done(&message);
    strbuf_done(&field);
}

static void add_series(struct strbuf *body, struct made_series *m)
{
    struct strbuf series = {0};
    unsigned labels = below(10) ? below(20) : below(LABELS_MAX), samples = below(SAMPLES_MAX + 1);
    bool mixed = !below(4);
    while (m->labels_n < labels || m->samples_n < samples) {
        if (m->labels_n < labels && (!mixed || below(2)))
            add_label(&series, m);
        else if (m->samples_n < samples)
            add_sample(&series, m);
        maybe_unknown(&series);
        if (!below(20)) /* an exemplar, which says nothing */
            wire_bytes(&series, 3, "any", 3);
        if (!below(8) && m->histograms_n < HISTOGRAMS_MAX)
            add_histogram(&series, m);
    }
    maybe_unknown(body);
    add_text(body, 1, view(&series));
    strbuf_done(&series);
}

static void check_histograms(const struct write_request *r, const struct wire_series *s, const struct made_series *m)
{
    ck_assert_uint_eq(s->histograms_n, m->histograms_n);
    for (uint32_t i = 0; i < m->histograms_n; i++) {
        const struct wire_histogram *w = &r->histograms[s->histograms_at + i];
        ck_assert_msg(!w->fault, "%s", w->fault);
        ck_assert_int_eq(w->time_ms, m->histogram_times_ms[i]);
        ck_assert(histogram_exact_eq(&w->v, &m->histograms[i].h));
        ck_assert_int_eq(w->v.reset, m->histograms[i].h.reset);
        ck_assert_uint_eq(w->v.positive.spans_n, m->histograms[i].h.positive.spans_n);
    }
}

static void check_series(const struct write_request *r, const struct wire_series *s, const struct made_series *m)
{
    uint32_t labels_n = m->labels_n < WRITE_LABELS_MAX ? m->labels_n : WRITE_LABELS_MAX;
    ck_assert_uint_eq(s->labels_n, labels_n);
    ck_assert_int_eq(s->too_many_labels, m->labels_n > WRITE_LABELS_MAX);
    ck_assert_uint_eq(s->samples_n, m->samples_n);
    check_histograms(r, s, m);
    for (uint32_t i = 0; i < labels_n; i++) {
        const struct label *l = &r->labels[s->labels_at + i];
        ck_assert(str_eq(l->name, view(&m->names[i])));
        ck_assert(str_eq(l->value, view(&m->values[i])));
    }
    for (uint32_t i = 0; i < m->samples_n; i++) {
        const struct wire_sample *w = &r->samples[s->samples_at + i];
        ck_assert_int_eq(w->time_ms, m->samples[i].time_ms);
        ck_assert_int_eq(memcmp(&w->value, &m->samples[i].value, 8), 0);
    }
}

static void made_done(struct made_series *m)
{
    for (uint32_t i = 0; i < m->labels_n; i++) {
        strbuf_done(&m->names[i]);
        strbuf_done(&m->values[i]);
    }
}

/* One request object all along: nothing of the request before shows. */
START_TEST(round_trips)
{
    static struct made_series made[SERIES_MAX];
    struct write_request r = {0};
    srand((unsigned)suite_seed("ingest/write_request"));
    srand48(rand());
    for (int trial = 0; trial < 300; trial++) {
        struct strbuf body = {0};
        unsigned n = below(SERIES_MAX + 1), seen = 0;
        memset(made, 0, sizeof made);
        for (unsigned i = 0; i < n; i++)
            add_series(&body, &made[i]);
        maybe_unknown(&body);
        must_parse(&r, &body);
        uint32_t ordinals_n = 0;
        for (unsigned i = 0; i < n; i++) {
            if (made[i].samples_n + made[i].histograms_n > 0) {
                ck_assert_uint_lt(seen, r.series_n);
                ck_assert_uint_eq(r.series[seen].first_ordinal, ordinals_n);
                check_series(&r, &r.series[seen++], &made[i]);
                ordinals_n += made[i].samples_n + made[i].histograms_n;
            }
            made_done(&made[i]);
        }
        ck_assert_uint_eq(r.series_n, seen);
        ck_assert_uint_eq(r.ordinals_n, ordinals_n);
        strbuf_done(&body);
    }
    write_request_done(&r);
}
END_TEST

START_TEST(metadata)
{
    struct strbuf body = {0}, entry = {0};
    wire_key(&entry, 1, 0);
    wire_varint(&entry, 4);
    wire_bytes(&entry, 2, "up", 2);
    wire_bytes(&entry, 4, "Is it up?", 9);
    wire_bytes(&entry, 5, "bool", 4);
    wire_bytes(&body, 3, entry.p, entry.n);
    wire_bytes(&body, 3, "", 0);
    struct write_request r = {0};
    must_parse(&r, &body);
    ck_assert_uint_eq(r.metadata_n, 2);
    ck_assert_uint_eq(r.metadata[0].type, 4);
    ck_assert(str_eq(r.metadata[0].name, STR("up")));
    ck_assert(str_eq(r.metadata[0].help, STR("Is it up?")));
    ck_assert(str_eq(r.metadata[0].unit, STR("bool")));
    ck_assert_uint_eq(r.metadata[1].name.n, 0);
    write_request_done(&r);
    strbuf_done(&entry);
    strbuf_done(&body);
}
END_TEST

/* ---- malformed ---- */

static void make_plain(struct strbuf *body, int series_n)
{
    struct strbuf series = {0};
    for (int i = 0; i < series_n; i++) {
        strbuf_clear(&series);
        wire_label(&series, STR("__name__"), STR("up"));
        wire_label(&series, STR("job"), STR("node"));
        wire_sample(&series, 1700000000000 + i, 0.1);
        wire_sample(&series, 1700000015000 + i, 1e300);
        wire_bytes(body, 1, series.p, series.n);
    }
    strbuf_done(&series);
}

/* Cut between series a body is a shorter one; cut anywhere else it is malformed. The bytes end where their memory does,
 * so that a read past them is found by a sanitizer. */
START_TEST(every_truncation)
{
    enum { SERIES = 3 };
    struct strbuf body = {0};
    make_plain(&body, SERIES);
    ck_assert_uint_eq(body.n % SERIES, 0);
    struct write_request r = {0};
    for (size_t n = 0; n <= body.n; n++) {
        struct err e = {0};
        char *cut = mem_dup(body.p, n);
        int code = write_request_parse(&r, (struct str){cut, n}, &e);
        ck_assert_int_eq(code, n % (body.n / SERIES) ? ERR_BAD_DATA : 0);
        if (code == 0)
            ck_assert_uint_eq(r.series_n, n / (body.n / SERIES));
        else
            ck_assert_ptr_nonnull(strstr(e.message, "at byte"));
        mem_free(cut);
    }
    write_request_done(&r);
    strbuf_done(&body);
}
END_TEST

/* The field at `path` (field numbers from the request down) alone, with this wire type and 9 bytes of content. */
static int code_of_field(const char *path, unsigned wire_type)
{
    struct strbuf body = {0}, outer = {0};
    size_t depth = strlen(path);
    wire_key(&body, (uint64_t)(path[depth - 1] - '0'), wire_type);
    if (wire_type == 2)
        wire_varint(&body, 0);
    else
        strbuf_add(&body, "\0\0\0\0\0\0\0", wire_type == 1 ? 8 : wire_type == 5 ? 4 : wire_type == 0);
    for (size_t i = depth - 1; i-- > 0;) {
        strbuf_clear(&outer);
        wire_bytes(&outer, (uint64_t)(path[i] - '0'), body.p, body.n);
        strbuf_clear(&body);
        strbuf_add(&body, outer.p, outer.n);
    }
    int code = code_of(&body);
    strbuf_done(&body);
    strbuf_done(&outer);
    return code;
}

/* Only its own wire type; groups (3, 4) and 6 and 7 are none. */
START_TEST(wire_types)
{
    static const struct {
        const char *path;
        unsigned type; /* 8: unknown to the message, any of the four */
    } rows[] = {{"1", 2},   {"3", 2},   {"11", 2},  {"12", 2},  {"13", 2}, {"14", 2}, {"111", 2},
                {"112", 2}, {"121", 1}, {"122", 0}, {"31", 0},  {"32", 2}, {"34", 2}, {"35", 2},
                {"2", 8},   {"15", 8},  {"113", 8}, {"123", 8}, {"33", 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned type = 0; type < 8; type++) {
            bool known_type = type <= 2 || type == 5;
            bool good = rows[i].type == 8 ? known_type : type == rows[i].type;
            ck_assert_msg(code_of_field(rows[i].path, type) == (good ? 0 : ERR_BAD_DATA), "field %s, wire type %u",
                          rows[i].path, type);
        }
}
END_TEST

static int code_of_bytes(const char *p, size_t n)
{
    struct strbuf body = {0};
    strbuf_add(&body, p, n);
    int code = code_of(&body);
    strbuf_done(&body);
    return code;
}
#define CODE_OF(literal) code_of_bytes(literal, sizeof(literal) - 1)

START_TEST(lengths_and_keys_out_of_range)
{
    ck_assert_int_eq(CODE_OF(""), 0);
    ck_assert_int_eq(CODE_OF("\x0a\x00"), 0);
    ck_assert_int_eq(CODE_OF("\x8a\x00\x80\x00"), 0);                                            /* padded varints */
    ck_assert_int_eq(CODE_OF("\x0a"), ERR_BAD_DATA);                                             /* no length */
    ck_assert_int_eq(CODE_OF("\x0a\x01"), ERR_BAD_DATA);                                         /* one byte short */
    ck_assert_int_eq(CODE_OF("\x0a\xff\xff\xff\xff\x0f"), ERR_BAD_DATA);                         /* 2^32 - 1 */
    ck_assert_int_eq(CODE_OF("\x0a\x80\x80\x80\x80\x10"), ERR_BAD_DATA);                         /* 2^32 */
    ck_assert_int_eq(CODE_OF("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_BAD_DATA);     /* 2^64 - 1 */
    ck_assert_int_eq(CODE_OF("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"), ERR_BAD_DATA);     /* 2^64 */
    ck_assert_int_eq(CODE_OF("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), ERR_BAD_DATA); /* 11 bytes */
    ck_assert_int_eq(CODE_OF("\x02\x00"), ERR_BAD_DATA);                                         /* field 0 */
    ck_assert_int_eq(CODE_OF("\xfa\xff\xff\xff\x0f\x00"), 0);                                    /* field 2^29 - 1 */
    ck_assert_int_eq(CODE_OF("\x82\x80\x80\x80\x10\x00"), ERR_BAD_DATA);                         /* field 2^29 */
    ck_assert_int_eq(CODE_OF("\x0a\x06\x0a\x04\x0a\x01"
                             "a"
                             "\x12"),
                     ERR_BAD_DATA); /* value cut */
    ck_assert_int_eq(CODE_OF("\x0a\x07\x0a\x05\x0a\x01"
                             "a"
                             "\x12\x01"),
                     ERR_BAD_DATA); /* value empty */
    ck_assert_int_eq(CODE_OF("\x0a\x08\x0a\x05\x0a\x01"
                             "a"
                             "\x12\x01"
                             "b"),
                     ERR_BAD_DATA); /* past its label */
    ck_assert_int_eq(CODE_OF("\x0a\x08\x0a\x06\x0a\x7f"
                             "a"
                             "\x12\x01"
                             "b"),
                     ERR_BAD_DATA); /* name past it */
}
END_TEST

/* ---- histograms ---- */

/* A body of one series of one histogram, whose message is `message`. */
static void histogram_body(struct strbuf *body, const struct strbuf *message)
{
    struct strbuf series = {0};
    wire_bytes(&series, 4, message->p, message->n);
    wire_bytes(body, 1, series.p, series.n);
    strbuf_done(&series);
}

START_TEST(wire_types_of_histograms)
{
    /* Bit t: wire type t is good for the field with this content. Repeated numbers may be packed: an empty run. */
    static const unsigned good[] = {0,     1,     2, 2,     1,     2, 1, 2,     4,
                                    1 | 4, 2 | 4, 4, 1 | 4, 2 | 4, 1, 1, 2 | 4, 1 | 2 | 4 | 32};
    for (uint64_t field = 1; field < sizeof good / sizeof good[0]; field++)
        for (unsigned type = 0; type < 8; type++) {
            struct strbuf message = {0}, body = {0};
            wire_key(&message, field, type);
            strbuf_add(&message, "\0\0\0\0\0\0\0", type == 1 ? 8 : type == 5 ? 4 : 1);
            histogram_body(&body, &message);
            ck_assert_msg(code_of(&body) == (good[field] >> type & 1 ? 0 : ERR_BAD_DATA), "field %d, wire type %u",
                          (int)field, type);
            strbuf_done(&message);
            strbuf_done(&body);
        }
}
END_TEST

/* The one histogram of a message, which must be well-formed. */
static struct wire_histogram histogram_of(struct write_request *r, const char *message, size_t n)
{
    struct strbuf body = {0}, plain = {0};
    strbuf_add(&plain, message, n);
    histogram_body(&body, &plain);
    must_parse(r, &body);
    ck_assert_uint_eq(r->histograms_n, 1);
    strbuf_done(&plain);
    strbuf_done(&body); /* numbers are not borrowed from it */
    return r->histograms[0];
}
#define HISTOGRAM_OF(literal) histogram_of(&r, literal, sizeof(literal) - 1)

START_TEST(histograms_of_few_fields)
{
    struct write_request r = {0};
    struct wire_histogram h = HISTOGRAM_OF(""); /* all zero: sound, and empty */
    ck_assert_ptr_null(h.fault);
    ck_assert(!h.v.floats && h.v.count == 0 && h.v.schema == 0 && h.time_ms == 0);
    /* counts 3, 1: steps +3, -2; packed, then each alone */
    h = HISTOGRAM_OF("\x08\x04\x5a\x02\x10\x02\x62\x02\x06\x03");
    ck_assert_ptr_null(h.fault);
    ck_assert(h.v.count == 4 && h.v.positive.counts_n == 2 && h.v.positive.counts[0] == 3 &&
              h.v.positive.counts[1] == 1);
    h = HISTOGRAM_OF("\x08\x04\x5a\x02\x10\x02\x60\x06\x60\x03");
    ck_assert(!h.fault && h.v.positive.counts_n == 2 && h.v.positive.counts[1] == 1);
    /* of a oneof the last counts: 5, then 0.0; the integer zero bucket is not that of a float histogram */
    h = HISTOGRAM_OF("\x08\x05\x11\0\0\0\0\0\0\0\0\x30\x07");
    ck_assert(!h.fault && h.v.floats && h.v.count == 0 && h.v.zero_count == 0);
    /* a count that falls below zero, spans without buckets, a schema that is not known */
    h = HISTOGRAM_OF("\x5a\x02\x10\x02\x62\x02\x02\x03");
    ck_assert(h.fault && strstr(h.fault, "negative"));
    h = HISTOGRAM_OF("\x5a\x02\x10\x02");
    ck_assert(h.fault && strstr(h.fault, "differ in number"));
    h = HISTOGRAM_OF("\x20\x12");
    ck_assert(h.fault && strstr(h.fault, "schema"));
    write_request_done(&r);
}
END_TEST

/* 2^22 buckets of a byte each are over the limit of a request; half as many are only no histogram. */
START_TEST(buckets_are_bounded)
{
    for (int half = 0; half < 2; half++) {
        size_t n = WRITE_ITEMS_MAX >> half;
        struct strbuf message = {0}, body = {0};
        struct write_request r = {0};
        char *zeros = mem_zalloc(n);
        struct err e = {0};
        wire_bytes(&message, 12, zeros, n);
        histogram_body(&body, &message);
        ck_assert_int_eq(parse(&r, &body, &e), half ? 0 : ERR_TOO_LARGE);
        if (half)
            ck_assert(r.histograms[0].fault && strstr(r.histograms[0].fault, "more buckets"));
        write_request_done(&r);
        mem_free(zeros);
        strbuf_done(&message);
        strbuf_done(&body);
    }
}
END_TEST

/* The bits that stand for a histogram among doubles are no sample's. */
START_TEST(histogram_marker_is_an_ordinary_nan)
{
    struct strbuf series = {0}, body = {0};
    struct write_request r = {0};
    wire_sample(&series, 1, float_histogram());
    wire_bytes(&body, 1, series.p, series.n);
    must_parse(&r, &body);
    ck_assert_uint_eq(load_u64(&r.samples[0].value), 0x7ff8000000000001);
    write_request_done(&r);
    strbuf_done(&series);
    strbuf_done(&body);
}
END_TEST

START_TEST(malformed_names_its_field)
{
    struct strbuf body = {0};
    struct write_request r = {0};
    struct err e = {0};
    char want[64];
    make_plain(&body, 2);
    snprintf(want, sizeof want, "at byte %zu of %zu", body.n, body.n + 3);
    strbuf_add(&body, "\x0a\x05x", 3);
    ck_assert_int_eq(parse(&r, &body, &e), ERR_BAD_DATA);
    ck_assert_msg(strstr(e.message, want) != NULL, "%s", e.message);
    write_request_done(&r);
    strbuf_done(&body);
}
END_TEST

/* ---- limits ---- */

static void repeat(struct strbuf *b, const char *bytes, size_t n, size_t times)
{
    strbuf_reserve(b, n * times);
    for (size_t i = 0; i < times; i++, b->n += n)
        memcpy(b->p + b->n, bytes, n);
}

/* Samples of one series, 2 bytes a piece, up to the limit and over it; and of a series each, 4 bytes a piece. */
START_TEST(too_many_samples)
{
    struct strbuf body = {0}, series = {0};
    repeat(&series, "\x12\x00", 2, WRITE_ITEMS_MAX);
    wire_bytes(&body, 1, series.p, series.n);
    ck_assert_int_eq(code_of(&body), 0);
    repeat(&body, "\x0a\x02\x12\x00", 4, 1);
    ck_assert_int_eq(code_of(&body), ERR_TOO_LARGE);
    strbuf_clear(&body);
    repeat(&series, "\x12\x00", 2, 1);
    wire_bytes(&body, 1, series.p, series.n);
    ck_assert_int_eq(code_of(&body), ERR_TOO_LARGE);
    strbuf_clear(&body);
    repeat(&body, "\x0a\x02\x12\x00", 4, WRITE_ITEMS_MAX + 1);
    ck_assert_int_eq(code_of(&body), ERR_TOO_LARGE);
    strbuf_done(&body);
    strbuf_done(&series);
}
END_TEST

START_TEST(too_many_labels_and_metadata)
{
    struct strbuf body = {0}, series = {0};
    repeat(&series, "\x0a\x00", 2, WRITE_LABELS_MAX);
    repeat(&series, "\x12\x00", 2, 1);
    for (int i = 0; i < WRITE_ITEMS_MAX / WRITE_LABELS_MAX; i++)
        wire_bytes(&body, 1, series.p, series.n);
    ck_assert_int_eq(code_of(&body), 0);
    wire_bytes(&body, 1, series.p, series.n);
    ck_assert_int_eq(code_of(&body), ERR_TOO_LARGE);
    strbuf_clear(&body);
    repeat(&body, "\x1a\x00", 2, WRITE_ITEMS_MAX + 1);
    ck_assert_int_eq(code_of(&body), ERR_TOO_LARGE);
    /* series that say nothing are not kept at all */
    strbuf_clear(&body);
    repeat(&body, "\x0a\x00", 2, 2 * WRITE_ITEMS_MAX);
    struct write_request r = {0};
    must_parse(&r, &body);
    ck_assert_uint_eq(write_request_memory_bytes(&r), 0);
    write_request_done(&r);
    strbuf_done(&body);
    strbuf_done(&series);
}
END_TEST

/* ---- the hash ---- */

/* "nab.": labels n, a, b, then a sample at time_ms. */
static uint64_t hash_of(const char *shape, int64_t time_ms)
{
    struct strbuf body = {0}, series = {0};
    for (const char *p = shape; *p; p++) {
        if (*p == '.')
            wire_sample(&series, time_ms, (double)time_ms);
        else
            wire_label(&series, (struct str){p, 1}, STR("value"));
    }
    wire_bytes(&body, 1, series.p, series.n);
    struct write_request r = {0};
    must_parse(&r, &body);
    ck_assert_uint_eq(r.series_n, 1);
    uint64_t hash = r.series[0].wire_hash;
    write_request_done(&r);
    strbuf_done(&body);
    strbuf_done(&series);
    return hash;
}

/* Of the labels' bytes alone: the same wherever the samples stand, another for any other labels. */
START_TEST(hash_is_of_the_labels)
{
    ck_assert_uint_eq(hash_of("nab.", 1), hash_of("nab.", 2));
    ck_assert_uint_eq(hash_of("nab.", 1), hash_of("nab..", 300));
    ck_assert_uint_eq(hash_of("nab.", 1), hash_of(".nab", 70000));
    ck_assert_uint_ne(hash_of("nab.", 1), hash_of("nba.", 1));
    ck_assert_uint_ne(hash_of("nab.", 1), hash_of("na.", 1));
    ck_assert_uint_ne(hash_of("nab.", 1), hash_of("nac.", 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/write_request");
    TCase *tcase = tcase_create("write_request");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, round_trips);
    tcase_add_test(tcase, metadata);
    tcase_add_test(tcase, every_truncation);
    tcase_add_test(tcase, wire_types);
    tcase_add_test(tcase, lengths_and_keys_out_of_range);
    tcase_add_test(tcase, wire_types_of_histograms);
    tcase_add_test(tcase, histograms_of_few_fields);
    tcase_add_test(tcase, buckets_are_bounded);
    tcase_add_test(tcase, histogram_marker_is_an_ordinary_nan);
    tcase_add_test(tcase, malformed_names_its_field);
    tcase_add_test(tcase, too_many_samples);
    tcase_add_test(tcase, too_many_labels_and_metadata);
    tcase_add_test(tcase, hash_is_of_the_labels);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
