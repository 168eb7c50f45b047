/*
 * Bounded little-endian reading and writing. A reader or writer that would pass its end sets `failed` and from then on
 * yields zeros / writes nothing, so a parser checks once at the end. No allocation; header-inline.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "mullion's formats are read in place and need a little-endian machine"
#endif

struct byte_reader {
    const uint8_t *p, *end;
    bool failed;
};
struct byte_writer {
    uint8_t *p, *end;
    bool failed;
};

static inline uint16_t load_u16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
static inline uint32_t load_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t load_u64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline int32_t load_i32(const void *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline int64_t load_i64(const void *p)
{
    int64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline double load_f64(const void *p)
{
    double v;
    memcpy(&v, p, 8);
    return v;
}
static inline void store_u16(void *p, uint16_t v)
{
    memcpy(p, &v, 2);
}
static inline void store_u32(void *p, uint32_t v)
{
    memcpy(p, &v, 4);
}
static inline void store_u64(void *p, uint64_t v)
{
    memcpy(p, &v, 8);
}
static inline void store_i32(void *p, int32_t v)
{
    memcpy(p, &v, 4);
}
static inline void store_i64(void *p, int64_t v)
{
    memcpy(p, &v, 8);
}
static inline void store_f64(void *p, double v)
{
    memcpy(p, &v, 8);
}
/* Big-endian with the sign flipped: LMDB keys, so that bytes sort as numbers. */
static inline void store_be32(void *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}
static inline void store_be64(void *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}
static inline uint32_t load_be32(const void *p)
{
    return __builtin_bswap32(load_u32(p));
}
static inline uint64_t load_be64(const void *p)
{
    return __builtin_bswap64(load_u64(p));
}
static inline void store_be_i64(void *p, int64_t v)
{
    store_be64(p, (uint64_t)v ^ (UINT64_C(1) << 63));
}
static inline int64_t load_be_i64(const void *p)
{
    return (int64_t)(load_be64(p) ^ (UINT64_C(1) << 63));
}

static inline size_t reader_left(const struct byte_reader *r)
{
    return (size_t)(r->end - r->p);
}

/* A borrowed run of n bytes, or NULL (and failed). */
static inline const uint8_t *read_bytes(struct byte_reader *r, size_t n)
{
    if (r->failed || reader_left(r) < n) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *p = r->p;
    r->p += n;
    return p;
}
#define BYTES_READ(name, type, load)                                                                                   \
    static inline type read_##name(struct byte_reader *r)                                                              \
    {                                                                                                                  \
        const uint8_t *p = read_bytes(r, sizeof(type));                                                                \
        return p ? load(p) : 0;                                                                                        \
    }
static inline uint8_t load_u8(const void *p)
{
    return *(const uint8_t *)p;
}
static inline void store_u8(void *p, uint8_t v)
{
    *(uint8_t *)p = v;
}
BYTES_READ(u8, uint8_t, load_u8)
BYTES_READ(u16, uint16_t, load_u16)
BYTES_READ(u32, uint32_t, load_u32)
BYTES_READ(u64, uint64_t, load_u64)
BYTES_READ(i32, int32_t, load_i32)
BYTES_READ(i64, int64_t, load_i64)
BYTES_READ(f64, double, load_f64)
#undef BYTES_READ

static inline size_t writer_left(const struct byte_writer *w)
{
    return (size_t)(w->end - w->p);
}

static inline uint8_t *write_room(struct byte_writer *w, size_t n)
{
    if (w->failed || writer_left(w) < n) {
        w->failed = true;
        return NULL;
    }
    uint8_t *p = w->p;
    w->p += n;
    return p;
}
static inline void write_bytes(struct byte_writer *w, const void *from, size_t n)
{
    uint8_t *p = write_room(w, n);
    if (p && n)
        memcpy(p, from, n);
}
#define BYTES_WRITE(name, type, store)                                                                                 \
    static inline void write_##name(struct byte_writer *w, type v)                                                     \
    {                                                                                                                  \
        uint8_t *p = write_room(w, sizeof(type));                                                                      \
        if (p)                                                                                                         \
            store(p, v);                                                                                               \
    }
BYTES_WRITE(u8, uint8_t, store_u8)
BYTES_WRITE(u16, uint16_t, store_u16)
BYTES_WRITE(u32, uint32_t, store_u32)
BYTES_WRITE(u64, uint64_t, store_u64)
BYTES_WRITE(i32, int32_t, store_i32)
BYTES_WRITE(i64, int64_t, store_i64)
BYTES_WRITE(f64, double, store_f64)
#undef BYTES_WRITE

/* LEB128, at most 10 bytes; a longer or overflowing one fails. */
static inline uint64_t read_varint(struct byte_reader *r)
{
    const uint8_t *p = r->p;
    uint64_t v = 0;
    for (unsigned shift = 0; !r->failed && p < r->end && shift < 64; shift += 7) {
        uint8_t b = *p++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            r->p = p;
            return v;
        }
    }
    r->failed = true;
    return 0;
}
static inline void write_varint(struct byte_writer *w, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        write_u8(w, (uint8_t)(v | 128));
    write_u8(w, (uint8_t)v);
}
static inline uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t unzigzag(uint64_t z)
{
    return (int64_t)(z >> 1) ^ -(int64_t)(z & 1);
}

#endif
