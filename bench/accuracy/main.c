/*
 * The accuracy bench: what each sketch misses by, against what it promises, over the streams of streams.h, as one
 * state, over k panes without a merge, after a k-way merge, and after a merge of merges.
 *
 * usage: accuracy_bench [--rounds N] [--all] [--only TEXT]
 *
 * A row is one (measure, stream, form, panes): the root mean square, the 99th percentile and the greatest of the errors
 * over all rounds (seeds) and readouts, the bound, and the share of errors beyond it. A bound is either one that holds
 * with a probability (share beyond it: at most its failure, and what chance adds for that many rounds) or a standard
 * error (rms at most that, likewise). Of each (measure, form) the stream and panes with the greatest rms are shown, and
 * every row that breaks its bound; all with --all. The exit status is 1 if a bound is broken.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/accuracy/kll_table.h"
#include "bench/accuracy/measures.h"
#include "bench/accuracy/streams.h"

enum { PANES_MAX = 1440, CUTS = 6, FORMS = 3, MEASURES_MAX = 32 };
/* There are some thousand rows, so chance may reach far in one of them. */
#define SIGMAS 4

static const uint32_t cuts[CUTS] = {1, 2, 20, 30, 60, 1440};
/* Panes that are merged first, before all of these are; 0 = not measured. */
static const uint32_t groups[CUTS] = {0, 0, 5, 6, 10, 40};
static const char *const form_names[FORMS] = {"panes", "merged", "merged 2x"};

struct row {
    const char *stream;
    double rms, p99, most, share;
    bool is_there, is_broken;
};

