#include "planner/selection.h"

#include <math.h>

#include "base/alloc.h"
#include "planner/selection_internal.h"

void selection_init(struct selection *s, struct arena *a)
{
    *s = (struct selection){.arena = a, .limit_bytes = INFINITY};
    /* A place to stand for runs of nothing. */
    s->needs = arena_grow(a, NULL, &s->needs_cap, 1, sizeof *s->needs);
    s->requires = arena_grow(a, NULL, &s->requires_cap, 1, sizeof *s->requires);
    s->reaches = arena_grow(a, NULL, &s->reaches_cap, 1, sizeof *s->reaches);
}

uint32_t selection_add_item(struct selection *s, double open_cost, double keep_cost_per_ms, double bytes_per_ms,
                            double base_ms)
{
    s->items = arena_grow(s->arena, s->items, &s->items_cap, (size_t)s->items_n + 1, sizeof *s->items);
    if (!s->items)
        return 0;
    s->items[s->items_n] =
        (struct selection_item){open_cost, keep_cost_per_ms, bytes_per_ms, base_ms, s->requires_n, 0};
    return s->items_n++;
}

static void add_need(struct selection *s, struct selection_need **needs, uint32_t *n, size_t *cap, uint32_t item,
                     double reach_ms)
{
    *needs = arena_grow(s->arena, *needs, cap, (size_t)*n + 1, sizeof **needs);
    if (*needs)
        (*needs)[(*n)++] = (struct selection_need){item, reach_ms};
}

void selection_require(struct selection *s, uint32_t item, double reach_ms)
{
    uint32_t n = s->requires_n;
    add_need(s, &s->requires, &s->requires_n, &s->requires_cap, item, reach_ms);
    if (s->items)
        s->items[s->items_n - 1].n += s->requires_n - n;
}

uint32_t selection_add_group(struct selection *s, bool root)
{
    s->groups = arena_grow(s->arena, s->groups, &s->groups_cap, (size_t)s->groups_n + 1, sizeof *s->groups);
    if (!s->groups)
        return 0;
    s->groups[s->groups_n] = (struct selection_group){.root = root, .first = s->choices_n};
    return s->groups_n++;
}

uint32_t selection_add_choice(struct selection *s, double cost, double bytes)
{
    s->choices = arena_grow(s->arena, s->choices, &s->choices_cap, (size_t)s->choices_n + 1, sizeof *s->choices);
    if (!s->choices || !s->groups)
        return 0;
    s->choices[s->choices_n] = (struct selection_choice){.group = s->groups_n - 1,
                                                         .cost = cost,
                                                         .bytes = bytes,
                                                         .needs_first = s->needs_n,
                                                         .reaches_first = s->reaches_n};
    s->groups[s->groups_n - 1].n++;
    return s->choices_n++;
}

void selection_need(struct selection *s, uint32_t item, double reach_ms)
{
    uint32_t n = s->needs_n;
    add_need(s, &s->needs, &s->needs_n, &s->needs_cap, item, reach_ms);
    if (s->choices)
        s->choices[s->choices_n - 1].needs_n += s->needs_n - n;
}

void selection_reach(struct selection *s, uint32_t group)
{
    s->reaches = arena_grow(s->arena, s->reaches, &s->reaches_cap, (size_t)s->reaches_n + 1, sizeof *s->reaches);
    if (!s->reaches || !s->choices)
        return;
    s->reaches[s->reaches_n++] = group;
    s->choices[s->choices_n - 1].reaches_n++;
}

static bool is_amount(double v)
{
    return isfinite(v) && v >= 0;
}

static int check_needs(const struct selection_need *needs, uint32_t n, uint32_t items_n, const char *what, uint32_t id,
                       struct err *e)
{
    for (uint32_t i = 0; i < n; i++) {
        if (needs[i].item >= items_n || !is_amount(needs[i].reach_ms))
            return err_set(e, ERR_INTERNAL, "selection: %s %u needs item %u, of %u, back to %g ms", what, id,
                           needs[i].item, items_n, needs[i].reach_ms);
        for (uint32_t k = 0; k < i; k++) {
            if (needs[k].item == needs[i].item)
                return err_set(e, ERR_INTERNAL, "selection: %s %u needs item %u twice", what, id, needs[i].item);
        }
    }
    return 0;
}

