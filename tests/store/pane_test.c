/* store/pane: block bytes against FORMATS.md, round trips, hostile bytes, manifests, views. */
#include "store/pane.h"

#include <xxhash.h>

#include "base/bytes.h"
#include "store/source.h"
#include "store/tables.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct err err;
static struct store *store;
static struct pane_builder builder;

static void setup(void)
{
    struct store_options small = {.map_bytes = 64 << 20};
    scratch_make();
    ck_assert_int_eq(store_open(scratch, &small, &store, NULL, &err), 0);
}
static void teardown(void)
{
    pane_builder_done(&builder);
    store_close(store);
    scratch_remove();
}

static struct store_txn *begin(void)
{
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    return t;
}

/* State of a slot: bytes that follow from the slot. */
static struct str state_of(uint32_t slot, uint32_t fixed_size, char ret[64])
{
    uint32_t n = fixed_size ? fixed_size : 1 + slot * 7 % 60;
    for (uint32_t i = 0; i < n; i++)
        ret[i] = (char)(slot * 31 + i * 17 + 1);
    return (struct str){ret, n};
}

static const struct pane_key a_key = {.view = 5, .end_ms = -60000, .metric = 9, .shard = 2};

static struct str build(const struct pane_key *key, uint32_t fixed_size, uint32_t every, uint32_t revision)
{
    char state[64];
    pane_builder_start(&builder, key, 3, fixed_size, 60000, revision);
    for (uint32_t slot = every / 2; slot < PANE_SLOTS; slot += every)
        pane_builder_add(&builder, slot, state_of(slot, fixed_size, state), slot == 512 ? PANE_NONFINITE : 0, 10);
    return pane_builder_finish(&builder);
}

static void expect_states(const struct pane_block *b, uint32_t fixed_size, uint32_t every)
{
    char state[64];
    for (uint32_t slot = 0; slot <= PANE_SLOTS; slot++) {
        struct str got = pane_block_state(b, slot);
        bool present = slot < PANE_SLOTS && slot >= every / 2 && (slot - every / 2) % every == 0;
        bool right = present ? str_eq(got, state_of(slot, fixed_size, state)) : got.n == 0;
        if (!right)
            ck_abort_msg("slot %u of every %u, fixed size %u", slot, every, fixed_size);
    }
}

START_TEST(round_trip)
{
    static const uint32_t sizes[] = {0, 1, 3, 4, 8, 24, 56}, everies[] = {1, 2, 7, 64, 1000, 5000};
    for (size_t i = 0; i < 7; i++) {
        for (size_t k = 0; k < 6; k++) {
            struct pane_block b;
            struct str bytes = build(&a_key, sizes[i], everies[k], 4);
            ck_assert_uint_ge(bytes.n, PANE_BLOCK_MIN_BYTES);
            ck_assert_msg(pane_block_parse(bytes, &a_key, true, &b, &err) == 0, "%s", err.message);
            expect_states(&b, sizes[i], everies[k]);
            ck_assert(b.family == 3 && b.revision == 4 && b.width_ms == 60000);
            ck_assert_uint_eq(b.samples_n, 10 * (uint64_t)b.present_n);
            ck_assert_uint_eq(b.fixed_size, b.present_n ? sizes[i] : 0);
            ck_assert(!(b.flags & PANE_NONFINITE) == (everies[k] != 1 && everies[k] != 1024));
            if (sizes[i] && sizes[i] % 8 == 0)
                ck_assert_uint_eq((size_t)(b.states - (const uint8_t *)bytes.p) % 8, 0);
        }
    }
}
END_TEST

/* Offsets of FORMATS.md's table, read without the code under test. */
START_TEST(bytes_as_pinned)
{
    struct str bytes = build(&a_key, 0, 64, 6);
    const uint8_t *p = (const uint8_t *)bytes.p;
    ck_assert_uint_eq(load_u16(p + 6), 3);
    ck_assert(load_u32(p + 8) == 5 && load_u32(p + 12) == 9 && load_u32(p + 16) == 2);
    ck_assert_uint_eq(load_u32(p + 20), 6);
    ck_assert_int_eq(load_i64(p + 24), -60000);
    ck_assert_uint_eq(load_u32(p + 32), 60000);
    ck_assert_uint_eq(load_u32(p + 36), 16);
    ck_assert_uint_eq(load_u32(p + 40), PANE_OFFSETS);
    ck_assert_uint_eq(load_u64(p + 48), 160);
    for (uint32_t word = 0; word < 16; word++)
        ck_assert_uint_eq(load_u64(p + 64 + 8 * word), UINT64_C(1) << 32);
    uint32_t states_at = load_u32(p + 44);
    for (uint32_t i = 0; i < 16; i++) {
        char state[64];
        struct str want = state_of(32 + 64 * i, 0, state);
        uint32_t from = load_u32(p + 192 + 4 * i), to = load_u32(p + 192 + 4 * (i + 1));
        ck_assert(str_eq(want, (struct str){(const char *)p + states_at + from, to - from}));
    }
    uint8_t *copy = malloc(bytes.n);
    memcpy(copy, p, bytes.n);
    memset(copy + 56, 0, 8);
    ck_assert_uint_eq(load_u64(p + 56), XXH3_64bits(copy, bytes.n));
    free(copy);
}
END_TEST

