/*
 * What is derived from a plan and never stored: refresh groups, and the queries by their text.
 *
 * A group is the ingestion views of one (width, phase). A view reads only views of smaller width (a roll-up's level
 * below), so groups in rising width already follow what they read, and views of one group never read each other.
 */
#include <stdlib.h>

#include "plan/plan.h"
#include "promql/duration_expr.h"

static int by_window(const void *pa, const void *pb, void *ctx)
{
    const struct plan_view *views = ctx;
    uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
    const struct grid *a = &views[ia].panes, *b = &views[ib].panes;
    if (a->step_ms != b->step_ms)
        return a->step_ms < b->step_ms ? -1 : 1;
    if (a->phase_ms != b->phase_ms)
        return a->phase_ms < b->phase_ms ? -1 : 1;
    return (ia > ib) - (ia < ib);
}

static bool same_window(const struct grid *a, const struct grid *b)
{
    return a->step_ms == b->step_ms && a->phase_ms == b->phase_ms;
}

/* Exact before bounded before unbounded. */
static int laxness(const struct accuracy *a)
{
    return a->kind == ACCURACY_EXACT ? 0 : a->kind == ACCURACY_NONE ? 2 : 1;
}

static int compare_doubles(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_text_then_strictness(const void *pa, const void *pb, void *ctx)
{
    const struct plan_query *queries = ctx;
    uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
    const struct plan_query *a = &queries[ia], *b = &queries[ib];
    int order = str_cmp(a->text, b->text);
    if (order == 0)
        order = laxness(&a->target) - laxness(&b->target);
    if (order == 0)
        order = compare_doubles(a->target.error, b->target.error);
    if (order == 0)
        order = compare_doubles(a->target.failure, b->target.failure);
    return order != 0 ? order : (ia > ib) - (ia < ib);
}

static bool is_open(const struct duration_expr *d)
{
    return d && duration_expr_needs_query(d);
}

/* Recursion is as deep as the tree, which the parser bounds. */
static bool depends_on_request(const struct expr *e)
{
    if (e->time.at == AT_START || e->time.at == AT_END || is_open(e->range_expr) || is_open(e->step_expr) ||
        is_open(e->time.offset_expr))
        return true;
    for (uint32_t i = 0; i < e->args_n; i++)
        if (depends_on_request(e->args[i]))
            return true;
    return false;
}

static int fail_if_a_read_is_not_narrower(const struct plan *p, struct err *e)
{
    for (uint32_t v = 0; v < p->views_n; v++) {
        uint32_t below = p->views[v].level_of;
        if (below == PLAN_NONE)
            continue;
        if (below >= p->views_n || p->views[below].panes.step_ms >= p->views[v].panes.step_ms)
            return err_set(e, ERR_BAD_DATA,
                           "view %u: group_cycle: it rolls up view %u, whose panes are not narrower than its own", v,
                           below);
    }
    return 0;
}

int plan_groups(struct plan *p, struct err *e)
{
    int rc = fail_if_a_read_is_not_narrower(p, e);
    if (rc != 0)
        return rc;
    uint32_t *order = ARENA_ARRAY(p->arena, uint32_t, p->views_n);
    struct plan_group *groups = ARENA_ARRAY(p->arena, struct plan_group, p->views_n);
    uint32_t *by_text = ARENA_ARRAY(p->arena, uint32_t, p->queries_n);
    rc = arena_check(p->arena, "plan", e);
    if (rc != 0)
        return rc;

    uint32_t views_n = 0, groups_n = 0;
    for (uint32_t v = 0; v < p->views_n; v++)
        if (p->views[v].when == WHEN_INGESTION)
            order[views_n++] = v;
    if (views_n > 1)
        qsort_r(order, views_n, sizeof *order, by_window, (void *)(uintptr_t)p->views);
    for (uint32_t i = 0; i < views_n; i++) {
        const struct grid *window = &p->views[order[i]].panes;
        if (groups_n == 0 || !same_window(&groups[groups_n - 1].window, window))
            groups[groups_n++] = (struct plan_group){.window = *window, .views = &order[i]};
        groups[groups_n - 1].views_n++;
    }

    p->by_text_n = 0;
    for (uint32_t q = 0; q < p->queries_n; q++)
        if (!depends_on_request(p->nodes[p->queries[q].root].expr))
            by_text[p->by_text_n++] = q;
    if (p->by_text_n > 1)
        qsort_r(by_text, p->by_text_n, sizeof *by_text, by_text_then_strictness, (void *)(uintptr_t)p->queries);
    p->groups = groups;
    p->groups_n = groups_n;
    p->by_text = by_text;
    return 0;
}

int64_t plan_widest_window_ms(const struct plan *p)
{
    int64_t widest_ms = 0;
    for (uint32_t v = 0; v < p->views_n; v++)
        if (p->views[v].when == WHEN_INGESTION && p->views[v].panes.step_ms > widest_ms)
            widest_ms = p->views[v].panes.step_ms;
    return widest_ms;
}

uint32_t plan_query_by_text(const struct plan *p, struct str text)
{
    uint32_t low = 0, high = p->by_text_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (str_cmp(p->queries[p->by_text[middle]].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < p->by_text_n && str_eq(p->queries[p->by_text[low]].text, text);
    return found ? p->by_text[low] : PLAN_NONE;
}
