/*
 * States by labels, through the whole planner: what they cost by hand, which are shared, what is emitted, and what is
 * refused with which reason.
 */
#include "plan_of.h"

#include <math.h>

#include "plan/explain.h"
#include "planner/cost.h"
#include "planner/state_size.h"

static struct arena arena;
static struct planning planning;
static struct workload *workload;
static struct err e;

static void plan_up_to_choice(const char *yaml)
{
    workload = workload_of(yaml);
    arena_init(&arena, 0);
    ck_assert_msg(planning_run(&planning, workload, NULL, &arena, &e) == 0, "%s", e.message);
}

static void end(void)
{
    planning_done(&planning);
    arena_done(&arena);
    workload_free(workload);
}

/* The first candidate of this family and form that may be chosen, of any demand. */
static const struct candidate *candidate_of(enum family family, enum candidate_form form, bool by_labels)
{
    for (uint32_t i = 0; i < planning.candidates_n; i++) {
        const struct candidate *c = &planning.candidates[i];
        if (c->family == family && c->form == form && !c->reason && (c->grouping != 0) == by_labels)
            return c;
    }
    ck_abort_msg("no %s of this form is offered", family_get(family)->name);
    return NULL;
}

#define REQUESTS                                                                                                       \
    "data: {raw_retention: 1h, metrics: {http_requests_total: {type: counter, series: 1000000, interval: 15s,\n"       \
    "       labels: {job: 100}}}}\n"
#define RATE_AND_TOP(range)                                                                                            \
    "queries:\n"                                                                                                       \
    "- {query: 'sum by (job) (rate(http_requests_total[1m]))', every: 10s}\n"                                          \
    "- {query: 'topk by (job) (10, sum_over_time(http_requests_total[" range                                           \
    "]))', every: 10s, accuracy: none}\n" REQUESTS

/*
 * 1,000,000 series each 15 s, 100 jobs, everything at query time over one scan, in CPU-ms an evaluation. The rate: scan
 * of 4e6 rows of 48 bytes 23.2, range 4.0, rate 4.0, its results 1.0, the sum of them 1.0 and its results 0.0001. The
 * heaviest ten of each job: sum_over_time 4.0, its results 1.0, Count-Min of depth 7 and a heap, 8 ops an item, 8.0,
 * ten items of a hundred jobs 0.001.
 */
START_TEST(the_worked_example_adds_up)
{
    plan_up_to_choice(RATE_AND_TOP("1m"));
    const struct candidate *raw = &planning.candidates[planning.demands[0].first];
    const struct candidate *top = candidate_of(FAMILY_CMS_HEAP, FORM_CHAIN, true);
    const struct state *state = &planning.states[planning.chains[top->chain].state];
    const struct workload_query *rate = &workload->queries[0];
    ck_assert_uint_eq(state->params.depth, 7);
    double first = raw->run_cost + cost_raw_rest(&planning, rate->expr, &rate->cadence);
    double second = cost_build(&planning, state, 1, 60000);
    double listed = cost_groups(&planning, state->source, planning.groupings[state->grouping].by, 1) * 10;
    double read = planning.model->families[FAMILY_CMS_HEAP].read_result_ms * listed;
    ck_assert_double_eq_tol(first, 23.2 + 4.0 + 4.0 + 1.0 + 1.0 + 0.0001, 1e-9);
    ck_assert_double_eq_tol(second, 4.0 + 1.0 + 8.0, 1e-9);
    ck_assert_double_eq_tol(read, 0.001, 1e-12);
    ck_assert_double_eq_tol(first + second + read, 46.201, 5e-4);
    ck_assert_double_eq_tol((first + second + read) * 0.1, 4.620, 5e-4);
    end();
}
END_TEST

/*
 * What the planner takes instead. The list is exact from raw samples with one op a series where Count-Min has eight:
 * 23.2 + 4 + 4 + 1 + 1 + 0.0001 = 33.2 against 40.2 at query time. On panes of 10 s each series is an item of every
 * pane, and the newest pane is built at each run again: dearer than a scan of one minute, 3.32 a second. Over five
 * minutes raw samples are five times as many and the panes no more to build: then they are taken.
 */
