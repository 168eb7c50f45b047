/*
 * The frame's decoder: one walk that checks and decodes. Every length is checked against the end before the bytes it
 * spans are touched, so hostile bytes cost no more than honest ones and are never read past.
 */
#include "kernels/bits.h"
#include "kernels/frame_internal.h"

struct frame_head {
    struct frame_map map;
    struct frame_plan plan; /* without residual and bytes */
};

/* The flags' bytes after h0 and h1. */
static bool read_options(const uint8_t **p, const uint8_t *end, unsigned h0, unsigned n, struct frame_head *head)
{
    unsigned bytes_n = (h0 & FRAME_HAS_SHIFT ? 1 : 0) + (h0 & FRAME_HAS_PATCHES ? 2 : 0) +
                       (h0 & FRAME_HAS_EXCEPTIONS ? 1 : 0) + (h0 & FRAME_HAS_CORRECTIONS ? 2 : 0);
    if ((size_t)(end - *p) < bytes_n)
        return false;
    const uint8_t *b = *p;
    *p += bytes_n;
    struct frame_map *map = &head->map;
    if (h0 & FRAME_HAS_SHIFT) {
        map->shift = *b++;
        if (map->shift == 0 || map->shift > 63)
            return false;
    }
    if (h0 & FRAME_HAS_PATCHES) {
        head->plan.patches_n = *b++;
        unsigned code = *b & 63u;
        head->plan.patch_signed = *b >> 6 == 1;
        if (head->plan.patches_n == 0 || code == 0 || code > FRAME_WIDTH_64 || *b++ >> 7 || head->plan.w == 64)
            return false;
        head->plan.patch_w = code == FRAME_WIDTH_64 ? 64 : code;
    }
    if (h0 & FRAME_HAS_EXCEPTIONS) {
        map->exceptions_n = *b++;
        if (map->exceptions_n == 0 || map->exceptions_n > n || map->e == FRAME_E_ORDERED)
            return false;
    }
    if (h0 & FRAME_HAS_CORRECTIONS) {
        map->correction_w = *b++;
        map->correction_base = (int8_t)*b++;
        if (map->correction_w == 0 || map->correction_w > 6 || map->e == FRAME_E_ORDERED)
            return false;
    }
    return true;
}

static bool read_signed(const uint8_t **p, const uint8_t *end, int64_t *ret)
{
    uint64_t z = 0;
    *p = bits_get_varint(*p, end, &z);
    *ret = bits_unzigzag(z);
    return *p != NULL;
}

/* The predictor's numbers. */
static bool read_numbers(const uint8_t **p, const uint8_t *end, struct frame_plan *plan)
{
    if (frame_lead_n(plan->predictor) && !read_signed(p, end, &plan->first))
        return false;
    if (plan->predictor == FRAME_SECOND && !read_signed(p, end, &plan->step))
        return false;
    if (!read_signed(p, end, &plan->base))
        return false;
    return plan->predictor != FRAME_LINE || read_signed(p, end, &plan->step);
}

static size_t exception_bytes(const struct frame_map *map, unsigned n)
{
    return (size_t)map->exceptions_n * (frame_position_bytes(n) + 8);
}

/* Bytes behind the head of a frame of n values. */
static size_t rest_bytes(const struct frame_head *head, unsigned n)
{
    const struct frame_plan *plan = &head->plan;
    return frame_lane_bytes(plan->n, plan->w) + (size_t)plan->patches_n * frame_position_bytes(plan->n) +
           frame_lane_bytes(plan->patches_n, plan->patch_w) + frame_lane_bytes(n, head->map.correction_w) +
           exception_bytes(&head->map, n);
}

