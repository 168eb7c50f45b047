/* Whole plans: the examples of docs/PLANNER.md, sharing, cost, shapes, limits, determinism. */
#include "plan_of.h"

/* p90 rank 0.01 over 1m and p99 relative 0.01 over 5m, both every 10 s: one group (10 s, 0), KLL 6 panes and DDSketch
 * 30, and what a backfill builds is 6 + 30 windows. */
START_TEST(refresh_group_example)
{
    struct plan *p =
        plan_of("queries:\n"
                "- {query: 'quantile_over_time(0.9, latency_ms[1m])', every: 10s, accuracy: {rank: 0.01}}\n"
                "- {query: 'quantile_over_time(0.99, latency_ms[5m])', every: 10s,\n"
                "   accuracy: {relative: 0.01}}\n"
                "data:\n"
                "  metrics: {latency_ms: {type: gauge, series: 1000, interval: 10s}}\n"
                "  raw_retention: 0\n");
    ck_assert_uint_eq(p->groups_n, 1);
    ck_assert_int_eq(p->groups[0].window.step_ms, 10000);
    ck_assert_int_eq(p->groups[0].window.phase_ms, 0);
    ck_assert_uint_eq(p->groups[0].views_n, 2);
    const struct plan_view *kll = &p->views[view_of(p, FAMILY_KLL, 10000)];
    const struct plan_view *dd = &p->views[view_of(p, FAMILY_DDSKETCH, 10000)];
    ck_assert_uint_eq(kll->params.k, 269);
    ck_assert_uint_eq(kll->panes_n, 6);
    ck_assert_int_eq(kll->backfill_ms, 60000);
    ck_assert_double_eq(dd->params.alpha, 0.01);
    ck_assert_uint_eq(dd->panes_n, 30);
    ck_assert_int_eq(dd->backfill_ms, 300000);
    ck_assert_int_ge(dd->retention_ms, 310000);
    ck_assert_uint_eq(p->sources_n, 1);
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_ESTIMATE);
    ck_assert_uint_eq(input_of(p, root_of(p, 0), 0)->count, 6);
    ck_assert(is_rejected(p, 0, "raw", "raw_retention"));
    plan_free(p);
}
END_TEST

/* Two windows of one state: one chain, as long as the longer needs. */
static const struct {
    const char *yaml;
    int64_t width_ms;
    uint32_t panes_n;
} shared[] = {
    {"queries: [{query: 'sum_over_time(x[1m])', every: 10s}, {query: 'sum_over_time(x[5m])', every: 10s}]\n"
     "data: {raw_retention: 0}",
     10000, 30},
    {"queries: [{query: 'quantile_over_time(0.99, x[5m])', every: 1m, accuracy: {relative: 0.01}},\n"
     "          {query: 'quantile_over_time(0.99, x[3m])', every: 1m, accuracy: {relative: 0.01}}]\n"
     "data: {raw_retention: 0}",
     60000, 5},
    /* Several statistics of one state: count from the sum's, all quantiles from one sketch sized for the strictest. */
    {"queries: [{query: 'count_over_time(x[5m])', every: 10s}, {query: 'avg_over_time(x[5m])', every: 10s},\n"
     "          {query: 'sum_over_time(x[1m])', every: 10s}]\n"
     "data: {raw_retention: 0}",
     10000, 30},
    {"queries: [{query: 'quantile_over_time(0.5, x[5m])', every: 10s, accuracy: {rank: 0.05}},\n"
     "          {query: 'quantile_over_time(0.9, x[5m])', every: 10s, accuracy: {rank: 0.01}}]\n"
     "data: {raw_retention: 0, metrics: {x: {interval: 10s}}}",
     10000, 30},
};

START_TEST(one_chain_is_shared)
{
    struct plan *p = plan_of(shared[_i].yaml);
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_eq(p->views[0].panes.step_ms, shared[_i].width_ms);
    ck_assert_uint_eq(p->views[0].panes_n, shared[_i].panes_n);
    for (uint32_t q = 0; q < p->queries_n; q++) {
        ck_assert_uint_eq(p->queries[q].uses_n, 1);
        ck_assert_uint_eq(p->queries[q].uses[0], 0);
    }
    plan_free(p);
}
END_TEST

/* Every 10 s and every 15 s: one 5 s chain or two of 10 s and 15 s, whichever is cheaper. A scan of fast samples is the
 * dearer part, so it is shared; few rows make states the dearer part. The pair (15 s, 10 s) is never used. */
