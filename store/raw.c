/*
 * A raw block, little-endian (key: be32 metric, be32 shard, be64 newest ^ 2^63, be32 block number):
 *
 *     0  u32 magic "MRB1"    16  i64 newest sample ms    40  u32 bytes of the block
 *     4  u16 version 1       24  i64 oldest sample ms    44  u32 0
 *     6  u16 0               32  u32 block number        48  u64 XXH3 of the head, this field zero
 *     8  u32 metric          36  u32 chunks              56  u64 XXH3 of the index
 *    12  u32 shard
 *    64  index, 28 B each: u16 slot, u16 0, i64 first ms, i64 last ms, u32 offset of the chunk in the block,
 *        u32 low half of the chunk's XXH3; then the chunks, back to back in index order
 *
 * Three checksums, because a reader steps over most blocks by their heads and over most chunks by the index: nothing
 * may be skipped on the word of unchecked bytes, and a query for one series need not read a thousand others to trust
 * it.
 *
 * Blocks are found by their newest sample. How far a block reaches back is not in the key, so the longest reach of any
 * block ever put stands in meta `raw_reach_ms`: walks for an old span stop there instead of reading all newer heads.
 */
#include "store/raw.h"

#include <xxhash.h>

#include "base/bytes.h"
#include "store/row_check.h"
#include "store/sum.h"
#include "store/tables.h"

#define RAW_MAGIC UINT32_C(0x3142524d)
#define REACH_NAME "raw_reach_ms"
enum {
    RAW_VERSION = 1,
    RAW_HEAD_BYTES = 64,
    RAW_ENTRY_BYTES = 28,
    HEAD_SUM_AT = 48,
    INDEX_SUM_AT = 56,
    RAW_KEY_BYTES = 20
};
/* One raw_drop deletes at most this many blocks, so that the write transaction stays short. */
enum { DROP_MAX_BLOCKS = 2000 };

struct raw_key {
    uint32_t metric, shard;
    int64_t newest_ms;
    uint32_t number;
};

static void key_write(const struct raw_key *k, uint8_t ret[RAW_KEY_BYTES])
{
    store_be32(ret, k->metric);
    store_be32(ret + 4, k->shard);
    store_be_i64(ret + 8, k->newest_ms);
    store_be32(ret + 16, k->number);
}

static struct raw_key key_read(struct str key)
{
    return (struct raw_key){load_be32(key.p), load_be32(key.p + 4), load_be_i64(key.p + 8), load_be32(key.p + 16)};
}

static int seek(struct store_cursor *c, struct raw_key k, struct err *e)
{
    uint8_t key[RAW_KEY_BYTES];
    key_write(&k, key);
    return store_cursor_seek(c, key, sizeof(key), e);
}

static bool in_shard(const struct store_cursor *c, uint32_t metric, uint32_t shard)
{
    return c->found && load_be32(c->key.p) == metric && load_be32(c->key.p + 4) == shard;
}

