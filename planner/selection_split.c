/*
 * The components of what presolve left, each a problem of its own. Groups, choices and items keep their order, so that
 * a component is the same whatever stands beside it.
 */
#include <stdlib.h>

#include "planner/selection_internal.h"

static uint32_t find(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
    a = find(parent, a);
    b = find(parent, b);
    parent[a > b ? a : b] = a > b ? b : a;
}

/* Groups joined by an item or by reaching one another, numbered by their first group. */
static void find_components(struct selection_reduced *r, struct arena *a)
{
    const struct selection *s = &r->s;
    uint32_t *parent = ARENA_ARRAY(a, uint32_t, s->groups_n + s->items_n);
    r->component = ARENA_ARRAY(a, uint32_t, s->groups_n);
    if (arena_failed(a))
        return;
    for (uint32_t i = 0; i < s->groups_n + s->items_n; i++)
        parent[i] = i;
    for (uint32_t i = 0; i < s->items_n; i++) {
        for (uint32_t k = s->items[i].first; k < s->items[i].first + s->items[i].n; k++)
            unite(parent, s->groups_n + i, s->groups_n + s->requires[k].item);
    }
    for (uint32_t c = 0; c < s->choices_n; c++) {
        const struct selection_choice *choice = &s->choices[c];
        for (uint32_t k = choice->needs_first; k < choice->needs_first + choice->needs_n; k++)
            unite(parent, choice->group, s->groups_n + s->needs[k].item);
        for (uint32_t k = choice->reaches_first; k < choice->reaches_first + choice->reaches_n; k++)
            unite(parent, choice->group, s->reaches[k]);
    }
    for (uint32_t g = 0; g < s->groups_n; g++)
        r->component[g] = find(parent, g) == g ? r->components_n++ : r->component[find(parent, g)];
}

/* Where the groups of each component are: a counting sort. */
static uint32_t *sort_groups(const struct selection_reduced *r, struct arena *a, uint32_t *first)
{
    uint32_t *sorted = ARENA_ARRAY(a, uint32_t, r->s.groups_n);
    for (uint32_t g = 0; g < r->s.groups_n; g++)
        first[r->component[g] + 1]++;
    for (uint32_t k = 0; k < r->components_n; k++)
        first[k + 1] += first[k];
    uint32_t *next = arena_dup(a, first, ((size_t)r->components_n + 1) * sizeof *first);
    for (uint32_t g = 0; sorted && next && g < r->s.groups_n; g++)
        sorted[next[r->component[g]]++] = g;
    return sorted;
}

struct splitter {
    const struct selection_reduced *r;
    struct selection_part *part;
    uint32_t *item_of; /* by reduced item: the part's, valid when seen is this part's */
    uint32_t *seen, seen_now;
    uint32_t *items; /* of this part */
    uint32_t items_n;
    uint32_t *group_in; /* by reduced group */
};

static void note_item(struct splitter *p, uint32_t i)
{
    if (p->seen[i] == p->seen_now)
        return;
    p->seen[i] = p->seen_now;
    p->items[p->items_n++] = i;
    const struct selection_item *t = &p->r->s.items[i];
    for (uint32_t k = t->first; k < t->first + t->n; k++)
        note_item(p, p->r->s.requires[k].item);
}

static int by_id(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return (a > b) - (a < b);
}

static void add_items(struct splitter *p)
{
    const struct selection *from = &p->r->s;
    if (p->items_n > 1)
        qsort(p->items, p->items_n, sizeof *p->items, by_id);
    for (uint32_t n = 0; n < p->items_n; n++) {
        const struct selection_item *t = &from->items[p->items[n]];
        p->item_of[p->items[n]] =
            selection_add_item(&p->part->s, t->open_cost, t->keep_cost_per_ms, t->bytes_per_ms, t->base_ms);
        for (uint32_t k = t->first; k < t->first + t->n; k++)
            selection_require(&p->part->s, p->item_of[from->requires[k].item], from->requires[k].reach_ms);
    }
}

static void add_group(struct splitter *p, uint32_t g)
{
    const struct selection *from = &p->r->s;
    struct selection *s = &p->part->s;
    p->group_in[g] = selection_add_group(s, from->groups[g].root);
    p->part->group_of[p->group_in[g]] = g;
    for (uint32_t c = from->groups[g].first; c < from->groups[g].first + from->groups[g].n; c++) {
        const struct selection_choice *choice = &from->choices[c];
        p->part->choice_of[selection_add_choice(s, choice->cost, choice->bytes)] = c;
        for (uint32_t k = choice->needs_first; k < choice->needs_first + choice->needs_n; k++)
            selection_need(s, p->item_of[from->needs[k].item], from->needs[k].reach_ms);
        for (uint32_t k = choice->reaches_first; k < choice->reaches_first + choice->reaches_n; k++)
            selection_reach(s, p->group_in[from->reaches[k]]);
    }
}

struct selection_part *selection_split(struct selection_reduced *r, struct arena *a)
{
    const struct selection *from = &r->s;
    find_components(r, a);
    struct selection_part *parts = ARENA_ARRAY(a, struct selection_part, r->components_n);
    uint32_t *first = arena_zalloc(a, ((size_t)r->components_n + 2) * sizeof *first);
    uint32_t *groups = first ? sort_groups(r, a, first) : NULL;
    struct splitter p = {.r = r,
                         .item_of = ARENA_ARRAY(a, uint32_t, from->items_n),
                         .seen = arena_zalloc(a, from->items_n * sizeof *p.seen),
                         .items = ARENA_ARRAY(a, uint32_t, from->items_n),
                         .group_in = ARENA_ARRAY(a, uint32_t, from->groups_n)};
    for (uint32_t k = 0; !arena_failed(a) && k < r->components_n; k++) {
        p.part = &parts[k];
        p.seen_now = k + 1;
        p.items_n = 0;
        uint32_t choices_n = 0;
        for (uint32_t n = first[k]; n < first[k + 1]; n++) {
            const struct selection_group *g = &from->groups[groups[n]];
            choices_n += g->n;
            for (uint32_t c = g->first; c < g->first + g->n; c++) {
                for (uint32_t m = 0; m < from->choices[c].needs_n; m++)
                    note_item(&p, from->needs[from->choices[c].needs_first + m].item);
            }
        }
        selection_init(&p.part->s, a);
        p.part->group_of = ARENA_ARRAY(a, uint32_t, first[k + 1] - first[k]);
        p.part->choice_of = ARENA_ARRAY(a, uint32_t, choices_n);
        add_items(&p);
        for (uint32_t n = first[k]; !arena_failed(a) && n < first[k + 1]; n++)
            add_group(&p, groups[n]);
    }
    return parts;
}