START_TEST(mixed_grids_by_cost)
{
    struct plan *p = plan_of("queries: [{query: 'rate(x[1m])', every: 10s}, {query: 'rate(x[1m])', every: 15s}]\n"
                             "data: {raw_retention: 0, metrics: {x: {interval: 10ms}}}");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_eq(p->views[0].panes.step_ms, 5000);
    plan_free(p);
    p = plan_of("queries: [{query: 'rate(x[1m])', every: 10s}, {query: 'rate(x[1m])', every: 15s}]\n"
                "data: {raw_retention: 0, metrics: {x: {interval: 1s}}}");
    ck_assert_uint_eq(p->views_n, 2);
    ck_assert_uint_ne(view_of(p, FAMILY_COUNTER, 10000), PLAN_NONE);
    ck_assert_uint_ne(view_of(p, FAMILY_COUNTER, 15000), PLAN_NONE);
    plan_free(p);
}
END_TEST

/* One or two samples a pane save nothing: raw. Thousands do: panes. */
START_TEST(raw_when_slow_panes_when_fast)
{
    static const char *const texts[] = {"sum by (job) (rate(x[5m]))", "sum_over_time(x[5m])", "max_over_time(x[5m])"};
    for (int i = 0; i < 3; i++) {
        char yaml[300];
        snprintf(yaml, sizeof yaml,
                 "queries: [{query: '%s', every: 10s}]\n"
                 "data: {metrics: {x: {series: 10000, interval: 15s}}}",
                 texts[i]);
        struct plan *p = plan_of(yaml);
        ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_RAW);
        ck_assert_uint_eq(p->views_n, 0);
        ck_assert(is_rejected(p, 0, "30 x 10s", "dearer"));
        plan_free(p);
        snprintf(yaml, sizeof yaml,
                 "queries: [{query: '%s', every: 10s}]\n"
                 "data: {metrics: {x: {series: 10000, interval: 50ms}}}",
                 texts[i]);
        p = plan_of(yaml);
        ck_assert_uint_eq(p->views_n, 1);
        ck_assert_uint_eq(p->views[0].panes_n, 30);
        ck_assert(is_rejected(p, 0, "raw", "dearer"));
        plan_free(p);
    }
}
END_TEST

/* The sum stands above the estimate; states are of series, never of sums of counters. */
START_TEST(sum_stays_above_rate)
{
    struct plan *p = plan_of("queries: [{query: 'sum by (job) (rate(x[5m]))', every: 1m}]\ndata: {raw_retention: 0}");
    const struct plan_node *sum = root_of(p, 0), *rate = input_of(p, sum, 0);
    ck_assert_int_eq(sum->op, PLAN_OP_VECTOR);
    ck_assert(str_eq(sum->expr_text, STR("sum by (job) (rate(x[5m]))")));
    ck_assert_int_eq(rate->op, PLAN_OP_ESTIMATE);
    ck_assert_int_eq(rate->statistic, STATISTIC_RATE);
    ck_assert_int_eq(input_of(p, rate, 0)->op, PLAN_OP_PANE_READ);
    for (uint32_t v = 0; v < p->views_n; v++)
        ck_assert(p->views[v].per_series);
    plan_free(p);
}
END_TEST

/* Operators over two sites, and over a site and a part without one, which is one raw node as large as can be. */
START_TEST(operators_over_sites)
{
    struct plan *p = plan_of("queries:\n"
                             "- {query: 'rate(x[5m]) / on (job) group_left rate(y[5m])', every: 1m}\n"
                             "- {query: '100 * (1 - sum(rate(x[5m])) / sum(count(z) + 1))', every: 1m}\n"
                             "- {query: 'scalar(sum(rate(x[5m]))) * 2', every: 1m}\n"
                             "data: {raw_retention: 0}");
    const struct plan_node *join = root_of(p, 0);
    ck_assert_int_eq(join->op, PLAN_OP_VECTOR);
    ck_assert_uint_eq(join->in_n, 2);
    ck_assert_int_eq(input_of(p, join, 0)->op, PLAN_OP_ESTIMATE);
    ck_assert_int_eq(input_of(p, join, 1)->op, PLAN_OP_ESTIMATE);
    const struct plan_node *times = root_of(p, 1), *minus = input_of(p, times, 0), *share = input_of(p, minus, 0);
    ck_assert_uint_eq(times->in_n, 1);
    ck_assert_int_eq(share->op, PLAN_OP_VECTOR);
    ck_assert_int_eq(input_of(p, share, 1)->op, PLAN_OP_RAW);
    ck_assert(str_eq(input_of(p, share, 1)->expr_text, STR("sum(count(z) + 1)")));
    ck_assert(is_rejected(p, 1, "panes of sum(count(z) + 1)", "of each window one sample is read"));
    ck_assert_ptr_eq(input_of(p, input_of(p, share, 0), 0), input_of(p, join, 0)); /* one node for both queries */
    ck_assert_int_eq(root_of(p, 2)->out, OUT_SCALAR);
    ck_assert_uint_eq(p->views_n, 2);
    plan_free(p);
}
END_TEST

