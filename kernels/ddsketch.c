/*
 * DDSketch: quantiles within a relative error alpha.
 *
 *   | u8      | bits 0-2 form of the positive store, 0 = none (kernels/ddstore.h); 3 NaN or infinite samples were seen;
 * | |         | 4 collapsed; 5 a negative store; 6 zeros; 7 is 0 | | u8      | alpha: e << 4 | m stands for m / 10^e,
 * m 1..15, e 1..6; 0 = an f64 alpha follows                         | | f64     | alpha, if the byte before is 0 | |
 * varint  | NaN and infinite samples, if bit 3                                                                       |
 *   | varint  | zeros of either sign, if bit 6 | | u8      | form of the negative store, if bit 5 | | varint  | its
 * bytes, if bit 5                                                                                      | |         |
 * negative store (of magnitudes), if bit 5                                                                 | | |
 * positive store, if bits 0-2 are not 0; ends with the state                                               |
 *
 * The mapping is kernels/gamma.h's. Bins and shares are sums and extremes over the samples, and the bytes are a pure
 * function of them: any split and any order of an uncollapsed union gives the bytes of the single build. No sum and no
 * exact minimum or maximum: they have families of their own, and the shares give the extremes to 1/256 of a bucket.
 *
 * At most max_bins bins are kept. Beyond, the smallest magnitudes of both signs are folded into the smallest one kept,
 * and the state says so (STATE_COLLAPSED): quantiles that fall there are too large in magnitude without bound, others
 * keep alpha. Subnormal results also carry their own rounding. NaN and infinite samples are only counted
 * (STATE_NONFINITE): readers take raw samples then.
 */
#include "kernels/ddcontent.h"

#include <float.h>
#include <math.h>

#include "kernels/bits.h"
#include "kernels/carve.h"
#include "kernels/ddsketch_loops.h"
#include "kernels/ddwindow.h"
#include "kernels/families.h"
#include "kernels/gamma.h"
#include "kernels/select.h"

enum { BINS_MIN = 16, BINS_MAX = 65536 };

static int ddsketch_check_params(const struct sketch_params *params, const char **reason)
{
    if (!(params->alpha >= 1e-6 && params->alpha < 1)) {
        *reason = "DDSketch's alpha must be at least 1e-6 and below 1";
        return SKETCH_BAD_DATA;
    }
    if (params->max_bins != 0 && (params->max_bins < BINS_MIN || params->max_bins > BINS_MAX)) {
        *reason = "DDSketch's max_bins must be 0 (2048) or from 16 to 65536";
        return SKETCH_BAD_DATA;
    }
    return SKETCH_OK;
}

static size_t ddsketch_size_bound(const struct sketch_params *params, uint64_t n)
{
    uint64_t bins = n < ddcontent_bins_most(params) ? n : ddcontent_bins_most(params);
    return DDCONTENT_HEAD_MAX + ddstore_bound(1) + ddstore_bound(bins);
}

static size_t ddsketch_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    if (k == 0) /* keys, the sort's other half, bins, a window for each sign */
        return 2 * carve_size(n * 8) + carve_size((n + 1) * sizeof(struct ddstore_bin)) +
               2 * carve_size(DDTALLY_WINDOW * sizeof(uint64_t));
    uint64_t held = (uint64_t)k * ddcontent_bins_most(params);
    return ddcontent_sum_scratch(held < n ? held : n, k);
}

/* The samples of one sign: the bins of their extremes, found before anything is counted, and where they are counted. */
struct reading {
    uint32_t n;
    int32_t top, low;
    uint8_t top_share, low_share;
    enum { IN_WORDS = 1, IN_BYTES, IN_KEYS } where;
    struct ddtally tally;
    uint8_t *bytes;
    uint64_t *keys;
    uint32_t keys_n;
    struct ddwindow window;
};

/* Decides how the sign is counted: few samples in bytes, or sorted where their bins would lie far apart; so is a spread
 * too wide for any window. greatest, least: bits of magnitudes; plain: the state cannot collapse. */
