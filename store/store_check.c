/*
 * The check before trust. LMDB's pages have no checksums: a file cut short is SIGBUS at some later read, and a flipped
 * bit in an index page crashes or silently moves rows. So before the file is used a child process
 *
 *   - compares the file's size with its last page,
 *   - walks every leaf of every table in key order. Keys must rise, be of their table's size and as many as the table
 *     says; keys, values and the pages they stand on must lie inside the used part of the file, and each page must
 *     carry its own number,
 *   - looks the first and last key of every leaf up again from the root, which proves the separators above them,
 *   - reads the head of every value, and compares the key that blocks repeat,
 *   - checks that freed pages are real pages, each freed once.
 *
 * Bytes inside blocks are not checked here: each block has its own checksum and its readers repair around it. Small
 * rows that all else hangs on are: series, views, roots, meta.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/row_check.h"
#include "store/store_env.h"

/* What the child sends through the pipe. */
struct verdict {
    int code;
    bool fresh;
    char reason[400];
};

struct check {
    MDB_env *env;
    MDB_txn *txn;
    const uint8_t *map; /* address of page 0 */
    uint64_t pages;     /* in use, with the two meta pages */
    uint32_t page_bytes;
    uint8_t *freed; /* one bit per page */
};

static bool in_file(const struct check *c, const void *p, size_t n)
{
    uint64_t from = (uint64_t)((const uint8_t *)p - c->map), end = c->pages * c->page_bytes;
    return (const uint8_t *)p >= c->map && from <= end && n <= end - from;
}

/* The page a key stands on, or 0 if that page does not know its own number. */
static uint64_t page_of(const struct check *c, const MDB_val *key)
{
    uint64_t page = (uint64_t)((const uint8_t *)key->mv_data - c->map) / c->page_bytes;
    return load_u64(c->map + page * c->page_bytes) == page ? page : 0;
}

/* LMDB does not tell where its map is; a page that knows its number does. Should that page be the damaged one, then
 * all others will seem so, which comes to the same. */
static void map_find(struct check *c, MDB_dbi main_dbi)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    if (mdb_cursor_open(c->txn, main_dbi, &cursor))
        return;
    if (mdb_cursor_get(cursor, &key, &value, MDB_FIRST) == 0) {
        const uint8_t *page = (const uint8_t *)key.mv_data - (uintptr_t)key.mv_data % c->page_bytes;
        c->map = page - load_u64(page) * c->page_bytes;
    }
    mdb_cursor_close(cursor);
}

static int damaged(struct err *e, const char *table, const char *what)
{
    return err_set(e, ERR_CORRUPT, "store.mdb: table %s: %s", table, what);
}

static int check_freed(struct check *c, const MDB_val *value, struct err *e)
{
    if (value->mv_size < 8 || load_u64(value->mv_data) > value->mv_size / 8 - 1)
        return damaged(e, "of free pages", "a list is longer than its record");
    uint64_t n = load_u64(value->mv_data);
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t page = load_u64((const uint8_t *)value->mv_data + 8 * i);
        if (page < 2 || page >= c->pages || (c->freed[page / 8] >> (page % 8) & 1))
            return damaged(e, "of free pages", "a page is outside the file or freed twice");
        c->freed[page / 8] |= (uint8_t)(1 << (page % 8));
    }
    return 0;
}

/* An identity's number must lead back to it. */
static int check_view_id(struct check *c, const MDB_val *key, const MDB_val *value, struct err *e)
{
    uint8_t number[4];
    MDB_dbi views;
    MDB_val view_key = {sizeof(number), number}, view;
    const char *name = store_table_names[TABLE_VIEW_IDS];
    if (value->mv_size != sizeof(number))
        return damaged(e, name, "a number has the wrong size");
    store_be32(number, load_u32(value->mv_data));
    if (mdb_dbi_open(c->txn, store_table_names[TABLE_VIEWS], 0, &views) || mdb_get(c->txn, views, &view_key, &view) ||
        view.mv_size < key->mv_size || memcmp(view.mv_data, key->mv_data, key->mv_size) != 0)
        return damaged(e, name, "a number does not lead back to its identity");
    return 0;
}

static int check_value(struct check *c, int table, const MDB_val *key, const MDB_val *value, struct err *e)
{
    struct str k = {key->mv_data, key->mv_size}, v = {value->mv_data, value->mv_size};
    if (table == TABLE_SERIES)
        return catalog_batch_check(k, v, e);
    if (table == TABLE_META)
        return meta_row_check(k, v, e);
    if (table == TABLE_VIEWS)
        return view_row_check(k, v, e);
    if (table == TABLE_VIEW_IDS)
        return check_view_id(c, key, value, e);
    if (table == TABLE_RAW)
        return raw_row_check(k, v, e);
    if (table == TABLE_PANES)
        return pane_row_check(k, v, e);
    if (table == TABLE_ROOTS)
        return root_row_check(k, v, e);
    if (table == TABLE_ROOT_RESULTS)
        return root_result_row_check(k, v, e);
    /* Touch the head: an unreadable disk block shows here and not in a query. */
    volatile uint8_t first = value->mv_size ? *(const uint8_t *)value->mv_data : 0;
    (void)first;
    return table < 0 ? check_freed(c, value, e) : 0;
}

