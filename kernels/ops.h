/*
 * The functions that exist in more than one instruction set, one table for each concern. The scalar ones are the
 * definition; every other one leaves the same bytes in what it is said to write, for every input. Tables are defined in
 * cpu.c, are set before main (kernels/cpu.h) and never change while kernels run.
 *
 * <name>_scalar stands in the concern's own file; kernels/<concern>_avx2.c and _avx512.c put theirs over them. Only
 * those files include intrinsics. Reads stay within the arguments unless room is mentioned.
 */
#ifndef KERNELS_OPS_H
#define KERNELS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kernels/order.h says what these do; what lies in v[0..n) beside the selected places may differ between levels, as may
 * tmp. */
struct order_ops {
    void (*keys)(uint64_t *keys, const uint8_t *values, size_t n);
    void (*sort)(uint64_t *v, size_t n, uint64_t *tmp);
    void (*select)(uint64_t *v, size_t n, size_t at, uint64_t *tmp);
    /* The keys of the values that lie in [low, high] to out, in order; returns how many, and in *ret_below how many are
     * less. out has room for n + ORDER_SLACK. */
    size_t (*between)(uint64_t *out, const uint8_t *values, size_t n, uint64_t low, uint64_t high, size_t *ret_below);
};
enum { ORDER_SLACK = 8 };
extern struct order_ops order_ops;
void order_keys_scalar(uint64_t *keys, const uint8_t *values, size_t n);
void order_sort_scalar(uint64_t *v, size_t n, uint64_t *tmp);
void order_select_scalar(uint64_t *v, size_t n, size_t at, uint64_t *tmp);
size_t order_between_scalar(uint64_t *out, const uint8_t *values, size_t n, uint64_t low, uint64_t high,
                            size_t *ret_below);
void order_ops_avx2(struct order_ops *ops);
void order_ops_avx512(struct order_ops *ops);

#endif
