/* quantile: each step's samples of a group, sorted, and Prometheus' interpolation between two of them. */
#include <math.h>

#include "executor/aggregate.h"
#include "kernels/order.h"

/* keys[n] as order_sort leaves them: largest first, NaN last. Upwards that is NaN first, as Prometheus sorts. */
static double quantile_of(double q, const uint64_t *keys, uint32_t n)
{
    double rank = q * (n - 1.0), low = fmax(0, floor(rank)), high = fmin(n - 1.0, low + 1), weight = rank - floor(rank);
    return order_value(keys[n - 1 - (uint32_t)low]) * (1 - weight) + order_value(keys[n - 1 - (uint32_t)high]) * weight;
}

struct quantile_room {
    uint64_t *keys, *spare;
};

static void group_quantiles(const struct apply *c, const double *const *numbers, const struct groups *groups,
                            uint32_t g, const struct quantile_room *room, double *out)
{
    for (uint32_t i = 0; i < c->t->n; i++) {
        double q = c->args[1].v[i];
        uint32_t n = 0;
        for (uint32_t m = groups->by.starts[g]; m < groups->by.starts[g + 1]; m++) {
            double v = numbers[groups->by.members[m]][i];
            if (!value_absent(v))
                room->keys[n++] = order_key(v);
        }
        if (n == 0)
            continue;
        if (isnan(q)) {
            out[i] = NAN;
        } else if (q < 0 || q > 1) {
            out[i] = q < 0 ? -INFINITY : INFINITY;
        } else {
            order_sort(room->keys, n, room->spare);
            out[i] = quantile_of(q, room->keys, n);
        }
    }
}

int aggregate_quantile_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct param_range q = param_range_of(c, c->args[1].v);
    if (q.any_nan)
        apply_note_quantile(c, c->expr->args[1], NAN);
    if (q.max > 1)
        apply_note_quantile(c, c->expr->args[1], q.max);
    if (q.min < 0)
        apply_note_quantile(c, c->expr->args[1], q.min);
    struct groups groups;
    int code = groups_make(c, &groups, e);
    if (code == 0)
        code = apply_make_vector(c, groups.by.n, ret, e);
    if (code != 0)
        return code;
    uint32_t series_n = c->args[0].series_n;
    const double **numbers = ARENA_ARRAY(c->ev->arena, const double *, series_n);
    for (uint32_t s = 0; numbers && s < series_n; s++) {
        const struct vec_series *in = &c->args[0].series[s];
        numbers[s] = in->h ? aggregate_numbers(c, in) : in->v;
    }
    if (arena_failed(c->ev->arena))
        return apply_full(c, e);
    struct quantile_room room = {ARENA_ARRAY(c->ev->arena, uint64_t, series_n),
                                 ARENA_ARRAY(c->ev->arena, uint64_t, series_n)};
    for (uint32_t g = 0; g < groups.by.n && code == 0; g++) {
        double *out = value_array_absent(c->ev, c->t->n);
        if (arena_failed(c->ev->arena))
            return apply_full(c, e);
        bool drop_name = false;
        for (uint32_t m = groups.by.starts[g]; m < groups.by.starts[g + 1]; m++)
            drop_name |= c->args[0].series[groups.by.members[m]].drop_name;
        group_quantiles(c, numbers, &groups, g, &room, out);
        if (apply_any(out, c->t->n))
            ret->series[ret->series_n++] = (struct vec_series){groups.labels[g], drop_name, out};
        code = eval_check(c->ev, 0, e);
    }
    return code;
}
