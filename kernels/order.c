/*
 * Sorting without unpredictable branches: runs of eight by a sorting network, then merges that choose with conditional
 * moves. Two equal runs merge from both ends at once, which needs no bounds and keeps two independent chains in flight.
 */
#include "kernels/order.h"

#include "kernels/ops.h"

enum { RUN = 8 };

static inline void exchange(uint64_t *a, uint64_t *b)
{
    uint64_t x = *a, y = *b;
    *a = x < y ? x : y;
    *b = x < y ? y : x;
}

/* The 19-comparator network for eight (Knuth, The Art of Computer Programming 3, 5.3.4). */
static void sort8(uint64_t *v)
{
    uint64_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    exchange(&a, &c), exchange(&b, &d), exchange(&e, &g), exchange(&f, &h);
    exchange(&a, &e), exchange(&b, &f), exchange(&c, &g), exchange(&d, &h);
    exchange(&a, &b), exchange(&c, &d), exchange(&e, &f), exchange(&g, &h);
    exchange(&c, &e), exchange(&d, &f);
    exchange(&b, &e), exchange(&d, &g);
    exchange(&b, &c), exchange(&d, &e), exchange(&f, &g);
    v[0] = a, v[1] = b, v[2] = c, v[3] = d, v[4] = e, v[5] = f, v[6] = g, v[7] = h;
}

static void sort_few(uint64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        size_t j = i;
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

/* Two runs of n each: the smaller n leave from the front, the larger n from the back; neither side can run out. Of i
 * placed, `front` came from a's front and `back` from a's back, the others from b. */
static void merge_equal(uint64_t *restrict dst, const uint64_t *restrict a, const uint64_t *restrict b, size_t n)
{
    size_t front = 0, back = 0, last = n - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = a[front], y = b[i - front];
        dst[i] = x <= y ? x : y;
        front += x <= y;
        uint64_t z = a[last - back], w = b[last - (i - back)];
        dst[2 * n - 1 - i] = z > w ? z : w;
        back += z > w;
    }
}

void order_merge(uint64_t *dst, const uint64_t *a, size_t a_n, const uint64_t *b, size_t b_n)
{
    if (a_n == b_n && a_n > 0) {
        merge_equal(dst, a, b, a_n);
        return;
    }
    const uint64_t *a_end = a + a_n, *b_end = b + b_n;
    while (a < a_end && b < b_end) {
        size_t from_a = *a <= *b;
        *dst++ = from_a ? *a : *b;
        a += from_a;
        b += 1 - from_a;
    }
    if (a < a_end)
        memcpy(dst, a, (size_t)(a_end - a) * sizeof *dst);
    else if (b < b_end)
        memcpy(dst, b, (size_t)(b_end - b) * sizeof *dst);
}

void order_keys_scalar(uint64_t *keys, const uint8_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = order_key_at(values + i * 8);
}

void order_values_scalar(double *values, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = order_value(keys[i]);
}

void order_merge_blocks(uint64_t *v, size_t n, size_t run, uint64_t *tmp)
{
    uint64_t *from = v, *to = tmp;
    for (; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t a_n = run < n - i ? run : n - i;
            size_t b_n = n - i - a_n < run ? n - i - a_n : run;
            order_merge(to + i, from + i, a_n, from + i + a_n, b_n);
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}

void order_sort_scalar(uint64_t *v, size_t n, uint64_t *tmp)
{
    size_t full = n / RUN * RUN;
    for (size_t i = 0; i < full; i += RUN)
        sort8(v + i);
    sort_few(v + full, n - full);
    order_merge_blocks(v, n, RUN, tmp);
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* v[lo..hi) becomes smaller ones, equal ones, greater ones. */
struct parts {
    size_t equal, greater; /* where they begin */
};
static struct parts partition(uint64_t *v, size_t lo, size_t hi, uint64_t pivot, uint64_t *tmp)
{
    size_t less = lo, more = 0;
    for (size_t i = lo; i < hi; i++) {
        uint64_t x = v[i];
        v[less] = x; /* less <= i: what was here has been read */
        tmp[more] = x;
        less += x < pivot;
        more += x > pivot;
    }
    struct parts p = {less, hi - more};
    for (size_t i = p.equal; i < p.greater; i++)
        v[i] = pivot;
    memcpy(v + p.greater, tmp, more * sizeof *v);
    return p;
}

void order_select_scalar(uint64_t *v, size_t n, size_t at, uint64_t *tmp)
{
    enum { FEW = 24, ROUNDS = 16 };
    size_t lo = 0, hi = n;
    for (int round = 0; hi - lo > FEW; round++) {
        if (round == ROUNDS) { /* the pivots were bad ones */
            order_sort_scalar(v + lo, hi - lo, tmp);
            lo = hi;
            break;
        }
        size_t step = (hi - lo) / 8;
        const uint64_t *p = v + lo;
        uint64_t pivot =
            middle_of(middle_of(p[0], p[step], p[2 * step]), middle_of(p[3 * step], p[4 * step], p[5 * step]),
                      middle_of(p[6 * step], p[7 * step], p[hi - lo - 1]));
        struct parts part = partition(v, lo, hi, pivot, tmp);
        if (at < part.equal) {
            hi = part.equal;
        } else if (at < part.greater) {
            lo = hi = part.greater;
        } else {
            lo = part.greater;
        }
    }
    sort_few(v + lo, hi - lo);
    if (at + 1 != hi || hi == n)
        return;
    size_t least = hi;
    for (size_t i = hi + 1; i < n; i++)
        least = v[i] < v[least] ? i : least;
    uint64_t swap = v[hi];
    v[hi] = v[least];
    v[least] = swap;
}

size_t order_between_scalar(uint64_t *out, const uint8_t *values, size_t n, uint64_t low, uint64_t high,
                            size_t *ret_below)
{
    size_t kept = 0, below = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = order_key_at(values + i * 8);
        out[kept] = key; /* no branch: which are kept is unforeseeable */
        kept += key >= low && key <= high;
        below += key < low;
    }
    *ret_below = below;
    return kept;
}

void order_merge_runs(uint64_t *v, uint64_t *ends, uint32_t k, uint64_t *tmp)
{
    uint64_t n = k > 0 ? ends[k - 1] : 0, *from = v, *to = tmp;
    while (k > 1) {
        uint32_t left = 0;
        uint64_t start = 0;
        for (uint32_t i = 0; i < k; i += 2) {
            uint64_t middle = ends[i], end = i + 1 < k ? ends[i + 1] : middle;
            order_merge(to + start, from + start, middle - start, from + middle, end - middle);
            ends[left++] = end;
            start = end;
        }
        k = left;
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}
