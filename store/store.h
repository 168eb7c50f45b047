/*
 * The data directory: what survives a restart.
 *
 *     DIR/FORMAT       "mullion-data/4" and the store's id and sketch seed
 *     DIR/LOCK         flock'ed by the one writing process
 *     DIR/store.mdb    LMDB: catalog, views, raw blocks, pane blocks, manifests, stored roots, label sets, head
 *                      checkpoint, meta
 *     DIR/wal/N.wal    write-ahead log segments
 *
 * Directories of 2 and 3, which lack tables, are read, and raised to 4 by the first writer; other numbers are refused
 * by name.
 *
 * One process writes. Inside it one thread at a time holds the write transaction (ingest's maintenance thread); any
 * number of threads read, each in its own short read transaction, never held across socket I/O. All writes of one
 * transaction appear at once or not at all, also after kill -9.
 *
 * Checks before trust: the file's size must cover its last page and a forked child walks every tree before the file is
 * mapped for use; a file that fails is renamed store.mdb.damaged-N, reported in `store_open_report`, and a fresh one is
 * begun (raw and panes since the last checkpoint come back from the log).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct store;
struct store_txn;

struct store_options {
    uint64_t map_bytes; /* most size of store.mdb (sparse); 0 = 64 GiB */
    bool read_only;     /* nothing is made or changed, and a writer may be at work. A damaged file is ERR_CORRUPT */
    bool alone; /* with read_only: ERR_LOCKED while a writer holds the directory; writers wait outside after it */
};
struct store_open_report {
    bool created;
    bool set_aside;         /* a damaged file was renamed */
    char set_aside_as[256]; /* its new name */
    bool lost;              /* there was no store.mdb: all that is older than the log is gone */
    char reason[256];       /* of set_aside or lost */
};

/* What store_open for writing would refuse in DIR at first sight (a directory of something else, of another version, no
 * directory at all), and the seed of its store or of the one it would make. Makes nothing, takes no lock. */
int store_look(const char *dir, uint64_t *ret_sketch_seed, struct err *e);

/* One open store per directory and process (LMDB's rule). ERR_LOCKED names the holder's pid; ERR_VERSION names both
 * versions; ERR_BAD_DATA for a directory that holds other things; ERR_DISK_FULL; ERR_IO. Makes DIR (mode 0700) if
 * absent; its parent must exist. */
int store_open(const char *dir, const struct store_options *options, struct store **ret,
               struct store_open_report *report, struct err *e);
void store_close(struct store *s); /* NULL-safe; all transactions must be ended */
const char *store_dir(const struct store *s);
uint64_t store_sketch_seed(const struct store *s);

int store_read_begin(struct store *s, struct store_txn **ret, struct err *e);
void store_read_end(struct store_txn *t); /* NULL-safe */
int store_write_begin(struct store *s, struct store_txn **ret, struct err *e);
/* Durable when it returns 0. On failure (e.g. ERR_DISK_FULL) nothing of it is kept; the transaction is ended either
 * way. */
int store_write_commit(struct store_txn *t, struct err *e);
void store_write_abort(struct store_txn *t); /* NULL-safe */

/* Frees the slots of readers that died. Called once per window. */
void store_reap_readers(struct store *s);
struct store_size {
    uint64_t file_bytes, used_bytes, free_page_bytes;
};
void store_size_read(struct store *s, struct store_size *ret);
/* A consistent, compact copy of store.mdb as it is now, at `path` (which must not exist), while all goes on. */
int store_copy(struct store *s, const char *path, struct err *e);

/* Small named values: meta table, checksummed. ERR_NOT_FOUND when absent; bytes valid until the transaction ends. */
int store_meta_get(struct store_txn *t, const char *name, struct str *ret, struct err *e);
int store_meta_put(struct store_txn *t, const char *name, struct str value, struct err *e);

#endif
