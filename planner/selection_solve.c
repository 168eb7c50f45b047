/*
 * Who solves what. Presolve, then each component alone: enumeration where there are few combinations, else the search
 * and, from what it found, the MILP. A limit joins all components: first without it, since what fits is then the
 * optimum; else the fewest bytes that anything holds (proved like any other optimum; over the limit nothing fits), and
 * from there one model with the limit's row.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "planner/selection_internal.h"

/* Fewer combinations than this are looked at one by one. */
#define COMBINATIONS_FEW 2000.0
#define SCRATCH_BYTES ((size_t)8 << 30)

struct solver {
    const struct selection_options *options;
    uint64_t begun_ns;
    struct selection_answer *answer; /* status, reason, counts */
};

/* -1: no end. */
static int64_t time_left_ms(const struct solver *v)
{
    if (v->options->deadline_ms < 0)
        return -1;
    int64_t left = v->options->deadline_ms - (int64_t)((clock_monotonic_ns() - v->begun_ns) / 1000000);
    return left < 0 ? 0 : left;
}

/* Several components: the worst status of them. */
static void note_status(struct solver *v, enum selection_status status, const char *reason)
{
    if (status <= v->answer->status)
        return;
    v->answer->status = status;
    v->answer->reason = status == SELECTION_UNPROVED ? reason : NULL;
}

/* Improve `choice`, which is an answer but perhaps over the limit. Returns a bound; INFINITY: proved that none fits. */
static double solve_model(struct solver *v, const struct selection *s, uint32_t *choice, struct arena *a)
{
    double bound;
    const char *reason;
    struct milp_options options = {.time_ms = time_left_ms(v), .fault = (enum milp_fault)v->options->milp_fault};
    enum selection_status status = selection_milp(s, &options, choice, a, &bound, &reason, v->answer);
    note_status(v, status, reason);
    return bound;
}

/* One component without a limit; returns a bound. */
static double solve_part(struct solver *v, const struct selection *s, uint32_t *choice)
{
    struct arena a;
    struct selection_answer own;
    arena_init(&a, SCRATCH_BYTES);
    selection_answer_init(s, &a, &own);
    bool few = selection_combinations(s) <= COMBINATIONS_FEW;
    double bound = selection_floor(s);
    bool exact = true;
    selection_search(s, choice, &a);
    if (v->options->deadline_ms == 0) {
        note_status(v, SELECTION_DEADLINE, NULL);
        exact = false;
    } else if (few) {
        selection_enumerate(s, choice, &a);
    } else {
        bound = solve_model(v, s, choice, &a);
        exact = false;
    }
    if (arena_failed(&a)) {
        note_status(v, SELECTION_UNPROVED, "a component is larger than the planner's memory");
        exact = false;
    } else if (exact) {
        memcpy(own.choice, choice, s->groups_n * sizeof *choice);
        selection_evaluate(s, &own);
        bound = own.cost;
    }
    arena_done(&a);
    return bound;
}

/* All of a problem without its limit; `choice` gets a choice for every group. Returns a bound. */
static double solve_free(struct solver *v, const struct selection *limited, uint32_t *choice, struct arena *a)
{
    struct selection s = *limited;
    struct selection_reduced r;
    s.limit_bytes = INFINITY;
    selection_reduce(&s, false, a, &r);
    struct selection_part *parts = ARENA_ARRAY(a, struct selection_part, r.components_n);
    if (arena_failed(a))
        return 0;
    selection_split(&r, a, parts);
    uint32_t *part_choice = ARENA_ARRAY(a, uint32_t, s.groups_n);
    if (arena_failed(a))
        return 0;
    memcpy(choice, r.settled, s.groups_n * sizeof *choice);
    double bound = r.settled_cost;
    for (uint32_t k = 0; k < r.components_n; k++) {
        const struct selection_part *part = &parts[k];
        for (uint32_t g = 0; g < part->s.groups_n; g++)
            part_choice[g] = SELECTION_NONE;
        bound += solve_part(v, &part->s, part_choice);
        for (uint32_t g = 0; g < part->s.groups_n; g++)
            choice[r.group_of[part->group_of[g]]] = r.choice_of[part->choice_of[part_choice[g]]];
    }
    v->answer->components = r.components_n;
    return bound;
}

