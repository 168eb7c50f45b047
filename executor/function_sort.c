/*
 * sort(), sort_desc(), sort_by_label() and sort_by_label_desc(). Order means something in instant queries only; over a
 * range the argument passes through. Series that compare equal keep their order.
 */
#include <math.h>
#include <stdlib.h>

#include "executor/apply.h"

struct sort_item {
    struct vec_series series;
    uint32_t place;
    bool down;
    const struct apply *call; /* sort_by_label: whose arguments name the labels */
};

static int by_place(const struct sort_item *a, const struct sort_item *b)
{
    return (a->place > b->place) - (a->place < b->place);
}

/* NaN last, whichever way. */
static int by_value(const void *pa, const void *pb)
{
    const struct sort_item *a = pa, *b = pb;
    double x = a->series.v[0], y = b->series.v[0];
    if (isnan(x) || isnan(y))
        return isnan(x) != isnan(y) ? (isnan(x) ? 1 : -1) : by_place(a, b);
    if (x == y)
        return by_place(a, b);
    return (x < y) == a->down ? 1 : -1;
}

/* The number at s[i]: its first place and its end. Zeros before it do not count; as in Prometheus they give way to
 * whatever follows them, even when that is no digit. */
static size_t number_end(struct str s, size_t i, size_t *ret_first)
{
    while (i + 1 < s.n && s.p[i] == '0')
        i++;
    *ret_first = i++;
    while (i < s.n && char_is_digit(s.p[i]))
        i++;
    return i;
}

/* Natural order: runs of digits compare as numbers, all else byte by byte. Leading zeros do not count, so two different
 * texts may be equal. */
static int natural_cmp(struct str a, struct str b)
{
    size_t i = 0, k = 0;
    while (i < a.n && k < b.n) {
        if (!char_is_digit(a.p[i]) || !char_is_digit(b.p[k])) {
            if (a.p[i] != b.p[k])
                return (uint8_t)a.p[i] < (uint8_t)b.p[k] ? -1 : 1;
            i++;
            k++;
            continue;
        }
        size_t a_first, b_first, a_end = number_end(a, i, &a_first), b_end = number_end(b, k, &b_first);
        if (a_end - a_first != b_end - b_first)
            return a_end - a_first < b_end - b_first ? -1 : 1;
        int order = memcmp(a.p + a_first, b.p + b_first, a_end - a_first);
        if (order != 0)
            return order < 0 ? -1 : 1;
        i = a_end;
        k = b_end;
    }
    return (i < a.n) - (k < b.n);
}

static int by_label(const void *pa, const void *pb)
{
    const struct sort_item *a = pa, *b = pb;
    const struct apply *c = a->call;
    int order = 0;
    for (uint32_t i = 1; i < c->expr->args_n && order == 0; i++)
        order = natural_cmp(labels_get(&a->series.labels, c->args[i].string),
                            labels_get(&b->series.labels, c->args[i].string));
    if (order == 0)
        order = labels_cmp(&a->series.labels, &b->series.labels);
    return order == 0 ? by_place(a, b) : a->down ? -order : order;
}

/* By value only numbers are sorted: the argument without its histograms. */
static int drop_histograms(const struct apply *c, struct value *ret, struct err *e)
{
    const struct value *vector = &c->args[0];
    int code = apply_make_vector(c, vector->series_n, ret, e);
    for (uint32_t i = 0; i < vector->series_n && code == 0; i++) {
        const struct vec_series *s = &vector->series[i];
        if (s->h && !series_any_number(s, c->t->n))
            continue;
        double *v = series_numbers(c->ev, s, c->t->n);
        if (!v)
            return apply_full(c, e);
        ret->series[ret->series_n++] = (struct vec_series){s->labels, s->drop_name, v};
    }
    ret->ordered = vector->ordered;
    return code;
}

static int sort_with(const struct apply *c, int (*compare)(const void *, const void *), bool down, struct value *ret,
                     struct err *e)
{
    const struct value *vector = &c->args[0];
    if (c->t->n != 1) {
        struct note_text text;
        struct str place = eval_place(c->ev, c->expr->start, text.place);
        notes_warn(c->ev->notes,
                   "PromQL warning: sort is ineffective for range queries since results are always ordered by "
                   "labels" STR_FMT,
                   STR_ARG(place));
        if (compare == by_value)
            return drop_histograms(c, ret, e);
        *ret = *vector;
        return 0;
    }
    struct sort_item *items = ARENA_ARRAY(c->ev->arena, struct sort_item, vector->series_n);
    int code = apply_make_vector(c, vector->series_n, ret, e);
    if (code != 0 || !items)
        return apply_full(c, e);
    uint32_t n = 0;
    for (uint32_t i = 0; i < vector->series_n; i++) {
        double v = vector->series[i].v[0];
        if (!value_absent(v) && !(compare == by_value && float_is_histogram(v)))
            items[n++] = (struct sort_item){vector->series[i], i, down, c};
    }
    qsort(items, n, sizeof *items, compare);
    for (uint32_t i = 0; i < n; i++)
        ret->series[i] = items[i].series;
    ret->series_n = n;
    ret->ordered = true;
    return 0;
}

int sort_apply(const struct apply *c, struct value *ret, struct err *e)
{
    return sort_with(c, by_value, c->expr->function->id == FUNCTION_sort_desc, ret, e);
}

int sort_by_label_apply(const struct apply *c, struct value *ret, struct err *e)
{
    return sort_with(c, by_label, c->expr->function->id == FUNCTION_sort_by_label_desc, ret, e);
}
