/* Label names and values, of everything or of the series that matchers select; sorted bytewise, each once. */
#include <stdlib.h>

#include "base/alloc.h"
#include "store/catalog_internal.h"

int catalog_label_names(const struct catalog *c, struct arena *a, struct str **ret, uint32_t *ret_n, struct err *e)
{
    struct str *names = ARENA_ARRAY(a, struct str, c->names_n);
    if (!names)
        return arena_check(a, "listing label names", e);
    for (size_t i = 0; i < c->names_n; i++)
        names[i] = symbol_str(c->names[i].text);
    qsort(names, c->names_n, sizeof(*names), str_order);
    *ret = names;
    *ret_n = (uint32_t)c->names_n;
    return 0;
}

int catalog_label_values(const struct catalog *c, struct str name, struct arena *a, struct str **ret, uint32_t *ret_n,
                         struct err *e)
{
    const struct catalog_name *found = catalog_name_of(c, name);
    size_t n = found ? found->pairs_n : 0;
    struct str *values = ARENA_ARRAY(a, struct str, n);
    if (!values)
        return arena_check(a, "listing label values", e);
    for (size_t i = 0; i < n; i++)
        values[i] = symbol_str(c->pairs[found->pairs[i]].value);
    qsort(values, n, sizeof(*values), str_order);
    *ret = values;
    *ret_n = (uint32_t)n;
    return 0;
}

/* Symbols met, each once. */
struct symbol_set {
    uint8_t *seen; /* one bit per symbol */
    uint32_t n;
};

static void symbol_mark(struct symbol_set *set, const struct symbol *s)
{
    uint8_t bit = (uint8_t)(1 << (s->number % 8));
    if (!(set->seen[s->number / 8] & bit)) {
        set->seen[s->number / 8] |= bit;
        set->n++;
    }
}

static int symbols_list(const struct catalog *c, const struct symbol_set *set, struct arena *a, struct str **ret,
                        uint32_t *ret_n, struct err *e)
{
    struct str *list = ARENA_ARRAY(a, struct str, set->n);
    if (!list)
        return arena_check(a, "listing labels", e);
    uint32_t n = 0;
    for (size_t i = 0; i < c->symbols_n; i++)
        if (set->seen[i / 8] >> (i % 8) & 1)
            list[n++] = symbol_str(c->symbols[i]);
    qsort(list, n, sizeof(*list), str_order);
    *ret = list;
    *ret_n = n;
    return 0;
}

int catalog_select_names(const struct catalog *c, const struct matcher *m, size_t n, struct arena *a, struct str **ret,
                         uint32_t *ret_n, struct err *e)
{
    uint32_t *ids, ids_n;
    int code = catalog_select(c, m, n, a, &ids, &ids_n, e);
    if (code)
        return code;
    struct symbol_set set = {mem_zalloc(c->symbols_n / 8 + 1), 0};
    for (uint32_t i = 0; i < ids_n; i++) {
        const struct series *s = catalog_series(c, ids[i]);
        const uint32_t *run = catalog_run(c, s);
        for (uint32_t k = 0; k < s->labels_n; k++)
            symbol_mark(&set, c->pairs[run[k]].name);
    }
    code = symbols_list(c, &set, a, ret, ret_n, e);
    mem_free(set.seen);
    return code;
}

int catalog_select_values(const struct catalog *c, struct str name, const struct matcher *m, size_t n, struct arena *a,
                          struct str **ret, uint32_t *ret_n, struct err *e)
{
    uint32_t *ids, ids_n;
    int code = catalog_select(c, m, n, a, &ids, &ids_n, e);
    if (code)
        return code;
    const struct symbol *text = catalog_symbol(c, name);
    struct symbol_set set = {mem_zalloc(c->symbols_n / 8 + 1), 0};
    for (uint32_t i = 0; i < ids_n && text; i++) {
        const struct symbol *value = catalog_value_of(c, ids[i], text);
        if (value)
            symbol_mark(&set, value);
    }
    code = symbols_list(c, &set, a, ret, ret_n, e);
    mem_free(set.seen);
    return code;
}