/* INT64_MAX when unknown: then nothing is skipped. *ret_known (may be NULL): is there a value at all? */
static int reach_read(struct store_txn *t, int64_t *ret_ms, bool *ret_known, struct err *e)
{
    struct str value;
    int code = store_meta_get(t, REACH_NAME, &value, e);
    if (code && code != ERR_NOT_FOUND)
        return code;
    *ret_ms = !code && value.n == 8 ? load_i64(value.p) : INT64_MAX;
    if (ret_known)
        *ret_known = code == 0;
    return 0;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t sub_saturated(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

static int table_empty(struct store_txn *t, bool *ret, struct err *e)
{
    struct store_cursor c;
    int code = store_cursor_open(t, TABLE_RAW, &c, e);
    if (code)
        return code;
    code = store_cursor_last(&c, e);
    *ret = !c.found;
    store_cursor_close(&c);
    return code;
}

/* Without a value but with blocks it was lost, and the reach stays unknown. */
static int reach_widen(struct store_txn *t, int64_t reach_ms, struct err *e)
{
    int64_t known_ms;
    bool known, empty = false;
    int code = reach_read(t, &known_ms, &known, e);
    if (!code && !known)
        code = table_empty(t, &empty, e);
    if (code || (!empty && reach_ms <= known_ms))
        return code;
    uint8_t value[8];
    store_i64(value, reach_ms);
    return store_meta_put(t, REACH_NAME, (struct str){(const char *)value, sizeof(value)}, e);
}

/* ---- putting ---- */

/* The first free block number of (metric, shard, newest). */
static int number_free(struct store_txn *t, struct raw_key *k, struct err *e)
{
    struct store_cursor c;
    int code = store_cursor_open(t, TABLE_RAW, &c, e);
    if (code)
        return code;
    k->number = 0;
    code = seek(&c, *k, e);
    while (!code && in_shard(&c, k->metric, k->shard)) {
        struct raw_key found = key_read(c.key);
        if (found.newest_ms != k->newest_ms)
            break;
        k->number = found.number + 1;
        code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}

static int chunks_check(const struct raw_chunk *chunks, uint32_t n, struct raw_key *key, int64_t *ret_oldest_ms,
                        uint64_t *ret_bytes, struct err *e)
{
    MUST(n >= 1);
    uint64_t bytes = RAW_HEAD_BYTES + (uint64_t)n * RAW_ENTRY_BYTES;
    int64_t oldest_ms = INT64_MAX;
    key->newest_ms = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        const struct raw_chunk *c = &chunks[i], *before = i ? c - 1 : NULL;
        MUST(c->slot < 1024 && c->first_ms <= c->last_ms && c->size > 0);
        MUST(!before || before->slot < c->slot || (before->slot == c->slot && before->first_ms <= c->first_ms));
        bytes += c->size;
        oldest_ms = c->first_ms < oldest_ms ? c->first_ms : oldest_ms;
        key->newest_ms = c->last_ms > key->newest_ms ? c->last_ms : key->newest_ms;
    }
    if (n > RAW_CHUNKS_MAX || bytes > RAW_BLOCK_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "a raw block of %u chunks and %llu bytes is over the limits of %d and %d", n,
                       (unsigned long long)bytes, RAW_CHUNKS_MAX, RAW_BLOCK_MAX_BYTES);
    *ret_oldest_ms = oldest_ms;
    *ret_bytes = bytes;
    return 0;
}

static uint32_t chunk_sum(const uint8_t *bytes, uint32_t n)
{
    return (uint32_t)XXH3_64bits(bytes, n);
}

static void block_write(uint8_t *p, uint32_t bytes, const struct raw_key *key, int64_t oldest_ms,
                        const struct raw_chunk *chunks, uint32_t n)
{
    struct byte_writer w = {p, p + bytes, false};
    write_u32(&w, RAW_MAGIC);
    write_u16(&w, RAW_VERSION);
    write_u16(&w, 0);
    write_u32(&w, key->metric);
    write_u32(&w, key->shard);
    write_i64(&w, key->newest_ms);
    write_i64(&w, oldest_ms);
    write_u32(&w, key->number);
    write_u32(&w, n);
    write_u32(&w, bytes);
    write_u32(&w, 0);
    write_u64(&w, 0);
    write_u64(&w, 0);
    uint32_t index_bytes = n * RAW_ENTRY_BYTES, offset = RAW_HEAD_BYTES + index_bytes;
    for (uint32_t i = 0; i < n; i++) {
        write_u16(&w, (uint16_t)chunks[i].slot);
        write_u16(&w, 0);
        write_i64(&w, chunks[i].first_ms);
        write_i64(&w, chunks[i].last_ms);
        write_u32(&w, offset);
        write_u32(&w, chunk_sum(chunks[i].bytes, chunks[i].size));
        offset += chunks[i].size;
    }
    for (uint32_t i = 0; i < n; i++)
        write_bytes(&w, chunks[i].bytes, chunks[i].size);
    MUST(!w.failed && w.p == w.end);
    store_u64(p + INDEX_SUM_AT, XXH3_64bits(p + RAW_HEAD_BYTES, index_bytes));
    store_u64(p + HEAD_SUM_AT, store_sum(p, RAW_HEAD_BYTES, HEAD_SUM_AT));
}

int raw_put(struct store_txn *t, uint32_t metric, uint32_t shard, const struct raw_chunk *chunks, uint32_t n,
            struct err *e)
{
    struct raw_key k = {.metric = metric, .shard = shard};
    int64_t oldest_ms = 0;
    uint64_t bytes = 0;
    uint8_t key[RAW_KEY_BYTES], *p;
    int code = chunks_check(chunks, n, &k, &oldest_ms, &bytes, e);
    if (!code)
        code = number_free(t, &k, e);
    if (!code)
        code = reach_widen(t, sub_saturated(k.newest_ms, oldest_ms), e);
    if (code)
        return code;
    key_write(&k, key);
    code = store_reserve(t, TABLE_RAW, key, sizeof(key), bytes, &p, e);
    if (!code)
        block_write(p, (uint32_t)bytes, &k, oldest_ms, chunks, n);
    return code;
}

/* ---- reading ---- */

/* Is the head whole, whatever its key? */
static bool head_sound(struct str value)
{
    const char *p = value.p;
    if (value.n < RAW_HEAD_BYTES || load_u32(p) != RAW_MAGIC || load_u16(p + 4) != RAW_VERSION ||
        store_sum(p, RAW_HEAD_BYTES, HEAD_SUM_AT) != load_u64(p + HEAD_SUM_AT))
        return false;
    uint32_t n = load_u32(p + 36);
    return load_u32(p + 40) == value.n && n >= 1 && n <= RAW_CHUNKS_MAX &&
           RAW_HEAD_BYTES + (uint64_t)n * RAW_ENTRY_BYTES <= value.n;
}

static bool head_of_key(struct str key, struct str value)
{
    struct raw_key k = key_read(key);
    return load_u32(value.p + 8) == k.metric && load_u32(value.p + 12) == k.shard &&
           load_i64(value.p + 16) == k.newest_ms && load_u32(value.p + 32) == k.number;
}

static bool head_ok(struct str key, struct str value)
{
    return head_sound(value) && head_of_key(key, value);
}

int raw_row_check(struct str key, struct str value, struct err *e)
{
    if (!head_sound(value) || head_of_key(key, value))
        return 0;
    return err_set(e, ERR_CORRUPT, "store.mdb: a raw block stands under another block's key");
}

static int64_t oldest_of(struct str value)
{
    return load_i64(value.p + 24);
}

/* Entry i of a block whose head and index are sound. False when it points outside or the chunk fails its checksum. */
static bool chunk_read(struct str value, uint32_t i, struct raw_chunk *ret)
{
    uint32_t n = load_u32(value.p + 36);
    const uint8_t *p = (const uint8_t *)value.p, *entry = p + RAW_HEAD_BYTES + (size_t)i * RAW_ENTRY_BYTES;
    uint32_t from = load_u32(entry + 20);
    uint32_t to = i + 1 < n ? load_u32(entry + RAW_ENTRY_BYTES + 20) : (uint32_t)value.n;
    if (from < RAW_HEAD_BYTES + n * RAW_ENTRY_BYTES || from >= to || to > value.n)
        return false;
    ret->bytes = p + from;
    ret->size = to - from;
    return chunk_sum(ret->bytes, ret->size) == load_u32(entry + 24);
}

struct walk {
    int64_t start_ms, end_ms;
    const uint64_t *want;
    raw_each_fn *each;
    void *ctx;
    uint32_t damaged;
};

static int block_walk(struct walk *w, struct str value, struct err *e)
{
    uint32_t n = load_u32(value.p + 36);
    const uint8_t *index = (const uint8_t *)value.p + RAW_HEAD_BYTES;
    if (XXH3_64bits(index, (size_t)n * RAW_ENTRY_BYTES) != load_u64(value.p + INDEX_SUM_AT)) {
        w->damaged++;
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *entry = index + (size_t)i * RAW_ENTRY_BYTES;
        struct raw_chunk chunk = {
            .slot = load_u16(entry), .first_ms = load_i64(entry + 4), .last_ms = load_i64(entry + 12)};
        if (chunk.slot >= 1024) {
            w->damaged++;
            continue;
        }
        bool wanted = !w->want || (w->want[chunk.slot / 64] >> (chunk.slot % 64) & 1);
        if (!wanted || chunk.last_ms <= w->start_ms || chunk.first_ms > w->end_ms)
            continue;
        if (!chunk_read(value, i, &chunk)) {
            w->damaged++;
            continue;
        }
        int code = w->each(w->ctx, &chunk, e);
        if (code)
            return code;
    }
    return 0;
}

int raw_walk(struct store_txn *t, uint32_t metric, uint32_t shard, int64_t start_ms, int64_t end_ms,
             const uint64_t want[16], raw_each_fn *each, void *ctx, uint32_t *damaged, struct err *e)
{
    struct walk w = {start_ms, end_ms, want, each, ctx, 0};
    int64_t reach_ms;
    if (start_ms >= end_ms) /* also keeps start_ms + 1 from overflowing */
        return 0;
    int code = reach_read(t, &reach_ms, NULL, e);
    struct store_cursor c;
    if (!code)
        code = store_cursor_open(t, TABLE_RAW, &c, e);
    if (code)
        return code;
    int64_t newest_most_ms = add_saturated(end_ms, reach_ms);
    code = seek(&c, (struct raw_key){metric, shard, start_ms + 1, 0}, e);
    while (!code && in_shard(&c, metric, shard)) {
        if (key_read(c.key).newest_ms > newest_most_ms)
            break;
        if (!head_ok(c.key, c.value))
            w.damaged++;
        else if (oldest_of(c.value) <= end_ms)
            code = block_walk(&w, c.value, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    if (damaged)
        *damaged += w.damaged;
    return code;
}

/* ---- retention ---- */

/* Move to the first block of the next (metric, shard). */
static int seek_next_shard(struct store_cursor *c, uint32_t metric, uint32_t shard, struct err *e)
{
    if (shard == UINT32_MAX && metric == UINT32_MAX) {
        c->found = false;
        return 0;
    }
    bool carry = shard == UINT32_MAX;
    return seek(c, (struct raw_key){metric + carry, carry ? 0 : shard + 1, INT64_MIN, 0}, e);
}

int raw_drop(struct store_txn *t, int64_t before_ms, uint32_t *ret_blocks, bool *more, struct err *e)
{
    struct store_cursor c;
    uint32_t blocks = 0;
    int code = store_cursor_open(t, TABLE_RAW, &c, e);
    if (code)
        return code;
    code = seek(&c, (struct raw_key){0, 0, INT64_MIN, 0}, e);
    while (!code && c.found && blocks < DROP_MAX_BLOCKS) {
        struct raw_key k = key_read(c.key);
        if (k.newest_ms > before_ms) {
            code = seek_next_shard(&c, k.metric, k.shard, e);
            continue;
        }
        code = store_cursor_delete(&c, e);
        if (!code)
            code = store_cursor_next(&c, e);
        blocks++;
    }
    if (!code) {
        *ret_blocks = blocks;
        *more = c.found;
    }
    store_cursor_close(&c);
    return code;
}

int raw_oldest(struct store_txn *t, int64_t *ret_ms, struct err *e)
{
    struct store_cursor c;
    int64_t oldest_ms = INT64_MAX, reach_ms;
    int code = reach_read(t, &reach_ms, NULL, e);
    if (!code)
        code = store_cursor_open(t, TABLE_RAW, &c, e);
    if (code)
        return code;
    code = seek(&c, (struct raw_key){0, 0, INT64_MIN, 0}, e);
    while (!code && c.found) {
        struct raw_key k = key_read(c.key);
        /* A block whose newest sample is a whole reach above the oldest so far cannot hold an older one. */
        if (sub_saturated(k.newest_ms, reach_ms) >= oldest_ms) {
            code = seek_next_shard(&c, k.metric, k.shard, e);
            continue;
        }
        if (head_ok(c.key, c.value) && oldest_of(c.value) < oldest_ms)
            oldest_ms = oldest_of(c.value);
        code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    if (!code)
        *ret_ms = oldest_ms;
    return code;
}

/* ---- head checkpoint ---- */

int raw_checkpoint_put(struct store_txn *t, uint32_t id_block, struct str bytes, struct err *e)
{
    uint8_t key[4];
    store_be32(key, id_block);
    if (bytes.n == 0)
        return store_delete(t, TABLE_HEAD, key, sizeof(key), e);
    return store_put(t, TABLE_HEAD, key, sizeof(key), bytes, e);
}

int raw_checkpoint_walk(struct store_txn *t, int (*each)(void *ctx, uint32_t id_block, struct str bytes, struct err *e),
                        void *ctx, struct err *e)
{
    struct store_cursor c;
    const uint8_t first[4] = {0};
    int code = store_cursor_open(t, TABLE_HEAD, &c, e);
    if (code)
        return code;
    code = store_cursor_seek(&c, first, sizeof(first), e);
    while (!code && c.found) {
        code = each(ctx, load_be32(c.key.p), c.value, e);
        if (!code)
            code = store_cursor_next(&c, e);
    }
    store_cursor_close(&c);
    return code;
}
