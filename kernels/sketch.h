/*
 * The family table: what a state is, who may merge it, and what can be read out of it. Planner rules, coverage and
 * executor all read this one table; an unknown family or a pair that is not listed fails closed.
 *
 * A kernel family is a set of pure functions over flat bytes. The caller owns all memory: no allocation, no I/O, no
 * locks, no logging. States are the same bytes in memory and on disk (little-endian; each family's byte table stands at
 * the head of its own file) and may be read from any address (variable-size ones are byte-packed). Estimation takes k
 * panes, not one merged state; merge_k is only for results that are stored.
 *
 * Every function is reentrant and thread-safe. Results are bit-equal on every machine and at every ISA level: the
 * scalar code is the definition.
 */
#ifndef KERNELS_SKETCH_H
#define KERNELS_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 or the negative base/err.h code of the same name; kernels name only these (a test keeps them equal to base/err.h).
 */
enum {
    SKETCH_OK = 0,
    SKETCH_NONE = 1,      /* estimate only: the statistic has no value here (e.g. rate of one sample) */
    SKETCH_BAD_DATA = -1, /* parameters or arguments out of range: see `reason` of check_params */
    SKETCH_CORRUPT = -12, /* a state that validate would refuse */
    SKETCH_NO_ROOM = -16, /* dst or scratch too small */
    SKETCH_MISMATCH = -17 /* states built with different parameters */
};

/* How inputs of a merge must relate (design: coverage). */
enum merge_rule {
    MERGE_NONE = 1,      /* no merge at all */
    MERGE_DISJOINT,      /* each sample in at most one input */
    MERGE_DISJOINT_TIME, /* and the inputs one after the other in time */
    MERGE_MAY_OVERLAP    /* idempotent */
};

/* Error of a readout over a merge, against the same family built over the union. */
enum merged_error { MERGED_EXACT = 1, MERGED_AS_UNION, MERGED_APPROXIMATE };

/* X(NAME, "keyword", statistic's PromQL function or "") */
#define STATISTIC_LIST(X)                                                                                              \
    X(SUM, "sum", "sum_over_time")                                                                                     \
    X(COUNT, "count", "count_over_time")                                                                               \
    X(AVG, "avg", "avg_over_time")                                                                                     \
    X(MIN, "min", "min_over_time")                                                                                     \
    X(MAX, "max", "max_over_time")                                                                                     \
    X(PRESENT, "present", "present_over_time")                                                                         \
    X(STDDEV, "stddev", "stddev_over_time")                                                                            \
    X(STDVAR, "stdvar", "stdvar_over_time")                                                                            \
    X(RATE, "rate", "rate")                                                                                            \
    X(INCREASE, "increase", "increase")                                                                                \
    X(DELTA, "delta", "delta")                                                                                         \
    X(IRATE, "irate", "irate")                                                                                         \
    X(IDELTA, "idelta", "idelta")                                                                                      \
    X(CHANGES, "changes", "changes")                                                                                   \
    X(RESETS, "resets", "resets")                                                                                      \
    X(FIRST, "first", "first_over_time")                                                                               \
    X(LAST, "last", "last_over_time")                                                                                  \
    X(QUANTILE, "quantile", "quantile_over_time") /* rank q(n-1), interpolated, as Prometheus */                       \
    X(QUANTILE_RANK, "quantile_rank", "")         /* the max(1, ceil(q n))-th smallest */                              \
    X(DISTINCT, "distinct", "distinct_over_time")                                                                      \
    X(L1, "l1", "")                   /* sum of all items' weights (nothing is below zero where it is offered) */      \
    X(L2, "l2", "")                   /* root of the sum of squares of each item's weight */                           \
    X(ENTROPY, "entropy", "")         /* bits, of the items' shares of L1 */                                           \
    X(POINT_COUNT, "point_count", "") /* weight of the item args->key (in args->group) */                              \
    X(TOPK, "topk", "")               /* the heaviest items: a list, so `top` reads it, not `estimate` */              \
    X(DERIV, "deriv", "deriv")        /* slope of the least-squares line, per second */                                \
    X(PREDICT_LINEAR, "predict_linear", "predict_linear") /* the line's value args->ahead_s after the window's end */

enum statistic {
    STATISTIC_INVALID = 0,
#define X(name, keyword, fn) STATISTIC_##name,
    STATISTIC_LIST(X)
#undef X
        STATISTIC_END
};

