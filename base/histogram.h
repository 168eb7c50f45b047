/*
 * A native histogram sample as evaluation sees it: counts as doubles, whatever they were on the wire (as Prometheus'
 * FloatHistogram). Shape and meaning are those of Prometheus' native histograms:
 *
 *   schema -4..8   bucket i on the positive side is (base^(i-1), base^i] with base = 2^(2^-schema), the negative side
 *                  mirrors it as [-base^i, -base^(i-1)); observations of |v| <= zero_threshold are in the zero bucket
 *   schema -53     custom buckets: bucket i is (custom[i-1], custom[i]], the first begins at -Inf and the last ends at
 *                  +Inf; no negative side and no zero bucket
 *   spans          runs of consecutive buckets; the first span's offset is the index of its first bucket (0-based for
 *                  custom buckets), each further offset is the gap after the run before it
 *
 * Immutable once made; everything it points to lives as long as it does (an arena's). All functions are pure and may
 * run on several threads; a histogram handed to them is sound (histogram_exact_fault) but for negative counts, or was
 * made by one of them, so indices are within +-HISTOGRAM_INDEX_MAX. No cost depends on an index, only on the number of
 * buckets.
 *
 * What each function does is what Prometheus 3 does with the same sample, to the bit where its result is exact; the
 * conformance files and Prometheus itself are the judges. Where Prometheus adds an annotation a `notes` bit is set.
 * A function that returns a histogram returns NULL when its arena is at its limit (the arena remembers), and where its
 * comment says so.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct arena;
struct strbuf;

enum {
    HISTOGRAM_SCHEMA_MIN = -4,
    HISTOGRAM_SCHEMA_MAX = 8,
    HISTOGRAM_SCHEMA_CUSTOM = -53,
    HISTOGRAM_BUCKETS_MAX = 65536, /* of one side, and of custom bounds: limits what a sender can make us hold */
    HISTOGRAM_INDEX_MAX = 1 << 30  /* far past every bound a double has; keeps each gap within an int32 */
};

/* What the sender says of the step from the sample before (the numbers of the wire). */
enum histogram_reset { HISTOGRAM_RESET_UNKNOWN = 0, HISTOGRAM_RESET_YES, HISTOGRAM_RESET_NO, HISTOGRAM_GAUGE };

struct histogram_span {
    int32_t offset;
    uint32_t length;
};
struct histogram_side {
    const struct histogram_span *spans;
    const double *counts; /* absolute, of each bucket in the spans */
    uint32_t spans_n, counts_n;
};
struct histogram {
    int32_t schema;
    enum histogram_reset reset;
    double zero_threshold, zero_count, count, sum;
    struct histogram_side positive, negative;
    const double *custom; /* upper bounds, rising; the last +Inf is not in it */
    uint32_t custom_n;
};

static inline bool histogram_is_custom(const struct histogram *h)
{
    return h->schema == HISTOGRAM_SCHEMA_CUSTOM;
}

/* ---- What a result has to say besides its value: one bit for each of Prometheus' annotations. ---- */
enum histogram_note {
    HISTOGRAM_INCOMPATIBLE = 1 << 0,  /* exponential met custom buckets: there is no result (warning) */
    HISTOGRAM_NOT_COUNTER = 1 << 1,   /* rate, increase: a gauge histogram among the samples (warning) */
    HISTOGRAM_NOT_GAUGE = 1 << 2,     /* delta, idelta: first or last is no gauge histogram (warning) */
    HISTOGRAM_RESETS_IN_ADD = 1 << 3, /* "conflicting counter resets during histogram addition" (warning) */
    HISTOGRAM_RESETS_IN_SUB = 1 << 4, /* ... subtraction */
    HISTOGRAM_RESETS_IN_AGG = 1 << 5, /* ... aggregation */
    HISTOGRAM_BOUNDS_IN_ADD = 1 << 6, /* "mismatched custom buckets were reconciled during addition" (info) */
    HISTOGRAM_BOUNDS_IN_SUB = 1 << 7, /* ... subtraction */
    HISTOGRAM_BOUNDS_IN_AGG = 1 << 8, /* ... aggregation */
    HISTOGRAM_NAN_RESULT = 1 << 9,    /* quantile: NaN observations, the result is NaN (info) */
    HISTOGRAM_NAN_SKEW = 1 << 10,     /* quantile: NaN observations, the result is skewed higher (info) */
    HISTOGRAM_NAN_FRACTION = 1 << 11  /* fraction: NaN observations are in no fraction (info) */
};

/* ---- Shape ---- */

/* A deep copy, all of it in the arena. */
struct histogram *histogram_copy(const struct histogram *h, struct arena *a);
/* The same histogram with another hint; spans and counts are shared with `h`. */
const struct histogram *histogram_with_reset(const struct histogram *h, enum histogram_reset reset, struct arena *a);
/* Without empty buckets and with the fewest spans (Prometheus' Compact(0)); `h` itself when it is so already. */
const struct histogram *histogram_compact(const struct histogram *h, struct arena *a);

/* Prometheus' Equals, which is the `==` of two histograms: floats by their bits, and the same spans but for empty ones;
 * what the sender says of resets does not count. */
bool histogram_equal(const struct histogram *a, const struct histogram *b);

/* "{count:5, sum:18.4, [-2,-1):1, [-0.001,0.001]:2, (1,2]:3}": as count_values and messages show it. */
void histogram_text(const struct histogram *h, struct strbuf *out);