/* The head of a frame of n values, and that what follows it lies before end. Returns the lane's first byte, or NULL. */
static const uint8_t *read_head(const uint8_t *p, const uint8_t *end, unsigned n, bool integers,
                                struct frame_head *head)
{
    if (n == 0 || n > FRAME_MAX_N || end - p < 2)
        return NULL;
    unsigned h0 = p[0], w = p[1] & 63u;
    *head = (struct frame_head){.map.e = h0 & 15u, .plan.predictor = p[1] >> 6};
    p += 2;
    if (w > FRAME_WIDTH_64 || (integers && (h0 & ~(unsigned)FRAME_HAS_PATCHES)))
        return NULL;
    struct frame_plan *plan = &head->plan;
    plan->w = w == FRAME_WIDTH_64 ? 64 : w;
    if (n < frame_lead_n(plan->predictor))
        return NULL;
    plan->n = n - frame_lead_n(plan->predictor);
    if (!read_options(&p, end, h0, n, head) || plan->patches_n > plan->n || !read_numbers(&p, end, plan))
        return NULL;
    return (size_t)(end - p) < rest_bytes(head, n) ? NULL : p;
}

/* The first of k rising positions below `of` that lie below `below`; how many, or UINT32_MAX if they do not rise. */
static unsigned read_positions(uint16_t *position, const uint8_t *p, unsigned k, unsigned of, unsigned below)
{
    bool wide = of > 256, rising = true;
    int last = -1;
    unsigned i = 0;
    for (; i < k; i++) {
        position[i] = wide ? bits_load_u16(p + 2 * (size_t)i) : p[i];
        rising &= position[i] > last;
        last = position[i];
        if (position[i] >= below)
            break;
    }
    return rising && last < (int)of ? i : UINT32_MAX;
}

/* Puts back the high parts of the residuals below want_n. Returns the byte after the patches, or NULL. */
static const uint8_t *read_patches(const uint8_t *p, const uint8_t *end, uint64_t *u, const struct frame_plan *plan,
                                   unsigned want_n)
{
    uint16_t position[FRAME_SPARSE_MAX];
    uint64_t high[FRAME_SPARSE_MAX + FRAME_SLACK];
    const unsigned drop = 64 - plan->patch_w;
    const unsigned k = read_positions(position, p, plan->patches_n, plan->n, want_n);
    if (k == UINT32_MAX)
        return NULL;
    p += plan->patches_n * frame_position_bytes(plan->n);
    frame_unpack(high, p, (size_t)(end - p), k, plan->patch_w);
    for (unsigned i = 0; i < k; i++) {
        if (plan->patch_signed)
            high[i] = (uint64_t)((int64_t)(high[i] << drop) >> drop);
        u[position[i]] |= high[i] << plan->w;
    }
    return p + frame_lane_bytes(plan->patches_n, plan->patch_w);
}

void frame_add_up_scalar(uint64_t *y, unsigned n, uint64_t start, uint64_t base)
{
    for (unsigned i = 0; i < n; i++)
        y[i] = start += base + y[i];
}

/* Few values: vectors would wait for the stores before them. */
enum { FEW = 8 };

static void unpack(uint64_t *out, const uint8_t *src, size_t size, unsigned n, unsigned w)
{
    if (n <= FEW)
        frame_unpack_scalar(out, src, size, n, w);
    else
        frame_unpack(out, src, size, n, w);
}

static void add_up(uint64_t *y, unsigned n, uint64_t start, uint64_t base)
{
    if (n <= FEW)
        frame_add_up_scalar(y, n, start, base);
    else
        frame_ops.add_up(y, n, start, base);
}

static bool to_doubles(double *out, const uint64_t *y, unsigned n, unsigned e, unsigned shift)
{
    return n <= FEW ? frame_to_doubles_scalar(out, y, n, e, shift) : frame_ops.to_doubles(out, y, n, e, shift);
}

