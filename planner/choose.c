/*
 * Choice: the workload as one selection problem, and its answer read back. A demand is a root group with its allowed
 * candidates as choices; a chain is an item, built and kept once however many read it, as far back as the farthest of
 * them; it requires the raw read of its (source, refresh window), paid once for all chains of that window. A spot that
 * may be answered at once is a group too: its parts, which reach the groups of spots and demands below, or one of the
 * ways to answer it at once with the items that this needs. Only what is needed whatever is chosen is a root group.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "planner/cost.h"

/* A message names this many queries, the largest first. */
enum { CULPRITS_NAMED = 5 };

struct stated {
    struct planning *p;
    struct selection s;
    uint32_t *read_item, *chain_item; /* SELECTION_NONE: nobody may read it */
    uint32_t *candidate_of;           /* by choice of a demand */
    uint32_t *kept_item;
    uint32_t *spot_group; /* by spot: its group; SELECTION_NONE: it has none, as its parts are all there is */
    uint32_t *at_once_of; /* by choice of a spot; PLAN_NONE: its parts */
    uint32_t *reader;     /* scratch: by demand, then by spot */
};

static bool state_items(struct stated *t)
{
    struct planning *p = t->p;
    for (uint32_t i = 0; i < p->reads_n; i++)
        t->read_item[i] = SELECTION_NONE;
    for (uint32_t i = 0; i < p->chains_n; i++) {
        const struct chain *c = &p->chains[i];
        t->chain_item[i] = SELECTION_NONE;
        if (c->n == 0 || c->when == WHEN_QUERY)
            continue;
        if (c->when == WHEN_QUERY_KEPT) {
            t->chain_item[i] =
                selection_add_item(&t->s, c->build_cost, cost_memory(p, c, 1), c->memory_bytes_s / 1000, 0);
            continue;
        }
        if (c->ratio == 0 && t->read_item[c->read] == SELECTION_NONE)
            t->read_item[c->read] = selection_add_item(&t->s, p->reads[c->read].cost, 0, 0, 0);
        double base_ms = (double)cost_retention_ms(0, c->grid.step_ms);
        t->chain_item[i] =
            selection_add_item(&t->s, c->build_cost, cost_memory(p, c, 1), c->memory_bytes_s / 1000, base_ms);
        if (c->ratio > 0) /* the chain below stands before it */
            selection_require(&t->s, t->chain_item[c->below], (double)c->grid.step_ms);
        else
            selection_require(&t->s, t->read_item[c->read], 0);
    }
    for (uint32_t i = 0; i < p->kept_n; i++) {
        const struct kept *k = &p->kept[i];
        t->kept_item[i] = selection_add_item(&t->s, k->build_cost, cost_kept_memory(p, k, 1), k->memory_bytes_s / 1000,
                                             (double)k->grid.step_ms);
    }
    return !arena_failed(p->arena);
}

bool choose_is_forced(const struct planning *p, const struct candidate *c)
{
    int forced = p->options ? p->options->forced : 0;
    return forced == 0 || forced == FORCED_PARTS ||
           (c->form == FORM_RAW ? forced == FORCED_RAW : (int)c->family == forced);
}

static void state_groups(struct stated *t)
{
    struct planning *p = t->p;
    for (uint32_t i = 0; i < p->demands_n; i++) {
        const struct demand *d = &p->demands[i];
        bool has_forced = false;
        for (uint32_t k = d->first; k < d->first + d->n; k++)
            has_forced |= !p->candidates[k].reason && choose_is_forced(p, &p->candidates[k]);
        selection_add_group(&t->s, d->needed);
        if (d->allowed_n == 0) /* no spot reaches it, but a group has a choice */
            t->candidate_of[selection_add_choice(&t->s, 0, 0)] = PLAN_NONE;
        for (uint32_t k = d->first; !arena_failed(p->arena) && k < d->first + d->n; k++) {
            const struct candidate *c = &p->candidates[k];
            if (c->reason || (has_forced && !choose_is_forced(p, c)))
                continue;
            t->candidate_of[selection_add_choice(&t->s, c->query_cost, 0)] = k;
            if (c->form == FORM_RAW || c->when == WHEN_QUERY)
                continue;
            for (uint32_t l = candidate_top(c); l != PLAN_NONE; l = candidate_next(p, c, l))
                selection_need(&t->s, t->chain_item[l], (double)cost_reach_ms(d, p->chains[l].grid.step_ms));
        }
    }
}

