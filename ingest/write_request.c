#include "ingest/write_request.h"

#include <snappy-c.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "base/map.h"
#include "ingest/wire_field.h"

/* Protobuf field numbers of prometheus.WriteRequest and below (remote write 1.0). */
enum { REQUEST_TIMESERIES = 1, REQUEST_METADATA = 3 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES = 2, SERIES_EXEMPLARS = 3, SERIES_HISTOGRAMS = 4 };
enum { LABEL_NAME_FIELD = 1, LABEL_VALUE_FIELD = 2 };
enum { SAMPLE_VALUE = 1, SAMPLE_TIME = 2 };
enum { METADATA_TYPE = 1, METADATA_FAMILY = 2, METADATA_HELP = 4, METADATA_UNIT = 5 };

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

static inline uint8_t key_of(uint32_t number, enum wire wire)
{
    return (uint8_t)(number << 3 | wire);
}

/* Name and value, once each, with lengths of one byte: as senders write nearly all labels. */
static inline bool read_plain_label(struct str bytes, struct label *ret)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    if (bytes.n < 4 || p[0] != key_of(LABEL_NAME_FIELD, WIRE_BYTES) || p[1] >= 128)
        return false;
    size_t name_n = p[1], value_at = 2 + name_n + 2;
    if (bytes.n < value_at || p[value_at - 2] != key_of(LABEL_VALUE_FIELD, WIRE_BYTES) || p[value_at - 1] >= 128 ||
        p[value_at - 1] != bytes.n - value_at)
        return false;
    *ret = (struct label){{bytes.p + 2, name_n}, {bytes.p + value_at, bytes.n - value_at}};
    return true;
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

/* The bits that say "a histogram stands here" are no sample's. */
static double float_plain(double v)
{
    const uint64_t nan = NORMAL_NAN_BITS;
    return float_is_histogram(v) ? load_f64(&nan) : v;
}

static bool read_sample(struct str bytes, struct wire_sample *ret)
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    *ret = (struct wire_sample){0};
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number == SAMPLE_VALUE && wants(&r, &f, WIRE_I64))
            ret->value = float_plain(load_f64(&f.number_value));
        else if (f.number == SAMPLE_TIME && wants(&r, &f, WIRE_VARINT))
            ret->time_ms = (int64_t)f.number_value;
    }
    return !r.failed;
}

static bool add_label(struct write_request *to, struct wire_series *s, struct str bytes)
{
    struct label label;
    if (!read_plain_label(bytes, &label) && !read_label(bytes, &label))
        return false;
    if (s->labels_n == WRITE_LABELS_MAX) {
        s->too_many_labels = true;
        return true;
    }
    if (to->labels_n == to->labels_cap)
        to->labels = mem_grow(to->labels, &to->labels_cap, to->labels_n + 1u, sizeof *to->labels);
    to->labels[to->labels_n++] = label;
    s->labels_n++;
    return true;
}

/* Samples over the limit are counted, so that the request is refused, but not kept. */
static bool add_sample(struct write_request *to, struct wire_series *s, struct str bytes)
{
    struct wire_sample sample;
    if (!read_sample(bytes, &sample))
        return false;
    s->samples_n++;
    if (to->samples_n == WRITE_ITEMS_MAX)
        return true;
    if (to->samples_n == to->samples_cap)
        to->samples = mem_grow(to->samples, &to->samples_cap, to->samples_n + 1u, sizeof *to->samples);
    to->samples[to->samples_n++] = sample;
    return true;
}

static bool add_histogram(struct write_request *to, struct wire_series *s, struct str bytes)
{
    struct wire_histogram histogram;
    int code = wire_histogram_read(bytes, &to->arena, &to->histogram_items_n, &histogram);
    if (code == ERR_TOO_LARGE)
        to->histogram_items_n = UINT32_MAX;
    if (code)
        return false;
    s->histograms_n++;
    to->histograms = mem_grow(to->histograms, &to->histograms_cap, to->histograms_n + 1u, sizeof *to->histograms);
    to->histograms[to->histograms_n++] = histogram;
    return true;
}

static void keep_series(struct write_request *to, const struct wire_series *s, const uint8_t *labels,
                        size_t labels_bytes)
{
    if (s->samples_n + s->histograms_n == 0) {
        to->labels_n = s->labels_at;
        return;
    }
    if (to->series_n == to->series_cap)
        to->series = mem_grow(to->series, &to->series_cap, to->series_n + 1u, sizeof *to->series);
    to->series[to->series_n] = *s;
    to->series[to->series_n++].wire_hash = XXH3_64bits_withSeed(labels, labels_bytes, map_seed());
    to->ordinals_n += s->samples_n + s->histograms_n;
}