/* The same problem where bytes are what is paid. */
static void price_bytes(const struct selection *s, struct arena *a, struct selection *ret)
{
    *ret = *s;
    ret->arena = a;
    ret->limit_bytes = INFINITY;
    ret->items = arena_dup(a, s->items, s->items_n * sizeof *s->items);
    ret->choices = arena_dup(a, s->choices, s->choices_n * sizeof *s->choices);
    for (uint32_t i = 0; ret->items && i < s->items_n; i++) {
        ret->items[i].open_cost = 0;
        ret->items[i].keep_cost_per_ms = s->items[i].bytes_per_ms;
    }
    for (uint32_t c = 0; ret->choices && c < s->choices_n; c++)
        ret->choices[c].cost = s->choices[c].bytes;
}

static double evaluate_choice(const struct selection *s, const uint32_t *choice, struct arena *a, double *ret_bytes)
{
    struct selection_answer answer;
    selection_answer_init(s, a, &answer);
    if (arena_failed(a))
        return INFINITY;
    memcpy(answer.choice, choice, s->groups_n * sizeof *choice);
    selection_evaluate(s, &answer);
    *ret_bytes = answer.bytes;
    return answer.cost;
}

static int over_limit(const struct selection *s, bool proved, struct err *e)
{
    if (proved)
        return err_set(e, ERR_LIMIT, "nothing that answers all queries fits %.0f bytes", s->limit_bytes);
    return err_set(e, ERR_TIMEOUT, "nothing that fits %.0f bytes was found before the deadline", s->limit_bytes);
}

/* What the limit leaves; `choice` holds the free optimum and gets the answer, or the fewest bytes found. */
static int solve_limited(struct solver *v, const struct selection *s, uint32_t *choice, double *bound, struct arena *a,
                         struct err *e)
{
    struct selection_reduced r;
    struct selection bytes_problem;
    selection_reduce(s, true, a, &r);
    uint32_t *least = ARENA_ARRAY(a, uint32_t, s->groups_n), *best = ARENA_ARRAY(a, uint32_t, s->groups_n);
    price_bytes(&r.s, a, &bytes_problem);
    if (arena_failed(a))
        return arena_check(a, "planning", e);
    v->answer->status = SELECTION_OPTIMAL;
    solve_free(v, &bytes_problem, least, a);
    bool least_proved = v->answer->status == SELECTION_OPTIMAL;
    double bytes = 0;
    evaluate_choice(&r.s, least, a, &bytes);
    bool fits = selection_fits(&r.s, bytes);
    memcpy(best, least, r.s.groups_n * sizeof *best);
    bool searched = selection_search(&r.s, best, a);
    if (!searched)
        memcpy(best, least, r.s.groups_n * sizeof *best);
    fits |= searched;
    v->answer->status = SELECTION_OPTIMAL;
    v->answer->reason = NULL;
    double its_bound = -INFINITY;
    if (v->options->deadline_ms == 0)
        note_status(v, SELECTION_DEADLINE, NULL);
    else if (r.s.groups_n > 0 && (fits || !least_proved))
        its_bound = solve_model(v, &r.s, best, a) + r.settled_cost;
    *bound = fmax(*bound, its_bound);
    memcpy(choice, r.settled, s->groups_n * sizeof *choice);
    for (uint32_t g = 0; g < r.s.groups_n; g++)
        choice[r.group_of[g]] = r.choice_of[best[g]];
    v->answer->components = r.s.groups_n > 0;
    evaluate_choice(s, choice, a, &bytes);
    int rc = arena_check(a, "planning", e);
    return rc == 0 && !selection_fits(s, bytes) ? over_limit(s, least_proved || isinf(its_bound), e) : rc;
}

