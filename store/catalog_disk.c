/*
 * Series on disk, in append-only batches of up to 1,024. Table `series`, key be32 id of the batch's first series.
 *
 *     0  u32  magic "MSB1"          16  u32  strings in the batch
 *     4  u16  version 1             20  u32  0
 *     6  u16  0                     24  u64  XXH3 of the batch, this field zero
 *     8  u32  first series id       32  strings: varint length, bytes
 *    12  u32  series                    series:  varint metric, ordinal, labels, then (name, value) string indices
 *
 * Batches carry their own strings, so each can be read alone. Metric and ordinal follow from the order of the series;
 * they are written all the same and compared at loading, since every block in the store is keyed by them. The number of
 * series stands in meta `series_n`, so that a missing last batch is noticed and no id is given out twice.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "store/catalog_internal.h"
#include "store/row_check.h"
#include "store/sum.h"
#include "store/tables.h"

enum { BATCH_SERIES = 1024, BATCH_HEAD_BYTES = 32, BATCH_SUM_AT = 24, BATCH_VERSION = 1 };
#define BATCH_MAGIC UINT32_C(0x3142534d)
#define SERIES_N_NAME "series_n"

int catalog_batch_check(struct str key, struct str value, struct err *e)
{
    const char *why = NULL;
    if (key.n != 4 || value.n < BATCH_HEAD_BYTES)
        why = "is too short";
    else if (load_u32(value.p) != BATCH_MAGIC || load_u32(value.p + 8) != load_be32(key.p))
        why = "is not the batch its key names";
    else if (load_u64(value.p + BATCH_SUM_AT) != store_sum(value.p, value.n, BATCH_SUM_AT))
        why = "fails its checksum";
    if (why)
        return err_set(e, ERR_CORRUPT, "store.mdb: a batch of series %s", why);
    if (load_u16(value.p + 4) != BATCH_VERSION)
        return err_set(e, ERR_VERSION, "store.mdb: series batch version %u, this program reads %d; use a newer mullion",
                       load_u16(value.p + 4), BATCH_VERSION);
    return 0;
}

/* ---- writing ---- */

struct batch {
    struct strbuf strings, series;
    uint32_t *local_plus_1;        /* by symbol number; 0 = not in this batch yet */
    const struct symbol **symbols; /* by local number */
    size_t symbols_n, symbols_cap;
};

static void batch_add_symbol(struct batch *b, const struct symbol *s)
{
    if (!b->local_plus_1[s->number]) {
        b->symbols = mem_grow(b->symbols, &b->symbols_cap, b->symbols_n + 1, sizeof(*b->symbols));
        b->symbols[b->symbols_n++] = s;
        b->local_plus_1[s->number] = (uint32_t)b->symbols_n;
        strbuf_add_varint(&b->strings, s->n);
        strbuf_add(&b->strings, s->text, s->n);
    }
    strbuf_add_varint(&b->series, b->local_plus_1[s->number] - 1);
}

static int batch_write(struct batch *b, const struct catalog *c, uint32_t first, uint32_t n, struct store_txn *t,
                       struct err *e)
{
    for (uint32_t id = first; id < first + n; id++) {
        const struct series *s = catalog_series(c, id);
        const uint32_t *run = catalog_run(c, s);
        strbuf_add_varint(&b->series, s->metric);
        strbuf_add_varint(&b->series, s->ordinal);
        strbuf_add_varint(&b->series, s->labels_n);
        for (uint32_t i = 0; i < s->labels_n; i++) {
            batch_add_symbol(b, c->pairs[run[i]].name);
            batch_add_symbol(b, c->pairs[run[i]].value);
        }
    }
    uint8_t key[4], *p;
    store_be32(key, first);
    size_t bytes = BATCH_HEAD_BYTES + b->strings.n + b->series.n;
    int code = store_reserve(t, TABLE_SERIES, key, sizeof(key), bytes, &p, e);
    if (code)
        return code;
    struct byte_writer w = {p, p + bytes, false};
    write_u32(&w, BATCH_MAGIC);
    write_u16(&w, BATCH_VERSION);
    write_u16(&w, 0);
    write_u32(&w, first);
    write_u32(&w, n);
    write_u32(&w, (uint32_t)b->symbols_n);
    write_u32(&w, 0);
    write_u64(&w, 0);
    write_bytes(&w, b->strings.p, b->strings.n);
    write_bytes(&w, b->series.p, b->series.n);
    MUST(!w.failed && w.p == w.end);
    store_u64(p + BATCH_SUM_AT, store_sum(p, bytes, BATCH_SUM_AT));
    return 0;
}

static void batch_reset(struct batch *b)
{
    for (size_t i = 0; i < b->symbols_n; i++)
        b->local_plus_1[b->symbols[i]->number] = 0;
    b->symbols_n = 0;
    strbuf_clear(&b->strings);
    strbuf_clear(&b->series);
}

