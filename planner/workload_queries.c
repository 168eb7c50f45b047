/* The `queries` of a workload file: each one's text, cadence, accuracy target and latency bound. */
#include <stdlib.h>

#include "base/duration.h"
#include "base/float_text.h"
#include "planner/workload_internal.h"

static int by_time(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

static void read_times(struct document *d, const struct node *n, struct cadence *c)
{
    if (!node_is_list(d, n, "at"))
        return;
    if (n->n == 0 || n->n > WORKLOAD_TIMES_MAX) {
        document_problem(d, n, "at must list from 1 to %d times", WORKLOAD_TIMES_MAX);
        return;
    }
    int64_t *times_ms = ARENA_ARRAY(d->arena, int64_t, n->n);
    uint32_t times_n = 0;
    for (const struct node_item *item = n->first; times_ms && item; item = item->next) {
        struct str text;
        struct err e;
        if (!node_read_text(d, item->value, "a time of at", &text))
            continue;
        if (time_parse(text, &times_ms[times_n], &e) != 0)
            document_problem(d, item->value, "at: %s", e.message);
        else if (times_ms[times_n] > PLAN_MS_MAX || times_ms[times_n] < -PLAN_MS_MAX)
            document_problem(d, item->value, "at: " STR_FMT " is too far from 1970", STR_ARG(text));
        else
            times_n++;
    }
    if (times_n == 0)
        return;
    qsort(times_ms, times_n, sizeof *times_ms, by_time);
    uint32_t distinct_n = 1;
    for (uint32_t i = 1; i < times_n; i++) {
        if (times_ms[i] != times_ms[distinct_n - 1])
            times_ms[distinct_n++] = times_ms[i];
    }
    c->at_ms = times_ms;
    c->at_n = distinct_n;
}

static void read_rate(struct document *d, const struct node *n, struct cadence *c)
{
    static const struct {
        const char *suffix;
        double per_s;
    } units[] = {{"/s", 1}, {"/m", 1.0 / 60}, {"/h", 1.0 / 3600}, {"/d", 1.0 / 86400}};
    struct str text;
    if (!node_read_text(d, n, "rate", &text))
        return;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double v;
        if (text.n <= 2 || memcmp(text.p + text.n - 2, units[i].suffix, 2) != 0)
            continue;
        if (float_parse((struct str){text.p, text.n - 2}, &v) && v > 0 && v <= 1e9) {
            c->rate_per_s = v * units[i].per_s;
            return;
        }
    }
    document_problem(d, n, "rate must be a number of evaluations per s, m, h or d, such as 0.2/s, not \"" STR_FMT "\"",
                     STR_ARG(text));
}

static void read_range(struct document *d, const struct node *n, struct cadence *c)
{
    static const char *const known[] = {"length", "step"};
    if (!node_is_mapping(d, n, "range"))
        return;
    node_check_keys(d, n, "range", known, 2);
    const struct node *length = node_get(n, "length"), *step = node_get(n, "step");
    if (!length || !step) {
        document_problem(d, n, "range needs both length and step");
        return;
    }
    int64_t length_ms, step_ms;
    bool ok = node_read_duration(d, length, "length", &length_ms);
    ok = node_read_duration(d, step, "step", &step_ms) && ok;
    if (!ok)
        return;
    if (step_ms == 0)
        document_problem(d, step, "step must be longer than 0s");
    else if (length_ms / step_ms >= WORKLOAD_RANGE_STEPS_MAX)
        document_problem(d, n, "range has more than %d steps; use a longer step", WORKLOAD_RANGE_STEPS_MAX);
    c->length_ms = length_ms;
    c->step_ms = step_ms;
}

void workload_read_cadence(struct document *d, const struct node *n, struct cadence *c)
{
    static const struct {
        const char *key;
        enum cadence_kind kind;
    } kinds[] = {{"every", CADENCE_EVERY}, {"at", CADENCE_AT}, {"rate", CADENCE_RATE}, {"once", CADENCE_ONCE}};
    uint32_t given_n = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct node *v = node_get(n, kinds[i].key);
        if (!v)
            continue;
        c->kind = kinds[i].kind;
        if (++given_n > 1)
            document_problem(d, v, "a query has exactly one of every, at, rate and once");
        bool yes = true;
        if (c->kind == CADENCE_EVERY && node_read_duration(d, v, "every", &c->every_ms) && c->every_ms == 0)
            document_problem(d, v, "every must be longer than 0s");
        else if (c->kind == CADENCE_AT)
            read_times(d, v, c);
        else if (c->kind == CADENCE_RATE)
            read_rate(d, v, c);
        else if (c->kind == CADENCE_ONCE && node_read_bool(d, v, "once", &yes) && !yes)
            document_problem(d, v, "once can only be true; leave it out otherwise");
    }
    if (given_n == 0)
        document_problem(d, n, "a query needs one of every, at, rate and once");
    const struct node *v = node_get(n, "phase");
    if (v && !node_get(n, "every"))
        document_problem(d, v, "phase belongs to every");
    else if (v && node_read_duration(d, v, "phase", &c->phase_ms) && c->every_ms > 0)
        c->phase_ms = floor_mod(c->phase_ms, c->every_ms);
    if ((v = node_get(n, "range")))
        read_range(d, v, c);
}

