/*
 * The tables of store.mdb and the few operations the room's other files need on them: get, put, delete, walk. Only
 * tables.c, store.c and store_check.c know LMDB; another backend would replace those three.
 *
 * Keys are big-endian (base/bytes.h store_be*), so that they sort as numbers. Values are borrowed from the mapped file
 * and live until the transaction ends or, in a write transaction, until its next change.
 *
 * A failed change marks its transaction: a later commit keeps nothing and returns the first error again.
 */
#ifndef STORE_TABLES_H
#define STORE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* X(NAME, name in the file, key bytes or 0 when free). The set is part of the data format. */
#define STORE_TABLES(X)                                                                                                \
    X(META, "meta", 0)            /* name -> small value */                                                            \
    X(SERIES, "series", 4)        /* be32 first id -> batch of series (catalog_disk.c) */                              \
    X(VIEWS, "views", 4)          /* be32 number -> identity and spans (pane_views.c) */                               \
    X(VIEW_IDS, "view_ids", 16)   /* identity -> number */                                                             \
    X(RAW, "raw", 20)             /* sealed chunks (raw.c) */                                                          \
    X(HEAD, "head", 4)            /* be32 id block -> open chunks, ingest's bytes */                                   \
    X(PANES, "panes", 20)         /* pane blocks (pane.c) */                                                           \
    X(MANIFESTS, "manifests", 12) /* be32 view, be64 end -> manifest (pane.c) */                                       \
    /* since mullion-data/3 (root.c) */                                                                                \
    X(ROOTS, "roots", 16)               /* identity -> number and spans */                                             \
    X(ROOT_RESULTS, "root_results", 12) /* be32 root, be64 time -> what it is at that time */                          \
    X(ROOT_GROUPS, "root_groups", 8)    /* be32 root, be32 group -> its labels (group.c) */                            \
    /* since mullion-data/4 */                                                                                         \
    X(VIEW_GROUPS, "view_groups", 8) /* be32 view, be32 group -> its labels (group.c) */

enum store_table {
    TABLE_NONE = 0,
#define X(name, text, key_bytes) TABLE_##name,
    STORE_TABLES(X)
#undef X
        TABLE_END,
    TABLES_OLD_END = TABLE_ROOTS /* mullion-data/2 has those below */
};
extern const char *const store_table_names[TABLE_END];
extern const uint8_t store_table_key_bytes[TABLE_END];

/* Values above this are refused: it is far over any block we build, and LMDB's own bound is 4 GiB. */
enum { STORE_VALUE_MAX_BYTES = 1 << 30 };

struct store_txn;
/* ERR_NOT_FOUND when absent: then `e` is filled only by the caller, who knows what is missing. */
int store_get(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, struct str *ret,
              struct err *e);
int store_put(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, struct str value,
              struct err *e);
/* Room for a value of `bytes`, to be filled before the next change of the transaction. */
int store_reserve(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, size_t bytes,
                  uint8_t **ret, struct err *e);
int store_delete(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, struct err *e);

struct store_cursor {
    struct store_txn *txn;
    enum store_table table;
    void *handle;
    struct str key, value; /* valid while `found` */
    bool found;
};
/* Pair with store_cursor_close (NULL-safe on a zeroed cursor), before the transaction ends. */
int store_cursor_open(struct store_txn *t, enum store_table table, struct store_cursor *ret, struct err *e);
void store_cursor_close(struct store_cursor *c);
int store_cursor_seek(struct store_cursor *c, const void *key, size_t key_bytes, struct err *e); /* first >= key */
int store_cursor_next(struct store_cursor *c, struct err *e);
int store_cursor_last(struct store_cursor *c, struct err *e);
/* Delete the entry the cursor stands on; store_cursor_next then moves to its successor. */
int store_cursor_delete(struct store_cursor *c, struct err *e);

#endif
