/* Small random workloads in YAML, few enough of whose combinations can all be tried. */
#ifndef TESTS_PLANNER_RANDOM_WORKLOAD_H
#define TESTS_PLANNER_RANDOM_WORKLOAD_H

#include <stdlib.h>

#include "base/str.h"

static inline void random_workload(struct strbuf *yaml)
{
    static const char *const before[] = {"sum_over_time(", "rate(", "avg_over_time(", "quantile_over_time(0.9, "};
    static const char *const targets[] = {"", "", "", ", accuracy: {rank: 0.05}", ", accuracy: {relative: 0.02}"};
    static const char *const ranges[] = {"1m", "2m", "5m"}, *const everies[] = {"10s", "15s", "30s", "1m"};
    static const char *const spans[] = {"", "", ", range: {length: 10m, step: 1m}", ", range: {length: 5m, step: 30s}"};
    int n = 2 + (int)(random() % 3);
    strbuf_add_z(yaml, "queries:\n");
    for (int i = 0; i < n; i++) {
        uint32_t kind = (uint32_t)random() % 5;
        bool wrap = kind < 3 && random() % 2;
        strbuf_printf(yaml, "- {query: '%s%sm%ld[%s]%s)%s', every: %s%s%s}\n", wrap ? "sum by (job) (" : "",
                      before[kind > 3 ? 3 : kind], random() % 2, ranges[random() % 3], random() % 4 ? "" : " offset 1m",
                      wrap ? ")" : "", everies[random() % 4], spans[random() % 4], targets[kind]);
    }
    static const char *const intervals[] = {"20ms", "100ms", "500ms", "2s"};
    strbuf_printf(yaml, "data: {metrics: {m0: {interval: %s}, m1: {interval: %s}}%s}\n", intervals[random() % 4],
                  intervals[random() % 4], random() % 3 ? "" : ", raw_retention: 0");
}

/* Queries over two or three parts that some of them share, on grids that hold one another and grids that do not. */
static inline void random_parts(struct strbuf *yaml)
{
    static const char *const parts[] = {"sum by (job) (rate(m0[5m]))", "sum by (job) (rate(m1[5m]))",
                                        "avg_over_time(m1[2m])", "max by (job) (m0)"};
    static const char *const shapes[] = {"%s",
                                         "%s / %s",
                                         "max(%s)",
                                         "topk(2, %s / %s)",
                                         "%s > bool 0.5",
                                         "%s or %s",
                                         "histogram_quantile(0.9, %s)",
                                         "%s / max(%s)",
                                         "sum(%s)",
                                         "sort(%s)"};
    static const char *const cadences[] = {"every: 30s, range: {length: 10m, step: 30s}",
                                           "every: 30s, range: {length: 30m, step: 15s}",
                                           "every: 1m, range: {length: 20m, step: 1m}",
                                           "every: 20s, range: {length: 5m, step: 20s}",
                                           "every: 1m, phase: 5s, range: {length: 15m, step: 30s}",
                                           "every: 30s"};
    int n = 2 + (int)(random() % 3), first = (int)(random() % 4);
    strbuf_add_z(yaml, "queries:\n");
    for (int i = 0; i < n; i++) {
        struct strbuf text = {0};
        const char *shape = shapes[random() % 10];
        for (int part = 0; *shape; shape++) {
            if (*shape != '%')
                strbuf_add_char(&text, *shape);
            else if (*++shape == 's')
                strbuf_add_z(&text, parts[(first + part++ + random() % 2) % 4]);
        }
        strbuf_printf(yaml, "- {query: '%s', %s%s}\n", strbuf_z(&text), cadences[random() % 6],
                      random() % 4 ? "" : ", latency: 1ms");
        strbuf_done(&text);
    }
    static const char *const intervals[] = {"1s", "15s"};
    strbuf_printf(yaml, "data: {metrics: {m0: {interval: %s, series: %d, labels: {job: 10}}, m1: {interval: %s}}%s}\n",
                  intervals[random() % 2], random() % 2 ? 100 : 2000, intervals[random() % 2],
                  random() % 4 ? "" : ", raw_retention: 20m");
}

/* A shape with two things for its two '%'. */
static inline void add_filled(struct strbuf *out, const char *shape, const char *first, const char *second)
{
    for (; *shape; shape++) {
        if (*shape != '%') {
            strbuf_add_char(out, *shape);
            continue;
        }
        strbuf_add_z(out, first);
        first = second;
    }
}

/* Two or three queries that states by labels may answer, or parts of which they may, by label sets that share. */
static inline void random_groups(struct strbuf *yaml)
{
    static const char *const shapes[] = {"sum by (%) (sum_over_time(m[%]))", "sum by (%) (sum_over_time(m[%])) / 2",
                                         "max by (%) (max_over_time(m[%]))", "sum(sum by (%) (count_over_time(m[%])))",
                                         "topk by (%) (3, sum_over_time(m[%]))"};
    static const char *const calls[] = {"distinct_label_over_time(\"path\", m[%]%)",
                                        "l2_label_over_time(\"path\", m[%]%)",
                                        "entropy_label_over_time(\"path\", m[%]%)"};
    static const char *const bys[] = {"job", "instance", "instance, job", ""};
    static const char *const labels[] = {"", ", \"job\"", ", \"instance\"", ", \"job\", \"instance\""};
    static const char *const ranges[] = {"1m", "2m"};
    static const char *const cadences[] = {"every: 30s", "every: 30s, range: {length: 5m, step: 30s}", "every: 1m"};
    static const char *const targets[] = {"", ", accuracy: none", ", accuracy: {error: 0.05}"};
    int n = 2 + (int)(random() % 2);
    bool is_keyed = random() % 3 == 0;
    strbuf_add_z(yaml, "queries:\n");
    for (int i = 0; i < n; i++) {
        const char *range = ranges[random() % 2], *cadence = cadences[random() % 3], *target = targets[random() % 3];
        strbuf_add_z(yaml, "- {query: '");
        if (is_keyed)
            add_filled(yaml, calls[random() % 3], range, labels[random() % 4]);
        else
            add_filled(yaml, shapes[random() % 5], bys[random() % 4], range);
        strbuf_printf(yaml, "', %s%s}\n", cadence, target);
    }
    strbuf_printf(yaml,
                  "data: {metrics: {m: {interval: %s, series: %d, labels: {job: 10, instance: %d, path: 40}}}%s}\n",
                  random() % 2 ? "5s" : "15s", random() % 2 ? 100 : 20000, random() % 2 ? 5 : 100,
                  random() % 3 ? "" : ", raw_retention: 1m");
}

#endif
