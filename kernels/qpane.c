#include "kernels/qpane.h"

#include <math.h>

#include "kernels/bits.h"
#include "kernels/carve.h"
#include "kernels/decimal.h"
#include "kernels/frame.h"
#include "kernels/order.h"
#include "kernels/qdecimal.h"

enum { FRAME_MAX_HEAD = 10 };
#define MINUS_ZERO (UINT64_C(1) << 63)

size_t qpane_write_scratch(uint64_t n)
{
    uint32_t frame_n = n < FRAME_MAX_N ? (uint32_t)n : FRAME_MAX_N;
    return carve_size(n * sizeof(double)) + carve_size(frame_bound(frame_n)) + frame_scratch(frame_n);
}

/* Ordered bits of samples this far apart on average are not worth a frame: what is saved of each costs its decoding. */
enum { APART_BITS = 40 };

static bool far_apart(const uint64_t *keys, uint64_t n)
{
    uint64_t differ = 0;
    for (uint64_t i = 1; i < n; i++)
        differ |= keys[i] ^ keys[0];
    return differ && ((keys[n - 1] - keys[0]) >> __builtin_ctzll(differ)) / n >> APART_BITS != 0;
}

/* Bytes of the frame form in dst[0..cap), or 0 if it needs more than cap or is not worth it. */
static size_t frame_write(uint8_t *dst, size_t cap, const double *values, uint64_t n, bool decimals, void *scratch)
{
    uint32_t most = n < FRAME_MAX_N ? (uint32_t)n : FRAME_MAX_N;
    size_t bound = frame_bound(most);
    uint8_t *rest = scratch, *frame = carve(&rest, bound);
    uint8_t head[1 + FRAME_MAX_HEAD];
    head[0] = QPANE_FRAME;
    size_t size = (size_t)(bits_put_varint(head + 1, n) - head);
    if (size > cap)
        return 0;
    memcpy(dst, head, size);
    for (uint64_t done = 0; done < n; done += FRAME_MAX_N) {
        uint32_t part = n - done < FRAME_MAX_N ? (uint32_t)(n - done) : FRAME_MAX_N;
        size_t took = decimals ? frame_encode_decimals(frame, bound, values + done, part, rest)
                               : frame_encode_f64(frame, bound, values + done, part, rest);
        if (took == 0 || took > cap - size)
            return 0;
        memcpy(dst + size, frame, took);
        size += took;
    }
    return size;
}

/*
 * Decimals: tiny or packed, or a frame where that may be smaller and is. Others: a frame that saves a quarter, since
 * doubles are read in place. What cannot win is not tried: sizing a frame costs many times the sort.
 */
int qpane_write(uint8_t *dst, size_t cap, size_t *ret_size, const uint64_t *keys, uint64_t n, void *scratch)
{
    uint8_t *rest = scratch;
    double *values = carve(&rest, n * sizeof *values);
    order_values(values, keys, n);
    bool nonfinite = !bits_is_finite(values[0]) || !bits_is_finite(values[n - 1]), even = true;
    size_t plain = 1 + (size_t)n * 8, size = 0;
    size_t limit = cap < plain - plain / 4 ? cap : plain - plain / 4;
    uint8_t decimal[QDECIMAL_MAX_SIZE];
    size_t decimal_size = qdecimal_write(decimal, values, n, &even);
    if (decimal_size >= plain)
        decimal_size = 0;
    if (decimal_size > 0 && limit > decimal_size)
        limit = decimal_size;
    if (decimal_size == 0 || even)
        size = frame_write(dst, limit, values, n, decimal_size > 0 || far_apart(keys, n), rest);
    if (decimal_size > 0 && (size == 0 || decimal_size < size)) {
        if (decimal_size > cap)
            return SKETCH_NO_ROOM;
        memcpy(dst, decimal, decimal_size);
        size = decimal_size;
    }
    if (size == 0) {
        if (plain > cap)
            return SKETCH_NO_ROOM;
        dst[0] = QPANE_DOUBLES;
        memcpy(dst + 1, values, plain - 1);
        size = plain;
    }
    if (nonfinite)
        dst[0] |= QPANE_NONFINITE;
    *ret_size = size;
    return SKETCH_OK;
}