/* X(NAME, "keyword") in the order of their stable numbers (block header field `family`): append only. */
#define FAMILY_LIST(X)                                                                                                 \
    X(SUM, "sum") /* sum, count, avg, present: compensated sum and n */                                                \
    X(MIN, "min")                                                                                                      \
    X(MAX, "max")                                                                                                      \
    X(COUNT, "count")                         /* n alone: count, present */                                            \
    X(MOMENTS, "moments")                     /* stddev, stdvar by Welford / Chan */                                   \
    X(COUNTER, "counter")                     /* first, previous, last, resets: the rate family */                     \
    X(KLL, "kll")                             /* quantiles, rank error; exact while n <= k */                          \
    X(DDSKETCH, "ddsketch")                   /* quantiles, relative error */                                          \
    X(HLL, "hll")                             /* distinct values */                                                    \
    X(VALUES, "values")                       /* exact multiset: quantiles */                                          \
    X(CMS, "cms")                             /* items' weights by Count-Min: whole, not negative */                   \
    X(COUNTSKETCH, "countsketch")             /* by CountSketch: any weights; L2 */                                    \
    X(CMS_HEAP, "cms_heap")                   /* and the heaviest items */                                             \
    X(COUNTSKETCH_HEAP, "countsketch_heap")   /* and the heaviest items */                                             \
    X(KMV, "kmv")                             /* distinct items by the k least hashes */                               \
    X(UNIVMON, "univmon")                     /* L1, L2, distinct, entropy, heaviest items from one state */           \
    X(HYDRA_CMS, "hydra_cms")                 /* many groups' items in one grid of Count-Min sketches */               \
    X(HYDRA_COUNTSKETCH, "hydra_countsketch") /* of CountSketches */                                                   \
    X(HYDRA_KLL, "hydra_kll")                 /* a grid of KLLs cannot be merged: a row that refuses */                \
    X(REGRESSION, "regression")               /* deriv, predict_linear by centred co-moments */                        \
    X(DISTINCT_SET, "distinct_set")           /* exact set: distinct values */

enum family {
    FAMILY_INVALID = 0,
#define X(name, keyword) FAMILY_##name,
    FAMILY_LIST(X)
#undef X
        FAMILY_END
};

/* Parameters of a view's states. Unused ones are 0, so that two families' parameters compare by value. */
struct sketch_params {
    uint32_t k;        /* KLL: 8..65535; KMV: 16..65536 */
    uint32_t max_bins; /* DDSKETCH: bins kept in all before the lowest collapse; 0 = 2048; 16..65536 */
    double alpha;      /* DDSKETCH: relative error, 1e-6 <= alpha < 1 */
    uint32_t p;        /* HLL: precision 4..18 */
    /* CMS, COUNTSKETCH, UNIVMON, HYDRA. See kernels/frequency.h for their ranges. */
    uint32_t depth, width;  /* rows of counters, counters a row */
    uint32_t heap;          /* CMS_HEAP, COUNTSKETCH_HEAP, UNIVMON: heaviest items kept */
    uint32_t rows, columns; /* HYDRA: the grid of sketches that groups are hashed to */
};

/*
 * A batch of (item, weight). An item is a u64 that the caller chose: a sample value's bits, or the hash of a label
 * value (taken once per series). Families hash it again with the sketch seed, so nothing is asked of its bits.
 */
struct sketch_items {
    const uint64_t *groups; /* HYDRA only; NULL = all items in group 0 */
    const uint64_t *keys;
    const double *weights; /* NULL = 1 each */
    uint32_t n;
};

/* One pane's state as a readout sees it. `bytes` is borrowed; any alignment. */
struct state_ref {
    const uint8_t *bytes;
    uint32_t size;
    int64_t end_ms; /* the pane's window end: states hold times relative to it */
};

struct sketch_args {
    int64_t start_ms, end_ms; /* the window (start, end] of the readout, for the extrapolating statistics */
    double q;                 /* quantiles */
    double ahead_s;           /* PREDICT_LINEAR: seconds from end_ms to the time predicted for */
    uint64_t key;             /* point counts: the item (for sample values: sketch_key) */
    uint64_t group;           /* HYDRA: the group */
};

/* Bits of a state, also OR-ed into its block's header flags. */
enum { STATE_NONFINITE = 1, STATE_COLLAPSED = 2 };

struct family_readout {
    enum statistic statistic;
    enum merged_error merged;
};

struct family_info {
    enum family family;
    const char *name;
    enum merge_rule merge;
    bool subtracts;      /* a window may be the difference of two states */
    bool time_ordered;   /* states reduce per series only */
    uint32_t fixed_size; /* bytes of every state, a multiple of 8; 0 = variable */
    const struct family_readout *readouts;
    uint32_t readouts_n;

