/*
 * Presolve: what some optimum does without is dropped, until nothing more is.
 *
 *   fold      an item that only one group's choices use is no longer shared: each of them pays it itself
 *   settle    a root group with one choice left takes it: its items are open for all others, its groups are roots
 *   dominated a choice that costs no less than another of its group, needing at least the same; or that with all it
 *             needs for nothing costs no less than another that pays everything alone
 *   too large a choice that alone holds more than the limit
 *   hopeless  an item whose users save less by it, all together, than it costs
 *
 * With a limit, what stands in for something else must not hold more bytes. Each rule keeps one optimum, and goes by
 * order where two are alike.
 */
#include <math.h>
#include <string.h>

#include "planner/selection_reducer.h"

enum { ROUNDS_MAX = 50 };

/* Groups that may be reached. */
static void find_groups(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t g = 0; g < s->groups_n; g++)
        r->on[g] = r->root[g];
    for (uint32_t g = s->groups_n; g-- > 0;) {
        for (uint32_t c = s->groups[g].first; r->on[g] && c < s->groups[g].first + s->groups[g].n; c++) {
            for (uint32_t k = 0; !r->dead[c] && k < s->choices[c].reaches_n; k++)
                r->on[s->reaches[s->choices[c].reaches_first + k]] = true;
        }
    }
}

/* Which items live choices use, and how many groups need each directly. */
static void find_users(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t i = 0; i < s->items_n; i++) {
        r->users_n[i] = 0;
        r->user[i] = SELECTION_NONE;
        r->used[i] = r->required[i] = false;
    }
    for (uint32_t c = 0; c < s->choices_n; c++) {
        uint32_t g = s->choices[c].group;
        for (uint32_t k = 0; !r->dead[c] && r->on[g] && k < r->needs[c].n; k++) {
            uint32_t i = r->needs[c].v[k].item;
            r->used[i] = true;
            r->users_n[i] += r->user[i] != g;
            r->user[i] = g;
        }
    }
    for (uint32_t i = s->items_n; i-- > 0;) {
        for (uint32_t k = 0; r->used[i] && k < r->requires[i].n; k++)
            r->used[r->requires[i].v[k].item] = r->required[r->requires[i].v[k].item] = true;
    }
}

static double item_cost(const struct reducer *r, uint32_t i, double reach_ms)
{
    const struct selection_item *t = &r->items[i];
    return t->open_cost + t->keep_cost_per_ms * (t->base_ms + reach_ms);
}

static double item_bytes(const struct reducer *r, uint32_t i, double reach_ms)
{
    return r->items[i].bytes_per_ms * (r->items[i].base_ms + reach_ms);
}

static void add_to_list(struct reducer *r, struct list *list, uint32_t room, uint32_t item, double reach_ms)
{
    for (uint32_t k = 0; k < list->n; k++) {
        if (list->v[k].item == item) {
            list->v[k].reach_ms = fmax(list->v[k].reach_ms, reach_ms);
            return;
        }
    }
    if (list->n < room)
        list->v[list->n++] = (struct selection_need){item, reach_ms};
}

/* Item i of choice c paid by c itself; what i requires, c needs. */
static void fold_into(struct reducer *r, uint32_t c, uint32_t i)
{
    struct list *old = &r->needs[c];
    uint32_t room = old->n + r->requires[i].n;
    struct list made = {ARENA_ARRAY(r->a, struct selection_need, room), 0};
    if (!made.v)
        return;
    for (uint32_t k = 0; k < old->n; k++) {
        if (old->v[k].item != i) {
            add_to_list(r, &made, room, old->v[k].item, old->v[k].reach_ms);
            continue;
        }
        r->cost[c] += item_cost(r, i, old->v[k].reach_ms);
        r->bytes[c] += item_bytes(r, i, old->v[k].reach_ms);
        for (uint32_t m = 0; m < r->requires[i].n; m++)
            add_to_list(r, &made, room, r->requires[i].v[m].item, r->requires[i].v[m].reach_ms);
    }
    *old = made;
}

static void fold_private(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t i = s->items_n; i-- > 0;) {
        if (r->gone[i] || r->required[i] || r->users_n[i] != 1)
            continue;
        const struct selection_group *g = &s->groups[r->user[i]];
        for (uint32_t c = g->first; c < g->first + g->n; c++) {
            if (!r->dead[c])
                fold_into(r, c, i);
        }
        r->gone[i] = r->changed = true;
    }
}

static void shorten(struct reducer *r, struct list *list, uint32_t item, double by_ms)
{
    uint32_t kept_n = 0;
    for (uint32_t k = 0; k < list->n; k++) {
        struct selection_need need = list->v[k];
        if (need.item == item) {
            need.reach_ms -= by_ms;
            if (need.reach_ms <= 0)
                continue;
        }
        list->v[kept_n++] = need;
    }
    list->n = kept_n;
}

