/* Table operations over LMDB, and the mapping of its return codes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_env.h"

const char *const store_table_names[TABLE_END] = {
#define X(name, text, key_bytes) [TABLE_##name] = text,
    STORE_TABLES(X)
#undef X
};
const uint8_t store_table_key_bytes[TABLE_END] = {
#define X(name, text, key_bytes) [TABLE_##name] = key_bytes,
    STORE_TABLES(X)
#undef X
};

static int mdb_err_code(int rc, struct err *e, const char *what, uint64_t map_bytes)
{
    switch (rc) {
    case MDB_MAP_FULL:
        return err_set(e, ERR_DISK_FULL,
                       "%s: store.mdb has reached its largest size of %.4g GiB; raise the map size or lower retention",
                       what, (double)map_bytes / (1 << 30));
    case MDB_READERS_FULL:
        return err_set(e, ERR_OVERLOAD, "%s: all %d reader slots of store.mdb are taken; try again", what,
                       STORE_READERS_MAX);
    case MDB_TXN_FULL:
        return err_set(e, ERR_LIMIT, "%s: one transaction changes too many pages; commit in smaller slices", what);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_PANIC:
    case MDB_CURSOR_FULL:
    case MDB_INCOMPATIBLE:
        return err_set(e, ERR_CORRUPT, "%s: store.mdb is damaged: %s; restart to have it checked", what,
                       mdb_strerror(rc));
    case MDB_VERSION_MISMATCH:
        return err_set(e, ERR_VERSION, "%s: store.mdb was made by another LMDB format", what);
    case MDB_MAP_RESIZED:
        return err_set(e, ERR_OVERLOAD, "%s: store.mdb outgrew this process's map; restart with a larger map size",
                       what);
    default:
        if (rc > 0)
            return err_set_errno(e, rc, "%s: store.mdb", what);
        return err_set(e, ERR_INTERNAL, "%s: store.mdb: %s", what, mdb_strerror(rc));
    }
}

/*
 * LMDB says EIO when the disk took only a part of a write, which is how most disks fill up. Whether the file can still
 * grow tells one from the other. Only the writer asks, so nobody else changes the file's length meanwhile.
 */
static bool cannot_grow(const struct store *s)
{
    enum { PROBE_BYTES = 1 << 20 };
    mdb_filehandle_t fd;
    struct stat st;
    if (mdb_env_get_fd(s->env, &fd) || fstat(fd, &st) != 0)
        return false;
    int failed = posix_fallocate(fd, st.st_size, PROBE_BYTES);
    if (ftruncate(fd, st.st_size) != 0)
        return false;
    return failed == ENOSPC || failed == EFBIG || failed == EDQUOT;
}

int store_mdb_err(struct store_txn *t, int rc, struct err *e, const char *what)
{
    struct err local;
    if (!e)
        e = &local;
    if (rc == EIO && t && t->write && cannot_grow(t->store))
        rc = ENOSPC;
    int code = mdb_err_code(rc, e, what, t ? t->store->map_bytes : 0);
    if (t && t->write && !t->failed) {
        t->failed = code;
        snprintf(t->failed_why, sizeof(t->failed_why), "%.*s", (int)sizeof(t->failed_why) - 1, e->message);
    }
    return code;
}

static MDB_val val_of(const void *p, size_t n)
{
    /* LMDB's interface has no const, yet it does not write to keys or values it is given. */
    return (MDB_val){n, (void *)(uintptr_t)p};
}

static struct str str_of_val(MDB_val v)
{
    return (struct str){v.mv_data, v.mv_size};
}

int store_get(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, struct str *ret,
              struct err *e)
{
    MDB_val k = val_of(key, key_bytes), v;
    if (!t->store->dbi[table])
        return ERR_NOT_FOUND;
    int rc = mdb_get(t->mdb, t->store->dbi[table], &k, &v);
    if (rc == MDB_NOTFOUND)
        return ERR_NOT_FOUND;
    if (rc)
        return store_mdb_err(t, rc, e, store_table_names[table]);
    *ret = str_of_val(v);
    return 0;
}

