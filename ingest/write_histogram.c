#include "ingest/write_histogram.h"

#include "base/err.h"
#include "ingest/wire_field.h"
#include "ingest/write_request.h"

/* Field numbers of prometheus.Histogram and prometheus.BucketSpan. */
enum {
    COUNT_INT = 1,
    COUNT_FLOAT = 2,
    SUM = 3,
    SCHEMA = 4,
    ZERO_THRESHOLD = 5,
    ZERO_COUNT_INT = 6,
    ZERO_COUNT_FLOAT = 7,
    NEGATIVE_SPANS = 8,
    NEGATIVE_DELTAS = 9,
    NEGATIVE_COUNTS = 10,
    POSITIVE_SPANS = 11,
    POSITIVE_DELTAS = 12,
    POSITIVE_COUNTS = 13,
    RESET_HINT = 14,
    TIME = 15,
    CUSTOM_VALUES = 16,
    FIELDS
};
enum { SPAN_OFFSET = 1, SPAN_LENGTH = 2 };

/* How each repeated field is written: one number a field, or packed. */
static enum wire item_wire(uint32_t field)
{
    switch (field) {
    case NEGATIVE_DELTAS:
    case POSITIVE_DELTAS:
        return WIRE_VARINT;
    case NEGATIVE_COUNTS:
    case POSITIVE_COUNTS:
    case CUSTOM_VALUES:
        return WIRE_I64;
    default:
        return WIRE_BYTES; /* spans: messages */
    }
}

static bool is_repeated(uint32_t field)
{
    return (field >= NEGATIVE_SPANS && field <= POSITIVE_COUNTS) || field == CUSTOM_VALUES;
}

/* Items in one field; false when it is malformed. */
static bool count_items(const struct field *f, uint64_t *ret)
{
    enum wire wire = item_wire(f->number);
    *ret = 1;
    if (f->wire == wire)
        return true;
    if (f->wire != WIRE_BYTES)
        return false;
    if (wire == WIRE_I64) {
        *ret = f->bytes.n / 8;
        return f->bytes.n % 8 == 0;
    }
    *ret = 0;
    for (size_t i = 0; i < f->bytes.n; i++)
        *ret += (f->bytes.p[i] & 128) == 0;
    return f->bytes.n == 0 || (f->bytes.p[f->bytes.n - 1] & 128) == 0;
}

static bool count_all(struct str bytes, uint64_t counts[FIELDS])
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    while (r.p < r.end && read_field(&r, &f)) {
        uint64_t n;
        if (f.number >= FIELDS || !is_repeated(f.number))
            continue;
        if (!count_items(&f, &n))
            return false;
        counts[f.number] += n;
    }
    return !r.failed;
}

static bool read_span(struct str bytes, struct histogram_span *ret)
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    *ret = (struct histogram_span){0};
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number == SPAN_OFFSET && wants(&r, &f, WIRE_VARINT))
            ret->offset = (int32_t)unzigzag(f.number_value);
        else if (f.number == SPAN_LENGTH && wants(&r, &f, WIRE_VARINT))
            ret->length = (uint32_t)f.number_value;
    }
    return !r.failed;
}

/* A message as it came: repeated fields joined, absent ones empty. */
struct message {
    struct histogram_span *spans[2];
    uint64_t *items[FIELDS]; /* deltas, counts, bounds as 64 bits */
    uint64_t n[FIELDS];      /* of repeated fields: filled so far */
    uint64_t number[FIELDS]; /* of others */
    bool has[FIELDS];
};

static bool add_items(struct message *m, const struct field *f)
{
    if (f->number == NEGATIVE_SPANS || f->number == POSITIVE_SPANS)
        return read_span(f->bytes, &m->spans[f->number == POSITIVE_SPANS][m->n[f->number]++]);
    uint64_t *to = m->items[f->number];
    if (f->wire != WIRE_BYTES) {
        to[m->n[f->number]++] = f->number_value;
        return true;
    }
    struct byte_reader r = reader_over(f->bytes);
    while (r.p < r.end && !r.failed)
        to[m->n[f->number]++] = item_wire(f->number) == WIRE_I64 ? read_u64(&r) : read_varint(&r);
    return !r.failed;
}

static bool is_double(uint32_t field)
{
    return field == COUNT_FLOAT || field == SUM || field == ZERO_THRESHOLD || field == ZERO_COUNT_FLOAT;
}

