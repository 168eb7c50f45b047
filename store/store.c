/* Opening and closing store.mdb, transactions, and the meta table. Its directory is dir.c, the check before trust
 * store_check.c. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/dir.h"
#include "store/row_check.h"
#include "store/store_env.h"
#include "store/sum.h"

#define IDENTITY_NAME "store" /* its value in the meta table */
#define MAP_DEFAULT_BYTES (UINT64_C(64) << 30)
enum { SET_ASIDE_MAX = 10000 };

/* ---- store.mdb ---- */

int store_env_open(const char *path, uint64_t map_bytes, bool read_only, MDB_env **ret, struct err *e)
{
    MDB_env *env;
    int rc = mdb_env_create(&env);
    if (rc)
        return store_mdb_err(NULL, rc, e, "cannot prepare");
    rc = mdb_env_set_mapsize(env, map_bytes);
    if (!rc)
        rc = mdb_env_set_maxreaders(env, STORE_READERS_MAX);
    if (!rc)
        rc = mdb_env_set_maxdbs(env, TABLE_END);
    if (!rc)
        rc = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOTLS | (read_only ? MDB_RDONLY : 0), 0600);
    if (rc) {
        mdb_env_close(env);
        return store_mdb_err(NULL, rc, e, "cannot open");
    }
    *ret = env;
    return 0;
}

/* Give a damaged file the first free name store.mdb.damaged-N. */
static int file_set_aside(struct store *s, const char *path, struct store_open_report *report, const struct err *why,
                          struct err *e)
{
    char name[64], to[DIR_PATH_MAX], lock[DIR_PATH_MAX];
    for (int i = 1; i <= SET_ASIDE_MAX; i++) {
        snprintf(name, sizeof(name), "store.mdb.damaged-%d", i);
        int code = dir_path(s->dir, name, to, e);
        if (code)
            return code;
        if (access(to, F_OK) == 0)
            continue;
        if (rename(path, to) != 0)
            return err_set_errno(e, errno, "cannot set aside the damaged %s", path);
        if (dir_path(s->dir, "store.mdb-lock", lock, e) == 0)
            unlink(lock);
        report->set_aside = true;
        snprintf(report->set_aside_as, sizeof(report->set_aside_as), "%s", name);
        snprintf(report->reason, sizeof(report->reason), "%.*s", (int)sizeof(report->reason) - 1, why->message);
        return dir_sync(s->dir, e);
    }
    return err_set(e, ERR_CORRUPT, "%s is damaged and %d damaged files were kept before; remove some", path,
                   SET_ASIDE_MAX);
}

static void identity_write(const struct store *s, uint8_t ret[16])
{
    store_u64(ret, s->id);
    store_u64(ret + 8, s->sketch_seed);
}

/* All tables and the identity in one commit, so that a file has both or nothing. */
static int tables_make(struct store *s, struct err *e)
{
    uint8_t mine[16];
    identity_write(s, mine);
    struct store_txn t = {.store = s, .write = true};
    int code = 0, rc = mdb_txn_begin(s->env, NULL, 0, &t.mdb);
    if (rc)
        return store_mdb_err(NULL, rc, e, "cannot make tables");
    for (int table = 1; table < TABLE_END && !rc; table++)
        rc = mdb_dbi_open(t.mdb, store_table_names[table], MDB_CREATE, &s->dbi[table]);
    if (!rc)
        code = store_meta_put(&t, IDENTITY_NAME, (struct str){(const char *)mine, sizeof(mine)}, e);
    if (rc || code) {
        mdb_txn_abort(t.mdb);
        return code ? code : store_mdb_err(&t, rc, e, "cannot make tables");
    }
    rc = mdb_txn_commit(t.mdb);
    return rc ? store_mdb_err(&t, rc, e, "cannot make tables") : 0;
}

/* Tables that a directory of an earlier version lacks are made, or stay absent where nothing may be changed. */
static int tables_open(struct store *s, struct err *e)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(s->env, NULL, s->read_only ? MDB_RDONLY : 0, &txn);
    if (rc)
        return store_mdb_err(NULL, rc, e, "cannot open tables");
    for (int table = 1; table < TABLE_END && !rc; table++) {
        bool may_lack = table >= TABLES_OLD_END;
        rc = mdb_dbi_open(txn, store_table_names[table], may_lack && !s->read_only ? MDB_CREATE : 0, &s->dbi[table]);
        if (rc == MDB_NOTFOUND && may_lack)
            rc = s->dbi[table] = 0;
    }
    if (rc) {
        mdb_txn_abort(txn);
        return store_mdb_err(NULL, rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc, e, "cannot open tables");
    }
    rc = mdb_txn_commit(txn);
    return rc ? store_mdb_err(NULL, rc, e, "cannot open tables") : 0;
}

