#include "planner/enumerate.h"

#include "base/alloc.h"

/* Sites below a node, each once: `seen` has a byte a node of the DAG. Inputs have smaller ids, so one pass from the
 * root down meets every node after all that read it. */
static void mark_reached(const struct logical *l, uint32_t root, uint8_t *seen)
{
    seen[root] = 1;
    for (uint32_t id = root + 1; id-- > 0;) {
        const struct logical_node *n = &l->nodes[id];
        for (uint32_t i = 0; seen[id] && i < n->in_n; i++)
            seen[l->edges[n->in_first + i]] = 1;
    }
}

static int add_site(struct form_site *sites, uint32_t *n, const struct logical *l, uint32_t node, struct grid times,
                    uint32_t limit, struct err *e)
{
    const struct site *s = &l->nodes[node].site;
    struct pane_chain chain = grid_chain(times, s->range_ms, s->offset_ms);
    if (s->anchored || chain.count <= 1)
        return 0;
    if (chain.count > limit)
        return err_set(e, ERR_BAD_DATA, STR_FMT " has %lld panes, over the budget of %u", STR_ARG(l->nodes[node].text),
                       (long long)chain.count, limit);
    sites[(*n)++] = (struct form_site){node, chain};
    if (*n >= 32 || UINT32_C(1) << *n > limit)
        return err_set(e, ERR_BAD_DATA, "%u sites have more forms than the budget of %u", *n, limit);
    return 0;
}

int plan_enumerate(const struct logical *l, uint32_t root, const struct cadence *cadence, uint32_t limit,
                   struct arena *a, struct plan_forms *ret, struct err *e)
{
    *ret = (struct plan_forms){0};
    if (limit == 0)
        return err_set(e, ERR_BAD_DATA, "a budget of 0 forms leaves none, not even the query as it stands");
    uint8_t *seen = arena_zalloc(a, (size_t)root + 1);
    struct form_site *sites = ARENA_ARRAY(a, struct form_site, (size_t)root + 1);
    int rc = arena_check(a, "forms", e);
    struct grid times = cadence_grid(cadence);
    uint32_t n = 0;
    if (rc == 0)
        mark_reached(l, root, seen);
    for (uint32_t id = 0; rc == 0 && id <= root; id++)
        rc = seen[id] && l->nodes[id].is_site ? add_site(sites, &n, l, id, times, limit, e) : 0;
    if (rc == 0)
        *ret = (struct plan_forms){sites, n, UINT32_C(1) << n};
    return rc;
}
