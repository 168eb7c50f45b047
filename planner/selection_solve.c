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
enum { PRICES_MAX = 40 };
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
    if (arena_failed(a))
        return 0;
    struct selection_part *parts = selection_split(&r, a);
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

/* The same problem with other prices: of a unit of cost and of a byte. */
static void reprice(const struct selection *s, double of_cost, double of_byte, struct arena *a, struct selection *ret)
{
    *ret = *s;
    ret->arena = a;
    ret->limit_bytes = INFINITY;
    ret->items = arena_dup(a, s->items, s->items_n * sizeof *s->items);
    ret->choices = arena_dup(a, s->choices, s->choices_n * sizeof *s->choices);
    for (uint32_t i = 0; ret->items && i < s->items_n; i++) {
        ret->items[i].open_cost *= of_cost;
        ret->items[i].keep_cost_per_ms = of_cost * s->items[i].keep_cost_per_ms + of_byte * s->items[i].bytes_per_ms;
    }
    for (uint32_t c = 0; ret->choices && c < s->choices_n; c++)
        ret->choices[c].cost = of_cost * s->choices[c].cost + of_byte * s->choices[c].bytes;
}

static double evaluate_choice(const struct selection *s, const uint32_t *choice, struct arena *a, double *ret_bytes)
{
    struct selection_answer answer;
    selection_answer_init(s, a, &answer);
    *ret_bytes = INFINITY;
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

/* An answer and what it comes to. */
struct point {
    uint32_t *choice;
    double cost, bytes;
};

/* The optimum at other prices, each component proved alone; returns a bound on it. */
static double solve_repriced(struct solver *v, const struct selection *s, double of_cost, double of_byte,
                             struct point *ret, struct arena *a)
{
    struct selection repriced;
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BYTES);
    reprice(s, of_cost, of_byte, &scratch, &repriced);
    double bound = arena_failed(&scratch) ? 0 : solve_free(v, &repriced, ret->choice, &scratch);
    arena_done(&scratch);
    ret->cost = evaluate_choice(s, ret->choice, a, &ret->bytes);
    return bound;
}

/*
 * A price on bytes takes the limit's place: what is cheapest at a price, over all, is a bound on the cost within the
 * limit (Everett 1963), and where it fits, an answer. The price that gives the highest bound is where the line through
 * an answer that fits and one that does not is the lower hull of (bytes, cost). Leaves the best that fits in `fits`.
 */
static double price_limit(struct solver *v, const struct selection *s, struct point *fits, struct point *over,
                          struct arena *a)
{
    struct point best = {ARENA_ARRAY(a, uint32_t, s->groups_n), 0, 0},
                 now = {ARENA_ARRAY(a, uint32_t, s->groups_n), 0, 0};
    double bound = -INFINITY;
    if (arena_failed(a))
        return bound;
    memcpy(best.choice, fits->choice, s->groups_n * sizeof *best.choice);
    best.cost = fits->cost;
    for (int step = 0; step < PRICES_MAX && time_left_ms(v) != 0; step++) {
        double price = (fits->cost - over->cost) / (over->bytes - fits->bytes);
        if (!(price > 0) || isinf(price))
            break;
        bound = fmax(bound, solve_repriced(v, s, 1, price, &now, a) - price * s->limit_bytes);
        double on_line = fits->cost + price * fits->bytes;
        struct point *end = selection_fits(s, now.bytes) ? fits : over, was = *end;
        bool is_lower = selection_is_lower(now.cost + price * now.bytes, on_line);
        if (end == fits && now.cost < best.cost) {
            memcpy(best.choice, now.choice, s->groups_n * sizeof *best.choice);
            best.cost = now.cost;
        }
        *end = now;
        now = was;
        if (!is_lower)
            break;
    }
    *fits = best;
    return bound;
}

/* From the best that fits so far to one that the search finds from there, or by itself, if that is cheaper. */
static void search_limit(const struct selection *s, struct point *fits, struct arena *a)
{
    uint32_t *choice = ARENA_ARRAY(a, uint32_t, s->groups_n);
    for (int from = 0; choice && from < 2; from++) {
        double bytes;
        for (uint32_t g = 0; g < s->groups_n; g++)
            choice[g] = from == 0 ? SELECTION_NONE : fits->choice[g];
        if (!selection_search(s, choice, a))
            continue;
        double cost = evaluate_choice(s, choice, a, &bytes);
        if (cost < fits->cost || !selection_fits(s, fits->bytes)) {
            memcpy(fits->choice, choice, s->groups_n * sizeof *choice);
            fits->cost = cost;
            fits->bytes = bytes;
        }
    }
}

/* What the limit leaves, once something may fit. Returns a bound on it; INFINITY: proved that nothing fits. */
static double solve_within(struct solver *v, const struct selection *s, uint32_t *choice, bool free_proved,
                           struct arena *a)
{
    struct selection_reduced r;
    selection_reduce(s, true, a, &r);
    uint32_t groups_n = r.s.groups_n;
    struct point fits = {ARENA_ARRAY(a, uint32_t, groups_n), 0, 0}, over = {ARENA_ARRAY(a, uint32_t, groups_n), 0, 0};
    if (arena_failed(a))
        return -INFINITY;
    double bound = groups_n == 0 ? 0 : -INFINITY; /* of what presolve left: nothing is proved to cost nothing */
    bool no_time = v->options->deadline_ms == 0;
    solve_repriced(v, &r.s, 0, 1, &fits, a);
    if (selection_fits(&r.s, fits.bytes) && !no_time && free_proved) {
        solve_repriced(v, &r.s, 1, 0, &over, a);
        if (!selection_fits(&r.s, over.bytes))
            bound = price_limit(v, &r.s, &fits, &over, a);
    }
    search_limit(&r.s, &fits, a);
    v->answer->status = SELECTION_OPTIMAL; /* of what now decides */
    v->answer->reason = NULL;
    if (no_time)
        note_status(v, SELECTION_DEADLINE, NULL);
    else if (groups_n > 0)
        bound = fmax(bound, solve_model(v, &r.s, fits.choice, a));
    v->answer->components = groups_n > 0;
    memcpy(choice, r.settled, s->groups_n * sizeof *choice);
    for (uint32_t g = 0; g < groups_n; g++)
        choice[r.group_of[g]] = r.choice_of[fits.choice[g]];
    return bound + r.settled_cost;
}

/* `choice` gets the best that fits; if nothing does, what holds the fewest bytes. */
static int solve_limited(struct solver *v, const struct selection *s, uint32_t *choice, double *bound, struct arena *a,
                         struct err *e)
{
    bool free_proved = v->answer->status == SELECTION_OPTIMAL;
    struct point least = {choice, 0, 0};
    v->answer->status = SELECTION_OPTIMAL;
    solve_repriced(v, s, 0, 1, &least, a);
    bool least_proved = v->answer->status == SELECTION_OPTIMAL;
    int rc = arena_check(a, "planning", e);
    if (rc != 0)
        return rc;
    if (least_proved && !selection_fits(s, least.bytes))
        return over_limit(s, true, e);
    double its_bound = solve_within(v, s, choice, free_proved, a);
    *bound = fmax(*bound, its_bound);
    evaluate_choice(s, choice, a, &least.bytes);
    rc = arena_check(a, "planning", e);
    return rc == 0 && !selection_fits(s, least.bytes) ? over_limit(s, its_bound == INFINITY, e) : rc;
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
    if (answer->status == SELECTION_OPTIMAL && answer->cost - bound > SELECTION_SOLVED * answer->cost) {
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
