/*
 * One query's way: text -> tree -> bound plan nodes -> one snapshot -> operators -> result. Synchronous and reentrant;
 * any number of threads run queries over one executor at once.
 */
#ifndef EXECUTOR_QUERY_H
#define EXECUTOR_QUERY_H

#include "executor/eval.h"
#include "plan/logical.h"
#include "plan/plan.h"

struct executor {
    const struct plan *plan; /* may be NULL: everything from raw */
    const struct source *source;
    struct pool *pool;       /* may be NULL */
    struct pane_cache *kept; /* panes kept on first read; NULL: none are, they are built at each read */
};

struct query_options {
    int64_t start_ms, end_ms, step_ms; /* step_ms 0 and start == end: instant query */
    int64_t lookback_ms;               /* 0 = 5 m */
    int64_t default_step_ms;           /* 0 = 1 m */
    bool exact;                        /* raw only */
    struct accuracy default_accuracy;  /* for queries that are not in the workload */
    struct query_limits limits;        /* 0 fields = defaults (query_limits_default) */
    const _Atomic bool *canceled;
};
void query_limits_default(struct query_limits *l); /* 50 M samples, 2 M series, 2 GiB, no deadline, 11,000 points */

enum answer_source { SOURCE_NONE = 0, SOURCE_PANES = 1, SOURCE_RAW = 2, SOURCE_ROOT = 4, SOURCE_UPSTREAM = 8 };
const char *answer_source_text(uint32_t bits); /* panes | root | raw | mixed | upstream | none */

struct result_series {
    struct labels labels;
    double *v;                  /* [times.n], VALUE_ABSENT where there is none */
    const struct histogram **h; /* as that of struct vec_series */
};
/* Everything in the arena passed to query_run. */
struct result {
    enum value_type
        type; /* SCALAR (v), STRING, VECTOR (instant), MATRIX (range query, or a matrix selector at an instant) */
    struct times times;
    double *v;
    struct str string;
    struct result_series *series; /* matrices: sorted by labels, series without points left out */
    uint32_t series_n;
    /* A matrix selector evaluated as an instant query: its raw points. points_n[i] times in point_times[i]. */
    int64_t **point_times_ms;
    double **point_values;
    const struct histogram ***point_histograms; /* NULL, or [i] NULL: no histogram among them */
    uint32_t *points_n;
    struct notes notes;
    uint32_t sources; /* enum answer_source bits */
    uint64_t samples_n, states_n;
    uint32_t query; /* of the plan; PLAN_NONE: it is none of its queries */
};

int query_run(const struct executor *x, struct str text, const struct query_options *o, struct arena *a,
              struct result *ret, struct err *e);

/* How the query would be answered: one line per node; then, of a query that reads raw samples though there is a plan,
 * why. */
int query_explain(const struct executor *x, struct str text, const struct query_options *o, struct arena *a,
                  struct strbuf *out, struct err *e);

#endif