/* FORMAT and store.mdb must be of one store: a file copied in from another would bring other ids and seeds. */
static int identity_check(struct store *s, struct err *e)
{
    uint8_t mine[16];
    identity_write(s, mine);
    struct store_txn *t;
    struct str found;
    int code = store_read_begin(s, &t, e);
    if (code)
        return code;
    code = store_meta_get(t, IDENTITY_NAME, &found, e);
    if (code == ERR_NOT_FOUND || (!code && (found.n != sizeof(mine) || memcmp(found.p, mine, sizeof(mine)) != 0)))
        code =
            err_set(e, ERR_CORRUPT, "%s: FORMAT and store.mdb are of different stores; restore the right pair", s->dir);
    store_read_end(t);
    return code;
}

static int data_open(struct store *s, struct store_open_report *report, struct err *e)
{
    char path[DIR_PATH_MAX];
    bool fresh = false;
    int code = dir_path(s->dir, "store.mdb", path, e);
    if (code)
        return code;
    struct err why = {0};
    code = store_check_file(path, s->map_bytes, s->lock_fd, &fresh, &why);
    if (code == ERR_CORRUPT && !s->read_only) {
        code = file_set_aside(s, path, report, &why, e);
        fresh = true;
    } else if (code) {
        *e = why;
    } else if (fresh && s->read_only) {
        code = err_set(e, ERR_NOT_FOUND, "%s has no store.mdb, or an empty one: there is nothing to read", s->dir);
    } else if (fresh && !report->created) {
        report->lost = true;
        snprintf(report->reason, sizeof(report->reason),
                 "store.mdb was missing or empty; everything older than the log is lost");
    }
    if (!code)
        code = store_env_open(path, s->map_bytes, s->read_only, &s->env, e);
    if (!code)
        code = fresh ? tables_make(s, e) : tables_open(s, e);
    if (!code && !fresh)
        code = identity_check(s, e);
    if (!code)
        code = dir_format_raise(s, e);
    if (!code && fresh)
        code = dir_sync(s->dir, e);
    return code;
}

int store_open(const char *dir, const struct store_options *options, struct store **ret,
               struct store_open_report *report, struct err *e)
{
    struct store_open_report ignored;
    if (!report)
        report = &ignored;
    *report = (struct store_open_report){0};
    struct store *s = mem_zalloc(sizeof(*s));
    s->dir = mem_dup(dir, strlen(dir) + 1);
    s->lock_fd = -1;
    s->read_only = options && options->read_only;
    s->map_bytes = options && options->map_bytes ? options->map_bytes : MAP_DEFAULT_BYTES;
    int code = s->read_only ? 0 : dir_check(dir, e);
    if (!code && !s->read_only)
        code = dir_make(dir, e);
    if (!code && !s->read_only)
        code = dir_lock(s, e);
    else if (!code && options->alone)
        code = dir_lock_share(s, e);
    if (!code)
        code = dir_format_open(s, &report->created, e);
    if (!code)
        code = data_open(s, report, e);
    if (code) {
        store_close(s);
        return code;
    }
    *ret = s;
    return 0;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->env)
        mdb_env_close(s->env);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    mem_free(s->dir);
    mem_free(s);
}

const char *store_dir(const struct store *s)
{
    return s->dir;
}

uint64_t store_sketch_seed(const struct store *s)
{
    return s->sketch_seed;
}

/* ---- transactions ---- */

static int txn_begin(struct store *s, bool write, struct store_txn **ret, struct err *e)
{
    MDB_txn *mdb;
    int rc = mdb_txn_begin(s->env, NULL, write ? 0 : MDB_RDONLY, &mdb);
    if (rc == MDB_READERS_FULL) {
        /* Readers that died keep their slots until someone looks. */
        store_reap_readers(s);
        rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &mdb);
    }
    if (rc)
        return store_mdb_err(NULL, rc, e, "cannot begin a transaction");
    struct store_txn *t = mem_zalloc(sizeof(*t));
    *t = (struct store_txn){.store = s, .mdb = mdb, .write = write};
    *ret = t;
    return 0;
}

int store_read_begin(struct store *s, struct store_txn **ret, struct err *e)
{
    return txn_begin(s, false, ret, e);
}

