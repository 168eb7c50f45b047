/*
 * The selection problem as a MILP. Columns in [0, 1]: y of each choice (0 or 1), x of each item, r of each item's reach
 * as a share of the farthest that any asks (none where all ask alike: r is then x).
 *
 *   sum y of a root group                                 = 1
 *   sum y of another group                               <= 1
 *   sum y of the group - sum y of h that reaches it      >= 0     for every group h with choices that reach it
 *   x of item i - sum y of h that needs it               >= 0     for every group h with choices that need it
 *   r of item i - sum (reach / farthest) y of h          >= 0     the same
 *   sum bytes                                            <= limit
 *
 * A choice needs here what it needs and all that requires, so items have no rows of their own. A group takes one
 * choice, so its choices stand in one row, summed: that is tighter than a row for each, above all where choices of one
 * group lead to one item by several others. x and r are at their least in an optimum, so only y must be whole.
 */
#include <math.h>
#include <string.h>

#include "planner/selection_internal.h"

struct model {
    const struct selection *s;
    struct milp *m;
    struct selection_need *needs; /* of choices, with all that is required */
    uint32_t *needs_first;        /* choices_n + 1: of each in needs */
    double *farthest_ms;          /* by item; 0: r is x */
    uint32_t *r_column;           /* by item: of r, or of x */
};

/* Needs and what they require, each item once; `place` is by item where it stands in needs + 1, if from `first` on. */
static void add_closure(struct model *o, const struct selection_need *needs, uint32_t n, uint32_t first, size_t *cap,
                        uint32_t *needs_n, uint32_t *place, struct arena *a)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = needs[k].item;
        if (place[i] > first && o->needs[place[i] - 1].item == i) {
            struct selection_need *there = &o->needs[place[i] - 1];
            there->reach_ms = fmax(there->reach_ms, needs[k].reach_ms);
            continue;
        }
        o->needs = arena_grow(a, o->needs, cap, (size_t)*needs_n + 1, sizeof *o->needs);
        if (!o->needs)
            return;
        o->needs[(*needs_n)++] = needs[k];
        place[i] = *needs_n;
        const struct selection_item *t = &o->s->items[i];
        add_closure(o, o->s->requires + t->first, t->n, first, cap, needs_n, place, a);
    }
}

static bool close_needs(struct model *o, struct arena *a)
{
    const struct selection *s = o->s;
    uint32_t *place = arena_zalloc(a, s->items_n * sizeof *place);
    size_t cap = 0;
    uint32_t needs_n = 0;
    o->needs_first = ARENA_ARRAY(a, uint32_t, (size_t)s->choices_n + 1);
    o->needs = arena_grow(a, NULL, &cap, 1, sizeof *o->needs);
    for (uint32_t c = 0; !arena_failed(a) && c < s->choices_n; c++) {
        o->needs_first[c] = needs_n;
        add_closure(o, s->needs + s->choices[c].needs_first, s->choices[c].needs_n, needs_n, &cap, &needs_n, place, a);
    }
    if (arena_failed(a))
        return false;
    o->needs_first[s->choices_n] = needs_n;
    return true;
}

/* How far back each item is asked for at most, and whether all ask alike. */
static void find_farthest(struct model *o, bool *several)
{
    const struct selection *s = o->s;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < o->needs_first[s->choices_n]; k++) {
            const struct selection_need *need = &o->needs[k];
            if (pass == 0)
                o->farthest_ms[need->item] = fmax(o->farthest_ms[need->item], need->reach_ms);
            else
                several[need->item] |= need->reach_ms < o->farthest_ms[need->item];
        }
    }
}

static bool add_columns(struct model *o, struct arena *a)
{
    const struct selection *s = o->s;
    struct milp *m = o->m;
    bool *several = arena_zalloc(a, s->items_n);
    if (!several)
        return false;
    find_farthest(o, several);
    uint32_t columns_n = s->choices_n + s->items_n;
    for (uint32_t i = 0; i < s->items_n; i++)
        o->r_column[i] = several[i] ? columns_n++ : s->choices_n + i;
    m->columns_n = columns_n;
    m->costs = arena_zalloc(a, columns_n * sizeof *m->costs);
    m->whole = arena_zalloc(a, columns_n * sizeof *m->whole);
    if (!m->costs || !m->whole)
        return false;
    for (uint32_t c = 0; c < s->choices_n; c++) {
        m->costs[c] = s->choices[c].cost;
        m->whole[c] = true;
    }
    for (uint32_t i = 0; i < s->items_n; i++) {
        const struct selection_item *t = &s->items[i];
        m->costs[s->choices_n + i] += t->open_cost + t->keep_cost_per_ms * t->base_ms;
        m->costs[o->r_column[i]] += t->keep_cost_per_ms * o->farthest_ms[i];
    }
    return true;
}

