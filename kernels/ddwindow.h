/*
 * Few samples of one sign counted in bytes, and their store written from there: most panes are small, and listing
 * their bins one by one costs more than finding them. Byte i of the window is how many samples lie in bin top - i;
 * 64 at a time, a mask says which bins are in use.
 */
#ifndef KERNELS_DDWINDOW_H
#define KERNELS_DDWINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/ops.h"

struct ddstore;

enum { DDWINDOW_BLOCKS_MAX = 31, DDWINDOW_WIDTH_MAX = DDWINDOW_BLOCKS_MAX * DDWINDOW_BLOCK };
enum { DDWINDOW_SAMPLES_MAX = 255 }; /* so that no byte overflows */

struct ddwindow {
    const uint8_t *samples; /* whole blocks, 0 from width on */
    uint32_t width;         /* from the top bin to the lowest */
    int32_t top;
    uint32_t lowest_step;               /* from the bin in use above the lowest, if width > 1 */
    uint64_t used[DDWINDOW_BLOCKS_MAX]; /* bins in use between the top one and the lowest */
};

/* Fills *w and what s says of bins and samples from counted bytes: the first and the last of `width` are not 0. True
 * when s may be written from w, which outlives it: form 2 or 3 is the shortest, and all numbers but the top's index are
 * single bytes. Otherwise s gets its bins, and s->bins has room for them. */
bool ddwindow_open(struct ddwindow *w, struct ddstore *s, const uint8_t *samples, uint32_t width, int32_t top);

/* ddstore_choose and ddstore_write of such a store. */
int ddwindow_choose(const struct ddstore *s, size_t *ret_size);
uint8_t *ddwindow_write(uint8_t *p, const struct ddstore *s, int form);

#endif
