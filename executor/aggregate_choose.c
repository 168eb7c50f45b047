/*
 * topk, bottomk, limitk, limit_ratio: of each group and step some of its samples, under the labels of their series.
 *
 * topk and bottomk keep one bounded heap per step while the group's series pass by, so that arrays are read from end to
 * end. A heap has the sample on top that the next better one replaces: the smallest of a topk. NaN counts as the worst
 * of all, whichever way. Which of equal samples stay is decided by the heap, as in Prometheus.
 */
#include <math.h>
#include <stdlib.h>

#include "executor/aggregate.h"
#include "executor/label_hash.h"

struct pick {
    double v;
    uint32_t series;
    uint32_t place; /* in the heap, when it is laid out in order */
    bool largest;   /* topk */
};

struct choice {
    const struct apply *c;
    const struct vec_series *series;
    struct vec_series *out; /* [series]: v NULL until chosen */
    uint32_t *k;            /* [steps], as asked; 0: nothing */
    struct pick *heaps;
    uint32_t *sizes; /* [steps] */
    uint32_t heap_n; /* room of one heap */
};

static bool worse(const struct pick *a, const struct pick *b)
{
    return isnan(a->v) || (a->largest ? a->v < b->v : a->v > b->v);
}

static void swap_picks(struct pick *a, struct pick *b)
{
    struct pick t = *a;
    *a = *b;
    *b = t;
}

