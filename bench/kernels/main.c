/*
 * Runs every job in turn at every level, many times over, and prints the least times as a table; as CSV into a file
 * when one is named.
 *
 * usage: kernels_bench [--csv FILE] [--repeats N] [--only TEXT]
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/kernels/bench.h"
#include "kernels/cpu.h"

/* Several runs one after the other, so that the job's data is where its size lets it be. */
enum { REPEATS = 15, RUNS = 4, LEVELS = CPU_AVX512 };

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

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Least ns of one run of each job at each level; jobs without levels in column CPU_SCALAR. */
static void measure(const struct bench *b, int repeats, const char *only, double (*least)[LEVELS + 1])
{
    for (size_t j = 0; j < b->jobs_n; j++)
        for (int level = 0; level <= LEVELS; level++)
            least[j][level] = INFINITY;
    for (int r = 0; r < repeats; r++)
        for (size_t j = 0; j < b->jobs_n; j++) {
            const struct bench_job *job = &b->jobs[j];
            if (only && !strstr(job->name, only))
                continue;
            for (int level = CPU_SCALAR; level <= (job->levels ? (int)cpu_most() : CPU_SCALAR); level++) {
                cpu_force((enum cpu_level)level);
                for (int run = 0; run < RUNS; run++) {
                    double start = now_ns();
                    job->run(job->state);
                    double took = now_ns() - start;
                    least[j][level] = took < least[j][level] ? took : least[j][level];
                }
            }
        }
}

/* A time in the job's unit, or an empty text. */
static const char *figure(char *text, size_t cap, const struct bench_job *job, double ns)
{
    double v = ns / job->items / (strcmp(job->unit, "us") == 0 ? 1000 : 1);
    if (isfinite(v))
        snprintf(text, cap, "%.2f", v);
    else
        text[0] = '\0';
    return text;
}

static void print_row(FILE *out, bool csv, const char *const *cell)
{
    if (csv)
        fprintf(out, "\"%s\",%s,%s,%s,%s,%s\n", cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]);
    else
        fprintf(out, "%-56s %-8s %10s %10s %10s %10s\n", cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]);
}

static void print_table(FILE *out, bool csv, const struct bench *b, double (*least)[LEVELS + 1])
{
    print_row(out, csv, (const char *const[]){"job", "unit", "scalar", "avx2", "avx512", "target"});
    for (size_t j = 0; j < b->jobs_n; j++) {
        char text[LEVELS + 1][32], target[32] = "";
        if (!isfinite(least[j][CPU_SCALAR]))
            continue;
        for (int level = CPU_SCALAR; level <= LEVELS; level++)
            figure(text[level], sizeof text[level], &b->jobs[j], least[j][level]);
        if (b->jobs[j].target > 0)
            snprintf(target, sizeof target, "%.2f", b->jobs[j].target);
        print_row(out, csv,
                  (const char *const[]){b->jobs[j].name, b->jobs[j].unit, text[CPU_SCALAR], text[CPU_AVX2],
                                        text[CPU_AVX512], target});
    }
}

int main(int argc, char **argv)
{
    const char *csv = NULL, *only = NULL;
    int repeats = REPEATS;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && strcmp(argv[i], "--csv") == 0) {
            csv = value;
        } else if (value && strcmp(argv[i], "--only") == 0) {
            only = value;
        } else if (value && strcmp(argv[i], "--repeats") == 0 && atoi(value) > 0) {
            repeats = atoi(value);
        } else {
            fprintf(stderr, "usage: kernels_bench [--csv FILE] [--repeats N] [--only TEXT]\n");
            return 2;
        }
    }
    static struct bench b;
    static double least[BENCH_JOBS_MAX][LEVELS + 1];
    frame_jobs(&b);
    quantile_jobs(&b);
    sketch_jobs(&b);
    frequency_jobs(&b);
    limit_jobs(&b);
    measure(&b, repeats, only, least);
    print_table(stdout, false, &b, least);
    if (csv) {
        FILE *out = fopen(csv, "w");
        if (!out) {
            perror(csv);
            return 1;
        }
        print_table(out, true, &b, least);
        if (fclose(out) != 0) {
            perror(csv);
            return 1;
        }
    }
    return 0;
}
