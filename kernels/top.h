/*
 * The heaviest of many items: a flat array of keys, touched only when an estimate beats the least one kept. Heavier
 * comes first, and of equal estimates the smaller item, so the result is a function of the set of (item, estimate)
 * offered, whatever their order and however often each comes.
 */
#ifndef KERNELS_TOP_H
#define KERNELS_TOP_H

#include <stdbool.h>
#include <stdint.h>

struct top {
    uint64_t *items;
    double *estimates; /* beside items; room of both: most */
    uint32_t n, most, least;
};

static inline bool top_heavier(double estimate_a, uint64_t a, double estimate_b, uint64_t b)
{
    return estimate_a != estimate_b ? estimate_a > estimate_b : a < b;
}

/* Takes the place of the least, or a free one; what top_offer does with the few that come so far. */
void top_insert(struct top *t, uint64_t item, double estimate);

/* An item offered again must have the same estimate. */
static inline void top_offer(struct top *t, uint64_t item, double estimate)
{
    if (t->n == t->most && (t->most == 0 || !top_heavier(estimate, item, t->estimates[t->least], t->items[t->least])))
        return;
    top_insert(t, item, estimate);
}

/* Heaviest first. */
void top_sort(struct top *t);
/* By rising item; the estimates are lost. */
void top_sort_items(struct top *t);

#endif
