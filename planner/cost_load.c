#include "planner/cost_load.h"

#include <math.h>
#include <stdlib.h>

enum { UNKNOWN_SERIES = 1000, UNKNOWN_INTERVAL_MS = 15000, UNKNOWN_VALUES = 30 };

static int by_metric_name(const void *pa, const void *pb)
{
    const struct workload_metric *a = *(const struct workload_metric *const *)pa,
                                 *b = *(const struct workload_metric *const *)pb;
    return str_cmp(a->name, b->name);
}

static int name_to_metric(const void *pkey, const void *pm)
{
    return str_cmp(*(const struct str *)pkey, (*(const struct workload_metric *const *)pm)->name);
}

const struct workload_metric *cost_load_of(const struct planning *p, const struct matcher *matchers,
                                           uint32_t matchers_n, double *ret_series_n, double *ret_interval_ms)
{
    const struct workload_metric *m = NULL;
    *ret_series_n = UNKNOWN_SERIES;
    *ret_interval_ms = UNKNOWN_INTERVAL_MS;
    for (uint32_t i = 0; i < matchers_n; i++) {
        if (matchers[i].op != MATCH_EQ || !str_eq(matchers[i].name, STR(LABEL_NAME)))
            continue;
        const struct workload_metric *const *found = bsearch(&matchers[i].value, p->metrics_by_name, p->w->metrics_n,
                                                             sizeof *p->metrics_by_name, name_to_metric);
        m = found ? *found : NULL;
    }
    if (!m)
        return NULL;
    double series_n = (double)m->series_n;
    for (uint32_t i = 0; i < matchers_n; i++) {
        for (uint32_t k = 0; matchers[i].op == MATCH_EQ && k < m->labels_n; k++) {
            if (str_eq(matchers[i].name, m->labels[k].name))
                series_n /= (double)m->labels[k].values_n;
        }
    }
    *ret_series_n = fmax(1, series_n);
    *ret_interval_ms = (double)m->interval_ms;
    return m;
}

void cost_load(const struct planning *p, const struct expr *selector, double *ret_series_n, double *ret_interval_ms)
{
    cost_load_of(p, selector->matchers, selector->matchers_n, ret_series_n, ret_interval_ms);
}

int cost_load_sources(struct planning *p, struct err *e)
{
    const struct workload *w = p->w;
    p->metrics_by_name = ARENA_ARRAY(p->arena, const struct workload_metric *, w->metrics_n);
    int rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < w->metrics_n; i++)
        p->metrics_by_name[i] = &w->metrics[i];
    if (w->metrics_n > 1)
        qsort(p->metrics_by_name, w->metrics_n, sizeof *p->metrics_by_name, by_metric_name);
    for (uint32_t i = 0; i < p->sources_n; i++) {
        struct source *s = &p->sources[i];
        s->metric = cost_load_of(p, s->matchers, s->matchers_n, &s->series_n, &s->interval_ms);
    }
    return 0;
}

double cost_counted_values(const struct source *s, struct str label, double otherwise)
{
    for (uint32_t i = 0; s->metric && i < s->metric->labels_n; i++)
        if (str_eq(s->metric->labels[i].name, label))
            return (double)s->metric->labels[i].values_n;
    return otherwise;
}

double cost_values(const struct source *s, struct str label)
{
    for (uint32_t i = 0; i < s->matchers_n; i++)
        if (s->matchers[i].op == MATCH_EQ && str_eq(s->matchers[i].name, label))
            return 1;
    return cost_counted_values(s, label, UNKNOWN_VALUES);
}

double cost_groups_in(const struct source *s, const struct str *by, uint32_t by_n)
{
    double groups = 1;
    for (uint32_t i = 0; i < by_n; i++)
        groups *= cost_values(s, by[i]);
    return fmin(s->series_n, groups);
}

double cost_groups(const struct planning *p, uint32_t source, const struct str *by, uint32_t by_n)
{
    return cost_groups_in(&p->sources[source], by, by_n);
}
