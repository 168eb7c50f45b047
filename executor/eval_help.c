#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "executor/eval.h"
#include "promql/function.h"

/* A query over a million series must not carry a million notes. */
enum { NOTES_MAX = 1000 };

/* Length of a note without its place " (line:column)". */
static size_t note_key(const char *p, size_t n)
{
    size_t i = n;
    if (i == 0 || p[--i] != ')')
        return n;
    while (i > 0 && ((p[i - 1] >= '0' && p[i - 1] <= '9') || p[i - 1] == ':'))
        i--;
    return i >= 2 && p[i - 1] == '(' && p[i - 2] == ' ' ? i - 2 : n;
}

/* Each text once: of two places the later evaluated one is kept, as Prometheus does. */
__attribute__((format(printf, 5, 0))) static void note_add(struct notes *n, struct str **list, uint32_t *list_n,
                                                           size_t *cap, const char *format, va_list args)
{
    char text[1024];
    int length = vsnprintf(text, sizeof text, format, args);
    if (length < 0)
        return;
    size_t bytes = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    size_t key = note_key(text, bytes);
    uint32_t at = 0;
    while (at < *list_n &&
           !str_eq((struct str){(*list)[at].p, note_key((*list)[at].p, (*list)[at].n)}, (struct str){text, key}))
        at++;
    if (at == NOTES_MAX || (at < *list_n && str_eq((*list)[at], (struct str){text, bytes})))
        return;
    struct str *grown = arena_grow(n->arena, *list, cap, at + 1, sizeof **list);
    char *copy = arena_strndup(n->arena, text, bytes);
    if (!grown || !copy)
        return;
    *list = grown;
    grown[at] = (struct str){copy, bytes};
    *list_n += at == *list_n;
}

void notes_warn(struct notes *n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_add(n, &n->warnings, &n->warnings_n, &n->warnings_cap, format, args);
    va_end(args);
}

void notes_info(struct notes *n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_add(n, &n->infos, &n->infos_n, &n->infos_cap, format, args);
    va_end(args);
}

struct str eval_place(const struct eval *ev, uint32_t byte, char ret[EVAL_PLACE_MAX])
{
    if (!ev->text)
        return (struct str){"", 0};
    uint32_t line = 1, column = 1;
    for (uint32_t i = 0; i < byte && ev->text[i]; i++) {
        if (ev->text[i] == '\n') {
            line++;
            column = 1;
        } else {
            column++;
        }
    }
    int n = snprintf(ret, EVAL_PLACE_MAX, " (%u:%u)", line, column);
    return (struct str){ret, (size_t)n};
}

int eval_check(struct eval *ev, uint64_t more_samples, struct err *e)
{
    ev->samples_n += more_samples;
    if (ev->limits->samples_max && ev->samples_n > ev->limits->samples_max)
        return err_set(e, ERR_LIMIT,
                       "query processing would load too many samples into memory in query execution: more than %llu; "
                       "ask for less time or fewer series",
                       (unsigned long long)ev->limits->samples_max);
    if (ev->canceled && atomic_load_explicit(ev->canceled, memory_order_relaxed))
        return err_set(e, ERR_CANCELED, "query was canceled in expression evaluation");
    /* Reading the clock costs more than a short series does. */
    enum { CALL = 64, BETWEEN = 64 * CALL };
    ev->work_n += CALL + more_samples;
    if (ev->limits->deadline_ns && ev->work_n >= ev->clock_at) {
        ev->clock_at = ev->work_n + BETWEEN;
        if (clock_monotonic_ns() >= ev->limits->deadline_ns)
            return err_set(e, ERR_TIMEOUT, "query timed out in expression evaluation");
    }
    return arena_check(ev->arena, "query", e);
}

void eval_enter(struct eval *ev, const struct expr *around, int by)
{
    enum function_id id = around->kind == EXPR_CALL ? around->function->id : FUNCTION_END;
    bool statistics = id == FUNCTION_histogram_count || id == FUNCTION_histogram_sum || id == FUNCTION_histogram_avg;
    bool whole = around->kind == EXPR_SUBQUERY || id == FUNCTION_histogram_quantile ||
                 id == FUNCTION_histogram_quantiles || id == FUNCTION_histogram_fraction;
    ev->statistics_n += (uint32_t)(statistics * by);
    ev->wholes_n += (uint32_t)(whole * by);
}

const struct source_result *eval_selected(const struct eval *ev, const struct expr *selector)
{
    uint32_t low = 0, high = ev->selectors_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)ev->selectors[middle] < (uintptr_t)selector)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ev->selectors_n && ev->selectors[low] == selector ? &ev->results[low] : NULL;
}

double *value_array(struct eval *ev, uint32_t n)
{
    return ARENA_ARRAY(ev->arena, double, n);
}

double *value_array_absent(struct eval *ev, uint32_t n)
{
    double *v = value_array(ev, n), absent = float_stale();
    for (uint32_t i = 0; v && i < n; i++)
        memcpy(&v[i], &absent, sizeof absent);
    return v;
}

bool series_any_number(const struct vec_series *s, uint32_t n)
{
    bool any = false;
    for (uint32_t i = 0; i < n && !any; i++)
        any = !value_absent(s->v[i]) && !float_is_histogram(s->v[i]);
    return any;
}

double *series_numbers(struct eval *ev, const struct vec_series *s, uint32_t n)
{
    if (!s->h)
        return s->v;
    double *v = value_array(ev, n), absent = float_stale();
    for (uint32_t i = 0; v && i < n; i++) {
        const double *from = float_is_histogram(s->v[i]) ? &absent : &s->v[i];
        memcpy(&v[i], from, sizeof *from);
    }
    return v;
}

