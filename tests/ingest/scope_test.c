/*
 * What panes may stand for: those of one selector answer no other, whatever the labels look like; and groups are told
 * apart by all of their labels. Every answer is asked with panes of that very selector in force, with panes of another
 * one alone, and without any. Values by arithmetic, as Prometheus gives them.
 */
#include "ingest/rig.h"
#include "suite.h"

enum { SECOND = 1000 };
static const int64_t t0 = 1700000000000;
static struct rig rig;

/* One value each 10 s for two minutes: six in (t - 1m, t]. */
static const struct {
    const char *name;
    double value;
} series[] = {
    {"m{env=\"prod\"}", 1},       {"m{env=\"dev\"}", 10},       {"m{job=\"x\"}", 100}, /* no env */
    {"m{env=\"staging\"}", 1000}, {"nz{zone=\"a\"}", 1},        {"nz{other=\"b\"}", 2},
    {"hh{a=\"1\",b=\"23\"}", 1},  {"hh{a=\"12\",b=\"3\"}", 10},
};
enum { SERIES_N = sizeof series / sizeof *series, ROUNDS = 16, ASKED = 12 };

static const struct {
    const char *query;
    uint32_t n;         /* series of the answer */
    double least, most; /* of their values */
} asked[] = {
    {"sum_over_time(m{env='prod'}[1m])", 1, 6, 6},
    {"sum(sum_over_time(m[1m]))", 1, 6666, 6666},
    {"sum_over_time(m[1m])", 4, 6, 6000},
    {"sum(sum_over_time(m{env=''}[1m]))", 1, 600, 600},
    {"sum(sum_over_time(m{env!=''}[1m]))", 1, 6066, 6066},
    {"sum(sum_over_time(m{env=~'(?i)PROD|dev'}[1m]))", 1, 66, 66},
    {"sum_over_time(m{env='prod',env!='prod'}[1m])", 0, 0, 0},
    {"sum_over_time(m{env='prod',env=~'dev|staging'}[1m])", 0, 0, 0},
    {"sum by (zone) (last_over_time(nz[1m]))", 2, 1, 2},
    {"sum(last_over_time(nz{zone=''}[1m]))", 1, 2, 2},
    {"sum by (a, b) (last_over_time(hh[1m]))", 2, 1, 10},
    {"sum by (b) (last_over_time(hh[1m]))", 2, 1, 10},
    {"sum by (__name__) (last_over_time(hh[1m]))", 1, 11, 11},
    {"sum by (a, missing) (last_over_time(hh[1m]))", 2, 1, 10},
};
enum { ASKED_N = sizeof asked / sizeof *asked };

#define DATA "data: {raw_retention: 0, metrics: {m: {interval: 100ms}, nz: {interval: 100ms}, hh: {interval: 100ms}}}\n"

static void send_all(void)
{
    for (int k = 1; k <= ROUNDS; k++) {
        struct rig_sample samples[SERIES_N];
        int64_t at_ms = t0 + k * 10 * SECOND;
        for (size_t i = 0; i < SERIES_N; i++)
            samples[i] = (struct rig_sample){series[i].name, at_ms, series[i].value};
        ck_assert_int_eq(rig_send(&rig, samples, SERIES_N, at_ms, NULL), 0);
        rig_tick(&rig, at_ms + 300);
    }
}

static double aggregated(const char *aggregation, const char *query)
{
    char text[200];
    bool found;
    snprintf(text, sizeof text, "%s(%s)", aggregation, query);
    return rig_value(&rig, text, t0 + ASKED * 10 * SECOND, false, &found);
}

static void ask_all(const char *planned)
{
    for (size_t i = 0; i < ASKED_N; i++) {
        uint32_t sources = 0;
        const char *query = asked[i].query;
        uint32_t n = rig_count(&rig, query, t0 + ASKED * 10 * SECOND, false, &sources);
        ck_assert_msg(n == asked[i].n, "%s with panes of %s: %u series, not %u", query, planned, n, asked[i].n);
        if (n == 0)
            continue;
        double least = aggregated("min", query), most = aggregated("max", query);
        ck_assert_msg(least == asked[i].least && most == asked[i].most, "%s with panes of %s: %g to %g", query, planned,
                      least, most);
        if (strcmp(planned, query) == 0)
            ck_assert_msg(sources == SOURCE_PANES, "%s: read from %u", query, sources);
    }
}

