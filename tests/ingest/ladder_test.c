/*
 * Property: a window read by roll-ups equals the same window read from the flat chain and from raw samples, for random
 * widths, ratios, phases, gaps, resets, stale markers, late samples (into open, early and sealed windows), at times on
 * and off the grid, instant and range, through crashes, restarts and ladders added to a chain that is there. Bit-equal
 * to the flat chain for all families but sums (1e-9) and KLL (its rank bound).
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "base/float_text.h"
#include "base/stats.h"
#include "ingest/rig.h"
#include "plan/file.h"
#include "plan/logical.h"
#include "store/pane.h"
#include "suite.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, SERIES = 4, LEVELS_MAX = 4 };

static struct rig rig;
static unsigned long long state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((state >> 33) % below);
}

/* ---- plans ---- */

static const struct {
    enum family family;
    struct sketch_params params;
} views[] = {
    {FAMILY_MAX, {0}},       {FAMILY_COUNT, {0}},   {FAMILY_MIN, {0}},        {FAMILY_SUM, {0}},
    {FAMILY_MOMENTS, {0}},   {FAMILY_COUNTER, {0}}, {FAMILY_KLL, {.k = 40}},  {FAMILY_DDSKETCH, {.alpha = 0.02}},
    {FAMILY_HLL, {.p = 10}}, {FAMILY_VALUES, {0}},  {FAMILY_REGRESSION, {0}},
};
enum { VIEWS = sizeof views / sizeof *views };

enum kind { BITS = 1, NEAR, SKETCH /* bit-equal to the flat chain, raw says something else */, RANK };
static const struct {
    const char *text;
    uint32_t view;
    enum kind kind;
    struct accuracy target;
} queries[] = {
    {"max_over_time(m", 0, BITS, {.kind = ACCURACY_EXACT}},
    {"count_over_time(m", 1, BITS, {.kind = ACCURACY_EXACT}},
    {"min_over_time(m", 2, BITS, {.kind = ACCURACY_EXACT}},
    {"sum_over_time(m", 3, NEAR, {.kind = ACCURACY_EXACT}},
    {"avg_over_time(m", 3, NEAR, {.kind = ACCURACY_EXACT}},
    {"stddev_over_time(m", 4, NEAR, {.kind = ACCURACY_EXACT}},
    {"rate(m", 5, NEAR, {.kind = ACCURACY_EXACT}},
    {"changes(m", 5, BITS, {.kind = ACCURACY_EXACT}},
    {"resets(m", 5, BITS, {.kind = ACCURACY_EXACT}},
    {"irate(m", 5, NEAR, {.kind = ACCURACY_EXACT}},
    {"last_over_time(m", 5, BITS, {.kind = ACCURACY_EXACT}},
    {"quantile_over_time(0.9, m", 6, RANK, {ACCURACY_RANK, 0.2, 0.01}},
    {"quantile_over_time(0.75, m", 7, SKETCH, {ACCURACY_RELATIVE, 0.02, 0}},
    {"distinct_over_time(m", 8, SKETCH, {ACCURACY_CARDINALITY, 0.2, 0.35}},
    {"quantile_over_time(0.5, m", 9, BITS, {.kind = ACCURACY_EXACT}},
    {"deriv(m", 10, NEAR, {.kind = ACCURACY_EXACT}},
};
enum { QUERIES = sizeof queries / sizeof *queries };

/* What a round is about. */
struct shape {
    struct grid base, levels[LEVELS_MAX];
    uint32_t levels_n, panes_n, views_n;
    int64_t offset_ms;
};
static struct shape shape;
static struct plan *flat; /* the same without roll-ups */

static void query_text(size_t i, char *ret, size_t size)
{
    char range[DURATION_TEXT_MAX], offset[DURATION_TEXT_MAX], clause[80] = "";
    duration_format(shape.panes_n * shape.base.step_ms, range);
    duration_format(shape.offset_ms, offset);
    if (shape.offset_ms)
        snprintf(clause, sizeof clause, " offset %s", offset);
    snprintf(ret, size, "%s[%s]%s)", queries[i].text, range, clause);
}

