#include "ingest/write_request.h"

#include <snappy-c.h>

#include "base/alloc.h"
#include "base/bytes.h"

/* Protobuf field numbers of prometheus.WriteRequest and below (remote write 1.0). */
enum { REQUEST_TIMESERIES = 1, REQUEST_METADATA = 3 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES = 2, SERIES_EXEMPLARS = 3, SERIES_HISTOGRAMS = 4 };
enum { LABEL_NAME_FIELD = 1, LABEL_VALUE_FIELD = 2 };
enum { SAMPLE_VALUE = 1, SAMPLE_TIME = 2 };
enum { METADATA_TYPE = 1, METADATA_FAMILY = 2, METADATA_HELP = 4, METADATA_UNIT = 5 };
enum wire { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_BYTES = 2, WIRE_I32 = 5 };

int write_body_decompress(struct str body, size_t max_bytes, struct strbuf *buffer, struct err *e)
{
    size_t declared;
    if (body.n == 0)
        return err_set(e, ERR_BAD_DATA, "remote write body is empty");
    if (snappy_uncompressed_length(body.p, body.n, &declared) != SNAPPY_OK)
        return err_set(e, ERR_BAD_DATA, "remote write body is not snappy (block format)");
    if (declared > max_bytes)
        return err_set(e, ERR_TOO_LARGE,
                       "remote write body declares %zu bytes, more than the limit of %zu; send smaller batches",
                       declared, max_bytes);
    /* Snappy cannot shrink below 64:3 or so: a claim far over what these bytes can hold is refused before memory is
     * taken. */
    if (declared / 64 > body.n)
        return err_set(e, ERR_BAD_DATA, "remote write body of %zu bytes cannot hold the %zu bytes it declares", body.n,
                       declared);
    strbuf_clear(buffer);
    strbuf_reserve(buffer, declared + 1);
    size_t size = declared;
    if (snappy_uncompress(body.p, body.n, buffer->p, &size) != SNAPPY_OK)
        return err_set(e, ERR_BAD_DATA, "remote write body is damaged snappy data");
    buffer->n = size;
    return 0;
}

void write_walker_init(struct write_walker *w, struct str body)
{
    *w = (struct write_walker){.body = body};
}

void write_walker_done(struct write_walker *w)
{
    mem_free(w->series.labels);
    mem_free(w->series.samples);
    *w = (struct write_walker){0};
}

struct field {
    uint32_t number;
    enum wire wire;
    struct str bytes; /* WIRE_BYTES */
    uint64_t number_value;
};

/* One field; false at a malformed one (r->failed). */
static bool read_field(struct byte_reader *r, struct field *f)
{
    uint64_t key = read_varint(r);
    if (r->failed || key >> 3 == 0 || key >> 3 > (1u << 29) - 1) {
        r->failed = true;
        return false;
    }
    f->number = (uint32_t)(key >> 3);
    f->wire = (enum wire)(key & 7);
    switch (f->wire) {
    case WIRE_VARINT:
        f->number_value = read_varint(r);
        break;
    case WIRE_I64:
        f->number_value = read_u64(r);
        break;
    case WIRE_I32:
        f->number_value = read_u32(r);
        break;
    case WIRE_BYTES: {
        uint64_t n = read_varint(r);
        const uint8_t *p = n <= reader_left(r) ? read_bytes(r, (size_t)n) : NULL;
        if (!p) {
            r->failed = true;
            return false;
        }
        f->bytes = (struct str){(const char *)p, (size_t)n};
        break;
    }
    default:
        r->failed = true;
    }
    return !r->failed;
}

static struct byte_reader reader_over(struct str s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    return (struct byte_reader){p, p + s.n, false};
}

/* A known field with another wire type than its own is damage, not an unknown field. */
static bool wants(struct byte_reader *r, const struct field *f, enum wire wire)
{
    if (f->wire != wire)
        r->failed = true;
    return !r->failed;
}

static bool read_label(struct str bytes, struct label *ret)
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    *ret = (struct label){{"", 0}, {"", 0}};
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number == LABEL_NAME_FIELD && wants(&r, &f, WIRE_BYTES))
            ret->name = f.bytes;
        else if (f.number == LABEL_VALUE_FIELD && wants(&r, &f, WIRE_BYTES))
            ret->value = f.bytes;
    }
    return !r.failed;
}