START_TEST(the_plan_that_is_chosen)
{
    struct strbuf text = {0};
    struct plan *p = plan_of(RATE_AND_TOP("1m"));
    plan_explain(p, &text);
    ck_assert_uint_eq(p->views_n, 0);
    ck_assert_double_eq_tol(p->queries[0].cost.query + p->queries[1].cost.query, 6.64, 1e-3);
    ck_assert_int_eq(p->queries[1].guarantee.kind, ACCURACY_EXACT);
    const char *said =
        strstr(strbuf_z(&text), "rejected: [by job] cms_heap depth=7 width=272 heap=40 6 x 10s of topk by "
                                "(job) (10, sum_over_time(http_requests_total[1m])): dearer: ");
    ck_assert_msg(said && strstr(said, ", its parts 3.32\n"), "%s", strbuf_z(&text));
    plan_free(p);
    strbuf_clear(&text);

    p = plan_of(RATE_AND_TOP("5m"));
    plan_explain(p, &text);
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_eq(p->views[0].family, FAMILY_CMS_HEAP);
    ck_assert_int_eq(p->queries[1].guarantee.kind, ACCURACY_NONE);
    ck_assert_msg(strstr(strbuf_z(&text), "panes  [by job] cms_heap depth=7 width=272 heap=40 of series  30 x 10s"),
                  "%s", strbuf_z(&text));
    ck_assert_double_lt(p->queries[1].cost.ingest + p->queries[1].cost.query + p->queries[1].cost.memory, 15.72 + 0.1);
    plan_free(p);
    strbuf_done(&text);
}
END_TEST

#define SMALL(queries)                                                                                                 \
    "queries:\n" queries "data: {raw_retention: 1h, metrics: {m: {series: 100000, interval: 15s,\n"                    \
    "       labels: {job: 10, instance: 20, path: 50}}}}\n"

/* By labels: one state of a job instead of one of each of its series. */
static const struct {
    const char *query;
    enum family family;
    enum statistic statistic;
} exact[] = {
    {"sum by (job) (sum_over_time(m[5m]))", FAMILY_SUM, STATISTIC_SUM},
    {"sum by (job) (count_over_time(m[5m]))", FAMILY_COUNT, STATISTIC_COUNT},
    {"min by (job) (min_over_time(m[5m]))", FAMILY_MIN, STATISTIC_MIN},
    {"max by (job) (max_over_time(m[5m]))", FAMILY_MAX, STATISTIC_MAX},
    {"group by (job) (present_over_time(m[5m]))", FAMILY_COUNT, STATISTIC_PRESENT},
};

START_TEST(exact_aggregations)
{
    char yaml[400];
    snprintf(yaml, sizeof yaml, SMALL("- {query: '%s', every: 10s, phase: 3s}\n"), exact[_i].query);
    struct plan *p = plan_of(yaml);
    ck_assert_uint_eq(p->views_n, 1);
    const struct plan_view *v = &p->views[0];
    ck_assert_int_eq(v->family, exact[_i].family);
    ck_assert(!v->per_series && v->reduce_n == 1 && str_eq(v->reduce[0], STR("job")));
    ck_assert_int_eq(v->input.kind, INPUT_VALUE);
    ck_assert(v->panes.step_ms == 10000 && v->panes.phase_ms == 3000 && v->panes_n == 30);
    ck_assert_int_eq(v->when, WHEN_INGESTION);
    const struct plan_node *root = root_of(p, 0);
    ck_assert_int_eq(root->op, PLAN_OP_ESTIMATE);
    ck_assert_int_eq(root->statistic, exact[_i].statistic);
    ck_assert_uint_eq(input_of(p, root, 0)->count, 30);
    ck_assert_int_eq(p->queries[0].guarantee.kind, ACCURACY_EXACT);
    ck_assert_uint_eq(p->queries[0].uses_n, 1);
    ck_assert(is_rejected(p, 0, "panes and raw samples of", "the states by labels"));
    plan_free(p);
}
END_TEST