int catalog_save(const struct catalog *c, struct store_txn *t, uint32_t *ret_saved_n, struct err *e)
{
    uint32_t total = c->series_n;
    if (c->persisted_n == total) {
        *ret_saved_n = total;
        return 0;
    }
    struct batch b = {.local_plus_1 = mem_zalloc(c->symbols_n * sizeof(uint32_t))};
    int code = 0;
    for (uint32_t first = c->persisted_n, n; first < total && !code; first += n) {
        n = total - first < BATCH_SERIES ? total - first : BATCH_SERIES;
        code = batch_write(&b, c, first, n, t, e);
        batch_reset(&b);
    }
    if (!code) {
        uint8_t count[4];
        store_u32(count, total);
        code = store_meta_put(t, SERIES_N_NAME, (struct str){(const char *)count, sizeof(count)}, e);
    }
    strbuf_done(&b.strings);
    strbuf_done(&b.series);
    mem_free(b.symbols);
    mem_free(b.local_plus_1);
    if (!code)
        *ret_saved_n = total;
    return code;
}

/* ---- reading ---- */

static int batch_bad(uint32_t first, const char *why, struct err *e)
{
    return err_set(e, ERR_CORRUPT, "store.mdb: the batch of series from id %u %s", first, why);
}

static int series_read(struct catalog *c, struct byte_reader *r, const struct str *strings, uint32_t strings_n,
                       struct label *pairs, uint32_t first, struct err *e)
{
    uint64_t metric = read_varint(r), ordinal = read_varint(r), n = read_varint(r);
    if (r->failed || n > CATALOG_LABELS_MAX)
        return batch_bad(first, "is malformed", e);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t name = read_varint(r), value = read_varint(r);
        if (r->failed || name >= strings_n || value >= strings_n)
            return batch_bad(first, "names a string it does not hold", e);
        pairs[i] = (struct label){strings[name], strings[value]};
    }
    struct labels l = {pairs, (uint32_t)n};
    uint64_t hash = labels_hash(&l, map_seed());
    if (catalog_find(c, &l, hash) != SERIES_NONE)
        return batch_bad(first, "repeats a series", e);
    uint32_t id;
    int code = catalog_add(c, &l, hash, &id, e);
    if (code)
        return code;
    struct series_place place = catalog_place(c, id);
    return place.metric == metric && place.ordinal == ordinal ? 0 : batch_bad(first, "numbers a series otherwise", e);
}

static int batch_read(struct catalog *c, struct str value, struct arena *a, struct err *e)
{
    uint32_t first = load_u32(value.p + 8), n = load_u32(value.p + 12), strings_n = load_u32(value.p + 16);
    const uint8_t *p = (const uint8_t *)value.p;
    struct byte_reader r = {p + BATCH_HEAD_BYTES, p + value.n, false};
    if (first != c->series_n || n == 0 || n > BATCH_SERIES || strings_n > value.n)
        return batch_bad(first, "does not continue the one before", e);
    struct str *strings = ARENA_ARRAY(a, struct str, strings_n);
    struct label *pairs = ARENA_ARRAY(a, struct label, CATALOG_LABELS_MAX);
    if (!strings || !pairs)
        return arena_check(a, "loading the catalog", e);
    for (uint32_t i = 0; i < strings_n; i++) {
        uint64_t bytes = read_varint(&r);
        strings[i] = (struct str){(const char *)read_bytes(&r, bytes), bytes};
    }
    if (r.failed)
        return batch_bad(first, "is malformed", e);
    for (uint32_t i = 0; i < n; i++) {
        int code = series_read(c, &r, strings, strings_n, pairs, first, e);
        if (code)
            return code;
    }
    return r.p == r.end ? 0 : batch_bad(first, "has bytes to spare", e);
}

int catalog_load(struct catalog *c, struct store_txn *t, struct err *e)
{
    MUST(c->series_n == 0);
    struct store_cursor cursor;
    int code = store_cursor_open(t, TABLE_SERIES, &cursor, e);
    if (code)
        return code;
    struct arena a;
    arena_init(&a, 0);
    const uint8_t zero[4] = {0};
    code = store_cursor_seek(&cursor, zero, sizeof(zero), e);
    while (!code && cursor.found) {
        code = catalog_batch_check(cursor.key, cursor.value, e);
        if (!code)
            code = batch_read(c, cursor.value, &a, e);
        arena_reset(&a);
        if (!code)
            code = store_cursor_next(&cursor, e);
    }
    arena_done(&a);
    store_cursor_close(&cursor);
    if (code)
        return code;
    struct str count;
    code = store_meta_get(t, SERIES_N_NAME, &count, e);
    if (code && code != ERR_NOT_FOUND)
        return code;
    uint32_t want = !code && count.n == 4 ? load_u32(count.p) : 0;
    if (want != c->series_n)
        return err_set(e, ERR_CORRUPT, "store.mdb holds %u series and should hold %u", c->series_n, want);
    c->persisted_n = c->series_n;
    return 0;
}
