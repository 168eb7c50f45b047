/*
 * One sign's bins of a DDSketch, as bytes. A store holds at least one bin and goes from the greatest magnitude down, so
 * that high quantiles come first:
 *
 *   | u8 top share | u8 low share | bins in one of five forms |
 *
 *   form 1  steps     varint zigzag(top), then for each further sample varint (index before - index), 0 = same bin
 *   form 2  counted   varint zigzag(top) << 1 | many, then for each further bin varint (index before - index - 1) << 1
 * | many; behind every entry with many = 1: varint samples - 2 form 3  bytes     varint zigzag(top), u8 samples of each
 * bin from top downward, gaps as 0; the last is not 0 form 4  words     the same with u16 form 5  longs     the same
 * with u32
 *
 * A share says where in its bucket the greatest (top) or the smallest (low) magnitude lies, in 1/256 of the bucket on
 * the logarithmic scale. The store ends where its bytes end. The least bytes win, then the lower form.
 */
#ifndef KERNELS_DDSTORE_H
#define KERNELS_DDSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DDSTORE_NONE = 0, DDSTORE_STEPS, DDSTORE_COUNTED, DDSTORE_BYTES, DDSTORE_WORDS, DDSTORE_LONGS, DDSTORE_END };

struct ddstore_bin {
    int32_t index;
    uint64_t n; /* >= 1 */
};

struct ddwindow;

/* A store in memory; bins from the greatest magnitude down, each index once. */
struct ddstore {
    struct ddstore_bin *bins;
    const struct ddwindow *window; /* not NULL: the bins are there, not in bins (kernels/ddwindow.h) */
    uint32_t bins_n;               /* 0 = no store */
    uint32_t many_n;               /* bins of two samples or more, with a window */
    uint8_t top_share, low_share;
    uint64_t n; /* samples */
};

/* Most bytes of a store of so many bins. */
size_t ddstore_bound(uint64_t bins_n);
/* The form that needs the least bytes; *ret_size = how many. bins_n >= 1. */
int ddstore_choose(const struct ddstore *s, size_t *ret_size);
/* Writes exactly the bytes ddstore_choose counted. Returns the byte after them. */
uint8_t *ddstore_write(uint8_t *p, const struct ddstore *s, int form);

/* Reading from the top. Never reads outside [bytes, bytes + size). */
struct ddstore_cursor {
    const uint8_t *p, *end;
    int64_t index;
    uint64_t first_n; /* samples of the first entry, forms 1 and 2, until it has been given; then 0 */
    bool failed;      /* the bytes are malformed; no bin follows */
    uint8_t form, top_share, low_share;
};
void ddstore_open(struct ddstore_cursor *c, const uint8_t *bytes, size_t size, int form);
/* The next entry: an index and its samples. Form 1 gives one entry a sample, so an index may come again. */
bool ddstore_next(struct ddstore_cursor *c, int32_t *ret_index, uint64_t *ret_n);

/* Counting bins in place. */
struct ddtally {
    uint64_t *window; /* samples of bin top - i at i, i < cleared; room for DDTALLY_WINDOW */
    uint32_t cleared;
    int32_t top;
};
enum { DDTALLY_WINDOW = 8192, DDTALLY_CLEAR = 256 };

/* Clears the window up to bin `at` places below the top; false if that is outside. */
static inline bool ddtally_reach(struct ddtally *t, uint64_t at)
{
    if (at >= DDTALLY_WINDOW)
        return false;
    for (; at >= t->cleared; t->cleared += DDTALLY_CLEAR)
        memset(t->window + t->cleared, 0, DDTALLY_CLEAR * sizeof *t->window);
    return true;
}
/* Adds n samples to a bin <= top, or false: too far below the top. */
static inline bool ddtally_add(struct ddtally *t, int32_t index, uint64_t n)
{
    uint64_t at = (uint64_t)((int64_t)t->top - index);
    if (at >= t->cleared && !ddtally_reach(t, at))
        return false;
    t->window[at] += n;
    return true;
}
/* Adds the rest of a store whose top is <= the tally's, or its bins from there until they hold `most` samples; then c
 * stands behind them, and the lowest bin may be incomplete. Returns its lowest index, or INT64_MIN when a bin lies
 * outside the window or the bytes are malformed; what is in the tally is worthless then. */
int64_t ddstore_tally(struct ddstore_cursor *c, struct ddtally *t, uint64_t most);

/* Samples of the rest of a store; sets c->failed if the bytes are malformed. */
uint64_t ddstore_count(struct ddstore_cursor *c);

#endif