size_t qpane_keys_scratch(uint64_t n, uint32_t k)
{
    size_t panes = k > 0 ? carve_size(qpane_room(n) * 8) + carve_size(k * sizeof(uint64_t)) : 0;
    return 2 * carve_size(n * 8) + panes;
}

uint64_t *qpane_sort(const double *values, uint32_t n, uint8_t **scratch)
{
    uint64_t *keys = carve(scratch, (uint64_t)n * 8), *tmp = carve(scratch, (uint64_t)n * 8);
    order_keys(keys, values, n);
    order_sort(keys, n, tmp);
    return keys;
}

int qpane_unite(const struct state_ref *src, uint32_t k, uint8_t **scratch, uint64_t **ret_keys, uint64_t *ret_n)
{
    uint64_t n = 0, done = 0;
    for (uint32_t i = 0; i < k; i++)
        n += qpane_count(src[i].bytes, src[i].size);
    if (n == 0 || n > UINT32_MAX)
        return SKETCH_BAD_DATA;
    uint64_t *keys = carve(scratch, n * 8), *tmp = carve(scratch, n * 8);
    double *samples = carve(scratch, qpane_room(n) * 8);
    uint64_t *ends = carve(scratch, k * sizeof *ends);
    for (uint32_t i = 0; i < k; i++) {
        struct select_run run;
        if (qpane_open(src[i].bytes, src[i].size, samples, &run) == 0)
            return SKETCH_CORRUPT;
        order_keys(keys + done, run.bytes, run.n);
        ends[i] = done += run.n;
    }
    order_merge_runs(keys, ends, k, tmp);
    *ret_keys = keys;
    *ret_n = n;
    return SKETCH_OK;
}

uint64_t qpane_count(const uint8_t *bytes, size_t size)
{
    uint64_t n = 0;
    if (size == 0)
        return 0;
    switch (bytes[0] & QPANE_FORM_MASK) {
    case QPANE_DOUBLES:
        return (size - 1) / 8;
    case QPANE_FRAME:
        return bits_get_varint(bytes + 1, bytes + size, &n) ? n : 0;
    case QPANE_TINY:
    case QPANE_PACKED:
        return qdecimal_count(bytes, size);
    default:
        return 0;
    }
}

bool qpane_nonfinite(const uint8_t *bytes)
{
    return bytes[0] & QPANE_NONFINITE;
}

static bool frames_read(const uint8_t *bytes, size_t size, uint64_t n, double *out)
{
    const uint8_t *end = bytes + size, *p = bits_get_varint(bytes + 1, end, &n);
    for (uint64_t done = 0; p && done < n; done += FRAME_MAX_N) {
        uint32_t part = n - done < FRAME_MAX_N ? (uint32_t)(n - done) : FRAME_MAX_N;
        size_t took = frame_decode_f64(p, (size_t)(end - p), part, out + done);
        p = took > 0 ? p + took : NULL;
    }
    return p == end;
}

/* The first `head` samples of a pane of one frame. */
static bool frame_read_head(const uint8_t *bytes, size_t size, uint64_t n, uint64_t head, bool scaled, double *out)
{
    const uint8_t *end = bytes + size, *p = bits_get_varint(bytes + 1, end, &n);
    if (!p)
        return false;
    size_t left = (size_t)(end - p);
    size_t took = scaled ? frame_decode_head_scaled(p, left, (uint32_t)n, (uint32_t)head, out)
                         : frame_decode_head_f64(p, left, (uint32_t)n, (uint32_t)head, out);
    return took > 0 && (head < n || took == left);
}