struct maker {
    struct plan *plan;
    struct plan_node *nodes;
    uint32_t *edges;
    struct plan_view *views;
    struct plan_query *queries;
    uint32_t *uses;
};

static struct plan_node *add_node(struct maker *m, enum plan_op op, enum plan_half half, const uint32_t *in)
{
    struct plan_node *n = &m->nodes[m->plan->nodes_n++];
    *n = (struct plan_node){.op = op,
                            .half = half,
                            .out = plan_op_out(op),
                            .in_first = m->plan->edges_n,
                            .in_n = in != NULL,
                            .source = PLAN_NONE,
                            .view = PLAN_NONE,
                            .stored_root = PLAN_NONE};
    if (in)
        m->edges[m->plan->edges_n++] = *in;
    return n;
}

static void add_view(struct maker *m, uint32_t kind, struct grid panes, uint32_t below, uint32_t input)
{
    uint32_t id = m->plan->views_n++, panes_n = (uint32_t)(shape.panes_n * shape.base.step_ms / panes.step_ms);
    struct plan_node *n = add_node(m, below == PLAN_NONE ? PLAN_OP_BUILD : PLAN_OP_MERGE, HALF_PRECOMPUTE, &input);
    int64_t reach_ms = (shape.panes_n + 40) * shape.base.step_ms + MINUTE;
    n->view = id;
    m->views[id] = (struct plan_view){.node = m->plan->nodes_n - 1,
                                      .source = 0,
                                      .family = views[kind].family,
                                      .params = views[kind].params,
                                      .input = {.kind = INPUT_VALUE},
                                      .per_series = true,
                                      .panes = panes,
                                      .panes_n = panes_n,
                                      .retention_ms = 3 * reach_ms + 2 * panes.step_ms,
                                      .backfill_ms = (3 * reach_ms / panes.step_ms + 1) * panes.step_ms,
                                      .when = WHEN_INGESTION,
                                      .level_of = below};
    struct view_definition definition = plan_view_definition(m->plan, id);
    view_identity(&definition, m->views[id].identity);
}

static void add_query(struct maker *m, size_t i)
{
    char text[200];
    struct err e = {0};
    struct site site;
    query_text(i, text, sizeof text);
    struct plan_node *read = add_node(m, PLAN_OP_PANE_READ, HALF_QUERY, NULL);
    uint32_t at = m->plan->nodes_n - 1;
    read->view = queries[i].view;
    read->count = shape.panes_n;
    read->offset_ms = shape.offset_ms;
    struct plan_node *n = add_node(m, PLAN_OP_ESTIMATE, HALF_QUERY, &at);
    ck_assert_int_eq(plan_add_expr(m->plan, str_of(text), &n->expr, &n->expr_text, &e), 0);
    ck_assert_msg(site_of(n->expr, &site), "%s", text);
    n->statistic = site.statistic;
    n->q = site.q;
    m->uses[m->plan->queries_n] = queries[i].view;
    m->queries[m->plan->queries_n] = (struct plan_query){
        .text = n->expr_text,
        .cadence = {.kind = CADENCE_EVERY,
                    .every_ms = shape.base.step_ms,
                    .phase_ms = grid_through(shape.base.phase_ms + shape.offset_ms, shape.base.step_ms).phase_ms,
                    .length_ms = 20 * shape.base.step_ms,
                    .step_ms = shape.base.step_ms},
        .target = queries[i].target,
        .guarantee = queries[i].target,
        .root = m->plan->nodes_n - 1,
        .uses = &m->uses[m->plan->queries_n],
        .uses_n = 1};
    m->plan->queries_n++;
}

