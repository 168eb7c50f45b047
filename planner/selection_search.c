/*
 * Local search. One move takes one group to another choice; a larger one takes all groups that can use an item to it,
 * or all that use it away, since no single group would open what pays only for several, nor leave what the others keep
 * open anyway. Every move lowers the total, ties keep what is there, and groups and items are visited in order: it
 * ends, and always alike.
 *
 * The total is kept up to date by joining and leaving: what a choice costs is what joining adds, given all the others.
 * A limit is met through a price on bytes, raised until the result fits, then lowered as far as it still does.
 */
#include <math.h>
#include <string.h>

#include "planner/selection_internal.h"

enum { KICKED_CHOICES_MAX = 2000, PASSES_MAX = 32, PRICE_RISES_MAX = 40, PRICE_STEPS = 20 };

struct search {
    const struct selection *s;
    struct arena *a;
    uint32_t *choice;   /* by group; also what an unreached group would take */
    uint32_t *askers_n; /* by group: that reach it; a root has one more */
    bool *taken;        /* by choice: its group is reached and takes it */
    uint32_t *users_n;  /* by item: choices taken and open items that need it */
    uint32_t *farthest_n;
    double *reach_ms;             /* by item: the farthest of its users; farthest_n have it */
    uint32_t *first_user, *users; /* by item: choices with a need of it, ascending */
    uint32_t *first_requirer, *requirers;
    double cost, bytes;
    double price;      /* of a byte, in cost */
    bool within_limit; /* moves that end over the limit are none */
    uint32_t *trail;   /* choices left, to go back */
    uint32_t trail_n;
};

static double value_of(const struct search *h)
{
    if (h->within_limit && !selection_fits(h->s, h->bytes))
        return INFINITY;
    return h->cost + h->price * h->bytes;
}

static void pay(struct search *h, const struct selection_item *t, double sign, double opened, double kept_ms)
{
    h->cost += sign * (opened * t->open_cost + t->keep_cost_per_ms * kept_ms);
    h->bytes += sign * t->bytes_per_ms * kept_ms;
}

/* As deep as items require items. */
static void join_item(struct search *h, uint32_t i, double reach_ms)
{
    const struct selection_item *t = &h->s->items[i];
    if (h->users_n[i]++ == 0) {
        h->reach_ms[i] = reach_ms;
        h->farthest_n[i] = 1;
        pay(h, t, 1, 1, t->base_ms + reach_ms);
        for (uint32_t k = t->first; k < t->first + t->n; k++)
            join_item(h, h->s->requires[k].item, h->s->requires[k].reach_ms);
    } else if (reach_ms > h->reach_ms[i]) {
        pay(h, t, 1, 0, reach_ms - h->reach_ms[i]);
        h->reach_ms[i] = reach_ms;
        h->farthest_n[i] = 1;
    } else if (reach_ms == h->reach_ms[i]) {
        h->farthest_n[i]++;
    }
}

static void note_reach(struct search *h, uint32_t i, const struct selection_need *needs, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (needs[k].item != i || needs[k].reach_ms < h->reach_ms[i])
            continue;
        h->farthest_n[i] = needs[k].reach_ms > h->reach_ms[i] ? 1 : h->farthest_n[i] + 1;
        h->reach_ms[i] = needs[k].reach_ms;
    }
}

/* Who leaves is no longer taken, or no longer open, by the time this looks. */
static void leave_item(struct search *h, uint32_t i, double reach_ms)
{
    const struct selection *s = h->s;
    const struct selection_item *t = &s->items[i];
    double was_ms = h->reach_ms[i];
    if (--h->users_n[i] == 0) {
        pay(h, t, -1, 1, t->base_ms + was_ms);
        h->reach_ms[i] = 0;
        for (uint32_t k = t->first; k < t->first + t->n; k++)
            leave_item(h, s->requires[k].item, s->requires[k].reach_ms);
        return;
    }
    if (reach_ms < was_ms || --h->farthest_n[i] > 0)
        return;
    h->reach_ms[i] = 0;
    for (uint32_t k = h->first_user[i]; k < h->first_user[i + 1]; k++) {
        const struct selection_choice *c = &s->choices[h->users[k]];
        if (h->taken[h->users[k]])
            note_reach(h, i, s->needs + c->needs_first, c->needs_n);
    }
    for (uint32_t k = h->first_requirer[i]; k < h->first_requirer[i + 1]; k++) {
        const struct selection_item *r = &s->items[h->requirers[k]];
        if (h->users_n[h->requirers[k]] > 0)
            note_reach(h, i, s->requires + r->first, r->n);
    }
    pay(h, t, -1, 0, was_ms - h->reach_ms[i]);
}

