/*
 * Choice against exhaustive enumeration on small random workloads, through the whole planner: every combination of
 * allowed candidates is priced here from scratch, with and without a memory limit. Then the worked examples of
 * docs/PLANNER.md, determinism, and what is said of limits that nothing meets.
 */
#include "plan_of.h"
#include "random_workload.h"

#include <math.h>

#include "base/clock.h"
#include "planner/cost.h"
#include "planner/what_if.h"

enum { WORKLOADS_N = 750, COMBINATIONS_MAX = 20000 };

/* A combination: a candidate of each demand, and of each spot a way to answer it at once, or PLAN_NONE: its parts. */
struct combination {
    uint32_t *candidates, *ways;
};

/* Demands and spots that are read: from the root of each query down, and below what is answered at once nothing. */
static void mark_read(const struct planning *p, const struct combination *c, uint32_t spot, bool *demands, bool *spots)
{
    const struct spot *s = &p->spots[spot];
    if (spots[spot])
        return;
    spots[spot] = true;
    if (c->ways[spot] != PLAN_NONE && p->at_once[c->ways[spot]].form == AT_ONCE_PANES)
        demands[p->at_once[c->ways[spot]].demand] = true;
    for (uint32_t i = s->parts_first; c->ways[spot] == PLAN_NONE && i < s->parts_first + s->parts_n; i++) {
        if (p->parts[i].spot != PLAN_NONE)
            mark_read(p, c, p->parts[i].spot, demands, spots);
        else
            demands[p->parts[i].demand] = true;
    }
}

static double total_of_spots(const struct planning *p, const struct combination *c, const bool *read, double *bytes)
{
    double total = 0;
    int64_t *length_ms = calloc(p->kept_n + 1, sizeof *length_ms);
    for (uint32_t i = 0; i < p->spots_n; i++) {
        const struct spot *s = &p->spots[i];
        if (!read[i])
            continue;
        if (c->ways[i] == PLAN_NONE) {
            total += s->n > 0 ? s->rest_cost : 0;
            continue;
        }
        if (p->at_once[c->ways[i]].form == AT_ONCE_PANES)
            continue; /* its demand has the cost */
        uint32_t k = p->at_once[c->ways[i]].kept;
        total += p->at_once[c->ways[i]].query_cost;
        length_ms[k] = s->length_ms > length_ms[k] ? s->length_ms : length_ms[k];
    }
    for (uint32_t k = 0; k < p->kept_n; k++) {
        int64_t kept_ms = length_ms[k] + p->kept[k].grid.step_ms;
        if (length_ms[k] == 0)
            continue;
        total += p->kept[k].build_cost + cost_kept_memory(p, &p->kept[k], kept_ms);
        *bytes += p->kept[k].memory_bytes_s * (double)kept_ms / 1000;
    }
    free(length_ms);
    return total;
}

/* The whole of a choice: every run, every chain, read and stored root in use once. *ret_bytes: what they hold. */
static double total_of(const struct planning *p, const struct combination *chosen, double *ret_bytes)
{
    bool *read_used = calloc(p->reads_n + 1, sizeof *read_used), *read = calloc(p->demands_n + 1, sizeof *read);
    bool *spots_read = calloc(p->spots_n + 1, sizeof *spots_read);
    int64_t *reach_ms = calloc(p->chains_n + 1, sizeof *reach_ms);
    *ret_bytes = 0;
    for (uint32_t q = 0; q < p->w->queries_n; q++)
        mark_read(p, chosen, (uint32_t)(query_root_spot(p, q) - p->spots), read, spots_read);
    double total = total_of_spots(p, chosen, spots_read, ret_bytes);
    for (uint32_t d = 0; d < p->demands_n; d++) {
        if (!read[d])
            continue;
        const struct candidate *c = &p->candidates[chosen->candidates[d]];
        total += c->query_cost;
        if (c->form == FORM_RAW)
            continue;
        for (uint32_t k = candidate_top(c); k != PLAN_NONE; k = candidate_next(p, c, k)) {
            int64_t its_ms = cost_reach_ms(&p->demands[d], p->chains[k].grid.step_ms);
            reach_ms[k] = its_ms > reach_ms[k] ? its_ms : reach_ms[k];
        }
    }
    for (uint32_t i = 0; i < p->chains_n; i++) {
        const struct chain *c = &p->chains[i];
        if (reach_ms[i] == 0)
            continue;
        int64_t kept_ms = cost_held_ms(c, reach_ms[i]);
        total += c->build_cost + cost_memory(p, c, kept_ms);
        if (c->when == WHEN_INGESTION && c->ratio == 0) {
            total += read_used[c->read] ? 0 : p->reads[c->read].cost;
            read_used[c->read] = true;
        }
        *ret_bytes += c->memory_bytes_s * (double)kept_ms / 1000;
    }
    free(read_used);
    free(read);
    free(spots_read);
    free(reach_ms);
    return total;
}