static struct plan *plan_with(const struct rig *r, uint32_t levels_n)
{
    static const struct matcher name = {.name = STR("__name__"), .op = MATCH_EQ, .value = STR("m")};
    struct plan *made = plan_new(), *plan;
    struct arena *a = made->arena;
    enum { ALL = VIEWS * (LEVELS_MAX + 1) };
    struct maker m = {made,
                      ARENA_ARRAY(a, struct plan_node, 1 + ALL + 2 * QUERIES),
                      ARENA_ARRAY(a, uint32_t, ALL + QUERIES),
                      ARENA_ARRAY(a, struct plan_view, ALL),
                      ARENA_ARRAY(a, struct plan_query, QUERIES),
                      ARENA_ARRAY(a, uint32_t, QUERIES)};
    struct plan_source *source = ARENA_ARRAY(a, struct plan_source, 1);
    struct err e = {0};
    *source = (struct plan_source){.matchers_n = 1};
    ck_assert_int_eq(plan_add_matchers(made, &name, 1, &source->matchers, &e), 0);
    *made = (struct plan){.sources = source,
                          .nodes = m.nodes,
                          .edges = m.edges,
                          .views = m.views,
                          .queries = m.queries,
                          .sources_n = 1,
                          .sketch_seed = store_sketch_seed(r->store),
                          .solver = {.status = STR("by hand")},
                          .arena = a,
                          .compiled = made->compiled,
                          .compiled_n = made->compiled_n,
                          .compiled_cap = made->compiled_cap};
    add_node(&m, PLAN_OP_SCAN, HALF_PRECOMPUTE, NULL)->source = 0;
    for (uint32_t k = 0; k < shape.views_n; k++)
        add_view(&m, k, shape.base, PLAN_NONE, 0);
    for (uint32_t level = 0; level < levels_n; level++)
        for (uint32_t k = 0; k < shape.views_n; k++) {
            uint32_t below = level * shape.views_n + k;
            add_view(&m, k, shape.levels[level], below, m.views[below].node);
        }
    for (size_t i = 0; i < QUERIES; i++)
        if (queries[i].view < shape.views_n)
            add_query(&m, i);
    struct strbuf text = {0};
    plan_write(made, &text);
    int code = plan_read((struct str){text.p, text.n}, &plan, &e);
    ck_assert_msg(code == 0, "%s", e.message);
    strbuf_done(&text);
    plan_free(made);
    return plan;
}

static struct plan *ladder_plan(const struct rig *r)
{
    plan_free(flat);
    flat = plan_with(r, 0);
    return plan_with(r, shape.levels_n);
}

static struct plan *flat_plan(const struct rig *r)
{
    return plan_with(r, 0);
}

static void open_with(struct plan *(*plan_of)(const struct rig *r))
{
    rig = (struct rig){.plan_of = plan_of};
    rig_open(&rig, NULL);
}

static void replan(struct plan *(*plan_of)(const struct rig *r))
{
    struct plan *before = rig.plan;
    struct err e = {0};
    rig.plan_of = plan_of;
    rig.plan = plan_of(&rig);
    ck_assert_int_eq(ingest_set_plan(rig.ingest, rig.plan, &e), 0);
    plan_free(before);
}

static void done(void)
{
    rig_done(&rig);
    plan_free(flat);
    flat = NULL;
}

/* ---- samples ---- */

static const char *const names[SERIES] = {"m{s=\"0\"}", "m{s=\"1\"}", "m{s=\"2\"}", "m{s=\"3\"}"};
static double values[SERIES];
static struct rig_sample held[4000];
static int64_t held_until_ms[4000];
static int held_n;

static double next_value(int series)
{
    double v = values[series];
    if (series == 0) /* a counter that sometimes starts anew */
        v = draw(40) == 0 ? draw(5) : v + draw(100) / 4.0;
    else if (series == 1)
        v = ((double)draw(2000000) - 1000000) / 1000;
    else
        v = exp(draw(1000) / 100.0);
    return values[series] = v;
}

/* One every interval or so; some are held back, a few for long; series 3 is there now and then. */
static void send_span(int64_t from_ms, int64_t to_ms, int64_t interval_ms, uint32_t late_one_in)
{
    for (int64_t t = from_ms; t <= to_ms; t += interval_ms) {
        static struct rig_sample batch[4000];
        size_t n = 0;
        for (int i = 0; i < held_n; i++)
            if (held_until_ms[i] <= t) {
                batch[n++] = held[i];
                held[i] = held[--held_n];
                held_until_ms[i--] = held_until_ms[held_n];
            }
        for (int s = 0; s < SERIES; s++) {
            struct rig_sample sample = {names[s], t - draw((uint32_t)interval_ms), next_value(s)};
            if (draw(40) == 0)
                sample.value = float_stale();
            if (draw(10) == 0 || (s == 3 && t / (300 * SECOND) % 3 == 0))
                continue;
            bool very_late = draw(late_one_in) == 0;
            if (very_late || draw(15) == 0) {
                held[held_n] = sample;
                held_until_ms[held_n++] = t + (very_late ? 200 : 20) * SECOND;
            } else {
                batch[n++] = sample;
            }
        }
        if (n)
            ck_assert_int_eq(rig_send(&rig, batch, n, t, NULL), 0);
        rig_tick(&rig, t);
    }
}