static void reading_begin(struct reading *r, const struct gamma_map *map, uint64_t n, int64_t greatest, int64_t least,
                          uint64_t *keys, uint64_t *window, bool plain)
{
    r->n = (uint32_t)n;
    r->top_share = r->low_share = 0;
    if (n == 0)
        return;
    r->top = gamma_place(map, bits_to_f64((uint64_t)greatest), &r->top_share);
    r->low = gamma_place(map, bits_to_f64((uint64_t)least), &r->low_share);
    r->tally = (struct ddtally){.window = window, .top = r->top};
    r->bytes = (uint8_t *)window;
    r->keys = keys;
    r->keys_n = 0;
    uint64_t width = (uint64_t)((int64_t)r->top - r->low) + 1;
    if (plain && r->n <= DDWINDOW_SAMPLES_MAX && width <= DDWINDOW_WIDTH_MAX && width <= DDWINDOW_BLOCK * (r->n / 2)) {
        r->where = IN_BYTES;
        memset(r->bytes, 0, (width + DDWINDOW_BLOCK - 1) / DDWINDOW_BLOCK * DDWINDOW_BLOCK);
    } else {
        r->where = r->n <= 24 || !ddtally_reach(&r->tally, width - 1) ? IN_KEYS : IN_WORDS;
    }
}

/* Adds the bucket of x, which is finite and not 0. */
static inline void reading_add(struct reading *r, int32_t index)
{
    if (r->where == IN_WORDS)
        r->tally.window[r->top - index]++;
    else if (r->where == IN_BYTES)
        r->bytes[r->top - index]++;
    else
        r->keys[r->keys_n++] = ddsort_key(index, 0);
}

/* Adds all samples to the sign they have. */
static void add_samples(struct reading *positive, struct reading *negative, const struct gamma_map *map,
                        const double *values, uint32_t n)
{
    int32_t index[GAMMA_BATCH];
    bool all_positive = positive->n == n;
    const int32_t top = all_positive ? positive->top : 0;
    for (uint32_t done = 0; done < n; done += GAMMA_BATCH) {
        uint32_t part = n - done < GAMMA_BATCH ? n - done : GAMMA_BATCH;
        const double *x = values + done;
        ddsketch_ops.indexes(map, x, part, index);
        if (all_positive && positive->where == IN_WORDS) {
            uint64_t *window = positive->tally.window;
            for (uint32_t i = 0; i < part; i++)
                window[top - index[i]]++;
        } else if (all_positive && positive->where == IN_BYTES) {
            uint8_t *bytes = positive->bytes;
            for (uint32_t i = 0; i < part; i++)
                bytes[top - index[i]]++;
        } else {
            for (uint32_t i = 0; i < part; i++)
                if (index[i] != GAMMA_NONE)
                    reading_add(x[i] > 0 ? positive : negative, index[i]);
        }
    }
}

static void reading_finish(struct reading *r, struct ddstore *s, struct ddstore_bin *bins, uint64_t *tmp)
{
    *s = (struct ddstore){.bins = bins, .top_share = r->top_share, .low_share = r->low_share};
    if (r->n == 0)
        return;
    if (r->where == IN_WORDS) {
        ddtally_bins(&r->tally, r->low, s);
    } else if (r->where == IN_BYTES) {
        s->n = r->n;
        ddwindow_open(&r->window, s, r->bytes, (uint32_t)(r->top - r->low) + 1, r->top);
    } else {
        order_sort(r->keys, r->keys_n, tmp);
        ddsort_bins(r->keys, r->keys_n, NULL, s);
    }
}

void ddsketch_scan_scalar(struct ddsketch_scan *ret, const double *values, size_t n)
{
    struct ddsketch_scan s = {.positive_least = INT64_MAX, .negative_least = INT64_MAX};
    if (ddsketch_loop_scan_positive(ret, values, n))
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t bits = (int64_t)bits_load_u64(&values[i]), magnitude = bits & INT64_MAX;
        if (magnitude == 0 || magnitude >= INT64_C(2047) << 52) {
            s.zero_n += magnitude == 0;
            s.nonfinite_n += magnitude != 0;
        } else if (bits > 0) {
            s.positive_greatest = magnitude > s.positive_greatest ? magnitude : s.positive_greatest;
            s.positive_least = magnitude < s.positive_least ? magnitude : s.positive_least;
        } else {
            s.negative_n++;
            s.negative_greatest = magnitude > s.negative_greatest ? magnitude : s.negative_greatest;
            s.negative_least = magnitude < s.negative_least ? magnitude : s.negative_least;
        }
    }
    s.positive_n = n - s.negative_n - s.zero_n - s.nonfinite_n;
    *ret = s;
}

