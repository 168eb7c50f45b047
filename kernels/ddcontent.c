#include "kernels/ddcontent.h"

#include "kernels/bits.h"
#include "kernels/carve.h"

enum { HAS_NONFINITE = 8, HAS_COLLAPSED = 16, HAS_NEGATIVE = 32, HAS_ZERO = 64, BINS_DEFAULT = 2048 };

uint32_t ddcontent_bins_most(const struct sketch_params *params)
{
    return params->max_bins == 0 ? BINS_DEFAULT : params->max_bins;
}

/* --- writing --- */

static uint8_t alpha_code(double alpha)
{
    double scale = 10;
    for (unsigned e = 1; e <= 6; e++, scale *= 10) {
        unsigned m = (unsigned)(alpha * scale + 0.5); /* the only one that can be */
        if (m >= 1 && m <= 15 && bits_of_f64(m / scale) == bits_of_f64(alpha))
            return (uint8_t)(e << 4 | m);
    }
    return 0;
}

/* Folds the bins below `cut` into it. */
static void fold(struct ddstore *s, int32_t cut)
{
    uint32_t kept = s->bins_n;
    uint64_t folded = 0;
    while (kept > 0 && s->bins[kept - 1].index < cut)
        folded += s->bins[--kept].n;
    if (folded == 0)
        return;
    if (kept == 0 || s->bins[kept - 1].index != cut) {
        if (kept == 0)
            s->top_share = 0;
        s->bins[kept++] = (struct ddstore_bin){cut, 0};
    }
    s->bins[kept - 1].n += folded;
    s->bins_n = kept;
    s->low_share = 0;
}

/* Keeps max_bins - 2 greatest magnitudes of both signs and folds the rest into the smallest kept: each sign may need
 * one bin there. */
static void collapse(struct ddcontent *c, uint32_t most)
{
    struct ddstore *a = &c->positive, *b = &c->negative;
    if (a->bins_n + b->bins_n <= most)
        return;
    uint32_t i = 0, j = 0;
    int32_t cut = 0;
    while (i + j < most - 2) {
        bool from_a = j == b->bins_n || (i < a->bins_n && a->bins[i].index >= b->bins[j].index);
        cut = from_a ? a->bins[i].index : b->bins[j].index;
        i += from_a;
        j += !from_a;
    }
    fold(a, cut);
    fold(b, cut);
    c->collapsed = true;
}

int ddcontent_write(uint8_t *dst, size_t cap, size_t *ret_size, struct ddcontent *c, const struct sketch_params *params)
{
    collapse(c, ddcontent_bins_most(params));
    size_t positive_size = 0, negative_size = 0;
    int positive_form = DDSTORE_NONE, negative_form = DDSTORE_NONE;
    if (c->positive.bins_n > 0)
        positive_form = ddstore_choose(&c->positive, &positive_size);
    if (c->negative.bins_n > 0)
        negative_form = ddstore_choose(&c->negative, &negative_size);
    uint8_t head[DDCONTENT_HEAD_MAX], *p = head;
    *p++ = (uint8_t)(positive_form | (c->nonfinite_n ? HAS_NONFINITE : 0) | (c->collapsed ? HAS_COLLAPSED : 0) |
                     (negative_form ? HAS_NEGATIVE : 0) | (c->zero_n ? HAS_ZERO : 0));
    *p++ = alpha_code(params->alpha);
    if (p[-1] == 0) {
        bits_store_f64(p, params->alpha);
        p += 8;
    }
    if (c->nonfinite_n)
        p = bits_put_varint(p, c->nonfinite_n);
    if (c->zero_n)
        p = bits_put_varint(p, c->zero_n);
    if (negative_form) {
        *p++ = (uint8_t)negative_form;
        p = bits_put_varint(p, negative_size);
    }
    size_t head_size = (size_t)(p - head);
    if (cap < head_size + negative_size + positive_size)
        return SKETCH_NO_ROOM;
    memcpy(dst, head, head_size);
    p = dst + head_size;
    if (negative_form)
        p = ddstore_write(p, &c->negative, negative_form);
    if (positive_form)
        p = ddstore_write(p, &c->positive, positive_form);
    *ret_size = (size_t)(p - dst);
    return SKETCH_OK;
}

/* --- reading --- */

