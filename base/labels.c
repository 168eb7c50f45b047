/* Label sets: order, identity (the canonical bytes), derived sets and text. */
#include "base/labels.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "base/err.h"

struct str labels_get(const struct labels *l, struct str name)
{
    /* Sets are small and sorted, so a scan that may stop early beats bisection. */
    for (uint32_t i = 0; i < l->n; i++) {
        int order = str_cmp(l->v[i].name, name);
        if (order == 0)
            return l->v[i].value;
        if (order > 0)
            break;
    }
    return (struct str){"", 0};
}

int labels_cmp(const struct labels *a, const struct labels *b)
{
    uint32_t n = a->n < b->n ? a->n : b->n;
    for (uint32_t i = 0; i < n; i++) {
        int order = str_cmp(a->v[i].name, b->v[i].name);
        if (order == 0)
            order = str_cmp(a->v[i].value, b->v[i].value);
        if (order)
            return order;
    }
    return (a->n > b->n) - (a->n < b->n);
}

bool labels_eq(const struct labels *a, const struct labels *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!str_eq(a->v[i].name, b->v[i].name) || !str_eq(a->v[i].value, b->v[i].value))
            return false;
    return true;
}

size_t labels_canonical_bytes(const struct labels *l)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < l->n; i++)
        bytes += 8 + l->v[i].name.n + l->v[i].value.n;
    return bytes;
}

static uint8_t *write_one(uint8_t *at, struct str s)
{
    store_u32(at, (uint32_t)s.n);
    if (s.n)
        memcpy(at + 4, s.p, s.n);
    return at + 4 + s.n;
}

void labels_canonical_write(const struct labels *l, uint8_t *ret)
{
    for (uint32_t i = 0; i < l->n; i++) {
        ret = write_one(ret, l->v[i].name);
        ret = write_one(ret, l->v[i].value);
    }
}

static void hash_one(XXH3_state_t *state, struct str s)
{
    uint8_t length[4];
    store_u32(length, (uint32_t)s.n);
    XXH3_64bits_update(state, length, sizeof(length));
    if (s.n)
        XXH3_64bits_update(state, s.p, s.n);
}

uint64_t labels_hash(const struct labels *l, uint64_t seed)
{
    /* Most sets fit the stack and take one pass; the streamed form gives the same hash for the rest. */
    uint8_t small[1024];
    size_t bytes = labels_canonical_bytes(l);
    if (bytes <= sizeof(small)) {
        labels_canonical_write(l, small);
        return XXH3_64bits_withSeed(small, bytes, seed);
    }
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    for (uint32_t i = 0; i < l->n; i++) {
        hash_one(&state, l->v[i].name);
        hash_one(&state, l->v[i].value);
    }
    return XXH3_64bits_digest(&state);
}

static int label_order(const void *a, const void *b)
{
    return str_cmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

bool labels_sort(struct label *v, uint32_t n)
{
    bool sorted = true;
    for (uint32_t i = 1; i < n && sorted; i++)
        sorted = str_cmp(v[i - 1].name, v[i].name) < 0;
    if (sorted)
        return true;
    qsort(v, n, sizeof(*v), label_order);
    for (uint32_t i = 1; i < n; i++)
        if (str_eq(v[i - 1].name, v[i].name))
            return false;
    return true;
}

static struct str read_str(struct byte_reader *r)
{
    uint32_t n = read_u32(r);
    const uint8_t *p = read_bytes(r, n);
    return (struct str){(const char *)p, p ? n : 0};
}

int labels_canonical_read(const uint8_t *bytes, size_t n, struct arena *a, struct labels *ret, struct err *e)
{
    if (n == 0) { /* then there may be no address either */
        *ret = (struct labels){0};
        return 0;
    }
    /* Walk once to check and count, so that the array is exact and a hostile length allocates nothing. */
    struct byte_reader r = {bytes, bytes + n, false};
    struct str last = {NULL, 0};
    uint32_t pairs = 0;
    while (reader_left(&r) > 0) {
        struct str name = read_str(&r), value = read_str(&r);
        if (r.failed)
            return err_set(e, ERR_CORRUPT, "label set of %zu bytes ends inside pair %u", n, pairs + 1);
        if (name.n == 0 || value.n == 0)
            return err_set(e, ERR_CORRUPT, "label set has an empty name or value in pair %u", pairs + 1);
        if (pairs && str_cmp(last, name) >= 0)
            return err_set(e, ERR_CORRUPT, "label set is not sorted at pair %u", pairs + 1);
        last = name;
        pairs++;
    }
    struct label *v = NULL;
    if (pairs && !(v = ARENA_ARRAY(a, struct label, pairs)))
        return arena_check(a, "a label set", e);
    r = (struct byte_reader){bytes, bytes + n, false};
    for (uint32_t i = 0; i < pairs; i++) {
        v[i].name = read_str(&r);
        v[i].value = read_str(&r);
    }
    *ret = (struct labels){v, pairs};
    return 0;
}

static bool name_listed(struct str name, const struct str *names, size_t names_n)
{
    for (size_t i = 0; i < names_n; i++)
        if (str_eq(name, names[i]))
            return true;
    return false;
}

static void labels_filter(const struct labels *l, const struct str *names, size_t names_n, bool keep, struct arena *a,
                          struct labels *ret)
{
    struct labels from = *l; /* ret may be l */
    *ret = (struct labels){NULL, 0};
    struct label *v = from.n ? ARENA_ARRAY(a, struct label, from.n) : NULL;
    if (!v)
        return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < from.n; i++)
        if (name_listed(from.v[i].name, names, names_n) == keep)
            v[n++] = from.v[i];
    *ret = (struct labels){v, n};
}