/* A chain stays one node however many panes it has: what a refresh or a reader goes through does not grow with them. */
START_TEST(three_hundred_panes_are_four_nodes)
{
    struct plan *p = plan_of("queries: [{query: 'quantile_over_time(0.99, x[50m])', every: 10s}]\n"
                             "data: {raw_retention: 0}");
    ck_assert_uint_eq(p->views[0].panes_n, 300);
    ck_assert_uint_eq(p->nodes_n, 4); /* scan, build; pane_read, estimate */
    ck_assert_uint_eq(p->groups_n, 1);
    ck_assert_uint_eq(p->groups[0].views_n, 1);
    plan_free(p);
}
END_TEST

/* A heap over sums stands on the sums' panes: the operator is the whole query's, labels and all. */
START_TEST(heap_over_sums)
{
    struct plan *p =
        plan_of("queries: [{query: 'topk(2, sum_over_time(x[5m]))', every: 1m}]\ndata: {raw_retention: 0}");
    const struct plan_node *heap = root_of(p, 0), *sums = input_of(p, heap, 0);
    ck_assert_int_eq(heap->op, PLAN_OP_VECTOR);
    ck_assert(str_eq(heap->expr_text, STR("topk(2, sum_over_time(x[5m]))")));
    ck_assert_int_eq(sums->op, PLAN_OP_ESTIMATE);
    ck_assert_uint_eq(input_of(p, sums, 0)->count, 5);
    ck_assert_int_eq(p->views[0].family, FAMILY_SUM);
    plan_free(p);
}
END_TEST

/* raw_retention 0 leaves a query without panes to raw all the same, and says so. Short of a window it is 0 for that
 * one. */
START_TEST(raw_retention_is_a_limit)
{
    struct plan *p =
        plan_of("queries: [{query: 'sum_over_time(x[5m])', once: true}, {query: 'rate(y[5m])', every: 1m},\n"
                "          {query: 'rate(x[5m] offset 11m)', every: 1m}, {query: 'rate(x[5m])', every: 1m,\n"
                "           range: {length: 1h, step: 1m}}]\n"
                "data: {raw_retention: 15m}");
    ck_assert_int_eq(root_of(p, 1)->op, PLAN_OP_RAW);
    ck_assert_int_eq(root_of(p, 2)->op, PLAN_OP_ESTIMATE);
    ck_assert(is_rejected(p, 2, "raw", "raw_retention: raw samples are there for 15m, the query reads back 16m"));
    ck_assert_int_eq(root_of(p, 3)->op, PLAN_OP_ESTIMATE);
    ck_assert_int_ge(p->views[p->queries[3].uses[0]].retention_ms, 3900000 + 60000);
    plan_free(p);
    p = plan_of("queries: [{query: 'sum_over_time(x[5m])', once: true}]\ndata: {raw_retention: 0}");
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_RAW);
    ck_assert(is_rejected(p, 0, "raw", "chosen all the same"));
    plan_free(p);
}
END_TEST

/* Anchored, subquery, instant: raw, each with its reason. A window whose end is the query's own start or end as well.
 */
