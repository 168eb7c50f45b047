#include "sample.h"

#include <check.h>

#include "base/alloc.h"

static void add_source(struct sample *s, const char *selector)
{
    struct err e;
    struct arena arena;
    struct parsed parsed;
    arena_init(&arena, 0);
    ck_assert_int_eq(promql_parse_selector(str_of(selector), &arena, &parsed, &e), 0);
    struct plan_source *source = &s->sources[s->plan->sources_n++];
    source->matchers_n = parsed.root->matchers_n;
    ck_assert_int_eq(plan_add_matchers(s->plan, parsed.root->matchers, source->matchers_n, &source->matchers, &e), 0);
    parsed_done(&parsed);
    arena_done(&arena);
}

static struct plan_node *add_node(struct sample *s, uint32_t id, enum plan_op op, enum plan_half half)
{
    ck_assert_uint_eq(id, s->plan->nodes_n);
    s->plan->nodes_n++;
    s->nodes[id] = (struct plan_node){.op = op, .half = half, .out = plan_op_out(op), .in_first = s->plan->edges_n};
    return &s->nodes[id];
}

static void add_input(struct sample *s, uint32_t id, uint32_t input)
{
    s->edges[s->plan->edges_n++] = input;
    s->nodes[id].in_n++;
}

void sample_set_expr(struct sample *s, uint32_t node, const char *text)
{
    struct err e;
    int rc = plan_add_expr(s->plan, str_of(text), &s->nodes[node].expr, &s->nodes[node].expr_text, &e);
    ck_assert_msg(rc == 0, "%s: %s", text, e.message);
}

static void add_state(struct sample *s, uint32_t id, enum plan_op op, uint32_t input, uint32_t view)
{
    add_node(s, id, op, HALF_PRECOMPUTE)->view = view;
    add_input(s, id, input);
}

/* pane_read, then estimate. */
static void add_chain(struct sample *s, uint32_t panes, enum plan_half half, uint32_t view, uint32_t count,
                      int64_t offset_ms, const char *text, enum statistic statistic, double q)
{
    struct plan_node *read = add_node(s, panes, PLAN_OP_PANE_READ, half);
    read->view = view;
    read->count = count;
    read->offset_ms = offset_ms;
    struct plan_node *estimate = add_node(s, panes + 1, PLAN_OP_ESTIMATE, half);
    estimate->statistic = statistic;
    estimate->q = q;
    add_input(s, panes + 1, panes);
    sample_set_expr(s, panes + 1, text);
}

static void add_vector(struct sample *s, uint32_t id, enum plan_half half, uint32_t input, const char *text)
{
    add_node(s, id, PLAN_OP_VECTOR, half);
    add_input(s, id, input);
    sample_set_expr(s, id, text);
}

static void add_nodes(struct sample *s)
{
    add_node(s, SCAN_LATENCY, PLAN_OP_SCAN, HALF_PRECOMPUTE)->source = 0;
    add_state(s, BUILD_KLL, PLAN_OP_BUILD, SCAN_LATENCY, 0);
    add_state(s, BUILD_DDSKETCH, PLAN_OP_BUILD, SCAN_LATENCY, 1);
    add_state(s, MERGE_DDSKETCH, PLAN_OP_MERGE, BUILD_DDSKETCH, 2);
    add_node(s, SCAN_REQUESTS, PLAN_OP_SCAN, HALF_PRECOMPUTE)->source = 1;
    add_state(s, BUILD_COUNTER, PLAN_OP_BUILD, SCAN_REQUESTS, 3);

#define REQUESTS "rate(http_requests_total{job=~\"api|web\"}[5m])"
#define SHIFTED "rate(http_requests_total{job=~\"api|web\"}[5m] offset -1m)"
    add_chain(s, KEPT_PANES, HALF_PRECOMPUTE, 3, 5, 0, REQUESTS, STATISTIC_RATE, 0);
    add_vector(s, KEPT_SUM, HALF_PRECOMPUTE, KEPT_RATE, "sum(" REQUESTS ")");
    add_chain(s, P99_PANES, HALF_QUERY, 0, 30, 0, "quantile_over_time(0.99, latency_ms[5m])", STATISTIC_QUANTILE, 0.99);
    add_chain(s, P90_PANES, HALF_QUERY, 1, 6, 0, "quantile_over_time(0.9, latency_ms[1m])", STATISTIC_QUANTILE, 0.9);
    add_chain(s, HOUR_PANES, HALF_QUERY, 2, 60, 0, "quantile_over_time(0.9, latency_ms[1h])", STATISTIC_QUANTILE, 0.9);
    add_chain(s, BUSY_PANES, HALF_QUERY, 3, 5, -MINUTE, SHIFTED, STATISTIC_RATE, 0);
    add_vector(s, BUSY_SUM, HALF_QUERY, BUSY_RATE, "sum by (job) (" SHIFTED ")");
    add_vector(s, BUSY_HALF, HALF_QUERY, BUSY_SUM, "sum by (job) (" SHIFTED ") / 2");
    add_node(s, STORED_SUM, PLAN_OP_STORED, HALF_QUERY)->stored_root = 0;
    sample_set_expr(s, STORED_SUM, "sum(" REQUESTS ")");
    add_node(s, RAW_UP, PLAN_OP_RAW, HALF_QUERY);
    sample_set_expr(s, RAW_UP, "1 - up{job=\"\\u00fc\\n\"}");
    ck_assert_uint_eq(s->plan->nodes_n, SAMPLE_NODES);
}

