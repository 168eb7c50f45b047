/* What the machine itself can do, over as many bytes or items as the jobs beside which docs/KERNELS.md's table (rows.c)
 * sets it; and the fastest sort known, where it is installed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bench/kernels/bench.h"
#include "bench/kernels/limits.h"
#include "bench/kernels/peers.h"
#include "kernels/sketch.h"

enum { L1_N = 2048, CELLS = 5 * 2048, PANES = 30, REGISTERS = 1 << 14 };

static const struct limit_ops *ops(void)
{
#ifdef __x86_64__
    return cpu_level() == CPU_AVX512 ? &limit_ops_avx512
           : cpu_level() == CPU_AVX2 ? &limit_ops_avx2
                                     : &limit_ops_scalar;
#else
    return &limit_ops_scalar;
#endif
}

static void add(struct bench *b, const char *name, const char *unit, double items, void (*run)(void *), void *state)
{
    bench_add(
        b, (struct bench_job){
               .name = name, .unit = unit, .items = items, .run = run, .state = state, .levels = 1, .is_limit = true});
}

/* --- bandwidth --- */

struct memory {
    uint64_t *bytes;
    size_t words, series; /* words of each */
};

static void read_memory(void *state)
{
    const struct memory *m = state;
    for (size_t i = 0; i < m->series; i++)
        bench_sink = (double)ops()->sum(m->bytes + i * m->words, m->words);
}

static void add_reading(struct bench *b, const char *name, size_t bytes, size_t series)
{
    struct memory *m = bench_room(sizeof *m);
    *m = (struct memory){.words = (bytes + 7) / 8, .series = series};
    m->bytes = bench_room(m->words * series * 8);
    memset(m->bytes, 1, m->words * series * 8);
    add(b, name, "us", (double)series, read_memory, m);
}

static void copy_memory(void *state)
{
    struct memory *m = state;
    memcpy(m->bytes + m->words, m->bytes, m->words * 8);
    bench_sink = (double)m->bytes[m->words];
}

/* Bytes of k states of n samples, exp(3 + spread N). */
static size_t state_bytes(enum family family, struct sketch_params params, uint32_t k, uint32_t n, double spread)
{
    const struct family_info *f = family_get(family);
    size_t cap = f->size_bound(&params, n), sum = 0;
    uint8_t *state = malloc(cap), *scratch = malloc(f->scratch_bound(&params, n, 0));
    double *values = malloc(n * sizeof *values);
    if (!state || !scratch || !values)
        abort();
    for (uint32_t i = 0; i < k; i++) {
        size_t size = 0;
        for (uint32_t j = 0; j < n; j++)
            values[j] = exp(3 + spread * bench_normal());
        if (f->build(state, cap, &size, &params, 0, NULL, values, n, 7, scratch) != SKETCH_OK)
            abort();
        sum += size;
    }
    free(state);
    free(scratch);
    free(values);
    return sum;
}

/* --- merging --- */

struct arrays {
    uint8_t *dst, *src;
    size_t bytes; /* of one */
};

static void max_arrays(void *state)
{
    struct arrays *a = state;
    const uint8_t *src[PANES];
    memset(a->dst, 0, a->bytes);
    for (size_t i = 0; i < PANES; i++)
        src[i] = a->src + i * a->bytes;
    for (size_t i = 0; i < PANES; i += 10)
        ops()->max_10(a->dst, src + i, a->bytes);
    bench_sink = a->dst[0];
}

static void add_arrays(void *state)
{
    struct arrays *a = state;
    const uint32_t *src[PANES];
    memset(a->dst, 0, a->bytes);
    for (size_t i = 0; i < PANES; i++)
        src[i] = (const uint32_t *)(a->src + i * a->bytes);
    for (size_t i = 0; i < PANES; i += 10)
        ops()->add_10((uint32_t *)a->dst, src + i, a->bytes / 4);
    bench_sink = a->dst[0];
}

static void add_merging(struct bench *b, const char *name, size_t bytes, double items, void (*run)(void *))
{
    struct arrays *a = bench_room(sizeof *a);
    *a = (struct arrays){.bytes = bytes, .dst = bench_room(bytes), .src = bench_room(bytes * PANES)};
    memset(a->src, 1, bytes * PANES);
    add(b, name, "us", items, run, a);
}

/* --- items --- */

struct items {
    uint64_t *keys;
    double *values;
    int32_t *index;
    uint32_t *table;
};

static void hash_keys(void *state)
{
    const struct items *s = state;
    bench_sink = (double)ops()->hash(s->keys, L1_N);
}