/* As deep as groups reach groups. */
static void join_choice(struct search *h, uint32_t id)
{
    const struct selection *s = h->s;
    const struct selection_choice *c = &s->choices[id];
    h->choice[c->group] = id;
    h->taken[id] = true;
    h->cost += c->cost;
    h->bytes += c->bytes;
    for (uint32_t k = c->needs_first; k < c->needs_first + c->needs_n; k++)
        join_item(h, s->needs[k].item, s->needs[k].reach_ms);
    for (uint32_t k = c->reaches_first; k < c->reaches_first + c->reaches_n; k++) {
        if (h->askers_n[s->reaches[k]]++ == 0)
            join_choice(h, h->choice[s->reaches[k]]);
    }
}

static void leave_choice(struct search *h, uint32_t id)
{
    const struct selection *s = h->s;
    const struct selection_choice *c = &s->choices[id];
    h->taken[id] = false;
    h->cost -= c->cost;
    h->bytes -= c->bytes;
    for (uint32_t k = c->needs_first; k < c->needs_first + c->needs_n; k++)
        leave_item(h, s->needs[k].item, s->needs[k].reach_ms);
    for (uint32_t k = c->reaches_first; k < c->reaches_first + c->reaches_n; k++) {
        if (--h->askers_n[s->reaches[k]] == 0)
            leave_choice(h, h->choice[s->reaches[k]]);
    }
}

/* Only of a group that is reached. */
static void move_group(struct search *h, uint32_t id)
{
    leave_choice(h, h->choice[h->s->choices[id].group]);
    join_choice(h, id);
}

static bool needs_item(const struct selection *s, uint32_t id, uint32_t item)
{
    const struct selection_choice *c = &s->choices[id];
    for (uint32_t k = c->needs_first; k < c->needs_first + c->needs_n; k++) {
        if (s->needs[k].item == item)
            return true;
    }
    return false;
}

enum use { USE_ANY, USE_MUST, USE_MUST_NOT };

/* A reached group to its cheapest choice among those that use `item` so; did it move? */
static bool settle_group(struct search *h, uint32_t g, uint32_t item, enum use use)
{
    const struct selection *s = h->s;
    uint32_t was = h->choice[g], best = was;
    bool may_stay = use == USE_ANY || needs_item(s, was, item) == (use == USE_MUST);
    double best_value = may_stay ? value_of(h) : INFINITY;
    leave_choice(h, was);
    double cost = h->cost, bytes = h->bytes;
    for (uint32_t c = s->groups[g].first; c < s->groups[g].first + s->groups[g].n; c++) {
        if (c == was || (use != USE_ANY && needs_item(s, c, item) != (use == USE_MUST)))
            continue;
        join_choice(h, c);
        double value = value_of(h);
        leave_choice(h, c);
        h->cost = cost; /* no rounding errors of what was only looked at */
        h->bytes = bytes;
        if (isinf(best_value) ? !isinf(value) : selection_is_lower(value, best_value)) {
            best = c;
            best_value = value;
        }
    }
    join_choice(h, best);
    return best != was;
}

static void settle_and_note(struct search *h, uint32_t g, uint32_t item, enum use use)
{
    uint32_t was = h->choice[g];
    if (settle_group(h, g, item, use))
        h->trail[h->trail_n++] = was;
}

