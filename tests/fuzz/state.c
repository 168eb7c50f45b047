/*
 * States of every family: built from chosen samples, then damaged, or taken as they come. What validate accepts may be
 * counted, read and merged without a fault, and a merge is a valid state, the same for any order of its inputs.
 */
#include "fuzz.h"
#include "kernels/sketch.h"

enum { STATES_MAX = 3, VALUES_MAX = 600, PANE_MS = 10000, SCRATCH_MAX = 256 << 20, TOP_MAX = 5 };

struct input {
    const struct family_info *f;
    struct sketch_params params;
    struct state_ref refs[STATES_MAX];
    uint32_t n;
    uint64_t samples;
};

static struct sketch_params choose_params(struct choices *c, enum family family)
{
    static const uint32_t ks[] = {8, 16, 52, 269}, bins[] = {0, 16, 64, 2048}, ps[] = {4, 8, 11, 14};
    static const double alphas[] = {0.01, 0.05, 0.3, 1e-6};
    uint32_t which = choose_below(c, 4);
    if (family == FAMILY_KLL)
        return (struct sketch_params){.k = ks[which]};
    if (family == FAMILY_DDSKETCH)
        return (struct sketch_params){.alpha = alphas[which], .max_bins = bins[choose_below(c, 4)]};
    if (family == FAMILY_KMV)
        return (struct sketch_params){.k = 2 * ks[which]};
    if (family == FAMILY_HLL)
        return (struct sketch_params){.p = ps[which]};
    if (family >= FAMILY_CMS && family <= FAMILY_HYDRA_KLL) {
        static const uint32_t depths[] = {1, 3, 4, 5}, widths[] = {8, 16, 24, 100};
        bool has_heap = family == FAMILY_CMS_HEAP || family == FAMILY_COUNTSKETCH_HEAP || family == FAMILY_UNIVMON;
        bool has_grid = family == FAMILY_HYDRA_CMS || family == FAMILY_HYDRA_COUNTSKETCH;
        struct sketch_params params = {.depth = depths[which]};
        params.width = widths[choose_below(c, 4)];
        params.rows = has_grid ? 1 + choose_below(c, 3) : 0;
        params.columns = has_grid ? 1 + choose_below(c, 5) : 0;
        params.heap = has_heap ? 1 + choose_below(c, 2) : 0;
        return params;
    }
    return (struct sketch_params){0};
}

/* A state of chosen samples in (end - PANE_MS, end], or of chosen items and weights, in a block of its size. NULL when
 * the family does not take the weights. */
static uint8_t *state_build(struct choices *c, const struct input *in, bool of_items, int64_t end_ms, size_t *ret_size)
{
    double values[VALUES_MAX];
    int64_t times_ms[VALUES_MAX];
    uint64_t groups[VALUES_MAX], keys[VALUES_MAX];
    uint32_t n = 1 + choose_below(c, VALUES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = choose_value(c);
        times_ms[i] = end_ms - PANE_MS + 1 + i;
        keys[i] = of_items ? choose_below(c, 300) : 0;
        groups[i] = keys[i] % 3;
    }
    size_t cap = in->f->size_bound(&in->params, n);
    uint8_t *dst = malloc(cap);
    void *scratch = malloc(in->f->scratch_bound(&in->params, n, 0) + 1);
    MUST(dst && scratch);
    const struct sketch_items items = {groups, keys, values, n};
    int code = of_items ? in->f->build_items(dst, cap, ret_size, &in->params, &items, 7, scratch)
                        : in->f->build(dst, cap, ret_size, &in->params, end_ms, times_ms, values, n, 7, scratch);
    free(scratch);
    if (of_items && code == SKETCH_BAD_DATA) {
        free(dst);
        return NULL;
    }
    MUST(code == SKETCH_OK);
    const char *reason = "";
    MUST(in->f->validate(dst, *ret_size, &in->params, &reason) == SKETCH_OK);
    uint8_t *exact = malloc(*ret_size);
    MUST(exact);
    memcpy(exact, dst, *ret_size);
    free(dst);
    return exact;
}

static uint8_t *state_take(struct choices *c, size_t *ret_size)
{
    size_t n = choose_below(c, 1024);
    n = n < c->n ? n : c->n;
    uint8_t *bytes = malloc(n ? n : 1);
    MUST(bytes);
    memcpy(bytes, c->p, n);
    c->p += n;
    c->n -= n;
    *ret_size = n;
    return bytes;
}

