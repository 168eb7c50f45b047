/* The workload file as a whole, and its `data` and `models` halves; `queries` are in workload_queries.c. */
#include "base/alloc.h"
#include "planner/workload_internal.h"

/* Tree, queries and data of the largest file allowed. */
#define WORKLOAD_ARENA_BYTES ((size_t)4 << 30)

static void read_labels(struct document *d, const struct node *n, struct workload_metric *m)
{
    if (!node_is_mapping(d, n, "labels"))
        return;
    node_check_unique(d, n, "labels");
    struct workload_label *labels = ARENA_ARRAY(d->arena, struct workload_label, n->n);
    if (!labels)
        return;
    for (const struct node_item *item = n->first; item; item = item->next) {
        if (item->key->kind != NODE_SCALAR)
            continue;
        struct workload_label *l = &labels[m->labels_n];
        *l = (struct workload_label){.name = item->key->text};
        if (node_read_count(d, item->value, "the number of values of a label", &l->values_n))
            m->labels_n++;
    }
    m->labels = labels;
}

static void read_metric(struct document *d, const struct node *key, const struct node *n, struct workload_metric *m)
{
    static const char *const known[] = {"type", "series", "interval", "labels", "distribution"};
    *m = (struct workload_metric){.name = key->text, .series_n = 1000, .interval_ms = 15000};
    if (!node_is_mapping(d, n, "a metric"))
        return;
    node_check_keys(d, n, "a metric", known, sizeof known / sizeof *known);
    const struct node *v = node_get(n, "type");
    if (v && node_read_text(d, v, "type", &m->type) && !str_eq(m->type, STR("gauge")) &&
        !str_eq(m->type, STR("counter")) && !str_eq(m->type, STR("histogram")))
        document_problem(d, v, "type must be gauge, counter or histogram, not \"" STR_FMT "\"", STR_ARG(m->type));
    if ((v = node_get(n, "series")))
        node_read_count(d, v, "series", &m->series_n);
    if ((v = node_get(n, "interval")) && node_read_duration(d, v, "interval", &m->interval_ms) && m->interval_ms == 0) {
        document_problem(d, v, "interval must be longer than 0s");
        m->interval_ms = 1;
    }
    if ((v = node_get(n, "distribution")))
        node_read_text(d, v, "distribution", &m->distribution);
    if ((v = node_get(n, "labels")))
        read_labels(d, v, m);
}

static void read_metrics(struct document *d, const struct node *n, struct workload *w)
{
    if (!node_is_mapping(d, n, "metrics"))
        return;
    node_check_unique(d, n, "metrics");
    if (n->n > WORKLOAD_METRICS_MAX) {
        document_problem(d, n, "more than %d metrics; split the file", WORKLOAD_METRICS_MAX);
        return;
    }
    w->metrics = ARENA_ARRAY(d->arena, struct workload_metric, n->n);
    if (!w->metrics)
        return;
    for (const struct node_item *item = n->first; item; item = item->next) {
        if (item->key->kind != NODE_SCALAR)
            continue;
        if (!document_visit(d))
            return;
        read_metric(d, item->key, item->value, &w->metrics[w->metrics_n++]);
    }
}

void workload_read_data(struct document *d, const struct node *data, struct workload *w)
{
    static const char *const known[] = {"metrics", "raw_retention"};
    if (!node_is_mapping(d, data, "data"))
        return;
    node_check_keys(d, data, "data", known, sizeof known / sizeof *known);
    const struct node *v = node_get(data, "metrics");
    if (v)
        read_metrics(d, v, w);
    if ((v = node_get(data, "raw_retention")))
        node_read_duration(d, v, "raw_retention", &w->raw_retention_ms);
}

void workload_read_models(struct document *d, const struct node *models, struct workload *w)
{
    static const char *const known[] = {"calibration", "memory_limit", "planning_deadline"};
    if (!node_is_mapping(d, models, "models"))
        return;
    node_check_keys(d, models, "models", known, sizeof known / sizeof *known);
    const struct node *v = node_get(models, "calibration");
    if (v)
        node_read_text(d, v, "calibration", &w->calibration);
    if ((v = node_get(models, "memory_limit")) && node_read_size(d, v, "memory_limit", &w->memory_limit_bytes) &&
        w->memory_limit_bytes == 0)
        document_problem(d, v, "memory_limit must be larger than 0; leave it out for no limit");
    if ((v = node_get(models, "planning_deadline")))
        node_read_duration(d, v, "planning_deadline", &w->planning_deadline_ms);
}

static void read_root(struct document *d, struct workload *w)
{
    static const char *const known[] = {"queries", "data", "models"};
    if (!node_is_mapping(d, d->root, "a workload"))
        return;
    node_check_keys(d, d->root, "a workload", known, sizeof known / sizeof *known);
    const struct node *v = node_get(d->root, "queries");
    if (v)
        workload_read_queries(d, v, w);
    else
        document_problem(d, d->root, "`queries` is missing; a workload lists the queries to plan for");
    if ((v = node_get(d->root, "data")))
        workload_read_data(d, v, w);
    if ((v = node_get(d->root, "models")))
        workload_read_models(d, v, w);
}

int workload_read(struct str text, const char *file, struct workload **ret, struct problems *problems, struct err *e)
{
    struct workload *w = mem_zalloc(sizeof *w);
    w->arena = mem_alloc(sizeof *w->arena);
    arena_init(w->arena, WORKLOAD_ARENA_BYTES);
    w->raw_retention_ms = INT64_MAX;
    w->planning_deadline_ms = PLANNING_DEADLINE_MS;
    struct document d;
    document_load(&d, text, file, w->arena);
    if (d.root)
        read_root(&d, w);
    uint32_t found_n = document_done(&d, problems);
    int rc = arena_check(w->arena, "workload", e);
    if (rc == 0 && found_n > 0)
        rc = err_set(e, ERR_BAD_DATA, "%s: %u problem%s; nothing was planned", file, found_n, found_n == 1 ? "" : "s");
    if (rc != 0) {
        workload_free(w);
        return rc;
    }
    *ret = w;
    return 0;
}

void workload_free(struct workload *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; w->parsed && i < w->queries_n; i++)
        parsed_done(&w->parsed[i]);
    arena_done(w->arena);
    mem_free(w->arena);
    mem_free(w);
}