/* All groups that may use the item to it, or away from it, then each where it is best off; kept if that is cheaper. */
static bool settle_item(struct search *h, uint32_t item, enum use use)
{
    const struct selection *s = h->s;
    double before = value_of(h);
    h->trail_n = 0;
    uint32_t moved_n = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t last = SELECTION_NONE;
        for (uint32_t k = h->first_user[item]; k < h->first_user[item + 1]; k++) {
            uint32_t g = s->choices[h->users[k]].group;
            if (g == last || h->askers_n[g] == 0)
                continue;
            last = g;
            settle_and_note(h, g, item, pass == 0 ? use : USE_ANY);
        }
        moved_n += pass == 0 ? h->trail_n : 0;
        if (moved_n < 2)
            break;
    }
    if (h->trail_n == 0 || selection_is_lower(value_of(h), before))
        return h->trail_n > 0;
    while (h->trail_n > 0) {
        h->trail_n--;
        move_group(h, h->trail[h->trail_n]);
    }
    return false;
}

static void descend(struct search *h)
{
    const struct selection *s = h->s;
    bool moved = true;
    for (int pass = 0; moved && pass < PASSES_MAX; pass++) {
        moved = false;
        for (uint32_t g = s->groups_n; g-- > 0;) {
            if (h->askers_n[g] > 0)
                moved |= settle_group(h, g, 0, USE_ANY);
        }
        for (uint32_t i = 0; i < s->items_n; i++) {
            if (h->first_user[i + 1] - h->first_user[i] < 2)
                continue;
            moved |= settle_item(h, i, USE_MUST);
            if (h->users_n[i] > 1)
                moved |= settle_item(h, i, USE_MUST_NOT);
        }
    }
}

static void take(struct search *h, const uint32_t *choice)
{
    const struct selection *s = h->s;
    for (uint32_t g = 0; g < s->groups_n; g++) {
        if (s->groups[g].root && h->askers_n[g] > 0) {
            leave_choice(h, h->choice[g]);
            h->askers_n[g] = 0;
        }
    }
    for (uint32_t g = s->groups_n; g-- > 0;) {
        h->choice[g] = choice[g] == SELECTION_NONE ? h->choice[g] : choice[g];
        h->askers_n[g] = 0;
    }
    h->cost = h->bytes = 0;
    for (uint32_t g = 0; g < s->groups_n; g++) {
        if (s->groups[g].root && h->askers_n[g]++ == 0)
            join_choice(h, h->choice[g]);
    }
}

/* Out of what no single move leaves: each item that is closed is opened by all who may use it, however dear, and the
 * descent begun anew from there; what is cheaper is kept. Only while a descent is short. */
static void descend_from_each_item(struct search *h)
{
    const struct selection *s = h->s;
    uint32_t *best = ARENA_ARRAY(h->a, uint32_t, s->groups_n);
    if (!best)
        return;
    for (uint32_t i = 0; s->choices_n <= KICKED_CHOICES_MAX && i < s->items_n; i++) {
        if (h->users_n[i] > 0 || h->first_user[i + 1] - h->first_user[i] < 2)
            continue;
        double before = h->cost;
        memcpy(best, h->choice, s->groups_n * sizeof *best);
        for (uint32_t k = h->first_user[i]; k < h->first_user[i + 1]; k++) {
            uint32_t g = s->choices[h->users[k]].group;
            if (h->askers_n[g] > 0)
                settle_group(h, g, i, USE_MUST);
        }
        descend(h);
        if (!selection_is_lower(h->cost, before))
            take(h, best);
    }
}

/* What a choice comes to with nobody to share with, the groups it reaches at their own cheapest. */
static void begin_each_alone(struct search *h, const uint32_t *choice)
{
    const struct selection *s = h->s;
    for (uint32_t g = 0; g < s->groups_n; g++) {
        if (choice[g] != SELECTION_NONE) {
            h->choice[g] = choice[g];
            continue;
        }
        h->choice[g] = s->groups[g].first;
        h->askers_n[g] = 1;
        join_choice(h, h->choice[g]);
        settle_group(h, g, 0, USE_ANY);
        leave_choice(h, h->choice[g]);
        h->askers_n[g] = 0;
        h->cost = h->bytes = 0;
    }
}

