/*
 * Stored roots on offer: which queries get one, which share one, and what is said of the others. Costs are worked out
 * here from docs/PLANNER.md's model.
 */
#include "plan_of.h"

#include <math.h>

#define DATA "data: {metrics: {x_total: {series: 10000, interval: 15s, labels: {job: 10, instance: 1000}}}}\n"
#define STAPLE "sum by (job) (rate(x_total[5m]))"

static double sum_of(struct plan_cost c)
{
    return c.ingest + c.query + c.memory;
}

/* A dashboard of an hour each 15 s over 10,000 series: 241 windows of 20 samples each against 10 numbers a step. */
START_TEST(the_staple_is_stored)
{
    struct plan *p = plan_of("queries: [{query: '" STAPLE "', every: 30s, range: {length: 1h, step: 15s}}]\n" DATA);
    const struct plan_node *root = root_of(p, 0);
    ck_assert_int_eq(root->op, PLAN_OP_STORED);
    ck_assert_uint_eq(p->stored_roots_n, 1);
    const struct plan_stored_root *r = &p->stored_roots[root->stored_root];
    ck_assert_int_eq(r->grid.step_ms, 15000);
    ck_assert_int_eq(r->grid.phase_ms, 0);
    ck_assert_int_eq(r->retention_ms, 3600000);
    ck_assert_int_eq(p->nodes[r->node].op, PLAN_OP_RAW);
    ck_assert_int_eq(p->nodes[r->node].half, HALF_PRECOMPUTE);
    ck_assert_uint_eq(p->views_n, 0);
    ck_assert_int_eq(p->queries[0].guarantee.kind, ACCURACY_EXACT);
    /* One time: 200,000 rows scanned, two passes over them and 10,000 results, at 1e-6 and 48 bytes at 1e-7; then the
     * sum over 10,000 in 10 groups, and the row of 64 + 16 x 10 bytes and 10 results. */
    double once = 1e-6 * (200000 + 400000 + 10000 + 10010) + 1e-7 * 200000 * 48 + 1e-6 * 10 + 1e-7 * 224;
    ck_assert_double_eq_tol(p->queries[0].cost.ingest, once / 15, 1e-9);
    ck_assert_double_eq_tol(p->queries[0].cost.memory, 1.25e-7 * 224 * (3600.0 + 15) / 15, 1e-9);
    /* 241 steps: 238 read, the newest 3 computed over 5 m and 30 s. */
    double rows = 1e-6 * 2380 + 1e-7 * 238 * 224;
    double open = 1e-6 * (10000 * 22 + 2 * 10000 * 3 * 20 + 10000 * 3 + 10010 * 3) + 1e-7 * 220000 * 48;
    ck_assert_double_eq_tol(p->queries[0].cost.query, (rows + open) / 30, 1e-9);
    ck_assert(is_rejected(p, 0, "panes and raw samples of " STAPLE, "dearer: "));
    plan_free(p);
}
END_TEST

/* A coarser reader takes the finer one's results when that costs less than results of its own. */
START_TEST(readers_share_a_root)
{
    struct plan *p = plan_of("queries: [{query: '" STAPLE "', every: 15s, range: {length: 1h, step: 15s}},\n"
                             "  {query: '" STAPLE "', every: 30s, range: {length: 3h, step: 30s}}]\n" DATA);
    ck_assert_uint_eq(p->stored_roots_n, 1);
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_STORED);
    ck_assert_int_eq(root_of(p, 1)->op, PLAN_OP_STORED);
    ck_assert_int_eq(p->stored_roots[0].grid.step_ms, 15000);
    ck_assert_int_eq(p->stored_roots[0].retention_ms, 3 * 3600000);
    ck_assert(is_rejected(p, 1, "stored root each 30s of " STAPLE, "dearer: "));
    ck_assert(is_rejected(p, 0, "stored root each 30s of " STAPLE, "misaligned"));
    ck_assert_double_eq_tol(sum_of(p->queries[0].cost) + sum_of(p->queries[1].cost), p->solver.bound, 1e-6);
    plan_free(p);
}
END_TEST

/* One side of a quotient is kept for a panel already: the other side beside it costs less than the quotient's own root.
 */