static void hash_keys_called(void *state)
{
    const struct items *s = state;
    uint64_t sum = 0;
    for (size_t i = 0; i < L1_N; i++)
        sum ^= XXH3_64bits_withSeed(&s->keys[i], 8, 7);
    bench_sink = (double)sum;
}

static const double per_log2 = 34.6573590279972655; /* bins an octave at 1 % */

static void take_index(void *state)
{
    const struct items *s = state;
    ops()->index(s->index, s->values, L1_N, per_log2);
    bench_sink = s->index[0];
}

static void index_and_count(void *state)
{
    struct items *s = state;
    ops()->index(s->index, s->values, L1_N, per_log2);
    for (size_t i = 0; i < L1_N; i++)
        s->table[(uint32_t)s->index[i] % 2048]++;
    bench_sink = s->table[0];
}

static void increment_5(void *state)
{
    struct items *s = state;
    ops()->increment_5(s->table, s->keys, L1_N);
    bench_sink = s->table[0];
}

static void increment_10(void *state)
{
    struct items *s = state;
    ops()->increment_10(s->table, s->keys, L1_N);
    bench_sink = s->table[0];
}

static struct items *make_items(unsigned rows)
{
    struct items *s = bench_room(sizeof *s);
    *s = (struct items){0};
    s->keys = bench_room(L1_N * 8);
    s->values = bench_room(L1_N * 8);
    s->index = bench_room(L1_N * 4);
    s->table = bench_room(rows * 2048 * 4);
    memset(s->table, 0, rows * 2048 * 4);
    for (size_t i = 0; i < L1_N; i++) {
        s->keys[i] = (uint64_t)(bench_uniform() * 0x1p62) << 2;
        s->values[i] = exp(3 + bench_normal());
    }
    return s;
}

void limit_jobs(struct bench *b)
{
    const struct sketch_params k200 = {.k = 200}, one_percent = {.alpha = 0.01}, p14 = {.p = 14},
                               univmon = {.depth = 5, .width = 2048, .heap = 32};
    add_reading(b, "limit: read 30 x 200 doubles of 100 series (L3)", 48000, 100);
    add_reading(b, "limit: read 60 x 20 doubles of 100 series (L2)", 9600, 100);
    add_reading(b, "limit: read 5 KLL states of 12000", state_bytes(FAMILY_KLL, k200, 5, 12000, 1), 20);
    add_reading(b, "limit: read 30 DDSketch states of 200, compact",
                state_bytes(FAMILY_DDSKETCH, one_percent, 30, 200, 1), 100);
    add_reading(b, "limit: read 30 DDSketch states of 200, dense",
                state_bytes(FAMILY_DDSKETCH, one_percent, 30, 200, 0.25), 100);
    add_reading(b, "limit: read 30 sparse HLL states of 200", state_bytes(FAMILY_HLL, p14, 30, 200, 1), 40);
    add_reading(b, "limit: read 480 KB (L2)", (size_t)PANES * REGISTERS, 1);
    struct memory *twice = bench_room(sizeof *twice);
    *twice = (struct memory){.words = PANES * REGISTERS / 8, .bytes = bench_room((size_t)PANES * REGISTERS * 2)};
    memset(twice->bytes, 1, (size_t)PANES * REGISTERS * 2);
    add(b, "limit: copy 480 KB (L2)", "us", 1, copy_memory, twice);
    add_merging(b, "limit: greatest bytes of 30 x 16 KB (L2)", REGISTERS, 1, max_arrays);
    add_merging(b, "limit: sum of 30 x 5 x 2048 counters, each (L2)", CELLS * 4, PANES, add_arrays);
    add_merging(b, "limit: sum of 30 UnivMon states' bytes, each (L3)",
                state_bytes(FAMILY_UNIVMON, univmon, 1, 9000, 1) / 4 * 4, PANES, add_arrays);
    struct items *five = make_items(5), *ten = make_items(10), *one = make_items(1);
    add(b, "limit: XXH3 of 8 bytes, inlined", "ns/item", L1_N, hash_keys, one);
    bench_add(b, (struct bench_job){.name = "XXH3 of 8 bytes, library call",
                                    .unit = "ns/item",
                                    .items = L1_N,
                                    .run = hash_keys_called,
                                    .state = one,
                                    .is_limit = true});
    add(b, "limit: logarithm to an index", "ns/item", L1_N, take_index, one);
    add(b, "limit: logarithm to an index, and count it (L1)", "ns/item", L1_N, index_and_count, one);
    add(b, "limit: 5 random increments (40 KB)", "ns/item", L1_N, increment_5, five);
    add(b, "limit: 10 random increments (80 KB)", "ns/item", L1_N, increment_10, ten);
    peer_sort_limits(b);
}