static void add_group_rows(struct model *o, uint32_t g)
{
    const struct selection_group *group = &o->s->groups[g];
    milp_add_row(o->m, group->root ? 1 : -INFINITY, 1);
    for (uint32_t c = group->first; c < group->first + group->n; c++)
        milp_add_term(o->m, c, 1);
}

/* Rows of what the choices of one group ask: for each thing asked in order of first appearance, those that ask it. */
static void add_reach_rows(struct model *o, const struct selection_group *h)
{
    const struct selection *s = o->s;
    uint32_t first = h->n ? s->choices[h->first].reaches_first : 0, end = first;
    for (uint32_t c = h->first; c < h->first + h->n; c++)
        end = s->choices[c].reaches_first + s->choices[c].reaches_n;
    for (uint32_t k = first; k < end; k++) {
        uint32_t g = s->reaches[k];
        bool seen = false;
        for (uint32_t m = first; m < k; m++)
            seen |= s->reaches[m] == g;
        if (seen)
            continue;
        milp_add_row(o->m, 0, INFINITY);
        for (uint32_t c = s->groups[g].first; c < s->groups[g].first + s->groups[g].n; c++)
            milp_add_term(o->m, c, 1);
        for (uint32_t c = h->first; c < h->first + h->n; c++) {
            bool asks = false;
            for (uint32_t m = 0; m < s->choices[c].reaches_n; m++)
                asks |= s->reaches[s->choices[c].reaches_first + m] == g;
            if (asks)
                milp_add_term(o->m, c, -1);
        }
    }
}

static void add_need_row(struct model *o, const struct selection_group *h, uint32_t item, bool reach)
{
    const struct selection *s = o->s;
    milp_add_row(o->m, 0, INFINITY);
    milp_add_term(o->m, reach ? o->r_column[item] : s->choices_n + item, 1);
    for (uint32_t c = h->first; c < h->first + h->n; c++) {
        for (uint32_t k = o->needs_first[c]; k < o->needs_first[c + 1]; k++) {
            double share = reach ? o->needs[k].reach_ms / o->farthest_ms[item] : 1;
            if (o->needs[k].item == item && share > 0)
                milp_add_term(o->m, c, -share);
        }
    }
}

static bool has_own_reach(const struct model *o, uint32_t item)
{
    return o->r_column[item] != o->s->choices_n + item;
}

static void add_need_rows(struct model *o, const struct selection_group *h, uint32_t *seen, uint32_t seen_now)
{
    for (uint32_t c = h->first; c < h->first + h->n; c++) {
        for (uint32_t k = o->needs_first[c]; k < o->needs_first[c + 1]; k++) {
            uint32_t item = o->needs[k].item;
            if (seen[item] == seen_now)
                continue;
            seen[item] = seen_now;
            add_need_row(o, h, item, false);
            if (has_own_reach(o, item))
                add_need_row(o, h, item, true);
        }
    }
}

/* In shares of the limit, so that its factors are near 1. */
static void add_limit_row(struct model *o)
{
    const struct selection *s = o->s;
    double unit = fmax(1, s->limit_bytes);
    milp_add_row(o->m, -INFINITY, s->limit_bytes / unit);
    for (uint32_t c = 0; c < s->choices_n; c++) {
        if (s->choices[c].bytes > 0)
            milp_add_term(o->m, c, s->choices[c].bytes / unit);
    }
    for (uint32_t i = 0; i < s->items_n; i++) {
        const struct selection_item *t = &s->items[i];
        double base = t->bytes_per_ms * t->base_ms, reach = t->bytes_per_ms * o->farthest_ms[i];
        if (!has_own_reach(o, i))
            base += reach;
        if (base > 0)
            milp_add_term(o->m, s->choices_n + i, base / unit);
        if (has_own_reach(o, i) && reach > 0)
            milp_add_term(o->m, o->r_column[i], reach / unit);
    }
}

static bool build(struct model *o, struct arena *a)
{
    const struct selection *s = o->s;
    uint32_t *seen = arena_zalloc(a, s->items_n * sizeof *seen);
    o->farthest_ms = arena_zalloc(a, s->items_n * sizeof *o->farthest_ms);
    o->r_column = ARENA_ARRAY(a, uint32_t, s->items_n);
    if (arena_failed(a) || !close_needs(o, a) || !add_columns(o, a))
        return false;
    for (uint32_t g = 0; g < s->groups_n; g++) {
        add_group_rows(o, g);
        add_reach_rows(o, &s->groups[g]);
        add_need_rows(o, &s->groups[g], seen, g + 1);
    }
    if (!isinf(s->limit_bytes))
        add_limit_row(o);
    return !arena_failed(a);
}

