/*
 * The kernels' bench: each job of docs/KERNELS.md's table at every level of vector code this machine has, in one
 * interleaved run, beside what the machine itself can do (limits) and what other libraries do (peers). A job owns its
 * data and runs a fixed number of items; what is kept is the least time of many repeats, since everything that disturbs
 * a run makes it longer.
 */
#ifndef BENCH_KERNELS_BENCH_H
#define BENCH_KERNELS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

struct bench_job {
    const char *name;
    const char *unit; /* what one item is: "ns/item", or "us" for a readout */
    double target;    /* docs/KERNELS.md's, in that unit; 0 = none */
    double items;     /* of one run */
    void (*run)(void *state);
    void *state;
    int levels; /* 0: does not use vector code of this project, so it is measured once */
    /* What follows may be left out. */
    const char *ours;               /* a peer: the name of the job that does the same work here */
    double (*clocked)(void *state); /* instead of run: ns of one run, measured where the work is done */
    bool is_limit;                  /* what the machine can do: listed apart */
};

enum { BENCH_JOBS_MAX = 256, BENCH_SKIPPED_MAX = 16, BENCH_LEVELS = CPU_AVX512 };
struct bench {
    struct bench_job jobs[BENCH_JOBS_MAX];
    double least[BENCH_JOBS_MAX][BENCH_LEVELS + 1]; /* ns of one run by enum cpu_level; INFINITY = not measured */
    size_t jobs_n;
    const char *skipped[BENCH_SKIPPED_MAX]; /* peers that are not here, and why */
    size_t skipped_n;
    bool has_bytes; /* the report has the panes' bytes too */
};

/* Adds a job; exits when there is no room. */
void bench_add(struct bench *b, struct bench_job job);
/* Says why a peer is missing; a copy of the text is kept. */
void bench_skip(struct bench *b, const char *why);
/* malloc that exits when memory ends; nothing is freed, the process ends soon. */
void *bench_room(size_t bytes);
/* Results go here, so that no run is optimized away. */
extern volatile double bench_sink;

/* The same numbers in every run. */
double bench_uniform(void);
double bench_normal(void);
/* exp(3 + N) to three decimals: latencies in ms. */
double bench_latency(void);

void frame_jobs(struct bench *b);     /* frame_jobs.c: the sample codec */
void quantile_jobs(struct bench *b);  /* quantile_jobs.c: sorting, exact panes, KLL, selection */
void sketch_jobs(struct bench *b);    /* sketch_jobs.c: DDSketch, HLL, exact accumulators */
void frequency_jobs(struct bench *b); /* frequency_jobs.c: items: CMS, CountSketch, heaps, UnivMon, KMV, Hydra */
void limit_jobs(struct bench *b);     /* limit_jobs.c: bandwidth, hash, logarithm, increments, the best sort known */
void peer_jobs(struct bench *b);      /* peer_jobs.c: C and C++ libraries, linked */
/* peer_process.c: a program that measures another library and speaks the protocol at that file's head. */
void peer_process(struct bench *b, const char *command);
void peer_processes_end(void);

#endif
