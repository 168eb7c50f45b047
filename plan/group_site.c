/* Group sites: which aggregations and label functions states by labels can answer, and how. */
#include <math.h>
#include <stdlib.h>

#include "plan/logical.h"
#include "promql/constant.h"
#include "promql/function.h"

/* Labels pushed below the aggregation: what a group's state yields is what the aggregation makes of its series'. */
static const struct {
    enum aggregate_op aggregate;
    enum statistic statistic;
} pushed[] = {
    {AGGREGATE_SUM, STATISTIC_SUM}, {AGGREGATE_SUM, STATISTIC_COUNT},     {AGGREGATE_MIN, STATISTIC_MIN},
    {AGGREGATE_MAX, STATISTIC_MAX}, {AGGREGATE_GROUP, STATISTIC_PRESENT},
};

static bool is_pushed(enum aggregate_op aggregate, enum statistic statistic)
{
    for (size_t i = 0; i < sizeof pushed / sizeof pushed[0]; i++)
        if (pushed[i].aggregate == aggregate && pushed[i].statistic == statistic)
            return true;
    return false;
}

/* Sorted and each once. False for __name__, which range functions take away, and when memory fails. */
static bool set_by(struct site_group *g, struct str *by, uint32_t n)
{
    if (n > 1)
        qsort(by, n, sizeof *by, str_order);
    g->by = by;
    for (uint32_t i = 0; i < n; i++) {
        if (str_eq(by[i], STR(LABEL_NAME)) || !utf8_valid(by[i].p, by[i].n))
            return false;
        if (i == 0 || !str_eq(by[i], by[g->by_n - 1]))
            by[g->by_n++] = by[i];
    }
    return true;
}

static bool top_of(const struct expr *k, uint32_t *ret)
{
    double v;
    if (!expr_constant(k, &v) || !(v >= 1 && v <= GROUP_SITE_TOP_MAX) || v != floor(v))
        return false;
    *ret = (uint32_t)v;
    return true;
}

static bool aggregate_site(const struct expr *e, struct site *site, struct site_group *g, struct arena *a)
{
    const struct expr *operand = expr_unwrap(e->args[0]);
    if (e->without || !site_of(operand, site))
        return false;
    g->input.kind = INPUT_VALUE;
    if (e->aggregate == AGGREGATE_TOPK && site->statistic == STATISTIC_SUM && top_of(e->args[1], &g->top)) {
        g->input.kind = INPUT_SERIES;
        site->statistic = STATISTIC_TOPK;
    } else if (!is_pushed(e->aggregate, site->statistic)) {
        return false;
    }
    struct str *by = arena_dup(a, e->grouping, e->grouping_n * sizeof *by);
    return by && set_by(g, by, e->grouping_n);
}

static enum statistic label_statistic(enum function_id id)
{
    switch (id) {
    case FUNCTION_distinct_label_over_time:
        return STATISTIC_DISTINCT;
    case FUNCTION_topk_label_over_time:
        return STATISTIC_TOPK;
    case FUNCTION_entropy_label_over_time:
        return STATISTIC_ENTROPY;
    case FUNCTION_l2_label_over_time:
        return STATISTIC_L2;
    default:
        return STATISTIC_INVALID;
    }
}

/* Strings are the label, then those to group by; k and the range stand among them by their types. */
static bool label_site(const struct expr *e, struct site *site, struct site_group *g, struct arena *a)
{
    enum statistic statistic = label_statistic(e->function->id);
    struct str *by = ARENA_ARRAY(a, struct str, e->args_n + 1u);
    uint32_t by_n = 0;
    if (statistic == STATISTIC_INVALID || !by)
        return false;
    g->input.kind = INPUT_LABEL;
    for (uint32_t i = 0; i < e->args_n; i++) {
        const struct expr *arg = expr_unwrap(e->args[i]);
        if (arg->type == VALUE_STRING && g->input.label.n == 0)
            g->input.label = arg->string;
        else if (arg->type == VALUE_STRING)
            by[by_n++] = arg->string;
        else if (arg->type == VALUE_SCALAR && !top_of(arg, &g->top))
            return false;
        else if (arg->type == VALUE_MATRIX && !site_of_selector(arg, site))
            return false;
    }
    site->statistic = statistic;
    for (uint32_t i = 0; i < by_n; i++)
        if (by[i].n == 0)
            return false; /* the call is an error, which evaluation reports */
    return g->input.label.n > 0 && utf8_valid(g->input.label.p, g->input.label.n) && set_by(g, by, by_n);
}

bool group_site_of(const struct expr *e, struct arena *a, struct site *ret)
{
    struct site site = {0};
    struct site_group group = {0};
    e = expr_unwrap(e);
    bool is_one = false;
    if (e->kind == EXPR_AGGREGATE)
        is_one = aggregate_site(e, &site, &group, a);
    else if (e->kind == EXPR_CALL)
        is_one = label_site(e, &site, &group, a);
    const struct site_group *kept = is_one ? arena_dup(a, &group, sizeof group) : NULL;
    if (!kept)
        return false;
    site.call = e;
    site.group = kept;
    *ret = site;
    return true;
}