START_TEST(what_is_no_site)
{
    static const struct {
        const char *query, *reason;
    } cases[] = {
        {"rate(x[5m] @ 1000)", "anchored"},
        {"rate(x[5m] @ end())", "no_family"},
        {"max_over_time(rate(x[5m])[1h:1m])", "no_site: the steps of a subquery"},
        {"sum(x)", ": of each window one sample is read"},
        {"sum(x @ 1000)", "no_site: an instant selector"},
        {"double_exponential_smoothing(x[5m], 0.5, 0.5)", "no_family"},
        {"quantile_over_time(scalar(y), x[5m])", "not_constant"},
        {"predict_linear(x[5m], time())", "not_constant"},
        {"predict_linear(x[5m], 1 / 0)", "not_constant"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char yaml[300];
        snprintf(yaml, sizeof yaml, "queries: [{query: '%s', every: 1m}]\ndata: {metrics: {x: {interval: 10ms}}}",
                 cases[i].query);
        struct plan *p = plan_of(yaml);
        if (i == 0) /* never at ingestion; what never moves is built once */
            ck_assert(root_of(p, 0)->op == PLAN_OP_ESTIMATE && p->views[0].when == WHEN_QUERY_KEPT);
        else
            ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_RAW);
        ck_assert_msg(is_rejected(p, 0, "", cases[i].reason), "%s", cases[i].query);
        plan_free(p);
    }
}
END_TEST

/* Newest samples: 1,000 series each 15 s, asked for each 30 s, in 10 panes of 30 s over the look-back. 66.7 rows/s into
 * 33.3 states of 56 bytes, scanned; a run reads 10,000 states for 1,000 results and builds 2,000 open rows; 360 s are
 * kept. Raw, a row of each series is scanned, passes the window and is a result. */
START_TEST(newest_samples_are_read_raw)
{
    struct plan *p = plan_of("queries: [{query: 'sum(x)', every: 30s}]");
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_RAW);
    ck_assert(
        is_rejected(p, 0, "panes of sum(x)",
                    "dearer: 0.08736 CPU-ms a second on its own (ingest 0.0006733, query 0.002687, memory 0.084), "
                    "raw samples 0.00026: of each window one sample is read"));
    plan_free(p);
}
END_TEST

/* Half of a workload that no pane family answers: all of it is planned, what is left to raw says why. */
START_TEST(unplannable_parts_are_passed_through)
{
    struct plan *p = plan_of("queries:\n"
                             "- {name: sum, query: sum(m), every: 1m}\n"
                             "- {name: line, query: 'predict_linear(m[5m], time())', every: 1m}\n"
                             "- {name: smooth, query: 'double_exponential_smoothing(m[5m], 0.5, 0.5)', every: 1m}\n"
                             "- {name: values, query: 'count_values(\"v\", m)', every: 1m}\n"
                             "- {name: quantile, query: 'quantile(0.9, m)', every: 1m}\n"
                             "- {name: rate, query: 'rate(m[5m])', every: 1m}\n"
                             "data: {raw_retention: 0}\n");
    static const char *const reasons[] = {"one sample is read", "not_constant: ", "no_family: ", "one sample is read",
                                          "one sample is read"};
    ck_assert_uint_eq(p->queries_n, 6);
    for (uint32_t q = 0; q < 5; q++) {
        ck_assert_int_eq(root_of(p, q)->op, PLAN_OP_RAW);
        ck_assert_msg(is_rejected(p, q, "panes of", reasons[q]), "%u: %s", q, reasons[q]);
    }
    ck_assert_int_eq(root_of(p, 5)->op, PLAN_OP_ESTIMATE);
    plan_free(p);
}
END_TEST

/* A window of 5m every 45 s is 20 panes of 15 s; every 7 s it would be 300 of 1 s: priced, and dearer than raw. */
START_TEST(odd_widths_are_priced)
{
    struct plan *p = plan_of("queries: [{query: 'rate(x[5m])', every: 45s}]\ndata: {raw_retention: 0}");
    ck_assert_int_eq(p->views[0].panes.step_ms, 15000);
    ck_assert_uint_eq(p->views[0].panes_n, 20);
    plan_free(p);
    p = plan_of("queries: [{query: 'rate(x[5m])', every: 7s}]\ndata: {metrics: {x: {interval: 1s}}}");
    ck_assert_uint_eq(p->views_n, 0);
    ck_assert(is_rejected(p, 0, "counter 300 x 1s", "dearer"));
    plan_free(p);
}
END_TEST

#define FAST "metrics: {x: {series: 1000, interval: 50ms}}"

/* 1,000 series, 30 + 3 + 1 panes of 56 bytes are 1.9 MB: they fit 2 MiB, not 1 MiB. */
START_TEST(memory_limit_is_kept)
{
    struct plan *p = plan_of("queries: [{query: 'rate(x[5m])', every: 10s}]\ndata: {" FAST "}\n"
                             "models: {memory_limit: 2MiB}");
    ck_assert_uint_eq(p->views_n, 1);
    plan_free(p);
    p = plan_of("queries: [{query: 'rate(x[5m])', every: 10s}]\ndata: {" FAST "}\nmodels: {memory_limit: 1MiB}");
    ck_assert_uint_eq(p->views_n, 0);
    ck_assert(is_rejected(p, 0, "counter 30 x 10s", "memory_limit"));
    plan_free(p);
}
END_TEST

