#include "executor/group_top.h"

#include <stdlib.h>

static int by_key(const void *pa, const void *pb)
{
    const struct group_name *a = pa, *b = pb;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->series > b->series) - (a->series < b->series);
}

static bool same_name(const struct group_top *x, uint32_t a, uint32_t b)
{
    if (x->input->kind == INPUT_SERIES)
        return a == b;
    return str_eq(labels_get(&x->result->series[a].labels, x->input->label),
                  labels_get(&x->result->series[b].labels, x->input->label));
}

int group_top_init(struct group_top *x, struct eval *ev, const struct pane_site *p, uint32_t steps_n, struct err *e)
{
    *x = (struct group_top){.ev = ev, .input = &p->site.group->input, .result = p->result, .steps_n = steps_n};
    uint32_t n = 0, kept_n = 0;
    x->names = ARENA_ARRAY(ev->arena, struct group_name, p->result->series_n + 1u);
    x->values = arena_zalloc(ev->arena, (p->result->series_n + 1u) * sizeof *x->values);
    x->found = ARENA_ARRAY(ev->arena, uint32_t, p->result->series_n + 1u);
    x->keys = ARENA_ARRAY(ev->arena, uint64_t, p->site.group->top + 1u);
    x->weights = ARENA_ARRAY(ev->arena, double, p->site.group->top + 1u);
    int rc = arena_check(ev->arena, "query", e);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < p->result->series_n; i++) {
        x->names[n].series = i;
        n += view_input_item(x->input, &p->result->series[i].labels, &x->names[n].key);
    }
    if (n > 1)
        qsort(x->names, n, sizeof *x->names, by_key);
    for (uint32_t i = 0; i < n; i++) {
        if (kept_n == 0 || x->names[kept_n - 1].key != x->names[i].key)
            x->names[kept_n++] = x->names[i];
        else if (!same_name(x, x->names[kept_n - 1].series, x->names[i].series))
            return err_set(e, ERR_NOT_COVERED, "two items have one hash");
    }
    x->names_n = kept_n;
    return 0;
}

static int find_name(const struct group_top *x, uint64_t key, uint32_t *ret, struct err *e)
{
    uint32_t low = 0, high = x->names_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (x->names[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    if (low < x->names_n && x->names[low].key == key)
        return 0;
    return err_set(e, ERR_NOT_COVERED, "one of the heaviest items is that of no series that is still known");
}

int group_top_take(struct group_top *x, uint32_t step, uint32_t n, struct err *e)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t name;
        int rc = find_name(x, x->keys[i], &name, e);
        if (rc != 0)
            return rc;
        if (!x->values[name]) {
            x->found[x->found_n++] = name;
            x->values[name] = value_array_absent(x->ev, x->steps_n);
        }
        if (!x->values[name])
            return arena_check(x->ev->arena, "query", e);
        x->values[name][step] = x->weights[i];
    }
    return 0;
}

int group_top_give(struct group_top *x, const struct labels *by, struct value *ret, size_t *series_cap, struct err *e)
{
    uint32_t first = ret->series_n;
    ret->series = arena_grow(x->ev->arena, ret->series, series_cap, first + x->found_n + 1u, sizeof *ret->series);
    int rc = arena_check(x->ev->arena, "query", e);
    for (uint32_t i = 0; i < x->found_n && rc == 0; i++) {
        uint32_t name = x->found[i];
        const struct labels *labels = &x->result->series[x->names[name].series].labels;
        struct vec_series *s = &ret->series[ret->series_n++];
        *s = (struct vec_series){*labels, x->input->kind == INPUT_SERIES, x->values[name]};
        if (x->input->kind == INPUT_LABEL)
            labels_with(by, x->input->label, labels_get(labels, x->input->label), x->ev->arena, &s->labels);
        x->values[name] = NULL;
    }
    /* topk's own order at an instant is that of the weights. */
    if (x->input->kind == INPUT_LABEL)
        series_sort(ret->series + first, x->found_n);
    x->found_n = 0;
    return rc != 0 ? rc : arena_check(x->ev->arena, "query", e);
}