/* What the plan says of itself is still true once what it was planned from is gone. */
START_TEST(a_plan_owns_its_labels)
{
    struct plan *p = plan_of(
                    SMALL("- {query: 'l2_label_over_time(\"path\", m[5m], \"job\")', every: 10s, accuracy: {relative: "
                          "0.05}}\n")),
                *again = NULL;
    struct strbuf text = {0}, twice = {0};
    plan_write(p, &text);
    plan_free(p);
    ck_assert_msg(plan_read((struct str){text.p, text.n}, &again, &e) == 0, "%s", e.message);
    plan_write(again, &twice);
    ck_assert_str_eq(strbuf_z(&text), strbuf_z(&twice));
    ck_assert(str_eq(again->views[0].input.label, STR("path")) && str_eq(again->views[0].reduce[0], STR("job")));
    plan_free(again);
    strbuf_done(&text);
    strbuf_done(&twice);
}
END_TEST

/* Below an operator, and beside raw samples. */
START_TEST(as_parts_of_a_query)
{
    struct plan *p = plan_of(
        SMALL("- {query: 'sum by (job) (sum_over_time(m[5m])) / 2 > bool on (job) max by (job) (up)', every: 10s}\n"));
    const struct plan_node *root = root_of(p, 0), *half = input_of(p, root, 0);
    ck_assert_int_eq(root->op, PLAN_OP_VECTOR);
    ck_assert_int_eq(half->op, PLAN_OP_VECTOR);
    ck_assert_int_eq(input_of(p, half, 0)->op, PLAN_OP_ESTIMATE);
    ck_assert_int_eq(input_of(p, root, 1)->op, PLAN_OP_RAW);
    ck_assert_uint_eq(p->views_n, 1);
    plan_free(p);
}
END_TEST

/* Never below a counter function: labels say nothing of a counter's resets. */
START_TEST(never_below_a_counter)
{
    struct plan *p = plan_of(SMALL("- {query: 'sum by (job) (rate(m[5m]))', every: 10s}\n"
                                   "- {query: 'avg by (job) (avg_over_time(m[5m]))', every: 10s}\n"
                                   "- {query: 'sum without (job) (sum_over_time(m[5m]))', every: 10s}\n"));
    for (uint32_t v = 0; v < p->views_n; v++)
        ck_assert(p->views[v].per_series);
    for (uint32_t q = 0; q < 3; q++)
        ck_assert(!is_rejected(p, q, "[by", ""));
    plan_free(p);
}
END_TEST

/* 4 jobs and 5 instances: a chain by both has 20 groups, whose memory is less than putting each row in again. */
START_TEST(coarser_groupings_share_a_finer)
{
    struct plan *p = plan_of("queries:\n"
                             "- {query: 'sum by (job) (sum_over_time(m[5m]))', every: 10s}\n"
                             "- {query: 'sum by (instance) (sum_over_time(m[5m]))', every: 10s}\n"
                             "- {query: 'sum(sum_over_time(m[5m]))', every: 10s}\n"
                             "data: {raw_retention: 1h, metrics: {m: {series: 100000, interval: 15s, labels: {job: 4, "
                             "instance: 5}}}}\n");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_uint_eq(p->views[0].reduce_n, 2);
    ck_assert(str_eq(p->views[0].reduce[0], STR("instance")) && str_eq(p->views[0].reduce[1], STR("job")));
    for (uint32_t q = 0; q < 3; q++)
        ck_assert(p->queries[q].uses_n == 1 && p->queries[q].uses[0] == 0);
    ck_assert(is_rejected(p, 0, "[by job] sum 30 x 10s", "dearer: "));
    ck_assert(is_rejected(p, 0, "[by instance] ", "") == false);
    ck_assert(is_rejected(p, 2, "[of all series] sum 30 x 10s", "dearer: "));
    plan_free(p);
}
END_TEST

