/*
 * The program's own metrics: named counters and gauges that any room may bump and server/ prints in
 * Prometheus' text format at /metrics. A metric is a static object; registering happens on first use and is
 * thread-safe; bumps are relaxed atomics.
 *
 *     static struct stat late = STAT_COUNTER("mullion_samples_rejected_total", "reason=\"too_old\"", "Samples
 * refused"); stat_add(&late, 1);
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum stat_kind { STAT_KIND_COUNTER = 1, STAT_KIND_GAUGE };
struct stat {
    const char *name, *labels, *help; /* static strings; labels "" or a="b",c="d" */
    enum stat_kind kind;
    _Atomic int64_t value;
    _Atomic bool registered;
    struct stat *next;
};
#define STAT_COUNTER(name, labels, help)                                                                               \
    {                                                                                                                  \
        (name), (labels), (help), STAT_KIND_COUNTER, 0, false, 0                                                       \
    }
#define STAT_GAUGE(name, labels, help)                                                                                 \
    {                                                                                                                  \
        (name), (labels), (help), STAT_KIND_GAUGE, 0, false, 0                                                         \
    }

void stat_register(struct stat *s); /* so that it prints as 0 before its first bump */
void stat_add(struct stat *s, int64_t n);
void stat_set(struct stat *s, int64_t v);
int64_t stat_get(const struct stat *s);
/* Prometheus text format 0.0.4, sorted by name then labels, HELP and TYPE once per name. */
void stats_print(struct strbuf *out);
/* The value of a registered metric, or -1: for tests. */
int64_t stats_value(const char *name, const char *labels);

#endif
