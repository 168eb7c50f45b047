/* Items' weights: Count-Min, CountSketch, heaps, UnivMon, KMV, Hydra. Builds of a Zipf 1.1 stream, and merges and
 * readouts over the panes it is cut into. */
#include <math.h>
#include <stdlib.h>

#include "bench/kernels/bench.h"
#include "kernels/sketch.h"

enum { ITEMS = 1000000, KEYS = 100000, PANES = 30, PANE_ITEMS = ITEMS / PANES, POINTS = 100, HEAVIEST = 32 };

/* One family's states of the stream: of all of it (built anew by each run) and of each pane. */
struct sketches {
    const struct family_info *family;
    enum statistic statistic;
    struct sketch_params params;
    struct sketch_items items;
    uint8_t *whole, *merged;
    struct state_ref panes[PANES];
    size_t bound;
    void *scratch;
};

/* The key of each of ITEMS draws from a Zipf law over KEYS, by inversion of the cumulative sums. */
static const uint64_t *zipf_keys(void)
{
    static uint64_t *keys;
    if (keys)
        return keys;
    double *sums = bench_room(KEYS * sizeof *sums), sum = 0;
    keys = bench_room(ITEMS * sizeof *keys);
    for (uint32_t i = 0; i < KEYS; i++)
        sums[i] = sum += pow(i + 1, -1.1);
    for (uint32_t i = 0; i < ITEMS; i++) {
        double at = bench_uniform() * sum;
        uint32_t low = 0, high = KEYS - 1;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (sums[middle] <= at)
                low = middle + 1;
            else
                high = middle;
        }
        keys[i] = low * UINT64_C(0x9e3779b97f4a7c15);
    }
    return keys;
}

static size_t build_items(const struct sketches *s, uint8_t *dst, uint32_t from, uint32_t n)
{
    struct sketch_items items = {.keys = s->items.keys + from, .n = n};
    if (s->items.groups)
        items.groups = s->items.groups + from;
    size_t size;
    if (s->family->build_items(dst, s->bound, &size, &s->params, &items, 7, s->scratch) != SKETCH_OK)
        abort();
    return size;
}

static void build(void *state)
{
    struct sketches *s = state;
    bench_sink = (double)build_items(s, s->whole, 0, ITEMS);
}

static void merge(void *state)
{
    struct sketches *s = state;
    size_t size;
    if (s->family->merge_k(s->merged, s->bound, &size, &s->params, 0, s->panes, PANES, 7, s->scratch) != SKETCH_OK)
        abort();
    bench_sink = (double)size;
}

static void read(void *state)
{
    struct sketches *s = state;
    double v;
    for (uint32_t i = 0; i < POINTS; i++) {
        struct sketch_args args = {.key = s->items.keys[i], .group = s->items.groups ? s->items.groups[i] : 0};
        if (s->family->estimate(s->panes, PANES, &s->params, s->statistic, &args, s->scratch, &v) != SKETCH_OK)
            abort();
        bench_sink = v;
    }
}

static void read_one(void *state)
{
    struct sketches *s = state;
    double v;
    struct sketch_args args = {.group = 3};
    if (s->family->estimate(s->panes, PANES, &s->params, s->statistic, &args, s->scratch, &v) != SKETCH_OK)
        abort();
    bench_sink = v;
}

static void top(void *state)
{
    struct sketches *s = state;
    uint64_t keys[HEAVIEST];
    double estimates[HEAVIEST];
    uint32_t n;
    if (s->family->top(s->panes, PANES, &s->params, HEAVIEST, keys, estimates, &n, s->scratch) != SKETCH_OK)
        abort();
    bench_sink = estimates[0];
}

static struct sketches *make(enum family family, struct sketch_params params, bool has_groups)
{
    struct sketches *s = bench_room(sizeof *s);
    *s = (struct sketches){.family = family_get(family), .params = params, .items = {.keys = zipf_keys()}};
    if (has_groups) { /* the same law, one group for every eighth item */
        uint64_t *groups = bench_room(ITEMS * sizeof *groups);
        for (uint32_t i = 0; i < ITEMS; i++)
            groups[i] = s->items.keys[i] >> 61;
        s->items.groups = groups;
    }
    size_t built = s->family->scratch_bound(&params, ITEMS, 0),
           joined = s->family->scratch_bound(&params, ITEMS, PANES);
    s->bound = s->family->size_bound(&params, ITEMS);
    s->scratch = bench_room(built > joined ? built : joined);
    s->whole = bench_room(s->bound);
    s->merged = bench_room(s->bound);
    uint8_t *panes = bench_room(PANES * s->bound);
    for (uint32_t i = 0; i < PANES; i++) {
        size_t size = build_items(s, panes, i * PANE_ITEMS, PANE_ITEMS);
        s->panes[i] = (struct state_ref){panes, (uint32_t)size, i};
        panes += size;
    }
    return s;
}

