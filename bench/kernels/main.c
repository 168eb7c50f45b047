/*
 * Runs every job in turn at every level, many times over, and prints the least times as tables; as CSV into a file when
 * one is named. COMMAND starts a peer (peer_process.c). With TEXT, only the jobs whose name has it, and what they are
 * set beside.
 *
 * usage: kernels_bench [--csv FILE] [--repeats N] [--only TEXT] [--peer COMMAND]...
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/kernels/bench.h"
#include "bench/kernels/report.h"
#include "bench/kernels/rows.h"

/* Several runs one after the other, so that the job's data is where its size lets it be; long ones fill the caches by
 * themselves. */
enum { REPEATS = 15, RUNS = 4, RUNS_NS = 5000000, INTERRUPTIBLE_NS = 500000, PEERS_MAX = 8 };

volatile double bench_sink;

void *bench_room(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!p) {
        fprintf(stderr, "kernels_bench: out of memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

void bench_add(struct bench *b, struct bench_job job)
{
    if (b->jobs_n == BENCH_JOBS_MAX) {
        fprintf(stderr, "kernels_bench: more than %d jobs\n", BENCH_JOBS_MAX);
        exit(1);
    }
    b->jobs[b->jobs_n++] = job;
}

void bench_skip(struct bench *b, const char *why)
{
    char *kept = bench_room(strlen(why) + 1);
    if (b->skipped_n < BENCH_SKIPPED_MAX)
        b->skipped[b->skipped_n++] = strcpy(kept, why);
}

double bench_uniform(void)
{
    static uint64_t state = 42;
    uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

double bench_normal(void)
{
    return sqrt(-2 * log(1 - bench_uniform())) * cos(6.283185307179586 * bench_uniform());
}

double bench_latency(void)
{
    return round(exp(3 + bench_normal()) * 1000) / 1000;
}

static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool is_named(const char *name, const char *only)
{
    return strstr(name, only);
}

/* Named itself, or set beside one that is. */
static bool is_wanted(const struct bench *b, const struct bench_job *job, const char *only)
{
    if (!only || is_named(job->name, only))
        return true;
    for (size_t i = 0; i < table_jobs_n; i++)
        if (strcmp(table_jobs[i].limit, job->name) == 0 && is_named(table_jobs[i].job, only))
            return true;
    for (size_t i = 0; i < b->jobs_n; i++)
        if (b->jobs[i].ours && strcmp(b->jobs[i].ours, job->name) == 0 && is_named(b->jobs[i].name, only))
            return true;
    return job->ours && is_named(job->ours, only);
}

/* A run that is long enough to be interrupted counts by its processor time; asking for that takes too long for short
 * ones, of which some are not interrupted. */
static double run_ns(const struct bench_job *job)
{
    if (job->clocked)
        return job->clocked(job->state);
    double cpu = now_ns(CLOCK_THREAD_CPUTIME_ID), start = now_ns(CLOCK_MONOTONIC_RAW);
    job->run(job->state);
    double took = now_ns(CLOCK_MONOTONIC_RAW) - start;
    if (took < INTERRUPTIBLE_NS)
        return took;
    return fmin(took, now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
}

/* Least ns of one run of each job at each level; jobs without levels in column CPU_SCALAR. */
static void measure(struct bench *b, int repeats, const char *only)
{
    for (size_t j = 0; j < b->jobs_n; j++)
        for (int level = 0; level <= BENCH_LEVELS; level++)
            b->least[j][level] = INFINITY;
    for (int r = 0; r < repeats; r++)
        for (size_t j = 0; j < b->jobs_n; j++) {
            const struct bench_job *job = &b->jobs[j];
            if (!is_wanted(b, job, only))
                continue;
            for (int level = CPU_SCALAR; level <= (job->levels ? (int)cpu_most() : CPU_SCALAR); level++) {
                cpu_force((enum cpu_level)level);
                double spent = 0;
                for (int run = 0; run < RUNS && spent < RUNS_NS; run++) {
                    double took = run_ns(job);
                    b->least[j][level] = fmin(b->least[j][level], took);
                    spent += took;
                }
            }
        }
}

int main(int argc, char **argv)
{
    const char *csv = NULL, *only = NULL, *peers[PEERS_MAX];
    int repeats = REPEATS;
    size_t peers_n = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && strcmp(argv[i], "--csv") == 0) {
            csv = value;
        } else if (value && strcmp(argv[i], "--only") == 0) {
            only = value;
        } else if (value && strcmp(argv[i], "--repeats") == 0 && atoi(value) > 0) {
            repeats = atoi(value);
        } else if (value && strcmp(argv[i], "--peer") == 0 && peers_n < PEERS_MAX) {
            peers[peers_n++] = value;
        } else {
            fprintf(stderr, "usage: kernels_bench [--csv FILE] [--repeats N] [--only TEXT] [--peer COMMAND]...\n");
            return 2;
        }
    }
    static struct bench b;
    frame_jobs(&b);
    quantile_jobs(&b);
    sketch_jobs(&b);
    frequency_jobs(&b);
    limit_jobs(&b);
    peer_jobs(&b);
    for (size_t i = 0; i < peers_n; i++)
        peer_process(&b, peers[i]);
    measure(&b, repeats, only);
    peer_processes_end();
    b.has_bytes = !only;
    bool whole = report_text(stdout, &b);
    if (csv) {
        FILE *out = fopen(csv, "w");
        if (!out) {
            perror(csv);
            return 1;
        }
        report_csv(out, &b);
        if (fclose(out) != 0) {
            perror(csv);
            return 1;
        }
    }
    return whole ? 0 : 1;
}