/* Residuals to integers, in place; u is where y's residuals begin. */
static void undo_prediction(uint64_t *y, uint64_t *u, unsigned n, const struct frame_plan *plan)
{
    const uint64_t first = (uint64_t)plan->first, step = (uint64_t)plan->step, base = (uint64_t)plan->base;
    switch (plan->predictor) {
    case FRAME_DELTA:
        y[0] = first;
        add_up(u, n, first, base);
        break;
    case FRAME_SECOND:
        add_up(u, n, step, base);
        y[0] = first;
        y[1] = first + step;
        add_up(u, n, y[1], 0);
        break;
    default:
        frame_ops.line(u, n, base, step);
    }
}

/* The first want_n integers of y (more when the predictor stores more). Returns the byte after lane and patches. */
static const uint8_t *read_integers(const uint8_t *p, const uint8_t *end, const struct frame_plan *plan,
                                    unsigned want_n, uint64_t *y)
{
    const unsigned lead = frame_lead_n(plan->predictor);
    const unsigned lane_n = want_n < lead ? 0 : want_n - lead < plan->n ? want_n - lead : plan->n;
    unpack(y + lead, p, (size_t)(end - p), lane_n, plan->w);
    p += frame_lane_bytes(plan->n, plan->w);
    if (plan->patches_n && !(p = read_patches(p, end, y + lead, plan, lane_n)))
        return NULL;
    undo_prediction(y, y + lead, lane_n, plan);
    return p;
}

size_t frame_decode_i64(const uint8_t *src, size_t size, uint32_t n, int64_t *out)
{
    struct frame_head head;
    const uint8_t *p = read_head(src, src + size, n, true, &head);
    p = p ? read_integers(p, src + size, &head.plan, n, (uint64_t *)out) : NULL;
    return p ? (size_t)(p - src) : 0;
}

unsigned frame_scale(const uint8_t *src, size_t size)
{
    unsigned h0 = size > 0 ? src[0] : FRAME_E_ORDERED;
    return h0 & (FRAME_HAS_EXCEPTIONS | FRAME_HAS_CORRECTIONS) ? FRAME_E_ORDERED : h0 & 15u;
}

/* Doubles, or only their integers as doubles, for a frame with a scale. */
static size_t decode_head(const uint8_t *src, size_t size, uint32_t n, uint32_t want_n, bool scaled, double *out)
{
    uint64_t y[FRAME_MAX_N + FRAME_SLACK];
    struct frame_head head;
    const struct frame_map *map = &head.map;
    const uint8_t *p = want_n <= n ? read_head(src, src + size, n, false, &head) : NULL;
    if (!p || !(p = read_integers(p, src + size, &head.plan, want_n, y)) ||
        !to_doubles(out, y, want_n, scaled ? 0 : map->e, map->shift))
        return 0;
    if (map->correction_w) {
        unpack(y, p, (size_t)(src + size - p), want_n, map->correction_w);
        p += frame_lane_bytes(n, map->correction_w);
        frame_ops.correct(out, y, want_n, map->correction_base);
    }
    if (map->exceptions_n) {
        uint16_t position[FRAME_SPARSE_MAX];
        unsigned k = read_positions(position, p, map->exceptions_n, n, want_n);
        if (k == UINT32_MAX)
            return 0;
        const uint8_t *verbatim = p + map->exceptions_n * frame_position_bytes(n);
        for (unsigned i = 0; i < k; i++)
            memcpy(&out[position[i]], verbatim + 8 * (size_t)i, 8);
        p += exception_bytes(map, n);
    }
    return (size_t)(p - src);
}

size_t frame_decode_head_f64(const uint8_t *src, size_t size, uint32_t n, uint32_t want_n, double *out)
{
    return decode_head(src, size, n, want_n, false, out);
}

size_t frame_decode_head_scaled(const uint8_t *src, size_t size, uint32_t n, uint32_t want_n, double *out)
{
    return decode_head(src, size, n, want_n, true, out);
}

size_t frame_decode_f64(const uint8_t *src, size_t size, uint32_t n, double *out)
{
    return decode_head(src, size, n, n, false, out);
}
