/*
 * Rows of stored roots, little-endian; keys are big-endian.
 *
 * Root, 40 bytes under its identity:
 *
 *     0  u32 number, u32 0     8  i64 complete_from_ms     16  i64 sealed_to_ms     24  u64 0     32  u64 XXH3 of key
 *                                                                                                     and these
 *
 * Result, 32 + 12 n bytes:
 *
 *     0  u32 magic        8  u32 root     16  i64 time ms                                32  u32 group[n]
 *     4  u16, u16        12  u32 n        24  u64 XXH3 of the block, this field zero        f64 value[n]
 *        version, flags
 */
#include "store/root.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/row_check.h"
#include "store/sum.h"
#include "store/tables.h"

enum {
    ROOT_BYTES = 40,
    ROOT_SUM_AT = 32,
    IDENTITY_BYTES = 16,
    RESULT_KEY_BYTES = 12,
    RESULT_HEAD_BYTES = 32,
    RESULT_SUM_AT = 24,
    RESULT_VERSION = 1,
    RESULT_MAGIC = 0x746f6f72 /* "root" */
};

/* ---- roots ---- */

static int root_read(const uint8_t *identity, struct str value, struct root_record *ret, struct err *e)
{
    const uint8_t *p = (const uint8_t *)value.p;
    if (value.n != ROOT_BYTES || load_u64(p + ROOT_SUM_AT) != store_sum_keyed(identity, IDENTITY_BYTES, p, ROOT_SUM_AT))
        return err_set(e, ERR_CORRUPT, "the store's entry of a stored root fails its checksum");
    memcpy(ret->identity, identity, IDENTITY_BYTES);
    ret->number = load_u32(p);
    ret->complete_from_ms = load_i64(p + 8);
    ret->sealed_to_ms = load_i64(p + 16);
    return 0;
}

int root_row_check(struct str key, struct str value, struct err *e)
{
    struct root_record r;
    return root_read((const uint8_t *)key.p, value, &r, e);
}

int root_update(struct store_txn *t, const struct root_record *r, struct err *e)
{
    uint8_t value[ROOT_BYTES] = {0};
    store_u32(value, r->number);
    store_i64(value + 8, r->complete_from_ms);
    store_i64(value + 16, r->sealed_to_ms);
    store_u64(value + ROOT_SUM_AT, store_sum_keyed(r->identity, IDENTITY_BYTES, value, ROOT_SUM_AT));
    return store_put(t, TABLE_ROOTS, r->identity, IDENTITY_BYTES, (struct str){(const char *)value, sizeof value}, e);
}

int root_find(struct store_txn *t, const uint8_t identity[16], struct root_record *ret, struct err *e)
{
    struct str value;
    int code = store_get(t, TABLE_ROOTS, identity, IDENTITY_BYTES, &value, e);
    if (code == ERR_NOT_FOUND)
        return err_set(e, ERR_NOT_FOUND, "the store has no stored root of this identity");
    return code ? code : root_read(identity, value, ret, e);
}

