#include "kernels/gamma.h"

#include <math.h>

#include "kernels/bits.h"
#include "kernels/ddsketch_loops.h"

/* --- double-double arithmetic (Dekker 1971, Knuth) --- */

struct pair {
    double hi, lo; /* |lo| <= ulp(hi) / 2 */
};

static struct pair add_exact(double a, double b)
{
    double sum = a + b, t = sum - a;
    return (struct pair){sum, (a - (sum - t)) + (b - t)};
}

static struct pair multiply_exact(double a, double b)
{
    const double splitter = 134217729; /* 2^27 + 1 */
    double p = a * b, ca = splitter * a, cb = splitter * b;
    double a_hi = ca - (ca - a), a_lo = a - a_hi, b_hi = cb - (cb - b), b_lo = b - b_hi;
    return (struct pair){p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

static struct pair multiply(struct pair a, struct pair b)
{
    struct pair p = multiply_exact(a.hi, b.hi);
    return add_exact(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static struct pair subtract(struct pair a, struct pair b)
{
    struct pair d = add_exact(a.hi, -b.hi);
    return add_exact(d.hi, d.lo + (a.lo - b.lo));
}

static struct pair divide(struct pair a, struct pair b)
{
    double first = a.hi / b.hi;
    struct pair rest = subtract(a, multiply((struct pair){first, 0}, b));
    double second = rest.hi / b.hi;
    rest = subtract(rest, multiply((struct pair){second, 0}, b));
    struct pair q = add_exact(first, second);
    return add_exact(q.hi, q.lo + rest.hi / b.hi);
}

/* --- numbers with their own exponent, so that no power overflows --- */

/* A positive number (hi + lo) 2^exponent, 1 <= hi < 2. */
struct gamma_number {
    double hi, lo;
    int64_t exponent;
};

static double power_of_two(int64_t e)
{
    return bits_to_f64((uint64_t)(e + 1023) << 52); /* -1022 <= e <= 1023 */
}

static int64_t exponent_of(double v)
{
    return (int64_t)(bits_of_f64(v) >> 52 & 2047) - 1023; /* v normal */
}

static struct gamma_number normalize(struct pair v, int64_t exponent)
{
    int64_t e = exponent_of(v.hi);
    double scale = power_of_two(-e);
    return (struct gamma_number){v.hi * scale, v.lo * scale, exponent + e};
}

static struct gamma_number product(struct gamma_number a, struct gamma_number b)
{
    struct pair p = multiply((struct pair){a.hi, a.lo}, (struct pair){b.hi, b.lo});
    return normalize(p, a.exponent + b.exponent);
}

/* gamma, or what it is the inverse of. */
static struct gamma_number base_of(double alpha, bool inverse)
{
    struct pair above = add_exact(1, alpha), below = add_exact(1, -alpha);
    return normalize(inverse ? divide(below, above) : divide(above, below), 0);
}

/* a b, not brought back below 2 before it is large: that is exact, whenever it is done. */
static struct gamma_number grown_product(struct gamma_number a, struct gamma_number b)
{
    struct pair p = multiply((struct pair){a.hi, a.lo}, (struct pair){b.hi, b.lo});
    if (__builtin_expect(p.hi > 0x1p200, 0))
        return normalize(p, a.exponent + b.exponent);
    return (struct gamma_number){p.hi, p.lo, a.exponent + b.exponent};
}

/* gamma^index: the definition of the bucket edges. */
static struct gamma_number edge(const struct gamma_map *map, int32_t index)
{
    struct gamma_number power = {1, 0, 0}, base = base_of(map->alpha, index < 0);
    for (uint32_t n = index < 0 ? 0 - (uint32_t)index : (uint32_t)index; n > 0; n >>= 1) {
        if (n & 1)
            power = grown_product(power, base);
        if (n > 1)
            base = grown_product(base, base);
    }
    return normalize((struct pair){power.hi, power.lo}, power.exponent);
}

/* |x| >= e? */
static bool reaches(double x, struct gamma_number e)
{
    x = fabs(x);
    int64_t offset = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54; /* exact */
        offset = -54;
    }
    struct gamma_number v = normalize((struct pair){x, 0}, offset);
    if (v.exponent != e.exponent)
        return v.exponent > e.exponent;
    return v.hi != e.hi ? v.hi > e.hi : e.lo <= 0;
}

static double to_double(struct gamma_number v)
{
    if (v.exponent > 1023)
        return DBL_MAX;
    if (v.exponent >= -1022)
        return (v.hi + v.lo) * power_of_two(v.exponent);
    if (v.exponent < -1100)
        return 0;
    return (v.hi + v.lo) * 0x1p-1000 * power_of_two(v.exponent + 1000);
}

/* log2((1 + alpha) / (1 - alpha)) = 2 atanh(alpha) / ln 2; the argument is halved until its series is short. */
static double log2_gamma(double alpha)
{
    double a = alpha, scale = 2;
    while (a > 0.1) {
        a = a / (1 + sqrt((1 - a) * (1 + a)));
        scale *= 2;
    }
    double square = a * a, power = a, sum = 0, last = -1;
    for (int i = 1; i < 40 && sum != last; i += 2) { /* once a term is lost, all smaller ones are */
        last = sum;
        sum += power / i;
        power *= square;
    }
    return scale * sum * 1.4426950408889634074;
}

void gamma_init(struct gamma_map *map, double alpha)
{
    map->alpha = alpha;
    map->per_octave = 1 / log2_gamma(alpha);
    map->slack = map->per_octave * 4e-12 + 1e-9;
}

/*
 * No division. log2 of the mantissa = that of its sixteenth plus log2(1 + t), |t| < 0.031, by six
 * terms: wrong by less than 7e-12. Where that does not decide an index, as with numbers that are not normal, the
 * logarithm and the edges that define it do.
 */
void ddsketch_indexes_scalar(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it leaves an integer, in the low mantissa bits */
    const double per_octave = map->per_octave, slack = map->slack * 4, c = 1.4426950408889634074; /* 1 / ln 2 */
    for (size_t i = 0; i < n; i++) {
        uint64_t magnitude = bits_of_f64(x[i]) & INT64_MAX, sixteenth = magnitude >> 48 & 15;
        double m = bits_to_f64((magnitude & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
        double e = (double)((int32_t)(magnitude >> 52) - 1023), t = m * gamma_reciprocal[sixteenth] - 1, tt = t * t;
        double series = (c + t * (-c / 2)) + tt * ((c / 3 + t * (-c / 4)) + tt * (c / 5 + t * (-c / 6)));
        double log = (e + gamma_logarithm[sixteenth] + t * series) * per_octave;
        double rounded = log + round, off = log - (rounded - round);
        ret_index[i] = (int32_t)(uint32_t)bits_of_f64(rounded) - (off < 0);
        bool normal = magnitude - (UINT64_C(1) << 52) < UINT64_C(2046) << 52;
        if (__builtin_expect(!(fabs(off) > slack) | !normal, 0)) {
            ret_index[i] = GAMMA_NONE;
            gamma_settle(map, x + i, 1, ret_index + i);
        }
    }
}

/* log2 of |x|: exponent, plus 2 atanh((m - 1) / (m + 1)) / ln 2 with m in [sqrt 1/2, sqrt 2), in buckets. Shares are
 * defined by it, operation by operation; contraction is off. */
static double log_of_normal(uint64_t magnitude, double per_octave)
{
    static const double c[] = {2.8853900817779268, 0.9617966939259756, 0.5770780163555853,  0.4121985831111324,
                               0.3205988979753252, 0.2623081892525388, 0.22195308321368669, 0.19235933878519512};
    const uint64_t root_2 = UINT64_C(0x3ff6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    uint64_t mantissa = (magnitude & UINT64_C(0x000fffffffffffff)) | one;
    uint64_t up = (root_2 - mantissa) >> 63; /* 1 above the root of 2: half the mantissa, one octave more */
    double e = bits_to_f64(((magnitude >> 52) + up) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    double m = bits_to_f64(mantissa - (up << 52));
    double s = (m - 1) / (m + 1), z = s * s;
    double series = c[0] + z * (c[1] + z * (c[2] + z * (c[3] + z * (c[4] + z * (c[5] + z * (c[6] + z * c[7]))))));
    return (e + s * series) * per_octave;
}

/* The logarithm of any |x| > 0, in buckets. */
static double log_of(const struct gamma_map *map, double x)
{
    double normal = fabs(x) < DBL_MIN ? x * 0x1p54 : x;
    double log = log_of_normal(bits_of_f64(fabs(normal)), map->per_octave);
    return fabs(x) < DBL_MIN ? log - 54 * map->per_octave : log;
}

static int32_t index_of_log(const struct gamma_map *map, double x, double log)
{
    double nearest = floor(log + 0.5);
    if (fabs(log - nearest) > map->slack)
        return (int32_t)nearest - (log < nearest);
    return (int32_t)nearest - !reaches(x, edge(map, (int32_t)nearest));
}

int32_t gamma_index(const struct gamma_map *map, double x)
{
    return index_of_log(map, x, log_of(map, x));
}

void gamma_settle(const struct gamma_map *map, const double *x, size_t n, int32_t *index)
{
    for (size_t i = 0; i < n; i++)
        if (index[i] == GAMMA_NONE && x[i] != 0 && bits_is_finite(x[i]))
            index[i] = gamma_index(map, x[i]);
}

int32_t gamma_place(const struct gamma_map *map, double x, uint8_t *ret_share)
{
    double log = log_of(map, x);
    int32_t index = index_of_log(map, x, log);
    double share = (log - index) * 256;
    *ret_share = share < 0 ? 0 : share > 255 ? 255 : (uint8_t)share;
    return index;
}

double gamma_representative(const struct gamma_map *map, int32_t index)
{
    struct pair above = add_exact(1, map->alpha);
    return to_double(product(edge(map, index), (struct gamma_number){above.hi, above.lo, 0}));
}

double gamma_at_share(const struct gamma_map *map, int32_t index, uint8_t share)
{
    /* gamma^(1/512), nine roots down, to the odd power 2 share + 1 */
    struct gamma_number gamma = base_of(map->alpha, false);
    double root = (gamma.hi + gamma.lo) * power_of_two(gamma.exponent);
    double factor = 1;
    for (int i = 0; i < 9; i++) {
        root = sqrt(root);
        if ((2 * share + 1) >> (8 - i) & 1)
            factor *= root;
    }
    return to_double(product(edge(map, index), normalize((struct pair){factor, 0}, 0)));
}