/* Open whatever comes: paid so far, free for everyone as far back as that. */
static void open_for_all(struct reducer *r, uint32_t i, double reach_ms)
{
    r->cost_sum += item_cost(r, i, reach_ms);
    r->bytes_sum += item_bytes(r, i, reach_ms);
    r->items[i].open_cost = r->items[i].base_ms = 0;
    for (uint32_t k = r->first_user[i]; k < r->first_user[i + 1]; k++)
        shorten(r, &r->needs[r->users[k]], i, reach_ms);
    for (uint32_t k = r->first_requirer[i]; k < r->first_requirer[i + 1]; k++)
        shorten(r, &r->requires[r->requirers[k]], i, reach_ms);
}

static void settle(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t g = s->groups_n; g-- > 0;) {
        uint32_t live_n = 0, only = 0;
        for (uint32_t c = s->groups[g].first; c < s->groups[g].first + s->groups[g].n; c++) {
            if (!r->dead[c]) {
                live_n++;
                only = c;
            }
        }
        if (!r->root[g] || r->settled[g] || live_n != 1)
            continue;
        r->settled[g] = r->changed = true;
        r->cost_sum += r->cost[only];
        r->bytes_sum += r->bytes[only];
        r->cost[only] = r->bytes[only] = 0;
        for (uint32_t k = 0; k < s->choices[only].reaches_n; k++)
            r->root[s->reaches[s->choices[only].reaches_first + k]] = true;
        reducer_add_closure(r, &r->needs[only]);
        for (uint32_t k = 0; k < r->closure_n; k++)
            open_for_all(r, r->closure[k], r->mark_ms[r->closure[k]]);
        reducer_clear_closure(r);
        r->needs[only].n = 0;
    }
}

static void price_alone(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t g = 0; g < s->groups_n; g++) {
        r->least[g] = r->least_bytes[g] = INFINITY;
        for (uint32_t c = s->groups[g].first; c < s->groups[g].first + s->groups[g].n; c++) {
            if (r->dead[c])
                continue;
            double cost = r->cost[c], bytes = r->bytes[c];
            reducer_add_closure(r, &r->needs[c]);
            for (uint32_t k = 0; k < r->closure_n; k++) {
                cost += item_cost(r, r->closure[k], r->mark_ms[r->closure[k]]);
                bytes += item_bytes(r, r->closure[k], r->mark_ms[r->closure[k]]);
            }
            reducer_clear_closure(r);
            r->own_bytes[c] = bytes;
            for (uint32_t k = 0; k < s->choices[c].reaches_n; k++) {
                cost += r->least[s->reaches[s->choices[c].reaches_first + k]];
                bytes += r->least_bytes[s->reaches[s->choices[c].reaches_first + k]];
            }
            r->full[c] = cost;
            r->full_bytes[c] = bytes;
            if (cost < r->least[g]) {
                r->least[g] = cost;
                r->least_bytes[g] = bytes;
            }
        }
    }
}

static bool needs_no_more(const struct reducer *r, uint32_t a, uint32_t b)
{
    const struct selection *s = r->s;
    for (uint32_t k = 0; k < r->needs[a].n; k++) {
        const struct selection_need *need = &r->needs[a].v[k];
        bool found = false;
        for (uint32_t m = 0; !found && m < r->needs[b].n; m++)
            found = r->needs[b].v[m].item == need->item && r->needs[b].v[m].reach_ms >= need->reach_ms;
        if (!found)
            return false;
    }
    for (uint32_t k = 0; k < s->choices[a].reaches_n; k++) {
        bool found = false;
        for (uint32_t m = 0; !found && m < s->choices[b].reaches_n; m++)
            found = s->reaches[s->choices[b].reaches_first + m] == s->reaches[s->choices[a].reaches_first + k];
        if (!found)
            return false;
    }
    return true;
}

static bool dominates(const struct reducer *r, uint32_t a, uint32_t b)
{
    if (r->full[a] <= r->cost[b] && (!r->limited || r->full_bytes[a] <= r->bytes[b]))
        return true;
    return r->cost[a] <= r->cost[b] && (!r->limited || r->bytes[a] <= r->bytes[b]) && needs_no_more(r, a, b);
}

static void kill_choice(struct reducer *r, uint32_t c)
{
    r->dead[c] = r->changed = true;
}

