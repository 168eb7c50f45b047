/* Sorting, exact quantile panes and KLL: builds, and quantiles over k panes. Each series has panes of its own, together
 * more than the first-level cache. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels/bench.h"
#include "kernels/order.h"
#include "kernels/select.h"
#include "kernels/sketch.h"

/* --- sorting --- */

struct sorting {
    uint64_t *keys, *work, *tmp;
    size_t n, blocks;
};

static void copy_and_sort(void *state)
{
    struct sorting *s = state;
    memcpy(s->work, s->keys, s->n * s->blocks * 8);
    for (size_t i = 0; i < s->blocks; i++)
        order_sort(s->work + i * s->n, s->n, s->tmp);
}

static void add_sorting(struct bench *b, const char *name, size_t n, double target)
{
    struct sorting *s = bench_room(sizeof *s);
    *s = (struct sorting){.n = n, .blocks = 65536 / n};
    size_t bytes = n * s->blocks * 8;
    s->keys = bench_room(bytes);
    s->work = bench_room(bytes);
    s->tmp = bench_room(n * 8);
    for (size_t i = 0; i < n * s->blocks; i++)
        s->keys[i] = order_key(exp(bench_normal()));
    bench_add(b, (struct bench_job){name, "ns/item", target, (double)(n * s->blocks), copy_and_sort, s, 1});
}

/* --- states --- */

struct panes {
    const struct family_info *family;
    struct sketch_params params;
    uint32_t n, k, series;
    double q;
    double *values;
    uint8_t *bytes;
    struct state_ref *ref;
    void *scratch;
    size_t bound;
};

static void build(void *state)
{
    struct panes *p = state;
    for (uint32_t i = 0; i < p->k * p->series; i++) {
        size_t size;
        uint8_t *dst = p->bytes + i * p->bound;
        if (p->family->build(dst, p->bound, &size, &p->params, 0, NULL, p->values + (size_t)i * p->n, p->n, 7,
                             p->scratch) != SKETCH_OK)
            abort();
        p->ref[i] = (struct state_ref){dst, (uint32_t)size, i};
    }
}

static void read_quantile(void *state)
{
    struct panes *p = state;
    struct sketch_args args = {.q = p->q};
    for (uint32_t i = 0; i < p->series; i++) {
        double v;
        if (p->family->estimate(p->ref + i * p->k, p->k, &p->params, STATISTIC_QUANTILE, &args, p->scratch, &v) !=
            SKETCH_OK)
            abort();
        bench_sink = v;
    }
}

static struct panes *make_panes(enum family family, struct sketch_params params, uint32_t k, uint32_t n,
                                uint32_t series, double (*next)(void))
{
    struct panes *p = bench_room(sizeof *p);
    *p = (struct panes){.family = family_get(family), .params = params, .n = n, .k = k, .series = series};
    size_t built = p->family->scratch_bound(&params, n, 0), read = p->family->scratch_bound(&params, k * n, k);
    p->bound = p->family->size_bound(&params, n);
    p->values = bench_room((size_t)k * series * n * 8);
    p->bytes = bench_room((size_t)k * series * p->bound);
    p->ref = bench_room((size_t)k * series * sizeof *p->ref);
    p->scratch = bench_room(built > read ? built : read);
    for (size_t i = 0; i < (size_t)k * series * n; i++)
        p->values[i] = next();
    build(p);
    return p;
}

/* --- selection alone, over sorted doubles --- */

struct runs {
    double *samples;
    struct select_run *runs;
    uint32_t n, k, series;
    double q;
};

static void select_quantile(void *state)
{
    struct runs *r = state;
    uint64_t total = (uint64_t)r->n * r->k;
    struct select_place at = select_interpolated(r->q, total);
    for (uint32_t i = 0; i < r->series; i++) {
        for (uint32_t j = 0; j < r->k; j++)
            r->runs[j] = (struct select_run){
                .bytes = (const uint8_t *)(r->samples + ((size_t)i * r->k + j) * r->n), .weight = 1, .n = r->n};
        double low, high;
        select_pair(r->runs, r->k, total, at.rank, &low, &high);
        bench_sink = low + high;
    }
}

static void add_selection(struct bench *b, const char *name, uint32_t k, uint32_t n, double q, double target)
{
    struct runs *r = bench_room(sizeof *r);
    *r = (struct runs){.n = n, .k = k, .series = 100, .q = q};
    size_t all = (size_t)k * r->series * n;
    r->samples = bench_room(all * 8);
    r->runs = bench_room(k * sizeof *r->runs);
    uint64_t *keys = bench_room(n * 8), *tmp = bench_room(n * 8);
    for (size_t at = 0; at < all; at += n) {
        for (uint32_t i = 0; i < n; i++)
            keys[i] = order_key(exp(3 + bench_normal()));
        order_sort(keys, n, tmp);
        for (uint32_t i = 0; i < n; i++)
            r->samples[at + i] = order_value(keys[i]);
    }
    bench_add(b, (struct bench_job){name, "us", target, r->series, select_quantile, r, 1});
}