static void need_items(struct stated *t, const struct spot *s, const struct at_once *way)
{
    switch (way->form) {
    case AT_ONCE_STORED:
        selection_need(&t->s, t->kept_item[way->kept], (double)s->length_ms);
        break;
    case AT_ONCE_PANES:
        selection_reach(&t->s, way->demand);
        break;
    }
}

/* A family is asked for, and states by labels of it answer the spot: its parts are then no choice. */
static bool is_forced(const struct planning *p, const struct spot *s)
{
    return s->group != PLAN_NONE && p->options && p->options->forced > 0;
}

/* Spots after all demands, and what is below before what is above: a group reaches only those before it. */
static void state_spots(struct stated *t)
{
    struct planning *p = t->p;
    for (uint32_t i = 0; i < p->spots_n; i++) {
        const struct spot *s = &p->spots[i];
        t->spot_group[i] = SELECTION_NONE;
        if (s->n == 0)
            continue;
        t->spot_group[i] = selection_add_group(&t->s, s->needed);
        if (!is_forced(p, s))
            t->at_once_of[selection_add_choice(&t->s, s->rest_cost, 0)] = PLAN_NONE;
        for (uint32_t k = s->parts_first; !is_forced(p, s) && k < s->parts_first + s->parts_n; k++) {
            const struct part *part = &p->parts[k];
            selection_reach(&t->s, part->spot != PLAN_NONE ? t->spot_group[part->spot] : part->demand);
        }
        for (uint32_t k = s->first; k < s->first + s->n && !arena_failed(p->arena); k++) {
            if (p->at_once[k].reason)
                continue;
            t->at_once_of[selection_add_choice(&t->s, p->at_once[k].query_cost, 0)] = k;
            need_items(t, s, &p->at_once[k]);
        }
    }
}

static int state_problem(struct stated *t, struct err *e)
{
    struct planning *p = t->p;
    t->read_item = ARENA_ARRAY(p->arena, uint32_t, p->reads_n);
    t->chain_item = ARENA_ARRAY(p->arena, uint32_t, p->chains_n);
    t->candidate_of = ARENA_ARRAY(p->arena, uint32_t, (size_t)p->candidates_n + p->demands_n);
    t->kept_item = ARENA_ARRAY(p->arena, uint32_t, p->kept_n);
    t->spot_group = ARENA_ARRAY(p->arena, uint32_t, p->spots_n);
    t->at_once_of = ARENA_ARRAY(p->arena, uint32_t, (size_t)p->candidates_n + p->demands_n + p->spots_n + p->at_once_n);
    t->reader = arena_zalloc(p->arena, ((size_t)p->demands_n + p->spots_n) * sizeof *t->reader);
    int rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    selection_init(&t->s, p->arena);
    t->s.limit_bytes = p->w->memory_limit_bytes ? (double)p->w->memory_limit_bytes : INFINITY;
    if (state_items(t))
        state_groups(t);
    if (!arena_failed(p->arena))
        state_spots(t);
    return arena_check(p->arena, "planning", e);
}

static void count_users(struct planning *p, const struct spot *s, const struct at_once *way)
{
    switch (way->form) {
    case AT_ONCE_PANES:
        break; /* its demand counts those that chose it */
    case AT_ONCE_STORED: {
        struct kept *k = &p->kept[way->kept];
        k->users_n++;
        k->length_ms = k->length_ms > s->length_ms ? k->length_ms : s->length_ms;
        break;
    }
    }
}

