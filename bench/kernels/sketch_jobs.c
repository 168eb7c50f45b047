/* DDSketch, HLL and the exact accumulators: builds, and readouts over k panes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels/bench.h"
#include "kernels/sketch.h"

struct states {
    const struct family_info *family;
    enum statistic statistic;
    struct sketch_params params;
    uint32_t n, k, series;
    double *values;
    int64_t *times_ms;
    uint8_t *bytes;
    struct state_ref *ref;
    void *scratch;
    size_t bound;
};

static void build(void *state)
{
    struct states *s = state;
    for (uint32_t i = 0; i < s->k * s->series; i++) {
        size_t size;
        uint8_t *dst = s->bytes + i * s->bound;
        if (s->family->build(dst, s->bound, &size, &s->params, s->n, s->times_ms, s->values + (size_t)i * s->n, s->n, 7,
                             s->scratch) != SKETCH_OK)
            abort();
        s->ref[i] = (struct state_ref){dst, (uint32_t)size, i};
    }
}

static void read(void *state)
{
    struct states *s = state;
    struct sketch_args args = {.q = 0.99};
    for (uint32_t i = 0; i < s->series; i++) {
        double v;
        if (s->family->estimate(s->ref + i * s->k, s->k, &s->params, s->statistic, &args, s->scratch, &v) != SKETCH_OK)
            abort();
        bench_sink = v;
    }
}

/* Moves the states together as the store's blocks do: all series' of one window, then those of the next. */
static void pack(struct states *s)
{
    size_t bytes = 0, at = 0;
    for (uint32_t i = 0; i < s->k * s->series; i++)
        bytes += s->ref[i].size;
    uint8_t *packed = bench_room(bytes);
    for (uint32_t pane = 0; pane < s->k; pane++)
        for (uint32_t series = 0; series < s->series; series++) {
            struct state_ref *ref = &s->ref[series * s->k + pane];
            memcpy(packed + at, ref->bytes, ref->size);
            ref->bytes = packed + at;
            at += ref->size;
        }
    s->bytes = packed;
}

static struct states *make_states(enum family family, enum statistic statistic, struct sketch_params params, uint32_t k,
                                  uint32_t n, uint32_t series, double spread)
{
    struct states *s = bench_room(sizeof *s);
    *s = (struct states){
        .family = family_get(family), .statistic = statistic, .params = params, .n = n, .k = k, .series = series};
    size_t built = s->family->scratch_bound(&params, n, 0), read_bytes = s->family->scratch_bound(&params, k * n, k);
    s->bound = s->family->size_bound(&params, n);
    s->values = bench_room((size_t)k * series * n * 8);
    s->times_ms = bench_room((size_t)n * 8);
    s->bytes = bench_room((size_t)k * series * s->bound);
    s->ref = bench_room((size_t)k * series * sizeof *s->ref);
    s->scratch = bench_room(built > read_bytes ? built : read_bytes);
    for (size_t i = 0; i < n; i++)
        s->times_ms[i] = (int64_t)i + 1;
    for (size_t i = 0; i < (size_t)k * series * n; i++)
        s->values[i] = exp(3 + spread * bench_normal());
    build(s);
    return s;
}

static void add_build(struct bench *b, const char *name, enum family family, struct sketch_params params, uint32_t n,
                      double target)
{
    uint32_t series = 65536 / n + 1;
    struct states *s = make_states(family, STATISTIC_COUNT, params, 1, n, series, 1);
    bench_add(b, (struct bench_job){name, "ns/item", target, (double)series * n, build, s, 1});
}

static void add_read(struct bench *b, const char *name, struct states *s, double target)
{
    pack(s);
    bench_add(b, (struct bench_job){name, "us", target, s->series, read, s, 1});
}

void sketch_jobs(struct bench *b)
{
    const struct sketch_params none = {0}, one_percent = {.alpha = 0.01}, p14 = {.p = 14};
    add_build(b, "DDSketch build n = 200, 1 %", FAMILY_DDSKETCH, one_percent, 200, 3);
    add_build(b, "DDSketch build n = 10000, 1 %", FAMILY_DDSKETCH, one_percent, 10000, 3);
    add_read(b, "DDSketch p99 of 30 x 200, compact",
             make_states(FAMILY_DDSKETCH, STATISTIC_QUANTILE, one_percent, 30, 200, 100, 1), 3);
    add_read(b, "DDSketch p99 of 30 x 200, dense",
             make_states(FAMILY_DDSKETCH, STATISTIC_QUANTILE, one_percent, 30, 200, 100, 0.25), 1.2);
    add_build(b, "HLL build n = 200, p = 14 (sparse)", FAMILY_HLL, p14, 200, 3);
    add_build(b, "HLL build n = 4000, p = 14 (fresh)", FAMILY_HLL, p14, 4000, 3);
    add_build(b, "HLL build n = 1000000, p = 14 (full)", FAMILY_HLL, p14, 1000000, 1.3);
    add_read(b, "HLL p = 14 union of 30 dense", make_states(FAMILY_HLL, STATISTIC_DISTINCT, p14, 30, 20000, 1, 1), 6);
    add_read(b, "HLL p = 14 union of 30 sparse (200)", make_states(FAMILY_HLL, STATISTIC_DISTINCT, p14, 30, 200, 40, 1),
             8);
    add_build(b, "sum build n = 200", FAMILY_SUM, none, 200, 0);
    add_build(b, "min build n = 200", FAMILY_MIN, none, 200, 0);
    add_build(b, "moments build n = 200", FAMILY_MOMENTS, none, 200, 0);
    add_build(b, "regression build n = 200", FAMILY_REGRESSION, none, 200, 0);
    add_build(b, "counter build n = 200", FAMILY_COUNTER, none, 200, 0);
    add_build(b, "distinct set build n = 200", FAMILY_DISTINCT_SET, none, 200, 0);
    add_read(b, "distinct set of 30 x 200", make_states(FAMILY_DISTINCT_SET, STATISTIC_DISTINCT, none, 30, 200, 100, 1),
             0);
}
