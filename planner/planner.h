/*
 * From a workload to one plan. Stages (docs/PLANNER.md): lower every query to the shared logical DAG; offer candidates
 * per site (exact from raw; each family that has the statistic and meets the target, whole-window or composed of
 * panes); reject with a reason; price with the cost model; choose what is cheapest for all at once (selection.h); emit
 * the physical plan and check it.
 *
 * Deterministic: the same input gives the same bytes, unless the planning deadline cuts the proof short. Never reads
 * the wall clock, the network or the store.
 */
#ifndef PLANNER_PLANNER_H
#define PLANNER_PLANNER_H

#include "plan/plan.h"

enum {
    WORKLOAD_MAX_BYTES = 64 << 20,
    WORKLOAD_QUERIES_MAX = 200000,
    WORKLOAD_METRICS_MAX = 1000000,
    WORKLOAD_TIMES_MAX = 100000,      /* of one query's `at` */
    WORKLOAD_RANGE_STEPS_MAX = 11000, /* of one range query, as Prometheus limits them */
    MAX_WIDTHS = 256,                 /* offered for one state definition */
    PLANNING_DEADLINE_MS = 10000
};

struct workload_query {
    struct str name, text; /* text as written */
    const struct expr *expr;
    struct cadence cadence;
    struct accuracy target;
    int64_t latency_ms; /* 0 = no bound */
    uint32_t line, column;
};
struct workload_label {
    struct str name;
    uint64_t values_n;
};
struct workload_metric {
    struct str name;
    struct str type; /* gauge, counter, histogram, "" */
    uint64_t series_n;
    int64_t interval_ms;
    struct str distribution; /* of the values: lognormal, ...; "" = unknown */
    const struct workload_label *labels;
    uint32_t labels_n;
};
struct workload {
    struct workload_query *queries;
    uint32_t queries_n;
    struct workload_metric *metrics;
    uint32_t metrics_n;
    int64_t raw_retention_ms;     /* 0: no raw candidate is offered; raw is still kept for refresh. Absent: INT64_MAX */
    uint64_t memory_limit_bytes;  /* of all states kept; 0 = none */
    int64_t planning_deadline_ms; /* 0: no proof of an optimum is looked for. Absent: PLANNING_DEADLINE_MS */
    struct str calibration;       /* path of a calibration file as written; "" = the default costs. Not opened here */
    struct arena *arena;
    struct parsed *parsed; /* per query, for their regexes */
};

/* Problems found in a workload: all of them, each "file:line:column: sentence". */
struct problems {
    struct strbuf text;
    uint32_t n;
};

/* YAML (JSON is YAML). Every unknown key, bad duration, bad query, duplicate name is a problem; on any, ERR_BAD_DATA
 * and nothing is planned. `file` is only for messages. */
int workload_read(struct str text, const char *file, struct workload **ret, struct problems *problems, struct err *e);
void workload_free(struct workload *w); /* NULL-safe */

struct cost_model;
enum { FORCED_RAW = -1, FORCED_PARTS = -2 };
struct planner_options {
    uint64_t sketch_seed;
    const struct cost_model *costs; /* NULL: cost_defaults */
    int method;                     /* enum selection_method: 0 is the planner's own */
    int forced; /* for comparisons: 0: nothing; FORCED_RAW, or a family: sites that have such a form take it;
                   FORCED_PARTS: no stored root, as with the others */
};
int planner_plan(const struct workload *w, const struct planner_options *options, struct plan **ret, struct err *e);

#endif
