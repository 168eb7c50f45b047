/* What is linked of other libraries: peers.cc. */
#ifndef BENCH_KERNELS_PEERS_H
#define BENCH_KERNELS_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/kernels/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

void peer_sort(double *v, size_t n);
double peer_nth(double *v, size_t n, size_t at);
/* libhwy's vqsort, which chooses its instruction set itself. */
bool peer_has_vqsort(void);
void peer_vqsort(double *v, size_t n);

#ifdef __cplusplus
}
#endif

/* peer_jobs.c: the best sort there is, as limit of ours; without libhwy, a note that it is missing. */
void peer_sort_limits(struct bench *b);

#endif