static int refuse(const char **reason, const char *text)
{
    *reason = text;
    return SKETCH_CORRUPT;
}

static double alpha_of(uint8_t code)
{
    static const double scale[16] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    return (code & 15) / scale[code >> 4];
}

/* The head of any bytes. */
int ddhead_read(struct ddhead *h, const uint8_t *bytes, size_t size, const char **reason)
{
    const uint8_t *p = bytes, *end = bytes + size;
    h->nonfinite_n = h->zero_n = 0;
    h->has_positive = h->has_negative = false;
    if (size < 3)
        return refuse(reason, "a DDSketch state is cut short");
    uint8_t bits = *p++, code = *p++;
    h->collapsed = bits & HAS_COLLAPSED;
    h->alpha = alpha_of(code); /* of a code there is */
    if (bits & 128 || (code != 0 && (code >> 4 < 1 || code >> 4 > 6 || (code & 15) == 0)))
        return refuse(reason, "a DDSketch state's head is malformed");
    if (code == 0) {
        if (end - p < 8)
            return refuse(reason, "a DDSketch state is cut short");
        h->alpha = bits_load_f64(p);
        p += 8;
    }
    if (bits & HAS_NONFINITE)
        p = bits_get_varint(p, end, &h->nonfinite_n);
    if (p && bits & HAS_ZERO)
        p = bits_get_varint(p, end, &h->zero_n);
    if (!p || h->nonfinite_n >= DDCONTENT_N_END || h->zero_n >= DDCONTENT_N_END ||
        (bits & HAS_NONFINITE && h->nonfinite_n == 0) || (bits & HAS_ZERO && h->zero_n == 0))
        return refuse(reason, "a DDSketch state's counts are malformed");
    if (bits & HAS_NEGATIVE) {
        uint64_t store_size = 0;
        int form = p < end ? *p++ : DDSTORE_NONE;
        p = bits_get_varint(p, end, &store_size);
        if (!p || store_size > (uint64_t)(end - p))
            return refuse(reason, "a DDSketch state's negative store is cut short");
        h->has_negative = true;
        ddstore_open(&h->negative, p, (size_t)store_size, form);
        p += store_size;
    }
    h->has_positive = (bits & DDCONTENT_FORM_MASK) != DDSTORE_NONE;
    if (h->has_positive)
        ddstore_open(&h->positive, p, (size_t)(end - p), bits & DDCONTENT_FORM_MASK);
    else if (p != end)
        return refuse(reason, "bytes follow a DDSketch state");
    if ((h->has_negative && h->negative.failed) || (h->has_positive && h->positive.failed))
        return refuse(reason, "a DDSketch store is malformed");
    return SKETCH_OK;
}

static const struct ddstore_cursor *head_store(const struct ddhead *h, bool negative)
{
    if (negative)
        return h->has_negative ? &h->negative : NULL;
    return h->has_positive ? &h->positive : NULL;
}

/* --- the sum of states --- */

void ddtally_bins(const struct ddtally *t, int32_t low, struct ddstore *s)
{
    uint32_t bins_n = s->bins_n, width = (uint32_t)(t->top - low) + 1;
    for (uint32_t i = 0; i < width; i++) {
        uint64_t n = t->window[i];
        s->bins[bins_n] = (struct ddstore_bin){t->top - (int32_t)i, n}; /* no branch: stays if there are samples */
        bins_n += n != 0;
        s->n += n;
    }
    s->bins_n = bins_n;
}

void ddsort_bins(const uint64_t *keys, uint64_t n, const uint64_t *counts, struct ddstore *s)
{
    for (uint64_t i = 0; i < n; i++) {
        int32_t index = ddsort_index(keys[i]);
        if (s->bins_n == 0 || s->bins[s->bins_n - 1].index != index)
            s->bins[s->bins_n++] = (struct ddstore_bin){index, 0};
        uint64_t samples = counts ? counts[(uint32_t)keys[i]] : 1;
        s->bins[s->bins_n - 1].n += samples;
        s->n += samples;
    }
}

/* Keeps in s the low share of the lowest bin so far. */
static void lower(struct ddstore *s, int32_t *low, int32_t index, uint8_t share)
{
    if (index > *low || (index == *low && share >= s->low_share))
        return;
    *low = index;
    s->low_share = share;
}

