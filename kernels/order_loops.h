/*
 * Quicksort and quickselect over a vector partition, compiled once for each instruction set: the including file has
 * NETWORK_MAX, `sort_network` (n <= NETWORK_MAX) and `partition`. Equal keys are the same bits, so any sort gives the
 * scalar one's bytes. Inside kernels/order_*.c only.
 */
#ifndef KERNELS_ORDER_LOOPS_H
#define KERNELS_ORDER_LOOPS_H

#include "kernels/order.h"

/* Sorts v[0..n), n <= NETWORK_MAX. */
static void sort_network(uint64_t *v, size_t n);
/* v[0..n) becomes smaller ones, equal ones, greater ones; the latter two begin at *equal and *greater. tmp has room for
 * n. */
static void partition(uint64_t *v, size_t n, uint64_t pivot, uint64_t *tmp, size_t *equal, size_t *greater);

enum { PIVOT_SAMPLES = 64 };

/* The key of v[0..n), n > PIVOT_SAMPLES, that is at this share of PIVOT_SAMPLES of them. */
static uint64_t pivot_of(const uint64_t *v, size_t n, size_t share)
{
    uint64_t sample[PIVOT_SAMPLES];
    for (size_t i = 0; i < PIVOT_SAMPLES; i++)
        sample[i] = v[i * n / PIVOT_SAMPLES];
    sort_network(sample, PIVOT_SAMPLES);
    return sample[share];
}

/* Bad pivots do not last: after `rounds` of them the scalar merge sort takes over. */
static void sort_rounds(uint64_t *v, size_t n, uint64_t *tmp, int rounds)
{
    while (n > NETWORK_MAX) {
        if (rounds-- == 0) {
            order_sort_scalar(v, n, tmp);
            return;
        }
        size_t equal, greater;
        partition(v, n, pivot_of(v, n, PIVOT_SAMPLES / 2), tmp, &equal, &greater);
        if (equal < n - greater) {
            sort_rounds(v, equal, tmp, rounds);
            v += greater;
            n -= greater;
        } else {
            sort_rounds(v + greater, n - greater, tmp, rounds);
            n = equal;
        }
    }
    sort_network(v, n);
}

static void sort(uint64_t *v, size_t n, uint64_t *tmp)
{
    sort_rounds(v, n, tmp, 2 * (int)bits_width(n));
}

/* Behind the `at`th least key, the least of the rest to its next place. */
static void bring_next(uint64_t *v, size_t n, size_t at)
{
    size_t least = at + 1;
    for (size_t i = at + 2; i < n; i++)
        least = v[i] < v[least] ? i : least;
    uint64_t swap = v[at + 1];
    v[at + 1] = v[least];
    v[least] = swap;
}

static void select_at(uint64_t *v, size_t n, size_t at, uint64_t *tmp)
{
    size_t lo = 0, hi = n;
    for (int rounds = 2 * (int)bits_width(n); hi - lo > NETWORK_MAX; rounds--) {
        size_t equal, greater;
        if (rounds == 0) {
            order_sort_scalar(v + lo, hi - lo, tmp);
            break;
        }
        uint64_t pivot = pivot_of(v + lo, hi - lo, (at - lo) * PIVOT_SAMPLES / (hi - lo));
        partition(v + lo, hi - lo, pivot, tmp, &equal, &greater);
        if (at >= lo + equal && at < lo + greater) {
            lo = hi = lo + greater;
            break;
        }
        if (at < lo + equal)
            hi = lo + equal;
        else
            lo += greater;
    }
    if (hi - lo <= NETWORK_MAX)
        sort_network(v + lo, hi - lo);
    if (at + 1 >= hi && at + 1 < n)
        bring_next(v, n, at);
}

#endif
