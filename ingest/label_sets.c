#include "ingest/label_sets.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/alloc.h"

void label_sets_init(struct label_sets *s, enum group_of of, uint32_t most)
{
    *s = (struct label_sets){.of = of, .most = most};
    map_init(&s->index);
}

void label_sets_done(struct label_sets *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        mem_free(s->v[i].canonical);
    mem_free(s->v);
    mem_free(s->free);
    map_done(&s->index);
    *s = (struct label_sets){0};
}

static uint64_t hash_bytes(const uint8_t *p, size_t n, bool drop_name)
{
    return XXH3_64bits_withSeed(n ? p : (const uint8_t *)"", n, map_seed() + drop_name);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    const struct label_set *v = &((const struct label_sets *)ctx)->v[i];
    return hash_bytes(v->canonical, v->size, v->drop_name);
}

struct wanted {
    const struct label_sets *sets;
    const uint8_t *canonical;
    size_t size;
    bool drop_name;
};

static bool same(const void *ctx, uint32_t i)
{
    const struct wanted *w = ctx;
    const struct label_set *v = &w->sets->v[i];
    return v->drop_name == w->drop_name && v->size == w->size &&
           (w->size == 0 || memcmp(v->canonical, w->canonical, w->size) == 0);
}

static struct label_set *add(struct label_sets *s, uint32_t number, const uint8_t *canonical, size_t size,
                             bool drop_name)
{
    s->v = mem_grow(s->v, &s->cap, s->n + 1u, sizeof *s->v);
    struct label_set *v = &s->v[s->n];
    *v = (struct label_set){.canonical = size ? mem_dup(canonical, size) : NULL,
                            .size = (uint32_t)size,
                            .number = number,
                            .drop_name = drop_name,
                            .last_used_ms = INT64_MIN};
    map_add(&s->index, hash_bytes(canonical, size, drop_name), s->n++, hash_of, s);
    return v;
}

/* ---- numbers ---- */

/* A store may have been left with wide gaps: numbers beyond this many stay unused. */
enum { FREE_MAX = 1 << 20 };

static void free_add(struct label_sets *s, uint32_t number)
{
    if (s->free_n == FREE_MAX)
        return;
    s->free = mem_grow(s->free, &s->free_cap, s->free_n + 1u, sizeof *s->free);
    s->free[s->free_n++] = number;
}

static int falling(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return (a < b) - (a > b);
}

/* The lowest is given first. */
static void free_sort(struct label_sets *s)
{
    if (s->free_n > 1)
        qsort(s->free, s->free_n, sizeof *s->free, falling);
}

static uint32_t number_take(struct label_sets *s)
{
    return s->free_n > 0 ? s->free[--s->free_n] : s->next++;
}

/* ---- the store's rows ---- */

struct loading {
    struct label_sets *sets;
    int64_t used_ms;
};

/* By rising number. */
static int load_one(void *ctx, uint32_t number, struct str canonical, bool drop_name, struct err *e)
{
    struct loading *l = ctx;
    struct label_sets *s = l->sets;
    if (number == UINT32_MAX)
        return err_set(e, ERR_CORRUPT, "a label set has a number that is never given");
    for (; s->next < number && s->free_n < FREE_MAX; s->next++)
        free_add(s, s->next);
    struct label_set *v = add(s, number, (const uint8_t *)canonical.p, canonical.n, drop_name);
    v->written = true;
    v->last_used_ms = l->used_ms;
    s->next = number + 1;
    return 0;
}

int label_sets_load(struct label_sets *s, struct store_txn *t, uint32_t owner, int64_t used_ms, struct err *e)
{
    struct loading l = {s, used_ms};
    int rc = group_walk(t, s->of, owner, load_one, &l, e);
    free_sort(s);
    return rc;
}

int label_sets_put(const struct label_sets *s, struct store_txn *t, uint32_t owner, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->n && rc == 0; i++) {
        const struct label_set *v = &s->v[i];
        if (!v->written)
            rc = group_put(t, s->of, owner, v->number, (struct str){(const char *)v->canonical, v->size}, v->drop_name,
                           e);
    }
    return rc;
}

void label_sets_written(struct label_sets *s, bool written)
{
    for (uint32_t i = 0; i < s->n; i++)
        s->v[i].written = written;
}

/* ---- finding ---- */

/* The canonical bytes are the caller's to free. */
static struct wanted wanted_make(const struct label_sets *s, const struct labels *labels, bool drop_name, uint8_t **ret)
{
    struct wanted w = {.sets = s, .size = labels_canonical_bytes(labels), .drop_name = drop_name};
    *ret = mem_alloc(w.size + 1);
    labels_canonical_write(labels, *ret);
    w.canonical = *ret;
    return w;
}

static int64_t find(const struct label_sets *s, const struct wanted *w)
{
    return map_find(&s->index, hash_bytes(w->canonical, w->size, w->drop_name), same, w);
}

int64_t label_sets_find(const struct label_sets *s, const struct labels *labels, bool drop_name)
{
    uint8_t *canonical;
    struct wanted w = wanted_make(s, labels, drop_name, &canonical);
    int64_t known = find(s, &w);
    mem_free(canonical);
    return known;
}

int label_sets_place(struct label_sets *s, const struct labels *labels, bool drop_name, uint32_t *ret, struct err *e)
{
    uint8_t *canonical;
    struct wanted w = wanted_make(s, labels, drop_name, &canonical);
    int64_t known = find(s, &w);
    int rc = 0;
    if (known < 0 && (s->n >= s->most || w.size > UINT32_MAX || (s->free_n == 0 && s->next == UINT32_MAX))) {
        rc = err_set(e, ERR_LIMIT, "%u label sets are the most that one %s keeps apart", s->most,
                     s->of == GROUP_OF_ROOT ? "stored root" : "view by labels");
    } else if (known < 0) {
        add(s, number_take(s), canonical, w.size, drop_name);
        known = s->n - 1;
    }
    mem_free(canonical);
    if (rc == 0)
        *ret = (uint32_t)known;
    return rc;
}

void label_sets_use(struct label_sets *s, uint32_t place, int64_t time_ms)
{
    if (s->v[place].last_used_ms < time_ms)
        s->v[place].last_used_ms = time_ms;
}

/* ---- letting go ---- */

int label_sets_drop(const struct label_sets *s, struct store_txn *t, uint32_t owner, int64_t upto_ms, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->n && rc == 0; i++)
        if (s->v[i].last_used_ms <= upto_ms)
            rc = group_delete(t, s->of, owner, s->v[i].number, e);
    return rc;
}

void label_sets_forget(struct label_sets *s, int64_t upto_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->v[i].last_used_ms <= upto_ms) {
            mem_free(s->v[i].canonical);
            free_add(s, s->v[i].number);
        } else {
            s->v[kept++] = s->v[i];
        }
    }
    if (kept == s->n)
        return;
    s->n = kept;
    free_sort(s);
    map_done(&s->index);
    map_init(&s->index);
    for (uint32_t i = 0; i < kept; i++)
        map_add(&s->index, hash_of(s, i), i, hash_of, s);
}
