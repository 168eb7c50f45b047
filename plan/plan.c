/* Plans: names, the trees and matchers a plan owns, and the small rules that hang on its structs alone. */
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "promql/print.h"

/* Trees take some hundred bytes a node, so this is far above any plan a planner makes. */
#define PLAN_ARENA_MAX_BYTES ((size_t)4 << 30)

static const struct {
    const char *name;
    enum plan_out out;
} ops[PLAN_OP_END] = {
#define X(name, keyword, out) [PLAN_OP_##name] = {keyword, out},
    PLAN_OP_LIST(X)
#undef X
};

const char *plan_op_name(enum plan_op op)
{
    return op > PLAN_OP_INVALID && op < PLAN_OP_END ? ops[op].name : "";
}

enum plan_op plan_op_by_name(struct str name)
{
    for (int op = PLAN_OP_INVALID + 1; op < PLAN_OP_END; op++)
        if (str_eq(str_of(ops[op].name), name))
            return (enum plan_op)op;
    return PLAN_OP_INVALID;
}

enum plan_out plan_op_out(enum plan_op op)
{
    return op > PLAN_OP_INVALID && op < PLAN_OP_END ? ops[op].out : (enum plan_out)0;
}

struct plan *plan_new(void)
{
    struct plan *p = mem_zalloc(sizeof *p);
    p->arena = mem_alloc(sizeof *p->arena);
    arena_init(p->arena, PLAN_ARENA_MAX_BYTES);
    return p;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->parsed_n; i++)
        parsed_done(&p->parsed[i]);
    for (size_t i = 0; i < p->compiled_n; i++)
        matcher_done(p->compiled[i]);
    mem_free(p->parsed);
    mem_free(p->compiled);
    if (p->arena)
        arena_done(p->arena);
    mem_free(p->arena);
    mem_free(p);
}

int plan_add_expr(struct plan *p, struct str text, const struct expr **ret, struct str *ret_text, struct err *e)
{
    struct parsed parsed = {0};
    int rc = promql_parse(text, p->arena, &parsed, e);
    if (rc != 0)
        return rc;
    p->parsed = mem_grow(p->parsed, &p->parsed_cap, p->parsed_n + 1, sizeof *p->parsed);
    p->parsed[p->parsed_n++] = parsed;
    const struct expr *expr = expr_unwrap(parsed.root);
    struct str canonical = {0};
    if (ret_text)
        canonical = expr_text(expr, p->arena);
    rc = arena_check(p->arena, "plan", e);
    if (rc != 0)
        return rc;
    *ret = expr;
    if (ret_text)
        *ret_text = canonical;
    return 0;
}

static int by_matcher(const void *a, const void *b)
{
    return matcher_cmp(a, b);
}

int plan_add_matchers(struct plan *p, const struct matcher *matchers, uint32_t n, const struct matcher **ret,
                      struct err *e)
{
    struct matcher *copy = ARENA_ARRAY(p->arena, struct matcher, n);
    for (uint32_t i = 0; i < n && copy; i++) {
        struct str name = {arena_strndup(p->arena, matchers[i].name.p, matchers[i].name.n), matchers[i].name.n};
        struct str value = {arena_strndup(p->arena, matchers[i].value.p, matchers[i].value.n), matchers[i].value.n};
        copy[i] = (struct matcher){.op = matchers[i].op, .name = name, .value = value};
    }
    int rc = arena_check(p->arena, "plan", e);
    if (rc != 0)
        return rc;
    /* Sorted before they are compiled: `compiled` points at their final places. */
    qsort(copy, n, sizeof *copy, by_matcher);
    for (uint32_t i = 0; i < n; i++) {
        rc = matcher_init(&copy[i], copy[i].op, copy[i].name, copy[i].value, e);
        if (rc != 0)
            return rc;
        p->compiled = mem_grow(p->compiled, &p->compiled_cap, p->compiled_n + 1, sizeof *p->compiled);
        p->compiled[p->compiled_n++] = &copy[i];
    }
    *ret = copy;
    return 0;
}

