#include "kernels/counters.h"

#include <math.h>

#include "kernels/counters_loops.h"

COUNTERS_VARIANT_SUMS
COUNTERS_VARIANT_ITEMS
const struct counters_ops counters_scalar = COUNTERS_VARIANT_TABLE;

/* splitmix64 of 1..16 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators), made odd. */
const uint64_t counters_odd[COUNTERS_DEPTH_MAX] = {
    UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f5), UINT64_C(0x06c45d188009454f),
    UINT64_C(0xf88bb8a8724c81ed), UINT64_C(0x1b39896a51a8749b), UINT64_C(0x53cb9f0c747ea2eb),
    UINT64_C(0x2c829abe1f4532e1), UINT64_C(0xc584133ac916ab3d), UINT64_C(0x3ee5789041c98ac3),
    UINT64_C(0xf3b8488c368cb0a7), UINT64_C(0x657eecdd3cb13d09), UINT64_C(0xc2d326e0055bdef7),
    UINT64_C(0x8621a03fe0bbdb7b), UINT64_C(0x8e1f7555983aa92f), UINT64_C(0xb54e0f1600cc4d19),
    UINT64_C(0x84bb3f97971d80ab)};

int counters_weigh(const double *weights, uint32_t n, bool is_signed, struct mass *ret)
{
    *ret = (struct mass){.whole = n, .real = n};
    if (!weights)
        return SKETCH_OK;
    ret->whole = 0;
    ret->real = 0;
    for (uint32_t i = 0; i < n; i++) {
        double size = fabs(weights[i]);
        if (!bits_is_finite(size) || (weights[i] < 0 && !is_signed))
            return SKETCH_BAD_DATA;
        ret->real += size;
        if (size != floor(size) || size >= 0x1p62)
            ret->is_real = true;
        if (ret->is_real)
            continue;
        ret->whole += (uint64_t)size;
        ret->is_real = ret->whole >= COUNTERS_MASS_END;
    }
    return ret->is_real && (!is_signed || !(ret->real < COUNTERS_REAL_END)) ? SKETCH_BAD_DATA : SKETCH_OK;
}

int counters_mass_add(struct mass *mass, const struct mass *other, bool is_signed)
{
    mass->real += other->real;
    mass->is_real |= other->is_real;
    if (!mass->is_real) {
        mass->whole += other->whole;
        mass->is_real = mass->whole >= COUNTERS_MASS_END;
    }
    return mass->is_real && (!is_signed || !(mass->real < COUNTERS_REAL_END)) ? SKETCH_BAD_DATA : SKETCH_OK;
}

enum counter_form counters_form(const struct mass *mass, bool is_signed)
{
    if (mass->is_real)
        return COUNTERS_REAL;
    return mass->whole >> (is_signed ? 31 : 32) == 0 ? COUNTERS_NARROW : COUNTERS_WIDE;
}

bool counters_mass_possible(const struct mass *mass)
{
    return mass->is_real ? mass->real >= 0 && mass->real < COUNTERS_REAL_END : mass->whole < COUNTERS_MASS_END;
}

void counters_mass_store(uint8_t *p, const struct mass *mass)
{
    if (mass->is_real)
        bits_store_f64(p, mass->real);
    else
        bits_store_u64(p, mass->whole);
}

struct mass counters_mass_load(const uint8_t *p, bool is_real)
{
    if (is_real)
        return (struct mass){true, 0, bits_load_f64(p)};
    uint64_t whole = bits_load_u64(p);
    return (struct mass){false, whole, (double)whole};
}

/* A strip of one table into a wider one. */
static void add_run(void *dst, enum counter_form form, const uint8_t *src, enum counter_form src_form, bool is_signed,
                    size_t n)
{
    if (form == COUNTERS_REAL) {
        double *d = dst;
        for (size_t i = 0; i < n; i++)
            d[i] += counters_value(src, src_form, is_signed, i);
    } else if (src_form == COUNTERS_WIDE) {
        uint64_t *d = dst;
        for (size_t i = 0; i < n; i++)
            d[i] += bits_load_u64(src + 8 * i);
    } else {
        uint64_t *d = dst;
        for (size_t i = 0; i < n; i++)
            d[i] += (uint64_t)counters_whole(src, COUNTERS_NARROW, is_signed, i);
    }
}

/* A strip at a time, so that it stays in the first cache over all inputs. */
void counters_add_tables(void *dst, enum counter_form form, const struct counters_table *src, uint32_t k,
                         bool is_signed, size_t n)
{
    enum { TOGETHER = 16 };
    const uint8_t *cells[TOGETHER];
    for (size_t at = 0; at < n; at += COUNTERS_STRIP) {
        size_t run = n - at < COUNTERS_STRIP ? n - at : COUNTERS_STRIP;
        uint8_t *d = (uint8_t *)dst + at * counters_cell_size(form);
        for (uint32_t i = 0; i < k; i++) {
            cells[i % TOGETHER] = src[i].cells + at * counters_cell_size(src[i].form);
            if (form != COUNTERS_NARROW)
                add_run(d, form, cells[i % TOGETHER], src[i].form, is_signed, run);
            else if (i + 1 == k || i % TOGETHER == TOGETHER - 1)
                counters_ops.add_up((uint32_t *)(void *)d, cells, i % TOGETHER + 1, run);
        }
    }
}

