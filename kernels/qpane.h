/*
 * The exact quantile pane: a multiset of samples, largest first, in one of these forms. VALUES states are
 * nothing else; a KLL state is one while n <= k, and both have the same bytes then; a DISTINCT_SET state is the pane of
 * the samples' set.
 *
 * First byte of every quantile pane: bits 0-2 form, bit 3 a sample is NaN or infinite, bits 4-7 of the form.
 *
 *   form 0  doubles   | 0x00 | f64 sample[n] |                                                     1 + 8n bytes
 *   form 1  frame     | 0x01 | varint n | a frame of 512 samples, ..., a frame of the rest |
 *   form 2  tiny      n <= 24 decimal samples as varint steps                   kernels/qdecimal.h
 *   form 3  levels    kernels/kll.c; never in a VALUES state
 *   form 4  packed    n <= 1024 decimal samples as bit-packed steps              kernels/qdecimal.h
 *
 * The form is chosen by bytes and by what its decoding costs (qpane.c, docs/FORMATS.md); the bytes are a pure function
 * of the multiset, and never exceed 1 + 8n.
 * All NaNs are one NaN and sort last (kernels/order.h). -0 and +0 stay apart.
 */
#ifndef KERNELS_QPANE_H
#define KERNELS_QPANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/select.h"
#include "kernels/sketch.h"

enum { QPANE_DOUBLES = 0, QPANE_FRAME = 1, QPANE_TINY = 2, QPANE_LEVELS = 3, QPANE_PACKED = 4 };
enum { QPANE_FORM_MASK = 7, QPANE_NONFINITE = 8 };

/* Scratch bytes of qpane_write beyond its arguments. */
size_t qpane_write_scratch(uint64_t n);
/*
 * Writes the pane of keys[0..n), n >= 1, sorted upwards (so samples are largest first). SKETCH_OK, or SKETCH_NO_ROOM
 * when the pane needs more than cap.
 */
int qpane_write(uint8_t *dst, size_t cap, size_t *ret_size, const uint64_t *keys, uint64_t n, void *scratch);

/*
 * Sorted keys for qpane_write, in scratch: of n samples, or of all samples of k panes of any form but 3 (at most
 * UINT32_MAX of them: else SKETCH_BAD_DATA; SKETCH_CORRUPT for malformed panes). *scratch moves behind them; both take
 * qpane_keys_scratch(n samples in all, k or 0).
 */
size_t qpane_keys_scratch(uint64_t n, uint32_t k);
uint64_t *qpane_sort(const double *values, uint32_t n, uint8_t **scratch);
int qpane_unite(const struct state_ref *src, uint32_t k, uint8_t **scratch, uint64_t **ret_keys, uint64_t *ret_n);

/* Samples of a validated pane of any form but 3. */
uint64_t qpane_count(const uint8_t *bytes, size_t size);
/* Does bit 3 stand? */
bool qpane_nonfinite(const uint8_t *bytes);

/* Doubles that qpane_open may write for a pane of n samples. */
static inline uint64_t qpane_room(uint64_t n)
{
    return n + 16;
}
/*
 * The samples of a pane of any form but 3, largest first, as a run of weight 1: in place for form 0, else decoded to
 * out[0..qpane_room(n)). Returns n, or 0 if the bytes are malformed.
 */
uint64_t qpane_open(const uint8_t *bytes, size_t size, double *out, struct select_run *ret);
/* The same, but only the first `head` samples need be decoded: ret->n of them are, and ret->unread are not. */
uint64_t qpane_open_head(const uint8_t *bytes, size_t size, uint64_t head, double *out, struct select_run *ret);

/* Any form but 3, well formed, sorted, flagged rightly, of at most n_max samples? 0, or SKETCH_CORRUPT with a reason.
 */
int qpane_validate(const uint8_t *bytes, size_t size, uint64_t n_max, const char **reason);
/* The same of a set: each sample is there once, and zero is +0. */
int qpane_validate_set(const uint8_t *bytes, size_t size, const char **reason);

/* Widens [*min, *max] (both NaN: none yet) by the run's samples that are not NaN. */
void qpane_extremes(const struct select_run *run, double *min, double *max);

/*
 * COUNT, QUANTILE or QUANTILE_RANK over k validated panes of any form but 3, decoding no more than the answer needs.
 * Scratch as qpane_estimate_scratch says, n being the samples of all.
 */
size_t qpane_estimate_scratch(uint64_t n, uint32_t k);
int qpane_estimate(const struct state_ref *src, uint32_t k, enum statistic statistic, double q, void *scratch,
                   double *ret);

/* The same statistics over opened runs. */
int qpane_read(struct select_run *runs, uint32_t runs_n, enum statistic statistic, double q, double *ret);

#endif
