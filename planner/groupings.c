#include "planner/groupings.h"

#include "base/alloc.h"

/* The different label sets, as groupings. */
struct grouping_class {
    uint32_t of[GROUPINGS_SHARED_MAX], n;
    bool is_full; /* there are more */
};

/* Found, or made: labels in the planning's arena. */
static uint32_t add_grouping(struct planning *p, const struct view_input *in, const struct str *by, uint32_t by_n)
{
    strbuf_clear(&p->key);
    KEY_ADD(p, in->kind);
    KEY_ADD(p, in->label.n);
    strbuf_add_str(&p->key, in->label);
    for (uint32_t i = 0; i < by_n; i++) {
        KEY_ADD(p, by[i].n);
        strbuf_add_str(&p->key, by[i]);
    }
    bool added;
    uint32_t id = intern(&p->grouping_ids, p->key.p, p->key.n, &added);
    if (added) {
        p->groupings =
            arena_grow(p->arena, p->groupings, &p->groupings_cap, (size_t)p->groupings_n + 1, sizeof *p->groupings);
        const struct str *kept = arena_dup(p->arena, by, by_n * sizeof *by);
        if (p->groupings)
            p->groupings[p->groupings_n++] = (struct grouping){*in, kept, by_n};
    }
    return id;
}

void groupings_init(struct groupings *g, struct planning *p)
{
    *g = (struct groupings){.p = p};
    intern_init(&g->classes, p->arena);
    /* No demand of states by labels has this key: their values are of some labels, or of none. */
    bool added;
    strbuf_clear(&p->key);
    intern(&p->grouping_ids, p->key.p, p->key.n, &added);
    p->groupings = arena_grow(p->arena, p->groupings, &p->groupings_cap, 1, sizeof *p->groupings);
    if (p->groupings)
        p->groupings[p->groupings_n++] = (struct grouping){.input = {.kind = INPUT_VALUE}};
}

void groupings_done(struct groupings *g)
{
    intern_done(&g->classes);
    mem_free(g->v);
}

static uint32_t class_of(struct groupings *g, const struct demand *d, enum family family, bool *ret_added)
{
    struct planning *p = g->p;
    const struct view_input *in = &d->site->group->input;
    strbuf_clear(&p->key);
    KEY_ADD(p, d->source);
    KEY_ADD(p, family);
    KEY_ADD(p, in->kind);
    strbuf_add_str(&p->key, in->label);
    return intern(&g->classes, p->key.p, p->key.n, ret_added);
}

static uint32_t own_grouping(struct planning *p, const struct demand *d)
{
    const struct site_group *g = d->site->group;
    return g ? add_grouping(p, &g->input, g->by, g->by_n) : 0;
}

int groupings_note(struct groupings *g, const struct demand *d, enum family family, struct err *e)
{
    bool added;
    uint32_t id = class_of(g, d, family, &added), own = own_grouping(g->p, d);
    g->v = mem_grow(g->v, &g->cap, id + 1, sizeof *g->v);
    struct grouping_class *c = &g->v[id];
    if (added)
        *c = (struct grouping_class){0};
    bool is_known = false;
    for (uint32_t i = 0; i < c->n; i++)
        is_known |= c->of[i] == own;
    if (!is_known && c->n == GROUPINGS_SHARED_MAX)
        c->is_full = true;
    else if (!is_known)
        c->of[c->n++] = own;
    return arena_check(g->p->arena, "planning", e);
}

/* Sorted and distinct, as both are. */
static uint32_t join(struct planning *p, uint32_t a, uint32_t b)
{
    const struct grouping ga = p->groupings[a], gb = p->groupings[b];
    struct str *by = ARENA_ARRAY(p->arena, struct str, (size_t)ga.by_n + gb.by_n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0, k = 0; by && (i < ga.by_n || k < gb.by_n);) {
        int order = i == ga.by_n ? 1 : k == gb.by_n ? -1 : str_cmp(ga.by[i], gb.by[k]);
        by[n++] = order <= 0 ? ga.by[i] : gb.by[k];
        i += order <= 0;
        k += order >= 0;
    }
    return by ? add_grouping(p, &ga.input, by, n) : a;
}

static bool may_be_merged(const struct demand *d, enum family family)
{
    return family_readout(family_get(family), d->site->statistic)->merged != MERGED_APPROXIMATE;
}

static void offer_once(uint32_t *groupings, uint32_t *n, uint32_t grouping)
{
    for (uint32_t i = 0; i < *n; i++)
        if (groupings[i] == grouping)
            return;
    groupings[(*n)++] = grouping;
}

uint32_t groupings_offered(struct groupings *g, const struct demand *d, enum family family, bool own_alone,
                           uint32_t ret[GROUPINGS_OFFERED_MAX])
{
    uint32_t n = 0, own = own_grouping(g->p, d), all = own;
    bool added;
    ret[n++] = own;
    if (own_alone || !d->site->group || !may_be_merged(d, family))
        return n;
    uint32_t class = class_of(g, d, family, &added); /* it was noted: sized in the same way */
    const struct grouping_class *c = added ? NULL : &g->v[class];
    for (uint32_t i = 0; c && !c->is_full && i < c->n && !arena_failed(g->p->arena); i++) {
        offer_once(ret, &n, join(g->p, own, c->of[i]));
        all = join(g->p, all, c->of[i]);
    }
    if (n < GROUPINGS_OFFERED_MAX)
        offer_once(ret, &n, all);
    return n;
}
