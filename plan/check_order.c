/* What gives its series in an order of its own is read only where that does not show (plan/series_order.h). */
#include "base/alloc.h"
#include "plan/check_internal.h"
#include "plan/series_order.h"

static bool has_own_order(const struct plan *p, const struct plan_node *n)
{
    return n->op == PLAN_OP_STORED || (n->op == PLAN_OP_ESTIMATE && !p->views[check_input(p, n, 0)->view].per_series);
}

int check_order(struct check *c)
{
    const struct plan *p = c->p;
    bool *minded = mem_zalloc(p->nodes_n + 1u); /* by node: something that reads it, near or far, minds its order */
    int rc = 0;
    for (uint32_t id = p->nodes_n; id-- > 0 && rc == 0;) { /* whatever reads a node has a larger id */
        const struct plan_node *n = &p->nodes[id];
        if (minded[id] && has_own_order(p, n))
            rc = check_fail_node(c, id, "order_minded", "its series come in an order of their own, which shows above");
        for (uint32_t i = 0; n->op == PLAN_OP_VECTOR && i < n->in_n; i++)
            minded[p->edges[n->in_first + i]] |= series_order_minded(n->expr, check_input(p, n, i)->expr, minded[id]);
    }
    mem_free(minded);
    return rc;
}