void selection_model(const struct selection *s, struct arena *a, struct milp *ret)
{
    *ret = (struct milp){.arena = a};
    struct model o = {.s = s, .m = ret};
    build(&o, a);
}

/* An answer as columns. */
static void columns_of(const struct model *o, const struct selection_answer *answer, double *values)
{
    const struct selection *s = o->s;
    memset(values, 0, o->m->columns_n * sizeof *values);
    for (uint32_t g = 0; g < s->groups_n; g++) {
        if (answer->choice[g] != SELECTION_NONE)
            values[answer->choice[g]] = 1;
    }
    for (uint32_t i = 0; i < s->items_n; i++) {
        if (has_own_reach(o, i))
            values[o->r_column[i]] = answer->reach_ms[i] / o->farthest_ms[i];
        values[s->choices_n + i] = answer->open[i];
    }
}

/* The choices a solution names; groups it does not reach get their first. */
static void choices_of(const struct selection *s, const double *values, uint32_t *choice)
{
    for (uint32_t g = 0; g < s->groups_n; g++) {
        choice[g] = s->groups[g].first;
        for (uint32_t c = s->groups[g].first; c < s->groups[g].first + s->groups[g].n; c++) {
            if (values[c] > values[choice[g]])
                choice[g] = c;
        }
    }
}

/* Is the solver's answer one of the problem, row by row, and does it cost what the solver says? */
static bool take_answer(const struct model *o, const struct milp_answer *found, struct selection_answer *checked,
                        double *values, const char **ret_reason)
{
    const struct selection *s = o->s;
    if (milp_broken_row(o->m, found->values, MILP_SOLVED) >= 0) {
        *ret_reason = "the solver's answer breaks a row of the model";
        return false;
    }
    choices_of(s, found->values, checked->choice);
    selection_evaluate(s, checked);
    columns_of(o, checked, values);
    if (milp_broken_row(o->m, values, MILP_ROUNDING) >= 0 || !selection_fits(s, checked->bytes)) {
        *ret_reason = "the solver's answer, rounded, breaks a row of the model";
        return false;
    }
    double largest = 0; /* a cost of nothing is told by what there is to pay */
    for (uint32_t c = 0; c < o->m->columns_n; c++)
        largest = fmax(largest, o->m->costs[c]);
    if (fabs(checked->cost - found->objective) > SELECTION_SOLVED * fabs(found->objective) + 1e-12 * largest) {
        *ret_reason = "the solver's answer does not cost what it says";
        return false;
    }
    return true;
}

enum selection_status selection_milp(const struct selection *s, const struct milp_options *options, uint32_t *choice,
                                     struct arena *a, double *ret_bound, const char **ret_reason,
                                     struct selection_answer *counts)
{
    struct milp m = {.arena = a};
    struct model o = {.s = s, .m = &m};
    struct selection_answer own, checked;
    selection_answer_init(s, a, &own);
    selection_answer_init(s, a, &checked);
    *ret_bound = selection_floor(s);
    *ret_reason = "the model is larger than its memory";
    if (!build(&o, a))
        return SELECTION_UNPROVED;
    double *start = ARENA_ARRAY(a, double, m.columns_n), *values = ARENA_ARRAY(a, double, m.columns_n);
    if (arena_failed(a))
        return SELECTION_UNPROVED;
    counts->solved_variables += m.columns_n;
    counts->solved_rows += m.rows_n;
    memcpy(own.choice, choice, s->groups_n * sizeof *choice);
    selection_evaluate(s, &own);
    bool fits = selection_fits(s, own.bytes);
    columns_of(&o, &own, start);
    struct milp_answer found = {.values = values};
    enum milp_status status = milp_solve(&m, fits ? start : NULL, options, &found);
    if (found.bound > *ret_bound)
        *ret_bound = found.bound;
    *ret_reason = found.reason;
    if (status == MILP_FAILED)
        return SELECTION_UNPROVED;
    if (status == MILP_INFEASIBLE) {
        *ret_bound = fits ? *ret_bound : INFINITY;
        *ret_reason = "the solver says that nothing answers, and something does";
        return fits ? SELECTION_UNPROVED : SELECTION_OPTIMAL;
    }
    if (found.has_values) {
        if (!take_answer(&o, &found, &checked, start, ret_reason))
            return SELECTION_UNPROVED;
        if (!fits || selection_is_lower(checked.cost, own.cost)) {
            for (uint32_t g = 0; g < s->groups_n; g++)
                choice[g] = checked.choice[g] == SELECTION_NONE ? choice[g] : checked.choice[g];
        }
    }
    return status == MILP_OPTIMAL ? SELECTION_OPTIMAL : SELECTION_DEADLINE;
}