/* What a query reads: its root, and of what is read from its parts these. `reader` by demand, then by spot: the last
 * query that reads it + 1. */
static void mark_read(struct planning *p, uint32_t q, uint32_t *reader)
{
    uint32_t *spot_reader = reader + p->demands_n;
    for (uint32_t i = p->query_spots_first[q + 1]; i-- > p->query_spots_first[q];) {
        struct query_spot *mine = &p->query_spots[i];
        struct spot *s = &p->spots[mine->spot];
        mine->read = i + 1 == p->query_spots_first[q + 1] || spot_reader[mine->spot] == q + 1;
        s->readers_n += mine->read;
        if (mine->read && s->chosen != PLAN_NONE) {
            const struct at_once *way = &p->at_once[s->chosen];
            count_users(p, s, way);
            if (way->form == AT_ONCE_PANES)
                reader[way->demand] = q + 1;
        }
        for (uint32_t k = s->parts_first; mine->read && s->chosen == PLAN_NONE && k < s->parts_first + s->parts_n; k++)
            *(p->parts[k].spot != PLAN_NONE ? &spot_reader[p->parts[k].spot] : &reader[p->parts[k].demand]) = q + 1;
    }
    for (uint32_t i = p->sites_first[q]; i < p->sites_first[q + 1]; i++) {
        p->sites[i].read = reader[p->sites[i].demand] == q + 1;
        p->demands[p->sites[i].demand].readers_n += p->sites[i].read;
    }
}

static void take_spots(const struct stated *t)
{
    struct planning *p = t->p;
    for (uint32_t i = 0; i < p->spots_n; i++) {
        uint32_t group = t->spot_group[i];
        uint32_t choice = group == SELECTION_NONE ? SELECTION_NONE : p->answer.choice[group];
        p->spots[i].chosen = choice == SELECTION_NONE ? PLAN_NONE : t->at_once_of[choice];
    }
    for (uint32_t q = 0; q < p->w->queries_n; q++)
        mark_read(p, q, t->reader);
}

static void take_choices(const struct stated *t)
{
    struct planning *p = t->p;
    take_spots(t);
    for (uint32_t i = 0; i < p->demands_n; i++) {
        struct demand *d = &p->demands[i];
        uint32_t choice = p->answer.choice[i], free_choice = p->answer.free_choice[i];
        d->chosen = choice == SELECTION_NONE ? PLAN_NONE : t->candidate_of[choice];
        d->free_choice = free_choice == SELECTION_NONE ? PLAN_NONE : t->candidate_of[free_choice];
        if (d->chosen == PLAN_NONE || p->candidates[d->chosen].form == FORM_RAW)
            continue;
        const struct candidate *c = &p->candidates[d->chosen];
        for (uint32_t k = candidate_top(c); k != PLAN_NONE; k = candidate_next(p, c, k)) {
            struct chain *chain = &p->chains[k];
            int64_t reach_ms = cost_reach_ms(d, chain->grid.step_ms);
            if (chain->users_n++ == 0 && chain->when == WHEN_INGESTION && chain->ratio == 0)
                p->reads[chain->read].users_n++;
            chain->reach_ms = reach_ms > chain->reach_ms ? reach_ms : chain->reach_ms;
        }
    }
}

struct culprit {
    uint32_t query;
    double bytes;
};

static int largest_first(const void *pa, const void *pb)
{
    const struct culprit *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->query > b->query) - (a->query < b->query);
}

static void add_bytes(struct strbuf *out, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint32_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    strbuf_printf(out, "%.4g %s", bytes, units[unit]);
}

/* Of what one reader reads at once. */
static double held_by(const struct planning *p, const struct at_once *way)
{
    switch (way->form) {
    case AT_ONCE_PANES:
        break; /* its demand holds it */
    case AT_ONCE_STORED: {
        const struct kept *k = &p->kept[way->kept];
        return k->memory_bytes_s * (double)(k->length_ms + k->grid.step_ms) / 1000 / k->users_n;
    }
    }
    return 0;
}

