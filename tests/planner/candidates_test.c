/* Candidates before anything is chosen: window composition, sharing, reasons. Expected grids are docs/PLANNER.md's. */
#include "plan_of.h"

#include "planner/planning.h"

struct offered {
    struct arena arena;
    struct workload *w;
    struct planning p;
};

static void offer(struct offered *o, const char *yaml)
{
    struct err e = {0};
    o->w = workload_of(yaml);
    arena_init(&o->arena, 0);
    int rc = planning_run(&o->p, o->w, NULL, &o->arena, &e);
    ck_assert_msg(rc == 0, "%s", e.message);
}

static void done(struct offered *o)
{
    planning_done(&o->p);
    arena_done(&o->arena);
    workload_free(o->w);
}

/* Candidates of one demand: raw, then by family. */
static const struct candidate *candidate_of(const struct offered *o, uint32_t demand, enum candidate_form form,
                                            enum family family, int64_t width_ms)
{
    const struct demand *d = &o->p.demands[demand];
    for (uint32_t i = d->first; i < d->first + d->n; i++) {
        const struct candidate *c = &o->p.candidates[i];
        if (c->form == form && (form == FORM_RAW || (c->family == family && c->width_ms == width_ms)))
            return c;
    }
    return NULL;
}

/* The table of "Window composition": range, every, and the chain; no panes: composed is not offered. */
static const struct {
    const char *range, *every;
    int64_t width_ms, panes;
} chains[] = {
    {"5m", "1m", 60000, 5},   {"5m", "2m", 60000, 5},   {"10m", "5m", 300000, 2},
    {"90s", "60s", 30000, 3}, {"5m", "45s", 15000, 20}, {"5m", "7s", 1000, 300},
    {"5m", "10s", 10000, 30}, {"1m", "5m", 60000, 1},   {"1m", "1m", 60000, 1},
};

/* Chains that are built at ingestion: those built when they are read stand behind them. */
static uint32_t stored_chains(const struct offered *o)
{
    uint32_t n = 0;
    while (n < o->p.chains_n && o->p.chains[n].when == WHEN_INGESTION && o->p.chains[n].ratio == 0)
        n++;
    return n;
}

START_TEST(widths_are_gcds)
{
    char yaml[200];
    struct offered o;
    snprintf(yaml, sizeof yaml, "queries: [{query: 'sum_over_time(x[%s])', every: %s}]", chains[_i].range,
             chains[_i].every);
    offer(&o, yaml);
    ck_assert_uint_eq(stored_chains(&o), 1);
    ck_assert_int_eq(o.p.chains[0].grid.step_ms, chains[_i].width_ms);
    enum candidate_form form = chains[_i].panes == 1 ? FORM_WHOLE : FORM_CHAIN;
    const struct candidate *c = candidate_of(&o, 0, form, FAMILY_SUM, chains[_i].width_ms);
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_null(c->reason);
    ck_assert_int_eq(c->count, chains[_i].panes);
    done(&o);
}
END_TEST

/* Without a fixed interval there is no chain: once, a rate, one time, and times that share no grid but 1 ms do. */
START_TEST(no_cadence_no_chain)
{
    static const char *const cadences[] = {"once: true", "rate: 1/s", "at: [100]"};
    char yaml[200];
    struct offered o;
    snprintf(yaml, sizeof yaml, "queries: [{query: 'sum_over_time(x[5m])', %s}]", cadences[_i]);
    offer(&o, yaml);
    ck_assert_uint_eq(stored_chains(&o), 0);
    ck_assert_ptr_nonnull(strstr(candidate_of(&o, 0, FORM_WHOLE, FAMILY_SUM, 300000)->reason, "no_cadence"));
    done(&o);
}
END_TEST

/* A schedule's grid is the gcd of its differences; a range query's that of interval and step. Offsets shift the phase.
 */