/* The whole as stated, for comparisons. */
static int solve_as_stated(struct solver *v, const struct selection *s, uint32_t *choice, double *bound,
                           struct arena *a, struct err *e)
{
    for (uint32_t g = 0; g < s->groups_n; g++)
        choice[g] = SELECTION_NONE;
    double bytes = 0;
    bool fits = selection_search(s, choice, a);
    if (!fits) { /* anything: it will not be taken for an answer, since it does not fit */
        for (uint32_t g = 0; g < s->groups_n; g++)
            choice[g] = s->groups[g].first;
    }
    *bound = selection_floor(s);
    if (v->options->method == SELECTION_ENUMERATE) {
        selection_enumerate(s, choice, a);
        *bound = evaluate_choice(s, choice, a, &bytes);
    } else if (v->options->method == SELECTION_MILP) {
        *bound = solve_model(v, s, choice, a);
    } else {
        note_status(v, SELECTION_DEADLINE, NULL);
    }
    evaluate_choice(s, choice, a, &bytes);
    int rc = arena_check(a, "planning", e);
    bool proved = v->options->method != SELECTION_SEARCH && v->answer->status == SELECTION_OPTIMAL;
    return rc == 0 && !selection_fits(s, bytes) ? over_limit(s, proved, e) : rc;
}

static int solve(struct solver *v, const struct selection *s, uint32_t *free_choice, struct arena *a, struct err *e)
{
    struct selection_answer *answer = v->answer;
    struct milp model;
    selection_model(s, a, &model);
    answer->variables = model.columns_n;
    answer->rows = model.rows_n;
    double bound = 0, bytes = 0;
    int rc = arena_check(a, "planning", e);
    if (rc == 0 && v->options->method != SELECTION_AUTO) {
        rc = solve_as_stated(v, s, answer->choice, &bound, a, e);
        memcpy(free_choice, answer->choice, s->groups_n * sizeof *free_choice);
    } else if (rc == 0) {
        bound = solve_free(v, s, free_choice, a);
        memcpy(answer->choice, free_choice, s->groups_n * sizeof *free_choice);
        answer->free_cost = evaluate_choice(s, free_choice, a, &bytes);
        rc = arena_check(a, "planning", e);
        if (rc == 0 && !selection_fits(s, bytes))
            rc = solve_limited(v, s, answer->choice, &bound, a, e);
    }
    if (rc != 0 && rc != ERR_LIMIT)
        return rc;
    selection_evaluate(s, answer);
    answer->bound = fmin(bound, answer->cost);
    if (answer->status == SELECTION_OPTIMAL && answer->cost - bound > 1e-6 * answer->cost) {
        answer->status = SELECTION_UNPROVED;
        answer->reason = "the answer costs more than its proof says";
    }
    answer->gap = answer->cost > 0 ? (answer->cost - answer->bound) / answer->cost : 0;
    if (answer->status == SELECTION_OPTIMAL)
        answer->gap = 0;
    return rc;
}

int selection_solve(const struct selection *s, const struct selection_options *options, struct selection_answer *answer,
                    struct err *e)
{
    struct arena a;
    struct solver v = {options, clock_monotonic_ns(), answer};
    int rc = arena_check(s->arena, "planning", e);
    if (rc == 0)
        rc = selection_check(s, e);
    if (rc != 0)
        return rc;
    selection_answer_init(s, s->arena, answer);
    answer->status = SELECTION_OPTIMAL;
    answer->free_choice = ARENA_ARRAY(s->arena, uint32_t, s->groups_n);
    rc = arena_check(s->arena, "planning", e);
    if (rc != 0)
        return rc;
    arena_init(&a, SCRATCH_BYTES);
    rc = solve(&v, s, answer->free_choice, &a, e);
    arena_done(&a);
    return rc;
}
