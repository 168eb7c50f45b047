#include "ingest/root_groups.h"

#include <xxhash.h>

#include "base/alloc.h"

void root_groups_init(struct root_groups *g)
{
    *g = (struct root_groups){0};
    map_init(&g->index);
}

void root_groups_done(struct root_groups *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        mem_free(g->v[i].canonical);
    mem_free(g->v);
    map_done(&g->index);
    *g = (struct root_groups){0};
}

static uint64_t hash_bytes(const uint8_t *p, size_t n, bool drop_name)
{
    return XXH3_64bits_withSeed(n ? p : (const uint8_t *)"", n, map_seed() + drop_name);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    const struct root_group *v = &((const struct root_groups *)ctx)->v[i];
    return hash_bytes(v->canonical, v->size, v->drop_name);
}

struct wanted {
    const struct root_groups *groups;
    const uint8_t *canonical;
    size_t size;
    bool drop_name;
};

static bool same(const void *ctx, uint32_t i)
{
    const struct wanted *w = ctx;
    const struct root_group *v = &w->groups->v[i];
    return v->drop_name == w->drop_name && v->size == w->size &&
           (w->size == 0 || memcmp(v->canonical, w->canonical, w->size) == 0);
}

static struct root_group *add(struct root_groups *g, uint32_t number, const uint8_t *canonical, size_t size,
                              bool drop_name)
{
    g->v = mem_grow(g->v, &g->cap, g->n + 1u, sizeof *g->v);
    struct root_group *v = &g->v[g->n];
    *v = (struct root_group){.canonical = size ? mem_dup(canonical, size) : NULL,
                             .size = (uint32_t)size,
                             .number = number,
                             .drop_name = drop_name};
    map_add(&g->index, hash_bytes(canonical, size, drop_name), g->n++, hash_of, g);
    if (g->next <= number)
        g->next = number + 1;
    return v;
}

struct loading {
    struct root_groups *groups;
    int64_t used_ms;
};

static int load_one(void *ctx, uint32_t group, struct str canonical, bool drop_name, struct err *e)
{
    struct loading *l = ctx;
    struct root_group *v = add(l->groups, group, (const uint8_t *)canonical.p, canonical.n, drop_name);
    v->written = true;
    v->last_used_ms = l->used_ms;
    return 0;
}

int root_groups_load(struct root_groups *g, struct store_txn *t, uint32_t root, int64_t used_ms, struct err *e)
{
    struct loading l = {g, used_ms};
    return root_group_walk(t, root, load_one, &l, e);
}

int root_groups_place(struct root_groups *g, const struct labels *labels, bool drop_name, uint32_t *ret, struct err *e)
{
    size_t size = labels_canonical_bytes(labels);
    uint8_t *canonical = mem_alloc(size + 1);
    labels_canonical_write(labels, canonical);
    struct wanted w = {g, canonical, size, drop_name};
    int64_t known = map_find(&g->index, hash_bytes(canonical, size, drop_name), same, &w);
    int rc = 0;
    if (known < 0 && (g->next == UINT32_MAX || size > UINT32_MAX)) {
        rc = err_set(e, ERR_LIMIT, "a stored root has had all the label sets that can be numbered");
    } else if (known < 0) {
        add(g, g->next, canonical, size, drop_name)->last_used_ms = INT64_MIN;
        known = g->n - 1;
    }
    mem_free(canonical);
    if (rc == 0)
        *ret = (uint32_t)known;
    return rc;
}

int root_groups_put(const struct root_groups *g, struct store_txn *t, uint32_t root, struct err *e)
{
    struct arena a;
    int rc = 0;
    arena_init(&a, 0);
    for (uint32_t i = 0; i < g->n && rc == 0; i++) {
        const struct root_group *v = &g->v[i];
        struct labels labels = {0};
        if (v->written)
            continue;
        arena_reset(&a);
        if (v->size)
            rc = labels_canonical_read(v->canonical, v->size, &a, &labels, e);
        if (rc == 0)
            rc = root_group_put(t, root, v->number, &labels, v->drop_name, e);
    }
    arena_done(&a);
    return rc;
}

void root_groups_written(struct root_groups *g, bool written)
{
    for (uint32_t i = 0; i < g->n; i++)
        g->v[i].written = written;
}

int root_groups_drop(const struct root_groups *g, struct store_txn *t, uint32_t root, int64_t upto_ms, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < g->n && rc == 0; i++)
        if (g->v[i].last_used_ms <= upto_ms)
            rc = root_group_delete(t, root, g->v[i].number, e);
    return rc;
}

void root_groups_forget(struct root_groups *g, int64_t upto_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        if (g->v[i].last_used_ms <= upto_ms)
            mem_free(g->v[i].canonical);
        else
            g->v[kept++] = g->v[i];
    }
    if (kept == g->n)
        return;
    g->n = kept;
    map_done(&g->index);
    map_init(&g->index);
    for (uint32_t i = 0; i < kept; i++)
        map_add(&g->index, hash_of(g, i), i, hash_of, g);
}