static void add_view(struct sample *s, uint32_t node, uint32_t source, enum family family,
                     const struct sketch_params *params, struct grid panes, uint32_t panes_n, int64_t retention_ms)
{
    uint32_t id = s->plan->views_n++;
    s->views[id] = (struct plan_view){.node = node,
                                      .source = source,
                                      .family = family,
                                      .params = *params,
                                      .input = {.kind = INPUT_VALUE},
                                      .per_series = true,
                                      .panes = panes,
                                      .panes_n = panes_n,
                                      .retention_ms = retention_ms,
                                      .backfill_ms = panes_n * panes.step_ms,
                                      .when = WHEN_INGESTION,
                                      .level_of = PLAN_NONE};
}

static void add_query(struct sample *s, const char *name, uint32_t root, int64_t every_ms, int64_t phase_ms,
                      const uint32_t *uses, struct accuracy accuracy)
{
    s->queries[s->plan->queries_n++] =
        (struct plan_query){.name = str_of(name),
                            .text = s->nodes[root].expr_text,
                            .cadence = {.kind = CADENCE_EVERY, .every_ms = every_ms, .phase_ms = phase_ms},
                            .target = accuracy,
                            .guarantee = accuracy,
                            .root = root,
                            .uses = uses,
                            .uses_n = uses ? 1 : 0,
                            .cost = {0.1, 1e-9, 12345678.5}};
}

void sample_sign(struct sample *s, uint32_t v)
{
    struct view_definition definition = plan_view_definition(s->plan, v);
    view_identity(&definition, s->views[v].identity);
}

void sample_init(struct sample *s)
{
    static const uint32_t view_ids[] = {0, 1, 2, 3};
    static const int64_t times_ms[] = {-5 * MINUTE - 30 * SECOND, 30 * SECOND};
    static const struct plan_rejected rejected[] = {{STR("exact from \"raw\""), STR("dearer: 12 against 3")}};
    const struct sketch_params none = {0}, kll = {.k = 269}, ddsketch = {.alpha = 0.01, .max_bins = 2048};
    const struct grid ten = {10 * SECOND, 0}, minute = {MINUTE, 0}, shifted = {MINUTE, 30 * SECOND};
    const struct accuracy exact = {ACCURACY_EXACT, 0, 0}, rank = {ACCURACY_RANK, 0.01, 0.01},
                          relative = {ACCURACY_RELATIVE, 0.01, 0};

    *s = (struct sample){.plan = plan_new()};
    struct plan *p = s->plan;
    p->sketch_seed = 0xfedcba9876543210;
    p->sources = s->sources;
    p->nodes = s->nodes;
    p->edges = s->edges;
    p->views = s->views;
    p->stored_roots = s->stored_roots;
    p->queries = s->queries;
    p->solver = (struct plan_solver){STR("optimal"), 0x1p80, 0, 17, 9};
    add_source(s, "latency_ms");
    add_source(s, "http_requests_total{job=~\"api|web\"}");
    add_nodes(s);
    add_view(s, BUILD_KLL, 0, FAMILY_KLL, &kll, ten, 30, 5 * MINUTE + 10 * SECOND);
    add_view(s, BUILD_DDSKETCH, 0, FAMILY_DDSKETCH, &ddsketch, ten, 6, 2 * MINUTE);
    add_view(s, MERGE_DDSKETCH, 0, FAMILY_DDSKETCH, &ddsketch, minute, 60, HOUR + MINUTE);
    s->views[2].level_of = 1;
    add_view(s, BUILD_COUNTER, 1, FAMILY_COUNTER, &none, shifted, 5, HOUR + 5 * MINUTE);
    for (uint32_t v = 0; v < p->views_n; v++)
        sample_sign(s, v);
    s->stored_roots[p->stored_roots_n++] = (struct plan_stored_root){KEPT_SUM, shifted, HOUR};
    add_query(s, "p99", P99, 10 * SECOND, 0, &view_ids[0], rank);
    add_query(s, "p90", P90, 10 * SECOND, 0, &view_ids[1], relative);
    s->queries[1].rejected = rejected;
    s->queries[1].rejected_n = 1;
    add_query(s, "", HOUR_P90, MINUTE, 0, &view_ids[2], relative);
    add_query(s, "busy", BUSY_HALF, MINUTE, 30 * SECOND, &view_ids[3], exact);
    s->queries[3].cadence.length_ms = HOUR;
    s->queries[3].cadence.step_ms = MINUTE;
    add_query(s, "", STORED_SUM, 0, 0, NULL, exact);
    s->queries[4].cadence = (struct cadence){.kind = CADENCE_AT, .at_ms = times_ms, .at_n = 2};
    add_query(s, "up", RAW_UP, 0, 0, NULL, exact);
    s->queries[5].cadence = (struct cadence){.kind = CADENCE_ONCE};
}

