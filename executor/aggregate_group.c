/* Which series belong together: by label sets that are equal, found once for all steps. */
#include <math.h>

#include "executor/aggregate.h"

struct label_key aggregate_key(const struct expr *aggregate)
{
    return (struct label_key){aggregate->without ? LABEL_KEY_BUT_NAME : LABEL_KEY_ONLY, aggregate->grouping,
                              aggregate->grouping_n};
}

int groups_make(const struct apply *c, struct groups *ret, struct err *e)
{
    const struct value *vector = &c->args[0];
    struct label_key key = aggregate_key(c->expr);
    struct label_index index;
    const uint32_t *of;
    label_index_init(&index, c->ev->arena);
    int code = label_groups_number(&index, &key, vector, c->ev, &of, e);
    if (code == 0)
        code = label_groups_lay_out(c->ev, of, vector->series_n, index.n, &ret->by, e);
    ret->labels = index.sets;
    label_index_done(&index);
    return code;
}

struct param_range param_range_of(const struct apply *c, const double *v)
{
    struct param_range r = {INFINITY, -INFINITY, false};
    for (uint32_t i = 0; i < c->t->n; i++) {
        r.any_nan |= isnan(v[i]);
        r.min = v[i] < r.min ? v[i] : r.min;
        r.max = v[i] > r.max ? v[i] : r.max;
    }
    return r;
}
