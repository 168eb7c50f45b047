/*
 * docs/KERNELS.md's table: its rows in its order, which jobs are a row's evidence, and what each is measured against.
 */
#ifndef BENCH_KERNELS_ROWS_H
#define BENCH_KERNELS_ROWS_H

#include <stddef.h>

struct table_job {
    const char *row; /* the job column of docs/KERNELS.md's table, word for word */
    const char *job; /* struct bench_job's name */
    double target;   /* in the job's unit */
    const char *limit;
    double target_limit; /* the limit beside the target in docs/KERNELS.md, the greater where it is a range; 0 = none */
};

extern const struct table_job table_jobs[];
extern const size_t table_jobs_n;
/* The table's last row, which is of bytes: bytes.c. */
extern const char *const table_bytes_row;

#endif
