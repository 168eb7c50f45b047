/*
 * Every form of one query: each of its n sites either whole or composed of the widest panes that tile its windows, 2^n
 * in all. Selection never expands this list; it is for comparisons and for tests that look for an optimum by trying
 * everything.
 */
#ifndef PLANNER_ENUMERATE_H
#define PLANNER_ENUMERATE_H

#include "plan/logical.h"

/* A site that can be composed, with its panes: pane i of `chain.count` ends chain.count - 1 .. 0 widths before T. */
struct form_site {
    uint32_t node; /* of the logical DAG */
    struct pane_chain chain;
};
struct plan_forms {
    const struct form_site *sites; /* by rising node */
    uint32_t sites_n;
    uint32_t
        forms_n; /* 1 << sites_n: form k composes site i when bit i of k is set; form 0 is the query as it stands */
};

/*
 * The forms of the query whose root is `root`, at the cadence's times; the list is in `a`. ERR_BAD_DATA, and no list,
 * when `limit` is 0 (whatever the cadence), when a site has more than `limit` panes or when there are more than `limit`
 * forms.
 */
int plan_enumerate(const struct logical *l, uint32_t root, const struct cadence *cadence, uint32_t limit,
                   struct arena *a, struct plan_forms *ret, struct err *e);

#endif
