/* The registry of metrics: a list that only grows, pushed without a lock. */
#include "base/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static struct stat *_Atomic registry;

void stat_register(struct stat *s)
{
    if (atomic_load_explicit(&s->registered, memory_order_relaxed) ||
        atomic_exchange_explicit(&s->registered, true, memory_order_relaxed))
        return;
    s->next = atomic_load_explicit(&registry, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&registry, &s->next, s, memory_order_release, memory_order_relaxed))
        continue;
}

void stat_add(struct stat *s, int64_t n)
{
    stat_register(s);
    atomic_fetch_add_explicit(&s->value, n, memory_order_relaxed);
}

void stat_set(struct stat *s, int64_t v)
{
    stat_register(s);
    atomic_store_explicit(&s->value, v, memory_order_relaxed);
}

int64_t stat_get(const struct stat *s)
{
    return atomic_load_explicit(&s->value, memory_order_relaxed);
}

static int stat_order(const void *a, const void *b)
{
    const struct stat *x = *(const struct stat *const *)a, *y = *(const struct stat *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->labels, y->labels);
}

static void help_print(const char *help, struct strbuf *out)
{
    for (; *help; help++) {
        if (*help == '\\')
            strbuf_add_z(out, "\\\\");
        else if (*help == '\n')
            strbuf_add_z(out, "\\n");
        else
            strbuf_add_char(out, *help);
    }
}

static void stat_print(const struct stat *s, bool first_of_name, struct strbuf *out)
{
    if (first_of_name) {
        strbuf_printf(out, "# HELP %s ", s->name);
        help_print(s->help, out);
        strbuf_printf(out, "\n# TYPE %s %s\n", s->name, s->kind == STAT_KIND_COUNTER ? "counter" : "gauge");
    }
    strbuf_add_z(out, s->name);
    if (s->labels[0])
        strbuf_printf(out, "{%s}", s->labels);
    strbuf_add_char(out, ' ');
    strbuf_add_i64(out, stat_get(s));
    strbuf_add_char(out, '\n');
}

void stats_print(struct strbuf *out)
{
    struct stat *first = atomic_load_explicit(&registry, memory_order_acquire);
    const struct stat **all = NULL;
    size_t n = 0, cap = 0;
    for (const struct stat *s = first; s; s = s->next) {
        all = mem_grow(all, &cap, n + 1, sizeof(struct stat *));
        all[n++] = s;
    }
    if (n)
        qsort(all, n, sizeof(struct stat *), stat_order);
    for (size_t i = 0; i < n; i++)
        stat_print(all[i], i == 0 || strcmp(all[i - 1]->name, all[i]->name) != 0, out);
    mem_free(all);
}

int64_t stats_value(const char *name, const char *labels)
{
    for (const struct stat *s = atomic_load_explicit(&registry, memory_order_acquire); s; s = s->next)
        if (strcmp(s->name, name) == 0 && strcmp(s->labels, labels) == 0)
            return stat_get(s);
    return -1;
}
