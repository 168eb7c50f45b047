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

#include "kernels/frame.h"

/* kernels/order.h says what these do; what lies in v[0..n) beside the selected places may differ between levels, as may
 * tmp. */
struct order_ops {
    void (*keys)(uint64_t *keys, const uint8_t *values, size_t n);
    void (*values)(double *values, const uint64_t *keys, size_t n);
    void (*sort)(uint64_t *v, size_t n, uint64_t *tmp);
    void (*select)(uint64_t *v, size_t n, size_t at, uint64_t *tmp);
    /* The keys of the values that lie in [low, high] to out, in order; returns how many, and in *ret_below how many are
     * less. out has room for n + ORDER_SLACK. */
    size_t (*between)(uint64_t *out, const uint8_t *values, size_t n, uint64_t low, uint64_t high, size_t *ret_below);
};
enum { ORDER_SLACK = 8 };
extern struct order_ops order_ops;
void order_keys_scalar(uint64_t *keys, const uint8_t *values, size_t n);
void order_values_scalar(double *values, const uint64_t *keys, size_t n);
void order_sort_scalar(uint64_t *v, size_t n, uint64_t *tmp);
void order_select_scalar(uint64_t *v, size_t n, size_t at, uint64_t *tmp);
size_t order_between_scalar(uint64_t *out, const uint8_t *values, size_t n, uint64_t low, uint64_t high,
                            size_t *ret_below);
void order_ops_avx2(struct order_ops *ops);
void order_ops_avx512(struct order_ops *ops);

/* The frame (kernels/frame.h): integers modulo 2^64, lanes and maps as the head of frame.c defines them. */
struct frame_ops {
    /* The first n values of a lane of w bits (0..57 or 64); size >= frame_lane_bytes(n, w) bytes may be read. */
    void (*unpack)(uint64_t *out, const uint8_t *src, size_t size, unsigned n, unsigned w);
    /* y[i] = y[i - 1] + base + y[i], y[-1] being start. Of both, what lies in the FRAME_SLACK places behind n may be
     * anything before and after. */
    void (*add_up)(uint64_t *y, unsigned n, uint64_t start, uint64_t base);
    /* u[i] += base + i step. */
    void (*line)(uint64_t *u, unsigned n, uint64_t base, uint64_t step);
    /* The map's definition, but for corrections and exceptions. False when an integer is out of a decimal's range. */
    bool (*to_doubles)(double *out, const uint64_t *y, unsigned n, unsigned e, unsigned shift);
    /* Moves v[i] by correction[i] + base units in the last place. */
    void (*correct)(double *v, const uint64_t *correction, unsigned n, int base);
    /* y[i] = the integer of v[i] at scale 10^e. Returns the misfits; once there are more than misfits_max it may stop
     * and return any number above that, and y is then unfinished. */
    unsigned (*decimal)(uint64_t *y, const double *v, unsigned n, unsigned e, unsigned misfits_max);
    /* The same, but a value within FRAME_CORRECTION_MAX units in the last place fits; correction[i] says how many it is
     * above. */
    unsigned (*near_decimal)(uint64_t *y, int64_t *correction, const double *v, unsigned n, unsigned e,
                             unsigned misfits_max);
    /* Residuals of all four predictors, a row each. */
    void (*rows)(uint64_t (*rows)[FRAME_MAX_N], const uint64_t *y, unsigned n, uint64_t slope);
    /* Summed bit widths of zigzag(r[i] - middle). */
    unsigned (*widths)(const uint64_t *r, unsigned n, uint64_t middle);
};
extern struct frame_ops frame_ops;
void frame_unpack_scalar(uint64_t *out, const uint8_t *src, size_t size, unsigned n, unsigned w);
void frame_add_up_scalar(uint64_t *y, unsigned n, uint64_t start, uint64_t base);
void frame_line_scalar(uint64_t *u, unsigned n, uint64_t base, uint64_t step);
bool frame_to_doubles_scalar(double *out, const uint64_t *y, unsigned n, unsigned e, unsigned shift);
void frame_correct_scalar(double *v, const uint64_t *correction, unsigned n, int base);
unsigned frame_decimal_scalar(uint64_t *y, const double *v, unsigned n, unsigned e, unsigned misfits_max);
unsigned frame_near_decimal_scalar(uint64_t *y, int64_t *correction, const double *v, unsigned n, unsigned e,
                                   unsigned misfits_max);
