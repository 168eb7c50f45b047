/*
 * DDSketch's loops that more than one instruction set uses: plain C, compiled for each, and the tables of a logarithm.
 */
#ifndef KERNELS_DDSKETCH_LOOPS_H
#define KERNELS_DDSKETCH_LOOPS_H

#include "kernels/bits.h"
#include "kernels/gamma.h"
#include "kernels/ops.h"

/* Sixteenths of an octave: about one over the middle of each, and minus the logarithm of that. */
static const double gamma_reciprocal[16] = {
    0.9696969985961914, 0.9142857193946838, 0.8648648858070374, 0.8205128312110901,
    0.7804877758026123, 0.7441860437393188, 0.7111111283302307, 0.6808510422706604,
    0.6530612111091614, 0.6274510025978088, 0.6037735939025879, 0.581818163394928,
    0.5614035129547119, 0.5423728823661804, 0.5245901346206665, 0.5079365372657776,
};
static const double gamma_logarithm[16] = {
    0.044394076362791364, 0.12928300888327973, 0.20945333069497424, 0.285402200051646,
    0.35755205836266307,  0.4262647600765558,  0.4918530613956992,  0.5545888973605297,
    0.6147098736747266,   0.672425290914147,   0.727920433065368,   0.781359759207552,
    0.8328900034158261,   0.8826430466746124,  0.9307374181797561,  0.9772798401958224,
};

/* The scan of samples that are all positive and finite, as most series' are; false, and nothing done, of others. */
static inline bool ddsketch_loop_scan_positive(struct ddsketch_scan *ret, const double *values, size_t n)
{
    int64_t least = INT64_MAX, greatest = INT64_MIN, other_least = INT64_MAX, other_greatest = INT64_MIN;
    for (size_t i = 0; i < n; i += 2) { /* two of each, so that they do not wait for each other */
        int64_t bits = (int64_t)bits_load_u64(&values[i]), other = (int64_t)bits_load_u64(&values[i + (i + 1 < n)]);
        least = bits < least ? bits : least;
        greatest = bits > greatest ? bits : greatest;
        other_least = other < other_least ? other : other_least;
        other_greatest = other > other_greatest ? other : other_greatest;
    }
    least = other_least < least ? other_least : least;
    greatest = other_greatest > greatest ? other_greatest : greatest;
    if (n == 0 || least <= 0 || greatest >= INT64_C(2047) << 52)
        return false;
    *ret = (struct ddsketch_scan){
        .positive_n = n, .positive_greatest = greatest, .positive_least = least, .negative_least = INT64_MAX};
    return true;
}

/* The entries of form 2 (kernels/ddstore.h) of the bins `used` names, as ddsketch_ops.window_entries says. */
static inline uint8_t *ddwindow_loop_entries(uint8_t *p, const uint8_t *samples, size_t blocks, const uint64_t *used)
{
    size_t last = 0;
    for (size_t b = 0; b < blocks; b++)
        for (uint64_t rest = used[b]; rest != 0; rest &= rest - 1) {
            size_t at = b * DDWINDOW_BLOCK + (unsigned)__builtin_ctzll(rest);
            uint32_t n = samples[at], many = n > 1; /* a byte or two without a branch */
            bits_store_u16(p, (uint16_t)((uint32_t)(at - last - 1) << 1 | many | ((n - 2) & 0xff) << 8));
            p += 1 + many;
            last = at;
        }
    return p;
}

/* The sum of eight bytes. */
static inline uint64_t ddstore_loop_sum_bytes(uint64_t w)
{
    const uint64_t even = UINT64_C(0x00ff00ff00ff00ff);
    return ((w & even) + (w >> 8 & even)) * UINT64_C(0x0001000100010001) >> 48;
}

/*
 * Which of up to 64 bytes of form 2 are counts, given the lowest bit of each (0 behind them). A byte is one if the byte
 * before is an entry whose low bit stands, so where such bits stand in a row every other byte is a count. Which, is
 * found for all bytes at once by letting a carry run through each row (Langdale, Lemire, Parsing Gigabytes of JSON per
 * Second, section 3.1.1, where the rows are backslashes). *is_count: whether the first byte is one, and then whether
 * the one after the last is.
 */
static inline uint64_t ddstore_loop_counts(uint64_t many, size_t size, uint64_t *is_count)
{
    const uint64_t odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
    uint64_t starts = many & ~*is_count, next = ((starts << 1 | odd) - starts) ^ odd;
    uint64_t counts = next ^ (many | *is_count);
    if (size > 0)
        *is_count = (next & many) >> (size - 1) & 1;
    return size == 64 ? counts : counts & ((UINT64_C(1) << size) - 1);
}

#endif