/* ---- answers ---- */

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, 8) == 0 || (isnan(a) && isnan(b));
}

static bool near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= fmax(1e-12, 1e-9 * fmax(fabs(a), fabs(b)));
}

static void ask(const struct plan *plan, const char *text, const struct query_options *o, struct arena *a,
                struct result *ret)
{
    struct executor x = {.plan = plan, .source = ingest_source(rig.ingest)};
    struct err e = {0};
    int code = query_run(&x, str_of(text), o, a, ret, &e);
    ck_assert_msg(code == 0, "%s: %s", text, e.message);
}

static const double *values_of(const struct result *r, const struct labels *labels)
{
    for (uint32_t i = 0; i < r->series_n; i++)
        if (labels_cmp(&r->series[i].labels, labels) == 0)
            return r->series[i].v;
    return NULL;
}

struct tally {
    uint64_t ladder_states_n, flat_states_n;
    uint32_t answers_n, panes_n;
};

static void check_values(size_t i, const char *text, const struct result *ladder, const struct result *flat_answer,
                         const struct result *raw, struct tally *tally)
{
    ck_assert_msg(ladder->series_n == flat_answer->series_n && ladder->series_n == raw->series_n,
                  "%s: %u series, flat %u, raw %u", text, ladder->series_n, flat_answer->series_n, raw->series_n);
    for (uint32_t s = 0; s < raw->series_n; s++) {
        const double *a = values_of(ladder, &raw->series[s].labels),
                     *b = values_of(flat_answer, &raw->series[s].labels);
        const double *c = raw->series[s].v;
        ck_assert(a && b);
        for (uint32_t t = 0; t < raw->times.n; t++) {
            if (queries[i].kind != RANK && queries[i].kind != NEAR)
                ck_assert_msg(same_bits(a[t], b[t]), "%s step %u: %.17g, flat %.17g, raw %.17g", text, t, a[t], b[t],
                              c[t]);
            if (queries[i].kind == BITS)
                ck_assert_msg(same_bits(a[t], c[t]), "%s step %u: %.17g, raw %.17g", text, t, a[t], c[t]);
            if (queries[i].kind == NEAR)
                ck_assert_msg(near(a[t], c[t]) && near(a[t], b[t]), "%s step %u: %.17g, flat %.17g, raw %.17g", text, t,
                              a[t], b[t], c[t]);
            tally->answers_n++;
        }
    }
}

/* The share of raw samples at or below what KLL says is within twice its 99 % rank error, and the pane's own grain. */
static void check_rank(const struct result *ladder, int64_t at_ms)
{
    char range[DURATION_TEXT_MAX], text[300], offset[DURATION_TEXT_MAX];
    duration_format(shape.panes_n * shape.base.step_ms, range);
    duration_format(shape.offset_ms, offset);
    for (uint32_t s = 0; s < ladder->series_n; s++) {
        const struct str label = labels_get(&ladder->series[s].labels, STR("s"));
        double n, at[2];
        bool found;
        const double bound = 2 * kll_rank_error(40);
        snprintf(text, sizeof text, "count_over_time(m{s=\"%.*s\"}[%s] offset %s)", (int)label.n, label.p, range,
                 offset);
        n = rig_value(&rig, text, at_ms, true, &found);
        ck_assert(found);
        for (int k = 0; k < 2; k++) {
            double q = fmin(1, fmax(0, 0.9 + (k ? 1 : -1) * (bound + 1 / n)));
            snprintf(text, sizeof text, "quantile_over_time(%.6f, m{s=\"%.*s\"}[%s] offset %s)", q, (int)label.n,
                     label.p, range, offset);
            at[k] = rig_value(&rig, text, at_ms, true, &found);
        }
        double v = ladder->series[s].v[0];
        ck_assert_msg(v >= at[0] && v <= at[1], "rank: %.17g is not within %.17g and %.17g of %g samples", v, at[0],
                      at[1], n);
    }
}

