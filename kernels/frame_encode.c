/*
 * The frame's encoder: tries the maps from the most compact to the one that always works, and writes the bytes of
 * frame.c's table. A pure function of its input, so a rebuild gives the same bytes.
 */
#include "kernels/bits.h"
#include "kernels/frame_internal.h"

enum { PROBES = 8, PROBE_MISFITS_MAX = 2, NEAR_MISFITS_MAX = 1, NEAR_E_MAX = 12, NEAR_MIN_N = 8 };
enum { CONSTANT_SHIFT_MIN = 7 }; /* a shift's byte saves one byte of a lone varint from here on */
enum { EXCEPTION_BITS = 72 };    /* what an exception costs: a position and eight bytes */
enum { DIGIT_BITS = 4 };         /* what one more decimal digit costs each value, rounded up from 3.4 */

static uint8_t *put_positions(uint8_t *p, const uint16_t *position, unsigned k, unsigned of)
{
    for (unsigned i = 0; i < k; i++) {
        *p++ = (uint8_t)position[i];
        if (of > 256)
            *p++ = (uint8_t)(position[i] >> 8);
    }
    return p;
}

static uint8_t *put_signed(uint8_t *p, int64_t v)
{
    return bits_put_varint(p, bits_zigzag(v));
}

static uint8_t width_code(unsigned w)
{
    return (uint8_t)(w == 64 ? FRAME_WIDTH_64 : w);
}

static uint8_t *put_head(uint8_t *p, const struct frame_plan *plan, const struct frame_map *map)
{
    *p++ = (uint8_t)(map->e | (map->shift ? FRAME_HAS_SHIFT : 0) | (plan->patches_n ? FRAME_HAS_PATCHES : 0) |
                     (map->exceptions_n ? FRAME_HAS_EXCEPTIONS : 0) | (map->correction_w ? FRAME_HAS_CORRECTIONS : 0));
    *p++ = (uint8_t)(width_code(plan->w) | plan->predictor << 6);
    if (map->shift)
        *p++ = (uint8_t)map->shift;
    if (plan->patches_n) {
        *p++ = (uint8_t)plan->patches_n;
        *p++ = (uint8_t)(width_code(plan->patch_w) | (plan->patch_signed ? 64 : 0));
    }
    if (map->exceptions_n)
        *p++ = (uint8_t)map->exceptions_n;
    if (map->correction_w) {
        *p++ = (uint8_t)map->correction_w;
        *p++ = (uint8_t)map->correction_base;
    }
    if (frame_lead_n(plan->predictor))
        p = put_signed(p, plan->first);
    if (plan->predictor == FRAME_SECOND)
        p = put_signed(p, plan->step);
    p = put_signed(p, plan->base);
    if (plan->predictor == FRAME_LINE)
        p = put_signed(p, plan->step);
    return p;
}

static uint8_t *put_patches(uint8_t *p, const struct frame_plan *plan)
{
    uint16_t position[FRAME_SPARSE_MAX + 1]; /* one over: the slot after the last is written before it is known free */
    uint64_t high[FRAME_SPARSE_MAX + 1];
    unsigned k = 0;
    for (unsigned i = 0; i < plan->n; i++) {
        position[k] = (uint16_t)i;
        high[k] = (uint64_t)((int64_t)plan->residual[i] >> plan->w);
        k += high[k] != 0;
    }
    p = put_positions(p, position, k, plan->n);
    return frame_pack(p, high, k, plan->patch_w);
}

