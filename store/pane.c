/*
 * Pane blocks and window manifests in the store. Keys of both begin with be32 view, be64 (end ^ 2^63), so one window's
 * blocks are neighbours and old windows of a view are a range.
 *
 * A manifest, 40 bytes little-endian:
 *
 *     0  u32 shards      8  u64 states     24  u64 XXH3 over the checksums of its blocks in key order
 *     4  u32 revision   16  u64 samples    32  u64 XXH3 of its key and the bytes before
 */
#include "store/pane.h"

#include <xxhash.h>

#include "base/bytes.h"
#include "store/row_check.h"
#include "store/sum.h"
#include "store/tables.h"

enum { BLOCK_KEY_BYTES = 20, WINDOW_KEY_BYTES = 12, MANIFEST_BYTES = 40, MANIFEST_SUM_AT = 32 };

static void window_key_write(uint32_t view, int64_t end_ms, uint8_t ret[WINDOW_KEY_BYTES])
{
    store_be32(ret, view);
    store_be_i64(ret + 4, end_ms);
}

static void block_key_write(const struct pane_key *key, uint8_t ret[BLOCK_KEY_BYTES])
{
    window_key_write(key->view, key->end_ms, ret);
    store_be32(ret + 12, key->metric);
    store_be32(ret + 16, key->shard);
}

/* ---- blocks ---- */

int pane_block_put(struct store_txn *t, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct pane_block b;
    uint8_t k[BLOCK_KEY_BYTES];
    int code = pane_block_parse(bytes, key, false, &b, e);
    if (code)
        return code;
    block_key_write(key, k);
    return store_put(t, TABLE_PANES, k, sizeof(k), bytes, e);
}

int pane_block_get(struct store_txn *t, const struct pane_key *key, struct str *ret, struct err *e)
{
    uint8_t k[BLOCK_KEY_BYTES];
    block_key_write(key, k);
    int code = store_get(t, TABLE_PANES, k, sizeof(k), ret, e);
    if (code != ERR_NOT_FOUND)
        return code;
    return err_set(e, ERR_NOT_FOUND, "no pane block of view %u, end %lld, metric %u, shard %u", key->view,
                   (long long)key->end_ms, key->metric, key->shard);
}

int pane_row_check(struct str key, struct str value, struct err *e)
{
    struct pane_key k = {load_be32(key.p), load_be_i64(key.p + 4), load_be32(key.p + 12), load_be32(key.p + 16)};
    struct pane_block b;
    if (pane_block_parse(value, &k, false, &b, NULL) == 0 || pane_block_parse(value, NULL, true, &b, NULL) != 0)
        return 0;
    return err_set(e, ERR_CORRUPT, "store.mdb: a pane block stands under another block's key");
}