/* A finer grouping of nearly as many groups as series costs more than the rows it saves: then each keeps its own. */
START_TEST(groupings_that_would_not_pay)
{
    struct plan *p =
        plan_of("queries:\n"
                "- {query: 'sum by (a) (sum_over_time(m[5m]))', every: 10s}\n"
                "- {query: 'sum by (b) (sum_over_time(m[5m]))', every: 10s}\n"
                "data: {raw_retention: 0, metrics: {m: {series: 100000, interval: 15s, labels: {a: 300, b: "
                "300}}}}\n");
    ck_assert_uint_eq(p->views_n, 2);
    for (uint32_t v = 0; v < 2; v++)
        ck_assert_uint_eq(p->views[v].reduce_n, 1);
    ck_assert(is_rejected(p, 0, "[by a, b] sum 30 x 10s", "dearer: "));
    plan_free(p);
}
END_TEST

/* What each demand is offered: its own, unions with others', and all: never a set of labels that nobody asks for. */
START_TEST(unions_are_of_what_is_asked_for)
{
    plan_up_to_choice(SMALL("- {query: 'sum by (a) (sum_over_time(m[5m]))', every: 10s}\n"
                            "- {query: 'sum by (b) (sum_over_time(m[5m]))', every: 10s}\n"
                            "- {query: 'sum by (c) (sum_over_time(m[5m]))', every: 10s}\n"
                            "- {query: 'max by (d) (max_over_time(m[5m]))', every: 10s}\n"));
    static const char *const wanted[] = {"",        "[by a] ",    "[by a, b] ", "[by a, c] ", "[by a, b, c] ",
                                         "[by b] ", "[by b, c] ", "[by c] ",    "[by d] "};
    uint32_t wanted_n = sizeof wanted / sizeof wanted[0];
    bool seen[9] = {true};
    for (uint32_t g = 1; g < planning.groupings_n; g++) {
        struct strbuf text = {0};
        strbuf_add_z(&text, "");
        for (uint32_t i = 0; i < planning.candidates_n; i++) {
            if (planning.candidates[i].grouping != g)
                continue;
            struct strbuf line = {0};
            candidate_text(&planning, &planning.candidates[i], &line);
            const char *close = strstr(strbuf_z(&line), "] ");
            strbuf_clear(&text);
            strbuf_add(&text, line.p, (size_t)(close + 2 - line.p));
            strbuf_done(&line);
        }
        bool found = false;
        for (uint32_t i = 0; i < wanted_n; i++) {
            bool is_this = str_eq((struct str){text.p, text.n}, str_of(wanted[i]));
            found |= is_this;
            seen[i] |= is_this;
        }
        ck_assert_msg(found, "nobody asks for %s", strbuf_z(&text));
        strbuf_done(&text);
    }
    for (uint32_t i = 0; i < wanted_n; i++)
        ck_assert_msg(seen[i], "%sis not offered", wanted[i]);
    end();
}
END_TEST

/* More label sets than GROUPINGS_SHARED_MAX: each its own, and the workload still plans. */
START_TEST(many_groupings_do_not_multiply)
{
    struct strbuf yaml = {0};
    strbuf_add_z(&yaml, "queries:\n");
    for (int i = 0; i < 40; i++)
        strbuf_printf(&yaml, "- {query: 'sum by (l%d) (sum_over_time(m[5m]))', every: 10s}\n", i);
    plan_up_to_choice(strbuf_z(&yaml));
    ck_assert_uint_eq(planning.groupings_n, 1 + 40);
    ck_assert_int_eq(planning.answer.status, SELECTION_OPTIMAL);
    end();
    strbuf_done(&yaml);
}
END_TEST

/* One UnivMon for distinct values, entropy and L2 of one label, wide enough for the strictest, where that saves the
 * items' being put into three states. */