/* 6e6 rows of raw samples a run are over 40 ms by the cost model, 3e4 states are not. */
START_TEST(latency_rejects)
{
    struct plan *p = plan_of("queries: [{query: 'rate(x[5m])', once: true, latency: 40ms},\n"
                             "          {query: 'sum_over_time(x[5m])', every: 1h, latency: 40ms}]\ndata: {" FAST "}");
    ck_assert(is_rejected(p, 0, "raw", "latency"));
    ck_assert(is_rejected(p, 0, "raw", "chosen all the same"));
    ck_assert(is_rejected(p, 1, "raw", "latency"));
    plan_free(p);
}
END_TEST

/* The queries' shares add up to the plan: one scan and build, however many read. */
START_TEST(shared_work_is_charged_once)
{
    struct plan *one = plan_of("queries: [{query: 'rate(x[5m])', every: 10s}]\ndata: {" FAST "}");
    struct plan *three =
        plan_of("queries: [{query: 'rate(x[5m])', every: 10s}, {query: 'sum(rate(x[5m]))', every: 10s},\n"
                "          {query: 'increase(x[1m])', every: 10s}]\ndata: {" FAST "}");
    double ingest = 0, memory = 0;
    for (uint32_t q = 0; q < 3; q++) {
        ingest += three->queries[q].cost.ingest;
        memory += three->queries[q].cost.memory;
    }
    ck_assert_uint_eq(three->views_n, 1);
    ck_assert_double_eq_tol(ingest, one->queries[0].cost.ingest, 1e-12);
    ck_assert_double_eq_tol(memory, one->queries[0].cost.memory, 1e-12);
    plan_free(one);
    plan_free(three);
}
END_TEST

/* Ingestion by hand: 1,000 series each 10 s, sum over 1m every 10 s without raw. 100 rows/s: scan 1e-6 + 48 * 1e-7 a
 * row, build 1e-6; 100 states/s of one output row and 24 bytes; kept (60 + 30 + 10) s. A run reads 6 * 1,000 states of
 * 24 bytes, gives 1,000 results, and builds 1,000 open rows at 2e-6 + 48 * 1e-7. */
START_TEST(costs_are_those_of_the_model)
{
    struct plan *p = plan_of("queries: [{query: 'sum_over_time(x[1m])', every: 10s}]\n"
                             "data: {metrics: {x: {series: 1000, interval: 10s}}, raw_retention: 0}");
    const struct plan_cost *c = &p->queries[0].cost;
    ck_assert_double_eq_tol(c->ingest, 100 * (1e-6 + 48e-7 + 1e-6) + 100 * (1e-6 + 24e-7), 1e-12);
    ck_assert_double_eq_tol(c->memory, 100 * 24 * 100 * 1.25e-7, 1e-12);
    ck_assert_double_eq_tol(c->query, (6000 * (1e-6 + 24e-7) + 1000 * 1e-6 + 1000 * (2e-6 + 48e-7)) / 10, 1e-12);
    plan_free(p);
}
END_TEST

/* A day at each minute of an hour, every minute: 61 windows a run are read by roll-ups, each over the one below (two of
 * 256 or 512 minutes fit a day); the flat chain is dearer. For one window a run it is not, since memory is. Five panes
 * are read as they are, and nothing else is listed. */