/* Opens a pane of n samples, of which at least the first `head` are read; times 10^e when they are `scaled`. */
static uint64_t open_counted(const uint8_t *bytes, size_t size, uint64_t n, uint64_t head, bool scaled, double *out,
                             struct select_run *ret)
{
    if (n == 0 || n > UINT32_MAX)
        return 0;
    *ret = (struct select_run){.bytes = bytes + 1, .weight = 1, .n = (uint32_t)n};
    int form = bytes[0] & QPANE_FORM_MASK;
    if (form == QPANE_DOUBLES)
        return n;
    ret->bytes = (const uint8_t *)out;
    head = head < n ? head : n;
    if (form == QPANE_FRAME && n > FRAME_MAX_N)
        return frames_read(bytes, size, n, out) ? n : 0;
    ret->n = (uint32_t)head;
    ret->unread = (uint32_t)(n - head);
    bool read = form == QPANE_FRAME ? frame_read_head(bytes, size, n, head, scaled, out)
                : scaled            ? qdecimal_read_scaled(bytes, size, n, head, out)
                                    : qdecimal_read(bytes, size, n, head, out);
    return read ? n : 0;
}

uint64_t qpane_open_head(const uint8_t *bytes, size_t size, uint64_t head, double *out, struct select_run *ret)
{
    return open_counted(bytes, size, qpane_count(bytes, size), head, false, out, ret);
}

uint64_t qpane_open(const uint8_t *bytes, size_t size, double *out, struct select_run *ret)
{
    return qpane_open_head(bytes, size, UINT64_MAX, out, ret);
}

/* Largest first and one NaN only (of a set: each once, no -0)? *last carries the key before v[0] from frame to frame;
 * no key is 0. */
static bool sorted(const uint8_t *v, uint64_t n, bool is_set, uint64_t *last)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = bits_load_u64(v + i * 8), key = order_key_of_bits(bits);
        if (key < *last || (key == ORDER_NAN && bits != BITS_NAN))
            return false;
        if (is_set && (key == *last || bits == MINUS_ZERO))
            return false;
        *last = key;
    }
    return true;
}

static int refuse(const char **reason, const char *text)
{
    *reason = text;
    return SKETCH_CORRUPT;
}

static int validate(const uint8_t *bytes, size_t size, uint64_t n_max, bool is_set, const char **reason)
{
    if (size < 2)
        return refuse(reason, "a quantile pane has at least two bytes");
    int form = bytes[0] & QPANE_FORM_MASK;
    bool decimal = form == QPANE_TINY || form == QPANE_PACKED;
    uint64_t n = qpane_count(bytes, size), last = 0;
    if (!decimal && ((form != QPANE_DOUBLES && form != QPANE_FRAME) || bytes[0] >> 4 != 0))
        return refuse(reason, "unknown form of a quantile pane");
    if (n == 0 || n > n_max || n > UINT32_MAX)
        return refuse(reason, "a quantile pane's sample count is out of range");
    double first_v, part[QDECIMAL_MAX_N + QDECIMAL_SLACK];
    if (form == QPANE_DOUBLES) {
        if ((size - 1) % 8 != 0)
            return refuse(reason, "a quantile pane's doubles are cut short");
        first_v = bits_load_f64(bytes + 1);
        if (!sorted(bytes + 1, n, is_set, &last))
            return refuse(reason, "a quantile pane is not sorted largest first");
    } else if (decimal) {
        if (!qdecimal_read(bytes, size, n, n, part) || !sorted((const uint8_t *)part, n, is_set, &last))
            return refuse(reason, "a decimal quantile pane is malformed");
        first_v = part[0];
    } else {
        const uint8_t *end = bytes + size, *p = bits_get_varint(bytes + 1, end, &n);
        first_v = 0;
        for (uint64_t done = 0; done < n; done += FRAME_MAX_N) {
            uint32_t count = n - done < FRAME_MAX_N ? (uint32_t)(n - done) : FRAME_MAX_N;
            size_t took = frame_decode_f64(p, (size_t)(end - p), count, part);
            if (took == 0 || !sorted((const uint8_t *)part, count, is_set, &last))
                return refuse(reason, "a quantile pane's frame is malformed or not sorted");
            first_v = done == 0 ? part[0] : first_v;
            p += took;
        }
        if (p != end)
            return refuse(reason, "bytes follow a quantile pane's last frame");
    }
    bool nonfinite = !bits_is_finite(first_v) || !bits_is_finite(order_value(last));
    if (nonfinite != qpane_nonfinite(bytes))
        return refuse(reason, "a quantile pane's flag of non-finite samples is wrong");
    return SKETCH_OK;
}

