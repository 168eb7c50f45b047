/* Protobuf's wire format, field by field, over bounded bytes. */
#ifndef INGEST_WIRE_FIELD_H
#define INGEST_WIRE_FIELD_H

#include "base/bytes.h"
#include "base/str.h"

enum wire { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_BYTES = 2, WIRE_I32 = 5 };

struct field {
    uint32_t number;
    enum wire wire;
    struct str bytes; /* WIRE_BYTES */
    uint64_t number_value;
};

/* One field; false at a malformed one (r->failed). */
static inline bool read_field(struct byte_reader *r, struct field *f)
{
    uint64_t key = read_varint(r);
    if (r->failed || key >> 3 == 0 || key >> 3 > (1u << 29) - 1) {
        r->failed = true;
        return false;
    }
    *f = (struct field){.number = (uint32_t)(key >> 3), .wire = (enum wire)(key & 7)};
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

static inline struct byte_reader reader_over(struct str s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    return (struct byte_reader){p, s.n ? p + s.n : p, false};
}

/* A known field with another wire type than its own is damage, not an unknown field. */
static inline bool wants(struct byte_reader *r, const struct field *f, enum wire wire)
{
    if (f->wire != wire)
        r->failed = true;
    return !r->failed;
}

#endif
