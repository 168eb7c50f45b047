#include "kernels/ddstore.h"

#include "kernels/bits.h"
#include "kernels/ddsketch_loops.h"
#include "kernels/ddwindow.h"
#include "kernels/gamma.h"

enum { VARINT_MAX = 10, INDEX_VARINT_MAX = 5 };

size_t ddstore_bound(uint64_t bins_n)
{
    return 2 + VARINT_MAX + (size_t)bins_n * (INDEX_VARINT_MAX + VARINT_MAX);
}

int ddstore_choose(const struct ddstore *s, size_t *ret_size)
{
    if (s->window)
        return ddwindow_choose(s, ret_size);
    uint64_t top = bits_zigzag(s->bins[0].index), most = 0;
    size_t size[DDSTORE_END] = {0};
    size[DDSTORE_STEPS] = bits_varint_size(top) + (s->bins[0].n - 1);
    size[DDSTORE_COUNTED] = bits_varint_size(top << 1);
    for (uint32_t i = 0; i < s->bins_n; i++) {
        uint64_t n = s->bins[i].n;
        most = n > most ? n : most;
        if (n > 1)
            size[DDSTORE_COUNTED] += bits_varint_size(n - 2);
        if (i > 0) {
            uint64_t step = (uint64_t)((int64_t)s->bins[i - 1].index - s->bins[i].index);
            size[DDSTORE_STEPS] += bits_varint_size(step) + (n - 1);
            size[DDSTORE_COUNTED] += bits_varint_size((step - 1) << 1);
        }
    }
    size_t width = (size_t)((int64_t)s->bins[0].index - s->bins[s->bins_n - 1].index) + 1;
    size[DDSTORE_BYTES] = most > UINT8_MAX ? 0 : bits_varint_size(top) + width;
    size[DDSTORE_WORDS] = most > UINT16_MAX ? 0 : bits_varint_size(top) + width * 2;
    size[DDSTORE_LONGS] = most > UINT32_MAX ? 0 : bits_varint_size(top) + width * 4;
    int best = DDSTORE_STEPS;
    for (int form = DDSTORE_COUNTED; form < DDSTORE_END; form++)
        if (size[form] != 0 && size[form] < size[best])
            best = form;
    *ret_size = 2 + size[best];
    return best;
}

static uint8_t *write_dense(uint8_t *p, const struct ddstore *s, int form)
{
    int64_t index = s->bins[0].index;
    for (uint32_t i = 0; i < s->bins_n; index--) {
        uint32_t n = 0;
        if (s->bins[i].index == index)
            n = (uint32_t)s->bins[i++].n;
        if (form == DDSTORE_BYTES) {
            *p++ = (uint8_t)n;
        } else if (form == DDSTORE_WORDS) {
            bits_store_u16(p, (uint16_t)n);
            p += 2;
        } else {
            bits_store_u32(p, n);
            p += 4;
        }
    }
    return p;
}

uint8_t *ddstore_write(uint8_t *p, const struct ddstore *s, int form)
{
    if (s->window)
        return ddwindow_write(p, s, form);
    *p++ = s->top_share;
    *p++ = s->low_share;
    uint64_t top = bits_zigzag(s->bins[0].index);
    if (form != DDSTORE_COUNTED)
        p = bits_put_varint(p, top);
    if (form >= DDSTORE_BYTES)
        return write_dense(p, s, form);
    for (uint32_t i = 0; i < s->bins_n; i++) {
        uint64_t n = s->bins[i].n;
        uint64_t step = i > 0 ? (uint64_t)((int64_t)s->bins[i - 1].index - s->bins[i].index) : 0;
        if (form == DDSTORE_COUNTED && i > 0 && i + 1 < s->bins_n && step <= 64 && n < 130) {
            uint32_t many = n > 1; /* a byte or two without a branch: at least one more follows */
            bits_store_u16(p, (uint16_t)((step - 1) << 1 | many | ((n - 2) & 0xff) << 8));
            p += 1 + many;
            continue;
        }
        if (form == DDSTORE_COUNTED) {
            p = bits_put_varint(p, (i > 0 ? step - 1 : top) << 1 | (n > 1));
            if (n > 1)
                p = bits_put_varint(p, n - 2);
            continue;
        }
        if (i > 0)
            p = bits_put_varint(p, step);
        memset(p, 0, n - 1);
        p += n - 1;
    }
    return p;
}

static inline bool read_varint(struct ddstore_cursor *c, uint64_t *ret)
{
    if (c->end - c->p >= 2 && (c->p[0] < 128 || c->p[1] < 128)) { /* nearly always */
        uint32_t two = bits_load_u16(c->p), second = two >> 7 & 1;
        *ret = (two & 0x7f) | ((two >> 1 & 0x3f80) & (0 - second));
        c->p += 1 + second;
        return true;
    }
    const uint8_t *p = bits_get_varint(c->p, c->end, ret);
    c->failed |= p == NULL;
    c->p = p ? p : c->end;
    return p != NULL;
}

