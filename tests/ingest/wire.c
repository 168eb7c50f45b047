#include "ingest/wire.h"

#include <check.h>
#include <snappy-c.h>
#include <stdlib.h>

#include "base/bytes.h"

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

static void put_double(struct strbuf *b, uint64_t field, uint64_t bits)
{
    if (bits == 0)
        return;
    wire_key(b, field, 1);
    strbuf_add(b, &bits, 8);
}

static void put_number(struct strbuf *b, uint64_t field, uint64_t v)
{
    if (v == 0)
        return;
    wire_key(b, field, 0);
    wire_varint(b, v);
}

/* Doubles (8 bytes) or zigzag varints. */
static void put_numbers(struct strbuf *b, uint64_t field, const uint64_t *v, uint32_t n, bool doubles, bool packed)
{
    struct strbuf run = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (!packed)
            wire_key(&run, field, doubles ? 1 : 0);
        if (doubles)
            strbuf_add(&run, &v[i], 8);
        else
            wire_varint(&run, v[i]);
    }
    if (packed && n)
        wire_bytes(b, field, run.p, run.n);
    else if (n)
        strbuf_add(b, run.p, run.n);
    strbuf_done(&run);
}

static void put_side(struct strbuf *b, uint64_t field, const struct histogram_exact_side *s, bool floats, bool packed)
{
    uint64_t *numbers = malloc((s->counts_n + 1) * sizeof *numbers), before = 0;
    for (uint32_t i = 0; i < s->spans_n; i++) {
        struct strbuf span = {0};
        put_number(&span, 1, zigzag(s->spans[i].offset));
        put_number(&span, 2, s->spans[i].length);
        wire_bytes(b, field, span.p, span.n);
        strbuf_done(&span);
    }
    for (uint32_t i = 0; i < s->counts_n; i++) {
        numbers[i] = floats ? s->counts[i] : zigzag((int64_t)(s->counts[i] - before));
        before = s->counts[i];
    }
    put_numbers(b, field + (floats ? 2 : 1), numbers, s->counts_n, floats, packed);
    free(numbers);
}

void wire_histogram(struct strbuf *series, int64_t time_ms, const struct histogram_exact *h, bool packed)
{
    struct strbuf b = {0};
    wire_key(&b, h->floats ? 2 : 1, h->floats ? 1 : 0); /* of a oneof, so even when zero */
    if (h->floats)
        strbuf_add(&b, &h->count, 8);
    else
        wire_varint(&b, h->count);
    put_double(&b, 3, load_u64(&h->sum));
    put_number(&b, 4, zigzag(h->schema));
    put_double(&b, 5, load_u64(&h->zero_threshold));
    if (h->floats)
        put_double(&b, 7, h->zero_count);
    else
        put_number(&b, 6, h->zero_count);
    put_side(&b, 8, &h->negative, h->floats, packed);
    put_side(&b, 11, &h->positive, h->floats, packed);
    put_number(&b, 14, h->reset);
    put_number(&b, 15, (uint64_t)time_ms);
    put_numbers(&b, 16, (const uint64_t *)(const void *)h->custom, h->custom_n, true, packed);
    wire_bytes(series, 4, b.p, b.n);
    strbuf_done(&b);
}

void wire_compress(const struct strbuf *plain, struct strbuf *out)
{
    size_t size = snappy_max_compressed_length(plain->n);
    strbuf_clear(out);
    strbuf_reserve(out, size);
    ck_assert_int_eq(snappy_compress(plain->p, plain->n, out->p, &size), SNAPPY_OK);
    out->n = size;
}
