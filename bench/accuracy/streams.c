#include "bench/accuracy/streams.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const stream_names[STREAMS_N] = {
#define X(name, text) text,
    STREAM_LIST(X)
#undef X
};

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

/* One of the edges of 2 * most of DDSketch's buckets at 1 %, or the next double above it. */
static double edge(double most, uint64_t *state)
{
    double k = floor(unit(state) * 2 * most) - most, at = pow(1.01 / 0.99, k);
    return next_u64(state) & 1 ? at : nextafter(at, INFINITY);
}

/* 1e16, x, -1e16, y: what is left is the sum of the little ones. */
static double cancelling(uint32_t i, uint64_t *state)
{
    return i % 4 == 0 ? 1e16 : i % 4 == 2 ? -1e16 : lognormal(state);
}

static double draw(enum stream_kind kind, uint32_t i, uint64_t *state)
{
    switch (kind) {
    case STREAM_ZIPF:
        return zipf(state);
    case STREAM_CONSTANT:
        return 37.25;
    case STREAM_INTEGERS:
        return (double)(next_u64(state) % 1000);
    case STREAM_HEAVY_TAIL:
        return pow(1 - unit(state), -1 / 1.1); /* Pareto: no variance, almost no mean */
    case STREAM_ZOOM_IN:
        return i % 2 ? 2.0 * STREAM_N - i : i + 1;
    case STREAM_RUNS:
        return (STREAM_N / 1024 - i / 1024) * 1024.0 + i % 1024 + 1;
    case STREAM_EDGES:
        return edge(1000, state);
    case STREAM_WIDE_EDGES:
        return edge(3000, state);
    case STREAM_SEQUENTIAL:
        return i;
    case STREAM_MID_WEIGHT:
        return (double)(next_u64(state) % 600) + 1;
    case STREAM_CANCELLING:
        return cancelling(i, state);
    case STREAM_GREAT_MEAN:
        return 1e9 + (double)(next_u64(state) % 17);
    default:
        return lognormal(state);
    }
}

/* Adds v to high + low without losing bits (Knuth's two-sum, twice). */
static void add_exactly(double *high, double *low, double v)
{
    double sum = *high + v, back = sum - *high;
    double rest = (*high - (sum - back)) + (v - back) + *low;
    *high = sum + rest;
    *low = rest - (*high - sum);
}

static void take_moments(struct stream *s)
{
    double high = 0, low = 0, squares_high = 0, squares_low = 0;
    for (uint32_t i = 0; i < STREAM_N; i++) {
        add_exactly(&high, &low, s->values[i]);
        s->abs_sum += fabs(s->values[i]);
    }
    s->sum = high + low;
    s->mean = s->sum / STREAM_N;
    for (uint32_t i = 0; i < STREAM_N; i++) {
        /* The mean is a double; what it is off by is taken from the variance below. */
        double d = s->values[i] - s->mean, square = d * d;
        add_exactly(&squares_high, &squares_low, square);
        squares_low += fma(d, d, -square);
    }
    double off = ((high - s->mean * STREAM_N) - fma(s->mean, STREAM_N, -s->mean * STREAM_N) + low) / STREAM_N;
    s->variance = fmax(0, (squares_high + squares_low) / STREAM_N - off * off);
}

/* Sum of w v over sum of w^2, w the distance from the mean time: a multiple of a half, so exact. */
static void take_slope(struct stream *s)
{
    const double n = STREAM_N;
    double high = 0, low = 0;
    for (uint32_t i = 0; i < STREAM_N; i++) {
        double w = i - (n - 1) / 2, product = w * s->values[i];
        add_exactly(&high, &low, product);
        low += fma(w, s->values[i], -product);
    }
    s->slope = 1000 * (high + low) / (n * (n * n - 1) / 12);
}

static void take_counts(struct stream *s)
{
    static double falling[STREAM_N];
    for (uint32_t i = 0; i < STREAM_N; i++) {
        if (i == 0 || s->sorted[i] != s->sorted[i - 1])
            s->items[s->distinct++] = s->sorted[i];
        s->counts[s->distinct - 1]++;
    }
    for (uint32_t i = 0; i < s->distinct; i++) {
        double share = s->counts[i] / STREAM_N;
        s->l2 += s->counts[i] * s->counts[i];
        s->entropy -= share * log2(share);
        s->groups[stream_group(s->items[i])] += s->counts[i];
        falling[i] = -s->counts[i];
    }
    s->l2 = sqrt(s->l2);
    qsort(falling, s->distinct, sizeof *falling, rising);
    s->heaviest = -falling[s->distinct < STREAM_HEAVIEST ? s->distinct - 1 : STREAM_HEAVIEST - 1];
}

void stream_fill(struct stream *s, enum stream_kind kind, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < STREAM_N; i++)
        s->values[i] = draw(kind, i, &seed);
    memcpy(s->sorted, s->values, sizeof s->sorted);
    qsort(s->sorted, STREAM_N, sizeof *s->sorted, rising);
    for (uint32_t i = 0; i < STREAM_N && (kind == STREAM_RISING || kind == STREAM_FALLING); i++)
        s->values[i] = s->sorted[kind == STREAM_RISING ? i : STREAM_N - 1 - i];
    take_counts(s);
    take_moments(s);
    take_slope(s);
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

uint64_t stream_group(double item)
{
    uint64_t bits;
    memcpy(&bits, &item, 8);
    return bits * UINT64_C(0x9e3779b97f4a7c15) >> 58;
}

double stream_count(const struct stream *s, double item)
{
    const double *at = bsearch(&item, s->items, s->distinct, sizeof *s->items, rising);
    return at ? s->counts[at - s->items] : 0;
}
