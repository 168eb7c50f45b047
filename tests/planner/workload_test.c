/* The workload file: what is read, and every problem at its place. */
#include "plan_of.h"
#include "planner/what_if.h"

static const char *problems_of(struct str text, struct strbuf *out, uint32_t *ret_n)
{
    struct problems problems = {0};
    struct workload *w = NULL;
    struct err e = {0};
    int rc = workload_read(text, "w.yaml", &w, &problems, &e);
    ck_assert_int_eq(rc == 0, problems.n == 0);
    if (rc != 0)
        ck_assert_int_eq(rc, ERR_BAD_DATA);
    strbuf_add(out, problems.text.p, problems.text.n);
    *ret_n = problems.n;
    strbuf_done(&problems.text);
    workload_free(w);
    return strbuf_z(out);
}

#define QUERY_OF(rest) "queries:\n- query: up\n" rest

/* Each text has exactly this one problem; places were counted by hand. */
static const struct {
    const char *text, *problem;
} bad[] = {
    {"", "w.yaml:1:1: the file is empty"},
    {"queries: 3", "w.yaml:1:10: queries must be a list, not a single value"},
    {"data: {}", "w.yaml:1:1: `queries` is missing"},
    {"- a", "w.yaml:1:1: a workload must be a mapping"},
    {"queries: []\nqueries: []", "w.yaml:2:1: key \"queries\" is twice"},
    {"queries: []\nextra: 1", "w.yaml:2:1: unknown key \"extra\" in a workload; known: queries, data, models"},
    {"queries: [7]", "w.yaml:1:11: a query must be a mapping"},
    {"queries: [{every: 1m}]", "w.yaml:1:11: a query needs `query`"},
    {"queries: [{query: up}]", "w.yaml:1:11: a query needs one of every, at, rate and once"},
    {QUERY_OF("  every: 1m\n  colour: red"), "w.yaml:4:3: unknown key \"colour\" in a query"},
    {QUERY_OF("  every: 1m\n  every: 2m"), "w.yaml:4:3: key \"every\" is twice in a query"},
    {QUERY_OF("  every: 10x"), "w.yaml:3:10: every: unknown unit \"x\""},
    {QUERY_OF("  every: 0s"), "w.yaml:3:10: every must be longer than 0s"},
    {QUERY_OF("  every: -1m"), "w.yaml:3:10: every: "},
    {QUERY_OF("  every: [1m]"), "w.yaml:3:10: every must be a single value, not a list"},
    {QUERY_OF("  every: 1m\n  once: true"), "w.yaml:4:9: a query has exactly one of every, at, rate and once"},
    {QUERY_OF("  once: no"), "w.yaml:3:9: once must be true or false, not \"no\""},
    {QUERY_OF("  once: false"), "w.yaml:3:9: once can only be true"},
    {QUERY_OF("  once: true\n  phase: 1s"), "w.yaml:4:10: phase belongs to every"},
    {QUERY_OF("  at: []"), "w.yaml:3:7: at must list from 1 to"},
    {QUERY_OF("  at: [1, zwei]"), "w.yaml:3:11: at: cannot parse \"zwei\""},
    {QUERY_OF("  rate: 0.2"), "w.yaml:3:9: rate must be a number of evaluations per s, m, h or d"},
    {QUERY_OF("  rate: -1/s"), "w.yaml:3:9: rate must be"},
    {QUERY_OF("  every: 1m\n  range: {length: 1h}"), "w.yaml:4:10: range needs both length and step"},
    {QUERY_OF("  every: 1m\n  range: {length: 1h, step: 0s}"), "w.yaml:4:29: step must be longer than 0s"},
    {QUERY_OF("  every: 1m\n  range: {length: 11000s, step: 1s}"), "w.yaml:4:10: range has more than 11000 steps"},
    {QUERY_OF("  every: 1m\n  accuracy: {}"), "w.yaml:4:13: accuracy needs one of"},
    {QUERY_OF("  every: 1m\n  accuracy: some"), "w.yaml:4:13: accuracy, but for none, must be a mapping"},
    {QUERY_OF("  every: 1m\n  accuracy: {rank: 0}"), "w.yaml:4:20: rank must be above 0 and below 1"},
    {QUERY_OF("  every: 1m\n  accuracy: {rank: NaN}"), "w.yaml:4:20: rank must be a finite number"},
    {QUERY_OF("  every: 1m\n  accuracy: {rank: .1, error: .1}"), "w.yaml:4:31: accuracy has exactly one of"},
    {QUERY_OF("  every: 1m\n  accuracy: {rank: .1, failure: 1}"), "w.yaml:4:33: failure must be a probability"},
    {QUERY_OF("  every: 1m\n  latency: 0s"), "w.yaml:4:12: latency must be longer than 0s"},
    {QUERY_OF("  every: 1m\n  name: ''"), "w.yaml:4:9: name is empty"},
    {"queries: [{query: \"up[5m]\", once: true}]", "w.yaml:1:19: a query must give an instant vector or a scalar"},
    {"queries:\n- query: sum(up) +\n  once: true\n  name: n", "w.yaml:2:19: query \"n\": 1:10: parse error:"},
    {"queries:\n- query: 'rate(up[5m]'\n  once: true", "w.yaml:2:22: query: 1:12: parse error:"},
    {QUERY_OF("  once: true\ndata: {metrics: {m: {type: blue}}}"), "w.yaml:4:28: type must be gauge, counter or hist"},
    {QUERY_OF("  once: true\ndata: {metrics: {m: {series: 0}}}"), "w.yaml:4:30: series must be a whole number"},
    {QUERY_OF("  once: true\ndata: {metrics: {m: {interval: 0s}}}"), "w.yaml:4:32: interval must be longer than 0s"},
    {QUERY_OF("  once: true\ndata: {metrics: {m: {labels: {j: x}}}}"), "w.yaml:4:34: the number of values of a label"},
    {QUERY_OF("  once: true\ndata: {metrics: {m: {}, m: {}}}"), "w.yaml:4:25: key \"m\" is twice in metrics"},
    {QUERY_OF("  once: true\ndata: {raw_retention: long}"), "w.yaml:4:23: raw_retention: "},
    {QUERY_OF("  once: true\nmodels: {memory_limit: 8GiBs}"), "w.yaml:4:24: memory_limit: "},
    {QUERY_OF("  once: true\nmodels: {planning_deadline: -1s}"), "w.yaml:4:29: planning_deadline: "},
    {"queries: [*a]", "w.yaml:1:11: no anchor &a before this alias"},
    {"queries: &a [*a]", "w.yaml:1:14: alias *a stands inside what it names"},
    {"queries: [\n", "w.yaml:2:1: not YAML: "},
    {"queries: []\n---\nqueries: []", "w.yaml:2:1: a second document"},
    {"queries: []\nmodels: {calibration: !!str f}", "w.yaml:2:23: tags such as"},
};

