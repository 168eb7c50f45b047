/*
 * Order statistics over many sorted runs at once, without merging them.
 *
 * The runs are what quantile panes hold: samples largest first, each run with one weight (a sample of weight w stands
 * for w equal ones). The question is always about two neighbours in the sorted union, because Prometheus' quantile
 * interpolates between them. Nothing is copied but the last few dozen candidates:
 *
 *   near the top   the heads of the runs are selected from, or popped from a heap (p99 of 6,000 samples: 61 pops)
 *   elsewhere      a sample of every run says between which two keys the answer lies, and what lies there is selected
 *                  from; weighted runs: pivots narrow a window in each by binary search until few samples are left
 *
 * Exact for every input; only the time depends on the data.
 */
#ifndef KERNELS_SELECT_H
#define KERNELS_SELECT_H

#include <stdbool.h>
#include <stdint.h>

struct select_run {
    const uint8_t *bytes; /* n doubles, largest first in the order of kernels/order.h; any alignment; borrowed */
    uint64_t weight;      /* >= 1 */
    uint32_t n;
    uint32_t lo, hi; /* the selection's own: the window still in question */
    uint32_t unread; /* samples below the n that are not decoded: only select_top may see such a run */
};

/* Sum of n * weight. */
uint64_t select_total(const struct select_run *runs, uint32_t runs_n);

/*
 * With the union of the runs laid out upwards, each sample weight times over: *ret_low = the sample at place `rank`
 * (0 = smallest, < total) and *ret_high = the one at rank + 1 (at rank, if it is the last). Changes the runs' lo and
 * hi, and may reorder the runs. `total` is select_total of the runs.
 */
void select_pair(struct select_run *runs, uint32_t runs_n, uint64_t total, uint64_t rank, double *ret_low,
                 double *ret_high);

/*
 * The same for runs whose ends are unread, of weight 1: the pair at low_place = total - 1 - rank from the top, total
 * counting unread samples too. True if no unread sample can change it; else *ret_low is at most what it will be, and
 * the runs that lack samples are those to read on. May reorder the runs.
 */
bool select_top(struct select_run *runs, uint32_t runs_n, uint64_t low_place, double *ret_low, double *ret_high);
/* May an unread sample of the run lie above `low`? */
bool select_lacks(const struct select_run *run, double low);

/* Where a quantile looks: the lower rank and the weight of its upper neighbour, as Prometheus' rank q(n-1); n >= 1,
 * 0 <= q <= 1. */
struct select_place {
    uint64_t rank;
    double high_weight;
};
struct select_place select_interpolated(double q, uint64_t n);
/* The zero-based rank of the max(1, ceil(q n))-th smallest. */
uint64_t select_inclusive_rank(double q, uint64_t n);

#endif
