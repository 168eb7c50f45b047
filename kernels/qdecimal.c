#include "kernels/qdecimal.h"

#include <math.h>

#include "kernels/bits.h"
#include "kernels/decimal.h"
#include "kernels/ops.h"
#include "kernels/order.h"
#include "kernels/qpane.h"

enum { TINY_MAX_N = 24, NEGATIVE = 0x80, GROUP = QDECIMAL_GROUP };

const uint8_t qdecimal_width[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 26, 52};

/* y with y / 10^e the same bits as v? */
static inline bool scale(double v, unsigned e, int64_t *ret_y)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it leaves an integer */
    double scaled = v * decimal_pow10[e];
    if (!(fabs(scaled) < (double)QDECIMAL_Y_END))
        return false;
    double y = (scaled + round) - round;
    *ret_y = (int64_t)y;
    return bits_of_f64((double)*ret_y / decimal_pow10[e]) == bits_of_f64(v); /* -0 would come back as 0 */
}

/* The least e that holds all samples, and their y; false if there is none. */
static bool scale_all(const uint64_t *keys, uint32_t n, int64_t *y, unsigned *ret_e)
{
    unsigned e = 0;
    for (uint32_t i = 0; i < n;) {
        if (scale(order_value(keys[i]), e, &y[i])) {
            i++;
            continue;
        }
        if (++e > QDECIMAL_E_MAX)
            return false;
        i = 0; /* earlier samples need their y at this scale */
    }
    *ret_e = e;
    return true;
}

static unsigned width_code(uint64_t most)
{
    unsigned bits = bits_width(most), code = bits < 8 ? bits : 8;
    while (qdecimal_width[code] < bits)
        code++;
    return code;
}

/* Steps of the group from sample i (the first step leads to it) as bits. Returns the byte after them. */
static uint8_t *pack(uint8_t *p, const int64_t *y, uint32_t i, uint32_t end, unsigned width)
{
    uint64_t pending = 0;
    unsigned pending_n = 0;
    for (; i < end; i++) {
        pending |= (uint64_t)(y[i - 1] - y[i]) << pending_n;
        for (pending_n += width; pending_n >= 8; pending_n -= 8) {
            *p++ = (uint8_t)pending;
            pending >>= 8;
        }
    }
    if (pending_n > 0)
        *p++ = (uint8_t)pending;
    return p;
}

static size_t packed_write(uint8_t *dst, const int64_t *y, uint32_t n, uint8_t head)
{
    uint8_t *p = dst;
    *p++ = (uint8_t)(QPANE_PACKED | head);
    p = bits_put_varint(p, n);
    p = bits_put_varint(p, (uint64_t)(y[0] < 0 ? -y[0] : y[0]));
    uint32_t groups = (n - 1 + GROUP - 1) / GROUP;
    uint8_t *codes = p;
    memset(codes, 0, (groups + 1) / 2);
    p += (groups + 1) / 2;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t from = 1 + g * GROUP, end = from + GROUP < n ? from + GROUP : n;
        uint64_t any = 0;
        for (uint32_t i = from; i < end; i++)
            any |= (uint64_t)(y[i - 1] - y[i]);
        unsigned code = width_code(any);
        codes[g / 2] |= (uint8_t)(code << (g % 2 * 4));
        p = pack(p, y, from, end, qdecimal_width[code]);
    }
    return (size_t)(p - dst);
}

size_t qdecimal_write(uint8_t *dst, const uint64_t *keys, uint64_t n)
{
    int64_t y[QDECIMAL_MAX_N];
    unsigned e;
    if (n == 0 || n > QDECIMAL_MAX_N || !scale_all(keys, (uint32_t)n, y, &e))
        return 0;
    uint8_t head = (uint8_t)(e << 4 | (y[0] < 0 ? NEGATIVE : 0));
    size_t packed = n > 1 ? packed_write(dst, y, (uint32_t)n, head) : 0;
    if (n > TINY_MAX_N)
        return packed;
    uint8_t tiny[1 + 10 * TINY_MAX_N], *p = tiny;
    *p++ = (uint8_t)(QPANE_TINY | head);
    p = bits_put_varint(p, (uint64_t)(y[0] < 0 ? -y[0] : y[0]));
    for (uint32_t i = 1; i < n; i++)
        p = bits_put_varint(p, (uint64_t)(y[i - 1] - y[i]));
    size_t size = (size_t)(p - tiny);
    if (packed != 0 && packed < size)
        return packed;
    memcpy(dst, tiny, size);
    return size;
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