START_TEST(parts_are_stored)
{
    static const char panel[] = "{query: '" STAPLE "', every: 30s, range: {length: 1h, step: 15s}}";
    static const char quotient[] =
        "{query: 'sum by (job) (rate(y_total[5m])) / " STAPLE "', every: 30s, range: {length: 2h, step: 30s}}";
    static const char data[] = "data: {metrics: {x_total: {series: 10000, interval: 15s, labels: {job: 10}},"
                               " y_total: {series: 5000, interval: 15s, labels: {job: 10}}}}\n";
    char yaml[1000];
    snprintf(yaml, sizeof yaml, "queries: [%s]\n%s", quotient, data);
    struct plan *p = plan_of(yaml);
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_STORED);
    ck_assert(!is_rejected(p, 0, "stored root each 30s of sum by (job) (rate(y_total[5m]))", ""));
    ck_assert(is_rejected(p, 0, "panes and raw samples of sum by (job) (rate(y_total[5m])) / ", "dearer: "));
    plan_free(p);
    snprintf(yaml, sizeof yaml, "queries: [%s, %s]\n%s", panel, quotient, data);
    p = plan_of(yaml);
    const struct plan_node *root = root_of(p, 1), *left = input_of(p, root, 0), *right = input_of(p, root, 1);
    ck_assert_int_eq(root->op, PLAN_OP_VECTOR);
    ck_assert_int_eq(left->op, PLAN_OP_STORED);
    ck_assert_int_eq(right->op, PLAN_OP_STORED);
    ck_assert_ptr_eq(right, root_of(p, 0));
    ck_assert_uint_eq(p->stored_roots_n, 2);
    const struct plan_stored_root *shared = &p->stored_roots[right->stored_root];
    ck_assert_int_eq(shared->grid.step_ms, 15000);
    ck_assert_int_eq(shared->retention_ms, 2 * 3600000);
    ck_assert(is_rejected(p, 1, "stored root each 30s of sum by (job) (rate(y_total[5m])) / ", "dearer: "));
    ck_assert(is_rejected(p, 1, "stored root each 30s of " STAPLE, "dearer: "));
    /* Half of the shared one each; the other, of half as many series, whole. */
    double x = 1e-6 * (200000 + 400000 + 10000 + 10010) + 1e-7 * 200000 * 48 + 1e-6 * 10 + 1e-7 * 224;
    double y = 1e-6 * (100000 + 200000 + 5000 + 5010) + 1e-7 * 100000 * 48 + 1e-6 * 10 + 1e-7 * 224;
    ck_assert_double_eq_tol(p->queries[0].cost.ingest, x / 15 / 2, 1e-9);
    ck_assert_double_eq_tol(p->queries[1].cost.ingest, x / 15 / 2 + y / 30, 1e-9);
    double kept = 1.25e-7 * 224 * (7200.0 + 15) / 15 / 2;
    ck_assert_double_eq_tol(p->queries[0].cost.memory, kept, 1e-9);
    ck_assert_double_eq_tol(p->queries[1].cost.memory, kept + 1.25e-7 * 224 * (7200.0 + 30) / 30, 1e-9);
    ck_assert_double_eq_tol(sum_of(p->queries[0].cost) + sum_of(p->queries[1].cost), p->solver.bound, 1e-6);
    plan_free(p);
}
END_TEST

#define BUCKETS "data: {metrics: {x_total: {series: 10000, interval: 15s, labels: {le: 20, instance: 500}}}}"

/* Several quantiles of one histogram read one sum of its buckets. */
START_TEST(quantiles_share_a_part)
{
    struct plan *p =
        plan_of("queries: [{query: 'histogram_quantile(0.5, sum by (le) (rate(x_total[5m])))', every: 30s,"
                " range: {length: 1h, step: 30s}}, {query: 'histogram_quantile(0.99, sum by (le) (rate(x_total[5m])))',"
                " every: 30s, range: {length: 1h, step: 30s}}]\n" BUCKETS);
    ck_assert_uint_eq(p->stored_roots_n, 1);
    for (uint32_t q = 0; q < 2; q++) {
        ck_assert_int_eq(root_of(p, q)->op, PLAN_OP_VECTOR);
        ck_assert_int_eq(input_of(p, root_of(p, q), 0)->op, PLAN_OP_STORED);
    }
    ck_assert_double_eq_tol(p->queries[0].cost.ingest, p->queries[1].cost.ingest, 1e-12);
    ck_assert_double_eq_tol(sum_of(p->queries[0].cost) + sum_of(p->queries[1].cost), p->solver.bound, 1e-6);
    plan_free(p);
    p = plan_of("queries: [{query: 'histogram_quantile(0.5, sum by (le) (rate(x_total[5m])))', every: 30s,"
                " range: {length: 1h, step: 30s}}]\n" BUCKETS);
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_STORED); /* alone it keeps what is smallest */
    plan_free(p);
}
END_TEST

/* What may not be kept itself, or is not worth it, stands on a part that may: where the order of that part's series is
 * not the catalog's, and so does not show. */
START_TEST(parts_below_what_minds_order)
{
    static const struct {
        const char *query;
        bool stored;
    } cases[] = {
        {"topk(5, " STAPLE ")", true},         {"sort_desc(" STAPLE ")", true}, {"sum(topk(5, " STAPLE "))", true},
        {"topk(5, rate(x_total[5m]))", false}, {"limitk(5, x_total)", false},   {"sort(-rate(x_total[5m]))", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf yaml = {0};
        strbuf_printf(&yaml, "queries: [{query: '%s', every: 30s, range: {length: 1h, step: 15s}}]\n" DATA,
                      cases[i].query);
        struct plan *p = plan_of(strbuf_z(&yaml));
        ck_assert_msg(p->stored_roots_n == cases[i].stored, "%s", cases[i].query);
        if (cases[i].stored) {
            ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_VECTOR);
            ck_assert(str_eq(p->nodes[p->stored_roots[0].node].expr_text, STR(STAPLE)));
        }
        ck_assert(is_rejected(p, 0, "stored root of", "not_eligible: "));
        plan_free(p);
        strbuf_done(&yaml);
    }
    struct plan *p =
        plan_of("queries: [{query: 'sum(" STAPLE ")', every: 30s, range: {length: 1h, step: 15s}}]\n" DATA);
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_STORED);
    plan_free(p);
}
END_TEST

