/* A workload in YAML text to a plan, for tests; whatever goes wrong fails the test with the message. */
#ifndef TESTS_PLANNER_PLAN_OF_H
#define TESTS_PLANNER_PLAN_OF_H

#include "suite.h"

#include "base/err.h"
#include "plan/check.h"
#include "plan/file.h"
#include "planner/planner.h"

static inline struct workload *workload_of(const char *yaml)
{
    struct problems problems = {0};
    struct workload *w = NULL;
    struct err e = {0};
    int rc = workload_read(str_of(yaml), "w.yaml", &w, &problems, &e);
    ck_assert_msg(rc == 0, "%s\n%s", e.message, strbuf_z(&problems.text));
    strbuf_done(&problems.text);
    return w;
}

/* Free with plan_free. */
static inline struct plan *plan_of(const char *yaml)
{
    struct workload *w = workload_of(yaml);
    struct planner_options options = {.sketch_seed = 7};
    struct plan *plan = NULL;
    struct err e = {0};
    int rc = planner_plan(w, &options, &plan, &e);
    ck_assert_msg(rc == 0, "%s", e.message);
    ck_assert_msg(plan_check(plan, &e) == 0, "%s", e.message);
    workload_free(w);
    return plan;
}

static inline const struct plan_node *root_of(const struct plan *p, uint32_t query)
{
    return &p->nodes[p->queries[query].root];
}

static inline const struct plan_node *input_of(const struct plan *p, const struct plan_node *n, uint32_t i)
{
    ck_assert_uint_lt(i, n->in_n);
    return &p->nodes[p->edges[n->in_first + i]];
}

/* The view of this family with the only such width, or PLAN_NONE. */
static inline uint32_t view_of(const struct plan *p, enum family family, int64_t width_ms)
{
    for (uint32_t v = 0; v < p->views_n; v++) {
        if (p->views[v].family == family && p->views[v].panes.step_ms == width_ms)
            return v;
    }
    return PLAN_NONE;
}

/* Does some rejected candidate of the query hold `candidate` in its text and `reason` in its reason? */
static inline bool is_rejected(const struct plan *p, uint32_t query, const char *candidate, const char *reason)
{
    const struct plan_query *q = &p->queries[query];
    for (uint32_t i = 0; i < q->rejected_n; i++) {
        struct str c = q->rejected[i].candidate, r = q->rejected[i].reason;
        if (memmem(c.p, c.n, candidate, strlen(candidate)) && memmem(r.p, r.n, reason, strlen(reason)))
            return true;
    }
    return false;
}

#endif