static int check_choice(const struct selection *s, uint32_t id, struct err *e)
{
    const struct selection_choice *c = &s->choices[id];
    if (!is_amount(c->cost) || !is_amount(c->bytes))
        return err_set(e, ERR_INTERNAL, "selection: choice %u costs %g and holds %g bytes", id, c->cost, c->bytes);
    for (uint32_t i = 0; i < c->reaches_n; i++) {
        if (s->reaches[c->reaches_first + i] >= c->group)
            return err_set(e, ERR_INTERNAL, "selection: choice %u of group %u reaches group %u, no smaller one", id,
                           c->group, s->reaches[c->reaches_first + i]);
    }
    return check_needs(s->needs + c->needs_first, c->needs_n, s->items_n, "choice", id, e);
}

int selection_check(const struct selection *s, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->items_n; i++) {
        const struct selection_item *t = &s->items[i];
        if (!is_amount(t->open_cost) || !is_amount(t->keep_cost_per_ms) || !is_amount(t->bytes_per_ms) ||
            !is_amount(t->base_ms))
            return err_set(e, ERR_INTERNAL, "selection: item %u has a cost that is no amount", i);
        rc = check_needs(s->requires + t->first, t->n, i, "item", i, e);
    }
    for (uint32_t i = 0; rc == 0 && i < s->choices_n; i++)
        rc = check_choice(s, i, e);
    for (uint32_t i = 0; rc == 0 && i < s->groups_n; i++) {
        if (s->groups[i].n == 0)
            return err_set(e, ERR_INTERNAL, "selection: group %u has no choice", i);
    }
    if (rc == 0 && isnan(s->limit_bytes))
        return err_set(e, ERR_INTERNAL, "selection: the limit is not a number");
    return rc;
}

const char *selection_status_name(enum selection_status s)
{
    switch (s) {
    case SELECTION_OPTIMAL:
        return "optimal";
    case SELECTION_DEADLINE:
        return "deadline";
    case SELECTION_UNPROVED:
        break;
    }
    return "unproved";
}

void selection_answer_init(const struct selection *s, struct arena *a, struct selection_answer *answer)
{
    *answer = (struct selection_answer){.choice = ARENA_ARRAY(a, uint32_t, s->groups_n),
                                        .open = ARENA_ARRAY(a, bool, s->items_n),
                                        .reach_ms = ARENA_ARRAY(a, double, s->items_n)};
}

static void open_items(const struct selection_need *needs, uint32_t n, struct selection_answer *answer)
{
    for (uint32_t i = 0; i < n; i++) {
        answer->open[needs[i].item] = true;
        answer->reach_ms[needs[i].item] = fmax(answer->reach_ms[needs[i].item], needs[i].reach_ms);
    }
}

/* Ids fall from what asks to what is asked, so one falling pass over groups and one over items see every asker before
 * they are paid. */
void selection_evaluate(const struct selection *s, struct selection_answer *answer)
{
    bool *reached = mem_zalloc(s->groups_n);
    answer->cost = answer->bytes = 0;
    for (uint32_t i = 0; i < s->items_n; i++) {
        answer->open[i] = false;
        answer->reach_ms[i] = 0;
    }
    for (uint32_t g = s->groups_n; g-- > 0;) {
        if (!s->groups[g].root && !reached[g]) {
            answer->choice[g] = SELECTION_NONE;
            continue;
        }
        const struct selection_choice *c = &s->choices[answer->choice[g]];
        answer->cost += c->cost;
        answer->bytes += c->bytes;
        open_items(s->needs + c->needs_first, c->needs_n, answer);
        for (uint32_t i = 0; i < c->reaches_n; i++)
            reached[s->reaches[c->reaches_first + i]] = true;
    }
    for (uint32_t i = s->items_n; i-- > 0;) {
        const struct selection_item *t = &s->items[i];
        if (!answer->open[i])
            continue;
        answer->cost += t->open_cost + t->keep_cost_per_ms * (t->base_ms + answer->reach_ms[i]);
        answer->bytes += t->bytes_per_ms * (t->base_ms + answer->reach_ms[i]);
        open_items(s->requires + t->first, t->n, answer);
    }
    mem_free(reached);
}

double selection_floor(const struct selection *s)
{
    double sum = 0;
    for (uint32_t g = 0; g < s->groups_n; g++) {
        double least = INFINITY;
        for (uint32_t c = s->groups[g].first; c < s->groups[g].first + s->groups[g].n; c++)
            least = fmin(least, s->choices[c].cost);
        sum += s->groups[g].root ? least : 0;
    }
    return sum;
}