int root_walk(struct store_txn *t, int (*each)(void *ctx, const struct root_record *r, struct err *e), void *ctx,
              struct err *e)
{
    struct store_cursor c;
    const uint8_t first[IDENTITY_BYTES] = {0};
    int code = store_cursor_open(t, TABLE_ROOTS, &c, e);
    if (code)
        return code;
    code = store_cursor_seek(&c, first, sizeof first, e);
    while (!code && c.found) {
        struct root_record r = {0};
        code = root_read((const uint8_t *)c.key.p, c.value, &r, e);
        if (!code)
            code = each(ctx, &r, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}

static int number_above(void *ctx, const struct root_record *r, struct err *e)
{
    uint32_t *next = ctx;
    if (r->number >= *next)
        *next = r->number + 1;
    return 0;
}

int root_create(struct store_txn *t, const uint8_t identity[16], struct root_record *ret, struct err *e)
{
    struct root_record r = {.complete_from_ms = INT64_MAX, .sealed_to_ms = INT64_MIN};
    int code = root_find(t, identity, ret, e);
    if (code != ERR_NOT_FOUND)
        return code;
    memcpy(r.identity, identity, IDENTITY_BYTES);
    code = root_walk(t, number_above, &r.number, e);
    if (!code && r.number == UINT32_MAX)
        code = err_set(e, ERR_LIMIT, "numbers of stored roots are used up; start a new data directory");
    if (!code)
        code = root_update(t, &r, e);
    if (!code)
        *ret = r;
    return code;
}

/* ---- results ---- */

static void result_key_write(uint32_t root, int64_t time_ms, uint8_t ret[RESULT_KEY_BYTES])
{
    store_be32(ret, root);
    store_be_i64(ret + 4, time_ms);
}

static int block_read(struct str bytes, struct root_block *ret, struct err *e)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    if (bytes.n < RESULT_HEAD_BYTES || load_u32(p) != RESULT_MAGIC ||
        load_u64(p + RESULT_SUM_AT) != store_sum(p, bytes.n, RESULT_SUM_AT))
        return err_set(e, ERR_CORRUPT, "a stored result fails its checksum");
    if (load_u16(p + 4) != RESULT_VERSION)
        return err_set(e, ERR_VERSION, "a stored result is of version %u, this program reads %d", load_u16(p + 4),
                       RESULT_VERSION);
    uint32_t n = load_u32(p + 12);
    if (n > ROOT_GROUPS_MAX || bytes.n != RESULT_HEAD_BYTES + (size_t)n * 12)
        return err_set(e, ERR_CORRUPT, "a stored result has %zu bytes, which is not that of %u groups", bytes.n, n);
    *ret = (struct root_block){.root = load_u32(p + 8),
                               .flags = load_u16(p + 6),
                               .n = n,
                               .time_ms = load_i64(p + 16),
                               .groups = p + RESULT_HEAD_BYTES,
                               .values = p + RESULT_HEAD_BYTES + (size_t)n * 4};
    return 0;
}

int root_block_parse(struct str bytes, uint32_t root, int64_t time_ms, struct root_block *ret, struct err *e)
{
    struct root_block b = {0};
    int code = block_read(bytes, &b, e);
    if (code)
        return code;
    if (b.root != root || b.time_ms != time_ms)
        return err_set(e, ERR_CORRUPT, "a stored result stands under another one's key");
    *ret = b;
    return 0;
}

int root_result_row_check(struct str key, struct str value, struct err *e)
{
    struct root_block b = {0};
    if (block_read(value, &b, NULL) != 0 || (b.root == load_be32(key.p) && b.time_ms == load_be_i64(key.p + 4)))
        return 0;
    return err_set(e, ERR_CORRUPT, "store.mdb: a stored result stands under another one's key");
}

uint32_t root_block_group(const struct root_block *b, uint32_t i)
{
    return load_u32(b->groups + (size_t)i * 4);
}

double root_block_value(const struct root_block *b, uint32_t i)
{
    return load_f64(b->values + (size_t)i * 8);
}

int root_result_put(struct store_txn *t, uint32_t root, int64_t time_ms, uint32_t flags, const uint32_t *groups,
                    const double *values, uint32_t n, uint64_t *ret_bytes, struct err *e)
{
    uint8_t key[RESULT_KEY_BYTES];
    if (n > ROOT_GROUPS_MAX)
        return err_set(e, ERR_LIMIT, "a stored result of %u series is over the limit of %d", n, ROOT_GROUPS_MAX);
    size_t size = RESULT_HEAD_BYTES + (size_t)n * 12;
    uint8_t *p = mem_zalloc(size);
    result_key_write(root, time_ms, key);
    store_u32(p, RESULT_MAGIC);
    store_u16(p + 4, RESULT_VERSION);
    store_u16(p + 6, (uint16_t)flags);
    store_u32(p + 8, root);
    store_u32(p + 12, n);
    store_i64(p + 16, time_ms);
    if (n) {
        memcpy(p + RESULT_HEAD_BYTES, groups, (size_t)n * 4);
        memcpy(p + RESULT_HEAD_BYTES + (size_t)n * 4, values, (size_t)n * 8);
    }
    store_u64(p + RESULT_SUM_AT, store_sum(p, size, RESULT_SUM_AT));
    int code = store_put(t, TABLE_ROOT_RESULTS, key, sizeof key, (struct str){(const char *)p, size}, e);
    mem_free(p);
    if (!code && ret_bytes)
        *ret_bytes = size;
    return code;
}

int root_result_walk(struct store_txn *t, uint32_t root, int64_t from_ms, int64_t upto_ms,
                     int (*each)(void *ctx, int64_t time_ms, struct str bytes, struct err *e), void *ctx, struct err *e)
{
    uint8_t key[RESULT_KEY_BYTES];
    struct store_cursor c;
    int code = store_cursor_open(t, TABLE_ROOT_RESULTS, &c, e);
    if (code)
        return code;
    result_key_write(root, from_ms, key);
    code = store_cursor_seek(&c, key, sizeof key, e);
    while (!code && c.found && load_be32(c.key.p) == root && load_be_i64(c.key.p + 4) <= upto_ms) {
        code = each(ctx, load_be_i64(c.key.p + 4), c.value, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}

int root_reader_at(struct root_reader *r, struct store_txn *t, uint32_t root, int64_t time_ms, bool next,
                   struct str *ret, struct err *e)
{
    uint8_t key[RESULT_KEY_BYTES];
    int code = 0;
    result_key_write(root, time_ms, key);
    if (!r->cursor) {
        struct store_cursor opened;
        code = store_cursor_open(t, TABLE_ROOT_RESULTS, &opened, e);
        if (code)
            return code;
        r->cursor = mem_dup(&opened, sizeof opened);
        next = false;
    }
    struct store_cursor *c = r->cursor;
    if (next && c->found)
        code = store_cursor_next(c, e);
    if (!code && (!next || !c->found || memcmp(c->key.p, key, sizeof key) != 0))
        code = store_cursor_seek(c, key, sizeof key, e);
    if (!code)
        *ret = c->found && memcmp(c->key.p, key, sizeof key) == 0 ? c->value : (struct str){0};
    return code;
}

void root_reader_done(struct root_reader *r)
{
    if (r->cursor)
        store_cursor_close(r->cursor);
    mem_free(r->cursor);
    r->cursor = NULL;
}

int root_result_drop(struct store_txn *t, uint32_t root, int64_t upto_ms, uint32_t *ret_n, struct err *e)
{
    uint8_t key[RESULT_KEY_BYTES];
    struct store_cursor c;
    uint32_t n = 0;
    int code = store_cursor_open(t, TABLE_ROOT_RESULTS, &c, e);
    if (code)
        return code;
    result_key_write(root, INT64_MIN, key);
    code = store_cursor_seek(&c, key, sizeof key, e);
    while (!code && c.found && load_be32(c.key.p) == root && load_be_i64(c.key.p + 4) <= upto_ms) {
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