static int ddsketch_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                          int64_t end_ms, const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed,
                          void *scratch)
{
    if (n == 0)
        return SKETCH_BAD_DATA;
    uint8_t *rest = scratch;
    uint64_t *keys = carve(&rest, (uint64_t)n * 8), *tmp = carve(&rest, (uint64_t)n * 8);
    struct ddstore_bin *bins = carve(&rest, ((uint64_t)n + 1) * sizeof *bins);
    uint64_t *window = carve(&rest, DDTALLY_WINDOW * sizeof *window);
    uint64_t *other_window = carve(&rest, DDTALLY_WINDOW * sizeof *window);
    struct gamma_map map;
    gamma_init(&map, params->alpha);
    struct ddcontent c = {0};
    struct ddsketch_scan scan;
    ddsketch_ops.scan(&scan, values, n);
    c.zero_n = scan.zero_n;
    c.nonfinite_n = scan.nonfinite_n;
    struct reading positive, negative;
    bool plain = n <= ddcontent_bins_most(params);
    reading_begin(&positive, &map, scan.positive_n, scan.positive_greatest, scan.positive_least, keys, window, plain);
    reading_begin(&negative, &map, scan.negative_n, scan.negative_greatest, scan.negative_least, keys + scan.positive_n,
                  other_window, plain);
    add_samples(&positive, &negative, &map, values, n);
    reading_finish(&positive, &c.positive, bins, tmp);
    reading_finish(&negative, &c.negative, bins + c.positive.bins_n, tmp);
    return ddcontent_write(dst, cap, ret_size, &c, params);
}

static int ddsketch_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                            int64_t end_ms, const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    struct ddcontent c;
    int rc = k == 0 ? SKETCH_BAD_DATA : ddcontent_sum(&c, src, k, params, scratch);
    return rc == SKETCH_OK ? ddcontent_write(dst, cap, ret_size, &c, params) : rc;
}

/* --- readouts --- */

/* The greatest (top) or smallest magnitude of a store, known to a share of its bucket. */
static double extreme(const struct gamma_map *map, const struct ddstore *s, bool top)
{
    const struct ddstore_bin *bin = top ? &s->bins[0] : &s->bins[s->bins_n - 1];
    return gamma_at_share(map, bin->index, top ? s->top_share : s->low_share);
}

/* gamma_representative, of the same index only once: neighbours are often in one bin. */
struct representative {
    int32_t index;
    bool known;
    double value;
};
static double representative(const struct gamma_map *map, int32_t index, struct representative *last)
{
    if (!last->known || last->index != index)
        *last = (struct representative){index, true, gamma_representative(map, index)};
    return last->value;
}

/* The magnitude of the sample `place` places below the store's greatest. */
static double magnitude_at(const struct gamma_map *map, const struct ddstore *s, uint64_t place,
                           struct representative *last)
{
    if (place == 0 || place == s->n - 1)
        return extreme(map, s, place == 0);
    uint32_t i = 0;
    while (place >= s->bins[i].n)
        place -= s->bins[i++].n;
    double v = representative(map, s->bins[i].index, last);
    if (i == 0)
        v = fmin(v, extreme(map, s, true));
    if (i == s->bins_n - 1)
        v = fmax(v, extreme(map, s, false));
    return v;
}

/* The sample at `rank` from the smallest, of all finite ones. */
static double sample_at(const struct gamma_map *map, const struct ddcontent *c, uint64_t rank,
                        struct representative *last)
{
    if (rank < c->negative.n)
        return -magnitude_at(map, &c->negative, rank, last);
    rank -= c->negative.n;
    if (rank < c->zero_n)
        return 0;
    return magnitude_at(map, &c->positive, c->positive.n - 1 - (rank - c->zero_n), last);
}

static double quantile(const struct ddcontent *c, double alpha, struct select_place at)
{
    struct gamma_map map;
    struct representative last = {0};
    gamma_init(&map, alpha);
    double low = sample_at(&map, c, at.rank, &last);
    if (at.high_weight == 0)
        return low;
    return low * (1 - at.high_weight) + sample_at(&map, c, at.rank + 1, &last) * at.high_weight;
}

