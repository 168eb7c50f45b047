/* The log being written: opening, reserving, appending, group sync, trimming. Records and segments: wal_segment.c. */
#include "store/wal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/wal_log.h"

static struct wal_segment *wal_current(const struct wal *w)
{
    return w->segments_n ? &w->segments[w->segments_n - 1] : NULL;
}

static int dir_sync(const struct wal *w, struct err *e)
{
    int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot open %s", w->dir);
    int failed = fsync(fd) ? errno : 0;
    close(fd);
    return failed ? err_set_errno(e, failed, "cannot sync %s", w->dir) : 0;
}

/* ---- opening ---- */

static int by_first_seq(const void *pa, const void *pb)
{
    const struct wal_segment *a = pa, *b = pb;
    return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

static int segments_list(struct wal *w, struct err *e)
{
    DIR *d = opendir(w->dir);
    if (!d && errno == ENOENT && w->read_only)
        return 0;
    if (!d)
        return err_set_errno(e, errno, "cannot read %s", w->dir);
    for (struct dirent *entry; (entry = readdir(d));) {
        uint64_t first_seq = wal_segment_of_name(entry->d_name);
        if (!first_seq)
            continue;
        w->segments = mem_grow(w->segments, &w->segments_cap, w->segments_n + 1, sizeof(*w->segments));
        w->segments[w->segments_n++] = (struct wal_segment){.first_seq = first_seq};
    }
    closedir(d);
    if (w->segments_n)
        qsort(w->segments, w->segments_n, sizeof(*w->segments), by_first_seq);
    return 0;
}

/* Cut off the torn end of the last segment and open it for appending. */
static int current_open(struct wal *w, struct err *e)
{
    struct wal_segment *s = wal_current(w);
    char path[WAL_PATH_BYTES];
    int code = wal_segment_path(w->dir, s->first_seq, path, e);
    if (code)
        return code;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot open %s", path);
    if (s->file_bytes > s->end_bytes && (ftruncate(fd, (off_t)s->end_bytes) != 0 || fsync(fd) != 0)) {
        int failed = errno;
        close(fd);
        return err_set_errno(e, failed, "cannot cut the torn end of %s", path);
    }
    s->file_bytes = s->end_bytes;
    w->fd = fd;
    return 0;
}

static int wal_load(struct wal *w, struct err *e)
{
    if (!w->read_only && mkdir(w->dir, 0700) != 0 && errno != EEXIST)
        return err_set_errno(e, errno, "cannot make %s", w->dir);
    int code = segments_list(w, e);
    for (size_t i = 0; i < w->segments_n && !code; i++) {
        struct wal_segment *s = &w->segments[i];
        code = wal_segment_scan(w->dir, s, e);
        if (!code && s->last_seq > w->last_seq)
            w->last_seq = s->last_seq;
    }
    w->synced_seq = 0; /* what a crash left in the page cache may not be on the disk yet */
    return code || !w->segments_n || w->read_only ? code : current_open(w, e);
}

static int log_open(const char *dir, uint64_t segment_bytes, bool read_only, struct wal **ret, struct err *e)
{
    struct strbuf path = {0};
    strbuf_printf(&path, "%s/wal", dir);
    struct wal *w = mem_zalloc(sizeof(*w));
    w->dir = mem_dup(strbuf_z(&path), path.n + 1);
    strbuf_done(&path);
    w->segment_bytes = segment_bytes;
    w->read_only = read_only;
    w->fd = -1;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->changed, NULL);
    int code = wal_load(w, e);
    if (code) {
        wal_close(w);
        return code;
    }
    *ret = w;
    return 0;
}

int wal_open_sized(const char *dir, uint64_t segment_bytes, struct wal **ret, struct err *e)
{
    return log_open(dir, segment_bytes, false, ret, e);
}

int wal_open(const char *dir, struct wal **ret, struct err *e)
{
    return log_open(dir, WAL_SEGMENT_BYTES, false, ret, e);
}

int wal_open_read(const char *dir, struct wal **ret, struct err *e)
{
    return log_open(dir, WAL_SEGMENT_BYTES, true, ret, e);
}