START_TEST(one_univmon_for_all)
{
    struct plan *p =
        plan_of("queries:\n"
                "- {query: 'entropy_label_over_time(\"path\", m[5m])', every: 10s, accuracy: none}\n"
                "- {query: 'topk_label_over_time(20, \"path\", m[5m])', every: 10s, accuracy: none}\n"
                "- {query: 'l2_label_over_time(\"path\", m[5m])', every: 10s, accuracy: {relative: 0.05}}\n"
                "data: {raw_retention: 0, metrics: {m: {series: 100000, interval: 15s, labels: {path: 50}}}}\n");
    ck_assert_uint_eq(p->views_n, 1);
    const struct plan_view *v = &p->views[0];
    ck_assert_int_eq(v->family, FAMILY_UNIVMON);
    ck_assert(v->params.depth == 7 && v->params.width == 1992 && v->params.heap == 80);
    ck_assert(!v->per_series && v->reduce_n == 0 && v->input.kind == INPUT_LABEL);
    ck_assert_int_eq(p->queries[0].guarantee.kind, ACCURACY_NONE);
    ck_assert_int_eq(p->queries[2].guarantee.kind, ACCURACY_RELATIVE);
    ck_assert_double_le(p->queries[2].guarantee.error, 0.05);
    plan_free(p);
}
END_TEST

/* A list out of merged heaps: with a target there is no bound that it could meet; without one it is the whole's. */
START_TEST(lists_of_merged_heaps)
{
    struct plan *refused = plan_of(SMALL("- {query: 'topk by (job) (10, sum_over_time(m[5m]))', every: 10s, accuracy: "
                                         "{frequency: 0.01}}\n"
                                         "- {query: 'topk by (job) (10, sum_over_time(m[5m]))', every: 10s}\n"
                                         "- {query: 'topk_label_over_time(3, \"path\", m[5m])', every: 5m, accuracy: "
                                         "{frequency: 0.01}}\n"));
    static const char *const families[] = {"cms_heap", "countsketch_heap", "univmon"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert(is_rejected(refused, 0, families[i], "approximate_merge: "));
        ck_assert(is_rejected(refused, 1, families[i], "misses_accuracy: "));
        ck_assert(is_rejected(refused, 2, families[i], "approximate_merge: "));
    }
    for (uint32_t q = 0; q < 3; q++)
        ck_assert_int_eq(refused->queries[q].guarantee.kind, ACCURACY_EXACT);
    plan_free(refused);
    struct plan *p =
        plan_of("queries:\n- {query: 'topk by (job) (10, sum_over_time(m[5m]))', every: 10s, accuracy: none}\n"
                "data: {raw_retention: 0, metrics: {m: {series: 100000, interval: 15s, labels: {job: 10}}}}\n");
    const struct plan_node *root = root_of(p, 0);
    ck_assert_int_eq(root->op, PLAN_OP_ESTIMATE);
    ck_assert_int_eq(root->out, OUT_VECTOR);
    ck_assert_int_eq(root->statistic, STATISTIC_TOPK);
    ck_assert(str_eq(root->expr_text, p->queries[0].text));
    ck_assert_uint_gt(input_of(p, root, 0)->count, 1);
    ck_assert_int_eq(p->queries[0].guarantee.kind, ACCURACY_NONE);
    plan_free(p);
}
END_TEST

/* Count-Min refuses fractions and what is below zero, which a gauge may be; CountSketch at the same price does not. */
START_TEST(lists_of_a_gauge)
{
    struct plan *p =
        plan_of("queries:\n- {query: 'topk by (job) (10, sum_over_time(m[5m]))', every: 10s, accuracy: none}\n"
                "data: {raw_retention: 0, metrics: {m: {type: gauge, series: 100000, labels: {job: 10}}}}\n");
    ck_assert_int_eq(p->views[0].family, FAMILY_COUNTSKETCH_HEAP);
    ck_assert(is_rejected(p, 0, "[by job] cms_heap", "bad_weights: "));
    plan_free(p);
}
END_TEST

/* Functions of labels have no operands: raw samples are their other candidate, and exact the only one without a target.
 */