START_TEST(problems_have_places)
{
    struct strbuf text = {0};
    uint32_t n;
    problems_of(str_of(bad[_i].text), &text, &n);
    ck_assert_msg(n == 1 && strncmp(strbuf_z(&text), bad[_i].problem, strlen(bad[_i].problem)) == 0,
                  "%s\ngave %u:\n%s\nwant %s", bad[_i].text, n, strbuf_z(&text), bad[_i].problem);
    strbuf_done(&text);
}
END_TEST

/* Two bad queries and more in one file: each is listed, in the order of the file. */
START_TEST(all_problems_are_listed)
{
    struct strbuf text = {0};
    uint32_t n;
    problems_of(STR("queries:\n"
                    "- {name: a, query: 'rate(x[5m', every: 1m}\n"
                    "- {name: a, query: 'sum(', every: 1q}\n"
                    "- {query: up, once: true, phase: 1s}\n"
                    "data: {raw_retention: x}\n"),
                &text, &n);
    static const char *const starts[] = {"w.yaml:2:",          "w.yaml:3:3: name \"a\" is taken by the query at line 2",
                                         "w.yaml:3:",          "w.yaml:3:",
                                         "w.yaml:4:34: phase", "w.yaml:5:23: raw_retention"};
    const char *line = strbuf_z(&text);
    ck_assert_uint_eq(n, 6);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_msg(strncmp(line, starts[i], strlen(starts[i])) == 0, "line %zu: %s", i, line);
        line = strchr(line, '\n') + 1;
    }
    ck_assert_str_eq(line, "");
    strbuf_done(&text);
}
END_TEST

