#include "kernels/fixed.h"

int fixed_check_params(const struct sketch_params *params, const char **reason)
{
    if (params->k == 0 && params->max_bins == 0 && params->alpha == 0 && params->p == 0 && params->depth == 0 &&
        params->width == 0 && params->heap == 0 && params->rows == 0 && params->columns == 0)
        return SKETCH_OK;
    *reason = "this family takes no parameters: leave k, max_bins, alpha, p and all others at 0";
    return SKETCH_BAD_DATA;
}

size_t fixed_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k)
{
    (void)params;
    (void)n;
    return ((size_t)k * sizeof(uint32_t) + 15) & ~(size_t)15;
}

static inline int64_t time_of(const struct state_ref *s, enum fixed_time time)
{
    return time == FIXED_BY_FIRST ? s->end_ms + bits_load_i32(s->bytes) : s->end_ms;
}

static bool comes_before(const struct state_ref *a, const struct state_ref *b, enum fixed_time time)
{
    int64_t ta = time_of(a, time), tb = time_of(b, time);
    if (ta != tb || a->size != b->size)
        return ta != tb ? ta < tb : a->size < b->size;
    return memcmp(a->bytes, b->bytes, a->size) < 0;
}

struct ordering {
    const struct state_ref *src;
    uint32_t *index;
    enum fixed_time time;
};

static bool index_before(const struct ordering *o, uint32_t a, uint32_t b)
{
    return comes_before(&o->src[o->index[a]], &o->src[o->index[b]], o->time);
}

static void swap_index(const struct ordering *o, uint32_t a, uint32_t b)
{
    uint32_t keep = o->index[a];
    o->index[a] = o->index[b];
    o->index[b] = keep;
}

static void sift_down(const struct ordering *o, uint32_t at, uint32_t n)
{
    for (uint64_t child = 2 * (uint64_t)at + 1; child < n; child = 2 * (uint64_t)at + 1) {
        uint32_t last = (uint32_t)child;
        if (last + 1 < n && index_before(o, last, last + 1))
            last++;
        if (!index_before(o, at, last))
            return;
        swap_index(o, at, last);
        at = last;
    }
}

/* Heapsort: in place, and no input makes it slow. States that tie are equal bytes, so stability does not matter. */
static void sort_index(const struct ordering *o, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++)
        o->index[i] = i;
    for (uint32_t i = k / 2; i-- > 0;)
        sift_down(o, i, k);
    for (uint32_t n = k; n > 1; n--) {
        swap_index(o, 0, n - 1);
        sift_down(o, 0, n - 1);
    }
}

int fixed_order(const struct state_ref *src, uint32_t k, uint32_t size, enum fixed_time time, void *scratch,
                const uint32_t **ret_order)
{
    bool in_order = true;
    for (uint32_t i = 0; i < k; i++) {
        if (size != 0 && src[i].size != size)
            return SKETCH_CORRUPT;
        if (!fixed_time_possible(src[i].end_ms))
            return SKETCH_BAD_DATA;
        in_order = in_order && (i == 0 || !comes_before(&src[i], &src[i - 1], time));
    }
    *ret_order = NULL;
    if (in_order)
        return SKETCH_OK;
    struct ordering o = {src, scratch, time};
    sort_index(&o, k);
    *ret_order = o.index;
    return SKETCH_OK;
}