static double full_mantissa(void)
{
    return exp(3 + bench_normal());
}

/* Microseconds made seconds by two divisions: decimals but for their last bits, so panes are frames. */
static double twice_rounded(void)
{
    return bench_latency() / 1000;
}

static struct panes *with_q(const struct panes *p, double q)
{
    struct panes *other = bench_room(sizeof *other);
    *other = *p;
    other->q = q;
    return other;
}

static void add_reading(struct bench *b, const struct panes *p, const char *name, double q, double target)
{
    bench_add(b, (struct bench_job){name, "us", target, p->series, read_quantile, with_q(p, q), 1});
}

static void add_build(struct bench *b, const char *name, enum family family, uint32_t n, double target,
                      double (*next)(void))
{
    uint32_t series = 65536 / n + 1;
    struct panes *p =
        make_panes(family, (struct sketch_params){.k = family == FAMILY_KLL ? 200 : 0}, 1, n, series, next);
    bench_add(b, (struct bench_job){name, "ns/item", target, (double)series * n, build, p, 1});
}

void quantile_jobs(struct bench *b)
{
    add_sorting(b, "sort 20", 20, 4);
    add_sorting(b, "sort 60", 60, 4);
    add_sorting(b, "sort 200", 200, 4);
    add_sorting(b, "sort 1000", 1000, 0);
    add_sorting(b, "sort 4096", 4096, 0);
    add_build(b, "exact pane of 60 (sort, form)", FAMILY_VALUES, 60, 0, bench_latency);
    add_build(b, "exact pane of 200 (sort, form)", FAMILY_VALUES, 200, 0, bench_latency);
    add_build(b, "exact pane of 200, full mantissa", FAMILY_VALUES, 200, 0, full_mantissa);
    add_build(b, "KLL build n = 1000, k = 200", FAMILY_KLL, 1000, 8, full_mantissa);
    add_build(b, "KLL build n = 12000, k = 200", FAMILY_KLL, 12000, 8, full_mantissa);
    const struct sketch_params none = {0}, k200 = {.k = 200};
    add_selection(b, "selection, 0.5 of 30 x 200 sorted doubles", 30, 200, 0.5, 6);
    add_selection(b, "selection, 0.9 of 30 x 200 sorted doubles", 30, 200, 0.9, 6);
    add_selection(b, "selection, 0.99 of 30 x 200 sorted doubles", 30, 200, 0.99, 1.8);
    add_selection(b, "selection, 0.99 of 60 x 20 sorted doubles", 60, 20, 0.99, 2.5);
    const struct panes *plain = make_panes(FAMILY_VALUES, none, 30, 200, 100, full_mantissa);
    add_reading(b, plain, "quantile 0.5 of 30 x 200 doubles", 0.5, 6);
    add_reading(b, plain, "quantile 0.9 of 30 x 200 doubles", 0.9, 6);
    add_reading(b, plain, "quantile 0.99 of 30 x 200 doubles", 0.99, 1.8);
    const struct panes *frames = make_panes(FAMILY_VALUES, none, 30, 200, 100, twice_rounded);
    add_reading(b, frames, "quantile 0.5 of 30 x 200 frames", 0.5, 6);
    add_reading(b, frames, "quantile 0.9 of 30 x 200 frames", 0.9, 6);
    add_reading(b, frames, "quantile 0.99 of 30 x 200 frames", 0.99, 1.8);
    const struct panes *packed = make_panes(FAMILY_VALUES, none, 30, 200, 100, bench_latency);
    add_reading(b, packed, "quantile 0.5 of 30 x 200 packed", 0.5, 6);
    add_reading(b, packed, "quantile 0.9 of 30 x 200 packed", 0.9, 6);
    add_reading(b, packed, "quantile 0.99 of 30 x 200 packed", 0.99, 1.8);
    const struct panes *small = make_panes(FAMILY_VALUES, none, 60, 20, 100, full_mantissa);
    add_reading(b, small, "quantile 0.5 of 60 x 20 doubles", 0.5, 0);
    add_reading(b, small, "quantile 0.99 of 60 x 20 doubles", 0.99, 2.5);
    const struct panes *small_frames = make_panes(FAMILY_VALUES, none, 60, 20, 100, twice_rounded);
    add_reading(b, small_frames, "quantile 0.99 of 60 x 20 frames", 0.99, 2.5);
    const struct panes *small_packed = make_panes(FAMILY_VALUES, none, 60, 20, 100, bench_latency);
    add_reading(b, small_packed, "quantile 0.99 of 60 x 20 packed", 0.99, 2.5);
    const struct panes *kll = make_panes(FAMILY_KLL, k200, 5, 12000, 20, full_mantissa);
    add_reading(b, kll, "quantile 0.5 of 5 KLL panes of 12000", 0.5, 4);
    add_reading(b, kll, "quantile 0.99 of 5 KLL panes of 12000", 0.99, 4);
}
