#include "plan/root_expr.h"

#include "promql/duration_expr.h"
#include "promql/function.h"

static bool is_open(const struct duration_expr *d)
{
    return d && duration_expr_needs_query(d);
}

static bool has_lookback(const struct expr *e)
{
    return e->kind == EXPR_SELECTOR && (e->type != VALUE_MATRIX || e->anchored);
}

static const char *call_refusal(const struct expr *e)
{
    switch (e->function->id) {
    case FUNCTION_start:
    case FUNCTION_end:
    case FUNCTION_step:
    case FUNCTION_range:
        return "it depends on the request";
    case FUNCTION_sort:
    case FUNCTION_sort_desc:
    case FUNCTION_sort_by_label:
    case FUNCTION_sort_by_label_desc:
    case FUNCTION_topk_label_over_time:
        return "the order of its series means something";
    case FUNCTION_info:
        return "info() reads series of its own";
    case FUNCTION_entropy_label_over_time:
    case FUNCTION_l2_label_over_time:
        return "its last bits depend on the order of series";
    default:
        return NULL;
    }
}

static const char *aggregate_refusal(const struct expr *e)
{
    switch (e->aggregate) {
    case AGGREGATE_TOPK:
    case AGGREGATE_BOTTOMK:
        return "the order of its series means something";
    case AGGREGATE_LIMITK:
    case AGGREGATE_LIMIT_RATIO:
        return "it draws series";
    default:
        return NULL;
    }
}

static const char *time_refusal(const struct expr *e)
{
    if (is_open(e->range_expr) || is_open(e->step_expr) || is_open(e->time.offset_expr))
        return "it depends on the request";
    if (e->time.at != AT_NONE)
        return "@ does not move with the time";
    if (e->smoothed)
        return "it looks past its time as far as samples are apart";
    return NULL;
}

/* ---- the whole ---- */

/* Recursion is as deep as the tree, which the parser bounds. */
static const char *refusal(const struct expr *e, bool *selects)
{
    const char *why = time_refusal(e);
    if (!why && e->kind == EXPR_CALL)
        why = call_refusal(e);
    if (!why && e->kind == EXPR_AGGREGATE)
        why = aggregate_refusal(e);
    *selects |= e->kind == EXPR_SELECTOR;
    for (uint32_t i = 0; i < e->args_n && !why; i++)
        why = refusal(e->args[i], selects);
    return why;
}

static int64_t reach(const struct expr *e)
{
    int64_t most_ms = 0, own_ms = 0;
    for (uint32_t i = 0; i < e->args_n; i++) {
        int64_t below_ms = reach(e->args[i]);
        most_ms = most_ms > below_ms ? most_ms : below_ms;
    }
    if (e->kind == EXPR_SELECTOR || e->kind == EXPR_SUBQUERY)
        own_ms =
            e->range_ms + (e->time.offset_ms > 0 ? e->time.offset_ms : 0) + (has_lookback(e) ? ROOT_LOOKBACK_MS : 0);
    /* Durations are below 2^53 ms each, but a tree is deep. */
    return most_ms > PLAN_MS_MAX || own_ms > PLAN_MS_MAX ? PLAN_MS_MAX + 1 : most_ms + own_ms;
}

static int64_t ahead(const struct expr *e)
{
    int64_t most_ms = 0, own_ms = e->time.offset_ms < 0 ? -e->time.offset_ms : 0;
    for (uint32_t i = 0; i < e->args_n; i++) {
        int64_t above_ms = ahead(e->args[i]);
        most_ms = most_ms > above_ms ? most_ms : above_ms;
    }
    return most_ms > PLAN_MS_MAX || own_ms > PLAN_MS_MAX ? PLAN_MS_MAX + 1 : most_ms + own_ms;
}

const char *root_expr_refusal(const struct expr *e)
{
    bool selects = false;
    e = expr_unwrap(e);
    if (e->type != VALUE_VECTOR)
        return "it is no vector";
    const char *why = refusal(e, &selects);
    if (!why && !selects)
        why = "it reads no samples";
    if (!why && reach(e) > PLAN_MS_MAX)
        why = "it looks too far back";
    if (!why && ahead(e) > PLAN_MS_MAX)
        why = "it looks too far ahead";
    return why;
}

int64_t root_expr_reach_ms(const struct expr *e)
{
    return reach(e);
}

int64_t root_expr_ahead_ms(const struct expr *e)
{
    return ahead(e);
}

bool root_expr_serves(const struct expr *e, int64_t lookback_ms, int64_t default_step_ms)
{
    if (has_lookback(e) && lookback_ms != 0 && lookback_ms != ROOT_LOOKBACK_MS)
        return false;
    if (e->kind == EXPR_SUBQUERY && e->step_ms == 0 && default_step_ms != 0 && default_step_ms != ROOT_STEP_MS)
        return false;
    for (uint32_t i = 0; i < e->args_n; i++)
        if (!root_expr_serves(e->args[i], lookback_ms, default_step_ms))
            return false;
    return true;
}

void plan_root_identity(const struct plan *p, uint32_t root, uint8_t ret[IDENTITY_BYTES])
{
    const struct plan_stored_root *r = &p->stored_roots[root];
    const struct root_definition d = {p->nodes[r->node].expr_text, r->grid.step_ms, r->grid.phase_ms, ROOT_LOOKBACK_MS,
                                      ROOT_STEP_MS};
    root_identity(&d, ret);
}

bool root_grid_holds(const struct grid *g, int64_t start_ms, int64_t step_ms, uint32_t n)
{
    if (g->step_ms <= 0 || floor_mod(start_ms - g->phase_ms, g->step_ms) != 0)
        return false;
    return n <= 1 || step_ms % g->step_ms == 0;
}
