/*
 * The accuracy bench: what each sketch misses by, against what it promises, for seven streams, as one state, over k
 * panes without a merge, and after a k-way merge.
 *
 * usage: accuracy_bench [ROUNDS]
 *
 * A row is one (measure, stream, form, panes): the root mean square, the 99th percentile and the greatest of the errors
 * over all rounds (seeds) and readouts, the bound, and the share of errors beyond it. A bound is either one that holds
 * with a probability (share beyond it: at most its failure, and what chance adds for that many rounds) or a standard
 * error (rms at most that, likewise). `!` marks a row that breaks its bound; the exit status is 1 if there is one.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/accuracy/streams.h"
#include "kernels/sketch.h"

enum { PANES_MAX = 1440, ERRORS_MAX = 1 << 20, ITEMS_READ = 64 };

/* States of one round, and the one that a readout reads. */
struct round {
    const struct family_info *f;
    const struct sketch_params *params;
    const struct stream *stream;
    const struct state_ref *src;
    uint32_t k;
    void *scratch;
};

struct errors {
    double *v;
    uint32_t n;
};

static void *room(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p) {
        perror("accuracy_bench");
        exit(1);
    }
    return p;
}

static double read_number(const struct round *r, enum statistic statistic, struct sketch_args args)
{
    double v = NAN;
    int rc = r->f->estimate(r->src, r->k, r->params, statistic, &args, r->scratch, &v);
    if (rc != SKETCH_OK) {
        fprintf(stderr, "accuracy_bench: %s: %s failed with %d\n", r->f->name, statistic_name(statistic), rc);
        exit(1);
    }
    return v;
}

static void add_error(struct errors *e, double miss)
{
    if (e->n < ERRORS_MAX)
        e->v[e->n++] = fabs(miss);
}

static const double quantiles[] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999};

static void rank_errors(const struct round *r, struct errors *e)
{
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double v = read_number(r, STATISTIC_QUANTILE, (struct sketch_args){.q = quantiles[i]});
        add_error(e, stream_rank_error(r->stream, v, quantiles[i]));
    }
}

static void value_errors(const struct round *r, struct errors *e)
{
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double v = read_number(r, STATISTIC_QUANTILE, (struct sketch_args){.q = quantiles[i]});
        add_error(e, v / stream_quantile(r->stream, quantiles[i]) - 1);
    }
}

static void distinct_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_DISTINCT, (struct sketch_args){0}) / r->stream->distinct - 1);
}

/* Of items spread over the distinct ones, as a share of `norm`. */
static void point_errors(const struct round *r, struct errors *e, double norm)
{
    uint32_t step = r->stream->distinct / ITEMS_READ + 1;
    for (uint32_t i = 0; i < r->stream->distinct; i += step) {
        double v = read_number(r, STATISTIC_POINT_COUNT, (struct sketch_args){.key = sketch_key(r->stream->items[i])});
        add_error(e, (v - r->stream->counts[i]) / norm);
    }
}

static void cms_errors(const struct round *r, struct errors *e)
{
    point_errors(r, e, STREAM_N);
}

static void countsketch_errors(const struct round *r, struct errors *e)
{
    point_errors(r, e, r->stream->l2);
}

static void l1_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_L1, (struct sketch_args){0}) / STREAM_N - 1);
}

static void l2_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_L2, (struct sketch_args){0}) / r->stream->l2 - 1);
}

static void entropy_errors(const struct round *r, struct errors *e)
{
    double truth = r->stream->entropy;
    add_error(e, (read_number(r, STATISTIC_ENTROPY, (struct sketch_args){0}) - truth) / (truth > 1 ? truth : 1));
}

struct measure {
    const char *name;
    enum family family;
    struct sketch_params params;
    void (*errors)(const struct round *r, struct errors *e);
    double bound;   /* NAN: none is known */
    double failure; /* probability of an error beyond it; NAN: the bound is a standard error */
};

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the row; returns whether its bound is broken. */
static bool report(const struct measure *m, const char *stream, const char *form, uint32_t panes, struct errors *e,
                   uint32_t rounds)
{
    double squares = 0, slack = 3 / sqrt(2.0 * rounds);
    uint32_t beyond = 0;
    qsort(e->v, e->n, sizeof *e->v, rising);
    for (uint32_t i = 0; i < e->n; i++) {
        squares += e->v[i] * e->v[i];
        beyond += e->v[i] > m->bound * (1 + 1e-9) + 1e-12;
    }
    double rms = sqrt(squares / e->n), share = beyond / (double)e->n;
    bool broken;
    if (m->failure == m->failure)
        broken = share > m->failure + 3 * sqrt(m->failure * (1 - m->failure) / rounds);
    else
        broken = rms > m->bound * (1 + slack);
    printf("%-28s %-11s %-6s %5u %10.6f %10.6f %10.6f", m->name, stream, form, panes, rms, e->v[e->n * 99 / 100],
           e->v[e->n - 1]);
    if (m->bound == m->bound)
        printf(" %10.6f %8.4f%s\n", m->bound, share, broken ? " !" : "");
    else
        printf("          -        -\n");
    return broken;
}

struct buffers {
    struct stream *stream;
    struct state_ref src[PANES_MAX];
    uint8_t *states, *merged;
    void *scratch;
    struct errors apart, joined;
};

