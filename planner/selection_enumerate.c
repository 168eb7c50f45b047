/*
 * All combinations, depth first: groups by falling id, so that a group is known to be reached or not when its turn
 * comes. What is paid only grows on the way down; a branch that is no cheaper than the best so far, or holds too much,
 * is left.
 */
#include <math.h>
#include <string.h>

#include "planner/selection_internal.h"

struct walk {
    const struct selection *s;
    uint32_t *now, *best;
    uint32_t *askers_n;
    double *reach_ms; /* by item; -1: closed */
    struct undo {
        uint32_t item;
        double reach_ms;
    } * undo;
    uint32_t undo_n;
    double cost, bytes, best_cost;
};

double selection_combinations(const struct selection *s)
{
    double n = 1;
    for (uint32_t g = 0; g < s->groups_n; g++)
        n *= s->groups[g].n;
    return n;
}

static void open_item(struct walk *w, uint32_t i, double reach_ms)
{
    const struct selection_item *t = &w->s->items[i];
    double was_ms = w->reach_ms[i];
    if (reach_ms <= was_ms)
        return;
    double more_ms = was_ms < 0 ? t->base_ms + reach_ms : reach_ms - was_ms;
    w->undo[w->undo_n++] = (struct undo){i, was_ms};
    w->reach_ms[i] = reach_ms;
    w->cost += (was_ms < 0 ? t->open_cost : 0) + t->keep_cost_per_ms * more_ms;
    w->bytes += t->bytes_per_ms * more_ms;
    for (uint32_t k = t->first; was_ms < 0 && k < t->first + t->n; k++)
        open_item(w, w->s->requires[k].item, w->s->requires[k].reach_ms);
}

/* As deep as there are groups. */
static void walk_from(struct walk *w, uint32_t groups_left)
{
    const struct selection *s = w->s;
    while (groups_left > 0 && w->askers_n[groups_left - 1] == 0)
        groups_left--;
    if (groups_left == 0) {
        memcpy(w->best, w->now, s->groups_n * sizeof *w->best);
        w->best_cost = w->cost;
        return;
    }
    uint32_t g = groups_left - 1;
    double cost = w->cost, bytes = w->bytes;
    uint32_t undo_n = w->undo_n;
    for (uint32_t id = s->groups[g].first; id < s->groups[g].first + s->groups[g].n; id++) {
        const struct selection_choice *c = &s->choices[id];
        w->cost = cost + c->cost;
        w->bytes = bytes + c->bytes;
        for (uint32_t k = c->needs_first; k < c->needs_first + c->needs_n; k++)
            open_item(w, s->needs[k].item, s->needs[k].reach_ms);
        if (w->cost < w->best_cost && selection_fits(s, w->bytes)) {
            w->now[g] = id;
            for (uint32_t k = 0; k < c->reaches_n; k++)
                w->askers_n[s->reaches[c->reaches_first + k]]++;
            walk_from(w, g);
            for (uint32_t k = 0; k < c->reaches_n; k++)
                w->askers_n[s->reaches[c->reaches_first + k]]--;
        }
        while (w->undo_n > undo_n) {
            w->undo_n--;
            w->reach_ms[w->undo[w->undo_n].item] = w->undo[w->undo_n].reach_ms;
        }
    }
    w->cost = cost;
    w->bytes = bytes;
}

void selection_enumerate(const struct selection *s, uint32_t *choice, struct arena *a)
{
    struct selection_answer given;
    selection_answer_init(s, a, &given);
    struct walk w = {.s = s,
                     .now = ARENA_ARRAY(a, uint32_t, s->groups_n),
                     .best = choice,
                     .askers_n = arena_zalloc(a, s->groups_n * sizeof *w.askers_n),
                     .reach_ms = ARENA_ARRAY(a, double, s->items_n),
                     .undo = ARENA_ARRAY(a, struct undo, s->needs_n + s->requires_n)};
    if (arena_failed(a))
        return;
    memcpy(given.choice, choice, s->groups_n * sizeof *choice);
    selection_evaluate(s, &given);
    w.best_cost = selection_fits(s, given.bytes) ? given.cost * (1 - SELECTION_CLOSE) : INFINITY;
    memcpy(w.now, choice, s->groups_n * sizeof *choice);
    for (uint32_t i = 0; i < s->items_n; i++)
        w.reach_ms[i] = -1;
    for (uint32_t g = 0; g < s->groups_n; g++)
        w.askers_n[g] = s->groups[g].root;
    walk_from(&w, s->groups_n);
}
