/*
 * A source of samples for executor suites: series written as literals, held in memory, handed out as a head with no
 * store behind it. And the checks over it: run a query, compare with what Prometheus would say.
 *
 * Series are written in the notation of Prometheus' own tests:
 *
 *     load 10s
 *         metric{host="a"} 0+10x5 _ 7 stale NaN
 *
 * one value per interval from t = 0: numbers, `_` (no sample), `stale`, `a+bxn` (n + 1 values from a in steps of b),
 * `a-bxn`, `axn` (a, n + 1 times), `_xn` (n times). A number may also be a native histogram, {{schema:0 count:1 ...}}
 * (fixture_histogram.h). A text may hold several `load` blocks; `load 10s at 5s` begins at
 * t = 5 s. A broken literal fails the test.
 */
#ifndef TESTS_EXECUTOR_FIXTURE_H
#define TESTS_EXECUTOR_FIXTURE_H

#include "base/arena.h"
#include "base/labels.h"
#include "store/source.h"

struct fixture_series {
    struct labels labels;
    uint32_t metric, ordinal;
    int64_t *times_ms; /* ascending, unique */
    double *values;    /* float_histogram() where a histogram is */
    const struct histogram **histograms;
    size_t n, times_cap, values_cap, histograms_cap;
};
struct fixture {
    struct source source; /* store NULL */
    struct arena arena;   /* labels */
    struct fixture_series *series;
    size_t series_n, series_cap;
    uint32_t metrics_n;
    int snapshots_n, releases_n; /* calls so far: each query makes one of each */
};

void fixture_init(struct fixture *f);
void fixture_done(struct fixture *f);
void fixture_load(struct fixture *f, const char *text);
/* One sample more; `series` is a selector literal, metric{a="b"}. Samples may come in any order of time. */
void fixture_add(struct fixture *f, const char *series, int64_t time_ms, double value);
/* metric{a="b"} up to its closing brace or first blank; returns the rest of the text. */
const char *fixture_parse_labels(const char *text, struct arena *a, struct labels *ret);

#endif
