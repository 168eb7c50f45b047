#include "plan/ids.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/str.h"

static void put_u32(struct strbuf *b, uint32_t v)
{
    uint8_t bytes[4];
    store_u32(bytes, v);
    strbuf_add(b, bytes, sizeof bytes);
}

static void put_u64(struct strbuf *b, uint64_t v)
{
    uint8_t bytes[8];
    store_u64(bytes, v);
    strbuf_add(b, bytes, sizeof bytes);
}

static void put_str(struct strbuf *b, struct str s)
{
    put_u32(b, (uint32_t)s.n);
    strbuf_add_str(b, s);
}

int matcher_cmp(const struct matcher *a, const struct matcher *b)
{
    int order = str_cmp(a->name, b->name);
    if (order == 0)
        order = (a->op > b->op) - (a->op < b->op);
    return order != 0 ? order : str_cmp(a->value, b->value);
}

bool matchers_eq(const struct matcher *a, uint32_t a_n, const struct matcher *b, uint32_t b_n)
{
    if (a_n != b_n)
        return false;
    for (uint32_t i = 0; i < a_n; i++)
        if (matcher_cmp(&a[i], &b[i]) != 0)
            return false;
    return true;
}

static int by_matcher(const void *a, const void *b)
{
    return matcher_cmp(*(const struct matcher *const *)a, *(const struct matcher *const *)b);
}

static void put_matchers(struct strbuf *b, const struct matcher *matchers, uint32_t n)
{
    const struct matcher **sorted = mem_alloc(n * sizeof *sorted);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = &matchers[i];
    qsort(sorted, n, sizeof *sorted, by_matcher);
    put_u32(b, n);
    for (uint32_t i = 0; i < n; i++) {
        put_str(b, sorted[i]->name);
        put_u32(b, (uint32_t)sorted[i]->op);
        put_str(b, sorted[i]->value);
    }
    mem_free(sorted);
}

/* Only those that are set, by name: a parameter that some later family gets leaves every identity as it was. */
static void put_params(struct strbuf *b, enum family family, const struct sketch_params *params)
{
    uint32_t max_bins = params->max_bins;
    if (family == FAMILY_DDSKETCH && max_bins == 0)
        max_bins = IDENTITY_DDSKETCH_BINS;
    const struct {
        const char *name;
        uint32_t value;
    } integers[] = {{"k", params->k},         {"max_bins", max_bins},      {"p", params->p},
                    {"depth", params->depth}, {"width", params->width},    {"heap", params->heap},
                    {"rows", params->rows},   {"columns", params->columns}};
    size_t integers_n = sizeof integers / sizeof integers[0];

    uint32_t n = params->alpha != 0;
    for (size_t i = 0; i < integers_n; i++)
        n += integers[i].value != 0;
    put_u32(b, n);
    if (params->alpha != 0) {
        uint64_t bits;
        memcpy(&bits, &params->alpha, sizeof bits);
        put_str(b, STR("alpha"));
        put_u64(b, bits);
    }
    for (size_t i = 0; i < integers_n; i++) {
        if (integers[i].value == 0)
            continue;
        put_str(b, str_of(integers[i].name));
        put_u64(b, integers[i].value);
    }
}

static void put_input(struct strbuf *b, const struct view_input *in)
{
    struct arena a;
    arena_init(&a, 0);
    put_str(b, view_input_text(in, &a));
    arena_done(&a);
}

static void put_reduce(struct strbuf *b, const struct view_definition *d)
{
    struct str *sorted = mem_alloc(d->reduce_n * sizeof *sorted);
    if (d->reduce_n > 0)
        memcpy(sorted, d->reduce, d->reduce_n * sizeof *sorted);
    qsort(sorted, d->reduce_n, sizeof *sorted, str_order);
    put_u32(b, d->per_series);
    put_u32(b, d->reduce_n);
    for (uint32_t i = 0; i < d->reduce_n; i++)
        put_str(b, sorted[i]);
    mem_free(sorted);
}

static void finish(struct strbuf *b, uint8_t ret[IDENTITY_BYTES])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(b->p, b->n));
    memcpy(ret, canonical.digest, IDENTITY_BYTES);
    strbuf_done(b);
}

void view_identity(const struct view_definition *d, uint8_t ret[IDENTITY_BYTES])
{
    struct strbuf b = {0};
    put_u32(&b, IDENTITY_VERSION);
    put_matchers(&b, d->matchers, d->matchers_n);
    put_input(&b, &d->input);
    put_u32(&b, (uint32_t)d->family);
    put_params(&b, d->family, &d->params);
    put_reduce(&b, d);
    put_u64(&b, (uint64_t)d->width_ms);
    put_u64(&b, (uint64_t)d->phase_ms);
    put_u64(&b, (uint64_t)d->lookback_ms);
    put_u64(&b, d->sketch_seed);
    finish(&b, ret);
}

void root_identity(const struct root_definition *d, uint8_t ret[IDENTITY_BYTES])
{
    struct strbuf b = {0};
    put_u32(&b, ROOT_IDENTITY_VERSION);
    put_str(&b, STR("stored root"));
    put_str(&b, d->text);
    put_u64(&b, (uint64_t)d->step_ms);
    put_u64(&b, (uint64_t)d->phase_ms);
    put_u64(&b, (uint64_t)d->lookback_ms);
    put_u64(&b, (uint64_t)d->default_step_ms);
    finish(&b, ret);
}

void identity_text(const uint8_t identity[IDENTITY_BYTES], char ret[2 * IDENTITY_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < IDENTITY_BYTES; i++) {
        ret[2 * i] = digits[identity[i] >> 4];
        ret[2 * i + 1] = digits[identity[i] & 15];
    }
    ret[2 * IDENTITY_BYTES] = 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool identity_parse(struct str text, uint8_t ret[IDENTITY_BYTES])
{
    uint8_t bytes[IDENTITY_BYTES];
    if (text.n != 2 * IDENTITY_BYTES)
        return false;
    for (int i = 0; i < IDENTITY_BYTES; i++) {
        int high = hex_value(text.p[2 * i]), low = hex_value(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(ret, bytes, IDENTITY_BYTES);
    return true;
}

uint64_t state_seed(uint64_t sketch_seed, const uint8_t identity[IDENTITY_BYTES], const struct labels *labels,
                    int64_t end_ms)
{
    uint8_t bytes[8 + IDENTITY_BYTES + 8 + 8];
    store_u64(bytes, sketch_seed);
    memcpy(bytes + 8, identity, IDENTITY_BYTES);
    store_u64(bytes + 8 + IDENTITY_BYTES, labels_hash(labels, 0));
    store_i64(bytes + 16 + IDENTITY_BYTES, end_ms);
    return XXH3_64bits(bytes, sizeof bytes);
}
