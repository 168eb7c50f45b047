/* The parts of plan_check, in the order they run; each may rely on what those before it found in order. */
#ifndef PLAN_CHECK_INTERNAL_H
#define PLAN_CHECK_INTERNAL_H

#include "plan/logical.h"

struct check {
    const struct plan *p;
    struct err *e;
    struct strbuf text;           /* scratch of whoever prints */
    struct arena site;            /* what the node at hand is a site by */
    const struct expr **operands; /* scratch */
    size_t operands_cap;
    uint32_t *seen; /* per node: the last reader (query, then stored root) that came by, plus 1 */
    uint32_t *todo; /* nodes still to visit */
    size_t todo_cap;
    uint32_t *views; /* views that a reader reads */
    size_t views_n, views_cap;
};

/* "what id: rule: sentence"; returns ERR_BAD_DATA. */
int check_fail(struct check *c, const char *what, uint32_t id, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* As check_fail for node `id`, naming its operator. */
int check_fail_node(struct check *c, uint32_t id, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline bool check_is_ms(int64_t ms)
{
    return ms >= -PLAN_MS_MAX && ms <= PLAN_MS_MAX;
}
static inline bool check_is_grid(const struct grid *g)
{
    return g->step_ms > 0 && g->step_ms <= PLAN_MS_MAX && g->phase_ms >= 0 && g->phase_ms < g->step_ms;
}
static inline const struct plan_node *check_input(const struct plan *p, const struct plan_node *n, uint32_t i)
{
    return &p->nodes[p->edges[n->in_first + i]];
}

/* The site that the tree of an ESTIMATE is, of one state a series or of groups; false: none. ret->group lives until the
 * next call. */
bool check_site_of(struct check *c, const struct plan_node *n, struct site *ret);
/* Does an estimate read a statistic that has no bound over the states it merges? Its view and tree fit. */
bool check_is_unbounded(struct check *c, const struct plan_node *n);

int check_shapes(struct check *c);       /* check_shapes.c: every index may be followed afterwards */
int check_nodes(struct check *c);        /* check_nodes.c */
int check_order(struct check *c);        /* check_order.c */
int check_views(struct check *c);        /* check_views.c */
int check_stored_roots(struct check *c); /* check_readers.c */
int check_queries(struct check *c);      /* check_readers.c */

#endif
