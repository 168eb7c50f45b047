/* Other libraries in this process, doing the jobs' work on data of the same law: the C++ library's sort and selection,
 * libhwy's sort, CRoaring's exact sets of integers. */
#include <math.h>
#include <roaring/roaring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels/bench.h"
#include "bench/kernels/peers.h"

/* --- sorting --- */

struct sorting {
    double *values, *work;
    size_t n, blocks, at;
    void (*sort)(double *v, size_t n);
};

static void sort_blocks(void *state)
{
    struct sorting *s = state;
    memcpy(s->work, s->values, s->n * s->blocks * 8);
    for (size_t i = 0; i < s->blocks; i++)
        s->sort(s->work + i * s->n, s->n);
    bench_sink = s->work[0];
}

static void select_blocks(void *state)
{
    struct sorting *s = state;
    memcpy(s->work, s->values, s->n * s->blocks * 8);
    for (size_t i = 0; i < s->blocks; i++)
        bench_sink = peer_nth(s->work + i * s->n, s->n, s->at);
}

static struct sorting *make_sorting(size_t n, size_t samples)
{
    struct sorting *s = bench_room(sizeof *s);
    *s = (struct sorting){.n = n, .blocks = samples / n};
    s->values = bench_room(n * s->blocks * 8);
    s->work = bench_room(n * s->blocks * 8);
    for (size_t i = 0; i < n * s->blocks; i++)
        s->values[i] = exp(3 + bench_normal());
    return s;
}

static void add_sort(struct bench *b, const char *name, const char *ours, size_t n, void (*sort)(double *, size_t),
                     bool is_limit)
{
    struct sorting *s = make_sorting(n, 65536);
    s->sort = sort;
    bench_add(b, (struct bench_job){.name = name,
                                    .unit = "ns/item",
                                    .items = (double)(n * s->blocks),
                                    .run = sort_blocks,
                                    .state = s,
                                    .ours = ours,
                                    .is_limit = is_limit});
}

static void add_select(struct bench *b, const char *name, const char *ours, double share)
{
    struct sorting *s = make_sorting(6000, 600000);
    s->at = (size_t)(share * 6000);
    bench_add(
        b, (struct bench_job){
               .name = name, .unit = "us", .items = (double)s->blocks, .run = select_blocks, .state = s, .ours = ours});
}

void peer_sort_limits(struct bench *b)
{
    if (!peer_has_vqsort()) {
        bench_skip(b, "libhwy-dev is not installed: no vqsort, which is the sorts' limit");
        return;
    }
    add_sort(b, "limit: vqsort 20", "sort 20", 20, peer_vqsort, true);
    add_sort(b, "limit: vqsort 60", "sort 60", 60, peer_vqsort, true);
    add_sort(b, "limit: vqsort 200", "sort 200", 200, peer_vqsort, true);
    add_sort(b, "limit: vqsort 1000", "sort 1000", 1000, peer_vqsort, true);
    add_sort(b, "limit: vqsort 4096", "sort 4096", 4096, peer_vqsort, true);
}

/* --- exact sets of integers --- */

enum { SET_N = 20000, SETS = 30 };

struct sets {
    uint32_t *items;
    const roaring_bitmap_t *built[SETS];
};

static void build_set(void *state)
{
    struct sets *s = state;
    roaring_bitmap_t *r = roaring_bitmap_create();
    roaring_bitmap_add_many(r, SET_N, s->items);
    bench_sink = (double)roaring_bitmap_get_cardinality(r);
    roaring_bitmap_free(r);
}

static void unite_sets(void *state)
{
    struct sets *s = state;
    roaring_bitmap_t *r = roaring_bitmap_or_many_heap(SETS, s->built);
    bench_sink = (double)roaring_bitmap_get_cardinality(r);
    roaring_bitmap_free(r);
}

/* Sets of integers below `most`: the fewer bits, the denser the bitmaps. */
static struct sets *make_sets(size_t n, double most)
{
    struct sets *s = bench_room(sizeof *s);
    s->items = bench_room(SET_N * sizeof *s->items);
    for (size_t i = 0; i < SETS; i++) {
        for (size_t j = 0; j < n; j++)
            s->items[j] = (uint32_t)(bench_uniform() * most);
        roaring_bitmap_t *set = roaring_bitmap_create();
        roaring_bitmap_add_many(set, n, s->items);
        roaring_bitmap_run_optimize(set);
        s->built[i] = set;
    }
    return s;
}

static void add_sets(struct bench *b, const char *name, const char *ours, bool is_build, struct sets *s)
{
    bench_add(b, (struct bench_job){.name = name,
                                    .unit = is_build ? "ns/item" : "us",
                                    .items = is_build ? SET_N : 1,
                                    .run = is_build ? build_set : unite_sets,
                                    .state = s,
                                    .ours = ours});
}

void peer_jobs(struct bench *b)
{
    add_sort(b, "std::sort 20 doubles", "sort 20", 20, peer_sort, false);
    add_sort(b, "std::sort 60 doubles", "sort 60", 60, peer_sort, false);
    add_sort(b, "std::sort 200 doubles", "sort 200", 200, peer_sort, false);
    add_sort(b, "std::sort 1000 doubles", "sort 1000", 1000, peer_sort, false);
    add_sort(b, "std::sort 4096 doubles", "sort 4096", 4096, peer_sort, false);
    add_select(b, "std::nth_element 0.5 of 6000 doubles", "selection, 0.5 of 30 x 200 sorted doubles", 0.5);
    add_select(b, "std::nth_element 0.5 of 6000 doubles, unpacked", "quantile 0.5 of 30 x 200 packed", 0.5);
    add_select(b, "std::nth_element 0.99 of 6000 doubles", "selection, 0.99 of 30 x 200 sorted doubles", 0.99);
    struct sets *near = make_sets(SET_N, 1e6), *far = make_sets(SET_N, 0x1p24), *few = make_sets(200, 0x1p24);
    add_sets(b, "CRoaring set of 20000 integers below 10^6", "HLL build n = 1000000, p = 14 (full)", true, near);
    add_sets(b, "CRoaring set of 20000 integers below 2^24", "HLL build n = 1000000, p = 14 (full)", true, far);
    add_sets(b, "CRoaring union of 30 x 20000 below 10^6", "HLL p = 14 union of 30 dense", false, near);
    add_sets(b, "CRoaring union of 30 x 20000 below 2^24", "HLL p = 14 union of 30 dense", false, far);
    add_sets(b, "CRoaring union of 30 x 200 below 2^24", "HLL p = 14 union of 30 sparse (200)", false, few);
}