void wal_close(struct wal *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->changed);
    mem_free(w->segments);
    mem_free(w->dir);
    mem_free(w);
}

/* ---- appending ---- */

/* Preallocate up to `bytes`, so that neither data nor the file's own tree needs space when records are written. */
static int file_reserve(int fd, uint64_t from, uint64_t bytes, const char *what, struct err *e)
{
    if (bytes <= from)
        return 0;
    int failed = posix_fallocate(fd, (off_t)from, (off_t)(bytes - from));
    if (!failed)
        return 0;
    /* Give back what a half-done reservation took. */
    if (ftruncate(fd, (off_t)from) != 0)
        failed = failed ? failed : errno;
    return err_set_errno(e, failed, "no room for the write-ahead log %s", what);
}

/* Everything in the current segment is synced and the next sync will use the new one. */
static int current_replace(struct wal *w, int fd, struct err *e)
{
    pthread_mutex_lock(&w->mutex);
    while (w->syncing)
        pthread_cond_wait(&w->changed, &w->mutex);
    int failed = w->sync_errno;
    if (!failed && w->fd >= 0 && w->synced_seq < w->last_seq && fdatasync(w->fd) != 0)
        failed = w->sync_errno = errno;
    if (!failed) {
        w->synced_seq = w->last_seq;
        if (w->fd >= 0)
            close(w->fd);
        w->fd = fd;
    }
    pthread_mutex_unlock(&w->mutex);
    return failed ? err_set_errno(e, failed, "cannot sync the write-ahead log in %s", w->dir) : 0;
}

