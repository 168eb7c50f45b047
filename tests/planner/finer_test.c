/*
 * Widths finer than the grid asks for. The contract is that they are dominated, with prices said to be what they are:
 * no demand is left with panes of its own while panes a small fraction as wide would cost clearly less.
 */
#include "plan_of.h"

#include <math.h>
#include <string.h>

#include "base/duration.h"
#include "planner/cost.h"
#include "planner/planning.h"
#include "planner/windows.h"

/* Every family that the planner offers, over windows of a few and of many panes. */
static const char *const sites[] = {
    "sum_over_time(x[%s])",
    "count_over_time(x[%s])",
    "avg_over_time(x[%s])",
    "min_over_time(x[%s])",
    "max_over_time(x[%s])",
    "stddev_over_time(x[%s])",
    "deriv(x[%s])",
    "rate(x[%s])",
    "changes(x[%s])",
    "quantile_over_time(0.9, x[%s])",
    "distinct_over_time(x[%s])",
    "present_over_time(x[%s])",
};
static const struct {
    const char *range, *every;
} windows[] = {{"5m", "10s"}, {"5m", "1m"}, {"1m", "1m"}, {"90s", "1m"}, {"1h", "1m"}};
static const char *const targets[] = {"", ", accuracy: {rank: 0.05}", ", accuracy: {relative: 0.01}",
                                      ", accuracy: {cardinality: 0.05}"};

struct offered {
    struct arena arena;
    struct workload *w;
    struct planning p;
};

static void offer_all(struct offered *o, const char *data, const struct cost_model *costs)
{
    static struct planner_options options;
    struct strbuf yaml = {0};
    struct err e = {0};
    strbuf_add_z(&yaml, "queries:\n");
    for (size_t s = 0; s < sizeof sites / sizeof *sites; s++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
                const char *at = strstr(sites[s], "%s");
                strbuf_printf(&yaml, "- {query: '%.*s%s%s', every: %s%s}\n", (int)(at - sites[s]), sites[s],
                              windows[w].range, at + 2, windows[w].every, targets[t]);
            }
    strbuf_printf(&yaml, "%s\nmodels: {planning_deadline: 0s}\n", data);
    options = (struct planner_options){.costs = costs};
    o->w = workload_of(strbuf_z(&yaml));
    arena_init(&o->arena, 0);
    int rc = planning_run(&o->p, o->w, &options, &o->arena, &e);
    ck_assert_msg(rc == 0, "%s", e.message);
    strbuf_done(&yaml);
}

static void done(struct offered *o)
{
    planning_done(&o->p);
    arena_done(&o->arena);
    workload_free(o->w);
}

/* The least that panes offered of this state cost the demand alone. */
static double least_offered(const struct planning *p, const struct demand *d, uint32_t state)
{
    const struct state *s = &p->states[state];
    double least = INFINITY;
    for (uint32_t c = s->first; c < s->first + s->n; c++)
        if (window_aligned(d, p->chains[c].grid))
            least = fmin(least, cost_width(p, d, state, p->chains[c].grid));
    return least;
}

struct seen {
    bool families[FAMILY_END];
    uint32_t checked_n, cheaper_n;
};

/* Of each demand and each state it may read: its own width against all that are 2 to 10 times as fine. */
static void compare_widths(const struct planning *p, double clearly, struct seen *seen)
{
    for (uint32_t i = 0; i < p->candidates_n; i++) {
        const struct candidate *c = &p->candidates[i];
        const struct demand *d = &p->demands[c->demand];
        struct grid own = window_chain(d).ends;
        if (c->when != WHEN_INGESTION || c->form != FORM_CHAIN || c->reason || c->width_ms != own.step_ms)
            continue;
        uint32_t state = p->chains[c->chain].state;
        double offered = least_offered(p, d, state), at_own = cost_width(p, d, state, own);
        for (int64_t n = 2; n <= 10; n++) {
            struct grid finer = {own.step_ms / n, 0};
            if (n == 7 || n == 9 || own.step_ms % n || (double)finer.step_ms < p->sources[d->source].interval_ms ||
                window_limits(d, finer, p->arena))
                continue;
            finer.phase_ms = floor_mod(own.phase_ms, finer.step_ms);
            double cost = cost_width(p, d, state, finer);
            ck_assert_msg(cost >= fmin(offered, at_own * clearly) * (1 - 1e-12),
                          "%s of " STR_FMT ": panes of %lld ms cost %g, of %lld ms %g, the cheapest offered %g",
                          family_get(c->family)->name, STR_ARG(p->logical.nodes[d->node].text),
                          (long long)finer.step_ms, cost, (long long)own.step_ms, at_own, offered);
            seen->families[c->family] = true;
            seen->checked_n++;
            seen->cheaper_n += cost < at_own;
        }
    }
}

