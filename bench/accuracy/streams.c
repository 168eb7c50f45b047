#include "bench/accuracy/streams.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const stream_names[STREAMS_N] = {"lognormal",  "zipf 1.1", "constant",   "integers",
                                             "heavy tail", "sorted",   "adversarial"};

enum { ZIPF_ITEMS = 20000 };

static uint64_t next_u64(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators) */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double unit(uint64_t *state)
{
    return (double)(next_u64(state) >> 11) * 0x1p-53;
}

static double lognormal(uint64_t *state)
{
    double normal = sqrt(-2 * log(1 - unit(state))) * cos(6.283185307179586 * unit(state));
    return round(exp(3 + normal) * 1000) / 1000;
}

static double zipf(uint64_t *state)
{
    static double sums[ZIPF_ITEMS];
    for (uint32_t i = 0; sums[ZIPF_ITEMS - 1] == 0 && i < ZIPF_ITEMS; i++)
        sums[i] = (i ? sums[i - 1] : 0) + pow(i + 1, -1.1);
    double at = unit(state) * sums[ZIPF_ITEMS - 1];
    uint32_t low = 0, high = ZIPF_ITEMS - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sums[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * Adversarial: what each sketch likes least, in turns. Runs that rise within a block and lie below all that came before
 * (KLL's levels meet in order), values on bucket edges far apart (DDSketch), and light items that come once each beside
 * one that is everywhere (counters).
 */
static double adversarial(uint32_t i)
{
    uint32_t block = i / 1024, at = i % 1024;
    switch (i % 4) {
    case 0:
        return 1e6 / (block + 1) + at;
    case 1:
        return pow(1.02, (i / 4) % 700);
    case 2:
        return 1e7 + i;
    default:
        return 42;
    }
}

static double draw(uint32_t kind, uint32_t i, uint64_t *state)
{
    switch (kind) {
    case 1:
        return zipf(state);
    case 2:
        return 37.25;
    case 3:
        return (double)(next_u64(state) % 1000);
    case 4:
        return pow(1 - unit(state), -1 / 1.1); /* Pareto: no variance, almost no mean */
    case 6:
        return adversarial(i);
    default:
        return lognormal(state);
    }
}

void stream_fill(struct stream *s, uint32_t kind, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < STREAM_N; i++)
        s->values[i] = draw(kind, i, &seed);
    memcpy(s->sorted, s->values, sizeof s->sorted);
    qsort(s->sorted, STREAM_N, sizeof *s->sorted, rising);
    if (kind == 5)
        memcpy(s->values, s->sorted, sizeof s->values);
    for (uint32_t i = 0; i < STREAM_N; i++) {
        if (i == 0 || s->sorted[i] != s->sorted[i - 1])
            s->items[s->distinct++] = s->sorted[i];
        s->counts[s->distinct - 1]++;
    }
    for (uint32_t i = 0; i < s->distinct; i++) {
        double share = s->counts[i] / STREAM_N;
        s->l2 += s->counts[i] * s->counts[i];
        s->entropy -= share * log2(share);
    }
    s->l2 = sqrt(s->l2);
}

double stream_quantile(const struct stream *s, double q)
{
    double rank = q * (STREAM_N - 1), low = floor(rank);
    uint32_t at = (uint32_t)low, next = at + 1 < STREAM_N ? at + 1 : at;
    return s->sorted[at] * (1 - (rank - low)) + s->sorted[next] * (rank - low);
}

/* Samples below v, or at most v. */
static uint32_t below(const struct stream *s, double v, bool or_equal)
{
    uint32_t low = 0, high = STREAM_N;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->sorted[middle] < v || (or_equal && s->sorted[middle] == v))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double stream_rank_error(const struct stream *s, double v, double q)
{
    double low = below(s, v, false) / (double)STREAM_N, high = below(s, v, true) / (double)STREAM_N;
    double miss = q < low ? low - q : q > high ? q - high : 0;
    return miss < 1.0 / STREAM_N ? 0 : miss; /* interpolation lies between neighbours */
}