START_TEST(phases_follow_cadence_and_offset)
{
    struct offered o;
    offer(&o, "queries: [{query: 'sum_over_time(x[5m])', at: [100, 220, 400]},\n"
              "          {query: 'sum_over_time(y[5m] offset 7s)', every: 60s, phase: 3s},\n"
              "          {query: 'sum_over_time(z[5m])', every: 60s, phase: 5s, range: {length: 1h10s, step: 40s}}]");
    ck_assert_uint_eq(stored_chains(&o), 3);
    ck_assert_int_eq(o.p.chains[0].grid.step_ms, 60000); /* 120, 180 s; 100 s mod 60 s */
    ck_assert_int_eq(o.p.chains[0].grid.phase_ms, 40000);
    ck_assert_int_eq(o.p.chains[1].grid.step_ms, 60000); /* 3 - 7 = -4 s */
    ck_assert_int_eq(o.p.chains[1].grid.phase_ms, 56000);
    ck_assert_int_eq(o.p.chains[2].grid.step_ms, 20000); /* gcd 60, 40, 300; 5 - 3610 = -3605 s = 15 s mod 20 s */
    ck_assert_int_eq(o.p.chains[2].grid.phase_ms, 15000);
    done(&o);
}
END_TEST

/* One p99[5m] every 10 s with error 0.05: exact from raw, KLL whole, DDSketch whole, KLL chain, DDSketch chain; and of
 * each family those built when they are read, kept and not, which are dearer: no window is read twice but by itself. */
START_TEST(five_candidates)
{
    struct offered o;
    offer(&o, "queries: [{query: 'quantile_over_time(0.99, x[5m])', every: 10s, accuracy: {error: 0.05}}]");
    uint32_t stored_n = 0;
    for (uint32_t i = 0; i < o.p.demands[0].n; i++) {
        const struct candidate *c = &o.p.candidates[i];
        bool at_query = c->when == WHEN_QUERY || c->when == WHEN_QUERY_KEPT;
        stored_n += !at_query;
        ck_assert(!at_query || strncmp(c->reason, "dearer: ", 8) == 0);
    }
    ck_assert_uint_eq(stored_n, 5);
    ck_assert_uint_eq(o.p.demands[0].n, 5 + 4);
    ck_assert_ptr_null(candidate_of(&o, 0, FORM_RAW, FAMILY_INVALID, 0)->reason);
    static const enum family families[] = {FAMILY_KLL, FAMILY_DDSKETCH};
    for (int i = 0; i < 2; i++) {
        const struct candidate *whole = candidate_of(&o, 0, FORM_WHOLE, families[i], 300000);
        const struct candidate *chain = candidate_of(&o, 0, FORM_CHAIN, families[i], 10000);
        ck_assert_ptr_nonnull(strstr(whole->reason, "not_on_grid"));
        ck_assert_ptr_null(chain->reason);
        ck_assert_int_eq(chain->count, 30);
    }
    ck_assert_uint_eq(candidate_of(&o, 0, FORM_CHAIN, FAMILY_KLL, 10000)->params.k, 52);
    ck_assert_double_eq(candidate_of(&o, 0, FORM_CHAIN, FAMILY_DDSKETCH, 10000)->params.alpha, 0.05);
    done(&o);
}
END_TEST

static const struct candidate *built_when(const struct offered *o, uint32_t demand, enum plan_when when)
{
    const struct demand *d = &o->p.demands[demand];
    for (uint32_t i = d->first; i < d->first + d->n; i++)
        if (o->p.candidates[i].when == when)
            return &o->p.candidates[i];
    return NULL;
}

/*
 * Built at each read: panes that the windows of one run share, whatever the cadence. A run over 1 h by 40 s of [5m] at
 * 1 sample a second: 3,900 rows, each scanned, cut and built once, in 195 panes of 20 s of which 91 windows read 15
 * each.
 */