/* All heads' bins of one sign into the tally, and into s the lowest one's share; false when the spread is too wide. */
static bool unite_narrow(struct ddstore *s, const struct ddhead *heads, uint32_t k, bool negative, struct ddtally *t,
                         int32_t *ret_low)
{
    int32_t low = INT32_MAX;
    for (uint32_t i = 0; i < k; i++) {
        const struct ddstore_cursor *store = head_store(&heads[i], negative);
        if (!store)
            continue;
        struct ddstore_cursor c = *store;
        int64_t lowest = ddstore_tally(&c, t, UINT64_MAX);
        if (lowest == INT64_MIN)
            return false;
        lower(s, &low, (int32_t)lowest, c.low_share);
    }
    *ret_low = low;
    return true;
}

/* Entries of one sign, one for each bin. */
static uint64_t entries_count(const struct ddhead *heads, uint32_t k, bool negative)
{
    uint64_t entries = 0, n;
    for (uint32_t i = 0; i < k; i++) {
        const struct ddstore_cursor *store = head_store(&heads[i], negative);
        if (!store)
            continue;
        struct ddstore_cursor c = *store;
        int32_t index, last = INT32_MIN;
        while (ddstore_next(&c, &index, &n)) {
            entries += index != last;
            last = index;
        }
    }
    return entries;
}

/* The same as unite_narrow by sorting entries. */
static void unite_wide(struct ddstore *s, const struct ddhead *heads, uint32_t k, bool negative, uint64_t *keys,
                       uint64_t *tmp, uint64_t *counts)
{
    int32_t low = INT32_MAX;
    uint32_t entries = 0;
    for (uint32_t i = 0; i < k; i++) {
        const struct ddstore_cursor *store = head_store(&heads[i], negative);
        if (!store)
            continue;
        struct ddstore_cursor c = *store;
        int32_t index = 0, last = INT32_MIN;
        uint64_t n;
        while (ddstore_next(&c, &index, &n)) {
            if (index == last) {
                counts[entries - 1] += n;
                continue;
            }
            last = index;
            counts[entries] = n;
            keys[entries] = ddsort_key(index, entries);
            entries++;
        }
        lower(s, &low, index, c.low_share);
    }
    order_sort(keys, entries, tmp);
    ddsort_bins(keys, entries, counts, s);
}

/* The greatest index of one sign, INT32_MIN if there is none; s gets its share. */
static int32_t find_top(struct ddstore *s, const struct ddhead *heads, uint32_t k, bool negative)
{
    int32_t top = INT32_MIN;
    for (uint32_t i = 0; i < k; i++) {
        const struct ddstore_cursor *c = head_store(&heads[i], negative);
        if (!c)
            continue;
        if (c->index > top) {
            top = (int32_t)c->index;
            s->top_share = 0;
        }
        if (c->index == top && c->top_share > s->top_share)
            s->top_share = c->top_share;
    }
    return top;
}

static void unite(struct ddstore *s, const struct ddhead *heads, uint32_t k, bool negative, uint64_t *window,
                  uint8_t **scratch)
{
    struct ddtally t = {.window = window};
    *s = (struct ddstore){0};
    t.top = find_top(s, heads, k, negative);
    if (t.top == INT32_MIN)
        return;
    int32_t low;
    if (unite_narrow(s, heads, k, negative, &t, &low)) {
        s->bins = carve(scratch, (t.cleared + 1) * sizeof *s->bins);
        ddtally_bins(&t, low, s);
        return;
    }
    uint64_t entries = entries_count(heads, k, negative);
    s->bins = carve(scratch, entries * sizeof *s->bins);
    uint8_t *rest = *scratch;
    uint64_t *keys = carve(&rest, entries * 8), *tmp = carve(&rest, entries * 8), *counts = carve(&rest, entries * 8);
    unite_wide(s, heads, k, negative, keys, tmp, counts);
}

size_t ddcontent_sum_scratch(uint64_t held, uint32_t k)
{
    return carve_size(k * sizeof(struct ddhead)) + carve_size(DDTALLY_WINDOW * sizeof(uint64_t)) +
           carve_size((held + 2 * DDTALLY_WINDOW + 4) * sizeof(struct ddstore_bin)) + 3 * carve_size(held * 8);
}