START_TEST(functions_of_labels)
{
    struct plan *p =
        plan_of(SMALL("- {query: 'distinct_label_over_time(\"path\", m[5m], \"job\")', every: 10s}\n"
                      "- {query: 'distinct_label_over_time(\"path\", m[5m], \"job\") / 2', every: 10s, accuracy: "
                      "{cardinality: 0.02}}\n"
                      "- {query: 'distinct_label_over_time(\"path\", m[5m], \"job\")', once: true, accuracy: "
                      "{cardinality: 0.02}}\n"));
    ck_assert_int_eq(root_of(p, 0)->op, PLAN_OP_RAW);
    ck_assert(is_rejected(p, 0, "[by job] hll of distinct", "misses_accuracy: "));
    ck_assert_int_eq(root_of(p, 1)->op, PLAN_OP_VECTOR);
    ck_assert_int_eq(input_of(p, root_of(p, 1), 0)->op, PLAN_OP_ESTIMATE);
    ck_assert_int_eq(p->views[0].family, FAMILY_HLL);
    ck_assert_int_eq(p->queries[1].guarantee.kind, ACCURACY_CARDINALITY);
    ck_assert(is_rejected(p, 1, "[by job] kmv", "dearer: "));
    ck_assert(is_rejected(p, 2, "[by job] hll p=15 whole of distinct", "no_cadence: "));
    plan_free(p);
}
END_TEST

/* Nothing asked of a query is nothing asked of what is below it, whichever operator stands between. */
START_TEST(nothing_asked_is_nothing_asked_below)
{
    struct plan *p =
        plan_of("queries: [{query: 'sum(quantile_over_time(0.9, m[5m])) > 3', every: 10s, accuracy: none}]\n"
                "data: {raw_retention: 0}\n");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert(p->views[0].family == FAMILY_KLL || p->views[0].family == FAMILY_DDSKETCH);
    ck_assert_int_eq(p->queries[0].guarantee.kind, ACCURACY_NONE);
    plan_free(p);
}
END_TEST

/* Groups: the product of what `data` counts, 30 of what it does not know, one of what the selector holds still, and no
 * more than series. 100,000 series of m. */
static const struct {
    const char *query;
    double groups;
} counted[] = {
    {"sum(sum_over_time(m[5m]))", 1},
    {"sum by (job) (sum_over_time(m[5m]))", 10},
    {"sum by (job, instance) (sum_over_time(m[5m]))", 200},
    {"sum by (job, unknown) (sum_over_time(m[5m]))", 300},
    {"sum by (job, instance, path, unknown) (sum_over_time(m[5m]))", 100000},
    {"sum by (job, instance) (sum_over_time(m{job=\"a\"}[5m]))", 20},
    {"sum by (job) (sum_over_time(nobody_knows[5m]))", 30},
};

START_TEST(groups_are_counted)
{
    char yaml[400];
    snprintf(yaml, sizeof yaml, SMALL("- {query: '%s', every: 10s}\n"), counted[_i].query);
    plan_up_to_choice(yaml);
    const struct candidate *c = candidate_of(FAMILY_SUM, FORM_CHAIN, true);
    const struct state *s = &planning.states[planning.chains[c->chain].state];
    const struct grouping *g = &planning.groupings[s->grouping];
    ck_assert_double_eq(cost_groups(&planning, s->source, g->by, g->by_n), counted[_i].groups);
    /* Bytes a second: a sum's 24 of each group that has a sample, each 10 s. */
    double series = planning.sources[s->source].series_n;
    double filled = fmin(1, series / counted[_i].groups * 10 / 15);
    size_t bytes = family_get(FAMILY_SUM)->fixed_size;
    ck_assert_double_eq_tol(planning.chains[c->chain].memory_bytes_s, counted[_i].groups * filled / 10 * (double)bytes,
                            1e-6 * series);
    end();
}
END_TEST

/* What states of items are expected to take against what the kernels build of that many: within a factor of two. */
static const struct {
    enum family family;
    struct sketch_params params;
} sized[] = {
    {FAMILY_HLL, {.p = 14}},
    {FAMILY_KMV, {.k = 1024}},
    {FAMILY_CMS, {.depth = 5, .width = 272}},
    {FAMILY_COUNTSKETCH, {.depth = 5, .width = 1992}},
    {FAMILY_CMS_HEAP, {.depth = 7, .width = 272, .heap = 40}},
    {FAMILY_COUNTSKETCH_HEAP, {.depth = 7, .width = 272, .heap = 40}},
    {FAMILY_UNIVMON, {.depth = 7, .width = 272, .heap = 40}},
};

