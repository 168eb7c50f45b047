/* The tables of one run: docs/KERNELS.md's rows first, then all other jobs, limits, peers and bytes. */
#ifndef BENCH_KERNELS_REPORT_H
#define BENCH_KERNELS_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/kernels/bench.h"

/* Of what was measured. False when a row names a job that does not exist: the tables are no evidence then. */
bool report_text(FILE *out, const struct bench *b);
void report_csv(FILE *out, const struct bench *b);

#endif
