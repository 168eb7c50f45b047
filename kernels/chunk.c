/*
 * Sealed raw chunks of float samples.
 *
 *   u8 version = 1, u8 encoding = 1 (float), u16 n = 1..512, i64 first time in ms,
 *   frame of n integers: times less the first; frame of n doubles; nothing after it
 */
#include "kernels/bits.h"
#include "kernels/frame_internal.h"

enum { CHUNK_VERSION = 1, CHUNK_FLOAT = 1, CHUNK_HEAD_BYTES = 12 };

size_t chunk_bound(uint32_t n)
{
    return CHUNK_HEAD_BYTES + 2 * frame_bound(n);
}

size_t chunk_encode(uint8_t *dst, size_t cap, const int64_t *times_ms, const double *values, uint32_t n, void *scratch)
{
    if (n == 0 || n > FRAME_MAX_N || cap < chunk_bound(n))
        return 0;
    int64_t since_first[FRAME_MAX_N];
    for (uint32_t i = 0; i < n; i++) {
        if ((i && times_ms[i] <= times_ms[i - 1]) || __builtin_sub_overflow(times_ms[i], times_ms[0], &since_first[i]))
            return 0;
    }
    dst[0] = CHUNK_VERSION;
    dst[1] = CHUNK_FLOAT;
    bits_store_u16(dst + 2, (uint16_t)n);
    bits_store_u64(dst + 4, (uint64_t)times_ms[0]);
    size_t used = CHUNK_HEAD_BYTES;
    used += frame_encode_i64(dst + used, cap - used, since_first, n, scratch);
    used += frame_encode_f64(dst + used, cap - used, values, n, scratch);
    return used;
}

int chunk_peek(const uint8_t *src, size_t size, struct chunk_head *ret)
{
    if (size < CHUNK_HEAD_BYTES || src[0] != CHUNK_VERSION || src[1] != CHUNK_FLOAT)
        return -1;
    uint32_t n = bits_load_u16(src + 2);
    if (n == 0 || n > FRAME_MAX_N)
        return -1;
    *ret = (struct chunk_head){n, (int64_t)bits_load_u64(src + 4)};
    return 0;
}

/* Relative times to absolute ones; false unless they rise strictly from 0 and stay in range. */
static bool place_times(int64_t *times_ms, uint32_t n, int64_t first_ms)
{
    bool rising = times_ms[0] == 0;
    for (uint32_t i = 1; i < n; i++)
        rising &= times_ms[i] > times_ms[i - 1];
    int64_t last_ms;
    if (!rising || __builtin_add_overflow(times_ms[n - 1], first_ms, &last_ms))
        return false;
    for (uint32_t i = 0; i < n; i++)
        times_ms[i] += first_ms;
    return true;
}

int chunk_decode(const uint8_t *src, size_t size, int64_t *times_ms, double *values, uint32_t *ret_n)
{
    struct chunk_head head;
    if (chunk_peek(src, size, &head) != 0)
        return -1;
    size_t used = CHUNK_HEAD_BYTES;
    size_t times_bytes = frame_decode_i64(src + used, size - used, head.n, times_ms);
    if (times_bytes == 0 || !place_times(times_ms, head.n, head.first_ms))
        return -1;
    used += times_bytes;
    size_t values_bytes = frame_decode_f64(src + used, size - used, head.n, values);
    if (values_bytes == 0 || used + values_bytes != size)
        return -1;
    *ret_n = head.n;
    return 0;
}