static void drop_dominated(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t g = 0; g < s->groups_n; g++) {
        uint32_t end = s->groups[g].first + s->groups[g].n;
        for (uint32_t a = s->groups[g].first; r->on[g] && a < end; a++) {
            for (uint32_t b = s->groups[g].first; !r->dead[a] && b < end; b++) {
                if (b != a && !r->dead[b] && dominates(r, a, b) && (a < b || !dominates(r, b, a)))
                    kill_choice(r, b);
            }
        }
    }
}

/* What alone holds more than the limit is no choice; but a group keeps one, so that there is something to be said. */
static void drop_too_large(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t g = 0; r->limited && g < s->groups_n; g++) {
        uint32_t end = s->groups[g].first + s->groups[g].n, least = SELECTION_NONE;
        for (uint32_t c = s->groups[g].first; c < end; c++) {
            if (!r->dead[c] && (least == SELECTION_NONE || r->own_bytes[c] < r->own_bytes[least]))
                least = c;
        }
        for (uint32_t c = s->groups[g].first; c < end; c++) {
            if (!r->dead[c] && c != least && !selection_fits(s, r->own_bytes[c] + r->bytes_sum))
                kill_choice(r, c);
        }
    }
}

static bool uses(struct reducer *r, uint32_t c, uint32_t item)
{
    reducer_add_closure(r, &r->needs[c]);
    bool found = r->mark_ms[item] >= 0;
    reducer_clear_closure(r);
    return found;
}

/* May what a choice reaches, down to the last group, use the item? As deep as groups reach groups. */
static bool reach_uses(struct reducer *r, uint32_t c, uint32_t item)
{
    const struct selection *s = r->s;
    for (uint32_t k = 0; k < s->choices[c].reaches_n; k++) {
        const struct selection_group *h = &s->groups[s->reaches[s->choices[c].reaches_first + k]];
        for (uint32_t b = h->first; b < h->first + h->n; b++) {
            if (!r->dead[b] && (uses(r, b, item) || reach_uses(r, b, item)))
                return true;
        }
    }
    return false;
}

/* The most that a group saves by having this item for nothing; INFINITY when nothing else answers it. */
static double saving(struct reducer *r, uint32_t g, uint32_t item)
{
    const struct selection *s = r->s;
    double without = INFINITY, with = INFINITY;
    for (uint32_t c = s->groups[g].first; c < s->groups[g].first + s->groups[g].n; c++) {
        if (r->dead[c])
            continue;
        if (uses(r, c, item))
            with = fmin(with, r->cost[c]);
        else if ((!r->limited || r->full_bytes[c] == 0) && !reach_uses(r, c, item))
            without = fmin(without, r->full[c]);
    }
    return isinf(with) ? 0 : fmax(0, without - with);
}

/* Were the item not there, its users would each take what is cheapest for them alone without it. */
static void drop_hopeless(struct reducer *r)
{
    const struct selection *s = r->s;
    for (uint32_t i = 0; i < s->items_n; i++) {
        if (r->gone[i] || !r->used[i])
            continue;
        double price = item_cost(r, i, 0), saved = 0;
        uint32_t last = SELECTION_NONE;
        for (uint32_t k = r->first_user[i]; saved < price && k < r->first_user[i + 1]; k++) {
            uint32_t g = s->choices[r->users[k]].group;
            if (g != last && r->on[g])
                saved += saving(r, g, i);
            last = g;
        }
        if (saved >= price)
            continue;
        for (uint32_t k = r->first_user[i]; k < r->first_user[i + 1]; k++) {
            uint32_t c = r->users[k];
            if (!r->dead[c] && uses(r, c, i))
                kill_choice(r, c);
        }
    }
}

void selection_reduce(const struct selection *s, bool limited, struct arena *a, struct selection_reduced *ret)
{
    struct reducer r;
    *ret = (struct selection_reduced){.group_of = ARENA_ARRAY(a, uint32_t, s->groups_n),
                                      .choice_of = ARENA_ARRAY(a, uint32_t, s->choices_n),
                                      .settled = ARENA_ARRAY(a, uint32_t, s->groups_n)};
    if (!reducer_init(&r, s, limited, a))
        return;
    r.changed = true;
    for (int round = 0; r.changed && round < ROUNDS_MAX; round++) {
        r.changed = false;
        find_groups(&r);
        find_users(&r);
        fold_private(&r);
        price_alone(&r);
        drop_too_large(&r);
        drop_dominated(&r);
        drop_hopeless(&r);
        settle(&r);
    }
    find_groups(&r);
    find_users(&r);
    for (uint32_t g = 0; g < s->groups_n; g++)
        ret->settled[g] = SELECTION_NONE;
    ret->settled_cost = r.cost_sum;
    ret->settled_bytes = r.bytes_sum;
    reducer_state(&r, ret);
}