/* The heads of all states, which agree, and the sums of what they say. */
static int read_heads(struct ddcontent *c, struct ddhead *heads, const struct state_ref *src, uint32_t k,
                      const struct sketch_params *params)
{
    const char *reason;
    *c = (struct ddcontent){0};
    for (uint32_t i = 0; i < k; i++) {
        int rc = ddhead_read(&heads[i], src[i].bytes, src[i].size, &reason);
        if (rc != SKETCH_OK)
            return rc;
        if (bits_of_f64(heads[i].alpha) != bits_of_f64(params->alpha))
            return SKETCH_MISMATCH;
        c->zero_n += heads[i].zero_n;
        c->nonfinite_n += heads[i].nonfinite_n;
        c->collapsed |= heads[i].collapsed;
    }
    return SKETCH_OK;
}

int ddcontent_sum(struct ddcontent *c, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                  void *scratch)
{
    uint8_t *rest = scratch;
    struct ddhead *heads = carve(&rest, k * sizeof *heads);
    uint64_t *window = carve(&rest, DDTALLY_WINDOW * sizeof *window);
    int rc = read_heads(c, heads, src, k, params);
    if (rc != SKETCH_OK)
        return rc;
    unite(&c->positive, heads, k, false, window, &rest);
    unite(&c->negative, heads, k, true, window, &rest);
    return c->zero_n + c->positive.n + c->negative.n + c->nonfinite_n < DDCONTENT_N_END ? SKETCH_OK : SKETCH_BAD_DATA;
}

/* Samples of one sign; false if a store is malformed. */
static bool count_stores(const struct ddhead *heads, uint32_t k, bool negative, uint64_t *ret)
{
    *ret = 0;
    for (uint32_t i = 0; i < k; i++) {
        const struct ddstore_cursor *store = head_store(&heads[i], negative);
        if (!store)
            continue;
        struct ddstore_cursor c = *store;
        *ret += ddstore_count(&c);
        if (c.failed || *ret >= DDCONTENT_N_END)
            return false;
    }
    return true;
}

int ddcontent_open(struct ddcontent *c, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                   void *scratch)
{
    struct ddhead *heads = scratch;
    int rc = read_heads(c, heads, src, k, params);
    if (rc != SKETCH_OK)
        return rc;
    bool counted = count_stores(heads, k, false, &c->positive.n) && count_stores(heads, k, true, &c->negative.n);
    return counted && c->zero_n + c->positive.n + c->negative.n + c->nonfinite_n < DDCONTENT_N_END ? SKETCH_OK
                                                                                                   : SKETCH_BAD_DATA;
}

bool ddcontent_top(struct ddcontent *c, uint32_t k, uint64_t place, void *scratch)
{
    uint8_t *rest = scratch;
    const struct ddhead *heads = carve(&rest, k * sizeof *heads);
    struct ddtally t = {.window = carve(&rest, DDTALLY_WINDOW * sizeof *t.window)};
    struct ddstore *s = &c->positive;
    if (place >= DDCONTENT_TOP_MAX || place >= s->n / 2)
        return false;
    t.top = find_top(s, heads, k, false);
    int64_t known = INT64_MIN; /* bins above this are complete */
    for (uint32_t i = 0; i < k; i++) {
        if (!heads[i].has_positive)
            continue;
        struct ddstore_cursor store = heads[i].positive;
        int64_t low = ddstore_tally(&store, &t, 2 * place / k + 6); /* a few more than its share */
        if (low == INT64_MIN)
            return false;
        if (store.p < store.end && low > known)
            known = low;
    }
    s->bins = (struct ddstore_bin *)(void *)rest;
    uint64_t passed = 0;
    for (uint32_t i = 0; i < t.cleared && t.top - (int64_t)i > known && passed <= place; i++) {
        uint64_t n = t.window[i];
        s->bins[s->bins_n] = (struct ddstore_bin){t.top - (int32_t)i, n};
        s->bins_n += n != 0;
        passed += n;
    }
    /* What lies below stands for all the others: the last bin is never asked for. */
    s->bins[s->bins_n++] = (struct ddstore_bin){INT32_MIN, s->n - (passed < s->n ? passed : s->n)};
    return passed > place && passed < s->n;
}