/* The first and the last key of a leaf, found again from the root. */
static int check_found(struct check *c, MDB_dbi dbi, const char *name, MDB_val key, struct err *e)
{
    MDB_val value;
    int rc = mdb_get(c->txn, dbi, &key, &value);
    return rc ? damaged(e, name, "a row cannot be found from the top of its index") : 0;
}

/* table: TABLE_*, 0 for LMDB's table of tables, -1 for its table of free pages. */
static int check_table(struct check *c, MDB_dbi dbi, const char *name, int table, struct err *e)
{
    MDB_stat stat_;
    MDB_cursor *cursor;
    if (mdb_stat(c->txn, dbi, &stat_) || mdb_cursor_open(c->txn, dbi, &cursor))
        return damaged(e, name, "cannot be opened");
    MDB_val key, value, before = {0};
    uint64_t n = 0, page = 0;
    size_t key_bytes = table > 0 ? store_table_key_bytes[table] : 0;
    int rc, code = 0;
    while (!code && (rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        if (++n > stat_.ms_entries)
            return damaged(e, name, "has more rows than its index says");
        if (!in_file(c, key.mv_data, key.mv_size) || !in_file(c, value.mv_data, value.mv_size))
            return damaged(e, name, "a row lies outside the file");
        if (key_bytes && key.mv_size != key_bytes)
            return damaged(e, name, "a key has the wrong size");
        if (n > 1 && dbi != 0 &&
            str_cmp((struct str){before.mv_data, before.mv_size}, (struct str){key.mv_data, key.mv_size}) >= 0)
            return damaged(e, name, "keys are out of order");
        uint64_t at = page_of(c, &key);
        if (at < 2)
            return damaged(e, name, "a page carries another page's number");
        if (at != page && dbi != 0) {
            if (n > 1)
                code = check_found(c, dbi, name, before, e);
            if (!code)
                code = check_found(c, dbi, name, key, e);
        }
        page = at;
        before = key;
        if (!code)
            code = check_value(c, table, &key, &value, e);
    }
    if (!code && rc != MDB_NOTFOUND)
        code = damaged(e, name, mdb_strerror(rc));
    if (!code && n != stat_.ms_entries)
        code = damaged(e, name, "has fewer rows than its index says");
    if (!code && n && dbi != 0)
        code = check_found(c, dbi, name, before, e);
    mdb_cursor_close(cursor);
    return code;
}

static int check_tables(struct check *c, bool *ret_fresh, struct err *e)
{
    MDB_dbi main_dbi, dbi;
    MDB_stat stat_;
    if (mdb_dbi_open(c->txn, NULL, 0, &main_dbi) || mdb_stat(c->txn, main_dbi, &stat_))
        return damaged(e, "of tables", "cannot be opened");
    /* A crash between making the file and its tables leaves the two meta pages only. */
    if (stat_.ms_entries == 0 && c->pages <= 2) {
        *ret_fresh = true;
        return 0;
    }
    map_find(c, main_dbi);
    int code = check_table(c, main_dbi, "of tables", 0, e);
    if (!code)
        code = check_table(c, 0, "of free pages", -1, e);
    size_t known_n = 0;
    for (int table = 1; table < TABLE_END && !code; table++) {
        int rc = mdb_dbi_open(c->txn, store_table_names[table], 0, &dbi);
        if (rc == MDB_NOTFOUND && table >= TABLES_OLD_END)
            continue;
        known_n++;
        code = rc ? damaged(e, store_table_names[table], "is missing")
                  : check_table(c, dbi, store_table_names[table], table, e);
    }
    if (!code && stat_.ms_entries != known_n)
        code = damaged(e, "of tables", "a table is unknown");
    return code;
}

static int check_env(const char *path, uint64_t map_bytes, bool *ret_fresh, struct err *e)
{
    struct check c = {0};
    int code = store_env_open(path, map_bytes, true, &c.env, e);
    if (code)
        return code;
    int rc = mdb_txn_begin(c.env, NULL, MDB_RDONLY, &c.txn);
    if (rc)
        return store_mdb_err(NULL, rc, e, "cannot begin a transaction");
    MDB_envinfo info;
    MDB_stat stat_;
    struct stat st;
    mdb_filehandle_t fd;
    if (mdb_env_info(c.env, &info) || mdb_env_stat(c.env, &stat_) || mdb_env_get_fd(c.env, &fd) || fstat(fd, &st))
        return err_set(e, ERR_IO, "cannot read the size of store.mdb");
    c.pages = (uint64_t)info.me_last_pgno + 1;
    c.page_bytes = stat_.ms_psize;
    if (c.pages > info.me_mapsize / c.page_bytes || c.pages > (uint64_t)st.st_size / c.page_bytes)
        return err_set(e, ERR_CORRUPT, "store.mdb is cut short: %llu bytes where its last page needs %llu",
                       (unsigned long long)st.st_size, (unsigned long long)c.pages * c.page_bytes);
    c.freed = mem_zalloc(c.pages / 8 + 1);
    code = check_tables(&c, ret_fresh, e);
    mem_free(c.freed);
    mdb_txn_abort(c.txn);
    mdb_env_close(c.env);
    return code;
}

/* In the child: no handlers, no core file, no output, and no life after the parent. */
static _Noreturn void child_run(const char *path, uint64_t map_bytes, int lock_fd, int out)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (lock_fd >= 0)
        close(lock_fd); /* else the lock would outlive a killed parent by this child's life */
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null_fd >= 0)
        dup2(null_fd, STDERR_FILENO);
    struct err e = {0};
    struct verdict v = {0};
    v.code = check_env(path, map_bytes, &v.fresh, &e);
    snprintf(v.reason, sizeof(v.reason), "%.*s", (int)sizeof(v.reason) - 1, e.message);
    _exit(write(out, &v, sizeof(v)) == (ssize_t)sizeof(v) ? 0 : 1);
}

