#include "planner/selection_reducer.h"

#include <math.h>

void reducer_add_closure(struct reducer *r, const struct list *list)
{
    for (uint32_t k = 0; k < list->n; k++) {
        uint32_t i = list->v[k].item;
        bool fresh = r->mark_ms[i] < 0;
        if (fresh)
            r->closure[r->closure_n++] = i;
        r->mark_ms[i] = fmax(r->mark_ms[i], list->v[k].reach_ms);
        if (fresh)
            reducer_add_closure(r, &r->requires[i]);
    }
}

void reducer_clear_closure(struct reducer *r)
{
    while (r->closure_n > 0)
        r->mark_ms[r->closure[--r->closure_n]] = -1;
}

/* Choices that may ever need an item directly: those that do as stated, or need what requires it. */
static void index_users(struct reducer *r)
{
    const struct selection *s = r->s;
    for (int pass = 1; pass <= 2; pass++) {
        for (uint32_t c = 0; c < s->choices_n; c++) {
            reducer_add_closure(r, &r->needs[c]);
            for (uint32_t k = 0; k < r->closure_n; k++) {
                uint32_t i = r->closure[k];
                if (pass == 1)
                    r->first_user[i + 1]++;
                else
                    r->users[r->first_user[i] + r->users_n[i]++] = c;
            }
            reducer_clear_closure(r);
        }
        for (uint32_t i = 0; pass == 1 && i < s->items_n; i++)
            r->first_user[i + 1] += r->first_user[i];
        if (pass == 1)
            r->users = ARENA_ARRAY(r->a, uint32_t, r->first_user[s->items_n]);
        if (!r->users)
            return;
    }
}

static void index_requirers(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t k = 0; k < s->requires_n; k++)
        r->first_requirer[s->requires[k].item + 1]++;
    for (uint32_t i = 0; i < s->items_n; i++) {
        r->first_requirer[i + 1] += r->first_requirer[i];
        r->users_n[i] = 0;
    }
    for (uint32_t j = 0; j < s->items_n; j++) {
        for (uint32_t k = s->items[j].first; k < s->items[j].first + s->items[j].n; k++) {
            uint32_t i = s->requires[k].item;
            r->requirers[r->first_requirer[i] + r->users_n[i]++] = j;
        }
    }
}

#define ZEROED(a, type, n) ((type *)arena_zalloc((a), ((size_t)(n) + 1) * sizeof(type)))

bool reducer_init(struct reducer *r, const struct selection *s, bool limited, struct arena *a)
{
    uint32_t choices_n = s->choices_n, items_n = s->items_n, groups_n = s->groups_n;
    *r = (struct reducer){.s = s,
                          .a = a,
                          .limited = limited,
                          .dead = ZEROED(a, bool, choices_n),
                          .cost = ZEROED(a, double, choices_n),
                          .bytes = ZEROED(a, double, choices_n),
                          .full = ZEROED(a, double, choices_n),
                          .full_bytes = ZEROED(a, double, choices_n),
                          .own_bytes = ZEROED(a, double, choices_n),
                          .needs = ZEROED(a, struct list, choices_n),
                          .items = arena_dup(a, s->items, items_n * sizeof *s->items),
                          .requires = ZEROED(a, struct list, items_n),
                          .gone = ZEROED(a, bool, items_n),
                          .users_n = ZEROED(a, uint32_t, items_n),
                          .user = ZEROED(a, uint32_t, items_n),
                          .required = ZEROED(a, bool, items_n),
                          .used = ZEROED(a, bool, items_n),
                          .mark_ms = ZEROED(a, double, items_n),
                          .closure = ZEROED(a, uint32_t, items_n),
                          .root = ZEROED(a, bool, groups_n),
                          .on = ZEROED(a, bool, groups_n),
                          .settled = ZEROED(a, bool, groups_n),
                          .least = ZEROED(a, double, groups_n),
                          .least_bytes = ZEROED(a, double, groups_n),
                          .first_user = ZEROED(a, uint32_t, items_n),
                          .first_requirer = ZEROED(a, uint32_t, items_n),
                          .requirers = ZEROED(a, uint32_t, s->requires_n)};
    struct selection_need *needs = arena_dup(a, s->needs, s->needs_n * sizeof *needs);
    struct selection_need *requires = arena_dup(a, s->requires, s->requires_n * sizeof *requires);
    if (arena_failed(a))
        return false;
    for (uint32_t c = 0; c < choices_n; c++) {
        r->cost[c] = s->choices[c].cost;
        r->bytes[c] = s->choices[c].bytes;
        r->needs[c] = (struct list){needs + s->choices[c].needs_first, s->choices[c].needs_n};
    }
    for (uint32_t i = 0; i < items_n; i++) {
        r->requires[i] = (struct list){requires + s->items[i].first, s->items[i].n};
        r->mark_ms[i] = -1;
    }
    for (uint32_t g = 0; g < groups_n; g++)
        r->root[g] = s->groups[g].root;
    index_users(r);
    index_requirers(r);
    return !arena_failed(a);
}

/* Which reduced item each is, in `user`. */
static void state_items(struct reducer *r, struct selection *s)
{
    for (uint32_t i = 0; i < r->s->items_n; i++) {
        const struct selection_item *t = &r->items[i];
        r->user[i] = SELECTION_NONE;
        if (r->gone[i] || !r->used[i])
            continue;
        r->user[i] = selection_add_item(s, t->open_cost, t->keep_cost_per_ms, t->bytes_per_ms, t->base_ms);
        for (uint32_t k = 0; k < r->requires[i].n; k++)
            selection_require(s, r->user[r->requires[i].v[k].item], r->requires[i].v[k].reach_ms);
    }
}

void reducer_state(struct reducer *r, struct selection_reduced *ret)
{
    const struct selection *from = r->s;
    struct selection *s = &ret->s;
    uint32_t *reduced = ARENA_ARRAY(r->a, uint32_t, from->groups_n);
    selection_init(s, r->a);
    s->limit_bytes = from->limit_bytes - r->bytes_sum;
    state_items(r, s);
    for (uint32_t g = 0; !arena_failed(r->a) && g < from->groups_n; g++) {
        uint32_t end = from->groups[g].first + from->groups[g].n;
        if (!r->on[g] || r->settled[g]) {
            ret->settled[g] = from->groups[g].first; /* of one that nothing reaches, any */
            while (r->settled[g] && r->dead[ret->settled[g]])
                ret->settled[g]++;
            continue;
        }
        reduced[g] = selection_add_group(s, r->root[g]);
        ret->group_of[reduced[g]] = g;
        for (uint32_t c = from->groups[g].first; c < end; c++) {
            if (r->dead[c])
                continue;
            ret->choice_of[selection_add_choice(s, r->cost[c], r->bytes[c])] = c;
            for (uint32_t k = 0; k < r->needs[c].n; k++)
                selection_need(s, r->user[r->needs[c].v[k].item], r->needs[c].v[k].reach_ms);
            for (uint32_t k = 0; k < from->choices[c].reaches_n; k++) {
                uint32_t child = from->reaches[from->choices[c].reaches_first + k];
                if (!r->settled[child])
                    selection_reach(s, reduced[child]);
            }
        }
    }
}
