/*
 * Pane blocks as bytes (docs/FORMATS.md):
 *
 *     0  u32 magic "MPB1"     20  u32 revision         44  u32 states offset
 *     4  u16 version 1        24  i64 window end ms    48  u64 samples
 *     6  u16 family           32  u32 width ms         56  u64 XXH3, this field zero
 *     8  u32 view             36  u32 present_n        64  128 B presence bitmap
 *    12  u32 metric           40  u32 flags           192  u32 offsets[present_n + 1], only with PANE_OFFSETS
 *    16  u32 shard
 *
 * States end exactly where the block ends. A small block is padded to 2,048 bytes with zeros before its states, so that
 * the bytes alone tell the size of fixed-size states: (block - states offset) / present_n. Fixed sizes that are
 * multiples of 8 come out 8-aligned.
 */
#include "base/bytes.h"
#include "store/pane.h"
#include "store/sum.h"

#define PANE_MAGIC UINT32_C(0x3142504d)
enum { PANE_VERSION = 1, PANE_HEAD_BYTES = 192, PANE_SUM_AT = 56, PANE_PRESENT_AT = 64, PRESENT_WORDS = 16 };
#define PANE_FLAGS_KNOWN (PANE_NONFINITE | PANE_COLLAPSED | PANE_INCOMPLETE | PANE_OFFSETS)

/* ---- parsing ---- */

static int block_bad(const struct pane_key *key, const char *why, struct err *e)
{
    return err_set(e, ERR_CORRUPT, "pane block (view %u, end %lld, metric %u, shard %u): %s", key->view,
                   (long long)key->end_ms, key->metric, key->shard, why);
}

static void head_read(const uint8_t *p, struct pane_block *b)
{
    b->family = load_u16(p + 6);
    b->key = (struct pane_key){
        .view = load_u32(p + 8), .end_ms = load_i64(p + 24), .metric = load_u32(p + 12), .shard = load_u32(p + 16)};
    b->revision = load_u32(p + 20);
    b->width_ms = load_u32(p + 32);
    b->present_n = load_u32(p + 36);
    b->flags = load_u32(p + 40);
    b->samples_n = load_u64(p + 48);
}

/* The bitmap, its running count, and whether that is present_n. */
static bool presence_read(const uint8_t *p, struct pane_block *b)
{
    uint32_t n = 0;
    for (int word = 0; word < PRESENT_WORDS; word++) {
        b->present[word] = load_u64(p + PANE_PRESENT_AT + 8 * word);
        b->rank[word] = (uint16_t)n;
        n += (uint32_t)__builtin_popcountll(b->present[word]);
    }
    return n == b->present_n;
}

static bool offsets_ok(const struct pane_block *b)
{
    if (load_u32(b->offsets) != 0)
        return false;
    for (uint32_t i = 0; i < b->present_n; i++)
        if (load_u32(b->offsets + 4 * i) >= load_u32(b->offsets + 4 * (i + 1)))
            return false;
    return load_u32(b->offsets + 4 * b->present_n) == b->states_size;
}

/* Where the states lie. NULL or what is wrong. */
static const char *states_find(const uint8_t *p, size_t n, struct pane_block *b)
{
    uint32_t states_at = load_u32(p + 44), head = PANE_HEAD_BYTES;
    if (b->flags & PANE_OFFSETS)
        head += 4 * (b->present_n + 1);
    if (states_at < head || states_at > n)
        return "the states lie outside the block";
    b->states = p + states_at;
    b->states_size = (uint32_t)(n - states_at);
    for (uint32_t i = head; i < states_at; i++)
        if (p[i])
            return "the padding is not zero";
    if (b->flags & PANE_OFFSETS) {
        b->offsets = p + PANE_HEAD_BYTES;
        return offsets_ok(b) ? NULL : "an offset is out of order";
    }
    if (b->present_n == 0)
        return b->states_size ? "it has states but no series" : NULL;
    if (b->states_size == 0 || b->states_size % b->present_n)
        return "its size does not divide into its states";
    b->fixed_size = b->states_size / b->present_n;
    return NULL;
}

int pane_block_parse(struct str bytes, const struct pane_key *want, bool checksum, struct pane_block *ret,
                     struct err *e)
{
    static const struct pane_key unknown;
    const uint8_t *p = (const uint8_t *)bytes.p;
    if (bytes.n < PANE_BLOCK_MIN_BYTES || bytes.n > UINT32_MAX)
        return block_bad(want ? want : &unknown, "it is too short or too long", e);
    struct pane_block b = {0};
    head_read(p, &b);
    if (load_u32(p) != PANE_MAGIC)
        return block_bad(want ? want : &b.key, "it does not begin as one", e);
    if (want && (want->view != b.key.view || want->end_ms != b.key.end_ms || want->metric != b.key.metric ||
                 want->shard != b.key.shard))
        return block_bad(want, "it carries another block's key", e);
    if (checksum && store_sum(p, bytes.n, PANE_SUM_AT) != load_u64(p + PANE_SUM_AT))
        return block_bad(&b.key, "it fails its checksum", e);
    if (load_u16(p + 4) > PANE_VERSION)
        return err_set(e, ERR_VERSION, "pane block of version %u, this program reads %d; use a newer mullion",
                       load_u16(p + 4), PANE_VERSION);
    if (load_u16(p + 4) != PANE_VERSION || b.family == 0 || (b.flags & ~(uint32_t)PANE_FLAGS_KNOWN))
        return block_bad(&b.key, "its version, family or flags are unknown", e);
    if (b.width_ms == 0 || b.width_ms > PANE_WIDTH_MAX_MS)
        return block_bad(&b.key, "its width is not within 1 ms and 24 days", e);
    if (b.present_n > PANE_SLOTS || !presence_read(p, &b))
        return block_bad(&b.key, "its bitmap and count differ", e);
    const char *why = states_find(p, bytes.n, &b);
    if (why)
        return block_bad(&b.key, why, e);
    *ret = b;
    return 0;
}