static void check_at(int64_t at_ms, bool range, struct tally *tally)
{
    for (size_t i = 0; i < QUERIES; i++) {
        char text[200];
        struct arena a;
        struct result ladder, flat_answer, raw;
        if (queries[i].view >= shape.views_n)
            continue;
        struct query_options o = {.start_ms = at_ms, .end_ms = at_ms};
        if (range)
            o = (struct query_options){
                .start_ms = at_ms - 20 * shape.base.step_ms, .end_ms = at_ms, .step_ms = shape.base.step_ms};
        arena_init(&a, 0);
        query_text(i, text, sizeof text);
        ask(rig.plan, text, &o, &a, &ladder);
        ask(flat, text, &o, &a, &flat_answer);
        o.exact = true;
        ask(rig.plan, text, &o, &a, &raw);
        check_values(i, text, &ladder, &flat_answer, &raw, tally);
        if (queries[i].kind == RANK && !range)
            check_rank(&ladder, at_ms);
        tally->ladder_states_n += ladder.states_n;
        tally->flat_states_n += flat_answer.states_n;
        tally->panes_n += (ladder.sources & SOURCE_PANES) != 0;
        arena_done(&a);
    }
}

static void check_some(int64_t newest_ms, int n, struct tally *tally)
{
    for (int k = 0; k < n; k++) {
        int64_t back_ms = draw((uint32_t)(shape.panes_n * shape.base.step_ms));
        int64_t at_ms = newest_ms + shape.offset_ms - (draw(3) ? back_ms : (int64_t)draw(8) * shape.base.step_ms);
        bool range = draw(3) == 0;
        if (draw(4) || range)
            at_ms -= floor_mod(at_ms - shape.offset_ms - shape.base.phase_ms, shape.base.step_ms);
        check_at(at_ms, range, tally);
    }
}

static void shape_draw(void)
{
    static const uint32_t ratios[] = {2, 3, 4, 8};
    shape = (struct shape){.base.step_ms = 5 * SECOND, .panes_n = 61 + draw(100), .views_n = VIEWS};
    shape.base.phase_ms = draw(2) ? draw(5000) : 0;
    shape.offset_ms = draw(3) == 0 ? (int64_t)draw(40000) : 0;
    struct grid below = shape.base;
    uint32_t ratio = ratios[draw(4)];
    while (shape.levels_n < LEVELS_MAX && 2 * below.step_ms * ratio <= shape.panes_n * shape.base.step_ms) {
        struct grid *g = &shape.levels[shape.levels_n++];
        g->step_ms = below.step_ms * ratio;
        g->phase_ms = below.phase_ms + draw(ratio) * below.step_ms;
        below = *g;
        if (draw(5) == 0)
            ratio = ratios[draw(4)];
    }
}

START_TEST(ladder_is_flat_is_raw)
{
    state = suite_seed("ingest/ladder") + (unsigned long long)_i * 977;
    shape_draw();
    held_n = 0;
    struct tally tally = {0};
    int64_t range_ms = shape.panes_n * shape.base.step_ms, from_ms = 400LL * 3600 * 1000 + draw(1000000);
    int64_t interval_ms = 500 + draw(4000), at_ms = from_ms + 2 * range_ms;
    open_with(_i % 3 == 0 ? flat_plan : ladder_plan);
    const uint32_t late_one_in = _i % 4 == 3 ? 400 : 1 << 30;
    send_span(from_ms, at_ms, interval_ms, late_one_in);
    if (_i % 3 == 0) { /* a ladder over a chain that is there */
        replan(ladder_plan);
        check_some(at_ms, 1, &tally); /* before anything of it is built */
        rig_tick(&rig, at_ms);
    }
    check_some(at_ms, 5, &tally);
    if (_i % 3 == 1)
        rig_crash(&rig);
    if (_i % 3 == 2)
        rig_reopen(&rig);
    check_some(at_ms, 2, &tally);
    send_span(at_ms, at_ms + range_ms, interval_ms, late_one_in);
    check_some(at_ms + range_ms, 6, &tally);
    printf("ratio levels %u, %u panes: %llu states, flat %llu, of %u answers\n", shape.levels_n, shape.panes_n,
           (unsigned long long)tally.ladder_states_n, (unsigned long long)tally.flat_states_n, tally.answers_n);
    ck_assert_uint_gt(tally.panes_n, 0);
    /* Series with late samples in sealed windows are read from raw samples behind them, pane by pane. */
    ck_assert_uint_lt(tally.ladder_states_n, _i % 4 == 3 ? tally.flat_states_n : tally.flat_states_n * 2 / 3);
    done();
}
END_TEST