static ssize_t read_all(int fd, void *p, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t more = read(fd, (char *)p + got, n - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

/*
 * LMDB maps as much as the newer meta page asks for, so that page is looked at before anything is mapped. Places in a
 * meta page of LMDB's format 1: page size at 40, last page at 136, transaction at 144.
 */
static int check_length(const char *path, struct err *e)
{
    enum { META_BYTES = 152, PAGE_MIN_BYTES = 512, PAGE_MAX_BYTES = 65536 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot read %s", path);
    uint8_t meta[META_BYTES];
    uint64_t newest = 0, pages = 0, page_bytes = 0;
    for (int i = 0; i < 2; i++) {
        if (pread(fd, meta, sizeof(meta), (off_t)(page_bytes * (uint64_t)i)) != (ssize_t)sizeof(meta))
            break;
        if (i == 0)
            page_bytes = load_u32(meta + 40);
        if (page_bytes < PAGE_MIN_BYTES || page_bytes > PAGE_MAX_BYTES)
            break;
        if (load_u64(meta + 144) >= newest) {
            newest = load_u64(meta + 144);
            pages = load_u64(meta + 136) + 1;
        }
    }
    /* After the meta pages: a live writer only makes the file longer. */
    struct stat st;
    int failed = fstat(fd, &st) != 0 ? errno : 0;
    close(fd);
    if (failed)
        return err_set_errno(e, failed, "cannot look at %s", path);
    uint64_t file_bytes = (uint64_t)st.st_size;
    if (page_bytes < PAGE_MIN_BYTES || page_bytes > PAGE_MAX_BYTES)
        return err_set(e, ERR_CORRUPT, "store.mdb does not begin as an LMDB file");
    if (pages == 0 || pages > file_bytes / page_bytes)
        return err_set(e, ERR_CORRUPT, "store.mdb is cut short: it has %llu pages of %llu bytes and should have %llu",
                       (unsigned long long)(file_bytes / page_bytes), (unsigned long long)page_bytes,
                       (unsigned long long)pages);
    return 0;
}

int store_check_file(const char *path, uint64_t map_bytes, int lock_fd, bool *ret_fresh, struct err *e)
{
    struct stat st;
    *ret_fresh = false;
    if (stat(path, &st) != 0) {
        *ret_fresh = errno == ENOENT;
        return *ret_fresh ? 0 : err_set_errno(e, errno, "cannot look at %s", path);
    }
    if (st.st_size == 0) {
        *ret_fresh = true;
        return 0;
    }
    int code = check_length(path, e);
    if (code)
        return code;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set_errno(e, errno, "cannot make a pipe");
    pid_t pid = fork();
    if (pid < 0) {
        int failed = errno;
        close(fds[0]);
        close(fds[1]);
        return err_set_errno(e, failed, "cannot start the check of %s", path);
    }
    if (pid == 0)
        child_run(path, map_bytes, lock_fd, fds[1]);
    close(fds[1]);
    struct verdict v = {0};
    ssize_t got = read_all(fds[0], &v, sizeof(v));
    close(fds[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (got != (ssize_t)sizeof(v))
        return err_set(e, ERR_CORRUPT, "store.mdb is damaged: reading its index ended with %s",
                       WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no answer");
    *ret_fresh = v.fresh;
    return v.code ? err_set(e, v.code, "%s", v.reason) : 0;
}
