/* What store.c, store_check.c and tables.c share: the LMDB environment behind a store. */
#ifndef STORE_STORE_ENV_H
#define STORE_STORE_ENV_H

#include <lmdb.h>

#include "store/store.h"
#include "store/tables.h"

/* LMDB's own default of 126 reader slots is few for a busy query server; a slot is 64 bytes. */
enum { STORE_READERS_MAX = 512 };

struct store {
    char *dir;
    MDB_env *env;
    MDB_dbi dbi[TABLE_END]; /* 0: absent (an earlier version's directory, read-only) */
    int lock_fd;            /* -1 when read-only */
    bool read_only;
    uint64_t id, sketch_seed, map_bytes;
    unsigned version; /* of FORMAT as it was found */
};
struct store_txn {
    struct store *store;
    MDB_txn *mdb;
    bool write;
    int failed; /* first error of a change; the transaction can then only end */
    char failed_why[160];
};

/* LMDB return code to ours; `what` names the step. Marks a write transaction (t may be NULL) as failed. */
int store_mdb_err(struct store_txn *t, int rc, struct err *e, const char *what);
/* A new environment for `path`, opened but without transactions. */
int store_env_open(const char *path, uint64_t map_bytes, bool read_only, MDB_env **ret, struct err *e);

/*
 * Look at store.mdb before it is trusted. The walk runs in a forked child, because damaged index pages can crash LMDB.
 * 0: sound, or absent, or empty. ERR_CORRUPT: `e` says what is wrong. Other codes: the check itself could not run.
 * *ret_fresh: there is no committed content (absent, empty, or only just made).
 */
int store_check_file(const char *path, uint64_t map_bytes, int lock_fd, bool *ret_fresh, struct err *e);

#endif
