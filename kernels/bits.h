/*
 * Loads, stores and bit tricks that every kernel shares. States and frames are read in place at any address, so each
 * access is a memcpy that compiles to one move. Doubles that may be signalling NaNs travel as their bits: arithmetic
 * would quieten them and lose the stale marker. Header-inline, libc only.
 */
#ifndef KERNELS_BITS_H
#define KERNELS_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "states and frames are read in place and need a little-endian machine"
#endif

/* The NaN that states and answers hold, whatever NaNs met: which operand's payload survives differs by machine. */
#define BITS_NAN UINT64_C(0x7ff8000000000001)

static inline uint16_t bits_load_u16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t bits_load_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t bits_load_u64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline int32_t bits_load_i32(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline double bits_load_f64(const void *p)
{
    double v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void bits_store_u16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}
static inline void bits_store_u32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}
static inline void bits_store_u64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}
static inline void bits_store_i32(void *p, int32_t v)
{
    memcpy(p, &v, sizeof v);
}
static inline void bits_store_f64(void *p, double v)
{
    memcpy(p, &v, sizeof v);
}

static inline uint64_t bits_of_f64(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}
static inline double bits_to_f64(uint64_t u)
{
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}
/* v, or the one NaN. */
static inline double bits_one_nan(double v)
{
    return v != v ? bits_to_f64(BITS_NAN) : v;
}
/* A sample value as an item of a set: its bits, -0 as +0, all NaNs as one. */
static inline uint64_t bits_item(double v)
{
    return v == 0 ? 0 : v != v ? BITS_NAN : bits_of_f64(v);
}
static inline bool bits_is_finite(double v)
{
    return (bits_of_f64(v) << 1) < UINT64_C(0xffe0000000000000);
}
static inline bool bits_is_inf(double v)
{
    return (bits_of_f64(v) << 1) == UINT64_C(0xffe0000000000000);
}

/* Doubles' bits as signed integers in their numeric order (-0 just below +0, NaNs at the ends); its own inverse. */
static inline uint64_t bits_order_key(uint64_t bits)
{
    return bits ^ ((uint64_t)((int64_t)bits >> 63) >> 1);
}

/* Bits needed for u: 0 for 0, 64 at most. */
static inline unsigned bits_width(uint64_t u)
{
    return u ? 64u - (unsigned)__builtin_clzll(u) : 0;
}

static inline uint64_t bits_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t bits_unzigzag(uint64_t z)
{
    return (int64_t)((z >> 1) ^ (0 - (z & 1)));
}

/* Bytes of v's LEB128. */
static inline size_t bits_varint_size(uint64_t v)
{
    return (bits_width(v | 1) * 9 + 64) / 64; /* bits / 7 rounded up, up to 64 bits */
}
/* LEB128 of v; at most 10 bytes. Returns the byte after it. */
static inline uint8_t *bits_put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        *p++ = (uint8_t)(v | 128);
    *p++ = (uint8_t)v;
    return p;
}
/* The 7-bit groups of up to eight bytes. */
static inline uint64_t bits_sevens(uint64_t v)
{
    v &= UINT64_C(0x7f7f7f7f7f7f7f7f);
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (v & UINT64_C(0x0fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
}
/* The byte after the LEB128 at p, or NULL when it runs past end or over 64 bits. How many bytes there are is
 * unforeseeable, so eight are looked at together. */
static inline const uint8_t *bits_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
    if (p < end && *p < 128) {
        *ret = *p;
        return p + 1;
    }
    uint64_t v = 0, last; /* last: the highest bit of bytes that end a varint */
    unsigned have = 0;
    if (end - p >= 8) {
        v = bits_load_u64(p);
        last = ~v & UINT64_C(0x8080808080808080);
        if (last) {
            *ret = bits_sevens(v & (last ^ (last - 1)));
            return p + __builtin_ctzll(last) / 8 + 1;
        }
        v = bits_sevens(v);
        have = 56;
        p += 8;
    }
    for (; have < 64 && p < end; have += 7) {
        uint8_t b = *p++;
        if (have == 63 && b > 1)
            return NULL;
        v |= (uint64_t)(b & 127) << have;
        if (b < 128) {
            *ret = v;
            return p;
        }
    }
    return NULL;
}

#endif
