#include "store/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* FORMAT is three lines of text: the format with its number, "id HEX", "sketch_seed HEX". */
#define FORMAT_NAME "mullion-data/"
enum { FORMAT_VERSION = 4, FORMAT_OLDEST = 2, FORMAT_MAX_BYTES = 256 };
/* One seed for all stores unless a store was made with another: equal data then gives equal sketches anywhere. */
#define SKETCH_SEED_DEFAULT UINT64_C(0x6d756c6c696f6e31)

int dir_path(const char *dir, const char *name, char ret[DIR_PATH_MAX], struct err *e)
{
    int n = snprintf(ret, DIR_PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= DIR_PATH_MAX)
        return err_set(e, ERR_BAD_DATA, "the path of the data directory is longer than %d bytes", DIR_PATH_MAX - 32);
    return 0;
}

int dir_make(const char *dir, struct err *e)
{
    if (mkdir(dir, 0700) == 0 || errno == EEXIST)
        return 0;
    if (errno == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "cannot make data directory %s: its parent does not exist; make that first",
                       dir);
    return err_set_errno(e, errno, "cannot make data directory %s", dir);
}

/* What may lie in a directory before its first store: our own beginnings, and what file systems put at their top. */
static bool name_is_harmless(const char *name)
{
    static const char *const names[] = {".", "..", "LOCK", "FORMAT.new", "lost+found"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* A directory without FORMAT is taken only when it is empty: the log and the store would write over what is there. */
int dir_check(const char *dir, struct err *e)
{
    DIR *d = opendir(dir);
    if (!d && errno == ENOENT)
        return 0;
    if (!d && errno == ENOTDIR)
        return err_set(e, ERR_BAD_DATA, "%s is a file, or lies below one; a data directory is a directory", dir);
    if (!d)
        return err_set_errno(e, errno, "cannot read data directory %s", dir);
    bool ours = false, other = false;
    for (struct dirent *entry; (entry = readdir(d));) {
        ours = ours || strcmp(entry->d_name, "FORMAT") == 0 || strcmp(entry->d_name, "store.mdb") == 0;
        other = other || !name_is_harmless(entry->d_name);
    }
    closedir(d);
    if (ours || !other)
        return 0;
    return err_set(e, ERR_BAD_DATA,
                   "%s is not empty and is not a mullion data directory (no FORMAT file); choose an empty or new "
                   "directory",
                   dir);
}

int dir_sync(const char *dir, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot open data directory %s", dir);
    int failed = fsync(fd) ? errno : 0;
    close(fd);
    return failed ? err_set_errno(e, failed, "cannot sync data directory %s", dir) : 0;
}

/* ---- LOCK ---- */

static long lock_holder(int fd)
{
    char pid[32] = "";
    return pread(fd, pid, sizeof(pid) - 1, 0) > 0 ? strtol(pid, NULL, 10) : 0;
}

/*
 * A process that was killed a moment ago may still hold the lock: its last threads end, or a child that was just forked
 * has not closed it yet. So a held lock is asked for again for a short while.
 */
static int lock_try(int fd, int how)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    int failed = 0;
    for (int i = 0; i < 25; i++) {
        if (flock(fd, how | LOCK_NB) == 0)
            return 0;
        failed = errno;
        if (failed != EWOULDBLOCK)
            break;
        nanosleep(&pause, NULL);
    }
    errno = failed;
    return -1;
}

/* Readers that want to be alone share the lock; they leave no pid. */
static int lock_refused(const struct store *s, int fd, int failed, const char *path, struct err *e)
{
    if (failed != EWOULDBLOCK)
        return err_set_errno(e, failed, "cannot lock %s", path);
    if (s->read_only)
        return err_set(e, ERR_LOCKED, "a server is running on %s (pid %ld)", s->dir, lock_holder(fd));
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        return err_set(e, ERR_LOCKED, "data directory %s is being read by a query; start again when it has ended",
                       s->dir);
    return err_set(e, ERR_LOCKED, "data directory %s is in use by process %ld; stop it or name another directory",
                   s->dir, lock_holder(fd));
}

int dir_lock_share(struct store *s, struct err *e)
{
    char path[DIR_PATH_MAX];
    int code = dir_path(s->dir, "LOCK", path, e);
    if (code)
        return code;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set_errno(e, errno, "cannot open %s", path);
    if (lock_try(fd, LOCK_SH) != 0) {
        code = lock_refused(s, fd, errno, path, e);
        close(fd);
        return code;
    }
    s->lock_fd = fd;
    return 0;
}

int dir_lock(struct store *s, struct err *e)
{
    char path[DIR_PATH_MAX], pid[32] = "";
    int code = dir_path(s->dir, "LOCK", path, e);
    if (code)
        return code;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot write in data directory %s", s->dir);
    if (lock_try(fd, LOCK_EX) != 0) {
        code = lock_refused(s, fd, errno, path, e);
        close(fd);
        return code;
    }
    /* The pid is for people only; the lock itself ends with its holder. */
    int n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)n, 0) != n) {
        int failed = errno;
        close(fd);
        return err_set_errno(e, failed, "cannot write %s", path);
    }
    s->lock_fd = fd;
    return 0;
}