static void build_panes(struct buffers *b, const struct measure *m, uint32_t panes, uint64_t seed, size_t cap)
{
    const struct family_info *f = family_get(m->family);
    static int64_t times_ms[STREAM_N];
    uint32_t run = STREAM_N / panes;
    for (uint32_t i = 0; i < panes; i++) {
        size_t size = 0;
        uint8_t *dst = b->states + i * cap;
        for (uint32_t j = 0; j < run; j++)
            times_ms[j] = (int64_t)i * 10000 + j;
        /* KLL's offsets differ from pane to pane; hashes must not. */
        uint64_t pane_seed = m->family == FAMILY_KLL ? seed * 1000003 + i : seed;
        int rc = f->build(dst, cap, &size, &m->params, (int64_t)(i + 1) * 10000, times_ms,
                          b->stream->values + (size_t)i * run, run, pane_seed, b->scratch);
        if (rc != SKETCH_OK) {
            fprintf(stderr, "accuracy_bench: building %s failed with %d\n", f->name, rc);
            exit(1);
        }
        b->src[i] = (struct state_ref){dst, (uint32_t)size, (int64_t)(i + 1) * 10000};
    }
}

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Rows of one measure, stream and number of panes. Returns how many bounds are broken. */
static uint32_t run(struct buffers *b, const struct measure *m, uint32_t kind, uint32_t panes, uint32_t rounds)
{
    const struct family_info *f = family_get(m->family);
    size_t pane_cap = f->size_bound(&m->params, STREAM_N / panes), cap = f->size_bound(&m->params, STREAM_N);
    b->states = room(pane_cap * panes);
    b->merged = room(cap);
    b->scratch =
        room(greater(f->scratch_bound(&m->params, STREAM_N / panes, 0), f->scratch_bound(&m->params, STREAM_N, panes)));
    b->apart.n = b->joined.n = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        stream_fill(b->stream, kind, round + 1);
        build_panes(b, m, panes, UINT64_C(0x9e3779b97f4a7c15) * (round + 1), pane_cap);
        struct round r = {f, &m->params, b->stream, b->src, panes, b->scratch};
        m->errors(&r, &b->apart);
        if (panes == 1)
            continue;
        size_t size = 0;
        int rc =
            f->merge_k(b->merged, cap, &size, &m->params, (int64_t)panes * 10000, b->src, panes, round, b->scratch);
        if (rc != SKETCH_OK) {
            fprintf(stderr, "accuracy_bench: merging %s failed with %d\n", f->name, rc);
            exit(1);
        }
        struct state_ref one = {b->merged, (uint32_t)size, (int64_t)panes * 10000};
        r.src = &one;
        r.k = 1;
        m->errors(&r, &b->joined);
    }
    uint32_t broken = report(m, stream_names[kind], panes == 1 ? "build" : "panes", panes, &b->apart, rounds);
    if (panes > 1)
        broken += report(m, stream_names[kind], "merged", panes, &b->joined, rounds);
    free(b->states);
    free(b->merged);
    free(b->scratch);
    return broken;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    if (rounds < 1 || rounds > 1000) {
        fprintf(stderr, "usage: accuracy_bench [ROUNDS]   1 to 1000 rounds, each with a seed of its own\n");
        return 2;
    }
    const struct sketch_params cms = {.depth = 4, .width = 512}, cs = {.depth = 5, .width = 512},
                               univmon = {.depth = 5, .width = 512, .heap = 8};
    /* One row's sum of squares has a relative standard error of sqrt(2 / w), L2 of half that; a median's is less. */
    const double l2 = 1 / sqrt(2.0 * 512), listed = 5 * 512 / 4.0;
    const struct measure measures[] = {
        {"KLL k=200, rank", FAMILY_KLL, {.k = 200}, rank_errors, kll_rank_error(200), 0.01},
        {"DDSketch 1%, value", FAMILY_DDSKETCH, {.alpha = 0.01}, value_errors, 0.01, 0},
        {"HLL p=12, distinct", FAMILY_HLL, {.p = 12}, distinct_errors, hll_standard_error(12), NAN},
        {"KMV k=1024, distinct", FAMILY_KMV, {.k = 1024}, distinct_errors, kmv_standard_error(1024), NAN},
        {"CMS 4x512, point / L1", FAMILY_CMS, cms, cms_errors, cms_error(512), cms_failure(4)},
        {"CountSketch 5x512, pt. / L2", FAMILY_COUNTSKETCH, cs, countsketch_errors, countsketch_error(512),
         countsketch_failure(5)},
        {"CountSketch 5x512, L2", FAMILY_COUNTSKETCH, cs, l2_errors, l2, NAN},
        {"UnivMon 5x512/8, L1", FAMILY_UNIVMON, univmon, l1_errors, 0, 0},
        {"UnivMon 5x512/8, L2", FAMILY_UNIVMON, univmon, l2_errors, l2, NAN},
        {"UnivMon 5x512/8, distinct", FAMILY_UNIVMON, univmon, distinct_errors, 1.2 / sqrt(listed), NAN},
        {"UnivMon 5x512/8, entropy", FAMILY_UNIVMON, univmon, entropy_errors, NAN, NAN},
    };
    static const uint32_t panes[] = {1, 2, 30, 1440};
    struct buffers b = {.stream = room(sizeof *b.stream)};
    b.apart.v = room(ERRORS_MAX * sizeof(double));
    b.joined.v = room(ERRORS_MAX * sizeof(double));
    uint32_t broken = 0;
    printf("%-28s %-11s %-6s %5s %10s %10s %10s %10s %8s\n", "measure", "stream", "form", "panes", "rms", "p99", "max",
           "bound", "beyond");
    for (size_t m = 0; m < sizeof measures / sizeof *measures; m++)
        for (uint32_t kind = 0; kind < STREAMS_N; kind++)
            for (size_t p = 0; p < sizeof panes / sizeof *panes; p++)
                broken += run(&b, &measures[m], kind, panes[p], (uint32_t)rounds);
    printf("%ld rounds of %d samples; %u bounds broken\n", rounds, STREAM_N, broken);
    free(b.stream);
    free(b.apart.v);
    free(b.joined.v);
    return broken > 0;
}
