/*
 * The frame's plan: which predictor, which base and how wide a lane. Rows of residuals are made for all four
 * predictors in one pass and compared by a robust guess of their size; the winner's lane is then sized exactly from a
 * histogram of bit widths, patches against width. Outliers on either side (a counter reset, a burst) become patches.
 */
#include "kernels/bits.h"
#include "kernels/frame_internal.h"

enum { WIDTHS = 65, OUTLIER_MIN_N = 8 };

/* Residuals below a base count as this wide: they are patches at any lane width. */
enum { WIDTH_NEGATIVE = 64 };

static size_t varint_bytes(int64_t v)
{
    return (bits_width(bits_zigzag(v) | 1) + 6) / 7;
}

static unsigned packed_width(unsigned bits)
{
    return bits > FRAME_WIDTH_PACKED ? 64 : bits;
}

static int64_t middle_of(const uint64_t *r, unsigned n)
{
    int64_t a = (int64_t)r[n / 4], b = (int64_t)r[n / 2], c = (int64_t)r[3 * n / 4];
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Summed widths around the middle residual: a guess of the lane's bits that a few outliers do not spoil. */
static unsigned guess_bits(const uint64_t *r, unsigned n)
{
    return frame_ops.widths(r, n, (uint64_t)middle_of(r, n));
}

/* The predictor with the least guess; a stored number counts as 12 bits. n >= 3: two values are always a line. */
static unsigned choose_predictor(uint64_t (*rows)[FRAME_MAX_N], const uint64_t *y, unsigned n, uint64_t slope,
                                 unsigned *ret_guess)
{
    frame_ops.rows(rows, y, n, slope);
    unsigned guess[FRAME_PREDICTORS] = {guess_bits(rows[FRAME_CONSTANT], n), guess_bits(rows[FRAME_DELTA], n - 1) + 12,
                                        guess_bits(rows[FRAME_SECOND], n - 2) + 24,
                                        slope ? guess_bits(rows[FRAME_LINE], n) + 12 : UINT32_MAX};
    unsigned best = FRAME_CONSTANT;
    for (unsigned k = FRAME_DELTA; k < FRAME_PREDICTORS; k++)
        if (guess[k] < guess[best])
            best = k;
    *ret_guess = guess[best];
    return best;
}

/* Residuals over one base, by width. */
struct histogram {
    uint16_t count[WIDTHS]; /* how many need that many bits; negative ones count as WIDTH_NEGATIVE */
    unsigned top;           /* widest */
    unsigned patch_top;     /* bits of the widest as patches see it: signed when any is negative */
};

static void histogram_above(struct histogram *h, const uint64_t *r, unsigned n, uint64_t base)
{
    uint16_t odd[WIDTHS] = {0}; /* two tables, so that equal widths in a row do not wait on each other */
    uint64_t all = 0, negative = 0;
    memset(h->count, 0, sizeof h->count);
    for (unsigned i = 0; i < n; i++) {
        uint64_t d = r[i] - base, sign = (uint64_t)((int64_t)d >> 63);
        (i & 1 ? odd : h->count)[bits_width(d)]++;
        all |= d ^ sign;
        negative |= sign;
    }
    for (unsigned k = 0; k < WIDTHS; k++)
        h->count[k] = (uint16_t)(h->count[k] + odd[k]);
    h->top = negative ? WIDTH_NEGATIVE : bits_width(all);
    h->patch_top = bits_width(all) + (negative != 0);
}

/* The same for how far residuals lie below `from`; those above count as 0. */
static void histogram_below(struct histogram *h, const uint64_t *r, unsigned n, uint64_t from)
{
    memset(h, 0, sizeof *h);
    for (unsigned i = 0; i < n; i++) {
        unsigned k = (int64_t)r[i] < (int64_t)from ? bits_width(from - r[i]) : 0;
        h->count[k]++;
        h->top = k > h->top ? k : h->top;
    }
    h->patch_top = h->top + 1;
}

struct lane {
    unsigned w, patches_n;
    size_t bytes;
};

static unsigned high_width(unsigned patch_top, unsigned w)
{
    return patch_top <= w ? 1 : packed_width(patch_top - w);
}

/* The width with the fewest bytes: each bit less makes patches of all that need it. */
static struct lane choose_width(const struct histogram *h, unsigned n)
{
    struct lane best = {0, 0, SIZE_MAX};
    unsigned over = 0;
    for (int w = (int)h->top; w >= 0 && over <= FRAME_SPARSE_MAX; w--) {
        unsigned lane_w = packed_width((unsigned)w);
        size_t bytes = frame_lane_bytes(n, lane_w);
        if (over)
            bytes += 2 + over * frame_position_bytes(n) + frame_lane_bytes(over, high_width(h->patch_top, (unsigned)w));
        if (bytes < best.bytes)
            best = (struct lane){lane_w, over, bytes};
        over += h->count[w];
    }
    return best;
}

/* The lowest residual that is near the middle, when some lie so far below it that they should be patches; INT64_MIN if
 * none do. */
static int64_t base_without_outliers(const uint64_t *r, unsigned n, int64_t middle)
{
    struct histogram below;
    histogram_below(&below, r, n, (uint64_t)middle);
    struct lane lane = choose_width(&below, n);
    if (lane.patches_n == 0)
        return INT64_MIN;
    uint64_t reach = lane.w >= 63 ? UINT64_MAX : UINT64_C(1) << lane.w;
    int64_t base = middle;
    for (unsigned i = 0; i < n; i++) {
        int64_t s = (int64_t)r[i];
        if (s < base && (uint64_t)middle - (uint64_t)s < reach)
            base = s;
    }
    return base;
}

/* Sizes the lane of residuals r[0..n) and takes the base off them. */
static void plan_lane(struct frame_plan *plan, uint64_t *r, unsigned n, unsigned mean_width)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (unsigned i = 0; i < n; i++) {
        int64_t s = (int64_t)r[i];
        low = s < low ? s : low;
        high = s > high ? s : high;
    }
    plan->n = n;
    plan->base = low;
    plan->bytes = varint_bytes(low);
    if (low == high) {
        memset(r, 0, (size_t)n * 8);
        return;
    }
    struct histogram h;
    histogram_above(&h, r, n, (uint64_t)low);
    struct lane lane = choose_width(&h, n);
    int64_t middle = n >= OUTLIER_MIN_N ? middle_of(r, n) : low;
    if (bits_width((uint64_t)middle - (uint64_t)low) > mean_width + 3) {
        int64_t base = base_without_outliers(r, n, middle);
        if (base != INT64_MIN) {
            struct histogram raised;
            histogram_above(&raised, r, n, (uint64_t)base);
            struct lane other = choose_width(&raised, n);
            if (other.bytes + varint_bytes(base) < lane.bytes + varint_bytes(low)) {
                lane = other;
                h = raised;
                plan->base = base;
            }
        }
    }
    for (unsigned i = 0; i < n; i++)
        r[i] -= (uint64_t)plan->base;
    plan->w = lane.w;
    plan->patches_n = lane.patches_n;
    plan->patch_signed = lane.patches_n && h.top == WIDTH_NEGATIVE && h.patch_top < 64;
    plan->patch_w = lane.patches_n ? high_width(h.patch_top, lane.w) : 0;
    plan->bytes = lane.bytes + varint_bytes(plan->base);
}