void frame_rows_scalar(uint64_t (*rows)[FRAME_MAX_N], const uint64_t *y, unsigned n, uint64_t slope);
unsigned frame_widths_scalar(const uint64_t *r, unsigned n, uint64_t middle);
void frame_ops_avx2(struct frame_ops *ops);
void frame_ops_avx512(struct frame_ops *ops);

/* Packed decimal panes (kernels/qdecimal.h). */
struct qdecimal_ops {
    /* The integers y[1..head) of the n samples, 2 <= n, from y[0], by the groups' width codes and their bytes, which
     * begin at p and are followed by end. Returns the byte after the groups that were needed; NULL when one is cut
     * short, an integer is out of range or spare bits are not zero. y has room for n + QDECIMAL_SLACK. */
    const uint8_t *(*groups)(double *y, const uint8_t *codes, const uint8_t *p, const uint8_t *end, uint32_t n,
                             uint32_t head);
};
enum { QDECIMAL_SLACK = 8 };
extern struct qdecimal_ops qdecimal_ops;
const uint8_t *qdecimal_groups_scalar(double *y, const uint8_t *codes, const uint8_t *p, const uint8_t *end, uint32_t n,
                                      uint32_t head);
void qdecimal_ops_avx2(struct qdecimal_ops *ops);
void qdecimal_ops_avx512(struct qdecimal_ops *ops);

/* DDSketch's samples (kernels/gamma.h, kernels/ddsketch.c). */
struct gamma_map;
struct ddsketch_scan {
    uint64_t positive_n, negative_n, zero_n, nonfinite_n;
    /* Bits of the magnitudes; of no sample: greatest 0, least INT64_MAX. */
    int64_t positive_greatest, positive_least, negative_greatest, negative_least;
};
struct ddwindow_scan {
    uint32_t bins_n, many_n; /* bytes that are not 0, and those of 2 or more; right if there are below 256 of them */
    bool large;              /* a byte of 130 or more */
};
enum { DDWINDOW_BLOCK = 64 };
struct ddsketch_ops {
    /* Counts and extremes of both signs. */
    void (*scan)(struct ddsketch_scan *ret, const double *values, size_t n);
    /* The bucket of each |x[i]|, GAMMA_NONE of zero, infinite and NaN. */
    void (*indexes)(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index);
    /* Samples of a store's bins of form 2 (kernels/ddstore.h), up to a byte of 128 or more: returns the bytes before
     * it. *is_count, 0 or 1: whether the first byte is a count, then whether the one behind those taken is. */
    size_t (*count_small)(const uint8_t *bytes, size_t size, uint64_t *is_count, uint64_t *ret_samples);
    /* window[i] += bytes[i]. */
    void (*add_bytes)(uint64_t *window, const uint8_t *bytes, size_t n);
    /* What a window of counts says (kernels/ddwindow.h); bit i of ret_used[b] = byte i of block b is not 0. */
    void (*window_scan)(struct ddwindow_scan *ret, const uint8_t *samples, size_t blocks, uint64_t *ret_used);
    /* The entries of form 2 of the bins that `used` names, bin 0 being the one before the first; steps are at most 64,
     * samples from 1 to 129. Returns their end; the byte there may be written too. */
    uint8_t *(*window_entries)(uint8_t *p, const uint8_t *samples, size_t blocks, const uint64_t *used);
};
extern struct ddsketch_ops ddsketch_ops;
void ddsketch_scan_scalar(struct ddsketch_scan *ret, const double *values, size_t n);
void ddsketch_indexes_scalar(const struct gamma_map *map, const double *x, size_t n, int32_t *ret_index);
size_t ddsketch_count_small_scalar(const uint8_t *bytes, size_t size, uint64_t *is_count, uint64_t *ret_samples);
void ddsketch_add_bytes_scalar(uint64_t *window, const uint8_t *bytes, size_t n);
void ddsketch_window_scan_scalar(struct ddwindow_scan *ret, const uint8_t *samples, size_t blocks, uint64_t *ret_used);
uint8_t *ddsketch_window_entries_scalar(uint8_t *p, const uint8_t *samples, size_t blocks, const uint64_t *used);
void ddsketch_ops_avx2(struct ddsketch_ops *ops);
void ddsketch_ops_avx512(struct ddsketch_ops *ops);