/* ---- Buckets one after another ---- */
enum histogram_rule { /* which bound belongs to the bucket: the numbers of the JSON answer */
                      HISTOGRAM_UPPER_IN = 0,
                      HISTOGRAM_LOWER_IN = 1,
                      HISTOGRAM_NONE_IN = 2,
                      HISTOGRAM_BOTH_IN = 3
};
struct histogram_bucket {
    double lower, upper, count;
    enum histogram_rule rule;
};
/* One walk over one side; a field of the walk below, of no use by itself. */
struct histogram_walk {
    const struct histogram_side *side;
    int32_t index;
    uint32_t span, in_span, bucket; /* the next one's */
};
struct histogram_buckets {
    const struct histogram *h;
    struct histogram_walk walk;
    uint8_t part; /* which of the three parts comes next */
    bool falling;
};
/* All buckets in rising order (falling: from the top down), empty ones too but for an empty zero bucket: the JSON
 * answer leaves out those of count 0. Lives as long as `h`. */
void histogram_buckets_begin(struct histogram_buckets *it, const struct histogram *h, bool falling);
bool histogram_buckets_next(struct histogram_buckets *it, struct histogram_bucket *ret);
/* The upper bound of bucket `index` of the positive side: a power of the base as all clients have it, DBL_MAX for the
 * last one of finite observations, +Inf after it; a custom bound, +-Inf outside them. */
double histogram_bound(const struct histogram *h, int32_t index);

/* ---- Readouts (histogram_quantile, histogram_fraction, ...). `notes` gains bits; never NULL. ---- */
double histogram_quantile(const struct histogram *h, double q, unsigned *notes);
double histogram_fraction(const struct histogram *h, double lower, double upper, unsigned *notes);
double histogram_avg(const struct histogram *h);
double histogram_stdvar(const struct histogram *h);
double histogram_stddev(const struct histogram *h);

/* ---- Operators. The result is compacted, as the operators' is, but for negate. ---- */

/* `+` and `-`: the lower schema, the wider zero bucket, the custom bounds both have. `-` gives a gauge. NULL with
 * HISTOGRAM_INCOMPATIBLE when one is exponential and one custom. */
const struct histogram *histogram_add(const struct histogram *a, const struct histogram *b, struct arena *to,
                                      unsigned *notes);
const struct histogram *histogram_sub(const struct histogram *a, const struct histogram *b, struct arena *to,
                                      unsigned *notes);
/* `*` and `/` by a float: a negative one gives a gauge; / 0 gives +-Inf or NaN without buckets. */
const struct histogram *histogram_mul(const struct histogram *h, double factor, struct arena *to);
const struct histogram *histogram_div(const struct histogram *h, double divisor, struct arena *to);
const struct histogram *histogram_negate(const struct histogram *h, struct arena *to);
/* `</` (keep_below) and `>/`: the observations on that side of `at`, those of the bucket around it by interpolation;
 * count and sum are estimated anew when anything is cut, else it is `h` itself. */
const struct histogram *histogram_trim(const struct histogram *h, double at, bool keep_below, struct arena *to);

/* ---- Aggregation: sum, avg, sum_over_time, avg_over_time, compensated (Kahan-Neumaier) in every field ---- */
struct histogram_total;
/* Lives in `a` and keeps its working memory there, which grows to the union of the buckets added, not with their
 * number. NULL when the arena is at its limit. */
struct histogram_total *histogram_total_new(struct arena *a, bool mean);
void histogram_total_clear(struct histogram_total *t); /* as new, keeps the working memory */
/* Adds one. After a failure (incompatible, arena full) further ones are ignored. */
void histogram_total_add(struct histogram_total *t, const struct histogram *h);
/* The sum or mean of what was added, in `to`, not compacted (sum and avg compact it, the _over_time functions do not).
 * NULL when nothing was added, or it is incompatible. `notes` gains what was met. */
const struct histogram *histogram_total_result(const struct histogram_total *t, struct arena *to, unsigned *notes);

/* ---- Counters ---- */

/* Whether the counter was reset between `before` and `now`: by what the sender says, else when any count fell. */
bool histogram_was_reset(const struct histogram *now, const struct histogram *before);
/* The increase (counter) or difference over n >= 2 samples in time order, resets made good, before extrapolation: what
 * rate, increase and delta begin with (histogram_mul by the factor). A compacted gauge. NULL with
 * HISTOGRAM_INCOMPATIBLE. */
const struct histogram *histogram_increase(const struct histogram *const *samples, uint32_t n, bool counter,
                                           struct arena *to, unsigned *notes);
/* The last two samples' difference: irate (counter; divide by the seconds between them) and idelta. As above. */
const struct histogram *histogram_last_step(const struct histogram *before, const struct histogram *now, bool counter,
                                            struct arena *to, unsigned *notes);
/* The value at share `at` (0..1) of the way from `before` to `now`, which are the results at 0 and 1: of smoothed
 * selectors. After a reset it grows from zero. Not compacted. NULL with HISTOGRAM_INCOMPATIBLE. */
const struct histogram *histogram_interpolate(const struct histogram *before, const struct histogram *now, double at,
                                              bool counter, struct arena *to, unsigned *notes);

/*
 * A histogram among doubles: in a column of samples or of a vector's values these bits say that a histogram stands in
 * the parallel array of histograms at this place. It is a signalling NaN that no computation yields and no sample may
 * be (admission makes it an ordinary NaN); like the stale marker it is compared by its bits.
 */
#define HISTOGRAM_NAN_BITS UINT64_C(0x7ff0000000000007)
static inline bool float_is_histogram(double v)
{
    return load_u64(&v) == HISTOGRAM_NAN_BITS;
}
static inline double float_histogram(void)
{
    const uint64_t bits = HISTOGRAM_NAN_BITS;
    return load_f64(&bits);
}

#endif