static bool is_allowed(const struct planning *p, uint32_t candidate)
{
    return !p->candidates[candidate].reason;
}

static uint32_t first_allowed(const struct planning *p, const struct demand *d)
{
    uint32_t c = d->first; /* when there is none nobody reads it */
    while (c < d->first + d->n && !is_allowed(p, c))
        c++;
    return c;
}

/* The next combination; false after the last. */
static bool next_choice(const struct planning *p, struct combination *c)
{
    for (uint32_t d = 0; d < p->demands_n; d++) {
        const struct demand *demand = &p->demands[d];
        uint32_t *chosen = &c->candidates[d];
        while (*chosen < demand->first + demand->n && ++*chosen < demand->first + demand->n && !is_allowed(p, *chosen))
            ;
        if (*chosen < demand->first + demand->n)
            return true;
        *chosen = first_allowed(p, demand);
    }
    for (uint32_t i = 0; i < p->spots_n; i++) {
        const struct spot *s = &p->spots[i];
        c->ways[i] = c->ways[i] == PLAN_NONE ? s->first : c->ways[i] + 1;
        while (c->ways[i] < s->first + s->n && p->at_once[c->ways[i]].reason)
            c->ways[i]++;
        if (c->ways[i] < s->first + s->n)
            return true;
        c->ways[i] = PLAN_NONE;
    }
    return false;
}

static double combinations(const struct planning *p)
{
    double n = 1;
    for (uint32_t d = 0; d < p->demands_n; d++) {
        int allowed_n = 0;
        for (uint32_t i = p->demands[d].first; i < p->demands[d].first + p->demands[d].n; i++)
            allowed_n += is_allowed(p, i);
        n *= allowed_n > 0 ? allowed_n : 1;
    }
    for (uint32_t i = 0; i < p->spots_n; i++)
        n *= 1 + p->spots[i].n;
    return n;
}

static struct combination combination_new(const struct planning *p)
{
    struct combination c = {calloc(p->demands_n + 1, sizeof *c.candidates), calloc(p->spots_n + 1, sizeof *c.ways)};
    for (uint32_t d = 0; d < p->demands_n; d++)
        c.candidates[d] = first_allowed(p, &p->demands[d]);
    for (uint32_t i = 0; i < p->spots_n; i++)
        c.ways[i] = PLAN_NONE;
    return c;
}

static void combination_free(struct combination *c)
{
    free(c->candidates);
    free(c->ways);
}

/* What the planner took. */
static struct combination combination_taken(const struct planning *p)
{
    struct combination c = combination_new(p);
    for (uint32_t d = 0; d < p->demands_n; d++)
        if (p->demands[d].chosen != PLAN_NONE)
            c.candidates[d] = p->demands[d].chosen;
    for (uint32_t i = 0; i < p->spots_n; i++)
        c.ways[i] = p->spots[i].chosen;
    return c;
}

/* The least cost within `limit` (INFINITY: nothing fits), and the fewest bytes of anything. */
static double best_of_all(const struct planning *p, double limit, double *ret_fewest)
{
    struct combination chosen = combination_new(p);
    double best = INFINITY, bytes;
    *ret_fewest = INFINITY;
    do {
        double cost = total_of(p, &chosen, &bytes);
        best = bytes <= limit ? fmin(best, cost) : best;
        *ret_fewest = fmin(*ret_fewest, bytes);
    } while (next_choice(p, &chosen));
    combination_free(&chosen);
    return best;
}

struct tally {
    int compared_n, limited_n, impossible_n, solved_n, offered_n, stored_n, inner_offered_n, inner_stored_n, shared_n,
        groups_offered_n, grouped_n, grouped_shared_n;
};

