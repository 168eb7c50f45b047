#include "executor/label_index.h"

static bool counts(const struct label_key *key, struct str name)
{
    bool listed = key->kind == LABEL_KEY_BUT_NAME && str_eq(name, STR(LABEL_NAME));
    for (uint32_t i = 0; i < key->names_n && !listed; i++)
        listed = str_eq(name, key->names[i]);
    return listed == (key->kind == LABEL_KEY_ONLY);
}

static struct labels take(const struct label_key *key, const struct labels *l, struct label *room)
{
    uint32_t n = 0;
    if (key->kind == LABEL_KEY_ALL)
        return *l;
    for (uint32_t i = 0; i < l->n; i++) {
        if (counts(key, l->v[i].name))
            room[n++] = l->v[i];
    }
    return (struct labels){room, n};
}

void label_key_take(const struct label_key *key, const struct labels *l, struct arena *a, struct labels *ret)
{
    struct label *room = key->kind == LABEL_KEY_ALL ? NULL : ARENA_ARRAY(a, struct label, l->n);
    *ret = room || key->kind == LABEL_KEY_ALL ? take(key, l, room) : (struct labels){0};
}

void label_index_init(struct label_index *x, struct arena *a)
{
    *x = (struct label_index){.arena = a};
    map_init(&x->map);
}

void label_index_done(struct label_index *x)
{
    map_done(&x->map);
}

struct wanted {
    const struct label_index *index;
    const struct labels *labels;
};

static bool same_set(const void *ctx, uint32_t i)
{
    const struct wanted *w = ctx;
    return labels_eq(&w->index->sets[i], w->labels);
}

static uint64_t hash_of_set(const void *ctx, uint32_t i)
{
    const struct wanted *w = ctx;
    return labels_hash(&w->index->sets[i], map_seed());
}

int label_index_number(struct label_index *x, const struct label_key *key, const struct labels *l, uint32_t *ret,
                       struct err *e)
{
    struct label *room = arena_grow(x->arena, x->scratch, &x->scratch_cap, (size_t)l->n + 1, sizeof *room);
    if (!room)
        return arena_check(x->arena, "query", e);
    x->scratch = room;
    struct labels set = take(key, l, room);
    struct wanted w = {x, &set};
    uint64_t hash = labels_hash(&set, map_seed());
    int64_t known = map_find(&x->map, hash, same_set, &w);
    if (known >= 0) {
        *ret = (uint32_t)known;
        return 0;
    }
    struct labels *sets = arena_grow(x->arena, x->sets, &x->cap, (size_t)x->n + 1, sizeof *sets);
    const struct label *v = set.v == room ? arena_dup(x->arena, room, set.n * sizeof *room) : set.v;
    if (!sets || (set.v == room && !v))
        return arena_check(x->arena, "query", e);
    x->sets = sets;
    sets[x->n] = (struct labels){v, set.n};
    map_add(&x->map, hash, x->n, hash_of_set, &w);
    *ret = x->n++;
    return 0;
}

int label_groups_number(struct label_index *x, const struct label_key *key, const struct value *vector, struct eval *ev,
                        const uint32_t **ret_of, struct err *e)
{
    uint32_t *of = ARENA_ARRAY(ev->arena, uint32_t, vector->series_n);
    if (!of)
        return arena_check(ev->arena, "query", e);
    int code = 0;
    for (uint32_t s = 0; s < vector->series_n && code == 0; s++) {
        code = label_index_number(x, key, &vector->series[s].labels, &of[s], e);
        if (code == 0 && (s & 255) == 255)
            code = eval_check(ev, 0, e);
    }
    *ret_of = of;
    return code;
}

int label_groups_lay_out(struct eval *ev, const uint32_t *of, uint32_t series_n, uint32_t groups_n,
                         struct label_groups *ret, struct err *e)
{
    uint32_t *starts = ARENA_ARRAY(ev->arena, uint32_t, (size_t)groups_n + 2);
    uint32_t *members = ARENA_ARRAY(ev->arena, uint32_t, series_n);
    if (!starts || !members)
        return arena_check(ev->arena, "query", e);
    memset(starts, 0, ((size_t)groups_n + 2) * sizeof *starts);
    /* Counts go two places up, so that after the sums starts[g + 1] is where group g begins, and placing the members
     * moves it to where the group ends. */
    for (uint32_t s = 0; s < series_n; s++)
        starts[of[s] + 2]++;
    for (uint32_t g = 2; g < groups_n + 2; g++)
        starts[g] += starts[g - 1];
    for (uint32_t s = 0; s < series_n; s++)
        members[starts[of[s] + 1]++] = s;
    *ret = (struct label_groups){groups_n, of, starts, members};
    return 0;
}
