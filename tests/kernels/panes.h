/*
 * One series cut into panes: what the suites of the fixed-size families share. A stream's samples are split at random
 * into runs; each run becomes a state of the window that ends somewhere between its last sample and the next run's
 * first.
 */
#ifndef TESTS_KERNELS_PANES_H
#define TESTS_KERNELS_PANES_H

#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/families.h"
#include "random.h"

enum { PANES_MAX = 64, PANES_SAMPLES_MAX = 600, PANES_STATE_BYTES = 64 };

static const struct sketch_params panes_no_params;

struct panes {
    uint8_t bytes[PANES_MAX][PANES_STATE_BYTES];
    struct state_ref ref[PANES_MAX];
    uint32_t k;
    uint64_t scratch[PANES_MAX];
};

static inline void panes_add(struct panes *p, const struct family_info *f, int64_t end_ms, const int64_t *times_ms,
                             const double *values, uint32_t n)
{
    size_t size = 0;
    ck_assert_uint_lt(p->k, PANES_MAX);
    ck_assert_int_eq(
        f->build(p->bytes[p->k], PANES_STATE_BYTES, &size, &panes_no_params, end_ms, times_ms, values, n, 0, NULL),
        SKETCH_OK);
    ck_assert_uint_eq(size, f->fixed_size);
    const char *reason = NULL;
    ck_assert_msg(f->validate(p->bytes[p->k], size, &panes_no_params, &reason) == SKETCH_OK, "%s", reason);
    p->ref[p->k] = (struct state_ref){p->bytes[p->k], (uint32_t)size, end_ms};
    p->k++;
}

/* Panes of at most about 2 n / k samples each, together all n. */
static inline void panes_split(struct panes *p, uint64_t *s, const struct family_info *f, const int64_t *times_ms,
                               const double *values, uint32_t n)
{
    uint32_t mean = n / 24 + 1;
    p->k = 0;
    for (uint32_t at = 0, run; at < n; at += run) {
        run = 1 + random_below(s, 2 * mean);
        if (run > n - at || p->k + 1 == PANES_MAX)
            run = n - at;
        int64_t last = times_ms[at + run - 1], slack = at + run < n ? times_ms[at + run] - last : 1000;
        panes_add(p, f, last + random_below(s, (uint32_t)slack), times_ms + at, values + at, run);
    }
}

static inline void panes_shuffle(struct panes *p, uint64_t *s)
{
    for (uint32_t i = p->k; i > 1; i--) {
        uint32_t j = random_below(s, i);
        struct state_ref keep = p->ref[i - 1];
        p->ref[i - 1] = p->ref[j];
        p->ref[j] = keep;
    }
}

/* The merge of ref[from..to) as one valid state in dst. */
static inline void panes_merge(struct panes *p, const struct family_info *f, uint8_t *dst, int64_t end_ms,
                               uint32_t from, uint32_t to)
{
    size_t size = 0;
    const char *reason = NULL;
    ck_assert_uint_le(f->scratch_bound(&panes_no_params, 0, p->k), sizeof p->scratch);
    ck_assert_int_eq(
        f->merge_k(dst, PANES_STATE_BYTES, &size, &panes_no_params, end_ms, p->ref + from, to - from, 0, p->scratch),
        SKETCH_OK);
    ck_assert_uint_eq(size, f->fixed_size);
    ck_assert_msg(f->validate(dst, size, &panes_no_params, &reason) == SKETCH_OK, "%s", reason);
}

static inline int panes_estimate(struct panes *p, const struct family_info *f, enum statistic statistic,
                                 const struct sketch_args *args, double *ret)
{
    return f->estimate(p->ref, p->k, &panes_no_params, statistic, args, p->scratch, ret);
}

/* The estimate, which must exist. */
static inline double panes_read(struct panes *p, const struct family_info *f, enum statistic statistic,
                                const struct sketch_args *args)
{
    double v = 0;
    ck_assert_int_eq(panes_estimate(p, f, statistic, args, &v), SKETCH_OK);
    return v;
}

/* Equal, both NaN, or within `relative` of the larger. */
static inline bool panes_near(double a, double b, double relative)
{
    if (a == b || (a != a && b != b))
        return true;
    return fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

/*
 * What holds of every family: merging gives the same bytes for any order of its inputs, and the merge reads as the
 * panes it was made of.
 */
static inline void panes_check_merge(struct panes *p, uint64_t *s, const struct family_info *f,
                                     const struct sketch_args *args, double relative)
{
    uint8_t once[PANES_STATE_BYTES], again[PANES_STATE_BYTES];
    panes_merge(p, f, once, args->end_ms, 0, p->k);
    for (unsigned round = 0; round < 4; round++) {
        panes_shuffle(p, s);
        panes_merge(p, f, again, args->end_ms, 0, p->k);
        ck_assert_mem_eq(once, again, f->fixed_size);
    }
    struct panes merged = {.k = 1, .ref = {{once, f->fixed_size, args->end_ms}}};
    for (uint32_t i = 0; i < f->readouts_n; i++) {
        double from_panes = 0, from_merge = 0;
        enum statistic statistic = f->readouts[i].statistic;
        int rc = panes_estimate(p, f, statistic, args, &from_panes);
        ck_assert_int_eq(panes_estimate(&merged, f, statistic, args, &from_merge), rc);
        ck_assert_msg(rc == SKETCH_NONE || panes_near(from_panes, from_merge, relative), "%s %u: %.17g, merged %.17g",
                      f->name, statistic, from_panes, from_merge);
    }
}

#endif