/* Counters (kernels/counters.h), many items or tables at once. */
struct counters_ops {
    /* ret[i] = counters_hash(items[i], seed). */
    void (*hashes)(uint64_t *ret, const uint64_t *items, size_t n, uint64_t seed);
    /* ret[r * stride + i] = counters_place(hashes[i] * counters_odd[r], width), without the sign unless is_signed:
     * places of n items in `depth` rows. */
    void (*places)(uint32_t *ret, size_t stride, const uint64_t *hashes, size_t n, uint32_t depth, uint32_t width,
                   bool is_signed);
    /* dst[i] += src[0][i] + ... + src[k - 1][i] of k arrays of n u32, any alignment. */
    void (*add_up)(uint32_t *dst, const uint8_t *const *src, size_t k, size_t n);
    /* Item i's weight by `depth` rows of `width` counters; places[r * stride + i] is its place in row r: the least of
     * the counters, or, as i32 times their signs, the median. */
    void (*least)(double *ret, const uint32_t *cells, const uint32_t *places, size_t stride, size_t n, uint32_t depth,
                  uint32_t width);
    void (*median)(double *ret, const uint32_t *cells, const uint32_t *places, size_t stride, size_t n, uint32_t depth,
                   uint32_t width);
};
extern struct counters_ops counters_ops;
extern const struct counters_ops counters_scalar;
void counters_ops_avx2(struct counters_ops *ops);
void counters_ops_avx512(struct counters_ops *ops);

/* HLL (kernels/hll.c). */
struct hll_ops {
    /* The coupons of the values in turn, but for those whose rho is not above `above`; returns how many. ret has room
     * for n + HLL_COUPONS_SLACK. */
    size_t (*coupons)(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed, uint32_t above);
    /* The same of items, whose bits are taken as they are. */
    size_t (*item_coupons)(uint32_t *ret, const uint64_t *items, size_t n, uint32_t p, uint64_t seed, uint32_t above);
    /* Each register becomes the greatest of itself and all of src_n arrays of m. */
    void (*raise)(uint8_t *registers, const uint8_t *const *src, uint32_t src_n, size_t m);
    /* ret_many[r] = how many registers are r; all are below 64, m is a multiple of 16. */
    void (*histogram)(const uint8_t *registers, size_t m, uint32_t *ret_many);
    /* Bit i of ret_used[i / 64]: register i is not 0; bits behind the last are 0. Returns how many; m and registers as
     * above. */
    size_t (*used)(uint64_t *ret_used, const uint8_t *registers, size_t m);
    /* The varints of the steps of rising coupons below 2^28, the first from `before`. Returns their end; p has room for
     * 4 n bytes, which all may be written. */
    uint8_t *(*steps)(uint8_t *p, const uint32_t *coupons, size_t n, uint32_t before);
    /* Some of the varints of bytes[0..size), which begins with one and has two more bytes before it. Returns how many
     * went to ret, which has room for HLL_SPARSE_ROOM; *ret_taken = their bytes, *ret_sum their sum. Takes what is
     * fast: 0 when none is. */
    size_t (*sparse)(uint32_t *ret, const uint8_t *bytes, size_t size, uint64_t *ret_sum, size_t *ret_taken);
};
enum { HLL_SPARSE_ROOM = 256, HLL_COUPONS_SLACK = 16 };
extern struct hll_ops hll_ops;
size_t hll_coupons_scalar(uint32_t *ret, const double *values, size_t n, uint32_t p, uint64_t seed, uint32_t above);
size_t hll_item_coupons_scalar(uint32_t *ret, const uint64_t *items, size_t n, uint32_t p, uint64_t seed,
                               uint32_t above);
size_t hll_used_scalar(uint64_t *ret_used, const uint8_t *registers, size_t m);
uint8_t *hll_steps_scalar(uint8_t *p, const uint32_t *coupons, size_t n, uint32_t before);
void hll_raise_scalar(uint8_t *registers, const uint8_t *const *src, uint32_t src_n, size_t m);
void hll_histogram_scalar(const uint8_t *registers, size_t m, uint32_t *ret_many);
size_t hll_sparse_scalar(uint32_t *ret, const uint8_t *bytes, size_t size, uint64_t *ret_sum, size_t *ret_taken);
void hll_ops_avx2(struct hll_ops *ops);
void hll_ops_avx512(struct hll_ops *ops);

#endif