static bool bit_of(const uint64_t *bits, uint32_t i)
{
    return bits && bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

int plan_refuse(struct plan *p, uint32_t query, struct err *e)
{
    if (!p->refused_queries) {
        p->refused_queries = arena_zalloc(p->arena, (p->queries_n / 64u + 1) * sizeof(uint64_t));
        p->refused_views = arena_zalloc(p->arena, (p->views_n / 64u + 1) * sizeof(uint64_t));
    }
    int rc = arena_check(p->arena, "plan", e);
    if (rc != 0)
        return rc;
    bit_set(p->refused_queries, query);
    for (uint32_t i = 0; i < p->queries[query].uses_n; i++)
        bit_set(p->refused_views, p->queries[query].uses[i]);
    return 0;
}

bool plan_view_refused(const struct plan *p, uint32_t view)
{
    return bit_of(p->refused_views, view);
}

bool plan_query_refused(const struct plan *p, uint32_t query)
{
    bool refused = bit_of(p->refused_queries, query);
    for (uint32_t i = 0; p->refused_views && i < p->queries[query].uses_n; i++)
        refused |= bit_of(p->refused_views, p->queries[query].uses[i]);
    return refused;
}

struct view_definition plan_view_definition(const struct plan *p, uint32_t v)
{
    const struct plan_view *view = &p->views[v];
    const struct plan_source *source = &p->sources[view->source];
    return (struct view_definition){
        .matchers = source->matchers,
        .matchers_n = source->matchers_n,
        .input = view->input,
        .family = view->family,
        .params = view->params,
        .reduce = view->reduce,
        .reduce_n = view->reduce_n,
        .per_series = view->per_series,
        .width_ms = view->panes.step_ms,
        .phase_ms = view->panes.phase_ms,
        .lookback_ms = source->lookback_ms,
        .sketch_seed = p->sketch_seed,
    };
}

/* Recursion is as deep as the query's tree, which the parser bounds. */
static bool reads_kept(const struct plan *p, uint32_t node)
{
    const struct plan_node *n = &p->nodes[node];
    if (n->op == PLAN_OP_PANE_READ || n->op == PLAN_OP_STORED)
        return true;
    for (uint32_t i = 0; i < n->in_n; i++)
        if (reads_kept(p, p->edges[n->in_first + i]))
            return true;
    return false;
}

bool plan_query_reads_kept(const struct plan *p, uint32_t query)
{
    return reads_kept(p, p->queries[query].root);
}

const char *accuracy_kind_name(enum accuracy_kind k)
{
    static const char *const names[] = {
        [ACCURACY_EXACT] = "exact",         [ACCURACY_RANK] = "rank",
        [ACCURACY_RELATIVE] = "relative",   [ACCURACY_CARDINALITY] = "cardinality",
        [ACCURACY_FREQUENCY] = "frequency", [ACCURACY_ANY] = "error",
        [ACCURACY_NONE] = "none",
    };
    return k >= ACCURACY_EXACT && k <= ACCURACY_NONE ? names[k] : "";
}

bool accuracy_meets(const struct accuracy *have, const struct accuracy *want)
{
    if (have->kind == ACCURACY_EXACT || want->kind == ACCURACY_NONE)
        return true;
    /* A guarantee of unknown metric serves nobody who names one, and ANY as a guarantee names none. */
    if (want->kind == ACCURACY_EXACT || have->kind == ACCURACY_NONE ||
        (want->kind != ACCURACY_ANY && want->kind != have->kind))
        return false;
    return have->error <= want->error && have->failure <= want->failure;
}

double accuracy_sigmas(double failure)
{
    return failure >= 0.35 ? 1 : failure >= 0.05 ? 2 : 3;
}

struct accuracy accuracy_of_cardinality(double standard_error, double failure)
{
    double n = accuracy_sigmas(failure);
    return (struct accuracy){ACCURACY_CARDINALITY, n * standard_error, n == 1 ? 0.35 : n == 2 ? 0.05 : 0.01};
}

struct accuracy accuracy_of_states(enum family family, const struct sketch_params *params, enum statistic statistic,
                                   double failure)
{
    const struct family_readout *readout = family_readout(family_get(family), statistic);
    const struct accuracy exact = {.kind = ACCURACY_EXACT}, nothing = {.kind = ACCURACY_NONE};
    if (!readout)
        return (struct accuracy){0};
    if (readout->merged != MERGED_AS_UNION)
        return readout->merged == MERGED_EXACT ? exact : nothing;
    switch (family) {
    case FAMILY_KLL:
        return (struct accuracy){ACCURACY_RANK, kll_rank_error(params->k), 0.01};
    case FAMILY_DDSKETCH:
        return (struct accuracy){ACCURACY_RELATIVE, params->alpha, 0};
    case FAMILY_HLL:
        return accuracy_of_cardinality(hll_standard_error(params->p), failure);
    case FAMILY_KMV:
        return accuracy_of_cardinality(kmv_standard_error(params->k), failure);
    case FAMILY_COUNTSKETCH:
    case FAMILY_COUNTSKETCH_HEAP:
    case FAMILY_UNIVMON: {
        double l2 = statistic == STATISTIC_L2 ? countsketch_l2_error(params->width, params->depth, failure) : NAN;
        return isnan(l2) ? nothing : (struct accuracy){ACCURACY_RELATIVE, l2, failure};
    }
    default:
        return nothing; /* no rule says how exact it is */
    }
}

static struct grid with_steps(struct grid evaluations, const struct cadence *c)
{
    if (evaluations.step_ms == 0 || c->step_ms == 0)
        return evaluations;
    /* Every T is T - length, T - length + step, ...: the grid of the starts joined with one a step later. */
    int64_t first_ms = evaluations.phase_ms - c->length_ms;
    struct grid starts = grid_through(first_ms, evaluations.step_ms);
    return grid_join(starts, grid_through(first_ms, c->step_ms));
}

struct grid cadence_grid(const struct cadence *c)
{
    switch (c->kind) {
    case CADENCE_EVERY:
        if (c->every_ms <= 0)
            break;
        return with_steps(grid_through(c->phase_ms, c->every_ms), c);
    case CADENCE_AT:
        return with_steps(grid_of_schedule(c->at_ms, c->at_n), c);
    case CADENCE_RATE:
    case CADENCE_ONCE:
        break;
    }
    return (struct grid){0, 0};
}
