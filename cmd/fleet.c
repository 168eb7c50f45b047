#include "cmd/fleet.h"

#include <math.h>

#include "base/duration.h"

/* splitmix64's finalizer: one well mixed number for any two. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double uniform(uint64_t a, uint64_t b) /* in (0, 1) */
{
    return ((double)(mix(a, b) >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller's normal deviate from two uniform ones. */
static double normal(uint64_t a, uint64_t b)
{
    return sqrt(-2 * log(uniform(a, b))) * cos(2 * M_PI * uniform(b, a + 1));
}

static double decimals3(double v)
{
    return round(v * 1000) / 1000;
}

void fleet_labels(const struct fleet_metric *m, uint32_t i, struct arena *a, struct labels *ret)
{
    struct label pairs[FLEET_LABELS_MAX + 2];
    uint32_t n = 0, rest = i;
    *ret = (struct labels){0};
    pairs[n++] = (struct label){STR(LABEL_NAME), str_of(m->name)};
    for (uint32_t k = m->labels_n; k-- > 0;) {
        const struct fleet_label *l = &m->labels[k];
        const char *value = arena_printf(a, "%s-%u", l->name, rest % l->values_n);
        pairs[n++] = (struct label){str_of(l->name), str_of(value)};
        rest /= l->values_n;
    }
    if (rest > 0)
        pairs[n++] = (struct label){STR("series"), str_of(arena_printf(a, "%u", rest))};
    labels_sort(pairs, n);
    struct label *copy = arena_dup(a, pairs, n * sizeof *pairs);
    if (copy)
        *ret = (struct labels){copy, n};
}

double fleet_value(const struct fleet_metric *m, uint32_t i, int64_t time_ms)
{
    const int64_t day_ms = 86400000;
    uint64_t series = mix(i, (uint64_t)m->kind), at = (uint64_t)time_ms;
    double own = uniform(series, 1), phase = 2 * M_PI * uniform(series, 2);
    double wave = sin(2 * M_PI * (double)floor_mod(time_ms, 1200000) / 1200000 + phase);
    switch (m->kind) {
    case FLEET_LATENCY:
        return decimals3((10 + 40 * own) * exp(0.6 * normal(series, at) + 0.3 * wave));
    case FLEET_RATIO:
        return decimals3(fmin(1, fmax(0, 0.2 + 0.5 * own + 0.2 * wave + 0.05 * normal(series, at))));
    default: {
        /* The integral of a rate that swings between half and one and a half of its mean. */
        double t = (double)floor_mod(time_ms + (int64_t)(own * (double)day_ms), day_ms) / 1000;
        double rate = 1 + 50 * own, period = 600 / (2 * M_PI);
        return floor(rate * (t + 0.5 * period * sin(t / period)));
    }
    }
}