void ddstore_open(struct ddstore_cursor *c, const uint8_t *bytes, size_t size, int form)
{
    uint64_t top = 0, more = 0;
    c->p = bytes;
    c->end = bytes + size;
    c->index = 0;
    c->first_n = 0;
    c->form = (uint8_t)form;
    c->top_share = c->low_share = 0;
    c->failed = size < 3 || form <= DDSTORE_NONE || form >= DDSTORE_END;
    if (c->failed)
        return;
    c->top_share = *c->p++;
    c->low_share = *c->p++;
    read_varint(c, &top);
    if (form == DDSTORE_COUNTED) {
        if (top & 1)
            read_varint(c, &more);
        c->first_n = top & 1 ? more + 2 : 1;
        c->failed |= more >= UINT64_C(1) << 48;
        top >>= 1;
    } else if (form == DDSTORE_STEPS) {
        c->first_n = 1;
    }
    c->index = bits_unzigzag(top);
    c->failed |= top > 2 * (uint64_t)GAMMA_INDEX_MAX;
}

static bool next_dense(struct ddstore_cursor *c, int32_t *ret_index, uint64_t *ret_n)
{
    size_t each = c->form == DDSTORE_BYTES ? 1 : c->form == DDSTORE_WORDS ? 2 : 4;
    while ((size_t)(c->end - c->p) >= each) {
        uint32_t n = each == 1 ? *c->p : each == 2 ? bits_load_u16(c->p) : bits_load_u32(c->p);
        c->p += each;
        int64_t index = c->index--;
        if (n != 0) {
            *ret_index = (int32_t)index;
            *ret_n = n;
            c->failed = index < -GAMMA_INDEX_MAX;
            return !c->failed;
        }
        c->failed = c->p == c->end; /* the last must not be 0 */
    }
    c->failed |= c->p != c->end;
    return false;
}

bool ddstore_next(struct ddstore_cursor *c, int32_t *ret_index, uint64_t *ret_n)
{
    uint64_t entry = 0, more = 0;
    if (c->failed)
        return false;
    if (c->form >= DDSTORE_BYTES)
        return next_dense(c, ret_index, ret_n);
    if (c->first_n > 0) {
        *ret_index = (int32_t)c->index;
        *ret_n = c->first_n;
        c->first_n = 0;
        return true;
    }
    if (c->p == c->end || !read_varint(c, &entry))
        return false;
    *ret_n = 1;
    if (c->form == DDSTORE_COUNTED) {
        if ((entry & 1) && !read_varint(c, &more))
            return false;
        *ret_n = (entry & 1) ? more + 2 : 1;
        entry = (entry >> 1) + 1;
        c->failed = more >= UINT64_C(1) << 48;
    }
    c->failed |= entry > 2 * (uint64_t)GAMMA_INDEX_MAX;
    c->index -= (int64_t)entry;
    c->failed |= c->index < -GAMMA_INDEX_MAX;
    *ret_index = (int32_t)c->index;
    return !c->failed;
}

/* Form 1 in one loop: nearly all steps are one byte. */
static int64_t tally_steps(struct ddstore_cursor *c, struct ddtally *t, uint64_t most)
{
    const uint8_t *p = c->p, *end = c->end;
    uint64_t at = (uint64_t)(t->top - c->index);
    if (!ddtally_reach(t, at))
        return INT64_MIN;
    t->window[at]++;
    for (uint64_t n = 1; p < end && n < most; n++) {
        uint64_t step = *p++;
        if (step >= 128) {
            p = bits_get_varint(p - 1, end, &step);
            if (!p || step > DDTALLY_WINDOW)
                return INT64_MIN;
        }
        at += step;
        if (at >= t->cleared && !ddtally_reach(t, at))
            return INT64_MIN;
        t->window[at]++;
    }
    c->p = p;
    return t->top - (int64_t)at;
}

/* Form 3. */
static int64_t tally_bytes(struct ddstore_cursor *c, struct ddtally *t, uint64_t most)
{
    size_t n = (size_t)(c->end - c->p);
    uint64_t at = (uint64_t)(t->top - c->index), samples = 0;
    if (most < UINT64_MAX) {
        size_t some = 0;
        while (some < n && samples < most)
            samples += c->p[some++];
        n = some;
    }
    if (n == 0 || !ddtally_reach(t, at + n - 1))
        return INT64_MIN;
    ddsketch_ops.add_bytes(t->window + at, c->p, n);
    c->p += n;
    return t->top - (int64_t)(at + n - 1);
}

/* Form 2. Whether a bin holds many samples is a coin toss, so entries of one byte and counts of one byte go without a
 * branch on it. */