struct buffers {
    enum stream_kind kind;
    struct stream *stream;
    struct state_ref src[PANES_MAX], parts[PANES_MAX];
    uint8_t *states, *merged, *part;
    void *scratch;
    int64_t *times_ms;
    uint64_t *keys, *key_groups;
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

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Room for every measure and cut. */
static void make_buffers(struct buffers *b, const struct measure *all, uint32_t all_n)
{
    size_t states = 0, whole = 0, scratch = 0;
    for (uint32_t m = 0; m < all_n; m++)
        for (uint32_t c = 0; c < CUTS; c++) {
            const struct family_info *f = family_get(all[m].family);
            const struct sketch_params *params = &all[m].params;
            uint32_t panes = cuts[c];
            states = greater(states, f->size_bound(params, STREAM_N / panes) * panes);
            whole = greater(whole, f->size_bound(params, STREAM_N) * greater(1, groups[c] ? panes / groups[c] : 1));
            scratch = greater(scratch, f->scratch_bound(params, STREAM_N / panes, 0));
            scratch = greater(scratch, f->scratch_bound(params, STREAM_N, panes));
        }
    *b = (struct buffers){.stream = room(sizeof *b->stream),
                          .states = room(states),
                          .merged = room(whole),
                          .part = room(whole),
                          .scratch = room(scratch),
                          .times_ms = room(STREAM_N * 8),
                          .keys = room(STREAM_N * 8),
                          .key_groups = room(STREAM_N * 8)};
    for (uint32_t i = 0; i < STREAM_N; i++)
        b->times_ms[i] = i + 1;
}

static void check(int rc, const struct family_info *f, const char *what)
{
    if (rc == SKETCH_OK)
        return;
    fprintf(stderr, "accuracy_bench: %s %s failed with %d\n", what, f->name, rc);
    exit(1);
}

static void build_panes(struct buffers *b, const struct measure *m, uint32_t panes, uint64_t seed)
{
    const struct family_info *f = family_get(m->family);
    uint32_t run = STREAM_N / panes;
    size_t cap = f->size_bound(&m->params, run);
    for (uint32_t i = 0; i < panes; i++) {
        size_t size = 0, from = (size_t)i * run;
        uint8_t *dst = b->states + i * cap;
        int64_t end_ms = (int64_t)(i + 1) * run;
        /* KLL's offsets differ from pane to pane; hashes must not. */
        uint64_t pane_seed = m->family == FAMILY_KLL ? seed * 1000003 + i : seed;
        const struct sketch_items items = {b->key_groups + from, b->keys + from, NULL, run};
        if (m->has_groups)
            check(f->build_items(dst, cap, &size, &m->params, &items, pane_seed, b->scratch), f, "building");
        else
            check(f->build(dst, cap, &size, &m->params, end_ms, b->times_ms + from, b->stream->values + from, run,
                           pane_seed, b->scratch),
                  f, "building");
        b->src[i] = (struct state_ref){dst, (uint32_t)size, end_ms};
    }
}

static struct state_ref merge(struct buffers *b, const struct measure *m, uint8_t *dst, const struct state_ref *src,
                              uint32_t k, uint64_t seed)
{
    const struct family_info *f = family_get(m->family);
    size_t size = 0;
    int64_t end_ms = src[k - 1].end_ms;
    check(f->merge_k(dst, f->size_bound(&m->params, STREAM_N), &size, &m->params, end_ms, src, k, seed, b->scratch), f,
          "merging");
    return (struct state_ref){dst, (uint32_t)size, end_ms};
}

/* Measures that read the same states. */
static bool is_same_state(const struct measure *a, const struct measure *b)
{
    return a->family == b->family && a->has_groups == b->has_groups && a->params.k == b->params.k &&
           a->params.p == b->params.p && a->params.depth == b->params.depth && a->params.width == b->params.width &&
           a->params.heap == b->params.heap && a->params.columns == b->params.columns;
}

typedef struct errors cut_errors[CUTS][FORMS];

static void read_form(const struct buffers *b, const struct measure *m, uint32_t m_n, uint32_t cut, uint32_t form,
                      const struct state_ref *src, uint32_t k, cut_errors *e)
{
    struct round r = {family_get(m->family), &m->params, b->stream, src, k, b->scratch};
    for (uint32_t i = 0; i < m_n; i++)
        if (m[i].streams >> b->kind & 1)
            m[i].errors(&r, &e[i][cut][form]);
}

/* One round of m_n measures of the same states, and one cut: errors of each form. */
static void run(struct buffers *b, const struct measure *m, uint32_t m_n, uint32_t cut, uint32_t round, cut_errors *e)
{
    uint32_t panes = cuts[cut];
    size_t whole = family_get(m->family)->size_bound(&m->params, STREAM_N);
    build_panes(b, m, panes, UINT64_C(0x9e3779b97f4a7c15) * (round + 1));
    read_form(b, m, m_n, cut, 0, b->src, panes, e);
    if (panes == 1)
        return;
    struct state_ref one = merge(b, m, b->merged, b->src, panes, round);
    read_form(b, m, m_n, cut, 1, &one, 1, e);
    if (groups[cut] == 0)
        return;
    uint32_t parts = panes / groups[cut];
    for (uint32_t i = 0; i < parts; i++)
        b->parts[i] = merge(b, m, b->part + i * whole, b->src + (size_t)i * groups[cut], groups[cut],
                            (uint64_t)round * PANES_MAX + i);
    one = merge(b, m, b->merged, b->parts, parts, round);
    read_form(b, m, m_n, cut, 2, &one, 1, e);
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct row summary(const struct measure *m, const char *stream, struct errors *e, uint32_t rounds)
{
    double squares = 0;
    uint32_t beyond = 0;
    qsort(e->v, e->n, sizeof *e->v, rising);
    for (uint32_t i = 0; i < e->n; i++) {
        squares += e->v[i] * e->v[i];
        beyond += e->v[i] > m->bound * (1 + 1e-9) + 1e-12;
    }
    struct row row = {.stream = stream,
                      .rms = sqrt(squares / e->n),
                      .p99 = e->v[(size_t)e->n * 99 / 100],
                      .most = e->v[e->n - 1],
                      .share = beyond / (double)e->n,
                      .is_there = true};
    if (m->failure == m->failure) /* a bound with a probability */
        row.is_broken = row.share > m->failure + SIGMAS * sqrt(m->failure * (1 - m->failure) / rounds);
    else
        row.is_broken = row.rms > m->bound * (1 + SIGMAS / sqrt(2.0 * rounds));
    return row;
}

static void print_row(const struct measure *m, uint32_t form, uint32_t panes, const struct row *r)
{
    printf("%-27s %-10s %5u  %-11s %10.3g %10.3g %10.3g", m->name, panes == 1 ? "build" : form_names[form], panes,
           r->stream, r->rms, r->p99, r->most);
    if (m->bound == m->bound)
        printf(" %10.3g %8.4f  %s\n", m->bound, r->share, r->is_broken ? "broken" : "ok");
    else
        printf(" %10s %8s\n", "-", "-");
}

/* Rows of one measure: of each form the worst of all streams and cuts, and the broken ones; or all. Returns how many
 * are broken. */
static uint32_t print_measure(const struct measure *m, struct row (*rows)[CUTS][FORMS], bool is_all)
{
    uint32_t broken = 0;
    for (uint32_t i = 0; i <= FORMS; i++) { /* one pane of everything is a form of its own: build */
        const struct row *worst = NULL;
        uint32_t at = i == 0 ? 0 : i - 1, first = i == 0 ? 0 : 1, end = i == 0 ? 1 : CUTS;
        for (uint32_t c = first; c < end; c++)
            for (uint32_t kind = 0; kind < STREAMS_N; kind++)
                if (rows[kind][c][at].is_there && (!worst || rows[kind][c][at].rms > worst->rms))
                    worst = &rows[kind][c][at];
        for (uint32_t c = first; c < end; c++)
            for (uint32_t kind = 0; kind < STREAMS_N; kind++) {
                const struct row *row = &rows[kind][c][at];
                if (row->is_there && (is_all || row->is_broken || row == worst))
                    print_row(m, at, cuts[c], row);
                broken += row->is_broken;
            }
    }
    return broken;
}

/* A small heap must not spoil what merging adds up: L2 of 20 panes merged, beside one build, of the worst stream. */
static void print_merged_l2(const struct measure *all, uint32_t all_n, struct row (*rows)[STREAMS_N][CUTS][FORMS])
{
    enum { WHOLE = 0, TWENTY = 2, MERGED = 1 };
    for (uint32_t m = 0; m < all_n; m++) {
        double built = 0, merged = 0;
        if (strcmp(all[m].name, "UnivMon 5x512/8: L2") != 0)
            continue;
        for (uint32_t kind = 0; kind < STREAMS_N; kind++) {
            built = fmax(built, rows[m][kind][WHOLE][0].rms);
            merged = fmax(merged, rows[m][kind][TWENTY][MERGED].rms);
        }
        printf("\nUnivMon of heap 8, rms error of L2, worst stream: one build %.4f, merged from %u panes %.4f, bound "
               "%.4f\n",
               built, cuts[TWENTY], merged, all[m].bound);
    }
}

static void run_stream(struct buffers *b, const struct measure *all, uint32_t all_n, const char *only,
                       enum stream_kind kind, uint32_t rounds, struct row (*rows)[STREAMS_N][CUTS][FORMS])
{
    static cut_errors errors[MEASURES_MAX];
    b->kind = kind;
    for (uint32_t round = 0; round < rounds; round++) {
        stream_fill(b->stream, kind, round + 1);
        for (uint32_t i = 0; i < STREAM_N; i++) {
            b->keys[i] = sketch_key(b->stream->values[i]);
            b->key_groups[i] = stream_group(b->stream->values[i]);
        }
        for (uint32_t m = 0, next; m < all_n; m = next) {
            bool is_wanted = false;
            for (next = m; next < all_n && is_same_state(&all[m], &all[next]); next++)
                is_wanted |= (all[next].streams >> kind & 1) && (!only || strstr(all[next].name, only));
            for (uint32_t c = 0; c < CUTS && is_wanted; c++)
                run(b, &all[m], next - m, c, round, &errors[m]);
        }
    }
    for (uint32_t m = 0; m < all_n; m++)
        for (uint32_t c = 0; c < CUTS; c++)
            for (uint32_t form = 0; form < FORMS; form++) {
                struct errors *e = &errors[m][c][form];
                if (e->n > 0)
                    rows[m][kind][c][form] = summary(&all[m], stream_names[kind], e, rounds);
                e->n = 0;
            }
}

int main(int argc, char **argv)
{
    long rounds = 10;
    bool is_all = false;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            is_all = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            rounds = 0;
    }
    if (rounds < 1 || rounds > 1000) {
        fprintf(stderr,
                "usage: accuracy_bench [--rounds N] [--all] [--only TEXT]   N: 1 to 1000, each with a seed of its "
                "own\n");
        return 2;
    }
    static struct row rows[MEASURES_MAX][STREAMS_N][CUTS][FORMS];
    uint32_t all_n, broken = 0;
    const struct measure *all = measures(&all_n);
    struct buffers b;
    make_buffers(&b, all, all_n);
    for (uint32_t kind = 0; kind < STREAMS_N; kind++)
        run_stream(&b, all, all_n, only, (enum stream_kind)kind, (uint32_t)rounds, rows);
    printf("%-27s %-10s %5s  %-11s %10s %10s %10s %10s %8s\n", "measure", "form", "panes",
           is_all ? "stream" : "worst of", "rms", "p99", "max", "bound", "beyond");
    for (uint32_t m = 0; m < all_n; m++)
        broken += print_measure(&all[m], rows[m], is_all);
    if (!only) {
        print_merged_l2(all, all_n, rows);
        broken += kll_table((uint32_t)rounds);
    }
    printf("%ld rounds of %d samples; %u bounds broken\n", rounds, STREAM_N, broken);
    return broken > 0;
}