static void input_make(struct choices *c, struct input *in)
{
    *in = (struct input){.f = family_get(1 + choose_below(c, FAMILY_END - 1))};
    in->params = choose_params(c, in->f->family);
    const char *refused = NULL;
    if (in->f->check_params(&in->params, &refused) != SKETCH_OK) { /* a family without states */
        MUST(in->f->merge == MERGE_NONE && refused);
        return;
    }
    uint32_t states_n = 1 + choose_below(c, STATES_MAX);
    for (uint32_t i = 0; i < states_n; i++) {
        size_t size;
        int64_t end_ms = PANE_MS * (int64_t)i;
        const char *reason = NULL;
        uint8_t how = choose_u8(c);
        bool of_items = (how & 3) == 2 && in->f->build_items;
        uint8_t *bytes = how & 1 ? state_take(c, &size) : state_build(c, in, of_items, end_ms, &size);
        if (!bytes)
            continue;
        choose_damage(c, bytes, size);
        if (in->f->validate(bytes, size, &in->params, &reason) != SKETCH_OK) {
            MUST(reason && reason[0]);
            free(bytes);
            continue;
        }
        in->f->flags(bytes, size);
        in->samples += in->f->count(bytes, size);
        in->refs[in->n++] = (struct state_ref){bytes, (uint32_t)size, end_ms};
    }
}

static void *scratch_new(const struct input *in)
{
    size_t need = in->f->scratch_bound(&in->params, in->samples, in->n);
    MUST(need <= SCRATCH_MAX);
    void *scratch = malloc(need + 1);
    MUST(scratch);
    return scratch;
}

/* Does the answer depend on q, ahead_s, key or group? */
static bool takes_arguments(const struct input *in, enum statistic statistic)
{
    return statistic == STATISTIC_QUANTILE || statistic == STATISTIC_QUANTILE_RANK ||
           statistic == STATISTIC_PREDICT_LINEAR || statistic == STATISTIC_POINT_COUNT || in->params.rows > 0;
}

static void input_read(const struct input *in)
{
    static const double quantiles[] = {-1, 0, 0.01, 0.5, 0.99, 1, 2, NAN};
    void *scratch = scratch_new(in);
    for (uint32_t r = 0; r < in->f->readouts_n; r++) {
        size_t asks = takes_arguments(in, in->f->readouts[r].statistic) ? sizeof quantiles / sizeof *quantiles : 1;
        for (size_t q = 0; q < asks; q++) {
            struct sketch_args args = {.start_ms = -PANE_MS,
                                       .end_ms = STATES_MAX * PANE_MS,
                                       .q = quantiles[q],
                                       .ahead_s = 60 * quantiles[q],
                                       .key = q,
                                       .group = q % 3};
            double v;
            int code = in->f->estimate(in->refs, in->n, &in->params, in->f->readouts[r].statistic, &args, scratch, &v);
            MUST(code == SKETCH_OK || code == SKETCH_NONE || code == SKETCH_MISMATCH || code == SKETCH_BAD_DATA);
        }
    }
    if (in->f->top) {
        uint64_t keys[TOP_MAX];
        double estimates[TOP_MAX];
        uint32_t n = 0;
        int code = in->f->top(in->refs, in->n, &in->params, TOP_MAX, keys, estimates, &n, scratch);
        MUST(code == SKETCH_OK || code == SKETCH_MISMATCH || code == SKETCH_BAD_DATA);
        MUST(n <= TOP_MAX);
    }
    free(scratch);
}

/* Merge in->refs rotated by `shift`. Returns the kernel's code. */
static int input_merge(const struct input *in, uint32_t shift, uint8_t **ret, size_t *ret_size)
{
    struct state_ref refs[STATES_MAX];
    for (uint32_t i = 0; i < in->n; i++)
        refs[i] = in->refs[(i + shift) % in->n];
    size_t cap = in->f->size_bound(&in->params, in->samples ? in->samples : UINT32_MAX); /* 0: it does not know */
    MUST(cap <= SCRATCH_MAX);
    uint8_t *dst = malloc(cap);
    void *scratch = scratch_new(in);
    MUST(dst);
    int code = in->f->merge_k(dst, cap, ret_size, &in->params, STATES_MAX * PANE_MS, refs, in->n, 7, scratch);
    const char *reason = "";
    if (code == SKETCH_OK)
        MUST(in->f->validate(dst, *ret_size, &in->params, &reason) == SKETCH_OK);
    free(scratch);
    *ret = dst;
    return code;
}

/* Each state for itself, and with itself. */
static void input_each(const struct input *in)
{
    for (uint32_t i = 0; i < in->n; i++) {
        struct input twice = {.f = in->f, .params = in->params, .refs = {in->refs[i], in->refs[i]}, .n = 1};
        twice.samples = in->f->count(in->refs[i].bytes, in->refs[i].size);
        input_read(&twice);
        for (; twice.n <= 2; twice.n++, twice.samples *= 2) {
            uint8_t *merged;
            size_t size = 0;
            input_merge(&twice, 0, &merged, &size);
            free(merged);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices c = {data, size};
    struct input in;
    input_make(&c, &in);
    input_read(&in);
    input_each(&in);
    uint8_t *a, *b;
    size_t a_n = 0, b_n = 0;
    if (in.n) {
        int code = input_merge(&in, 0, &a, &a_n), rotated = input_merge(&in, 1, &b, &b_n);
        MUST(code == rotated);
        if (code == SKETCH_OK)
            MUST(a_n == b_n && memcmp(a, b, a_n) == 0);
        free(a);
        free(b);
    }
    for (uint32_t i = 0; i < in.n; i++)
        free((void *)(uintptr_t)in.refs[i].bytes);
    return 0;
}