START_TEST(built_at_each_read)
{
    struct offered o;
    offer(&o, "queries: [{query: 'sum_over_time(x[5m])', rate: 0.01/s, range: {length: 1h, step: 40s}},\n"
              "          {query: 'sum_over_time(x[5m])', rate: 0.01/s},\n"
              "          {query: 'sum_over_time(x[5m])', rate: 0.01/s, range: {length: 1h, step: 10m}}]\n"
              "data: {metrics: {x: {series: 1, interval: 1s}}}");
    const struct candidate *c = built_when(&o, 0, WHEN_QUERY);
    ck_assert_ptr_null(c->reason);
    ck_assert_int_eq(c->width_ms, 20000);
    ck_assert_int_eq(c->count, 15);
    double state = o.p.chains[c->chain].state_bytes;
    double ops = 3 * 3900 + 195 + 91 * 15 + 91, bytes = 3900 * 48 + 2 * 195 * state;
    ck_assert_double_eq_tol(c->run_cost, 1e-6 * ops + 1e-7 * bytes, 1e-9);
    /* One window, or windows apart: nothing is shared, and raw samples are less work. */
    for (uint32_t d = 1; d < 3; d++)
        ck_assert_ptr_nonnull(strstr(built_when(&o, d, WHEN_QUERY)->reason, "dearer: "));
    done(&o);
    /* Raw samples tell a rate from a window's ends, and do not go through it as the model has it. */
    offer(&o, "queries: [{query: 'rate(x[5m])', rate: 0.01/s, range: {length: 1h, step: 40s}}]\n"
              "data: {metrics: {x: {series: 1, interval: 1s}}}");
    c = built_when(&o, 0, WHEN_QUERY);
    ck_assert_double_lt(c->run_cost, o.p.candidates[0].run_cost);
    ck_assert_ptr_nonnull(strstr(c->reason, "dearer: raw samples answer it without"));
    done(&o);
}
END_TEST

/* Kept on first read: where ingestion is never more work it is so said; with gaps between windows, and under @, it may
 * be chosen. Every way reads raw samples, which must be there. */
START_TEST(kept_on_first_read)
{
    struct offered o;
    offer(&o,
          "queries: [{query: 'sum_over_time(x[5m])', every: 1m}, {query: 'sum_over_time(x[5m])', every: 1h},\n"
          "          {query: 'sum_over_time(x[5m] @ 400)', every: 1m}, {query: 'sum_over_time(x[2h])', every: 6h},\n"
          "          {query: 'sum_over_time(x[5m])', rate: 1/s}]\n"
          "data: {raw_retention: 1h, metrics: {x: {series: 1, interval: 1s}}}");
    ck_assert_ptr_nonnull(strstr(built_when(&o, 0, WHEN_QUERY_KEPT)->reason, "dearer: every pane is read"));
    const struct candidate *hourly = built_when(&o, 1, WHEN_QUERY_KEPT), *anchored = built_when(&o, 2, WHEN_QUERY_KEPT);
    ck_assert_ptr_null(hourly->reason);
    ck_assert_ptr_null(anchored->reason);
    /* 300 rows scanned, cut and built into one state, once an hour; under @ once, spread over an hour. */
    const struct chain *made[] = {&o.p.chains[hourly->chain], &o.p.chains[anchored->chain]};
    for (int i = 0; i < 2; i++)
        ck_assert_double_eq_tol(made[i]->build_cost,
                                (1e-6 * (3 * 300 + 1) + 1e-7 * (300 * 48 + made[i]->state_bytes)) / 3600, 1e-12);
    ck_assert_int_eq(made[1]->grid.phase_ms, 100000); /* 400 s mod 300 s */
    ck_assert_ptr_nonnull(strstr(built_when(&o, 3, WHEN_QUERY_KEPT)->reason, "raw_retention: "));
    ck_assert_ptr_nonnull(strstr(built_when(&o, 3, WHEN_QUERY)->reason, "raw_retention: "));
    ck_assert_ptr_nonnull(strstr(built_when(&o, 4, WHEN_QUERY_KEPT)->reason, "no_cadence: "));
    done(&o);
}
END_TEST

