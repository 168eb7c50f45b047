#include "kernels/ddwindow.h"

#include "kernels/bits.h"
#include "kernels/ddsketch_loops.h"
#include "kernels/ddstore.h"

/* Steps and counts beyond these take two bytes in form 2. */
enum { STEP_MAX = 64, COUNT_MAX = 129 };

void ddsketch_window_scan_scalar(struct ddwindow_scan *ret, const uint8_t *samples, size_t blocks, uint64_t *ret_used)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), ones = UINT64_C(0x0101010101010101);
    uint64_t bins = 0, many = 0, large = 0; /* eight sums each */
    for (size_t b = 0; b < blocks; b++) {
        uint64_t used = 0;
        for (unsigned i = 0; i < 8; i++) {
            uint64_t w = bits_load_u64(samples + b * DDWINDOW_BLOCK + 8 * i);
            uint64_t some = (((w & low) + low) | w) >> 7 & ones, above_1 = (w & low) + (low - ones);
            bins += some;
            many += (above_1 | w) >> 7 & ones;
            large |= above_1 & w;
            used |= some * UINT64_C(0x0102040810204080) >> 56 << 8 * i;
        }
        ret_used[b] = used;
    }
    *ret = (struct ddwindow_scan){.bins_n = (uint32_t)ddstore_loop_sum_bytes(bins),
                                  .many_n = (uint32_t)ddstore_loop_sum_bytes(many),
                                  .large = (large & ~low) != 0};
}

uint8_t *ddsketch_window_entries_scalar(uint8_t *p, const uint8_t *samples, size_t blocks, const uint64_t *used)
{
    return ddwindow_loop_entries(p, samples, blocks, used);
}

static size_t blocks_of(uint32_t width)
{
    return (width + DDWINDOW_BLOCK - 1) / DDWINDOW_BLOCK;
}

static void append(struct ddstore *s, const struct ddwindow *w, uint32_t at)
{
    s->bins[s->bins_n++] = (struct ddstore_bin){w->top - (int32_t)at, w->samples[at]};
}

static void list_bins(struct ddstore *s, const struct ddwindow *w)
{
    s->bins_n = 0;
    append(s, w, 0);
    for (uint32_t b = 0; b < blocks_of(w->width); b++)
        for (uint64_t rest = w->used[b]; rest != 0; rest &= rest - 1)
            append(s, w, b * DDWINDOW_BLOCK + (uint32_t)__builtin_ctzll(rest));
    if (w->width > 1)
        append(s, w, w->width - 1);
}

/* Takes both ends out of the bins in use; returns whether a step is long. */
static bool mark_ends(struct ddwindow *w)
{
    uint32_t last = 0;
    bool is_long = false;
    w->used[0] &= ~UINT64_C(1);
    w->used[(w->width - 1) / DDWINDOW_BLOCK] &= ~(UINT64_C(1) << (w->width - 1) % DDWINDOW_BLOCK);
    for (uint32_t b = 0; b < blocks_of(w->width); b++) {
        if (w->used[b] == 0)
            continue;
        is_long |= b * DDWINDOW_BLOCK + (uint32_t)__builtin_ctzll(w->used[b]) - last > STEP_MAX;
        last = (b + 1) * DDWINDOW_BLOCK - 1 - (uint32_t)__builtin_clzll(w->used[b]);
    }
    w->lowest_step = w->width - 1 - last;
    return is_long || w->lowest_step > STEP_MAX;
}

bool ddwindow_open(struct ddwindow *w, struct ddstore *s, const uint8_t *samples, uint32_t width, int32_t top)
{
    struct ddwindow_scan scan;
    w->samples = samples;
    w->width = width;
    w->top = top;
    ddsketch_ops.window_scan(&scan, samples, blocks_of(width), w->used);
    bool is_long = mark_ends(w);
    s->window = w;
    s->bins_n = scan.bins_n;
    s->many_n = scan.many_n;
    size_t size;
    if (!is_long && !scan.large && ddwindow_choose(s, &size) != DDSTORE_STEPS)
        return true;
    s->window = NULL;
    list_bins(s, w);
    return false;
}

int ddwindow_choose(const struct ddstore *s, size_t *ret_size)
{
    uint64_t top = bits_zigzag(s->window->top);
    size_t steps = bits_varint_size(top) + (size_t)s->n - 1, bytes = bits_varint_size(top) + s->window->width;
    size_t counted = bits_varint_size(top << 1) + s->bins_n - 1 + s->many_n;
    int form = counted < steps ? DDSTORE_COUNTED : DDSTORE_STEPS;
    size_t size = counted < steps ? counted : steps;
    if (bytes < size) {
        form = DDSTORE_BYTES;
        size = bytes;
    }
    *ret_size = 2 + size;
    return form;
}

uint8_t *ddwindow_write(uint8_t *p, const struct ddstore *s, int form)
{
    const struct ddwindow *w = s->window;
    uint64_t top = bits_zigzag(w->top);
    *p++ = s->top_share;
    *p++ = s->low_share;
    if (form == DDSTORE_BYTES) {
        p = bits_put_varint(p, top);
        memcpy(p, w->samples, w->width);
        return p + w->width;
    }
    uint32_t n = w->samples[0];
    p = bits_put_varint(p, top << 1 | (n > 1));
    if (n > 1)
        *p++ = (uint8_t)(n - 2);
    if (w->width == 1)
        return p;
    p = ddsketch_ops.window_entries(p, w->samples, blocks_of(w->width), w->used);
    n = w->samples[w->width - 1];
    *p++ = (uint8_t)((w->lowest_step - 1) << 1 | (n > 1));
    if (n > 1)
        *p++ = (uint8_t)(n - 2);
    return p;
}