int qpane_validate(const uint8_t *bytes, size_t size, uint64_t n_max, const char **reason)
{
    return validate(bytes, size, n_max, false, reason);
}

int qpane_validate_set(const uint8_t *bytes, size_t size, const char **reason)
{
    return validate(bytes, size, UINT32_MAX, true, reason);
}

void qpane_extremes(const struct select_run *run, double *min, double *max)
{
    order_widen(min, max, bits_load_f64(run->bytes));
    uint32_t n = run->n;
    while (n > 1 && order_key_at(run->bytes + (size_t)(n - 1) * 8) == ORDER_NAN)
        n--;
    order_widen(min, max, bits_load_f64(run->bytes + (size_t)(n - 1) * 8));
}

/* Where the statistic looks, q in [0, 1]: for the inclusive rank there is no upper neighbour. */
static struct select_place place_of(enum statistic statistic, double q, uint64_t total)
{
    if (statistic == STATISTIC_QUANTILE)
        return select_interpolated(q, total);
    return (struct select_place){.rank = select_inclusive_rank(q, total)};
}

/* Prometheus' interpolation; an upper neighbour of no weight still counts there, as infinity times 0 is NaN. */
static double between(enum statistic statistic, struct select_place at, double low, double high)
{
    if (statistic == STATISTIC_QUANTILE_RANK)
        return low;
    return bits_one_nan(low * (1 - at.high_weight) + high * at.high_weight);
}