/* What each query holds of the chains chosen, shared evenly among the demands of a chain and the queries of a demand.
 */
static uint32_t find_culprits(const struct planning *p, struct culprit *culprits)
{
    uint32_t n = 0;
    for (uint32_t q = 0; q < p->w->queries_n; q++) {
        double bytes = 0;
        for (uint32_t i = p->query_spots_first[q]; i < p->query_spots_first[q + 1]; i++) {
            const struct spot *s = &p->spots[p->query_spots[i].spot];
            if (p->query_spots[i].read && s->chosen != PLAN_NONE)
                bytes += held_by(p, &p->at_once[s->chosen]);
        }
        for (uint32_t i = p->sites_first[q]; i < p->sites_first[q + 1]; i++) {
            if (!p->sites[i].read)
                continue;
            const struct demand *d = &p->demands[p->sites[i].demand];
            const struct candidate *c = &p->candidates[d->chosen];
            if (c->form == FORM_RAW)
                continue;
            for (uint32_t k = candidate_top(c); k != PLAN_NONE; k = candidate_next(p, c, k)) {
                const struct chain *chain = &p->chains[k];
                double held_ms = (double)cost_held_ms(chain, chain->reach_ms);
                bytes += chain->memory_bytes_s * held_ms / 1000 / chain->users_n / d->readers_n;
            }
        }
        if (bytes > 0)
            culprits[n++] = (struct culprit){q, bytes};
    }
    if (n > 1)
        qsort(culprits, n, sizeof *culprits, largest_first);
    return n;
}

/* The answer taken is one that holds the fewest bytes: what cannot be done with less. */
static int refuse_limit(const struct planning *p, struct err *e)
{
    struct culprit *culprits = ARENA_ARRAY(p->arena, struct culprit, p->w->queries_n);
    int rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    struct strbuf text = {0};
    strbuf_add_z(&text, "memory_limit: ");
    add_bytes(&text, (double)p->w->memory_limit_bytes);
    strbuf_add_z(&text, " cannot hold what must be kept where raw samples do not reach, ");
    add_bytes(&text, p->answer.bytes);
    strbuf_add_z(&text, " at least: ");
    uint32_t n = find_culprits(p, culprits);
    for (uint32_t i = 0; i < n && i < CULPRITS_NAMED; i++) {
        const struct workload_query *q = &p->w->queries[culprits[i].query];
        const struct str name = q->name.n ? q->name : q->text;
        strbuf_printf(&text, "%squery %u (%.*s%s) ", i ? ", " : "", culprits[i].query, (int)(name.n < 80 ? name.n : 80),
                      name.p, name.n > 80 ? "..." : "");
        add_bytes(&text, culprits[i].bytes);
    }
    if (n > CULPRITS_NAMED)
        strbuf_printf(&text, " and %u more", n - CULPRITS_NAMED);
    strbuf_add_z(&text, "; raise models.memory_limit or data.raw_retention, or ask for less accuracy");
    rc = err_set(e, ERR_LIMIT, STR_FMT, STR_ARG(text));
    strbuf_done(&text);
    return rc;
}

int planner_choose(struct planning *p, struct err *e)
{
    struct stated t = {.p = p};
    struct err failed = {0};
    int rc = state_problem(&t, e);
    if (rc != 0)
        return rc;
    int64_t spent_ms = (int64_t)((clock_monotonic_ns() - p->begun_ns) / 1000000);
    int64_t left_ms = p->w->planning_deadline_ms - spent_ms;
    struct selection_options options = {.method =
                                            p->options ? (enum selection_method)p->options->method : SELECTION_AUTO,
                                        .deadline_ms = left_ms > 0 ? left_ms : 0};
    rc = selection_solve(&t.s, &options, &p->answer, &failed);
    if (rc == 0 || rc == ERR_LIMIT)
        take_choices(&t);
    if (rc == ERR_LIMIT)
        return refuse_limit(p, e);
    return rc == 0 ? 0 : err_set(e, rc, "%s", failed.message);
}