static bool read_message(struct str bytes, struct message *m)
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number >= FIELDS)
            continue;
        if (is_repeated(f.number)) {
            r.failed |= !add_items(m, &f);
        } else if (wants(&r, &f, is_double(f.number) ? WIRE_I64 : WIRE_VARINT)) {
            m->number[f.number] = f.number_value;
            m->has[f.number] = true;
            /* Of a oneof the last counts. */
            if (f.number == COUNT_INT || f.number == COUNT_FLOAT)
                m->has[COUNT_INT + COUNT_FLOAT - f.number] = false;
            if (f.number == ZERO_COUNT_INT || f.number == ZERO_COUNT_FLOAT)
                m->has[ZERO_COUNT_INT + ZERO_COUNT_FLOAT - f.number] = false;
        }
    }
    return !r.failed;
}

static double as_double(uint64_t bits)
{
    return load_f64(&bits);
}

/* In place: each bucket's count from its difference to the one before. */
static bool absolute_counts(uint64_t *deltas, uint64_t n)
{
    int64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (__builtin_add_overflow(count, unzigzag(deltas[i]), &count) || count < 0)
            return false;
        deltas[i] = (uint64_t)count;
    }
    return true;
}

static struct histogram_exact_side side_of(const struct message *m, bool floats, bool positive)
{
    uint32_t spans = positive ? POSITIVE_SPANS : NEGATIVE_SPANS, counts = spans + (floats ? 2 : 1);
    return (struct histogram_exact_side){m->spans[positive], m->items[counts], (uint32_t)m->n[spans],
                                         (uint32_t)m->n[counts]};
}

static const char *make(struct message *m, struct histogram_exact *ret)
{
    bool floats = m->has[COUNT_FLOAT];
    *ret = (struct histogram_exact){.schema = (int32_t)unzigzag(m->number[SCHEMA]),
                                    .floats = floats,
                                    .zero_threshold = as_double(m->number[ZERO_THRESHOLD]),
                                    .sum = as_double(m->number[SUM]),
                                    .count = floats ? m->number[COUNT_FLOAT] : m->number[COUNT_INT],
                                    .custom_n = (uint32_t)m->n[CUSTOM_VALUES]};
    if (m->number[RESET_HINT] <= HISTOGRAM_GAUGE)
        ret->reset = (enum histogram_reset)m->number[RESET_HINT];
    if (m->has[floats ? ZERO_COUNT_FLOAT : ZERO_COUNT_INT])
        ret->zero_count = m->number[floats ? ZERO_COUNT_FLOAT : ZERO_COUNT_INT];
    /* Doubles' bits as they stand. */
    ret->custom = (const double *)(const void *)m->items[CUSTOM_VALUES];
    if (!floats && !(absolute_counts(m->items[NEGATIVE_DELTAS], m->n[NEGATIVE_DELTAS]) &&
                     absolute_counts(m->items[POSITIVE_DELTAS], m->n[POSITIVE_DELTAS])))
        return "invalid histogram: a count is negative or too large";
    ret->negative = side_of(m, floats, false);
    ret->positive = side_of(m, floats, true);
    return histogram_exact_fault(ret);
}

int wire_histogram_read(struct str bytes, struct arena *a, uint32_t *items_n, struct wire_histogram *ret)
{
    uint64_t counts[FIELDS] = {0}, total = *items_n + WIRE_HISTOGRAM_ITEMS;
    struct message m = {0};
    if (!count_all(bytes, counts))
        return ERR_BAD_DATA;
    for (uint32_t i = 0; i < FIELDS; i++)
        total += counts[i];
    if (total > WRITE_ITEMS_MAX)
        return ERR_TOO_LARGE;
    *items_n = (uint32_t)total;
    for (uint32_t i = 0; i < FIELDS; i++) {
        if (counts[i] == 0)
            continue;
        if (i == NEGATIVE_SPANS || i == POSITIVE_SPANS)
            m.spans[i == POSITIVE_SPANS] = ARENA_ARRAY(a, struct histogram_span, counts[i]);
        else
            m.items[i] = ARENA_ARRAY(a, uint64_t, counts[i]);
    }
    if (!read_message(bytes, &m))
        return ERR_BAD_DATA;
    *ret = (struct wire_histogram){.time_ms = (int64_t)m.number[TIME]};
    ret->fault = make(&m, &ret->v);
    return 0;
}