/* rate(x[1m]) every 10 s and every 15 s: 5, 10, 15 s are offered; 15 s panes are forbidden to the one, 10 s to the
 * other, and a chain that both read is 5 s. */
START_TEST(mixed_grids)
{
    struct offered o;
    offer(&o, "queries: [{query: 'rate(x[1m])', every: 10s}, {query: 'rate(x[1m])', every: 15s}]");
    ck_assert_uint_eq(stored_chains(&o), 3);
    static const int64_t widths_ms[] = {15000, 10000, 5000};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(o.p.chains[i].grid.step_ms, widths_ms[i]);
    ck_assert_ptr_nonnull(strstr(candidate_of(&o, 0, FORM_CHAIN, FAMILY_COUNTER, 15000)->reason, "misaligned"));
    ck_assert_ptr_nonnull(strstr(candidate_of(&o, 1, FORM_CHAIN, FAMILY_COUNTER, 10000)->reason, "misaligned"));
    ck_assert_int_eq(candidate_of(&o, 0, FORM_CHAIN, FAMILY_COUNTER, 10000)->count, 6);
    ck_assert_int_eq(candidate_of(&o, 1, FORM_CHAIN, FAMILY_COUNTER, 15000)->count, 4);
    for (uint32_t d = 0; d < 2; d++) {
        const struct candidate *both = candidate_of(&o, d, FORM_CHAIN, FAMILY_COUNTER, 5000);
        ck_assert_ptr_null(both->reason);
        ck_assert_int_eq(both->count, 12);
        ck_assert_uint_eq(both->chain, 2);
    }
    done(&o);
}
END_TEST

/* 6, 10, 15 s -> also 2, 3, 5 and 1 s: what a pair adds is paired in turn. */
START_TEST(closure_is_complete)
{
    struct offered o;
    offer(&o, "queries: [{query: 'rate(x[1m])', every: 6s}, {query: 'rate(x[1m])', every: 10s},\n"
              "          {query: 'rate(x[1m])', every: 15s}]");
    static const int64_t widths_ms[] = {15000, 10000, 6000, 5000, 3000, 2000, 1000};
    ck_assert_uint_eq(stored_chains(&o), 7);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(o.p.chains[i].grid.step_ms, widths_ms[i]);
    done(&o);
}
END_TEST

/* 300 intervals, pairwise without a common grid but small ones: too many widths. Each keeps its own, with the reason.
 */
START_TEST(too_many_widths)
{
    struct strbuf yaml = {0};
    struct offered o;
    strbuf_add_z(&yaml, "queries:\n");
    for (int i = 0; i < 300; i++)
        strbuf_printf(&yaml, "- {query: 'rate(x[%ds])', every: %ds}\n", 1000 + i, 1000 + i);
    offer(&o, strbuf_z(&yaml));
    ck_assert_uint_eq(stored_chains(&o), 300);
    for (uint32_t d = 0; d < 300; d++) {
        const struct candidate *own = candidate_of(&o, d, FORM_WHOLE, FAMILY_COUNTER, (1000 + (int64_t)d) * 1000);
        ck_assert_ptr_nonnull(own);
        ck_assert_ptr_null(own->reason);
        ck_assert_ptr_nonnull(strstr(candidate_of(&o, d, FORM_CHAIN, FAMILY_COUNTER, 0)->reason, "max_widths"));
    }
    strbuf_done(&yaml);
    done(&o);
}
END_TEST

/* Panes of more than 24 days do not fit their format, more than 100,000 in a window no limit, less than 100 ms no
 * refresh: reasons, and raw. */