bool counters_row_possible(const uint8_t *cells, enum counter_form form, bool is_signed, size_t n,
                           const struct mass *mass, bool is_all)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (form == COUNTERS_REAL) {
            if (!(fabs(bits_load_f64(cells + 8 * i)) <= 2 * mass->real)) /* rounding is far from that */
                return false;
            continue;
        }
        int64_t v = counters_whole(cells, form, is_signed, i);
        uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
        if (size > mass->whole - sum || (v < 0 && !is_signed))
            return false;
        sum += size;
    }
    if (form == COUNTERS_REAL || !is_all)
        return true;
    return is_signed ? (mass->whole - sum) % 2 == 0 : sum == mass->whole;
}

/* One row's counters of a batch, at most COUNTERS_BATCH. Signs are arithmetic, so that no branch depends on them. */
static void add_narrow(uint32_t *row, const uint32_t *place, const uint64_t *words, size_t n)
{
    uint32_t at[COUNTERS_BATCH], weight[COUNTERS_BATCH]; /* first what vectors can do */
    for (size_t i = 0; i < n; i++) {
        uint32_t minus = 0 - (place[i] >> 31);
        weight[i] = ((uint32_t)words[i] ^ minus) - minus;
        at[i] = place[i] & ~COUNTERS_MINUS;
    }
    for (size_t i = 0; i < n; i++)
        row[at[i]] += weight[i];
}
static void add_wide(uint64_t *row, const uint32_t *place, const uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t minus = 0 - (uint64_t)(place[i] >> 31);
        row[place[i] & ~COUNTERS_MINUS] += ((words ? words[i] : 1) ^ minus) - minus;
    }
}
static void add_real(double *row, const uint32_t *place, const uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        row[place[i] & ~COUNTERS_MINUS] += bits_to_f64(words[i] ^ (uint64_t)(place[i] & COUNTERS_MINUS) << 32);
}
/* Weights of 1, two places with one load. */
static void count_signs(uint32_t *row, const uint32_t *place, size_t n)
{
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        uint64_t two = bits_load_u64(place + i);
        row[(uint32_t)two & ~COUNTERS_MINUS] += 1 | (0 - ((uint32_t)two >> 31));
        row[two >> 32 & ~COUNTERS_MINUS] += 1 | (0 - (uint32_t)(two >> 63));
    }
    if (i < n)
        row[place[i] & ~COUNTERS_MINUS] += 1 | (0 - (place[i] >> 31));
}
static void count_plain(uint32_t *row, const uint32_t *place, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j += 2) {
            uint64_t two = bits_load_u64(place + i + j);
            row[(uint32_t)two]++;
            row[two >> 32]++;
        }
    for (; i < n; i++)
        row[place[i]]++;
}

void counters_add_places(void *row, enum counter_form form, bool is_signed, const uint32_t *place,
                         const uint64_t *words, size_t n)
{
    if (form == COUNTERS_REAL)
        add_real(row, place, words, n);
    else if (form == COUNTERS_WIDE)
        add_wide(row, place, words, n);
    else if (words)
        add_narrow(row, place, words, n);
    else if (is_signed)
        count_signs(row, place, n);
    else
        count_plain(row, place, n);
}

void counters_add_items(void *cells, enum counter_form form, bool is_signed, uint32_t depth, uint32_t width,
                        const uint64_t *hashes, const uint64_t *words, size_t n)
{
    uint32_t places[COUNTERS_DEPTH_MAX * COUNTERS_BATCH];
    size_t row_size = width * counters_cell_size(form);
    counters_ops.places(places, COUNTERS_BATCH, hashes, n, depth, width, is_signed);
    for (uint32_t r = 0; r < depth; r++)
        counters_add_places((uint8_t *)cells + r * row_size, form, is_signed, places + (size_t)r * COUNTERS_BATCH,
                            words, n);
}

void counters_read_items(const void *cells, enum counter_form form, bool is_signed, uint32_t depth, uint32_t width,
                         const uint64_t *hashes, size_t n, double *ret)
{
    uint32_t places[COUNTERS_DEPTH_MAX * COUNTERS_BATCH];
    if (form != COUNTERS_NARROW) {
        for (size_t i = 0; i < n; i++)
            ret[i] = counters_read_item(cells, form, is_signed, depth, width, hashes[i]);
        return;
    }
    counters_ops.places(places, COUNTERS_BATCH, hashes, n, depth, width, is_signed);
    (is_signed ? counters_ops.median : counters_ops.least)(ret, cells, places, COUNTERS_BATCH, n, depth, width);
}

double counters_median(double *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        double x = v[i];
        uint32_t j = i;
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double counters_read_item(const uint8_t *cells, enum counter_form form, bool is_signed, uint32_t depth, uint32_t width,
                          uint64_t hash)
{
    double rows[COUNTERS_DEPTH_MAX], least = INFINITY;
    for (uint32_t r = 0; r < depth; r++) {
        uint64_t spread = counters_spread(hash, r);
        double v = counters_value(cells, form, is_signed, (size_t)r * width + counters_index(spread, width));
        rows[r] = is_signed && counters_is_minus(spread) ? -v : v;
        least = rows[r] < least ? rows[r] : least;
    }
    return is_signed ? counters_median(rows, depth) : least;
}

static double squares(const uint8_t *cells, enum counter_form form, bool is_signed, size_t n)
{
    double part[4] = {0}; /* so that additions do not wait for each other */
    for (size_t i = 0; i < n; i++) {
        double v = counters_value(cells, form, is_signed, i);
        part[i % 4] += v * v;
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
}

double counters_norm(const uint8_t *cells, enum counter_form form, uint32_t depth, uint32_t width)
{
    double rows[COUNTERS_DEPTH_MAX];
    for (uint32_t r = 0; r < depth; r++)
        rows[r] = squares(cells + (size_t)r * width * counters_cell_size(form), form, true, width);
    return sqrt(counters_median(rows, depth));
}
