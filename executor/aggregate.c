/*
 * sum, avg, count, min, max, group, stddev, stdvar: a group's series are tallied one after the other, whole ranges at
 * once, into arrays with one state per step. The arrays are the group's result itself and a few scratch ones that serve
 * every group.
 */
#include "executor/aggregate.h"

#include <math.h>

#include "executor/raw.h"

struct tally {
    uint32_t n;
    double *value; /* the result; VALUE_ABSENT until the first sample */
    double *carry; /* Kahan's compensation; stddev: the mean */
    double *count;
    uint8_t *incremental; /* avg: value is a running mean, because the sum would overflow */
};

typedef void tally_add(struct tally *a, const double *v);
typedef void tally_end(struct tally *a);

static void sum_add(struct tally *a, const double *v)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (value_absent(v[i]))
            continue;
        if (value_absent(a->value[i])) {
            a->value[i] = v[i];
            a->carry[i] = 0;
        } else {
            kahan_add(v[i], &a->value[i], &a->carry[i]);
        }
    }
}

static void sum_end(struct tally *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!value_absent(a->value[i]))
            a->value[i] += a->carry[i];
    }
}

static void avg_add(struct tally *a, const double *v)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (value_absent(v[i]))
            continue;
        if (value_absent(a->value[i])) {
            a->value[i] = v[i];
            a->carry[i] = 0;
            a->count[i] = 1;
            a->incremental[i] = 0;
            continue;
        }
        double count = ++a->count[i];
        if (!a->incremental[i]) {
            double sum = a->value[i], carry = a->carry[i];
            kahan_add(v[i], &sum, &carry);
            if (!isinf(sum)) {
                a->value[i] = sum;
                a->carry[i] = carry;
                continue;
            }
            a->incremental[i] = 1;
            a->value[i] /= count - 1;
            a->carry[i] /= count - 1;
        }
        double q = (count - 1) / count;
        a->value[i] *= q;
        a->carry[i] *= q;
        kahan_add(v[i] / count, &a->value[i], &a->carry[i]);
    }
}

static void avg_end(struct tally *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (value_absent(a->value[i]))
            continue;
        if (a->incremental[i])
            a->value[i] += a->carry[i];
        else
            a->value[i] = a->value[i] / a->count[i] + a->carry[i] / a->count[i];
    }
}

static void count_add(struct tally *a, const double *v)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!value_absent(v[i]))
            a->value[i] = value_absent(a->value[i]) ? 1 : a->value[i] + 1;
    }
}

static void group_add(struct tally *a, const double *v)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!value_absent(v[i]))
            a->value[i] = 1;
    }
}

/* NaN gives way to anything; "nothing yet" is a NaN too. */
static void min_add(struct tally *a, const double *v)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!value_absent(v[i]) && (a->value[i] > v[i] || isnan(a->value[i])))
            a->value[i] = v[i];
    }
}

static void max_add(struct tally *a, const double *v)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!value_absent(v[i]) && (a->value[i] < v[i] || isnan(a->value[i])))
            a->value[i] = v[i];
    }
}

/* Welford: carry is the mean, value the sum of squared differences from it. */
static void variance_add(struct tally *a, const double *v)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (value_absent(v[i]))
            continue;
        if (value_absent(a->value[i])) {
            a->value[i] = isfinite(v[i]) ? 0 : NAN;
            a->carry[i] = v[i];
            a->count[i] = 1;
            continue;
        }
        double delta = v[i] - a->carry[i];
        a->carry[i] += delta / ++a->count[i];
        a->value[i] += delta * (v[i] - a->carry[i]);
    }
}

static void stdvar_end(struct tally *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!value_absent(a->value[i]))
            a->value[i] /= a->count[i];
    }
}

static void stddev_end(struct tally *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!value_absent(a->value[i]))
            a->value[i] = sqrt(a->value[i] / a->count[i]);
    }
}

static const struct {
    tally_add *add;
    tally_end *end; /* may be NULL */
} tallies[] = {
    [AGGREGATE_SUM] = {sum_add, sum_end},
    [AGGREGATE_AVG] = {avg_add, avg_end},
    [AGGREGATE_COUNT] = {count_add, NULL},
    [AGGREGATE_MIN] = {min_add, NULL},
    [AGGREGATE_MAX] = {max_add, NULL},
    [AGGREGATE_GROUP] = {group_add, NULL},
    [AGGREGATE_STDDEV] = {variance_add, stddev_end},
    [AGGREGATE_STDVAR] = {variance_add, stdvar_end},
};

/* A series that has histograms: they are counted as anything is, summed apart from the numbers, or left out. */
static int add_with_histograms(const struct apply *c, const struct vec_series *s, struct tally *a,
                               struct histogram_tally *histograms, struct err *e)
{
    enum aggregate_op op = c->expr->aggregate;
    bool counted = op == AGGREGATE_COUNT || op == AGGREGATE_GROUP, summed = op == AGGREGATE_SUM || op == AGGREGATE_AVG;
    const double *v = counted ? s->v : summed ? series_numbers(c->ev, s, a->n) : aggregate_numbers(c, s);
    if (!v)
        return apply_full(c, e);
    tallies[op].add(a, v);
    return summed ? histogram_tally_add(histograms, c, s, e) : 0;
}

static int tally_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct arena *arena = c->ev->arena;
    const struct vec_series *series = c->args[0].series;
    uint32_t n = c->t->n;
    struct groups groups;
    int code = groups_make(c, &groups, e);
    if (code == 0)
        code = apply_make_vector(c, groups.by.n, ret, e);
    if (code != 0)
        return code;
    struct histogram_tally histograms = {0};
    struct tally a = {n, NULL, value_array(c->ev, n), value_array(c->ev, n), arena_alloc(arena, n)};
    for (uint32_t g = 0; g < groups.by.n; g++) {
        a.value = value_array_absent(c->ev, n);
        if (arena_failed(arena))
            return apply_full(c, e);
        bool drop_name = false;
        for (uint32_t m = groups.by.starts[g]; m < groups.by.starts[g + 1]; m++) {
            const struct vec_series *s = &series[groups.by.members[m]];
            if (!s->h)
                tallies[c->expr->aggregate].add(&a, s->v);
            else if ((code = add_with_histograms(c, s, &a, &histograms, e)) != 0)
                return code;
            drop_name |= s->drop_name;
            if ((code = eval_check(c->ev, 0, e)) != 0)
                return code;
        }
        if (tallies[c->expr->aggregate].end)
            tallies[c->expr->aggregate].end(&a);
        struct vec_series made = {groups.labels[g], drop_name, a.value};
        if ((code = histogram_tally_end(&histograms, c, &made, e)) != 0)
            return code;
        if (apply_any(a.value, n))
            ret->series[ret->series_n++] = made;
    }
    return 0;
}

int aggregate_apply(const struct apply *c, struct value *ret, struct err *e)
{
    switch (c->expr->aggregate) {
    case AGGREGATE_QUANTILE:
        return aggregate_quantile_apply(c, ret, e);
    case AGGREGATE_TOPK:
    case AGGREGATE_BOTTOMK:
    case AGGREGATE_LIMITK:
    case AGGREGATE_LIMIT_RATIO:
        return aggregate_choose_apply(c, ret, e);
    case AGGREGATE_COUNT_VALUES:
        return aggregate_count_values_apply(c, ret, e);
    default:
        return tally_apply(c, ret, e);
    }
}