static struct sketches *reading(const struct sketches *s, enum statistic statistic)
{
    struct sketches *other = bench_room(sizeof *other);
    *other = *s;
    other->statistic = statistic;
    return other;
}

static void add_build(struct bench *b, const char *name, struct sketches *s, double target)
{
    bench_add(
        b,
        (struct bench_job){
            .name = name, .unit = "ns/item", .target = target, .items = ITEMS, .run = build, .state = s, .levels = 1});
}

/* What one pane costs. */
static void add_merge(struct bench *b, const char *name, struct sketches *s, double target)
{
    bench_add(b,
              (struct bench_job){
                  .name = name, .unit = "us", .target = target, .items = PANES, .run = merge, .state = s, .levels = 1});
}

static void add_points(struct bench *b, const char *name, struct sketches *s)
{
    bench_add(b, (struct bench_job){.name = name,
                                    .unit = "us",
                                    .items = POINTS,
                                    .run = read,
                                    .state = reading(s, STATISTIC_POINT_COUNT),
                                    .levels = 1});
}

static void add_read(struct bench *b, const char *name, struct sketches *s, enum statistic statistic)
{
    bench_add(
        b, (struct bench_job){
               .name = name, .unit = "us", .items = 1, .run = read_one, .state = reading(s, statistic), .levels = 1});
}

static void add_top(struct bench *b, const char *name, struct sketches *s)
{
    bench_add(b, (struct bench_job){.name = name, .unit = "us", .items = 1, .run = top, .state = s, .levels = 1});
}

void frequency_jobs(struct bench *b)
{
    const struct sketch_params plain = {.depth = 5, .width = 2048},
                               heap = {.depth = 5, .width = 2048, .heap = HEAVIEST}, k4096 = {.k = 4096},
                               grid = {.rows = 3, .columns = 64, .depth = 3, .width = 256};
    struct sketches *cms = make(FAMILY_CMS, plain, false);
    add_build(b, "CMS 5 x 2048 update", cms, 4.5);
    add_merge(b, "CMS 5 x 2048 merge of 30, a pane", cms, 0.8);
    add_points(b, "CMS 5 x 2048 point count over 30", cms);
    struct sketches *signs = make(FAMILY_COUNTSKETCH, plain, false);
    add_build(b, "CountSketch 5 x 2048 update", signs, 0);
    add_merge(b, "CountSketch 5 x 2048 merge of 30, a pane", signs, 0);
    add_points(b, "CountSketch 5 x 2048 point count over 30", signs);
    add_read(b, "CountSketch 5 x 2048 L2 over 30", signs, STATISTIC_L2);
    struct sketches *top_32 = make(FAMILY_CMS_HEAP, heap, false);
    add_build(b, "CMS 5 x 2048 + top-32 update", top_32, 50);
    add_merge(b, "CMS 5 x 2048 + top-32 merge of 30, a pane", top_32, 0);
    add_top(b, "CMS 5 x 2048 + top-32 heaviest over 30", top_32);
    struct sketches *univmon = make(FAMILY_UNIVMON, heap, false);
    add_build(b, "UnivMon 5 x 2048, heap 32 update", univmon, 120);
    add_merge(b, "UnivMon 5 x 2048, heap 32 merge of 30, a pane", univmon, 15);
    add_read(b, "UnivMon 5 x 2048, heap 32 L2 over 30", univmon, STATISTIC_L2);
    add_read(b, "UnivMon 5 x 2048, heap 32 distinct over 30", univmon, STATISTIC_DISTINCT);
    add_read(b, "UnivMon 5 x 2048, heap 32 entropy over 30", univmon, STATISTIC_ENTROPY);
    add_top(b, "UnivMon 5 x 2048, heap 32 heaviest over 30", univmon);
    struct sketches *kmv = make(FAMILY_KMV, k4096, false);
    add_build(b, "KMV k = 4096 update", kmv, 0);
    add_merge(b, "KMV k = 4096 merge of 30, a pane", kmv, 0);
    add_read(b, "KMV k = 4096 distinct over 30", kmv, STATISTIC_DISTINCT);
    struct sketches *hydra = make(FAMILY_HYDRA_CMS, grid, true);
    add_build(b, "Hydra 3 x 64 of CMS 3 x 256 update", hydra, 0);
    add_merge(b, "Hydra 3 x 64 of CMS 3 x 256 merge of 30, a pane", hydra, 0);
    add_points(b, "Hydra 3 x 64 of CMS 3 x 256 point count over 30", hydra);
    add_read(b, "Hydra 3 x 64 of CMS 3 x 256 L1 of a group over 30", hydra, STATISTIC_L1);
}
