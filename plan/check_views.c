/* Views: the node that makes each, parameters, reduction, and identities, which tie them to stored panes. */
#include <stdlib.h>

#include "base/alloc.h"
#include "plan/check_internal.h"

static int check_maker(struct check *c, uint32_t id)
{
    const struct plan_view *v = &c->p->views[id];
    const struct plan_node *n = &c->p->nodes[v->node];
    bool makes_states = n->op == PLAN_OP_BUILD || n->op == PLAN_OP_MERGE;
    if (!makes_states || n->view != id)
        return check_fail(c, "view", id, "not_summary", "node %u does not make its states", v->node);
    return 0;
}

static int check_parameters(struct check *c, uint32_t id)
{
    const struct plan_view *v = &c->p->views[id];
    const char *reason = "";
    if (family_get(v->family)->check_params(&v->params, &reason) != 0)
        return check_fail(c, "view", id, "bad_parameters", "%s: %s", family_get(v->family)->name, reason);
    return 0;
}

static int check_reduction(struct check *c, uint32_t id)
{
    const struct plan_view *v = &c->p->views[id];
    if (v->per_series && v->reduce_n != 0)
        return check_fail(c, "view", id, "bad_view", "one state a series keeps all labels");
    if (!v->per_series && family_get(v->family)->time_ordered)
        return check_fail(c, "view", id, "reduces_time_ordered", "%s states are of one series each",
                          family_get(v->family)->name);
    if (!view_input_fits(&v->input, v->family, v->per_series))
        return check_fail(c, "view", id, "bad_view", "%s states are not made of its input%s",
                          family_get(v->family)->name, v->per_series ? ", one a series" : ", by labels");
    if (!v->per_series && v->level_of != PLAN_NONE)
        return check_fail(c, "view", id, "bad_view", "states by labels have no roll-ups");
    if (!v->per_series && v->when != WHEN_INGESTION)
        return check_fail(c, "view", id, "bad_view", "states by labels are built at ingestion only");
    for (uint32_t i = 0; i < v->reduce_n; i++) {
        if (str_eq(v->reduce[i], STR(LABEL_NAME)))
            return check_fail(c, "view", id, "bad_view", "it is by __name__, which what it is read for takes away");
        if (!utf8_valid(v->reduce[i].p, v->reduce[i].n))
            return check_fail(c, "view", id, "bad_view", "label %u of its reduction is not UTF-8", i);
        if (i > 0 && str_cmp(v->reduce[i - 1], v->reduce[i]) >= 0)
            return check_fail(c, "view", id, "bad_view", "the labels of its reduction are not sorted and distinct");
    }
    return 0;
}

static int check_retention(struct check *c, uint32_t id)
{
    const struct plan_view *v = &c->p->views[id];
    if (v->retention_ms < (int64_t)v->panes_n * v->panes.step_ms)
        return check_fail(c, "view", id, "retention_too_short", "%lld ms do not hold a window of %u panes of %lld ms",
                          (long long)v->retention_ms, v->panes_n, (long long)v->panes.step_ms);
    if (v->level_of != PLAN_NONE && c->p->views[v->level_of].retention_ms < v->panes.step_ms)
        return check_fail(c, "view", v->level_of, "retention_too_short",
                          "view %u rolls up %lld ms of it, it is kept %lld ms", id, (long long)v->panes.step_ms,
                          (long long)c->p->views[v->level_of].retention_ms);
    return 0;
}

static int check_identity(struct check *c, uint32_t id)
{
    struct view_definition definition = plan_view_definition(c->p, id);
    uint8_t identity[IDENTITY_BYTES];
    char text[2 * IDENTITY_BYTES + 1];
    view_identity(&definition, identity);
    identity_text(identity, text);
    if (memcmp(identity, c->p->views[id].identity, IDENTITY_BYTES) != 0)
        return check_fail(c, "view", id, "identity_mismatch", "what it computes has the identity %s", text);
    return 0;
}

static int by_identity(const void *pa, const void *pb, void *ctx)
{
    const struct plan_view *views = ctx;
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    int order = memcmp(views[a].identity, views[b].identity, IDENTITY_BYTES);
    if (order == 0)
        order = (int)views[a].when - (int)views[b].when;
    return order != 0 ? order : (a > b) - (a < b);
}

static int check_distinct(struct check *c)
{
    const struct plan_view *views = c->p->views;
    uint32_t n = c->p->views_n;
    int rc = 0;
    uint32_t *order = mem_alloc((size_t)n * sizeof *order);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (n > 1)
        qsort_r(order, n, sizeof *order, by_identity, (void *)(uintptr_t)views);
    for (uint32_t i = 1; i < n && rc == 0; i++)
        if (views[order[i - 1]].when == views[order[i]].when &&
            memcmp(views[order[i - 1]].identity, views[order[i]].identity, IDENTITY_BYTES) == 0)
            rc = check_fail(c, "view", order[i], "identity_repeated", "it is view %u again", order[i - 1]);
    mem_free(order);
    return rc;
}

int check_views(struct check *c)
{
    static int (*const parts[])(struct check *, uint32_t) = {check_maker, check_parameters, check_reduction,
                                                             check_retention, check_identity};
    int rc = 0;
    for (uint32_t id = 0; id < c->p->views_n; id++)
        for (size_t i = 0; i < sizeof parts / sizeof parts[0] && rc == 0; i++)
            rc = parts[i](c, id);
    return rc != 0 ? rc : check_distinct(c);
}
