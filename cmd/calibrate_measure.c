#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/calibrate.h"
#include "executor/raw.h"
#include "kernels/frame.h"

enum { REPETITIONS = 25, BUILD_FEW = 4, BUILD_MANY = 240, READ_FEW = 2, READ_MANY = 34, STATE_ROWS = 60 };
enum { ROW_BYTES = 48, SPACING_MS = 15000, SEED = 7 };
#define REPETITION_NS 100000 /* a repetition is as many runs as take this long */

/* Something to run many times. */
struct job {
    void (*run)(struct job *job);
    const struct family_info *family;
    struct sketch_params params;
    const int64_t *times_ms;
    const double *values;
    uint32_t n;
    uint8_t *state, *scratch, *chunk;
    size_t state_cap, chunk_bytes;
    struct state_ref states[READ_MANY];
    enum statistic statistic;
    struct range_series series;
    range_fn *window;
    double sink;
    int code;
};

static double least_ms(struct job *job)
{
    double least = INFINITY;
    uint64_t runs_n = 1, taken_ns = 0;
    while (taken_ns < REPETITION_NS && runs_n < 1 << 24) { /* warms up, too */
        runs_n *= 2;
        uint64_t began_ns = clock_cpu_ns();
        for (uint64_t i = 0; i < runs_n; i++)
            job->run(job);
        taken_ns = clock_cpu_ns() - began_ns;
    }
    for (int r = 0; r < REPETITIONS; r++) {
        uint64_t began_ns = clock_cpu_ns();
        for (uint64_t i = 0; i < runs_n; i++)
            job->run(job);
        least = fmin(least, (double)(clock_cpu_ns() - began_ns) / (double)runs_n);
    }
    return least / 1e6;
}