    /* 0, or SKETCH_BAD_DATA with *reason a static sentence. */
    int (*check_params)(const struct sketch_params *params, const char **reason);
    /* Most bytes of a state of n samples (n may be UINT32_MAX: the worst of all). */
    size_t (*size_bound)(const struct sketch_params *params, uint64_t n);
    /* Scratch bytes that build (k = 0), merge_k and estimate need for n samples in all over k states; 16-aligned by the
     * caller. */
    size_t (*scratch_bound)(const struct sketch_params *params, uint64_t n, uint32_t k);
    /*
     * State of the samples (times_ms[i], values[i]), i < n, times strictly rising, within (end - 24 days, end]; no
     * stale markers among them. n == 0 is SKETCH_BAD_DATA: an absent state is an absent bit, never a state. `seed`
     * drives KLL's random offsets and HLL's hash (the sketch seed there).
     */
    int (*build)(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                 const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch);
    /* One state for window end `end_ms` over k >= 1 states in any order; the same bytes for any order. */
    int (*merge_k)(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                   const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch);
    /* One number over k >= 0 states without a merge. SKETCH_NONE when there is no value. */
    int (*estimate)(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                    enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret);
    /* Is this byte run a state of these parameters, safe for every function above? Never reads past n bytes.
     * 0, or SKETCH_CORRUPT with *reason a static sentence. */
    int (*validate)(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason);
    /* As build, of keyed items; a value v builds as the item sketch_key(v) of weight 1. NULL where items mean nothing.
     * SKETCH_BAD_DATA for weights the family cannot hold (see its file), and whenever sums would pass 2^62. */
    int (*build_items)(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                       const struct sketch_items *items, uint64_t seed, void *scratch);
    /* The heaviest items over k >= 0 states, at most `most` (room of both arrays): heaviest first, ties by rising key.
     * NULL where the family keeps none. */
    int (*top)(const struct state_ref *src, uint32_t k, const struct sketch_params *params, uint32_t most,
               uint64_t *ret_keys, double *ret_estimates, uint32_t *ret_n, void *scratch);
    uint32_t (*flags)(const uint8_t *bytes, size_t n); /* STATE_*; on a validated state */
    /* Samples behind it; 0 where the family does not know (min, max, hll, kmv); distinct_set: its values, which are no
     * more. What size_bound and scratch_bound take is the sum of these. */
    uint64_t (*count)(const uint8_t *bytes, size_t n);
};

/* The item of a sample value: its bits, -0 as +0 and all NaNs as one. */
uint64_t sketch_key(double value);

const struct family_info *family_get(enum family family); /* NULL for unknown */
const struct family_info *family_by_name(const char *name, size_t n);
/* The row's readout of `statistic`, or NULL. */
const struct family_readout *family_readout(const struct family_info *f, enum statistic statistic);
const char *statistic_name(enum statistic s); /* keyword; "" for unknown */
enum statistic statistic_by_name(const char *name, size_t n);
const char *statistic_function(enum statistic s); /* PromQL function; "" if none */
enum statistic statistic_by_function(const char *name, size_t n);
const char *merge_rule_name(enum merge_rule r);
const char *merged_error_name(enum merged_error e);

/* Guarantees behind parameters (NaN outside their range), and the least parameters for a target. */
double kll_rank_error(uint32_t k);               /* 99 %, one quantile, single-sided: 2.296 / k^0.9723 */
uint32_t kll_k_for_rank_error(double error);     /* least k in 8..65535; 0 = none */
double hll_standard_error(uint32_t p);           /* 1.04 / sqrt(2^p) */
uint32_t hll_p_for_standard_error(double error); /* least p in 4..18; 0 = none */
/* 1 / sqrt(k - 2): Beyer, Haas, Reinwald, Sismanis, Gemulla: On Synopses for Distinct-Value Estimation Under Multiset
 * Operations, 2007, section 4 */
double kmv_standard_error(uint32_t k);
uint32_t kmv_k_for_standard_error(double error); /* least k in 16..65536; 0 = none */
/* Cormode, Muthukrishnan: An Improved Data Stream Summary: The Count-Min Sketch, 2005, theorem 1: a point count is
 * never too small and exceeds the truth by more than (e / width) L1 with probability at most e^-depth. */
double cms_error(uint32_t width);
double cms_failure(uint32_t depth);
uint32_t cms_width_for_error(double error);     /* least width in 8..2^22; 0 = none */
uint32_t cms_depth_for_failure(double failure); /* least depth in 1..16; 0 = none */
/*
 * Charikar, Chen, Farach-Colton: Finding Frequent Items in Data Streams, 2002. One row misses by more than
 * sqrt(3 / width) L2 with probability at most 1/3 (Chebyshev: its variance is at most L2^2 / width); the median of an
 * odd depth misses only when more than half of the rows do: a binomial tail, which this gives exactly.
 */
double countsketch_error(uint32_t width);
double countsketch_failure(uint32_t depth);
uint32_t countsketch_width_for_error(double error);     /* least width in 8..2^22; 0 = none */
uint32_t countsketch_depth_for_failure(double failure); /* least odd depth in 1..15; 0 = none */
/*
 * L2 of all items, relative, from a CountSketch or from a UnivMon's level 0. A row's sum of squares is L2^2 on average
 * and its variance at most 2 L2^4 / width (Thorup, Zhang: Tabulation Based 4-Universal Hashing with Applications to
 * Second Moment Estimation, 2004, after Alon, Matias, Szegedy, 1996), so a row misses L2^2 by more than e^2 L2^2 with
 * probability p at most, where e^2 = sqrt(2 / (width p)) (Chebyshev); their median misses when half of them do. p is
 * the greatest that keeps that within `failure`. The root of what is too small by a share is too small by more than
 * half of it: 1 - sqrt(1 - e^2). NaN: there is no bound, or a parameter is out of range.
 */
double countsketch_l2_error(uint32_t width, uint32_t depth, double failure);
/* The fewest counters that meet both, at most `cells_max` of them; the depth is odd. False: none do. */
bool countsketch_l2_shape(double error, double failure, uint32_t cells_max, uint32_t *ret_width, uint32_t *ret_depth);

#endif