static bool read_series(struct write_request *to, struct str bytes)
{
    struct wire_series s = {.labels_at = to->labels_n,
                            .samples_at = to->samples_n,
                            .histograms_at = to->histograms_n,
                            .first_ordinal = to->ordinals_n};
    struct byte_reader r = reader_over(bytes);
    const uint8_t *labels = r.p, *labels_end = r.p; /* their first run */
    struct field f;
    while (r.p < r.end) {
        const uint8_t *at = r.p;
        if (!read_field(&r, &f))
            break;
        if (f.number >= SERIES_LABELS && f.number <= SERIES_HISTOGRAMS && !wants(&r, &f, WIRE_BYTES))
            break;
        if (f.number == SERIES_LABELS) {
            r.failed |= !add_label(to, &s, f.bytes);
            if (s.labels_n == 1)
                labels = labels_end = at;
            if (labels_end == at)
                labels_end = r.p;
        } else if (f.number == SERIES_SAMPLES) {
            r.failed |= !add_sample(to, &s, f.bytes);
        } else if (f.number == SERIES_HISTOGRAMS) {
            r.failed |= !add_histogram(to, &s, f.bytes);
        }
    }
    keep_series(to, &s, labels, (size_t)(labels_end - labels));
    return !r.failed;
}

static bool read_metadata(struct write_request *to, struct str bytes)
{
    struct byte_reader r = reader_over(bytes);
    struct field f;
    struct wire_metadata m = {{"", 0}, {"", 0}, {"", 0}, 0};
    while (r.p < r.end && read_field(&r, &f)) {
        if (f.number == METADATA_TYPE && wants(&r, &f, WIRE_VARINT))
            m.type = (uint32_t)f.number_value;
        else if (f.number == METADATA_FAMILY && wants(&r, &f, WIRE_BYTES))
            m.name = f.bytes;
        else if (f.number == METADATA_HELP && wants(&r, &f, WIRE_BYTES))
            m.help = f.bytes;
        else if (f.number == METADATA_UNIT && wants(&r, &f, WIRE_BYTES))
            m.unit = f.bytes;
    }
    if (to->metadata_n == to->metadata_cap)
        to->metadata = mem_grow(to->metadata, &to->metadata_cap, to->metadata_n + 1u, sizeof *to->metadata);
    to->metadata[to->metadata_n++] = m;
    return !r.failed;
}

static bool too_many_items(const struct write_request *r)
{
    return r->ordinals_n > WRITE_ITEMS_MAX || r->labels_n > WRITE_ITEMS_MAX || r->metadata_n > WRITE_ITEMS_MAX ||
           r->histogram_items_n > WRITE_ITEMS_MAX;
}

int write_request_parse(struct write_request *to, struct str body, struct err *e)
{
    struct byte_reader r = reader_over(body);
    to->series_n = to->labels_n = to->samples_n = to->metadata_n = to->ordinals_n = 0;
    to->histograms_n = to->histogram_items_n = 0;
    arena_reset(&to->arena);
    while (r.p < r.end) {
        size_t at = (size_t)(r.p - (const uint8_t *)body.p);
        struct field f;
        bool ok = read_field(&r, &f);
        if (ok && f.number == REQUEST_TIMESERIES)
            ok = f.wire == WIRE_BYTES && read_series(to, f.bytes);
        else if (ok && f.number == REQUEST_METADATA)
            ok = f.wire == WIRE_BYTES && read_metadata(to, f.bytes);
        if (too_many_items(to))
            return err_set(e, ERR_TOO_LARGE,
                           "remote write body: more than %d samples, labels, buckets or metadata entries up to byte "
                           "%zu; send smaller "
                           "batches",
                           WRITE_ITEMS_MAX, at);
        if (!ok)
            return err_set(e, ERR_BAD_DATA, "remote write body: malformed protobuf in the field at byte %zu of %zu", at,
                           body.n);
    }
    return 0;
}

size_t write_request_memory_bytes(const struct write_request *r)
{
    return r->series_cap * sizeof *r->series + r->labels_cap * sizeof *r->labels + r->samples_cap * sizeof *r->samples +
           r->histograms_cap * sizeof *r->histograms + r->arena.used_bytes + r->metadata_cap * sizeof *r->metadata;
}

void write_request_done(struct write_request *r)
{
    mem_free(r->series);
    mem_free(r->labels);
    mem_free(r->samples);
    mem_free(r->histograms);
    mem_free(r->metadata);
    arena_done(&r->arena);
    *r = (struct write_request){0};
}
