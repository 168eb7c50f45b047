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

/* gamma^index: the definition of the bucket edges. */
static struct gamma_number edge(const struct gamma_map *map, int32_t index)
{
    struct gamma_number power = {1, 0, 0}, base = index < 0 ? map->inverse : map->gamma;
    for (uint32_t n = index < 0 ? 0 - (uint32_t)index : (uint32_t)index; n > 0; n >>= 1) {
        if (n & 1)
            power = product(power, base);
        if (n > 1)
            base = product(base, base);
    }
    return power;
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
    double square = a * a, power = a, sum = 0;
    for (int i = 1; i < 40; i += 2) {
        sum += power / i;
        power *= square;
    }
    return scale * sum * 1.4426950408889634074;
}

void gamma_init(struct gamma_map *map, double alpha)
{
    struct pair above = add_exact(1, alpha), below = add_exact(1, -alpha);
    map->alpha = alpha;
    map->gamma = normalize(divide(above, below), 0);
    map->inverse = normalize(divide(below, above), 0);
    map->per_octave = 1 / log2_gamma(alpha);
    map->slack = map->per_octave * 4e-12 + 1e-9;
}

void ddsketch_indexes_scalar(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index)
{
    gamma_loop_indexes(map, x, n, ret_index);
}

/* The logarithm of any |x| > 0, in buckets. */
static double log_of(const struct gamma_map *map, double x)
{
    double normal = fabs(x) < DBL_MIN ? x * 0x1p54 : x;
    double log = gamma_loop_log(bits_of_f64(fabs(normal)), map->per_octave);
    return fabs(x) < DBL_MIN ? log - 54 * map->per_octave : log;
}

int32_t gamma_index(const struct gamma_map *map, double x)
{
    double log = log_of(map, x), nearest = floor(log + 0.5);
    if (fabs(log - nearest) > map->slack)
        return (int32_t)nearest - (log < nearest);
    return (int32_t)nearest - !reaches(x, edge(map, (int32_t)nearest));
}

uint8_t gamma_share(const struct gamma_map *map, double x, int32_t index)
{
    double share = (log_of(map, x) - index) * 256;
    return share < 0 ? 0 : share > 255 ? 255 : (uint8_t)share;
}

double gamma_representative(const struct gamma_map *map, int32_t index)
{
    struct pair above = add_exact(1, map->alpha);
    return to_double(product(edge(map, index), (struct gamma_number){above.hi, above.lo, 0}));
}

double gamma_at_share(const struct gamma_map *map, int32_t index, uint8_t share)
{
    /* gamma^(1/512), nine roots down, to the odd power 2 share + 1 */
    double root = (map->gamma.hi + map->gamma.lo) * power_of_two(map->gamma.exponent);
    double factor = 1;
    for (int i = 0; i < 9; i++) {
        root = sqrt(root);
        if ((2 * share + 1) >> (8 - i) & 1)
            factor *= root;
    }
    return to_double(product(edge(map, index), normalize((struct pair){factor, 0}, 0)));
}
