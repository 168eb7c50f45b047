/* What the machine itself does, and what its C++ library does: the figures that others are read against. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "bench/kernels/bench.h"

enum { L2_BYTES = 480 * 1024, L1_N = 2048 };

static void read_memory(void *state)
{
    const uint64_t *v = state;
    uint64_t sum[8] = {0};
    for (size_t i = 0; i < L2_BYTES / 8; i += 8)
        for (unsigned j = 0; j < 8; j++)
            sum[j] += v[i + j];
    bench_sink = (double)(sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7]);
}

static void copy_memory(void *state)
{
    uint8_t *v = state;
    memcpy(v + L2_BYTES, v, L2_BYTES);
    bench_sink = v[L2_BYTES];
}

static void hash_keys(void *state)
{
    const uint64_t *v = state;
    uint64_t sum = 0;
    for (size_t i = 0; i < L1_N; i++)
        sum ^= XXH3_64bits_withSeed(&v[i], 8, 7);
    bench_sink = (double)sum;
}

struct sorting {
    double *values, *work;
    size_t n, blocks, at;
};

static void sort_blocks(void *state)
{
    struct sorting *s = state;
    memcpy(s->work, s->values, s->n * s->blocks * 8);
    for (size_t i = 0; i < s->blocks; i++)
        peer_sort(s->work + i * s->n, s->n);
}

static void select_blocks(void *state)
{
    struct sorting *s = state;
    memcpy(s->work, s->values, s->n * s->blocks * 8);
    for (size_t i = 0; i < s->blocks; i++)
        bench_sink = peer_nth(s->work + i * s->n, s->n, s->at);
}

static struct sorting *make_sorting(size_t n, double share)
{
    struct sorting *s = bench_room(sizeof *s);
    *s = (struct sorting){.n = n, .blocks = 600000 / n, .at = (size_t)(share * (double)n)};
    s->values = bench_room(n * s->blocks * 8);
    s->work = bench_room(n * s->blocks * 8);
    for (size_t i = 0; i < n * s->blocks; i++)
        s->values[i] = exp(3 + bench_normal());
    return s;
}

static void add_sort(struct bench *b, const char *name, size_t n)
{
    struct sorting *s = make_sorting(n, 0);
    bench_add(b, (struct bench_job){name, "ns/item", 0, (double)(n * s->blocks), sort_blocks, s, 0});
}

static void add_select(struct bench *b, const char *name, size_t n, double share)
{
    struct sorting *s = make_sorting(n, share);
    bench_add(b, (struct bench_job){name, "us", 0, (double)s->blocks, select_blocks, s, 0});
}

void limit_jobs(struct bench *b)
{
    uint64_t *memory = bench_room(2 * L2_BYTES);
    memset(memory, 1, 2 * L2_BYTES);
    bench_add(b, (struct bench_job){"limit: read 480 KB (L2)", "us", 0, 1, read_memory, memory, 0});
    bench_add(b, (struct bench_job){"limit: copy 480 KB (L2)", "us", 0, 1, copy_memory, memory, 0});
    bench_add(b, (struct bench_job){"limit: XXH3 of 8 bytes, library call", "ns/item", 0, L1_N, hash_keys, memory, 0});
    add_sort(b, "peer: std::sort 200 doubles", 200);
    add_sort(b, "peer: std::sort 4096 doubles", 4096);
    add_select(b, "peer: std::nth_element 0.5 of 6000 doubles", 6000, 0.5);
    add_select(b, "peer: std::nth_element 0.99 of 6000 doubles", 6000, 0.99);
}
