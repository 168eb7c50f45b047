/* Which series belong together: by label sets that are equal, found once for all steps. */
#include <math.h>

#include "executor/aggregate.h"
#include "executor/note_histogram.h"

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

const double *aggregate_numbers(const struct apply *c, const struct vec_series *s)
{
    enum aggregate_op op = c->expr->aggregate;
    bool chooses = op == AGGREGATE_TOPK || op == AGGREGATE_BOTTOMK, any = false;
    for (uint32_t i = 0; s->h && !any && i < c->t->n; i++)
        any = float_is_histogram(s->v[i]);
    if (any) /* where the note points: as Prometheus has it */
        note_ignored_in_group(c->ev, aggregate_op_name(op),
                              chooses ? c->expr->start : expr_unwrap(c->expr->args[0])->start);
    return series_numbers(c->ev, s, c->t->n);
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
