/* The frame at n = 120, a usual chunk: each kind of data that FORMATS.md's figures speak of. */
#include <math.h>
#include <string.h>

#include "bench/kernels/bench.h"
#include "kernels/frame.h"

enum { N = 120, FRAMES = 400 };

struct frames {
    double values[FRAMES][N];
    int64_t integers[FRAMES][N];
    uint8_t bytes[FRAMES][56 + 8 * N];
    size_t size[FRAMES];
    void *scratch;
};

static void encode(void *state)
{
    struct frames *f = state;
    for (int i = 0; i < FRAMES; i++)
        f->size[i] = frame_encode_f64(f->bytes[i], sizeof f->bytes[i], f->values[i], N, f->scratch);
}

static void decode(void *state)
{
    struct frames *f = state;
    double out[N + FRAME_SLACK];
    for (int i = 0; i < FRAMES; i++) {
        frame_decode_f64(f->bytes[i], f->size[i], N, out);
        bench_sink = out[N - 1];
    }
}

static void decode_integers(void *state)
{
    struct frames *f = state;
    int64_t out[N + FRAME_SLACK];
    for (int i = 0; i < FRAMES; i++) {
        frame_decode_i64(f->bytes[i], f->size[i], N, out);
        bench_sink = (double)out[N - 1];
    }
}

static double latency(double before)
{
    return bench_latency();
}
static double counter(double before)
{
    return before + floor(bench_uniform() * 100);
}
static double cpu_seconds(double before)
{
    return round((before + bench_uniform() * 0.4) * 100) / 100;
}
static double ratio(double before)
{
    return bench_uniform();
}
static double near_decimal(double before)
{
    return before + round(bench_uniform() * 1000) / 1000; /* sums of decimals drift by units in the last place */
}

static void add(struct bench *b, const char *encode_name, const char *decode_name, double (*next)(double))
{
    struct frames *f = bench_room(sizeof *f);
    f->scratch = bench_room(frame_scratch(N));
    for (int i = 0; i < FRAMES; i++)
        for (int j = 0; j < N; j++)
            f->values[i][j] = next(j ? f->values[i][j - 1] : floor(bench_uniform() * 1e6));
    encode(f);
    bench_add(b, (struct bench_job){encode_name, "ns/value", 23, (double)FRAMES * N, encode, f, 1});
    bench_add(b, (struct bench_job){decode_name, "ns/value", 1.9, (double)FRAMES * N, decode, f, 1});
}

void frame_jobs(struct bench *b)
{
    add(b, "frame encode, 3-decimal lognormal", "frame decode, 3-decimal lognormal", latency);
    add(b, "frame encode, counters", "frame decode, counters", counter);
    add(b, "frame encode, cpu seconds", "frame decode, cpu seconds", cpu_seconds);
    add(b, "frame encode, sums of decimals", "frame decode, sums of decimals", near_decimal);
    add(b, "frame encode, full-mantissa ratios", "frame decode, full-mantissa ratios", ratio);
    struct frames *times = bench_room(sizeof *times);
    times->scratch = bench_room(frame_scratch(N));
    for (int i = 0; i < FRAMES; i++) {
        for (int j = 0; j < N; j++)
            times->integers[i][j] = (int64_t)j * 15000 + (int64_t)(bench_uniform() * 8);
        times->size[i] =
            frame_encode_i64(times->bytes[i], sizeof times->bytes[i], times->integers[i], N, times->scratch);
    }
    bench_add(b, (struct bench_job){"frame decode, timestamps with jitter", "ns/value", 1.9, (double)FRAMES * N,
                                    decode_integers, times, 1});
}