/* Flips and cuts never read outside (the copy has no byte to spare) and the checksum finds every one. */
START_TEST(hostile_bytes)
{
    for (uint32_t fixed_size = 0; fixed_size <= 8; fixed_size += 8) {
        struct str bytes = build(&a_key, fixed_size, 9, 1);
        struct pane_block b;
        uint8_t *copy = malloc(bytes.n);
        memcpy(copy, bytes.p, bytes.n);
        struct str mine = {(const char *)copy, bytes.n};
        for (size_t bit = 0; bit < 8 * bytes.n; bit++) {
            copy[bit / 8] ^= (uint8_t)(1 << (bit % 8));
            if (pane_block_parse(mine, NULL, false, &b, &err) == 0)
                for (uint32_t slot = 0; slot < PANE_SLOTS; slot++) {
                    struct str state = pane_block_state(&b, slot);
                    if (state.n && (state.p < mine.p || state.p + state.n > mine.p + mine.n))
                        ck_abort_msg("bit %zu: slot %u lies outside", bit, slot);
                }
            int code = pane_block_parse(mine, &a_key, true, &b, &err);
            if (code != ERR_CORRUPT)
                ck_abort_msg("bit %zu: %d", bit, code);
            copy[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        }
        free(copy);
        for (size_t cut = 0; cut < bytes.n; cut++) {
            uint8_t *part = malloc(cut + 1);
            memcpy(part, bytes.p, cut);
            if (pane_block_parse((struct str){(const char *)part, cut}, NULL, true, &b, &err) != ERR_CORRUPT)
                ck_abort_msg("cut at %zu", cut);
            pane_block_parse((struct str){(const char *)part, cut}, NULL, false, &b, &err);
            free(part);
        }
    }
}
END_TEST

START_TEST(other_key_is_refused)
{
    struct str bytes = build(&a_key, 8, 9, 1);
    struct pane_block b;
    for (int i = 0; i < 4; i++) {
        struct pane_key other = a_key;
        other.view += i == 0;
        other.end_ms += i == 1;
        other.metric += i == 2;
        other.shard += i == 3;
        ck_assert_int_eq(pane_block_parse(bytes, &other, false, &b, &err), ERR_CORRUPT);
        struct store_txn *t = begin();
        ck_assert_int_eq(pane_block_put(t, &other, bytes, &err), ERR_CORRUPT);
        store_write_abort(t);
    }
}
END_TEST

/* ---- windows ---- */

static void put_window(struct store_txn *t, uint32_t view, int64_t end_ms, uint32_t blocks)
{
    struct pane_manifest m;
    for (uint32_t i = 0; i < blocks; i++) {
        struct pane_key key = {view, end_ms, i / 3, i % 3};
        ck_assert_int_eq(pane_block_put(t, &key, build(&key, 8, 10 + i, 0), &err), 0);
    }
    ck_assert_int_eq(pane_manifest_make(t, view, end_ms, 0, &m, &err), 0);
    ck_assert_uint_eq(m.shards, blocks);
    ck_assert_int_eq(pane_manifest_put(t, view, end_ms, &m, &err), 0);
}

struct order {
    struct pane_key last;
    uint32_t n;
};

static int see_block(void *ctx, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct order *order = ctx;
    struct pane_block b;
    ck_assert_int_eq(pane_block_parse(bytes, key, true, &b, e), 0);
    ck_assert(order->n == 0 || key->metric > order->last.metric ||
              (key->metric == order->last.metric && key->shard > order->last.shard));
    order->last = *key;
    order->n++;
    return 0;
}

static int see_end(void *ctx, int64_t end_ms, const struct pane_manifest *m, struct err *e)
{
    char *text = ctx;
    snprintf(text + strlen(text), 200 - strlen(text), "%lld ", (long long)end_ms);
    return 0;
}

START_TEST(windows_and_retention)
{
    struct store_txn *t = begin();
    static const int64_t ends[] = {-60000, 0, 60000, 120000};
    for (int i = 0; i < 4; i++) {
        put_window(t, 1, ends[i], 7);
        put_window(t, 2, ends[i], 2);
    }
    struct order order = {0};
    ck_assert_int_eq(pane_window_walk(t, 1, 0, see_block, &order, &err), 0);
    ck_assert_uint_eq(order.n, 7);
    char text[200] = "";
    ck_assert_int_eq(pane_manifest_walk(t, 1, -60000, 60000, see_end, text, &err), 0);
    ck_assert_str_eq(text, "0 60000 ");
    *text = 0;
    ck_assert_int_eq(pane_manifest_walk(t, 1, INT64_MIN, INT64_MAX, see_end, text, &err), 0);
    ck_assert_str_eq(text, "-60000 0 60000 120000 ");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pane_window_check(t, 1, ends[i], &err), 0);
    uint32_t windows;
    ck_assert_int_eq(pane_drop(t, 1, 0, &windows, &err), 0);
    ck_assert_uint_eq(windows, 2);
    struct pane_key gone = {1, 0, 0, 0}, kept = {1, 60000, 0, 0}, other = {2, 0, 0, 0};
    struct str bytes;
    struct pane_manifest m;
    ck_assert_int_eq(pane_block_get(t, &gone, &bytes, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(pane_block_get(t, &kept, &bytes, &err), 0);
    ck_assert_int_eq(pane_block_get(t, &other, &bytes, &err), 0);
    ck_assert_int_eq(pane_manifest_get(t, 1, 0, &m, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(pane_window_check(t, 1, 0, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(pane_drop(t, 1, INT64_MAX, &windows, &err), 0);
    ck_assert_uint_eq(windows, 2);
    ck_assert_int_eq(pane_window_check(t, 2, 120000, &err), 0);
    store_write_abort(t);
}
END_TEST

START_TEST(manifest_finds_missing_and_altered_blocks)
{
    struct pane_key key = {1, 60000, 1, 1};
    uint8_t raw_key[20], *altered;
    store_be32(raw_key, 1);
    store_be_i64(raw_key + 4, 60000);
    store_be32(raw_key + 12, 1);
    store_be32(raw_key + 16, 1);
    for (int what = 0; what < 4; what++) {
        struct store_txn *t = begin();
        put_window(t, 1, 60000, 7);
        struct str bytes;
        ck_assert_int_eq(pane_block_get(t, &key, &bytes, &err), 0);
        altered = malloc(bytes.n);
        memcpy(altered, bytes.p, bytes.n);
        if (what == 0) { /* missing */
            ck_assert_int_eq(store_delete(t, TABLE_PANES, raw_key, 20, &err), 0);
        } else if (what == 1) { /* a flipped state byte */
            altered[bytes.n - 1] ^= 1;
            ck_assert_int_eq(store_put(t, TABLE_PANES, raw_key, 20, (struct str){(char *)altered, bytes.n}, &err), 0);
        } else if (what == 2) { /* whole, but of another revision */
            ck_assert_int_eq(pane_block_put(t, &key, build(&key, 8, 14, 1), &err), 0);
        } else { /* one too many */
            struct pane_key more = {1, 60000, 50, 0};
            ck_assert_int_eq(pane_block_put(t, &more, build(&more, 8, 14, 0), &err), 0);
        }
        ck_assert_int_eq(pane_window_check(t, 1, 60000, &err), ERR_CORRUPT);
        free(altered);
        store_write_abort(t);
    }
}
END_TEST

/* ---- views ---- */

static int see_view(void *ctx, const struct pane_view *v, struct err *e)
{
    char *text = ctx;
    snprintf(text + strlen(text), 200 - strlen(text), "%u:%02x ", v->number, v->identity[0]);
    return 0;
}

START_TEST(view_numbers_are_for_good)
{
    uint8_t a[16] = {0xaa}, b[16] = {0xbb}, c[16] = {0xcc};
    struct pane_view v, w;
    struct store_txn *t = begin();
    ck_assert_int_eq(pane_view_find(t, a, &v, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(pane_view_create(t, b, &v, &err), 0);
    ck_assert(v.number == 0 && v.complete_from_ms == INT64_MAX && v.sealed_to_ms == INT64_MIN);
    ck_assert_int_eq(pane_view_create(t, a, &v, &err), 0);
    ck_assert_uint_eq(v.number, 1);
    v.complete_from_ms = 5;
    v.sealed_to_ms = 60000;
    ck_assert_int_eq(pane_view_update(t, &v, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
    t = begin();
    uint32_t dropped;
    ck_assert_int_eq(pane_drop(t, 1, INT64_MAX, &dropped, &err), 0);
    ck_assert_int_eq(pane_view_create(t, a, &w, &err), 0); /* found, not made */
    ck_assert(w.number == 1 && w.complete_from_ms == 5 && w.sealed_to_ms == 60000);
    ck_assert_int_eq(pane_view_create(t, c, &w, &err), 0);
    ck_assert_uint_eq(w.number, 2);
    w.number = 1;
    ck_assert_int_eq(pane_view_update(t, &w, &err), ERR_INTERNAL);
    char text[200] = "";
    ck_assert_int_eq(pane_view_walk(t, see_view, text, &err), 0);
    ck_assert_str_eq(text, "0:bb 1:aa 2:cc ");
    store_write_abort(t);
    ck_assert_uint_ne(w.number, SOURCE_NO_VIEW);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/pane");
    TCase *tcase = tcase_create("pane");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, round_trip);
    tcase_add_test(tcase, bytes_as_pinned);
    tcase_add_test(tcase, hostile_bytes);
    tcase_add_test(tcase, other_key_is_refused);
    tcase_add_test(tcase, windows_and_retention);
    tcase_add_test(tcase, manifest_finds_missing_and_altered_blocks);
    tcase_add_test(tcase, view_numbers_are_for_good);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
