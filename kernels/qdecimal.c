#include "kernels/qdecimal.h"

#include "kernels/bits.h"
#include "kernels/decimal.h"
#include "kernels/ops.h"
#include "kernels/qpane.h"

enum { TINY_MAX_N = 24, NEGATIVE = 0x80, GROUP = QDECIMAL_GROUP };

const uint8_t qdecimal_width[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 26, 52};

enum { PROBES = 8 };

/* The least e that holds all samples, and their y; false if there is none. */
static bool scale_all(const double *v, uint32_t n, uint64_t *y, unsigned *ret_e)
{
    double probe[PROBES];
    for (uint32_t i = 0; i < PROBES; i++)
        probe[i] = v[i * n / PROBES];
    for (unsigned e = 0; e <= QDECIMAL_E_MAX; e++)
        if (frame_ops.decimal(y, probe, PROBES, e, 0) == 0 && frame_ops.decimal(y, v, n, e, 0) == 0) {
            *ret_e = e;
            return true;
        }
    return false;
}

static unsigned width_code(uint64_t most)
{
    unsigned bits = bits_width(most), code = bits < 8 ? bits : 8;
    while (qdecimal_width[code] < bits)
        code++;
    return code;
}

/* Steps as bits. Returns the byte after them; up to eight bytes more are written. */
static inline uint8_t *pack(uint8_t *p, const uint64_t *step, uint32_t n, unsigned width)
{
    uint64_t waiting = 0;
    unsigned have = 0; /* 0..7 bits wait, so 52 more fit */
    for (uint32_t i = 0; i < n; i++) {
        waiting |= step[i] << have;
        bits_store_u64(p, waiting);
        have += width;
        p += have / 8;
        waiting >>= have & ~7u;
        have &= 7;
    }
    bits_store_u64(p, waiting);
    return p + (have > 0);
}

/* Adds the steps' bits to *bits. */
static size_t packed_write(uint8_t *dst, uint64_t first, const uint64_t *step, uint32_t n, uint8_t head, uint64_t *bits)
{
    uint8_t *p = dst;
    *p++ = (uint8_t)(QPANE_PACKED | head);
    p = bits_put_varint(p, n);
    p = bits_put_varint(p, first);
    uint32_t groups = (n - 1 + GROUP - 1) / GROUP;
    uint8_t *codes = p;
    memset(codes, 0, (groups + 1) / 2);
    p += (groups + 1) / 2;
    for (uint32_t g = 0; g < groups; g++) {
        const uint64_t *s = step + g * GROUP;
        uint32_t many = n - 1 - g * GROUP < GROUP ? n - 1 - g * GROUP : GROUP;
        uint64_t any = 0;
        for (uint32_t i = 0; i < GROUP; i++) /* behind the last step lie zeros */
            any |= s[i];
        unsigned code = width_code(any), width = qdecimal_width[code];
        codes[g / 2] |= (uint8_t)(code << (g % 2 * 4));
        p = many == GROUP ? pack(p, s, GROUP, width) : pack(p, s, many, width);
        *bits += many * width;
    }
    return (size_t)(p - dst);
}

static size_t tiny_write(uint8_t *dst, uint64_t first, const uint64_t *step, uint32_t n, uint8_t head)
{
    uint8_t *p = dst;
    *p++ = (uint8_t)(QPANE_TINY | head);
    p = bits_put_varint(p, first);
    for (uint32_t i = 0; i + 1 < n; i++)
        p = bits_put_varint(p, step[i]);
    return (size_t)(p - dst);
}

size_t qdecimal_write(uint8_t *dst, const double *v, uint64_t n, bool *ret_even)
{
    uint64_t y[QDECIMAL_MAX_N], step[QDECIMAL_MAX_N + GROUP];
    unsigned e;
    if (n == 0 || n > QDECIMAL_MAX_N || !scale_all(v, (uint32_t)n, y, &e))
        return 0;
    bool negative = (int64_t)y[0] < 0;
    uint8_t head = (uint8_t)(e << 4 | (negative ? NEGATIVE : 0));
    uint64_t first = negative ? -y[0] : y[0], any = y[0], least = UINT64_MAX, bits = 0;
    for (uint64_t i = 1; i < n; i++) {
        step[i - 1] = y[i - 1] - y[i];
        least = step[i - 1] < least ? step[i - 1] : least;
        any |= y[i];
    }
    memset(step + n - 1, 0, GROUP * sizeof *step);
    size_t size = n > 1 ? packed_write(dst, first, step, (uint32_t)n, head, &bits) : 0;
    *ret_even = (any & 7) == 0 || (bits_width(least) + 2) * (n - 1) >= bits;
    if (n > TINY_MAX_N)
        return size;
    uint8_t tiny[1 + 10 * TINY_MAX_N];
    size_t tiny_size = tiny_write(tiny, first, step, (uint32_t)n, head);
    if (size != 0 && size < tiny_size)
        return size;
    memcpy(dst, tiny, tiny_size);
    return tiny_size;
}

