/*
 * A DDSketch state in memory: what a build and a merge write and every readout reads. The bytes are described at the
 * head of kernels/ddsketch.c; this is their reader, their writer and the sum of k states.
 */
#ifndef KERNELS_DDCONTENT_H
#define KERNELS_DDCONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/ddstore.h"
#include "kernels/order.h"
#include "kernels/sketch.h"

enum { DDCONTENT_FORM_MASK = 7 };                       /* of the first byte: the positive store */
enum { DDCONTENT_HEAD_MAX = 2 + 8 + 10 + 10 + 1 + 10 }; /* bytes before the stores */
#define DDCONTENT_N_END (UINT64_C(1) << 48)

struct ddcontent {
    struct ddstore positive, negative;
    uint64_t zero_n, nonfinite_n;
    bool collapsed;
};

/* A state's head, its stores ready to be read. */
struct ddhead {
    double alpha;
    bool collapsed;
    uint64_t nonfinite_n, zero_n;
    bool has_positive, has_negative;
    struct ddstore_cursor positive, negative;
};

/* Bins a state may keep. */
uint32_t ddcontent_bins_most(const struct sketch_params *params);

/* The head of any bytes: 0, or SKETCH_CORRUPT with *reason. The bins themselves are not looked at. */
int ddhead_read(struct ddhead *h, const uint8_t *bytes, size_t size, const char **reason);

/* Bins collapsed to the parameters' limit, and the state's bytes. May change *c. 0 or SKETCH_NO_ROOM. */
int ddcontent_write(uint8_t *dst, size_t cap, size_t *ret_size, struct ddcontent *c,
                    const struct sketch_params *params);

/* Scratch of ddcontent_sum for states of `held` bins in all. */
size_t ddcontent_sum_scratch(uint64_t held, uint32_t k);
/* The sum of k valid states, its bins in scratch. 0, SKETCH_MISMATCH for another alpha, SKETCH_CORRUPT,
 * SKETCH_BAD_DATA at 2^48 samples. */
int ddcontent_sum(struct ddcontent *c, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                  void *scratch);

/* The same sum's counts without its bins. */
int ddcontent_open(struct ddcontent *c, const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                   void *scratch);
/* After ddcontent_open with the same scratch: the uppermost positive bins, down to that of the sample `place` places
 * below the greatest, and one more bin that stands for all others. false if only ddcontent_sum can tell. */
bool ddcontent_top(struct ddcontent *c, uint32_t k, uint64_t place, void *scratch);
enum { DDCONTENT_TOP_MAX = 192 };

/* Appends the tally's bins down to `low` to s, which has room for one more. */
void ddtally_bins(const struct ddtally *t, int32_t low, struct ddstore *s);

/* An entry to be sorted: bins from the top down, then the entry's number. */
static inline uint64_t ddsort_key(int32_t index, uint32_t number)
{
    return (uint64_t)((int64_t)INT32_MAX - index) << 32 | number;
}
static inline int32_t ddsort_index(uint64_t key)
{
    return (int32_t)(INT32_MAX - (int64_t)(key >> 32));
}
/* Appends the bins of n sorted keys to s; a key's samples are counts[its number], or 1 without counts. */
void ddsort_bins(const uint64_t *keys, uint64_t n, const uint64_t *counts, struct ddstore *s);

#endif