START_TEST(everything_is_read)
{
    struct workload *w = workload_of("queries:\n"
                                     "  - name: p99\n"
                                     "    query: quantile_over_time(0.99, latency_ms[5m])\n"
                                     "    every: 10s\n"
                                     "    phase: 13s\n"
                                     "    range: {length: 1h, step: 10s}\n"
                                     "    accuracy: {rank: 0.01, failure: 0.05}\n"
                                     "    latency: 100ms\n"
                                     "  - {query: up, at: [30, 10, 1970-01-01T00:00:20Z, 10]}\n"
                                     "  - {\"query\": \"up\", \"rate\": \"6/m\"}\n"
                                     "  - {query: up, once: true, accuracy: {error: 0.1}}\n"
                                     "data:\n"
                                     "  metrics:\n"
                                     "    latency_ms: {type: gauge, series: 10000, interval: 50ms,\n"
                                     "                 labels: {job: 10, instance: 1000}, distribution: lognormal}\n"
                                     "  raw_retention: 15m\n"
                                     "models: {calibration: c.json, memory_limit: 8GiB, planning_deadline: 5s}\n");
    ck_assert_uint_eq(w->queries_n, 4);
    const struct workload_query *q = w->queries;
    ck_assert(str_eq(q[0].name, STR("p99")));
    ck_assert_int_eq(q[0].cadence.kind, CADENCE_EVERY);
    ck_assert_int_eq(q[0].cadence.phase_ms, 3000);
    ck_assert_int_eq(q[0].cadence.length_ms, 3600000);
    ck_assert_int_eq(q[0].target.kind, ACCURACY_RANK);
    ck_assert_double_eq(q[0].target.failure, 0.05);
    ck_assert_int_eq(q[0].latency_ms, 100);
    ck_assert_uint_eq(q[1].cadence.at_n, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(q[1].cadence.at_ms[i], 10000 * (i + 1));
    ck_assert_double_eq_tol(q[2].cadence.rate_per_s, 0.1, 1e-15);
    ck_assert_int_eq(q[3].cadence.kind, CADENCE_ONCE);
    ck_assert_int_eq(q[3].target.kind, ACCURACY_ANY);
    ck_assert_double_eq(q[3].target.failure, 0.01);
    ck_assert_int_eq(q[2].target.kind, ACCURACY_EXACT);
    ck_assert_uint_eq(w->metrics_n, 1);
    ck_assert_uint_eq(w->metrics[0].series_n, 10000);
    ck_assert_int_eq(w->metrics[0].interval_ms, 50);
    ck_assert_uint_eq(w->metrics[0].labels_n, 2);
    ck_assert_int_eq(w->raw_retention_ms, 900000);
    ck_assert_uint_eq(w->memory_limit_bytes, UINT64_C(8) << 30);
    ck_assert_int_eq(w->planning_deadline_ms, 5000);
    workload_free(w);
}
END_TEST

START_TEST(no_accuracy_asked)
{
    struct workload *w = workload_of("queries: [{query: up, every: 1m, accuracy: none}, {query: up, every: 1m}]\n");
    struct err e = {0};
    ck_assert_int_eq(w->queries[0].target.kind, ACCURACY_NONE);
    ck_assert_double_eq(w->queries[0].target.failure, 0);
    ck_assert_int_eq(w->queries[1].target.kind, ACCURACY_EXACT);
    ck_assert_int_eq(workload_set_accuracy(w, STR("1=none"), &e), 0);
    ck_assert_int_eq(w->queries[1].target.kind, ACCURACY_NONE);
    workload_free(w);
}
END_TEST

/* An alias is what it names; 200,000 queries that name one list of 1,000 times are 2e8 values: refused, not walked. */
START_TEST(aliases_are_bounded)
{
    struct workload *w = workload_of("queries: [&q {query: up, every: &e 1m}, *q, {query: down, every: *e}]");
    ck_assert_uint_eq(w->queries_n, 3);
    ck_assert_int_eq(w->queries[2].cadence.every_ms, 60000);
    workload_free(w);
    struct strbuf yaml = {0}, text = {0};
    uint32_t n;
    strbuf_add_z(&yaml, "queries:\n- {query: a, at: &t [");
    for (int i = 0; i < 1000; i++)
        strbuf_printf(&yaml, "%d,", i);
    strbuf_add_z(&yaml, "]}\n");
    for (int i = 0; i < 30000; i++)
        strbuf_add_z(&yaml, "- {query: a, at: *t}\n");
    const char *got = problems_of((struct str){yaml.p, yaml.n}, &text, &n);
    ck_assert_msg(strncmp(got, "w.yaml:1:1: aliases make", 24) == 0, "%.200s", got);
    strbuf_done(&yaml);
    strbuf_done(&text);
}
END_TEST

START_TEST(depth_is_bounded)
{
    struct strbuf yaml = {0}, text = {0};
    uint32_t n;
    strbuf_add_z(&yaml, "queries: ");
    for (int i = 0; i < 100000; i++)
        strbuf_add_char(&yaml, '[');
    const char *got = problems_of((struct str){yaml.p, yaml.n}, &text, &n);
    ck_assert_str_eq(got, "w.yaml:1:73: nested deeper than 64 levels\n"); /* the mapping and 63 lists fit */
    strbuf_done(&yaml);
    strbuf_done(&text);
}
END_TEST

/* Many problems: all counted, the first ten thousand listed. */
START_TEST(problems_are_bounded)
{
    struct strbuf yaml = {0}, text = {0};
    uint32_t n;
    strbuf_add_z(&yaml, "queries:\n");
    for (int i = 0; i < 10010; i++)
        strbuf_add_z(&yaml, "- 1\n");
    const char *got = problems_of((struct str){yaml.p, yaml.n}, &text, &n);
    ck_assert_uint_eq(n, 10010);
    ck_assert_ptr_nonnull(strstr(got, "\nw.yaml: 10 more problems are not listed\n"));
    strbuf_done(&yaml);
    strbuf_done(&text);
}
END_TEST

/* Cut and flipped files: a message or a workload, never a crash. */
START_TEST(damaged_files_are_refused)
{
    static const char whole[] = "queries:\n  - {name: p99, query: 'sum(rate(x{a=~\"b.*\"}[5m]))', every: &e 10s}\n"
                                "  - {query: up, at: [1, 2], accuracy: {rank: 0.01}}\n"
                                "data: {metrics: {x: {series: 10, labels: {a: 2}}}}\n";
    unsigned long seed = suite_seed("damaged_files_are_refused");
    srandom((unsigned)seed);
    for (int i = 0; i < 4000; i++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        size_t n = i % 2 ? sizeof whole - 1 : (size_t)random() % sizeof whole;
        for (int k = 0; k < 3; k++)
            text[(size_t)random() % (sizeof whole - 1)] = (char)random();
        struct strbuf out = {0};
        uint32_t problems_n;
        problems_of((struct str){text, n}, &out, &problems_n);
        strbuf_done(&out);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planner/workload");
    TCase *tc = tcase_create("workload");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, problems_have_places, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, all_problems_are_listed);
    tcase_add_test(tc, everything_is_read);
    tcase_add_test(tc, no_accuracy_asked);
    tcase_add_test(tc, aliases_are_bounded);
    tcase_add_test(tc, depth_is_bounded);
    tcase_add_test(tc, problems_are_bounded);
    tcase_add_test(tc, damaged_files_are_refused);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