/* work holds the exceptions' positions and the corrections that the map speaks of. */
static uint8_t *put_frame(uint8_t *p, const struct frame_plan *plan, const struct frame_map *map, const double *v,
                          unsigned n, const struct frame_work *work)
{
    p = put_head(p, plan, map);
    p = frame_pack(p, plan->residual, plan->n, plan->w);
    if (plan->patches_n)
        p = put_patches(p, plan);
    if (map->correction_w) {
        uint64_t above[FRAME_MAX_N];
        for (unsigned i = 0; i < n; i++)
            above[i] = (uint64_t)(work->correction[i] - map->correction_base);
        p = frame_pack(p, above, n, map->correction_w);
    }
    if (map->exceptions_n) {
        p = put_positions(p, work->exception, map->exceptions_n, n);
        for (unsigned i = 0; i < map->exceptions_n; i++, p += 8)
            memcpy(p, &v[work->exception[i]], 8);
    }
    return p;
}

/* All values have the same bits: the smallest scale that fits, or ordered bits, and no lane. */
static uint8_t *put_constant(uint8_t *p, const double *v, unsigned n, struct frame_work *work)
{
    struct frame_map map = {.e = 0};
    uint64_t y;
    while (map.e <= FRAME_E_MAX && frame_ops.decimal(&y, v, 1, map.e, 0))
        map.e++;
    if (map.e > FRAME_E_MAX) {
        map.e = FRAME_E_ORDERED;
        frame_map_ordered(&y, v, 1);
    }
    unsigned zeros = y ? (unsigned)__builtin_ctzll(y) : 0;
    map.shift = zeros < CONSTANT_SHIFT_MIN ? 0 : zeros;
    struct frame_plan plan = {
        .predictor = FRAME_CONSTANT, .n = n, .base = (int64_t)y >> map.shift, .residual = work->rows[0][0]};
    return put_frame(p, &plan, &map, v, n, work);
}

static void take_probes(double *probe, const double *v, unsigned n, unsigned probes)
{
    for (unsigned i = 0; i < probes; i++)
        memcpy(&probe[i], &v[i * n / probes], 8);
}

/*
 * The smallest scale at which all values, or all but a few, are decimals. True when there is one: then map and work->y
 * are set, and work->exception lists the rest.
 */
static bool find_decimal(struct frame_map *map, const double *v, unsigned n, struct frame_work *work)
{
    const unsigned exceptions_max = n / 16 + 1, probes = n < PROBES ? n : PROBES;
    double probe[PROBES];
    take_probes(probe, v, n, probes);
    for (unsigned e = 0; e <= FRAME_E_MAX; e++) {
        if (frame_ops.decimal(work->y, probe, probes, e, PROBE_MISFITS_MAX) > PROBE_MISFITS_MAX)
            continue;
        unsigned misfits = frame_ops.decimal(work->y, v, n, e, exceptions_max);
        if (misfits > exceptions_max)
            continue;
        *map = (struct frame_map){.e = e};
        if (misfits == 0)
            return true;
        if (e < FRAME_E_MAX) {
            unsigned more = frame_ops.decimal(work->ordered, v, n, e + 1, misfits);
            if (more < misfits && (misfits - more) * EXCEPTION_BITS > n * DIGIT_BITS)
                continue;
        }
        map->exceptions_n = frame_map_exceptions(work->exception, work->y, NULL, v, n, e);
        return true;
    }
    return false;
}

/* Decimals that are a few units in the last place off. True when there is a scale; as find_decimal, with
 * work->correction too. */
static bool find_near_decimal(struct frame_map *map, const double *v, unsigned n, struct frame_work *work)
{
    if (n < NEAR_MIN_N)
        return false;
    double probe[PROBES];
    take_probes(probe, v, n, PROBES);
    unsigned e = 0;
    while (e <= NEAR_E_MAX &&
           frame_ops.near_decimal(work->y, work->correction, probe, PROBES, e, NEAR_MISFITS_MAX) > NEAR_MISFITS_MAX)
        e++;
    if (e > NEAR_E_MAX)
        return false;
    unsigned misfits = frame_ops.near_decimal(work->y, work->correction, v, n, e, n / 16);
    if (misfits > n / 16)
        return false;
    *map = (struct frame_map){.e = e};
    if (misfits)
        map->exceptions_n = frame_map_exceptions(work->exception, work->y, work->correction, v, n, e);
    int64_t low = 0, high = 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t c = work->correction[i];
        low = c < low ? c : low;
        high = c > high ? c : high;
    }
    map->correction_base = (int)low;
    map->correction_w = bits_width((uint64_t)(high - low));
    return map->correction_w != 0;
}

