/* Sound histograms at random, and how they change from scrape to scrape. Draws from lrand48. */
#ifndef TESTS_BASE_HISTOGRAMS_H
#define TESTS_BASE_HISTOGRAMS_H

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/histogram_exact.h"

static inline uint64_t double_bits(double v)
{
    return load_u64(&v);
}

static inline unsigned draw_below(unsigned n)
{
    return (unsigned)lrand48() % n;
}

static inline uint64_t draw_u64(void)
{
    uint64_t v = (uint64_t)lrand48() << 42 ^ (uint64_t)lrand48() << 21 ^ (uint64_t)lrand48();
    return v >> draw_below(64);
}

enum { MADE_BUCKETS_MAX = 70 };
struct made_histogram {
    struct histogram_exact h;
    struct histogram_span spans[2][MADE_BUCKETS_MAX];
    uint64_t counts[2][MADE_BUCKETS_MAX];
    double custom[MADE_BUCKETS_MAX];
};

static inline double made_count(void)
{
    static const double some[] = {0, 1, 0.1, 1e300, DBL_MIN, 5e-324};
    return draw_below(3) ? (double)draw_u64() / 3 : some[draw_below(6)];
}

static inline void made_side(struct made_histogram *m, int side, struct histogram_exact_side *ret)
{
    uint32_t n = 0;
    ret->spans_n = draw_below(5);
    for (uint32_t i = 0; i < ret->spans_n; i++) {
        uint32_t length = draw_below(3) ? draw_below(4) : draw_below(17);
        bool may_fall = i == 0 && m->h.schema != HISTOGRAM_SCHEMA_CUSTOM;
        m->spans[side][i] = (struct histogram_span){(int32_t)draw_below(6) - (may_fall ? 4000 : 0), length};
        n += length;
    }
    for (uint32_t i = 0; i < n; i++)
        m->counts[side][i] = m->h.floats ? double_bits(made_count()) : draw_u64() >> 8;
    ret->spans = m->spans[side];
    ret->counts = m->counts[side];
    ret->counts_n = n;
}

static inline void made_add_up(struct made_histogram *m)
{
    if (m->h.floats)
        return;
    m->h.count = m->h.zero_count;
    for (uint32_t i = 0; i < m->h.negative.counts_n; i++)
        m->h.count += m->counts[0][i];
    for (uint32_t i = 0; i < m->h.positive.counts_n; i++)
        m->h.count += m->counts[1][i];
    if (isnan(m->h.sum))
        m->h.count += draw_below(2) ? draw_below(1000) : 0;
}

static inline void made_make(struct made_histogram *m)
{
    memset(m, 0, sizeof *m);
    bool custom = !draw_below(4);
    struct histogram_exact *h = &m->h;
    h->schema = custom ? HISTOGRAM_SCHEMA_CUSTOM : (int32_t)draw_below(13) - 4;
    h->floats = draw_below(2);
    h->reset = (enum histogram_reset)draw_below(4);
    uint64_t sum = draw_below(4) ? double_bits(made_count()) : draw_u64();
    h->sum = draw_below(8) ? load_f64(&sum) : (double)NAN;
    if (!custom) {
        h->zero_threshold = draw_below(2) ? 0x1p-128 : made_count();
        h->zero_count = h->floats ? double_bits(made_count()) : draw_u64() >> 8;
        made_side(m, 0, &h->negative);
    }
    made_side(m, 1, &h->positive);
    if (custom) {
        h->custom = m->custom;
        h->custom_n = MADE_BUCKETS_MAX - 1;
        for (uint32_t i = 0; i < h->custom_n; i++)
            m->custom[i] = i * 0.1 - 3;
    }
    if (h->floats)
        h->count = double_bits(made_count());
    made_add_up(m);
}

/* As scrapes differ: most buckets a little more, sometimes all anew, a stop, a reset. */
static inline void made_change(struct made_histogram *m)
{
    unsigned how = draw_below(12);
    if (how == 0) {
        made_make(m);
        return;
    }
    m->h.reset = draw_below(8) ? m->h.reset : (enum histogram_reset)draw_below(4);
    m->h.sum += made_count();
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < MADE_BUCKETS_MAX; i++)
            if (m->h.floats)
                m->counts[side][i] = draw_below(3) ? m->counts[side][i] : double_bits(made_count());
            else
                m->counts[side][i] =
                    how == 1 ? draw_below(3) : m->counts[side][i] + (how == 2 ? 1000000 : draw_below(how));
    made_add_up(m);
}

/* A copy that points to itself. */
static inline void made_copy(struct made_histogram *to, const struct made_histogram *from)
{
    *to = *from;
    to->h.negative.spans = to->spans[0], to->h.positive.spans = to->spans[1];
    to->h.negative.counts = to->counts[0], to->h.positive.counts = to->counts[1];
    to->h.custom = to->h.custom_n ? to->custom : NULL;
}

#endif