static int64_t tally_counted(struct ddstore_cursor *c, struct ddtally *t, uint64_t most)
{
    const uint8_t *p = c->p, *end = c->end;
    uint64_t at = (uint64_t)(t->top - c->index), entry, more;
    if (!ddtally_reach(t, at))
        return INT64_MIN;
    uint64_t samples = c->first_n;
    t->window[at] += samples;
    while (p < end && samples < most) {
        uint64_t n = 1;
        uint32_t two = end - p >= 2 ? bits_load_u16(p) : 0x80, many = two & 1;
        if (__builtin_expect(!((two & 0x80) | (two >> 8 & 0x80 & (0 - many))), 1)) {
            entry = two & 0x7f;
            n += (two >> 8 & (0 - many)) + many;
            p += 1 + many;
        } else {
            p = bits_get_varint(p, end, &entry);
            if (p && entry & 1) {
                p = bits_get_varint(p, end, &more);
                n = more + 2;
            }
            if (!p)
                return INT64_MIN;
        }
        at += (entry >> 1) + 1;
        if (at >= t->cleared && !ddtally_reach(t, at))
            return INT64_MIN;
        t->window[at] += n;
        samples += n;
    }
    c->p = p;
    return t->top - (int64_t)at;
}

void ddsketch_add_bytes_scalar(uint64_t *window, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        window[i] += bytes[i];
}

int64_t ddstore_tally(struct ddstore_cursor *c, struct ddtally *t, uint64_t most)
{
    int64_t low = INT64_MIN;
    int32_t index;
    uint64_t n, samples = 0;
    if (c->failed || c->index > t->top)
        return INT64_MIN;
    if (c->form == DDSTORE_STEPS)
        return tally_steps(c, t, most);
    if (c->form == DDSTORE_COUNTED)
        return tally_counted(c, t, most);
    if (c->form == DDSTORE_BYTES)
        return tally_bytes(c, t, most);
    for (; samples < most && ddstore_next(c, &index, &n); low = index, samples += n)
        if (!ddtally_add(t, index, n))
            return INT64_MIN;
    return c->failed ? INT64_MIN : low;
}

/* --- counting without looking at bins --- */

/* Bit i = the lowest bit of byte i, of eight bytes. */
static uint64_t low_bits(uint64_t w)
{
    return ((w & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080)) >> 56;
}
/* All bits of byte i where bit i stands. */
static uint64_t spread(uint64_t bits)
{
    uint64_t each = (bits * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
    return ((each + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101)) * 255;
}

size_t ddsketch_count_small_scalar(const uint8_t *bytes, size_t size, uint64_t *is_count, uint64_t *ret_samples)
{
    uint64_t samples = 0; /* an entry is one sample, a count is one more than it says */
    for (size_t at = 0; at < size; at += 64) {
        size_t part = size - at < 64 ? size - at : 64;
        uint64_t w[8], many = 0, large = 0;
        for (size_t i = 0; i < 8; i++) {
            size_t from = at + 8 * i;
            if (from + 8 <= size) {
                w[i] = bits_load_u64(bytes + from);
            } else {
                w[i] = 0;
                for (size_t j = size; j > from; j--)
                    w[i] = w[i] << 8 | bytes[j - 1];
            }
            many |= low_bits(w[i]) << 8 * i;
            large |= low_bits(w[i] >> 7) << 8 * i;
        }
        size_t some = large ? (size_t)__builtin_ctzll(large) : part;
        if (some < 64)
            many &= (UINT64_C(1) << some) - 1;
        uint64_t counts = ddstore_loop_counts(many, some, is_count);
        for (unsigned i = 0; i < 8; i++)
            samples += ddstore_loop_sum_bytes(w[i] & spread(counts >> 8 * i & 255));
        if (large) {
            *ret_samples = at + some + samples;
            return at + some;
        }
    }
    *ret_samples = size + samples;
    return size;
}

/* Samples of form 2 behind the first entry. */
static uint64_t count_counted(struct ddstore_cursor *c)
{
    const uint8_t *p = c->p, *end = c->end;
    uint64_t samples = 0, some, is_count = 0, v;
    while (p < end) {
        p += ddsketch_ops.count_small(p, (size_t)(end - p), &is_count, &some);
        samples += some;
        if (p == end)
            break;
        p = bits_get_varint(p, end, &v);
        if (!p || v >= UINT64_C(1) << 48 || samples >= UINT64_C(1) << 48) {
            c->failed = true;
            return 0;
        }
        samples += is_count ? v + 1 : 1;
        is_count = is_count ? 0 : v & 1;
    }
    c->failed |= is_count != 0;
    return samples;
}

uint64_t ddstore_count(struct ddstore_cursor *c)
{
    uint64_t samples = 0, n;
    int32_t index;
    if (c->failed)
        return 0;
    if (c->form == DDSTORE_BYTES || c->form == DDSTORE_STEPS) { /* the bytes' sum; one more than those below 128 */
        bool steps = c->form == DDSTORE_STEPS;
        const uint8_t *p = c->p;
        samples = steps;
        for (; c->end - p >= 8; p += 8) {
            uint64_t w = bits_load_u64(p);
            samples += ddstore_loop_sum_bytes(steps ? ~w >> 7 & UINT64_C(0x0101010101010101) : w);
        }
        for (; p < c->end; p++)
            samples += steps ? *p < 128 : *p;
        return samples;
    }
    if (c->form == DDSTORE_COUNTED)
        return c->first_n + count_counted(c);
    for (samples = 0; ddstore_next(c, &index, &n);)
        samples += n;
    return samples;
}
