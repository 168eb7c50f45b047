/* KLL beside what is published of it: items retained and the error of a rank, at k = 200 and 12,000 samples. */
#ifndef BENCH_ACCURACY_KLL_TABLE_H
#define BENCH_ACCURACY_KLL_TABLE_H

#include <stdint.h>

/* Prints; returns how many figures are worse than published. */
uint32_t kll_table(uint32_t rounds);

#endif