struct str pane_block_state(const struct pane_block *b, uint32_t slot)
{
    if (slot >= PANE_SLOTS || !(b->present[slot / 64] >> (slot % 64) & 1))
        return (struct str){0};
    uint64_t all = (UINT64_C(1) << (slot % 64)) - 1, below = b->present[slot / 64] & all;
    /* Most words are full up to the slot, and counting bits is a call where no instruction may be assumed. */
    uint32_t at = b->rank[slot / 64] + (below == all ? slot % 64 : (uint32_t)__builtin_popcountll(below));
    if (!b->offsets)
        return (struct str){(const char *)b->states + (size_t)at * b->fixed_size, b->fixed_size};
    uint32_t from = load_u32(b->offsets + 4 * at), to = load_u32(b->offsets + 4 * (at + 1));
    return (struct str){(const char *)b->states + from, to - from};
}

/* ---- building ---- */

void pane_builder_start(struct pane_builder *b, const struct pane_key *key, uint32_t family, uint32_t fixed_size,
                        uint32_t width_ms, uint32_t revision)
{
    MUST(family > 0 && family <= UINT16_MAX && width_ms > 0 && width_ms <= PANE_WIDTH_MAX_MS);
    strbuf_clear(&b->states);
    strbuf_clear(&b->out);
    memset(b->present, 0, sizeof(b->present));
    b->key = *key;
    b->family = family;
    b->fixed_size = fixed_size;
    b->width_ms = width_ms;
    b->revision = revision;
    b->flags = fixed_size ? 0 : PANE_OFFSETS;
    b->offsets[0] = b->present_n = b->last_slot = 0;
    b->samples_n = 0;
}

void pane_builder_add(struct pane_builder *b, uint32_t slot, struct str state, uint32_t flags, uint64_t samples_n)
{
    MUST(slot < PANE_SLOTS && (b->present_n == 0 || slot > b->last_slot));
    MUST(state.n > 0 && (!b->fixed_size || state.n == b->fixed_size));
    MUST(state.n <= UINT32_MAX / 2 - b->states.n);
    strbuf_add_str(&b->states, state);
    b->present[slot / 64] |= UINT64_C(1) << (slot % 64);
    b->offsets[++b->present_n] = (uint32_t)b->states.n;
    b->last_slot = slot;
    b->samples_n += samples_n;
    pane_builder_flag(b, flags);
}

void pane_builder_flag(struct pane_builder *b, uint32_t flags)
{
    MUST(!(flags & ~(uint32_t)(PANE_FLAGS_KNOWN & ~PANE_OFFSETS)));
    b->flags |= flags;
}

struct str pane_builder_finish(struct pane_builder *b)
{
    size_t head = PANE_HEAD_BYTES + (b->fixed_size ? 0 : 4 * ((size_t)b->present_n + 1));
    size_t bytes = head + b->states.n;
    if (bytes < PANE_BLOCK_MIN_BYTES)
        bytes = PANE_BLOCK_MIN_BYTES;
    strbuf_clear(&b->out);
    strbuf_reserve(&b->out, bytes);
    uint8_t *p = (uint8_t *)b->out.p;
    struct byte_writer w = {p, p + bytes, false};
    write_u32(&w, PANE_MAGIC);
    write_u16(&w, PANE_VERSION);
    write_u16(&w, (uint16_t)b->family);
    write_u32(&w, b->key.view);
    write_u32(&w, b->key.metric);
    write_u32(&w, b->key.shard);
    write_u32(&w, b->revision);
    write_i64(&w, b->key.end_ms);
    write_u32(&w, b->width_ms);
    write_u32(&w, b->present_n);
    write_u32(&w, b->flags);
    write_u32(&w, (uint32_t)(bytes - b->states.n));
    write_u64(&w, b->samples_n);
    write_u64(&w, 0);
    for (int word = 0; word < PRESENT_WORDS; word++)
        write_u64(&w, b->present[word]);
    if (!b->fixed_size)
        write_bytes(&w, b->offsets, 4 * ((size_t)b->present_n + 1));
    memset(w.p, 0, writer_left(&w) - b->states.n);
    w.p = w.end - b->states.n;
    write_bytes(&w, b->states.p, b->states.n);
    MUST(!w.failed);
    store_u64(p + PANE_SUM_AT, store_sum(p, bytes, PANE_SUM_AT));
    b->out.n = bytes;
    return (struct str){b->out.p, bytes};
}

void pane_builder_done(struct pane_builder *b)
{
    strbuf_done(&b->states);
    strbuf_done(&b->out);
}