static void count_spots(const struct planning *p, double limit, struct tally *t)
{
    for (uint32_t i = 0; i < p->spots_n && limit == 0; i++) {
        const struct spot *s = &p->spots[i];
        if (s->chosen != PLAN_NONE && p->at_once[s->chosen].form == AT_ONCE_PANES) {
            t->grouped_n++;
            t->grouped_shared_n += p->chains[p->candidates[p->demands[s->group].chosen].chain].users_n > 1;
        }
        t->groups_offered_n += s->group != PLAN_NONE;
        if (s->n == (s->group != PLAN_NONE))
            continue; /* no stored root is offered */
        bool inner = s->node != p->roots[s->query];
        t->offered_n += s->n > 0;
        bool is_stored = s->chosen != PLAN_NONE && p->at_once[s->chosen].form == AT_ONCE_STORED;
        t->stored_n += is_stored;
        t->inner_offered_n += inner;
        t->inner_stored_n += inner && is_stored;
        t->shared_n += inner && is_stored && p->kept[p->at_once[s->chosen].kept].users_n > 1;
    }
}

/* What the queries of the plan cost is the objective, and what is computed above all choices. */
static void check_shares(const struct workload *w, const struct planning *p, double objective, const char *yaml)
{
    struct planner_options options = {0};
    struct planner_summary summary;
    struct plan *plan = NULL;
    struct err e = {0};
    double sum = 0, whole;
    for (uint32_t i = 0; i < p->spots_n; i++)
        objective += p->spots[i].n == 0 ? p->spots[i].rest_cost : 0;
    ck_assert_msg(planner_plan(w, &options, &plan, &e) == 0, "%s: %s", e.message, yaml);
    for (uint32_t q = 0; q < plan->queries_n; q++)
        sum += plan->queries[q].cost.ingest + plan->queries[q].cost.query + plan->queries[q].cost.memory;
    ck_assert_msg(fabs(sum - objective) <= 1e-8 * sum, "queries cost %.12g, all is %.12g: %s", sum, objective, yaml);
    ck_assert_int_eq(planner_summarize(w, &options, &summary, &e), 0);
    whole = summary.cost.ingest + summary.cost.query + summary.cost.memory;
    ck_assert_msg(fabs(sum - whole) <= 1e-8 * sum, "queries cost %.12g, summed up %.12g: %s", sum, whole, yaml);
    plan_free(plan);
}

/* Plan a workload again, under a limit, and compare. */
static void compare(struct workload *w, const char *yaml, double limit, struct tally *t)
{
    struct arena arena;
    struct planning p;
    struct err e = {0};
    w->memory_limit_bytes = (uint64_t)limit;
    arena_init(&arena, 0);
    int rc = planning_run(&p, w, NULL, &arena, &e);
    double fewest, best = best_of_all(&p, limit > 0 ? (double)w->memory_limit_bytes : INFINITY, &fewest), bytes;
    if (isinf(best)) {
        ck_assert_msg(rc == ERR_LIMIT, "nothing fits %g bytes, and it says %d %s: %s", limit, rc, e.message, yaml);
        ck_assert_msg(fabs(p.answer.bytes - fewest) <= 1e-9 * fewest, "%g, not %g bytes at least: %s", p.answer.bytes,
                      fewest, yaml);
        t->impossible_n++;
    } else {
        ck_assert_msg(rc == 0, "%s: %s", e.message, yaml);
        struct combination chosen = combination_taken(&p);
        double ours = total_of(&p, &chosen, &bytes);
        ck_assert_msg(fabs(ours - best) <= 1e-8 * best, "limit %g: %.12g, the least is %.12g: %s", limit, ours, best,
                      yaml);
        ck_assert_msg(limit == 0 || bytes <= limit * (1 + 1e-9), "limit %g: %g bytes: %s", limit, bytes, yaml);
        ck_assert_msg(p.answer.status == SELECTION_OPTIMAL, "%s: %s", p.answer.reason, yaml);
        ck_assert_msg(fabs(p.answer.bound - best) <= 1e-5 * best, "bound %g of %g: %s", p.answer.bound, best, yaml);
        count_spots(&p, limit, t);
        check_shares(w, &p, ours, yaml);
        combination_free(&chosen);
    }
    t->limited_n += limit > 0;
    t->compared_n += limit == 0;
    t->solved_n += p.answer.solved_variables > 0;
    double held = limit == 0 ? p.answer.bytes : 0;
    planning_done(&p);
    arena_done(&arena);
    for (int part = 1; held > 0 && part <= 3; part++)
        compare(w, yaml, 1 + floor(held * 0.3 * part), t);
}