static int check_size(struct store_txn *t, enum store_table table, size_t bytes, struct err *e)
{
    if (bytes <= STORE_VALUE_MAX_BYTES)
        return 0;
    if (!t->failed)
        t->failed = ERR_LIMIT;
    return err_set(e, ERR_LIMIT, "a value of %zu bytes for table %s is over the limit of %d", bytes,
                   store_table_names[table], STORE_VALUE_MAX_BYTES);
}

int store_put(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, struct str value,
              struct err *e)
{
    MUST(t->write);
    int code = check_size(t, table, value.n, e);
    if (code)
        return code;
    MDB_val k = val_of(key, key_bytes), v = val_of(value.p, value.n);
    int rc = mdb_put(t->mdb, t->store->dbi[table], &k, &v, 0);
    return rc ? store_mdb_err(t, rc, e, store_table_names[table]) : 0;
}

int store_reserve(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, size_t bytes,
                  uint8_t **ret, struct err *e)
{
    MUST(t->write);
    int code = check_size(t, table, bytes, e);
    if (code)
        return code;
    MDB_val k = val_of(key, key_bytes), v = val_of(NULL, bytes);
    int rc = mdb_put(t->mdb, t->store->dbi[table], &k, &v, MDB_RESERVE);
    if (rc)
        return store_mdb_err(t, rc, e, store_table_names[table]);
    *ret = v.mv_data;
    return 0;
}

int store_delete(struct store_txn *t, enum store_table table, const void *key, size_t key_bytes, struct err *e)
{
    MUST(t->write);
    MDB_val k = val_of(key, key_bytes);
    int rc = mdb_del(t->mdb, t->store->dbi[table], &k, NULL);
    return rc && rc != MDB_NOTFOUND ? store_mdb_err(t, rc, e, store_table_names[table]) : 0;
}

int store_cursor_open(struct store_txn *t, enum store_table table, struct store_cursor *ret, struct err *e)
{
    MDB_cursor *handle;
    *ret = (struct store_cursor){.txn = t, .table = table};
    if (!t->store->dbi[table]) /* absent: as an empty one */
        return 0;
    int rc = mdb_cursor_open(t->mdb, t->store->dbi[table], &handle);
    if (rc)
        return store_mdb_err(t, rc, e, store_table_names[table]);
    ret->handle = handle;
    return 0;
}

void store_cursor_close(struct store_cursor *c)
{
    if (c->handle)
        mdb_cursor_close(c->handle);
    *c = (struct store_cursor){0};
}

static int cursor_move(struct store_cursor *c, MDB_val k, MDB_cursor_op op, struct err *e)
{
    MDB_val v;
    int rc = c->handle ? mdb_cursor_get(c->handle, &k, &v, op) : MDB_NOTFOUND;
    c->found = rc == 0;
    if (rc == MDB_NOTFOUND)
        return 0;
    if (rc)
        return store_mdb_err(c->txn, rc, e, store_table_names[c->table]);
    c->key = str_of_val(k);
    c->value = str_of_val(v);
    /* The other files read keys at fixed places; a key of another size can only be damage. */
    size_t want = store_table_key_bytes[c->table];
    if (want && c->key.n != want) {
        c->found = false;
        return err_set(e, ERR_CORRUPT,
                       "store.mdb: table %s holds a key of %zu bytes, not %zu; restart to have it checked",
                       store_table_names[c->table], c->key.n, want);
    }
    return 0;
}

int store_cursor_seek(struct store_cursor *c, const void *key, size_t key_bytes, struct err *e)
{
    return cursor_move(c, val_of(key, key_bytes), MDB_SET_RANGE, e);
}

int store_cursor_next(struct store_cursor *c, struct err *e)
{
    return cursor_move(c, (MDB_val){0}, MDB_NEXT, e);
}

int store_cursor_last(struct store_cursor *c, struct err *e)
{
    return cursor_move(c, (MDB_val){0}, MDB_LAST, e);
}

int store_cursor_delete(struct store_cursor *c, struct err *e)
{
    int rc = mdb_cursor_del(c->handle, 0);
    return rc ? store_mdb_err(c->txn, rc, e, store_table_names[c->table]) : 0;
}