START_TEST(without_panes)
{
    rig = (struct rig){0};
    rig_open(&rig, NULL);
    send_all();
    ask_all("nothing");
    rig_done(&rig);
}
END_TEST

START_TEST(with_panes_of_one)
{
    char workload[400];
    snprintf(workload, sizeof workload, "queries: [{query: \"%s\", every: 10s}]\n" DATA, asked[_i].query);
    rig = (struct rig){0};
    rig_open(&rig, workload);
    ck_assert_uint_eq(rig.plan->views_n, 1);
    send_all();
    ask_all(asked[_i].query);
    rig_done(&rig);
}
END_TEST

/* All at once, each from its own. */
START_TEST(with_panes_of_all)
{
    struct strbuf workload = {0};
    strbuf_add_z(&workload, "queries:\n");
    for (size_t i = 0; i < ASKED_N; i++)
        strbuf_printf(&workload, "- {query: \"%s\", every: 10s}\n", asked[i].query);
    strbuf_add_z(&workload, DATA);
    rig = (struct rig){0};
    rig_open(&rig, strbuf_z(&workload));
    send_all();
    for (size_t i = 0; i < ASKED_N; i++)
        ask_all(asked[i].query);
    rig_done(&rig);
    strbuf_done(&workload);
}
END_TEST

/*
 * Two quantiles, one of which no sketch is accurate enough for: it is answered from raw samples, with the reason in the
 * plan, and the other from panes. 7..12 stand in the window: rank 0.9 * 5 = 4.5, 11.5.
 */
START_TEST(what_is_refused_is_answered_raw)
{
    static const char *const queries[] = {"quantile_over_time(0.9, q{s='a'}[1m])",
                                          "quantile_over_time(0.9, q{s='b'}[1m])"};
    char workload[400];
    bool found, said = false;
    snprintf(workload, sizeof workload,
             "queries: [{query: \"%s\", every: 10s, accuracy: {rank: 0.01}},\n"
             "          {query: \"%s\", every: 10s, accuracy: {rank: 1e-9}}]\n"
             "data: {metrics: {q: {interval: 100ms}}}",
             queries[0], queries[1]);
    rig = (struct rig){0};
    rig_open(&rig, workload);
    ck_assert_uint_eq(rig.plan->queries_n, 2);
    ck_assert_uint_eq(rig.plan->queries[0].uses_n, 1);
    ck_assert_uint_eq(rig.plan->queries[1].uses_n, 0);
    for (uint32_t i = 0; i < rig.plan->queries[1].rejected_n; i++) {
        struct str candidate = rig.plan->queries[1].rejected[i].candidate,
                   reason = rig.plan->queries[1].rejected[i].reason;
        said |= strncmp(candidate.p, "kll", 3) == 0 && strncmp(reason.p, "misses_accuracy: ", 17) == 0;
    }
    ck_assert(said);
    for (int k = 1; k <= ROUNDS; k++) {
        int64_t at_ms = t0 + k * 10 * SECOND;
        const struct rig_sample samples[] = {{"q{s=\"a\"}", at_ms, k}, {"q{s=\"b\"}", at_ms, k}};
        ck_assert_int_eq(rig_send(&rig, samples, 2, at_ms, NULL), 0);
        rig_tick(&rig, at_ms + 300);
    }
    for (int i = 0; i < 2; i++) {
        uint32_t sources;
        ck_assert_uint_eq(rig_count(&rig, queries[i], t0 + ASKED * 10 * SECOND, false, &sources), 1);
        ck_assert_uint_eq(sources, i == 0 ? SOURCE_PANES : SOURCE_RAW);
        ck_assert_double_eq(rig_value(&rig, queries[i], t0 + ASKED * 10 * SECOND, false, &found), 11.5);
    }
    rig_done(&rig);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ingest/scope");
    TCase *tc = tcase_create("scope");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, without_panes);
    tcase_add_loop_test(tc, with_panes_of_one, 0, ASKED_N);
    tcase_add_test(tc, with_panes_of_all);
    tcase_add_test(tc, what_is_refused_is_answered_raw);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
