/*
 * Native histograms as literals, in the notation of Prometheus' tests:
 *
 *     {{schema:0 count:4 sum:5 buckets:[1 2 1] offset:-1 n_buckets:[1] z_bucket:1 z_bucket_w:0.5}}
 *     {{schema:-53 count:3 sum:6 custom_values:[5 10] buckets:[1 2] counter_reset_hint:gauge}}
 *
 * Every key may be left out: schema 0, a zero bucket of +-0.001, nothing in it. A broken literal fails the test.
 */
#ifndef TESTS_EXECUTOR_FIXTURE_HISTOGRAM_H
#define TESTS_EXECUTOR_FIXTURE_HISTOGRAM_H

#include "base/arena.h"
#include "base/histogram.h"

/* Lives in the arena; *rest is behind the closing braces. */
const struct histogram *fixture_parse_histogram(const char *text, struct arena *a, const char **rest);

#endif
