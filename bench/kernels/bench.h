/*
 * The kernels' bench: each job of docs/KERNELS.md's table at every level of vector code this machine has, in one
 * interleaved run, with what the machine itself can do beside it. A job owns its data and runs a fixed number of items;
 * what is kept is the least time of many repeats, since everything that disturbs a run makes it longer.
 */
#ifndef BENCH_KERNELS_BENCH_H
#define BENCH_KERNELS_BENCH_H

#include <stddef.h>
#include <stdint.h>

struct bench_job {
    const char *name;
    const char *unit; /* what one item is: "ns/item", or "us" for a readout */
    double target;    /* docs/KERNELS.md's, in that unit; 0 = none */
    double items;     /* of one run */
    void (*run)(void *state);
    void *state;
    int levels; /* 0: does not use the kernels, so it is measured once (limits and peers) */
};

enum { BENCH_JOBS_MAX = 96 };
struct bench {
    struct bench_job jobs[BENCH_JOBS_MAX];
    size_t jobs_n;
};

/* Adds a job; exits when there is no room. */
void bench_add(struct bench *b, struct bench_job job);
/* malloc that exits when memory ends; nothing is freed, the process ends soon. */
void *bench_room(size_t bytes);
/* Results go here, so that no run is optimized away. */
extern volatile double bench_sink;

/* The same numbers in every run. */
double bench_uniform(void);
double bench_normal(void);
/* exp(3 + N) to three decimals: latencies in ms. */
double bench_latency(void);

void frame_jobs(struct bench *b);    /* frame_jobs.c: the sample codec */
void quantile_jobs(struct bench *b); /* quantile_jobs.c: sorting, exact panes, KLL, selection */
void sketch_jobs(struct bench *b);   /* sketch_jobs.c: DDSketch, HLL, exact accumulators */
void frequency_jobs(struct bench *b); /* frequency_jobs.c: items: CMS, CountSketch, heaps, UnivMon, KMV, Hydra */
void limit_jobs(struct bench *b);    /* limit_jobs.c: bandwidth, hash; std::sort and std::nth_element */

/* peers.cc */
void peer_sort(double *v, size_t n);
double peer_nth(double *v, size_t n, size_t at);

#endif
