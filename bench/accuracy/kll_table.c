#include "bench/accuracy/kll_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sketch.h"

enum { N = 12000, K = 200, RANKS = 99, PANES = 5, STATES_PER_ROUND = 10, ITEMS_AT = 28 };

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *room(size_t n)
{
    void *p = malloc(n);
    if (!p) {
        perror("accuracy_bench");
        exit(1);
    }
    return p;
}

/* A permutation of 0..N-1: a sample is its rank. */
static void shuffle(double *v, uint64_t *random)
{
    for (uint32_t i = 0; i < N; i++)
        v[i] = i;
    for (uint32_t i = N - 1; i > 0; i--) {
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t j = (uint32_t)((*random >> 32) * (i + 1) >> 32);
        double swap = v[i];
        v[i] = v[j];
        v[j] = swap;
    }
}

/* docs/FORMATS.md: byte 1 the levels, from 28 the items of each. */
static uint32_t retained(const uint8_t *state)
{
    uint32_t all = 0;
    for (uint32_t h = 0; h < state[1]; h++) {
        uint32_t items;
        memcpy(&items, state + ITEMS_AT + 4 * h, 4);
        all += items;
    }
    return all;
}

/* k at the top, 2/3 of the level above below it, at least 8: Karnin, Lang, Liberty, 2016, with c = 2/3. */
static double capacity(uint32_t levels)
{
    double all = 0, at = K;
    for (uint32_t h = 0; h < levels; h++, at *= 2 / 3.0)
        all += fmax(8, ceil(at));
    return all;
}

struct figures {
    double items, capacity, squares;
    double *errors;
    uint32_t n;
};

static void add_ranks(struct figures *f, const struct state_ref *src, uint32_t k, void *scratch)
{
    const struct family_info *kll = family_get(FAMILY_KLL);
    const struct sketch_params params = {.k = K};
    for (uint32_t i = 1; i <= RANKS; i++) {
        double q = i / 100.0, v, truth = q * (N - 1);
        if (kll->estimate(src, k, &params, STATISTIC_QUANTILE, &(struct sketch_args){.q = q}, scratch, &v) != SKETCH_OK)
            abort();
        double miss = fabs(v - truth) / N;
        f->squares += miss * miss;
        f->errors[f->n++] = miss;
    }
}

static uint32_t print(const char *name, const struct figures *f, uint32_t states)
{
    double bound = kll_rank_error(K), items = f->items / states, most = f->capacity / states;
    qsort(f->errors, f->n, sizeof *f->errors, rising);
    double p99 = f->errors[(size_t)f->n * 99 / 100];
    uint32_t broken = (items > most) + (p99 > bound);
    printf("%-34s %9.1f %9.1f %10.5f %10.5f %10.5f %10.5f  %s\n", name, items, most, sqrt(f->squares / f->n), p99,
           f->errors[f->n - 1], bound, broken ? "broken" : "ok");
    return broken;
}

uint32_t kll_table(uint32_t rounds)
{
    const struct family_info *kll = family_get(FAMILY_KLL);
    const struct sketch_params params = {.k = K};
    uint32_t states = rounds * STATES_PER_ROUND;
    size_t cap = kll->size_bound(&params, N);
    uint8_t *bytes = room(cap * PANES), *merged = room(cap);
    size_t built = kll->scratch_bound(&params, N, 0), read = kll->scratch_bound(&params, N, PANES);
    void *scratch = room(built > read ? built : read);
    double *v = room(N * sizeof *v);
    struct figures one = {.errors = room((size_t)states * RANKS * sizeof(double))},
                   joined = {.errors = room((size_t)states * RANKS * sizeof(double))};
    uint64_t random = 1;
    for (uint32_t s = 0; s < states; s++) {
        struct state_ref src[PANES];
        size_t size;
        shuffle(v, &random);
        if (kll->build(bytes, cap, &size, &params, 0, NULL, v, N, s, scratch) != SKETCH_OK)
            abort();
        one.items += retained(bytes);
        one.capacity += capacity(bytes[1]);
        src[0] = (struct state_ref){bytes, (uint32_t)size, 0};
        add_ranks(&one, src, 1, scratch);
        for (uint32_t i = 0; i < PANES; i++) {
            if (kll->build(bytes + i * cap, cap, &size, &params, i, NULL, v + i * (N / PANES), N / PANES, s * PANES + i,
                           scratch) != SKETCH_OK)
                abort();
            src[i] = (struct state_ref){bytes + i * cap, (uint32_t)size, i};
        }
        if (kll->merge_k(merged, cap, &size, &params, PANES, src, PANES, s, scratch) != SKETCH_OK)
            abort();
        joined.items += retained(merged);
        joined.capacity += capacity(merged[1]);
        add_ranks(&joined, &(struct state_ref){merged, (uint32_t)size, PANES}, 1, scratch);
    }
    printf("\n%-34s %9s %9s %10s %10s %10s %10s\n", "KLL k = 200, n = 12000, any order", "retained", "capacity",
           "rank rms", "p99", "max", "published");
    uint32_t broken = print("one build", &one, states) + print("merged from 5 panes", &joined, states);
    printf(
        "(capacity: the items that KLL's levels may hold; published: 2.296 / k^0.9723, the normalized rank error of\n"
        "one quantile at 99 %%; %u states, 99 quantiles each)\n",
        states);
    free(bytes);
    free(merged);
    free(scratch);
    free(v);
    free(one.errors);
    free(joined.errors);
    return broken;
}