void labels_keep(const struct labels *l, const struct str *names, size_t names_n, struct arena *a, struct labels *ret)
{
    labels_filter(l, names, names_n, true, a, ret);
}

void labels_drop(const struct labels *l, const struct str *names, size_t names_n, struct arena *a, struct labels *ret)
{
    labels_filter(l, names, names_n, false, a, ret);
}

void labels_drop_name(const struct labels *l, struct arena *a, struct labels *ret)
{
    struct str name = STR(LABEL_NAME);
    if (l->n && str_eq(l->v[0].name, name))
        *ret = (struct labels){l->v + 1, l->n - 1};
    else if (l->n && str_eq(l->v[l->n - 1].name, name))
        *ret = (struct labels){l->v, l->n - 1};
    else if (labels_get(l, name).n == 0)
        *ret = *l;
    else
        labels_drop(l, &name, 1, a, ret);
}

void labels_with(const struct labels *l, struct str name, struct str value, struct arena *a, struct labels *ret)
{
    struct labels from = *l; /* ret may be l */
    *ret = (struct labels){NULL, 0};
    struct label *v = ARENA_ARRAY(a, struct label, (size_t)from.n + 1);
    if (!v)
        return;
    uint32_t n = 0, i = 0;
    while (i < from.n && str_cmp(from.v[i].name, name) < 0)
        v[n++] = from.v[i++];
    if (i < from.n && str_eq(from.v[i].name, name))
        i++;
    if (value.n)
        v[n++] = (struct label){name, value};
    while (i < from.n)
        v[n++] = from.v[i++];
    *ret = (struct labels){v, n};
}

void labels_print(const struct labels *l, struct strbuf *out)
{
    struct str metric = labels_get(l, STR(LABEL_NAME));
    bool named = metric_name_legacy(metric);
    if (named)
        strbuf_add_str(out, metric);
    if (named && l->n == 1)
        return;
    const char *between = "{";
    for (uint32_t i = 0; i < l->n; i++) {
        if (named && str_eq(l->v[i].name, STR(LABEL_NAME)))
            continue;
        strbuf_add_z(out, between);
        between = ", ";
        if (label_name_legacy(l->v[i].name))
            strbuf_add_str(out, l->v[i].name);
        else
            strbuf_add_go_quoted(out, l->v[i].name);
        strbuf_add_char(out, '=');
        strbuf_add_go_quoted(out, l->v[i].value);
    }
    strbuf_add_z(out, l->n ? "}" : "{}");
}

static bool name_legacy(struct str name, bool colon)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon && c == ':');
        if (!letter && !(i && char_is_digit(c)))
            return false;
    }
    return name.n > 0;
}

bool label_name_legacy(struct str name)
{
    return name_legacy(name, false);
}

bool metric_name_legacy(struct str name)
{
    return name_legacy(name, true);
}