START_TEST(limits_of_panes)
{
    struct offered o;
    offer(&o,
          "queries: [{query: 'sum_over_time(x[30d])', every: 30d}, {query: 'sum_over_time(y[10d])', every: 1s},\n"
          "          {query: 'sum_over_time(z[24d])', every: 24d}, {query: 'sum_over_time(v[15050ms])', every: 15s},\n"
          "          {query: 'sum_over_time(w[15100ms])', every: 15s}]");
    ck_assert_ptr_nonnull(strstr(candidate_of(&o, 0, FORM_WHOLE, FAMILY_SUM, 2592000000)->reason, "pane_too_wide"));
    ck_assert_ptr_nonnull(strstr(candidate_of(&o, 1, FORM_CHAIN, FAMILY_SUM, 1000)->reason, "max_panes"));
    ck_assert_ptr_null(candidate_of(&o, 2, FORM_WHOLE, FAMILY_SUM, 2073600000)->reason);
    ck_assert_ptr_nonnull(strstr(candidate_of(&o, 3, FORM_CHAIN, FAMILY_SUM, 50)->reason, "pane_too_narrow"));
    ck_assert_ptr_null(candidate_of(&o, 4, FORM_CHAIN, FAMILY_SUM, 100)->reason);
    for (uint32_t d = 0; d < 2; d++)
        ck_assert_int_eq(o.p.candidates[o.p.demands[d].chosen].form, FORM_RAW);
    done(&o);
}
END_TEST

/* A weaker demand may read the strictest state of its source and family; its own stands beside it. */
START_TEST(strictest_state_is_shared)
{
    struct offered o;
    offer(&o, "queries: [{query: 'quantile_over_time(0.5, x[1m])', every: 10s, accuracy: {rank: 0.05}},\n"
              "          {query: 'quantile_over_time(0.9, x[1m])', every: 10s, accuracy: {rank: 0.01}}]");
    uint32_t ks[4], n = 0;
    const struct demand *d = &o.p.demands[0];
    for (uint32_t i = d->first; i < d->first + d->n; i++) {
        if (o.p.candidates[i].family == FAMILY_KLL && !o.p.candidates[i].reason)
            ks[n++] = o.p.candidates[i].params.k;
    }
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(ks[0], 52);
    ck_assert_uint_eq(ks[1], 269);
    d = &o.p.demands[1];
    for (uint32_t i = d->first; i < d->first + d->n; i++)
        ck_assert(o.p.candidates[i].family != FAMILY_KLL || o.p.candidates[i].params.k == 269);
    done(&o);
}
END_TEST

/* Queries that agree in site, cadence and target are one demand. Names and parentheses do not matter. */
START_TEST(equal_demands_are_one)
{
    struct offered o;
    offer(&o, "queries: [{name: a, query: 'sum(rate(x[5m]))', every: 1m}, {query: 'max((rate(x[5m])))', every: 60s},\n"
              "          {query: 'rate(x[5m])', every: 2m}]");
    ck_assert_uint_eq(o.p.demands_n, 2);
    ck_assert_uint_eq(o.p.demands[0].queries_n, 2);
    done(&o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/candidates");
    TCase *tc = tcase_create("candidates");
    tcase_add_loop_test(tc, widths_are_gcds, 0, sizeof chains / sizeof *chains);
    tcase_add_loop_test(tc, no_cadence_no_chain, 0, 3);
    tcase_add_test(tc, phases_follow_cadence_and_offset);
    tcase_add_test(tc, five_candidates);
    tcase_add_test(tc, built_at_each_read);
    tcase_add_test(tc, kept_on_first_read);
    tcase_add_test(tc, mixed_grids);
    tcase_add_test(tc, closure_is_complete);
    tcase_add_test(tc, too_many_widths);
    tcase_add_test(tc, limits_of_panes);
    tcase_add_test(tc, strictest_state_is_shared);
    tcase_add_test(tc, equal_demands_are_one);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
