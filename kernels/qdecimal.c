#include "kernels/qdecimal.h"

#include <math.h>

#include "kernels/bits.h"
#include "kernels/order.h"
#include "kernels/qpane.h"

enum { TINY_MAX_N = 24, E_MAX = 7, NEGATIVE = 0x80, GROUP = 8, GROUP_MAX_SIZE = 52 };
#define Y_END (INT64_C(1) << 51)

static const double POWER_OF_10[E_MAX + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
static const uint8_t WIDTH[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 26, 52};

/* y with y / 10^e the same bits as v? */
static inline bool scale(double v, unsigned e, int64_t *ret_y)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it leaves an integer */
    double scaled = v * POWER_OF_10[e];
    if (!(fabs(scaled) < (double)Y_END))
        return false;
    double y = (scaled + round) - round;
    *ret_y = (int64_t)y;
    return bits_of_f64((double)*ret_y / POWER_OF_10[e]) == bits_of_f64(v); /* -0 would come back as 0 */
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
        if (++e > E_MAX)
            return false;
        i = 0; /* earlier samples need their y at this scale */
    }
    *ret_e = e;
    return true;
}

static unsigned width_code(uint64_t most)
{
    unsigned bits = bits_width(most), code = bits < 8 ? bits : 8;
    while (WIDTH[code] < bits)
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
        p = pack(p, y, from, end, WIDTH[code]);
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

static bool tiny_read(const uint8_t *p, const uint8_t *end, int64_t y, uint64_t n, uint64_t head, double power,
                      double *out)
{
    for (uint64_t i = 1; i < head; i++) {
        uint64_t step;
        p = bits_get_varint(p, end, &step);
        if (!p || step >= 2 * (uint64_t)Y_END)
            return false;
        y -= (int64_t)step;
        if (y <= -Y_END)
            return false;
        out[i] = (double)y / power;
    }
    return head < n || p == end;
}

static bool packed_read(const uint8_t *p, const uint8_t *end, int64_t y, uint32_t n, uint32_t head, double power,
                        double *out)
{
    uint32_t groups = (n - 1 + GROUP - 1) / GROUP;
    const uint8_t *codes = p;
    if ((size_t)(end - p) < (groups + 1) / 2 || (groups % 2 && p[groups / 2] >> 4))
        return false;
    p += (groups + 1) / 2;
    for (uint32_t g = 0; g * GROUP + 1 < head; g++) {
        unsigned width = WIDTH[codes[g / 2] >> (g % 2 * 4) & 15];
        uint32_t from = 1 + g * GROUP, steps = n - from < GROUP ? n - from : GROUP;
        size_t size = (steps * width + 7) / 8;
        if ((size_t)(end - p) < size)
            return false;
        uint8_t padded[GROUP_MAX_SIZE + 8] = {0};
        const uint8_t *group = p;
        if ((size_t)(end - p) < size + 8) { /* loads of eight bytes would leave the state */
            memcpy(padded, p, size);
            group = padded;
        }
        uint64_t mask = (UINT64_C(1) << width) - 1;
        uint32_t wanted = head - from < steps ? head - from : steps;
        for (uint32_t i = 0, bit = 0; i < wanted; i++, bit += width) {
            y -= (int64_t)(bits_load_u64(group + bit / 8) >> bit % 8 & mask);
            out[from + i] = (double)y / power;
        }
        if (y <= -Y_END || (steps * width % 8 != 0 && p[size - 1] >> steps * width % 8 != 0))
            return false;
        p += size;
    }
    return head < n || p == end;
}

bool qdecimal_read(const uint8_t *bytes, size_t size, uint64_t n, uint64_t head, double *out)
{
    const uint8_t *p = bytes + 1, *end = bytes + size;
    bool packed = (bytes[0] & QPANE_FORM_MASK) == QPANE_PACKED;
    double power = POWER_OF_10[bytes[0] >> 4 & E_MAX];
    uint64_t first = 0, skipped;
    if (packed)
        p = bits_get_varint(p, end, &skipped);
    p = p ? bits_get_varint(p, end, &first) : NULL;
    if (!p || first >= (uint64_t)Y_END || (bytes[0] & NEGATIVE && first == 0))
        return false;
    int64_t y = bytes[0] & NEGATIVE ? -(int64_t)first : (int64_t)first;
    out[0] = (double)y / power;
    return packed ? packed_read(p, end, y, (uint32_t)n, (uint32_t)head, power, out)
                  : tiny_read(p, end, y, n, head, power, out);
}
