/*
 * Choice against exhaustive enumeration on small random workloads: every combination of allowed candidates is priced
 * here from scratch. The per-query choice never beats the optimum, never loses to raw alone or to each query planned on
 * its own, and no single query could be moved to something cheaper.
 */
#include "plan_of.h"

#include <math.h>

#include "planner/cost.h"

enum { COMBINATIONS_MAX = 200000 };

/* The whole of a choice: every run, every chain and read in use once. */
static double total_of(const struct planning *p, const uint32_t *chosen)
{
    double total = 0;
    for (uint32_t d = 0; d < p->demands_n; d++)
        total += p->candidates[chosen[d]].query_cost;
    bool *read_used = calloc(p->reads_n + 1, sizeof *read_used);
    for (uint32_t c = 0; c < p->chains_n; c++) {
        const struct chain *chain = &p->chains[c];
        int64_t reach_ms = 0;
        for (uint32_t d = 0; d < p->demands_n; d++) {
            if (p->candidates[chosen[d]].form == FORM_RAW || p->candidates[chosen[d]].chain != c)
                continue;
            int64_t its_ms = cost_reach_ms(&p->demands[d], chain->grid.step_ms);
            reach_ms = its_ms > reach_ms ? its_ms : reach_ms;
        }
        if (reach_ms == 0)
            continue;
        total += chain->build_cost + cost_memory(chain, cost_retention_ms(reach_ms, chain->grid.step_ms));
        if (!read_used[chain->read])
            total += p->reads[chain->read].cost;
        read_used[chain->read] = true;
    }
    free(read_used);
    return total;
}

/* The next combination of allowed candidates; false after the last. */
static bool next_choice(const struct planning *p, uint32_t *chosen)
{
    for (uint32_t d = 0; d < p->demands_n; d++) {
        const struct demand *demand = &p->demands[d];
        while (++chosen[d] < demand->first + demand->n && p->candidates[chosen[d]].reason)
            ;
        if (chosen[d] < demand->first + demand->n)
            return true;
        chosen[d] = demand->first;
        while (p->candidates[chosen[d]].reason)
            chosen[d]++;
    }
    return false;
}

static double combinations(const struct planning *p)
{
    double n = 1;
    for (uint32_t d = 0; d < p->demands_n; d++) {
        int allowed_n = 0;
        for (uint32_t i = p->demands[d].first; i < p->demands[d].first + p->demands[d].n; i++)
            allowed_n += !p->candidates[i].reason;
        n *= allowed_n;
    }
    return n;
}

static double best_of_all(const struct planning *p)
{
    uint32_t *chosen = calloc(p->demands_n, sizeof *chosen);
    for (uint32_t d = 0; d < p->demands_n; d++) {
        chosen[d] = p->demands[d].first;
        while (p->candidates[chosen[d]].reason)
            chosen[d]++;
    }
    double best = INFINITY;
    do
        best = fmin(best, total_of(p, chosen));
    while (next_choice(p, chosen));
    free(chosen);
    return best;
}

static void random_workload(struct strbuf *yaml)
{
    static const char *const functions[] = {"sum_over_time", "rate", "avg_over_time", "count_over_time"};
    static const char *const ranges[] = {"1m", "2m", "5m"}, *const everies[] = {"10s", "15s", "30s", "1m"};
    int n = 2 + (int)(random() % 4);
    strbuf_add_z(yaml, "queries:\n");
    for (int i = 0; i < n; i++)
        strbuf_printf(yaml, "- {query: '%s(m%ld[%s])', every: %s}\n", functions[random() % 4], random() % 2,
                      ranges[random() % 3], everies[random() % 4]);
    static const char *const intervals[] = {"20ms", "100ms", "500ms", "2s"};
    strbuf_printf(yaml, "data: {metrics: {m0: {interval: %s}, m1: {interval: %s}}}\n", intervals[random() % 4],
                  intervals[random() % 4]);
}

START_TEST(choice_against_enumeration)
{
    srandom((unsigned)suite_seed("choice_against_enumeration"));
    int compared_n = 0, optimal_n = 0;
    double worst = 1;
    for (int i = 0; i < 200; i++) {
        struct strbuf yaml = {0};
        struct arena arena;
        struct planning p;
        struct err e = {0};
        random_workload(&yaml);
        struct workload *w = workload_of(strbuf_z(&yaml));
        arena_init(&arena, 0);
        ck_assert_int_eq(planning_run(&p, w, &arena, &e), 0);
        if (combinations(&p) <= COMBINATIONS_MAX) {
            uint32_t *chosen = calloc(p.demands_n, sizeof *chosen);
            for (uint32_t d = 0; d < p.demands_n; d++)
                chosen[d] = p.demands[d].chosen;
            double ours = total_of(&p, chosen), best = best_of_all(&p);
            ck_assert_msg(ours >= best * (1 - 1e-9), "cheaper than all: %s", strbuf_z(&yaml));
            for (uint32_t d = 0; d < p.demands_n; d++) {
                uint32_t was = chosen[d];
                for (chosen[d] = p.demands[d].first; chosen[d] < p.demands[d].first + p.demands[d].n; chosen[d]++) {
                    if (!p.candidates[chosen[d]].reason)
                        ck_assert_msg(ours <= total_of(&p, chosen) * (1 + 1e-8), "demand %u could move: %s", d,
                                      strbuf_z(&yaml));
                }
                chosen[d] = was;
            }
            compared_n++;
            optimal_n += ours <= best * (1 + 1e-8);
            worst = fmax(worst, ours / best);
            free(chosen);
        }
        planning_done(&p);
        arena_done(&arena);
        workload_free(w);
        strbuf_done(&yaml);
    }
    printf("choice_against_enumeration: %d compared, %d optimal, worst %.4f of the optimum\n", compared_n, optimal_n,
           worst);
    ck_assert_int_ge(compared_n, 100);
    ck_assert_int_ge(optimal_n, compared_n * 9 / 10); /* it is a local search; the optimum is the solver's */
}
END_TEST

/* No query alone would open the chain of a slow metric that forty windows together pay for. */
START_TEST(groups_move_together)
{
    struct strbuf yaml = {0};
    strbuf_add_z(&yaml, "queries:\n");
    for (int i = 0; i < 40; i++)
        strbuf_printf(&yaml, "- {query: 'rate(x[%dm])', every: 30s}\n", 6 + i);
    strbuf_add_z(&yaml, "data: {metrics: {x: {interval: 5s}}}\n");
    struct plan *all = plan_of(strbuf_z(&yaml));
    struct plan *one = plan_of("queries: [{query: 'rate(x[45m])', every: 30s}]\ndata: {metrics: {x: {interval: 5s}}}");
    ck_assert_uint_eq(one->views_n, 0);
    ck_assert_uint_eq(all->views_n, 1);
    ck_assert_uint_eq(all->views[0].panes_n, 90);
    plan_free(all);
    plan_free(one);
    strbuf_done(&yaml);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/choose");
    TCase *tc = tcase_create("choose");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, choice_against_enumeration);
    tcase_add_test(tc, groups_move_together);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