/* Grids that do not hold one another get a root each, or raw. */
START_TEST(other_phases_do_not_share)
{
    struct plan *p = plan_of("queries: [{query: '" STAPLE "', every: 15s, range: {length: 1h, step: 15s}},\n"
                             "  {query: '" STAPLE "', every: 15s, phase: 5s, range: {length: 1h, step: 15s}}]\n" DATA);
    ck_assert_uint_eq(p->stored_roots_n, 2);
    ck_assert_int_eq(p->stored_roots[root_of(p, 1)->stored_root].grid.phase_ms, 5000);
    ck_assert(is_rejected(p, 1, "stored root each 15s of", "misaligned"));
    plan_free(p);
}
END_TEST

START_TEST(others_are_told_why)
{
    static const struct {
        const char *query, *reason;
    } cases[] = {
        /* 1.58001 ms each 15 s when it is asked for, once more to keep it, and its 224 bytes. */
        {"query: '" STAPLE "', every: 15s", "dearer: 0.2107 CPU-ms a second on its own (ingest 0.1053, query 0.1053, "
                                            "memory 2.8e-05), raw samples 0.1053: it asks for its newest time alone"},
        {"query: '" STAPLE "', once: true", "no_cadence"},
        {"query: '" STAPLE "', rate: 2/s, range: {length: 1h, step: 15s}", "no_cadence"},
        {"query: 'topk(5, x_total)', every: 15s, range: {length: 1h, step: 15s}", "not_eligible: the order"},
        {"query: 'rate(x_total[5m] smoothed)', every: 15s, range: {length: 1h, step: 15s}",
         "not_eligible: it looks past"},
        {"query: 'rate(x_total[5m] @ end())', every: 15s, range: {length: 1h, step: 15s}", "not_eligible: @"},
        {"query: 'sum(topk(5, x_total))', every: 15s, range: {length: 1h, step: 15s}", "not_eligible: the order"},
        {"query: '" STAPLE "', every: 30s, latency: 1ms, range: {length: 1h, step: 15s}", "latency: "},
        {"query: 'm', every: 1h, range: {length: 1h, step: 1s}", "dearer: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf yaml = {0};
        strbuf_printf(&yaml, "queries: [{%s}]\n" DATA, cases[i].query);
        struct plan *p = plan_of(strbuf_z(&yaml));
        ck_assert_msg(p->stored_roots_n == 0, "%s", cases[i].query);
        ck_assert_msg(is_rejected(p, 0, "stored root", cases[i].reason), "%s: not %s", cases[i].query, cases[i].reason);
        plan_free(p);
        strbuf_done(&yaml);
    }
    struct plan *p = plan_of("queries: [{query: '" STAPLE "', every: 30s, range: {length: 1h, step: 15s}}]\n"
                             "data: {raw_retention: 30m}");
    ck_assert(is_rejected(p, 0, "stored root", "raw_retention: "));
    plan_free(p);
}
END_TEST

/* Its results count as memory: a limit below them leaves the query to its parts. */
START_TEST(memory_counts)
{
    struct plan *p = plan_of("queries: [{query: '" STAPLE "', every: 30s, range: {length: 1h, step: 15s}}]\n" DATA
                             "models: {memory_limit: 50KiB}\n");
    ck_assert_uint_eq(p->stored_roots_n, 0);
    for (uint32_t v = 0; v < p->views_n; v++)
        ck_assert_int_eq(p->views[v].when, WHEN_QUERY); /* nothing is held */
    plan_free(p);
    p = plan_of("queries: [{query: '" STAPLE "', every: 30s, range: {length: 1h, step: 15s}}]\n" DATA
                "models: {memory_limit: 60KiB}\n"); /* 241 x 224 bytes */
    ck_assert_uint_eq(p->stored_roots_n, 1);
    plan_free(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("planner/stored");
    TCase *tcase = tcase_create("stored");
    tcase_add_test(tcase, the_staple_is_stored);
    tcase_add_test(tcase, readers_share_a_root);
    tcase_add_test(tcase, parts_are_stored);
    tcase_add_test(tcase, quantiles_share_a_part);
    tcase_add_test(tcase, parts_below_what_minds_order);
    tcase_add_test(tcase, other_phases_do_not_share);
    tcase_add_test(tcase, others_are_told_why);
    tcase_add_test(tcase, memory_counts);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