/* With the prices and the data that are taken when nothing is said, no finer width is even a little cheaper. */
START_TEST(gcd_widths_are_the_cheapest_by_default)
{
    struct offered o;
    struct seen seen = {0};
    offer_all(&o, "", NULL);
    for (uint32_t i = 0; i < o.p.chains_n; i++)
        ck_assert(!o.p.chains[i].finer);
    compare_widths(&o.p, 1, &seen);
    ck_assert_uint_ge(seen.checked_n, 300);
    static const enum family families[] = {FAMILY_SUM,     FAMILY_COUNT,      FAMILY_MIN,      FAMILY_MAX,
                                           FAMILY_KLL,     FAMILY_COUNTER,    FAMILY_DDSKETCH, FAMILY_HLL,
                                           FAMILY_MOMENTS, FAMILY_REGRESSION, FAMILY_VALUES,   FAMILY_DISTINCT_SET};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        ck_assert_msg(seen.families[families[i]], "%s", family_get(families[i])->name);
    done(&o);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* A price between a hundredth and a hundred times the default. */
static double random_price(uint64_t *state, double price)
{
    return price * pow(10, (double)(next_random(state) % 401) / 100 - 2);
}

/* Whatever a machine's prices are and however dense the samples: what would be clearly cheaper is offered. */
START_TEST(cheaper_widths_are_offered)
{
    static const char *const data[] = {"", "data: {metrics: {x: {interval: 50ms}}}",
                                       "data: {metrics: {x: {interval: 1s, series: 20}}}"};
    struct seen seen = {0};
    uint32_t finer_n = 0;
    for (uint64_t k = 0; k < 12; k++) {
        uint64_t random = k + 1;
        struct cost_model m = cost_defaults;
        m.op_ms = random_price(&random, m.op_ms);
        m.byte_ms = random_price(&random, m.byte_ms);
        m.byte_s_ms = random_price(&random, m.byte_s_ms);
        for (int f = 0; f < FAMILY_END; f++) {
            struct cost_family *family = &m.families[f];
            family->build_row_ms = random_price(&random, family->build_row_ms);
            family->build_state_ms = random_price(&random, family->build_state_ms);
            family->read_state_ms = random_price(&random, family->read_state_ms);
            family->read_result_ms = random_price(&random, family->read_result_ms);
        }
        struct offered o;
        offer_all(&o, data[k % 3], k < 3 ? NULL : &m);
        compare_widths(&o.p, 0.9, &seen);
        for (uint32_t i = 0; i < o.p.chains_n; i++)
            finer_n += o.p.chains[i].finer;
        done(&o);
    }
    ck_assert_uint_ge(finer_n, 5);
    ck_assert_uint_ge(seen.cheaper_n, 100);
}
END_TEST

/* KLL with k = 52 keeps 50 samples in full and 200 as a sketch of 780 bytes: 20 samples a second are kept for less in
 * panes of 2.5 s than of 10 s, and explain says so. */
START_TEST(a_finer_width_is_taken)
{
    struct plan *p = plan_of("queries: [{query: 'quantile_over_time(0.99, x[5m])', every: 10s, phase: 4s,"
                             " accuracy: {rank: 0.05}}]\ndata: {metrics: {x: {interval: 50ms}}}");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_eq(p->views[0].family, FAMILY_KLL);
    ck_assert_int_eq(p->views[0].panes.step_ms, 2500);
    ck_assert_int_eq(p->views[0].panes.phase_ms, 1500);
    ck_assert(is_rejected(p, 0, "kll k=52 30 x 10s of", "dearer: "));
    ck_assert(is_rejected(p, 0, "kll k=52 30 x 10s of", ", the finer panes taken "));
    plan_free(p);
    /* Ten minutes of values and two panes that may be open: 1,200 s in panes of 5 m, 800 s in panes of 100 s, and of
     * both about 4 bytes a sample; of those of 5 m a bit less. */
    p = plan_of("queries: [{query: 'quantile_over_time(0.99, x[10m])', every: 5m}]\ndata: {raw_retention: 0}");
    ck_assert_uint_eq(p->views_n, 1);
    ck_assert_int_lt(p->views[0].panes.step_ms, 300000);
    ck_assert(is_rejected(p, 0, "values 2 x 5m of", ", the finer panes taken "));
    plan_free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/finer");
    TCase *tc = tcase_create("finer");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, gcd_widths_are_the_cheapest_by_default);
    tcase_add_test(tc, cheaper_widths_are_offered);
    tcase_add_test(tc, a_finer_width_is_taken);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