START_TEST(sizes_of_items)
{
    enum { ITEMS_MAX = 20000 };
    static uint64_t keys[ITEMS_MAX];
    static double weights[ITEMS_MAX];
    const struct family_info *f = family_get(sized[_i].family);
    size_t cap = f->size_bound(&sized[_i].params, ITEMS_MAX), room = f->scratch_bound(&sized[_i].params, ITEMS_MAX, 0);
    uint8_t *state = aligned_alloc(64, (cap + 127) & ~(size_t)63),
            *scratch = aligned_alloc(64, (room + 127) & ~(size_t)63);
    srandom(11);
    for (uint32_t n = 1; n <= ITEMS_MAX; n = n < 10 ? n + 3 : n * 2) {
        double built = 0;
        for (int round = 0; round < 5; round++) {
            size_t size = 0;
            for (uint32_t i = 0; i < n; i++) {
                keys[i] = (uint64_t)random() << 32 | (uint64_t)random();
                weights[i] = (double)random() * 16; /* whole: 34 bits */
            }
            const struct sketch_items items = {.keys = keys, .weights = weights, .n = n};
            ck_assert_int_eq(f->build_items(state, cap, &size, &sized[_i].params, &items, 7, scratch), 0);
            built += (double)size / 5;
        }
        double own = state_size_expected(f->family, &sized[_i].params, n) - (f->fixed_size ? 0 : 4);
        ck_assert_msg(own <= 2 * built && built <= 2 * own, "%s of %u items: %.0f bytes, %.0f expected", f->name, n,
                      built, own);
    }
    free(state);
    free(scratch);
}
END_TEST

/* Forced, for comparisons: a family of states by labels leaves no choice of parts, raw none of states. */
START_TEST(forced_forms)
{
    struct workload *w =
        workload_of(SMALL("- {query: 'topk by (job) (10, sum_over_time(m[1m]))', every: 10s, accuracy: none}\n"));
    static const int forced[] = {FORCED_RAW, FAMILY_CMS_HEAP, FAMILY_UNIVMON, FAMILY_SUM};
    for (size_t i = 0; i < sizeof forced / sizeof forced[0]; i++) {
        struct planner_options options = {.forced = forced[i]};
        struct plan *p = NULL;
        ck_assert_msg(planner_plan(w, &options, &p, &e) == 0, "%s", e.message);
        ck_assert_uint_eq(p->views_n, forced[i] == FORCED_RAW ? 0 : 1);
        if (p->views_n > 0) {
            ck_assert_int_eq(p->views[0].family, forced[i]);
            ck_assert(p->views[0].per_series == (forced[i] == FAMILY_SUM));
        }
        plan_free(p);
    }
    workload_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("planner/groups");
    TCase *tcase = tcase_create("groups");
    tcase_add_test(tcase, the_worked_example_adds_up);
    tcase_add_test(tcase, the_plan_that_is_chosen);
    tcase_add_loop_test(tcase, exact_aggregations, 0, sizeof exact / sizeof exact[0]);
    tcase_add_test(tcase, a_plan_owns_its_labels);
    tcase_add_test(tcase, as_parts_of_a_query);
    tcase_add_test(tcase, never_below_a_counter);
    tcase_add_test(tcase, coarser_groupings_share_a_finer);
    tcase_add_test(tcase, groupings_that_would_not_pay);
    tcase_add_test(tcase, unions_are_of_what_is_asked_for);
    tcase_add_test(tcase, many_groupings_do_not_multiply);
    tcase_add_test(tcase, one_univmon_for_all);
    tcase_add_test(tcase, lists_of_merged_heaps);
    tcase_add_test(tcase, lists_of_a_gauge);
    tcase_add_test(tcase, functions_of_labels);
    tcase_add_test(tcase, nothing_asked_is_nothing_asked_below);
    tcase_add_loop_test(tcase, groups_are_counted, 0, sizeof counted / sizeof counted[0]);
    tcase_add_loop_test(tcase, sizes_of_items, 0, sizeof sized / sizeof sized[0]);
    tcase_add_test(tcase, forced_forms);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
