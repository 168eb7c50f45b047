/* The readers of planner/document.h: keys of mappings, and scalars as values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/float_text.h"
#include "planner/document.h"

static const char *kind_text(const struct node *n)
{
    static const char *const names[] = {"", "a single value", "a list", "a mapping"};
    return names[n->kind];
}

bool node_is_mapping(struct document *d, const struct node *n, const char *what)
{
    if (n->kind == NODE_MAPPING)
        return document_visit(d);
    document_problem(d, n, "%s must be a mapping (key: value), not %s", what, kind_text(n));
    return false;
}

bool node_is_list(struct document *d, const struct node *n, const char *what)
{
    if (n->kind == NODE_LIST)
        return document_visit(d);
    document_problem(d, n, "%s must be a list, not %s", what, kind_text(n));
    return false;
}

static int by_key_then_place(const void *pa, const void *pb)
{
    const struct node *a = *(const struct node *const *)pa, *b = *(const struct node *const *)pb;
    int order = str_cmp(a->text, b->text);
    if (order != 0)
        return order;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

static int by_place(const void *pa, const void *pb)
{
    const struct node *a = *(const struct node *const *)pa, *b = *(const struct node *const *)pb;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

void node_check_unique(struct document *d, const struct node *n, const char *what)
{
    const struct node **keys = ARENA_ARRAY(d->arena, const struct node *, n->n);
    if (!keys)
        return;
    uint32_t keys_n = 0;
    for (const struct node_item *item = n->first; item; item = item->next) {
        if (item->key->kind == NODE_SCALAR)
            keys[keys_n++] = item->key;
        else
            document_problem(d, item->key, "a key of %s must be a single value, not %s", what, kind_text(item->key));
    }
    if (keys_n > 1)
        qsort(keys, keys_n, sizeof *keys, by_key_then_place);
    uint32_t twice_n = 0;
    for (uint32_t i = 1; i < keys_n; i++) {
        if (str_eq(keys[i]->text, keys[i - 1]->text))
            keys[twice_n++] = keys[i];
    }
    if (twice_n > 1)
        qsort(keys, twice_n, sizeof *keys, by_place);
    for (uint32_t i = 0; i < twice_n; i++)
        document_problem(d, keys[i], "key \"" STR_FMT "\" is twice in %s", STR_ARG(keys[i]->text), what);
}

void node_check_keys(struct document *d, const struct node *n, const char *what, const char *const *known,
                     size_t known_n)
{
    for (const struct node_item *item = n->first; item; item = item->next) {
        if (item->key->kind != NODE_SCALAR)
            continue;
        size_t i = 0;
        while (i < known_n && !str_eq(item->key->text, str_of(known[i])))
            i++;
        if (i < known_n)
            continue;
        char list[400];
        size_t used = 0;
        for (size_t k = 0; k < known_n && used < sizeof list; k++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", known[k]);
        document_problem(d, item->key, "unknown key \"" STR_FMT "\" in %s; known: %s", STR_ARG(item->key->text), what,
                         list);
    }
    node_check_unique(d, n, what);
}

const struct node *node_get(const struct node *n, const char *key)
{
    for (const struct node_item *item = n->first; item; item = item->next) {
        if (item->key->kind == NODE_SCALAR && str_eq(item->key->text, str_of(key)))
            return item->value;
    }
    return NULL;
}

bool node_read_text(struct document *d, const struct node *n, const char *what, struct str *ret)
{
    if (!document_visit(d))
        return false;
    if (n->kind != NODE_SCALAR) {
        document_problem(d, n, "%s must be a single value, not %s", what, kind_text(n));
        return false;
    }
    if (n->text.n == 0) {
        document_problem(d, n, "%s is empty", what);
        return false;
    }
    *ret = n->text;
    return true;
}

bool node_read_duration(struct document *d, const struct node *n, const char *what, int64_t *ret_ms)
{
    struct str text;
    struct err e;
    int64_t ms;
    if (!node_read_text(d, n, what, &text))
        return false;
    if (duration_parse(text, &ms, &e) != 0) {
        document_problem(d, n, "%s: %s", what, e.message);
        return false;
    }
    *ret_ms = ms;
    return true;
}

bool node_read_number(struct document *d, const struct node *n, const char *what, double *ret)
{
    struct str text;
    double v;
    if (!node_read_text(d, n, what, &text))
        return false;
    if (!float_parse(text, &v) || !isfinite(v)) {
        document_problem(d, n, "%s must be a finite number, not \"" STR_FMT "\"", what, STR_ARG(text));
        return false;
    }
    *ret = v;
    return true;
}

bool node_read_count(struct document *d, const struct node *n, const char *what, uint64_t *ret)
{
    struct str text;
    double v;
    if (!node_read_text(d, n, what, &text))
        return false;
    if (!float_parse(text, &v) || !(v >= 1 && v <= 1e12) || v != floor(v)) {
        document_problem(d, n, "%s must be a whole number from 1 to 1e12, not \"" STR_FMT "\"", what, STR_ARG(text));
        return false;
    }
    *ret = (uint64_t)v;
    return true;
}

bool node_read_bool(struct document *d, const struct node *n, const char *what, bool *ret)
{
    struct str text;
    if (!node_read_text(d, n, what, &text))
        return false;
    bool yes = str_eq(text, STR("true"));
    if (!yes && !str_eq(text, STR("false"))) {
        document_problem(d, n, "%s must be true or false, not \"" STR_FMT "\"", what, STR_ARG(text));
        return false;
    }
    *ret = yes;
    return true;
}

bool node_read_size(struct document *d, const struct node *n, const char *what, uint64_t *ret_bytes)
{
    struct str text;
    struct err e;
    uint64_t bytes;
    if (!node_read_text(d, n, what, &text))
        return false;
    if (size_parse(text, &bytes, &e) != 0) {
        document_problem(d, n, "%s: %s", what, e.message);
        return false;
    }
    *ret_bytes = bytes;
    return true;
}