/* ---- known counts: windows of 150 panes, ratio 4, levels of 4, 16 and 64 ---- */

static const int64_t t0 = 64 * 10 * SECOND * 2000000LL; /* where a pane of each level ends */

static void regular_shape(void)
{
    shape = (struct shape){.base = {10 * SECOND, 0}, .panes_n = 150, .views_n = 1, .levels_n = 3};
    for (uint32_t i = 0; i < 3; i++)
        shape.levels[i] = (struct grid){shape.base.step_ms << 2 * (i + 1), 0};
}

/* Sample k of the series, of value k, stands in the middle of pane k behind t0. */
static void send_regular(int first, int last)
{
    for (int k = first; k < last; k++) {
        struct rig_sample sample = {names[0], t0 + k * 10 * SECOND + 5 * SECOND, k};
        ck_assert_int_eq(rig_send(&rig, &sample, 1, sample.time_ms, NULL), 0);
        rig_tick(&rig, sample.time_ms);
    }
}

/* States that one evaluation `panes` panes behind t0 reads; its value is the newest sample's. */
static uint64_t states_at(const struct plan *plan, int panes)
{
    char text[200];
    struct arena a;
    struct result r;
    struct query_options o = {.start_ms = t0 + panes * 10 * SECOND, .end_ms = t0 + panes * 10 * SECOND};
    arena_init(&a, 0);
    query_text(0, text, sizeof text);
    ask(plan, text, &o, &a, &r);
    ck_assert_uint_eq(r.series_n, 1);
    ck_assert_double_eq(r.series[0].v[0], panes - 1);
    ck_assert_uint_eq(r.sources, SOURCE_PANES);
    arena_done(&a);
    return r.states_n;
}

static struct ingest_view_status status_of(uint32_t view)
{
    struct ingest_view_status status;
    ingest_view_status(rig.ingest, rig.plan->views[view].identity, &status);
    return status;
}

/* 192 = 3 x 64: the window begins 22 panes before a multiple of 64: two of 1, one of 4, one of 16, then two of 64.
 * 255: ends 63 behind one, which are three of each; begins 23 before one: three of 1, one of 4, one of 16; one of 64.
 */
START_TEST(few_states_are_read)
{
    regular_shape();
    open_with(ladder_plan);
    send_regular(0, 258);
    ck_assert_uint_eq(states_at(rig.plan, 192), 6);
    ck_assert_uint_eq(states_at(rig.plan, 255), 15);
    /* Over all places the mean is what the planner reckons with: 3 of each of three levels, 151 / 64 - 1 of the top. */
    uint64_t all_n = 0;
    for (int panes = 192; panes < 256; panes++)
        all_n += states_at(rig.plan, panes);
    printf("windows of 150 panes: %.2f states each on average, flat 150\n", (double)all_n / 64);
    ck_assert_uint_eq(all_n, 64 * 9 + 151 - 64);
    ck_assert_uint_eq(states_at(flat, 192), 150);
    ck_assert_uint_eq(states_at(flat, 255), 150);
    done();
}
END_TEST