static bool read_sample(struct str bytes, struct wire_sample *ret)
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    *ret = (struct wire_sample){0};
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number == SAMPLE_VALUE && wants(&r, &f, WIRE_I64))
            memcpy(&ret->value, &f.number_value, 8);
        else if (f.number == SAMPLE_TIME && wants(&r, &f, WIRE_VARINT))
            ret->time_ms = (int64_t)f.number_value;
    }
    return !r.failed;
}

static bool add_label(struct write_walker *w, struct str bytes)
{
    struct wire_series *s = &w->series;
    struct label label;
    if (!read_label(bytes, &label))
        return false;
    if (s->labels_n == WRITE_LABELS_MAX) {
        w->too_many_labels = true;
        return true;
    }
    if (s->labels_n == w->labels_cap)
        s->labels = mem_grow(s->labels, &w->labels_cap, s->labels_n + 1u, sizeof *s->labels);
    s->labels[s->labels_n++] = label;
    return true;
}

static bool add_sample(struct write_walker *w, struct str bytes)
{
    struct wire_series *s = &w->series;
    if (s->samples_n == w->samples_cap)
        s->samples = mem_grow(s->samples, &w->samples_cap, s->samples_n + 1u, sizeof *s->samples);
    return read_sample(bytes, &s->samples[s->samples_n++]);
}

static bool read_series(struct write_walker *w, struct str bytes)
{
    struct wire_series *s = &w->series;
    struct byte_reader r = reader_over(bytes);
    struct field f;
    s->labels_n = s->samples_n = s->histograms_n = s->exemplars_n = 0;
    s->first_sample = w->samples_seen;
    w->too_many_labels = false;
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number >= SERIES_LABELS && f.number <= SERIES_HISTOGRAMS && !wants(&r, &f, WIRE_BYTES))
            break;
        if (f.number == SERIES_LABELS)
            r.failed |= !add_label(w, f.bytes);
        else if (f.number == SERIES_SAMPLES)
            r.failed |= !add_sample(w, f.bytes);
        else if (f.number == SERIES_HISTOGRAMS)
            s->histograms_n++;
        else if (f.number == SERIES_EXEMPLARS)
            s->exemplars_n++;
    }
    w->samples_seen += s->samples_n + s->histograms_n;
    return !r.failed;
}

static bool read_metadata(struct write_walker *w, struct str bytes)
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    w->metadata = (struct wire_metadata){{"", 0}, {"", 0}, {"", 0}, 0};
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number == METADATA_TYPE && wants(&r, &f, WIRE_VARINT))
            w->metadata.type = (uint32_t)f.number_value;
        else if (f.number == METADATA_FAMILY && wants(&r, &f, WIRE_BYTES))
            w->metadata.name = f.bytes;
        else if (f.number == METADATA_HELP && wants(&r, &f, WIRE_BYTES))
            w->metadata.help = f.bytes;
        else if (f.number == METADATA_UNIT && wants(&r, &f, WIRE_BYTES))
            w->metadata.unit = f.bytes;
    }
    return !r.failed;
}

int write_walker_next(struct write_walker *w, enum write_item *ret, struct err *e)
{
    struct byte_reader r = reader_over(w->body);
    r.p += w->at;
    while (r.p < r.end) {
        size_t at = (size_t)(r.p - (const uint8_t *)w->body.p);
        struct field f;
        bool ok = read_field(&r, &f);
        bool series = ok && f.number == REQUEST_TIMESERIES, metadata = ok && f.number == REQUEST_METADATA;
        if (series || metadata)
            ok = f.wire == WIRE_BYTES && (series ? read_series(w, f.bytes) : read_metadata(w, f.bytes));
        if (!ok)
            return err_set(e, ERR_BAD_DATA, "remote write body: malformed protobuf in the field at byte %zu of %zu", at,
                           w->body.n);
        w->at = (size_t)(r.p - (const uint8_t *)w->body.p);
        if (series || metadata) {
            *ret = series ? WRITE_SERIES : WRITE_METADATA;
            return 0;
        }
    }
    *ret = WRITE_END;
    return 0;
}