void store_read_end(struct store_txn *t)
{
    if (!t)
        return;
    MUST(!t->write);
    mdb_txn_abort(t->mdb);
    mem_free(t);
}

int store_write_begin(struct store *s, struct store_txn **ret, struct err *e)
{
    MUST(!s->read_only);
    return txn_begin(s, true, ret, e);
}

int store_write_commit(struct store_txn *t, struct err *e)
{
    MUST(t->write);
    int code = 0;
    if (t->failed) {
        code = err_set(e, t->failed, "nothing was stored: %s", t->failed_why);
        mdb_txn_abort(t->mdb);
    } else {
        int rc = mdb_txn_commit(t->mdb);
        if (rc)
            code = store_mdb_err(t, rc, e, "cannot commit");
    }
    mem_free(t);
    return code;
}

void store_write_abort(struct store_txn *t)
{
    if (!t)
        return;
    MUST(t->write);
    mdb_txn_abort(t->mdb);
    mem_free(t);
}

void store_reap_readers(struct store *s)
{
    int dead;
    mdb_reader_check(s->env, &dead);
}

/* Free pages are listed in LMDB's table 0: per old transaction a count and that many page numbers. */
static uint64_t free_pages_count(struct store *s)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    uint64_t pages = 0;
    if (mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn))
        return 0;
    if (mdb_cursor_open(txn, 0, &cursor) == 0) {
        MDB_val key, value;
        while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
            pages += value.mv_size >= 8 ? load_u64(value.mv_data) : 0;
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return pages;
}

void store_size_read(struct store *s, struct store_size *ret)
{
    MDB_envinfo info = {0};
    MDB_stat stat_ = {0};
    struct stat st = {0};
    mdb_filehandle_t fd;
    mdb_env_info(s->env, &info);
    mdb_env_stat(s->env, &stat_);
    if (mdb_env_get_fd(s->env, &fd) == 0 && fstat(fd, &st) != 0)
        st.st_size = 0;
    uint64_t all = ((uint64_t)info.me_last_pgno + 1) * stat_.ms_psize;
    uint64_t unused = free_pages_count(s) * stat_.ms_psize;
    *ret = (struct store_size){
        .file_bytes = (uint64_t)st.st_size, .used_bytes = all > unused ? all - unused : 0, .free_page_bytes = unused};
}

int store_copy(struct store *s, const char *path, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot make %s", path);
    int rc = mdb_env_copyfd2(s->env, fd, MDB_CP_COMPACT);
    if (!rc && fsync(fd) != 0)
        rc = errno;
    close(fd);
    if (!rc)
        return 0;
    unlink(path);
    return store_mdb_err(NULL, rc, e, "cannot copy");
}

/* ---- meta ---- */

/* A value is followed by the XXH3 of its name and itself: much hangs on these few bytes. */
enum { META_SUM_BYTES = 8 };

int meta_row_check(struct str key, struct str value, struct err *e)
{
    if (value.n >= META_SUM_BYTES) {
        size_t n = value.n - META_SUM_BYTES;
        if (load_u64(value.p + n) == store_sum_keyed(key.p, key.n, value.p, n))
            return 0;
    }
    return err_set(e, ERR_CORRUPT, "store.mdb: the value named " STR_FMT " fails its checksum", STR_ARG(key));
}

int store_meta_get(struct store_txn *t, const char *name, struct str *ret, struct err *e)
{
    struct str value, key = str_of(name);
    int code = store_get(t, TABLE_META, key.p, key.n, &value, e);
    if (code == ERR_NOT_FOUND)
        return err_set(e, ERR_NOT_FOUND, "the store has no value named %s", name);
    if (!code)
        code = meta_row_check(key, value, e);
    if (!code)
        *ret = (struct str){value.p, value.n - META_SUM_BYTES};
    return code;
}

int store_meta_put(struct store_txn *t, const char *name, struct str value, struct err *e)
{
    uint8_t *p;
    struct str key = str_of(name);
    if (value.n > STORE_VALUE_MAX_BYTES - META_SUM_BYTES)
        return err_set(e, ERR_LIMIT, "the value named %s is too large for the store", name);
    uint64_t sum = store_sum_keyed(key.p, key.n, value.p, value.n);
    int code = store_reserve(t, TABLE_META, key.p, key.n, value.n + META_SUM_BYTES, &p, e);
    if (code)
        return code;
    if (value.n)
        memcpy(p, value.p, value.n);
    store_u64(p + value.n, sum);
    return 0;
}