/* Through (few, at_few) and (many, at_many): slope and what is left at 0, neither below 0. */
static void line_through(double few, double at_few, double many, double at_many, double *ret_slope, double *ret_rest)
{
    *ret_slope = fmax(0, (at_many - at_few) / (many - few));
    *ret_rest = fmax(0, at_few - few * *ret_slope);
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static void fill(int64_t *times_ms, double *values, uint32_t n)
{
    uint64_t state = SEED;
    for (uint32_t i = 0; i < n; i++) {
        double normal = sqrt(-2 * log(uniform(&state))) * cos(6.283185307179586 * uniform(&state));
        values[i] = round(exp(3 + normal) * 1000) / 1000;
        times_ms[i] = (int64_t)i * SPACING_MS;
    }
}

static void run_build(struct job *job)
{
    size_t size;
    int64_t end_ms = job->times_ms[job->n - 1];
    job->code = job->family->build(job->state, job->state_cap, &size, &job->params, end_ms, job->times_ms, job->values,
                                   job->n, SEED, job->scratch);
}

static void run_estimate(struct job *job)
{
    struct sketch_args args = {.start_ms = job->states[0].end_ms - STATE_ROWS * SPACING_MS,
                               .end_ms = job->states[job->n - 1].end_ms,
                               .q = 0.99};
    job->code =
        job->family->estimate(job->states, job->n, &job->params, job->statistic, &args, job->scratch, &job->sink);
}

static void run_decode(struct job *job)
{
    static int64_t times_ms[FRAME_MAX_N + FRAME_SLACK];
    static double values[FRAME_MAX_N + FRAME_SLACK];
    uint32_t n;
    job->code = chunk_decode(job->chunk, job->chunk_bytes, times_ms, values, &n);
}

static void run_window(struct job *job)
{
    struct range_window w = {
        .lo = 0, .hi = job->n, .end_ms = job->times_ms[job->n - 1], .at_ms = job->times_ms[job->n - 1]};
    job->sink = job->window(&job->series, &w);
}

static void *room(size_t bytes)
{
    void *p = NULL; /* scratch is 16-aligned; a few bytes more than asked for are never read */
    MUST(posix_memalign(&p, 64, bytes + 64) == 0);
    return p;
}

/* What the planner would ask of a target of 1 % (the frequency families: as an example). */
static struct sketch_params params_of(enum family family)
{
    switch (family) {
    case FAMILY_KLL:
        return (struct sketch_params){.k = kll_k_for_rank_error(0.01)};
    case FAMILY_DDSKETCH:
        return (struct sketch_params){.alpha = 0.01};
    case FAMILY_HLL:
        return (struct sketch_params){.p = hll_p_for_standard_error(0.01)};
    case FAMILY_KMV:
        return (struct sketch_params){.k = kmv_k_for_standard_error(0.01)};
    case FAMILY_CMS:
    case FAMILY_COUNTSKETCH:
        return (struct sketch_params){.depth = 5, .width = 1024};
    case FAMILY_CMS_HEAP:
    case FAMILY_COUNTSKETCH_HEAP:
    case FAMILY_UNIVMON:
        return (struct sketch_params){.depth = 5, .width = 1024, .heap = 64};
    case FAMILY_HYDRA_CMS:
    case FAMILY_HYDRA_COUNTSKETCH:
        return (struct sketch_params){.depth = 5, .width = 256, .rows = 3, .columns = 16};
    default:
        return (struct sketch_params){0};
    }
}

/* The statistic it is kept for: quantiles where it has them, else its first. */
static enum statistic statistic_of(const struct family_info *f)
{
    return family_readout(f, STATISTIC_QUANTILE) ? STATISTIC_QUANTILE : f->readouts[0].statistic;
}

/* States one after the other in time, oldest first as panes are read. */
static bool make_states(struct job *job, uint8_t *bytes, size_t each)
{
    for (uint32_t k = 0; k < READ_MANY; k++) {
        const int64_t *times_ms = job->times_ms + (size_t)k * STATE_ROWS;
        const double *values = job->values + (size_t)k * STATE_ROWS;
        size_t size;
        int64_t end_ms = times_ms[STATE_ROWS - 1];
        if (job->family->build(bytes + k * each, each, &size, &job->params, end_ms, times_ms, values, STATE_ROWS, SEED,
                               job->scratch) != 0)
            return false;
        job->states[k] = (struct state_ref){bytes + k * each, (uint32_t)size, end_ms};
    }
    return true;
}

static void measure_family(const struct family_info *f, const int64_t *times_ms, const double *values,
                           struct measured_family *ret)
{
    const char *reason;
    struct job job = {.family = f, .params = params_of(f->family), .times_ms = times_ms, .values = values};
    if (f->readouts_n == 0 || f->check_params(&job.params, &reason) != 0)
        return;
    uint64_t rows = READ_MANY * STATE_ROWS;
    size_t each = f->size_bound(&job.params, STATE_ROWS), build_scratch = f->scratch_bound(&job.params, BUILD_MANY, 0),
           read_scratch = f->scratch_bound(&job.params, rows, READ_MANY);
    uint8_t *bytes = room(READ_MANY * each);
    job.state_cap = f->size_bound(&job.params, BUILD_MANY);
    job.state = room(job.state_cap);
    job.scratch = room(build_scratch > read_scratch ? build_scratch : read_scratch);
    job.run = run_build;
    job.n = BUILD_FEW;
    double few = least_ms(&job);
    job.n = BUILD_MANY;
    double many = least_ms(&job);
    ret->measured = job.code == 0 && make_states(&job, bytes, each);
    line_through(BUILD_FEW, few, BUILD_MANY, many, &ret->build_row_ms, &ret->build_state_ms);
    if (ret->measured) {
        job.run = run_estimate;
        job.statistic = statistic_of(f);
        job.n = READ_FEW;
        few = least_ms(&job);
        job.n = READ_MANY;
        many = least_ms(&job);
        ret->measured = job.code == SKETCH_OK || job.code == SKETCH_NONE;
        line_through(READ_FEW, few, READ_MANY, many, &ret->read_state_ms, &ret->read_result_ms);
    }
    free(bytes);
    free(job.state);
    free(job.scratch);
}

static void measure_rows(struct measured *ret, const int64_t *times_ms, const double *values)
{
    struct job job = {.times_ms = times_ms, .values = values, .n = FRAME_MAX_N};
    size_t cap = chunk_bound(job.n);
    job.chunk = room(cap);
    job.scratch = room(frame_scratch(job.n));
    job.chunk_bytes = chunk_encode(job.chunk, cap, times_ms, values, job.n, job.scratch);
    job.run = run_decode;
    double decode_ms = least_ms(&job) / job.n;
    job.run = run_window;
    job.window = range_sum;
    job.series = (struct range_series){.times_ms = times_ms,
                                       .values = values,
                                       .n = job.n,
                                       .range_ms = (int64_t)job.n * SPACING_MS,
                                       .one_window = true};
    ret->op_ms = least_ms(&job) / job.n / 2;
    ret->byte_ms = fmax(0, decode_ms - ret->op_ms) / ROW_BYTES;
    range_series_done(&job.series);
    free(job.chunk);
    free(job.scratch);
}

void calibrate_measure(struct measured *ret)
{
    enum { ROWS = READ_MANY * STATE_ROWS };
    int64_t *times_ms = room(ROWS * sizeof *times_ms);
    double *values = room(ROWS * sizeof *values);
    fill(times_ms, values, ROWS);
    *ret = (struct measured){0};
    measure_rows(ret, times_ms, values);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    ret->byte_s_ms = memory > 0 ? (double)sysconf(_SC_NPROCESSORS_ONLN) * 1000 / memory : 0;
    for (int f = FAMILY_INVALID + 1; f < FAMILY_END; f++)
        measure_family(family_get((enum family)f), times_ms, values, &ret->families[f]);
    free(times_ms);
    free(values);
}
