/*
 * The frame's bytes, and its bit lanes.
 *
 * Doubles become integers y first, by one of two exact maps:
 *   e = 0..14  decimal: x = y 2^shift / 10^e with |y 2^shift| < 2^51. The division is correctly rounded, so it gives
 *              back the very double that a decimal text parses to. With corrections, x is c (-31..31) units in the last
 *              place above that double: sums of decimals, microseconds / 1000.0 / 1000.0.
 *   e = 15     ordered bits: the bit pattern with negatives flipped so that numeric order is kept; x = y << shift.
 * Integers are predicted, and the residuals u (modulo 2^64) packed at w bits each:
 *   0 constant  y[i] = base + u[i]                       1 delta  y[i] = y[i-1] + base + u[i]
 *   2 second    d[i] = d[i-1] + base + u[i]              3 line   y[i] = base + i slope + u[i]
 * A residual wider than w, or negative, keeps its low w bits in the lane and the rest in the patch list; doubles that
 * no map gives back (NaN, -0, Inf, the stale marker, odd ones) are in the exception list.
 *
 *   u8 h0          bits 0-3 e, bit 4 shift, bit 5 patches, bit 6 exceptions, bit 7 corrections follow
 *   u8 h1          bits 0-5 w (0..57, or 58 meaning 64), bits 6-7 predictor
 *   [u8 shift]     1..63
 *   [u8 p, u8 hw]  p = 1..255 patches; hw: bits 0-5 width of their high parts (1..57, 58), bit 6 signed, bit 7 zero
 *   [u8 x]         x = 1..255 exceptions
 *   [u8 cw, i8 cb] corrections: cw = 1..6 bits each, above cb
 *   varints        zigzag LEB128: constant: base; delta: y0, base; second: y0, d1, base; line: base, slope
 *   lane           m residuals of w bits, a little-endian bit stream of ceil(m w / 8) bytes; m = n less 0, 1, 2, 0
 *   [u8|u16 pos[p]]  rising positions among m, u16 when m > 256; then ceil(p hw / 8) bytes of high parts
 *   [corrections]  n values of cw bits
 *   [u8|u16 pos[x]]  rising positions among n, u16 when n > 256; then x doubles verbatim
 *
 * An integer frame has e = 0 and neither shift, exceptions nor corrections. Ordered bits have neither exceptions nor
 * corrections. Nothing in a frame gives its own length: a reader walks it. Eight residuals fill exactly w bytes, so
 * readers step w bytes for 8 values.
 */
#include "kernels/bits.h"
#include "kernels/frame_internal.h"

size_t frame_bound(uint32_t n)
{
    /* The encoder falls back to 64-bit lanes; 56 covers heads, varints and frame_pack's overhang. */
    return 56 + (size_t)n * 8;
}

size_t frame_scratch(uint32_t n)
{
    (void)n;
    return (sizeof(struct frame_work) + 15) & ~(size_t)15;
}

uint8_t *frame_pack(uint8_t *dst, const uint64_t *v, unsigned n, unsigned w)
{
    if (w == 0)
        return dst;
    if (w == 64) {
        memcpy(dst, v, (size_t)n * 8);
        return dst + (size_t)n * 8;
    }
    uint64_t waiting = 0, mask = (UINT64_C(1) << w) - 1;
    unsigned have = 0; /* 0..7 bits wait, so 57 more fit */
    for (unsigned i = 0; i < n; i++) {
        waiting |= (v[i] & mask) << have;
        bits_store_u64(dst, waiting);
        have += w;
        dst += have >> 3;
        unsigned gone = have & ~7u;
        waiting = gone == 64 ? 0 : waiting >> gone;
        have &= 7;
    }
    *dst = (uint8_t)waiting;
    return dst + (have > 0);
}

void frame_unpack_scalar(uint64_t *out, const uint8_t *src, size_t size, unsigned n, unsigned w)
{
    if (w == 0) {
        memset(out, 0, (size_t)n * 8);
        return;
    }
    if (w == 64) {
        memcpy(out, src, (size_t)n * 8);
        return;
    }
    const uint64_t mask = (UINT64_C(1) << w) - 1;
    unsigned i = 0;
    for (; i < n && size >= (size_t)w + 8; i += 8, src += w, size -= w) { /* groups whose loads end inside */
        unsigned many = n - i < 8 ? n - i : 8;
        for (unsigned j = 0; j < many; j++)
            out[i + j] = bits_load_u64(src + (j * w >> 3)) >> (j * w & 7) & mask;
    }
    if (i >= n)
        return;
    uint8_t tail[FRAME_WIDTH_PACKED + 7 + 8]; /* less than w + 8 bytes are left */
    memcpy(tail, src, size);
    memset(tail + size, 0, 8);
    for (unsigned j = 0; i < n; i++, j++)
        out[i] = bits_load_u64(tail + (j * w >> 3)) >> (j * w & 7) & mask;
}
