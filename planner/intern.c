#include "planner/intern.h"

#include <xxhash.h>

#include "base/alloc.h"

struct lookup {
    const struct intern *t;
    struct str key;
};

static bool same_key(const void *ctx, uint32_t value)
{
    const struct lookup *look = ctx;
    return str_eq(look->t->keys[value], look->key);
}

static uint64_t hash_of_number(const void *ctx, uint32_t value)
{
    const struct lookup *look = ctx;
    return XXH3_64bits(look->t->keys[value].p, look->t->keys[value].n);
}

void intern_init(struct intern *t, struct arena *a)
{
    *t = (struct intern){.arena = a};
    map_init(&t->index);
}

void intern_done(struct intern *t)
{
    map_done(&t->index);
    mem_free(t->keys);
    *t = (struct intern){0};
}

int64_t intern_find(const struct intern *t, const void *key, size_t n)
{
    struct lookup look = {t, {key, n}};
    return map_find(&t->index, XXH3_64bits(key, n), same_key, &look);
}

uint32_t intern(struct intern *t, const void *key, size_t n, bool *ret_added)
{
    int64_t found = intern_find(t, key, n);
    if (ret_added)
        *ret_added = found < 0;
    if (found >= 0)
        return (uint32_t)found;
    t->keys = mem_grow(t->keys, &t->cap, t->n + 1, sizeof *t->keys);
    const char *copy = arena_strndup(t->arena, key, n);
    /* At the arena's limit the key is lost but the number holds; the caller looks at the arena in the end. */
    t->keys[t->n] = (struct str){copy ? copy : "", copy ? n : 0};
    struct lookup look = {t, {key, n}};
    map_add(&t->index, XXH3_64bits(key, n), t->n, hash_of_number, &look);
    return t->n++;
}
