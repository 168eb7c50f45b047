/*
 * The levels of a compacted KLL state: how many items a state may hold, how samples become items, and the bytes of
 * form 3 (table at the head of kernels/kll.c).
 */
#ifndef KERNELS_KLL_LEVELS_H
#define KERNELS_KLL_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/select.h"

enum { KLL_LEVELS_MAX = 49, KLL_HEAD_SIZE = 28 };
#define KLL_N_END (UINT64_C(1) << 48)

/* Items as keys (kernels/order.h), each level sorted; an item of level h weighs 2^h. */
struct kll_levels {
    uint64_t *key[KLL_LEVELS_MAX];
    uint32_t n[KLL_LEVELS_MAX];
};

/* Most items of any state. */
size_t kll_items_bound(uint32_t k);
/* The least top level at which n > k samples fit. */
uint32_t kll_top_level(uint32_t k, uint64_t n);

/* Sorts keys[0..n) and thins them to level `top` of `out`, whose lower levels have room for one item each and are
 * empty; out->key[top] becomes keys. tmp has room for n. */
void kll_levels_thin(uint64_t *keys, uint32_t n, uint64_t *tmp, uint32_t top, struct kll_levels *out, uint64_t *random);

/* Halves levels until no more items are left than `levels` levels may hold; returns how many levels that took. Each
 * level must lie right behind the one below; tmp has room for all items. */
uint32_t kll_levels_compact(struct kll_levels *items, uint32_t levels, uint32_t k, uint64_t *tmp, uint64_t *random);

/* 0 or SKETCH_NO_ROOM. */
int kll_levels_write(uint8_t *dst, size_t cap, size_t *ret_size, uint32_t k, uint64_t n, double min, double max,
                     bool nonfinite, const struct kll_levels *items, uint32_t levels);

/* 0, or SKETCH_CORRUPT with *reason. */
int kll_levels_validate(const uint8_t *bytes, size_t size, uint32_t k, const char **reason);

/* A validated form-3 state in place. */
struct kll_view {
    uint32_t k, levels;
    uint64_t n;
    double min, max;
    const uint8_t *level_n, *items;
};
struct kll_view kll_view_open(const uint8_t *bytes);
/* A run for each level with items, borrowed from the state; how many. */
uint32_t kll_view_runs(const struct kll_view *v, struct select_run *runs);

#endif