static void sift_up(struct pick *h, uint32_t i)
{
    while (i > 0 && worse(&h[i], &h[(i - 1) / 2])) {
        swap_picks(&h[i], &h[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct pick *h, uint32_t n)
{
    for (uint32_t i = 0; 2 * (uint64_t)i + 1 < n;) {
        uint32_t child = 2 * i + 1;
        if (child + 1 < n && worse(&h[child + 1], &h[child]))
            child++;
        if (!worse(&h[child], &h[i]))
            return;
        swap_picks(&h[child], &h[i]);
        i = child;
    }
}

static int keep(struct choice *x, uint32_t series, uint32_t step, struct err *e)
{
    const struct vec_series *from = &x->series[series];
    struct vec_series *out = &x->out[series];
    if (!out->v) {
        *out = (struct vec_series){from->labels, from->drop_name, value_array_absent(x->c->ev, x->c->t->n), from->h};
        if (!out->v)
            return apply_full(x->c, e);
    }
    memcpy(&out->v[step], &from->v[step], sizeof *out->v);
    return 0;
}

static int heaps_add(struct choice *x, uint32_t s, bool largest, struct err *e)
{
    const double *v = x->series[s].h ? aggregate_numbers(x->c, &x->series[s]) : x->series[s].v;
    if (!v)
        return apply_full(x->c, e);
    for (uint32_t i = 0; i < x->c->t->n; i++) {
        if (value_absent(v[i]) || x->k[i] == 0)
            continue;
        struct pick *h = x->heaps + (size_t)i * x->heap_n, new = {v[i], s, 0, largest};
        if (x->sizes[i] < x->k[i]) {
            h[x->sizes[i]] = new;
            sift_up(h, x->sizes[i]++);
        } else if ((largest ? h[0].v < v[i] : h[0].v > v[i]) || (isnan(h[0].v) && !isnan(v[i]))) {
            h[0] = new;
            sift_down(h, x->k[i]);
        }
    }
    return 0;
}

static int best_first(const void *pa, const void *pb)
{
    const struct pick *a = pa, *b = pb;
    if (isnan(a->v) != isnan(b->v))
        return isnan(a->v) ? 1 : -1;
    if (a->v == b->v || isnan(a->v))
        return (a->place > b->place) - (a->place < b->place);
    return (a->v > b->v) == a->largest ? -1 : 1;
}

/* Series into the result in the order of the only step's heap: an instant query shows the best first. */
static void give_ordered(struct choice *x, struct value *ret)
{
    struct pick *h = x->heaps;
    for (uint32_t i = 0; i < x->sizes[0]; i++)
        h[i].place = i;
    qsort(h, x->sizes[0], sizeof *h, best_first);
    for (uint32_t i = 0; i < x->sizes[0]; i++)
        ret->series[ret->series_n++] = x->out[h[i].series];
}

static int choose_best(struct choice *x, const struct groups *groups, uint32_t g, struct value *ret, struct err *e)
{
    uint32_t n = x->c->t->n;
    bool largest = x->c->expr->aggregate == AGGREGATE_TOPK;
    int code = 0;
    memset(x->sizes, 0, n * sizeof *x->sizes);
    for (uint32_t m = groups->by.starts[g]; m < groups->by.starts[g + 1] && code == 0; m++) {
        code = heaps_add(x, groups->by.members[m], largest, e);
        if (code == 0)
            code = eval_check(x->c->ev, 0, e);
    }
    for (uint32_t i = 0; i < n && code == 0; i++) {
        for (uint32_t p = 0; p < x->sizes[i] && code == 0; p++)
            code = keep(x, x->heaps[(size_t)i * x->heap_n + p].series, i, e);
    }
    if (code == 0 && n == 1)
        give_ordered(x, ret);
    return code;
}

/* limitk: the first k that have a sample. */
static int choose_first(struct choice *x, const struct groups *groups, uint32_t g, struct err *e)
{
    int code = 0;
    memset(x->sizes, 0, x->c->t->n * sizeof *x->sizes);
    for (uint32_t m = groups->by.starts[g]; m < groups->by.starts[g + 1] && code == 0; m++) {
        uint32_t s = groups->by.members[m];
        for (uint32_t i = 0; i < x->c->t->n && code == 0; i++) {
            if (!value_absent(x->series[s].v[i]) && x->sizes[i] < x->k[i]) {
                x->sizes[i]++;
                code = keep(x, s, i, e);
            }
        }
    }
    return code;
}

/* limit_ratio: a series is in by the hash of its labels, so that the choice is the same at every step, and the ratios r
 * and r - 1 share the series between them. A name that is to be dropped has no part in it. */
static int choose_ratio(struct choice *x, struct err *e)
{
    int code = 0;
    const double *ratios = x->c->args[1].v;
    struct strbuf scratch = {0};
    for (uint32_t s = 0; s < x->c->args[0].series_n && code == 0; s++) {
        struct labels labels = x->series[s].labels;
        if (x->series[s].drop_name)
            labels_drop_metric(&x->series[s].labels, x->c->ev->arena, &labels);
        double place = (double)labels_hash_prometheus(&labels, &scratch) / 0x1p64;
        for (uint32_t i = 0; i < x->c->t->n && code == 0; i++) {
            double r = fmin(1, fmax(-1, ratios[i]));
            bool in = r >= 0 ? place < r : place >= 1 + r;
            if (in && !value_absent(x->series[s].v[i]))
                code = keep(x, s, i, e);
        }
        if (code == 0)
            code = eval_check(x->c->ev, 0, e);
    }
    strbuf_done(&scratch);
    return code;
}

static void note_ratio(const struct apply *c, double ratio, int capped)
{
    struct note_text text;
    float_format_e(ratio, text.number);
    struct str place = eval_place(c->ev, c->expr->args[1]->start, text.place);
    notes_warn(c->ev->notes, "PromQL warning: ratio value should be between -1 and 1, got %s, capping to %d" STR_FMT,
               text.number, capped, STR_ARG(place));
}

/* Refuses parameters as Prometheus does. *ret_nothing: no step asks for anything. */
static int check_param(const struct apply *c, bool *ret_nothing, struct err *e)
{
    char number[FLOAT_TEXT_MAX];
    struct param_range p = param_range_of(c, c->args[1].v);
    if (c->expr->aggregate == AGGREGATE_LIMIT_RATIO) {
        *ret_nothing = p.min == 0 && p.max == 0 && !p.any_nan;
        if (p.any_nan)
            return err_set(e, ERR_EXECUTION, "Ratio value is NaN");
        if (p.min < -1)
            note_ratio(c, p.min, -1);
        if (p.max > 1)
            note_ratio(c, p.max, 1);
        return 0;
    }
    *ret_nothing = p.max < 1 && !p.any_nan;
    if (*ret_nothing)
        return 0;
    if (p.any_nan)
        return err_set(e, ERR_EXECUTION, "Parameter value is NaN");
    float_format_e(p.min <= -0x1p63 ? p.min : p.max, number);
    if (p.min <= -0x1p63)
        return err_set(e, ERR_EXECUTION, "Scalar value %s underflows int64", number);
    if (p.max >= 0x1p63)
        return err_set(e, ERR_EXECUTION, "Scalar value %s overflows int64", number);
    return 0;
}

/* Room for the steps' heaps: no heap needs more than the largest group has. */
static int make_room(struct choice *x, const struct groups *groups, struct err *e)
{
    struct arena *arena = x->c->ev->arena;
    uint32_t n = x->c->t->n, largest_group = 0, series_n = x->c->args[0].series_n;
    for (uint32_t g = 0; g < groups->by.n; g++) {
        uint32_t members = groups->by.starts[g + 1] - groups->by.starts[g];
        largest_group = members > largest_group ? members : largest_group;
    }
    x->out = ARENA_ARRAY(arena, struct vec_series, series_n);
    x->k = ARENA_ARRAY(arena, uint32_t, n);
    x->sizes = ARENA_ARRAY(arena, uint32_t, n);
    if (arena_failed(arena))
        return apply_full(x->c, e);
    if (series_n)
        memset(x->out, 0, series_n * sizeof *x->out);
    for (uint32_t i = 0; i < n; i++) {
        double k = x->c->args[1].v[i];
        x->k[i] = k >= largest_group ? largest_group : k >= 1 ? (uint32_t)k : 0;
        x->heap_n = x->k[i] > x->heap_n ? x->k[i] : x->heap_n;
    }
    enum aggregate_op op = x->c->expr->aggregate;
    if (op == AGGREGATE_TOPK || op == AGGREGATE_BOTTOMK)
        x->heaps = ARENA_ARRAY(arena, struct pick, (size_t)x->heap_n * n);
    return apply_full(x->c, e);
}

int aggregate_choose_apply(const struct apply *c, struct value *ret, struct err *e)
{
    enum aggregate_op op = c->expr->aggregate;
    const struct value *vector = &c->args[0];
    struct choice x = {.c = c, .series = vector->series};
    struct groups groups;
    bool nothing, best = op == AGGREGATE_TOPK || op == AGGREGATE_BOTTOMK;
    int code = apply_make_vector(c, vector->series_n, ret, e);
    if (code == 0 && vector->series_n > 0)
        code = check_param(c, &nothing, e);
    if (code != 0 || vector->series_n == 0 || nothing)
        return code;
    code = groups_make(c, &groups, e);
    if (code == 0)
        code = make_room(&x, &groups, e);
    if (code == 0 && op == AGGREGATE_LIMIT_RATIO)
        code = choose_ratio(&x, e);
    else
        for (uint32_t g = 0; g < groups.by.n && code == 0; g++)
            code = best ? choose_best(&x, &groups, g, ret, e) : choose_first(&x, &groups, g, e);
    if (best && c->t->n == 1) {
        ret->ordered = true;
        return code;
    }
    for (uint32_t s = 0; code == 0 && s < vector->series_n; s++) {
        if (x.out[s].v)
            ret->series[ret->series_n++] = x.out[s];
    }
    return code;
}