static void add_group_view(struct sample *s, uint32_t node, enum family family, const struct sketch_params *params,
                           struct view_input input, const struct str *by, uint32_t by_n)
{
    const struct grid minute = {MINUTE, 0};
    uint32_t v = s->plan->views_n;
    add_state(s, node, PLAN_OP_BUILD, SCAN_REQUESTS, v);
    add_view(s, node, 1, family, params, minute, 5, 7 * MINUTE);
    s->views[v].input = input;
    s->views[v].per_series = false;
    s->views[v].reduce = by;
    s->views[v].reduce_n = by_n;
    sample_sign(s, v);
}

void sample_add_groups(struct sample *s)
{
    static const struct str by[] = {STR("instance"), STR("job")};
    static const uint32_t view_ids[] = {4, 5, 6, 7};
    const struct view_input value = {.kind = INPUT_VALUE}, series = {.kind = INPUT_SERIES},
                            path = {.kind = INPUT_LABEL, .label = STR("path")};
    const struct sketch_params none = {0}, top = {.depth = 7, .width = 272, .heap = 40}, hll = {.p = 14},
                               norm = {.depth = 5, .width = 2048};
    const struct accuracy exact = {ACCURACY_EXACT, 0, 0}, unbounded = {ACCURACY_NONE, 0, 0},
                          cardinality = {ACCURACY_CARDINALITY, 0.03, 0.01}, relative = {ACCURACY_RELATIVE, 0.05, 0.01};
    add_group_view(s, BUILD_GROUP_SUM, FAMILY_SUM, &none, value, by, 2);
    add_group_view(s, BUILD_TOP, FAMILY_CMS_HEAP, &top, series, by + 1, 1);
    add_group_view(s, BUILD_PATHS, FAMILY_HLL, &hll, path, by, 2);
    add_group_view(s, BUILD_NORM, FAMILY_COUNTSKETCH, &norm, path, NULL, 0);
#define OF(range) "http_requests_total{job=~\"api|web\"}[" range "]"
    add_chain(s, GROUP_SUM_PANES, HALF_QUERY, 4, 5, 0, "sum by (job) (sum_over_time(" OF("5m") "))", STATISTIC_SUM, 0);
    add_chain(s, TOP_PANES, HALF_QUERY, 5, 5, 0, "topk by (job) (10, sum_over_time(" OF("5m") "))", STATISTIC_TOPK, 0);
    add_chain(s, TOP_PANE, HALF_QUERY, 5, 1, 0, "topk by (job) (10, sum_over_time(" OF("1m") "))", STATISTIC_TOPK, 0);
    add_chain(s, PATHS_PANES, HALF_QUERY, 6, 5, 0, "distinct_label_over_time(\"path\", " OF("5m") ")",
              STATISTIC_DISTINCT, 0);
    add_chain(s, NORM_PANES, HALF_QUERY, 7, 5, 0, "l2_label_over_time(\"path\", " OF("5m") ")", STATISTIC_L2, 0);
    ck_assert_uint_eq(s->plan->nodes_n, SAMPLE_GROUP_NODES);
    add_query(s, "sum by job", GROUP_SUM, MINUTE, 0, &view_ids[0], exact);
    add_query(s, "top", TOP, MINUTE, 0, &view_ids[1], unbounded);
    add_query(s, "top of a minute", TOP_OF_PANE, MINUTE, 0, &view_ids[1], unbounded);
    add_query(s, "paths", PATHS, MINUTE, 0, &view_ids[2], cardinality);
    add_query(s, "norm", NORM, MINUTE, 0, &view_ids[3], relative);
}

void sample_done(struct sample *s)
{
    plan_free(s->plan);
}
