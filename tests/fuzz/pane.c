/* Pane blocks: a built block parses to what went in; damaged or arbitrary bytes are refused or stay inside the block.
 */
#include "store/pane.h"
#include "base/alloc.h"
#include "fuzz.h"

enum { STATE_MAX_BYTES = 64, FIXED_BYTES = 24 };

/* Every state of the block read to its last byte. */
static void read_states(struct str bytes, uint32_t *ret_n)
{
    static volatile uint8_t sum;
    struct pane_block b;
    struct err e = {0};
    *ret_n = 0;
    if (pane_block_parse(bytes, NULL, false, &b, &e) != 0)
        return;
    for (uint32_t slot = 0; slot < PANE_SLOTS; slot++) {
        struct str s = pane_block_state(&b, slot);
        *ret_n += s.n > 0;
        for (size_t i = 0; i < s.n; i++)
            sum = (uint8_t)(sum + s.p[i]);
    }
    MUST(*ret_n == b.present_n);
}

static void build(struct choices *c, struct pane_builder *b)
{
    struct pane_key key = {1 + choose_u8(c), (int64_t)choose_u64(c), choose_u8(c), choose_u8(c)};
    uint32_t fixed = choose_u8(c) & 1 ? FIXED_BYTES : 0, added = 0, slot = choose_below(c, 64);
    uint8_t state[STATE_MAX_BYTES];
    pane_builder_start(b, &key, 1 + choose_below(c, 10), fixed, 1 + choose_below(c, 60000), choose_u8(c));
    for (uint32_t left = choose_u8(c); left && slot < PANE_SLOTS; left--, slot += 1 + choose_below(c, 16)) {
        uint32_t n = fixed ? fixed : 1 + choose_below(c, STATE_MAX_BYTES);
        memset(state, choose_u8(c), sizeof state);
        pane_builder_add(b, slot, (struct str){(const char *)state, n}, 0, n);
        added++;
    }
    struct str bytes = pane_builder_finish(b);
    struct pane_block parsed;
    struct err e = {0};
    MUST(pane_block_parse(bytes, &key, true, &parsed, &e) == 0);
    MUST(parsed.present_n == added && (!fixed || added == 0 || parsed.fixed_size == fixed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices c = {data, size};
    struct pane_builder b = {0};
    uint32_t n;
    read_states((struct str){(const char *)data, size}, &n);
    build(&c, &b);
    uint8_t *copy = malloc(b.out.n);
    MUST(copy);
    memcpy(copy, b.out.p, b.out.n);
    read_states((struct str){(const char *)copy, b.out.n}, &n);
    MUST(n == b.present_n);
    choose_damage(&c, copy, b.out.n);
    read_states((struct str){(const char *)copy, b.out.n}, &n);
    free(copy);
    pane_builder_done(&b);
    return 0;
}