static int segment_add(struct wal *w, uint64_t bytes, struct err *e)
{
    uint64_t first_seq = w->last_seq + 1;
    char path[WAL_PATH_BYTES];
    int code = wal_segment_path(w->dir, first_seq, path, e);
    if (code)
        return code;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot make %s", path);
    code = file_reserve(fd, 0, bytes, path, e);
    if (!code && fsync(fd) != 0)
        code = err_set_errno(e, errno, "cannot sync %s", path);
    if (!code)
        code = dir_sync(w, e);
    if (!code)
        code = current_replace(w, fd, e);
    if (code) {
        close(fd);
        unlink(path);
        return code;
    }
    w->segments = mem_grow(w->segments, &w->segments_cap, w->segments_n + 1, sizeof(*w->segments));
    w->segments[w->segments_n++] =
        (struct wal_segment){.first_seq = first_seq, .last_seq = first_seq - 1, .file_bytes = bytes};
    return 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int reserve_bytes(struct wal *w, uint64_t need, struct err *e)
{
    struct wal_segment *s = wal_current(w);
    bool empty = s && s->end_bytes == 0;
    /* A segment whose seqs would not go on where it ends is left as it is (see wal_replay). */
    bool continues = s && s->last_seq == w->last_seq;
    if (continues && (empty || s->end_bytes + need <= w->segment_bytes)) {
        uint64_t bytes = larger(w->segment_bytes, s->end_bytes + need);
        if (s->file_bytes >= s->end_bytes + need)
            return 0;
        int code = file_reserve(w->fd, s->file_bytes, bytes, w->dir, e);
        if (!code)
            s->file_bytes = bytes;
        return code;
    }
    return segment_add(w, larger(w->segment_bytes, need), e);
}

int wal_reserve(struct wal *w, size_t body_bytes, uint32_t rejects_max, struct err *e)
{
    MUST(!w->read_only);
    if (body_bytes > WAL_BODY_MAX_BYTES || rejects_max > WAL_REJECTS_MAX)
        return err_set(e, ERR_TOO_LARGE, "a request of %zu bytes or %u refused samples is over the log's %d and %d",
                       body_bytes, rejects_max, WAL_BODY_MAX_BYTES, WAL_REJECTS_MAX);
    return reserve_bytes(w, wal_record_bytes(body_bytes, rejects_max), e);
}

static int write_parts(int fd, struct iovec *parts, int n, uint64_t at)
{
    while (n) {
        ssize_t wrote = pwritev(fd, parts, n, (off_t)at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? errno : EIO;
        at += (uint64_t)wrote;
        size_t rest = (size_t)wrote;
        while (n && rest >= parts->iov_len) {
            rest -= parts->iov_len;
            parts++;
            n--;
        }
        if (n) {
            parts->iov_base = (uint8_t *)parts->iov_base + rest;
            parts->iov_len -= rest;
        }
    }
    return 0;
}

int wal_append(struct wal *w, struct wal_record *r, struct err *e)
{
    MUST(r->kind == WAL_KIND_WRITE);
    int code = wal_reserve(w, r->body.n, r->rejects_n, e);
    if (code)
        return code;
    pthread_mutex_lock(&w->mutex);
    int failed = w->sync_errno;
    pthread_mutex_unlock(&w->mutex);
    if (failed)
        return err_set_errno(e, failed, "the write-ahead log in %s could not be synced before", w->dir);
    struct wal_segment *s = wal_current(w);
    r->seq = w->last_seq + 1;
    uint8_t head[WAL_HEAD_BYTES];
    wal_record_head(r, head);
    struct iovec parts[] = {{head, sizeof(head)},
                            {(void *)(uintptr_t)r->rejects, 4 * (size_t)r->rejects_n},
                            {(void *)(uintptr_t)r->body.p, r->body.n}};
    failed = write_parts(w->fd, parts, 3, s->end_bytes);
    if (failed)
        return err_set_errno(e, failed, "cannot write the write-ahead log in %s", w->dir);
    s->end_bytes += wal_record_bytes(r->body.n, r->rejects_n);
    s->last_seq = r->seq;
    pthread_mutex_lock(&w->mutex);
    w->last_seq = r->seq;
    pthread_mutex_unlock(&w->mutex);
    return 0;
}

int wal_sync(struct wal *w, struct err *e)
{
    pthread_mutex_lock(&w->mutex);
    uint64_t want = w->last_seq;
    while (w->synced_seq < want && !w->sync_errno) {
        if (w->syncing) {
            pthread_cond_wait(&w->changed, &w->mutex);
            continue;
        }
        /* This caller syncs for all that wait; later appends may or may not be covered and are not counted. */
        uint64_t covered = w->last_seq;
        int fd = w->fd;
        w->syncing = true;
        pthread_mutex_unlock(&w->mutex);
        int failed = fdatasync(fd) != 0 ? errno : 0;
        pthread_mutex_lock(&w->mutex);
        w->syncing = false;
        if (failed)
            w->sync_errno = failed;
        else if (w->synced_seq < covered)
            w->synced_seq = covered;
        pthread_cond_broadcast(&w->changed);
    }
    int failed = w->sync_errno;
    pthread_mutex_unlock(&w->mutex);
    return failed ? err_set_errno(e, failed, "cannot sync the write-ahead log in %s", w->dir) : 0;
}

uint64_t wal_last_seq(const struct wal *w)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)(uintptr_t)&w->mutex;
    pthread_mutex_lock(mutex);
    uint64_t seq = w->last_seq;
    pthread_mutex_unlock(mutex);
    return seq;
}

int wal_trim(struct wal *w, uint64_t upto, struct err *e)
{
    size_t gone = 0;
    int code = 0;
    while (gone + 1 < w->segments_n && w->segments[gone].last_seq <= upto) {
        char path[WAL_PATH_BYTES];
        code = wal_segment_path(w->dir, w->segments[gone].first_seq, path, e);
        if (!code && unlink(path) != 0 && errno != ENOENT)
            code = err_set_errno(e, errno, "cannot delete %s", path);
        if (code)
            break;
        gone++;
    }
    if (gone) {
        w->segments_n -= gone;
        memmove(w->segments, w->segments + gone, w->segments_n * sizeof(*w->segments));
    }
    return code;
}

uint64_t wal_bytes(const struct wal *w)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->segments_n; i++)
        bytes += w->segments[i].file_bytes;
    return bytes;
}