static int ddsketch_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                             enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    struct ddcontent c;
    bool interpolated = statistic == STATISTIC_QUANTILE;
    if (!interpolated && statistic != STATISTIC_QUANTILE_RANK && statistic != STATISTIC_COUNT)
        return SKETCH_BAD_DATA;
    /* Dense bins are summed as fast as they are counted; of others the counts, and mostly a few bins, are enough. */
    bool dense = k > 0 && src[0].size > 0 && (src[0].bytes[0] & DDCONTENT_FORM_MASK) >= DDSTORE_BYTES;
    int rc = dense ? ddcontent_sum(&c, src, k, params, scratch) : ddcontent_open(&c, src, k, params, scratch);
    if (rc != SKETCH_OK)
        return rc;
    uint64_t n = c.negative.n + c.zero_n + c.positive.n;
    if (n + c.nonfinite_n == 0)
        return SKETCH_NONE;
    if (statistic == STATISTIC_COUNT) {
        *ret = (double)(n + c.nonfinite_n);
        return SKETCH_OK;
    }
    double q = args->q;
    if (n == 0)
        return SKETCH_NONE;
    if (q != q) {
        *ret = bits_to_f64(BITS_NAN);
        return SKETCH_OK;
    }
    if (q < 0 || q > 1) {
        *ret = q < 0 ? -INFINITY : INFINITY;
        return SKETCH_OK;
    }
    struct select_place at =
        interpolated ? select_interpolated(q, n) : (struct select_place){.rank = select_inclusive_rank(q, n)};
    if (at.rank + 1 == n)
        at.high_weight = 0;
    if (!dense && (at.rank < c.negative.n + c.zero_n || !ddcontent_top(&c, k, n - 1 - at.rank, scratch)))
        rc = ddcontent_sum(&c, src, k, params, scratch);
    if (rc == SKETCH_OK)
        *ret = quantile(&c, params->alpha, at);
    return rc;
}

/* --- validation, flags, count --- */

/* Bins and samples of a store, or false. */
static bool store_measure(struct ddstore_cursor *c, uint64_t *bins_n, uint64_t *samples_n)
{
    int32_t index, last = INT32_MIN;
    uint64_t n;
    while (ddstore_next(c, &index, &n)) {
        *bins_n += index != last;
        *samples_n += n;
        last = index;
        if (*samples_n >= DDCONTENT_N_END)
            return false;
    }
    return !c->failed && last != INT32_MIN;
}

static int ddsketch_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    struct ddhead h;
    int rc = ddhead_read(&h, bytes, n, reason);
    if (rc != SKETCH_OK)
        return rc;
    if (bits_of_f64(h.alpha) != bits_of_f64(params->alpha)) {
        *reason = "a DDSketch state was built with another alpha";
        return SKETCH_CORRUPT;
    }
    uint64_t bins_n = 0, samples_n = h.zero_n + h.nonfinite_n;
    if ((h.has_negative && !store_measure(&h.negative, &bins_n, &samples_n)) ||
        (h.has_positive && !store_measure(&h.positive, &bins_n, &samples_n))) {
        *reason = "a DDSketch store is malformed";
        return SKETCH_CORRUPT;
    }
    if (bins_n > ddcontent_bins_most(params) || samples_n == 0 || samples_n >= DDCONTENT_N_END) {
        *reason = "a DDSketch state holds too many bins or samples, or none";
        return SKETCH_CORRUPT;
    }
    return SKETCH_OK;
}

static uint32_t ddsketch_flags(const uint8_t *bytes, size_t n)
{
    struct ddhead h;
    const char *reason;
    if (ddhead_read(&h, bytes, n, &reason) != SKETCH_OK)
        return 0;
    return (h.nonfinite_n ? STATE_NONFINITE : 0) | (h.collapsed ? STATE_COLLAPSED : 0);
}

static uint64_t ddsketch_count(const uint8_t *bytes, size_t n)
{
    struct ddhead h;
    const char *reason;
    uint64_t bins_n = 0, samples_n = 0;
    if (ddhead_read(&h, bytes, n, &reason) != SKETCH_OK)
        return 0;
    if (h.has_negative)
        store_measure(&h.negative, &bins_n, &samples_n);
    if (h.has_positive)
        store_measure(&h.positive, &bins_n, &samples_n);
    return samples_n + h.zero_n + h.nonfinite_n;
}

static const struct family_readout readouts[] = {
    {STATISTIC_QUANTILE, MERGED_AS_UNION},
    {STATISTIC_QUANTILE_RANK, MERGED_AS_UNION},
    {STATISTIC_COUNT, MERGED_EXACT},
};

const struct family_info ddsketch_family = {
    .family = FAMILY_DDSKETCH,
    .name = "ddsketch",
    .merge = MERGE_DISJOINT,
    .readouts = readouts,
    .readouts_n = sizeof readouts / sizeof readouts[0],
    .check_params = ddsketch_check_params,
    .size_bound = ddsketch_size_bound,
    .scratch_bound = ddsketch_scratch_bound,
    .build = ddsketch_build,
    .merge_k = ddsketch_merge_k,
    .estimate = ddsketch_estimate,
    .validate = ddsketch_validate,
    .flags = ddsketch_flags,
    .count = ddsketch_count,
};