bool series_put_histogram(struct eval *ev, struct vec_series *s, uint32_t n, uint32_t i, const struct histogram *h)
{
    const double here = float_histogram();
    if (!s->h && !(s->h = arena_zalloc(ev->arena, n * sizeof(const struct histogram *))))
        return false;
    s->h[i] = h;
    memcpy(&s->v[i], &here, sizeof here);
    return true;
}

void labels_drop_metric(const struct labels *l, struct arena *a, struct labels *ret)
{
    static const struct str names[] = {{LABEL_NAME, 8}, {"__type__", 8}, {"__unit__", 8}};
    struct labels from = *l;
    if (labels_get(&from, names[1]).n || labels_get(&from, names[2]).n)
        labels_drop(&from, names, 3, a, ret);
    else
        labels_drop_name(&from, a, ret);
}

void series_settle_name(struct eval *ev, struct vec_series *s)
{
    if (!s->drop_name)
        return;
    struct labels without;
    labels_drop_metric(&s->labels, ev->arena, &without);
    s->labels = without;
    s->drop_name = false;
}

void absent_labels(struct eval *ev, const struct expr *arg, struct labels *ret)
{
    *ret = (struct labels){0};
    const struct expr *selector = expr_unwrap(arg);
    if (selector->kind != EXPR_SELECTOR || selector->matchers_n == 0)
        return;
    const struct matcher *m = selector->matchers;
    struct label *v = ARENA_ARRAY(ev->arena, struct label, selector->matchers_n);
    uint32_t n = 0;
    if (!v)
        return;
    /* Matchers are sorted by name: a name that is matched more than once says nothing certain. */
    for (uint32_t i = 0; i < selector->matchers_n; i++) {
        bool alone = (i == 0 || !str_eq(m[i - 1].name, m[i].name)) &&
                     (i + 1 == selector->matchers_n || !str_eq(m[i + 1].name, m[i].name));
        if (alone && m[i].op == MATCH_EQ && m[i].value.n && !str_eq(m[i].name, STR(LABEL_NAME)))
            v[n++] = (struct label){m[i].name, m[i].value};
    }
    *ret = (struct labels){v, n};
}

struct equal_labels {
    const struct vec_series *series;
    const struct labels *labels;
    bool drop_name; /* labels that will lose their name are not those that keep it: (m > 5) or -m is two series */
};

static bool same_labels(const void *ctx, uint32_t i)
{
    const struct equal_labels *c = ctx;
    return c->series[i].drop_name == c->drop_name && labels_eq(&c->series[i].labels, c->labels);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    const struct equal_labels *c = ctx;
    return labels_hash(&c->series[i].labels, map_seed());
}

/* The points of `from` go into `into`, whose array may be another value's too: it gets a new one. */
static int join_points(struct eval *ev, struct vec_series *into, const struct vec_series *from, uint32_t n,
                       struct err *e)
{
    struct vec_series joined = {.labels = into->labels, .drop_name = into->drop_name, .v = value_array(ev, n)};
    if (!joined.v)
        return arena_check(ev->arena, "query", e);
    for (uint32_t i = 0; i < n; i++) {
        if (!value_absent(from->v[i]) && !value_absent(into->v[i]))
            return err_set(e, ERR_EXECUTION, "vector cannot contain metrics with the same labelset");
        joined.v[i] = value_absent(from->v[i]) ? into->v[i] : from->v[i];
    }
    for (uint32_t i = 0; (into->h || from->h) && i < n; i++) {
        const struct histogram *h = vec_histogram(value_absent(from->v[i]) ? into : from, i);
        if (h && !series_put_histogram(ev, &joined, n, i, h))
            return arena_check(ev->arena, "query", e);
    }
    *into = joined;
    return 0;
}

int value_merge_duplicates(struct eval *ev, struct value *v, const struct times *t, struct err *e)
{
    struct map index;
    map_init(&index);
    uint32_t kept = 0;
    int code = 0;
    for (uint32_t i = 0; i < v->series_n && code == 0; i++) {
        struct equal_labels c = {v->series, &v->series[i].labels, v->series[i].drop_name};
        uint64_t hash = labels_hash(c.labels, map_seed());
        int64_t before = map_find(&index, hash, same_labels, &c);
        if (before < 0) {
            v->series[kept] = v->series[i];
            map_add(&index, hash, kept++, hash_of, &c);
        } else {
            code = join_points(ev, &v->series[before], &v->series[i], t->n, e);
        }
        if (code == 0 && (i & 1023) == 1023)
            code = eval_check(ev, 0, e);
    }
    map_done(&index);
    if (code == 0)
        v->series_n = kept;
    return code;
}

static int by_labels(const void *pa, const void *pb)
{
    const struct vec_series *a = pa, *b = pb;
    int order = labels_cmp(&a->labels, &b->labels);
    return order != 0 ? order : (a->drop_name > b->drop_name) - (a->drop_name < b->drop_name);
}

void series_sort(struct vec_series *v, uint32_t n)
{
    if (n > 1)
        qsort(v, n, sizeof *v, by_labels);
}

int value_sort_merge(struct eval *ev, struct value *v, const struct times *t, struct err *e)
{
    uint32_t kept = 0;
    int code = 0;
    series_sort(v->series, v->series_n);
    for (uint32_t i = 0; i < v->series_n && code == 0; i++) {
        if (kept > 0 && labels_eq(&v->series[kept - 1].labels, &v->series[i].labels))
            code = join_points(ev, &v->series[kept - 1], &v->series[i], t->n, e);
        else
            v->series[kept++] = v->series[i];
    }
    if (code == 0)
        v->series_n = kept;
    return code;
}