uint64_t qdecimal_count(const uint8_t *bytes, size_t size)
{
    uint64_t n = 0;
    if ((bytes[0] & QPANE_FORM_MASK) == QPANE_PACKED)
        return bits_get_varint(bytes + 1, bytes + size, &n) && n >= 2 && n <= QDECIMAL_MAX_N ? n : 0;
    /* Each sample's varint has one last byte: those below 128, eight at a time. */
    size_t i = 1;
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (; i + 8 <= size; i += 8)
        n += ((~bits_load_u64(bytes + i) >> 7 & ones) * ones) >> 56;
    if (i < size && size >= 8) /* the rest by the last eight bytes, less those that were counted */
        n += (((~bits_load_u64(bytes + size - 8) >> 7 & ones) >> (64 - 8 * (size - i))) * ones) >> 56;
    else
        for (; i < size; i++)
            n += bytes[i] < 128;
    return n <= TINY_MAX_N ? n : 0;
}

static bool tiny_read(const uint8_t *p, const uint8_t *end, uint64_t n, uint64_t head, double *y)
{
    int64_t last = (int64_t)y[0];
    for (uint64_t i = 1; i < head; i++) {
        uint64_t step;
        p = bits_get_varint(p, end, &step);
        if (!p || step >= 2 * (uint64_t)QDECIMAL_Y_END)
            return false;
        last -= (int64_t)step;
        if (last <= -QDECIMAL_Y_END)
            return false;
        y[i] = (double)last;
    }
    return head < n || p == end;
}

const uint8_t *qdecimal_groups_scalar(double *y, const uint8_t *codes, const uint8_t *p, const uint8_t *end, uint32_t n,
                                      uint32_t head)
{
    int64_t last = (int64_t)y[0];
    for (uint32_t g = 0; g * GROUP + 1 < head; g++) {
        unsigned width = qdecimal_width[codes[g / 2] >> (g % 2 * 4) & 15];
        uint32_t from = 1 + g * GROUP, steps = n - from < GROUP ? n - from : GROUP;
        const uint8_t *behind = qdecimal_group_end(p, end, width, steps), *group = p;
        if (!behind)
            return NULL;
        uint8_t padded[QDECIMAL_GROUP_MAX + 8] = {0};
        if (end - behind < 8) { /* loads of eight bytes would leave the state */
            memcpy(padded, p, (size_t)(behind - p));
            group = padded;
        }
        uint64_t mask = (UINT64_C(1) << width) - 1;
        for (uint32_t i = 0, bit = 0; i < steps; i++, bit += width) {
            last -= (int64_t)(bits_load_u64(group + bit / 8) >> bit % 8 & mask);
            y[from + i] = (double)last;
        }
        p = behind;
    }
    return last > -QDECIMAL_Y_END ? p : NULL;
}

static bool packed_read(const uint8_t *p, const uint8_t *end, uint32_t n, uint32_t head, double *y)
{
    uint32_t groups = (n - 1 + QDECIMAL_GROUP - 1) / QDECIMAL_GROUP;
    const uint8_t *codes = p;
    if ((size_t)(end - p) < (groups + 1) / 2 || (groups % 2 && p[groups / 2] >> 4))
        return false;
    p = qdecimal_ops.groups(y, codes, p + (groups + 1) / 2, end, n, head);
    return p && (head < n || p == end);
}

bool qdecimal_read_scaled(const uint8_t *bytes, size_t size, uint64_t n, uint64_t head, double *y)
{
    const uint8_t *p = bytes + 1, *end = bytes + size;
    bool packed = (bytes[0] & QPANE_FORM_MASK) == QPANE_PACKED;
    uint64_t first = 0, skipped;
    if (packed)
        p = bits_get_varint(p, end, &skipped);
    p = p ? bits_get_varint(p, end, &first) : NULL;
    if (!p || first >= (uint64_t)QDECIMAL_Y_END || (bytes[0] & NEGATIVE && first == 0))
        return false;
    y[0] = bytes[0] & NEGATIVE ? -(double)first : (double)first;
    return packed ? packed_read(p, end, (uint32_t)n, (uint32_t)head, y) : tiny_read(p, end, n, head, y);
}

bool qdecimal_read(const uint8_t *bytes, size_t size, uint64_t n, uint64_t head, double *out)
{
    if (!qdecimal_read_scaled(bytes, size, n, head, out))
        return false;
    const double power = decimal_pow10[qdecimal_scale(bytes)];
    for (uint64_t i = 0; i < head; i++)
        out[i] /= power;
    return true;
}
