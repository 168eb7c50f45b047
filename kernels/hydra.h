/*
 * What the Hydra families share; they differ in whether counters have signs. A picture of the bytes and what is
 * promised: kernels/hydra.c. Functions are those of the family table (kernels/sketch.h) with that choice in front.
 */
#ifndef KERNELS_HYDRA_H
#define KERNELS_HYDRA_H

#include <stdbool.h>

#include "kernels/sketch.h"

/* rows and depth 1..16, width from 8, columns from 1, at most 2^22 counters in all. */
int hydra_check_params(const struct sketch_params *params, const char **reason);
size_t hydra_size_bound(const struct sketch_params *params, uint64_t n);
size_t hydra_scratch_bound(const struct sketch_params *params, uint64_t n, uint32_t k);
/* One of `values` (n of them, group 0, weight 1 each) and `items` is NULL. */
int hydra_build(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                const double *values, const struct sketch_items *items, uint32_t n, uint64_t seed, void *scratch);
int hydra_merge(bool is_signed, uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params,
                const struct state_ref *src, uint32_t k, void *scratch);
/* POINT_COUNT; L1 without signs, L2 with them; of args->group. */
int hydra_estimate(bool is_signed, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                   enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret);
int hydra_validate(bool is_signed, const uint8_t *bytes, size_t n, const struct sketch_params *params,
                   const char **reason);
uint64_t hydra_count(const uint8_t *bytes, size_t n);

#endif
