/*
 * One small plan with everything a plan can have, built by hand: two sketches of one refresh group, a roll-up, a
 * counter chain with an offset, a range query, a stored root, raw. Tests write it, read it back, and break it.
 *
 *     view 0  KLL k=269 of latency_ms, 30 x 10 s      query 0  p99, 5m, every 10 s
 *     view 1  DDSketch 0.01 of latency_ms, 6 x 10 s   query 1  p90, 1m, every 10 s
 *     view 2  its roll-up, 60 x 1 m                   query 2  p90, 1h, every 1 m
 *     view 3  counter of http_requests_total,         query 3  by job, 5m offset -1m, 1h by 1m, every 1 m at 30 s
 *             5 x 1 m at 30 s                         query 4  the stored root's
 *                                                     query 5  raw, once
 */
#ifndef TESTS_PLAN_SAMPLE_H
#define TESTS_PLAN_SAMPLE_H

#include "plan/plan.h"

/*
 * What sample_add_groups adds: states by labels of http_requests_total, 5 x 1 m each.
 *
 *     view 4  sum by (instance, job)                  query 6  sum by (job), across its instances
 *     view 5  Count-Min and heap of series, by job    query 7  topk by (job): of merged panes, so without a promise
 *                                                     query 8  the same over 1 m: one pane
 *     view 6  HLL of label path, by (instance, job)   query 9  distinct paths of all, cardinality error 0.03
 *     view 7  CountSketch of label path, of all       query 10 L2 of all, relative error 0.05
 */
#define SECOND INT64_C(1000)
#define MINUTE INT64_C(60000)
#define HOUR INT64_C(3600000)

struct sample {
    struct plan *plan; /* points at the arrays below */
    struct plan_source sources[4];
    struct plan_node nodes[48];
    uint32_t edges[48];
    struct plan_view views[12];
    struct plan_stored_root stored_roots[4];
    struct plan_query queries[16];
};

/* Nodes of the sample by what they are. */
enum {
    SCAN_LATENCY = 0,
    BUILD_KLL,
    BUILD_DDSKETCH,
    MERGE_DDSKETCH,
    SCAN_REQUESTS,
    BUILD_COUNTER,
    KEPT_PANES,
    KEPT_RATE,
    KEPT_SUM,
    P99_PANES,
    P99,
    P90_PANES,
    P90,
    HOUR_PANES,
    HOUR_P90,
    BUSY_PANES,
    BUSY_RATE,
    BUSY_SUM,
    BUSY_HALF,
    STORED_SUM,
    RAW_UP,
    SAMPLE_NODES,
    BUILD_GROUP_SUM = SAMPLE_NODES,
    BUILD_TOP,
    BUILD_PATHS,
    BUILD_NORM,
    GROUP_SUM_PANES,
    GROUP_SUM,
    TOP_PANES,
    TOP,
    TOP_PANE,
    TOP_OF_PANE,
    PATHS_PANES,
    PATHS,
    NORM_PANES,
    NORM,
    SAMPLE_GROUP_NODES
};

void sample_init(struct sample *s);
void sample_add_groups(struct sample *s);
void sample_done(struct sample *s);
/* Recompute the identity of view `v` after a change, so that the change itself is what is found. */
void sample_sign(struct sample *s, uint32_t v);
/* The sample's tree and text of a node. */
void sample_set_expr(struct sample *s, uint32_t node, const char *text);

#endif