/* Who needs each item: counts, then places. */
static void index_users(struct search *h)
{
    const struct selection *s = h->s;
    for (uint32_t k = 0; k < s->needs_n; k++)
        h->first_user[s->needs[k].item + 1]++;
    for (uint32_t k = 0; k < s->requires_n; k++)
        h->first_requirer[s->requires[k].item + 1]++;
    for (uint32_t i = 0; i < s->items_n; i++) {
        h->first_user[i + 1] += h->first_user[i];
        h->first_requirer[i + 1] += h->first_requirer[i];
    }
    /* users_n and farthest_n count what is placed, and are zeroed again. */
    for (uint32_t c = 0; c < s->choices_n; c++) {
        for (uint32_t k = s->choices[c].needs_first; k < s->choices[c].needs_first + s->choices[c].needs_n; k++) {
            uint32_t i = s->needs[k].item;
            h->users[h->first_user[i] + h->users_n[i]++] = c;
        }
    }
    for (uint32_t r = 0; r < s->items_n; r++) {
        for (uint32_t k = s->items[r].first; k < s->items[r].first + s->items[r].n; k++) {
            uint32_t i = s->requires[k].item;
            h->requirers[h->first_requirer[i] + h->farthest_n[i]++] = r;
        }
    }
    memset(h->users_n, 0, s->items_n * sizeof *h->users_n);
    memset(h->farthest_n, 0, s->items_n * sizeof *h->farthest_n);
}

#define ZEROED(a, type, n) ((type *)arena_zalloc((a), ((size_t)(n) + 1) * sizeof(type)))

static bool search_init(struct search *h, const struct selection *s, struct arena *a)
{
    *h = (struct search){.s = s,
                         .a = a,
                         .choice = ZEROED(a, uint32_t, s->groups_n),
                         .askers_n = ZEROED(a, uint32_t, s->groups_n),
                         .taken = ZEROED(a, bool, s->choices_n),
                         .users_n = ZEROED(a, uint32_t, s->items_n),
                         .farthest_n = ZEROED(a, uint32_t, s->items_n),
                         .reach_ms = ZEROED(a, double, s->items_n),
                         .first_user = ZEROED(a, uint32_t, s->items_n),
                         .users = ZEROED(a, uint32_t, s->needs_n),
                         .first_requirer = ZEROED(a, uint32_t, s->items_n),
                         .requirers = ZEROED(a, uint32_t, s->requires_n),
                         .trail = ZEROED(a, uint32_t, 2 * (size_t)s->groups_n)};
    if (arena_failed(a))
        return false;
    index_users(h);
    return true;
}

/* A price on bytes: the lowest found at which the result fits; whatever fits on the way and is cheapest is `best`. */
static bool search_prices(struct search *h, uint32_t *best, double *best_cost)
{
    const struct selection *s = h->s;
    size_t size = s->groups_n * sizeof *best;
    bool found = false;
    double low = 0, high = 0;
    for (int step = 0; step < PRICE_RISES_MAX + PRICE_STEPS; step++) {
        h->price = step == 0 ? 0 : high == 0 ? low : (low + high) / 2;
        descend(h);
        bool fits = selection_fits(s, h->bytes);
        if (fits && h->cost < *best_cost) {
            memcpy(best, h->choice, size);
            *best_cost = h->cost;
            found = true;
        }
        if (fits && step == 0)
            break;
        if (fits) {
            low = high == 0 ? low / 4 : low;
            high = h->price;
        } else if (high > 0)
            low = h->price;
        else
            low = low > 0 ? low * 4 : 1e-6 * (h->cost + 1e-9) / fmax(1, h->bytes);
        if (high == 0 && step >= PRICE_RISES_MAX)
            break;
    }
    h->price = 0;
    return found;
}

bool selection_search(const struct selection *s, uint32_t *choice, struct arena *a)
{
    struct search h;
    if (!search_init(&h, s, a))
        return false;
    size_t size = s->groups_n * sizeof *choice;
    begin_each_alone(&h, choice);
    memcpy(choice, h.choice, size);
    take(&h, choice);
    if (isinf(s->limit_bytes)) {
        descend(&h);
        descend_from_each_item(&h);
        memcpy(choice, h.choice, size);
        return true;
    }
    bool fits = selection_fits(s, h.bytes);
    double best_cost = fits ? h.cost : INFINITY;
    fits |= search_prices(&h, choice, &best_cost);
    if (!fits)
        return false;
    take(&h, choice);
    h.within_limit = true;
    descend(&h);
    memcpy(choice, h.choice, size);
    return true;
}