/* The answers that need no sample. */
static bool answer_without(enum statistic statistic, double q, uint64_t total, double *ret)
{
    if (statistic == STATISTIC_COUNT)
        *ret = (double)total;
    else if (q != q)
        *ret = bits_to_f64(BITS_NAN);
    else if (q < 0 || q > 1)
        *ret = q < 0 ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

static bool answers(enum statistic statistic)
{
    return statistic == STATISTIC_COUNT || statistic == STATISTIC_QUANTILE || statistic == STATISTIC_QUANTILE_RANK;
}

/* The scale that all samples of all panes share as decimals, or a number above DECIMAL_E_MAX. */
static unsigned common_scale(const struct state_ref *src, uint32_t k, const uint64_t *counts)
{
    unsigned scale = DECIMAL_E_MAX + 1;
    for (uint32_t i = 0; i < k; i++) {
        unsigned e = DECIMAL_E_MAX + 1;
        uint64_t n;
        const uint8_t *bytes = src[i].bytes, *end = bytes + src[i].size, *frame;
        int form = bytes[0] & QPANE_FORM_MASK;
        if (form == QPANE_TINY || form == QPANE_PACKED)
            e = qdecimal_scale(bytes);
        else if (form == QPANE_FRAME && counts[i] <= FRAME_MAX_N && (frame = bits_get_varint(bytes + 1, end, &n)))
            e = frame_scale(frame, (size_t)(end - frame));
        if (e > DECIMAL_E_MAX || (i > 0 && e != scale))
            return DECIMAL_E_MAX + 1;
        scale = e;
    }
    return scale;
}

/* How panes are read: as doubles or, scaled, as integers of one scale, which order as the samples do. */
struct reading {
    const struct state_ref *src;
    const uint64_t *counts;
    double *samples; /* each pane has qpane_room of its count */
    uint32_t k;
    bool scaled;
};

/* Samples of a pane of n that are read first, when the answer is at this share of all from the top: enough of them for
 * nearly all panes of a series that does not change, whose counts above a cut spread as binomial ones do. */
static uint64_t head_of(uint64_t n, double share)
{
    double mean = (double)n * share, wide = mean + 3.2 * sqrt(mean * (1 - share)), twice = 2 * mean;
    return (uint64_t)(wide < twice ? wide : twice) + 4;
}

/* Opens pane after pane, of each at least the samples from the top down to that share; or, of those that are open, all
 * of the ones that lack samples above `low`. */
static bool open_panes(const struct reading *r, double share, const double *low, struct select_run *runs)
{
    double *samples = r->samples;
    uint64_t head = UINT64_MAX;
    for (uint32_t i = 0; i < r->k; samples += qpane_room(r->counts[i++])) {
        if (low && !select_lacks(&runs[i], *low))
            continue;
        if (!low && (i == 0 || r->counts[i] != r->counts[i - 1])) /* panes of a series are often alike */
            head = head_of(r->counts[i], share);
        if (open_counted(r->src[i].bytes, r->src[i].size, r->counts[i], head, r->scaled, samples, &runs[i]) == 0)
            return false;
    }
    return true;
}

size_t qpane_estimate_scratch(uint64_t n, uint32_t k)
{
    return 2 * carve_size(k * sizeof(struct select_run)) + carve_size(k * sizeof(uint64_t)) +
           carve_size((n + k * qpane_room(0)) * sizeof(double));
}

int qpane_estimate(const struct state_ref *src, uint32_t k, enum statistic statistic, double q, void *scratch,
                   double *ret)
{
    uint64_t total = 0;
    if (!answers(statistic))
        return SKETCH_BAD_DATA;
    uint8_t *rest = scratch;
    struct select_run *runs = carve(&rest, k * sizeof *runs), *opened = carve(&rest, k * sizeof *opened);
    uint64_t *counts = carve(&rest, k * sizeof *counts);
    for (uint32_t i = 0; i < k; i++)
        total += counts[i] = qpane_count(src[i].bytes, src[i].size);
    if (total == 0)
        return SKETCH_NONE;
    if (answer_without(statistic, q, total, ret))
        return SKETCH_OK;
    struct select_place at = place_of(statistic, q, total);
    uint64_t low_place = total - 1 - at.rank;
    unsigned scale = common_scale(src, k, counts);
    struct reading r = {src, counts, (double *)(void *)rest, k, scale <= DECIMAL_E_MAX};
    double low, high;
    if (!open_panes(&r, (double)(low_place + 1) / (double)total, NULL, opened))
        return SKETCH_CORRUPT;
    memcpy(runs, opened, k * sizeof *runs); /* selection may reorder them */
    if (!select_top(runs, k, low_place, &low, &high)) {
        if (!open_panes(&r, 0, &low, opened))
            return SKETCH_CORRUPT;
        select_top(opened, k, low_place, &low, &high);
    }
    if (r.scaled) {
        low /= decimal_pow10[scale];
        high /= decimal_pow10[scale];
    }
    *ret = between(statistic, at, low, high);
    return SKETCH_OK;
}

int qpane_read(struct select_run *runs, uint32_t runs_n, enum statistic statistic, double q, double *ret)
{
    uint64_t total = select_total(runs, runs_n);
    if (!answers(statistic))
        return SKETCH_BAD_DATA;
    if (total == 0)
        return SKETCH_NONE;
    if (answer_without(statistic, q, total, ret))
        return SKETCH_OK;
    struct select_place at = place_of(statistic, q, total);
    double low, high;
    select_pair(runs, runs_n, total, at.rank, &low, &high);
    *ret = between(statistic, at, low, high);
    return SKETCH_OK;
}