void frame_plan_integers(struct frame_plan *ret, const uint64_t *y, unsigned n, uint64_t (*rows)[FRAME_MAX_N])
{
    const uint64_t slope = n >= 2 ? (uint64_t)((int64_t)(y[n - 1] - y[0]) / (int64_t)(n - 1)) : 0;
    uint64_t off = 0;
    for (unsigned i = 0; i < n; i++)
        off |= y[i] - y[0] - i * slope;
    *ret = (struct frame_plan){.predictor = slope ? FRAME_LINE : FRAME_CONSTANT, .n = n, .step = (int64_t)slope};
    if (off == 0) { /* a constant or an exact line: no residuals at all */
        memset(rows[0], 0, (size_t)n * 8);
        ret->base = (int64_t)y[0];
        ret->residual = rows[0];
        ret->bytes = varint_bytes(ret->base) + (slope ? varint_bytes(ret->step) : 0);
        return;
    }
    unsigned guess;
    ret->predictor = choose_predictor(rows, y, n, slope, &guess);
    unsigned lead = frame_lead_n(ret->predictor), lane_n = n - lead;
    ret->first = lead ? (int64_t)y[0] : 0;
    ret->step = ret->predictor == FRAME_LINE     ? (int64_t)slope
                : ret->predictor == FRAME_SECOND ? (int64_t)(y[1] - y[0])
                                                 : 0;
    ret->residual = rows[ret->predictor];
    plan_lane(ret, rows[ret->predictor], lane_n, guess / lane_n);
    ret->bytes += (lead ? varint_bytes(ret->first) : 0) + (ret->step ? varint_bytes(ret->step) : 0);
}