int pane_window_walk(struct store_txn *t, uint32_t view, int64_t end_ms,
                     int (*each)(void *ctx, const struct pane_key *key, struct str bytes, struct err *e), void *ctx,
                     struct err *e)
{
    uint8_t k[BLOCK_KEY_BYTES];
    struct pane_key key = {.view = view, .end_ms = end_ms};
    struct store_cursor c;
    int code = store_cursor_open(t, TABLE_PANES, &c, e);
    if (code)
        return code;
    block_key_write(&key, k);
    code = store_cursor_seek(&c, k, sizeof(k), e);
    while (!code && c.found && memcmp(c.key.p, k, WINDOW_KEY_BYTES) == 0) {
        key.metric = load_be32(c.key.p + 12);
        key.shard = load_be32(c.key.p + 16);
        code = each(ctx, &key, c.value, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}

/* ---- manifests ---- */

int pane_manifest_put(struct store_txn *t, uint32_t view, int64_t end_ms, const struct pane_manifest *m, struct err *e)
{
    uint8_t key[WINDOW_KEY_BYTES], value[MANIFEST_BYTES];
    window_key_write(view, end_ms, key);
    store_u32(value, m->shards);
    store_u32(value + 4, m->revision);
    store_u64(value + 8, m->states);
    store_u64(value + 16, m->samples);
    store_u64(value + 24, m->checksum);
    store_u64(value + MANIFEST_SUM_AT, store_sum_keyed(key, sizeof(key), value, MANIFEST_SUM_AT));
    return store_put(t, TABLE_MANIFESTS, key, sizeof(key), (struct str){(const char *)value, sizeof(value)}, e);
}

static int manifest_read(struct str key, struct str value, struct pane_manifest *ret, struct err *e)
{
    const uint8_t *k = (const uint8_t *)key.p, *p = (const uint8_t *)value.p;
    if (value.n != MANIFEST_BYTES ||
        load_u64(p + MANIFEST_SUM_AT) != store_sum_keyed(k, WINDOW_KEY_BYTES, p, MANIFEST_SUM_AT))
        return err_set(e, ERR_CORRUPT, "the manifest of view %u, end %lld fails its checksum", load_be32(k),
                       (long long)load_be_i64(k + 4));
    *ret = (struct pane_manifest){.shards = load_u32(p),
                                  .revision = load_u32(p + 4),
                                  .states = load_u64(p + 8),
                                  .samples = load_u64(p + 16),
                                  .checksum = load_u64(p + 24)};
    return 0;
}

int pane_manifest_get(struct store_txn *t, uint32_t view, int64_t end_ms, struct pane_manifest *ret, struct err *e)
{
    uint8_t key[WINDOW_KEY_BYTES];
    struct str value;
    window_key_write(view, end_ms, key);
    int code = store_get(t, TABLE_MANIFESTS, key, sizeof(key), &value, e);
    if (code == ERR_NOT_FOUND)
        return err_set(e, ERR_NOT_FOUND, "view %u has no window that ends at %lld", view, (long long)end_ms);
    return code ? code : manifest_read((struct str){(const char *)key, sizeof(key)}, value, ret, e);
}

int pane_manifest_walk(struct store_txn *t, uint32_t view, int64_t after_ms, int64_t upto_ms,
                       int (*each)(void *ctx, int64_t end_ms, const struct pane_manifest *m, struct err *e), void *ctx,
                       struct err *e)
{
    if (after_ms >= upto_ms) /* also keeps after_ms + 1 from overflowing */
        return 0;
    uint8_t key[WINDOW_KEY_BYTES];
    struct store_cursor c;
    int code = store_cursor_open(t, TABLE_MANIFESTS, &c, e);
    if (code)
        return code;
    window_key_write(view, after_ms + 1, key);
    code = store_cursor_seek(&c, key, sizeof(key), e);
    while (!code && c.found && load_be32(c.key.p) == view && load_be_i64(c.key.p + 4) <= upto_ms) {
        struct pane_manifest m;
        code = manifest_read(c.key, c.value, &m, e);
        if (!code)
            code = each(ctx, load_be_i64(c.key.p + 4), &m, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}

struct manifest_maker {
    struct pane_manifest m;
    struct strbuf sums; /* u64 each */
    bool verify;        /* read every block's checksum */
};

static int maker_add(void *ctx, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct manifest_maker *maker = ctx;
    struct pane_block b;
    int code = pane_block_parse(bytes, key, maker->verify, &b, e);
    if (code)
        return code;
    maker->m.shards++;
    maker->m.states += b.present_n;
    maker->m.samples += b.samples_n;
    strbuf_add(&maker->sums, bytes.p + 56, 8);
    return 0;
}

static int manifest_make(struct store_txn *t, uint32_t view, int64_t end_ms, bool verify, struct pane_manifest *ret,
                         struct err *e)
{
    struct manifest_maker maker = {.verify = verify};
    int code = pane_window_walk(t, view, end_ms, maker_add, &maker, e);
    maker.m.checksum = XXH3_64bits(maker.sums.p ? maker.sums.p : "", maker.sums.n);
    strbuf_done(&maker.sums);
    if (!code)
        *ret = maker.m;
    return code;
}

int pane_manifest_make(struct store_txn *t, uint32_t view, int64_t end_ms, uint32_t revision, struct pane_manifest *ret,
                       struct err *e)
{
    int code = manifest_make(t, view, end_ms, false, ret, e);
    if (!code)
        ret->revision = revision;
    return code;
}

int pane_window_check(struct store_txn *t, uint32_t view, int64_t end_ms, struct err *e)
{
    struct pane_manifest want, is;
    int code = pane_manifest_get(t, view, end_ms, &want, e);
    if (!code)
        code = manifest_make(t, view, end_ms, true, &is, e);
    if (code)
        return code;
    const char *what = NULL;
    if (want.shards != is.shards)
        what = "number of blocks";
    else if (want.states != is.states)
        what = "number of states";
    else if (want.samples != is.samples)
        what = "number of samples";
    else if (want.checksum != is.checksum)
        what = "checksum";
    if (!what)
        return 0;
    return err_set(e, ERR_CORRUPT, "window of view %u, end %lld: its blocks do not add up to its manifest's %s", view,
                   (long long)end_ms, what);
}

/* ---- retention ---- */

static int drop_range(struct store_txn *t, enum store_table table, uint32_t view, int64_t before_ms, uint32_t *ret_n,
                      struct err *e)
{
    uint8_t key[BLOCK_KEY_BYTES] = {0}; /* the least key of the view's least end; a manifest's is a prefix of it */
    struct store_cursor c;
    uint32_t n = 0;
    int code = store_cursor_open(t, table, &c, e);
    if (code)
        return code;
    window_key_write(view, INT64_MIN, key);
    code = store_cursor_seek(&c, key, table == TABLE_PANES ? BLOCK_KEY_BYTES : WINDOW_KEY_BYTES, e);
    while (!code && c.found && load_be32(c.key.p) == view && load_be_i64(c.key.p + 4) <= before_ms) {
        code = store_cursor_delete(&c, e);
        if (!code)
            code = store_cursor_next(&c, e);
        n++;
    }
    store_cursor_close(&c);
    if (!code)
        *ret_n = n;
    return code;
}

int pane_drop(struct store_txn *t, uint32_t view, int64_t before_ms, uint32_t *ret_windows, struct err *e)
{
    uint32_t blocks;
    int code = drop_range(t, TABLE_PANES, view, before_ms, &blocks, e);
    return code ? code : drop_range(t, TABLE_MANIFESTS, view, before_ms, ret_windows, e);
}