START_TEST(a_long_window_climbs)
{
    struct plan *p = plan_of("queries: [{query: 'max_over_time(m[1d])', every: 1m, range: {length: 1h, step: 1m}}]\n"
                             "data: {metrics: {m: {series: 1000, interval: 5s}}}\n");
    const uint32_t base = view_of(p, FAMILY_MAX, 60000);
    ck_assert_uint_eq(p->queries[0].uses_n, 1);
    ck_assert_uint_eq(p->queries[0].uses[0], base);
    ck_assert_uint_eq(p->views[base].panes_n, 1440);
    ck_assert_uint_gt(p->views_n, 1);
    for (uint32_t v = 0, below = base; v < p->views_n; v++) {
        if (v == base)
            continue;
        ck_assert_uint_eq(p->views[v].level_of, below);
        int64_t ratio = p->views[v].panes.step_ms / p->views[below].panes.step_ms;
        ck_assert(ratio == 4 || ratio == 8);
        ck_assert_int_eq(p->views[v].panes.phase_ms % p->views[below].panes.step_ms, p->views[below].panes.phase_ms);
        ck_assert_int_le(2 * p->views[v].panes.step_ms, 86400000);
        ck_assert_int_eq(p->nodes[p->views[v].node].op, PLAN_OP_MERGE);
        ck_assert_int_ge(p->views[v].retention_ms, 86400000 / p->views[v].panes.step_ms * p->views[v].panes.step_ms);
        below = v;
    }
    ck_assert_uint_eq(p->groups_n, p->views_n);
    ck_assert(is_rejected(p, 0, "1440 x 1m of", "dearer"));
    ck_assert(is_rejected(p, 0, "1440 x 1m rolled up to", "dearer")); /* the other ratio */
    plan_free(p);
    p = plan_of("queries: [{query: 'max_over_time(m[1d])', every: 1m}]\n"
                "data: {metrics: {m: {series: 1000, interval: 5s}}}\n");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert(is_rejected(p, 0, "rolled up to 4h16m, 1h4m, 16m, 4m of", "dearer"));
    ck_assert(is_rejected(p, 0, "rolled up to 8h32m, 1h4m, 8m of", "dearer"));
    plan_free(p);
    p = plan_of("queries: [{query: 'max_over_time(m[5m])', every: 1m}]\n"
                "data: {raw_retention: 0, metrics: {m: {series: 1000, interval: 1s}}}\n");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert(!is_rejected(p, 0, "rolled up", ""));
    plan_free(p);
}
END_TEST

START_TEST(same_bytes_every_time)
{
    struct strbuf yaml = {0}, first = {0};
    strbuf_add_z(&yaml, "queries:\n");
    static const char *const functions[] = {"rate", "sum_over_time", "avg_over_time", "count_over_time",
                                            "max_over_time"};
    for (int i = 0; i < 60; i++)
        strbuf_printf(&yaml, "- {query: 'sum(%s(m%d[%dm])) / 2', every: %ds}\n", functions[i % 5], i % 4, 1 + i % 7,
                      10 + 5 * (i % 3));
    strbuf_add_z(&yaml, "data: {raw_retention: 0, metrics: {m1: {interval: 100ms}}}\n");
    for (int i = 0; i < 20; i++) {
        struct strbuf text = {0};
        struct plan *p = plan_of(strbuf_z(&yaml));
        plan_write(p, i ? &text : &first);
        if (i)
            ck_assert(text.n == first.n && memcmp(text.p, first.p, text.n) == 0);
        strbuf_done(&text);
        plan_free(p);
    }
    struct plan *read = NULL;
    struct err e;
    struct strbuf again = {0};
    ck_assert_msg(plan_read((struct str){first.p, first.n}, &read, &e) == 0, "%s", e.message);
    plan_write(read, &again);
    ck_assert(again.n == first.n && memcmp(again.p, first.p, again.n) == 0);
    plan_free(read);
    strbuf_done(&again);
    strbuf_done(&first);
    strbuf_done(&yaml);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/planner");
    TCase *tc = tcase_create("planner");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, refresh_group_example);
    tcase_add_loop_test(tc, one_chain_is_shared, 0, sizeof shared / sizeof *shared);
    tcase_add_test(tc, mixed_grids_by_cost);
    tcase_add_test(tc, raw_when_slow_panes_when_fast);
    tcase_add_test(tc, sum_stays_above_rate);
    tcase_add_test(tc, operators_over_sites);
    tcase_add_test(tc, three_hundred_panes_are_four_nodes);
    tcase_add_test(tc, heap_over_sums);
    tcase_add_test(tc, raw_retention_is_a_limit);
    tcase_add_test(tc, what_is_no_site);
    tcase_add_test(tc, newest_samples_are_read_raw);
    tcase_add_test(tc, unplannable_parts_are_passed_through);
    tcase_add_test(tc, odd_widths_are_priced);
    tcase_add_test(tc, memory_limit_is_kept);
    tcase_add_test(tc, latency_rejects);
    tcase_add_test(tc, shared_work_is_charged_once);
    tcase_add_test(tc, costs_are_those_of_the_model);
    tcase_add_test(tc, a_long_window_climbs);
    tcase_add_test(tc, same_bytes_every_time);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
