/* Frames and chunks: encode and decode give every bit back; damaged or arbitrary bytes decode inside their bounds. */
#include "kernels/frame.h"
#include "fuzz.h"

/* Any bytes as a frame of n: the front of it is what the whole is, and integers stay inside too. */
static void decode_any(const uint8_t *bytes, size_t size, uint32_t n)
{
    double *out = malloc((n + FRAME_SLACK) * sizeof *out), *head = malloc((n + FRAME_SLACK) * sizeof *head);
    int64_t *integers = malloc((n + FRAME_SLACK) * sizeof *integers);
    MUST(out && head && integers);
    size_t used = frame_decode_f64(bytes, size, n, out);
    MUST(used <= size);
    MUST(frame_decode_i64(bytes, size, n, integers) <= size);
    uint32_t want = 1 + n / 3;
    size_t head_used = frame_decode_head_f64(bytes, size, n, want, head);
    if (used) {
        MUST(head_used != 0);
        MUST(memcmp(out, head, want * sizeof *out) == 0);
    }
    free(out);
    free(head);
    free(integers);
}

static void chunk_any(const uint8_t *bytes, size_t size)
{
    struct chunk_head head;
    int64_t times_ms[FRAME_MAX_N + FRAME_SLACK];
    double values[FRAME_MAX_N + FRAME_SLACK];
    uint32_t n = 0;
    int peeked = chunk_peek(bytes, size, &head);
    if (chunk_decode(bytes, size, times_ms, values, &n) != 0)
        return;
    MUST(peeked == 0 && n == head.n && n >= 1 && n <= FRAME_MAX_N && times_ms[0] == head.first_ms);
    for (uint32_t i = 1; i < n; i++)
        MUST(times_ms[i] > times_ms[i - 1]);
}

static void damage_any(struct choices *c, const uint8_t *bytes, size_t size, uint32_t n)
{
    uint8_t *copy = malloc(size);
    MUST(copy);
    memcpy(copy, bytes, size);
    choose_damage(c, copy, size);
    if (n)
        decode_any(copy, size, n);
    else
        chunk_any(copy, size);
    free(copy);
}

static void round_trip(struct choices *c)
{
    uint32_t n = 1 + choose_below(c, FRAME_MAX_N);
    double values[FRAME_MAX_N], back[FRAME_MAX_N + FRAME_SLACK];
    int64_t times_ms[FRAME_MAX_N], back_ms[FRAME_MAX_N + FRAME_SLACK], at = (int64_t)choose_u64(c) / 4;
    uint32_t back_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = choose_value(c);
        at += 1 + (int64_t)choose_below(c, 20000);
        times_ms[i] = at;
    }
    uint8_t *dst = malloc(chunk_bound(n));
    void *scratch = malloc(frame_scratch(n));
    MUST(dst && scratch);
    size_t used = frame_encode_f64(dst, frame_bound(n), values, n, scratch);
    MUST(used > 0 && used <= frame_bound(n));
    MUST(frame_decode_f64(dst, used, n, back) == used && memcmp(back, values, n * sizeof *values) == 0);
    decode_any(dst, used, n);
    damage_any(c, dst, used, n);
    used = chunk_encode(dst, chunk_bound(n), times_ms, values, n, scratch);
    MUST(used > 0 && chunk_decode(dst, used, back_ms, back, &back_n) == 0 && back_n == n);
    MUST(memcmp(back, values, n * sizeof *values) == 0 && memcmp(back_ms, times_ms, n * sizeof *times_ms) == 0);
    damage_any(c, dst, used, 0);
    free(dst);
    free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices c = {data, size};
    chunk_any(data, size);
    uint32_t n = 1 + choose_below(&c, FRAME_MAX_N);
    decode_any(c.p, c.n, n);
    round_trip(&c);
    return 0;
}