/* ---- FORMAT ---- */

static int format_write(struct store *s, const char *path, struct err *e)
{
    char text[FORMAT_MAX_BYTES], fresh[DIR_PATH_MAX + 8];
    int n = snprintf(text, sizeof(text), FORMAT_NAME "%d\nid %016llx\nsketch_seed %016llx\n", FORMAT_VERSION,
                     (unsigned long long)s->id, (unsigned long long)s->sketch_seed);
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot make %s", fresh);
    int failed = write(fd, text, (size_t)n) != n || fsync(fd) != 0 ? errno : 0;
    close(fd);
    if (!failed && rename(fresh, path) != 0)
        failed = errno;
    if (failed) {
        unlink(fresh);
        return err_set_errno(e, failed, "cannot write %s", path);
    }
    return dir_sync(s->dir, e);
}

static int format_parse(struct store *s, const char *path, const char *text, struct err *e)
{
    unsigned version;
    unsigned long long id, seed;
    char end;
    if (sscanf(text, FORMAT_NAME "%9u", &version) != 1 || version == 0)
        return err_set(e, ERR_CORRUPT, "%s does not begin with " FORMAT_NAME "N: this is no mullion data directory",
                       path);
    if (version > FORMAT_VERSION)
        return err_set(e, ERR_VERSION,
                       "%s holds " FORMAT_NAME "%u but this program reads up to " FORMAT_NAME
                       "%d; use the mullion that wrote it, or a newer one",
                       s->dir, version, FORMAT_VERSION);
    if (version < FORMAT_OLDEST)
        return err_set(e, ERR_VERSION,
                       "%s holds " FORMAT_NAME "%u, of an earlier mullion, and this program reads " FORMAT_NAME
                       "%d to %d; use the mullion that wrote it, or begin with a new directory",
                       s->dir, version, FORMAT_OLDEST, FORMAT_VERSION);
    if (sscanf(text, FORMAT_NAME "%*9u\nid %16llx\nsketch_seed %16llx%c", &id, &seed, &end) != 3 || end != '\n')
        return err_set(e, ERR_CORRUPT, "%s is damaged: it needs lines with id and sketch_seed", path);
    s->id = id;
    s->sketch_seed = seed;
    s->version = version;
    return 0;
}

/* ERR_NOT_FOUND in a directory that holds no store yet. */
static int format_read(struct store *s, const char *path, struct err *e)
{
    char data[DIR_PATH_MAX], text[FORMAT_MAX_BYTES + 1];
    int code = dir_path(s->dir, "store.mdb", data, e);
    if (code)
        return code;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT)
            return err_set_errno(e, errno, "cannot read %s", path);
        if (!s->read_only && access(data, F_OK) == 0)
            return err_set(e, ERR_CORRUPT, "%s has store.mdb but no FORMAT file; restore FORMAT or move store.mdb away",
                           s->dir);
        return err_set(e, ERR_NOT_FOUND, "%s is no mullion data directory: it has no FORMAT file", s->dir);
    }
    ssize_t n = read(fd, text, FORMAT_MAX_BYTES);
    int failed = n < 0 ? errno : 0;
    close(fd);
    if (failed)
        return err_set_errno(e, failed, "cannot read %s", path);
    text[n] = 0;
    return format_parse(s, path, text, e);
}

int dir_format_open(struct store *s, bool *ret_created, struct err *e)
{
    char path[DIR_PATH_MAX];
    int code = dir_path(s->dir, "FORMAT", path, e);
    if (!code)
        code = format_read(s, path, e);
    if (code != ERR_NOT_FOUND || s->read_only)
        return code;
    *ret_created = true;
    s->version = FORMAT_VERSION;
    s->sketch_seed = SKETCH_SEED_DEFAULT;
    if (getrandom(&s->id, sizeof(s->id), 0) != (ssize_t)sizeof(s->id))
        return err_set_errno(e, errno, "cannot draw a random store id");
    return format_write(s, path, e);
}

int dir_format_raise(struct store *s, struct err *e)
{
    char path[DIR_PATH_MAX];
    if (s->read_only || s->version == FORMAT_VERSION)
        return 0;
    int code = dir_path(s->dir, "FORMAT", path, e);
    return code ? code : format_write(s, path, e);
}

int store_look(const char *dir, uint64_t *ret_sketch_seed, struct err *e)
{
    char path[DIR_PATH_MAX];
    struct store s = {.dir = (char *)(uintptr_t)dir, .sketch_seed = SKETCH_SEED_DEFAULT};
    int code = dir_check(dir, e);
    if (!code)
        code = dir_path(dir, "FORMAT", path, e);
    if (!code)
        code = format_read(&s, path, e);
    if (code && code != ERR_NOT_FOUND)
        return code;
    *ret_sketch_seed = s.sketch_seed;
    return 0;
}