/* 64-bit lanes of ordered bits: what keeps frame_bound. */
static uint8_t *put_verbatim(uint8_t *p, const double *v, unsigned n, struct frame_work *work)
{
    struct frame_plan plan = {.predictor = FRAME_CONSTANT, .n = n, .w = 64, .residual = work->ordered};
    struct frame_map map = {.e = FRAME_E_ORDERED};
    frame_map_ordered(work->ordered, v, n);
    return put_frame(p, &plan, &map, v, n, work);
}

/* NULL if only ordered bits hold the values and those are not asked for. */
static uint8_t *put_doubles(uint8_t *p, const double *v, unsigned n, bool ordered, struct frame_work *work)
{
    uint64_t differ = 0;
    for (unsigned i = 1; i < n; i++)
        differ |= bits_of_f64(v[i]) ^ bits_of_f64(v[0]);
    if (differ == 0)
        return put_constant(p, v, n, work);

    struct frame_map map;
    struct frame_plan plan;
    if (find_decimal(&map, v, n, work)) {
        map.shift = frame_map_shift(work->y, n);
        frame_plan_integers(&plan, work->y, n, work->rows[0]);
        if (plan.bytes + map.exceptions_n * 10 <= 8 * (size_t)n + 8)
            return put_frame(p, &plan, &map, v, n, work);
    }

    plan.bytes = 8 * (size_t)n;
    if (ordered) {
        frame_map_ordered(work->ordered, v, n);
        map = (struct frame_map){.e = FRAME_E_ORDERED, .shift = frame_map_shift(work->ordered, n)};
        frame_plan_integers(&plan, work->ordered, n, work->rows[0]);
    }

    struct frame_map near_map;
    if (find_near_decimal(&near_map, v, n, work)) {
        struct frame_plan near_plan;
        frame_plan_integers(&near_plan, work->y, n, work->rows[1]);
        size_t bytes = near_plan.bytes + frame_lane_bytes(n, near_map.correction_w) + 4 + near_map.exceptions_n * 10;
        if (bytes < plan.bytes)
            return put_frame(p, &near_plan, &near_map, v, n, work);
    }
    if (!ordered)
        return NULL;
    return plan.bytes > 8 * (size_t)n ? put_verbatim(p, v, n, work) : put_frame(p, &plan, &map, v, n, work);
}

size_t frame_encode_f64(uint8_t *dst, size_t cap, const double *v, uint32_t n, void *scratch)
{
    if (n == 0 || n > FRAME_MAX_N || cap < frame_bound(n))
        return 0;
    return (size_t)(put_doubles(dst, v, n, true, scratch) - dst);
}

size_t frame_encode_decimals(uint8_t *dst, size_t cap, const double *v, uint32_t n, void *scratch)
{
    if (n == 0 || n > FRAME_MAX_N || cap < frame_bound(n))
        return 0;
    uint8_t *end = put_doubles(dst, v, n, false, scratch);
    return end ? (size_t)(end - dst) : 0;
}

size_t frame_encode_i64(uint8_t *dst, size_t cap, const int64_t *v, uint32_t n, void *scratch)
{
    if (n == 0 || n > FRAME_MAX_N || cap < frame_bound(n))
        return 0;
    struct frame_work *work = scratch;
    struct frame_plan plan;
    const struct frame_map integers = {.e = 0};
    memcpy(work->y, v, (size_t)n * 8);
    frame_plan_integers(&plan, work->y, n, work->rows[0]);
    return (size_t)(put_frame(dst, &plan, &integers, NULL, n, work) - dst);
}
