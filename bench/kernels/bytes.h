/* Bytes of a quantile pane, the last row of docs/KERNELS.md's table: not a time, so measured apart. */
#ifndef BENCH_KERNELS_BYTES_H
#define BENCH_KERNELS_BYTES_H

#include <stddef.h>

struct bytes_row {
    const char *form, *data;
    unsigned n;
    double mean, most; /* over many panes */
    double target;     /* of the mean; 0 = none: the table has one for three-decimal latencies */
};

/* The rows, and how many. */
const struct bytes_row *bytes_rows(size_t *ret_n);

#endif