START_TEST(choice_against_enumeration)
{
    srandom((unsigned)suite_seed("choice_against_enumeration"));
    static void (*const generators[])(struct strbuf *) = {random_workload, random_parts, random_groups};
    struct tally t = {0};
    uint32_t generated_n = 0;
    while (t.compared_n < WORKLOADS_N) {
        struct strbuf yaml = {0};
        struct arena arena;
        struct planning p;
        struct err e = {0};
        generators[generated_n++ % 3](&yaml);
        struct workload *w = workload_of(strbuf_z(&yaml));
        arena_init(&arena, 0);
        ck_assert_int_eq(planning_run(&p, w, NULL, &arena, &e), 0);
        double combinations_n = combinations(&p);
        planning_done(&p);
        arena_done(&arena);
        if (combinations_n <= COMBINATIONS_MAX)
            compare(w, strbuf_z(&yaml), 0, &t);
        workload_free(w);
        strbuf_done(&yaml);
    }
    printf("choice_against_enumeration: %d workloads and %d limits (%d impossible) compared, the solver asked in %d\n",
           t.compared_n, t.limited_n, t.impossible_n, t.solved_n);
    printf("choice_against_enumeration: %d of %d readers of stored roots take one\n", t.stored_n, t.offered_n);
    printf("choice_against_enumeration: of %d below a query's root %d, %d of them not alone\n", t.inner_offered_n,
           t.inner_stored_n, t.shared_n);
    printf("choice_against_enumeration: states by labels answer %d of %d, %d of them shared\n", t.grouped_n,
           t.groups_offered_n, t.grouped_shared_n);
    ck_assert_int_ge(t.grouped_n, 50);
    ck_assert_int_ge(t.groups_offered_n - t.grouped_n, 50);
    ck_assert_int_ge(t.grouped_shared_n, 20);
    ck_assert_int_ge(t.inner_stored_n, 50);
    ck_assert_int_ge(t.inner_offered_n - t.inner_stored_n, 50);
    ck_assert_int_ge(t.shared_n, 20);
    ck_assert_int_ge(t.stored_n, 50);
    ck_assert_int_ge(t.offered_n - t.stored_n, 50);
    ck_assert_int_ge(t.limited_n, 500);
    ck_assert_int_ge(t.impossible_n, 50);
    ck_assert_int_ge(t.solved_n, 100);
}
END_TEST

/* No query alone would open the chain of a slow metric that forty windows together pay for. */
START_TEST(groups_move_together)
{
    struct strbuf yaml = {0};
    strbuf_add_z(&yaml, "queries:\n");
    for (int i = 0; i < 40; i++)
        strbuf_printf(&yaml, "- {query: 'rate(x[%dm])', every: 30s}\n", 6 + i);
    strbuf_add_z(&yaml, "data: {metrics: {x: {interval: 5s}}}\n");
    struct plan *all = plan_of(strbuf_z(&yaml));
    struct plan *one = plan_of("queries: [{query: 'rate(x[45m])', every: 30s}]\ndata: {metrics: {x: {interval: 5s}}}");
    ck_assert_uint_eq(one->views_n, 0);
    ck_assert_uint_eq(all->views[0].panes_n, 90);
    for (uint32_t v = 1; v < all->views_n; v++) /* roll-ups, for the longer windows */
        ck_assert_uint_ne(all->views[v].level_of, PLAN_NONE);
    plan_free(all);
    plan_free(one);
    strbuf_done(&yaml);
}
END_TEST

/* The worked examples are small: the model of one quantile, of two queries that share panes, and of 10 s with 15 s. */
static const char *const examples[] = {
    "queries: [{query: 'quantile_over_time(0.99, x[5m])', every: 10s, accuracy: {error: 0.05}}]",
    "queries: [{query: 'sum_over_time(x[1m])', every: 10s}, {query: 'sum_over_time(x[5m])', every: 10s}]\n"
    "data: {raw_retention: 0}",
    "queries: [{query: 'quantile_over_time(0.9, x[1m])', every: 10s, accuracy: {rank: 0.01}},\n"
    "          {query: 'quantile_over_time(0.99, x[5m])', every: 10s, accuracy: {relative: 0.01}}]",
    "queries: [{query: 'rate(x[1m])', every: 10s}, {query: 'rate(x[1m])', every: 15s}]\n"
    "data: {metrics: {x: {interval: 20ms}}}",
};

