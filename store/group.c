/* A row, little-endian: u64 XXH3 of key and the rest, u8 drop_name, the labels' canonical bytes. Key: be32 owner, be32
 * number. */
#include "store/group.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/pane.h"
#include "store/sum.h"
#include "store/tables.h"

enum { KEY_BYTES = 8, HEAD_BYTES = 9, DROP_NAME_AT = 8 };

static enum store_table table_of(enum group_of of)
{
    return of == GROUP_OF_ROOT ? TABLE_ROOT_GROUPS : TABLE_VIEW_GROUPS;
}

static const char *owner_name(enum group_of of)
{
    return of == GROUP_OF_ROOT ? "stored root" : "view by labels";
}

static void key_write(uint32_t owner, uint32_t number, uint8_t ret[KEY_BYTES])
{
    store_be32(ret, owner);
    store_be32(ret + 4, number);
}

int group_put(struct store_txn *t, enum group_of of, uint32_t owner, uint32_t number, struct str canonical,
              bool drop_name, struct err *e)
{
    uint8_t key[KEY_BYTES];
    uint8_t *p = mem_alloc(HEAD_BYTES + canonical.n);
    key_write(owner, number, key);
    p[DROP_NAME_AT] = drop_name;
    if (canonical.n)
        memcpy(p + HEAD_BYTES, canonical.p, canonical.n);
    store_u64(p, store_sum_keyed(key, sizeof key, p + DROP_NAME_AT, canonical.n + 1));
    int code = store_put(t, table_of(of), key, sizeof key, (struct str){(const char *)p, HEAD_BYTES + canonical.n}, e);
    mem_free(p);
    return code;
}

static int row_read(enum group_of of, const uint8_t key[KEY_BYTES], struct str value, struct str *ret,
                    bool *ret_drop_name, struct err *e)
{
    const uint8_t *p = (const uint8_t *)value.p;
    if (value.n < HEAD_BYTES || p[DROP_NAME_AT] > 1 ||
        load_u64(p) != store_sum_keyed(key, KEY_BYTES, p + DROP_NAME_AT, value.n - DROP_NAME_AT))
        return err_set(e, ERR_CORRUPT, "the labels of group %u of a %s fail their checksum", load_be32(key + 4),
                       owner_name(of));
    *ret = (struct str){value.p + HEAD_BYTES, value.n - HEAD_BYTES};
    *ret_drop_name = p[DROP_NAME_AT];
    return 0;
}

int group_get(struct store_txn *t, enum group_of of, uint32_t owner, uint32_t number, struct arena *a,
              struct labels *ret, bool *ret_drop_name, struct err *e)
{
    uint8_t key[KEY_BYTES];
    struct str value, canonical = {0};
    key_write(owner, number, key);
    int code = store_get(t, table_of(of), key, sizeof key, &value, e);
    if (code == ERR_NOT_FOUND)
        return err_set(e, ERR_NOT_FOUND, "the store has no labels of group %u of a %s", number, owner_name(of));
    if (!code)
        code = row_read(of, key, value, &canonical, ret_drop_name, e);
    if (code)
        return code;
    *ret = (struct labels){0};
    if (canonical.n == 0)
        return 0;
    const uint8_t *kept = arena_dup(a, canonical.p, canonical.n);
    return kept ? labels_canonical_read(kept, canonical.n, a, ret, e) : arena_check(a, "query", e);
}

int group_walk(struct store_txn *t, enum group_of of, uint32_t owner,
               int (*each)(void *ctx, uint32_t number, struct str canonical, bool drop_name, struct err *e), void *ctx,
               struct err *e)
{
    uint8_t key[KEY_BYTES];
    struct store_cursor c;
    int code = store_cursor_open(t, table_of(of), &c, e);
    if (code)
        return code;
    key_write(owner, 0, key);
    code = store_cursor_seek(&c, key, sizeof key, e);
    while (!code && c.found && load_be32(c.key.p) == owner) {
        struct str canonical = {0};
        bool drop_name = false;
        code = row_read(of, (const uint8_t *)c.key.p, c.value, &canonical, &drop_name, e);
        if (!code)
            code = each(ctx, load_be32(c.key.p + 4), canonical, drop_name, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}

int group_delete(struct store_txn *t, enum group_of of, uint32_t owner, uint32_t number, struct err *e)
{
    uint8_t key[KEY_BYTES];
    key_write(owner, number, key);
    return store_delete(t, table_of(of), key, sizeof key, e);
}

int group_drop(struct store_txn *t, enum group_of of, uint32_t owner, struct err *e)
{
    uint8_t key[KEY_BYTES];
    struct store_cursor c;
    int code = store_cursor_open(t, table_of(of), &c, e);
    if (code)
        return code;
    key_write(owner, 0, key);
    code = store_cursor_seek(&c, key, sizeof key, e);
    while (!code && c.found && load_be32(c.key.p) == owner) {
        code = store_cursor_delete(&c, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}

struct known {
    const uint32_t *numbers;
    uint32_t n;
};

/* Bits of those numbers that are slots of the shard. */
static void slots_of(const struct known *k, uint32_t shard, uint64_t slots[PANE_SLOTS / 64])
{
    uint64_t first = (uint64_t)shard * PANE_SLOTS;
    uint32_t low = 0, high = k->n;
    memset(slots, 0, PANE_SLOTS / 64 * sizeof *slots);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (k->numbers[middle] < first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < k->n && k->numbers[low] < first + PANE_SLOTS; low++)
        slots[k->numbers[low] % PANE_SLOTS / 64] |= UINT64_C(1) << (k->numbers[low] % 64);
}

static int check_block(void *ctx, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct pane_block b;
    struct err damaged = {0};
    uint64_t slots[PANE_SLOTS / 64];
    if (pane_block_parse(bytes, key, false, &b, &damaged) != 0)
        return 0;
    slots_of(ctx, key->shard, slots);
    for (uint32_t i = 0; i < PANE_SLOTS / 64; i++) {
        uint64_t lost = b.present[i] & ~slots[i];
        if (lost)
            return err_set(e, ERR_CORRUPT, "the labels of group %llu are lost",
                           (unsigned long long)key->shard * PANE_SLOTS + i * 64 + (uint32_t)__builtin_ctzll(lost));
    }
    return 0;
}

int group_window_check(struct store_txn *t, uint32_t view, int64_t end_ms, const uint32_t *numbers, uint32_t n,
                       struct err *e)
{
    struct known known = {numbers, n};
    return pane_window_walk(t, view, end_ms, check_block, &known, e);
}
