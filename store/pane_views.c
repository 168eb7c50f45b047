/*
 * Views: identity -> store view number, append-only, and per number what is complete. Two tables: `view_ids`
 * (16 identity bytes -> u32 number) and `views` (be32 number -> 40 bytes, little-endian):
 *
 *     0  16 B identity     16  i64 complete_from_ms     24  i64 sealed_to_ms     32  u64 XXH3 of key and these
 *
 * A number stays its identity's for good, also after the view and its panes are gone.
 */
#include "base/bytes.h"
#include "store/pane.h"
#include "store/row_check.h"
#include "store/source.h"
#include "store/sum.h"
#include "store/tables.h"

enum { VIEW_BYTES = 40, VIEW_SUM_AT = 32, IDENTITY_BYTES = 16 };

static int view_read(const uint8_t key[4], struct str value, struct pane_view *ret, struct err *e)
{
    const uint8_t *p = (const uint8_t *)value.p;
    if (value.n != VIEW_BYTES || load_u64(p + VIEW_SUM_AT) != store_sum_keyed(key, 4, p, VIEW_SUM_AT))
        return err_set(e, ERR_CORRUPT, "the store's entry of view %u fails its checksum", load_be32(key));
    ret->number = load_be32(key);
    memcpy(ret->identity, p, IDENTITY_BYTES);
    ret->complete_from_ms = load_i64(p + 16);
    ret->sealed_to_ms = load_i64(p + 24);
    return 0;
}

int view_row_check(struct str key, struct str value, struct err *e)
{
    struct pane_view v;
    return view_read((const uint8_t *)key.p, value, &v, e);
}

static int view_write(struct store_txn *t, const struct pane_view *v, struct err *e)
{
    uint8_t key[4], value[VIEW_BYTES];
    store_be32(key, v->number);
    memcpy(value, v->identity, IDENTITY_BYTES);
    store_i64(value + 16, v->complete_from_ms);
    store_i64(value + 24, v->sealed_to_ms);
    store_u64(value + VIEW_SUM_AT, store_sum_keyed(key, 4, value, VIEW_SUM_AT));
    return store_put(t, TABLE_VIEWS, key, sizeof(key), (struct str){(const char *)value, sizeof(value)}, e);
}

int pane_view_find(struct store_txn *t, const uint8_t identity[16], struct pane_view *ret, struct err *e)
{
    struct str number, value;
    uint8_t key[4];
    int code = store_get(t, TABLE_VIEW_IDS, identity, IDENTITY_BYTES, &number, e);
    if (code == ERR_NOT_FOUND)
        return err_set(e, ERR_NOT_FOUND, "the store has no view of this identity");
    if (code)
        return code;
    if (number.n != 4)
        return err_set(e, ERR_CORRUPT, "the store's table of view identities is damaged");
    store_be32(key, load_u32(number.p));
    code = store_get(t, TABLE_VIEWS, key, sizeof(key), &value, e);
    if (code == ERR_NOT_FOUND)
        return err_set(e, ERR_CORRUPT, "the store has lost its entry of view %u", load_be32(key));
    struct pane_view v;
    if (!code)
        code = view_read(key, value, &v, e);
    if (!code && memcmp(v.identity, identity, IDENTITY_BYTES) != 0)
        code = err_set(e, ERR_CORRUPT, "the store's entry of view %u is of another identity", v.number);
    if (!code)
        *ret = v;
    return code;
}

static int number_next(struct store_txn *t, uint32_t *ret, struct err *e)
{
    struct store_cursor c;
    int code = store_cursor_open(t, TABLE_VIEWS, &c, e);
    if (code)
        return code;
    code = store_cursor_last(&c, e);
    uint32_t next = !code && c.found ? load_be32(c.key.p) + 1 : 0;
    store_cursor_close(&c);
    if (!code && next == SOURCE_NO_VIEW)
        code = err_set(e, ERR_LIMIT, "store view numbers are used up; start a new data directory");
    if (!code)
        *ret = next;
    return code;
}

int pane_view_create(struct store_txn *t, const uint8_t identity[16], struct pane_view *ret, struct err *e)
{
    struct pane_view v = {.complete_from_ms = INT64_MAX, .sealed_to_ms = INT64_MIN};
    int code = pane_view_find(t, identity, ret, e);
    if (code != ERR_NOT_FOUND)
        return code;
    memcpy(v.identity, identity, IDENTITY_BYTES);
    code = number_next(t, &v.number, e);
    uint8_t number[4];
    store_u32(number, v.number);
    if (!code)
        code = store_put(t, TABLE_VIEW_IDS, identity, IDENTITY_BYTES, (struct str){(const char *)number, 4}, e);
    if (!code)
        code = view_write(t, &v, e);
    if (!code)
        *ret = v;
    return code;
}

int pane_view_update(struct store_txn *t, const struct pane_view *v, struct err *e)
{
    struct pane_view known;
    int code = pane_view_find(t, v->identity, &known, e);
    if (code)
        return code;
    if (known.number != v->number)
        return err_set(e, ERR_INTERNAL, "view %u is number %u in the store", v->number, known.number);
    return view_write(t, v, e);
}

int pane_view_walk(struct store_txn *t, int (*each)(void *ctx, const struct pane_view *v, struct err *e), void *ctx,
                   struct err *e)
{
    struct store_cursor c;
    const uint8_t first[4] = {0};
    int code = store_cursor_open(t, TABLE_VIEWS, &c, e);
    if (code)
        return code;
    code = store_cursor_seek(&c, first, sizeof(first), e);
    while (!code && c.found) {
        struct pane_view v;
        code = view_read((const uint8_t *)c.key.p, c.value, &v, e);
        if (!code)
            code = each(ctx, &v, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}