/* Whatever has been sealed was sealed below first, at every moment and behind a kill at any. */
START_TEST(levels_follow_what_they_roll_up)
{
    regular_shape();
    open_with(ladder_plan);
    for (int k = 0; k < 200; k += 5) {
        send_regular(k, k + 5);
        if (k % 50 == 45)
            rig_crash(&rig);
        for (uint32_t v = 1; v < rig.plan->views_n; v++)
            ck_assert_int_le(status_of(v).sealed_to_ms, status_of(rig.plan->views[v].level_of).sealed_to_ms);
    }
    ck_assert_int_eq(status_of(3).sealed_to_ms, t0 + 192 * 10 * SECOND);
    ck_assert_uint_eq(states_at(rig.plan, 192), 6);
    done();
}
END_TEST

/* A ladder over a chain that is there: its panes stay, levels are merged from them, and no raw window is read but the
 * open ones, which any change of plan reads again. */
START_TEST(a_ladder_is_built_from_the_panes_there_are)
{
    regular_shape();
    open_with(flat_plan);
    send_regular(0, 258);
    struct ingest_view_status before = status_of(0);
    int64_t reads[2];
    for (int ladder = 0; ladder < 2; ladder++) {
        int64_t start = stats_value("mullion_raw_window_reads_total", "");
        replan(ladder ? ladder_plan : flat_plan);
        rig_tick(&rig, t0 + 257 * 10 * SECOND + 5 * SECOND);
        reads[ladder] = stats_value("mullion_raw_window_reads_total", "") - start;
    }
    ck_assert_int_eq(reads[1], reads[0]);
    ck_assert_int_eq(status_of(0).sealed_to_ms, before.sealed_to_ms);
    ck_assert_uint_eq(status_of(0).store_view, before.store_view);
    for (uint32_t v = 1; v < rig.plan->views_n; v++)
        ck_assert_int_le(status_of(v).complete_from_ms, t0);
    ck_assert_uint_eq(states_at(rig.plan, 192), 6);
    ck_assert_uint_eq(states_at(rig.plan, 255), 15);
    done();
}
END_TEST

/* A roll-up whose window is lost: the panes below stand in, three levels down where need be. */
START_TEST(a_lost_roll_up_is_read_from_below)
{
    regular_shape();
    open_with(ladder_plan);
    send_regular(0, 258);
    struct store_txn *t;
    struct err e = {0};
    uint32_t dropped;
    ck_assert_int_eq(store_write_begin(rig.store, &t, &e), 0);
    ck_assert_int_eq(pane_drop(t, status_of(3).store_view, INT64_MAX, &dropped, &e), 0);
    ck_assert_uint_gt(dropped, 0);
    ck_assert_int_eq(store_write_commit(t, &e), 0);
    ck_assert_uint_eq(states_at(rig.plan, 192), 4 + 2 * 4);
    done();
}
END_TEST

/* A sample that comes late into sealed windows makes its series dirty on every level: the answer has it at once. */
START_TEST(a_late_sample_is_dirty_on_every_level)
{
    regular_shape();
    open_with(ladder_plan);
    send_regular(0, 258);
    struct rig_sample late = {names[0], t0 + 100 * 10 * SECOND + 6 * SECOND, 1e6};
    ck_assert_int_eq(rig_send(&rig, &late, 1, t0 + 257 * 10 * SECOND + 6 * SECOND, NULL), 0);
    for (uint32_t v = 0; v < rig.plan->views_n; v++)
        ck_assert_uint_eq(status_of(v).dirty_series, 1);
    for (int pass = 0; pass < 2; pass++) {
        bool found;
        char text[200];
        query_text(0, text, sizeof text);
        ck_assert_double_eq(rig_value(&rig, text, t0 + 192 * 10 * SECOND, false, &found), 1e6);
        ck_assert_double_eq(rig_value(&rig, text, t0 + 255 * 10 * SECOND, false, &found), 254);
        rig_crash(&rig);
    }
    done();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/ladder");
    TCase *tcase = tcase_create("ladder");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, ladder_is_flat_is_raw, 0, 8);
    tcase_add_test(tcase, few_states_are_read);
    tcase_add_test(tcase, levels_follow_what_they_roll_up);
    tcase_add_test(tcase, a_ladder_is_built_from_the_panes_there_are);
    tcase_add_test(tcase, a_lost_roll_up_is_read_from_below);
    tcase_add_test(tcase, a_late_sample_is_dirty_on_every_level);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