START_TEST(examples_are_small)
{
    uint64_t least_ns = UINT64_MAX;
    struct plan *p = NULL;
    for (int i = 0; i < 5; i++) {
        uint64_t begun_ns = clock_monotonic_ns();
        plan_free(p);
        p = plan_of(examples[_i]);
        uint64_t took_ns = clock_monotonic_ns() - begun_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    printf("example %d: %u variables, %u rows, %.2f ms, %.*s\n", _i, p->solver.variables, p->solver.rows,
           (double)least_ns / 1e6, (int)p->solver.status.n, p->solver.status.p);
    ck_assert(str_eq(p->solver.status, STR("optimal")));
    ck_assert_uint_gt(p->solver.variables, 0);
    ck_assert_uint_lt(p->solver.variables, 200);
    ck_assert_double_eq(p->solver.gap, 0);
    plan_free(p);
}
END_TEST

/* Few rows make states the dearer part: each its own chain. Many make the second insertion of each row: one of 5 s. The
 * sum of both is lowest on its side of the turn. */
START_TEST(sharing_turns_with_the_rows)
{
    uint32_t views_n = 0;
    int turns_n = 0;
    for (int interval_ms = 1000; interval_ms >= 5; interval_ms = interval_ms * 3 / 4) {
        char yaml[300];
        snprintf(yaml, sizeof yaml,
                 "queries: [{query: 'rate(x[1m])', every: 10s}, {query: 'rate(x[1m])', every: 15s}]\n"
                 "data: {raw_retention: 0, metrics: {x: {interval: %dms}}}",
                 interval_ms);
        struct workload *w = workload_of(yaml);
        struct tally t = {0};
        compare(w, yaml, 0, &t);
        workload_free(w);
        struct plan *p = plan_of(yaml);
        bool shared = p->views_n == 1 && p->views[0].panes.step_ms == 5000;
        bool apart = p->views_n == 2 && view_of(p, FAMILY_COUNTER, 10000) != PLAN_NONE &&
                     view_of(p, FAMILY_COUNTER, 15000) != PLAN_NONE;
        ck_assert_msg(shared || apart, "%d ms: %u views", interval_ms, p->views_n);
        turns_n += views_n != 0 && views_n != p->views_n;
        views_n = p->views_n;
        plan_free(p);
    }
    ck_assert_int_eq(turns_n, 1);
    ck_assert_uint_eq(views_n, 1);
}
END_TEST

#define MANY                                                                                                           \
    "queries:\n"                                                                                                       \
    "- {name: fast, query: 'rate(x[5m])', every: 10s}\n"                                                               \
    "- {name: slow, query: 'rate(x[1h])', every: 1m}\n"                                                                \
    "- {name: p99, query: 'quantile_over_time(0.99, y[5m])', every: 10s, accuracy: {relative: 0.01}}\n"                \
    "- {name: day, query: 'sum_over_time(y[1d])', every: 5m}\n"                                                        \
    "data: {metrics: {x: {interval: 50ms}, y: {interval: 100ms}}%s}\n"

static double bytes_held(const struct workload *w)
{
    struct arena arena;
    struct planning p;
    struct err e = {0};
    arena_init(&arena, 0);
    ck_assert_msg(planning_run(&p, w, NULL, &arena, &e) == 0, "%s", e.message);
    double bytes = p.answer.bytes;
    planning_done(&p);
    arena_done(&arena);
    return bytes;
}

/* A quarter of what the free optimum holds: what fits is the best of it, and what it keeps out is said. */
START_TEST(a_quarter_of_the_memory)
{
    char yaml[1000];
    snprintf(yaml, sizeof yaml, MANY, "");
    struct workload *w = workload_of(yaml);
    double free_bytes = bytes_held(w);
    ck_assert_double_gt(free_bytes, 1e6);
    struct tally t = {0};
    w->memory_limit_bytes = (uint64_t)(free_bytes / 4);
    ck_assert_double_le(bytes_held(w), free_bytes / 4);
    compare(w, yaml, floor(free_bytes / 4), &t);
    ck_assert_int_eq(t.impossible_n, 0);
    struct planner_options options = {0};
    struct plan *plan = NULL;
    struct err e = {0};
    ck_assert_int_eq(planner_plan(w, &options, &plan, &e), 0);
    int said_n = 0;
    for (uint32_t q = 0; q < plan->queries_n; q++)
        said_n += is_rejected(plan, q, "", "memory_limit: its states do not fit");
    ck_assert_int_ge(said_n, 1);
    plan_free(plan);
    workload_free(w);
}
END_TEST

START_TEST(impossible_limits_name_the_queries)
{
    char yaml[1000];
    snprintf(yaml, sizeof yaml, MANY, ", raw_retention: 10m");
    struct workload *w = workload_of(yaml);
    w->memory_limit_bytes = 1000;
    struct planner_options options = {0};
    struct plan *plan = NULL;
    struct err e = {0};
    ck_assert_int_eq(planner_plan(w, &options, &plan, &e), ERR_LIMIT);
    ck_assert_ptr_null(plan);
    ck_assert_msg(strstr(e.message, "memory_limit: 1000 B"), "%s", e.message);
    ck_assert_msg(strstr(e.message, "(slow) ") && strstr(e.message, "(day) ") && strstr(e.message, "iB"), "%s",
                  e.message);
    ck_assert_msg(!strstr(e.message, "(fast)") && !strstr(e.message, "(p99)"), "raw answers these: %s", e.message);
    workload_free(w);
}
END_TEST

/* Without time nothing is proved: the plan of our own search, a bound under its cost, and the gap. */
START_TEST(no_time_is_said)
{
    struct strbuf yaml = {0};
    strbuf_add_z(&yaml, "queries:\n");
    for (int i = 0; i < 40; i++)
        strbuf_printf(&yaml, "- {query: 'rate(x[%dm])', every: 30s}\n", 6 + i);
    strbuf_add_z(&yaml, "data: {metrics: {x: {interval: 5s}}}\nmodels: {planning_deadline: 0s}\n");
    struct plan *p = plan_of(strbuf_z(&yaml));
    ck_assert(str_eq(p->solver.status, STR("deadline")));
    ck_assert_double_gt(p->solver.bound, 0);
    ck_assert_double_gt(p->solver.gap, 0);
    ck_assert_double_lt(p->solver.gap, 1);
    ck_assert_uint_gt(p->solver.rows, 40);
    plan_free(p);
    strbuf_done(&yaml);
}
END_TEST

static void check_same_bytes(struct workload *w)
{
    struct strbuf first = {0};
    struct planner_options options = {0};
    for (int i = 0; i < 20; i++) {
        struct strbuf text = {0};
        struct plan *plan = NULL;
        struct err e = {0};
        ck_assert_msg(planner_plan(w, &options, &plan, &e) == 0, "%s", e.message);
        plan_write(plan, i ? &text : &first);
        ck_assert(i == 0 || (text.n == first.n && memcmp(text.p, first.p, text.n) == 0));
        strbuf_done(&text);
        plan_free(plan);
    }
    strbuf_done(&first);
}

START_TEST(same_bytes_with_and_without_a_limit)
{
    char yaml[1000];
    snprintf(yaml, sizeof yaml, MANY, "");
    struct workload *w = workload_of(yaml);
    double free_bytes = bytes_held(w);
    check_same_bytes(w);
    for (int part = 1; part < 4; part++) {
        w->memory_limit_bytes = (uint64_t)(free_bytes * part / 4);
        check_same_bytes(w);
    }
    workload_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/choose");
    TCase *tc = tcase_create("choose");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, choice_against_enumeration);
    tcase_add_test(tc, groups_move_together);
    tcase_add_loop_test(tc, examples_are_small, 0, sizeof examples / sizeof *examples);
    tcase_add_test(tc, sharing_turns_with_the_rows);
    tcase_add_test(tc, a_quarter_of_the_memory);
    tcase_add_test(tc, impossible_limits_name_the_queries);
    tcase_add_test(tc, no_time_is_said);
    tcase_add_test(tc, same_bytes_with_and_without_a_limit);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
