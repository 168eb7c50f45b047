/*
 * Items waiting to be offered to the heaviest (kernels/top.h), so that their counters are read many at a time.
 */
#ifndef KERNELS_OFFERS_H
#define KERNELS_OFFERS_H

#include "kernels/counters.h"
#include "kernels/top.h"

/* A sketch's table in the caller's aligned memory. */
struct offers {
    struct top *top;
    const void *cells;
    enum counter_form form;
    bool is_signed;
    uint32_t depth, width, n;
    uint64_t items[COUNTERS_BATCH], hashes[COUNTERS_BATCH];
};

static inline void offers_flush(struct offers *o)
{
    double estimates[COUNTERS_BATCH];
    counters_read_items(o->cells, o->form, o->is_signed, o->depth, o->width, o->hashes, o->n, estimates);
    for (uint32_t i = 0; i < o->n; i++)
        top_offer(o->top, o->items[i], estimates[i]);
    o->n = 0;
}
static inline void offers_add(struct offers *o, uint64_t item, uint64_t hash)
{
    o->items[o->n] = item;
    o->hashes[o->n] = hash;
    if (++o->n == COUNTERS_BATCH)
        offers_flush(o);
}

#endif
