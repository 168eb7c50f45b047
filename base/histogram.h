/*
 * A native histogram sample as evaluation sees it: counts as doubles, whatever they were on the wire (as Prometheus'
 * FloatHistogram). Shape and meaning are those of Prometheus' native histograms:
 *
 *     schema -4..8: bucket i > 0 is (base^(i-1), base^i], base = 2^(2^-schema); negative buckets mirror it;
 * observations of |v| <= zero_threshold stand in the zero bucket schema -53:   custom buckets: bucket i is
 * (custom[i-1], custom[i]], the last one ends at +Inf; no negative and no zero bucket spans         runs of consecutive
 * buckets; the first span's offset is the index of its first bucket (0-based for custom buckets), each further offset
 * the gap after the run before it
 *
 * Immutable once made; everything it points to lives as long as it does (an arena's). Pure functions; thread-safe.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    HISTOGRAM_SCHEMA_MIN = -4,
    HISTOGRAM_SCHEMA_MAX = 8,
    HISTOGRAM_SCHEMA_CUSTOM = -53,
    HISTOGRAM_BUCKETS_MAX = 65536 /* of one side, and of custom bounds: limits what a sender can make us hold */
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

/*
 * A histogram among doubles: in a column of samples or of a vector's values these bits say that a histogram stands in
 * the parallel array of histograms at this place. It is a signalling NaN that no computation yields and no sample may
 * be (admission makes it an ordinary NaN); like the stale marker it is compared by its bits.
 */
#define HISTOGRAM_NAN_BITS UINT64_C(0x7ff0000000000007)
static inline bool float_is_histogram(double v)
{
    uint64_t b;
    memcpy(&b, &v, 8);
    return b == HISTOGRAM_NAN_BITS;
}
static inline double float_histogram(void)
{
    double v;
    uint64_t b = HISTOGRAM_NAN_BITS;
    memcpy(&v, &b, 8);
    return v;
}

#endif
