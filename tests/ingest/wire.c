#include "ingest/wire.h"

#include <check.h>
#include <snappy-c.h>

void wire_varint(struct strbuf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        strbuf_add_char(b, (char)(v | 128));
    strbuf_add_char(b, (char)v);
}

void wire_varint_wide(struct strbuf *b, uint64_t v, unsigned bytes)
{
    for (unsigned i = 1; i < bytes; i++, v >>= 7)
        strbuf_add_char(b, (char)(v | 128));
    strbuf_add_char(b, (char)v);
}

void wire_key(struct strbuf *b, uint64_t field, unsigned wire_type)
{
    wire_varint(b, field << 3 | wire_type);
}

void wire_bytes(struct strbuf *b, uint64_t field, const void *p, size_t n)
{
    wire_key(b, field, 2);
    wire_varint(b, n);
    strbuf_add(b, p, n);
}

void wire_label(struct strbuf *series, struct str name, struct str value)
{
    struct strbuf label = {0};
    wire_bytes(&label, 1, name.p, name.n);
    wire_bytes(&label, 2, value.p, value.n);
    wire_bytes(series, 1, label.p, label.n);
    strbuf_done(&label);
}

void wire_sample(struct strbuf *series, int64_t time_ms, double value)
{
    struct strbuf sample = {0};
    wire_key(&sample, 1, 1);
    strbuf_add(&sample, &value, 8);
    wire_key(&sample, 2, 0);
    wire_varint(&sample, (uint64_t)time_ms);
    wire_bytes(series, 2, sample.p, sample.n);
    strbuf_done(&sample);
}

void wire_compress(const struct strbuf *plain, struct strbuf *out)
{
    size_t size = snappy_max_compressed_length(plain->n);
    strbuf_clear(out);
    strbuf_reserve(out, size);
    ck_assert_int_eq(snappy_compress(plain->p, plain->n, out->p, &size), SNAPPY_OK);
    out->n = size;
}