void workload_read_accuracy(struct document *d, const struct node *n, struct accuracy *target)
{
    static const struct {
        const char *key;
        enum accuracy_kind kind;
    } kinds[] = {{"rank", ACCURACY_RANK},
                 {"relative", ACCURACY_RELATIVE},
                 {"cardinality", ACCURACY_CARDINALITY},
                 {"frequency", ACCURACY_FREQUENCY},
                 {"error", ACCURACY_ANY}};
    static const char *const known[] = {"rank", "relative", "cardinality", "frequency", "error", "failure"};
    if (n->kind == NODE_SCALAR && str_eq(n->text, STR("none"))) {
        *target = (struct accuracy){ACCURACY_NONE, 0, 0};
        return;
    }
    if (!node_is_mapping(d, n, "accuracy, but for none,"))
        return;
    node_check_keys(d, n, "accuracy", known, sizeof known / sizeof *known);
    uint32_t given_n = 0;
    target->failure = 0.01;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct node *v = node_get(n, kinds[i].key);
        if (!v)
            continue;
        if (++given_n > 1)
            document_problem(d, v, "accuracy has exactly one of rank, relative, cardinality, frequency and error");
        target->kind = kinds[i].kind;
        if (node_read_number(d, v, kinds[i].key, &target->error) && !(target->error > 0 && target->error < 1))
            document_problem(d, v, "%s must be above 0 and below 1; for an exact answer leave accuracy out",
                             kinds[i].key);
    }
    if (given_n == 0)
        document_problem(d, n, "accuracy needs one of rank, relative, cardinality, frequency and error, or is none");
    const struct node *v = node_get(n, "failure");
    if (v && node_read_number(d, v, "failure", &target->failure) && !(target->failure >= 0 && target->failure < 1))
        document_problem(d, v, "failure must be a probability from 0 to below 1");
}

/* Columns in PromQL count bytes, in files characters. */
static uint32_t characters_before(struct str text, uint32_t byte_column)
{
    uint32_t n = 0;
    for (size_t i = 0; i + 1 < byte_column && i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}

static void read_expression(struct document *d, const struct node *n, struct workload_query *q, struct workload *w)
{
    struct err e;
    if (!node_read_text(d, n, "query", &q->text))
        return;
    struct parsed *parsed = &w->parsed[w->queries_n - 1];
    if (promql_parse(q->text, d->arena, parsed, &e) != 0) {
        uint32_t line = n->line, column = n->column;
        if (n->verbatim && e.line == 1)
            column = n->text_column + characters_before(q->text, e.column);
        document_problem_at(d, line, column, "query%s" STR_FMT "%s: %s", q->name.n ? " \"" : "", STR_ARG(q->name),
                            q->name.n ? "\"" : "", e.message);
        return;
    }
    q->expr = parsed->root;
    if (q->expr->type != VALUE_VECTOR && q->expr->type != VALUE_SCALAR)
        document_problem(d, n, "a query must give an instant vector or a scalar, not a %s",
                         value_type_name(q->expr->type));
}

static void read_query(struct document *d, const struct node *n, struct workload *w)
{
    static const char *const known[] = {"name", "query", "every", "at",       "rate",
                                        "once", "phase", "range", "accuracy", "latency"};
    struct workload_query *q = &w->queries[w->queries_n++];
    *q = (struct workload_query){.line = n->line, .column = n->column, .target = {.kind = ACCURACY_EXACT}};
    if (!node_is_mapping(d, n, "a query"))
        return;
    node_check_keys(d, n, "a query", known, sizeof known / sizeof *known);
    const struct node *v = node_get(n, "name");
    if (v)
        node_read_text(d, v, "name", &q->name);
    if ((v = node_get(n, "query")))
        read_expression(d, v, q, w);
    else
        document_problem(d, n, "a query needs `query`, its PromQL text");
    workload_read_cadence(d, n, &q->cadence);
    if ((v = node_get(n, "accuracy")))
        workload_read_accuracy(d, v, &q->target);
    if ((v = node_get(n, "latency")) && node_read_duration(d, v, "latency", &q->latency_ms) && q->latency_ms == 0)
        document_problem(d, v, "latency must be longer than 0s; leave it out for no bound");
}

static int by_name_then_place(const void *pa, const void *pb)
{
    const struct workload_query *a = *(const struct workload_query *const *)pa,
                                *b = *(const struct workload_query *const *)pb;
    int order = str_cmp(a->name, b->name);
    return order ? order : (a > b) - (a < b); /* one array: later in it is later in the file */
}

static void check_names(struct document *d, const struct workload *w)
{
    const struct workload_query **named = ARENA_ARRAY(d->arena, const struct workload_query *, w->queries_n);
    uint32_t named_n = 0;
    for (uint32_t i = 0; named && i < w->queries_n; i++) {
        if (w->queries[i].name.n)
            named[named_n++] = &w->queries[i];
    }
    if (named_n < 2)
        return;
    qsort(named, named_n, sizeof *named, by_name_then_place);
    for (uint32_t i = 1; i < named_n; i++) {
        if (str_eq(named[i]->name, named[i - 1]->name))
            document_problem_at(d, named[i]->line, named[i]->column,
                                "name \"" STR_FMT "\" is taken by the query at line %u; names are unique",
                                STR_ARG(named[i]->name), named[i - 1]->line);
    }
}

void workload_read_queries(struct document *d, const struct node *list, struct workload *w)
{
    if (!node_is_list(d, list, "queries"))
        return;
    if (list->n > WORKLOAD_QUERIES_MAX) {
        document_problem(d, list, "more than %d queries; split the file", WORKLOAD_QUERIES_MAX);
        return;
    }
    w->queries = ARENA_ARRAY(d->arena, struct workload_query, list->n);
    w->parsed = arena_zalloc(d->arena, list->n * sizeof *w->parsed);
    if (!w->queries || !w->parsed)
        return;
    for (const struct node_item *item = list->first; item; item = item->next) {
        if (!document_visit(d))
            return;
        read_query(d, item->value, w);
    }
    check_names(d, w);
}
